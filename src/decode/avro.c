/* SPDX-License-Identifier: Apache-2.0
 *
 * Value format `avro`. Each writer schema is compiled once into a plan that all workers share; a
 * worker remembers the plans of the ids that it met, so that no record takes the lock. */
#include "decode/avro.h"

#include "base/file.h"
#include "base/time.h"
#include "decode/assign.h"
#include "decode/framing.h"

#include <stdio.h>
#include <stdlib.h>

#define SCHEMA_FILE_BYTES_MAX ((size_t)16 << 20)
#define UNKNOWN_ID_US         (10 * CV_US_PER_SECOND) /* until an id is asked for again */
#define REMEMBERED            16                      /* ids per worker; a power of two */

struct unknown_id {
    int64_t until_us;
    const char *reason;
};

struct avro_worker {
    struct {
        const struct cv_writer_schema *schema; /* NULL = empty slot */
        uint32_t id;
    } remembered[REMEMBERED];
};

static enum cv_code make_targets(struct cv_decoder *d, struct cv_avro_format *f,
                                 struct cv_buf *problems)
{
    f->targets = cv_arena_array(&d->arena, struct cv_avro_target, d->column_count);
    for (size_t i = 0; i < d->column_count; i++) {
        const struct cv_feed *feed = &d->feeds[i];

        if (feed->kind != CV_FEED_VALUE)
            continue;
        if (feed->path_length == 0) {
            cv_problem(problems,
                       "%s: the value as a whole is not supported yet in format avro; "
                       "name its fields (value.a)",
                       feed->text);
            continue;
        }
        f->targets[f->target_count++] = (struct cv_avro_target){
            .path = feed->path,
            .path_length = feed->path_length,
            .column = i,
            .cast = (enum cv_avro_cast)feed->cast,
            .cast_type = feed->cast_type,
        };
    }
    return CV_OK;
}

enum cv_code cv_avro_read_schema_file(const char *path, struct cv_avro_schema **ret_schema,
                                      struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(SCHEMA_FILE_BYTES_MAX);
    struct cv_str span;

    CV_TRY(cv_file_read(path, SCHEMA_FILE_BYTES_MAX, &text, err), err, "value.schema.file");
    span = (struct cv_str){(const char *)text.data, text.length};
    CV_TRY(cv_avro_schema_parse(span, NULL, 0, ret_schema, err), err, "value.schema.file %s", path);
    return CV_OK;
}

/* Compiles the plan of a writer schema, which passes to the result. What does not fit becomes the
 * reason. */
static struct cv_writer_schema *add_writer(struct cv_decoder *d, struct cv_avro_format *f,
                                           struct cv_avro_schema *schema, bool is_reader)
{
    struct cv_writer_schema *writer = cv_alloc(sizeof *writer);
    struct cv_error err = CV_ERROR_INIT;
    const struct cv_avro_type *reader = f->reader && !is_reader ? f->reader->root : NULL;

    writer->schema = is_reader ? NULL : schema;
    writer->next = f->all;
    f->all = writer;
    if (cv_avro_plan_compile(schema->root, reader, d->config.table, f->targets, f->target_count,
                             d->config.options->case_sensitive, &writer->plan, &err) != CV_OK)
        writer->reason = cv_arena_strdup(&f->arena, err.message);
    return writer;
}

struct known {
    const struct cv_decoder *decoder;
    struct cv_avro_format *format;
    struct cv_buf *problems;
    const char *origin;
};

static void refuse_field(void *context, const char *path)
{
    struct known *known = context;

    if (cv_map_has(&known->format->warned, path, strlen(path)))
        return;
    (void)cv_map_set(&known->format->warned, path, strlen(path), known);
    if (!known->decoder->config.ignore_unknown)
        cv_problem(known->problems, "%s: field %s has no column", known->origin, path);
}

static const char *field_name(const void *context, size_t i)
{
    const struct cv_avro_type *record = context;

    return record->fields[i].name;
}

