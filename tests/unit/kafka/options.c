/* SPDX-License-Identifier: Apache-2.0
 *
 * Section `source`: Spark's names and defaults, subscriptions, and kafka.* settings translated from
 * the Java client's names. */
#include "kafka/client_config.h"
#include "kafka/subscription.h"

#include "test.h"

static struct cv_arena arena;
static char warnings[4096];

static void collect_warning(void *context, const char *message)
{
    strncat(warnings, message, sizeof warnings - strlen(warnings) - 1);
}

/* Pairs of key and value, ended by NULL; topic t on a broker unless said otherwise. */
static enum cv_code check(const char *const *pairs, struct cv_source_options *options,
                          struct cv_error *err)
{
    memset(options, 0, sizeof *options);
    warnings[0] = '\0';
    CV_DO(cv_options_defaults(&cv_source_option_table, options, &arena, err));
    CV_DO(cv_options_set(&cv_source_option_table, options, &arena, "kafka.bootstrap.servers",
                         "h:9092", err));
    for (size_t i = 0; pairs[i]; i += 2)
        CV_DO(
            cv_options_set(&cv_source_option_table, options, &arena, pairs[i], pairs[i + 1], err));
    return cv_source_options_check(options, collect_warning, NULL, err);
}

static void expect_refusal(const char *key, const char *value, const char *text)
{
    const char *pairs[] = {"subscribe", "t", key, value, NULL};
    struct cv_source_options options;
    struct cv_error err = CV_ERROR_INIT;

    if (check(pairs, &options, &err) == CV_OK)
        fail_msg("%s = %s was taken", key, value);
    if (!strstr(err.message, text))
        fail_msg("%s: \"%s\" lacks \"%s\"", key, err.message, text);
    cv_properties_release(&options.kafka);
}

static void has_the_defaults_of_spark(void **state)
{
    const char *pairs[] = {"subscribe", "t", NULL};
    struct cv_source_options o;
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(check(pairs, &o, &err), &err);
    assert_string_equal(o.starting_offsets, "latest");
    assert_int_equal(o.starting_strategy, 0);
    assert_true(o.fail_on_data_loss);
    assert_int_equal(o.max_offsets_per_trigger, 0);
    assert_int_equal(o.min_offsets_per_trigger, 0);
    assert_int_equal(o.max_trigger_delay_us, INT64_C(900000000));
    assert_false(o.include_headers);
    assert_string_equal(o.group_id_prefix, "spark-kafka-source");
    assert_int_equal(o.fetch_offset_attempts, 3);
    assert_int_equal(o.fetch_offset_retry_us, 1000000);
    assert_int_equal(o.poll_timeout_us, 120000000);
    assert_string_equal(warnings, "");
    cv_properties_release(&o.kafka);
}

static void names_ignore_case(void **state)
{
    const char *pairs[] = {"SUBSCRIBE",
                           "t",
                           "StartingOffsets",
                           "Earliest",
                           "MAXOFFSETSPERTRIGGER",
                           "5",
                           "minpartitions",
                           "7",
                           NULL};
    struct cv_source_options o;
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(check(pairs, &o, &err), &err);
    assert_int_equal(o.max_offsets_per_trigger, 5);
    cv_properties_release(&o.kafka);
}

static void wants_exactly_one_subscription(void **state)
{
    const char *none[] = {NULL};
    const char *blank[] = {"subscribe", " , ", NULL};
    struct cv_source_options o;
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_FAILS(check(none, &o, &err), CV_CONFIG, "none of subscribe", &err);
    cv_properties_release(&o.kafka);
    CV_ASSERT_FAILS(check(blank, &o, &err), CV_CONFIG, "names no topic", &err);
    cv_properties_release(&o.kafka);
    expect_refusal("assign", "{\"t\":[0]}", "more than one of subscribe");
}

static void refuses_what_bounds_a_batch_query(void **state)
{
    expect_refusal("endingOffsets", "latest", "endingOffsets");
    expect_refusal("endingOffsetsByTimestamp", "{}", "endingOffsetsByTimestamp");
    expect_refusal("endingTimestamp", "1", "endingTimestamp");
}

