/* SPDX-License-Identifier: Apache-2.0
 *
 * Single values: Appendix D bytes, decimal sizes, order. */
#include "schema/value.h"

#include "base/time.h"

#include <math.h>

/* --- decimals -------------------------------------------------------------------------------- */

cv_wide_int cv_decimal_power_of_ten(unsigned exponent)
{
    static const uint64_t low[20] = {
        1u,
        10u,
        100u,
        1000u,
        10000u,
        100000u,
        1000000u,
        10000000u,
        100000000u,
        1000000000u,
        10000000000u,
        100000000000u,
        1000000000000u,
        10000000000000u,
        100000000000000u,
        1000000000000000u,
        10000000000000000u,
        100000000000000000u,
        1000000000000000000u,
        10000000000000000000u,
    };

    if (exponent < 20)
        return (cv_wide_int)low[exponent];
    return (cv_wide_int)low[19] * (cv_wide_int)low[exponent - 19];
}

bool cv_decimal_fits(cv_wide_int unscaled, uint8_t precision)
{
    cv_wide_int limit = cv_decimal_power_of_ten(precision);

    return unscaled < limit && unscaled > -limit;
}

size_t cv_decimal_minimal_bytes(cv_wide_int unscaled, uint8_t bytes[16])
{
    size_t length = 1;

    /* The smallest length whose sign-extended value is the same. */
    while (length < 16 && unscaled >> (length * 8 - 1) != 0 && unscaled >> (length * 8 - 1) != -1)
        length++;
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)(unscaled >> ((length - 1 - i) * 8));
    return length;
}

size_t cv_decimal_fixed_bytes(uint8_t precision)
{
    static const uint8_t sizes[39] = {0,  1,  1,  2,  2,  3,  3,  4,  4,  4,  5,  5,  6,
                                      6,  6,  7,  7,  8,  8,  9,  9,  9,  10, 10, 11, 11,
                                      11, 12, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16, 16};

    return sizes[precision];
}

/* --- Appendix D ------------------------------------------------------------------------------ */

static void append_little_endian(struct cv_buf *out, uint64_t value, size_t length)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)(value >> i * 8);
    cv_buf_append(out, bytes, length);
}

static uint64_t read_little_endian(struct cv_str bytes)
{
    uint64_t value = 0;

    for (size_t i = bytes.length; i-- > 0;)
        value = value << 8 | (uint8_t)bytes.ptr[i];
    return value;
}

void cv_value_write_binary(const struct cv_value *value, struct cv_buf *out)
{
    uint8_t decimal[16];
    uint32_t bits;
    uint64_t wide_bits;

    if (value->is_null)
        return;
    switch (value->kind) {
    case CV_TYPE_BOOLEAN:
        cv_buf_append_byte(out, value->boolean);
        return;
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
        append_little_endian(out, (uint32_t)value->i32, 4);
        return;
    case CV_TYPE_LONG:
    case CV_TYPE_TIME:
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        append_little_endian(out, (uint64_t)value->i64, 8);
        return;
    case CV_TYPE_FLOAT:
        memcpy(&bits, &value->f32, 4);
        append_little_endian(out, bits, 4);
        return;
    case CV_TYPE_DOUBLE:
        memcpy(&wide_bits, &value->f64, 8);
        append_little_endian(out, wide_bits, 8);
        return;
    case CV_TYPE_DECIMAL:
        cv_buf_append(out, decimal, cv_decimal_minimal_bytes(value->decimal, decimal));
        return;
    default:
        cv_buf_append(out, value->bytes.ptr, value->bytes.length);
    }
}

static enum cv_code read_decimal(struct cv_str bytes, struct cv_value *value, struct cv_error *err)
{
    uint8_t sign = bytes.length && (bytes.ptr[0] & 0x80) ? 0xff : 0;
    cv_wide_int unscaled = sign ? -1 : 0;

    if (!bytes.length)
        return cv_fail(err, CV_FORMAT, "a decimal value has no bytes");
    for (size_t i = 0; i < bytes.length; i++) {
        uint8_t byte = (uint8_t)bytes.ptr[i];

        /* Longer than 16 bytes is fine while the extra ones only repeat the sign. */
        if (bytes.length - i > 16 && byte != sign)
            return cv_fail(err, CV_FORMAT, "a decimal value of %zu bytes", bytes.length);
        unscaled = (cv_wide_int)((unsigned __int128)unscaled << 8 | byte);
    }
    if ((unscaled < 0) != (sign != 0) || !cv_decimal_fits(unscaled, 38))
        return cv_fail(err, CV_FORMAT, "a decimal value of more than 38 digits");
    value->decimal = unscaled;
    return CV_OK;
}

static enum cv_code wrong_length(const struct cv_type *type, size_t length, struct cv_error *err)
{
    char text[CV_TYPE_TEXT_BYTES];

