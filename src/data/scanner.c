/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of one data file: read with the columns that deletes and the predicate need besides,
 * tested batch by batch, survivors gathered. A batch that nothing touches is passed on as it is. */
#include "data/scan_int.h"
#include "iceberg/snapshot_files.h"

#include <stdlib.h>

#define MEMORY_BYTES_DEFAULT ((size_t)64 << 20)

struct predicate_column {
    const struct cv_field *field;
    struct cv_column_path path;
};

struct cv_scanner {
    struct cv_scan_config config;
    struct cv_arena arena;
    struct cv_data_file file;
    const struct cv_schema *projection;
    struct cv_schema read_schema; /* the projection, then what is needed besides */
    struct cv_field *fields;      /* of it */
    size_t field_capacity;
    const struct cv_name_mapping *mapping;
    struct cv_parquet_constant *constants;
    size_t constant_count;
    struct cv_file_reader reader;
    struct cv_position_set positions;
    struct cv_equality_set *equality;
    size_t equality_count;
    struct predicate_column *predicate_columns;
    size_t predicate_column_count;
    struct cv_buf key;
    struct cv_batch_builder survivors;
    uint32_t *selected;
    size_t selected_capacity;
    int64_t deleted;
    struct cv_batch batch; /* being tested */
    size_t row;
};

/* --- columns that are needed ------------------------------------------------------------------ */

/* The field in the current schema, else in the newest that had it. */
static const struct cv_schema *schema_with(const struct cv_table_metadata *metadata, int32_t id)
{
    const struct cv_schema *current = cv_table_metadata_schema(metadata);

    if (cv_schema_find_id(current, id))
        return current;
    for (size_t i = metadata->schema_count; i-- > 0;)
        if (cv_schema_find_id(&metadata->schemas[i], id))
            return &metadata->schemas[i];
    return NULL;
}

/* The column of a field with only what leads to it; all optional, for files that lack it. */
static void pruned_column(struct cv_arena *arena, const struct cv_type *root,
                          const struct cv_column_path *path, struct cv_field *ret_field)
{
    struct cv_field *to = ret_field;

    for (size_t i = 0; i < path->depth; i++) {
        *to = root->fields[path->indices[i]];
        to->required = false;
        root = &root->fields[path->indices[i]].type;
        if (i + 1 < path->depth) {
            to->type.fields = cv_arena_array(arena, struct cv_field, 1);
            to->type.field_count = 1;
            to = (struct cv_field *)(uintptr_t)to->type.fields;
        }
    }
}

static void reserve_field(struct cv_scanner *scanner)
{
    size_t count = scanner->read_schema.root.field_count;
    struct cv_field *grown;

    if (count < scanner->field_capacity)
        return;
    scanner->field_capacity = 2 * count + 8;
    grown = cv_arena_array(&scanner->arena, struct cv_field, scanner->field_capacity);
    if (count)
        memcpy(grown, scanner->read_schema.root.fields, count * sizeof *grown);
    scanner->fields = grown;
    scanner->read_schema.root.fields = grown;
}

/* Where the field lies in what is read; it is added when it is not there with this type. */
static enum cv_code need_field(struct cv_scanner *scanner, int32_t id,
                               struct cv_column_path *ret_path, struct cv_error *err)
{
    const struct cv_schema *schema = schema_with(scanner->config.metadata, id);
    const struct cv_field *wanted = schema ? cv_schema_find_id(schema, id) : NULL;
    struct cv_schema *read = &scanner->read_schema;
    struct cv_column_path path;
    const struct cv_field *found;

