/* SPDX-License-Identifier: Apache-2.0
 *
 * A bound SQL expression: every node has the type that Spark gives it, and the DuckDB SQL that has
 * Spark's value. Nodes live in the arena of the query and are immutable once bound. */
#ifndef CALVE_SQL_EXPR_H
#define CALVE_SQL_EXPR_H

#include "base/buf.h"
#include "schema/type.h"

#define CV_SQL_NO_POSITION SIZE_MAX

enum cv_expr_kind {
    CV_EXPR_CONSTANT, /* `sql` is a literal of the type */
    CV_EXPR_COLUMN,   /* `sql` is a quoted column of the relation in front */
    CV_EXPR_CALL,     /* `sql` with $1 … for the arguments (functions, operators, CASE, CAST) */
};

struct cv_expr {
    enum cv_expr_kind kind;
    struct cv_type type;
    bool untyped;     /* the literal NULL: any type */
    bool aggregate;   /* an aggregate function is in it */
    bool event_time;  /* the watermark's column, or a window over it */
    bool frozen_time; /* holds current_timestamp: the batch's */
    size_t position;  /* byte in the text as written, or CV_SQL_NO_POSITION */
    const char *sql;  /* see kind; "$$" is a dollar sign */
    const struct cv_expr *const *arguments;
    size_t argument_count;
    const char *text; /* a constant string's or number's own text; NULL for others */
    size_t input;     /* CV_EXPR_COLUMN of the stream: index of the query's input, else SIZE_MAX */
};

/* Adds the DuckDB SQL of the whole tree. */
void cv_expr_write(const struct cv_expr *expr, struct cv_buf *out);
/* The same expression but for positions: equal SQL over equal columns. */
bool cv_expr_equal(const struct cv_expr *a, const struct cv_expr *b);

/* Whether DuckDB may take it for an expression that never fails although it can: natives. */
bool cv_expr_may_fail(const struct cv_expr *expr);

const struct cv_expr *cv_expr_constant_null(struct cv_arena *arena, const struct cv_type *type);
/* A call node; type and flags (aggregate, event_time no, frozen_time) from the arguments. */
struct cv_expr *cv_expr_call(struct cv_arena *arena, const char *sql, const struct cv_type *type,
                             const struct cv_expr *const *arguments, size_t count, size_t position);

#endif
