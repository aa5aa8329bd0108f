/* SPDX-License-Identifier: Apache-2.0
 *
 * The commit queue of one table in one process: the running stream and its maintenance pass through
 * it, so that they never lose to each other. An append holds the queue from reading the table to
 * the swap. A rewrite prepares its manifests outside and holds it only to look whether its base is
 * still the newest and to swap; when an append went by it rebases on that (its own manifests are
 * kept) and comes again, after CV_QUEUE_OVERTAKEN_MAX times holding the queue for the whole
 * attempt. An append that waits goes before every rewrite. Any thread. */
#ifndef CALVE_TABLE_QUEUE_H
#define CALVE_TABLE_QUEUE_H

#include "base/memory.h"

#include <stdint.h>

#define CV_QUEUE_OVERTAKEN_MAX 8

enum cv_commit_class {
    CV_COMMIT_APPEND,
    CV_COMMIT_MAINTENANCE,
};

struct cv_commit_queue;
struct cv_commit_queue *cv_commit_queue_new(void);
void cv_commit_queue_free(struct cv_commit_queue *queue);
CV_DEFINE_CLEANUP(struct cv_commit_queue *, cv_commit_queue_free)

/* NULL queue: nothing to wait for. */
void cv_commit_queue_enter(struct cv_commit_queue *queue, enum cv_commit_class commit_class);
void cv_commit_queue_leave(struct cv_commit_queue *queue);
/* Commits through this queue: whoever holds it counts its own, and sees whether others were. 0
 * without a queue. */
uint64_t cv_commit_queue_count(struct cv_commit_queue *queue, bool add);

#endif
