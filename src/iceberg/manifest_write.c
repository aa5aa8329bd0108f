/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes manifests: entries in the field order of their own schema, and what the manifest's row in
 * the list has to say about them. */
#include "iceberg/manifest_int.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#define BLOCK_SIZE_V1                                                                              \
    (INT64_C(64) << 20) /* block_size_in_bytes: required by v1, without meaning                    \
                         */

struct writer {
    const struct cv_manifest_writer_config *config;
    const struct cv_type *partition_types;
    struct cv_type entry_type;
    const struct cv_type *file_type;
    struct cv_arena *arena;
};

/* Bounds of one partition field over all entries. */
struct range {
    const struct cv_value *lower;
    const struct cv_value *upper;
};

static void put_optional_long(struct cv_buf *out, bool present, int64_t value)
{
    cv_avro_put_long(out, present);
    if (present)
        cv_avro_put_long(out, value);
}

static void put_optional_bytes(struct cv_buf *out, struct cv_str value)
{
    cv_avro_put_long(out, value.ptr != NULL);
    if (value.ptr)
        cv_avro_put_bytes(out, value.ptr, value.length);
}

static void put_decimal(struct cv_buf *out, cv_wide_int unscaled, size_t width)
{
    uint8_t bytes[16];

    for (size_t i = width; i-- > 0; unscaled >>= 8)
        bytes[i] = (uint8_t)unscaled;
    cv_buf_append(out, bytes, width);
}

static void put_raw(struct cv_buf *out, const void *bytes, size_t length)
{
    cv_buf_append(out, bytes, length); /* Avro's floats are little-endian, as the machine's */
}

/* A value that is not null, in the Avro form of its type. A fixed has no length before it, as Avro
 * demands; iceberg-core 1.10 writes and expects one there, which no other reader takes. */
static void put_value(struct cv_buf *out, const struct cv_type *type, const struct cv_value *value)
{
    switch (type->kind) {
    case CV_TYPE_BOOLEAN:
        cv_avro_put_bool(out, value->boolean);
        break;
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
        cv_avro_put_long(out, value->i32);
        break;
    case CV_TYPE_FLOAT:
        put_raw(out, &value->f32, sizeof value->f32);
        break;
    case CV_TYPE_DOUBLE:
        put_raw(out, &value->f64, sizeof value->f64);
        break;
    case CV_TYPE_DECIMAL:
        put_decimal(out, value->decimal, cv_decimal_fixed_bytes(type->precision));
        break;
    case CV_TYPE_UUID:
    case CV_TYPE_FIXED:
        cv_buf_append(out, value->bytes.ptr, value->bytes.length);
        break;
    case CV_TYPE_STRING:
    case CV_TYPE_BINARY:
        cv_avro_put_bytes(out, value->bytes.ptr, value->bytes.length);
        break;
    default:
        cv_avro_put_long(out, value->i64);
        break;
    }
}

static void put_partition(struct cv_buf *out, const struct writer *w, const struct cv_value *tuple)
{
    for (size_t i = 0; i < w->config->spec->field_count; i++) {
        cv_avro_put_long(out, !tuple[i].is_null);
        if (!tuple[i].is_null)
            put_value(out, &w->partition_types[i], &tuple[i]);
    }
}

static int64_t count_of(const struct cv_column_metrics *column, int32_t field_id)
{
    switch (field_id) {
    case CV_FILE_COLUMN_SIZES:
        return column->column_size;
    case CV_FILE_VALUE_COUNTS:
        return column->value_count;
    case CV_FILE_NULL_COUNTS:
        return column->null_count;
    default:
        return column->nan_count;
    }
}

/* An optional map from column id to a count: null when no column has one. */
static void put_counts(struct cv_buf *out, const struct cv_file_metrics *metrics, int32_t field_id)
{
    int64_t present = 0;

    for (size_t i = 0; i < metrics->column_count; i++)
        present += count_of(&metrics->columns[i], field_id) >= 0;
    cv_avro_put_long(out, present > 0);
    if (present == 0)
        return;
    cv_avro_put_long(out, present);
    for (size_t i = 0; i < metrics->column_count; i++) {
        int64_t count = count_of(&metrics->columns[i], field_id);

        if (count < 0)
            continue;
        cv_avro_put_long(out, metrics->columns[i].field_id);
        cv_avro_put_long(out, count);
    }
    cv_avro_put_long(out, 0);
}

