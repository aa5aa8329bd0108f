/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions, operators and casts that SQL may use: one row each, with Spark's types and values.
 * What is not here is refused by name. docs/SQL.md is made from the table. */
#ifndef CALVE_SQL_FUNCTION_H
#define CALVE_SQL_FUNCTION_H

#include "sql/duck.h"
#include "sql/expr.h"

#define CV_FUNCTION_ARGUMENTS_MAX 255

/* Native functions that bound expressions call (casts between two types and the like): each is made
 * once per query by need and registered with every database that runs it. */
struct cv_natives;
struct cv_natives *cv_natives_new(void);
void cv_natives_free(struct cv_natives *natives);
/* Registers them, and the macros that all queries share. */
enum cv_code cv_natives_register(const struct cv_natives *natives,
                                 struct cv_duck_connection *connection, struct cv_error *err);

/* What a call is bound with. Operators come by DuckDB's names: "+", "-", "*", "/", "//", "%", "**",
 * "||", "~~" (LIKE), "!~~", "~~*", "!~~*", "like_escape", "not_like_escape", "ilike_escape",
 * "not_ilike_escape", "regexp_full_match", "&", "|", "<<", ">>", "~"; and by ours: "and", "or",
 * "not", "=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from", "isnull",
 * "isnotnull", "in", "not in", "between", "not between", "case" (when1, then1, …[, else]),
 * "coalesce", "array_extract" (x[i]), "struct_extract" (struct, name), "list_value", "struct_pack"
 * (name1, value1, …: names are constant strings), "map" (keys list, values list), "interval" (a
 * constant string: INTERVAL '1 day 2 hours'), "to_days" and the like (a constant under any casts).
 *
 * An INTERVAL is a bound constant of no column's type (cv_expr_is_interval()): + and - and a few
 * functions take it, nothing else does. */
struct cv_call {
    struct cv_arena *arena;
    struct cv_natives *natives;
    const char *name; /* in lower case */
    size_t position;
    const struct cv_expr **arguments; /* may be replaced by bind() */
    size_t argument_count;
};

enum cv_function_flag {
    CV_FUNCTION_OPERATOR = 1, /* DuckDB's parser gives it for an operator: "+", "~~", "in", … */
};

struct cv_native_row;
struct cv_function {
    const char *name;      /* lower case; an alias is a row of its own */
    const char *signature; /* for the documentation: "substring(text, start[, length]) → string" */
    uint8_t arguments_min, arguments_max;
    /* Checks and converts the arguments; the message says what is expected and what came. */
    enum cv_code (*bind)(const struct cv_function *function, struct cv_call *call,
                         const struct cv_expr **ret_expr, struct cv_error *err);
    const char *detail; /* bind()'s own: a template, a type rule */
    unsigned flags;
    const char *note; /* where Spark or DuckDB has something else to say; NULL */
    bool (*native)(struct cv_native_row *row); /* C code that computes it; NULL = SQL */
    int64_t number;                            /* bind()'s or the native's own */
};

/* NULL when the function is not in the list. */
const struct cv_function *cv_function_find(const char *name);
/* All of them, sorted; for documentation and the nearest name. */
const struct cv_function *cv_function_all(size_t *ret_count);
/* Why a name that people try is refused ("rand gives another value when a batch is redone");
 * NULL = nothing special is known of it. */
const char *cv_function_refusal(const char *name);
/* All names that are refused with a reason, from 0; NULL behind the last. */
const char *cv_function_refused(size_t index, const char **ret_why);

/* Finds and binds; a message without position, which the binder adds. Aggregates are not here. */
enum cv_code cv_call_bind(struct cv_call *call, const struct cv_expr **ret_expr,
                          struct cv_error *err);

/* Whether a bound expression is an INTERVAL, which cannot be a column. */
bool cv_expr_is_interval(const struct cv_expr *expr);

/* CAST and TRY_CAST with the values of schema/cast.h; a cast between equal types is the expression
 * itself. Struct, list and map cast member by member. */
enum cv_code cv_expr_cast(struct cv_call *call, const struct cv_expr *expr,
                          const struct cv_type *type, bool try_cast,
                          const struct cv_expr **ret_expr, struct cv_error *err);
/* Spark's implicit casts (ANSI): widening and NULL always; a string to the other side's type. False
 * when the types do not meet. For CASE, coalesce, IN, comparisons, UNION. */
bool cv_type_common(const struct cv_type *a, const struct cv_type *b, struct cv_type *ret_type);

/* Aggregates: how a value is kept while more rows may come, and what becomes of it in the end. */
#define CV_AGGREGATE_PARTS_MAX 3
struct cv_aggregate {
    struct cv_type type; /* of the result */
    size_t part_count;
    struct {
        const char *sql; /* aggregate over rows, $1 = the argument */
        struct cv_type type;
        int merge; /* enum cv_merge of batch/keyed.h */
    } parts[CV_AGGREGATE_PARTS_MAX];
    const char *finish; /* over the parts: $1 … */
};
/* count(*) has no argument. CV_UNSUPPORTED with the reason for first, last, DISTINCT, collect_list,
 * …; CV_NOT_FOUND when the name is no aggregate at all. */
enum cv_code cv_aggregate_bind(struct cv_call *call, bool distinct,
                               struct cv_aggregate *ret_aggregate, struct cv_error *err);
/* For documentation, from 0; NULL behind the last. */
const char *cv_aggregate_signature(size_t index, const char **ret_note);

#endif
