/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop of the micro-batch engine. Order within a batch, which recovery relies on: offsets/N,
 * the files, the snapshot, calve.json, commits/N, then progress and the lag group. */
#include "stream/engine_int.h"

#include "base/fault.h"
#include "base/log.h"
#include "base/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define IDLE_POLL_MS     10  /* Spark's pollingDelay, for a trigger "at once" */
#define IDLE_POLL_MS_MAX 100 /* after a while without data */
#define WAIT_SLICE_MS    20  /* how soon a stop is noticed */
#define LAG_REFRESH_US   (3600 * CV_US_PER_SECOND)
#define IDLE_PROGRESS_US (10 * CV_US_PER_SECOND)

/* The parts of one trigger. */
struct trigger_run {
    struct cv_request_sums requests_before;
    int64_t start_us;      /* wall clock */
    int64_t start_mono_us; /* monotonic */
    struct cv_plan plan;
    struct cv_progress progress;
};

static void warn_line(void *context, const char *message)
{
    (void)context;
    cv_log_warning("%s", message);
}

bool cv_engine_stopping(struct cv_engine *engine)
{
    const struct cv_engine_config *config = engine->config;

    if (!config->stopping || !config->stopping(config->stopping_context))
        return false;
    if (!engine->stop_seen_us)
        engine->stop_seen_us = cv_monotonic_us();
    return true;
}

bool cv_engine_abandon(void *context)
{
    struct cv_engine *engine = context;

    return cv_engine_stopping(engine) &&
           cv_monotonic_us() - engine->stop_seen_us > CV_STOP_GRACE_US;
}

static enum cv_code open_table(struct cv_engine *engine, struct cv_error *err)
{
    const char *table = engine->job->sink.table;

    CV_DO(cv_table_open(engine->catalog, table, &engine->table, err));
    engine->table->queue = engine->config->queue;
    return CV_OK;
}

static enum cv_code open_source(struct cv_engine *engine, struct cv_error *err)
{
    struct cv_source_config config = {
        .options = &engine->job->source,
        .job = engine->job->options.job,
        .memory_bytes = (size_t)engine->job->options.memory_bytes / 4,
        .warn = warn_line,
        .cancelled = cv_engine_abandon,
        .cancel_context = engine,
    };

    return cv_source_open(&config, &engine->source, err);
}

static void release_decoder(struct cv_engine *engine)
{
    for (size_t i = 0; i < engine->worker_count; i++) {
        cv_decode_worker_free(engine->workers[i]);
        cv_row_query_free(engine->row_queries[i]);
    }
    engine->worker_count = 0;
    cv_stateful_free(engine->stateful);
    engine->stateful = NULL;
    cv_stream_query_free(engine->query);
    engine->query = NULL;
    cv_decoder_free(engine->decoder);
    engine->decoder = NULL;
    cv_table_metadata_free(engine->bound_metadata);
    engine->bound_metadata = NULL;
}

static enum cv_code open_decoder(struct cv_engine *engine, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_decoder_config config = {
        .options = &engine->job->value,
        .select = engine->job->options.select,
        .table = cv_table_metadata_schema(engine->bound_metadata),
        .ignore_unknown = engine->job->sink.ignore_unknown,
        .include_headers = engine->job->source.include_headers,
        .warn = warn_line,
        .cancelled = cv_engine_abandon,
        .cancel_context = engine,
    };

    if (engine->job->source.subscribe)
        config.topics = (const char *const *)cv_split(&arena, engine->job->source.subscribe, ',',
                                                      &config.topic_count);
    CV_DO(cv_stream_query_open(engine->job, &config, config.table, &engine->query, err));
    if (engine->query)
        cv_stream_query_feed(engine->query, &config);
    return cv_decoder_open(&config, &engine->decoder, err);
}

static enum cv_code open_workers(struct cv_engine *engine, struct cv_error *err)
{
    size_t threads = (size_t)engine->job->options.threads;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    if (!threads)
        threads = (size_t)CV_MIN(CV_MAX(cores, 1), CV_THREADS_MAX);
    if (!engine->workers) {
        engine->workers = cv_alloc(threads * sizeof *engine->workers);
        engine->row_queries = cv_alloc(threads * sizeof *engine->row_queries);
    }
    for (; engine->worker_count < threads; engine->worker_count++) {
        engine->row_queries[engine->worker_count] = NULL;
        if (engine->query)
            CV_DO(cv_row_query_new(engine->query, &engine->row_queries[engine->worker_count], err));
        engine->workers[engine->worker_count] = cv_decode_worker_new(engine->decoder);
    }
    return CV_OK;
}