static struct cv_str bound_of(const struct cv_column_metrics *column, int32_t field_id)
{
    return field_id == CV_FILE_LOWER_BOUNDS ? column->lower : column->upper;
}

static void put_bounds(struct cv_buf *out, const struct cv_file_metrics *metrics, int32_t field_id)
{
    int64_t present = 0;

    for (size_t i = 0; i < metrics->column_count; i++)
        present += bound_of(&metrics->columns[i], field_id).ptr != NULL;
    cv_avro_put_long(out, present > 0);
    if (present == 0)
        return;
    cv_avro_put_long(out, present);
    for (size_t i = 0; i < metrics->column_count; i++) {
        struct cv_str bound = bound_of(&metrics->columns[i], field_id);

        if (!bound.ptr)
            continue;
        cv_avro_put_long(out, metrics->columns[i].field_id);
        cv_avro_put_bytes(out, bound.ptr, bound.length);
    }
    cv_avro_put_long(out, 0);
}

static void put_split_offsets(struct cv_buf *out, const struct cv_file_metrics *metrics)
{
    cv_avro_put_long(out, metrics->split_count > 0);
    if (metrics->split_count == 0)
        return;
    cv_avro_put_long(out, (int64_t)metrics->split_count);
    for (size_t i = 0; i < metrics->split_count; i++)
        cv_avro_put_long(out, metrics->split_offsets[i]);
    cv_avro_put_long(out, 0);
}

static void put_equality_ids(struct cv_buf *out, const struct cv_data_file *file)
{
    cv_avro_put_long(out, file->equality_count > 0);
    if (file->equality_count == 0)
        return;
    cv_avro_put_long(out, (int64_t)file->equality_count);
    for (size_t i = 0; i < file->equality_count; i++)
        cv_avro_put_long(out, file->equality_ids[i]);
    cv_avro_put_long(out, 0);
}

static void put_file_field(struct cv_buf *out, const struct writer *w,
                           const struct cv_data_file *file, int32_t field_id)
{
    switch (field_id) {
    case CV_FILE_CONTENT:
        cv_avro_put_long(out, file->content);
        break;
    case CV_FILE_PATH:
        cv_avro_put_string(out, file->path);
        break;
    case CV_FILE_FORMAT:
        cv_avro_put_string(out, file->format);
        break;
    case CV_FILE_PARTITION:
        put_partition(out, w, file->partition);
        break;
    case CV_FILE_RECORD_COUNT:
        cv_avro_put_long(out, file->metrics.record_count);
        break;
    case CV_FILE_SIZE:
        cv_avro_put_long(out, file->metrics.file_size);
        break;
    case CV_FILE_BLOCK_SIZE:
        cv_avro_put_long(out, BLOCK_SIZE_V1);
        break;
    case CV_FILE_LOWER_BOUNDS:
    case CV_FILE_UPPER_BOUNDS:
        put_bounds(out, &file->metrics, field_id);
        break;
    case CV_FILE_KEY_METADATA:
        put_optional_bytes(out, file->key_metadata);
        break;
    case CV_FILE_SPLIT_OFFSETS:
        put_split_offsets(out, &file->metrics);
        break;
    case CV_FILE_EQUALITY_IDS:
        put_equality_ids(out, file);
        break;
    case CV_FILE_SORT_ORDER_ID:
        put_optional_long(out, file->has_sort_order, file->sort_order_id);
        break;
    case CV_FILE_REFERENCED_DATA_FILE:
        put_optional_bytes(out, cv_str_from(file->referenced_data_file));
        break;
    default:
        put_counts(out, &file->metrics, field_id);
        break;
    }
}

/* The id of the adding snapshot is written out although it may be inherited: it does not change
 * when a commit is tried again, and PyIceberg 0.11 misreads entries without it. */
static void put_entry(struct cv_buf *out, const struct writer *w,
                      const struct cv_manifest_entry *entry)
{
    bool v1 = w->config->format_version == 1;
    int64_t snapshot_id =
        entry->snapshot_id == CV_SEQUENCE_INHERIT ? w->config->snapshot_id : entry->snapshot_id;

    cv_avro_put_long(out, entry->status);
    if (v1) {
        cv_avro_put_long(out, snapshot_id);
    } else {
        put_optional_long(out, true, snapshot_id);
        put_optional_long(out, entry->sequence_number != CV_SEQUENCE_INHERIT,
                          entry->sequence_number);
        put_optional_long(out, entry->file_sequence_number != CV_SEQUENCE_INHERIT,
                          entry->file_sequence_number);
    }
    for (size_t i = 0; i < w->file_type->field_count; i++)
        put_file_field(out, w, &entry->file, w->file_type->fields[i].id);
}

