/* SPDX-License-Identifier: Apache-2.0
 *
 * Literals with Spark's types: 1 is int, 3000000000 bigint, 1.5 decimal(2, 1), 1e3 double. */
#include "sql/bind_int.h"

#include "schema/cast.h"

#include <ctype.h>
#include <inttypes.h>

static struct cv_expr *constant(struct cv_binder *binder, const struct cv_type *type,
                                size_t position)
{
    struct cv_expr *expr = cv_arena_new(binder->arena, struct cv_expr);

    expr->kind = CV_EXPR_CONSTANT;
    expr->type = *type;
    expr->position = position;
    expr->input = SIZE_MAX;
    return expr;
}

/* A value as SQL that gives DuckDB's type of the same name, by integers where texts have forms. */
static const char *value_sql(struct cv_arena *arena, const struct cv_value *value,
                             const struct cv_type *type)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);

    switch (type->kind) {
    case CV_TYPE_BOOLEAN:
        return value->boolean ? "TRUE" : "FALSE";
    case CV_TYPE_INT:
        return cv_arena_printf(arena, "CAST('%" PRId32 "' AS INTEGER)", value->i32);
    case CV_TYPE_DATE:
        return cv_arena_printf(arena, "(DATE '1970-01-01' + CAST('%" PRId32 "' AS INTEGER))",
                               value->i32);
    case CV_TYPE_LONG:
        return cv_arena_printf(arena, "CAST('%" PRId64 "' AS BIGINT)", value->i64);
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        return cv_arena_printf(arena, "make_timestamp(CAST('%" PRId64 "' AS BIGINT))", value->i64);
    case CV_TYPE_STRING:
        cv_buf_append(&text, value->bytes.ptr, value->bytes.length);
        break;
    case CV_TYPE_BINARY:
    case CV_TYPE_FIXED:
    case CV_TYPE_UUID:
        for (size_t i = 0; i < value->bytes.length; i++)
            cv_buf_printf(&text, "\\x%02X", (unsigned char)value->bytes.ptr[i]);
        break;
    default:
        cv_value_write_text(value, type, &text);
    }
    if (type->kind == CV_TYPE_STRING) {
        cv_sql_write_text(&sql, cv_buf_text(&text));
        return cv_arena_strdup(arena, cv_buf_text(&sql));
    }
    cv_buf_append_text(&sql, "CAST(");
    cv_sql_write_text(&sql, cv_buf_text(&text));
    cv_buf_append_text(&sql, " AS ");
    cv_sql_type_text(type, &sql);
    cv_buf_append_byte(&sql, ')');
    return cv_arena_strdup(arena, cv_buf_text(&sql));
}

/* The number as it is written, digits counted: 0.50 is decimal(2, 2), 12345678901234567890 is
 * decimal(20, 0). */
static bool decimal_type(const char *number, struct cv_type *ret_type)
{
    size_t digits = 0;
    size_t scale = 0;
    bool point = false;
    bool leading = true;

    for (; *number; number++) {
        if (*number == '.') {
            point = true;
            continue;
        }
        leading = leading && *number == '0';
        digits += !leading;
        scale += point;
    }
    digits = CV_MAX(CV_MAX(digits, scale), 1);
    if (digits > 38)
        return false;
    *ret_type = (struct cv_type){
        .kind = CV_TYPE_DECIMAL, .precision = (uint8_t)digits, .scale = (uint8_t)scale};
    return true;
}

static const struct cv_expr *number(struct cv_bind_scope *scope, const struct cv_ast *ast)
{
    struct cv_binder *binder = scope->binder;
    struct cv_type type = {.kind = CV_TYPE_DOUBLE};
    const char *sign = ast->integer < 0 ? "-" : "";
    struct cv_expr *expr;
    double value;

    if (!strpbrk(ast->text, "eE") && !decimal_type(ast->text, &type)) {
        cv_sql_problem(&binder->problems, CV_CONFIG, ast->position,
                       "the number has more than 38 digits");
        return NULL;
    }
    if (type.kind == CV_TYPE_DOUBLE &&
        (!cv_parse_double(cv_str_from(ast->text), &value) || value > 1.7976931348623157e308)) {
        cv_sql_problem(&binder->problems, CV_CONFIG, ast->position,
                       "the number does not fit a double");
        return NULL;
    }
    expr = constant(binder, &type, ast->position);
    expr->text = cv_arena_printf(binder->arena, "%s%s", sign, ast->text);
    if (type.kind == CV_TYPE_DOUBLE)
        expr->sql = cv_arena_printf(binder->arena, "CAST('%s' AS DOUBLE)", expr->text);
    else
        expr->sql = cv_arena_printf(binder->arena, "CAST('%s' AS DECIMAL(%d,%d))", expr->text,
                                    type.precision, type.scale);
    return expr;
}

