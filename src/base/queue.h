/* SPDX-License-Identifier: Apache-2.0
 *
 * A bounded queue of pointers between threads. Any number of senders and receivers. */
#ifndef CALVE_BASE_QUEUE_H
#define CALVE_BASE_QUEUE_H

#include "base/memory.h"

#include <pthread.h>

struct cv_queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty;
    pthread_cond_t not_full;
    void **items;
    size_t capacity;
    size_t first;
    size_t count;
    bool closed;
};

void cv_queue_init(struct cv_queue *queue, size_t capacity);
void cv_queue_release(struct cv_queue *queue);
/* Waits for room; false when the queue was closed (the item stays the caller's). */
bool cv_queue_push(struct cv_queue *queue, void *item);
/* Waits for an item; NULL when closed and empty. */
void *cv_queue_pop(struct cv_queue *queue);
/* No more pushes; receivers drain what is left. */
void cv_queue_close(struct cv_queue *queue);

#endif
