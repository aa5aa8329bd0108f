/* SPDX-License-Identifier: Apache-2.0
 *
 * SQLite behind the SQL catalog: opening, the two tables, prepared statements, transactions. Writes
 * are synchronous=EXTRA: a commit that was answered survives a power cut in every journal mode. */
#include "catalog/sql/database.h"

#include "base/file.h"
#include "base/time.h"

#include <stdio.h>

#define KEYS     " WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3"
#define IS_TABLE " AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)"

/* By schema version: without and with the column iceberg_type. */
static const char *const texts_of[CV_SQL_STATEMENT_COUNT][2] = {
    [CV_SQL_BEGIN] = {"BEGIN IMMEDIATE", "BEGIN IMMEDIATE"},
    [CV_SQL_COMMIT] = {"COMMIT", "COMMIT"},
    [CV_SQL_ROLLBACK] = {"ROLLBACK", "ROLLBACK"},
    [CV_SQL_LOAD] = {"SELECT metadata_location FROM iceberg_tables" KEYS,
                     "SELECT metadata_location FROM iceberg_tables" KEYS IS_TABLE},
    [CV_SQL_ELSEWHERE] = {"SELECT min(catalog_name) FROM iceberg_tables"
                          " WHERE table_namespace = ?1 AND table_name = ?2",
                          "SELECT min(catalog_name) FROM iceberg_tables"
                          " WHERE table_namespace = ?1 AND table_name = ?2"},
    [CV_SQL_ADD_NAMESPACE] = {"INSERT OR IGNORE INTO iceberg_namespace_properties"
                              " (catalog_name, namespace, property_key, property_value)"
                              " VALUES (?1, ?2, 'exists', 'true')",
                              "INSERT OR IGNORE INTO iceberg_namespace_properties"
                              " (catalog_name, namespace, property_key, property_value)"
                              " VALUES (?1, ?2, 'exists', 'true')"},
    [CV_SQL_ADD_TABLE] = {"INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name,"
                          " metadata_location, previous_metadata_location)"
                          " VALUES (?1, ?2, ?3, ?4, NULL)",
                          "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name,"
                          " metadata_location, previous_metadata_location, iceberg_type)"
                          " VALUES (?1, ?2, ?3, ?4, NULL, 'TABLE')"},
    [CV_SQL_SWAP] = {"UPDATE iceberg_tables SET metadata_location = ?4,"
                     " previous_metadata_location = ?5" KEYS " AND metadata_location = ?5",
                     "UPDATE iceberg_tables SET metadata_location = ?4,"
                     " previous_metadata_location = ?5" KEYS
                     " AND metadata_location = ?5" IS_TABLE},
    [CV_SQL_DROP] = {"DELETE FROM iceberg_tables" KEYS, "DELETE FROM iceberg_tables" KEYS IS_TABLE},
    [CV_SQL_LIST] = {"SELECT table_namespace || '.' || table_name FROM iceberg_tables"
                     " WHERE catalog_name = ?1 ORDER BY 1",
                     "SELECT table_namespace || '.' || table_name FROM iceberg_tables"
                     " WHERE catalog_name = ?1" IS_TABLE " ORDER BY 1"},
};

/* Schema V1, as JdbcUtil of the Java library has it. */
static const char tables_ddl[] =
    "CREATE TABLE IF NOT EXISTS iceberg_tables ("
    "catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, "
    "table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), "
    "previous_metadata_location VARCHAR(1000), iceberg_type VARCHAR(5), "
    "PRIMARY KEY (catalog_name, table_namespace, table_name));"
    "CREATE TABLE IF NOT EXISTS iceberg_namespace_properties ("
    "catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL, "
    "property_key VARCHAR(255), property_value VARCHAR(1000), "
    "PRIMARY KEY (catalog_name, namespace, property_key));";

enum cv_code cv_sql_fail(struct cv_sql_database *database, int result, const char *action,
                         struct cv_error *err)
{
    int primary = result & 0xff;
    bool busy = primary == SQLITE_BUSY || primary == SQLITE_LOCKED;

