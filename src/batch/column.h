/* SPDX-License-Identifier: Apache-2.0
 *
 * The unit of decoded data: columns in the Arrow C Data layout, typed by an Iceberg schema.
 *
 * Validity is a bitmap, bit i (LSB first) set = value i present; NULL = no nulls. Data by type:
 *   boolean                      bitmap
 *   int, date, float             4 bytes     long, time, timestamp(tz), double    8 bytes
 *   decimal                      two's complement of the unscaled value, native order:
 *                                precision <= 9: 4 bytes, <= 18: 8, else 16 (as in Arrow)
 *   uuid, fixed                  their bytes
 *   string, binary               offsets[length + 1] into data
 *   list, map                    offsets[length + 1] into children (Arrow's entries struct of a map
 *                                is left out: children[0] = keys, children[1] = values)
 *   struct                       children, each of the struct's own length
 * The value under a null is zero bytes (an empty range for offsets, null children for structs). */
#ifndef CALVE_BATCH_COLUMN_H
#define CALVE_BATCH_COLUMN_H

#include "schema/value.h"

/* Read-only view; the memory belongs to whoever made it. */
struct cv_column {
    const struct cv_type *type;
    size_t length;
    size_t null_count;
    const uint8_t *validity;
    const int32_t *offsets;
    const uint8_t *data;
    const struct cv_column *children;
    size_t child_count;
};

/* A batch in the shape of a table: column i is field i of schema->root. */
struct cv_batch {
    const struct cv_schema *schema;
    const struct cv_column *columns;
    size_t column_count;
    size_t row_count;
};

/* Which rows of a batch: index[0 … count-1], or start … start+count-1 when index is NULL. */
struct cv_rows {
    const uint32_t *index;
    size_t start;
    size_t count;
};

static inline bool cv_bit_get(const uint8_t *bits, size_t i)
{
    return bits[i >> 3] >> (i & 7) & 1;
}

static inline void cv_bit_set(uint8_t *bits, size_t i)
{
    bits[i >> 3] |= (uint8_t)(1u << (i & 7));
}

static inline void cv_bit_clear(uint8_t *bits, size_t i)
{
    bits[i >> 3] &= (uint8_t) ~(1u << (i & 7));
}

static inline bool cv_column_is_null(const struct cv_column *column, size_t row)
{
    return column->validity && !cv_bit_get(column->validity, row);
}

static inline size_t cv_rows_at(const struct cv_rows *rows, size_t i)
{
    return rows->index ? rows->index[i] : rows->start + i;
}

__extension__ typedef unsigned __int128 cv_uint128;

/* The unscaled value of a decimal column at a row that is not null. */
static inline cv_wide_int cv_column_decimal(const struct cv_column *column, size_t row)
{
    int32_t narrow;
    int64_t middle;
    cv_wide_int wide;

    if (column->type->precision <= 9) {
        memcpy(&narrow, column->data + row * 4, 4);
        return narrow;
    }
    if (column->type->precision <= 18) {
        memcpy(&middle, column->data + row * 8, 8);
        return middle;
    }
    memcpy(&wide, column->data + row * 16, 16);
    return wide;
}

static inline struct cv_str cv_column_bytes(const struct cv_column *column, size_t row)
{
    return (struct cv_str){(const char *)column->data + column->offsets[row],
                           (size_t)(column->offsets[row + 1] - column->offsets[row])};
}

/* The value of a primitive column at a row; bytes point into the column. */
static inline struct cv_value cv_column_value(const struct cv_column *column, size_t row)
{
    const struct cv_type *type = column->type;
    struct cv_value value = {.kind = type->kind, .is_null = cv_column_is_null(column, row)};

    if (value.is_null)
        return value;
    switch (type->kind) {
    case CV_TYPE_BOOLEAN:
        value.boolean = cv_bit_get(column->data, row);
        break;
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
    case CV_TYPE_FLOAT:
        memcpy(&value.i32, column->data + row * 4, 4);
        break;
    case CV_TYPE_DECIMAL:
        value.decimal = cv_column_decimal(column, row);
        break;
    case CV_TYPE_UUID:
        value.bytes = (struct cv_str){(const char *)column->data + row * 16, 16};
        break;
    case CV_TYPE_FIXED:
        value.bytes =
            (struct cv_str){(const char *)column->data + row * type->length, type->length};
        break;
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
        value.bytes = cv_column_bytes(column, row);
        break;
    default:
        memcpy(&value.i64, column->data + row * 8, 8);
        break;
    }
    return value;
}

#endif
