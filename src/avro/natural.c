/* SPDX-License-Identifier: Apache-2.0
 *
 * See natural.h. */
#include "avro/natural.h"

#include "avro/plan_int.h"

/* The records around a type: one that comes again is recursive. */
struct around {
    const struct cv_avro_type *record;
    const struct around *outer;
    size_t depth;
};

static bool natural(const struct cv_avro_type *avro, struct cv_arena *arena,
                    const struct around *around, struct cv_type *ret_type);

/* The branch of an optional type; NULL where the union has several. */
static const struct cv_avro_type *only_branch(const struct cv_avro_type *avro)
{
    const struct cv_avro_type *only = NULL;

    for (size_t i = 0; i < avro->branch_count; i++) {
        if (avro->branches[i]->kind == CV_AVRO_NULL)
            continue;
        if (only)
            return NULL;
        only = avro->branches[i];
    }
    return only;
}

static bool natural_record(const struct cv_avro_type *avro, struct cv_arena *arena,
                           const struct around *around, struct cv_type *ret_type)
{
    struct cv_field *fields = cv_arena_array(arena, struct cv_field, avro->field_count + 1);
    const struct around here = {avro, around, around ? around->depth + 1 : 1};
    size_t count = 0;

    for (const struct around *at = around; at; at = at->outer)
        if (at->record == avro)
            return false;
    for (size_t i = 0; i < avro->field_count; i++) {
        if (!natural(avro->fields[i].type, arena, &here, &fields[count].type))
            continue;
        fields[count++].name = cv_arena_strdup(arena, avro->fields[i].name);
    }
    *ret_type = (struct cv_type){.kind = CV_TYPE_STRUCT, .fields = fields, .field_count = count};
    return count > 0 || avro->field_count == 0;
}

static bool natural_items(const struct cv_avro_type *avro, struct cv_arena *arena,
                          const struct around *around, struct cv_type *ret_type)
{
    bool is_map = avro->kind == CV_AVRO_MAP;
    struct cv_field *fields = cv_arena_array(arena, struct cv_field, 2);

    fields[0] = (struct cv_field){
        .name = is_map ? "key" : "element", .required = is_map, .type = {.kind = CV_TYPE_STRING}};
    fields[1].name = "value";
    if (!natural(avro->items, arena, around, &fields[is_map].type))
        return false;
    *ret_type = (struct cv_type){.kind = is_map ? CV_TYPE_MAP : CV_TYPE_LIST,
                                 .fields = fields,
                                 .field_count = is_map ? 2 : 1};
    return true;
}

static bool natural(const struct cv_avro_type *avro, struct cv_arena *arena,
                    const struct around *around, struct cv_type *ret_type)
{
    const struct cv_avro_type *only;

    if (around && around->depth > CV_DEPTH_MAX)
        return false;
    switch (avro->kind) {
    case CV_AVRO_NULL:
        return false;
    case CV_AVRO_UNION:
        only = only_branch(avro);
        return only && natural(only, arena, around, ret_type);
    case CV_AVRO_RECORD:
        return natural_record(avro, arena, around, ret_type);
    case CV_AVRO_ARRAY:
        if (avro->logical == CV_AVRO_LOGICAL_MAP)
            return false;
        return natural_items(avro, arena, around, ret_type);
    case CV_AVRO_MAP:
        return natural_items(avro, arena, around, ret_type);
    default:
        cv_avro_leaf_type(avro, ret_type);
        return ret_type->kind != CV_TYPE_DECIMAL ||
               (ret_type->precision >= 1 && ret_type->precision <= 38);
    }
}

bool cv_avro_natural_type(const struct cv_avro_type *avro, struct cv_arena *arena,
                          struct cv_type *ret_type)
{
    return natural(avro, arena, NULL, ret_type);
}
