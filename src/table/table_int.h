/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to table/: what operations on a table share. */
#ifndef CALVE_TABLE_TABLE_INT_H
#define CALVE_TABLE_TABLE_INT_H

#include "table/table.h"

/* Prints and writes it unsynced, gzip by write.metadata.compression-codec, under a name from the
 * catalog. `base` NULL for a new table. *ret_hash is of the bytes that were written. */
enum cv_code cv_table_write_metadata(struct cv_catalog *catalog, struct cv_store *store,
                                     const struct cv_table_metadata *metadata, const char *base,
                                     struct cv_arena *arena, const char **ret_location,
                                     uint64_t *ret_hash, struct cv_error *err);
/* The folder of write.metadata.path or <location>/metadata. */
const char *cv_metadata_folder(const struct cv_catalog *catalog,
                               const struct cv_table_metadata *metadata, struct cv_arena *arena);
/* Takes over the metadata that the table is at now. */
void cv_table_install(struct cv_table *table, struct cv_table_metadata *metadata,
                      const char *location, uint64_t hash);
/* Rows of a manifest list with everything that they point to. */
struct cv_manifest_file *cv_manifest_files_copy(const struct cv_manifest_file *rows, size_t count,
                                                struct cv_arena *arena);
/* The rows of the snapshot's list, from the table's cache or read into it; they live until another
 * snapshot's list is cached. NULL snapshot = no rows. */
enum cv_code cv_table_cached_manifests(struct cv_table *table, const struct cv_snapshot *snapshot,
                                       const struct cv_manifest_file **ret_rows, size_t *ret_count,
                                       struct cv_error *err);
/* Remembers these rows (copied) as the snapshot's. */
void cv_table_cache_manifests(struct cv_table *table, int64_t snapshot_id,
                              const struct cv_manifest_file *rows, size_t count);

#endif
