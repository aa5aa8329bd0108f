/* SPDX-License-Identifier: Apache-2.0
 *
 * Section `source` of the job file: the options of Spark's Kafka source, and the
 * checks that need no broker. */
#include "kafka/client_config.h"
#include "kafka/subscription.h"

#define BATCH_ONLY "it bounds a batch query; a stream has no end"
#define AT(field)  offsetof(struct cv_source_options, field)

static const struct cv_option options[] = {
    {"subscribe", CV_OPTION_TEXT, AT(subscribe), NULL, NULL,
     "Topics to read, separated by commas. Exactly one of subscribe, subscribePattern and assign.",
     0, 0, 0},
    {"subscribePattern", CV_OPTION_TEXT, AT(subscribe_pattern), NULL, NULL,
     "Regular expression in Java's syntax; a topic is read when the pattern is found in its name.",
     0, 0, 0},
    {"assign", CV_OPTION_TEXT, AT(assign), NULL, NULL,
     "Partitions to read as JSON: {\"topic\":[0,1]}. Those that do not exist are passed over.", 0,
     0, 0},
    {"kafka.", CV_OPTION_PREFIX, AT(kafka), NULL, NULL,
     "Settings of the Kafka client under the names of the Java client; kafka.bootstrap.servers is "
     "required.",
     0, 0, CV_OPTION_SECRET},
    {"startingOffsets", CV_OPTION_TEXT, AT(starting_offsets), "latest", NULL,
     "Where a query without checkpoint begins: earliest, latest, or JSON with an offset for every "
     "partition (-1 latest, -2 earliest).",
     0, 0, 0},
    {"startingTimestamp", CV_OPTION_TEXT, AT(starting_timestamp), NULL, NULL,
     "Begin at the first record of each partition with this timestamp (ms) or a later one; wins "
     "over the other starting options.",
     0, 0, 0},
    {"startingOffsetsByTimestamp", CV_OPTION_TEXT, AT(starting_offsets_by_timestamp), NULL, NULL,
     "As startingTimestamp with one timestamp for every partition, as JSON.", 0, 0, 0},
    {"startingOffsetsByTimestampStrategy", CV_OPTION_CHOICE, AT(starting_strategy), "error",
     "error|latest", "What to do when a partition has no record that late.", 0, 0, 0},
    {"endingOffsets", CV_OPTION_TEXT, 0, NULL, NULL, BATCH_ONLY, 0, 0, CV_OPTION_REFUSED},
    {"endingTimestamp", CV_OPTION_TEXT, 0, NULL, NULL, BATCH_ONLY, 0, 0, CV_OPTION_REFUSED},
    {"endingOffsetsByTimestamp", CV_OPTION_TEXT, 0, NULL, NULL, BATCH_ONLY, 0, 0,
     CV_OPTION_REFUSED},
    {"failOnDataLoss", CV_OPTION_BOOL, AT(fail_on_data_loss), "true", NULL,
     "Stop when records that were not read yet are gone; false warns, counts them and goes on.", 0,
     0, 0},
    {"maxOffsetsPerTrigger", CV_OPTION_INTEGER, AT(max_offsets_per_trigger), NULL, NULL,
     "Offsets per batch, shared over the partitions by what each has waiting (not a hard cap).", 1,
     0, 0},
    {"minOffsetsPerTrigger", CV_OPTION_INTEGER, AT(min_offsets_per_trigger), NULL, NULL,
     "Wait for so many offsets before a batch runs, but no longer than maxTriggerDelay.", 1, 0, 0},
    {"maxTriggerDelay", CV_OPTION_DURATION, AT(max_trigger_delay_us), "15m", NULL,
     "The longest wait for minOffsetsPerTrigger.", 0, 0, 0},
    {"includeHeaders", CV_OPTION_BOOL, AT(include_headers), "false", NULL,
     "Add the column headers.", 0, 0, 0},
    {"groupIdPrefix", CV_OPTION_TEXT, AT(group_id_prefix), "spark-kafka-source", NULL,
     "Taken for the sake of Spark's job files: calve joins no consumer group to read.", 0, 0, 0},
    {"fetchOffset.numRetries", CV_OPTION_INTEGER, AT(fetch_offset_attempts), "3", NULL,
     "Attempts to list partitions and offsets.", 1, 1000, 0},
    {"fetchOffset.retryIntervalMs", CV_OPTION_DURATION, AT(fetch_offset_retry_us), "1000", NULL,
     "Pause between those attempts.", 0, 0, 0},
    {"kafkaConsumer.pollTimeoutMs", CV_OPTION_DURATION, AT(poll_timeout_us), "120000", NULL,
     "How long a batch waits for a broker that delivers nothing.", 1000, 0, 0},
    {"minPartitions", CV_OPTION_ACCEPTED, 0, NULL, NULL,
     "Taken without effect: calve shares the work by record chunks.", 0, 0, 0},
    {"maxRecordsPerPartition", CV_OPTION_ACCEPTED, 0, NULL, NULL,
     "Taken without effect: calve shares the work by record chunks.", 0, 0, 0},
};

const struct cv_option_table cv_source_option_table = {
    .section = "source",
    .about = "What to read: the options of Spark's Kafka source.",
    .options = options,
    .count = CV_ARRAY_LENGTH(options),
};

static enum cv_code check_subscription(const struct cv_source_options *o, struct cv_error *err)
{
    CV_CLEANUP(cv_subscription_release) struct cv_subscription subscription = {0};

    return cv_subscription_parse(o, &subscription, err);
}

static enum cv_code check_starting(const struct cv_source_options *o, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets parsed = {0};
    const char *text = o->starting_offsets;
    int64_t timestamp;

    if (o->starting_timestamp &&
        (!cv_parse_i64(cv_str_trim(cv_str_from(o->starting_timestamp)), &timestamp) ||
         timestamp < 0))
        return cv_fail(err, CV_CONFIG,
                       "source.startingTimestamp: \"%.100s\" is not a timestamp in "
                       "milliseconds",
                       o->starting_timestamp);
    if (o->starting_offsets_by_timestamp &&
        cv_offsets_parse(cv_str_from(o->starting_offsets_by_timestamp), false, &parsed, err) !=
            CV_OK) {
        cv_context(err, "source.startingOffsetsByTimestamp");
        if (err)
            err->code = CV_CONFIG;
        return CV_CONFIG;
    }
    if (!text || cv_starting_is(text, "earliest") || cv_starting_is(text, "latest"))
        return CV_OK;
    if (cv_offsets_parse(cv_str_from(text), true, &parsed, err) != CV_OK) {
        cv_context(err, "source.startingOffsets");
        cv_hint(err, "write earliest, latest, or {\"topic\":{\"0\":23,\"1\":-1}}");
        if (err)
            err->code = CV_CONFIG;
        return CV_CONFIG;
    }
    return CV_OK;
}

enum cv_code cv_source_options_check(const struct cv_source_options *o,
                                     void (*warn)(void *context, const char *message),
                                     void *context, struct cv_error *err)
{
    CV_DO(check_subscription(o, err));
    CV_DO(check_starting(o, err));
    if (o->min_offsets_per_trigger > 0 && o->max_offsets_per_trigger > 0 &&
        o->min_offsets_per_trigger > o->max_offsets_per_trigger)
        return cv_fail(err, CV_CONFIG,
                       "source.minOffsetsPerTrigger (%lld) is above maxOffsetsPerTrigger (%lld)",
                       (long long)o->min_offsets_per_trigger,
                       (long long)o->max_offsets_per_trigger);
    return cv_client_config_check(&o->kafka, warn, context, err);
}
