/* SPDX-License-Identifier: Apache-2.0
 *
 * The decision table of recovery. What the table has is done. A flag chooses only where the two
 * answers differ: given to a job that is in order it must not double or drop a batch. */
#include "stream/decision.h"

#include "stream/checkpoint.h"

int64_t cv_recovery_newest_snapshot(const struct cv_recovery_evidence *e)
{
    if (e->memo_present && e->committed <= e->memo_batch)
        return e->memo_snapshot_epoch;
    return e->committed;
}

/* The newest log entry cannot be read. */
static enum cv_recovery decide_damaged(const struct cv_recovery_evidence *e, int64_t in_table)
{
    if (in_table == e->logged)
        return e->table_has_offsets ? CV_RECOVER_FROM_TABLE : CV_RECOVER_STOP_DAMAGED;
    if (e->committed == e->logged || e->start_damaged)
        return CV_RECOVER_STOP_DAMAGED;
    return CV_RECOVER_PLAN_AGAIN;
}

static enum cv_recovery compare(const struct cv_recovery_evidence *e)
{
    int64_t in_table = e->in_table ? e->table_epoch : CV_BATCH_NONE;

    if (e->superseded)
        return CV_RECOVER_STOP_SUPERSEDED;
    if (in_table > e->logged)
        return CV_RECOVER_STOP_BEHIND;
    if (in_table < cv_recovery_newest_snapshot(e) || e->committed > e->logged)
        return CV_RECOVER_STOP_AHEAD;
    if (e->logged == CV_BATCH_NONE)
        return CV_RECOVER_FIRST;
    if (e->newest_damaged)
        return decide_damaged(e, in_table);
    if (in_table == e->logged && e->other_offsets)
        return CV_RECOVER_STOP_OFFSETS;
    if (in_table == e->logged || e->committed == e->logged)
        return CV_RECOVER_NEXT;
    return e->start_damaged ? CV_RECOVER_STOP_DAMAGED : CV_RECOVER_REDO;
}

static enum cv_recovery decide_without_query(const struct cv_recovery_evidence *e)
{
    if (e->resume == CV_RESUME_TABLE)
        return CV_RECOVER_FROM_TABLE;
    if (e->logged != CV_BATCH_NONE || e->committed != CV_BATCH_NONE)
        return CV_RECOVER_STOP_IDENTITY;
    if (e->resume == CV_RESUME_CHECKPOINT)
        return CV_RECOVER_FROM_CHECKPOINT;
    return e->job_in_table ? CV_RECOVER_FROM_TABLE : CV_RECOVER_NEW;
}

enum cv_recovery cv_recovery_decide(const struct cv_recovery_evidence *e)
{
    enum cv_recovery agreed;

    if (e->resume == CV_RESUME_START)
        return CV_RECOVER_NEW;
    if (!e->has_query)
        return decide_without_query(e);
    agreed = compare(e);
    if (agreed >= CV_RECOVER_STOP_IDENTITY && e->resume == CV_RESUME_TABLE)
        return CV_RECOVER_FROM_TABLE;
    if (agreed >= CV_RECOVER_STOP_IDENTITY && e->resume == CV_RESUME_CHECKPOINT)
        return CV_RECOVER_FROM_CHECKPOINT;
    return agreed;
}
