/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a condition → a predicate: recursive descent, one token ahead. Columns and literals
 * are bound where they meet, so that an error knows its place. */
#include "schema/predicate_int.h"

#include <strings.h>

static bool at_sign(const struct cv_predicate_parser *parser, const char *sign)
{
    return parser->kind == CV_TOKEN_SIGN && cv_str_is(parser->token, sign);
}

static bool at_word(const struct cv_predicate_parser *parser, const char *word)
{
    return parser->kind == CV_TOKEN_WORD && parser->token.length == strlen(word) &&
           strncasecmp(parser->token.ptr, word, parser->token.length) == 0;
}

static enum cv_code fail_expected(const struct cv_predicate_parser *parser, const char *wanted,
                                  struct cv_error *err)
{
    if (parser->kind == CV_TOKEN_END)
        return cv_predicate_fail(parser, parser->token_start, err,
                                 "the condition ends where %s is expected", wanted);
    return cv_predicate_fail(parser, parser->token_start, err, "%s is expected at \"%.20s\"",
                             wanted, parser->token_start);
}

static enum cv_code expect_sign(struct cv_predicate_parser *parser, const char *sign,
                                struct cv_error *err)
{
    return at_sign(parser, sign) ? cv_predicate_advance(parser, err)
                                 : fail_expected(parser, sign, err);
}

static enum cv_code expect_word(struct cv_predicate_parser *parser, const char *word,
                                struct cv_error *err)
{
    return at_word(parser, word) ? cv_predicate_advance(parser, err)
                                 : fail_expected(parser, word, err);
}

static enum cv_code read_or(struct cv_predicate_parser *parser, struct cv_operand *ret_operand,
                            struct cv_error *err);

/* --- literals -------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    enum cv_literal_kind kind;
    enum cv_type_kind type;
} typed_literals[] = {
    {"date", CV_LITERAL_DATE, CV_TYPE_DATE},
    {"to_date", CV_LITERAL_DATE, CV_TYPE_DATE},
    {"time", CV_LITERAL_TIME, CV_TYPE_TIME},
    {"timestamp", CV_LITERAL_TIMESTAMP, CV_TYPE_TIMESTAMPTZ},
    {"timestamp_ltz", CV_LITERAL_TIMESTAMP, CV_TYPE_TIMESTAMPTZ},
    {"to_timestamp", CV_LITERAL_TIMESTAMP, CV_TYPE_TIMESTAMPTZ},
    {"timestamp_ntz", CV_LITERAL_TIMESTAMP, CV_TYPE_TIMESTAMP},
};

static int find_typed_literal(struct cv_str word)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(typed_literals); i++)
        if (word.length == strlen(typed_literals[i].word) &&
            strncasecmp(word.ptr, typed_literals[i].word, word.length) == 0)
            return (int)i;
    return -1;
}

/* The token is the text of a literal of that type. */
static enum cv_code read_typed_text(struct cv_predicate_parser *parser, int type,
                                    struct cv_literal *literal, struct cv_error *err)
{
    struct cv_str text = cv_str_trim_control(parser->token, true);
    enum cv_literal_kind kind = typed_literals[type].kind;
    bool had_zone;
    int32_t days = 0;
    bool good;

    if (parser->kind != CV_TOKEN_TEXT)
        return fail_expected(parser, "a quoted text", err);
    if (kind == CV_LITERAL_DATE)
        good = cv_parse_date(text, &days);
    else if (kind == CV_LITERAL_TIME)
        good = cv_parse_time(text, &literal->number);
    else
        good = cv_parse_timestamp(text, &literal->number, &had_zone);
    if (!good)
        return cv_predicate_fail(parser, parser->token_start, err, "'%.*s' is not a %s",
                                 CV_STR_ARG(parser->token),
                                 kind == CV_LITERAL_DATE   ? "date (2026-01-31)"
                                 : kind == CV_LITERAL_TIME ? "time (10:12:55.5)"
                                                           : "timestamp (2026-01-31 10:12:55)");
    if (kind == CV_LITERAL_DATE)
        literal->number = days;
    literal->kind = kind;
    return cv_predicate_advance(parser, err);
}

/* CAST('…' AS type); the word has been taken. */
static enum cv_code read_cast(struct cv_predicate_parser *parser, struct cv_literal *literal,
                              struct cv_error *err)
{
    struct cv_predicate_parser text;
    int type;

