/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads metadata.json. Absent and null mean the same for optional members, v1 tables may lack what
 * came later, and members that the model does not know are kept for the next write. */
#include "iceberg/metadata_int.h"

#include "codec/compress.h"

#define DEFINITIONS_MAX 10000 /* schemas, specs, sort orders, properties or refs of one table */

struct reader {
    const struct cv_json *root;
    struct cv_table_metadata *metadata;
    struct cv_arena *definitions;
    struct cv_buf scratch;
    struct cv_error *err;
};

static void reader_release(struct reader *reader)
{
    cv_buf_release(&reader->scratch);
}

static bool is_v1(const struct reader *reader)
{
    return reader->metadata->format_version == 1;
}

/* The optional member, NULL when absent or null. */
static const struct cv_json *member(const struct reader *reader, const char *key)
{
    const struct cv_json *value = cv_json_get(reader->root, key);

    return value && !cv_json_is_null(value) ? value : NULL;
}

static enum cv_code optional_array(const struct reader *reader, const char *key,
                                   const struct cv_json **ret_array)
{
    const struct cv_json *value = member(reader, key);

    if (value && !cv_json_is_array(value))
        return cv_fail(reader->err, CV_FORMAT, "%s is not an array", key);
    *ret_array = value;
    return CV_OK;
}

/* The node's text, in the memory of the definitions. */
static struct cv_str text_of(struct reader *reader, const struct cv_json *node)
{
    cv_buf_clear(&reader->scratch);
    cv_json_write_node(node, &reader->scratch);
    return (struct cv_str){cv_arena_strndup(reader->definitions, (const char *)reader->scratch.data,
                                            reader->scratch.length),
                           reader->scratch.length};
}

static struct cv_str scratch_text(struct reader *reader)
{
    return (struct cv_str){cv_arena_strndup(reader->definitions, (const char *)reader->scratch.data,
                                            reader->scratch.length),
                           reader->scratch.length};
}

static enum cv_code read_version(struct reader *reader)
{
    int32_t version;

    CV_DO(cv_json_read_i32(reader->root, "format-version", &version, reader->err));
    if (version > CV_TABLE_FORMAT_MAX) {
        (void)cv_fail(reader->err, CV_UNSUPPORTED,
                      "the table has format version %d; versions 1 and %d are supported", version,
                      CV_TABLE_FORMAT_MAX);
        cv_hint(reader->err, "a table cannot be moved back to an older version: create one with "
                             "format-version=2 and copy the rows");
        return CV_UNSUPPORTED;
    }
    if (version < 1)
        return cv_fail(reader->err, CV_FORMAT, "format version %d does not exist", version);
    reader->metadata->format_version = version;
    return CV_OK;
}

static enum cv_code read_head(struct reader *reader)
{
    struct cv_table_metadata *m = reader->metadata;
    const char *uuid = "";
    const char *location;
    size_t length;

    CV_DO(is_v1(reader) ? cv_json_optional_string(reader->root, "table-uuid", &uuid, reader->err)
                        : cv_json_read_string(reader->root, "table-uuid", &uuid, reader->err));
    CV_DO(cv_json_read_string(reader->root, "location", &location, reader->err));
    length = strlen(location);
    while (length > 1 && location[length - 1] == '/')
        length--;
    m->table_uuid = cv_arena_strdup(&m->arena, uuid);
    m->location = cv_arena_strndup(&m->arena, location, length);
    if (!is_v1(reader))
        CV_DO(cv_json_read_i64(reader->root, "last-sequence-number", &m->last_sequence_number,
                               reader->err));
    CV_DO(cv_json_read_i64(reader->root, "last-updated-ms", &m->last_updated_ms, reader->err));
    return cv_json_read_i32(reader->root, "last-column-id", &m->last_column_id, reader->err);
}

/* v1 before schemas were numbered: one schema, under `schema`. */
static enum cv_code read_lone_schema(struct reader *reader)
{
    struct cv_table_metadata *m = reader->metadata;
    const struct cv_json *json = member(reader, "schema");

