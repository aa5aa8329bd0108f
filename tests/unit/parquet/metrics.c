/* SPDX-License-Identifier: Apache-2.0
 *
 * Iceberg metrics of written files: counts, NaN, signed zero, bounds by type and mode (the bound
 * and metric rules of the spec, and what the Java library writes for the same rows). */
#include "memory_output.h"

#include <math.h>

static void put_doubles(struct table *t, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cv_builder_f64(&t->builder.columns[0], values[i]);
        cv_builder_f32(&t->builder.columns[1], (float)values[i]);
    }
}

static const struct cv_column_metrics *write_doubles(struct table *t, const double *values,
                                                     size_t count)
{
    struct cv_error err = CV_ERROR_INIT;

    table_open(t, "d double, f float", "truncate(16)");
    table_start(t);
    put_doubles(t, values, count);
    CV_ASSERT_OK(table_append(t, &err), &err);
    table_close(t);
    return t->metrics.columns;
}

static void nan_is_counted_and_never_a_bound(void **state)
{
    struct table t;
    const struct cv_column_metrics *c;

    c = write_doubles(&t, (const double[]){3.0, NAN, 3.0}, 3);
    assert_int_equal(c[0].value_count, 3);
    assert_int_equal(c[0].nan_count, 1);
    assert_int_equal(c[0].null_count, 0);
    cv_test_assert_hex(c[0].lower.ptr, c[0].lower.length, "0000000000000840");
    cv_test_assert_hex(c[0].upper.ptr, c[0].upper.length, "0000000000000840");
    cv_test_assert_hex(c[1].upper.ptr, c[1].upper.length, "00004040");
    table_release(&t);
    c = write_doubles(&t, (const double[]){NAN}, 1);
    assert_int_equal(c[0].nan_count, 1);
    assert_null(c[0].lower.ptr);
    assert_null(c[0].upper.ptr);
    assert_null(c[1].upper.ptr);
    table_release(&t);
}

static void no_nan_in_the_footer(void **state)
{
    struct table t;
    struct chunk_seen seen[2];

    (void)write_doubles(&t, (const double[]){NAN, NAN}, 2);
    assert_int_equal(read_footer(&t.memory.bytes, seen, 2), 2);
    assert_null(seen[0].min.ptr);
    assert_null(seen[1].max.ptr);
    /* A page of NaNs has no bounds, so the chunk has no column index. */
    assert_int_equal(seen[0].column_index_length, 0);
    assert_true(seen[0].offset_index_length > 0);
    table_release(&t);
}

static void zeros_keep_their_sign(void **state)
{
    struct table t;
    struct chunk_seen seen[2];
    const struct cv_column_metrics *c;

    c = write_doubles(&t, (const double[]){0.0, -0.0}, 2);
    cv_test_assert_hex(c[0].lower.ptr, c[0].lower.length, "0000000000000080");
    cv_test_assert_hex(c[0].upper.ptr, c[0].upper.length, "0000000000000000");
    table_release(&t);
    /* Parquet wants the outer zero whichever was there. */
    (void)write_doubles(&t, (const double[]){0.0}, 1);
    assert_int_equal(read_footer(&t.memory.bytes, seen, 2), 2);
    cv_test_assert_hex(seen[0].min.ptr, seen[0].min.length, "0000000000000080");
    cv_test_assert_hex(seen[0].max.ptr, seen[0].max.length, "0000000000000000");
    table_release(&t);
    (void)write_doubles(&t, (const double[]){-0.0}, 1);
    assert_int_equal(read_footer(&t.memory.bytes, seen, 2), 2);
    cv_test_assert_hex(seen[1].min.ptr, seen[1].min.length, "00000080");
    cv_test_assert_hex(seen[1].max.ptr, seen[1].max.length, "00000000");
    table_release(&t);
}

