/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings about a table and, with a job, about its Kafka side and checkpoint: what, the number,
 * why it hurts, the exact command, what is to be expected of it. Each kind of finding is one row of
 * the table in findings.c. Nothing is changed here; `calve doctor --fix` runs what is advised. */
#ifndef CALVE_DOCTOR_DOCTOR_H
#define CALVE_DOCTOR_DOCTOR_H

#include "maintain/measure.h"
#include "maintain/procedure.h"
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
    const struct cv_procedure *procedure; /* what --fix runs; NULL = nothing */
    struct cv_properties arguments;
    bool job_setting; /* advice about the job file */
};

/* Bytes by who holds them. */
struct cv_storage_split {
    int64_t live_bytes, live_files;
    int64_t old_bytes, old_files; /* only by older snapshots */
    int64_t orphan_bytes, orphan_files;
    int64_t metadata_bytes, metadata_files;
    bool orphans_known; /* the location could be listed */
};

struct cv_examination {
    struct cv_arena arena;
    struct cv_table_measures measures;
    struct cv_storage_split storage;
    struct cv_finding *findings;
    size_t count, capacity;
};

struct cv_examine_config {
    struct cv_catalog *catalog;
    struct cv_table *table;
    const char *table_name;   /* full, for commands */
    const char *config_flag;  /* "--config FILE " for commands, or "" */
    const struct cv_job *job; /* NULL = only the table */
    int64_t now_ms;
    size_t memory_bytes;
    int threads;
};

enum cv_code cv_examine(const struct cv_examine_config *config, struct cv_examination *ret,
                        struct cv_error *err);
void cv_examination_release(struct cv_examination *examination);

#endif