    (void)cv_fail(err, primary == SQLITE_NOTADB ? CV_FORMAT : CV_CATALOG, "cannot %s in %s: %s",
                  action, database->path,
                  database->connection ? sqlite3_errmsg(database->connection)
                                       : sqlite3_errstr(result));
    if (busy && err)
        err->flags |= CV_ERROR_RETRIABLE;
    if (busy)
        cv_hint(err, "another process holds a lock on the file for longer than %d s",
                CV_SQLITE_BUSY_MS / 1000);
    else if (primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY)
        cv_hint(err, "the file and its folder must be writable");
    return primary == SQLITE_NOTADB ? CV_FORMAT : CV_CATALOG;
}

static enum cv_code run_text(struct cv_sql_database *database, const char *sql, const char *action,
                             struct cv_error *err)
{
    int result = sqlite3_exec(database->connection, sql, NULL, NULL, NULL);

    return result == SQLITE_OK ? CV_OK : cv_sql_fail(database, result, action, err);
}

struct schema_state {
    bool present; /* the tables are there */
    bool empty;   /* nothing is: a file just made, perhaps by another process */
};

static enum cv_code look_at_schema(struct cv_sql_database *database, struct schema_state *ret_state,
                                   struct cv_error *err)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(database->connection,
                                    "SELECT count(*), total(lower(name) = 'iceberg_type'),"
                                    " (SELECT count(*) FROM sqlite_master)"
                                    " FROM pragma_table_info('iceberg_tables')",
                                    -1, &statement, NULL);

    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        ret_state->present = sqlite3_column_int(statement, 0) > 0;
        ret_state->empty = sqlite3_column_int(statement, 2) == 0;
        database->has_types = sqlite3_column_int(statement, 1) > 0;
    }
    (void)sqlite3_finalize(statement);
    return result == SQLITE_ROW ? CV_OK : cv_sql_fail(database, result, "read the tables", err);
}

static enum cv_code sync_parent(const char *path, struct cv_error *err)
{
    char parent[CV_PATH_BYTES_MAX];
    const char *slash = strrchr(path, '/');

    (void)snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - path) : 1,
                   slash ? path : ".");
    return cv_directory_sync(parent[0] ? parent : "/", err);
}

/* The change of the journal mode does not wait for locks by itself. */
static enum cv_code start_log(struct cv_sql_database *database, struct cv_error *err)
{
    int64_t deadline = cv_monotonic_us() + CV_SQLITE_BUSY_MS * CV_US_PER_MS;
    int result;

    while ((result = sqlite3_exec(database->connection, "PRAGMA journal_mode = WAL", NULL, NULL,
                                  NULL)) != SQLITE_OK) {
        if ((result & 0xff) != SQLITE_BUSY || cv_monotonic_us() > deadline)
            return cv_sql_fail(database, result, "start the log", err);
        cv_sleep_ms(5);
    }
    return CV_OK;
}

/* A file that others made keeps its journal mode; only a new one is put into WAL. */
static enum cv_code make_tables(struct cv_sql_database *database, bool empty, struct cv_error *err)
{
    struct schema_state state;

    if (empty)
        CV_DO(start_log(database, err));
    CV_DO(cv_sql_begin(database, err));
    if (run_text(database, tables_ddl, "make the tables", err) != CV_OK) {
        cv_sql_rollback(database);
        return CV_CATALOG;
    }
    CV_DO(cv_sql_commit(database, err));
    CV_DO(look_at_schema(database, &state, err));
    return empty ? sync_parent(database->path, err) : CV_OK;
}

static enum cv_code connect_file(struct cv_sql_database *database, bool create,
                                 struct cv_error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
    int result = sqlite3_open_v2(database->path, &database->connection, flags, NULL);

    if (result != SQLITE_OK)
        return cv_sql_fail(database, result, "open the catalog", err);
    (void)sqlite3_extended_result_codes(database->connection, 1);
    (void)sqlite3_busy_timeout(database->connection, CV_SQLITE_BUSY_MS);
    return run_text(database, "PRAGMA synchronous = EXTRA", "set up the connection", err);
}

