/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorted rows in Parquet files. */
#include "state/row_file.h"

#include <stdlib.h>

#define PAGE_BYTES_MIN ((size_t)16 << 10)
#define PAGE_BYTES_MAX ((size_t)256 << 10)
#define PAGE_ROWS      20000

/* Parquet wants the keys of a map required. */
static void make_optional(struct cv_type *type, struct cv_arena *arena)
{
    struct cv_field *fields =
        cv_arena_copy(arena, type->fields, type->field_count * sizeof *fields);

    for (size_t i = 0; i < type->field_count; i++) {
        fields[i].required = type->kind == CV_TYPE_MAP && i == 0;
        make_optional(&fields[i].type, arena);
    }
    type->fields = fields;
}

void cv_row_format_init(struct cv_row_format *format, const struct cv_keyed *keyed,
                        size_t row_group_bytes)
{
    struct cv_type *root = &format->schema.root;
    struct cv_field *fields;

    *format = (struct cv_row_format){.keyed = keyed};
    *root = keyed->schema->root;
    make_optional(root, &format->arena);
    fields = cv_arena_copy(&format->arena, root->fields, root->field_count * sizeof *fields);
    for (size_t i = 0; i < root->field_count; i++) /* names of columns need not differ */
        fields[i].name = cv_arena_printf(&format->arena, "%zu-%.200s", i, fields[i].name);
    root->fields = fields;
    cv_schema_assign_ids(&format->schema, &format->arena);
    format->options = (struct cv_parquet_options){
        .codec = CV_CODEC_LZ4_RAW,
        .level = CV_CODEC_LEVEL_DEFAULT,
        .row_group_bytes = (int64_t)row_group_bytes,
        .page_bytes = (int64_t)CV_MAX(PAGE_BYTES_MIN, CV_MIN(row_group_bytes / 4, PAGE_BYTES_MAX)),
        .page_rows = PAGE_ROWS,
    };
}

void cv_row_format_release(struct cv_row_format *format)
{
    cv_arena_release(&format->arena);
}

/* --- writing --------------------------------------------------------------------------------- */

static enum cv_code append_all(const struct cv_row_format *format, struct cv_merge_reader *rows,
                               struct cv_parquet_writer *writer, int64_t *ret_rows,
                               struct cv_error *err)
{
    struct cv_batch batch;

    for (*ret_rows = 0;; *ret_rows += (int64_t)batch.row_count) {
        struct cv_rows all = {0};

        CV_DO(cv_merge_reader_next(rows, &batch, err));
        if (!batch.row_count)
            return CV_OK;
        all.count = batch.row_count;
        batch.schema = &format->schema;
        CV_DO(cv_parquet_writer_append(writer, &batch, &all, err));
    }
}

enum cv_code cv_row_file_write(const struct cv_row_format *format, struct cv_merge_reader *rows,
                               struct cv_output *output, int64_t *ret_rows, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const struct cv_metrics_config no_metrics = {0};
    struct cv_parquet_writer *writer = NULL;
    struct cv_file_metrics metrics;
    enum cv_code code = cv_parquet_writer_open(output, &format->schema, &format->options,
                                               &no_metrics, &writer, err);

    if (code != CV_OK)
        return code;
    code = append_all(format, rows, writer, ret_rows, err);
    if (code == CV_OK && *ret_rows)
        return cv_parquet_writer_close(writer, &arena, &metrics, err);
    cv_parquet_writer_abort(writer);
    return code;
}

/* --- reading --------------------------------------------------------------------------------- */

struct file_input {
    struct cv_store *store;
    char *location;
    int64_t size;
    struct cv_parquet_read read;
    struct cv_parquet_reader *reader;
};

static enum cv_code next_of_file(void *context, struct cv_batch *ret_batch, struct cv_error *err)
{
    struct file_input *input = context;
    int64_t position;

    if (!input->reader)
        CV_DO(cv_parquet_reader_open(input->store, input->location, input->size, NULL, &input->read,
                                     &input->reader, err));
    return cv_parquet_reader_next(input->reader, ret_batch, &position, err);
}

static void free_file_input(void *context)
{
    struct file_input *input = context;

    cv_parquet_reader_free(input->reader);
    free(input->location);
    free(input);
}

struct cv_merge_input cv_row_file_input(const struct cv_row_format *format, struct cv_store *store,
                                        const char *location, int64_t size)
{
    struct file_input *input = cv_alloc(sizeof *input);

    input->store = store;
    input->location = cv_strdup(location);
    input->size = size;
    input->read.schema = &format->schema;
    return (struct cv_merge_input){.next = next_of_file, .free = free_file_input, .context = input};
}
