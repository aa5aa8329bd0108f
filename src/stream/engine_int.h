/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's state, shared by engine.c (loop), recovery.c (where to go on), note.c (calve.json)
 * and batch.c (one batch). Owned by the engine's thread; workers of a batch see only struct
 * batch_run. */
#ifndef CALVE_STREAM_ENGINE_INT_H
#define CALVE_STREAM_ENGINE_INT_H

#include "data/writer.h"
#include "stream/checkpoint.h"
#include "stream/engine.h"
#include "stream/stateful.h"
#include "stream/row_query.h"
#include "table/append.h"
#include "table/position.h"

struct cv_engine {
    const struct cv_engine_config *config;
    const struct cv_job *job;
    struct cv_catalog *catalog;
    struct cv_table *table;
    struct cv_source *source;
    struct cv_table_metadata *bound_metadata; /* own copy that decoder and data writers refer to,
                                        since a commit may replace the table's */
    struct cv_stream_query *query;            /* NULL = the decoder does the select by itself */
    struct cv_stateful *stateful;             /* NULL = the query keeps nothing */
    struct cv_decoder *decoder;
    struct cv_data_workspace *workspace; /* kept from batch to batch */
    struct cv_decode_worker **workers;
    struct cv_row_query **row_queries; /* with a query: one per worker */
    size_t worker_count;
    struct cv_checkpoint checkpoint;
    struct cv_memo memo;
    char run_id[CV_UUID_TEXT_BYTES];
    char files_id[CV_UUID_TEXT_BYTES]; /* in the names of data files: the run's, or of a batch that
                                        * is written once more */
    char *conf_json;                   /* Spark's conf object, carried from entry to entry */
    int64_t next_batch;                /* id of the next batch */
    bool redo;                         /* next_batch is in the offset log already */
    struct cv_offsets position;        /* end of the batch before next_batch */
    struct cv_offsets redo_end;        /* with redo: the logged end */
    int64_t redo_timestamp_ms;         /* with redo: the logged batchTimestampMs */
    int64_t batch_time_us;             /* of the batch on its way: current_timestamp of its SQL */
    struct cv_offsets recreated; /* topics (their old partitions) to read from the beginning */
    int64_t lag_published_us;    /* monotonic, 0 = not yet */
    struct cv_offsets bound;     /* AvailableNow: where to end */
    bool bound_set;
    int64_t previous_trigger_ms; /* -1 before the first */
    int64_t last_progress_us;
    int64_t stop_seen_us; /* monotonic time of the first sight of a stop, 0 = not yet */
    int64_t batches_run;
};

/* Finds out where to go on from table, checkpoint and topic; leaves next_batch, redo, position. */
enum cv_code cv_engine_recover(struct cv_engine *engine, struct cv_error *err);

/* Compares topics with the fingerprints in calve.json (part of the recovery). */
enum cv_code cv_engine_check_topics(struct cv_engine *engine, struct cv_error *err);

/* Everything in calve.json but the fingerprints, as of `batch`. */
void cv_engine_fill_memo(struct cv_engine *engine, int64_t batch, struct cv_memo *memo);
/* Replaces the engine's memo by this one. */
void cv_engine_take_memo(struct cv_engine *engine, struct cv_memo *memo);
/* calve.json as of the end of `batch` at engine->position; snapshot_id -1: it made none. */
enum cv_code cv_engine_write_memo(struct cv_engine *engine, int64_t batch, int64_t snapshot_id,
                                  struct cv_error *err);

/* Binds the decoder anew when the table's current schema, spec, properties or location are others
 * than those of `bound_metadata`: a change by somebody else takes effect between batches. */
enum cv_code cv_engine_bind(struct cv_engine *engine, struct cv_error *err);

/* Forgets where the topic was: its partitions are new ones in the next plan. */
void cv_engine_forget_recreated(struct cv_engine *engine);

/* What a batch did, for the progress. */
struct cv_batch_outcome {
    uint64_t input_rows;
    uint64_t output_rows;
    uint64_t lost_records;
    struct cv_decode_counters decoded;
    int64_t snapshot_id;
    size_t files;
    int64_t file_bytes;
    struct cv_data_writer_counters written;
    struct cv_stateful_counters state; /* of a query with state */
    int commit_attempts;
};

/* Whether rows are written alike for both: schema, partition spec, sort order, format version. */
bool cv_engine_defines_alike(const struct cv_table_metadata *a, const struct cv_table_metadata *b);

/* Reads [start, end), writes the files and commits them as next_batch; once more where the table
 * was altered meanwhile. */
enum cv_code cv_engine_run_batch(struct cv_engine *engine, const struct cv_offsets *start,
                                 const struct cv_offsets *end, struct cv_batch_outcome *ret_outcome,
                                 struct cv_error *err);

/* True when the batch on its way shall be given up. */
bool cv_engine_abandon(void *engine);
bool cv_engine_stopping(struct cv_engine *engine);

#endif
