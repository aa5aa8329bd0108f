/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether delete files that came after a change was planned apply to the data files that it takes
 * out (spec: Scan Planning): their deletes would be lost. */
#include "table/rewrite_int.h"

#include <stdlib.h>

#define FILE_PATH_COLUMN 2147483546 /* of position delete files */

/* The data files by partition: chains through `next`, index + 1. */
struct replaced {
    const struct cv_table_metadata *metadata;
    const struct cv_data_file *files;
    size_t *next;
    struct cv_map partitions;
    struct cv_buf key;
};

static void replaced_release(struct replaced *replaced)
{
    free(replaced->next);
    cv_map_release(&replaced->partitions);
    cv_buf_release(&replaced->key);
}

static void make_key(struct replaced *replaced, const struct cv_data_file *file)
{
    const struct cv_partition_spec *spec =
        cv_table_metadata_spec_by_id(replaced->metadata, file->spec_id);

    cv_buf_clear(&replaced->key);
    cv_partition_key(file->spec_id, file->partition, spec ? spec->field_count : 0, &replaced->key);
}

static size_t index_files(struct replaced *replaced, size_t count)
{
    size_t data_files = 0;

    replaced->next = cv_alloc((count + 1) * sizeof *replaced->next);
    for (size_t i = 0; i < count; i++) {
        if (replaced->files[i].content != CV_CONTENT_DATA)
            continue;
        make_key(replaced, &replaced->files[i]);
        replaced->next[i] =
            (size_t)(uintptr_t)cv_map_set(&replaced->partitions, replaced->key.data,
                                          replaced->key.length, (void *)(uintptr_t)(i + 1));
        data_files++;
    }
    return data_files;
}

static int compare_bytes(struct cv_str a, const char *text)
{
    size_t length = strlen(text);
    int order = memcmp(a.ptr, text, CV_MIN(a.length, length));

    return order ? order : (a.length > length) - (a.length < length);
}

/* By the file that the delete file names, else by the bounds of the paths in it. */
static bool may_name(const struct cv_data_file *deletes, const char *path)
{
    if (deletes->referenced_data_file)
        return strcmp(deletes->referenced_data_file, path) == 0;
    for (size_t i = 0; i < deletes->metrics.column_count; i++) {
        const struct cv_column_metrics *column = &deletes->metrics.columns[i];

        if (column->field_id != FILE_PATH_COLUMN)
            continue;
        if (column->lower.ptr && compare_bytes(column->lower, path) > 0)
            return false;
        if (column->upper.ptr && compare_bytes(column->upper, path) < 0)
            return false;
    }
    return true;
}

/* A data file that the deletes apply to, all of them being newer; NULL. */
static const struct cv_data_file *find_target(struct replaced *replaced, size_t count,
                                              const struct cv_data_file *deletes)
{
    const struct cv_partition_spec *spec =
        cv_table_metadata_spec_by_id(replaced->metadata, deletes->spec_id);
    bool equality = deletes->content == CV_CONTENT_EQUALITY_DELETES;
    size_t at;

    for (size_t i = 0; equality && spec && !spec->field_count && i < count; i++)
        if (replaced->files[i].content == CV_CONTENT_DATA)
            return &replaced->files[i]; /* unpartitioned equality deletes are global */
    make_key(replaced, deletes);
    at = (size_t)(uintptr_t)cv_map_get(&replaced->partitions, replaced->key.data,
                                       replaced->key.length);
    for (; at; at = replaced->next[at - 1])
        if (equality || may_name(deletes, replaced->files[at - 1].path))
            return &replaced->files[at - 1];
    return NULL;
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

static enum cv_code check_manifest(struct replaced *replaced, size_t count, struct cv_table *table,
                                   const struct cv_between *between,
                                   const struct cv_manifest_file *row, bool ignore_equality_deletes,
                                   struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    struct cv_manifest_entry *entries;
    size_t entry_count;

    CV_DO(cv_table_manifest_entries(table, row, &scratch, &entries, &entry_count, err));
    for (size_t i = 0; i < entry_count; i++) {
        const struct cv_manifest_entry *entry = &entries[i];
        const struct cv_data_file *target;

        if (entry->status == CV_ENTRY_DELETED || !cv_between_find(between, entry->snapshot_id) ||
            entry->sequence_number <= between->start->sequence_number ||
            (ignore_equality_deletes && entry->file.content == CV_CONTENT_EQUALITY_DELETES))
            continue;
        target = find_target(replaced, count, &entry->file);
        if (target)
            return fail_deletes(between, entry, target, err);
    }
    return CV_OK;
}

enum cv_code cv_check_new_deletes(struct cv_table *table, const struct cv_table_metadata *metadata,
                                  const struct cv_between *between,
                                  const struct cv_data_file *files, size_t count,
                                  bool ignore_equality_deletes, struct cv_error *err)
{
    CV_CLEANUP(replaced_release)
    struct replaced replaced = {.metadata = metadata, .files = files};
    const struct cv_manifest_file *rows;
    size_t row_count;

    if (!between->count || !index_files(&replaced, count))
        return CV_OK;
    CV_DO(cv_table_cached_manifests(table, between->snapshots[0], &rows, &row_count, err));
    for (size_t i = 0; i < row_count; i++)
        if (rows[i].deletes && cv_between_find(between, rows[i].added_snapshot_id))
            CV_DO(check_manifest(&replaced, count, table, between, &rows[i],
                                 ignore_equality_deletes, err));
    return CV_OK;
}
