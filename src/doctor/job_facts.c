/* SPDX-License-Identifier: Apache-2.0
 *
 * What checkpoint, broker and registry tell about a job. A server that does not answer is no
 * failure of the examination: what it would have told is not judged. */
#include "doctor/doctor_int.h"

#include "base/time.h"
#include "table/position.h"

#define SERVER_WAIT_US (5 * CV_US_PER_SECOND)

static void read_table_position(struct cv_doctor *d, const char *query_id)
{
    struct cv_checkpoint_facts *facts = &d->checkpoint;
    struct cv_recovery_evidence *evidence = &facts->evidence;
    struct cv_position job, own;
    const char *offsets = NULL;

    evidence->job_in_table = cv_position_find_job(d->config->table, d->config->job->options.job,
                                                  d->arena, &job, NULL) == CV_OK;
    evidence->in_table = query_id[0] && cv_position_find_query(d->config->table, query_id, d->arena,
                                                               &own, NULL) == CV_OK;
    evidence->table_epoch = evidence->in_table ? own.epoch : CV_BATCH_NONE;
    evidence->table_has_offsets = evidence->in_table && own.offsets_json;
    if (evidence->table_has_offsets)
        offsets = own.offsets_json;
    else if (evidence->job_in_table)
        offsets = job.offsets_json;
    facts->in_table = offsets && cv_offsets_parse(cv_str_from(offsets), false,
                                                  &facts->table_position, NULL) == CV_OK;
}

static bool can_read(struct cv_checkpoint *checkpoint, int64_t batch,
                     struct cv_offsets *ret_offsets)
{
    CV_CLEANUP(cv_offset_log_entry_release) struct cv_offset_log_entry entry = {0};

    if (batch == CV_BATCH_NONE)
        return cv_checkpoint_read_initial(checkpoint, ret_offsets, NULL) == CV_OK;
    if (cv_checkpoint_read_offsets(checkpoint, batch, &entry, NULL) != CV_OK)
        return false;
    cv_offsets_copy(ret_offsets, &entry.offsets);
    return true;
}

/* The evidence that the next start would decide by (stream/recovery.c). */
static void read_logs(struct cv_doctor *d, struct cv_checkpoint *checkpoint)
{
    CV_CLEANUP(cv_memo_release) struct cv_memo memo = {0};
    CV_CLEANUP(cv_offsets_release) struct cv_offsets newest = {0};
    CV_CLEANUP(cv_offsets_release) struct cv_offsets start = {0};
    struct cv_checkpoint_facts *facts = &d->checkpoint;
    struct cv_recovery_evidence *evidence = &facts->evidence;
    bool damaged = false;

    evidence->has_query = checkpoint->query_id[0];
    evidence->logged = checkpoint->newest_offsets;
    evidence->committed = checkpoint->newest_commits;
    evidence->memo_batch = evidence->memo_snapshot_epoch = CV_BATCH_NONE;
    if (cv_checkpoint_read_memo(checkpoint, &memo, &damaged, NULL) == CV_OK && memo.present) {
        evidence->memo_present = true;
        evidence->memo_batch = memo.batch;
        evidence->memo_snapshot_epoch = memo.snapshot_epoch;
        facts->totals = memo.totals;
    }
    read_table_position(d, checkpoint->query_id);
    if (evidence->logged != CV_BATCH_NONE) {
        evidence->newest_damaged = !can_read(checkpoint, evidence->logged, &newest);
        evidence->start_damaged = !can_read(checkpoint, evidence->logged - 1, &start);
        evidence->other_offsets = !evidence->newest_damaged && evidence->table_has_offsets &&
                                  evidence->table_epoch == evidence->logged &&
                                  !cv_offsets_equal(&newest, &facts->table_position);
    }
    facts->decision = cv_recovery_decide(evidence);
    facts->known = true;
}

static void look_at_checkpoint(struct cv_doctor *d)
{
    CV_CLEANUP(cv_checkpoint_release) struct cv_checkpoint checkpoint = {.lock = -1};

    const struct cv_job *job = d->config->job;

    /* In a store nobody can tell: it may be. */
    d->checkpoint.used = job->checkpoint_stored || cv_checkpoint_is_used(job->checkpoint);
    if (cv_job_open_checkpoint(job, d->config->catalog, true, &checkpoint, NULL) == CV_OK)
        read_logs(d, &checkpoint);
    else
        read_table_position(d, "");
}

struct patience {
    const struct cv_examine_config *config;
    int64_t deadline_us;
};

static bool out_of_patience(void *context)
{
    const struct patience *patience = context;
    const struct cv_examine_config *config = patience->config;

    return cv_monotonic_us() > patience->deadline_us ||
           (config->stopping && config->stopping(config->stopping_context));
}

static enum cv_code look_at_kafka(struct cv_doctor *d, struct cv_error *err)
{
    struct patience patience = {d->config, cv_monotonic_us() + SERVER_WAIT_US};
    CV_CLEANUP(cv_source_freep) struct cv_source *source = NULL;
    struct cv_source_options options = d->config->job->source;
    struct cv_source_config config = {.options = &options,
                                      .job = d->config->job->options.job,
                                      .memory_bytes = (size_t)32 << 20,
                                      .cancelled = out_of_patience,
                                      .cancel_context = &patience};

    options.poll_timeout_us = CV_MIN(options.poll_timeout_us, SERVER_WAIT_US);
    options.fail_on_data_loss = false; /* loss is what is looked for */
    CV_DO(cv_source_open(&config, &source, err));
    return cv_source_examine(source, d->config->job->lag_group, &d->checkpoint.table_position,
                             &d->kafka, err);
}

/* The decoder compares the registry's latest schema with the table; fields without a column are an
 * error when they may not be ignored. */
static void look_at_schema(struct cv_doctor *d)
{
    const struct cv_job *job = d->config->job;
    struct patience patience = {d->config, cv_monotonic_us() + SERVER_WAIT_US};
    struct cv_decoder_config config = {
        .options = &job->value,
        .select = job->options.select,
        .include_headers = job->source.include_headers,
        .table = cv_table_metadata_schema(d->metadata),
        .cancelled = out_of_patience,
        .cancel_context = &patience,
    };
    struct cv_decoder *decoder = NULL;
    struct cv_error err = CV_ERROR_INIT;
    enum cv_code code;

    if (job->source.subscribe)
        config.topics = (const char *const *)cv_split(d->arena, job->source.subscribe, ',',
                                                      &config.topic_count);
    code = cv_decoder_open(&config, &decoder, &err);
    cv_decoder_free(decoder);
    if (code == CV_SCHEMA || code == CV_CONFIG)
        d->schema_drift = cv_arena_strdup(d->arena, err.message);
}

enum cv_code cv_doctor_look_at_job(struct cv_doctor *d, struct cv_error *err)
{
    const struct cv_examine_config *config = d->config;

    look_at_checkpoint(d);
    look_at_schema(d);
    d->kafka_known = look_at_kafka(d, &d->kafka_error) == CV_OK;
    if (config->stopping && config->stopping(config->stopping_context))
        return cv_fail(err, CV_CANCELLED, "cancelled");
    return CV_OK;
}
