/* SPDX-License-Identifier: Apache-2.0
 *
 * Fast append. The manifests of the new files are written once, since what differs between attempts
 * (sequence numbers) is inherited from the manifest list, which is written anew each time. */
#include "table/append.h"

#include "base/fault.h"
#include "base/time.h"
#include "table/changes.h"
#include "table/commit.h"
#include "table/position_int.h"

#include <stdio.h>
#include <stdlib.h>

#define FILES_PER_MANIFEST 20000 /* some 8 MB, commit.manifest.target-size-bytes */

struct appending {
    const struct cv_append *append;
    struct cv_manifest_file *rows; /* of the new manifests; NULL until the first attempt */
    size_t row_count, row_capacity;
    struct cv_snapshot_changes changes;
    const char *position_key; /* NULL = no position */
    const char *position;
    struct cv_str long_position;
    int64_t last_snapshot_id; /* where the table already has this epoch */
};

static enum cv_code check_branch(const struct cv_table *table,
                                 const struct cv_table_metadata *metadata, struct cv_error *err)
{
    const char *branch = table->name.branch;
    const struct cv_snapshot_ref *ref;

    if (!branch || strcmp(branch, "main") == 0)
        return CV_OK;
    ref = cv_table_metadata_ref(metadata, branch);
    if (!ref)
        return cv_fail(err, CV_NOT_FOUND, "table %s has no branch %s", table->name.table, branch);
    if (ref->is_tag)
        return cv_fail(err, CV_CONFIG, "%s is a tag of table %s, not a branch", branch,
                       table->name.table);
    return CV_OK;
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
    *ret_done = epoch == append->epoch;
    if (*ret_done)
        a->last_snapshot_id = snapshot->id;
    return CV_OK;
}

static enum cv_code write_manifest(struct appending *a, struct cv_commit *commit,
                                   const struct cv_table_metadata *metadata,
                                   const struct cv_partition_spec *spec,
                                   const struct cv_manifest_entry *entries, size_t count,
                                   struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(CV_MANIFEST_BYTES_MAX);
    const struct cv_manifest_writer_config config = {
        .format_version = metadata->format_version,
        .schema = cv_table_metadata_schema(metadata),
        .spec = spec,
        .snapshot_id = commit->snapshot_id,
        .codec = CV_CODEC_DEFLATE,
    };
    struct cv_manifest_file row = {0};
    const char *folder = cv_metadata_folder(commit->table->catalog, metadata, &commit->arena);

    CV_DO(cv_manifest_write(&config, entries, count, &bytes, &commit->arena, &row, err));
    row.path = cv_location_join(
        &commit->arena, folder,
        cv_arena_printf(&commit->arena, "%s-m%zu.avro", commit->uuid, a->row_count));
    row.length = (int64_t)bytes.length;
    CV_DO(cv_commit_write(commit, row.path, &bytes, 0, err));
    CV_DO(cv_fault_pass("manifest-written", err));
    cv_array_reserve(&a->rows, &a->row_capacity, a->row_count + 1);
    a->rows[a->row_count++] = row;
    return CV_OK;
}

/* The manifests of one spec. */
static enum cv_code write_spec(struct appending *a, struct cv_commit *commit,
                               const struct cv_table_metadata *metadata,
                               const struct cv_partition_spec *spec, struct cv_error *err)
{
    const struct cv_append *append = a->append;
    CV_CLEANUP(cv_freep) struct cv_manifest_entry *entries = NULL;
    size_t capacity = 0;
    size_t count = 0;

    for (size_t i = 0; i < append->file_count; i++) {
        if (append->files[i].spec_id != spec->spec_id)
            continue;
        cv_array_reserve(&entries, &capacity, count + 1);
        entries[count++] =
            (struct cv_manifest_entry){CV_ENTRY_ADDED, commit->snapshot_id, CV_SEQUENCE_INHERIT,
                                       CV_SEQUENCE_INHERIT, append->files[i]};
        if (count == FILES_PER_MANIFEST) {
            CV_DO(write_manifest(a, commit, metadata, spec, entries, count, err));
            count = 0;
        }
    }
    if (!count)
        return CV_OK;
    return write_manifest(a, commit, metadata, spec, entries, count, err);
}

static enum cv_code check_specs(const struct cv_append *append,
                                const struct cv_table_metadata *metadata, struct cv_error *err)
{
    for (size_t i = 0; i < append->file_count; i++)
        if (!cv_table_metadata_spec_by_id(metadata, append->files[i].spec_id))
            return cv_fail(err, CV_SCHEMA,
                           "%s was written with partition spec %d, which the table "
                           "does not have",
                           append->files[i].path, append->files[i].spec_id);
    return CV_OK;
}

static enum cv_code write_manifests(struct appending *a, struct cv_commit *commit,
                                    const struct cv_table_metadata *metadata, struct cv_error *err)
{
    for (size_t i = 0; i < metadata->spec_count; i++)
        CV_DO(write_spec(a, commit, metadata, &metadata->specs[i], err));
    return CV_OK;
}

