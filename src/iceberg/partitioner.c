/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows to partition tuples. Each distinct tuple is kept once, under a key of its encoded values; a
 * row costs the transform and, unless it falls where the row before fell, one look-up. */
#include "iceberg/partition_int.h"

#include "base/map.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define GROUPS_MAX   ((uint32_t)1 << 20) /* partition tuples between two clears */
#define RECENT_COUNT 256                 /* a power of two */
#define NO_GROUP     UINT32_MAX

struct bound_field {
    const struct cv_partition_field *field;
    const struct cv_type *source; /* NULL: a void field whose column is gone */
    uint32_t path[CV_DEPTH_MAX];  /* column indexes from the root */
    size_t depth;
};

struct group {
    const struct cv_value *tuple;
    const uint8_t *key;
    size_t key_length;
    uint64_t hash;
};

/* Direct-mapped: the group of a whole-number result, for one field. */
struct recent {
    int64_t result;
    uint32_t group; /* NO_GROUP = empty */
};

struct cv_partitioner {
    struct cv_arena arena; /* fields, types, scratch */
    size_t field_count;
    struct bound_field *fields;
    const struct cv_type *types;
    struct cv_value *scratch;
    const struct cv_column **columns; /* of the batch at hand */
    struct cv_buf key;
    struct cv_arena group_arena;
    struct group *groups;
    size_t group_count, group_capacity;
    uint32_t *slots; /* group + 1; 0 = empty; linear probing, at most half full */
    size_t slot_count;
    struct recent recent[RECENT_COUNT];
    uint32_t null_group; /* of one field */
};

static void forget_recent(struct cv_partitioner *partitioner)
{
    for (size_t i = 0; i < RECENT_COUNT; i++)
        partitioner->recent[i].group = NO_GROUP;
    partitioner->null_group = NO_GROUP;
}

static void bind(struct cv_partitioner *partitioner, size_t index,
                 const struct cv_partition_field *field, const struct cv_schema *schema)
{
    struct bound_field *bound = &partitioner->fields[index];
    const struct cv_field *source =
        cv_partition_source(schema, field->source_id, bound->path, &bound->depth);

    bound->field = field;
    bound->source = source ? &source->type : NULL;
}

enum cv_code cv_partitioner_new(const struct cv_partition_spec *spec,
                                const struct cv_schema *schema,
                                struct cv_partitioner **ret_partitioner, struct cv_error *err)
{
    CV_CLEANUP(cv_partitioner_freep)
    struct cv_partitioner *partitioner = cv_alloc(sizeof *partitioner);
    size_t count = spec->field_count;

    partitioner->field_count = count;
    partitioner->fields = cv_arena_array(&partitioner->arena, struct bound_field, count);
    partitioner->scratch = cv_arena_array(&partitioner->arena, struct cv_value, count);
    partitioner->columns = cv_arena_array(&partitioner->arena, const struct cv_column *, count);
    CV_DO(cv_partition_types(spec, schema, &partitioner->arena, &partitioner->types, err));
    for (size_t i = 0; i < count; i++)
        bind(partitioner, i, &spec->fields[i], schema);
    forget_recent(partitioner);
    *ret_partitioner = cv_steal(partitioner);
    return CV_OK;
}

void cv_partitioner_free(struct cv_partitioner *partitioner)
{
    if (!partitioner)
        return;
    cv_arena_release(&partitioner->arena);
    cv_arena_release(&partitioner->group_arena);
    cv_buf_release(&partitioner->key);
    free(partitioner->groups);
    free(partitioner->slots);
    free(partitioner);
}

const struct cv_type *cv_partitioner_types(const struct cv_partitioner *partitioner)
{
    return partitioner->types;
}

size_t cv_partitioner_group_count(const struct cv_partitioner *partitioner)
{
    return partitioner->group_count;
}

const struct cv_value *cv_partitioner_tuple(const struct cv_partitioner *partitioner,
                                            uint32_t group)
{
    assert(group < partitioner->group_count);
    return partitioner->groups[group].tuple;
}

void cv_partitioner_clear(struct cv_partitioner *partitioner)
{
    cv_arena_reset(&partitioner->group_arena);
    partitioner->group_count = 0;
    if (partitioner->slot_count)
        memset(partitioner->slots, 0, partitioner->slot_count * sizeof *partitioner->slots);
    forget_recent(partitioner);
}

static bool holds_bytes(enum cv_type_kind kind)
{
    return kind == CV_TYPE_STRING || kind == CV_TYPE_BINARY || kind == CV_TYPE_UUID ||
           kind == CV_TYPE_FIXED;
}

/* Key bytes of one value: 0 for null, else 1 and the value, whose length its field's type gives or
 * which has its length before it. */
