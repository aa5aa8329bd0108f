/* SPDX-License-Identifier: Apache-2.0
 *
 * Folder paths of partitions: "name=value/…", both form-URL encoded, values in the words that the
 * Java library gives them. The folder is decoration: nothing is ever read back out of a path. */
#include "iceberg/partition_int.h"

#include "codec/base64.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void append_day(int64_t days, struct cv_buf *out)
{
    int64_t year;
    int month;
    int day;

    cv_civil_from_days(days, &year, &month, &day);
    cv_buf_printf(out, "%04lld-%02d-%02d", (long long)year, month, day);
}

/* Fraction of a second without its zeros at the end: ".5", ".000001", or nothing. */
static void append_fraction(int64_t us, struct cv_buf *out)
{
    char text[8];
    int length = 7;

    if (us == 0)
        return;
    (void)snprintf(text, sizeof text, ".%06d", (int)us);
    while (text[length - 1] == '0')
        length--;
    cv_buf_append(out, text, (size_t)length);
}

/* ISO 8601; years beyond four digits have a sign, as ISO_LOCAL_DATE_TIME gives them. */
static void append_timestamp(int64_t us, bool with_zone, struct cv_buf *out)
{
    int64_t rest = cv_floor_mod(us, CV_US_PER_DAY);
    int64_t year;
    int month;
    int day;

    cv_civil_from_days(cv_floor_div(us, CV_US_PER_DAY), &year, &month, &day);
    if (year < 0)
        cv_buf_printf(out, "-%04lld", -(long long)year);
    else
        cv_buf_printf(out, year > 9999 ? "+%04lld" : "%04lld", (long long)year);
    cv_buf_printf(out, "-%02d-%02dT%02d:%02d:%02d", month, day, (int)(rest / CV_US_PER_HOUR),
                  (int)(rest / (60 * CV_US_PER_SECOND) % 60), (int)(rest / CV_US_PER_SECOND % 60));
    append_fraction(rest % CV_US_PER_SECOND, out);
    if (with_zone)
        cv_buf_append_text(out, "+00:00");
}

/* LocalTime's own text: seconds only when there are some, fractions in groups of three digits. */
static void append_time(int64_t us, struct cv_buf *out)
{
    int64_t fraction = us % CV_US_PER_SECOND;
    int second = (int)(us / CV_US_PER_SECOND % 60);

    cv_buf_printf(out, "%02d:%02d", (int)(us / CV_US_PER_HOUR),
                  (int)(us / (60 * CV_US_PER_SECOND) % 60));
    if (second || fraction)
        cv_buf_printf(out, ":%02d", second);
    if (fraction % 1000)
        cv_buf_printf(out, ".%06d", (int)fraction);
    else if (fraction)
        cv_buf_printf(out, ".%03d", (int)(fraction / 1000));
}

/* BigDecimal's text: plain unless the exponent is below -6, then "1.23E-20". */
static void append_decimal(cv_wide_int unscaled, int scale, struct cv_buf *out)
{
    char digits[48];
    int count = 0;
    cv_wide_int rest = unscaled < 0 ? -unscaled : unscaled;
    int adjusted;

    do {
        digits[sizeof digits - 1 - (size_t)count++] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    } while (rest);
    adjusted = count - 1 - scale;
    if (unscaled < 0)
        cv_buf_append_byte(out, '-');
    if (adjusted >= -6) {
        while (count <= scale)
            digits[sizeof digits - 1 - (size_t)count++] = '0';
        cv_buf_append(out, digits + sizeof digits - (size_t)count, (size_t)(count - scale));
        if (scale > 0)
            cv_buf_append_byte(out, '.');
        cv_buf_append(out, digits + sizeof digits - (size_t)scale, (size_t)scale);
        return;
    }
    cv_buf_append(out, digits + sizeof digits - (size_t)count, 1);
    if (count > 1)
        cv_buf_append_byte(out, '.');
    cv_buf_append(out, digits + sizeof digits - (size_t)count + 1, (size_t)count - 1);
    cv_buf_printf(out, "E%d", adjusted);
}

/* Java's Double.toString and Float.toString: fewest digits that read back as the same number, with
 * an exponent outside 10^-3 … 10^7. */
