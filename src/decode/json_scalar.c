/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON values of primitive types, by the rules of docs/json.md. */
#include "base/time.h"
#include "codec/base64.h"
#include "decode/json_read.h"

struct cv_str cv_json_string_text(struct cv_json_reader *r, const struct cv_json_string *string)
{
    size_t length;

    if (!string->escaped)
        return (struct cv_str){(const char *)string->ptr, string->length};
    cv_buf_clear(&r->text);
    if (!cv_buf_reserve(&r->text, string->length + 1))
        return (struct cv_str){"", 0};
    length = cv_json_unescape(string, r->text.data);
    return (struct cv_str){(const char *)r->text.data, length};
}

static bool mismatch(struct cv_json_reader *r, const struct cv_json_value *v)
{
    char type[CV_TYPE_TEXT_BYTES];
    uint8_t c = cv_json_peek(&r->scan);
    const char *kind = c == '"'                             ? "text"
                       : c == '{'                           ? "an object"
                       : c == '['                           ? "a list"
                       : c == 't' || c == 'f'               ? "a boolean"
                       : c == '-' || (c >= '0' && c <= '9') ? "a number"
                                                            : NULL;

    if (!kind) {
        (void)cv_json_fault(&r->scan, c == 0 ? "the text ends early" : "a value is expected");
        return cv_json_malformed(r, v->path);
    }
    cv_type_text(v->type, type);
    return cv_json_refuse(r, v->path, "%s for %s", kind, type);
}

/* What was read and does not fit: the first characters of it. */
static bool misfit(struct cv_json_reader *r, const struct cv_json_value *v, struct cv_str text)
{
    char type[CV_TYPE_TEXT_BYTES];

    cv_type_text(v->type, type);
    return cv_json_refuse(r, v->path, "\"%.*s\" is no %s", (int)CV_MIN(text.length, 80), text.ptr,
                          type);
}

static bool signed_digits(const struct cv_json_number *n, int64_t *ret_value)
{
    uint64_t limit = (uint64_t)INT64_MAX + n->negative;

    if (!n->integer || !n->exact || n->nonnumeric || n->digits > limit)
        return false;
    *ret_value = n->negative ? (int64_t)(0 - n->digits) : (int64_t)n->digits;
    return true;
}

static bool integer(struct cv_json_reader *r, const struct cv_json_value *v,
                    const struct cv_json_number *n, struct cv_value *out)
{
    int64_t value;

    if (!signed_digits(n, &value))
        return misfit(r, v, n->text);
    if (v->type->kind == CV_TYPE_LONG) {
        out->i64 = value;
        return true;
    }
    if (v->type->kind == CV_TYPE_INT || v->type->kind == CV_TYPE_DATE) {
        if (value < INT32_MIN || value > INT32_MAX)
            return misfit(r, v, n->text);
        out->i32 = (int32_t)value;
        return true;
    }
    if (__builtin_mul_overflow(value, r->plan->timestamp_unit_us, &out->i64))
        return misfit(r, v, n->text);
    return true;
}

static bool decimal(struct cv_json_reader *r, const struct cv_json_value *v,
                    const struct cv_json_number *n, struct cv_value *out)
{
    static const uint64_t powers[] = {1,      10,      100,      1000,     10000,
                                      100000, 1000000, 10000000, 100000000};
    int32_t shift = v->type->scale + n->exponent;
    uint64_t unscaled;

    if (n->nonnumeric)
        return misfit(r, v, n->text);
    if (n->exact && shift >= 0 && shift < (int32_t)CV_ARRAY_LENGTH(powers) &&
        !__builtin_mul_overflow(n->digits, powers[shift], &unscaled) &&
        cv_decimal_fits((cv_wide_int)unscaled, v->type->precision)) {
        out->decimal = n->negative ? -(cv_wide_int)unscaled : (cv_wide_int)unscaled;
        return true;
    }
    if (cv_parse_decimal(n->text, v->type->precision, v->type->scale, &out->decimal))
        return true;
    return misfit(r, v, n->text);
}

