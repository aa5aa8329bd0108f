/* SPDX-License-Identifier: Apache-2.0
 *
 * Scan planning: a snapshot's data files, one manifest in memory at a time, each with the deletes
 * that apply. Delete files are read first and kept. */
#include "data/scan.h"
#include "iceberg/projection.h"
#include "iceberg/snapshot_files.h"

#include <stdlib.h>

struct cv_scan_plan {
    struct cv_store *store;
    const struct cv_table_metadata *metadata;
    const struct cv_predicate *predicate;
    struct cv_arena arena;
    struct cv_manifest_file *manifests;
    size_t manifest_count;
    struct cv_projection *projections; /* parallel to the metadata's specs; NULL = all */
    const struct cv_manifest_entry **deletes;
    size_t delete_count, delete_capacity;
    struct cv_delete_index *index;
};

static const struct cv_projection *projection_of(const struct cv_scan_plan *plan, int32_t spec_id)
{
    for (size_t i = 0; plan->projections && i < plan->metadata->spec_count; i++)
        if (plan->metadata->specs[i].spec_id == spec_id)
            return &plan->projections[i];
    return NULL;
}

static bool manifest_may_match(const struct cv_scan_plan *plan, const struct cv_manifest_file *row)
{
    const struct cv_projection *projection = projection_of(plan, row->spec_id);

    if (row->added_files == 0 && row->existing_files == 0)
        return false;
    return !projection || cv_projection_may_match_manifest(projection, row);
}

static bool partition_may_match(const struct cv_scan_plan *plan, const struct cv_data_file *file)
{
    const struct cv_projection *projection = projection_of(plan, file->spec_id);

    return !projection || cv_projection_may_match(projection, file->partition);
}

static enum cv_code keep_delete(struct cv_scan_plan *plan, const struct cv_manifest_entry *entry,
                                struct cv_error *err)
{
    const struct cv_partition_spec *spec =
        cv_table_metadata_spec_by_id(plan->metadata, entry->file.spec_id);
    struct cv_manifest_entry *copy;

    if (!spec)
        return cv_fail(err, CV_FORMAT, "delete file %s: partition spec %d is not in the table",
                       entry->file.path, entry->file.spec_id);
    copy = cv_arena_new(&plan->arena, struct cv_manifest_entry);
    *copy = *entry;
    cv_data_file_copy(&entry->file, spec->field_count, &plan->arena, &copy->file);
    cv_array_reserve(&plan->deletes, &plan->delete_capacity, plan->delete_count + 1);
    plan->deletes[plan->delete_count++] = copy;
    return CV_OK;
}

static enum cv_code load_deletes(struct cv_scan_plan *plan, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;

    for (size_t i = 0; i < plan->manifest_count; i++) {
        struct cv_manifest_entry *entries;
        size_t count;

        if (!plan->manifests[i].deletes || !manifest_may_match(plan, &plan->manifests[i]))
            continue;
        cv_arena_reset(&scratch);
        CV_DO(cv_snapshot_entries(plan->store, plan->metadata, &plan->manifests[i], &scratch,
                                  &entries, &count, err));
        for (size_t e = 0; e < count; e++)
            if (entries[e].status != CV_ENTRY_DELETED &&
                partition_may_match(plan, &entries[e].file))
                CV_DO(keep_delete(plan, &entries[e], err));
    }
    plan->index = cv_delete_index_new(plan->deletes, plan->delete_count, plan->metadata);
    return CV_OK;
}

enum cv_code cv_scan_plan_open(struct cv_store *store, const struct cv_table_metadata *metadata,
                               const struct cv_snapshot *snapshot,
                               const struct cv_predicate *predicate, struct cv_scan_plan **ret_plan,
                               struct cv_error *err)
{
    CV_CLEANUP(cv_scan_plan_freep) struct cv_scan_plan *plan = cv_alloc(sizeof *plan);

    plan->store = store;
    plan->metadata = metadata;
    plan->predicate = predicate;
    if (predicate) {
        plan->projections =
            cv_arena_array(&plan->arena, struct cv_projection, metadata->spec_count);
        for (size_t i = 0; i < metadata->spec_count; i++)
            cv_projection_make(predicate, &metadata->specs[i], cv_table_metadata_schema(metadata),
                               &plan->arena, &plan->projections[i]);
    }
    CV_DO(cv_snapshot_manifests(store, snapshot, &plan->arena, &plan->manifests,
                                &plan->manifest_count, err));
    CV_DO(load_deletes(plan, err));
    *ret_plan = cv_steal(plan);
    return CV_OK;
}

static enum cv_code
plan_file(struct cv_scan_plan *plan, const struct cv_manifest_entry *entry, struct cv_arena *arena,
          enum cv_code (*each)(void *, const struct cv_scan_task *, struct cv_error *),
          void *context, struct cv_error *err)
{
    struct cv_scan_task task = {.data = *entry};

    if (entry->status == CV_ENTRY_DELETED || !partition_may_match(plan, &entry->file) ||
        (plan->predicate && !cv_file_may_match(plan->predicate, &entry->file)))
        return CV_OK;
    cv_delete_index_find(plan->index, entry, arena, &task.deletes, &task.delete_count);
    return each(context, &task, err);
}

enum cv_code cv_scan_plan_each(struct cv_scan_plan *plan,
                               enum cv_code (*each)(void *context, const struct cv_scan_task *task,
                                                    struct cv_error *err),
                               void *context, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;

    for (size_t i = 0; i < plan->manifest_count; i++) {
        struct cv_manifest_entry *entries;
        size_t count;

        if (plan->manifests[i].deletes || !manifest_may_match(plan, &plan->manifests[i]))
            continue;
        cv_arena_reset(&scratch);
        CV_DO(cv_snapshot_entries(plan->store, plan->metadata, &plan->manifests[i], &scratch,
                                  &entries, &count, err));
        for (size_t e = 0; e < count; e++)
            CV_DO(plan_file(plan, &entries[e], &scratch, each, context, err));
    }
    return CV_OK;
}

void cv_scan_plan_deletes(const struct cv_scan_plan *plan,
                          const struct cv_manifest_entry *const **ret_deletes, size_t *ret_count)
{
    *ret_deletes = plan->deletes;
    *ret_count = plan->delete_count;
}

void cv_scan_plan_free(struct cv_scan_plan *plan)
{
    if (!plan)
        return;
    cv_delete_index_free(plan->index);
    free(plan->deletes);
    cv_arena_release(&plan->arena);
    free(plan);
}
