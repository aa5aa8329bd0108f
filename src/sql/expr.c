/* SPDX-License-Identifier: Apache-2.0
 *
 * Bound expressions: making, comparing and writing them. */
#include "sql/expr.h"

static void write_call(const struct cv_expr *expr, struct cv_buf *out)
{
    const char *at = expr->sql;

    while (*at) {
        size_t plain = strcspn(at, "$");
        size_t index = 0;

        cv_buf_append(out, at, plain);
        at += plain;
        if (*at == '\0')
            return;
        at++;
        if (*at == '$') {
            cv_buf_append_byte(out, '$');
            at++;
            continue;
        }
        for (; *at >= '0' && *at <= '9' && index <= expr->argument_count; at++)
            index = index * 10 + (size_t)(*at - '0');
        if (index > 0 && index <= expr->argument_count)
            cv_expr_write(expr->arguments[index - 1], out);
    }
}

void cv_expr_write(const struct cv_expr *expr, struct cv_buf *out)
{
    if (out->failed)
        return;
    if (expr->kind == CV_EXPR_CALL)
        write_call(expr, out);
    else
        cv_buf_append_text(out, expr->sql);
}

bool cv_expr_equal(const struct cv_expr *a, const struct cv_expr *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || a->type.kind != b->type.kind ||
        a->type.precision != b->type.precision || a->type.scale != b->type.scale ||
        a->untyped != b->untyped || a->input != b->input ||
        a->argument_count != b->argument_count || strcmp(a->sql, b->sql) != 0)
        return false;
    for (size_t i = 0; i < a->argument_count; i++)
        if (!cv_expr_equal(a->arguments[i], b->arguments[i]))
            return false;
    return true;
}

bool cv_expr_may_fail(const struct cv_expr *expr)
{
    if (expr->kind == CV_EXPR_CALL && (strstr(expr->sql, "calve_") || strstr(expr->sql, "error(")))
        return true;
    for (size_t i = 0; i < expr->argument_count; i++)
        if (cv_expr_may_fail(expr->arguments[i]))
            return true;
    return false;
}

const struct cv_expr *cv_expr_constant_null(struct cv_arena *arena, const struct cv_type *type)
{
    struct cv_expr *expr = cv_arena_new(arena, struct cv_expr);

    expr->kind = CV_EXPR_CONSTANT;
    expr->type = type ? *type : (struct cv_type){.kind = CV_TYPE_STRING};
    expr->untyped = true;
    expr->position = CV_SQL_NO_POSITION;
    expr->sql = "NULL";
    expr->input = SIZE_MAX;
    return expr;
}

struct cv_expr *cv_expr_call(struct cv_arena *arena, const char *sql, const struct cv_type *type,
                             const struct cv_expr *const *arguments, size_t count, size_t position)
{
    struct cv_expr *expr = cv_arena_new(arena, struct cv_expr);

    expr->kind = CV_EXPR_CALL;
    expr->type = *type;
    expr->position = position;
    expr->sql = sql;
    expr->arguments = cv_arena_copy(arena, arguments, count * sizeof arguments[0]);
    expr->argument_count = count;
    expr->input = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        expr->aggregate |= arguments[i]->aggregate;
        expr->frozen_time |= arguments[i]->frozen_time;
    }
    return expr;
}
