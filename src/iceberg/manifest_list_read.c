/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads manifest lists of any writer: fields by id, names of old writers, missing optional fields
 * with their defaults. */
#include "iceberg/manifest_int.h"

#include "iceberg/avro_record.h"

#include <stdlib.h>

/* Fields by name, for writers that gave no ids; the counts had other names before 2019. */
static const struct cv_avro_known list_names[] = {
    {CV_LIST_PATH, "manifest_path"},
    {CV_LIST_LENGTH, "manifest_length"},
    {CV_LIST_SPEC_ID, "partition_spec_id"},
    {CV_LIST_CONTENT, "content"},
    {CV_LIST_SEQUENCE, "sequence_number"},
    {CV_LIST_MIN_SEQUENCE, "min_sequence_number"},
    {CV_LIST_SNAPSHOT_ID, "added_snapshot_id"},
    {CV_LIST_ADDED_FILES, "added_files_count"},
    {CV_LIST_ADDED_FILES, "added_data_files_count"},
    {CV_LIST_EXISTING_FILES, "existing_files_count"},
    {CV_LIST_EXISTING_FILES, "existing_data_files_count"},
    {CV_LIST_DELETED_FILES, "deleted_files_count"},
    {CV_LIST_DELETED_FILES, "deleted_data_files_count"},
    {CV_LIST_ADDED_ROWS, "added_rows_count"},
    {CV_LIST_EXISTING_ROWS, "existing_rows_count"},
    {CV_LIST_DELETED_ROWS, "deleted_rows_count"},
    {CV_LIST_PARTITIONS, "partitions"},
    {CV_LIST_KEY_METADATA, "key_metadata"},
};
static const struct cv_avro_known summary_names[] = {
    {CV_SUMMARY_CONTAINS_NULL, "contains_null"},
    {CV_SUMMARY_CONTAINS_NAN, "contains_nan"},
    {CV_SUMMARY_LOWER, "lower_bound"},
    {CV_SUMMARY_UPPER, "upper_bound"},
};

#define CV_SUMMARIES_MAX 1000 /* partition fields of one spec */

struct list_reader {
    struct cv_avro_plan plan;
    struct cv_avro_plan summary_plan;
    struct cv_arena *arena;
};

static enum cv_code plan_list(const struct cv_avro_type *root, struct list_reader *reader,
                              struct cv_arena *scratch, struct cv_error *err)
{
    static const int32_t needed[] = {CV_LIST_PATH, CV_LIST_LENGTH};
    const struct cv_avro_slot *partitions;
    const struct cv_avro_type *array;

    CV_DO(cv_avro_plan_record(root, "manifest_file", list_names, CV_ARRAY_LENGTH(list_names),
                              scratch, &reader->plan, err));
    CV_DO(cv_avro_plan_need(&reader->plan, "manifest_file", needed, CV_ARRAY_LENGTH(needed), err));
    partitions = cv_avro_plan_find(&reader->plan, CV_LIST_PARTITIONS);
    if (!partitions)
        return CV_OK;
    array = cv_avro_strip(partitions->type);
    if (array->kind != CV_AVRO_ARRAY)
        return cv_fail(err, CV_FORMAT, "partitions is not an array in the Avro schema");
    return cv_avro_plan_record(array->items, "partitions", summary_names,
                               CV_ARRAY_LENGTH(summary_names), scratch, &reader->summary_plan, err);
}

static bool take_kept(struct cv_avro_source *source, const struct cv_avro_type *type,
                      struct cv_arena *arena, struct cv_str *ret_bytes)
{
    struct cv_str bytes;

    if (!cv_avro_take_bytes(source, type, &bytes))
        return false;
    if (bytes.ptr)
        bytes.ptr = cv_arena_strndup(arena, bytes.ptr, bytes.length);
    *ret_bytes = bytes;
    return true;
}

static bool take_summary(struct cv_avro_source *source, const struct list_reader *reader,
                         struct cv_partition_summary *summary)
{
    bool is_null;
    bool flag;

