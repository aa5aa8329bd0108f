/* SPDX-License-Identifier: Apache-2.0
 *
 * See stateful.h. Spark's rules for the watermark: it is the largest event time seen less the
 * delay, never falls, and counts from the batch after; rows are late by the watermark of the batch
 * before, windows close by the batch's own. */
#include "stream/stateful.h"

#include "base/time.h"

#include <pthread.h>
#include <stdlib.h>

#define EMIT_ROWS     ((size_t)65536)
#define VERSIONS_KEPT 3 /* before the current one, for checkpoints that are set back a little */

struct cv_stateful {
    struct cv_arena arena;
    struct cv_stream_query *query;
    struct cv_checkpoint *checkpoint;
    struct cv_store *own_store; /* of a local checkpoint */
    struct cv_keyed state_keyed;
    struct cv_schema state_schema;
    const size_t *state_columns; /* DISTINCT: which of the rows' columns the state keeps */
    struct cv_state *state;
    struct cv_runs *runs;
    struct cv_duck_view *groups;
    struct cv_duck_query *final;
    int64_t watermark_ms; /* of the next batch */
    int64_t used_ms;      /* of the last batch: by it rows of the next one are late */
    pthread_mutex_t lock; /* of the members below */
    int64_t event_max_us;
    int64_t late;
    struct cv_stateful_counters counters;
};

static bool evicts(const struct cv_stateful *s)
{
    return s->query->query->keyed.expiry_column != SIZE_MAX && !s->query->job->complete;
}

/* The state of `distinct` holds the keys and when they are forgotten, not the rows. */
static void choose_columns(struct cv_stateful *s)
{
    const struct cv_query *q = s->query->query;
    const struct cv_keyed *rows = &q->keyed;
    size_t count = rows->key_count + 1;
    struct cv_field *fields;
    enum cv_merge *merges;
    size_t *columns;

    s->state_keyed = *rows;
    if (q->kind != CV_QUERY_DISTINCT)
        return;
    fields = cv_arena_array(&s->arena, struct cv_field, count);
    merges = cv_arena_array(&s->arena, enum cv_merge, count);
    columns = cv_arena_array(&s->arena, size_t, count);
    for (size_t i = 0; i < count; i++) {
        columns[i] = i < rows->key_count ? i : rows->expiry_column;
        fields[i] = rows->schema->root.fields[columns[i]];
        merges[i] = CV_MERGE_MIN;
    }
    s->state_schema.root =
        (struct cv_type){.kind = CV_TYPE_STRUCT, .fields = fields, .field_count = count};
    s->state_keyed = (struct cv_keyed){.schema = &s->state_schema,
                                       .key_count = rows->key_count,
                                       .merges = merges,
                                       .expiry_column = rows->key_count};
    s->state_columns = columns;
}

static enum cv_code open_state(struct cv_stateful *s, struct cv_error *err)
{
    const struct cv_checkpoint *checkpoint = s->checkpoint;
    struct cv_state_config config = {
        .store = checkpoint->store,
        .location = cv_location_join(&s->arena, checkpoint->folder, "state"),
        .keyed = &s->state_keyed,
        /* A state of another query of the same text, from before --resume-from, is not this one's.
         */
        .fingerprint =
            cv_arena_printf(&s->arena, "%s-%s", s->query->query->fingerprint, checkpoint->query_id),
        .memory_bytes = (size_t)s->query->job->options.memory_bytes / 4,
    };

    if (!config.store) {
        CV_DO(cv_store_open(config.location, NULL, &s->own_store, err));
        config.store = s->own_store;
    }
    cv_state_open(&config, &s->state);
    return CV_OK;
}

static enum cv_code prepare_final(struct cv_stateful *s, struct cv_error *err)
{
    const struct cv_query *q = s->query->query;

    if (q->kind != CV_QUERY_AGGREGATE)
        return CV_OK;
    CV_DO(cv_duck_view_create(s->query->connection, "groups", &q->rows_schema, &s->groups, err));
    return cv_duck_query_prepare(s->query->connection, q->final_sql, s->query->sink, &s->final,
                                 err);
}

enum cv_code cv_stateful_open(struct cv_stream_query *query, struct cv_checkpoint *checkpoint,
                              struct cv_stateful **ret_stateful, struct cv_error *err)
{
    struct cv_stateful *s = cv_alloc(sizeof *s);
    enum cv_code code;

    s->query = query;
    s->checkpoint = checkpoint;
    (void)pthread_mutex_init(&s->lock, NULL);
    choose_columns(s);
    code = prepare_final(s, err);
    if (code == CV_OK)
        code = open_state(s, err);
    if (code != CV_OK) {
        cv_stateful_free(s);
        return code;
    }
    *ret_stateful = s;
    return CV_OK;
}

