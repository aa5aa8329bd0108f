/* SPDX-License-Identifier: Apache-2.0
 *
 * A query with state in the micro-batch: keyed rows of a batch come in from the workers, the
 * state's next version is written, and what the batch is to show goes to the data writer. In this
 * order, so that a batch which is in the table has its state. Engine's thread, but for
 * cv_stateful_add(). */
#ifndef CALVE_STREAM_STATEFUL_H
#define CALVE_STREAM_STATEFUL_H

#include "data/writer.h"
#include "state/state.h"
#include "stream/checkpoint.h"
#include "stream/query.h"

struct cv_stateful;

/* `query` and `checkpoint` outlive it. */
enum cv_code cv_stateful_open(struct cv_stream_query *query, struct cv_checkpoint *checkpoint,
                              struct cv_stateful **ret_stateful, struct cv_error *err);
void cv_stateful_free(struct cv_stateful *stateful);
CV_DEFINE_CLEANUP(struct cv_stateful *, cv_stateful_free)

/* Loads the state as batch `batch` left it (-1: the empty one) and, with it, the watermarks. */
enum cv_code cv_stateful_load(struct cv_stateful *stateful, int64_t batch, struct cv_error *err);

/* Makes what is loaded the state after `batch` too, a later one: ids are skipped after a choice of
 * --resume-from. */
enum cv_code cv_stateful_carry(struct cv_stateful *stateful, int64_t batch, struct cv_error *err);

/* By what the next batch closes windows, in ms; 0 = nothing yet. */
int64_t cv_stateful_watermark_ms(const struct cv_stateful *stateful);
/* The watermark has moved since the last batch, so that one without data has windows to close. */
bool cv_stateful_wants_batch(const struct cv_stateful *stateful);

void cv_stateful_begin(struct cv_stateful *stateful);
/* Keyed rows of the query; `event_max_us`: the largest event time among their records, INT64_MIN =
 * none. Any thread. */
enum cv_code cv_stateful_add(struct cv_stateful *stateful, const struct cv_batch *batch,
                             int64_t event_max_us, struct cv_error *err);
/* Writes version `batch` of the state, and the rows that the batch shows. */
enum cv_code cv_stateful_finish(struct cv_stateful *stateful, int64_t batch, int64_t batch_time_us,
                                struct cv_data_writer *writer, struct cv_error *err);
/* The batch is in the table: older versions may go. */
void cv_stateful_committed(struct cv_stateful *stateful, int64_t batch);

/* For the progress: Spark's stateOperators and eventTime. */
struct cv_stateful_counters {
    int64_t rows_total;   /* in the state */
    int64_t rows_updated; /* keys of this batch */
    int64_t rows_late;    /* records of this batch dropped by the watermark */
    int64_t state_bytes;  /* of its files */
    int64_t watermark_ms; /* that the batch used */
    int64_t event_max_us; /* of this batch; INT64_MIN = none */
    struct cv_runs_counters runs;
};
void cv_stateful_counters(const struct cv_stateful *stateful,
                          struct cv_stateful_counters *ret_counters);

#endif
