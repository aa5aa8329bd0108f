/* SPDX-License-Identifier: Apache-2.0
 *
 * The manifests of the branch head. */
#include "table/inspect_int.h"

/* A manifest holds files of one content; the counts of the other are zero. */
static void put_counts(struct cv_json_writer *w, const struct cv_manifest_file *row)
{
    bool data = !row->deletes;

    cv_inspect_put_count(w, "added_data_files_count", data ? row->added_files : 0);
    cv_inspect_put_count(w, "existing_data_files_count", data ? row->existing_files : 0);
    cv_inspect_put_count(w, "deleted_data_files_count", data ? row->deleted_files : 0);
    cv_inspect_put_count(w, "added_delete_files_count", data ? 0 : row->added_files);
    cv_inspect_put_count(w, "existing_delete_files_count", data ? 0 : row->existing_files);
    cv_inspect_put_count(w, "deleted_delete_files_count", data ? 0 : row->deleted_files);
}

/* One column for partition fields of every type: text. */
static void put_bound_text(struct cv_json_writer *w, struct cv_str bytes,
                           const struct cv_type *type)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    struct cv_value value;

    if (!bytes.ptr || !type || cv_value_read_binary(type, bytes, &value, NULL) != CV_OK) {
        cv_json_put_null(w);
        return;
    }
    cv_value_write_text(&value, type, &text);
    cv_json_put_text(w, (struct cv_str){cv_buf_text(&text), text.length});
}

static void put_summaries(struct cv_table *table, struct cv_json_writer *w,
                          const struct cv_manifest_file *row)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const struct cv_partition_spec *spec =
        cv_table_metadata_spec_by_id(table->metadata, row->spec_id);
    const struct cv_type *types = spec ? cv_inspect_partition_types(table, spec, &arena) : NULL;

    cv_json_key(w, "partition_summaries");
    cv_json_begin_array(w);
    for (size_t i = 0; i < row->partition_count; i++) {
        const struct cv_partition_summary *summary = &row->partitions[i];
        const struct cv_type *type = types && i < spec->field_count ? &types[i] : NULL;

        cv_json_begin_object(w);
        cv_json_key(w, "contains_null");
        cv_json_put_bool(w, summary->contains_null);
        cv_json_key(w, "contains_nan");
        if (summary->contains_nan < 0)
            cv_json_put_null(w);
        else
            cv_json_put_bool(w, summary->contains_nan);
        cv_json_key(w, "lower_bound");
        put_bound_text(w, summary->lower, type);
        cv_json_key(w, "upper_bound");
        put_bound_text(w, summary->upper, type);
        cv_json_end_object(w);
    }
    cv_json_end_array(w);
}

enum cv_code cv_inspect_manifests(struct cv_table *table, struct cv_json_writer *w,
                                  struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_manifest_file *rows;
    size_t count;

    CV_DO(cv_inspect_head_manifests(table, &arena, &rows, &count, err));
    for (size_t i = 0; i < count; i++) {
        cv_json_begin_object(w);
        cv_inspect_put_count(w, "content", rows[i].deletes);
        cv_inspect_put_text(w, "path", rows[i].path);
        cv_inspect_put_count(w, "length", rows[i].length);
        cv_inspect_put_count(w, "partition_spec_id", rows[i].spec_id);
        cv_inspect_put_count(w, "added_snapshot_id", rows[i].added_snapshot_id);
        put_counts(w, &rows[i]);
        put_summaries(table, w, &rows[i]);
        cv_json_end_object(w);
    }
    return CV_OK;
}
