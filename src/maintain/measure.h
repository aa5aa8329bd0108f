/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of a table that doctor and schedule judge by: read from the manifests of the branch head
 * in one pass, memory by partition and not by file. */
#ifndef CALVE_MAINTAIN_MEASURE_H
#define CALVE_MAINTAIN_MEASURE_H

#include "table/table.h"

struct cv_table_measures {
    int64_t data_files, data_bytes, records;
    int64_t position_delete_files, equality_delete_files, deletion_vectors;
    int64_t delete_bytes;
    int64_t partitions;
    int64_t avoidable_files;      /* files - sum over closed partitions of ceil(bytes / target) */
    int64_t possible_files;       /* that sum */
    int64_t open_partition_files; /* in partitions that are still written */
    int64_t largest_partition_files;
    int64_t target_bytes;
    int64_t manifests, manifest_bytes, small_manifests;
    int64_t snapshots, oldest_snapshot_ms, newest_snapshot_ms;
    int64_t old_spec_files;
};

/* A partition counts as open when `busy` says so (may be NULL) or a file was added to it within
 * `open_ms` (0 = none is open by age). */
enum cv_code cv_table_measure(struct cv_table *table, int64_t now_ms, int64_t open_ms,
                              bool (*busy)(void *context, const struct cv_partition_spec *spec,
                                           const struct cv_value *partition),
                              void *context, struct cv_table_measures *ret_measures,
                              struct cv_error *err);
/* By the name in a job's `when:` ("avoidable-files"); false if there is none. */
bool cv_table_measure_named(const struct cv_table_measures *measures, const char *name,
                            int64_t *ret_value);

#endif