    CV_DO(expect_sign(parser, "(", err));
    text = *parser;
    if (parser->kind != CV_TOKEN_TEXT)
        return cv_predicate_fail(parser, parser->token_start, err,
                                 "CAST takes a quoted text here: a column cannot be cast");
    CV_DO(cv_predicate_advance(parser, err));
    CV_DO(expect_word(parser, "as", err));
    type = parser->kind == CV_TOKEN_WORD ? find_typed_literal(parser->token) : -1;
    if (type < 0)
        return fail_expected(parser, "DATE, TIME, TIMESTAMP or TIMESTAMP_NTZ", err);
    CV_DO(read_typed_text(&text, type, literal, err));
    CV_DO(cv_predicate_advance(parser, err));
    return expect_sign(parser, ")", err);
}

static enum cv_code read_signed(struct cv_predicate_parser *parser, struct cv_literal *literal,
                                struct cv_error *err)
{
    bool negative = at_sign(parser, "-");

    if (negative || at_sign(parser, "+"))
        CV_DO(cv_predicate_advance(parser, err));
    if (parser->kind != CV_TOKEN_NUMBER)
        return fail_expected(parser, "a number", err);
    literal->kind = CV_LITERAL_NUMBER;
    literal->single = parser->single;
    literal->text = cv_str_from(
        cv_arena_printf(parser->arena, "%s%.*s", negative ? "-" : "", CV_STR_ARG(parser->token)));
    return cv_predicate_advance(parser, err);
}

/* True with *literal when the token (and those behind it) is a literal. */
static enum cv_code read_literal(struct cv_predicate_parser *parser, bool *ret_found,
                                 struct cv_literal *literal, struct cv_error *err)
{
    struct cv_predicate_parser ahead = *parser;
    int type;

    *literal = (struct cv_literal){.place = parser->token_start, .text = parser->token};
    *ret_found = true;
    if (parser->kind == CV_TOKEN_NUMBER || at_sign(parser, "-") || at_sign(parser, "+"))
        return read_signed(parser, literal, err);
    if (parser->kind == CV_TOKEN_TEXT || parser->kind == CV_TOKEN_BYTES) {
        literal->kind = parser->kind == CV_TOKEN_TEXT ? CV_LITERAL_TEXT : CV_LITERAL_BYTES;
        return cv_predicate_advance(parser, err);
    }
    if (at_word(parser, "true") || at_word(parser, "false")) {
        literal->kind = CV_LITERAL_BOOLEAN;
        literal->boolean = at_word(parser, "true");
        return cv_predicate_advance(parser, err);
    }
    if (at_word(parser, "null"))
        return cv_predicate_advance(parser, err);
    *ret_found = false;
    if (parser->kind != CV_TOKEN_WORD)
        return CV_OK;
    CV_DO(cv_predicate_advance(&ahead, err));
    type = find_typed_literal(parser->token);
    if (type >= 0 && ahead.kind == CV_TOKEN_TEXT) {
        *ret_found = true;
        *parser = ahead;
        return read_typed_text(parser, type, literal, err);
    }
    if (!at_sign(&ahead, "(") || (type < 0 && !at_word(parser, "cast")))
        return CV_OK;
    *ret_found = true;
    *parser = ahead;
    if (type < 0)
        return read_cast(parser, literal, err);
    CV_DO(expect_sign(parser, "(", err));
    CV_DO(read_typed_text(parser, type, literal, err));
    return expect_sign(parser, ")", err);
}

/* --- operands -------------------------------------------------------------------------------- */

static enum cv_code refuse_call(const struct cv_predicate_parser *parser, const char *name,
                                struct cv_error *err)
{
    (void)cv_predicate_fail(parser, name, err,
                            "functions and transforms are not supported in a condition: %.*s",
                            (int)(parser->at - name), name);
    cv_hint(err, "compare the column itself: calve derives the partitions of a condition like ts "
                 ">= TIMESTAMP '2026-01-01' on its own");
    return CV_USAGE;
}

static enum cv_code read_column(struct cv_predicate_parser *parser, struct cv_operand *ret_operand,
                                struct cv_error *err)
{
    struct cv_str parts[CV_DEPTH_MAX];
    const char *place = parser->token_start;
    size_t count = 0;

