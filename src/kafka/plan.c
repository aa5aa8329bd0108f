/* SPDX-License-Identifier: Apache-2.0
 *
 * Batch arithmetic and the data-loss table. Every error carries the class name that Spark's users
 * search for (KAFKA_DATA_LOSS.…). */
#include "kafka/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LOSS_HINT                                                                                  \
    "set failOnDataLoss: false to go on with what is still there; the loss is then counted"

void cv_plan_release(struct cv_plan *plan)
{
    if (!plan)
        return;
    cv_offsets_release(&plan->start);
    cv_offsets_release(&plan->end);
    cv_offsets_release(&plan->latest);
    memset(plan, 0, sizeof *plan);
}

static int64_t waiting(const struct cv_offsets *begin, const struct cv_offset *latest)
{
    const struct cv_offset *from = cv_offsets_find(begin, latest->topic, latest->partition);

    return from && latest->offset > from->offset ? latest->offset - from->offset : 0;
}

void cv_plan_share_limit(const struct cv_offsets *begin, const struct cv_offsets *latest,
                         int64_t limit, struct cv_offsets *ret_end)
{
    double total = 0;

    for (size_t i = 0; i < latest->count; i++)
        total += (double)waiting(begin, &latest->items[i]);
    cv_offsets_copy(ret_end, latest);
    if (total < 1)
        return;
    for (size_t i = 0; i < ret_end->count; i++) {
        struct cv_offset *end = &ret_end->items[i];
        int64_t size = waiting(begin, end);
        double share = (double)limit * ((double)size / total);

        if (size == 0)
            continue;
        /* A small partition always moves on: shares below one are rounded up. */
        share = share < 1 ? ceil(share) : floor(share);
        if (share < (double)size)
            end->offset = end->offset - size + (int64_t)share;
    }
}

bool cv_plan_is_delayed(struct cv_trigger_clock *clock, int64_t now_us, int64_t max_delay_us,
                        int64_t min_offsets, const struct cv_offsets *start,
                        const struct cv_offsets *latest)
{
    double fresh = 0;

    if (now_us - clock->last_us < max_delay_us) {
        for (size_t i = 0; i < latest->count; i++) {
            const struct cv_offset *end = &latest->items[i];
            const struct cv_offset *from = cv_offsets_find(start, end->topic, end->partition);

            fresh += (double)(end->offset - (from ? from->offset : 0));
        }
        if (fresh < (double)min_offsets)
            return true;
    }
    clock->last_us = now_us;
    return false;
}

const struct cv_offset *cv_plan_find_shrunk(const struct cv_offsets *start,
                                            const struct cv_offsets *latest)
{
    for (size_t i = 0; i < latest->count; i++) {
        const struct cv_offset *end = &latest->items[i];
        const struct cv_offset *from = cv_offsets_find(start, end->topic, end->partition);

        if (from && end->offset < from->offset)
            return end;
    }
    return NULL;
}

/* Fails, or warns and goes on, as failOnDataLoss says. */
static enum cv_code lose(const struct cv_plan_policy *policy, struct cv_error *err,
                         const char *format, ...) CV_PRINTF(3, 4);
static enum cv_code lose(const struct cv_plan_policy *policy, struct cv_error *err,
                         const char *format, ...)
{
    char text[CV_ERROR_MESSAGE_BYTES / 2];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (policy->fail_on_data_loss) {
        (void)cv_fail(err, CV_DATA_LOSS, "%s", text);
        cv_hint(err, LOSS_HINT);
        return CV_DATA_LOSS;
    }
    if (policy->warn)
        policy->warn(policy->warn_context, text);
    return CV_OK;
}

static enum cv_code resolve_new(const struct cv_plan_policy *policy, const struct cv_offset *item,
                                const struct cv_offsets *earliest, struct cv_offsets *ret_start,
                                uint64_t *lost, struct cv_error *err)
{
    const struct cv_offset *first = cv_offsets_find(earliest, item->topic, item->partition);

    if (!first)
        return lose(policy, err,
                    "KAFKA_DATA_LOSS.INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS: %s[%" PRId32
                    "] is new and was gone before its first offset was read",
                    item->topic, item->partition);
    if (first->offset > 0) {
        CV_DO(lose(policy, err,
                   "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO: new partition "
                   "%s[%" PRId32 "] starts at %" PRId64 ", records before it are gone",
                   item->topic, item->partition, first->offset));
        *lost += (uint64_t)first->offset;
    }
    cv_offsets_set(ret_start, item->topic, item->partition, first->offset);
    return CV_OK;
}

/* The topic was made anew: the partition ends before what was read, or holds other records. What
 * the new one holds has not been read, so it is read from its beginning. */
static enum cv_code resolve_shrunk(const struct cv_plan_policy *policy,
                                   const struct cv_offset *item, const struct cv_offset *from,
                                   const struct cv_offsets *earliest, struct cv_offsets *ret_start,
                                   struct cv_error *err)
{
    const struct cv_offset *first = cv_offsets_find(earliest, item->topic, item->partition);

