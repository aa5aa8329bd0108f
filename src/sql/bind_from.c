/* SPDX-License-Identifier: Apache-2.0
 *
 * FROM: the stream, static tables, derived tables, WITH, and joins of the stream with static
 * tables. */
#include "sql/bind_int.h"

static struct cv_bind_relation *bind_from(struct cv_bind_scope *scope,
                                          const struct cv_ast_from *from);

void cv_bind_add_condition(struct cv_binder *binder, struct cv_bind_relation *relation,
                           const struct cv_expr *condition)
{
    cv_bind_append(binder->arena, relation->conditions, relation->condition_capacity,
                   relation->condition_count, condition);
}

static struct cv_bind_relation *new_relation(struct cv_bind_scope *scope)
{
    return cv_arena_new(scope->binder->arena, struct cv_bind_relation);
}

static struct cv_bind_relation *broken_relation(struct cv_bind_scope *scope)
{
    struct cv_bind_relation *relation = new_relation(scope);

    relation->broken = true;
    return relation;
}

/* --- tables ---------------------------------------------------------------------------------- */

static void add_stream(struct cv_bind_scope *scope, const struct cv_ast_from *from,
                       struct cv_bind_relation *relation)
{
    struct cv_binder *binder = scope->binder;
    const struct cv_type *root = &binder->config->stream->root;

    if (binder->stream_seen)
        cv_sql_problem(&binder->problems, CV_UNSUPPORTED, from->position,
                       "the stream stands in FROM twice: joins of two streams are not supported");
    binder->stream_seen = true;
    relation->stream = true;
    for (size_t i = 0; i < root->field_count; i++) {
        struct cv_bind_input input = {.column = i,
                                      .required = root->fields[i].required,
                                      .type = root->fields[i].type,
                                      .text = root->fields[i].name};
        struct cv_bind_column column = {.qualifier = from->alias ? from->alias : from->name,
                                        .name = root->fields[i].name,
                                        .expr = cv_bind_input(binder, &input)};

        cv_bind_add_column(binder, relation, &column);
    }
}

static struct cv_expr *table_column(struct cv_binder *binder, const char *alias, const char *name,
                                    const struct cv_type *type)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);
    struct cv_expr *expr = cv_arena_new(binder->arena, struct cv_expr);

    cv_buf_printf(&sql, "%s.", alias);
    cv_sql_write_name(&sql, name);
    expr->kind = CV_EXPR_COLUMN;
    expr->type = *type;
    expr->position = CV_SQL_NO_POSITION;
    expr->sql = cv_arena_strdup(binder->arena, cv_buf_text(&sql));
    expr->input = SIZE_MAX;
    return expr;
}

static const char *new_alias(struct cv_binder *binder)
{
    return cv_arena_printf(binder->arena, "t%zu", binder->alias_count++);
}

static void add_table(struct cv_bind_scope *scope, const struct cv_ast_from *from, size_t index,
                      struct cv_bind_relation *relation)
{
    struct cv_binder *binder = scope->binder;
    const struct cv_query_table *table = &binder->config->tables[index];

    binder->uses_table[index] = true;
    relation->plain = true;
    relation->table = table->name;
    relation->alias = new_alias(binder);
    for (size_t i = 0; i < table->schema->root.field_count; i++) {
        const struct cv_field *field = &table->schema->root.fields[i];
        struct cv_bind_column column = {
            .qualifier = from->alias ? from->alias : from->name,
            .name = field->name,
            .expr = table_column(binder, relation->alias, field->name, &field->type)};

        cv_bind_add_column(binder, relation, &column);
    }
}

static void unknown_table(struct cv_bind_scope *scope, const struct cv_ast_from *from)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf names = CV_BUF_INIT(0);
    const struct cv_query_config *config = scope->binder->config;

    for (size_t i = 0; i < config->table_count; i++)
        cv_buf_printf(&names, ", %s", config->tables[i].name);
    cv_sql_problem(&scope->binder->problems, CV_CONFIG, from->position,
                   "there is no table %s; there are stream%s", from->name, cv_buf_text(&names));
}

