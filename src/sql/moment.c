/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of dates and timestamps. The session's zone is UTC. */
#include "sql/moment.h"

#include "base/time.h"

#include <math.h>

static bool out_of_range(struct cv_native_row *row)
{
    return cv_native_fail(row, "the date or timestamp is out of range");
}

/* --- fields ---------------------------------------------------------------------------------- */

enum field {
    YEAR,
    QUARTER,
    MONTH,
    WEEK,
    DAY,
    DAY_OF_YEAR,
    DAY_OF_WEEK,     /* Sunday is 1 */
    WEEKDAY,         /* Monday is 0 */
    DAY_OF_WEEK_ISO, /* Monday is 1 */
    YEAR_OF_WEEK,
    HOUR, /* from here on of a timestamp */
    MINUTE,
    SECOND,
    MILLISECOND,
    MICROSECOND,
};

/* The Thursday of a week says which year it belongs to. */
static int64_t week_of(int64_t days, int64_t *ret_year)
{
    int64_t thursday = days - cv_floor_mod(days + 3, 7) + 3;
    int month;
    int day;

    cv_civil_from_days(thursday, ret_year, &month, &day);
    return (thursday - cv_days_from_civil(*ret_year, 1, 1)) / 7 + 1;
}

static int64_t date_field(enum field field, int64_t days)
{
    int64_t year;
    int64_t week;
    int month;
    int day;

    cv_civil_from_days(days, &year, &month, &day);
    switch (field) {
    case YEAR:
        return year;
    case QUARTER:
        return (month + 2) / 3;
    case MONTH:
        return month;
    case WEEK:
        return week_of(days, &year);
    case DAY:
        return day;
    case DAY_OF_YEAR:
        return days - cv_days_from_civil(year, 1, 1) + 1;
    case DAY_OF_WEEK:
        return cv_floor_mod(days + 4, 7) + 1;
    case WEEKDAY:
        return cv_floor_mod(days + 3, 7);
    case DAY_OF_WEEK_ISO:
        return cv_floor_mod(days + 3, 7) + 1;
    default:
        week = week_of(days, &year);
        (void)week;
        return year;
    }
}

static bool native_date_field(struct cv_native_row *row)
{
    row->out.i32 = (int32_t)date_field((enum field)row->native->number, row->in[0].i32);
    return true;
}

static bool native_time_field(struct cv_native_row *row)
{
    int64_t us = cv_floor_mod(row->in[0].i64, CV_US_PER_DAY);
    int64_t seconds = us / CV_US_PER_SECOND;

    if (row->native->result.kind == CV_TYPE_DECIMAL)
        row->out.decimal = us % (60 * CV_US_PER_SECOND);
    else if (row->native->number == HOUR)
        row->out.i32 = (int32_t)(seconds / 3600);
    else
        row->out.i32 = (int32_t)(row->native->number == MINUTE ? seconds / 60 % 60 : seconds % 60);
    return true;
}

static enum cv_code bind_field(const struct cv_function *function, struct cv_call *call,
                               const struct cv_expr **ret_expr, struct cv_error *err)
{
    struct cv_function row = *function;

    row.native = function->number < HOUR ? native_date_field : native_time_field;
    row.detail = function->number < HOUR ? "D:i" : "t:i";
    return cv_bind_letters(&row, call, ret_expr, err);
}

static const struct {
    const char *name;
    enum field field;
} parts[] = {
    {"year", YEAR},
    {"years", YEAR},
    {"y", YEAR},
    {"yearofweek", YEAR_OF_WEEK},
    {"quarter", QUARTER},
    {"qtr", QUARTER},
    {"month", MONTH},
    {"months", MONTH},
    {"mon", MONTH},
    {"week", WEEK},
    {"weeks", WEEK},
    {"w", WEEK},
    {"day", DAY},
    {"days", DAY},
    {"d", DAY},
    {"doy", DAY_OF_YEAR},
    {"dayofyear", DAY_OF_YEAR},
    {"dow", DAY_OF_WEEK},
    {"dayofweek", DAY_OF_WEEK},
    {"hour", HOUR},
    {"hours", HOUR},
    {"h", HOUR},
    {"minute", MINUTE},
    {"minutes", MINUTE},
    {"min", MINUTE},
    {"second", SECOND},
    {"seconds", SECOND},
    {"s", SECOND},
};

