/* SPDX-License-Identifier: Apache-2.0
 *
 * The librdkafka client: its settings, its memory, what it says when something fails, and the
 * topics and partitions it knows. */
#include "kafka/client_config.h"
#include "kafka/source_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A queued record costs this much beside its payload (measured with librdkafka 2.0.2). */
#define QUEUED_RECORD_BYTES 420
/* A request names every partition, which pays only if the answer is about so large for each. */
#define PARTITION_BYTES ((size_t)16 << 10)

void cv_source_warn(struct cv_source *source, const char *format, ...)
{
    char text[CV_ERROR_MESSAGE_BYTES];
    va_list args;

    if (!source->warn)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    source->warn(source->warn_context, text);
}

bool cv_source_is_cancelled(struct cv_source *source)
{
    return source->cancelled && source->cancelled(source->cancel_context);
}

static void on_error(rd_kafka_t *client, int code, const char *reason, void *opaque)
{
    struct cv_source *source = opaque;

    source->last_error_code = code;
    (void)snprintf(source->last_error, sizeof source->last_error, "%s", reason);
    if (client == source->client && (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
                                     code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
                                     code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION)) {
        /* The event names no partition that could be used. */
        source->fetch.topic_gone = true;
        source->fetch.attention = true;
    }
}

/* Faults come back as results and through on_error; this layer prints nothing. */
static void on_log(const rd_kafka_t *client, int level, const char *facility, const char *text)
{
}

/* In a thread of the client. */
static int on_connect(int fd, const struct sockaddr *address, int length, const char *id,
                      void *opaque)
{
    struct cv_source *source = opaque;

    return cv_preauth_connect(&source->preauth, fd, address, length);
}

void cv_source_poll(struct cv_source *source)
{
    if (source->client)
        (void)rd_kafka_poll(source->client, 0);
    if (source->planner)
        (void)rd_kafka_poll(source->planner, 0);
}

bool cv_kafka_is_transient(rd_kafka_resp_err_t error)
{
    switch (error) {
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__WAIT_COORD:
    case RD_KAFKA_RESP_ERR__WAIT_CACHE:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
    case RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR:
    case RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH:
        return true;
    default:
        return false;
    }
}

static bool is_auth(rd_kafka_resp_err_t error)
{
    switch (error) {
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM:
    case RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
        return true;
    default:
        return false;
    }
}

static bool is_scram_over_tls(const struct cv_source *source)
{
    const struct cv_properties *kafka = &source->options.kafka;

    return cv_text_equal_nocase(cv_properties_get_or(kafka, "security.protocol", ""), "SASL_SSL") &&
           strncasecmp(cv_properties_get_or(kafka, "sasl.mechanism", ""), "SCRAM-", 6) == 0;
}

enum cv_code cv_source_fail(struct cv_source *source, rd_kafka_resp_err_t error, const char *what,
                            struct cv_error *err)
{
    rd_kafka_resp_err_t reason;
    enum cv_code code;

    cv_source_poll(source);
    reason =
        cv_kafka_is_transient(error) && source->last_error[0] ? source->last_error_code : error;
    code = is_auth(reason)                         ? CV_AUTH
           : error == RD_KAFKA_RESP_ERR__TIMED_OUT ? CV_TIMEOUT
                                                   : CV_KAFKA;
    if (cv_preauth_refused(&source->preauth, source->last_error, sizeof source->last_error))
        code = CV_AUTH;
    (void)cv_fail(err, code, "%s, brokers %.300s: %s%s%s", what, source->bootstrap,
                  rd_kafka_err2str(error), source->last_error[0] ? "; last: " : "",
                  source->last_error);
    if (err && cv_kafka_is_transient(error))
        err->flags |= CV_ERROR_RETRIABLE;
    if (code == CV_AUTH && is_scram_over_tls(source) && cv_preauth_is_needed())
        cv_hint(err,
                "check the user; librdkafka %s cannot log in by SCRAM over TLS at brokers of Kafka "
                "4 (2.6.1 can): use PLAIN or a TLS client key there",
                rd_kafka_version_str());
    else if (code == CV_AUTH)
        cv_hint(err, "check kafka.security.protocol, kafka.sasl.* and the rights of the user");
    else if (source->last_error_code == RD_KAFKA_RESP_ERR__SSL)
        cv_hint(err, "check kafka.ssl.truststore.location (PEM) and the host name in the "
                     "certificate of the broker");
    else if (cv_kafka_is_transient(error))
        cv_hint(err, "check kafka.bootstrap.servers, and that kafka.security.protocol is that of "
                     "the listener");
    return code;
}

static enum cv_code set(rd_kafka_conf_t *conf, const char *name, const char *value,
                        struct cv_error *err)
{
    char reason[512] = "";

