/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the binder: from the tree of a query (ast.h) to bound expressions (expr.h).
 *
 * Derived tables and WITH over the stream are not queries of their own: a relation's columns are
 * bound expressions over the stream's inputs, conditions are collected, and whoever selects from
 * it goes on from there. So every path is read once by the decoder, whatever stands around it, and
 * event time is recognized through any number of renamings.
 *
 * A function that returns an expression returns NULL after noting a problem; callers go on, so that
 * one run finds all of them. */
#ifndef CALVE_SQL_BIND_INT_H
#define CALVE_SQL_BIND_INT_H

#include "sql/ast.h"
#include "sql/query.h"
#include "sql/sql_text.h"

#define CV_SQL_PROBLEMS_MAX 12
#define CV_SQL_TEXTS_MAX    4

struct cv_sql_problems {
    struct cv_sql_text texts[CV_SQL_TEXTS_MAX];
    size_t text_count;
    struct cv_buf text;
    size_t count;
    enum cv_code code; /* of the first one */
};

/* Notes "sql line 1 column 8: …"; the same twice is one. */
void cv_sql_problem(struct cv_sql_problems *problems, enum cv_code code, size_t position,
                    const char *format, ...) CV_PRINTF(4, 5);
/* Whether a name in double quotes is written there. */
bool cv_sql_problems_quoted(const struct cv_sql_problems *problems, size_t position);
/* The collected problems as one error; CV_OK when there are none. */
enum cv_code cv_sql_problems_check(const struct cv_sql_problems *problems, struct cv_error *err);

/* One thing that the decoder is asked for. */
struct cv_bind_input {
    size_t column; /* of config->stream */
    const char *const *path;
    size_t path_length;
    bool open; /* JSON without a schema: what is there, nobody knows before */
    bool cast, try_cast;
    const struct cv_expr *source; /* of a cast: the path without it */
    bool required;                /* never NULL */
    struct cv_type type;          /* that comes out */
    const char *text;
    const char *sql;     /* "i.c0" */
    struct cv_expr expr; /* the column */
    bool used;
};

struct cv_bind_column {
    const char *qualifier; /* NULL = none */
    const char *name;      /* NULL = none: not to be named */
    const struct cv_expr *expr;
    bool merged; /* the right side of USING: only with its qualifier */
};

struct cv_bind_join {
    enum cv_ast_join kind;
    const char *table;                    /* name of a static table, or NULL */
    const struct cv_bind_relation *query; /* a query over static tables, or NULL */
    const char *alias;                    /* "t0" */
    const struct cv_expr *on;             /* NULL = every row with every row */
};

struct cv_bind_aggregate {
    const char *name;
    const struct cv_expr **arguments; /* none: count(*) */
    size_t argument_count;
    struct cv_aggregate aggregate;
    const struct cv_expr *parts[CV_AGGREGATE_PARTS_MAX]; /* over the rows */
    size_t first_part;
    const struct cv_expr *result; /* over the groups */
    size_t position;
};

/* GROUP BY of a relation: keys are g.k0 …, parts of aggregates g.p0 … of the view `groups`. */
struct cv_bind_grouping {
    const struct cv_expr **keys;        /* over the rows */
    const struct cv_expr **key_columns; /* the same over the groups */
    size_t key_count, key_capacity, column_capacity;
    /* window(): its end is the key, and its start is reckoned from that; NULL without one. */
    const struct cv_expr *start, *start_column;
    struct cv_bind_aggregate *aggregates;
    size_t aggregate_count, aggregate_capacity;
    size_t part_count;
};

