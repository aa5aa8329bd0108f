/* SPDX-License-Identifier: Apache-2.0
 *
 * CAST in SQL: DuckDB's own where it is known to give the same, else a native over schema/cast.h;
 * lists, maps and structs member by member. */
#include "sql/function_int.h"
#include "sql/sql_text.h"

#include <stdio.h>

bool cv_native_cast(struct cv_native_row *row)
{
    return cv_cast_value(&row->in[0], &row->native->arguments[0], &row->native->result,
                         row->scratch, &row->out, row->reason);
}

/* --- between primitive types ----------------------------------------------------------------- */

/* DuckDB's name of the type that holds such values, within a template. */
static void put_duck_type(const struct cv_type *type, struct cv_buf *out)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf plain = CV_BUF_INIT(0);

    cv_sql_type_text(type, &plain);
    for (const char *c = cv_buf_text(&plain); *c; c++) {
        if (*c == '$')
            cv_buf_append_byte(out, '$');
        cv_buf_append_byte(out, (uint8_t)*c);
    }
}

/* A call without arguments, so that it is not taken for a NULL without a type. */
const struct cv_expr *cv_bind_null(struct cv_call *call, const struct cv_type *type)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);
    struct cv_call inner = *call;

    inner.argument_count = 0;
    cv_buf_append_text(&sql, "CAST(NULL AS ");
    put_duck_type(type, &sql);
    cv_buf_append_byte(&sql, ')');
    return cv_bind_sql(&inner, cv_arena_strdup(call->arena, cv_buf_text(&sql)), type);
}

/* The same bits mean the same value. */
static bool is_renaming(const struct cv_type *from, const struct cv_type *to)
{
    if (from->kind == CV_TYPE_TIMESTAMP || from->kind == CV_TYPE_TIMESTAMPTZ)
        return to->kind == CV_TYPE_TIMESTAMP || to->kind == CV_TYPE_TIMESTAMPTZ;
    return from->kind == CV_TYPE_FIXED && to->kind == CV_TYPE_BINARY;
}

/* DuckDB's cast has the same values and fails for the same ones. */
static bool duck_agrees(const struct cv_type *from, const struct cv_type *to)
{
    bool whole = from->kind == CV_TYPE_INT || from->kind == CV_TYPE_LONG;

    switch (to->kind) {
    case CV_TYPE_INT:
    case CV_TYPE_LONG:
        return whole || from->kind == CV_TYPE_BOOLEAN;
    case CV_TYPE_DOUBLE:
        return whole || from->kind == CV_TYPE_FLOAT;
    case CV_TYPE_DECIMAL:
        return whole || (from->kind == CV_TYPE_DECIMAL && to->scale >= from->scale);
    case CV_TYPE_STRING:
        return whole || from->kind == CV_TYPE_BOOLEAN;
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        return from->kind == CV_TYPE_DATE;
    default:
        return false;
    }
}

/* A constant that does not convert is told at once, as Spark's optimizer does. */
static enum cv_code check_constant(const struct cv_expr *expr, const struct cv_type *to,
                                   struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf scratch = CV_BUF_INIT(0);
    struct cv_value in = {.kind = CV_TYPE_STRING};
    struct cv_value out;
    char reason[CV_CAST_REASON_BYTES];

    if (expr->kind != CV_EXPR_CONSTANT || expr->type.kind != CV_TYPE_STRING || !expr->text)
        return CV_OK;
    in.bytes = cv_str_from(expr->text);
    if (!cv_cast_value(&in, &expr->type, to, &scratch, &out, reason))
        return cv_fail(err, CV_SCHEMA, "%s", reason);
    return CV_OK;
}

static enum cv_code cast_primitive(struct cv_call *call, const struct cv_expr *expr,
                                   const struct cv_type *to, bool try_cast,
                                   const struct cv_expr **ret_expr, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);
    const struct cv_type *from = &expr->type;
    const struct cv_expr *arguments[1] = {expr};
    struct cv_call inner = *call;
    char from_text[CV_TYPE_TEXT_BYTES];
    char to_text[CV_TYPE_TEXT_BYTES];

    inner.arguments = arguments;
    inner.argument_count = 1;
    if (!cv_cast_allowed(from, to)) {
        cv_type_text(from, from_text);
        cv_type_text(to, to_text);
        return cv_fail(err, CV_SCHEMA, "%s cannot be cast to %s", from_text, to_text);
    }
    if (!try_cast)
        CV_DO(check_constant(expr, to, err));
    if (is_renaming(from, to)) {
        *ret_expr = cv_bind_sql(&inner, "$1", to);
    } else if (duck_agrees(from, to)) {
        cv_buf_append_text(&sql, try_cast ? "TRY_CAST($1 AS " : "CAST($1 AS ");
        put_duck_type(to, &sql);
        cv_buf_append_byte(&sql, ')');
        *ret_expr = cv_bind_sql(&inner, cv_arena_strdup(call->arena, cv_buf_text(&sql)), to);
    } else {
        *ret_expr =
            cv_bind_native(&inner, &(struct cv_native){.call = cv_native_cast,
                                                       .flags = try_cast ? CV_NATIVE_TRY : 0,
                                                       .result = *to});
    }
    return CV_OK;
}

/* --- member by member ------------------------------------------------------------------------ */

static unsigned depth_of(const struct cv_type *type)
{
    unsigned most = 0;

    for (size_t i = 0; i < type->field_count; i++)
        most = CV_MAX(most, depth_of(&type->fields[i].type));
    return most + 1;
}

/* Text within a template: dollar signs are doubled. */
static void put_template(struct cv_buf *out, const char *sql)
{
    for (; *sql; sql++) {
        if (*sql == '$')
            cv_buf_append_byte(out, '$');
        cv_buf_append_byte(out, (uint8_t)*sql);
    }
}

