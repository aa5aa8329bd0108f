/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of a metadata copy besides a new snapshot: refs, expired snapshots, unused definitions.
 * They touch last-updated-ms and the logs as the Java library does; the caller commits. */
#ifndef CALVE_ICEBERG_METADATA_CHANGE_H
#define CALVE_ICEBERG_METADATA_CHANGE_H

#include "iceberg/metadata.h"

/* Sets `changed` and last-updated-ms; for changes of other members than those below, too. Clocks
 * differ: the table's time does not go back. */
void cv_table_metadata_note_change(struct cv_table_metadata *metadata);
/* Sets or replaces a ref; "main" moves current-snapshot-id and the snapshot log. Retention of -1 is
 * absent. CV_NOT_FOUND when the table has no such snapshot. */
enum cv_code cv_table_metadata_set_ref(struct cv_table_metadata *metadata,
                                       const struct cv_snapshot_ref *ref, struct cv_error *err);
/* CV_NOT_FOUND; main cannot be removed (CV_USAGE). */
enum cv_code cv_table_metadata_remove_ref(struct cv_table_metadata *metadata, const char *name,
                                          struct cv_error *err);
/* Adds a snapshot that no branch points at (as a staged one); see
 * cv_table_metadata_add_snapshot(). */
enum cv_code cv_table_metadata_stage_snapshot(struct cv_table_metadata *metadata,
                                              const struct cv_snapshot *snapshot,
                                              struct cv_error *err);
/* Takes snapshots out, their statistics and partition statistics too; the snapshot log keeps only
 * what follows the last entry of a removed one. A snapshot that a ref points at: CV_USAGE. */
enum cv_code cv_table_metadata_remove_snapshots(struct cv_table_metadata *metadata,
                                                const int64_t *ids, size_t count,
                                                struct cv_error *err);
/* Drops schemas that no snapshot and specs that no manifest of one uses (`used_specs`, ids); the
 * current ones stay. *ret_removed: there were some. */
enum cv_code cv_table_metadata_remove_unused(struct cv_table_metadata *metadata,
                                             const int32_t *used_specs, size_t used_spec_count,
                                             bool *ret_removed, struct cv_error *err);

/* A statistics file of a snapshot (statistics, partition-statistics). */
struct cv_statistics_file {
    int64_t snapshot_id;
    const char *path;
    int64_t size; /* -1 = not told */
};
enum cv_code cv_table_metadata_statistics(const struct cv_table_metadata *metadata,
                                          struct cv_arena *arena,
                                          struct cv_statistics_file **ret_files, size_t *ret_count,
                                          struct cv_error *err);

/* Which snapshots and refs expiry takes (spec: Snapshot Retention Policy), as Java's
 * RemoveSnapshots decides: refs older than their own limit go, main never; of each branch stay the
 * newest ones while there are too few or they are young; of what no ref reaches stays what is
 * young. A branch's own limits stand before those given here, and these before the table's
 * history.expire.*; negative numbers are not given. Naming snapshots does not spare the others. */
struct cv_expire_rules {
    int64_t now_ms;
    int64_t older_than_ms;
    int64_t retain_last;
    const int64_t *snapshot_ids;
    size_t snapshot_id_count;
    const int64_t *keep_ids; /* stay whatever the rules say: newest carriers of stream positions */
    size_t keep_id_count;
};
struct cv_expire_plan {
    int64_t *snapshot_ids;
    size_t snapshot_count;
    const char **refs;
    size_t ref_count;
};
/* CV_USAGE: a named snapshot has a ref that stays, or retain_last is 0. Unknown ids are ignored. */
enum cv_code cv_expire_plan(const struct cv_table_metadata *metadata,
                            const struct cv_expire_rules *rules, struct cv_arena *arena,
                            struct cv_expire_plan *ret_plan, struct cv_error *err);

#endif
