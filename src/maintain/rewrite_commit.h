/* SPDX-License-Identifier: Apache-2.0
 *
 * Commits rewritten groups, and finds out what a conflict means for each of them (spec: optimistic
 * concurrency; iceberg.md §5.5): a group whose inputs vanished or got new row deletes is lost and
 * may be planned again, the others are committed without it. */
#ifndef CALVE_MAINTAIN_REWRITE_COMMIT_H
#define CALVE_MAINTAIN_REWRITE_COMMIT_H

#include "maintain/rewrite_group.h"
#include "table/table.h"

enum cv_rewrite_state {
    CV_REWRITE_PLANNED,
    CV_REWRITE_WRITTEN,
    CV_REWRITE_COMMITTED,
    CV_REWRITE_USELESS, /* see struct cv_rewrite_output */
    CV_REWRITE_FAILED,  /* nothing is left of it */
    CV_REWRITE_LOST,    /* to a concurrent change; nothing is left of it */
};

struct cv_rewrite_part {
    const struct cv_rewrite_group *group;
    struct cv_rewrite_output output;
    enum cv_rewrite_state state;
};

struct cv_rewrite_committing {
    struct cv_table *table;
    const struct cv_rewrite_selection *selection;
    const struct cv_maintenance *maintenance; /* for its warnings */
    bool keep_sequence_number;                /* use-starting-sequence-number */
    struct cv_rewrite_part *parts;            /* of all groups */
    size_t count;
    int64_t removed_deletes; /* counted up: those that name a removed data file only */
    struct cv_map removed;   /* paths of all delete files that were removed */
    bool keep_old_deletes;   /* leave delete files that are older than all data */
};
void cv_rewrite_committing_release(struct cv_rewrite_committing *committing);

/* Commits the WRITTEN parts in one snapshot: each is COMMITTED or LOST then. Delete files older
 * than all data go too, as in Java. On failure the parts are FAILED and their files removed, but
 * for CV_UNKNOWN, where everything stays. */
enum cv_code cv_rewrite_commit(struct cv_rewrite_committing *committing, struct cv_error *err);

/* Removes in one commit the delete files that apply to no data file; *ret_count of them. With
 * `dry_run` they are only counted. */
enum cv_code cv_rewrite_remove_dangling(struct cv_table *table, bool dry_run, int64_t *ret_count,
                                        struct cv_error *err);

#endif
