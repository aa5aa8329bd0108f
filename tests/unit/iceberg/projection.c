/* SPDX-License-Identifier: Apache-2.0
 *
 * Projection through transforms: no row that matches is ever lost (property over values at the
 * edges), and partitions that cannot match are left out; summaries of manifests; metrics. */
#include "iceberg/projection.h"
#include "test.h"

#include <math.h>

struct fixture {
    struct cv_arena arena;
    struct cv_schema schema;
    struct cv_error err;
    struct cv_value value; /* of the column asked */
};

static int set_up(void **state)
{
    struct fixture *f = cv_alloc(sizeof *f);
    static const char ddl[] = "i int, l bigint, dec decimal(9,2), s string, day date, "
                              "ts timestamp_ntz, d double, u uuid, flag boolean, b binary";

    CV_ASSERT_OK(cv_schema_read_ddl(ddl, &f->arena, &f->schema, &f->err), &f->err);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cv_arena_release(&f->arena);
    free(f);
    return 0;
}

static const struct cv_predicate *parse(struct fixture *f, const char *text)
{
    const struct cv_predicate *predicate = NULL;

    if (cv_predicate_parse(text, &f->schema, &f->arena, &predicate, &f->err) != CV_OK)
        fail_msg("%s: %s", text, f->err.message);
    return predicate;
}

static struct cv_partition_spec spec_of(struct fixture *f, const char *ddl)
{
    struct cv_partition_spec spec;

    CV_ASSERT_OK(cv_partition_spec_read_ddl(ddl, &f->schema, &f->arena, &spec, &f->err), &f->err);
    return spec;
}

static struct cv_projection project(struct fixture *f, const char *spec_ddl, const char *condition)
{
    struct cv_partition_spec *spec = cv_arena_new(&f->arena, struct cv_partition_spec);
    struct cv_projection projection;

    *spec = spec_of(f, spec_ddl);
    cv_projection_make(parse(f, condition), spec, &f->schema, &f->arena, &projection);
    return projection;
}

static struct cv_value value_of(void *context, const struct cv_field *field)
{
    struct fixture *f = context;

    return f->value;
}

/* The literal of each value as a condition compares with it; NULL last. */
struct sample {
    const char *column;
    const char *transforms[8];
    const char *literals[16];
};

static const struct sample samples[] = {
    {"i",
     {"identity(i)", "truncate(10, i)", "bucket(4, i)", "truncate(7, i)"},
     {"-2147483648", "-2147483640", "-11", "-10", "-1", "0", "1", "9", "10", "11", "2147483639",
      "2147483647"}},
    {"l",
     {"identity(l)", "truncate(10, l)", "bucket(4, l)"},
     {"-9223372036854775808", "-9223372036854775801", "-10", "-1", "0", "9", "10",
      "9223372036854775799", "9223372036854775807"}},
    {"dec",
     {"identity(dec)", "truncate(50, dec)", "bucket(4, dec)"},
     {"-9999999.00", "-0.51", "-0.50", "-0.01", "0", "0.49", "0.50", "9999999.99"}},
    {"s",
     {"identity(s)", "truncate(2, s)", "bucket(4, s)"},
     {"''", "'a'", "'ab'", "'aba'", "'abc'", "'ac'", "'b'", "'éé'", "'ééx'", "'éz'"}},
    {"day",
     {"identity(day)", "year(day)", "month(day)", "day(day)", "bucket(4, day)"},
     {"DATE '1500-01-01'", "DATE '1969-12-31'", "DATE '1969-12-30'", "DATE '1970-01-01'",
      "DATE '1970-01-31'", "DATE '1970-02-01'", "DATE '2024-02-29'", "DATE '2024-12-31'"}},
    {"ts",
     {"identity(ts)", "year(ts)", "month(ts)", "day(ts)", "hour(ts)", "bucket(4, ts)"},
     {"TIMESTAMP '1969-12-31 23:59:59.999999'", "TIMESTAMP '1969-12-31 22:00:00'",
      "TIMESTAMP '1970-01-01 00:00:00'", "TIMESTAMP '1970-01-01 00:59:59.999999'",
      "TIMESTAMP '1970-01-01 01:00:00'", "TIMESTAMP '2024-02-29 12:00:00'",
      "TIMESTAMP '2024-03-01 00:00:00'"}},
};

