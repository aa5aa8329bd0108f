/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a run goes on. The table is asked first: what it has is done, whatever the checkpoint says.
 * If the two contradict each other the run stops and says which answers exist; --resume-from
 * chooses. decision.c has the rule, src/stream/README.md the table of cases. */
#include "stream/decision.h"
#include "stream/engine_int.h"

#include "base/log.h"
#include "base/time.h"

#include <stdio.h>
#include <stdlib.h>

/* What the table and the checkpoint say. */
struct evidence {
    struct cv_arena arena;
    struct cv_recovery_evidence facts;
    struct cv_position own;   /* with facts.in_table: newest position of the checkpoint's query */
    struct cv_position job;   /* with facts.job_in_table: of the job, whatever its query */
    struct cv_offsets newest; /* end of the newest logged batch, unless damaged */
    struct cv_offsets start;  /* end of the one before */
    struct cv_error damage;   /* why an entry cannot be read */
    char *conf_json;          /* of the newest entry that can be read */
};

static void evidence_release(struct evidence *e)
{
    cv_offsets_release(&e->newest);
    cv_offsets_release(&e->start);
    free(e->conf_json);
    cv_arena_release(&e->arena);
}

/* Whether the job's snapshot is newer than the query's own: first on the way from the branch head
 * through the parents. */
static bool is_newer(const struct cv_table *table, int64_t job_snapshot, int64_t own_snapshot)
{
    struct cv_history history = cv_history_of(table->metadata, cv_table_branch(table));
    const struct cv_snapshot *snapshot;

    history.over_gaps = true; /* as both were found */
    while ((snapshot = cv_history_next(&history))) {
        if (snapshot->id == own_snapshot)
            return false;
        if (snapshot->id == job_snapshot)
            return true;
    }
    return false;
}

static enum cv_code look_into_table(struct cv_engine *engine, struct evidence *e,
                                    struct cv_error *err)
{
    struct cv_recovery_evidence *facts = &e->facts;
    const char *query_id = engine->checkpoint.query_id;
    const char *replaced = engine->memo.replaced_query ? engine->memo.replaced_query : "";
    enum cv_code code =
        cv_position_find_job(engine->table, engine->job->options.job, &e->arena, &e->job, err);

    if (code != CV_NOT_FOUND)
        CV_DO(code);
    facts->job_in_table = code == CV_OK;
    if (!query_id[0])
        return CV_OK;
    code = cv_position_find_query(engine->table, query_id, &e->arena, &e->own, err);
    if (code != CV_NOT_FOUND)
        CV_DO(code);
    facts->in_table = code == CV_OK;
    facts->table_epoch = facts->in_table ? e->own.epoch : CV_BATCH_NONE;
    facts->table_has_offsets = facts->in_table && e->own.offsets_json;
    facts->superseded =
        facts->job_in_table && strcmp(e->job.query_id, query_id) != 0 &&
        strcmp(e->job.query_id, replaced) != 0 &&
        (!facts->in_table || is_newer(engine->table, e->job.snapshot_id, e->own.snapshot_id));
    return CV_OK;
}

/* CV_OK with *ret_damaged when the bytes are bad or missing. */
static enum cv_code tolerate_damage(enum cv_code code, struct evidence *e, struct cv_error *err,
                                    bool *ret_damaged)
{
    *ret_damaged = code == CV_FORMAT || code == CV_NOT_FOUND;
    if (!*ret_damaged)
        return code;
    if (err)
        e->damage = *err;
    cv_error_clear(err);
    return CV_OK;
}

static enum cv_code read_end(struct cv_engine *engine, int64_t batch, char **conf_json,
                             struct cv_offsets *ret_offsets, struct cv_error *err)
{
    /* the last one that is read is the newest, which may be redone */
    CV_CLEANUP(cv_offset_log_entry_release) struct cv_offset_log_entry entry = {0};

