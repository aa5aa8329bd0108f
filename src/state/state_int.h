/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of a state: the current version, and what is to be removed. */
#ifndef CALVE_STATE_STATE_INT_H
#define CALVE_STATE_STATE_INT_H

#include "state/row_file.h"
#include "state/state.h"
#include "state/version.h"

#define CV_STATE_NO_VERSION (-2) /* before the first load */

/* A file of the current version. */
struct cv_held_file {
    struct cv_state_file facts;
    struct cv_blocks *blocks; /* its rows, when they are kept in memory */
};

/* A file that versions up to this batch name, and none after. */
struct cv_retired_file {
    char name[CV_STATE_FILE_NAME_BYTES];
    int64_t last_batch;
};

struct cv_state {
    struct cv_store *store;
    const struct cv_keyed *keyed;
    struct cv_arena arena;
    const char *location;
    const char *fingerprint;
    const char *columns;
    struct cv_row_format format;
    size_t cache_bytes_max;
    int64_t batch;
    int64_t watermark_us, next_watermark_us;
    struct cv_held_file *files; /* the oldest first */
    size_t file_count, file_capacity;
    int64_t rows_written;
    /* What purges know; `unswept` when there may be more than that. */
    bool unswept;
    int64_t oldest_batch;
    struct cv_retired_file *retired;
    size_t retired_count, retired_capacity;
};

/* CV_NOT_FOUND; CV_FORMAT and CV_UNSUPPORTED as cv_state_version_read(). */
enum cv_code cv_state_read_version(const struct cv_state *state, int64_t batch,
                                   struct cv_arena *arena, struct cv_state_version *ret_version,
                                   struct cv_error *err);
void cv_state_version_location(const struct cv_state *state, int64_t batch,
                               char location[CV_PATH_BYTES_MAX]);
void cv_state_file_location(const struct cv_state *state, const char *name,
                            char location[CV_PATH_BYTES_MAX]);
/* The file has left the current version. */
void cv_state_retire(struct cv_state *state, const char *name, int64_t last_batch);
/* Removes what a query before this one left behind. */
void cv_state_sweep_others(struct cv_state *state);

#endif
