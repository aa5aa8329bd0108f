/* SPDX-License-Identifier: Apache-2.0
 *
 * Spark's arithmetic of a batch with worked numbers, and what counts as data loss. */
#include "kafka/plan.h"

#include "test.h"

static int warnings;
static char last_warning[2048];

static void count_warning(void *context, const char *message)
{
    warnings++;
    (void)snprintf(last_warning, sizeof last_warning, "%s", message);
}

static void setup(struct cv_offsets *offsets, const int64_t *values, size_t count)
{
    memset(offsets, 0, sizeof *offsets);
    for (size_t i = 0; i < count; i++)
        cv_offsets_set(offsets, "t", (int32_t)i, values[i]);
}

/* Shares `limit` over partitions that start at 0 and expects these ends. */
static void expect_shares(const int64_t *sizes, size_t count, int64_t limit, const int64_t *shares)
{
    struct cv_offsets begin;
    struct cv_offsets latest;
    struct cv_offsets end = {0};

    setup(&latest, sizes, count);
    setup(&begin, sizes, count);
    for (size_t i = 0; i < count; i++)
        begin.items[i].offset = 0;
    cv_plan_share_limit(&begin, &latest, limit, &end);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(end.items[i].offset, shares[i]);
    cv_offsets_release(&begin);
    cv_offsets_release(&latest);
    cv_offsets_release(&end);
}

static void shares_the_limit_as_spark_does(void **state)
{
    expect_shares((int64_t[]){101, 11, 1}, 3, 10, (int64_t[]){8, 1, 1});
    expect_shares((int64_t[]){93, 10, 0}, 3, 10, (int64_t[]){9, 1, 0});
    expect_shares((int64_t[]){84, 9, 0}, 3, 10, (int64_t[]){9, 1, 0});
}

static void shares_are_not_a_hard_cap(void **state)
{
    int64_t ones[20];

    for (size_t i = 0; i < 20; i++)
        ones[i] = 1;
    expect_shares(ones, 20, 10, ones);
    expect_shares((int64_t[]){1000, 1000, 1000}, 3, 1, (int64_t[]){1, 1, 1});
    expect_shares((int64_t[]){5, 5}, 2, 3, (int64_t[]){1, 1});
}

static void a_huge_limit_ends_at_the_latest(void **state)
{
    expect_shares((int64_t[]){INT64_MAX / 2, 7}, 2, INT64_MAX, (int64_t[]){INT64_MAX / 2, 7});
    expect_shares((int64_t[]){0, 0}, 2, 10, (int64_t[]){0, 0});
}

static void shares_start_at_the_begin(void **state)
{
    struct cv_offsets begin;
    struct cv_offsets latest;
    struct cv_offsets end = {0};

    setup(&begin, (int64_t[]){1000, 50}, 2);
    setup(&latest, (int64_t[]){1100, 40}, 2);
    cv_plan_share_limit(&begin, &latest, 30, &end);
    assert_int_equal(end.items[0].offset, 1030);
    assert_int_equal(end.items[1].offset, 40); /* no positive size: the latest */
    cv_offsets_release(&begin);
    cv_offsets_release(&latest);
    cv_offsets_release(&end);
}

static void waits_for_the_minimum(void **state)
{
    struct cv_trigger_clock clock = {0};
    struct cv_offsets start;
    struct cv_offsets latest;
    const int64_t now = 1700000000000000;
    const int64_t delay = 900000000;

    setup(&start, (int64_t[]){10}, 1);
    setup(&latest, (int64_t[]){12, 3}, 2);
    /* The first trigger after a start always runs. */
    assert_false(cv_plan_is_delayed(&clock, now, delay, 6, &start, &latest));
    assert_true(cv_plan_is_delayed(&clock, now + 1, delay, 6, &start, &latest));
    /* Partitions that the query does not know count from 0: 2 + 3 = 5. */
    assert_false(cv_plan_is_delayed(&clock, now + 2, delay, 5, &start, &latest));
    assert_true(cv_plan_is_delayed(&clock, now + 2 + delay - 1, delay, 6, &start, &latest));
    assert_false(cv_plan_is_delayed(&clock, now + 2 + delay, delay, 6, &start, &latest));
    cv_offsets_release(&start);
    cv_offsets_release(&latest);
}

