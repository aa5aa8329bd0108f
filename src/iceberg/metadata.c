/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of a table's metadata: lifetime, cheap copies, look-up, and the changes of a commit. */
#include "iceberg/metadata_change.h"
#include "iceberg/metadata_int.h"

#include <assert.h>
#include <stdlib.h>

#define PREVIOUS_VERSIONS_DEFAULT 100

struct cv_table_definitions *cv_table_definitions_new(void)
{
    struct cv_table_definitions *definitions = cv_alloc(sizeof *definitions);

    definitions->references = 1;
    return definitions;
}

static void definitions_unref(struct cv_table_definitions *definitions)
{
    if (!definitions || __atomic_sub_fetch(&definitions->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    cv_arena_release(&definitions->arena);
    free(definitions);
}

void cv_table_metadata_free(struct cv_table_metadata *metadata)
{
    if (!metadata)
        return;
    for (size_t i = 0; i < metadata->snapshot_count; i++)
        cv_snapshot_unref_block(&metadata->snapshots[i]);
    free(metadata->snapshots);
    free(metadata->snapshot_slots);
    free(metadata->refs);
    free(metadata->snapshot_log);
    free(metadata->metadata_log);
    cv_properties_release(&metadata->properties);
    definitions_unref(metadata->definitions);
    cv_arena_release(&metadata->arena);
    free(metadata);
}

static void *copy_array(const void *items, size_t count, size_t size)
{
    void *copy = cv_realloc_array(NULL, count, size);

    if (count)
        memcpy(copy, items, count * size);
    return copy;
}

static struct cv_str copy_text(struct cv_arena *arena, struct cv_str text)
{
    return (struct cv_str){cv_arena_strndup(arena, text.ptr, text.length), text.length};
}

static void copy_history(struct cv_table_metadata *to, const struct cv_table_metadata *from)
{
    to->snapshots = copy_array(from->snapshots, from->snapshot_count, sizeof *from->snapshots);
    to->snapshot_capacity = from->snapshot_count;
    for (size_t i = 0; i < from->snapshot_count; i++)
        cv_snapshot_ref_block(&from->snapshots[i]);
    to->snapshot_slots =
        copy_array(from->snapshot_slots, from->snapshot_slot_count, sizeof *from->snapshot_slots);
    to->refs = copy_array(from->refs, from->ref_count, sizeof *from->refs);
    to->ref_capacity = from->ref_count;
    for (size_t i = 0; i < to->ref_count; i++)
        to->refs[i].name = cv_arena_strdup(&to->arena, from->refs[i].name);
    to->snapshot_log =
        copy_array(from->snapshot_log, from->snapshot_log_count, sizeof *from->snapshot_log);
    to->snapshot_log_capacity = from->snapshot_log_count;
    to->metadata_log =
        copy_array(from->metadata_log, from->metadata_log_count, sizeof *from->metadata_log);
    to->metadata_log_capacity = from->metadata_log_count;
    for (size_t i = 0; i < to->metadata_log_count; i++)
        to->metadata_log[i].file = cv_arena_strdup(&to->arena, from->metadata_log[i].file);
}

struct cv_table_metadata *cv_table_metadata_copy(const struct cv_table_metadata *metadata)
{
    struct cv_table_metadata *copy = cv_alloc(sizeof *copy);

    *copy = *metadata;
    copy->arena = (struct cv_arena)CV_ARENA_INIT;
    copy->changed = false;
    copy->table_uuid = cv_arena_strdup(&copy->arena, metadata->table_uuid);
    copy->location = cv_arena_strdup(&copy->arena, metadata->location);
    copy->properties = (struct cv_properties){0};
    cv_properties_copy(&copy->properties, &metadata->properties);
    __atomic_add_fetch(&copy->definitions->references, 1, __ATOMIC_RELAXED);
    copy_history(copy, metadata);
    copy->statistics_json = copy_text(&copy->arena, metadata->statistics_json);
    copy->partition_statistics_json = copy_text(&copy->arena, metadata->partition_statistics_json);
    copy->unknown_json = copy_text(&copy->arena, metadata->unknown_json);
    return copy;
}

static size_t slot_of(const struct cv_table_metadata *metadata, int64_t id)
{
    size_t mask = metadata->snapshot_slot_count - 1;
    size_t i = ((uint64_t)id * 0x9e3779b97f4a7c15u >> 20) & mask;

    while (metadata->snapshot_slots[i] &&
           metadata->snapshots[metadata->snapshot_slots[i] - 1].id != id)
        i = (i + 1) & mask;
    return i;
}

const struct cv_snapshot *cv_table_metadata_snapshot(const struct cv_table_metadata *metadata,
                                                     int64_t snapshot_id)
{
    uint32_t index;

    if (metadata->snapshot_slot_count == 0)
        return NULL;
    index = metadata->snapshot_slots[slot_of(metadata, snapshot_id)];
    return index ? &metadata->snapshots[index - 1] : NULL;
}

/* Room for one more, at most half full. */
static void reserve_slots(struct cv_table_metadata *metadata)
{
    size_t count = CV_MAX(metadata->snapshot_slot_count, (size_t)16);

    while ((metadata->snapshot_count + 1) * 2 > count)
        count *= 2;
    if (count == metadata->snapshot_slot_count)
        return;
    free(metadata->snapshot_slots);
    metadata->snapshot_slots = cv_alloc(count * sizeof *metadata->snapshot_slots);
    metadata->snapshot_slot_count = count;
    for (uint32_t i = 0; i < metadata->snapshot_count; i++)
        metadata->snapshot_slots[slot_of(metadata, metadata->snapshots[i].id)] = i + 1;
}

enum cv_code cv_table_metadata_put_snapshot(struct cv_table_metadata *metadata,
                                            const struct cv_snapshot *snapshot,
                                            struct cv_error *err)
{
    size_t slot;

    reserve_slots(metadata);
    slot = slot_of(metadata, snapshot->id);
    if (metadata->snapshot_slots[slot]) {
        cv_snapshot_unref_block(snapshot);
        return cv_fail(err, CV_FORMAT, "snapshot %lld is there twice", (long long)snapshot->id);
    }
    cv_array_reserve(&metadata->snapshots, &metadata->snapshot_capacity,
                     metadata->snapshot_count + 1);
    metadata->snapshots[metadata->snapshot_count++] = *snapshot;
    metadata->snapshot_slots[slot] = (uint32_t)metadata->snapshot_count;
    return CV_OK;
}

void cv_table_metadata_keep_snapshots(struct cv_table_metadata *metadata, const bool *kept)
{
    size_t count = 0;

    for (size_t i = 0; i < metadata->snapshot_count; i++) {
        if (kept[i])
            metadata->snapshots[count++] = metadata->snapshots[i];
        else
            cv_snapshot_unref_block(&metadata->snapshots[i]);
    }
    metadata->snapshot_count = 0;
    if (metadata->snapshot_slots)
        memset(metadata->snapshot_slots, 0,
               metadata->snapshot_slot_count * sizeof *metadata->snapshot_slots);
    for (; metadata->snapshot_count < count; metadata->snapshot_count++)
        metadata
            ->snapshot_slots[slot_of(metadata, metadata->snapshots[metadata->snapshot_count].id)] =
            (uint32_t)metadata->snapshot_count + 1;
}

void cv_table_metadata_put_ref(struct cv_table_metadata *metadata,
                               const struct cv_snapshot_ref *ref)
{
    for (size_t i = 0; i < metadata->ref_count; i++)
        if (strcmp(metadata->refs[i].name, ref->name) == 0) {
            const char *name = metadata->refs[i].name;

            metadata->refs[i] = *ref;
            metadata->refs[i].name = name;
            return;
        }
    cv_array_reserve(&metadata->refs, &metadata->ref_capacity, metadata->ref_count + 1);
    metadata->refs[metadata->ref_count] = *ref;
    metadata->refs[metadata->ref_count++].name = cv_arena_strdup(&metadata->arena, ref->name);
}

void cv_table_metadata_put_snapshot_log(struct cv_table_metadata *metadata, int64_t timestamp_ms,
                                        int64_t snapshot_id)
{
    cv_array_reserve(&metadata->snapshot_log, &metadata->snapshot_log_capacity,
                     metadata->snapshot_log_count + 1);
    metadata->snapshot_log[metadata->snapshot_log_count++] =
        (struct cv_snapshot_log_entry){timestamp_ms, snapshot_id};
}

void cv_table_metadata_put_metadata_log(struct cv_table_metadata *metadata, int64_t timestamp_ms,
                                        const char *file)
{
    cv_array_reserve(&metadata->metadata_log, &metadata->metadata_log_capacity,
                     metadata->metadata_log_count + 1);
    metadata->metadata_log[metadata->metadata_log_count++] =
        (struct cv_metadata_log_entry){timestamp_ms, cv_arena_strdup(&metadata->arena, file)};
}

const struct cv_schema *cv_table_metadata_schema_by_id(const struct cv_table_metadata *metadata,
                                                       int32_t schema_id)
{
    for (size_t i = 0; i < metadata->schema_count; i++)
        if (metadata->schemas[i].schema_id == schema_id)
            return &metadata->schemas[i];
    return NULL;
}

const struct cv_schema *cv_table_metadata_schema(const struct cv_table_metadata *metadata)
{
    return cv_table_metadata_schema_by_id(metadata, metadata->current_schema_id);
}

const struct cv_partition_spec *
cv_table_metadata_spec_by_id(const struct cv_table_metadata *metadata, int32_t spec_id)
{
    for (size_t i = 0; i < metadata->spec_count; i++)
        if (metadata->specs[i].spec_id == spec_id)
            return &metadata->specs[i];
    return NULL;
}

const struct cv_partition_spec *cv_table_metadata_spec(const struct cv_table_metadata *metadata)
{
    return cv_table_metadata_spec_by_id(metadata, metadata->default_spec_id);
}

const struct cv_sort_order *cv_table_metadata_sort_order(const struct cv_table_metadata *metadata)
{
    for (size_t i = 0; i < metadata->sort_order_count; i++)
        if (metadata->sort_orders[i].order_id == metadata->default_sort_order_id)
            return &metadata->sort_orders[i];
    return NULL;
}

const struct cv_snapshot_ref *cv_table_metadata_ref(const struct cv_table_metadata *metadata,
                                                    const char *name)
{
    for (size_t i = 0; i < metadata->ref_count; i++)
        if (strcmp(metadata->refs[i].name, name) == 0)
            return &metadata->refs[i];
    return NULL;
}

const struct cv_snapshot *cv_table_metadata_head(const struct cv_table_metadata *metadata,
                                                 const char *branch)
{
    const struct cv_snapshot_ref *ref = cv_table_metadata_ref(metadata, branch);

    if (ref)
        return cv_table_metadata_snapshot(metadata, ref->snapshot_id);
    if (strcmp(branch, CV_MAIN_BRANCH) == 0)
        return cv_table_metadata_snapshot(metadata, metadata->current_snapshot_id);
    return NULL;
}

static enum cv_code check_new(const struct cv_table_metadata *metadata,
                              const struct cv_snapshot *snapshot, struct cv_error *err)
{
    if (snapshot->id <= 0 || cv_table_metadata_snapshot(metadata, snapshot->id))
        return cv_fail(err, CV_EXISTS, "snapshot id %lld is taken or not positive",
                       (long long)snapshot->id);
    if (metadata->format_version > 1 && snapshot->sequence_number <= metadata->last_sequence_number)
        return cv_fail(err, CV_CONFLICT,
                       "snapshot %lld has sequence number %lld, the table is at %lld",
                       (long long)snapshot->id, (long long)snapshot->sequence_number,
                       (long long)metadata->last_sequence_number);
    return CV_OK;
}

static void move_branch(struct cv_table_metadata *metadata, const char *branch,
                        const struct cv_snapshot *head)
{
    struct cv_snapshot_ref moved = {branch, head->id, false, -1, -1, -1};
    const struct cv_snapshot_ref *ref = cv_table_metadata_ref(metadata, branch);

    if (ref)
        moved = *ref;
    moved.snapshot_id = head->id;
    cv_table_metadata_put_ref(metadata, &moved);
    if (strcmp(branch, CV_MAIN_BRANCH) != 0)
        return;
    metadata->current_snapshot_id = head->id;
    cv_table_metadata_put_snapshot_log(metadata, head->timestamp_ms, head->id);
}

enum cv_code cv_table_metadata_stage_snapshot(struct cv_table_metadata *metadata,
                                              const struct cv_snapshot *snapshot,
                                              struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf json = CV_BUF_INIT(CV_METADATA_BYTES_MAX);
    struct cv_snapshot added = *snapshot;
    size_t log_count = metadata->snapshot_log_count;

    CV_DO(check_new(metadata, snapshot, err));
    added.timestamp_ms = CV_MAX(added.timestamp_ms, metadata->last_updated_ms);
    if (log_count)
        added.timestamp_ms =
            CV_MAX(added.timestamp_ms, metadata->snapshot_log[log_count - 1].timestamp_ms);
    if (metadata->format_version == 1)
        added.sequence_number = 0;
    cv_snapshot_write_json(&added, metadata->format_version, &json);
    CV_DO(cv_buf_check(&json, "a snapshot", err));
    added = cv_snapshot_pack(&added, (struct cv_str){(const char *)json.data, json.length});
    CV_DO(cv_table_metadata_put_snapshot(metadata, &added, err));
    metadata->last_sequence_number = added.sequence_number;
    metadata->last_updated_ms = added.timestamp_ms;
    return CV_OK;
}

enum cv_code cv_table_metadata_add_snapshot(struct cv_table_metadata *metadata,
                                            const struct cv_snapshot *snapshot, const char *branch,
                                            struct cv_error *err)
{
    const struct cv_snapshot_ref *ref = cv_table_metadata_ref(metadata, branch);

    if (ref && ref->is_tag) {
        (void)cv_fail(err, CV_CONFIG, "%s is a tag", branch);
        cv_hint(err, "name a branch: a tag stays at its snapshot");
        return CV_CONFIG;
    }
    CV_DO(cv_table_metadata_stage_snapshot(metadata, snapshot, err));
    move_branch(metadata, branch, &metadata->snapshots[metadata->snapshot_count - 1]);
    return CV_OK;
}

/* A value that is no number counts as absent: it concerns housekeeping only. */
static size_t previous_versions_max(const struct cv_table_metadata *metadata)
{
    int64_t count = PREVIOUS_VERSIONS_DEFAULT;

    (void)!cv_properties_get_i64(&metadata->properties, "write.metadata.previous-versions-max",
                                 INT32_MIN, INT32_MAX, &count, NULL);
    return (size_t)CV_MAX(count, 1);
}

void cv_table_metadata_log_base(struct cv_table_metadata *metadata, const char *base_file,
                                int64_t base_updated_ms, const char ***ret_dropped,
                                size_t *ret_dropped_count)
{
    size_t keep = previous_versions_max(metadata);
    const char **dropped;
    size_t drop;

    cv_table_metadata_put_metadata_log(metadata, base_updated_ms, base_file);
    drop = metadata->metadata_log_count > keep ? metadata->metadata_log_count - keep : 0;
    dropped = cv_arena_array(&metadata->arena, const char *, drop);
    for (size_t i = 0; i < drop; i++)
        dropped[i] = metadata->metadata_log[i].file;
    metadata->metadata_log_count -= drop;
    memmove(metadata->metadata_log, metadata->metadata_log + drop,
            metadata->metadata_log_count * sizeof *metadata->metadata_log);
    *ret_dropped = dropped;
    *ret_dropped_count = drop;
}
