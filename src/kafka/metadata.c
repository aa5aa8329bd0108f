/* SPDX-License-Identifier: Apache-2.0
 *
 * Which partitions the subscription has and where they begin and end. Topics are never created:
 * named topics are asked for one by one through a consumer with allow.auto.create.topics=false, and
 * a pattern needs the list of all. Offsets are listed under the isolation level of the job, so that
 * "latest" is the last stable offset for read_committed. */
#include "base/limits.h"
#include "kafka/source_int.h"

#define RETRY_MS       100   /* between attempts while no broker answers */
#define REQUEST_MS_MAX 32000 /* for a broker that answers, but slowly */

typedef const struct rd_kafka_metadata metadata_t;

static void free_metadata(metadata_t **metadata)
{
    if (*metadata)
        rd_kafka_metadata_destroy(*metadata);
}

int64_t cv_source_deadline(const struct cv_source *source)
{
    return cv_monotonic_us() + source->options.poll_timeout_us;
}

/* Wrong credentials do not get better; a certificate may, but not while the job starts. */
static bool is_hopeless(struct cv_source *source)
{
    char reason[CV_SOURCE_TEXT_BYTES];

    return cv_preauth_refused(&source->preauth, reason, sizeof reason) ||
           source->last_error_code == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
           (source->last_error_code == RD_KAFKA_RESP_ERR__SSL && !source->cluster_id);
}

/* After a failed attempt: CV_OK to try once more, else the error. */
static enum cv_code wait_or_fail(struct cv_source *source, rd_kafka_resp_err_t error,
                                 const char *what, int64_t deadline_us, struct cv_error *err)
{
    cv_source_poll(source);
    if (cv_source_is_cancelled(source))
        return cv_fail(err, CV_CANCELLED, "%s: cancelled", what);
    if (!cv_kafka_is_transient(error) || is_hopeless(source) || cv_monotonic_us() >= deadline_us)
        return cv_source_fail(source, error, what, err);
    cv_sleep_ms(RETRY_MS);
    return CV_OK;
}

/* A request that was sent and not answered gets twice the time. */
static int next_timeout(int timeout_ms, rd_kafka_resp_err_t error)
{
    return error == RD_KAFKA_RESP_ERR__TIMED_OUT ? CV_MIN(2 * timeout_ms, REQUEST_MS_MAX)
                                                 : timeout_ms;
}

/* What the client said before a request that succeeded is history. */
static void forget_errors(struct cv_source *source)
{
    cv_source_poll(source);
    source->last_error[0] = '\0';
    source->last_error_code = RD_KAFKA_RESP_ERR_NO_ERROR;
}

static enum cv_code request_metadata(struct cv_source *source, struct cv_fetch_topic *topic,
                                     int64_t deadline_us, metadata_t **ret_metadata,
                                     struct cv_error *err)
{
    int timeout_ms = CV_SOURCE_REQUEST_MS;
    rd_kafka_resp_err_t error;

    for (;;) {
        error = rd_kafka_metadata(source->planner, topic ? 0 : 1, topic ? topic->planned : NULL,
                                  ret_metadata, timeout_ms);
        if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
            forget_errors(source);
            return CV_OK;
        }
        CV_DO(wait_or_fail(source, error, "listing of topics", deadline_us, err));
        timeout_ms = next_timeout(timeout_ms, error);
    }
}

static enum cv_code add_partitions(const struct cv_source *source,
                                   const struct rd_kafka_metadata_topic *topic,
                                   struct cv_offsets *partitions, struct cv_error *err)
{
    for (int i = 0; i < topic->partition_cnt; i++) {
        int32_t id = topic->partitions[i].id;

        if (id < 0 || partitions->count >= CV_PARTITIONS_MAX)
            return cv_fail(err, CV_LIMIT, "the subscription has more than %d partitions",
                           CV_PARTITIONS_MAX);
        if (source->subscription.kind != CV_ASSIGN ||
            cv_offsets_find(&source->subscription.assigned, topic->topic, id))
            cv_offsets_set(partitions, topic->topic, id, 0);
    }
    return CV_OK;
}

static enum cv_code list_named(struct cv_source *source, const char *name, int64_t deadline_us,
                               struct cv_offsets *partitions, struct cv_error *err)
{
    struct cv_fetch_topic *topic = cv_source_topic(source, name);
    rd_kafka_resp_err_t error;

