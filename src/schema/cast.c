/* SPDX-License-Identifier: Apache-2.0
 *
 * CAST between primitive types. What is not a matter of text goes through one of three wide forms:
 * a 64-bit integer, a double, or a decimal of 38 digits with its scale. */
#include "schema/cast.h"

#include "base/time.h"
#include "schema/cast_int.h"

#include <math.h>
#include <stdio.h>

#define KIND(kind) (1u << CV_TYPE_##kind)
#define NUMBERS    (KIND(INT) | KIND(LONG) | KIND(FLOAT) | KIND(DOUBLE) | KIND(DECIMAL))
#define TIMESTAMPS (KIND(TIMESTAMP) | KIND(TIMESTAMPTZ))

const int64_t cv_cast_powers_of_ten_[19] = {1,
                                            10,
                                            100,
                                            1000,
                                            10000,
                                            100000,
                                            1000000,
                                            10000000,
                                            100000000,
                                            1000000000,
                                            10000000000,
                                            100000000000,
                                            1000000000000,
                                            10000000000000,
                                            100000000000000,
                                            1000000000000000,
                                            10000000000000000,
                                            100000000000000000,
                                            1000000000000000000};

/* What a type can be cast to (Spark: Cast.canAnsiCast), time, uuid and fixed added by sense. */
static const unsigned targets[] = {
    [CV_TYPE_BOOLEAN] = KIND(BOOLEAN) | NUMBERS | KIND(STRING),
    [CV_TYPE_INT] = KIND(BOOLEAN) | NUMBERS | KIND(STRING) | KIND(TIMESTAMPTZ),
    [CV_TYPE_LONG] = KIND(BOOLEAN) | NUMBERS | KIND(STRING) | KIND(TIMESTAMPTZ),
    [CV_TYPE_FLOAT] = KIND(BOOLEAN) | NUMBERS | KIND(STRING) | KIND(TIMESTAMPTZ),
    [CV_TYPE_DOUBLE] = KIND(BOOLEAN) | NUMBERS | KIND(STRING) | KIND(TIMESTAMPTZ),
    [CV_TYPE_DECIMAL] = KIND(BOOLEAN) | NUMBERS | KIND(STRING) | KIND(TIMESTAMPTZ),
    [CV_TYPE_DATE] = KIND(DATE) | TIMESTAMPS | KIND(STRING),
    [CV_TYPE_TIME] = KIND(TIME) | KIND(STRING),
    [CV_TYPE_TIMESTAMP] = KIND(DATE) | TIMESTAMPS | KIND(STRING),
    [CV_TYPE_TIMESTAMPTZ] = KIND(DATE) | TIMESTAMPS | KIND(STRING) | NUMBERS,
    [CV_TYPE_STRING] = KIND(BOOLEAN) | NUMBERS | KIND(DATE) | KIND(TIME) | TIMESTAMPS |
                       KIND(STRING) | KIND(BINARY) | KIND(UUID),
    [CV_TYPE_UUID] = KIND(UUID) | KIND(STRING),
    [CV_TYPE_FIXED] = KIND(FIXED) | KIND(BINARY) | KIND(STRING),
    [CV_TYPE_BINARY] = KIND(BINARY) | KIND(STRING),
    [CV_TYPE_STRUCT] = 0,
    [CV_TYPE_LIST] = 0,
    [CV_TYPE_MAP] = 0,
};

bool cv_cast_allowed(const struct cv_type *from, const struct cv_type *to)
{
    if (from->kind == CV_TYPE_FIXED && to->kind == CV_TYPE_FIXED)
        return from->length == to->length;
    return (targets[from->kind] >> to->kind & 1) != 0;
}

/* Rounds half up (away from zero) when digits are lost. */
static bool rescale(cv_wide_int unscaled, int from_scale, const struct cv_type *to,
                    cv_wide_int *ret_unscaled)
{
    cv_wide_int power;

    if (to->scale >= from_scale) {
        power = cv_decimal_power_of_ten((unsigned)(to->scale - from_scale));
        if (__builtin_mul_overflow(unscaled, power, &unscaled))
            return false;
    } else {
        cv_wide_int rest;

        power = cv_decimal_power_of_ten((unsigned)(from_scale - to->scale));
        rest = unscaled % power;
        unscaled /= power;
        if ((rest < 0 ? -rest : rest) >= power - power / 2)
            unscaled += rest < 0 ? -1 : 1;
    }
    *ret_unscaled = unscaled;
    return cv_decimal_fits(unscaled, to->precision);
}

