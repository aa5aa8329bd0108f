/* SPDX-License-Identifier: Apache-2.0
 *
 * The source against librdkafka's mock cluster: exact ranges over several batches, records held
 * over, nulls and headers, partitions that appear, troubles of the broker. What the mock lacks
 * (timestamps, transactions, retention, codecs) is tested with a real broker in tests/real. */
#include "kafka/source.h"

#include "base/time.h"
#include "kafka/fetch_int.h"
#include "kafka/mock.h"
#include "test.h"
#include "tsan_threads.h"

#define LIST_OFFSETS 2 /* API keys */
#define METADATA     3

struct fixture {
    struct cv_arena arena;
    struct cv_mock_broker *broker;
    struct cv_source_options options;
    struct cv_source *source;
    struct cv_offsets start;
    size_t memory_bytes;
    size_t padding; /* blanks after the text of each value */
    char warnings[2048];
};

#define PADDING_MAX 2000

static void collect_warning(void *context, const char *message)
{
    struct fixture *f = context;

    strncat(f->warnings, message, sizeof f->warnings - strlen(f->warnings) - 1);
}

static void put(struct fixture *f, const char *topic, int32_t partition, int from, int to)
{
    struct cv_error err = CV_ERROR_INIT;
    char text[32 + PADDING_MAX];

    for (int i = from; i < to; i++) {
        (void)snprintf(text, sizeof text, "%d:%d%*s", (int)partition, i, (int)f->padding, "");
        CV_ASSERT_OK(cv_mock_broker_produce(f->broker, topic, partition, (struct cv_str){0},
                                            cv_str_from(text), 1700000000000 + i, &err),
                     &err);
    }
    CV_ASSERT_OK(cv_mock_broker_flush(f->broker, &err), &err);
}

static void set_option(struct fixture *f, const char *key, const char *value)
{
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(cv_options_set(&cv_source_option_table, &f->options, &f->arena, key, value, &err),
                 &err);
}

static int set_up(void **state)
{
    struct fixture *f = cv_alloc(sizeof *f);
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(cv_mock_broker_start(1, &f->broker, &err), &err);
    CV_ASSERT_OK(cv_mock_broker_create_topic(f->broker, "t", 3, &err), &err);
    CV_ASSERT_OK(cv_options_defaults(&cv_source_option_table, &f->options, &f->arena, &err), &err);
    set_option(f, "kafka.bootstrap.servers", cv_mock_broker_bootstrap(f->broker));
    set_option(f, "subscribe", "t");
    set_option(f, "startingOffsets", "earliest");
    set_option(f, "fetchOffset.retryIntervalMs", "50");
    f->memory_bytes = (size_t)16 << 20;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cv_source_free(f->source);
    cv_mock_broker_stop(f->broker);
    cv_properties_release(&f->options.kafka);
    cv_offsets_release(&f->start);
    cv_arena_release(&f->arena);
    free(f);
    return 0;
}

static void open_source(struct fixture *f)
{
    struct cv_source_config config = {.options = &f->options,
                                      .job = "unit",
                                      .memory_bytes = f->memory_bytes,
                                      .warn = collect_warning,
                                      .warn_context = f};
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(cv_source_open(&config, &f->source, &err), &err);
    CV_ASSERT_OK(cv_source_initial_offsets(f->source, &f->start, &err), &err);
}

/* Every record of [start, end): the next expected offset of each partition, values by their text.
 */
