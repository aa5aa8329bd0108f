/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding a function by name and binding it by the letters of its row. The rows stand in
 * operator.c, number.c, text.c, moment.c and nested.c. */
#include "sql/function.h"

#include "sql/function_int.h"

#include <stdio.h>
#include <stdlib.h>

/* --- the table ------------------------------------------------------------------------------- */

#define FUNCTIONS_MAX 512

static struct {
    struct cv_function all[FUNCTIONS_MAX];
    size_t count;
} table;

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct cv_function *)a)->name, ((const struct cv_function *)b)->name);
}

static void add_rows(const struct cv_function *rows, size_t count)
{
    for (size_t i = 0; i < count && table.count < FUNCTIONS_MAX; i++)
        table.all[table.count++] = rows[i];
}

/* Before main(), so that no thread finds it half made. */
__attribute__((constructor)) static void make_table(void)
{
    add_rows(cv_functions_operator, cv_functions_operator_count);
    add_rows(cv_functions_interval, cv_functions_interval_count);
    add_rows(cv_functions_number, cv_functions_number_count);
    add_rows(cv_functions_text, cv_functions_text_count);
    add_rows(cv_functions_pattern, cv_functions_pattern_count);
    add_rows(cv_functions_time, cv_functions_time_count);
    add_rows(cv_functions_nested, cv_functions_nested_count);
    qsort(table.all, table.count, sizeof table.all[0], compare_names);
}

const struct cv_function *cv_function_all(size_t *ret_count)
{
    *ret_count = table.count;
    return table.all;
}

const struct cv_function *cv_function_find(const char *name)
{
    const struct cv_function key = {.name = name};

    return bsearch(&key, table.all, table.count, sizeof table.all[0], compare_names);
}

/* --- shortcuts ------------------------------------------------------------------------------- */

bool cv_native_fail(struct cv_native_row *row, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(row->reason, sizeof row->reason, format, args);
    va_end(args);
    return false;
}

enum cv_code cv_bind_refuse(const struct cv_call *call, size_t argument, const char *expected,
                            struct cv_error *err)
{
    char type[CV_TYPE_TEXT_BYTES];
    const struct cv_function *function = cv_function_find(call->name);

    cv_type_say(&call->arguments[argument]->type, type);
    if (function && !(function->flags & CV_FUNCTION_OPERATOR))
        return cv_fail(err, CV_SCHEMA, "%s: argument %zu is %s, not %s", function->signature,
                       argument + 1, type, expected);
    return cv_fail(err, CV_SCHEMA, "%s: operand %zu is %s, not %s",
                   function ? function->signature : call->name, argument + 1, type, expected);
}

const struct cv_expr *cv_bind_native(struct cv_call *call, const struct cv_native *like)
{
    const struct cv_type **types =
        cv_arena_array(call->arena, const struct cv_type *, call->argument_count + 1);
    const struct cv_native *native;

    for (size_t i = 0; i < call->argument_count; i++)
        types[i] = &call->arguments[i]->type;
    native = cv_native_use(call->natives, like, types, call->argument_count);
    return cv_bind_sql(call,
                       cv_bind_list_sql(call->arena,
                                        cv_arena_printf(call->arena, "%s(", native->name), ", ",
                                        ")", call->argument_count),
                       &like->result);
}

const struct cv_expr *cv_bind_sql(struct cv_call *call, const char *sql, const struct cv_type *type)
{
    return cv_expr_call(call->arena, sql, type, call->arguments, call->argument_count,
                        call->position);
}

const char *cv_bind_list_sql(struct cv_arena *arena, const char *open, const char *separator,
                             const char *close, size_t count)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);

    cv_buf_append_text(&sql, open);
    for (size_t i = 0; i < count; i++)
        cv_buf_printf(&sql, "%s$%zu", i ? separator : "", i + 1);
    cv_buf_append_text(&sql, close);
    return cv_arena_strdup(arena, cv_buf_text(&sql));
}

enum cv_code cv_bind_constant_text(const struct cv_call *call, size_t argument, const char *what,
                                   const char **ret_text, struct cv_error *err)
{
    const struct cv_expr *expr = call->arguments[argument];

    if (expr->kind != CV_EXPR_CONSTANT || !expr->text || expr->type.kind != CV_TYPE_STRING)
        return cv_fail(err, CV_UNSUPPORTED, "%s: %s has to be a constant text", call->name, what);
    *ret_text = expr->text;
    return CV_OK;
}

