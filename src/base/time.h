/* SPDX-License-Identifier: Apache-2.0
 *
 * Clocks, the proleptic Gregorian calendar, and the texts of instants and durations.
 * Everything is UTC; the zone of the machine has no effect. */
#ifndef CALVE_BASE_TIME_H
#define CALVE_BASE_TIME_H

#include "base/str.h"

#define CV_US_PER_MS     INT64_C(1000)
#define CV_US_PER_SECOND INT64_C(1000000)
#define CV_US_PER_HOUR   (INT64_C(3600) * CV_US_PER_SECOND)
#define CV_US_PER_DAY    (INT64_C(86400) * CV_US_PER_SECOND)

int64_t cv_now_us(void);       /* wall clock, µs since the epoch */
int64_t cv_now_ms(void);       /* wall clock, ms since the epoch */
int64_t cv_monotonic_us(void); /* for durations and deadlines */
int64_t cv_cpu_us(void);       /* user and system time of the process */
void cv_sleep_ms(int64_t ms);

/* Floor division and its remainder in [0, divisor); divisor > 0. */
static inline int64_t cv_floor_div(int64_t value, int64_t divisor)
{
    int64_t quotient = value / divisor;

    return quotient - (value % divisor < 0);
}

static inline int64_t cv_floor_mod(int64_t value, int64_t divisor)
{
    int64_t rest = value % divisor;

    return rest < 0 ? rest + divisor : rest;
}

/* Days since 1970-01-01; year may be negative (astronomical), month 1-12, day 1-31. */
int64_t cv_days_from_civil(int64_t year, int month, int day);
void cv_civil_from_days(int64_t days, int64_t *ret_year, int *ret_month, int *ret_day);
int cv_days_in_month(int64_t year, int month);

#define CV_TIME_TEXT_BYTES 48
/* 2026-01-01T00:00:00.000Z, the form of StreamingQueryProgress. */
void cv_format_ms_utc(int64_t ms, char text[CV_TIME_TEXT_BYTES]);
/* 2026-01-01 00:00:00.000, the form of tables for people. */
void cv_format_ms_plain(int64_t ms, char text[CV_TIME_TEXT_BYTES]);

/* Spark's interval text: "5 seconds", "1 minute", "interval 1 hour 30 minutes", "100 ms", "15m",
 * "2h"; a bare number is in `bare_unit_us` (0 = refused). Result in µs, not negative. */
enum cv_code cv_parse_duration(const char *text, int64_t bare_unit_us, int64_t *ret_us,
                               struct cv_error *err);

#endif
