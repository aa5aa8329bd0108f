/* SPDX-License-Identifier: Apache-2.0
 *
 * Fast append and replacement. The manifests of the new files are written once, since what differs
 * between attempts (sequence numbers) is inherited from the manifest list, which is written anew
 * each time. */
#include "table/append.h"

#include "table/clearing.h"
#include "table/position_int.h"
#include "table/produce.h"

#include <stdio.h>

struct appending {
    const struct cv_append *append;
    struct cv_new_manifests manifests; /* none until the first attempt */
    struct cv_clearing clearing;
    struct cv_snapshot_changes changes; /* of this attempt */
    const char *position_key;           /* NULL = no position */
    const char *position;
    struct cv_str long_position;
    int64_t last_snapshot_id; /* where the table already has this epoch */
};

/* A catalog that lost commits (a standby that took over, a database restored) names an older state,
 * in which the rows of an epoch that was committed are missing. */
static enum cv_code fail_older(const struct cv_append *append, const struct cv_table *table,
                               const struct cv_snapshot *snapshot, int64_t epoch,
                               struct cv_error *err)
{
    (void)cv_fail(err, CV_CONTRADICTION,
                  "table %s is at epoch %lld of query %s (snapshot %lld), but epoch %lld was "
                  "committed: did the catalog go back to an older state?",
                  table->name.table, (long long)epoch, append->query_id, (long long)snapshot->id,
                  (long long)append->last_epoch);
    cv_hint(err, "start again with --resume-from=table to read what it lost once more, or with "
                 "--resume-from=checkpoint to go on without it");
    return CV_CONTRADICTION;
}

/* Is this epoch in already? Another process of the same query may have gone on meanwhile. */
static enum cv_code check_epoch(struct appending *a, const struct cv_table *table,
                                const struct cv_table_metadata *metadata, bool *ret_done,
                                struct cv_error *err)
{
    const struct cv_append *append = a->append;
    const struct cv_snapshot *snapshot;
    int64_t epoch;

    if (!append->query_id)
        return CV_OK;
    CV_DO(cv_position_newest(metadata, cv_table_branch(table), append->query_id, &snapshot, &epoch,
                             err));
    if (epoch > append->epoch) {
        (void)cv_fail(
            err, CV_CONTRADICTION,
            "table %s is at epoch %lld of query %s (snapshot %lld), later than %lld, which "
            "is to be committed",
            table->name.table, (long long)epoch, append->query_id, (long long)snapshot->id,
            (long long)append->epoch);
        cv_hint(err, "another process works with the same checkpoint, or the checkpoint is an old "
                     "copy; end the one that should not run");
        return CV_CONTRADICTION;
    }
    if (snapshot && epoch < append->last_epoch)
        return fail_older(append, table, snapshot, epoch, err);
    *ret_done = epoch == append->epoch;
    if (*ret_done)
        a->last_snapshot_id = snapshot->id;
    return CV_OK;
}

/* The new files in the place of the parent's. */
static enum cv_code replace_rows(struct appending *a, struct cv_commit *commit,
                                 const struct cv_table_metadata *metadata,
                                 struct cv_new_snapshot *snapshot, struct cv_error *err)
{
    CV_CLEANUP(cv_change_counter_release) struct cv_change_counter counter = {.metadata = metadata};

    for (size_t i = 0; i < a->append->file_count; i++)
        cv_change_counter_add(&counter, &a->append->files[i]);
    CV_DO(
        cv_clearing_apply(&a->clearing, commit, metadata, &a->manifests, &counter, snapshot, err));
    a->changes = counter.changes;
    return CV_OK;
}

/* The new rows, then the parent's. */
static enum cv_code join_rows(struct appending *a, struct cv_commit *commit,
                              const struct cv_snapshot *parent, struct cv_new_snapshot *snapshot,
                              struct cv_error *err)
{
    const struct cv_manifest_file *old;
    size_t count = a->manifests.count;
    size_t old_count;

    CV_DO(cv_table_cached_manifests(commit->table, parent, &old, &old_count, err));
    snapshot->row_count = count + old_count;
    snapshot->rows = cv_arena_array(&commit->arena, struct cv_manifest_file, snapshot->row_count);
    if (count)
        memcpy(snapshot->rows, a->manifests.rows, count * sizeof *old);
    if (old_count)
        memcpy(snapshot->rows + count, old, old_count * sizeof *old);
    return CV_OK;
}

