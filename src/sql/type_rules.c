/* SPDX-License-Identifier: Apache-2.0
 *
 * Spark's type rules (ANSI mode): which type two values have in common, how many digits a decimal
 * gets, and the INTERVAL that is no type of a column. */
#include "base/time.h"
#include "sql/function_int.h"

#include <stdio.h>
#include <strings.h>

#define DIGITS_MAX 38

bool cv_type_is_number(const struct cv_type *type)
{
    return type->kind >= CV_TYPE_INT && type->kind <= CV_TYPE_DECIMAL;
}

bool cv_type_same(const struct cv_type *a, const struct cv_type *b)
{
    if (a->kind != b->kind || a->field_count != b->field_count)
        return false;
    if (a->kind == CV_TYPE_DECIMAL)
        return a->precision == b->precision && a->scale == b->scale;
    if (a->kind == CV_TYPE_FIXED)
        return a->length == b->length;
    for (size_t i = 0; i < a->field_count; i++)
        if (!cv_type_same(&a->fields[i].type, &b->fields[i].type) ||
            (a->kind == CV_TYPE_STRUCT && strcmp(a->fields[i].name, b->fields[i].name) != 0))
            return false;
    return true;
}

static struct cv_type decimal(int precision, int scale)
{
    return (struct cv_type){
        .kind = CV_TYPE_DECIMAL, .precision = (uint8_t)precision, .scale = (uint8_t)scale};
}

struct cv_type cv_decimal_adjusted(int precision, int scale)
{
    int whole = precision - scale;

    if (precision <= DIGITS_MAX)
        return decimal(precision, scale);
    return decimal(DIGITS_MAX, CV_MAX(DIGITS_MAX - whole, CV_MIN(scale, 6)));
}

struct cv_type cv_decimal_of(const struct cv_expr *expr, const struct cv_type *type)
{
    int64_t value;

    if (type->kind != CV_TYPE_INT && type->kind != CV_TYPE_LONG)
        return *type;
    if (expr && cv_expr_constant_int(expr, &value)) {
        int digits = 1;

        while ((value /= 10) != 0)
            digits++;
        return decimal(digits, 0);
    }
    return decimal(type->kind == CV_TYPE_INT ? 10 : 20, 0);
}

/* Digits before the point are kept where there are more than 38. */
static struct cv_type wider_decimal(const struct cv_type *a, const struct cv_type *b)
{
    int whole = CV_MAX(a->precision - a->scale, b->precision - b->scale);
    int scale = CV_MAX(a->scale, b->scale);

    if (whole + scale > DIGITS_MAX)
        return decimal(DIGITS_MAX, DIGITS_MAX - whole);
    return decimal(whole + scale, scale);
}

static void common_number(const struct cv_type *a, const struct cv_type *b,
                          struct cv_type *ret_type)
{
    bool floats = a->kind == CV_TYPE_FLOAT || b->kind == CV_TYPE_FLOAT ||
                  a->kind == CV_TYPE_DOUBLE || b->kind == CV_TYPE_DOUBLE;
    struct cv_type x = cv_decimal_of(NULL, a);
    struct cv_type y = cv_decimal_of(NULL, b);

    if (floats)
        *ret_type = CV_PLAIN(DOUBLE);
    else if (a->kind == CV_TYPE_DECIMAL || b->kind == CV_TYPE_DECIMAL)
        *ret_type = wider_decimal(&x, &y);
    else
        *ret_type = CV_PLAIN(LONG);
}

/* A text beside another type becomes that type; beside a number a long or double. */
static bool common_with_text(const struct cv_type *other, struct cv_type *ret_type)
{
    if (cv_type_is_nested(other) || other->kind == CV_TYPE_FIXED)
        return false;
    if (other->kind == CV_TYPE_INT || other->kind == CV_TYPE_LONG)
        *ret_type = CV_PLAIN(LONG);
    else if (cv_type_is_number(other))
        *ret_type = CV_PLAIN(DOUBLE);
    else
        *ret_type = *other;
    return true;
}

static bool is_moment(const struct cv_type *type)
{
    return type->kind == CV_TYPE_DATE || type->kind == CV_TYPE_TIMESTAMP ||
           type->kind == CV_TYPE_TIMESTAMPTZ;
}