/* The new rows with this attempt's sequence number, then the parent's. */
static enum cv_code join_rows(struct appending *a, struct cv_commit *commit,
                              const struct cv_snapshot *parent, int64_t sequence_number,
                              struct cv_error *err)
{
    const struct cv_manifest_file *old;
    struct cv_manifest_file *rows;
    size_t old_count;

    CV_DO(cv_table_cached_manifests(commit->table, parent, &old, &old_count, err));
    rows = cv_arena_array(&commit->arena, struct cv_manifest_file, a->row_count + old_count);
    for (size_t i = 0; i < a->row_count; i++) {
        rows[i] = a->rows[i];
        rows[i].added_snapshot_id = commit->snapshot_id;
        rows[i].sequence_number = sequence_number;
        rows[i].min_sequence_number = sequence_number;
    }
    if (old_count)
        memcpy(rows + a->row_count, old, old_count * sizeof *rows);
    commit->rows = rows;
    commit->row_count = a->row_count + old_count;
    return CV_OK;
}

static enum cv_code write_list(struct appending *a, struct cv_commit *commit,
                               const struct cv_table_metadata *metadata,
                               const struct cv_snapshot *snapshot, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(CV_MANIFEST_BYTES_MAX);
    const struct cv_avro_metadata extra = {a->position_key, a->long_position};
    const struct cv_manifest_list_config config = {
        .format_version = metadata->format_version,
        .snapshot_id = snapshot->id,
        .parent_snapshot_id = snapshot->parent_id,
        .sequence_number = snapshot->sequence_number,
        .codec = CV_CODEC_DEFLATE,
        .extra = &extra,
        .extra_count = a->long_position.ptr ? 1 : 0,
    };

    CV_DO(cv_manifest_list_write(&config, commit->rows, commit->row_count, &bytes, err));
    CV_DO(cv_commit_write(commit, snapshot->manifest_list, &bytes, commit->attempt, err));
    return cv_fault_pass("manifest-list-written", err);
}

static void fill_summary(const struct appending *a, const struct cv_snapshot *parent,
                         struct cv_properties *summary)
{
    const struct cv_append *append = a->append;

    cv_properties_set(summary, "operation", "append");
    if (append->query_id) {
        char epoch[24];

        (void)snprintf(epoch, sizeof epoch, "%lld", (long long)append->epoch);
        cv_properties_set(summary, CV_QUERY_ID_KEY, append->query_id);
        cv_properties_set(summary, CV_EPOCH_ID_KEY, epoch);
    }
    cv_snapshot_summary_totals(parent ? &parent->summary : NULL, &a->changes, summary);
    cv_properties_set(summary, "engine-name", "calve");
    cv_properties_set(summary, "engine-version", CALVE_VERSION);
    if (append->summary)
        cv_properties_copy(summary, append->summary);
    if (a->position_key)
        cv_properties_set(summary, a->position_key, a->position);
}

static enum cv_code add_snapshot(struct appending *a, struct cv_commit *commit,
                                 struct cv_table_metadata *next, struct cv_error *err)
{
    const char *branch = cv_table_branch(commit->table);
    const struct cv_snapshot *parent = cv_table_metadata_head(next, branch);
    CV_CLEANUP(cv_properties_release) struct cv_properties summary = {0};
    struct cv_snapshot snapshot = {
        .id = commit->snapshot_id,
        .parent_id = parent ? parent->id : -1,
        .sequence_number = next->format_version > 1 ? next->last_sequence_number + 1 : 0,
        .timestamp_ms = cv_now_ms(),
        .schema_id = next->current_schema_id,
    };

    snapshot.manifest_list = cv_location_join(
        &commit->arena, cv_metadata_folder(commit->table->catalog, next, &commit->arena),
        cv_arena_printf(&commit->arena, "snap-%lld-%d-%s.avro", (long long)commit->snapshot_id,
                        commit->attempt, commit->uuid));
    CV_DO(join_rows(a, commit, parent, snapshot.sequence_number, err));
    CV_DO(write_list(a, commit, next, &snapshot, err));
    fill_summary(a, parent, &summary);
    snapshot.summary = summary;
    return cv_table_metadata_add_snapshot(next, &snapshot, branch, err);
}

static enum cv_code build(void *context, struct cv_commit *commit, struct cv_table_metadata *next,
                          bool *ret_done, struct cv_error *err)
{
    struct appending *a = context;

    CV_DO(check_branch(commit->table, next, err));
    if (a->append->validate)
        CV_DO(a->append->validate(a->append->validate_context, next, err));
    CV_DO(check_epoch(a, commit->table, next, ret_done, err));
    if (*ret_done)
        return CV_OK;
    CV_DO(check_specs(a->append, next, err));
    if (!a->row_count && a->append->file_count) {
        cv_changes_of_files(next, a->append->files, a->append->file_count, &a->changes);
        CV_DO(write_manifests(a, commit, next, err));
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
    struct cv_commit_operation operation = {.build = build, .context = &a, .makes_snapshot = true};
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
    free(a.rows);
    CV_TRY(code, err, "table %s", cv_table_name_text(&table->name, &arena));
    *ret_result =
        (struct cv_append_result){outcome.already_done ? a.last_snapshot_id : outcome.snapshot_id,
                                  outcome.already_done, outcome.attempts};
    return CV_OK;
}
