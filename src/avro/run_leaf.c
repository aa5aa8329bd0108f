/* SPDX-License-Identifier: Apache-2.0
 *
 * Primitive values, the slow and complete half of the interpreter: wire bytes to a value of the
 * natural type, through a CAST if there is one, to the column. */
#include "avro/plan_int.h"
#include "base/time.h"
#include "codec/utf8.h"

#include <stdio.h>

#define SCRATCH_BYTES 512 /* any text of a number, time or uuid */

static bool scale_unit(const struct cv_plan_leaf *leaf, int64_t raw, int64_t *ret_us)
{
    if (leaf->unit > 0)
        return !__builtin_mul_overflow(raw, (int64_t)leaf->unit, ret_us);
    *ret_us = leaf->unit < 0 ? cv_floor_div(raw, -leaf->unit) : raw;
    return true;
}

static bool take_integer(struct cv_plan_run *run, const struct cv_plan_op *op,
                         const struct cv_plan_leaf *leaf, struct cv_value *value)
{
    struct cv_avro_reader r = {run->at, run->end};
    int64_t raw;

    if (!cv_avro_read_long(&r, &raw) ||
        (leaf->wire == CV_AVRO_INT && (raw < INT32_MIN || raw > INT32_MAX)))
        return cv_plan_malformed(run, op->path);
    run->at = r.at;
    switch (leaf->natural.kind) {
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
        value->i32 = (int32_t)raw;
        return true;
    case CV_TYPE_FLOAT:
        value->f32 = (float)raw;
        return true;
    case CV_TYPE_DOUBLE:
        value->f64 = (double)raw;
        return true;
    default:
        if (!scale_unit(leaf, raw, &value->i64))
            return cv_plan_fail(run, op->path, "%lld is beyond the range of microseconds",
                                (long long)raw);
        if (leaf->natural.kind == CV_TYPE_TIME && (value->i64 < 0 || value->i64 >= CV_US_PER_DAY))
            return cv_plan_fail(run, op->path, "%lld is no time of day", (long long)raw);
        return true;
    }
}

static bool take_real(struct cv_plan_run *run, const struct cv_plan_op *op,
                      const struct cv_plan_leaf *leaf, struct cv_value *value)
{
    size_t size = leaf->wire == CV_AVRO_FLOAT ? 4 : 8;
    float single;
    double real;

    if ((size_t)(run->end - run->at) < size)
        return cv_plan_malformed(run, op->path);
    if (size == 4) {
        memcpy(&single, run->at, 4);
        real = single;
    } else {
        memcpy(&real, run->at, 8);
        single = (float)real;
    }
    run->at += size;
    if (leaf->natural.kind == CV_TYPE_FLOAT)
        value->f32 = single;
    else
        value->f64 = real;
    return true;
}

/* Big-endian two's complement of any length; sign bytes in front may be many. */
static bool bytes_to_decimal(struct cv_str bytes, uint8_t precision, cv_wide_int *ret_unscaled)
{
    const uint8_t *at = (const uint8_t *)bytes.ptr;
    size_t length = bytes.length;
    cv_uint128 value;
    uint8_t sign;

    if (length == 0)
        return false;
    sign = at[0] & 0x80 ? 0xff : 0;
    while (length > 16 && at[0] == sign) {
        at++;
        length--;
    }
    if (length > 16 || (at[0] & 0x80) != (sign & 0x80))
        return false;
    value = sign ? ~(cv_uint128)0 : 0;
    for (size_t i = 0; i < length; i++)
        value = value << 8 | at[i];
    *ret_unscaled = (cv_wide_int)value;
    return cv_decimal_fits(*ret_unscaled, precision);
}

static bool take_bytes(struct cv_plan_run *run, const struct cv_plan_op *op,
                       const struct cv_plan_leaf *leaf, struct cv_value *value)
{
    struct cv_avro_reader r = {run->at, run->end};
    const uint8_t *bytes;
    size_t length = leaf->size;
    bool good = leaf->wire == CV_AVRO_FIXED ? cv_avro_read_raw(&r, length, &bytes)
                                            : cv_avro_read_bytes(&r, &bytes, &length);

    if (!good)
        return cv_plan_malformed(run, op->path);
    run->at = r.at;
    value->bytes = (struct cv_str){(const char *)bytes, length};
    if (leaf->natural.kind == CV_TYPE_DECIMAL) {
        cv_wide_int unscaled;

        if (!bytes_to_decimal(value->bytes, leaf->natural.precision, &unscaled))
            return cv_plan_fail(run, op->path, "%zu bytes are no decimal(%u, %u)%s", length,
                                leaf->natural.precision, leaf->natural.scale,
                                length ? ": it has too many digits" : "");
        value->decimal = unscaled;
    } else if (leaf->natural.kind == CV_TYPE_STRING && !cv_utf8_valid(bytes, length)) {
        return cv_plan_fail(run, op->path, "the text is not valid UTF-8");
    }
    return true;
}

