/* SPDX-License-Identifier: Apache-2.0
 *
 * The statements of the SQL catalog, in the common tongue of SQLite and PostgreSQL. */
#include "catalog/sql/database.h"

#define KEYS     " WHERE catalog_name = $1 AND table_namespace = $2 AND table_name = $3"
#define IS_TABLE " AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)"

struct statement {
    const char *texts[2]; /* by schema */
    size_t count;         /* of parameters */
    bool writes;
};

static const struct statement statements[CV_SQL_STATEMENT_COUNT] = {
    [CV_SQL_LOAD] = {{"SELECT metadata_location FROM iceberg_tables" KEYS,
                      "SELECT metadata_location FROM iceberg_tables" KEYS IS_TABLE},
                     3,
                     false},
    [CV_SQL_ELSEWHERE] = {{"SELECT min(catalog_name) FROM iceberg_tables"
                           " WHERE table_namespace = $1 AND table_name = $2",
                           NULL},
                          2,
                          false},
    /* no LIKE: a name may hold its wildcards, and SQLite's does not tell a from A */
    [CV_SQL_HAS_NAMESPACE] = {{"SELECT namespace FROM iceberg_namespace_properties"
                               " WHERE catalog_name = $1 AND (namespace = $2 OR"
                               " substr(namespace, 1, length(CAST($3 AS TEXT))) = $3)"
                               " UNION ALL SELECT table_namespace FROM iceberg_tables"
                               " WHERE catalog_name = $1 AND (table_namespace = $2 OR"
                               " substr(table_namespace, 1, length(CAST($3 AS TEXT))) = $3)"
                               " LIMIT 1",
                               NULL},
                              3,
                              false},
    [CV_SQL_ADD_NAMESPACE] = {{"INSERT INTO iceberg_namespace_properties"
                               " (catalog_name, namespace, property_key, property_value)"
                               " VALUES ($1, $2, 'exists', 'true') ON CONFLICT DO NOTHING",
                               NULL},
                              2,
                              true},
    [CV_SQL_ADD_TABLE] = {{"INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name,"
                           " metadata_location, previous_metadata_location)"
                           " VALUES ($1, $2, $3, $4, NULL)",
                           "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name,"
                           " metadata_location, previous_metadata_location, iceberg_type)"
                           " VALUES ($1, $2, $3, $4, NULL, 'TABLE')"},
                          4,
                          true},
    [CV_SQL_SWAP] = {{"UPDATE iceberg_tables SET metadata_location = $4,"
                      " previous_metadata_location = $5" KEYS " AND metadata_location = $5",
                      "UPDATE iceberg_tables SET metadata_location = $4,"
                      " previous_metadata_location = $5" KEYS
                      " AND metadata_location = $5" IS_TABLE},
                     5,
                     true},
    [CV_SQL_DROP] =
        {{"DELETE FROM iceberg_tables" KEYS, "DELETE FROM iceberg_tables" KEYS IS_TABLE}, 3, true},
    [CV_SQL_RENAME] =
        {{"UPDATE iceberg_tables SET table_namespace = $4, table_name = $5" KEYS,
          "UPDATE iceberg_tables SET table_namespace = $4, table_name = $5" KEYS IS_TABLE},
         5,
         true},
    [CV_SQL_LIST] = {{"SELECT table_namespace || '.' || table_name FROM iceberg_tables"
                      " WHERE catalog_name = $1",
                      "SELECT table_namespace || '.' || table_name FROM iceberg_tables"
                      " WHERE catalog_name = $1" IS_TABLE},
                     1,
                     false},
};

const char *cv_sql_text(enum cv_sql_statement which, enum cv_sql_schema schema)
{
    const char *text = statements[which].texts[schema];

    return text ? text : statements[which].texts[CV_SQL_SCHEMA_V0];
}

size_t cv_sql_text_count(enum cv_sql_statement which)
{
    return statements[which].count;
}

bool cv_sql_writes(enum cv_sql_statement which)
{
    return statements[which].writes;
}

/* As JdbcUtil of the Java library has it. */
#define TABLES(type)                                                                               \
    "CREATE TABLE IF NOT EXISTS iceberg_tables ("                                                  \
    "catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, "                  \
    "table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), "                          \
    "previous_metadata_location VARCHAR(1000), " type                                              \
    "PRIMARY KEY (catalog_name, table_namespace, table_name));"                                    \
    "CREATE TABLE IF NOT EXISTS iceberg_namespace_properties ("                                    \
    "catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL, "                        \
    "property_key VARCHAR(255), property_value VARCHAR(1000), "                                    \
    "PRIMARY KEY (catalog_name, namespace, property_key));"

const char *cv_sql_tables_text(enum cv_sql_schema schema)
{
    return schema == CV_SQL_SCHEMA_V0 ? TABLES("") : TABLES("iceberg_type VARCHAR(5), ");
}
