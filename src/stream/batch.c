/* SPDX-License-Identifier: Apache-2.0
 *
 * One batch: the engine's thread fetches chunks, workers decode them side by side and append them
 * to the data writer in the source's order, then the files are committed in one snapshot. A small
 * batch is decoded by the engine's thread itself. */
#include "stream/engine_int.h"

#include "base/fault.h"
#include "base/log.h"
#include "base/queue.h"
#include "base/time.h"

#include <stdatomic.h>

/* Below this many offsets starting workers costs more than it gains. */
#define INLINE_RECORDS_MAX 20000
#define RUNNING_LINE_US    (10 * CV_US_PER_SECOND) /* between lines of a long batch */
#define REWRITES_MAX       10 /* of one batch, for a table that is altered each time */
/* Records that a worker collects before it groups them: each execution costs some 200 µs. */
#define GROUP_ROWS  ((size_t)65536)
#define GROUP_BYTES ((size_t)16 << 20)

struct batch_run {
    struct cv_engine *engine;
    struct cv_data_writer *writer;
    struct cv_queue queue;
    int64_t span;         /* offsets to read */
    int64_t read;         /* records handed out so far */
    int64_t line_us;      /* monotonic time of the last line about them */
    pthread_mutex_t lock; /* of the members below */
    pthread_cond_t turn;
    uint64_t next_sequence;
    struct cv_error error; /* the first one */
    atomic_bool failed;
};

struct worker_start {
    struct batch_run *run;
    struct cv_decode_worker *worker;
    struct cv_row_query *row_query; /* NULL = no query */
    size_t bytes;                   /* of the records that are collected */
};

static void run_fail(struct batch_run *run, const struct cv_error *err)
{
    (void)pthread_mutex_lock(&run->lock);
    if (!atomic_load(&run->failed))
        run->error = *err;
    atomic_store(&run->failed, true);
    (void)pthread_cond_broadcast(&run->turn);
    (void)pthread_mutex_unlock(&run->lock);
}

/* Waits until every chunk before this one has been appended; false when the run failed. */
static bool take_turn(struct batch_run *run, uint64_t sequence)
{
    bool mine;

    (void)pthread_mutex_lock(&run->lock);
    while (!atomic_load(&run->failed) && run->next_sequence != sequence)
        (void)pthread_cond_wait(&run->turn, &run->lock);
    mine = !atomic_load(&run->failed);
    (void)pthread_mutex_unlock(&run->lock);
    return mine;
}

static void pass_turn(struct batch_run *run)
{
    (void)pthread_mutex_lock(&run->lock);
    run->next_sequence++;
    (void)pthread_cond_broadcast(&run->turn);
    (void)pthread_mutex_unlock(&run->lock);
}

/* Collected rows through the query into the batch's keyed rows. */
static enum cv_code group(struct worker_start *w, const struct cv_batch *batch,
                          struct cv_error *err)
{
    struct cv_engine *engine = w->run->engine;
    int64_t event_max_us;
    struct cv_batch keyed;

    CV_DO(cv_row_query_run(w->row_query, batch, engine->batch_time_us, &keyed, err));
    CV_DO(cv_row_query_event_max(w->row_query, &event_max_us, err));
    CV_DO(cv_stateful_add(engine->stateful, &keyed, event_max_us, err));
    cv_decode_worker_clear(w->worker);
    w->bytes = 0;
    return CV_OK;
}

static enum cv_code decode_and_group(struct worker_start *w, const struct cv_chunk *chunk,
                                     struct cv_error *err)
{
    struct cv_batch batch;

    if (!w->bytes)
        cv_decode_worker_clear(w->worker);
    CV_DO(cv_decode_worker_add(w->worker, chunk, &batch, err));
    w->bytes += chunk->bytes + 1;
    if (batch.row_count < GROUP_ROWS && w->bytes < GROUP_BYTES)
        return CV_OK;
    return group(w, &batch, err);
}