    for (;;) {
        if ((parser->kind != CV_TOKEN_WORD && parser->kind != CV_TOKEN_NAME) ||
            !parser->token.length)
            return fail_expected(parser, "a column or a literal", err);
        if (count == CV_DEPTH_MAX)
            return cv_predicate_fail(parser, place, err, "the name has more than %d parts",
                                     CV_DEPTH_MAX);
        parts[count++] = parser->token;
        CV_DO(cv_predicate_advance(parser, err));
        if (!at_sign(parser, "."))
            break;
        CV_DO(cv_predicate_advance(parser, err));
    }
    if (at_sign(parser, "("))
        return refuse_call(parser, place, err);
    return cv_predicate_resolve(parser, parts, count, place, ret_operand, err);
}

static enum cv_code read_primary(struct cv_predicate_parser *parser, struct cv_operand *ret_operand,
                                 struct cv_error *err)
{
    struct cv_literal literal;
    bool found;

    if (at_sign(parser, "(")) {
        if (++parser->depth > CV_DEPTH_MAX)
            return cv_predicate_fail(parser, parser->token_start, err, "parentheses deeper than %d",
                                     CV_DEPTH_MAX);
        CV_DO(cv_predicate_advance(parser, err));
        CV_DO(read_or(parser, ret_operand, err));
        parser->depth--;
        return expect_sign(parser, ")", err);
    }
    CV_DO(read_literal(parser, &found, &literal, err));
    if (!found)
        return read_column(parser, ret_operand, err);
    *ret_operand =
        (struct cv_operand){.kind = CV_OPERAND_LITERAL, .literal = literal, .place = literal.place};
    return CV_OK;
}

/* A boolean column or literal alone is a condition too. */
static enum cv_code as_condition(struct cv_predicate_parser *parser,
                                 const struct cv_operand *operand,
                                 const struct cv_predicate **ret_condition, struct cv_error *err)
{
    struct cv_literal yes = {.kind = CV_LITERAL_BOOLEAN, .boolean = true, .place = operand->place};

    if (operand->kind == CV_OPERAND_CONDITION)
        *ret_condition = operand->condition;
    else if (operand->kind == CV_OPERAND_COLUMN && operand->field->type.kind == CV_TYPE_BOOLEAN)
        return cv_predicate_bind(parser, CV_PREDICATE_EQUAL, operand, &yes, ret_condition, err);
    else if (operand->kind == CV_OPERAND_LITERAL && operand->literal.kind == CV_LITERAL_BOOLEAN)
        *ret_condition = cv_predicate_constant(operand->literal.boolean);
    else if (operand->kind == CV_OPERAND_LITERAL && operand->literal.kind == CV_LITERAL_NULL)
        *ret_condition = &cv_predicate_unknown;
    else
        return cv_predicate_fail(parser, operand->place, err,
                                 "a condition is expected, not a %s alone",
                                 operand->kind == CV_OPERAND_COLUMN ? "column" : "literal");
    return CV_OK;
}

static enum cv_code want_column(const struct cv_predicate_parser *parser,
                                const struct cv_operand *operand, const char *what,
                                struct cv_error *err)
{
    if (operand->kind != CV_OPERAND_COLUMN)
        return cv_predicate_fail(parser, operand->place, err, "%s needs a column on its left",
                                 what);
    return CV_OK;
}

static enum cv_code want_literal(const struct cv_predicate_parser *parser,
                                 const struct cv_operand *operand, struct cv_error *err)
{
    if (operand->kind != CV_OPERAND_LITERAL)
        return cv_predicate_fail(
            parser, operand->place, err,
            "a literal is expected: conditions compare a column with literals");
    return CV_OK;
}

/* --- comparisons ----------------------------------------------------------------------------- */

static const struct {
    const char *sign;
    enum cv_predicate_kind kind;
    enum cv_predicate_kind mirrored;
} comparisons[] = {
    {"=", CV_PREDICATE_EQUAL, CV_PREDICATE_EQUAL},
    {"==", CV_PREDICATE_EQUAL, CV_PREDICATE_EQUAL},
    {"<=>", CV_PREDICATE_EQUAL, CV_PREDICATE_EQUAL},
    {"<>", CV_PREDICATE_NOT_EQUAL, CV_PREDICATE_NOT_EQUAL},
    {"!=", CV_PREDICATE_NOT_EQUAL, CV_PREDICATE_NOT_EQUAL},
    {"<", CV_PREDICATE_LESS, CV_PREDICATE_GREATER},
    {"<=", CV_PREDICATE_LESS_EQUAL, CV_PREDICATE_GREATER_EQUAL},
    {">", CV_PREDICATE_GREATER, CV_PREDICATE_LESS},
    {">=", CV_PREDICATE_GREATER_EQUAL, CV_PREDICATE_LESS_EQUAL},
};

