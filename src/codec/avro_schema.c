/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads Avro schemas: names and namespaces, aliases, unions, references to other texts. Logical
 * types are read in avro_logical.c. */
#include "codec/avro_schema_int.h"

#include "base/map.h"

#include <stdlib.h>

#define FIXED_BYTES_MAX  (1 << 24)
#define ENUM_SYMBOLS_MAX ((size_t)1 << 20)

static const char *const kind_names[] = {
    [CV_AVRO_NULL] = "null",   [CV_AVRO_BOOLEAN] = "boolean", [CV_AVRO_INT] = "int",
    [CV_AVRO_LONG] = "long",   [CV_AVRO_FLOAT] = "float",     [CV_AVRO_DOUBLE] = "double",
    [CV_AVRO_BYTES] = "bytes", [CV_AVRO_STRING] = "string",   [CV_AVRO_RECORD] = "record",
    [CV_AVRO_ENUM] = "enum",   [CV_AVRO_ARRAY] = "array",     [CV_AVRO_MAP] = "map",
    [CV_AVRO_UNION] = "union", [CV_AVRO_FIXED] = "fixed",
};

const char *cv_avro_kind_name(enum cv_avro_kind kind)
{
    return kind_names[kind];
}

/* Where the parser stands: what every function below gets. */
struct scope {
    struct parser *parser;
    const char *space; /* the enclosing namespace, "" for none */
    unsigned depth;
};

struct parser {
    struct cv_arena *arena;
    struct cv_map names; /* full name → struct cv_avro_type */
    size_t fields;
    struct cv_error *err;
};

static enum cv_code parse_type(struct scope scope, const struct cv_json *json,
                               const struct cv_avro_type **ret_type);

static struct cv_avro_type *new_type(struct parser *parser, enum cv_avro_kind kind)
{
    struct cv_avro_type *type = cv_arena_new(parser->arena, struct cv_avro_type);

    type->kind = kind;
    type->element_id = -1;
    type->key_id = -1;
    return type;
}

static bool primitive_kind(const char *name, enum cv_avro_kind *ret_kind)
{
    for (int kind = CV_AVRO_NULL; kind <= CV_AVRO_STRING; kind++)
        if (strcmp(kind_names[kind], name) == 0) {
            *ret_kind = (enum cv_avro_kind)kind;
            return true;
        }
    return false;
}

/* A name with a dot is a full name; another one stands in the given namespace. */
static const char *full_name(struct parser *parser, const char *space, const char *name)
{
    if (strchr(name, '.') || !*space)
        return cv_arena_strdup(parser->arena, name);
    return cv_arena_printf(parser->arena, "%s.%s", space, name);
}

static const char *namespace_of(struct parser *parser, const char *full)
{
    const char *dot = strrchr(full, '.');

    return dot ? cv_arena_strndup(parser->arena, full, (size_t)(dot - full)) : "";
}

/* A name where a type is wanted. The enclosing namespace is tried first, then the name as it is,
 * since some producers write the short name of a type without a namespace. */
static enum cv_code find_name(struct scope scope, const char *name,
                              const struct cv_avro_type **ret_type)
{
    struct parser *parser = scope.parser;
    const char *full = full_name(parser, scope.space, name);
    enum cv_avro_kind kind;

    if (primitive_kind(name, &kind)) {
        *ret_type = new_type(parser, kind);
        return CV_OK;
    }
    *ret_type = cv_map_get(&parser->names, full, strlen(full));
    if (!*ret_type)
        *ret_type = cv_map_get(&parser->names, name, strlen(name));
    if (!*ret_type)
        return cv_fail(parser->err, CV_SCHEMA, "unknown Avro type \"%s\"", full);
    return CV_OK;
}

static enum cv_code read_texts(struct parser *parser, const struct cv_json *array, const char *what,
                               const char *const **ret_texts, size_t *ret_count)
{
    size_t count = cv_json_size(array);
    const char **texts;

    if (!cv_json_is_array(array) || count > ENUM_SYMBOLS_MAX)
        return cv_fail(parser->err, CV_SCHEMA, "\"%s\" should be an array of names", what);
    texts = cv_arena_array(parser->arena, const char *, count);
    for (size_t i = 0; i < count; i++) {
        if (!cv_json_is_string(cv_json_at(array, i)))
            return cv_fail(parser->err, CV_SCHEMA, "\"%s\" should be an array of names", what);
        texts[i] = cv_arena_strdup(parser->arena, cv_json_text(cv_json_at(array, i)));
    }
    *ret_texts = texts;
    *ret_count = count;
    return CV_OK;
}

