/* SPDX-License-Identifier: Apache-2.0
 *
 * Which types of a file may stand for which types of a table (Iceberg spec, Parquet and Schema
 * Evolution): the same kind, or one that widens to it. */
#include "parquet/reader_int.h"

static bool convert_int32(const struct cv_parquet_node *node, const struct cv_type *type,
                          enum cv_convert *ret_convert)
{
    bool wide_unsigned =
        node->meaning == CV_PARQUET_MEANS_INTEGER && !node->is_signed && node->bits == 32;
    bool is_number =
        node->meaning == CV_PARQUET_MEANS_NOTHING || node->meaning == CV_PARQUET_MEANS_INTEGER;

    switch (type->kind) {
    case CV_TYPE_INT:
        *ret_convert = CV_CONVERT_NONE;
        return is_number && !wide_unsigned;
    case CV_TYPE_LONG:
        *ret_convert = wide_unsigned ? CV_CONVERT_UINT32_LONG : CV_CONVERT_INT32_LONG;
        return is_number;
    case CV_TYPE_DATE:
        *ret_convert = CV_CONVERT_NONE;
        return node->meaning == CV_PARQUET_MEANS_DATE || node->meaning == CV_PARQUET_MEANS_NOTHING;
    case CV_TYPE_TIME:
        *ret_convert = CV_CONVERT_MILLIS32;
        return node->meaning == CV_PARQUET_MEANS_TIME;
    case CV_TYPE_DECIMAL:
        *ret_convert = CV_CONVERT_DECIMAL_INT32;
        return node->meaning == CV_PARQUET_MEANS_DECIMAL;
    default:
        return false;
    }
}

static enum cv_convert of_unit(enum cv_parquet_unit unit)
{
    if (unit == CV_PARQUET_MILLIS)
        return CV_CONVERT_MILLIS64;
    return unit == CV_PARQUET_NANOS ? CV_CONVERT_NANOS64 : CV_CONVERT_NONE;
}

static bool convert_int64(const struct cv_parquet_node *node, const struct cv_type *type,
                          enum cv_convert *ret_convert)
{
    *ret_convert = CV_CONVERT_NONE;
    switch (type->kind) {
    case CV_TYPE_LONG:
        if (node->meaning == CV_PARQUET_MEANS_INTEGER && !node->is_signed)
            *ret_convert = CV_CONVERT_UINT64_LONG;
        return node->meaning == CV_PARQUET_MEANS_INTEGER ||
               node->meaning == CV_PARQUET_MEANS_NOTHING;
    case CV_TYPE_TIME:
        if (node->meaning == CV_PARQUET_MEANS_TIME)
            *ret_convert = of_unit(node->unit);
        return node->meaning == CV_PARQUET_MEANS_TIME || node->meaning == CV_PARQUET_MEANS_NOTHING;
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        if (node->meaning == CV_PARQUET_MEANS_TIMESTAMP)
            *ret_convert = of_unit(node->unit);
        return node->meaning == CV_PARQUET_MEANS_TIMESTAMP ||
               node->meaning == CV_PARQUET_MEANS_NOTHING;
    case CV_TYPE_DECIMAL:
        *ret_convert = CV_CONVERT_DECIMAL_INT64;
        return node->meaning == CV_PARQUET_MEANS_DECIMAL;
    default:
        return false;
    }
}

static bool convert_fixed(const struct cv_parquet_node *node, const struct cv_type *type,
                          enum cv_convert *ret_convert)
{
    *ret_convert = CV_CONVERT_NONE;
    switch (type->kind) {
    case CV_TYPE_UUID:
        return node->type_length == 16 && (node->meaning == CV_PARQUET_MEANS_UUID ||
                                           node->meaning == CV_PARQUET_MEANS_NOTHING);
    case CV_TYPE_FIXED:
        return (uint32_t)node->type_length == type->length &&
               node->meaning != CV_PARQUET_MEANS_DECIMAL;
    case CV_TYPE_DECIMAL:
        *ret_convert = CV_CONVERT_DECIMAL_FIXED;
        return node->meaning == CV_PARQUET_MEANS_DECIMAL;
    case CV_TYPE_FLOAT:
        *ret_convert = CV_CONVERT_FLOAT16_FLOAT;
        return node->meaning == CV_PARQUET_MEANS_FLOAT16 && node->type_length == 2;
    case CV_TYPE_DOUBLE:
        *ret_convert = CV_CONVERT_FLOAT16_DOUBLE;
        return node->meaning == CV_PARQUET_MEANS_FLOAT16 && node->type_length == 2;
    default:
        return false;
    }
}

