/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings about a job: its checkpoint, its position, its topic, its records. */
#include "doctor/doctor_int.h"

#include "base/time.h"

#define RETRY_PERCENT     5 /* of commits, that others alarm at */
#define RETRIES_MIN       3
#define HEADROOM_PERCENT  25 /* of the retention */
#define HEADROOM_CRITICAL 10
#define STUCK_TRIGGERS    10
#define STUCK_MS_MIN      (10 * 60 * CV_MS_PER_SECOND)
#define FRESH_MS          CV_MS_PER_DAY

/* As a word of a command. */
static const char *job_file(const struct cv_doctor *d)
{
    return cv_doctor_quoted(d->config->job->file.path, d->arena);
}

/* --- checkpoint ------------------------------------------------------------------------------ */

void cv_judge_retries(struct cv_doctor *d)
{
    const struct cv_memo_totals *totals = &d->checkpoint.totals;
    struct cv_finding *finding;

    if (totals->retried_commits < RETRIES_MIN)
        return;
    finding =
        cv_doctor_add(d, totals->retried_commits,
                      "%lld of %lld commits had to be tried again, %lld times in all "
                      "(calve.json of the checkpoint, since %s)",
                      (long long)totals->retried_commits, (long long)totals->batches,
                      (long long)totals->retries, cv_expiry_time(totals->since_ms, 0, d->arena));
    if (totals->retried_commits * 100 < totals->batches * RETRY_PERCENT)
        finding->severity = CV_SEVERITY_NOTE;
    finding->why = "another program commits to the table at the same time; each try reads and "
                   "writes the metadata again";
    finding->expected = "see foreign-writer; maintenance in the job's own process never makes one";
}

void cv_judge_unknown_commit(struct cv_doctor *d)
{
    const struct cv_checkpoint_facts *facts = &d->checkpoint;
    const struct cv_recovery_evidence *evidence = &facts->evidence;
    struct cv_finding *finding;

    if (!facts->known || facts->used || evidence->logged <= evidence->committed ||
        facts->decision >= CV_RECOVER_STOP_IDENTITY)
        return;
    finding = cv_doctor_add(d, evidence->logged,
                            "batch %lld was begun and not noted as done; the table %s",
                            (long long)evidence->logged,
                            evidence->table_epoch == evidence->logged ? "has it"
                                                                      : "does not have "
                                                                        "it");
    finding->why = "the process ended between the two; what of it is true is in the table alone";
    finding->command = cv_doctor_text(d, "calve run %s", job_file(d));
    finding->expected = evidence->table_epoch == evidence->logged
                            ? "the next start notes it and goes on after it"
                            : "the next start runs exactly that batch again";
}

static const char *contradiction(enum cv_recovery decision)
{
    switch (decision) {
    case CV_RECOVER_STOP_IDENTITY:
        return "the checkpoint has logs and no query id";
    case CV_RECOVER_STOP_BEHIND:
        return "the table is ahead of the checkpoint: was it restored from a backup?";
    case CV_RECOVER_STOP_AHEAD:
        return "the table lacks batches that the checkpoint has: was it rolled back?";
    case CV_RECOVER_STOP_OFFSETS:
        return "table and checkpoint name other end offsets for the same batch";
    case CV_RECOVER_STOP_SUPERSEDED:
        return "the table has newer batches of this job from another checkpoint";
    case CV_RECOVER_STOP_DAMAGED:
        return "the newest entry of the checkpoint's log cannot be read";
    default:
        return NULL;
    }
}

static void compare_with_checkpoint(struct cv_doctor *d)
{
    const struct cv_checkpoint_facts *facts = &d->checkpoint;
    const char *what = contradiction(facts->decision);
    struct cv_finding *finding;

    if (!facts->known || facts->used || !what)
        return;
    finding =
        cv_doctor_add(d, facts->evidence.table_epoch,
                      "%s (table: batch %lld, checkpoint: batch %lld logged, %lld done)", what,
                      (long long)facts->evidence.table_epoch, (long long)facts->evidence.logged,
                      (long long)facts->evidence.committed);
    finding->why = "the next start stops: to go on either way would lose or double rows";
    finding->command = cv_doctor_text(d, "calve run %s --resume-from=table", job_file(d));
    finding->expected = "goes on after what the table has; --resume-from=checkpoint after what the "
                        "checkpoint has";
}

