/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions: calls, casts, conditions. */
#include "sql/bind_int.h"

#include "schema/cast.h"

#include <ctype.h>

/* What is called, with its constants: by it a query is recognized again (fingerprint.c), whatever
 * SQL it is run as. */
static const char *call_text(struct cv_arena *arena, const char *name,
                             const struct cv_expr *const *arguments, size_t count)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);

    cv_buf_append_text(&text, name);
    for (size_t i = 0; i < count; i++)
        if (arguments[i]->kind == CV_EXPR_CONSTANT)
            cv_buf_printf(&text, "\t%zu:%s", i, arguments[i]->sql);
    return cv_arena_strdup(arena, cv_buf_text(&text));
}

/* Of an expression that was made for this call, and is none of its arguments. */
static const struct cv_expr *named(const struct cv_expr *expr, const char *text,
                                   const struct cv_expr *const *arguments, size_t count)
{
    struct cv_expr *own = (struct cv_expr *)(uintptr_t)expr; /* in our arena */

    for (size_t i = 0; i < count; i++)
        if (arguments[i] == expr)
            return expr;
    if (own->kind == CV_EXPR_CALL && !own->text)
        own->text = text;
    return expr;
}

const char cv_bind_and_in_order[] = "(CASE WHEN NOT $1 THEN FALSE ELSE $1 AND $2 END)";

/* a AND b where b may fail: DuckDB would try orders of its own, and fail for rows that a leaves
 * out. A CASE keeps the order, and what NULL gives. */
static const struct cv_expr *in_order(struct cv_bind_scope *scope, const struct cv_expr *expr,
                                      bool either)
{
    struct cv_arena *arena = scope->binder->arena;
    const char *chain =
        either ? "(CASE WHEN $1 THEN TRUE ELSE $1 OR $2 END)" : cv_bind_and_in_order;
    const struct cv_expr *rest;

    if (expr->kind != CV_EXPR_CALL || expr->argument_count < 2)
        return expr;
    rest = expr->arguments[expr->argument_count - 1];
    for (size_t i = expr->argument_count - 1; i-- > 0;) {
        const struct cv_expr *pair[2] = {expr->arguments[i], rest};
        const char *plain = either ? "($1 OR $2)" : "($1 AND $2)";

        rest = cv_expr_call(arena, cv_expr_may_fail(rest) ? chain : plain, &expr->type, pair, 2,
                            expr->position);
    }
    return named(rest, expr->text, NULL, 0);
}