static void refuses_malformed_values(void **state)
{
    expect_refusal("startingOffsets", "sometimes", "startingOffsets");
    expect_refusal("startingOffsets", "{\"t\":{\"0\":-3}}", "startingOffsets");
    expect_refusal("startingTimestamp", "yesterday", "startingTimestamp");
    expect_refusal("startingOffsetsByTimestamp", "{\"t\":1}", "startingOffsetsByTimestamp");
    expect_refusal("maxOffsetsPerTrigger", "0", "maxOffsetsPerTrigger");
    expect_refusal("failOnDataLoss", "maybe", "failOnDataLoss");
    expect_refusal("startingOffsetsByTimestampStrategy", "first", "none of");
}

static void minimum_is_not_above_maximum(void **state)
{
    const char *pairs[] = {"subscribe", "t", "minOffsetsPerTrigger", "11", "maxOffsetsPerTrigger",
                           "10",        NULL};
    struct cv_source_options o;
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_FAILS(check(pairs, &o, &err), CV_CONFIG, "minOffsetsPerTrigger (11)", &err);
    cv_properties_release(&o.kafka);
}

static void refuses_the_settings_that_spark_refuses(void **state)
{
    expect_refusal("kafka.auto.offset.reset", "earliest", "kafka.auto.offset.reset is not taken");
    expect_refusal("kafka.key.deserializer", "x", "kafka.key.deserializer is not taken");
    expect_refusal("kafka.value.deserializer", "x", "kafka.value.deserializer is not taken");
    expect_refusal("kafka.enable.auto.commit", "true", "kafka.enable.auto.commit is not taken");
    expect_refusal("kafka.interceptor.classes", "x", "kafka.interceptor.classes is not taken");
}

static void names_every_problem_at_once(void **state)
{
    const char *pairs[] = {"subscribe",
                           "t",
                           "kafka.fetch.min.byte",
                           "1",
                           "kafka.auto.offset.reset",
                           "x",
                           "kafka.bogus",
                           "1",
                           NULL};
    struct cv_source_options o;
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_FAILS(check(pairs, &o, &err), CV_CONFIG,
                    "kafka.fetch.min.byte is unknown, did you mean kafka.fetch.min.bytes", &err);
    assert_non_null(strstr(err.message, "kafka.auto.offset.reset is not taken"));
    assert_non_null(strstr(err.message, "kafka.bogus is unknown"));
    cv_properties_release(&o.kafka);
}

static void accepts_tuning_of_the_java_client(void **state)
{
    const char *pairs[] = {"subscribe", "t", "kafka.max.poll.records", "500", "kafka.group.id",
                           "g",         NULL};
    struct cv_source_options o;
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(check(pairs, &o, &err), &err);
    assert_non_null(strstr(warnings, "kafka.max.poll.records"));
    assert_non_null(strstr(warnings, "kafka.group.id"));
    cv_properties_release(&o.kafka);
}

/* The translation of one setting, or NULL. */
static void expect_client(const char *const *pairs, const char *name, const char *value)
{
    struct cv_source_options o;
    struct cv_properties client = {0};
    struct cv_error err = CV_ERROR_INIT;
    const char *got;

    CV_ASSERT_OK(check(pairs, &o, &err), &err);
    CV_ASSERT_OK(cv_client_config_translate(&o.kafka, &client, &err), &err);
    got = cv_properties_get(&client, name);
    if (!value)
        assert_null(got);
    else if (!got || strcmp(got, value) != 0)
        fail_msg("%s is %s, want %s", name, got ? got : "unset", value);
    cv_properties_release(&client);
    cv_properties_release(&o.kafka);
}

