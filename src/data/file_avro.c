/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of an Avro data file (spec: Avro, Appendix A). Fields meet columns by field id, or by the
 * name mapping where the file has no ids: the writer's schema is copied with the columns' names
 * and then compiled like any other. The file is read block by block through a window. */
#include "avro/plan.h"
#include "codec/avro_file.h"
#include "data/scan_int.h"

#include <stdlib.h>

#define HEADER_BYTES_FIRST ((size_t)64 << 10)
#define HEADER_BYTES_MAX   ((size_t)64 << 20)
#define WINDOW_BYTES       ((size_t)1 << 20)
#define BLOCK_BYTES_MAX    ((size_t)256 << 20)
#define BATCH_BYTES_MAX    ((size_t)64 << 20)
#define COUNT_BYTES_MAX    20 /* two numbers before the objects of a block */

struct cv_avro_rows {
    struct cv_store *store;
    const char *path;
    struct cv_arena arena;
    struct cv_buf header;
    struct cv_avro_file_reader file;
    struct cv_avro_schema *schema;
    struct cv_avro_plan *plan;
    struct cv_batch_builder builder;
    size_t batch_rows;
    struct constant {
        size_t column;
        struct cv_value value;
    } * constants;
    size_t constant_count;
    int64_t size;
    int64_t next_block; /* place in the file */
    struct cv_buf window;
    int64_t window_start;
    struct cv_avro_reader objects; /* of the block being read */
    int64_t block_start;
    int64_t objects_left;
    int64_t position;
    int64_t record_count; /* that the manifest promises */
};

/* --- the writer's schema under the table's names ---------------------------------------------- */

struct renamer {
    struct cv_arena *arena;
    bool by_name; /* the file has no ids */
    bool good;
};

static const struct cv_field *find_child(const struct cv_type *type, int32_t id)
{
    for (size_t i = 0; i < type->field_count; i++)
        if (type->fields[i].id == id)
            return &type->fields[i];
    return NULL;
}

static const struct cv_avro_type *rename_type(struct renamer *r, const struct cv_avro_type *writer,
                                              const struct cv_type *type,
                                              const struct cv_name_mapping_field *mapping,
                                              unsigned depth);

static const struct cv_name_mapping_field *mapped(const struct cv_name_mapping_field *parent,
                                                  const char *name)
{
    return parent ? cv_name_mapping_find(parent->fields, parent->field_count, name) : NULL;
}

static void rename_fields(struct renamer *r, const struct cv_avro_type *writer,
                          const struct cv_type *type, const struct cv_name_mapping_field *mapping,
                          unsigned depth, struct cv_avro_type *copy)
{
    bool *taken = cv_arena_alloc(r->arena, type->field_count + 1);

    copy->fields =
        cv_arena_copy(r->arena, writer->fields, writer->field_count * sizeof *copy->fields);
    for (size_t i = 0; i < writer->field_count; i++) {
        struct cv_avro_field *field = &copy->fields[i];
        const struct cv_name_mapping_field *child = mapped(mapping, field->name);
        int32_t id = r->by_name ? (child ? child->field_id : -1) : field->field_id;
        const struct cv_field *wanted = id < 0 ? NULL : find_child(type, id);

        field->alias_count = 0;
        field->name = cv_arena_printf(r->arena, "\x01%zu", i); /* met by no column */
        if (!wanted || taken[wanted - type->fields])
            continue;
        taken[wanted - type->fields] = true;
        field->name = wanted->name;
        field->type = rename_type(r, field->type, &wanted->type, child, depth + 1);
    }
}

/* key and value records of a map with other keys than text keep their names. */
static const struct cv_avro_type *
rename_entries(struct renamer *r, const struct cv_avro_type *entries, const struct cv_type *type,
               const struct cv_name_mapping_field *mapping, unsigned depth)
{
    static const char *const names[] = {"key", "value"};
    struct cv_avro_type *copy = cv_arena_copy(r->arena, entries, sizeof *entries);

    if (entries->kind != CV_AVRO_RECORD || entries->field_count != 2) {
        r->good = false;
        return entries;
    }
    copy->fields = cv_arena_copy(r->arena, entries->fields, 2 * sizeof *copy->fields);
    for (size_t i = 0; i < 2; i++)
        copy->fields[i].type = rename_type(r, copy->fields[i].type, &type->fields[i].type,
                                           mapped(mapping, names[i]), depth + 1);
    return copy;
}

