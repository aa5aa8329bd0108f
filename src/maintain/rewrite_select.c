/* SPDX-License-Identifier: Apache-2.0
 *
 * From a snapshot to groups. Only candidates are kept, with their metrics, which copying needs. */
#include "maintain/rewrite_select.h"

#include "iceberg/snapshot_files.h"

#include <inttypes.h>
#include <stdlib.h>

struct selecting {
    const struct cv_rewrite_selecting *config;
    struct cv_rewrite_selection *selection;
    struct cv_map by_key; /* partition key → number of the bucket + 1 */
    struct cv_buf key;
    struct cv_arena scratch;
};

static void selecting_release(struct selecting *selecting)
{
    cv_map_release(&selecting->by_key);
    cv_buf_release(&selecting->key);
    cv_arena_release(&selecting->scratch);
}

static bool is_busy(const struct selecting *selecting, const struct cv_data_file *file)
{
    const struct cv_maintenance *maintenance = selecting->config->maintenance;

    return maintenance->partition_busy &&
           maintenance->partition_busy(
               maintenance->context,
               cv_table_metadata_spec_by_id(selecting->selection->metadata, file->spec_id),
               file->partition);
}

static uint32_t find_bucket(struct selecting *selecting, const struct cv_data_file *file,
                            size_t field_count)
{
    struct cv_rewrite_selection *selection = selecting->selection;
    bool current = file->spec_id == selection->metadata->default_spec_id;
    struct cv_rewrite_bucket *bucket;
    void *found;

    cv_buf_clear(&selecting->key);
    cv_partition_key(file->spec_id, file->partition, current ? field_count : 0, &selecting->key);
    found = cv_map_get(&selecting->by_key, selecting->key.data, selecting->key.length);
    if (found)
        return (uint32_t)((uintptr_t)found - 1);
    cv_array_reserve(&selection->buckets, &selection->bucket_capacity, selection->bucket_count + 1);
    bucket = &selection->buckets[selection->bucket_count++];
    *bucket = (struct cv_rewrite_bucket){.spec_id = file->spec_id, .one_partition = current};
    bucket->busy = current && is_busy(selecting, file);
    (void)cv_map_set(&selecting->by_key, selecting->key.data, selecting->key.length,
                     (void *)(uintptr_t)selection->bucket_count); /* NOLINT: a number */
    return (uint32_t)(selection->bucket_count - 1);
}

static int64_t count_known_deletes(struct selecting *selecting, const struct cv_scan_task *task)
{
    int64_t known = 0;

    cv_arena_reset(&selecting->scratch);
    for (size_t i = 0; i < task->delete_count; i++) {
        const struct cv_data_file *file = &task->deletes[i]->file;
        int64_t records = file->metrics.record_count;

        if (records > 0 && cv_delete_file_target(file, &selecting->scratch) &&
            __builtin_add_overflow(known, records, &known))
            return INT64_MAX;
    }
    return known;
}

static enum cv_code check_file(const struct cv_data_file *file,
                               const struct cv_partition_spec *spec, struct cv_error *err)
{
    if (!spec)
        return cv_fail(err, CV_FORMAT, "%s: partition spec %d is not in the table", file->path,
                       file->spec_id);
    if (file->metrics.file_size < 0 || file->metrics.record_count < 0)
        return cv_fail(err, CV_FORMAT,
                       "%s: its manifest says %" PRId64 " bytes and %" PRId64 " rows", file->path,
                       file->metrics.file_size, file->metrics.record_count);
    return CV_OK;
}

static void keep_file(struct selecting *selecting, const struct cv_scan_task *task,
                      const struct cv_rewrite_file *file, size_t field_count)
{
    struct cv_rewrite_selection *selection = selecting->selection;
    struct cv_scan_task *kept = cv_arena_new(&selection->arena, struct cv_scan_task);
    struct cv_rewrite_bucket *bucket = &selection->buckets[file->bucket];

    *kept = *task;
    cv_data_file_copy(&task->data.file, field_count, &selection->arena, &kept->data.file);
    kept->deletes = cv_arena_copy(&selection->arena, task->deletes,
                                  task->delete_count * sizeof(*task->deletes));
    if (!bucket->partition)
        bucket->partition = kept->data.file.partition;
    cv_array_reserve(&selection->files, &selection->file_capacity, selection->file_count + 1);
    selection->files[selection->file_count] = *file;
    selection->files[selection->file_count++].context = kept;
}

