/* SPDX-License-Identifier: Apache-2.0
 *
 * Parser of `select`.
 *
 *   select  = item { "," item }
 *   item    = "value.*" | source [ [ "AS" ] name ]
 *   source  = path | "CAST" "(" path "AS" type ")" | "TRY_CAST" "(" path "AS" type ")"
 *   path    = name { "." name }          the first one is a column of Spark's Kafka source
 *   name    = letters, digits, _ | `any text, a backquote doubled`
 *   type    = Spark DDL
 *
 * Keywords and the Kafka columns are case-insensitive; names below `value` are kept as written. */
#include "decode/select.h"

#include "base/buf.h"
#include "codec/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

struct parser {
    const char *text;
    const char *at;
    struct cv_arena *arena;
    struct cv_select_item *items;
    size_t count;
    size_t capacity;
};

static const char *const column_names[CV_KAFKA_COLUMNS] = {
    "key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers",
};

/* Words that cannot be an alias without AS because SQL gives them a meaning there. */
static const char *const reserved[] = {
    "from",    "where",      "group",     "order",   "having", "limit",       "union",
    "join",    "lateral",    "on",        "and",     "or",     "not",         "is",
    "in",      "like",       "rlike",     "between", "div",    "cross",       "inner",
    "left",    "right",      "full",      "sort",    "window", "over",        "qualify",
    "cluster", "distribute", "intersect", "except",  "minus",  "tablesample", "offset",
};

const char *cv_kafka_column_name(enum cv_kafka_column column)
{
    return column_names[column];
}

bool cv_kafka_column_find(const char *name, enum cv_kafka_column *ret_column)
{
    for (size_t i = 0; i < CV_KAFKA_COLUMNS; i++) {
        if (!cv_text_equal_nocase(name, column_names[i]))
            continue;
        *ret_column = (enum cv_kafka_column)i;
        return true;
    }
    return false;
}

static int position(const struct parser *p, const char *at)
{
    return 1 + (int)cv_utf8_count((struct cv_str){p->text, (size_t)(at - p->text)});
}

static void note_place(const struct parser *p, const char *at, struct cv_select_item *item)
{
    const char *line = p->text;

    item->line = 1;
    for (const char *c = p->text; c < at; c++) {
        if (*c != '\n')
            continue;
        item->line++;
        line = c + 1;
    }
    item->column_number = 1 + (int)cv_utf8_count((struct cv_str){line, (size_t)(at - line)});
}

static enum cv_code unsupported(const struct parser *p, const char *at, struct cv_error *err,
                                const char *what)
{
    enum cv_code code =
        cv_fail(err, CV_UNSUPPORTED, "select: %s not supported yet (position %d: \"%.40s\")", what,
                position(p, at), at);

    cv_hint(err, "an item is a path such as value.a.b, key or offset, CAST or TRY_CAST(path AS "
                 "type), each with AS name, or value.*");
    return code;
}

static enum cv_code wrong(const struct parser *p, const char *at, struct cv_error *err,
                          const char *what)
{
    if (*at == '\0')
        return cv_fail(err, CV_CONFIG, "select: %s, but the text ends", what);
    return cv_fail(err, CV_CONFIG, "select: %s (position %d: \"%.40s\")", what, position(p, at),
                   at);
}

