/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators that compare, decide and join: AND, =, IN, BETWEEN, CASE, LIKE. Arithmetic stands in
 * arithmetic.c. */
#include "codec/utf8.h"
#include "sql/function_int.h"

static const struct cv_type boolean_type = {.kind = CV_TYPE_BOOLEAN};

/* --- AND, OR, NOT ---------------------------------------------------------------------------- */

static enum cv_code bind_logic(const struct cv_function *function, struct cv_call *call,
                               const struct cv_expr **ret_expr, struct cv_error *err)
{
    for (size_t i = 0; i < call->argument_count; i++)
        CV_DO(cv_bind_letter(call, i, 'b', err));
    *ret_expr = cv_bind_sql(
        call, cv_bind_list_sql(call->arena, "(", function->detail, ")", call->argument_count),
        &boolean_type);
    return CV_OK;
}

/* --- comparisons ----------------------------------------------------------------------------- */

/* Literals of integers beside decimals count with the digits that they have. */
static bool comparison_type(const struct cv_expr *a, const struct cv_expr *b,
                            struct cv_type *ret_type)
{
    struct cv_type x = a->type;
    struct cv_type y = b->type;

    if (a->untyped || b->untyped) {
        *ret_type = a->untyped ? b->type : a->type;
        if (a->untyped && b->untyped)
            *ret_type = CV_PLAIN(STRING);
        return true;
    }
    if (x.kind == CV_TYPE_DECIMAL)
        y = cv_decimal_of(b, &y);
    else if (y.kind == CV_TYPE_DECIMAL)
        x = cv_decimal_of(a, &x);
    return cv_type_common(&x, &y, ret_type);
}

static enum cv_code coerce_pair(struct cv_call *call, size_t a, size_t b, struct cv_error *err)
{
    const struct cv_expr **arguments = call->arguments;
    struct cv_type type;
    char text[CV_TYPE_TEXT_BYTES];

    cv_type_say(&arguments[a]->type, text);
    if (cv_expr_is_interval(arguments[a]) || cv_expr_is_interval(arguments[b]) ||
        !comparison_type(arguments[a], arguments[b], &type))
        return cv_bind_refuse(call, b, text, err);
    CV_DO(cv_expr_cast(call, arguments[a], &type, false, &arguments[a], err));
    return cv_expr_cast(call, arguments[b], &type, false, &arguments[b], err);
}

static enum cv_code bind_compare(const struct cv_function *function, struct cv_call *call,
                                 const struct cv_expr **ret_expr, struct cv_error *err)
{
    CV_DO(coerce_pair(call, 0, 1, err));
    if (cv_type_is_nested(&call->arguments[0]->type) && !function->number)
        return cv_bind_refuse(call, 0, "a plain value: lists, maps and structs have no order", err);
    if (call->arguments[0]->type.kind == CV_TYPE_MAP)
        return cv_bind_refuse(call, 0, "a value that can be compared", err);
    *ret_expr = cv_bind_sql(call, function->detail, &boolean_type);
    return CV_OK;
}

/* x BETWEEN a AND b: each end is compared for itself, as in Spark. */
static enum cv_code bind_between(const struct cv_function *function, struct cv_call *call,
                                 const struct cv_expr **ret_expr, struct cv_error *err)
{
    const struct cv_expr *all[4] = {call->arguments[0], call->arguments[1], call->arguments[0],
                                    call->arguments[2]};

    call->arguments = cv_arena_copy(call->arena, all, sizeof all);
    call->argument_count = 4;
    CV_DO(coerce_pair(call, 0, 1, err));
    CV_DO(coerce_pair(call, 2, 3, err));
    if (cv_type_is_nested(&call->arguments[0]->type))
        return cv_bind_refuse(call, 0, "a plain value", err);
    *ret_expr = cv_bind_sql(call, function->detail, &boolean_type);
    return CV_OK;
}

