/* SPDX-License-Identifier: Apache-2.0
 *
 * Minimum and maximum by type. */
#include "parquet/bounds.h"

#include "schema/value.h"

#include <assert.h>
#include <math.h>

enum cv_bounds_order cv_bounds_order_of(const struct cv_type *type)
{
    switch (type->kind) {
    case CV_TYPE_FLOAT:
    case CV_TYPE_DOUBLE:
        return CV_BOUNDS_FLOAT;
    case CV_TYPE_DECIMAL:
        return type->precision > 18 ? CV_BOUNDS_WIDE : CV_BOUNDS_INTEGER;
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
    case CV_TYPE_FIXED:
        return CV_BOUNDS_BYTES;
    case CV_TYPE_UUID:
        return CV_BOUNDS_UUID;
    default:
        return CV_BOUNDS_INTEGER;
    }
}

void cv_bounds_clear(struct cv_bounds *bounds)
{
    bounds->present = false;
    cv_buf_clear(&bounds->min_bytes);
    cv_buf_clear(&bounds->max_bytes);
}

void cv_bounds_release(struct cv_bounds *bounds)
{
    cv_buf_release(&bounds->min_bytes);
    cv_buf_release(&bounds->max_bytes);
    *bounds = (struct cv_bounds){0};
}

#define INTEGERS(type)                                                                             \
    type min = values[0];                                                                          \
    type max = values[0];                                                                          \
                                                                                                   \
    for (size_t i = 1; i < count; i++) {                                                           \
        min = values[i] < min ? values[i] : min;                                                   \
        max = values[i] > max ? values[i] : max;                                                   \
    }

static void take_integers(struct cv_bounds *bounds, int64_t min, int64_t max)
{
    bounds->min.i64 = bounds->present ? CV_MIN(bounds->min.i64, min) : min;
    bounds->max.i64 = bounds->present ? CV_MAX(bounds->max.i64, max) : max;
    bounds->present = true;
}

void cv_bounds_i32(struct cv_bounds *bounds, const int32_t *values, size_t count)
{
    INTEGERS(int32_t)
    take_integers(bounds, min, max);
}

void cv_bounds_i64(struct cv_bounds *bounds, const int64_t *values, size_t count)
{
    INTEGERS(int64_t)
    take_integers(bounds, min, max);
}

/* -0.0 below +0.0; neither is a NaN. */
static inline bool float_less(double a, double b)
{
    return a < b || (a == b && a == 0 && signbit(a) && !signbit(b));
}

static void take_floats(struct cv_bounds *bounds, double min, double max)
{
    if (!bounds->present || float_less(min, bounds->min.f64))
        bounds->min.f64 = min;
    if (!bounds->present || float_less(bounds->max.f64, max))
        bounds->max.f64 = max;
    bounds->present = true;
}

#define FLOATS(type)                                                                               \
    double min = INFINITY;                                                                         \
    double max = -INFINITY;                                                                        \
    size_t nans = 0;                                                                               \
                                                                                                   \
    for (size_t i = 0; i < count; i++) {                                                           \
        double value = (double)values[i];                                                          \
                                                                                                   \
        if (isnan(value)) {                                                                        \
            nans++;                                                                                \
            continue;                                                                              \
        }                                                                                          \
        if (value <= min && (value < min || float_less(value, min)))                               \
            min = value;                                                                           \
        if (value >= max && (value > max || float_less(max, value)))                               \
            max = value;                                                                           \
    }                                                                                              \
    if (nans < count)                                                                              \
        take_floats(bounds, min, max);                                                             \
    return nans;

size_t cv_bounds_f32(struct cv_bounds *bounds, const float *values, size_t count){FLOATS(float)}

size_t cv_bounds_f64(struct cv_bounds *bounds, const double *values, size_t count)
{
    FLOATS(double)
}

