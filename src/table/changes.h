/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to table/: what files a snapshot adds and removes, counted for its summary. */
#ifndef CALVE_TABLE_CHANGES_H
#define CALVE_TABLE_CHANGES_H

#include "base/map.h"
#include "iceberg/summary.h"
#include "table/table_int.h"

/* Counts files one by one; the partitions that they are of go into changed_partitions. Their specs
 * are known to `metadata`. Zero-initialised but for the metadata. */
struct cv_change_counter {
    const struct cv_table_metadata *metadata;
    struct cv_snapshot_changes changes;
    struct cv_map partitions;
    struct cv_buf key;
};
void cv_change_counter_add(struct cv_change_counter *counter, const struct cv_data_file *file);
void cv_change_counter_remove(struct cv_change_counter *counter, const struct cv_data_file *file);
void cv_change_counter_release(struct cv_change_counter *counter);

/* Of added files only. */
void cv_changes_of_files(const struct cv_table_metadata *metadata, const struct cv_data_file *files,
                         size_t count, struct cv_snapshot_changes *ret_changes);

#endif
