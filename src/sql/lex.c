/* SPDX-License-Identifier: Apache-2.0
 *
 * See lex.h. */
#include "sql/lex.h"

#include "codec/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

struct lexer {
    struct cv_sql_text *text;
    struct cv_arena *arena;
    const char *at;
    struct cv_buf out;
    struct cv_sql_piece *pieces;
    size_t piece_count, piece_capacity;
    struct cv_str last; /* the token before; empty at the start */
    unsigned depth;     /* of Spark's types */
};

static size_t here(const struct lexer *lex)
{
    return (size_t)(lex->at - lex->text->written);
}

/* Text that follows stands for the written text from `written` on. */
static void mark(struct lexer *lex, size_t written)
{
    cv_array_reserve(&lex->pieces, &lex->piece_capacity, lex->piece_count + 1);
    lex->pieces[lex->piece_count++] =
        (struct cv_sql_piece){.rewritten = lex->out.length, .written = written};
}

static void copy(struct lexer *lex, size_t length)
{
    cv_buf_append(&lex->out, lex->at, length);
    lex->at += length;
}

/* Puts other text in the place of the next `length` bytes. */
static void replace(struct lexer *lex, const char *with, size_t length)
{
    mark(lex, here(lex));
    cv_buf_append_text(&lex->out, with);
    lex->at += length;
    mark(lex, here(lex));
}

static enum cv_code endless(struct lexer *lex, const char *start, const char *what,
                            struct cv_error *err)
{
    char place[CV_SQL_PLACE_BYTES];

    cv_sql_text_place(lex->text, lex->text->base + (size_t)(start - lex->text->written), place);
    return cv_fail(err, CV_CONFIG, "%s: %s has no end", place, what);
}

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool word_is(struct cv_str word, const char *keyword)
{
    if (strlen(keyword) != word.length)
        return false;
    for (size_t i = 0; i < word.length; i++)
        if (tolower((unsigned char)word.ptr[i]) != keyword[i])
            return false;
    return true;
}

static bool word_among(struct cv_str word, const char *const *keywords, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (word_is(word, keywords[i]))
            return true;
    return false;
}

/* 'text' or "name", the quote doubled inside; with `escapes` a backslash takes the next byte. */
static enum cv_code quoted(struct lexer *lex, const char *what, bool escapes, struct cv_error *err)
{
    const char *start = lex->at;
    char quote = *start;
    const char *p = start + 1;

    for (;; p++) {
        if (*p == '\0')
            return endless(lex, start, what, err);
        if (escapes && *p == '\\' && p[1])
            p++;
        else if (*p == quote && *++p != quote)
            break;
    }
    copy(lex, (size_t)(p - start));
    return CV_OK;
}

/* `name` as "name". */
static enum cv_code backquoted(struct lexer *lex, struct cv_error *err)
{
    const char *start = lex->at;

    mark(lex, here(lex));
    cv_buf_append_byte(&lex->out, '"');
    for (lex->at++;; lex->at++) {
        if (*lex->at == '\0')
            return endless(lex, start, "a name in backquotes", err);
        if (*lex->at == '`' && *++lex->at != '`')
            break;
        if (*lex->at == '"')
            cv_buf_append_byte(&lex->out, '"');
        cv_buf_append_byte(&lex->out, (uint8_t)*lex->at);
    }
    cv_buf_append_byte(&lex->out, '"');
    mark(lex, here(lex));
    return CV_OK;
}

/* $$ text $$ and $tag$ text $tag$. */
static enum cv_code dollar_quoted(struct lexer *lex, bool *ret_quoted, struct cv_error *err)
{
    const char *start = lex->at;
    const char *open = start + 1;
    const char *p;
    size_t tag;

