/* SPDX-License-Identifier: Apache-2.0
 *
 * Schemas as JSON (spec: Appendix C). Keys are written in the order of the Java library. */
#include "codec/json.h"
#include "schema/type_int.h"

#include <stdio.h>

/* --- writing --------------------------------------------------------------------------------- */

static void write_type(struct cv_json_writer *w, const struct cv_type *type);

static void write_child(struct cv_json_writer *w, const struct cv_field *child,
                        const char *const keys[3])
{
    cv_json_key(w, keys[0]);
    cv_json_put_i64(w, child->id);
    cv_json_key(w, keys[1]);
    write_type(w, &child->type);
    if (!keys[2])
        return;
    cv_json_key(w, keys[2]);
    cv_json_put_bool(w, child->required);
}

static void write_field(struct cv_json_writer *w, const struct cv_field *field)
{
    cv_json_begin_object(w);
    cv_json_key(w, "id");
    cv_json_put_i64(w, field->id);
    cv_json_key(w, "name");
    cv_json_put_string(w, field->name);
    cv_json_key(w, "required");
    cv_json_put_bool(w, field->required);
    cv_json_key(w, "type");
    write_type(w, &field->type);
    if (field->doc) {
        cv_json_key(w, "doc");
        cv_json_put_string(w, field->doc);
    }
    if (field->initial_default) {
        cv_json_key(w, "initial-default");
        cv_json_put_raw(w, field->initial_default, strlen(field->initial_default));
    }
    if (field->write_default) {
        cv_json_key(w, "write-default");
        cv_json_put_raw(w, field->write_default, strlen(field->write_default));
    }
    cv_json_end_object(w);
}

static void write_fields(struct cv_json_writer *w, const struct cv_type *type)
{
    cv_json_key(w, "fields");
    cv_json_begin_array(w);
    for (size_t i = 0; i < type->field_count; i++)
        write_field(w, &type->fields[i]);
    cv_json_end_array(w);
}

static void write_type(struct cv_json_writer *w, const struct cv_type *type)
{
    static const char *const element[3] = {"element-id", "element", "element-required"};
    static const char *const key[3] = {"key-id", "key", NULL};
    static const char *const value[3] = {"value-id", "value", "value-required"};
    char text[CV_TYPE_TEXT_BYTES];

    if (!cv_type_is_nested(type)) {
        cv_type_text(type, text);
        cv_json_put_string(w, text);
        return;
    }
    cv_json_begin_object(w);
    cv_json_key(w, "type");
    cv_json_put_string(w, cv_type_word(type->kind));
    if (type->kind == CV_TYPE_STRUCT) {
        write_fields(w, type);
    } else if (type->kind == CV_TYPE_LIST) {
        write_child(w, &type->fields[0], element);
    } else {
        write_child(w, &type->fields[0], key);
        write_child(w, &type->fields[1], value);
    }
    cv_json_end_object(w);
}

void cv_schema_write_json(const struct cv_schema *schema, struct cv_buf *out)
{
    struct cv_json_writer w = CV_JSON_WRITER(out);

    cv_json_begin_object(&w);
    cv_json_key(&w, "type");
    cv_json_put_string(&w, "struct");
    cv_json_key(&w, "schema-id");
    cv_json_put_i64(&w, schema->schema_id);
    if (schema->identifier_count) {
        cv_json_key(&w, "identifier-field-ids");
        cv_json_begin_array(&w);
        for (size_t i = 0; i < schema->identifier_count; i++)
            cv_json_put_i64(&w, schema->identifier_ids[i]);
        cv_json_end_array(&w);
    }
    write_fields(&w, &schema->root);
    cv_json_end_object(&w);
}

/* --- reading --------------------------------------------------------------------------------- */

static enum cv_code read_type(const struct cv_json *node, unsigned depth, struct cv_arena *arena,
                              struct cv_type *ret_type, struct cv_error *err);

static const char *default_text(const struct cv_json *object, const char *key,
                                struct cv_arena *arena)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    const struct cv_json *node = cv_json_get(object, key);

    if (!node || cv_json_is_null(node))
        return NULL;
    cv_json_write_node(node, &text);
    return cv_arena_strndup(arena, (const char *)text.data, text.length);
}

static enum cv_code read_name(const struct cv_json *object, struct cv_arena *arena,
                              const char **ret_name, struct cv_error *err)
{
    const char *name;

    CV_DO(cv_json_read_string(object, "name", &name, err));
    if (strlen(name) != cv_json_text_length(cv_json_get(object, "name")))
        return cv_fail(err, CV_SCHEMA, "a field name holds a NUL character");
    *ret_name = cv_arena_strdup(arena, name);
    return CV_OK;
}

static enum cv_code read_field(const struct cv_json *object, unsigned depth, struct cv_arena *arena,
                               struct cv_field *field, struct cv_error *err)
{
    const char *doc = NULL;

    CV_DO(read_name(object, arena, &field->name, err));
    CV_TRY(cv_json_read_i32(object, "id", &field->id, err), err, "field %s", field->name);
    CV_TRY(cv_json_read_bool(object, "required", &field->required, err), err, "field %s",
           field->name);
    CV_TRY(read_type(cv_json_get(object, "type"), depth, arena, &field->type, err), err, "field %s",
           field->name);
    CV_TRY(cv_json_optional_string(object, "doc", &doc, err), err, "field %s", field->name);
    if (doc)
        field->doc = cv_arena_strdup(arena, doc);
    field->initial_default = default_text(object, "initial-default", arena);
    field->write_default = default_text(object, "write-default", arena);
    return CV_OK;
}

static enum cv_code read_struct(const struct cv_json *object, unsigned depth,
                                struct cv_arena *arena, struct cv_type *ret_type,
                                struct cv_error *err)
{
    const struct cv_json *array;
    struct cv_field *fields;
    size_t count;