    CV_TRY(cv_checkpoint_read_offsets(&engine->checkpoint, batch, &entry, err), err,
           "offsets of batch %lld", (long long)batch);
    cv_offsets_copy(ret_offsets, &entry.offsets);
    engine->redo_timestamp_ms = entry.batch_timestamp_ms;
    if (!*conf_json)
        *conf_json = cv_steal(entry.conf_json);
    return CV_OK;
}

/* The end of the batch before `batch`: the entry before it, or the initial offsets. */
static enum cv_code read_start(struct cv_engine *engine, int64_t batch, char **conf_json,
                               struct cv_offsets *ret_offsets, struct cv_error *err)
{
    if (batch > 0)
        return read_end(engine, batch - 1, conf_json, ret_offsets, err);
    CV_TRY(cv_checkpoint_read_initial(&engine->checkpoint, ret_offsets, err), err,
           "initial offsets");
    return CV_OK;
}

static enum cv_code look_into_checkpoint(struct cv_engine *engine, struct evidence *e,
                                         struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets in_table = {0};
    struct cv_recovery_evidence *facts = &e->facts;
    enum cv_code code;

    facts->resume = engine->config->resume;
    facts->has_query = engine->checkpoint.query_id[0];
    facts->logged = engine->checkpoint.newest_offsets;
    facts->committed = engine->checkpoint.newest_commits;
    facts->memo_present = engine->memo.present;
    facts->memo_batch = engine->memo.batch;
    facts->memo_snapshot_epoch = engine->memo.snapshot_epoch;
    if (facts->logged == CV_BATCH_NONE || facts->resume == CV_RESUME_START)
        return CV_OK;
    code = read_start(engine, facts->logged, &e->conf_json, &e->start, err);
    CV_DO(tolerate_damage(code, e, err, &facts->start_damaged));
    free(e->conf_json);
    e->conf_json = NULL;
    code = read_end(engine, facts->logged, &e->conf_json, &e->newest, err);
    CV_DO(tolerate_damage(code, e, err, &facts->newest_damaged));
    if (facts->newest_damaged || facts->table_epoch != facts->logged || !facts->table_has_offsets)
        return CV_OK;
    CV_TRY(cv_offsets_parse(cv_str_from(e->own.offsets_json), false, &in_table, err), err,
           "position in snapshot %lld", (long long)e->own.snapshot_id);
    facts->other_offsets = !cv_offsets_equal(&in_table, &e->newest);
    return CV_OK;
}

static enum cv_code fail_contradiction(struct cv_error *err, const char *format, ...)
    CV_PRINTF(2, 3);
static enum cv_code fail_contradiction(struct cv_error *err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)cv_failv(err, CV_CONTRADICTION, format, args);
    va_end(args);
    cv_hint(err, "--resume-from=table goes on after what the table has, --resume-from=checkpoint "
                 "after what the checkpoint has, --resume-from=start reads everything again");
    return CV_CONTRADICTION;
}

/* Makes the checkpoint anew, all of it at once, and goes on after `batch`, which ends at `offsets`.
 * `snapshot_id` and `snapshot_epoch` are what the table has of the query. */
static enum cv_code rebase(struct cv_engine *engine, const char *query_id, int64_t batch,
                           const struct cv_offsets *offsets, const char *replaced_query,
                           struct cv_error *err)
{
    CV_CLEANUP(cv_memo_release) struct cv_memo memo = {0};
    struct cv_rebase made = {
        .query_id = query_id,
        .batch = batch,
        .entry = {cv_now_ms(), engine->conf_json, *offsets},
        .memo = &memo,
    };

    cv_engine_fill_memo(engine, batch, &memo);
    if (replaced_query)
        memo.replaced_query = cv_arena_strdup(&memo.arena, replaced_query);
    CV_DO(cv_checkpoint_rebase(&engine->checkpoint, &made, err));
    cv_engine_take_memo(engine, &memo);
    cv_offsets_copy(&engine->position, offsets);
    engine->next_batch = batch + 1;
    return CV_OK;
}

static void remember_snapshot(struct cv_engine *engine, const struct cv_position *position)
{
    engine->memo.snapshot_id = position ? position->snapshot_id : -1;
    engine->memo.snapshot_epoch = position ? position->epoch : CV_BATCH_NONE;
}

