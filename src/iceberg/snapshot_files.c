/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifest lists and manifests of a snapshot, read through the store. */
#include "iceberg/snapshot_files.h"

/* A manifest that a v1 snapshot names itself: what a list's row would say comes from the file. */
static enum cv_code inline_row(struct cv_store *store, const struct cv_snapshot *snapshot,
                               const char *path, struct cv_arena *arena,
                               struct cv_manifest_file *ret_row, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(CV_MANIFEST_BYTES_MAX);
    CV_CLEANUP(cv_avro_file_reader_release) struct cv_avro_file_reader reader = {0};
    const struct cv_str *text;
    int64_t spec_id = 0;

    CV_DO(cv_store_read(store, path, CV_MANIFEST_BYTES_MAX, &bytes, err));
    CV_TRY(cv_avro_file_reader_init(&reader, bytes.data, bytes.length, err), err, "manifest %s",
           path);
    text = cv_avro_file_metadata(&reader, "partition-spec-id");
    if (text && (!cv_parse_i64(*text, &spec_id) || spec_id < 0 || spec_id > INT32_MAX))
        return cv_fail(err, CV_FORMAT, "manifest %s: partition-spec-id is not a number", path);
    *ret_row = (struct cv_manifest_file)CV_MANIFEST_FILE_INIT;
    ret_row->path = cv_arena_strdup(arena, path);
    ret_row->length = (int64_t)bytes.length;
    ret_row->spec_id = (int32_t)spec_id;
    ret_row->added_snapshot_id = snapshot->id;
    return CV_OK;
}

enum cv_code cv_snapshot_manifests(struct cv_store *store, const struct cv_snapshot *snapshot,
                                   struct cv_arena *arena, struct cv_manifest_file **ret_rows,
                                   size_t *ret_count, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(CV_MANIFEST_BYTES_MAX);
    const char *list = snapshot->manifest_list;
    struct cv_manifest_file *rows;

    if (list) {
        CV_DO(cv_store_read(store, list, CV_MANIFEST_BYTES_MAX, &bytes, err));
        CV_TRY(
            cv_manifest_list_read(bytes.data, bytes.length, arena, ret_rows, ret_count, NULL, err),
            err, "manifest list %s", list);
        return CV_OK;
    }
    rows = cv_arena_array(arena, struct cv_manifest_file, snapshot->manifest_count);
    for (size_t i = 0; i < snapshot->manifest_count; i++)
        CV_DO(inline_row(store, snapshot, snapshot->manifests[i], arena, &rows[i], err));
    *ret_rows = rows;
    *ret_count = snapshot->manifest_count;
    return CV_OK;
}

enum cv_code cv_snapshot_entries(struct cv_store *store, const struct cv_table_metadata *metadata,
                                 const struct cv_manifest_file *row, struct cv_arena *arena,
                                 struct cv_manifest_entry **ret_entries, size_t *ret_count,
                                 struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(CV_MANIFEST_BYTES_MAX);

    CV_DO(cv_store_read(store, row->path, CV_MANIFEST_BYTES_MAX, &bytes, err));
    CV_TRY(cv_manifest_read(bytes.data, bytes.length, row, cv_table_metadata_schema(metadata),
                            metadata->specs, metadata->spec_count, arena, ret_entries, ret_count,
                            err),
           err, "manifest %s", row->path);
    return CV_OK;
}

static struct cv_str copy_bytes(struct cv_arena *arena, struct cv_str bytes)
{
    if (!bytes.ptr)
        return bytes;
    return (struct cv_str){cv_arena_copy(arena, bytes.ptr, bytes.length), bytes.length};
}

static bool has_bytes(enum cv_type_kind kind)
{
    return kind == CV_TYPE_STRING || kind == CV_TYPE_BINARY || kind == CV_TYPE_UUID ||
           kind == CV_TYPE_FIXED;
}

static void copy_metrics(const struct cv_file_metrics *metrics, struct cv_arena *arena,
                         struct cv_file_metrics *copy)
{
    *copy = *metrics;
    copy->columns =
        cv_arena_copy(arena, metrics->columns, metrics->column_count * sizeof *copy->columns);
    for (size_t i = 0; i < copy->column_count; i++) {
        copy->columns[i].lower = copy_bytes(arena, metrics->columns[i].lower);
        copy->columns[i].upper = copy_bytes(arena, metrics->columns[i].upper);
    }
    copy->split_offsets =
        cv_arena_copy(arena, metrics->split_offsets, metrics->split_count * sizeof(int64_t));
}

void cv_data_file_copy(const struct cv_data_file *file, size_t partition_count,
                       struct cv_arena *arena, struct cv_data_file *ret_copy)
{
    struct cv_value *partition =
        cv_arena_copy(arena, file->partition, partition_count * sizeof *partition);

    *ret_copy = *file;
    for (size_t i = 0; i < partition_count; i++)
        if (!partition[i].is_null && has_bytes(partition[i].kind))
            partition[i].bytes = copy_bytes(arena, partition[i].bytes);
    ret_copy->partition = partition;
    ret_copy->path = cv_arena_strdup(arena, file->path);
    ret_copy->format = cv_arena_strdup(arena, file->format);
    ret_copy->equality_ids =
        cv_arena_copy(arena, file->equality_ids, file->equality_count * sizeof(int32_t));
    if (file->referenced_data_file)
        ret_copy->referenced_data_file = cv_arena_strdup(arena, file->referenced_data_file);
    ret_copy->key_metadata = copy_bytes(arena, file->key_metadata);
    copy_metrics(&file->metrics, arena, &ret_copy->metrics);
}

void cv_data_file_partition_key(const struct cv_data_file *file,
                                const struct cv_table_metadata *metadata, struct cv_buf *out)
{
    const struct cv_partition_spec *spec = cv_table_metadata_spec_by_id(metadata, file->spec_id);

    cv_buf_clear(out);
    cv_partition_key(file->spec_id, file->partition, spec ? spec->field_count : 0, out);
}