static const struct cv_avro_type *rename_type(struct renamer *r, const struct cv_avro_type *writer,
                                              const struct cv_type *type,
                                              const struct cv_name_mapping_field *mapping,
                                              unsigned depth)
{
    struct cv_avro_type *copy = cv_arena_copy(r->arena, writer, sizeof *writer);

    if (depth > 4 * CV_DEPTH_MAX) {
        r->good = false;
        return writer;
    }
    if (writer->kind == CV_AVRO_UNION) {
        copy->branches = cv_arena_copy(r->arena, writer->branches,
                                       writer->branch_count * sizeof(*copy->branches));
        for (size_t i = 0; i < writer->branch_count; i++)
            copy->branches[i] = rename_type(r, writer->branches[i], type, mapping, depth + 1);
    } else if (writer->kind == CV_AVRO_RECORD && type->kind == CV_TYPE_STRUCT) {
        rename_fields(r, writer, type, mapping, depth, copy);
    } else if (writer->kind == CV_AVRO_ARRAY && type->kind == CV_TYPE_LIST) {
        copy->items = rename_type(r, writer->items, &type->fields[0].type,
                                  mapped(mapping, "element"), depth + 1);
    } else if (writer->kind == CV_AVRO_ARRAY && type->kind == CV_TYPE_MAP) {
        copy->items = rename_entries(r, writer->items, type, mapping, depth + 1);
        copy->logical = CV_AVRO_LOGICAL_MAP;
    } else if (writer->kind == CV_AVRO_MAP && type->kind == CV_TYPE_MAP) {
        copy->items = rename_type(r, writer->items, &type->fields[1].type, mapped(mapping, "value"),
                                  depth + 1);
    }
    return copy;
}

static bool has_ids(const struct cv_avro_type *record)
{
    for (size_t i = 0; i < record->field_count; i++)
        if (record->fields[i].field_id >= 0)
            return true;
    return false;
}

static bool has_name(const struct cv_avro_type *record, const char *name)
{
    for (size_t i = 0; i < record->field_count; i++)
        if (strcmp(record->fields[i].name, name) == 0)
            return true;
    return false;
}

/* --- opening ---------------------------------------------------------------------------------- */

static const struct cv_parquet_constant *find_constant(const struct cv_file_read *read, int32_t id)
{
    for (size_t i = 0; i < read->constant_count; i++)
        if (read->constants[i].field_id == id)
            return &read->constants[i];
    return NULL;
}

/* Columns of the file become targets of the plan, the others constants. */
static enum cv_code compile(struct cv_avro_rows *rows, const struct cv_file_read *read,
                            const struct cv_avro_type *record, struct cv_error *err)
{
    const struct cv_schema *schema = read->schema;
    size_t count = schema->root.field_count, target_count = 0;
    struct cv_avro_target *targets = cv_arena_array(&rows->arena, struct cv_avro_target, count);

    rows->constants = cv_arena_alloc(&rows->arena, count * sizeof *rows->constants);
    for (size_t i = 0; i < count; i++) {
        const struct cv_field *field = &schema->root.fields[i];
        const struct cv_parquet_constant *constant = find_constant(read, field->id);
        const char **path = cv_arena_alloc(&rows->arena, sizeof *path);

        *path = field->name;
        if (!has_name(record, field->name) && (constant || !field->required)) {
            rows->constants[rows->constant_count++] = (struct constant){
                i, constant ? constant->value
                            : (struct cv_value){.is_null = true, .kind = field->type.kind}};
            continue;
        }
        targets[target_count++] =
            (struct cv_avro_target){.path = path, .path_length = 1, .column = i};
    }
    return cv_avro_plan_compile(record, NULL, schema, targets, target_count, true, &rows->plan,
                                err);
}

static enum cv_code plan_rows(struct cv_avro_rows *rows, const struct cv_file_read *read,
                              struct cv_error *err)
{
    struct cv_name_mapping_field all = {.field_id = -1};
    struct renamer renamer = {&rows->arena, false, true};
    const struct cv_avro_type *record;

    CV_DO(cv_avro_schema_parse(rows->file.schema_json, NULL, 0, &rows->schema, err));
    record = rows->schema->root;
    if (record->kind != CV_AVRO_RECORD)
        return cv_fail(err, CV_FORMAT, "the Avro schema is no record");
    renamer.by_name = !has_ids(record);
    if (read->mapping) {
        all.fields = read->mapping->fields;
        all.field_count = read->mapping->field_count;
    }
    record = rename_type(&renamer, record, &read->schema->root, &all, 0);
    if (!renamer.good)
        return cv_fail(err, CV_FORMAT, "the Avro schema is not one of an Iceberg table");
    return compile(rows, read, record, err);
}

