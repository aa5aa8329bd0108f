/* SPDX-License-Identifier: Apache-2.0
 *
 * An output that keeps the file in memory, and may fail at its nth step; the footer of such a file.
 */
#ifndef CALVE_TESTS_PARQUET_MEMORY_OUTPUT_H
#define CALVE_TESTS_PARQUET_MEMORY_OUTPUT_H

#include "batch/builder.h"
#include "codec/thrift.h"
#include "parquet/writer.h"
#include "storage/store.h"
#include "test.h"

struct memory_output {
    struct cv_output output;
    struct cv_buf bytes;
    int steps_left; /* until one fails; negative = never */
    bool closed;
    bool aborted;
};

static enum cv_code memory_step(struct memory_output *memory, struct cv_error *err)
{
    if (memory->steps_left == 0)
        return cv_fail(err, CV_IO, "the disk is full");
    memory->steps_left--;
    return CV_OK;
}

static enum cv_code memory_write(struct cv_output *output, const void *bytes, size_t length,
                                 struct cv_error *err)
{
    struct memory_output *memory = (struct memory_output *)output;

    CV_DO(memory_step(memory, err));
    cv_buf_append(&memory->bytes, bytes, length);
    output->written += (int64_t)length;
    return CV_OK;
}

static enum cv_code memory_close(struct cv_output *output, struct cv_error *err)
{
    struct memory_output *memory = (struct memory_output *)output;

    CV_DO(memory_step(memory, err));
    memory->closed = true;
    return CV_OK;
}

static void memory_abort(struct cv_output *output)
{
    ((struct memory_output *)output)->aborted = true;
}

static const struct cv_output_ops memory_ops = {
    .write = memory_write,
    .close = memory_close,
    .abort = memory_abort,
};

static inline void memory_output_init(struct memory_output *memory)
{
    *memory = (struct memory_output){.output = {.ops = &memory_ops}, .steps_left = -1};
}

/* One table being written: the schema from DDL, a batch builder, the writer. */
struct table {
    struct cv_arena arena;
    struct cv_schema schema;
    struct cv_metrics_config config;
    struct cv_parquet_options options;
    struct cv_batch_builder builder;
    struct memory_output memory;
    struct cv_parquet_writer *writer;
    struct cv_file_metrics metrics;
};

static inline void table_open(struct table *t, const char *ddl, const char *metrics_mode)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_properties properties = {0};

    memset(t, 0, sizeof *t);
    CV_ASSERT_OK(cv_schema_read_ddl(ddl, &t->arena, &t->schema, &err), &err);
    cv_properties_set(&properties, "write.parquet.compression-codec", "none");
    cv_properties_set(&properties, "write.metadata.metrics.default", metrics_mode);
    CV_ASSERT_OK(
        cv_metrics_config_read(&t->schema, &properties, NULL, 0, &t->arena, &t->config, &err),
        &err);
    CV_ASSERT_OK(cv_parquet_options_read(&properties, &t->options, &err), &err);
    cv_properties_release(&properties);
    cv_batch_builder_init(&t->builder, &t->schema);
    memory_output_init(&t->memory);
}

/* After the options are as the test wants them. */
static inline void table_start(struct table *t)
{
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(cv_parquet_writer_open(&t->memory.output, &t->schema, &t->options, &t->config,
                                        &t->writer, &err),
                 &err);
}

static inline enum cv_code table_append(struct table *t, struct cv_error *err)
{
    struct cv_batch batch;
    struct cv_rows rows = {0};
    enum cv_code code;

    cv_batch_builder_view(&t->builder, &batch);
    rows.count = batch.row_count;
    code = cv_parquet_writer_append(t->writer, &batch, &rows, err);
    cv_batch_builder_clear(&t->builder);
    return code;
}

static inline void table_close(struct table *t)
{
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(cv_parquet_writer_close(t->writer, &t->arena, &t->metrics, &err), &err);
    assert_true(t->memory.closed);
    assert_int_equal(t->metrics.file_size, t->memory.bytes.length);
}

static inline void table_release(struct table *t)
{
    cv_batch_builder_release(&t->builder);
    cv_buf_release(&t->memory.bytes);
    cv_arena_release(&t->arena);
}