/* struct optional {m double required}, rows NULL and {34.0}. */
static void a_null_struct_is_a_null_of_its_leaf(void **state)
{
    struct table t;
    struct cv_error err = CV_ERROR_INIT;
    const struct cv_column_metrics *c;

    table_open(&t, "s struct<m: double NOT NULL>, l array<double>", "full");
    table_start(&t);
    cv_builder_null(&t.builder.columns[0]);
    cv_builder_f64(&t.builder.columns[0].children[0], 34.0);
    cv_builder_end_struct(&t.builder.columns[0]);
    cv_builder_null(&t.builder.columns[1]);
    cv_builder_null(&t.builder.columns[1]);
    CV_ASSERT_OK(table_append(&t, &err), &err);
    table_close(&t);
    c = t.metrics.columns;
    assert_int_equal(c[0].field_id, 3);
    assert_int_equal(c[0].value_count, 2);
    assert_int_equal(c[0].null_count, 1);
    assert_int_equal(c[0].nan_count, 0);
    cv_test_assert_hex(c[0].lower.ptr, c[0].lower.length, "0000000000004140");
    assert_int_equal(c[1].value_count, -1);
    assert_int_equal(c[1].nan_count, -1);
    assert_true(c[1].column_size > 0);
    table_release(&t);
}

static void write_texts(struct table *t, const char *mode, const char *const *texts, size_t count)
{
    struct cv_error err = CV_ERROR_INIT;

    table_open(t, "s string, b binary", mode);
    table_start(t);
    for (size_t i = 0; i < count; i++) {
        cv_builder_bytes(&t->builder.columns[0], texts[i], strlen(texts[i]));
        cv_builder_bytes(&t->builder.columns[1], texts[i], strlen(texts[i]));
    }
    CV_ASSERT_OK(table_append(t, &err), &err);
    table_close(t);
}

static void bounds_follow_the_mode(void **state)
{
    static const char *const texts[] = {"ship", "a", "zebra crossing in the rain", "aa"};
    struct table t;
    const struct cv_column_metrics *c;

    write_texts(&t, "none", texts, 4);
    c = t.metrics.columns;
    assert_int_equal(c[0].value_count, -1);
    assert_null(c[0].lower.ptr);
    assert_true(c[0].column_size > 0);
    table_release(&t);
    write_texts(&t, "counts", texts, 4);
    c = t.metrics.columns;
    assert_int_equal(c[0].value_count, 4);
    assert_int_equal(c[0].null_count, 0);
    assert_null(c[0].lower.ptr);
    table_release(&t);
    write_texts(&t, "truncate(5)", texts, 4);
    c = t.metrics.columns;
    assert_true(cv_str_is(c[0].lower, "a"));
    assert_true(cv_str_is(c[0].upper, "zebrb"));
    assert_true(cv_str_is(c[1].upper, "zebrb"));
    table_release(&t);
    write_texts(&t, "full", texts, 4);
    c = t.metrics.columns;
    assert_true(cv_str_is(c[0].upper, texts[2]));
    table_release(&t);
}

/* Values that agree in their first eight bytes, and a shorter one that starts them all. */
static void bounds_look_past_equal_starts(void **state)
{
    static const char *const texts[] = {"abcdefgh2", "abcdefgh1", "abcdefgh3", "abcdefgh30"};
    static const char *const shorter[] = {"abcdefgh2", "abcdefgh", "abcdefg"};
    struct table t;

    write_texts(&t, "full", texts, 4);
    assert_true(cv_str_is(t.metrics.columns[0].lower, "abcdefgh1"));
    assert_true(cv_str_is(t.metrics.columns[0].upper, "abcdefgh30"));
    table_release(&t);
    write_texts(&t, "full", shorter, 3);
    assert_true(cv_str_is(t.metrics.columns[1].lower, "abcdefg"));
    assert_true(cv_str_is(t.metrics.columns[1].upper, "abcdefgh2"));
    table_release(&t);
}

/* Case 34: nothing above 17 code points of the highest value is left to say. */
static void an_upper_bound_may_be_missing(void **state)
{
    char text[17 * 4 + 1] = "";
    const char *texts[1] = {text};
    struct table t;

    for (int i = 0; i < 17; i++)
        strcat(text, "\xf4\x8f\xbf\xbf");
    write_texts(&t, "truncate(16)", texts, 1);
    assert_int_equal(t.metrics.columns[0].lower.length, 64);
    assert_null(t.metrics.columns[0].upper.ptr);
    table_release(&t);
}

static void empty_texts_have_bounds(void **state)
{
    static const char *const texts[] = {""};
    struct table t;

    write_texts(&t, "truncate(16)", texts, 1);
    assert_non_null(t.metrics.columns[0].lower.ptr);
    assert_int_equal(t.metrics.columns[0].lower.length, 0);
    assert_int_equal(t.metrics.columns[0].upper.length, 0);
    table_release(&t);
}

