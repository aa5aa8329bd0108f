/* SPDX-License-Identifier: Apache-2.0
 *
 * Routing of columns: the same tuple always gets the same group, every type, nulls, nested sources;
 * the column-wise results equal those of single values. */
#include "base/time.h"
#include "iceberg/partition.h"
#include "test.h"

#include <math.h>

#define ROWS 6

struct fixture {
    struct cv_arena arena;
    struct cv_error err;
    struct cv_schema schema;
    struct cv_column columns[16];
    struct cv_column nested[1];
    struct cv_batch batch;
};

static const uint8_t validity[] = {0x1f}; /* row 5 is null */
static const int64_t longs[ROWS] = {34, -1, 34, INT64_MAX, -1, 0};
static const int32_t ints[ROWS] = {34, -1, 34, INT32_MIN, -1, 0};
static const int64_t times[ROWS] = {-1, 0, 86399999999, 86400000000, -86400000000, 0};
static const int32_t dates[ROWS] = {-1, 0, 364, 365, -1, 0};
static const double doubles[ROWS] = {0.0, -0.0, 1.5, 0.0, 1.5, 0};
static const int32_t offsets[ROWS + 1] = {0, 3, 6, 9, 9, 13, 13};
static const char text[] = "abcabdabcnull";
static const uint8_t flags[] = {0x0b};
static const cv_wide_int decimals[ROWS] = {1420, -1, 1420, 5, -1, 0};
static const uint8_t uuids[ROWS * 16] = {1, [16] = 2, [32] = 1, [48] = 3, [64] = 2};

static int make(void **state)
{
    struct fixture *f = cv_alloc(sizeof *f);
    const void *data[] = {longs, ints, times, times, dates, doubles, text, flags, decimals, uuids};

    if (cv_schema_read_ddl("l bigint, i int, ts timestamp, tz timestamp_ltz, d date, f double, "
                           "s string, b boolean, p decimal(38,2), u uuid, st struct<x: bigint>",
                           &f->arena, &f->schema, &f->err) != CV_OK)
        fail_msg("%s", f->err.message);
    for (size_t i = 0; i < 11; i++) {
        f->columns[i] = (struct cv_column){.type = &f->schema.root.fields[i].type,
                                           .length = ROWS,
                                           .null_count = 1,
                                           .validity = validity,
                                           .data = i < 10 ? data[i] : NULL};
    }
    f->columns[6].offsets = offsets;
    f->nested[0] = f->columns[0];
    f->columns[10].children = f->nested;
    f->columns[10].child_count = 1;
    f->batch = (struct cv_batch){&f->schema, f->columns, 11, ROWS};
    *state = f;
    return 0;
}

static int drop(void **state)
{
    struct fixture *f = *state;

    cv_arena_release(&f->arena);
    free(f);
    return 0;
}

static struct cv_partitioner *partitioner_of(struct fixture *f, const char *ddl)
{
    struct cv_partition_spec *spec = cv_arena_new(&f->arena, struct cv_partition_spec);
    struct cv_partitioner *partitioner;

    CV_ASSERT_OK(cv_partition_spec_read_ddl(ddl, &f->schema, &f->arena, spec, &f->err), &f->err);
    CV_ASSERT_OK(cv_partitioner_new(spec, &f->schema, &partitioner, &f->err), &f->err);
    return partitioner;
}

static void assert_routes(struct fixture *f, const char *ddl, const uint32_t wanted[ROWS])
{
    struct cv_partitioner *partitioner = partitioner_of(f, ddl);
    uint32_t groups[ROWS];

    for (int round = 0; round < 2; round++) {
        CV_ASSERT_OK(cv_partitioner_route(partitioner, &f->batch, groups, &f->err), &f->err);
        for (size_t i = 0; i < ROWS; i++)
            if (groups[i] != wanted[i])
                fail_msg("%s: row %zu in group %u, not %u", ddl, i, groups[i], wanted[i]);
    }
    cv_partitioner_clear(partitioner);
    assert_int_equal(cv_partitioner_group_count(partitioner), 0);
    CV_ASSERT_OK(cv_partitioner_route(partitioner, &f->batch, groups, &f->err), &f->err);
    assert_memory_equal(groups, wanted, sizeof groups);
    cv_partitioner_free(partitioner);
}

