/* SPDX-License-Identifier: Apache-2.0
 *
 * StreamingQueryProgress: field order and form as Spark 4 prints them. */
#include "test.h"

#include "stream/progress.h"

static void fill(struct cv_progress *p, struct cv_offsets *start, struct cv_offsets *end,
                 struct cv_offsets *latest)
{
    cv_offsets_set(start, "orders", 0, 20);
    cv_offsets_set(end, "orders", 0, 120);
    cv_offsets_set(latest, "orders", 0, 130);
    *p = (struct cv_progress){
        .query_id = "q",
        .run_id = "r",
        .name = "orders",
        .timestamp_ms = 1767225600000,
        .previous_timestamp_ms = 1767225600000 - 60000,
        .batch_id = 7,
        .ran = true,
        .input_rows = 100,
        .output_rows = 100,
        .start = start,
        .end = end,
        .latest = latest,
        .source_description = "KafkaV2[Subscribe[orders]]",
        .sink_description = "cat.db.t",
        .snapshot_id = 5,
        .files = 1,
        .file_bytes = 3174,
        .commit_attempts = 1,
        .requests = {.sent = {[CV_REQUEST_PUT] = 3, [CV_REQUEST_CATALOG_COMMIT] = 1}},
        .written = {.groups_closed_early = 2,
                    .rows_spilled = 1000,
                    .bytes_spilled = 64000,
                    .files_closed_early = 3}};
    p->stage_us[CV_STAGE_LATEST_OFFSET] = 15000;
    p->stage_us[CV_STAGE_GET_BATCH] = -1;
    p->stage_us[CV_STAGE_QUERY_PLANNING] = -1;
    p->stage_us[CV_STAGE_WAL_COMMIT] = 25000;
    p->stage_us[CV_STAGE_ADD_BATCH] = 600000;
    p->stage_us[CV_STAGE_COMMIT_OFFSETS] = 20000;
    p->stage_us[CV_STAGE_TRIGGER] = 812000;
}

static void json_is_sparks(void **state)
{
    struct cv_offsets start = {0};
    struct cv_offsets end = {0};
    struct cv_offsets latest = {0};
    struct cv_buf json = CV_BUF_INIT(0);
    struct cv_progress p;

    fill(&p, &start, &end, &latest);
    cv_progress_write_json(&p, &json);
    assert_string_equal(
        cv_buf_text(&json),
        "{\"id\":\"q\",\"runId\":\"r\",\"name\":\"orders\","
        "\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"batchId\":7,\"batchDuration\":812,"
        "\"numInputRows\":100,\"inputRowsPerSecond\":1.7,\"processedRowsPerSecond\":123.2,"
        "\"durationMs\":{\"addBatch\":600,\"commitOffsets\":20,\"latestOffset\":15,"
        "\"triggerExecution\":812,\"walCommit\":25},\"stateOperators\":[],"
        "\"sources\":[{\"description\":\"KafkaV2[Subscribe[orders]]\","
        "\"startOffset\":{\"orders\":{\"0\":20}},\"endOffset\":{\"orders\":{\"0\":120}},"
        "\"latestOffset\":{\"orders\":{\"0\":130}},\"numInputRows\":100,"
        "\"inputRowsPerSecond\":1.7,\"processedRowsPerSecond\":123.2,"
        "\"metrics\":{\"avgOffsetsBehindLatest\":\"10.0\",\"maxOffsetsBehindLatest\":\"10\","
        "\"minOffsetsBehindLatest\":\"10\"}}],"
        "\"sink\":{\"description\":\"cat.db.t\",\"numOutputRows\":100},"
        "\"calve\":{\"snapshotId\":5,\"files\":1,\"fileBytes\":3174,\"badRecords\":0,"
        "\"droppedRecords\":0,\"skippedTombstones\":0,\"lostRecords\":0,\"commitAttempts\":1,"
        "\"rowGroupsClosedEarly\":2,\"rowsSpilled\":1000,\"bytesSpilled\":64000,"
        "\"filesClosedEarly\":3,"
        "\"requests\":{\"put\":3,\"catalog-commit\":1}}}");
    cv_buf_clear(&json);
    p.previous_timestamp_ms = -1;
    p.ran = false;
    cv_progress_write_json(&p, &json);
    assert_null(strstr(cv_buf_text(&json), "inputRowsPerSecond"));
    assert_non_null(strstr(cv_buf_text(&json), "\"numOutputRows\":-1"));
    cv_buf_release(&json);
    cv_offsets_release(&start);
    cv_offsets_release(&end);
    cv_offsets_release(&latest);
}

static void line_is_for_people(void **state)
{
    struct cv_offsets start = {0};
    struct cv_offsets end = {0};
    struct cv_offsets latest = {0};
    struct cv_buf line = CV_BUF_INIT(0);
    struct cv_progress p;

    fill(&p, &start, &end, &latest);
    cv_progress_write_line(&p, &line);
    assert_string_equal(cv_buf_text(&line),
                        "batch 7: 100 rows in 812 ms, 1 file 3.1 KiB, snapshot 5, 10 behind, "
                        "requests: 3 put, 1 catalog-commit");
    cv_buf_clear(&line);
    p.requests = (struct cv_request_sums){0};
    cv_progress_write_line(&p, &line);
    assert_string_equal(cv_buf_text(&line),
                        "batch 7: 100 rows in 812 ms, 1 file 3.1 KiB, snapshot 5, 10 behind");
    cv_buf_release(&line);
    cv_offsets_release(&start);
    cv_offsets_release(&end);
    cv_offsets_release(&latest);
}

/* Unknown partitions count from 0; a latest below the end (topic created anew) is no lag. */
static void lag_per_partition(void **state)
{
    struct cv_offsets end = {0};
    struct cv_offsets latest = {0};
    struct cv_lag lag;

    cv_offsets_set(&end, "t", 0, 100);
    cv_offsets_set(&end, "t", 1, 50);
    cv_offsets_set(&latest, "t", 0, 110);
    cv_offsets_set(&latest, "t", 1, 40);
    cv_offsets_set(&latest, "t", 2, 5);
    lag = cv_progress_lag(&end, &latest);
    assert_int_equal(lag.min, 0);
    assert_int_equal(lag.max, 10);
    assert_int_equal(lag.total, 15);
    assert_true(lag.mean == 5.0);
    cv_offsets_release(&end);
    cv_offsets_release(&latest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_sparks),
        cmocka_unit_test(line_is_for_people),
        cmocka_unit_test(lag_per_partition),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
