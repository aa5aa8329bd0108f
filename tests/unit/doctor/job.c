/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings about a job, judged from facts that are made up here; and a whole examination of a job
 * whose checkpoint, table and registry-less schema are real. */
#include "doctor_fixture.h"

#include "kafka/mock.h"

static struct fixture f;
static struct cv_job job;
static struct cv_examination exam;
static struct cv_doctor d;
static struct cv_examine_config config;
static struct cv_partition_health partitions[4];
static struct cv_topic_health topics[1];

#define NOW_MS INT64_C(1800000000000)

static void load_job(const char *more)
{
    struct cv_job_file file = {0};
    const char *text = cv_arena_printf(&f.arena,
                                       "job: orders\n"
                                       "catalogs: {lake: {type: hadoop, warehouse: %s/wh}}\n"
                                       "source: {kafka.bootstrap.servers: \"127.0.0.1:1\", "
                                       "subscribe: orders}\n"
                                       "value: {format: json}\n"
                                       "select: value.id AS id, value.item AS item\n%s",
                                       f.folder, more);

    CV_ASSERT_OK(cv_job_file_parse(cv_str_from(text), "orders.yaml", f.folder, &file, &err), &err);
    CV_ASSERT_OK(cv_job_build(&file, NULL, NULL, &job, &err), &err);
}

static int set_up(void **state)
{
    (void)state;
    fixture_open(&f, "sql");
    load_job("sink: {table: lake.shop.orders, checkpointLocation: ./cp, trigger: 1 minute}\n");
    config =
        (struct cv_examine_config){.table_name = "lake.shop.orders", .job = &job, .now_ms = NOW_MS};
    d = (struct cv_doctor){
        .config = &config, .exam = &exam, .arena = &exam.arena, .now_ms = NOW_MS};
    config.table = fixture_table(&f, "day", NULL, 0);
    d.metadata = config.table->metadata;
    d.kafka_known = true;
    d.kafka.partitions = partitions;
    d.kafka.count = CV_ARRAY_LENGTH(partitions);
    d.kafka.topics = topics;
    d.kafka.topic_count = 1;
    topics[0] = (struct cv_topic_health){"orders", 7 * DAY_MS};
    for (int i = 0; i < 4; i++)
        partitions[i] = (struct cv_partition_health){"orders", i, 100, 10, 100, 100, -1};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cv_offsets_release(&d.checkpoint.table_position);
    cv_examination_release(&exam);
    cv_job_release(&job);
    fixture_close(&f);
    return 0;
}

static void judge(void)
{
    cv_examination_release(&exam);
    cv_doctor_judge(&d);
}

/* The findings, and not the facts. */
static void forget(void)
{
    for (size_t i = 0; i < exam.count; i++)
        cv_properties_release(&exam.findings[i].arguments);
    exam.count = 0;
}

static void a_job_in_order_has_only_hints(void **state)
{
    (void)state;
    judge();
    assert_not_found(&exam, "offset-out-of-range");
    assert_not_found(&exam, "retention-headroom");
    assert_not_found(&exam, "stuck-partition");
    assert_not_found(&exam, "position-mismatch");
    assert_not_found(&exam, "dead-letters");
    assert_not_found(&exam, "broker-not-reached");
    assert_not_found(&exam, "trigger-too-short");
}

static void records_are_lost(void **state)
{
    const struct cv_finding *finding;

    (void)state;
    partitions[1].position = 4;
    partitions[2].position = 9;
    judge();
    finding = assert_found(&exam, "offset-out-of-range", CV_SEVERITY_CRITICAL, 7,
                           "most of orders[1]: it begins at 10, the table is at 4");
    assert_string_equal(finding->command, "calve run orders.yaml -o source.failOnDataLoss=false");
    assert_ptr_equal(finding, &exam.findings[0]); /* the worst first */
}