struct cv_bind_relation {
    struct cv_bind_column *columns;
    size_t column_count, column_capacity;
    bool stream;               /* the stream is in it */
    bool broken;               /* a table is missing, and that is told: no more about its columns */
    bool plain;                /* one static table as it is */
    const char *table, *alias; /* of the first table, where it is not the stream; NULL = no table */
    struct cv_bind_join *joins;
    size_t join_count, join_capacity;
    const struct cv_expr **conditions; /* WHERE */
    size_t condition_count, condition_capacity;
    const struct cv_expr *window;      /* the one window() that rows are put into, or NULL */
    int64_t window_us;                 /* its size */
    int64_t window_rows;               /* > 1: every row stands in so many windows, w.n */
    struct cv_bind_grouping *grouping; /* NULL = rows */
    const struct cv_expr **havings;
    size_t having_count, having_capacity;
};

struct cv_bind_output { /* an item of the select */
    const char *name;   /* NULL = none given */
    const struct cv_expr *expr;
    bool star; /* came out of a *, gives way to one that is named */
    size_t position;
};

struct cv_bind_cte {
    const struct cv_ast_cte *cte;
    const struct cv_bind_cte *next; /* those that it can see itself */
};

struct cv_binder {
    const struct cv_query_config *config;
    struct cv_query *query;
    struct cv_arena *arena; /* of the query */
    struct cv_sql_problems problems;
    struct cv_bind_input **inputs;
    size_t input_count, input_capacity;
    const struct cv_expr *event_time; /* the watermark's expression, or NULL */
    bool *uses_table;
    bool stream_seen; /* the stream is named once */
    bool lazy;        /* a WHERE or join may leave rows out: casts must not fail before */
    size_t alias_count;
    unsigned depth;
    size_t query_count; /* derived tables, each use of a WITH counted */
};

/* Where an expression stands. */
struct cv_bind_scope {
    struct cv_binder *binder;
    struct cv_bind_relation *relation;
    const struct cv_bind_scope *outer; /* of a subquery; NULL */
    const char *clause;                /* "WHERE": named where it forbids something */
    struct cv_bind_grouping *grouping; /* aggregates are added here; NULL = not allowed */
    bool in_aggregate;
    bool conditional; /* not evaluated for every row (CASE, AND, coalesce, …) */
    const struct cv_bind_cte *ctes;
    const struct cv_bind_output *aliases; /* of the select's items, where they may be named */
    size_t alias_count;
    bool aliases_first;          /* ORDER BY: before columns of the same name */
    const struct cv_ast *window; /* window() of GROUP BY, which the name window stands for */
};

/* bind_expr.c */
const struct cv_expr *cv_bind_expr(struct cv_bind_scope *scope, const struct cv_ast *ast);
/* A condition: boolean. */
const struct cv_expr *cv_bind_condition(struct cv_bind_scope *scope, const struct cv_ast *ast);
const struct cv_expr *cv_bind_cast(struct cv_bind_scope *scope, const struct cv_expr *expr,
                                   const struct cv_type *type, bool try_cast, size_t position);
/* The SQL of a CAST that the decoder has tried: arguments are what it got, the path, the CAST. */
extern const char cv_bind_late_cast[];
/* a AND b, b only where a lets it. */
extern const char cv_bind_and_in_order[];
/* A call of the functions of function.h; a problem is noted. */
const struct cv_expr *cv_bind_call(struct cv_bind_scope *scope, const char *name,
                                   const struct cv_expr **arguments, size_t count, size_t position);

/* bind_constant.c */
const struct cv_expr *cv_bind_constant(struct cv_bind_scope *scope, const struct cv_ast *ast);
/* CAST of a constant text to a primitive type, done now; NULL when it is none of that type and
 * noted, unless TRY_CAST makes it NULL. */
const struct cv_expr *cv_bind_constant_cast(struct cv_bind_scope *scope, const struct cv_expr *expr,
                                            const struct cv_type *type, bool try_cast,
                                            size_t position);

/* bind_name.c */
const struct cv_expr *cv_bind_name(struct cv_bind_scope *scope, const struct cv_ast *ast);
const struct cv_expr *cv_bind_field(struct cv_bind_scope *scope, const struct cv_expr *expr,
                                    const char *name, size_t position);
