/* SPDX-License-Identifier: Apache-2.0
 *
 * The maintenance of a running job, wired to its engine: they share the commit queue, and what the
 * stream writes is left alone. */
#ifndef CALVE_CLI_UPKEEP_H
#define CALVE_CLI_UPKEEP_H

#include "maintain/schedule.h"
#include "stream/engine.h"

#include <stdio.h>

struct cv_upkeep {
    const struct cv_job *job;
    FILE *json; /* of --progress-json; NULL = none */
    struct cv_arena arena;
    struct cv_schedule schedule;
    struct cv_commit_queue *queue;
    struct cv_open_partitions *open;
    struct cv_scheduler *scheduler;
};

/* Reads the job's maintenance: section, starts its thread if it has a procedure, and sets the hooks
 * in `engine`. The upkeep stays where it is until it is released. */
enum cv_code cv_upkeep_start(struct cv_upkeep *upkeep, const struct cv_job *job, FILE *json,
                             struct cv_engine_config *engine, struct cv_error *err);
/* Waits for what is on its way to reach its next stop. */
void cv_upkeep_release(struct cv_upkeep *upkeep);

/* "every 1 h", "when avoidable-files > 20", "every 10 min when …". */
void cv_upkeep_describe(const struct cv_schedule_entry *entry, char *text, size_t size);

#endif
