/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading of jobs. */
#include "stream/job.h"

#include "data/spill.h"

#include <stddef.h>
#include <stdio.h>
#include <strings.h>

#define JOB(field)  offsetof(struct cv_job_options, field)
#define SINK(field) offsetof(struct cv_sink_options, field)
#define MARK(field) offsetof(struct cv_watermark_options, field)

static const struct cv_option job_options[] = {
    {"job", CV_OPTION_TEXT, JOB(job), NULL, NULL,
     "Name of the job: in the table's position, in messages and in the lag group.", 0, 0,
     CV_OPTION_REQUIRED},
    {"select", CV_OPTION_TEXT, JOB(select), NULL, NULL,
     "Which parts of a record go to which columns, as SQL items; default value.*, or Kafka's "
     "columns "
     "for raw.",
     0, 0, 0},
    {"where", CV_OPTION_TEXT, JOB(where), NULL, NULL,
     "SQL condition: records for which it is not true give no row.", 0, 0, 0},
    {"sql", CV_OPTION_TEXT, JOB(sql), NULL, NULL,
     "A whole query over the view stream, in the place of select and where.", 0, 0, 0},
    {"distinct", CV_OPTION_TEXT, JOB(distinct), NULL, NULL,
     "Columns by comma: of rows with equal values there only the first goes to the table, as long "
     "as the watermark remembers it (dropDuplicatesWithinWatermark).",
     0, 0, 0},
    {"duckdb-library", CV_OPTION_TEXT, JOB(duckdb_library), NULL, NULL,
     "Path of libduckdb.so, for jobs with SQL beyond plain items; default $CALVE_DUCKDB, the one "
     "of "
     "make deps-sql, then the system's.",
     0, 0, 0},
    {"memory", CV_OPTION_BYTES, JOB(memory_bytes), "256 MiB", NULL,
     "Budget of the process for fetched records, columns and open files.", 64 << 20, 0, 0},
    {"threads", CV_OPTION_INTEGER, JOB(threads), "0", NULL,
     "Workers that decode and write; 0 means one per core.", 0, CV_THREADS_MAX, 0},
    {"spill-directory", CV_OPTION_TEXT, JOB(spill_directory), NULL, NULL,
     "Folder for rows that exceed the budget; default <checkpointLocation>/spill, for a checkpoint "
     "on S3 calve-spill-<job> in $TMPDIR or /tmp.",
     0, 0, 0},
    {"lag-group", CV_OPTION_TEXT, JOB(lag_group), NULL, NULL,
     "Consumer group that shows the position to lag tools, never read back; default calve.<job>, "
     "none turns it off.",
     0, 0, 0},
};

const struct cv_option_table cv_job_option_table = {"", "the top level of a job file", job_options,
                                                    CV_ARRAY_LENGTH(job_options)};

static const struct cv_option watermark_options[] = {
    {"column", CV_OPTION_TEXT, MARK(column), NULL, NULL,
     "Event time of a record: a timestamp field such as value.ts, or an expression of one.", 0, 0,
     0},
    {"delay", CV_OPTION_DURATION, MARK(delay_us), "0 seconds", NULL,
     "How far behind the newest event time a record may come and still be counted for certain.", 0,
     0, 0},
};

const struct cv_option_table cv_watermark_option_table = {
    "watermark", "when windows close and how late a record may come", watermark_options,
    CV_ARRAY_LENGTH(watermark_options)};

