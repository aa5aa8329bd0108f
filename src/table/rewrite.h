/* SPDX-License-Identifier: Apache-2.0
 *
 * Replaces files by files with the same rows (operation `replace`): compaction of data files and of
 * position delete files, removal of dangling deletes. Validated in every attempt (iceberg.md §5.5):
 * each removed file still lives, and nothing that the rewrite did not see deletes rows of a removed
 * data file. Concurrent appends survive. */
#ifndef CALVE_TABLE_REWRITE_H
#define CALVE_TABLE_REWRITE_H

#include "table/table.h"

struct cv_rewrite_added {
    struct cv_data_file file;
    int64_t sequence_number; /* CV_SEQUENCE_INHERIT = of the new snapshot */
};

struct cv_rewrite {
    int64_t start_snapshot_id;          /* that the files were planned from */
    const struct cv_data_file *removed; /* data and delete files */
    size_t removed_count;
    const struct cv_rewrite_added *added;
    size_t added_count;
    /* Equality deletes that came meanwhile are no conflict, since the added data files keep a
     * sequence number below theirs (use-starting-sequence-number). */
    bool ignore_equality_deletes;
    const struct cv_properties *summary; /* further keys; may be NULL */
    bool files_unsynced;
};

struct cv_rewrite_result {
    int64_t snapshot_id;
    int attempts;
};

/* CV_CONFLICT names the snapshot (operation, engine, time) that stood in the way: then plan again;
 * the own manifests are removed, the added files are left to the caller. CV_UNKNOWN: nothing is
 * removed. The snapshot carries the newest position of every job forward. */
enum cv_code cv_table_rewrite(struct cv_table *table, const struct cv_rewrite *rewrite,
                              struct cv_rewrite_result *ret_result, struct cv_error *err);

/* Rewrites the manifests of one spec (Spark's rewrite_manifests): live entries, kept with their
 * snapshot id and sequence numbers, sorted by partition; data and delete manifests apart. */
struct cv_manifest_rewrite {
    int32_t spec_id;            /* -1 = the table's default */
    const char *const *sort_by; /* partition fields; NULL = all in order */
    size_t sort_count;
    size_t memory_bytes;
    bool dry_run;
};
struct cv_manifest_rewrite_result {
    int64_t snapshot_id; /* -1 = nothing to do */
    int32_t rewritten;
    int32_t added; /* with dry_run: that there would be */
};
enum cv_code cv_table_rewrite_manifests(struct cv_table *table,
                                        const struct cv_manifest_rewrite *rewrite,
                                        struct cv_manifest_rewrite_result *ret_result,
                                        struct cv_error *err);

#endif
