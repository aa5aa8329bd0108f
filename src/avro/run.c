/* SPDX-License-Identifier: Apache-2.0
 *
 * The interpreter. One pass over the ops of a block; the position is kept in a local and written
 * back around calls. The common shapes of values are handled here, the rest in run_leaf.c. */
#include "avro/plan_int.h"
#include "base/time.h"
#include "codec/utf8.h"

#include <stdio.h>

#define SHORT_TEXT_BYTES    32
#define LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

bool cv_plan_fail(struct cv_plan_run *run, const char *path, const char *format, ...)
{
    va_list args;

    run->fault->field = path ? path : "";
    va_start(args, format);
    (void)vsnprintf(run->fault->reason, sizeof run->fault->reason, format, args);
    va_end(args);
    return false;
}

bool cv_plan_malformed(struct cv_plan_run *run, const char *path)
{
    return cv_plan_fail(run, path, "malformed Avro %zu bytes before the end of the record",
                        (size_t)(run->end - run->at));
}

/* Squeezes the 7-bit groups of up to 8 bytes together. */
static inline uint64_t pack_groups(uint64_t raw)
{
    raw &= 0x7f7f7f7f7f7f7f7fu;
    raw = (raw & 0x007f007f007f007fu) | (raw & 0x7f007f007f007f00u) >> 1;
    raw = (raw & 0x00003fff00003fffu) | (raw & 0x3fff00003fff0000u) >> 2;
    return (raw & 0x000000000fffffffu) | (raw & 0x0fffffff00000000u) >> 4;
}

/* Returns the position behind the number, or NULL. */
static inline const uint8_t *take_long(const uint8_t *at, const uint8_t *end, int64_t *ret_value)
{
    uint64_t raw;

    if (LIKELY(end - at >= 8)) {
        uint64_t stops;

        memcpy(&raw, at, 8);
        stops = ~raw & 0x8080808080808080u;
        if (LIKELY(stops != 0)) {
            uint64_t keep = stops ^ (stops - 1); /* up to the first byte without its high bit */

            raw = pack_groups(raw & keep);
            *ret_value = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
            return at + (__builtin_ctzll(stops) >> 3) + 1;
        }
    }
    struct cv_avro_reader r = {at, end};

    return cv_avro_read_long(&r, ret_value) ? r.at : NULL;
}

static inline const uint8_t *take_span(const uint8_t *at, const uint8_t *end,
                                       const uint8_t **ret_bytes, size_t *ret_length)
{
    int64_t length;

    if (LIKELY(at < end && *at < 0x80))
        length = (*at >> 1) ^ -(int64_t)(*at & 1), at++;
    else
        at = take_long(at, end, &length);
    if (UNLIKELY(!at || length < 0 || length > end - at))
        return NULL;
    *ret_bytes = at;
    *ret_length = (size_t)length;
    return at + length;
}

/* Appends text; short text is copied as one block when both sides have the room. */
static inline void append_bytes(struct cv_builder *builder, const uint8_t *bytes, size_t length,
                                const uint8_t *end)
{
    if (LIKELY(length <= SHORT_TEXT_BYTES && end - bytes >= SHORT_TEXT_BYTES &&
               builder->data_capacity - builder->data_length >= SHORT_TEXT_BYTES &&
               builder->length < builder->capacity)) {
        if (builder->validity)
            cv_bit_set(builder->validity, builder->length);
        memcpy(builder->data + builder->data_length, bytes, SHORT_TEXT_BYTES);
        builder->data_length += length;
        builder->offsets[++builder->length] = (int32_t)builder->data_length;
        return;
    }
    cv_builder_bytes(builder, bytes, length);
}

/* Each op_* below reads at `at` and returns the position behind, NULL for malformed bytes, or calls
 * slow() for what it does not handle. */
static const uint8_t *slow(struct cv_plan_run *run, const struct cv_plan_op *op,
                           struct cv_builder *builder, const uint8_t *at, bool *ret_failed)
{
    run->at = at;
    *ret_failed = !cv_plan_run_leaf(run, op, builder);
    return run->at;
}

static inline const uint8_t *op_i32(struct cv_builder *builder, const uint8_t *at,
                                    const uint8_t *end, bool wide)
{
    int64_t value;

    at = take_long(at, end, &value);
    if (UNLIKELY(!at || value != (int32_t)value))
        return NULL;
    if (wide)
        cv_builder_i64(builder, value);
    else
        cv_builder_i32(builder, (int32_t)value);
    return at;
}

