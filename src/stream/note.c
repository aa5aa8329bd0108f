/* SPDX-License-Identifier: Apache-2.0
 *
 * What the engine notes in calve.json. */
#include "stream/engine_int.h"

#include <stdlib.h>

static int compare_fingerprints(const void *a, const void *b)
{
    const struct cv_fingerprint *left = a;
    const struct cv_fingerprint *right = b;
    int order = strcmp(left->topic, right->topic);

    if (order)
        return order;
    return (left->partition > right->partition) - (left->partition < right->partition);
}

/* The fresh fingerprints, and the old ones of partitions that had no record in this batch. */
static void keep_fingerprints(struct cv_engine *engine, struct cv_memo *memo)
{
    size_t fresh_count;
    const struct cv_fingerprint *fresh = cv_source_fingerprints(engine->source, &fresh_count);
    size_t most = fresh_count + engine->memo.fingerprint_count;
    struct cv_fingerprint *kept = cv_arena_array(&memo->arena, struct cv_fingerprint, most);
    size_t count = fresh_count;

    if (fresh_count)
        memcpy(kept, fresh, fresh_count * sizeof *kept);
    if (count)
        qsort(kept, count, sizeof *kept, compare_fingerprints);
    for (size_t i = 0; i < engine->memo.fingerprint_count; i++) {
        const struct cv_fingerprint *old = &engine->memo.fingerprints[i];

        if (!fresh_count || !bsearch(old, kept, fresh_count, sizeof *kept, compare_fingerprints))
            kept[count++] = *old;
    }
    if (count)
        qsort(kept, count, sizeof *kept, compare_fingerprints);
    memo->fingerprints = kept;
    memo->ends = cv_arena_array(&memo->arena, int64_t, count);
    for (size_t i = 0; i < count; i++) {
        const struct cv_offset *at =
            cv_offsets_find(&engine->position, kept[i].topic, kept[i].partition);

        if (!at)
            continue;
        kept[memo->fingerprint_count] = kept[i];
        kept[memo->fingerprint_count].topic = cv_arena_strdup(&memo->arena, kept[i].topic);
        memo->ends[memo->fingerprint_count++] = at->offset;
    }
}

void cv_engine_fill_memo(struct cv_engine *engine, int64_t batch, struct cv_memo *memo)
{
    const struct cv_memo *old = &engine->memo;
    struct cv_arena *arena = &memo->arena;

    memo->present = true;
    memo->batch = batch;
    memo->snapshot_id = old->snapshot_id;
    memo->snapshot_epoch = old->snapshot_epoch;
    memo->totals = old->totals;
    memo->job = cv_arena_strdup(arena, engine->job->options.job);
    memo->table = cv_arena_strdup(arena, engine->job->sink.table);
    memo->table_uuid = cv_arena_strdup(arena, engine->table->metadata->table_uuid);
    memo->cluster_id = cv_arena_strdup(arena, cv_source_cluster_id(engine->source));
    memo->replaced_query = cv_arena_strdup(arena, old->replaced_query ? old->replaced_query : "");
    memo->starting = old->starting && old->starting[0]
                         ? cv_arena_strdup(arena, old->starting)
                         : cv_starting_options(&engine->job->source, arena);
}

void cv_engine_take_memo(struct cv_engine *engine, struct cv_memo *memo)
{
    cv_memo_release(&engine->memo);
    engine->memo = *memo;
    *memo = (struct cv_memo){0};
}

enum cv_code cv_engine_write_memo(struct cv_engine *engine, int64_t batch, int64_t snapshot_id,
                                  struct cv_error *err)
{
    struct cv_memo memo = {0};

    cv_engine_fill_memo(engine, batch, &memo);
    if (snapshot_id >= 0) {
        memo.snapshot_id = snapshot_id;
        memo.snapshot_epoch = batch;
    }
    keep_fingerprints(engine, &memo);
    cv_engine_take_memo(engine, &memo);
    return cv_checkpoint_write_memo(&engine->checkpoint, &engine->memo, err);
}
