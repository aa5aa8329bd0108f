/* SPDX-License-Identifier: Apache-2.0
 *
 * calve maintain PROCEDURE TABLE: the procedures of maintain/. Flags are those common to all and
 * the procedure's arguments, made of its option table. */
#include "cli/command.h"
#include "cli/lake.h"
#include "cli/progress_line.h"
#include "cli/stop.h"
#include "cli/text_table.h"

#include "base/fault.h"
#include "maintain/procedure.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

/* Common flags; the texts of the procedure's arguments follow, one per row of its table, the last
 * is Spark's map of options. */
struct maintain_args {
    const char *config;
    bool dry_run;
    bool json;
    bool idle;
    bool quiet;
    const char *memory;
    int64_t threads;
    const char *values[];
};

#define ARG(field) offsetof(struct maintain_args, field)

static const struct cv_flag common_flags[] = {
    {"config", CV_FLAG_TEXT, ARG(config), "FILE", "file with the catalogs"},
    {"dry-run", CV_FLAG_BOOL, ARG(dry_run), NULL, "tell what would change and why, change nothing"},
    {"json", CV_FLAG_BOOL, ARG(json), NULL, "an array of objects with Spark's column names"},
    {"memory", CV_FLAG_TEXT, ARG(memory), "SIZE", "memory to work with; default 256 MiB"},
    {"threads", CV_FLAG_INTEGER, ARG(threads), "N", "default: one per core"},
    {"table-is-idle", CV_FLAG_BOOL, ARG(idle), NULL,
     "nobody writes to the table now: younger files may be removed"},
    {"quiet", CV_FLAG_BOOL, ARG(quiet), NULL, "no progress"},
};

#define COMMON_COUNT CV_ARRAY_LENGTH(common_flags)

static bool is_common(const char *name)
{
    for (size_t i = 0; i < COMMON_COUNT; i++)
        if (strcmp(common_flags[i].name, name) == 0)
            return true;
    return false;
}

static const char *value_word(const struct cv_option *option)
{
    static const char *const words[] = {"true|false", "N", "SIZE", "DURATION", "TEXT"};

    if (option->choices)
        return option->choices;
    if (option->type == CV_OPTION_BOOL)
        return NULL;
    return option->type < CV_ARRAY_LENGTH(words) ? words[option->type] : "VALUE";
}

static const char *about_text(const struct cv_option *option, struct cv_arena *arena)
{
    if (option->flags & CV_OPTION_REQUIRED)
        return cv_arena_printf(arena, "(required) %s", option->help);
    if (option->default_text)
        return cv_arena_printf(arena, "%s Default: %s.", option->help, option->default_text);
    return option->help;
}

/* Spark's `options` map: its members are the arguments with dashes in their names. */
static bool has_options_map(const struct cv_option_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (strchr(table->options[i].name, '-'))
            return true;
    return false;
}

/* The common flags, then the procedure's; an argument that a common flag gives has no second. */
static struct cv_flag *make_flags(const struct cv_procedure *procedure, struct cv_arena *arena,
                                  size_t *ret_count)
{
    const struct cv_option_table *table = procedure->arguments;
    struct cv_flag *flags = cv_arena_array(arena, struct cv_flag, COMMON_COUNT + table->count + 1);
    size_t count = COMMON_COUNT;

    memcpy(flags, common_flags, sizeof common_flags);
    for (size_t i = 0; i < table->count; i++) {
        const struct cv_option *option = &table->options[i];
        const char *name = cv_procedure_flag(option->name, arena);

        if (!is_common(name))
            flags[count++] = (struct cv_flag){
                name, option->type == CV_OPTION_BOOL ? CV_FLAG_SWITCH : CV_FLAG_TEXT,
                ARG(values) + i * sizeof(char *), value_word(option), about_text(option, arena)};
    }
    if (has_options_map(table))
        flags[count++] =
            (struct cv_flag){"options", CV_FLAG_TEXT, ARG(values) + table->count * sizeof(char *),
                             "K=V,K=V", "several arguments at once, as Spark's map of options"};
    *ret_count = count;
    return flags;
}