static enum cv_code bind_part(const struct cv_function *function, struct cv_call *call,
                              const struct cv_expr **ret_expr, struct cv_error *err)
{
    const struct cv_type fraction = {.kind = CV_TYPE_DECIMAL, .precision = 8, .scale = 6};
    const char *name;

    CV_DO(cv_bind_constant_text(call, 0, "the field", &name, err));
    for (size_t i = 0; i < CV_ARRAY_LENGTH(parts); i++) {
        struct cv_function row = *function;

        if (!cv_text_equal_nocase(parts[i].name, name))
            continue;
        call->arguments++;
        call->argument_count--;
        row.number = parts[i].field;
        if (parts[i].field != SECOND)
            return bind_field(&row, call, ret_expr, err);
        CV_DO(cv_bind_letter(call, 0, 't', err));
        *ret_expr = cv_bind_native(
            call,
            &(struct cv_native){.call = native_time_field, .number = SECOND, .result = fraction});
        return CV_OK;
    }
    return cv_fail(err, CV_UNSUPPORTED, "%s: there is no field '%s'", function->name, name);
}

/* --- cutting --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum field unit;
} cuts[] = {
    {"year", YEAR},
    {"yyyy", YEAR},
    {"yy", YEAR},
    {"quarter", QUARTER},
    {"month", MONTH},
    {"mm", MONTH},
    {"mon", MONTH},
    {"week", WEEK},
    {"day", DAY},
    {"dd", DAY},
    {"hour", HOUR},
    {"minute", MINUTE},
    {"second", SECOND},
    {"millisecond", MILLISECOND},
    {"microsecond", MICROSECOND},
};

static int64_t cut_date(enum field unit, int64_t days)
{
    int64_t year;
    int month;
    int day;

    cv_civil_from_days(days, &year, &month, &day);
    switch (unit) {
    case YEAR:
        return cv_days_from_civil(year, 1, 1);
    case QUARTER:
        return cv_days_from_civil(year, (month - 1) / 3 * 3 + 1, 1);
    case MONTH:
        return cv_days_from_civil(year, month, 1);
    case WEEK:
        return days - cv_floor_mod(days + 3, 7);
    default:
        return days;
    }
}

static bool native_cut_date(struct cv_native_row *row)
{
    int64_t days = cut_date((enum field)row->native->number, row->in[0].i32);

    row->out.i32 = (int32_t)days;
    return days >= INT32_MIN || out_of_range(row);
}

static bool native_cut_timestamp(struct cv_native_row *row)
{
    static const int64_t units[] = {[HOUR] = CV_US_PER_HOUR,
                                    [MINUTE] = 60 * CV_US_PER_SECOND,
                                    [SECOND] = CV_US_PER_SECOND,
                                    [MILLISECOND] = CV_US_PER_MS,
                                    [MICROSECOND] = 1};
    enum field unit = (enum field)row->native->number;
    int64_t us = row->in[0].i64;

    if (unit >= HOUR)
        return !__builtin_sub_overflow(us, cv_floor_mod(us, units[unit]), &row->out.i64) ||
               out_of_range(row);
    return !__builtin_mul_overflow(cut_date(unit, cv_floor_div(us, CV_US_PER_DAY)), CV_US_PER_DAY,
                                   &row->out.i64) ||
           out_of_range(row);
}

static bool find_cut(const char *name, enum field *ret_unit)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(cuts); i++)
        if (cv_text_equal_nocase(cuts[i].name, name)) {
            *ret_unit = cuts[i].unit;
            return true;
        }
    return false;
}

static enum cv_code bind_date_trunc(const struct cv_function *function, struct cv_call *call,
                                    const struct cv_expr **ret_expr, struct cv_error *err)
{
    const char *name;
    enum field unit;

    CV_DO(cv_bind_constant_text(call, 0, "the unit", &name, err));
    if (!find_cut(name, &unit))
        return cv_fail(err, CV_UNSUPPORTED, "%s: there is no unit '%s'", function->name, name);
    call->arguments++;
    call->argument_count--;
    CV_DO(cv_bind_letter(call, 0, 'T', err));
    *ret_expr = cv_bind_native(call, &(struct cv_native){.call = native_cut_timestamp,
                                                         .number = unit,
                                                         .result = CV_PLAIN(TIMESTAMPTZ)});
    return CV_OK;
}

/* trunc(date, unit). DuckDB's parser puts trunc() around the count of an INTERVAL too. */
static enum cv_code bind_trunc(const struct cv_function *function, struct cv_call *call,
                               const struct cv_expr **ret_expr, struct cv_error *err)
{
    const struct cv_expr *inner = call->arguments[0];
    const char *name;
    enum field unit;

    while (inner->kind == CV_EXPR_CALL && inner->argument_count == 1)
        inner = inner->arguments[0];
    if (call->argument_count == 1) {
        if (inner->kind != CV_EXPR_CONSTANT)
            return cv_fail(err, CV_SCHEMA,
                           "%s: one argument is given; for a number there are "
                           "floor, ceil and round",
                           function->signature);
        CV_DO(cv_bind_letter(call, 0, 'd', err));
        *ret_expr = cv_bind_sql(call, "trunc($1)", &call->arguments[0]->type);
        return CV_OK;
    }
    CV_DO(cv_bind_constant_text(call, 1, "the unit", &name, err));
    if (!find_cut(name, &unit) || unit >= DAY)
        return cv_fail(err, CV_UNSUPPORTED, "%s: there is no unit '%s' of dates", function->name,
                       name);
    call->argument_count = 1;
    CV_DO(cv_bind_letter(call, 0, 'D', err));
    *ret_expr = cv_bind_native(
        call,
        &(struct cv_native){.call = native_cut_date, .number = unit, .result = CV_PLAIN(DATE)});
    return CV_OK;
}

