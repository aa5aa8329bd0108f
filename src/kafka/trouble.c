/* SPDX-License-Identifier: Apache-2.0
 *
 * What interrupts fetching: ends of partitions, offsets out of range (retention, a topic made
 * anew), broken batches, time. */
#include "kafka/fetch_int.h"

#include <inttypes.h>
#include <stdio.h>

/* Errors that no waiting heals: the batch fails with the place. */
static bool is_final(rd_kafka_resp_err_t error)
{
    switch (error) {
    case RD_KAFKA_RESP_ERR__BAD_MSG:
    case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
    case RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR__FATAL:
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
        return true;
    default:
        return false;
    }
}

static void fail_at(struct cv_source *source, const struct cv_fetch_partition *p,
                    const rd_kafka_message_t *m)
{
    struct cv_fetch *f = &source->fetch;
    bool denied = m->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
                  m->err == RD_KAFKA_RESP_ERR__AUTHENTICATION;

    if (f->code != CV_OK)
        return;
    f->code = denied ? CV_AUTH : CV_KAFKA;
    (void)cv_fail(f->err, f->code, "%s[%" PRId32 "]@%" PRId64 ": %s", p->name.topic,
                  p->name.partition, m->offset, rd_kafka_message_errstr(m));
    if (m->err == RD_KAFKA_RESP_ERR__BAD_MSG || m->err == RD_KAFKA_RESP_ERR__BAD_COMPRESSION)
        cv_hint(f->err,
                "the batch of records is damaged on the broker; restore it there, or skip it "
                "by hand in the checkpoint's offsets");
    else if (m->err == RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED)
        cv_hint(f->err, "this librdkafka (%s) cannot read the compression codec of the topic",
                rd_kafka_version_str());
}

void cv_fetch_on_error(struct cv_source *source, struct cv_fetch_partition *p,
                       const rd_kafka_message_t *m)
{
    if (!p) {
        source->last_error_code = m->err;
        (void)snprintf(source->last_error, sizeof source->last_error, "%s",
                       rd_kafka_message_errstr(m));
        return;
    }
    /* After a record that was not kept, the end of the partition says nothing about `next`. */
    if (!p->running || p->overrun)
        return;
    if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        cv_fetch_pass(source, p, m->offset);
    } else if (m->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) {
        p->out_of_range = true;
        source->fetch.attention = true;
    } else if (is_final(m->err)) {
        if (cv_fetch_wants(p, m->offset)) {
            fail_at(source, p, m);
        } else {
            /* Not of this batch: the next one meets it again. */
            p->valid = false;
        }
    } else {
        source->last_error_code = m->err;
        (void)snprintf(source->last_error, sizeof source->last_error, "%.200s[%" PRId32 "]: %.250s",
                       p->name.topic, p->name.partition, rd_kafka_message_errstr(m));
    }
}

static enum cv_code list_one(struct cv_source *source, const struct cv_fetch_partition *p,
                             int64_t which, int64_t *ret_offset, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets wanted = {0};
    CV_CLEANUP(cv_offsets_release) struct cv_offsets found = {0};

    cv_offsets_set(&wanted, p->name.topic, p->name.partition, 0);
    CV_DO(cv_source_list_offsets(source, &wanted, which, cv_source_deadline(source), &found, err));
    *ret_offset = found.count ? found.items[0].offset : -1;
    return CV_OK;
}

/* Both ends of the log; -1 when the partition is gone, which one answer alone does not show: the
 * metadata of a broker that is starting may lack it. */
static enum cv_code list_ends(struct cv_source *source, const struct cv_fetch_partition *p,
                              int64_t *ret_earliest, int64_t *ret_latest, struct cv_error *err)
{
    for (int64_t attempt = 1;; attempt++) {
        CV_DO(list_one(source, p, CV_OFFSET_EARLIEST, ret_earliest, err));
        CV_DO(list_one(source, p, CV_OFFSET_LATEST, ret_latest, err));
        if ((*ret_earliest >= 0 && *ret_latest >= 0) ||
            attempt >= source->options.fetch_offset_attempts)
            return CV_OK;
        CV_DO(cv_source_pause(source, err));
    }
}

/* What the client asked for is not there. A hole before the log's start is what retention took; an
 * offset behind the log's end means that the topic is another one. */
