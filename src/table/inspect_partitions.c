/* SPDX-License-Identifier: Apache-2.0
 *
 * Partitions of the branch head: files, records and bytes of each, and what changed it last. */
#include "table/inspect_int.h"

#include "base/map.h"

#include <stdlib.h>

struct partition_row {
    const struct cv_partition_spec *spec;
    const struct cv_value *values;
    const char *path; /* for the order */
    int64_t records, files, bytes;
    int64_t position_deletes, position_delete_files;
    int64_t equality_deletes, equality_delete_files;
    int64_t updated_ms, updated_snapshot_id;
};

struct partition_view {
    struct cv_table *table;
    struct cv_arena arena;
    struct cv_map rows_by_path;
    struct partition_row **rows;
    size_t count, capacity;
};

static const struct cv_value *copy_values(struct cv_arena *arena, const struct cv_value *values,
                                          size_t count)
{
    struct cv_value *copy = cv_arena_copy(arena, values, count * sizeof *copy);

    for (size_t i = 0; i < count; i++)
        if (!copy[i].is_null && copy[i].kind >= CV_TYPE_STRING && copy[i].kind <= CV_TYPE_BINARY)
            copy[i].bytes.ptr = cv_arena_copy(arena, copy[i].bytes.ptr, copy[i].bytes.length);
    return copy;
}

static struct partition_row *row_of(struct partition_view *view, const struct cv_data_file *file,
                                    const struct cv_partition_spec *spec)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    CV_CLEANUP(cv_buf_release) struct cv_buf key = CV_BUF_INIT(0);
    struct cv_json_writer w = CV_JSON_WRITER(&key);
    struct partition_row *row;

    cv_inspect_put_partition(&w, view->table, spec,
                             cv_inspect_partition_types(view->table, spec, &scratch),
                             file->partition);
    cv_buf_printf(&key, "#%d", spec->spec_id);
    row = cv_map_get(&view->rows_by_path, key.data, key.length);
    if (row)
        return row;
    row = cv_arena_new(&view->arena, struct partition_row);
    row->spec = spec;
    row->values = copy_values(&view->arena, file->partition, spec->field_count);
    row->path = cv_arena_strdup(&view->arena, cv_buf_text(&key));
    row->updated_ms = row->updated_snapshot_id = -1;
    (void)cv_map_set(&view->rows_by_path, key.data, key.length, row);
    cv_array_reserve(&view->rows, &view->capacity, view->count + 1);
    view->rows[view->count++] = row;
    return row;
}

static enum cv_code count_entry(void *context, const struct cv_manifest_entry *entry,
                                struct cv_error *err)
{
    struct partition_view *view = context;
    const struct cv_table_metadata *metadata = view->table->metadata;
    const struct cv_data_file *file = &entry->file;
    const struct cv_partition_spec *spec = cv_table_metadata_spec_by_id(metadata, file->spec_id);
    const struct cv_snapshot *snapshot = cv_table_metadata_snapshot(metadata, entry->snapshot_id);
    struct partition_row *row;

    if (!spec)
        return cv_fail(err, CV_FORMAT, "%s names partition spec %d, which the table lacks",
                       file->path, file->spec_id);
    row = row_of(view, file, spec);
    if (file->content == CV_CONTENT_DATA) {
        row->records += file->metrics.record_count;
        row->bytes += file->metrics.file_size;
        row->files++;
    } else if (file->content == CV_CONTENT_POSITION_DELETES) {
        row->position_deletes += file->metrics.record_count;
        row->position_delete_files++;
    } else {
        row->equality_deletes += file->metrics.record_count;
        row->equality_delete_files++;
    }
    if (snapshot && snapshot->timestamp_ms > row->updated_ms) {
        row->updated_ms = snapshot->timestamp_ms;
        row->updated_snapshot_id = snapshot->id;
    }
    return CV_OK;
}

static int compare_rows(const void *a, const void *b)
{
    return strcmp((*(struct partition_row *const *)a)->path,
                  (*(struct partition_row *const *)b)->path);
}

/* An unpartitioned table has one row without the first two columns. */
static void put_row(struct partition_view *view, struct cv_json_writer *w,
                    const struct partition_row *row, bool partitioned)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;

    cv_json_begin_object(w);
    if (partitioned) {
        cv_json_key(w, "partition");
        cv_inspect_put_partition(w, view->table, row->spec,
                                 cv_inspect_partition_types(view->table, row->spec, &arena),
                                 row->values);
        cv_inspect_put_count(w, "spec_id", row->spec->spec_id);
    }
    cv_inspect_put_count(w, "record_count", row->records);
    cv_inspect_put_count(w, "file_count", row->files);
    cv_inspect_put_count(w, "total_data_file_size_in_bytes", row->bytes);
    cv_inspect_put_count(w, "position_delete_record_count", row->position_deletes);
    cv_inspect_put_count(w, "position_delete_file_count", row->position_delete_files);
    cv_inspect_put_count(w, "equality_delete_record_count", row->equality_deletes);
    cv_inspect_put_count(w, "equality_delete_file_count", row->equality_delete_files);
    if (row->updated_ms < 0)
        cv_inspect_put_text(w, "last_updated_at", NULL);
    else
        cv_inspect_put_time(w, "last_updated_at", row->updated_ms);
    cv_inspect_put_count(w, "last_updated_snapshot_id", row->updated_snapshot_id);
    cv_json_end_object(w);
}

static bool is_partitioned(const struct cv_table_metadata *metadata)
{
    for (size_t i = 0; i < metadata->spec_count; i++)
        if (metadata->specs[i].field_count)
            return true;
    return false;
}

enum cv_code cv_inspect_partitions(struct cv_table *table, struct cv_json_writer *w,
                                   struct cv_error *err)
{
    struct partition_view view = {.table = table};
    enum cv_code code = cv_inspect_each_entry(table, count_entry, &view, err);

    if (view.count)
        qsort(view.rows, view.count, sizeof *view.rows, compare_rows);
    for (size_t i = 0; code == CV_OK && i < view.count; i++)
        put_row(&view, w, view.rows[i], is_partitioned(table->metadata));
    free(view.rows);
    cv_map_release(&view.rows_by_path);
    cv_arena_release(&view.arena);
    return code;
}