/* The header's length is not known before it is read. */
static enum cv_code read_header(struct cv_avro_rows *rows, struct cv_error *err)
{
    size_t length = HEADER_BYTES_FIRST;
    struct cv_error trouble = CV_ERROR_INIT;

    for (;; length *= 4) {
        size_t wanted = (size_t)CV_MIN((int64_t)length, rows->size);

        cv_buf_clear(&rows->header);
        CV_DO(cv_store_read_range(rows->store, rows->path, 0, wanted, &rows->header, err));
        CV_DO(cv_buf_check(&rows->header, "an Avro header", err));
        if (cv_avro_file_reader_init(&rows->file, rows->header.data, rows->header.length,
                                     &trouble) == CV_OK)
            break;
        if ((int64_t)wanted == rows->size || length >= HEADER_BYTES_MAX ||
            trouble.code != CV_FORMAT) {
            if (err)
                *err = trouble;
            return trouble.code;
        }
    }
    rows->next_block = rows->file.input.at - rows->header.data;
    rows->file.block_bytes_max = BLOCK_BYTES_MAX;
    return CV_OK;
}

static enum cv_code open_rows(struct cv_avro_rows *rows, const struct cv_file_read *read,
                              struct cv_error *err)
{
    CV_DO(cv_store_size(rows->store, rows->path, &rows->size, err));
    CV_TRY(read_header(rows, err), err, "%s", rows->path);
    CV_TRY(plan_rows(rows, read, err), err, "%s", rows->path);
    cv_batch_builder_init(&rows->builder, read->schema);
    return CV_OK;
}

enum cv_code cv_avro_rows_open(const struct cv_file_read *read, struct cv_avro_rows **ret_rows,
                               struct cv_error *err)
{
    CV_CLEANUP(cv_avro_rows_freep) struct cv_avro_rows *rows = cv_alloc(sizeof *rows);

    rows->store = read->store;
    rows->path = read->file->path;
    rows->record_count = read->file->metrics.record_count;
    rows->header = (struct cv_buf)CV_BUF_INIT(HEADER_BYTES_MAX);
    rows->window = (struct cv_buf)CV_BUF_INIT(BLOCK_BYTES_MAX + 64);
    rows->batch_rows = read->batch_rows ? read->batch_rows : CV_PARQUET_BATCH_ROWS_DEFAULT;
    CV_DO(open_rows(rows, read, err));
    *ret_rows = cv_steal(rows);
    return CV_OK;
}