static size_t read_range(struct fixture *f, const struct cv_offsets *start,
                         const struct cv_offsets *end)
{
    struct cv_offsets next = {0};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_chunk *chunk;
    uint64_t sequence = 0;
    size_t count = 0;
    char text[32];

    cv_offsets_copy(&next, start);
    CV_ASSERT_OK(cv_source_fetch_begin(f->source, start, end, &err), &err);
    for (;;) {
        CV_ASSERT_OK(cv_source_fetch_next(f->source, NULL, NULL, &chunk, &err), &err);
        if (!chunk)
            break;
        assert_int_equal(chunk->sequence, sequence++);
        for (size_t i = 0; i < chunk->count; i++) {
            const struct cv_record *r = &chunk->records[i];
            const struct cv_offset *want =
                cv_offsets_find(&next, r->source->topic, r->source->partition);

            assert_int_equal(r->offset, want->offset);
            (void)snprintf(text, sizeof text, "%d:%d", (int)r->source->partition, (int)r->offset);
            assert_int_equal(r->value_length, strlen(text) + f->padding);
            assert_memory_equal(r->value, text, strlen(text));
            assert_null(r->key);
            assert_int_equal(r->timestamp_ms, 1700000000000 + r->offset);
            assert_int_equal(r->timestamp_type, 0);
            cv_offsets_set(&next, r->source->topic, r->source->partition, r->offset + 1);
        }
        count += chunk->count;
        chunk->release(chunk);
    }
    assert_true(cv_offsets_equal(&next, end));
    cv_offsets_release(&next);
    return count;
}

/* Plans and reads one batch; the number of its records. */
static size_t run_batch(struct fixture *f)
{
    struct cv_plan plan = {0};
    struct cv_error err = CV_ERROR_INIT;
    size_t count;

    CV_ASSERT_OK(
        cv_source_plan(f->source, &f->start, CV_LIMIT_OPTIONS, NULL, cv_now_us(), &plan, &err),
        &err);
    count = read_range(f, &plan.start, &plan.end);
    cv_offsets_copy(&f->start, &plan.end);
    cv_plan_release(&plan);
    return count;
}

static void reads_batch_after_batch(void **state)
{
    struct fixture *f = *state;

    put(f, "t", 0, 0, 1000);
    put(f, "t", 2, 0, 5);
    open_source(f);
    assert_string_equal(cv_source_description(f->source), "KafkaV2[Subscribe[t]]");
    assert_int_equal(f->start.count, 3);
    assert_int_equal(run_batch(f), 1005);
    assert_int_equal(run_batch(f), 0);
    put(f, "t", 0, 1000, 1003);
    put(f, "t", 1, 0, 7);
    assert_int_equal(run_batch(f), 10);
    put(f, "t", 1, 7, 8);
    assert_int_equal(run_batch(f), 1);
}

/* With a small limit most records arrive before their batch; none is lost or read twice. */
static void hands_out_what_was_held_over(void **state)
{
    struct fixture *f = *state;
    size_t total = 0;
    int batches = 0;

    put(f, "t", 0, 0, 900);
    put(f, "t", 1, 0, 90);
    put(f, "t", 2, 0, 9);
    set_option(f, "maxOffsetsPerTrigger", "100");
    open_source(f);
    while (total < 999) {
        size_t count = run_batch(f);

        assert_in_range(count, 1, 102);
        total += count;
        batches++;
    }
    assert_int_equal(total, 999);
    assert_in_range(batches, 10, 15);
    assert_int_equal(run_batch(f), 0);
}

/* More arrives before its batch than may be held over: what is not kept is fetched again. */
static void fetches_again_what_is_too_much_to_hold(void **state)
{
    struct fixture *f = *state;
    size_t total = 0;

    f->padding = 1000;
    f->memory_bytes = 1; /* the least: 4 MiB, a quarter of it held over */
    put(f, "t", 0, 0, 3000);
    put(f, "t", 1, 0, 3000);
    put(f, "t", 2, 0, 1500);
    set_option(f, "maxOffsetsPerTrigger", "700");
    open_source(f);
    while (total < 7500) {
        size_t count = run_batch(f);

        assert_in_range(count, 1, 702);
        total += count;
    }
    assert_int_equal(total, 7500);
    assert_int_equal(run_batch(f), 0);
}

