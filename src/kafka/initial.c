/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a query without checkpoint begins: startingTimestamp, startingOffsetsByTimestamp or
 * startingOffsets, in this order, as in Spark. */
#include "kafka/source_int.h"

#include <inttypes.h>

/* Replaces the partitions without a record that late, or fails, as the strategy says. */
static enum cv_code settle_times(struct cv_source *source, const struct cv_offsets *timestamps,
                                 struct cv_offsets *offsets, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets latest = {0};

    for (size_t i = 0; i < offsets->count; i++) {
        struct cv_offset *item = &offsets->items[i];
        const struct cv_offset *end;

        if (item->offset >= 0)
            continue;
        if (source->options.starting_strategy == 0) {
            (void)cv_fail(err, CV_CONFIG,
                          "%s[%" PRId32 "] has no record with a timestamp of %" PRId64
                          " ms or later",
                          item->topic, item->partition,
                          cv_offsets_find(timestamps, item->topic, item->partition)->offset);
            cv_hint(err, "startingOffsetsByTimestampStrategy: latest begins at the end then");
            return CV_CONFIG;
        }
        if (latest.count == 0)
            CV_DO(cv_source_list_offsets(source, offsets, CV_OFFSET_LATEST,
                                         cv_source_deadline(source), &latest, err));
        end = cv_offsets_find(&latest, item->topic, item->partition);
        item->offset = end ? end->offset : 0;
    }
    return CV_OK;
}

static enum cv_code start_at_times(struct cv_source *source, const struct cv_offsets *timestamps,
                                   struct cv_offsets *ret_offsets, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets found = {0};

    CV_DO(cv_source_list_times(source, timestamps, cv_source_deadline(source), &found, err));
    CV_DO(settle_times(source, timestamps, &found, err));
    cv_offsets_copy(ret_offsets, &found);
    return CV_OK;
}

/* Offsets as given; -1 and -2 are looked up. */
static enum cv_code start_as_given(struct cv_source *source, const struct cv_offsets *given,
                                   struct cv_offsets *ret_offsets, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets special = {0};
    CV_CLEANUP(cv_offsets_release) struct cv_offsets found = {0};

    cv_offsets_copy(ret_offsets, given);
    for (size_t i = 0; i < given->count; i++) {
        const struct cv_offset *item = &given->items[i];

        if (item->offset < 0)
            cv_offsets_set(&special, item->topic, item->partition, item->offset);
    }
    CV_DO(cv_source_list_times(source, &special, cv_source_deadline(source), &found, err));
    for (size_t i = 0; i < found.count; i++)
        cv_offsets_set(ret_offsets, found.items[i].topic, found.items[i].partition,
                       found.items[i].offset);
    return CV_OK;
}

static enum cv_code start_by_timestamp(struct cv_source *source,
                                       const struct cv_offsets *partitions,
                                       struct cv_offsets *ret_offsets, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets times = {0};
    const struct cv_source_options *o = &source->options;
    int64_t all = 0;

    if (o->starting_timestamp) {
        if (!cv_parse_i64(cv_str_trim(cv_str_from(o->starting_timestamp)), &all))
            return cv_fail(err, CV_CONFIG, "source.startingTimestamp is not a number");
        for (size_t i = 0; i < partitions->count; i++)
            cv_offsets_set(&times, partitions->items[i].topic, partitions->items[i].partition, all);
    } else {
        CV_DO(cv_offsets_parse(cv_str_from(o->starting_offsets_by_timestamp), false, &times, err));
        CV_DO(cv_plan_check_listed("startingOffsetsByTimestamp", &times, partitions, err));
    }
    return start_at_times(source, &times, ret_offsets, err);
}

static enum cv_code start_by_offsets(struct cv_source *source, const struct cv_offsets *partitions,
                                     struct cv_offsets *ret_offsets, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets given = {0};
    const char *text = source->options.starting_offsets;
    int64_t deadline = cv_source_deadline(source);

    if (!text || cv_starting_is(text, "latest"))
        return cv_source_list_offsets(source, partitions, CV_OFFSET_LATEST, deadline, ret_offsets,
                                      err);
    if (cv_starting_is(text, "earliest"))
        return cv_source_list_offsets(source, partitions, CV_OFFSET_EARLIEST, deadline, ret_offsets,
                                      err);
    CV_DO(cv_offsets_parse(cv_str_from(text), true, &given, err));
    CV_DO(cv_plan_check_listed("startingOffsets", &given, partitions, err));
    return start_as_given(source, &given, ret_offsets, err);
}

enum cv_code cv_source_initial_offsets(struct cv_source *source, struct cv_offsets *ret_offsets,
                                       struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets partitions = {0};
    CV_CLEANUP(cv_offsets_release) struct cv_offsets offsets = {0};
    const struct cv_source_options *o = &source->options;

    CV_DO(cv_source_list(source, cv_source_deadline(source), &partitions, err));
    if (o->starting_timestamp || o->starting_offsets_by_timestamp)
        CV_DO(start_by_timestamp(source, &partitions, &offsets, err));
    else
        CV_DO(start_by_offsets(source, &partitions, &offsets, err));
    if (offsets.count < partitions.count)
        return cv_fail(err, CV_KAFKA, "%s: %zu of %zu partitions have no offset",
                       source->description, partitions.count - offsets.count, partitions.count);
    cv_offsets_copy(ret_offsets, &offsets);
    return CV_OK;
}
