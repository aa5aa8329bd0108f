/* SPDX-License-Identifier: Apache-2.0
 *
 * Check and translation of kafka.* settings. Values of secret settings never reach a message. */
#include "kafka/client_config.h"

#include "config/option.h"

#include <stdio.h>

static const struct cv_client_name *find_name(const char *java)
{
    for (size_t i = 0; i < cv_client_name_count; i++) {
        if (cv_text_equal_nocase(cv_client_names[i].java, java))
            return &cv_client_names[i];
    }
    return NULL;
}

bool cv_client_name_is_secret(const char *name)
{
    static const char *const own[] = {"sasl.password", "ssl.keystore.password"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(own); i++) {
        if (strcmp(own[i], name) == 0)
            return true;
    }
    for (size_t i = 0; i < cv_client_name_count; i++) {
        const struct cv_client_name *row = &cv_client_names[i];

        if (row->secret &&
            (strcmp(row->java, name) == 0 || (row->name && !strcmp(row->name, name))))
            return true;
    }
    return false;
}

static const char *name_at(const void *context, size_t i)
{
    return ((const struct cv_client_name *)context)[i].java;
}

/* Problems are collected, so that one start shows them all. */
struct check {
    struct cv_buf problems;
    size_t count;
    void (*warn)(void *context, const char *message);
    void *context;
};

static void add_problem(struct check *check, const char *format, ...) CV_PRINTF(2, 3);
static void add_problem(struct check *check, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cv_buf_printf(&check->problems, "%s%s", check->count++ ? "; " : "", text);
}

static void add_warning(struct check *check, const char *format, ...) CV_PRINTF(2, 3);
static void add_warning(struct check *check, const char *format, ...)
{
    char text[512];
    va_list args;

    if (!check->warn)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    check->warn(check->context, text);
}

static void check_name(struct check *check, const char *key)
{
    const struct cv_client_name *row = find_name(key);
    const char *nearest;

    if (!row) {
        nearest = cv_nearest_name(key, name_at, cv_client_names, cv_client_name_count);
        add_problem(check, "kafka.%.100s is unknown%s%s", key,
                    nearest ? ", did you mean kafka." : "", nearest ? nearest : "");
    } else if (row->action == CV_CLIENT_REFUSE) {
        add_problem(check, "kafka.%s is not taken: %s", row->java, row->help);
    } else if (row->action == CV_CLIENT_TUNING) {
        add_warning(check, "kafka.%s tunes the Java client only and has no effect here", row->java);
    }
}

static const char *get(const struct cv_properties *kafka, const char *key, const char *fallback)
{
    for (size_t i = 0; i < kafka->count; i++) {
        if (cv_text_equal_nocase(kafka->items[i].key, key))
            return kafka->items[i].value;
    }
    return fallback;
}

static void check_stores(struct check *check, const struct cv_properties *kafka)
{
    const char *trust = get(kafka, "ssl.truststore.type", "JKS");
    const char *key = get(kafka, "ssl.keystore.type", "JKS");

    if (get(kafka, "ssl.truststore.location", NULL) && !cv_text_equal_nocase(trust, "PEM"))
        add_problem(check,
                    "kafka.ssl.truststore.location with type %.20s cannot be read: write the "
                    "certificates as PEM (keytool -exportcert -rfc, or openssl pkcs12 -nokeys) and "
                    "set kafka.ssl.truststore.type: PEM",
                    trust);
    if (get(kafka, "ssl.keystore.location", NULL) && !cv_text_equal_nocase(key, "PEM") &&
        !cv_text_equal_nocase(key, "PKCS12"))
        add_problem(
            check,
            "kafka.ssl.keystore.location with type %.20s cannot be read: convert it (keytool "
            "-importkeystore -deststoretype PKCS12) and set kafka.ssl.keystore.type: PKCS12, "
            "or PEM",
            key);
}

static void check_sasl(struct check *check, const struct cv_properties *kafka)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_error err = CV_ERROR_INIT;
    const char *mechanism = get(kafka, "sasl.mechanism", "GSSAPI");
    const char *jaas = get(kafka, "sasl.jaas.config", NULL);
    const char *protocol = get(kafka, "security.protocol", "PLAINTEXT");
    const char *user;
    const char *password;

    if (jaas && cv_jaas_parse(jaas, &arena, &user, &password, &err) != CV_OK)
        add_problem(check, "%s (%s)", err.message, err.hint);
    if (strncasecmp(protocol, "SASL", 4) != 0)
        return;
    if (cv_text_equal_nocase(mechanism, "OAUTHBEARER"))
        add_problem(check, "kafka.sasl.mechanism OAUTHBEARER is not supported");
    else if (!cv_text_equal_nocase(mechanism, "GSSAPI") && !jaas)
        add_problem(check, "kafka.sasl.jaas.config is missing for %.40s", mechanism);
}