/* The state as the batch before the next one left it. */
static enum cv_code load_state(struct cv_engine *engine, struct cv_error *err)
{
    if (!cv_stream_query_keeps_state(engine->query))
        return CV_OK;
    if (!engine->stateful)
        CV_DO(cv_stateful_open(engine->query, &engine->checkpoint, &engine->stateful, err));
    return cv_stateful_load(engine->stateful, engine->next_batch - 1, err);
}

static bool equal_properties(const struct cv_properties *a, const struct cv_properties *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const char *other = cv_properties_get(b, a->items[i].key);

        if (!other || strcmp(other, a->items[i].value) != 0)
            return false;
    }
    return true;
}

bool cv_engine_defines_alike(const struct cv_table_metadata *a, const struct cv_table_metadata *b)
{
    return a->current_schema_id == b->current_schema_id &&
           a->default_spec_id == b->default_spec_id &&
           a->default_sort_order_id == b->default_sort_order_id &&
           a->format_version == b->format_version;
}

/* Whether decoder and data writers would be the same for both. */
static bool writes_alike(const struct cv_table_metadata *a, const struct cv_table_metadata *b)
{
    return cv_engine_defines_alike(a, b) && strcmp(a->location, b->location) == 0 &&
           equal_properties(&a->properties, &b->properties);
}

enum cv_code cv_engine_bind(struct cv_engine *engine, struct cv_error *err)
{
    const struct cv_table_metadata *now = engine->table->metadata;
    bool first = !engine->bound_metadata;

    if (engine->bound_metadata && writes_alike(engine->bound_metadata, now))
        return CV_OK;
    if (engine->bound_metadata)
        cv_log_info("table %s was altered: schema %d, spec %d", engine->job->sink.table,
                    now->current_schema_id, now->default_spec_id);
    release_decoder(engine);
    engine->bound_metadata = cv_table_metadata_copy(now);
    CV_DO(open_decoder(engine, err));
    CV_DO(open_workers(engine, err));
    return first ? CV_OK : load_state(engine, err); /* at first the batch is not known yet */
}

static void engine_release(struct cv_engine *engine)
{
    release_decoder(engine);
    free(engine->workers);
    free(engine->row_queries);
    cv_data_workspace_free(engine->workspace);
    cv_source_free(engine->source);
    cv_table_free(engine->table);
    cv_catalog_free(engine->catalog);
    cv_checkpoint_release(&engine->checkpoint);
    cv_memo_release(&engine->memo);
    cv_offsets_release(&engine->position);
    cv_offsets_release(&engine->redo_end);
    cv_offsets_release(&engine->bound);
    cv_offsets_release(&engine->recreated);
    free(engine->conf_json);
}

static enum cv_code engine_open(struct cv_engine *engine, struct cv_error *err)
{
    cv_uuid_text(engine->run_id);
    memcpy(engine->files_id, engine->run_id, sizeof engine->files_id);
    engine->conf_json = cv_strdup("{}");
    engine->workspace = cv_data_workspace_new();
    engine->previous_trigger_ms = -1;
    engine->checkpoint.lock = -1;
    CV_DO(cv_fault_check_environment(err));
    CV_DO(cv_job_open_catalog(&engine->job->file, engine->job->sink.table, &engine->catalog, err));
    CV_DO(cv_job_open_checkpoint(engine->job, engine->catalog, false, &engine->checkpoint, err));
    CV_DO(open_table(engine, err));
    CV_DO(open_source(engine, err));
    CV_DO(cv_engine_bind(engine, err));
    CV_DO(cv_engine_recover(engine, err));
    return load_state(engine, err);
}

static void publish_lag(struct cv_engine *engine, int64_t snapshot_id)
{
    struct cv_error err = CV_ERROR_INIT;
    char metadata[64] = "";

    /* A process that was overtaken must not set the group back. */
    if (!engine->job->lag_group[0] || cv_checkpoint_check_lock(&engine->checkpoint, NULL) != CV_OK)
        return;
    engine->lag_published_us = cv_monotonic_us();
    if (snapshot_id >= 0)
        (void)snprintf(metadata, sizeof metadata, "snapshot %lld", (long long)snapshot_id);
    if (cv_source_publish_lag(engine->source, engine->job->lag_group, &engine->position, metadata,
                              &err) != CV_OK)
        cv_log_warning("group %s was not updated, ignoring: %s", engine->job->lag_group,
                       err.message);
}