/* Java compares signed halves, others unsigned: a bound is told only where both agree. */
static void uuid_bounds_need_both_orders(void **state)
{
    uint8_t low[16] = {0x10}, high[16] = {0xf0}, middle[16] = {0x20};
    struct table t;
    struct cv_error err = CV_ERROR_INIT;

    table_open(&t, "u uuid, v uuid", "full");
    table_start(&t);
    cv_builder_fixed(&t.builder.columns[0], low);
    cv_builder_fixed(&t.builder.columns[0], high);
    cv_builder_fixed(&t.builder.columns[1], middle);
    cv_builder_fixed(&t.builder.columns[1], low);
    CV_ASSERT_OK(table_append(&t, &err), &err);
    table_close(&t);
    assert_null(t.metrics.columns[0].lower.ptr);
    assert_null(t.metrics.columns[0].upper.ptr);
    assert_int_equal(t.metrics.columns[0].value_count, 2);
    assert_memory_equal(t.metrics.columns[1].lower.ptr, low, 16);
    assert_memory_equal(t.metrics.columns[1].upper.ptr, middle, 16);
    table_release(&t);
}

/* Appendix D bytes by type; decimals minimal and big-endian (case 36). */
static void bounds_of_every_type(void **state)
{
    struct table t;
    struct cv_error err = CV_ERROR_INIT;
    const struct cv_column_metrics *c;
    struct cv_builder *b;

    table_open(&t,
               "a boolean, b int, c bigint, d date, e decimal(9,2), f decimal(18,4), "
               "g decimal(38,10), h timestamp, i fixed[3]",
               "truncate(16)");
    table_start(&t);
    b = t.builder.columns;
    for (int i = 0; i < 2; i++) {
        cv_builder_bool(&b[0], i);
        cv_builder_i32(&b[1], i ? 84202 : -2);
        cv_builder_i64(&b[2], i ? 200 : -200);
        cv_builder_i32(&b[3], i ? 1000 : -1);
        cv_builder_decimal(&b[4], i ? 350 : -1);
        cv_builder_decimal(&b[5], i ? 128 : -129);
        cv_builder_decimal(&b[6], i ? 1420 : -1420);
        cv_builder_i64(&b[7], i ? 400000 : 0);
        cv_builder_fixed(&b[8], i ? "abd" : "abc");
    }
    CV_ASSERT_OK(table_append(&t, &err), &err);
    table_close(&t);
    c = t.metrics.columns;
    cv_test_assert_hex(c[0].lower.ptr, c[0].lower.length, "00");
    cv_test_assert_hex(c[0].upper.ptr, c[0].upper.length, "01");
    cv_test_assert_hex(c[1].lower.ptr, c[1].lower.length, "feffffff");
    cv_test_assert_hex(c[1].upper.ptr, c[1].upper.length, "ea480100");
    cv_test_assert_hex(c[2].upper.ptr, c[2].upper.length, "c800000000000000");
    cv_test_assert_hex(c[3].upper.ptr, c[3].upper.length, "e8030000");
    cv_test_assert_hex(c[4].lower.ptr, c[4].lower.length, "ff");
    cv_test_assert_hex(c[4].upper.ptr, c[4].upper.length, "015e");
    cv_test_assert_hex(c[5].lower.ptr, c[5].lower.length, "ff7f");
    cv_test_assert_hex(c[5].upper.ptr, c[5].upper.length, "0080");
    cv_test_assert_hex(c[6].lower.ptr, c[6].lower.length, "fa74");
    cv_test_assert_hex(c[6].upper.ptr, c[6].upper.length, "058c");
    cv_test_assert_hex(c[7].upper.ptr, c[7].upper.length, "801a060000000000");
    assert_true(cv_str_is(c[8].lower, "abc") && cv_str_is(c[8].upper, "abd"));
    table_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nan_is_counted_and_never_a_bound),
        cmocka_unit_test(no_nan_in_the_footer),
        cmocka_unit_test(zeros_keep_their_sign),
        cmocka_unit_test(a_null_struct_is_a_null_of_its_leaf),
        cmocka_unit_test(bounds_follow_the_mode),
        cmocka_unit_test(bounds_look_past_equal_starts),
        cmocka_unit_test(an_upper_bound_may_be_missing),
        cmocka_unit_test(empty_texts_have_bounds),
        cmocka_unit_test(uuid_bounds_need_both_orders),
        cmocka_unit_test(bounds_of_every_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
