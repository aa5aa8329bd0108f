/* SPDX-License-Identifier: Apache-2.0
 *
 * Name mappings from JSON, and from the names of a schema. */
#include "schema/name_mapping.h"

static enum cv_code read_fields(const struct cv_json *array, struct cv_arena *arena, unsigned depth,
                                struct cv_name_mapping_field **ret_fields, size_t *ret_count,
                                struct cv_error *err);

static enum cv_code read_field(const struct cv_json *node, struct cv_arena *arena, unsigned depth,
                               struct cv_name_mapping_field *ret, struct cv_error *err)
{
    const struct cv_json *names = cv_json_get(node, "names");
    const struct cv_json *fields = cv_json_get(node, "fields");

    *ret = (struct cv_name_mapping_field){.field_id = -1};
    if (!cv_json_is_object(node) || !cv_json_is_array(names))
        return cv_fail(err, CV_FORMAT, "a field is an object with an array \"names\"");
    CV_DO(cv_json_optional_i32(node, "field-id", &ret->field_id, err));
    ret->name_count = cv_json_size(names);
    ret->names = cv_arena_alloc_array(arena, ret->name_count, sizeof *ret->names);
    for (size_t i = 0; i < ret->name_count; i++) {
        if (!cv_json_is_string(cv_json_at(names, i)))
            return cv_fail(err, CV_FORMAT, "a name is not a string");
        ret->names[i] = cv_arena_strdup(arena, cv_json_text(cv_json_at(names, i)));
    }
    if (!fields || cv_json_is_null(fields))
        return CV_OK;
    return read_fields(fields, arena, depth + 1, &ret->fields, &ret->field_count, err);
}

static enum cv_code read_fields(const struct cv_json *array, struct cv_arena *arena, unsigned depth,
                                struct cv_name_mapping_field **ret_fields, size_t *ret_count,
                                struct cv_error *err)
{
    size_t count = cv_json_size(array);
    struct cv_name_mapping_field *fields;

    if (!cv_json_is_array(array))
        return cv_fail(err, CV_FORMAT, "fields are an array");
    if (depth > CV_DEPTH_MAX || count > CV_FIELDS_MAX)
        return cv_fail(err, CV_LIMIT, "more than %d fields or %d levels", CV_FIELDS_MAX,
                       CV_DEPTH_MAX);
    fields = cv_arena_array(arena, struct cv_name_mapping_field, count);
    for (size_t i = 0; i < count; i++)
        CV_DO(read_field(cv_json_at(array, i), arena, depth, &fields[i], err));
    *ret_fields = fields;
    *ret_count = count;
    return CV_OK;
}

enum cv_code cv_name_mapping_read(const char *json, struct cv_arena *arena,
                                  struct cv_name_mapping *ret_mapping, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;
    struct cv_name_mapping mapping = {0};

    CV_TRY(cv_json_parse(json, strlen(json), &root, err), err, "name mapping");
    CV_TRY(read_fields(root, arena, 0, &mapping.fields, &mapping.field_count, err), err,
           "name mapping");
    *ret_mapping = mapping;
    return CV_OK;
}

static struct cv_name_mapping_field *map_fields(const struct cv_type *type, struct cv_arena *arena)
{
    struct cv_name_mapping_field *fields =
        cv_arena_array(arena, struct cv_name_mapping_field, type->field_count);

    for (size_t i = 0; i < type->field_count; i++) {
        const struct cv_field *field = &type->fields[i];

        fields[i].field_id = field->id;
        fields[i].names = cv_arena_alloc(arena, sizeof *fields[i].names);
        fields[i].names[0] = field->name;
        fields[i].name_count = 1;
        fields[i].field_count = field->type.field_count;
        if (field->type.field_count)
            fields[i].fields = map_fields(&field->type, arena);
    }
    return fields;
}

void cv_name_mapping_of_schema(const struct cv_schema *schema, struct cv_arena *arena,
                               struct cv_name_mapping *ret_mapping)
{
    *ret_mapping =
        (struct cv_name_mapping){map_fields(&schema->root, arena), schema->root.field_count};
}

const struct cv_name_mapping_field *cv_name_mapping_find(const struct cv_name_mapping_field *fields,
                                                         size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < fields[i].name_count; j++)
            if (strcmp(fields[i].names[j], name) == 0)
                return &fields[i];
    return NULL;
}