static void sum_requests(const struct cv_engine *engine, struct cv_request_sums *ret_sums)
{
    *ret_sums = (struct cv_request_sums){0};
    cv_request_sums_add(ret_sums, &engine->catalog->counts);
    cv_request_sums_add(ret_sums, &engine->table->store->counts);
    if (engine->checkpoint.store)
        cv_request_sums_add(ret_sums, &engine->checkpoint.store->counts);
}

static void report(struct cv_engine *engine, struct trigger_run *run)
{
    struct cv_progress *p = &run->progress;

    p->query_id = engine->checkpoint.query_id;
    p->run_id = engine->run_id;
    p->name = engine->job->options.job;
    p->timestamp_ms = run->start_us / CV_US_PER_MS;
    p->previous_timestamp_ms = engine->previous_trigger_ms;
    p->source_description = cv_source_description(engine->source);
    p->sink_description = engine->job->sink.table;
    p->latest = run->plan.latest.count ? &run->plan.latest : NULL;
    p->stage_us[CV_STAGE_TRIGGER] = cv_monotonic_us() - run->start_mono_us;
    sum_requests(engine, &p->requests);
    cv_request_sums_subtract(&p->requests, &run->requests_before);
    engine->last_progress_us = cv_monotonic_us();
    if (engine->config->progress)
        engine->config->progress(engine->config->progress_context, p);
}

/* Timing of one stage, in µs. */
static int64_t stage_since(int64_t *mark)
{
    int64_t now = cv_monotonic_us();
    int64_t took = now - *mark;

    *mark = now;
    return took;
}

static enum cv_code write_ahead(struct cv_engine *engine, const struct trigger_run *run,
                                struct cv_error *err)
{
    struct cv_offset_log_entry entry = {.batch_timestamp_ms = run->start_us / CV_US_PER_MS,
                                        .conf_json = engine->conf_json,
                                        .offsets = run->plan.end};
    enum cv_code code;

    entry.watermark_ms = engine->stateful ? cv_stateful_watermark_ms(engine->stateful) : 0;
    code = cv_checkpoint_write_offsets(&engine->checkpoint, engine->next_batch, &entry, err);

    if (code == CV_EXISTS) {
        (void)cv_fail(err, CV_LOCKED, "offsets/%lld is there already: another process uses %s",
                      (long long)engine->next_batch, engine->checkpoint.folder);
        return CV_LOCKED;
    }
    CV_DO(code);
    CV_DO(cv_fault_pass("offsets-written", err));
    CV_DO(cv_fault_pass("purge", err));
    return cv_checkpoint_purge(&engine->checkpoint, engine->next_batch, err);
}

static enum cv_code note_commit(struct cv_engine *engine, struct cv_error *err)
{
    enum cv_code code;

    if (engine->stateful)
        engine->checkpoint.next_watermark_ms = cv_stateful_watermark_ms(engine->stateful);
    code = cv_checkpoint_write_commit(&engine->checkpoint, engine->next_batch, err);
    if (code == CV_EXISTS)
        return cv_fail(err, CV_LOCKED, "commits/%lld is there already: another process uses %s",
                       (long long)engine->next_batch, engine->checkpoint.folder);
    CV_DO(code);
    return cv_fault_pass("commits-written", err);
}

/* Totals of the checkpoint's life, for `calve doctor`. */
static void count_totals(struct cv_memo_totals *totals, const struct cv_batch_outcome *outcome,
                         uint64_t lost_records)
{
    if (!totals->since_ms)
        totals->since_ms = cv_now_ms();
    totals->batches++;
    totals->records += (int64_t)outcome->input_rows;
    totals->bad += (int64_t)outcome->decoded.bad;
    totals->dropped += (int64_t)outcome->decoded.dropped;
    totals->lost += (int64_t)lost_records;
    if (outcome->decoded.bad || lost_records)
        totals->last_bad_ms = cv_now_ms();
    if (outcome->commit_attempts > 1) {
        totals->retried_commits++;
        totals->retries += outcome->commit_attempts - 1;
    }
}

/* Runs the planned range as next_batch and moves the position to its end. */
static enum cv_code run_planned(struct cv_engine *engine, struct trigger_run *run,
                                struct cv_error *err)
{
    struct cv_progress *p = &run->progress;
    struct cv_batch_outcome outcome;
    int64_t mark = cv_monotonic_us();

