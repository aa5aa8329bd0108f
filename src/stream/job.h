/* SPDX-License-Identifier: Apache-2.0
 *
 * A job as the user wrote it: the sections of the job file read into their option structs, checked
 * as far as that needs no server. Immutable once loaded. */
#ifndef CALVE_STREAM_JOB_H
#define CALVE_STREAM_JOB_H

#include "catalog/catalog.h"
#include "config/job_file.h"
#include "decode/decoder.h"
#include "kafka/source.h"
#include "stream/checkpoint.h"
#include "stream/static_tables.h"
#include "stream/trigger.h"

/* The top level of the job file. */
struct cv_job_options {
    const char *job;
    const char *select;
    const char *where;
    const char *sql;
    const char *distinct;
    const char *duckdb_library; /* absolute once loaded; NULL = the usual places */
    int64_t memory_bytes;
    int64_t threads; /* 0 = one per core */
    const char *spill_directory;
    const char *lag_group; /* NULL = calve.<job>; "none" = off */
};

/* Section `watermark`. */
struct cv_watermark_options {
    const char *column; /* NULL = no watermark */
    int64_t delay_us;
};

/* Section `sink`. */
struct cv_sink_options {
    const char *table;
    const char *output_mode;
    const char *trigger;
    const char *checkpoint;
    bool fanout;
    bool ignore_unknown;
    int64_t target_file_bytes; /* 0 = the table's */
    const char *codec;
    const char *codec_level;
    bool delta_encoding;
    struct cv_properties snapshot_properties;
};

extern const struct cv_option_table cv_job_option_table;
extern const struct cv_option_table cv_sink_option_table;
extern const struct cv_option_table cv_watermark_option_table;

struct cv_job {
    struct cv_job_file file; /* owns the texts */
    struct cv_job_options options;
    struct cv_source_options source;
    struct cv_value_options value;
    struct cv_watermark_options watermark;
    struct cv_static_table_options *tables;
    size_t table_count;
    struct cv_sink_options sink;
    struct cv_trigger trigger;
    bool complete;          /* outputMode */
    const char *checkpoint; /* absolute local path, or a location */
    bool checkpoint_stored; /* the latter */
    const char *lag_group;  /* "" = off */
};

/* Loads, applies the overrides ("section.key=value"), checks. Warnings go to `warn`. */
enum cv_code cv_job_load(const char *path, const char *const *overrides, size_t override_count,
                         void (*warn)(void *context, const char *message), void *context,
                         struct cv_job *ret_job, struct cv_error *err);
/* The same on a file that has been read; takes the file over. */
enum cv_code cv_job_build(struct cv_job_file *file,
                          void (*warn)(void *context, const char *message), void *context,
                          struct cv_job *ret_job, struct cv_error *err);
void cv_job_release(struct cv_job *job);

/* The properties of a catalog of the file: relative paths of warehouse and SQLite file resolved,
 * the warehouse as a file: URI. CV_CONFIG naming the catalogs that exist. */
enum cv_code cv_job_catalog_properties(const struct cv_job_file *file, const char *name,
                                       struct cv_properties *ret_properties, struct cv_error *err);

/* Opens the catalog of a table's full name, or the catalog of this name when there is no dot. */
enum cv_code cv_job_open_catalog(const struct cv_job_file *file, const char *name,
                                 struct cv_catalog **ret_catalog, struct cv_error *err);

/* Opens the job's checkpoint; one in a store by the properties of the catalog (that of the sink's
 * table; may be NULL where the checkpoint is local). */
enum cv_code cv_job_open_checkpoint(const struct cv_job *job, struct cv_catalog *catalog,
                                    bool read_only, struct cv_checkpoint *ret_checkpoint,
                                    struct cv_error *err);

#endif