static void append_key(const struct cv_value *value, struct cv_buf *key)
{
    struct cv_value canonical = *value;
    uint32_t length;

    cv_buf_append_byte(key, !value->is_null);
    if (value->is_null)
        return;
    switch (value->kind) {
    case CV_TYPE_BOOLEAN:
        cv_buf_append_byte(key, value->boolean);
        break;
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
        cv_buf_append(key, &value->i32, sizeof value->i32);
        break;
    case CV_TYPE_FLOAT:
        canonical.f32 = isnan(value->f32) ? NAN : value->f32;
        cv_buf_append(key, &canonical.f32, sizeof canonical.f32);
        break;
    case CV_TYPE_DOUBLE:
        canonical.f64 = isnan(value->f64) ? (double)NAN : value->f64;
        cv_buf_append(key, &canonical.f64, sizeof canonical.f64);
        break;
    case CV_TYPE_DECIMAL:
        cv_buf_append(key, &value->decimal, sizeof value->decimal);
        break;
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
    case CV_TYPE_UUID:
    case CV_TYPE_FIXED:
        length = (uint32_t)value->bytes.length;
        cv_buf_append(key, &length, sizeof length);
        cv_buf_append(key, value->bytes.ptr, value->bytes.length);
        break;
    default:
        cv_buf_append(key, &value->i64, sizeof value->i64);
        break;
    }
}

static void grow_slots(struct cv_partitioner *partitioner)
{
    size_t count = partitioner->slot_count ? partitioner->slot_count * 2 : 64;
    uint32_t *slots = cv_alloc(count * sizeof *slots);

    for (uint32_t group = 0; group < partitioner->group_count; group++) {
        size_t i = partitioner->groups[group].hash & (count - 1);

        while (slots[i])
            i = (i + 1) & (count - 1);
        slots[i] = group + 1;
    }
    free(partitioner->slots);
    partitioner->slots = slots;
    partitioner->slot_count = count;
}

static void add_group(struct cv_partitioner *partitioner, uint64_t hash)
{
    struct cv_arena *arena = &partitioner->group_arena;
    size_t bytes = partitioner->field_count * sizeof(struct cv_value);
    struct cv_value *tuple = cv_arena_copy(arena, partitioner->scratch, bytes);
    const struct cv_buf *key = &partitioner->key;

    for (size_t i = 0; i < partitioner->field_count; i++)
        if (!tuple[i].is_null && holds_bytes(tuple[i].kind))
            tuple[i].bytes.ptr = cv_arena_strndup(arena, tuple[i].bytes.ptr, tuple[i].bytes.length);
    cv_array_reserve(&partitioner->groups, &partitioner->group_capacity,
                     partitioner->group_count + 1);
    partitioner->groups[partitioner->group_count++] =
        (struct group){tuple, cv_arena_copy(arena, key->data, key->length), key->length, hash};
}

/* The group of the tuple in `scratch`. */
static enum cv_code find_group(struct cv_partitioner *partitioner, uint32_t *ret_group,
                               struct cv_error *err)
{
    struct cv_buf *key = &partitioner->key;
    uint64_t hash;
    size_t i;

    cv_buf_clear(key);
    for (size_t f = 0; f < partitioner->field_count; f++)
        append_key(&partitioner->scratch[f], key);
    CV_DO(cv_buf_check(key, "the values of a partition", err));
    hash = cv_hash_bytes(key->data, key->length);
    if ((partitioner->group_count + 1) * 2 > partitioner->slot_count)
        grow_slots(partitioner);
    for (i = hash & (partitioner->slot_count - 1); partitioner->slots[i];
         i = (i + 1) & (partitioner->slot_count - 1)) {
        const struct group *group = &partitioner->groups[partitioner->slots[i] - 1];

        if (group->hash == hash && group->key_length == key->length &&
            (key->length == 0 || memcmp(group->key, key->data, key->length) == 0)) {
            *ret_group = partitioner->slots[i] - 1;
            return CV_OK;
        }
    }
    if (partitioner->group_count == GROUPS_MAX)
        return cv_fail(err, CV_LIMIT, "rows fall into more than %u table partitions", GROUPS_MAX);
    add_group(partitioner, hash);
    partitioner->slots[i] = (uint32_t)partitioner->group_count;
    *ret_group = (uint32_t)partitioner->group_count - 1;
    return CV_OK;
}

static const struct cv_column *column_of(const struct cv_batch *batch,
                                         const struct bound_field *field)
{
    const struct cv_column *column;

    assert(field->path[0] < batch->column_count);
    column = &batch->columns[field->path[0]];
    for (size_t i = 1; i < field->depth; i++) {
        assert(field->path[i] < column->child_count);
        column = &column->children[field->path[i]];
    }
    return column;
}

/* The result of one field at a row into scratch. */
static enum cv_code evaluate(struct cv_partitioner *partitioner, size_t index,
                             const struct cv_column *column, size_t row, struct cv_error *err)
{
    const struct bound_field *field = &partitioner->fields[index];
    struct cv_value source = {.is_null = true};

    if (field->source)
        source = cv_column_value(column, row);
    CV_TRY(cv_transform_value(&field->field->transform, field->source,
                              partitioner->types[index].kind, &source, &partitioner->scratch[index],
                              err),
           err, "partition field %s", field->field->name);
    return CV_OK;
}

