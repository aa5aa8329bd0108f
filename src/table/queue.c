/* SPDX-License-Identifier: Apache-2.0
 *
 * The commit queue: one holder at a time, appends first. */
#include "table/queue.h"

#include <pthread.h>
#include <stdlib.h>

struct cv_commit_queue {
    pthread_mutex_t lock;
    pthread_cond_t left;
    bool held;
    size_t appends_waiting;
    uint64_t commits;
};

struct cv_commit_queue *cv_commit_queue_new(void)
{
    struct cv_commit_queue *queue = cv_alloc(sizeof *queue);

    (void)pthread_mutex_init(&queue->lock, NULL);
    (void)pthread_cond_init(&queue->left, NULL);
    return queue;
}

void cv_commit_queue_free(struct cv_commit_queue *queue)
{
    if (!queue)
        return;
    (void)pthread_cond_destroy(&queue->left);
    (void)pthread_mutex_destroy(&queue->lock);
    free(queue);
}

void cv_commit_queue_enter(struct cv_commit_queue *queue, enum cv_commit_class commit_class)
{
    bool append = commit_class == CV_COMMIT_APPEND;

    if (!queue)
        return;
    (void)pthread_mutex_lock(&queue->lock);
    queue->appends_waiting += append;
    while (queue->held || (!append && queue->appends_waiting))
        (void)pthread_cond_wait(&queue->left, &queue->lock);
    queue->appends_waiting -= append;
    queue->held = true;
    (void)pthread_mutex_unlock(&queue->lock);
}

void cv_commit_queue_leave(struct cv_commit_queue *queue)
{
    if (!queue)
        return;
    (void)pthread_mutex_lock(&queue->lock);
    queue->held = false;
    (void)pthread_cond_broadcast(&queue->left);
    (void)pthread_mutex_unlock(&queue->lock);
}

uint64_t cv_commit_queue_count(struct cv_commit_queue *queue, bool add)
{
    uint64_t count;

    if (!queue)
        return 0;
    (void)pthread_mutex_lock(&queue->lock);
    queue->commits += add;
    count = queue->commits;
    (void)pthread_mutex_unlock(&queue->lock);
    return count;
}