    if (!wanted)
        return cv_fail(err, CV_FORMAT, "column %d is in no schema of the table", id);
    for (size_t i = 0; i < read->root.field_count; i++) {
        struct cv_type one = {
            .kind = CV_TYPE_STRUCT, .fields = &read->root.fields[i], .field_count = 1};
        struct cv_schema column = {.root = one};

        path = cv_column_path_find(&one, id);
        found = path.depth ? cv_schema_find_id(&column, id) : NULL;
        if (!found || !cv_type_equal(&found->type, &wanted->type))
            continue;
        path.indices[0] = (uint32_t)i;
        *ret_path = path;
        return CV_OK;
    }
    path = cv_column_path_find(&schema->root, id);
    if (!path.depth || cv_type_is_nested(&wanted->type))
        return cv_fail(err, CV_UNSUPPORTED, "column %d (%s) cannot be compared", id, wanted->name);
    reserve_field(scanner);
    pruned_column(&scanner->arena, &schema->root, &path, &scanner->fields[read->root.field_count]);
    path.indices[0] = (uint32_t)read->root.field_count++;
    for (size_t i = 1; i < path.depth; i++)
        path.indices[i] = 0;
    *ret_path = path;
    return CV_OK;
}

static enum cv_code need_predicate(struct cv_scanner *scanner, const struct cv_predicate *predicate,
                                   size_t *capacity, struct cv_error *err)
{
    struct predicate_column *column;

    if (predicate->kind == CV_PREDICATE_AND || predicate->kind == CV_PREDICATE_OR) {
        CV_DO(need_predicate(scanner, predicate->left, capacity, err));
        return need_predicate(scanner, predicate->right, capacity, err);
    }
    if (!predicate->field)
        return CV_OK;
    for (size_t i = 0; i < scanner->predicate_column_count; i++)
        if (scanner->predicate_columns[i].field == predicate->field)
            return CV_OK;
    cv_array_reserve(&scanner->predicate_columns, capacity, scanner->predicate_column_count + 1);
    column = &scanner->predicate_columns[scanner->predicate_column_count++];
    column->field = predicate->field;
    return need_field(scanner, predicate->field->id, &column->path, err);
}

static bool same_ids(const struct cv_equality_set *set, const struct cv_data_file *deletes)
{
    return set->id_count == deletes->equality_count &&
           memcmp(set->ids, deletes->equality_ids, set->id_count * sizeof *set->ids) == 0;
}

/* The set for the columns of this delete file, made if it is the first. */
static enum cv_code equality_set_of(struct cv_scanner *scanner, const struct cv_data_file *deletes,
                                    struct cv_equality_set **ret_set, struct cv_error *err)
{
    size_t count = deletes->equality_count;
    struct cv_equality_set *set;
    struct cv_field *fields;

    if (!count)
        return cv_fail(err, CV_FORMAT, "%s: equality deletes without equality_ids", deletes->path);
    for (size_t i = 0; i < scanner->equality_count; i++)
        if (same_ids(&scanner->equality[i], deletes)) {
            *ret_set = &scanner->equality[i];
            return CV_OK;
        }
    set = &scanner->equality[scanner->equality_count++];
    set->ids = deletes->equality_ids;
    set->id_count = count;
    set->name = (struct cv_buf)CV_BUF_INIT(0);
    cv_buf_append(&set->name, set->ids, count * sizeof *set->ids);
    set->paths = cv_arena_alloc_array(&scanner->arena, count, sizeof *set->paths);
    set->delete_paths = cv_arena_alloc_array(&scanner->arena, count, sizeof *set->delete_paths);
    fields = cv_arena_array(&scanner->arena, struct cv_field, count);
    set->schema.root =
        (struct cv_type){.kind = CV_TYPE_STRUCT, .fields = fields, .field_count = count};
    for (size_t i = 0; i < count; i++) {
        const struct cv_schema *schema = schema_with(scanner->config.metadata, set->ids[i]);

        CV_TRY(need_field(scanner, set->ids[i], &set->paths[i], err), err, "%s", deletes->path);
        set->delete_paths[i] = cv_column_path_find(&schema->root, set->ids[i]);
        pruned_column(&scanner->arena, &schema->root, &set->delete_paths[i], &fields[i]);
        memset(set->delete_paths[i].indices, 0, sizeof set->delete_paths[i].indices);
        set->delete_paths[i].indices[0] = (uint32_t)i;
    }
    *ret_set = set;
    return CV_OK;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Columns that files of hive-partitioned tables lack (spec: Column Projection). */
static void find_constants(struct cv_scanner *scanner)
{
    const struct cv_partition_spec *spec =
        cv_table_metadata_spec_by_id(scanner->config.metadata, scanner->file.spec_id);

    if (!spec)
        return;
    scanner->constants =
        cv_arena_array(&scanner->arena, struct cv_parquet_constant, spec->field_count);
    for (size_t i = 0; i < spec->field_count; i++) {
        const struct cv_field *field =
            cv_schema_find_id(&scanner->read_schema, spec->fields[i].source_id);

        if (field && spec->fields[i].transform.kind == CV_TRANSFORM_IDENTITY &&
            scanner->file.partition[i].kind == field->type.kind)
            scanner->constants[scanner->constant_count++] =
                (struct cv_parquet_constant){spec->fields[i].source_id, scanner->file.partition[i]};
    }
}

static enum cv_code read_mapping(struct cv_scanner *scanner, struct cv_error *err)
{
    const char *json =
        cv_properties_get(&scanner->config.metadata->properties, "schema.name-mapping.default");
    struct cv_name_mapping *mapping = cv_arena_new(&scanner->arena, struct cv_name_mapping);

