/* SPDX-License-Identifier: Apache-2.0
 *
 * What rewrite-data-files would do to a snapshot: its live files with the deletes that apply, by
 * partition, and the groups that the planning makes of them. */
#ifndef CALVE_MAINTAIN_REWRITE_SELECT_H
#define CALVE_MAINTAIN_REWRITE_SELECT_H

#include "base/map.h"
#include "data/scan.h"
#include "maintain/procedure.h"
#include "maintain/rewrite_options.h"

/* Files that may be written together: those of one partition of the current spec, or all of an
 * older spec, whatever their partitions. */
struct cv_rewrite_bucket {
    int32_t spec_id;
    bool one_partition;
    const struct cv_value *partition; /* of its first file */
    bool busy;
};

struct cv_rewrite_selection {
    struct cv_arena arena;
    const struct cv_table_metadata *metadata; /* as planned from; outlives the selection */
    int64_t snapshot_id;
    int64_t sequence_number;
    struct cv_scan_plan *plan;     /* keeps the delete files */
    struct cv_rewrite_file *files; /* context: struct cv_scan_task * */
    size_t file_count, file_capacity;
    struct cv_rewrite_bucket *buckets;
    size_t bucket_count, bucket_capacity;
    struct cv_rewrite_group *groups;
    size_t group_count;
    int64_t group_bytes; /* in all groups */
    /* The lowest data sequence number of the live files that are in no group; INT64_MIN when not
     * all were looked at. */
    int64_t other_sequence;
    int64_t busy_files; /* left alone: the stream writes their partition */
    int64_t left_files; /* left for the next run: they did not fit into the memory */
};

struct cv_rewrite_selecting {
    const struct cv_maintenance *maintenance;
    struct cv_store *store;
    const struct cv_table_metadata *metadata;
    const char *branch;
    const struct cv_rewrite_settings *settings;
    const struct cv_predicate *predicate; /* NULL = all files */
    const struct cv_map *only;            /* paths of data files; NULL = all */
    size_t memory_bytes;
};

/* A table without a snapshot has no groups. Release it in every case. */
enum cv_code cv_rewrite_select(const struct cv_rewrite_selecting *selecting,
                               struct cv_rewrite_selection *selection, struct cv_error *err);
void cv_rewrite_selection_release(struct cv_rewrite_selection *selection);

static inline const struct cv_scan_task *cv_rewrite_task(const struct cv_rewrite_file *file)
{
    return file->context;
}

#endif
