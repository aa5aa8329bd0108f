/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to table/: what data files a snapshot adds, counted for its summary. */
#ifndef CALVE_TABLE_CHANGES_H
#define CALVE_TABLE_CHANGES_H

#include "iceberg/summary.h"
#include "table/table_int.h"

/* Counts added files and the partitions that they are of. Their specs are known to `metadata`. */
void cv_changes_of_files(const struct cv_table_metadata *metadata, const struct cv_data_file *files,
                         size_t count, struct cv_snapshot_changes *ret_changes);

#endif
