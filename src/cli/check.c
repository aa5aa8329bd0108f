/* SPDX-License-Identifier: Apache-2.0
 *
 * calve check JOB: tries every part of a job and leaves nothing behind. Each part is a line: ok, or
 * what is wrong and what to do; later parts are tried even if an earlier one failed. */
#include "cli/check_store.h"
#include "cli/command.h"
#include "cli/stop.h"
#include "cli/upkeep.h"

#include "base/error_part.h"
#include "base/time.h"
#include "codec/json.h"
#include "storage/retry.h"
#include "stream/checkpoint.h"
#include "stream/job.h"
#include "stream/row_query.h"
#include "table/position.h"
#include "table/table.h"

#include <stddef.h>
#include <stdio.h>

#define SAMPLE_RECORDS 5
#define SERVER_WAIT_US (10 * CV_US_PER_SECOND) /* a run waits longer, somebody is looking here */
#define ATTEMPTS_MAX   2                       /* at a request, for the same reason */

struct check_args {
    bool json;
    struct cv_text_list overrides;
};

static const struct cv_flag flags[] = {
    {"json", CV_FLAG_BOOL, offsetof(struct check_args, json), NULL,
     "an array of objects: part, ok, message, hint"},
    {"o", CV_FLAG_LIST, offsetof(struct check_args, overrides), "KEY=VALUE",
     "override a key of the job file"},
};

struct check {
    const struct cv_job *job;
    int64_t deadline_us;                     /* of waiting for a registry */
    struct cv_source_options source_options; /* the job's, with less patience; not owned */
    struct cv_catalog *catalog;
    struct cv_table *table;
    bool table_absent;
    struct cv_source *source;
    struct cv_stream_query *query; /* NULL = the decoder does the select by itself */
    struct cv_decoder *decoder;
    struct cv_arena arena;
    struct cv_buf json;
    struct cv_json_writer writer;
    bool as_json;
    int findings;
};

static void check_release(struct check *check)
{
    cv_decoder_free(check->decoder);
    cv_stream_query_free(check->query);
    cv_source_free(check->source);
    cv_table_free(check->table);
    cv_catalog_free(check->catalog);
    cv_arena_release(&check->arena);
    cv_buf_release(&check->json);
}

static void put(struct check *check, const char *part, bool ok, const char *message,
                const char *hint)
{
    bool colour = cv_terminal();

    check->findings += !ok;
    if (!check->as_json) {
        (void)printf("%s%-6s%s %-13s %s\n", colour ? (ok ? "\033[32m" : "\033[31m") : "",
                     ok ? "ok" : "FAILED", colour ? "\033[0m" : "", part, message);
        if (hint && *hint)
            (void)printf("%21s%s\n", "", hint);
        return;
    }
    cv_json_begin_object(&check->writer);
    cv_json_key(&check->writer, "part");
    cv_json_put_string(&check->writer, part);
    cv_json_key(&check->writer, "ok");
    cv_json_put_bool(&check->writer, ok);
    cv_json_key(&check->writer, "message");
    cv_json_put_string(&check->writer, message);
    cv_json_key(&check->writer, "hint");
    cv_json_put_string(&check->writer, hint ? hint : "");
    cv_json_end_object(&check->writer);
}

/* What stood in the way of a request has a name of its own, whatever was to be tried by it. */
static const char *failed_part(const char *tried, const struct cv_error *err)
{
    const char *part = cv_error_part_name(err);

    return part ? part : tried;
}

/* True when the call succeeded; else its error is a finding. */
static bool passed(struct check *check, const char *part, enum cv_code code,
                   const struct cv_error *err)
{
    if (code == CV_OK)
        return true;
    put(check, failed_part(part, err), false, err->message, err->hint);
    return false;
}

static void put_ok(struct check *check, const char *part, const char *format, ...) CV_PRINTF(3, 4);
static void put_ok(struct check *check, const char *part, const char *format, ...)
{
    char message[2048];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    put(check, part, true, message, NULL);
}

static void warn(void *context, const char *message)
{
    put(context, "warning", true, message, NULL);
}

static void report(void *context, const char *probe, const char *found,
                   const struct cv_error *failure)
{
    if (failure)
        put(context, failed_part(probe, failure), false, failure->message, failure->hint);
    else
        put(context, probe, true, found, NULL);
}

static void check_table(struct check *check)
{
    const char *table = check->job->sink.table;
    struct cv_error err = CV_ERROR_INIT;
    enum cv_code code = cv_job_open_catalog(&check->job->file, table, &check->catalog, &err);

    if (!passed(check, "catalog", code, &err))
        return;
    put_ok(check, "catalog", "%.*s, type %s", (int)strcspn(table, "."), table,
           check->catalog->ops->type);
    if (check->catalog->ops->check &&
        check->catalog->ops->check(check->catalog, report, check, &err) != CV_OK)
        return; /* it told */
    code = cv_table_open(check->catalog, table, &check->table, &err);
    check->table_absent = code == CV_NOT_FOUND;
    if (!passed(check, "table", code, &err))
        return;
    put_ok(check, "table", "%s: format version %d, %zu columns, %zu snapshots", table,
           check->table->metadata->format_version,
           cv_table_metadata_schema(check->table->metadata)->root.field_count,
           check->table->metadata->snapshot_count);
}

