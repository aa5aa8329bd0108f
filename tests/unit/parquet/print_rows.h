/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows as text that tests compare: one JSON array a row; numbers and booleans as they are, floats
 * as the hex of their bits, decimals as the text of the unscaled value, all bytes as hex, structs
 * and lists as arrays, maps as arrays of pairs. */
#ifndef CALVE_TESTS_PARQUET_PRINT_ROWS_H
#define CALVE_TESTS_PARQUET_PRINT_ROWS_H

#include "batch/column.h"

#include <stdio.h>

static inline void print_hex(FILE *out, const void *bytes, size_t length)
{
    fputc('"', out);
    for (size_t i = 0; i < length; i++)
        fprintf(out, "%02x", ((const uint8_t *)bytes)[i]);
    fputc('"', out);
}

static inline void print_decimal(FILE *out, cv_wide_int value)
{
    char digits[48];
    size_t at = sizeof digits;
    cv_uint128 rest = value < 0 ? -(cv_uint128)value : (cv_uint128)value;

    do
        digits[--at] = (char)('0' + (int)(rest % 10));
    while ((rest /= 10) != 0);
    fprintf(out, "\"%s%.*s\"", value < 0 ? "-" : "", (int)(sizeof digits - at), digits + at);
}

static inline void print_value(FILE *out, const struct cv_column *column, size_t row);

static inline void print_nested(FILE *out, const struct cv_column *column, size_t row)
{
    bool map = column->type->kind == CV_TYPE_MAP;

    fputc('[', out);
    if (column->type->kind == CV_TYPE_STRUCT) {
        for (size_t i = 0; i < column->child_count; i++) {
            fputs(i ? "," : "", out);
            print_value(out, &column->children[i], row);
        }
    } else {
        for (int32_t i = column->offsets[row]; i < column->offsets[row + 1]; i++) {
            fputs(i > column->offsets[row] ? "," : "", out);
            fputs(map ? "[" : "", out);
            print_value(out, &column->children[0], (size_t)i);
            if (map) {
                fputc(',', out);
                print_value(out, &column->children[1], (size_t)i);
                fputc(']', out);
            }
        }
    }
    fputc(']', out);
}

static inline void print_value(FILE *out, const struct cv_column *column, size_t row)
{
    size_t width = cv_type_width(column->type);
    int32_t narrow;
    int64_t wide;
    struct cv_str bytes;

    if (cv_column_is_null(column, row)) {
        fputs("null", out);
        return;
    }
    if (cv_type_is_nested(column->type)) {
        print_nested(out, column, row);
        return;
    }
    switch (column->type->kind) {
    case CV_TYPE_BOOLEAN:
        fputs(cv_bit_get(column->data, row) ? "true" : "false", out);
        return;
    case CV_TYPE_DECIMAL:
        print_decimal(out, cv_column_decimal(column, row));
        return;
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
        bytes = cv_column_bytes(column, row);
        print_hex(out, bytes.ptr, bytes.length);
        return;
    case CV_TYPE_UUID:
    case CV_TYPE_FIXED:
    case CV_TYPE_FLOAT:
    case CV_TYPE_DOUBLE:
        print_hex(out, column->data + row * width, width);
        return;
    default:
        break;
    }
    if (width == 4) {
        memcpy(&narrow, column->data + row * 4, 4);
        fprintf(out, "%d", narrow);
    } else {
        memcpy(&wide, column->data + row * 8, 8);
        fprintf(out, "%lld", (long long)wide);
    }
}

static inline void print_rows(FILE *out, const struct cv_batch *batch, const struct cv_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        fputc('[', out);
        for (size_t j = 0; j < batch->column_count; j++) {
            fputs(j ? "," : "", out);
            print_value(out, &batch->columns[j], cv_rows_at(rows, i));
        }
        fputs("]\n", out);
    }
}

#endif