static void translates_names(void **state)
{
    const char *plain[] = {"subscribe", "t", NULL};
    const char *sizes[] = {"subscribe",
                           "t",
                           "kafka.max.partition.fetch.bytes",
                           "77",
                           "kafka.fetch.max.wait.ms",
                           "5",
                           "kafka.receive.buffer.bytes",
                           "-1",
                           "kafka.request.timeout.ms",
                           "9000",
                           NULL};
    const char *committed[] = {"subscribe", "t", "kafka.isolation.level", "read_committed", NULL};

    expect_client(plain, "isolation.level", "read_uncommitted");
    expect_client(plain, "check.crcs", "true");
    expect_client(plain, "bootstrap.servers", "h:9092");
    expect_client(committed, "isolation.level", "read_committed");
    expect_client(sizes, "fetch.message.max.bytes", "77");
    expect_client(sizes, "fetch.wait.max.ms", "5");
    expect_client(sizes, "socket.receive.buffer.bytes", "0");
    expect_client(sizes, "socket.timeout.ms", "9000");
}

static void translates_sasl(void **state)
{
    const char *pairs[] = {"subscribe",
                           "t",
                           "kafka.security.protocol",
                           "SASL_SSL",
                           "kafka.sasl.mechanism",
                           "SCRAM-SHA-512",
                           "kafka.sasl.jaas.config",
                           "org.apache.kafka.common.security.scram.ScramLoginModule required "
                           "username=\"al\\\"ice\" password='s=c;r\\\\t' ;",
                           NULL};

    expect_client(pairs, "security.protocol", "SASL_SSL");
    expect_client(pairs, "sasl.mechanisms", "SCRAM-SHA-512");
    expect_client(pairs, "sasl.username", "al\"ice");
    expect_client(pairs, "sasl.password", "s=c;r\\t");
    expect_client(pairs, "sasl.jaas.config", NULL);
}

static void translates_tls(void **state)
{
    const char *pem[] = {"subscribe",
                         "t",
                         "kafka.ssl.truststore.type",
                         "PEM",
                         "kafka.ssl.truststore.location",
                         "/ca.pem",
                         "kafka.ssl.keystore.type",
                         "PEM",
                         "kafka.ssl.keystore.location",
                         "/me.pem",
                         "kafka.ssl.endpoint.identification.algorithm",
                         "",
                         NULL};
    const char *text[] = {"subscribe",
                          "t",
                          "kafka.ssl.truststore.certificates",
                          "CA",
                          "kafka.ssl.keystore.key",
                          "KEY",
                          "kafka.ssl.keystore.certificate.chain",
                          "CHAIN",
                          "kafka.ssl.key.password",
                          "pw",
                          NULL};
    const char *pkcs12[] = {"subscribe",
                            "t",
                            "kafka.ssl.keystore.type",
                            "PKCS12",
                            "kafka.ssl.keystore.location",
                            "/me.p12",
                            "kafka.ssl.keystore.password",
                            "pw",
                            NULL};

    expect_client(pem, "ssl.ca.location", "/ca.pem");
    expect_client(pem, "ssl.certificate.location", "/me.pem");
    expect_client(pem, "ssl.key.location", "/me.pem");
    expect_client(pem, "ssl.endpoint.identification.algorithm", "none");
    expect_client(text, "ssl.ca.pem", "CA");
    expect_client(text, "ssl.key.pem", "KEY");
    expect_client(text, "ssl.certificate.pem", "CHAIN");
    expect_client(text, "ssl.key.password", "pw");
    expect_client(text, "ssl.endpoint.identification.algorithm", "https");
    expect_client(pkcs12, "ssl.keystore.location", "/me.p12");
    expect_client(pkcs12, "ssl.keystore.password", "pw");
}

static void refuses_java_stores_by_name(void **state)
{
    expect_refusal("kafka.ssl.truststore.location", "/t.jks", "kafka.ssl.truststore.type: PEM");
    expect_refusal("kafka.ssl.keystore.location", "/k.jks", "kafka.ssl.keystore.type: PKCS12");
    expect_refusal("kafka.ssl.ca.location", "/ca.pem", "ssl.truststore.location");
    expect_refusal("kafka.sasl.username", "me", "sasl.jaas.config");
}

