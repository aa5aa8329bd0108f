/* SPDX-License-Identifier: Apache-2.0
 *
 * At start: is each topic still the one that was read before? */
#include "stream/engine_int.h"

#include "base/log.h"

#include <stdlib.h>

static void drop_topic(struct cv_offsets *offsets, const char *topic)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets kept = {0};

    for (size_t i = 0; i < offsets->count; i++)
        if (strcmp(offsets->items[i].topic, topic) != 0)
            cv_offsets_set(&kept, offsets->items[i].topic, offsets->items[i].partition,
                           offsets->items[i].offset);
    cv_offsets_copy(offsets, &kept);
}

static void drop_fingerprints(struct cv_memo *memo, const char *topic)
{
    size_t kept = 0;

    for (size_t i = 0; i < memo->fingerprint_count; i++) {
        if (strcmp(memo->fingerprints[i].topic, topic) == 0)
            continue;
        memo->fingerprints[kept] = memo->fingerprints[i];
        memo->ends[kept++] = memo->ends[i];
    }
    memo->fingerprint_count = kept;
}

void cv_engine_forget_recreated(struct cv_engine *engine)
{
    for (size_t i = 0; i < engine->recreated.count; i++) {
        drop_topic(&engine->position, engine->recreated.items[i].topic);
        drop_fingerprints(&engine->memo, engine->recreated.items[i].topic);
    }
    cv_offsets_clear(&engine->recreated);
}

/* The batch to redo was planned on the old topic, of which nothing is left to read: it keeps its
 * logged end, and the new topic is read by the batch after it. */
static void note_recreated(struct cv_engine *engine, const char *topic)
{
    for (size_t i = 0; i < engine->redo_end.count; i++) {
        const struct cv_offset *end = &engine->redo_end.items[i];

        if (engine->redo && strcmp(end->topic, topic) == 0)
            cv_offsets_set(&engine->position, topic, end->partition, end->offset);
    }
    cv_offsets_set(&engine->recreated, topic, 0, 0);
}

/* A topic created anew under its old name has other records at the remembered offsets. */
static enum cv_code check_topic(struct cv_engine *engine, const char *topic,
                                const struct cv_fingerprint *fingerprints, size_t count,
                                struct cv_error *err)
{
    const char *what = "";
    bool same = true;

    CV_TRY(cv_source_verify_fingerprints(engine->source, fingerprints, count, &same, &what, err),
           err, "looking whether topic %s is still the same", topic);
    if (same)
        return CV_OK;
    if (engine->job->source.fail_on_data_loss) {
        (void)cv_fail(err, CV_CONTRADICTION, "topic %s was created anew since the last run: %s",
                      topic, what);
        cv_hint(err, "failOnDataLoss: false reads the new topic from its beginning; "
                     "--resume-from=checkpoint goes on at the old offsets, --resume-from=start "
                     "reads every topic again");
        return CV_CONTRADICTION;
    }
    cv_log_warning("topic %s was created anew since the last run (%s): it is read from its "
                   "beginning",
                   topic, what);
    note_recreated(engine, topic);
    return CV_OK;
}

/* Those fingerprints that were taken where the run goes on. */
static size_t current_fingerprints(struct cv_engine *engine, struct cv_fingerprint *current)
{
    const struct cv_memo *memo = &engine->memo;
    size_t count = 0;

    for (size_t i = 0; i < memo->fingerprint_count; i++) {
        const struct cv_fingerprint *f = &memo->fingerprints[i];
        const struct cv_offset *at = cv_offsets_find(&engine->position, f->topic, f->partition);

        if (at && at->offset == memo->ends[i])
            current[count++] = *f;
    }
    return count;
}

enum cv_code cv_engine_check_topics(struct cv_engine *engine, struct cv_error *err)
{
    CV_CLEANUP(cv_freep)
    struct cv_fingerprint *current = cv_alloc(engine->memo.fingerprint_count * sizeof *current);
    size_t count = current_fingerprints(engine, current);
    size_t first = 0;

    while (first < count) {
        size_t end = first + 1;

        while (end < count && strcmp(current[end].topic, current[first].topic) == 0)
            end++;
        CV_DO(check_topic(engine, current[first].topic, current + first, end - first, err));
        first = end;
    }
    if (!engine->redo)
        cv_engine_forget_recreated(engine);
    return CV_OK;
}
