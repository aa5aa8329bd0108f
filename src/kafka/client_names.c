/* SPDX-License-Identifier: Apache-2.0
 *
 * What each setting of Kafka's Java consumer becomes. Sorted by purpose; searched linearly, since
 * it is read once per start. */
#include "kafka/client_config.h"

#define PASS(java, name)                                                                           \
    {                                                                                              \
        java, name, CV_CLIENT_PASS, NULL, false                                                    \
    }
#define SECRET(java, name)                                                                         \
    {                                                                                              \
        java, name, CV_CLIENT_PASS, NULL, true                                                     \
    }
#define TUNING(java)                                                                               \
    {                                                                                              \
        java, NULL, CV_CLIENT_TUNING, NULL, false                                                  \
    }
#define REFUSE(java, help)                                                                         \
    {                                                                                              \
        java, NULL, CV_CLIENT_REFUSE, help, false                                                  \
    }
#define OWN(java)                                                                                  \
    {                                                                                              \
        java, NULL, CV_CLIENT_OWN, NULL, false                                                     \
    }
#define OWN_SECRET(java)                                                                           \
    {                                                                                              \
        java, NULL, CV_CLIENT_OWN, NULL, true                                                      \
    }

#define NO_SERIALIZER "calve hands the bytes on; value.format says how they are decoded"
#define NO_CLASS      "it names a Java class"
#define NO_OAUTH      "OAUTHBEARER is not supported; use PLAIN, SCRAM, or a TLS client key"
#define NATIVE_TLS                                                                                 \
    "it is librdkafka's name; write ssl.truststore.location with ssl.truststore.type: PEM"
#define NATIVE_KEY                                                                                 \
    "it is librdkafka's name; write ssl.keystore.location with ssl.keystore.type: PEM"
#define NATIVE_SASL "it is librdkafka's name; write sasl.jaas.config"