static enum cv_code report_loss(struct cv_source *source, struct cv_fetch_partition *p,
                                int64_t earliest, int64_t latest, struct cv_error *err)
{
    const char *reason = earliest < 0       ? "the partition is gone"
                         : p->next > latest ? "the topic was probably created anew"
                                            : "retention removed them";
    int64_t lost = earliest > p->next ? CV_MIN(earliest, p->end) - p->next : p->end - p->next;

    char there[64] = "nothing";

    if (earliest >= 0)
        (void)snprintf(there, sizeof there, "%" PRId64 " to %" PRId64, earliest, latest);
    if (source->options.fail_on_data_loss) {
        (void)cv_fail(err, CV_DATA_LOSS,
                      "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE: %s[%" PRId32
                      "]: records from %" PRId64 " up to %" PRId64
                      " were wanted, the broker has %s; %s",
                      p->name.topic, p->name.partition, p->next, p->end, there, reason);
        cv_hint(err, "set failOnDataLoss: false to go on with what is still there");
        return CV_DATA_LOSS;
    }
    source->counters.lost_records += (uint64_t)lost;
    cv_source_warn(source,
                   "%s[%" PRId32 "]: %" PRId64 " records from offset %" PRId64
                   " are lost; the broker has %s; %s",
                   p->name.topic, p->name.partition, lost, p->next, there, reason);
    return CV_OK;
}

static enum cv_code settle_out_of_range(struct cv_source *source, struct cv_fetch_partition *p,
                                        struct cv_error *err)
{
    int64_t earliest = -1;
    int64_t latest = -1;

    cv_fetch_stop(source, p);
    if (!p->open) {
        /* The next plan and the batch that wants these offsets decide. */
        p->valid = false;
        p->suspect = true;
        return CV_OK;
    }
    CV_DO(list_ends(source, p, &earliest, &latest, err));
    if (earliest >= 0 && earliest <= p->next && p->next <= latest)
        return cv_fetch_start(source, p, p->next, source->queue, err);
    CV_DO(report_loss(source, p, earliest, latest, err));
    cv_fetch_pass(source, p, earliest > p->next ? CV_MIN(earliest, p->end) : p->end);
    if (p->open)
        return cv_fetch_start(source, p, p->next, source->queue, err);
    p->valid = false;
    return CV_OK;
}

/* What was found about the source as a whole. */
struct findings {
    bool gone; /* the client lost a topic */
    bool full; /* too much is held over */
};

static enum cv_code attend(struct cv_source *source, struct cv_fetch_partition *p,
                           const struct findings *findings, struct cv_error *err)
{
    if (findings->gone && p->running) {
        p->suspect = true;
        p->out_of_range |= p->open; /* asks whether it is there */
    }
    if (p->out_of_range) {
        p->out_of_range = false;
        CV_DO(settle_out_of_range(source, p, err));
    }
    /* What is held over stays good; the batch that takes it starts the client again. */
    if (findings->full && !p->open)
        cv_fetch_stop(source, p);
    return CV_OK;
}

enum cv_code cv_fetch_attend(struct cv_source *source, struct cv_error *err)
{
    struct cv_fetch *f = &source->fetch;
    struct findings findings = {f->topic_gone, f->held_bytes > source->held_bytes_max};
    const struct cv_map_slot *slot;
    size_t position = 0;

    f->topic_gone = false;
    f->attention = false;
    while ((slot = cv_map_next(&source->topics, &position))) {
        struct cv_fetch_topic *topic = slot->value;

        for (size_t i = 0; i < topic->partition_capacity; i++) {
            if (topic->partitions[i])
                CV_DO(attend(source, topic->partitions[i], &findings, err));
        }
    }
    return CV_OK;
}

enum cv_code cv_fetch_time_out(struct cv_source *source, struct cv_error *err)
{
    const struct cv_fetch *f = &source->fetch;

    cv_source_poll(source);
    for (size_t i = 0; i < f->range_count; i++) {
        const struct cv_fetch_partition *p = f->ranges[i];

        if (!p->open)
            continue;
        (void)cv_fail(err, CV_TIMEOUT,
                      "%s[%" PRId32 "]@%" PRId64 ": no record within %" PRId64 " s, %" PRId64
                      " more were expected (%zu partitions wait), brokers %.200s%s%s",
                      p->name.topic, p->name.partition, p->next,
                      source->options.poll_timeout_us / CV_US_PER_SECOND, p->end - p->next,
                      f->open_count, source->bootstrap, source->last_error[0] ? "; last: " : "",
                      source->last_error);
        if (err)
            err->flags |= CV_ERROR_RETRIABLE;
        return CV_TIMEOUT;
    }
    return cv_fail(err, CV_INTERNAL, "a batch waits for no partition");
}

/* A request to each leader wakes the thread that fetches from it; the answer is of no interest. */
void cv_fetch_wake(struct cv_source *source)
{
    const struct cv_fetch *f = &source->fetch;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(16);

    for (size_t i = 0; i < f->range_count; i++) {
        const struct cv_fetch_partition *p = f->ranges[i];

        if (p->open && p->running)
            rd_kafka_topic_partition_list_add(list, p->name.topic, p->name.partition)->offset =
                CV_OFFSET_EARLIEST;
    }
    if (list->cnt > 0)
        (void)rd_kafka_offsets_for_times(source->client, list, 0);
    rd_kafka_topic_partition_list_destroy(list);
}