static void append_floating(double value, bool single, struct cv_buf *out)
{
    char text[40];
    char digits[24];
    size_t count = 0;
    int64_t exponent = 0;

    if (isnan(value) || isinf(value)) {
        cv_buf_append_text(out, isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
        return;
    }
    for (int precision = 0; precision <= (single ? 8 : 16); precision++) {
        (void)snprintf(text, sizeof text, "%.*e", precision, value);
        if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
            break;
    }
    (void)cv_parse_i64(cv_str_from(strchr(text, 'e') + 1), &exponent);
    for (const char *p = text; *p != 'e'; p++)
        if (*p >= '0' && *p <= '9')
            digits[count++] = *p;
    if (signbit(value))
        cv_buf_append_byte(out, '-');
    if (value == 0.0 || (exponent >= -3 && exponent < 7)) {
        (void)snprintf(text, sizeof text, "%.*f", (int)CV_MAX((int64_t)count - 1 - exponent, 1),
                       fabs(value));
        cv_buf_append_text(out, text);
        return;
    }
    cv_buf_printf(out, "%c.%.*sE%lld", digits[0], (int)CV_MAX(count - 1, (size_t)1),
                  count > 1 ? digits + 1 : "0", (long long)exponent);
}

static void append_identity(const struct cv_value *value, const struct cv_type *type,
                            struct cv_buf *out)
{
    switch (type->kind) {
    case CV_TYPE_DATE:
        append_day(value->i32, out);
        break;
    case CV_TYPE_TIME:
        append_time(value->i64, out);
        break;
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        append_timestamp(value->i64, type->kind == CV_TYPE_TIMESTAMPTZ, out);
        break;
    case CV_TYPE_DECIMAL:
        append_decimal(value->decimal, type->scale, out);
        break;
    case CV_TYPE_FLOAT:
        append_floating((double)value->f32, true, out);
        break;
    case CV_TYPE_DOUBLE:
        append_floating(value->f64, false, out);
        break;
    case CV_TYPE_FIXED:
    case CV_TYPE_BINARY:
        cv_base64_encode(value->bytes.ptr, value->bytes.length, out);
        break;
    default:
        cv_value_write_text(value, type, out);
        break;
    }
}

static void append_value(const struct cv_transform *transform, const struct cv_type *type,
                         const struct cv_value *value, struct cv_buf *out)
{
    if (value->is_null) {
        cv_buf_append_text(out, "null");
        return;
    }
    switch (transform->kind) {
    case CV_TRANSFORM_YEAR:
        cv_buf_printf(out, "%04lld", 1970 + (long long)value->i32);
        break;
    case CV_TRANSFORM_MONTH:
        cv_buf_printf(out, "%04lld-%02d", 1970 + (long long)cv_floor_div(value->i32, 12),
                      1 + (int)cv_floor_mod(value->i32, 12));
        break;
    case CV_TRANSFORM_DAY:
        append_day(value->i32, out);
        break;
    case CV_TRANSFORM_HOUR:
        append_day(cv_floor_div(value->i32, 24), out);
        cv_buf_printf(out, "-%02d", (int)cv_floor_mod(value->i32, 24));
        break;
    default:
        append_identity(value, type, out);
        break;
    }
}

void cv_form_url_encode(struct cv_str text, struct cv_buf *out)
{
    static const char hex[] = "0123456789ABCDEF";

    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        bool stays = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '.' || c == '-' || c == '*' || c == '_';

        if (stays) {
            cv_buf_append_byte(out, c);
        } else if (c == ' ') {
            cv_buf_append_byte(out, '+');
        } else {
            cv_buf_append_byte(out, '%');
            cv_buf_append_byte(out, (uint8_t)hex[c >> 4]);
            cv_buf_append_byte(out, (uint8_t)hex[c & 15]);
        }
    }
}

void cv_partition_path(const struct cv_partition_spec *spec, const struct cv_type *types,
                       const struct cv_value *tuple, struct cv_buf *out)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);

    for (size_t i = 0; i < spec->field_count; i++) {
        if (i)
            cv_buf_append_byte(out, '/');
        cv_form_url_encode(cv_str_from(spec->fields[i].name), out);
        cv_buf_append_byte(out, '=');
        cv_buf_clear(&text);
        append_value(&spec->fields[i].transform, &types[i], &tuple[i], &text);
        cv_form_url_encode((struct cv_str){(const char *)text.data, text.length}, out);
    }
}

void cv_partition_key(int32_t spec_id, const struct cv_value *tuple, size_t count,
                      struct cv_buf *out)
{
    cv_buf_append(out, &spec_id, sizeof spec_id);
    for (size_t i = 0; i < count; i++) {
        size_t at = out->length;
        uint32_t length = UINT32_MAX; /* null */

        cv_buf_append(out, &length, sizeof length);
        if (tuple[i].is_null)
            continue;
        if ((tuple[i].kind == CV_TYPE_FLOAT && isnan(tuple[i].f32)) ||
            (tuple[i].kind == CV_TYPE_DOUBLE && isnan(tuple[i].f64)))
            cv_buf_append_text(out, "NaN"); /* of any bits */
        else
            cv_value_write_binary(&tuple[i], out);
        length = (uint32_t)(out->length - at - sizeof length);
        memcpy(out->data + at, &length, sizeof length);
    }
}
