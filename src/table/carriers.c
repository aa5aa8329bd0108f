/* SPDX-License-Identifier: Apache-2.0
 *
 * Which snapshots carry the positions of streams, and carrying calve's forward. Expiry keeps the
 * newest carriers, since every stream finds in them, at its next start, what is in the table. */
#include "base/map.h"
#include "table/expire.h"
#include "table/position_int.h"

#include <stdio.h>
#include <stdlib.h>

/* Kafka Connect: <control topic>.<group> follows. */
#define CONNECT_OFFSETS_KEY "kafka.connect.offsets."

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

/* Spark's look-back is by query id, Flink's by job and operator. */
static void see_pair(struct carriers *c, const struct cv_snapshot *snapshot, const char *key,
                     const char *second_key, const char *epoch_key)
{
    const char *first = cv_properties_get(&snapshot->summary, key);
    const char *second = second_key ? cv_properties_get(&snapshot->summary, second_key) : NULL;

    if (first && cv_properties_get(&snapshot->summary, epoch_key))
        see(c, snapshot, cv_arena_printf(c->arena, "%s=%s,%s", key, first, second ? second : ""));
}

static void see_snapshot(struct carriers *c, const struct cv_snapshot *snapshot)
{
    see_pair(c, snapshot, CV_QUERY_ID_KEY, NULL, CV_EPOCH_ID_KEY);
    see_pair(c, snapshot, "flink.job-id", "flink.operator-id", "flink.max-committed-checkpoint-id");
    for (size_t i = 0; i < snapshot->summary.count; i++) {
        const char *key = snapshot->summary.items[i].key;

        if (cv_text_starts_with(key, CV_POSITION_KEY) ||
            cv_text_starts_with(key, CONNECT_OFFSETS_KEY))
            see(c, snapshot, key);
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

static void carry_query(const struct cv_snapshot *snapshot, struct cv_carried_positions *carried)
{
    const char *query_id = cv_properties_get(&snapshot->summary, CV_QUERY_ID_KEY);
    const char *epoch_id = cv_properties_get(&snapshot->summary, CV_EPOCH_ID_KEY);

    if (carried->query_id || !query_id || !epoch_id)
        return;
    carried->query_id = cv_arena_strdup(&carried->arena, query_id);
    carried->epoch_id = cv_arena_strdup(&carried->arena, epoch_id);
}

enum cv_code cv_position_carry(struct cv_table *table, const struct cv_table_metadata *metadata,
                               struct cv_carried_positions *carried, struct cv_error *err)
{
    struct cv_history history = cv_position_history(metadata, cv_table_branch(table));
    CV_CLEANUP(cv_freep) struct cv_carried_position *items = NULL;
    const struct cv_snapshot *snapshot;
    size_t capacity = 0;
    size_t count = 0;
    bool has_all = false;

    carried->query_id = carried->epoch_id = NULL;
    while (!has_all && (snapshot = cv_history_next(&history))) {
        carry_query(snapshot, carried);
        for (size_t i = 0; i < snapshot->summary.count; i++) {
            const struct cv_property *item = &snapshot->summary.items[i];

            if (!cv_text_starts_with(item->key, CV_POSITION_KEY) || find(items, count, item->key))
                continue;
            cv_array_reserve(&items, &capacity, count + 1);
            CV_DO(read_carried(table, snapshot, item, carried, &items[count], err));
            count++;
        }
        has_all = cv_properties_get(&snapshot->summary, CV_POSITIONS_KEY) != NULL;
    }
    replace_carried(carried, items, count);
    return CV_OK;
}

void cv_position_put_carried(const struct cv_carried_positions *carried,
                             struct cv_properties *summary)
{
    char count[24];

    (void)snprintf(count, sizeof count, "%zu", carried->count);
    cv_properties_set(summary, CV_POSITIONS_KEY, count);
    for (size_t i = 0; i < carried->count; i++)
        cv_properties_set(summary, carried->items[i].key, carried->items[i].summary);
    if (!carried->query_id)
        return;
    cv_properties_set(summary, CV_QUERY_ID_KEY, carried->query_id);
    cv_properties_set(summary, CV_EPOCH_ID_KEY, carried->epoch_id);
}

void cv_carried_positions_release(struct cv_carried_positions *carried)
{
    cv_arena_release(&carried->arena);
}
