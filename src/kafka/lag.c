/* SPDX-License-Identifier: Apache-2.0
 *
 * Offsets for people who watch consumer groups: committed without membership, after the table's
 * commit, and never read back. Nothing waits for the answer: one commit is under way, the newest
 * offsets wait behind it, and a failure shows as a warning with a later batch. */
#include "kafka/source_int.h"

#include <stdlib.h>

#define LAG_REQUEST_MS 5000
#define LAG_RETRY_US   (10 * CV_US_PER_SECOND) /* a coordinator that is starting */
#define LAG_FINISH_US  (3 * CV_US_PER_SECOND)  /* at the end of the run */

static rd_kafka_topic_partition_list_t *make_list(const struct cv_offsets *offsets,
                                                  const char *metadata)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)offsets->count);

    for (size_t i = 0; i < offsets->count; i++) {
        const struct cv_offset *item = &offsets->items[i];
        rd_kafka_topic_partition_t *entry =
            rd_kafka_topic_partition_list_add(list, item->topic, item->partition);

        entry->offset = item->offset;
        if (metadata && metadata[0]) {
            entry->metadata = cv_strdup(metadata); /* freed with the list */
            entry->metadata_size = strlen(metadata);
        }
    }
    return list;
}

static void send_commit(struct cv_source *source)
{
    struct cv_lag *lag = &source->lag;
    rd_kafka_AlterConsumerGroupOffsets_t *request =
        rd_kafka_AlterConsumerGroupOffsets_new(lag->group, lag->sent);
    rd_kafka_AdminOptions_t *options =
        rd_kafka_AdminOptions_new(source->planner, RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS);
    char reason[256];

    (void)rd_kafka_AdminOptions_set_request_timeout(options, LAG_REQUEST_MS, reason, sizeof reason);
    lag->answers = rd_kafka_queue_new(source->planner);
    rd_kafka_AlterConsumerGroupOffsets(source->planner, &request, 1, options, lag->answers);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_AlterConsumerGroupOffsets_destroy(request);
}

static void drop_sent(struct cv_lag *lag)
{
    if (lag->sent)
        rd_kafka_topic_partition_list_destroy(cv_steal(lag->sent));
}

/* Sends the offsets that wait, if any. */
static void send_next(struct cv_source *source)
{
    struct cv_lag *lag = &source->lag;

    if (lag->answers || !lag->waiting)
        return;
    lag->sent = cv_steal(lag->waiting);
    lag->deadline_us = cv_monotonic_us() + LAG_RETRY_US;
    send_commit(source);
}

/* The first error of the answer: of the request, the group or a partition. */
static rd_kafka_resp_err_t answer_error(rd_kafka_event_t *event)
{
    size_t count = 0;
    const rd_kafka_group_result_t **groups;

    if (rd_kafka_event_error(event))
        return rd_kafka_event_error(event);
    groups = rd_kafka_AlterConsumerGroupOffsets_result_groups(
        rd_kafka_event_AlterConsumerGroupOffsets_result(event), &count);
    for (size_t i = 0; i < count; i++) {
        const rd_kafka_error_t *error = rd_kafka_group_result_error(groups[i]);
        const rd_kafka_topic_partition_list_t *list = rd_kafka_group_result_partitions(groups[i]);

        if (error)
            return rd_kafka_error_code(error);
        for (int j = 0; list && j < list->cnt; j++) {
            if (list->elems[j].err)
                return list->elems[j].err;
        }
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void read_answer(struct cv_source *source, int timeout_ms)
{
    struct cv_lag *lag = &source->lag;
    rd_kafka_resp_err_t error;
    rd_kafka_event_t *event;

    if (!lag->answers)
        return;
    event = rd_kafka_queue_poll(lag->answers, timeout_ms);
    if (!event)
        return;
    error = answer_error(event);
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(cv_steal(lag->answers));
    if (cv_kafka_is_transient(error) && !lag->waiting && cv_monotonic_us() < lag->deadline_us) {
        send_commit(source);
        return;
    }
    drop_sent(lag);
    if (error)
        cv_source_warn(source, "the offsets for monitoring were not committed to group %s: %s",
                       lag->group, rd_kafka_err2str(error));
}

void cv_source_poll_lag(struct cv_source *source)
{
    read_answer(source, 0);
    send_next(source);
}

void cv_source_finish_lag(struct cv_source *source)
{
    struct cv_lag *lag = &source->lag;
    int64_t deadline = cv_monotonic_us() + LAG_FINISH_US;

    while ((lag->answers || lag->waiting) && cv_monotonic_us() < deadline) {
        send_next(source);
        read_answer(source, 50);
    }
    if (lag->answers || lag->waiting)
        cv_source_warn(source, "the offsets for monitoring were not committed: no answer in time");
    if (lag->answers)
        rd_kafka_queue_destroy(cv_steal(lag->answers));
    drop_sent(lag);
    if (lag->waiting)
        rd_kafka_topic_partition_list_destroy(cv_steal(lag->waiting));
    free(cv_steal(lag->group));
}

enum cv_code cv_source_publish_lag(struct cv_source *source, const char *group,
                                   const struct cv_offsets *offsets, const char *metadata,
                                   struct cv_error *err)
{
    struct cv_lag *lag = &source->lag;

    if (!group[0])
        return cv_fail(err, CV_CONFIG, "the group for monitoring has no name");
    if (!lag->group)
        lag->group = cv_strdup(group);
    if (offsets->count > 0) {
        if (lag->waiting)
            rd_kafka_topic_partition_list_destroy(lag->waiting);
        lag->waiting = make_list(offsets, metadata);
    }
    cv_source_poll_lag(source);
    return CV_OK;
}