static inline const uint8_t *op_i64(struct cv_builder *builder, const uint8_t *at,
                                    const uint8_t *end)
{
    int64_t value;

    at = take_long(at, end, &value);
    if (LIKELY(at != NULL))
        cv_builder_i64(builder, value);
    return at;
}

static inline const uint8_t *op_scaled(struct cv_plan_run *run, const struct cv_plan_op *op,
                                       struct cv_builder *builder, const uint8_t *at,
                                       bool *ret_failed)
{
    int64_t value;

    at = take_long(at, run->end, &value);
    if (UNLIKELY(!at))
        return NULL;
    if (op->code == CV_OP_I64_FLOOR) {
        value = cv_floor_div(value, (int64_t)op->count);
    } else if (UNLIKELY(__builtin_mul_overflow(value, (int64_t)op->count, &value))) {
        *ret_failed = !cv_plan_fail(run, op->path, "the instant is beyond what microseconds hold");
        return at;
    }
    cv_builder_i64(builder, value);
    return at;
}

static inline const uint8_t *op_real(struct cv_builder *builder, const uint8_t *at,
                                     const uint8_t *end, enum cv_plan_op_code code)
{
    size_t size = code == CV_OP_F64 ? 8 : 4;
    double real;
    float single;

    if (UNLIKELY((size_t)(end - at) < size))
        return NULL;
    if (code == CV_OP_F64) {
        memcpy(&real, at, 8);
        cv_builder_f64(builder, real);
    } else {
        memcpy(&single, at, 4);
        if (code == CV_OP_F32)
            cv_builder_f32(builder, single);
        else
            cv_builder_f64(builder, single);
    }
    return at + size;
}

static inline const uint8_t *op_text(struct cv_plan_run *run, const struct cv_plan_op *op,
                                     struct cv_builder *builder, const uint8_t *at,
                                     bool *ret_failed)
{
    const uint8_t *bytes;
    size_t length;

    at = take_span(at, run->end, &bytes, &length);
    if (UNLIKELY(!at))
        return NULL;
    if (op->code == CV_OP_STRING && UNLIKELY(!cv_utf8_valid(bytes, length))) {
        *ret_failed = !cv_plan_fail(run, op->path, "the text is not valid UTF-8");
        return at;
    }
    append_bytes(builder, bytes, length, run->end);
    return at;
}

static inline const uint8_t *op_decimal(struct cv_plan_run *run, const struct cv_plan_op *op,
                                        struct cv_builder *builder, const uint8_t *at,
                                        bool *ret_failed)
{
    const uint8_t *start = at;
    const uint8_t *bytes;
    size_t length;
    int64_t value;
    uint64_t raw = 0;
    int64_t limit = cv_cast_powers_of_ten_[op->leaf->natural.precision];

    at = take_span(at, run->end, &bytes, &length);
    if (UNLIKELY(!at))
        return NULL;
    if (UNLIKELY(length - 1 > 7)) /* none, or more than a word */
        return slow(run, op, builder, start, ret_failed);
    for (size_t i = 0; i < length; i++)
        raw = raw << 8 | bytes[i];
    value = (int64_t)(raw << (64 - 8 * length)) >> (64 - 8 * length);
    if (UNLIKELY(value >= limit || value <= -limit))
        return slow(run, op, builder, start, ret_failed);
    cv_builder_decimal(builder, value);
    return at;
}

static inline const uint8_t *op_text_decimal(struct cv_plan_run *run, const struct cv_plan_op *op,
                                             struct cv_builder *builder, const uint8_t *at,
                                             bool *ret_failed)
{
    const uint8_t *start = at;
    const uint8_t *bytes;
    size_t length;
    int64_t value;

    at = take_span(at, run->end, &bytes, &length);
    if (UNLIKELY(!at))
        return NULL;
    if (UNLIKELY(!cv_cast_text_to_decimal64((struct cv_str){(const char *)bytes, length},
                                            op->leaf->cast_type.precision,
                                            op->leaf->cast_type.scale, &value)))
        return slow(run, op, builder, start, ret_failed);
    cv_builder_decimal(builder, value);
    return at;
}

static inline const uint8_t *op_small(const struct cv_plan_op *op, struct cv_builder *builder,
                                      const uint8_t *at, const uint8_t *end)
{
    if (op->code == CV_OP_BOOL) {
        if (UNLIKELY(at == end || *at > 1))
            return NULL;
        cv_builder_bool(builder, *at);
        return at + 1;
    }
    if (UNLIKELY((size_t)(end - at) < builder->width))
        return NULL;
    cv_builder_fixed(builder, at);
    return at + builder->width;
}

