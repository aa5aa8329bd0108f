/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a run goes on. The table is asked first: what it has is done, whatever the checkpoint says.
 * If the two contradict each other the run stops and says which answers exist; --resume-from
 * chooses. src/stream/README.md has the table of cases. */
#include "stream/engine_int.h"

#include "base/log.h"
#include "base/time.h"

#include <stdio.h>
#include <stdlib.h>

/* What the table and the checkpoint say. */
struct evidence {
    struct cv_arena arena;
    bool in_table;               /* the table knows the query (or, without checkpoint, the job) */
    struct cv_position position; /* then: where it is */
};

static void evidence_release(struct evidence *e)
{
    cv_arena_release(&e->arena);
}

static enum cv_code look_into_table(struct cv_engine *engine, struct evidence *e,
                                    struct cv_error *err)
{
    enum cv_code code;

    if (engine->checkpoint.query_id[0])
        code = cv_position_find_query(engine->table, engine->checkpoint.query_id, &e->arena,
                                      &e->position, err);
    else
        code = cv_position_find_job(engine->table, engine->job->options.job, &e->arena,
                                    &e->position, err);
    if (code == CV_NOT_FOUND)
        return CV_OK;
    CV_DO(code);
    e->in_table = true;
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

static void set_conf(struct cv_engine *engine, const char *conf_json)
{
    free(engine->conf_json);
    engine->conf_json = cv_strdup(conf_json ? conf_json : "{}");
}

static enum cv_code write_log_entry(struct cv_engine *engine, int64_t batch,
                                    const struct cv_offsets *offsets, struct cv_error *err)
{
    struct cv_offset_log_entry entry = {
        .batch_timestamp_ms = cv_now_ms(), .conf_json = engine->conf_json, .offsets = *offsets};

    return cv_checkpoint_write_offsets(&engine->checkpoint, batch, &entry, err);
}

/* Makes the logs anew so that `batch` is done and ends at `offsets`. Spark wants the entry before
 * the newest one too. */
static enum cv_code rebase_checkpoint(struct cv_engine *engine, const char *query_id, int64_t batch,
                                      const struct cv_offsets *offsets, struct cv_error *err)
{
    struct cv_checkpoint *checkpoint = &engine->checkpoint;

    if (checkpoint->query_id[0])
        CV_DO(cv_checkpoint_set_aside(checkpoint, err));
    CV_DO(cv_checkpoint_write_metadata(checkpoint, query_id, err));
    CV_DO(cv_checkpoint_write_initial(checkpoint, offsets, err));
    if (batch > 0) {
        CV_DO(write_log_entry(engine, batch - 1, offsets, err));
        CV_DO(cv_checkpoint_write_commit(checkpoint, batch - 1, err));
    }
    CV_DO(write_log_entry(engine, batch, offsets, err));
    CV_DO(cv_checkpoint_write_commit(checkpoint, batch, err));
    cv_offsets_copy(&engine->position, offsets);
    engine->next_batch = batch + 1;
    return CV_OK;
}

static enum cv_code start_fresh(struct cv_engine *engine, struct cv_error *err)
{
    char query_id[CV_UUID_TEXT_BYTES];

