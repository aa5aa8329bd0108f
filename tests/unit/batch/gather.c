/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows gathered from columns of every shape are the rows that were there, also beyond the first
 * growth of a builder, and twice into the same one. */
#include "batch/gather.h"
#include "same_value.h"
#include "test.h"

#define ROWS 3000

static const char ddl[] = "i int, l bigint, flag boolean, s string, w decimal(38,2), st struct<a: "
                          "int, t: struct<x: string>>, "
                          "li array<struct<q: bigint>>, m map<string, int>";

static void put_row(struct cv_batch_builder *b, int64_t n)
{
    struct cv_builder *c = b->columns;
    char text[32];

    (void)snprintf(text, sizeof text, "row %lld", (long long)n);
    n % 7 ? cv_builder_i32(&c[0], (int32_t)n) : cv_builder_null(&c[0]);
    cv_builder_i64(&c[1], -n);
    n % 5 ? cv_builder_bool(&c[2], n % 2) : cv_builder_null(&c[2]);
    n % 3 ? cv_builder_bytes(&c[3], text, strlen(text)) : cv_builder_null(&c[3]);
    cv_builder_decimal(&c[4], (cv_wide_int)n << 70);
    if (n % 4) {
        cv_builder_i32(&c[5].children[0], (int32_t)n);
        if (n % 2) {
            cv_builder_bytes(&c[5].children[1].children[0], text, strlen(text));
            cv_builder_end_struct(&c[5].children[1]);
        } else {
            cv_builder_null(&c[5].children[1]);
        }
        cv_builder_end_struct(&c[5]);
    } else {
        cv_builder_null(&c[5]);
    }
    for (int64_t k = 0; k < n % 4; k++) {
        cv_builder_i64(&c[6].children[0].children[0], n + k);
        cv_builder_end_struct(&c[6].children[0]);
        cv_builder_bytes(&c[7].children[0], text, (size_t)k + 1);
        k ? cv_builder_i32(&c[7].children[1], (int32_t)k) : cv_builder_null(&c[7].children[1]);
    }
    cv_builder_end_list(&c[6]);
    cv_builder_end_list(&c[7]);
}

static void gathered_rows_are_the_rows(void **state)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_batch_builder from, to;
    struct cv_error err = CV_ERROR_INIT;
    static uint32_t index[ROWS];
    struct cv_rows picked = {index, 0, 0}, range = {NULL, 100, 500};
    struct cv_batch source, result;
    struct cv_schema schema;

    CV_ASSERT_OK(cv_schema_read_ddl(ddl, &arena, &schema, &err), &err);
    cv_batch_builder_init(&from, &schema);
    cv_batch_builder_init(&to, &schema);
    for (int64_t n = 0; n < ROWS; n++)
        put_row(&from, n);
    cv_batch_builder_view(&from, &source);
    for (uint32_t n = 0; n < ROWS; n++)
        if (n * 2654435761u % 3)
            index[picked.count++] = n;
    for (size_t c = 0; c < to.column_count; c++) {
        assert_true(cv_builder_append_rows(&to.columns[c], &source.columns[c], &picked));
        assert_true(cv_builder_append_rows(&to.columns[c], &source.columns[c], &range));
    }
    cv_batch_builder_view(&to, &result);
    assert_int_equal(result.row_count, picked.count + range.count);
    for (size_t c = 0; c < to.column_count; c++)
        for (size_t i = 0; i < result.row_count; i++)
            cv_test_same_value(&source.columns[c],
                               i < picked.count ? index[i] : range.start + i - picked.count,
                               &result.columns[c], i);
    cv_batch_builder_release(&from);
    cv_batch_builder_release(&to);
}

static void paths_lead_through_structs(void **state)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_batch_builder builder;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_column_path path;
    struct cv_schema schema;
    struct cv_batch batch;

    CV_ASSERT_OK(cv_schema_read_ddl(ddl, &arena, &schema, &err), &err);
    cv_batch_builder_init(&builder, &schema);
    for (int64_t n = 0; n < 6; n++)
        put_row(&builder, n);
    cv_batch_builder_view(&builder, &batch);
    path = cv_column_path_find(&schema.root, cv_schema_find_name(&schema, "st.t.x", true)->id);
    assert_int_equal(path.depth, 3);
    assert_true(cv_str_is(cv_column_path_value(&path, &batch, 1).bytes, "row 1"));
    assert_true(cv_column_path_value(&path, &batch, 2).is_null); /* t is */
    assert_true(cv_column_path_value(&path, &batch, 4).is_null); /* st is */
    path =
        cv_column_path_find(&schema.root, cv_schema_find_name(&schema, "li.element.q", true)->id);
    assert_int_equal(path.depth, 0);
    cv_batch_builder_release(&builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathered_rows_are_the_rows),
        cmocka_unit_test(paths_lead_through_structs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
