/* SPDX-License-Identifier: Apache-2.0
 *
 * See clearing.h. */
#include "table/clearing.h"

void cv_clearing_release(struct cv_clearing *clearing)
{
    cv_map_release(&clearing->written);
    cv_arena_release(&clearing->arena);
}

/* The live entries as removed ones, in place. */
static size_t mark_deleted(struct cv_manifest_entry *entries, size_t count, int64_t snapshot_id,
                           struct cv_change_counter *counter)
{
    size_t live = 0;

    for (size_t i = 0; i < count; i++) {
        if (entries[i].status == CV_ENTRY_DELETED)
            continue;
        cv_change_counter_remove(counter, &entries[i].file);
        entries[live] = entries[i];
        entries[live].status = CV_ENTRY_DELETED;
        entries[live++].snapshot_id = snapshot_id;
    }
    return live;
}

/* *ret_row is NULL when nothing in the manifest is live. */
static enum cv_code clear_manifest(struct cv_clearing *clearing, struct cv_commit *commit,
                                   const struct cv_table_metadata *metadata,
                                   const struct cv_manifest_file *row,
                                   struct cv_change_counter *counter,
                                   const struct cv_manifest_file **ret_row, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    CV_CLEANUP(cv_new_manifests_release) struct cv_new_manifests written = {0};
    const struct cv_partition_spec *spec = cv_table_metadata_spec_by_id(metadata, row->spec_id);
    struct cv_manifest_file *kept = cv_map_get(&clearing->written, row->path, strlen(row->path));
    struct cv_manifest_entry *entries;
    size_t count;

    *ret_row = kept;
    if (!spec)
        return cv_fail(err, CV_FORMAT, "manifest %s is of partition spec %d, which is unknown",
                       row->path, row->spec_id);
    CV_DO(cv_table_manifest_entries(commit->table, row, &scratch, &entries, &count, err));
    CV_DO(cv_check_manifest_spec(row, entries, count, err));
    count = mark_deleted(entries, count, commit->snapshot_id, counter);
    if (kept || !count)
        return CV_OK;
    CV_DO(cv_commit_write_manifest(commit, metadata, spec, row->deletes, entries, count, &written,
                                   err));
    kept = cv_manifest_files_copy(written.rows, 1, &clearing->arena);
    (void)cv_map_set(&clearing->written, row->path, strlen(row->path), kept);
    *ret_row = kept;
    return CV_OK;
}

enum cv_code cv_clearing_apply(struct cv_clearing *clearing, struct cv_commit *commit,
                               const struct cv_table_metadata *metadata,
                               const struct cv_new_manifests *added,
                               struct cv_change_counter *counter, struct cv_new_snapshot *snapshot,
                               struct cv_error *err)
{
    const struct cv_snapshot *head =
        cv_table_metadata_head(metadata, cv_table_branch(commit->table));
    const struct cv_manifest_file *old;
    struct cv_manifest_file *rows;
    size_t old_count;
    size_t count = added->count;

    CV_DO(cv_table_cached_manifests(commit->table, head, &old, &old_count, err));
    rows = cv_arena_array(&commit->arena, struct cv_manifest_file, added->count + old_count);
    if (added->count)
        memcpy(rows, added->rows, added->count * sizeof *rows);
    for (size_t i = 0; i < old_count; i++) {
        const struct cv_manifest_file *row;

        if (old[i].added_files == 0 && old[i].existing_files == 0)
            continue;
        CV_DO(clear_manifest(clearing, commit, metadata, &old[i], counter, &row, err));
        if (row)
            rows[count++] = *row;
    }
    snapshot->rows = rows;
    snapshot->row_count = count;
    return CV_OK;
}
