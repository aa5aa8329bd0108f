/* SPDX-License-Identifier: Apache-2.0
 *
 * Parsing of texts: what Spark's CAST takes, exact at the edges; nothing wraps. */
#include "schema/value.h"
#include "test.h"

#include <math.h>

#define NINES_38 "99999999999999999999999999999999999999"

static const struct {
    const char *text;
    uint8_t precision, scale;
    const char *unscaled; /* NULL = refused */
    bool exact;
} decimal_rows[] = {
    {"14.20", 9, 2, "1420", true},
    {"-14.2", 9, 2, "-1420", true},
    {"+5", 9, 2, "500", true},
    {".5", 9, 2, "50", true},
    {"5.", 9, 2, "500", true},
    {"0", 38, 38, "0", true},
    {"1.005", 9, 2, "101", false},
    {"1.004", 9, 2, "100", false},
    {"-1.005", 9, 2, "-101", false},
    {"-1.0049999999999999999999999999999999999999999999", 9, 2, "-100", false},
    {"1.0050000000000000000000000000000000000000000000", 9, 2, "101", false},
    {"1.00000000000000000000000000000000000000000000000", 9, 2, "100", true},
    {"0.00000000000000000000000000000000000000000000001", 38, 38, "0", false},
    {"1e2", 9, 2, "10000", true},
    {"1E-2", 9, 2, "1", true},
    {"1e-3", 9, 2, "0", false},
    {"5e-3", 9, 2, "1", false},
    {"1e-999999999999", 9, 2, "0", false},
    {"0e999999999999", 9, 2, "0", true},
    {"12345678901234567890.12", 38, 2, "1234567890123456789012", true},
    {"9999999.99", 9, 2, "999999999", true},
    {"9999999.994", 9, 2, "999999999", false},
    {"9999999.995", 9, 2, NULL, false},
    {"10000000", 9, 2, NULL, true},
    {NINES_38, 38, 0, NINES_38, true},
    {"-" NINES_38, 38, 0, "-" NINES_38, true},
    {NINES_38 ".4", 38, 0, NINES_38, false},
    {NINES_38 ".5", 38, 0, NULL, false},
    {"12345678901234567890123456789012345678.5", 38, 0, "12345678901234567890123456789012345679",
     false},
    {"1" NINES_38, 38, 0, NULL, true},
    {"000000000000000000000000000000000000000000000001", 9, 2, "100", true},
    {"1e38", 38, 0, NULL, true},
    {"1e37", 38, 0, "10000000000000000000000000000000000000", true},
    {"", 9, 2, NULL, true},
    {"-", 9, 2, NULL, true},
    {".", 9, 2, NULL, true},
    {"1.2.3", 9, 2, NULL, true},
    {"1e", 9, 2, NULL, true},
    {"1e+", 9, 2, NULL, true},
    {"1 ", 9, 2, NULL, true},
    {"0x1", 9, 2, NULL, true},
    {"NaN", 9, 2, NULL, true},
};

static void decimals_round_half_up_and_keep_every_digit(void **state)
{
    static const struct cv_type whole = {.kind = CV_TYPE_DECIMAL, .precision = 38};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(decimal_rows); i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
        struct cv_value value = {.kind = CV_TYPE_DECIMAL};
        struct cv_str text = cv_str_from(decimal_rows[i].text);
        cv_wide_int unscaled = 0;
        bool taken = cv_parse_decimal(text, decimal_rows[i].precision, decimal_rows[i].scale,
                                      &value.decimal);

        if (taken != (decimal_rows[i].unscaled != NULL))
            fail_msg("%s: taken %d", decimal_rows[i].text, taken);
        if (cv_parse_decimal_exact(text, decimal_rows[i].precision, decimal_rows[i].scale,
                                   &unscaled) != (taken && decimal_rows[i].exact))
            fail_msg("%s: exact", decimal_rows[i].text);
        if (!taken)
            continue;
        cv_value_write_text(&value, &whole, &out);
        assert_string_equal(cv_buf_text(&out), decimal_rows[i].unscaled);
        assert_true(!decimal_rows[i].exact || unscaled == value.decimal);
    }
}

