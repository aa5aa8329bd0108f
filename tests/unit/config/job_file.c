/* SPDX-License-Identifier: Apache-2.0
 *
 * Job files: sections, nested values as JSON, environment, overrides, and what is refused. */
#include "test.h"

#include "config/job_file.h"

static struct cv_error err;

static enum cv_code parse(const char *text, struct cv_job_file *file)
{
    return cv_job_file_parse((struct cv_str){text, strlen(text)}, "orders.yaml", "/job", file,
                             &err);
}

static const char *value_of(const struct cv_job_file *file, const char *section, const char *key)
{
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->entries[i].section, section) == 0 &&
            strcmp(file->entries[i].key, key) == 0)
            return file->entries[i].value;
    return "(absent)";
}

static void sections_become_entries(void **state)
{
    struct cv_job_file file;

    CV_ASSERT_OK(parse("job: orders\n"
                       "catalogs:\n  lake: {type: sql, uri: \"sqlite:lake.db\"}\n"
                       "source:\n  kafka.bootstrap.servers: localhost:9092\n"
                       "  startingOffsets: {\"orders\": {\"0\": 23, \"1\": -1}}\n"
                       "select: >\n  value.a,\n  value.b\n"
                       "sink:\n  trigger: 1 minute\n  fanout-enabled: true\n",
                       &file),
                 &err);
    assert_string_equal(value_of(&file, "", "job"), "orders");
    assert_string_equal(value_of(&file, "catalogs.lake", "uri"), "sqlite:lake.db");
    assert_string_equal(value_of(&file, "source", "kafka.bootstrap.servers"), "localhost:9092");
    assert_string_equal(value_of(&file, "source", "startingOffsets"),
                        "{\"orders\":{\"0\":23,\"1\":-1}}");
    assert_string_equal(value_of(&file, "", "select"), "value.a, value.b\n");
    assert_string_equal(value_of(&file, "sink", "fanout-enabled"), "true");
    cv_job_file_release(&file);
}

static void environment_is_filled_in(void **state)
{
    struct cv_job_file file;

    assert_int_equal(setenv("CALVE_TEST_HOST", "broker", 1), 0);
    assert_int_equal(unsetenv("CALVE_TEST_UNSET"), 0);
    CV_ASSERT_OK(parse("source:\n  a: ${CALVE_TEST_HOST}:9092\n  b: $x {y}\n", &file), &err);
    assert_string_equal(value_of(&file, "source", "a"), "broker:9092");
    assert_string_equal(value_of(&file, "source", "b"), "$x {y}");
    cv_job_file_release(&file);
    CV_ASSERT_FAILS(parse("source:\n  a: ${CALVE_TEST_UNSET}\n", &file), CV_CONFIG,
                    "CALVE_TEST_UNSET is not set", &err);
}

static void overrides_win(void **state)
{
    struct cv_job_file file;

    CV_ASSERT_OK(
        parse("job: a\nsink:\n  Trigger: 1 minute\ncatalogs:\n  lake:\n    uri: x\n", &file), &err);
    CV_ASSERT_OK(cv_job_file_override(&file, "sink.trigger=5 seconds", &err), &err);
    CV_ASSERT_OK(cv_job_file_override(&file, "catalogs.lake.uri=sqlite:y=z.db", &err), &err);
    CV_ASSERT_OK(cv_job_file_override(&file, "job=b", &err), &err);
    CV_ASSERT_OK(cv_job_file_override(&file, "source.kafka.client.id=me", &err), &err);
    assert_string_equal(value_of(&file, "sink", "trigger"), "5 seconds");
    assert_string_equal(value_of(&file, "catalogs.lake", "uri"), "sqlite:y=z.db");
    assert_string_equal(value_of(&file, "", "job"), "b");
    assert_string_equal(value_of(&file, "source", "kafka.client.id"), "me");
    CV_ASSERT_FAILS(cv_job_file_override(&file, "sink.trigger", &err), CV_USAGE, "assignment",
                    &err);
    cv_job_file_release(&file);
}

static void mistakes_name_the_line(void **state)
{
    struct cv_job_file file;

    CV_ASSERT_FAILS(parse("source: [1, 2]\n", &file), CV_CONFIG, "line 1", &err);
    CV_ASSERT_FAILS(parse("source:\n  a: 1\n  A: 2\n", &file), CV_CONFIG,
                    "set twice (lines 2 and 3)", &err);
    CV_ASSERT_FAILS(parse("source:\n  - a\n b: {\n", &file), CV_CONFIG, "not YAML", &err);
    CV_ASSERT_FAILS(parse("", &file), CV_CONFIG, "no sections", &err);
    CV_ASSERT_FAILS(parse("just text", &file), CV_CONFIG, "no sections", &err);
    CV_ASSERT_FAILS(parse("catalogs: {lake: text}\n", &file), CV_CONFIG, "catalog", &err);
    CV_ASSERT_FAILS(parse("a: &x [*x]\n", &file), CV_CONFIG, "", &err);
}

static void paths_start_at_the_file(void **state)
{
    struct cv_arena arena = CV_ARENA_INIT;

    assert_string_equal(cv_path_resolve("/job", "./a/./b", &arena), "/job/a/b");
    assert_string_equal(cv_path_resolve("/job", "a//b", &arena), "/job/a/b");
    assert_string_equal(cv_path_resolve("/job", "/x/y", &arena), "/x/y");
    assert_string_equal(cv_path_resolve("/job", "../c", &arena), "/job/../c");
    assert_string_equal(cv_path_resolve("/", ".", &arena), "/");
    cv_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_become_entries), cmocka_unit_test(environment_is_filled_in),
        cmocka_unit_test(overrides_win),           cmocka_unit_test(mistakes_name_the_line),
        cmocka_unit_test(paths_start_at_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
