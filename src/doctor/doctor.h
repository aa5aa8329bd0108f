/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings about a table and, with a job, about its Kafka side and checkpoint: what, the number,
 * why it hurts, the exact command, what is to be expected of it. Each kind of finding is one row of
 * the table in findings.c. Nothing is changed here; `calve doctor --fix` runs what is advised. */
#ifndef CALVE_DOCTOR_DOCTOR_H
#define CALVE_DOCTOR_DOCTOR_H

#include "maintain/measure.h"
#include "maintain/schedule.h"
#include "stream/job.h"

enum cv_severity {
    CV_SEVERITY_NOTE, /* worth knowing; no finding for the exit status */
    CV_SEVERITY_WARNING,
    CV_SEVERITY_CRITICAL,
};

/* Texts live in the examination's arena. */
struct cv_finding {
    const char *name; /* "avoidable-files" */
    enum cv_severity severity;
    const char *what; /* one sentence with the number */
    int64_t number;
    const char *why;      /* why it hurts */
    const char *command;  /* the exact command; NULL = a decision of the user, see `expected` */
    const char *expected; /* what the command gives, or what to decide */
    /* What --fix does: a procedure with its arguments, or table properties to set. */
    const struct cv_procedure *procedure; /* NULL = none */
    struct cv_properties arguments;
    struct cv_properties properties;
    bool aborts_uploads;
};

/* Uploads in parts that were begun more than a day ago and never ended. */
struct cv_open_uploads {
    int64_t count;
    int64_t oldest_ms;
};

/* Bytes by who holds them. */
struct cv_storage_split {
    int64_t live_bytes, live_files;
    int64_t old_bytes, old_files; /* only older snapshots need them */
    int64_t orphan_bytes, orphan_files;
    int64_t settled_orphan_bytes, settled_orphan_files; /* old enough to be removed */
    int64_t metadata_bytes, metadata_files;
    int64_t metadata_json_bytes; /* of the current file */
    bool known;                  /* the location could be listed; else only live_… is told */
};

/* Which snapshots would go, by the table's own age and rate. */
struct cv_expiry_advice {
    int64_t window_ms; /* younger ones stay */
    int64_t removed;   /* snapshots */
};

struct cv_examination {
    struct cv_arena arena;
    struct cv_table_measures measures;
    struct cv_storage_split storage;
    struct cv_open_uploads uploads;
    struct cv_expiry_advice expiry;
    int64_t commit_gap_ms; /* median of the newest appends; 0 = not known */
    struct cv_finding *findings;
    size_t count, capacity;
};

struct cv_examine_config {
    struct cv_catalog *catalog; /* whose store properties open what no table opens */
    struct cv_table *table;     /* NULL: its metadata file cannot be read, `missing` tells */
    const char *missing;        /* location that the catalog names */
    const char *table_name;     /* full, for commands */
    const char *config;         /* file for commands, NULL = found without --config */
    const struct cv_job *job;   /* NULL = only the table */
    int64_t now_ms;
    size_t memory_bytes;
    int threads;
    bool (*stopping)(void *context); /* may be NULL */
    void *stopping_context;
};

enum cv_code cv_examine(const struct cv_examine_config *config, struct cv_examination *ret,
                        struct cv_error *err);
void cv_examination_release(struct cv_examination *examination);

/* Names of the kinds of findings, for documentation and tests; NULL at the end. */
const char *cv_finding_name(size_t index);

/* Findings that count for the exit status. */
size_t cv_examination_count(const struct cv_examination *examination);

/* One step of --fix. */
struct cv_fix_step {
    const struct cv_procedure *procedure; /* NULL = set `properties` of the table */
    struct cv_properties arguments;
    struct cv_properties properties;
    bool aborts_uploads; /* instead: cv_doctor_abort_uploads() */
    bool expires;        /* its older_than is the expiry's window before the moment of running */
    const char *command;
};

#define CV_FIX_STEPS_MAX 16
/* In the order compact, rewrite manifests, expire, orphans; each procedure once. After a compaction
 * what it replaced is held by older snapshots until they are expired, so that follows. */
size_t cv_fix_plan(const struct cv_examine_config *config, struct cv_examination *examination,
                   struct cv_fix_step steps[CV_FIX_STEPS_MAX]);
void cv_fix_plan_release(struct cv_fix_step steps[CV_FIX_STEPS_MAX], size_t count);
/* Ends the uploads that `open-uploads` finds. */
enum cv_code cv_doctor_abort_uploads(struct cv_table *table, struct cv_error *err);
/* As one word of a shell's command: as it is, or in double quotes with what these need. */
const char *cv_doctor_quoted(const char *value, struct cv_arena *arena);
/* "2026-11-29 10:00:00" for older_than, `window_ms` before now. */
const char *cv_expiry_time(int64_t now_ms, int64_t window_ms, struct cv_arena *arena);

#endif