    if (rd_kafka_conf_set(conf, name, value, reason, sizeof reason) == RD_KAFKA_CONF_OK)
        return CV_OK;
    return cv_fail(err, CV_CONFIG, "source: Kafka client setting %s: %s", name,
                   cv_client_name_is_secret(name) ? "the value is not accepted (it is not shown)"
                                                  : reason);
}

static enum cv_code set_number(rd_kafka_conf_t *conf, const char *name, uint64_t value,
                               struct cv_error *err)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    return set(conf, name, text, err);
}

/* A quarter of the share is for the client's queue; as much again may have been taken from it, and
 * the rest is for chunks that workers have. The client counts payload only, hence the second bound
 * by records. Answers are small: what is unpacked of one is in memory beyond the bounds (a hundred
 * times its size at worst), and it is faster while it fits the processor's cache: 300,000 records
 * of 753 bytes took 1.1 µs each at 256 KiB, 1.4 at 1 MiB. */
static enum cv_code set_memory(struct cv_source *source, rd_kafka_conf_t *conf,
                               const struct cv_properties *given, struct cv_error *err)
{
    size_t memory = CV_MAX(source->memory_bytes, (size_t)4 << 20);
    size_t queued = memory / 4;
    size_t share = CV_MIN(CV_MAX(memory / 128, (size_t)256 << 10), (size_t)4 << 20);
    size_t answer = CV_MIN(CV_MAX(share, source->partition_count * PARTITION_BYTES), 4 * share);

    source->held_bytes_max = memory / 4;
    source->queued_records_max = queued / QUEUED_RECORD_BYTES;
    source->queued_bytes_max = queued & ~(size_t)1023;
    CV_DO(set_number(conf, "queued.min.messages", CV_MIN(source->queued_records_max, 10000000u),
                     err));
    CV_DO(set_number(conf, "queued.max.messages.kbytes",
                     CV_MIN(source->queued_bytes_max / 1024, 2097151u), err));
    if (!cv_properties_get(given, "fetch.max.bytes"))
        CV_DO(set_number(conf, "fetch.max.bytes", answer, err));
    if (!cv_properties_get(given, "fetch.message.max.bytes"))
        CV_DO(set_number(conf, "fetch.message.max.bytes", CV_MIN(share, (size_t)1 << 20), err));
    return CV_OK;
}

struct setting {
    const char *key;
    const char *value;
};

static enum cv_code set_own(struct cv_source *source, rd_kafka_conf_t *conf,
                            const struct cv_properties *given, struct cv_error *err)
{
    static const struct setting fixed[] = {
        {"enable.partition.eof", "true"},
        {"enable.auto.commit", "false"},
        {"enable.auto.offset.store", "false"},
        {"auto.offset.reset", "error"},
        {"allow.auto.create.topics", "false"},
        {"socket.nagle.disable", "true"},
        {"fetch.error.backoff.ms", "100"},
        {"receive.message.max.bytes", "2147483647"},
        /* Of producers, but the client wants fetch.max.bytes to be no smaller. */
        {"message.max.bytes", "1000"},
    };
    /* A long poll delays the first fetch of a further partition, so it is short; shorter still, an
     * idle job would keep the broker busy (12 % of a core at 10 ms, 4 % at 50 ms). */
    static const struct setting defaults[] = {
        {"fetch.wait.max.ms", "50"},
        {"reconnect.backoff.max.ms", "1000"},
    };
    char id[256];

    for (size_t i = 0; i < CV_ARRAY_LENGTH(fixed); i++)
        CV_DO(set(conf, fixed[i].key, fixed[i].value, err));
    for (size_t i = 0; i < CV_ARRAY_LENGTH(defaults); i++) {
        if (!cv_properties_get(given, defaults[i].key))
            CV_DO(set(conf, defaults[i].key, defaults[i].value, err));
    }
    if (!cv_properties_get(given, "client.id")) {
        (void)snprintf(id, sizeof id, "calve-%s", source->job);
        CV_DO(set(conf, "client.id", id, err));
    }
    return set_memory(source, conf, given, err);
}

/* A codec that this librdkafka was built without makes batches unreadable; better known early. */
static void check_codecs(struct cv_source *source, rd_kafka_conf_t *conf)
{
    static const char *const codecs[] = {"gzip", "snappy", "lz4", "zstd"};
    char features[512] = "";
    size_t size = sizeof features;

    if (rd_kafka_conf_get(conf, "builtin.features", features, &size) != RD_KAFKA_CONF_OK)
        return;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(codecs); i++) {
        if (!strstr(features, codecs[i]))
            cv_source_warn(source,
                           "this librdkafka (%s) was built without %s: a topic compressed with it "
                           "cannot be read",
                           rd_kafka_version_str(), codecs[i]);
    }
}