/* What a worker still holds when there are no more chunks. */
static enum cv_code group_rest(struct worker_start *w, struct cv_error *err)
{
    const struct cv_chunk none = {0};
    struct cv_batch batch;

    if (!w->bytes)
        return CV_OK;
    CV_DO(cv_decode_worker_add(w->worker, &none, &batch, err));
    return group(w, &batch, err);
}

static enum cv_code decode_and_append(struct worker_start *w, const struct cv_chunk *chunk,
                                      struct cv_error *err)
{
    struct batch_run *run = w->run;
    struct cv_batch batch;

    if (run->engine->stateful)
        return decode_and_group(w, chunk, err);
    CV_DO(cv_decode_worker_run(w->worker, chunk, &batch, err));
    if (w->row_query && batch.row_count)
        CV_DO(cv_row_query_run(w->row_query, &batch, run->engine->batch_time_us, &batch, err));
    if (!take_turn(run, chunk->sequence))
        return CV_OK;
    if (batch.row_count)
        CV_DO(cv_data_writer_append(run->writer, &batch, err));
    pass_turn(run);
    return CV_OK;
}

static void *worker_main(void *argument)
{
    struct worker_start *w = argument;
    struct batch_run *run = w->run;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_chunk *chunk;

    while ((chunk = cv_queue_pop(&run->queue))) {
        if (!atomic_load(&run->failed) && decode_and_append(w, chunk, &err) != CV_OK)
            run_fail(run, &err);
        chunk->release(chunk);
    }
    if (!atomic_load(&run->failed) && group_rest(w, &err) != CV_OK)
        run_fail(run, &err);
    return NULL;
}

static bool run_cancelled(void *context)
{
    struct batch_run *run = context;

    return atomic_load(&run->failed) || cv_engine_abandon(run->engine);
}

/* A long batch says how far it is; a silent one looks like a stuck one. */
static void say_running(struct batch_run *run, size_t records)
{
    int64_t now_us = cv_monotonic_us();

    run->read += (int64_t)records;
    if (now_us - run->line_us < RUNNING_LINE_US)
        return;
    run->line_us = now_us;
    cv_log_info("batch %lld: %lld of at most %lld records read", (long long)run->engine->next_batch,
                (long long)run->read, (long long)run->span);
}

static struct worker_start worker_of(struct batch_run *run, size_t i)
{
    return (struct worker_start){
        .run = run, .worker = run->engine->workers[i], .row_query = run->engine->row_queries[i]};
}

/* Hands the chunks of the open range to the queue, or decodes them here without workers. */
static enum cv_code fetch_all(struct batch_run *run, struct worker_start *here,
                              struct cv_error *err)
{
    struct cv_engine *engine = run->engine;

    for (;;) {
        struct cv_chunk *chunk;
        enum cv_code code = CV_OK;

        CV_DO(cv_source_fetch_next(engine->source, run_cancelled, run, &chunk, err));
        if (!chunk)
            return here ? group_rest(here, err) : CV_OK;
        say_running(run, chunk->count);
        if (here) {
            code = decode_and_append(here, chunk, err);
            chunk->release(chunk);
        } else if (!cv_queue_push(&run->queue, chunk)) {
            chunk->release(chunk);
        }
        CV_DO(code);
    }
}

static enum cv_code fetch_with_workers(struct batch_run *run, struct cv_error *err)
{
    struct cv_engine *engine = run->engine;
    struct worker_start starts[CV_THREADS_MAX];
    pthread_t threads[CV_THREADS_MAX];
    size_t started = 0;
    enum cv_code code = CV_OK;