static void fill_summary(const struct appending *a, const struct cv_snapshot *parent,
                         struct cv_properties *summary)
{
    const struct cv_append *append = a->append;

    cv_properties_set(summary, "operation",
                      !append->replaces    ? "append"
                      : append->file_count ? "overwrite"
                                           : "delete");
    if (append->query_id) {
        char epoch[24];

        (void)snprintf(epoch, sizeof epoch, "%lld", (long long)append->epoch);
        cv_properties_set(summary, CV_QUERY_ID_KEY, append->query_id);
        cv_properties_set(summary, CV_EPOCH_ID_KEY, epoch);
    }
    cv_snapshot_summary_totals(parent ? &parent->summary : NULL, &a->changes, summary);
    cv_summary_put_engine(summary);
    if (append->summary)
        cv_properties_copy(summary, append->summary);
    if (a->position_key)
        cv_properties_set(summary, a->position_key, a->position);
}

static enum cv_code add_snapshot(struct appending *a, struct cv_commit *commit,
                                 struct cv_table_metadata *next, struct cv_error *err)
{
    const struct cv_snapshot *parent = cv_table_metadata_head(next, cv_table_branch(commit->table));
    CV_CLEANUP(cv_properties_release) struct cv_properties summary = {0};
    const struct cv_avro_metadata extra = {a->position_key, a->long_position};
    struct cv_new_snapshot snapshot = {
        .summary = &summary, .extra = &extra, .extra_count = a->long_position.ptr ? 1 : 0};

    if (a->append->replaces)
        CV_DO(replace_rows(a, commit, next, &snapshot, err));
    else
        CV_DO(join_rows(a, commit, parent, &snapshot, err));
    fill_summary(a, parent, &summary);
    return cv_commit_add_snapshot(commit, next, &snapshot, err);
}

static enum cv_code build(void *context, struct cv_commit *commit, struct cv_table_metadata *next,
                          bool *ret_done, struct cv_error *err)
{
    struct appending *a = context;

    CV_DO(cv_check_branch(commit->table, next, err));
    if (a->append->validate)
        CV_DO(a->append->validate(a->append->validate_context, next, err));
    CV_DO(check_epoch(a, commit->table, next, ret_done, err));
    if (*ret_done)
        return CV_OK;
    CV_DO(cv_check_specs(next, a->append->files, a->append->file_count, err));
    if (!a->manifests.count && a->append->file_count) {
        cv_changes_of_files(next, a->append->files, a->append->file_count, &a->changes);
        CV_DO(cv_commit_write_added(commit, next, a->append->files, NULL, a->append->file_count,
                                    &a->manifests, err));
    }
    return add_snapshot(a, commit, next, err);
}

static enum cv_code prepare_position(struct appending *a, struct cv_arena *arena,
                                     struct cv_error *err)
{
    const struct cv_append *append = a->append;

    if (!append->query_id || !append->job)
        return CV_OK;
    a->position_key = cv_arena_printf(arena, CV_POSITION_KEY "%s", append->job);
    return cv_position_write(append->query_id, append->epoch, append->cluster_id,
                             append->offsets_json, arena, &a->position, &a->long_position, err);
}

enum cv_code cv_table_append(struct cv_table *table, const struct cv_append *append,
                             struct cv_append_result *ret_result, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct appending a = {.append = append};
    struct cv_commit_operation operation = {.build = build,
                                            .context = &a,
                                            .makes_snapshot = true,
                                            .keeps_definitions = append->keeps_definitions};
    struct cv_commit_outcome outcome;
    enum cv_code code;

    CV_DO(prepare_position(&a, &arena, err));
    if (append->files_unsynced) {
        const char **files = cv_arena_array(&arena, const char *, append->file_count);

        for (size_t i = 0; i < append->file_count; i++)
            files[i] = append->files[i].path;
        operation.unsynced = files;
        operation.unsynced_count = append->file_count;
    }
    code = cv_commit_run(table, &operation, &outcome, err);
    cv_new_manifests_release(&a.manifests);
    cv_clearing_release(&a.clearing);
    CV_TRY(code, err, "table %s", cv_table_name_text(&table->name, &arena));
    *ret_result =
        (struct cv_append_result){outcome.already_done ? a.last_snapshot_id : outcome.snapshot_id,
                                  outcome.already_done, outcome.attempts};
    return CV_OK;
}
