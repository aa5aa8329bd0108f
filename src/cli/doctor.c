/* SPDX-License-Identifier: Apache-2.0
 *
 * calve doctor TABLE | JOB: what is wrong with a table, or with a job and its table, and the
 * command that heals it; --fix runs what can be run. */
#include "cli/command.h"
#include "cli/doctor_print.h"
#include "cli/lake.h"
#include "cli/progress_line.h"
#include "cli/stop.h"

#include "base/fault.h"
#include "base/file.h"
#include "base/time.h"
#include "table/set_properties.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

struct doctor_args {
    const char *config;
    const char *price;
    bool json, fix, yes;
    struct cv_text_list overrides;
};

#define ARG(field) offsetof(struct doctor_args, field)

static const struct cv_flag flags[] = {
    {"fix", CV_FLAG_BOOL, ARG(fix), NULL,
     "run what is advised (compact, rewrite manifests, expire, orphans), after showing it"},
    {"yes", CV_FLAG_BOOL, ARG(yes), NULL, "do not ask before --fix"},
    {"json", CV_FLAG_BOOL, ARG(json), NULL, "an array of findings; with --fix of those that stay"},
    {"price", CV_FLAG_TEXT, ARG(price), "AMOUNT", "price of a GB and month of storage, to show it"},
    {"config", CV_FLAG_TEXT, ARG(config), "FILE", "file with the catalogs"},
    {"o", CV_FLAG_LIST, ARG(overrides), "KEY=VALUE", "override a key of the job file"},
};

/* Who is examined. */
struct patient {
    const struct doctor_args *args;
    struct cv_report report;
    struct cv_arena arena;
    struct cv_lake lake; /* of a job only catalog and table */
    struct cv_job job;
    bool is_job;
    const char *spill_directory;
    struct cv_examine_config config;
};

static void patient_release(struct patient *patient)
{
    cv_lake_release(&patient->lake);
    if (patient->is_job)
        cv_job_release(&patient->job);
    cv_arena_release(&patient->arena);
}

static void ignore_warning(void *context, const char *message)
{
    (void)context;
    (void)message;
}

/* The table, or where its metadata file should be. */
static enum cv_code open_table(struct patient *patient, struct cv_error *err)
{
    struct cv_examine_config *config = &patient->config;
    CV_CLEANUP(cv_store_freep) struct cv_store *store = NULL;
    struct cv_catalog *catalog = patient->lake.catalog;
    struct cv_table_name name;
    int64_t size;
    enum cv_code code = cv_table_open(catalog, config->table_name, &patient->lake.table, err);

    config->catalog = catalog;
    config->table = patient->lake.table;
    if (code == CV_OK)
        return CV_OK;
    if (cv_table_name_parse(config->table_name, &patient->arena, &name, NULL) != CV_OK ||
        cv_catalog_find(catalog, &name, &patient->arena, &config->missing, NULL) != CV_OK ||
        cv_catalog_open_store(catalog, config->missing, NULL, NULL, &store, NULL) != CV_OK ||
        cv_store_size(store, config->missing, &size, NULL) != CV_NOT_FOUND)
        return code;
    cv_error_clear(err);
    return CV_OK;
}

static enum cv_code open_job(struct patient *patient, const char *path, struct cv_error *err)
{
    const struct cv_text_list *overrides = &patient->args->overrides;

    CV_DO(cv_job_load(path, overrides->items, overrides->count, ignore_warning, NULL, &patient->job,
                      err));
    patient->is_job = true;
    patient->config.job = &patient->job;
    patient->config.table_name = patient->job.sink.table;
    patient->config.config = path;
    patient->spill_directory = patient->job.options.spill_directory;
    CV_DO(cv_job_open_catalog(&patient->job.file, patient->job.sink.table, &patient->lake.catalog,
                              err));
    return open_table(patient, err);
}