    if (!json)
        return cv_fail(reader->err, CV_FORMAT,
                       "there is neither schemas with current-schema-id "
                       "nor schema");
    m->schemas = cv_arena_new(reader->definitions, struct cv_schema);
    m->schema_count = 1;
    CV_TRY(cv_schema_read_json(json, reader->definitions, m->schemas, reader->err), reader->err,
           "schema");
    m->current_schema_id = m->schemas[0].schema_id;
    cv_buf_clear(&reader->scratch);
    cv_buf_append_byte(&reader->scratch, '[');
    cv_schema_write_json(m->schemas, &reader->scratch);
    cv_buf_append_byte(&reader->scratch, ']');
    m->schemas_json = scratch_text(reader);
    return CV_OK;
}

static enum cv_code too_many(const struct reader *reader, const char *key)
{
    return cv_fail(reader->err, CV_LIMIT, "%s has more than %d entries", key, DEFINITIONS_MAX);
}

static enum cv_code read_schemas(struct reader *reader)
{
    struct cv_table_metadata *m = reader->metadata;
    const struct cv_json *array;

    CV_DO(optional_array(reader, "schemas", &array));
    if (is_v1(reader) && (!array || !member(reader, "current-schema-id")))
        return read_lone_schema(reader);
    if (!array)
        return cv_fail(reader->err, CV_FORMAT, "schemas is missing");
    CV_DO(cv_json_read_i32(reader->root, "current-schema-id", &m->current_schema_id, reader->err));
    if (cv_json_size(array) > DEFINITIONS_MAX)
        return too_many(reader, "schemas");
    m->schemas = cv_arena_array(reader->definitions, struct cv_schema, cv_json_size(array));
    for (size_t i = 0; i < cv_json_size(array); i++) {
        CV_TRY(cv_schema_read_json(cv_json_at(array, i), reader->definitions, &m->schemas[i],
                                   reader->err),
               reader->err, "schemas[%zu]", i);
        if (cv_table_metadata_schema_by_id(m, m->schemas[i].schema_id))
            return cv_fail(reader->err, CV_FORMAT, "schema %d is there twice",
                           m->schemas[i].schema_id);
        m->schema_count++;
    }
    if (!cv_table_metadata_schema(m))
        return cv_fail(reader->err, CV_FORMAT, "current-schema-id %d is not in schemas",
                       m->current_schema_id);
    m->schemas_json = text_of(reader, array);
    return CV_OK;
}

/* v1 before specs were numbered: the fields of spec 0, under `partition-spec`. */
static enum cv_code read_lone_spec(struct reader *reader)
{
    struct cv_table_metadata *m = reader->metadata;
    const struct cv_json *json = member(reader, "partition-spec");

    if (!json)
        return cv_fail(reader->err, CV_FORMAT,
                       "there is neither partition-specs nor partition-spec");
    m->specs = cv_arena_new(reader->definitions, struct cv_partition_spec);
    m->spec_count = 1;
    CV_TRY(cv_partition_spec_read_json(json, reader->definitions, m->specs, reader->err),
           reader->err, "partition-spec");
    cv_buf_clear(&reader->scratch);
    cv_buf_append_byte(&reader->scratch, '[');
    cv_partition_spec_write_json(m->specs, &reader->scratch);
    cv_buf_append_byte(&reader->scratch, ']');
    m->specs_json = scratch_text(reader);
    return CV_OK;
}

static enum cv_code read_spec_list(struct reader *reader, const struct cv_json *array)
{
    struct cv_table_metadata *m = reader->metadata;