/* The oldest unread record of partition 3 is 6 of 7 days old. */
static void retention_comes_near(void **state)
{
    (void)state;
    partitions[3].latest = 200;
    partitions[3].unread_ms = NOW_MS - 6 * DAY_MS;
    judge();
    assert_found(&exam, "retention-headroom", CV_SEVERITY_WARNING, DAY_MS,
                 "orders[3] may be deleted in 24 hours: retention.ms is 7 days");
    partitions[3].unread_ms = NOW_MS - 7 * DAY_MS - 5;
    judge();
    assert_found(&exam, "retention-headroom", CV_SEVERITY_CRITICAL, 0, "any moment");
    topics[0].retention_ms = CV_RETENTION_FOR_EVER;
    judge();
    assert_not_found(&exam, "retention-headroom");
    topics[0].retention_ms = INT64_MAX; /* the other way to write it */
    judge();
    assert_not_found(&exam, "retention-headroom");
}

static void one_partition_stands_still(void **state)
{
    (void)state;
    partitions[0].latest = 500;
    partitions[0].unread_ms = NOW_MS - HOUR_MS;
    judge();
    assert_not_found(&exam, "stuck-partition"); /* the job has not run since */
    exam.measures.newest_snapshot_ms = NOW_MS;
    forget();
    cv_doctor_judge(&d);
    assert_found(&exam, "stuck-partition", CV_SEVERITY_WARNING, 400,
                 "orders[0] stands still: 400 records behind, the oldest waits for 60 minutes");
    for (int i = 1; i < 4; i++) { /* all of them: no matter of a partition */
        partitions[i].latest = 500;
        partitions[i].unread_ms = NOW_MS - HOUR_MS;
    }
    forget();
    cv_doctor_judge(&d);
    assert_not_found(&exam, "stuck-partition");
}

static void group_and_table_differ(void **state)
{
    (void)state;
    d.checkpoint.in_table = true;
    for (int i = 0; i < 4; i++)
        cv_offsets_set(&d.checkpoint.table_position, "orders", i, 100);
    partitions[2].committed = 90;
    judge();
    assert_found(&exam, "position-mismatch", CV_SEVERITY_NOTE, 10,
                 "group calve.orders is 10 records behind what the table has");
    partitions[2].committed = 130;
    judge();
    assert_found(&exam, "position-mismatch", CV_SEVERITY_WARNING, 30, "ahead of");
    d.checkpoint.used = true; /* a running job updates it any moment */
    judge();
    assert_not_found(&exam, "position-mismatch");
}

static void table_and_checkpoint_differ(void **state)
{
    const struct cv_finding *finding;

    (void)state;
    d.checkpoint.known = true;
    d.checkpoint.decision = CV_RECOVER_STOP_AHEAD;
    d.checkpoint.evidence =
        (struct cv_recovery_evidence){.table_epoch = 3, .logged = 7, .committed = 7};
    judge();
    finding = assert_found(&exam, "position-mismatch", CV_SEVERITY_CRITICAL, 3,
                           "was it rolled back? (table: batch 3, checkpoint: batch 7 logged, 7");
    assert_string_equal(finding->command, "calve run orders.yaml --resume-from=table");
    assert_not_found(&exam, "unknown-commit-state");
}

static void a_commit_without_an_answer(void **state)
{
    (void)state;
    d.checkpoint.known = true;
    d.checkpoint.decision = CV_RECOVER_NEXT;
    d.checkpoint.evidence =
        (struct cv_recovery_evidence){.table_epoch = 7, .logged = 7, .committed = 6};
    judge();
    assert_found(&exam, "unknown-commit-state", CV_SEVERITY_NOTE, 7, "the table has it");
    d.checkpoint.used = true; /* it is on its way */
    judge();
    assert_not_found(&exam, "unknown-commit-state");
}

