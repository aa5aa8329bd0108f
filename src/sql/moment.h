/* SPDX-License-Identifier: Apache-2.0
 *
 * Dates and timestamps for the tables of functions. Private to sql/. */
#ifndef CALVE_SQL_MOMENT_H
#define CALVE_SQL_MOMENT_H

#include "sql/function_int.h"

/* With the day cut to the length of the month; false = out of range. */
bool cv_date_add_months(int64_t days, int64_t months, int64_t *ret_days);
cv_native_call cv_native_add_months;
/* date_add(date, days or interval); the row's number is + or -. */
cv_function_bind cv_bind_date_add;

/* Java's patterns of dates and times (moment_pattern.c): checked once, with the reason. */
enum cv_code cv_moment_pattern_check(const char *function, const char *pattern, bool parsing,
                                     struct cv_error *err);
void cv_moment_format(int64_t us, const char *pattern, struct cv_buf *out);
bool cv_moment_parse(struct cv_str text, const char *pattern, int64_t *ret_us);

#endif