/* --- distances ------------------------------------------------------------------------------- */

static bool native_datediff(struct cv_native_row *row)
{
    row->out.i32 = (int32_t)((uint32_t)row->in[0].i32 - (uint32_t)row->in[1].i32);
    return true;
}

static bool native_last_day(struct cv_native_row *row)
{
    int64_t year;
    int month;
    int day;

    cv_civil_from_days(row->in[0].i32, &year, &month, &day);
    row->out.i32 = (int32_t)cv_days_from_civil(year, month, cv_days_in_month(year, month));
    return true;
}

static bool native_months_between(struct cv_native_row *row)
{
    int64_t year[2];
    int month[2];
    int day[2];
    int64_t seconds[2];
    double whole;

    for (int i = 0; i < 2; i++) {
        cv_civil_from_days(cv_floor_div(row->in[i].i64, CV_US_PER_DAY), &year[i], &month[i],
                           &day[i]);
        seconds[i] = cv_floor_mod(row->in[i].i64, CV_US_PER_DAY) / CV_US_PER_SECOND;
    }
    whole = (double)((year[0] - year[1]) * 12 + month[0] - month[1]);
    row->out.f64 = whole;
    if (day[0] == day[1] || (day[0] == cv_days_in_month(year[0], month[0]) &&
                             day[1] == cv_days_in_month(year[1], month[1])))
        return true;
    whole +=
        (double)((day[0] - day[1]) * INT64_C(86400) + seconds[0] - seconds[1]) / (31 * 86400.0);
    row->out.f64 = floor(whole * 1e8 + 0.5) / 1e8;
    return true;
}

