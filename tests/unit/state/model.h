/* SPDX-License-Identifier: Apache-2.0
 *
 * Keyed rows of all kinds of columns, made by chance, beside a straightforward model of what their
 * merge must be: an array by the number that is part of each key. */
#ifndef CALVE_TESTS_STATE_MODEL_H
#define CALVE_TESTS_STATE_MODEL_H

#include "test.h"

#include "batch/keyed.h"
#include "state/runs.h"

#include <math.h>

#define MODEL_KEYS   3000
#define MODEL_MINUTE INT64_C(60000000)

static const char model_ddl[] = "w timestamp, k string, n int, d double, "
                                "cnt bigint, total decimal(38,2), mn string, mx int, md double, "
                                "a boolean, o boolean, sk binary, ds double";
static const enum cv_merge model_merges[] = {
    0,
    0,
    0,
    0,
    CV_MERGE_SUM,
    CV_MERGE_SUM,
    CV_MERGE_MIN,
    CV_MERGE_MAX,
    CV_MERGE_MAX,
    CV_MERGE_AND,
    CV_MERGE_OR,
    CV_MERGE_SKETCH,
    CV_MERGE_SUM,
};

/* -1 = NULL in those that are never negative. */
struct model_row {
    bool present;
    int64_t count;
    int64_t total;
    bool has_total;
    char least[8];
    int32_t most;
    double greatest;
    bool has_greatest;
    int all, any;
    uint8_t sketch[4];
    double sum;
};

struct model {
    struct cv_arena arena;
    struct cv_schema schema;
    struct cv_keyed keyed;
    struct model_row rows[MODEL_KEYS];
    uint64_t random;
};

static inline void model_open(struct model *model, uint64_t seed)
{
    struct cv_error err = CV_ERROR_INIT;

    memset(model, 0, sizeof *model);
    model->random = seed * 0x9e3779b97f4a7c15u + 1;
    CV_ASSERT_OK(cv_schema_read_ddl(model_ddl, &model->arena, &model->schema, &err), &err);
    model->keyed = (struct cv_keyed){
        .schema = &model->schema, .key_count = 4, .merges = model_merges, .expiry_column = 0};
}

static inline void model_release(struct model *model)
{
    cv_arena_release(&model->arena);
}

static inline uint32_t model_random(struct model *model, uint32_t below)
{
    model->random ^= model->random << 13;
    model->random ^= model->random >> 7;
    model->random ^= model->random << 17;
    return (uint32_t)((model->random >> 20) % below);
}

/* When the window of a key ends; false = it has none. */
static inline bool model_window(uint32_t id, int64_t *ret_us)
{
    *ret_us = (int64_t)(id / 50) * MODEL_MINUTE - 10 * MODEL_MINUTE;
    return id % 11 != 0;
}

static inline void model_put_key(struct model *model, struct cv_batch_builder *rows, uint32_t id)
{
    static const double odd[] = {0.0, 1.5, -INFINITY, NAN, -2.5};
    double d = odd[id % 5];
    char text[40];
    int64_t us;
    int length;

    if (model_window(id, &us))
        cv_builder_i64(&rows->columns[0], us);
    else
        cv_builder_null(&rows->columns[0]);
    /* Texts with a zero inside, one the beginning of another, and none. */
    length =
        snprintf(text, sizeof text, "%.*s%c%u", (int)(id % 3), "kk", id % 4 ? 'x' : 0, id % 97);
    if (id % 13 == 5)
        cv_builder_null(&rows->columns[1]);
    else
        cv_builder_bytes(&rows->columns[1], text, (size_t)length);
    cv_builder_i32(&rows->columns[2], (int32_t)id - 7);
    if (d == 0 && model_random(model, 2))
        d = -0.0;
    cv_builder_f64(&rows->columns[3], isnan(d) && model_random(model, 2) ? -d : d);
}

static inline void model_put_texts(struct model *model, struct cv_batch_builder *rows,
                                   struct model_row *row)
{
    char text[8];
    uint8_t sketch[4];

    (void)snprintf(text, sizeof text, "%c%03u", 'a' + (int)model_random(model, 3),
                   model_random(model, 1000));
    if (model_random(model, 4) == 0) {
        cv_builder_null(&rows->columns[6]);
    } else {
        cv_builder_bytes(&rows->columns[6], text, 4);
        if (!row->least[0] || strcmp(text, row->least) < 0)
            memcpy(row->least, text, sizeof text);
    }
    for (size_t i = 0; i < 4; i++) {
        sketch[i] = (uint8_t)model_random(model, 60);
        row->sketch[i] = CV_MAX(row->sketch[i], sketch[i]);
    }
    cv_builder_bytes(&rows->columns[11], sketch, 4);
}

static inline void model_put_flags(struct model *model, struct cv_batch_builder *rows,
                                   struct model_row *row)
{
    int all = (int)model_random(model, 3) - 1, any = (int)model_random(model, 3) - 1;

    if (all < 0)
        cv_builder_null(&rows->columns[9]);
    else
        cv_builder_bool(&rows->columns[9], all);
    if (any < 0)
        cv_builder_null(&rows->columns[10]);
    else
        cv_builder_bool(&rows->columns[10], any);
    if (all >= 0)
        row->all = row->all < 0 ? all : row->all & all;
    if (any >= 0)
        row->any = row->any < 0 ? any : row->any | any;
}