static void take_wide(struct cv_bounds *bounds, cv_wide_int min, cv_wide_int max)
{
    bounds->min.wide = bounds->present ? CV_MIN(bounds->min.wide, min) : min;
    bounds->max.wide = bounds->present ? CV_MAX(bounds->max.wide, max) : max;
}

void cv_bounds_wide(struct cv_bounds *bounds, const cv_wide_int *values, size_t count)
{
    INTEGERS(cv_wide_int)
    take_wide(bounds, min, max);
    bounds->present = true;
}

static int compare_bytes(struct cv_str a, struct cv_str b)
{
    size_t common = CV_MIN(a.length, b.length);
    int order = common ? memcmp(a.ptr, b.ptr, common) : 0;

    if (order != 0)
        return order;
    return (a.length > b.length) - (a.length < b.length);
}

static inline uint64_t load_big_endian(const char *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, 8);
    return __builtin_bswap64(word);
}

/* The first eight bytes as a number, zero-padded: a smaller prefix is a smaller value, an equal one
 * asks for a comparison of the whole. */
static inline uint64_t prefix_of(struct cv_str value)
{
    uint64_t prefix = 0;

    if (value.length >= 8)
        return load_big_endian(value.ptr);
    for (size_t i = 0; i < value.length; i++)
        prefix |= (uint64_t)(uint8_t)value.ptr[i] << (56 - 8 * i);
    return prefix;
}

static struct cv_str text_of(const struct cv_buf *bytes)
{
    return (struct cv_str){(const char *)bytes->data, bytes->length};
}

static void replace_bytes(struct cv_buf *bytes, struct cv_str value)
{
    cv_buf_clear(bytes);
    cv_buf_append(bytes, value.ptr, value.length);
}

void cv_bounds_bytes(struct cv_bounds *bounds, const struct cv_str *values, size_t count)
{
    struct cv_str min = bounds->present ? text_of(&bounds->min_bytes) : values[0];
    struct cv_str max = bounds->present ? text_of(&bounds->max_bytes) : values[0];
    uint64_t min_prefix = prefix_of(min);
    uint64_t max_prefix = prefix_of(max);
    const char *old_min = bounds->present ? min.ptr : NULL;
    const char *old_max = bounds->present ? max.ptr : NULL;

    for (size_t i = 0; i < count; i++) {
        uint64_t prefix = prefix_of(values[i]);

        if (prefix <= min_prefix && (prefix < min_prefix || compare_bytes(values[i], min) < 0)) {
            min = values[i];
            min_prefix = prefix;
        }
        if (prefix >= max_prefix && (prefix > max_prefix || compare_bytes(values[i], max) > 0)) {
            max = values[i];
            max_prefix = prefix;
        }
    }
    if (!bounds->present || min.ptr != old_min)
        replace_bytes(&bounds->min_bytes, min);
    if (!bounds->present || max.ptr != old_max)
        replace_bytes(&bounds->max_bytes, max);
    bounds->present = true;
}

/* A number whose order is that of (signed high half, signed low half). */
static cv_wide_int signed_halves(const char *bytes)
{
    uint64_t low = load_big_endian(bytes + 8) ^ UINT64_C(1) << 63;

    return (cv_wide_int)((cv_uint128)load_big_endian(bytes) << 64 | low);
}

void cv_bounds_uuid(struct cv_bounds *bounds, const struct cv_str *values, size_t count)
{
    cv_wide_int min = signed_halves(values[0].ptr);
    cv_wide_int max = min;

    for (size_t i = 1; i < count; i++) {
        cv_wide_int value = signed_halves(values[i].ptr);

        min = value < min ? value : min;
        max = value > max ? value : max;
    }
    take_wide(bounds, min, max);
    cv_bounds_bytes(bounds, values, count);
}

