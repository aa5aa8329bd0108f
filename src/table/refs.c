/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves of branches and tags (Java: SetSnapshotOperation, UpdateSnapshotReferencesOperation), each
 * checked in every attempt on the newest metadata. */
#include "table/refs_int.h"

#include "table/commit.h"

struct moving {
    /* Changes `next`; what it leaves as it was is no commit. */
    enum cv_code (*move)(const struct moving *m, struct cv_table_metadata *next,
                         struct cv_error *err);
    const char *ref; /* whose snapshot is told */
    int64_t snapshot_id;
    int64_t timestamp_ms;
    const char *to;
    const struct cv_ref_change *change;
    struct cv_ref_move result;
};

bool cv_is_ancestor(const struct cv_table_metadata *metadata, const char *branch,
                    int64_t snapshot_id)
{
    struct cv_history history = cv_history_of(metadata, branch);
    const struct cv_snapshot *snapshot;

    while ((snapshot = cv_history_next(&history)))
        if (snapshot->id == snapshot_id)
            return true;
    return false;
}

int64_t cv_head_id(const struct cv_table_metadata *metadata, const char *branch)
{
    const struct cv_snapshot_ref *ref = cv_table_metadata_ref(metadata, branch);
    const struct cv_snapshot *head = cv_table_metadata_head(metadata, branch);

    return ref ? ref->snapshot_id : head ? head->id : -1;
}

enum cv_code cv_move_branch(struct cv_table_metadata *metadata, const char *branch,
                            int64_t snapshot_id, struct cv_error *err)
{
    const struct cv_snapshot_ref *old = cv_table_metadata_ref(metadata, branch);
    struct cv_snapshot_ref moved = {branch, snapshot_id, false, -1, -1, -1};

    if (old && old->is_tag)
        return cv_fail(err, CV_USAGE, "Ref %s is a tag not a branch", branch);
    if (old)
        moved = *old;
    moved.snapshot_id = snapshot_id;
    return cv_table_metadata_set_ref(metadata, &moved, err);
}

static enum cv_code build(void *context, struct cv_commit *commit, struct cv_table_metadata *next,
                          bool *ret_done, struct cv_error *err)
{
    struct moving *m = context;

    CV_DO(m->move(m, next, err));
    m->result =
        (struct cv_ref_move){cv_head_id(commit->table->metadata, m->ref), cv_head_id(next, m->ref)};
    *ret_done = !next->changed;
    return CV_OK;
}

static enum cv_code move_ref(struct cv_table *table, struct moving *m, bool dry_run,
                             struct cv_ref_move *ret_move, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const struct cv_commit_operation operation = {.build = build, .context = m, .dry_run = dry_run};
    struct cv_commit_outcome outcome;

    CV_TRY(cv_commit_run(table, &operation, &outcome, err), err, "table %s",
           cv_table_name_text(&table->name, &arena));
    *ret_move = m->result;
    return CV_OK;
}

static enum cv_code check_known(const struct cv_table_metadata *metadata, int64_t snapshot_id,
                                struct cv_error *err)
{
    if (cv_table_metadata_snapshot(metadata, snapshot_id))
        return CV_OK;
    return cv_fail(err, CV_USAGE, "Cannot roll back to unknown snapshot id: %lld",
                   (long long)snapshot_id);
}

static enum cv_code to_ancestor(const struct moving *m, struct cv_table_metadata *next,
                                struct cv_error *err)
{
    CV_DO(check_known(next, m->snapshot_id, err));
    if (!cv_is_ancestor(next, m->ref, m->snapshot_id)) {
        (void)cv_fail(err, CV_USAGE,
                      "Cannot roll back to snapshot, not an ancestor of the current state: %lld",
                      (long long)m->snapshot_id);
        cv_hint(err, "set-current-snapshot goes to any snapshot");
        return CV_USAGE;
    }
    return cv_move_branch(next, m->ref, m->snapshot_id, err);
}

enum cv_code cv_table_rollback_to_snapshot(struct cv_table *table, int64_t snapshot_id,
                                           bool dry_run, struct cv_ref_move *ret_move,
                                           struct cv_error *err)
{
    struct moving m = {
        .move = to_ancestor, .ref = cv_table_branch(table), .snapshot_id = snapshot_id};

