/* SPDX-License-Identifier: Apache-2.0
 *
 * Metadata of a new table: composed as JSON and read back, so that it passes the same checks as any
 * other. */
#include "iceberg/metadata_int.h"

#include "base/random.h"
#include "base/time.h"
#include "iceberg/partition_int.h"

/* Properties that are facts of the metadata itself and are never stored. */
static const char *const reserved[] = {"format-version",           "uuid",
                                       "snapshot-count",           "current-snapshot-id",
                                       "current-snapshot-summary", "current-snapshot-timestamp-ms",
                                       "current-schema",           "default-partition-spec",
                                       "default-sort-order"};

static bool is_reserved(const char *key)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(reserved); i++)
        if (strcmp(reserved[i], key) == 0)
            return true;
    return false;
}

/* Moves the sources of the spec from the caller's ids to the new ones, by path. */
static enum cv_code renumber_spec(const struct cv_partition_spec *spec,
                                  const struct cv_schema *before, const struct cv_schema *after,
                                  struct cv_arena *arena, struct cv_partition_spec *ret_spec,
                                  struct cv_error *err)
{
    struct cv_partition_spec moved = {0};

    if (!spec) {
        *ret_spec = moved;
        return CV_OK;
    }
    moved.field_count = spec->field_count;
    moved.fields = cv_arena_copy(arena, spec->fields, spec->field_count * sizeof *spec->fields);
    for (size_t i = 0; i < spec->field_count; i++) {
        const char *path = cv_schema_path_of(before, spec->fields[i].source_id, arena);
        const struct cv_field *source = path ? cv_schema_find_name(after, path, true) : NULL;

        if (!source)
            return cv_fail(err, CV_SCHEMA,
                           "partition field %s: the schema has no column with id %d",
                           spec->fields[i].name, spec->fields[i].source_id);
        moved.fields[i].source_id = source->id;
        moved.fields[i].field_id = CV_PARTITION_ID_FIRST + (int32_t)i;
    }
    *ret_spec = moved;
    return cv_partition_spec_check(&moved, after, err);
}

static void put_properties(struct cv_json_writer *w, const struct cv_properties *properties)
{
    cv_json_key(w, "properties");
    cv_json_begin_object(w);
    for (size_t i = 0; properties && i < properties->count; i++) {
        if (is_reserved(properties->items[i].key))
            continue;
        cv_json_key(w, properties->items[i].key);
        cv_json_put_string(w, properties->items[i].value);
    }
    if (!cv_properties_get(properties, "write.parquet.compression-codec")) {
        cv_json_key(w, "write.parquet.compression-codec");
        cv_json_put_string(w, "zstd");
    }
    cv_json_end_object(w);
}

static void put_document(struct cv_buf *out, int64_t format_version,
                         const struct cv_table_create *create, const struct cv_schema *schema,
                         const struct cv_partition_spec *spec)
{
    struct cv_json_writer w = CV_JSON_WRITER(out);
    char uuid[CV_UUID_TEXT_BYTES];

    cv_uuid_text(uuid);
    cv_buf_printf(out,
                  "{\"format-version\":%d,\"table-uuid\":\"%s\",\"location\":", (int)format_version,
                  uuid);
    cv_json_put_string(&w, create->location);
    cv_buf_printf(out,
                  ",\"last-sequence-number\":0,\"last-updated-ms\":%lld,\"last-column-id\":%d,"
                  "\"current-schema-id\":0,\"schemas\":[",
                  (long long)cv_now_ms(), schema->highest_id);
    cv_schema_write_json(schema, out);
    cv_buf_append_text(out, "],\"default-spec-id\":0,\"partition-specs\":[");
    cv_partition_spec_write_json(spec, out);
    cv_buf_printf(out,
                  "],\"last-partition-id\":%d,\"default-sort-order-id\":0,"
                  "\"sort-orders\":[{\"order-id\":0,\"fields\":[]}]",
                  CV_PARTITION_ID_FIRST - 1 + (int)spec->field_count);
    w.comma = true;
    put_properties(&w, create->properties);
    cv_buf_append_byte(out, '}');
}

static enum cv_code choose_version(const struct cv_properties *properties, int64_t *ret_version,
                                   struct cv_error *err)
{
    int64_t version = CV_TABLE_FORMAT_MAX;

    CV_DO(cv_properties_get_i64(properties, "format-version", 1, INT32_MAX, &version, err));
    if (version > CV_TABLE_FORMAT_MAX) {
        (void)cv_fail(err, CV_UNSUPPORTED, "format-version %lld is not supported",
                      (long long)version);
        cv_hint(err, "use format-version 1 or %d", CV_TABLE_FORMAT_MAX);
        return CV_UNSUPPORTED;
    }
    *ret_version = version;
    return CV_OK;
}

enum cv_code cv_table_metadata_create(const struct cv_table_create *create,
                                      struct cv_table_metadata **ret_metadata, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_buf_release) struct cv_buf json = CV_BUF_INIT(CV_METADATA_BYTES_MAX);
    struct cv_schema schema = *create->schema;
    struct cv_partition_spec spec;
    int64_t version;

    CV_DO(choose_version(create->properties, &version, err));
    schema.schema_id = 0;
    cv_schema_assign_ids(&schema, &arena);
    CV_DO(renumber_spec(create->spec, create->schema, &schema, &arena, &spec, err));
    put_document(&json, version, create, &schema, &spec);
    CV_DO(cv_buf_check(&json, "table metadata", err));
    return cv_table_metadata_read(json.data, json.length, ret_metadata, err);
}