/* The group is only shown to lag tools; one behind is an update on its way or a job that ended. */
static void compare_with_group(struct cv_doctor *d)
{
    int64_t ahead = 0, behind = 0;
    struct cv_finding *finding;

    if (!d->kafka_known || !d->checkpoint.in_table || d->checkpoint.used)
        return;
    for (size_t i = 0; i < d->kafka.count; i++) {
        const struct cv_partition_health *p = &d->kafka.partitions[i];

        if (p->committed < 0 ||
            !cv_offsets_find(&d->checkpoint.table_position, p->topic, p->partition))
            continue;
        ahead += CV_MAX(p->committed - p->position, 0);
        behind += CV_MAX(p->position - p->committed, 0);
    }
    if (!ahead && !behind)
        return;
    finding = cv_doctor_add(d, ahead + behind, "group %s is %lld records %s what the table has",
                            d->config->job->lag_group, (long long)(ahead ? ahead : behind),
                            ahead ? "ahead of" : "behind");
    finding->severity = ahead ? CV_SEVERITY_WARNING : CV_SEVERITY_NOTE;
    finding->why = "lag tools show the group; calve itself never reads it back";
    finding->command = cv_doctor_text(d, "calve run %s --once", job_file(d));
    finding->expected = "every run sets the group to the table's position";
}

void cv_judge_position(struct cv_doctor *d)
{
    compare_with_checkpoint(d);
    compare_with_group(d);
}

/* --- topic ----------------------------------------------------------------------------------- */

void cv_judge_out_of_range(struct cv_doctor *d)
{
    const struct cv_partition_health *worst = NULL;
    int64_t lost = 0;
    struct cv_finding *finding;

    for (size_t i = 0; d->kafka_known && i < d->kafka.count; i++) {
        const struct cv_partition_health *p = &d->kafka.partitions[i];

        if (p->position >= p->earliest)
            continue;
        if (!worst || p->earliest - p->position > worst->earliest - worst->position)
            worst = p;
        lost += p->earliest - p->position;
    }
    if (!worst)
        return;
    finding = cv_doctor_add(d, lost,
                            "%lld records were deleted from the topic before they were read, most "
                            "of %s[%d]: it begins at %lld, the table is at %lld",
                            (long long)lost, worst->topic, worst->partition,
                            (long long)worst->earliest, (long long)worst->position);
    finding->why = "they are in the table never, unless somebody has a copy";
    finding->command =
        cv_doctor_text(d, "calve run %s -o source.failOnDataLoss=false", job_file(d));
    finding->expected = "goes on at the earliest records that are left and counts the lost ones";
}

void cv_judge_broker(struct cv_doctor *d)
{
    struct cv_finding *finding;

    if (!d->metadata || !d->config->job || d->kafka_known)
        return;
    finding = cv_doctor_add(d, 1, "no broker answered%s%s",
                            d->kafka_error.code == CV_CANCELLED ? "" : ": ",
                            d->kafka_error.code == CV_CANCELLED ? "" : d->kafka_error.message);
    finding->why = "the topic's side is not judged: lost records, retention, partitions that stand "
                   "still";
    finding->command = cv_doctor_text(d, "calve check %s", job_file(d));
    finding->expected = "tells what is wrong with the connection";
}

/* Rounded down, of as much as retention.ms may be: people write INT64_MAX for "for ever". */
static int64_t percent_of(int64_t value, int64_t percent)
{
    return value / 100 * percent + value % 100 * percent / 100;
}

static int64_t lag_of(const struct cv_partition_health *p)
{
    return CV_MAX(p->latest - CV_MAX(p->position, p->earliest), 0);
}