void cv_bounds_merge(struct cv_bounds *bounds, const struct cv_bounds *other,
                     enum cv_bounds_order order)
{
    if (!other->present)
        return;
    switch (order) {
    case CV_BOUNDS_INTEGER:
        take_integers(bounds, other->min.i64, other->max.i64);
        return;
    case CV_BOUNDS_FLOAT:
        take_floats(bounds, other->min.f64, other->max.f64);
        return;
    case CV_BOUNDS_WIDE:
        take_wide(bounds, other->min.wide, other->max.wide);
        bounds->present = true;
        return;
    case CV_BOUNDS_UUID:
    case CV_BOUNDS_BYTES: {
        struct cv_str both[2] = {text_of(&other->min_bytes), text_of(&other->max_bytes)};

        if (order == CV_BOUNDS_UUID)
            take_wide(bounds, other->min.wide, other->max.wide);
        cv_bounds_bytes(bounds, both, 2);
        return;
    }
    }
}

#define SIGN(a, b) (((a) > (b)) - ((a) < (b)))

int cv_bounds_compare_min(const struct cv_bounds *a, const struct cv_bounds *b,
                          enum cv_bounds_order order)
{
    switch (order) {
    case CV_BOUNDS_INTEGER:
        return SIGN(a->min.i64, b->min.i64);
    case CV_BOUNDS_FLOAT:
        return SIGN(a->min.f64, b->min.f64);
    case CV_BOUNDS_WIDE:
        return SIGN(a->min.wide, b->min.wide);
    case CV_BOUNDS_BYTES:
    case CV_BOUNDS_UUID:
        return compare_bytes(text_of(&a->min_bytes), text_of(&b->min_bytes));
    }
    return 0;
}

int cv_bounds_compare_max(const struct cv_bounds *a, const struct cv_bounds *b,
                          enum cv_bounds_order order)
{
    switch (order) {
    case CV_BOUNDS_INTEGER:
        return SIGN(a->max.i64, b->max.i64);
    case CV_BOUNDS_FLOAT:
        return SIGN(a->max.f64, b->max.f64);
    case CV_BOUNDS_WIDE:
        return SIGN(a->max.wide, b->max.wide);
    case CV_BOUNDS_BYTES:
    case CV_BOUNDS_UUID:
        return compare_bytes(text_of(&a->max_bytes), text_of(&b->max_bytes));
    }
    return 0;
}

/* Code points that fit into `limit` bytes, at least one. */
static int32_t code_points_within(struct cv_str text, size_t limit)
{
    int32_t count = 0;

    for (size_t i = 0; i < text.length && i <= limit; i++)
        count += ((uint8_t)text.ptr[i] & 0xc0) != 0x80;
    return CV_MAX(count - 1, 1);
}

/* A bound that cannot be cut upwards stays whole. */
static void write_cut(struct cv_str value, const struct cv_type *type, bool upper, size_t limit,
                      struct cv_buf *out, bool *ret_exact)
{
    bool cut = false;

    cv_buf_clear(out);
    if (value.length > limit && type->kind == CV_TYPE_STRING) {
        int32_t length = code_points_within(value, limit);

        cut = true;
        if (!upper)
            cv_bound_lower_text(value, length, out);
        else
            cut = cv_bound_upper_text(value, length, out);
    } else if (value.length > limit && type->kind == CV_TYPE_BINARY) {
        cut = true;
        if (!upper)
            cv_bound_lower_binary(value, (int32_t)limit, out);
        else
            cut = cv_bound_upper_binary(value, (int32_t)limit, out);
    }
    *ret_exact = !cut;
    if (!cut)
        replace_bytes(out, value);
}

static void write_float(double value, const struct cv_type *type, bool upper, struct cv_buf *out)
{
    float narrow;

    if (value == 0)
        value = upper ? 0.0 : -0.0;
    narrow = (float)value;
    if (type->kind == CV_TYPE_FLOAT)
        cv_buf_append(out, &narrow, 4);
    else
        cv_buf_append(out, &value, 8);
}

