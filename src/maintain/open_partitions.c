/* SPDX-License-Identifier: Apache-2.0
 *
 * The set of open partitions. */
#include "maintain/open_partitions.h"

#include "base/map.h"
#include "base/time.h"
#include "iceberg/snapshot_files.h"
#include "maintain/measure.h"

#include <pthread.h>
#include <stdlib.h>

#define SWEEP_MIN 1024 /* partitions before closed ones are looked for */

struct cv_open_partitions {
    pthread_mutex_t lock; /* of everything below */
    int64_t close_after_us;
    struct cv_map written; /* cv_partition_key() → int64_t, monotonic time of the newest file */
    size_t sweep_at;
    struct cv_buf key;
};

struct cv_open_partitions *cv_open_partitions_new(int64_t close_after_us)
{
    struct cv_open_partitions *open = cv_alloc(sizeof *open);

    (void)pthread_mutex_init(&open->lock, NULL);
    open->close_after_us = close_after_us;
    open->sweep_at = SWEEP_MIN;
    return open;
}

static void release_times(struct cv_map *written)
{
    const struct cv_map_slot *slot;
    size_t position = 0;

    while ((slot = cv_map_next(written, &position)))
        free(slot->value);
    cv_map_release(written);
}

void cv_open_partitions_free(struct cv_open_partitions *open)
{
    if (!open)
        return;
    release_times(&open->written);
    cv_buf_release(&open->key);
    (void)pthread_mutex_destroy(&open->lock);
    free(open);
}

static void put(struct cv_map *written, const void *key, size_t length, int64_t now_us)
{
    int64_t *time = cv_map_get(written, key, length);

    if (!time) {
        time = cv_alloc(sizeof *time);
        (void)cv_map_set(written, key, length, time);
    }
    *time = now_us;
}

/* Forgets what has closed: the set holds what is open, not what ever was. */
static void sweep(struct cv_open_partitions *open, int64_t now_us)
{
    struct cv_map kept = {0};
    const struct cv_map_slot *slot;
    size_t position = 0;

    while ((slot = cv_map_next(&open->written, &position))) {
        int64_t time = *(const int64_t *)slot->value;

        if (now_us - time < open->close_after_us)
            put(&kept, slot->key, slot->key_length, time);
    }
    release_times(&open->written);
    open->written = kept;
    open->sweep_at = CV_MAX(2 * kept.count, SWEEP_MIN);
}

void cv_open_partitions_note(void *context, const struct cv_table_metadata *metadata,
                             const struct cv_data_file *files, size_t count)
{
    struct cv_open_partitions *open = context;
    int64_t now_us = cv_monotonic_us();

    (void)pthread_mutex_lock(&open->lock);
    for (size_t i = 0; i < count; i++) {
        cv_data_file_partition_key(&files[i], metadata, &open->key);
        put(&open->written, open->key.data, open->key.length, now_us);
    }
    if (open->written.count > open->sweep_at)
        sweep(open, now_us);
    (void)pthread_mutex_unlock(&open->lock);
}

bool cv_open_partitions_busy(void *context, const struct cv_partition_spec *spec,
                             const struct cv_value *partition)
{
    struct cv_open_partitions *open = context;
    const int64_t *time;
    bool busy;

    if (!cv_partition_closes(spec, partition))
        return false;
    (void)pthread_mutex_lock(&open->lock);
    cv_buf_clear(&open->key);
    cv_partition_key(spec->spec_id, partition, spec->field_count, &open->key);
    time = cv_map_get(&open->written, open->key.data, open->key.length);
    busy = time && cv_monotonic_us() - *time < open->close_after_us;
    (void)pthread_mutex_unlock(&open->lock);
    return busy;
}
