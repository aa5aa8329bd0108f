/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads manifests of any writer and format version up to 2: fields by id, missing optional fields
 * with their defaults, inheritance from the row of the manifest list (spec: Sequence Number
 * Inheritance). */
#include "iceberg/manifest_read_int.h"

#include <stdlib.h>

#define SPLITS_MAX 1000000 /* row groups of one file, equality ids */

static const struct cv_avro_known entry_names[] = {
    {CV_ENTRY_STATUS, "status"},
    {CV_ENTRY_SNAPSHOT_ID, "snapshot_id"},
    {CV_ENTRY_SEQUENCE, "sequence_number"},
    {CV_ENTRY_FILE_SEQUENCE, "file_sequence_number"},
    {CV_ENTRY_DATA_FILE, "data_file"},
};
static const struct cv_avro_known file_names[] = {
    {CV_FILE_CONTENT, "content"},
    {CV_FILE_PATH, "file_path"},
    {CV_FILE_FORMAT, "file_format"},
    {CV_FILE_PARTITION, "partition"},
    {CV_FILE_RECORD_COUNT, "record_count"},
    {CV_FILE_SIZE, "file_size_in_bytes"},
    {CV_FILE_COLUMN_SIZES, "column_sizes"},
    {CV_FILE_VALUE_COUNTS, "value_counts"},
    {CV_FILE_NULL_COUNTS, "null_value_counts"},
    {CV_FILE_NAN_COUNTS, "nan_value_counts"},
    {CV_FILE_LOWER_BOUNDS, "lower_bounds"},
    {CV_FILE_UPPER_BOUNDS, "upper_bounds"},
    {CV_FILE_KEY_METADATA, "key_metadata"},
    {CV_FILE_SPLIT_OFFSETS, "split_offsets"},
    {CV_FILE_EQUALITY_IDS, "equality_ids"},
    {CV_FILE_SORT_ORDER_ID, "sort_order_id"},
    {CV_FILE_REFERENCED_DATA_FILE, "referenced_data_file"},
};

struct manifest_reader {
    const struct cv_manifest_file *row;
    const struct cv_partition_spec *spec;
    const struct cv_schema *schema;
    struct cv_arena *arena;
    struct cv_arena scratch; /* plans and what the header holds */
    struct cv_avro_plan entry_plan;
    struct cv_avro_plan file_plan;
    struct cv_avro_plan partition_plan; /* id = index of the spec's field, -1 = skipped */
    struct cv_type *types;              /* parallel to the spec's fields */
    struct cv_metrics_reader metrics;
};

static void manifest_reader_release(struct manifest_reader *reader)
{
    cv_arena_release(&reader->scratch);
    cv_metrics_reader_release(&reader->metrics);
}

/* The spec that the header itself holds, for a table that has forgotten it. */
static enum cv_code spec_of_header(const struct cv_avro_file_reader *file, int32_t spec_id,
                                   struct manifest_reader *reader, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *json = NULL;
    const struct cv_str *text = cv_avro_file_metadata(file, "partition-spec");
    struct cv_partition_spec *spec = cv_arena_new(&reader->scratch, struct cv_partition_spec);

    if (!text)
        return cv_fail(err, CV_FORMAT, "partition spec %d is not in the table", spec_id);
    CV_TRY(cv_json_parse(text->ptr, text->length, &json, err), err, "partition-spec");
    CV_TRY(cv_partition_spec_read_json(json, &reader->scratch, spec, err), err, "partition-spec");
    spec->spec_id = spec_id;
    reader->spec = spec;
    return CV_OK;
}

static enum cv_code find_spec(const struct cv_avro_file_reader *file,
                              const struct cv_partition_spec *specs, size_t spec_count,
                              struct manifest_reader *reader, struct cv_error *err)
{
    const struct cv_str *text = cv_avro_file_metadata(file, "partition-spec-id");
    int64_t spec_id = reader->row->spec_id;

    if (text && (!cv_parse_i64(*text, &spec_id) || spec_id < 0 || spec_id > INT32_MAX))
        return cv_fail(err, CV_FORMAT, "partition-spec-id \"%.*s\" is none",
                       (int)CV_MIN(text->length, (size_t)40), text->ptr);
    for (size_t i = 0; i < spec_count; i++)
        if (specs[i].spec_id == spec_id) {
            reader->spec = &specs[i];
            return CV_OK;
        }
    return spec_of_header(file, (int32_t)spec_id, reader, err);
}

