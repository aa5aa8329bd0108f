/* SPDX-License-Identifier: Apache-2.0
 *
 * Cherry-picking (Java: CherryPickOperation, WapUtil): the data files that a staged snapshot added
 * and removed, added and removed anew on a branch's head. */
#include "table/position_int.h"
#include "table/refs_int.h"
#include "table/rewrite_int.h"

#include "iceberg/snapshot_files.h"

#include <stdio.h>
#include <stdlib.h>

struct picking {
    int64_t source_id;
    bool overwrite;
    bool loaded;
    struct cv_arena arena; /* files of the source */
    struct cv_data_file *added;
    size_t added_count, added_capacity;
    struct cv_data_file *removed;
    size_t removed_count, removed_capacity;
    struct cv_removal removal;
    struct cv_new_manifests written;
    struct cv_snapshot_changes changes;
    struct cv_carried_positions carried;
    struct cv_ref_move result;
};

static void picking_release(struct picking *p)
{
    free(p->added);
    free(p->removed);
    cv_removal_release(&p->removal);
    cv_new_manifests_release(&p->written);
    cv_carried_positions_release(&p->carried);
    cv_arena_release(&p->arena);
}

static void keep_file(struct cv_data_file **files, size_t *count, size_t *capacity,
                      const struct cv_data_file *file)
{
    cv_array_reserve(files, capacity, *count + 1);
    (*files)[(*count)++] = *file;
}

/* The data files of the source's own entries. They live as long as its manifests in the arena. */
static enum cv_code load_files(struct picking *p, struct cv_table *table,
                               const struct cv_snapshot *source, struct cv_error *err)
{
    struct cv_manifest_file *rows;
    size_t row_count;

    CV_DO(cv_table_manifests(table, source, &p->arena, &rows, &row_count, err));
    for (size_t i = 0; i < row_count; i++) {
        struct cv_manifest_entry *entries;
        size_t count;

        if (rows[i].deletes || rows[i].added_snapshot_id != source->id)
            continue;
        CV_DO(cv_table_manifest_entries(table, &rows[i], &p->arena, &entries, &count, err));
        for (size_t k = 0; k < count; k++) {
            if (entries[k].status == CV_ENTRY_ADDED)
                keep_file(&p->added, &p->added_count, &p->added_capacity, &entries[k].file);
            else if (entries[k].status == CV_ENTRY_DELETED && p->overwrite)
                keep_file(&p->removed, &p->removed_count, &p->removed_capacity, &entries[k].file);
        }
    }
    cv_removal_init(&p->removal, p->removed, p->removed_count);
    p->loaded = true;
    return CV_OK;
}

static const char *wap_id_of(const struct cv_snapshot *source)
{
    return cv_properties_get(&source->summary, "wap.id");
}

static bool has_value(const struct cv_snapshot *snapshot, const char *key, const char *value)
{
    const char *own = cv_properties_get(&snapshot->summary, key);

    return own && strcmp(own, value) == 0;
}

static enum cv_code check_unpublished(const struct cv_table_metadata *metadata, const char *branch,
                                      const struct cv_snapshot *source, struct cv_error *err)
{
    struct cv_history history = cv_history_of(metadata, branch);
    const char *wap_id = wap_id_of(source);
    const struct cv_snapshot *snapshot;

    while (wap_id && *wap_id && (snapshot = cv_history_next(&history)))
        if (has_value(snapshot, "wap.id", wap_id) ||
            has_value(snapshot, "published-wap-id", wap_id))
            return cv_fail(err, CV_USAGE,
                           "Duplicate request to cherry pick wap id that was published already: %s",
                           wap_id);
    return CV_OK;
}

static enum cv_code check_unpicked(const struct cv_table_metadata *metadata, const char *branch,
                                   const struct cv_snapshot *source, struct cv_error *err)
{
    struct cv_history history = cv_history_of(metadata, branch);
    const struct cv_snapshot *snapshot;
    char id[24];

    (void)snprintf(id, sizeof id, "%lld", (long long)source->id);
    if (cv_is_ancestor(metadata, branch, source->id))
        return cv_fail(err, CV_USAGE, "Cannot cherrypick snapshot %s: already an ancestor", id);
    while ((snapshot = cv_history_next(&history)))
        if (has_value(snapshot, "source-snapshot-id", id))
            return cv_fail(err, CV_USAGE,
                           "Cannot cherrypick snapshot %s: already picked to create ancestor %lld",
                           id, (long long)snapshot->id);
    return CV_OK;
}

