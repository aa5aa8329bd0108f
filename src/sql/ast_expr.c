/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions of DuckDB's tree. */
#include "sql/ast_int.h"

#include <ctype.h>

static enum cv_code refuse(struct cv_ast *ast, const char *what)
{
    ast->kind = CV_AST_REFUSED;
    ast->name = what;
    return CV_OK;
}

static const char *lower(struct cv_ast_reader *reader, const char *text)
{
    char *copy = cv_arena_strdup(reader->arena, text);

    for (char *p = copy; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return copy;
}

static enum cv_code read_column(struct cv_ast_reader *reader, const struct cv_json *json,
                                struct cv_ast *ast, struct cv_error *err)
{
    ast->kind = CV_AST_COLUMN;
    ast->names = cv_ast_names(reader, json, "column_names", &ast->name_count);
    if (ast->name_count == 0)
        return cv_ast_fail(reader, ast->position, CV_FORMAT, err, "a column without a name");
    return CV_OK;
}

/* Texts are taken from the tree, numbers that are no 64-bit integers from the text as written. */
static enum cv_code read_constant(struct cv_ast_reader *reader, const struct cv_json *json,
                                  struct cv_ast *ast, struct cv_error *err)
{
    const struct cv_json *constant = cv_json_get(json, "value");
    const struct cv_json *value = cv_json_get(constant, "value");
    const char *type = cv_json_text(cv_json_get(cv_json_get(constant, "type"), "id"));
    bool integer = strcmp(type, "INTEGER") == 0 || strcmp(type, "BIGINT") == 0;

    ast->kind = CV_AST_CONSTANT;
    if (cv_json_bool(cv_json_get(constant, "is_null"))) {
        ast->constant = CV_AST_NULL;
    } else if (strcmp(type, "VARCHAR") == 0) {
        ast->constant = CV_AST_STRING;
        ast->text = cv_arena_strdup(reader->arena, cv_json_text(value));
    } else if (strcmp(type, "BOOLEAN") == 0) {
        ast->constant = CV_AST_BOOLEAN;
        ast->integer = cv_json_bool(value);
    } else if (integer && cv_json_is_integer(value)) {
        ast->constant = CV_AST_INTEGER;
        ast->integer = cv_json_integer(value);
    } else {
        ast->constant = CV_AST_NUMBER;
        ast->text = cv_sql_text_number(reader->text, ast->position, reader->arena);
        ast->integer = cv_sql_text_is_minus(reader->text, ast->position) ? -1 : 0;
        if (!ast->text)
            return cv_ast_fail(reader, ast->position, CV_UNSUPPORTED, err,
                               "a constant of type %s is not possible", type);
    }
    return CV_OK;
}

static enum cv_code read_two(struct cv_ast_reader *reader, const struct cv_json *json,
                             const char *first, const char *second, struct cv_ast *ast,
                             struct cv_error *err)
{
    const struct cv_ast **pair = cv_arena_array(reader->arena, const struct cv_ast *, 2);

    CV_DO(cv_ast_read_expr(reader, cv_json_get(json, first), ast->position, &pair[0], err));
    CV_DO(cv_ast_read_expr(reader, cv_json_get(json, second), ast->position, &pair[1], err));
    if (!pair[0] || !pair[1])
        return cv_ast_fail(reader, ast->position, CV_FORMAT, err, "an operand is missing");
    ast->arguments = pair;
    ast->argument_count = 2;
    return CV_OK;
}

static enum cv_code read_comparison(struct cv_ast_reader *reader, const struct cv_json *json,
                                    struct cv_ast *ast, struct cv_error *err)
{
    static const char *const names[][2] = {
        {"COMPARE_EQUAL", "="},
        {"COMPARE_NOTEQUAL", "<>"},
        {"COMPARE_LESSTHAN", "<"},
        {"COMPARE_LESSTHANOREQUALTO", "<="},
        {"COMPARE_GREATERTHAN", ">"},
        {"COMPARE_GREATERTHANOREQUALTO", ">="},
        {"COMPARE_DISTINCT_FROM", "is distinct from"},
        {"COMPARE_NOT_DISTINCT_FROM", "is not distinct from"},
    };
    const char *type = cv_json_text(cv_json_get(json, "type"));

    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++)
        if (strcmp(type, names[i][0]) == 0)
            ast->name = names[i][1];
    if (!ast->name)
        return refuse(ast, "this comparison");
    ast->kind = CV_AST_CALL;
    return read_two(reader, json, "left", "right", ast, err);
}

