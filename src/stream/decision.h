/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a run goes on, decided from what table and checkpoint say: the table of README.md as a
 * function without side effects. */
#ifndef CALVE_STREAM_DECISION_H
#define CALVE_STREAM_DECISION_H

#include "stream/engine.h"

#include <stdbool.h>
#include <stdint.h>

struct cv_recovery_evidence {
    enum cv_resume resume;
    /* The checkpoint: whether it has a query id, newest entries of its logs (CV_BATCH_NONE: none),
     * and whether the entries that a choice needs can be read. */
    bool has_query;
    int64_t logged;
    int64_t committed;
    bool newest_damaged; /* offsets/<logged> */
    bool start_damaged;  /* the entry before it, or the initial offsets */
    /* calve.json: the newest batch that it was written for, the newest one with a snapshot. */
    bool memo_present;
    int64_t memo_batch;
    int64_t memo_snapshot_epoch;
    /* The table's history: the newest snapshot of the checkpoint's query, and of the job. */
    bool in_table;
    int64_t table_epoch;
    bool table_has_offsets; /* calve's own snapshots name their end offsets, Spark's do not */
    bool other_offsets;     /* they are not those of the log entry of the same batch */
    bool job_in_table;
    bool superseded; /* the job's newest snapshot is of another query, and not a known one */
};

enum cv_recovery {
    CV_RECOVER_NEW,             /* a new query at the starting offsets */
    CV_RECOVER_FIRST,           /* the query has not logged a batch yet */
    CV_RECOVER_NEXT,            /* the newest logged batch is done */
    CV_RECOVER_REDO,            /* it runs again with exactly its logged end */
    CV_RECOVER_PLAN_AGAIN,      /* its entry is damaged and nothing of it is in the table */
    CV_RECOVER_FROM_TABLE,      /* logs made anew from the table's position */
    CV_RECOVER_FROM_CHECKPOINT, /* the checkpoint's position under a batch id that is free */
    CV_RECOVER_STOP_IDENTITY,   /* from here on: two answers, or none */
    CV_RECOVER_STOP_BEHIND,
    CV_RECOVER_STOP_AHEAD,
    CV_RECOVER_STOP_OFFSETS,
    CV_RECOVER_STOP_SUPERSEDED,
    CV_RECOVER_STOP_DAMAGED,
};

enum cv_recovery cv_recovery_decide(const struct cv_recovery_evidence *evidence);

/* The newest batch that must have a snapshot in the table by what the checkpoint knows. Batches
 * without rows leave none, which only calve.json can tell; those that it does not know of are
 * Spark's, which makes a snapshot for each. */
int64_t cv_recovery_newest_snapshot(const struct cv_recovery_evidence *evidence);

#endif
