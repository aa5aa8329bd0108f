/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a whole Parquet file, after one byte that says how it is read: rows in a batch, with
 * the schema that the file has of itself or with one that widens, renames and adds columns. Every
 * value is looked at. */
#include "fuzz.h"

#include "memory_store.h"
#include "parquet_schema.h"

#define BATCHES_MAX 64

static volatile size_t sink;

static size_t look(const struct cv_column *column)
{
    size_t width = cv_type_width(column->type);
    size_t sum = column->null_count;
    size_t bytes = column->length * width;

    if (column->type->kind == CV_TYPE_BOOLEAN)
        bytes = (column->length + 7) / 8;
    else if (column->type->kind == CV_TYPE_STRING || column->type->kind == CV_TYPE_BINARY)
        bytes = (size_t)column->offsets[column->length];
    else if (cv_type_is_nested(column->type))
        bytes = 0;
    for (size_t i = 0; i < bytes; i++)
        sum += column->data[i];
    for (size_t i = 0; i < column->length; i++)
        sum += cv_column_is_null(column, i);
    for (size_t i = 0; i < column->child_count; i++)
        sum += look(&column->children[i]);
    if (column->type->kind == CV_TYPE_LIST &&
        (size_t)column->offsets[column->length] != column->children[0].length)
        __builtin_trap();
    return sum;
}

static void read_rows(struct cv_store *store, const struct cv_parquet_read *read)
{
    CV_CLEANUP(cv_parquet_reader_freep) struct cv_parquet_reader *reader = NULL;
    struct cv_batch batch;
    int64_t position;

    if (cv_parquet_reader_open(store, "x", -1, NULL, read, &reader, NULL) != CV_OK)
        return;
    for (size_t i = 0; i < BATCHES_MAX; i++) {
        if (cv_parquet_reader_next(reader, &batch, &position, NULL) != CV_OK || !batch.row_count)
            return;
        for (size_t j = 0; j < batch.column_count; j++)
            sink += look(&batch.columns[j]);
    }
}

static void read_own(struct cv_store *store, struct cv_parquet_read *read, struct cv_arena *arena)
{
    CV_CLEANUP(cv_parquet_footer_freep) struct cv_parquet_footer *footer = NULL;
    struct cv_schema schema;
    struct cv_name_mapping mapping;

    if (cv_parquet_footer_read(store, "x", -1, &footer, NULL) != CV_OK ||
        parquet_schema(footer, arena, &schema, &mapping, NULL) != CV_OK)
        return;
    read->schema = &schema;
    read->mapping = &mapping;
    read_rows(store, read);
}

/* The corpus has columns of these names. */
static void read_other(struct cv_store *store, struct cv_parquet_read *read, struct cv_arena *arena)
{
    struct cv_schema schema;
    struct cv_name_mapping mapping;
    struct cv_error err = CV_ERROR_INIT;

    if (cv_schema_read_ddl("i bigint, l bigint, f double, s string, added int, "
                           "li array<bigint>, st struct<a: bigint, added: string>",
                           arena, &schema, &err) != CV_OK ||
        cv_predicate_parse("i > 3 OR s = 'b'", &schema, arena, &read->predicate, &err) != CV_OK)
        __builtin_trap();
    cv_name_mapping_of_schema(&schema, arena, &mapping);
    read->schema = &schema;
    read->mapping = &mapping;
    read_rows(store, read);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t batches[] = {0, 1, 3, 64};
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_parquet_read read = {0};
    struct memory_store memory;

    if (size == 0)
        return 0;
    memory_store_init(&memory, data + 1, size - 1);
    read.batch_rows = batches[data[0] & 3];
    if (data[0] & 4)
        read_other(&memory.store, &read, &arena);
    else
        read_own(&memory.store, &read, &arena);
    cv_arena_release(&arena);
    return 0;
}