static enum cv_code fill_conf(struct cv_source *source, rd_kafka_conf_t *conf, struct cv_error *err)
{
    CV_CLEANUP(cv_properties_release) struct cv_properties given = {0};

    CV_DO(cv_client_config_translate(&source->options.kafka, &given, err));
    cv_preauth_take(&source->preauth, &given);
    if (source->preauth.mechanism)
        rd_kafka_conf_set_connect_cb(conf, on_connect);
    for (size_t i = 0; i < given.count; i++)
        CV_DO(set(conf, given.items[i].key, given.items[i].value, err));
    CV_DO(set_own(source, conf, &given, err));
    rd_kafka_conf_set_opaque(conf, source);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_log_cb(conf, on_log);
    check_codecs(source, conf);
    return CV_OK;
}

enum cv_code cv_source_new_client(struct cv_source *source, const char *group,
                                  rd_kafka_t **ret_client, struct cv_error *err)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    enum cv_code code = fill_conf(source, conf, err);
    char reason[512] = "";

    if (code == CV_OK && group)
        code = set(conf, "group.id", group, err);
    if (code != CV_OK) {
        rd_kafka_conf_destroy(conf);
        return code;
    }
    *ret_client = rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof reason);
    if (!*ret_client) {
        rd_kafka_conf_destroy(conf);
        return cv_fail(err, CV_CONFIG, "source: Kafka client: %s", reason);
    }
    return CV_OK;
}

enum cv_code cv_source_connect(struct cv_source *source, struct cv_error *err)
{
    CV_DO(cv_source_new_client(source, NULL, &source->client, err));
    source->queue = rd_kafka_queue_new(source->client);
    return CV_OK;
}

static void free_topic(struct cv_fetch_topic *topic)
{
    for (size_t i = 0; i < topic->partition_capacity; i++)
        free(topic->partitions[i]);
    free(topic->partitions);
    if (topic->handle)
        rd_kafka_topic_destroy(topic->handle);
    if (topic->planned)
        rd_kafka_topic_destroy(topic->planned);
    free(topic->name);
    free(topic);
}

void cv_source_disconnect(struct cv_source *source)
{
    const struct cv_map_slot *slot;
    size_t position = 0;

    if (source->queue)
        rd_kafka_queue_destroy(source->queue);
    while ((slot = cv_map_next(&source->topics, &position)))
        free_topic(slot->value);
    cv_map_release(&source->topics);
    if (source->client)
        rd_kafka_destroy(source->client);
    if (source->planner)
        rd_kafka_destroy(source->planner);
}

static rd_kafka_topic_t *new_handle(struct cv_fetch_topic *topic, rd_kafka_t *client)
{
    rd_kafka_topic_conf_t *conf = rd_kafka_default_topic_conf_dup(client);
    rd_kafka_topic_t *handle;

    rd_kafka_topic_conf_set_opaque(conf, topic);
    handle = rd_kafka_topic_new(client, topic->name, conf);
    if (!handle)
        rd_kafka_topic_conf_destroy(conf);
    return handle;
}

struct cv_fetch_topic *cv_source_topic(struct cv_source *source, const char *name)
{
    struct cv_fetch_topic *topic = cv_map_get(&source->topics, name, strlen(name));

    if (topic)
        return topic;
    topic = cv_alloc(sizeof *topic);
    topic->name = cv_strdup(name);
    topic->planned = new_handle(topic, source->planner);
    (void)cv_map_set(&source->topics, name, strlen(name), topic);
    return topic;
}

struct cv_fetch_partition *cv_source_partition(struct cv_source *source, const char *name,
                                               int32_t id)
{
    struct cv_fetch_topic *topic = cv_source_topic(source, name);
    struct cv_fetch_partition *partition;
    size_t need = (size_t)id + 1;

    if (!topic->handle)
        topic->handle = new_handle(topic, source->client);
    if (need > topic->partition_capacity) {
        size_t capacity = CV_MAX(need, topic->partition_capacity * 2);

        topic->partitions =
            cv_realloc_array(topic->partitions, capacity, sizeof *topic->partitions);
        memset(topic->partitions + topic->partition_capacity, 0,
               (capacity - topic->partition_capacity) * sizeof *topic->partitions);
        topic->partition_capacity = capacity;
    }
    partition = topic->partitions[id];
    if (!partition) {
        partition = cv_alloc(sizeof *partition);
        partition->name = (struct cv_topic_partition){topic->name, id};
        partition->topic = topic;
        partition->fingerprint.offset = -1;
        topic->partitions[id] = partition;
    }
    return partition;
}
