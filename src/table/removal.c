/* SPDX-License-Identifier: Apache-2.0
 *
 * Taking files out of the manifests that hold them. */
#include "table/rewrite_int.h"

#include <stdlib.h>

/* What became of one manifest of the table. */
struct filtered {
    bool changed;
    struct cv_manifest_file row; /* when changed */
    size_t *found;               /* indices of removed files */
    size_t found_count;
};

/* `cut`: the first of the history that is left, where snapshots before it were expired. */
static enum cv_code fail_between(const struct cv_table_metadata *metadata, const char *branch,
                                 int64_t start_id, const struct cv_snapshot *cut,
                                 struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    bool known = cv_table_metadata_snapshot(metadata, start_id) != NULL;
    const char *why = "it was expired";

    if (start_id < 0)
        return cv_fail(err, CV_CONFLICT,
                       "the history of %s is not known from its beginning: snapshots before %s "
                       "were expired",
                       branch, cv_snapshot_describe(cut, &scratch));
    if (known && cut)
        why = cv_arena_printf(&scratch, "snapshots before %s were expired",
                              cv_snapshot_describe(cut, &scratch));
    else if (known)
        why = "it was rolled back";
    return cv_fail(err, CV_CONFLICT,
                   "snapshot %lld, which the change was planned from, is no longer in the history "
                   "of %s: %s",
                   (long long)start_id, branch, why);
}

enum cv_code cv_between_init(struct cv_between *between, const struct cv_table_metadata *metadata,
                             const char *branch, int64_t start_id, struct cv_arena *arena,
                             struct cv_error *err)
{
    struct cv_history history = cv_history_of(metadata, branch);
    const struct cv_snapshot *snapshot;
    const struct cv_snapshot *first;
    bool has_gap;

    *between = (struct cv_between){0};
    between->snapshots =
        cv_arena_array(arena, const struct cv_snapshot *, metadata->snapshot_count);
    while ((snapshot = cv_history_next(&history)) && snapshot->id != start_id) {
        between->snapshots[between->count++] = snapshot;
        (void)cv_map_set(&between->by_id, &snapshot->id, sizeof snapshot->id,
                         (void *)(uintptr_t)snapshot);
    }
    between->start = snapshot;
    first = between->count ? between->snapshots[between->count - 1] : NULL;
    has_gap = first && !snapshot && first->parent_id >= 0;
    if (snapshot || (start_id < 0 && !has_gap))
        return CV_OK;
    cv_between_release(between);
    return fail_between(metadata, branch, start_id, has_gap ? first : NULL, err);
}

void cv_between_release(struct cv_between *between)
{
    cv_map_release(&between->by_id);
}

const struct cv_snapshot *cv_between_find(const struct cv_between *between, int64_t id)
{
    return cv_map_get(&between->by_id, &id, sizeof id);
}

void cv_removal_init(struct cv_removal *removal, const struct cv_data_file *files, size_t count)
{
    *removal = (struct cv_removal){.files = files, .count = count};
    removal->found = cv_arena_array(&removal->arena, bool, count);
    for (size_t i = 0; i < count; i++) {
        (void)cv_map_set(&removal->by_path, files[i].path, strlen(files[i].path),
                         (void *)(uintptr_t)(i + 1));
        *(files[i].content == CV_CONTENT_DATA ? &removal->of_data : &removal->of_deletes) = true;
    }
}

void cv_removal_release(struct cv_removal *removal)
{
    cv_map_release(&removal->by_path);
    cv_map_release(&removal->filtered);
    cv_arena_release(&removal->arena);
}

/* Index of the file that the live entry is of, or SIZE_MAX. */
static size_t removed_index(const struct cv_removal *removal, const struct cv_manifest_entry *entry)
{
    const char *path = entry->file.path;

    if (entry->status == CV_ENTRY_DELETED)
        return SIZE_MAX;
    return (size_t)(uintptr_t)cv_map_get(&removal->by_path, path, strlen(path)) - 1;
}

/* The entries after the removal, in place of the old ones. */
static size_t filter_entries(struct cv_removal *removal, int64_t snapshot_id,
                             struct cv_manifest_entry *entries, size_t count,
                             struct filtered *filtered)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        size_t index = removed_index(removal, &entries[i]);

        if (entries[i].status == CV_ENTRY_DELETED)
            continue;
        entries[kept] = entries[i];
        entries[kept].status = CV_ENTRY_EXISTING;
        if (index != SIZE_MAX) {
            entries[kept].status = CV_ENTRY_DELETED;
            entries[kept].snapshot_id = snapshot_id;
            filtered->found[filtered->found_count++] = index;
        }
        kept++;
    }
    return kept;
}

static enum cv_code filter_manifest(struct cv_removal *removal, struct cv_commit *commit,
                                    const struct cv_table_metadata *metadata,
                                    const struct cv_manifest_file *row, struct filtered *filtered,
                                    struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    CV_CLEANUP(cv_new_manifests_release) struct cv_new_manifests written = {0};
    const struct cv_partition_spec *spec = cv_table_metadata_spec_by_id(metadata, row->spec_id);
    struct cv_manifest_entry *entries;
    size_t found = 0;
    size_t count;

    CV_DO(cv_table_manifest_entries(commit->table, row, &scratch, &entries, &count, err));
    for (size_t i = 0; i < count; i++)
        found += removed_index(removal, &entries[i]) != SIZE_MAX;
    if (!found)
        return CV_OK;
    if (!spec)
        return cv_fail(err, CV_FORMAT, "manifest %s is of partition spec %d, which is unknown",
                       row->path, row->spec_id);
    CV_DO(cv_check_manifest_spec(row, entries, count, err));
    filtered->changed = true;
    filtered->found = cv_arena_array(&removal->arena, size_t, found);
    count = filter_entries(removal, commit->snapshot_id, entries, count, filtered);
    CV_DO(cv_commit_write_manifest(commit, metadata, spec, row->deletes, entries, count, &written,
                                   err));
    filtered->row = written.rows[0];
    return CV_OK;
}