static enum cv_code read_aliases(struct parser *parser, const struct cv_json *json,
                                 const char *space, const char *const **ret_aliases,
                                 size_t *ret_count)
{
    const struct cv_json *array = cv_json_get(json, "aliases");
    const char **aliases;

    if (!array || cv_json_is_null(array))
        return CV_OK;
    CV_DO(read_texts(parser, array, "aliases", ret_aliases, ret_count));
    aliases = cv_arena_array(parser->arena, const char *, *ret_count);
    for (size_t i = 0; i < *ret_count; i++)
        aliases[i] = space ? full_name(parser, space, (*ret_aliases)[i]) : (*ret_aliases)[i];
    *ret_aliases = aliases;
    return CV_OK;
}

/* The full name of a record, enum or fixed, entered into the table of names before its content is
 * read, so that it may refer to itself. */
static enum cv_code declare(struct scope scope, const struct cv_json *json,
                            struct cv_avro_type *type, const char **ret_space)
{
    struct parser *parser = scope.parser;
    const char *name;
    const char *space = scope.space;

    if (cv_json_read_string(json, "name", &name, NULL) != CV_OK || !*name)
        return cv_fail(parser->err, CV_SCHEMA, "an Avro %s has no name", kind_names[type->kind]);
    if (cv_json_is_string(cv_json_get(json, "namespace")))
        space = cv_json_text(cv_json_get(json, "namespace"));
    type->name = full_name(parser, space, name);
    if (*type->name == '.') /* ".Name" is the name without a namespace */
        type->name++;
    *ret_space = namespace_of(parser, type->name);
    if (cv_map_set(&parser->names, type->name, strlen(type->name), type))
        return cv_fail(parser->err, CV_SCHEMA, "the Avro type \"%s\" is defined twice", type->name);
    return read_aliases(parser, json, *ret_space, &type->aliases, &type->alias_count);
}

static int32_t read_id(const struct cv_json *json, const char *key)
{
    int32_t id = -1;

    (void)cv_json_optional_i32(json, key, &id, NULL);
    return id;
}

static enum cv_code parse_field(struct scope scope, const struct cv_json *json,
                                struct cv_avro_field *field)
{
    struct parser *parser = scope.parser;
    const char *name;

    if (cv_json_read_string(json, "name", &name, NULL) != CV_OK || !*name)
        return cv_fail(parser->err, CV_SCHEMA, "a field has no name");
    if (++parser->fields > CV_FIELDS_MAX)
        return cv_fail(parser->err, CV_LIMIT, "more than %d fields", CV_FIELDS_MAX);
    field->name = cv_arena_strdup(parser->arena, name);
    if (!cv_json_get(json, "type"))
        return cv_fail(parser->err, CV_SCHEMA, "field \"%s\" has no type", name);
    CV_TRY(parse_type(scope, cv_json_get(json, "type"), &field->type), parser->err, "field \"%s\"",
           name);
    CV_TRY(read_aliases(parser, json, NULL, &field->aliases, &field->alias_count), parser->err,
           "field \"%s\"", name);
    field->default_value = cv_json_get(json, "default");
    field->field_id = read_id(json, "field-id");
    return CV_OK;
}

static enum cv_code check_distinct(struct parser *parser, const struct cv_avro_type *type)
{
    struct cv_map seen = {0};
    enum cv_code code = CV_OK;

    for (size_t i = 0; i < type->field_count && code == CV_OK; i++) {
        const char *name = type->fields[i].name;

        if (cv_map_set(&seen, name, strlen(name), type->fields))
            code = cv_fail(parser->err, CV_SCHEMA, "record \"%s\" has two fields \"%s\"",
                           type->name, name);
    }
    cv_map_release(&seen);
    return code;
}

static enum cv_code parse_record(struct scope scope, const struct cv_json *json,
                                 const struct cv_avro_type **ret_type)
{
    struct parser *parser = scope.parser;
    struct cv_avro_type *type = new_type(parser, CV_AVRO_RECORD);
    const struct cv_json *fields = cv_json_get(json, "fields");

    CV_DO(declare(scope, json, type, &scope.space));
    if (!cv_json_is_array(fields))
        return cv_fail(parser->err, CV_SCHEMA, "record \"%s\" has no fields", type->name);
    type->fields = cv_arena_array(parser->arena, struct cv_avro_field, cv_json_size(fields));
    type->field_count = cv_json_size(fields);
    for (size_t i = 0; i < type->field_count; i++)
        CV_TRY(parse_field(scope, cv_json_at(fields, i), &type->fields[i]), parser->err,
               "record \"%s\"", type->name);
    CV_DO(check_distinct(parser, type));
    *ret_type = type;
    return CV_OK;
}

