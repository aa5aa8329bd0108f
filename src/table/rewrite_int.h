/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to table/: the parts of taking files out of a table: finding them in its manifests, and
 * looking whether the table has changed so that they may not be replaced. */
#ifndef CALVE_TABLE_REWRITE_INT_H
#define CALVE_TABLE_REWRITE_INT_H

#include "table/produce.h"

/* The snapshots between the one that a change was planned from and the head, newest first. */
struct cv_between {
    const struct cv_snapshot *start; /* NULL = the table had none */
    const struct cv_snapshot **snapshots;
    size_t count;
    struct cv_map by_id;
};
/* `start_id` -1 = from the first snapshot on. CV_CONFLICT when the walk from the branch's head does
 * not come to the start: it or one after it was expired, or the branch was rolled back. */
enum cv_code cv_between_init(struct cv_between *between, const struct cv_table_metadata *metadata,
                             const char *branch, int64_t start_id, struct cv_arena *arena,
                             struct cv_error *err);
void cv_between_release(struct cv_between *between);
/* NULL when the id is none of them. */
const struct cv_snapshot *cv_between_find(const struct cv_between *between, int64_t id);

/* Files to be taken out. What was found in a manifest, and the manifest without them, is kept by
 * the manifest's path, so that an attempt on a newer head reads only what is new. */
struct cv_removal {
    const struct cv_data_file *files;
    size_t count;
    struct cv_arena arena;
    struct cv_map by_path; /* index + 1 as pointer */
    struct cv_map filtered;
    bool *found; /* by index, in this attempt */
    bool of_data, of_deletes;
    size_t replaced_manifests; /* in this attempt */
};
void cv_removal_init(struct cv_removal *removal, const struct cv_data_file *files, size_t count);
void cv_removal_release(struct cv_removal *removal);
/* Makes the snapshot's rows: the added manifests, then the head's as they are after the removal, in
 * their order: untouched ones as they are, others written anew (removed entries DELETED, live ones
 * EXISTING with their own snapshot id and sequence numbers, older deleted ones left out); those
 * without a live entry are left out. CV_CONFLICT naming who removed a file that is not there. */
enum cv_code cv_removal_apply(struct cv_removal *removal, struct cv_commit *commit,
                              const struct cv_table_metadata *metadata,
                              const struct cv_between *between,
                              const struct cv_new_manifests *added,
                              struct cv_new_snapshot *snapshot, struct cv_error *err);

/* CV_CONFLICT when a delete file that came after the start applies to one of the data files. */
enum cv_code cv_check_new_deletes(struct cv_table *table, const struct cv_table_metadata *metadata,
                                  const struct cv_between *between,
                                  const struct cv_data_file *files, size_t count,
                                  bool ignore_equality_deletes, struct cv_error *err);

#endif
