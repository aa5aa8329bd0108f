/* SPDX-License-Identifier: Apache-2.0
 *
 * Defaults of a reader's schema: their JSON is encoded once, as Avro bytes, and then read like
 * any other value whenever the writer lacks the field. */
#include "avro/plan_int.h"

#include "codec/utf8.h"

/* JSON text whose code points up to U+00FF stand for bytes. */
static bool encode_code_points(const struct cv_json *json, bool with_length, size_t wanted,
                               struct cv_buf *out)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(0);
    const char *at = cv_json_text(json);
    const char *end = at + cv_json_text_length(json);

    if (!cv_json_is_string(json))
        return false;
    while (at < end) {
        uint32_t code_point = cv_utf8_next(&at, end);

        if (code_point > 0xff)
            return false;
        cv_buf_append_byte(&bytes, (uint8_t)code_point);
    }
    if (with_length)
        cv_avro_put_long(out, (int64_t)bytes.length);
    else if (bytes.length != wanted)
        return false;
    cv_buf_append(out, bytes.data, bytes.length);
    return true;
}

static bool encode_number(const struct cv_avro_type *type, const struct cv_json *json,
                          struct cv_buf *out)
{
    int64_t value = cv_json_integer(json);
    double real = cv_json_real(json);
    float single = (float)real;

    switch (type->kind) {
    case CV_AVRO_INT:
        if (!cv_json_is_integer(json) || value < INT32_MIN || value > INT32_MAX)
            return false;
        cv_avro_put_long(out, value);
        return true;
    case CV_AVRO_LONG:
        cv_avro_put_long(out, value);
        return cv_json_is_integer(json);
    case CV_AVRO_FLOAT:
        cv_buf_append(out, &single, sizeof single);
        return cv_json_is_number(json);
    default:
        cv_buf_append(out, &real, sizeof real);
        return cv_json_is_number(json);
    }
}

static bool encode_record(const struct cv_avro_type *type, const struct cv_json *json,
                          struct cv_buf *out, unsigned depth)
{
    if (!cv_json_is_object(json))
        return false;
    for (size_t i = 0; i < type->field_count; i++) {
        const struct cv_avro_field *field = &type->fields[i];
        const struct cv_json *value = cv_json_get(json, field->name);

        if (!value)
            value = field->default_value;
        if (!value || !cv_plan_encode_default(field->type, value, out, depth + 1))
            return false;
    }
    return true;
}

static bool encode_array(const struct cv_avro_type *type, const struct cv_json *json,
                         struct cv_buf *out, unsigned depth)
{
    size_t count = cv_json_size(json);

    if (!cv_json_is_array(json))
        return false;
    if (count)
        cv_avro_put_long(out, (int64_t)count);
    for (size_t i = 0; i < count; i++)
        if (!cv_plan_encode_default(type->items, cv_json_at(json, i), out, depth + 1))
            return false;
    cv_avro_put_long(out, 0);
    return true;
}

static bool encode_map(const struct cv_avro_type *type, const struct cv_json *json,
                       struct cv_buf *out, unsigned depth)
{
    const struct cv_json *value;
    const char *key;
    size_t position = 0;

    if (!cv_json_is_object(json))
        return false;
    if (cv_json_size(json))
        cv_avro_put_long(out, (int64_t)cv_json_size(json));
    while ((key = cv_json_next(json, &position, &value)) != NULL) {
        cv_avro_put_string(out, key);
        if (!cv_plan_encode_default(type->items, value, out, depth + 1))
            return false;
    }
    cv_avro_put_long(out, 0);
    return true;
}

/* The first branch that the value fits; before Avro 1.12 it had to be the first of all. */
static bool encode_union(const struct cv_avro_type *type, const struct cv_json *json,
                         struct cv_buf *out, unsigned depth)
{
    size_t start = out->length;

    for (size_t i = 0; i < type->branch_count; i++) {
        cv_avro_put_long(out, (int64_t)i);
        if (cv_plan_encode_default(type->branches[i], json, out, depth + 1))
            return true;
        out->length = start;
    }
    return false;
}

static bool encode_enum(const struct cv_avro_type *type, const struct cv_json *json,
                        struct cv_buf *out)
{
    for (size_t i = 0; cv_json_is_string(json) && i < type->symbol_count; i++)
        if (strcmp(type->symbols[i], cv_json_text(json)) == 0) {
            cv_avro_put_long(out, (int64_t)i);
            return true;
        }
    return false;
}

bool cv_plan_encode_default(const struct cv_avro_type *type, const struct cv_json *json,
                            struct cv_buf *out, unsigned depth)
{
    if (depth > CV_DEPTH_MAX || out->length > ((size_t)1 << 20))
        return false;
    switch (type->kind) {
    case CV_AVRO_NULL:
        return cv_json_is_null(json);
    case CV_AVRO_BOOLEAN:
        cv_avro_put_bool(out, cv_json_bool(json));
        return cv_json_is_bool(json);
    case CV_AVRO_BYTES:
        return encode_code_points(json, true, 0, out);
    case CV_AVRO_FIXED:
        return encode_code_points(json, false, type->size, out);
    case CV_AVRO_STRING:
        cv_avro_put_bytes(out, cv_json_text(json), cv_json_text_length(json));
        return cv_json_is_string(json);
    case CV_AVRO_RECORD:
        return encode_record(type, json, out, depth);
    case CV_AVRO_ENUM:
        return encode_enum(type, json, out);
    case CV_AVRO_ARRAY:
        return encode_array(type, json, out, depth);
    case CV_AVRO_MAP:
        return encode_map(type, json, out, depth);
    case CV_AVRO_UNION:
        return encode_union(type, json, out, depth);
    default:
        return encode_number(type, json, out);
    }
}