static const char *const shapes[] = {
    "%s < %s",  "%s <= %s",   "%s > %s",        "%s >= %s",       "%s = %s",
    "%s <> %s", "%s IN (%s)", "%s NOT IN (%s)", "NOT (%s >= %s)", "%s <=> %s",
};

static struct cv_value literal_of(struct fixture *f, const char *column, const char *literal)
{
    const char *text = cv_arena_printf(&f->arena, "%s = %s", column, literal);

    return parse(f, text)->values[0];
}

static void check_all(struct fixture *f, const struct sample *sample, const char *transform)
{
    struct cv_partition_spec spec = spec_of(f, transform);
    const struct cv_type *source = &cv_schema_find_name(&f->schema, sample->column, true)->type;

    for (size_t shape = 0; shape < CV_ARRAY_LENGTH(shapes); shape++)
        for (size_t l = 0; sample->literals[l]; l++) {
            char *text = cv_arena_alloc(&f->arena, 256);
            const struct cv_predicate *predicate;
            struct cv_projection projection;

            (void)snprintf(text, 256, shapes[shape], sample->column, sample->literals[l]);
            predicate = parse(f, text);
            cv_projection_make(predicate, &spec, &f->schema, &f->arena, &projection);
            for (size_t v = 0; sample->literals[v]; v++) {
                struct cv_value result;

                f->value = literal_of(f, sample->column, sample->literals[v]);
                if (!cv_predicate_matches(predicate, value_of, f))
                    continue;
                CV_ASSERT_OK(cv_transform_apply(&spec.fields[0].transform, source, &f->value,
                                                &result, &f->err),
                             &f->err);
                if (!cv_projection_may_match(&projection, &result))
                    fail_msg("%s under %s loses the value %s", text, transform,
                             sample->literals[v]);
            }
        }
}

static void no_matching_row_is_lost(void **state)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(samples); i++)
        for (size_t t = 0; samples[i].transforms[t]; t++)
            check_all(*state, &samples[i], samples[i].transforms[t]);
}

static void may(struct fixture *f, const char *spec, const char *condition, struct cv_value tuple,
                bool wanted)
{
    struct cv_projection projection = project(f, spec, condition);

    tuple.kind = projection.fields[0].type.kind;
    if (cv_projection_may_match(&projection, &tuple) != wanted)
        fail_msg("%s under %s: %s", condition, spec, wanted ? "may match" : "cannot match");
}

static void partitions_are_left_out(void **state)
{
    struct fixture *f = *state;
    const struct cv_value null = {.is_null = true};
    const struct cv_value day = {.i32 = 17501}; /* 2017-12-01 */

    may(f, "day(ts)", "ts >= TIMESTAMP '2017-12-02 00:00:00'", day, false);
    may(f, "day(ts)", "ts >= TIMESTAMP '2017-12-01 23:00:00'", day, true);
    may(f, "day(ts)", "ts > TIMESTAMP '2017-12-01 23:59:59.999999'", day, false);
    may(f, "day(ts)", "ts < TIMESTAMP '2017-12-01 00:00:00'", day, false);
    may(f, "day(ts)", "ts <= TIMESTAMP '2017-12-01 00:00:00'", day, true);
    may(f, "day(ts)", "ts = TIMESTAMP '2017-12-03 00:00:00'", day, false);
    may(f, "day(ts)", "ts <> TIMESTAMP '2017-12-03 00:00:00'", day, true);
    may(f, "day(ts)", "ts <> TIMESTAMP '2017-12-03 00:00:00'", null, false);
    may(f, "day(ts)", "ts IS NULL", null, true);
    may(f, "day(ts)", "ts IS NULL", day, false);
    may(f, "day(ts)", "i = 5", day, true);
    may(f, "day(ts)", "i = 5 AND ts < DATE '2017-01-01'", day, false);
    may(f, "day(ts)", "i = 5 OR ts < DATE '2017-01-01'", day, true);
    /* bucket[16] of 34 is 3 (Appendix B: 2017239379 mod 16) */
    may(f, "bucket(16, i)", "i = 34", (struct cv_value){.i32 = 3}, true);
    may(f, "bucket(16, i)", "i = 34", (struct cv_value){.i32 = 4}, false);
    may(f, "bucket(16, i)", "i IN (34, 34)", (struct cv_value){.i32 = 4}, false);
    may(f, "bucket(16, i)", "i > 34", (struct cv_value){.i32 = 4}, true);
    may(f, "bucket(16, i)", "i > 34", null, false);
    may(f, "truncate(10, i)", "i < 20", (struct cv_value){.i32 = 20}, false);
    may(f, "truncate(10, i)", "i < 21", (struct cv_value){.i32 = 20}, true);
    may(f, "truncate(10, i)", "i > 29", (struct cv_value){.i32 = 20}, false);
    may(f, "truncate(2, s)", "s LIKE 'abc%'", (struct cv_value){.bytes = {"ab", 2}}, true);
    may(f, "truncate(2, s)", "s LIKE 'abc%'", (struct cv_value){.bytes = {"ac", 2}}, false);
    may(f, "truncate(2, s)", "s LIKE 'a%'", (struct cv_value){.bytes = {"ac", 2}}, true);
    may(f, "truncate(2, s)", "s LIKE 'b%'", (struct cv_value){.bytes = {"ac", 2}}, false);
    may(f, "identity(s)", "s NOT LIKE 'a%'", (struct cv_value){.bytes = {"ac", 2}}, false);
    may(f, "identity(d)", "d > 5", (struct cv_value){.f64 = (double)NAN}, true);
    may(f, "identity(d)", "d < 5", (struct cv_value){.f64 = (double)NAN}, false);
    may(f, "identity(flag)", "flag", (struct cv_value){.boolean = false}, false);
    /* 1969-12-31 as writers before Iceberg 0.10 stored it */
    may(f, "day(ts)", "ts = TIMESTAMP '1969-12-31 10:00:00'", (struct cv_value){.i32 = 0}, true);
}