static bool has_live(const struct cv_manifest_file *row)
{
    return row->added_files != 0 || row->existing_files != 0; /* -1: not told */
}

/* Whether the manifest may hold removed files. One that was only added to since the start cannot:
 * the files are older. */
static bool may_hold(const struct cv_removal *removal, const struct cv_between *between,
                     const struct cv_manifest_file *row)
{
    if (!(row->deletes ? removal->of_deletes : removal->of_data))
        return false;
    return row->existing_files != 0 || !cv_between_find(between, row->added_snapshot_id);
}

static enum cv_code find_filtered(struct cv_removal *removal, struct cv_commit *commit,
                                  const struct cv_table_metadata *metadata,
                                  const struct cv_manifest_file *row,
                                  const struct filtered **ret_filtered, struct cv_error *err)
{
    struct filtered *filtered = cv_map_get(&removal->filtered, row->path, strlen(row->path));

    if (!filtered) {
        filtered = cv_arena_new(&removal->arena, struct filtered);
        CV_DO(filter_manifest(removal, commit, metadata, row, filtered, err));
        (void)cv_map_set(&removal->filtered, row->path, strlen(row->path), filtered);
    }
    *ret_filtered = filtered;
    return CV_OK;
}

/* Who removed the file; NULL when no manifest tells. */
static enum cv_code find_remover(struct cv_table *table, const struct cv_between *between,
                                 const struct cv_manifest_file *rows, size_t count,
                                 const struct cv_data_file *file,
                                 const struct cv_snapshot **ret_remover, struct cv_error *err)
{
    *ret_remover = NULL;
    for (size_t i = 0; i < count; i++) {
        CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
        struct cv_manifest_entry *entries;
        size_t entry_count;

        if (rows[i].deleted_files == 0 || rows[i].deletes != (file->content != CV_CONTENT_DATA) ||
            !cv_between_find(between, rows[i].added_snapshot_id))
            continue;
        CV_DO(cv_table_manifest_entries(table, &rows[i], &scratch, &entries, &entry_count, err));
        for (size_t k = 0; k < entry_count; k++)
            if (entries[k].status == CV_ENTRY_DELETED &&
                strcmp(entries[k].file.path, file->path) == 0)
                *ret_remover = cv_between_find(between, entries[k].snapshot_id);
    }
    /* manifests of removed entries only do not last: then whoever changed files since */
    for (size_t i = 0; i < between->count && !*ret_remover; i++)
        if (strcmp(cv_properties_get_or(&between->snapshots[i]->summary, "operation", ""),
                   "append") != 0)
            *ret_remover = between->snapshots[i];
    return CV_OK;
}

static enum cv_code check_found(const struct cv_removal *removal, struct cv_table *table,
                                const struct cv_between *between,
                                const struct cv_manifest_file *rows, size_t count,
                                struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    const struct cv_snapshot *remover;
    size_t first = removal->count;
    size_t missing = 0;

    for (size_t i = removal->count; i > 0; i--)
        if (!removal->found[i - 1]) {
            first = i - 1;
            missing++;
        }
    if (!missing)
        return CV_OK;
    CV_DO(find_remover(table, between, rows, count, &removal->files[first], &remover, err));
    (void)cv_fail(err, CV_CONFLICT, "%zu of %zu files are no longer in the table; %s removed %s",
                  missing, removal->count,
                  remover ? cv_snapshot_describe(remover, &scratch) : "an unknown snapshot",
                  removal->files[first].path);
    cv_hint(err, "plan again from the newest snapshot");
    return CV_CONFLICT;
}

enum cv_code cv_removal_apply(struct cv_removal *removal, struct cv_commit *commit,
                              const struct cv_table_metadata *metadata,
                              const struct cv_between *between,
                              const struct cv_new_manifests *added,
                              struct cv_new_snapshot *snapshot, struct cv_error *err)
{
    const struct cv_snapshot *head =
        cv_table_metadata_head(metadata, cv_table_branch(commit->table));
    const struct cv_manifest_file *old;
    struct cv_manifest_file *rows;
    size_t old_count;
    size_t count = 0;

    CV_DO(cv_table_cached_manifests(commit->table, head, &old, &old_count, err));
    rows = cv_arena_array(&commit->arena, struct cv_manifest_file, added->count + old_count);
    for (; count < added->count; count++)
        rows[count] = added->rows[count];
    memset(removal->found, false, removal->count * sizeof *removal->found);
    removal->replaced_manifests = 0;
    for (size_t i = 0; i < old_count; i++) {
        const struct filtered *filtered;

        if (!has_live(&old[i]))
            continue;
        rows[count++] = old[i];
        if (!may_hold(removal, between, &old[i]))
            continue;
        CV_DO(find_filtered(removal, commit, metadata, &old[i], &filtered, err));
        if (!filtered->changed)
            continue;
        rows[count - 1] = filtered->row;
        removal->replaced_manifests++;
        for (size_t k = 0; k < filtered->found_count; k++)
            removal->found[filtered->found[k]] = true;
    }
    CV_DO(check_found(removal, commit->table, between, old, old_count, err));
    snapshot->rows = rows;
    snapshot->row_count = count;
    return CV_OK;
}
