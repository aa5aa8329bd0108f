/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts and totals of snapshot summaries. */
#include "table/summary.h"

#include "base/map.h"

#include <stdio.h>

#define NUMBER_BYTES 24

static void set_number(struct cv_properties *summary, const char *key, int64_t value)
{
    char text[NUMBER_BYTES];

    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    cv_properties_set(summary, key, text);
}

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

struct cv_summary_counts cv_summary_count(const struct cv_table_metadata *metadata,
                                          const struct cv_data_file *files, size_t count)
{
    CV_CLEANUP(cv_map_release) struct cv_map seen = {0};
    CV_CLEANUP(cv_buf_release) struct cv_buf key = CV_BUF_INIT(0);
    struct cv_summary_counts counts = {0};

    for (size_t i = 0; i < count; i++) {
        const struct cv_partition_spec *spec =
            cv_table_metadata_spec_by_id(metadata, files[i].spec_id);

        cv_buf_clear(&key);
        partition_key(&files[i], spec ? spec->field_count : 0, &key);
        (void)cv_map_set(&seen, key.data, key.length, &counts);
        counts.added_files++;
        counts.added_records += files[i].metrics.record_count;
        counts.added_bytes += files[i].metrics.file_size;
    }
    counts.changed_partitions = (int64_t)seen.count;
    return counts;
}

static void set_total(struct cv_properties *summary, const struct cv_snapshot *parent,
                      const char *key, int64_t added)
{
    const char *text = parent ? cv_properties_get(&parent->summary, key) : "0";
    int64_t total;

    if (text && cv_parse_i64(cv_str_from(text), &total) &&
        !__builtin_add_overflow(total, added, &total) && total >= 0)
        set_number(summary, key, total);
}

void cv_summary_write(const struct cv_summary_counts *counts, const struct cv_snapshot *parent,
                      struct cv_properties *summary)
{
    if (counts->added_files > 0)
        set_number(summary, "added-data-files", counts->added_files);
    if (counts->added_records > 0)
        set_number(summary, "added-records", counts->added_records);
    if (counts->added_bytes > 0)
        set_number(summary, "added-files-size", counts->added_bytes);
    set_number(summary, "changed-partition-count", counts->changed_partitions);
    set_total(summary, parent, "total-records", counts->added_records);
    set_total(summary, parent, "total-files-size", counts->added_bytes);
    set_total(summary, parent, "total-data-files", counts->added_files);
    set_total(summary, parent, "total-delete-files", 0);
    set_total(summary, parent, "total-position-deletes", 0);
    set_total(summary, parent, "total-equality-deletes", 0);
}
