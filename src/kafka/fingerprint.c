/* SPDX-License-Identifier: Apache-2.0
 *
 * Fingerprints of the last records read: they tell a topic from one of the same name that was
 * created later, which offsets alone cannot (librdkafka 2.0 knows no topic ids). */
#include "codec/hash.h"
#include "kafka/fetch_int.h"

#include <inttypes.h>
#include <stdlib.h>

uint32_t cv_record_crc(const struct cv_record *record)
{
    /* Lengths tell an empty key from a null one and where the key ends. */
    int64_t lengths[2] = {record->key ? (int64_t)record->key_length : -1,
                          record->value ? (int64_t)record->value_length : -1};
    uint32_t parts[3] = {
        cv_crc32c(lengths, sizeof lengths),
        record->key ? cv_crc32c(record->key, record->key_length) : 0,
        record->value ? cv_crc32c(record->value, record->value_length) : 0,
    };

    return cv_crc32c(parts, sizeof parts);
}

const struct cv_fingerprint *cv_source_fingerprints(const struct cv_source *source,
                                                    size_t *ret_count)
{
    struct cv_source *s = (struct cv_source *)(uintptr_t)source; /* the array is a cache */
    const struct cv_fetch *f = &source->fetch;
    size_t count = 0;

    cv_array_reserve(&s->fingerprints, &s->fingerprint_capacity, f->range_count + 1);
    for (size_t i = 0; i < f->range_count; i++) {
        if (f->ranges[i]->has_fingerprint)
            s->fingerprints[count++] = f->ranges[i]->fingerprint;
    }
    *ret_count = count;
    return source->fingerprints;
}

/* One record to be read again. */
struct probe {
    const struct cv_fingerprint *wanted;
    struct cv_fetch_partition *partition;
    bool done;
    bool differs;
};

struct verification {
    struct probe *probes;
    size_t count;
    size_t left;
};

static struct probe *find_probe(const rd_kafka_message_t *m)
{
    const struct cv_fetch_topic *topic = m->rkt ? rd_kafka_topic_opaque(m->rkt) : NULL;

    if (!topic || (size_t)m->partition >= topic->partition_capacity ||
        !topic->partitions[m->partition])
        return NULL;
    return topic->partitions[m->partition]->probe;
}

/* A record that compaction removed since, or that is behind the end, proves nothing. */
static void on_probe(rd_kafka_message_t *m, void *context)
{
    struct verification *v = context;
    struct probe *probe = find_probe(m);
    rd_kafka_timestamp_type_t type;
    struct cv_record record = {0};

    if (!probe || probe->done ||
        (m->err && m->err != RD_KAFKA_RESP_ERR__PARTITION_EOF &&
         m->err != RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET))
        return;
    if (!m->err && m->offset < probe->wanted->offset)
        return;
    if (!m->err && m->offset == probe->wanted->offset) {
        record.key = m->key;
        record.value = m->payload;
        record.key_length = (uint32_t)m->key_len;
        record.value_length = (uint32_t)m->len;
        probe->differs = rd_kafka_message_timestamp(m, &type) != probe->wanted->timestamp_ms ||
                         cv_record_crc(&record) != probe->wanted->crc;
    }
    probe->done = true;
    v->left--;
}

static enum cv_code run_probes(struct cv_source *source, struct verification *v,
                               struct cv_error *err)
{
    rd_kafka_queue_t *queue = rd_kafka_queue_new(source->client);
    int64_t deadline = cv_source_deadline(source);
    enum cv_code code = CV_OK;

    for (size_t i = 0; i < v->count && code == CV_OK; i++) {
        struct probe *probe = &v->probes[i];

        if (probe->done)
            continue;
        cv_fetch_stop(source, probe->partition);
        probe->partition->probe = probe;
        code = cv_fetch_start(source, probe->partition, probe->wanted->offset, queue, err);
    }
    while (code == CV_OK && v->left > 0) {
        (void)rd_kafka_consume_callback_queue(queue, 20, on_probe, v);
        cv_source_poll(source);
        if (cv_source_is_cancelled(source))
            code = cv_fail(err, CV_CANCELLED, "verification of positions: cancelled");
        else if (cv_monotonic_us() > deadline)
            code = cv_source_fail(source, RD_KAFKA_RESP_ERR__TIMED_OUT,
                                  "reading of the last records of the previous run", err);
    }
    for (size_t i = 0; i < v->count; i++) {
        if (v->probes[i].partition) {
            cv_fetch_stop(source, v->probes[i].partition);
            v->probes[i].partition->probe = NULL;
        }
    }
    rd_kafka_queue_destroy(queue);
    return code;
}

