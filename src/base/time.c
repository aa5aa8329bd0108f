/* SPDX-License-Identifier: Apache-2.0
 *
 * Clocks, calendar, durations. The calendar functions count in 400-year eras that begin on
 * 1 March, so that the leap day is the last one of its year. */
#include "base/time.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <strings.h>
#include <time.h>

static int64_t clock_us(clockid_t clock)
{
    struct timespec now;

    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * CV_US_PER_SECOND + now.tv_nsec / 1000;
}

int64_t cv_now_us(void)
{
    return clock_us(CLOCK_REALTIME);
}

int64_t cv_now_ms(void)
{
    return cv_now_us() / CV_US_PER_MS;
}

int64_t cv_monotonic_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

int64_t cv_cpu_us(void)
{
    return clock_us(CLOCK_PROCESS_CPUTIME_ID);
}

void cv_sleep_ms(int64_t ms)
{
    struct timespec rest = {ms / 1000, (ms % 1000) * 1000000};

    while (ms > 0 && nanosleep(&rest, &rest) != 0 && errno == EINTR)
        ;
}

int64_t cv_days_from_civil(int64_t year, int month, int day)
{
    int64_t shifted = month <= 2 ? year - 1 : year;
    int64_t era = cv_floor_div(shifted, 400);
    int64_t year_of_era = shifted - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * 146097 + day_of_era - 719468;
}

void cv_civil_from_days(int64_t days, int64_t *ret_year, int *ret_month, int *ret_day)
{
    int64_t shifted = days + 719468;
    int64_t era = cv_floor_div(shifted, 146097);
    int64_t day_of_era = shifted - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_shifted = (5 * day_of_year + 2) / 153;

    *ret_day = (int)(day_of_year - (153 * month_shifted + 2) / 5 + 1);
    *ret_month = (int)(month_shifted < 10 ? month_shifted + 3 : month_shifted - 9);
    *ret_year = year_of_era + era * 400 + (*ret_month <= 2);
}

int cv_days_in_month(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return month == 2 && leap ? 29 : days[month - 1];
}

static void format_ms(int64_t ms, char separator, const char *suffix, char *text)
{
    int64_t in_day = cv_floor_mod(ms, 86400000);
    int64_t year;
    int month;
    int day;

    cv_civil_from_days(cv_floor_div(ms, 86400000), &year, &month, &day);
    (void)snprintf(text, CV_TIME_TEXT_BYTES, "%04lld-%02d-%02d%c%02d:%02d:%02d.%03d%s",
                   (long long)year, month, day, separator, (int)(in_day / 3600000),
                   (int)(in_day / 60000 % 60), (int)(in_day / 1000 % 60), (int)(in_day % 1000),
                   suffix);
}

void cv_format_ms_utc(int64_t ms, char text[CV_TIME_TEXT_BYTES])
{
    format_ms(ms, 'T', "Z", text);
}

void cv_format_ms_plain(int64_t ms, char text[CV_TIME_TEXT_BYTES])
{
    format_ms(ms, ' ', "", text);
}

static const struct {
    const char *name;
    int64_t us;
} units[] = {
    {"us", 1},          {"microsecond", 1},   {"ms", 1000},           {"millisecond", 1000},
    {"s", 1000000},     {"sec", 1000000},     {"second", 1000000},    {"m", 60000000},
    {"min", 60000000},  {"minute", 60000000}, {"h", 3600000000},      {"hour", 3600000000},
    {"d", 86400000000}, {"day", 86400000000}, {"week", 604800000000},
};

static int64_t unit_us(struct cv_str name)
{
    if (name.length > 3 && tolower((unsigned char)name.ptr[name.length - 1]) == 's')
        name.length--;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(units); i++)
        if (strlen(units[i].name) == name.length &&
            strncasecmp(units[i].name, name.ptr, name.length) == 0)
            return units[i].us;
    return 0;
}

static const char *skip_blanks(const char *c)
{
    while (isspace((unsigned char)*c))
        c++;
    return c;
}

/* One "<number>[.<fraction>] <unit>" at *at; false when it is not one. */
static bool parse_part(const char **at, int64_t bare_unit_us, int64_t *ret_us)
{
    const char *digits = skip_blanks(*at);
    const char *c = digits;
    const char *word;
    int64_t count;
    int64_t unit;

    while (isdigit((unsigned char)*c))
        c++;
    if (!cv_parse_i64((struct cv_str){digits, (size_t)(c - digits)}, &count))
        return false;
    word = c = skip_blanks(c);
    while (isalpha((unsigned char)*c))
        c++;
    unit = c == word ? bare_unit_us : unit_us((struct cv_str){word, (size_t)(c - word)});
    *at = skip_blanks(c);
    return unit > 0 && !__builtin_mul_overflow(count, unit, ret_us);
}

enum cv_code cv_parse_duration(const char *text, int64_t bare_unit_us, int64_t *ret_us,
                               struct cv_error *err)
{
    const char *at = skip_blanks(text);
    int64_t total = 0;

    if (strncasecmp(at, "interval ", 9) == 0)
        at += 9;
    do {
        int64_t part;

        if (!parse_part(&at, bare_unit_us, &part) || __builtin_add_overflow(total, part, &total)) {
            (void)cv_fail(err, CV_CONFIG, "\"%.100s\" is not a duration", text);
            cv_hint(err, "write a number and a unit, for example \"5 seconds\" or \"1 minute\"");
            return CV_CONFIG;
        }
    } while (*at);
    *ret_us = total;
    return CV_OK;
}