static enum cv_code parse_enum(struct scope scope, const struct cv_json *json,
                               const struct cv_avro_type **ret_type)
{
    struct parser *parser = scope.parser;
    struct cv_avro_type *type = new_type(parser, CV_AVRO_ENUM);
    const char *chosen = NULL;

    CV_DO(declare(scope, json, type, &scope.space));
    CV_TRY(read_texts(parser, cv_json_get(json, "symbols"), "symbols", &type->symbols,
                      &type->symbol_count),
           parser->err, "enum \"%s\"", type->name);
    (void)cv_json_optional_string(json, "default", &chosen, NULL);
    for (size_t i = 0; chosen && i < type->symbol_count; i++)
        if (strcmp(type->symbols[i], chosen) == 0)
            type->enum_default = type->symbols[i];
    if (chosen && !type->enum_default)
        return cv_fail(parser->err, CV_SCHEMA, "the default \"%s\" of enum \"%s\" is no symbol",
                       chosen, type->name);
    *ret_type = type;
    return CV_OK;
}

static enum cv_code parse_fixed(struct scope scope, const struct cv_json *json,
                                const struct cv_avro_type **ret_type)
{
    struct parser *parser = scope.parser;
    struct cv_avro_type *type = new_type(parser, CV_AVRO_FIXED);
    int64_t size;

    CV_DO(declare(scope, json, type, &scope.space));
    if (cv_json_read_i64(json, "size", &size, NULL) != CV_OK || size < 0 || size > FIXED_BYTES_MAX)
        return cv_fail(parser->err, CV_SCHEMA, "the size of fixed \"%s\" is not in 0 to %d",
                       type->name, FIXED_BYTES_MAX);
    type->size = (uint32_t)size;
    cv_avro_read_logical(json, type);
    *ret_type = type;
    return CV_OK;
}

static enum cv_code parse_container(struct scope scope, const struct cv_json *json,
                                    enum cv_avro_kind kind, const struct cv_avro_type **ret_type)
{
    struct parser *parser = scope.parser;
    struct cv_avro_type *type = new_type(parser, kind);
    const char *key = kind == CV_AVRO_ARRAY ? "items" : "values";

    if (!cv_json_get(json, key))
        return cv_fail(parser->err, CV_SCHEMA, "an Avro %s has no \"%s\"", kind_names[kind], key);
    CV_TRY(parse_type(scope, cv_json_get(json, key), &type->items), parser->err, "%s", key);
    type->element_id = read_id(json, kind == CV_AVRO_ARRAY ? "element-id" : "value-id");
    type->key_id = read_id(json, "key-id");
    cv_avro_read_logical(json, type);
    *ret_type = type;
    return CV_OK;
}

static bool same_branch(const struct cv_avro_type *a, const struct cv_avro_type *b)
{
    if (a->kind != b->kind)
        return false;
    return !a->name || strcmp(a->name, b->name) == 0;
}

static enum cv_code parse_union(struct scope scope, const struct cv_json *json,
                                const struct cv_avro_type **ret_type)
{
    struct parser *parser = scope.parser;
    struct cv_avro_type *type = new_type(parser, CV_AVRO_UNION);
    size_t count = cv_json_size(json);

    if (count > CV_FIELDS_MAX)
        return cv_fail(parser->err, CV_LIMIT, "a union has more than %d branches", CV_FIELDS_MAX);
    type->branches = cv_arena_array(parser->arena, const struct cv_avro_type *, count);
    for (size_t i = 0; i < count; i++) {
        const struct cv_avro_type *branch;

        CV_TRY(parse_type(scope, cv_json_at(json, i), &branch), parser->err, "branch %zu", i);
        if (branch->kind == CV_AVRO_UNION)
            return cv_fail(parser->err, CV_SCHEMA, "a union stands directly in a union");
        for (size_t k = 0; k < i; k++)
            if (same_branch(branch, type->branches[k]))
                return cv_fail(parser->err, CV_SCHEMA, "a union has two branches of type %s",
                               branch->name ? branch->name : kind_names[branch->kind]);
        type->branches[i] = branch;
    }
    type->branch_count = count;
    *ret_type = type;
    return CV_OK;
}

