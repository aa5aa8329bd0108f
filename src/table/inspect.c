/* SPDX-License-Identifier: Apache-2.0
 *
 * The views by name, and the forms of values that they share. */
#include "table/inspect_int.h"

#include "base/time.h"

#include <math.h>

void cv_inspect_put_count(struct cv_json_writer *w, const char *key, int64_t value)
{
    cv_json_key(w, key);
    if (value < 0)
        cv_json_put_null(w);
    else
        cv_json_put_i64(w, value);
}

void cv_inspect_put_text(struct cv_json_writer *w, const char *key, const char *text)
{
    cv_json_key(w, key);
    if (text)
        cv_json_put_string(w, text);
    else
        cv_json_put_null(w);
}

void cv_inspect_put_time(struct cv_json_writer *w, const char *key, int64_t ms)
{
    char text[CV_TIME_TEXT_BYTES];

    cv_format_ms_utc(ms, text);
    cv_inspect_put_text(w, key, text);
}

static bool is_plain_number(const struct cv_value *value)
{
    switch (value->kind) {
    case CV_TYPE_INT:
    case CV_TYPE_LONG:
        return true;
    case CV_TYPE_FLOAT:
        return isfinite(value->f32);
    case CV_TYPE_DOUBLE:
        return isfinite(value->f64);
    default:
        return false;
    }
}

static void put_number(struct cv_json_writer *w, const struct cv_value *value,
                       const struct cv_type *type)
{
    struct cv_buf text = CV_BUF_INIT(0);

    cv_value_write_text(value, type, &text);
    cv_json_put_raw(w, text.data, text.length);
    cv_buf_release(&text);
}

void cv_inspect_put_value(struct cv_json_writer *w, const struct cv_value *value,
                          const struct cv_type *type)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);

    if (value->is_null) {
        cv_json_put_null(w);
    } else if (value->kind == CV_TYPE_BOOLEAN) {
        cv_json_put_bool(w, value->boolean);
    } else if (is_plain_number(value)) {
        put_number(w, value, type);
    } else {
        cv_value_write_text(value, type, &text);
        cv_json_put_text(w, (struct cv_str){(const char *)text.data, text.length});
    }
}

void cv_inspect_put_bound(struct cv_json_writer *w, struct cv_str bytes, const struct cv_type *type)
{
    struct cv_value value;

    if (bytes.ptr && type && cv_value_read_binary(type, bytes, &value, NULL) == CV_OK)
        cv_inspect_put_value(w, &value, type);
    else
        cv_json_put_null(w);
}

/* The field with the lowest id above `after` of any spec, as the newest spec names it. Fields that
 * are void in every spec count too, as there is nothing better to show for them. */
static const struct cv_partition_field *next_field(const struct cv_table_metadata *metadata,
                                                   int32_t after)
{
    const struct cv_partition_field *found = NULL;

    for (size_t i = metadata->spec_count; i-- > 0;)
        for (size_t k = 0; k < metadata->specs[i].field_count; k++) {
            const struct cv_partition_field *field = &metadata->specs[i].fields[k];

            if (field->field_id <= after || (found && field->field_id > found->field_id))
                continue;
            if (!found || field->field_id < found->field_id ||
                found->transform.kind == CV_TRANSFORM_VOID)
                found = field;
        }
    return found;
}

void cv_inspect_put_partition(struct cv_json_writer *w, const struct cv_table *table,
                              const struct cv_partition_spec *spec, const struct cv_type *types,
                              const struct cv_value *values)
{
    const struct cv_partition_field *field = next_field(table->metadata, -1);

    cv_json_begin_object(w);
    for (; field; field = next_field(table->metadata, field->field_id)) {
        size_t i = 0;

        cv_json_key(w, field->name);
        while (i < spec->field_count && spec->fields[i].field_id != field->field_id)
            i++;
        if (i < spec->field_count) {
            const struct cv_type plain = {.kind = values[i].kind};

            cv_inspect_put_value(w, &values[i], types ? &types[i] : &plain);
        } else {
            cv_json_put_null(w);
        }
    }
    cv_json_end_object(w);
}

const struct cv_type *cv_inspect_partition_types(const struct cv_table *table,
                                                 const struct cv_partition_spec *spec,
                                                 struct cv_arena *arena)
{
    const struct cv_type *types;

    if (cv_partition_types(spec, cv_table_metadata_schema(table->metadata), arena, &types, NULL) !=
        CV_OK)
        return NULL;
    return types;
}

static enum cv_code each_of_manifest(struct cv_table *table, const struct cv_manifest_file *row,
                                     enum cv_code (*each)(void *context,
                                                          const struct cv_manifest_entry *entry,
                                                          struct cv_error *err),
                                     void *context, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_manifest_entry *entries;
    size_t count;

    CV_DO(cv_table_manifest_entries(table, row, &arena, &entries, &count, err));
    for (size_t i = 0; i < count; i++)
        if (entries[i].status != CV_ENTRY_DELETED)
            CV_DO(each(context, &entries[i], err));
    return CV_OK;
}

enum cv_code cv_inspect_head_manifests(struct cv_table *table, struct cv_arena *arena,
                                       struct cv_manifest_file **ret_rows, size_t *ret_count,
                                       struct cv_error *err)
{
    const struct cv_snapshot *head =
        cv_table_metadata_head(table->metadata, cv_table_branch(table));

    if (head)
        return cv_table_manifests(table, head, arena, ret_rows, ret_count, err);
    *ret_rows = NULL;
    *ret_count = 0;
    return CV_OK;
}

enum cv_code cv_inspect_each_entry(struct cv_table *table,
                                   enum cv_code (*each)(void *context,
                                                        const struct cv_manifest_entry *entry,
                                                        struct cv_error *err),
                                   void *context, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_manifest_file *rows;
    size_t count;

    CV_DO(cv_inspect_head_manifests(table, &arena, &rows, &count, err));
    for (size_t i = 0; i < count; i++)
        CV_DO(each_of_manifest(table, &rows[i], each, context, err));
    return CV_OK;
}

static const struct {
    const char *name;
    enum cv_code (*write)(struct cv_table *, struct cv_json_writer *, struct cv_error *);
} views[] = {
    {"snapshots", cv_inspect_snapshots}, {"history", cv_inspect_history},
    {"refs", cv_inspect_refs},           {"manifests", cv_inspect_manifests},
    {"files", cv_inspect_files},         {"partitions", cv_inspect_partitions},
};

enum cv_code cv_table_inspect(struct cv_table *table, const char *view, struct cv_buf *out,
                              struct cv_error *err)
{
    struct cv_json_writer w = CV_JSON_WRITER(out);

    if (strcmp(view, "show") == 0) {
        CV_DO(cv_inspect_show(table, &w, err));
        return cv_buf_check(out, view, err);
    }
    for (size_t i = 0; i < CV_ARRAY_LENGTH(views); i++) {
        if (strcmp(views[i].name, view) != 0)
            continue;
        cv_json_begin_array(&w);
        CV_DO(views[i].write(table, &w, err));
        cv_json_end_array(&w);
        return cv_buf_check(out, view, err);
    }
    return cv_fail(err, CV_USAGE, "a table has no view \"%.100s\"", view);
}