    if (engine->checkpoint.query_id[0])
        CV_DO(cv_checkpoint_set_aside(&engine->checkpoint, err));
    cv_memo_release(&engine->memo);
    engine->memo = (struct cv_memo){.snapshot_id = -1, .snapshot_epoch = CV_BATCH_NONE};
    cv_uuid_text(query_id);
    CV_DO(cv_source_initial_offsets(engine->source, &engine->position, err));
    CV_DO(cv_checkpoint_write_metadata(&engine->checkpoint, query_id, err));
    CV_DO(cv_checkpoint_write_initial(&engine->checkpoint, &engine->position, err));
    engine->next_batch = 0;
    return CV_OK;
}

static enum cv_code resume_from_table(struct cv_engine *engine, const struct evidence *e,
                                      struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets offsets = {0};
    const char *cluster = cv_source_cluster_id(engine->source);

    if (!e->in_table)
        return cv_fail(err, CV_CONTRADICTION, "table %s has no position of job %s",
                       engine->job->sink.table, engine->job->options.job);
    if (!e->position.offsets_json) {
        (void)cv_fail(err, CV_CONTRADICTION,
                      "snapshot %lld of batch %lld was not made by calve: it does not say at which "
                      "offsets it ends",
                      (long long)e->position.snapshot_id, (long long)e->position.epoch);
        cv_hint(err, "restore the checkpoint, or read again with --resume-from=start");
        return CV_CONTRADICTION;
    }
    if (engine->config->resume != CV_RESUME_TABLE && e->position.cluster_id[0] && cluster[0] &&
        strcmp(e->position.cluster_id, cluster) != 0)
        return fail_contradiction(err,
                                  "the table's position of job %s is of Kafka cluster %s, "
                                  "this one is %s",
                                  engine->job->options.job, e->position.cluster_id, cluster);
    CV_TRY(cv_offsets_parse(cv_str_from(e->position.offsets_json), false, &offsets, err), err,
           "position in snapshot %lld", (long long)e->position.snapshot_id);
    CV_DO(rebase_checkpoint(engine, e->position.query_id, e->position.epoch, &offsets, err));
    engine->memo.snapshot_id = e->position.snapshot_id;
    engine->memo.snapshot_epoch = e->position.epoch;
    cv_log_info("going on from the table's own position: batch %lld of query %s, snapshot %lld",
                (long long)e->position.epoch, e->position.query_id,
                (long long)e->position.snapshot_id);
    return CV_OK;
}

static enum cv_code read_end(struct cv_engine *engine, int64_t batch,
                             struct cv_offsets *ret_offsets, struct cv_error *err)
{
    CV_CLEANUP(cv_offset_log_entry_release) struct cv_offset_log_entry entry = {0};

    CV_TRY(cv_checkpoint_read_offsets(&engine->checkpoint, batch, &entry, err), err,
           "offsets of batch %lld", (long long)batch);
    cv_offsets_copy(ret_offsets, &entry.offsets);
    set_conf(engine, entry.conf_json);
    return CV_OK;
}

/* The end of the batch before `batch`: the entry before it, or the initial offsets. */
static enum cv_code read_start(struct cv_engine *engine, int64_t batch,
                               struct cv_offsets *ret_offsets, struct cv_error *err)
{
    if (batch > 0)
        return read_end(engine, batch - 1, ret_offsets, err);
    CV_TRY(cv_checkpoint_read_initial(&engine->checkpoint, ret_offsets, err), err,
           "initial offsets");
    return CV_OK;
}

static enum cv_code resume_from_checkpoint(struct cv_engine *engine, const struct evidence *e,
                                           struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets offsets = {0};
    const struct cv_checkpoint *checkpoint = &engine->checkpoint;
    char query_id[sizeof checkpoint->query_id];
    int64_t newest = checkpoint->newest_offsets;

    if (!checkpoint->query_id[0])
        return cv_fail(err, CV_CONTRADICTION, "checkpoint %s is empty", checkpoint->folder);
    if (checkpoint->newest_commits >= 0)
        CV_DO(read_end(engine, checkpoint->newest_commits, &offsets, err));
    else
        CV_DO(read_start(engine, 0, &offsets, err));
    if (e->in_table)
        newest = CV_MAX(newest, e->position.epoch);
    newest = CV_MAX(newest, 0);
    (void)snprintf(query_id, sizeof query_id, "%s", checkpoint->query_id);
    cv_log_warning("going on from the checkpoint: rows after its batch %lld may be in the table "
                   "twice or, if the table was rolled back, not at all",
                   (long long)checkpoint->newest_commits);
    CV_DO(rebase_checkpoint(engine, query_id, newest, &offsets, err));
    engine->memo.snapshot_id = -1;
    engine->memo.snapshot_epoch = CV_BATCH_NONE;
    return CV_OK;
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

/* The newest batch that must be in the table as a snapshot, by what the checkpoint knows. Batches
 * without rows leave none, which only calve.json can tell. */
static int64_t newest_with_snapshot(const struct cv_engine *engine)
{
    if (engine->memo.present)
        return engine->memo.snapshot_epoch;
    return engine->checkpoint.newest_commits;
}

static enum cv_code check_same_offsets(struct cv_engine *engine, const struct evidence *e,
                                       const struct cv_offsets *logged, struct cv_error *err)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets in_table = {0};

    if (!e->position.offsets_json)
        return CV_OK;
    CV_DO(cv_offsets_parse(cv_str_from(e->position.offsets_json), false, &in_table, err));
    if (cv_offsets_equal(&in_table, logged))
        return CV_OK;
    return fail_contradiction(err,
                              "batch %lld ends at other offsets in table %s (snapshot %lld) "
                              "than in checkpoint %s",
                              (long long)e->position.epoch, engine->job->sink.table,
                              (long long)e->position.snapshot_id, engine->checkpoint.folder);
}

/* The newest logged batch is not known to be done: it runs again with exactly its logged end. */
static enum cv_code prepare_redo(struct cv_engine *engine, int64_t batch, struct cv_error *err)
{
    CV_CLEANUP(cv_offset_log_entry_release) struct cv_offset_log_entry entry = {0};

