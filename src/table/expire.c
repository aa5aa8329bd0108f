/* SPDX-License-Identifier: Apache-2.0
 *
 * Expiry of snapshots and refs, the metadata side: one commit without a snapshot. */
#include "table/expire.h"

#include "iceberg/snapshot_files.h"
#include "table/commit.h"

#include <stdio.h>

struct expiring {
    const struct cv_expire *expire;
    struct cv_arena *arena;
    struct cv_expire_result *result;
    bool has_carriers;
};

enum cv_code cv_table_check_gc(const struct cv_table_metadata *metadata, const char *what,
                               struct cv_error *err)
{
    bool enabled = true;

    CV_DO(cv_properties_get_bool(&metadata->properties, "gc.enabled", &enabled, err));
    if (enabled)
        return CV_OK;
    (void)cv_fail(err, CV_CONFIG,
                  "Cannot %s: GC is disabled (deleting files may corrupt other tables)", what);
    cv_hint(err, "the table's property gc.enabled is false; set it to true where no other table "
                 "shares its files");
    return CV_CONFIG;
}

static enum cv_code plan(struct expiring *e, const struct cv_table_metadata *metadata,
                         struct cv_error *err)
{
    struct cv_expire_rules rules = e->expire->rules;
    int64_t *carriers;
    int64_t *ids;
    size_t count;

    CV_DO(cv_table_check_gc(metadata, "expire snapshots", err));
    cv_table_position_carriers(metadata, e->arena, &carriers, &count);
    e->has_carriers = count > 0;
    ids = cv_arena_array(e->arena, int64_t, count + rules.keep_id_count);
    if (count)
        memcpy(ids, carriers, count * sizeof *ids);
    if (rules.keep_id_count)
        memcpy(ids + count, rules.keep_ids, rules.keep_id_count * sizeof *ids);
    rules.keep_ids = ids;
    rules.keep_id_count += count;
    return cv_expire_plan(metadata, &rules, e->arena, &e->result->plan, err);
}

/* A snapshot whose parents go, while an older ancestor stays, gets a property that names it: stream
 * positions are found by walking back. */
static void link_over_gaps(const struct cv_table_metadata *before, struct cv_table_metadata *next)
{
    for (size_t i = 0; i < next->snapshot_count; i++) {
        struct cv_history history = {before,
                                     cv_table_metadata_snapshot(before, next->snapshots[i].id),
                                     before->snapshot_count, true};
        const struct cv_snapshot *ancestor;
        char key[sizeof CV_ANCESTOR_PROPERTY + 20];
        char id[24];

        (void)cv_history_next(&history);
        if (next->snapshots[i].parent_id < 0 ||
            cv_table_metadata_snapshot(next, next->snapshots[i].parent_id))
            continue;
        while ((ancestor = cv_history_next(&history)) &&
               !cv_table_metadata_snapshot(next, ancestor->id))
            continue;
        (void)snprintf(key, sizeof key, CV_ANCESTOR_PROPERTY "%lld",
                       (long long)next->snapshots[i].id);
        (void)cv_properties_remove(&next->properties, key);
        if (!ancestor)
            continue;
        (void)snprintf(id, sizeof id, "%lld", (long long)ancestor->id);
        cv_properties_set(&next->properties, key, id);
    }
}

/* Also of snapshots that another engine expired. */
static void remove_dead_links(struct cv_table_metadata *next)
{
    for (size_t i = next->properties.count; i-- > 0;) {
        const char *key = next->properties.items[i].key;
        int64_t id;

        if (cv_text_starts_with(key, CV_ANCESTOR_PROPERTY) &&
            cv_parse_i64(cv_str_from(key + sizeof CV_ANCESTOR_PROPERTY - 1), &id) &&
            !cv_table_metadata_snapshot(next, id))
            (void)cv_properties_remove(&next->properties, key);
    }
}

static enum cv_code remove_definitions(struct expiring *e, struct cv_store *store,
                                       struct cv_table_metadata *next, struct cv_error *err)
{
    CV_CLEANUP(cv_freep) int32_t *specs = NULL;
    size_t capacity = 0;
    size_t count = 0;

    if (!e->expire->clean_expired_metadata)
        return CV_OK;
    for (size_t i = 0; i < next->snapshot_count && next->spec_count > 1; i++) {
        CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
        struct cv_manifest_file *rows;
        size_t row_count;

        CV_DO(cv_snapshot_manifests(store, &next->snapshots[i], &arena, &rows, &row_count, err));
        for (size_t k = 0; k < row_count; k++) {
            if (count && specs[count - 1] == rows[k].spec_id)
                continue;
            cv_array_reserve(&specs, &capacity, count + 1);
            specs[count++] = rows[k].spec_id;
        }
    }
    return cv_table_metadata_remove_unused(next, specs, count, &e->result->definitions_removed,
                                           err);
}

static enum cv_code build(void *context, struct cv_commit *commit, struct cv_table_metadata *next,
                          bool *ret_done, struct cv_error *err)
{
    struct expiring *e = context;
    const struct cv_table_metadata *before = commit->table->metadata;
    struct cv_expire_plan *plan_made = &e->result->plan;

    e->result->definitions_removed = false;
    CV_DO(plan(e, before, err));
    for (size_t i = 0; i < plan_made->ref_count; i++)
        CV_DO(cv_table_metadata_remove_ref(next, plan_made->refs[i], err));
    CV_DO(cv_table_metadata_remove_snapshots(next, plan_made->snapshot_ids,
                                             plan_made->snapshot_count, err));
    remove_dead_links(next);
    if (e->has_carriers)
        link_over_gaps(before, next);
    CV_DO(remove_definitions(e, commit->table->store, next, err));
    cv_table_metadata_free(e->result->before);
    e->result->before = cv_table_metadata_copy(before);
    *ret_done = !next->changed;
    return CV_OK;
}

enum cv_code cv_table_expire(struct cv_table *table, const struct cv_expire *expire,
                             struct cv_arena *arena, struct cv_expire_result *ret_result,
                             struct cv_error *err)
{
    struct cv_expire_result result = {0};
    struct expiring e = {expire, arena, &result};
    const struct cv_commit_operation operation = {
        .build = build, .context = &e, .dry_run = expire->dry_run};
    struct cv_commit_outcome outcome;
    enum cv_code code = cv_commit_run(table, &operation, &outcome, err);

    if (code != CV_OK)
        cv_table_metadata_free(result.before);
    CV_TRY(code, err, "table %s", cv_table_name_text(&table->name, arena));
    *ret_result = result;
    return CV_OK;
}
