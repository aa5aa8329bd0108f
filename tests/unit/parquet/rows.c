/* SPDX-License-Identifier: Apache-2.0
 *
 * Not a test by itself: prints the rows of Parquet files (print_rows.h) as the reader finds them,
 * for tests/real/test_parquet_reader.py. The first line of a file is its schema.
 *
 *   rows [schema=DDL] [columns=N] [batch=N] [where=CONDITION] [count] FILE…
 *
 * A schema binds by name. `columns` keeps the first N of the file's own. With `count` only the
 * number of rows is printed. A file that cannot be read gives a line "error: …". */
#include "parquet_schema.h"
#include "print_rows.h"

#include <stdlib.h>
#include <string.h>

struct wish {
    const char *ddl;
    const char *where;
    size_t columns;
    size_t batch;
    bool count;
};

static enum cv_code read_all(struct cv_parquet_reader *reader, bool count, struct cv_error *err)
{
    struct cv_batch batch;
    struct cv_rows rows = {0};
    int64_t position;
    int64_t next = 0;
    size_t total = 0;

    do {
        CV_DO(cv_parquet_reader_next(reader, &batch, &position, err));
        if (position < next)
            return cv_fail(err, CV_INTERNAL, "rows at %lld after %lld", (long long)position,
                           (long long)next);
        next = position + (int64_t)batch.row_count;
        rows.count = batch.row_count;
        total += batch.row_count;
        if (!count)
            print_rows(stdout, &batch, &rows);
    } while (batch.row_count);
    if (count)
        printf("%zu\n", total);
    return CV_OK;
}

static enum cv_code choose_schema(const struct wish *wish, const struct cv_parquet_footer *footer,
                                  struct cv_arena *arena, struct cv_schema *ret_schema,
                                  struct cv_name_mapping *ret_mapping, struct cv_error *err)
{
    if (wish->ddl) {
        CV_DO(cv_schema_read_ddl(wish->ddl, arena, ret_schema, err));
        cv_name_mapping_of_schema(ret_schema, arena, ret_mapping);
        return CV_OK;
    }
    CV_DO(parquet_schema(footer, arena, ret_schema, ret_mapping, err));
    ret_schema->root.field_count = CV_MIN(ret_schema->root.field_count, wish->columns);
    return CV_OK;
}

static enum cv_code print_file(const struct wish *wish, const char *path, struct cv_arena *arena,
                               struct cv_error *err)
{
    CV_CLEANUP(cv_store_freep) struct cv_store *store = NULL;
    CV_CLEANUP(cv_parquet_footer_freep) struct cv_parquet_footer *footer = NULL;
    CV_CLEANUP(cv_parquet_reader_freep) struct cv_parquet_reader *reader = NULL;
    struct cv_schema schema;
    struct cv_name_mapping mapping;
    struct cv_parquet_read read = {.schema = &schema, .mapping = &mapping};
    CV_CLEANUP(cv_buf_release) struct cv_buf json = CV_BUF_INIT(0);

    CV_DO(cv_store_open(path, NULL, &store, err));
    CV_DO(cv_parquet_footer_read(store, path, -1, &footer, err));
    CV_DO(choose_schema(wish, footer, arena, &schema, &mapping, err));
    if (wish->where)
        CV_DO(cv_predicate_parse(wish->where, &schema, arena, &read.predicate, err));
    read.batch_rows = wish->batch;
    CV_DO(cv_parquet_reader_open(store, path, -1, cv_steal(footer), &read, &reader, err));
    cv_schema_write_json(&schema, &json);
    if (!wish->count)
        printf("%s\n", cv_buf_text(&json));
    return read_all(reader, wish->count, err);
}

int main(int argc, char **argv)
{
    struct wish wish = {.columns = SIZE_MAX};
    int failures = 0;

    for (int i = 1; i < argc; i++) {
        struct cv_arena arena = CV_ARENA_INIT;
        struct cv_error err = CV_ERROR_INIT;

        if (strncmp(argv[i], "schema=", 7) == 0) {
            wish.ddl = argv[i] + 7;
        } else if (strncmp(argv[i], "where=", 6) == 0) {
            wish.where = argv[i] + 6;
        } else if (strncmp(argv[i], "columns=", 8) == 0) {
            wish.columns = strtoul(argv[i] + 8, NULL, 10);
        } else if (strncmp(argv[i], "batch=", 6) == 0) {
            wish.batch = strtoul(argv[i] + 6, NULL, 10);
        } else if (strcmp(argv[i], "count") == 0) {
            wish.count = true;
        } else if (print_file(&wish, argv[i], &arena, &err) != CV_OK) {
            printf("error: %s: %s\n", cv_code_name(err.code), err.message);
            failures = 1;
        }
        cv_arena_release(&arena);
    }
    return failures;
}
