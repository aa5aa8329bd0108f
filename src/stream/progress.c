/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress of a stream. Field order, omission of empty maps and the rounding of rates are those of
 * Spark 4's StreamingQueryProgress. */
#include "stream/progress.h"

#include "base/time.h"

#include <math.h>
#include <stdio.h>

static const char *const stage_names[CV_STAGE_COUNT] = {
    "latestOffset", "getBatch",      "queryPlanning",    "walCommit",
    "addBatch",     "commitOffsets", "triggerExecution",
};
/* Spark prints the durations sorted by name. */
static const enum cv_stage stage_order[CV_STAGE_COUNT] = {
    CV_STAGE_ADD_BATCH,      CV_STAGE_COMMIT_OFFSETS, CV_STAGE_GET_BATCH,  CV_STAGE_LATEST_OFFSET,
    CV_STAGE_QUERY_PLANNING, CV_STAGE_TRIGGER,        CV_STAGE_WAL_COMMIT,
};

struct cv_lag cv_progress_lag(const struct cv_offsets *end, const struct cv_offsets *latest)
{
    struct cv_lag lag = {.min = INT64_MAX};

    for (size_t i = 0; latest && i < latest->count; i++) {
        const struct cv_offset *to = &latest->items[i];
        const struct cv_offset *at = cv_offsets_find(end, to->topic, to->partition);
        int64_t behind = at ? CV_MAX(to->offset - at->offset, 0) : to->offset;

        lag.min = CV_MIN(lag.min, behind);
        lag.max = CV_MAX(lag.max, behind);
        lag.total += behind;
        lag.partitions++;
    }
    if (lag.partitions)
        lag.mean = (double)lag.total / (double)lag.partitions;
    else
        lag.min = 0;
    return lag;
}

static void put_rate(struct cv_json_writer *w, const char *key, double rate)
{
    char text[64];

    if (!isfinite(rate))
        return;
    (void)snprintf(text, sizeof text, "%.1f", floor(rate * 10 + 0.5) / 10);
    cv_json_key(w, key);
    cv_json_put_raw(w, text, strlen(text));
}

static void put_rates(struct cv_json_writer *w, const struct cv_progress *p)
{
    double rows = (double)p->input_rows;
    int64_t since = p->timestamp_ms - p->previous_timestamp_ms;
    int64_t took_ms = CV_MAX(p->stage_us[CV_STAGE_TRIGGER] / CV_US_PER_MS, 1);

    if (p->previous_timestamp_ms >= 0 && since > 0)
        put_rate(w, "inputRowsPerSecond", rows * 1000 / (double)since);
    put_rate(w, "processedRowsPerSecond", rows * 1000 / (double)took_ms);
}

static void put_durations(struct cv_json_writer *w, const struct cv_progress *p)
{
    cv_json_key(w, "durationMs");
    cv_json_begin_object(w);
    for (size_t i = 0; i < CV_STAGE_COUNT; i++) {
        int64_t us = p->stage_us[stage_order[i]];

        if (us < 0)
            continue;
        cv_json_key(w, stage_names[stage_order[i]]);
        cv_json_put_i64(w, us / CV_US_PER_MS);
    }
    cv_json_end_object(w);
}

static void put_offsets(struct cv_json_writer *w, const char *key, const struct cv_offsets *offsets)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf json = CV_BUF_INIT(0);

    cv_json_key(w, key);
    if (!offsets) {
        cv_json_put_null(w);
        return;
    }
    cv_offsets_write_json(offsets, &json);
    cv_json_put_raw(w, json.data, json.length);
}

static void put_lag(struct cv_json_writer *w, const struct cv_progress *p)
{
    struct cv_lag lag = cv_progress_lag(p->end, p->latest);
    char text[64];

    if (!p->latest)
        return;
    cv_json_key(w, "metrics");
    cv_json_begin_object(w);
    cv_json_key(w, "avgOffsetsBehindLatest");
    (void)snprintf(text, sizeof text, "%.1f", lag.mean);
    cv_json_put_string(w, text);
    cv_json_key(w, "maxOffsetsBehindLatest");
    (void)snprintf(text, sizeof text, "%lld", (long long)lag.max);
    cv_json_put_string(w, text);
    cv_json_key(w, "minOffsetsBehindLatest");
    (void)snprintf(text, sizeof text, "%lld", (long long)lag.min);
    cv_json_put_string(w, text);
    cv_json_end_object(w);
}

