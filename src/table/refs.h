/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves of branches and tags, each one commit without data: the procedures rollback_to_snapshot,
 * rollback_to_timestamp, set_current_snapshot, cherrypick_snapshot, fast_forward, and ALTER TABLE …
 * CREATE | REPLACE | DROP BRANCH | TAG, with Spark's rules and results. The branch is the table's
 * (cv_table_branch()) unless named. */
#ifndef CALVE_TABLE_REFS_H
#define CALVE_TABLE_REFS_H

#include "iceberg/metadata_change.h"
#include "table/table.h"

struct cv_ref_move {
    int64_t previous_snapshot_id; /* -1 = none */
    int64_t current_snapshot_id;  /* -1 = the ref is gone */
};

/* `dry_run` everywhere: checked and told, not committed. What the table does not allow is CV_USAGE,
 * with Java's words. */
/* The snapshot has to be an ancestor of the branch's head. */
enum cv_code cv_table_rollback_to_snapshot(struct cv_table *table, int64_t snapshot_id,
                                           bool dry_run, struct cv_ref_move *ret_move,
                                           struct cv_error *err);
/* To the newest ancestor before the time. */
enum cv_code cv_table_rollback_to_timestamp(struct cv_table *table, int64_t timestamp_ms,
                                            bool dry_run, struct cv_ref_move *ret_move,
                                            struct cv_error *err);
/* Any snapshot, or that of a ref (`ref` not NULL). */
enum cv_code cv_table_set_current_snapshot(struct cv_table *table, int64_t snapshot_id,
                                           const char *ref, bool dry_run,
                                           struct cv_ref_move *ret_move, struct cv_error *err);
/* `branch` to the head of `to`, of which it is an ancestor; a missing branch is created. */
enum cv_code cv_table_fast_forward(struct cv_table *table, const char *branch, const char *to,
                                   bool dry_run, struct cv_ref_move *ret_move,
                                   struct cv_error *err);

/* The changes of a snapshot that is not in the branch's history, made anew on its head: of an
 * append, or of a dynamic overwrite (replace-partitions) where nobody wrote to its partitions since
 * its parent. Where its parent is the head, the branch moves to it, whatever its operation. */
enum cv_code cv_table_cherrypick_snapshot(struct cv_table *table, int64_t snapshot_id, bool dry_run,
                                          struct cv_ref_move *ret_move, struct cv_error *err);
/* The one snapshot that was staged with this wap.id, for publish_changes. */
enum cv_code cv_table_find_staged(const struct cv_table_metadata *metadata, const char *wap_id,
                                  int64_t *ret_snapshot_id, struct cv_error *err);

enum cv_ref_action { CV_REF_CREATE, CV_REF_REPLACE, CV_REF_CREATE_OR_REPLACE, CV_REF_DROP };
struct cv_ref_change {
    enum cv_ref_action action;
    struct cv_snapshot_ref
        ref;        /* snapshot_id -1 = main's head; retention -1 = none, or as it was */
    bool if_exists; /* DROP: a missing one is fine; CREATE: an existing one is */
    bool dry_run;
};
enum cv_code cv_table_change_ref(struct cv_table *table, const struct cv_ref_change *change,
                                 struct cv_ref_move *ret_move, struct cv_error *err);

#endif
