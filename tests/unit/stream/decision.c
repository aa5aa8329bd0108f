/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a run goes on: the table of src/stream/README.md row by row, and a model of a job that is
 * killed after any step, loses its checkpoint or an entry of it, and must still take every row of
 * its topic exactly once. */
#include "test.h"

#include "stream/checkpoint.h"
#include "stream/decision.h"

#define NONE CV_BATCH_NONE

/* A job in order: batches 0 … logged, the last one perhaps on its way. */
static struct cv_recovery_evidence facts(int64_t table, int64_t logged, int64_t committed)
{
    return (struct cv_recovery_evidence){
        .has_query = true,
        .logged = logged,
        .committed = committed,
        .memo_present = true,
        .memo_batch = committed,
        .memo_snapshot_epoch = committed,
        .in_table = table != NONE,
        .table_epoch = table,
        .table_has_offsets = table != NONE,
        .job_in_table = table != NONE,
    };
}

static void the_table_of_the_readme(void **state)
{
    static const struct {
        int64_t table, logged, committed;
        enum cv_recovery wanted;
    } rows[] = {
        {5, 5, 5, CV_RECOVER_NEXT},          {5, 5, 4, CV_RECOVER_NEXT},
        {5, 5, NONE, CV_RECOVER_NEXT},       {4, 5, 4, CV_RECOVER_REDO},
        {NONE, 0, NONE, CV_RECOVER_REDO},    {NONE, NONE, NONE, CV_RECOVER_FIRST},
        {6, 5, 5, CV_RECOVER_STOP_BEHIND},   {0, NONE, NONE, CV_RECOVER_STOP_BEHIND},
        {3, 5, 5, CV_RECOVER_STOP_AHEAD},    {NONE, 5, 5, CV_RECOVER_STOP_AHEAD},
        {3, 5, 4, CV_RECOVER_STOP_AHEAD},    {5, 5, 6, CV_RECOVER_STOP_AHEAD},
        {NONE, 0, 0, CV_RECOVER_STOP_AHEAD},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        struct cv_recovery_evidence e = facts(rows[i].table, rows[i].logged, rows[i].committed);

        if (cv_recovery_decide(&e) != rows[i].wanted)
            fail_msg("row %zu: %d", i, cv_recovery_decide(&e));
    }
}

/* A flag chooses where there is a choice, and does nothing to a job that is in order. */
static void flags_choose_between_answers(void **state)
{
    struct cv_recovery_evidence agreed = facts(5, 5, 4);
    struct cv_recovery_evidence behind = facts(6, 5, 5);
    struct cv_recovery_evidence lost = facts(5, NONE, NONE);

    lost.has_query = false;
    lost.in_table = false;
    agreed.resume = behind.resume = lost.resume = CV_RESUME_TABLE;
    assert_int_equal(cv_recovery_decide(&agreed), CV_RECOVER_NEXT);
    assert_int_equal(cv_recovery_decide(&behind), CV_RECOVER_FROM_TABLE);
    assert_int_equal(cv_recovery_decide(&lost), CV_RECOVER_FROM_TABLE);
    agreed.resume = behind.resume = CV_RESUME_CHECKPOINT;
    assert_int_equal(cv_recovery_decide(&agreed), CV_RECOVER_NEXT);
    assert_int_equal(cv_recovery_decide(&behind), CV_RECOVER_FROM_CHECKPOINT);
    agreed.resume = behind.resume = lost.resume = CV_RESUME_START;
    assert_int_equal(cv_recovery_decide(&agreed), CV_RECOVER_NEW);
    assert_int_equal(cv_recovery_decide(&behind), CV_RECOVER_NEW);
    assert_int_equal(cv_recovery_decide(&lost), CV_RECOVER_NEW);
}

static void without_metadata(void **state)
{
    struct cv_recovery_evidence e = {.logged = NONE, .committed = NONE};

    assert_int_equal(cv_recovery_decide(&e), CV_RECOVER_NEW);
    e.job_in_table = true;
    assert_int_equal(cv_recovery_decide(&e), CV_RECOVER_FROM_TABLE);
    e.logged = 3;
    assert_int_equal(cv_recovery_decide(&e), CV_RECOVER_STOP_IDENTITY);
    e.resume = CV_RESUME_TABLE;
    assert_int_equal(cv_recovery_decide(&e), CV_RECOVER_FROM_TABLE);
}

