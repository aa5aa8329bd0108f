/* SPDX-License-Identifier: Apache-2.0
 *
 * The calendar against V-TIME (reference vectors), texts of instants, Spark's interval texts. */
#include "test.h"

#include "base/time.h"

static struct cv_error err;

/* timestamp µs, and what Iceberg's day transform and the calendar make of it */
static const struct {
    int64_t us;
    int64_t year;
    int month, day;
    int64_t days, hours;
} v_time[] = {
    {-1, 1969, 12, 31, -1, -1},
    {-3600000000, 1969, 12, 31, -1, -1},
    {-3600000001, 1969, 12, 31, -1, -2},
    {-2678400000000, 1969, 12, 1, -31, -744},
    {-2678400000001, 1969, 11, 30, -32, -745},
    {-31536000000000, 1969, 1, 1, -365, -8760},
    {-31536000000001, 1968, 12, 31, -366, -8761},
    {0, 1970, 1, 1, 0, 0},
    {3599999999, 1970, 1, 1, 0, 0},
    {951782400000000, 2000, 2, 29, 11016, 264384},
    {1512123175038194, 2017, 12, 1, 17501, 420034},
    {2147483648000000, 2038, 1, 19, 24855, 596523},
    {-2203934400000000, 1900, 2, 28, -25509, -612204},
    {-62135596800000000, 1, 1, 1, -719162, -17259888},
    {253402300799999999, 9999, 12, 31, 2932896, 70389527},
};

static void the_calendar_meets_its_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(v_time); i++) {
        int64_t days = cv_floor_div(v_time[i].us, CV_US_PER_DAY);
        int64_t year;
        int month;
        int day;

        assert_int_equal(days, v_time[i].days);
        assert_int_equal(cv_floor_div(v_time[i].us, CV_US_PER_HOUR), v_time[i].hours);
        cv_civil_from_days(days, &year, &month, &day);
        assert_int_equal(year, v_time[i].year);
        assert_int_equal(month, v_time[i].month);
        assert_int_equal(day, v_time[i].day);
        assert_int_equal(cv_days_from_civil(year, month, day), days);
    }
}

/* Every day of a span that holds all kinds of leap years follows the one before. */
static void days_follow_each_other(void **state)
{
    int64_t year = 1599;
    int month = 12;
    int day = 31;
    int64_t first = cv_days_from_civil(1600, 1, 1);

    (void)state;
    for (int64_t days = first; days < first + 146097; days++) {
        int64_t got_year;
        int got_month;
        int got_day;

        if (++day > cv_days_in_month(year, month)) {
            day = 1;
            if (++month > 12) {
                month = 1;
                year++;
            }
        }
        cv_civil_from_days(days, &got_year, &got_month, &got_day);
        if (got_year != year || got_month != month || got_day != day)
            fail_msg("day %lld", (long long)days);
    }
}

static void months_have_their_days(void **state)
{
    (void)state;
    assert_int_equal(cv_days_in_month(2000, 2), 29);
    assert_int_equal(cv_days_in_month(1900, 2), 28);
    assert_int_equal(cv_days_in_month(2024, 2), 29);
    assert_int_equal(cv_days_in_month(2023, 2), 28);
    assert_int_equal(cv_days_in_month(2023, 12), 31);
}

static void instants_as_text(void **state)
{
    char text[CV_TIME_TEXT_BYTES];

    (void)state;
    cv_format_ms_utc(1512123175038, text);
    assert_string_equal(text, "2017-12-01T10:12:55.038Z");
    cv_format_ms_plain(1512123175038, text);
    assert_string_equal(text, "2017-12-01 10:12:55.038");
    cv_format_ms_utc(-1, text);
    assert_string_equal(text, "1969-12-31T23:59:59.999Z");
    cv_format_ms_utc(INT64_MAX, text); /* far out, but it fits */
    assert_true(strlen(text) < CV_TIME_TEXT_BYTES);
    cv_format_ms_utc(INT64_MIN, text);
    assert_true(strlen(text) < CV_TIME_TEXT_BYTES);
}

static int64_t duration(const char *text)
{
    int64_t us = -1;

    if (cv_parse_duration(text, 1000, &us, &err) != CV_OK)
        fail_msg("%s: %s", text, err.message);
    return us;
}

static void durations_of_spark(void **state)
{
    (void)state;
    assert_int_equal(duration("5 seconds"), 5000000);
    assert_int_equal(duration("1 minute"), 60000000);
    assert_int_equal(duration("interval 1 hour 30 minutes"), 5400000000);
    assert_int_equal(duration("INTERVAL 2 Days"), 172800000000);
    assert_int_equal(duration("100 ms"), 100000);
    assert_int_equal(duration("100 milliseconds"), 100000);
    assert_int_equal(duration("7 microseconds"), 7);
    assert_int_equal(duration("15m"), 900000000);
    assert_int_equal(duration("2h"), 7200000000);
    assert_int_equal(duration("  1   week "), 604800000000);
    assert_int_equal(duration("0 seconds"), 0);
    assert_int_equal(duration("30"), 30000); /* the bare unit */
    assert_int_equal(duration("10 secs"), 10000000);
    assert_int_equal(duration("5 mins"), 300000000);
}

static void what_is_no_duration(void **state)
{
    static const char *const texts[] = {"",
                                        "seconds",
                                        "5 parsecs",
                                        "-5 seconds",
                                        "5s x",
                                        "1..5 s",
                                        "interval",
                                        "9223372036854775807 days",
                                        "99999999999999999999 s"};
    int64_t us = 42;

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(texts); i++)
        CV_ASSERT_FAILS(cv_parse_duration(texts[i], 1000, &us, &err), CV_CONFIG, "not a duration",
                        &err);
    CV_ASSERT_FAILS(cv_parse_duration("30", 0, &us, &err), CV_CONFIG, "not a duration", &err);
    assert_int_equal(us, 42);
}

static void clocks_run(void **state)
{
    int64_t wall = cv_now_ms();
    int64_t before = cv_monotonic_us();

    (void)state;
    cv_sleep_ms(5);
    assert_true(cv_monotonic_us() - before >= 5000);
    assert_true(cv_now_ms() >= wall);
    assert_true(wall > INT64_C(1700000000000));
    cv_sleep_ms(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_calendar_meets_its_vectors),
        cmocka_unit_test(days_follow_each_other),
        cmocka_unit_test(months_have_their_days),
        cmocka_unit_test(instants_as_text),
        cmocka_unit_test(durations_of_spark),
        cmocka_unit_test(what_is_no_duration),
        cmocka_unit_test(clocks_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
