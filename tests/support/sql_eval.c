/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluates bound SQL expressions without a stream, for tests/real/test_sql_functions.py: binds
 * trees of calls by function.h, lets DuckDB run them row by row, and prints types and values.
 *
 *   in:  {"create": SQL of table t (its column `id` counts from 0), "rows": n,
 *         "columns": {name: Spark DDL of its type, …}, "expressions": [tree, …]}
 *   tree: {"f": name, "a": [tree, …]} | {"column": name} | {"constant": DDL, "sql": …, "text": …} |
 *         {"null": true} | {"cast": DDL, "try": bool, "a": [tree]} | {"aggregate": name, "a": […]}
 *   out: one JSON array per expression: ["error", message] or [type, value | {"error": …}, …]
 */
#include "codec/json.h"
#include "sql/function.h"

#include <stdio.h>

struct eval {
    struct cv_arena arena;
    struct cv_natives *natives;
    struct cv_duck_connection *connection;
    const struct cv_json *columns;
    size_t rows;
};

static enum cv_code read_type(struct eval *e, const char *ddl, struct cv_type *ret_type,
                              struct cv_error *err)
{
    struct cv_schema schema;

    CV_DO(cv_schema_read_ddl(cv_arena_printf(&e->arena, "x %s", ddl), &e->arena, &schema, err));
    *ret_type = schema.root.fields[0].type;
    return CV_OK;
}

static enum cv_code bind(struct eval *e, const struct cv_json *tree, const struct cv_expr **ret,
                         struct cv_error *err);

static enum cv_code bind_arguments(struct eval *e, const struct cv_json *tree, const char *name,
                                   struct cv_call *ret_call, struct cv_error *err)
{
    const struct cv_json *all = cv_json_get(tree, "a");
    size_t count = cv_json_size(all);
    const struct cv_expr **arguments =
        cv_arena_array(&e->arena, const struct cv_expr *, count ? count : 1);

    for (size_t i = 0; i < count; i++)
        CV_DO(bind(e, cv_json_at(all, i), &arguments[i], err));
    *ret_call = (struct cv_call){.arena = &e->arena,
                                 .natives = e->natives,
                                 .name = name,
                                 .position = CV_SQL_NO_POSITION,
                                 .arguments = arguments,
                                 .argument_count = count};
    return CV_OK;
}

static enum cv_code bind_leaf(struct eval *e, const struct cv_json *tree,
                              const struct cv_expr **ret, struct cv_error *err)
{
    struct cv_expr *expr = cv_arena_new(&e->arena, struct cv_expr);
    const struct cv_json *column = cv_json_get(tree, "column");
    const struct cv_json *ddl = cv_json_get(tree, "constant");

    expr->input = SIZE_MAX;
    if (column) {
        ddl = cv_json_get(e->columns, cv_json_text(column));
        expr->kind = CV_EXPR_COLUMN;
        expr->sql = cv_arena_printf(&e->arena, "\"%s\"", cv_json_text(column));
    } else {
        expr->sql = cv_arena_strdup(&e->arena, cv_json_text(cv_json_get(tree, "sql")));
        if (cv_json_get(tree, "text"))
            expr->text = cv_arena_strdup(&e->arena, cv_json_text(cv_json_get(tree, "text")));
    }
    *ret = expr;
    return read_type(e, cv_json_text(ddl), &expr->type, err);
}

static enum cv_code bind(struct eval *e, const struct cv_json *tree, const struct cv_expr **ret,
                         struct cv_error *err)
{
    const struct cv_json *function = cv_json_get(tree, "f");
    const struct cv_json *cast = cv_json_get(tree, "cast");
    struct cv_call call;
    struct cv_type type;

    if (cv_json_get(tree, "null")) {
        *ret = cv_expr_constant_null(&e->arena, &(struct cv_type){.kind = CV_TYPE_STRING});
        return CV_OK;
    }
    if (!function && !cast)
        return bind_leaf(e, tree, ret, err);
    CV_DO(bind_arguments(e, tree, function ? cv_json_text(function) : "cast", &call, err));
    if (function)
        return cv_call_bind(&call, ret, err);
    CV_DO(read_type(e, cv_json_text(cast), &type, err));
    return cv_expr_cast(&call, call.arguments[0], &type, cv_json_bool(cv_json_get(tree, "try")),
                        ret, err);
}

/* An aggregate over all rows of t, finished. */
static enum cv_code bind_aggregate(struct eval *e, const struct cv_json *tree, struct cv_type *type,
                                   struct cv_buf *out, struct cv_error *err)
{
    struct cv_aggregate aggregate;
    struct cv_expr parts[CV_AGGREGATE_PARTS_MAX] = {0};
    const struct cv_expr *arguments[CV_AGGREGATE_PARTS_MAX];
    struct cv_call call;