static const struct cv_option sink_options[] = {
    {"table", CV_OPTION_TEXT, SINK(table), NULL, NULL,
     "catalog.namespace.table, with .branch_<name> at the end to write to a branch.", 0, 0,
     CV_OPTION_REQUIRED},
    {"outputMode", CV_OPTION_TEXT, SINK(output_mode), "append", NULL,
     "append adds the rows of each batch; complete puts the whole result of an aggregation in the "
     "place of all that the table has.",
     0, 0, 0},
    {"trigger", CV_OPTION_TEXT, SINK(trigger), NULL, NULL,
     "An interval (\"1 minute\"), availableNow or once; absent: the next batch at once.", 0, 0, 0},
    {"checkpointLocation", CV_OPTION_TEXT, SINK(checkpoint), NULL, NULL,
     "Folder of the offset and commit logs, in Spark's bytes: a local one, or s3://… by the s3.* "
     "properties of the table's catalog.",
     0, 0, CV_OPTION_REQUIRED},
    {"fanout-enabled", CV_OPTION_BOOL, SINK(fanout), "true", NULL,
     "One open file per table partition; false orders the rows of a batch by partition first.", 0,
     0, 0},
    {"ignore-unknown", CV_OPTION_BOOL, SINK(ignore_unknown), "false", NULL,
     "Take Avro fields that have no column as fields to leave out.", 0, 0, 0},
    {"target-file-size-bytes", CV_OPTION_BYTES, SINK(target_file_bytes), NULL, NULL,
     "Size at which a file is closed and the next one begun; default the table's property.", 1024,
     0, 0},
    {"compression-codec", CV_OPTION_TEXT, SINK(codec), NULL, NULL,
     "zstd, snappy, gzip, lz4_raw or none; default the table's property.", 0, 0, 0},
    {"compression-level", CV_OPTION_TEXT, SINK(codec_level), NULL, NULL,
     "Level of the codec; default the table's property, else calve's choice.", 0, 0, 0},
    {"delta-encoding", CV_OPTION_BOOL, SINK(delta_encoding), "false", NULL,
     "DELTA encodings where a dictionary does not pay: smaller files, not read by the vectorized "
     "readers of older Iceberg releases.",
     0, 0, 0},
    {"snapshot-property.", CV_OPTION_PREFIX, SINK(snapshot_properties), NULL, NULL,
     "Further entries of every snapshot's summary.", 0, 0, 0},
    {"distribution-mode", CV_OPTION_ACCEPTED, 0, NULL, NULL,
     "Accepted: calve always writes one file per table partition and batch.", 0, 0, 0},
    {"check-nullability", CV_OPTION_ACCEPTED, 0, NULL, NULL, "Accepted: always checked.", 0, 0, 0},
    {"check-ordering", CV_OPTION_ACCEPTED, 0, NULL, NULL, "Accepted: order is free.", 0, 0, 0},
    {"queryName", CV_OPTION_ACCEPTED, 0, NULL, NULL, "Accepted: the job's name is used.", 0, 0, 0},
    {"path", CV_OPTION_TEXT, 0, NULL, NULL, "name the table with sink.table", 0, 0,
     CV_OPTION_REFUSED},
    {"merge-schema", CV_OPTION_TEXT, 0, NULL, NULL,
     "schema evolution is not there yet; add the columns to the table first", 0, 0,
     CV_OPTION_REFUSED},
    {"mergeSchema", CV_OPTION_TEXT, 0, NULL, NULL,
     "schema evolution is not there yet; add the columns to the table first", 0, 0,
     CV_OPTION_REFUSED},
};

const struct cv_option_table cv_sink_option_table = {
    "sink", "where the rows go: the names of Iceberg's Spark sink", sink_options,
    CV_ARRAY_LENGTH(sink_options)};

void cv_job_release(struct cv_job *job)
{
    cv_properties_release(&job->source.kafka);
    cv_properties_release(&job->sink.snapshot_properties);
    cv_job_file_release(&job->file);
}

static enum cv_code set_entry(struct cv_job *job, const struct cv_job_entry *entry,
                              struct cv_error *err)
{
    struct cv_arena *arena = &job->file.arena;

    if (strcmp(entry->section, "source") == 0)
        return cv_options_set(&cv_source_option_table, &job->source, arena, entry->key,
                              entry->value, err);
    if (strcmp(entry->section, "value") == 0)
        return cv_options_set(&cv_value_option_table, &job->value, arena, entry->key, entry->value,
                              err);
    if (strcmp(entry->section, "watermark") == 0)
        return cv_options_set(&cv_watermark_option_table, &job->watermark, arena, entry->key,
                              entry->value, err);
    if (strcmp(entry->section, "sink") == 0)
        return cv_options_set(&cv_sink_option_table, &job->sink, arena, entry->key, entry->value,
                              err);
    if (strcmp(entry->section, "") == 0)
        return cv_options_set(&cv_job_option_table, &job->options, arena, entry->key, entry->value,
                              err);
    if (cv_text_starts_with(entry->section, "catalogs."))
        return CV_OK;
    if (strcmp(entry->section, "maintenance") == 0)
        return CV_OK; /* read by maintain/schedule.c */
    if (cv_text_starts_with(entry->section, "tables."))
        return CV_OK; /* read by static_tables.c */
    return cv_fail(err, CV_CONFIG, "there is no section %s", entry->section);
}