static void count_entry(struct cv_manifest_file *row, const struct cv_manifest_entry *entry)
{
    int64_t rows = entry->file.metrics.record_count;

    switch (entry->status) {
    case CV_ENTRY_ADDED:
        row->added_files++;
        row->added_rows += rows;
        break;
    case CV_ENTRY_EXISTING:
        row->existing_files++;
        row->existing_rows += rows;
        break;
    default:
        row->deleted_files++;
        row->deleted_rows += rows;
        return; /* history only: no part in the lowest sequence number */
    }
    if (entry->sequence_number != CV_SEQUENCE_INHERIT &&
        (row->min_sequence_number == CV_SEQUENCE_INHERIT ||
         entry->sequence_number < row->min_sequence_number))
        row->min_sequence_number = entry->sequence_number;
}

static bool value_is_nan(const struct cv_value *value)
{
    return (value->kind == CV_TYPE_FLOAT && isnan(value->f32)) ||
           (value->kind == CV_TYPE_DOUBLE && isnan(value->f64));
}

static void widen(struct cv_partition_summary *summary, struct range *range,
                  const struct cv_value *value)
{
    if (value->is_null) {
        summary->contains_null = true;
        return;
    }
    if (value_is_nan(value)) {
        summary->contains_nan = 1;
        return;
    }
    if (!range->lower || cv_value_compare(value, range->lower) < 0)
        range->lower = value;
    if (!range->upper || cv_value_compare(value, range->upper) > 0)
        range->upper = value;
}

static struct cv_str bound_bytes(const struct cv_value *value, struct cv_arena *arena)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(0);

    if (!value)
        return (struct cv_str){NULL, 0};
    cv_value_write_binary(value, &bytes);
    return (struct cv_str){cv_arena_strndup(arena, (const char *)bytes.data, bytes.length),
                           bytes.length};
}

/* Over entries of every status, since a reader prunes by it. */
static void summarize(const struct writer *w, const struct cv_manifest_entry *entries, size_t count,
                      struct cv_manifest_file *row)
{
    size_t fields = w->config->spec->field_count;

    row->partitions = cv_arena_array(w->arena, struct cv_partition_summary, fields);
    row->partition_count = fields;
    for (size_t f = 0; f < fields; f++) {
        struct range range = {NULL, NULL};

        for (size_t i = 0; i < count; i++)
            widen(&row->partitions[f], &range, &entries[i].file.partition[f]);
        row->partitions[f].lower = bound_bytes(range.lower, w->arena);
        row->partitions[f].upper = bound_bytes(range.upper, w->arena);
    }
}

static bool fits(const struct cv_value *value, const struct cv_type *type)
{
    if (value->is_null)
        return true;
    if (value->kind != type->kind)
        return false;
    if (type->kind == CV_TYPE_UUID || type->kind == CV_TYPE_FIXED)
        return value->bytes.length == (type->kind == CV_TYPE_UUID ? 16 : type->length);
    return type->kind != CV_TYPE_DECIMAL || cv_decimal_fits(value->decimal, type->precision);
}

static enum cv_code check_entry(const struct writer *w, const struct cv_manifest_entry *entry,
                                struct cv_error *err)
{
    const struct cv_partition_spec *spec = w->config->spec;

    if (entry->file.spec_id != spec->spec_id)
        return cv_fail(err, CV_INTERNAL, "its partition spec is %d, the manifest's %d",
                       entry->file.spec_id, spec->spec_id);
    if ((entry->file.content != CV_CONTENT_DATA) != w->config->deletes)
        return cv_fail(err, CV_INTERNAL, "data and deletes do not share a manifest");
    for (size_t i = 0; i < spec->field_count; i++)
        if (!fits(&entry->file.partition[i], &w->partition_types[i]))
            return cv_fail(err, CV_INTERNAL, "partition field %s has a value of another type",
                           spec->fields[i].name);
    return CV_OK;
}

