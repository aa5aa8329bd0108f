/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that take the next index until none is left. */
#include "maintain/parallel.h"

#include "base/limits.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdatomic.h>

struct pool {
    enum cv_code (*work)(void *context, size_t index, struct cv_error *err);
    void *context;
    size_t count;
    atomic_size_t next;
    atomic_bool failed;
    pthread_mutex_t lock;
    struct cv_error first; /* under the lock */
};

static void *run_worker(void *data)
{
    struct pool *pool = data;
    struct cv_error err = CV_ERROR_INIT;

    while (!atomic_load(&pool->failed)) {
        size_t index = atomic_fetch_add(&pool->next, 1);

        if (index >= pool->count)
            break;
        if (pool->work(pool->context, index, &err) == CV_OK)
            continue;
        (void)pthread_mutex_lock(&pool->lock);
        if (!atomic_exchange(&pool->failed, true))
            pool->first = err;
        (void)pthread_mutex_unlock(&pool->lock);
    }
    return NULL;
}

enum cv_code cv_parallel(int threads, size_t count,
                         enum cv_code (*work)(void *context, size_t index, struct cv_error *err),
                         void *context, struct cv_error *err)
{
    struct pool pool = {.work = work, .context = context, .count = count};
    pthread_t ids[CV_THREADS_MAX];
    size_t wanted = CV_MIN((size_t)CV_MAX(threads, 1), CV_MIN(count, (size_t)CV_THREADS_MAX));
    size_t started = 0;

    (void)pthread_mutex_init(&pool.lock, NULL);
    while (started + 1 < wanted && pthread_create(&ids[started], NULL, run_worker, &pool) == 0)
        started++;
    (void)run_worker(&pool);
    while (started)
        (void)pthread_join(ids[--started], NULL);
    (void)pthread_mutex_destroy(&pool.lock);
    if (!pool.failed)
        return CV_OK;
    if (err)
        *err = pool.first;
    return pool.first.code;
}