static enum cv_code start_new(struct cv_engine *engine, const struct evidence *e,
                              struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets initial = {0};
    char query_id[CV_UUID_TEXT_BYTES];

    cv_uuid_text(query_id);
    CV_DO(cv_source_initial_offsets(engine->source, &initial, err));
    cv_memo_release(&engine->memo);
    remember_snapshot(engine, NULL);
    free(engine->conf_json);
    engine->conf_json = cv_strdup("{}");
    return rebase(engine, query_id, CV_BATCH_NONE, &initial,
                  e->facts.job_in_table ? e->job.query_id : NULL, err);
}

/* The query has an id and no log yet. */
static enum cv_code start_first(struct cv_engine *engine, struct cv_error *err)
{
    struct cv_checkpoint *checkpoint = &engine->checkpoint;
    enum cv_code code = cv_checkpoint_read_initial(checkpoint, &engine->position, err);

    engine->next_batch = 0;
    if (code != CV_NOT_FOUND)
        return code;
    CV_DO(cv_source_initial_offsets(engine->source, &engine->position, err));
    return cv_checkpoint_write_initial(checkpoint, &engine->position, err);
}

/* The state of batch `from` becomes that of `to`, before the logs do: where there is none, they
 * stay as they are. */
static enum cv_code carry_state(struct cv_engine *engine, const char *query_id, int64_t from,
                                int64_t to, struct cv_error *err)
{
    CV_CLEANUP(cv_stateful_freep) struct cv_stateful *stateful = NULL;
    struct cv_checkpoint owner = engine->checkpoint; /* borrowed, under the id of the state */

    if (!cv_stream_query_keeps_state(engine->query))
        return CV_OK;
    (void)snprintf(owner.query_id, sizeof owner.query_id, "%s", query_id);
    CV_DO(cv_stateful_open(engine->query, &owner, &stateful, err));
    CV_DO(cv_stateful_load(stateful, from, err));
    return to > from ? cv_stateful_carry(stateful, to, err) : CV_OK;
}

/* The state after a batch is of the records that this checkpoint logged for it: were those that the
 * table has others, some would count twice or never. */
static enum cv_code check_state_end(struct cv_engine *engine, const struct cv_position *at,
                                    const struct cv_offsets *offsets, struct cv_error *err)
{
    CV_CLEANUP(cv_offset_log_entry_release) struct cv_offset_log_entry entry = {0};
    struct cv_error unread = CV_ERROR_INIT;

    if (!cv_stream_query_keeps_state(engine->query) ||
        cv_checkpoint_read_offsets(&engine->checkpoint, at->epoch, &entry, &unread) != CV_OK ||
        cv_offsets_equal(&entry.offsets, offsets))
        return CV_OK;
    (void)cv_fail(err, CV_CONTRADICTION,
                  "batch %lld ends at other offsets in table %s (snapshot %lld) than the state of "
                  "the query in checkpoint %s",
                  (long long)at->epoch, engine->job->sink.table, (long long)at->snapshot_id,
                  engine->checkpoint.folder);
    cv_hint(err, "start again with --resume-from=start, which rebuilds the state from the topic "
                 "(outputMode complete replaces the table; in append mode use a new table)");
    return CV_CONTRADICTION;
}