    if (cv_json_size(array) > DEFINITIONS_MAX)
        return too_many(reader, "partition-specs");
    m->specs = cv_arena_array(reader->definitions, struct cv_partition_spec, cv_json_size(array));
    for (size_t i = 0; i < cv_json_size(array); i++) {
        struct cv_partition_spec *spec = &m->specs[i];

        if (!cv_json_is_object(cv_json_at(array, i)))
            return cv_fail(reader->err, CV_FORMAT, "partition-specs[%zu] is not an object", i);
        CV_DO(cv_partition_spec_read_json(cv_json_at(array, i), reader->definitions, spec,
                                          reader->err));
        if (cv_table_metadata_spec_by_id(m, spec->spec_id))
            return cv_fail(reader->err, CV_FORMAT, "partition spec %d is there twice",
                           spec->spec_id);
        m->spec_count++;
        if (is_v1(reader) && !member(reader, "default-spec-id"))
            m->default_spec_id = CV_MAX(m->default_spec_id, spec->spec_id);
    }
    m->specs_json = text_of(reader, array);
    return CV_OK;
}

static int32_t highest_partition_id(const struct cv_table_metadata *metadata)
{
    int32_t highest = 999;

    for (size_t i = 0; i < metadata->spec_count; i++)
        for (size_t f = 0; f < metadata->specs[i].field_count; f++)
            highest = CV_MAX(highest, metadata->specs[i].fields[f].field_id);
    return highest;
}

static enum cv_code read_specs(struct reader *reader)
{
    struct cv_table_metadata *m = reader->metadata;
    const struct cv_json *array;

    CV_DO(optional_array(reader, "partition-specs", &array));
    if (!array && !is_v1(reader))
        return cv_fail(reader->err, CV_FORMAT, "partition-specs is missing");
    if (!is_v1(reader) || (array && member(reader, "default-spec-id")))
        CV_DO(cv_json_read_i32(reader->root, "default-spec-id", &m->default_spec_id, reader->err));
    CV_DO(array ? read_spec_list(reader, array) : read_lone_spec(reader));
    if (!cv_table_metadata_spec(m))
        return cv_fail(reader->err, CV_FORMAT, "default-spec-id %d is not in partition-specs",
                       m->default_spec_id);
    m->last_partition_id = highest_partition_id(m);
    if (is_v1(reader))
        return cv_json_optional_i32(reader->root, "last-partition-id", &m->last_partition_id,
                                    reader->err);
    return cv_json_read_i32(reader->root, "last-partition-id", &m->last_partition_id, reader->err);
}

static bool order_known(const struct cv_table_metadata *metadata, int32_t order_id)
{
    for (size_t i = 0; i < metadata->sort_order_count; i++)
        if (metadata->sort_orders[i].order_id == order_id)
            return true;
    return false;
}

static enum cv_code read_sort_orders(struct reader *reader)
{
    struct cv_table_metadata *m = reader->metadata;
    const struct cv_json *array;

    CV_DO(optional_array(reader, "sort-orders", &array));
    if (!array && !is_v1(reader))
        return cv_fail(reader->err, CV_FORMAT, "sort-orders is missing");
    if (!array) {
        m->sort_orders = cv_arena_new(reader->definitions, struct cv_sort_order);
        m->sort_order_count = 1;
        m->sort_orders_json = cv_str_from("[{\"order-id\":0,\"fields\":[]}]");
        return CV_OK;
    }
    CV_DO(cv_json_read_i32(reader->root, "default-sort-order-id", &m->default_sort_order_id,
                           reader->err));
    if (cv_json_size(array) > DEFINITIONS_MAX)
        return too_many(reader, "sort-orders");
    m->sort_orders = cv_arena_array(reader->definitions, struct cv_sort_order, cv_json_size(array));
    for (size_t i = 0; i < cv_json_size(array); i++) {
        CV_DO(cv_sort_order_read_json(cv_json_at(array, i), reader->definitions, &m->sort_orders[i],
                                      reader->err));
        if (order_known(m, m->sort_orders[i].order_id))
            return cv_fail(reader->err, CV_FORMAT, "sort order %d is there twice",
                           m->sort_orders[i].order_id);
        m->sort_order_count++;
    }
    if (!order_known(m, m->default_sort_order_id))
        return cv_fail(reader->err, CV_FORMAT, "default-sort-order-id %d is not in sort-orders",
                       m->default_sort_order_id);
    m->sort_orders_json = text_of(reader, array);
    return CV_OK;
}

