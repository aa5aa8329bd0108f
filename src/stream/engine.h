/* SPDX-License-Identifier: Apache-2.0
 *
 * The micro-batch engine: plan, write ahead, run, commit, note, tell (src/stream/README.md). One
 * engine per process run; its thread is the caller's. */
#ifndef CALVE_STREAM_ENGINE_H
#define CALVE_STREAM_ENGINE_H

#include "iceberg/manifest.h"
#include "iceberg/metadata.h"
#include "stream/job.h"
#include "stream/progress.h"
#include "table/queue.h"

enum cv_resume {
    CV_RESUME_AGREED,     /* stop when table and checkpoint disagree */
    CV_RESUME_TABLE,      /* go on after the batch that the table has */
    CV_RESUME_CHECKPOINT, /* go on after the batch that the checkpoint has */
    CV_RESUME_START,      /* read again from the starting offsets, on purpose */
};

struct cv_engine_config {
    const struct cv_job *job;
    enum cv_resume resume;
    /* After every trigger that ran a batch, and at most every 10 s while idle. May be NULL. */
    void (*progress)(void *context, const struct cv_progress *progress);
    void *progress_context;
    /* True once the run shall end: asked between batches and while a batch waits. A batch on its
     * way gets CV_STOP_GRACE_US to finish, then it is abandoned without a trace. May be NULL. */
    bool (*stopping)(void *context);
    void *stopping_context;
    int64_t batches_max; /* 0 = no limit; for `calve demo` */
    /* Shared with maintenance in this process; NULL = there is none. */
    struct cv_commit_queue *queue;
    /* Told of the files of a batch before they are committed. May be NULL. */
    void (*writes)(void *context, const struct cv_table_metadata *metadata,
                   const struct cv_data_file *files, size_t count);
    void *writes_context;
};

#define CV_STOP_GRACE_US (10 * INT64_C(1000000))

/* Runs the job until it is stopped, its trigger ends it, or an error does. */
enum cv_code cv_engine_run(const struct cv_engine_config *config, struct cv_error *err);

#endif