static struct cv_type result_type(const struct manifest_reader *reader, size_t index)
{
    const struct cv_partition_field *field = &reader->spec->fields[index];
    const struct cv_field *source = cv_schema_find_id(reader->schema, field->source_id);
    struct cv_type type = {.kind = CV_TYPE_INT};

    if (source && field->transform.kind != CV_TRANSFORM_UNKNOWN)
        (void)cv_transform_result_type(&field->transform, &source->type, &type, NULL);
    return type;
}

/* Turns field ids into indexes of the spec's fields. A writer without ids is taken by position. */
static void match_partition(struct manifest_reader *reader)
{
    const struct cv_partition_spec *spec = reader->spec;
    struct cv_avro_plan *plan = &reader->partition_plan;
    bool by_position = plan->count == spec->field_count;

    for (size_t i = 0; i < plan->count; i++)
        by_position = by_position && plan->slots[i].id < 0;
    for (size_t i = 0; i < plan->count; i++) {
        struct cv_avro_slot *slot = &plan->slots[i];
        int32_t field_id = slot->id;

        slot->id = by_position ? (int32_t)i : -1;
        for (size_t f = 0; !by_position && f < spec->field_count; f++)
            if (spec->fields[f].field_id == field_id)
                slot->id = (int32_t)f;
    }
}

static enum cv_code plan_partition(struct manifest_reader *reader, struct cv_error *err)
{
    const struct cv_partition_spec *spec = reader->spec;
    const struct cv_avro_slot *slot = cv_avro_plan_find(&reader->file_plan, CV_FILE_PARTITION);

    reader->types = cv_arena_array(&reader->scratch, struct cv_type, spec->field_count);
    for (size_t i = 0; i < spec->field_count; i++)
        reader->types[i] = result_type(reader, i);
    if (!slot)
        return CV_OK;
    CV_DO(cv_avro_plan_record(slot->type, "partition", NULL, 0, &reader->scratch,
                              &reader->partition_plan, err));
    match_partition(reader);
    for (size_t i = 0; i < reader->partition_plan.count; i++) {
        const struct cv_avro_slot *field = &reader->partition_plan.slots[i];
        const struct cv_partition_field *of_spec;

        if (field->id < 0)
            continue;
        of_spec = &spec->fields[field->id];
        if (of_spec->transform.kind == CV_TRANSFORM_UNKNOWN ||
            !cv_schema_find_id(reader->schema, of_spec->source_id))
            reader->types[field->id] = cv_partition_type_of_avro(field->type);
    }
    return CV_OK;
}

static enum cv_code plan_manifest(const struct cv_avro_type *root, struct manifest_reader *reader,
                                  struct cv_error *err)
{
    static const int32_t entry_needs[] = {CV_ENTRY_STATUS, CV_ENTRY_DATA_FILE};
    static const int32_t file_needs[] = {CV_FILE_PATH, CV_FILE_RECORD_COUNT};
    const struct cv_avro_slot *file;

    CV_DO(cv_avro_plan_record(root, "manifest_entry", entry_names, CV_ARRAY_LENGTH(entry_names),
                              &reader->scratch, &reader->entry_plan, err));
    CV_DO(cv_avro_plan_need(&reader->entry_plan, "manifest_entry", entry_needs,
                            CV_ARRAY_LENGTH(entry_needs), err));
    file = cv_avro_plan_find(&reader->entry_plan, CV_ENTRY_DATA_FILE);
    CV_DO(cv_avro_plan_record(file->type, "data_file", file_names, CV_ARRAY_LENGTH(file_names),
                              &reader->scratch, &reader->file_plan, err));
    CV_DO(cv_avro_plan_need(&reader->file_plan, "data_file", file_needs,
                            CV_ARRAY_LENGTH(file_needs), err));
    return plan_partition(reader, err);
}