/* <=> is never NULL: with a NULL column it is false. */
static enum cv_code bind_null_safe(struct cv_predicate_parser *parser,
                                   const struct cv_operand *column,
                                   const struct cv_literal *literal,
                                   const struct cv_predicate **ret_condition, struct cv_error *err)
{
    const struct cv_predicate *parts[2];

    if (literal->kind == CV_LITERAL_NULL)
        return cv_predicate_null_check(parser, column, true, ret_condition);
    CV_DO(cv_predicate_bind(parser, CV_PREDICATE_EQUAL, column, literal, &parts[0], err));
    CV_DO(cv_predicate_null_check(parser, column, false, &parts[1]));
    *ret_condition = cv_predicate_join(parser, CV_PREDICATE_AND, parts, 2);
    return CV_OK;
}

/* 1 = 1 and the like, which programs put together. */
static enum cv_code compare_literals(struct cv_predicate_parser *parser,
                                     enum cv_predicate_kind kind, const struct cv_operand *left,
                                     const struct cv_operand *right,
                                     const struct cv_predicate **ret_condition,
                                     struct cv_error *err)
{
    const struct cv_literal *a = &left->literal, *b = &right->literal;
    bool equal = cv_str_equal(a->text, b->text);

    if (a->kind == CV_LITERAL_NULL || b->kind == CV_LITERAL_NULL) {
        *ret_condition = &cv_predicate_unknown;
        return CV_OK;
    }
    if (a->kind != b->kind || (a->kind != CV_LITERAL_NUMBER && a->kind != CV_LITERAL_TEXT) ||
        (kind != CV_PREDICATE_EQUAL && kind != CV_PREDICATE_NOT_EQUAL) ||
        (!equal && a->kind == CV_LITERAL_NUMBER &&
         (memchr(a->text.ptr, '.', a->text.length) || memchr(b->text.ptr, '.', b->text.length))))
        return cv_predicate_fail(parser, left->place, err, "a comparison needs a column");
    *ret_condition = cv_predicate_constant(equal == (kind == CV_PREDICATE_EQUAL));
    return CV_OK;
}

static enum cv_code read_comparison(struct cv_predicate_parser *parser, size_t comparison,
                                    const struct cv_operand *left,
                                    const struct cv_predicate **ret_condition, struct cv_error *err)
{
    const char *place = parser->token_start;
    const struct cv_operand *column = left;
    enum cv_predicate_kind kind = comparisons[comparison].kind;
    struct cv_operand right;

    CV_DO(cv_predicate_advance(parser, err));
    CV_DO(read_primary(parser, &right, err));
    if (left->kind == CV_OPERAND_LITERAL && right.kind == CV_OPERAND_LITERAL)
        return compare_literals(parser, kind, left, &right, ret_condition, err);
    if (left->kind == CV_OPERAND_LITERAL) {
        struct cv_operand literal = *left;

        column = &right;
        CV_DO(want_column(parser, column, "a comparison", err));
        if (strcmp(comparisons[comparison].sign, "<=>") == 0)
            return bind_null_safe(parser, column, &literal.literal, ret_condition, err);
        return cv_predicate_bind(parser, comparisons[comparison].mirrored, column, &literal.literal,
                                 ret_condition, err);
    }
    if (left->kind != CV_OPERAND_COLUMN)
        return cv_predicate_fail(parser, place, err, "a condition cannot be compared");
    CV_DO(want_literal(parser, &right, err));
    if (strcmp(comparisons[comparison].sign, "<=>") == 0)
        return bind_null_safe(parser, column, &right.literal, ret_condition, err);
    return cv_predicate_bind(parser, kind, column, &right.literal, ret_condition, err);
}

static enum cv_code read_literal_operand(struct cv_predicate_parser *parser,
                                         struct cv_literal *ret_literal, struct cv_error *err)
{
    struct cv_operand operand;

    CV_DO(read_primary(parser, &operand, err));
    CV_DO(want_literal(parser, &operand, err));
    *ret_literal = operand.literal;
    return CV_OK;
}

