/* SPDX-License-Identifier: Apache-2.0
 *
 * When two spellings of a location are one (the cases of Spark's remove_orphan_files and of case
 * 49). */
#include "test.h"

#include "maintain/location_key.h"

static struct cv_location_key key_of(const struct cv_location_rules *rules, const char *location)
{
    struct cv_location_key key;

    assert_true(cv_location_key_make(rules, cv_str_from(location), &key));
    return key;
}

static void makes_spellings_one(void **state)
{
    static const struct {
        const char *location, *prefix, *path;
    } keys[] = {
        {"s3a://b/t/data/x.parquet", "s3://b", "/t/data/x.parquet"},
        {"S3N://b/t/data/x.parquet", "s3://b", "/t/data/x.parquet"},
        {"s3://B/t//data/x.parquet", "s3://B", "/t/data/x.parquet"},
        {"file:///a/b", "file://", "/a/b"},
        {"file:/a/b", "file://", "/a/b"},
        {"file:/a/./b//../c/", "file://", "/a/c"},
        {"/a/b", "", "/a/b"},
        {"/a/../../b", "", "/b"},
        {"hdfs://nn1:8020/a", "hdfs://nn", "/a"},
        {"webhdfs://nn2/a", "hdfs://nn", "/a"},
        {"hdfs://other/a", "hdfs://other", "/a"},
        {"/a/day=2026-01-01T10:00/x", "", "/a/day=2026-01-01T10:00/x"},
        {"s3://b", "s3://b", ""},
    };
    struct cv_location_rules rules;
    struct cv_error err = CV_ERROR_INIT;

    (void)state;
    CV_ASSERT_OK(cv_location_rules_read("webhdfs = hdfs", "nn1:8020 , nn2=nn; x=y", &rules, &err),
                 &err);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(keys); i++) {
        struct cv_location_key key = key_of(&rules, keys[i].location);

        assert_string_equal(key.prefix, keys[i].prefix);
        assert_string_equal(key.path, keys[i].path);
        assert_int_equal(key.path_length, strlen(keys[i].path));
    }
    cv_location_rules_release(&rules);
}

static void refuses_other_maps(void **state)
{
    struct cv_location_rules rules;
    struct cv_error err = CV_ERROR_INIT;

    (void)state;
    CV_ASSERT_FAILS(cv_location_rules_read("s3a", NULL, &rules, &err), CV_USAGE, "equal_schemes",
                    &err);
    CV_ASSERT_FAILS(cv_location_rules_read(NULL, "a=", &rules, &err), CV_USAGE, "equal_authorities",
                    &err);
}

static void knows_what_is_below(void **state)
{
    struct cv_location_rules rules;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_location_key folder;
    struct cv_location_key key;

    (void)state;
    CV_ASSERT_OK(cv_location_rules_read(NULL, NULL, &rules, &err), &err);
    folder = key_of(&rules, "file:///w/t/");
    key = key_of(&rules, "/w/t");
    assert_true(cv_location_key_below(&key, &folder));
    key = key_of(&rules, "/w//t/a");
    assert_true(cv_location_key_below(&key, &folder));
    key = key_of(&rules, "/w/t2/a");
    assert_false(cv_location_key_below(&key, &folder));
    key = key_of(&rules, "/w");
    assert_false(cv_location_key_below(&key, &folder));
    cv_location_rules_release(&rules);
}

static void refuses_long_ones(void **state)
{
    static char text[CV_PATH_BYTES_MAX + 8];
    struct cv_location_rules rules = {{0}, {0}};
    struct cv_location_key key;

    (void)state;
    memset(text, 'a', sizeof text - 1);
    text[0] = '/';
    assert_false(cv_location_key_make(&rules, cv_str_from(text), &key));
    memcpy(text, "s3://", 5);
    text[1000] = '\0';
    assert_false(cv_location_key_make(&rules, cv_str_from(text), &key));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_spellings_one),
        cmocka_unit_test(refuses_other_maps),
        cmocka_unit_test(knows_what_is_below),
        cmocka_unit_test(refuses_long_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
