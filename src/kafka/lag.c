/* SPDX-License-Identifier: Apache-2.0
 *
 * Offsets for people who watch consumer groups: committed without membership, after the table's
 * commit, and never read back. Nothing waits for the answer: one commit is under way, the newest
 * offsets wait behind it, and a failure shows as a warning with a later batch. */
#include "kafka/source_int.h"

#include <stdlib.h>

#define LAG_RETRY_US  (10 * CV_US_PER_SECOND) /* a coordinator that is starting */
#define LAG_FINISH_US (3 * CV_US_PER_SECOND)  /* at the end of the run */

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

/* OffsetCommit by a client that is no member. The admin request for the same purpose ends the
 * process on an assertion of librdkafka 2.0.2 when a broker restarts while it is under way. */
static void send_commit(struct cv_source *source)
{
    struct cv_lag *lag = &source->lag;

    if (rd_kafka_commit_queue(lag->client, lag->sent, lag->answers, NULL, NULL) ==
        RD_KAFKA_RESP_ERR_NO_ERROR)
        lag->under_way = true;
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

    if (lag->under_way || !lag->waiting)
        return;
    lag->sent = cv_steal(lag->waiting);
    lag->deadline_us = cv_monotonic_us() + LAG_RETRY_US;
    send_commit(source);
}

/* The first error of the answer: of the request or of a partition. */
static rd_kafka_resp_err_t answer_error(rd_kafka_event_t *event)
{
    const rd_kafka_topic_partition_list_t *list = rd_kafka_event_topic_partition_list(event);

    if (rd_kafka_event_error(event))
        return rd_kafka_event_error(event);
    for (int i = 0; list && i < list->cnt; i++) {
        if (list->elems[i].err)
            return list->elems[i].err;
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Nothing is consumed, but the group's errors come this way. */
static void discard_events(struct cv_lag *lag)
{
    rd_kafka_message_t *message;

    while ((message = rd_kafka_consumer_poll(lag->client, 0)))
        rd_kafka_message_destroy(message);
}

static void read_answer(struct cv_source *source, int timeout_ms)
{
    struct cv_lag *lag = &source->lag;
    rd_kafka_resp_err_t error;
    rd_kafka_event_t *event;

    if (!lag->under_way)
        return;
    discard_events(lag);
    event = rd_kafka_queue_poll(lag->answers, timeout_ms);
    if (!event)
        return;
    error = answer_error(event);
    rd_kafka_event_destroy(event);
    lag->under_way = false;
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

    while ((lag->under_way || lag->waiting) && cv_monotonic_us() < deadline) {
        send_next(source);
        read_answer(source, 50);
    }
    if (lag->under_way || lag->waiting)
        cv_source_warn(source, "the offsets for monitoring were not committed: no answer in time");
    drop_sent(lag);
    if (lag->waiting)
        rd_kafka_topic_partition_list_destroy(cv_steal(lag->waiting));
    if (lag->answers)
        rd_kafka_queue_destroy(cv_steal(lag->answers));
    if (lag->client)
        rd_kafka_destroy_flags(cv_steal(lag->client), RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    free(cv_steal(lag->group));
}

/* A client of its own, since the group is a setting of the client. */
static enum cv_code open_lag(struct cv_source *source, const char *group, struct cv_error *err)
{
    struct cv_lag *lag = &source->lag;

    CV_DO(cv_source_new_client(source, group, &lag->client, err));
    (void)rd_kafka_poll_set_consumer(lag->client);
    lag->answers = rd_kafka_queue_new(lag->client);
    lag->group = cv_strdup(group);
    return CV_OK;
}

enum cv_code cv_source_publish_lag(struct cv_source *source, const char *group,
                                   const struct cv_offsets *offsets, const char *metadata,
                                   struct cv_error *err)
{
    struct cv_lag *lag = &source->lag;

    if (!group[0])
        return cv_fail(err, CV_CONFIG, "the group for monitoring has no name");
    if (!lag->client)
        CV_DO(open_lag(source, group, err));
    if (offsets->count > 0) {
        if (lag->waiting)
            rd_kafka_topic_partition_list_destroy(lag->waiting);
        lag->waiting = make_list(offsets, metadata);
    }
    cv_source_poll_lag(source);
    return CV_OK;
}
