/* SPDX-License-Identifier: Apache-2.0
 *
 * One SELECT: items, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT. */
#include "sql/bind_int.h"

#define SUBEXPRESSION_BYTES_MAX ((size_t)1 << 18)
#define QUERIES_MAX             1000

struct select {
    struct cv_bind_scope scope; /* of the items */
    struct cv_bind_select *select;
    const struct cv_ast_query *ast;
    struct cv_bind_grouping *grouping;
};

/* --- items ----------------------------------------------------------------------------------- */

static void add_output(struct select *s, const struct cv_bind_output *output)
{
    struct cv_bind_select *select = s->select;

    if (select->output_count >= CV_FIELDS_MAX) {
        cv_sql_problem(&s->scope.binder->problems, CV_LIMIT, output->position,
                       "more than %d columns", CV_FIELDS_MAX);
        return;
    }
    cv_bind_append(s->scope.binder->arena, select->outputs, select->output_capacity,
                   select->output_count, *output);
}

static bool excluded(const struct cv_ast *star, const char *name)
{
    for (size_t i = 0; i < star->name_count; i++)
        if (cv_text_equal_nocase(star->names[i], name))
            return true;
    return false;
}

static void add_star_column(struct select *s, const struct cv_ast *star, const char *name,
                            const struct cv_expr *expr)
{
    struct cv_bind_output output = {
        .name = name, .expr = expr, .star = true, .position = star->position};

    if (!name || excluded(star, name))
        return;
    for (size_t i = 0; i < star->argument_count; i++)
        if (cv_text_equal_nocase(star->arguments[i]->alias, name))
            output.expr = cv_bind_expr(&s->scope, star->arguments[i]);
    add_output(s, &output);
}

/* value.*: the fields of a struct. JSON without a schema has those that the table asks for. */
static void star_of_struct(struct select *s, const struct cv_ast *star, const struct cv_expr *expr)
{
    struct cv_binder *binder = s->scope.binder;
    const struct cv_bind_input *input = cv_bind_input_of(binder, expr);
    bool open = input && input->path_length == 0 && binder->config->value_open &&
                cv_text_equal_nocase(star->name, "value");
    const struct cv_type *type = open ? &binder->config->sink->root : &expr->type;

    if (!open && type->kind != CV_TYPE_STRUCT) {
        cv_sql_problem(&binder->problems, CV_CONFIG, star->position, "%s.*: %s has no fields",
                       star->name, star->name);
        return;
    }
    for (size_t i = 0; i < type->field_count; i++)
        add_star_column(s, star, type->fields[i].name,
                        cv_bind_field(&s->scope, expr, type->fields[i].name, star->position));
}

static void expand_star(struct select *s, const struct cv_ast *star)
{
    const struct cv_bind_relation *relation = s->scope.relation;
    struct cv_ast name = {.kind = CV_AST_COLUMN, .position = star->position, .name_count = 1};
    size_t before = s->select->output_count;
    bool qualified = false;

    for (size_t i = 0; i < relation->column_count; i++) {
        const struct cv_bind_column *column = &relation->columns[i];
        bool mine =
            star->name && column->qualifier && cv_text_equal_nocase(column->qualifier, star->name);

        qualified = qualified || mine;
        if (mine || (!star->name && !column->merged))
            add_star_column(s, star, column->name, column->expr);
    }
    if (star->name && !qualified) {
        const struct cv_expr *expr;

        name.names = &star->name;
        expr = cv_bind_expr(&s->scope, &name);
        if (expr)
            star_of_struct(s, star, expr);
    } else if (s->select->output_count == before && star->name_count == 0 && !relation->broken) {
        cv_sql_problem(&s->scope.binder->problems, CV_CONFIG, star->position,
                       "* stands for no column: FROM stream is missing");
    }
}

/* The name that Spark gives an item without AS; NULL where its text would be the name. */
static const char *own_name(const struct cv_ast *ast)
{
    if (ast->alias)
        return ast->alias;
    if (ast->kind == CV_AST_COLUMN)
        return ast->names[ast->name_count - 1];
    if (ast->kind == CV_AST_CAST && ast->arguments[0]->kind == CV_AST_COLUMN)
        return own_name(ast->arguments[0]);
    if (ast->kind == CV_AST_CALL && strcmp(ast->name, "window") == 0)
        return "window";
    return NULL;
}

