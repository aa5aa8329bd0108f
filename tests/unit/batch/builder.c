/* SPDX-License-Identifier: Apache-2.0
 *
 * Column builders against the Arrow layout written down by hand: validity, offsets, nested nulls,
 * truncation back to a row's start, overflow, and a random comparison with a plain model. */
#include "batch/builder.h"
#include "test.h"

static struct cv_arena arena;

static int teardown(void **state)
{
    cv_arena_release(&arena);
    return 0;
}

static struct cv_schema *ddl(const char *text)
{
    struct cv_schema *schema = cv_arena_new(&arena, struct cv_schema);
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(cv_schema_read_ddl(text, &arena, schema, &err), &err);
    return schema;
}

static void nulls_start_a_bitmap_that_covers_what_was_before(void **state)
{
    CV_CLEANUP(cv_batch_builder_release) struct cv_batch_builder builder;
    struct cv_batch batch;

    cv_batch_builder_init(&builder, ddl("a int"));
    for (int i = 0; i < 9; i++)
        cv_builder_i32(&builder.columns[0], i);
    cv_batch_builder_view(&builder, &batch);
    assert_null(batch.columns[0].validity);
    cv_builder_null(&builder.columns[0]);
    cv_builder_i32(&builder.columns[0], 10);
    cv_batch_builder_view(&builder, &batch);
    assert_int_equal(batch.row_count, 11);
    assert_int_equal(batch.columns[0].null_count, 1);
    for (size_t row = 0; row < 11; row++)
        assert_int_equal(cv_column_is_null(&batch.columns[0], row), row == 9);
    assert_int_equal(((const int32_t *)batch.columns[0].data)[9], 0);
    assert_int_equal(((const int32_t *)batch.columns[0].data)[10], 10);
}

static void texts_lie_between_offsets(void **state)
{
    CV_CLEANUP(cv_batch_builder_release) struct cv_batch_builder builder;
    static const int32_t offsets[] = {0, 2, 2, 2, 5};
    struct cv_batch batch;

    cv_batch_builder_init(&builder, ddl("a string"));
    cv_builder_bytes(&builder.columns[0], "ab", 2);
    cv_builder_bytes(&builder.columns[0], "", 0);
    cv_builder_null(&builder.columns[0]);
    cv_builder_bytes(&builder.columns[0], "cde", 3);
    cv_batch_builder_view(&builder, &batch);
    assert_memory_equal(batch.columns[0].offsets, offsets, sizeof offsets);
    assert_memory_equal(batch.columns[0].data, "abcde", 5);
    assert_true(cv_str_is(cv_column_bytes(&batch.columns[0], 3), "cde"));
}

static void an_empty_batch_has_offsets(void **state)
{
    CV_CLEANUP(cv_batch_builder_release) struct cv_batch_builder builder;
    struct cv_batch batch;

    cv_batch_builder_init(&builder, ddl("a string, l array<int>"));
    cv_batch_builder_view(&builder, &batch);
    assert_int_equal(batch.row_count, 0);
    assert_int_equal(batch.columns[0].offsets[0], 0);
    assert_int_equal(batch.columns[1].offsets[0], 0);
    assert_int_equal(batch.columns[1].children[0].length, 0);
}

static void every_width_has_its_place(void **state)
{
    CV_CLEANUP(cv_batch_builder_release) struct cv_batch_builder builder;
    struct cv_batch batch;

    cv_batch_builder_init(&builder,
                          ddl("b boolean, f float, d double, d4 decimal(9,2), d8 decimal(18,2), "
                              "d16 decimal(38,2), u uuid, x fixed[3]"));
    for (int row = 0; row < 2; row++) {
        cv_builder_bool(&builder.columns[0], row == 1);
        cv_builder_f32(&builder.columns[1], 1.5f);
        cv_builder_f64(&builder.columns[2], -2.5);
        cv_builder_decimal(&builder.columns[3], -1);
        cv_builder_decimal(&builder.columns[4], -2);
        cv_builder_decimal(&builder.columns[5], (cv_wide_int)-3);
        cv_builder_fixed(&builder.columns[6], "0123456789abcdef");
        cv_builder_fixed(&builder.columns[7], "xyz");
    }
    cv_batch_builder_view(&builder, &batch);
    assert_false(cv_bit_get(batch.columns[0].data, 0));
    assert_true(cv_bit_get(batch.columns[0].data, 1));
    cv_test_assert_hex(batch.columns[1].data, 8, "00 00 c0 3f 00 00 c0 3f");
    cv_test_assert_hex(batch.columns[2].data + 8, 8, "00 00 00 00 00 00 04 c0");
    cv_test_assert_hex(batch.columns[3].data + 4, 4, "ff ff ff ff");
    cv_test_assert_hex(batch.columns[4].data + 8, 8, "fe ff ff ff ff ff ff ff");
    assert_true(cv_column_decimal(&batch.columns[3], 1) == -1);
    assert_true(cv_column_decimal(&batch.columns[4], 1) == -2);
    assert_true(cv_column_decimal(&batch.columns[5], 1) == -3);
    assert_memory_equal(batch.columns[6].data + 16, "0123456789abcdef", 16);
    assert_memory_equal(batch.columns[7].data, "xyzxyz", 6);
}