/* Ranges of all kinds: continued, empty, begun again, cut short and read once more. */
static void reads_any_range_exactly(void **state)
{
    struct fixture *f = *state;
    struct cv_offsets end = {0};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_chunk *chunk;
    unsigned seed = 1;

    f->memory_bytes = 1;
    for (int32_t partition = 0; partition < 3; partition++)
        put(f, "t", partition, 0, 5000);
    open_source(f);
    for (int round = 0; round < 60; round++) {
        cv_offsets_copy(&end, &f->start);
        for (size_t i = 0; i < end.count; i++) {
            int64_t *from = &f->start.items[i].offset;
            int64_t span = rand_r(&seed) % 4 * 300;

            if (rand_r(&seed) % 10 == 0)
                *from = rand_r(&seed) % 5001;
            end.items[i].offset = CV_MIN(*from + span, 5000);
        }
        if (round % 7 == 3) {
            CV_ASSERT_OK(cv_source_fetch_begin(f->source, &f->start, &end, &err), &err);
            CV_ASSERT_OK(cv_source_fetch_next(f->source, NULL, NULL, &chunk, &err), &err);
            cv_source_fetch_cancel(f->source);
            if (chunk)
                chunk->release(chunk);
        }
        (void)read_range(f, &f->start, &end);
        cv_offsets_copy(&f->start, &end);
    }
    cv_offsets_release(&end);
}

/* The end of a partition that follows a record which was not kept must not pass over it. */
static void the_end_of_a_partition_passes_nothing_over(void **state)
{
    struct fixture *f = *state;
    rd_kafka_message_t message = {.err = RD_KAFKA_RESP_ERR__PARTITION_EOF, .offset = 100};
    struct cv_fetch_partition *p;

    open_source(f);
    p = cv_source_partition(f->source, "t", 0);
    p->running = true;
    p->overrun = true;
    p->next = 7;
    cv_fetch_on_error(f->source, p, &message);
    assert_int_equal(p->next, 7);
    p->overrun = false;
    cv_fetch_on_error(f->source, p, &message);
    assert_int_equal(p->next, 100);
    p->running = false;
}

static void reads_a_range_again_after_a_cancellation(void **state)
{
    struct fixture *f = *state;
    struct cv_offsets end = {0};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_chunk *chunk;

    put(f, "t", 0, 0, 20000);
    open_source(f);
    cv_offsets_copy(&end, &f->start);
    cv_offsets_set(&end, "t", 0, 19990);
    CV_ASSERT_OK(cv_source_fetch_begin(f->source, &f->start, &end, &err), &err);
    CV_ASSERT_OK(cv_source_fetch_next(f->source, NULL, NULL, &chunk, &err), &err);
    assert_non_null(chunk);
    cv_source_fetch_cancel(f->source);
    chunk->release(chunk);
    assert_int_equal(read_range(f, &f->start, &end), 19990);
    /* … and an older range, as a redo from the checkpoint would. */
    assert_int_equal(read_range(f, &f->start, &end), 19990);
    cv_offsets_release(&end);
}

static bool always(void *context)
{
    return true;
}

static void waiting_ends_with_a_cancellation(void **state)
{
    struct fixture *f = *state;
    struct cv_offsets end = {0};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_chunk *chunk = NULL;
    int64_t begin;

    put(f, "t", 0, 0, 1);
    open_source(f);
    cv_offsets_copy(&end, &f->start);
    cv_offsets_set(&end, "t", 1, 5); /* never comes */
    CV_ASSERT_OK(cv_source_fetch_begin(f->source, &f->start, &end, &err), &err);
    begin = cv_monotonic_us();
    CV_ASSERT_FAILS(cv_source_fetch_next(f->source, always, NULL, &chunk, &err), CV_CANCELLED,
                    "cancelled", &err);
    assert_true(cv_monotonic_us() - begin < 100000);
    cv_offsets_release(&end);
}

static void a_silent_broker_is_a_timeout(void **state)
{
    struct fixture *f = *state;
    struct cv_offsets end = {0};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_chunk *chunk = NULL;

    set_option(f, "kafkaConsumer.pollTimeoutMs", "1000");
    open_source(f);
    cv_offsets_copy(&end, &f->start);
    cv_offsets_set(&end, "t", 1, 5);
    CV_ASSERT_OK(cv_source_fetch_begin(f->source, &f->start, &end, &err), &err);
    CV_ASSERT_FAILS(cv_source_fetch_next(f->source, NULL, NULL, &chunk, &err), CV_TIMEOUT,
                    "t[1]@0: no record within 1 s, 5 more were expected", &err);
    cv_offsets_release(&end);
}