static const struct cv_expr *integer(struct cv_binder *binder, const struct cv_ast *ast)
{
    bool fits = ast->integer >= INT32_MIN && ast->integer <= INT32_MAX;
    struct cv_type type = {.kind = fits ? CV_TYPE_INT : CV_TYPE_LONG};
    struct cv_expr *expr = constant(binder, &type, ast->position);

    expr->text = cv_arena_printf(binder->arena, "%" PRId64, ast->integer);
    if (fits && ast->integer >= 0)
        expr->sql = expr->text;
    else
        expr->sql = cv_arena_printf(binder->arena, "CAST('%s' AS %s)", expr->text,
                                    fits ? "INTEGER" : "BIGINT");
    return expr;
}

static const struct cv_expr *text(struct cv_binder *binder, const struct cv_ast *ast)
{
    struct cv_type type = {.kind = CV_TYPE_STRING};
    struct cv_expr *expr = constant(binder, &type, ast->position);
    struct cv_value value = {.kind = CV_TYPE_STRING, .bytes = cv_str_from(ast->text)};

    expr->text = ast->text;
    expr->sql = value_sql(binder->arena, &value, &type);
    return expr;
}

const struct cv_expr *cv_bind_constant(struct cv_bind_scope *scope, const struct cv_ast *ast)
{
    struct cv_binder *binder = scope->binder;
    struct cv_type boolean = {.kind = CV_TYPE_BOOLEAN};
    struct cv_expr *expr;

    switch (ast->constant) {
    case CV_AST_NULL:
        return cv_expr_constant_null(binder->arena, NULL);
    case CV_AST_BOOLEAN:
        expr = constant(binder, &boolean, ast->position);
        expr->sql = ast->integer ? "TRUE" : "FALSE";
        return expr;
    case CV_AST_INTEGER:
        return integer(binder, ast);
    case CV_AST_NUMBER:
        return number(scope, ast);
    default:
        return text(binder, ast);
    }
}

const struct cv_expr *cv_bind_constant_cast(struct cv_bind_scope *scope, const struct cv_expr *expr,
                                            const struct cv_type *type, bool try_cast,
                                            size_t position)
{
    struct cv_binder *binder = scope->binder;
    CV_CLEANUP(cv_buf_release) struct cv_buf scratch = CV_BUF_INIT(0);
    struct cv_value in = {.kind = CV_TYPE_STRING, .bytes = cv_str_from(expr->text)};
    char reason[CV_CAST_REASON_BYTES] = "it cannot be cast";
    struct cv_type string = {.kind = CV_TYPE_STRING};
    struct cv_expr *result;
    struct cv_value out;

    if (!cv_cast_value(&in, &string, type, &scratch, &out, reason)) {
        if (try_cast)
            return cv_expr_constant_null(binder->arena, type);
        cv_sql_problem(&binder->problems, CV_CONFIG, position, "%s", reason);
        return NULL;
    }
    result = constant(binder, type, position);
    result->sql = value_sql(binder->arena, &out, type);
    if (type->kind == CV_TYPE_INT || type->kind == CV_TYPE_LONG || type->kind == CV_TYPE_DECIMAL ||
        type->kind == CV_TYPE_STRING) {
        struct cv_str trimmed = cv_str_trim(cv_str_from(expr->text));

        result->text = type->kind == CV_TYPE_STRING
                           ? expr->text
                           : cv_arena_strndup(binder->arena, trimmed.ptr, trimmed.length);
    }
    return result;
}
