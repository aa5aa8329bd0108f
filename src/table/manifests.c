/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifest lists and manifests of a table: reading them, and the cache of the branch head's list
 * that spares a commit the reading. */
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

/* A manifest that a v1 snapshot names itself: what a list's row would say comes from the file. */
static enum cv_code inline_row(struct cv_table *table, const struct cv_snapshot *snapshot,
                               const char *path, struct cv_arena *arena,
                               struct cv_manifest_file *ret_row, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(CV_MANIFEST_BYTES_MAX);
    CV_CLEANUP(cv_avro_file_reader_release) struct cv_avro_file_reader reader = {0};
    const struct cv_str *text;
    int64_t spec_id = 0;

    CV_DO(cv_store_read(table->store, path, CV_MANIFEST_BYTES_MAX, &bytes, err));
    CV_TRY(cv_avro_file_reader_init(&reader, bytes.data, bytes.length, err), err, "manifest %s",
           path);
    text = cv_avro_file_metadata(&reader, "partition-spec-id");
    if (text && (!cv_parse_i64(*text, &spec_id) || spec_id < 0 || spec_id > INT32_MAX))
        return cv_fail(err, CV_FORMAT, "manifest %s: partition-spec-id is not a number", path);
    *ret_row = (struct cv_manifest_file)CV_MANIFEST_FILE_INIT;
    ret_row->path = copy_text(arena, path);
    ret_row->length = (int64_t)bytes.length;
    ret_row->spec_id = (int32_t)spec_id;
    ret_row->added_snapshot_id = snapshot->id;
    return CV_OK;
}

static enum cv_code read_rows(struct cv_table *table, const struct cv_snapshot *snapshot,
                              struct cv_arena *arena, struct cv_manifest_file **ret_rows,
                              size_t *ret_count, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(CV_MANIFEST_BYTES_MAX);
    const char *list = snapshot->manifest_list;
    struct cv_manifest_file *rows;

    if (list) {
        CV_DO(cv_store_read(table->store, list, CV_MANIFEST_BYTES_MAX, &bytes, err));
        CV_TRY(
            cv_manifest_list_read(bytes.data, bytes.length, arena, ret_rows, ret_count, NULL, err),
            err, "manifest list %s", list);
        return CV_OK;
    }
    rows = cv_arena_array(arena, struct cv_manifest_file, snapshot->manifest_count);
    for (size_t i = 0; i < snapshot->manifest_count; i++)
        CV_DO(inline_row(table, snapshot, snapshot->manifests[i], arena, &rows[i], err));
    *ret_rows = rows;
    *ret_count = snapshot->manifest_count;
    return CV_OK;
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
        enum cv_code code = read_rows(table, snapshot, &arena, &rows, &count, err);

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
        return read_rows(table, snapshot, arena, ret_rows, ret_count, err);
    *ret_rows = cv_manifest_files_copy(table->manifests, table->manifest_count, arena);
    *ret_count = table->manifest_count;
    return CV_OK;
}

enum cv_code cv_table_manifest_entries(struct cv_table *table, const struct cv_manifest_file *row,
                                       struct cv_arena *arena,
                                       struct cv_manifest_entry **ret_entries, size_t *ret_count,
                                       struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(CV_MANIFEST_BYTES_MAX);
    const struct cv_table_metadata *metadata = table->metadata;

    CV_DO(cv_store_read(table->store, row->path, CV_MANIFEST_BYTES_MAX, &bytes, err));
    CV_TRY(cv_manifest_read(bytes.data, bytes.length, row, cv_table_metadata_schema(metadata),
                            metadata->specs, metadata->spec_count, arena, ret_entries, ret_count,
                            err),
           err, "manifest %s", row->path);
    return CV_OK;
}