static void totals_of_the_checkpoint(void **state)
{
    (void)state;
    d.checkpoint.totals = (struct cv_memo_totals){.since_ms = NOW_MS - DAY_MS,
                                                  .batches = 100,
                                                  .records = 1000,
                                                  .bad = 5,
                                                  .dropped = 3,
                                                  .lost = 2,
                                                  .last_bad_ms = NOW_MS - HOUR_MS,
                                                  .retried_commits = 6,
                                                  .retries = 9};
    judge();
    assert_found(&exam, "dead-letters", CV_SEVERITY_WARNING, 7,
                 "5 of 1000 records could not be decoded, 3 of them were dropped, 2 were lost");
    assert_found(&exam, "commit-retries", CV_SEVERITY_WARNING, 6,
                 "6 of 100 commits had to be tried again, 9 times in all (calve.json");
    d.checkpoint.totals.last_bad_ms = NOW_MS - 2 * DAY_MS;
    d.checkpoint.totals.batches = 1000;
    judge();
    assert_found(&exam, "dead-letters", CV_SEVERITY_NOTE, 7, "");
    assert_found(&exam, "commit-retries", CV_SEVERITY_NOTE, 6, "");
}

static void the_broker_does_not_answer(void **state)
{
    (void)state;
    d.kafka_known = false;
    (void)cv_fail(&d.kafka_error, CV_KAFKA, "nobody at 127.0.0.1:1");
    judge();
    assert_found(&exam, "broker-not-reached", CV_SEVERITY_NOTE, 1, "nobody at 127.0.0.1:1");
}

static void maintenance_is_missing(void **state)
{
    const struct cv_finding *finding;

    (void)state;
    judge();
    finding = assert_found(&exam, "no-maintenance-for-expire-snapshots", CV_SEVERITY_WARNING, 0,
                           "the job has no expire-snapshots");
    assert_string_equal(finding->expected, "write into orders.yaml:\n  maintenance:\n"
                                           "    expire-snapshots: {every: 1h}");
    assert_found(&exam, "no-maintenance-for-rewrite-data-files", CV_SEVERITY_WARNING, 0, "");
    assert_found(&exam, "no-maintenance-for-rewrite-manifests", CV_SEVERITY_NOTE, 0, "");
    assert_found(&exam, "no-maintenance-for-remove-orphan-files", CV_SEVERITY_NOTE, 0, "");
}

static void scheduled_maintenance_is_no_finding(void **state)
{
    (void)state;
    cv_job_release(&job);
    load_job("sink: {table: lake.shop.orders, checkpointLocation: ./cp, trigger: 5 seconds}\n"
             "maintenance: {expire-snapshots: 1h}\n");
    CV_ASSERT_OK(cv_schedule_read(&job.file, &f.arena, &d.schedule, &err), &err);
    judge();
    assert_not_found(&exam, "no-maintenance-for-expire-snapshots");
    assert_found(&exam, "trigger-too-short", CV_SEVERITY_WARNING, 17280,
                 "a trigger of 5 seconds makes up to 17280 commits a day");
    cv_schedule_release(&d.schedule);
}

static void a_schema_drifts(void **state)
{
    (void)state;
    d.schema_drift = "field note has no column";
    judge();
    assert_found(&exam, "schema-drift", CV_SEVERITY_CRITICAL, 1, "field note has no column");
    job.sink.ignore_unknown = true;
    judge();
    assert_found(&exam, "schema-drift", CV_SEVERITY_WARNING, 1, "");
}

