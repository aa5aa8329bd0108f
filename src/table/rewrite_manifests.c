/* SPDX-License-Identifier: Apache-2.0
 *
 * Spark's rewrite_manifests: the manifests of one spec become as many as their bytes need. Written
 * once; an attempt on a newer head only looks whether the inputs are still there. */
#include "table/rewrite.h"

#include "table/manifest_sort.h"
#include "table/position_int.h"
#include "table/rewrite_int.h"

#define TARGET_BYTES_DEFAULT 8388608

/* Of data or of deletes. */
struct kind {
    struct cv_manifest_file *inputs; /* in the arena */
    size_t input_count;
    size_t output_count;
    int64_t live; /* entries, as the list tells */
};

struct rewriting {
    const struct cv_manifest_rewrite *rewrite;
    struct cv_arena arena;
    const struct cv_partition_spec *spec; /* of the first attempt's metadata, valid in it only */
    const size_t *fields;
    size_t field_count;
    struct kind kinds[2];
    int64_t base_id;      /* whose manifests were chosen; -1 before the first attempt */
    struct cv_map inputs; /* by path */
    struct cv_new_manifests written;
    size_t entries;
    struct cv_carried_positions carried;
};

static void rewriting_release(struct rewriting *r)
{
    cv_new_manifests_release(&r->written);
    cv_map_release(&r->inputs);
    cv_carried_positions_release(&r->carried);
    cv_arena_release(&r->arena);
}

static enum cv_code find_field(const struct rewriting *r, const char *name, size_t *ret_field,
                               struct cv_error *err)
{
    for (size_t i = 0; i < r->spec->field_count; i++)
        if (strcmp(r->spec->fields[i].name, name) == 0) {
            *ret_field = i;
            return CV_OK;
        }
    return cv_fail(err, CV_USAGE,
                   "Cannot set manifest sorting because specified field(s) [%s] were not found in "
                   "current partition spec. Spec ID %d",
                   name, r->spec->spec_id);
}

static enum cv_code choose_spec(struct rewriting *r, const struct cv_table_metadata *metadata,
                                struct cv_error *err)
{
    const struct cv_manifest_rewrite *rewrite = r->rewrite;
    size_t *fields;

    r->spec = rewrite->spec_id < 0 ? cv_table_metadata_spec(metadata)
                                   : cv_table_metadata_spec_by_id(metadata, rewrite->spec_id);
    if (!r->spec)
        return cv_fail(err, CV_USAGE, "Invalid spec id %d", rewrite->spec_id);
    r->field_count = rewrite->sort_by ? rewrite->sort_count : r->spec->field_count;
    fields = cv_arena_array(&r->arena, size_t, r->field_count);
    for (size_t i = 0; i < r->field_count; i++) {
        fields[i] = i;
        if (rewrite->sort_by)
            CV_DO(find_field(r, rewrite->sort_by[i], &fields[i], err));
    }
    r->fields = fields;
    return CV_OK;
}

static enum cv_code choose_kind(struct rewriting *r, const struct cv_table_metadata *metadata,
                                const struct cv_manifest_file *rows, size_t count, bool deletes,
                                struct cv_error *err)
{
    struct kind *kind = &r->kinds[deletes];
    int64_t target = TARGET_BYTES_DEFAULT;
    int64_t bytes = 0;

    CV_DO(cv_properties_get_i64(&metadata->properties, "commit.manifest.target-size-bytes", 1,
                                INT64_MAX / 2, &target, err));
    *kind = (struct kind){.inputs = cv_arena_array(&r->arena, struct cv_manifest_file, count)};
    for (size_t i = 0; i < count; i++) {
        if (rows[i].deletes != deletes || rows[i].spec_id != r->spec->spec_id)
            continue;
        kind->inputs[kind->input_count++] = rows[i];
        bytes += rows[i].length;
        kind->live += (int64_t)CV_MAX(rows[i].added_files, 0) + CV_MAX(rows[i].existing_files, 0);
    }
    kind->output_count = (size_t)((bytes + target - 1) / target);
    if (kind->input_count == 1 && kind->output_count == 1)
        kind->input_count = 0; /* as it should be */
    if (!kind->input_count)
        kind->output_count = 0;
    return CV_OK;
}

static enum cv_code choose(struct rewriting *r, struct cv_table *table,
                           const struct cv_table_metadata *metadata, struct cv_error *err)
{
    const struct cv_snapshot *head = cv_table_metadata_head(metadata, cv_table_branch(table));
    const struct cv_manifest_file *cached;
    struct cv_manifest_file *rows;
    size_t count;

    CV_DO(cv_check_branch(table, metadata, err));
    CV_DO(choose_spec(r, metadata, err));
    CV_DO(cv_table_cached_manifests(table, head, &cached, &count, err));
    rows = cv_manifest_files_copy(cached, count, &r->arena);
    CV_DO(choose_kind(r, metadata, rows, count, false, err));
    CV_DO(choose_kind(r, metadata, rows, count, true, err));
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < r->kinds[k].input_count; i++)
            (void)cv_map_set(&r->inputs, r->kinds[k].inputs[i].path,
                             strlen(r->kinds[k].inputs[i].path), r);
    return CV_OK;
}

static enum cv_code write_kind(struct rewriting *r, struct cv_commit *commit,
                               const struct cv_table_metadata *metadata, bool deletes,
                               struct cv_error *err)
{
    const struct kind *kind = &r->kinds[deletes];
    const struct cv_manifest_sort sort = {
        .commit = commit,
        .metadata = metadata,
        .spec = r->spec,
        .deletes = deletes,
        .inputs = kind->inputs,
        .input_count = kind->input_count,
        .output_count = kind->output_count,
        .fields = r->fields,
        .field_count = r->field_count,
        .memory_bytes = r->rewrite->memory_bytes,
    };
    size_t entries = 0;

