/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to catalog/sql/: a database in the layout of Iceberg's JDBC catalog behind a small
 * vtable: sqlite.c, postgres.c. It is opened when it is first needed, and its tables are made only
 * when something is to be stored. Each statement is a transaction of its own, and none needs more
 * than one round trip. */
#ifndef CALVE_CATALOG_SQL_DATABASE_H
#define CALVE_CATALOG_SQL_DATABASE_H

#include "catalog/catalog_int.h"

enum cv_sql_statement {
    CV_SQL_LOAD,          /* keys: the metadata location */
    CV_SQL_ELSEWHERE,     /* namespace, table: another catalog_name that has it */
    CV_SQL_HAS_NAMESPACE, /* catalog, namespace, namespace and a dot: itself or one below it */
    CV_SQL_ADD_NAMESPACE, /* catalog, namespace; does nothing when it is there */
    CV_SQL_ADD_TABLE,     /* keys, location; CV_EXISTS */
    CV_SQL_SWAP,          /* keys, next, base */
    CV_SQL_DROP,          /* keys */
    CV_SQL_RENAME,        /* keys, namespace, table; CV_EXISTS */
    CV_SQL_LIST,          /* catalog: the full names */
    CV_SQL_STATEMENT_COUNT,
};

enum cv_sql_schema {
    CV_SQL_SCHEMA_V0, /* without the column iceberg_type */
    CV_SQL_SCHEMA_V1,
};

/* What a statement gave: the first column of its rows, or how many rows it changed. */
struct cv_sql_result {
    const char **values; /* in the arena of the call; NULL stands for SQL's NULL */
    size_t count;
    int64_t changed;
};

struct cv_sql_database;

struct cv_sql_database_ops {
    /* Makes sure that there is a connection and that the tables are there; with `create` they are
     * made, else CV_NOT_FOUND tells that they are absent. */
    enum cv_code (*open)(struct cv_sql_database *, bool create, struct cv_error *);
    /* Runs a statement of an open database with its texts. CV_EXISTS: a key is taken. CV_UNKNOWN:
     * what was to be written may have been. Any other failure: nothing was. */
    enum cv_code (*run)(struct cv_sql_database *, enum cv_sql_statement, const char *const *texts,
                        struct cv_arena *, struct cv_sql_result *ret_result, struct cv_error *);
    /* As the catalog's check(), for the database. */
    enum cv_code (*check)(struct cv_sql_database *, cv_catalog_report *report, void *context,
                          struct cv_error *);
    void (*free)(struct cv_sql_database *);
};

struct cv_sql_database {
    const struct cv_sql_database_ops *ops;
    enum cv_sql_schema schema; /* of the tables; for new ones until it is open */
    struct cv_request_counts *counts;
};

/* With $1, $2, … for the texts, which both databases know. */
const char *cv_sql_text(enum cv_sql_statement which, enum cv_sql_schema schema);
size_t cv_sql_text_count(enum cv_sql_statement which);
bool cv_sql_writes(enum cv_sql_statement which);
/* Makes both tables where they are not there yet. */
const char *cv_sql_tables_text(enum cv_sql_schema schema);

/* `file` is absolute. */
struct cv_sql_database *cv_sqlite_new(const char *file);
/* Whether the uri is one of PostgreSQL's, in any of the forms of libpq, SQLAlchemy and JDBC. */
bool cv_postgres_is_uri(const char *uri);
/* `user` and `password` (may be NULL) count over those of the uri. */
enum cv_code cv_postgres_new(const char *uri, const char *user, const char *password,
                             struct cv_sql_database **ret_database, struct cv_error *err);

#endif