static void print_procedures(FILE *out)
{
    (void)fprintf(out, "usage: calve maintain PROCEDURE TABLE [--ARGUMENT VALUE]…\n\n"
                       "The maintenance procedures, with the names, arguments and results of "
                       "Iceberg's for Spark:\n\n");
    for (size_t i = 0; cv_procedures[i]; i++)
        (void)fprintf(out, "  %-30s %s\n", cv_procedures[i]->name, cv_procedures[i]->about);
    (void)fprintf(out, "\nCommon flags:\n");
    (void)fflush(out);
    for (size_t i = 0; i < COMMON_COUNT && out == stdout; i++)
        cv_flag_print_help(&common_flags[i]);
    (void)fprintf(out, "\n`calve maintain PROCEDURE --help` lists its arguments.\n");
}

static void help(int argc, char **argv)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const struct cv_procedure *procedure = cv_procedure_find(argv[0]);
    const struct cv_flag *flags;
    size_t count;

    (void)argc;
    if (!procedure) {
        print_procedures(stdout);
        return;
    }
    flags = make_flags(procedure, &arena, &count);
    (void)printf("usage: calve maintain %s TABLE [--ARGUMENT VALUE]…\n\n%s\n", procedure->name,
                 procedure->about);
    (void)printf(procedure->arguments->count ? "\nArguments:\n" : "\n");
    for (size_t i = COMMON_COUNT; i < count; i++)
        cv_flag_print_help(&flags[i]);
    (void)printf("\nCommon flags:\n");
    for (size_t i = 0; i < COMMON_COUNT; i++)
        cv_flag_print_help(&flags[i]);
}

static const char *procedure_name_at(const void *context, size_t i)
{
    (void)context;
    return cv_procedures[i]->name;
}

static enum cv_code fail_no_procedure(const char *name, struct cv_error *err)
{
    size_t count = 0;
    const char *nearest;

    while (cv_procedures[count])
        count++;
    nearest = cv_nearest_name(name, procedure_name_at, NULL, count);
    (void)cv_fail(err, CV_USAGE, "there is no procedure \"%s\"", name);
    if (nearest)
        cv_hint(err, "did you mean %s? `calve maintain` lists the procedures", nearest);
    else
        cv_hint(err, "`calve maintain` lists the procedures");
    return CV_USAGE;
}

/* A single row is shown a line per column. */
static enum cv_code print_rows(struct cv_maintain_result *result, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *rows = NULL;
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);

    CV_DO(cv_json_parse(result->rows.data, result->rows.length, &rows, err));
    cv_json_write_node(cv_json_size(rows) == 1 ? cv_json_at(rows, 0) : rows, &text);
    return cv_text_table_print((struct cv_str){cv_buf_text(&text), text.length}, NULL, err);
}

static enum cv_code print_result(struct cv_maintain_result *result, bool json, struct cv_error *err)
{
    if (json) {
        (void)printf("%s\n", cv_buf_text(&result->rows));
        (void)fflush(stdout);
        (void)fputs(cv_buf_text(&result->notes), stderr);
        return CV_OK;
    }
    (void)fputs(cv_buf_text(&result->notes), stdout);
    if (result->notes.length)
        (void)printf("\n");
    return print_rows(result, err);
}

static enum cv_code read_limits(const struct maintain_args *args,
                                struct cv_maintenance *maintenance, struct cv_error *err)
{
    int64_t memory = (int64_t)CV_MAINTAIN_MEMORY_DEFAULT;
    int64_t threads = args->threads ? args->threads : sysconf(_SC_NPROCESSORS_ONLN);

    if (args->memory)
        CV_TRY(cv_parse_bytes(args->memory, &memory, err), err, "--memory");
    if (memory < (int64_t)1 << 24)
        return cv_fail(err, CV_USAGE, "--memory %s is less than 16 MiB", args->memory);
    if (args->threads < 0 || args->threads > CV_THREADS_MAX)
        return cv_fail(err, CV_USAGE, "--threads is between 1 and %d", CV_THREADS_MAX);
    maintenance->memory_bytes = (size_t)memory;
    maintenance->threads = (int)CV_MIN(CV_MAX(threads, 1), CV_THREADS_MAX);
    maintenance->dry_run = args->dry_run;
    maintenance->idle = args->idle;
    return CV_OK;
}

