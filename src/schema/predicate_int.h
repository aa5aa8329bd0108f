/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the predicates: tokens of the text, operands, and binding of literals to columns. */
#ifndef CALVE_SCHEMA_PREDICATE_INT_H
#define CALVE_SCHEMA_PREDICATE_INT_H

#include "schema/predicate.h"

enum cv_predicate_token {
    CV_TOKEN_END,
    CV_TOKEN_WORD,   /* name or keyword */
    CV_TOKEN_NAME,   /* `name` */
    CV_TOKEN_TEXT,   /* 'text' or "text", escapes resolved */
    CV_TOKEN_BYTES,  /* X'0aff', decoded */
    CV_TOKEN_NUMBER, /* without its suffix */
    CV_TOKEN_SIGN,
};

/* One token ahead. */
struct cv_predicate_parser {
    const char *start;
    const char *at; /* behind the token */
    const struct cv_schema *schema;
    struct cv_arena *arena;
    enum cv_predicate_token kind;
    struct cv_str token;
    const char *token_start;
    bool single; /* a number with the suffix F */
    size_t node_count;
    unsigned depth;
};

enum cv_code cv_predicate_advance(struct cv_predicate_parser *parser, struct cv_error *err);
/* CV_USAGE with the column of `place`. */
enum cv_code cv_predicate_fail(const struct cv_predicate_parser *parser, const char *place,
                               struct cv_error *err, const char *format, ...) CV_PRINTF(4, 5);

enum cv_literal_kind {
    CV_LITERAL_NULL,
    CV_LITERAL_BOOLEAN,
    CV_LITERAL_NUMBER, /* `text`: every digit counts until the column's type is known */
    CV_LITERAL_TEXT,
    CV_LITERAL_BYTES,
    CV_LITERAL_DATE,
    CV_LITERAL_TIME,
    CV_LITERAL_TIMESTAMP,
};

struct cv_literal {
    enum cv_literal_kind kind;
    bool boolean;
    bool single;
    int64_t number; /* days or µs */
    struct cv_str text;
    const char *place;
};

enum cv_operand_kind {
    CV_OPERAND_CONDITION,
    CV_OPERAND_COLUMN,
    CV_OPERAND_LITERAL,
};

struct cv_operand {
    enum cv_operand_kind kind;
    const struct cv_predicate *condition;
    const struct cv_field *field;
    bool never_null; /* the column and every struct around it are required */
    struct cv_literal literal;
    const char *place;
};

/* While the text is read, NULL of SQL is a node of its own, so that NOT can be pushed down at any
 * time; cv_predicate_finish() makes it FALSE. */
extern const struct cv_predicate cv_predicate_unknown;
const struct cv_predicate *cv_predicate_constant(bool value);
const struct cv_predicate *cv_predicate_not(struct cv_predicate_parser *parser,
                                            const struct cv_predicate *predicate);
/* A balanced tree of them; count > 0. */
const struct cv_predicate *cv_predicate_join(struct cv_predicate_parser *parser,
                                             enum cv_predicate_kind kind,
                                             const struct cv_predicate *const *parts, size_t count);
const struct cv_predicate *cv_predicate_finish(struct cv_predicate_parser *parser,
                                               const struct cv_predicate *predicate);
bool cv_predicate_too_large(const struct cv_predicate_parser *parser);

/* The column by its parts; CV_USAGE when it is none, or not one that can be asked. */
enum cv_code cv_predicate_resolve(const struct cv_predicate_parser *parser,
                                  const struct cv_str *parts, size_t count, const char *place,
                                  struct cv_operand *ret_column, struct cv_error *err);
enum cv_code cv_predicate_null_check(struct cv_predicate_parser *parser,
                                     const struct cv_operand *column, bool is_null,
                                     const struct cv_predicate **ret_predicate);
/* `column kind literal`, kind from LESS to NOT_EQUAL. */
enum cv_code cv_predicate_bind(struct cv_predicate_parser *parser, enum cv_predicate_kind kind,
                               const struct cv_operand *column, const struct cv_literal *literal,
                               const struct cv_predicate **ret_predicate, struct cv_error *err);
enum cv_code cv_predicate_bind_in(struct cv_predicate_parser *parser,
                                  const struct cv_operand *column,
                                  const struct cv_literal *literals, size_t count,
                                  const struct cv_predicate **ret_predicate, struct cv_error *err);
/* `escape` is '\\' unless the text names another one. */
enum cv_code cv_predicate_bind_like(struct cv_predicate_parser *parser,
                                    const struct cv_operand *column,
                                    const struct cv_literal *pattern, char escape,
                                    const struct cv_predicate **ret_predicate,
                                    struct cv_error *err);

#endif