static enum cv_code open_file(struct cv_sql_database *database, bool create, struct cv_error *err)
{
    struct schema_state state;

    if (!create && !cv_file_exists(database->path))
        return cv_fail(err, CV_NOT_FOUND, "catalog file %s does not exist yet", database->path);
    CV_DO(connect_file(database, create, err));
    CV_DO(look_at_schema(database, &state, err));
    if (state.present)
        return CV_OK;
    if (!create)
        return cv_fail(err, CV_NOT_FOUND, "catalog file %s holds no tables yet", database->path);
    return make_tables(database, state.empty, err);
}

enum cv_code cv_sql_database_open(struct cv_sql_database *database, bool create,
                                  struct cv_error *err)
{
    enum cv_code code;

    if (database->connection)
        return CV_OK;
    code = open_file(database, create, err);
    if (code != CV_OK)
        cv_sql_database_release(database);
    return code;
}

void cv_sql_database_release(struct cv_sql_database *database)
{
    for (size_t i = 0; i < CV_SQL_STATEMENT_COUNT; i++) {
        (void)sqlite3_finalize(database->statements[i]);
        database->statements[i] = NULL;
    }
    (void)sqlite3_close(database->connection);
    database->connection = NULL;
}

enum cv_code cv_sql_prepare(struct cv_sql_database *database, enum cv_sql_statement which,
                            const char *const *texts, size_t count, sqlite3_stmt **ret_statement,
                            struct cv_error *err)
{
    sqlite3_stmt **statement = &database->statements[which];
    int result = SQLITE_OK;

    if (!*statement)
        result = sqlite3_prepare_v3(database->connection, texts_of[which][database->has_types], -1,
                                    SQLITE_PREPARE_PERSISTENT, statement, NULL);
    for (size_t i = 0; i < count && result == SQLITE_OK; i++)
        result = sqlite3_bind_text(*statement, (int)i + 1, texts[i], -1, SQLITE_TRANSIENT);
    if (result != SQLITE_OK)
        return cv_sql_fail(database, result, "prepare a statement", err);
    *ret_statement = *statement;
    return CV_OK;
}

enum cv_code cv_sql_run(struct cv_sql_database *database, enum cv_sql_statement which,
                        const char *const *texts, size_t count, int *ret_result,
                        struct cv_error *err)
{
    enum cv_code code = CV_OK;
    sqlite3_stmt *statement;
    int result;

    CV_DO(cv_sql_prepare(database, which, texts, count, &statement, err));
    result = sqlite3_step(statement);
    if (ret_result)
        *ret_result = result;
    if (result != SQLITE_DONE)
        code = cv_sql_fail(database, result, "write", err);
    (void)sqlite3_reset(statement);
    return code;
}

enum cv_code cv_sql_begin(struct cv_sql_database *database, struct cv_error *err)
{
    return cv_sql_run(database, CV_SQL_BEGIN, NULL, 0, NULL, err);
}

void cv_sql_rollback(struct cv_sql_database *database)
{
    if (!sqlite3_get_autocommit(database->connection))
        (void)cv_sql_run(database, CV_SQL_ROLLBACK, NULL, 0, NULL, NULL);
}

enum cv_code cv_sql_commit(struct cv_sql_database *database, struct cv_error *err)
{
    int result = SQLITE_OK;

    if (cv_sql_run(database, CV_SQL_COMMIT, NULL, 0, &result, err) == CV_OK)
        return CV_OK;
    if ((result & 0xff) != SQLITE_BUSY) {
        cv_sql_rollback(database);
        if (err)
            err->code = CV_UNKNOWN;
        return CV_UNKNOWN;
    }
    cv_sql_rollback(database);
    return CV_CATALOG;
}
