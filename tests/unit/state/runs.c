/* SPDX-License-Identifier: Apache-2.0
 *
 * Keyed rows of a batch: sorted, merged and spilled, against a model. */
#include "model.h"

#include <pthread.h>

static struct cv_error err;

static struct cv_runs *open_runs(const struct cv_keyed *keyed, size_t memory_bytes)
{
    const struct cv_runs_config config = {
        .keyed = keyed, .memory_bytes = memory_bytes, .spill_directory = cv_test_folder()};

    return cv_runs_new(&config);
}

static void check(const struct model *model, struct cv_runs *runs)
{
    struct cv_merge_reader *reader;

    CV_ASSERT_OK(cv_runs_read(runs, &reader, &err), &err);
    model_check(model, reader, NULL, NULL);
}

/* Adds some batches of random size; keys from [0, keys). */
static void fill(struct model *model, struct cv_runs *runs, size_t batches, uint32_t rows_max,
                 uint32_t keys)
{
    struct cv_batch_builder rows;
    struct cv_batch batch;
    int64_t late = -1;

    cv_batch_builder_init(&rows, &model->schema);
    for (size_t i = 0; i < batches; i++) {
        cv_batch_builder_clear(&rows);
        for (uint32_t count = model_random(model, rows_max); count > 0; count--)
            model_put(model, &rows, model_random(model, keys), true);
        cv_batch_builder_view(&rows, &batch);
        CV_ASSERT_OK(cv_runs_add(runs, &batch, INT64_MIN, &late, &err), &err);
        assert_int_equal(late, 0);
    }
    cv_batch_builder_release(&rows);
}

static void no_rows(void **state)
{
    static struct model model;
    struct cv_runs *runs;

    (void)state;
    model_open(&model, 1);
    runs = open_runs(&model.keyed, 1 << 20);
    check(&model, runs);
    fill(&model, runs, 3, 1, 10);
    check(&model, runs);
    cv_runs_free(runs);
    model_release(&model);
}

static void merges_in_memory(void **state)
{
    static struct model model;
    struct cv_runs_counters counters;
    struct cv_runs *runs;

    (void)state;
    model_open(&model, 2);
    runs = open_runs(&model.keyed, (size_t)64 << 20);
    fill(&model, runs, 300, 200, MODEL_KEYS);
    check(&model, runs);
    check(&model, runs); /* anew */
    cv_runs_counters(runs, &counters);
    assert_true(counters.rows_in > 10000);
    assert_int_equal(counters.rows_spilled, 0);
    cv_runs_free(runs);
    model_release(&model);
}

/* Less memory than one batch has: each becomes a file, and the files are merged tier by tier. */
static void spills(void **state)
{
    static const size_t memory[] = {1, 20000, 100000, 1000000};
    static struct model model;
    struct cv_runs_counters counters;
    struct cv_runs *runs;

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(memory); i++) {
        model_open(&model, i + 3);
        runs = open_runs(&model.keyed, memory[i]);
        fill(&model, runs, 200, 100, MODEL_KEYS);
        check(&model, runs);
        fill(&model, runs, 100, 400, 300);
        check(&model, runs);
        cv_runs_counters(runs, &counters);
        assert_true(counters.rows_spilled > 0 && counters.bytes_spilled > 0);
        cv_runs_free(runs);
        model_release(&model);
    }
}

static void leaves_out_late_rows(void **state)
{
    static struct model model;
    const int64_t late_us = 20 * MODEL_MINUTE;
    struct cv_batch_builder rows;
    struct cv_merge_reader *reader;
    struct cv_batch batch;
    struct cv_runs *runs;
    int64_t late = 0, wanted = 0, us;

    (void)state;
    model_open(&model, 9);
    runs = open_runs(&model.keyed, 1 << 20);
    cv_batch_builder_init(&rows, &model.schema);
    for (uint32_t i = 0; i < 5000; i++) {
        uint32_t id = model_random(&model, MODEL_KEYS);
        bool is_late = model_window(id, &us) && us <= late_us;

        model_put(&model, &rows, id, !is_late);
        wanted += is_late;
    }
    cv_batch_builder_view(&rows, &batch);
    CV_ASSERT_OK(cv_runs_add(runs, &batch, late_us, &late, &err), &err);
    assert_int_equal(late, wanted);
    CV_ASSERT_OK(cv_runs_read(runs, &reader, &err), &err);
    model_check(&model, reader, NULL, NULL);
    cv_batch_builder_release(&rows);
    cv_runs_free(runs);
    model_release(&model);
}

/* --- threads --------------------------------------------------------------------------------- */

#define THREADS 4
#define ROUNDS  60

struct adder {
    struct cv_runs *runs;
    const struct cv_schema *schema;
    uint32_t number;
};

