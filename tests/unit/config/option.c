/* SPDX-License-Identifier: Apache-2.0
 *
 * Option tables: types, limits, prefixes, near names. */
#include "test.h"

#include "config/option.h"

struct target {
    bool flag;
    int64_t count;
    int64_t bytes;
    int64_t wait_us;
    const char *text;
    int choice;
    struct cv_properties kafka;
};

#define AT(field) offsetof(struct target, field)

static const struct cv_option options[] = {
    {"failOnDataLoss", CV_OPTION_BOOL, AT(flag), "true", NULL, "x", 0, 0, 0},
    {"maxOffsetsPerTrigger", CV_OPTION_INTEGER, AT(count), NULL, NULL, "x", 1, 1000, 0},
    {"memory", CV_OPTION_BYTES, AT(bytes), "256 MiB", NULL, "x", 0, 0, 0},
    {"maxTriggerDelay", CV_OPTION_DURATION, AT(wait_us), "15m", NULL, "x", 0, 0, 0},
    {"subscribe", CV_OPTION_TEXT, AT(text), NULL, NULL, "name the topics", 0, 0,
     CV_OPTION_REQUIRED},
    {"mode", CV_OPTION_CHOICE, AT(choice), "FAILFAST", "FAILFAST|PERMISSIVE", "x", 0, 0, 0},
    {"kafka.", CV_OPTION_PREFIX, AT(kafka), NULL, NULL, "x", 0, 0, 0},
    {"kafka.group.id", CV_OPTION_TEXT, AT(text), NULL, NULL, "because", 0, 0, CV_OPTION_REFUSED},
    {"minPartitions", CV_OPTION_ACCEPTED, 0, NULL, NULL, "x", 0, 0, 0},
};
static const struct cv_option_table table = {"source", "x", options, CV_ARRAY_LENGTH(options)};
static struct cv_error err;
static struct cv_arena arena;

static enum cv_code set(struct target *target, const char *key, const char *value)
{
    return cv_options_set(&table, target, &arena, key, value, &err);
}

static void values_are_typed(void **state)
{
    struct target t = {0};

    CV_ASSERT_OK(cv_options_defaults(&table, &t, &arena, &err), &err);
    assert_true(t.flag);
    assert_int_equal(t.bytes, 256 << 20);
    assert_int_equal(t.wait_us, INT64_C(900000000));
    CV_ASSERT_OK(set(&t, "FAILONDATALOSS", "false"), &err);
    assert_false(t.flag);
    CV_ASSERT_OK(set(&t, "maxoffsetspertrigger", "1000"), &err);
    assert_int_equal(t.count, 1000);
    CV_ASSERT_OK(set(&t, "mode", "permissive"), &err);
    assert_int_equal(t.choice, 1);
    CV_ASSERT_OK(set(&t, "kafka.bootstrap.servers", "h:1"), &err);
    assert_string_equal(cv_properties_get(&t.kafka, "bootstrap.servers"), "h:1");
    CV_ASSERT_OK(set(&t, "maxTriggerDelay", "1500"), &err);
    assert_int_equal(t.wait_us, 1500000);
    CV_ASSERT_OK(set(&t, "minPartitions", "10"), &err);
    cv_properties_release(&t.kafka);
}

static void mistakes_are_named(void **state)
{
    struct target t = {0};

    CV_ASSERT_FAILS(set(&t, "subscribes", "x"), CV_CONFIG, "source.subscribes", &err);
    assert_non_null(strstr(err.hint, "source.subscribe"));
    CV_ASSERT_FAILS(set(&t, "maxOffsetsPerTrigger", "0"), CV_CONFIG, "outside 1 … 1000", &err);
    CV_ASSERT_FAILS(set(&t, "maxOffsetsPerTrigger", "9x"), CV_CONFIG, "not an integer", &err);
    CV_ASSERT_FAILS(set(&t, "failOnDataLoss", "yes"), CV_CONFIG, "neither true nor false", &err);
    CV_ASSERT_FAILS(set(&t, "mode", "LENIENT"), CV_CONFIG, "FAILFAST|PERMISSIVE", &err);
    CV_ASSERT_FAILS(set(&t, "kafka.group.id", "g"), CV_CONFIG, "because", &err);
    CV_ASSERT_FAILS(cv_options_check_required(&table, &t, &err), CV_CONFIG, "source.subscribe",
                    &err);
}

static void sizes_have_units(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {{"0", 0},        {"65536", 65536}, {"64k", 65536},      {"64 KiB", 65536},
                 {"1g", 1 << 30}, {"2MB", 2 << 20}, {" 7 mib ", 7 << 20}};
    int64_t bytes;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++) {
        CV_ASSERT_OK(cv_parse_bytes(cases[i].text, &bytes, &err), &err);
        assert_int_equal(bytes, cases[i].bytes);
    }
    CV_ASSERT_FAILS(cv_parse_bytes("many", &bytes, &err), CV_CONFIG, "not a size", &err);
    CV_ASSERT_FAILS(cv_parse_bytes("5 parsecs", &bytes, &err), CV_CONFIG, "not a size", &err);
    CV_ASSERT_FAILS(cv_parse_bytes("99999999999g", &bytes, &err), CV_CONFIG, "not a size", &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_typed),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(sizes_have_units),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
