/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions to the broker about the health of a job. */
#include "kafka/health.h"

#include "kafka/source_int.h"

#include <stdlib.h>

#define ASK_MS    5000
#define UNREAD_US (5 * CV_US_PER_SECOND) /* for the first unread records of all partitions */

void cv_source_health_release(struct cv_source_health *health)
{
    cv_arena_release(&health->arena);
    *health = (struct cv_source_health){0};
}

const struct cv_topic_health *cv_source_health_topic(const struct cv_source_health *health,
                                                     const char *topic)
{
    for (size_t i = 0; i < health->topic_count; i++)
        if (strcmp(health->topics[i].topic, topic) == 0)
            return &health->topics[i];
    return NULL;
}

static enum cv_code list_partitions(struct cv_source *source, const struct cv_offsets *positions,
                                    struct cv_source_health *health, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets partitions = {0};
    CV_CLEANUP(cv_offsets_release) struct cv_offsets earliest = {0};
    CV_CLEANUP(cv_offsets_release) struct cv_offsets latest = {0};
    int64_t deadline = cv_source_deadline(source);

    CV_DO(cv_source_list(source, deadline, &partitions, err));
    CV_DO(
        cv_source_list_offsets(source, &partitions, CV_OFFSET_EARLIEST, deadline, &earliest, err));
    CV_DO(cv_source_list_offsets(source, &partitions, CV_OFFSET_LATEST, deadline, &latest, err));
    health->partitions =
        cv_arena_array(&health->arena, struct cv_partition_health, latest.count + 1);
    for (size_t i = 0; i < latest.count; i++) {
        const struct cv_offset *end = &latest.items[i];
        const struct cv_offset *first = cv_offsets_find(&earliest, end->topic, end->partition);
        const struct cv_offset *at = cv_offsets_find(positions, end->topic, end->partition);

        if (first)
            health->partitions[health->count++] = (struct cv_partition_health){
                .topic = cv_arena_strdup(&health->arena, end->topic),
                .partition = end->partition,
                .position = at ? at->offset : first->offset,
                .earliest = first->offset,
                .latest = end->offset,
                .committed = -1,
                .unread_ms = -1,
            };
    }
    return CV_OK;
}

static int compare_partitions(const void *a, const void *b)
{
    const struct cv_partition_health *left = a, *right = b;
    int result = strcmp(left->topic, right->topic);

    return result ? result
                  : (left->partition > right->partition) - (left->partition < right->partition);
}

static struct cv_partition_health *find(struct cv_source_health *health, const char *topic,
                                        int32_t partition)
{
    const struct cv_partition_health key = {.topic = topic, .partition = partition};

    return bsearch(&key, health->partitions, health->count, sizeof key, compare_partitions);
}

/* A client of its own, since the group is a setting of the client; it joins nothing. */
static void read_group(struct cv_source *source, const char *group, struct cv_source_health *health)
{
    rd_kafka_topic_partition_list_t *list;
    rd_kafka_t *client;

    if (!group[0] || cv_source_new_client(source, group, &client, NULL) != CV_OK)
        return;
    list = rd_kafka_topic_partition_list_new((int)health->count);
    for (size_t i = 0; i < health->count; i++)
        (void)rd_kafka_topic_partition_list_add(list, health->partitions[i].topic,
                                                health->partitions[i].partition);
    if (rd_kafka_committed(client, list, ASK_MS) == RD_KAFKA_RESP_ERR_NO_ERROR)
        for (int i = 0; i < list->cnt; i++) {
            const rd_kafka_topic_partition_t *entry = &list->elems[i];
            struct cv_partition_health *p = find(health, entry->topic, entry->partition);

            if (p && !entry->err && entry->offset >= 0)
                p->committed = entry->offset;
        }
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

static bool is_late(void *context)
{
    return cv_monotonic_us() > *(const int64_t *)context;
}

static void note_unread(struct cv_source_health *health, const struct cv_chunk *chunk)
{
    for (size_t i = 0; i < chunk->count; i++) {
        const struct cv_record *record = &chunk->records[i];
        struct cv_partition_health *p =
            find(health, record->source->topic, record->source->partition);

        if (p && p->unread_ms < 0)
            p->unread_ms = record->timestamp_ms;
    }
}

/* Reads one record of each partition that is behind. */
static void read_unread(struct cv_source *source, struct cv_source_health *health)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets start = {0};
    CV_CLEANUP(cv_offsets_release) struct cv_offsets end = {0};
    int64_t deadline = cv_monotonic_us() + UNREAD_US;
    struct cv_chunk *chunk = NULL;

    for (size_t i = 0; i < health->count; i++) {
        const struct cv_partition_health *p = &health->partitions[i];
        int64_t at = CV_MAX(p->position, p->earliest);

        if (at >= p->latest)
            continue;
        cv_offsets_set(&start, p->topic, p->partition, at);
        cv_offsets_set(&end, p->topic, p->partition, at + 1);
    }
    if (!end.count || cv_source_fetch_begin(source, &start, &end, NULL) != CV_OK)
        return;
    while (cv_source_fetch_next(source, is_late, &deadline, &chunk, NULL) == CV_OK && chunk) {
        note_unread(health, chunk);
        chunk->release(chunk);
    }
    cv_source_fetch_cancel(source);
}