    while (isalnum((unsigned char)*open) || *open == '_')
        open++;
    *ret_quoted = *open == '$' && !isdigit((unsigned char)start[1]);
    if (!*ret_quoted)
        return CV_OK;
    tag = (size_t)(open + 1 - start);
    for (p = open + 1; strncmp(p, start, tag) != 0; p++)
        if (*p == '\0')
            return endless(lex, start, "a text in $$", err);
    copy(lex, (size_t)(p - start) + tag);
    return CV_OK;
}

static enum cv_code comment(struct lexer *lex, struct cv_error *err)
{
    const char *start = lex->at;
    const char *p = start + 2;
    unsigned depth = 1;

    if (*start == '-') {
        copy(lex, strcspn(start, "\r\n"));
        return CV_OK;
    }
    for (; depth > 0; p++) {
        if (*p == '\0')
            return endless(lex, start, "a comment", err);
        if (p[0] == '*' && p[1] == '/') {
            depth--;
            p++;
        } else if (p[0] == '/' && p[1] == '*') {
            depth++;
            p++;
        }
    }
    copy(lex, (size_t)(p - start));
    return CV_OK;
}

static const char *after_blanks(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

/* A column may be meant where no operand stands before: after an operator, a comma, these words. */
static bool operand_expected(struct cv_str last)
{
    static const char *const words[] = {
        "select", "distinct", "and", "or",      "not",  "by", "where", "when",   "then",
        "else",   "on",       "in",  "between", "like", "as", "case",  "having",
    };

    if (last.length == 0)
        return true;
    if (is_word_byte(last.ptr[0]))
        return word_among(last, words, CV_ARRAY_LENGTH(words));
    return !strchr(")]'\"`", last.ptr[0]);
}

static bool type_expected(struct cv_str last)
{
    return cv_str_is(last, "::") || word_is(last, "as");
}

static struct cv_str word_at(const char *at)
{
    size_t length = 0;

    while (is_word_byte(at[length]))
        length++;
    return (struct cv_str){at, length};
}

static bool spark_type(struct lexer *lex);

static bool expect(struct lexer *lex, char c)
{
    lex->at = after_blanks(lex->at);
    if (*lex->at != c)
        return false;
    lex->at++;
    return true;
}

/* name: type, … of struct< … >. */
static bool spark_struct(struct lexer *lex)
{
    cv_buf_append_text(&lex->out, "STRUCT(");
    for (bool more = true; more;) {
        struct cv_str name = word_at(lex->at = after_blanks(lex->at));

        if (name.length == 0)
            return false;
        cv_buf_printf(&lex->out, "\"%.*s\" ", CV_STR_ARG(name));
        lex->at += name.length;
        lex->at = after_blanks(lex->at);
        lex->at += *lex->at == ':';
        if (!spark_type(lex))
            return false;
        more = expect(lex, ',');
        if (more)
            cv_buf_append_text(&lex->out, ", ");
    }
    cv_buf_append_byte(&lex->out, ')');
    return expect(lex, '>');
}

static bool spark_container(struct lexer *lex, struct cv_str word)
{
    lex->at++;
    if (word_is(word, "array")) {
        if (!spark_type(lex) || !expect(lex, '>'))
            return false;
        cv_buf_append_text(&lex->out, "[]");
        return true;
    }
    if (word_is(word, "struct"))
        return spark_struct(lex);
    cv_buf_append_text(&lex->out, "MAP(");
    if (!spark_type(lex) || !expect(lex, ','))
        return false;
    cv_buf_append_text(&lex->out, ", ");
    if (!spark_type(lex) || !expect(lex, '>'))
        return false;
    cv_buf_append_byte(&lex->out, ')');
    return true;
}

static bool is_container(struct cv_str word)
{
    return word_is(word, "array") || word_is(word, "map") || word_is(word, "struct");
}

static bool is_decimal(struct cv_str word)
{
    return word_is(word, "decimal") || word_is(word, "numeric") || word_is(word, "dec");
}

/* Spark's array<int> as DuckDB's int[]. False where it is no type: what came out then fails in the
 * parser. */
static bool spark_type(struct lexer *lex)
{
    struct cv_str word = word_at(lex->at = after_blanks(lex->at));
    bool good = true;

    if (word.length == 0 || lex->depth == 32)
        return false;
    lex->at = after_blanks(lex->at + word.length);
    if (*lex->at == '<' && is_container(word)) {
        lex->depth++;
        good = spark_container(lex, word);
        lex->depth--;
        return good;
    }
    cv_buf_append(&lex->out, word.ptr, word.length);
    if (*lex->at == '(') {
        size_t length = strcspn(lex->at, ")");

        if (lex->at[length] != ')')
            return false;
        copy(lex, length + 1);
    } else if (is_decimal(word)) {
        cv_buf_append_text(&lex->out, "(10,0)");
    }
    return true;
}

static void word(struct lexer *lex)
{
    struct cv_str word = word_at(lex->at);
    const char *next = after_blanks(lex->at + word.length);

    if (lex->last.length == 1 && *lex->last.ptr == '.') {
        copy(lex, word.length); /* any word is a name there */
    } else if (word_is(word, "window") && (*next == '(' || *next == '.' || strchr(",)", *next) ||
                                           operand_expected(lex->last))) {
        replace(lex, "\"window\"", word.length);
    } else if (word_is(word, "offset") && operand_expected(lex->last)) {
        replace(lex, "\"offset\"", word.length);
    } else if (word_is(word, "array") && *next == '(' && operand_expected(lex->last) &&
               !type_expected(lex->last)) {
        replace(lex, "list_value", word.length);
    } else if (*next == '<' && is_container(word) && type_expected(lex->last)) {
        mark(lex, here(lex));
        (void)spark_type(lex);
        mark(lex, here(lex));
    } else if (is_decimal(word) && type_expected(lex->last) && *next == ')') {
        mark(lex, here(lex));
        cv_buf_append_text(&lex->out, "decimal(10,0)");
        lex->at += word.length;
        mark(lex, here(lex));
    } else {
        copy(lex, word.length);
    }
}

static bool is_number_start(const char *at)
{
    return isdigit((unsigned char)at[0]) || (at[0] == '.' && isdigit((unsigned char)at[1]));
}

static size_t number_length(const char *at)
{
    size_t n = 0;

    while (isdigit((unsigned char)at[n]) || at[n] == '_')
        n++;
    if (at[n] == '.')
        for (n++; isdigit((unsigned char)at[n]) || at[n] == '_';)
            n++;
    if ((at[n] | 0x20) == 'e') {
        size_t sign = at[n + 1] == '+' || at[n + 1] == '-';

        if (isdigit((unsigned char)at[n + 1 + sign]))
            for (n += 1 + sign; isdigit((unsigned char)at[n]);)
                n++;
    }
    return n;
}

static enum cv_code token(struct lexer *lex, struct cv_error *err)
{
    const char *start = lex->at;
    bool is_quoted = false;

    if (isspace((unsigned char)*start)) {
        copy(lex, (size_t)(after_blanks(start) - start));
        return CV_OK;
    }
    if ((start[0] == '-' && start[1] == '-') || (start[0] == '/' && start[1] == '*'))
        return comment(lex, err);
    if (*start == '\'')
        CV_DO(quoted(lex, "a text in quotes", false, err));
    else if ((*start | 0x20) == 'e' && start[1] == '\'') {
        copy(lex, 1);
        CV_DO(quoted(lex, "a text in quotes", true, err));
    } else if (*start == '"')
        CV_DO(quoted(lex, "a name in quotes", false, err));
    else if (*start == '`')
        CV_DO(backquoted(lex, err));
    else if (*start == '$')
        CV_DO(dollar_quoted(lex, &is_quoted, err));
    else if (is_number_start(start) && !(lex->last.length == 1 && *lex->last.ptr == '.'))
        copy(lex, number_length(start));
    else if (is_word_byte(*start))
        word(lex);
    if (lex->at == start)
        copy(lex, start[0] == ':' && start[1] == ':' ? 2 : 1);
    lex->last = (struct cv_str){is_quoted ? "'" : start, is_quoted ? 1 : (size_t)(lex->at - start)};
    return CV_OK;
}

static enum cv_code all_tokens(struct lexer *lex, struct cv_error *err)
{
    mark(lex, 0);
    while (*lex->at)
        CV_DO(token(lex, err));
    return CV_OK;
}

enum cv_code cv_sql_text_read(const char *option, const char *written, const char *before,
                              const char *after, size_t base, struct cv_arena *arena,
                              struct cv_sql_text *ret_text, struct cv_error *err)
{
    struct cv_sql_text text = {.option = option, .written = written, .base = base};
    struct lexer lex = {.text = &text, .arena = arena, .at = written};
    enum cv_code code;

    text.written_length = strlen(written);
    if (text.written_length > CV_SQL_BYTES_MAX)
        return cv_fail(err, CV_LIMIT, "%s: longer than %zu bytes", option, CV_SQL_BYTES_MAX);
    if (!cv_utf8_valid(written, text.written_length))
        return cv_fail(err, CV_CONFIG, "%s: not valid UTF-8", option);
    cv_buf_append_text(&lex.out, before);
    code = all_tokens(&lex, err);
    mark(&lex, text.written_length);
    cv_buf_append_text(&lex.out, after);
    if (code == CV_OK) {
        text.rewritten = cv_arena_strdup(arena, cv_buf_text(&lex.out));
        text.pieces = cv_arena_copy(arena, lex.pieces, lex.piece_count * sizeof lex.pieces[0]);
        text.piece_count = lex.piece_count;
        *ret_text = text;
    }
    free(lex.pieces);
    cv_buf_release(&lex.out);
    return code;
}

size_t cv_sql_text_origin(const struct cv_sql_text *text, size_t rewritten)
{
    size_t low = 0;
    size_t high = text->piece_count;
    size_t at;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (text->pieces[middle].rewritten <= rewritten)
            low = middle;
        else
            high = middle;
    }
    if (rewritten < text->pieces[low].rewritten)
        return text->base; /* in what was put before */
    at = text->pieces[low].written + (rewritten - text->pieces[low].rewritten);
    if (low + 1 < text->piece_count && at > text->pieces[low + 1].written)
        at = text->pieces[low].written; /* in text that replaces a shorter one */
    return text->base + CV_MIN(at, text->written_length);
}

