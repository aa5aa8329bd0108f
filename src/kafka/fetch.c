/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading exact ranges. Partitions stay with the client from batch to batch, positioned where the
 * last range ended: nothing is paused, sought or fetched twice. A record that arrives before its
 * range is open is held over and handed out in the batch that it belongs to.
 *
 *     librdkafka's queue ──drain──▶ current chunk ──▶ ready chunks ──▶ fetch_next
 *                            └────▶ held chunks (beyond `end`) ──fetch_begin──▶ current chunk …
 *
 * What is in memory is bounded by the limits of the client's queue: small records are taken all at
 * once, so twice (queued and copied), large ones in portions, so little more than once. */
#include "kafka/fetch_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define WAIT_SLICE_MS      20 /* between looks at the cancellation and at positions */
#define TAKE_RECORDS       512
#define LARGE_RECORD_BYTES 256
#define WAKE_US            (250 * CV_US_PER_MS) /* without progress */
#define GATHER_US          2000 /* a chunk that is not full waits so long for more records */

static void append_list(struct cv_fetch_chunk ***tail, struct cv_fetch_chunk *chunk)
{
    chunk->next = NULL;
    **tail = chunk;
    *tail = &chunk->next;
}

static struct cv_fetch_chunk *take_list(struct cv_fetch_chunk **head, struct cv_fetch_chunk ***tail)
{
    struct cv_fetch_chunk *first = *head;

    *head = NULL;
    *tail = head;
    return first;
}

static void release_list(struct cv_fetch_chunk *chunk)
{
    while (chunk) {
        struct cv_fetch_chunk *next = chunk->next;

        chunk->chunk.release(&chunk->chunk);
        chunk = next;
    }
}

/* Remembers the last record of each partition in the chunk, for the fingerprints. The CRC is made
 * here, once per partition and chunk, since the chunk may be gone when the range ends. */
static void note_fingerprints(struct cv_source *source, const struct cv_fetch_chunk *chunk)
{
    struct cv_fetch *f = &source->fetch;

    for (size_t i = 0; i < f->range_count; i++) {
        struct cv_fetch_partition *p = f->ranges[i];
        const struct cv_record *r;

        if (p->last_chunk != f->chunk_number)
            continue;
        r = &chunk->records[p->last_index];
        p->fingerprint = (struct cv_fingerprint){p->name.topic, p->name.partition, r->offset,
                                                 r->timestamp_ms, cv_record_crc(r)};
        p->has_fingerprint = true;
    }
}

/* Closes the chunk that is being filled. */
static void finish_current(struct cv_source *source)
{
    struct cv_fetch *f = &source->fetch;
    struct cv_fetch_chunk *chunk = cv_steal(f->current);

    if (!chunk)
        return;
    note_fingerprints(source, chunk);
    chunk->chunk.sequence = f->sequence++;
    source->counters.records += chunk->chunk.count;
    source->counters.bytes += chunk->chunk.bytes;
    append_list(&f->ready_tail, chunk);
}

static void close_range(struct cv_source *source, struct cv_fetch_partition *p)
{
    p->open = false;
    p->handed = p->end;
    if (p->next < p->end)
        p->next = p->end;
    source->fetch.open_count--;
}

static inline void pass_to(struct cv_source *source, struct cv_fetch_partition *p, int64_t next)
{
    if (next > p->next)
        p->next = next;
    if (p->open && p->next >= p->end)
        close_range(source, p);
}

static struct cv_record *append_current(struct cv_source *source, struct cv_fetch_partition *p,
                                        const struct cv_record *record)
{
    struct cv_fetch *f = &source->fetch;

    if (f->current &&
        !cv_chunk_has_room(f->current, (size_t)record->key_length + record->value_length))
        finish_current(source);
    if (!f->current) {
        f->current = cv_chunk_get(source->pool);
        f->chunk_number++;
    }
    p->last_chunk = f->chunk_number;
    p->last_index = f->current->chunk.count;
    return cv_chunk_append(f->current, record);
}

