/* SPDX-License-Identifier: Apache-2.0
 *
 * DuckDB's types in CAST as Iceberg's, with the meaning that Spark gives the word. */
#include "sql/ast_int.h"

static const struct {
    const char *word;
    enum cv_type_kind kind;
} primitives[] = {
    {"BOOLEAN", CV_TYPE_BOOLEAN},
    {"INTEGER", CV_TYPE_INT},
    {"BIGINT", CV_TYPE_LONG},
    {"FLOAT", CV_TYPE_FLOAT},
    {"DOUBLE", CV_TYPE_DOUBLE},
    {"DATE", CV_TYPE_DATE},
    {"TIME", CV_TYPE_TIME},
    {"TIMESTAMP", CV_TYPE_TIMESTAMPTZ},
    {"TIMESTAMP WITH TIME ZONE", CV_TYPE_TIMESTAMPTZ},
    {"TIMESTAMPTZ", CV_TYPE_TIMESTAMPTZ},
    {"TIMESTAMP_NTZ", CV_TYPE_TIMESTAMP},
    {"TIMESTAMP_LTZ", CV_TYPE_TIMESTAMPTZ},
    {"VARCHAR", CV_TYPE_STRING},
    {"BLOB", CV_TYPE_BINARY},
    {"UUID", CV_TYPE_UUID},
};

static bool read_decimal(const struct cv_json *info, struct cv_type *ret_type)
{
    int64_t precision = cv_json_integer(cv_json_get(info, "width"));
    int64_t scale = cv_json_integer(cv_json_get(info, "scale"));

    if (precision < 1 || precision > 38 || scale < 0 || scale > precision)
        return false;
    *ret_type = (struct cv_type){
        .kind = CV_TYPE_DECIMAL, .precision = (uint8_t)precision, .scale = (uint8_t)scale};
    return true;
}

static bool read_struct(struct cv_ast_reader *reader, const struct cv_json *info,
                        struct cv_type *ret_type, const char **ret_word)
{
    const struct cv_json *children = cv_json_get(info, "child_types");
    size_t count = cv_json_is_array(children) ? cv_json_size(children) : 0;
    struct cv_field *fields = cv_arena_array(reader->arena, struct cv_field, count);

    if (count == 0 || count > CV_FIELDS_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct cv_json *child = cv_json_at(children, i);

        fields[i].name = cv_ast_word(reader, child, "first");
        if (!fields[i].name ||
            !cv_ast_read_type(reader, cv_json_get(child, "second"), &fields[i].type, ret_word))
            return false;
    }
    *ret_type = (struct cv_type){.kind = CV_TYPE_STRUCT, .fields = fields, .field_count = count};
    return true;
}

static bool read_list(struct cv_ast_reader *reader, const struct cv_json *info,
                      struct cv_type *ret_type, const char **ret_word)
{
    struct cv_field *element = cv_arena_new(reader->arena, struct cv_field);

    element->name = "element";
    if (!cv_ast_read_type(reader, cv_json_get(info, "child_type"), &element->type, ret_word))
        return false;
    *ret_type = (struct cv_type){.kind = CV_TYPE_LIST, .fields = element, .field_count = 1};
    return true;
}

static bool read_map(struct cv_ast_reader *reader, const struct cv_json *info,
                     struct cv_type *ret_type, const char **ret_word)
{
    struct cv_field *entry = cv_arena_array(reader->arena, struct cv_field, 2);
    struct cv_type pair;

    if (!cv_ast_read_type(reader, cv_json_get(info, "child_type"), &pair, ret_word) ||
        pair.kind != CV_TYPE_STRUCT || pair.field_count != 2)
        return false;
    entry[0] = (struct cv_field){.name = "key", .required = true, .type = pair.fields[0].type};
    entry[1] = (struct cv_field){.name = "value", .type = pair.fields[1].type};
    *ret_type = (struct cv_type){.kind = CV_TYPE_MAP, .fields = entry, .field_count = 2};
    return true;
}

/* A word that DuckDB's grammar takes for a type of somebody's own. */
static const char *own_word(const struct cv_json *info)
{
    const char *name = cv_json_text(cv_json_get(info, "name"));

    return *name ? name : cv_json_text(cv_json_get(info, "user_type_name"));
}

bool cv_ast_read_type(struct cv_ast_reader *reader, const struct cv_json *json,
                      struct cv_type *ret_type, const char **ret_word)
{
    const char *word = cv_json_text(cv_json_get(json, "id"));
    const struct cv_json *info = cv_json_get(json, "type_info");
    bool good = false;

    if (strcmp(word, "UNBOUND") == 0 || strcmp(word, "USER") == 0)
        word = own_word(info);
    *ret_word = cv_arena_strdup(reader->arena, word);
    if (reader->depth >= CV_AST_DEPTH_MAX)
        return false;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(primitives); i++) {
        if (cv_text_equal_nocase(word, primitives[i].word)) {
            *ret_type = (struct cv_type){.kind = primitives[i].kind};
            return true;
        }
    }
    reader->depth++;
    if (strcmp(word, "DECIMAL") == 0) {
        good = read_decimal(info, ret_type);
        *ret_word = "DECIMAL of more than 38 digits";
    }
    if (strcmp(word, "STRUCT") == 0)
        good = read_struct(reader, info, ret_type, ret_word);
    else if (strcmp(word, "LIST") == 0)
        good = read_list(reader, info, ret_type, ret_word);
    else if (strcmp(word, "MAP") == 0)
        good = read_map(reader, info, ret_type, ret_word);
    reader->depth--;
    return good;
}