static bool take_symbol(struct cv_plan_run *run, const struct cv_plan_op *op,
                        const struct cv_plan_leaf *leaf, struct cv_value *value)
{
    struct cv_avro_reader r = {run->at, run->end};
    int64_t index;

    if (!cv_avro_read_long(&r, &index) || index < 0 || (uint64_t)index >= leaf->symbol_count)
        return cv_plan_malformed(run, op->path);
    run->at = r.at;
    if (!leaf->symbols[index].ptr)
        return cv_plan_fail(run, op->path,
                            "symbol %lld of the enum is unknown to the reader "
                            "schema, which has no default for it",
                            (long long)index);
    value->bytes = leaf->symbols[index];
    return true;
}

static bool take(struct cv_plan_run *run, const struct cv_plan_op *op,
                 const struct cv_plan_leaf *leaf, struct cv_value *value)
{
    value->kind = leaf->natural.kind;
    switch (leaf->wire) {
    case CV_AVRO_BOOLEAN:
        if (run->at == run->end || *run->at > 1)
            return cv_plan_malformed(run, op->path);
        value->boolean = *run->at++ != 0;
        return true;
    case CV_AVRO_INT:
    case CV_AVRO_LONG:
        return take_integer(run, op, leaf, value);
    case CV_AVRO_FLOAT:
    case CV_AVRO_DOUBLE:
        return take_real(run, op, leaf, value);
    case CV_AVRO_ENUM:
        return take_symbol(run, op, leaf, value);
    default:
        return take_bytes(run, op, leaf, value);
    }
}

/* A value of an assignable type to the column. */
static bool append(struct cv_plan_run *run, const struct cv_plan_op *op,
                   const struct cv_value *value, const struct cv_type *column,
                   struct cv_builder *builder)
{
    uint8_t uuid[16];

    switch (column->kind) {
    case CV_TYPE_BOOLEAN:
        cv_builder_bool(builder, value->boolean);
        return true;
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
        cv_builder_i32(builder, value->i32);
        return true;
    case CV_TYPE_LONG:
        cv_builder_i64(builder, value->kind == CV_TYPE_INT ? value->i32 : value->i64);
        return true;
    case CV_TYPE_TIME:
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        cv_builder_i64(builder, value->i64);
        return true;
    case CV_TYPE_FLOAT:
        cv_builder_f32(builder, value->f32);
        return true;
    case CV_TYPE_DOUBLE:
        cv_builder_f64(builder, value->kind == CV_TYPE_FLOAT ? value->f32 : value->f64);
        return true;
    case CV_TYPE_DECIMAL:
        cv_builder_decimal(builder, value->decimal);
        return true;
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
        cv_builder_bytes(builder, value->bytes.ptr, value->bytes.length);
        return true;
    case CV_TYPE_UUID:
        if (value->kind == CV_TYPE_STRING) {
            if (!cv_parse_uuid(value->bytes, uuid))
                return cv_plan_fail(run, op->path, "\"%.*s\" is no UUID",
                                    (int)CV_MIN(value->bytes.length, 40), value->bytes.ptr);
            cv_builder_fixed(builder, uuid);
            return true;
        }
        cv_builder_fixed(builder, value->bytes.ptr);
        return true;
    default:
        if (value->bytes.length != builder->width)
            return cv_plan_fail(run, op->path, "%zu bytes do not fit a fixed of %zu",
                                value->bytes.length, builder->width);
        cv_builder_fixed(builder, value->bytes.ptr);
        return true;
    }
}

bool cv_plan_run_leaf(struct cv_plan_run *run, const struct cv_plan_op *op,
                      struct cv_builder *builder)
{
    const struct cv_plan_leaf *leaf = op->leaf;
    uint8_t bytes[SCRATCH_BYTES];
    struct cv_buf scratch = {bytes, 0, sizeof bytes, sizeof bytes, false}; /* never grows */
    char reason[CV_CAST_REASON_BYTES];
    struct cv_value value = {0};
    struct cv_value cast;

    if (!take(run, op, leaf, &value))
        return false;
    if (leaf->cast == CV_AVRO_ASSIGN)
        return append(run, op, &value, &leaf->column, builder);
    if (cv_cast_value(&value, &leaf->natural, &leaf->cast_type, &scratch, &cast, reason))
        return append(run, op, &cast, &leaf->column, builder);
    if (leaf->cast == CV_AVRO_CAST)
        return cv_plan_fail(run, op->path, "%s", reason);
    if (op->required)
        return cv_plan_fail(run, op->path, "%s, and the column is required", reason);
    cv_builder_null(builder);
    return true;
}