void cv_judge_headroom(struct cv_doctor *d)
{
    const struct cv_partition_health *worst = NULL;
    int64_t least_ms = 0, retention_ms = 0;
    struct cv_finding *finding;

    for (size_t i = 0; d->kafka_known && i < d->kafka.count; i++) {
        const struct cv_partition_health *p = &d->kafka.partitions[i];
        const struct cv_topic_health *topic = cv_source_health_topic(&d->kafka, p->topic);
        int64_t left_ms;

        if (!topic || topic->retention_ms < 0 || p->unread_ms < 0)
            continue;
        left_ms = topic->retention_ms - CV_MAX(d->now_ms - p->unread_ms, 0);
        if (left_ms >= percent_of(topic->retention_ms, HEADROOM_PERCENT) ||
            (worst && left_ms >= least_ms))
            continue;
        worst = p;
        least_ms = left_ms;
        retention_ms = topic->retention_ms;
    }
    if (!worst)
        return;
    finding =
        cv_doctor_add(d, CV_MAX(least_ms, 0),
                      least_ms > 0 ? "the oldest unread record of %s[%d] may be deleted in %s: "
                                     "retention.ms is %s"
                                   : "the oldest unread record of %s[%d] may be deleted any moment "
                                     "(%s left): retention.ms is %s",
                      worst->topic, worst->partition, cv_doctor_duration(d, least_ms),
                      cv_doctor_duration(d, retention_ms));
    if (least_ms < percent_of(retention_ms, HEADROOM_CRITICAL))
        finding->severity = CV_SEVERITY_CRITICAL;
    finding->why = "what the broker deletes before it was read is lost";
    finding->command =
        d->checkpoint.used ? NULL : cv_doctor_text(d, "calve run %s --available-now", job_file(d));
    finding->expected = d->checkpoint.used
                            ? "raise retention.ms of the topic until the job has caught up"
                            : "reads what is there; else raise retention.ms of the topic";
}

/* A partition whose oldest unread record waits although the job committed since, and much longer
 * than those of the others. */
void cv_judge_stuck(struct cv_doctor *d)
{
    int64_t trigger_ms = d->config->job ? d->config->job->trigger.interval_us / CV_US_PER_MS : 0;
    int64_t limit_ms = CV_MAX(STUCK_TRIGGERS * trigger_ms, STUCK_MS_MIN);
    const struct cv_partition_health *worst = NULL;
    size_t late = 0;
    struct cv_finding *finding;

    for (size_t i = 0; d->kafka_known && i < d->kafka.count; i++) {
        const struct cv_partition_health *p = &d->kafka.partitions[i];

        if (!lag_of(p) || p->unread_ms < 0 || d->now_ms - p->unread_ms < limit_ms ||
            d->exam->measures.newest_snapshot_ms < p->unread_ms)
            continue;
        late++;
        if (!worst || p->unread_ms < worst->unread_ms)
            worst = p;
    }
    /* All of them late: the job stands or is slow, which is no matter of a partition. */
    if (!worst || 2 * late > d->kafka.count)
        return;
    finding = cv_doctor_add(d, lag_of(worst),
                            "%s[%d] stands still: %lld records behind, the oldest waits for %s, "
                            "while other partitions move",
                            worst->topic, worst->partition, (long long)lag_of(worst),
                            cv_doctor_duration(d, d->now_ms - worst->unread_ms));
    finding->why = "total lag hides it, and its records come nearer to their deletion";
    finding->command = cv_doctor_text(d, "calve check %s", job_file(d));
    finding->expected = "shows whether the partition has a leader and its records can be decoded";
}

/* --- records --------------------------------------------------------------------------------- */

void cv_judge_dead_letters(struct cv_doctor *d)
{
    const struct cv_memo_totals *totals = &d->checkpoint.totals;
    struct cv_finding *finding;

    if (!totals->bad && !totals->lost)
        return;
    finding = cv_doctor_add(d, totals->bad + totals->lost,
                            "%lld of %lld records could not be decoded, %lld of them were dropped, "
                            "%lld were lost before they were read (calve.json of the checkpoint, "
                            "since %s)",
                            (long long)totals->bad, (long long)totals->records,
                            (long long)totals->dropped, (long long)totals->lost,
                            cv_expiry_time(totals->since_ms, 0, d->arena));
    if (d->now_ms - totals->last_bad_ms > FRESH_MS)
        finding->severity = CV_SEVERITY_NOTE; /* none within a day */
    finding->why = "a row that is not there is missed by nobody until somebody counts";
    finding->command = cv_doctor_text(d, "calve check %s", job_file(d));
    finding->expected = "decodes live records and tells field and reason; value.mode FAILFAST "
                        "stops at the first bad one";
}

void cv_judge_schema(struct cv_doctor *d)
{
    struct cv_finding *finding;

    if (!d->schema_drift)
        return;
    finding = cv_doctor_add(d, 1, "%s", d->schema_drift);
    if (!d->config->job->sink.ignore_unknown)
        finding->severity = CV_SEVERITY_CRITICAL;
    finding->why = d->config->job->sink.ignore_unknown
                       ? "sink.ignore-unknown leaves the fields out: their values never reach the "
                         "table"
                       : "the next start of the job fails";
    finding->expected = "add the columns to the table, or choose fields by select";
}