static enum cv_code bind_in(const struct cv_function *function, struct cv_call *call,
                            const struct cv_expr **ret_expr, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);
    struct cv_type type;

    CV_DO(cv_bind_common(call, 0, 1, &type, err));
    if (type.kind == CV_TYPE_MAP)
        return cv_bind_refuse(call, 0, "a value that can be compared", err);
    cv_buf_printf(&sql, "($1 %s (", function->detail);
    for (size_t i = 1; i < call->argument_count; i++)
        cv_buf_printf(&sql, "%s$%zu", i > 1 ? ", " : "", i + 1);
    cv_buf_append_text(&sql, "))");
    *ret_expr = cv_bind_sql(call, cv_arena_strdup(call->arena, cv_buf_text(&sql)), &boolean_type);
    return CV_OK;
}

/* --- CASE and its relatives ------------------------------------------------------------------ */

static enum cv_code bind_case(const struct cv_function *function, struct cv_call *call,
                              const struct cv_expr **ret_expr, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);
    size_t count = call->argument_count;
    const struct cv_expr **values = cv_arena_array(call->arena, const struct cv_expr *, count);
    struct cv_call results = *call;
    struct cv_type type;

    (void)function;
    results.arguments = values;
    results.argument_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (i % 2 == 0 && i + 1 < count)
            CV_DO(cv_bind_letter(call, i, 'b', err));
        else
            values[results.argument_count++] = call->arguments[i];
    }
    CV_DO(cv_bind_common(&results, 0, 1, &type, err));
    cv_buf_append_text(&sql, "CASE");
    for (size_t i = 0, value = 0; i < count; i++)
        if (i % 2 == 0 && i + 1 < count) {
            cv_buf_printf(&sql, " WHEN $%zu", i + 1);
        } else {
            call->arguments[i] = values[value++];
            cv_buf_printf(&sql, i % 2 ? " THEN $%zu" : " ELSE $%zu", i + 1);
        }
    cv_buf_append_text(&sql, " END");
    *ret_expr = cv_bind_sql(call, cv_arena_strdup(call->arena, cv_buf_text(&sql)), &type);
    return CV_OK;
}

/* if(condition, a, b) is CASE; nvl2(x, a, b) is CASE over x IS NOT NULL. */
static enum cv_code bind_choice(const struct cv_function *function, struct cv_call *call,
                                const struct cv_expr **ret_expr, struct cv_error *err)
{
    struct cv_type type;

    if (function->number == 0)
        CV_DO(cv_bind_letter(call, 0, 'b', err));
    CV_DO(cv_bind_common(call, 1, 1, &type, err));
    *ret_expr = cv_bind_sql(call, function->detail, &type);
    return CV_OK;
}

/* Functions over values of one common type: "coalesce(", "greatest(". */
static enum cv_code bind_same(const struct cv_function *function, struct cv_call *call,
                              const struct cv_expr **ret_expr, struct cv_error *err)
{
    struct cv_type type;

    CV_DO(cv_bind_common(call, 0, 1, &type, err));
    if (function->number && cv_type_is_nested(&type))
        return cv_bind_refuse(call, 0, "a plain value", err);
    *ret_expr = cv_bind_sql(
        call, cv_bind_list_sql(call->arena, function->detail, ", ", ")", call->argument_count),
        &type);
    return CV_OK;
}

/* The type of the first; compared in the type that both have in common. */
static enum cv_code bind_nullif(const struct cv_function *function, struct cv_call *call,
                                const struct cv_expr **ret_expr, struct cv_error *err)
{
    const struct cv_expr *all[3] = {call->arguments[0], call->arguments[1], call->arguments[0]};

    (void)function;
    if (all[0]->untyped)
        CV_DO(cv_bind_letter(call, 0, 's', err));
    all[2] = call->arguments[0];
    call->arguments = cv_arena_copy(call->arena, all, sizeof all);
    call->argument_count = 3;
    CV_DO(coerce_pair(call, 0, 1, err));
    *ret_expr =
        cv_bind_sql(call, "CASE WHEN $1 = $2 THEN NULL ELSE $3 END", &call->arguments[2]->type);
    return CV_OK;
}