    *summary = (struct cv_partition_summary){.contains_nan = -1};
    for (size_t i = 0; i < reader->summary_plan.count; i++) {
        const struct cv_avro_slot *slot = &reader->summary_plan.slots[i];
        bool ok = true;

        switch (slot->id) {
        case CV_SUMMARY_CONTAINS_NULL:
        case CV_SUMMARY_CONTAINS_NAN:
            ok = cv_avro_take_bool(source, slot->type, &is_null, &flag);
            if (ok && !is_null && slot->id == CV_SUMMARY_CONTAINS_NULL)
                summary->contains_null = flag;
            else if (ok && !is_null)
                summary->contains_nan = flag;
            break;
        case CV_SUMMARY_LOWER:
            ok = take_kept(source, slot->type, reader->arena, &summary->lower);
            break;
        case CV_SUMMARY_UPPER:
            ok = take_kept(source, slot->type, reader->arena, &summary->upper);
            break;
        default:
            ok = cv_avro_skip(source, slot->type);
            break;
        }
        if (!ok)
            return false;
    }
    return true;
}

static bool take_summaries(struct cv_avro_source *source, const struct list_reader *reader,
                           const struct cv_avro_type *type, struct cv_manifest_file *row)
{
    struct cv_partition_summary summaries[CV_SUMMARIES_MAX];
    size_t count = 0;
    uint64_t items;

    type = cv_avro_take_branch(source, type);
    if (!type || type->kind == CV_AVRO_NULL)
        return type != NULL;
    for (;;) {
        if (!cv_avro_take_block(source, &items))
            return false;
        if (items == 0)
            break;
        if (items > CV_SUMMARIES_MAX - count)
            return false;
        for (; items; items--)
            if (!take_summary(source, reader, &summaries[count++]))
                return false;
    }
    row->partitions = cv_arena_copy(reader->arena, summaries, count * sizeof *summaries);
    row->partition_count = count;
    return true;
}

/* A count that is not there may also be written as -1. */
static bool store_count(int32_t *ret_count, int64_t value)
{
    *ret_count = value < 0 ? -1 : (int32_t)value;
    return value <= INT32_MAX;
}

static bool store_number(struct cv_manifest_file *row, int32_t id, int64_t value)
{
    switch (id) {
    case CV_LIST_LENGTH:
        row->length = value;
        return value >= 0 && value <= (int64_t)CV_MANIFEST_BYTES_MAX;
    case CV_LIST_SPEC_ID:
        row->spec_id = (int32_t)value;
        return value >= 0 && value <= INT32_MAX;
    case CV_LIST_CONTENT:
        row->deletes = value == 1;
        return value == 0 || value == 1;
    case CV_LIST_SEQUENCE:
        row->sequence_number = value;
        return value >= 0;
    case CV_LIST_MIN_SEQUENCE:
        row->min_sequence_number = value;
        return value >= 0;
    case CV_LIST_SNAPSHOT_ID:
        row->added_snapshot_id = value;
        return true;
    case CV_LIST_ADDED_FILES:
        return store_count(&row->added_files, value);
    case CV_LIST_EXISTING_FILES:
        return store_count(&row->existing_files, value);
    case CV_LIST_DELETED_FILES:
        return store_count(&row->deleted_files, value);
    case CV_LIST_ADDED_ROWS:
        row->added_rows = CV_MAX(value, -1);
        return true;
    case CV_LIST_EXISTING_ROWS:
        row->existing_rows = CV_MAX(value, -1);
        return true;
    default:
        row->deleted_rows = CV_MAX(value, -1);
        return true;
    }
}