static bool take_partition(struct cv_avro_source *source, struct manifest_reader *reader,
                           const struct cv_avro_type *type, struct cv_data_file *file)
{
    size_t count = reader->spec->field_count;
    struct cv_value *tuple = cv_arena_array(reader->arena, struct cv_value, count);

    for (size_t i = 0; i < count; i++)
        tuple[i] = (struct cv_value){.is_null = true, .kind = reader->types[i].kind};
    file->partition = tuple;
    type = cv_avro_take_branch(source, type);
    if (!type || type->kind == CV_AVRO_NULL)
        return type != NULL;
    for (size_t i = 0; i < reader->partition_plan.count; i++) {
        const struct cv_avro_slot *slot = &reader->partition_plan.slots[i];

        if (slot->id < 0 ? !cv_avro_skip(source, slot->type)
                         : !cv_partition_take_value(source, slot->type, &reader->types[slot->id],
                                                    reader->arena, &tuple[slot->id]))
            return false;
    }
    return true;
}

struct longs {
    int64_t *items;
    size_t count, capacity;
};

static void longs_release(struct longs *longs)
{
    free(longs->items);
}

static bool take_longs(struct cv_avro_source *source, const struct cv_avro_type *type,
                       struct longs *longs)
{
    uint64_t items;
    bool is_null;

    type = cv_avro_take_branch(source, type);
    if (!type || type->kind == CV_AVRO_NULL)
        return type != NULL;
    if (type->kind != CV_AVRO_ARRAY)
        return false;
    for (;;) {
        if (!cv_avro_take_block(source, &items) || items > SPLITS_MAX - longs->count)
            return false;
        if (items == 0)
            return true;
        for (; items; items--) {
            cv_array_reserve(&longs->items, &longs->capacity, longs->count + 1);
            if (!cv_avro_take_long(source, type->items, &is_null, &longs->items[longs->count]) ||
                is_null)
                return false;
            longs->count++;
        }
    }
}

static bool take_splits(struct cv_avro_source *source, const struct manifest_reader *reader,
                        const struct cv_avro_type *type, struct cv_data_file *file)
{
    CV_CLEANUP(longs_release) struct longs longs = {0};

    if (!take_longs(source, type, &longs))
        return false;
    file->metrics.split_count = longs.count;
    file->metrics.split_offsets =
        cv_arena_copy(reader->arena, longs.items, longs.count * sizeof *longs.items);
    return true;
}

static bool take_equality_ids(struct cv_avro_source *source, const struct manifest_reader *reader,
                              const struct cv_avro_type *type, struct cv_data_file *file)
{
    CV_CLEANUP(longs_release) struct longs longs = {0};
    int32_t *ids;

    if (!take_longs(source, type, &longs))
        return false;
    ids = cv_arena_array(reader->arena, int32_t, longs.count);
    for (size_t i = 0; i < longs.count; i++) {
        if (longs.items[i] < 0 || longs.items[i] > INT32_MAX)
            return false;
        ids[i] = (int32_t)longs.items[i];
    }
    file->equality_ids = ids;
    file->equality_count = longs.count;
    return true;
}

/* A text that is kept; NULL for null and for the empty text. */
static bool take_text(struct cv_avro_source *source, const struct manifest_reader *reader,
                      const struct cv_avro_type *type, const char **ret_text)
{
    struct cv_str bytes;

    if (!cv_avro_take_bytes(source, type, &bytes) ||
        (bytes.length && memchr(bytes.ptr, '\0', bytes.length)))
        return false;
    *ret_text = bytes.length ? cv_arena_strndup(reader->arena, bytes.ptr, bytes.length) : NULL;
    return true;
}

static bool take_file_number(struct cv_avro_source *source, const struct cv_avro_slot *slot,
                             struct cv_data_file *file)
{
    bool is_null;
    int64_t value;

    if (!cv_avro_take_long(source, slot->type, &is_null, &value))
        return false;
    if (is_null)
        return true;
    switch (slot->id) {
    case CV_FILE_CONTENT:
        file->content = (enum cv_file_content)value;
        return value >= CV_CONTENT_DATA && value <= CV_CONTENT_EQUALITY_DELETES;
    case CV_FILE_RECORD_COUNT:
        file->metrics.record_count = value;
        return value >= 0 && value <= CV_FILE_COUNT_MAX;
    case CV_FILE_SIZE:
        file->metrics.file_size = value;
        return value >= 0 && value <= CV_FILE_COUNT_MAX;
    default:
        file->has_sort_order = true;
        file->sort_order_id = (int32_t)value;
        return value >= INT32_MIN && value <= INT32_MAX;
    }
}

