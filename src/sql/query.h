/* SPDX-License-Identifier: Apache-2.0
 *
 * A job's SQL, compiled: `select`, `where` or `sql` over the view `stream` become the columns that
 * the decoder has to fill, a query over them that each worker runs on its records, and for stateful
 * queries how rows are kept and what is read out of them. Nothing here touches a record.
 *
 *   ROWS       input → [rows query] → rows of the table
 *   AGGREGATE  input → [rows query] → keyed rows → merged with the state → [final query] → table
 *   DISTINCT   input → [rows query] → keyed rows → those that the state lacks → table
 *
 * All texts and types live as long as the query. */
#ifndef CALVE_SQL_QUERY_H
#define CALVE_SQL_QUERY_H

#include "batch/keyed.h"
#include "sql/function.h"
#include "sql/lex.h"

struct cv_query_table { /* a static table, by the name that SQL uses */
    const char *name;
    const struct cv_schema *schema;
};

struct cv_query_config {
    const char *select; /* items; NULL = sql */
    const char *where;  /* condition over the stream, beside select; or NULL */
    const char *sql;    /* a whole query, instead of both */
    /* The view `stream`: key, value, topic, partition, offset, timestamp, timestampType and, with
     * includeHeaders, headers. `value` is a struct where the format has fields. */
    const struct cv_schema *stream;
    bool value_open; /* JSON without `schema`: any path is there, as text or as the type of its CAST
                      */
    bool case_sensitive; /* fields below value */
    const struct cv_query_table *tables;
    size_t table_count;
    const struct cv_schema *sink; /* the table's columns */
    bool ignore_unknown;          /* output columns that the table lacks are left out */
    bool complete;                /* outputMode */
    const char *watermark;        /* an expression over the stream, or NULL */
    int64_t watermark_delay_us;
    const char *distinct; /* output columns by comma, or NULL */
};

enum cv_query_kind { CV_QUERY_ROWS, CV_QUERY_AGGREGATE, CV_QUERY_DISTINCT };

/* What the decoder puts into one column of the input. */
struct cv_query_input {
    const char *column;      /* a column of the stream: "value", "offset", … */
    const char *const *path; /* below it */
    size_t path_length;
    bool cast, try_cast; /* to cast_type: done by the decoder */
    struct cv_type cast_type;
    bool from_value;  /* NULL when the value cannot be decoded */
    const char *text; /* as written, for messages */
};

struct cv_query {
    enum cv_query_kind kind;
    struct cv_arena arena;
    struct cv_natives *natives;
    const struct cv_query_input *inputs; /* parallel to the columns of input_schema */
    struct cv_schema input_schema;       /* view `input`; the last three columns are topic,
                                            partition and offset of the record, for messages */
    const char *rows_sql;         /* over `input` and the static tables; $1 = time of the batch */
    struct cv_schema rows_schema; /* its result: the table's columns, or keyed rows */
    struct cv_keyed keyed;        /* not ROWS: how rows_schema is keyed and merged */
    size_t output_column;         /* DISTINCT: where the table's columns begin in rows_schema */
    const char *final_sql;        /* AGGREGATE: over view `groups` (keyed rows); $1 as above */
    bool final_orders;            /* it has ORDER BY or LIMIT: one execution over all groups */
    const char *watermark_sql;    /* over `input`: the largest event time as one timestamp */
    const bool *uses_table;       /* per static table of the config */
    bool uses_batch_time;
    const char *fingerprint; /* of everything that the state depends on: 16 hex digits */
    const char *description; /* of cv_query_describe() */
};

/* All problems of types and names at once, each with line and column of the text: "sql line 2
 * column 8: …". CV_CONFIG, CV_SCHEMA or CV_UNSUPPORTED. */
enum cv_code cv_query_compile(const struct cv_query_config *config,
                              struct cv_duck_connection *parser, struct cv_query **ret_query,
                              struct cv_error *err);
void cv_query_free(struct cv_query *query);
CV_DEFINE_CLEANUP(struct cv_query *, cv_query_free)

/* For `calve check`: the columns "name type ← expression", kind, keys, state, inputs; in the
 * arena. */
const char *cv_query_describe(const struct cv_query *query, struct cv_arena *arena);

#endif