bool cv_expr_constant_int(const struct cv_expr *expr, int64_t *ret_value)
{
    if (expr->kind != CV_EXPR_CONSTANT || !expr->text ||
        (expr->type.kind != CV_TYPE_INT && expr->type.kind != CV_TYPE_LONG))
        return false;
    return cv_parse_i64(cv_str_from(expr->text), ret_value);
}

enum cv_code cv_bind_constant_int(const struct cv_call *call, size_t argument, const char *what,
                                  int64_t *ret_value, struct cv_error *err)
{
    if (!cv_expr_constant_int(call->arguments[argument], ret_value))
        return cv_fail(err, CV_UNSUPPORTED, "%s: %s has to be a constant whole number", call->name,
                       what);
    return CV_OK;
}

/* --- arguments ------------------------------------------------------------------------------- */

static bool implicit_allowed(const struct cv_type *from, const struct cv_type *to)
{
    bool moments = (from->kind == CV_TYPE_DATE || from->kind == CV_TYPE_TIMESTAMP ||
                    from->kind == CV_TYPE_TIMESTAMPTZ) &&
                   (to->kind == CV_TYPE_DATE || to->kind == CV_TYPE_TIMESTAMP ||
                    to->kind == CV_TYPE_TIMESTAMPTZ);

    if (cv_type_is_nested(from) || cv_type_is_nested(to))
        return false;
    if (from->kind == CV_TYPE_STRING || to->kind == CV_TYPE_STRING || moments)
        return cv_cast_allowed(from, to);
    return cv_type_is_number(from) && cv_type_is_number(to);
}

enum cv_code cv_bind_implicit(struct cv_call *call, size_t argument, const struct cv_type *type,
                              struct cv_error *err)
{
    const struct cv_expr *expr = call->arguments[argument];
    char wanted[CV_TYPE_TEXT_BYTES];

    if (expr->untyped) {
        call->arguments[argument] = cv_bind_null(call, type);
        return CV_OK;
    }
    if (cv_type_same(&expr->type, type))
        return CV_OK;
    cv_type_say(type, wanted);
    if (!implicit_allowed(&expr->type, type))
        return cv_bind_refuse(call, argument, wanted, err);
    return cv_expr_cast(call, expr, type, false, &call->arguments[argument], err);
}

static const struct {
    char letter;
    enum cv_type_kind kind;
} letters[] = {
    {'b', CV_TYPE_BOOLEAN}, {'i', CV_TYPE_INT},    {'l', CV_TYPE_LONG}, {'d', CV_TYPE_DOUBLE},
    {'s', CV_TYPE_STRING},  {'B', CV_TYPE_BINARY}, {'D', CV_TYPE_DATE}, {'T', CV_TYPE_TIMESTAMPTZ},
};

static bool letter_type(char letter, struct cv_type *ret_type)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(letters); i++)
        if (letters[i].letter == letter) {
            *ret_type = (struct cv_type){.kind = letters[i].kind};
            return true;
        }
    return false;
}

enum cv_code cv_bind_letter(struct cv_call *call, size_t argument, char letter,
                            struct cv_error *err)
{
    const struct cv_expr *expr = call->arguments[argument];
    enum cv_type_kind kind = expr->type.kind;
    struct cv_type type;

    if (letter_type(letter, &type))
        return cv_bind_implicit(call, argument, &type, err);
    switch (letter) {
    case 't':
        if (kind == CV_TYPE_TIMESTAMP && !expr->untyped)
            return CV_OK;
        return cv_bind_letter(call, argument, 'T', err);
    case 'n':
        if (expr->untyped || kind == CV_TYPE_STRING)
            return cv_bind_letter(call, argument, 'd', err);
        return cv_type_is_number(&expr->type) ? CV_OK
                                              : cv_bind_refuse(call, argument, "a number", err);
    case 'L':
        return kind == CV_TYPE_LIST && !expr->untyped
                   ? CV_OK
                   : cv_bind_refuse(call, argument, "a list", err);
    case 'M':
        return kind == CV_TYPE_MAP && !expr->untyped ? CV_OK
                                                     : cv_bind_refuse(call, argument, "a map", err);
    default: /* x, a */
        if (expr->untyped)
            return cv_bind_letter(call, argument, 's', err);
        if (cv_expr_is_interval(expr) || (letter == 'x' && cv_type_is_nested(&expr->type)))
            return cv_bind_refuse(call, argument, "a plain value", err);
        return CV_OK;
    }
}

