/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of regular expressions, which are Java's (codec/regex.h). The expression is a constant,
 * so that it is compiled once. */
#include "codec/regex.h"
#include "codec/utf8.h"
#include "sql/function_int.h"

#include <ctype.h>

static void *make_match(const struct cv_native *native)
{
    return cv_regex_match_new(native->extra);
}

static void free_match(void *match)
{
    cv_regex_match_free(match);
}

static void free_regex(void *regex)
{
    cv_regex_free(regex);
}

/* Argument 1 compiled; it leaves the arguments. */
static enum cv_code take_regex(struct cv_call *call, bool whole, struct cv_regex **ret_regex,
                               struct cv_error *err)
{
    const char *pattern;

    CV_DO(cv_bind_constant_text(call, 1, "the regular expression", &pattern, err));
    if (whole)
        pattern = cv_arena_printf(call->arena, "\\A(?:%s)\\z", pattern);
    CV_TRY(cv_regex_compile(pattern, ret_regex, err), err, "%s: the regular expression",
           call->name);
    cv_natives_own(call->natives, *ret_regex, free_regex);
    for (size_t i = 1; i + 1 < call->argument_count; i++)
        call->arguments[i] = call->arguments[i + 1];
    call->argument_count--;
    return CV_OK;
}

static bool gave_up(struct cv_native_row *row)
{
    return cv_native_fail(row, "the regular expression takes too many steps on this text");
}

/* False: an error of the row, which has been told. */
static bool search(struct cv_native_row *row, size_t start, bool *ret_found)
{
    enum cv_regex_result result = cv_regex_search(row->state, row->in[0].bytes, start);

    *ret_found = result == CV_REGEX_FOUND;
    return result != CV_REGEX_GAVE_UP || gave_up(row);
}

/* Where the next search begins: behind a match, and behind a character more when it was empty. */
static size_t next_start(struct cv_str text, size_t start, size_t end)
{
    const char *at = text.ptr + end;

    if (end > start)
        return end;
    if (end >= text.length)
        return text.length + 1;
    (void)cv_utf8_next(&at, text.ptr + text.length);
    return (size_t)(at - text.ptr);
}

static bool native_like_regex(struct cv_native_row *row)
{
    return search(row, 0, &row->out.boolean);
}

static bool native_count(struct cv_native_row *row)
{
    struct cv_str text = row->in[0].bytes;
    size_t start = 0;
    size_t from;
    size_t to;
    bool found;

    row->out.i32 = 0;
    while (start <= text.length) {
        if (!search(row, start, &found))
            return false;
        if (!found)
            return true;
        (void)cv_regex_group(row->state, 0, &from, &to);
        row->out.i32++;
        start = next_start(text, from, to);
    }
    return true;
}

static bool group_text(struct cv_native_row *row, int64_t group, struct cv_str *ret_text)
{
    size_t from;
    size_t to;

    if (group < 0 || (size_t)group > cv_regex_group_count(row->native->extra))
        return cv_native_fail(row, "the regular expression has no group %lld", (long long)group);
    *ret_text = (struct cv_str){"", 0};
    if (cv_regex_group(row->state, (size_t)group, &from, &to))
        *ret_text = (struct cv_str){row->in[0].bytes.ptr + from, to - from};
    return true;
}

/* number: 's' for regexp_substr, whose result is NULL when nothing is found. */
static bool native_extract(struct cv_native_row *row)
{
    int64_t group = row->native->argument_count == 2 ? row->in[1].i32 : 1;
    bool found;

    if (row->native->number == 's')
        group = 0;
    if (!search(row, 0, &found))
        return false;
    row->out.bytes = (struct cv_str){"", 0};
    if (found && !group_text(row, group, &row->out.bytes))
        return false;
    row->out.is_null = row->native->number == 's' && row->out.bytes.length == 0;
    return true;
}

