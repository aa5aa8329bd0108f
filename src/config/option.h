/* SPDX-License-Identifier: Apache-2.0
 *
 * Options as tables next to their module: one row gives parsing with its checks, `calve config`,
 * docs/CONFIGURATION.md and the man page. Names are matched without regard to case. */
#ifndef CALVE_CONFIG_OPTION_H
#define CALVE_CONFIG_OPTION_H

#include "base/properties.h"
#include "base/str.h"

enum cv_option_type {
    CV_OPTION_BOOL,     /* bool */
    CV_OPTION_INTEGER,  /* int64_t */
    CV_OPTION_BYTES,    /* int64_t; "256 MiB", "64k", bare number = bytes */
    CV_OPTION_DURATION, /* int64_t µs; see cv_parse_duration(); bare number = ms */
    CV_OPTION_TEXT,     /* const char *, NULL when unset */
    CV_OPTION_CHOICE,   /* int, index into `choices` */
    CV_OPTION_PREFIX,   /* struct cv_properties: every key that begins with the name, without it */
    CV_OPTION_ACCEPTED, /* nothing stored: taken for the sake of job files made for Spark */
};

enum cv_option_flag {
    CV_OPTION_SECRET = 1, /* the value never reaches a log, an error or `calve config` */
    CV_OPTION_REQUIRED = 2,
    CV_OPTION_REFUSED = 4, /* known and not taken; `help` says why */
};

struct cv_option {
    const char *name;
    enum cv_option_type type;
    size_t offset;            /* in the target struct */
    const char *default_text; /* NULL = unset */
    const char *choices;      /* "none|error|latest" */
    const char *help;         /* one sentence */
    int64_t min, max;         /* integers, bytes and durations (µs); max 0 = no limit */
    unsigned flags;
};

/* Rows of names that users bring along from elsewhere. */
#define CV_OPTION_TAKES(key, why)                                                                  \
    {                                                                                              \
        .name = (key), .type = CV_OPTION_ACCEPTED, .help = (why)                                   \
    }
#define CV_OPTION_REFUSES(key, why)                                                                \
    {                                                                                              \
        .name = (key), .type = CV_OPTION_TEXT, .flags = CV_OPTION_REFUSED, .help = (why)           \
    }
/* All that begin so. */
#define CV_OPTION_REFUSES_ALL(prefix, why)                                                         \
    {                                                                                              \
        .name = (prefix), .type = CV_OPTION_PREFIX, .flags = CV_OPTION_REFUSED, .help = (why)      \
    }

struct cv_option_table {
    const char *section; /* of the job file: "source", "value", "sink", "" for the top level */
    const char *about;   /* one line for the documentation */
    const struct cv_option *options;
    size_t count;
};

/* Sets every default. The target has been zeroed. */
enum cv_code cv_options_defaults(const struct cv_option_table *table, void *target,
                                 struct cv_arena *arena, struct cv_error *err);
/* Sets one option; texts go to the arena. Unknown names are an error that proposes the nearest one;
 * messages name section and key. */
enum cv_code cv_options_set(const struct cv_option_table *table, void *target,
                            struct cv_arena *arena, const char *key, const char *value,
                            struct cv_error *err);
/* Which of several tables, which share a section, has the key; the first one counts. A key that is
 * unknown to all or refused is an error as above. */
enum cv_code cv_options_find(const struct cv_option_table *const *tables, size_t count,
                             const char *key, size_t *ret_table, struct cv_error *err);
/* CV_CONFIG naming the first required option that has no value. */
enum cv_code cv_options_check_required(const struct cv_option_table *table, const void *target,
                                       struct cv_error *err);
/* The name closest to a mistyped one among `count` names; NULL when none is close. */
const char *cv_nearest_name(const char *name, const char *(*name_at)(const void *context, size_t i),
                            const void *context, size_t count);
/* "256 MiB", "1g", "65536" → bytes. */
enum cv_code cv_parse_bytes(const char *text, int64_t *ret_bytes, struct cv_error *err);

#endif