static enum cv_code go_on_from_table(struct cv_engine *engine, const struct evidence *e,
                                     struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets offsets = {0};
    const char *cluster = cv_source_cluster_id(engine->source);
    bool of_job = e->facts.superseded || !e->facts.in_table;
    const struct cv_position *at = of_job ? &e->job : &e->own;

    if (of_job && !e->facts.job_in_table)
        return cv_fail(err, CV_CONTRADICTION, "table %s has no position of job %s",
                       engine->job->sink.table, engine->job->options.job);
    if (!at->offsets_json) {
        (void)cv_fail(err, CV_CONTRADICTION,
                      "snapshot %lld of batch %lld was not made by calve: it does not say at which "
                      "offsets it ends",
                      (long long)at->snapshot_id, (long long)at->epoch);
        cv_hint(err, "restore the checkpoint, or read again with --resume-from=start");
        return CV_CONTRADICTION;
    }
    if (engine->config->resume != CV_RESUME_TABLE && at->cluster_id[0] && cluster[0] &&
        strcmp(at->cluster_id, cluster) != 0)
        return fail_contradiction(err,
                                  "the table's position of job %s is of Kafka cluster %s, "
                                  "this one is %s",
                                  engine->job->options.job, at->cluster_id, cluster);
    CV_TRY(cv_offsets_parse(cv_str_from(at->offsets_json), false, &offsets, err), err,
           "position in snapshot %lld", (long long)at->snapshot_id);
    CV_DO(check_state_end(engine, at, &offsets, err));
    CV_DO(carry_state(engine, at->query_id, at->epoch, at->epoch, err));
    remember_snapshot(engine, at);
    CV_DO(rebase(engine, at->query_id, at->epoch, &offsets, NULL, err));
    cv_log_info("going on from the table's own position: batch %lld of query %s, snapshot %lld",
                (long long)at->epoch, at->query_id, (long long)at->snapshot_id);
    return CV_OK;
}

/* The batch id must be one that neither log nor table has used with other offsets. */
static enum cv_code go_on_from_checkpoint(struct cv_engine *engine, const struct evidence *e,
                                          struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets offsets = {0};
    CV_CLEANUP(cv_freep) char *conf_json = NULL;
    const struct cv_checkpoint *checkpoint = &engine->checkpoint;
    char query_id[sizeof checkpoint->query_id];
    int64_t done = checkpoint->newest_commits;
    int64_t batch = CV_MAX(checkpoint->newest_offsets, done);

    if (!checkpoint->query_id[0])
        return cv_fail(err, CV_CONTRADICTION, "checkpoint %s is empty", checkpoint->folder);
    CV_DO(read_start(engine, done + 1, &conf_json, &offsets, err));
    batch = CV_MAX(batch, e->facts.in_table ? e->own.epoch + 1 : 0);
    (void)snprintf(query_id, sizeof query_id, "%s", checkpoint->query_id);
    cv_log_warning("going on from the checkpoint: rows after its batch %lld may be in the table "
                   "twice or, if the table was rolled back, not at all",
                   (long long)done);
    CV_DO(carry_state(engine, query_id, done, batch, err));
    remember_snapshot(engine, e->facts.in_table ? &e->own : NULL);
    return rebase(engine, query_id, batch, &offsets, e->facts.superseded ? e->job.query_id : NULL,
                  err);
}

/* Starting options count only once. */
static void warn_of_starting_options(struct cv_engine *engine)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const char *before = engine->memo.present ? engine->memo.starting : "";
    const char *now = cv_starting_options(&engine->job->source, &arena);

    if (before[0] && strcmp(before, now) != 0 && engine->config->resume != CV_RESUME_START)
        cv_log_warning("%s is ignored: the checkpoint goes on where it is (it began with %s)", now,
                       before);
}

/* Settings that belong to a checkpoint for good. */
static enum cv_code check_memo(struct cv_engine *engine, struct cv_error *err)
{
    const struct cv_memo *memo = &engine->memo;
    const char *cluster = cv_source_cluster_id(engine->source);

    if (!memo->present)
        return CV_OK;
    if (memo->table_uuid[0] && strcmp(memo->table_uuid, engine->table->metadata->table_uuid) != 0) {
        (void)cv_fail(err, CV_CONTRADICTION,
                      "checkpoint %s belongs to table %s (%s); %s is another table (%s)",
                      engine->checkpoint.folder, memo->table, memo->table_uuid,
                      engine->job->sink.table, engine->table->metadata->table_uuid);
        cv_hint(err, "give this table a checkpointLocation of its own");
        return CV_CONTRADICTION;
    }
    if (memo->job[0] && strcmp(memo->job, engine->job->options.job) != 0) {
        (void)cv_fail(err, CV_CONTRADICTION, "checkpoint %s belongs to job %s, not %s",
                      engine->checkpoint.folder, memo->job, engine->job->options.job);
        cv_hint(err, "one checkpoint per job; keep the old name, or use another folder");
        return CV_CONTRADICTION;
    }
    if (engine->config->resume == CV_RESUME_AGREED && memo->cluster_id[0] && cluster[0] &&
        strcmp(memo->cluster_id, cluster) != 0)
        return fail_contradiction(err, "checkpoint %s belongs to Kafka cluster %s, this one is %s",
                                  engine->checkpoint.folder, memo->cluster_id, cluster);
    return CV_OK;
}