struct loss_case {
    const char *start, *latest, *earliest;
    const char *want_start; /* with failOnDataLoss=false */
    const char *error;      /* with true; NULL = none */
    uint64_t lost;
};

static const struct loss_case loss_cases[] = {
    {"{\"t\":{\"0\":5}}", "{\"t\":{\"0\":9}}", "{}", "{\"t\":{\"0\":5}}", NULL, 0},
    {"{\"t\":{\"0\":5}}", "{\"t\":{\"0\":9,\"1\":3}}", "{\"t\":{\"1\":0}}",
     "{\"t\":{\"0\":5,\"1\":0}}", NULL, 0},
    {"{\"t\":{\"0\":5}}", "{\"t\":{\"0\":9,\"1\":9}}", "{\"t\":{\"1\":4}}",
     "{\"t\":{\"0\":5,\"1\":4}}",
     "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO: new partition t[1] starts "
     "at 4",
     4},
    {"{}", "{\"t\":{\"0\":9}}", "{}", "{}",
     "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS", 0},
    {"{\"t\":{\"0\":5},\"u\":{\"0\":7}}", "{\"t\":{\"0\":9}}", "{}", "{\"t\":{\"0\":5}}",
     "KAFKA_DATA_LOSS.PARTITIONS_DELETED: 1 partition known to the query is no longer there: "
     "u[0]@7",
     0},
    /* A topic made anew and shorter: what it holds is read from its beginning. */
    {"{\"t\":{\"0\":10}}", "{\"t\":{\"0\":4}}", "{\"t\":{\"0\":0}}", "{\"t\":{\"0\":0}}",
     "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED: t[0] was read up to 10 but ends at 4", 0},
};

static void parse(const char *text, struct cv_offsets *offsets)
{
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(cv_offsets_parse(cv_str_from(text), true, offsets, &err), &err);
}

static void check_loss(const struct loss_case *c, bool fail)
{
    struct cv_plan_policy policy = {NULL, fail, false, count_warning, NULL};
    struct cv_offsets start = {0}, latest = {0}, earliest = {0}, want = {0}, got = {0};
    struct cv_error err = CV_ERROR_INIT;
    uint64_t lost = 0;

    parse(c->start, &start);
    parse(c->latest, &latest);
    parse(c->earliest, &earliest);
    parse(c->want_start, &want);
    warnings = 0;
    if (fail && c->error) {
        CV_ASSERT_FAILS(
            cv_plan_resolve_start(&policy, &start, &latest, &earliest, &got, &lost, &err),
            CV_DATA_LOSS, c->error, &err);
        assert_non_null(strstr(err.hint, "failOnDataLoss"));
        assert_int_equal(warnings, 0);
    } else {
        CV_ASSERT_OK(cv_plan_resolve_start(&policy, &start, &latest, &earliest, &got, &lost, &err),
                     &err);
        assert_true(cv_offsets_equal(&want, &got));
        assert_int_equal(lost, c->lost);
        assert_int_equal(warnings, c->error ? 1 : 0);
        if (c->error)
            assert_non_null(strstr(last_warning, c->error));
    }
    cv_offsets_release(&start);
    cv_offsets_release(&latest);
    cv_offsets_release(&earliest);
    cv_offsets_release(&want);
    cv_offsets_release(&got);
}

static void applies_the_data_loss_policy(void **state)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(loss_cases); i++) {
        check_loss(&loss_cases[i], true);
        check_loss(&loss_cases[i], false);
    }
}

static void names_the_group_id_class(void **state)
{
    struct cv_plan_policy policy = {NULL, true, true, NULL, NULL};
    struct cv_offsets start = {0}, none = {0}, got = {0};
    struct cv_error err = CV_ERROR_INIT;
    uint64_t lost;

    cv_offsets_set(&start, "t", 0, 1);
    CV_ASSERT_FAILS(cv_plan_resolve_start(&policy, &start, &none, &none, &got, &lost, &err),
                    CV_DATA_LOSS, "PARTITIONS_DELETED_AND_GROUP_ID_CONFIG_PRESENT", &err);
    cv_offsets_release(&start);
}