static enum cv_code bind_any(const struct cv_function *function, struct cv_call *call,
                             const struct cv_expr **ret_expr, struct cv_error *err)
{
    CV_DO(cv_bind_letter(call, 0, 'a', err));
    *ret_expr = cv_bind_sql(call, function->detail, &boolean_type);
    return CV_OK;
}

/* --- || and concat --------------------------------------------------------------------------- */

static enum cv_code bind_concat(const struct cv_function *function, struct cv_call *call,
                                const struct cv_expr **ret_expr, struct cv_error *err)
{
    struct cv_type type = CV_PLAIN(STRING);
    bool binary = call->argument_count > 0;

    (void)function;
    for (size_t i = 0; i < call->argument_count; i++)
        binary = binary && call->arguments[i]->type.kind == CV_TYPE_BINARY &&
                 !call->arguments[i]->untyped;
    if (binary)
        type = CV_PLAIN(BINARY);
    for (size_t i = 0; i < call->argument_count; i++)
        CV_DO(cv_bind_implicit(call, i, &type, err));
    if (call->argument_count == 0)
        *ret_expr = cv_bind_sql(call, "''", &type);
    else
        *ret_expr = cv_bind_sql(
            call, cv_bind_list_sql(call->arena, "(", " || ", ")", call->argument_count), &type);
    return CV_OK;
}

/* --- LIKE ------------------------------------------------------------------------------------ */

enum { LIKE_NOT = 1, LIKE_NO_CASE = 2 };

/* One code point of a pattern: false when the escape character stands before nothing special. */
static bool next_of_pattern(const char **at, const char *end, uint32_t escape, uint32_t *ret_point,
                            bool *ret_special)
{
    uint32_t point = cv_utf8_next(at, end);

    *ret_special = point == '%' || point == '_';
    if (point == escape) {
        if (*at == end)
            return false;
        point = cv_utf8_next(at, end);
        if (point != '%' && point != '_' && point != escape)
            return false;
        *ret_special = false;
    }
    *ret_point = point;
    return true;
}

static bool pattern_is_good(struct cv_str pattern, uint32_t escape)
{
    const char *at = pattern.ptr;
    const char *end = at + pattern.length;
    uint32_t point;
    bool special;

    while (at < end)
        if (!next_of_pattern(&at, end, escape, &point, &special))
            return false;
    return true;
}

/* Goes back to the newest % when the rest does not fit: linear in text × pattern. */
static bool like(struct cv_str text, struct cv_str pattern, uint32_t escape)
{
    const char *t = text.ptr;
    const char *t_end = t + text.length;
    const char *p = pattern.ptr;
    const char *p_end = p + pattern.length;
    const char *retry_p = NULL;
    const char *retry_t = NULL;
    uint32_t point;
    bool special;

    while (true) {
        const char *next_t = t;
        const char *next_p = p;

        if (p < p_end) {
            (void)next_of_pattern(&next_p, p_end, escape, &point, &special);
            if (special && point == '%') {
                retry_p = p = next_p;
                retry_t = t;
                continue;
            }
            if (t < t_end && (cv_utf8_next(&next_t, t_end) == point || special)) {
                t = next_t;
                p = next_p;
                continue;
            }
        } else if (t == t_end) {
            return true;
        }
        if (!retry_p || retry_t >= t_end)
            return false;
        (void)cv_utf8_next(&retry_t, t_end);
        t = retry_t;
        p = retry_p;
    }
}

static bool native_like(struct cv_native_row *row)
{
    struct cv_str text = cv_str_from("\\");
    const char *at;
    uint32_t escape;

    if (row->native->argument_count == 3)
        text = row->in[2].bytes;
    at = text.ptr;
    escape = cv_utf8_next(&at, at + text.length);
    if (!pattern_is_good(row->in[1].bytes, escape))
        return cv_native_fail(row,
                              "LIKE: in the pattern '%.*s' the escape character stands before "
                              "neither %%, _ nor itself",
                              (int)CV_MIN(row->in[1].bytes.length, 60), row->in[1].bytes.ptr);
    row->out.boolean = like(row->in[0].bytes, row->in[1].bytes, escape);
    if (row->native->number & LIKE_NOT)
        row->out.boolean = !row->out.boolean;
    return true;
}

