/* SPDX-License-Identifier: Apache-2.0
 *
 * Which delete files apply to which data file (spec: Scan Planning, Delete Formats). */
#ifndef CALVE_ICEBERG_DELETE_INDEX_H
#define CALVE_ICEBERG_DELETE_INDEX_H

#include "iceberg/manifest.h"
#include "iceberg/metadata.h"

/* Columns of position delete files (spec: Reserved Field IDs). */
#define CV_DELETE_FILE_PATH_ID 2147483546
#define CV_DELETE_POS_ID       2147483545

/* The live delete files of a snapshot, by partition. Immutable once built: many threads may ask.
 * Entries are referred to, not copied; the metadata gives specs and types. */
struct cv_delete_index;
struct cv_delete_index *cv_delete_index_new(const struct cv_manifest_entry *const *deletes,
                                            size_t count, const struct cv_table_metadata *metadata);
void cv_delete_index_free(struct cv_delete_index *index);
CV_DEFINE_CLEANUP(struct cv_delete_index *, cv_delete_index_free)
/* Those that apply to a data file, by sequence number, partition, referenced file, and bounds where
 * they rule it out; in the arena. */
void cv_delete_index_find(const struct cv_delete_index *index, const struct cv_manifest_entry *data,
                          struct cv_arena *arena,
                          const struct cv_manifest_entry *const **ret_deletes, size_t *ret_count);

/* A position delete file that names one data file only (Java's file-scoped): by
 * referenced_data_file or equal bounds of file_path. NULL = it may name several. In the arena. */
const char *cv_delete_file_target(const struct cv_data_file *file, struct cv_arena *arena);

#endif