static bool convert_bytes(const struct cv_parquet_node *node, const struct cv_type *type,
                          enum cv_convert *ret_convert)
{
    if (type->kind == CV_TYPE_DECIMAL) {
        *ret_convert = CV_CONVERT_DECIMAL_BYTES;
        return node->meaning == CV_PARQUET_MEANS_DECIMAL;
    }
    *ret_convert = CV_CONVERT_BYTES;
    return type->kind == CV_TYPE_STRING || type->kind == CV_TYPE_BINARY;
}

static bool find(const struct cv_parquet_node *node, const struct cv_type *type,
                 enum cv_convert *ret_convert)
{
    switch (node->type) {
    case CV_PARQUET_BOOLEAN:
        *ret_convert = CV_CONVERT_BITS;
        return type->kind == CV_TYPE_BOOLEAN;
    case CV_PARQUET_INT32:
        return convert_int32(node, type, ret_convert);
    case CV_PARQUET_INT64:
        return convert_int64(node, type, ret_convert);
    case CV_PARQUET_INT96:
        *ret_convert = CV_CONVERT_INT96;
        return type->kind == CV_TYPE_TIMESTAMP || type->kind == CV_TYPE_TIMESTAMPTZ;
    case CV_PARQUET_FLOAT:
        *ret_convert = type->kind == CV_TYPE_FLOAT ? CV_CONVERT_NONE : CV_CONVERT_FLOAT_DOUBLE;
        return type->kind == CV_TYPE_FLOAT || type->kind == CV_TYPE_DOUBLE;
    case CV_PARQUET_DOUBLE:
        *ret_convert = CV_CONVERT_NONE;
        return type->kind == CV_TYPE_DOUBLE;
    case CV_PARQUET_BYTE_ARRAY:
        return convert_bytes(node, type, ret_convert);
    case CV_PARQUET_FIXED_LEN_BYTE_ARRAY:
        return convert_fixed(node, type, ret_convert);
    }
    return false;
}

static const char *physical_name(enum cv_parquet_type type)
{
    static const char *const names[] = {"BOOLEAN", "INT32",  "INT64",      "INT96",
                                        "FLOAT",   "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"};

    return (size_t)type < CV_ARRAY_LENGTH(names) ? names[type] : "unknown";
}

static const char *meaning_name(enum cv_parquet_meaning meaning)
{
    static const char *const names[] = {
        "",           " (string)", " (map)",     " (list)",
        " (decimal)", " (date)",   " (time)",    " (timestamp)",
        " (integer)", " (uuid)",   " (float16)", " (a logical type that Iceberg does not have)"};

    return (size_t)meaning < CV_ARRAY_LENGTH(names) ? names[meaning] : "";
}

enum cv_code cv_read_conversion(const struct cv_parquet_node *node, const struct cv_type *type,
                                enum cv_convert *ret_convert, struct cv_error *err)
{
    char text[CV_TYPE_TEXT_BYTES];
    bool fits = find(node, type, ret_convert);

    if (fits && type->kind == CV_TYPE_DECIMAL)
        fits = node->scale == type->scale && node->precision <= type->precision;
    if (fits)
        return CV_OK;
    cv_type_text(type, text);
    if (node->meaning == CV_PARQUET_MEANS_DECIMAL)
        return cv_fail(err, CV_SCHEMA, "the file has decimal(%d, %d), which does not become %s",
                       node->precision, node->scale, text);
    return cv_fail(err, CV_SCHEMA, "the file has %s%s%s, which does not become %s",
                   node->meaning == CV_PARQUET_MEANS_INTEGER && !node->is_signed ? "unsigned " : "",
                   physical_name(node->type), meaning_name(node->meaning), text);
}