static void equal_tuples_share_a_group(void **state)
{
    static const struct {
        const char *ddl;
        uint32_t groups[ROWS];
    } rows[] = {
        {"l", {0, 1, 0, 2, 1, 3}},
        {"i", {0, 1, 0, 2, 1, 3}},
        {"bucket(16, l)", {0, 1, 0, 2, 1, 3}},
        {"bucket(1, l)", {0, 0, 0, 0, 0, 1}},
        {"truncate(10, i)", {0, 1, 0, 2, 1, 3}},
        {"ts", {0, 1, 2, 3, 4, 5}},
        {"year(ts)", {0, 1, 1, 1, 0, 2}},
        {"month(tz)", {0, 1, 1, 1, 0, 2}},
        {"day(ts)", {0, 1, 1, 2, 0, 3}},
        {"hour(tz)", {0, 1, 2, 3, 4, 5}},
        {"year(d)", {0, 1, 1, 2, 0, 3}},
        {"day(d)", {0, 1, 2, 3, 0, 4}},
        {"f", {0, 1, 2, 0, 2, 3}},
        {"s", {0, 1, 0, 2, 3, 4}},
        {"truncate(2, s)", {0, 0, 0, 1, 2, 3}},
        {"b", {0, 0, 1, 0, 1, 2}},
        {"p", {0, 1, 0, 2, 1, 3}},
        {"bucket(1000, p)", {0, 1, 0, 2, 1, 3}},
        {"u", {0, 1, 0, 2, 1, 3}},
        {"bucket(1000, u)", {0, 1, 0, 2, 1, 3}},
        {"st.x", {0, 1, 0, 2, 1, 3}},
        {"day(ts), b", {0, 1, 2, 3, 4, 5}},
        {"b, l, s", {0, 1, 2, 3, 4, 5}},
        {"", {0, 0, 0, 0, 0, 0}},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++)
        assert_routes(f, rows[i].ddl, rows[i].groups);
}

static void tuples_hold_the_results(void **state)
{
    struct fixture *f = *state;
    struct cv_partitioner *partitioner = partitioner_of(f, "day(ts), bucket(16, l), s, u");
    const struct cv_type *types = cv_partitioner_types(partitioner);
    uint32_t groups[ROWS];
    const struct cv_value *tuple;

    assert_int_equal(types[0].kind, CV_TYPE_DATE);
    assert_int_equal(types[1].kind, CV_TYPE_INT);
    assert_int_equal(types[2].kind, CV_TYPE_STRING);
    CV_ASSERT_OK(cv_partitioner_route(partitioner, &f->batch, groups, &f->err), &f->err);
    tuple = cv_partitioner_tuple(partitioner, groups[0]);
    assert_int_equal(tuple[0].i32, -1);
    assert_int_equal(tuple[1].i32, 3);
    assert_true(cv_str_is(tuple[2].bytes, "abc"));
    assert_true((const char *)text != tuple[2].bytes.ptr);
    assert_int_equal(tuple[3].bytes.length, 16);
    tuple = cv_partitioner_tuple(partitioner, groups[4]);
    assert_true(cv_str_is(tuple[2].bytes, "null"));
    tuple = cv_partitioner_tuple(partitioner, groups[5]);
    for (size_t i = 0; i < 4; i++)
        assert_true(tuple[i].is_null);
    cv_partitioner_free(partitioner);
}

static void all_nans_are_one_partition(void **state)
{
    struct fixture *f = *state;
    double nans[ROWS] = {(double)NAN, -(double)NAN, 1.0, (double)NAN, 1.0, 0};
    uint64_t payload = 0x7ff8000000000123;

    memcpy(&nans[3], &payload, 8);
    f->columns[5].data = (const uint8_t *)nans;
    assert_routes(f, "f", (const uint32_t[ROWS]){0, 0, 1, 0, 1, 2});
    f->columns[5].data = (const uint8_t *)doubles;
}