static void bind_items(struct select *s)
{
    for (size_t i = 0; i < s->ast->item_count; i++) {
        const struct cv_ast *item = s->ast->items[i];
        struct cv_bind_output output = {.name = own_name(item), .position = item->position};

        s->scope.aliases = s->select->outputs; /* an item may name those before it */
        s->scope.alias_count = s->select->output_count;
        if (item->kind == CV_AST_STAR) {
            expand_star(s, item);
            continue;
        }
        output.expr = cv_bind_expr(&s->scope, item);
        add_output(s, &output);
    }
}

/* A column of * gives way to an item of the same name, as in a compiled select. */
static void drop_shadowed(struct cv_bind_select *select)
{
    size_t kept = 0;

    for (size_t i = 0; i < select->output_count; i++) {
        const struct cv_bind_output *output = &select->outputs[i];
        bool shadowed = false;

        for (size_t j = 0; output->star && j < select->output_count; j++)
            shadowed = shadowed || (!select->outputs[j].star && select->outputs[j].name &&
                                    cv_text_equal_nocase(select->outputs[j].name, output->name));
        if (!shadowed)
            select->outputs[kept++] = *output;
    }
    select->output_count = kept;
}

/* --- GROUP BY -------------------------------------------------------------------------------- */

/* An item by its number from 1; NULL and noted when there is none. */
static const struct cv_bind_output *item_by_number(struct select *s, const struct cv_ast *ast,
                                                   const char *clause)
{
    if (ast->integer >= 1 && (uint64_t)ast->integer <= s->select->output_count)
        return &s->select->outputs[ast->integer - 1];
    cv_sql_problem(&s->scope.binder->problems, CV_CONFIG, ast->position,
                   "%s %lld: there are %zu columns", clause, (long long)ast->integer,
                   s->select->output_count);
    return NULL;
}

static bool is_number(const struct cv_ast *ast)
{
    return ast->kind == CV_AST_CONSTANT && ast->constant == CV_AST_INTEGER;
}

static void add_key(struct select *s, const struct cv_expr *expr, size_t position)
{
    struct cv_binder *binder = s->scope.binder;
    char type[CV_TYPE_TEXT_BYTES];

    if (!expr)
        return;
    if (expr->aggregate) {
        cv_sql_problem(&binder->problems, CV_CONFIG, position,
                       "an aggregate is not possible in GROUP BY");
    } else if (cv_type_is_nested(&expr->type) && !cv_bind_is_window(expr)) {
        cv_type_text(&expr->type, type);
        cv_sql_problem(&binder->problems, CV_UNSUPPORTED, position,
                       "GROUP BY a %s is not supported: name its fields", type);
    } else {
        cv_bind_add_key(binder, s->select->relation, s->grouping, expr);
    }
}

static void bind_keys(struct select *s)
{
    struct cv_bind_scope scope = s->scope;

    scope.grouping = NULL;
    scope.clause = "GROUP BY";
    scope.aliases = s->select->outputs;
    scope.alias_count = s->select->output_count;
    for (size_t i = 0; i < s->ast->group_count; i++) {
        const struct cv_ast *ast = s->ast->groups[i];
        const struct cv_bind_output *item;

        if (is_number(ast)) {
            item = item_by_number(s, ast, "GROUP BY");
            add_key(s, item ? item->expr : NULL, ast->position);
        } else {
            add_key(s, cv_bind_expr(&scope, ast), ast->position);
        }
    }
    if (!s->ast->group_all && !s->ast->distinct)
        return;
    for (size_t i = 0; i < s->select->output_count; i++) {
        const struct cv_bind_output *output = &s->select->outputs[i];

        if (output->expr && !output->expr->aggregate)
            add_key(s, output->expr, output->position);
    }
}

static void over_groups(struct select *s)
{
    for (size_t i = 0; i < s->select->output_count; i++) {
        struct cv_bind_output *output = &s->select->outputs[i];

        if (output->expr)
            output->expr = cv_bind_over_groups(&s->scope, output->expr, output->position);
    }
}

