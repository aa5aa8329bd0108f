/* SPDX-License-Identifier: Apache-2.0
 *
 * calve config: every option of a job file with its default, from the option tables; the same
 * tables make docs/CONFIGURATION.md (--markdown) and the man page (--man). */
#include "cli/command.h"

#include "base/buf.h"
#include "catalog/catalog.h"
#include "codec/json.h"
#include "maintain/schedule.h"
#include "maintain/procedure.h"
#include "sql/function.h"
#include "storage/s3_options.h"
#include "stream/job.h"

#include <stddef.h>
#include <stdio.h>

struct config_args {
    bool json;
    bool markdown;
    bool man;
    bool procedures;
    bool functions;
};

#define ARG(field) offsetof(struct config_args, field)

static const struct cv_flag flags[] = {
    {"json", CV_FLAG_BOOL, ARG(json), NULL, "an array of objects"},
    {"markdown", CV_FLAG_BOOL, ARG(markdown), NULL, "the tables of docs/CONFIGURATION.md"},
    {"man", CV_FLAG_BOOL, ARG(man), NULL, "the man page"},
    {"procedures", CV_FLAG_BOOL, ARG(procedures), NULL, "the tables of docs/MAINTENANCE.md"},
    {"functions", CV_FLAG_BOOL, ARG(functions), NULL, "the tables of docs/SQL.md"},
};

static const struct cv_option_table *const tables[] = {
    &cv_job_option_table,
    &cv_source_option_table,
    &cv_value_option_table,
    &cv_static_table_option_table,
    &cv_watermark_option_table,
    &cv_sink_option_table,
    &cv_catalog_options,
    &cv_rest_options,
    &cv_s3_options,
    &cv_sql_options,
    &cv_schedule_option_table,
    &cv_schedule_entry_option_table,
};

static const char *type_name(const struct cv_option *option)
{
    static const char *const names[] = {"boolean", "integer", "size",   "duration",
                                        "text",    "choice",  "prefix", "accepted"};

    if (option->flags & CV_OPTION_REFUSED)
        return "refused";
    return option->choices ? option->choices : names[option->type];
}

static const char *default_of(const struct cv_option *option)
{
    if (option->flags & CV_OPTION_REQUIRED)
        return "(required)";
    return option->default_text ? option->default_text : "";
}

static void print_text(void)
{
    for (size_t t = 0; t < CV_ARRAY_LENGTH(tables); t++) {
        const struct cv_option_table *table = tables[t];

        (void)printf("%s# %s\n", t ? "\n" : "", table->about);
        for (size_t i = 0; i < table->count; i++) {
            const struct cv_option *option = &table->options[i];

            (void)printf("%s%s%-36s %-12s %s\n", table->section, table->section[0] ? "." : "",
                         option->name, default_of(option), option->help);
        }
    }
}

static void print_json(void)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    struct cv_json_writer w = CV_JSON_WRITER(&text);

    cv_json_begin_array(&w);
    for (size_t t = 0; t < CV_ARRAY_LENGTH(tables); t++)
        for (size_t i = 0; i < tables[t]->count; i++) {
            const struct cv_option *option = &tables[t]->options[i];

            cv_json_begin_object(&w);
            cv_json_key(&w, "section");
            cv_json_put_string(&w, tables[t]->section);
            cv_json_key(&w, "name");
            cv_json_put_string(&w, option->name);
            cv_json_key(&w, "type");
            cv_json_put_string(&w, type_name(option));
            cv_json_key(&w, "default");
            if (option->default_text)
                cv_json_put_string(&w, option->default_text);
            else
                cv_json_put_null(&w);
            cv_json_key(&w, "required");
            cv_json_put_bool(&w, option->flags & CV_OPTION_REQUIRED);
            cv_json_key(&w, "help");
            cv_json_put_string(&w, option->help);
            cv_json_end_object(&w);
        }
    cv_json_end_array(&w);
    (void)printf("%s\n", cv_buf_text(&text));
}

static void print_cell(const char *text)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '<')
            (void)putchar('\\');
        (void)putchar(*text);
    }
}

static void print_markdown_table(const struct cv_option_table *table, const char *noun)
{
    (void)printf("| %s | type | default | meaning |\n|---|---|---|---|\n", noun);
    for (size_t i = 0; i < table->count; i++) {
        const struct cv_option *option = &table->options[i];

        (void)printf("| `%s%s` | ", option->name, option->type == CV_OPTION_PREFIX ? "*" : "");
        print_cell(type_name(option));
        (void)printf(" | ");
        print_cell(default_of(option));
        (void)printf(" | ");
        print_cell(option->help);
        (void)printf(" |\n");
    }
}

static void print_markdown(void)
{
    for (size_t t = 0; t < CV_ARRAY_LENGTH(tables); t++) {
        const struct cv_option_table *table = tables[t];

        (void)printf("%s## `%s`: %s\n\n", t ? "\n" : "",
                     table->section[0] ? table->section : "(top level)", table->about);
        print_markdown_table(table, "option");
    }
}

static void print_procedures(void)
{
    for (size_t i = 0; cv_procedures[i]; i++) {
        const struct cv_procedure *procedure = cv_procedures[i];

        (void)printf("%s### `%s`\n\nSpark: `%s`. Its work: %s.\n", i ? "\n" : "", procedure->name,
                     procedure->spark_name, procedure->about);
        if (procedure->arguments->count) {
            (void)printf("\n");
            print_markdown_table(procedure->arguments, "argument");
        }
    }
}

