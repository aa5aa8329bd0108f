/* SPDX-License-Identifier: Apache-2.0
 *
 * The query for the largest event time. It is of the records that the query's conditions let
 * through, as far as these are not about the event time: Spark's optimizer takes such conditions
 * below the watermark, so that what they leave out does not move it. */
#include "sql/plan_int.h"

struct conditions {
    const struct cv_expr **list;
    size_t count, capacity;
};

static bool overlap(const struct cv_bind_input *a, const struct cv_bind_input *b)
{
    size_t length = CV_MIN(a->path_length, b->path_length);

    if (a->column != b->column)
        return false;
    for (size_t i = 0; i < length; i++)
        if (strcmp(a->path[i], b->path[i]) != 0)
            return false;
    return true;
}

static bool reads(const struct cv_binder *binder, const struct cv_expr *expr,
                  const struct cv_bind_input *input)
{
    const struct cv_bind_input *own = cv_bind_input_of(binder, expr);

    if (own && overlap(own, input))
        return true;
    for (size_t i = 0; i < expr->argument_count; i++)
        if (reads(binder, expr->arguments[i], input))
            return true;
    return false;
}

/* Whether an expression is of the record alone: of no table, no window and not of its event time.
 */
static bool is_of_the_rest(const struct cv_binder *binder, const struct cv_expr *expr)
{
    const struct cv_bind_input *input = cv_bind_input_of(binder, expr);

    if (expr->frozen_time || (expr->kind == CV_EXPR_CALL && strstr(expr->sql, " w.n ")))
        return false;
    if (expr->kind == CV_EXPR_COLUMN && (!input || reads(binder, binder->event_time, input)))
        return false;
    for (size_t i = 0; i < expr->argument_count; i++)
        if (!is_of_the_rest(binder, expr->arguments[i]))
            return false;
    return true;
}

static bool is_and(const struct cv_expr *expr)
{
    return expr->kind == CV_EXPR_CALL && (cv_text_starts_with(expr->sql, "($1 AND ") ||
                                          strcmp(expr->sql, cv_bind_and_in_order) == 0);
}

/* One that may fail only behind all that stand before it. */
static void add_conditions(const struct cv_plan *plan, const struct cv_expr *expr, bool *all,
                           struct conditions *conditions)
{
    if (is_and(expr)) {
        for (size_t i = 0; i < expr->argument_count; i++)
            add_conditions(plan, expr->arguments[i], all, conditions);
        return;
    }
    if (is_of_the_rest(plan->binder, expr) && (*all || !cv_expr_may_fail(expr)))
        cv_bind_append(plan->binder->arena, conditions->list, conditions->capacity,
                       conditions->count, expr);
    else
        *all = false;
}

enum cv_code cv_plan_watermark(struct cv_plan *plan, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(CV_SQL_PLAN_BYTES_MAX);
    struct cv_binder *binder = plan->binder;
    const struct cv_bind_relation *relation = plan->select->relation;
    struct conditions conditions = {0};
    bool all = true;

    for (size_t i = 0; i < relation->condition_count; i++)
        add_conditions(plan, relation->conditions[i], &all, &conditions);
    cv_plan_use(plan, binder->event_time);
    cv_buf_append_text(&sql, "SELECT max(");
    cv_expr_write(binder->event_time, &sql);
    cv_buf_append_text(&sql, ") AS watermark FROM input AS i");
    cv_sql_write_conditions(" WHERE ", conditions.list, conditions.count, &sql);
    return cv_plan_text(plan, &sql, &binder->query->watermark_sql, err);
}