/* The input of a path below a column of the stream, made once. */
const struct cv_expr *cv_bind_input(struct cv_binder *binder, const struct cv_bind_input *wanted);
struct cv_bind_input *cv_bind_input_of(const struct cv_binder *binder, const struct cv_expr *expr);
void cv_bind_add_column(struct cv_binder *binder, struct cv_bind_relation *relation,
                        const struct cv_bind_column *column);

/* bind_from.c: FROM as a relation; problems are noted, the relation is there anyway. */
struct cv_bind_relation *cv_bind_from(struct cv_bind_scope *scope, const struct cv_ast_from *from);
/* x IN (SELECT …) and EXISTS (SELECT …) over static tables. */
const struct cv_expr *cv_bind_subquery(struct cv_bind_scope *scope, const struct cv_ast *ast);
void cv_bind_add_condition(struct cv_binder *binder, struct cv_bind_relation *relation,
                           const struct cv_expr *condition);

/* bind_window.c: window(time, size[, slide[, start]]) → struct<start, end>. */
const struct cv_expr *cv_bind_window(struct cv_bind_scope *scope, const struct cv_ast *ast);
/* Of a struct that window() made: its field; NULL for other expressions. */
const struct cv_expr *cv_bind_window_field(const struct cv_expr *expr, const char *name);
bool cv_bind_is_window(const struct cv_expr *expr);

/* bind_group.c */
/* A function that is no scalar one, with bound arguments: an aggregate as an expression over the
 * groups, anything else a problem. */
const struct cv_expr *cv_bind_aggregate(struct cv_bind_scope *scope, const struct cv_ast *ast);
/* The same value over the groups: keys become their columns. NULL and noted when a column is
 * neither in GROUP BY nor in an aggregate. */
const struct cv_expr *cv_bind_over_groups(struct cv_bind_scope *scope, const struct cv_expr *expr,
                                          size_t position);
void cv_bind_add_key(struct cv_binder *binder, const struct cv_bind_relation *relation,
                     struct cv_bind_grouping *grouping, const struct cv_expr *expr);

/* bind_select.c */
struct cv_bind_select {
    struct cv_bind_relation *relation;
    struct cv_bind_output *outputs;
    size_t output_count, output_capacity;
    const struct cv_ast_query *ast;
    const struct cv_expr **orders; /* parallel to ast->orders; of order_all to the outputs */
    int64_t limit;                 /* -1 = none */
};

/* A whole query, over rows or over groups. `nested` = it is a derived table. */
struct cv_bind_select *cv_bind_query(struct cv_bind_scope *scope, const struct cv_ast_query *ast,
                                     bool nested);

/* sql_text.c: pieces of DuckDB's SQL. */
/* The same inside of a template, where a dollar sign is written twice. */
void cv_sql_write_template_text(struct cv_buf *out, const char *text);
/* FROM, and WHERE, of a relation's rows. */
void cv_sql_write_tables(const struct cv_bind_relation *relation, struct cv_buf *out);
void cv_sql_write_from(const struct cv_bind_relation *relation, struct cv_buf *out);
/* The groups of a relation as a query: keys k0 …, parts p0 …. */
void cv_sql_write_groups(const struct cv_bind_relation *relation, struct cv_buf *out);
/* " AND "-joined; nothing for none. */
void cv_sql_write_conditions(const char *word, const struct cv_expr *const *conditions,
                             size_t count, struct cv_buf *out);

/* Appends to an array that lives in the arena. */
void cv_bind_reserve_(struct cv_arena *arena, void **array, size_t *capacity, size_t need,
                      size_t size);
#define cv_bind_append(arena, array, capacity, count, value)                                       \
    do {                                                                                           \
        cv_bind_reserve_((arena), (void **)&(array), &(capacity), (count) + 1, sizeof *(array));   \
        (array)[(count)++] = (value);                                                              \
    } while (0)

#endif