static bool is_aggregation(const struct select *s)
{
    return s->ast->group_count > 0 || s->ast->group_all || s->ast->having || s->ast->distinct ||
           s->grouping->aggregate_count > 0;
}

static void bind_having(struct select *s)
{
    struct cv_bind_scope scope = s->scope;
    struct cv_bind_relation *relation = s->select->relation;
    const struct cv_expr *condition;

    scope.clause = "HAVING";
    scope.conditional = true;
    scope.aliases = s->select->outputs;
    scope.alias_count = s->select->output_count;
    condition = cv_bind_condition(&scope, s->ast->having);
    if (condition)
        condition = cv_bind_over_groups(&scope, condition, s->ast->having->position);
    if (condition)
        cv_bind_append(scope.binder->arena, relation->havings, relation->having_capacity,
                       relation->having_count, condition);
}

/* Items, keys and HAVING; the relation is one of groups from then on. */
static void bind_groups(struct select *s)
{
    struct cv_sql_problems *problems = &s->scope.binder->problems;
    bool again = s->select->relation->grouping != NULL;

    if (again &&
        (s->ast->group_count > 0 || s->ast->group_all || s->ast->having || s->ast->distinct)) {
        cv_sql_problem(problems, CV_UNSUPPORTED, s->ast->position,
                       "more than one level of aggregation is not supported");
        return;
    }
    if (again || !is_aggregation(s))
        return;
    if (s->ast->distinct && (s->ast->group_count > 0 || s->grouping->aggregate_count > 0)) {
        cv_sql_problem(problems, CV_UNSUPPORTED, s->ast->position,
                       "DISTINCT of an aggregation is not supported");
        return;
    }
    bind_keys(s);
    over_groups(s);
    if (s->ast->having)
        bind_having(s);
    s->select->relation->grouping = s->grouping;
}

/* --- the rest -------------------------------------------------------------------------------- */

static void bind_where(struct select *s)
{
    struct cv_bind_scope scope = s->scope;
    struct cv_bind_relation *relation = s->select->relation;
    const struct cv_expr *condition;

    if (!s->ast->where)
        return;
    scope.grouping = NULL;
    scope.clause = "WHERE";
    condition = cv_bind_condition(&scope, s->ast->where);
    if (!condition)
        return;
    if (relation->grouping)
        cv_bind_append(scope.binder->arena, relation->havings, relation->having_capacity,
                       relation->having_count, condition);
    else
        cv_bind_add_condition(scope.binder, relation, condition);
}

static void bind_orders(struct select *s)
{
    struct cv_bind_scope scope = s->scope;
    size_t count = s->ast->order_count;

    scope.clause = "ORDER BY";
    scope.aliases = s->select->outputs;
    scope.alias_count = s->select->output_count;
    scope.aliases_first = true;
    s->select->orders = cv_arena_array(scope.binder->arena, const struct cv_expr *,
                                       s->ast->order_all ? s->select->output_count : count);
    for (size_t i = 0; s->ast->order_all && i < s->select->output_count; i++)
        s->select->orders[i] = s->select->outputs[i].expr;
    for (size_t i = 0; !s->ast->order_all && i < count; i++) {
        const struct cv_ast *ast = s->ast->orders[i].expr;
        const struct cv_bind_output *item =
            is_number(ast) ? item_by_number(s, ast, "ORDER BY") : NULL;
        const struct cv_expr *expr =
            is_number(ast) ? (item ? item->expr : NULL) : cv_bind_expr(&scope, ast);

        if (expr && scope.grouping)
            expr = cv_bind_over_groups(&scope, expr, ast->position);
        s->select->orders[i] = expr;
    }
}

static void bind_limit(struct select *s)
{
    struct cv_sql_problems *problems = &s->scope.binder->problems;

    s->select->limit = -1;
    if (s->ast->offset)
        cv_sql_problem(problems, CV_UNSUPPORTED, s->ast->offset->position,
                       "OFFSET is not supported over a stream");
    if (!s->ast->limit)
        return;
    if (is_number(s->ast->limit) && s->ast->limit->integer >= 0)
        s->select->limit = s->ast->limit->integer;
    else
        cv_sql_problem(problems, CV_UNSUPPORTED, s->ast->limit->position,
                       "LIMIT has to be a constant whole number");
}