    CV_DO(cv_json_read_array(object, "fields", &array, err));
    count = cv_json_size(array);
    if (count > CV_FIELDS_MAX)
        return cv_fail(err, CV_LIMIT, "a struct has more than %d fields", CV_FIELDS_MAX);
    fields = cv_arena_array(arena, struct cv_field, count);
    for (size_t i = 0; i < count; i++)
        CV_DO(read_field(cv_json_at(array, i), depth, arena, &fields[i], err));
    *ret_type = (struct cv_type){.kind = CV_TYPE_STRUCT, .fields = fields, .field_count = count};
    return CV_OK;
}

static enum cv_code read_child(const struct cv_json *object, unsigned depth, const char *name,
                               struct cv_arena *arena, struct cv_field *field, struct cv_error *err)
{
    char key[32];

    field->name = cv_arena_strdup(arena, name);
    field->required = true; /* of a map's key */
    (void)snprintf(key, sizeof key, "%s-id", name);
    CV_DO(cv_json_read_i32(object, key, &field->id, err));
    (void)snprintf(key, sizeof key, "%s-required", name);
    if (strcmp(name, "key") != 0)
        CV_DO(cv_json_read_bool(object, key, &field->required, err));
    CV_TRY(read_type(cv_json_get(object, name), depth, arena, &field->type, err), err, "%s", name);
    return CV_OK;
}

static enum cv_code read_list(const struct cv_json *object, unsigned depth, struct cv_arena *arena,
                              struct cv_type *ret_type, struct cv_error *err)
{
    struct cv_field *fields = cv_arena_array(arena, struct cv_field, 1);

    CV_DO(read_child(object, depth, "element", arena, &fields[0], err));
    *ret_type = (struct cv_type){.kind = CV_TYPE_LIST, .fields = fields, .field_count = 1};
    return CV_OK;
}

static enum cv_code read_map(const struct cv_json *object, unsigned depth, struct cv_arena *arena,
                             struct cv_type *ret_type, struct cv_error *err)
{
    struct cv_field *fields = cv_arena_array(arena, struct cv_field, 2);

    CV_DO(read_child(object, depth, "key", arena, &fields[0], err));
    CV_DO(read_child(object, depth, "value", arena, &fields[1], err));
    *ret_type = (struct cv_type){.kind = CV_TYPE_MAP, .fields = fields, .field_count = 2};
    return CV_OK;
}

static enum cv_code read_type(const struct cv_json *node, unsigned depth, struct cv_arena *arena,
                              struct cv_type *ret_type, struct cv_error *err)
{
    const char *word;

    if (depth > CV_DEPTH_MAX)
        return cv_fail(err, CV_LIMIT, "the schema is nested deeper than %d", CV_DEPTH_MAX);
    if (!node)
        return cv_fail(err, CV_FORMAT, "the type is missing");
    if (cv_json_is_string(node))
        return cv_type_parse_primitive(
            (struct cv_str){cv_json_text(node), cv_json_text_length(node)}, ret_type, err);
    if (!cv_json_is_object(node))
        return cv_fail(err, CV_FORMAT, "a type is neither text nor an object");
    CV_DO(cv_json_read_string(node, "type", &word, err));
    if (strcmp(word, "struct") == 0)
        return read_struct(node, depth + 1, arena, ret_type, err);
    if (strcmp(word, "list") == 0)
        return read_list(node, depth + 1, arena, ret_type, err);
    if (strcmp(word, "map") == 0)
        return read_map(node, depth + 1, arena, ret_type, err);
    return cv_type_refuse(cv_str_from(word), err);
}

static enum cv_code read_identifiers(const struct cv_json *json, struct cv_arena *arena,
                                     struct cv_schema *schema, struct cv_error *err)
{
    const struct cv_json *array = cv_json_get(json, "identifier-field-ids");
    size_t count = cv_json_size(array);
    int32_t *ids;

    if (!array || cv_json_is_null(array))
        return CV_OK;
    if (!cv_json_is_array(array) || count > CV_FIELDS_MAX)
        return cv_fail(err, CV_FORMAT, "identifier-field-ids is not a list of field ids");
    ids = cv_arena_array(arena, int32_t, count);
    for (size_t i = 0; i < count; i++) {
        const struct cv_json *id = cv_json_at(array, i);

        if (!cv_json_is_integer(id) || cv_json_integer(id) < 0 ||
            cv_json_integer(id) > CV_FIELD_ID_MAX)
            return cv_fail(err, CV_FORMAT, "identifier-field-ids[%zu] is not a field id", i);
        ids[i] = (int32_t)cv_json_integer(id);
    }
    schema->identifier_ids = ids;
    schema->identifier_count = count;
    return CV_OK;
}

enum cv_code cv_schema_read_json(const struct cv_json *json, struct cv_arena *arena,
                                 struct cv_schema *ret_schema, struct cv_error *err)
{
    struct cv_schema schema = {0};
    const char *word;

    if (!cv_json_is_object(json))
        return cv_fail(err, CV_FORMAT, "a schema is not an object");
    CV_DO(cv_json_read_string(json, "type", &word, err));
    if (strcmp(word, "struct") != 0)
        return cv_fail(err, CV_FORMAT, "a schema has type \"%s\", not \"struct\"", word);
    CV_DO(cv_json_optional_i32(json, "schema-id", &schema.schema_id, err));
    CV_DO(read_struct(json, 0, arena, &schema.root, err));
    CV_DO(read_identifiers(json, arena, &schema, err));
    CV_DO(cv_schema_check(&schema, err));
    *ret_schema = schema;
    return CV_OK;
}
