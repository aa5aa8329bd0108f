/* SPDX-License-Identifier: Apache-2.0
 *
 * Types: width, equality, text, parsing of primitives, look-up of fields, numbering. */
#include "schema/type.h"

#include "base/buf.h"
#include "schema/type_int.h"

#include <stdio.h>
#include <strings.h>

static const char *const words[] = {
    [CV_TYPE_BOOLEAN] = "boolean",
    [CV_TYPE_INT] = "int",
    [CV_TYPE_LONG] = "long",
    [CV_TYPE_FLOAT] = "float",
    [CV_TYPE_DOUBLE] = "double",
    [CV_TYPE_DECIMAL] = "decimal",
    [CV_TYPE_DATE] = "date",
    [CV_TYPE_TIME] = "time",
    [CV_TYPE_TIMESTAMP] = "timestamp",
    [CV_TYPE_TIMESTAMPTZ] = "timestamptz",
    [CV_TYPE_STRING] = "string",
    [CV_TYPE_UUID] = "uuid",
    [CV_TYPE_FIXED] = "fixed",
    [CV_TYPE_BINARY] = "binary",
    [CV_TYPE_STRUCT] = "struct",
    [CV_TYPE_LIST] = "list",
    [CV_TYPE_MAP] = "map",
};

const char *cv_type_word(enum cv_type_kind kind)
{
    return words[kind];
}

static bool texts_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool fields_equal(const struct cv_field *a, const struct cv_field *b)
{
    return a->id == b->id && a->required == b->required && texts_equal(a->name, b->name) &&
           texts_equal(a->doc, b->doc) && texts_equal(a->initial_default, b->initial_default) &&
           texts_equal(a->write_default, b->write_default) && cv_type_equal(&a->type, &b->type);
}

bool cv_type_equal(const struct cv_type *a, const struct cv_type *b)
{
    if (a->kind != b->kind || a->field_count != b->field_count)
        return false;
    if (a->kind == CV_TYPE_DECIMAL && (a->precision != b->precision || a->scale != b->scale))
        return false;
    if (a->kind == CV_TYPE_FIXED && a->length != b->length)
        return false;
    for (size_t i = 0; i < a->field_count; i++)
        if (!fields_equal(&a->fields[i], &b->fields[i]))
            return false;
    return true;
}

size_t cv_type_width(const struct cv_type *type)
{
    switch (type->kind) {
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
    case CV_TYPE_FLOAT:
        return 4;
    case CV_TYPE_LONG:
    case CV_TYPE_DOUBLE:
    case CV_TYPE_TIME:
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        return 8;
    case CV_TYPE_DECIMAL:
        return type->precision <= 9 ? 4 : type->precision <= 18 ? 8 : 16;
    case CV_TYPE_UUID:
        return 16;
    case CV_TYPE_FIXED:
        return type->length;
    default:
        return 0;
    }
}

size_t cv_type_leaf_count(const struct cv_type *type)
{
    size_t count = !cv_type_is_nested(type);

    for (size_t i = 0; i < type->field_count; i++)
        count += cv_type_leaf_count(&type->fields[i].type);
    return count;
}

/* --- text ------------------------------------------------------------------------------------ */

struct text_out {
    char *text;
    size_t length;
};

static void put(struct text_out *out, const char *text)
{
    while (*text && out->length < CV_TYPE_TEXT_BYTES - 1)
        out->text[out->length++] = *text++;
    out->text[out->length] = '\0';
}

static void put_type(struct text_out *out, const struct cv_type *type)
{
    char parameters[32] = "";

    put(out, words[type->kind]);
    if (type->kind == CV_TYPE_DECIMAL)
        (void)snprintf(parameters, sizeof parameters, "(%d, %d)", type->precision, type->scale);
    if (type->kind == CV_TYPE_FIXED)
        (void)snprintf(parameters, sizeof parameters, "[%u]", type->length);
    put(out, parameters);
    if (!cv_type_is_nested(type))
        return;
    put(out, "<");
    for (size_t i = 0; i < type->field_count && out->length < CV_TYPE_TEXT_BYTES - 1; i++) {
        if (i)
            put(out, ", ");
        if (type->kind == CV_TYPE_STRUCT) {
            put(out, type->fields[i].name);
            put(out, ": ");
        }
        put_type(out, &type->fields[i].type);
    }
    put(out, ">");
}