void cv_stateful_free(struct cv_stateful *stateful)
{
    if (!stateful)
        return;
    cv_runs_free(stateful->runs);
    cv_state_free(stateful->state);
    cv_duck_query_free(stateful->final);
    cv_duck_view_free(stateful->groups);
    cv_store_free(stateful->own_store);
    (void)pthread_mutex_destroy(&stateful->lock);
    cv_arena_release(&stateful->arena);
    free(stateful);
}

enum cv_code cv_stateful_load(struct cv_stateful *stateful, int64_t batch, struct cv_error *err)
{
    struct cv_state_counters counters;

    CV_DO(cv_state_load(stateful->state, batch, err));
    cv_state_counters(stateful->state, &counters);
    stateful->used_ms = CV_MAX(counters.watermark_us, 0) / CV_US_PER_MS;
    stateful->watermark_ms = CV_MAX(counters.next_watermark_us, 0) / CV_US_PER_MS;
    return CV_OK;
}

enum cv_code cv_stateful_carry(struct cv_stateful *stateful, int64_t batch, struct cv_error *err)
{
    struct cv_state_counters counters;

    cv_state_counters(stateful->state, &counters);
    return cv_state_write(stateful->state, batch, NULL, counters.watermark_us,
                          counters.next_watermark_us, err);
}

int64_t cv_stateful_watermark_ms(const struct cv_stateful *stateful)
{
    return stateful->watermark_ms;
}

bool cv_stateful_wants_batch(const struct cv_stateful *stateful)
{
    return evicts(stateful) && stateful->watermark_ms > stateful->used_ms;
}

void cv_stateful_begin(struct cv_stateful *stateful)
{
    const struct cv_job *job = stateful->query->job;
    const struct cv_runs_config config = {
        .keyed = &stateful->query->query->keyed,
        .memory_bytes = (size_t)job->options.memory_bytes / 4,
        .spill_directory = job->options.spill_directory,
    };

    cv_runs_free(stateful->runs);
    stateful->runs = cv_runs_new(&config);
    stateful->event_max_us = INT64_MIN;
    stateful->late = 0;
}

enum cv_code cv_stateful_add(struct cv_stateful *stateful, const struct cv_batch *batch,
                             int64_t event_max_us, struct cv_error *err)
{
    int64_t late_us = evicts(stateful) ? stateful->used_ms * CV_US_PER_MS : INT64_MIN;
    int64_t late = 0;

    if (batch->row_count)
        CV_DO(cv_runs_add(stateful->runs, batch, late_us, &late, err));
    (void)pthread_mutex_lock(&stateful->lock);
    stateful->event_max_us = CV_MAX(stateful->event_max_us, event_max_us);
    stateful->late += late;
    (void)pthread_mutex_unlock(&stateful->lock);
    return CV_OK;
}

static enum cv_code next_of_reader(void *context, struct cv_batch *ret_batch, struct cv_error *err)
{
    return cv_merge_reader_next(context, ret_batch, err);
}

/* Groups through the final query into the writer. */
static enum cv_code emit_groups(struct cv_stateful *s, struct cv_merge_reader *reader,
                                int64_t batch_time_us, struct cv_data_writer *writer,
                                struct cv_error *err)
{
    const struct cv_rows_source source = {next_of_reader, reader};
    struct cv_batch batch;

    cv_duck_view_set_source(s->groups, &source);
    CV_DO(cv_duck_query_start(s->final, &batch_time_us, s->query->query->uses_batch_time, err));
    for (;;) {
        CV_DO(cv_duck_query_next(s->final, EMIT_ROWS, &batch, err));
        if (batch.row_count == 0)
            return CV_OK;
        CV_DO(cv_data_writer_append(writer, &batch, err));
    }
}

/* The table's columns of rows whose key is new. */
static enum cv_code emit_rows(struct cv_stateful *s, struct cv_merge_reader *reader,
                              struct cv_data_writer *writer, struct cv_error *err)
{
    const struct cv_query *q = s->query->query;
    struct cv_batch batch;

    for (;;) {
        CV_DO(cv_merge_reader_next(reader, &batch, err));
        if (batch.row_count == 0)
            return CV_OK;
        batch.schema = s->query->sink;
        batch.columns += q->output_column;
        batch.column_count -= q->output_column;
        CV_DO(cv_data_writer_append(writer, &batch, err));
    }
}

static int64_t next_watermark_ms(const struct cv_stateful *s)
{
    int64_t delay_ms = s->query->job->watermark.delay_us / CV_US_PER_MS;
    int64_t seen_ms;

    if (s->event_max_us == INT64_MIN)
        return s->watermark_ms;
    seen_ms = s->event_max_us / CV_US_PER_MS - (s->event_max_us % CV_US_PER_MS < 0);
    return CV_MAX(s->watermark_ms, seen_ms - delay_ms);
}

