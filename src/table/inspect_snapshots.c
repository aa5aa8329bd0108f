/* SPDX-License-Identifier: Apache-2.0
 *
 * Views that need the metadata only: snapshots, history, refs. */
#include "table/inspect_int.h"

#include "base/map.h"

static void put_summary(struct cv_json_writer *w, const struct cv_properties *summary)
{
    cv_json_key(w, "summary");
    cv_json_begin_object(w);
    for (size_t i = 0; i < summary->count; i++)
        if (strcmp(summary->items[i].key, "operation") != 0)
            cv_inspect_put_text(w, summary->items[i].key, summary->items[i].value);
    cv_json_end_object(w);
}

enum cv_code cv_inspect_snapshots(struct cv_table *table, struct cv_json_writer *w,
                                  struct cv_error *err)
{
    (void)err;
    for (size_t i = 0; i < table->metadata->snapshot_count; i++) {
        const struct cv_snapshot *snapshot = &table->metadata->snapshots[i];

        cv_json_begin_object(w);
        cv_inspect_put_time(w, "committed_at", snapshot->timestamp_ms);
        cv_inspect_put_count(w, "snapshot_id", snapshot->id);
        cv_inspect_put_count(w, "parent_id", snapshot->parent_id);
        cv_inspect_put_text(w, "operation", cv_properties_get(&snapshot->summary, "operation"));
        cv_inspect_put_text(w, "manifest_list", snapshot->manifest_list);
        put_summary(w, &snapshot->summary);
        cv_json_end_object(w);
    }
    return CV_OK;
}

/* The ids of the current snapshot and all its ancestors. */
static void collect_ancestors(const struct cv_table_metadata *metadata, struct cv_map *ids)
{
    int64_t id = metadata->current_snapshot_id;

    while (id >= 0 && !cv_map_has(ids, &id, sizeof id)) {
        const struct cv_snapshot *snapshot = cv_table_metadata_snapshot(metadata, id);

        (void)cv_map_set(ids, &id, sizeof id, ids);
        id = snapshot ? snapshot->parent_id : -1;
    }
}

enum cv_code cv_inspect_history(struct cv_table *table, struct cv_json_writer *w,
                                struct cv_error *err)
{
    CV_CLEANUP(cv_map_release) struct cv_map ancestors = {0};
    const struct cv_table_metadata *metadata = table->metadata;

    (void)err;
    collect_ancestors(metadata, &ancestors);
    for (size_t i = 0; i < metadata->snapshot_log_count; i++) {
        const struct cv_snapshot_log_entry *entry = &metadata->snapshot_log[i];
        const struct cv_snapshot *snapshot =
            cv_table_metadata_snapshot(metadata, entry->snapshot_id);

        cv_json_begin_object(w);
        cv_inspect_put_time(w, "made_current_at", entry->timestamp_ms);
        cv_inspect_put_count(w, "snapshot_id", entry->snapshot_id);
        cv_inspect_put_count(w, "parent_id", snapshot ? snapshot->parent_id : -1);
        cv_json_key(w, "is_current_ancestor");
        cv_json_put_bool(w, cv_map_has(&ancestors, &entry->snapshot_id, sizeof(int64_t)));
        cv_json_end_object(w);
    }
    return CV_OK;
}

static void put_ref(struct cv_json_writer *w, const struct cv_snapshot_ref *ref)
{
    cv_json_begin_object(w);
    cv_inspect_put_text(w, "name", ref->name);
    cv_inspect_put_text(w, "type", ref->is_tag ? "TAG" : "BRANCH");
    cv_inspect_put_count(w, "snapshot_id", ref->snapshot_id);
    cv_inspect_put_count(w, "max_reference_age_in_ms", ref->max_ref_age_ms);
    cv_inspect_put_count(w, "min_snapshots_to_keep", ref->min_snapshots_to_keep);
    cv_inspect_put_count(w, "max_snapshot_age_in_ms", ref->max_snapshot_age_ms);
    cv_json_end_object(w);
}

enum cv_code cv_inspect_refs(struct cv_table *table, struct cv_json_writer *w, struct cv_error *err)
{
    const struct cv_table_metadata *metadata = table->metadata;
    const struct cv_snapshot_ref main_ref = {"main", metadata->current_snapshot_id, false, -1, -1,
                                             -1};

    (void)err;
    if (!cv_table_metadata_ref(metadata, "main") && metadata->current_snapshot_id >= 0)
        put_ref(w, &main_ref);
    for (size_t i = 0; i < metadata->ref_count; i++)
        put_ref(w, &metadata->refs[i]);
    return CV_OK;
}