static void print_function(const char *signature, const char *note)
{
    (void)printf("| ");
    print_cell(signature);
    (void)printf(" | ");
    print_cell(note ? note : "");
    (void)printf(" |\n");
}

static void print_function_rows(const char *title, unsigned wanted)
{
    size_t count;
    const struct cv_function *all = cv_function_all(&count);

    (void)printf("### %s\n\n| form | note |\n|---|---|\n", title);
    for (size_t i = 0; i < count; i++)
        if ((all[i].flags & CV_FUNCTION_OPERATOR) == wanted)
            print_function(all[i].signature, all[i].note);
    (void)printf("\n");
}

static void print_functions(void)
{
    const char *text;
    const char *note;

    print_function_rows("Operators", CV_FUNCTION_OPERATOR);
    print_function_rows("Functions", 0);
    (void)printf("### Aggregates\n\n| form | note |\n|---|---|\n");
    for (size_t i = 0; (text = cv_aggregate_signature(i, &note)); i++)
        print_function(text, note);
    (void)printf("\n### Refused, with the reason\n\n| name | why |\n|---|---|\n");
    for (size_t i = 0; (text = cv_function_refused(i, &note)); i++)
        print_function(text, note);
}

/* Text in roff: a leading dot or quote and every hyphen and backslash are escaped. */
static void print_roff(const char *text)
{
    for (; *text; text++) {
        if (*text == '\\')
            (void)printf("\\e");
        else if (*text == '-')
            (void)printf("\\-");
        else
            (void)putchar(*text);
    }
}

static void print_man_commands(void)
{
    for (size_t i = 0; cv_commands[i]; i++) {
        const struct cv_command *command = cv_commands[i];

        (void)printf(".TP\n.B calve %s\n", command->name);
        print_roff(command->synopsis);
        (void)printf("\n.br\n");
        print_roff(command->about);
        (void)printf("\n");
        for (size_t j = 0; j < command->flag_count; j++) {
            const struct cv_flag *flag = &command->flags[j];

            (void)printf(".br\n\\fB%s", strlen(flag->name) == 1 ? "\\-" : "\\-\\-");
            print_roff(flag->name);
            (void)printf("\\fR%s%s: ", flag->value ? " " : "", flag->value ? flag->value : "");
            print_roff(flag->about);
            (void)printf("\n");
        }
    }
}

static void print_man_options(const struct cv_option_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct cv_option *option = &table->options[i];

        (void)printf(".TP\n.B ");
        print_roff(option->name);
        (void)printf("\n");
        print_roff(option->help);
        if (option->default_text) {
            (void)printf(" Default: ");
            print_roff(option->default_text);
            (void)printf(".");
        }
        (void)printf("\n");
    }
}

static void print_man_procedures(void)
{
    (void)printf(".SH PROCEDURES\nOf \\fBcalve maintain\\fR, each with its arguments, which are "
                 "flags: \\-\\-older_than and \\-\\-older\\-than are one.\n");
    for (size_t i = 0; cv_procedures[i]; i++) {
        (void)printf(".SS ");
        print_roff(cv_procedures[i]->name);
        (void)printf("\n");
        print_roff(cv_procedures[i]->about);
        (void)printf("\n");
        print_man_options(cv_procedures[i]->arguments);
    }
}

static void print_man(void)
{
    (void)printf(".TH CALVE 1 \"\" \"calve %s\" \"User Commands\"\n.SH NAME\n"
                 "calve \\- stream Kafka topics into Apache Iceberg tables, exactly once\n"
                 ".SH SYNOPSIS\n.B calve\n.I COMMAND\n[\\fIARGUMENT\\fR]...\n.SH COMMANDS\n",
                 CALVE_VERSION);
    print_man_commands();
    (void)printf(".SH JOB FILE\nA job file is YAML with the sections below and \\fBcatalogs\\fR. "
                 "${NAME} in a value is an environment variable.\n");
    for (size_t t = 0; t < CV_ARRAY_LENGTH(tables); t++) {
        (void)printf(".SS ");
        print_roff(tables[t]->section[0] ? tables[t]->section : "top level");
        (void)printf("\n");
        print_man_options(tables[t]);
    }
    print_man_procedures();
    (void)printf(".SH EXIT STATUS\n0 fine, 1 findings (check), 2 wrong usage or configuration, 3 "
                 "the run failed.\n.SH ENVIRONMENT\n.TP\n.B CALVE_CONFIG\nFile with the catalogs "
                 "for commands outside a job; default ./calve.yaml.\n");
}

static enum cv_code run(int argc, char **argv, int *ret_status, struct cv_error *err)
{
    struct config_args args = {0};
    struct cv_text_list words = {0};

    CV_DO(cv_args_parse(flags, CV_ARRAY_LENGTH(flags), argc, argv, &args, &words, err));
    if (words.count)
        return cv_fail(err, CV_USAGE, "calve config takes no argument \"%s\"", words.items[0]);
    if (args.json)
        print_json();
    else if (args.functions)
        print_functions();
    else if (args.markdown)
        print_markdown();
    else if (args.procedures)
        print_procedures();
    else if (args.man)
        print_man();
    else
        print_text();
    *ret_status = 0;
    return CV_OK;
}

const struct cv_command cv_command_config = {
    "config",
    "[--json | --markdown | --man | --procedures | --functions]",
    "print every option of a job file with its default",
    run,
    flags,
    CV_ARRAY_LENGTH(flags)};