static bool native_make_date(struct cv_native_row *row)
{
    int64_t year = row->in[0].i32;
    int month = row->in[1].i32;
    int day = row->in[2].i32;
    int64_t days;

    if (month < 1 || month > 12 || day < 1 || day > cv_days_in_month(year, month))
        return cv_native_fail(row, "make_date(%d, %d, %d) is no date", row->in[0].i32, month, day);
    days = year < -5877641 || year > 5881580 ? INT64_MAX : cv_days_from_civil(year, month, day);
    if (days < INT32_MIN || days > INT32_MAX)
        return out_of_range(row);
    row->out.i32 = (int32_t)days;
    return true;
}

/* --- numbers since 1970 ---------------------------------------------------------------------- */

static bool native_unix(struct cv_native_row *row)
{
    row->out.i64 = cv_floor_div(row->in[0].i64, row->native->number);
    return true;
}

/* unix_timestamp() cuts towards 1970, as Java divides. */
static bool native_unix_timestamp(struct cv_native_row *row)
{
    row->out.i64 = row->in[0].i64 / CV_US_PER_SECOND;
    return true;
}

static bool native_from_unix(struct cv_native_row *row)
{
    return !__builtin_mul_overflow(row->in[0].i64, row->native->number, &row->out.i64) ||
           out_of_range(row);
}

/* Of a fraction: a double is cut, a decimal has to end with the µs. */
static bool native_from_seconds(struct cv_native_row *row)
{
    const struct cv_type *type = &row->native->arguments[0];
    struct cv_type us = {.kind = CV_TYPE_DECIMAL, .precision = 38, .scale = 6};
    cv_wide_int value;
    cv_wide_int rest;

    if (type->kind == CV_TYPE_DOUBLE) {
        double seconds = row->in[0].f64 * 1e6;

        row->out.is_null = !isfinite(row->in[0].f64);
        row->out.i64 = !isfinite(seconds)   ? (seconds > 0 ? INT64_MAX : INT64_MIN)
                       : seconds >= 0x1p63  ? INT64_MAX
                       : seconds <= -0x1p63 ? INT64_MIN
                                            : (int64_t)seconds;
        return true;
    }
    if (!cv_decimal_round(row->in[0].decimal, type->scale, CV_MIN(type->scale, 6), 'f', &us,
                          &value) ||
        !cv_decimal_add(row->in[0].decimal, type->scale, -value, 6,
                        &(struct cv_type){.kind = CV_TYPE_DECIMAL,
                                          .precision = 38,
                                          .scale = (uint8_t)CV_MAX(type->scale, 6)},
                        &rest) ||
        rest != 0 || value < INT64_MIN || value > INT64_MAX)
        return cv_native_fail(row, "timestamp_seconds: the number has digits behind the µs, or is "
                                   "out of range");
    row->out.i64 = (int64_t)value;
    return true;
}

static enum cv_code bind_from_seconds(const struct cv_function *function, struct cv_call *call,
                                      const struct cv_expr **ret_expr, struct cv_error *err)
{
    cv_native_call *native = native_from_seconds;
    enum cv_type_kind kind;

    CV_DO(cv_bind_letter(call, 0, 'n', err));
    kind = call->arguments[0]->type.kind;
    if (kind == CV_TYPE_FLOAT)
        CV_DO(cv_bind_letter(call, 0, 'd', err));
    if (kind == CV_TYPE_INT || kind == CV_TYPE_LONG) {
        native = native_from_unix;
        CV_DO(cv_bind_letter(call, 0, 'l', err));
    }
    *ret_expr = cv_bind_native(call, &(struct cv_native){.call = native,
                                                         .number = function->number,
                                                         .result = CV_PLAIN(TIMESTAMPTZ)});
    return CV_OK;
}

/* --- texts by a pattern ---------------------------------------------------------------------- */

