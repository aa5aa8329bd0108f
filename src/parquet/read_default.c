/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns that a file lacks: initial defaults (Iceberg spec, Appendix D, JSON single-value
 * serialization) and slots filled with one value. */
#include "parquet/reader_int.h"

#include "batch/gather.h"
#include "codec/hex.h"
#include "codec/json.h"

static bool read_text(const struct cv_type *type, struct cv_str text, struct cv_arena *arena,
                      struct cv_value *ret)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(CV_METADATA_BYTES_MAX);
    uint8_t uuid[16];
    bool had_zone;

    switch (type->kind) {
    case CV_TYPE_DECIMAL:
        return cv_parse_decimal_exact(text, type->precision, type->scale, &ret->decimal);
    case CV_TYPE_DATE:
        return cv_parse_date(text, &ret->i32);
    case CV_TYPE_TIME:
        return cv_parse_time(text, &ret->i64);
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        return cv_parse_timestamp(text, &ret->i64, &had_zone);
    case CV_TYPE_STRING:
        ret->bytes.ptr = cv_arena_copy(arena, text.ptr, text.length);
        ret->bytes.length = text.length;
        return true;
    case CV_TYPE_UUID:
        if (!cv_parse_uuid(text, uuid))
            return false;
        ret->bytes = (struct cv_str){cv_arena_copy(arena, uuid, 16), 16};
        return true;
    case CV_TYPE_FIXED:
    case CV_TYPE_BINARY:
        if (!cv_hex_decode(text, &bytes))
            return false;
        ret->bytes = (struct cv_str){cv_arena_copy(arena, bytes.data, bytes.length), bytes.length};
        return type->kind == CV_TYPE_BINARY || ret->bytes.length == type->length;
    default:
        return false;
    }
}

static bool read_node(const struct cv_type *type, const struct cv_json *node,
                      struct cv_arena *arena, struct cv_value *ret)
{
    switch (type->kind) {
    case CV_TYPE_BOOLEAN:
        ret->boolean = cv_json_bool(node);
        return cv_json_is_bool(node);
    case CV_TYPE_INT:
        ret->i32 = (int32_t)cv_json_integer(node);
        return cv_json_is_integer(node) && ret->i32 == cv_json_integer(node);
    case CV_TYPE_LONG:
        ret->i64 = cv_json_integer(node);
        return cv_json_is_integer(node);
    case CV_TYPE_FLOAT:
        ret->f32 = (float)cv_json_real(node);
        return cv_json_is_number(node);
    case CV_TYPE_DOUBLE:
        ret->f64 = cv_json_real(node);
        return cv_json_is_number(node);
    default:
        return cv_json_is_string(node) &&
               read_text(type, (struct cv_str){cv_json_text(node), cv_json_text_length(node)},
                         arena, ret);
    }
}

enum cv_code cv_read_default(const struct cv_field *field, struct cv_arena *arena,
                             struct cv_value *ret_value, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;
    CV_CLEANUP(cv_buf_release) struct cv_buf wrapped = CV_BUF_INIT(CV_METADATA_BYTES_MAX);
    struct cv_value value = {.kind = field->type.kind};
    const struct cv_json *node;
    char type[CV_TYPE_TEXT_BYTES];

    /* A document is an object or an array. */
    cv_buf_printf(&wrapped, "[%s]", field->initial_default);
    CV_TRY(cv_json_parse(wrapped.data, wrapped.length, &root, err), err, "initial-default");
    node = cv_json_at(root, 0);
    value.is_null = !node || cv_json_is_null(node);
    if (!value.is_null && !read_node(&field->type, node, arena, &value)) {
        cv_type_text(&field->type, type);
        return cv_fail(err, CV_SCHEMA, "the initial default %.200s is no %s",
                       field->initial_default, type);
    }
    *ret_value = value;
    return CV_OK;
}

static void fill_nulls(struct cv_builder *builder, size_t count)
{
    if (cv_type_is_nested(builder->type)) {
        for (size_t i = 0; i < count; i++)
            cv_builder_null(builder);
        return;
    }
    while (builder->capacity - builder->length < count || builder->capacity == 0)
        cv_builder_grow(builder);
    if (!builder->validity)
        cv_builder_start_validity(builder);
    cv_bits_fill(builder->validity, builder->length, count, false);
    if (builder->offsets)
        for (size_t i = 0; i < count; i++)
            builder->offsets[builder->length + 1 + i] = builder->offsets[builder->length];
    else if (builder->width)
        memset(builder->data + builder->length * builder->width, 0, count * builder->width);
    else
        cv_bits_fill(builder->data, builder->length, count, false);
    builder->length += count;
    builder->null_count += count;
}

void cv_read_fill(struct cv_builder *builder, const struct cv_value *value, size_t count,
                  const uint8_t *validity)
{
    if (value->is_null) {
        fill_nulls(builder, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (validity && !cv_bit_get(validity, i))
            cv_builder_null(builder);
        else
            cv_builder_append_value(builder, value);
    }
}
