/* SPDX-License-Identifier: Apache-2.0
 *
 * The live files of the branch head with their metrics. */
#include "table/inspect_int.h"

#include "codec/base64.h"

#include <stdio.h>
#include <stdlib.h>

struct readable_column {
    const char *path;
    const struct cv_field *field;
};

struct file_view {
    struct cv_table *table;
    struct cv_json_writer *w;
    struct cv_arena arena;
    struct readable_column *columns;
    size_t column_count, column_capacity;
};

static void put_binary(struct cv_json_writer *w, struct cv_str bytes)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);

    if (!bytes.ptr) {
        cv_json_put_null(w);
        return;
    }
    cv_base64_encode(bytes.ptr, bytes.length, &text);
    cv_json_put_text(w, (struct cv_str){(const char *)text.data, text.length});
}

static void put_id(struct cv_json_writer *w, int32_t id)
{
    char key[16];

    (void)snprintf(key, sizeof key, "%d", id);
    cv_json_key(w, key);
}

/* A file with counts of values has those of nulls and NaNs too, if only of no column. */
static bool has_counts(const struct cv_file_metrics *metrics, size_t offset)
{
    for (size_t i = 0; i < metrics->column_count; i++) {
        int64_t count;

        memcpy(&count, (const char *)&metrics->columns[i] + offset, sizeof count);
        if (count >= 0 || metrics->columns[i].value_count >= 0)
            return true;
    }
    return false;
}

/* {"field id":count,…} of one of the counts at `offset` in struct cv_column_metrics; null where the
 * file has none of them. */
static void put_counts(struct cv_json_writer *w, const char *name,
                       const struct cv_file_metrics *metrics, size_t offset)
{
    cv_json_key(w, name);
    if (!has_counts(metrics, offset)) {
        cv_json_put_null(w);
        return;
    }
    cv_json_begin_object(w);
    for (size_t i = 0; i < metrics->column_count; i++) {
        int64_t count;

        memcpy(&count, (const char *)&metrics->columns[i] + offset, sizeof count);
        if (count < 0)
            continue;
        put_id(w, metrics->columns[i].field_id);
        cv_json_put_i64(w, count);
    }
    cv_json_end_object(w);
}

static void put_bounds(struct cv_json_writer *w, const char *name,
                       const struct cv_file_metrics *metrics, size_t offset)
{
    cv_json_key(w, name);
    cv_json_begin_object(w);
    for (size_t i = 0; i < metrics->column_count; i++) {
        struct cv_str bound;

        memcpy(&bound, (const char *)&metrics->columns[i] + offset, sizeof bound);
        if (!bound.ptr)
            continue;
        put_id(w, metrics->columns[i].field_id);
        put_binary(w, bound);
    }
    cv_json_end_object(w);
}

/* Bytes as Base64, the rest by its type. */
static void put_readable_bound(struct cv_json_writer *w, struct cv_str bytes,
                               const struct cv_type *type)
{
    if (type->kind == CV_TYPE_BINARY || type->kind == CV_TYPE_FIXED)
        put_binary(w, bytes);
    else
        cv_inspect_put_bound(w, bytes, type);
}

static void put_readable_column(struct cv_json_writer *w, const struct cv_field *field,
                                const struct cv_file_metrics *metrics)
{
    static const struct cv_column_metrics none = {0, -1, -1, -1, -1, {NULL, 0}, {NULL, 0}};
    const struct cv_column_metrics *column = cv_file_metrics_column(metrics, field->id);

    if (!column)
        column = &none;
    cv_json_begin_object(w);
    cv_inspect_put_count(w, "column_size", column->column_size);
    cv_inspect_put_count(w, "value_count", column->value_count);
    cv_inspect_put_count(w, "null_value_count", column->null_count);
    cv_inspect_put_count(w, "nan_value_count", column->nan_count);
    cv_json_key(w, "lower_bound");
    put_readable_bound(w, column->lower, &field->type);
    cv_json_key(w, "upper_bound");
    put_readable_bound(w, column->upper, &field->type);
    cv_json_end_object(w);
}

/* Every primitive column of the table by its path, in the order of the paths' bytes as in Spark. */
static void put_readable(const struct file_view *view, const struct cv_file_metrics *metrics)
{
    struct cv_json_writer *w = view->w;

    cv_json_key(w, "readable_metrics");
    cv_json_begin_object(w);
    for (size_t i = 0; i < view->column_count; i++) {
        cv_json_key(w, view->columns[i].path);
        put_readable_column(w, view->columns[i].field, metrics);
    }
    cv_json_end_object(w);
}