/* One row more for the key; `counts` false = the model does not hear of it (it is late). */
static inline void model_put(struct model *model, struct cv_batch_builder *rows, uint32_t id,
                             bool counts)
{
    struct model_row aside;
    struct model_row *row = counts ? &model->rows[id] : &aside;
    int64_t total = (int64_t)model_random(model, 2000) - 1000;
    int32_t most = (int32_t)model_random(model, 1000) - 500;
    double greatest = model_random(model, 50) == 0 ? NAN : (double)model_random(model, 1000);

    if (!counts)
        aside = (struct model_row){0};
    if (!row->present)
        *row = (struct model_row){.present = true, .most = INT32_MIN, .all = -1, .any = -1};
    model_put_key(model, rows, id);
    cv_builder_i64(&rows->columns[4], 1);
    row->count++;
    if (total % 5 == 0) {
        cv_builder_null(&rows->columns[5]);
    } else {
        cv_builder_decimal(&rows->columns[5], total);
        row->total += total;
        row->has_total = true;
    }
    cv_builder_i32(&rows->columns[7], most);
    row->most = CV_MAX(row->most, most);
    cv_builder_f64(&rows->columns[8], greatest);
    row->greatest = !row->has_greatest || isnan(greatest) ? greatest
                    : isnan(row->greatest)                ? row->greatest
                                                          : CV_MAX(row->greatest, greatest);
    row->has_greatest = true;
    cv_builder_f64(&rows->columns[12], (double)most);
    row->sum += (double)most;
    model_put_texts(model, rows, row);
    model_put_flags(model, rows, row);
}

static inline void model_check_flag(const struct cv_column *column, size_t row, int wanted)
{
    assert_int_equal(cv_column_is_null(column, row), wanted < 0);
    if (wanted >= 0)
        assert_int_equal(cv_bit_get(column->data, row), wanted);
}

static inline uint32_t model_check_row(const struct model *model, const struct cv_batch *batch,
                                       size_t at)
{
    const struct cv_column *columns = batch->columns;
    uint32_t id = (uint32_t)(cv_column_value(&columns[2], at).i32 + 7);
    const struct model_row *row;
    struct cv_value value;

    assert_in_range(id, 0, MODEL_KEYS - 1);
    row = &model->rows[id];
    assert_true(row->present);
    assert_int_equal(cv_column_value(&columns[4], at).i64, row->count);
    value = cv_column_value(&columns[5], at);
    assert_int_equal(value.is_null, !row->has_total);
    assert_true(value.is_null || value.decimal == row->total);
    value = cv_column_value(&columns[6], at);
    assert_int_equal(value.is_null, !row->least[0]);
    assert_true(value.is_null || cv_str_is(value.bytes, row->least));
    assert_int_equal(cv_column_value(&columns[7], at).i32, row->most);
    value = cv_column_value(&columns[8], at);
    assert_true(isnan(row->greatest) ? isnan(value.f64) : value.f64 == row->greatest);
    model_check_flag(&columns[9], at, row->all);
    model_check_flag(&columns[10], at, row->any);
    assert_memory_equal(cv_column_bytes(&columns[11], at).ptr, row->sketch, 4);
    assert_true(cv_column_value(&columns[12], at).f64 == row->sum);
    value = cv_column_value(&columns[3], at);
    assert_true(value.f64 != 0 || !signbit(value.f64));
    return id;
}

/* The rows are those of the model, in order: all, or those that `wanted` takes. Frees the reader.
 */
static inline void model_check(const struct model *model, struct cv_merge_reader *reader,
                               bool (*wanted)(uint32_t id, const void *context),
                               const void *context)
{
    static bool seen[MODEL_KEYS];
    struct cv_batch_builder last;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_batch batch, before;

    memset(seen, 0, sizeof seen);
    cv_batch_builder_init(&last, &model->schema);
    for (;;) {
        CV_ASSERT_OK(cv_merge_reader_next(reader, &batch, &err), &err);
        if (!batch.row_count)
            break;
        for (size_t i = 0; i < batch.row_count; i++) {
            uint32_t id = model_check_row(model, &batch, i);

            if (seen[id] || (wanted && !wanted(id, context)))
                fail_msg("key %u %s", id, seen[id] ? "twice" : "is not wanted");
            seen[id] = true;
            cv_batch_builder_view(&last, &before);
            if (i)
                assert_true(cv_keyed_compare(&model->keyed, 4, &batch, i - 1, &batch, i) < 0);
            else if (before.row_count)
                assert_true(cv_keyed_compare(&model->keyed, 4, &before, 0, &batch, 0) < 0);
        }
        cv_batch_builder_clear(&last);
        for (size_t c = 0; c < last.column_count; c++) {
            struct cv_value value = cv_column_value(&batch.columns[c], batch.row_count - 1);

            if (value.is_null)
                cv_builder_null(&last.columns[c]);
            else if (c == 0 || c == 4)
                cv_builder_i64(&last.columns[c], value.i64);
            else if (c == 1 || c == 6 || c == 11)
                cv_builder_bytes(&last.columns[c], value.bytes.ptr, value.bytes.length);
            else if (c == 2 || c == 7)
                cv_builder_i32(&last.columns[c], value.i32);
            else if (c == 5)
                cv_builder_decimal(&last.columns[c], value.decimal);
            else if (c == 9 || c == 10)
                cv_builder_bool(&last.columns[c], value.boolean);
            else
                cv_builder_f64(&last.columns[c], value.f64);
        }
    }
    for (uint32_t id = 0; id < MODEL_KEYS; id++)
        if (model->rows[id].present && !seen[id] && (!wanted || wanted(id, context)))
            fail_msg("key %u is lacking", id);
    cv_batch_builder_release(&last);
    cv_merge_reader_free(reader);
}

#endif
