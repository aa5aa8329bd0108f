/* SPDX-License-Identifier: Apache-2.0
 *
 * Prepared queries, executed again and again. Results stream: rows are taken out of DuckDB as they
 * are made, so that a large result is never in memory whole. */
#include "sql/duck_int.h"

#include <stdlib.h>

struct cv_duck_query {
    struct cv_duck_connection *connection;
    struct duckdb_prepared *prepared;
    const struct cv_schema *schema;
    struct cv_batch_builder builder;
    struct duckdb_result result;
    bool running;
};

static enum cv_code check_column(const struct cv_duck_query *query, size_t column,
                                 struct cv_error *err)
{
    const struct cv_field *field = &query->schema->root.fields[column];
    struct duckdb_logical_type *type;
    char text[CV_TYPE_TEXT_BYTES];
    bool matches;
    int id;

    type = cv_duck_api.prepared_statement_column_logical_type(query->prepared, column);
    if (!type)
        return cv_fail(err, CV_INTERNAL, "column %s of a query has no type", field->name);
    id = cv_duck_api.get_type_id(type);
    matches = cv_duck_type_matches(&field->type, type);
    cv_duck_api.destroy_logical_type(&type);
    if (matches)
        return CV_OK;
    cv_type_text(&field->type, text);
    return cv_fail(err, CV_INTERNAL, "column %s of a query is DuckDB's type %d, which is not %s",
                   field->name, id, text);
}

static enum cv_code check_columns(const struct cv_duck_query *query, struct cv_error *err)
{
    size_t count = (size_t)cv_duck_api.prepared_statement_column_count(query->prepared);

    if (count != query->schema->root.field_count)
        return cv_fail(err, CV_INTERNAL, "a query has %zu columns in place of %zu", count,
                       query->schema->root.field_count);
    for (size_t i = 0; i < count; i++)
        CV_DO(check_column(query, i, err));
    return CV_OK;
}

enum cv_code cv_duck_query_prepare(struct cv_duck_connection *connection, const char *sql,
                                   const struct cv_schema *result, struct cv_duck_query **ret_query,
                                   struct cv_error *err)
{
    CV_CLEANUP(cv_duck_query_freep) struct cv_duck_query *query = cv_alloc(sizeof *query);

    query->connection = connection;
    query->schema = result;
    cv_batch_builder_init(&query->builder, result);
    connection->source_error.code = CV_OK;
    if (cv_duck_api.prepare(connection->handle, sql, &query->prepared) != 0)
        return cv_duck_fail(connection, cv_duck_api.prepare_error(query->prepared), err);
    CV_DO(check_columns(query, err));
    *ret_query = cv_steal(query);
    return CV_OK;
}

static void finish(struct cv_duck_query *query)
{
    if (query->running)
        cv_duck_api.destroy_result(&query->result);
    query->running = false;
}

/* An execution that is not read to its end leaves its transaction open until the next statement,
 * which rolls it back with all that was registered in it. */
static void give_up(struct cv_duck_query *query)
{
    if (!query->running)
        return;
    finish(query);
    (void)cv_duck_execute(query->connection, "SELECT 1", NULL);
}

void cv_duck_query_free(struct cv_duck_query *query)
{
    if (!query)
        return;
    give_up(query);
    if (query->prepared)
        cv_duck_api.destroy_prepare(&query->prepared);
    cv_batch_builder_release(&query->builder);
    free(query);
}

enum cv_code cv_duck_query_start(struct cv_duck_query *query, const int64_t *parameters,
                                 size_t parameter_count, struct cv_error *err)
{
    struct duckdb_pending *pending = NULL;
    size_t used = (size_t)cv_duck_api.nparams(query->prepared);
    enum cv_code code = CV_OK;

    give_up(query);
    query->connection->source_error.code = CV_OK;
    if (used > parameter_count)
        return cv_fail(err, CV_INTERNAL, "a query has %zu parameters, given are %zu", used,
                       parameter_count);
    for (size_t i = 0; i < used; i++)
        if (cv_duck_api.bind_timestamp(query->prepared, i + 1, parameters[i]) != 0)
            return cv_fail(err, CV_INTERNAL, "DuckDB takes no parameter %zu", i + 1);
    if (cv_duck_api.pending_prepared_streaming(query->prepared, &pending) != 0) {
        code = cv_duck_fail(query->connection, cv_duck_api.pending_error(pending), err);
    } else {
        query->running = true;
        query->result = (struct duckdb_result){0};
        if (cv_duck_api.execute_pending(pending, &query->result) != 0)
            code = cv_duck_fail(query->connection, cv_duck_api.result_error(&query->result), err);
    }
    cv_duck_api.destroy_pending(&pending);
    if (code != CV_OK)
        finish(query);
    return code;
}

static enum cv_code append_chunk(struct cv_duck_query *query, struct duckdb_chunk *chunk,
                                 struct cv_error *err)
{
    size_t count = (size_t)cv_duck_api.data_chunk_get_size(chunk);
    const struct cv_field *fields = query->schema->root.fields;

    for (size_t i = 0; i < query->builder.column_count; i++)
        CV_TRY(cv_duck_import(cv_duck_api.data_chunk_get_vector(chunk, i), 0, count,
                              &query->builder.columns[i], err),
               err, "column %s", fields[i].name);
    return CV_OK;
}

enum cv_code cv_duck_query_next(struct cv_duck_query *query, size_t want,
                                struct cv_batch *ret_batch, struct cv_error *err)
{
    struct duckdb_chunk *chunk;
    const char *message;
    enum cv_code code;
    size_t rows = 0;

    cv_batch_builder_clear(&query->builder);
    while (query->running && rows < CV_MAX(want, 1)) {
        chunk = cv_duck_api.fetch_chunk(query->result);
        if (!chunk) {
            message = cv_duck_api.result_error(&query->result);
            code = message && message[0] ? cv_duck_fail(query->connection, message, err) : CV_OK;
            finish(query);
            CV_DO(code);
            break;
        }
        rows += (size_t)cv_duck_api.data_chunk_get_size(chunk);
        code = append_chunk(query, chunk, err);
        cv_duck_api.destroy_data_chunk(&chunk);
        CV_DO(code);
    }
    cv_batch_builder_view(&query->builder, ret_batch);
    return CV_OK;
}