void cv_avro_rows_free(struct cv_avro_rows *rows)
{
    if (!rows)
        return;
    cv_batch_builder_release(&rows->builder);
    cv_avro_plan_freep(&rows->plan);
    cv_avro_schema_freep(&rows->schema);
    cv_avro_file_reader_release(&rows->file);
    cv_buf_release(&rows->header);
    cv_buf_release(&rows->window);
    cv_arena_release(&rows->arena);
    free(rows);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The window begins at the next block and holds at least `need` bytes, or the rest of the file. */
static enum cv_code fill_window(struct cv_avro_rows *rows, size_t need, struct cv_error *err)
{
    int64_t left = rows->size - rows->next_block;
    size_t wanted = (size_t)CV_MIN((int64_t)CV_MAX(need, WINDOW_BYTES), left);

    need = (size_t)CV_MIN((int64_t)need, left);
    if (rows->window_start <= rows->next_block &&
        rows->next_block - rows->window_start <= (int64_t)rows->window.length &&
        (int64_t)rows->window.length - (rows->next_block - rows->window_start) >= (int64_t)need)
        return CV_OK;
    cv_buf_clear(&rows->window);
    CV_DO(
        cv_store_read_range(rows->store, rows->path, rows->next_block, wanted, &rows->window, err));
    rows->window_start = rows->next_block;
    if (rows->window.length < need)
        return cv_fail(err, CV_FORMAT, "%s: the file ends at byte %lld", rows->path,
                       (long long)rows->next_block + (long long)rows->window.length);
    return cv_buf_check(&rows->window, "a block of an Avro file", err);
}

static struct cv_avro_reader window_at_block(const struct cv_avro_rows *rows)
{
    return (struct cv_avro_reader){rows->window.data + (rows->next_block - rows->window_start),
                                   rows->window.data + rows->window.length};
}

/* Bytes of the next block with its counts and its marker. */
static enum cv_code block_length(const struct cv_avro_rows *rows, size_t *ret_length,
                                 struct cv_error *err)
{
    struct cv_avro_reader in = window_at_block(rows);
    const uint8_t *start = in.at;
    int64_t count, bytes, left = rows->size - rows->next_block;

    if (!cv_avro_read_long(&in, &count) || !cv_avro_read_long(&in, &bytes) || count < 0 ||
        bytes < 0 || bytes > left || (in.at - start) + bytes + 16 > left)
        return cv_fail(err, CV_FORMAT, "%s: a broken or truncated block at byte %lld", rows->path,
                       (long long)rows->next_block);
    if (bytes > (int64_t)BLOCK_BYTES_MAX)
        return cv_fail(err, CV_LIMIT, "%s: a block of %lld bytes at byte %lld", rows->path,
                       (long long)bytes, (long long)rows->next_block);
    *ret_length = (size_t)(in.at - start) + (size_t)bytes + 16;
    return CV_OK;
}

/* objects_left stays 0 at the end of the file. */
static enum cv_code next_block(struct cv_avro_rows *rows, struct cv_error *err)
{
    size_t length;

    while (rows->objects_left == 0 && rows->next_block < rows->size) {
        CV_DO(fill_window(rows, COUNT_BYTES_MAX, err));
        CV_DO(block_length(rows, &length, err));
        CV_DO(fill_window(rows, length, err));
        rows->file.input.at = window_at_block(rows).at;
        rows->file.input.end = rows->file.input.at + length;
        CV_TRY(cv_avro_file_next_block(&rows->file, &rows->objects, &rows->objects_left, err), err,
               "%s: block at byte %lld", rows->path, (long long)rows->next_block);
        rows->block_start = rows->next_block;
        rows->next_block += (int64_t)length;
    }
    return CV_OK;
}

static enum cv_code read_object(struct cv_avro_rows *rows, struct cv_error *err)
{
    struct cv_avro_fault fault;

    if (!cv_avro_plan_run_next(rows->plan, &rows->objects, &rows->builder, &fault))
        return cv_fail(err, CV_FORMAT, "%s: block at byte %lld: row %lld: %s%s%s", rows->path,
                       (long long)rows->block_start, (long long)rows->position, fault.field,
                       fault.field[0] ? ": " : "", fault.reason);
    for (size_t i = 0; i < rows->constant_count; i++)
        cv_builder_append_value(&rows->builder.columns[rows->constants[i].column],
                                &rows->constants[i].value);
    rows->position++;
    if (--rows->objects_left == 0 && rows->objects.at != rows->objects.end)
        return cv_fail(err, CV_FORMAT, "%s: block at byte %lld: %lld bytes are left over",
                       rows->path, (long long)rows->block_start,
                       (long long)(rows->objects.end - rows->objects.at));
    return CV_OK;
}

enum cv_code cv_avro_rows_next(struct cv_avro_rows *rows, struct cv_batch *ret_batch,
                               int64_t *ret_position, struct cv_error *err)
{
    int64_t first = rows->position;

    cv_batch_builder_clear(&rows->builder);
    for (size_t count = 0; count < rows->batch_rows; count++) {
        CV_DO(next_block(rows, err));
        if (rows->objects_left == 0)
            break;
        CV_DO(read_object(rows, err));
        if (count % 64 == 63 && cv_batch_builder_bytes(&rows->builder) > BATCH_BYTES_MAX)
            break;
    }
    if (cv_batch_builder_overflow(&rows->builder))
        return cv_fail(err, CV_LIMIT, "%s: row %lld: a value is too large", rows->path,
                       (long long)first);
    /* A file that was cut off between two blocks is whole to its own eyes. */
    if (rows->position == first && rows->position < rows->record_count)
        return cv_fail(err, CV_FORMAT,
                       "%s: the file ends at byte %lld after %lld rows, its manifest says %lld",
                       rows->path, (long long)rows->size, (long long)rows->position,
                       (long long)rows->record_count);
    cv_batch_builder_view(&rows->builder, ret_batch);
    ret_batch->row_count = (size_t)(rows->position - first);
    *ret_position = first;
    return CV_OK;
}
