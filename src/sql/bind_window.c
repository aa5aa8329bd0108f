/* SPDX-License-Identifier: Apache-2.0
 *
 * window(time, size[, slide[, start]]) as Spark has it: windows of one size that begin every
 * `slide`, `start` behind the epoch. A row without a time stands in none; where windows overlap, a
 * row is taken once for each (w.n counts them from the latest). */
#include "sql/bind_int.h"

#include "base/time.h"
#include "sql/function_int.h"

#include <inttypes.h>

#define WINDOWS_MAX 1000 /* that one row may stand in */

static const char window_struct[] = "struct_pack(\"start\" := $1, \"end\" := $2)";

static const struct cv_field window_fields[2][2] = {
    {{.name = "start", .type = {.kind = CV_TYPE_TIMESTAMPTZ}},
     {.name = "end", .type = {.kind = CV_TYPE_TIMESTAMPTZ}}},
    {{.name = "start", .type = {.kind = CV_TYPE_TIMESTAMP}},
     {.name = "end", .type = {.kind = CV_TYPE_TIMESTAMP}}},
};

struct window {
    const struct cv_expr *time;
    int64_t size_us, slide_us, start_us;
};

bool cv_bind_is_window(const struct cv_expr *expr)
{
    return expr->kind == CV_EXPR_CALL && expr->sql == window_struct;
}

const struct cv_expr *cv_bind_window_field(const struct cv_expr *expr, const char *name)
{
    for (size_t i = 0; cv_bind_is_window(expr) && i < 2; i++)
        if (cv_text_equal_nocase(name, window_fields[0][i].name))
            return expr->arguments[i];
    return NULL;
}

static bool read_duration(struct cv_bind_scope *scope, const struct cv_ast *ast, const char *what,
                          int64_t *ret_us)
{
    struct cv_sql_problems *problems = &scope->binder->problems;
    const struct cv_expr *expr = cv_bind_expr(scope, ast);
    struct cv_error reason = CV_ERROR_INIT;
    struct cv_interval interval;
    int64_t days_us;

    if (!expr)
        return false;
    if (expr->kind == CV_EXPR_CONSTANT && expr->text && expr->type.kind == CV_TYPE_STRING) {
        if (cv_parse_duration(expr->text, 0, ret_us, &reason) == CV_OK)
            return true;
        cv_sql_problem(problems, CV_CONFIG, ast->position, "window(): %s: %s", what,
                       reason.message);
        return false;
    }
    if (cv_expr_interval(expr, &interval) && interval.months == 0 &&
        !__builtin_mul_overflow(interval.days, CV_US_PER_DAY, &days_us) &&
        !__builtin_add_overflow(interval.us, days_us, ret_us))
        return true;
    cv_sql_problem(problems, CV_CONFIG, ast->position,
                   "window(): %s has to be a constant duration without months: '10 minutes'", what);
    return false;
}

static bool check_durations(struct cv_bind_scope *scope, const struct cv_ast *ast,
                            const struct window *window)
{
    const char *problem = NULL;

    if (window->size_us <= 0 || window->slide_us <= 0)
        problem = "size and slide have to be above zero";
    else if (window->slide_us > window->size_us)
        problem = "the slide may not be longer than the size";
    else if (window->start_us <= -window->slide_us || window->start_us >= window->slide_us)
        problem = "the start has to be shorter than the slide";
    else if (window->size_us / window->slide_us > WINDOWS_MAX)
        problem = "one row would stand in more than 1000 windows";
    if (problem)
        cv_sql_problem(&scope->binder->problems, CV_CONFIG, ast->position, "window(): %s", problem);
    return !problem;
}

static bool read_time(struct cv_bind_scope *scope, const struct cv_ast *ast, struct window *window)
{
    static const struct cv_type instant = {.kind = CV_TYPE_TIMESTAMPTZ};

    window->time = cv_bind_expr(scope, ast);
    if (window->time && window->time->type.kind != CV_TYPE_TIMESTAMP)
        window->time = cv_bind_cast(scope, window->time, &instant, false, ast->position);
    return window->time != NULL;
}

static bool read_window(struct cv_bind_scope *scope, const struct cv_ast *ast,
                        struct window *window)
{
    bool good;

