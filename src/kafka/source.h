/* SPDX-License-Identifier: Apache-2.0
 *
 * The Kafka source: options under Spark's names, subscription, planning of batches by Spark's
 * arithmetic, and fetching of exactly the planned range as record chunks. librdkafka stays behind
 * this folder. One thread calls these functions; chunks may be read and released by others. */
#ifndef CALVE_KAFKA_SOURCE_H
#define CALVE_KAFKA_SOURCE_H

#include "batch/record.h"
#include "config/option.h"
#include "kafka/offsets.h"

/* Section `source` of the job file. */
struct cv_source_options {
    const char *subscribe;
    const char *subscribe_pattern;
    const char *assign;
    const char *starting_offsets;
    const char *starting_offsets_by_timestamp;
    const char *starting_timestamp;
    int starting_strategy; /* 0 error, 1 latest */
    bool fail_on_data_loss;
    int64_t max_offsets_per_trigger; /* 0 = none */
    int64_t min_offsets_per_trigger; /* 0 = none */
    int64_t max_trigger_delay_us;
    bool include_headers;
    const char *group_id_prefix;
    int64_t fetch_offset_attempts;
    int64_t fetch_offset_retry_us;
    int64_t poll_timeout_us;
    struct cv_properties kafka; /* kafka.*, Java names, prefix taken off */
};

extern const struct cv_option_table cv_source_option_table;

/* Checks that need no broker: exactly one subscription, JSON forms, forbidden and unknown kafka.*
 * settings (all named at once), min <= max. Warnings (Java-only tuning accepted, group.id set) go
 * to `warn`, which may be NULL. */
enum cv_code cv_source_options_check(const struct cv_source_options *options,
                                     void (*warn)(void *context, const char *message),
                                     void *context, struct cv_error *err);

struct cv_source;

struct cv_source_config {
    const struct cv_source_options *options;
    const char *job;     /* for client.id and the generated group id */
    size_t memory_bytes; /* share of the budget for fetched and queued records */
    void (*warn)(void *context, const char *message); /* data loss that was accepted, … */
    void *warn_context;
    bool (*cancelled)(void *context); /* may be NULL; ends waiting for a broker: CV_CANCELLED */
    void *cancel_context;
};

/* Connects; CV_KAFKA / CV_AUTH / CV_TIMEOUT naming the brokers when none answers. */
enum cv_code cv_source_open(const struct cv_source_config *config, struct cv_source **ret_source,
                            struct cv_error *err);
void cv_source_free(struct cv_source *source);
CV_DEFINE_CLEANUP(struct cv_source *, cv_source_free)

/* "KafkaV2[Subscribe[orders]]" as Spark prints it. */
const char *cv_source_description(const struct cv_source *source);
const char *cv_source_cluster_id(const struct cv_source *source); /* "" when the broker has none */

/* The first start of a query: starting options resolved to offsets for every partition. */
enum cv_code cv_source_initial_offsets(struct cv_source *source, struct cv_offsets *ret_offsets,
                                       struct cv_error *err);

enum cv_read_limit {
    CV_LIMIT_OPTIONS, /* min and max offsets per trigger */
    CV_LIMIT_NONE,    /* Trigger.Once */
};

struct cv_plan {
    struct cv_offsets start; /* effective: new partitions at their earliest, deleted ones dropped */
    struct cv_offsets end;   /* of this batch */
    struct cv_offsets latest; /* as listed now */
    bool delayed;             /* minOffsetsPerTrigger not reached: end = start */
    uint64_t lost_records;    /* accepted with failOnDataLoss=false in this planning */
};
void cv_plan_release(struct cv_plan *plan);

/* Lists partitions and latest offsets and plans a batch from `start` by Spark's arithmetic
 * (errors carry KAFKA_DATA_LOSS.<class>). `bound` (may be NULL): AvailableNow's prefetched end
 * offsets. An empty answer for the whole subscription is retried, then an error; never "no
 * partitions". */
enum cv_code cv_source_plan(struct cv_source *source, const struct cv_offsets *start,
                            enum cv_read_limit limit, const struct cv_offsets *bound,
                            int64_t now_us, struct cv_plan *ret_plan, struct cv_error *err);

/* For the redo of a logged batch: new partitions of `end` that `start` lacks get their earliest. */
enum cv_code cv_source_complete_start(struct cv_source *source, const struct cv_offsets *start,
                                      const struct cv_offsets *end, struct cv_offsets *ret_start,
                                      struct cv_error *err);

/* Reads [start, end) of every partition. Then call next until *ret_chunk is NULL, which means that
 * every partition reached its end. Records that are not there (compaction, aborted transactions,
 * markers) are passed over without waiting; records lost to retention follow failOnDataLoss. */
enum cv_code cv_source_fetch_begin(struct cv_source *source, const struct cv_offsets *start,
                                   const struct cv_offsets *end, struct cv_error *err);
/* Waits for the next chunk. `cancelled` (may be NULL) is polled while waiting: CV_CANCELLED.
 * The chunk is freed with chunk->release(chunk). */
enum cv_code cv_source_fetch_next(struct cv_source *source, bool (*cancelled)(void *),
                                  void *context, struct cv_chunk **ret_chunk, struct cv_error *err);
/* Drops what is still on the way; safe at any time. */
void cv_source_fetch_cancel(struct cv_source *source);

struct cv_fetch_counters {
    uint64_t records;
    uint64_t bytes;
    uint64_t lost_records; /* gone by retention, accepted */
};
void cv_source_counters(const struct cv_source *source, struct cv_fetch_counters *ret_counters);

/* Timestamp and CRC of the last record read of each partition, to notice a topic created anew. */
struct cv_fingerprint {
    const char *topic;
    int32_t partition;
    int64_t offset; /* of that record */
    int64_t timestamp_ms;
    uint32_t crc; /* CRC-32C of key, value and their lengths */
};
/* Of the last fetched range; the array belongs to the source until the next fetch_begin. */
const struct cv_fingerprint *cv_source_fingerprints(const struct cv_source *source,
                                                    size_t *ret_count);
/* Reads the records again and compares: *ret_same false when one differs or a topic ends before it.
 * A record removed by retention proves nothing and is passed over. */
enum cv_code cv_source_verify_fingerprints(struct cv_source *source,
                                           const struct cv_fingerprint *fingerprints, size_t count,
                                           bool *ret_same, const char **ret_what,
                                           struct cv_error *err);

/* Commits the offsets to a monitoring-only group, asynchronously with a deadline; the metadata text
 * goes with each. Never read back. */
enum cv_code cv_source_publish_lag(struct cv_source *source, const char *group,
                                   const struct cv_offsets *offsets, const char *metadata,
                                   struct cv_error *err);

/* For `calve check`: up to `count` records from the end of the first non-empty partition. */
enum cv_code cv_source_sample(struct cv_source *source, size_t count, struct cv_chunk **ret_chunk,
                              struct cv_error *err);

#endif
