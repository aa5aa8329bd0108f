/* SPDX-License-Identifier: Apache-2.0
 *
 * Passing over values that no column wants. Types are walked once at compile time into a graph of
 * their own, since the plan outlives the schema; a recursive type is a cycle in it, and a value is
 * followed down to a fixed depth only. */
#include "avro/plan_int.h"

static const struct cv_plan_skip *child_of(struct cv_plan_compiler *c,
                                           const struct cv_avro_type *type, size_t i)
{
    switch (type->kind) {
    case CV_AVRO_RECORD:
        return cv_plan_make_skip(c, type->fields[i].type);
    case CV_AVRO_UNION:
        return cv_plan_make_skip(c, type->branches[i]);
    default:
        return cv_plan_make_skip(c, type->items);
    }
}

static size_t child_count(const struct cv_avro_type *type)
{
    switch (type->kind) {
    case CV_AVRO_RECORD:
        return type->field_count;
    case CV_AVRO_UNION:
        return type->branch_count;
    default:
        return type->kind == CV_AVRO_ARRAY || type->kind == CV_AVRO_MAP;
    }
}

/* Does a value take no bytes at all? Only a null, a fixed of size 0, and a record of such. */
static bool takes_no_bytes(const struct cv_plan_skip *skip)
{
    if (skip->kind == CV_AVRO_NULL)
        return true;
    if (skip->kind == CV_AVRO_FIXED)
        return skip->size == 0;
    if (skip->kind != CV_AVRO_RECORD)
        return false;
    for (size_t i = 0; i < skip->count; i++)
        if (!skip->children[i]->is_empty)
            return false;
    return true;
}

const struct cv_plan_skip *cv_plan_make_skip(struct cv_plan_compiler *c,
                                             const struct cv_avro_type *type)
{
    struct cv_plan_skip *skip = cv_map_get(&c->skips, &type, sizeof type);

    if (skip)
        return skip;
    skip = cv_arena_new(c->arena, struct cv_plan_skip);
    (void)cv_map_set(&c->skips, &type, sizeof type, skip);
    *skip = (struct cv_plan_skip){
        .kind = type->kind,
        .is_empty = true, /* while a recursive type refers to itself */
        .size = type->size,
        .count = child_count(type),
    };
    skip->children = cv_arena_array(c->arena, const struct cv_plan_skip *, skip->count);
    for (size_t i = 0; i < skip->count; i++)
        skip->children[i] = child_of(c, type, i);
    skip->is_empty = takes_no_bytes(skip);
    return skip;
}

/* One op for a type of fixed or announced length; false for the others. */
static bool simple_skip(const struct cv_avro_type *type, struct cv_plan_op *op)
{
    *op = (struct cv_plan_op){.code = CV_OP_SKIP_FIXED, .null_byte = CV_OP_NOT_NULLABLE};
    switch (type->kind) {
    case CV_AVRO_BOOLEAN:
        op->count = 1;
        return true;
    case CV_AVRO_FLOAT:
        op->count = 4;
        return true;
    case CV_AVRO_DOUBLE:
        op->count = 8;
        return true;
    case CV_AVRO_FIXED:
        op->count = type->size;
        return true;
    case CV_AVRO_INT:
    case CV_AVRO_LONG:
    case CV_AVRO_ENUM:
        op->code = CV_OP_SKIP_VARINT;
        return true;
    case CV_AVRO_BYTES:
    case CV_AVRO_STRING:
        op->code = CV_OP_SKIP_BYTES;
        return true;
    default:
        return false;
    }
}

static bool simple_union_skip(const struct cv_avro_type *type, struct cv_plan_op *op)
{
    if (type->kind != CV_AVRO_UNION || type->branch_count != 2)
        return false;
    for (uint8_t i = 0; i < 2; i++)
        if (type->branches[i]->kind == CV_AVRO_NULL && simple_skip(type->branches[1 - i], op)) {
            op->null_byte = (uint8_t)(2 * i);
            return true;
        }
    return false;
}

