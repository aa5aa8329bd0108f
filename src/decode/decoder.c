/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiles a job's decoder and runs it over chunks: tombstones, the format, the record's own
 * columns, required columns, and what the mode makes of a bad record. */
#include "decode/assign.h"

#include "codec/utf8.h"

#include <stdio.h>
#include <stdlib.h>

#define PROBLEMS_BYTES_MAX ((size_t)64 << 10)

static enum cv_code read_select(struct cv_decoder *d, struct cv_error *err)
{
    const char *format = d->config.options->format ? d->config.options->format : "raw";

    d->format = cv_format_find(format);
    if (!d->format)
        return cv_fail(err, CV_CONFIG, "value.format: there is no format %s; there are %s", format,
                       cv_format_names(&d->arena));
    if (d->config.items) {
        d->select = *d->config.items;
        return CV_OK;
    }
    if (d->config.select)
        return cv_select_parse(d->config.select, &d->arena, &d->select, err);
    cv_select_default(d->format->has_fields, d->config.include_headers, &d->arena, &d->select);
    return CV_OK;
}

static enum cv_code compile(struct cv_decoder *d, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf problems = CV_BUF_INIT(PROBLEMS_BYTES_MAX);

    CV_DO(read_select(d, err));
    cv_assign_columns(d, &problems);
    if (d->format->compile)
        CV_DO(d->format->compile(d, &problems, err));
    if (problems.length > 0) {
        (void)cv_fail(err, CV_SCHEMA, "the records do not fit the table: %s",
                      cv_buf_text(&problems));
        cv_hint(err, "name other columns in the select, alter the table, or set "
                     "sink.ignore-unknown for fields that need no column");
        return CV_SCHEMA;
    }
    return CV_OK;
}

enum cv_code cv_decoder_open(const struct cv_decoder_config *config,
                             struct cv_decoder **ret_decoder, struct cv_error *err)
{
    struct cv_decoder *d = cv_alloc(sizeof *d);
    enum cv_code code;

    d->config = *config;
    code = compile(d, err);
    if (code != CV_OK) {
        cv_decoder_free(d);
        return code;
    }
    *ret_decoder = d;
    return CV_OK;
}

void cv_decoder_free(struct cv_decoder *decoder)
{
    if (!decoder)
        return;
    if (decoder->format && decoder->format->release)
        decoder->format->release(decoder);
    cv_arena_release(&decoder->arena);
    free(decoder);
}

const char *cv_decoder_describe(const struct cv_decoder *decoder, struct cv_arena *arena)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    char type[CV_TYPE_TEXT_BYTES];

    for (size_t i = 0; i < decoder->column_count; i++) {
        const struct cv_feed *feed = &decoder->feeds[i];
        const struct cv_field *column = &decoder->config.table->root.fields[i];

        cv_type_text(&column->type, type);
        cv_buf_printf(&out, "%s → %s %s%s\n", feed->kind == CV_FEED_NONE ? "NULL" : feed->text,
                      column->name, type, column->required ? " (required)" : "");
    }
    return cv_arena_strdup(arena, cv_buf_text(&out));
}

struct cv_decode_worker *cv_decode_worker_new(struct cv_decoder *decoder)
{
    struct cv_decode_worker *worker = cv_alloc(sizeof *worker);

    worker->decoder = decoder;
    cv_batch_builder_init(&worker->builder, decoder->config.table);
    if (decoder->format->worker_init)
        decoder->format->worker_init(worker);
    return worker;
}

void cv_decode_worker_free(struct cv_decode_worker *worker)
{
    if (!worker)
        return;
    if (worker->decoder->format->worker_release)
        worker->decoder->format->worker_release(worker);
    cv_batch_builder_release(&worker->builder);
    cv_bad_list_release(&worker->bad);
    cv_buf_release(&worker->scratch);
    free(worker);
}

/* Bytes of the character at `text`; 0 when it is a control character or none. */
static size_t shown_bytes(const char *text, size_t left)
{
    unsigned char first = (unsigned char)*text;

    if (first < 0x80)
        return first >= 0x20 && first != 0x7f;
    for (size_t count = 2; count <= CV_MIN(left, 4); count++)
        if (cv_utf8_valid(text, count))
            return count;
    return 0;
}

/* Reasons quote the record, whose text is not to steer a terminal, break a line of the log or make
 * it invalid UTF-8 where it was cut. */
static void clean(char *text)
{
    size_t length = strlen(text);

    for (size_t i = 0; i < length;) {
        size_t count = shown_bytes(text + i, length - i);

        if (count == 0)
            text[i] = '?';
        i += CV_MAX(count, 1);
    }
}

void cv_decode_fault_set(struct cv_decode_worker *worker, const char *field, const char *format,
                         ...)
{
    va_list args;

    va_start(args, format);
    worker->fault.field = field;
    (void)vsnprintf(worker->fault.reason, sizeof worker->fault.reason, format, args);
    va_end(args);
    clean(worker->fault.reason);
}

/* The columns that are not the format's. Lenient: what does not convert is NULL. */
static bool append_own_columns(struct cv_decode_worker *worker, const struct cv_record *record,
                               bool lenient)
{
    const struct cv_decoder *d = worker->decoder;

    for (size_t i = 0; i < d->own_count; i++) {
        struct cv_builder *column = &worker->builder.columns[d->own[i]];

        if (d->feeds[d->own[i]].kind == CV_FEED_NONE) {
            cv_builder_null(column);
        } else if (!cv_kafka_column_append(worker, d->own[i], record)) {
            if (!lenient)
                return false;
            cv_builder_null(column);
        }
    }
    return true;
}

