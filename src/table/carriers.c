/* SPDX-License-Identifier: Apache-2.0
 *
 * Which snapshots carry the positions of streams, and carrying them forward. Expiry keeps the
 * newest carriers, since every stream finds in them, at its next start, what is in the table. */
#include "base/map.h"
#include "codec/json.h"
#include "table/expire.h"
#include "table/position_int.h"

#include <stdio.h>
#include <stdlib.h>

/* Kafka Connect: offsets.<control topic>.<group>, commit-id, valid-through-ts follow. */
#define CONNECT_KEY         "kafka.connect."
#define CONNECT_OFFSETS_KEY "kafka.connect.offsets."

/* What Spark and Flink look back for. A snapshot has one of each at most. */
static const char *const spark_keys[] = {CV_QUERY_ID_KEY, CV_EPOCH_ID_KEY, NULL};
static const char *const flink_keys[] = {"flink.job-id", "flink.max-committed-checkpoint-id",
                                         "flink.operator-id", NULL};

struct carriers {
    struct cv_map seen; /* streams of one branch */
    struct cv_arena *arena;
    int64_t *ids;
    size_t count, capacity;
};

static void see(struct carriers *c, const struct cv_snapshot *snapshot, const char *stream)
{
    if (cv_map_set(&c->seen, stream, strlen(stream), c))
        return;
    if (c->count && c->ids[c->count - 1] == snapshot->id)
        return;
    cv_array_reserve(&c->ids, &c->capacity, c->count + 1);
    c->ids[c->count++] = snapshot->id;
}

static void see_query(struct carriers *c, const struct cv_snapshot *snapshot, const char *query_id)
{
    see(c, snapshot, cv_arena_printf(c->arena, CV_QUERY_ID_KEY "=%s", query_id));
}

/* A job's position names its query too. */
static void see_position(struct carriers *c, const struct cv_snapshot *snapshot,
                         const struct cv_property *item)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *json = NULL;
    const char *query_id;

    see(c, snapshot, item->key);
    if (cv_json_parse(item->value, strlen(item->value), &json, NULL) == CV_OK &&
        cv_json_read_string(json, "queryId", &query_id, NULL) == CV_OK)
        see_query(c, snapshot, query_id);
}

/* Spark's look-back is by query id, Flink's by job and operator. */
static void see_snapshot(struct carriers *c, const struct cv_snapshot *snapshot)
{
    const struct cv_properties *summary = &snapshot->summary;

    if (cv_properties_get(summary, spark_keys[0]) && cv_properties_get(summary, spark_keys[1]))
        see_query(c, snapshot, cv_properties_get(summary, spark_keys[0]));
    if (cv_properties_get(summary, flink_keys[0]) && cv_properties_get(summary, flink_keys[1]))
        see(c, snapshot,
            cv_arena_printf(c->arena, "flink=%s,%s", cv_properties_get(summary, flink_keys[0]),
                            cv_properties_get_or(summary, flink_keys[2], "")));
    for (size_t i = 0; i < summary->count; i++) {
        if (cv_text_starts_with(summary->items[i].key, CV_POSITION_KEY))
            see_position(c, snapshot, &summary->items[i]);
        else if (cv_text_starts_with(summary->items[i].key, CONNECT_OFFSETS_KEY))
            see(c, snapshot, summary->items[i].key);
    }
}

void cv_table_position_carriers(const struct cv_table_metadata *metadata, struct cv_arena *arena,
                                int64_t **ret_ids, size_t *ret_count)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    struct carriers c = {.arena = &scratch};

    for (size_t i = 0; i < metadata->ref_count; i++) {
        struct cv_history history = cv_position_history(metadata, metadata->refs[i].name);
        const struct cv_snapshot *snapshot;

        if (metadata->refs[i].is_tag)
            continue;
        while ((snapshot = cv_history_next(&history)))
            see_snapshot(&c, snapshot);
        cv_map_release(&c.seen);
        c.seen = (struct cv_map){0};
    }
    *ret_ids = cv_arena_copy(arena, c.ids, c.count * sizeof *c.ids);
    *ret_count = c.count;
    free(c.ids);
}

static const struct cv_carried_position *find(const struct cv_carried_position *items, size_t count,
                                              const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(items[i].key, key) == 0)
            return &items[i];
    return NULL;
}

/* The summary has a hash of long offsets: the same text stands for the same position. */
static enum cv_code read_carried(struct cv_table *table, const struct cv_snapshot *snapshot,
                                 const struct cv_property *item,
                                 struct cv_carried_positions *carried,
                                 struct cv_carried_position *ret_position, struct cv_error *err)
{
    const struct cv_carried_position *old = find(carried->items, carried->count, item->key);
    struct cv_arena *arena = &carried->arena;