static struct cv_record *append_held(struct cv_source *source, struct cv_fetch_partition *p,
                                     const struct cv_record *record)
{
    struct cv_fetch *f = &source->fetch;
    struct cv_fetch_chunk *last = f->held ? cv_fetch_last_held(f) : NULL;
    size_t bytes = (size_t)record->key_length + record->value_length;

    if (!last || !cv_chunk_has_room(last, bytes)) {
        last = cv_chunk_get(source->pool);
        append_list(&f->held_tail, last);
    }
    f->held_bytes += bytes + sizeof *record;
    return cv_chunk_append(last, record);
}

/* Into the batch if its range is open, else held over for a later one. */
static struct cv_record *route(struct cv_source *source, struct cv_fetch_partition *p,
                               const struct cv_record *record)
{
    if (cv_fetch_wants(p, record->offset))
        return append_current(source, p, record);
    return append_held(source, p, record);
}

static struct cv_fetch_partition *find_partition(struct cv_fetch *f, const rd_kafka_message_t *m)
{
    struct cv_fetch_topic *topic;

    if (m->rkt == f->recent_handle && f->recent && f->recent->name.partition == m->partition)
        return f->recent;
    topic = rd_kafka_topic_opaque(m->rkt);
    f->recent_handle = m->rkt;
    f->recent = topic && (size_t)m->partition < topic->partition_capacity
                    ? topic->partitions[m->partition]
                    : NULL;
    return f->recent;
}

/* One message of the queue; called for every record, so it does nothing twice. */
static void on_message(rd_kafka_message_t *m, void *context)
{
    struct cv_source *source = context;
    struct cv_fetch *f = &source->fetch;
    struct cv_fetch_partition *p = m->rkt ? find_partition(f, m) : NULL;
    rd_kafka_timestamp_type_t type;
    struct cv_record record;
    struct cv_record *copy;

    if (m->err) {
        cv_fetch_on_error(source, p, m);
        return;
    }
    if (!p || !p->running || p->overrun || m->offset < p->next)
        return;
    if (f->held_bytes > source->held_bytes_max && !cv_fetch_wants(p, m->offset)) {
        /* Not kept: the batch that wants it starts the client again at this offset. */
        pass_to(source, p, m->offset);
        p->overrun = true;
        f->attention = true;
        return;
    }
    record.key = m->key;
    record.value = m->payload;
    record.key_length = (uint32_t)m->key_len;
    record.value_length = (uint32_t)m->len;
    record.offset = m->offset;
    record.timestamp_ms = rd_kafka_message_timestamp(m, &type);
    record.timestamp_type = (int8_t)((int)type - 1); /* NOT_AVAILABLE = 0, CREATE_TIME = 1, … */
    record.source = &p->name;
    record.headers = NULL;
    record.header_count = 0;
    copy = route(source, p, &record);
    if (source->options.include_headers)
        cv_chunk_add_headers(cv_fetch_wants(p, m->offset) ? f->current : cv_fetch_last_held(f),
                             copy, m);
    f->taken_records++;
    f->taken_bytes += m->len + m->key_len;
    f->progressed = true;
    pass_to(source, p, m->offset + 1);
}

struct cv_fetch_chunk *cv_fetch_last_held(struct cv_fetch *f)
{
    return (struct cv_fetch_chunk *)((char *)f->held_tail - offsetof(struct cv_fetch_chunk, next));
}

void cv_fetch_pass(struct cv_source *source, struct cv_fetch_partition *p, int64_t next)
{
    source->fetch.progressed |= next > p->next;
    pass_to(source, p, next);
}

void cv_fetch_init(struct cv_fetch *fetch)
{
    fetch->ready_tail = &fetch->ready;
    fetch->held_tail = &fetch->held;
}

/* The client asks for a partition that it does not know only after a second, unless told. */
static void introduce(struct cv_source *source, struct cv_fetch_topic *topic, int32_t id)
{
    const struct rd_kafka_metadata *metadata;

    if (id < topic->partitions_known ||
        rd_kafka_metadata(source->client, 0, topic->handle, &metadata, CV_SOURCE_REQUEST_MS) !=
            RD_KAFKA_RESP_ERR_NO_ERROR)
        return;
    if (metadata->topic_cnt == 1)
        topic->partitions_known = metadata->topics[0].partition_cnt;
    rd_kafka_metadata_destroy(metadata);
}