static enum cv_code read_in(struct cv_predicate_parser *parser, const struct cv_operand *column,
                            const struct cv_predicate **ret_condition, struct cv_error *err)
{
    CV_CLEANUP(cv_freep) struct cv_literal *literals = NULL;
    size_t count = 0, capacity = 0;

    CV_DO(want_column(parser, column, "IN", err));
    CV_DO(expect_sign(parser, "(", err));
    for (;;) {
        cv_array_reserve(&literals, &capacity, count + 1);
        CV_DO(read_literal_operand(parser, &literals[count++], err));
        if (!at_sign(parser, ","))
            break;
        CV_DO(cv_predicate_advance(parser, err));
    }
    CV_DO(expect_sign(parser, ")", err));
    return cv_predicate_bind_in(parser, column, literals, count, ret_condition, err);
}

static enum cv_code read_between(struct cv_predicate_parser *parser,
                                 const struct cv_operand *column,
                                 const struct cv_predicate **ret_condition, struct cv_error *err)
{
    const struct cv_predicate *parts[2];
    struct cv_literal low, high;

    CV_DO(want_column(parser, column, "BETWEEN", err));
    CV_DO(read_literal_operand(parser, &low, err));
    CV_DO(expect_word(parser, "and", err));
    CV_DO(read_literal_operand(parser, &high, err));
    CV_DO(cv_predicate_bind(parser, CV_PREDICATE_GREATER_EQUAL, column, &low, &parts[0], err));
    CV_DO(cv_predicate_bind(parser, CV_PREDICATE_LESS_EQUAL, column, &high, &parts[1], err));
    *ret_condition = cv_predicate_join(parser, CV_PREDICATE_AND, parts, 2);
    return CV_OK;
}

static enum cv_code read_like(struct cv_predicate_parser *parser, const struct cv_operand *column,
                              const struct cv_predicate **ret_condition, struct cv_error *err)
{
    struct cv_literal pattern;
    char escape = '\\';

    CV_DO(want_column(parser, column, "LIKE", err));
    CV_DO(read_literal_operand(parser, &pattern, err));
    if (at_word(parser, "escape")) {
        CV_DO(cv_predicate_advance(parser, err));
        if (parser->kind != CV_TOKEN_TEXT || parser->token.length != 1)
            return fail_expected(parser, "one character in quotes", err);
        escape = parser->token.ptr[0];
        CV_DO(cv_predicate_advance(parser, err));
    }
    return cv_predicate_bind_like(parser, column, &pattern, escape, ret_condition, err);
}

/* IS has been taken. */
static enum cv_code read_is(struct cv_predicate_parser *parser, const struct cv_operand *column,
                            const struct cv_predicate **ret_condition, struct cv_error *err)
{
    bool negated = at_word(parser, "not");

    if (negated)
        CV_DO(cv_predicate_advance(parser, err));
    if (!at_word(parser, "null"))
        return fail_expected(parser, "NULL or NOT NULL", err);
    CV_DO(want_column(parser, column, "IS NULL", err));
    CV_DO(cv_predicate_advance(parser, err));
    return cv_predicate_null_check(parser, column, !negated, ret_condition);
}

/* What may stand behind an operand; *ret_found false when nothing does. */
static enum cv_code read_tail(struct cv_predicate_parser *parser, const struct cv_operand *left,
                              bool *ret_found, const struct cv_predicate **ret_condition,
                              struct cv_error *err)
{
    static const struct {
        const char *word;
        enum cv_code (*read)(struct cv_predicate_parser *, const struct cv_operand *,
                             const struct cv_predicate **, struct cv_error *);
    } words[] = {{"in", read_in}, {"between", read_between}, {"like", read_like}};
    bool negated = at_word(parser, "not");

    *ret_found = true;
    if (parser->kind == CV_TOKEN_SIGN)
        for (size_t i = 0; i < CV_ARRAY_LENGTH(comparisons); i++)
            if (at_sign(parser, comparisons[i].sign))
                return read_comparison(parser, i, left, ret_condition, err);
    if (at_word(parser, "is")) {
        CV_DO(cv_predicate_advance(parser, err));
        return read_is(parser, left, ret_condition, err);
    }
    if (negated)
        CV_DO(cv_predicate_advance(parser, err));
    for (size_t i = 0; i < CV_ARRAY_LENGTH(words); i++) {
        if (!at_word(parser, words[i].word))
            continue;
        CV_DO(cv_predicate_advance(parser, err));
        CV_DO(words[i].read(parser, left, ret_condition, err));
        if (negated)
            *ret_condition = cv_predicate_not(parser, *ret_condition);
        return CV_OK;
    }
    if (negated)
        return fail_expected(parser, "IN, BETWEEN or LIKE", err);
    *ret_found = false;
    return CV_OK;
}