static enum cv_code read_properties(struct reader *reader)
{
    const struct cv_json *properties = member(reader, "properties");
    const struct cv_json *value;
    const char *key;
    size_t position = 0;

    if (properties && !cv_json_is_object(properties))
        return cv_fail(reader->err, CV_FORMAT, "properties is not an object");
    if (cv_json_size(properties) > DEFINITIONS_MAX)
        return too_many(reader, "properties");
    while (properties && (key = cv_json_next(properties, &position, &value))) {
        if (!cv_json_is_string(value))
            return cv_fail(reader->err, CV_FORMAT, "properties: the value of %s is not a string",
                           key);
        cv_properties_set(&reader->metadata->properties, key, cv_json_text(value));
    }
    return CV_OK;
}

static enum cv_code read_snapshots(struct reader *reader)
{
    struct cv_table_metadata *m = reader->metadata;
    struct cv_snapshot snapshot;
    const struct cv_json *array;

    CV_DO(optional_array(reader, "snapshots", &array));
    if (cv_json_size(array) > CV_SNAPSHOTS_MAX)
        return cv_fail(reader->err, CV_LIMIT, "there are more than %d snapshots", CV_SNAPSHOTS_MAX);
    for (size_t i = 0; i < cv_json_size(array); i++) {
        CV_TRY(
            cv_snapshot_read_json(cv_json_at(array, i), &reader->scratch, &snapshot, reader->err),
            reader->err, "snapshots[%zu]", i);
        CV_DO(cv_table_metadata_put_snapshot(m, &snapshot, reader->err));
        if (!is_v1(reader) && snapshot.sequence_number > m->last_sequence_number)
            return cv_fail(reader->err, CV_FORMAT,
                           "snapshot %lld has sequence number %lld, above last-sequence-number "
                           "%lld",
                           (long long)snapshot.id, (long long)snapshot.sequence_number,
                           (long long)m->last_sequence_number);
    }
    m->current_snapshot_id = -1;
    CV_DO(cv_json_optional_i64(reader->root, "current-snapshot-id", &m->current_snapshot_id,
                               reader->err));
    if (m->current_snapshot_id != -1 && !cv_table_metadata_snapshot(m, m->current_snapshot_id))
        return cv_fail(reader->err, CV_FORMAT, "current-snapshot-id %lld is not in snapshots",
                       (long long)m->current_snapshot_id);
    return CV_OK;
}

static enum cv_code read_ref(struct reader *reader, const char *name, const struct cv_json *json)
{
    struct cv_snapshot_ref ref = {name, 0, false, -1, -1, -1};
    struct cv_error *err = reader->err;
    const char *type;

    if (!cv_json_is_object(json))
        return cv_fail(err, CV_FORMAT, "not an object");
    CV_DO(cv_json_read_i64(json, "snapshot-id", &ref.snapshot_id, err));
    CV_DO(cv_json_read_string(json, "type", &type, err));
    CV_DO(cv_json_optional_i64(json, "min-snapshots-to-keep", &ref.min_snapshots_to_keep, err));
    CV_DO(cv_json_optional_i64(json, "max-snapshot-age-ms", &ref.max_snapshot_age_ms, err));
    CV_DO(cv_json_optional_i64(json, "max-ref-age-ms", &ref.max_ref_age_ms, err));
    ref.is_tag = cv_text_equal_nocase(type, "tag");
    if (!ref.is_tag && !cv_text_equal_nocase(type, "branch"))
        return cv_fail(err, CV_FORMAT, "type \"%.40s\" is neither branch nor tag", type);
    if (!cv_table_metadata_snapshot(reader->metadata, ref.snapshot_id))
        return cv_fail(err, CV_FORMAT, "snapshot %lld is not in snapshots",
                       (long long)ref.snapshot_id);
    cv_table_metadata_put_ref(reader->metadata, &ref);
    return CV_OK;
}