    cv_type_text(type, text);
    return cv_fail(err, CV_FORMAT, "a value of type %s has %zu bytes", text, length);
}

static enum cv_code read_float(const struct cv_type *type, struct cv_str bytes,
                               struct cv_value *value, struct cv_error *err)
{
    uint64_t wide_bits = read_little_endian(bytes);
    uint32_t bits = (uint32_t)wide_bits;
    float narrow;

    if (bytes.length != 4 && (type->kind == CV_TYPE_FLOAT || bytes.length != 8))
        return wrong_length(type, bytes.length, err);
    memcpy(&narrow, &bits, 4);
    if (type->kind == CV_TYPE_FLOAT)
        value->f32 = narrow;
    else if (bytes.length == 4)
        value->f64 = narrow;
    else
        memcpy(&value->f64, &wide_bits, 8);
    return CV_OK;
}

/* long and the times; 4 bytes were written before the column was widened. */
static enum cv_code read_long(const struct cv_type *type, struct cv_str bytes,
                              struct cv_value *value, struct cv_error *err)
{
    int32_t narrow =
        (int32_t)(uint32_t)read_little_endian((struct cv_str){bytes.ptr, CV_MIN(bytes.length, 4)});

    if (bytes.length == 8) {
        value->i64 = (int64_t)read_little_endian(bytes);
    } else if (bytes.length == 4 && type->kind == CV_TYPE_LONG) {
        value->i64 = narrow;
    } else if (bytes.length == 4 && type->kind == CV_TYPE_TIMESTAMP) { /* a date */
        if (__builtin_mul_overflow(narrow, CV_US_PER_DAY, &value->i64))
            return cv_fail(err, CV_FORMAT, "the date %d is beyond the timestamps", narrow);
    } else {
        return wrong_length(type, bytes.length, err);
    }
    return CV_OK;
}

enum cv_code cv_value_read_binary(const struct cv_type *type, struct cv_str bytes,
                                  struct cv_value *ret_value, struct cv_error *err)
{
    struct cv_value value = {.kind = type->kind};

    switch (type->kind) {
    case CV_TYPE_BOOLEAN:
        if (bytes.length != 1)
            return wrong_length(type, bytes.length, err);
        value.boolean = bytes.ptr[0] != 0;
        break;
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
        if (bytes.length != 4)
            return wrong_length(type, bytes.length, err);
        value.i32 = (int32_t)(uint32_t)read_little_endian(bytes);
        break;
    case CV_TYPE_LONG:
    case CV_TYPE_TIME:
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        CV_DO(read_long(type, bytes, &value, err));
        break;
    case CV_TYPE_FLOAT:
    case CV_TYPE_DOUBLE:
        CV_DO(read_float(type, bytes, &value, err));
        break;
    case CV_TYPE_DECIMAL:
        CV_DO(read_decimal(bytes, &value, err));
        break;
    case CV_TYPE_UUID:
    case CV_TYPE_FIXED:
        if (bytes.length != cv_type_width(type))
            return wrong_length(type, bytes.length, err);
        value.bytes = bytes;
        break;
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
        value.bytes = bytes;
        break;
    default:
        return cv_fail(err, CV_FORMAT, "a nested type has no single value");
    }
    *ret_value = value;
    return CV_OK;
}

/* --- order ----------------------------------------------------------------------------------- */

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_doubles(double a, double b)
{
    if (isnan(a) || isnan(b))
        return COMPARE(isnan(a) != 0, isnan(b) != 0);
    if (a == 0 && b == 0)
        return COMPARE(signbit(b) != 0, signbit(a) != 0);
    return COMPARE(a, b);
}

static int compare_bytes(struct cv_str a, struct cv_str b)
{
    size_t length = CV_MIN(a.length, b.length);
    int order = length ? memcmp(a.ptr, b.ptr, length) : 0;

    return order ? COMPARE(order, 0) : COMPARE(a.length, b.length);
}

int cv_value_compare(const struct cv_value *a, const struct cv_value *b)
{
    if (a->is_null || b->is_null)
        return COMPARE(b->is_null, a->is_null);
    switch (a->kind) {
    case CV_TYPE_BOOLEAN:
        return COMPARE(a->boolean, b->boolean);
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
        return COMPARE(a->i32, b->i32);
    case CV_TYPE_LONG:
    case CV_TYPE_TIME:
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        return COMPARE(a->i64, b->i64);
    case CV_TYPE_FLOAT:
        return compare_doubles(a->f32, b->f32);
    case CV_TYPE_DOUBLE:
        return compare_doubles(a->f64, b->f64);
    case CV_TYPE_DECIMAL:
        return COMPARE(a->decimal, b->decimal);
    default:
        return compare_bytes(a->bytes, b->bytes);
    }
}
