/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifest lists and manifests of a table, and the cache of the branch head's list
 * that spares a commit the reading. */
#include "iceberg/snapshot_files.h"
#include "table/table_int.h"

static const char *copy_text(struct cv_arena *arena, const char *text)
{
    return text ? cv_arena_strdup(arena, text) : NULL;
}

static struct cv_str copy_bytes(struct cv_arena *arena, struct cv_str bytes)
{
    if (!bytes.ptr)
        return bytes;
    return (struct cv_str){cv_arena_copy(arena, bytes.ptr, bytes.length), bytes.length};
}

static struct cv_partition_summary *copy_summaries(const struct cv_manifest_file *row,
                                                   struct cv_arena *arena)
{
    struct cv_partition_summary *copy =
        cv_arena_copy(arena, row->partitions, row->partition_count * sizeof *copy);

    for (size_t i = 0; i < row->partition_count; i++) {
        copy[i].lower = copy_bytes(arena, copy[i].lower);
        copy[i].upper = copy_bytes(arena, copy[i].upper);
    }
    return copy;
}

struct cv_manifest_file *cv_manifest_files_copy(const struct cv_manifest_file *rows, size_t count,
                                                struct cv_arena *arena)
{
    struct cv_manifest_file *copy = cv_arena_copy(arena, rows, count * sizeof *copy);

    for (size_t i = 0; i < count; i++) {
        copy[i].path = copy_text(arena, rows[i].path);
        copy[i].key_metadata = copy_bytes(arena, rows[i].key_metadata);
        if (rows[i].partitions)
            copy[i].partitions = copy_summaries(&rows[i], arena);
    }
    return copy;
}

void cv_table_cache_manifests(struct cv_table *table, int64_t snapshot_id,
                              const struct cv_manifest_file *rows, size_t count)
{
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_manifest_file *copy = cv_manifest_files_copy(rows, count, &arena);

    cv_arena_release(&table->manifest_arena); /* only now: `rows` may point into it */
    table->manifest_arena = arena;
    table->manifest_snapshot_id = snapshot_id;
    table->manifests = copy;
    table->manifest_count = count;
}

enum cv_code cv_table_cached_manifests(struct cv_table *table, const struct cv_snapshot *snapshot,
                                       const struct cv_manifest_file **ret_rows, size_t *ret_count,
                                       struct cv_error *err)
{
    *ret_rows = NULL;
    *ret_count = 0;
    if (!snapshot)
        return CV_OK;
    if (table->manifest_snapshot_id != snapshot->id) {
        struct cv_arena arena = CV_ARENA_INIT;
        struct cv_manifest_file *rows;
        size_t count;
        enum cv_code code =
            cv_snapshot_manifests(table->store, snapshot, &arena, &rows, &count, err);

        if (code != CV_OK) {
            cv_arena_release(&arena);
            return code;
        }
        cv_arena_release(&table->manifest_arena);
        table->manifest_arena = arena;
        table->manifest_snapshot_id = snapshot->id;
        table->manifests = rows;
        table->manifest_count = count;
    }
    *ret_rows = table->manifests;
    *ret_count = table->manifest_count;
    return CV_OK;
}

enum cv_code cv_table_manifests(struct cv_table *table, const struct cv_snapshot *snapshot,
                                struct cv_arena *arena, struct cv_manifest_file **ret_rows,
                                size_t *ret_count, struct cv_error *err)
{
    if (table->manifest_snapshot_id != snapshot->id)
        return cv_snapshot_manifests(table->store, snapshot, arena, ret_rows, ret_count, err);
    *ret_rows = cv_manifest_files_copy(table->manifests, table->manifest_count, arena);
    *ret_count = table->manifest_count;
    return CV_OK;
}

enum cv_code cv_table_manifest_entries(struct cv_table *table, const struct cv_manifest_file *row,
                                       struct cv_arena *arena,
                                       struct cv_manifest_entry **ret_entries, size_t *ret_count,
                                       struct cv_error *err)
{
    return cv_snapshot_entries(table->store, table->metadata, row, arena, ret_entries, ret_count,
                               err);
}
