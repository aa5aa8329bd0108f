/* SPDX-License-Identifier: Apache-2.0
 *
 * Partition transforms on single values (spec: Partition Transforms). What the Java library does at
 * the edges is kept, since its readers prune by the same arithmetic: truncate of int and long and
 * hour of far timestamps wrap in 32 or 64 bits. A truncated decimal that needs more digits than its
 * type has cannot be written by anyone, so that one is an error. */
#include "iceberg/partition_int.h"

#include "codec/murmur3.h"
#include "codec/utf8.h"

static const struct {
    const char *name;
    enum cv_transform_kind kind;
    bool has_width;
} transform_names[] = {
    {"identity", CV_TRANSFORM_IDENTITY, false}, {"bucket", CV_TRANSFORM_BUCKET, true},
    {"truncate", CV_TRANSFORM_TRUNCATE, true},  {"year", CV_TRANSFORM_YEAR, false},
    {"month", CV_TRANSFORM_MONTH, false},       {"day", CV_TRANSFORM_DAY, false},
    {"hour", CV_TRANSFORM_HOUR, false},         {"void", CV_TRANSFORM_VOID, false},
};

const char *cv_transform_name(enum cv_transform_kind kind)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(transform_names); i++)
        if (transform_names[i].kind == kind)
            return transform_names[i].name;
    return "unknown";
}

/* "bucket[16]" → name and number; false when the text has not this form. */
static bool split_width(const char *text, struct cv_str *ret_name, struct cv_str *ret_number)
{
    const char *open = strchr(text, '[');
    size_t length = strlen(text);

    if (!open || text[length - 1] != ']' || open + 2 >= text + length)
        return false;
    *ret_name = (struct cv_str){text, (size_t)(open - text)};
    *ret_number = (struct cv_str){open + 1, (size_t)(text + length - 1 - (open + 1))};
    for (size_t i = 0; i < ret_number->length; i++)
        if (ret_number->ptr[i] < '0' || ret_number->ptr[i] > '9')
            return false;
    return true;
}

static bool named(struct cv_str text, const char *name)
{
    char word[16];

    if (text.length >= sizeof word || text.length != strlen(name))
        return false;
    memcpy(word, text.ptr, text.length);
    word[text.length] = '\0';
    return cv_text_equal_nocase(word, name);
}

enum cv_code cv_transform_make(enum cv_transform_kind kind, int64_t width, struct cv_arena *arena,
                               struct cv_transform *ret_transform, struct cv_error *err)
{
    bool has_width = kind == CV_TRANSFORM_BUCKET || kind == CV_TRANSFORM_TRUNCATE;
    const char *name = cv_transform_name(kind);

    if (has_width && (width < 1 || width > INT32_MAX))
        return cv_fail(err, CV_SCHEMA, "%s[%lld]: the width must be from 1 to %d", name,
                       (long long)width, INT32_MAX);
    ret_transform->kind = kind;
    ret_transform->width = has_width ? (int32_t)width : 0;
    ret_transform->text = has_width ? cv_arena_printf(arena, "%s[%lld]", name, (long long)width)
                                    : cv_arena_strdup(arena, name);
    return CV_OK;
}

enum cv_code cv_transform_parse(const char *text, struct cv_arena *arena,
                                struct cv_transform *ret_transform, struct cv_error *err)
{
    struct cv_str name = cv_str_from(text);
    struct cv_str number = {NULL, 0};
    bool has_width = split_width(text, &name, &number);
    int64_t width = 0;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(transform_names); i++) {
        if (transform_names[i].has_width != has_width || !named(name, transform_names[i].name))
            continue;
        if (has_width && !cv_parse_i64(number, &width))
            return cv_fail(err, CV_SCHEMA, "transform %.100s: the width is too large", text);
        return cv_transform_make(transform_names[i].kind, width, arena, ret_transform, err);
    }
    *ret_transform = (struct cv_transform){CV_TRANSFORM_UNKNOWN, 0, cv_arena_strdup(arena, text)};
    return CV_OK;
}

static bool takes(enum cv_transform_kind transform, enum cv_type_kind source)
{
    bool is_timestamp = source == CV_TYPE_TIMESTAMP || source == CV_TYPE_TIMESTAMPTZ;

    switch (transform) {
    case CV_TRANSFORM_IDENTITY:
        return source < CV_TYPE_STRUCT;
    case CV_TRANSFORM_BUCKET:
        return source < CV_TYPE_STRUCT && source != CV_TYPE_BOOLEAN && source != CV_TYPE_FLOAT &&
               source != CV_TYPE_DOUBLE;
    case CV_TRANSFORM_TRUNCATE:
        return source == CV_TYPE_INT || source == CV_TYPE_LONG || source == CV_TYPE_DECIMAL ||
               source == CV_TYPE_STRING || source == CV_TYPE_BINARY;
    case CV_TRANSFORM_YEAR:
    case CV_TRANSFORM_MONTH:
    case CV_TRANSFORM_DAY:
        return source == CV_TYPE_DATE || is_timestamp;
    case CV_TRANSFORM_HOUR:
        return is_timestamp;
    default:
        return true;
    }
}

enum cv_code cv_transform_result_type(const struct cv_transform *transform,
                                      const struct cv_type *source, struct cv_type *ret_type,
                                      struct cv_error *err)
{
    char text[CV_TYPE_TEXT_BYTES];

