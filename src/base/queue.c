/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounded queue: a ring under one lock. */
#include "base/queue.h"

#include <stdlib.h>

void cv_queue_init(struct cv_queue *queue, size_t capacity)
{
    *queue = (struct cv_queue){.capacity = capacity};
    queue->items = cv_alloc(capacity * sizeof *queue->items);
    (void)pthread_mutex_init(&queue->lock, NULL);
    (void)pthread_cond_init(&queue->not_empty, NULL);
    (void)pthread_cond_init(&queue->not_full, NULL);
}

void cv_queue_release(struct cv_queue *queue)
{
    if (!queue->items)
        return;
    free(queue->items);
    queue->items = NULL;
    (void)pthread_mutex_destroy(&queue->lock);
    (void)pthread_cond_destroy(&queue->not_empty);
    (void)pthread_cond_destroy(&queue->not_full);
}

bool cv_queue_push(struct cv_queue *queue, void *item)
{
    bool open;

    (void)pthread_mutex_lock(&queue->lock);
    while (!queue->closed && queue->count == queue->capacity)
        (void)pthread_cond_wait(&queue->not_full, &queue->lock);
    open = !queue->closed;
    if (open) {
        queue->items[(queue->first + queue->count) % queue->capacity] = item;
        queue->count++;
        (void)pthread_cond_signal(&queue->not_empty);
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return open;
}

void *cv_queue_pop(struct cv_queue *queue)
{
    void *item = NULL;

    (void)pthread_mutex_lock(&queue->lock);
    while (!queue->closed && queue->count == 0)
        (void)pthread_cond_wait(&queue->not_empty, &queue->lock);
    if (queue->count) {
        item = queue->items[queue->first];
        queue->first = (queue->first + 1) % queue->capacity;
        queue->count--;
        (void)pthread_cond_signal(&queue->not_full);
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return item;
}

void cv_queue_close(struct cv_queue *queue)
{
    (void)pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    (void)pthread_cond_broadcast(&queue->not_empty);
    (void)pthread_cond_broadcast(&queue->not_full);
    (void)pthread_mutex_unlock(&queue->lock);
}