enum cv_code cv_fetch_start(struct cv_source *source, struct cv_fetch_partition *p, int64_t offset,
                            rd_kafka_queue_t *queue, struct cv_error *err)
{
    introduce(source, p->topic, p->name.partition);
    if (rd_kafka_consume_start_queue(p->topic->handle, p->name.partition, offset, queue) != 0) {
        char what[320];

        (void)snprintf(what, sizeof what, "start of %.249s[%" PRId32 "]", p->name.topic,
                       p->name.partition);
        return cv_source_fail(source, rd_kafka_last_error(), what, err);
    }
    p->running = true;
    p->next = offset;
    return CV_OK;
}

void cv_fetch_stop(struct cv_source *source, struct cv_fetch_partition *p)
{
    if (!p->running)
        return;
    (void)rd_kafka_consume_stop(p->topic->handle, p->name.partition);
    p->running = false;
    p->overrun = false;
}

/* Takes up where the last range ended if the new one begins there, else positions anew. */
static enum cv_code open_range(struct cv_source *source, struct cv_fetch_partition *p,
                               int64_t start, int64_t end, struct cv_error *err)
{
    struct cv_fetch *f = &source->fetch;

    if (!p->valid || p->handed != start) {
        cv_fetch_stop(source, p);
        p->drop_held = true;
        p->handed = start;
        p->next = start;
        p->valid = true;
    }
    p->end = end;
    p->has_fingerprint = false;
    p->last_chunk = 0;
    cv_array_reserve(&f->ranges, &f->range_capacity, f->range_count + 1);
    f->ranges[f->range_count++] = p;
    p->open = true;
    f->open_count++;
    if (!p->running && p->next < end)
        return cv_fetch_start(source, p, p->next, source->queue, err);
    return CV_OK;
}

static struct cv_fetch_partition *partition_of(const struct cv_record *record)
{
    /* The name is the first member of the partition. */
    return (struct cv_fetch_partition *)(uintptr_t)record->source;
}

/* True if none of the records is wanted now and all stay good. */
static bool stays_held(const struct cv_fetch_chunk *chunk)
{
    for (size_t i = 0; i < chunk->chunk.count; i++) {
        const struct cv_record *record = &chunk->records[i];
        const struct cv_fetch_partition *p = partition_of(record);

        if (p->drop_held || !p->valid || cv_fetch_wants(p, record->offset))
            return false;
    }
    return true;
}

static void replay_chunk(struct cv_source *source, const struct cv_fetch_chunk *chunk)
{
    struct cv_fetch *f = &source->fetch;

    for (size_t i = 0; i < chunk->chunk.count; i++) {
        const struct cv_record *record = &chunk->records[i];
        struct cv_fetch_partition *p = partition_of(record);
        bool now = cv_fetch_wants(p, record->offset);
        struct cv_record *copy;

        if (p->drop_held || !p->valid)
            continue;
        copy = route(source, p, record);
        cv_chunk_copy_headers(now ? f->current : cv_fetch_last_held(f), copy, record);
    }
}

/* Hands the records held over to the ranges that are open now. */
static void replay_held(struct cv_source *source)
{
    struct cv_fetch *f = &source->fetch;
    struct cv_fetch_chunk *chunk = take_list(&f->held, &f->held_tail);
    struct cv_fetch_chunk *next;

    f->held_bytes = 0;
    for (; chunk; chunk = next) {
        next = chunk->next;
        if (stays_held(chunk)) {
            f->held_bytes += chunk->chunk.bytes + chunk->chunk.count * sizeof *chunk->records;
            append_list(&f->held_tail, chunk);
        } else {
            replay_chunk(source, chunk);
            chunk->chunk.release(&chunk->chunk);
        }
    }
    for (size_t i = 0; i < f->range_count; i++) {
        f->ranges[i]->drop_held = false;
        pass_to(source, f->ranges[i], f->ranges[i]->handed);
    }
}

