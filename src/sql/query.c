/* SPDX-License-Identifier: Apache-2.0
 *
 * From the text of a job's SQL to a plan: read, parse, bind, check what a stream allows, write. */
#include "sql/query.h"

#include "sql/plan_int.h"

#include <stdlib.h>

static enum cv_code parse(struct cv_binder *binder, const struct cv_sql_parser *parser,
                          const char *option, const char *written, const char *before,
                          const char *after, const struct cv_ast_query **ret_query,
                          struct cv_error *err)
{
    struct cv_sql_problems *problems = &binder->problems;
    size_t base = 0;
    struct cv_sql_text *text = &problems->texts[problems->text_count];
    const char *json;

    for (size_t i = 0; i < problems->text_count; i++)
        base = problems->texts[i].base + problems->texts[i].written_length + 1;
    CV_DO(cv_sql_text_read(option, written, before, after, base, binder->arena, text, err));
    problems->text_count++;
    CV_TRY(parser->parse(parser->context, text->rewritten, binder->arena, &json, err), err, "%s",
           option);
    return cv_ast_read(json, text, binder->arena, ret_query, err);
}

/* A text that is a part of a query must not smuggle in the rest of one. */
static enum cv_code check_part(struct cv_binder *binder, const struct cv_ast_query *query,
                               bool where, const char *what, struct cv_error *err)
{
    const struct cv_ast_from *from = query->from;

    if (query->refused || query->cte_count || query->group_count || query->group_all ||
        query->having || query->distinct || query->order_count || query->order_all ||
        query->limit || query->offset || (!where && query->where) || !from ||
        from->kind != CV_AST_FROM_TABLE || from->alias || strcmp(from->name, "stream") != 0)
        cv_sql_problem(&binder->problems, CV_UNSUPPORTED,
                       binder->problems.texts[binder->problems.text_count - 1].base,
                       "only %s may stand here; a whole query is written in `sql:`", what);
    return cv_sql_problems_check(&binder->problems, err);
}

/* The items of a job without `select`: those of a compiled one. */
static const char *default_select(const struct cv_query_config *config)
{
    for (size_t i = 0; i < config->stream->root.field_count; i++) {
        const struct cv_field *column = &config->stream->root.fields[i];

        if (cv_text_equal_nocase(column->name, "value"))
            return config->value_open || column->type.kind == CV_TYPE_STRUCT ? "value.*" : "*";
    }
    return "*";
}

static enum cv_code parse_select(struct cv_binder *binder, const struct cv_sql_parser *parser,
                                 const struct cv_ast_query **ret_query, struct cv_error *err)
{
    const struct cv_query_config *config = binder->config;
    const struct cv_ast_query *items;
    const struct cv_ast_query *condition;
    struct cv_ast_query *query;

    CV_DO(parse(binder, parser, "select", config->select ? config->select : default_select(config),
                "SELECT ", "\nFROM stream", &items, err));
    CV_DO(check_part(binder, items, false, "columns and expressions", err));
    query = cv_arena_copy(binder->arena, items, sizeof *items);
    if (config->where) {
        CV_DO(parse(binder, parser, "where", config->where, "SELECT 1 FROM stream WHERE (", "\n)",
                    &condition, err));
        CV_DO(check_part(binder, condition, true, "a condition", err));
        query->where = condition->where;
    }
    *ret_query = query;
    return CV_OK;
}

/* Whether rows may be left out, so that their values must not fail before. */
static bool leaves_rows_out(const struct cv_ast_query *query);

static bool from_leaves_rows_out(const struct cv_ast_from *from)
{
    if (!from)
        return false;
    if (from->kind == CV_AST_FROM_QUERY)
        return leaves_rows_out(from->query);
    return from->kind == CV_AST_FROM_JOIN;
}

static bool leaves_rows_out(const struct cv_ast_query *query)
{
    if (query->where || from_leaves_rows_out(query->from))
        return true;
    for (size_t i = 0; i < query->cte_count; i++)
        if (leaves_rows_out(query->ctes[i].query))
            return true;
    return false;
}

/* --- watermark ------------------------------------------------------------------------------- */