static enum cv_code read_children(struct cv_ast_reader *reader, const struct cv_json *json,
                                  struct cv_ast *ast, struct cv_error *err)
{
    ast->kind = CV_AST_CALL;
    return cv_ast_read_exprs(reader, cv_json_get(json, "children"), ast->position, &ast->arguments,
                             &ast->argument_count, err);
}

static enum cv_code read_operator(struct cv_ast_reader *reader, const struct cv_json *json,
                                  struct cv_ast *ast, struct cv_error *err)
{
    static const char *const names[][2] = {
        {"OPERATOR_NOT", "not"},
        {"OPERATOR_IS_NULL", "isnull"},
        {"OPERATOR_IS_NOT_NULL", "isnotnull"},
        {"COMPARE_IN", "in"},
        {"COMPARE_NOT_IN", "not in"},
        {"OPERATOR_COALESCE", "coalesce"},
        {"OPERATOR_NULLIF", "nullif"},
        {"ARRAY_EXTRACT", "array_extract"},
        {"ARRAY_SLICE", "array_slice"},
        {"STRUCT_EXTRACT", "struct_extract"},
        {"ARRAY_CONSTRUCTOR", "list_value"},
    };
    const char *type = cv_json_text(cv_json_get(json, "type"));

    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++)
        if (strcmp(type, names[i][0]) == 0)
            ast->name = names[i][1];
    if (!ast->name)
        return refuse(ast, lower(reader, type));
    return read_children(reader, json, ast, err);
}

static enum cv_code read_case(struct cv_ast_reader *reader, const struct cv_json *json,
                              struct cv_ast *ast, struct cv_error *err)
{
    const struct cv_json *checks = cv_json_get(json, "case_checks");
    size_t count = cv_json_is_array(checks) ? cv_json_size(checks) : 0;
    const struct cv_ast **arguments =
        cv_arena_array(reader->arena, const struct cv_ast *, 2 * count + 1);
    size_t filled = 0;

    for (size_t i = 0; i < count; i++) {
        struct cv_ast check = {.position = ast->position};

        CV_DO(read_two(reader, cv_json_at(checks, i), "when_expr", "then_expr", &check, err));
        arguments[filled++] = check.arguments[0];
        arguments[filled++] = check.arguments[1];
    }
    CV_DO(cv_ast_read_expr(reader, cv_json_get(json, "else_expr"), ast->position,
                           &arguments[filled], err));
    ast->kind = CV_AST_CALL;
    ast->name = "case";
    ast->arguments = arguments;
    ast->argument_count = filled + (arguments[filled] != NULL);
    return CV_OK;
}

static enum cv_code read_between(struct cv_ast_reader *reader, const struct cv_json *json,
                                 struct cv_ast *ast, struct cv_error *err)
{
    static const char *const keys[] = {"input", "lower", "upper"};
    const struct cv_ast **arguments = cv_arena_array(reader->arena, const struct cv_ast *, 3);

    for (size_t i = 0; i < 3; i++) {
        CV_DO(cv_ast_read_expr(reader, cv_json_get(json, keys[i]), ast->position, &arguments[i],
                               err));
        if (!arguments[i])
            return cv_ast_fail(reader, ast->position, CV_FORMAT, err, "an operand is missing");
    }
    ast->kind = CV_AST_CALL;
    ast->name = "between";
    ast->arguments = arguments;
    ast->argument_count = 3;
    return CV_OK;
}

static bool is_cast_of(const struct cv_ast *ast, enum cv_type_kind kind)
{
    return ast->kind == CV_AST_CAST && !ast->try_cast && ast->type.kind == kind;
}

/* INTERVAL 5 MINUTE comes as to_minutes(CAST(trunc(CAST(5 AS DOUBLE)) AS BIGINT)): to_minutes(5).
 */
static void unwrap_interval(struct cv_ast_reader *reader, struct cv_ast *ast)
{
    const struct cv_ast **number;
    const struct cv_ast *at;

    if (strncmp(ast->name, "to_", 3) != 0 || ast->argument_count != 1)
        return;
    at = ast->arguments[0];
    if (!is_cast_of(at, CV_TYPE_LONG) && !is_cast_of(at, CV_TYPE_INT))
        return;
    at = at->arguments[0];
    if (at->kind != CV_AST_CALL || strcmp(at->name, "trunc") != 0 || at->argument_count != 1 ||
        !is_cast_of(at->arguments[0], CV_TYPE_DOUBLE))
        return;
    number = cv_arena_array(reader->arena, const struct cv_ast *, 1);
    number[0] = at->arguments[0]->arguments[0];
    ast->arguments = number;
}

