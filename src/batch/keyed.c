/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys compared, and rows of one key merged. */
#include "batch/keyed.h"

#include "batch/gather.h"
#include "batch/order.h"

#include <math.h>

/* --- keys ------------------------------------------------------------------------------------ */

/* A key's value: zeros without their sign. */
static struct cv_value key_value(const struct cv_column *column, size_t row)
{
    struct cv_value value = cv_column_value(column, row);

    if (value.kind == CV_TYPE_DOUBLE && !value.is_null && value.f64 == 0)
        value.f64 = 0;
    else if (value.kind == CV_TYPE_FLOAT && !value.is_null && value.f32 == 0)
        value.f32 = 0;
    return value;
}

static int compare_columns(size_t first, size_t end, const struct cv_batch *a, size_t row_a,
                           const struct cv_batch *b, size_t row_b)
{
    for (size_t i = first; i < end; i++) {
        struct cv_value left = key_value(&a->columns[i], row_a);
        struct cv_value right = key_value(&b->columns[i], row_b);
        int result = cv_value_compare(&left, &right);

        if (result)
            return result;
    }
    return 0;
}

int cv_keyed_compare(const struct cv_keyed *keyed, size_t columns, const struct cv_batch *a,
                     size_t row_a, const struct cv_batch *b, size_t row_b)
{
    (void)keyed;
    return compare_columns(0, columns, a, row_a, b, row_b);
}

void cv_keyed_write_key(const struct cv_keyed *keyed, const struct cv_batch *batch, size_t row,
                        struct cv_buf *out)
{
    for (size_t i = 0; i < keyed->key_count; i++) {
        struct cv_value value = key_value(&batch->columns[i], row);

        cv_buf_append_byte(out, !value.is_null);
        if (!value.is_null)
            cv_order_write(&value, out);
    }
}

void cv_keyed_normalize(const struct cv_keyed *keyed, struct cv_batch_builder *rows)
{
    for (size_t i = 0; i < keyed->key_count; i++) {
        struct cv_builder *column = &rows->columns[i];
        double *doubles = (double *)(void *)column->data;
        float *floats = (float *)(void *)column->data;

        for (size_t row = 0; column->type->kind == CV_TYPE_DOUBLE && row < column->length; row++)
            doubles[row] = isnan(doubles[row]) ? (double)NAN : doubles[row] + 0.0;
        for (size_t row = 0; column->type->kind == CV_TYPE_FLOAT && row < column->length; row++)
            floats[row] = isnan(floats[row]) ? NAN : floats[row] + 0.0f;
    }
}

/* --- merging --------------------------------------------------------------------------------- */

static struct cv_column view_of(const struct cv_builder *builder)
{
    return (struct cv_column){
        .type = builder->type,
        .length = builder->length,
        .null_count = builder->null_count,
        .validity = builder->null_count ? builder->validity : NULL,
        .offsets = builder->offsets,
        .data = builder->data,
    };
}

static struct cv_value last_value(const struct cv_builder *builder)
{
    struct cv_column column = view_of(builder);

    return cv_column_value(&column, builder->length - 1);
}

static void replace_last(struct cv_builder *builder, const struct cv_value *value)
{
    cv_builder_truncate(builder, builder->length - 1);
    cv_builder_append_value(builder, value);
}

/* Of any type. */
static enum cv_code take_instead(struct cv_builder *builder, const struct cv_column *column,
                                 size_t row, struct cv_error *err)
{
    const struct cv_rows one = {.start = row, .count = 1};

    cv_builder_truncate(builder, builder->length - 1);
    if (!cv_builder_append_rows(builder, column, &one))
        return cv_fail(err, CV_LIMIT, "too many bytes in the rows of a key");
    return CV_OK;
}

static enum cv_code add(struct cv_value *sum, const struct cv_value *value, const char *name,
                        struct cv_error *err)
{
    bool overflow = false;

    switch (sum->kind) {
    case CV_TYPE_DOUBLE:
        sum->f64 += value->f64;
        break;
    case CV_TYPE_DECIMAL:
        overflow = __builtin_add_overflow(sum->decimal, value->decimal, &sum->decimal) ||
                   !cv_decimal_fits(sum->decimal, 38);
        break;
    default:
        overflow = __builtin_add_overflow(sum->i64, value->i64, &sum->i64);
        break;
    }
    if (overflow)
        return cv_fail(err, CV_RECORD, "column %s: ARITHMETIC_OVERFLOW: the sum is above what %s",
                       name,
                       sum->kind == CV_TYPE_DECIMAL ? "38 digits can hold" : "a bigint can hold");
    return CV_OK;
}

static enum cv_code merge_sketch(struct cv_builder *into, const struct cv_value *value,
                                 const char *name, struct cv_error *err)
{
    size_t start = (size_t)into->offsets[into->length - 1];
    uint8_t *registers = into->data + start;

    if (into->data_length - start != value->bytes.length)
        return cv_fail(err, CV_FORMAT, "column %s: sketches of %zu and %zu bytes", name,
                       into->data_length - start, value->bytes.length);
    for (size_t i = 0; i < value->bytes.length; i++)
        registers[i] = CV_MAX(registers[i], (uint8_t)value->bytes.ptr[i]);
    return CV_OK;
}

static enum cv_code merge_value(enum cv_merge merge, struct cv_builder *into,
                                const struct cv_value *value, const char *name,
                                struct cv_error *err)
{
    struct cv_value last = last_value(into);
    int order;

    if (value->is_null)
        return CV_OK;
    if (last.is_null) {
        replace_last(into, value);
        return CV_OK;
    }
    switch (merge) {
    case CV_MERGE_SUM:
        CV_DO(add(&last, value, name, err));
        replace_last(into, &last);
        break;
    case CV_MERGE_AND:
    case CV_MERGE_OR:
        last.boolean =
            merge == CV_MERGE_AND ? last.boolean && value->boolean : last.boolean || value->boolean;
        replace_last(into, &last);
        break;
    case CV_MERGE_SKETCH:
        return merge_sketch(into, value, name, err);
    default:
        order = cv_value_compare(value, &last);
        if (merge == CV_MERGE_MIN ? order < 0 : order > 0)
            replace_last(into, value);
        break;
    }
    return CV_OK;
}

/* Whether a row stands before the last one of `into` by the order columns. */
static bool is_first(const struct cv_keyed *keyed, const struct cv_batch_builder *into,
                     const struct cv_batch *batch, size_t row)
{
    for (size_t i = keyed->key_count; i < keyed->key_count + keyed->order_count; i++) {
        struct cv_value kept = last_value(&into->columns[i]);
        struct cv_value value = cv_column_value(&batch->columns[i], row);
        int result = cv_value_compare(&value, &kept);

        if (result)
            return result < 0;
    }
    return false;
}

enum cv_code cv_keyed_merge(const struct cv_keyed *keyed, struct cv_batch_builder *into,
                            const struct cv_batch *batch, size_t row, struct cv_error *err)
{
    const struct cv_field *fields = keyed->schema->root.fields;
    const bool first = is_first(keyed, into, batch, row);

    for (size_t i = keyed->key_count; i < into->column_count; i++) {
        struct cv_value value;

        if (keyed->merges[i] == CV_MERGE_FIRST) {
            if (first)
                CV_DO(take_instead(&into->columns[i], &batch->columns[i], row, err));
            continue;
        }
        value = cv_column_value(&batch->columns[i], row);
        CV_DO(merge_value(keyed->merges[i], &into->columns[i], &value, fields[i].name, err));
    }
    return CV_OK;
}
