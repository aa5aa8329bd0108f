/* SPDX-License-Identifier: Apache-2.0
 *
 * Inclusive projection of predicates. Truncate and the time transforms keep the order of values, so
 * that a range stays a range; bucket keeps equality only. */
#include "iceberg/projection.h"

#include "iceberg/partition_int.h"

#include <math.h>

static const struct cv_predicate anything = {.kind = CV_PREDICATE_TRUE};

struct projector {
    const struct cv_partition_spec *spec;
    const struct cv_schema *schema;
    const struct cv_field *fields; /* result types of the partition fields */
    struct cv_arena *arena;
};

/* --- one leaf through one transform ----------------------------------------------------------- */

static const struct cv_predicate *new_leaf(struct projector *projector, size_t index,
                                           enum cv_predicate_kind kind,
                                           const struct cv_value *values, size_t count)
{
    struct cv_predicate *leaf = cv_arena_new(projector->arena, struct cv_predicate);

    *leaf = (struct cv_predicate){
        .kind = kind, .field = &projector->fields[index], .values = values, .value_count = count};
    return leaf;
}

static const struct cv_predicate *join(struct projector *projector, enum cv_predicate_kind kind,
                                       const struct cv_predicate *left,
                                       const struct cv_predicate *right)
{
    struct cv_predicate *both = cv_arena_new(projector->arena, struct cv_predicate);

    *both = (struct cv_predicate){.kind = kind, .left = left, .right = right};
    return both;
}

static bool is_time(enum cv_transform_kind kind)
{
    return kind == CV_TRANSFORM_YEAR || kind == CV_TRANSFORM_MONTH || kind == CV_TRANSFORM_DAY ||
           kind == CV_TRANSFORM_HOUR;
}

/* The next greater or smaller value of a type with steps; false when there is none. */
static bool step(struct cv_value *value, int by)
{
    switch (value->kind) {
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
        return !__builtin_add_overflow(value->i32, by, &value->i32);
    case CV_TYPE_LONG:
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        return !__builtin_add_overflow(value->i64, by, &value->i64);
    case CV_TYPE_DECIMAL:
        value->decimal += by;
        return true;
    default:
        return false;
    }
}

static bool transformed(const struct projector *projector, size_t index,
                        const struct cv_predicate *leaf, const struct cv_value *value,
                        struct cv_value *ret_value)
{
    return cv_transform_value(&projector->spec->fields[index].transform, &leaf->field->type,
                              projector->fields[index].type.kind, value, ret_value, NULL) == CV_OK;
}

/* Writers before Iceberg 0.10 rounded times before 1970 up: their partition is one later. */
static void widen_old_times(enum cv_transform_kind kind, struct cv_value *value)
{
    if (is_time(kind) && value->i32 < 0)
        value->i32++;
}

/* partition <= f(value); near the minimum, truncate wraps to values near the maximum. */
static const struct cv_predicate *at_most(struct projector *projector, size_t index,
                                          const struct cv_predicate *leaf, struct cv_value value)
{
    const struct cv_transform *transform = &projector->spec->fields[index].transform;
    struct cv_value *bounds = cv_arena_array(projector->arena, struct cv_value, 2);
    const struct cv_predicate *range;

    if (leaf->kind == CV_PREDICATE_LESS) {
        struct cv_value below = value;

        if (step(&below, -1))
            value = below;
    }
    if (!transformed(projector, index, leaf, &value, &bounds[0]))
        return &anything;
    widen_old_times(transform->kind, &bounds[0]);
    range = new_leaf(projector, index, CV_PREDICATE_LESS_EQUAL, bounds, 1);
    if (transform->kind != CV_TRANSFORM_TRUNCATE ||
        (value.kind != CV_TYPE_INT && value.kind != CV_TYPE_LONG))
        return range;
    bounds[1] = value;
    if (value.kind == CV_TYPE_INT)
        bounds[1].i32 = INT32_MAX - transform->width;
    else
        bounds[1].i64 = INT64_MAX - transform->width;
    return join(projector, CV_PREDICATE_OR, range,
                new_leaf(projector, index, CV_PREDICATE_GREATER, &bounds[1], 1));
}

