/* SPDX-License-Identifier: Apache-2.0
 *
 * One object that tells what a table is. */
#include "table/inspect_int.h"

static void put_columns(struct cv_json_writer *w, const struct cv_schema *schema)
{
    cv_json_key(w, "columns");
    cv_json_begin_array(w);
    for (size_t i = 0; i < schema->root.field_count; i++) {
        const struct cv_field *field = &schema->root.fields[i];
        char type[CV_TYPE_TEXT_BYTES];

        cv_type_text(&field->type, type);
        cv_json_begin_object(w);
        cv_inspect_put_count(w, "id", field->id);
        cv_inspect_put_text(w, "name", field->name);
        cv_inspect_put_text(w, "type", type);
        cv_json_key(w, "required");
        cv_json_put_bool(w, field->required);
        if (field->doc)
            cv_inspect_put_text(w, "doc", field->doc);
        cv_json_end_object(w);
    }
    cv_json_end_array(w);
}

static void put_partitioning(struct cv_json_writer *w, const struct cv_table_metadata *metadata,
                             struct cv_arena *arena)
{
    const struct cv_schema *schema = cv_table_metadata_schema(metadata);
    const struct cv_partition_spec *spec = cv_table_metadata_spec(metadata);

    cv_json_key(w, "partitioning");
    cv_json_begin_array(w);
    for (size_t i = 0; i < spec->field_count; i++) {
        const struct cv_partition_field *field = &spec->fields[i];

        cv_json_begin_object(w);
        cv_inspect_put_text(w, "name", field->name);
        cv_inspect_put_text(w, "transform", field->transform.text);
        cv_inspect_put_text(w, "source", cv_schema_path_of(schema, field->source_id, arena));
        cv_json_end_object(w);
    }
    cv_json_end_array(w);
}

static void put_sorting(struct cv_json_writer *w, const struct cv_table_metadata *metadata,
                        struct cv_arena *arena)
{
    const struct cv_schema *schema = cv_table_metadata_schema(metadata);
    const struct cv_sort_order *order = cv_table_metadata_sort_order(metadata);

    cv_json_key(w, "sort_order");
    cv_json_begin_array(w);
    for (size_t i = 0; order && i < order->field_count; i++) {
        const struct cv_sort_field *field = &order->fields[i];

        cv_json_begin_object(w);
        cv_inspect_put_text(w, "source", cv_schema_path_of(schema, field->source_id, arena));
        cv_inspect_put_text(w, "transform", field->transform.text);
        cv_inspect_put_text(w, "direction", field->descending ? "desc" : "asc");
        cv_inspect_put_text(w, "null_order", field->nulls_last ? "nulls-last" : "nulls-first");
        cv_json_end_object(w);
    }
    cv_json_end_array(w);
}

/* The totals that the head's summary tells, as numbers. */
static void put_totals(struct cv_json_writer *w, const struct cv_snapshot *head)
{
    static const char *const keys[][2] = {{"total_records", "total-records"},
                                          {"total_data_files", "total-data-files"},
                                          {"total_files_size_in_bytes", "total-files-size"},
                                          {"total_delete_files", "total-delete-files"}};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(keys); i++) {
        const char *text = head ? cv_properties_get(&head->summary, keys[i][1]) : "0";
        int64_t number = -1;

        if (text && !cv_parse_i64(cv_str_from(text), &number))
            number = -1;
        cv_inspect_put_count(w, keys[i][0], number);
    }
}

static void put_properties(struct cv_json_writer *w, const struct cv_properties *properties)
{
    cv_json_key(w, "properties");
    cv_json_begin_object(w);
    for (size_t i = 0; i < properties->count; i++)
        cv_inspect_put_text(w, properties->items[i].key, properties->items[i].value);
    cv_json_end_object(w);
}

enum cv_code cv_inspect_show(struct cv_table *table, struct cv_json_writer *w, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const struct cv_table_metadata *metadata = table->metadata;
    const struct cv_snapshot *head = cv_table_metadata_head(metadata, cv_table_branch(table));

    (void)err;
    cv_json_begin_object(w);
    cv_inspect_put_text(w, "name",
                        cv_arena_printf(&arena, "%s.%s", table->name.catalog,
                                        cv_table_name_text(&table->name, &arena)));
    cv_inspect_put_text(w, "branch", cv_table_branch(table));
    cv_inspect_put_text(w, "uuid", metadata->table_uuid);
    cv_inspect_put_count(w, "format_version", metadata->format_version);
    cv_inspect_put_text(w, "location", metadata->location);
    cv_inspect_put_text(w, "metadata_location", table->metadata_location);
    cv_inspect_put_time(w, "last_updated_at", metadata->last_updated_ms);
    cv_inspect_put_count(w, "snapshots", (int64_t)metadata->snapshot_count);
    cv_inspect_put_count(w, "current_snapshot_id", head ? head->id : -1);
    put_totals(w, head);
    put_columns(w, cv_table_metadata_schema(metadata));
    put_partitioning(w, metadata, &arena);
    put_sorting(w, metadata, &arena);
    put_properties(w, &metadata->properties);
    cv_json_end_object(w);
    return CV_OK;
}