static enum cv_code read_refs(struct reader *reader)
{
    struct cv_table_metadata *m = reader->metadata;
    const struct cv_json *refs = member(reader, "refs");
    const struct cv_snapshot_ref *main_ref;
    const struct cv_json *value;
    const char *key;
    size_t position = 0;

    if (refs && !cv_json_is_object(refs))
        return cv_fail(reader->err, CV_FORMAT, "refs is not an object");
    if (cv_json_size(refs) > DEFINITIONS_MAX)
        return too_many(reader, "refs");
    while (refs && (key = cv_json_next(refs, &position, &value)))
        CV_TRY(read_ref(reader, key, value), reader->err, "refs: %s", key);
    main_ref = cv_table_metadata_ref(m, CV_MAIN_BRANCH);
    if (!main_ref && m->current_snapshot_id != -1) {
        struct cv_snapshot_ref ref = {CV_MAIN_BRANCH, m->current_snapshot_id, false, -1, -1, -1};

        cv_table_metadata_put_ref(m, &ref);
    } else if (main_ref && main_ref->is_tag) {
        return cv_fail(reader->err, CV_FORMAT, "refs: main is a tag");
    } else if (main_ref && main_ref->snapshot_id != m->current_snapshot_id) {
        return cv_fail(reader->err, CV_FORMAT,
                       "refs: main is at snapshot %lld, current-snapshot-id is %lld",
                       (long long)main_ref->snapshot_id, (long long)m->current_snapshot_id);
    }
    return CV_OK;
}

static enum cv_code read_logs(struct reader *reader)
{
    struct cv_table_metadata *m = reader->metadata;
    const struct cv_json *array;
    int64_t timestamp_ms;
    int64_t snapshot_id;
    const char *file;

    CV_DO(optional_array(reader, "snapshot-log", &array));
    for (size_t i = 0; i < cv_json_size(array); i++) {
        const struct cv_json *entry = cv_json_at(array, i);

        CV_TRY(cv_json_read_i64(entry, "timestamp-ms", &timestamp_ms, reader->err), reader->err,
               "snapshot-log[%zu]", i);
        CV_TRY(cv_json_read_i64(entry, "snapshot-id", &snapshot_id, reader->err), reader->err,
               "snapshot-log[%zu]", i);
        cv_table_metadata_put_snapshot_log(m, timestamp_ms, snapshot_id);
    }
    CV_DO(optional_array(reader, "metadata-log", &array));
    for (size_t i = 0; i < cv_json_size(array); i++) {
        const struct cv_json *entry = cv_json_at(array, i);

        CV_TRY(cv_json_read_i64(entry, "timestamp-ms", &timestamp_ms, reader->err), reader->err,
               "metadata-log[%zu]", i);
        CV_TRY(cv_json_read_string(entry, "metadata-file", &file, reader->err), reader->err,
               "metadata-log[%zu]", i);
        cv_table_metadata_put_metadata_log(m, timestamp_ms, file);
    }
    return CV_OK;
}

