/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting the changes of a snapshot. */
#include "table/changes.h"

#include "base/map.h"

void cv_changes_of_files(const struct cv_table_metadata *metadata, const struct cv_data_file *files,
                         size_t count, struct cv_snapshot_changes *ret_changes)
{
    CV_CLEANUP(cv_map_release) struct cv_map seen = {0};
    CV_CLEANUP(cv_buf_release) struct cv_buf key = CV_BUF_INIT(0);
    struct cv_snapshot_changes changes = {0};

    for (size_t i = 0; i < count; i++) {
        const struct cv_partition_spec *spec =
            cv_table_metadata_spec_by_id(metadata, files[i].spec_id);

        cv_buf_clear(&key);
        cv_partition_key(files[i].spec_id, files[i].partition, spec ? spec->field_count : 0, &key);
        (void)cv_map_set(&seen, key.data, key.length, &seen);
        cv_snapshot_changes_add(&changes, &files[i]);
    }
    changes.changed_partitions = (int64_t)seen.count;
    *ret_changes = changes;
}