/* An integer with a scale (0 for plain integers) to a number type. */
static bool from_exact(cv_wide_int unscaled, int scale, const struct cv_type *to,
                       struct cv_value *out)
{
    cv_wide_int whole = unscaled / cv_decimal_power_of_ten((unsigned)scale);
    char text[64];
    struct cv_buf digits = {(uint8_t *)text, 0, sizeof text, sizeof text, false};
    const struct cv_value exact = {.kind = CV_TYPE_DECIMAL, .decimal = unscaled};
    const struct cv_type type = {.kind = CV_TYPE_DECIMAL, .precision = 38, .scale = (uint8_t)scale};

    switch (to->kind) {
    case CV_TYPE_BOOLEAN:
        out->boolean = unscaled != 0;
        return true;
    case CV_TYPE_INT:
        out->i32 = (int32_t)whole;
        return whole >= INT32_MIN && whole <= INT32_MAX;
    case CV_TYPE_LONG:
        out->i64 = (int64_t)whole;
        return whole >= INT64_MIN && whole <= INT64_MAX;
    case CV_TYPE_FLOAT:
    case CV_TYPE_DOUBLE:
        if (scale == 0 && whole >= INT64_MIN && whole <= INT64_MAX) {
            out->f64 = (double)(int64_t)whole;
        } else {
            cv_value_write_text(&exact, &type, &digits);
            return to->kind == CV_TYPE_FLOAT
                       ? cv_parse_float((struct cv_str){text, digits.length}, &out->f32)
                       : cv_parse_double((struct cv_str){text, digits.length}, &out->f64);
        }
        if (to->kind == CV_TYPE_FLOAT)
            out->f32 = (float)whole;
        return true;
    case CV_TYPE_DECIMAL:
        return rescale(unscaled, scale, to, &out->decimal);
    default:
        return false;
    }
}

/* Seconds with a scale to µs; digits below a µs are cut. */
static bool seconds_to_us(cv_wide_int unscaled, int scale, int64_t *ret_us)
{
    cv_wide_int us;

    if (scale > 6)
        us = unscaled / cv_decimal_power_of_ten((unsigned)(scale - 6));
    else if (__builtin_mul_overflow(unscaled, cv_decimal_power_of_ten((unsigned)(6 - scale)), &us))
        return false;
    *ret_us = (int64_t)us;
    return us >= INT64_MIN && us <= INT64_MAX;
}

/* Spark takes a float for its double here, with all the digits of that. */
static bool from_double(double value, const struct cv_type *to, struct cv_value *out)
{
    char text[64];
    struct cv_buf digits = {(uint8_t *)text, 0, sizeof text, sizeof text, false};
    double whole = trunc(value);

    switch (to->kind) {
    case CV_TYPE_BOOLEAN:
        out->boolean = value != 0;
        return true;
    case CV_TYPE_INT:
        if (!(whole >= INT32_MIN && whole <= INT32_MAX))
            return false;
        out->i32 = (int32_t)whole;
        return true;
    case CV_TYPE_LONG:
        if (!(whole >= -0x1p63 && whole < 0x1p63))
            return false;
        out->i64 = (int64_t)whole;
        return true;
    case CV_TYPE_FLOAT:
        out->f32 = (float)value;
        return true;
    case CV_TYPE_DOUBLE:
        out->f64 = value;
        return true;
    case CV_TYPE_DECIMAL:
        if (!isfinite(value))
            return false;
        cv_cast_write_double(value, false, &digits);
        return cv_parse_decimal((struct cv_str){text, digits.length}, to->precision, to->scale,
                                &out->decimal);
    case CV_TYPE_TIMESTAMPTZ:
        value *= 1e6;
        if (!(value >= -0x1p63 && value < 0x1p63))
            return false;
        out->i64 = (int64_t)value;
        return true;
    default:
        return false;
    }
}