    if (item->offset < from->offset)
        CV_DO(lose(policy, err,
                   "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED: %s[%" PRId32
                   "] was read up to %" PRId64 " but ends at %" PRId64
                   " now; the topic was probably deleted and created again",
                   item->topic, item->partition, from->offset, item->offset));
    else
        CV_DO(lose(policy, err,
                   "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED: the last record of %s[%" PRId32
                   "] read before %" PRId64 " is another one now; the topic was deleted and "
                   "created again",
                   item->topic, item->partition, from->offset));
    cv_offsets_set(ret_start, item->topic, item->partition,
                   first ? CV_MIN(first->offset, item->offset) : item->offset);
    return CV_OK;
}

static enum cv_code check_deleted(const struct cv_plan_policy *policy,
                                  const struct cv_offsets *start, const struct cv_offsets *latest,
                                  struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf names = CV_BUF_INIT(512);
    size_t count = 0;

    for (size_t i = 0; i < start->count; i++) {
        const struct cv_offset *item = &start->items[i];

        if (cv_offsets_find(latest, item->topic, item->partition))
            continue;
        if (count++ < 5)
            cv_buf_printf(&names, "%s%s[%" PRId32 "]@%" PRId64, count > 1 ? ", " : "", item->topic,
                          item->partition, item->offset);
    }
    if (count == 0)
        return CV_OK;
    return lose(policy, err,
                "KAFKA_DATA_LOSS.PARTITIONS_DELETED%s: %zu partition%s known to the query %s no "
                "longer there: %s%s",
                policy->has_group_id ? "_AND_GROUP_ID_CONFIG_PRESENT" : "", count,
                count == 1 ? "" : "s", count == 1 ? "is" : "are", cv_buf_text(&names),
                count > 5 ? ", …" : "");
}

static bool is_recreated(const struct cv_plan_policy *policy, const struct cv_offset *item)
{
    return policy->recreated && cv_offsets_find(policy->recreated, item->topic, item->partition);
}

enum cv_code cv_plan_resolve_start(const struct cv_plan_policy *policy,
                                   const struct cv_offsets *start, const struct cv_offsets *latest,
                                   const struct cv_offsets *earliest, struct cv_offsets *ret_start,
                                   uint64_t *ret_lost, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets effective = {0};
    uint64_t lost = 0;

    CV_DO(check_deleted(policy, start, latest, err));
    for (size_t i = 0; i < latest->count; i++) {
        const struct cv_offset *item = &latest->items[i];
        const struct cv_offset *from = cv_offsets_find(start, item->topic, item->partition);

        if (!from)
            CV_DO(resolve_new(policy, item, earliest, &effective, &lost, err));
        else if (item->offset < from->offset || is_recreated(policy, item))
            CV_DO(resolve_shrunk(policy, item, from, earliest, &effective, err));
        else
            cv_offsets_set(&effective, item->topic, item->partition, from->offset);
    }
    cv_offsets_copy(ret_start, &effective);
    *ret_lost = lost;
    return CV_OK;
}

enum cv_code cv_plan_check_bound(const struct cv_offsets *start, const struct cv_offsets *bound,
                                 const struct cv_offsets *latest, struct cv_error *err)
{
    for (size_t i = 0; i < start->count; i++) {
        const struct cv_offset *item = &start->items[i];
        const struct cv_offset *limit = cv_offsets_find(bound, item->topic, item->partition);

        if (!limit)
            return cv_fail(
                err, CV_DATA_LOSS,
                "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED: %s[%" PRId32
                "] was not there when the run fixed its end",
                item->topic, item->partition);
        if (item->offset > limit->offset)
            return cv_fail(
                err, CV_DATA_LOSS,
                "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_PREFETCHED: %s[%" PRId32
                "] was read up to %" PRId64 ", beyond the fixed end %" PRId64,
                item->topic, item->partition, item->offset, limit->offset);
    }
    for (size_t i = 0; i < bound->count; i++) {
        const struct cv_offset *item = &bound->items[i];
        const struct cv_offset *now = cv_offsets_find(latest, item->topic, item->partition);

        if (!now)
            return cv_fail(
                err, CV_DATA_LOSS,
                "LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW: %s[%" PRId32
                "] is no longer there",
                item->topic, item->partition);
        if (item->offset > now->offset)
            return cv_fail(err, CV_DATA_LOSS,
                           "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_LATEST_WITH_"
                           "TRIGGER_AVAILABLENOW: %s[%" PRId32 "] ends at %" PRId64
                           ", before the fixed end %" PRId64,
                           item->topic, item->partition, now->offset, item->offset);
    }
    return CV_OK;
}

enum cv_code cv_plan_check_listed(const char *option, const struct cv_offsets *given,
                                  const struct cv_offsets *existing, struct cv_error *err)
{
    for (size_t i = 0; i < existing->count; i++) {
        const struct cv_offset *item = &existing->items[i];

        if (!cv_offsets_find(given, item->topic, item->partition))
            return cv_fail(err, CV_CONFIG,
                           "source.%s: every partition must be listed, %s[%" PRId32 "] is missing",
                           option, item->topic, item->partition);
    }
    for (size_t i = 0; i < given->count; i++) {
        const struct cv_offset *item = &given->items[i];

        if (!cv_offsets_find(existing, item->topic, item->partition))
            return cv_fail(err, CV_CONFIG,
                           "source.%s: %s[%" PRId32 "] is listed but is not a partition of the "
                           "subscription",
                           option, item->topic, item->partition);
    }
    return CV_OK;
}
