/* SPDX-License-Identifier: Apache-2.0
 *
 * Data files to rows: the live files of a snapshot with the deletes that apply (planning), and the
 * rows of one file as batches of the table's schema, deletes applied (Parquet and Avro; ORC is
 * refused by name). */
#ifndef CALVE_DATA_SCAN_H
#define CALVE_DATA_SCAN_H

#include "batch/column.h"
#include "data/deletes.h"
#include "iceberg/metadata.h"
#include "schema/predicate.h"
#include "storage/store.h"

/* One data file to read. */
struct cv_scan_task {
    struct cv_manifest_entry data;
    const struct cv_manifest_entry *const *deletes;
    size_t delete_count;
};

/* The files of a snapshot whose partition and metrics may match the predicate (NULL = all), one
 * manifest at a time: `each` gets a task that lives for the call. Deletes live as long as the plan.
 */
struct cv_scan_plan;
enum cv_code cv_scan_plan_open(struct cv_store *store, const struct cv_table_metadata *metadata,
                               const struct cv_snapshot *snapshot,
                               const struct cv_predicate *predicate, struct cv_scan_plan **ret_plan,
                               struct cv_error *err);
enum cv_code cv_scan_plan_each(struct cv_scan_plan *plan,
                               enum cv_code (*each)(void *context, const struct cv_scan_task *task,
                                                    struct cv_error *err),
                               void *context, struct cv_error *err);
/* All live delete files of the snapshot. */
void cv_scan_plan_deletes(const struct cv_scan_plan *plan,
                          const struct cv_manifest_entry *const **ret_deletes, size_t *ret_count);
void cv_scan_plan_free(struct cv_scan_plan *plan);
CV_DEFINE_CLEANUP(struct cv_scan_plan *, cv_scan_plan_free)

/* The rows of one task. Memory: the deletes of the file (positions as bitmaps, equality keys as a
 * hash table) and the reader's pages; CV_LIMIT above memory_bytes. */
struct cv_scan_config {
    struct cv_store *store;
    const struct cv_table_metadata *metadata; /* outlives the scanner */
    const struct cv_schema *projection;       /* NULL = the current schema */
    const struct cv_predicate *predicate;     /* rows that do not match are left out; NULL = all */
    size_t memory_bytes;                      /* 0 = 64 MiB */
    size_t batch_rows;                        /* 0 = 4096 */
    struct cv_delete_cache *deletes;          /* of scanners one after the other; NULL = none */
};
struct cv_scanner;
enum cv_code cv_scanner_open(const struct cv_scan_config *config, const struct cv_scan_task *task,
                             struct cv_scanner **ret_scanner, struct cv_error *err);
/* row_count 0 at the end; rows are valid until the next call. A batch may be empty of deleted rows
 * only at the end. */
enum cv_code cv_scanner_next(struct cv_scanner *scanner, struct cv_batch *ret_batch,
                             struct cv_error *err);
/* Rows that deletes took away so far. */
int64_t cv_scanner_deleted(const struct cv_scanner *scanner);
void cv_scanner_free(struct cv_scanner *scanner);
CV_DEFINE_CLEANUP(struct cv_scanner *, cv_scanner_free)

#endif
