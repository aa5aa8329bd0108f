/* SPDX-License-Identifier: Apache-2.0
 *
 * Record chunk → column batch in the table's shape: framing, value format, select, modes. A decoder
 * is compiled once per job and shared; each worker has its own state (builders, plan cache lookups)
 * so that the record path neither locks nor allocates. Adding a value format is one file and one
 * row in formats.c. */
#ifndef CALVE_DECODE_DECODER_H
#define CALVE_DECODE_DECODER_H

#include "batch/bad_list.h"
#include "batch/builder.h"
#include "config/option.h"

enum cv_value_mode {
    CV_MODE_FAILFAST,
    CV_MODE_PERMISSIVE,
    CV_MODE_DROPMALFORMED,
};

/* Section `value` of the job file. */
struct cv_value_options {
    const char *format;        /* raw | string | json | avro */
    int mode;                  /* enum cv_value_mode */
    int tombstones;            /* 0 row, 1 skip */
    int framing;               /* 0 unset, 1 confluent, 2 none */
    const char *schema_file;   /* Avro reader schema; without framing the writer's too */
    const char *schema;        /* Spark DDL for JSON paths that no column types */
    const char *registry_urls; /* schema.registry.url, a list by comma */
    const char *basic_auth_source;
    const char *basic_auth_user_info;
    const char *bearer_token;
    const char *registry_ca;   /* schema.registry.ssl.ca.location */
    bool json_nonnumeric;      /* allowNonNumericNumbers */
    int json_timestamp_unit;   /* of integers: 0 seconds, 1 ms, 2 µs */
    bool case_sensitive;       /* JSON keys and Avro fields against column names */
    int64_t registry_retry_us; /* longest wait between tries during an outage */
};

extern const struct cv_option_table cv_value_option_table;

struct cv_select;

struct cv_decoder_config {
    const struct cv_value_options *options;
    const char *select;            /* NULL = the default */
    const struct cv_select *items; /* instead of the text: parsed already; outlives the decoder */
    const struct cv_schema *table; /* outlives the decoder */
    bool ignore_unknown;           /* sink.ignore-unknown */
    bool include_headers;
    const char *const *topics; /* for the registry subjects at start; may be NULL */
    size_t topic_count;
    void (*warn)(void *context, const char *message); /* from any thread */
    void *warn_context;
    bool (*cancelled)(void *context); /* ends waiting for a registry; may be NULL */
    void *cancel_context;
};

struct cv_decoder;

/* Compiles; checks the select and the assignment to the columns as far as schemas are known (all
 * problems in one message); with a registry the latest schema of <topic>-value is looked at. */
enum cv_code cv_decoder_open(const struct cv_decoder_config *config,
                             struct cv_decoder **ret_decoder, struct cv_error *err);
void cv_decoder_free(struct cv_decoder *decoder);
CV_DEFINE_CLEANUP(struct cv_decoder *, cv_decoder_free)

/* The columns that a query over the records sees: Kafka's (headers with include_headers), `value`
 * as a struct where the format has fields: by the reader's Avro schema, else the latest of the
 * topics' subjects, or by `schema` for JSON. *ret_open: JSON without it, where every path is there
 * as text. Of the config, select and table are not looked at. The result lives in the arena. */
struct cv_schema;
enum cv_code cv_decoder_stream_schema(const struct cv_decoder_config *config,
                                      struct cv_arena *arena, struct cv_schema *ret_schema,
                                      bool *ret_open, struct cv_error *err);

/* "value.order_id → order_id string" lines for `calve check`; in the arena. */
const char *cv_decoder_describe(const struct cv_decoder *decoder, struct cv_arena *arena);

struct cv_decode_worker;
struct cv_decode_worker *cv_decode_worker_new(struct cv_decoder *decoder);
void cv_decode_worker_free(struct cv_decode_worker *worker);

/* Decodes a chunk. The batch is a view of the worker's builders, valid until its next call. Bad
 * records are added to the worker's list (cleared at the start). FAILFAST: CV_RECORD on the first
 * one, message "topic orders[3]@1042: field ts: …". A registry outage is waited out inside. */
enum cv_code cv_decode_worker_run(struct cv_decode_worker *worker, const struct cv_chunk *chunk,
                                  struct cv_batch *ret_batch, struct cv_error *err);
/* The same behind the rows of before: the batch has those of all chunks since
 * cv_decode_worker_run() or _clear(), and so has the list of bad records. */
enum cv_code cv_decode_worker_add(struct cv_decode_worker *worker, const struct cv_chunk *chunk,
                                  struct cv_batch *ret_batch, struct cv_error *err);
void cv_decode_worker_clear(struct cv_decode_worker *worker);
const struct cv_bad_list *cv_decode_worker_bad(const struct cv_decode_worker *worker);

struct cv_decode_counters {
    uint64_t rows;
    uint64_t bad;        /* records that were not decoded */
    uint64_t dropped;    /* of them, without a row */
    uint64_t tombstones; /* skipped */
};
void cv_decode_worker_counters(const struct cv_decode_worker *worker,
                               struct cv_decode_counters *ret_counters); /* since it was made */

#endif