static void put_source(struct cv_json_writer *w, const struct cv_progress *p)
{
    cv_json_key(w, "sources");
    cv_json_begin_array(w);
    cv_json_begin_object(w);
    cv_json_key(w, "description");
    cv_json_put_string(w, p->source_description);
    put_offsets(w, "startOffset", p->start);
    put_offsets(w, "endOffset", p->end);
    put_offsets(w, "latestOffset", p->latest);
    cv_json_key(w, "numInputRows");
    cv_json_put_i64(w, (int64_t)p->input_rows);
    put_rates(w, p);
    put_lag(w, p);
    cv_json_end_object(w);
    cv_json_end_array(w);
}

static void put_requests(struct cv_json_writer *w, const struct cv_progress *p)
{
    cv_json_key(w, "requests");
    cv_json_begin_object(w);
    for (size_t i = 0; i < CV_REQUEST_KIND_COUNT; i++) {
        if (!p->requests.sent[i])
            continue;
        cv_json_key(w, cv_request_kind_name((enum cv_request_kind)i));
        cv_json_put_i64(w, p->requests.sent[i]);
    }
    cv_json_end_object(w);
}

/* Our own counters: Spark has no place for them. */
static void put_calve(struct cv_json_writer *w, const struct cv_progress *p)
{
    const struct {
        const char *key;
        int64_t value;
    } counters[] = {
        {"files", (int64_t)p->files},
        {"fileBytes", p->file_bytes},
        {"badRecords", (int64_t)p->decoded.bad},
        {"droppedRecords", (int64_t)p->decoded.dropped},
        {"skippedTombstones", (int64_t)p->decoded.tombstones},
        {"lostRecords", (int64_t)p->lost_records},
        {"commitAttempts", p->commit_attempts},
        {"rowGroupsClosedEarly", p->written.groups_closed_early},
        {"rowsSpilled", p->written.rows_spilled},
        {"bytesSpilled", p->written.bytes_spilled},
        {"filesClosedEarly", p->written.files_closed_early},
    };

    cv_json_key(w, "calve");
    cv_json_begin_object(w);
    cv_json_key(w, "snapshotId");
    if (p->snapshot_id >= 0)
        cv_json_put_i64(w, p->snapshot_id);
    else
        cv_json_put_null(w);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(counters); i++) {
        cv_json_key(w, counters[i].key);
        cv_json_put_i64(w, counters[i].value);
    }
    put_requests(w, p);
    cv_json_end_object(w);
}

static void put_time(struct cv_json_writer *w, const char *key, int64_t ms)
{
    char time[CV_TIME_TEXT_BYTES];

    cv_format_ms_utc(ms, time);
    cv_json_key(w, key);
    cv_json_put_string(w, time);
}

/* Spark's eventTime and stateOperators. */
static void put_state(struct cv_json_writer *w, const struct cv_progress *p)
{
    const struct cv_stateful_counters *state = &p->state;
    const struct {
        const char *key;
        int64_t value;
    } counters[] = {
        {"numRowsTotal", state->rows_total},
        {"numRowsUpdated", state->rows_updated},
        {"numRowsDroppedByWatermark", state->rows_late},
        {"stateBytes", state->state_bytes},
        {"rowsSpilled", state->runs.rows_spilled},
        {"bytesSpilled", state->runs.bytes_spilled},
    };

    cv_json_key(w, "eventTime");
    cv_json_begin_object(w);
    if (state->event_max_us != INT64_MIN)
        put_time(w, "max", state->event_max_us / CV_US_PER_MS);
    put_time(w, "watermark", state->watermark_ms);
    cv_json_end_object(w);
    cv_json_key(w, "stateOperators");
    cv_json_begin_array(w);
    cv_json_begin_object(w);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(counters); i++) {
        cv_json_key(w, counters[i].key);
        cv_json_put_i64(w, counters[i].value);
    }
    cv_json_end_object(w);
    cv_json_end_array(w);
}