static void blanks(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static size_t word_length(const char *at)
{
    size_t length = 0;

    if (isdigit((unsigned char)*at))
        return 0;
    while (is_name_byte(at[length]))
        length++;
    return length;
}

static bool word_is(const char *at, size_t length, const char *keyword)
{
    if (strlen(keyword) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (tolower((unsigned char)at[i]) != keyword[i])
            return false;
    return true;
}

static bool take_word(struct parser *p, const char *keyword)
{
    size_t length = word_length(p->at);

    if (!word_is(p->at, length, keyword))
        return false;
    p->at += length;
    blanks(p);
    return true;
}

static bool take(struct parser *p, char c)
{
    if (*p->at != c)
        return false;
    p->at++;
    blanks(p);
    return true;
}

static enum cv_code quoted_name(struct parser *p, const char **ret_name, struct cv_error *err)
{
    const char *start = p->at++;
    char *name = cv_arena_alloc(p->arena, strlen(start) + 1);
    size_t length = 0;

    for (;; p->at++) {
        if (*p->at == '\0')
            return wrong(p, start, err, "a backquoted name has no end");
        if (*p->at == '`' && *++p->at != '`')
            break;
        name[length++] = *p->at;
    }
    if (length == 0)
        return wrong(p, start, err, "a backquoted name is empty");
    blanks(p);
    *ret_name = name;
    return CV_OK;
}

static enum cv_code read_name(struct parser *p, const char **ret_name, struct cv_error *err)
{
    size_t length = word_length(p->at);

    if (*p->at == '`')
        return quoted_name(p, ret_name, err);
    if (length == 0)
        return wrong(p, p->at, err, "a name is expected");
    *ret_name = cv_arena_strndup(p->arena, p->at, length);
    p->at += length;
    blanks(p);
    return CV_OK;
}

static enum cv_code find_column(const struct parser *p, const char *at, const char *name,
                                enum cv_kafka_column *ret_column, struct cv_error *err)
{
    if (cv_kafka_column_find(name, ret_column))
        return CV_OK;
    CV_DO(cv_fail(err, CV_CONFIG, "select: there is no column \"%s\" (position %d)", name,
                  position(p, at)));
    return CV_OK;
}

/* What stands where a path should begin, when it is none. */
static enum cv_code check_start(struct parser *p, struct cv_error *err)
{
    size_t length = word_length(p->at);
    const char *after = p->at + length;

    while (isspace((unsigned char)*after))
        after++;
    if (*p->at == '*')
        return unsupported(p, p->at, err, "a bare * (name the columns, or write value.*) is");
    if (isdigit((unsigned char)*p->at) || strchr("'\"+-.", *p->at))
        if (*p->at != '\0')
            return unsupported(p, p->at, err, "literals are");
    if (*p->at == '(')
        return unsupported(p, p->at, err, "parentheses are");
    if (word_is(p->at, length, "select") || word_is(p->at, length, "distinct"))
        return unsupported(p, p->at, err, "a whole query (list the items only) is");
    if (word_is(p->at, length, "case"))
        return unsupported(p, p->at, err, "CASE is");
    if (length > 0 && *after == '(') {
        char what[96];

        (void)snprintf(what, sizeof what, "functions such as %.*s(…) are", (int)CV_MIN(length, 40),
                       p->at);
        return unsupported(p, p->at, err, what);
    }
    return CV_OK;
}

static enum cv_code read_path(struct parser *p, struct cv_select_item *item, struct cv_error *err)
{
    const char *parts[CV_DEPTH_MAX];
    const char *start = p->at;
    const char *first;

    CV_DO(check_start(p, err));
    CV_DO(read_name(p, &first, err));
    if (!cv_text_equal_nocase(first, "value") && *p->at != '.') {
        enum cv_code code = find_column(p, start, first, &item->column, err);

        if (code != CV_OK)
            cv_hint(err,
                    "a field of the value is written value.%s; the columns of the record are "
                    "key, value, topic, partition, offset, timestamp, timestampType, headers",
                    first);
        item->name = first;
        return code;
    }
    CV_DO(find_column(p, start, first, &item->column, err));
    item->name = first;
    while (take(p, '.')) {
        if (*p->at == '*') {
            if (item->column != CV_KAFKA_VALUE || item->path_length > 0)
                return unsupported(p, start, err, "a * below anything but value is");
            item->star = true;
            p->at++;
            blanks(p);
            return CV_OK;
        }
        if (item->path_length == CV_DEPTH_MAX)
            return cv_fail(err, CV_LIMIT, "select: a path of more than %d names (position %d)",
                           CV_DEPTH_MAX, position(p, start));
        CV_DO(read_name(p, &item->name, err));
        parts[item->path_length++] = item->name;
    }
    if (item->path_length > 0)
        item->path = cv_arena_copy(p->arena, parts, item->path_length * sizeof parts[0]);
    return CV_OK;
}

/* The text up to the parenthesis that closes the CAST. */
static enum cv_code read_type(struct parser *p, struct cv_type *ret_type, struct cv_error *err)
{
    const char *start = p->at;
    struct cv_schema schema;
    const char *ddl;
    int depth = 0;

    for (; *p->at; p->at++) {
        if (*p->at == ')' && depth == 0)
            break;
        depth += *p->at == '(' || *p->at == '<';
        depth -= *p->at == ')' || *p->at == '>';
    }
    if (*p->at == '\0')
        return wrong(p, start, err, "CAST has no closing parenthesis");
    ddl = cv_arena_printf(p->arena, "c %.*s", (int)(p->at - start), start);
    CV_TRY(cv_schema_read_ddl(ddl, p->arena, &schema, err), err,
           "select: type of CAST (position %d)", position(p, start));
    if (schema.root.field_count != 1 || schema.root.fields[0].required)
        return wrong(p, start, err, "one type is expected in CAST");
    *ret_type = schema.root.fields[0].type;
    return CV_OK;
}

static enum cv_code read_cast(struct parser *p, struct cv_select_item *item, struct cv_error *err)
{
    const char *start = p->at;
    size_t length = word_length(p->at);

    item->cast = word_is(p->at, length, "cast") ? CV_SELECT_CAST : CV_SELECT_TRY_CAST;
    p->at += length;
    blanks(p);
    if (!take(p, '('))
        return wrong(p, p->at, err, "( is expected after CAST");
    CV_DO(read_path(p, item, err));
    if (item->star)
        return wrong(p, start, err, "value.* cannot be cast");
    if (!take_word(p, "as")) {
        if (*p->at == ',' || *p->at == ')' || *p->at == '\0')
            return wrong(p, p->at, err, "AS and a type are expected in CAST");
        return unsupported(p, p->at, err, "expressions are");
    }
    CV_DO(read_type(p, &item->cast_type, err));
    if (!take(p, ')'))
        return wrong(p, p->at, err, ") is expected after CAST");
    return CV_OK;
}

static bool is_cast(const struct parser *p)
{
    size_t length = word_length(p->at);
    const char *after = p->at + length;

    while (isspace((unsigned char)*after))
        after++;
    return *after == '(' && (word_is(p->at, length, "cast") || word_is(p->at, length, "try_cast"));
}

/* What follows an item and is neither a comma nor the end. */
static enum cv_code refuse_rest(struct parser *p, struct cv_error *err)
{
    if (*p->at == '[')
        return unsupported(p, p->at, err, "elements of lists and maps by [ ] are");
    if (*p->at == ':')
        return unsupported(p, p->at, err, "the operator : (write CAST, or a path with dots) is");
    if (*p->at == ';')
        return unsupported(p, p->at, err, "more than one statement is");
    if (*p->at == ')')
        return wrong(p, p->at, err, "a parenthesis closes nothing");
    return unsupported(p, p->at, err, "expressions are");
}

static enum cv_code read_alias(struct parser *p, struct cv_select_item *item, struct cv_error *err)
{
    size_t length = word_length(p->at);

    if (take_word(p, "as")) {
        if (item->star)
            return wrong(p, p->at, err, "value.* takes no name");
        return read_name(p, &item->name, err);
    }
    if (*p->at == ',' || *p->at == '\0')
        return CV_OK;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(reserved); i++) {
        if (word_is(p->at, length, reserved[i])) {
            char what[64];

            (void)snprintf(what, sizeof what, "the word %.*s is", (int)length, p->at);
            return unsupported(p, p->at, err, what);
        }
    }
    if (item->star || (*p->at != '`' && length == 0))
        return refuse_rest(p, err);
    return read_name(p, &item->name, err);
}

static enum cv_code read_item(struct parser *p, struct cv_error *err)
{
    struct cv_select_item item = {0};
    const char *start = p->at;
    struct cv_str text;

    if (*p->at == ',' || *p->at == '\0')
        return wrong(p, p->at, err, "an item is expected");
    note_place(p, start, &item);
    if (is_cast(p))
        CV_DO(read_cast(p, &item, err));
    else
        CV_DO(read_path(p, &item, err));
    text = cv_str_trim((struct cv_str){start, (size_t)(p->at - start)});
    item.text = cv_arena_strndup(p->arena, text.ptr, text.length);
    CV_DO(read_alias(p, &item, err));
    if (item.star)
        item.name = NULL;
    if (*p->at != ',' && *p->at != '\0')
        return refuse_rest(p, err);
    if (p->count == CV_SELECT_ITEMS_MAX)
        return cv_fail(err, CV_LIMIT, "select: more than %d items", CV_SELECT_ITEMS_MAX);
    cv_array_reserve(&p->items, &p->capacity, p->count + 1);
    p->items[p->count++] = item;
    return CV_OK;
}

static enum cv_code read_items(struct parser *p, struct cv_error *err)
{
    blanks(p);
    do
        CV_DO(read_item(p, err));
    while (take(p, ','));
    return CV_OK;
}

enum cv_code cv_select_parse(const char *text, struct cv_arena *arena, struct cv_select *ret_select,
                             struct cv_error *err)
{
    struct parser p = {.text = text, .at = text, .arena = arena};
    enum cv_code code;

    if (strlen(text) > CV_SELECT_BYTES_MAX)
        return cv_fail(err, CV_LIMIT, "select: longer than %zu bytes", CV_SELECT_BYTES_MAX);
    code = read_items(&p, err);
    if (code == CV_OK) {
        ret_select->items = cv_arena_copy(arena, p.items, p.count * sizeof p.items[0]);
        ret_select->count = p.count;
    }
    free(p.items);
    return code;
}

void cv_select_default(bool value_has_fields, bool headers, struct cv_arena *arena,
                       struct cv_select *ret_select)
{
    size_t count = value_has_fields ? 1 : CV_KAFKA_HEADERS + (size_t)headers;
    struct cv_select_item *items = cv_arena_array(arena, struct cv_select_item, count);

    for (size_t i = 0; i < count; i++) {
        items[i].column = (enum cv_kafka_column)i;
        items[i].name = items[i].text = column_names[i];
    }
    if (value_has_fields)
        items[0] =
            (struct cv_select_item){.column = CV_KAFKA_VALUE, .star = true, .text = "value.*"};
    ret_select->items = items;
    ret_select->count = count;
}
