/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows query of a job on decoded records: what one worker does between its decoder and the data
 * writer (or the keyed runs). A record that the query cannot evaluate is treated by value.mode, as
 * one that cannot be decoded. One thread. */
#ifndef CALVE_STREAM_ROW_QUERY_H
#define CALVE_STREAM_ROW_QUERY_H

#include "batch/bad_list.h"
#include "stream/query.h"

struct cv_row_query_counters {
    uint64_t bad;     /* records that the query could not evaluate */
    uint64_t dropped; /* of them, without a row */
};

struct cv_row_query;
/* `query` outlives it. */
enum cv_code cv_row_query_new(struct cv_stream_query *query, struct cv_row_query **ret_query,
                              struct cv_error *err);
void cv_row_query_free(struct cv_row_query *row_query);

/* `in`: rows of the query's input schema. The result is valid until the next call. `batch_time_us`
 * is what current_timestamp says. FAILFAST: CV_RECORD with the record's place. */
enum cv_code cv_row_query_run(struct cv_row_query *row_query, const struct cv_batch *in,
                              int64_t batch_time_us, struct cv_batch *ret_out,
                              struct cv_error *err);
/* The largest event time in the rows of the last run; INT64_MIN when there is none. */
enum cv_code cv_row_query_event_max(struct cv_row_query *row_query, int64_t *ret_max_us,
                                    struct cv_error *err);
/* Since it was made. */
void cv_row_query_counters(const struct cv_row_query *row_query,
                           struct cv_row_query_counters *ret_counters);

#endif