/* For ILIKE both sides in lower case. */
static void lower_sides(struct cv_call *call)
{
    for (size_t i = 0; i < 2; i++) {
        struct cv_call inner = *call;
        const struct cv_expr *argument[1] = {call->arguments[i]};

        inner.arguments = argument;
        inner.argument_count = 1;
        call->arguments[i] = cv_bind_native(
            &inner, &(struct cv_native){.call = cv_native_lower, .result = CV_PLAIN(STRING)});
    }
}

static enum cv_code bind_like(const struct cv_function *function, struct cv_call *call,
                              const struct cv_expr **ret_expr, struct cv_error *err)
{
    const char *text = NULL;
    const char *escape = "\\";
    const char *at;

    for (size_t i = 0; i < call->argument_count; i++)
        CV_DO(cv_bind_letter(call, i, 's', err));
    if (call->argument_count == 3) {
        CV_DO(cv_bind_constant_text(call, 2, "the escape character", &escape, err));
        if (cv_utf8_count(cv_str_from(escape)) != 1)
            return cv_fail(err, CV_SCHEMA, "LIKE: ESCAPE takes one character, not '%s'", escape);
    }
    at = escape;
    if (call->arguments[1]->kind == CV_EXPR_CONSTANT)
        text = call->arguments[1]->text;
    if (text && !pattern_is_good(cv_str_from(text), cv_utf8_next(&at, at + strlen(at))))
        return cv_fail(err, CV_SCHEMA,
                       "LIKE: in the pattern '%s' the escape character stands "
                       "before neither %%, _ nor itself",
                       text);
    /* DuckDB's own is quick, and the same where nothing is escaped. */
    if (text && !strstr(text, escape) && !(function->number & LIKE_NO_CASE)) {
        call->argument_count = 2;
        *ret_expr = cv_bind_sql(
            call, function->number & LIKE_NOT ? "($1 NOT LIKE $2)" : "($1 LIKE $2)", &boolean_type);
        return CV_OK;
    }
    if (function->number & LIKE_NO_CASE)
        lower_sides(call);
    *ret_expr = cv_bind_native(call, &(struct cv_native){.call = native_like,
                                                         .number = function->number & LIKE_NOT,
                                                         .result = boolean_type});
    return CV_OK;
}

#define OP CV_FUNCTION_OPERATOR