#define DEFAULT_PATTERN "yyyy-MM-dd HH:mm:ss"

static bool native_format(struct cv_native_row *row)
{
    int64_t us = row->in[0].i64;

    /* from_unixtime() has seconds. */
    if (row->native->arguments[0].kind == CV_TYPE_LONG &&
        __builtin_mul_overflow(us, CV_US_PER_SECOND, &us))
        return out_of_range(row);
    cv_moment_format(us, row->native->extra, row->scratch);
    row->out.bytes = (struct cv_str){(const char *)row->scratch->data, row->scratch->length};
    return true;
}

static bool native_parse(struct cv_native_row *row)
{
    int64_t us;

    if (!cv_moment_parse(row->in[0].bytes, row->native->extra, &us))
        return cv_native_fail(row, "\"%.*s\" is not of the pattern %s",
                              (int)CV_MIN(row->in[0].bytes.length, 60), row->in[0].bytes.ptr,
                              (const char *)row->native->extra);
    if (row->native->result.kind == CV_TYPE_DATE)
        row->out.i32 = (int32_t)cv_floor_div(us, CV_US_PER_DAY);
    else
        row->out.i64 =
            row->native->result.kind == CV_TYPE_LONG ? cv_floor_div(us, CV_US_PER_SECOND) : us;
    return true;
}

/* The pattern is argument 1 or the default; a copy lives as long as the natives. */
static enum cv_code take_pattern(struct cv_call *call, bool parsing, const char **ret_pattern,
                                 struct cv_error *err)
{
    const char *pattern = DEFAULT_PATTERN;

    if (call->argument_count == 2)
        CV_DO(cv_bind_constant_text(call, 1, "the pattern", &pattern, err));
    CV_DO(cv_moment_pattern_check(call->name, pattern, parsing, err));
    *ret_pattern = cv_arena_strdup(&call->natives->arena, pattern);
    call->argument_count = 1;
    return CV_OK;
}

static enum cv_code bind_format(const struct cv_function *function, struct cv_call *call,
                                const struct cv_expr **ret_expr, struct cv_error *err)
{
    const char *pattern;

    CV_DO(take_pattern(call, false, &pattern, err));
    CV_DO(cv_bind_letter(call, 0, *function->detail, err));
    *ret_expr = cv_bind_native(
        call,
        &(struct cv_native){.call = native_format, .extra = pattern, .result = CV_PLAIN(STRING)});
    return CV_OK;
}

enum { PARSE_TRY = 0x100 };

/* number: the kind of the result, and PARSE_TRY. Without a pattern a text is cast. */
static enum cv_code bind_parse(const struct cv_function *function, struct cv_call *call,
                               const struct cv_expr **ret_expr, struct cv_error *err)
{
    struct cv_type type = {.kind = (enum cv_type_kind)(function->number & 0xff)};
    bool try_cast = (function->number & PARSE_TRY) != 0;
    bool is_text = call->arguments[0]->untyped || call->arguments[0]->type.kind == CV_TYPE_STRING;
    const char *pattern;

    if (type.kind == CV_TYPE_LONG && !is_text) {
        CV_DO(cv_bind_letter(call, 0, 'T', err));
        call->argument_count = 1;
        *ret_expr = cv_bind_native(
            call, &(struct cv_native){.call = native_unix_timestamp, .result = type});
        return CV_OK;
    }
    if (!is_text || (call->argument_count == 1 && type.kind != CV_TYPE_LONG))
        return cv_expr_cast(call, call->arguments[0], &type, try_cast, ret_expr, err);
    CV_DO(take_pattern(call, true, &pattern, err));
    CV_DO(cv_bind_letter(call, 0, 's', err));
    *ret_expr = cv_bind_native(call, &(struct cv_native){.call = native_parse,
                                                         .flags = try_cast ? CV_NATIVE_TRY : 0,
                                                         .extra = pattern,
                                                         .result = type});
    return CV_OK;
}