static bool number(struct cv_json_reader *r, const struct cv_json_value *v, struct cv_value *out)
{
    const uint8_t *start = r->scan.at;
    struct cv_json_number n;

    if (!cv_json_number(&r->scan, &n))
        return cv_json_malformed(r, v->path);
    switch (v->type->kind) {
    case CV_TYPE_INT:
    case CV_TYPE_LONG:
    case CV_TYPE_DATE:
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        return integer(r, v, &n, out);
    case CV_TYPE_FLOAT:
        out->f32 = cv_json_number_float(&n);
        return true;
    case CV_TYPE_DOUBLE:
        out->f64 = cv_json_number_double(&n);
        return true;
    case CV_TYPE_DECIMAL:
        return decimal(r, v, &n, out);
    case CV_TYPE_STRING:
        out->bytes = n.text;
        return true;
    default:
        r->scan.at = start;
        return mismatch(r, v);
    }
}

static bool timestamp(struct cv_json_reader *r, const struct cv_json_value *v, struct cv_str text,
                      struct cv_value *out)
{
    bool zone;

    if (!cv_parse_timestamp(cv_str_trim_control(text, true), &out->i64, &zone))
        return misfit(r, v, text);
    if (zone && v->type->kind == CV_TYPE_TIMESTAMP)
        return cv_json_refuse(r, v->path, "\"%.*s\" has a zone and the column has none",
                              (int)CV_MIN(text.length, 80), text.ptr);
    return true;
}

static bool nonnumeric_text(const struct cv_json_reader *r, struct cv_str text, double *ret_value)
{
    static const char *const names[] = {"NaN",  "Infinity",  "+Infinity",
                                        "+INF", "-Infinity", "-INF"};

    if (!r->plan->nonnumeric)
        return false;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++) {
        if (!cv_str_is(text, names[i]))
            continue;
        *ret_value = i == 0 ? __builtin_nan("") : i < 4 ? __builtin_inf() : -__builtin_inf();
        return true;
    }
    return false;
}

/* Base64 may be broken into lines, and have blanks, between its groups of four characters. */
static struct cv_str without_blanks(struct cv_json_reader *r, struct cv_str text)
{
    size_t i = 0;

    while (i < text.length && (uint8_t)text.ptr[i] > ' ')
        i++;
    if (i == text.length)
        return text;
    cv_buf_clear(&r->cast);
    for (i = 0; i < text.length; i++)
        if ((uint8_t)text.ptr[i] > ' ' || r->cast.length % 4 != 0)
            cv_buf_append_byte(&r->cast, (uint8_t)text.ptr[i]);
    return (struct cv_str){(const char *)r->cast.data, r->cast.length};
}

static bool binary(struct cv_json_reader *r, const struct cv_json_value *v, struct cv_str text,
                   struct cv_value *out)
{
    cv_buf_clear(&r->bytes);
    text = without_blanks(r, text);
    if (text.length % 4 != 0 || !cv_base64_decode(text, &r->bytes) || r->bytes.failed)
        return cv_json_refuse(r, v->path, "the text is no Base64");
    if (v->type->kind == CV_TYPE_FIXED && r->bytes.length != v->type->length)
        return cv_json_refuse(r, v->path, "%zu bytes for fixed[%u]", r->bytes.length,
                              v->type->length);
    out->bytes = (struct cv_str){r->bytes.data ? (const char *)r->bytes.data : "", r->bytes.length};
    return true;
}

static bool uuid(struct cv_json_reader *r, struct cv_str text, struct cv_value *out)
{
    cv_buf_clear(&r->bytes);
    if (!cv_buf_reserve(&r->bytes, 16) || !cv_parse_uuid(text, r->bytes.data))
        return false;
    out->bytes = (struct cv_str){(const char *)r->bytes.data, 16};
    return true;
}

