/* SPDX-License-Identifier: Apache-2.0
 *
 * The SQL of a job, ready to run: the compiled query, the database that runs it, and what the
 * decoder has to deliver. Opened for one schema of the table, and anew when that changes. */
#ifndef CALVE_STREAM_QUERY_H
#define CALVE_STREAM_QUERY_H

#include "decode/select.h"
#include "sql/query.h"
#include "stream/job.h"

struct cv_stream_query {
    struct cv_arena arena;
    const struct cv_job *job;
    struct cv_duck *duck;
    struct cv_duck_connection *connection; /* of the engine's thread */
    struct cv_query *query;
    struct cv_schema stream; /* the view `stream` */
    bool open;               /* see cv_decoder_stream_schema() */
    struct cv_static_tables *tables;
    struct cv_select items; /* what the decoder puts into the input's columns */
    const struct cv_schema *sink;
};

/* *ret_query is NULL when the job's select is one that the decoder does by itself: then neither SQL
 * nor its library is needed. `decoder`: as for cv_decoder_open(), but for select and table. `sink`
 * (the table's columns) must outlive the query. */
enum cv_code cv_stream_query_open(const struct cv_job *job, const struct cv_decoder_config *decoder,
                                  const struct cv_schema *sink, struct cv_stream_query **ret_query,
                                  struct cv_error *err);
/* Whether it keeps anything from batch to batch; NULL (no query) does not. */
bool cv_stream_query_keeps_state(const struct cv_stream_query *query);
/* Before each batch: static tables that others have changed are loaded again. */
enum cv_code cv_stream_query_refresh(struct cv_stream_query *query, struct cv_error *err);
/* Lets the decoder fill the query's input instead of the table's columns. */
void cv_stream_query_feed(const struct cv_stream_query *query, struct cv_decoder_config *decoder);
void cv_stream_query_free(struct cv_stream_query *query);
CV_DEFINE_CLEANUP(struct cv_stream_query *, cv_stream_query_free)

#endif
