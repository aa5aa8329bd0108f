/* SPDX-License-Identifier: Apache-2.0
 *
 * An Avro data file of a table, read whole as rows of a schema: by field ids where it has some,
 * else through the mapping of names. */
#include "fuzz.h"

#include "data/scan_int.h"
#include "memory_store.h"

#include <stdlib.h>

#define BATCHES_MAX 64

static const char columns[] =
    "id bigint, i int, f float, d double, n decimal(12,2), day date, ts timestamp, nz "
    "timestamp_ntz, "
    "s string, b binary, flag boolean, st struct<a: int, t: struct<x: string>>, "
    "li array<struct<q: int>>, m map<string, int>, mi map<int, string>, later int";

static void read_all(const struct cv_file_read *read)
{
    CV_CLEANUP(cv_avro_rows_freep) struct cv_avro_rows *rows = NULL;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_batch batch;
    int64_t position, next = 0;

    if (cv_avro_rows_open(read, &rows, &err) != CV_OK) {
        if (err.message[0] == '\0')
            abort();
        return;
    }
    for (int i = 0; i < BATCHES_MAX; i++) {
        if (cv_avro_rows_next(rows, &batch, &position, &err) != CV_OK || !batch.row_count)
            break;
        if (position != next)
            abort();
        next += (int64_t)batch.row_count;
        for (size_t c = 0; c < batch.column_count; c++)
            if (batch.columns[c].length != batch.row_count)
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_store memory;
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_data_file file = {.path = "memory", .format = "AVRO"};
    struct cv_name_mapping mapping;
    struct cv_schema schema;

    memory_store_init(&memory, data, size);
    if (cv_schema_read_ddl(columns, &arena, &schema, &err) != CV_OK)
        abort();
    cv_name_mapping_of_schema(&schema, &arena, &mapping);
    read_all(&(struct cv_file_read){
        .store = &memory.store, .file = &file, .schema = &schema, .mapping = &mapping});
    cv_arena_release(&arena);
    return 0;
}