static enum cv_code read_sections(struct cv_job *job, struct cv_error *err)
{
    struct cv_arena *arena = &job->file.arena;

    CV_DO(cv_options_defaults(&cv_job_option_table, &job->options, arena, err));
    CV_DO(cv_options_defaults(&cv_source_option_table, &job->source, arena, err));
    CV_DO(cv_options_defaults(&cv_value_option_table, &job->value, arena, err));
    CV_DO(cv_options_defaults(&cv_watermark_option_table, &job->watermark, arena, err));
    CV_DO(cv_options_defaults(&cv_sink_option_table, &job->sink, arena, err));
    for (size_t i = 0; i < job->file.count; i++) {
        const struct cv_job_entry *entry = &job->file.entries[i];
        enum cv_code code = set_entry(job, entry, err);

        if (code != CV_OK && entry->line)
            cv_context(err, "%s line %d", job->file.path, entry->line);
        CV_DO(code);
    }
    CV_TRY(cv_options_check_required(&cv_job_option_table, &job->options, err), err, "%s",
           job->file.path);
    CV_TRY(cv_options_check_required(&cv_source_option_table, &job->source, err), err, "%s",
           job->file.path);
    CV_TRY(cv_options_check_required(&cv_value_option_table, &job->value, err), err, "%s",
           job->file.path);
    CV_TRY(cv_options_check_required(&cv_sink_option_table, &job->sink, err), err, "%s",
           job->file.path);
    return CV_OK;
}

static enum cv_code read_output_mode(const char *mode, bool *ret_complete, struct cv_error *err)
{
    *ret_complete = cv_text_equal_nocase(mode, "complete");
    if (*ret_complete || cv_text_equal_nocase(mode, "append"))
        return CV_OK;
    if (cv_text_equal_nocase(mode, "update"))
        (void)cv_fail(err, CV_UNSUPPORTED,
                      "sink.outputMode update: Iceberg tables do not support Update mode");
    else
        (void)cv_fail(err, CV_CONFIG, "sink.outputMode \"%.50s\" is not known", mode);
    cv_hint(err, "write append, or complete for a query with an aggregation");
    return err ? err->code : CV_CONFIG;
}

/* What goes together, as far as that can be said without looking into the SQL. */
static enum cv_code check_query(const struct cv_job *job, struct cv_error *err)
{
    const struct cv_job_options *o = &job->options;

    if (o->sql && (o->select || o->where))
        return cv_fail(err, CV_CONFIG, "sql is a whole query: write %s into it",
                       o->select ? "the items of select" : "the condition of where");
    if (job->complete && !o->sql && !o->select) {
        (void)cv_fail(err, CV_CONFIG, "sink.outputMode complete needs an aggregation");
        cv_hint(err, "write it as sql: SELECT …, count(*) FROM stream GROUP BY …");
        return CV_CONFIG;
    }
    if (o->distinct && !job->watermark.column) {
        (void)cv_fail(err, CV_CONFIG,
                      "distinct needs a watermark, else every key would be remembered for ever");
        cv_hint(err, "add watermark: {column: timestamp, delay: 1 hour}");
        return CV_CONFIG;
    }
    return CV_OK;
}

/* A job's name is part of summary keys and of a group's name. */
static enum cv_code check_name(const char *name, struct cv_error *err)
{
    size_t length = strlen(name);
    bool good = length > 0 && length <= 100;

    for (size_t i = 0; good && i < length; i++)
        good = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-",
                      name[i]) != NULL;
    if (good)
        return CV_OK;
    return cv_fail(err, CV_CONFIG,
                   "job \"%.100s\": a name has 1 to 100 letters, digits, '.', '_' or '-'", name);
}