static void keeps_null_and_empty_apart(void **state)
{
    struct fixture *f = *state;
    struct cv_header headers[] = {{{"a", 1}, (const uint8_t *)"1", 1}, {{"b", 1}, NULL, 0}};
    struct cv_mock_record records[] = {
        {{"k1", 2}, {NULL, 0}, 0, 5, NULL, 0},
        {{"k2", 2}, {"", 0}, 0, 6, NULL, 0},
        {{NULL, 0}, {"v", 1}, 0, 7, headers, 2},
        {{"", 0}, {"v", 1}, 0, 8, NULL, 0},
    };
    struct cv_offsets end = {0};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_chunk *chunk;
    const struct cv_record *r;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(records); i++)
        CV_ASSERT_OK(cv_mock_broker_produce_record(f->broker, "t", &records[i], &err), &err);
    CV_ASSERT_OK(cv_mock_broker_flush(f->broker, &err), &err);
    set_option(f, "includeHeaders", "true");
    open_source(f);
    cv_offsets_copy(&end, &f->start);
    cv_offsets_set(&end, "t", 0, 4);
    CV_ASSERT_OK(cv_source_fetch_begin(f->source, &f->start, &end, &err), &err);
    CV_ASSERT_OK(cv_source_fetch_next(f->source, NULL, NULL, &chunk, &err), &err);
    assert_int_equal(chunk->count, 4);
    r = chunk->records;
    assert_int_equal(r[0].key_length, 2);
    assert_null(r[0].value);
    assert_null(r[0].headers);
    assert_int_equal(r[0].timestamp_ms, 5);
    assert_non_null(r[1].value);
    assert_int_equal(r[1].value_length, 0);
    assert_null(r[2].key);
    assert_int_equal(r[2].header_count, 2);
    assert_memory_equal(r[2].headers[0].key.ptr, "a", 1);
    assert_memory_equal(r[2].headers[0].value, "1", 1);
    assert_null(r[2].headers[1].value);
    assert_non_null(r[3].key);
    assert_int_equal(r[3].key_length, 0);
    chunk->release(chunk);
    cv_offsets_release(&end);
}

/* Case 5: an answer without any partition is asked again and changes nothing. */
static void rides_out_metadata_errors(void **state)
{
    struct fixture *f = *state;

    put(f, "t", 0, 0, 10);
    open_source(f);
    assert_int_equal(run_batch(f), 10);
    cv_mock_broker_fail_requests(f->broker, METADATA, 5 /* LEADER_NOT_AVAILABLE */, 3);
    cv_mock_broker_fail_requests(f->broker, LIST_OFFSETS, 6 /* NOT_LEADER */, 2);
    put(f, "t", 0, 10, 12);
    assert_int_equal(run_batch(f), 2);
}

static void rides_out_an_outage(void **state)
{
    struct fixture *f = *state;
    struct cv_offsets end = {0};

    put(f, "t", 0, 0, 50);
    open_source(f);
    cv_offsets_copy(&end, &f->start);
    cv_offsets_set(&end, "t", 0, 50);
    cv_mock_broker_set_down(f->broker, 1, true);
    cv_sleep_ms(300);
    cv_mock_broker_set_down(f->broker, 1, false);
    assert_int_equal(read_range(f, &f->start, &end), 50);
    cv_offsets_release(&end);
}

static void notices_a_different_topic(void **state)
{
    struct fixture *f = *state;
    const struct cv_fingerprint *prints;
    struct cv_fingerprint copy[2];
    struct cv_error err = CV_ERROR_INIT;
    const char *what;
    size_t count;
    bool same = false;

    put(f, "t", 0, 0, 30);
    put(f, "t", 1, 0, 3);
    open_source(f);
    assert_int_equal(run_batch(f), 33);
    prints = cv_source_fingerprints(f->source, &count);
    assert_int_equal(count, 2);
    memcpy(copy, prints, sizeof copy);
    assert_int_equal(copy[0].offset, 29);
    assert_int_equal(copy[0].timestamp_ms, 1700000000029);
    CV_ASSERT_OK(cv_source_verify_fingerprints(f->source, copy, 2, &same, &what, &err), &err);
    assert_true(same);
    copy[1].crc ^= 1;
    CV_ASSERT_OK(cv_source_verify_fingerprints(f->source, copy, 2, &same, &what, &err), &err);
    assert_false(same);
    assert_string_equal(what, "t[1]@2");
    copy[1].crc ^= 1;
    copy[0].offset = 30;
    CV_ASSERT_OK(cv_source_verify_fingerprints(f->source, copy, 2, &same, &what, &err), &err);
    assert_false(same);
    /* Reading goes on where it was. */
    put(f, "t", 0, 30, 33);
    assert_int_equal(run_batch(f), 3);
}