/* `ts` for value.ts, as a column of the records would be called in Spark. */
static const struct cv_ast *below_value(struct cv_binder *binder, const struct cv_ast *ast)
{
    const struct cv_type *root = &binder->config->stream->root;
    struct cv_ast *longer;
    const char **names;

    if (ast->kind != CV_AST_COLUMN || cv_text_equal_nocase(ast->names[0], "stream"))
        return ast;
    for (size_t i = 0; i < root->field_count; i++)
        if (cv_text_equal_nocase(root->fields[i].name, ast->names[0]))
            return ast;
    longer = cv_arena_copy(binder->arena, ast, sizeof *ast);
    names = cv_arena_array(binder->arena, const char *, ast->name_count + 1);
    names[0] = "value";
    memcpy(names + 1, ast->names, ast->name_count * sizeof names[0]);
    longer->names = names;
    longer->name_count++;
    return longer;
}

static enum cv_code bind_watermark(struct cv_binder *binder, const struct cv_sql_parser *parser,
                                   struct cv_error *err)
{
    static const struct cv_type instant = {.kind = CV_TYPE_TIMESTAMPTZ};
    struct cv_bind_scope scope = {.binder = binder, .clause = "the watermark"};
    const struct cv_ast_query *query;
    const struct cv_expr *expr;
    struct cv_bind_input *input;
    char type[CV_TYPE_TEXT_BYTES];

    CV_DO(parse(binder, parser, "watermark", binder->config->watermark, "SELECT ", "\nFROM stream",
                &query, err));
    CV_DO(check_part(binder, query, false, "one expression", err));
    scope.relation = cv_bind_from(&scope, query->from);
    binder->stream_seen = false;
    expr = cv_bind_expr(&scope, below_value(binder, query->items[0]));
    if (!expr)
        return CV_OK;
    input = cv_bind_input_of(binder, expr);
    if (input && input->open)
        expr = cv_bind_cast(&scope, expr, &instant, false, query->items[0]->position);
    if (expr && expr->type.kind != CV_TYPE_TIMESTAMPTZ && expr->type.kind != CV_TYPE_TIMESTAMP) {
        cv_type_text(&expr->type, type);
        cv_sql_problem(&binder->problems, CV_SCHEMA, query->items[0]->position,
                       "the watermark has to be a timestamp, not %s: write a CAST", type);
    }
    if (expr && expr->frozen_time)
        cv_sql_problem(&binder->problems, CV_CONFIG, query->items[0]->position,
                       "the watermark cannot be made of the time of the batch");
    binder->event_time = expr;
    return CV_OK;
}

/* --- what a stream allows -------------------------------------------------------------------- */

static void check_append_groups(const struct cv_plan *plan)
{
    struct cv_binder *binder = plan->binder;
    const struct cv_bind_grouping *grouping = plan->select->relation->grouping;

    for (size_t i = 0; i < grouping->key_count; i++)
        if (cv_plan_is_event_time(plan, grouping->keys[i]))
            return;
    cv_sql_problem(&binder->problems, CV_UNSUPPORTED, plan->select->ast->position,
                   "outputMode append of an aggregation emits a group when no row can come to it "
                   "any more: %s, and GROUP BY that column or window() over it; or set outputMode: "
                   "complete",
                   binder->config->watermark ? "keep the watermark"
                                             : "set watermark: {column: …, delay: …}");
}

static void check_distinct(const struct cv_plan *plan)
{
    struct cv_binder *binder = plan->binder;

    if (plan->select->relation->grouping)
        cv_sql_problem(&binder->problems, CV_UNSUPPORTED, plan->select->ast->position,
                       "distinct: and an aggregation in one query are not supported");
    if (!binder->config->watermark)
        cv_sql_problem(&binder->problems, CV_CONFIG, plan->select->ast->position,
                       "distinct: needs a watermark, which tells how long keys are kept: set "
                       "watermark: {column: …, delay: …}");
}

static void check_stream(const struct cv_plan *plan)
{
    struct cv_binder *binder = plan->binder;
    const struct cv_ast_query *ast = plan->select->ast;
    const struct cv_bind_relation *relation = plan->select->relation;
    bool complete_groups = binder->config->complete && relation->grouping;
    const char *sorting = ast->order_count || ast->order_all ? "ORDER BY"
                          : ast->limit                       ? "LIMIT"
                                                             : NULL;

    if (!relation->stream)
        cv_sql_problem(&binder->problems, CV_CONFIG, ast->position,
                       "the query does not read the stream: FROM stream is missing");
    if (binder->config->complete && !relation->grouping)
        cv_sql_problem(&binder->problems, CV_UNSUPPORTED, ast->position,
                       "outputMode complete needs an aggregation: GROUP BY, or outputMode: append");
    if (sorting && !complete_groups)
        cv_sql_problem(&binder->problems, CV_UNSUPPORTED,
                       ast->order_count ? ast->orders[0].expr->position
                       : ast->limit     ? ast->limit->position
                                        : ast->position,
                       "%s is only possible over an aggregation in outputMode complete", sorting);
    if (relation->grouping && !binder->config->complete && !binder->config->distinct)
        check_append_groups(plan);
    if (binder->config->distinct)
        check_distinct(plan);
}