/* The name of the first required column whose value is NULL in the last row; NULL = none. */
static const char *missing_column(const struct cv_decode_worker *worker)
{
    const struct cv_decoder *d = worker->decoder;

    for (size_t i = 0; i < d->required_count; i++)
        if (cv_last_is_null(&worker->builder.columns[d->required[i]]))
            return d->config.table->root.fields[d->required[i]].name;
    return NULL;
}

static void append_null_values(struct cv_decode_worker *worker)
{
    const struct cv_decoder *d = worker->decoder;

    for (size_t i = 0; i < d->valued_count; i++)
        cv_builder_null(&worker->builder.columns[d->valued[i]]);
}

static enum cv_decode_result append_row(struct cv_decode_worker *worker,
                                        const struct cv_record *record, struct cv_error *err)
{
    const struct cv_decoder *d = worker->decoder;
    const char *missing;

    if (!record->value || !d->format->decode) {
        append_null_values(worker);
    } else {
        enum cv_decode_result result = d->format->decode(worker, record, err);

        if (result != CV_DECODED)
            return result;
    }
    if (!append_own_columns(worker, record, false))
        return CV_BAD;
    missing = missing_column(worker);
    if (missing) {
        cv_decode_fault_set(worker, missing, "%s",
                            record->value ? "NULL for a required column"
                                          : "a tombstone for a required column");
        return CV_BAD;
    }
    return CV_DECODED;
}

static enum cv_code fail_record(const struct cv_decode_worker *worker,
                                const struct cv_record *record, struct cv_error *err)
{
    const struct cv_decode_fault *fault = &worker->fault;
    bool field = fault->field && fault->field[0];

    (void)cv_fail(err, CV_RECORD, "topic %s[%d]@%lld: %s%s%s%s", record->source->topic,
                  record->source->partition, (long long)record->offset, field ? "field " : "",
                  field ? fault->field : "", field ? ": " : "", fault->reason);
    cv_hint(err,
            "value.mode PERMISSIVE or DROPMALFORMED goes on past such records and counts them");
    return CV_RECORD;
}

/* A record that was not decoded, by the mode. The builder stands at the row's start. */
static enum cv_code handle_bad(struct cv_decode_worker *worker, const struct cv_record *record,
                               size_t row, struct cv_error *err)
{
    int mode = worker->decoder->config.options->mode;

    worker->counters.bad++;
    cv_bad_list_add(&worker->bad, record, worker->fault.field ? worker->fault.field : "", "%s",
                    worker->fault.reason);
    if (mode == CV_MODE_FAILFAST)
        return fail_record(worker, record, err);
    if (mode == CV_MODE_PERMISSIVE) {
        append_null_values(worker);
        (void)append_own_columns(worker, record, true);
        if (!missing_column(worker))
            return CV_OK;
        cv_batch_builder_truncate(&worker->builder, row);
    }
    worker->counters.dropped++;
    return CV_OK;
}

static enum cv_code run_records(struct cv_decode_worker *worker, const struct cv_chunk *chunk,
                                size_t *ret_rows, struct cv_error *err)
{
    const struct cv_decoder *d = worker->decoder;
    bool skip_tombstones = d->config.options->tombstones == 1;
    size_t start = *ret_rows;
    size_t rows = start;

    for (size_t i = 0; i < chunk->count; i++) {
        const struct cv_record *record = &chunk->records[i];
        enum cv_decode_result result;

        if (!record->value && skip_tombstones) {
            worker->counters.tombstones++;
            continue;
        }
        worker->row = rows;
        result = append_row(worker, record, err);
        if (result == CV_STOPPED)
            return err->code ? err->code : CV_INTERNAL;
        if (result == CV_BAD) {
            cv_batch_builder_truncate(&worker->builder, rows);
            CV_DO(handle_bad(worker, record, rows, err));
        }
        rows = d->column_count ? worker->builder.columns[0].length : rows + (result == CV_DECODED);
    }
    *ret_rows = rows;
    return CV_OK;
}

void cv_decode_worker_clear(struct cv_decode_worker *worker)
{
    cv_bad_list_clear(&worker->bad);
    cv_batch_builder_clear(&worker->builder);
}

enum cv_code cv_decode_worker_run(struct cv_decode_worker *worker, const struct cv_chunk *chunk,
                                  struct cv_batch *ret_batch, struct cv_error *err)
{
    cv_decode_worker_clear(worker);
    return cv_decode_worker_add(worker, chunk, ret_batch, err);
}

enum cv_code cv_decode_worker_add(struct cv_decode_worker *worker, const struct cv_chunk *chunk,
                                  struct cv_batch *ret_batch, struct cv_error *err)
{
    size_t before = worker->decoder->column_count ? worker->builder.columns[0].length : 0;
    size_t rows = before;

    CV_DO(run_records(worker, chunk, &rows, err));
    if (cv_batch_builder_overflow(&worker->builder))
        return cv_fail(err, CV_LIMIT, "one chunk of records gives a column more than %zu bytes",
                       CV_COLUMN_BYTES_MAX);
    worker->counters.rows += rows - before;
    cv_batch_builder_view(&worker->builder, ret_batch);
    return CV_OK;
}

const struct cv_bad_list *cv_decode_worker_bad(const struct cv_decode_worker *worker)
{
    return &worker->bad;
}

void cv_decode_worker_counters(const struct cv_decode_worker *worker,
                               struct cv_decode_counters *ret_counters)
{
    *ret_counters = worker->counters;
}