static enum cv_code open_lake(const struct cv_procedure *procedure, const char *config,
                              const char *table, struct cv_lake *lake, struct cv_error *err)
{
    if (procedure->without_table)
        return cv_lake_open_catalog(config, table, lake, err);
    return cv_lake_open_table(config, table, lake, err);
}

static enum cv_code run_procedure(const struct cv_procedure *procedure,
                                  const struct maintain_args *args, const char *table,
                                  const struct cv_properties *arguments, struct cv_error *err)
{
    CV_CLEANUP(cv_lake_release) struct cv_lake lake = {0};
    CV_CLEANUP(cv_maintain_result_release) struct cv_maintain_result result = {0};
    struct cv_speaker speaker = {.lock = PTHREAD_MUTEX_INITIALIZER, .quiet = args->quiet};
    struct cv_maintenance maintenance = {.table_name = table,
                                         .stopping = cv_stop_requested,
                                         .progress = cv_speaker_progress,
                                         .warn = cv_speaker_warn,
                                         .context = &speaker};
    enum cv_code code;

    CV_DO(read_limits(args, &maintenance, err));
    CV_DO(cv_fault_check_environment(err));
    CV_DO(cv_procedure_check(procedure, arguments, err));
    CV_DO(open_lake(procedure, args->config, table, &lake, err));
    maintenance.catalog = lake.catalog;
    maintenance.table = lake.table;
    cv_stop_install();
    code = cv_procedure_run(procedure, &maintenance, arguments, &result, err);
    cv_progress_line_end(&speaker.line);
    if (code != CV_OK && result.notes.length)
        (void)fputs(cv_buf_text(&result.notes), stderr);
    CV_TRY(code, err, "%s %s", procedure->name, table);
    return print_result(&result, args->json, err);
}

/* The words behind the procedure's name, as common flags and arguments. */
static enum cv_code parse(const struct cv_procedure *procedure, int argc, char **argv,
                          struct cv_arena *arena, struct maintain_args **ret_args,
                          struct cv_properties *arguments, struct cv_text_list *words,
                          struct cv_error *err)
{
    const struct cv_option_table *table = procedure->arguments;
    size_t flag_count;
    const struct cv_flag *flags = make_flags(procedure, arena, &flag_count);
    struct maintain_args *args =
        cv_arena_alloc(arena, sizeof *args + (table->count + 1) * sizeof(char *));

    CV_DO(cv_args_parse(flags, flag_count, argc, argv, args, words, err));
    for (size_t i = 0; i < table->count; i++)
        if (args->values[i])
            cv_properties_set(arguments, table->options[i].name, args->values[i]);
    if (args->values[table->count])
        cv_properties_set(arguments, "options", args->values[table->count]);
    *ret_args = args;
    return CV_OK;
}

static enum cv_code run(int argc, char **argv, int *ret_status, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_properties_release) struct cv_properties arguments = {0};
    const struct cv_procedure *procedure;
    struct cv_text_list words = {0};
    struct maintain_args *args;

    *ret_status = 0;
    if (!argc) {
        print_procedures(stdout);
        return CV_OK;
    }
    procedure = cv_procedure_find(argv[0]);
    if (!procedure)
        return fail_no_procedure(argv[0], err);
    CV_DO(parse(procedure, argc - 1, argv + 1, &arena, &args, &arguments, &words, err));
    if (words.count != 1) {
        (void)cv_fail(err, CV_USAGE, "calve maintain %s takes the name of one table",
                      procedure->name);
        cv_hint(err, "for example: calve maintain %s lake.shop.orders", procedure->name);
        return CV_USAGE;
    }
    return run_procedure(procedure, args, words.items[0], &arguments, err);
}

const struct cv_command cv_command_maintain = {
    "maintain",
    "PROCEDURE TABLE [--ARGUMENT VALUE]… [--dry-run] [--json]",
    "keep a table healthy: expire, compact, remove orphans, …",
    run,
    common_flags,
    COMMON_COUNT,
    help};
