/* SPDX-License-Identifier: Apache-2.0
 *
 * Spans of text that somebody else owns, and parsing of numbers with checks. */
#ifndef CALVE_BASE_STR_H
#define CALVE_BASE_STR_H

#include "base/memory.h"

#include <string.h>

struct cv_str {
    const char *ptr; /* not terminated */
    size_t length;
};

static inline struct cv_str cv_str_from(const char *text)
{
    return (struct cv_str){text, text ? strlen(text) : 0};
}

static inline bool cv_str_equal(struct cv_str a, struct cv_str b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.ptr, b.ptr, a.length) == 0);
}

static inline bool cv_str_is(struct cv_str a, const char *text)
{
    return cv_str_equal(a, cv_str_from(text));
}

/* printf("%.*s", CV_STR_ARG(s)) */
#define CV_STR_ARG(s) (int)(s).length, (s).ptr

bool cv_text_equal_nocase(const char *a, const char *b); /* ASCII only */
bool cv_text_starts_with(const char *text, const char *prefix);
bool cv_text_ends_with(const char *text, const char *suffix);
struct cv_str cv_str_trim(struct cv_str text); /* ASCII blanks on both sides */

/* Bytes up to the blank (control characters too) on both sides, as Spark's casts trim; with
 * `delete_too` also 0x7f. */
struct cv_str cv_str_trim_control(struct cv_str text, bool delete_too);

/* Whole text, decimal, optional sign, no blanks; false on anything else or overflow. */
bool cv_parse_i64(struct cv_str text, int64_t *ret_value);

/* Splits at `separator`, trims, drops empties; the array and the texts live in the arena. */
char **cv_split(struct cv_arena *arena, const char *text, char separator, size_t *ret_count);

#endif