/* Keeps the file if it is a candidate. */
static enum cv_code judge(struct selecting *selecting, const struct cv_scan_task *task,
                          bool *ret_kept, struct cv_error *err)
{
    struct cv_rewrite_selection *selection = selecting->selection;
    const struct cv_data_file *data = &task->data.file;
    const struct cv_partition_spec *spec =
        cv_table_metadata_spec_by_id(selection->metadata, data->spec_id);
    struct cv_rewrite_file file = {
        .bytes = data->metrics.file_size,
        .records = data->metrics.record_count,
        .delete_files = (int64_t)task->delete_count,
        .known_deletes = count_known_deletes(selecting, task),
    };

    if (selecting->config->only &&
        !cv_map_has(selecting->config->only, data->path, strlen(data->path)))
        return CV_OK;
    CV_DO(check_file(data, spec, err));
    if (!cv_rewrite_file_reason(&selecting->config->settings->rules, &file))
        return CV_OK;
    file.bucket = find_bucket(selecting, data, spec->field_count);
    if (selection->buckets[file.bucket].busy ||
        (!selection->buckets[file.bucket].one_partition && is_busy(selecting, data))) {
        selection->busy_files++;
        return CV_OK;
    }
    if (selection->arena.bytes + selection->file_capacity * sizeof file >
        selecting->config->memory_bytes) {
        selection->left_files++;
        return CV_OK;
    }
    keep_file(selecting, task, &file, spec->field_count);
    *ret_kept = true;
    return CV_OK;
}

static void note_other(struct cv_rewrite_selection *selection, const struct cv_scan_task *task)
{
    selection->other_sequence = CV_MIN(selection->other_sequence, task->data.sequence_number);
}

static enum cv_code take_task(void *context, const struct cv_scan_task *task, struct cv_error *err)
{
    struct selecting *selecting = context;
    bool kept = false;

    CV_DO(judge(selecting, task, &kept, err));
    if (!kept)
        note_other(selecting->selection, task);
    return CV_OK;
}

/* Sorting changes the size. */
static void apply_compression(const struct cv_rewrite_settings *settings,
                              struct cv_rewrite_group *group)
{
    double bytes = (double)group->bytes * settings->compression;
    int64_t after = bytes < (double)INT64_MAX ? (int64_t)bytes : INT64_MAX;

    group->expected_outputs = cv_rewrite_output_count(&settings->rules, after);
    group->split_bytes = cv_rewrite_split_bytes(&settings->rules, after);
}

/* Candidates that came into no group. */
static void note_ungrouped(struct cv_rewrite_selection *selection)
{
    CV_CLEANUP(cv_freep) bool *grouped = cv_alloc(selection->file_count * sizeof *grouped);

    for (size_t i = 0; i < selection->group_count; i++)
        for (size_t k = 0; k < selection->groups[i].count; k++)
            grouped[selection->groups[i].files[k] - selection->files] = true;
    for (size_t i = 0; i < selection->file_count; i++)
        if (!grouped[i])
            note_other(selection, cv_rewrite_task(&selection->files[i]));
}

static void plan_groups(struct selecting *selecting)
{
    struct cv_rewrite_selection *selection = selecting->selection;
    const struct cv_rewrite_settings *settings = selecting->config->settings;

    cv_rewrite_plan(&settings->rules, selection->files, selection->file_count, &selection->arena,
                    &selection->groups, &selection->group_count);
    for (size_t i = 0; i < selection->group_count; i++) {
        struct cv_rewrite_group *group = &selection->groups[i];

        if (settings->compression != 1.0)
            apply_compression(settings, group);
        if (__builtin_add_overflow(selection->group_bytes, group->bytes, &selection->group_bytes))
            selection->group_bytes = INT64_MAX;
    }
}

enum cv_code cv_rewrite_select(const struct cv_rewrite_selecting *config,
                               struct cv_rewrite_selection *selection, struct cv_error *err)
{
    CV_CLEANUP(selecting_release)
    struct selecting selecting = {.config = config, .selection = selection};
    const struct cv_snapshot *head;

    *selection = (struct cv_rewrite_selection){.snapshot_id = -1, .metadata = config->metadata};
    head = cv_table_metadata_head(config->metadata, config->branch);
    if (!head)
        return CV_OK;
    selection->snapshot_id = head->id;
    selection->sequence_number = head->sequence_number;
    CV_DO(cv_scan_plan_open(config->store, config->metadata, head, config->predicate,
                            &selection->plan, err));
    selection->other_sequence = config->predicate ? INT64_MIN : INT64_MAX;
    CV_DO(cv_scan_plan_each(selection->plan, take_task, &selecting, err));
    plan_groups(&selecting);
    note_ungrouped(selection);
    return CV_OK;
}

void cv_rewrite_selection_release(struct cv_rewrite_selection *selection)
{
    cv_scan_plan_free(selection->plan);
    free(selection->files);
    free(selection->buckets);
    cv_arena_release(&selection->arena);
    memset(selection, 0, sizeof *selection);
}