static bool take_field(struct cv_avro_source *source, const struct list_reader *reader,
                       const struct cv_avro_slot *slot, struct cv_manifest_file *row)
{
    struct cv_str bytes;
    bool is_null;
    int64_t value;

    if (slot->id < CV_LIST_PATH || slot->id > CV_LIST_KEY_METADATA)
        return cv_avro_skip(source, slot->type);
    switch (slot->id) {
    case CV_LIST_PATH:
        if (!take_kept(source, slot->type, reader->arena, &bytes) || !bytes.ptr ||
            memchr(bytes.ptr, '\0', bytes.length))
            return false;
        row->path = bytes.ptr;
        return true;
    case CV_LIST_PARTITIONS:
        return take_summaries(source, reader, slot->type, row);
    case CV_LIST_KEY_METADATA:
        return take_kept(source, slot->type, reader->arena, &row->key_metadata);
    case 508:
    case CV_SUMMARY_CONTAINS_NULL:
    case CV_SUMMARY_LOWER:
    case CV_SUMMARY_UPPER:
    case CV_SUMMARY_CONTAINS_NAN:
        return cv_avro_skip(source, slot->type);
    default:
        if (!cv_avro_take_long(source, slot->type, &is_null, &value))
            return false;
        return is_null || store_number(row, slot->id, value);
    }
}

static enum cv_code read_row(struct cv_avro_source *source, const struct list_reader *reader,
                             size_t index, struct cv_manifest_file *row, struct cv_error *err)
{
    *row = (struct cv_manifest_file)CV_MANIFEST_FILE_INIT;
    for (size_t i = 0; i < reader->plan.count; i++)
        if (!take_field(source, reader, &reader->plan.slots[i], row))
            return cv_fail(err, CV_FORMAT, "row %zu: field %s is malformed", index,
                           reader->plan.slots[i].name);
    return CV_OK;
}

struct rows {
    struct cv_manifest_file *items;
    size_t count;
    size_t capacity;
};

static void rows_release(struct rows *rows)
{
    free(rows->items);
}

static enum cv_code read_rows(struct cv_avro_file_reader *file, const struct list_reader *reader,
                              struct rows *rows, struct cv_error *err)
{
    struct cv_avro_source source = {.objects_left = 0};
    bool more;

    for (;;) {
        CV_DO(cv_avro_source_next(file, &source, &more, err));
        if (!more)
            return CV_OK;
        cv_array_reserve(&rows->items, &rows->capacity, rows->count + 1);
        CV_DO(read_row(&source, reader, rows->count, &rows->items[rows->count], err));
        rows->count++;
    }
}

static void copy_metadata(const struct cv_avro_file_reader *file, struct cv_properties *metadata)
{
    for (size_t i = 0; i < file->metadata_count; i++) {
        const struct cv_avro_metadata *item = &file->metadata[i];
        char *value = cv_alloc(item->value.length + 1);

        if (item->value.length)
            memcpy(value, item->value.ptr, item->value.length);
        cv_properties_set(metadata, item->key, value);
        free(value);
    }
}

static enum cv_code read_list(struct cv_avro_file_reader *file, struct cv_arena *arena,
                              struct rows *rows, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    CV_CLEANUP(cv_avro_schema_freep) struct cv_avro_schema *schema = NULL;
    struct list_reader reader = {.arena = arena};

    CV_DO(cv_avro_schema_parse(file->schema_json, NULL, 0, &schema, err));
    CV_DO(plan_list(schema->root, &reader, &scratch, err));
    return read_rows(file, &reader, rows, err);
}

enum cv_code cv_manifest_list_read(const void *bytes, size_t length, struct cv_arena *arena,
                                   struct cv_manifest_file **ret_rows, size_t *ret_count,
                                   struct cv_properties *ret_metadata, struct cv_error *err)
{
    CV_CLEANUP(cv_avro_file_reader_release) struct cv_avro_file_reader file = {0};
    CV_CLEANUP(rows_release) struct rows rows = {0};

    CV_TRY(cv_avro_file_reader_init(&file, bytes, length, err), err, "manifest list");
    file.block_bytes_max = CV_MANIFEST_BYTES_MAX;
    CV_TRY(read_list(&file, arena, &rows, err), err, "manifest list");
    *ret_rows = cv_arena_copy(arena, rows.items, rows.count * sizeof *rows.items);
    *ret_count = rows.count;
    if (ret_metadata)
        copy_metadata(&file, ret_metadata);
    return CV_OK;
}