const struct cv_expr *cv_bind_call(struct cv_bind_scope *scope, const char *name,
                                   const struct cv_expr **arguments, size_t count, size_t position)
{
    struct cv_binder *binder = scope->binder;
    char *lower = cv_arena_strdup(binder->arena, name);
    struct cv_call call = {
        .arena = binder->arena,
        .natives = binder->query->natives,
        .name = lower,
        .position = position,
        .arguments = arguments,
        .argument_count = count,
    };
    struct cv_error reason = CV_ERROR_INIT;
    const struct cv_expr *expr = NULL;
    const char *text;
    enum cv_code code;

    for (char *p = lower; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    text = call_text(binder->arena, lower, arguments, count);
    code = cv_call_bind(&call, &expr, &reason);
    if (code == CV_OK)
        expr = named(expr, text, arguments, count);
    if (code == CV_OK && count > 1 && (!strcmp(lower, "and") || !strcmp(lower, "or")) &&
        cv_expr_may_fail(expr))
        return in_order(scope, expr, lower[0] == 'o');
    if (code == CV_OK)
        return expr;
    cv_sql_problem(&binder->problems, code == CV_NOT_FOUND ? CV_CONFIG : code, position, "%s%s%s",
                   reason.message, reason.hint[0] ? ": " : "", reason.hint);
    return NULL;
}

/* --- casts ----------------------------------------------------------------------------------- */

static const struct cv_expr *native_cast(struct cv_bind_scope *scope, const struct cv_expr *expr,
                                         const struct cv_type *type, bool try_cast, size_t position)
{
    struct cv_binder *binder = scope->binder;
    struct cv_call call = {
        .arena = binder->arena,
        .natives = binder->query->natives,
        .name = try_cast ? "try_cast" : "cast",
        .position = position,
    };
    struct cv_error reason = CV_ERROR_INIT;
    const struct cv_expr *cast = NULL;
    enum cv_code code = cv_expr_cast(&call, expr, type, try_cast, &cast, &reason);

    if (code == CV_OK)
        return named(cast, call.name, &expr, 1);
    cv_sql_problem(&binder->problems, code, position, "%s", reason.message);
    return NULL;
}

/* Casts that succeed for every value: the decoder may do them for rows that WHERE leaves out. */
static bool never_fails(const struct cv_type *from, const struct cv_type *to)
{
    switch (to->kind) {
    case CV_TYPE_STRING:
        return from->kind != CV_TYPE_BINARY;
    case CV_TYPE_LONG:
        return from->kind == CV_TYPE_INT || from->kind == CV_TYPE_BOOLEAN;
    case CV_TYPE_DOUBLE:
        return from->kind == CV_TYPE_INT || from->kind == CV_TYPE_LONG ||
               from->kind == CV_TYPE_FLOAT;
    default:
        return false;
    }
}

const char cv_bind_late_cast[] = "(CASE WHEN $1 IS NULL AND $2 IS NOT NULL THEN $3 ELSE $1 END)";

/* CAST around a path is the decoder's, as in a compiled select. Where the value may not be needed
 * for every row, it must not fail before it is: the decoder tries, and only where that gave NULL
 * for a value that is there, the cast is done once more, for its error. */
static const struct cv_expr *decoder_cast(struct cv_bind_scope *scope, const struct cv_expr *expr,
                                          const struct cv_type *type, bool try_cast,
                                          size_t position)
{
    struct cv_binder *binder = scope->binder;
    struct cv_bind_input wanted = *cv_bind_input_of(binder, expr);
    bool eager =
        try_cast || never_fails(&wanted.type, type) || (!binder->lazy && !scope->conditional);
    const struct cv_expr *arguments[3];

    wanted.cast = true;
    wanted.source = expr;
    wanted.try_cast = try_cast || !eager;
    wanted.required = wanted.required && !wanted.try_cast;
    wanted.type = *type;
    arguments[0] = cv_bind_input(binder, &wanted);
    if (eager)
        return arguments[0];
    arguments[1] = expr;
    arguments[2] = native_cast(scope, expr, type, false, position);
    if (!arguments[2])
        return NULL;
    return cv_expr_call(binder->arena, cv_bind_late_cast, type, arguments, 3, position);
}

/* JSON without a schema gives nested values by the type that is asked for. */
static const struct cv_expr *open_nested(struct cv_bind_scope *scope,
                                         const struct cv_bind_input *input,
                                         const struct cv_type *type, bool try_cast, size_t position)
{
    struct cv_bind_input wanted = *input;

    if (try_cast) {
        cv_sql_problem(&scope->binder->problems, CV_UNSUPPORTED, position,
                       "TRY_CAST to a list, map or struct is not supported");
        return NULL;
    }
    wanted.type = *type;
    wanted.open = false;
    return cv_bind_input(scope->binder, &wanted);
}

const struct cv_expr *cv_bind_cast(struct cv_bind_scope *scope, const struct cv_expr *expr,
                                   const struct cv_type *type, bool try_cast, size_t position)
{
    const struct cv_bind_input *input = cv_bind_input_of(scope->binder, expr);
    bool primitive = !cv_type_is_nested(type) && !cv_type_is_nested(&expr->type);

    if (expr->untyped)
        return cv_expr_constant_null(scope->binder->arena, type);
    if (expr->kind == CV_EXPR_CONSTANT && expr->type.kind == CV_TYPE_STRING && expr->text &&
        primitive)
        return cv_bind_constant_cast(scope, expr, type, try_cast, position);
    if (input && !input->cast && input->open && cv_type_is_nested(type))
        return open_nested(scope, input, type, try_cast, position);
    if (primitive && expr->type.kind == type->kind && expr->type.precision == type->precision &&
        expr->type.scale == type->scale && expr->type.length == type->length)
        return expr;
    if (input && !input->cast && primitive && cv_cast_allowed(&expr->type, type))
        return decoder_cast(scope, expr, type, try_cast, position);
    return native_cast(scope, expr, type, try_cast, position);
}

/* --- calls ----------------------------------------------------------------------------------- */

static bool is_conditional(const char *name)
{
    static const char *const names[] = {"case", "and",  "or", "coalesce", "ifnull",
                                        "nvl",  "nvl2", "if", "try",      "nullif"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* struct_pack(a := 1, …), {'a': 1}: the names come as constant texts before their values. */
static const struct cv_expr *struct_pack(struct cv_bind_scope *scope, const struct cv_ast *ast)
{
    size_t count = 2 * ast->argument_count;
    const struct cv_expr **arguments =
        cv_arena_array(scope->binder->arena, const struct cv_expr *, count);
    bool good = true;

    for (size_t i = 0; i < ast->argument_count; i++) {
        const struct cv_ast *value = ast->arguments[i];
        struct cv_ast name = {.constant = CV_AST_STRING, .position = value->position};

        name.text =
            value->alias ? value->alias : cv_arena_printf(scope->binder->arena, "col%zu", i + 1);
        arguments[2 * i] = cv_bind_constant(scope, &name);
        arguments[2 * i + 1] = cv_bind_expr(scope, value);
        good = good && arguments[2 * i + 1];
    }
    return good ? cv_bind_call(scope, "struct_pack", arguments, count, ast->position) : NULL;
}

/* x['name'] and x.name of a struct. */
static const struct cv_expr *extract(struct cv_bind_scope *scope, const struct cv_ast *ast,
                                     const struct cv_expr **arguments)
{
    bool by_name = ast->argument_count == 2 && arguments[1]->kind == CV_EXPR_CONSTANT &&
                   arguments[1]->type.kind == CV_TYPE_STRING && arguments[1]->text;
    const struct cv_bind_input *input =
        by_name ? cv_bind_input_of(scope->binder, arguments[0]) : NULL;

    if (by_name && (arguments[0]->type.kind == CV_TYPE_STRUCT || (input && input->open)))
        return cv_bind_field(scope, arguments[0], arguments[1]->text, ast->position);
    return cv_bind_call(scope, ast->name, arguments, ast->argument_count, ast->position);
}

static bool special_call(struct cv_bind_scope *scope, const struct cv_ast *ast,
                         const struct cv_expr **ret_expr)
{
    *ret_expr = NULL;
    if (strcmp(ast->name, "window") == 0) {
        *ret_expr = cv_bind_window(scope, ast);
    } else if (strcmp(ast->name, "session_window") == 0 || strcmp(ast->name, "window_time") == 0) {
        cv_sql_problem(&scope->binder->problems, CV_UNSUPPORTED, ast->position,
                       "%s() is not supported; window() is", ast->name);
    } else if (strcmp(ast->name, "struct_pack") == 0) {
        *ret_expr = struct_pack(scope, ast);
    } else {
        return false;
    }
    return true;
}

static const struct cv_expr *call(struct cv_bind_scope *scope, const struct cv_ast *ast)
{
    struct cv_bind_scope inner = *scope;
    const struct cv_expr **arguments;
    const struct cv_expr *special;
    bool good = true;

    if (special_call(scope, ast, &special))
        return special;
    if (!cv_function_find(ast->name))
        return cv_bind_aggregate(scope, ast);
    if (ast->distinct || ast->filter || ast->ordered) {
        cv_sql_problem(&scope->binder->problems, CV_CONFIG, ast->position,
                       "%s is no aggregate: DISTINCT, FILTER and ORDER BY mean nothing in it",
                       ast->name);
        return NULL;
    }
    inner.conditional = scope->conditional || is_conditional(ast->name);
    arguments =
        cv_arena_array(scope->binder->arena, const struct cv_expr *, ast->argument_count + 1);
    for (size_t i = 0; i < ast->argument_count; i++) {
        arguments[i] = cv_bind_expr(&inner, ast->arguments[i]);
        good = good && arguments[i];
    }
    if (!good)
        return NULL;
    if (strcmp(ast->name, "array_extract") == 0 || strcmp(ast->name, "struct_extract") == 0)
        return extract(scope, ast, arguments);
    return cv_bind_call(scope, ast->name, arguments, ast->argument_count, ast->position);
}

static const struct cv_expr *refused(struct cv_bind_scope *scope, const struct cv_ast *ast)
{
    cv_sql_problem(&scope->binder->problems, CV_UNSUPPORTED, ast->position, "%s is not supported",
                   ast->name);
    return NULL;
}

const struct cv_expr *cv_bind_expr(struct cv_bind_scope *scope, const struct cv_ast *ast)
{
    const struct cv_expr *child;

    switch (ast->kind) {
    case CV_AST_COLUMN:
        return cv_bind_name(scope, ast);
    case CV_AST_CONSTANT:
        return cv_bind_constant(scope, ast);
    case CV_AST_CALL:
        return call(scope, ast);
    case CV_AST_CAST:
        child = cv_bind_expr(scope, ast->arguments[0]);
        return child ? cv_bind_cast(scope, child, &ast->type, ast->try_cast, ast->position) : NULL;
    case CV_AST_SUBQUERY:
        return cv_bind_subquery(scope, ast);
    case CV_AST_STAR:
        cv_sql_problem(&scope->binder->problems, CV_CONFIG, ast->position,
                       "a * stands where one value is expected");
        return NULL;
    default:
        return refused(scope, ast);
    }
}

const struct cv_expr *cv_bind_condition(struct cv_bind_scope *scope, const struct cv_ast *ast)
{
    const struct cv_expr *expr = cv_bind_expr(scope, ast);
    char type[CV_TYPE_TEXT_BYTES];

    if (!expr)
        return NULL;
    if (expr->untyped || expr->type.kind == CV_TYPE_BOOLEAN)
        return expr;
    cv_type_text(&expr->type, type);
    cv_sql_problem(&scope->binder->problems, CV_SCHEMA, ast->position,
                   "a condition is expected in %s, not %s", scope->clause, type);
    return NULL;
}