    for (; started < engine->worker_count; started++) {
        starts[started] = worker_of(run, started);
        if (pthread_create(&threads[started], NULL, worker_main, &starts[started]) != 0)
            break;
    }
    if (started)
        code = fetch_all(run, NULL, err);
    else
        code = cv_fail(err, CV_INTERNAL, "no worker thread could be started");
    if (code != CV_OK && !atomic_load(&run->failed)) {
        struct cv_error own = CV_ERROR_INIT;

        run_fail(run, err ? err : &own);
    }
    cv_queue_close(&run->queue);
    for (size_t i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
    if (atomic_load(&run->failed) && err && run->error.code != CV_OK) {
        *err = run->error;
        return err->code;
    }
    return code;
}

static enum cv_code read_range(struct batch_run *run, const struct cv_offsets *start,
                               const struct cv_offsets *end, struct cv_error *err)
{
    enum cv_code code;

    run->line_us = cv_monotonic_us();
    for (size_t i = 0; i < end->count; i++) {
        const struct cv_offset *to = &end->items[i];
        const struct cv_offset *from = cv_offsets_find(start, to->topic, to->partition);

        if (from && to->offset > from->offset)
            run->span += to->offset - from->offset;
    }
    if (!run->span)
        return CV_OK; /* only to close windows */
    CV_DO(cv_source_fetch_begin(run->engine->source, start, end, err));
    if (run->span <= INLINE_RECORDS_MAX) {
        struct worker_start here = worker_of(run, 0);

        code = fetch_all(run, &here, err);
    } else {
        code = fetch_with_workers(run, err);
    }
    if (code != CV_OK)
        cv_source_fetch_cancel(run->engine->source);
    return code;
}

static void run_release(struct batch_run *run)
{
    if (!run->queue.items)
        return;
    cv_data_writer_abort(run->writer);
    cv_queue_release(&run->queue);
    (void)pthread_mutex_destroy(&run->lock);
    (void)pthread_cond_destroy(&run->turn);
}

static enum cv_code open_writer(struct cv_engine *engine, struct cv_data_writer **ret_writer,
                                struct cv_error *err)
{
    const struct cv_sink_options *sink = &engine->job->sink;
    struct cv_data_writer_config config = {
        .metadata = engine->bound_metadata,
        .store = engine->table->store,
        .name_prefix = engine->files_id,
        .epoch = engine->next_batch,
        .fanout = sink->fanout,
        .target_file_bytes = sink->target_file_bytes,
        .memory_bytes = (size_t)engine->job->options.memory_bytes / 2,
        .spill_directory = engine->job->options.spill_directory,
        .codec_override = sink->codec,
        .level_override = sink->codec_level,
        .delta = sink->delta_encoding,
        .unsynced = true, /* the append syncs them with its own files */
        .workspace = engine->workspace,
    };

    return cv_data_writer_open(&config, ret_writer, err);
}

static struct cv_decode_counters sum_counters(const struct cv_engine *engine)
{
    struct cv_decode_counters sum = {0};

    for (size_t i = 0; i < engine->worker_count; i++) {
        struct cv_decode_counters one;

        cv_decode_worker_counters(engine->workers[i], &one);
        sum.rows += one.rows;
        sum.bad += one.bad;
        sum.dropped += one.dropped;
        sum.tombstones += one.tombstones;
        if (engine->row_queries[i]) {
            struct cv_row_query_counters more;

            cv_row_query_counters(engine->row_queries[i], &more);
            sum.bad += more.bad;
            sum.dropped += more.dropped;
        }
    }
    return sum;
}

/* A table that was rolled back while the job runs lacks batches that nobody would miss later. Where
 * the snapshot itself is gone its history was expired, which takes no rows away. */
static enum cv_code check_history(const struct cv_engine *engine,
                                  const struct cv_table_metadata *metadata, struct cv_error *err)
{
    const struct cv_memo *memo = &engine->memo;
    struct cv_history history = cv_history_of(metadata, cv_table_branch(engine->table));
    const struct cv_snapshot *snapshot;

    if (memo->snapshot_id < 0 || !cv_table_metadata_snapshot(metadata, memo->snapshot_id))
        return CV_OK;
    history.over_gaps = true; /* what was expired between takes no rows away either */
    while ((snapshot = cv_history_next(&history)))
        if (snapshot->id == memo->snapshot_id)
            return CV_OK;
    (void)cv_fail(err, CV_CONTRADICTION,
                  "snapshot %lld of batch %lld is in the history of table %s no more: was the "
                  "table rolled back, or its history expired?",
                  (long long)memo->snapshot_id, (long long)memo->snapshot_epoch,
                  engine->job->sink.table);
    cv_hint(err, "start again with --resume-from=table to read what it lost once more, or with "
                 "--resume-from=checkpoint to go on without it");
    return CV_CONTRADICTION;
}

/* Asked in every attempt to commit: may files that were written for `bound_metadata` go in? */
static enum cv_code check_table(void *context, const struct cv_table_metadata *metadata,
                                struct cv_error *err)
{
    const struct cv_engine *engine = context;

