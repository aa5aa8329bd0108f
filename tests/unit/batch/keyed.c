/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys as bytes against keys as values, and what two rows of one key become. */
#include "test.h"

#include "batch/gather.h"
#include "batch/keyed.h"

#include <math.h>

static struct cv_error err;
static struct cv_arena arena;

static struct cv_schema schema_of(const char *ddl)
{
    struct cv_schema schema;

    CV_ASSERT_OK(cv_schema_read_ddl(ddl, &arena, &schema, &err), &err);
    return schema;
}

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

/* Values in ascending order, so that the wanted result of a comparison is that of the places;
 * equal ones share a rank. */
static void assert_ascending(const char *type, void (*put)(struct cv_builder *, size_t),
                             const int *ranks, size_t count)
{
    char ddl[64];
    struct cv_schema schema;
    struct cv_keyed keyed = {.key_count = 2, .expiry_column = SIZE_MAX};
    struct cv_batch_builder rows;
    struct cv_batch batch;
    struct cv_buf keys[32] = {0};

    (void)snprintf(ddl, sizeof ddl, "a %s, b int", type);
    schema = schema_of(ddl);
    keyed.schema = &schema;
    cv_batch_builder_init(&rows, &schema);
    for (size_t i = 0; i < count; i++) {
        put(&rows.columns[0], i);
        cv_builder_i32(&rows.columns[1], 5);
    }
    cv_batch_builder_view(&rows, &batch);
    for (size_t i = 0; i < count; i++)
        cv_keyed_write_key(&keyed, &batch, i, &keys[i]);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            int wanted = sign(ranks[i] - ranks[j]);
            size_t least = CV_MIN(keys[i].length, keys[j].length);
            int bytes = memcmp(keys[i].data, keys[j].data, least);

            if (!bytes)
                bytes = (keys[i].length > keys[j].length) - (keys[i].length < keys[j].length);
            assert_int_equal(sign(bytes), wanted);
            assert_int_equal(sign(cv_keyed_compare(&keyed, 2, &batch, i, &batch, j)), wanted);
            assert_true(wanted == 0 || memcmp(keys[i].data, keys[j].data, least) != 0);
        }
    for (size_t i = 0; i < count; i++)
        cv_buf_release(&keys[i]);
    cv_batch_builder_release(&rows);
}

static void put_double(struct cv_builder *column, size_t i)
{
    static const double values[] = {-INFINITY, -1e300, -1, -0.0, 0.0, 5e-324, 1, INFINITY, NAN};

    if (i == 0)
        cv_builder_null(column);
    else if (i == CV_ARRAY_LENGTH(values) + 1)
        cv_builder_f64(column, -NAN);
    else
        cv_builder_f64(column, values[i - 1]);
}

static void put_long(struct cv_builder *column, size_t i)
{
    static const int64_t values[] = {INT64_MIN, -256, -1, 0, 1, 255, 256, INT64_MAX};

    if (i == 0)
        cv_builder_null(column);
    else
        cv_builder_i64(column, values[i - 1]);
}

static void put_decimal(struct cv_builder *column, size_t i)
{
    cv_wide_int most = cv_decimal_power_of_ten(38) - 1;
    const cv_wide_int values[] = {-most, -((cv_wide_int)1 << 64), -1,  0,
                                  1,     (cv_wide_int)1 << 64,    most};

    cv_builder_decimal(column, values[i]);
}

static void put_text(struct cv_builder *column, size_t i)
{
    static const struct cv_str values[] = {
        {"", 0},    {"\0", 1},   {"\0\0", 2}, {"\0a", 2},          {"\0\xff", 2},  {"a", 1},
        {"a\0", 2}, {"a\0b", 3}, {"ab", 2},   {"abcdefghijk", 11}, {"\xc3\xa4", 2}};

    if (i == 0)
        cv_builder_null(column);
    else
        cv_builder_bytes(column, values[i - 1].ptr, values[i - 1].length);
}

static void put_bool(struct cv_builder *column, size_t i)
{
    if (i == 0)
        cv_builder_null(column);
    else
        cv_builder_bool(column, i == 2);
}

