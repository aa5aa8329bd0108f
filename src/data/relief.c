/* SPDX-License-Identifier: Apache-2.0
 *
 * Over the memory budget: the largest open row groups are closed early; if that is not enough,
 * partitions with small ones wait in the spill from now on; if files alone are too many, the
 * oldest are closed early. The README of this folder has the whole rule. */
#include "data/writer_int.h"

#include <stdlib.h>

static size_t files_memory(struct cv_data_writer *writer)
{
    size_t sum = 0;

    for (size_t i = 0; i < CV_DATA_LANES; i++)
        sum += atomic_load(&writer->lanes[i].memory);
    return sum;
}

size_t cv_data_writer_memory(const struct cv_data_writer *writer)
{
    struct cv_data_writer *w = (struct cv_data_writer *)(uintptr_t)writer; /* its locks change */

    return files_memory(w) + cv_spill_memory(&w->spill);
}

struct candidate {
    size_t index; /* in the lane */
    uint64_t key; /* handled in ascending order */
};

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *left = a;
    const struct candidate *right = b;

    return (left->key > right->key) - (left->key < right->key);
}

enum measure {
    CLOSE_LARGE_GROUPS,
    MAKE_WAIT,
    CLOSE_FILES,
};

static bool applies(const struct cv_data_writer *writer, enum measure measure,
                    const struct cv_partition *partition)
{
    size_t group_bytes = partition->memory - partition->held;

    if (!partition->parquet)
        return false;
    switch (measure) {
    case CLOSE_LARGE_GROUPS: /* an unpartitioned table has but one, whatever its size */
        return !writer->partitioner || group_bytes >= CV_DATA_GROUP_BYTES_MIN;
    case MAKE_WAIT:
        return !partition->waiting;
    default:
        return true;
    }
}

static enum cv_code take_measure(struct cv_data_writer *writer, struct cv_lane *lane,
                                 enum measure measure, struct cv_partition *partition,
                                 struct cv_error *err)
{
    if (measure == CLOSE_FILES) {
        partition->waiting = true;
        (void)atomic_fetch_add(&writer->files_closed_early, 1);
        return cv_lane_close(writer, lane, partition, err);
    }
    partition->waiting = measure == MAKE_WAIT;
    (void)atomic_fetch_add(&writer->groups_closed_early, 1);
    return cv_lane_flush(lane, partition, err);
}

static enum cv_code relieve_lane(struct cv_data_writer *writer, struct cv_lane *lane,
                                 enum measure measure, size_t wanted, struct cv_error *err)
{
    CV_CLEANUP(cv_freep)
    struct candidate *candidates = cv_alloc(lane->count * sizeof *candidates);
    size_t count = 0;

    for (size_t i = 0; i < lane->count; i++) {
        const struct cv_partition *partition = &lane->partitions[i];

        if (applies(writer, measure, partition))
            candidates[count++] =
                (struct candidate){i, measure == CLOSE_LARGE_GROUPS ? UINT64_MAX - partition->memory
                                                                    : partition->opened};
    }
    if (count)
        qsort(candidates, count, sizeof *candidates, compare_candidates);
    for (size_t i = 0; i < count && files_memory(writer) > wanted; i++)
        CV_DO(take_measure(writer, lane, measure, &lane->partitions[candidates[i].index], err));
    return CV_OK;
}

static enum cv_code count_anew(struct cv_data_writer *writer, struct cv_error *err)
{
    for (size_t i = 0; i < CV_DATA_LANES; i++) {
        struct cv_lane *lane = &writer->lanes[i];
        enum cv_code code;

        (void)pthread_mutex_lock(&lane->lock);
        code = cv_lane_count_anew(lane, err);
        (void)pthread_mutex_unlock(&lane->lock);
        CV_DO(code);
    }
    return CV_OK;
}

static enum cv_code take_measures(struct cv_data_writer *writer, size_t wanted,
                                  struct cv_error *err)
{
    enum measure last = writer->partitioner ? CLOSE_FILES : CLOSE_LARGE_GROUPS;

    for (enum measure measure = CLOSE_LARGE_GROUPS; measure <= last; measure++) {
        if (measure == MAKE_WAIT && files_memory(writer) > wanted)
            atomic_store(&writer->open_max, 0); /* no further partition gets a file for now */
        for (size_t i = 0; i < CV_DATA_LANES && files_memory(writer) > wanted; i++) {
            struct cv_lane *lane = &writer->lanes[i];
            enum cv_code code;

            (void)pthread_mutex_lock(&lane->lock);
            code = relieve_lane(writer, lane, measure, wanted, err);
            (void)pthread_mutex_unlock(&lane->lock);
            CV_DO(code);
        }
    }
    return CV_OK;
}

enum cv_code cv_data_writer_relieve(struct cv_data_writer *writer, struct cv_error *err)
{
    size_t budget = writer->config.memory_bytes;
    size_t waiting;
    enum cv_code code;

    if (cv_data_writer_memory(writer) <= budget)
        return CV_OK;
    if (pthread_mutex_trylock(&writer->relief_lock) != 0)
        return CV_OK; /* another thread is at it */
    waiting = cv_spill_memory(&writer->spill);
    code = count_anew(writer, err);
    if (code == CV_OK && files_memory(writer) + waiting > budget)
        code = take_measures(writer, budget / 4 * 3 - CV_MIN(waiting, budget / 4), err);
    (void)pthread_mutex_unlock(&writer->relief_lock);
    return code;
}