static void other_answers(void **state)
{
    struct cv_recovery_evidence e = facts(5, 5, 4);

    e.other_offsets = true;
    assert_int_equal(cv_recovery_decide(&e), CV_RECOVER_STOP_OFFSETS);
    e = facts(5, 5, 5);
    e.superseded = true;
    assert_int_equal(cv_recovery_decide(&e), CV_RECOVER_STOP_SUPERSEDED);
}

static void damaged_entries(void **state)
{
    struct cv_recovery_evidence e = facts(4, 5, 4);

    e.newest_damaged = true;
    assert_int_equal(cv_recovery_decide(&e), CV_RECOVER_PLAN_AGAIN);
    e.start_damaged = true;
    assert_int_equal(cv_recovery_decide(&e), CV_RECOVER_STOP_DAMAGED);
    e = facts(5, 5, 4);
    e.newest_damaged = true;
    assert_int_equal(cv_recovery_decide(&e), CV_RECOVER_FROM_TABLE);
    e.table_has_offsets = false; /* Spark's snapshot */
    assert_int_equal(cv_recovery_decide(&e), CV_RECOVER_STOP_DAMAGED);
    e = facts(4, 5, 4);
    e.start_damaged = true;
    assert_int_equal(cv_recovery_decide(&e), CV_RECOVER_STOP_DAMAGED);
}

/* Spark makes a snapshot for every batch; calve.json knows which of calve's made none. */
static void batches_without_rows(void **state)
{
    struct cv_recovery_evidence e = facts(3, 7, 7);

    e.memo_batch = 7;
    e.memo_snapshot_epoch = 3;
    assert_int_equal(cv_recovery_decide(&e), CV_RECOVER_NEXT);
    e.memo_batch = 5; /* 6 and 7 were Spark's: they must be there */
    assert_int_equal(cv_recovery_decide(&e), CV_RECOVER_STOP_AHEAD);
    e.memo_present = false;
    assert_int_equal(cv_recovery_decide(&e), CV_RECOVER_STOP_AHEAD);
}

/* The model: a topic of TOPIC offsets, of which `mask` tells those that give a row; one offset per
 * batch. `left` steps until the process dies. */
#define TOPIC 3

struct model {
    unsigned mask;
    bool has_query, damaged;
    int64_t logged, committed;
    int ends[32]; /* of logged batches */
    bool memo_present;
    int64_t memo_batch, memo_snapshot_epoch;
    int64_t table_epoch;
    int table_end;
    unsigned rows, doubles; /* bits: in the table; in it twice */
    int left;
};

static bool step(struct model *m)
{
    return m->left-- > 0;
}

static void lose_checkpoint(struct model *m)
{
    m->has_query = m->memo_present = m->damaged = false;
    m->logged = m->committed = NONE;
}

static bool write_memo(struct model *m, int64_t batch, int64_t snapshot_epoch)
{
    if (!step(m))
        return false;
    m->memo_present = true;
    m->memo_batch = batch;
    m->memo_snapshot_epoch = snapshot_epoch;
    return true;
}

/* All at once, as cv_checkpoint_rebase does. */
static void rebase(struct model *m, int64_t batch, int end)
{
    m->has_query = true;
    m->damaged = false;
    m->logged = m->committed = batch;
    m->memo_present = true;
    m->memo_batch = batch;
    m->memo_snapshot_epoch = batch;
    if (batch >= 0)
        m->ends[batch] = end;
}