    engine->batch_time_us =
        engine->redo ? engine->redo_timestamp_ms * CV_US_PER_MS
                     : run->start_us / CV_US_PER_MS * CV_US_PER_MS; /* as the log has it */
    if (!engine->redo)
        CV_DO(write_ahead(engine, run, err));
    p->stage_us[CV_STAGE_WAL_COMMIT] = stage_since(&mark);
    CV_TRY(cv_engine_run_batch(engine, &run->plan.start, &run->plan.end, &outcome, err), err,
           "job %s batch %lld", engine->job->options.job, (long long)engine->next_batch);
    p->stage_us[CV_STAGE_ADD_BATCH] = stage_since(&mark);
    cv_offsets_copy(&engine->position, &run->plan.end);
    count_totals(&engine->memo.totals, &outcome, outcome.lost_records + run->plan.lost_records);
    CV_DO(cv_engine_write_memo(engine, engine->next_batch, outcome.snapshot_id, err));
    CV_DO(cv_fault_pass("memo-written", err));
    CV_DO(note_commit(engine, err));
    if (engine->stateful)
        cv_stateful_committed(engine->stateful, engine->next_batch);
    p->stage_us[CV_STAGE_COMMIT_OFFSETS] = stage_since(&mark);
    p->ran = true;
    p->batch_id = engine->next_batch;
    p->input_rows = outcome.input_rows;
    p->output_rows = outcome.output_rows;
    p->decoded = outcome.decoded;
    p->lost_records = outcome.lost_records + run->plan.lost_records;
    p->start = &run->plan.start;
    p->end = &run->plan.end;
    p->snapshot_id = outcome.snapshot_id;
    p->files = outcome.files;
    p->file_bytes = outcome.file_bytes;
    p->written = outcome.written;
    p->stateful = engine->stateful != NULL;
    p->state = outcome.state;
    p->commit_attempts = outcome.commit_attempts;
    report(engine, run);
    publish_lag(engine, outcome.snapshot_id);
    CV_DO(cv_fault_pass("lag-published", err));
    engine->next_batch++;
    engine->batches_run++;
    engine->redo = false;
    cv_engine_forget_recreated(engine);
    return CV_OK;
}

static enum cv_code plan_redo(struct cv_engine *engine, struct trigger_run *run,
                              struct cv_error *err)
{
    CV_DO(cv_source_complete_start(engine->source, &engine->position, &engine->redo_end,
                                   &run->plan.start, err));
    cv_offsets_copy(&run->plan.end, &engine->redo_end);
    return CV_OK;
}

/* AvailableNow ends at what the first plan lists: that plan needs no bound yet. */
static enum cv_code plan_new(struct cv_engine *engine, struct trigger_run *run,
                             struct cv_error *err)
{
    enum cv_trigger_kind kind = engine->job->trigger.kind;
    enum cv_read_limit limit = kind == CV_TRIGGER_ONCE ? CV_LIMIT_NONE : CV_LIMIT_OPTIONS;

    CV_DO(cv_source_plan(engine->source, &engine->position, limit,
                         engine->bound_set ? &engine->bound : NULL, run->start_us, &run->plan,
                         err));
    if (kind == CV_TRIGGER_AVAILABLE_NOW && !engine->bound_set) {
        cv_offsets_copy(&engine->bound, &run->plan.latest);
        engine->bound_set = true;
    }
    return CV_OK;
}

static void report_idle(struct cv_engine *engine, struct trigger_run *run)
{
    /* A group without commits is forgotten by the broker after a while. */
    if (!engine->lag_published_us || cv_monotonic_us() - engine->lag_published_us > LAG_REFRESH_US)
        publish_lag(engine, engine->memo.snapshot_id);
    if (cv_monotonic_us() - engine->last_progress_us < IDLE_PROGRESS_US)
        return;
    run->progress.batch_id = engine->next_batch;
    run->progress.start = &engine->position;
    run->progress.end = &engine->position;
    report(engine, run);
}

static void run_init(struct trigger_run *run)
{
    *run = (struct trigger_run){.start_us = cv_now_us(), .start_mono_us = cv_monotonic_us()};
    run->progress.snapshot_id = -1;
    for (size_t i = 0; i < CV_STAGE_COUNT; i++)
        run->progress.stage_us[i] = -1;
}

static void run_release(struct trigger_run *run)
{
    cv_plan_release(&run->plan);
}

/* One trigger. *ret_worked tells whether there was a batch. */
static enum cv_code run_trigger(struct cv_engine *engine, bool *ret_worked, int64_t *ret_start_us,
                                struct cv_error *err)
{
    CV_CLEANUP(run_release) struct trigger_run run;
    int64_t mark;

