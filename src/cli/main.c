/* SPDX-License-Identifier: Apache-2.0
 *
 * calve: the program. Finds the command, runs it, prints an error once. */
#include "cli/command.h"

#include "base/log.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>

#define FLAG_WIDTH 28 /* of a flag with its value in the help */

const struct cv_command *const cv_commands[] = {
    &cv_command_demo,
    &cv_command_check,
    &cv_command_run,
    &cv_command_doctor,
    &cv_command_table_create,
    &cv_command_table_list,
    &cv_command_table_show,
    &cv_command_table_snapshots,
    &cv_command_table_files,
    &cv_command_table_manifests,
    &cv_command_table_partitions,
    &cv_command_table_refs,
    &cv_command_table_history,
    &cv_command_table_scan,
    &cv_command_table_set,
    &cv_command_table_rename,
    &cv_command_table_drop,
    &cv_command_maintain,
    &cv_command_config,
    NULL,
};

/* The commands whose names begin with `group` ("table"); all of them when it is empty. */
static void print_usage(FILE *out, const char *group)
{
    (void)fprintf(out, "calve streams Kafka topics into Apache Iceberg tables, exactly once.\n\n"
                       "usage: calve COMMAND …\n\n");
    for (size_t i = 0; cv_commands[i]; i++)
        if (strncmp(cv_commands[i]->name, group, strlen(group)) == 0)
            (void)fprintf(out, "  %-18s %s\n", cv_commands[i]->name, cv_commands[i]->about);
    (void)fprintf(out, "\n`calve COMMAND --help` tells more; `man calve` tells all.\n"
                       "Exit status: 0 fine, 1 findings, 2 wrong usage or configuration, 3 the "
                       "run failed.\n");
}

void cv_flag_print_help(const struct cv_flag *flag)
{
    char left[96];

    (void)snprintf(left, sizeof left, "%s%s %s", strlen(flag->name) == 1 ? "-" : "--", flag->name,
                   flag->value ? flag->value : "");
    if (strlen(left) > FLAG_WIDTH)
        (void)printf("  %s\n  %*s %s\n", left, FLAG_WIDTH, "", flag->about);
    else
        (void)printf("  %-*s %s\n", FLAG_WIDTH, left, flag->about);
}

void cv_command_print_help(const struct cv_command *command)
{
    (void)printf("usage: calve %s %s\n\n%s\n", command->name, command->synopsis, command->about);
    if (command->flag_count)
        (void)printf("\n");
    for (size_t i = 0; i < command->flag_count; i++)
        cv_flag_print_help(&command->flags[i]);
}

/* The command that begins at argv[0]; *ret_words tells how many words its name has. */
static const struct cv_command *find_command(int argc, char **argv, int *ret_words)
{
    for (size_t i = 0; cv_commands[i]; i++) {
        const char *name = cv_commands[i]->name;
        const char *blank = strchr(name, ' ');
        size_t first = blank ? (size_t)(blank - name) : strlen(name);

        if (strlen(argv[0]) != first || strncmp(argv[0], name, first) != 0)
            continue;
        if (!blank) {
            *ret_words = 1;
            return cv_commands[i];
        }
        if (argc > 1 && strcmp(argv[1], blank + 1) == 0) {
            *ret_words = 2;
            return cv_commands[i];
        }
    }
    return NULL;
}

/* True for the first word of commands of two words. */
static bool is_group(const char *word)
{
    size_t length = strlen(word);

    for (size_t i = 0; cv_commands[i]; i++)
        if (strncmp(cv_commands[i]->name, word, length) == 0 && cv_commands[i]->name[length] == ' ')
            return true;
    return false;
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* `calve table` or an unknown name: what there is instead. */
static int without_command(int argc, char **argv)
{
    const char *group = is_group(argv[0]) ? argv[0] : "";

    if (*group && wants_help(argc - 1, argv + 1)) {
        print_usage(stdout, group);
        return 0;
    }
    (void)fprintf(stderr, "calve: there is no command \"%s%s%s\"\n\n", argv[0], argc > 1 ? " " : "",
                  argc > 1 ? argv[1] : "");
    print_usage(stderr, group);
    return 2;
}

int main(int argc, char **argv)
{
    struct cv_error err = CV_ERROR_INIT;
    const struct cv_command *command;
    enum cv_code code;
    int status = 0;
    int words;

    /* An arena per thread keeps what each one freed: with workers and the client's threads a long
     * run of wide rows held 309 MB instead of 235. The record path does not allocate. */
    (void)mallopt(M_ARENA_MAX, 2);
    (void)signal(SIGPIPE, SIG_IGN);
    if (argc < 2) {
        print_usage(stderr, "");
        return 2;
    }
    if (strcmp(argv[1], "--version") == 0) {
        (void)printf("calve %s\n", CALVE_VERSION);
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_usage(stdout, "");
        return 0;
    }
    command = find_command(argc - 1, argv + 1, &words);
    if (!command)
        return without_command(argc - 1, argv + 1);
    if (wants_help(argc - 1 - words, argv + 1 + words)) {
        if (command->help)
            command->help(argc - 1 - words, argv + 1 + words);
        else
            cv_command_print_help(command);
        return 0;
    }
    code = command->run(argc - 1 - words, argv + 1 + words, &status, &err);
    if (code == CV_OK)
        return status;
    cv_log_error(&err);
    return cv_code_exit_status(code);
}