static void take_conf(struct cv_engine *engine, struct evidence *e)
{
    if (!e->conf_json)
        return;
    free(engine->conf_json);
    engine->conf_json = cv_steal(e->conf_json);
}

static enum cv_code go_on_after(struct cv_engine *engine, const struct evidence *e,
                                struct cv_error *err)
{
    struct cv_checkpoint *checkpoint = &engine->checkpoint;

    cv_offsets_copy(&engine->position, &e->newest);
    engine->next_batch = e->facts.logged + 1;
    if (checkpoint->newest_commits < e->facts.logged)
        return cv_checkpoint_write_commit(checkpoint, e->facts.logged, err);
    return CV_OK;
}

/* The newest logged batch is not known to be done: it runs again with exactly its logged end. */
static void prepare_redo(struct cv_engine *engine, const struct evidence *e)
{
    cv_offsets_copy(&engine->position, &e->start);
    cv_offsets_copy(&engine->redo_end, &e->newest);
    engine->redo = true;
    engine->next_batch = e->facts.logged;
}

static enum cv_code plan_again(struct cv_engine *engine, const struct evidence *e,
                               struct cv_error *err)
{
    cv_log_warning("the log entry of batch %lld is damaged and nothing of the batch is in the "
                   "table: it is planned again (%s)",
                   (long long)e->facts.logged, e->damage.message);
    CV_DO(cv_checkpoint_put_offsets_aside(&engine->checkpoint, e->facts.logged, err));
    cv_offsets_copy(&engine->position, &e->start);
    engine->next_batch = e->facts.logged;
    return CV_OK;
}

static enum cv_code fail_behind(struct cv_engine *engine, const struct evidence *e,
                                struct cv_error *err)
{
    return fail_contradiction(
        err,
        "table %s has batch %lld of query %s (snapshot %lld), but checkpoint %s ends at batch "
        "%lld: was it restored from a backup?",
        engine->job->sink.table, (long long)e->own.epoch, engine->checkpoint.query_id,
        (long long)e->own.snapshot_id, engine->checkpoint.folder, (long long)e->facts.logged);
}

static enum cv_code fail_ahead(struct cv_engine *engine, const struct evidence *e,
                               struct cv_error *err)
{
    char table_says[128];

    if (e->facts.committed > e->facts.logged)
        return fail_contradiction(err, "checkpoint %s has commits/%lld without its offsets",
                                  engine->checkpoint.folder, (long long)e->facts.committed);
    if (e->facts.in_table)
        (void)snprintf(table_says, sizeof table_says, "ends at batch %lld",
                       (long long)e->own.epoch);
    else
        (void)snprintf(table_says, sizeof table_says, "has no batch of it");
    return fail_contradiction(
        err,
        "checkpoint %s has committed batch %lld of query %s, but table %s %s: was the table "
        "rolled back, or its history expired?",
        engine->checkpoint.folder, (long long)cv_recovery_newest_snapshot(&e->facts),
        engine->checkpoint.query_id, engine->job->sink.table, table_says);
}

static enum cv_code fail_damaged(struct cv_engine *engine, const struct evidence *e,
                                 struct cv_error *err)
{
    return fail_contradiction(err, "checkpoint %s, batch %lld: %s", engine->checkpoint.folder,
                              (long long)e->facts.logged, e->damage.message);
}

