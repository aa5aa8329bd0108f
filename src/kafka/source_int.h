/* SPDX-License-Identifier: Apache-2.0
 *
 * The source from inside. One thread (the batch thread) calls everything here; librdkafka's own
 * threads only fill its queues. The consumer joins no group: partitions are started and stopped
 * one by one, so no coordinator is asked and no rebalance can happen. */
#ifndef CALVE_KAFKA_SOURCE_INT_H
#define CALVE_KAFKA_SOURCE_INT_H

#include "base/map.h"
#include "base/time.h"
#include "kafka/chunk.h"
#include "kafka/plan.h"
#include "kafka/preauth.h"
#include "kafka/source.h"
#include "kafka/subscription.h"

#include <librdkafka/rdkafka.h>

#define CV_SOURCE_OPEN_US    (30 * CV_US_PER_SECOND) /* for the first answer of a broker */
#define CV_SOURCE_REQUEST_MS 2000                    /* one attempt of a request */
#define CV_SOURCE_TEXT_BYTES 512

struct cv_fetch_partition;

/* A topic that the client knows; lives as long as the source. */
struct cv_fetch_topic {
    char *name;
    rd_kafka_topic_t *handle;               /* of the client; NULL until a partition is read */
    rd_kafka_topic_t *planned;              /* of the planner; NULL for what cannot be a name */
    struct cv_fetch_partition **partitions; /* by id; NULL = not read yet */
    size_t partition_capacity;
    int partitions_known; /* to the client */
};

struct cv_fetch_partition {
    struct cv_topic_partition name; /* first: records point at it */
    struct cv_fetch_topic *topic;
    int64_t handed; /* records before were handed out or passed over: a range may start here */
    int64_t next;   /* records before were taken from the client; [handed, next) is held over */
    int64_t end;    /* of the open range, exclusive */
    bool valid;     /* handed, next and what is held over belong together */
    bool running;   /* the client fetches, and its next record is at `next` */
    bool open;      /* the range is not complete yet */
    bool drop_held;
    bool out_of_range; /* the broker refused the offset */
    bool overrun;      /* a record was not kept, since too much is held over */
    bool suspect;      /* between batches its topic went away or ended before `next` */
    size_t last_index; /* in the chunk numbered last_chunk */
    uint64_t last_chunk;
    void *probe;                       /* while a fingerprint is verified */
    struct cv_fingerprint fingerprint; /* offset -1: none yet */
    bool has_fingerprint;              /* of this batch */
};

/* The open batch. */
struct cv_fetch {
    struct cv_fetch_partition **ranges; /* of this batch */
    size_t range_count;
    size_t range_capacity;
    size_t open_count;
    struct cv_fetch_chunk *current; /* being filled */
    struct cv_fetch_chunk *ready;   /* finished, oldest first */
    struct cv_fetch_chunk **ready_tail;
    struct cv_fetch_chunk *held; /* records beyond their range, oldest first */
    struct cv_fetch_chunk **held_tail;
    size_t held_bytes;
    uint64_t sequence;
    uint64_t chunk_number; /* over all batches */
    size_t taken_records;  /* from the queue since the client was woken */
    size_t taken_bytes;
    bool progressed;
    bool topic_gone;   /* the client lost a topic: every partition is looked at */
    bool attention;    /* a partition is out of range or overflows */
    enum cv_code code; /* what the callback met; CV_OK = nothing */
    struct cv_error *err;
    struct cv_fetch_partition *recent; /* of the last record: they come in runs */
    const rd_kafka_topic_t *recent_handle;
};

/* Commits to the group for monitoring. */
struct cv_lag {
    char *group;
    rd_kafka_t *client; /* made at the first commit */
    rd_kafka_queue_t *answers;
    rd_kafka_topic_partition_list_t *sent;    /* under way */
    rd_kafka_topic_partition_list_t *waiting; /* newer ones, sent after the answer */
    bool under_way;
    int64_t deadline_us;
};

