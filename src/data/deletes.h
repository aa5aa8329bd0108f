/* SPDX-License-Identifier: Apache-2.0
 *
 * Which delete files apply to which data file (spec: Scan Planning, Delete Formats), and their
 * contents in a form to test rows against. */
#ifndef CALVE_DATA_DELETES_H
#define CALVE_DATA_DELETES_H

#include "iceberg/manifest.h"

/* The live delete files of a snapshot, by partition. Immutable once built: many threads may ask.
 * Entries are referred to, not copied. */
struct cv_delete_index;
struct cv_delete_index *cv_delete_index_new(const struct cv_manifest_entry *const *deletes,
                                            size_t count, const struct cv_partition_spec *specs,
                                            size_t spec_count);
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
