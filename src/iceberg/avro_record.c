/* SPDX-License-Identifier: Apache-2.0
 *
 * Avro values by field id: plans, unions, skipping. */
#include "iceberg/avro_record.h"

const struct cv_avro_type *cv_avro_strip(const struct cv_avro_type *type)
{
    if (type->kind != CV_AVRO_UNION)
        return type;
    for (size_t i = 0; i < type->branch_count; i++)
        if (type->branches[i]->kind != CV_AVRO_NULL)
            return type->branches[i];
    return type;
}

static int32_t known_id(const struct cv_avro_field *field, const struct cv_avro_known *known,
                        size_t known_count)
{
    if (field->field_id >= 0)
        return field->field_id;
    for (size_t i = 0; i < known_count; i++)
        if (strcmp(known[i].name, field->name) == 0)
            return known[i].id;
    return -1;
}

enum cv_code cv_avro_plan_record(const struct cv_avro_type *type, const char *what,
                                 const struct cv_avro_known *known, size_t known_count,
                                 struct cv_arena *arena, struct cv_avro_plan *ret_plan,
                                 struct cv_error *err)
{
    const struct cv_avro_type *record = cv_avro_strip(type);

    if (record->kind != CV_AVRO_RECORD)
        return cv_fail(err, CV_FORMAT, "%s is not a record in the Avro schema", what);
    ret_plan->count = record->field_count;
    ret_plan->slots = cv_arena_array(arena, struct cv_avro_slot, record->field_count);
    for (size_t i = 0; i < record->field_count; i++) {
        const struct cv_avro_field *field = &record->fields[i];

        ret_plan->slots[i] =
            (struct cv_avro_slot){known_id(field, known, known_count), field->name, field->type};
    }
    return CV_OK;
}

const struct cv_avro_slot *cv_avro_plan_find(const struct cv_avro_plan *plan, int32_t id)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->slots[i].id == id)
            return &plan->slots[i];
    return NULL;
}

enum cv_code cv_avro_plan_need(const struct cv_avro_plan *plan, const char *what,
                               const int32_t *ids, size_t count, struct cv_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (!cv_avro_plan_find(plan, ids[i]))
            return cv_fail(err, CV_FORMAT, "the Avro schema of %s has no field with id %d", what,
                           ids[i]);
    return CV_OK;
}

const struct cv_avro_type *cv_avro_take_branch(struct cv_avro_source *source,
                                               const struct cv_avro_type *type)
{
    int64_t branch;

    if (type->kind != CV_AVRO_UNION)
        return type;
    if (!cv_avro_read_long(&source->in, &branch) || branch < 0 ||
        (uint64_t)branch >= type->branch_count)
        return NULL;
    return type->branches[branch];
}

bool cv_avro_take_long(struct cv_avro_source *source, const struct cv_avro_type *type,
                       bool *ret_null, int64_t *ret_value)
{
    type = cv_avro_take_branch(source, type);
    *ret_null = type && type->kind == CV_AVRO_NULL;
    if (!type || (type->kind != CV_AVRO_INT && type->kind != CV_AVRO_LONG && !*ret_null))
        return false;
    return *ret_null || cv_avro_read_long(&source->in, ret_value);
}

bool cv_avro_take_bool(struct cv_avro_source *source, const struct cv_avro_type *type,
                       bool *ret_null, bool *ret_value)
{
    const uint8_t *byte;

    type = cv_avro_take_branch(source, type);
    *ret_null = type && type->kind == CV_AVRO_NULL;
    if (!type || (type->kind != CV_AVRO_BOOLEAN && !*ret_null))
        return false;
    if (*ret_null)
        return true;
    if (!cv_avro_read_raw(&source->in, 1, &byte) || *byte > 1)
        return false;
    *ret_value = *byte;
    return true;
}

bool cv_avro_take_bytes(struct cv_avro_source *source, const struct cv_avro_type *type,
                        struct cv_str *ret_bytes)
{
    const uint8_t *bytes = NULL;
    size_t length = 0;