static void name_topics(struct cv_source_health *health)
{
    health->topics = cv_arena_array(&health->arena, struct cv_topic_health, health->count + 1);
    for (size_t i = 0; i < health->count; i++)
        if (i == 0 || strcmp(health->partitions[i].topic, health->partitions[i - 1].topic) != 0)
            health->topics[health->topic_count++] =
                (struct cv_topic_health){health->partitions[i].topic, CV_RETENTION_UNKNOWN};
}

static const char *setting(const rd_kafka_ConfigEntry_t **entries, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rd_kafka_ConfigEntry_name(entries[i]), name) == 0)
            return rd_kafka_ConfigEntry_value(entries[i]);
    return NULL;
}

static int64_t limit(const char *text)
{
    int64_t value;

    if (!text || !cv_parse_i64(cv_str_from(text), &value))
        return CV_RETENTION_UNKNOWN;
    return value < 0 ? CV_RETENTION_FOR_EVER : value;
}

static void note_retention(struct cv_source_health *health,
                           const rd_kafka_ConfigResource_t *resource)
{
    size_t count;
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &count);
    const char *policy = setting(entries, count, "cleanup.policy");
    bool deletes = policy && strstr(policy, "delete");

    for (size_t i = 0; i < health->topic_count; i++) {
        struct cv_topic_health *topic = &health->topics[i];

        if (rd_kafka_ConfigResource_error(resource) ||
            strcmp(topic->topic, rd_kafka_ConfigResource_name(resource)) != 0)
            continue;
        topic->retention_ms = limit(setting(entries, count, "retention.ms"));
        if (policy && !deletes)
            topic->retention_ms = CV_RETENTION_FOR_EVER;
    }
}

static void read_retention(struct cv_source *source, struct cv_source_health *health)
{
    rd_kafka_ConfigResource_t **asked = cv_alloc(health->topic_count * sizeof(void *) + 1);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(source->planner);
    rd_kafka_AdminOptions_t *options =
        rd_kafka_AdminOptions_new(source->planner, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
    rd_kafka_event_t *event;
    char reason[256];

    (void)rd_kafka_AdminOptions_set_request_timeout(options, ASK_MS, reason, sizeof reason);
    for (size_t i = 0; i < health->topic_count; i++)
        asked[i] = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, health->topics[i].topic);
    if (health->topic_count) {
        rd_kafka_DescribeConfigs(source->planner, asked, health->topic_count, options, queue);
        event = rd_kafka_queue_poll(queue, ASK_MS + 1000);
        if (event && !rd_kafka_event_error(event)) {
            size_t count;
            const rd_kafka_ConfigResource_t **answers = rd_kafka_DescribeConfigs_result_resources(
                rd_kafka_event_DescribeConfigs_result(event), &count);

            for (size_t i = 0; i < count; i++)
                note_retention(health, answers[i]);
        }
        if (event)
            rd_kafka_event_destroy(event);
    }
    rd_kafka_ConfigResource_destroy_array(asked, health->topic_count);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_queue_destroy(queue);
    free(asked);
}

enum cv_code cv_source_examine(struct cv_source *source, const char *group,
                               const struct cv_offsets *positions,
                               struct cv_source_health *ret_health, struct cv_error *err)
{
    CV_CLEANUP(cv_source_health_release) struct cv_source_health health = {0};

    CV_DO(list_partitions(source, positions, &health, err));
    name_topics(&health);
    read_group(source, group, &health);
    read_retention(source, &health);
    read_unread(source, &health);
    *ret_health = health;
    health = (struct cv_source_health){0};
    return CV_OK;
}
