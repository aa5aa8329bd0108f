/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of duck.h share, and what native functions (function.h) need to take vectors apart
 * and to fill them. */
#ifndef CALVE_SQL_DUCK_INT_H
#define CALVE_SQL_DUCK_INT_H

#include "batch/builder.h"
#include "sql/duck.h"
#include "sql/duck_api.h"

#include <stdatomic.h>

struct cv_duck {
    struct duckdb_database *database;
    atomic_size_t view_count; /* tells their functions apart */
};

struct cv_duck_connection {
    struct cv_duck *duck;
    struct duckdb_connection *handle;
    /* What a source of a view failed with; an execution that fails passes it on. */
    struct cv_error source_error;
};

/* Loads the library once per process; `library` as in cv_duck_config. */
enum cv_code cv_duck_load(const char *library, struct cv_error *err);
const char *cv_duck_loaded_path(void);

/* The type of a column; free with cv_duck_api.destroy_logical_type(). */
struct duckdb_logical_type *cv_duck_logical_type(const struct cv_type *type);
/* True if vectors of that DuckDB type hold this type's values as duck.h says; names of struct
 * members do not matter. */
bool cv_duck_type_matches(const struct cv_type *type, struct duckdb_logical_type *duck);

/* Sets `err` from DuckDB's message, without the SQL that it quotes; its code by the kind of error
 * that the message begins with. What a source of the connection (may be NULL) failed with goes
 * before. */
enum cv_code cv_duck_fail(const struct cv_duck_connection *connection, const char *message,
                          struct cv_error *err);

/* Appends values start … start+count-1 of a vector to a builder of the type; the vector is flat, as
 * those of results and of arguments are. CV_LIMIT: more than a column holds; CV_RECORD: bytes of
 * another length than uuid or fixed has; after either the builder is only good to be cleared. */
enum cv_code cv_duck_import(struct duckdb_vector *vector, size_t start, size_t count,
                            struct cv_builder *builder, struct cv_error *err);

/* Fills values at … at+count-1 of a vector, which is filled from 0 upwards, with values start … of
 * the column. Long strings are not copied: the column's memory must stay while the vector is in
 * use. */
void cv_duck_export(const struct cv_column *column, size_t start, size_t count,
                    struct duckdb_vector *vector, size_t at);
/* Values 0 … count-1, with strings copied into the vector: for results of native functions. */
void cv_duck_export_copy(const struct cv_column *column, size_t start, size_t count,
                         struct duckdb_vector *vector);

#endif