static enum cv_code fail_other(struct cv_engine *engine, const struct evidence *e,
                               enum cv_recovery decision, struct cv_error *err)
{
    if (decision == CV_RECOVER_STOP_OFFSETS)
        return fail_contradiction(err,
                                  "batch %lld ends at other offsets in table %s (snapshot %lld) "
                                  "than in checkpoint %s",
                                  (long long)e->own.epoch, engine->job->sink.table,
                                  (long long)e->own.snapshot_id, engine->checkpoint.folder);
    return fail_contradiction(
        err,
        "the newest position of job %s in table %s is batch %lld of query %s "
        "(snapshot %lld), but checkpoint %s is of query %s: was it restored "
        "from a backup?",
        engine->job->options.job, engine->job->sink.table, (long long)e->job.epoch, e->job.query_id,
        (long long)e->job.snapshot_id, engine->checkpoint.folder, engine->checkpoint.query_id);
}

static enum cv_code act(struct cv_engine *engine, struct evidence *e, enum cv_recovery decision,
                        struct cv_error *err)
{
    switch (decision) {
    case CV_RECOVER_NEW:
        return start_new(engine, e, err);
    case CV_RECOVER_FIRST:
        return start_first(engine, err);
    case CV_RECOVER_NEXT:
        return go_on_after(engine, e, err);
    case CV_RECOVER_REDO:
        prepare_redo(engine, e);
        return CV_OK;
    case CV_RECOVER_PLAN_AGAIN:
        return plan_again(engine, e, err);
    case CV_RECOVER_FROM_TABLE:
        return go_on_from_table(engine, e, err);
    case CV_RECOVER_FROM_CHECKPOINT:
        return go_on_from_checkpoint(engine, e, err);
    case CV_RECOVER_STOP_IDENTITY:
        return cv_checkpoint_check_identity(&engine->checkpoint, err);
    case CV_RECOVER_STOP_BEHIND:
        return fail_behind(engine, e, err);
    case CV_RECOVER_STOP_AHEAD:
        return fail_ahead(engine, e, err);
    case CV_RECOVER_STOP_DAMAGED:
        return fail_damaged(engine, e, err);
    case CV_RECOVER_STOP_OFFSETS:
    case CV_RECOVER_STOP_SUPERSEDED:
        break;
    }
    return fail_other(engine, e, decision, err);
}

/* calve.json is there before the first batch: one without rows leaves no other trace of how far
 * table and logs may be apart. After a choice it no longer asks about what was chosen. */
static enum cv_code settle_memo(struct cv_engine *engine, const struct evidence *e,
                                enum cv_recovery decision, struct cv_error *err)
{
    struct cv_memo *memo = &engine->memo;
    bool stale = !memo->present || engine->config->resume != CV_RESUME_AGREED;

    if (decision >= CV_RECOVER_NEXT && decision <= CV_RECOVER_PLAN_AGAIN && e->facts.in_table)
        remember_snapshot(engine, &e->own);
    /* Fingerprints of another batch: this one was committed by a process that did not live to take
     * its own, or by Spark. */
    if (stale || memo->batch != engine->next_batch - 1)
        memo->fingerprint_count = 0;
    if (!stale)
        return CV_OK;
    return cv_engine_write_memo(engine, engine->next_batch - 1, -1, err);
}

enum cv_code cv_engine_recover(struct cv_engine *engine, struct cv_error *err)
{
    CV_CLEANUP(evidence_release) struct evidence e = {0};
    enum cv_recovery decision;
    bool damaged;

    CV_DO(cv_checkpoint_read_memo(&engine->checkpoint, &engine->memo, &damaged, err));
    if (damaged)
        cv_log_warning("%s/calve.json is damaged and left aside: a topic created anew will not be "
                       "noticed this time",
                       engine->checkpoint.folder);
    CV_DO(check_memo(engine, err));
    warn_of_starting_options(engine);
    CV_DO(look_into_table(engine, &e, err));
    CV_DO(look_into_checkpoint(engine, &e, err));
    decision = cv_recovery_decide(&e.facts);
    take_conf(engine, &e);
    CV_DO(act(engine, &e, decision, err));
    CV_DO(settle_memo(engine, &e, decision, err));
    return cv_engine_check_topics(engine, err);
}