/* alias(a, b, …): other names for the columns from the left. */
static void rename_columns(struct cv_bind_scope *scope, struct cv_bind_relation *relation,
                           const char *const *names, size_t count, size_t position)
{
    if (count > relation->column_count)
        cv_sql_problem(&scope->binder->problems, CV_CONFIG, position,
                       "%zu column names for %zu columns", count, relation->column_count);
    for (size_t i = 0; i < CV_MIN(count, relation->column_count); i++)
        relation->columns[i].name = names[i];
}

/* A query in FROM: its relation goes on, with the items as columns. */
static struct cv_bind_relation *derived(struct cv_bind_scope *scope,
                                        const struct cv_ast_query *query, const char *qualifier,
                                        const struct cv_bind_cte *ctes)
{
    struct cv_bind_scope inner = {.binder = scope->binder, .ctes = ctes, .clause = "SELECT"};
    struct cv_bind_select *select = cv_bind_query(&inner, query, true);
    struct cv_bind_relation *relation;

    if (!select)
        return broken_relation(scope);
    relation = select->relation;
    relation->plain = false;
    relation->columns = NULL;
    relation->column_count = relation->column_capacity = 0;
    for (size_t i = 0; i < select->output_count; i++) {
        struct cv_bind_column column = {.qualifier = qualifier,
                                        .name = select->outputs[i].name,
                                        .expr = select->outputs[i].expr};

        if (!column.expr)
            column.expr = cv_expr_constant_null(scope->binder->arena, NULL);
        cv_bind_add_column(scope->binder, relation, &column);
    }
    return relation;
}

static struct cv_bind_relation *from_table(struct cv_bind_scope *scope,
                                           const struct cv_ast_from *from)
{
    const struct cv_query_config *config = scope->binder->config;
    struct cv_bind_relation *relation;

    for (const struct cv_bind_cte *cte = scope->ctes; cte; cte = cte->next) {
        if (!cv_text_equal_nocase(cte->cte->name, from->name))
            continue;
        relation =
            derived(scope, cte->cte->query, from->alias ? from->alias : from->name, cte->next);
        rename_columns(scope, relation, cte->cte->column_names, cte->cte->column_count,
                       from->position);
        return relation;
    }
    relation = new_relation(scope);
    if (cv_text_equal_nocase(from->name, "stream")) {
        add_stream(scope, from, relation);
        return relation;
    }
    for (size_t i = 0; i < config->table_count; i++) {
        if (cv_text_equal_nocase(config->tables[i].name, from->name)) {
            add_table(scope, from, i, relation);
            return relation;
        }
    }
    unknown_table(scope, from);
    return broken_relation(scope);
}

/* --- joins ----------------------------------------------------------------------------------- */

static void add_columns(struct cv_bind_scope *scope, struct cv_bind_relation *to,
                        const struct cv_bind_relation *from)
{
    for (size_t i = 0; i < from->column_count; i++)
        cv_bind_add_column(scope->binder, to, &from->columns[i]);
}

/* The joined side under an alias: one table as it is, anything else as a query of its own, whose
 * columns are then that query's. */
static void joined_side(struct cv_bind_scope *scope, struct cv_bind_relation *side,
                        struct cv_bind_join *join)
{
    struct cv_bind_relation *query;

    if (side->plain && !side->grouping) {
        join->table = side->table;
        join->alias = side->alias;
        return;
    }
    query = new_relation(scope);
    *query = *side;
    side->columns = NULL;
    side->column_count = side->column_capacity = 0;
    join->query = query;
    join->alias = new_alias(scope->binder);
    for (size_t i = 0; i < query->column_count; i++) {
        struct cv_bind_column column = query->columns[i];

        column.expr = table_column(scope->binder, join->alias,
                                   cv_arena_printf(scope->binder->arena, "c%zu", i),
                                   &query->columns[i].expr->type);
        cv_bind_add_column(scope->binder, side, &column);
    }
}

static const struct cv_bind_column *find_plain(const struct cv_bind_column *columns, size_t count,
                                               const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (columns[i].name && !columns[i].merged && cv_text_equal_nocase(columns[i].name, name))
            return &columns[i];
    return NULL;
}

/* USING (a, b): equal columns of both sides, named once. `left` columns come first. */
static const struct cv_expr *using_condition(struct cv_bind_scope *scope,
                                             const struct cv_ast_from *from,
                                             struct cv_bind_relation *all, size_t left)
{
    const struct cv_expr **equal =
        cv_arena_array(scope->binder->arena, const struct cv_expr *, from->using_count);