static bool native_extract_all(struct cv_native_row *row)
{
    struct cv_str text = row->in[0].bytes;
    int64_t group = row->native->argument_count == 2 ? row->in[1].i32 : 1;
    size_t start = 0;
    struct cv_str part;
    size_t from;
    size_t to;
    bool found;

    while (start <= text.length) {
        if (!search(row, start, &found))
            return false;
        if (!found)
            return true;
        (void)cv_regex_group(row->state, 0, &from, &to);
        if (!group_text(row, group, &part))
            return false;
        cv_builder_bytes(row->list, part.ptr, part.length);
        start = next_start(text, from, to);
    }
    return true;
}

/* --- replacing ------------------------------------------------------------------------------- */

/* Group by ${name} or by the digits behind a dollar sign, as many as name a group. */
static bool take_group(struct cv_native_row *row, const char **at, const char *end, int64_t *ret)
{
    size_t count = cv_regex_group_count(row->native->extra);
    char name[64];
    size_t length = 0;

    if (*at < end && **at == '{') {
        for ((*at)++; *at < end && **at != '}' && length < sizeof name - 1; (*at)++)
            name[length++] = **at;
        name[length] = '\0';
        *ret = (int64_t)cv_regex_group_number(row->native->extra, name);
        if (*at == end || **at != '}' || *ret == 0)
            return cv_native_fail(row, "regexp_replace: there is no group {%s}", name);
        (*at)++;
        return true;
    }
    if (*at == end || !isdigit((unsigned char)**at))
        return cv_native_fail(row, "regexp_replace: a dollar sign names no group");
    *ret = *(*at)++ - '0';
    while (*at < end && isdigit((unsigned char)**at) &&
           (size_t)*ret * 10 + (size_t)(**at - '0') <= count)
        *ret = *ret * 10 + (*(*at)++ - '0');
    return true;
}

static bool put_replacement(struct cv_native_row *row)
{
    const char *at = row->in[1].bytes.ptr;
    const char *end = at + row->in[1].bytes.length;
    struct cv_str part;
    int64_t group;

    while (at < end) {
        char c = *at++;

        if (c == '\\') {
            if (at == end)
                return cv_native_fail(row, "regexp_replace: a character to be escaped is missing");
            cv_buf_append_byte(row->scratch, (uint8_t)*at++);
        } else if (c == '$') {
            if (!take_group(row, &at, end, &group) || !group_text(row, group, &part))
                return false;
            cv_buf_append(row->scratch, part.ptr, part.length);
        } else {
            cv_buf_append_byte(row->scratch, (uint8_t)c);
        }
    }
    return true;
}

static bool native_replace(struct cv_native_row *row)
{
    struct cv_str text = row->in[0].bytes;
    size_t done = 0;
    size_t start = 0;
    size_t from;
    size_t to;
    bool found = true;

    while (found && start <= text.length) {
        if (!search(row, start, &found))
            return false;
        if (!found)
            break;
        (void)cv_regex_group(row->state, 0, &from, &to);
        cv_buf_append(row->scratch, text.ptr + done, from - done);
        if (!put_replacement(row))
            return false;
        done = to;
        start = next_start(text, from, to);
    }
    cv_buf_append(row->scratch, text.ptr + done, text.length - done);
    row->out.bytes = (struct cv_str){(const char *)row->scratch->data, row->scratch->length};
    return true;
}

/* --- splitting ------------------------------------------------------------------------------- */

/* An empty expression gives the characters, and of a limit only so many. */
static void split_characters(struct cv_native_row *row, int64_t limit)
{
    struct cv_str text = row->in[0].bytes;
    const char *at = text.ptr;
    const char *end = at + text.length;

    for (int64_t count = 0; at < end && (limit <= 0 || count < limit); count++) {
        const char *start = at;

        (void)cv_utf8_next(&at, end);
        cv_builder_bytes(row->list, start, (size_t)(at - start));
    }
}

