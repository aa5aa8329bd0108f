/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether delete files that came after a change was planned apply to the data files that it takes
 * out (spec: Scan Planning): their deletes would be lost. */
#include "table/rewrite_int.h"

#include "iceberg/delete_index.h"
#include "iceberg/snapshot_files.h"

#include <stdlib.h>

/* Delete files that came between. */
struct new_deletes {
    const struct cv_table_metadata *metadata;
    const struct cv_between *between;
    bool ignore_equality_deletes;
    struct cv_arena arena;
    const struct cv_manifest_entry **entries;
    size_t count, capacity;
};

static void new_deletes_release(struct new_deletes *deletes)
{
    free(deletes->entries);
    cv_arena_release(&deletes->arena);
}

static bool is_new(const struct new_deletes *deletes, const struct cv_manifest_entry *entry)
{
    return entry->status != CV_ENTRY_DELETED &&
           cv_between_find(deletes->between, entry->snapshot_id) &&
           entry->sequence_number > deletes->between->start->sequence_number &&
           !(deletes->ignore_equality_deletes &&
             entry->file.content == CV_CONTENT_EQUALITY_DELETES);
}

static void keep(struct new_deletes *deletes, const struct cv_manifest_entry *entry)
{
    const struct cv_partition_spec *spec =
        cv_table_metadata_spec_by_id(deletes->metadata, entry->file.spec_id);
    struct cv_manifest_entry *copy = cv_arena_new(&deletes->arena, struct cv_manifest_entry);

    *copy = *entry;
    cv_data_file_copy(&entry->file, spec ? spec->field_count : 0, &deletes->arena, &copy->file);
    cv_array_reserve(&deletes->entries, &deletes->capacity, deletes->count + 1);
    deletes->entries[deletes->count++] = copy;
}

static enum cv_code read_manifest(struct new_deletes *deletes, struct cv_table *table,
                                  const struct cv_manifest_file *row, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    struct cv_manifest_entry *entries;
    size_t count;

    CV_DO(cv_table_manifest_entries(table, row, &scratch, &entries, &count, err));
    for (size_t i = 0; i < count; i++)
        if (is_new(deletes, &entries[i]))
            keep(deletes, &entries[i]);
    return CV_OK;
}

static enum cv_code fail_deletes(const struct cv_between *between,
                                 const struct cv_manifest_entry *entry,
                                 const struct cv_data_file *target, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    const struct cv_snapshot *snapshot = cv_between_find(between, entry->snapshot_id);

    (void)cv_fail(
        err, CV_CONFLICT, "%s added %s deletes that apply to %s, which was to be replaced",
        cv_snapshot_describe(snapshot, &scratch),
        entry->file.content == CV_CONTENT_EQUALITY_DELETES ? "equality" : "position", target->path);
    cv_hint(err, "plan again from the newest snapshot");
    return CV_CONFLICT;
}

/* All of the data files are older than the deletes. */
static enum cv_code check_files(const struct new_deletes *deletes, const struct cv_data_file *files,
                                size_t count, struct cv_error *err)
{
    CV_CLEANUP(cv_delete_index_freep)
    struct cv_delete_index *index =
        cv_delete_index_new(deletes->entries, deletes->count, deletes->metadata);
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;

    for (size_t i = 0; i < count; i++) {
        struct cv_manifest_entry data = {
            .sequence_number = deletes->between->start->sequence_number, .file = files[i]};
        const struct cv_manifest_entry *const *found;
        size_t found_count = 0;

        if (files[i].content != CV_CONTENT_DATA)
            continue;
        cv_arena_reset(&scratch);
        cv_delete_index_find(index, &data, &scratch, &found, &found_count);
        if (found_count)
            return fail_deletes(deletes->between, found[0], &files[i], err);
    }
    return CV_OK;
}

static bool has_data(const struct cv_data_file *files, size_t count)
{
    size_t i = 0;

    while (i < count && files[i].content != CV_CONTENT_DATA)
        i++;
    return i < count;
}

enum cv_code cv_check_new_deletes(struct cv_table *table, const struct cv_table_metadata *metadata,
                                  const struct cv_between *between,
                                  const struct cv_data_file *files, size_t count,
                                  bool ignore_equality_deletes, struct cv_error *err)
{
    CV_CLEANUP(new_deletes_release)
    struct new_deletes deletes = {.metadata = metadata,
                                  .between = between,
                                  .ignore_equality_deletes = ignore_equality_deletes};
    const struct cv_manifest_file *rows;
    size_t row_count;

    if (!between->count || !has_data(files, count))
        return CV_OK;
    CV_DO(cv_table_cached_manifests(table, between->snapshots[0], &rows, &row_count, err));
    for (size_t i = 0; i < row_count; i++)
        if (rows[i].deletes && cv_between_find(between, rows[i].added_snapshot_id))
            CV_DO(read_manifest(&deletes, table, &rows[i], err));
    return deletes.count ? check_files(&deletes, files, count, err) : CV_OK;
}
