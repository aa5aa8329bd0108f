/* SPDX-License-Identifier: Apache-2.0
 *
 * See query.h. */
#include "stream/query.h"

#include <stdlib.h>

#define DUCK_BYTES_MIN ((size_t)64 << 20)

/* Whether the decoder does all by itself. What is no plain list of items may be SQL: then the
 * query's compiler has the word. */
static bool is_plain(const struct cv_job *job, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const struct cv_job_options *o = &job->options;
    struct cv_select select;

    if (o->sql || o->where || o->distinct || job->complete)
        return false;
    return !o->select || cv_select_parse(o->select, &arena, &select, err) == CV_OK;
}

static enum cv_code open_duck(struct cv_stream_query *q, struct cv_error *err)
{
    const struct cv_job *job = q->job;
    const char **readable = cv_arena_array(&q->arena, const char *, job->table_count);
    struct cv_duck_config config = {
        .library = job->options.duckdb_library,
        .memory_bytes = CV_MAX((size_t)job->options.memory_bytes / 4, DUCK_BYTES_MIN),
        .spill_directory = job->options.spill_directory,
        .readable = readable,
    };

    for (size_t i = 0; i < job->table_count; i++)
        if (job->tables[i].path)
            readable[config.readable_count++] = job->tables[i].path;
    CV_DO(cv_duck_open(&config, &q->duck, err));
    return cv_duck_connect(q->duck, &q->connection, err);
}

static void list_items(struct cv_stream_query *q)
{
    size_t count = q->query->input_schema.root.field_count;
    struct cv_select_item *items = cv_arena_array(&q->arena, struct cv_select_item, count);

    for (size_t i = 0; i < count; i++) {
        const struct cv_query_input *input = &q->query->inputs[i];

        items[i] = (struct cv_select_item){
            .path = input->path,
            .path_length = input->path_length,
            .cast = input->try_cast ? CV_SELECT_TRY_CAST
                    : input->cast   ? CV_SELECT_CAST
                                    : CV_SELECT_ASSIGN,
            .cast_type = input->cast_type,
            .name = q->query->input_schema.root.fields[i].name,
            .text = input->text,
        };
        (void)cv_kafka_column_find(input->column, &items[i].column); /* the binder knows it */
    }
    q->items = (struct cv_select){items, count};
}

void cv_stream_query_feed(const struct cv_stream_query *query, struct cv_decoder_config *decoder)
{
    decoder->select = NULL;
    decoder->items = &query->items;
    decoder->table = &query->query->input_schema;
    decoder->ignore_unknown = true;
}

/* What a job without `select` has: see cv_select_default(). */
static const char *default_select(const struct cv_stream_query *q)
{
    if (q->stream.root.fields[CV_KAFKA_VALUE].type.kind == CV_TYPE_STRUCT)
        return "value.*";
    return "*";
}

static enum cv_code compile(struct cv_stream_query *q, struct cv_error *err)
{
    const struct cv_job *job = q->job;
    const char *select = job->options.select ? job->options.select : default_select(q);
    const struct cv_query_config config = {
        .select = job->options.sql ? NULL : select,
        .where = job->options.where,
        .sql = job->options.sql,
        .stream = &q->stream,
        .value_open = q->open,
        .case_sensitive = job->value.case_sensitive,
        .tables = cv_static_tables_list(q->tables),
        .table_count = job->table_count,
        .sink = q->sink,
        .ignore_unknown = job->sink.ignore_unknown,
        .complete = job->complete,
        .watermark = job->watermark.column,
        .watermark_delay_us = job->watermark.delay_us,
        .distinct = job->options.distinct,
    };

    CV_DO(cv_query_compile(&config, q->connection, &q->query, err));
    CV_DO(cv_natives_register(q->query->natives, q->connection, err));
    list_items(q);
    return cv_stream_query_refresh(q, err);
}

bool cv_stream_query_keeps_state(const struct cv_stream_query *query)
{
    return query && query->query->kind != CV_QUERY_ROWS;
}

enum cv_code cv_stream_query_refresh(struct cv_stream_query *query, struct cv_error *err)
{
    return cv_static_tables_load(query->tables, query->query->uses_table, err);
}

void cv_stream_query_free(struct cv_stream_query *query)
{
    if (!query)
        return;
    cv_static_tables_free(query->tables);
    cv_duck_disconnect(query->connection);
    cv_duck_free(query->duck);
    cv_query_free(query->query);
    cv_arena_release(&query->arena);
    free(query);
}

enum cv_code cv_stream_query_open(const struct cv_job *job, const struct cv_decoder_config *decoder,
                                  const struct cv_schema *sink, struct cv_stream_query **ret_query,
                                  struct cv_error *err)
{
    CV_CLEANUP(cv_stream_query_freep) struct cv_stream_query *q = NULL;
    struct cv_error plain = CV_ERROR_INIT;
    enum cv_code code;

    *ret_query = NULL;
    if (is_plain(job, &plain))
        return CV_OK;
    q = cv_alloc(sizeof *q);
    q->job = job;
    q->sink = sink;
    code = open_duck(q, err);
    /* Without the library a misspelt path is still told as what it is. */
    if (code != CV_OK && plain.code == CV_CONFIG && err)
        *err = plain;
    if (code != CV_OK && plain.code == CV_CONFIG)
        return plain.code;
    CV_DO(code);
    CV_DO(cv_static_tables_open(&job->file, job->tables, job->table_count, q->connection,
                                &q->tables, err));
    CV_DO(cv_decoder_stream_schema(decoder, &q->arena, &q->stream, &q->open, err));
    CV_DO(compile(q, err));
    *ret_query = cv_steal(q);
    return CV_OK;
}