static void a_null_struct_has_null_children(void **state)
{
    CV_CLEANUP(cv_batch_builder_release) struct cv_batch_builder builder;
    const struct cv_column *column;
    struct cv_batch batch;

    cv_batch_builder_init(&builder, ddl("s struct<a: int, t: struct<b: string>, l: array<int>>"));
    cv_builder_i32(&builder.columns[0].children[0], 7);
    cv_builder_bytes(&builder.columns[0].children[1].children[0], "x", 1);
    cv_builder_end_struct(&builder.columns[0].children[1]);
    cv_builder_i32(&builder.columns[0].children[2].children[0], 5);
    cv_builder_end_list(&builder.columns[0].children[2]);
    cv_builder_end_struct(&builder.columns[0]);
    cv_builder_null(&builder.columns[0]);
    cv_batch_builder_view(&builder, &batch);
    column = &batch.columns[0];
    assert_int_equal(column->length, 2);
    assert_int_equal(column->null_count, 1);
    assert_int_equal(column->children[0].length, 2);
    assert_true(cv_column_is_null(&column->children[0], 1));
    assert_true(cv_column_is_null(&column->children[1], 1));
    assert_true(cv_column_is_null(&column->children[1].children[0], 1));
    assert_true(cv_column_is_null(&column->children[2], 1));
    assert_int_equal(column->children[2].offsets[2], 1);
}

static void maps_and_lists_count_their_children(void **state)
{
    CV_CLEANUP(cv_batch_builder_release) struct cv_batch_builder builder;
    static const int32_t offsets[] = {0, 2, 2, 2, 3};
    struct cv_builder *map;
    struct cv_batch batch;

    cv_batch_builder_init(&builder, ddl("m map<string, int>"));
    map = &builder.columns[0];
    for (int i = 0; i < 2; i++) {
        cv_builder_bytes(&map->children[0], "k", 1);
        cv_builder_i32(&map->children[1], i);
    }
    cv_builder_end_list(map);
    cv_builder_end_list(map); /* {} */
    cv_builder_null(map);
    cv_builder_bytes(&map->children[0], "z", 1);
    cv_builder_null(&map->children[1]);
    cv_builder_end_list(map);
    cv_batch_builder_view(&builder, &batch);
    assert_memory_equal(batch.columns[0].offsets, offsets, sizeof offsets);
    assert_int_equal(batch.columns[0].children[0].length, 3);
    assert_true(cv_column_is_null(&batch.columns[0].children[1], 2));
}

/* A decoder that finds a row bad half-way goes back to where the row began. */
static void truncation_undoes_half_a_row(void **state)
{
    CV_CLEANUP(cv_batch_builder_release) struct cv_batch_builder builder;
    struct cv_builder *s, *l;
    struct cv_batch batch;

    cv_batch_builder_init(&builder, ddl("a int, t string, s struct<x: int, y: string>, "
                                        "l array<struct<z: string>>"));
    s = &builder.columns[2];
    l = &builder.columns[3];
    for (int row = 0; row < 3; row++) {
        cv_builder_i32(&builder.columns[0], row);
        cv_builder_bytes(&builder.columns[1], "text", 4);
        cv_builder_i32(&s->children[0], row);
        cv_builder_bytes(&s->children[1], "y", 1);
        cv_builder_end_struct(s);
        cv_builder_bytes(&l->children[0].children[0], "zz", 2);
        cv_builder_end_struct(&l->children[0]);
        cv_builder_end_list(l);
    }
    /* half a fourth row: two columns, one child, one element not closed */
    cv_builder_null(&builder.columns[0]);
    cv_builder_bytes(&builder.columns[1], "bad", 3);
    cv_builder_i32(&s->children[0], 99);
    cv_builder_bytes(&l->children[0].children[0], "bad", 3);
    cv_batch_builder_truncate(&builder, 3);
    cv_builder_i32(&builder.columns[0], 3);
    cv_builder_bytes(&builder.columns[1], "next", 4);
    cv_builder_null(s);
    cv_builder_end_list(l);
    cv_batch_builder_view(&builder, &batch);
    assert_int_equal(batch.row_count, 4);
    assert_int_equal(batch.columns[0].null_count, 0);
    assert_true(cv_str_is(cv_column_bytes(&batch.columns[1], 3), "next"));
    assert_int_equal(batch.columns[2].children[0].length, 4);
    assert_true(cv_column_is_null(&batch.columns[2].children[0], 3));
    assert_int_equal(batch.columns[3].offsets[4], 3);
    assert_int_equal(batch.columns[3].children[0].children[0].length, 3);
    assert_int_equal(batch.columns[3].children[0].children[0].offsets[3], 6);
    cv_batch_builder_truncate(&builder, 0);
    cv_batch_builder_view(&builder, &batch);
    assert_int_equal(batch.row_count, 0);
    assert_int_equal(batch.columns[2].null_count, 0);
    assert_int_equal(batch.columns[3].children[0].length, 0);
}