static bool from_timestamp(int64_t us, const struct cv_type *to, struct cv_value *out)
{
    int64_t days = cv_floor_div(us, CV_US_PER_DAY);

    switch (to->kind) {
    case CV_TYPE_DATE:
        out->i32 = (int32_t)days;
        return days >= INT32_MIN && days <= INT32_MAX;
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        out->i64 = us;
        return true;
    case CV_TYPE_FLOAT:
    case CV_TYPE_DOUBLE:
    case CV_TYPE_DECIMAL: /* by the digits of the double, as Spark */
        return from_double((double)us / 1e6, to, out);
    default:
        return from_exact(cv_floor_div(us, CV_US_PER_SECOND), 0, to, out);
    }
}

static bool from_date(int32_t days, const struct cv_type *to, struct cv_value *out)
{
    if (to->kind == CV_TYPE_DATE) {
        out->i32 = days;
        return true;
    }
    return !__builtin_mul_overflow((int64_t)days, CV_US_PER_DAY, &out->i64);
}

static bool from_number(cv_wide_int unscaled, int scale, const struct cv_type *to,
                        struct cv_value *out)
{
    if (to->kind == CV_TYPE_TIMESTAMPTZ)
        return seconds_to_us(unscaled, scale, &out->i64);
    return from_exact(unscaled, scale, to, out);
}

static bool convert(const struct cv_value *in, const struct cv_type *from, const struct cv_type *to,
                    struct cv_buf *scratch, struct cv_value *out)
{
    if (to->kind == CV_TYPE_STRING)
        return cv_cast_to_text(in, from, scratch, &out->bytes);
    switch (from->kind) {
    case CV_TYPE_STRING:
        return cv_cast_from_text(in->bytes, to, scratch, out);
    case CV_TYPE_BOOLEAN:
        return from_exact(in->boolean, 0, to, out);
    case CV_TYPE_INT:
        return from_number(in->i32, 0, to, out);
    case CV_TYPE_LONG:
        return from_number(in->i64, 0, to, out);
    case CV_TYPE_FLOAT:
        return from_double(in->f32, to, out);
    case CV_TYPE_DOUBLE:
        return from_double(in->f64, to, out);
    case CV_TYPE_DECIMAL:
        return from_number(in->decimal, from->scale, to, out);
    case CV_TYPE_DATE:
        return from_date(in->i32, to, out);
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        return from_timestamp(in->i64, to, out);
    case CV_TYPE_TIME:
        out->i64 = in->i64;
        return true;
    default:
        out->bytes = in->bytes;
        return true;
    }
}

static void explain(const struct cv_value *in, const struct cv_type *from, const struct cv_type *to,
                    char reason[CV_CAST_REASON_BYTES])
{
    char type[CV_TYPE_TEXT_BYTES];
    char text[64];
    struct cv_buf shown = {(uint8_t *)text, 0, sizeof text, sizeof text, false};
    struct cv_str value;

    cv_type_text(to, type);
    if (!cv_cast_to_text(in, from, &shown, &value)) {
        (void)snprintf(reason, CV_CAST_REASON_BYTES, "the value cannot be cast to %s", type);
        return;
    }
    (void)snprintf(reason, CV_CAST_REASON_BYTES,
                   from->kind == CV_TYPE_STRING ? "\"%.*s\"%s cannot be cast to %s"
                                                : "%.*s%s cannot be cast to %s",
                   (int)CV_MIN(value.length, 60), value.ptr, value.length > 60 ? "..." : "", type);
}

bool cv_cast_value(const struct cv_value *in, const struct cv_type *from, const struct cv_type *to,
                   struct cv_buf *scratch, struct cv_value *ret_out,
                   char reason[CV_CAST_REASON_BYTES])
{
    struct cv_value out = {.kind = to->kind};

    cv_buf_clear(scratch);
    if (in->is_null) {
        *ret_out = (struct cv_value){.is_null = true, .kind = to->kind};
        return true;
    }
    if (!cv_cast_allowed(from, to) || !convert(in, from, to, scratch, &out)) {
        explain(in, from, to, reason);
        return false;
    }
    *ret_out = out;
    return true;
}
