/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of a file's physical types to those of the table, in bulk. */
#include "parquet/reader_int.h"

#include <math.h>

#define JULIAN_DAY_OF_EPOCH 2440588
#define US_PER_DAY          UINT64_C(86400000000)
#define US_PER_MS           1000

/* One value at a time of a width known at compile time. */
#define CONVERT(from_type, to_type, expression)                                                    \
    do {                                                                                           \
        for (size_t i = 0; i < count; i++) {                                                       \
            from_type from;                                                                        \
            to_type to;                                                                            \
                                                                                                   \
            memcpy(&from, values + i * sizeof from, sizeof from);                                  \
            to = (expression);                                                                     \
            memcpy(out + i * sizeof to, &to, sizeof to);                                           \
        }                                                                                          \
    } while (0)

static float from_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1f;
    uint32_t fraction = half & 0x3ff;
    uint32_t bits;
    float value;

    if (exponent == 0) {
        value = ldexpf((float)fraction, -24);
        return sign ? -value : value;
    }
    bits = exponent == 31 ? 0x7f800000u : (exponent + 112) << 23;
    bits |= sign | fraction << 13;
    memcpy(&value, &bits, 4);
    return value;
}

static int64_t floor_div_1000(int64_t value)
{
    return value / 1000 - (value % 1000 < 0);
}

static enum cv_code fail_range(const struct cv_read_leaf *leaf, const char *what,
                               struct cv_error *err)
{
    char type[CV_TYPE_TEXT_BYTES];

    cv_type_text(leaf->type, type);
    return cv_fail(err, CV_FORMAT, "a %s is out of the range of %s", what, type);
}

static enum cv_code convert_millis(const struct cv_read_leaf *leaf, const uint8_t *values,
                                   size_t count, uint8_t *out, struct cv_error *err)
{
    bool overflow = false;

    for (size_t i = 0; i < count; i++) {
        int64_t value;

        memcpy(&value, values + i * 8, 8);
        overflow |= __builtin_mul_overflow(value, US_PER_MS, &value);
        memcpy(out + i * 8, &value, 8);
    }
    return overflow ? fail_range(leaf, "time in milliseconds", err) : CV_OK;
}

static enum cv_code convert_unsigned(const struct cv_read_leaf *leaf, const uint8_t *values,
                                     size_t count, uint8_t *out, struct cv_error *err)
{
    uint64_t all = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t value;

        memcpy(&value, values + i * 8, 8);
        all |= value;
    }
    memcpy(out, values, count * 8);
    return all >> 63 ? fail_range(leaf, "64-bit unsigned integer", err) : CV_OK;
}

/* 8 bytes of ns in the day, 4 of the Julian day. Spark writes days beyond its own range so that
 * they come right by wrapping, which it and Arrow therefore do. */
static void convert_int96(const uint8_t *values, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++) {
        int64_t ns;
        int32_t day;
        uint64_t us;

        memcpy(&ns, values + i * 12, 8);
        memcpy(&day, values + i * 12 + 8, 4);
        us = (uint64_t)((int64_t)day - JULIAN_DAY_OF_EPOCH) * US_PER_DAY;
        us += (uint64_t)floor_div_1000(ns);
        memcpy(out + i * 8, &us, 8);
    }
}

/* Two's complement, most significant byte first; false when it needs more than 128 bits. */
static bool read_big_endian(const uint8_t *bytes, size_t length, cv_wide_int *ret_value)
{
    uint8_t fill = length && bytes[0] & 0x80 ? 0xff : 0;
    cv_uint128 value = fill ? ~(cv_uint128)0 : 0;

    for (; length > 16; length--, bytes++)
        if (*bytes != fill)
            return false;
    for (size_t i = 0; i < length; i++)
        value = value << 8 | bytes[i];
    *ret_value = (cv_wide_int)value;
    return length == 0 || ((bytes[0] ^ fill) & 0x80) == 0;
}

static enum cv_code put_decimal(const struct cv_read_leaf *leaf, cv_wide_int value, size_t width,
                                uint8_t *out, struct cv_error *err)
{
    int32_t narrow = (int32_t)value;
    int64_t middle = (int64_t)value;

    if (width == 4 && narrow == value)
        memcpy(out, &narrow, 4);
    else if (width == 8 && middle == value)
        memcpy(out, &middle, 8);
    else if (width == 16)
        memcpy(out, &value, 16);
    else
        return fail_range(leaf, "decimal", err);
    return CV_OK;
}

