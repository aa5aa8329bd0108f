/* SPDX-License-Identifier: Apache-2.0
 *
 * Replacing files by files with the same rows. */
#include "table/rewrite.h"

#include "table/position_int.h"
#include "table/rewrite_int.h"

struct rewriting {
    const struct cv_rewrite *rewrite;
    struct cv_removal removal;
    struct cv_new_manifests added;
    struct cv_change_counter changes;
    struct cv_carried_positions carried;
    bool prepared; /* changes counted, added manifests written */
};

static void rewriting_release(struct rewriting *r)
{
    cv_removal_release(&r->removal);
    cv_new_manifests_release(&r->added);
    cv_change_counter_release(&r->changes);
    cv_carried_positions_release(&r->carried);
}

static void fill_summary(const struct rewriting *r, const struct cv_snapshot *parent,
                         size_t row_count, struct cv_properties *summary)
{
    size_t created = r->added.count + r->removal.replaced_manifests;

    cv_properties_set(summary, "operation", "replace");
    cv_snapshot_summary_totals(&parent->summary, &r->changes.changes, summary);
    cv_summary_put_count(summary, "manifests-created", created);
    cv_summary_put_count(summary, "manifests-kept", row_count - created);
    cv_summary_put_count(summary, "manifests-replaced", r->removal.replaced_manifests);
    cv_summary_put_engine(summary);
    if (r->rewrite->summary)
        cv_properties_copy(summary, r->rewrite->summary);
    cv_position_put_carried(&r->carried, summary);
}

static enum cv_code write_added(struct rewriting *r, struct cv_commit *commit,
                                const struct cv_table_metadata *next, struct cv_error *err)
{
    const struct cv_rewrite *rewrite = r->rewrite;
    struct cv_data_file *files =
        cv_arena_array(&commit->arena, struct cv_data_file, rewrite->added_count);
    int64_t *numbers = cv_arena_array(&commit->arena, int64_t, rewrite->added_count);
    bool numbered = next->format_version > 1;

    for (size_t i = 0; i < rewrite->added_count; i++) {
        files[i] = rewrite->added[i].file;
        numbers[i] = numbered ? rewrite->added[i].sequence_number : CV_SEQUENCE_INHERIT;
    }
    CV_DO(cv_check_specs(next, files, rewrite->added_count, err));
    if (r->prepared)
        return CV_OK;
    r->prepared = true;
    r->changes.metadata = next;
    for (size_t i = 0; i < rewrite->removed_count; i++)
        cv_change_counter_remove(&r->changes, &rewrite->removed[i]);
    for (size_t i = 0; i < rewrite->added_count; i++)
        cv_change_counter_add(&r->changes, &files[i]);
    return cv_commit_write_added(commit, next, files, numbers, rewrite->added_count, &r->added,
                                 err);
}

/* Equality deletes may be overlooked only because they still apply to the added files. */
static enum cv_code check_numbers(const struct cv_rewrite *rewrite,
                                  const struct cv_table_metadata *next,
                                  const struct cv_between *between, struct cv_error *err)
{
    for (size_t i = 0; i < rewrite->added_count; i++)
        if (rewrite->ignore_equality_deletes && next->format_version > 1 &&
            rewrite->added[i].file.content == CV_CONTENT_DATA &&
            (rewrite->added[i].sequence_number == CV_SEQUENCE_INHERIT ||
             rewrite->added[i].sequence_number > between->start->sequence_number))
            return cv_fail(err, CV_INTERNAL, "%s has a newer sequence number than what it replaces",
                           rewrite->added[i].file.path);
    return CV_OK;
}

static enum cv_code build_between(struct rewriting *r, struct cv_commit *commit,
                                  struct cv_table_metadata *next, const struct cv_between *between,
                                  struct cv_error *err)
{
    CV_CLEANUP(cv_properties_release) struct cv_properties summary = {0};
    const struct cv_rewrite *rewrite = r->rewrite;
    struct cv_new_snapshot snapshot = {.summary = &summary};

    CV_DO(check_numbers(rewrite, next, between, err));
    CV_DO(cv_check_new_deletes(commit->table, next, between, rewrite->removed,
                               rewrite->removed_count, rewrite->ignore_equality_deletes, err));
    CV_DO(write_added(r, commit, next, err));
    CV_DO(cv_removal_apply(&r->removal, commit, next, between, &r->added, &snapshot, err));
    CV_DO(cv_position_carry(commit->table, next, &r->carried, err));
    snapshot.extra = r->carried.extra;
    snapshot.extra_count = r->carried.extra_count;
    fill_summary(r, between->count ? between->snapshots[0] : between->start, snapshot.row_count,
                 &summary);
    return cv_commit_add_snapshot(commit, next, &snapshot, err);
}

static enum cv_code build(void *context, struct cv_commit *commit, struct cv_table_metadata *next,
                          bool *ret_done, struct cv_error *err)
{
    struct rewriting *r = context;
    CV_CLEANUP(cv_between_release) struct cv_between between = {0};

    *ret_done = false;
    CV_DO(cv_check_branch(commit->table, next, err));
    CV_DO(cv_between_init(&between, next, cv_table_branch(commit->table),
                          r->rewrite->start_snapshot_id, &commit->arena, err));
    return build_between(r, commit, next, &between, err);
}

/* A rewrite that would add rows is one that read something twice. */
static enum cv_code check_rewrite(const struct cv_rewrite *rewrite, struct cv_error *err)
{
    int64_t removed = 0;
    int64_t added = 0;

    for (size_t i = 0; i < rewrite->removed_count; i++)
        if (rewrite->removed[i].content == CV_CONTENT_DATA)
            removed += rewrite->removed[i].metrics.record_count;
    for (size_t i = 0; i < rewrite->added_count; i++)
        if (rewrite->added[i].file.content == CV_CONTENT_DATA)
            added += rewrite->added[i].file.metrics.record_count;
    if (!rewrite->removed_count || rewrite->start_snapshot_id < 0)
        return cv_fail(err, CV_INTERNAL, "a rewrite that removes no file of a snapshot");
    if (added > removed)
        return cv_fail(err, CV_INTERNAL, "a rewrite of %lld rows would leave %lld",
                       (long long)removed, (long long)added);
    return CV_OK;
}

enum cv_code cv_table_rewrite(struct cv_table *table, const struct cv_rewrite *rewrite,
                              struct cv_rewrite_result *ret_result, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(rewriting_release) struct rewriting r = {.rewrite = rewrite};
    struct cv_commit_operation operation = {.build = build, .context = &r, .makes_snapshot = true};
    const char **files = cv_arena_array(&arena, const char *, rewrite->added_count);
    struct cv_commit_outcome outcome;

    CV_DO(check_rewrite(rewrite, err));
    cv_removal_init(&r.removal, rewrite->removed, rewrite->removed_count);
    for (size_t i = 0; i < rewrite->added_count; i++)
        files[i] = rewrite->added[i].file.path;
    operation.unsynced = files;
    operation.unsynced_count = rewrite->files_unsynced ? rewrite->added_count : 0;
    CV_TRY(cv_commit_run(table, &operation, &outcome, err), err, "table %s",
           cv_table_name_text(&table->name, &arena));
    *ret_result = (struct cv_rewrite_result){outcome.snapshot_id, outcome.attempts};
    return CV_OK;
}