static enum cv_code put_entries(const struct writer *w, struct cv_avro_file_writer *file,
                                const struct cv_manifest_entry *entries, size_t count,
                                struct cv_manifest_file *row, struct cv_error *err)
{
    for (size_t i = 0; i < count; i++) {
        CV_TRY(check_entry(w, &entries[i], err), err, "manifest entry of %s", entries[i].file.path);
        put_entry(cv_avro_file_object(file), w, &entries[i]);
        CV_DO(cv_avro_file_end_object(file, err));
        count_entry(row, &entries[i]);
    }
    return cv_avro_file_finish(file, err);
}

static struct cv_str text_in(struct cv_arena *arena, struct cv_buf *buf)
{
    struct cv_str text = {cv_arena_strndup(arena, (const char *)buf->data, buf->length),
                          buf->length};

    cv_buf_clear(buf);
    return text;
}

static struct cv_str number_in(struct cv_arena *arena, long long number)
{
    return cv_str_from(cv_arena_printf(arena, "%lld", number));
}

static size_t describe(const struct writer *w, struct cv_arena *arena,
                       struct cv_avro_metadata metadata[8])
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    const struct cv_manifest_writer_config *config = w->config;
    struct cv_schema own = {.root = w->entry_type};
    size_t count = 0;

    cv_schema_write_json(config->schema, &text);
    metadata[count++] = (struct cv_avro_metadata){"schema", text_in(arena, &text)};
    metadata[count++] =
        (struct cv_avro_metadata){"schema-id", number_in(arena, config->schema->schema_id)};
    cv_partition_fields_write_json(config->spec, &text);
    metadata[count++] = (struct cv_avro_metadata){"partition-spec", text_in(arena, &text)};
    metadata[count++] =
        (struct cv_avro_metadata){"partition-spec-id", number_in(arena, config->spec->spec_id)};
    metadata[count++] =
        (struct cv_avro_metadata){"format-version", number_in(arena, config->format_version)};
    if (config->format_version > 1)
        metadata[count++] =
            (struct cv_avro_metadata){"content", cv_str_from(config->deletes ? "deletes" : "data")};
    cv_schema_write_json(&own, &text);
    metadata[count++] = (struct cv_avro_metadata){"iceberg.schema", text_in(arena, &text)};
    return count;
}

static enum cv_code write_file(struct writer *w, const struct cv_manifest_entry *entries,
                               size_t count, struct cv_arena *scratch, struct cv_buf *out,
                               struct cv_manifest_file *row, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf schema = CV_BUF_INIT(0);
    CV_CLEANUP(cv_avro_file_writer_release) struct cv_avro_file_writer file = {0};
    struct cv_avro_metadata metadata[8];
    struct cv_type partition;
    size_t metadata_count;

    CV_DO(
        cv_partition_types(w->config->spec, w->config->schema, scratch, &w->partition_types, err));
    partition = cv_partition_struct(w->config->spec, w->partition_types, scratch);
    w->entry_type = cv_manifest_entry_type(w->config->format_version, &partition, scratch);
    w->file_type = &w->entry_type.fields[w->entry_type.field_count - 1].type;
    assert(w->entry_type.fields[w->entry_type.field_count - 1].id == CV_ENTRY_DATA_FILE);
    cv_avro_record_write_json("manifest_entry", &w->entry_type, &schema);
    metadata_count = describe(w, scratch, metadata);
    CV_DO(cv_avro_file_writer_init(&file, out,
                                   (struct cv_str){(const char *)schema.data, schema.length},
                                   w->config->codec, metadata, metadata_count, err));
    return put_entries(w, &file, entries, count, row, err);
}

enum cv_code cv_manifest_write(const struct cv_manifest_writer_config *config,
                               const struct cv_manifest_entry *entries, size_t count,
                               struct cv_buf *out, struct cv_arena *arena,
                               struct cv_manifest_file *ret_row, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    struct writer w = {.config = config, .arena = arena};
    struct cv_manifest_file row = {
        .spec_id = config->spec->spec_id,
        .deletes = config->deletes,
        .added_snapshot_id = config->snapshot_id,
        .sequence_number = CV_SEQUENCE_INHERIT,
        .min_sequence_number = CV_SEQUENCE_INHERIT,
    };

    assert(config->format_version == 1 || config->format_version == 2);
    if (config->format_version == 1 && config->deletes)
        return cv_fail(err, CV_INTERNAL, "format version 1 has no delete manifests");
    CV_TRY(write_file(&w, entries, count, &scratch, out, &row, err), err, "manifest");
    summarize(&w, entries, count, &row);
    *ret_row = row;
    return CV_OK;
}