static void tell_missing(const struct cv_feed *feed, const struct cv_avro_type *root,
                         const char *origin, struct cv_buf *problems)
{
    const char *nearest = NULL;
    char place[64] = "";

    if (feed->line)
        (void)snprintf(place, sizeof place, "select line %d column %d: ", feed->line,
                       feed->column_number);
    if (feed->path_length == 1 && root->kind == CV_AVRO_RECORD)
        nearest = cv_nearest_name(feed->path[0], field_name, root, root->field_count);
    cv_problem(problems, "%s%s: there is no field %s%s%s", place, origin, feed->text,
               nearest ? "; nearest: value." : "", nearest ? nearest : "");
}

/* Holds a schema that is known before the first record against the table. */
static void check_known(struct cv_decoder *d, struct cv_avro_format *f,
                        const struct cv_avro_type *root, const char *origin,
                        const char *compile_reason, struct cv_buf *problems)
{
    struct known known = {d, f, problems, origin};

    const char *cycle = d->config.ignore_unknown ? NULL : cv_avro_fed_cycle(d, root, &d->arena);

    if (compile_reason)
        cv_problem(problems, "%s: %s", origin, compile_reason);
    else if (cycle)
        cv_problem(problems, "%s: the schema is recursive (%s) and a column is not", origin, cycle);
    cv_avro_unknown_fields(d, root, refuse_field, &known);
    for (size_t i = 0; i < d->column_count; i++) {
        const struct cv_feed *feed = &d->feeds[i];

        if (feed->kind == CV_FEED_VALUE && !feed->star && !cv_avro_has_path(d, root, feed))
            tell_missing(feed, root, origin, problems);
    }
}

static struct cv_writer_schema *remember(struct cv_decoder *d, struct cv_avro_format *f,
                                         uint32_t id, struct cv_avro_schema *schema)
{
    struct cv_writer_schema *writer = add_writer(d, f, schema, false);

    (void)cv_map_set(&f->schemas, &id, sizeof id, writer);
    return writer;
}

/* The latest schema of each topic's subject, when there is one already. */
static enum cv_code check_subjects(struct cv_decoder *d, struct cv_avro_format *f,
                                   struct cv_buf *problems, struct cv_error *err)
{
    for (size_t i = 0; i < d->config.topic_count; i++) {
        char *subject = cv_arena_printf(&d->arena, "%s-value", d->config.topics[i]);
        struct cv_avro_schema *schema = NULL;
        struct cv_writer_schema *writer;
        struct cv_error reason = CV_ERROR_INIT;
        uint32_t id;
        enum cv_code code = cv_registry_latest(f->registry, subject, &schema, &id, &reason);

        if (code == CV_NOT_FOUND)
            continue;
        if (code == CV_SCHEMA) {
            cv_problem(problems, "%s", reason.message);
            continue;
        }
        if (code != CV_OK) {
            *err = reason;
            return code;
        }
        /* Registries give every schema an id; one that is left out is met with the first record. */
        writer = id == 0 || cv_map_has(&f->schemas, &id, sizeof id)
                     ? add_writer(d, f, schema, false)
                     : remember(d, f, id, schema);
        if (f->reader && writer->reason)
            cv_problem(problems, "schema %s: %s", subject, writer->reason);
        else if (!f->reader)
            check_known(d, f, schema->root, cv_arena_printf(&d->arena, "schema %s", subject),
                        writer->reason, problems);
    }
    return CV_OK;
}

static enum cv_code open_schemas(struct cv_decoder *d, struct cv_avro_format *f,
                                 struct cv_buf *problems, struct cv_error *err)
{
    const struct cv_value_options *o = d->config.options;
    bool from_registry;

    f->confluent = cv_framing_confluent(o);
    from_registry = f->confluent && o->registry_urls;
    if (o->schema_file)
        CV_DO(cv_avro_read_schema_file(o->schema_file, &f->reader, err));
    else if (!from_registry)
        return cv_fail(err, CV_CONFIG,
                       f->confluent || !o->registry_urls
                           ? "value.format avro needs value.schema.registry.url or "
                             "value.schema.file"
                           : "value.format avro with value.framing none needs "
                             "value.schema.file");
    if (!from_registry) {
        f->only = add_writer(d, f, f->reader, true);
        check_known(d, f, f->reader->root, "value.schema.file", f->only->reason, problems);
        return CV_OK;
    }
    CV_DO(cv_registry_open(&d->config, &f->registry, err));
    if (f->reader) {
        const char *reason = add_writer(d, f, f->reader, true)->reason;

        check_known(d, f, f->reader->root, "value.schema.file", reason, problems);
    }
    return check_subjects(d, f, problems, err);
}

