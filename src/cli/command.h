/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands of the program: one file each, one row in main.c. A command prints what it found on
 * standard output and returns the exit status; a failure is left in err and printed by main. */
#ifndef CALVE_CLI_COMMAND_H
#define CALVE_CLI_COMMAND_H

#include "base/str.h"
#include "base/properties.h"

struct cv_command {
    const char *name;     /* "run", "table create" */
    const char *synopsis; /* after the name */
    const char *about;    /* one line */
    enum cv_code (*run)(int argc, char **argv, int *ret_status, struct cv_error *err);
    const struct cv_flag *flags; /* for help and the man page */
    size_t flag_count;
    /* Prints the help where it depends on the words; NULL: from the rows above. */
    void (*help)(int argc, char **argv);
};

enum cv_flag_type {
    CV_FLAG_BOOL,    /* bool; --x, --x=false */
    CV_FLAG_TEXT,    /* const char * */
    CV_FLAG_SWITCH,  /* const char *; --x is "true" */
    CV_FLAG_INTEGER, /* int64_t */
    CV_FLAG_LIST,    /* struct cv_text_list, may be repeated */
};

struct cv_text_list {
    const char *items[64];
    size_t count;
};

/* A flag of a command. Dashes and underscores in names are one. */
struct cv_flag {
    const char *name; /* "available-now"; "o" for -o */
    enum cv_flag_type type;
    size_t offset;     /* in the command's struct of arguments */
    const char *value; /* what stands for the value in the help; NULL for BOOL */
    const char *about;
};

/* Fills `target`; other words go to `words`. CV_USAGE names the flag and proposes a near one. */
enum cv_code cv_args_parse(const struct cv_flag *flags, size_t flag_count, int argc, char **argv,
                           void *target, struct cv_text_list *words, struct cv_error *err);

/* "k=v" of a list flag, which messages name, into properties. */
enum cv_code cv_args_properties(const struct cv_text_list *list, const char *flag,
                                struct cv_properties *properties, struct cv_error *err);

extern const struct cv_command cv_command_run;
extern const struct cv_command cv_command_check;
extern const struct cv_command cv_command_demo;
extern const struct cv_command cv_command_doctor;
extern const struct cv_command cv_command_config;
extern const struct cv_command cv_command_maintain;
extern const struct cv_command cv_command_table_create;
extern const struct cv_command cv_command_table_list;
extern const struct cv_command cv_command_table_rename;
extern const struct cv_command cv_command_table_drop;
extern const struct cv_command cv_command_table_set;
extern const struct cv_command cv_command_table_show;
extern const struct cv_command cv_command_table_snapshots;
extern const struct cv_command cv_command_table_files;
extern const struct cv_command cv_command_table_manifests;
extern const struct cv_command cv_command_table_partitions;
extern const struct cv_command cv_command_table_refs;
extern const struct cv_command cv_command_table_history;
extern const struct cv_command cv_command_table_scan;

/* All of them, NULL at the end. */
extern const struct cv_command *const cv_commands[];
void cv_command_print_help(const struct cv_command *command);
void cv_flag_print_help(const struct cv_flag *flag);

/* True when standard output is a terminal that may show colour. */
bool cv_terminal(void);

#endif