static enum cv_code plan_query(struct cv_binder *binder, const struct cv_bind_select *select,
                               struct cv_error *err)
{
    struct cv_plan plan = {.binder = binder, .select = select};

    if (binder->problems.count == 0)
        check_stream(&plan);
    cv_plan_outputs(&plan);
    CV_DO(cv_sql_problems_check(&binder->problems, err));
    if (binder->config->distinct)
        CV_DO(cv_plan_distinct(&plan, err));
    else if (select->relation->grouping)
        CV_DO(cv_plan_groups(&plan, err));
    else
        CV_DO(cv_plan_rows(&plan, err));
    return cv_plan_finish(&plan, err);
}

static enum cv_code compile(struct cv_binder *binder, const struct cv_sql_parser *parser,
                            struct cv_error *err)
{
    struct cv_bind_scope scope = {.binder = binder, .clause = "SELECT"};
    const struct cv_ast_query *ast;
    const struct cv_bind_select *select;

    if (binder->config->sql)
        CV_DO(parse(binder, parser, "sql", binder->config->sql, "", "", &ast, err));
    else
        CV_DO(parse_select(binder, parser, &ast, err));
    binder->lazy = leaves_rows_out(ast);
    if (binder->config->watermark)
        CV_DO(bind_watermark(binder, parser, err));
    select = cv_bind_query(&scope, ast, false);
    if (!select)
        return cv_sql_problems_check(&binder->problems, err);
    return plan_query(binder, select, err);
}

/* Names that our own SQL gives to views. */
static enum cv_code check_tables(const struct cv_query_config *config, struct cv_error *err)
{
    static const char *const taken[] = {"stream", "input", "groups"};

    for (size_t i = 0; i < config->table_count; i++)
        for (size_t j = 0; j < CV_ARRAY_LENGTH(taken); j++)
            if (cv_text_equal_nocase(config->tables[i].name, taken[j]))
                return cv_fail(err, CV_CONFIG, "tables: the name %s is taken: choose another",
                               config->tables[i].name);
    return CV_OK;
}

enum cv_code cv_query_compile_with(const struct cv_query_config *config,
                                   const struct cv_sql_parser *parser, struct cv_query **ret_query,
                                   struct cv_error *err)
{
    CV_CLEANUP(cv_query_freep) struct cv_query *query = cv_alloc(sizeof *query);
    struct cv_binder binder = {.config = config, .query = query, .arena = &query->arena};
    enum cv_code code;

    CV_DO(check_tables(config, err));
    query->natives = cv_natives_new();
    query->keyed.expiry_column = SIZE_MAX;
    binder.uses_table = cv_arena_array(&query->arena, bool, config->table_count + 1);
    code = compile(&binder, parser, err);
    cv_buf_release(&binder.problems.text);
    CV_DO(code);
    *ret_query = cv_steal(query);
    return CV_OK;
}

static enum cv_code duck_parse(void *context, const char *sql, struct cv_arena *arena,
                               const char **ret_json, struct cv_error *err)
{
    return cv_duck_text(context, "SELECT CAST(json_serialize_sql(CAST($1 AS VARCHAR)) AS VARCHAR)",
                        sql, arena, ret_json, err);
}

enum cv_code cv_query_compile(const struct cv_query_config *config,
                              struct cv_duck_connection *parser, struct cv_query **ret_query,
                              struct cv_error *err)
{
    const struct cv_sql_parser duck = {.parse = duck_parse, .context = parser};

    return cv_query_compile_with(config, &duck, ret_query, err);
}

void cv_query_free(struct cv_query *query)
{
    if (!query)
        return;
    cv_natives_free(query->natives);
    cv_arena_release(&query->arena);
    free(query);
}