static enum cv_code read_function(struct cv_ast_reader *reader, const struct cv_json *json,
                                  struct cv_ast *ast, struct cv_error *err)
{
    const struct cv_json *orders = cv_json_get(cv_json_get(json, "order_bys"), "orders");

    ast->name = lower(reader, cv_json_text(cv_json_get(json, "function_name")));
    if (strcmp(ast->name, "count_star") == 0)
        ast->name = "count";
    if (strcmp(ast->name, "<=>") == 0)
        ast->name = "is not distinct from"; /* Spark's operator */
    ast->distinct = cv_json_bool(cv_json_get(json, "distinct"));
    ast->ordered = cv_json_size(orders) > 0;
    CV_DO(cv_ast_read_expr(reader, cv_json_get(json, "filter"), ast->position, &ast->filter, err));
    CV_DO(read_children(reader, json, ast, err));
    unwrap_interval(reader, ast);
    return CV_OK;
}

static enum cv_code read_conjunction(struct cv_ast_reader *reader, const struct cv_json *json,
                                     struct cv_ast *ast, struct cv_error *err)
{
    bool either = strcmp(cv_json_text(cv_json_get(json, "type")), "CONJUNCTION_OR") == 0;

    ast->name = either ? "or" : "and";
    return read_children(reader, json, ast, err);
}

static enum cv_code read_cast(struct cv_ast_reader *reader, const struct cv_json *json,
                              struct cv_ast *ast, struct cv_error *err)
{
    const struct cv_ast **argument = cv_arena_array(reader->arena, const struct cv_ast *, 1);
    const struct cv_json *type = cv_json_get(json, "cast_type");
    const char *word;

    CV_DO(cv_ast_read_expr(reader, cv_json_get(json, "child"), ast->position, &argument[0], err));
    if (!argument[0])
        return cv_ast_fail(reader, ast->position, CV_FORMAT, err, "CAST of nothing");
    if (ast->position == reader->text->base)
        ast->position = argument[0]->position;
    ast->arguments = argument;
    ast->argument_count = 1;
    ast->try_cast = cv_json_bool(cv_json_get(json, "try_cast"));
    if (strcmp(cv_json_text(cv_json_get(type, "id")), "INTERVAL") == 0) {
        ast->kind = CV_AST_CALL;
        ast->name = "interval";
        return CV_OK;
    }
    if (!cv_ast_read_type(reader, type, &ast->type, &word))
        return refuse(ast, cv_arena_printf(reader->arena, "the type %s", word));
    ast->kind = CV_AST_CAST;
    return CV_OK;
}

static enum cv_code read_star(struct cv_ast_reader *reader, const struct cv_json *json,
                              struct cv_ast *ast, struct cv_error *err)
{
    const struct cv_json *replaced = cv_json_get(json, "replace_list");
    size_t count = cv_json_is_array(replaced) ? cv_json_size(replaced) : 0;
    const struct cv_ast **arguments = cv_arena_array(reader->arena, const struct cv_ast *, count);

    if (cv_json_bool(cv_json_get(json, "columns")))
        return refuse(ast, "COLUMNS(…)");
    if (cv_json_size(cv_json_get(json, "rename_list")) > 0 ||
        cv_json_size(cv_json_get(json, "qualified_exclude_list")) > 0)
        return refuse(ast, "RENAME and names with dots behind *");
    ast->kind = CV_AST_STAR;
    ast->name = cv_ast_word(reader, json, "relation_name");
    ast->names = cv_ast_names(reader, json, "exclude_list", &ast->name_count);
    for (size_t i = 0; i < count; i++) {
        const struct cv_json *entry = cv_json_at(replaced, i);
        const struct cv_ast *with;
        struct cv_ast *named = cv_arena_new(reader->arena, struct cv_ast);

        CV_DO(cv_ast_read_expr(reader, cv_json_get(entry, "value"), ast->position, &with, err));
        if (!with)
            return cv_ast_fail(reader, ast->position, CV_FORMAT, err, "REPLACE with nothing");
        *named = *with;
        named->alias = cv_arena_strdup(reader->arena, cv_json_text(cv_json_get(entry, "key")));
        arguments[i] = named;
    }
    ast->arguments = arguments;
    ast->argument_count = count;
    return CV_OK;
}

