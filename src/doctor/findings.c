/* SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of findings, and how one is made. Adding a kind is a row here and a function. */
#include "doctor/doctor_int.h"

#include "base/time.h"
#include "stream/progress.h"

#include <stdio.h>
#include <stdlib.h>

static const struct cv_finding_row rows[] = {
    {"catalog-points-to-missing-metadata", CV_SEVERITY_CRITICAL, cv_judge_missing},
    {"offset-out-of-range", CV_SEVERITY_CRITICAL, cv_judge_out_of_range},
    {"position-mismatch", CV_SEVERITY_CRITICAL, cv_judge_position},
    {"retention-headroom", CV_SEVERITY_WARNING, cv_judge_headroom},
    {"broker-not-reached", CV_SEVERITY_NOTE, cv_judge_broker},
    {"stuck-partition", CV_SEVERITY_WARNING, cv_judge_stuck},
    {"schema-drift", CV_SEVERITY_WARNING, cv_judge_schema},
    {"dead-letters", CV_SEVERITY_WARNING, cv_judge_dead_letters},
    {"unknown-commit-state", CV_SEVERITY_NOTE, cv_judge_unknown_commit},
    {"commit-retries", CV_SEVERITY_WARNING, cv_judge_retries},
    {"trigger-too-short", CV_SEVERITY_WARNING, cv_judge_trigger},
    {"avoidable-files", CV_SEVERITY_WARNING, cv_judge_avoidable_files},
    {"manifest-fragmentation", CV_SEVERITY_WARNING, cv_judge_manifests},
    {"snapshot-bloat", CV_SEVERITY_WARNING, cv_judge_snapshots},
    {"metadata-json-size", CV_SEVERITY_WARNING, cv_judge_metadata_size},
    {"metadata-cleanup-off", CV_SEVERITY_WARNING, cv_judge_metadata_cleanup},
    {"no-maintenance-for-rewrite-data-files", CV_SEVERITY_WARNING, cv_judge_no_compaction},
    {"no-maintenance-for-expire-snapshots", CV_SEVERITY_WARNING, cv_judge_no_expiry},
    {"no-maintenance-for-rewrite-manifests", CV_SEVERITY_NOTE, cv_judge_no_manifests},
    {"no-maintenance-for-remove-orphan-files", CV_SEVERITY_NOTE, cv_judge_no_orphans},
    {"orphan-dry-run", CV_SEVERITY_WARNING, cv_judge_orphans},
    {"open-uploads", CV_SEVERITY_WARNING, cv_judge_uploads},
    {"foreign-writer", CV_SEVERITY_NOTE, cv_judge_writers},
    {"ref-pins-snapshots", CV_SEVERITY_NOTE, cv_judge_refs},
    {"open-partition-growth", CV_SEVERITY_NOTE, cv_judge_open_partitions},
    {"storage-split", CV_SEVERITY_NOTE, cv_judge_storage},
};

struct cv_finding *cv_doctor_add(struct cv_doctor *d, int64_t number, const char *format, ...)
{
    struct cv_examination *exam = d->exam;
    struct cv_finding *finding;
    va_list args;

    cv_array_reserve(&exam->findings, &exam->capacity, exam->count + 1);
    finding = &exam->findings[exam->count++];
    *finding = (struct cv_finding){.name = d->row->name,
                                   .severity = d->row->severity,
                                   .number = number,
                                   .why = "",
                                   .expected = ""};
    va_start(args, format);
    finding->what = cv_arena_vprintf(d->arena, format, args);
    va_end(args);
    return finding;
}

const char *cv_doctor_text(struct cv_doctor *d, const char *format, ...)
{
    const char *text;
    va_list args;

    va_start(args, format);
    text = cv_arena_vprintf(d->arena, format, args);
    va_end(args);
    return text;
}

const char *cv_doctor_bytes(struct cv_doctor *d, int64_t bytes)
{
    char text[32];

    cv_format_bytes(bytes, text, sizeof text);
    return cv_arena_strdup(d->arena, text);
}