static enum cv_code open_ranges(struct cv_source *source, const struct cv_offsets *start,
                                const struct cv_offsets *end, struct cv_error *err)
{
    for (size_t i = 0; i < end->count; i++) {
        const struct cv_offset *to = &end->items[i];
        const struct cv_offset *from = cv_offsets_find(start, to->topic, to->partition);

        if (!from)
            return cv_fail(err, CV_INTERNAL, "%s[%" PRId32 "]: the range has an end but no start",
                           to->topic, to->partition);
        if (from->offset < to->offset)
            CV_DO(open_range(source, cv_source_partition(source, to->topic, to->partition),
                             from->offset, to->offset, err));
    }
    return CV_OK;
}

enum cv_code cv_source_fetch_begin(struct cv_source *source, const struct cv_offsets *start,
                                   const struct cv_offsets *end, struct cv_error *err)
{
    struct cv_fetch *f = &source->fetch;
    enum cv_code code;

    cv_source_fetch_cancel(source);
    f->range_count = 0;
    f->sequence = 0;
    f->code = CV_OK;
    code = open_ranges(source, start, end, err);
    if (code != CV_OK) {
        cv_source_fetch_cancel(source);
        return code;
    }
    replay_held(source);
    return CV_OK;
}

/* Markers and aborted records deliver nothing, but the client's position moves over them. */
static void look_at_positions(struct cv_source *source)
{
    struct cv_fetch *f = &source->fetch;
    rd_kafka_topic_partition_list_t *list;

    if (f->open_count == 0)
        return;
    list = rd_kafka_topic_partition_list_new((int)f->open_count);
    for (size_t i = 0; i < f->range_count; i++) {
        if (f->ranges[i]->open && f->ranges[i]->running && !f->ranges[i]->overrun)
            (void)rd_kafka_topic_partition_list_add(list, f->ranges[i]->name.topic,
                                                    f->ranges[i]->name.partition);
    }
    if (list->cnt > 0 && rd_kafka_position(source->client, list) == RD_KAFKA_RESP_ERR_NO_ERROR) {
        for (int i = 0; i < list->cnt; i++) {
            const rd_kafka_topic_partition_t *item = &list->elems[i];

            if (item->offset >= 0 && item->err == RD_KAFKA_RESP_ERR_NO_ERROR)
                cv_fetch_pass(source, cv_source_partition(source, item->topic, item->partition),
                              item->offset);
        }
    }
    rd_kafka_topic_partition_list_destroy(list);
}

/* Small records: everything that is queued in one go, which costs least per record. */
static void take_all(struct cv_source *source, int timeout_ms)
{
    (void)rd_kafka_consume_callback_queue(source->queue, timeout_ms, on_message, source);
}

/* Large records: only so many that what was taken stays small beside what is queued, since the
 * bytes of a queue and of the copies would add up. */
static void take_some(struct cv_source *source, int timeout_ms)
{
    rd_kafka_message_t *messages[TAKE_RECORDS];
    size_t queued = rd_kafka_queue_length(source->queue);
    ssize_t count;

    /* The call waits until the array is full, so it is no larger than what is there. */
    count = rd_kafka_consume_batch_queue(source->queue, queued ? 0 : timeout_ms, messages,
                                         CV_MIN(CV_MAX(queued, 1), (size_t)TAKE_RECORDS));
    for (ssize_t i = 0; i < count; i++) {
        on_message(messages[i], source);
        rd_kafka_message_destroy(messages[i]);
    }
}

/* Takes records from the queue; waits up to `timeout_ms` for the first. */
static enum cv_code drain(struct cv_source *source, int timeout_ms, struct cv_error *err)
{
    struct cv_fetch *f = &source->fetch;

    f->err = err;
    f->code = CV_OK;
    if (f->taken_bytes > f->taken_records * LARGE_RECORD_BYTES)
        take_some(source, timeout_ms);
    else
        take_all(source, timeout_ms);
    f->err = NULL;
    CV_DO(f->code);
    if (f->taken_records >= source->queued_records_max / 2 ||
        f->taken_bytes >= source->queued_bytes_max / 2) {
        cv_fetch_wake(source);
        /* The mean size is kept. */
        f->taken_bytes /= CV_MAX(f->taken_records, 1);
        f->taken_records = 1;
    }
    return f->attention ? cv_fetch_attend(source, err) : CV_OK;
}

