/* SPDX-License-Identifier: Apache-2.0
 *
 * The document around the tree: numbers that JSON readers do not take, the parser's own errors. */
#include "sql/ast_int.h"

#include "codec/utf8.h"

size_t cv_ast_position(const struct cv_ast_reader *reader, const struct cv_json *node,
                       size_t otherwise)
{
    const struct cv_json *location = cv_json_get(node, "query_location");
    int64_t at = cv_json_is_integer(location) ? cv_json_integer(location) : -1;

    if (at < 0 || at > (int64_t)UINT32_MAX)
        return otherwise;
    return cv_sql_text_origin(reader->text, (size_t)at);
}

enum cv_code cv_ast_fail(const struct cv_ast_reader *reader, size_t position, enum cv_code code,
                         struct cv_error *err, const char *format, ...)
{
    char place[CV_SQL_PLACE_BYTES];
    va_list args;

    va_start(args, format);
    (void)cv_failv(err, code, format, args);
    va_end(args);
    cv_sql_text_place(reader->text, position, place);
    cv_context(err, "%s", place);
    return code;
}

const char *cv_ast_word(struct cv_ast_reader *reader, const struct cv_json *object, const char *key)
{
    const char *text = cv_json_text(cv_json_get(object, key));

    return *text ? cv_arena_strdup(reader->arena, text) : NULL;
}

const char *const *cv_ast_names(struct cv_ast_reader *reader, const struct cv_json *object,
                                const char *key, size_t *ret_count)
{
    const struct cv_json *array = cv_json_get(object, key);
    size_t count = cv_json_is_array(array) ? cv_json_size(array) : 0;
    const char **names = cv_arena_array(reader->arena, const char *, count + 1);

    for (size_t i = 0; i < count; i++)
        names[i] = cv_arena_strdup(reader->arena, cv_json_text(cv_json_at(array, i)));
    *ret_count = count;
    return names;
}

static bool is_number_byte(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || (c | 0x20) == 'e';
}

/* The length of a number that a JSON reader of 64 bits refuses (2^64 - 1 as "no position",
 * Infinity, NaN); 0 for anything else. */
static size_t foreign_number(const char *at)
{
    static const char *const words[] = {"-Infinity", "Infinity", "-NaN", "NaN", "-nan", "nan"};
    size_t length = 0;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(words); i++)
        if (cv_text_starts_with(at, words[i]))
            return strlen(words[i]);
    if (!is_number_byte(*at) || *at == 'e' || *at == 'E')
        return 0;
    while (is_number_byte(at[length]))
        length++;
    return length > 18 ? length : 0;
}

/* Puts such numbers in quotes: as texts they are no integers, which is what is asked of them. */
static void quote_numbers(const char *json, struct cv_buf *out)
{
    bool quoted = false;

    for (size_t number; *json; json++) {
        if (quoted && *json == '\\' && json[1]) {
            cv_buf_append_byte(out, (uint8_t)*json++);
        } else if (*json == '"') {
            quoted = !quoted;
        } else if (!quoted && (number = foreign_number(json)) > 0) {
            cv_buf_printf(out, "\"%.*s\"", (int)number, json);
            json += number - 1;
            continue;
        } else if (!quoted && is_number_byte(*json)) {
            while (is_number_byte(json[1]))
                cv_buf_append_byte(out, (uint8_t)*json++);
        }
        cv_buf_append_byte(out, (uint8_t)*json);
    }
}

/* The parser counts characters here, and bytes in the tree. */
static enum cv_code parser_error(struct cv_ast_reader *reader, const struct cv_json *root,
                                 struct cv_error *err)
{
    const char *message = cv_json_text(cv_json_get(root, "error_message"));
    const char *position = cv_json_text(cv_json_get(root, "position"));
    int64_t at = 0;

    if (strstr(message, "Only SELECT"))
        return cv_ast_fail(reader, reader->text->base, CV_UNSUPPORTED, err,
                           "only a SELECT is possible");
    if (!cv_parse_i64(cv_str_from(position), &at) || at < 0)
        return cv_fail(err, CV_CONFIG, "%s: %s", reader->text->option, message);
    at = (int64_t)cv_sql_text_origin(
        reader->text, cv_utf8_prefix(cv_str_from(reader->text->rewritten), (size_t)at));
    if ((size_t)at == reader->text->base + reader->text->written_length)
        return cv_ast_fail(reader, (size_t)at, CV_CONFIG, err, "the text ends too early");
    return cv_ast_fail(reader, (size_t)at, CV_CONFIG, err, "%s", message);
}

static enum cv_code read_document(struct cv_ast_reader *reader, const struct cv_json *root,
                                  const struct cv_ast_query **ret_query, struct cv_error *err)
{
    const struct cv_json *statements = cv_json_get(root, "statements");

    if (cv_json_bool(cv_json_get(root, "error")))
        return parser_error(reader, root, err);
    if (cv_json_size(statements) != 1)
        return cv_ast_fail(reader, reader->text->base, CV_UNSUPPORTED, err,
                           "one SELECT is expected, not %zu statements", cv_json_size(statements));
    return cv_ast_read_query(reader, cv_json_get(cv_json_at(statements, 0), "node"),
                             reader->text->base, ret_query, err);
}

enum cv_code cv_ast_read(const char *json, const struct cv_sql_text *text, struct cv_arena *arena,
                         const struct cv_ast_query **ret_query, struct cv_error *err)
{
    struct cv_ast_reader reader = {.arena = arena, .text = text};
    CV_CLEANUP(cv_buf_release) struct cv_buf readable = CV_BUF_INIT(0);
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;

    quote_numbers(json, &readable);
    CV_DO(cv_buf_check(&readable, text->option, err));
    CV_TRY(cv_json_parse(readable.data, readable.length, &root, err), err, "%s", text->option);
    if (!cv_json_is_object(root))
        return cv_fail(err, CV_FORMAT, "%s: the parser's answer is no object", text->option);
    return read_document(&reader, root, ret_query, err);
}
