/* SPDX-License-Identifier: Apache-2.0
 *
 * Partition specs: JSON (spec: Appendix C), and the rules for one that is to be written. */
#include "iceberg/partition_int.h"

void cv_partition_fields_write_json(const struct cv_partition_spec *spec, struct cv_buf *out)
{
    struct cv_json_writer w = CV_JSON_WRITER(out);

    cv_json_begin_array(&w);
    for (size_t i = 0; i < spec->field_count; i++) {
        const struct cv_partition_field *field = &spec->fields[i];

        cv_json_begin_object(&w);
        cv_json_key(&w, "name");
        cv_json_put_string(&w, field->name);
        cv_json_key(&w, "transform");
        cv_json_put_string(&w, field->transform.text);
        cv_json_key(&w, "source-id");
        cv_json_put_i64(&w, field->source_id);
        cv_json_key(&w, "field-id");
        cv_json_put_i64(&w, field->field_id);
        cv_json_end_object(&w);
    }
    cv_json_end_array(&w);
}

void cv_partition_spec_write_json(const struct cv_partition_spec *spec, struct cv_buf *out)
{
    cv_buf_printf(out, "{\"spec-id\":%d,\"fields\":", spec->spec_id);
    cv_partition_fields_write_json(spec, out);
    cv_buf_append_byte(out, '}');
}

static enum cv_code read_field(const struct cv_json *json, size_t index, struct cv_arena *arena,
                               struct cv_partition_field *field, struct cv_error *err)
{
    const char *name;
    const char *transform;

    if (!cv_json_is_object(json))
        return cv_fail(err, CV_FORMAT, "not an object");
    if (cv_json_get(json, "source-ids"))
        return cv_fail(err, CV_UNSUPPORTED,
                       "transforms with several sources are of format version 3");
    CV_DO(cv_json_read_string(json, "name", &name, err));
    CV_DO(cv_json_read_string(json, "transform", &transform, err));
    CV_DO(cv_json_read_i32(json, "source-id", &field->source_id, err));
    field->field_id = CV_PARTITION_ID_FIRST + (int32_t)index;
    CV_DO(cv_json_optional_i32(json, "field-id", &field->field_id, err));
    field->name = cv_arena_strdup(arena, name);
    return cv_transform_parse(transform, arena, &field->transform, err);
}

enum cv_code cv_partition_spec_read_json(const struct cv_json *json, struct cv_arena *arena,
                                         struct cv_partition_spec *ret_spec, struct cv_error *err)
{
    const struct cv_json *fields = json;
    struct cv_partition_spec spec = {0};

    if (cv_json_is_object(json)) {
        CV_DO(cv_json_read_i32(json, "spec-id", &spec.spec_id, err));
        CV_TRY(cv_json_read_array(json, "fields", &fields, err), err, "partition spec %d",
               spec.spec_id);
    } else if (!cv_json_is_array(json)) {
        return cv_fail(err, CV_FORMAT, "a partition spec is neither an object nor an array");
    }
    spec.field_count = cv_json_size(fields);
    if (spec.field_count > CV_PARTITION_FIELDS_MAX)
        return cv_fail(err, CV_LIMIT, "partition spec %d has more than %d fields", spec.spec_id,
                       CV_PARTITION_FIELDS_MAX);
    spec.fields = cv_arena_array(arena, struct cv_partition_field, spec.field_count);
    for (size_t i = 0; i < spec.field_count; i++)
        CV_TRY(read_field(cv_json_at(fields, i), i, arena, &spec.fields[i], err), err,
               "partition spec %d: field %zu", spec.spec_id, i);
    *ret_spec = spec;
    return CV_OK;
}

static const struct cv_field *find_source(const struct cv_type *type, int32_t source_id,
                                          uint32_t *path, size_t depth, size_t *ret_depth)
{
    if (depth >= CV_DEPTH_MAX)
        return NULL;
    for (size_t i = 0; i < type->field_count; i++) {
        const struct cv_field *field = &type->fields[i];
        const struct cv_field *found = NULL;

        path[depth] = (uint32_t)i;
        if (field->id == source_id) {
            *ret_depth = depth + 1;
            return field;
        }
        if (field->type.kind == CV_TYPE_STRUCT)
            found = find_source(&field->type, source_id, path, depth + 1, ret_depth);
        if (found)
            return found;
    }
    return NULL;
}

const struct cv_field *cv_partition_source(const struct cv_schema *schema, int32_t source_id,
                                           uint32_t path[CV_DEPTH_MAX], size_t *ret_depth)
{
    return find_source(&schema->root, source_id, path, 0, ret_depth);
}