const struct cv_client_name cv_client_names[] = {
    PASS("bootstrap.servers", "bootstrap.servers"),
    PASS("client.id", "client.id"),
    PASS("client.rack", "client.rack"),
    PASS("isolation.level", "isolation.level"),
    PASS("check.crcs", "check.crcs"),
    OWN("group.id"),
    OWN("allow.auto.create.topics"),
    OWN("client.dns.lookup"),

    /* fetching */
    PASS("fetch.min.bytes", "fetch.min.bytes"),
    PASS("fetch.max.bytes", "fetch.max.bytes"),
    PASS("fetch.max.wait.ms", "fetch.wait.max.ms"),
    PASS("max.partition.fetch.bytes", "fetch.message.max.bytes"),

    /* connections */
    PASS("request.timeout.ms", "socket.timeout.ms"),
    OWN("receive.buffer.bytes"),
    OWN("send.buffer.bytes"),
    PASS("reconnect.backoff.ms", "reconnect.backoff.ms"),
    PASS("reconnect.backoff.max.ms", "reconnect.backoff.max.ms"),
    PASS("connections.max.idle.ms", "connections.max.idle.ms"),
    PASS("socket.connection.setup.timeout.ms", "socket.connection.setup.timeout.ms"),
    PASS("metadata.max.age.ms", "topic.metadata.refresh.interval.ms"),
    PASS("session.timeout.ms", "session.timeout.ms"),
    PASS("heartbeat.interval.ms", "heartbeat.interval.ms"),

    /* security */
    PASS("security.protocol", "security.protocol"),
    OWN("sasl.mechanism"),
    OWN_SECRET("sasl.jaas.config"),
    PASS("sasl.kerberos.service.name", "sasl.kerberos.service.name"),
    OWN("ssl.endpoint.identification.algorithm"),
    OWN("ssl.truststore.type"),
    OWN("ssl.truststore.location"),
    OWN_SECRET("ssl.truststore.password"),
    SECRET("ssl.truststore.certificates", "ssl.ca.pem"),
    OWN("ssl.keystore.type"),
    OWN("ssl.keystore.location"),
    OWN_SECRET("ssl.keystore.password"),
    SECRET("ssl.keystore.key", "ssl.key.pem"),
    SECRET("ssl.keystore.certificate.chain", "ssl.certificate.pem"),
    SECRET("ssl.key.password", "ssl.key.password"),

    /* Spark refuses these; so does calve */
    REFUSE("auto.offset.reset", "startingOffsets and failOnDataLoss decide where reading begins"),
    REFUSE("key.deserializer", NO_SERIALIZER),
    REFUSE("value.deserializer", NO_SERIALIZER),
    REFUSE("enable.auto.commit", "progress is kept in the checkpoint and in the table"),
    REFUSE("interceptor.classes", NO_CLASS),

    /* Java classes that change what the client does */
    REFUSE("sasl.client.callback.handler.class", NO_CLASS),
    REFUSE("sasl.login.callback.handler.class", NO_CLASS),
    REFUSE("sasl.login.class", NO_CLASS),
    REFUSE("ssl.engine.factory.class", NO_CLASS),
    REFUSE("ssl.cipher.suites", "the names differ; restrict the suites in OpenSSL's configuration"),
    REFUSE("sasl.oauthbearer.token.endpoint.url", NO_OAUTH),
    REFUSE("sasl.oauthbearer.jwks.endpoint.url", NO_OAUTH),

    /* librdkafka's own names for what the Java client spells otherwise */
    REFUSE("ssl.ca.location", NATIVE_TLS),
    REFUSE("ssl.ca.pem", "it is librdkafka's name; write ssl.truststore.certificates"),
    REFUSE("ssl.certificate.location", NATIVE_KEY),
    REFUSE("ssl.key.location", NATIVE_KEY),
    REFUSE("ssl.certificate.pem", "it is librdkafka's name; write ssl.keystore.certificate.chain"),
    REFUSE("ssl.key.pem", "it is librdkafka's name; write ssl.keystore.key"),
    REFUSE("sasl.username", NATIVE_SASL),
    REFUSE("sasl.password", NATIVE_SASL),
    REFUSE("sasl.mechanisms", "it is librdkafka's name; write sasl.mechanism"),
    REFUSE("fetch.wait.max.ms", "it is librdkafka's name; write fetch.max.wait.ms"),
    REFUSE("fetch.message.max.bytes", "it is librdkafka's name; write max.partition.fetch.bytes"),

    /* tunes the Java client */
    TUNING("auto.commit.interval.ms"),
    TUNING("auto.include.jmx.reporter"),
    TUNING("default.api.timeout.ms"),
    TUNING("enable.metrics.push"),
    TUNING("exclude.internal.topics"),
    TUNING("group.instance.id"),
    TUNING("group.protocol"),
    TUNING("group.remote.assignor"),
    TUNING("max.poll.interval.ms"),
    TUNING("max.poll.records"),
    TUNING("metadata.recovery.rebootstrap.trigger.ms"),
    TUNING("metadata.recovery.strategy"),
    TUNING("metric.reporters"),
    TUNING("metrics.num.samples"),
    TUNING("metrics.recording.level"),
    TUNING("metrics.sample.window.ms"),
    TUNING("partition.assignment.strategy"),
    TUNING("retry.backoff.max.ms"),
    TUNING("retry.backoff.ms"),
    TUNING("sasl.kerberos.kinit.cmd"),
    TUNING("sasl.kerberos.min.time.before.relogin"),
    TUNING("sasl.kerberos.ticket.renew.jitter"),
    TUNING("sasl.kerberos.ticket.renew.window.factor"),
    TUNING("sasl.login.connect.timeout.ms"),
    TUNING("sasl.login.read.timeout.ms"),
    TUNING("sasl.login.refresh.buffer.seconds"),
    TUNING("sasl.login.refresh.min.period.seconds"),
    TUNING("sasl.login.refresh.window.factor"),
    TUNING("sasl.login.refresh.window.jitter"),
    TUNING("sasl.login.retry.backoff.max.ms"),
    TUNING("sasl.login.retry.backoff.ms"),
    TUNING("security.providers"),
    TUNING("socket.connection.setup.timeout.max.ms"),
    TUNING("ssl.enabled.protocols"),
    TUNING("ssl.keymanager.algorithm"),
    TUNING("ssl.protocol"),
    TUNING("ssl.provider"),
    TUNING("ssl.secure.random.implementation"),
    TUNING("ssl.trustmanager.algorithm"),
};

const size_t cv_client_name_count = CV_ARRAY_LENGTH(cv_client_names);