/* Rows that exceed the budget go to a local disk, wherever the checkpoint is. */
static void resolve_spill_directory(struct cv_job *job)
{
    struct cv_arena *arena = &job->file.arena;

    if (!job->options.spill_directory && job->checkpoint_stored)
        job->options.spill_directory =
            cv_arena_printf(arena, "%s/calve-spill-%s", cv_spill_folder(NULL), job->options.job);
    else if (!job->options.spill_directory)
        job->options.spill_directory = cv_arena_printf(arena, "%s/spill", job->checkpoint);
    job->options.spill_directory =
        cv_path_resolve(job->file.folder, job->options.spill_directory, arena);
}

static bool is_stored(const char *location)
{
    return cv_text_starts_with(location, "s3://") || cv_text_starts_with(location, "s3a://") ||
           cv_text_starts_with(location, "s3n://");
}

static enum cv_code resolve_checkpoint(struct cv_job *job, struct cv_error *err)
{
    char path[CV_PATH_BYTES_MAX];
    const char *location = job->sink.checkpoint;
    size_t length = strlen(location);

    if (length >= CV_PATH_BYTES_MAX / 2)
        return cv_fail(err, CV_CONFIG, "sink.checkpointLocation is too long");
    job->checkpoint_stored = is_stored(location);
    if (job->checkpoint_stored) {
        while (location[length - 1] == '/')
            length--;
        job->checkpoint = cv_arena_strndup(&job->file.arena, location, length);
    } else if (strstr(location, ":/") && !cv_location_local_path(location, path)) {
        return cv_fail(err, CV_UNSUPPORTED,
                       "sink.checkpointLocation %s: a checkpoint is a local folder or lies on S3",
                       location);
    } else {
        if (!strstr(location, ":/"))
            (void)snprintf(path, sizeof path, "%s", location);
        job->checkpoint = cv_path_resolve(job->file.folder, path, &job->file.arena);
    }
    resolve_spill_directory(job);
    return CV_OK;
}

enum cv_code cv_job_open_checkpoint(const struct cv_job *job, struct cv_catalog *catalog,
                                    bool read_only, struct cv_checkpoint *ret_checkpoint,
                                    struct cv_error *err)
{
    struct cv_store *store = NULL;

    if (!job->checkpoint_stored)
        return cv_checkpoint_open(job->checkpoint, read_only, ret_checkpoint, err);
    CV_TRY(cv_catalog_open_store(catalog, job->checkpoint, NULL, NULL, &store, err), err,
           "sink.checkpointLocation");
    return cv_checkpoint_open_stored(store, job->checkpoint, read_only, ret_checkpoint, err);
}

static void resolve_paths(struct cv_job *job)
{
    struct cv_arena *arena = &job->file.arena;
    const char **paths[] = {&job->value.schema_file, &job->value.registry_ca,
                            &job->options.duckdb_library};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(paths); i++)
        if (*paths[i])
            *paths[i] = cv_path_resolve(job->file.folder, *paths[i], arena);
    job->lag_group = job->options.lag_group;
    if (!job->lag_group)
        job->lag_group = cv_arena_printf(arena, "calve.%s", job->options.job);
    else if (cv_text_equal_nocase(job->lag_group, "none"))
        job->lag_group = "";
}

static enum cv_code finish_job(struct cv_job *job, void (*warn)(void *context, const char *message),
                               void *context, struct cv_error *err)
{
    struct cv_properties catalog = {0};
    struct cv_table_name name;
    enum cv_code code;

    CV_DO(read_sections(job, err));
    CV_DO(check_name(job->options.job, err));
    CV_TRY(cv_static_table_options_read(&job->file, &job->file.arena, &job->tables,
                                        &job->table_count, err),
           err, "%s", job->file.path);
    CV_DO(read_output_mode(job->sink.output_mode, &job->complete, err));
    CV_DO(check_query(job, err));
    CV_TRY(cv_trigger_parse(job->sink.trigger, &job->trigger, err), err, "sink.trigger");
    CV_DO(resolve_checkpoint(job, err));
    resolve_paths(job);
    CV_DO(cv_source_options_check(&job->source, warn, context, err));
    CV_TRY(cv_table_name_parse(job->sink.table, &job->file.arena, &name, err), err, "sink.table");
    code = cv_job_catalog_properties(&job->file, name.catalog, &catalog, err);
    cv_properties_release(&catalog);
    return code;
}

