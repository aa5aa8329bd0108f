/* SPDX-License-Identifier: Apache-2.0
 *
 * The keyed rows of one micro-batch, sorted and merged within a budget of memory: what does not fit
 * goes to sorted files in the spill directory. Batches may be added by many threads. */
#ifndef CALVE_STATE_RUNS_H
#define CALVE_STATE_RUNS_H

#include "batch/keyed.h"

#define CV_RUNS_MAX 64 /* open at once; more are merged into fewer first */

struct cv_runs_config {
    const struct cv_keyed *keyed; /* outlives the runs */
    size_t memory_bytes;
    const char *spill_directory;
};

struct cv_runs;
struct cv_runs *cv_runs_new(const struct cv_runs_config *config);
void cv_runs_free(struct cv_runs *runs); /* removes its files */
CV_DEFINE_CLEANUP(struct cv_runs *, cv_runs_free)

/* Copies the rows. Those whose expiry column (or late column, see cv_keyed) is <= late_us are left
 * out and counted (INT64_MIN = none is late). A NULL there is never late. Any thread; waits while
 * rows of others that fill the memory are written out. After a failure every call fails. */
enum cv_code cv_runs_add(struct cv_runs *runs, const struct cv_batch *batch, int64_t late_us,
                         int64_t *ret_late_rows, struct cv_error *err);

struct cv_runs_counters {
    int64_t rows_in, rows_spilled, bytes_spilled;
};
void cv_runs_counters(const struct cv_runs *runs, struct cv_runs_counters *ret_counters);

/* Rows in key order, one per key; a batch is valid until the next call, row_count 0 at the end.
 * Begins anew with each open; adding is over by then. */
struct cv_merge_reader;
enum cv_code cv_runs_read(struct cv_runs *runs, struct cv_merge_reader **ret_reader,
                          struct cv_error *err);
enum cv_code cv_merge_reader_next(struct cv_merge_reader *reader, struct cv_batch *ret_batch,
                                  struct cv_error *err);
void cv_merge_reader_free(struct cv_merge_reader *reader);
/* The same rows with these columns only, named and typed as `keyed` says; takes nothing over: the
 * reader beneath stays the caller's and is read through this one. */
enum cv_code cv_merge_reader_project(struct cv_merge_reader *reader, const struct cv_keyed *keyed,
                                     const size_t *columns, struct cv_merge_reader **ret_reader,
                                     struct cv_error *err);
CV_DEFINE_CLEANUP(struct cv_merge_reader *, cv_merge_reader_free)

#endif