static void metadata_and_storage_weigh(void **state)
{
    (void)state;
    exam.storage.metadata_json_bytes = 6 << 20;
    exam.expiry.removed = 10;
    exam.commit_gap_ms = 60000;
    cv_doctor_judge(&d);
    assert_found(&exam, "metadata-json-size", CV_SEVERITY_WARNING, 6 << 20,
                 "6.0 MiB, and 1440 commits a day");
    forget();
    exam.storage = (struct cv_storage_split){.known = true, .live_bytes = 100, .old_bytes = 80};
    exam.expiry.removed = 9;
    cv_doctor_judge(&d);
    assert_found(&exam, "storage-split", CV_SEVERITY_NOTE, 180, "");
    forget();
    exam.expiry.window_ms = HOUR_MS;
    cv_doctor_judge(&d);
    assert_found(&exam, "storage-split", CV_SEVERITY_WARNING, 180, "80 B held by older");
    assert_not_found(&exam, "metadata-json-size");
}

static void produce(struct cv_mock_broker *broker, int count)
{
    for (int i = 0; i < count; i++)
        CV_ASSERT_OK(cv_mock_broker_produce(broker, "orders", i % 2, (struct cv_str){NULL, 0},
                                            cv_str_from("{}"), NOW_MS + i, &err),
                     &err);
    CV_ASSERT_OK(cv_mock_broker_flush(broker, &err), &err);
}

/* What a broker tells: ends, the group's offsets, the time of the first unread record. */
static void the_broker_is_asked(void **state)
{
    CV_CLEANUP(cv_mock_broker_stopp) struct cv_mock_broker *broker = NULL;
    CV_CLEANUP(cv_source_freep) struct cv_source *source = NULL;
    CV_CLEANUP(cv_source_health_release) struct cv_source_health health = {0};
    CV_CLEANUP(cv_offsets_release) struct cv_offsets positions = {0};
    struct cv_source_options options = job.source;
    struct cv_source_config open = {
        .options = &options, .job = "orders", .memory_bytes = (size_t)32 << 20};

    (void)state;
    CV_ASSERT_OK(cv_mock_broker_start(1, &broker, &err), &err);
    CV_ASSERT_OK(cv_mock_broker_create_topic(broker, "orders", 2, &err), &err);
    produce(broker, 20);
    options.kafka = (struct cv_properties){0};
    cv_properties_set(&options.kafka, "bootstrap.servers", cv_mock_broker_bootstrap(broker));
    CV_ASSERT_OK(cv_source_open(&open, &source, &err), &err);
    cv_offsets_set(&positions, "orders", 0, 4);
    cv_offsets_set(&positions, "orders", 1, 10);
    CV_ASSERT_OK(cv_source_publish_lag(source, "calve.orders", &positions, "", &err), &err);
    cv_source_free(cv_steal(source)); /* waits for the commit */
    CV_ASSERT_OK(cv_source_open(&open, &source, &err), &err);
    CV_ASSERT_OK(cv_source_examine(source, "calve.orders", &positions, &health, &err), &err);
    assert_int_equal(health.count, 2);
    assert_int_equal(health.partitions[0].earliest, 0);
    assert_int_equal(health.partitions[0].latest, 10);
    assert_int_equal(health.partitions[0].position, 4);
    assert_int_equal(health.partitions[0].committed, 4);
    assert_int_equal(health.partitions[0].unread_ms, NOW_MS + 8);
    assert_int_equal(health.partitions[1].unread_ms, -1); /* nothing is unread */
    assert_int_equal(health.topic_count, 1);
    assert_int_equal(health.topics[0].retention_ms, CV_RETENTION_UNKNOWN); /* the mock has none */
    cv_source_free(cv_steal(source));
    cv_properties_release(&options.kafka);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_job_in_order_has_only_hints),
        TEST(records_are_lost),
        TEST(retention_comes_near),
        TEST(one_partition_stands_still),
        TEST(group_and_table_differ),
        TEST(table_and_checkpoint_differ),
        TEST(a_commit_without_an_answer),
        TEST(totals_of_the_checkpoint),
        TEST(the_broker_does_not_answer),
        TEST(maintenance_is_missing),
        TEST(scheduled_maintenance_is_no_finding),
        TEST(a_schema_drifts),
        TEST(metadata_and_storage_weigh),
        TEST(the_broker_is_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
