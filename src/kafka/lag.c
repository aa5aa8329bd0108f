/* SPDX-License-Identifier: Apache-2.0
 *
 * Offsets for people who watch consumer groups: committed without membership, after the table's
 * commit, and never read back. Nothing waits for the answer; a failure shows as a warning with the
 * next batch. */
#include "kafka/source_int.h"

#include <stdlib.h>

#define LAG_REQUEST_MS 5000
#define LAG_FINISH_MS  2000 /* at the end of the run */

static const char *partition_error(const rd_kafka_AlterConsumerGroupOffsets_result_t *result)
{
    size_t count = 0;
    const rd_kafka_group_result_t **groups =
        rd_kafka_AlterConsumerGroupOffsets_result_groups(result, &count);

    for (size_t i = 0; i < count; i++) {
        const rd_kafka_error_t *error = rd_kafka_group_result_error(groups[i]);
        const rd_kafka_topic_partition_list_t *list = rd_kafka_group_result_partitions(groups[i]);

        if (error)
            return rd_kafka_error_string(error);
        for (int j = 0; list && j < list->cnt; j++) {
            if (list->elems[j].err)
                return rd_kafka_err2str(list->elems[j].err);
        }
    }
    return NULL;
}

static void read_answer(struct cv_source *source, int timeout_ms)
{
    rd_kafka_event_t *event;
    const char *reason;

    if (!source->lag_queue)
        return;
    event = rd_kafka_queue_poll(source->lag_queue, timeout_ms);
    if (!event)
        return;
    reason = rd_kafka_event_error(event)
                 ? rd_kafka_event_error_string(event)
                 : partition_error(rd_kafka_event_AlterConsumerGroupOffsets_result(event));
    if (reason)
        cv_source_warn(source, "the offsets for monitoring were not committed: %s", reason);
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(source->lag_queue);
    source->lag_queue = NULL;
}

void cv_source_poll_lag(struct cv_source *source)
{
    read_answer(source, 0);
}

void cv_source_finish_lag(struct cv_source *source)
{
    read_answer(source, LAG_FINISH_MS);
    if (source->lag_queue) {
        cv_source_warn(source, "the offsets for monitoring were not committed: no answer");
        rd_kafka_queue_destroy(source->lag_queue);
        source->lag_queue = NULL;
    }
}

static void commit(struct cv_source *source, const char *group,
                   const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_AlterConsumerGroupOffsets_t *request =
        rd_kafka_AlterConsumerGroupOffsets_new(group, list);
    rd_kafka_AdminOptions_t *options =
        rd_kafka_AdminOptions_new(source->client, RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS);
    char reason[256];

    (void)rd_kafka_AdminOptions_set_request_timeout(options, LAG_REQUEST_MS, reason, sizeof reason);
    source->lag_queue = rd_kafka_queue_new(source->client);
    rd_kafka_AlterConsumerGroupOffsets(source->client, &request, 1, options, source->lag_queue);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_AlterConsumerGroupOffsets_destroy(request);
}

enum cv_code cv_source_publish_lag(struct cv_source *source, const char *group,
                                   const struct cv_offsets *offsets, const char *metadata,
                                   struct cv_error *err)
{
    rd_kafka_topic_partition_list_t *list;

    cv_source_poll_lag(source);
    /* One commit at a time: a broker that does not answer must not pile them up. */
    if (source->lag_queue || offsets->count == 0)
        return CV_OK;
    if (!group[0])
        return cv_fail(err, CV_CONFIG, "the group for monitoring has no name");
    list = rd_kafka_topic_partition_list_new((int)offsets->count);
    for (size_t i = 0; i < offsets->count; i++) {
        const struct cv_offset *item = &offsets->items[i];
        rd_kafka_topic_partition_t *entry =
            rd_kafka_topic_partition_list_add(list, item->topic, item->partition);

        entry->offset = item->offset;
        if (metadata && metadata[0]) {
            /* Freed with the list by librdkafka, hence plain malloc. */
            entry->metadata = cv_strdup(metadata);
            entry->metadata_size = strlen(metadata);
        }
    }
    commit(source, group, list);
    rd_kafka_topic_partition_list_destroy(list);
    return CV_OK;
}
