/* SPDX-License-Identifier: Apache-2.0
 *
 * Sort orders as text and as keys, z-order bytes, and sorting beyond the memory. */
#include "test.h"

#include "batch/builder.h"
#include "maintain/row_sorter.h"

#include <math.h>

static struct cv_error err;
static struct cv_arena arena;
static struct cv_schema schema;

static int set_up(void **state)
{
    (void)state;
    CV_ASSERT_OK(cv_schema_read_ddl("id bigint, s string, d double, n int, b boolean, "
                                    "dec decimal(10,2), day date, st struct<x:int>, l array<int>",
                                    &arena, &schema, &err),
                 &err);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cv_arena_release(&arena);
    return 0;
}

static struct cv_sort_plan parse(const char *text)
{
    struct cv_sort_plan plan;

    CV_ASSERT_OK(cv_sort_plan_parse(text, &schema, 8, 2147483647, &arena, &plan, &err), &err);
    return plan;
}

static void reads_orders(void **state)
{
    struct cv_sort_plan plan =
        parse("id DESC NULLS FIRST, `s`, d desc, bucket(4, n) asc nulls last,"
              " st.x");

    (void)state;
    assert_int_equal(plan.count, 5);
    assert_true(plan.terms[0].descending);
    assert_false(plan.terms[0].nulls_last);
    assert_false(plan.terms[1].descending);
    assert_false(plan.terms[1].nulls_last); /* Spark: nulls first when ascending */
    assert_true(plan.terms[2].nulls_last);  /* and last when descending */
    assert_int_equal(plan.terms[3].transform.kind, CV_TRANSFORM_BUCKET);
    assert_int_equal(plan.terms[3].transform.width, 4);
    assert_true(plan.terms[3].nulls_last);
    assert_int_equal(plan.terms[4].path.depth, 2);
    plan = parse("zorder(id, s)");
    assert_true(plan.zorder);
    assert_int_equal(plan.zorder_bytes, 16);
}

static void refuses_orders(void **state)
{
    static const char *const cases[] = {"",
                                        "nothing",
                                        "id sideways",
                                        "id NULLS",
                                        "id FIRST",
                                        "l",
                                        "st",
                                        "zorder(id), s",
                                        "zorder()",
                                        "zorder(dec)",
                                        "zorder(id desc)",
                                        "zorder(bucket(4, id))"};
    struct cv_sort_plan plan;

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++)
        if (cv_sort_plan_parse(cases[i], &schema, 8, 100, &arena, &plan, &err) == CV_OK)
            fail_msg("\"%s\" is taken", cases[i]);
}

static void knows_the_order_of_the_table(void **state)
{
    struct cv_sort_field field = {.source_id = 1, .transform = {.kind = CV_TRANSFORM_IDENTITY}};
    struct cv_sort_order order = {.order_id = 1, .fields = &field, .field_count = 1};
    struct cv_sort_plan plan = parse("id");

    (void)state;
    assert_true(cv_sort_plan_gives_order(&plan, &order));
    plan = parse("id, s");
    assert_true(cv_sort_plan_gives_order(&plan, &order));
    plan = parse("s, id");
    assert_false(cv_sort_plan_gives_order(&plan, &order));
    plan = parse("id desc");
    assert_false(cv_sort_plan_gives_order(&plan, &order));
    plan = parse("zorder(id)");
    assert_false(cv_sort_plan_gives_order(&plan, &order));
    order.field_count = 0;
    plan = parse("id");
    assert_false(cv_sort_plan_gives_order(&plan, &order));
}

/* The cases of Iceberg's TestZOrderByteUtil: bits in turn, columns of unequal length. */
static void interleaves_bits(void **state)
{
    static const struct cv_str two[] = {{"\xff", 1}, {"\x00", 1}};
    static const struct cv_str unequal[] = {{"\xff\xff", 2}, {"\x00", 1}};
    static const struct cv_str three[] = {{"\xff", 1}, {"\x00", 1}, {"\xff", 1}};
    uint8_t out[4];

    (void)state;
    cv_zorder_interleave(two, 2, out, 2);
    cv_test_assert_hex(out, 2, "aaaa");
    cv_zorder_interleave(two, 2, out, 1); /* max-output-size */
    cv_test_assert_hex(out, 1, "aa");
    cv_zorder_interleave(unequal, 2, out, 3);
    cv_test_assert_hex(out, 3, "aaaaff");
    cv_zorder_interleave(three, 3, out, 3);
    cv_test_assert_hex(out, 3, "b6db6d");
}

/* --- rows ------------------------------------------------------------------------------------ */

static void put_row(struct cv_batch_builder *rows, int64_t id, const char *s, size_t length,
                    double d)
{
    cv_builder_i64(&rows->columns[0], id);
    if (s)
        cv_builder_bytes(&rows->columns[1], s, length);
    else
        cv_builder_null(&rows->columns[1]);
    cv_builder_f64(&rows->columns[2], d);
    cv_builder_i32(&rows->columns[3], (int32_t)(id % 7));
    cv_builder_bool(&rows->columns[4], id & 1);
    cv_builder_decimal(&rows->columns[5], -id);
    cv_builder_i32(&rows->columns[6], (int32_t)id);
    cv_builder_i32(&rows->columns[7].children[0], (int32_t)-id);
    cv_builder_end_struct(&rows->columns[7]);
    cv_builder_i32(&rows->columns[8].children[0], 5);
    cv_builder_end_list(&rows->columns[8]);
}