    if (ast->argument_count < 2 || ast->argument_count > 4) {
        cv_sql_problem(&scope->binder->problems, CV_CONFIG, ast->position,
                       "window(time, size[, slide[, start]]) has 2 to 4 arguments, not %zu",
                       ast->argument_count);
        return false;
    }
    good = read_time(scope, ast->arguments[0], window);
    good = read_duration(scope, ast->arguments[1], "the size", &window->size_us) && good;
    window->slide_us = window->size_us;
    if (ast->argument_count > 2)
        good = read_duration(scope, ast->arguments[2], "the slide", &window->slide_us) && good;
    if (ast->argument_count > 3)
        good = read_duration(scope, ast->arguments[3], "the start", &window->start_us) && good;
    return good && check_durations(scope, ast, window);
}

static struct cv_expr *bound(struct cv_arena *arena, const struct window *window, bool sliding,
                             bool end, size_t position)
{
    const char *back =
        sliding ? cv_arena_printf(arena, " - w.n * CAST(%" PRId64 " AS BIGINT)", window->slide_us)
                : "";
    const char *sql = cv_arena_printf(
        arena,
        "make_timestamp(epoch_us($1) - (((epoch_us($1) - CAST('%" PRId64 "' AS BIGINT)) %% %" PRId64
        " + %" PRId64 ") %% %" PRId64 ")%s + CAST(%" PRId64 " AS BIGINT))",
        window->start_us, window->slide_us, window->slide_us, window->slide_us, back,
        end ? window->size_us : 0);
    struct cv_expr *expr =
        cv_expr_call(arena, sql, &window->time->type, &window->time, 1, position);

    expr->text =
        cv_arena_printf(arena, "window_%s\t%" PRId64 " %" PRId64 " %" PRId64, end ? "end" : "start",
                        window->size_us, window->slide_us, window->start_us);
    return expr;
}

/* Rows without a time stand in no window, and those behind the end of one not in it. */
static void add_conditions(struct cv_bind_scope *scope, const struct window *window,
                           const struct cv_expr *end)
{
    static const struct cv_type boolean = {.kind = CV_TYPE_BOOLEAN};
    struct cv_arena *arena = scope->binder->arena;
    const struct cv_expr *both[2] = {window->time, end};

    cv_bind_add_condition(
        scope->binder, scope->relation,
        cv_expr_call(arena, "$1 IS NOT NULL", &boolean, both, 1, CV_SQL_NO_POSITION));
    if (window->size_us % window->slide_us != 0)
        cv_bind_add_condition(
            scope->binder, scope->relation,
            cv_expr_call(arena, "$1 < $2", &boolean, both, 2, CV_SQL_NO_POSITION));
}

const struct cv_expr *cv_bind_window(struct cv_bind_scope *scope, const struct cv_ast *ast)
{
    struct cv_binder *binder = scope->binder;
    struct cv_bind_relation *relation = scope->relation;
    struct window window = {0};
    struct cv_type type = {.kind = CV_TYPE_STRUCT, .field_count = 2};
    const struct cv_expr *bounds[2];
    struct cv_expr *expr;
    int64_t rows;

    if (!read_window(scope, ast, &window))
        return NULL;
    if (!relation->stream || relation->grouping || scope->outer) {
        cv_sql_problem(&binder->problems, CV_UNSUPPORTED, ast->position,
                       "window() is for rows of the stream, before they are grouped");
        return NULL;
    }
    rows = (window.size_us + window.slide_us - 1) / window.slide_us;
    bounds[0] = bound(binder->arena, &window, rows > 1, false, ast->position);
    expr = bound(binder->arena, &window, rows > 1, true, ast->position);
    expr->event_time = binder->event_time && cv_expr_equal(window.time, binder->event_time);
    bounds[1] = expr;
    type.fields = window_fields[window.time->type.kind == CV_TYPE_TIMESTAMP];
    expr = cv_expr_call(binder->arena, window_struct, &type, bounds, 2, ast->position);
    expr->event_time = bounds[1]->event_time;
    if (relation->window && !cv_expr_equal(relation->window, expr)) {
        cv_sql_problem(&binder->problems, CV_UNSUPPORTED, ast->position,
                       "two different window() in one query (Spark has one, too)");
        return NULL;
    }
    if (relation->window)
        return expr;
    relation->window = expr;
    relation->window_us = window.size_us;
    relation->window_rows = rows;
    add_conditions(scope, &window, bounds[1]);
    return expr;
}