static enum cv_code read_subquery(struct cv_ast_reader *reader, const struct cv_json *json,
                                  struct cv_ast *ast, struct cv_error *err)
{
    const struct cv_ast **child = cv_arena_array(reader->arena, const struct cv_ast *, 1);
    const char *type = cv_json_text(cv_json_get(json, "subquery_type"));
    const char *comparison = cv_json_text(cv_json_get(json, "comparison_type"));

    if (strcmp(type, "SCALAR") == 0)
        return refuse(ast, "a subquery as a value (join the table instead)");
    if (strcmp(type, "EXISTS") != 0 &&
        (strcmp(type, "ANY") != 0 || strcmp(comparison, "COMPARE_EQUAL") != 0))
        return refuse(ast, "a subquery other than IN and EXISTS");
    ast->kind = CV_AST_SUBQUERY;
    CV_DO(cv_ast_read_expr(reader, cv_json_get(json, "child"), ast->position, &child[0], err));
    if (child[0]) {
        ast->arguments = child;
        ast->argument_count = 1;
    }
    return cv_ast_read_query(reader, cv_json_get(cv_json_get(json, "subquery"), "node"),
                             ast->position, &ast->query, err);
}

static const struct {
    const char *class_name;
    enum cv_code (*read)(struct cv_ast_reader *reader, const struct cv_json *json,
                         struct cv_ast *ast, struct cv_error *err);
    const char *refused;
} classes[] = {
    {"COLUMN_REF", read_column, NULL},
    {"CONSTANT", read_constant, NULL},
    {"COMPARISON", read_comparison, NULL},
    {"CONJUNCTION", read_conjunction, NULL},
    {"OPERATOR", read_operator, NULL},
    {"FUNCTION", read_function, NULL},
    {"CAST", read_cast, NULL},
    {"CASE", read_case, NULL},
    {"BETWEEN", read_between, NULL},
    {"STAR", read_star, NULL},
    {"SUBQUERY", read_subquery, NULL},
    {"WINDOW", NULL, "OVER (a window of rows)"},
    {"LAMBDA", NULL, "a lambda or the operator ->"},
    {"PARAMETER", NULL, "a parameter ($1, ?)"},
    {"COLLATE", NULL, "COLLATE"},
    {"POSITIONAL_REFERENCE", NULL, "a column by its number (#1)"},
    {"DEFAULT", NULL, "DEFAULT"},
};

static enum cv_code read_node(struct cv_ast_reader *reader, const struct cv_json *json,
                              struct cv_ast *ast, struct cv_error *err)
{
    const char *class_name = cv_json_text(cv_json_get(json, "class"));

    for (size_t i = 0; i < CV_ARRAY_LENGTH(classes); i++) {
        if (strcmp(class_name, classes[i].class_name) == 0)
            return classes[i].read ? classes[i].read(reader, json, ast, err)
                                   : refuse(ast, classes[i].refused);
    }
    return refuse(ast, *class_name ? lower(reader, class_name) : "an expression without a class");
}

enum cv_code cv_ast_read_expr(struct cv_ast_reader *reader, const struct cv_json *json,
                              size_t around, const struct cv_ast **ret_ast, struct cv_error *err)
{
    struct cv_ast *ast;

    *ret_ast = NULL;
    if (!json || cv_json_is_null(json))
        return CV_OK;
    if (reader->depth >= CV_AST_DEPTH_MAX)
        return cv_ast_fail(reader, around, CV_LIMIT, err, "nested deeper than %d",
                           CV_AST_DEPTH_MAX);
    ast = cv_arena_new(reader->arena, struct cv_ast);
    ast->position = cv_ast_position(reader, json, around);
    ast->alias = cv_ast_word(reader, json, "alias");
    reader->depth++;
    CV_DO(read_node(reader, json, ast, err));
    reader->depth--;
    *ret_ast = ast;
    return CV_OK;
}

enum cv_code cv_ast_read_exprs(struct cv_ast_reader *reader, const struct cv_json *array,
                               size_t around, const struct cv_ast *const **ret_items,
                               size_t *ret_count, struct cv_error *err)
{
    size_t count = cv_json_is_array(array) ? cv_json_size(array) : 0;
    const struct cv_ast **items = cv_arena_array(reader->arena, const struct cv_ast *, count);

    for (size_t i = 0; i < count; i++) {
        CV_DO(cv_ast_read_expr(reader, cv_json_at(array, i), around, &items[i], err));
        if (!items[i])
            return cv_ast_fail(reader, around, CV_FORMAT, err, "an expression is missing");
    }
    *ret_items = items;
    *ret_count = count;
    return CV_OK;
}