/* Where the table would lie, with what the catalog's section says of its store. */
static void check_future_storage(struct check *check)
{
    CV_CLEANUP(cv_store_freep) struct cv_store *store = NULL;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_table_name name;
    const char *location = NULL;
    enum cv_code code = cv_table_name_parse(check->job->sink.table, &check->arena, &name, &err);

    if (code == CV_OK)
        code = check->catalog->ops->table_location(check->catalog, &name, &check->arena, &location,
                                                   &err);
    if (code == CV_OK && !location) {
        put_ok(check, "storage", "the catalog chooses where the table lies: not tried yet");
        return;
    }
    if (code == CV_OK)
        code = cv_catalog_open_store(check->catalog, location, NULL, NULL, &store, &err);
    if (passed(check, "storage", code, &err))
        cv_check_store(store, location, report, check);
}

static void check_storage(struct check *check)
{
    if (check->table)
        cv_check_store(check->table->store, cv_table_data_folder(check->table, &check->arena),
                       report, check);
    else if (check->table_absent)
        check_future_storage(check);
}

static void check_source(struct check *check)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets offsets = {0};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_source_config config = {.options = &check->source_options,
                                      .job = check->job->options.job,
                                      .memory_bytes = (size_t)32 << 20,
                                      .warn = warn,
                                      .warn_context = check};
    int64_t began_us = cv_monotonic_us();

    check->source_options = check->job->source;
    check->source_options.poll_timeout_us =
        CV_MIN(check->source_options.poll_timeout_us, SERVER_WAIT_US);
    check->source_options.fetch_offset_attempts = 1;
    if (!passed(check, "broker", cv_source_open(&config, &check->source, &err), &err))
        return;
    put_ok(check, "broker", "cluster %s answers in %lld ms", cv_source_cluster_id(check->source),
           (long long)((cv_monotonic_us() - began_us) / CV_US_PER_MS));
    if (passed(check, "topic", cv_source_initial_offsets(check->source, &offsets, &err), &err))
        put_ok(check, "topic", "%s: %zu partitions", cv_source_description(check->source),
               offsets.count);
}

/* An outage of the registry is waited out by a run; here somebody is looking. */
static bool out_of_patience(void *context)
{
    const struct check *check = context;

    return cv_stop_requested(NULL) || cv_monotonic_us() > check->deadline_us;
}

static void check_decoder(struct check *check)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_decoder_config config = {
        .options = &check->job->value,
        .select = check->job->options.select,
        .ignore_unknown = check->job->sink.ignore_unknown,
        .include_headers = check->job->source.include_headers,
        .warn = warn,
        .warn_context = check,
        .cancelled = out_of_patience,
        .cancel_context = check,
    };

    if (!check->table)
        return;
    check->deadline_us = cv_monotonic_us() + SERVER_WAIT_US;
    config.table = cv_table_metadata_schema(check->table->metadata);
    if (check->job->source.subscribe)
        config.topics = (const char *const *)cv_split(&check->arena, check->job->source.subscribe,
                                                      ',', &config.topic_count);
    if (!passed(check, check->job->options.sql ? "sql" : "columns",
                cv_stream_query_open(check->job, &config, config.table, &check->query, &err), &err))
        return;
    if (check->query)
        cv_stream_query_feed(check->query, &config);
    if (!passed(check, "columns", cv_decoder_open(&config, &check->decoder, &err), &err))
        return;
    put_ok(check, "columns", "every selected value fits its column");
    if (check->query)
        put_ok(check, "sql", "compiled for DuckDB %s", cv_duck_version(check->query->duck));
    if (cv_stream_query_keeps_state(check->query))
        put_ok(check, "state",
               "the query keeps state in the checkpoint: Spark cannot go on with it");
}

/* The sampled records through the query. */
static void check_query(struct check *check, const struct cv_batch *batch)
{
    struct cv_row_query *row_query = NULL;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_row_query_counters counters = {0};
    struct cv_batch rows;
    enum cv_code code;

    if (!check->query || !batch->row_count)
        return;
    code = cv_row_query_new(check->query, &row_query, &err);
    if (code == CV_OK)
        code = cv_row_query_run(row_query, batch, cv_now_us(), &rows, &err);
    if (row_query)
        cv_row_query_counters(row_query, &counters);
    if (passed(check, "sql", code, &err) && counters.bad)
        put(check, "sql", false,
            cv_arena_printf(&check->arena, "the query cannot evaluate %llu of %zu live records",
                            (unsigned long long)counters.bad, batch->row_count),
            "value.mode says what happens to them");
    else if (code == CV_OK)
        put_ok(check, "sql", "%zu live records give %zu rows", batch->row_count, rows.row_count);
    cv_row_query_free(row_query);
}

