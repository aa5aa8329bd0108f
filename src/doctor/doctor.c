/* SPDX-License-Identifier: Apache-2.0
 *
 * An examination: look at table and job, then judge; and the plan of what --fix runs. */
#include "doctor/doctor_int.h"

#include <stdlib.h>

void cv_examination_release(struct cv_examination *exam)
{
    for (size_t i = 0; i < exam->count; i++) {
        cv_properties_release(&exam->findings[i].arguments);
        cv_properties_release(&exam->findings[i].properties);
    }
    free(exam->findings);
    cv_arena_release(&exam->arena);
    *exam = (struct cv_examination){0};
}

void cv_doctor_release(struct cv_doctor *d)
{
    cv_schedule_release(&d->schedule);
    cv_source_health_release(&d->kafka);
    cv_offsets_release(&d->checkpoint.table_position);
}

static enum cv_code examine(struct cv_doctor *d, struct cv_error *err)
{
    const struct cv_examine_config *config = d->config;

    if (config->job)
        CV_DO(cv_schedule_read(&config->job->file, d->arena, &d->schedule, err));
    if (config->table) {
        d->metadata = config->table->metadata;
        if (config->job)
            CV_DO(cv_doctor_look_at_job(d, err));
        CV_TRY(cv_doctor_look_at_table(d, err), err, "table %s", config->table_name);
    }
    cv_doctor_judge(d);
    return CV_OK;
}

enum cv_code cv_examine(const struct cv_examine_config *config, struct cv_examination *ret,
                        struct cv_error *err)
{
    CV_CLEANUP(cv_examination_release) struct cv_examination exam = {0};
    CV_CLEANUP(cv_doctor_release)
    struct cv_doctor d = {
        .config = config, .exam = &exam, .arena = &exam.arena, .now_ms = config->now_ms};

    CV_DO(examine(&d, err));
    *ret = exam;
    exam = (struct cv_examination){0};
    return CV_OK;
}

size_t cv_examination_count(const struct cv_examination *exam)
{
    size_t count = 0;

    for (size_t i = 0; i < exam->count; i++)
        count += exam->findings[i].severity > CV_SEVERITY_NOTE;
    return count;
}

/* --- the plan of --fix ----------------------------------------------------------------------- */

static const char *const order[] = {"rewrite-position-delete-files", "rewrite-data-files",
                                    "rewrite-manifests", "expire-snapshots", "remove-orphan-files"};

static const struct cv_finding *finding_with(const struct cv_examination *exam, const char *name)
{
    for (size_t i = 0; i < exam->count; i++)
        if (exam->findings[i].severity > CV_SEVERITY_NOTE && exam->findings[i].procedure &&
            strcmp(exam->findings[i].procedure->name, name) == 0)
            return &exam->findings[i];
    return NULL;
}

/* Rewrites leave what they replaced to older snapshots: manifests and expiry follow them. */
static bool follows(const char *name, size_t planned)
{
    return planned &&
           (strcmp(name, "rewrite-manifests") == 0 || strcmp(name, "expire-snapshots") == 0);
}

static void set_arguments(const struct cv_examine_config *config, struct cv_examination *exam,
                          const struct cv_finding *finding, struct cv_fix_step *step)
{
    if (finding)
        cv_properties_copy(&step->arguments, &finding->arguments);
    if (!step->expires)
        return;
    cv_properties_set(&step->arguments, "older_than",
                      cv_expiry_time(config->now_ms, exam->expiry.window_ms, &exam->arena));
    cv_properties_set(&step->arguments, "retain_last", "1");
}

static size_t plan_others(const struct cv_examine_config *config, struct cv_examination *exam,
                              struct cv_fix_step *steps, size_t count)
{
    (void)config;
    for (size_t i = 0; i < exam->count && count < CV_FIX_STEPS_MAX; i++)
        if (exam->findings[i].aborts_uploads)
            steps[count++] = (struct cv_fix_step){.aborts_uploads = true,
                                                  .command = "abort the uploads of open-uploads"};
    for (size_t i = 0; i < exam->count && count < CV_FIX_STEPS_MAX; i++) {
        const struct cv_finding *finding = &exam->findings[i];

        if (finding->severity == CV_SEVERITY_NOTE || !finding->properties.count)
            continue;
        steps[count] = (struct cv_fix_step){.command = finding->command};
        cv_properties_copy(&steps[count++].properties, &finding->properties);
    }
    return count;
}

size_t cv_fix_plan(const struct cv_examine_config *config, struct cv_examination *exam,
                   struct cv_fix_step steps[CV_FIX_STEPS_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(order); i++) {
        const struct cv_finding *finding = finding_with(exam, order[i]);
        const struct cv_procedure *procedure = cv_procedure_find(order[i]);
        struct cv_fix_step *step = &steps[count];

        if (!procedure || !(finding || follows(order[i], count)))
            continue;
        *step = (struct cv_fix_step){.procedure = procedure,
                                     .expires = strcmp(order[i], "expire-snapshots") == 0};
        set_arguments(config, exam, finding, step);
        step->command = cv_doctor_command(config, procedure, &step->arguments, &exam->arena);
        count++;
    }
    return plan_others(config, exam, steps, count);
}

void cv_fix_plan_release(struct cv_fix_step steps[CV_FIX_STEPS_MAX], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cv_properties_release(&steps[i].arguments);
        cv_properties_release(&steps[i].properties);
    }
}