/* Each key once per round; the counts tell whether any was lost. */
static void *add_rows(void *context)
{
    const struct adder *adder = context;
    static const uint32_t keys = 500;
    struct cv_batch_builder rows;
    struct cv_batch batch;
    struct cv_error own = CV_ERROR_INIT;
    int64_t late;

    cv_batch_builder_init(&rows, adder->schema);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        cv_batch_builder_clear(&rows);
        for (uint32_t i = 0; i < keys; i++) {
            cv_builder_i64(&rows.columns[0], (i * 7 + round) % keys);
            cv_builder_i64(&rows.columns[1], adder->number + 1);
        }
        cv_batch_builder_view(&rows, &batch);
        if (cv_runs_add(adder->runs, &batch, INT64_MIN, &late, &own) != CV_OK)
            abort();
    }
    cv_batch_builder_release(&rows);
    return NULL;
}

static void adds_from_threads(void **state)
{
    static const enum cv_merge merges[] = {0, CV_MERGE_SUM};
    struct cv_keyed keyed = {.key_count = 1, .merges = merges, .expiry_column = SIZE_MAX};
    struct adder adders[THREADS];
    pthread_t threads[THREADS];
    struct cv_merge_reader *reader;
    struct cv_batch batch;
    struct cv_schema schema;
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_runs *runs;
    int64_t next = 0;

    (void)state;
    CV_ASSERT_OK(cv_schema_read_ddl("k bigint, n bigint", &arena, &schema, &err), &err);
    keyed.schema = &schema;
    runs = open_runs(&keyed, 100000);
    for (uint32_t i = 0; i < THREADS; i++) {
        adders[i] = (struct adder){runs, &schema, i};
        assert_int_equal(pthread_create(&threads[i], NULL, add_rows, &adders[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    CV_ASSERT_OK(cv_runs_read(runs, &reader, &err), &err);
    for (;;) {
        CV_ASSERT_OK(cv_merge_reader_next(reader, &batch, &err), &err);
        if (!batch.row_count)
            break;
        for (size_t i = 0; i < batch.row_count; i++, next++) {
            assert_int_equal(cv_column_value(&batch.columns[0], i).i64, next);
            assert_int_equal(cv_column_value(&batch.columns[1], i).i64, ROUNDS * (1 + 2 + 3 + 4));
        }
    }
    assert_int_equal(next, 500);
    cv_merge_reader_free(reader);
    cv_runs_free(runs);
    cv_arena_release(&arena);
}

/* --- odd keys -------------------------------------------------------------------------------- */

/* Without a key all rows are one. */
static void merges_a_whole(void **state)
{
    static const enum cv_merge merges[] = {CV_MERGE_SUM};
    struct cv_keyed keyed = {.key_count = 0, .merges = merges, .expiry_column = SIZE_MAX};
    struct cv_batch_builder rows;
    struct cv_merge_reader *reader;
    struct cv_schema schema;
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_batch batch;
    struct cv_runs *runs;
    int64_t late;

    (void)state;
    CV_ASSERT_OK(cv_schema_read_ddl("n bigint", &arena, &schema, &err), &err);
    keyed.schema = &schema;
    runs = open_runs(&keyed, 1);
    cv_batch_builder_init(&rows, &schema);
    for (int64_t i = 0; i < 1000; i++) {
        cv_builder_i64(&rows.columns[0], i);
        if (i % 100 != 99)
            continue;
        cv_batch_builder_view(&rows, &batch);
        CV_ASSERT_OK(cv_runs_add(runs, &batch, INT64_MIN, &late, &err), &err);
        cv_batch_builder_clear(&rows);
    }
    CV_ASSERT_OK(cv_runs_read(runs, &reader, &err), &err);
    CV_ASSERT_OK(cv_merge_reader_next(reader, &batch, &err), &err);
    assert_int_equal(batch.row_count, 1);
    assert_int_equal(cv_column_value(&batch.columns[0], 0).i64, 499500);
    CV_ASSERT_OK(cv_merge_reader_next(reader, &batch, &err), &err);
    assert_int_equal(batch.row_count, 0);
    cv_merge_reader_free(reader);
    cv_builder_i64(&rows.columns[0], INT64_MAX);
    cv_batch_builder_view(&rows, &batch);
    CV_ASSERT_OK(cv_runs_add(runs, &batch, INT64_MIN, &late, &err), &err);
    CV_ASSERT_OK(cv_runs_read(runs, &reader, &err), &err);
    CV_ASSERT_FAILS(cv_merge_reader_next(reader, &batch, &err), CV_RECORD,
                    "column n: ARITHMETIC_OVERFLOW", &err);
    CV_ASSERT_FAILS(cv_merge_reader_next(reader, &batch, &err), CV_INTERNAL, "after a failure",
                    &err);
    cv_merge_reader_free(reader);
    cv_batch_builder_release(&rows);
    cv_runs_free(runs);
    cv_arena_release(&arena);
}

/* Each number once, in a jumble; keys are the numbers modulo 1000. */
static void fill_numbers(const struct cv_schema *schema, struct cv_runs *runs)
{
    struct cv_batch_builder rows;
    struct cv_batch batch;
    int64_t late;

    cv_batch_builder_init(&rows, schema);
    for (int64_t i = 0; i < 20000; i++) {
        int64_t n = i * 7919 % 20000;
        char text[32];

        cv_builder_bytes(&rows.columns[0], text,
                         (size_t)snprintf(text, sizeof text, "%lld", (long long)(n % 1000)));
        cv_builder_i32(&rows.columns[1], (int32_t)(n / 10000));
        cv_builder_i64(&rows.columns[2], n);
        cv_builder_bytes(&rows.columns[3], text,
                         (size_t)snprintf(text, sizeof text, "%0*lld", (int)(n % 9), (long long)n));
        for (int64_t k = 0; k < n % 3; k++)
            cv_builder_i32(&rows.columns[4].children[0], (int32_t)n);
        cv_builder_end_list(&rows.columns[4]);
        if (i % 500 != 499)
            continue;
        cv_batch_builder_view(&rows, &batch);
        CV_ASSERT_OK(cv_runs_add(runs, &batch, INT64_MIN, &late, &err), &err);
        cv_batch_builder_clear(&rows);
    }
    cv_batch_builder_release(&rows);
}

/* Of rows with one key the first by partition and offset, with all of its columns. */
static void keeps_the_first(void **state)
{
    static const enum cv_merge merges[] = {0, CV_MERGE_FIRST, CV_MERGE_FIRST, CV_MERGE_FIRST,
                                           CV_MERGE_FIRST};
    struct cv_keyed keyed = {
        .key_count = 1, .order_count = 2, .merges = merges, .expiry_column = SIZE_MAX};
    struct cv_merge_reader *reader, *two;
    struct cv_schema schema, projected;
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_batch batch;
    struct cv_runs *runs;
    int64_t keys = 0;

    (void)state;
    CV_ASSERT_OK(cv_schema_read_ddl("k string, p int, o bigint, t string, l array<int>", &arena,
                                    &schema, &err),
                 &err);
    CV_ASSERT_OK(cv_schema_read_ddl("k string, l array<int>", &arena, &projected, &err), &err);
    keyed.schema = &schema;
    runs = open_runs(&keyed, 20000);
    fill_numbers(&schema, runs);
    CV_ASSERT_OK(cv_runs_read(runs, &reader, &err), &err);
    for (;;) {
        CV_ASSERT_OK(cv_merge_reader_next(reader, &batch, &err), &err);
        if (!batch.row_count)
            break;
        for (size_t i = 0; i < batch.row_count; i++, keys++) {
            int64_t n = cv_column_value(&batch.columns[2], i).i64;
            char text[32];

            assert_in_range(n, 0, 999);
            assert_int_equal(cv_column_value(&batch.columns[1], i).i32, 0);
            (void)snprintf(text, sizeof text, "%lld", (long long)n);
            assert_true(cv_str_is(cv_column_bytes(&batch.columns[0], i), text));
            (void)snprintf(text, sizeof text, "%0*lld", (int)(n % 9), (long long)n);
            assert_true(cv_str_is(cv_column_bytes(&batch.columns[3], i), text));
            assert_int_equal(batch.columns[4].offsets[i + 1] - batch.columns[4].offsets[i], n % 3);
        }
    }
    assert_int_equal(keys, 1000);
    cv_merge_reader_free(reader);
    /* Chosen columns. */
    CV_ASSERT_OK(cv_runs_read(runs, &reader, &err), &err);
    CV_ASSERT_OK(
        cv_merge_reader_project(reader,
                                &(struct cv_keyed){.schema = &projected,
                                                   .key_count = 1,
                                                   .merges = (enum cv_merge[]){0, CV_MERGE_FIRST},
                                                   .expiry_column = SIZE_MAX},
                                (size_t[]){0, 4}, &two, &err),
        &err);
    CV_ASSERT_OK(cv_merge_reader_next(two, &batch, &err), &err);
    assert_int_equal(batch.row_count, 1000);
    assert_int_equal(batch.column_count, 2);
    assert_ptr_equal(batch.schema, &projected);
    assert_true(cv_str_is(cv_column_bytes(&batch.columns[0], 1), "1"));
    assert_int_equal(batch.columns[1].offsets[2] - batch.columns[1].offsets[1], 1);
    CV_ASSERT_OK(cv_merge_reader_next(two, &batch, &err), &err);
    assert_int_equal(batch.row_count, 0);
    cv_merge_reader_free(two);
    cv_merge_reader_free(reader);
    cv_runs_free(runs);
    cv_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_rows),
        cmocka_unit_test(merges_in_memory),
        cmocka_unit_test(spills),
        cmocka_unit_test(leaves_out_late_rows),
        cmocka_unit_test(adds_from_threads),
        cmocka_unit_test(merges_a_whole),
        cmocka_unit_test(keeps_the_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
