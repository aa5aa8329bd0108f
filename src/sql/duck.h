/* SPDX-License-Identifier: Apache-2.0
 *
 * The DuckDB library: found and loaded when a job needs it, never linked. One database in memory
 * per job, without access to files, network and extensions but for what a caller opens on purpose;
 * one connection per thread, on which queries run in the calling thread. What of its C interface is
 * used stands in duck_api.h.
 *
 * Types: boolean BOOLEAN, int INTEGER, long BIGINT, float FLOAT, double DOUBLE, decimal DECIMAL,
 * date DATE, time TIME, timestamp and timestamptz TIMESTAMP (µs in UTC: which of the two it is, the
 * binder knows), string VARCHAR, uuid, fixed and binary BLOB, struct STRUCT, list LIST, map MAP. */
#ifndef CALVE_SQL_DUCK_H
#define CALVE_SQL_DUCK_H

#include "batch/column.h"

struct cv_duck_config {
    const char *library; /* path of libduckdb.so; NULL = $CALVE_DUCKDB, then beside the
                            program, then the system's */
    size_t memory_bytes; /* of the database: sorts and hash tables above it go to the folder */
    const char *spill_directory; /* made when first needed; NULL = nothing may spill */
    const char *const
        *readable; /* absolute paths of files that read_csv and read_parquet may open */
    size_t readable_count;
};

struct cv_duck;
/* CV_UNSUPPORTED with the places looked at and `make deps-sql` when there is no library; CV_CONFIG
 * when it lacks a function that is used (too old). */
enum cv_code cv_duck_open(const struct cv_duck_config *config, struct cv_duck **ret_duck,
                          struct cv_error *err);
void cv_duck_free(struct cv_duck *duck);
CV_DEFINE_CLEANUP(struct cv_duck *, cv_duck_free)
/* "v1.5.6" */
const char *cv_duck_version(const struct cv_duck *duck);

/* A connection; used by one thread at a time. */
struct cv_duck_connection;
enum cv_code cv_duck_connect(struct cv_duck *duck, struct cv_duck_connection **ret_connection,
                             struct cv_error *err);
void cv_duck_disconnect(struct cv_duck_connection *connection);
CV_DEFINE_CLEANUP(struct cv_duck_connection *, cv_duck_disconnect)
/* Stops the query that runs on it, from another thread. */
void cv_duck_interrupt(struct cv_duck_connection *connection);

/* Runs a statement whose result does not matter (CREATE MACRO, SET). */
enum cv_code cv_duck_execute(struct cv_duck_connection *connection, const char *sql,
                             struct cv_error *err);
/* The one text that a query with one parameter gives, in the arena: for json_serialize_sql(). */
enum cv_code cv_duck_text(struct cv_duck_connection *connection, const char *sql,
                          const char *parameter, struct cv_arena *arena, const char **ret_text,
                          struct cv_error *err);

/* Where rows come from: next() gives batches of one schema, row_count 0 at the end; each is valid
 * until the next call. */
struct cv_rows_source {
    enum cv_code (*next)(void *context, struct cv_batch *ret_batch, struct cv_error *err);
    void *context;
};

/* A view of this name over rows that are handed over anew for every execution. Columns are named as
 * in the schema, which must outlive the connection. */
struct cv_duck_view;
enum cv_code cv_duck_view_create(struct cv_duck_connection *connection, const char *name,
                                 const struct cv_schema *schema, struct cv_duck_view **ret_view,
                                 struct cv_error *err);
void cv_duck_view_free(struct cv_duck_view *view);
CV_DEFINE_CLEANUP(struct cv_duck_view *, cv_duck_view_free)
/* The rows that the next execution sees: all of one batch, only these slices of it, or a source. */
void cv_duck_view_set_batch(struct cv_duck_view *view, const struct cv_batch *batch);
struct cv_duck_slice {
    size_t start, count;
};
void cv_duck_view_set_slices(struct cv_duck_view *view, const struct cv_batch *batch,
                             const struct cv_duck_slice *slices, size_t count);
void cv_duck_view_set_source(struct cv_duck_view *view, const struct cv_rows_source *source);

/* A prepared query whose result has this schema, by position: a column of another type is
 * CV_INTERNAL at once. Parameters $1 … are timestamps in µs. */
struct cv_duck_query;
enum cv_code cv_duck_query_prepare(struct cv_duck_connection *connection, const char *sql,
                                   const struct cv_schema *result, struct cv_duck_query **ret_query,
                                   struct cv_error *err);
void cv_duck_query_free(struct cv_duck_query *query);
CV_DEFINE_CLEANUP(struct cv_duck_query *, cv_duck_query_free)
/* Begins an execution. CV_RECORD: a row could not be evaluated (cast, overflow, division by zero),
 * the message is DuckDB's; CV_LIMIT: memory; what a source failed with is passed on as it is. The
 * same may come out of cv_duck_query_next(). */
enum cv_code cv_duck_query_start(struct cv_duck_query *query, const int64_t *parameters,
                                 size_t parameter_count, struct cv_error *err);
/* The next rows of the result (at least `want` unless it ends), valid until the next call;
 * row_count 0 at the end. */
enum cv_code cv_duck_query_next(struct cv_duck_query *query, size_t want,
                                struct cv_batch *ret_batch, struct cv_error *err);

#endif