static enum cv_code write_state(struct cv_stateful *s, int64_t batch,
                                struct cv_merge_reader *reader, struct cv_error *err)
{
    return cv_state_write(s->state, batch, reader,
                          evicts(s) ? s->watermark_ms * CV_US_PER_MS : INT64_MIN,
                          next_watermark_ms(s) * CV_US_PER_MS, err);
}

/* Complete: the state first, then all of it. */
static enum cv_code finish_complete(struct cv_stateful *s, int64_t batch, int64_t batch_time_us,
                                    struct cv_data_writer *writer, struct cv_error *err)
{
    CV_CLEANUP(cv_merge_reader_freep) struct cv_merge_reader *rows = NULL;
    CV_CLEANUP(cv_merge_reader_freep) struct cv_merge_reader *all = NULL;

    CV_DO(cv_runs_read(s->runs, &rows, err));
    CV_DO(write_state(s, batch, rows, err));
    CV_DO(cv_state_read(s->state, NULL, NULL, &all, err));
    return emit_groups(s, all, batch_time_us, writer, err);
}

/* Append: what the watermark closes, then the state without it. */
static enum cv_code finish_append(struct cv_stateful *s, int64_t batch, int64_t batch_time_us,
                                  struct cv_data_writer *writer, struct cv_error *err)
{
    CV_CLEANUP(cv_merge_reader_freep) struct cv_merge_reader *rows = NULL;
    CV_CLEANUP(cv_merge_reader_freep) struct cv_merge_reader *closing = NULL;
    CV_CLEANUP(cv_merge_reader_freep) struct cv_merge_reader *again = NULL;
    int64_t closing_us = s->watermark_ms * CV_US_PER_MS;

    CV_DO(cv_runs_read(s->runs, &rows, err));
    CV_DO(cv_state_read(s->state, rows, &closing_us, &closing, err));
    CV_DO(emit_groups(s, closing, batch_time_us, writer, err));
    CV_DO(cv_runs_read(s->runs, &again, err));
    return write_state(s, batch, again, err);
}

static enum cv_code finish_distinct(struct cv_stateful *s, int64_t batch,
                                    struct cv_data_writer *writer, struct cv_error *err)
{
    CV_CLEANUP(cv_merge_reader_freep) struct cv_merge_reader *rows = NULL;
    CV_CLEANUP(cv_merge_reader_freep) struct cv_merge_reader *fresh = NULL;
    CV_CLEANUP(cv_merge_reader_freep) struct cv_merge_reader *again = NULL;
    CV_CLEANUP(cv_merge_reader_freep) struct cv_merge_reader *fresh_again = NULL;
    CV_CLEANUP(cv_merge_reader_freep) struct cv_merge_reader *keys = NULL;

    CV_DO(cv_runs_read(s->runs, &rows, err));
    CV_DO(cv_state_lacking(s->state, rows, &fresh, err));
    CV_DO(emit_rows(s, fresh, writer, err));
    CV_DO(cv_runs_read(s->runs, &again, err));
    CV_DO(cv_state_lacking(s->state, again, &fresh_again, err));
    CV_DO(cv_merge_reader_project(fresh_again, &s->state_keyed, s->state_columns, &keys, err));
    return write_state(s, batch, keys, err);
}

static void count(struct cv_stateful *s)
{
    struct cv_state_counters state;

    cv_state_counters(s->state, &state);
    s->counters = (struct cv_stateful_counters){
        .rows_total = state.rows,
        .rows_updated = state.rows_written,
        .rows_late = s->late,
        .state_bytes = state.bytes,
        .watermark_ms = s->watermark_ms,
        .event_max_us = s->event_max_us,
    };
    cv_runs_counters(s->runs, &s->counters.runs);
}

enum cv_code cv_stateful_finish(struct cv_stateful *stateful, int64_t batch, int64_t batch_time_us,
                                struct cv_data_writer *writer, struct cv_error *err)
{
    struct cv_stateful *s = stateful;
    int64_t next_ms = next_watermark_ms(s);

    if (s->query->query->kind == CV_QUERY_DISTINCT)
        CV_DO(finish_distinct(s, batch, writer, err));
    else if (s->query->job->complete)
        CV_DO(finish_complete(s, batch, batch_time_us, writer, err));
    else
        CV_DO(finish_append(s, batch, batch_time_us, writer, err));
    count(s);
    s->used_ms = s->watermark_ms;
    s->watermark_ms = next_ms;
    cv_runs_free(s->runs);
    s->runs = NULL;
    return CV_OK;
}

void cv_stateful_committed(struct cv_stateful *stateful, int64_t batch)
{
    cv_state_purge(stateful->state, batch - VERSIONS_KEPT);
}

void cv_stateful_counters(const struct cv_stateful *stateful,
                          struct cv_stateful_counters *ret_counters)
{
    *ret_counters = stateful->counters;
}