    run_init(&run);
    sum_requests(engine, &run.requests_before);
    *ret_start_us = run.start_us;
    mark = run.start_mono_us;
    if (engine->redo)
        CV_TRY(plan_redo(engine, &run, err), err, "job %s batch %lld", engine->job->options.job,
               (long long)engine->next_batch);
    else
        CV_TRY(plan_new(engine, &run, err), err, "job %s", engine->job->options.job);
    run.progress.stage_us[CV_STAGE_LATEST_OFFSET] = stage_since(&mark);
    CV_DO(cv_fault_pass("plan", err));
    *ret_worked = engine->redo || (engine->next_batch == 0 && !run.plan.delayed) ||
                  (engine->stateful && cv_stateful_wants_batch(engine->stateful)) ||
                  (!run.plan.delayed && !cv_offsets_equal(&run.plan.end, &engine->position));
    if (*ret_worked)
        CV_DO(run_planned(engine, &run, err));
    else
        report_idle(engine, &run);
    engine->previous_trigger_ms = run.start_us / CV_US_PER_MS;
    return CV_OK;
}

/* Sleeps until the wall clock shows `until_us`, or a stop; when the clock is set back meanwhile not
 * much longer than it seemed at first. */
static void wait_until(struct cv_engine *engine, int64_t until_us)
{
    int64_t first_us = CV_MAX(until_us - cv_now_us(), 0);
    int64_t latest_us = cv_monotonic_us() + first_us + first_us / 500 + CV_US_PER_SECOND;

    while (!cv_engine_stopping(engine)) {
        int64_t left_us = CV_MIN(until_us - cv_now_us(), latest_us - cv_monotonic_us());
        int64_t left_ms = (left_us + CV_US_PER_MS - 1) / CV_US_PER_MS;

        if (left_us <= 0)
            return;
        cv_sleep_ms(CV_MIN(left_ms, WAIT_SLICE_MS));
    }
}

static void wait_for_trigger(struct cv_engine *engine, bool worked, int64_t start_us,
                             int64_t *idle_ms)
{
    const struct cv_trigger *trigger = &engine->job->trigger;
    int64_t now_us = cv_now_us();

    if (trigger->interval_us) {
        if (worked && now_us - start_us > trigger->interval_us)
            cv_log_warning("falling behind: the batch took %lld ms, the trigger interval is %lld "
                           "ms",
                           (long long)((now_us - start_us) / CV_US_PER_MS),
                           (long long)(trigger->interval_us / CV_US_PER_MS));
        wait_until(engine, cv_trigger_next(trigger, start_us, now_us));
        return;
    }
    *idle_ms = worked ? 0 : CV_MIN(CV_MAX(*idle_ms * 2, IDLE_POLL_MS), IDLE_POLL_MS_MAX);
    if (*idle_ms)
        wait_until(engine, now_us + *idle_ms * CV_US_PER_MS);
}

/* Whether the trigger's kind ends the run after a trigger that did or did not find work. */
static bool finished(const struct cv_engine *engine, bool worked)
{
    const struct cv_engine_config *config = engine->config;

    if (config->batches_max && engine->batches_run >= config->batches_max)
        return true;
    switch (engine->job->trigger.kind) {
    case CV_TRIGGER_ONCE:
        return true;
    case CV_TRIGGER_AVAILABLE_NOW:
        return !worked;
    case CV_TRIGGER_PROCESSING_TIME:
        return false;
    }
    return true;
}

static void say_start(const struct cv_engine *engine)
{
    char cost[256];

    cv_trigger_cost(&engine->job->trigger, cost, sizeof cost);
    if (cost[0])
        cv_log_warning("%s", cost);
    cv_log_info("%s → %s, query %s, %s batch %lld", cv_source_description(engine->source),
                engine->job->sink.table, engine->checkpoint.query_id,
                engine->redo ? "again" : "next", (long long)engine->next_batch);
}

static enum cv_code engine_loop(struct cv_engine *engine, struct cv_error *err)
{
    int64_t idle_ms = 0;

    while (!cv_engine_stopping(engine)) {
        int64_t start_us;
        bool worked;
        enum cv_code code = run_trigger(engine, &worked, &start_us, err);

        if (code == CV_CANCELLED && cv_engine_stopping(engine)) {
            cv_log_warning("batch %lld was given up on the way; the next start runs it again",
                           (long long)engine->next_batch);
            return CV_OK;
        }
        CV_DO(code);
        if (finished(engine, worked))
            return CV_OK;
        wait_for_trigger(engine, worked, start_us, &idle_ms);
    }
    return CV_OK;
}

enum cv_code cv_engine_run(const struct cv_engine_config *config, struct cv_error *err)
{
    CV_CLEANUP(engine_release) struct cv_engine engine = {.config = config, .job = config->job};

    CV_DO(engine_open(&engine, err));
    say_start(&engine);
    return engine_loop(&engine, err);
}