static const struct cv_predicate *at_least(struct projector *projector, size_t index,
                                           const struct cv_predicate *leaf, struct cv_value value)
{
    struct cv_value *bound = cv_arena_array(projector->arena, struct cv_value, 1);

    if (leaf->kind == CV_PREDICATE_GREATER) {
        struct cv_value above = value;

        if (step(&above, 1))
            value = above;
    }
    if (!transformed(projector, index, leaf, &value, bound))
        return &anything;
    if (projector->spec->fields[index].transform.kind == CV_TRANSFORM_TRUNCATE &&
        cv_value_compare(bound, &value) > 0) /* wrapped */
        return &anything;
    return new_leaf(projector, index, CV_PREDICATE_GREATER_EQUAL, bound, 1);
}

static const struct cv_predicate *one_of(struct projector *projector, size_t index,
                                         const struct cv_predicate *leaf)
{
    enum cv_transform_kind kind = projector->spec->fields[index].transform.kind;
    size_t room = leaf->value_count * (is_time(kind) ? 2 : 1);
    struct cv_value *values = cv_arena_array(projector->arena, struct cv_value, room);
    size_t count = 0;

    for (size_t i = 0; i < leaf->value_count; i++) {
        if (!transformed(projector, index, leaf, &leaf->values[i], &values[count]))
            return &anything;
        count++;
        if (is_time(kind) && values[count - 1].i32 < 0) {
            values[count] = values[count - 1];
            widen_old_times(kind, &values[count++]);
        }
    }
    return new_leaf(projector, index, CV_PREDICATE_IN, values, count);
}

/* truncate[W]: a shorter beginning stays one; of a longer one the first W characters are known. */
static const struct cv_predicate *starts_with(struct projector *projector, size_t index,
                                              const struct cv_predicate *leaf)
{
    struct cv_value *value = cv_arena_array(projector->arena, struct cv_value, 1);

    if (!transformed(projector, index, leaf, leaf->values, value))
        return &anything;
    return new_leaf(projector, index, CV_PREDICATE_STARTS_WITH, value, 1);
}

static const struct cv_predicate *project_leaf(struct projector *projector, size_t index,
                                               const struct cv_predicate *leaf)
{
    enum cv_transform_kind transform = projector->spec->fields[index].transform.kind;

    if (transform == CV_TRANSFORM_VOID || transform == CV_TRANSFORM_UNKNOWN)
        return &anything;
    if (transform == CV_TRANSFORM_IDENTITY)
        return new_leaf(projector, index, leaf->kind, leaf->values, leaf->value_count);
    if (leaf->kind == CV_PREDICATE_IS_NULL || leaf->kind == CV_PREDICATE_NOT_NULL)
        return new_leaf(projector, index, leaf->kind, NULL, 0);
    if (leaf->kind == CV_PREDICATE_EQUAL || leaf->kind == CV_PREDICATE_IN)
        return one_of(projector, index, leaf);
    if (transform == CV_TRANSFORM_BUCKET)
        return new_leaf(projector, index, CV_PREDICATE_NOT_NULL, NULL, 0);
    switch (leaf->kind) {
    case CV_PREDICATE_LESS:
    case CV_PREDICATE_LESS_EQUAL:
        return at_most(projector, index, leaf, leaf->values[0]);
    case CV_PREDICATE_GREATER:
    case CV_PREDICATE_GREATER_EQUAL:
        return at_least(projector, index, leaf, leaf->values[0]);
    case CV_PREDICATE_STARTS_WITH:
        return starts_with(projector, index, leaf);
    default:
        return new_leaf(projector, index, CV_PREDICATE_NOT_NULL, NULL, 0);
    }
}

/* --- the tree --------------------------------------------------------------------------------- */

static const struct cv_predicate *project(struct projector *projector,
                                          const struct cv_predicate *predicate)
{
    const struct cv_predicate *result = &anything;

    switch (predicate->kind) {
    case CV_PREDICATE_TRUE:
    case CV_PREDICATE_FALSE:
        return predicate;
    case CV_PREDICATE_AND:
    case CV_PREDICATE_OR:
        return join(projector, predicate->kind, project(projector, predicate->left),
                    project(projector, predicate->right));
    default:
        break;
    }
    for (size_t i = 0; i < projector->spec->field_count; i++) {
        const struct cv_predicate *one;

        if (projector->spec->fields[i].source_id != predicate->field->id)
            continue;
        one = project_leaf(projector, i, predicate);
        result = result == &anything ? one : join(projector, CV_PREDICATE_AND, result, one);
    }
    return result;
}