    for (size_t i = 0; i < from->using_count; i++) {
        const char *name = from->using_names[i];
        const struct cv_bind_column *a = find_plain(all->columns, left, name);
        const struct cv_bind_column *b =
            find_plain(all->columns + left, all->column_count - left, name);
        const struct cv_expr *both[2];

        if (!a || !b) {
            cv_sql_problem(&scope->binder->problems, CV_CONFIG, from->position,
                           "USING: column %s is not on both sides", name);
            return NULL;
        }
        both[0] = a->expr;
        both[1] = b->expr;
        equal[i] = cv_bind_call(scope, "=", both, 2, from->position);
        if (!equal[i])
            return NULL;
        all->columns[b - all->columns].merged = true;
    }
    if (from->using_count == 1)
        return equal[0];
    return cv_bind_call(scope, "and", equal, from->using_count, from->position);
}

static bool check_sides(struct cv_bind_scope *scope, const struct cv_ast_from *from,
                        const struct cv_bind_relation *left, const struct cv_bind_relation *right)
{
    struct cv_sql_problems *problems = &scope->binder->problems;

    if (left->stream && right->stream)
        return false; /* noted where the stream came a second time */
    if ((left->grouping && left->stream) || (right->grouping && right->stream)) {
        cv_sql_problem(problems, CV_UNSUPPORTED, from->position,
                       "a join after an aggregation is not supported: join first");
        return false;
    }
    if (left->grouping && !right->stream) {
        cv_sql_problem(problems, CV_UNSUPPORTED, from->position,
                       "an aggregation has to stand on the right of this join");
        return false;
    }
    if (right->stream && from->join != CV_AST_INNER) {
        cv_sql_problem(problems, CV_UNSUPPORTED, from->position,
                       "the stream has to stand on the left of this join");
        return false;
    }
    return true;
}

static void join_relations(struct cv_bind_scope *scope, const struct cv_ast_from *from,
                           struct cv_bind_relation *all, size_t left_count)
{
    struct cv_bind_join *join = &all->joins[all->join_count - 1];
    struct cv_bind_scope inner = {.binder = scope->binder,
                                  .relation = all,
                                  .outer = scope->outer,
                                  .clause = "ON",
                                  .conditional = true,
                                  .ctes = scope->ctes};

    if (from->condition)
        join->on = cv_bind_condition(&inner, from->condition);
    else if (from->using_count > 0)
        join->on = using_condition(&inner, from, all, left_count);
    if (from->join == CV_AST_SEMI || from->join == CV_AST_ANTI)
        all->column_count = left_count;
}

static struct cv_bind_relation *from_join(struct cv_bind_scope *scope,
                                          const struct cv_ast_from *from)
{
    struct cv_bind_relation *left = bind_from(scope, from->left);
    struct cv_bind_relation *right = bind_from(scope, from->right);
    struct cv_bind_relation *base = right->stream ? right : left;
    struct cv_bind_relation *other = right->stream ? left : right;
    struct cv_bind_relation *all = new_relation(scope);
    struct cv_bind_join join = {.kind = from->join};
    size_t left_count;

    if (!check_sides(scope, from, left, right))
        return broken_relation(scope);
    joined_side(scope, other, &join);
    *all = *base;
    all->broken = left->broken || right->broken;
    all->plain = false;
    all->columns = NULL;
    all->column_count = all->column_capacity = 0;
    add_columns(scope, all, left);
    left_count = all->column_count;
    add_columns(scope, all, right);
    cv_bind_append(scope->binder->arena, all->joins, all->join_capacity, all->join_count, join);
    join_relations(scope, from, all, left_count);
    return all;
}

static struct cv_bind_relation *bind_from(struct cv_bind_scope *scope,
                                          const struct cv_ast_from *from)
{
    struct cv_bind_relation *relation;

    switch (from->kind) {
    case CV_AST_FROM_TABLE:
        relation = from_table(scope, from);
        break;
    case CV_AST_FROM_QUERY:
        relation = derived(scope, from->query, from->alias, scope->ctes);
        break;
    case CV_AST_FROM_JOIN:
        return from_join(scope, from);
    case CV_AST_FROM_REFUSED:
        cv_sql_problem(&scope->binder->problems, CV_UNSUPPORTED, from->position,
                       "%s is not supported", from->name);
        return broken_relation(scope);
    default:
        return new_relation(scope);
    }
    rename_columns(scope, relation, from->column_names, from->column_count, from->position);
    return relation;
}