    if (json)
        CV_TRY(cv_name_mapping_read(json, &scanner->arena, mapping, err), err,
               "schema.name-mapping.default");
    else
        cv_name_mapping_of_schema(cv_table_metadata_schema(scanner->config.metadata),
                                  &scanner->arena, mapping);
    scanner->mapping = mapping;
    return CV_OK;
}

static enum cv_code plan_columns(struct cv_scanner *scanner, const struct cv_scan_task *task,
                                 struct cv_error *err)
{
    struct cv_equality_set *set;
    size_t capacity = 0;

    scanner->read_schema = *scanner->projection;
    scanner->equality =
        cv_arena_alloc_array(&scanner->arena, task->delete_count, sizeof *scanner->equality);
    if (scanner->config.predicate)
        CV_DO(need_predicate(scanner, scanner->config.predicate, &capacity, err));
    for (size_t i = 0; i < task->delete_count; i++)
        if (task->deletes[i]->file.content == CV_CONTENT_EQUALITY_DELETES)
            CV_DO(equality_set_of(scanner, &task->deletes[i]->file, &set, err));
    find_constants(scanner);
    return read_mapping(scanner, err);
}

static enum cv_code start_positions(struct cv_scanner *scanner, struct cv_error *err)
{
    int64_t rows = cv_file_reader_rows(&scanner->reader);

    if (scanner->positions.bits)
        return CV_OK;
    if (rows < 0)
        rows = CV_MAX(scanner->file.metrics.record_count, 0);
    if ((uint64_t)rows / 8 > scanner->config.memory_bytes)
        return cv_fail(err, CV_LIMIT, "%s: position deletes of %lld rows need more than %zu MiB",
                       scanner->file.path, (long long)rows, scanner->config.memory_bytes >> 20);
    scanner->positions.row_count = (size_t)rows;
    scanner->positions.bits = cv_alloc((size_t)rows / 8 + 1);
    return CV_OK;
}

static size_t memory_left(const struct cv_scanner *scanner, const struct cv_equality_set *set)
{
    size_t used = scanner->positions.row_count / 8;

    for (size_t i = 0; i < scanner->equality_count; i++)
        if (&scanner->equality[i] != set && scanner->equality[i].keys)
            used += cv_key_set_bytes(scanner->equality[i].keys);
    return scanner->config.memory_bytes - CV_MIN(used, scanner->config.memory_bytes);
}

/* Keys that an earlier scanner read for the same files are taken as they are. */
static void find_keys(struct cv_scanner *scanner)
{
    for (size_t i = 0; i < scanner->equality_count; i++) {
        struct cv_equality_set *set = &scanner->equality[i];

        if (scanner->config.deletes)
            set->keys = cv_delete_cache_keys(scanner->config.deletes, &set->name);
        set->borrowed = set->keys != NULL;
        if (set->keys)
            continue;
        set->keys = cv_alloc(sizeof *set->keys);
        set->keys->bytes = (struct cv_buf)CV_BUF_INIT(0);
    }
}

static void keep_keys(struct cv_scanner *scanner)
{
    for (size_t i = 0; scanner->config.deletes && i < scanner->equality_count; i++) {
        struct cv_equality_set *set = &scanner->equality[i];

        if (!set->borrowed)
            cv_delete_cache_keep(scanner->config.deletes, &set->name, set->keys);
        set->borrowed = true;
    }
}

static enum cv_code read_delete_file(struct cv_scanner *scanner, const struct cv_data_file *deletes,
                                     struct cv_error *err)
{
    struct cv_delete_cache *cache = scanner->config.deletes;
    struct cv_equality_set *set;

