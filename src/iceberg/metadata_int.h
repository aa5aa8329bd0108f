/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the table metadata share: snapshots in one block each, the shared definitions,
 * and adding to a model. */
#ifndef CALVE_ICEBERG_METADATA_INT_H
#define CALVE_ICEBERG_METADATA_INT_H

#include "iceberg/metadata.h"

#define CV_SNAPSHOTS_MAX    10000000
#define CV_TABLE_FORMAT_MAX 2
#define CV_MAIN_BRANCH      "main"

struct cv_table_definitions {
    unsigned references; /* atomic */
    struct cv_arena arena;
};

/* Copies the snapshot into one block; `json` becomes its text. */
struct cv_snapshot cv_snapshot_pack(const struct cv_snapshot *snapshot, struct cv_str json);
void cv_snapshot_ref_block(const struct cv_snapshot *snapshot);
void cv_snapshot_unref_block(const struct cv_snapshot *snapshot);
enum cv_code cv_snapshot_read_json(const struct cv_json *json, struct cv_buf *scratch,
                                   struct cv_snapshot *ret_snapshot, struct cv_error *err);
void cv_snapshot_write_json(const struct cv_snapshot *snapshot, int format_version,
                            struct cv_buf *out);

struct cv_table_definitions *cv_table_definitions_new(void);

/* Appends a packed snapshot (ownership moves) and indexes it; CV_FORMAT when its id is taken, and
 * the snapshot is released. */
enum cv_code cv_table_metadata_put_snapshot(struct cv_table_metadata *metadata,
                                            const struct cv_snapshot *snapshot,
                                            struct cv_error *err);
/* Takes out the snapshots whose flag, by index, is not set. */
void cv_table_metadata_keep_snapshots(struct cv_table_metadata *metadata, const bool *kept);
/* Appends or replaces; the name is copied. */
void cv_table_metadata_put_ref(struct cv_table_metadata *metadata,
                               const struct cv_snapshot_ref *ref);
void cv_table_metadata_put_snapshot_log(struct cv_table_metadata *metadata, int64_t timestamp_ms,
                                        int64_t snapshot_id);
void cv_table_metadata_put_metadata_log(struct cv_table_metadata *metadata, int64_t timestamp_ms,
                                        const char *file);

#endif