    CV_DO(bind_arguments(e, tree, cv_json_text(cv_json_get(tree, "aggregate")), &call, err));
    CV_DO(cv_aggregate_bind(&call, false, &aggregate, err));
    cv_buf_append_text(out, "SELECT ");
    for (size_t i = 0; i < aggregate.part_count; i++) {
        parts[i] =
            (struct cv_expr){.kind = CV_EXPR_COLUMN, .sql = cv_arena_printf(&e->arena, "p%zu", i)};
        arguments[i] = &parts[i];
    }
    cv_expr_write(cv_expr_call(&e->arena, aggregate.finish, &aggregate.type, arguments,
                               aggregate.part_count, 0),
                  out);
    cv_buf_append_text(out, " FROM (SELECT ");
    for (size_t i = 0; i < aggregate.part_count; i++) {
        cv_buf_append_text(out, i ? ", " : "");
        cv_expr_write(cv_expr_call(&e->arena, aggregate.parts[i].sql, &aggregate.parts[i].type,
                                   call.arguments, call.argument_count, 0),
                      out);
        cv_buf_printf(out, " AS p%zu", i);
    }
    cv_buf_append_text(out, " FROM t WHERE id >= 0)");
    *type = aggregate.type;
    return CV_OK;
}

/* --- output ---------------------------------------------------------------------------------- */

static void put_value(struct cv_json_writer *w, const struct cv_column *column, size_t row)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    enum cv_type_kind kind = column->type->kind;
    struct cv_value value;

    if (cv_column_is_null(column, row)) {
        cv_json_put_null(w);
    } else if (kind == CV_TYPE_LIST || kind == CV_TYPE_MAP) {
        cv_json_begin_array(w);
        for (int32_t i = column->offsets[row]; i < column->offsets[row + 1]; i++) {
            if (kind == CV_TYPE_MAP)
                cv_json_begin_array(w);
            for (size_t k = 0; k < column->child_count; k++)
                put_value(w, &column->children[k], (size_t)i);
            if (kind == CV_TYPE_MAP)
                cv_json_end_array(w);
        }
        cv_json_end_array(w);
    } else if (kind == CV_TYPE_STRUCT) {
        cv_json_begin_array(w);
        for (size_t k = 0; k < column->child_count; k++)
            put_value(w, &column->children[k], row);
        cv_json_end_array(w);
    } else {
        value = cv_column_value(column, row);
        if (kind == CV_TYPE_STRING)
            cv_json_put_text(w, value.bytes);
        else if (kind == CV_TYPE_BOOLEAN)
            cv_json_put_bool(w, value.boolean);
        else if (kind == CV_TYPE_INT || kind == CV_TYPE_DATE)
            cv_json_put_i64(w, value.i32);
        else if (kind == CV_TYPE_LONG || kind == CV_TYPE_TIMESTAMP || kind == CV_TYPE_TIMESTAMPTZ)
            cv_json_put_i64(w, value.i64);
        else if (kind == CV_TYPE_DOUBLE || kind == CV_TYPE_FLOAT) {
            cv_buf_printf(&text, "%.17g", kind == CV_TYPE_FLOAT ? (double)value.f32 : value.f64);
            cv_json_put_string(w, cv_buf_text(&text));
        } else {
            cv_value_write_text(&value, column->type, &text);
            cv_json_put_string(w, cv_buf_text(&text));
        }
    }
}

static enum cv_code run(struct eval *e, const char *sql, const struct cv_schema *schema,
                        struct cv_json_writer *w, struct cv_error *err)
{
    CV_CLEANUP(cv_duck_query_freep) struct cv_duck_query *query = NULL;
    const int64_t now = 1700000000123456;
    struct cv_batch batch;

    CV_DO(cv_duck_query_prepare(e->connection, sql, schema, &query, err));
    CV_DO(cv_duck_query_start(query, &now, strstr(sql, "$1") ? 1 : 0, err));
    CV_DO(cv_duck_query_next(query, 1, &batch, err));
    if (batch.row_count != 1)
        return cv_fail(err, CV_INTERNAL, "%zu rows", batch.row_count);
    put_value(w, &batch.columns[0], 0);
    return CV_OK;
}

static void run_reporting(struct eval *e, const char *sql, const struct cv_schema *schema,
                          struct cv_json_writer *w)
{
    struct cv_error err = CV_ERROR_INIT;