struct cv_source {
    struct cv_source_options options;
    struct cv_subscription subscription;
    void (*warn)(void *context, const char *message);
    void *warn_context;
    bool (*cancelled)(void *context);
    void *cancel_context;
    char *job;
    char *bootstrap;
    char *description;
    char *cluster_id;
    rd_kafka_t *client;  /* fetches, and nothing else */
    rd_kafka_t *planner; /* everything else: a broker answers one connection in order, so a question
                          * would wait for the long poll before it */
    rd_kafka_queue_t *queue; /* of fetched records */
    struct cv_preauth preauth;
    struct cv_map topics; /* name → struct cv_fetch_topic */
    struct cv_chunk_pool *pool;
    size_t memory_bytes;
    size_t partition_count; /* when the source was opened */
    size_t held_bytes_max;
    size_t queued_records_max;
    size_t queued_bytes_max;
    struct cv_trigger_clock clock;
    struct cv_fetch fetch;
    struct cv_fetch_counters counters;
    struct cv_fingerprint *fingerprints;
    size_t fingerprint_capacity;
    struct cv_lag lag;
    char what[CV_SOURCE_TEXT_BYTES];       /* which fingerprint differs */
    char last_error[CV_SOURCE_TEXT_BYTES]; /* what the client said last */
    rd_kafka_resp_err_t last_error_code;
};

/* source.c: the pause between attempts (fetchOffset.retryIntervalMs), which a cancellation ends. */
enum cv_code cv_source_pause(struct cv_source *source, struct cv_error *err);

/* client.c */
/* The client that fetches; its memory depends on the number of partitions. */
enum cv_code cv_source_connect(struct cv_source *source, struct cv_error *err);
/* `group` may be NULL. */
enum cv_code cv_source_new_client(struct cv_source *source, const char *group,
                                  rd_kafka_t **ret_client, struct cv_error *err);
void cv_source_disconnect(struct cv_source *source);
/* Serves the client's own events; last_error may change. */
void cv_source_poll(struct cv_source *source);
void cv_source_warn(struct cv_source *source, const char *format, ...) CV_PRINTF(2, 3);
bool cv_source_is_cancelled(struct cv_source *source);
struct cv_fetch_topic *cv_source_topic(struct cv_source *source, const char *name);
struct cv_fetch_partition *cv_source_partition(struct cv_source *source, const char *topic,
                                               int32_t partition);
/* Whether the same request may succeed a little later. */
bool cv_kafka_is_transient(rd_kafka_resp_err_t error);
/* CV_AUTH, CV_TIMEOUT or CV_KAFKA with what the client knows about the reason. */
enum cv_code cv_source_fail(struct cv_source *source, rd_kafka_resp_err_t error, const char *what,
                            struct cv_error *err);

/* Those of the partitions that do not exist any more, whether subscribed to or not. */
enum cv_code cv_source_find_gone(struct cv_source *source, const struct cv_offsets *wanted,
                                 struct cv_offsets *ret_gone, struct cv_error *err);

/* metadata.c: one attempt each, transport troubles ridden out until `deadline_us` (monotonic). */
enum cv_code cv_source_list(struct cv_source *source, int64_t deadline_us,
                            struct cv_offsets *ret_partitions, struct cv_error *err);
/* Offsets for CV_OFFSET_LATEST or CV_OFFSET_EARLIEST of all `partitions`. A partition that went
 * away is left out. */
enum cv_code cv_source_list_offsets(struct cv_source *source, const struct cv_offsets *partitions,
                                    int64_t which, int64_t deadline_us,
                                    struct cv_offsets *ret_offsets, struct cv_error *err);
/* The offsets in `timestamps` are milliseconds; -1 in the answer: no record that late. */
enum cv_code cv_source_list_times(struct cv_source *source, const struct cv_offsets *timestamps,
                                  int64_t deadline_us, struct cv_offsets *ret_offsets,
                                  struct cv_error *err);
int64_t cv_source_deadline(const struct cv_source *source);

/* lag.c */
void cv_source_poll_lag(struct cv_source *source);   /* warns about commits that failed */
void cv_source_finish_lag(struct cv_source *source); /* waits a moment for those under way */

/* fetch.c */
void cv_fetch_init(struct cv_fetch *fetch);
enum cv_code cv_fetch_start(struct cv_source *source, struct cv_fetch_partition *partition,
                            int64_t offset, rd_kafka_queue_t *queue, struct cv_error *err);
void cv_fetch_stop(struct cv_source *source, struct cv_fetch_partition *partition);
/* Takes what came between batches, so that troubles are known before a batch is planned. */
enum cv_code cv_fetch_look(struct cv_source *source, struct cv_error *err);
void cv_fetch_release(struct cv_source *source);

/* fingerprint.c: suspect partitions whose last record is not the one that was read. */
enum cv_code cv_source_find_recreated(struct cv_source *source, struct cv_offsets *ret_recreated,
                                      struct cv_error *err);

#endif