static enum cv_code open_patient(struct patient *patient, const char *subject, struct cv_error *err)
{
    patient->report.subject = subject;
    patient->config.memory_bytes = CV_MAINTAIN_MEMORY_DEFAULT;
    patient->config.threads = (int)CV_MIN(CV_MAX(sysconf(_SC_NPROCESSORS_ONLN), 1), CV_THREADS_MAX);
    patient->config.stopping = cv_stop_requested;
    if (access(subject, F_OK) == 0 || cv_text_ends_with(subject, ".yaml") ||
        cv_text_ends_with(subject, ".yml"))
        return open_job(patient, subject, err);
    patient->config.table_name = subject;
    patient->config.config = patient->args->config;
    CV_DO(cv_lake_open_catalog(patient->args->config, subject, &patient->lake, err));
    return open_table(patient, err);
}

static enum cv_code examine(struct patient *patient, struct cv_examination *ret_exam,
                            struct cv_error *err)
{
    patient->config.now_ms = patient->report.now_ms = cv_now_ms();
    if (patient->lake.table)
        CV_DO(cv_table_refresh(patient->lake.table, err));
    return cv_examine(&patient->config, ret_exam, err);
}

/* --- --fix ----------------------------------------------------------------------------------- */

static bool agrees(const struct patient *patient)
{
    char answer[256]; /* the whole line: the rest would be the shell's */

    if (patient->args->yes || !isatty(STDIN_FILENO))
        return true;
    (void)fprintf(patient->report.out, "Run it? [y/N] ");
    (void)fflush(patient->report.out);
    return cv_wait_readable(STDIN_FILENO, cv_stop_requested, NULL) &&
           read(STDIN_FILENO, answer, sizeof answer) > 0 && (answer[0] == 'y' || answer[0] == 'Y');
}

static enum cv_code run_procedure(struct patient *patient, struct cv_fix_step *step,
                                  const struct cv_examination *exam, struct cv_error *err)
{
    CV_CLEANUP(cv_maintain_result_release) struct cv_maintain_result result = {0};
    struct cv_speaker speaker = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct cv_maintenance maintenance = {
        .catalog = patient->lake.catalog,
        .table_name = patient->config.table_name,
        .table = patient->lake.table,
        .memory_bytes = patient->config.memory_bytes,
        .threads = patient->config.threads,
        .spill_directory = patient->spill_directory,
        .stopping = cv_stop_requested,
        .progress = cv_speaker_progress,
        .warn = cv_speaker_warn,
        .context = &speaker,
    };
    enum cv_code code;

    if (step->expires) /* what the steps before replaced is older than now */
        cv_properties_set(&step->arguments, "older_than",
                          cv_expiry_time(cv_now_ms(), exam->expiry.window_ms, &patient->arena));
    CV_DO(cv_table_refresh(patient->lake.table, err));
    code = cv_procedure_run(step->procedure, &maintenance, &step->arguments, &result, err);
    cv_progress_line_end(&speaker.line);
    CV_TRY(code, err, "%s", step->procedure->name);
    if (result.notes.length)
        (void)fputs(cv_buf_text(&result.notes), patient->report.out);
    return CV_OK;
}

static enum cv_code run_step(struct patient *patient, struct cv_fix_step *step,
                             const struct cv_examination *exam, struct cv_error *err)
{
    bool changed;

    (void)fprintf(patient->report.out, "\n$ %s\n", step->command);
    (void)fflush(patient->report.out);
    if (step->procedure)
        return run_procedure(patient, step, exam, err);
    if (step->aborts_uploads)
        return cv_doctor_abort_uploads(patient->lake.table, err);
    return cv_table_set_properties(patient->lake.table, &step->properties, NULL, 0, &changed, err);
}

/* *ret_done false: there is nothing to run, or the user does not want it. */
static enum cv_code fix(struct patient *patient, struct cv_examination *exam, bool *ret_done,
                        struct cv_error *err)
{
    struct cv_fix_step steps[CV_FIX_STEPS_MAX];
    FILE *out = patient->report.out;
    size_t count = patient->lake.table ? cv_fix_plan(&patient->config, exam, steps) : 0;
    enum cv_code code = CV_OK;