static bool is_modelled(const char *key)
{
    static const char *const keys[] = {"format-version",
                                       "table-uuid",
                                       "location",
                                       "last-updated-ms",
                                       "last-sequence-number",
                                       "last-column-id",
                                       "schema",
                                       "schemas",
                                       "current-schema-id",
                                       "partition-spec",
                                       "partition-specs",
                                       "default-spec-id",
                                       "last-partition-id",
                                       "sort-orders",
                                       "default-sort-order-id",
                                       "properties",
                                       "current-snapshot-id",
                                       "snapshots",
                                       "refs",
                                       "snapshot-log",
                                       "metadata-log",
                                       "statistics",
                                       "partition-statistics"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(keys); i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

static struct cv_str own_text(struct reader *reader)
{
    return (struct cv_str){cv_arena_strndup(&reader->metadata->arena,
                                            (const char *)reader->scratch.data,
                                            reader->scratch.length),
                           reader->scratch.length};
}

/* Members that are kept as text. */
static enum cv_code read_rest(struct reader *reader)
{
    struct cv_table_metadata *m = reader->metadata;
    struct cv_json_writer w = {&reader->scratch, true};
    const struct cv_json *statistics;
    const struct cv_json *partition_statistics;
    const struct cv_json *value;
    const char *key;
    size_t position = 0;

    CV_DO(optional_array(reader, "statistics", &statistics));
    CV_DO(optional_array(reader, "partition-statistics", &partition_statistics));
    cv_buf_clear(&reader->scratch);
    if (statistics)
        cv_json_write_node(statistics, &reader->scratch);
    m->statistics_json = own_text(reader);
    cv_buf_clear(&reader->scratch);
    if (partition_statistics)
        cv_json_write_node(partition_statistics, &reader->scratch);
    m->partition_statistics_json = own_text(reader);
    cv_buf_clear(&reader->scratch);
    while ((key = cv_json_next(reader->root, &position, &value))) {
        if (is_modelled(key))
            continue;
        w.comma = true;
        cv_json_key(&w, key);
        cv_json_write_node(value, &reader->scratch);
    }
    m->unknown_json = own_text(reader);
    return cv_buf_check(&reader->scratch, "table metadata", reader->err);
}

static enum cv_code read_document(struct reader *reader)
{
    if (!cv_json_is_object(reader->root))
        return cv_fail(reader->err, CV_FORMAT, "not a JSON object");
    CV_DO(read_version(reader));
    CV_DO(read_head(reader));
    CV_DO(read_schemas(reader));
    CV_DO(read_specs(reader));
    CV_DO(read_sort_orders(reader));
    CV_DO(read_properties(reader));
    CV_DO(read_snapshots(reader));
    CV_DO(read_refs(reader));
    CV_DO(read_logs(reader));
    return read_rest(reader);
}

enum cv_code cv_table_metadata_read_json(const struct cv_json *json,
                                         struct cv_table_metadata **ret_metadata,
                                         struct cv_error *err)
{
    CV_CLEANUP(cv_table_metadata_freep) struct cv_table_metadata *metadata = NULL;
    CV_CLEANUP(reader_release)
    struct reader reader = {.scratch = CV_BUF_INIT(CV_METADATA_BYTES_MAX), .err = err};

    metadata = cv_alloc(sizeof *metadata);
    metadata->definitions = cv_table_definitions_new();
    reader.root = json;
    reader.metadata = metadata;
    reader.definitions = &metadata->definitions->arena;
    CV_DO(read_document(&reader));
    *ret_metadata = cv_steal(metadata);
    return CV_OK;
}

static enum cv_code read_plain(const void *bytes, size_t length,
                               struct cv_table_metadata **ret_metadata, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *json = NULL;

    if (length > CV_METADATA_BYTES_MAX)
        return cv_fail(err, CV_LIMIT, "more than %zu bytes", CV_METADATA_BYTES_MAX);
    CV_DO(cv_json_parse(bytes, length, &json, err));
    return cv_table_metadata_read_json(json, ret_metadata, err);
}

enum cv_code cv_table_metadata_read(const void *bytes, size_t length,
                                    struct cv_table_metadata **ret_metadata, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf plain = CV_BUF_INIT(CV_METADATA_BYTES_MAX);
    const unsigned char *magic = bytes;

    if (length >= 2 && magic[0] == 0x1f && magic[1] == 0x8b) {
        CV_TRY(cv_decompress(CV_CODEC_GZIP, bytes, length, SIZE_MAX, &plain, err), err,
               "table metadata");
        bytes = plain.data;
        length = plain.length;
    }
    CV_TRY(read_plain(bytes, length, ret_metadata, err), err, "table metadata");
    return CV_OK;
}
