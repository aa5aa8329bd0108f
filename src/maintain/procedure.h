/* SPDX-License-Identifier: Apache-2.0
 *
 * The maintenance procedures, with the names, arguments, defaults and result columns of Iceberg's
 * Spark procedures. One file and one row of the table in procedure.c each; `calve maintain`, the
 * job file's maintenance section, doctor's advice and the documentation come from the rows. */
#ifndef CALVE_MAINTAIN_PROCEDURE_H
#define CALVE_MAINTAIN_PROCEDURE_H

#include "codec/json.h"
#include "config/option.h"
#include "table/queue.h"
#include "table/table.h"

#include <pthread.h>

#define CV_MAINTAIN_MEMORY_DEFAULT ((size_t)256 << 20)

/* How far a procedure is; from any of its threads, one call at a time. */
struct cv_maintain_progress {
    const char *procedure;
    const char *step;            /* "reading manifests", "deleting files", "group 3 of 10" */
    int64_t done, total;         /* of `unit`; total -1 = not known yet */
    const char *unit;            /* "bytes", "files" */
    int64_t elapsed_us, left_us; /* left -1 = not known */
};

/* What a procedure works with and how it speaks; made by the command or by the schedule. */
struct cv_maintenance {
    struct cv_catalog *catalog;
    const char *table_name;      /* in full */
    struct cv_table *table;      /* of this thread; its queue is set when a stream runs beside */
    size_t memory_bytes;         /* for everything that the procedure keeps */
    int threads;                 /* at least 1 */
    const char *spill_directory; /* NULL = as cv_spill_folder() says */
    bool dry_run;
    bool idle; /* the user says that nobody writes to the table */
    /* True once the run shall end: asked between files and groups. May be NULL. */
    bool (*stopping)(void *context);
    /* True for a partition that the stream is writing: left alone. May be NULL. */
    bool (*partition_busy)(void *context, const struct cv_partition_spec *spec,
                           const struct cv_value *partition);
    void (*progress)(void *context, const struct cv_maintain_progress *progress); /* or NULL */
    void (*warn)(void *context, const char *message); /* from any of its threads, or NULL */
    void *context;
};

/* Progress of one step, from any thread; the callback comes at most ten times a second. All-zero is
 * a valid released one. */
struct cv_maintain_meter {
    const struct cv_maintenance *maintenance;
    struct cv_maintain_progress now;
    int64_t start_us, told_us;
    pthread_mutex_t lock;
};
void cv_maintain_meter_init(struct cv_maintain_meter *meter,
                            const struct cv_maintenance *maintenance, const char *procedure,
                            const char *step, const char *unit, int64_t total);
void cv_maintain_meter_add(struct cv_maintain_meter *meter, int64_t done);
void cv_maintain_meter_release(struct cv_maintain_meter *meter);

/* CV_CANCELLED once the run shall end. */
enum cv_code cv_maintain_check_stop(const struct cv_maintenance *maintenance, struct cv_error *err);
void cv_maintain_warn(const struct cv_maintenance *maintenance, const char *format, ...)
    CV_PRINTF(2, 3);

/* What it found: rows with the procedure's columns, and for people (and dry runs) what was or would
 * be changed and why, one line each. */
struct cv_maintain_result {
    struct cv_buf rows;  /* JSON: array of objects; a procedure may leave it empty for none */
    struct cv_buf notes; /* text, lines */
    bool changed;        /* the table was changed (dry run: would be) */
};
void cv_maintain_result_init(struct cv_maintain_result *result);
void cv_maintain_result_release(struct cv_maintain_result *result);
void cv_maintain_note(struct cv_maintain_result *result, const char *format, ...) CV_PRINTF(2, 3);

struct cv_procedure {
    const char *name;       /* "expire-snapshots" */
    const char *spark_name; /* "expire_snapshots" */
    const char *about;      /* one line */
    /* Arguments by Spark's names; section is "maintenance.<name>". Those that Spark gives in its
     * `options` map are rows too: their names hold dashes, the others underscores. Times and lists
     * are texts (see cv_maintain_parse_time(), cv_split()). CV_OPTION_REQUIRED stands for any type.
     */
    const struct cv_option_table *arguments;
    size_t arguments_size; /* of the struct that they fill */
    bool without_table;    /* register-table: the name is of a table to be */
    bool schedulable;      /* may stand in a job's maintenance section */
    enum cv_code (*run)(struct cv_maintenance *maintenance, const void *arguments,
                        struct cv_maintain_result *result, struct cv_error *err);
};

/* All of them, NULL at the end. */
extern const struct cv_procedure *const cv_procedures[];
/* By either name; NULL. */
const struct cv_procedure *cv_procedure_find(const char *name);

/* "older_than" → "older-than": an argument as a flag of the command is spelt. */
const char *cv_procedure_flag(const char *argument, struct cv_arena *arena);

/* Runs one with arguments as texts (key = value; dashes and underscores are one; "options" holds
 * "k=v,k=v"). An unknown argument is CV_USAGE and names the nearest. The table is fresh. */
enum cv_code cv_procedure_run(const struct cv_procedure *procedure,
                              struct cv_maintenance *maintenance,
                              const struct cv_properties *arguments,
                              struct cv_maintain_result *result, struct cv_error *err);

/* Checks the arguments only. */
enum cv_code cv_procedure_check(const struct cv_procedure *procedure,
                                const struct cv_properties *arguments, struct cv_error *err);

/* "2026-11-29 10:00:00[.ffffff]", ISO 8601 with or without a zone (UTC), or epoch milliseconds. */
enum cv_code cv_maintain_parse_time(const char *argument, const char *text, int64_t *ret_ms,
                                    struct cv_error *err);

#endif