static enum cv_code check_size(const struct cv_predicate_parser *parser, const char *place,
                               struct cv_error *err)
{
    if (cv_predicate_too_large(parser))
        return cv_predicate_fail(parser, place, err, "the condition has more than %d parts",
                                 CV_PREDICATE_NODES_MAX);
    return CV_OK;
}

static enum cv_code read_predicate(struct cv_predicate_parser *parser,
                                   struct cv_operand *ret_operand, struct cv_error *err)
{
    const char *place = parser->token_start;
    const struct cv_predicate *condition = NULL;
    struct cv_operand operand;
    bool found;

    CV_DO(read_primary(parser, &operand, err));
    CV_DO(read_tail(parser, &operand, &found, &condition, err));
    if (found)
        operand = (struct cv_operand){
            .kind = CV_OPERAND_CONDITION, .condition = condition, .place = place};
    CV_DO(check_size(parser, place, err));
    *ret_operand = operand;
    return CV_OK;
}

/* --- NOT, AND, OR ---------------------------------------------------------------------------- */

static enum cv_code read_not(struct cv_predicate_parser *parser, struct cv_operand *ret_operand,
                             struct cv_error *err)
{
    const char *place = parser->token_start;
    const struct cv_predicate *condition;
    size_t count = 0;

    for (; at_word(parser, "not") || at_sign(parser, "!"); count++)
        CV_DO(cv_predicate_advance(parser, err));
    CV_DO(read_predicate(parser, ret_operand, err));
    if (!count)
        return CV_OK;
    CV_DO(as_condition(parser, ret_operand, &condition, err));
    *ret_operand = (struct cv_operand){.kind = CV_OPERAND_CONDITION,
                                       .condition = count % 2 ? cv_predicate_not(parser, condition)
                                                              : condition,
                                       .place = place};
    return CV_OK;
}

/* Operands of one level joined by its word; a single one is handed on as it is. */
static enum cv_code read_chain(struct cv_predicate_parser *parser, bool is_or,
                               struct cv_operand *ret_operand, struct cv_error *err)
{
    CV_CLEANUP(cv_freep) const struct cv_predicate **parts = NULL;
    const char *word = is_or ? "or" : "and";
    const char *place = parser->token_start;
    size_t count = 0, capacity = 0;

    for (;;) {
        CV_DO(is_or ? read_chain(parser, false, ret_operand, err)
                    : read_not(parser, ret_operand, err));
        if (!count && !at_word(parser, word))
            return CV_OK;
        cv_array_reserve(&parts, &capacity, count + 1);
        CV_DO(as_condition(parser, ret_operand, &parts[count++], err));
        if (!at_word(parser, word))
            break;
        CV_DO(cv_predicate_advance(parser, err));
    }
    *ret_operand =
        (struct cv_operand){.kind = CV_OPERAND_CONDITION,
                            .condition = cv_predicate_join(
                                parser, is_or ? CV_PREDICATE_OR : CV_PREDICATE_AND, parts, count),
                            .place = place};
    return CV_OK;
}

static enum cv_code read_or(struct cv_predicate_parser *parser, struct cv_operand *ret_operand,
                            struct cv_error *err)
{
    return read_chain(parser, true, ret_operand, err);
}

enum cv_code cv_predicate_parse(const char *text, const struct cv_schema *schema,
                                struct cv_arena *arena, const struct cv_predicate **ret_predicate,
                                struct cv_error *err)
{
    struct cv_predicate_parser parser = {
        .start = text, .at = text, .schema = schema, .arena = arena};
    const struct cv_predicate *condition;
    struct cv_operand operand;

    if (strlen(text) > CV_PREDICATE_BYTES_MAX)
        return cv_fail(err, CV_LIMIT, "the condition is longer than %zu bytes",
                       CV_PREDICATE_BYTES_MAX);
    CV_DO(cv_predicate_advance(&parser, err));
    CV_DO(read_or(&parser, &operand, err));
    if (parser.kind != CV_TOKEN_END)
        return fail_expected(&parser, "AND, OR or the end", err);
    CV_DO(as_condition(&parser, &operand, &condition, err));
    CV_DO(check_size(&parser, text, err));
    *ret_predicate = cv_predicate_finish(&parser, condition);
    return CV_OK;
}