/* Decides by the offsets alone where that is possible; returns false at the first difference. */
static bool prepare_probes(struct cv_source *source, struct verification *v,
                           const struct cv_offsets *earliest, const struct cv_offsets *latest,
                           size_t *ret_differing)
{
    for (size_t i = 0; i < v->count; i++) {
        struct probe *probe = &v->probes[i];
        const struct cv_fingerprint *wanted = probe->wanted;
        const struct cv_offset *first = cv_offsets_find(earliest, wanted->topic, wanted->partition);
        const struct cv_offset *end = cv_offsets_find(latest, wanted->topic, wanted->partition);

        if (first && end && end->offset <= wanted->offset) {
            *ret_differing = i;
            return false;
        }
        if (!first || !end || wanted->offset < first->offset) {
            probe->done = true; /* gone, or removed by retention */
            continue;
        }
        probe->partition = cv_source_partition(source, wanted->topic, wanted->partition);
        probe->partition->valid = false;
        v->left++;
    }
    return true;
}

static enum cv_code list_both(struct cv_source *source, const struct cv_fingerprint *fingerprints,
                              size_t count, struct cv_offsets *earliest, struct cv_offsets *latest,
                              struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets listed = {0};
    CV_CLEANUP(cv_offsets_release) struct cv_offsets known = {0};
    int64_t deadline = cv_source_deadline(source);

    CV_DO(cv_source_list(source, deadline, &listed, err));
    for (size_t i = 0; i < count; i++) {
        if (cv_offsets_find(&listed, fingerprints[i].topic, fingerprints[i].partition))
            cv_offsets_set(&known, fingerprints[i].topic, fingerprints[i].partition, 0);
    }
    CV_DO(cv_source_list_offsets(source, &known, CV_OFFSET_EARLIEST, deadline, earliest, err));
    return cv_source_list_offsets(source, &known, CV_OFFSET_LATEST, deadline, latest, err);
}

static void describe(char *text, size_t size, const struct cv_fingerprint *f)
{
    (void)snprintf(text, size, "%.249s[%" PRId32 "]@%" PRId64, f->topic, f->partition, f->offset);
}

static enum cv_code verify(struct cv_source *source, struct verification *v,
                           const struct cv_fingerprint *fingerprints, size_t *ret_differing,
                           bool *ret_same, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets earliest = {0};
    CV_CLEANUP(cv_offsets_release) struct cv_offsets latest = {0};

    CV_DO(list_both(source, fingerprints, v->count, &earliest, &latest, err));
    *ret_same = prepare_probes(source, v, &earliest, &latest, ret_differing);
    if (!*ret_same)
        return CV_OK;
    CV_DO(run_probes(source, v, err));
    for (size_t i = 0; i < v->count; i++) {
        if (v->probes[i].differs) {
            *ret_differing = i;
            *ret_same = false;
            break;
        }
    }
    return CV_OK;
}

enum cv_code cv_source_verify_fingerprints(struct cv_source *source,
                                           const struct cv_fingerprint *fingerprints, size_t count,
                                           bool *ret_same, const char **ret_what,
                                           struct cv_error *err)
{
    struct verification v = {cv_alloc((count + 1) * sizeof *v.probes), count, 0};
    size_t differing = 0;
    bool same = true;
    enum cv_code code;

    for (size_t i = 0; i < count; i++)
        v.probes[i].wanted = &fingerprints[i];
    code = verify(source, &v, fingerprints, &differing, &same, err);
    free(v.probes);
    if (code != CV_OK)
        return code;
    if (!same)
        describe(source->what, sizeof source->what, &fingerprints[differing]);
    *ret_same = same;
    *ret_what = same ? "" : source->what;
    return CV_OK;
}

static enum cv_code check_suspect(struct cv_source *source, struct cv_fetch_partition *p,
                                  struct cv_offsets *recreated, struct cv_error *err)
{
    struct cv_fingerprint print = p->fingerprint;
    const char *what;
    bool same = true;

    if (!p->suspect)
        return CV_OK;
    if (print.offset >= 0)
        CV_DO(cv_source_verify_fingerprints(source, &print, 1, &same, &what, err));
    p->suspect = false;
    if (!same) {
        p->fingerprint.offset = -1;
        cv_offsets_set(recreated, p->name.topic, p->name.partition, 0);
    }
    return CV_OK;
}

enum cv_code cv_source_find_recreated(struct cv_source *source, struct cv_offsets *ret_recreated,
                                      struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets recreated = {0};
    const struct cv_map_slot *slot;
    size_t position = 0;

    while ((slot = cv_map_next(&source->topics, &position))) {
        struct cv_fetch_topic *topic = slot->value;

        for (size_t i = 0; i < topic->partition_capacity; i++) {
            if (topic->partitions[i])
                CV_DO(check_suspect(source, topic->partitions[i], &recreated, err));
        }
    }
    cv_offsets_copy(ret_recreated, &recreated);
    return CV_OK;
}