/* What the tests ask of a footer: some fields of the first column chunk of each row group. */
struct chunk_seen {
    int64_t values;
    int64_t data_offset;
    int64_t dictionary_offset;
    int64_t null_count;
    struct cv_str min, max;
    bool min_exact, max_exact;
    int64_t column_index, offset_index;
    int32_t column_index_length, offset_index_length;
};

static inline void read_statistics(struct cv_thrift_reader *r, struct chunk_seen *seen)
{
    struct cv_thrift_field f;

    while (cv_thrift_read_field(r, &f)) {
        if (f.id == 3)
            seen->null_count = cv_thrift_read_i64(r, &f);
        else if (f.id == 5)
            seen->max = cv_thrift_read_binary(r, &f);
        else if (f.id == 6)
            seen->min = cv_thrift_read_binary(r, &f);
        else if (f.id == 7)
            seen->max_exact = cv_thrift_read_bool(r, &f);
        else if (f.id == 8)
            seen->min_exact = cv_thrift_read_bool(r, &f);
        else
            cv_thrift_skip(r, f.type);
    }
}

static inline void read_chunk_meta(struct cv_thrift_reader *r, struct chunk_seen *seen)
{
    struct cv_thrift_field f;

    while (cv_thrift_read_field(r, &f)) {
        if (f.id == 5) {
            seen->values = cv_thrift_read_i64(r, &f);
        } else if (f.id == 9) {
            seen->data_offset = cv_thrift_read_i64(r, &f);
        } else if (f.id == 11) {
            seen->dictionary_offset = cv_thrift_read_i64(r, &f);
        } else if (f.id == 12) {
            cv_thrift_read_struct(r, &f);
            read_statistics(r, seen);
        } else {
            cv_thrift_skip(r, f.type);
        }
    }
}

static inline void read_chunk(struct cv_thrift_reader *r, struct chunk_seen *seen)
{
    struct cv_thrift_field f;

    cv_thrift_read_begin_struct(r);
    while (cv_thrift_read_field(r, &f)) {
        if (f.id == 3) {
            cv_thrift_read_struct(r, &f);
            read_chunk_meta(r, seen);
        } else if (f.id == 4) {
            seen->offset_index = cv_thrift_read_i64(r, &f);
        } else if (f.id == 5) {
            seen->offset_index_length = cv_thrift_read_i32(r, &f);
        } else if (f.id == 6) {
            seen->column_index = cv_thrift_read_i64(r, &f);
        } else if (f.id == 7) {
            seen->column_index_length = cv_thrift_read_i32(r, &f);
        } else {
            cv_thrift_skip(r, f.type);
        }
    }
}

/* All chunks of the first row group; returns their number. */
static inline size_t read_footer(const struct cv_buf *file, struct chunk_seen *seen, size_t max)
{
    struct cv_thrift_reader r;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_thrift_field f, g;
    uint32_t length;
    size_t count = 0;

    assert_memory_equal(file->data, "PAR1", 4);
    assert_memory_equal(file->data + file->length - 4, "PAR1", 4);
    memcpy(&length, file->data + file->length - 8, 4);
    cv_thrift_reader_init(&r, file->data + file->length - 8 - length, length);
    cv_thrift_read_begin_struct(&r);
    while (cv_thrift_read_field(&r, &f)) {
        if (f.id != 4 || cv_thrift_read_list(&r, &f, CV_THRIFT_STRUCT) == 0) {
            if (f.id != 4)
                cv_thrift_skip(&r, f.type);
            continue;
        }
        cv_thrift_read_begin_struct(&r);
        while (cv_thrift_read_field(&r, &g)) {
            if (g.id != 1) {
                cv_thrift_skip(&r, g.type);
                continue;
            }
            count = cv_thrift_read_list(&r, &g, CV_THRIFT_STRUCT);
            assert_true(count <= max);
            for (size_t i = 0; i < count; i++) {
                seen[i] = (struct chunk_seen){0};
                read_chunk(&r, &seen[i]);
            }
        }
        break;
    }
    CV_ASSERT_OK(cv_thrift_reader_check(&r, "footer", &err), &err);
    return count;
}

#endif