    if (kind->input_count)
        CV_DO(cv_manifest_sort(&sort, &r->written, &entries, err));
    r->entries += entries;
    return CV_OK;
}

static enum cv_code fail_missing(const struct rewriting *r, struct cv_table *table,
                                 const struct cv_table_metadata *metadata, size_t missing,
                                 struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    CV_CLEANUP(cv_between_release) struct cv_between between = {0};
    const char *who = NULL;

    CV_DO(cv_between_init(&between, metadata, cv_table_branch(table), r->base_id, &scratch, err));
    for (size_t i = 0; i < between.count; i++)
        if (strcmp(cv_properties_get_or(&between.snapshots[i]->summary, "operation", ""),
                   "append") != 0)
            who = cv_snapshot_describe(between.snapshots[i], &scratch);
    (void)cv_fail(err, CV_CONFLICT, "%zu of %zu manifests are no longer in the table: %s", missing,
                  r->inputs.count, who ? who : "an append merged them");
    cv_hint(err, "run it again: it then starts from the newest snapshot");
    return CV_CONFLICT;
}

/* The written manifests, then what stays of the head's. */
static enum cv_code join_rows(const struct rewriting *r, struct cv_commit *commit,
                              const struct cv_table_metadata *next,
                              struct cv_new_snapshot *snapshot, struct cv_error *err)
{
    const struct cv_snapshot *head = cv_table_metadata_head(next, cv_table_branch(commit->table));
    const struct cv_manifest_file *old;
    size_t found = 0;
    size_t old_count;

    CV_DO(cv_table_cached_manifests(commit->table, head, &old, &old_count, err));
    snapshot->rows =
        cv_arena_array(&commit->arena, struct cv_manifest_file, r->written.count + old_count);
    for (size_t i = 0; i < r->written.count; i++)
        snapshot->rows[snapshot->row_count++] = r->written.rows[i];
    for (size_t i = 0; i < old_count; i++) {
        if (cv_map_has(&r->inputs, old[i].path, strlen(old[i].path)))
            found++;
        else
            snapshot->rows[snapshot->row_count++] = old[i];
    }
    if (found < r->inputs.count)
        return fail_missing(r, commit->table, next, r->inputs.count - found, err);
    return CV_OK;
}

static void fill_summary(const struct rewriting *r, const struct cv_snapshot *parent,
                         size_t row_count, struct cv_properties *summary)
{
    const struct cv_snapshot_changes none = {0};

    cv_properties_set(summary, "operation", "replace");
    cv_summary_put_count(summary, "manifests-created", r->written.count);
    cv_summary_put_count(summary, "manifests-kept", row_count - r->written.count);
    cv_summary_put_count(summary, "manifests-replaced", r->inputs.count);
    cv_summary_put_count(summary, "entries-processed", r->entries);
    cv_snapshot_summary_totals(&parent->summary, &none, summary);
    cv_summary_put_engine(summary);
    cv_position_put_carried(&r->carried, summary);
}

static enum cv_code add_snapshot(struct rewriting *r, struct cv_commit *commit,
                                 struct cv_table_metadata *next, struct cv_error *err)
{
    CV_CLEANUP(cv_properties_release) struct cv_properties summary = {0};
    struct cv_new_snapshot snapshot = {.summary = &summary};
    const struct cv_snapshot *head = cv_table_metadata_head(next, cv_table_branch(commit->table));

    CV_DO(join_rows(r, commit, next, &snapshot, err));
    CV_DO(cv_position_carry(commit->table, next, &r->carried, err));
    snapshot.extra = r->carried.extra;
    snapshot.extra_count = r->carried.extra_count;
    fill_summary(r, head, snapshot.row_count, &summary);
    return cv_commit_add_snapshot(commit, next, &snapshot, err);
}

static enum cv_code build(void *context, struct cv_commit *commit, struct cv_table_metadata *next,
                          bool *ret_done, struct cv_error *err)
{
    struct rewriting *r = context;
    const struct cv_snapshot *head = cv_table_metadata_head(next, cv_table_branch(commit->table));

    if (r->base_id < 0) {
        CV_DO(choose(r, commit->table, next, err));
        *ret_done = r->inputs.count == 0;
        if (*ret_done || commit->dry_run)
            return CV_OK;
        r->base_id = head->id;
        CV_DO(write_kind(r, commit, next, false, err));
        CV_DO(write_kind(r, commit, next, true, err));
    }
    return add_snapshot(r, commit, next, err);
}

enum cv_code cv_table_rewrite_manifests(struct cv_table *table,
                                        const struct cv_manifest_rewrite *rewrite,
                                        struct cv_manifest_rewrite_result *ret_result,
                                        struct cv_error *err)
{
    CV_CLEANUP(rewriting_release) struct rewriting r = {.rewrite = rewrite, .base_id = -1};
    const struct cv_commit_operation operation = {
        .build = build, .context = &r, .makes_snapshot = true, .dry_run = rewrite->dry_run};
    struct cv_manifest_rewrite_result result = {.snapshot_id = -1};
    struct cv_commit_outcome outcome;

    CV_TRY(cv_commit_run(table, &operation, &outcome, err), err, "table %s",
           cv_table_name_text(&table->name, &r.arena));
    result.rewritten = (int32_t)r.inputs.count;
    result.added = (int32_t)r.written.count;
    for (int k = 0; k < 2 && rewrite->dry_run; k++)
        result.added += (int32_t)CV_MIN((int64_t)r.kinds[k].output_count, r.kinds[k].live);
    if (!outcome.already_done)
        result.snapshot_id = outcome.snapshot_id;
    *ret_result = result;
    return CV_OK;
}
