/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of numbers. */
#include "sql/arithmetic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- of doubles ------------------------------------------------------------------------------ */

enum unary {
    SQRT,
    CBRT,
    EXP,
    LN,
    LOG10,
    LOG2,
    SIGN,
    SIN,
    COS,
    TAN,
    ASIN,
    ACOS,
    ATAN,
    DEGREES,
    RADIANS,
};

static double of_one(enum unary which, double x)
{
    switch (which) {
    case SQRT:
        return sqrt(x);
    case CBRT:
        return cbrt(x);
    case EXP:
        return exp(x);
    case LN:
        return log(x);
    case LOG10:
        return log10(x);
    case LOG2:
        return log(x) / log(2);
    case SIGN:
        return x > 0 ? 1 : x < 0 ? -1 : x;
    case SIN:
        return sin(x);
    case COS:
        return cos(x);
    case TAN:
        return tan(x);
    case ASIN:
        return asin(x);
    case ACOS:
        return acos(x);
    case ATAN:
        return atan(x);
    case DEGREES:
        return x * 57.29577951308232;
    default:
        return x * 0.017453292519943295;
    }
}

static bool native_unary(struct cv_native_row *row)
{
    enum unary which = (enum unary)row->native->number;
    double x = row->in[0].f64;

    row->out.is_null = x <= 0 && (which == LN || which == LOG10 || which == LOG2);
    row->out.f64 = of_one(which, x);
    return true;
}

static bool native_log_base(struct cv_native_row *row)
{
    double base = row->in[0].f64;
    double x = row->in[1].f64;

    row->out.is_null = base <= 0 || x <= 0;
    row->out.f64 = log(x) / log(base);
    return true;
}

static enum cv_code bind_log(const struct cv_function *function, struct cv_call *call,
                             const struct cv_expr **ret_expr, struct cv_error *err)
{
    struct cv_function row = *function;

    row.detail = "d:d|dd:d";
    row.native = call->argument_count == 1 ? native_unary : native_log_base;
    row.number = LN;
    return cv_bind_letters(&row, call, ret_expr, err);
}

/* C's pow(1, NaN) and pow(-1, infinity) are 1, Java's are NaN. */
static bool native_power(struct cv_native_row *row)
{
    double x = row->in[0].f64;
    double y = row->in[1].f64;

    row->out.f64 = (isnan(y) || (fabs(x) == 1 && isinf(y))) ? NAN : pow(x, y);
    return true;
}

static bool native_atan2(struct cv_native_row *row)
{
    row->out.f64 = atan2(row->in[0].f64 + 0.0, row->in[1].f64 + 0.0);
    return true;
}

/* --- rounding -------------------------------------------------------------------------------- */

/* A double as Spark's BigDecimal takes it: 0.d[0]d[1]… times ten to the power of `point`; d[0] is
 * a zero, into which rounding may carry. */
struct digits {
    char text[40];
    int count;
    int point;
};

static void take_digits(double value, struct cv_buf *scratch, struct digits *ret)
{
    const struct cv_value in = {.kind = CV_TYPE_DOUBLE, .f64 = fabs(value)};
    struct cv_value out;
    char reason[CV_CAST_REASON_BYTES];
    bool whole = true;

    *ret = (struct digits){"0", 1, 1};
    (void)cv_cast_value(&in, &CV_PLAIN(DOUBLE), &CV_PLAIN(STRING), scratch, &out, reason);
    for (size_t i = 0; i < out.bytes.length; i++) {
        char c = out.bytes.ptr[i];
        int64_t exponent;

        if (c == 'E') {
            (void)cv_parse_i64((struct cv_str){out.bytes.ptr + i + 1, out.bytes.length - i - 1},
                               &exponent);
            ret->point += (int)exponent;
            return;
        }
        if (c == '.') {
            whole = false;
        } else if (ret->count < 38) {
            ret->text[ret->count++] = c;
            ret->point += whole;
        }
    }
}

static bool digits_round_up(const struct digits *d, int keep, char mode)
{
    if (d->text[keep] != '5' || mode != 'e')
        return d->text[keep] >= '5';
    for (int i = keep + 1; i < d->count; i++)
        if (d->text[i] != '0')
            return true;
    return (d->text[keep - 1] - '0') % 2 != 0;
}

