/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a topic from its beginning and drops the records: what librdkafka alone costs.
 *
 *   bench-consume --bootstrap HOST:PORT --topic T --rows N --partitions P */
#include "bench.h"

#define BATCH       1000
#define WAIT_MILLIS 10000

static rd_kafka_queue_t *start(rd_kafka_t *client, rd_kafka_topic_t *topic, int64_t partitions)
{
    rd_kafka_queue_t *queue = rd_kafka_queue_new(client);

    for (int32_t p = 0; p < (int32_t)partitions; p++) {
        if (rd_kafka_consume_start_queue(topic, p, RD_KAFKA_OFFSET_BEGINNING, queue) != 0)
            bench_die("partition %d: %s", (int)p, rd_kafka_err2str(rd_kafka_last_error()));
    }
    return queue;
}

int main(int argc, char **argv)
{
    int64_t rows = bench_number(argc, argv, "rows", NULL);
    int64_t partitions = bench_number(argc, argv, "partitions", NULL);
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_message_t *messages[BATCH];
    uint64_t bytes = 0;
    int64_t seen = 0;

    bench_set(conf, "bootstrap.servers", bench_option(argc, argv, "bootstrap", NULL));
    bench_set(conf, "check.crcs", "true");
    bench_set(conf, "queued.max.messages.kbytes", "16384");
    bench_set(conf, "fetch.wait.max.ms", "10");
    rd_kafka_t *client = bench_client(RD_KAFKA_CONSUMER, conf);
    rd_kafka_topic_t *topic =
        rd_kafka_topic_new(client, bench_option(argc, argv, "topic", NULL), NULL);
    rd_kafka_queue_t *queue = start(client, topic, partitions);
    while (seen < rows) {
        ssize_t count = rd_kafka_consume_batch_queue(queue, WAIT_MILLIS, messages, BATCH);

        if (count <= 0)
            bench_die("nothing came for %d ms after %lld rows", WAIT_MILLIS, (long long)seen);
        for (ssize_t i = 0; i < count; i++) {
            if (messages[i]->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
                bytes += messages[i]->len;
                seen++;
            }
            rd_kafka_message_destroy(messages[i]);
        }
    }
    for (int32_t p = 0; p < (int32_t)partitions; p++)
        rd_kafka_consume_stop(topic, p);
    rd_kafka_queue_destroy(queue);
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(client);
    printf("%lld %llu\n", (long long)seen, (unsigned long long)bytes);
    return 0;
}
