/* SPDX-License-Identifier: Apache-2.0
 *
 * calve run JOB. */
#include "cli/command.h"
#include "cli/stop.h"
#include "cli/upkeep.h"

#include "base/log.h"
#include "stream/engine.h"

#include <stddef.h>
#include <stdio.h>
#include <errno.h>
#include <unistd.h>

struct run_args {
    bool available_now;
    bool once;
    const char *resume_from;
    const char *progress_json;
    bool quiet;
    struct cv_text_list overrides;
};

#define ARG(field) offsetof(struct run_args, field)

static const struct cv_flag flags[] = {
    {"available-now", CV_FLAG_BOOL, ARG(available_now), NULL,
     "read what is there now, then end (overrides sink.trigger)"},
    {"once", CV_FLAG_BOOL, ARG(once), NULL, "one batch, then end (overrides sink.trigger)"},
    {"resume-from", CV_FLAG_TEXT, ARG(resume_from), "WHAT",
     "table, checkpoint or start: which to believe when they disagree"},
    {"progress-json", CV_FLAG_TEXT, ARG(progress_json), "FILE",
     "append a line of StreamingQueryProgress JSON per batch, and one per run of a scheduled "
     "procedure; - is standard output"},
    {"quiet", CV_FLAG_BOOL, ARG(quiet), NULL, "no line per batch"},
    {"o", CV_FLAG_LIST, ARG(overrides), "KEY=VALUE",
     "override a key of the job file, for example -o sink.trigger=\"5 seconds\""},
};

struct run_output {
    FILE *json;
    bool lines;
};

static void warn_line(void *context, const char *message)
{
    (void)context;
    cv_log_warning("%s", message);
}

static void on_progress(void *context, const struct cv_progress *progress)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    struct run_output *output = context;

    if (output->json) {
        cv_progress_write_json(progress, &text);
        cv_buf_append_byte(&text, '\n');
        (void)fwrite(text.data, 1, text.length, output->json); /* whole: maintenance writes, too */
        (void)fflush(output->json);
        cv_buf_clear(&text);
    }
    if (output->lines && progress->ran) {
        cv_progress_write_line(progress, &text);
        cv_log_info("%s", cv_buf_text(&text));
    }
}

static enum cv_code parse_resume(const char *text, enum cv_resume *ret_resume, struct cv_error *err)
{
    static const char *const names[] = {"", "table", "checkpoint", "start"};

    *ret_resume = CV_RESUME_AGREED;
    if (!text)
        return CV_OK;
    for (size_t i = 1; i < CV_ARRAY_LENGTH(names); i++)
        if (strcmp(text, names[i]) == 0) {
            *ret_resume = (enum cv_resume)i;
            return CV_OK;
        }
    return cv_fail(err, CV_USAGE, "--resume-from=%s is none of table, checkpoint, start", text);
}

static enum cv_code open_json(const char *path, FILE **ret_file, struct cv_error *err)
{
    if (!path)
        return CV_OK;
    *ret_file = strcmp(path, "-") == 0 ? stdout : fopen(path, "ae");
    if (!*ret_file)
        return cv_fail(err, CV_IO, "cannot write %s: %s", path, strerror(errno));
    return CV_OK;
}

static enum cv_code run_job(const struct cv_job *job, const struct run_args *args,
                            struct cv_error *err)
{
    struct run_output output = {.lines = !args->quiet};
    struct cv_engine_config config = {.job = job,
                                      .progress = on_progress,
                                      .progress_context = &output,
                                      .stopping = cv_stop_requested};
    struct cv_upkeep upkeep = {0};
    enum cv_code code;

    CV_DO(parse_resume(args->resume_from, &config.resume, err));
    CV_DO(open_json(args->progress_json, &output.json, err));
    cv_stop_install();
    code = cv_upkeep_start(&upkeep, job, output.json, &config, err);
    if (code == CV_OK)
        code = cv_engine_run(&config, err);
    cv_upkeep_release(&upkeep);
    if (output.json && output.json != stdout)
        (void)fclose(output.json);
    return code;
}

static enum cv_code run(int argc, char **argv, int *ret_status, struct cv_error *err)
{
    struct run_args args = {0};
    struct cv_text_list words = {0};
    struct cv_job job;
    enum cv_code code;

    CV_DO(cv_args_parse(flags, CV_ARRAY_LENGTH(flags), argc, argv, &args, &words, err));
    if (words.count != 1) {
        (void)cv_fail(err, CV_USAGE, "calve run takes one job file");
        cv_hint(err, "for example: calve run orders.yaml");
        return CV_USAGE;
    }
    if (args.available_now && args.once)
        return cv_fail(err, CV_USAGE, "--available-now and --once exclude each other");
    if (args.available_now && args.overrides.count < CV_ARRAY_LENGTH(args.overrides.items))
        args.overrides.items[args.overrides.count++] = "sink.trigger=availableNow";
    if (args.once && args.overrides.count < CV_ARRAY_LENGTH(args.overrides.items))
        args.overrides.items[args.overrides.count++] = "sink.trigger=once";
    CV_DO(cv_job_load(words.items[0], args.overrides.items, args.overrides.count, warn_line, NULL,
                      &job, err));
    code = run_job(&job, &args, err);
    cv_job_release(&job);
    *ret_status = 0;
    return code;
}

const struct cv_command cv_command_run = {
    "run",
    "JOB [--available-now | --once] [--resume-from=WHAT] [-o KEY=VALUE]…",
    "run a job until it is stopped or its trigger ends it",
    run,
    flags,
    CV_ARRAY_LENGTH(flags)};
