/* SPDX-License-Identifier: Apache-2.0
 *
 * A parsed query as a small tree, read from the JSON that DuckDB's json_serialize_sql() gives
 * (1.4 and 1.5). What a stream can never have (OVER, PIVOT, SAMPLE, …) is a node that says so, and
 * the binder refuses it in its place. Everything lives in one arena. */
#ifndef CALVE_SQL_AST_H
#define CALVE_SQL_AST_H

#include "schema/type.h"
#include "sql/lex.h"

#define CV_AST_DEPTH_MAX 200 /* expressions and queries in each other */

enum cv_ast_kind {
    CV_AST_COLUMN,   /* names */
    CV_AST_CONSTANT, /* constant, text, integer */
    CV_AST_CALL, /* name, arguments: functions, operators, CASE ("case": when, then, …, else) */
    CV_AST_CAST, /* arguments[0], type, try_cast */
    CV_AST_STAR, /* name = what stands before .*, or NULL; names = EXCLUDE; arguments = REPLACE,
                    each with its alias */
    CV_AST_SUBQUERY, /* query; arguments[0] IN query, or EXISTS without arguments */
    CV_AST_REFUSED,  /* name = what it is */
};

enum cv_ast_constant {
    CV_AST_NULL,
    CV_AST_BOOLEAN, /* integer */
    CV_AST_INTEGER, /* integer: int where it fits, else bigint */
    CV_AST_NUMBER,  /* text, without sign; integer < 0 when one stands before it */
    CV_AST_STRING,  /* text */
};

struct cv_ast_query;

struct cv_ast {
    enum cv_ast_kind kind;
    size_t position;   /* in the written text */
    const char *alias; /* NULL */
    const char *name;
    const char *const *names;
    size_t name_count;
    const struct cv_ast *const *arguments;
    size_t argument_count;
    bool distinct;               /* of an aggregate */
    bool ordered;                /* an aggregate with ORDER BY inside */
    const struct cv_ast *filter; /* FILTER (WHERE …) */
    enum cv_ast_constant constant;
    const char *text;
    int64_t integer;
    struct cv_type type;
    bool try_cast;
    const struct cv_ast_query *query;
};

enum cv_ast_from_kind {
    CV_AST_FROM_NONE,
    CV_AST_FROM_TABLE,
    CV_AST_FROM_QUERY,
    CV_AST_FROM_JOIN,
    CV_AST_FROM_REFUSED, /* name = what it is */
};

enum cv_ast_join { CV_AST_INNER, CV_AST_LEFT, CV_AST_SEMI, CV_AST_ANTI };

struct cv_ast_from {
    enum cv_ast_from_kind kind;
    size_t position;
    const char *name;
    const char *alias;               /* NULL */
    const char *const *column_names; /* alias(column, …) */
    size_t column_count;
    const struct cv_ast_query *query;
    enum cv_ast_join join;
    const struct cv_ast_from *left, *right;
    const struct cv_ast *condition; /* NULL with USING and of a cross join */
    const char *const *using_names;
    size_t using_count;
};

struct cv_ast_order {
    const struct cv_ast *expr;
    bool descending;
    int nulls_first; /* -1 = not said */
};

struct cv_ast_cte {
    const char *name;
    const char *const *column_names;
    size_t column_count;
    const struct cv_ast_query *query;
};

struct cv_ast_query {
    const char *refused; /* a set operation and the like; the rest is empty then */
    size_t position;
    const struct cv_ast_cte *ctes;
    size_t cte_count;
    const struct cv_ast *const *items;
    size_t item_count;
    const struct cv_ast_from *from;
    const struct cv_ast *where;
    const struct cv_ast *const *groups;
    size_t group_count;
    bool group_all;
    const struct cv_ast *having;
    bool distinct;
    const struct cv_ast_order *orders;
    size_t order_count;
    bool order_all;
    const struct cv_ast *limit, *offset;
};

/* Reads the tree of one SELECT. Positions come from `text`. CV_CONFIG "sql line 1 column 7: …" for
 * what the parser did not understand, CV_UNSUPPORTED for other statements and several. */
enum cv_code cv_ast_read(const char *json, const struct cv_sql_text *text, struct cv_arena *arena,
                         const struct cv_ast_query **ret_query, struct cv_error *err);

#endif