    if (old && strcmp(old->summary, item->value) == 0) {
        *ret_position = *old;
        return CV_OK;
    }
    *ret_position = (struct cv_carried_position){
        .key = cv_arena_strdup(arena, item->key),
        .summary = cv_arena_strdup(arena, item->value),
    };
    if (strstr(item->value, "\"offsetsHash\""))
        CV_TRY(cv_position_read_long(table, snapshot, item->key, arena, &ret_position->full, err),
               err, "snapshot %lld: %s", (long long)snapshot->id, item->key);
    return CV_OK;
}

static void replace_carried(struct cv_carried_positions *carried,
                            const struct cv_carried_position *items, size_t count)
{
    carried->items = cv_arena_copy(&carried->arena, items, count * sizeof *items);
    carried->count = count;
    carried->extra = cv_arena_array(&carried->arena, struct cv_avro_metadata, count);
    carried->extra_count = 0;
    for (size_t i = 0; i < count; i++)
        if (items[i].full.ptr)
            carried->extra[carried->extra_count++] =
                (struct cv_avro_metadata){items[i].key, items[i].full};
}

struct carrying {
    struct cv_table *table;
    struct cv_carried_positions *carried;
    struct cv_carried_position *items;
    size_t count, capacity;
};

static enum cv_code carry_item(struct carrying *c, const struct cv_snapshot *snapshot,
                               const struct cv_property *item, struct cv_error *err)
{
    if (find(c->items, c->count, item->key))
        return CV_OK;
    cv_array_reserve(&c->items, &c->capacity, c->count + 1);
    CV_DO(read_carried(c->table, snapshot, item, c->carried, &c->items[c->count], err));
    c->count++;
    return CV_OK;
}

/* All of one writer's keys, from the newest snapshot that has them. */
static enum cv_code carry_keys(struct carrying *c, const struct cv_snapshot *snapshot,
                               const char *const *keys, struct cv_error *err)
{
    if (find(c->items, c->count, keys[0]) || !cv_properties_get(&snapshot->summary, keys[1]))
        return CV_OK;
    for (; *keys; keys++) {
        const struct cv_property item = {(char *)*keys,
                                         (char *)cv_properties_get(&snapshot->summary, *keys)};

        if (item.value)
            CV_DO(carry_item(c, snapshot, &item, err));
    }
    return CV_OK;
}

static enum cv_code carry_snapshot(struct carrying *c, const struct cv_snapshot *snapshot,
                                   struct cv_error *err)
{
    CV_DO(carry_keys(c, snapshot, spark_keys, err));
    CV_DO(carry_keys(c, snapshot, flink_keys, err));
    for (size_t i = 0; i < snapshot->summary.count; i++) {
        const struct cv_property *item = &snapshot->summary.items[i];

        if (cv_text_starts_with(item->key, CV_POSITION_KEY) ||
            cv_text_starts_with(item->key, CONNECT_KEY))
            CV_DO(carry_item(c, snapshot, item, err));
    }
    return CV_OK;
}

enum cv_code cv_position_carry(struct cv_table *table, const struct cv_table_metadata *metadata,
                               struct cv_carried_positions *carried, struct cv_error *err)
{
    struct cv_history history = cv_position_history(metadata, cv_table_branch(table));
    struct carrying c = {.table = table, .carried = carried};
    const struct cv_snapshot *snapshot;
    enum cv_code code = CV_OK;
    bool has_all = false;

    while (code == CV_OK && !has_all && (snapshot = cv_history_next(&history))) {
        code = carry_snapshot(&c, snapshot, err);
        has_all = cv_properties_get(&snapshot->summary, CV_POSITIONS_KEY) != NULL;
    }
    if (code == CV_OK)
        replace_carried(carried, c.items, c.count);
    free(c.items);
    return code;
}

void cv_position_put_carried(const struct cv_carried_positions *carried,
                             struct cv_properties *summary)
{
    size_t jobs = 0;
    char count[24];

    for (size_t i = 0; i < carried->count; i++) {
        jobs += cv_text_starts_with(carried->items[i].key, CV_POSITION_KEY);
        cv_properties_set(summary, carried->items[i].key, carried->items[i].summary);
    }
    (void)snprintf(count, sizeof count, "%zu", jobs);
    cv_properties_set(summary, CV_POSITIONS_KEY, count);
}

void cv_carried_positions_release(struct cv_carried_positions *carried)
{
    cv_arena_release(&carried->arena);
}