static bool native_split(struct cv_native_row *row)
{
    struct cv_str text = row->in[0].bytes;
    int64_t limit = row->native->argument_count == 2 ? row->in[1].i32 : -1;
    int64_t parts = 0;
    size_t index = 0;
    size_t start = 0;
    size_t from;
    size_t to;
    bool found = true;

    if (row->native->number && text.length) {
        split_characters(row, limit);
        return true;
    }
    while (start <= text.length && (limit <= 0 || parts < limit - 1)) {
        if (!search(row, start, &found))
            return false;
        if (!found)
            break;
        (void)cv_regex_group(row->state, 0, &from, &to);
        start = next_start(text, from, to);
        if (to == 0)
            continue; /* nothing before the first character */
        cv_builder_bytes(row->list, text.ptr + index, from - index);
        parts++;
        index = to;
    }
    cv_builder_bytes(row->list, text.ptr + index, text.length - index);
    return true;
}

/* --- binding --------------------------------------------------------------------------------- */

/* The detail's letters are those of the arguments without the expression. */
static enum cv_code bind_regex(const struct cv_function *function, struct cv_call *call,
                               const struct cv_expr **ret_expr, struct cv_error *err)
{
    const struct cv_type string = CV_PLAIN(STRING);
    bool empty = call->arguments[1]->text && !*call->arguments[1]->text;
    struct cv_regex *regex;
    struct cv_type result = CV_PLAIN(STRING);

    CV_DO(take_regex(call, function->number == 'w', &regex, err));
    for (size_t i = 0; i < call->argument_count; i++)
        CV_DO(cv_bind_letter(call, i, function->detail[i], err));
    switch (function->detail[strlen(function->detail) - 1]) {
    case 'b':
        result = CV_PLAIN(BOOLEAN);
        break;
    case 'i':
        result = CV_PLAIN(INT);
        break;
    case 'S':
        result = cv_type_list_of(call->arena, &string);
        break;
    default:
        break;
    }
    *ret_expr = cv_bind_native(
        call, &(struct cv_native){.call = function->native,
                                  .number = function->number == 'e' ? empty : function->number,
                                  .extra = regex,
                                  .make_state = make_match,
                                  .free_state = free_match,
                                  .result = result});
    return CV_OK;
}

#define JAVA "Java's expressions, a constant; letters beyond ASCII in \\b and (?i) are Unicode's"

const struct cv_function cv_functions_pattern[] = {
    {"regexp_like", "regexp_like(text, expression) → boolean", 2, 2, bind_regex, "s:b", 0, JAVA,
     native_like_regex, 0},
    {"rlike", "rlike(text, expression) → boolean", 2, 2, bind_regex, "s:b", 0, NULL,
     native_like_regex, 0},
    {"regexp", "regexp(text, expression) → boolean", 2, 2, bind_regex, "s:b", 0, NULL,
     native_like_regex, 0},
    {"regexp_full_match", "text ~ expression", 2, 2, bind_regex, "s:b", CV_FUNCTION_OPERATOR,
     "the whole text matches, as in DuckDB", native_like_regex, 'w'},
    {"regexp_count", "regexp_count(text, expression) → int", 2, 2, bind_regex, "s:i", 0, NULL,
     native_count, 0},
    {"regexp_extract", "regexp_extract(text, expression[, group]) → string", 2, 3, bind_regex,
     "si:s", 0, "group 1 unless told; empty if nothing is found", native_extract, 0},
    {"regexp_extract_all", "regexp_extract_all(text, expression[, group]) → list", 2, 3, bind_regex,
     "si:S", 0, "group 1 unless told", native_extract_all, 0},
    {"regexp_substr", "regexp_substr(text, expression) → string", 2, 2, bind_regex, "s:s", 0,
     "NULL if nothing is found", native_extract, 's'},
    {"regexp_replace", "regexp_replace(text, expression, replacement) → string", 3, 3, bind_regex,
     "ss:s", 0, "all that is found; $1 or ${name} in the replacement is a group", native_replace,
     0},
    {"split", "split(text, expression[, limit]) → list", 2, 3, bind_regex, "si:S", 0,
     "a regular expression, as in Spark", native_split, 'e'},
};
const size_t cv_functions_pattern_count = CV_ARRAY_LENGTH(cv_functions_pattern);
