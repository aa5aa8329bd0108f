/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshot summaries. */
#include "iceberg/summary.h"

#include <stdio.h>

static void count_file(struct cv_snapshot_changes *changes, const struct cv_data_file *file,
                       bool added)
{
    int64_t records = file->metrics.record_count;

    *(added ? &changes->added_files_size : &changes->removed_files_size) += file->metrics.file_size;
    if (file->content == CV_CONTENT_DATA) {
        ++*(added ? &changes->added_data_files : &changes->deleted_data_files);
        *(added ? &changes->added_records : &changes->deleted_records) += records;
        return;
    }
    ++*(added ? &changes->added_delete_files : &changes->removed_delete_files);
    if (file->content == CV_CONTENT_POSITION_DELETES) {
        ++*(added ? &changes->added_position_delete_files
                  : &changes->removed_position_delete_files);
        *(added ? &changes->added_position_deletes : &changes->removed_position_deletes) += records;
    } else {
        ++*(added ? &changes->added_equality_delete_files
                  : &changes->removed_equality_delete_files);
        *(added ? &changes->added_equality_deletes : &changes->removed_equality_deletes) += records;
    }
}

void cv_snapshot_changes_add(struct cv_snapshot_changes *changes, const struct cv_data_file *file)
{
    count_file(changes, file, true);
}

void cv_snapshot_changes_remove(struct cv_snapshot_changes *changes,
                                const struct cv_data_file *file)
{
    count_file(changes, file, false);
}

static void set_number(struct cv_properties *summary, const char *key, int64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    cv_properties_set(summary, key, text);
}

static void set_positive(struct cv_properties *summary, const char *key, int64_t value)
{
    if (value > 0)
        set_number(summary, key, value);
}

static void set_total(const struct cv_properties *previous, const char *key, int64_t added,
                      int64_t removed, struct cv_properties *summary)
{
    const char *text = previous ? cv_properties_get(previous, key) : "0";
    int64_t total;

    if (!text || !cv_parse_i64(cv_str_from(text), &total) || total < 0 ||
        __builtin_add_overflow(total, added, &total) || total < removed)
        return;
    set_number(summary, key, total - removed);
}

static void set_changes(const struct cv_snapshot_changes *changes, struct cv_properties *summary)
{
    const struct {
        const char *key;
        int64_t value;
    } keys[] = {
        {"added-data-files", changes->added_data_files},
        {"deleted-data-files", changes->deleted_data_files},
        {"added-delete-files", changes->added_delete_files},
        {"removed-delete-files", changes->removed_delete_files},
        {"added-position-delete-files", changes->added_position_delete_files},
        {"removed-position-delete-files", changes->removed_position_delete_files},
        {"added-equality-delete-files", changes->added_equality_delete_files},
        {"removed-equality-delete-files", changes->removed_equality_delete_files},
        {"added-records", changes->added_records},
        {"deleted-records", changes->deleted_records},
        {"added-files-size", changes->added_files_size},
        {"removed-files-size", changes->removed_files_size},
        {"added-position-deletes", changes->added_position_deletes},
        {"removed-position-deletes", changes->removed_position_deletes},
        {"added-equality-deletes", changes->added_equality_deletes},
        {"removed-equality-deletes", changes->removed_equality_deletes},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(keys); i++)
        set_positive(summary, keys[i].key, keys[i].value);
    if (changes->changed_partitions >= 0)
        set_number(summary, "changed-partition-count", changes->changed_partitions);
}

void cv_snapshot_summary_totals(const struct cv_properties *previous,
                                const struct cv_snapshot_changes *changes,
                                struct cv_properties *summary)
{
    set_changes(changes, summary);
    set_total(previous, "total-records", changes->added_records, changes->deleted_records, summary);
    set_total(previous, "total-files-size", changes->added_files_size, changes->removed_files_size,
              summary);
    set_total(previous, "total-data-files", changes->added_data_files, changes->deleted_data_files,
              summary);
    set_total(previous, "total-delete-files", changes->added_delete_files,
              changes->removed_delete_files, summary);
    set_total(previous, "total-position-deletes", changes->added_position_deletes,
              changes->removed_position_deletes, summary);
    set_total(previous, "total-equality-deletes", changes->added_equality_deletes,
              changes->removed_equality_deletes, summary);
}