bool cv_type_common(const struct cv_type *a, const struct cv_type *b, struct cv_type *ret_type)
{
    if (cv_type_same(a, b)) {
        *ret_type = *a;
        return true;
    }
    if (cv_type_is_number(a) && cv_type_is_number(b)) {
        common_number(a, b, ret_type);
        return true;
    }
    if (a->kind == CV_TYPE_STRING)
        return common_with_text(b, ret_type);
    if (b->kind == CV_TYPE_STRING)
        return common_with_text(a, ret_type);
    if (is_moment(a) && is_moment(b)) {
        bool zone = a->kind == CV_TYPE_TIMESTAMPTZ || b->kind == CV_TYPE_TIMESTAMPTZ;

        *ret_type = (struct cv_type){.kind = zone ? CV_TYPE_TIMESTAMPTZ : CV_TYPE_TIMESTAMP};
        return true;
    }
    if ((a->kind == CV_TYPE_FIXED && b->kind == CV_TYPE_BINARY) ||
        (a->kind == CV_TYPE_BINARY && b->kind == CV_TYPE_FIXED)) {
        *ret_type = CV_PLAIN(BINARY);
        return true;
    }
    return false;
}

struct cv_type cv_type_list_of(struct cv_arena *arena, const struct cv_type *element)
{
    struct cv_field *field = cv_arena_new(arena, struct cv_field);

    *field = (struct cv_field){.name = "element", .type = *element};
    return (struct cv_type){.kind = CV_TYPE_LIST, .fields = field, .field_count = 1};
}

struct cv_type cv_type_map_of(struct cv_arena *arena, const struct cv_type *key,
                              const struct cv_type *value)
{
    struct cv_field *fields = cv_arena_array(arena, struct cv_field, 2);

    fields[0] = (struct cv_field){.name = "key", .required = true, .type = *key};
    fields[1] = (struct cv_field){.name = "value", .type = *value};
    return (struct cv_type){.kind = CV_TYPE_MAP, .fields = fields, .field_count = 2};
}

/* --- INTERVAL -------------------------------------------------------------------------------- */

static const struct cv_field interval_fields[1] = {{.name = "interval"}};
static const struct cv_type interval_type = {
    .kind = CV_TYPE_STRUCT, .fields = interval_fields, .field_count = 1};

bool cv_expr_is_interval(const struct cv_expr *expr)
{
    return expr->type.fields == interval_fields;
}

void cv_type_say(const struct cv_type *type, char text[CV_TYPE_TEXT_BYTES])
{
    if (type->fields == interval_fields)
        (void)snprintf(text, CV_TYPE_TEXT_BYTES, "an interval");
    else
        cv_type_text(type, text);
}

bool cv_expr_interval(const struct cv_expr *expr, struct cv_interval *ret_interval)
{
    long long months;
    long long days;
    long long us;
    int whole;

    if (!cv_expr_is_interval(expr) ||
        sscanf(expr->text, "%lld %lld %lld %d", &months, &days, &us, &whole) != 4)
        return false;
    *ret_interval = (struct cv_interval){months, days, us, whole != 0};
    return true;
}

static const struct cv_expr *interval_expr(struct cv_call *call, const struct cv_interval *interval)
{
    struct cv_expr *expr = cv_arena_new(call->arena, struct cv_expr);

    *expr = (struct cv_expr){
        .kind = CV_EXPR_CONSTANT,
        .type = interval_type,
        .position = call->position,
        .input = SIZE_MAX,
        .sql = "NULL",
        .text = cv_arena_printf(call->arena, "%lld %lld %lld %d", (long long)interval->months,
                                (long long)interval->days, (long long)interval->us,
                                interval->whole_days)};
    return expr;
}

static const struct {
    const char *name; /* to_<name>s of DuckDB's parser, and the word in a text */
    int64_t months, days, us;
} units[] = {
    {"year", 12, 0, 0},
    {"month", 1, 0, 0},
    {"quarter", 3, 0, 0},
    {"week", 0, 7, 0},
    {"day", 0, 1, 0},
    {"hour", 0, 0, CV_US_PER_HOUR},
    {"minute", 0, 0, 60 * CV_US_PER_SECOND},
    {"second", 0, 0, CV_US_PER_SECOND},
    {"millisecond", 0, 0, CV_US_PER_MS},
    {"microsecond", 0, 0, 1},
};