/* False when the process died. */
static bool recover(struct model *m, int64_t *next, bool *redo)
{
    struct cv_recovery_evidence e = facts(m->table_epoch, m->logged, m->committed);
    bool fresh;

    e.has_query = m->has_query;
    e.newest_damaged = m->damaged;
    e.memo_present = m->memo_present;
    e.memo_batch = m->memo_batch;
    e.memo_snapshot_epoch = m->memo_snapshot_epoch;
    e.in_table = m->has_query && m->table_epoch != NONE;
    e.table_epoch = e.in_table ? m->table_epoch : NONE;
    *redo = false;
    switch (cv_recovery_decide(&e)) {
    case CV_RECOVER_NEW:
        if (!step(m))
            return false;
        rebase(m, NONE, 0);
        break;
    case CV_RECOVER_FROM_TABLE:
        if (!step(m))
            return false;
        rebase(m, m->table_epoch, m->table_end);
        break;
    case CV_RECOVER_FIRST:
        break;
    case CV_RECOVER_NEXT:
        if (m->committed < m->logged && !step(m))
            return false;
        m->committed = m->logged;
        break;
    case CV_RECOVER_REDO:
        *redo = true;
        break;
    case CV_RECOVER_PLAN_AGAIN:
        if (!step(m))
            return false;
        m->logged--;
        m->damaged = false;
        break;
    default:
        fail_msg("the job cannot start again: decision %d", cv_recovery_decide(&e));
    }
    *next = *redo ? m->logged : m->logged + 1;
    fresh = !m->memo_present;
    return !fresh || write_memo(m, *next - 1, m->table_epoch);
}

static bool run_batch(struct model *m, int64_t batch, bool redo)
{
    int start = batch ? m->ends[batch - 1] : 0;
    unsigned row;

    if (!redo) {
        if (!step(m))
            return false;
        m->ends[batch] = start < TOPIC ? start + 1 : start;
        m->logged = batch;
    }
    row = start < m->ends[batch] ? m->mask & 1u << start : 0;
    if (row) {
        if (!step(m))
            return false;
        m->doubles |= m->rows & row;
        m->rows |= row;
        m->table_epoch = batch;
        m->table_end = m->ends[batch];
    }
    if (!write_memo(m, batch, row ? batch : m->memo_snapshot_epoch) || !step(m))
        return false;
    m->committed = batch;
    return true;
}

static void run(struct model *m, int steps)
{
    int64_t next;
    bool redo;

    m->left = steps;
    if (!recover(m, &next, &redo))
        return;
    while (redo || next == 0 || m->ends[next - 1] < TOPIC) {
        if (!run_batch(m, next, redo))
            return;
        redo = false;
        next++;
    }
}

/* What may happen between two runs. */
enum mishap { NOTHING, CHECKPOINT_LOST, COMMIT_LOST, ENTRY_EMPTY, MISHAPS };

static void happen(struct model *m, enum mishap mishap)
{
    if (mishap == CHECKPOINT_LOST)
        lose_checkpoint(m);
    else if (mishap == COMMIT_LOST && m->committed == m->table_epoch && m->committed >= 0)
        m->committed--;
    else if (mishap == ENTRY_EMPTY && m->logged > m->committed)
        m->damaged = true;
}

static void check_history(unsigned mask, const int steps[3], const enum mishap mishaps[3])
{
    struct model m = {.mask = mask, .table_epoch = NONE};

    lose_checkpoint(&m);
    for (int i = 0; i < 3; i++) {
        run(&m, steps[i]);
        happen(&m, mishaps[i]);
    }
    run(&m, 1000);
    if (m.rows != mask || m.doubles)
        fail_msg("topic %x, deaths after %d %d %d steps, mishaps %d %d %d: rows %x, twice %x", mask,
                 steps[0], steps[1], steps[2], mishaps[0], mishaps[1], mishaps[2], m.rows,
                 m.doubles);
}

static void every_death_at_every_step(void **state)
{
    enum { STEPS = 14 };

    for (unsigned mask = 0; mask < 1u << TOPIC; mask++)
        for (int deaths = 0; deaths < STEPS * STEPS * STEPS; deaths++)
            for (int m = 0; m < MISHAPS * MISHAPS * MISHAPS; m++)
                check_history(
                    mask, (int[3]){deaths % STEPS, deaths / STEPS % STEPS, deaths / STEPS / STEPS},
                    (enum mishap[3]){(enum mishap)(m % MISHAPS),
                                     (enum mishap)(m / MISHAPS % MISHAPS),
                                     (enum mishap)(m / MISHAPS / MISHAPS)});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_the_readme),   cmocka_unit_test(flags_choose_between_answers),
        cmocka_unit_test(without_metadata),          cmocka_unit_test(other_answers),
        cmocka_unit_test(damaged_entries),           cmocka_unit_test(batches_without_rows),
        cmocka_unit_test(every_death_at_every_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