static bool take_file_field(struct cv_avro_source *source, struct manifest_reader *reader,
                            const struct cv_avro_slot *slot, struct cv_data_file *file)
{
    const char *key_metadata;

    switch (slot->id) {
    case CV_FILE_CONTENT:
    case CV_FILE_RECORD_COUNT:
    case CV_FILE_SIZE:
    case CV_FILE_SORT_ORDER_ID:
        return take_file_number(source, slot, file);
    case CV_FILE_PATH:
        return take_text(source, reader, slot->type, &file->path) && file->path;
    case CV_FILE_FORMAT:
        return take_text(source, reader, slot->type, &file->format);
    case CV_FILE_REFERENCED_DATA_FILE:
        return take_text(source, reader, slot->type, &file->referenced_data_file);
    case CV_FILE_PARTITION:
        return take_partition(source, reader, slot->type, file);
    case CV_FILE_COLUMN_SIZES:
    case CV_FILE_VALUE_COUNTS:
    case CV_FILE_NULL_COUNTS:
    case CV_FILE_NAN_COUNTS:
    case CV_FILE_LOWER_BOUNDS:
    case CV_FILE_UPPER_BOUNDS:
        return cv_metrics_take_map(&reader->metrics, source, slot->type, slot->id, reader->arena);
    case CV_FILE_KEY_METADATA:
        if (!cv_avro_take_bytes(source, slot->type, &file->key_metadata))
            return false;
        key_metadata = file->key_metadata.ptr;
        file->key_metadata.ptr =
            file->key_metadata.length
                ? cv_arena_strndup(reader->arena, key_metadata, file->key_metadata.length)
                : NULL;
        return true;
    case CV_FILE_SPLIT_OFFSETS:
        return take_splits(source, reader, slot->type, file);
    case CV_FILE_EQUALITY_IDS:
        return take_equality_ids(source, reader, slot->type, file);
    default:
        return cv_avro_skip(source, slot->type);
    }
}

static enum cv_code read_file(struct cv_avro_source *source, struct manifest_reader *reader,
                              const struct cv_avro_type *type, struct cv_data_file *file,
                              struct cv_error *err)
{
    struct cv_metrics_reader *metrics = &reader->metrics;

    type = cv_avro_take_branch(source, type);
    if (!type || type->kind != CV_AVRO_RECORD)
        return cv_fail(err, CV_FORMAT, "data_file is missing");
    metrics->count = 0;
    file->format = "PARQUET";
    file->spec_id = reader->spec->spec_id;
    for (size_t i = 0; i < reader->file_plan.count; i++)
        if (!take_file_field(source, reader, &reader->file_plan.slots[i], file))
            return cv_fail(err, CV_FORMAT, "field %s is malformed",
                           reader->file_plan.slots[i].name);
    if (!file->format)
        return cv_fail(err, CV_FORMAT, "file_format is empty");
    if (!file->partition)
        file->partition = cv_arena_array(reader->arena, struct cv_value, reader->spec->field_count);
    file->metrics.columns =
        cv_arena_copy(reader->arena, metrics->columns, metrics->count * sizeof *metrics->columns);
    file->metrics.column_count = metrics->count;
    return CV_OK;
}

static enum cv_code take_entry_number(struct cv_avro_source *source,
                                      const struct cv_avro_slot *slot,
                                      struct cv_manifest_entry *entry, struct cv_error *err)
{
    bool is_null;
    int64_t value = 0;

    if (!cv_avro_take_long(source, slot->type, &is_null, &value))
        return cv_fail(err, CV_FORMAT, "field %s is malformed", slot->name);
    if (slot->id == CV_ENTRY_STATUS) {
        if (is_null || value < CV_ENTRY_EXISTING || value > CV_ENTRY_DELETED)
            return cv_fail(err, CV_FORMAT, "status %lld is none", (long long)value);
        entry->status = (enum cv_entry_status)value;
    } else if (is_null) {
        return CV_OK;
    } else if (slot->id == CV_ENTRY_SNAPSHOT_ID) {
        entry->snapshot_id = value;
    } else if (slot->id == CV_ENTRY_SEQUENCE) {
        entry->sequence_number = value;
    } else {
        entry->file_sequence_number = value;
    }
    return CV_OK;
}

/* Null numbers come from the list's row. Only ADDED entries may leave them open; v1 files have
 * none, and rows of v1 lists say 0. */
