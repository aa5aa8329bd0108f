/* SPDX-License-Identifier: Apache-2.0
 *
 * A job's maintenance: section: which procedures run in the running process, and when. One thread
 * of its own with its own catalog connection and table; it commits through the stream's queue. A
 * failure is reported and tried again later (the wait doubles from one minute to one hour); it
 * never stops the stream. */
#ifndef CALVE_MAINTAIN_SCHEDULE_H
#define CALVE_MAINTAIN_SCHEDULE_H

#include "config/job_file.h"
#include "maintain/procedure.h"

/*  maintenance:
 *    rewrite-data-files: {when: avoidable-files > 20, min-input-files: 5}
 *    expire-snapshots: {every: 1h, retain_last: 10}
 *    remove-orphan-files: 1 day
 *
 * `every` is an interval, `when` a comparison of a number of the table (cv_table_measure_names());
 * both: every … if …. A text instead of a map is `every`. */
struct cv_schedule_entry {
    const struct cv_procedure *procedure;
    int64_t every_us;    /* 0 = as soon as `when` holds, looked at once a minute */
    const char *measure; /* NULL = no condition */
    char comparison;     /* '<' or '>' */
    int64_t threshold;
    struct cv_properties arguments;
};

/* The section's options beside the procedures. */
struct cv_schedule_options {
    int64_t close_after_us;
    int64_t memory_bytes;
    int64_t threads;
};
extern const struct cv_option_table cv_schedule_option_table;
/* `every` and `when` of each procedure. */
extern const struct cv_option_table cv_schedule_entry_option_table;

struct cv_schedule {
    struct cv_schedule_options options;
    struct cv_schedule_entry *entries; /* in the arena, in the order of the file */
    size_t count;
};

/* Reads the section; every problem names its line. An absent section is an empty schedule. */
enum cv_code cv_schedule_read(const struct cv_job_file *file, struct cv_arena *arena,
                              struct cv_schedule *ret_schedule, struct cv_error *err);
void cv_schedule_release(struct cv_schedule *schedule);
/* NULL when the section has no such procedure. */
const struct cv_schedule_entry *cv_schedule_find(const struct cv_schedule *schedule,
                                                 const char *procedure);

struct cv_schedule_event {
    const struct cv_schedule_entry *entry;
    const struct cv_maintain_result *result;
    int64_t start_ms; /* wall clock */
    int64_t took_us;
    const struct cv_error *error; /* NULL: it went well */
    int64_t retry_us;             /* with an error: until the next try */
};

struct cv_scheduler_config {
    const struct cv_schedule *schedule;
    const char *table_name;
    enum cv_code (*open_catalog)(void *context, struct cv_catalog **ret_catalog,
                                 struct cv_error *err); /* on the scheduler's thread */
    struct cv_commit_queue *queue;
    const char *spill_directory;
    bool (*partition_busy)(void *context, const struct cv_partition_spec *spec,
                           const struct cv_value *partition);
    void (*done)(void *context, const struct cv_schedule_event *event); /* on its thread */
    void (*warn)(void *context,
                 const char *message); /* from any thread of a procedure; may be NULL */
    void *context;                     /* of all four */
};
struct cv_scheduler;
enum cv_code cv_scheduler_start(const struct cv_scheduler_config *config,
                                struct cv_scheduler **ret_scheduler, struct cv_error *err);
/* Ends what is on its way at its next stop, waits for the thread. NULL is fine. */
void cv_scheduler_stop(struct cv_scheduler *scheduler);

#endif