static enum cv_code parse_object(struct scope scope, const struct cv_json *json,
                                 const struct cv_avro_type **ret_type)
{
    const struct cv_json *inner = cv_json_get(json, "type");
    const char *name = cv_json_text(inner);
    enum cv_avro_kind kind;
    struct cv_avro_type *type;

    if (cv_json_is_object(inner) || cv_json_is_array(inner))
        return parse_type(scope, inner, ret_type);
    if (!cv_json_is_string(inner))
        return cv_fail(scope.parser->err, CV_SCHEMA, "an Avro type has no \"type\"");
    if (strcmp(name, "record") == 0 || strcmp(name, "error") == 0)
        return parse_record(scope, json, ret_type);
    if (strcmp(name, "enum") == 0)
        return parse_enum(scope, json, ret_type);
    if (strcmp(name, "fixed") == 0)
        return parse_fixed(scope, json, ret_type);
    if (strcmp(name, "array") == 0)
        return parse_container(scope, json, CV_AVRO_ARRAY, ret_type);
    if (strcmp(name, "map") == 0)
        return parse_container(scope, json, CV_AVRO_MAP, ret_type);
    if (!primitive_kind(name, &kind))
        return find_name(scope, name, ret_type);
    type = new_type(scope.parser, kind);
    cv_avro_read_logical(json, type);
    *ret_type = type;
    return CV_OK;
}

static enum cv_code parse_type(struct scope scope, const struct cv_json *json,
                               const struct cv_avro_type **ret_type)
{
    if (++scope.depth > CV_DEPTH_MAX)
        return cv_fail(scope.parser->err, CV_LIMIT, "an Avro schema nested deeper than %d",
                       CV_DEPTH_MAX);
    if (cv_json_is_string(json))
        return find_name(scope, cv_json_text(json), ret_type);
    if (cv_json_is_array(json))
        return parse_union(scope, json, ret_type);
    if (cv_json_is_object(json))
        return parse_object(scope, json, ret_type);
    return cv_fail(scope.parser->err, CV_SCHEMA,
                   "an Avro type is neither a name nor an object nor a union");
}

static enum cv_code parse_document(struct cv_avro_schema *schema, struct parser *parser,
                                   struct cv_str text, const struct cv_avro_type **ret_type)
{
    struct cv_json *document = NULL;
    struct scope scope = {parser, "", 0};

    CV_TRY(cv_json_parse(text.ptr, text.length, &document, parser->err), parser->err,
           "Avro schema");
    schema->documents[schema->document_count++] = document;
    CV_TRY(parse_type(scope, document, ret_type), parser->err, "Avro schema");
    return CV_OK;
}

static enum cv_code parse_all(struct cv_avro_schema *schema, struct parser *parser,
                              struct cv_str text, const struct cv_avro_reference *references,
                              size_t reference_count)
{
    const struct cv_avro_type *ignored;

    schema->documents = cv_arena_array(&schema->arena, struct cv_json *, reference_count + 1);
    for (size_t i = 0; i < reference_count; i++) {
        /* the same text may be reached over two ways */
        if (cv_map_has(&parser->names, references[i].name, strlen(references[i].name)))
            continue;
        CV_TRY(parse_document(schema, parser, references[i].text, &ignored), parser->err,
               "reference \"%s\"", references[i].name);
    }
    return parse_document(schema, parser, text, &schema->root);
}

enum cv_code cv_avro_schema_parse(struct cv_str text, const struct cv_avro_reference *references,
                                  size_t reference_count, struct cv_avro_schema **ret_schema,
                                  struct cv_error *err)
{
    CV_CLEANUP(cv_avro_schema_freep) struct cv_avro_schema *schema = cv_alloc(sizeof *schema);
    struct parser parser = {.arena = &schema->arena, .err = err};
    enum cv_code code = parse_all(schema, &parser, text, references, reference_count);

    cv_map_release(&parser.names);
    if (code == CV_OK)
        *ret_schema = cv_steal(schema);
    return code;
}

void cv_avro_schema_free(struct cv_avro_schema *schema)
{
    if (!schema)
        return;
    for (size_t i = 0; i < schema->document_count; i++)
        cv_json_free(schema->documents[i]);
    cv_arena_release(&schema->arena);
    free(schema);
}