static enum cv_code avro_compile(struct cv_decoder *d, struct cv_buf *problems,
                                 struct cv_error *err)
{
    struct cv_avro_format *f = cv_alloc(sizeof *f);

    d->compiled = f;
    (void)pthread_mutex_init(&f->lock, NULL);
    CV_DO(make_targets(d, f, problems));
    /* A select that does not fit is told before anything outside is asked. */
    if (problems->length > 0)
        return CV_OK;
    return open_schemas(d, f, problems, err);
}

static void avro_release(struct cv_decoder *d)
{
    struct cv_avro_format *f = d->compiled;
    size_t position = 0;
    const struct cv_map_slot *slot;

    if (!f)
        return;
    while (f->all) {
        struct cv_writer_schema *writer = f->all;

        f->all = writer->next;
        cv_avro_plan_free(writer->plan);
        if (writer->schema)
            cv_avro_schema_free(writer->schema);
        free(writer);
    }
    while ((slot = cv_map_next(&f->unknown, &position)))
        free(slot->value);
    cv_map_release(&f->schemas);
    cv_map_release(&f->unknown);
    cv_map_release(&f->warned);
    cv_registry_free(f->registry);
    if (f->reader)
        cv_avro_schema_free(f->reader);
    cv_arena_release(&f->arena);
    (void)pthread_mutex_destroy(&f->lock);
    free(f);
}

static void warn_field(void *context, const char *path)
{
    struct known *known = context;
    const struct cv_decoder_config *config = &known->decoder->config;
    char message[512];

    if (cv_map_has(&known->format->warned, path, strlen(path)))
        return;
    (void)cv_map_set(&known->format->warned, path, strlen(path), known->format);
    if (!config->warn || config->ignore_unknown)
        return;
    (void)snprintf(message, sizeof message,
                   "%s: field %s has no column in the table and is ignored from now on",
                   known->origin, path);
    config->warn(config->warn_context, message);
}

/* Asks the registry for an id and compiles it. Under the lock. CV_NOT_FOUND: bad for now. */
static enum cv_code load_schema(struct cv_decoder *d, struct cv_avro_format *f, uint32_t id,
                                const struct cv_writer_schema **ret_writer, struct cv_error *err)
{
    char origin[32];
    struct known known = {d, f, NULL, origin};
    struct cv_avro_schema *schema = NULL;
    struct cv_writer_schema *writer;
    enum cv_code code;

    if (f->schemas.count >= CV_WRITER_SCHEMAS_MAX)
        return cv_fail(err, CV_LIMIT, "more than %d writer schemas in one job",
                       CV_WRITER_SCHEMAS_MAX);
    code = cv_registry_schema_by_id(f->registry, id, &schema, err);
    if (code == CV_SCHEMA) {
        writer = cv_alloc(sizeof *writer);
        writer->reason = cv_arena_strdup(&f->arena, err->message);
        writer->next = f->all;
        f->all = writer;
        (void)cv_map_set(&f->schemas, &id, sizeof id, writer);
        *ret_writer = writer;
        return CV_OK;
    }
    CV_DO(code);
    writer = remember(d, f, id, schema);
    if (writer->reason)
        writer->reason = cv_arena_printf(&f->arena, "schema id %u: %s", id, writer->reason);
    (void)snprintf(origin, sizeof origin, "schema id %u", id);
    if (!f->reader)
        cv_avro_unknown_fields(d, schema->root, warn_field, &known);
    *ret_writer = writer;
    return CV_OK;
}

static void note_unknown(struct cv_avro_format *f, uint32_t id, const char *reason)
{
    struct unknown_id *unknown = cv_map_get(&f->unknown, &id, sizeof id);

    if (!unknown) {
        if (f->unknown.count >= CV_WRITER_SCHEMAS_MAX)
            return; /* garbage with changing ids: each is asked for, none remembered */
        unknown = cv_alloc(sizeof *unknown);
        (void)cv_map_set(&f->unknown, &id, sizeof id, unknown);
    }
    if (!unknown->reason)
        unknown->reason = cv_arena_strdup(&f->arena, reason);
    unknown->until_us = cv_monotonic_us() + UNKNOWN_ID_US;
}