static void samples_the_newest_records(void **state)
{
    struct fixture *f = *state;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_chunk *chunk = NULL;

    open_source(f);
    CV_ASSERT_OK(cv_source_sample(f->source, 3, &chunk, &err), &err);
    assert_null(chunk);
    put(f, "t", 1, 0, 10);
    CV_ASSERT_OK(cv_source_sample(f->source, 3, &chunk, &err), &err);
    assert_int_equal(chunk->count, 3);
    assert_int_equal(chunk->records[0].offset, 7);
    chunk->release(chunk);
    assert_int_equal(run_batch(f), 10);
}

static void publishes_offsets_for_monitoring(void **state)
{
    struct fixture *f = *state;
    struct cv_error err = CV_ERROR_INIT;

    put(f, "t", 0, 0, 10);
    open_source(f);
    assert_int_equal(run_batch(f), 10);
    CV_ASSERT_OK(cv_source_publish_lag(f->source, "calve.unit", &f->start, "{}", &err), &err);
    cv_source_free(f->source);
    f->source = NULL;
    assert_string_equal(f->warnings, "");
}

static void starts_at_given_offsets(void **state)
{
    struct fixture *f = *state;

    put(f, "t", 0, 0, 10);
    put(f, "t", 1, 0, 10);
    put(f, "t", 2, 0, 10);
    set_option(f, "startingOffsets", "{\"t\":{\"0\":4,\"1\":-1,\"2\":-2}}");
    open_source(f);
    assert_int_equal(cv_offsets_find(&f->start, "t", 0)->offset, 4);
    assert_int_equal(cv_offsets_find(&f->start, "t", 1)->offset, 10);
    assert_int_equal(cv_offsets_find(&f->start, "t", 2)->offset, 0);
    assert_int_equal(run_batch(f), 16);
}

static void assigns_what_exists(void **state)
{
    struct fixture *f = *state;

    f->options.subscribe = NULL;
    set_option(f, "assign", "{\"t\":[1,7]}");
    open_source(f);
    assert_int_equal(f->start.count, 1);
    assert_int_equal(f->start.items[0].partition, 1);
}

static void nobody_answers(void **state)
{
    struct cv_source_options options = {0};
    struct cv_source_config config = {.options = &options, .job = "unit", .cancelled = always};
    struct cv_source *source = NULL;
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(cv_options_defaults(&cv_source_option_table, &options, &arena, &err), &err);
    options.subscribe = "t";
    cv_properties_set(&options.kafka, "bootstrap.servers", "127.0.0.1:1");
    CV_ASSERT_FAILS(cv_source_open(&config, &source, &err), CV_CANCELLED, "cancelled", &err);
    cv_properties_release(&options.kafka);
    cv_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_batch_after_batch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hands_out_what_was_held_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fetches_again_what_is_too_much_to_hold, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_any_range_exactly, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_end_of_a_partition_passes_nothing_over, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(reads_a_range_again_after_a_cancellation, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(waiting_ends_with_a_cancellation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_silent_broker_is_a_timeout, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keeps_null_and_empty_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rides_out_metadata_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rides_out_an_outage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(notices_a_different_topic, set_up, tear_down),
        cmocka_unit_test_setup_teardown(samples_the_newest_records, set_up, tear_down),
        cmocka_unit_test_setup_teardown(publishes_offsets_for_monitoring, set_up, tear_down),
        cmocka_unit_test_setup_teardown(starts_at_given_offsets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(assigns_what_exists, set_up, tear_down),
        cmocka_unit_test(nobody_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
