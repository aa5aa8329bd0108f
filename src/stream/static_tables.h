/* SPDX-License-Identifier: Apache-2.0
 *
 * Static tables that a job's SQL joins the stream with: section `tables` of the job file. Their
 * rows lie in the query's database, within its memory. Loaded before the first batch, and again
 * before a batch when the table has a new snapshot or the file has changed. Engine's thread. */
#ifndef CALVE_STREAM_STATIC_TABLES_H
#define CALVE_STREAM_STATIC_TABLES_H

#include "config/job_file.h"
#include "config/option.h"
#include "sql/query.h"

#define CV_STATIC_TABLES_MAX 64

struct cv_static_table_options {
    const char *name;   /* in SQL */
    const char *table;  /* catalog.namespace.table, or NULL */
    const char *path;   /* of a file, absolute; or NULL */
    const char *format; /* parquet | csv; NULL = by the path's end */
    const char *schema; /* Spark DDL: the columns of a CSV file by position, of a Parquet file by
                           name; NULL = the file's own */
    bool header;        /* CSV: the first line has the names */
    const char *separator;
    const char *null_value;
    int64_t snapshot_id; /* 0 = the newest of the branch */
    int reload;          /* 0 batch, 1 pinned */
};

extern const struct cv_option_table cv_static_table_option_table;

/* The sections tables.<name> of a job file, in its order. */
enum cv_code cv_static_table_options_read(const struct cv_job_file *file, struct cv_arena *arena,
                                          struct cv_static_table_options **ret_tables,
                                          size_t *ret_count, struct cv_error *err);

struct cv_static_tables;
/* Finds out their columns; no rows yet. Options, file and connection outlive it. */
enum cv_code cv_static_tables_open(const struct cv_job_file *file,
                                   const struct cv_static_table_options *options, size_t count,
                                   struct cv_duck_connection *connection,
                                   struct cv_static_tables **ret_tables, struct cv_error *err);
void cv_static_tables_free(struct cv_static_tables *tables);
/* For cv_query_config. */
const struct cv_query_table *cv_static_tables_list(const struct cv_static_tables *tables);
/* Loads those that are used (parallel to the list) and are not there as they are now. */
enum cv_code cv_static_tables_load(struct cv_static_tables *tables, const bool *used,
                                   struct cv_error *err);

#endif
