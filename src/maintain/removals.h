/* SPDX-License-Identifier: Apache-2.0
 *
 * Files to be removed: collected first, kept in a little memory and a temporary file, then removed
 * in parallel in the order in which they came. */
#ifndef CALVE_MAINTAIN_REMOVALS_H
#define CALVE_MAINTAIN_REMOVALS_H

#include "maintain/reachable.h"

struct cv_removals {
    const char *spill_directory; /* borrowed */
    int descriptor;              /* -1 = nothing spilled */
    struct cv_buf tail;          /* the chunk that is being filled */
    size_t *chunks;              /* bytes of each spilled one */
    size_t chunk_count, chunk_capacity;
    int64_t files[CV_REACHED_KINDS];
    int64_t bytes[CV_REACHED_KINDS]; /* of those whose size is known */
};

void cv_removals_init(struct cv_removals *removals, const char *spill_directory);
void cv_removals_clear(struct cv_removals *removals);
void cv_removals_release(struct cv_removals *removals);
enum cv_code cv_removals_add(struct cv_removals *removals, const struct cv_reached *file,
                             struct cv_error *err);
int64_t cv_removals_files(const struct cv_removals *removals);
int64_t cv_removals_bytes(const struct cv_removals *removals);

/* In the order of adding; locations are terminated. */
enum cv_code cv_removals_each(const struct cv_removals *removals,
                              enum cv_code (*each)(void *context, const struct cv_reached *file,
                                                   struct cv_error *err),
                              void *context, struct cv_error *err);

struct cv_removed {
    int64_t files[CV_REACHED_KINDS];
    int64_t failed; /* told as warnings */
};
/* Removes them, `concurrent` at a time; manifests only after the files that were added before them,
 * lists after manifests, so that what is left of a run that ends half-way can still be found. A
 * file that is absent is fine, one that cannot be removed is told and left. CV_CANCELLED when the
 * run shall stop; *ret_removed is always set. */
enum cv_code cv_removals_run(const struct cv_removals *removals,
                             const struct cv_maintenance *maintenance, struct cv_store *store,
                             const char *procedure, int concurrent, struct cv_removed *ret_removed,
                             struct cv_error *err);

#endif
