/* SPDX-License-Identifier: Apache-2.0
 *
 * CAST from and to text with Spark's texts of dates, times and fractions. */
#include "base/time.h"
#include "codec/utf8.h"
#include "schema/cast_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* Spark's casts trim blanks and control characters on both sides; those to fractions and decimals
 * trim as Java's String does, which leaves the delete character. */
static struct cv_str trim(struct cv_str text, const struct cv_type *to)
{
    bool delete_too =
        to->kind != CV_TYPE_FLOAT && to->kind != CV_TYPE_DOUBLE && to->kind != CV_TYPE_DECIMAL;

    return cv_str_trim_control(text, delete_too);
}

static bool text_to_bool(struct cv_str text, bool *ret_value)
{
    static const struct {
        const char *word;
        bool value;
    } words[] = {{"true", true},   {"t", true},  {"yes", true}, {"y", true},  {"1", true},
                 {"false", false}, {"f", false}, {"no", false}, {"n", false}, {"0", false}};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(words); i++)
        if (strlen(words[i].word) == text.length &&
            strncasecmp(words[i].word, text.ptr, text.length) == 0) {
            *ret_value = words[i].value;
            return true;
        }
    return false;
}

static bool text_to_int(struct cv_str text, int32_t *ret_value)
{
    int64_t wide;

    if (!cv_parse_i64(text, &wide) || wide < INT32_MIN || wide > INT32_MAX)
        return false;
    *ret_value = (int32_t)wide;
    return true;
}

/* A zone in the text is not looked at for a timestamp without one, as in Spark. */
static bool text_to_local_timestamp(struct cv_str text, int64_t *ret_us)
{
    bool had_zone;
    size_t end = 0;

    if (!cv_parse_timestamp(text, ret_us, &had_zone))
        return false;
    if (!had_zone)
        return true;
    while (end < text.length && text.ptr[end] != 'T' && text.ptr[end] != ' ')
        end++;
    for (end++; end < text.length && strchr("0123456789:.", text.ptr[end]) && text.ptr[end]; end++)
        ;
    text.length = CV_MIN(end, text.length);
    return cv_parse_timestamp(text, ret_us, &had_zone);
}

bool cv_cast_from_text(struct cv_str text, const struct cv_type *to, struct cv_buf *scratch,
                       struct cv_value *ret_out)
{
    struct cv_value out = {.kind = to->kind};
    struct cv_str trimmed = trim(text, to);
    bool ignored;
    uint8_t uuid[16];
    bool good = false;

    switch (to->kind) {
    case CV_TYPE_BOOLEAN:
        good = text_to_bool(trimmed, &out.boolean);
        break;
    case CV_TYPE_INT:
        good = text_to_int(trimmed, &out.i32);
        break;
    case CV_TYPE_LONG:
        good = cv_parse_i64(trimmed, &out.i64);
        break;
    case CV_TYPE_FLOAT:
        good = cv_parse_float(trimmed, &out.f32);
        break;
    case CV_TYPE_DOUBLE:
        good = cv_parse_double(trimmed, &out.f64);
        break;
    case CV_TYPE_DECIMAL:
        good = cv_parse_decimal(trimmed, to->precision, to->scale, &out.decimal);
        break;
    case CV_TYPE_DATE:
        good = cv_parse_date(trimmed, &out.i32);
        break;
    case CV_TYPE_TIME:
        good = cv_parse_time(trimmed, &out.i64);
        break;
    case CV_TYPE_TIMESTAMP:
        good = text_to_local_timestamp(trimmed, &out.i64);
        break;
    case CV_TYPE_TIMESTAMPTZ:
        good = cv_parse_timestamp(trimmed, &out.i64, &ignored);
        break;
    case CV_TYPE_UUID:
        good = cv_parse_uuid(trimmed, uuid);
        cv_buf_append(scratch, uuid, sizeof uuid);
        out.bytes = (struct cv_str){(const char *)scratch->data, sizeof uuid};
        break;
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
        out.bytes = text;
        good = true;
        break;
    default:
        break;
    }
    if (good)
        *ret_out = out;
    return good;
}

/* --- to text --------------------------------------------------------------------------------- */

/* The shortest digits that read back as the same value: "d[d…]" and the decimal exponent of the
 * first digit. */
static int shortest_digits(double value, bool single, char digits[20], int *ret_count)
{
    char text[40];
    const char *exponent;
    int count = 0;

    for (int most = 1; most <= 16; most++) { /* never one digit alone, as Java has it */
        (void)snprintf(text, sizeof text, "%.*e", most, value);
        if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
            break;
    }
    exponent = strchr(text, 'e');
    for (const char *c = text; c < exponent; c++)
        if (*c != '.')
            digits[count++] = *c;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    *ret_count = count;
    return (int)strtol(exponent + 1, NULL, 10);
}

