/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows as bytes and back: every type, nulls at every level, picked rows; damaged bytes. */
#include "data/fragment.h"
#include "test.h"

static struct cv_arena arena;

static int teardown(void **state)
{
    cv_arena_release(&arena);
    return 0;
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Appends one random value of the builder's type. */
static void add_value(struct cv_builder *builder, uint64_t *seed)
{
    uint8_t bytes[16];
    uint64_t random = next_random(seed);
    size_t count = random >> 32 & 3;

    if (random % 4 == 0) {
        cv_builder_null(builder);
        return;
    }
    memcpy(bytes, &random, 8);
    memcpy(bytes + 8, &random, 8);
    switch (builder->type->kind) {
    case CV_TYPE_BOOLEAN:
        cv_builder_bool(builder, random >> 9 & 1);
        return;
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
        cv_builder_bytes(builder, bytes, random >> 40 & 15);
        return;
    case CV_TYPE_STRUCT:
        for (size_t i = 0; i < builder->child_count; i++)
            add_value(&builder->children[i], seed);
        cv_builder_end_struct(builder);
        return;
    case CV_TYPE_LIST:
    case CV_TYPE_MAP:
        for (size_t i = 0; i < builder->child_count * count; i++)
            add_value(&builder->children[i / count], seed);
        cv_builder_end_list(builder);
        return;
    default:
        cv_builder_fixed(builder, bytes);
    }
}

static void assert_same(const struct cv_column *a, size_t row_a, const struct cv_column *b,
                        size_t row_b)
{
    size_t width = cv_type_width(a->type);

    assert_int_equal(cv_column_is_null(a, row_a), cv_column_is_null(b, row_b));
    if (width) {
        assert_memory_equal(a->data + row_a * width, b->data + row_b * width, width);
    } else if (a->type->kind == CV_TYPE_BOOLEAN) {
        assert_int_equal(cv_bit_get(a->data, row_a), cv_bit_get(b->data, row_b));
    } else if (a->type->kind == CV_TYPE_STRUCT) {
        for (size_t i = 0; i < a->child_count; i++)
            assert_same(&a->children[i], row_a, &b->children[i], row_b);
    } else if (cv_type_is_nested(a->type)) {
        size_t from_a = (size_t)a->offsets[row_a];
        size_t from_b = (size_t)b->offsets[row_b];
        size_t count = (size_t)a->offsets[row_a + 1] - from_a;

        assert_int_equal(count, (size_t)b->offsets[row_b + 1] - from_b);
        for (size_t i = 0; i < count * a->child_count; i++)
            assert_same(&a->children[i / count], from_a + i % count, &b->children[i / count],
                        from_b + i % count);
    } else {
        assert_true(cv_str_equal(cv_column_bytes(a, row_a), cv_column_bytes(b, row_b)));
    }
}

static void rows_come_back_as_they_were(void **state)
{
    static const uint32_t picked[] = {499, 0, 7, 7, 8, 250, 251};
    static const struct cv_rows choices[] = {
        {NULL, 0, 500}, {NULL, 123, 77}, {picked, 0, CV_ARRAY_LENGTH(picked)}, {NULL, 5, 0}};
    CV_CLEANUP(cv_batch_builder_release) struct cv_batch_builder from;
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    struct cv_error err = CV_ERROR_INIT;
    uint64_t seed = 4711;
    struct cv_schema schema;
    struct cv_batch batch, back;

    CV_ASSERT_OK(
        cv_schema_read_ddl("b boolean, i int, l bigint, f float, d double, d4 decimal(9,2), "
                           "d8 decimal(18,2), d16 decimal(38,2), dt date, tm time, t timestamp, "
                           "s string, u uuid, x fixed[3], bi binary, "
                           "st struct<a: int, b: struct<c: string, d: boolean>>, "
                           "li array<array<string>>, m map<string, struct<v: bigint>>",
                           &arena, &schema, &err),
        &err);
    cv_batch_builder_init(&from, &schema);
    for (int row = 0; row < 500; row++)
        for (size_t i = 0; i < from.column_count; i++)
            add_value(&from.columns[i], &seed);
    cv_batch_builder_view(&from, &batch);
    for (size_t c = 0; c < CV_ARRAY_LENGTH(choices); c++) {
        CV_CLEANUP(cv_batch_builder_release) struct cv_batch_builder to;
        CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(0);

        cv_batch_builder_init(&to, &schema);
        cv_fragment_write(&batch, &choices[c], &scratch, &bytes);
        for (int twice = 0; twice < 2; twice++)
            CV_ASSERT_OK(cv_fragment_read(bytes.data, bytes.length, choices[c].count, &to, &err),
                         &err);
        cv_batch_builder_view(&to, &back);
        assert_int_equal(back.row_count, 2 * choices[c].count);
        for (size_t i = 0; i < back.row_count; i++)
            for (size_t column = 0; column < batch.column_count; column++)
                assert_same(&batch.columns[column], cv_rows_at(&choices[c], i % choices[c].count),
                            &back.columns[column], i);
    }
}

static void damaged_bytes_are_an_error(void **state)
{
    CV_CLEANUP(cv_batch_builder_release) struct cv_batch_builder builder;
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(0);
    struct cv_rows rows = {NULL, 0, 20};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_schema schema;
    struct cv_batch batch;
    uint64_t seed = 1;

    CV_ASSERT_OK(
        cv_schema_read_ddl("b boolean, i int, s string, l array<string>", &arena, &schema, &err),
        &err);
    cv_batch_builder_init(&builder, &schema);
    for (int row = 0; row < 20; row++)
        for (size_t i = 0; i < builder.column_count; i++)
            add_value(&builder.columns[i], &seed);
    cv_batch_builder_view(&builder, &batch);
    cv_fragment_write(&batch, &rows, &scratch, &bytes);
    for (size_t length = 0; length < bytes.length; length++) {
        CV_CLEANUP(cv_batch_builder_release) struct cv_batch_builder to;

        cv_batch_builder_init(&to, &schema);
        CV_ASSERT_FAILS(cv_fragment_read(bytes.data, length, 20, &to, &err), CV_IO, "damaged",
                        &err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back_as_they_were),
        cmocka_unit_test(damaged_bytes_are_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