/* Columns of derived tables are expressions that whoever selects from them repeats: a tower of
 * them must not grow without end. */
static void check_sizes(struct select *s)
{
    for (size_t i = 0; i < s->select->output_count; i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(SUBEXPRESSION_BYTES_MAX);
        struct cv_bind_output *output = &s->select->outputs[i];

        if (output->expr)
            cv_expr_write(output->expr, &sql);
        if (!sql.failed)
            continue;
        cv_sql_problem(&s->scope.binder->problems, CV_LIMIT, output->position,
                       "the expression, with all that it is made of, has become too long");
        output->expr = NULL;
    }
}

static void check_nested(struct select *s)
{
    struct cv_sql_problems *problems = &s->scope.binder->problems;

    if (s->ast->order_count > 0 || s->ast->order_all)
        cv_sql_problem(problems, CV_UNSUPPORTED, s->ast->position,
                       "ORDER BY is only supported at the end of the whole query");
    if (s->ast->limit || s->ast->offset)
        cv_sql_problem(problems, CV_UNSUPPORTED, s->ast->position,
                       "LIMIT is only supported at the end of the whole query");
}

static const struct cv_bind_cte *with_ctes(struct cv_bind_scope *scope,
                                           const struct cv_ast_query *ast)
{
    const struct cv_bind_cte *ctes = scope->ctes;

    for (size_t i = 0; i < ast->cte_count; i++) {
        struct cv_bind_cte *cte = cv_arena_new(scope->binder->arena, struct cv_bind_cte);

        cte->cte = &ast->ctes[i];
        cte->next = ctes;
        ctes = cte;
    }
    return ctes;
}

static void bind_clauses(struct select *s, bool nested)
{
    bind_where(s);
    if (s->select->relation->grouping)
        s->scope.grouping = NULL; /* aggregates of an aggregation are refused */
    bind_items(s);
    s->scope.alias_count = 0;
    drop_shadowed(s->select);
    check_sizes(s);
    bind_groups(s);
    if (!s->select->relation->grouping)
        s->scope.grouping = NULL;
    bind_limit(s);
    if (nested)
        check_nested(s);
    else
        bind_orders(s);
}

struct cv_bind_select *cv_bind_query(struct cv_bind_scope *scope, const struct cv_ast_query *ast,
                                     bool nested)
{
    struct cv_binder *binder = scope->binder;
    struct select s = {.scope = *scope, .ast = ast};

    if (ast->refused) {
        cv_sql_problem(&binder->problems, CV_UNSUPPORTED, ast->position, "%s: not supported",
                       ast->refused);
        return NULL;
    }
    if (binder->query_count++ == QUERIES_MAX)
        cv_sql_problem(&binder->problems, CV_LIMIT, ast->position,
                       "more than %d queries, each use of a WITH counted", QUERIES_MAX);
    if (binder->query_count > QUERIES_MAX)
        return NULL;
    if (binder->depth >= CV_AST_DEPTH_MAX) {
        cv_sql_problem(&binder->problems, CV_LIMIT, ast->position, "queries nested deeper than %d",
                       CV_AST_DEPTH_MAX);
        return NULL;
    }
    binder->depth++;
    s.select = cv_arena_new(binder->arena, struct cv_bind_select);
    s.select->ast = ast;
    s.grouping = cv_arena_new(binder->arena, struct cv_bind_grouping);
    s.scope.clause = "SELECT";
    s.scope.ctes = with_ctes(scope, ast);
    s.scope.relation = s.select->relation = cv_bind_from(&s.scope, ast->from);
    s.scope.grouping = s.grouping;
    for (size_t i = 0; i < ast->group_count; i++)
        if (ast->groups[i]->kind == CV_AST_CALL && strcmp(ast->groups[i]->name, "window") == 0)
            s.scope.window = ast->groups[i];
    bind_clauses(&s, nested);
    binder->depth--;
    return s.select;
}