static void doubles_are_the_nearest(void **state)
{
    static const struct {
        const char *text;
        double value;
    } rows[] = {
        {"0", 0.0},
        {"-0", -0.0},
        {"1.5", 1.5},
        {"1e2", 100.0},
        {"0.1", 0.1},
        {"9007199254740993", 9007199254740992.0},
        {"123456789012345678901234567890", 123456789012345678901234567890.0},
        {"1.7976931348623157e308", 1.7976931348623157e308},
        {"4.9e-324", 4.9e-324},
        {"1e-400", 0.0},
        {"1e400", INFINITY},
        {"Infinity", INFINITY},
        {"-Infinity", -INFINITY},
        {"-inf", -INFINITY},
        {"+Inf", INFINITY},
        {"1.5d", 1.5},
        {"1.5F", 1.5},
    };
    static const char *const refused[] = {"",     "-",       "1e", "1,5", "0x1p3",
                                          "nan1", "infinit", "d",  "--1"};
    static const char *const nans[] = {"NaN", "nan", "-NaN", "+NaN"};
    double value;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        assert_true(cv_parse_double(cv_str_from(rows[i].text), &value));
        assert_memory_equal(&value, &rows[i].value, sizeof value);
    }
    for (size_t i = 0; i < CV_ARRAY_LENGTH(nans); i++) {
        assert_true(cv_parse_double(cv_str_from(nans[i]), &value));
        assert_true(isnan(value));
    }
    for (size_t i = 0; i < CV_ARRAY_LENGTH(refused); i++)
        assert_false(cv_parse_double(cv_str_from(refused[i]), &value));
}

static void doubles_agree_with_strtod(void **state)
{
    uint64_t seed = 88172645463325252u;
    char text[64];
    double value;

    for (int i = 0; i < 100000; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (void)snprintf(text, sizeof text, "%llu.%llue%d", (unsigned long long)(seed % 1000000),
                       (unsigned long long)(seed >> 34), (int)(seed % 61) - 30);
        assert_true(cv_parse_double(cv_str_from(text), &value));
        if (value != strtod(text, NULL))
            fail_msg("%s: %.17g", text, value);
    }
}

static void dates_have_spark_forms(void **state)
{
    static const struct {
        const char *text;
        int32_t days;
    } rows[] = {
        {"1970-01-01", 0},
        {"1969-12-31", -1},
        {"2017-12-01", 17501},
        {"0001-01-01", -719162},
        {"2000-2-29", 11016},
        {"2000-02-29T10:00:00", 11016},
        {"2000-02-29 anything", 11016},
        {"2000-03", 11017},
        {"1970", 0},
        {"+1970-01-01", 0},
        {"-0001-12-31", -719529},
        {"10000-01-01", 2932897},
        {"5881580-07-11", INT32_MAX},
    };
    static const char *const refused[] = {"",
                                          "2001-02-29",
                                          "2001-13-01",
                                          "2001-00-01",
                                          "2001-01-00",
                                          "20010101",
                                          "70-01-01",
                                          "2001-01-01x",
                                          "2001-1-",
                                          "2001-",
                                          "2001-01-1-1",
                                          "5881580-07-12",
                                          "12345678-01-01",
                                          "x",
                                          "2001-001-01"};
    int32_t days;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        if (!cv_parse_date(cv_str_from(rows[i].text), &days) || days != rows[i].days)
            fail_msg("%s: %d", rows[i].text, days);
    }
    for (size_t i = 0; i < CV_ARRAY_LENGTH(refused); i++)
        if (cv_parse_date(cv_str_from(refused[i]), &days))
            fail_msg("%s was taken", refused[i]);
}

static void timestamps_at_the_edges(void **state)
{
    static const struct {
        const char *text;
        int64_t us;
        bool zone;
    } rows[] = {
        /* case 22: every spelling of the zone */
        {"2026-03-31T03:17:37.260514+00:00", 1774927057260514, true},
        {"2026-03-31T03:17:37.260514+0000", 1774927057260514, true},
        {"2026-03-31T03:17:37.260514+00", 1774927057260514, true},
        {"2026-03-31T03:17:37.260514Z", 1774927057260514, true},
        {"2026-03-31 03:17:37", 1774927057000000, false},
        {"2026-03-31T03:17:37.2605149", 1774927057260514, false},
        {"1754-08-30T22:43:41.129Z", -6795364578871000, true},
        {"9999-12-31T23:59:59.999999Z", 253402300799999999, true},
        {"0001-01-01T00:00:00", -62135596800000000, false},
        {"1969-12-31T23:59:59.999999", -1, false},
        {"2017-11-16T14:31:08.000001-08:00", 1510871468000001, true},
        {"2017-11-16 22:31:08 UTC", 1510871468000000, true},
        {"2017-11-16 22:31:08 GMT+01:00", 1510867868000000, true},
        {"2017-11-16 22:31:08+1", 1510867868000000, true},
        {"2017-11-16 22:31:08+1:30", 1510866068000000, true},
        {"2017-11-16 22:31", 1510871460000000, false},
        {"2017-11-16 2:3:4", 1510797784000000, false},
        {"2017-11-16", 1510790400000000, false},
        {"2017-11-16T22:31:08.1", 1510871468100000, false},
        {"+294247-01-10T04:00:54.775807Z", INT64_MAX, true},
    };
    static const char *const refused[] = {"",
                                          "infinity",
                                          "2026-03-31T03:17:60",
                                          "2026-03-31T24:00:00",
                                          "2026-03-31T03:60:00",
                                          "2026-02-29T00:00:00",
                                          "2026-13-01T00:00:00",
                                          "+294248-01-01T00:00:00Z",
                                          "+294247-01-10T04:00:54.775808Z",
                                          "2026-03-31T03:17:37X",
                                          "2026-03-31T03:17:37Z1",
                                          "2026-03-31T03:17:37+19:00",
                                          "2026-03-31T03:17:37+00:60",
                                          "2026-03-31T03:17:37 America/New_York",
                                          "2026-03-31T03:17:37+",
                                          "2026-03-31T03:17:37+123",
                                          "1774927057",
                                          "2026-03-31T-3:17:37"};
    int64_t us;
    bool zone;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        if (!cv_parse_timestamp(cv_str_from(rows[i].text), &us, &zone) || us != rows[i].us ||
            zone != rows[i].zone)
            fail_msg("%s: %lld", rows[i].text, (long long)us);
    }
    for (size_t i = 0; i < CV_ARRAY_LENGTH(refused); i++)
        if (cv_parse_timestamp(cv_str_from(refused[i]), &us, &zone))
            fail_msg("%s was taken", refused[i]);
}

