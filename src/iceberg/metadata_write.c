/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints metadata.json in the Java library's order. Texts of what did not change are copied. */
#include "iceberg/metadata_int.h"

static void put_number(struct cv_json_writer *w, const char *key, int64_t value)
{
    cv_json_key(w, key);
    cv_json_put_i64(w, value);
}

static void put_string(struct cv_json_writer *w, const char *key, const char *value)
{
    cv_json_key(w, key);
    cv_json_put_string(w, value);
}

static void put_text(struct cv_json_writer *w, const char *key, struct cv_str json)
{
    cv_json_key(w, key);
    cv_json_put_raw(w, json.ptr, json.length);
}

/* `schema` and `partition-spec`: what readers of v1 before numbering look at. */
static void put_v1_schema(struct cv_json_writer *w, const struct cv_table_metadata *metadata)
{
    cv_json_key(w, "schema");
    cv_schema_write_json(cv_table_metadata_schema(metadata), w->out);
    w->comma = true;
}

static void put_v1_spec(struct cv_json_writer *w, const struct cv_table_metadata *metadata)
{
    cv_json_key(w, "partition-spec");
    cv_partition_fields_write_json(cv_table_metadata_spec(metadata), w->out);
    w->comma = true;
}

static void put_definitions(struct cv_json_writer *w, const struct cv_table_metadata *metadata)
{
    bool v1 = metadata->format_version == 1;

    put_number(w, "last-column-id", metadata->last_column_id);
    if (v1)
        put_v1_schema(w, metadata);
    put_number(w, "current-schema-id", metadata->current_schema_id);
    put_text(w, "schemas", metadata->schemas_json);
    if (v1)
        put_v1_spec(w, metadata);
    put_number(w, "default-spec-id", metadata->default_spec_id);
    put_text(w, "partition-specs", metadata->specs_json);
    put_number(w, "last-partition-id", metadata->last_partition_id);
    put_number(w, "default-sort-order-id", metadata->default_sort_order_id);
    put_text(w, "sort-orders", metadata->sort_orders_json);
    cv_json_key(w, "properties");
    cv_json_begin_object(w);
    for (size_t i = 0; i < metadata->properties.count; i++)
        put_string(w, metadata->properties.items[i].key, metadata->properties.items[i].value);
    cv_json_end_object(w);
}

static void put_ref(struct cv_json_writer *w, const struct cv_snapshot_ref *ref)
{
    cv_json_key(w, ref->name);
    cv_json_begin_object(w);
    put_number(w, "snapshot-id", ref->snapshot_id);
    put_string(w, "type", ref->is_tag ? "tag" : "branch");
    if (ref->min_snapshots_to_keep >= 0)
        put_number(w, "min-snapshots-to-keep", ref->min_snapshots_to_keep);
    if (ref->max_snapshot_age_ms >= 0)
        put_number(w, "max-snapshot-age-ms", ref->max_snapshot_age_ms);
    if (ref->max_ref_age_ms >= 0)
        put_number(w, "max-ref-age-ms", ref->max_ref_age_ms);
    cv_json_end_object(w);
}

static void put_snapshots(struct cv_json_writer *w, const struct cv_table_metadata *metadata)
{
    put_number(w, "current-snapshot-id", metadata->current_snapshot_id);
    cv_json_key(w, "refs");
    cv_json_begin_object(w);
    for (size_t i = 0; i < metadata->ref_count; i++)
        put_ref(w, &metadata->refs[i]);
    cv_json_end_object(w);
    cv_json_key(w, "snapshots");
    cv_json_begin_array(w);
    for (size_t i = 0; i < metadata->snapshot_count; i++)
        cv_json_put_raw(w, metadata->snapshots[i].json.ptr, metadata->snapshots[i].json.length);
    cv_json_end_array(w);
}

/* One entry per snapshot, printed in one go: logs are as long as the history. */
static void put_snapshot_log(struct cv_json_writer *w, const struct cv_table_metadata *metadata)
{
    cv_json_key(w, "snapshot-log");
    cv_buf_append_byte(w->out, '[');
    for (size_t i = 0; i < metadata->snapshot_log_count; i++)
        cv_buf_printf(w->out, "%s{\"timestamp-ms\":%lld,\"snapshot-id\":%lld}", i ? "," : "",
                      (long long)metadata->snapshot_log[i].timestamp_ms,
                      (long long)metadata->snapshot_log[i].snapshot_id);
    cv_buf_append_byte(w->out, ']');
    w->comma = true;
}

static void put_metadata_log(struct cv_json_writer *w, const struct cv_table_metadata *metadata)
{
    cv_json_key(w, "metadata-log");
    cv_json_begin_array(w);
    for (size_t i = 0; i < metadata->metadata_log_count; i++) {
        cv_json_begin_object(w);
        put_number(w, "timestamp-ms", metadata->metadata_log[i].timestamp_ms);
        put_string(w, "metadata-file", metadata->metadata_log[i].file);
        cv_json_end_object(w);
    }
    cv_json_end_array(w);
}

void cv_table_metadata_write(const struct cv_table_metadata *metadata, struct cv_buf *out)
{
    struct cv_json_writer w = CV_JSON_WRITER(out);

    cv_json_begin_object(&w);
    put_number(&w, "format-version", metadata->format_version);
    if (metadata->table_uuid[0])
        put_string(&w, "table-uuid", metadata->table_uuid);
    put_string(&w, "location", metadata->location);
    if (metadata->format_version > 1)
        put_number(&w, "last-sequence-number", metadata->last_sequence_number);
    put_number(&w, "last-updated-ms", metadata->last_updated_ms);
    put_definitions(&w, metadata);
    put_snapshots(&w, metadata);
    if (metadata->statistics_json.length)
        put_text(&w, "statistics", metadata->statistics_json);
    if (metadata->partition_statistics_json.length)
        put_text(&w, "partition-statistics", metadata->partition_statistics_json);
    put_snapshot_log(&w, metadata);
    put_metadata_log(&w, metadata);
    cv_buf_append(out, metadata->unknown_json.ptr, metadata->unknown_json.length);
    cv_json_end_object(&w);
}