static double round_double(double value, int scale, char mode, struct cv_buf *scratch)
{
    struct digits d;
    int keep;
    bool up;
    char text[64];

    if (!isfinite(value))
        return value;
    take_digits(value, scratch, &d);
    keep = d.point + scale;
    if (keep >= d.count)
        return value == 0 ? 0 : value;
    if (keep < 1)
        return 0;
    up = digits_round_up(&d, keep, mode);
    for (int i = keep - 1; up && i >= 0; i--) {
        up = d.text[i] == '9';
        d.text[i] = up ? '0' : (char)(d.text[i] + 1);
    }
    (void)snprintf(text, sizeof text, "0.%.*sE%d", keep, d.text, d.point);
    return strtod(text, NULL) * (value < 0 && strtod(text, NULL) != 0 ? -1 : 1);
}

/* number: the scale times 256, and the mode. */
static bool native_round(struct cv_native_row *row)
{
    int scale = (int)(row->native->number >> 8);
    char mode = (char)(row->native->number & 0xff);
    struct cv_type wide = {.kind = CV_TYPE_DECIMAL, .precision = 38};
    cv_wide_int value;

    switch (row->native->arguments[0].kind) {
    case CV_TYPE_DOUBLE:
        row->out.f64 = round_double(row->in[0].f64, scale, mode, row->scratch);
        return true;
    case CV_TYPE_FLOAT:
        row->out.f32 = (float)round_double(row->in[0].f32, scale, mode, row->scratch);
        return true;
    case CV_TYPE_DECIMAL:
        return cv_decimal_round(row->in[0].decimal, row->native->arguments[0].scale, scale, mode,
                                &row->native->result, &row->out.decimal) ||
               cv_native_fail(row, "the rounded value has too many digits");
    case CV_TYPE_INT:
        if (!cv_decimal_round(row->in[0].i32, 0, scale, mode, &wide, &value) || value < INT32_MIN ||
            value > INT32_MAX)
            return cv_native_fail(row, "the rounded value does not fit int");
        row->out.i32 = (int32_t)value;
        return true;
    default:
        if (!cv_decimal_round(row->in[0].i64, 0, scale, mode, &wide, &value) || value < INT64_MIN ||
            value > INT64_MAX)
            return cv_native_fail(row, "the rounded value does not fit long");
        row->out.i64 = (int64_t)value;
        return true;
    }
}

static enum cv_code bind_round(const struct cv_function *function, struct cv_call *call,
                               const struct cv_expr **ret_expr, struct cv_error *err)
{
    int64_t scale = 0;
    struct cv_type type;
    int whole;

    if (call->argument_count == 2)
        CV_DO(cv_bind_constant_int(call, 1, "the number of digits", &scale, err));
    if (scale < -400 || scale > 400)
        return cv_fail(err, CV_SCHEMA, "%s: the number of digits is out of range", function->name);
    CV_DO(cv_bind_letter(call, 0, 'n', err));
    call->argument_count = 1;
    type = call->arguments[0]->type;
    whole = type.precision - type.scale + 1;
    if (type.kind == CV_TYPE_DECIMAL) {
        if (scale < 0)
            whole = (int)CV_MAX(whole, -scale + 1);
        type.scale = (uint8_t)CV_MIN(CV_MAX(scale, 0), type.scale);
        type.precision = (uint8_t)CV_MIN(whole + type.scale, 38);
    } else if (scale >= 0 && (type.kind == CV_TYPE_INT || type.kind == CV_TYPE_LONG)) {
        *ret_expr = call->arguments[0];
        return CV_OK;
    }
    *ret_expr = cv_bind_native(call, &(struct cv_native){.call = native_round,
                                                         .number = scale * 256 + function->number,
                                                         .result = type});
    return CV_OK;
}

/* Java's (long) of a double: what is too large becomes the largest, NaN 0. */
static int64_t to_long(double value)
{
    if (isnan(value))
        return 0;
    if (value >= 0x1p63)
        return INT64_MAX;
    return value < -0x1p63 ? INT64_MIN : (int64_t)value;
}

static bool native_ceiling(struct cv_native_row *row)
{
    if (row->native->result.kind == CV_TYPE_DECIMAL)
        return cv_decimal_round(row->in[0].decimal, row->native->arguments[0].scale, 0,
                                (char)row->native->number, &row->native->result,
                                &row->out.decimal) ||
               cv_native_fail(row, "the value has too many digits");
    row->out.i64 =
        to_long(row->native->number == 'c' ? ceil(row->in[0].f64) : floor(row->in[0].f64));
    return true;
}