void cv_type_text(const struct cv_type *type, char text[CV_TYPE_TEXT_BYTES])
{
    struct text_out out = {text, 0};

    put(&out, "");
    put_type(&out, type);
}

/* --- parsing of primitives ------------------------------------------------------------------- */

static bool word_is(struct cv_str text, const char *word)
{
    return text.length == strlen(word) && strncasecmp(text.ptr, word, text.length) == 0;
}

enum cv_code cv_type_refuse(struct cv_str name, struct cv_error *err)
{
    static const char *const version_3[] = {"timestamp_ns", "timestamptz_ns", "variant",
                                            "unknown",      "geometry",       "geography"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(version_3); i++) {
        size_t length = strlen(version_3[i]);

        if (name.length < length || strncasecmp(name.ptr, version_3[i], length) != 0)
            continue;
        if (name.length > length && name.ptr[length] != '(')
            continue;
        return cv_fail(err, CV_UNSUPPORTED,
                       "type %s belongs to format version 3, which is not supported", version_3[i]);
    }
    return cv_fail(err, CV_SCHEMA, "unknown type \"%.*s\"", (int)CV_MIN(name.length, 80), name.ptr);
}

enum cv_code cv_type_make_decimal(int64_t precision, int64_t scale, struct cv_type *ret_type,
                                  struct cv_error *err)
{
    if (precision < 1 || precision > 38)
        return cv_fail(err, CV_SCHEMA, "decimal precision %lld is not between 1 and 38",
                       (long long)precision);
    if (scale < 0 || scale > precision)
        return cv_fail(err, CV_SCHEMA, "decimal scale %lld is not between 0 and the precision %lld",
                       (long long)scale, (long long)precision);
    *ret_type = (struct cv_type){
        .kind = CV_TYPE_DECIMAL, .precision = (uint8_t)precision, .scale = (uint8_t)scale};
    return CV_OK;
}

enum cv_code cv_type_make_fixed(int64_t length, struct cv_type *ret_type, struct cv_error *err)
{
    if (length < 1 || length > CV_FIXED_BYTES_MAX)
        return cv_fail(err, CV_SCHEMA, "fixed length %lld is not between 1 and %u",
                       (long long)length, CV_FIXED_BYTES_MAX);
    *ret_type = (struct cv_type){.kind = CV_TYPE_FIXED, .length = (uint32_t)length};
    return CV_OK;
}

/* The number up to `end`, blanks around it allowed; moves the text behind `end`. */
static bool take_number(struct cv_str *text, char end, int64_t *ret_value)
{
    const char *stop = memchr(text->ptr, end, text->length);
    struct cv_str number;

    if (!stop)
        return false;
    number = cv_str_trim((struct cv_str){text->ptr, (size_t)(stop - text->ptr)});
    text->length -= (size_t)(stop + 1 - text->ptr);
    text->ptr = stop + 1;
    return cv_parse_i64(number, ret_value);
}

static bool take_prefix(struct cv_str *text, const char *prefix)
{
    size_t length = strlen(prefix);

    if (text->length < length || strncasecmp(text->ptr, prefix, length) != 0)
        return false;
    text->ptr += length;
    text->length -= length;
    return true;
}