    if (deletes->content == CV_CONTENT_EQUALITY_DELETES) {
        CV_DO(equality_set_of(scanner, deletes, &set, err));
        if (set->borrowed)
            return CV_OK;
        if (cache)
            cv_delete_cache_count(cache);
        return cv_equality_set_read(set, scanner->config.store, deletes, scanner->mapping,
                                    memory_left(scanner, set), err);
    }
    CV_DO(start_positions(scanner, err));
    if (cache)
        return cv_delete_cache_positions(cache, &scanner->positions, scanner->config.store, deletes,
                                         scanner->file.path, err);
    return cv_position_set_read(&scanner->positions, scanner->config.store, deletes,
                                scanner->file.path, err);
}

static enum cv_code read_deletes(struct cv_scanner *scanner, const struct cv_scan_task *task,
                                 struct cv_error *err)
{
    struct cv_equality_set *set;

    if (scanner->config.deletes)
        cv_delete_cache_trim(scanner->config.deletes);
    for (size_t i = 0; i < task->delete_count; i++) {
        const struct cv_data_file *deletes = &task->deletes[i]->file;

        if (deletes->content != CV_CONTENT_EQUALITY_DELETES)
            continue;
        CV_DO(equality_set_of(scanner, deletes, &set, err));
        cv_buf_append(&set->name, deletes->path, strlen(deletes->path) + 1);
    }
    find_keys(scanner);
    for (size_t i = 0; i < task->delete_count; i++)
        CV_DO(read_delete_file(scanner, &task->deletes[i]->file, err));
    keep_keys(scanner);
    return CV_OK;
}

enum cv_code cv_scanner_open(const struct cv_scan_config *config, const struct cv_scan_task *task,
                             struct cv_scanner **ret_scanner, struct cv_error *err)
{
    CV_CLEANUP(cv_scanner_freep) struct cv_scanner *scanner = cv_alloc(sizeof *scanner);
    const struct cv_partition_spec *spec =
        cv_table_metadata_spec_by_id(config->metadata, task->data.file.spec_id);
    struct cv_file_read read = {.store = config->store, .batch_rows = config->batch_rows};

    scanner->config = *config;
    if (!scanner->config.memory_bytes)
        scanner->config.memory_bytes = MEMORY_BYTES_DEFAULT;
    scanner->projection =
        config->projection ? config->projection : cv_table_metadata_schema(config->metadata);
    scanner->key = (struct cv_buf)CV_BUF_INIT(0);
    cv_data_file_copy(&task->data.file, spec ? spec->field_count : 0, &scanner->arena,
                      &scanner->file);
    cv_batch_builder_init(&scanner->survivors, scanner->projection);
    CV_DO(plan_columns(scanner, task, err));
    read.file = &scanner->file;
    read.schema = &scanner->read_schema;
    read.mapping = scanner->mapping;
    read.constants = scanner->constants;
    read.constant_count = scanner->constant_count;
    read.predicate = config->predicate;
    CV_DO(cv_file_reader_open(&read, &scanner->reader, err));
    CV_DO(read_deletes(scanner, task, err));
    *ret_scanner = cv_steal(scanner);
    return CV_OK;
}

void cv_scanner_free(struct cv_scanner *scanner)
{
    if (!scanner)
        return;
    for (size_t i = 0; i < scanner->equality_count; i++)
        cv_equality_set_release(&scanner->equality[i]);
    cv_position_set_release(&scanner->positions);
    cv_file_reader_release(&scanner->reader);
    cv_batch_builder_release(&scanner->survivors);
    cv_buf_release(&scanner->key);
    free(scanner->predicate_columns);
    free(scanner->selected);
    cv_arena_release(&scanner->arena);
    free(scanner);
}

/* --- rows ------------------------------------------------------------------------------------- */

static struct cv_value predicate_value(void *context, const struct cv_field *field)
{
    const struct cv_scanner *scanner = context;
    size_t i = 0;

