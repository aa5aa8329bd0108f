/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports of commits to the catalog (reference: ReportMetricsRequest, CommitReport). They are sent
 * from a thread of their own after the commit was acknowledged, cost it nothing, and are dropped
 * when the catalog is slow or does not take them. */
#include "catalog/rest/rest_int.h"

#include <stdio.h>
#include <stdlib.h>

#define REPORTS_MAX       32   /* waiting to be sent */
#define REPORT_TIMEOUT_MS 3000 /* which the end of the process may have to wait for */

struct report {
    char *url;
    struct cv_buf body;
};

struct cv_rest_reporter {
    struct cv_rest_catalog *catalog;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct report waiting[REPORTS_MAX]; /* a ring */
    size_t first, count;
    bool ends;
};

static void report_release(struct report *report)
{
    free(report->url);
    cv_buf_release(&report->body);
    *report = (struct report){0};
}

static void send_report(struct cv_rest_catalog *catalog, const struct report *report)
{
    CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};
    struct cv_rest_call call = {.verb = CV_REST_REPORT,
                                .kind = CV_REQUEST_CATALOG_REPORT,
                                .method = "POST",
                                .url = report->url,
                                .what = "report of a commit",
                                .timeout_ms = REPORT_TIMEOUT_MS,
                                .body = &report->body};

    (void)cv_rest_send(catalog, &call, &response, NULL, NULL);
}

static void *report_all(void *context)
{
    struct cv_rest_reporter *reporter = context;

    (void)pthread_mutex_lock(&reporter->lock);
    while (!reporter->ends) {
        CV_CLEANUP(report_release) struct report report = {0};

        if (!reporter->count) {
            (void)pthread_cond_wait(&reporter->changed, &reporter->lock);
            continue;
        }
        report = reporter->waiting[reporter->first];
        reporter->waiting[reporter->first] = (struct report){0};
        reporter->first = (reporter->first + 1) % REPORTS_MAX;
        reporter->count--;
        (void)pthread_mutex_unlock(&reporter->lock);
        send_report(reporter->catalog, &report);
        (void)pthread_mutex_lock(&reporter->lock);
    }
    (void)pthread_mutex_unlock(&reporter->lock);
    return NULL;
}

struct cv_rest_reporter *cv_rest_reporter_new(struct cv_rest_catalog *catalog)
{
    struct cv_rest_reporter *reporter = cv_alloc(sizeof *reporter);

    reporter->catalog = catalog;
    (void)pthread_mutex_init(&reporter->lock, NULL);
    (void)pthread_cond_init(&reporter->changed, NULL);
    if (pthread_create(&reporter->thread, NULL, report_all, reporter) == 0)
        return reporter;
    (void)pthread_cond_destroy(&reporter->changed);
    (void)pthread_mutex_destroy(&reporter->lock);
    free(reporter);
    return NULL;
}

void cv_rest_reporter_free(struct cv_rest_reporter *reporter)
{
    if (!reporter)
        return;
    (void)pthread_mutex_lock(&reporter->lock);
    reporter->ends = true;
    (void)pthread_cond_signal(&reporter->changed);
    (void)pthread_mutex_unlock(&reporter->lock);
    (void)pthread_join(reporter->thread, NULL);
    for (size_t i = 0; i < REPORTS_MAX; i++)
        report_release(&reporter->waiting[i]);
    (void)pthread_cond_destroy(&reporter->changed);
    (void)pthread_mutex_destroy(&reporter->lock);
    free(reporter);
}

static void put_count(struct cv_json_writer *w, const char *name, int64_t value)
{
    cv_json_key(w, name);
    cv_json_begin_object(w);
    cv_json_key(w, "unit");
    cv_json_put_string(w, cv_text_ends_with(name, "bytes") ? "bytes" : "count");
    cv_json_key(w, "value");
    cv_json_put_i64(w, value);
    cv_json_end_object(w);
}