static enum cv_decode_result find_locked(struct cv_decode_worker *worker, uint32_t id,
                                         const struct cv_writer_schema **ret_writer,
                                         struct cv_error *err)
{
    struct cv_decoder *d = worker->decoder;
    struct cv_avro_format *f = d->compiled;
    const struct unknown_id *unknown = cv_map_get(&f->unknown, &id, sizeof id);
    struct cv_error reason = CV_ERROR_INIT;
    enum cv_code code;

    *ret_writer = cv_map_get(&f->schemas, &id, sizeof id);
    if (*ret_writer)
        return CV_DECODED;
    if (unknown && cv_monotonic_us() < unknown->until_us) {
        cv_decode_fault_set(worker, "", "%s", unknown->reason);
        return CV_BAD;
    }
    code = load_schema(d, f, id, ret_writer, &reason);
    if (code == CV_OK)
        return CV_DECODED;
    if (code != CV_NOT_FOUND) {
        *err = reason;
        return CV_STOPPED;
    }
    note_unknown(f, id, reason.message);
    cv_decode_fault_set(worker, "", "%s", reason.message);
    return CV_BAD;
}

static enum cv_decode_result find_writer(struct cv_decode_worker *worker, uint32_t id,
                                         const struct cv_writer_schema **ret_writer,
                                         struct cv_error *err)
{
    struct avro_worker *state = worker->state;
    struct cv_avro_format *f = worker->decoder->compiled;
    enum cv_decode_result result;

    if (state->remembered[id % REMEMBERED].schema && state->remembered[id % REMEMBERED].id == id) {
        *ret_writer = state->remembered[id % REMEMBERED].schema;
        return CV_DECODED;
    }
    (void)pthread_mutex_lock(&f->lock);
    result = find_locked(worker, id, ret_writer, err);
    (void)pthread_mutex_unlock(&f->lock);
    if (result == CV_DECODED) {
        state->remembered[id % REMEMBERED].schema = *ret_writer;
        state->remembered[id % REMEMBERED].id = id;
    }
    return result;
}

static enum cv_decode_result avro_decode(struct cv_decode_worker *worker,
                                         const struct cv_record *record, struct cv_error *err)
{
    const struct cv_avro_format *f = worker->decoder->compiled;
    const uint8_t *bytes = record->value;
    size_t length = record->value_length;
    const struct cv_writer_schema *writer = f->only;
    struct cv_avro_fault fault;
    uint32_t id;
    bool null;

    if (f->confluent) {
        if (!cv_framing_split(bytes, length, &id)) {
            cv_framing_fault(worker, bytes, length);
            return CV_BAD;
        }
        bytes += CV_FRAMING_BYTES;
        length -= CV_FRAMING_BYTES;
        if (!writer) {
            enum cv_decode_result result = find_writer(worker, id, &writer, err);

            if (result != CV_DECODED)
                return result;
        }
    }
    if (!writer->plan) {
        cv_decode_fault_set(worker, "", "%s", writer->reason);
        return CV_BAD;
    }
    if (!cv_avro_plan_run(writer->plan, bytes, length, &worker->builder, &null, &fault)) {
        cv_decode_fault_set(worker, fault.field, "%s", fault.reason);
        return CV_BAD;
    }
    return CV_DECODED;
}

static void avro_worker_init(struct cv_decode_worker *worker)
{
    worker->state = cv_alloc(sizeof(struct avro_worker));
}

static void avro_worker_release(struct cv_decode_worker *worker)
{
    free(worker->state);
}

const struct cv_format_ops cv_format_avro = {
    .name = "avro",
    .has_fields = true,
    .value_fed_by_format = true,
    .key_kind = CV_TYPE_BINARY,
    .value_kind = CV_TYPE_BINARY,
    .compile = avro_compile,
    .release = avro_release,
    .worker_init = avro_worker_init,
    .worker_release = avro_worker_release,
    .decode = avro_decode,
};
