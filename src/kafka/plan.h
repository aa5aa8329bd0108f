/* SPDX-License-Identifier: Apache-2.0
 *
 * Spark's arithmetic of a micro-batch as pure functions: no broker, no clock. */
#ifndef CALVE_KAFKA_PLAN_H
#define CALVE_KAFKA_PLAN_H

#include "kafka/source.h"

/* Shares `limit` over the partitions in proportion to what each has waiting: end = begin + share.
 * `begin` must hold every partition of `latest`. Replaces *ret_end. */
void cv_plan_share_limit(const struct cv_offsets *begin, const struct cv_offsets *latest,
                         int64_t limit, struct cv_offsets *ret_end);

/* When the last batch was not delayed, for maxTriggerDelay; all-zero lets the first one run. */
struct cv_trigger_clock {
    int64_t last_us;
};

/* True if the batch waits for more records (minOffsetsPerTrigger). Moves the clock when not. */
bool cv_plan_is_delayed(struct cv_trigger_clock *clock, int64_t now_us, int64_t max_delay_us,
                        int64_t min_offsets, const struct cv_offsets *start,
                        const struct cv_offsets *latest);

/* Latest offsets that fell below what the query has read already; NULL when there are none. */
const struct cv_offset *cv_plan_find_shrunk(const struct cv_offsets *start,
                                            const struct cv_offsets *latest);

/* How a loss is dealt with, and what is known beyond the offsets. */
struct cv_plan_policy {
    const struct cv_offsets *recreated; /* partitions of a new topic by that name; may be NULL */
    bool fail_on_data_loss;
    bool has_group_id;
    void (*warn)(void *context, const char *message);
    void *warn_context;
};
/* Applies failOnDataLoss to the differences between the known start, the listing and the earliest
 * offsets. `earliest` holds at least the partitions that `start` lacks, those whose latest is below
 * the start and the recreated ones. Fills ret_start with the effective start of every listed
 * partition. */
enum cv_code cv_plan_resolve_start(const struct cv_plan_policy *policy,
                                   const struct cv_offsets *start, const struct cv_offsets *latest,
                                   const struct cv_offsets *earliest, struct cv_offsets *ret_start,
                                   uint64_t *ret_lost, struct cv_error *err);

/* AvailableNow: the ends that were fixed at the start must still be reachable. */
enum cv_code cv_plan_check_bound(const struct cv_offsets *start, const struct cv_offsets *bound,
                                 const struct cv_offsets *latest, struct cv_error *err);

/* Starting offsets of the job file against what exists: all assigned partitions and no other. */
enum cv_code cv_plan_check_listed(const char *option, const struct cv_offsets *given,
                                  const struct cv_offsets *existing, struct cv_error *err);

#endif