    CV_DO(read_start(engine, batch, &engine->position, err));
    CV_DO(cv_checkpoint_read_offsets(&engine->checkpoint, batch, &entry, err));
    cv_offsets_copy(&engine->redo_end, &entry.offsets);
    set_conf(engine, entry.conf_json);
    engine->redo = true;
    engine->next_batch = batch;
    return CV_OK;
}

static enum cv_code fail_behind(struct cv_engine *engine, const struct evidence *e,
                                struct cv_error *err)
{
    return fail_contradiction(
        err,
        "table %s has batch %lld of query %s (snapshot %lld), but checkpoint %s ends at batch "
        "%lld: was it restored from a backup?",
        engine->job->sink.table, (long long)e->position.epoch, engine->checkpoint.query_id,
        (long long)e->position.snapshot_id, engine->checkpoint.folder,
        (long long)engine->checkpoint.newest_offsets);
}

static enum cv_code fail_ahead(struct cv_engine *engine, const struct evidence *e,
                               struct cv_error *err)
{
    char table_says[128];

    if (e->in_table)
        (void)snprintf(table_says, sizeof table_says, "ends at batch %lld",
                       (long long)e->position.epoch);
    else
        (void)snprintf(table_says, sizeof table_says, "has no batch of it");
    return fail_contradiction(
        err,
        "checkpoint %s has committed batch %lld of query %s, but table %s %s: was the table "
        "rolled back, or its history expired?",
        engine->checkpoint.folder, (long long)newest_with_snapshot(engine),
        engine->checkpoint.query_id, engine->job->sink.table, table_says);
}

static enum cv_code compare(struct cv_engine *engine, const struct evidence *e,
                            struct cv_error *err)
{
    struct cv_checkpoint *checkpoint = &engine->checkpoint;
    int64_t logged = checkpoint->newest_offsets;
    int64_t in_table = e->in_table ? e->position.epoch : CV_BATCH_NONE;

    if (in_table > logged)
        return fail_behind(engine, e, err);
    if (in_table < newest_with_snapshot(engine) || checkpoint->newest_commits > logged)
        return fail_ahead(engine, e, err);
    if (logged == CV_BATCH_NONE) {
        enum cv_code code = cv_checkpoint_read_initial(checkpoint, &engine->position, err);

        engine->next_batch = 0;
        if (code != CV_NOT_FOUND)
            return code;
        CV_DO(cv_source_initial_offsets(engine->source, &engine->position, err));
        return cv_checkpoint_write_initial(checkpoint, &engine->position, err);
    }
    if (in_table == logged || checkpoint->newest_commits == logged) {
        CV_DO(read_end(engine, logged, &engine->position, err));
        if (in_table == logged)
            CV_DO(check_same_offsets(engine, e, &engine->position, err));
        if (checkpoint->newest_commits < logged)
            CV_DO(cv_checkpoint_write_commit(checkpoint, logged, err));
        engine->next_batch = logged + 1;
        return CV_OK;
    }
    return prepare_redo(engine, logged, err);
}

static void drop_topic(struct cv_offsets *offsets, const char *topic)
{
    CV_CLEANUP(cv_offsets_release) struct cv_offsets kept = {0};

    for (size_t i = 0; i < offsets->count; i++)
        if (strcmp(offsets->items[i].topic, topic) != 0)
            cv_offsets_set(&kept, offsets->items[i].topic, offsets->items[i].partition,
                           offsets->items[i].offset);
    cv_offsets_copy(offsets, &kept);
}

static void drop_fingerprints(struct cv_memo *memo, const char *topic)
{
    size_t kept = 0;

    for (size_t i = 0; i < memo->fingerprint_count; i++) {
        if (strcmp(memo->fingerprints[i].topic, topic) == 0)
            continue;
        memo->fingerprints[kept] = memo->fingerprints[i];
        memo->ends[kept++] = memo->ends[i];
    }
    memo->fingerprint_count = kept;
}

void cv_engine_forget_recreated(struct cv_engine *engine)
{
    for (size_t i = 0; i < engine->recreated.count; i++) {
        drop_topic(&engine->position, engine->recreated.items[i].topic);
        drop_fingerprints(&engine->memo, engine->recreated.items[i].topic);
    }
    cv_offsets_clear(&engine->recreated);
}

/* The batch to redo was planned on the old topic, of which nothing is left to read: it keeps its
 * logged end, and the new topic is read by the batch after it. */
static void note_recreated(struct cv_engine *engine, const char *topic)
{
    for (size_t i = 0; i < engine->redo_end.count; i++) {
        const struct cv_offset *end = &engine->redo_end.items[i];

        if (engine->redo && strcmp(end->topic, topic) == 0)
            cv_offsets_set(&engine->position, topic, end->partition, end->offset);
    }
    cv_offsets_set(&engine->recreated, topic, 0, 0);
}

/* A topic created anew under its old name has other records at the remembered offsets. */
static enum cv_code check_topic(struct cv_engine *engine, const char *topic,
                                const struct cv_fingerprint *fingerprints, size_t count,
                                struct cv_error *err)
{
    const char *what = "";
    bool same = true;

