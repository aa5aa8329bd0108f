/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns in Spark's DDL → a schema: a recursive descent over the text, one token ahead. */
#include "schema/type_int.h"

#include <ctype.h>
#include <strings.h>

#define DDL_BYTES_MAX ((size_t)1 << 20)

enum token_kind {
    TOKEN_END,
    TOKEN_WORD,   /* identifier or keyword, also a number */
    TOKEN_QUOTED, /* `identifier` */
    TOKEN_TEXT,   /* 'text' or "text" */
    TOKEN_SIGN,   /* one of , : ( ) < > [ ] */
    TOKEN_BAD,
};

struct reader {
    const char *start;
    const char *at; /* behind the token */
    struct cv_arena *arena;
    enum token_kind kind;
    struct cv_str token; /* without quotes */
    const char *token_start;
    size_t field_count;
};

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Doubled quotes stand for one; a backslash takes the next byte as it is in texts. */
static void read_quoted(struct reader *reader, char quote)
{
    const char *p = reader->at;
    size_t length = 0;
    char *text;

    while (*p && (*p != quote || p[1] == quote))
        p += (*p == quote || (*p == '\\' && quote != '`' && p[1])) ? 2 : 1;
    text = cv_arena_alloc(reader->arena, (size_t)(p - reader->at) + 1);
    for (const char *from = reader->at; from < p; from++) {
        if (*from == quote || (*from == '\\' && quote != '`' && from + 1 < p))
            from++;
        text[length++] = *from;
    }
    reader->kind = *p != quote ? TOKEN_BAD : quote == '`' ? TOKEN_QUOTED : TOKEN_TEXT;
    reader->at = *p ? p + 1 : p;
    reader->token = (struct cv_str){text, length};
}

static void advance(struct reader *reader)
{
    const char *p = reader->at;

    while (isspace((unsigned char)*p))
        p++;
    reader->token_start = p;
    reader->at = p + (*p != '\0');
    reader->token = (struct cv_str){p, (size_t)(*p != '\0')};
    if (!*p) {
        reader->kind = TOKEN_END;
    } else if (is_word_byte(*p)) {
        while (is_word_byte(*reader->at))
            reader->at++;
        reader->kind = TOKEN_WORD;
        reader->token.length = (size_t)(reader->at - p);
    } else if (*p == '`' || *p == '\'' || *p == '"') {
        read_quoted(reader, *p);
    } else {
        reader->kind = strchr(",:()<>[]", *p) ? TOKEN_SIGN : TOKEN_BAD;
    }
}

static enum cv_code fail_at(const struct reader *reader, const char *wanted, struct cv_error *err)
{
    if (reader->kind == TOKEN_END)
        return cv_fail(err, CV_SCHEMA, "the schema text ends where %s is expected", wanted);
    return cv_fail(err, CV_SCHEMA, "%s is expected at \"%.20s\" (position %zu of the schema text)",
                   wanted, reader->token_start, (size_t)(reader->token_start - reader->start));
}

static bool at_sign(const struct reader *reader, char sign)
{
    return reader->kind == TOKEN_SIGN && reader->token.ptr[0] == sign;
}

static bool take_sign(struct reader *reader, char sign)
{
    bool found = at_sign(reader, sign);

    if (found)
        advance(reader);
    return found;
}

static enum cv_code expect_sign(struct reader *reader, char sign, struct cv_error *err)
{
    const char wanted[] = {'"', sign, '"', '\0'};

    return take_sign(reader, sign) ? CV_OK : fail_at(reader, wanted, err);
}

static bool at_word(const struct reader *reader, const char *word)
{
    return reader->kind == TOKEN_WORD && reader->token.length == strlen(word) &&
           strncasecmp(reader->token.ptr, word, reader->token.length) == 0;
}

static bool take_word(struct reader *reader, const char *word)
{
    bool found = at_word(reader, word);

    if (found)
        advance(reader);
    return found;
}

static enum cv_code read_number(struct reader *reader, int64_t *ret_value, struct cv_error *err)
{
    if (reader->kind != TOKEN_WORD || !cv_parse_i64(reader->token, ret_value))
        return fail_at(reader, "a number", err);
    advance(reader);
    return CV_OK;
}

/* --- types ----------------------------------------------------------------------------------- */

static enum cv_code read_type(struct reader *reader, unsigned depth, struct cv_type *ret_type,
                              struct cv_error *err);
static enum cv_code read_fields(struct reader *reader, unsigned depth, char end,
                                struct cv_type *ret_type, struct cv_error *err);