static bool add_unit(struct cv_interval *interval, size_t unit, int64_t count)
{
    int64_t months;
    int64_t days;
    int64_t us;

    if (__builtin_mul_overflow(units[unit].months, count, &months) ||
        __builtin_mul_overflow(units[unit].days, count, &days) ||
        __builtin_mul_overflow(units[unit].us, count, &us) ||
        __builtin_add_overflow(interval->months, months, &interval->months) ||
        __builtin_add_overflow(interval->days, days, &interval->days) ||
        __builtin_add_overflow(interval->us, us, &interval->us) || interval->months == INT64_MIN ||
        interval->days == INT64_MIN || interval->us == INT64_MIN)
        return false; /* it may be negated */
    interval->whole_days = interval->whole_days && units[unit].us == 0;
    return true;
}

/* The constant under casts and trunc(), which DuckDB's parser puts around it. */
static bool constant_count(const struct cv_expr *expr, int64_t *ret_count)
{
    while (expr->kind == CV_EXPR_CALL && expr->argument_count == 1)
        expr = expr->arguments[0];
    return expr->kind == CV_EXPR_CONSTANT && expr->text &&
           cv_parse_i64(cv_str_trim(cv_str_from(expr->text)), ret_count);
}

static cv_function_bind bind_unit, bind_interval;

static enum cv_code bind_unit(const struct cv_function *function, struct cv_call *call,
                              const struct cv_expr **ret_expr, struct cv_error *err)
{
    struct cv_interval interval = {.whole_days = true};
    int64_t count;

    if (!constant_count(call->arguments[0], &count))
        return cv_fail(err, CV_UNSUPPORTED, "INTERVAL has to be a constant whole number of %s",
                       function->name + strlen("to_"));
    if (!add_unit(&interval, (size_t)function->number, count))
        return cv_fail(err, CV_SCHEMA, "this INTERVAL is out of range");
    *ret_expr = interval_expr(call, &interval);
    return CV_OK;
}

static bool find_unit(const char *word, size_t *ret_unit)
{
    size_t length = strlen(word);

    if (length > 1 && (word[length - 1] == 's' || word[length - 1] == 'S'))
        length--;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(units); i++)
        if (strlen(units[i].name) == length && strncasecmp(units[i].name, word, length) == 0) {
            *ret_unit = i;
            return true;
        }
    return false;
}

static enum cv_code bind_interval(const struct cv_function *function, struct cv_call *call,
                                  const struct cv_expr **ret_expr, struct cv_error *err)
{
    struct cv_interval interval = {.whole_days = true};
    const char *text;
    char **words;
    size_t count;
    size_t unit;
    int64_t number;

    CV_DO(cv_bind_constant_text(call, 0, "INTERVAL", &text, err));
    words = cv_split(call->arena, text, ' ', &count);
    for (size_t i = 0; i + 1 < count; i += 2)
        if (!cv_parse_i64(cv_str_from(words[i]), &number) || !find_unit(words[i + 1], &unit) ||
            !add_unit(&interval, unit, number))
            count = 0;
    if (count == 0 || count % 2)
        return cv_fail(err, CV_SCHEMA, "INTERVAL '%s' is not %s", text, function->signature);
    *ret_expr = interval_expr(call, &interval);
    return CV_OK;
}

#define UNIT(n, i)                                                                                 \
    {                                                                                              \
        "to_" n, "INTERVAL n " n, 1, 1, bind_unit, NULL, CV_FUNCTION_OPERATOR, NULL, NULL, i       \
    }
const struct cv_function cv_functions_interval[] = {
    UNIT("years", 0),
    UNIT("months", 1),
    UNIT("quarters", 2),
    UNIT("weeks", 3),
    UNIT("days", 4),
    UNIT("hours", 5),
    UNIT("minutes", 6),
    UNIT("seconds", 7),
    UNIT("milliseconds", 8),
    UNIT("microseconds", 9),
    {"interval", "INTERVAL '<count> <unit> …'", 1, 1, bind_interval, NULL, CV_FUNCTION_OPERATOR,
     NULL, NULL, 0},
};
const size_t cv_functions_interval_count = CV_ARRAY_LENGTH(cv_functions_interval);