    if (!topic->planned)
        return cv_fail(err, CV_CONFIG, "\"%.249s\" is not a topic name", name);
    for (;;) {
        CV_CLEANUP(free_metadata) metadata_t *metadata = NULL;

        CV_DO(request_metadata(source, topic, deadline_us, &metadata, err));
        error = metadata->topic_cnt == 1 ? metadata->topics[0].err
                                         : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
        if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
            return add_partitions(source, &metadata->topics[0], partitions, err);
        if (error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
            if (source->subscription.kind == CV_ASSIGN)
                return CV_OK;
            (void)cv_fail(err, CV_NOT_FOUND, "topic %s does not exist", name);
            cv_hint(err, "calve creates no topics; check the name and the right to describe it");
            return CV_NOT_FOUND;
        }
        CV_TRY(wait_or_fail(source, error, "listing of partitions", deadline_us, err), err,
               "topic %s", name);
    }
}

/* Which partitions the topic has now, subscribed to or not; none when there is no such topic. */
static enum cv_code list_existing(struct cv_source *source, const char *name,
                                  struct cv_offsets *partitions, struct cv_error *err)
{
    struct cv_fetch_topic *topic = cv_source_topic(source, name);
    int64_t deadline_us = cv_source_deadline(source);

    while (topic->planned) {
        CV_CLEANUP(free_metadata) metadata_t *metadata = NULL;
        rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;

        CV_DO(request_metadata(source, topic, deadline_us, &metadata, err));
        if (metadata->topic_cnt == 1)
            error = metadata->topics[0].err;
        if (error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
            return CV_OK;
        for (int i = 0;
             error == RD_KAFKA_RESP_ERR_NO_ERROR && i < metadata->topics[0].partition_cnt; i++)
            cv_offsets_set(partitions, name, metadata->topics[0].partitions[i].id, 0);
        if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
            return CV_OK;
        CV_TRY(wait_or_fail(source, error, "listing of partitions", deadline_us, err), err,
               "topic %s", name);
    }
    return CV_OK;
}

enum cv_code cv_source_find_gone(struct cv_source *source, const struct cv_offsets *wanted,
                                 struct cv_offsets *ret_gone, struct cv_error *err)
{
    /* The metadata of a broker that is starting may lack a topic for a moment. */
    for (int64_t attempt = 1;; attempt++) {
        CV_CLEANUP(cv_offsets_release) struct cv_offsets there = {0};
        const char *topic = "";

        cv_offsets_clear(ret_gone);
        for (size_t i = 0; i < wanted->count; i++) {
            const struct cv_offset *item = &wanted->items[i];

            if (strcmp(item->topic, topic) != 0)
                CV_DO(list_existing(source, item->topic, &there, err));
            topic = item->topic;
            if (!cv_offsets_find(&there, item->topic, item->partition))
                cv_offsets_set(ret_gone, item->topic, item->partition, item->offset);
        }
        if (!ret_gone->count || attempt >= source->options.fetch_offset_attempts)
            return CV_OK;
        CV_DO(cv_source_pause(source, err));
    }
}

static enum cv_code list_matching(struct cv_source *source, int64_t deadline_us,
                                  struct cv_offsets *partitions, struct cv_error *err)
{
    CV_CLEANUP(free_metadata) metadata_t *metadata = NULL;