const struct cv_function cv_functions_operator[] = {
    {"and", "a AND b", 1, 255, bind_logic, " AND ", OP, NULL, NULL, 0},
    {"or", "a OR b", 1, 255, bind_logic, " OR ", OP, NULL, NULL, 0},
    {"not", "NOT a", 1, 1, cv_bind_letters, "b:b (NOT $1)", OP, NULL, NULL, 0},
    {"=", "a = b", 2, 2, bind_compare, "($1 = $2)", OP,
     "a text is cast to the type of the other side; NaN equals NaN", NULL, 1},
    {"<>", "a <> b", 2, 2, bind_compare, "($1 <> $2)", OP, NULL, NULL, 1},
    {"<", "a < b", 2, 2, bind_compare, "($1 < $2)", OP, "NaN is the largest number", NULL, 0},
    {"<=", "a <= b", 2, 2, bind_compare, "($1 <= $2)", OP, NULL, NULL, 0},
    {">", "a > b", 2, 2, bind_compare, "($1 > $2)", OP, NULL, NULL, 0},
    {">=", "a >= b", 2, 2, bind_compare, "($1 >= $2)", OP, NULL, NULL, 0},
    {"is distinct from", "a IS DISTINCT FROM b", 2, 2, bind_compare, "($1 IS DISTINCT FROM $2)", OP,
     NULL, NULL, 1},
    {"is not distinct from", "a IS NOT DISTINCT FROM b", 2, 2, bind_compare,
     "($1 IS NOT DISTINCT FROM $2)", OP, "Spark's <=>", NULL, 1},
    {"between", "x BETWEEN a AND b", 3, 3, bind_between, "($1 >= $2 AND $3 <= $4)", OP, NULL, NULL,
     0},
    {"not between", "x NOT BETWEEN a AND b", 3, 3, bind_between, "(NOT ($1 >= $2 AND $3 <= $4))",
     OP, NULL, NULL, 0},
    {"in", "x IN (a, …)", 2, 255, bind_in, "IN", OP, "at most 254 values", NULL, 0},
    {"not in", "x NOT IN (a, …)", 2, 255, bind_in, "NOT IN", OP, NULL, NULL, 0},
    {"isnull", "x IS NULL", 1, 1, bind_any, "($1 IS NULL)", OP, NULL, NULL, 0},
    {"isnotnull", "x IS NOT NULL", 1, 1, bind_any, "($1 IS NOT NULL)", OP, NULL, NULL, 0},
    {"case", "CASE [x] WHEN a THEN b … [ELSE c] END", 2, 255, bind_case, NULL, OP, NULL, NULL, 0},
    {"coalesce", "coalesce(a, …) → common type", 1, 255, bind_same, "coalesce(", 0, NULL, NULL, 0},
    {"ifnull", "ifnull(a, b) → common type", 2, 2, bind_same, "coalesce(", 0, NULL, NULL, 0},
    {"nvl", "nvl(a, b) → common type", 2, 2, bind_same, "coalesce(", 0, NULL, NULL, 0},
    {"nvl2", "nvl2(x, if not null, if null) → common type", 3, 3, bind_choice,
     "CASE WHEN $1 IS NOT NULL THEN $2 ELSE $3 END", 0, NULL, NULL, 1},
    {"if", "if(condition, then, else) → common type", 3, 3, bind_choice,
     "CASE WHEN $1 THEN $2 ELSE $3 END", 0, NULL, NULL, 0},
    {"nullif", "nullif(a, b) → type of a", 2, 2, bind_nullif, NULL, 0, NULL, NULL, 0},
    {"greatest", "greatest(a, b, …) → common type", 2, 255, bind_same, "greatest(", 0,
     "NULL is passed over; NaN is the largest", NULL, 1},
    {"least", "least(a, b, …) → common type", 2, 255, bind_same, "least(", 0, NULL, NULL, 1},
    {"||", "a || b", 2, 2, bind_concat, NULL, OP, NULL, NULL, 0},
    {"concat", "concat(a, …) → string or binary", 0, 255, bind_concat, NULL, 0,
     "NULL in any argument gives NULL", NULL, 0},
    {"~~", "text LIKE pattern", 2, 2, bind_like, NULL, OP,
     "the backslash escapes unless ESCAPE says otherwise", NULL, 0},
    {"!~~", "text NOT LIKE pattern", 2, 2, bind_like, NULL, OP, NULL, NULL, LIKE_NOT},
    {"~~*", "text ILIKE pattern", 2, 2, bind_like, NULL, OP, NULL, NULL, LIKE_NO_CASE},
    {"!~~*", "text NOT ILIKE pattern", 2, 2, bind_like, NULL, OP, NULL, NULL,
     LIKE_NOT | LIKE_NO_CASE},
    {"like_escape", "text LIKE pattern ESCAPE character", 3, 3, bind_like, NULL, OP, NULL, NULL, 0},
    {"not_like_escape", "text NOT LIKE pattern ESCAPE character", 3, 3, bind_like, NULL, OP, NULL,
     NULL, LIKE_NOT},
    {"ilike_escape", "text ILIKE pattern ESCAPE character", 3, 3, bind_like, NULL, OP, NULL, NULL,
     LIKE_NO_CASE},
    {"not_ilike_escape", "text NOT ILIKE pattern ESCAPE character", 3, 3, bind_like, NULL, OP, NULL,
     NULL, LIKE_NOT | LIKE_NO_CASE},
};
const size_t cv_functions_operator_count = CV_ARRAY_LENGTH(cv_functions_operator);