static void check_records(struct check *check)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_decode_worker *worker;
    struct cv_chunk *chunk = NULL;
    struct cv_batch batch;

    if (!check->source || !check->decoder)
        return;
    if (!passed(check, "records", cv_source_sample(check->source, SAMPLE_RECORDS, &chunk, &err),
                &err))
        return;
    if (!chunk) {
        put_ok(check, "records", "the topic is empty");
        return;
    }
    check->deadline_us = cv_monotonic_us() + SERVER_WAIT_US;
    worker = cv_decode_worker_new(check->decoder);
    if (passed(check, "records", cv_decode_worker_run(worker, chunk, &batch, &err), &err)) {
        const struct cv_bad_list *bad = cv_decode_worker_bad(worker);

        if (bad->total)
            put(check, "records", false,
                cv_arena_printf(&check->arena, "%llu of %zu live records cannot be decoded: %s %s",
                                (unsigned long long)bad->total, chunk->count, bad->entries[0].field,
                                bad->entries[0].reason),
                "value.mode says what happens to them");
        else
            put_ok(check, "records", "%zu live records decoded into %zu rows", chunk->count,
                   batch.row_count);
        check_query(check, &batch);
    }
    chunk->release(chunk);
    cv_decode_worker_free(worker);
}

static void check_checkpoint(struct check *check)
{
    CV_CLEANUP(cv_checkpoint_release) struct cv_checkpoint checkpoint = {.lock = -1};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_position position;
    enum cv_code code;

    if (check->job->checkpoint_stored && !check->catalog)
        return; /* whose properties are those of the store */
    code = cv_job_open_checkpoint(check->job, check->catalog, true, &checkpoint, &err);
    if (!passed(check, "checkpoint", code, &err))
        return;
    if (checkpoint.query_id[0]) {
        put_ok(check, "checkpoint", "query %s, offsets up to batch %lld, commits up to %lld",
               checkpoint.query_id, (long long)checkpoint.newest_offsets,
               (long long)checkpoint.newest_commits);
        return;
    }
    if (check->table && cv_position_find_job(check->table, check->job->options.job, &check->arena,
                                             &position, NULL) == CV_OK)
        put_ok(check, "checkpoint", "fresh; the table knows the job: it goes on after batch %lld",
               (long long)position.epoch);
    else
        put_ok(check, "checkpoint", "fresh: the job starts at startingOffsets");
}

static void check_maintenance(struct check *check)
{
    CV_CLEANUP(cv_schedule_release) struct cv_schedule schedule = {0};
    struct cv_error err = CV_ERROR_INIT;

    if (!passed(check, "maintenance",
                cv_schedule_read(&check->job->file, &check->arena, &schedule, &err), &err))
        return;
    for (size_t i = 0; i < schedule.count; i++) {
        char when[128];

        cv_upkeep_describe(&schedule.entries[i], when, sizeof when);
        put_ok(check, "maintenance", "%s %s", schedule.entries[i].procedure->name, when);
    }
}

static void print_plan(struct check *check)
{
    char cost[256];

    cv_trigger_cost(&check->job->trigger, cost, sizeof cost);
    if (cost[0])
        put(check, "trigger", true, cost, NULL);
    if (check->as_json || !check->decoder)
        return;
    if (check->query)
        (void)printf("\n%s\n", cv_query_describe(check->query->query, &check->arena));
    else
        (void)printf("\n%s\n", cv_decoder_describe(check->decoder, &check->arena));
}

static enum cv_code run(int argc, char **argv, int *ret_status, struct cv_error *err)
{
    struct check_args args = {0};
    struct cv_text_list words = {0};
    CV_CLEANUP(check_release) struct check check = {.json = CV_BUF_INIT(0)};
    struct cv_job job;

    CV_DO(cv_args_parse(flags, CV_ARRAY_LENGTH(flags), argc, argv, &args, &words, err));
    if (words.count != 1)
        return cv_fail(err, CV_USAGE, "calve check takes one job file");
    cv_retry_limit_attempts(ATTEMPTS_MAX);
    check.writer.out = &check.json;
    check.as_json = args.json;
    if (args.json)
        cv_json_begin_array(&check.writer);
    CV_DO(cv_job_load(words.items[0], args.overrides.items, args.overrides.count, warn, &check,
                      &job, err));
    check.job = &job;
    put_ok(&check, "job", "%s in %s", job.options.job, job.file.path);
    check_table(&check);
    check_storage(&check);
    check_source(&check);
    check_decoder(&check);
    check_records(&check);
    check_checkpoint(&check);
    check_maintenance(&check);
    print_plan(&check);
    if (args.json) {
        cv_json_end_array(&check.writer);
        (void)printf("%s\n", cv_buf_text(&check.json));
    }
    check.job = NULL;
    *ret_status = check.findings ? 1 : 0;
    check_release(&check);
    memset(&check, 0, sizeof check);
    cv_job_release(&job);
    return CV_OK;
}

const struct cv_command cv_command_check = {"check",
                                            "JOB [--json] [-o KEY=VALUE]…",
                                            "try every part of a job (catalog, table, its store, "
                                            "broker, topic, registry, records) and leave "
                                            "nothing behind",
                                            run,
                                            flags,
                                            CV_ARRAY_LENGTH(flags)};