static bool from_text(struct cv_json_reader *r, const struct cv_json_value *v, struct cv_str text,
                      struct cv_value *out)
{
    const struct cv_type *type = v->type;
    double wide;
    bool ok = false;

    switch (type->kind) {
    case CV_TYPE_STRING:
        out->bytes = text;
        return true;
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        return timestamp(r, v, text, out);
    case CV_TYPE_BINARY:
    case CV_TYPE_FIXED:
        return binary(r, v, text, out);
    case CV_TYPE_DATE:
        ok = cv_parse_date(cv_str_trim_control(text, true), &out->i32);
        break;
    case CV_TYPE_TIME:
        ok = cv_parse_time(text, &out->i64);
        break;
    case CV_TYPE_DECIMAL:
        ok = cv_parse_decimal(text, type->precision, type->scale, &out->decimal);
        break;
    case CV_TYPE_UUID:
        ok = uuid(r, text, out);
        break;
    case CV_TYPE_FLOAT:
    case CV_TYPE_DOUBLE:
        ok = nonnumeric_text(r, text, &wide);
        if (ok && type->kind == CV_TYPE_FLOAT)
            out->f32 = (float)wide;
        else if (ok)
            out->f64 = wide;
        break;
    default:
        break;
    }
    return ok || misfit(r, v, text);
}

bool cv_json_parse_text(struct cv_json_reader *r, const struct cv_json_value *v, struct cv_str text,
                        struct cv_value *ret_value)
{
    char reason[CV_CAST_REASON_BYTES];
    struct cv_type string = {.kind = CV_TYPE_STRING};
    struct cv_value in = {.kind = CV_TYPE_STRING, .bytes = text};

    ret_value->is_null = false;
    ret_value->kind = v->type->kind;
    if (v->type->kind == CV_TYPE_STRING) {
        ret_value->bytes = text;
        return true;
    }
    if (!cv_cast_value(&in, &string, v->type, &r->cast, ret_value, reason))
        return cv_json_refuse(r, v->path, "%s", reason);
    return true;
}

/* A value of any kind as its text: Spark's from_json does so for string columns. */
static bool raw_text(struct cv_json_reader *r, const struct cv_json_value *v, struct cv_value *out)
{
    const uint8_t *start = r->scan.at;

    if (!cv_json_skip(&r->scan))
        return cv_json_malformed(r, v->path);
    out->bytes = (struct cv_str){(const char *)start, (size_t)(r->scan.at - start)};
    return true;
}

static bool boolean(struct cv_json_reader *r, const struct cv_json_value *v, bool value,
                    struct cv_value *out)
{
    if (v->type->kind != CV_TYPE_BOOLEAN)
        return v->type->kind == CV_TYPE_STRING ? raw_text(r, v, out) : mismatch(r, v);
    out->boolean = value;
    if (!cv_json_literal(&r->scan, value ? "true" : "false", value ? 4 : 5))
        return cv_json_malformed(r, v->path);
    return true;
}

bool cv_json_read_scalar(struct cv_json_reader *r, const struct cv_json_value *v,
                         struct cv_value *ret_value)
{
    uint8_t c = *r->scan.at;
    struct cv_json_string string;

    ret_value->is_null = false;
    ret_value->kind = v->type->kind;
    if (c == '"') {
        if (!cv_json_string(&r->scan, &string))
            return cv_json_malformed(r, v->path);
        return from_text(r, v, cv_json_string_text(r, &string), ret_value);
    }
    if (c == '-' || (uint8_t)(c - '0') < 10 || (r->plan->nonnumeric && (c == 'N' || c == 'I')))
        return number(r, v, ret_value);
    if (c == 't' || c == 'f')
        return boolean(r, v, c == 't', ret_value);
    if (v->type->kind == CV_TYPE_STRING && (c == '{' || c == '['))
        return raw_text(r, v, ret_value);
    return mismatch(r, v);
}
