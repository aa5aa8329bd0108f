/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounds from the bytes that statistics and metrics hold of them. */
#include "parquet/bounds.h"

#include "schema/value.h"

#include <math.h>

static bool is_bytes(const struct cv_type *type)
{
    enum cv_bounds_order order = cv_bounds_order_of(type);

    return order == CV_BOUNDS_BYTES || order == CV_BOUNDS_UUID;
}

static bool take_bytes(struct cv_bounds *bounds, const struct cv_type *type, struct cv_str min,
                       struct cv_str max)
{
    struct cv_str both[2] = {min, max};
    size_t width = cv_type_width(type);

    if (width && (min.length != width || max.length != width))
        return false;
    if (cv_bounds_order_of(type) == CV_BOUNDS_UUID)
        cv_bounds_uuid(bounds, both, 2);
    else
        cv_bounds_bytes(bounds, both, 2);
    return true;
}

static bool take_numbers(struct cv_bounds *bounds, const struct cv_type *type,
                         const struct cv_value values[2])
{
    double reals[2];
    int64_t integers[2];
    cv_wide_int wide[2];

    for (int i = 0; i < 2; i++) {
        reals[i] = type->kind == CV_TYPE_FLOAT ? (double)values[i].f32 : values[i].f64;
        wide[i] = values[i].decimal;
        if (type->kind == CV_TYPE_BOOLEAN)
            integers[i] = values[i].boolean;
        else if (type->kind == CV_TYPE_DECIMAL)
            integers[i] = (int64_t)values[i].decimal;
        else
            integers[i] = cv_type_width(type) == 4 ? values[i].i32 : values[i].i64;
    }
    switch (cv_bounds_order_of(type)) {
    case CV_BOUNDS_FLOAT:
        if (isnan(reals[0]) || isnan(reals[1]))
            return false;
        (void)cv_bounds_f64(bounds, reals, 2);
        return true;
    case CV_BOUNDS_WIDE:
        cv_bounds_wide(bounds, wide, 2);
        return true;
    default:
        cv_bounds_i64(bounds, integers, 2);
        return true;
    }
}

/* PLAIN bytes of a number: as Iceberg has them, but for decimals that are integers in the file. */
static bool read_plain(const struct cv_type *type, struct cv_str bytes, struct cv_value *ret)
{
    size_t width = CV_MAX(cv_type_width(type), (size_t)1);
    const struct cv_type integer = {.kind = width == 4 ? CV_TYPE_INT : CV_TYPE_LONG};

    if (cv_bounds_order_of(type) == CV_BOUNDS_WIDE)
        return bytes.length <= 16 && cv_value_read_binary(type, bytes, ret, NULL) == CV_OK;
    if (bytes.length != width)
        return false;
    if (type->kind != CV_TYPE_DECIMAL)
        return cv_value_read_binary(type, bytes, ret, NULL) == CV_OK;
    if (cv_value_read_binary(&integer, bytes, ret, NULL) != CV_OK)
        return false;
    ret->decimal = width == 4 ? ret->i32 : ret->i64;
    return true;
}

bool cv_bounds_take_parquet(struct cv_bounds *bounds, const struct cv_type *type, struct cv_str min,
                            struct cv_str max)
{
    struct cv_value values[2];

    if (is_bytes(type))
        return take_bytes(bounds, type, min, max);
    return read_plain(type, min, &values[0]) && read_plain(type, max, &values[1]) &&
           take_numbers(bounds, type, values);
}

bool cv_bounds_take_iceberg(struct cv_bounds *bounds, const struct cv_type *type,
                            struct cv_str lower, struct cv_str upper)
{
    struct cv_value values[2];

    if (is_bytes(type))
        return take_bytes(bounds, type, lower, upper);
    return cv_value_read_binary(type, lower, &values[0], NULL) == CV_OK &&
           cv_value_read_binary(type, upper, &values[1], NULL) == CV_OK &&
           take_numbers(bounds, type, values);
}