    if (!takes(transform->kind, source->kind)) {
        cv_type_text(source, text);
        return cv_fail(err, CV_SCHEMA, "the transform %s does not take a source of type %s",
                       transform->text, text);
    }
    switch (transform->kind) {
    case CV_TRANSFORM_IDENTITY:
    case CV_TRANSFORM_TRUNCATE:
    case CV_TRANSFORM_VOID:
        *ret_type = *source;
        break;
    case CV_TRANSFORM_DAY:
        *ret_type = (struct cv_type){.kind = CV_TYPE_DATE};
        break;
    case CV_TRANSFORM_UNKNOWN:
        *ret_type = (struct cv_type){.kind = CV_TYPE_STRING};
        break;
    default:
        *ret_type = (struct cv_type){.kind = CV_TYPE_INT};
        break;
    }
    return CV_OK;
}

static int32_t bucket_hash(const struct cv_value *value)
{
    uint8_t bytes[16];

    switch (value->kind) {
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
        return cv_murmur3_i64(value->i32);
    case CV_TYPE_DECIMAL:
        return cv_murmur3(bytes, cv_decimal_minimal_bytes(value->decimal, bytes));
    case CV_TYPE_STRING:
    case CV_TYPE_UUID:
    case CV_TYPE_FIXED:
    case CV_TYPE_BINARY:
        return cv_murmur3(value->bytes.ptr, value->bytes.length);
    default:
        return cv_murmur3_i64(value->i64);
    }
}

/* v - (((v % W) + W) % W) in 32 and 64 bits, wrapping at each step as Java does. */
static int32_t truncate_i32(int32_t value, int32_t width)
{
    int32_t rest = (int32_t)((uint32_t)(value % width) + (uint32_t)width) % width;

    return (int32_t)((uint32_t)value - (uint32_t)rest);
}

static int64_t truncate_i64(int64_t value, int32_t width)
{
    return (int64_t)((uint64_t)value - (uint64_t)cv_floor_mod(value, width));
}

static enum cv_code truncate_decimal(cv_wide_int unscaled, int32_t width, uint8_t precision,
                                     cv_wide_int *ret_unscaled, struct cv_error *err)
{
    cv_wide_int rest = ((unscaled % width) + width) % width;
    cv_wide_int result = unscaled - rest;

    if (!cv_decimal_fits(result, precision))
        return cv_fail(err, CV_RECORD,
                       "truncate[%d]: the truncated decimal needs more than %d digits", width,
                       precision);
    *ret_unscaled = result;
    return CV_OK;
}

static enum cv_code truncate_value(const struct cv_transform *transform,
                                   const struct cv_type *source, const struct cv_value *value,
                                   struct cv_value *ret_value, struct cv_error *err)
{
    struct cv_value result = *value;

    switch (value->kind) {
    case CV_TYPE_INT:
        result.i32 = truncate_i32(value->i32, transform->width);
        break;
    case CV_TYPE_LONG:
        result.i64 = truncate_i64(value->i64, transform->width);
        break;
    case CV_TYPE_DECIMAL:
        CV_DO(truncate_decimal(value->decimal, transform->width, source->precision, &result.decimal,
                               err));
        break;
    case CV_TYPE_STRING:
        result.bytes.length = cv_utf8_prefix(value->bytes, (size_t)transform->width);
        break;
    default:
        result.bytes.length = CV_MIN(value->bytes.length, (size_t)transform->width);
        break;
    }
    *ret_value = result;
    return CV_OK;
}

static int32_t period_of_days(enum cv_transform_kind kind, int64_t days)
{
    int64_t year;
    int month;
    int day;

    if (kind == CV_TRANSFORM_DAY)
        return (int32_t)days;
    cv_civil_from_days(days, &year, &month, &day);
    if (kind == CV_TRANSFORM_YEAR)
        return (int32_t)(year - 1970);
    return (int32_t)((year - 1970) * 12 + month - 1);
}

int32_t cv_period_of_us(enum cv_transform_kind kind, int64_t us)
{
    if (kind == CV_TRANSFORM_HOUR)
        return (int32_t)(uint64_t)cv_floor_div(us, CV_US_PER_HOUR);
    return period_of_days(kind, cv_floor_div(us, CV_US_PER_DAY));
}

enum cv_code cv_transform_value(const struct cv_transform *transform, const struct cv_type *source,
                                enum cv_type_kind result, const struct cv_value *value,
                                struct cv_value *ret_value, struct cv_error *err)
{
    int32_t number;

    if (value->is_null || transform->kind == CV_TRANSFORM_VOID) {
        *ret_value = (struct cv_value){.is_null = true, .kind = result};
        return CV_OK;
    }
    switch (transform->kind) {
    case CV_TRANSFORM_IDENTITY:
        *ret_value = *value;
        return CV_OK;
    case CV_TRANSFORM_TRUNCATE:
        return truncate_value(transform, source, value, ret_value, err);
    case CV_TRANSFORM_BUCKET:
        number = (bucket_hash(value) & INT32_MAX) % transform->width;
        break;
    default:
        number = source->kind == CV_TYPE_DATE ? period_of_days(transform->kind, value->i32)
                                              : cv_period_of_us(transform->kind, value->i64);
        break;
    }
    *ret_value = (struct cv_value){.kind = result, .i32 = number};
    return CV_OK;
}

enum cv_code cv_transform_apply(const struct cv_transform *transform, const struct cv_type *source,
                                const struct cv_value *value, struct cv_value *ret_value,
                                struct cv_error *err)
{
    struct cv_type type;

    CV_DO(cv_transform_result_type(transform, source, &type, err));
    if (transform->kind == CV_TRANSFORM_UNKNOWN)
        return cv_fail(err, CV_UNSUPPORTED, "the transform %s is not known", transform->text);
    return cv_transform_value(transform, source, type.kind, value, ret_value, err);
}