    return move_ref(table, &m, dry_run, ret_move, err);
}

static enum cv_code to_time(const struct moving *m, struct cv_table_metadata *next,
                            struct cv_error *err)
{
    struct cv_history history = cv_history_of(next, m->ref);
    const struct cv_snapshot *newest = NULL;
    const struct cv_snapshot *snapshot;

    while ((snapshot = cv_history_next(&history)))
        if (snapshot->timestamp_ms < m->timestamp_ms &&
            (!newest || snapshot->timestamp_ms > newest->timestamp_ms))
            newest = snapshot;
    if (!newest)
        return cv_fail(err, CV_USAGE, "Cannot roll back, no valid snapshot older than: %lld",
                       (long long)m->timestamp_ms);
    return cv_move_branch(next, m->ref, newest->id, err);
}

enum cv_code cv_table_rollback_to_timestamp(struct cv_table *table, int64_t timestamp_ms,
                                            bool dry_run, struct cv_ref_move *ret_move,
                                            struct cv_error *err)
{
    struct moving m = {
        .move = to_time, .ref = cv_table_branch(table), .timestamp_ms = timestamp_ms};

    return move_ref(table, &m, dry_run, ret_move, err);
}

static enum cv_code to_any(const struct moving *m, struct cv_table_metadata *next,
                           struct cv_error *err)
{
    const struct cv_snapshot_ref *ref = m->to ? cv_table_metadata_ref(next, m->to) : NULL;
    int64_t id = m->to && ref ? ref->snapshot_id : m->snapshot_id;

    if (m->to && !ref)
        return cv_fail(err, CV_USAGE, "Cannot find matching snapshot ID for ref %s", m->to);
    CV_DO(check_known(next, id, err));
    return cv_move_branch(next, m->ref, id, err);
}

enum cv_code cv_table_set_current_snapshot(struct cv_table *table, int64_t snapshot_id,
                                           const char *ref, bool dry_run,
                                           struct cv_ref_move *ret_move, struct cv_error *err)
{
    struct moving m = {
        .move = to_any, .ref = cv_table_branch(table), .snapshot_id = snapshot_id, .to = ref};

    return move_ref(table, &m, dry_run, ret_move, err);
}

static enum cv_code forward(const struct moving *m, struct cv_table_metadata *next,
                            struct cv_error *err)
{
    const struct cv_snapshot_ref *to = cv_table_metadata_ref(next, m->to);
    const struct cv_snapshot_ref *from = cv_table_metadata_ref(next, m->ref);
    struct cv_history history = {next, NULL, next->snapshot_count, false};
    const struct cv_snapshot *snapshot;

    if (!to)
        return cv_fail(err, CV_USAGE, "Ref does not exist: %s", m->to);
    if (!from || from->is_tag || from->snapshot_id == to->snapshot_id)
        return cv_move_branch(next, m->ref, to->snapshot_id, err);
    history.next = cv_table_metadata_snapshot(next, to->snapshot_id);
    while ((snapshot = cv_history_next(&history)))
        if (snapshot->id == from->snapshot_id)
            return cv_move_branch(next, m->ref, to->snapshot_id, err);
    return cv_fail(err, CV_USAGE, "Cannot fast-forward: %s is not an ancestor of %s", m->ref,
                   m->to);
}

enum cv_code cv_table_fast_forward(struct cv_table *table, const char *branch, const char *to,
                                   bool dry_run, struct cv_ref_move *ret_move, struct cv_error *err)
{
    struct moving m = {.move = forward, .ref = branch, .to = to};

    return move_ref(table, &m, dry_run, ret_move, err);
}

/* The existing ref, of the right kind; NULL when there is none. */
static enum cv_code find_existing(const struct cv_table_metadata *metadata,
                                  const struct cv_snapshot_ref *wanted,
                                  const struct cv_snapshot_ref **ret_old, struct cv_error *err)
{
    const struct cv_snapshot_ref *old = cv_table_metadata_ref(metadata, wanted->name);

    if (old && old->is_tag != wanted->is_tag)
        return cv_fail(err, CV_USAGE, "Ref %s is a %s not a %s", wanted->name,
                       old->is_tag ? "tag" : "branch", wanted->is_tag ? "tag" : "branch");
    *ret_old = old;
    return CV_OK;
}