enum cv_code cv_fetch_look(struct cv_source *source, struct cv_error *err)
{
    /* What is held over already shows that there is something to read. */
    return source->fetch.held ? CV_OK : drain(source, 0, err);
}

static struct cv_fetch_chunk *pop_ready(struct cv_fetch *f)
{
    struct cv_fetch_chunk *chunk = f->ready;

    if (chunk) {
        f->ready = chunk->next;
        if (!f->ready)
            f->ready_tail = &f->ready;
    }
    return chunk;
}

/* While nothing comes: reads what the client says, and wakes it now and then. */
static void nudge(struct cv_source *source, int64_t *wake_us)
{
    cv_source_poll(source);
    if (cv_monotonic_us() < *wake_us)
        return;
    cv_fetch_wake(source);
    *wake_us = cv_monotonic_us() + WAKE_US;
}

static enum cv_code wait_for_chunk(struct cv_source *source, bool (*cancelled)(void *),
                                   void *context, struct cv_error *err)
{
    struct cv_fetch *f = &source->fetch;
    int64_t deadline = cv_source_deadline(source);
    int64_t wake = cv_monotonic_us() + WAKE_US;
    int64_t gather = 0;
    int timeout_ms = 0; /* what is there already may complete the ranges */

    while (!f->ready && f->open_count > 0) {
        f->progressed = false;
        CV_DO(drain(source, timeout_ms, err));
        if (!f->progressed)
            look_at_positions(source);
        if (f->progressed)
            deadline = cv_source_deadline(source);
        else if (!f->current)
            nudge(source, &wake);
        timeout_ms = f->current ? 1 : WAIT_SLICE_MS;
        if ((cancelled && cancelled(context)) || cv_source_is_cancelled(source))
            return cv_fail(err, CV_CANCELLED, "fetching: cancelled");
        if (f->current && gather == 0)
            gather = cv_monotonic_us() + GATHER_US;
        if (f->current && cv_monotonic_us() >= gather)
            break;
        if (cv_monotonic_us() > deadline)
            return cv_fetch_time_out(source, err);
    }
    return CV_OK;
}

enum cv_code cv_source_fetch_next(struct cv_source *source, bool (*cancelled)(void *),
                                  void *context, struct cv_chunk **ret_chunk, struct cv_error *err)
{
    struct cv_fetch *f = &source->fetch;
    struct cv_fetch_chunk *chunk;

    if (cancelled && cancelled(context))
        return cv_fail(err, CV_CANCELLED, "fetching: cancelled");
    if (!f->ready && f->open_count > 0)
        CV_DO(wait_for_chunk(source, cancelled, context, err));
    if (!f->ready)
        finish_current(source);
    chunk = pop_ready(f);
    *ret_chunk = chunk ? &chunk->chunk : NULL;
    return CV_OK;
}

void cv_source_fetch_cancel(struct cv_source *source)
{
    struct cv_fetch *f = &source->fetch;

    release_list(take_list(&f->ready, &f->ready_tail));
    if (f->current)
        f->current->chunk.release(&cv_steal(f->current)->chunk);
    for (size_t i = 0; i < f->range_count; i++) {
        struct cv_fetch_partition *p = f->ranges[i];

        /* A range that was cut short is read again from its start: nothing of it is kept. */
        if (p->open) {
            cv_fetch_stop(source, p);
            p->open = false;
            p->valid = false;
        }
    }
    f->open_count = 0;
}

void cv_fetch_release(struct cv_source *source)
{
    const struct cv_map_slot *slot;
    size_t position = 0;

    cv_source_fetch_cancel(source);
    while ((slot = cv_map_next(&source->topics, &position))) {
        struct cv_fetch_topic *topic = slot->value;

        for (size_t i = 0; i < topic->partition_capacity; i++) {
            if (topic->partitions[i])
                cv_fetch_stop(source, topic->partitions[i]);
        }
    }
    release_list(take_list(&source->fetch.held, &source->fetch.held_tail));
    free(source->fetch.ranges);
}