void cv_progress_write_json(const struct cv_progress *p, struct cv_buf *out)
{
    struct cv_json_writer w = CV_JSON_WRITER(out);
    char time[CV_TIME_TEXT_BYTES];

    cv_format_ms_utc(p->timestamp_ms, time);
    cv_json_begin_object(&w);
    cv_json_key(&w, "id");
    cv_json_put_string(&w, p->query_id);
    cv_json_key(&w, "runId");
    cv_json_put_string(&w, p->run_id);
    cv_json_key(&w, "name");
    cv_json_put_string(&w, p->name);
    cv_json_key(&w, "timestamp");
    cv_json_put_string(&w, time);
    cv_json_key(&w, "batchId");
    cv_json_put_i64(&w, p->batch_id);
    cv_json_key(&w, "batchDuration");
    cv_json_put_i64(&w, p->stage_us[CV_STAGE_TRIGGER] / CV_US_PER_MS);
    cv_json_key(&w, "numInputRows");
    cv_json_put_i64(&w, (int64_t)p->input_rows);
    put_rates(&w, p);
    put_durations(&w, p);
    cv_json_key(&w, "stateOperators");
    cv_json_begin_array(&w);
    cv_json_end_array(&w);
    if (p->stateful && p->ran)
        put_state(&w, p);
    put_source(&w, p);
    cv_json_key(&w, "sink");
    cv_json_begin_object(&w);
    cv_json_key(&w, "description");
    cv_json_put_string(&w, p->sink_description);
    cv_json_key(&w, "numOutputRows");
    cv_json_put_i64(&w, p->ran ? (int64_t)p->output_rows : -1);
    cv_json_end_object(&w);
    put_calve(&w, p);
    cv_json_end_object(&w);
}

void cv_format_bytes(int64_t bytes, char *text, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;

    while (value >= 1024 && unit + 1 < CV_ARRAY_LENGTH(units)) {
        value /= 1024;
        unit++;
    }
    (void)snprintf(text, size, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

/* ", requests: 3 put, 1 catalog-commit"; nothing where all is local. */
static void write_requests(const struct cv_progress *p, struct cv_buf *out)
{
    const char *before = ", requests: ";

    for (size_t i = 0; i < CV_REQUEST_KIND_COUNT; i++) {
        if (!p->requests.sent[i])
            continue;
        cv_buf_printf(out, "%s%lld %s", before, (long long)p->requests.sent[i],
                      cv_request_kind_name((enum cv_request_kind)i));
        before = ", ";
    }
}

void cv_progress_write_line(const struct cv_progress *p, struct cv_buf *out)
{
    struct cv_lag lag = cv_progress_lag(p->end, p->latest);
    int64_t took_us = CV_MAX(p->stage_us[CV_STAGE_TRIGGER], 1);
    char bytes[32];

    cv_format_bytes(p->file_bytes, bytes, sizeof bytes);
    cv_buf_printf(out, "batch %lld: %llu rows in %lld ms", (long long)p->batch_id,
                  (unsigned long long)p->output_rows, (long long)(took_us / CV_US_PER_MS));
    if (p->output_rows >= 10000)
        cv_buf_printf(out, " (%.0f rows/s)", (double)p->output_rows * 1e6 / (double)took_us);
    if (p->snapshot_id >= 0)
        cv_buf_printf(out, ", %zu file%s %s, snapshot %lld", p->files, p->files == 1 ? "" : "s",
                      bytes, (long long)p->snapshot_id);
    else
        cv_buf_append_text(out, ", no snapshot");
    if (p->decoded.bad)
        cv_buf_printf(out, ", %llu bad records", (unsigned long long)p->decoded.bad);
    if (p->decoded.tombstones)
        cv_buf_printf(out, ", %llu tombstones skipped", (unsigned long long)p->decoded.tombstones);
    if (p->stateful && p->state.rows_late)
        cv_buf_printf(out, ", %lld late", (long long)p->state.rows_late);
    if (p->lost_records)
        cv_buf_printf(out, ", %llu records LOST before they were read",
                      (unsigned long long)p->lost_records);
    cv_buf_printf(out, ", %lld behind", (long long)lag.total);
    write_requests(p, out);
}