static enum cv_code fail_absent(const struct cv_snapshot_ref *ref, struct cv_error *err)
{
    return cv_fail(err, CV_USAGE, "%s does not exist: %s", ref->is_tag ? "Tag" : "Branch",
                   ref->name);
}

static enum cv_code check_retention(const struct cv_snapshot_ref *ref, struct cv_error *err)
{
    if (ref->is_tag && ref->min_snapshots_to_keep >= 0)
        return cv_fail(err, CV_USAGE, "Tags do not support setting minSnapshotsToKeep");
    if (ref->is_tag && ref->max_snapshot_age_ms >= 0)
        return cv_fail(err, CV_USAGE, "Tags do not support setting maxSnapshotAgeMs");
    if (ref->min_snapshots_to_keep == 0 || ref->min_snapshots_to_keep > INT32_MAX)
        return cv_fail(err, CV_USAGE, "Min snapshots to keep must be greater than 0");
    if (ref->max_snapshot_age_ms == 0)
        return cv_fail(err, CV_USAGE, "Max snapshot age must be greater than 0 ms");
    if (ref->max_ref_age_ms == 0)
        return cv_fail(err, CV_USAGE, "Max reference age must be greater than 0");
    return CV_OK;
}

static void take_if_given(int64_t *target, int64_t given)
{
    if (given >= 0)
        *target = given;
}

static enum cv_code set_ref(const struct cv_ref_change *change, const struct cv_snapshot_ref *old,
                            struct cv_table_metadata *next, struct cv_error *err)
{
    struct cv_snapshot_ref ref = change->ref;

    CV_DO(check_retention(&ref, err));
    if (old) {
        ref = *old;
        take_if_given(&ref.min_snapshots_to_keep, change->ref.min_snapshots_to_keep);
        take_if_given(&ref.max_snapshot_age_ms, change->ref.max_snapshot_age_ms);
        take_if_given(&ref.max_ref_age_ms, change->ref.max_ref_age_ms);
    }
    ref.snapshot_id = change->ref.snapshot_id;
    if (ref.snapshot_id < 0)
        ref.snapshot_id = cv_head_id(next, "main");
    if (ref.snapshot_id < 0)
        return cv_fail(err, CV_USAGE,
                       "Cannot complete create or replace %s operation on %s, main has no snapshot",
                       ref.is_tag ? "tag" : "branch", ref.name);
    if (!cv_table_metadata_snapshot(next, ref.snapshot_id))
        return cv_fail(err, CV_USAGE, "Cannot set %s to unknown snapshot: %lld", ref.name,
                       (long long)ref.snapshot_id);
    return cv_table_metadata_set_ref(next, &ref, err);
}

static enum cv_code change_ref(const struct moving *m, struct cv_table_metadata *next,
                               struct cv_error *err)
{
    const struct cv_ref_change *change = m->change;
    const struct cv_snapshot_ref *old = cv_table_metadata_ref(next, change->ref.name);

    if (change->action == CV_REF_CREATE) {
        if (old && change->if_exists)
            return CV_OK;
        if (old)
            return cv_fail(err, CV_USAGE, "Ref %s already exists", change->ref.name);
        return set_ref(change, NULL, next, err);
    }
    if (change->action == CV_REF_DROP && !change->ref.is_tag &&
        strcmp(change->ref.name, "main") == 0)
        return cv_fail(err, CV_USAGE, "Cannot remove main branch");
    CV_DO(find_existing(next, &change->ref, &old, err));
    if (!old && change->action == CV_REF_DROP && change->if_exists)
        return CV_OK;
    if (!old && change->action != CV_REF_CREATE_OR_REPLACE)
        return fail_absent(&change->ref, err);
    if (change->action == CV_REF_DROP)
        return cv_table_metadata_remove_ref(next, change->ref.name, err);
    return set_ref(change, old, next, err);
}

enum cv_code cv_table_change_ref(struct cv_table *table, const struct cv_ref_change *change,
                                 struct cv_ref_move *ret_move, struct cv_error *err)
{
    struct moving m = {.move = change_ref, .ref = change->ref.name, .change = change};

    return move_ref(table, &m, change->dry_run, ret_move, err);
}
