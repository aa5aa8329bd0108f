/* SPDX-License-Identifier: Apache-2.0
 *
 * The four operations, quotient and remainder with Spark's result types: overflow and division by
 * zero are errors of the row. */
#include "sql/arithmetic.h"

#include <math.h>

/* --- natives --------------------------------------------------------------------------------- */

static bool by_zero(struct cv_native_row *row)
{
    return cv_native_fail(row, "division by zero");
}

static bool overflow(struct cv_native_row *row)
{
    char type[CV_TYPE_TEXT_BYTES];

    cv_type_text(&row->native->result, type);
    return cv_native_fail(row, "arithmetic overflow: the result does not fit %s", type);
}

static bool native_divide_double(struct cv_native_row *row)
{
    if (row->in[1].f64 == 0)
        return by_zero(row);
    row->out.f64 = row->in[0].f64 / row->in[1].f64;
    return true;
}

static bool native_remainder_double(struct cv_native_row *row)
{
    double divisor = row->in[1].f64;
    double rest;

    if (divisor == 0)
        return by_zero(row);
    rest = fmod(row->in[0].f64, divisor);
    if (row->native->number == 'p' && rest < 0)
        rest = fmod(rest + divisor, divisor);
    row->out.f64 = rest;
    return true;
}

static bool native_remainder_float(struct cv_native_row *row)
{
    float divisor = row->in[1].f32;
    float rest;

    if (divisor == 0)
        return by_zero(row);
    rest = fmodf(row->in[0].f32, divisor);
    if (row->native->number == 'p' && rest < 0)
        rest = fmodf(rest + divisor, divisor);
    row->out.f32 = rest;
    return true;
}

/* Sums of remainders wrap around as Java's do. */
static int64_t positive_rest(int64_t rest, int64_t divisor, bool narrow)
{
    int64_t sum = (int64_t)((uint64_t)rest + (uint64_t)divisor);

    if (narrow)
        sum = (int32_t)sum;
    return divisor == -1 ? 0 : sum % divisor;
}

static bool native_long(struct cv_native_row *row)
{
    bool narrow = row->native->arguments[0].kind == CV_TYPE_INT;
    int64_t a = narrow ? row->in[0].i32 : row->in[0].i64;
    int64_t b = narrow ? row->in[1].i32 : row->in[1].i64;
    int64_t value;

    if (b == 0)
        return by_zero(row);
    if (row->native->number == 'q') {
        if (a == INT64_MIN && b == -1)
            return overflow(row);
        row->out.i64 = a / b;
        return true;
    }
    value = b == -1 ? 0 : a % b;
    if (row->native->number == 'p' && value < 0)
        value = positive_rest(value, b, narrow);
    if (narrow)
        row->out.i32 = (int32_t)value;
    else
        row->out.i64 = value;
    return true;
}

static bool decimal_modulo(struct cv_native_row *row, cv_wide_int a, cv_wide_int b, int scale_a,
                           int scale_b)
{
    const struct cv_type *type = &row->native->result;
    struct cv_type wide = {
        .kind = CV_TYPE_DECIMAL, .precision = 38, .scale = (uint8_t)CV_MAX(scale_a, scale_b)};
    cv_wide_int rest;

    if (!cv_decimal_remainder(a, scale_a, b, scale_b, type, &row->out.decimal))
        return overflow(row);
    if (row->native->number == '%' || row->out.decimal >= 0)
        return true;
    return (cv_decimal_add(row->out.decimal, type->scale, b, scale_b, &wide, &rest) &&
            cv_decimal_remainder(rest, wide.scale, b, scale_b, type, &row->out.decimal)) ||
           overflow(row);
}

static bool native_decimal(struct cv_native_row *row)
{
    const struct cv_type *type = &row->native->result;
    cv_wide_int a = row->in[0].decimal;
    cv_wide_int b = row->in[1].decimal;
    int scale_a = row->native->arguments[0].scale;
    int scale_b = row->native->arguments[1].scale;
    cv_wide_int *out = &row->out.decimal;
    bool good;

    switch ((char)row->native->number) {
    case '+':
        good = cv_decimal_add(a, scale_a, b, scale_b, type, out);
        break;
    case '-':
        good = cv_decimal_add(a, scale_a, -b, scale_b, type, out);
        break;
    case '*':
        good = cv_decimal_multiply(a, scale_a, b, scale_b, type, out);
        break;
    case '/':
        if (b == 0)
            return by_zero(row);
        good = cv_decimal_divide(a, scale_a, b, scale_b, type, out);
        break;
    case 'q':
        if (b == 0)
            return by_zero(row);
        good = cv_decimal_quotient(a, scale_a, b, scale_b, out);
        if (good && (*out < INT64_MIN || *out > INT64_MAX))
            return overflow(row);
        row->out.i64 = good ? (int64_t)*out : 0;
        break;
    default:
        return b == 0 ? by_zero(row) : decimal_modulo(row, a, b, scale_a, scale_b);
    }
    return good || overflow(row);
}

/* --- result types ---------------------------------------------------------------------------- */

struct cv_type cv_decimal_result(char operation, const struct cv_type *a, const struct cv_type *b)
{
    int whole_a = a->precision - a->scale;
    int whole_b = b->precision - b->scale;
    int scale = CV_MAX(a->scale, b->scale);

