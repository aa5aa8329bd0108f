/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting the changes of a snapshot. */
#include "table/changes.h"

#include "iceberg/snapshot_files.h"

static void see_partition(struct cv_change_counter *counter, const struct cv_data_file *file)
{
    cv_data_file_partition_key(file, counter->metadata, &counter->key);
    (void)cv_map_set(&counter->partitions, counter->key.data, counter->key.length, counter);
    counter->changes.changed_partitions = (int64_t)counter->partitions.count;
}

void cv_change_counter_add(struct cv_change_counter *counter, const struct cv_data_file *file)
{
    see_partition(counter, file);
    cv_snapshot_changes_add(&counter->changes, file);
}

void cv_change_counter_remove(struct cv_change_counter *counter, const struct cv_data_file *file)
{
    see_partition(counter, file);
    cv_snapshot_changes_remove(&counter->changes, file);
}

void cv_change_counter_release(struct cv_change_counter *counter)
{
    cv_map_release(&counter->partitions);
    cv_buf_release(&counter->key);
}

void cv_changes_of_files(const struct cv_table_metadata *metadata, const struct cv_data_file *files,
                         size_t count, struct cv_snapshot_changes *ret_changes)
{
    CV_CLEANUP(cv_change_counter_release) struct cv_change_counter counter = {.metadata = metadata};

    for (size_t i = 0; i < count; i++)
        cv_change_counter_add(&counter, &files[i]);
    *ret_changes = counter.changes;
}