struct cv_bind_relation *cv_bind_from(struct cv_bind_scope *scope, const struct cv_ast_from *from)
{
    return bind_from(scope, from);
}

/* --- subqueries ------------------------------------------------------------------------------ */

/* The tables of a subquery as a template's text; what its joins compare is added to the arguments,
 * so that whoever looks for columns finds them. */
static const char *subquery_sql(struct cv_bind_scope *scope, const struct cv_bind_relation *inner,
                                bool in)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf tables = CV_BUF_INIT(0);
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);

    cv_sql_write_tables(inner, &tables);
    cv_buf_append_text(&sql, in ? "($1 IN (SELECT $2" : "EXISTS (SELECT 1");
    for (const char *p = cv_buf_text(&tables); *p; p++)
        cv_buf_append_text(&sql, *p == '$' ? "$$" : (char[]){*p, '\0'});
    for (size_t i = 0; i < inner->condition_count; i++)
        cv_buf_printf(&sql, "%s($%zu)", i ? " AND " : " WHERE ", i + 1 + (in ? 2u : 0u));
    cv_buf_append_text(&sql, in ? "))" : ")");
    return cv_arena_strdup(scope->binder->arena, cv_buf_text(&sql));
}

/* Both sides of IN with one type. */
static bool common_types(struct cv_bind_scope *scope, const struct cv_expr *pair[2],
                         size_t position)
{
    char texts[2][CV_TYPE_TEXT_BYTES];
    struct cv_type type;

    if (!cv_type_common(&pair[0]->type, &pair[1]->type, &type)) {
        cv_type_text(&pair[0]->type, texts[0]);
        cv_type_text(&pair[1]->type, texts[1]);
        cv_sql_problem(&scope->binder->problems, CV_SCHEMA, position,
                       "IN compares %s with %s: write a CAST", texts[0], texts[1]);
        return false;
    }
    for (size_t i = 0; i < 2; i++)
        if (!(pair[i] = cv_bind_cast(scope, pair[i], &type, false, position)))
            return false;
    return true;
}

const struct cv_expr *cv_bind_subquery(struct cv_bind_scope *scope, const struct cv_ast *ast)
{
    static const struct cv_type boolean = {.kind = CV_TYPE_BOOLEAN};
    struct cv_binder *binder = scope->binder;
    struct cv_bind_scope inner = {.binder = binder,
                                  .outer = scope,
                                  .clause = "a subquery",
                                  .conditional = true,
                                  .ctes = scope->ctes};
    struct cv_bind_select *select = cv_bind_query(&inner, ast->query, true);
    const struct cv_bind_relation *from = select ? select->relation : NULL;
    bool in = ast->argument_count > 0;
    const struct cv_expr *child = in ? cv_bind_expr(scope, ast->arguments[0]) : NULL;
    const struct cv_expr **arguments;
    size_t count = 0;

    if (!select || (in && !child))
        return NULL;
    if (from->stream || from->grouping || (in && select->output_count != 1)) {
        cv_sql_problem(&binder->problems, CV_UNSUPPORTED, ast->position, "%s",
                       from->stream     ? "a subquery may only read static tables"
                       : from->grouping ? "a subquery with an aggregation is not supported"
                                        : "IN wants one column of the subquery");
        return NULL;
    }
    arguments = cv_arena_array(binder->arena, const struct cv_expr *,
                               2 + from->condition_count + from->join_count);
    if (in) {
        arguments[0] = child;
        arguments[1] = select->outputs[0].expr;
        if (!arguments[1] || !common_types(scope, arguments, ast->position))
            return NULL;
        count = 2;
    }
    for (size_t i = 0; i < from->condition_count; i++)
        arguments[count++] = from->conditions[i];
    for (size_t i = 0; i < from->join_count; i++)
        if (from->joins[i].on)
            arguments[count++] = from->joins[i].on;
    return cv_expr_call(binder->arena, subquery_sql(scope, from, in), &boolean, arguments, count,
                        ast->position);
}