static const struct {
    const char *word;
    enum cv_type_kind kind;
} primitives[] = {
    {"boolean", CV_TYPE_BOOLEAN},
    {"tinyint", CV_TYPE_INT},
    {"byte", CV_TYPE_INT},
    {"smallint", CV_TYPE_INT},
    {"short", CV_TYPE_INT},
    {"int", CV_TYPE_INT},
    {"integer", CV_TYPE_INT},
    {"bigint", CV_TYPE_LONG},
    {"long", CV_TYPE_LONG},
    {"float", CV_TYPE_FLOAT},
    {"real", CV_TYPE_FLOAT},
    {"double", CV_TYPE_DOUBLE},
    {"date", CV_TYPE_DATE},
    {"time", CV_TYPE_TIME},
    {"timestamp", CV_TYPE_TIMESTAMPTZ},
    {"timestamp_ltz", CV_TYPE_TIMESTAMPTZ},
    {"timestamptz", CV_TYPE_TIMESTAMPTZ},
    {"timestamp_ntz", CV_TYPE_TIMESTAMP},
    {"string", CV_TYPE_STRING},
    {"binary", CV_TYPE_BINARY},
    {"uuid", CV_TYPE_UUID},
};

/* decimal, decimal(p) and decimal(p, s); Spark's defaults are 10 and 0. */
static enum cv_code read_decimal(struct reader *reader, struct cv_type *ret_type,
                                 struct cv_error *err)
{
    int64_t precision = 10;
    int64_t scale = 0;

    if (take_sign(reader, '(')) {
        CV_DO(read_number(reader, &precision, err));
        if (take_sign(reader, ','))
            CV_DO(read_number(reader, &scale, err));
        CV_DO(expect_sign(reader, ')', err));
    }
    return cv_type_make_decimal(precision, scale, ret_type, err);
}

static enum cv_code read_fixed(struct reader *reader, struct cv_type *ret_type,
                               struct cv_error *err)
{
    int64_t length;

    CV_DO(expect_sign(reader, '[', err));
    CV_DO(read_number(reader, &length, err));
    CV_DO(expect_sign(reader, ']', err));
    return cv_type_make_fixed(length, ret_type, err);
}

/* The length of char(n) and varchar(n) is not kept: Iceberg knows only string. */
static enum cv_code read_character(struct reader *reader, struct cv_type *ret_type,
                                   struct cv_error *err)
{
    int64_t length;

    CV_DO(expect_sign(reader, '(', err));
    CV_DO(read_number(reader, &length, err));
    CV_DO(expect_sign(reader, ')', err));
    *ret_type = (struct cv_type){.kind = CV_TYPE_STRING};
    return CV_OK;
}

static enum cv_code read_array(struct reader *reader, unsigned depth, struct cv_type *ret_type,
                               struct cv_error *err)
{
    struct cv_field *fields = cv_arena_array(reader->arena, struct cv_field, 1);

    CV_DO(expect_sign(reader, '<', err));
    fields[0].name = "element";
    CV_DO(read_type(reader, depth, &fields[0].type, err));
    CV_DO(expect_sign(reader, '>', err));
    *ret_type = (struct cv_type){.kind = CV_TYPE_LIST, .fields = fields, .field_count = 1};
    return CV_OK;
}

static enum cv_code read_map(struct reader *reader, unsigned depth, struct cv_type *ret_type,
                             struct cv_error *err)
{
    struct cv_field *fields = cv_arena_array(reader->arena, struct cv_field, 2);

    CV_DO(expect_sign(reader, '<', err));
    fields[0].name = "key";
    fields[0].required = true;
    CV_DO(read_type(reader, depth, &fields[0].type, err));
    CV_DO(expect_sign(reader, ',', err));
    fields[1].name = "value";
    CV_DO(read_type(reader, depth, &fields[1].type, err));
    CV_DO(expect_sign(reader, '>', err));
    *ret_type = (struct cv_type){.kind = CV_TYPE_MAP, .fields = fields, .field_count = 2};
    return CV_OK;
}

static enum cv_code read_type(struct reader *reader, unsigned depth, struct cv_type *ret_type,
                              struct cv_error *err)
{
    struct cv_str word = reader->token;