/* Counters of the summary under the names that the Java library reports. */
static void put_counters(struct cv_json_writer *w, const struct cv_properties *summary)
{
    static const char *const names[][2] = {
        {"added-data-files", "added-data-files"},
        {"deleted-data-files", "removed-data-files"},
        {"total-data-files", "total-data-files"},
        {"added-delete-files", "added-delete-files"},
        {"removed-delete-files", "removed-delete-files"},
        {"total-delete-files", "total-delete-files"},
        {"added-records", "added-records"},
        {"deleted-records", "removed-records"},
        {"total-records", "total-records"},
        {"added-files-size", "added-files-size-bytes"},
        {"removed-files-size", "removed-files-size-bytes"},
        {"total-files-size", "total-files-size-bytes"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++) {
        const char *text = cv_properties_get(summary, names[i][0]);
        int64_t value;

        if (text && cv_parse_i64(cv_str_from(text), &value))
            put_count(w, names[i][1], value);
    }
}

static void put_report(const char *table, const struct cv_snapshot *snapshot, int64_t duration_us,
                       struct cv_buf *out)
{
    struct cv_json_writer w = CV_JSON_WRITER(out);

    cv_json_begin_object(&w);
    cv_json_key(&w, "report-type");
    cv_json_put_string(&w, "commit-report");
    cv_json_key(&w, "table-name");
    cv_json_put_string(&w, table);
    cv_json_key(&w, "snapshot-id");
    cv_json_put_i64(&w, snapshot->id);
    cv_json_key(&w, "sequence-number");
    cv_json_put_i64(&w, snapshot->sequence_number);
    cv_json_key(&w, "operation");
    cv_json_put_string(&w, cv_properties_get_or(&snapshot->summary, "operation", "append"));
    cv_json_key(&w, "metrics");
    cv_json_begin_object(&w);
    cv_json_key(&w, "total-duration");
    cv_json_begin_object(&w);
    cv_json_key(&w, "count");
    cv_json_put_i64(&w, 1);
    cv_json_key(&w, "time-unit");
    cv_json_put_string(&w, "nanoseconds");
    cv_json_key(&w, "total-duration");
    cv_json_put_i64(&w, duration_us * 1000);
    cv_json_end_object(&w);
    put_counters(&w, &snapshot->summary);
    cv_json_end_object(&w);
    cv_json_end_object(&w);
}

/* Takes the report over. */
static void hand_over(struct cv_rest_reporter *reporter, struct report *report)
{
    (void)pthread_mutex_lock(&reporter->lock);
    if (reporter->count < REPORTS_MAX) {
        reporter->waiting[(reporter->first + reporter->count++) % REPORTS_MAX] = *report;
        *report = (struct report){0};
        (void)pthread_cond_signal(&reporter->changed);
    }
    (void)pthread_mutex_unlock(&reporter->lock);
}

void cv_rest_report_commit(struct cv_rest_catalog *catalog, const struct cv_table_name *name,
                           const struct cv_catalog_change *change, int64_t duration_us)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(report_release) struct report report = {0};
    size_t count = change->next->snapshot_count;

    if (!catalog->settings.metrics_enabled || !(catalog->endpoints & CV_REST_METRICS) || !count ||
        cv_table_metadata_snapshot(change->base, change->next->snapshots[count - 1].id))
        return;
    if (!catalog->reporter)
        catalog->reporter = cv_rest_reporter_new(catalog);
    if (!catalog->reporter)
        return;
    report.url = cv_strdup(cv_rest_url(
        catalog, cv_arena_printf(&arena, "%s/metrics", cv_rest_table_path(catalog, name, &arena)),
        &arena));
    put_report(cv_arena_printf(&arena, "%s.%s", catalog->name, cv_table_name_text(name, &arena)),
               &change->next->snapshots[count - 1], duration_us, &report.body);
    hand_over(catalog->reporter, &report);
}
