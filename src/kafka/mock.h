/* SPDX-License-Identifier: Apache-2.0
 *
 * A Kafka broker inside the process, for `calve demo` and unit tests: librdkafka's mock cluster on
 * loopback ports, used like any other broker. Records live in memory and end with it. It knows no
 * look-up by timestamp, no transactions and no retention. */
#ifndef CALVE_KAFKA_MOCK_H
#define CALVE_KAFKA_MOCK_H

#include "batch/record.h"

struct cv_mock_broker;

enum cv_code cv_mock_broker_start(int brokers, struct cv_mock_broker **ret_broker,
                                  struct cv_error *err);
void cv_mock_broker_stop(struct cv_mock_broker *broker); /* frees it; NULL is fine */
CV_DEFINE_CLEANUP(struct cv_mock_broker *, cv_mock_broker_stop)

/* For kafka.bootstrap.servers. */
const char *cv_mock_broker_bootstrap(const struct cv_mock_broker *broker);
enum cv_code cv_mock_broker_create_topic(struct cv_mock_broker *broker, const char *topic,
                                         int partitions, struct cv_error *err);

struct cv_mock_record {
    struct cv_str key;   /* ptr NULL = null */
    struct cv_str value; /* ptr NULL = tombstone */
    int32_t partition;
    int64_t timestamp_ms; /* 0 = now */
    const struct cv_header *headers;
    size_t header_count;
};

/* Queues the record; it is in the log after the next flush. */
enum cv_code cv_mock_broker_produce_record(struct cv_mock_broker *broker, const char *topic,
                                           const struct cv_mock_record *record,
                                           struct cv_error *err);
/* The same without headers. */
enum cv_code cv_mock_broker_produce(struct cv_mock_broker *broker, const char *topic,
                                    int32_t partition, struct cv_str key, struct cv_str value,
                                    int64_t timestamp_ms, struct cv_error *err);
enum cv_code cv_mock_broker_flush(struct cv_mock_broker *broker, struct cv_error *err);

/* The next `count` requests of this API key fail with the Kafka error; for tests. */
void cv_mock_broker_fail_requests(struct cv_mock_broker *broker, int16_t api_key, int error,
                                  size_t count);
/* Takes broker `id` (from 1) off the network, and back. */
void cv_mock_broker_set_down(struct cv_mock_broker *broker, int32_t id, bool down);

#endif