static inline const uint8_t *op_skip(struct cv_plan_run *run, const struct cv_plan_op *op,
                                     const uint8_t *at)
{
    const uint8_t *bytes;
    size_t length;
    int64_t value;

    switch (op->code) {
    case CV_OP_SKIP_VARINT:
        return take_long(at, run->end, &value);
    case CV_OP_SKIP_BYTES:
        return take_span(at, run->end, &bytes, &length);
    case CV_OP_SKIP_FIXED:
        return op->count <= (uint64_t)(run->end - at) ? at + op->count : NULL;
    default:
        run->at = at;
        return cv_plan_run_skip(run, op->skip, 0) ? run->at : NULL;
    }
}

static bool run_block(struct cv_plan_run *run, const struct cv_plan_block *block,
                      struct cv_builder *base);

static bool run_items(struct cv_plan_run *run, const struct cv_plan_op *op,
                      struct cv_builder *builder)
{
    int64_t count;
    int64_t bytes;

    do {
        if (!cv_plan_read_count(run, op->block->is_empty, &count, &bytes))
            return cv_plan_malformed(run, op->path);
        if (builder->children[0].length + (uint64_t)count > CV_COLUMN_BYTES_MAX)
            return cv_plan_fail(run, op->path, "too many items");
        for (int64_t i = 0; i < count; i++)
            if (!run_block(run, op->block, builder->children))
                return false;
    } while (count != 0);
    cv_builder_end_list(builder);
    return true;
}

static bool run_nested(struct cv_plan_run *run, const struct cv_plan_op *op,
                       struct cv_builder *builder)
{
    if (op->code != CV_OP_STRUCT)
        return run_items(run, op, builder);
    if (!run_block(run, op->block, builder->children))
        return false;
    cv_builder_end_struct(builder);
    return true;
}

/* The rest: values without a fast path, containers, and failures. */
static bool run_other(struct cv_plan_run *run, const struct cv_plan_op *op,
                      struct cv_builder *builder)
{
    switch (op->code) {
    case CV_OP_VALUE:
        return cv_plan_run_leaf(run, op, builder);
    case CV_OP_NULL:
        if (op->required)
            return cv_plan_fail(run, op->path, "a null where the column is required");
        cv_builder_null(builder);
        return true;
    case CV_OP_FAIL:
        return cv_plan_fail(run, op->path, "%s", op->reason);
    default:
        return run_nested(run, op, builder);
    }
}

/* What branch a nullable op has: 0 null, 1 the value, -1 neither. The byte that is no plain branch
 * may still be a varint that is longer than it need be. */
static inline int take_branch(const uint8_t **at, const uint8_t *end, uint8_t null_byte)
{
    int64_t branch;

    if (UNLIKELY(*at == end))
        return -1;
    if (LIKELY((**at & ~2) == 0))
        return *(*at)++ != null_byte;
    *at = take_long(*at, end, &branch);
    if (!*at || branch < 0 || branch > 1) {
        *at = end;
        return -1;
    }
    return 2 * branch != null_byte;
}

static bool bad_branch(struct cv_plan_run *run, const struct cv_plan_op *op)
{
    return cv_plan_fail(run, op->path, "malformed Avro: no such branch of the union");
}

static const struct cv_plan_op *run_union(struct cv_plan_run *run, const struct cv_plan_op *op)
{
    int64_t branch;

    run->at = take_long(run->at, run->end, &branch);
    if (!run->at || branch < 0 || (uint64_t)branch >= op->branches->count) {
        (void)bad_branch(run, op);
        return NULL;
    }
    return op + op->branches->starts[branch];
}

/* Jumps, marks and constants; returns the next op. A constant holds no constant. */
static const struct cv_plan_op *run_control(struct cv_plan_run *run, const struct cv_plan_op *op)
{
    switch (op->code) {
    case CV_OP_UNION:
        return run_union(run, op);
    case CV_OP_JUMP:
        return op + 1 + op->count;
    case CV_OP_MARK:
        run->marks[op->count] = run->at;
        return op + 1;
    case CV_OP_REWIND:
        run->at = run->marks[op->count];
        return op + 1;
    case CV_OP_CONST:
        run->outer_at = run->at;
        run->outer_end = run->end;
        run->at = op->constant->bytes;
        run->end = run->at + op->constant->length;
        return op + 1;
    case CV_OP_CONST_END:
        run->at = run->outer_at;
        run->end = run->outer_end;
        return op + 1;
    default:
        run->root_null = true;
        return op + 1;
    }
}