static enum cv_code bind_ceiling(const struct cv_function *function, struct cv_call *call,
                                 const struct cv_expr **ret_expr, struct cv_error *err)
{
    struct cv_type type = CV_PLAIN(LONG);
    const struct cv_type *from;

    CV_DO(cv_bind_letter(call, 0, 'n', err));
    from = &call->arguments[0]->type;
    if (from->kind == CV_TYPE_INT || from->kind == CV_TYPE_LONG)
        return cv_expr_cast(call, call->arguments[0], &type, false, ret_expr, err);
    if (from->kind == CV_TYPE_DECIMAL)
        type =
            (struct cv_type){.kind = CV_TYPE_DECIMAL,
                             .precision = (uint8_t)CV_MIN(from->precision - from->scale + 1, 38)};
    else
        CV_DO(cv_bind_letter(call, 0, 'd', err));
    *ret_expr = cv_bind_native(
        call,
        &(struct cv_native){.call = native_ceiling, .number = function->number, .result = type});
    return CV_OK;
}

/* The template over any number, with its type. */
static enum cv_code bind_number(const struct cv_function *function, struct cv_call *call,
                                const struct cv_expr **ret_expr, struct cv_error *err)
{
    CV_DO(cv_bind_letter(call, 0, 'n', err));
    *ret_expr = cv_bind_sql(call, function->detail, &call->arguments[0]->type);
    return CV_OK;
}

/* --- bits ------------------------------------------------------------------------------------ */

static enum cv_code bind_bits(const struct cv_function *function, struct cv_call *call,
                              const struct cv_expr **ret_expr, struct cv_error *err)
{
    struct cv_type type;

    CV_DO(cv_bind_common(call, 0, 1, &type, err));
    if (type.kind != CV_TYPE_INT && type.kind != CV_TYPE_LONG)
        return cv_bind_refuse(call, 0, "an int or long", err);
    *ret_expr = cv_bind_sql(call, function->detail, &type);
    return CV_OK;
}

/* As Java: the count is taken modulo the width, and what is shifted out is lost. */
static bool native_shift(struct cv_native_row *row)
{
    unsigned count = (unsigned)row->in[1].i32;
    char way = (char)row->native->number;

    if (row->native->result.kind == CV_TYPE_INT) {
        count &= 31;
        if (way == 'l')
            row->out.i32 = (int32_t)((uint32_t)row->in[0].i32 << count);
        else
            row->out.i32 =
                way == 'r' ? row->in[0].i32 >> count : (int32_t)((uint32_t)row->in[0].i32 >> count);
        return true;
    }
    count &= 63;
    if (way == 'l')
        row->out.i64 = (int64_t)((uint64_t)row->in[0].i64 << count);
    else
        row->out.i64 =
            way == 'r' ? row->in[0].i64 >> count : (int64_t)((uint64_t)row->in[0].i64 >> count);
    return true;
}

static enum cv_code bind_shift(const struct cv_function *function, struct cv_call *call,
                               const struct cv_expr **ret_expr, struct cv_error *err)
{
    CV_DO(cv_bind_letter(call, 1, 'i', err));
    if (call->arguments[0]->untyped || call->arguments[0]->type.kind != CV_TYPE_LONG)
        CV_DO(cv_bind_letter(call, 0, 'i', err));
    *ret_expr = cv_bind_native(call, &(struct cv_native){.call = native_shift,
                                                         .number = function->number,
                                                         .result = call->arguments[0]->type});
    return CV_OK;
}

#define OP   CV_FUNCTION_OPERATOR
#define LAST "the last digit may differ from Java's"
#define UNARY(name, number, note)                                                                  \
    {                                                                                              \
        name, name "(number) → double", 1, 1, cv_bind_letters, "d:d", 0, note, native_unary,       \
            number                                                                                 \
    }

