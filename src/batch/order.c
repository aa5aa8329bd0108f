/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes in the order of values. */
#include "batch/order.h"

#include <math.h>

/* Bits of a float in the order of its values: NaN, one and the same, above all. */
static uint64_t ordered_double(double value)
{
    uint64_t bits;

    if (isnan(value))
        return UINT64_MAX;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

uint64_t cv_order_number(const struct cv_value *value)
{
    switch (value->kind) {
    case CV_TYPE_BOOLEAN:
        return value->boolean;
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
        return (uint64_t)(int64_t)value->i32 ^ UINT64_C(1) << 63;
    case CV_TYPE_FLOAT:
        return ordered_double((double)value->f32);
    case CV_TYPE_DOUBLE:
        return ordered_double(value->f64);
    default:
        return (uint64_t)value->i64 ^ UINT64_C(1) << 63;
    }
}

void cv_order_put_number(uint64_t number, uint8_t bytes[8])
{
    number = __builtin_bswap64(number);
    memcpy(bytes, &number, 8);
}

/* 0 is written as 0 255, the end as 0 0. */
static void put_text(struct cv_str text, struct cv_buf *out)
{
    while (text.length) {
        const char *zero = memchr(text.ptr, 0, text.length);
        size_t length = zero ? (size_t)(zero - text.ptr) + 1 : text.length;

        cv_buf_append(out, text.ptr, length);
        if (zero)
            cv_buf_append_byte(out, 0xff);
        text.ptr += length;
        text.length -= length;
    }
    cv_buf_append(out, "\0\0", 2);
}

void cv_order_write(const struct cv_value *value, struct cv_buf *out)
{
    uint8_t bytes[16];

    switch (value->kind) {
    case CV_TYPE_DECIMAL:
        cv_order_put_number((uint64_t)(value->decimal >> 64) ^ UINT64_C(1) << 63, bytes);
        cv_order_put_number((uint64_t)value->decimal, bytes + 8);
        cv_buf_append(out, bytes, 16);
        break;
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
    case CV_TYPE_UUID:
    case CV_TYPE_FIXED:
        put_text(value->bytes, out);
        break;
    default:
        cv_order_put_number(cv_order_number(value), bytes);
        cv_buf_append(out, bytes, 8);
        break;
    }
}