static inline bool is_control(const struct cv_plan_op *op)
{
    return op->code >= CV_OP_UNION && op->code <= CV_OP_ROOT_NULL && op->code != CV_OP_FAIL;
}

/* One op that reads a value; NULL for malformed bytes. */
static inline const uint8_t *run_value(struct cv_plan_run *run, const struct cv_plan_op *op,
                                       struct cv_builder *builder, const uint8_t *at,
                                       bool *ret_failed)
{
    switch (op->code) {
    case CV_OP_STRING:
    case CV_OP_BYTES:
        return op_text(run, op, builder, at, ret_failed);
    case CV_OP_I64:
        return op_i64(builder, at, run->end);
    case CV_OP_I64_TIMES:
    case CV_OP_I64_FLOOR:
        return op_scaled(run, op, builder, at, ret_failed);
    case CV_OP_I32:
        return op_i32(builder, at, run->end, false);
    case CV_OP_I32_TO_I64:
        return op_i32(builder, at, run->end, true);
    case CV_OP_F32:
        return op_real(builder, at, run->end, CV_OP_F32);
    case CV_OP_F32_TO_F64:
        return op_real(builder, at, run->end, CV_OP_F32_TO_F64);
    case CV_OP_F64:
        return op_real(builder, at, run->end, CV_OP_F64);
    case CV_OP_BOOL:
    case CV_OP_FIXED:
        return op_small(op, builder, at, run->end);
    case CV_OP_DECIMAL64:
        return op_decimal(run, op, builder, at, ret_failed);
    case CV_OP_TEXT_DECIMAL64:
        return op_text_decimal(run, op, builder, at, ret_failed);
    case CV_OP_SKIP_VARINT:
    case CV_OP_SKIP_BYTES:
    case CV_OP_SKIP_FIXED:
    case CV_OP_SKIP_TREE:
        return op_skip(run, op, at);
    default:
        run->at = at;
        *ret_failed = !run_other(run, op, builder);
        return run->at;
    }
}

static bool run_block(struct cv_plan_run *run, const struct cv_plan_block *block,
                      struct cv_builder *base)
{
    const struct cv_plan_op *op = block->ops;
    const struct cv_plan_op *stop = op + block->count;
    const uint8_t *at = run->at;

    while (op < stop) {
        const uint8_t *start = at;
        bool failed = false;

        if (UNLIKELY(is_control(op))) {
            run->at = at;
            op = run_control(run, op);
            at = run->at;
            if (!op)
                return false;
            continue;
        }
        if (op->null_byte != CV_OP_NOT_NULLABLE) {
            int branch = take_branch(&at, run->end, op->null_byte);

            if (UNLIKELY(branch < 0))
                return bad_branch(run, op);
            if (branch == 0) {
                if (op->code < CV_OP_SKIP_VARINT) {
                    if (op->required)
                        return cv_plan_fail(run, op->path, "a null where the column is required");
                    cv_builder_null(&base[op->slot]);
                }
                op++;
                continue;
            }
        }
        at = run_value(run, op, &base[op->slot], at, &failed);
        if (UNLIKELY(failed))
            return false;
        if (UNLIKELY(!at)) {
            run->at = start;
            return cv_plan_malformed(run, op->path);
        }
        op++;
    }
    run->at = at;
    return true;
}

static bool run_datum(const struct cv_avro_plan *plan, struct cv_avro_reader *objects,
                      struct cv_batch_builder *builder, struct cv_plan_run *run)
{
    run->at = objects->at;
    run->end = objects->end;
    run->root_null = false;
    run->empty_items = 0;
    if (!run_block(run, &plan->root, builder->columns))
        return false;
    objects->at = run->at;
    return true;
}

bool cv_avro_plan_run(const struct cv_avro_plan *plan, const uint8_t *bytes, size_t length,
                      struct cv_batch_builder *builder, bool *ret_null,
                      struct cv_avro_fault *ret_fault)
{
    struct cv_avro_reader datum = {bytes, bytes + length};
    struct cv_plan_run run;

    run.fault = ret_fault;
    if (!run_datum(plan, &datum, builder, &run))
        return false;
    if (run.at != run.end)
        return cv_plan_fail(&run, "", "%zu bytes are left over behind the record",
                            (size_t)(run.end - run.at));
    *ret_null = run.root_null;
    return true;
}

bool cv_avro_plan_run_next(const struct cv_avro_plan *plan, struct cv_avro_reader *objects,
                           struct cv_batch_builder *builder, struct cv_avro_fault *ret_fault)
{
    struct cv_plan_run run;

    run.fault = ret_fault;
    return run_datum(plan, objects, builder, &run);
}
