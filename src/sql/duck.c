/* SPDX-License-Identifier: Apache-2.0
 *
 * The database, its connections and statements without rows. Everything that could reach files,
 * the network or extensions is switched off, and then the switches are locked. */
#include "sql/duck_int.h"
#include "sql/sql_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static enum cv_code set_up(struct cv_duck_connection *connection,
                           const struct cv_duck_config *config, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);

    /* The machine's zone otherwise; the setting is there only with the extension that uses it. */
    (void)cv_duck_execute(connection, "SET GLOBAL TimeZone='UTC'", NULL);
    cv_buf_append_text(&sql, "SET temp_directory=");
    cv_sql_write_text(&sql, config->spill_directory ? config->spill_directory : "");
    cv_buf_append_text(&sql, ";SET allowed_paths=[");
    for (size_t i = 0; i < config->readable_count; i++) {
        cv_buf_append_text(&sql, i ? "," : "");
        cv_sql_write_text(&sql, config->readable[i]);
    }
    cv_buf_append_text(&sql, "];SET enable_external_file_cache=false"
                             ";SET enable_progress_bar=false"
                             ";SET enable_external_access=false"
                             ";SET lock_configuration=true");
    return cv_duck_execute(connection, cv_buf_text(&sql), err);
}

static enum cv_code open_database(const struct cv_duck_config *config, struct cv_duck *duck,
                                  struct cv_error *err)
{
    struct duckdb_config *options;
    char memory[32];
    char *message = NULL;
    int failed = 0;

    (void)snprintf(memory, sizeof memory, "%zub", config->memory_bytes);
    if (cv_duck_api.create_config(&options) != 0)
        return cv_fail(err, CV_INTERNAL, "DuckDB makes no configuration");
    /* One thread: that of the caller. */
    failed |= cv_duck_api.set_config(options, "threads", "1");
    failed |= cv_duck_api.set_config(options, "memory_limit", memory);
    failed |= cv_duck_api.set_config(options, "autoinstall_known_extensions", "false");
    failed |= cv_duck_api.set_config(options, "autoload_known_extensions", "false");
    failed |= cv_duck_api.set_config(options, "allow_community_extensions", "false");
    if (failed)
        (void)cv_fail(err, CV_CONFIG, "DuckDB %s refuses its settings",
                      cv_duck_api.library_version());
    else if (cv_duck_api.open_ext(NULL, &duck->database, options, &message) != 0)
        failed = (int)cv_duck_fail(NULL, message, err) != CV_OK;
    cv_duck_api.free(message);
    cv_duck_api.destroy_config(&options);
    return failed ? CV_CONFIG : CV_OK;
}

/* A library built without it cannot parse for us. */
static enum cv_code check_parser(struct cv_duck_connection *connection, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const char *text;

    CV_TRY(cv_duck_text(connection, "SELECT json_serialize_sql($1::VARCHAR)", "SELECT 1", &arena,
                        &text, err),
           err, "%s lacks the json extension", cv_duck_loaded_path());
    return CV_OK;
}

enum cv_code cv_duck_open(const struct cv_duck_config *config, struct cv_duck **ret_duck,
                          struct cv_error *err)
{
    CV_CLEANUP(cv_duck_freep) struct cv_duck *duck = NULL;
    CV_CLEANUP(cv_duck_disconnectp) struct cv_duck_connection *connection = NULL;

    CV_DO(cv_duck_load(config->library, err));
    duck = cv_alloc(sizeof *duck);
    CV_DO(open_database(config, duck, err));
    CV_DO(cv_duck_connect(duck, &connection, err));
    CV_TRY(set_up(connection, config, err), err, "settings of DuckDB %s", cv_duck_version(duck));
    CV_DO(check_parser(connection, err));
    *ret_duck = cv_steal(duck);
    return CV_OK;
}

void cv_duck_free(struct cv_duck *duck)
{
    if (!duck)
        return;
    if (duck->database)
        cv_duck_api.close(&duck->database);
    free(duck);
}

const char *cv_duck_version(const struct cv_duck *duck)
{
    (void)duck;
    return cv_duck_api.library_version();
}

enum cv_code cv_duck_connect(struct cv_duck *duck, struct cv_duck_connection **ret_connection,
                             struct cv_error *err)
{
    struct cv_duck_connection *connection = cv_alloc(sizeof *connection);

    connection->duck = duck;
    if (cv_duck_api.connect(duck->database, &connection->handle) != 0) {
        free(connection);
        return cv_fail(err, CV_INTERNAL, "DuckDB gives no connection");
    }
    *ret_connection = connection;
    return CV_OK;
}

void cv_duck_disconnect(struct cv_duck_connection *connection)
{
    if (!connection)
        return;
    cv_duck_api.disconnect(&connection->handle);
    free(connection);
}

void cv_duck_interrupt(struct cv_duck_connection *connection)
{
    cv_duck_api.interrupt(connection->handle);
}

enum cv_code cv_duck_execute(struct cv_duck_connection *connection, const char *sql,
                             struct cv_error *err)
{
    struct duckdb_result result = {0};
    enum cv_code code = CV_OK;

    connection->source_error.code = CV_OK;
    if (cv_duck_api.query(connection->handle, sql, &result) != 0)
        code = cv_duck_fail(connection, cv_duck_api.result_error(&result), err);
    cv_duck_api.destroy_result(&result);
    return code;
}

static enum cv_code first_text(struct duckdb_result *result, struct cv_arena *arena,
                               const char **ret_text, struct cv_error *err)
{
    struct duckdb_chunk *chunk = cv_duck_api.fetch_chunk(*result);
    struct duckdb_vector *vector;
    const struct duckdb_string *string;
    const uint64_t *validity;
    enum cv_code code = CV_OK;

    if (!chunk)
        return cv_fail(err, CV_INTERNAL, "DuckDB: a query for one text has no row");
    vector = cv_duck_api.data_chunk_get_vector(chunk, 0);
    string = cv_duck_api.vector_get_data(vector);
    validity = cv_duck_api.vector_get_validity(vector);
    if (cv_duck_api.data_chunk_get_size(chunk) != 1 || (validity && !(validity[0] & 1)))
        code = cv_fail(err, CV_INTERNAL, "DuckDB: a query for one text has another result");
    else
        *ret_text = cv_arena_strndup(arena, cv_duck_string_bytes(string), string->length);
    cv_duck_api.destroy_data_chunk(&chunk);
    return code;
}

enum cv_code cv_duck_text(struct cv_duck_connection *connection, const char *sql,
                          const char *parameter, struct cv_arena *arena, const char **ret_text,
                          struct cv_error *err)
{
    struct duckdb_prepared *prepared = NULL;
    struct duckdb_result result = {0};
    enum cv_code code;

    connection->source_error.code = CV_OK;
    if (cv_duck_api.prepare(connection->handle, sql, &prepared) != 0)
        code = cv_duck_fail(connection, cv_duck_api.prepare_error(prepared), err);
    else if (cv_duck_api.bind_varchar_length(prepared, 1, parameter, strlen(parameter)) != 0)
        code = cv_fail(err, CV_INTERNAL, "DuckDB: the query takes no text");
    else if (cv_duck_api.execute_prepared(prepared, &result) != 0)
        code = cv_duck_fail(connection, cv_duck_api.result_error(&result), err);
    else
        code = first_text(&result, arena, ret_text, err);
    cv_duck_api.destroy_result(&result);
    cv_duck_api.destroy_prepare(&prepared);
    return code;
}
