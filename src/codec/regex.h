/* SPDX-License-Identifier: Apache-2.0
 *
 * Java's regular expressions by PCRE2, which reads the same syntax but for a few things that are
 * refused by name. A compiled expression may be used by many threads, each with its own match. */
#ifndef CALVE_CODEC_REGEX_H
#define CALVE_CODEC_REGEX_H

#include "base/str.h"

struct cv_regex;
/* CV_CONFIG with the position; CV_UNSUPPORTED for Java's own classes within classes and (?U). */
enum cv_code cv_regex_compile(const char *pattern, struct cv_regex **ret_regex,
                              struct cv_error *err);
void cv_regex_free(struct cv_regex *regex);
CV_DEFINE_CLEANUP(struct cv_regex *, cv_regex_free)
size_t cv_regex_group_count(const struct cv_regex *regex);
/* The number of a named group; 0 = there is none. */
size_t cv_regex_group_number(const struct cv_regex *regex, const char *name);

enum cv_regex_result {
    CV_REGEX_NONE,
    CV_REGEX_FOUND,
    CV_REGEX_GAVE_UP, /* too much backtracking, or the text is not UTF-8 */
};

struct cv_regex_match;
struct cv_regex_match *cv_regex_match_new(const struct cv_regex *regex);
void cv_regex_match_free(struct cv_regex_match *match);
CV_DEFINE_CLEANUP(struct cv_regex_match *, cv_regex_match_free)
/* Searches from byte `start`, which is 0 in the first search of a text. */
enum cv_regex_result cv_regex_search(struct cv_regex_match *match, struct cv_str text,
                                     size_t start);
/* Start and end of a group of the last match; 0 is all of it. False when it took no part. */
bool cv_regex_group(const struct cv_regex_match *match, size_t group, size_t *ret_start,
                    size_t *ret_end);

#endif