/* --- the time of the batch ------------------------------------------------------------------- */

static enum cv_code bind_now(const struct cv_function *function, struct cv_call *call,
                             const struct cv_expr **ret_expr, struct cv_error *err)
{
    struct cv_type type = {.kind = (enum cv_type_kind)function->number};
    struct cv_expr *expr =
        cv_expr_call(call->arena, function->detail, &type, call->arguments, 0, call->position);

    expr->frozen_time = true;
    *ret_expr = expr;
    return CV_OK;
}

#define NOW    "CAST($$1 AS TIMESTAMP)"
#define FROZEN "the time of the batch, the same when it is done again"
#define FIELD(name, number, note)                                                                  \
    {                                                                                              \
        name, name "(date or timestamp) → int", 1, 1, bind_field, NULL, 0, note, NULL, number      \
    }
#define UNIX(name, number)                                                                         \
    {                                                                                              \
        name, name "(timestamp) → bigint", 1, 1, cv_bind_letters, "T:l", 0, NULL, native_unix,     \
            number                                                                                 \
    }

const struct cv_function cv_functions_time[] = {
    FIELD("year", YEAR, NULL),
    FIELD("quarter", QUARTER, NULL),
    FIELD("month", MONTH, NULL),
    FIELD("weekofyear", WEEK, "ISO 8601"),
    FIELD("week", WEEK, "Spark's weekofyear"),
    FIELD("day", DAY, NULL),
    FIELD("dayofmonth", DAY, NULL),
    FIELD("dayofyear", DAY_OF_YEAR, NULL),
    FIELD("dayofweek", DAY_OF_WEEK, "Sunday is 1, as in Spark"),
    FIELD("weekday", WEEKDAY, "Monday is 0, as in Spark"),
    FIELD("hour", HOUR, NULL),
    FIELD("minute", MINUTE, NULL),
    FIELD("second", SECOND, NULL),
    {"date_part", "date_part('field', date or timestamp) → int", 2, 2, bind_part, NULL, 0,
     "EXTRACT(field FROM …) is the same; second is a decimal(8,6), dow 1 for Sunday", NULL, 0},
    {"datepart", "datepart('field', date or timestamp) → int", 2, 2, bind_part, NULL, 0, NULL, NULL,
     0},
    {"date_trunc", "date_trunc('unit', timestamp) → timestamp", 2, 2, bind_date_trunc, NULL, 0,
     "of a date too it is a timestamp", NULL, 0},
    {"trunc", "trunc(date, 'unit') → date", 1, 2, bind_trunc, NULL, 0, NULL, NULL, 0},
    {"date_add", "date_add(date, days or interval) → date", 2, 2, cv_bind_date_add, NULL, 0, NULL,
     NULL, '+'},
    {"dateadd", "dateadd(date, days) → date", 2, 2, cv_bind_date_add, NULL, 0, NULL, NULL, '+'},
    {"date_sub", "date_sub(date, days) → date", 2, 2, cv_bind_date_add, NULL, 0, NULL, NULL, '-'},
    {"datediff", "datediff(end, start) → int", 2, 2, cv_bind_letters, "DD:i", 0,
     "days; of two arguments, as Spark's", native_datediff, 0},
    {"date_diff", "date_diff(end, start) → int", 2, 2, cv_bind_letters, "DD:i", 0, NULL,
     native_datediff, 0},
    {"add_months", "add_months(date, months) → date", 2, 2, cv_bind_letters, "Di:D", 0, NULL,
     cv_native_add_months, 0},
    {"months_between", "months_between(a, b) → double", 2, 2, cv_bind_letters, "TT:d", 0,
     "rounded to 8 digits", native_months_between, 0},
    {"last_day", "last_day(date) → date", 1, 1, cv_bind_letters, "D:D", 0, NULL, native_last_day,
     0},
    {"make_date", "make_date(year, month, day) → date", 3, 3, cv_bind_letters, "iii:D", 0,
     "no such date: an error of the row", native_make_date, 0},
    UNIX("unix_seconds", CV_US_PER_SECOND),
    UNIX("unix_millis", CV_US_PER_MS),
    UNIX("unix_micros", 1),
    UNIX("epoch_ms", CV_US_PER_MS),
    UNIX("epoch_us", 1),
    {"unix_timestamp", "unix_timestamp(timestamp or text[, pattern]) → bigint", 1, 2, bind_parse,
     NULL, 0, "seconds", NULL, CV_TYPE_LONG},
    {"to_unix_timestamp", "to_unix_timestamp(timestamp or text[, pattern]) → bigint", 1, 2,
     bind_parse, NULL, 0, NULL, NULL, CV_TYPE_LONG},
    {"unix_date", "unix_date(date) → int", 1, 1, cv_bind_letters,
     "D:i CAST($1 - DATE '1970-01-01' AS INTEGER)", 0, NULL, NULL, 0},
    {"date_from_unix_date", "date_from_unix_date(days) → date", 1, 1, cv_bind_letters,
     "i:D (DATE '1970-01-01' + $1)", 0, NULL, NULL, 0},
    {"timestamp_seconds", "timestamp_seconds(number) → timestamp", 1, 1, bind_from_seconds, NULL, 0,
     NULL, NULL, CV_US_PER_SECOND},
    {"timestamp_millis", "timestamp_millis(bigint) → timestamp", 1, 1, cv_bind_letters, "l:T", 0,
     NULL, native_from_unix, CV_US_PER_MS},
    {"timestamp_micros", "timestamp_micros(bigint) → timestamp", 1, 1, cv_bind_letters, "l:T", 0,
     NULL, native_from_unix, 1},
    {"from_unixtime", "from_unixtime(seconds[, pattern]) → string", 1, 2, bind_format, "l", 0, NULL,
     NULL, 0},
    {"date_format", "date_format(timestamp, pattern) → string", 2, 2, bind_format, "T", 0,
     "Java's patterns of y M d E D H h m s S a", NULL, 0},
    {"to_date", "to_date(text[, pattern]) → date", 1, 2, bind_parse, NULL, 0,
     "Java's patterns of yyyy MM dd HH mm ss SSS", NULL, CV_TYPE_DATE},
    {"to_timestamp", "to_timestamp(text[, pattern]) → timestamp", 1, 2, bind_parse, NULL, 0,
     "Java's patterns of yyyy MM dd HH mm ss SSS; a number is in seconds", NULL,
     CV_TYPE_TIMESTAMPTZ},
    {"try_to_timestamp", "try_to_timestamp(text[, pattern]) → timestamp", 1, 2, bind_parse, NULL, 0,
     "NULL for another text", NULL, CV_TYPE_TIMESTAMPTZ | PARSE_TRY},
    {"current_timestamp", "current_timestamp → timestamp", 0, 0, bind_now, NOW, 0, FROZEN, NULL,
     CV_TYPE_TIMESTAMPTZ},
    {"now", "now() → timestamp", 0, 0, bind_now, NOW, 0, FROZEN, NULL, CV_TYPE_TIMESTAMPTZ},
    {"get_current_timestamp", "get_current_timestamp() → timestamp", 0, 0, bind_now, NOW, 0, FROZEN,
     NULL, CV_TYPE_TIMESTAMPTZ},
    {"current_date", "current_date → date", 0, 0, bind_now, "CAST(" NOW " AS DATE)", 0, FROZEN,
     NULL, CV_TYPE_DATE},
    {"curdate", "curdate() → date", 0, 0, bind_now, "CAST(" NOW " AS DATE)", 0, FROZEN, NULL,
     CV_TYPE_DATE},
};
const size_t cv_functions_time_count = CV_ARRAY_LENGTH(cv_functions_time);
