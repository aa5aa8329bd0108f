/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of cv_query_compile(): from a bound select to the texts and schemas of struct cv_query. */
#ifndef CALVE_SQL_PLAN_INT_H
#define CALVE_SQL_PLAN_INT_H

#include "sql/bind_int.h"

#define CV_SQL_PLAN_BYTES_MAX ((size_t)16 << 20) /* one text for DuckDB */

/* Who gives DuckDB's tree of a text, as json_serialize_sql() has it. */
struct cv_sql_parser {
    enum cv_code (*parse)(void *context, const char *sql, struct cv_arena *arena,
                          const char **ret_json, struct cv_error *err);
    void *context;
};
enum cv_code cv_query_compile_with(const struct cv_query_config *config,
                                   const struct cv_sql_parser *parser, struct cv_query **ret_query,
                                   struct cv_error *err);

struct cv_plan {
    struct cv_binder *binder;
    const struct cv_bind_select *select;
    const struct cv_expr **columns; /* of the sink, converted to its types */
    const struct cv_expr **plain;   /* the same before they were, for messages */
};

/* plan_output.c: which output feeds which column of the sink; problems are noted. */
void cv_plan_outputs(struct cv_plan *plan);

/* plan_rows.c, plan_groups.c: fill the query. False when problems were noted. */
enum cv_code cv_plan_rows(struct cv_plan *plan, struct cv_error *err);
enum cv_code cv_plan_groups(struct cv_plan *plan, struct cv_error *err);
enum cv_code cv_plan_distinct(struct cv_plan *plan, struct cv_error *err);
/* plan_watermark.c */
enum cv_code cv_plan_watermark(struct cv_plan *plan, struct cv_error *err);
/* What any of them ends with: the inputs that are used, the watermark, the tables. */
enum cv_code cv_plan_finish(struct cv_plan *plan, struct cv_error *err);

/* Rows over the stream for a state: columns of rows_schema as they are selected. */
struct cv_plan_column {
    const char *name;
    const struct cv_expr *expr;
    enum cv_merge merge;
};
struct cv_plan_columns {
    struct cv_plan_column *list;
    size_t count, capacity;
};
void cv_plan_add(struct cv_plan *plan, struct cv_plan_columns *columns, const char *name,
                 const struct cv_expr *expr, enum cv_merge merge);
/* "SELECT … AS "name", …", and the schema, keys and merges of it. */
void cv_plan_write_columns(const struct cv_plan_columns *columns, struct cv_buf *out);
void cv_plan_keyed(struct cv_plan *plan, const struct cv_plan_columns *columns, size_t key_count,
                   size_t order_count);
/* The text in the arena; CV_LIMIT when it has become too long. */
enum cv_code cv_plan_text(struct cv_plan *plan, struct cv_buf *sql, const char **ret_text,
                          struct cv_error *err);
/* Inputs, time of the batch and so on that the expression needs. */
void cv_plan_use(struct cv_plan *plan, const struct cv_expr *expr);
void cv_plan_use_rows(struct cv_plan *plan, const struct cv_bind_relation *relation);
/* A key or window over the watermark's column. */
bool cv_plan_is_event_time(const struct cv_plan *plan, const struct cv_expr *expr);

/* describe.c */
void cv_plan_describe(const struct cv_plan *plan, struct cv_buf *out);

/* fingerprint.c */
void cv_fingerprint_expr(const struct cv_binder *binder, const struct cv_expr *expr,
                         struct cv_buf *out);
void cv_fingerprint_rows(const struct cv_binder *binder, const struct cv_bind_relation *relation,
                         struct cv_buf *out);
const char *cv_fingerprint_text(struct cv_arena *arena, struct cv_buf *canonical);

#endif