static void summaries_rule_out_manifests(void **state)
{
    struct fixture *f = *state;
    struct cv_partition_summary summary = {.contains_null = false,
                                           .contains_nan = 0,
                                           .lower = {"\x05\0\0\0", 4},
                                           .upper = {"\x09\0\0\0", 4}};
    struct cv_manifest_file row = CV_MANIFEST_FILE_INIT;
    struct cv_projection above = project(f, "identity(i)", "i > 9");
    struct cv_projection inside = project(f, "identity(i)", "i = 7");
    struct cv_projection null = project(f, "identity(i)", "i IS NULL");
    struct cv_projection never = project(f, "identity(i)", "FALSE");

    assert_true(cv_projection_may_match_manifest(&above, &row));
    assert_false(cv_projection_may_match_manifest(&never, &row));
    row.partitions = &summary;
    row.partition_count = 1;
    assert_false(cv_projection_may_match_manifest(&above, &row));
    assert_true(cv_projection_may_match_manifest(&inside, &row));
    assert_false(cv_projection_may_match_manifest(&null, &row));
    summary.contains_null = true;
    assert_true(cv_projection_may_match_manifest(&null, &row));
    summary.lower.ptr = summary.upper.ptr = NULL;
    assert_false(cv_projection_may_match_manifest(&inside, &row));
    row.partition_count = 0;
    assert_true(cv_projection_may_match_manifest(&inside, &row));
}

static void metrics_rule_out_files(void **state)
{
    struct fixture *f = *state;
    struct cv_column_metrics columns[] = {
        {.field_id = 1,
         .value_count = 10,
         .null_count = 0,
         .nan_count = -1,
         .lower = {"\x05\0\0\0", 4},
         .upper = {"\x09\0\0\0", 4}},
        {.field_id = 2, .value_count = 10, .null_count = 10, .nan_count = -1},
    };
    struct cv_data_file file = {
        .metrics = {.record_count = 10, .columns = columns, .column_count = 2}};

    assert_false(cv_file_may_match(parse(f, "i > 9"), &file));
    assert_true(cv_file_may_match(parse(f, "i = 5"), &file));
    assert_false(cv_file_may_match(parse(f, "l = 5"), &file));
    assert_true(cv_file_may_match(parse(f, "s = 'x'"), &file));
    /* int bounds of a column that is long by now */
    columns[1] = columns[0];
    columns[1].field_id = 2;
    assert_false(cv_file_may_match(parse(f, "l > 9"), &file));
    columns[0].upper = (struct cv_str){"\x09", 1}; /* damaged: says nothing */
    assert_true(cv_file_may_match(parse(f, "i > 9"), &file));
    file.metrics.record_count = 0;
    assert_false(cv_file_may_match(parse(f, "TRUE"), &file));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_matching_row_is_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(partitions_are_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(summaries_rule_out_manifests, set_up, tear_down),
        cmocka_unit_test_setup_teardown(metrics_rule_out_files, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
