/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to catalog/sql/: one SQLite file in the layout of Iceberg's JDBC catalog. The file is
 * opened when it is first needed and made only when something is to be stored. */
#ifndef CALVE_CATALOG_SQL_DATABASE_H
#define CALVE_CATALOG_SQL_DATABASE_H

#include "catalog/catalog_int.h"

#include <sqlite3.h>

#define CV_SQLITE_BUSY_MS 30000 /* how long a lock of another process is waited for */

enum cv_sql_statement {
    CV_SQL_BEGIN,
    CV_SQL_COMMIT,
    CV_SQL_ROLLBACK,
    CV_SQL_LOAD,
    CV_SQL_ELSEWHERE,
    CV_SQL_ADD_NAMESPACE,
    CV_SQL_ADD_TABLE,
    CV_SQL_SWAP,
    CV_SQL_DROP,
    CV_SQL_LIST,
    CV_SQL_STATEMENT_COUNT,
};

struct cv_sql_database {
    const char *path;
    sqlite3 *connection; /* NULL until needed */
    bool has_types;      /* schema V1: column iceberg_type */
    /* Prepared at first use. */
    sqlite3_stmt *statements[CV_SQL_STATEMENT_COUNT];
};

/* Opens the file. Without `create` an absent file or one without the tables is CV_NOT_FOUND. */
enum cv_code cv_sql_database_open(struct cv_sql_database *database, bool create,
                                  struct cv_error *err);
void cv_sql_database_release(struct cv_sql_database *database);

/* A statement ready to be run with these texts as its parameters (copied). */
enum cv_code cv_sql_prepare(struct cv_sql_database *database, enum cv_sql_statement which,
                            const char *const *texts, size_t count, sqlite3_stmt **ret_statement,
                            struct cv_error *err);
/* Prepares and runs a statement that has no rows. *ret_result (may be NULL) is SQLite's code. */
enum cv_code cv_sql_run(struct cv_sql_database *database, enum cv_sql_statement which,
                        const char *const *texts, size_t count, int *ret_result,
                        struct cv_error *err);
/* BEGIN IMMEDIATE: takes the write lock or fails, so that what follows cannot lose a race. */
enum cv_code cv_sql_begin(struct cv_sql_database *database, struct cv_error *err);
void cv_sql_rollback(struct cv_sql_database *database);
/* CV_UNKNOWN when SQLite failed in the middle; another code when all was rolled back. */
enum cv_code cv_sql_commit(struct cv_sql_database *database, struct cv_error *err);

enum cv_code cv_sql_fail(struct cv_sql_database *database, int result, const char *action,
                         struct cv_error *err);

#endif
