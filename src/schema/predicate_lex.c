/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens of a condition in Spark's SQL. */
#include "codec/hex.h"
#include "codec/utf8.h"
#include "schema/predicate_int.h"

#include <ctype.h>
#include <stdio.h>

enum cv_code cv_predicate_fail(const struct cv_predicate_parser *parser, const char *place,
                               struct cv_error *err, const char *format, ...)
{
    enum cv_code code;
    va_list args;

    va_start(args, format);
    code = cv_failv(err, CV_USAGE, format, args);
    va_end(args);
    cv_context(err, "condition, column %zu", (size_t)(place - parser->start) + 1);
    return code;
}

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* --- texts ----------------------------------------------------------------------------------- */

static int digits_value(const char *at, int base, int count)
{
    int value = 0;

    for (int i = 0; i < count; i++) {
        int digit = at[i] >= '0' && at[i] <= '9'     ? at[i] - '0'
                    : isxdigit((unsigned char)at[i]) ? (at[i] | 0x20) - 'a' + 10
                                                     : 99;

        if (digit >= base)
            return -1;
        value = value * base + digit;
    }
    return value;
}

/* What stands behind a backslash (Spark's unescapeSQLString); \% and \_ keep it, for LIKE. */
static const char *unescape(const char *at, char *text, size_t *length)
{
    static const char from[] = "0bnrtZ";
    static const char to[] = "\0\b\n\r\t\x1a";
    const char *known = strchr(from, *at);
    int value;

    if (*at == 'u' && (value = digits_value(at + 1, 16, 4)) >= 0) {
        *length += cv_utf8_put((uint32_t)value, text + *length);
        return at + 5;
    }
    if (*at >= '0' && *at <= '1' && (value = digits_value(at, 8, 3)) >= 0) {
        text[(*length)++] = (char)value;
        return at + 3;
    }
    if (*at == '%' || *at == '_')
        text[(*length)++] = '\\';
    text[(*length)++] = known ? to[known - from] : *at;
    return at + 1;
}

/* A doubled quote stands for one. */
static enum cv_code read_quoted(struct cv_predicate_parser *parser, bool raw, struct cv_error *err)
{
    const char *from = parser->at;
    char quote = *from++;
    bool escapes = quote != '`' && !raw;
    char *text = cv_arena_alloc(parser->arena, strlen(from) + 1);
    size_t length = 0;

    while (*from && (*from != quote || from[1] == quote)) {
        if (*from == '\\' && escapes && from[1]) {
            from = unescape(from + 1, text, &length);
            continue;
        }
        from += *from == quote;
        text[length++] = *from++;
    }
    if (!*from)
        return cv_predicate_fail(parser, parser->at, err, "the closing %c is missing", quote);
    parser->at = from + 1;
    parser->token = (struct cv_str){text, length};
    parser->kind = quote == '`' ? CV_TOKEN_NAME : CV_TOKEN_TEXT;
    return CV_OK;
}

static enum cv_code read_bytes(struct cv_predicate_parser *parser, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(CV_PREDICATE_BYTES_MAX);
    const char *place = parser->at - 1;

    CV_DO(read_quoted(parser, true, err));
    if (!cv_hex_decode(parser->token, &bytes))
        return cv_predicate_fail(parser, place, err,
                                 "X'%.*s' is not an even number of hexadecimal digits",
                                 CV_STR_ARG(parser->token));
    parser->token =
        (struct cv_str){cv_arena_copy(parser->arena, bytes.data, bytes.length), bytes.length};
    parser->kind = CV_TOKEN_BYTES;
    return CV_OK;
}

/* --- numbers and signs ----------------------------------------------------------------------- */

static const char *skip_digits(const char *at)
{
    while (isdigit((unsigned char)*at))
        at++;
    return at;
}

static enum cv_code read_number(struct cv_predicate_parser *parser, struct cv_error *err)
{
    const char *start = parser->at;
    const char *at = skip_digits(start);

    if (*at == '.')
        at = skip_digits(at + 1);
    if ((*at | 0x20) == 'e') {
        const char *exponent = at + 1 + (at[1] == '+' || at[1] == '-');

        if (isdigit((unsigned char)*exponent))
            at = skip_digits(exponent);
    }
    parser->kind = CV_TOKEN_NUMBER;
    parser->token = (struct cv_str){start, (size_t)(at - start)};
    parser->single = (*at | 0x20) == 'f';
    if ((at[0] | 0x20) == 'b' && (at[1] | 0x20) == 'd')
        at += 2;
    else if (*at && strchr("lLsSyYdDfF", *at))
        at++;
    if (is_word_byte(*at))
        return cv_predicate_fail(parser, start, err,
                                 "\"%.20s\" is not a number; a name that starts with a digit goes "
                                 "between backticks",
                                 start);
    parser->at = at;
    return CV_OK;
}

static enum cv_code read_sign(struct cv_predicate_parser *parser, struct cv_error *err)
{
    static const char *const signs[] = {"<=>", "<=", "<>", ">=", "!=", "==", "<", ">",
                                        "=",   "!",  "(",  ")",  ",",  ".",  "-", "+"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(signs); i++)
        if (cv_text_starts_with(parser->at, signs[i])) {
            parser->kind = CV_TOKEN_SIGN;
            parser->token = cv_str_from(signs[i]);
            parser->at += parser->token.length;
            return CV_OK;
        }
    return cv_predicate_fail(parser, parser->at, err, "\"%c\" is not understood", *parser->at);
}

enum cv_code cv_predicate_advance(struct cv_predicate_parser *parser, struct cv_error *err)
{
    const char *at = parser->at;

    while (isspace((unsigned char)*at))
        at++;
    parser->at = parser->token_start = at;
    parser->token = (struct cv_str){at, 0};
    parser->kind = CV_TOKEN_END;
    if (!*at)
        return CV_OK;
    if (*at == '\'' || *at == '"' || *at == '`')
        return read_quoted(parser, false, err);
    if ((at[1] == '\'' || at[1] == '"') && strchr("xXrR", *at)) {
        parser->at++;
        return (*at | 0x20) == 'x' ? read_bytes(parser, err) : read_quoted(parser, true, err);
    }
    if (isdigit((unsigned char)*at) || (*at == '.' && isdigit((unsigned char)at[1])))
        return read_number(parser, err);
    if (!is_word_byte(*at))
        return read_sign(parser, err);
    while (is_word_byte(*at))
        at++;
    parser->kind = CV_TOKEN_WORD;
    parser->token.length = (size_t)(at - parser->at);
    parser->at = at;
    return CV_OK;
}
