/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshot summaries (spec: Optional Snapshot Summary Fields): what a commit changed, and the
 * totals that follow from the snapshot before it. */
#ifndef CALVE_ICEBERG_SUMMARY_H
#define CALVE_ICEBERG_SUMMARY_H

#include "base/properties.h"
#include "iceberg/manifest.h"

struct cv_snapshot_changes {
    int64_t added_data_files, deleted_data_files;
    int64_t added_delete_files, removed_delete_files; /* position and equality delete files */
    int64_t added_position_delete_files, removed_position_delete_files;
    int64_t added_equality_delete_files, removed_equality_delete_files;
    int64_t added_records, deleted_records;
    int64_t added_files_size, removed_files_size; /* of data and delete files */
    int64_t added_position_deletes, removed_position_deletes;
    int64_t added_equality_deletes, removed_equality_deletes;
    int64_t changed_partitions; /* -1 = not tracked */
};

/* Counts one file that the commit adds or removes; changed_partitions is left to the caller. */
void cv_snapshot_changes_add(struct cv_snapshot_changes *changes, const struct cv_data_file *file);
void cv_snapshot_changes_remove(struct cv_snapshot_changes *changes,
                                const struct cv_data_file *file);

/* Sets the keys of the changes that are above zero, changed-partition-count, and the six totals.
 * `previous` is the summary of the branch head, NULL when the branch has no snapshot. A total that
 * the previous summary lacks, that is no number there, or that would go below zero is left out. */
void cv_snapshot_summary_totals(const struct cv_properties *previous,
                                const struct cv_snapshot_changes *changes,
                                struct cv_properties *summary);

#endif
