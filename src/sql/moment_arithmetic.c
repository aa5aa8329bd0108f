/* SPDX-License-Identifier: Apache-2.0
 *
 * + and - of dates and timestamps with days and intervals, and the functions that are the same. */
#include "base/time.h"
#include "sql/arithmetic.h"
#include "sql/moment.h"

bool cv_date_add_months(int64_t days, int64_t months, int64_t *ret_days)
{
    int64_t year;
    int64_t month;
    int m;
    int day;

    cv_civil_from_days(days, &year, &m, &day);
    if (__builtin_add_overflow(year * 12 + m - 1, months, &month) ||
        month > INT64_C(12) * 5900000 || month < INT64_C(-12) * 5900000)
        return false;
    year = cv_floor_div(month, 12);
    m = (int)cv_floor_mod(month, 12) + 1;
    *ret_days = cv_days_from_civil(year, m, CV_MIN(day, cv_days_in_month(year, m)));
    return *ret_days >= INT32_MIN && *ret_days <= INT32_MAX;
}

static bool out_of_range(struct cv_native_row *row)
{
    return cv_native_fail(row, "the date or timestamp is out of range");
}

/* number: the sign. */
static bool native_add_days(struct cv_native_row *row)
{
    int64_t days = row->in[0].i32 + row->native->number * row->in[1].i32;

    row->out.i32 = (int32_t)days;
    return (days >= INT32_MIN && days <= INT32_MAX) || out_of_range(row);
}

/* number: what is added. */
static bool native_add_constant_days(struct cv_native_row *row)
{
    int64_t days;

    if (__builtin_add_overflow((int64_t)row->in[0].i32, row->native->number, &days) ||
        days < INT32_MIN || days > INT32_MAX)
        return out_of_range(row);
    row->out.i32 = (int32_t)days;
    return true;
}

static bool native_add_constant_us(struct cv_native_row *row)
{
    return !__builtin_add_overflow(row->in[0].i64, row->native->number, &row->out.i64) ||
           out_of_range(row);
}

static bool native_add_constant_months(struct cv_native_row *row)
{
    bool is_date = row->native->result.kind == CV_TYPE_DATE;
    int64_t days = is_date ? row->in[0].i32 : cv_floor_div(row->in[0].i64, CV_US_PER_DAY);
    int64_t us;

    if (!cv_date_add_months(days, row->native->number, &days))
        return out_of_range(row);
    if (is_date) {
        row->out.i32 = (int32_t)days;
        return true;
    }
    if (__builtin_mul_overflow(days, CV_US_PER_DAY, &us) ||
        __builtin_add_overflow(us, cv_floor_mod(row->in[0].i64, CV_US_PER_DAY), &row->out.i64))
        return out_of_range(row);
    return true;
}

bool cv_native_add_months(struct cv_native_row *row)
{
    int64_t days;

    if (!cv_date_add_months(row->in[0].i32, row->in[1].i32, &days))
        return out_of_range(row);
    row->out.i32 = (int32_t)days;
    return true;
}

static const struct cv_expr *add_constant(struct cv_call *call, cv_native_call *native,
                                          int64_t number)
{
    call->argument_count = 1;
    return cv_bind_native(
        call,
        &(struct cv_native){.call = native, .number = number, .result = call->arguments[0]->type});
}

/* The first argument is the date or timestamp. */
static enum cv_code add_interval(struct cv_call *call, const struct cv_interval *interval,
                                 const struct cv_expr **ret_expr, struct cv_error *err)
{
    const struct cv_type timestamptz = CV_PLAIN(TIMESTAMPTZ);
    bool is_date = call->arguments[0]->type.kind == CV_TYPE_DATE;
    int64_t us;

    if (interval->months && (interval->days || interval->us))
        return cv_fail(err, CV_UNSUPPORTED,
                       "an INTERVAL has either years and months or days and less");
    if (interval->months || (is_date && interval->whole_days)) {
        *ret_expr = interval->months
                        ? add_constant(call, native_add_constant_months, interval->months)
                        : add_constant(call, native_add_constant_days, interval->days);
        return CV_OK;
    }
    if (is_date)
        CV_DO(
            cv_expr_cast(call, call->arguments[0], &timestamptz, false, &call->arguments[0], err));
    if (__builtin_mul_overflow(interval->days, CV_US_PER_DAY, &us) ||
        __builtin_add_overflow(us, interval->us, &us))
        return cv_fail(err, CV_SCHEMA, "this INTERVAL is out of range");
    *ret_expr = add_constant(call, native_add_constant_us, us);
    return CV_OK;
}

static bool is_moment(const struct cv_expr *expr)
{
    return !expr->untyped &&
           (expr->type.kind == CV_TYPE_DATE || expr->type.kind == CV_TYPE_TIMESTAMP ||
            expr->type.kind == CV_TYPE_TIMESTAMPTZ);
}

enum cv_code cv_bind_moments(struct cv_call *call, char operation, bool *ret_done,
                             const struct cv_expr **ret_expr, struct cv_error *err)
{
    const struct cv_expr **in = call->arguments;
    struct cv_interval interval;
    int sign = operation == '-' ? -1 : 1;

    *ret_done = is_moment(in[0]) || is_moment(in[1]);
    if (!*ret_done)
        return CV_OK;
    if (operation == '+' && !is_moment(in[0])) {
        const struct cv_expr *moment = in[1];

        in[1] = in[0];
        in[0] = moment;
    }
    if (is_moment(in[1]))
        return cv_fail(err, CV_UNSUPPORTED,
                       "%c between two dates or timestamps gives an interval, which no column "
                       "holds: use datediff(), or unix_micros() of both",
                       operation);
    if (cv_expr_interval(in[1], &interval)) {
        interval.months *= sign;
        interval.days *= sign;
        interval.us *= sign;
        return add_interval(call, &interval, ret_expr, err);
    }
    if (in[0]->type.kind != CV_TYPE_DATE)
        return cv_bind_refuse(call, 1, "an interval", err);
    CV_DO(cv_bind_letter(call, 1, 'i', err));
    *ret_expr = cv_bind_native(
        call, &(struct cv_native){.call = native_add_days, .number = sign, .result = in[0]->type});
    return CV_OK;
}

enum cv_code cv_bind_date_add(const struct cv_function *function, struct cv_call *call,
                              const struct cv_expr **ret_expr, struct cv_error *err)
{
    bool done;

    if (!is_moment(call->arguments[0]) || !cv_expr_is_interval(call->arguments[1]))
        CV_DO(cv_bind_letter(call, 0, 'D', err));
    return cv_bind_moments(call, (char)function->number, &done, ret_expr, err);
}