static void inherit(struct cv_manifest_entry *entry, const struct cv_manifest_file *row)
{
    if (entry->snapshot_id == CV_SEQUENCE_INHERIT)
        entry->snapshot_id = row->added_snapshot_id;
    if (entry->sequence_number == CV_SEQUENCE_INHERIT)
        entry->sequence_number = row->sequence_number;
    if (entry->file_sequence_number == CV_SEQUENCE_INHERIT)
        entry->file_sequence_number = row->sequence_number;
}

static enum cv_code read_entry(struct cv_avro_source *source, struct manifest_reader *reader,
                               struct cv_manifest_entry *entry, struct cv_error *err)
{
    *entry = (struct cv_manifest_entry){.snapshot_id = CV_SEQUENCE_INHERIT,
                                        .sequence_number = CV_SEQUENCE_INHERIT,
                                        .file_sequence_number = CV_SEQUENCE_INHERIT};
    for (size_t i = 0; i < reader->entry_plan.count; i++) {
        const struct cv_avro_slot *slot = &reader->entry_plan.slots[i];

        switch (slot->id) {
        case CV_ENTRY_STATUS:
        case CV_ENTRY_SNAPSHOT_ID:
        case CV_ENTRY_SEQUENCE:
        case CV_ENTRY_FILE_SEQUENCE:
            CV_DO(take_entry_number(source, slot, entry, err));
            break;
        case CV_ENTRY_DATA_FILE:
            CV_DO(read_file(source, reader, slot->type, &entry->file, err));
            break;
        default:
            if (!cv_avro_skip(source, slot->type))
                return cv_fail(err, CV_FORMAT, "field %s is malformed", slot->name);
            break;
        }
    }
    inherit(entry, reader->row);
    return CV_OK;
}

struct entries {
    struct cv_manifest_entry *items;
    size_t count, capacity;
};

static void entries_release(struct entries *entries)
{
    free(entries->items);
}

static enum cv_code read_entries(struct cv_avro_file_reader *file, struct manifest_reader *reader,
                                 struct entries *entries, struct cv_error *err)
{
    struct cv_avro_source source = {.objects_left = 0};
    bool more;

    for (;;) {
        CV_DO(cv_avro_source_next(file, &source, &more, err));
        if (!more)
            return CV_OK;
        cv_array_reserve(&entries->items, &entries->capacity, entries->count + 1);
        CV_TRY(read_entry(&source, reader, &entries->items[entries->count], err), err, "entry %zu",
               entries->count);
        entries->count++;
    }
}

static enum cv_code read_manifest(struct cv_avro_file_reader *file,
                                  const struct cv_partition_spec *specs, size_t spec_count,
                                  struct manifest_reader *reader, struct entries *entries,
                                  struct cv_error *err)
{
    CV_CLEANUP(cv_avro_schema_freep) struct cv_avro_schema *schema = NULL;

    CV_DO(find_spec(file, specs, spec_count, reader, err));
    CV_DO(cv_avro_schema_parse(file->schema_json, NULL, 0, &schema, err));
    CV_DO(plan_manifest(schema->root, reader, err));
    return read_entries(file, reader, entries, err);
}

enum cv_code cv_manifest_read(const void *bytes, size_t length, const struct cv_manifest_file *row,
                              const struct cv_schema *schema, const struct cv_partition_spec *specs,
                              size_t spec_count, struct cv_arena *arena,
                              struct cv_manifest_entry **ret_entries, size_t *ret_count,
                              struct cv_error *err)
{
    CV_CLEANUP(cv_avro_file_reader_release) struct cv_avro_file_reader file = {0};
    CV_CLEANUP(manifest_reader_release)
    struct manifest_reader reader = {.row = row, .schema = schema, .arena = arena};
    CV_CLEANUP(entries_release) struct entries entries = {0};
    const char *name = row->path ? row->path : "manifest";

    CV_TRY(cv_avro_file_reader_init(&file, bytes, length, err), err, "%s", name);
    file.block_bytes_max = CV_MANIFEST_BYTES_MAX;
    CV_TRY(read_manifest(&file, specs, spec_count, &reader, &entries, err), err, "%s", name);
    *ret_entries = cv_arena_copy(arena, entries.items, entries.count * sizeof *entries.items);
    *ret_count = entries.count;
    return CV_OK;
}