    *ret_done = false;
    if (!count) {
        (void)fprintf(out, "\nnothing that --fix could run\n");
        return CV_OK;
    }
    (void)fprintf(out, "\n--fix runs, in this order:\n");
    for (size_t i = 0; i < count; i++)
        (void)fprintf(out, "  %s\n", steps[i].command);
    *ret_done = agrees(patient);
    for (size_t i = 0; *ret_done && code == CV_OK && i < count; i++)
        code = run_step(patient, &steps[i], exam, err);
    cv_fix_plan_release(steps, count);
    return code;
}

/* --- the command ----------------------------------------------------------------------------- */

static void print_exam(const struct patient *patient, const struct cv_examination *exam)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf json = CV_BUF_INIT(0);

    if (!patient->args->json) {
        cv_report_print(&patient->report, exam);
        return;
    }
    cv_report_write_json(&patient->report, exam, &json);
    (void)printf("%s\n", cv_buf_text(&json));
}

static void hint_fix(struct patient *patient, struct cv_examination *exam)
{
    const char *config = patient->args->config;
    struct cv_fix_step steps[CV_FIX_STEPS_MAX];
    size_t count = patient->lake.table ? cv_fix_plan(&patient->config, exam, steps) : 0;

    if (count && !patient->args->json)
        (void)fprintf(patient->report.out, "calve doctor %s%s%s --fix runs %zu of these commands\n",
                      cv_doctor_quoted(patient->report.subject, &patient->arena),
                      config ? " --config " : "",
                      config ? cv_doctor_quoted(config, &patient->arena) : "", count);
    cv_fix_plan_release(steps, count);
}

static enum cv_code treat(struct patient *patient, struct cv_examination *before, int *ret_status,
                          struct cv_error *err)
{
    CV_CLEANUP(cv_examination_release) struct cv_examination after = {0};
    bool done;

    cv_report_print(&patient->report, before);
    CV_DO(fix(patient, before, &done, err));
    if (!done) {
        if (patient->args->json)
            print_exam(patient, before);
        *ret_status = cv_examination_count(before) ? 1 : 0;
        return CV_OK;
    }
    CV_DO(examine(patient, &after, err));
    cv_report_print_change(&patient->report, before, &after);
    (void)fputc('\n', patient->report.out);
    print_exam(patient, &after);
    *ret_status = cv_examination_count(&after) ? 1 : 0;
    return CV_OK;
}

static enum cv_code read_price(const char *text, double *ret_price, struct cv_error *err)
{
    char *end;

    if (!text)
        return CV_OK;
    *ret_price = strtod(text, &end);
    if (*end || end == text || !(*ret_price >= 0 && *ret_price < 1e12))
        return cv_fail(err, CV_USAGE, "--price %s is no amount", text);
    return CV_OK;
}

static enum cv_code run(int argc, char **argv, int *ret_status, struct cv_error *err)
{
    struct doctor_args args = {0};
    struct cv_text_list words = {0};
    CV_CLEANUP(patient_release) struct patient patient = {.args = &args};
    CV_CLEANUP(cv_examination_release) struct cv_examination exam = {0};

    CV_DO(cv_args_parse(flags, CV_ARRAY_LENGTH(flags), argc, argv, &args, &words, err));
    if (words.count != 1) {
        (void)cv_fail(err, CV_USAGE, "calve doctor takes the name of a table or a job file");
        cv_hint(err, "for example: calve doctor lake.shop.orders");
        return CV_USAGE;
    }
    patient.report.out = args.json ? stderr : stdout;
    patient.report.colour = !args.json && cv_terminal();
    CV_DO(read_price(args.price, &patient.report.price, err));
    CV_DO(cv_fault_check_environment(err));
    CV_DO(open_patient(&patient, words.items[0], err));
    cv_stop_install();
    CV_DO(examine(&patient, &exam, err));
    if (args.fix)
        return treat(&patient, &exam, ret_status, err);
    print_exam(&patient, &exam);
    hint_fix(&patient, &exam);
    *ret_status = cv_examination_count(&exam) ? 1 : 0;
    return CV_OK;
}

const struct cv_command cv_command_doctor = {
    "doctor",
    "TABLE|JOB [--fix [--yes]] [--json]",
    "what is wrong with a table or a job, why it hurts, and the command that heals it",
    run,
    flags,
    CV_ARRAY_LENGTH(flags)};