    if (depth > CV_DEPTH_MAX)
        return cv_fail(err, CV_LIMIT, "the schema is nested deeper than %d", CV_DEPTH_MAX);
    if (reader->kind != TOKEN_WORD)
        return fail_at(reader, "a type", err);
    if (take_word(reader, "decimal") || take_word(reader, "dec") || take_word(reader, "numeric"))
        return read_decimal(reader, ret_type, err);
    if (take_word(reader, "fixed"))
        return read_fixed(reader, ret_type, err);
    if (take_word(reader, "varchar") || take_word(reader, "char"))
        return read_character(reader, ret_type, err);
    if (take_word(reader, "array") || take_word(reader, "list"))
        return read_array(reader, depth + 1, ret_type, err);
    if (take_word(reader, "map"))
        return read_map(reader, depth + 1, ret_type, err);
    if (take_word(reader, "struct")) {
        CV_DO(expect_sign(reader, '<', err));
        CV_DO(read_fields(reader, depth + 1, '>', ret_type, err));
        return expect_sign(reader, '>', err);
    }
    for (size_t i = 0; i < CV_ARRAY_LENGTH(primitives); i++)
        if (take_word(reader, primitives[i].word)) {
            *ret_type = (struct cv_type){.kind = primitives[i].kind};
            return CV_OK;
        }
    return cv_type_refuse(word, err);
}

/* --- fields ---------------------------------------------------------------------------------- */

static enum cv_code read_name(struct reader *reader, struct cv_field *field, struct cv_error *err)
{
    if ((reader->kind != TOKEN_WORD && reader->kind != TOKEN_QUOTED) || !reader->token.length)
        return fail_at(reader, "a column name", err);
    field->name = cv_arena_strndup(reader->arena, reader->token.ptr, reader->token.length);
    advance(reader);
    return CV_OK;
}

static enum cv_code read_field(struct reader *reader, unsigned depth, struct cv_field *field,
                               struct cv_error *err)
{
    *field = (struct cv_field){0};
    CV_DO(read_name(reader, field, err));
    (void)take_sign(reader, ':');
    CV_TRY(read_type(reader, depth, &field->type, err), err, "column %s", field->name);
    for (;;) {
        if (take_word(reader, "not")) {
            if (!take_word(reader, "null"))
                return fail_at(reader, "NULL", err);
            field->required = true;
        } else if (take_word(reader, "comment")) {
            if (reader->kind != TOKEN_TEXT)
                return fail_at(reader, "a quoted comment", err);
            field->doc = cv_arena_strndup(reader->arena, reader->token.ptr, reader->token.length);
            advance(reader);
        } else if (at_word(reader, "default") || at_word(reader, "generated")) {
            return cv_fail(err, CV_UNSUPPORTED,
                           "column %s: DEFAULT and GENERATED need format version 3", field->name);
        } else {
            return CV_OK;
        }
    }
}

static enum cv_code read_fields(struct reader *reader, unsigned depth, char end,
                                struct cv_type *ret_type, struct cv_error *err)
{
    struct cv_field *fields = NULL;
    size_t count = 0;
    size_t capacity = 0;

    *ret_type = (struct cv_type){.kind = CV_TYPE_STRUCT};
    if (end && at_sign(reader, end))
        return CV_OK;
    do {
        if (count == capacity) { /* in the arena: what is outgrown goes with it */
            struct cv_field *grown;

            capacity = capacity ? capacity * 2 : 16;
            grown = cv_arena_array(reader->arena, struct cv_field, capacity);
            if (count)
                memcpy(grown, fields, count * sizeof *fields);
            fields = grown;
        }
        if (++reader->field_count > CV_FIELDS_MAX)
            return cv_fail(err, CV_LIMIT, "the schema has more than %d fields", CV_FIELDS_MAX);
        CV_DO(read_field(reader, depth, &fields[count++], err));
    } while (take_sign(reader, ','));
    ret_type->fields = fields;
    ret_type->field_count = count;
    return CV_OK;
}

enum cv_code cv_schema_read_ddl(const char *text, struct cv_arena *arena,
                                struct cv_schema *ret_schema, struct cv_error *err)
{
    struct cv_schema schema = {0};
    struct reader reader = {.start = text, .at = text, .arena = arena};

    if (strlen(text) > DDL_BYTES_MAX)
        return cv_fail(err, CV_LIMIT, "the schema text is longer than %zu bytes", DDL_BYTES_MAX);
    advance(&reader);
    CV_DO(read_fields(&reader, 0, '\0', &schema.root, err));
    if (reader.kind != TOKEN_END)
        return fail_at(&reader, "a comma or the end", err);
    cv_schema_assign_ids(&schema, arena);
    CV_DO(cv_schema_check(&schema, err));
    *ret_schema = schema;
    return CV_OK;
}
