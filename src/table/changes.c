/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting the changes of a snapshot. */
#include "table/changes.h"

#include "base/map.h"

/* The partition as bytes: spec id, and each value with its length. */
static void partition_key(const struct cv_data_file *file, size_t field_count, struct cv_buf *out)
{
    cv_buf_append(out, &file->spec_id, sizeof file->spec_id);
    for (size_t i = 0; i < field_count; i++) {
        size_t at = out->length;
        uint32_t length = UINT32_MAX; /* null */

        cv_buf_append(out, &length, sizeof length);
        if (file->partition[i].is_null)
            continue;
        cv_value_write_binary(&file->partition[i], out);
        length = (uint32_t)(out->length - at - sizeof length);
        memcpy(out->data + at, &length, sizeof length);
    }
}

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
        partition_key(&files[i], spec ? spec->field_count : 0, &key);
        (void)cv_map_set(&seen, key.data, key.length, &seen);
        cv_snapshot_changes_add(&changes, &files[i]);
    }
    changes.changed_partitions = (int64_t)seen.count;
    *ret_changes = changes;
}