static enum cv_code null_group(struct cv_partitioner *partitioner, uint32_t *ret_group,
                               struct cv_error *err)
{
    if (partitioner->null_group == NO_GROUP) {
        partitioner->scratch[0] =
            (struct cv_value){.is_null = true, .kind = partitioner->types[0].kind};
        CV_DO(find_group(partitioner, &partitioner->null_group, err));
    }
    *ret_group = partitioner->null_group;
    return CV_OK;
}

/* The group of scratch[0], a whole number in `result`. */
static enum cv_code group_of_whole(struct cv_partitioner *partitioner, int64_t result,
                                   uint32_t *ret_group, struct cv_error *err)
{
    struct recent *recent = &partitioner->recent[(uint64_t)result & (RECENT_COUNT - 1)];

    if (recent->group == NO_GROUP || recent->result != result) {
        recent->group = NO_GROUP;
        CV_DO(find_group(partitioner, &recent->group, err));
        recent->result = result;
    }
    *ret_group = recent->group;
    return CV_OK;
}

/* Bounds of the hour or day that holds a timestamp; an empty range at the ends of int64. */
static void period_range(enum cv_transform_kind kind, int64_t us, int64_t *low, int64_t *high)
{
    int64_t unit = kind == CV_TRANSFORM_HOUR ? CV_US_PER_HOUR : CV_US_PER_DAY;

    if (us < INT64_MIN + unit || us > INT64_MAX - unit) {
        *low = 1;
        *high = 0;
        return;
    }
    *low = us - cv_floor_mod(us, unit);
    *high = *low + unit;
}

/* One time transform of a timestamp: rows of the same hour or day cost two comparisons. */
static enum cv_code route_time(struct cv_partitioner *partitioner, const struct cv_column *column,
                               size_t row_count, uint32_t *groups, struct cv_error *err)
{
    enum cv_transform_kind kind = partitioner->fields[0].field->transform.kind;
    int64_t low = 1;
    int64_t high = 0;
    uint32_t last = 0;

    for (size_t row = 0; row < row_count; row++) {
        int64_t us;
        int32_t period;

        if (cv_column_is_null(column, row)) {
            CV_DO(null_group(partitioner, &groups[row], err));
            continue;
        }
        memcpy(&us, column->data + row * 8, 8);
        if (us < low || us >= high) {
            period = cv_period_of_us(kind, us);
            partitioner->scratch[0] =
                (struct cv_value){.kind = partitioner->types[0].kind, .i32 = period};
            CV_DO(group_of_whole(partitioner, period, &last, err));
            period_range(kind, us, &low, &high);
        }
        groups[row] = last;
    }
    return CV_OK;
}

static enum cv_code route_one(struct cv_partitioner *partitioner, const struct cv_column *column,
                              size_t row_count, uint32_t *groups, struct cv_error *err)
{
    enum cv_type_kind kind = partitioner->types[0].kind;
    bool narrow = kind == CV_TYPE_INT || kind == CV_TYPE_DATE;
    bool wide = kind == CV_TYPE_LONG || kind == CV_TYPE_TIME || kind == CV_TYPE_TIMESTAMP ||
                kind == CV_TYPE_TIMESTAMPTZ;
    const struct cv_value *result = &partitioner->scratch[0];

    for (size_t row = 0; row < row_count; row++) {
        CV_DO(evaluate(partitioner, 0, column, row, err));
        if (result->is_null)
            CV_DO(null_group(partitioner, &groups[row], err));
        else if (narrow || wide)
            CV_DO(
                group_of_whole(partitioner, narrow ? result->i32 : result->i64, &groups[row], err));
        else
            CV_DO(find_group(partitioner, &groups[row], err));
    }
    return CV_OK;
}

static enum cv_code route_many(struct cv_partitioner *partitioner, const struct cv_batch *batch,
                               uint32_t *groups, struct cv_error *err)
{
    const struct cv_column **columns = partitioner->columns;

    for (size_t i = 0; i < partitioner->field_count; i++)
        columns[i] =
            partitioner->fields[i].source ? column_of(batch, &partitioner->fields[i]) : NULL;
    for (size_t row = 0; row < batch->row_count; row++) {
        for (size_t i = 0; i < partitioner->field_count; i++)
            CV_DO(evaluate(partitioner, i, columns[i], row, err));
        CV_DO(find_group(partitioner, &groups[row], err));
    }
    return CV_OK;
}

enum cv_code cv_partitioner_route(struct cv_partitioner *partitioner, const struct cv_batch *batch,
                                  uint32_t *groups, struct cv_error *err)
{
    const struct bound_field *first = partitioner->fields;
    const struct cv_column *column;

    if (batch->row_count == 0)
        return CV_OK;
    if (partitioner->field_count != 1 || !first->source)
        return route_many(partitioner, batch, groups, err);
    column = column_of(batch, first);
    if (first->field->transform.kind >= CV_TRANSFORM_YEAR &&
        first->field->transform.kind <= CV_TRANSFORM_HOUR && first->source->kind != CV_TYPE_DATE)
        return route_time(partitioner, column, batch->row_count, groups, err);
    return route_one(partitioner, column, batch->row_count, groups, err);
}