/* Case 6 (b): longer than what was read, but not the same topic. */
static void a_recreated_topic_is_read_from_its_beginning(void **state)
{
    struct cv_offsets recreated = {0}, start = {0}, latest = {0}, earliest = {0}, got = {0};
    struct cv_plan_policy policy = {&recreated, true, false, NULL, NULL};
    struct cv_error err = CV_ERROR_INIT;
    uint64_t lost = 0;

    parse("{\"t\":{\"0\":10}}", &start);
    parse("{\"t\":{\"0\":25}}", &latest);
    parse("{\"t\":{\"0\":0}}", &earliest);
    parse("{\"t\":{\"0\":0}}", &recreated);
    CV_ASSERT_FAILS(cv_plan_resolve_start(&policy, &start, &latest, &earliest, &got, &lost, &err),
                    CV_DATA_LOSS, "PARTITION_OFFSET_CHANGED: the last record of t[0]", &err);
    policy.fail_on_data_loss = false;
    CV_ASSERT_OK(cv_plan_resolve_start(&policy, &start, &latest, &earliest, &got, &lost, &err),
                 &err);
    assert_int_equal(got.items[0].offset, 0);
    cv_offsets_release(&recreated);
    cv_offsets_release(&start);
    cv_offsets_release(&latest);
    cv_offsets_release(&earliest);
    cv_offsets_release(&got);
}

static void expect_bound(const char *start, const char *bound, const char *latest,
                         const char *error)
{
    struct cv_offsets s = {0}, b = {0}, l = {0};
    struct cv_error err = CV_ERROR_INIT;

    parse(start, &s);
    parse(bound, &b);
    parse(latest, &l);
    if (error)
        CV_ASSERT_FAILS(cv_plan_check_bound(&s, &b, &l, &err), CV_DATA_LOSS, error, &err);
    else
        CV_ASSERT_OK(cv_plan_check_bound(&s, &b, &l, &err), &err);
    cv_offsets_release(&s);
    cv_offsets_release(&b);
    cv_offsets_release(&l);
}

static void checks_the_ends_of_available_now(void **state)
{
    expect_bound("{\"t\":{\"0\":3}}", "{\"t\":{\"0\":5}}", "{\"t\":{\"0\":7}}", NULL);
    expect_bound("{\"t\":{\"1\":3}}", "{\"t\":{\"0\":5}}", "{\"t\":{\"0\":7}}",
                 "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED: t[1]");
    expect_bound("{\"t\":{\"0\":6}}", "{\"t\":{\"0\":5}}", "{\"t\":{\"0\":7}}",
                 "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_PREFETCHED: t[0]");
    expect_bound("{}", "{\"t\":{\"0\":5}}", "{}",
                 "LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW: t[0]");
    expect_bound("{}", "{\"t\":{\"0\":5}}", "{\"t\":{\"0\":4}}",
                 "THAN_LATEST_WITH_TRIGGER_AVAILABLENOW: t[0] ends at 4");
}

static void starting_offsets_list_every_partition(void **state)
{
    struct cv_offsets given = {0}, existing = {0};
    struct cv_error err = CV_ERROR_INIT;

    parse("{\"t\":{\"0\":1}}", &given);
    parse("{\"t\":{\"0\":0,\"1\":0}}", &existing);
    CV_ASSERT_FAILS(cv_plan_check_listed("startingOffsets", &given, &existing, &err), CV_CONFIG,
                    "t[1] is missing", &err);
    parse("{\"t\":{\"0\":1,\"1\":1,\"2\":1}}", &given);
    CV_ASSERT_FAILS(cv_plan_check_listed("startingOffsets", &given, &existing, &err), CV_CONFIG,
                    "t[2] is listed but", &err);
    parse("{\"t\":{\"0\":1,\"1\":1}}", &given);
    CV_ASSERT_OK(cv_plan_check_listed("startingOffsets", &given, &existing, &err), &err);
    cv_offsets_release(&given);
    cv_offsets_release(&existing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_the_limit_as_spark_does),
        cmocka_unit_test(shares_are_not_a_hard_cap),
        cmocka_unit_test(a_huge_limit_ends_at_the_latest),
        cmocka_unit_test(shares_start_at_the_begin),
        cmocka_unit_test(waits_for_the_minimum),
        cmocka_unit_test(applies_the_data_loss_policy),
        cmocka_unit_test(names_the_group_id_class),
        cmocka_unit_test(a_recreated_topic_is_read_from_its_beginning),
        cmocka_unit_test(checks_the_ends_of_available_now),
        cmocka_unit_test(starting_offsets_list_every_partition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