void cv_bounds_write_parquet(const struct cv_bounds *bounds, const struct cv_type *type, bool upper,
                             size_t limit, struct cv_buf *out, bool *ret_exact)
{
    size_t width = cv_type_width(type);
    int64_t integer = upper ? bounds->max.i64 : bounds->min.i64;
    cv_uint128 wide;

    assert(bounds->present);
    cv_buf_clear(out);
    *ret_exact = true;
    switch (cv_bounds_order_of(type)) {
    case CV_BOUNDS_INTEGER:
        cv_buf_append(out, &integer, width ? width : 1);
        return;
    case CV_BOUNDS_FLOAT:
        write_float(upper ? bounds->max.f64 : bounds->min.f64, type, upper, out);
        return;
    case CV_BOUNDS_WIDE:
        wide = (cv_uint128)(upper ? bounds->max.wide : bounds->min.wide);
        for (size_t i = cv_decimal_fixed_bytes(type->precision); i-- > 0;)
            cv_buf_append_byte(out, (uint8_t)(wide >> (8 * i)));
        return;
    case CV_BOUNDS_BYTES:
    case CV_BOUNDS_UUID:
        write_cut(text_of(upper ? &bounds->max_bytes : &bounds->min_bytes), type, upper, limit, out,
                  ret_exact);
        return;
    }
}

static bool write_iceberg_bytes(struct cv_str value, const struct cv_type *type, bool upper,
                                struct cv_metrics_mode mode, struct cv_buf *out)
{
    bool text = type->kind == CV_TYPE_STRING;

    if (mode.kind != CV_METRICS_TRUNCATE || (!text && type->kind != CV_TYPE_BINARY)) {
        cv_buf_append(out, value.ptr, value.length);
        return true;
    }
    if (text && upper)
        return cv_bound_upper_text(value, mode.length, out);
    if (upper)
        return cv_bound_upper_binary(value, mode.length, out);
    if (text)
        cv_bound_lower_text(value, mode.length, out);
    else
        cv_bound_lower_binary(value, mode.length, out);
    return true;
}

bool cv_bounds_write_iceberg(const struct cv_bounds *bounds, const struct cv_type *type, bool upper,
                             struct cv_metrics_mode mode, struct cv_buf *out)
{
    struct cv_value value = {.kind = type->kind};
    int64_t integer = upper ? bounds->max.i64 : bounds->min.i64;
    double real = upper ? bounds->max.f64 : bounds->min.f64;

    cv_buf_clear(out);
    if (!bounds->present || mode.kind < CV_METRICS_TRUNCATE)
        return false;
    switch (cv_bounds_order_of(type)) {
    case CV_BOUNDS_UUID:
        if (signed_halves((const char *)bounds->min_bytes.data) != bounds->min.wide ||
            signed_halves((const char *)bounds->max_bytes.data) != bounds->max.wide)
            return false;
        return write_iceberg_bytes(text_of(upper ? &bounds->max_bytes : &bounds->min_bytes), type,
                                   upper, mode, out);
    case CV_BOUNDS_BYTES:
        return write_iceberg_bytes(text_of(upper ? &bounds->max_bytes : &bounds->min_bytes), type,
                                   upper, mode, out);
    case CV_BOUNDS_FLOAT:
        if (type->kind == CV_TYPE_FLOAT)
            value.f32 = (float)real;
        else
            value.f64 = real;
        break;
    case CV_BOUNDS_WIDE:
        value.decimal = upper ? bounds->max.wide : bounds->min.wide;
        break;
    case CV_BOUNDS_INTEGER:
        if (type->kind == CV_TYPE_BOOLEAN)
            value.boolean = integer != 0;
        else if (type->kind == CV_TYPE_DECIMAL)
            value.decimal = integer;
        else if (cv_type_width(type) == 4)
            value.i32 = (int32_t)integer;
        else
            value.i64 = integer;
        break;
    }
    cv_value_write_binary(&value, out);
    return true;
}