static void a_value_past_the_limit_becomes_null_and_is_told(void **state)
{
    CV_CLEANUP(cv_batch_builder_release) struct cv_batch_builder builder;
    volatile size_t too_long = CV_COLUMN_BYTES_MAX + 1;
    struct cv_batch batch;

    cv_batch_builder_init(&builder, ddl("s struct<a: string>"));
    assert_false(cv_batch_builder_overflow(&builder));
    /* the length alone decides: nothing is read; volatile hides it from gcc's bounds warning */
    cv_builder_bytes(&builder.columns[0].children[0], "", too_long);
    cv_builder_end_struct(&builder.columns[0]);
    assert_true(cv_batch_builder_overflow(&builder));
    cv_batch_builder_view(&builder, &batch);
    assert_true(cv_column_is_null(&batch.columns[0].children[0], 0));
    cv_batch_builder_clear(&builder);
    assert_false(cv_batch_builder_overflow(&builder));
}

static void bytes_count_values_and_offsets(void **state)
{
    CV_CLEANUP(cv_batch_builder_release) struct cv_batch_builder builder;

    cv_batch_builder_init(&builder, ddl("a bigint, t string"));
    for (int i = 0; i < 100; i++) {
        cv_builder_i64(&builder.columns[0], i);
        cv_builder_bytes(&builder.columns[1], "0123456789", 10);
    }
    assert_int_equal(cv_batch_builder_bytes(&builder), 100 * 8 + 100 * (10 + 4));
}

/* --- a plain model --------------------------------------------------------------------------- */

#define MODEL_ROWS 3000

struct model {
    int64_t number[MODEL_ROWS]; /* INT64_MIN = null */
    char text[MODEL_ROWS][8];   /* "\xff" = null */
    bool flag[MODEL_ROWS];
    size_t rows;
};

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void add_row(struct cv_batch_builder *builder, struct model *model, uint64_t random)
{
    size_t row = model->rows++;

    model->number[row] = random % 5 ? (int64_t)random : INT64_MIN;
    if (random % 5)
        cv_builder_i64(&builder->columns[0], (int64_t)random);
    else
        cv_builder_null(&builder->columns[0]);
    (void)snprintf(model->text[row], 8, "%llx", (unsigned long long)(random >> 40));
    if (random % 7) {
        cv_builder_bytes(&builder->columns[1], model->text[row], strlen(model->text[row]));
    } else {
        strcpy(model->text[row], "\xff");
        cv_builder_null(&builder->columns[1]);
    }
    model->flag[row] = random >> 20 & 1;
    cv_builder_bool(&builder->columns[2], model->flag[row]);
}

static void compare(const struct cv_batch *batch, const struct model *model)
{
    assert_int_equal(batch->row_count, model->rows);
    for (size_t row = 0; row < model->rows; row++) {
        int64_t number;

        assert_int_equal(cv_column_is_null(&batch->columns[0], row),
                         model->number[row] == INT64_MIN);
        memcpy(&number, batch->columns[0].data + row * 8, 8);
        assert_int_equal(number, model->number[row] == INT64_MIN ? 0 : model->number[row]);
        if (model->text[row][0] == '\xff')
            assert_true(cv_column_is_null(&batch->columns[1], row));
        else
            assert_true(cv_str_is(cv_column_bytes(&batch->columns[1], row), model->text[row]));
        assert_int_equal(cv_bit_get(batch->columns[2].data, row), model->flag[row]);
    }
}

static void random_rows_agree_with_a_plain_model(void **state)
{
    CV_CLEANUP(cv_batch_builder_release) struct cv_batch_builder builder;
    struct model *model = test_malloc(sizeof *model);
    uint64_t seed = 42;
    struct cv_batch batch;

    cv_batch_builder_init(&builder, ddl("n bigint, t string, b boolean"));
    for (int round = 0; round < 20; round++) {
        model->rows = 0;
        cv_batch_builder_clear(&builder);
        while (model->rows < MODEL_ROWS) {
            add_row(&builder, model, next_random(&seed));
            if (next_random(&seed) % 50 == 0) {
                size_t dropped = next_random(&seed) % 20;

                model->rows -= CV_MIN(model->rows, dropped);
                cv_batch_builder_truncate(&builder, model->rows);
            }
        }
        cv_batch_builder_view(&builder, &batch);
        compare(&batch, model);
    }
    test_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nulls_start_a_bitmap_that_covers_what_was_before),
        cmocka_unit_test(texts_lie_between_offsets),
        cmocka_unit_test(an_empty_batch_has_offsets),
        cmocka_unit_test(every_width_has_its_place),
        cmocka_unit_test(a_null_struct_has_null_children),
        cmocka_unit_test(maps_and_lists_count_their_children),
        cmocka_unit_test(truncation_undoes_half_a_row),
        cmocka_unit_test(a_value_past_the_limit_becomes_null_and_is_told),
        cmocka_unit_test(bytes_count_values_and_offsets),
        cmocka_unit_test(random_rows_agree_with_a_plain_model),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
