/* SPDX-License-Identifier: Apache-2.0
 *
 * The SQL catalog in a SQLite file. Writes are synchronous=EXTRA: a commit that was answered
 * survives a power cut in every journal mode. */
#include "catalog/sql/database.h"

#include "base/file.h"
#include "base/time.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#define CV_SQLITE_BUSY_MS 30000 /* how long a lock of another process is waited for */

struct sqlite_database {
    struct cv_sql_database base;
    char *path;
    sqlite3 *connection; /* NULL until needed */
    /* Prepared at first use. */
    sqlite3_stmt *statements[CV_SQL_STATEMENT_COUNT];
};

static enum cv_code sqlite_fail(struct sqlite_database *database, int result, const char *action,
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

static enum cv_code run_text(struct sqlite_database *database, const char *sql, const char *action,
                             struct cv_error *err)
{
    int result = sqlite3_exec(database->connection, sql, NULL, NULL, NULL);

    return result == SQLITE_OK ? CV_OK : sqlite_fail(database, result, action, err);
}

struct schema_state {
    bool present; /* the tables are there */
    bool empty;   /* nothing is: a file just made, perhaps by another process */
};

static enum cv_code look_at_schema(struct sqlite_database *database, struct schema_state *ret_state,
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
        if (ret_state->present)
            database->base.schema =
                sqlite3_column_int(statement, 1) > 0 ? CV_SQL_SCHEMA_V1 : CV_SQL_SCHEMA_V0;
    }
    (void)sqlite3_finalize(statement);
    return result == SQLITE_ROW ? CV_OK : sqlite_fail(database, result, "read the tables", err);
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
static enum cv_code start_log(struct sqlite_database *database, struct cv_error *err)
{
    int64_t deadline = cv_monotonic_us() + CV_SQLITE_BUSY_MS * CV_US_PER_MS;
    int result;

    while ((result = sqlite3_exec(database->connection, "PRAGMA journal_mode = WAL", NULL, NULL,
                                  NULL)) != SQLITE_OK) {
        if ((result & 0xff) != SQLITE_BUSY || cv_monotonic_us() > deadline)
            return sqlite_fail(database, result, "start the log", err);
        cv_sleep_ms(5);
    }
    return CV_OK;
}

static enum cv_code begin(struct sqlite_database *database, struct cv_error *err)
{
    /* takes the write lock or fails, so that what follows cannot lose a race */
    return run_text(database, "BEGIN IMMEDIATE", "write", err);
}

static void roll_back(struct sqlite_database *database)
{
    if (!sqlite3_get_autocommit(database->connection))
        (void)sqlite3_exec(database->connection, "ROLLBACK", NULL, NULL, NULL);
}

/* CV_UNKNOWN when SQLite failed in the middle; another code when all was rolled back. */
static enum cv_code commit(struct sqlite_database *database, struct cv_error *err)
{
    int result = sqlite3_exec(database->connection, "COMMIT", NULL, NULL, NULL);

    if (result == SQLITE_OK)
        return CV_OK;
    (void)sqlite_fail(database, result, "write", err);
    roll_back(database);
    if ((result & 0xff) == SQLITE_BUSY)
        return CV_CATALOG;
    if (err)
        err->code = CV_UNKNOWN;
    return CV_UNKNOWN;
}

/* A file that others made keeps its journal mode; only a new one is put into WAL. */
static enum cv_code make_tables(struct sqlite_database *database, bool empty, struct cv_error *err)
{
    struct schema_state state;

    if (empty)
        CV_DO(start_log(database, err));
    CV_DO(begin(database, err));
    if (run_text(database, cv_sql_tables_text(database->base.schema), "make the tables", err) !=
        CV_OK) {
        roll_back(database);
        return CV_CATALOG;
    }
    CV_DO(commit(database, err));
    CV_DO(look_at_schema(database, &state, err));
    return empty ? sync_parent(database->path, err) : CV_OK;
}

static enum cv_code connect_file(struct sqlite_database *database, bool create,
                                 struct cv_error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
    int result = sqlite3_open_v2(database->path, &database->connection, flags, NULL);

    if (result != SQLITE_OK)
        return sqlite_fail(database, result, "open the catalog", err);
    (void)sqlite3_extended_result_codes(database->connection, 1);
    (void)sqlite3_busy_timeout(database->connection, CV_SQLITE_BUSY_MS);
    return run_text(database, "PRAGMA synchronous = EXTRA", "set up the connection", err);
}

static enum cv_code open_file(struct sqlite_database *database, bool create, struct cv_error *err)
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

static void disconnect(struct sqlite_database *database)
{
    for (size_t i = 0; i < CV_SQL_STATEMENT_COUNT; i++) {
        (void)sqlite3_finalize(database->statements[i]);
        database->statements[i] = NULL;
    }
    (void)sqlite3_close(database->connection);
    database->connection = NULL;
}

static enum cv_code sqlite_open(struct cv_sql_database *base, bool create, struct cv_error *err)
{
    struct sqlite_database *database = (struct sqlite_database *)base;
    enum cv_code code;

    if (database->connection)
        return CV_OK;
    code = open_file(database, create, err);
    if (code != CV_OK)
        disconnect(database);
    return code;
}

/* The statement with these texts as its parameters (copied). */
static enum cv_code prepare(struct sqlite_database *database, enum cv_sql_statement which,
                            const char *const *texts, sqlite3_stmt **ret_statement,
                            struct cv_error *err)
{
    sqlite3_stmt **statement = &database->statements[which];
    int result = SQLITE_OK;

    if (!*statement)
        result = sqlite3_prepare_v3(database->connection, cv_sql_text(which, database->base.schema),
                                    -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
    for (size_t i = 0; i < cv_sql_text_count(which) && result == SQLITE_OK; i++) {
        char name[] = {'$', (char)('1' + i), '\0'};

        result = sqlite3_bind_text(*statement, sqlite3_bind_parameter_index(*statement, name),
                                   texts[i], -1, SQLITE_TRANSIENT);
    }
    if (result != SQLITE_OK)
        return sqlite_fail(database, result, "prepare a statement", err);
    *ret_statement = *statement;
    return CV_OK;
}

static enum cv_code step_through(struct sqlite_database *database, sqlite3_stmt *statement,
                                 struct cv_arena *arena, struct cv_sql_result *ret_result,
                                 struct cv_error *err)
{
    CV_CLEANUP(cv_freep) const char **values = NULL;
    enum cv_code code = CV_OK;
    size_t capacity = 0;
    size_t count = 0;
    int result;

    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *value = (const char *)sqlite3_column_text(statement, 0);

        cv_array_reserve(&values, &capacity, count + 1);
        values[count++] = value ? cv_arena_strdup(arena, value) : NULL;
    }
    if (result != SQLITE_DONE)
        code = sqlite_fail(database, result, "run a statement", err);
    (void)sqlite3_reset(statement);
    if ((result & 0xff) == SQLITE_CONSTRAINT)
        return cv_fail(err, CV_EXISTS, "the key is taken in %s", database->path);
    CV_DO(code);
    ret_result->values = cv_arena_copy(arena, values, count * sizeof *values);
    ret_result->count = count;
    ret_result->changed = sqlite3_changes(database->connection);
    return CV_OK;
}

static enum cv_code sqlite_run(struct cv_sql_database *base, enum cv_sql_statement which,
                               const char *const *texts, struct cv_arena *arena,
                               struct cv_sql_result *ret_result, struct cv_error *err)
{
    struct sqlite_database *database = (struct sqlite_database *)base;
    struct cv_sql_result result;
    sqlite3_stmt *statement;
    enum cv_code code;

    CV_DO(prepare(database, which, texts, &statement, err));
    if (!cv_sql_writes(which))
        return step_through(database, statement, arena, ret_result, err);
    CV_DO(begin(database, err));
    code = step_through(database, statement, arena, &result, err);
    if (code != CV_OK) {
        roll_back(database);
        return code;
    }
    CV_DO(commit(database, err));
    *ret_result = result;
    return CV_OK;
}

static enum cv_code sqlite_check(struct cv_sql_database *base, cv_catalog_report *report,
                                 void *context, struct cv_error *err)
{
    struct sqlite_database *database = (struct sqlite_database *)base;
    struct cv_error own = CV_ERROR_INIT;
    enum cv_code code = sqlite_open(base, false, &own);

    if (code == CV_NOT_FOUND) {
        report(context, "database", "not there yet: the first table makes it", NULL);
        return CV_OK;
    }
    report(context, "database", database->path, code == CV_OK ? NULL : &own);
    if (code != CV_OK && err)
        *err = own;
    return code;
}

static void sqlite_free(struct cv_sql_database *base)
{
    struct sqlite_database *database = (struct sqlite_database *)base;

    disconnect(database);
    free(database->path);
    free(database);
}

static const struct cv_sql_database_ops sqlite_ops = {
    .open = sqlite_open,
    .run = sqlite_run,
    .check = sqlite_check,
    .free = sqlite_free,
};

struct cv_sql_database *cv_sqlite_new(const char *file)
{
    struct sqlite_database *database = cv_alloc(sizeof *database);

    database->base.ops = &sqlite_ops;
    database->path = cv_strdup(file);
    return &database->base;
}