/* Digits with a point behind the first `whole` of them, zeros where there are none. */
static void put_plain(struct cv_buf *out, const char *digits, int count, int whole)
{
    for (int i = 0; i < whole; i++)
        cv_buf_append_byte(out, i < count ? (uint8_t)digits[i] : '0');
    if (whole <= 0)
        cv_buf_append_byte(out, '0');
    cv_buf_append_byte(out, '.');
    for (int i = whole; i < 0; i++)
        cv_buf_append_byte(out, '0');
    for (int i = CV_MAX(whole, 0); i < count; i++)
        cv_buf_append_byte(out, (uint8_t)digits[i]);
    if (count <= whole)
        cv_buf_append_byte(out, '0');
}

void cv_cast_write_double(double value, bool single, struct cv_buf *out)
{
    char digits[20];
    int count;
    int exponent;

    if (isnan(value)) {
        cv_buf_append_text(out, "NaN");
        return;
    }
    if (signbit(value))
        cv_buf_append_byte(out, '-');
    if (isinf(value)) {
        cv_buf_append_text(out, "Infinity");
        return;
    }
    exponent = shortest_digits(fabs(value), single, digits, &count);
    if (exponent >= -3 && exponent < 7) {
        put_plain(out, digits, count, exponent + 1);
        return;
    }
    put_plain(out, digits, count, 1);
    cv_buf_printf(out, "E%d", exponent);
}

static void put_date(struct cv_buf *out, int64_t days)
{
    int64_t year;
    int month;
    int day;

    cv_civil_from_days(days, &year, &month, &day);
    if (year > 9999)
        cv_buf_append_byte(out, '+');
    if (year < 0)
        cv_buf_append_byte(out, '-');
    cv_buf_printf(out, "%04lld-%02d-%02d", (long long)(year < 0 ? -year : year), month, day);
}

/* hh:mm:ss and as many digits of the fraction as it has. */
static void put_time(struct cv_buf *out, int64_t us)
{
    int64_t seconds = us / CV_US_PER_SECOND;
    int fraction = (int)(us % CV_US_PER_SECOND);
    int width = 6;

    cv_buf_printf(out, "%02d:%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60),
                  (int)(seconds % 60));
    if (fraction == 0)
        return;
    for (; fraction % 10 == 0; fraction /= 10)
        width--;
    cv_buf_printf(out, ".%0*d", width, fraction);
}

static void put_uuid(struct cv_buf *out, struct cv_str bytes)
{
    for (size_t i = 0; i < bytes.length; i++)
        cv_buf_printf(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                      (uint8_t)bytes.ptr[i]);
}

static void put_value(const struct cv_value *in, const struct cv_type *from, struct cv_buf *out)
{
    switch (in->kind) {
    case CV_TYPE_BOOLEAN:
        cv_buf_append_text(out, in->boolean ? "true" : "false");
        return;
    case CV_TYPE_INT:
        cv_buf_printf(out, "%d", in->i32);
        return;
    case CV_TYPE_LONG:
        cv_buf_printf(out, "%lld", (long long)in->i64);
        return;
    case CV_TYPE_FLOAT:
        cv_cast_write_double(in->f32, true, out);
        return;
    case CV_TYPE_DOUBLE:
        cv_cast_write_double(in->f64, false, out);
        return;
    case CV_TYPE_DATE:
        put_date(out, in->i32);
        return;
    case CV_TYPE_TIME:
        put_time(out, in->i64);
        return;
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        put_date(out, cv_floor_div(in->i64, CV_US_PER_DAY));
        cv_buf_append_byte(out, ' ');
        put_time(out, cv_floor_mod(in->i64, CV_US_PER_DAY));
        return;
    case CV_TYPE_UUID:
        put_uuid(out, in->bytes);
        return;
    default:
        cv_value_write_text(in, from, out);
        return;
    }
}

bool cv_cast_to_text(const struct cv_value *in, const struct cv_type *from, struct cv_buf *scratch,
                     struct cv_str *ret_text)
{
    if (from->kind == CV_TYPE_STRING || from->kind == CV_TYPE_BINARY ||
        from->kind == CV_TYPE_FIXED) {
        if (!cv_utf8_valid(in->bytes.ptr, in->bytes.length))
            return false;
        *ret_text = in->bytes;
        return true;
    }
    put_value(in, from, scratch);
    *ret_text = (struct cv_str){(const char *)scratch->data, scratch->length};
    return !scratch->failed;
}