static void orders_keys(void **state)
{
    static const int plain[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const int doubles[] = {0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 8};

    (void)state;
    assert_ascending("double", put_double, doubles, 11);
    assert_ascending("bigint", put_long, plain, 9);
    assert_ascending("timestamp", put_long, plain, 9);
    assert_ascending("decimal(38,5)", put_decimal, plain, 7);
    assert_ascending("string", put_text, plain, 12);
    assert_ascending("binary", put_text, plain, 12);
    assert_ascending("boolean", put_bool, plain, 3);
    cv_arena_release(&arena);
}

static void normalizes(void **state)
{
    struct cv_schema schema = schema_of("a double, b float, c double");
    struct cv_keyed keyed = {.schema = &schema, .key_count = 2, .expiry_column = SIZE_MAX};
    struct cv_batch_builder rows;
    const double nan = NAN;

    (void)state;
    cv_batch_builder_init(&rows, &schema);
    for (int i = 0; i < 2; i++) {
        cv_builder_f64(&rows.columns[0], i ? -0.0 : -NAN);
        cv_builder_f32(&rows.columns[1], i ? -0.0f : 1.5f);
        cv_builder_f64(&rows.columns[2], -0.0);
    }
    cv_keyed_normalize(&keyed, &rows);
    assert_memory_equal(rows.columns[0].data, &nan, 8);
    assert_memory_equal(rows.columns[0].data + 8, "\0\0\0\0\0\0\0\0", 8);
    assert_memory_equal(rows.columns[1].data, "\0\0\xc0\x3f\0\0\0\0", 8);
    assert_int_equal(rows.columns[2].data[7], 0x80); /* no key */
    cv_batch_builder_release(&rows);
    cv_arena_release(&arena);
}

/* Two rows of one key with one value each; what they become, as text. */
static const char *merged(const char *type, enum cv_merge merge,
                          void (*put)(struct cv_builder *, size_t), size_t a, size_t b)
{
    static struct cv_buf text;
    const enum cv_merge merges[] = {CV_MERGE_FIRST, merge};
    struct cv_keyed keyed = {.key_count = 1, .merges = merges, .expiry_column = SIZE_MAX};
    const struct cv_rows first = {.start = 0, .count = 1};
    struct cv_batch_builder rows, into;
    struct cv_schema schema;
    struct cv_batch batch;
    struct cv_value value;
    char ddl[64];

    (void)snprintf(ddl, sizeof ddl, "k int, v %s", type);
    schema = schema_of(ddl);
    keyed.schema = &schema;
    cv_batch_builder_init(&rows, &schema);
    cv_batch_builder_init(&into, &schema);
    for (size_t i = 0; i < 2; i++) {
        cv_builder_i32(&rows.columns[0], 1);
        put(&rows.columns[1], i ? b : a);
    }
    cv_batch_builder_view(&rows, &batch);
    CV_ASSERT_OK(cv_batch_builder_append_rows(&into, &batch, &first, &err), &err);
    cv_buf_clear(&text);
    if (cv_keyed_merge(&keyed, &into, &batch, 1, &err) == CV_OK) {
        cv_batch_builder_view(&into, &batch);
        assert_int_equal(batch.row_count, 1);
        value = cv_column_value(&batch.columns[1], 0);
        if (value.is_null)
            cv_buf_append_text(&text, "null");
        else
            cv_value_write_text(&value, batch.columns[1].type, &text);
    } else {
        cv_buf_append_text(&text, err.code == CV_RECORD ? "overflow" : err.message);
    }
    cv_batch_builder_release(&rows);
    cv_batch_builder_release(&into);
    return cv_buf_text(&text);
}

static void merges_values(void **state)
{
    (void)state;
    assert_string_equal(merged("bigint", CV_MERGE_SUM, put_long, 2, 6), "-1");
    assert_string_equal(merged("bigint", CV_MERGE_SUM, put_long, 0, 6), "255");
    assert_string_equal(merged("bigint", CV_MERGE_SUM, put_long, 6, 0), "255");
    assert_string_equal(merged("bigint", CV_MERGE_SUM, put_long, 0, 0), "null");
    assert_string_equal(merged("bigint", CV_MERGE_SUM, put_long, 8, 5), "overflow");
    assert_string_equal(merged("bigint", CV_MERGE_SUM, put_long, 1, 3), "overflow");
    assert_string_equal(merged("decimal(38,5)", CV_MERGE_SUM, put_decimal, 5, 1), "0.00000");
    assert_string_equal(merged("decimal(38,5)", CV_MERGE_SUM, put_decimal, 6, 4), "overflow");
    assert_string_equal(merged("decimal(38,5)", CV_MERGE_SUM, put_decimal, 6, 6), "overflow");
    assert_string_equal(merged("double", CV_MERGE_SUM, put_double, 3, 7), "0.0");
    assert_string_equal(merged("double", CV_MERGE_MAX, put_double, 8, 9), "NaN");
    assert_string_equal(merged("double", CV_MERGE_MIN, put_double, 8, 9), "Infinity");
    assert_string_equal(merged("double", CV_MERGE_MIN, put_double, 0, 9), "NaN");
    assert_string_equal(merged("bigint", CV_MERGE_MIN, put_long, 3, 1), "-9223372036854775808");
    assert_string_equal(merged("string", CV_MERGE_MAX, put_text, 6, 10), "abcdefghijk");
    assert_string_equal(merged("string", CV_MERGE_MIN, put_text, 10, 6), "a");
    assert_string_equal(merged("string", CV_MERGE_MIN, put_text, 6, 1), "");
    assert_string_equal(merged("string", CV_MERGE_FIRST, put_text, 10, 6), "abcdefghijk");
    assert_string_equal(merged("boolean", CV_MERGE_AND, put_bool, 2, 1), "false");
    assert_string_equal(merged("boolean", CV_MERGE_AND, put_bool, 2, 0), "true");
    assert_string_equal(merged("boolean", CV_MERGE_OR, put_bool, 2, 1), "true");
    assert_string_equal(merged("boolean", CV_MERGE_OR, put_bool, 0, 1), "false");
    assert_string_equal(merged("binary", CV_MERGE_SKETCH, put_text, 5, 9), "61ff");
    assert_string_equal(merged("binary", CV_MERGE_SKETCH, put_text, 0, 9), "6162");
    assert_non_null(
        strstr(merged("binary", CV_MERGE_SKETCH, put_text, 6, 9), "sketches of 1 and 2"));
    cv_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_keys),
        cmocka_unit_test(normalizes),
        cmocka_unit_test(merges_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