    CV_DO(request_metadata(source, NULL, deadline_us, &metadata, err));
    for (int i = 0; i < metadata->topic_cnt; i++) {
        const struct rd_kafka_metadata_topic *topic = &metadata->topics[i];

        if (topic->err == RD_KAFKA_RESP_ERR_NO_ERROR &&
            cv_subscription_matches(&source->subscription, topic->topic))
            CV_DO(add_partitions(source, topic, partitions, err));
    }
    return CV_OK;
}

enum cv_code cv_source_list(struct cv_source *source, int64_t deadline_us,
                            struct cv_offsets *ret_partitions, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets partitions = {0};
    const struct cv_subscription *s = &source->subscription;

    if (s->kind == CV_SUBSCRIBE_PATTERN)
        CV_DO(list_matching(source, deadline_us, &partitions, err));
    for (size_t i = 0; i < s->topic_count; i++) {
        if (!cv_topic_is_internal(s->topics[i]))
            CV_DO(list_named(source, s->topics[i], deadline_us, &partitions, err));
    }
    cv_offsets_copy(ret_partitions, &partitions);
    return CV_OK;
}

/* One ListOffsets request per leader. Partitions that were not answered keep an error. */
static rd_kafka_resp_err_t request_offsets(struct cv_source *source,
                                           const struct cv_offsets *wanted, int timeout_ms,
                                           struct cv_offsets *answer, struct cv_offsets *left)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)wanted->count);
    rd_kafka_resp_err_t error;
    rd_kafka_resp_err_t first = RD_KAFKA_RESP_ERR_NO_ERROR;

    for (size_t i = 0; i < wanted->count; i++) {
        const struct cv_offset *item = &wanted->items[i];
        rd_kafka_topic_partition_t *entry =
            rd_kafka_topic_partition_list_add(list, item->topic, item->partition);

        entry->offset = item->offset;
        entry->err = RD_KAFKA_RESP_ERR__IN_PROGRESS;
    }
    error = rd_kafka_offsets_for_times(source->planner, list, timeout_ms);
    for (int i = 0; i < list->cnt; i++) {
        const rd_kafka_topic_partition_t *entry = &list->elems[i];

        if (error == RD_KAFKA_RESP_ERR_NO_ERROR && entry->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
            cv_offsets_set(answer, entry->topic, entry->partition, entry->offset);
            continue;
        }
        cv_offsets_set(left, entry->topic, entry->partition,
                       cv_offsets_find(wanted, entry->topic, entry->partition)->offset);
        if (!first)
            first = entry->err;
    }
    rd_kafka_topic_partition_list_destroy(list);
    return error ? error : first;
}

/* True for answers that mean that the partition is gone. */
static bool is_unknown_partition(rd_kafka_resp_err_t error)
{
    return error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
           error == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
           error == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC || error == RD_KAFKA_RESP_ERR__IN_PROGRESS;
}

static enum cv_code request_all(struct cv_source *source, struct cv_offsets *wanted,
                                int64_t deadline_us, struct cv_offsets *answer,
                                struct cv_error *err)
{
    size_t unknown_attempts = 0;
    int timeout_ms = CV_SOURCE_REQUEST_MS;

    while (wanted->count > 0) {
        CV_CLEANUP(cv_offsets_release) struct cv_offsets left = {0};
        rd_kafka_resp_err_t error = request_offsets(source, wanted, timeout_ms, answer, &left);

        if (left.count == 0) {
            forget_errors(source);
            break;
        }
        if (is_unknown_partition(error)) {
            /* Fresh metadata may know it; a partition that stays unknown is left out. */
            if (++unknown_attempts >= (size_t)source->options.fetch_offset_attempts)
                break;
            error = RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
        }
        CV_DO(wait_or_fail(source, error, "listing of offsets", deadline_us, err));
        timeout_ms = next_timeout(timeout_ms, error);
        cv_offsets_copy(wanted, &left);
    }
    return CV_OK;
}

enum cv_code cv_source_list_times(struct cv_source *source, const struct cv_offsets *timestamps,
                                  int64_t deadline_us, struct cv_offsets *ret_offsets,
                                  struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets wanted = {0};
    CV_CLEANUP(cv_offsets_release) struct cv_offsets answer = {0};

    cv_offsets_copy(&wanted, timestamps);
    CV_DO(request_all(source, &wanted, deadline_us, &answer, err));
    cv_offsets_copy(ret_offsets, &answer);
    return CV_OK;
}

enum cv_code cv_source_list_offsets(struct cv_source *source, const struct cv_offsets *partitions,
                                    int64_t which, int64_t deadline_us,
                                    struct cv_offsets *ret_offsets, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets wanted = {0};

    /* Kafka writes "latest" and "earliest" as the timestamps -1 and -2, the same numbers. */
    cv_offsets_copy(&wanted, partitions);
    for (size_t i = 0; i < wanted.count; i++)
        wanted.items[i].offset = which;
    return cv_source_list_times(source, &wanted, deadline_us, ret_offsets, err);
}
