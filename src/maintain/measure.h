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
    /* Of closed partitions: files that would not be there had each partition been written into
     * files of the target size at once: files - ceil(bytes / target). */
    int64_t avoidable_files;
    int64_t possible_files;  /* files that would be left of all: data_files - avoidable_files */
    int64_t mergeable_files; /* avoidable ones that a rewrite of small files takes away */
    int64_t open_partition_files; /* in partitions that are still written */
    int64_t open_partitions;
    int64_t largest_partition_files;
    int64_t target_bytes;
    int64_t manifests, manifest_bytes;
    int64_t avoidable_manifests; /* of the current spec, by the same arithmetic */
    int64_t snapshots, oldest_snapshot_ms, newest_snapshot_ms;
    int64_t old_spec_files;
};

struct cv_measure_config {
    int64_t now_ms;
    int64_t open_ms; /* a partition is open while its newest file is younger; 0 = none by age */
    /* Says of a partition that it is open; may be NULL. */
    bool (*busy)(void *context, const struct cv_partition_spec *spec,
                 const struct cv_value *partition);
    /* Sees every live file, data and deletes; may be NULL. */
    enum cv_code (*live)(void *context, const struct cv_data_file *file, struct cv_error *err);
    void *context;
};

enum cv_code cv_table_measure(struct cv_table *table, const struct cv_measure_config *config,
                              struct cv_table_measures *ret_measures, struct cv_error *err);

/* Whether a stream leaves a partition for good as time goes by: it is one of days, hours, …. The
 * others are written as long as there is a stream, so waiting for their end would be in vain. */
bool cv_partition_closes(const struct cv_partition_spec *spec, const struct cv_value *partition);

/* By the name in a job's `when:` ("avoidable-files"); false if there is none. */
bool cv_table_measure_named(const struct cv_table_measures *measures, const char *name,
                            int64_t *ret_value);
/* "avoidable-files, delete-files, …", for messages and documentation. */
const char *cv_table_measure_names(void);

/* The property write.target-file-size-bytes, or Iceberg's default. */
int64_t cv_table_target_bytes(const struct cv_table_metadata *metadata);

#endif