const char *cv_doctor_duration(struct cv_doctor *d, int64_t ms)
{
    static const struct {
        int64_t ms;
        const char *name;
    } units[] = {
        {CV_MS_PER_DAY, "day"}, {CV_MS_PER_HOUR, "hour"}, {60000, "minute"}, {1000, "second"}};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(units); i++) {
        int64_t count = ms / units[i].ms;

        if (count >= (i + 1 < CV_ARRAY_LENGTH(units) ? 2 : 1))
            return cv_doctor_text(d, "%lld %s%s", (long long)count, units[i].name,
                                  count == 1 ? "" : "s");
    }
    return cv_doctor_text(d, "%lld ms", (long long)CV_MAX(ms, 0));
}

const char *cv_doctor_quoted(const char *value, struct cv_arena *arena)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);

    if (*value && !strpbrk(value, " \t\n'\"$&;<>|*?()[]{}~#\\`!"))
        return value;
    cv_buf_append_byte(&text, '"');
    for (const char *c = value; *c; c++) {
        if (strchr("\"$`\\", *c))
            cv_buf_append_byte(&text, '\\');
        cv_buf_append_byte(&text, (uint8_t)*c);
    }
    cv_buf_append_byte(&text, '"');
    return cv_arena_strdup(arena, cv_buf_text(&text));
}

const char *cv_doctor_config_flag(const struct cv_examine_config *config, struct cv_arena *arena)
{
    if (!config->config)
        return "";
    return cv_arena_printf(arena, " --config %s", cv_doctor_quoted(config->config, arena));
}

const char *cv_doctor_command(const struct cv_examine_config *config,
                              const struct cv_procedure *procedure,
                              const struct cv_properties *arguments, struct cv_arena *arena)
{
    char *command = cv_arena_printf(arena, "calve maintain %s %s%s", procedure->name,
                                    cv_doctor_quoted(config->table_name, arena),
                                    cv_doctor_config_flag(config, arena));

    for (size_t i = 0; i < arguments->count; i++)
        command = cv_arena_printf(arena, "%s --%s %s", command,
                                  cv_procedure_flag(arguments->items[i].key, arena),
                                  cv_doctor_quoted(arguments->items[i].value, arena));
    return command;
}

void cv_doctor_advise(struct cv_doctor *d, struct cv_finding *finding, const char *procedure, ...)
{
    const char *key;
    va_list args;

    finding->procedure = cv_procedure_find(procedure);
    if (!finding->procedure)
        return;
    va_start(args, procedure);
    while ((key = va_arg(args, const char *)))
        cv_properties_set(&finding->arguments, key, va_arg(args, const char *));
    va_end(args);
    finding->command =
        cv_doctor_command(d->config, finding->procedure, &finding->arguments, d->arena);
}

const char *cv_expiry_time(int64_t now_ms, int64_t window_ms, struct cv_arena *arena)
{
    char text[CV_TIME_TEXT_BYTES];

    cv_format_ms_plain(now_ms - window_ms, text);
    return cv_arena_strdup(arena, text);
}

void cv_doctor_advise_expiry(struct cv_doctor *d, struct cv_finding *finding)
{
    cv_doctor_advise(d, finding, "expire-snapshots", "older_than",
                     cv_expiry_time(d->now_ms, d->exam->expiry.window_ms, d->arena), "retain_last",
                     "1", NULL);
}

/* The worst first; within a severity the order of the rows. */
static int compare_findings(const void *a, const void *b)
{
    const struct cv_finding *left = a;
    const struct cv_finding *right = b;

    if (left->severity != right->severity)
        return left->severity > right->severity ? -1 : 1;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        bool is_left = strcmp(rows[i].name, left->name) == 0;
        bool is_right = strcmp(rows[i].name, right->name) == 0;

        if (is_left != is_right)
            return is_left ? -1 : 1;
        if (is_left)
            break;
    }
    return 0;
}

void cv_doctor_judge(struct cv_doctor *d)
{
    struct cv_examination *exam = d->exam;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        d->row = &rows[i];
        rows[i].judge(d);
    }
    if (exam->count)
        qsort(exam->findings, exam->count, sizeof *exam->findings, compare_findings);
}

const char *cv_finding_name(size_t index)
{
    return index < CV_ARRAY_LENGTH(rows) ? rows[index].name : NULL;
}
