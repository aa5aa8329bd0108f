/* SPDX-License-Identifier: Apache-2.0
 *
 * Aggregates, and expressions over groups. An aggregate is split: parts over the rows, which may be
 * merged again and again, and a finishing expression over the parts in the view `groups`. */
#include "sql/bind_int.h"

static const struct cv_expr *group_column(struct cv_binder *binder, const struct cv_type *type,
                                          char prefix, size_t number)
{
    struct cv_expr *column = cv_arena_new(binder->arena, struct cv_expr);

    column->kind = CV_EXPR_COLUMN;
    column->type = *type;
    column->aggregate = true;
    column->position = CV_SQL_NO_POSITION;
    column->sql = cv_arena_printf(binder->arena, "g.%c%zu", prefix, number);
    column->input = SIZE_MAX;
    return column;
}

static const struct cv_expr *add_key(struct cv_binder *binder, struct cv_bind_grouping *grouping,
                                     const struct cv_expr *expr)
{
    size_t count = grouping->key_count;

    for (size_t i = 0; i < count; i++)
        if (cv_expr_equal(grouping->keys[i], expr))
            return grouping->key_columns[i];
    cv_bind_append(binder->arena, grouping->key_columns, grouping->column_capacity, count,
                   group_column(binder, &expr->type, 'k', grouping->key_count));
    cv_bind_append(binder->arena, grouping->keys, grouping->key_capacity, grouping->key_count,
                   expr);
    return grouping->key_columns[count - 1];
}

void cv_bind_add_key(struct cv_binder *binder, const struct cv_bind_relation *relation,
                     struct cv_bind_grouping *grouping, const struct cv_expr *expr)
{
    const struct cv_expr *end;

    if (!cv_bind_is_window(expr)) {
        (void)add_key(binder, grouping, expr);
        return;
    }
    end = add_key(binder, grouping, expr->arguments[1]);
    grouping->start = expr->arguments[0];
    grouping->start_column = cv_expr_call(
        binder->arena,
        cv_arena_printf(binder->arena, "make_timestamp(epoch_us($1) - CAST(%lld AS BIGINT))",
                        (long long)relation->window_us),
        &end->type, &end, 1, expr->position);
}

/* --- aggregates ------------------------------------------------------------------------------ */

/* FILTER (WHERE c): what is left out is NULL, which counts for nothing. */
static bool apply_filter(struct cv_bind_scope *inner, const struct cv_ast *ast,
                         const struct cv_expr **arguments, size_t *count)
{
    struct cv_arena *arena = inner->binder->arena;
    const struct cv_type one = {.kind = CV_TYPE_INT};
    const struct cv_expr *pair[2];

    inner->clause = "FILTER";
    pair[0] = cv_bind_condition(inner, ast->filter);
    if (!pair[0])
        return false;
    if (*count == 0) {
        arguments[0] =
            cv_expr_call(arena, "(CASE WHEN $1 THEN 1 END)", &one, pair, 1, ast->position);
        *count = 1;
        return true;
    }
    pair[1] = arguments[0];
    arguments[0] = cv_expr_call(arena, "(CASE WHEN $1 THEN $2 END)", &arguments[0]->type, pair, 2,
                                ast->position);
    return true;
}

static bool same_aggregate(const struct cv_bind_aggregate *a, const char *name,
                           const struct cv_expr *const *arguments, size_t count)
{
    if (strcmp(a->name, name) != 0 || a->argument_count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!cv_expr_equal(a->arguments[i], arguments[i]))
            return false;
    return true;
}

static const struct cv_expr *add_aggregate(struct cv_binder *binder,
                                           struct cv_bind_grouping *grouping,
                                           const struct cv_call *call,
                                           const struct cv_aggregate *aggregate)
{
    struct cv_bind_aggregate entry = {
        .name = call->name,
        .arguments = call->arguments,
        .argument_count = call->argument_count,
        .aggregate = *aggregate,
        .first_part = grouping->part_count,
        .position = call->position,
    };
    const struct cv_expr *parts[CV_AGGREGATE_PARTS_MAX];

    for (size_t i = 0; i < grouping->aggregate_count; i++)
        if (same_aggregate(&grouping->aggregates[i], call->name, call->arguments,
                           call->argument_count))
            return grouping->aggregates[i].result;
    for (size_t i = 0; i < aggregate->part_count; i++) {
        entry.parts[i] =
            cv_expr_call(binder->arena, aggregate->parts[i].sql, &aggregate->parts[i].type,
                         call->arguments, call->argument_count, call->position);
        parts[i] = group_column(binder, &aggregate->parts[i].type, 'p', grouping->part_count++);
    }
    entry.result = cv_expr_call(binder->arena, aggregate->finish, &aggregate->type, parts,
                                aggregate->part_count, call->position);
    cv_bind_append(binder->arena, grouping->aggregates, grouping->aggregate_capacity,
                   grouping->aggregate_count, entry);
    return entry.result;
}

