/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of single values, as people and the JSON of the spec have it. */
#include "base/time.h"
#include "schema/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void write_decimal(cv_wide_int unscaled, unsigned scale, struct cv_buf *out)
{
    unsigned __int128 rest =
        unscaled < 0 ? -(unsigned __int128)unscaled : (unsigned __int128)unscaled;
    char digits[48];
    char *end = digits + sizeof digits;
    char *at = end;

    do {
        if (scale && (size_t)(end - at) == scale)
            *--at = '.';
        *--at = (char)('0' + (int)(rest % 10));
        rest /= 10;
        /* with the point in place the text is one longer than its digits */
    } while (rest || (scale && (size_t)(end - at) < scale + 2));
    if (unscaled < 0)
        *--at = '-';
    cv_buf_append(out, at, (size_t)(end - at));
}

/* Shortest digits that read back as the same number, laid out as Java's toString does it. */
static void write_double(double value, bool is_float, struct cv_buf *out)
{
    char text[40];
    int exponent;
    const char *digits;

    if (isnan(value) || isinf(value)) {
        cv_buf_append_text(out, isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
        return;
    }
    for (int precision = 1; precision < 18; precision++) {
        (void)snprintf(text, sizeof text, "%.*e", precision, value);
        if (is_float ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
            break;
    }
    exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    *strchr(text, 'e') = '\0';
    if (value == 0 || (exponent >= -3 && exponent < 7)) {
        int fraction = (int)strlen(strchr(text, '.') + 1) - exponent;

        (void)snprintf(text, sizeof text, "%.*f", CV_MAX(fraction, 1), value);
        /* one digit behind the point is always there, further zeros never */
        for (char *end = text + strlen(text) - 1; *end == '0' && end[-1] != '.'; end--)
            *end = '\0';
        cv_buf_append_text(out, text);
        return;
    }
    digits = text + strlen(text) - 1;
    for (; *digits == '0' && digits[-1] != '.'; digits--)
        ;
    cv_buf_printf(out, "%.*sE%d", (int)(digits + 1 - text), text, exponent);
}

static void write_date(int64_t days, struct cv_buf *out)
{
    int64_t year;
    int month, day;

    cv_civil_from_days(days, &year, &month, &day);
    if (year >= 0 && year <= 9999)
        cv_buf_printf(out, "%04d-%02d-%02d", (int)year, month, day);
    else
        cv_buf_printf(out, "%+05lld-%02d-%02d", (long long)year, month, day);
}

static void write_time(int64_t us, struct cv_buf *out)
{
    int64_t seconds = us / CV_US_PER_SECOND;

    cv_buf_printf(out, "%02d:%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60),
                  (int)(seconds % 60));
    if (us % CV_US_PER_SECOND)
        cv_buf_printf(out, ".%06d", (int)(us % CV_US_PER_SECOND));
}

static void write_timestamp(int64_t us, bool with_zone, struct cv_buf *out)
{
    write_date(cv_floor_div(us, CV_US_PER_DAY), out);
    cv_buf_append_byte(out, 'T');
    write_time(cv_floor_mod(us, CV_US_PER_DAY), out);
    if (with_zone)
        cv_buf_append_text(out, "+00:00");
}

static void write_hex(struct cv_str bytes, struct cv_buf *out)
{
    static const char hex[] = "0123456789abcdef";

    for (size_t i = 0; i < bytes.length; i++) {
        cv_buf_append_byte(out, (uint8_t)hex[(uint8_t)bytes.ptr[i] >> 4]);
        cv_buf_append_byte(out, (uint8_t)hex[(uint8_t)bytes.ptr[i] & 15]);
    }
}

static void write_uuid(struct cv_str bytes, struct cv_buf *out)
{
    static const uint8_t parts[] = {4, 2, 2, 2, 6};
    size_t at = 0;

    for (size_t i = 0; i < sizeof parts; i++) {
        if (i)
            cv_buf_append_byte(out, '-');
        write_hex((struct cv_str){bytes.ptr + at, parts[i]}, out);
        at += parts[i];
    }
}

void cv_value_write_text(const struct cv_value *value, const struct cv_type *type,
                         struct cv_buf *out)
{
    if (value->is_null) {
        cv_buf_append_text(out, "null");
        return;
    }
    switch (type->kind) {
    case CV_TYPE_BOOLEAN:
        cv_buf_append_text(out, value->boolean ? "true" : "false");
        return;
    case CV_TYPE_INT:
        cv_buf_printf(out, "%d", value->i32);
        return;
    case CV_TYPE_LONG:
        cv_buf_printf(out, "%lld", (long long)value->i64);
        return;
    case CV_TYPE_FLOAT:
        write_double(value->f32, true, out);
        return;
    case CV_TYPE_DOUBLE:
        write_double(value->f64, false, out);
        return;
    case CV_TYPE_DECIMAL:
        write_decimal(value->decimal, type->scale, out);
        return;
    case CV_TYPE_DATE:
        write_date(value->i32, out);
        return;
    case CV_TYPE_TIME:
        write_time(value->i64, out);
        return;
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        write_timestamp(value->i64, type->kind == CV_TYPE_TIMESTAMPTZ, out);
        return;
    case CV_TYPE_STRING:
        cv_buf_append(out, value->bytes.ptr, value->bytes.length);
        return;
    case CV_TYPE_UUID:
        write_uuid(value->bytes, out);
        return;
    default:
        write_hex(value->bytes, out);
    }
}