    CV_DO(check_history(engine, metadata, err));
    if (!cv_engine_defines_alike(engine->bound_metadata, metadata))
        return cv_fail(err, CV_CONFLICT, "the table was altered meanwhile: schema %d, spec %d",
                       metadata->current_schema_id, metadata->default_spec_id);
    return CV_OK;
}

static enum cv_code commit_files(struct cv_engine *engine, const struct cv_data_file *files,
                                 size_t count, const struct cv_offsets *end,
                                 struct cv_batch_outcome *outcome, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf offsets = CV_BUF_INIT(0);
    struct cv_append append = {.files = files,
                               .file_count = count,
                               .files_unsynced = true,
                               .replaces = engine->job->complete};
    struct cv_append_result result;
    enum cv_code code;

    if (engine->config->writes)
        engine->config->writes(engine->config->writes_context, engine->bound_metadata, files,
                               count);
    cv_offsets_write_json(end, &offsets);
    append.query_id = engine->checkpoint.query_id;
    append.epoch = engine->next_batch;
    append.last_epoch = engine->memo.snapshot_epoch;
    append.job = engine->job->options.job;
    append.cluster_id = cv_source_cluster_id(engine->source);
    append.offsets_json = cv_buf_text(&offsets);
    append.summary = &engine->job->sink.snapshot_properties;
    append.validate = check_table;
    append.validate_context = engine;
    append.keeps_definitions = true;
    code = cv_table_append(engine->table, &append, &result, err);
    if (code == CV_OK && result.already_done)
        code = cv_fail(err, CV_LOCKED,
                       "batch %lld of this query is in the table already: another process runs "
                       "this job",
                       (long long)engine->next_batch);
    if (code != CV_OK) {
        if (code != CV_UNKNOWN)
            cv_data_files_remove(engine->table->store, files, count);
        return code;
    }
    outcome->snapshot_id = result.snapshot_id;
    outcome->commit_attempts = result.attempts;
    return CV_OK;
}

/* Counters of source and workers run on from batch to batch. */
struct counters {
    struct cv_fetch_counters fetched;
    struct cv_decode_counters decoded;
};

static struct counters read_counters(const struct cv_engine *engine)
{
    struct counters counters = {.decoded = sum_counters(engine)};

    cv_source_counters(engine->source, &counters.fetched);
    return counters;
}

static void count_outcome(struct cv_engine *engine, const struct counters *start,
                          const struct cv_data_file *files, size_t count,
                          struct cv_batch_outcome *outcome)
{
    const struct cv_decode_counters *before = &start->decoded;
    struct counters end = read_counters(engine);
    struct cv_decode_counters after = end.decoded;