const struct cv_function cv_functions_number[] = {
    {"+", "a + b", 1, 2, cv_bind_arithmetic, "($1 + $2)", OP,
     "overflow is an error of the row; decimals get Spark's precision and scale", NULL, '+'},
    {"-", "a - b", 1, 2, cv_bind_arithmetic, "($1 - $2)", OP, NULL, NULL, '-'},
    {"*", "a * b", 2, 2, cv_bind_arithmetic, "($1 * $2)", OP, NULL, NULL, '*'},
    {"/", "a / b", 2, 2, cv_bind_arithmetic, NULL, OP,
     "double, or decimal if one side is; by zero: an error of the row", NULL, '/'},
    {"//", "a // b → bigint", 2, 2, cv_bind_arithmetic, NULL, OP, "Spark's div", NULL, 'q'},
    {"%", "a % b", 2, 2, cv_bind_arithmetic, NULL, OP, "by zero: an error of the row", NULL, '%'},
    {"mod", "mod(a, b)", 2, 2, cv_bind_arithmetic, NULL, 0, NULL, NULL, '%'},
    {"pmod", "pmod(a, b)", 2, 2, cv_bind_arithmetic, NULL, 0, "the remainder, never negative", NULL,
     'p'},
    {"**", "a ** b → double", 2, 2, cv_bind_letters, "dd:d", OP, LAST, native_power, 0},
    {"^", "a ^ b → double", 2, 2, cv_bind_letters, "dd:d", OP, "power, not exclusive or",
     native_power, 0},
    {"power", "power(a, b) → double", 2, 2, cv_bind_letters, "dd:d", 0, LAST, native_power, 0},
    {"pow", "pow(a, b) → double", 2, 2, cv_bind_letters, "dd:d", 0, LAST, native_power, 0},
    UNARY("sqrt", SQRT, NULL),
    UNARY("cbrt", CBRT, LAST),
    UNARY("exp", EXP, LAST),
    UNARY("ln", LN, "NULL for what is not above 0; " LAST),
    UNARY("log10", LOG10, "NULL for what is not above 0; " LAST),
    UNARY("log2", LOG2, "NULL for what is not above 0; " LAST),
    {"log", "log([base, ]number) → double", 1, 2, bind_log, NULL, 0,
     "of base e without a base; NULL for what is not above 0; " LAST, NULL, 0},
    UNARY("sign", SIGN, NULL),
    UNARY("signum", SIGN, NULL),
    UNARY("sin", SIN, LAST),
    UNARY("cos", COS, LAST),
    UNARY("tan", TAN, LAST),
    UNARY("asin", ASIN, LAST),
    UNARY("acos", ACOS, LAST),
    UNARY("atan", ATAN, LAST),
    {"atan2", "atan2(y, x) → double", 2, 2, cv_bind_letters, "dd:d", 0, LAST, native_atan2, 0},
    UNARY("degrees", DEGREES, NULL),
    UNARY("radians", RADIANS, NULL),
    {"pi", "pi() → double", 0, 0, cv_bind_letters, ":d pi()", 0, NULL, NULL, 0},
    {"abs", "abs(number) → its type", 1, 1, bind_number, "abs($1)", 0, NULL, NULL, 0},
    {"round", "round(number[, digits]) → decimal, or its type", 1, 2, bind_round, NULL, 0,
     "half up; `digits` is a constant", NULL, 'u'},
    {"bround", "bround(number[, digits]) → decimal, or its type", 1, 2, bind_round, NULL, 0,
     "half to even; `digits` is a constant", NULL, 'e'},
    {"ceil", "ceil(number) → bigint or decimal", 1, 1, bind_ceiling, NULL, 0, NULL, NULL, 'c'},
    {"ceiling", "ceiling(number) → bigint or decimal", 1, 1, bind_ceiling, NULL, 0, NULL, NULL,
     'c'},
    {"floor", "floor(number) → bigint or decimal", 1, 1, bind_ceiling, NULL, 0, NULL, NULL, 'f'},
    {"isnan", "isnan(double) → boolean", 1, 1, cv_bind_letters, "d:b coalesce(isnan($1), false)", 0,
     "false for NULL", NULL, 0},
    {"nanvl", "nanvl(a, b) → double", 2, 2, cv_bind_letters,
     "dd:d CASE WHEN isnan($1) THEN $2 ELSE $1 END", 0, NULL, NULL, 0},
    {"&", "a & b", 2, 2, bind_bits, "($1 & $2)", OP, NULL, NULL, 0},
    {"|", "a | b", 2, 2, bind_bits, "($1 | $2)", OP, NULL, NULL, 0},
    {"xor", "xor(a, b)", 2, 2, bind_bits, "xor($1, $2)", 0, "Spark's a ^ b", NULL, 0},
    {"~", "~ a", 1, 1, bind_bits, "(~ $1)", OP, NULL, NULL, 0},
    {"bit_count", "bit_count(whole number) → int", 1, 1, cv_bind_letters,
     "l:i CAST(bit_count($1) AS INTEGER)", 0, NULL, NULL, 0},
    {"<<", "a << count", 2, 2, bind_shift, NULL, OP, NULL, NULL, 'l'},
    {">>", "a >> count", 2, 2, bind_shift, NULL, OP, NULL, NULL, 'r'},
    {"shiftleft", "shiftleft(a, count)", 2, 2, bind_shift, NULL, 0, NULL, NULL, 'l'},
    {"shiftright", "shiftright(a, count)", 2, 2, bind_shift, NULL, 0, NULL, NULL, 'r'},
    {"shiftrightunsigned", "shiftrightunsigned(a, count)", 2, 2, bind_shift, NULL, 0, NULL, NULL,
     'U'},
};
const size_t cv_functions_number_count = CV_ARRAY_LENGTH(cv_functions_number);