    switch (operation) {
    case '+':
    case '-':
        return cv_decimal_adjusted(CV_MAX(whole_a, whole_b) + scale + 1, scale);
    case '*':
        return cv_decimal_adjusted(a->precision + b->precision + 1, a->scale + b->scale);
    case '/':
        scale = CV_MAX(6, a->scale + b->precision + 1);
        return cv_decimal_adjusted(whole_a + b->scale + scale, scale);
    case 'q':
        return CV_PLAIN(LONG);
    default:
        return cv_decimal_adjusted(CV_MIN(whole_a, whole_b) + scale, scale);
    }
}

/* Brings both operands to types that the operation has: two decimals, or one number type. */
static enum cv_code coerce(struct cv_call *call, char operation, struct cv_error *err)
{
    const struct cv_expr **in = call->arguments;
    struct cv_type common;
    struct cv_type types[2];

    for (size_t i = 0; i < 2; i++) {
        if (in[i]->untyped && !in[1 - i]->untyped)
            CV_DO(cv_expr_cast(call, in[i], &in[1 - i]->type, false, &in[i], err));
        if (in[i]->untyped)
            CV_DO(cv_bind_letter(call, i, 'd', err));
    }
    if (in[0]->type.kind == CV_TYPE_STRING && in[1]->type.kind == CV_TYPE_STRING)
        return cv_bind_refuse(call, 0, "a number, and neither is the other one", err);
    for (size_t i = 0; i < 2; i++)
        if (cv_expr_is_interval(in[i]) ||
            (!cv_type_is_number(&in[i]->type) && in[i]->type.kind != CV_TYPE_STRING))
            return cv_bind_refuse(call, i, "a number", err);
    if (!cv_type_common(&in[0]->type, &in[1]->type, &common))
        return cv_bind_refuse(call, 1, "a number", err);
    types[0] = types[1] = common;
    if (common.kind == CV_TYPE_DECIMAL)
        for (size_t i = 0; i < 2; i++)
            types[i] = cv_decimal_of(in[i], &in[i]->type);
    else if (operation == '/')
        types[0] = types[1] = CV_PLAIN(DOUBLE);
    else if (operation == 'q')
        types[0] = types[1] = CV_PLAIN(LONG);
    if (operation == 'q' && (common.kind == CV_TYPE_FLOAT || common.kind == CV_TYPE_DOUBLE))
        return cv_bind_refuse(call, in[0]->type.kind == common.kind ? 0 : 1,
                              "a whole number or decimal", err);
    for (size_t i = 0; i < 2; i++)
        CV_DO(cv_expr_cast(call, in[i], &types[i], false, &in[i], err));
    return CV_OK;
}

static cv_native_call *native_for(const struct cv_type *type, char operation)
{
    switch (type->kind) {
    case CV_TYPE_DECIMAL:
        return native_decimal;
    case CV_TYPE_DOUBLE:
        return operation == '/' ? native_divide_double : native_remainder_double;
    case CV_TYPE_FLOAT:
        return native_remainder_float;
    default:
        return native_long;
    }
}

const struct cv_expr *cv_bind_decimal(struct cv_call *call, char operation,
                                      const struct cv_type *result)
{
    return cv_bind_native(
        call, &(struct cv_native){.call = native_decimal, .number = operation, .result = *result});
}

static enum cv_code bind_minus(struct cv_call *call, const struct cv_expr **ret_expr,
                               struct cv_error *err)
{
    const struct cv_expr *expr;

    CV_DO(cv_bind_letter(call, 0, 'n', err));
    expr = call->arguments[0];
    *ret_expr = cv_bind_sql(call, "(-$1)", &expr->type);
    if (expr->kind == CV_EXPR_CONSTANT && expr->text && !expr->untyped) {
        struct cv_expr *constant = cv_arena_copy(call->arena, expr, sizeof *expr);

        /* A literal stays one: its digits count for the type of a result. */
        constant->sql = cv_arena_printf(call->arena, "(-%s)", expr->sql);
        constant->text =
            *expr->text == '-' ? expr->text + 1 : cv_arena_printf(call->arena, "-%s", expr->text);
        *ret_expr = constant;
    }
    return CV_OK;
}

enum cv_code cv_bind_arithmetic(const struct cv_function *function, struct cv_call *call,
                                const struct cv_expr **ret_expr, struct cv_error *err)
{
    char operation = (char)function->number;
    struct cv_type type;
    bool done = false;

    if (call->argument_count == 1 && operation == '-')
        return bind_minus(call, ret_expr, err);
    if (call->argument_count == 1) {
        CV_DO(cv_bind_letter(call, 0, 'n', err));
        *ret_expr = call->arguments[0];
        return CV_OK;
    }
    if (operation == '+' || operation == '-')
        CV_DO(cv_bind_moments(call, operation, &done, ret_expr, err));
    if (done)
        return CV_OK;
    CV_DO(coerce(call, operation, err));
    type = call->arguments[0]->type;
    if (type.kind == CV_TYPE_DECIMAL)
        type = cv_decimal_result(operation, &type, &call->arguments[1]->type);
    else if (operation == 'q')
        type = CV_PLAIN(LONG);
    if (call->arguments[0]->type.kind != CV_TYPE_DECIMAL && strchr("+-*", operation)) {
        *ret_expr = cv_bind_sql(call, function->detail, &type);
        return CV_OK;
    }
    *ret_expr = cv_bind_native(
        call, &(struct cv_native){.call = native_for(&call->arguments[0]->type, operation),
                                  .number = operation,
                                  .result = type});
    return CV_OK;
}
