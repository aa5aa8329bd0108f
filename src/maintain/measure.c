/* SPDX-License-Identifier: Apache-2.0
 *
 * Measuring of a table. A low-volume table has small files for ever: what counts is how many files
 * could be fewer, which only the bytes of each partition tell. */
#include "maintain/measure.h"

#include "base/map.h"

#include <stddef.h>

#define TARGET_BYTES_DEFAULT    (INT64_C(512) << 20)
#define MANIFEST_BYTES_DEFAULT  (INT64_C(8) << 20)
#define SMALL_PERCENT           75 /* rewrite-data-files' min-file-size-bytes */
#define LARGE_PERCENT           180
#define MANIFEST_BYTES_PROPERTY "commit.manifest.target-size-bytes"

struct partition {
    const struct cv_partition_spec *spec;
    bool closes;
    bool busy;
    int64_t files, bytes;
    int64_t candidate_files, candidate_bytes; /* of a size that rewrite-data-files picks */
    int64_t newest_ms;                        /* when the newest file was added; 0 = not known */
};

struct measuring {
    struct cv_table *table;
    const struct cv_measure_config *config;
    struct cv_table_measures *measures;
    struct cv_arena arena;
    struct cv_map partitions; /* cv_partition_key() → struct partition */
    struct cv_buf key;
};

static void measuring_release(struct measuring *m)
{
    cv_map_release(&m->partitions);
    cv_arena_release(&m->arena);
    cv_buf_release(&m->key);
}

static int64_t property(const struct cv_table_metadata *metadata, const char *key, int64_t fallback)
{
    int64_t value = fallback;

    /* A value that is no number is the business of those who write by it. */
    if (cv_properties_get_i64(&metadata->properties, key, 1, INT64_MAX, &value, NULL) != CV_OK)
        return fallback;
    return value;
}

int64_t cv_table_target_bytes(const struct cv_table_metadata *metadata)
{
    return property(metadata, "write.target-file-size-bytes", TARGET_BYTES_DEFAULT);
}

bool cv_partition_closes(const struct cv_partition_spec *spec, const struct cv_value *partition)
{
    for (size_t i = 0; i < spec->field_count; i++) {
        enum cv_type_kind kind = partition[i].kind;

        switch (spec->fields[i].transform.kind) {
        case CV_TRANSFORM_YEAR:
        case CV_TRANSFORM_MONTH:
        case CV_TRANSFORM_DAY:
        case CV_TRANSFORM_HOUR:
            return true;
        case CV_TRANSFORM_IDENTITY:
            if (kind == CV_TYPE_DATE || kind == CV_TYPE_TIMESTAMP || kind == CV_TYPE_TIMESTAMPTZ)
                return true;
            break;
        default:
            break;
        }
    }
    return false;
}

static struct partition *partition_of(struct measuring *m, const struct cv_data_file *file,
                                      const struct cv_partition_spec *spec)
{
    struct partition *partition;

    cv_buf_clear(&m->key);
    cv_partition_key(spec->spec_id, file->partition, spec->field_count, &m->key);
    partition = cv_map_get(&m->partitions, m->key.data, m->key.length);
    if (partition)
        return partition;
    partition = cv_arena_new(&m->arena, struct partition);
    partition->spec = spec;
    partition->closes = cv_partition_closes(spec, file->partition);
    partition->busy = partition->closes && m->config->busy &&
                      m->config->busy(m->config->context, spec, file->partition);
    (void)cv_map_set(&m->partitions, m->key.data, m->key.length, partition);
    return partition;
}

static void count_deletes(struct cv_table_measures *measures, const struct cv_data_file *file)
{
    measures->delete_bytes += file->metrics.file_size;
    if (file->content == CV_CONTENT_EQUALITY_DELETES)
        measures->equality_delete_files++;
    else if (cv_text_equal_nocase(file->format, "PUFFIN"))
        measures->deletion_vectors++;
    else
        measures->position_delete_files++;
}

static enum cv_code count_entry(struct measuring *m, const struct cv_manifest_entry *entry,
                                struct cv_error *err)
{
    const struct cv_table_metadata *metadata = m->table->metadata;
    struct cv_table_measures *measures = m->measures;
    const struct cv_data_file *file = &entry->file;
    const struct cv_partition_spec *spec = cv_table_metadata_spec_by_id(metadata, file->spec_id);
    const struct cv_snapshot *snapshot = cv_table_metadata_snapshot(metadata, entry->snapshot_id);
    int64_t bytes = file->metrics.file_size;
    struct partition *partition;

    if (!spec)
        return cv_fail(err, CV_FORMAT, "%s names partition spec %d, which the table lacks",
                       file->path, file->spec_id);
    if (m->config->live)
        CV_DO(m->config->live(m->config->context, file, err));
    if (file->content != CV_CONTENT_DATA) {
        count_deletes(measures, file);
        return CV_OK;
    }
    partition = partition_of(m, file, spec);
    partition->files++;
    partition->bytes += bytes;
    if (bytes < measures->target_bytes / 100 * SMALL_PERCENT ||
        bytes > CV_MIN(measures->target_bytes / 100, INT64_MAX / LARGE_PERCENT) * LARGE_PERCENT) {
        partition->candidate_files++;
        partition->candidate_bytes += bytes;
    }
    if (snapshot)
        partition->newest_ms = CV_MAX(partition->newest_ms, snapshot->timestamp_ms);
    measures->data_files++;
    measures->data_bytes += bytes;
    measures->records += file->metrics.record_count;
    measures->old_spec_files += spec->spec_id != metadata->default_spec_id;
    return CV_OK;
}

