/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to table/: the summary of a snapshot (spec: Snapshots; names and rules as the Java
 * library's SnapshotSummary). */
#ifndef CALVE_TABLE_SUMMARY_H
#define CALVE_TABLE_SUMMARY_H

#include "table/table_int.h"

/* What a snapshot adds; removals come with the operations that remove. */
struct cv_summary_counts {
    int64_t added_files;
    int64_t added_records;
    int64_t added_bytes;
    int64_t changed_partitions;
};

/* Counts data files and the partitions (of known specs) that they are of. */
struct cv_summary_counts cv_summary_count(const struct cv_table_metadata *metadata,
                                          const struct cv_data_file *files, size_t count);
/* added-*, changed-partition-count and the six totals, which continue those of `parent` (NULL: from
 * zero). A total that the parent lacks or that is no number stays out. */
void cv_summary_write(const struct cv_summary_counts *counts, const struct cv_snapshot *parent,
                      struct cv_properties *summary);

#endif