    CV_TRY(cv_source_verify_fingerprints(engine->source, fingerprints, count, &same, &what, err),
           err, "looking whether topic %s is still the same", topic);
    if (same)
        return CV_OK;
    if (engine->job->source.fail_on_data_loss) {
        (void)fail_contradiction(err, "topic %s was created anew since the last run: %s", topic,
                                 what);
        cv_hint(err, "failOnDataLoss: false reads the new topic from its beginning; "
                     "--resume-from=checkpoint goes on at the old offsets, --resume-from=start "
                     "reads every topic again");
        return CV_CONTRADICTION;
    }
    cv_log_warning("topic %s was created anew since the last run (%s): it is read from its "
                   "beginning",
                   topic, what);
    note_recreated(engine, topic);
    return CV_OK;
}

/* Those fingerprints that were taken where the run goes on; the rest are of an earlier batch, whose
 * successor was committed by a process that did not live to note its own. */
static size_t current_fingerprints(struct cv_engine *engine, struct cv_fingerprint *current)
{
    const struct cv_memo *memo = &engine->memo;
    size_t count = 0;

    for (size_t i = 0; i < memo->fingerprint_count; i++) {
        const struct cv_fingerprint *f = &memo->fingerprints[i];
        const struct cv_offset *at = cv_offsets_find(&engine->position, f->topic, f->partition);

        if (at && at->offset == memo->ends[i])
            current[count++] = *f;
    }
    return count;
}

static enum cv_code check_topics(struct cv_engine *engine, struct cv_error *err)
{
    CV_CLEANUP(cv_freep)
    struct cv_fingerprint *current = cv_alloc(engine->memo.fingerprint_count * sizeof *current);
    size_t count = current_fingerprints(engine, current);
    size_t first = 0;

    if (engine->config->resume != CV_RESUME_AGREED)
        return CV_OK;
    while (first < count) {
        size_t end = first + 1;

        while (end < count && strcmp(current[end].topic, current[first].topic) == 0)
            end++;
        CV_DO(check_topic(engine, current[first].topic, current + first, end - first, err));
        first = end;
    }
    if (!engine->redo)
        cv_engine_forget_recreated(engine);
    return CV_OK;
}

static enum cv_code decide(struct cv_engine *engine, const struct evidence *e, struct cv_error *err)
{
    switch (engine->config->resume) {
    case CV_RESUME_START:
        return start_fresh(engine, err);
    case CV_RESUME_TABLE:
        return resume_from_table(engine, e, err);
    case CV_RESUME_CHECKPOINT:
        return resume_from_checkpoint(engine, e, err);
    case CV_RESUME_AGREED:
        break;
    }
    if (engine->checkpoint.query_id[0])
        return compare(engine, e, err);
    if (e->in_table)
        return resume_from_table(engine, e, err);
    return start_fresh(engine, err);
}

enum cv_code cv_engine_recover(struct cv_engine *engine, struct cv_error *err)
{
    CV_CLEANUP(evidence_release) struct evidence e = {0};
    bool damaged;

    CV_DO(cv_checkpoint_read_memo(&engine->checkpoint, &engine->memo, &damaged, err));
    if (damaged)
        cv_log_warning("%s/calve.json is damaged and left aside: a topic created anew will not be "
                       "noticed this time",
                       engine->checkpoint.folder);
    CV_DO(check_memo(engine, err));
    warn_of_starting_options(engine);
    CV_DO(look_into_table(engine, &e, err));
    CV_DO(decide(engine, &e, err));
    return check_topics(engine, err);
}
