/* SPDX-License-Identifier: Apache-2.0
 *
 * Maintenance beside a stream. */
#include "cli/upkeep.h"

#include "base/log.h"
#include "base/time.h"
#include "maintain/open_partitions.h"

static enum cv_code open_catalog(void *context, struct cv_catalog **ret_catalog,
                                 struct cv_error *err)
{
    const struct cv_upkeep *upkeep = context;

    return cv_job_open_catalog(&upkeep->job->file, upkeep->job->sink.table, ret_catalog, err);
}

static bool partition_busy(void *context, const struct cv_partition_spec *spec,
                           const struct cv_value *partition)
{
    return cv_open_partitions_busy(((struct cv_upkeep *)context)->open, spec, partition);
}

static void put_number(struct cv_buf *line, const char *key, const struct cv_json *value)
{
    if (cv_json_is_integer(value) && cv_json_integer(value))
        cv_buf_printf(line, ", %s %lld", key, (long long)cv_json_integer(value));
}

/* The numbers of the first row that are not 0; further rows are counted. */
static void describe_rows(const struct cv_buf *rows, struct cv_buf *line)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *json = NULL;
    const struct cv_json *row, *value;
    size_t position = 0;
    const char *key;

    if (!rows->length || cv_json_parse(rows->data, rows->length, &json, NULL) != CV_OK)
        return;
    row = cv_json_at(json, 0);
    while (row && (key = cv_json_next(row, &position, &value)))
        put_number(line, key, value);
    if (cv_json_size(json) > 1)
        cv_buf_printf(line, ", %zu rows", cv_json_size(json));
}

static void log_event(const struct cv_schedule_event *event)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf line = CV_BUF_INIT(0);
    const char *name = event->entry->procedure->name;

    if (event->error) {
        cv_log_warning("maintenance: %s failed, next try in %lld min: %s%s%s", name,
                       (long long)(event->retry_us / CV_US_PER_SECOND / 60), event->error->message,
                       event->error->hint[0] ? "; " : "", event->error->hint);
        return;
    }
    if (!event->result->changed)
        return;
    cv_buf_printf(&line, "maintenance: %s in %lld ms", name,
                  (long long)(event->took_us / CV_US_PER_MS));
    describe_rows(&event->result->rows, &line);
    cv_log_info("%s", cv_buf_text(&line));
}

/* A line of its own between those of the batches. */
static void write_event(FILE *out, const struct cv_job *job, const struct cv_schedule_event *event)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    struct cv_json_writer w = CV_JSON_WRITER(&text);
    char time[CV_TIME_TEXT_BYTES];

    cv_format_ms_utc(event->start_ms, time);
    cv_json_begin_object(&w);
    cv_json_key(&w, "event");
    cv_json_put_string(&w, "maintenance");
    cv_json_key(&w, "name");
    cv_json_put_string(&w, job->options.job);
    cv_json_key(&w, "timestamp");
    cv_json_put_string(&w, time);
    cv_json_key(&w, "procedure");
    cv_json_put_string(&w, event->entry->procedure->name);
    cv_json_key(&w, "changed");
    cv_json_put_bool(&w, event->result->changed);
    cv_json_key(&w, "durationMs");
    cv_json_begin_object(&w);
    cv_json_key(&w, "maintenance");
    cv_json_put_i64(&w, event->took_us / CV_US_PER_MS);
    cv_json_end_object(&w);
    cv_json_key(&w, "result");
    if (!event->error && event->result->rows.length)
        cv_json_put_raw(&w, event->result->rows.data, event->result->rows.length);
    else
        cv_json_put_null(&w);
    cv_json_key(&w, "error");
    if (event->error)
        cv_json_put_string(&w, event->error->message);
    else
        cv_json_put_null(&w);
    cv_json_end_object(&w);
    cv_buf_append_byte(&text, '\n');
    (void)fwrite(text.data, 1, text.length, out);
    (void)fflush(out);
}

static void on_event(void *context, const struct cv_schedule_event *event)
{
    struct cv_upkeep *upkeep = context;

    log_event(event);
    if (upkeep->json)
        write_event(upkeep->json, upkeep->job, event);
}

static void on_warning(void *context, const char *message)
{
    (void)context;
    cv_log_warning("maintenance: %s", message);
}

/* 600 s → "10 min" */
static void format_interval(int64_t us, char text[32])
{
    int64_t seconds = us / CV_US_PER_SECOND;

    if (seconds % 3600 == 0)
        (void)snprintf(text, 32, "%lld h", (long long)(seconds / 3600));
    else if (seconds % 60 == 0)
        (void)snprintf(text, 32, "%lld min", (long long)(seconds / 60));
    else
        (void)snprintf(text, 32, "%lld s", (long long)seconds);
}

void cv_upkeep_describe(const struct cv_schedule_entry *entry, char *text, size_t size)
{
    char interval[32] = "";
    int length = 0;

    if (entry->every_us) {
        format_interval(entry->every_us, interval);
        length = snprintf(text, size, "every %s%s", interval, entry->measure ? " " : "");
    }
    if (entry->measure && (size_t)length < size)
        (void)snprintf(text + length, size - (size_t)length, "when %s %c %lld", entry->measure,
                       entry->comparison, (long long)entry->threshold);
}

static void say_schedule(const struct cv_schedule *schedule)
{
    for (size_t i = 0; i < schedule->count; i++) {
        char when[128];

        cv_upkeep_describe(&schedule->entries[i], when, sizeof when);
        cv_log_info("maintenance: %s %s", schedule->entries[i].procedure->name, when);
    }
}

enum cv_code cv_upkeep_start(struct cv_upkeep *upkeep, const struct cv_job *job, FILE *json,
                             struct cv_engine_config *engine, struct cv_error *err)
{
    struct cv_scheduler_config config = {
        .schedule = &upkeep->schedule,
        .table_name = job->sink.table,
        .open_catalog = open_catalog,
        .spill_directory = job->options.spill_directory,
        .partition_busy = partition_busy,
        .done = on_event,
        .warn = on_warning,
        .context = upkeep,
    };

    *upkeep = (struct cv_upkeep){.job = job, .json = json};
    CV_DO(cv_schedule_read(&job->file, &upkeep->arena, &upkeep->schedule, err));
    if (!upkeep->schedule.count)
        return CV_OK;
    upkeep->queue = cv_commit_queue_new();
    upkeep->open = cv_open_partitions_new(
        CV_MAX(upkeep->schedule.options.close_after_us, 2 * job->trigger.interval_us));
    config.queue = upkeep->queue;
    engine->queue = upkeep->queue;
    engine->writes = cv_open_partitions_note;
    engine->writes_context = upkeep->open;
    say_schedule(&upkeep->schedule);
    return cv_scheduler_start(&config, &upkeep->scheduler, err);
}

void cv_upkeep_release(struct cv_upkeep *upkeep)
{
    cv_scheduler_stop(upkeep->scheduler);
    cv_open_partitions_free(upkeep->open);
    cv_commit_queue_free(upkeep->queue);
    cv_schedule_release(&upkeep->schedule);
    cv_arena_release(&upkeep->arena);
    *upkeep = (struct cv_upkeep){0};
}