/* Partitions that the source writes to. */
struct partitions {
    const struct cv_table_metadata *metadata;
    struct cv_map set;
    struct cv_buf key;
};

static void partitions_release(struct partitions *partitions)
{
    cv_map_release(&partitions->set);
    cv_buf_release(&partitions->key);
}

static enum cv_code check_manifest(struct partitions *partitions, struct cv_table *table,
                                   const struct cv_between *between,
                                   const struct cv_manifest_file *row, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    struct cv_manifest_entry *entries;
    size_t count;

    CV_DO(cv_table_manifest_entries(table, row, &scratch, &entries, &count, err));
    for (size_t i = 0; i < count; i++) {
        const struct cv_snapshot *by = cv_between_find(between, entries[i].snapshot_id);

        if (entries[i].status == CV_ENTRY_DELETED || !by)
            continue;
        cv_data_file_partition_key(&entries[i].file, partitions->metadata, &partitions->key);
        if (cv_map_has(&partitions->set, partitions->key.data, partitions->key.length))
            return cv_fail(
                err, CV_USAGE,
                "Cannot cherry-pick replace partitions with changed partition: %s wrote to it",
                cv_snapshot_describe(by, &scratch));
    }
    return CV_OK;
}

/* An overwrite of partitions that others wrote to since would take their rows out. */
static enum cv_code check_partitions(const struct picking *p, struct cv_table *table,
                                     const struct cv_table_metadata *metadata,
                                     const struct cv_between *between, struct cv_error *err)
{
    CV_CLEANUP(partitions_release) struct partitions replaced = {.metadata = metadata};
    const struct cv_manifest_file *rows;
    size_t row_count;

    if (!between->count)
        return CV_OK;
    for (size_t i = 0; i < p->added_count; i++) {
        cv_data_file_partition_key(&p->added[i], metadata, &replaced.key);
        (void)cv_map_set(&replaced.set, replaced.key.data, replaced.key.length, &replaced);
    }
    CV_DO(cv_table_cached_manifests(table, between->snapshots[0], &rows, &row_count, err));
    for (size_t i = 0; i < row_count; i++)
        if (!rows[i].deletes && cv_between_find(between, rows[i].added_snapshot_id))
            CV_DO(check_manifest(&replaced, table, between, &rows[i], err));
    return CV_OK;
}

static bool is_fast_forward(const struct cv_table_metadata *metadata, const char *branch,
                            const struct cv_snapshot *source)
{
    return cv_head_id(metadata, branch) == source->parent_id;
}

/* What the source is, and whether it may be picked at all. */
static enum cv_code check_source(struct picking *p, const struct cv_table_metadata *metadata,
                                 const char *branch, const struct cv_snapshot **ret_source,
                                 struct cv_error *err)
{
    const struct cv_snapshot *source = cv_table_metadata_snapshot(metadata, p->source_id);
    const char *operation;
    bool append;

    if (!source)
        return cv_fail(err, CV_USAGE, "Cannot cherry-pick unknown snapshot ID: %lld",
                       (long long)p->source_id);
    operation = cv_properties_get_or(&source->summary, "operation", "");
    append = strcmp(operation, "append") == 0;
    p->overwrite =
        strcmp(operation, "overwrite") == 0 && has_value(source, "replace-partitions", "true");
    *ret_source = source;
    if (!append && !p->overwrite && !is_fast_forward(metadata, branch, source))
        return cv_fail(err, CV_USAGE,
                       "Cannot cherry-pick snapshot %lld: not append, dynamic overwrite, or "
                       "fast-forward",
                       (long long)source->id);
    if (p->overwrite && source->parent_id >= 0 &&
        !cv_is_ancestor(metadata, branch, source->parent_id))
        return cv_fail(err, CV_USAGE,
                       "Cannot cherry-pick overwrite not based on an ancestor of the current "
                       "state: %lld",
                       (long long)source->id);
    if (append || p->overwrite)
        CV_DO(check_unpublished(metadata, branch, source, err));
    if (is_fast_forward(metadata, branch, source))
        return CV_OK;
    return check_unpicked(metadata, branch, source, err);
}

static void fill_summary(const struct picking *p, const struct cv_snapshot *source,
                         const struct cv_snapshot *parent, struct cv_properties *summary)
{
    const char *wap_id = wap_id_of(source);
    char id[24];

    (void)snprintf(id, sizeof id, "%lld", (long long)source->id);
    cv_properties_set(summary, "operation", p->overwrite ? "overwrite" : "append");
    if (wap_id)
        cv_properties_set(summary, "published-wap-id", wap_id);
    cv_properties_set(summary, "source-snapshot-id", id);
    cv_snapshot_summary_totals(parent ? &parent->summary : NULL, &p->changes, summary);
    cv_summary_put_engine(summary);
    cv_position_put_carried(&p->carried, summary);
}