static enum cv_code count_manifest(struct measuring *m, const struct cv_manifest_file *row,
                                   struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_manifest_entry *entries;
    size_t count;

    CV_DO(cv_table_manifest_entries(m->table, row, &arena, &entries, &count, err));
    for (size_t i = 0; i < count; i++)
        if (entries[i].status != CV_ENTRY_DELETED)
            CV_DO(count_entry(m, &entries[i], err));
    return CV_OK;
}

/* Files that as many bytes need, at least one. */
static int64_t files_for(int64_t bytes, int64_t target)
{
    return CV_MAX(bytes / target + (bytes % target != 0), 1);
}

static void count_manifests(struct cv_table *table, const struct cv_manifest_file *rows,
                            size_t count, struct cv_table_measures *measures)
{
    int64_t target = property(table->metadata, MANIFEST_BYTES_PROPERTY, MANIFEST_BYTES_DEFAULT);
    int64_t files[2] = {0, 0};
    int64_t bytes[2] = {0, 0};

    for (size_t i = 0; i < count; i++) {
        measures->manifests++;
        measures->manifest_bytes += rows[i].length;
        if (rows[i].spec_id != table->metadata->default_spec_id)
            continue;
        files[rows[i].deletes]++;
        bytes[rows[i].deletes] += rows[i].length;
    }
    for (size_t i = 0; i < 2; i++)
        if (files[i])
            measures->avoidable_manifests += CV_MAX(files[i] - files_for(bytes[i], target), 0);
}

static void count_snapshots(const struct cv_table_metadata *metadata,
                            struct cv_table_measures *measures)
{
    measures->snapshots = (int64_t)metadata->snapshot_count;
    for (size_t i = 0; i < metadata->snapshot_count; i++) {
        int64_t ms = metadata->snapshots[i].timestamp_ms;

        measures->oldest_snapshot_ms = i ? CV_MIN(measures->oldest_snapshot_ms, ms) : ms;
        measures->newest_snapshot_ms = CV_MAX(measures->newest_snapshot_ms, ms);
    }
}

static bool is_open(const struct measuring *m, const struct partition *partition)
{
    const struct cv_measure_config *config = m->config;

    return partition->busy || (partition->closes && config->open_ms && partition->newest_ms &&
                               config->now_ms - partition->newest_ms < config->open_ms);
}

static void judge_partitions(struct measuring *m)
{
    struct cv_table_measures *measures = m->measures;
    int64_t target = measures->target_bytes;
    const struct cv_map_slot *slot;
    size_t position = 0;

    while ((slot = cv_map_next(&m->partitions, &position))) {
        const struct partition *p = slot->value;
        int64_t avoidable = CV_MAX(p->files - files_for(p->bytes, target), 0);
        int64_t mergeable = p->candidate_files - files_for(p->candidate_bytes, target);

        measures->partitions++;
        measures->largest_partition_files = CV_MAX(measures->largest_partition_files, p->files);
        if (is_open(m, p)) {
            measures->open_partitions++;
            measures->open_partition_files += p->files;
            continue;
        }
        measures->avoidable_files += avoidable;
        measures->mergeable_files += CV_MAX(CV_MIN(avoidable, mergeable), 0);
    }
    measures->possible_files = measures->data_files - measures->avoidable_files;
}

enum cv_code cv_table_measure(struct cv_table *table, const struct cv_measure_config *config,
                              struct cv_table_measures *ret_measures, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_table_measures measures = {.target_bytes = cv_table_target_bytes(table->metadata)};
    CV_CLEANUP(measuring_release)
    struct measuring m = {.table = table, .config = config, .measures = &measures};
    const struct cv_snapshot *head =
        cv_table_metadata_head(table->metadata, cv_table_branch(table));
    struct cv_manifest_file *rows = NULL;
    size_t count = 0;

    if (head)
        CV_DO(cv_table_manifests(table, head, &arena, &rows, &count, err));
    for (size_t i = 0; i < count; i++)
        CV_DO(count_manifest(&m, &rows[i], err));
    count_manifests(table, rows, count, &measures);
    count_snapshots(table->metadata, &measures);
    judge_partitions(&m);
    *ret_measures = measures;
    return CV_OK;
}

#define NAMED(name, field)                                                                         \
    {                                                                                              \
        name, offsetof(struct cv_table_measures, field)                                            \
    }

static const struct {
    const char *name;
    size_t offset;
} named[] = {
    NAMED("avoidable-files", avoidable_files),
    NAMED("avoidable-manifests", avoidable_manifests),
    NAMED("data-files", data_files),
    NAMED("manifests", manifests),
    NAMED("old-spec-files", old_spec_files),
    NAMED("snapshots", snapshots),
    NAMED("equality-delete-files", equality_delete_files),
    NAMED("position-delete-files", position_delete_files),
};

bool cv_table_measure_named(const struct cv_table_measures *measures, const char *name,
                            int64_t *ret_value)
{
    if (cv_text_equal_nocase(name, "delete-files")) {
        *ret_value = measures->position_delete_files + measures->equality_delete_files +
                     measures->deletion_vectors;
        return true;
    }
    for (size_t i = 0; i < CV_ARRAY_LENGTH(named); i++) {
        if (!cv_text_equal_nocase(name, named[i].name))
            continue;
        memcpy(ret_value, (const char *)measures + named[i].offset, sizeof *ret_value);
        return true;
    }
    return false;
}

const char *cv_table_measure_names(void)
{
    return "avoidable-files, avoidable-manifests, data-files, delete-files, "
           "equality-delete-files, manifests, old-spec-files, position-delete-files, snapshots";
}