void cv_plan_compile_skip(struct cv_plan_compiler *c, struct cv_plan_code *code,
                          const struct cv_avro_type *type)
{
    struct cv_plan_op op;

    if (type->kind == CV_AVRO_NULL)
        return;
    if (!simple_skip(type, &op) && !simple_union_skip(type, &op))
        op = (struct cv_plan_op){.code = CV_OP_SKIP_TREE,
                                 .null_byte = CV_OP_NOT_NULLABLE,
                                 .skip = cv_plan_make_skip(c, type)};
    cv_plan_emit(c, code, op);
}

/* --- run time -------------------------------------------------------------------------------- */

bool cv_plan_read_count(struct cv_plan_run *run, bool empty_items, int64_t *ret_count,
                        int64_t *ret_bytes)
{
    struct cv_avro_reader r = {run->at, run->end};
    int64_t count;
    int64_t bytes = -1;

    if (!cv_avro_read_long(&r, &count) || count == INT64_MIN)
        return false;
    if (count < 0) {
        if (!cv_avro_read_long(&r, &bytes) || bytes < 0 || bytes > r.end - r.at)
            return false;
        count = -count;
    }
    run->at = r.at;
    if (empty_items) {
        if (count > (int64_t)(CV_PLAN_EMPTY_ITEMS_MAX - run->empty_items))
            return false;
        run->empty_items += (size_t)count;
    } else if (count > r.end - r.at) {
        return false;
    }
    *ret_count = count;
    *ret_bytes = bytes;
    return true;
}

static bool skip_blocks(struct cv_plan_run *run, const struct cv_plan_skip *skip, unsigned depth)
{
    bool is_map = skip->kind == CV_AVRO_MAP;
    int64_t count;
    int64_t bytes;

    for (;;) {
        struct cv_avro_reader r;

        if (!cv_plan_read_count(run, !is_map && skip->children[0]->is_empty, &count, &bytes))
            return false;
        if (count == 0)
            return true;
        if (bytes >= 0) {
            run->at += bytes;
            continue;
        }
        if (!is_map && skip->children[0]->is_empty)
            continue;
        for (; count > 0; count--) {
            const uint8_t *key;
            size_t length;

            r = (struct cv_avro_reader){run->at, run->end};
            if (is_map && !cv_avro_read_bytes(&r, &key, &length))
                return false;
            run->at = r.at;
            if (!cv_plan_run_skip(run, skip->children[0], depth + 1))
                return false;
        }
    }
}

static bool skip_raw(struct cv_plan_run *run, size_t size)
{
    if (size > (size_t)(run->end - run->at))
        return false;
    run->at += size;
    return true;
}

bool cv_plan_run_skip(struct cv_plan_run *run, const struct cv_plan_skip *skip, unsigned depth)
{
    struct cv_avro_reader r = {run->at, run->end};
    const uint8_t *bytes;
    size_t length;
    int64_t value = 0;
    bool good;

    if (skip->is_empty)
        return true; /* or a record of records of … nothing would take for ever */
    if (depth > CV_PLAN_SKIP_DEPTH_MAX)
        return false;
    switch (skip->kind) {
    case CV_AVRO_NULL:
        return true;
    case CV_AVRO_BOOLEAN:
        return skip_raw(run, 1);
    case CV_AVRO_FLOAT:
        return skip_raw(run, 4);
    case CV_AVRO_DOUBLE:
        return skip_raw(run, 8);
    case CV_AVRO_FIXED:
        return skip_raw(run, skip->size);
    case CV_AVRO_BYTES:
    case CV_AVRO_STRING:
        good = cv_avro_read_bytes(&r, &bytes, &length);
        run->at = r.at;
        return good;
    case CV_AVRO_RECORD:
        for (size_t i = 0; i < skip->count; i++)
            if (!cv_plan_run_skip(run, skip->children[i], depth + 1))
                return false;
        return true;
    case CV_AVRO_ARRAY:
    case CV_AVRO_MAP:
        return skip_blocks(run, skip, depth);
    default:
        good = cv_avro_read_long(&r, &value);
        run->at = r.at;
        if (skip->kind != CV_AVRO_UNION || !good)
            return good;
        return value >= 0 && (uint64_t)value < skip->count &&
               cv_plan_run_skip(run, skip->children[value], depth + 1);
    }
}