    while (scanner->predicate_columns[i].field != field)
        i++;
    return cv_column_path_value(&scanner->predicate_columns[i].path, &scanner->batch, scanner->row);
}

static bool is_deleted(struct cv_scanner *scanner, int64_t position)
{
    if (scanner->positions.any && cv_position_set_has(&scanner->positions, position))
        return true;
    for (size_t i = 0; i < scanner->equality_count; i++) {
        const struct cv_equality_set *set = &scanner->equality[i];

        if (!set->keys->count)
            continue;
        cv_equality_key(set->paths, set->id_count, &scanner->batch, scanner->row, &scanner->key);
        if (cv_key_set_has(set->keys, scanner->key.data, scanner->key.length))
            return true;
    }
    return false;
}

static size_t select_rows(struct cv_scanner *scanner, int64_t position)
{
    size_t count = 0;

    cv_array_reserve(&scanner->selected, &scanner->selected_capacity, scanner->batch.row_count);
    for (scanner->row = 0; scanner->row < scanner->batch.row_count; scanner->row++) {
        if (is_deleted(scanner, position + (int64_t)scanner->row)) {
            scanner->deleted++;
            continue;
        }
        if (scanner->config.predicate &&
            !cv_predicate_matches(scanner->config.predicate, predicate_value, scanner))
            continue;
        scanner->selected[count++] = (uint32_t)scanner->row;
    }
    return count;
}

static enum cv_code gather(struct cv_scanner *scanner, size_t count, struct cv_batch *ret_batch,
                           struct cv_error *err)
{
    struct cv_rows rows = {scanner->selected, 0, count};

    cv_batch_builder_clear(&scanner->survivors);
    CV_TRY(cv_batch_builder_append_rows(&scanner->survivors, &scanner->batch, &rows, err), err,
           "%s", scanner->file.path);
    cv_batch_builder_view(&scanner->survivors, ret_batch);
    ret_batch->row_count = count;
    return CV_OK;
}

/* Only the manifest tells how many rows an Avro file has; where that is too few, position deletes
 * of the others were not taken. */
static enum cv_code check_positions(const struct cv_scanner *scanner, int64_t position,
                                    struct cv_error *err)
{
    const struct cv_position_set *set = &scanner->positions;

    if (!set->beyond || (uint64_t)position + scanner->batch.row_count <= set->row_count)
        return CV_OK;
    return cv_fail(err, CV_FORMAT,
                   "%s has more rows than the %zu of its manifest, and position deletes of them",
                   scanner->file.path, set->row_count);
}

enum cv_code cv_scanner_next(struct cv_scanner *scanner, struct cv_batch *ret_batch,
                             struct cv_error *err)
{
    bool untouched = !scanner->config.predicate && !scanner->positions.any;
    struct cv_batch *batch = &scanner->batch;
    int64_t position;
    size_t count;

    for (size_t i = 0; i < scanner->equality_count; i++)
        untouched = untouched && !scanner->equality[i].keys->count;
    do {
        CV_DO(cv_file_reader_next(&scanner->reader, batch, &position, err));
        CV_DO(check_positions(scanner, position, err));
        count = untouched ? batch->row_count : select_rows(scanner, position);
    } while (count == 0 && batch->row_count > 0);
    if (count == batch->row_count) {
        *ret_batch = *batch;
        ret_batch->schema = scanner->projection;
        ret_batch->column_count = scanner->projection->root.field_count;
        return CV_OK;
    }
    return gather(scanner, count, ret_batch, err);
}

int64_t cv_scanner_deleted(const struct cv_scanner *scanner)
{
    return scanner->deleted;
}