static void misplaced(struct cv_bind_scope *scope, const struct cv_ast *ast)
{
    struct cv_sql_problems *problems = &scope->binder->problems;

    if (scope->in_aggregate)
        cv_sql_problem(problems, CV_CONFIG, ast->position, "%s() inside of another aggregate",
                       ast->name);
    else if (scope->relation->grouping)
        cv_sql_problem(problems, CV_UNSUPPORTED, ast->position,
                       "%s(): more than one level of aggregation is not supported", ast->name);
    else
        cv_sql_problem(problems, CV_CONFIG, ast->position,
                       "%s() is an aggregate: not possible in %s%s", ast->name, scope->clause,
                       strcmp(scope->clause, "WHERE") == 0 ? " (HAVING is for groups)" : "");
}

const struct cv_expr *cv_bind_aggregate(struct cv_bind_scope *scope, const struct cv_ast *ast)
{
    struct cv_binder *binder = scope->binder;
    struct cv_bind_scope inner = *scope;
    struct cv_call call = {.arena = binder->arena,
                           .natives = binder->query->natives,
                           .name = ast->name,
                           .position = ast->position};
    struct cv_aggregate aggregate = {0};
    struct cv_error reason = CV_ERROR_INIT;
    bool good = true;
    enum cv_code code;

    inner.grouping = NULL;
    inner.in_aggregate = true;
    inner.conditional = scope->conditional || ast->filter;
    call.arguments = cv_arena_array(binder->arena, const struct cv_expr *, ast->argument_count + 1);
    call.argument_count = ast->argument_count;
    for (size_t i = 0; i < ast->argument_count; i++) {
        call.arguments[i] = cv_bind_expr(&inner, ast->arguments[i]);
        good = good && call.arguments[i];
    }
    if (!good || (ast->filter && !apply_filter(&inner, ast, call.arguments, &call.argument_count)))
        return NULL;
    code = cv_aggregate_bind(&call, ast->distinct, &aggregate, &reason);
    if (code == CV_NOT_FOUND)
        return cv_bind_call(scope, ast->name, call.arguments, call.argument_count, ast->position);
    if (code != CV_OK) {
        cv_sql_problem(&binder->problems, code, ast->position, "%s", reason.message);
        return NULL;
    }
    if (ast->ordered) {
        cv_sql_problem(&binder->problems, CV_UNSUPPORTED, ast->position,
                       "%s(): ORDER BY inside of an aggregate is not supported", ast->name);
        return NULL;
    }
    if (!scope->grouping || scope->in_aggregate) {
        misplaced(scope, ast);
        return NULL;
    }
    return add_aggregate(binder, scope->grouping, &call, &aggregate);
}

/* --- over the groups ------------------------------------------------------------------------- */

static const struct cv_expr *not_grouped(struct cv_bind_scope *scope, const struct cv_expr *expr,
                                         size_t position)
{
    const struct cv_bind_input *input = cv_bind_input_of(scope->binder, expr);

    cv_sql_problem(&scope->binder->problems, CV_CONFIG, position,
                   "column %s is neither in GROUP BY nor in an aggregate",
                   input ? input->text : expr->sql);
    return NULL;
}

/* CAST of a path that the decoder does, where the path itself is a key: a cast of the key. */
static const struct cv_expr *cast_of_key(struct cv_bind_scope *scope, const struct cv_expr *expr,
                                         size_t position)
{
    const struct cv_bind_grouping *grouping = scope->grouping;
    const struct cv_bind_input *input = cv_bind_input_of(scope->binder, expr);

    for (size_t i = 0; input && input->source && i < grouping->key_count; i++)
        if (cv_expr_equal(grouping->keys[i], input->source))
            return cv_bind_cast(scope, grouping->key_columns[i], &input->type, input->try_cast,
                                position);
    return not_grouped(scope, expr, position);
}

const struct cv_expr *cv_bind_over_groups(struct cv_bind_scope *scope, const struct cv_expr *expr,
                                          size_t position)
{
    const struct cv_bind_grouping *grouping = scope->grouping;
    const struct cv_expr **arguments;
    struct cv_expr *copy;

    if (expr->kind == CV_EXPR_CONSTANT || (expr->kind == CV_EXPR_COLUMN && expr->aggregate))
        return expr;
    for (size_t i = 0; i < grouping->key_count; i++)
        if (cv_expr_equal(grouping->keys[i], expr))
            return grouping->key_columns[i];
    if (grouping->start && cv_expr_equal(grouping->start, expr))
        return grouping->start_column;
    if (expr->kind == CV_EXPR_COLUMN)
        return cast_of_key(scope, expr, position);
    if (expr->sql == cv_bind_late_cast)
        return cv_bind_over_groups(scope, expr->arguments[2], position); /* the cast itself */
    arguments =
        cv_arena_array(scope->binder->arena, const struct cv_expr *, expr->argument_count + 1);
    for (size_t i = 0; i < expr->argument_count; i++) {
        arguments[i] = cv_bind_over_groups(scope, expr->arguments[i], position);
        if (!arguments[i])
            return NULL;
    }
    copy = cv_arena_new(scope->binder->arena, struct cv_expr);
    *copy = *expr;
    copy->arguments = arguments;
    copy->aggregate = true;
    return copy;
}