static enum cv_code convert_int_decimal(const struct cv_read_leaf *leaf, const uint8_t *values,
                                        size_t count, uint8_t *out, struct cv_error *err)
{
    size_t width = cv_type_width(leaf->type);

    if (width == leaf->width) {
        memcpy(out, values, count * width);
        return CV_OK;
    }
    for (size_t i = 0; i < count; i++) {
        int32_t narrow;
        int64_t value;

        memcpy(&narrow, values + i * leaf->width, 4);
        value = narrow;
        if (leaf->width == 8)
            memcpy(&value, values + i * 8, 8);
        CV_DO(put_decimal(leaf, value, width, out + i * width, err));
    }
    return CV_OK;
}

static enum cv_code convert_fixed_decimal(const struct cv_read_leaf *leaf, const uint8_t *values,
                                          size_t count, uint8_t *out, struct cv_error *err)
{
    size_t width = cv_type_width(leaf->type);
    cv_wide_int value;

    for (size_t i = 0; i < count; i++) {
        if (!read_big_endian(values + i * leaf->width, leaf->width, &value))
            return fail_range(leaf, "decimal", err);
        CV_DO(put_decimal(leaf, value, width, out + i * width, err));
    }
    return CV_OK;
}

enum cv_code cv_read_convert_bytes(const struct cv_read_leaf *leaf, const struct cv_builder *bytes,
                                   size_t count, uint8_t *out, struct cv_error *err)
{
    size_t width = cv_type_width(leaf->type);
    cv_wide_int value;

    for (size_t i = 0; i < count; i++) {
        size_t start = (size_t)bytes->offsets[i];

        if (!read_big_endian(bytes->data + start, (size_t)bytes->offsets[i + 1] - start, &value))
            return fail_range(leaf, "decimal", err);
        CV_DO(put_decimal(leaf, value, width, out + i * width, err));
    }
    return CV_OK;
}

enum cv_code cv_read_convert(const struct cv_read_leaf *leaf, const uint8_t *values, size_t count,
                             uint8_t *out, struct cv_error *err)
{
    switch (leaf->convert) {
    case CV_CONVERT_NONE:
        if (count)
            memcpy(out, values, count * leaf->width);
        break;
    case CV_CONVERT_INT32_LONG:
        CONVERT(int32_t, int64_t, from);
        break;
    case CV_CONVERT_UINT32_LONG:
        CONVERT(uint32_t, int64_t, from);
        break;
    case CV_CONVERT_UINT64_LONG:
        return convert_unsigned(leaf, values, count, out, err);
    case CV_CONVERT_FLOAT_DOUBLE:
        CONVERT(float, double, from);
        break;
    case CV_CONVERT_FLOAT16_FLOAT:
        CONVERT(uint16_t, float, from_half(from));
        break;
    case CV_CONVERT_FLOAT16_DOUBLE:
        CONVERT(uint16_t, double, from_half(from));
        break;
    case CV_CONVERT_MILLIS32:
        CONVERT(int32_t, int64_t, (int64_t)from * US_PER_MS);
        break;
    case CV_CONVERT_MILLIS64:
        return convert_millis(leaf, values, count, out, err);
    case CV_CONVERT_NANOS64:
        CONVERT(int64_t, int64_t, floor_div_1000(from));
        break;
    case CV_CONVERT_INT96:
        convert_int96(values, count, out);
        break;
    case CV_CONVERT_DECIMAL_INT32:
    case CV_CONVERT_DECIMAL_INT64:
        return convert_int_decimal(leaf, values, count, out, err);
    case CV_CONVERT_DECIMAL_FIXED:
        return convert_fixed_decimal(leaf, values, count, out, err);
    case CV_CONVERT_BITS:
    case CV_CONVERT_BYTES:
    case CV_CONVERT_DECIMAL_BYTES:
        return cv_fail(err, CV_INTERNAL, "conversion %d", (int)leaf->convert);
    }
    return CV_OK;
}
