/* SPDX-License-Identifier: Apache-2.0
 *
 * Triggers: Spark's ProcessingTime arithmetic (its own test has nextBatchTime(0) = 100 and
 * nextBatchTime(100) = 200 for an interval of 100) and the texts. */
#include "test.h"

#include "stream/trigger.h"

#define S INT64_C(1000000)

static void next_start_is_aligned_to_the_epoch(void **state)
{
    const struct cv_trigger hundred = {CV_TRIGGER_PROCESSING_TIME, 100};
    const struct cv_trigger minute = {CV_TRIGGER_PROCESSING_TIME, 60 * S};

    assert_int_equal(cv_trigger_next(&hundred, 0, 0), 100);
    assert_int_equal(cv_trigger_next(&hundred, 100, 100), 200);
    assert_int_equal(cv_trigger_next(&hundred, 199, 199), 200);
    /* A batch of 90 s from 0:00: the next at 1:30 at once, then 2:00. */
    assert_int_equal(cv_trigger_next(&minute, 0, 90 * S), 90 * S);
    assert_int_equal(cv_trigger_next(&minute, 90 * S, 95 * S), 120 * S);
}

static void texts_are_read(void **state)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_trigger trigger;

    CV_ASSERT_OK(cv_trigger_parse("5 seconds", &trigger, &err), &err);
    assert_int_equal(trigger.interval_us, 5 * S);
    CV_ASSERT_OK(cv_trigger_parse("interval 1 minute 30 seconds", &trigger, &err), &err);
    assert_int_equal(trigger.interval_us, 90 * S);
    CV_ASSERT_OK(cv_trigger_parse("AVAILABLENOW", &trigger, &err), &err);
    assert_int_equal(trigger.kind, CV_TRIGGER_AVAILABLE_NOW);
    CV_ASSERT_OK(cv_trigger_parse("once", &trigger, &err), &err);
    assert_int_equal(trigger.kind, CV_TRIGGER_ONCE);
    CV_ASSERT_OK(cv_trigger_parse(NULL, &trigger, &err), &err);
    assert_int_equal(trigger.kind, CV_TRIGGER_PROCESSING_TIME);
    assert_int_equal(trigger.interval_us, 0);
}

static void others_are_refused(void **state)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_trigger trigger;

    CV_ASSERT_FAILS(cv_trigger_parse("continuous 1 second", &trigger, &err), CV_UNSUPPORTED,
                    "continuous", &err);
    CV_ASSERT_FAILS(cv_trigger_parse("often", &trigger, &err), CV_CONFIG, "often", &err);
    CV_ASSERT_FAILS(cv_trigger_parse("5", &trigger, &err), CV_CONFIG, "duration", &err);
}

static void short_intervals_cost(void **state)
{
    const struct cv_trigger five = {CV_TRIGGER_PROCESSING_TIME, 5 * S};
    const struct cv_trigger minute = {CV_TRIGGER_PROCESSING_TIME, 60 * S};
    const struct cv_trigger now = {CV_TRIGGER_AVAILABLE_NOW, 0};
    char text[256];

    cv_trigger_cost(&five, text, sizeof text);
    assert_non_null(strstr(text, "17280 snapshots"));
    cv_trigger_cost(&minute, text, sizeof text);
    assert_string_equal(text, "");
    cv_trigger_cost(&now, text, sizeof text);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(next_start_is_aligned_to_the_epoch),
        cmocka_unit_test(texts_are_read),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(short_intervals_cost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