/* What Spark 4.0 gives for CAST. */
static void timestamps_as_in_spark(void **state)
{
    static const struct {
        const char *text;
        int64_t us;
    } rows[] = {
        {"294247-01-10T05:00:54.775807+01:00", INT64_MAX},
        {"-290308-12-21T19:59:05.224192Z", INT64_MIN},
        {"2026-03-31T10", 1774951200000000},
        {"2026-03-31T10:20:30.", 1774952430000000},
        {"2026-03-31T10:20:30.1234567899Z", 1774952430123456},
        {"2026-03-31 10:20:30.123456+012345", 1774947405123456},
        {"2026-03-31 10:20:30+1:01:01", 1774948769000000},
    };
    static const char *const refused[] = {"2026-03-31Z", /* a zone stands behind seconds only */
                                          "2026-03-31 10:20Z",
                                          "2026-03-31T10+01:00",
                                          "2026-03-31T",
                                          "1234567-01-01",
                                          "2026-03-31T03:17:37+1:1:1",
                                          "2026-03-31T03:17:37+01:00:0",
                                          "-290308-12-21T19:59:05.224191Z"};
    int64_t us;
    bool zone;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++)
        if (!cv_parse_timestamp(cv_str_from(rows[i].text), &us, &zone) || us != rows[i].us)
            fail_msg("%s: %lld", rows[i].text, (long long)us);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(refused); i++)
        if (cv_parse_timestamp(cv_str_from(refused[i]), &us, &zone))
            fail_msg("%s was taken", refused[i]);
}

static void times_and_uuids(void **state)
{
    uint8_t bytes[16];
    int64_t us;

    assert_true(cv_parse_time(cv_str_from("22:31:08.123456"), &us));
    assert_int_equal(us, INT64_C(81068123456));
    assert_true(cv_parse_time(cv_str_from("22:31"), &us));
    assert_int_equal(us, INT64_C(81060000000));
    assert_false(cv_parse_time(cv_str_from("24:00:00"), &us));
    assert_false(cv_parse_time(cv_str_from("22:31:08 "), &us));
    assert_true(cv_parse_uuid(cv_str_from("F79C3E09-677c-4bbd-a479-3f349cb785e7"), bytes));
    cv_test_assert_hex(bytes, 16, "f7 9c 3e 09 67 7c 4b bd a4 79 3f 34 9c b7 85 e7");
    assert_false(cv_parse_uuid(cv_str_from("f79c3e09677c4bbda4793f349cb785e7"), bytes));
    assert_false(cv_parse_uuid(cv_str_from("f79c3e09-677c-4bbd-a479-3f349cb785eg"), bytes));
    assert_false(cv_parse_uuid(cv_str_from("f79c3e09-677c-4bbda-479-3f349cb785e7"), bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimals_round_half_up_and_keep_every_digit),
        cmocka_unit_test(doubles_are_the_nearest),
        cmocka_unit_test(doubles_agree_with_strtod),
        cmocka_unit_test(dates_have_spark_forms),
        cmocka_unit_test(timestamps_at_the_edges),
        cmocka_unit_test(timestamps_as_in_spark),
        cmocka_unit_test(times_and_uuids),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