/* The ids in the order of the keys of rows 0 … count-1. */
static void assert_order(const char *order, struct cv_batch_builder *rows, size_t count,
                         const int64_t *wanted)
{
    struct cv_sort_plan plan = parse(order);
    struct cv_buf keys[16] = {0};
    struct cv_batch batch;

    cv_batch_builder_view(rows, &batch);
    for (size_t i = 0; i < count; i++)
        CV_ASSERT_OK(cv_sort_key_write(&plan, &batch, i, &keys[i], &err), &err);
    for (size_t i = 0; i < count; i++) {
        size_t place = 0;
        int64_t id;

        for (size_t k = 0; k < count; k++) {
            int result = memcmp(keys[k].data, keys[i].data, CV_MIN(keys[k].length, keys[i].length));

            place += result < 0 || (result == 0 && keys[k].length < keys[i].length);
        }
        memcpy(&id, batch.columns[0].data + i * 8, 8);
        if (wanted[place] != id)
            fail_msg("%s: %lld stands at %zu", order, (long long)id, place);
    }
    for (size_t i = 0; i < count; i++)
        cv_buf_release(&keys[i]);
}

static void keys_compare_as_values(void **state)
{
    struct cv_batch_builder rows;

    (void)state;
    cv_batch_builder_init(&rows, &schema);
    put_row(&rows, -3, "b", 1, -0.0);
    put_row(&rows, 4, "a\0b", 3, NAN);
    put_row(&rows, 2, NULL, 0, -1.5);
    put_row(&rows, 0, "a", 1, 0.0);
    put_row(&rows, 7, "a\0", 2, INFINITY);
    assert_order("id", &rows, 5, (const int64_t[]){-3, 0, 2, 4, 7});
    assert_order("id desc", &rows, 5, (const int64_t[]){7, 4, 2, 0, -3});
    assert_order("s", &rows, 5, (const int64_t[]){2, 0, 7, 4, -3});
    assert_order("s nulls last", &rows, 5, (const int64_t[]){0, 7, 4, -3, 2});
    assert_order("s desc", &rows, 5, (const int64_t[]){-3, 4, 7, 0, 2});
    assert_order("s desc nulls first", &rows, 5, (const int64_t[]){2, -3, 4, 7, 0});
    assert_order("d", &rows, 5, (const int64_t[]){2, -3, 0, 7, 4});
    assert_order("dec", &rows, 5, (const int64_t[]){7, 4, 2, 0, -3});
    assert_order("st.x desc", &rows, 5, (const int64_t[]){-3, 0, 2, 4, 7});
    assert_order("b desc, day", &rows, 5, (const int64_t[]){-3, 7, 0, 2, 4});
    assert_order("truncate(4, id), n desc, id", &rows, 5, (const int64_t[]){-3, 2, 0, 4, 7});
    assert_order("zorder(id)", &rows, 5, (const int64_t[]){-3, 0, 2, 4, 7});
    cv_batch_builder_release(&rows);
}

struct seen {
    int64_t rows;
    int64_t last_n;
    int64_t last_id;
    int64_t sum;
};

static enum cv_code see(void *context, const struct cv_batch *batch, struct cv_error *error)
{
    struct seen *seen = context;

    (void)error;
    for (size_t i = 0; i < batch->row_count; i++) {
        int64_t id = cv_column_value(&batch->columns[0], i).i64;
        int64_t n = cv_column_value(&batch->columns[3], i).i32;

        if (n > seen->last_n || (n == seen->last_n && id <= seen->last_id))
            fail_msg("n %lld, id %lld after n %lld, id %lld", (long long)n, (long long)id,
                     (long long)seen->last_n, (long long)seen->last_id);
        assert_int_equal(cv_column_value(&batch->columns[7].children[0], i).i32, -id);
        seen->last_n = n;
        seen->last_id = id;
        seen->rows++;
        seen->sum += id;
    }
    return CV_OK;
}

/* Ordered by n downwards, rows of equal n as they came; enough for two levels of runs. */
static void sort_many(int64_t count, bool spills)
{
    struct cv_sort_plan plan = parse("n desc");
    struct cv_row_sorter *sorter =
        cv_row_sorter_new(&schema, &plan, CV_ROW_SORTER_MEMORY_BYTES_MIN, cv_test_folder());
    struct seen seen = {.last_n = 7};
    struct cv_batch_builder rows;
    struct cv_batch batch;

    cv_batch_builder_init(&rows, &schema);
    for (int64_t id = 0; id < count; id++) {
        put_row(&rows, id, "some text that fills the memory of the sorter sooner", 52, 1.0);
        if (id % 1000 != 999 && id != count - 1)
            continue;
        cv_batch_builder_view(&rows, &batch);
        CV_ASSERT_OK(cv_row_sorter_add(sorter, &batch, &err), &err);
        cv_batch_builder_clear(&rows);
    }
    assert_int_equal(cv_row_sorter_spilled(sorter) > 0, spills);
    CV_ASSERT_OK(cv_row_sorter_drain(sorter, see, &seen, &err), &err);
    assert_int_equal(seen.rows, count);
    assert_int_equal(seen.sum, count * (count - 1) / 2);
    cv_batch_builder_release(&rows);
    cv_row_sorter_free(sorter);
}

static void sorts_in_memory(void **state)
{
    (void)state;
    sort_many(0, false);
    sort_many(1, false);
    sort_many(5000, false);
}

static void sorts_beyond_memory(void **state)
{
    (void)state;
    sort_many(40000, true);
    sort_many(400000, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_orders),
        cmocka_unit_test(refuses_orders),
        cmocka_unit_test(knows_the_order_of_the_table),
        cmocka_unit_test(interleaves_bits),
        cmocka_unit_test(keys_compare_as_values),
        cmocka_unit_test(sorts_in_memory),
        cmocka_unit_test(sorts_beyond_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