static void never_shows_a_secret(void **state)
{
    static const char *const texts[] = {
        "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"u\" "
        "password=\"hush",
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
        "clientSecret=\"hush\";",
        "hush",
        "org.apache.kafka.common.security.plain.PlainLoginModule required password=\"hush\";",
        "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"u\" "
        "password \"hush\";",
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(texts); i++) {
        const char *pairs[] = {"subscribe", "t", "kafka.sasl.jaas.config", texts[i], NULL};
        struct cv_source_options o;
        struct cv_error err = CV_ERROR_INIT;

        assert_int_not_equal(check(pairs, &o, &err), CV_OK);
        assert_null(strstr(err.message, "hush"));
        assert_null(strstr(err.hint, "hush"));
        assert_non_null(strstr(err.message, "sasl.jaas.config"));
        cv_properties_release(&o.kafka);
    }
}

static void patterns_are_searched_not_matched_whole(void **state)
{
    struct cv_source_options o = {.subscribe_pattern = "ord|^x\\d+$"};
    struct cv_source_options bad = {.subscribe_pattern = "a(b"};
    struct cv_subscription s = {0};
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(cv_subscription_parse(&o, &s, &err), &err);
    assert_string_equal(s.description, "SubscribePattern[ord|^x\\d+$]");
    assert_true(cv_subscription_matches(&s, "orders"));
    assert_true(cv_subscription_matches(&s, "my-orders"));
    assert_true(cv_subscription_matches(&s, "x12"));
    assert_false(cv_subscription_matches(&s, "x12b"));
    cv_subscription_release(&s);
    CV_ASSERT_FAILS(cv_subscription_parse(&bad, &s, &err), CV_CONFIG, "subscribePattern", &err);
    bad.subscribe_pattern = "[a-z&&[^b]]";
    CV_ASSERT_FAILS(cv_subscription_parse(&bad, &s, &err), CV_UNSUPPORTED, "&&", &err);
    o.subscribe_pattern = ".*";
    CV_ASSERT_OK(cv_subscription_parse(&o, &s, &err), &err);
    assert_false(cv_subscription_matches(&s, "__consumer_offsets"));
    assert_false(cv_subscription_matches(&s, "__transaction_state"));
    cv_subscription_release(&s);
}

static void describes_the_subscription_as_spark_prints_it(void **state)
{
    struct cv_source_options named = {.subscribe = " a ,,b"};
    struct cv_source_options assigned = {.assign = "{\"t\":[1,0],\"s\":[2]}"};
    struct cv_subscription s = {0};
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(cv_subscription_parse(&named, &s, &err), &err);
    assert_string_equal(s.description, "Subscribe[a, b]");
    cv_subscription_release(&s);
    CV_ASSERT_OK(cv_subscription_parse(&assigned, &s, &err), &err);
    assert_string_equal(s.description, "Assign[t-1, t-0, s-2]");
    assert_int_equal(s.assigned.count, 3);
    cv_subscription_release(&s);
    assigned.assign = "[1]";
    CV_ASSERT_FAILS(cv_subscription_parse(&assigned, &s, &err), CV_CONFIG, "assign", &err);
    assigned.assign = "{\"t\":[-1]}";
    CV_ASSERT_FAILS(cv_subscription_parse(&assigned, &s, &err), CV_CONFIG, "item 0", &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_defaults_of_spark),
        cmocka_unit_test(names_ignore_case),
        cmocka_unit_test(wants_exactly_one_subscription),
        cmocka_unit_test(refuses_what_bounds_a_batch_query),
        cmocka_unit_test(refuses_malformed_values),
        cmocka_unit_test(minimum_is_not_above_maximum),
        cmocka_unit_test(refuses_the_settings_that_spark_refuses),
        cmocka_unit_test(names_every_problem_at_once),
        cmocka_unit_test(accepts_tuning_of_the_java_client),
        cmocka_unit_test(translates_names),
        cmocka_unit_test(translates_sasl),
        cmocka_unit_test(translates_tls),
        cmocka_unit_test(refuses_java_stores_by_name),
        cmocka_unit_test(never_shows_a_secret),
        cmocka_unit_test(patterns_are_searched_not_matched_whole),
        cmocka_unit_test(describes_the_subscription_as_spark_prints_it),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    cv_arena_release(&arena);
    return failed;
}