static void put_partition(const struct file_view *view, const struct cv_data_file *file)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const struct cv_partition_spec *spec =
        cv_table_metadata_spec_by_id(view->table->metadata, file->spec_id);

    cv_json_key(view->w, "partition");
    if (spec)
        cv_inspect_put_partition(view->w, view->table, spec,
                                 cv_inspect_partition_types(view->table, spec, &arena),
                                 file->partition);
    else
        cv_json_put_null(view->w);
}

static void put_metrics(struct cv_json_writer *w, const struct cv_file_metrics *metrics)
{
    put_counts(w, "column_sizes", metrics, offsetof(struct cv_column_metrics, column_size));
    put_counts(w, "value_counts", metrics, offsetof(struct cv_column_metrics, value_count));
    put_counts(w, "null_value_counts", metrics, offsetof(struct cv_column_metrics, null_count));
    put_counts(w, "nan_value_counts", metrics, offsetof(struct cv_column_metrics, nan_count));
    put_bounds(w, "lower_bounds", metrics, offsetof(struct cv_column_metrics, lower));
    put_bounds(w, "upper_bounds", metrics, offsetof(struct cv_column_metrics, upper));
}

static void put_lists(struct cv_json_writer *w, const struct cv_data_file *file)
{
    cv_json_key(w, "split_offsets");
    cv_json_begin_array(w);
    for (size_t i = 0; i < file->metrics.split_count; i++)
        cv_json_put_i64(w, file->metrics.split_offsets[i]);
    cv_json_end_array(w);
    cv_json_key(w, "equality_ids");
    if (!file->equality_count) {
        cv_json_put_null(w);
        return;
    }
    cv_json_begin_array(w);
    for (size_t i = 0; i < file->equality_count; i++)
        cv_json_put_i64(w, file->equality_ids[i]);
    cv_json_end_array(w);
}

static enum cv_code put_file(void *context, const struct cv_manifest_entry *entry,
                             struct cv_error *err)
{
    const struct file_view *view = context;
    const struct cv_data_file *file = &entry->file;
    struct cv_json_writer *w = view->w;

    cv_json_begin_object(w);
    cv_inspect_put_count(w, "content", file->content);
    cv_inspect_put_text(w, "file_path", file->path);
    cv_inspect_put_text(w, "file_format", file->format);
    cv_inspect_put_count(w, "spec_id", file->spec_id);
    put_partition(view, file);
    cv_inspect_put_count(w, "record_count", file->metrics.record_count);
    cv_inspect_put_count(w, "file_size_in_bytes", file->metrics.file_size);
    put_metrics(w, &file->metrics);
    cv_json_key(w, "key_metadata");
    put_binary(w, file->key_metadata);
    put_lists(w, file);
    cv_inspect_put_count(w, "sort_order_id", file->has_sort_order ? file->sort_order_id : -1);
    cv_inspect_put_text(w, "first_row_id", NULL); /* of format version 3, as the offset and size */
    cv_inspect_put_text(w, "referenced_data_file", file->referenced_data_file);
    cv_inspect_put_text(w, "content_offset", NULL);
    cv_inspect_put_text(w, "content_size_in_bytes", NULL);
    put_readable(view, &file->metrics);
    cv_json_end_object(w);
    return cv_buf_check(w->out, "the list of files", err);
}

static void collect_columns(struct file_view *view, const struct cv_type *type)
{
    for (size_t i = 0; i < type->field_count; i++) {
        const struct cv_field *field = &type->fields[i];

        if (cv_type_is_nested(&field->type)) {
            collect_columns(view, &field->type);
            continue;
        }
        cv_array_reserve(&view->columns, &view->column_capacity, view->column_count + 1);
        view->columns[view->column_count++] = (struct readable_column){
            cv_schema_path_of(cv_table_metadata_schema(view->table->metadata), field->id,
                              &view->arena),
            field};
    }
}

static int compare_columns(const void *a, const void *b)
{
    return strcmp(((const struct readable_column *)a)->path,
                  ((const struct readable_column *)b)->path);
}

enum cv_code cv_inspect_files(struct cv_table *table, struct cv_json_writer *w,
                              struct cv_error *err)
{
    struct file_view view = {.table = table, .w = w};
    enum cv_code code;

    collect_columns(&view, &cv_table_metadata_schema(table->metadata)->root);
    if (view.column_count)
        qsort(view.columns, view.column_count, sizeof *view.columns, compare_columns);
    code = cv_inspect_each_entry(table, put_file, &view, err);
    free(view.columns);
    cv_arena_release(&view.arena);
    return code;
}