/* Pseudo-random timestamps near period ends: the columns give what single values give. */
static void columns_agree_with_single_values(void **state)
{
    static const char *const transforms[] = {"year", "month", "day", "hour"};
    enum { COUNT = 4000 };
    struct fixture *f = *state;
    struct cv_column *column = &f->columns[2];
    int64_t *us = malloc(COUNT * sizeof *us);
    uint32_t *groups = malloc(COUNT * sizeof *groups);
    uint64_t seed = 42;

    for (size_t i = 0; i < COUNT; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        us[i] = (int64_t)(seed >> 33) % 4000 * CV_US_PER_HOUR - 2000 * CV_US_PER_HOUR +
                (int64_t)(seed >> 20 & 3) - 1;
    }
    us[0] = INT64_MIN;
    us[1] = INT64_MAX;
    us[2] = INT64_MIN + 1;
    column->data = (const uint8_t *)us;
    column->validity = NULL;
    f->batch.row_count = COUNT;
    for (size_t t = 0; t < CV_ARRAY_LENGTH(transforms); t++) {
        char ddl[32];
        struct cv_partitioner *partitioner;
        struct cv_transform transform;

        (void)snprintf(ddl, sizeof ddl, "%s(ts)", transforms[t]);
        partitioner = partitioner_of(f, ddl);
        CV_ASSERT_OK(cv_transform_parse(transforms[t], &f->arena, &transform, &f->err), &f->err);
        CV_ASSERT_OK(cv_partitioner_route(partitioner, &f->batch, groups, &f->err), &f->err);
        for (size_t i = 0; i < COUNT; i++) {
            struct cv_value value = {.kind = CV_TYPE_TIMESTAMP, .i64 = us[i]};
            struct cv_value result;

            CV_ASSERT_OK(cv_transform_apply(&transform, column->type, &value, &result, &f->err),
                         &f->err);
            assert_int_equal(cv_partitioner_tuple(partitioner, groups[i])[0].i32, result.i32);
        }
        cv_partitioner_free(partitioner);
    }
    free(us);
    free(groups);
}

static void what_cannot_be_routed_is_refused(void **state)
{
    struct fixture *f = *state;
    struct cv_partition_field field = {1, 1000, "x", {CV_TRANSFORM_UNKNOWN, 0, "zorder"}};
    struct cv_partition_spec spec = {0, &field, 1};
    struct cv_partitioner *partitioner = NULL;
    uint32_t groups[ROWS];
    cv_wide_int low[ROWS] = {0};

    CV_ASSERT_FAILS(cv_partitioner_new(&spec, &f->schema, &partitioner, &f->err), CV_UNSUPPORTED,
                    "partition field x: the transform zorder", &f->err);
    field.transform = (struct cv_transform){CV_TRANSFORM_IDENTITY, 0, "identity"};
    field.source_id = 77;
    CV_ASSERT_FAILS(cv_partitioner_new(&spec, &f->schema, &partitioner, &f->err), CV_SCHEMA,
                    "no column with id 77", &f->err);
    for (int i = 0; i < 38; i++)
        low[0] = low[0] * 10 - 9;
    f->columns[8].data = (const uint8_t *)low;
    partitioner = partitioner_of(f, "truncate(256, p)");
    CV_ASSERT_FAILS(cv_partitioner_route(partitioner, &f->batch, groups, &f->err), CV_RECORD,
                    "partition field p_trunc", &f->err);
    cv_partitioner_free(partitioner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_tuples_share_a_group, make, drop),
        cmocka_unit_test_setup_teardown(tuples_hold_the_results, make, drop),
        cmocka_unit_test_setup_teardown(all_nans_are_one_partition, make, drop),
        cmocka_unit_test_setup_teardown(columns_agree_with_single_values, make, drop),
        cmocka_unit_test_setup_teardown(what_cannot_be_routed_is_refused, make, drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