void cv_projection_make(const struct cv_predicate *predicate, const struct cv_partition_spec *spec,
                        const struct cv_schema *schema, struct cv_arena *arena,
                        struct cv_projection *ret_projection)
{
    struct cv_field *fields = cv_arena_array(arena, struct cv_field, spec->field_count);
    struct projector projector = {spec, schema, fields, arena};

    for (size_t i = 0; i < spec->field_count; i++) {
        const struct cv_partition_field *field = &spec->fields[i];
        const struct cv_field *source = cv_schema_find_id(schema, field->source_id);

        fields[i] = (struct cv_field){.id = field->field_id, .name = field->name};
        fields[i].type.kind = CV_TYPE_INT;
        if (source && field->transform.kind != CV_TRANSFORM_UNKNOWN)
            (void)cv_transform_result_type(&field->transform, &source->type, &fields[i].type, NULL);
    }
    *ret_projection =
        (struct cv_projection){project(&projector, predicate), fields, spec->field_count};
}

/* --- asked ------------------------------------------------------------------------------------ */

struct tuple_question {
    const struct cv_projection *projection;
    const struct cv_value *tuple;
};

static bool tuple_column(void *context, const struct cv_field *field,
                         struct cv_predicate_column *ret_column)
{
    const struct tuple_question *question = context;
    const struct cv_value *value = &question->tuple[field - question->projection->fields];
    bool nan = !value->is_null && ((value->kind == CV_TYPE_FLOAT && isnan(value->f32)) ||
                                   (value->kind == CV_TYPE_DOUBLE && isnan(value->f64)));

    *ret_column = (struct cv_predicate_column){1, value->is_null, nan, *value, *value};
    return true;
}

bool cv_projection_may_match(const struct cv_projection *projection, const struct cv_value *tuple)
{
    struct tuple_question question = {projection, tuple};

    return cv_predicate_may_match(projection->predicate, tuple_column, &question);
}

struct manifest_question {
    const struct cv_projection *projection;
    const struct cv_manifest_file *row;
};

static struct cv_value read_bound(const struct cv_field *field, struct cv_str bytes)
{
    struct cv_value value = {.is_null = true, .kind = field->type.kind};

    if (bytes.ptr && cv_value_read_binary(&field->type, bytes, &value, NULL) != CV_OK)
        value = (struct cv_value){.is_null = true, .kind = field->type.kind};
    return value;
}

static bool summary_column(void *context, const struct cv_field *field,
                           struct cv_predicate_column *ret_column)
{
    const struct manifest_question *question = context;
    const struct cv_partition_summary *summary =
        &question->row->partitions[field - question->projection->fields];
    bool is_fraction = field->type.kind == CV_TYPE_FLOAT || field->type.kind == CV_TYPE_DOUBLE;
    bool only_null = summary->contains_null && !summary->lower.ptr && !summary->upper.ptr &&
                     (!is_fraction || summary->contains_nan == 0);

    *ret_column = (struct cv_predicate_column){.value_count = only_null ? 1 : -1,
                                               .null_count = only_null                ? 1
                                                             : summary->contains_null ? -1
                                                                                      : 0,
                                               .nan_count = summary->contains_nan == 0 ? 0 : -1,
                                               .lower = read_bound(field, summary->lower),
                                               .upper = read_bound(field, summary->upper)};
    return true;
}

bool cv_projection_may_match_manifest(const struct cv_projection *projection,
                                      const struct cv_manifest_file *row)
{
    struct manifest_question question = {projection, row};

    if (!row->partitions || row->partition_count != projection->field_count)
        return projection->predicate->kind != CV_PREDICATE_FALSE;
    return cv_predicate_may_match(projection->predicate, summary_column, &question);
}

bool cv_data_file_column(const struct cv_data_file *file, const struct cv_field *field,
                         struct cv_predicate_column *ret_column)
{
    const struct cv_column_metrics *found = cv_file_metrics_column(&file->metrics, field->id);

    if (!found)
        return false;
    *ret_column = (struct cv_predicate_column){found->value_count, found->null_count,
                                               found->nan_count, read_bound(field, found->lower),
                                               read_bound(field, found->upper)};
    return true;
}

static bool file_column(void *context, const struct cv_field *field,
                        struct cv_predicate_column *ret_column)
{
    return cv_data_file_column(context, field, ret_column);
}

bool cv_file_may_match(const struct cv_predicate *predicate, const struct cv_data_file *file)
{
    return file->metrics.record_count != 0 &&
           cv_predicate_may_match(predicate, file_column, (void *)(uintptr_t)file);
}