/* Names in double quotes go into a template, texts do not. */
static void put_quoted(struct cv_buf *out, const char *name, char quote)
{
    cv_buf_append_byte(out, (uint8_t)quote);
    for (; *name; name++) {
        if (*name == quote || (*name == '$' && quote == '"'))
            cv_buf_append_byte(out, (uint8_t)*name);
        cv_buf_append_byte(out, (uint8_t)*name);
    }
    cv_buf_append_byte(out, (uint8_t)quote);
}

/* Adds the cast of a member that SQL reaches by `sql`, itself a template already. */
static enum cv_code put_member(struct cv_call *call, const char *sql, const struct cv_type *from,
                               const struct cv_type *to, bool try_cast, struct cv_buf *out,
                               struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    struct cv_expr *member = cv_arena_new(call->arena, struct cv_expr);
    const struct cv_expr *cast;

    *member = (struct cv_expr){.kind = CV_EXPR_COLUMN,
                               .type = *from,
                               .sql = cv_arena_strdup(call->arena, sql),
                               .position = call->position,
                               .input = SIZE_MAX};
    CV_DO(cv_expr_cast(call, member, to, try_cast, &cast, err));
    cv_expr_write(cast, &text);
    put_template(out, cv_buf_text(&text));
    return CV_OK;
}

static enum cv_code put_struct(struct cv_call *call, const char *name, const struct cv_type *from,
                               const struct cv_type *to, bool try_cast, struct cv_buf *out,
                               struct cv_error *err)
{
    cv_buf_printf(out, "list_transform([$1], lambda %s: CASE WHEN %s IS NOT NULL THEN struct_pack(",
                  name, name);
    for (size_t i = 0; i < to->field_count; i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf member = CV_BUF_INIT(0);

        cv_buf_append_text(out, i ? ", " : "");
        put_quoted(out, to->fields[i].name, '"');
        cv_buf_append_text(out, " := ");
        cv_buf_printf(&member, "struct_extract(%s, ", name);
        put_quoted(&member, from->fields[i].name, '\'');
        cv_buf_append_byte(&member, ')');
        CV_TRY(put_member(call, cv_buf_text(&member), &from->fields[i].type, &to->fields[i].type,
                          try_cast, out, err),
               err, "field %s", from->fields[i].name);
    }
    cv_buf_append_text(out, ") END)[1]");
    return CV_OK;
}

static enum cv_code put_map(struct cv_call *call, const char *name, const struct cv_type *from,
                            const struct cv_type *to, bool try_cast, struct cv_buf *out,
                            struct cv_error *err)
{
    char member[40];

    cv_buf_printf(out, "map_from_entries(list_transform(map_entries($1), lambda %s: struct_pack(",
                  name);
    (void)snprintf(member, sizeof member, "(%s).key", name);
    cv_buf_append_text(out, "\"key\" := ");
    CV_DO(put_member(call, member, &from->fields[0].type, &to->fields[0].type, try_cast, out, err));
    (void)snprintf(member, sizeof member, "(%s).value", name);
    cv_buf_append_text(out, ", \"value\" := ");
    CV_DO(put_member(call, member, &from->fields[1].type, &to->fields[1].type, try_cast, out, err));
    cv_buf_append_text(out, ")))");
    return CV_OK;
}

static enum cv_code cast_nested(struct cv_call *call, const struct cv_expr *expr,
                                const struct cv_type *to, bool try_cast,
                                const struct cv_expr **ret_expr, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);
    const struct cv_type *from = &expr->type;
    const struct cv_expr **arguments = cv_arena_array(call->arena, const struct cv_expr *, 1);
    char from_text[CV_TYPE_TEXT_BYTES];
    char to_text[CV_TYPE_TEXT_BYTES];
    char name[16];

    if (from->kind != to->kind || from->field_count != to->field_count ||
        cv_expr_is_interval(expr)) {
        cv_type_say(from, from_text);
        cv_type_text(to, to_text);
        return cv_fail(err, CV_SCHEMA, "%s cannot be cast to %s", from_text, to_text);
    }
    (void)snprintf(name, sizeof name, "x%u", depth_of(from));
    if (from->kind == CV_TYPE_STRUCT) {
        CV_DO(put_struct(call, name, from, to, try_cast, &sql, err));
    } else if (from->kind == CV_TYPE_MAP) {
        CV_DO(put_map(call, name, from, to, try_cast, &sql, err));
    } else {
        cv_buf_printf(&sql, "list_transform($1, lambda %s: ", name);
        CV_DO(put_member(call, name, &from->fields[0].type, &to->fields[0].type, try_cast, &sql,
                         err));
        cv_buf_append_byte(&sql, ')');
    }
    arguments[0] = expr;
    *ret_expr = cv_expr_call(call->arena, cv_arena_strdup(call->arena, cv_buf_text(&sql)), to,
                             arguments, 1, call->position);
    return CV_OK;
}

enum cv_code cv_expr_cast(struct cv_call *call, const struct cv_expr *expr,
                          const struct cv_type *type, bool try_cast,
                          const struct cv_expr **ret_expr, struct cv_error *err)
{
    if (expr->untyped) {
        *ret_expr = cv_bind_null(call, type);
        return CV_OK;
    }
    if (cv_type_same(&expr->type, type)) {
        *ret_expr = expr;
        return CV_OK;
    }
    if (cv_type_is_nested(&expr->type) || cv_type_is_nested(type))
        return cast_nested(call, expr, type, try_cast, ret_expr, err);
    return cast_primitive(call, expr, type, try_cast, ret_expr, err);
}