enum cv_code cv_type_parse_primitive(struct cv_str text, struct cv_type *ret_type,
                                     struct cv_error *err)
{
    struct cv_str rest = text;
    int64_t first, second;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(words); i++)
        if (i < CV_TYPE_STRUCT && i != CV_TYPE_DECIMAL && i != CV_TYPE_FIXED &&
            word_is(text, words[i])) {
            *ret_type = (struct cv_type){.kind = (enum cv_type_kind)i};
            return CV_OK;
        }
    if (take_prefix(&rest, "decimal(") && take_number(&rest, ',', &first) &&
        take_number(&rest, ')', &second) && rest.length == 0)
        return cv_type_make_decimal(first, second, ret_type, err);
    rest = text;
    if (take_prefix(&rest, "fixed[") && take_number(&rest, ']', &first) && rest.length == 0)
        return cv_type_make_fixed(first, ret_type, err);
    return cv_type_refuse(text, err);
}

/* --- look-up --------------------------------------------------------------------------------- */

static const struct cv_field *find_id(const struct cv_type *type, int32_t id)
{
    for (size_t i = 0; i < type->field_count; i++) {
        const struct cv_field *found = &type->fields[i];

        if (found->id != id)
            found = find_id(&found->type, id);
        if (found)
            return found;
    }
    return NULL;
}

const struct cv_field *cv_schema_find_id(const struct cv_schema *schema, int32_t id)
{
    return find_id(&schema->root, id);
}

static const struct cv_field *find_name(const struct cv_type *type, const char *path,
                                        bool case_sensitive)
{
    int (*compare)(const char *, const char *) = case_sensitive ? strcmp : strcasecmp;
    int (*compare_start)(const char *, const char *, size_t) =
        case_sensitive ? strncmp : strncasecmp;

    for (size_t i = 0; i < type->field_count; i++)
        if (compare(type->fields[i].name, path) == 0)
            return &type->fields[i];
    for (size_t i = 0; i < type->field_count; i++) {
        const struct cv_field *found;
        size_t length = strlen(type->fields[i].name);

        if (compare_start(type->fields[i].name, path, length) != 0 || path[length] != '.')
            continue;
        found = find_name(&type->fields[i].type, path + length + 1, case_sensitive);
        if (found)
            return found;
    }
    return NULL;
}

const struct cv_field *cv_schema_find_name(const struct cv_schema *schema, const char *path,
                                           bool case_sensitive)
{
    return find_name(&schema->root, path, case_sensitive);
}

/* Fills `path` with the names from the root to the field; its depth, or 0 when it is not below. */
static size_t find_path(const struct cv_type *type, int32_t id, const char **path, size_t depth)
{
    for (size_t i = 0; i < type->field_count && depth <= CV_DEPTH_MAX; i++) {
        size_t found;

        path[depth] = type->fields[i].name;
        if (type->fields[i].id == id)
            return depth + 1;
        found = find_path(&type->fields[i].type, id, path, depth + 1);
        if (found)
            return found;
    }
    return 0;
}

const char *cv_schema_path_of(const struct cv_schema *schema, int32_t id, struct cv_arena *arena)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    const char *path[CV_DEPTH_MAX + 1];
    size_t depth = find_path(&schema->root, id, path, 0);

    if (!depth)
        return NULL;
    for (size_t i = 0; i < depth; i++) {
        if (i)
            cv_buf_append_byte(&text, '.');
        cv_buf_append_text(&text, path[i]);
    }
    return cv_arena_strndup(arena, (const char *)text.data, text.length);
}

/* --- numbering ------------------------------------------------------------------------------- */

/* All direct children first, then what is below each: the order of a new Iceberg table. */
static void assign_below(struct cv_type *type, struct cv_arena *arena, int32_t *last_id)
{
    struct cv_field *fields;

    if (!type->field_count)
        return;
    fields = cv_arena_copy(arena, type->fields, type->field_count * sizeof *fields);
    for (size_t i = 0; i < type->field_count; i++)
        fields[i].id = ++*last_id;
    for (size_t i = 0; i < type->field_count; i++)
        assign_below(&fields[i].type, arena, last_id);
    type->fields = fields;
}

void cv_schema_assign_ids(struct cv_schema *schema, struct cv_arena *arena)
{
    schema->highest_id = 0;
    assign_below(&schema->root, arena, &schema->highest_id);
}