static bool is_time_period(enum cv_transform_kind kind)
{
    return kind >= CV_TRANSFORM_YEAR && kind <= CV_TRANSFORM_HOUR;
}

/* Java calls a second field redundant when it says the same of the same column. */
static bool redundant(const struct cv_partition_field *a, const struct cv_partition_field *b)
{
    if (a->source_id != b->source_id)
        return false;
    if (is_time_period(a->transform.kind) && is_time_period(b->transform.kind))
        return true;
    return a->transform.kind == CV_TRANSFORM_IDENTITY && b->transform.kind == CV_TRANSFORM_IDENTITY;
}

static enum cv_code check_against(const struct cv_partition_spec *spec, size_t index,
                                  struct cv_error *err)
{
    const struct cv_partition_field *field = &spec->fields[index];

    for (size_t i = 0; i < index; i++) {
        const struct cv_partition_field *other = &spec->fields[i];

        if (strcmp(field->name, other->name) == 0)
            return cv_fail(err, CV_SCHEMA, "the partition name is used twice");
        if (redundant(field, other))
            return cv_fail(err, CV_SCHEMA,
                           "%s of the same column as partition field %s is redundant",
                           field->transform.text, other->name);
    }
    return CV_OK;
}

static enum cv_code check_field(const struct cv_partition_spec *spec, size_t index,
                                const struct cv_schema *schema, struct cv_error *err)
{
    const struct cv_partition_field *field = &spec->fields[index];
    uint32_t path[CV_DEPTH_MAX];
    size_t depth;
    const struct cv_field *source = cv_partition_source(schema, field->source_id, path, &depth);
    const struct cv_field *same_name = cv_schema_find_name(schema, field->name, true);
    struct cv_type type;

    if (field->name[0] == '\0')
        return cv_fail(err, CV_SCHEMA, "the partition name is empty");
    if (field->transform.kind == CV_TRANSFORM_UNKNOWN)
        return cv_fail(err, CV_UNSUPPORTED, "the transform %s is not known", field->transform.text);
    if (!source && field->transform.kind == CV_TRANSFORM_VOID)
        return check_against(spec, index, err);
    if (!source)
        return cv_fail(err, CV_SCHEMA, "the schema has no column with id %d outside lists and maps",
                       field->source_id);
    CV_DO(cv_transform_result_type(&field->transform, &source->type, &type, err));
    if (same_name && (field->transform.kind != CV_TRANSFORM_IDENTITY || same_name != source))
        return cv_fail(err, CV_SCHEMA, "a column has this name already");
    return check_against(spec, index, err);
}

enum cv_code cv_partition_spec_check(const struct cv_partition_spec *spec,
                                     const struct cv_schema *schema, struct cv_error *err)
{
    for (size_t i = 0; i < spec->field_count; i++)
        CV_TRY(check_field(spec, i, schema, err), err, "partition field %s", spec->fields[i].name);
    return CV_OK;
}

static enum cv_code field_type(const struct cv_partition_field *field,
                               const struct cv_schema *schema, struct cv_type *ret_type,
                               struct cv_error *err)
{
    uint32_t path[CV_DEPTH_MAX];
    size_t depth;
    const struct cv_field *source = cv_partition_source(schema, field->source_id, path, &depth);

    if (field->transform.kind == CV_TRANSFORM_UNKNOWN)
        return cv_fail(err, CV_UNSUPPORTED, "the transform %s is not known", field->transform.text);
    if (source)
        return cv_transform_result_type(&field->transform, &source->type, ret_type, err);
    if (field->transform.kind != CV_TRANSFORM_VOID)
        return cv_fail(err, CV_SCHEMA, "the schema has no column with id %d outside lists and maps",
                       field->source_id);
    *ret_type = (struct cv_type){.kind = CV_TYPE_INT};
    return CV_OK;
}

enum cv_code cv_partition_types(const struct cv_partition_spec *spec,
                                const struct cv_schema *schema, struct cv_arena *arena,
                                const struct cv_type **ret_types, struct cv_error *err)
{
    struct cv_type *types = cv_arena_array(arena, struct cv_type, spec->field_count);

    for (size_t i = 0; i < spec->field_count; i++)
        CV_TRY(field_type(&spec->fields[i], schema, &types[i], err), err, "partition field %s",
               spec->fields[i].name);
    *ret_types = types;
    return CV_OK;
}
