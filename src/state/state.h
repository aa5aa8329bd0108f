/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a query in its checkpoint, a version per batch (docs/STATE.md has the format):
 *
 *   state/<batch>.json            which files make up the version, with sizes and checksums
 *   state/<batch>-<uuid>.parquet  keyed rows in key order: those of one batch, or all (compacted)
 *
 * A version is the merge of its files without what its watermark has closed. It is written before
 * the table's commit; a batch that is redone writes its version anew from the one before. One
 * thread. */
#ifndef CALVE_STATE_STATE_H
#define CALVE_STATE_STATE_H

#include "state/runs.h"
#include "storage/store.h"

struct cv_state_config {
    struct cv_store *store;       /* outlives the state */
    const char *location;         /* <checkpoint>/state, as the store names it */
    const struct cv_keyed *keyed; /* outlives the state */
    const char *fingerprint;      /* of the query: a state of another one is of other rows */
    size_t memory_bytes;          /* readers' pages, and a cache of small versions */
};

struct cv_state;
void cv_state_open(const struct cv_state_config *config, struct cv_state **ret_state);
void cv_state_free(struct cv_state *state);
CV_DEFINE_CLEANUP(struct cv_state *, cv_state_free)

/* Makes this batch's version the current one; -1 = the empty one that every query begins with, for
 * which all that a query before it left behind is removed.
 * Sizes and checksums of all its files are checked. CV_CONTRADICTION when the version or a file is
 * missing, damaged or of another query, with the way out as the hint. */
enum cv_code cv_state_load(struct cv_state *state, int64_t batch, struct cv_error *err);

struct cv_state_counters {
    int64_t rows;  /* of the current version: an upper bound until it is compacted */
    int64_t bytes; /* of its files */
    int64_t files;
    int64_t rows_written; /* keys that the last cv_state_write() took in */
    /* As the version was written with; INT64_MIN = none. */
    int64_t watermark_us, next_watermark_us;
};
void cv_state_counters(const struct cv_state *state, struct cv_state_counters *ret_counters);

/* Writes version `batch`: the current one, merged with these rows (key order, one per key; NULL =
 * none), without what `watermark_us` closes (INT64_MIN = nothing), and makes it the current one.
 * `next_watermark_us` (what the batch after closes by) is kept with it for the caller. All is
 * durable on return. Compacts when the files have become many. */
enum cv_code cv_state_write(struct cv_state *state, int64_t batch, struct cv_merge_reader *rows,
                            int64_t watermark_us, int64_t next_watermark_us, struct cv_error *err);

/* The rows of the current version in key order. With `closing_us` only those that it closes: for
 * reading what is to be emitted, before cv_state_write(). `also`: merged in as if they were in the
 * state already (NULL = none); stays the caller's. Readers end with the next write or load. */
enum cv_code cv_state_read(struct cv_state *state, struct cv_merge_reader *also,
                           const int64_t *closing_us, struct cv_merge_reader **ret_reader,
                           struct cv_error *err);

/* Of these rows (key order, one per key) those whose key the current version lacks. They may have
 * other columns behind the key than the state. */
enum cv_code cv_state_lacking(struct cv_state *state, struct cv_merge_reader *rows,
                              struct cv_merge_reader **ret_reader, struct cv_error *err);

/* Removes versions below `batch` and files that no version left names. Failures to remove are
 * no error: the next purge tries again. */
void cv_state_purge(struct cv_state *state, int64_t batch);
/* Whether there is any version: a checkpoint that Spark cannot take over. */
enum cv_code cv_state_exists(struct cv_store *store, const char *location, bool *ret_exists,
                             struct cv_error *err);

#endif
