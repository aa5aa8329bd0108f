/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to doctor/: what was found out about table and job before anything is judged, and how a
 * finding is made. */
#ifndef CALVE_DOCTOR_DOCTOR_INT_H
#define CALVE_DOCTOR_DOCTOR_INT_H

#include "doctor/doctor.h"
#include "kafka/health.h"
#include "stream/checkpoint.h"
#include "stream/decision.h"

#define CV_MS_PER_SECOND INT64_C(1000)
#define CV_MS_PER_HOUR   (3600 * CV_MS_PER_SECOND)
#define CV_MS_PER_DAY    (24 * CV_MS_PER_HOUR)

/* The checkpoint of the job and what follows from it for the next start. */
struct cv_checkpoint_facts {
    bool known; /* there is one that could be read */
    bool used;  /* by a process, now; one in a store may be */
    struct cv_recovery_evidence evidence;
    enum cv_recovery decision;
    struct cv_memo_totals totals;
    struct cv_offsets table_position; /* of the job, as the table has it */
    bool in_table;
};

/* All that the findings are judged from. */
struct cv_doctor {
    const struct cv_examine_config *config;
    struct cv_examination *exam;
    struct cv_arena *arena; /* of the examination */
    const struct cv_table_metadata *metadata;
    struct cv_schedule schedule;
    int64_t now_ms;
    struct cv_checkpoint_facts checkpoint;
    struct cv_source_health kafka;
    bool kafka_known;
    struct cv_error kafka_error;
    const char *schema_drift; /* NULL = none, or not asked */
    const struct cv_finding_row *row;
};

struct cv_finding_row {
    const char *name;
    enum cv_severity severity;
    void (*judge)(struct cv_doctor *d);
};

/* Adds a finding of the row that is being judged. */
struct cv_finding *cv_doctor_add(struct cv_doctor *d, int64_t number, const char *format, ...)
    CV_PRINTF(3, 4);
const char *cv_doctor_text(struct cv_doctor *d, const char *format, ...) CV_PRINTF(2, 3);
/* Sets procedure, arguments (pairs of key and value, NULL at the end) and command. */
void cv_doctor_advise(struct cv_doctor *d, struct cv_finding *finding, const char *procedure, ...);
/* Expire with the window that the table's age allows. */
void cv_doctor_advise_expiry(struct cv_doctor *d, struct cv_finding *finding);
/* "calve maintain …", to be copied into a shell. */
const char *cv_doctor_command(const struct cv_examine_config *config,
                              const struct cv_procedure *procedure,
                              const struct cv_properties *arguments, struct cv_arena *arena);
/* " --config FILE" or "". */
const char *cv_doctor_config_flag(const struct cv_examine_config *config, struct cv_arena *arena);
const char *cv_doctor_bytes(struct cv_doctor *d, int64_t bytes);
/* "3 minutes", "2 days"; of the larger unit only. */
const char *cv_doctor_duration(struct cv_doctor *d, int64_t ms);

/* Asks every row and sorts what they found. */
void cv_doctor_judge(struct cv_doctor *d);

/* The rows of findings.c. */
void cv_judge_trigger(struct cv_doctor *d);
void cv_judge_avoidable_files(struct cv_doctor *d);
void cv_judge_open_partitions(struct cv_doctor *d);
void cv_judge_manifests(struct cv_doctor *d);
void cv_judge_snapshots(struct cv_doctor *d);
void cv_judge_metadata_size(struct cv_doctor *d);
void cv_judge_metadata_cleanup(struct cv_doctor *d);
void cv_judge_refs(struct cv_doctor *d);
void cv_judge_writers(struct cv_doctor *d);
void cv_judge_no_compaction(struct cv_doctor *d);
void cv_judge_no_expiry(struct cv_doctor *d);
void cv_judge_no_manifests(struct cv_doctor *d);
void cv_judge_no_orphans(struct cv_doctor *d);
void cv_judge_storage(struct cv_doctor *d);
void cv_judge_orphans(struct cv_doctor *d);
void cv_judge_uploads(struct cv_doctor *d);
void cv_judge_missing(struct cv_doctor *d);
void cv_judge_broker(struct cv_doctor *d);
void cv_judge_retries(struct cv_doctor *d);
void cv_judge_unknown_commit(struct cv_doctor *d);
void cv_judge_position(struct cv_doctor *d);
void cv_judge_out_of_range(struct cv_doctor *d);
void cv_judge_headroom(struct cv_doctor *d);
void cv_judge_stuck(struct cv_doctor *d);
void cv_judge_dead_letters(struct cv_doctor *d);
void cv_judge_schema(struct cv_doctor *d);

/* facts.c, storage.c, job_facts.c */
enum cv_code cv_doctor_look_at_table(struct cv_doctor *d, struct cv_error *err);
void cv_doctor_look_at_uploads(struct cv_doctor *d);
enum cv_code cv_doctor_split_storage(struct cv_doctor *d, struct cv_error *err);
enum cv_code cv_doctor_look_at_job(struct cv_doctor *d, struct cv_error *err);
void cv_doctor_release(struct cv_doctor *d);

#endif
