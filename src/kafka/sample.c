/* SPDX-License-Identifier: Apache-2.0
 *
 * A few live records for `calve check`: from the end of the first partition that has any. */
#include "kafka/fetch_int.h"

#define SAMPLE_US (10 * CV_US_PER_SECOND)

static enum cv_code find_partition(struct cv_source *source, size_t count,
                                   struct cv_offsets *ret_start, struct cv_offsets *ret_end,
                                   struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets partitions = {0};
    CV_CLEANUP(cv_offsets_release) struct cv_offsets earliest = {0};
    CV_CLEANUP(cv_offsets_release) struct cv_offsets latest = {0};
    int64_t deadline = cv_monotonic_us() + SAMPLE_US;

    CV_DO(cv_source_list(source, deadline, &partitions, err));
    CV_DO(
        cv_source_list_offsets(source, &partitions, CV_OFFSET_EARLIEST, deadline, &earliest, err));
    CV_DO(cv_source_list_offsets(source, &partitions, CV_OFFSET_LATEST, deadline, &latest, err));
    for (size_t i = 0; i < latest.count; i++) {
        const struct cv_offset *end = &latest.items[i];
        const struct cv_offset *first = cv_offsets_find(&earliest, end->topic, end->partition);

        if (!first || first->offset >= end->offset)
            continue;
        cv_offsets_set(ret_start, end->topic, end->partition,
                       CV_MAX(first->offset, end->offset - (int64_t)count));
        cv_offsets_set(ret_end, end->topic, end->partition, end->offset);
        break;
    }
    return CV_OK;
}

/* Ends the wait for a partition whose last offsets hold no record. */
static bool is_late(void *context)
{
    return cv_monotonic_us() > *(const int64_t *)context;
}

enum cv_code cv_source_sample(struct cv_source *source, size_t count, struct cv_chunk **ret_chunk,
                              struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets start = {0};
    CV_CLEANUP(cv_offsets_release) struct cv_offsets end = {0};
    int64_t deadline = cv_monotonic_us() + SAMPLE_US;
    struct cv_chunk *chunk = NULL;
    enum cv_code code;

    CV_DO(find_partition(source, CV_MIN(CV_MAX(count, 1), (size_t)CV_CHUNK_RECORDS), &start, &end,
                         err));
    if (end.count > 0) {
        CV_DO(cv_source_fetch_begin(source, &start, &end, err));
        code = cv_source_fetch_next(source, is_late, &deadline, &chunk, err);
        cv_source_fetch_cancel(source);
        if (code != CV_OK && !(code == CV_CANCELLED && is_late(&deadline)))
            return code;
    }
    *ret_chunk = chunk;
    return CV_OK;
}
