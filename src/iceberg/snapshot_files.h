/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading what a snapshot names: its manifest list (or the manifests of a v1 snapshot) and the
 * entries of a manifest, through a store. Any thread; everything returned lives in the arena. */
#ifndef CALVE_ICEBERG_SNAPSHOT_FILES_H
#define CALVE_ICEBERG_SNAPSHOT_FILES_H

#include "iceberg/manifest.h"
#include "iceberg/metadata.h"
#include "storage/store.h"

enum cv_code cv_snapshot_manifests(struct cv_store *store, const struct cv_snapshot *snapshot,
                                   struct cv_arena *arena, struct cv_manifest_file **ret_rows,
                                   size_t *ret_count, struct cv_error *err);
/* Every entry, deleted ones too; inheritance from the row is applied. */
enum cv_code cv_snapshot_entries(struct cv_store *store, const struct cv_table_metadata *metadata,
                                 const struct cv_manifest_file *row, struct cv_arena *arena,
                                 struct cv_manifest_entry **ret_entries, size_t *ret_count,
                                 struct cv_error *err);

/* Deep copies, so that what is kept of a manifest does not keep the rest. */
void cv_data_file_copy(const struct cv_data_file *file, size_t partition_count,
                       struct cv_arena *arena, struct cv_data_file *ret_copy);
/* cv_partition_key() by the file's spec; `out` is cleared. */
void cv_data_file_partition_key(const struct cv_data_file *file,
                                const struct cv_table_metadata *metadata, struct cv_buf *out);

#endif