void cv_sql_text_place(const struct cv_sql_text *text, size_t position,
                       char place[CV_SQL_PLACE_BYTES])
{
    size_t at = position < text->base ? 0 : CV_MIN(position - text->base, text->written_length);
    size_t line = 1;
    size_t start = 0;

    for (size_t i = 0; i < at; i++) {
        if (text->written[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    (void)snprintf(place, CV_SQL_PLACE_BYTES, "%s line %zu column %zu", text->option, line,
                   1 + cv_utf8_count((struct cv_str){text->written + start, at - start}));
}

const char *cv_sql_text_number(const struct cv_sql_text *text, size_t position,
                               struct cv_arena *arena)
{
    size_t at = position < text->base ? 0 : CV_MIN(position - text->base, text->written_length);
    const char *p = text->written + at;
    size_t length, kept = 0;
    char *number;

    while (*p == '-' || *p == '+' || *p == '(' || isspace((unsigned char)*p))
        p++;
    if (!is_number_start(p))
        return NULL;
    length = number_length(p);
    number = cv_arena_alloc(arena, length + 1);
    for (size_t i = 0; i < length; i++)
        if (p[i] != '_')
            number[kept++] = p[i];
    return number;
}

bool cv_sql_text_is_minus(const struct cv_sql_text *text, size_t position)
{
    return position >= text->base && position - text->base < text->written_length &&
           text->written[position - text->base] == '-';
}
