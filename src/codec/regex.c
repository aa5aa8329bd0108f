/* SPDX-License-Identifier: Apache-2.0
 *
 * The wrapper around PCRE2. */
#include "codec/regex.h"

#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define STEPS_MAX 1000000 /* backtracking of one search */

struct cv_regex {
    pcre2_code *code;
};

struct cv_regex_match {
    const struct cv_regex *regex;
    pcre2_match_data *data;
    pcre2_match_context *context;
};

/* What Java reads otherwise: a class within a class, an intersection of classes. */
static bool has_nested_class(const char *pattern)
{
    bool in_class = false;

    for (const char *c = pattern; *c; c++) {
        if (*c == '\\' && c[1]) {
            c++;
        } else if (in_class && (*c == '[' || (*c == '&' && c[1] == '&'))) {
            return true;
        } else if (*c == '[') {
            in_class = true;
            c += c[1] == '^';
            c += c[1] == ']';
        } else if (*c == ']') {
            in_class = false;
        }
    }
    return false;
}

enum cv_code cv_regex_compile(const char *pattern, struct cv_regex **ret_regex,
                              struct cv_error *err)
{
    pcre2_compile_context *context;
    struct cv_regex *regex;
    char message[128];
    PCRE2_SIZE where = 0;
    int error = 0;

    if (has_nested_class(pattern) || strstr(pattern, "(?U"))
        return cv_fail(err, CV_UNSUPPORTED,
                       "intersections of character classes (&&), classes within classes and (?U) "
                       "are not supported");
    context = pcre2_compile_context_create(NULL);
    if (context)
        (void)pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
    regex = cv_alloc(sizeof *regex);
    regex->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error,
                                &where, context);
    pcre2_compile_context_free(context);
    if (!regex->code) {
        free(regex);
        (void)pcre2_get_error_message(error, (PCRE2_UCHAR *)message, sizeof message);
        return cv_fail(err, CV_CONFIG, "at character %zu: %s", (size_t)where + 1, message);
    }
    (void)pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE); /* without it: slower */
    *ret_regex = regex;
    return CV_OK;
}

void cv_regex_free(struct cv_regex *regex)
{
    if (!regex)
        return;
    pcre2_code_free(regex->code);
    free(regex);
}

size_t cv_regex_group_count(const struct cv_regex *regex)
{
    uint32_t count = 0;

    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_CAPTURECOUNT, &count);
    return count;
}

size_t cv_regex_group_number(const struct cv_regex *regex, const char *name)
{
    int number = pcre2_substring_number_from_name(regex->code, (PCRE2_SPTR)name);

    return number > 0 ? (size_t)number : 0;
}

struct cv_regex_match *cv_regex_match_new(const struct cv_regex *regex)
{
    struct cv_regex_match *match = cv_alloc(sizeof *match);

    match->regex = regex;
    match->data = pcre2_match_data_create_from_pattern(regex->code, NULL);
    match->context = pcre2_match_context_create(NULL);
    if (match->context)
        (void)pcre2_set_match_limit(match->context, STEPS_MAX);
    return match;
}

void cv_regex_match_free(struct cv_regex_match *match)
{
    if (!match)
        return;
    pcre2_match_data_free(match->data);
    pcre2_match_context_free(match->context);
    free(match);
}

enum cv_regex_result cv_regex_search(struct cv_regex_match *match, struct cv_str text, size_t start)
{
    int found;

    if (!match->data)
        return CV_REGEX_GAVE_UP;
    found = pcre2_match(match->regex->code, (PCRE2_SPTR)(text.ptr ? text.ptr : ""), text.length,
                        start, start ? PCRE2_NO_UTF_CHECK : 0, match->data, match->context);
    if (found >= 0)
        return CV_REGEX_FOUND;
    return found == PCRE2_ERROR_NOMATCH ? CV_REGEX_NONE : CV_REGEX_GAVE_UP;
}

bool cv_regex_group(const struct cv_regex_match *match, size_t group, size_t *ret_start,
                    size_t *ret_end)
{
    const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(match->data);

    if (group >= pcre2_get_ovector_count(match->data) || offsets[2 * group] == PCRE2_UNSET)
        return false;
    *ret_start = offsets[2 * group];
    *ret_end = CV_MAX(offsets[2 * group + 1], offsets[2 * group]);
    return true;
}