    if (run(e, sql, schema, w, &err) == CV_OK)
        return;
    cv_json_begin_object(w);
    cv_json_key(w, err.code == CV_RECORD ? "error" : "failure");
    cv_json_put_string(w, err.message);
    if (err.code != CV_RECORD) {
        cv_json_key(w, "sql");
        cv_json_put_string(w, sql);
    }
    cv_json_end_object(w);
}

static void print_expression(struct eval *e, const struct cv_type *type, const char *sql,
                             bool aggregate, struct cv_buf *out)
{
    const struct cv_field field = {.id = 1, .name = "x", .type = *type};
    const struct cv_schema schema = {
        .root = {.kind = CV_TYPE_STRUCT, .fields = &field, .field_count = 1}};
    struct cv_json_writer w = CV_JSON_WRITER(out);
    char text[CV_TYPE_TEXT_BYTES];

    cv_type_text(type, text);
    cv_json_begin_array(&w);
    cv_json_put_string(&w, text);
    for (size_t row = 0; row < (aggregate ? 1 : e->rows); row++)
        run_reporting(e,
                      aggregate ? sql
                                : cv_arena_printf(&e->arena, "SELECT %s AS x FROM t WHERE id = %zu",
                                                  sql, row),
                      &schema, &w);
    cv_json_end_array(&w);
}

struct bound {
    const char *sql;
    struct cv_type type;
    char *error;
    bool aggregate;
};

static void bind_one(struct eval *e, const struct cv_json *tree, struct bound *bound)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;
    const struct cv_expr *expr;

    bound->aggregate = cv_json_get(tree, "aggregate") != NULL;
    if (bound->aggregate) {
        if (bind_aggregate(e, tree, &bound->type, &sql, &err) != CV_OK)
            bound->error = cv_arena_strdup(&e->arena, err.message);
    } else if (bind(e, tree, &expr, &err) != CV_OK) {
        bound->error = cv_arena_strdup(&e->arena, err.message);
    } else {
        cv_expr_write(expr, &sql);
        bound->type = expr->type;
    }
    bound->sql = cv_arena_strdup(&e->arena, cv_buf_text(&sql));
}

static enum cv_code evaluate(struct eval *e, const struct cv_json *root, struct cv_error *err)
{
    const struct cv_json *all = cv_json_get(root, "expressions");
    struct bound *bound = cv_arena_array(&e->arena, struct bound, cv_json_size(all) + 1);

    e->columns = cv_json_get(root, "columns");
    e->rows = (size_t)cv_json_integer(cv_json_get(root, "rows"));
    for (size_t i = 0; i < cv_json_size(all); i++)
        bind_one(e, cv_json_at(all, i), &bound[i]);
    CV_DO(cv_natives_register(e->natives, e->connection, err));
    CV_DO(cv_duck_execute(e->connection, cv_json_text(cv_json_get(root, "create")), err));
    for (size_t i = 0; i < cv_json_size(all); i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
        struct cv_json_writer w = CV_JSON_WRITER(&out);

        if (bound[i].error) {
            cv_json_begin_array(&w);
            cv_json_put_string(&w, "error");
            cv_json_put_string(&w, bound[i].error);
            cv_json_end_array(&w);
        } else {
            print_expression(e, &bound[i].type, bound[i].sql, bound[i].aggregate, &out);
        }
        puts(cv_buf_text(&out));
    }
    return CV_OK;
}

static void print_names(void)
{
    size_t count;
    const struct cv_function *all = cv_function_all(&count);

    for (size_t i = 0; i < count; i++)
        puts(all[i].name);
}

int main(int argc, char **argv)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf in = CV_BUF_INIT(0);
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;
    const struct cv_duck_config config = {.memory_bytes = (size_t)256 << 20};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_duck *duck = NULL;
    struct eval e = {.natives = cv_natives_new()};
    char chunk[65536];
    size_t got;
    enum cv_code code;

    if (argc > 1 && strcmp(argv[1], "names") == 0) {
        print_names();
        return 0;
    }
    while ((got = fread(chunk, 1, sizeof chunk, stdin)) > 0)
        cv_buf_append(&in, chunk, got);
    code = cv_json_parse(in.data, in.length, &root, &err);
    if (code == CV_OK)
        code = cv_duck_open(&config, &duck, &err);
    if (code == CV_OK)
        code = cv_duck_connect(duck, &e.connection, &err);
    if (code == CV_OK)
        code = evaluate(&e, root, &err);
    if (code != CV_OK)
        (void)fprintf(stderr, "%s\n", err.message);
    if (e.connection)
        cv_duck_disconnect(e.connection);
    if (duck)
        cv_duck_free(duck);
    cv_natives_free(e.natives);
    cv_arena_release(&e.arena);
    return code == CV_OK ? 0 : 1;
}