static void check_others(struct check *check, const struct cv_properties *kafka)
{
    const char *lookup = get(kafka, "client.dns.lookup", "use_all_dns_ips");

    if (!get(kafka, "bootstrap.servers", NULL))
        add_problem(check, "kafka.bootstrap.servers is missing");
    if (get(kafka, "group.id", NULL))
        add_warning(check,
                    "kafka.group.id is set: calve joins no group, so it has no effect on what "
                    "is read");
    if (cv_text_equal_nocase(get(kafka, "allow.auto.create.topics", "false"), "true"))
        add_warning(check, "kafka.allow.auto.create.topics: calve never creates topics");
    if (!cv_text_equal_nocase(lookup, "use_all_dns_ips") &&
        !cv_text_equal_nocase(lookup, "default"))
        add_problem(check, "kafka.client.dns.lookup %.60s is not supported, use_all_dns_ips is",
                    lookup);
}

enum cv_code cv_client_config_check(const struct cv_properties *kafka,
                                    void (*warn)(void *context, const char *message), void *context,
                                    struct cv_error *err)
{
    struct check check = {CV_BUF_INIT(CV_ERROR_MESSAGE_BYTES), 0, warn, context};
    enum cv_code code = CV_OK;

    for (size_t i = 0; i < kafka->count; i++)
        check_name(&check, kafka->items[i].key);
    check_stores(&check, kafka);
    check_sasl(&check, kafka);
    check_others(&check, kafka);
    if (check.count > 0)
        code = cv_fail(err, CV_CONFIG, "source: %s", cv_buf_text(&check.problems));
    cv_buf_release(&check.problems);
    return code;
}

static void translate_stores(const struct cv_properties *kafka, struct cv_properties *client)
{
    const char *trust = get(kafka, "ssl.truststore.location", NULL);
    const char *key = get(kafka, "ssl.keystore.location", NULL);
    const char *password = get(kafka, "ssl.keystore.password", NULL);

    if (trust)
        cv_properties_set(client, "ssl.ca.location", trust);
    if (key && cv_text_equal_nocase(get(kafka, "ssl.keystore.type", ""), "PKCS12")) {
        cv_properties_set(client, "ssl.keystore.location", key);
        if (password)
            cv_properties_set(client, "ssl.keystore.password", password);
    } else if (key) {
        /* One PEM file holds the chain and the key; each reader skips the other's blocks. */
        cv_properties_set(client, "ssl.certificate.location", key);
        cv_properties_set(client, "ssl.key.location", key);
    }
}

static enum cv_code translate_sasl(const struct cv_properties *kafka, struct cv_properties *client,
                                   struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const char *mechanism = get(kafka, "sasl.mechanism", NULL);
    const char *jaas = get(kafka, "sasl.jaas.config", NULL);
    const char *user;
    const char *password;

    if (mechanism)
        cv_properties_set(client, "sasl.mechanisms", mechanism);
    if (jaas) {
        CV_DO(cv_jaas_parse(jaas, &arena, &user, &password, err));
        cv_properties_set(client, "sasl.username", user);
        cv_properties_set(client, "sasl.password", password);
    }
    return CV_OK;
}

/* -1 is the system's default, which librdkafka writes as 0. */
static void translate_socket_buffer(const struct cv_properties *kafka, const char *java,
                                    const char *name, struct cv_properties *client)
{
    const char *bytes = get(kafka, java, NULL);

    if (bytes)
        cv_properties_set(client, name, strcmp(bytes, "-1") == 0 ? "0" : bytes);
}

enum cv_code cv_client_config_translate(const struct cv_properties *kafka,
                                        struct cv_properties *ret_client, struct cv_error *err)
{
    CV_CLEANUP(cv_properties_release) struct cv_properties client = {0};
    const char *identify = get(kafka, "ssl.endpoint.identification.algorithm", "https");

    /* Java's defaults where librdkafka has others. */
    cv_properties_set(&client, "isolation.level", "read_uncommitted");
    cv_properties_set(&client, "check.crcs", "true");
    for (size_t i = 0; i < kafka->count; i++) {
        const struct cv_client_name *row = find_name(kafka->items[i].key);

        if (row && row->action == CV_CLIENT_PASS)
            cv_properties_set(&client, row->name, kafka->items[i].value);
    }
    translate_socket_buffer(kafka, "receive.buffer.bytes", "socket.receive.buffer.bytes", &client);
    translate_socket_buffer(kafka, "send.buffer.bytes", "socket.send.buffer.bytes", &client);
    cv_properties_set(&client, "ssl.endpoint.identification.algorithm",
                      identify[0] ? identify : "none");
    translate_stores(kafka, &client);
    CV_DO(translate_sasl(kafka, &client, err));
    *ret_client = client;
    memset(&client, 0, sizeof client);
    return CV_OK;
}