enum cv_code cv_job_build(struct cv_job_file *file,
                          void (*warn)(void *context, const char *message), void *context,
                          struct cv_job *ret_job, struct cv_error *err)
{
    struct cv_job job = {.file = *file};
    enum cv_code code;

    *file = (struct cv_job_file){0};
    code = finish_job(&job, warn, context, err);
    if (code != CV_OK) {
        cv_job_release(&job);
        return code;
    }
    *ret_job = job;
    return CV_OK;
}

enum cv_code cv_job_load(const char *path, const char *const *overrides, size_t override_count,
                         void (*warn)(void *context, const char *message), void *context,
                         struct cv_job *ret_job, struct cv_error *err)
{
    CV_CLEANUP(cv_job_file_release) struct cv_job_file file = {0};

    CV_DO(cv_job_file_read(path, &file, err));
    for (size_t i = 0; i < override_count; i++)
        CV_DO(cv_job_file_override(&file, overrides[i], err));
    return cv_job_build(&file, warn, context, ret_job, err);
}

static void resolve_catalog(const struct cv_job_file *file, struct cv_properties *properties)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const char *uri = cv_properties_get(properties, "uri");
    const char *warehouse = cv_properties_get(properties, "warehouse");
    const char *type = cv_properties_get(properties, "type"); /* a rest server has names for them */
    const char *path = uri ? cv_catalog_uri_file(uri) : NULL;

    if (path)
        cv_properties_set(
            properties, "uri",
            cv_arena_printf(&arena, "sqlite:%s", cv_path_resolve(file->folder, path, &arena)));
    if (warehouse && cv_text_starts_with(warehouse, "file:")) {
        char local[CV_PATH_BYTES_MAX];

        if (cv_location_local_path(warehouse, local))
            cv_properties_set(properties, "warehouse", cv_arena_printf(&arena, "file://%s", local));
    } else if (warehouse && !strstr(warehouse, "://") &&
               !(type && cv_text_equal_nocase(type, "rest"))) {
        cv_properties_set(
            properties, "warehouse",
            cv_arena_printf(&arena, "file://%s", cv_path_resolve(file->folder, warehouse, &arena)));
    }
}

enum cv_code cv_job_catalog_properties(const struct cv_job_file *file, const char *name,
                                       struct cv_properties *ret_properties, struct cv_error *err)
{
    char section[256];
    char known[512] = "";

    (void)snprintf(section, sizeof section, "catalogs.%s", name);
    for (size_t i = 0; i < file->count; i++) {
        const struct cv_job_entry *entry = &file->entries[i];
        size_t length = strlen(known);

        if (strcmp(entry->section, section) == 0)
            cv_properties_set(ret_properties, entry->key, entry->value);
        else if (cv_text_starts_with(entry->section, "catalogs.") &&
                 !strstr(known, entry->section + 9) && length < sizeof known - 64)
            (void)snprintf(known + length, sizeof known - length, "%s%.50s", length ? ", " : "",
                           entry->section + 9);
    }
    if (!ret_properties->count) {
        (void)cv_fail(err, CV_CONFIG, "there is no catalog \"%s\" in %s", name, file->path);
        cv_hint(err, known[0] ? "it has: %s" : "add it under `catalogs:`%s", known);
        return CV_CONFIG;
    }
    resolve_catalog(file, ret_properties);
    return CV_OK;
}

enum cv_code cv_job_open_catalog(const struct cv_job_file *file, const char *name,
                                 struct cv_catalog **ret_catalog, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_properties_release) struct cv_properties properties = {0};
    struct cv_table_name table = {.catalog = name};

    if (strchr(name, '.'))
        CV_DO(cv_table_name_parse(name, &arena, &table, err));
    CV_DO(cv_job_catalog_properties(file, table.catalog, &properties, err));
    return cv_catalog_open(table.catalog, &properties, ret_catalog, err);
}