    type = cv_avro_take_branch(source, type);
    if (!type)
        return false;
    switch (type->kind) {
    case CV_AVRO_NULL:
        break;
    case CV_AVRO_STRING:
    case CV_AVRO_BYTES:
        if (!cv_avro_read_bytes(&source->in, &bytes, &length))
            return false;
        break;
    case CV_AVRO_FIXED:
        length = type->size;
        if (!cv_avro_read_raw(&source->in, length, &bytes))
            return false;
        break;
    default:
        return false;
    }
    *ret_bytes = (struct cv_str){(const char *)bytes, length};
    return true;
}

bool cv_avro_take_block(struct cv_avro_source *source, uint64_t *ret_items)
{
    int64_t items;
    int64_t bytes;

    if (!cv_avro_read_long(&source->in, &items))
        return false;
    if (items < 0 && (items == INT64_MIN || !cv_avro_read_long(&source->in, &bytes)))
        return false;
    *ret_items = (uint64_t)(items < 0 ? -items : items);
    return true;
}

static bool skip(struct cv_avro_source *source, const struct cv_avro_type *type, int depth);

static bool skip_blocks(struct cv_avro_source *source, const struct cv_avro_type *type, int depth)
{
    struct cv_str key;
    uint64_t items;
    static const struct cv_avro_type text = {.kind = CV_AVRO_STRING};

    for (;;) {
        if (!cv_avro_take_block(source, &items))
            return false;
        if (items == 0)
            return true;
        for (; items; items--) {
            if (type->kind == CV_AVRO_MAP && !cv_avro_take_bytes(source, &text, &key))
                return false;
            if (!skip(source, type->items, depth + 1))
                return false;
        }
    }
}

static bool skip_record(struct cv_avro_source *source, const struct cv_avro_type *type, int depth)
{
    for (size_t i = 0; i < type->field_count; i++)
        if (!skip(source, type->fields[i].type, depth + 1))
            return false;
    return true;
}

static bool skip(struct cv_avro_source *source, const struct cv_avro_type *type, int depth)
{
    const uint8_t *bytes;
    int64_t number;
    size_t length;

    if (depth > CV_DEPTH_MAX || source->skips_left == 0)
        return false;
    source->skips_left--;
    type = cv_avro_take_branch(source, type);
    if (!type)
        return false;
    switch (type->kind) {
    case CV_AVRO_NULL:
        return true;
    case CV_AVRO_BOOLEAN:
        return cv_avro_read_raw(&source->in, 1, &bytes);
    case CV_AVRO_INT:
    case CV_AVRO_LONG:
    case CV_AVRO_ENUM:
        return cv_avro_read_long(&source->in, &number);
    case CV_AVRO_FLOAT:
        return cv_avro_read_raw(&source->in, 4, &bytes);
    case CV_AVRO_DOUBLE:
        return cv_avro_read_raw(&source->in, 8, &bytes);
    case CV_AVRO_BYTES:
    case CV_AVRO_STRING:
        return cv_avro_read_bytes(&source->in, &bytes, &length);
    case CV_AVRO_FIXED:
        return cv_avro_read_raw(&source->in, type->size, &bytes);
    case CV_AVRO_ARRAY:
    case CV_AVRO_MAP:
        return skip_blocks(source, type, depth);
    case CV_AVRO_RECORD:
        return skip_record(source, type, depth);
    default:
        return false; /* a union in a union */
    }
}

bool cv_avro_skip(struct cv_avro_source *source, const struct cv_avro_type *type)
{
    return skip(source, type, 0);
}

enum cv_code cv_avro_source_next(struct cv_avro_file_reader *file, struct cv_avro_source *source,
                                 bool *ret_more, struct cv_error *err)
{
    if (source->objects_left == 0) {
        CV_DO(cv_avro_file_next_block(file, &source->in, &source->objects_left, err));
        source->skips_left = 10000 + 16 * (uint64_t)(source->in.end - source->in.at);
    }
    *ret_more = source->objects_left > 0;
    source->objects_left -= *ret_more;
    return CV_OK;
}