/* The alternative with this many arguments, and where its parts are. */
static const char *find_alternative(const char *detail, size_t count, const char **ret_result)
{
    while (detail) {
        const char *colon = strchr(detail, ':');
        size_t length = (size_t)(colon - detail);
        bool open = length && colon[-1] == '*';

        if (open ? count + 2 >= length : count == length) {
            *ret_result = colon + 1;
            return detail;
        }
        detail = strchr(colon, '|');
        detail = detail ? detail + 1 : NULL;
    }
    return NULL;
}

static struct cv_type result_type(char letter, struct cv_call *call)
{
    struct cv_type type = CV_PLAIN(STRING);

    if (letter == '=')
        return call->arguments[0]->type;
    if (letter == 'S')
        return cv_type_list_of(call->arena, &type);
    (void)letter_type(letter, &type);
    return type;
}

enum cv_code cv_bind_letters(const struct cv_function *function, struct cv_call *call,
                             const struct cv_expr **ret_expr, struct cv_error *err)
{
    const char *result;
    const char *letter = find_alternative(function->detail, call->argument_count, &result);
    const char *end;
    struct cv_type type;

    if (!letter)
        return cv_fail(err, CV_SCHEMA, "%s: %zu arguments are given", function->signature,
                       call->argument_count);
    for (size_t i = 0; i < call->argument_count; i++) {
        CV_DO(cv_bind_letter(call, i, *letter, err));
        letter += letter[1] != '*';
    }
    type = result_type(*result, call);
    if (function->native) {
        *ret_expr = cv_bind_native(call, &(struct cv_native){.call = function->native,
                                                             .number = function->number,
                                                             .result = type});
        return CV_OK;
    }
    result += 2;
    end = strchr(result, '|');
    /* A concatenation's bars come in pairs, an alternative's bar alone. */
    while (end && end[1] == '|')
        end = strchr(end + 2, '|');
    *ret_expr = cv_bind_sql(
        call, cv_arena_strndup(call->arena, result, end ? (size_t)(end - result) : strlen(result)),
        &type);
    return CV_OK;
}

enum cv_code cv_bind_common(struct cv_call *call, size_t from, size_t step,
                            struct cv_type *ret_type, struct cv_error *err)
{
    struct cv_type type = CV_PLAIN(STRING);
    struct cv_type wider;
    bool found = false;
    char text[CV_TYPE_TEXT_BYTES];

    for (size_t i = from; i < call->argument_count; i += step) {
        const struct cv_expr *expr = call->arguments[i];

        if (expr->untyped)
            continue;
        if (cv_expr_is_interval(expr))
            return cv_bind_refuse(call, i, "a plain value", err);
        if (found && !cv_type_common(&type, &expr->type, &wider)) {
            cv_type_say(&type, text);
            return cv_bind_refuse(call, i, text, err);
        }
        type = found ? wider : expr->type;
        found = true;
    }
    for (size_t i = from; i < call->argument_count; i += step)
        CV_DO(cv_expr_cast(call, call->arguments[i], &type, false, &call->arguments[i], err));
    *ret_type = type;
    return CV_OK;
}

enum cv_code cv_call_bind(struct cv_call *call, const struct cv_expr **ret_expr,
                          struct cv_error *err)
{
    const struct cv_function *function = cv_function_find(call->name);
    const char *why = cv_function_refusal(call->name);

    if (!function && why)
        return cv_fail(err, CV_UNSUPPORTED, "%s is not available: %s", call->name, why);
    if (!function)
        return cv_fail(err, CV_NOT_FOUND, "there is no function %s", call->name);
    if (call->argument_count < function->arguments_min ||
        call->argument_count > function->arguments_max)
        return cv_fail(err, CV_SCHEMA, "%s: %zu arguments are given", function->signature,
                       call->argument_count);
    return function->bind(function, call, ret_expr, err);
}
