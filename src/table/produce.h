/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to table/: what every operation with a snapshot does: writes manifests, the list and the
 * snapshot, within an attempt of cv_commit_run(). */
#ifndef CALVE_TABLE_PRODUCE_H
#define CALVE_TABLE_PRODUCE_H

#include "table/changes.h"
#include "table/commit.h"

/* Entries per manifest: some 8 MB, commit.manifest.target-size-bytes. */
#define CV_MANIFEST_FILES_MAX 20000

/* CV_NOT_FOUND, or CV_CONFIG for a tag, unless the table's branch can take a snapshot. */
enum cv_code cv_check_branch(const struct cv_table *table, const struct cv_table_metadata *metadata,
                             struct cv_error *err);

/* Manifests that an operation has written, kept over its attempts: what differs between attempts is
 * inherited from the list. */
struct cv_new_manifests {
    struct cv_manifest_file *rows; /* their memory is the commit's */
    size_t count, capacity;
};
void cv_new_manifests_release(struct cv_new_manifests *manifests);
/* One manifest of entries of one spec and one kind, with the newest schema that has the spec's
 * columns. */
enum cv_code cv_commit_write_manifest(struct cv_commit *commit,
                                      const struct cv_table_metadata *metadata,
                                      const struct cv_partition_spec *spec, bool deletes,
                                      const struct cv_manifest_entry *entries, size_t count,
                                      struct cv_new_manifests *manifests, struct cv_error *err);
/* CV_FORMAT when the manifest was written with another spec than the list's row says: the entries'
 * tuples are of the manifest's. */
enum cv_code cv_check_manifest_spec(const struct cv_manifest_file *row,
                                    const struct cv_manifest_entry *entries, size_t count,
                                    struct cv_error *err);
/* CV_SCHEMA when the table lacks a file's spec: to be asked in every attempt. */
enum cv_code cv_check_specs(const struct cv_table_metadata *metadata,
                            const struct cv_data_file *files, size_t count, struct cv_error *err);
/* ADDED entries of files of any known spec and kind, each with its data sequence number (NULL: all
 * inherit). */
enum cv_code cv_commit_write_added(struct cv_commit *commit,
                                   const struct cv_table_metadata *metadata,
                                   const struct cv_data_file *files,
                                   const int64_t *sequence_numbers, size_t count,
                                   struct cv_new_manifests *manifests, struct cv_error *err);

/* Adds the snapshot of these manifests to the table's branch. Rows of this commit's snapshot id
 * get its sequence number. `summary` is complete; `extra` may be NULL. */
struct cv_new_snapshot {
    struct cv_manifest_file *rows; /* in the commit's memory */
    size_t row_count;
    const struct cv_properties *summary;
    const struct cv_avro_metadata *extra;
    size_t extra_count;
};
enum cv_code cv_commit_add_snapshot(struct cv_commit *commit, struct cv_table_metadata *next,
                                    const struct cv_new_snapshot *snapshot, struct cv_error *err);

void cv_summary_put_count(struct cv_properties *summary, const char *key, size_t value);
/* engine-name and engine-version. */
void cv_summary_put_engine(struct cv_properties *summary);
/* "snapshot 7 (replace by spark 4.0.1 at 2026-01-01 00:00:00.000)": who committed what. */
const char *cv_snapshot_describe(const struct cv_snapshot *snapshot, struct cv_arena *arena);

#endif