static void count_changes(struct picking *p, const struct cv_table_metadata *metadata)
{
    CV_CLEANUP(cv_change_counter_release) struct cv_change_counter counter = {.metadata = metadata};

    for (size_t i = 0; i < p->added_count; i++)
        cv_change_counter_add(&counter, &p->added[i]);
    for (size_t i = 0; i < p->removed_count; i++)
        cv_change_counter_remove(&counter, &p->removed[i]);
    p->changes = counter.changes;
}

static enum cv_code pick(struct picking *p, struct cv_commit *commit,
                         struct cv_table_metadata *next, const struct cv_snapshot *source,
                         const struct cv_between *between, struct cv_error *err)
{
    CV_CLEANUP(cv_properties_release) struct cv_properties summary = {0};
    const struct cv_snapshot *head = cv_table_metadata_head(next, cv_table_branch(commit->table));
    struct cv_new_snapshot snapshot = {.summary = &summary};

    count_changes(p, next);
    CV_DO(cv_check_specs(next, p->added, p->added_count, err));
    if (!p->written.count)
        CV_DO(
            cv_commit_write_added(commit, next, p->added, NULL, p->added_count, &p->written, err));
    CV_DO(cv_removal_apply(&p->removal, commit, next, between, &p->written, &snapshot, err));
    CV_DO(cv_position_carry(commit->table, next, &p->carried, err));
    snapshot.extra = p->carried.extra;
    snapshot.extra_count = p->carried.extra_count;
    fill_summary(p, source, head, &summary);
    return cv_commit_add_snapshot(commit, next, &snapshot, err);
}

static enum cv_code build(void *context, struct cv_commit *commit, struct cv_table_metadata *next,
                          bool *ret_done, struct cv_error *err)
{
    struct picking *p = context;
    struct cv_table *table = commit->table;
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    CV_CLEANUP(cv_between_release) struct cv_between between = {0};
    const char *branch = cv_table_branch(table);
    const struct cv_snapshot *source;

    *ret_done = false;
    CV_DO(cv_check_branch(table, next, err));
    p->result = (struct cv_ref_move){cv_head_id(next, branch), p->source_id};
    CV_DO(check_source(p, next, branch, &source, err));
    if (is_fast_forward(next, branch, source))
        return cv_move_branch(next, branch, source->id, err);
    if (!p->loaded)
        CV_DO(load_files(p, table, source, err));
    if (p->overwrite) {
        CV_DO(cv_between_init(&between, next, branch, source->parent_id, &scratch, err));
        CV_DO(check_partitions(p, table, next, &between, err));
    }
    if (commit->dry_run)
        return CV_OK;
    p->result.current_snapshot_id = commit->snapshot_id;
    return pick(p, commit, next, source, &between, err);
}

enum cv_code cv_table_cherrypick_snapshot(struct cv_table *table, int64_t snapshot_id, bool dry_run,
                                          struct cv_ref_move *ret_move, struct cv_error *err)
{
    CV_CLEANUP(picking_release) struct picking p = {.source_id = snapshot_id};
    const struct cv_commit_operation operation = {
        .build = build, .context = &p, .makes_snapshot = true, .dry_run = dry_run};
    struct cv_commit_outcome outcome;

    CV_TRY(cv_commit_run(table, &operation, &outcome, err), err, "table %s",
           cv_table_name_text(&table->name, &p.arena));
    *ret_move = p.result;
    return CV_OK;
}

enum cv_code cv_table_find_staged(const struct cv_table_metadata *metadata, const char *wap_id,
                                  int64_t *ret_snapshot_id, struct cv_error *err)
{
    const struct cv_snapshot *found = NULL;

    for (size_t i = 0; i < metadata->snapshot_count; i++) {
        if (!has_value(&metadata->snapshots[i], "wap.id", wap_id))
            continue;
        if (found)
            return cv_fail(err, CV_USAGE,
                           "Cannot apply non-unique WAP ID. Found multiple snapshots with WAP ID "
                           "'%s'",
                           wap_id);
        found = &metadata->snapshots[i];
    }
    if (!found)
        return cv_fail(err, CV_USAGE, "Cannot apply unknown WAP ID '%s'", wap_id);
    *ret_snapshot_id = found->id;
    return CV_OK;
}
