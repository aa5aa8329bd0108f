/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds columns row by row; the writing side of batch/column.h. A builder is made once per
 * worker and cleared between batches, so that in steady state nothing is allocated. One thread.
 *
 * A decoder appends exactly one value per row to each column; when a row turns out to be bad it
 * truncates the columns back to the row's start (cv_batch_builder_truncate). For a list or map the
 * children are appended first, then cv_builder_end_list() closes the value. For a struct the
 * children get one value each, then cv_builder_end_struct(). cv_builder_null() appends a null to a
 * column of any type, children included. */
#ifndef CALVE_BATCH_BUILDER_H
#define CALVE_BATCH_BUILDER_H

#include "batch/column.h"

/* var data of one column in one batch; offsets are 32 bits */
#define CV_COLUMN_BYTES_MAX ((size_t)1 << 30)

struct cv_builder {
    const struct cv_type *type;
    size_t width; /* cv_type_width() */
    size_t length;
    size_t capacity; /* rows that validity, offsets and fixed data have room for */
    size_t null_count;
    uint8_t *validity; /* NULL until the first null */
    int32_t *offsets;
    uint8_t *data;
    size_t data_length; /* var data in use */
    size_t data_capacity;
    bool overflow; /* var data or children would pass CV_COLUMN_BYTES_MAX; the value became null */
    struct cv_builder *children;
    size_t child_count;
    struct cv_column *child_views; /* filled by cv_batch_builder_view() */
};

struct cv_batch_builder {
    const struct cv_schema *schema;
    struct cv_builder *columns;
    size_t column_count;
    struct cv_column *views;
};

void cv_batch_builder_init(struct cv_batch_builder *builder, const struct cv_schema *schema);
void cv_batch_builder_release(struct cv_batch_builder *builder);
void cv_batch_builder_clear(struct cv_batch_builder *builder);
/* Drops rows from the end of every column. */
void cv_batch_builder_truncate(struct cv_batch_builder *builder, size_t rows);
/* Bytes held by the columns' values, for the memory budget and to end a batch in time. */
size_t cv_batch_builder_bytes(const struct cv_batch_builder *builder);
/* Gives back what is held beyond the rows that are there: for a builder that is kept as it is. */
void cv_batch_builder_trim(struct cv_batch_builder *builder);
/* True if a column overflowed since the last clear. */
bool cv_batch_builder_overflow(const struct cv_batch_builder *builder);
/* A view of all rows, valid until the builder changes. All columns must have equal lengths. */
void cv_batch_builder_view(struct cv_batch_builder *builder, struct cv_batch *ret_batch);

/* One column apart from a batch. */
void cv_builder_init(struct cv_builder *builder, const struct cv_type *type);
void cv_builder_release(struct cv_builder *builder);
void cv_builder_clear(struct cv_builder *builder);

/* Room for one more row; the slow paths of the functions below. */
void cv_builder_grow(struct cv_builder *builder);
bool cv_builder_grow_data(struct cv_builder *builder, size_t extra);
void cv_builder_start_validity(struct cv_builder *builder);
void cv_builder_null(struct cv_builder *builder);
void cv_builder_truncate(struct cv_builder *builder, size_t length);

static inline void cv_builder_valid_(struct cv_builder *builder)
{
    if (builder->validity)
        cv_bit_set(builder->validity, builder->length);
}

static inline void cv_builder_bool(struct cv_builder *builder, bool value)
{
    if (builder->length == builder->capacity)
        cv_builder_grow(builder);
    cv_builder_valid_(builder);
    if (value)
        cv_bit_set(builder->data, builder->length);
    else
        cv_bit_clear(builder->data, builder->length);
    builder->length++;
}

static inline void cv_builder_i32(struct cv_builder *builder, int32_t value)
{
    if (builder->length == builder->capacity)
        cv_builder_grow(builder);
    cv_builder_valid_(builder);
    memcpy(builder->data + builder->length * 4, &value, 4);
    builder->length++;
}

static inline void cv_builder_i64(struct cv_builder *builder, int64_t value)
{
    if (builder->length == builder->capacity)
        cv_builder_grow(builder);
    cv_builder_valid_(builder);
    memcpy(builder->data + builder->length * 8, &value, 8);
    builder->length++;
}

static inline void cv_builder_f32(struct cv_builder *builder, float value)
{
    int32_t bits;

    memcpy(&bits, &value, 4);
    cv_builder_i32(builder, bits);
}

static inline void cv_builder_f64(struct cv_builder *builder, double value)
{
    int64_t bits;

    memcpy(&bits, &value, 8);
    cv_builder_i64(builder, bits);
}

/* A decimal's unscaled value, in the width of the column's precision; the caller has checked that
 * it fits the precision. */
static inline void cv_builder_decimal(struct cv_builder *builder, cv_wide_int value)
{
    if (builder->width == 4) {
        cv_builder_i32(builder, (int32_t)value);
        return;
    }
    if (builder->width == 8) {
        cv_builder_i64(builder, (int64_t)value);
        return;
    }
    if (builder->length == builder->capacity)
        cv_builder_grow(builder);
    cv_builder_valid_(builder);
    memcpy(builder->data + builder->length * 16, &value, 16);
    builder->length++;
}

/* uuid and fixed: exactly builder->width bytes. */
static inline void cv_builder_fixed(struct cv_builder *builder, const void *bytes)
{
    if (builder->length == builder->capacity)
        cv_builder_grow(builder);
    cv_builder_valid_(builder);
    memcpy(builder->data + builder->length * builder->width, bytes, builder->width);
    builder->length++;
}

/* string and binary; past CV_COLUMN_BYTES_MAX the value becomes null and `overflow` is set. */
static inline void cv_builder_bytes(struct cv_builder *builder, const void *bytes, size_t length)
{
    if (builder->length == builder->capacity)
        cv_builder_grow(builder);
    if (length > builder->data_capacity - builder->data_length &&
        !cv_builder_grow_data(builder, length)) {
        cv_builder_null(builder);
        return;
    }
    cv_builder_valid_(builder);
    if (length)
        memcpy(builder->data + builder->data_length, bytes, length);
    builder->data_length += length;
    builder->length++;
    builder->offsets[builder->length] = (int32_t)builder->data_length;
}

/* Closes a list or map value whose children have been appended. */
static inline void cv_builder_end_list(struct cv_builder *builder)
{
    if (builder->length == builder->capacity)
        cv_builder_grow(builder);
    cv_builder_valid_(builder);
    builder->length++;
    builder->offsets[builder->length] = (int32_t)builder->children[0].length;
}

/* Closes a struct value whose children have been appended. */
static inline void cv_builder_end_struct(struct cv_builder *builder)
{
    if (builder->length == builder->capacity)
        cv_builder_grow(builder);
    cv_builder_valid_(builder);
    builder->length++;
}

#endif
