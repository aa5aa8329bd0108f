/* SPDX-License-Identifier: Apache-2.0
 *
 * Predicates over the columns of a table, as `where` of the procedures takes them: Spark SQL's
 * =, <>, !=, <, <=, >, >=, <=>, IN, NOT IN, BETWEEN, IS [NOT] NULL, LIKE 'prefix%', AND, OR, NOT,
 * parentheses, TRUE, FALSE, typed literals (DATE '…', TIMESTAMP '…'), names quoted by ` `, and
 * Iceberg's transforms as system.bucket(4, id) … are refused by name. Bound to a schema at once:
 * literals have their column's type. Asked of bounds (files, row groups, partitions) it answers
 * whether rows may match; asked of rows it answers which do. */
#ifndef CALVE_SCHEMA_PREDICATE_H
#define CALVE_SCHEMA_PREDICATE_H

#include "schema/value.h"

#define CV_PREDICATE_BYTES_MAX ((size_t)1 << 16)
#define CV_PREDICATE_NODES_MAX 10000

enum cv_predicate_kind {
    CV_PREDICATE_TRUE,
    CV_PREDICATE_FALSE,
    CV_PREDICATE_AND,
    CV_PREDICATE_OR,
    CV_PREDICATE_LESS,
    CV_PREDICATE_LESS_EQUAL,
    CV_PREDICATE_GREATER,
    CV_PREDICATE_GREATER_EQUAL,
    CV_PREDICATE_EQUAL,
    CV_PREDICATE_NOT_EQUAL, /* null: not a match, as in SQL */
    CV_PREDICATE_IN,
    CV_PREDICATE_NOT_IN,
    CV_PREDICATE_IS_NULL,
    CV_PREDICATE_NOT_NULL,
    CV_PREDICATE_STARTS_WITH,
    CV_PREDICATE_NOT_STARTS_WITH,
};

/* NOT has been pushed down to the leaves. */
struct cv_predicate {
    enum cv_predicate_kind kind;
    const struct cv_field *field; /* of the leaves: a primitive field of the schema */
    const struct cv_value *values;
    size_t value_count;
    const struct cv_predicate *left, *right; /* AND, OR */
};

/* Lives in the arena; refers to the schema. CV_USAGE with the column of the text. */
enum cv_code cv_predicate_parse(const char *text, const struct cv_schema *schema,
                                struct cv_arena *arena, const struct cv_predicate **ret_predicate,
                                struct cv_error *err);

/* What is known about one column of a set of rows. Unknown counts are -1, unknown bounds null. */
struct cv_predicate_column {
    int64_t value_count;
    int64_t null_count;
    int64_t nan_count;
    struct cv_value lower; /* may lie below the least, upper above the greatest value */
    struct cv_value upper;
};

/* `column` fills what is known of the field (false = nothing). True unless no row can match. */
bool cv_predicate_may_match(const struct cv_predicate *predicate,
                            bool (*column)(void *context, const struct cv_field *field,
                                           struct cv_predicate_column *ret_column),
                            void *context);
/* `value` gives the field's value in one row. SQL's three-valued logic: NULL is no match. */
bool cv_predicate_matches(const struct cv_predicate *predicate,
                          struct cv_value (*value)(void *context, const struct cv_field *field),
                          void *context);

#endif
