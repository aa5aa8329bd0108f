/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules that hold for every schema, checked once when it is built. */
#include "base/buf.h"
#include "base/map.h"
#include "schema/type_int.h"

struct check {
    struct cv_map ids;   /* field id → the field */
    struct cv_map paths; /* dotted path → the field */
    struct cv_buf path;  /* of the field at hand */
    int32_t highest_id;
    size_t count;
};

static void check_release(struct check *check)
{
    cv_map_release(&check->ids);
    cv_map_release(&check->paths);
    cv_buf_release(&check->path);
}

static enum cv_code check_field(struct check *check, const struct cv_field *field,
                                struct cv_error *err)
{
    const char *path = cv_buf_text(&check->path);
    const struct cv_field *other;

    if (++check->count > CV_FIELDS_MAX)
        return cv_fail(err, CV_LIMIT, "the schema has more than %d fields", CV_FIELDS_MAX);
    if (field->id < 0 || field->id > CV_FIELD_ID_MAX)
        return cv_fail(err, CV_SCHEMA, "field %s: id %d is not between 0 and %d", path, field->id,
                       CV_FIELD_ID_MAX);
    other = cv_map_get(&check->paths, path, check->path.length);
    if (other)
        return cv_fail(err, CV_SCHEMA,
                       "two fields have the path \"%s\": the field named \"%s\" and the field named"
                       " \"%s\" of the struct that the path leads to",
                       path, strlen(other->name) > strlen(field->name) ? other->name : field->name,
                       strlen(other->name) > strlen(field->name) ? field->name : other->name);
    if (cv_map_set(&check->ids, &field->id, sizeof field->id, (void *)(uintptr_t)field))
        return cv_fail(err, CV_SCHEMA, "field %s: id %d is used twice", path, field->id);
    (void)cv_map_set(&check->paths, path, check->path.length, (void *)(uintptr_t)field);
    check->highest_id = CV_MAX(check->highest_id, field->id);
    return CV_OK;
}

static enum cv_code check_names(const struct check *check, const struct cv_type *type,
                                struct cv_error *err)
{
    CV_CLEANUP(cv_map_release) struct cv_map names = {0};

    for (size_t i = 0; i < type->field_count; i++) {
        const char *name = type->fields[i].name;

        if (cv_map_set(&names, name, strlen(name), (void *)(uintptr_t)name))
            return cv_fail(err, CV_SCHEMA, "two fields named \"%s\"%s%.*s", name,
                           check->path.length ? " in " : "", (int)check->path.length,
                           check->path.data ? (const char *)check->path.data : "");
    }
    return CV_OK;
}

static enum cv_code check_below(struct check *check, const struct cv_type *type, unsigned depth,
                                struct cv_error *err)
{
    size_t length = check->path.length;

    if (depth > CV_DEPTH_MAX)
        return cv_fail(err, CV_LIMIT, "the schema is nested deeper than %d", CV_DEPTH_MAX);
    CV_DO(check_names(check, type, err));
    for (size_t i = 0; i < type->field_count; i++) {
        if (length)
            cv_buf_append_byte(&check->path, '.');
        cv_buf_append_text(&check->path, type->fields[i].name);
        CV_DO(check_field(check, &type->fields[i], err));
        CV_DO(check_below(check, &type->fields[i].type, depth + 1, err));
        check->path.length = length;
    }
    return CV_OK;
}

enum cv_code cv_schema_check(struct cv_schema *schema, struct cv_error *err)
{
    CV_CLEANUP(check_release) struct check check = {0};

    CV_DO(check_below(&check, &schema->root, 0, err));
    for (size_t i = 0; i < schema->identifier_count; i++)
        if (!cv_map_has(&check.ids, &schema->identifier_ids[i], sizeof(int32_t)))
            return cv_fail(err, CV_SCHEMA, "identifier field %d is not in the schema",
                           schema->identifier_ids[i]);
    schema->highest_id = check.highest_id;
    return CV_OK;
}