    outcome->input_rows = end.fetched.records - start->fetched.records;
    outcome->lost_records = end.fetched.lost_records - start->fetched.lost_records;
    outcome->decoded.rows = after.rows - before->rows;
    outcome->decoded.bad = after.bad - before->bad;
    outcome->decoded.dropped = after.dropped - before->dropped;
    outcome->decoded.tombstones = after.tombstones - before->tombstones;
    outcome->files = count;
    for (size_t i = 0; i < count; i++) {
        outcome->output_rows += (uint64_t)files[i].metrics.record_count;
        outcome->file_bytes += files[i].metrics.file_size;
    }
}

/* An aggregation without keys has its one group before the first record. */
static enum cv_code group_nothing(struct batch_run *run, struct cv_error *err)
{
    struct worker_start here = worker_of(run, 0);

    cv_decode_worker_clear(here.worker);
    here.bytes = 1;
    return group_rest(&here, err);
}

static enum cv_code finish_state(struct cv_engine *engine, struct cv_data_writer *writer,
                                 struct cv_batch_outcome *outcome, struct cv_error *err)
{
    CV_DO(cv_checkpoint_check_lock(&engine->checkpoint, err));
    CV_DO(cv_stateful_finish(engine->stateful, engine->next_batch, engine->batch_time_us, writer,
                             err));
    cv_stateful_counters(engine->stateful, &outcome->state);
    return cv_fault_pass("state-written", err);
}

static enum cv_code run_once(struct cv_engine *engine, const struct cv_offsets *start,
                             const struct cv_offsets *end, struct cv_batch_outcome *ret_outcome,
                             struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(run_release) struct batch_run run = {.engine = engine};
    struct counters before;
    struct cv_batch_outcome outcome = {.snapshot_id = -1};
    struct cv_data_file *files;
    size_t count;

    CV_DO(cv_engine_bind(engine, err));
    if (engine->query)
        CV_DO(cv_stream_query_refresh(engine->query, err));
    (void)pthread_mutex_init(&run.lock, NULL);
    (void)pthread_cond_init(&run.turn, NULL);
    cv_queue_init(&run.queue, engine->worker_count + 1);
    before = read_counters(engine);
    CV_DO(open_writer(engine, &run.writer, err));
    if (engine->stateful)
        cv_stateful_begin(engine->stateful);
    CV_DO(read_range(&run, start, end, err));
    if (engine->stateful && engine->job->complete && !run.read)
        CV_DO(group_nothing(&run, err));
    if (engine->stateful)
        CV_DO(finish_state(engine, run.writer, &outcome, err));
    CV_DO(
        cv_data_writer_finish(cv_steal(run.writer), &arena, &files, &count, &outcome.written, err));
    count_outcome(engine, &before, files, count, &outcome);
    if (count || engine->job->complete)
        CV_DO(commit_files(engine, files, count, end, &outcome, err));
    *ret_outcome = outcome;
    return CV_OK;
}

/* Whether the commit found the table altered, so that the batch has to be written for what it is
 * now. */
static bool is_outdated(const struct cv_engine *engine)
{
    return !cv_engine_defines_alike(engine->bound_metadata, engine->table->metadata);
}

/* Where the catalog checks each change itself, nothing is read beforehand: what others did since
 * the last commit shows in the answer to this one. */
enum cv_code cv_engine_run_batch(struct cv_engine *engine, const struct cv_offsets *start,
                                 const struct cv_offsets *end, struct cv_batch_outcome *ret_outcome,
                                 struct cv_error *err)
{
    if (!engine->catalog->ops->writes_metadata)
        CV_DO(cv_table_refresh(engine->table, err));
    for (int rewrites = 0;; rewrites++) {
        enum cv_code code = run_once(engine, start, end, ret_outcome, err);

        if (code != CV_CONFLICT || !is_outdated(engine) || rewrites == REWRITES_MAX)
            return code;
        cv_log_info("batch %lld is written once more, for the table was altered meanwhile",
                    (long long)engine->next_batch);
        cv_error_clear(err);
        cv_uuid_text(engine->files_id); /* the files of before are gone, their names too */
    }
}
