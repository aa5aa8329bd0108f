/* SPDX-License-Identifier: Apache-2.0
 *
 * The mock cluster with a producer that fills it. */
#include "kafka/mock.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <stdio.h>
#include <stdlib.h>

#define FLUSH_MS 10000

struct cv_mock_broker {
    rd_kafka_t *host; /* the cluster lives in a client */
    rd_kafka_mock_cluster_t *cluster;
    rd_kafka_t *producer;
    size_t failed; /* deliveries */
};

static void on_log(const rd_kafka_t *client, int level, const char *facility, const char *text)
{
}

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
    struct cv_mock_broker *broker = opaque;

    if (message->err)
        broker->failed++;
}

static rd_kafka_t *new_client(struct cv_mock_broker *broker, const char *bootstrap)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_t *client;

    rd_kafka_conf_set_log_cb(conf, on_log);
    rd_kafka_conf_set_opaque(conf, broker);
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    if (bootstrap) {
        (void)rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap, NULL, 0);
        (void)rd_kafka_conf_set(conf, "linger.ms", "5", NULL, 0);
    }
    client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, NULL, 0);
    if (!client)
        rd_kafka_conf_destroy(conf);
    return client;
}

enum cv_code cv_mock_broker_start(int brokers, struct cv_mock_broker **ret_broker,
                                  struct cv_error *err)
{
    CV_CLEANUP(cv_mock_broker_stopp) struct cv_mock_broker *broker = cv_alloc(sizeof *broker);

    broker->host = new_client(broker, NULL);
    if (!broker->host)
        return cv_fail(err, CV_KAFKA, "the embedded broker's client cannot be made");
    broker->cluster = rd_kafka_mock_cluster_new(broker->host, brokers);
    if (!broker->cluster)
        return cv_fail(err, CV_KAFKA, "the embedded broker cannot be started");
    broker->producer = new_client(broker, rd_kafka_mock_cluster_bootstraps(broker->cluster));
    if (!broker->producer)
        return cv_fail(err, CV_KAFKA, "the embedded broker's producer cannot be made");
    *ret_broker = cv_steal(broker);
    return CV_OK;
}

void cv_mock_broker_stop(struct cv_mock_broker *broker)
{
    if (!broker)
        return;
    if (broker->producer)
        rd_kafka_destroy(broker->producer);
    if (broker->cluster)
        rd_kafka_mock_cluster_destroy(broker->cluster);
    if (broker->host)
        rd_kafka_destroy(broker->host);
    free(broker);
}

const char *cv_mock_broker_bootstrap(const struct cv_mock_broker *broker)
{
    return rd_kafka_mock_cluster_bootstraps(broker->cluster);
}

enum cv_code cv_mock_broker_create_topic(struct cv_mock_broker *broker, const char *topic,
                                         int partitions, struct cv_error *err)
{
    rd_kafka_resp_err_t error = rd_kafka_mock_topic_create(broker->cluster, topic, partitions, 1);

    if (error)
        return cv_fail(err, CV_KAFKA, "topic %s: %s", topic, rd_kafka_err2str(error));
    return CV_OK;
}

static rd_kafka_headers_t *make_headers(const struct cv_mock_record *record)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(record->header_count);

    for (size_t i = 0; i < record->header_count; i++) {
        const struct cv_header *h = &record->headers[i];

        (void)rd_kafka_header_add(headers, h->key.ptr, (ssize_t)h->key.length, h->value,
                                  h->value ? (ssize_t)h->value_length : 0);
    }
    return headers;
}

enum cv_code cv_mock_broker_produce_record(struct cv_mock_broker *broker, const char *topic,
                                           const struct cv_mock_record *record,
                                           struct cv_error *err)
{
    rd_kafka_headers_t *headers = make_headers(record);
    rd_kafka_resp_err_t error;

    for (;;) {
        error = rd_kafka_producev(
            broker->producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(record->partition),
            RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
            RD_KAFKA_V_KEY((void *)(uintptr_t)record->key.ptr, record->key.length),
            RD_KAFKA_V_VALUE((void *)(uintptr_t)record->value.ptr, record->value.length),
            RD_KAFKA_V_TIMESTAMP(record->timestamp_ms), RD_KAFKA_V_HEADERS(headers),
            RD_KAFKA_V_END);
        if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL)
            break;
        (void)rd_kafka_poll(broker->producer, 10);
    }
    if (error) {
        rd_kafka_headers_destroy(headers);
        return cv_fail(err, CV_KAFKA, "produce to %s: %s", topic, rd_kafka_err2str(error));
    }
    (void)rd_kafka_poll(broker->producer, 0);
    return CV_OK;
}

enum cv_code cv_mock_broker_produce(struct cv_mock_broker *broker, const char *topic,
                                    int32_t partition, struct cv_str key, struct cv_str value,
                                    int64_t timestamp_ms, struct cv_error *err)
{
    struct cv_mock_record record = {key, value, partition, timestamp_ms, NULL, 0};

    return cv_mock_broker_produce_record(broker, topic, &record, err);
}

enum cv_code cv_mock_broker_flush(struct cv_mock_broker *broker, struct cv_error *err)
{
    rd_kafka_resp_err_t error = rd_kafka_flush(broker->producer, FLUSH_MS);

    if (error || broker->failed)
        return cv_fail(err, CV_KAFKA, "the embedded broker took %zu records not: %s",
                       broker->failed, rd_kafka_err2str(error));
    return CV_OK;
}

void cv_mock_broker_fail_requests(struct cv_mock_broker *broker, int16_t api_key, int error,
                                  size_t count)
{
    for (size_t i = 0; i < count; i++)
        rd_kafka_mock_push_request_errors(broker->cluster, api_key, 1, (rd_kafka_resp_err_t)error);
}

void cv_mock_broker_set_down(struct cv_mock_broker *broker, int32_t id, bool down)
{
    if (down)
        (void)rd_kafka_mock_broker_set_down(broker->cluster, id);
    else
        (void)rd_kafka_mock_broker_set_up(broker->cluster, id);
}
