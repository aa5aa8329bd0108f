/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries and FROM of DuckDB's tree. */
#include "sql/ast_int.h"

static enum cv_code read_from(struct cv_ast_reader *reader, const struct cv_json *json,
                              size_t around, const struct cv_ast_from **ret_from,
                              struct cv_error *err);

static void refuse_from(struct cv_ast_from *from, const char *what)
{
    from->kind = CV_AST_FROM_REFUSED;
    from->name = what;
}

static void read_table(struct cv_ast_reader *reader, const struct cv_json *json,
                       struct cv_ast_from *from)
{
    const struct cv_json *at = cv_json_get(json, "at_clause");

    from->kind = CV_AST_FROM_TABLE;
    from->name = cv_ast_word(reader, json, "table_name");
    if (cv_ast_word(reader, json, "schema_name") || !from->name)
        refuse_from(from, "a table with a dot in its name (name it in `tables:`)");
    if (at && !cv_json_is_null(at))
        refuse_from(from, "AT (a table as of a time: set it in `tables:`)");
}

static const struct {
    const char *type;
    enum cv_ast_join join;
} joins[] = {
    {"INNER", CV_AST_INNER},
    {"LEFT", CV_AST_LEFT},
    {"SEMI", CV_AST_SEMI},
    {"ANTI", CV_AST_ANTI},
};

static enum cv_code read_join(struct cv_ast_reader *reader, const struct cv_json *json,
                              struct cv_ast_from *from, struct cv_error *err)
{
    const char *type = cv_json_text(cv_json_get(json, "join_type"));
    const char *reference = cv_json_text(cv_json_get(json, "ref_type"));
    bool known = false;

    from->kind = CV_AST_FROM_JOIN;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(joins); i++) {
        if (strcmp(type, joins[i].type) == 0) {
            from->join = joins[i].join;
            known = true;
        }
    }
    CV_DO(read_from(reader, cv_json_get(json, "left"), from->position, &from->left, err));
    CV_DO(read_from(reader, cv_json_get(json, "right"), from->position, &from->right, err));
    CV_DO(cv_ast_read_expr(reader, cv_json_get(json, "condition"), from->position, &from->condition,
                           err));
    from->using_names = cv_ast_names(reader, json, "using_columns", &from->using_count);
    if (strcmp(reference, "REGULAR") != 0 && strcmp(reference, "CROSS") != 0)
        refuse_from(from,
                    cv_arena_printf(reader->arena, "a %s join (write ON or USING)", reference));
    else if (!known)
        refuse_from(from, cv_arena_printf(reader->arena, "a %s join", type));
    return CV_OK;
}

static enum cv_code read_from_node(struct cv_ast_reader *reader, const struct cv_json *json,
                                   struct cv_ast_from *from, struct cv_error *err)
{
    const char *type = cv_json_text(cv_json_get(json, "type"));
    const struct cv_json *sample = cv_json_get(json, "sample");

    if (sample && !cv_json_is_null(sample)) {
        refuse_from(from, "SAMPLE");
    } else if (strcmp(type, "EMPTY") == 0) {
        from->kind = CV_AST_FROM_NONE;
    } else if (strcmp(type, "BASE_TABLE") == 0) {
        read_table(reader, json, from);
    } else if (strcmp(type, "JOIN") == 0) {
        return read_join(reader, json, from, err);
    } else if (strcmp(type, "SUBQUERY") == 0) {
        from->kind = CV_AST_FROM_QUERY;
        return cv_ast_read_query(reader, cv_json_get(cv_json_get(json, "subquery"), "node"),
                                 from->position, &from->query, err);
    } else if (strcmp(type, "TABLE_FUNCTION") == 0) {
        refuse_from(from, "a function as a table (files are named in `tables:`)");
    } else if (strcmp(type, "EXPRESSION_LIST") == 0) {
        refuse_from(from, "VALUES");
    } else {
        refuse_from(from, cv_arena_printf(reader->arena, "%s in FROM", type));
    }
    return CV_OK;
}

static enum cv_code read_from(struct cv_ast_reader *reader, const struct cv_json *json,
                              size_t around, const struct cv_ast_from **ret_from,
                              struct cv_error *err)
{
    struct cv_ast_from *from = cv_arena_new(reader->arena, struct cv_ast_from);

    if (reader->depth >= CV_AST_DEPTH_MAX)
        return cv_ast_fail(reader, around, CV_LIMIT, err, "nested deeper than %d",
                           CV_AST_DEPTH_MAX);
    from->position = cv_ast_position(reader, json, around);
    from->alias = cv_ast_word(reader, json, "alias");
    from->column_names = cv_ast_names(reader, json, "column_name_alias", &from->column_count);
    reader->depth++;
    CV_DO(read_from_node(reader, json, from, err));
    reader->depth--;
    *ret_from = from;
    return CV_OK;
}

static enum cv_code read_ctes(struct cv_ast_reader *reader, const struct cv_json *node,
                              struct cv_ast_query *query, struct cv_error *err)
{
    const struct cv_json *map = cv_json_get(cv_json_get(node, "cte_map"), "map");
    size_t count = cv_json_is_array(map) ? cv_json_size(map) : 0;
    struct cv_ast_cte *ctes = cv_arena_array(reader->arena, struct cv_ast_cte, count);

    for (size_t i = 0; i < count; i++) {
        const struct cv_json *entry = cv_json_at(map, i);
        const struct cv_json *value = cv_json_get(entry, "value");

        ctes[i].name = cv_arena_strdup(reader->arena, cv_json_text(cv_json_get(entry, "key")));
        ctes[i].column_names = cv_ast_names(reader, value, "aliases", &ctes[i].column_count);
        CV_DO(cv_ast_read_query(reader, cv_json_get(cv_json_get(value, "query"), "node"),
                                query->position, &ctes[i].query, err));
    }
    query->ctes = ctes;
    query->cte_count = count;
    return CV_OK;
}

static enum cv_code read_orders(struct cv_ast_reader *reader, const struct cv_json *modifier,
                                struct cv_ast_query *query, struct cv_error *err)
{
    const struct cv_json *orders = cv_json_get(modifier, "orders");
    size_t count = cv_json_is_array(orders) ? cv_json_size(orders) : 0;
    struct cv_ast_order *list = cv_arena_array(reader->arena, struct cv_ast_order, count);

    for (size_t i = 0; i < count; i++) {
        const struct cv_json *order = cv_json_at(orders, i);
        const struct cv_json *expression = cv_json_get(order, "expression");
        const char *nulls = cv_json_text(cv_json_get(order, "null_order"));

        list[i].descending = strcmp(cv_json_text(cv_json_get(order, "type")), "DESCENDING") == 0;
        list[i].nulls_first = strcmp(nulls, "NULLS FIRST") == 0  ? 1
                              : strcmp(nulls, "NULLS LAST") == 0 ? 0
                                                                 : -1;
        if (strcmp(cv_json_text(cv_json_get(expression, "class")), "STAR") == 0) {
            query->order_all = true;
            return CV_OK;
        }
        CV_DO(cv_ast_read_expr(reader, expression, query->position, &list[i].expr, err));
        if (!list[i].expr)
            return cv_ast_fail(reader, query->position, CV_FORMAT, err, "ORDER BY nothing");
    }
    query->orders = list;
    query->order_count = count;
    return CV_OK;
}

static enum cv_code read_modifiers(struct cv_ast_reader *reader, const struct cv_json *node,
                                   struct cv_ast_query *query, struct cv_error *err)
{
    const struct cv_json *modifiers = cv_json_get(node, "modifiers");
    size_t count = cv_json_is_array(modifiers) ? cv_json_size(modifiers) : 0;

    for (size_t i = 0; i < count; i++) {
        const struct cv_json *modifier = cv_json_at(modifiers, i);
        const char *type = cv_json_text(cv_json_get(modifier, "type"));

        if (strcmp(type, "ORDER_MODIFIER") == 0) {
            CV_DO(read_orders(reader, modifier, query, err));
        } else if (strcmp(type, "DISTINCT_MODIFIER") == 0) {
            query->distinct = true;
            if (cv_json_size(cv_json_get(modifier, "distinct_on_targets")) > 0)
                query->refused = "DISTINCT ON";
        } else if (strcmp(type, "LIMIT_MODIFIER") == 0) {
            CV_DO(cv_ast_read_expr(reader, cv_json_get(modifier, "limit"), query->position,
                                   &query->limit, err));
            CV_DO(cv_ast_read_expr(reader, cv_json_get(modifier, "offset"), query->position,
                                   &query->offset, err));
        } else {
            query->refused = "LIMIT with %";
        }
    }
    return CV_OK;
}

static enum cv_code read_groups(struct cv_ast_reader *reader, const struct cv_json *node,
                                struct cv_ast_query *query, struct cv_error *err)
{
    const struct cv_json *sets = cv_json_get(node, "group_sets");
    size_t set_count = cv_json_is_array(sets) ? cv_json_size(sets) : 0;
    size_t in_set = cv_json_size(cv_json_at(sets, 0));

    CV_DO(cv_ast_read_exprs(reader, cv_json_get(node, "group_expressions"), query->position,
                            &query->groups, &query->group_count, err));
    query->group_all =
        strcmp(cv_json_text(cv_json_get(node, "aggregate_handling")), "FORCE_AGGREGATES") == 0;
    if (set_count > 1 || (set_count == 1 && in_set != query->group_count) ||
        (set_count == 1 && in_set == 0))
        query->refused = "GROUPING SETS, ROLLUP and CUBE";
    return CV_OK;
}

static enum cv_code read_select(struct cv_ast_reader *reader, const struct cv_json *node,
                                struct cv_ast_query *query, struct cv_error *err)
{
    const struct cv_json *qualify = cv_json_get(node, "qualify");
    const struct cv_json *sample = cv_json_get(node, "sample");

    CV_DO(read_ctes(reader, node, query, err));
    CV_DO(cv_ast_read_exprs(reader, cv_json_get(node, "select_list"), query->position,
                            &query->items, &query->item_count, err));
    CV_DO(read_from(reader, cv_json_get(node, "from_table"), query->position, &query->from, err));
    CV_DO(cv_ast_read_expr(reader, cv_json_get(node, "where_clause"), query->position,
                           &query->where, err));
    CV_DO(read_groups(reader, node, query, err));
    CV_DO(cv_ast_read_expr(reader, cv_json_get(node, "having"), query->position, &query->having,
                           err));
    CV_DO(read_modifiers(reader, node, query, err));
    if (qualify && !cv_json_is_null(qualify))
        query->refused = "QUALIFY";
    if (sample && !cv_json_is_null(sample))
        query->refused = "SAMPLE";
    if (query->item_count > 0)
        query->position = query->items[0]->position;
    return CV_OK;
}

enum cv_code cv_ast_read_query(struct cv_ast_reader *reader, const struct cv_json *node,
                               size_t around, const struct cv_ast_query **ret_query,
                               struct cv_error *err)
{
    struct cv_ast_query *query = cv_arena_new(reader->arena, struct cv_ast_query);
    const char *type = cv_json_text(cv_json_get(node, "type"));

    if (reader->depth >= CV_AST_DEPTH_MAX)
        return cv_ast_fail(reader, around, CV_LIMIT, err, "nested deeper than %d",
                           CV_AST_DEPTH_MAX);
    query->position = around;
    reader->depth++;
    if (strcmp(type, "SELECT_NODE") == 0)
        CV_DO(read_select(reader, node, query, err));
    else if (strcmp(type, "SET_OPERATION_NODE") == 0)
        query->refused = "UNION, EXCEPT and INTERSECT";
    else if (strcmp(type, "RECURSIVE_CTE_NODE") == 0)
        query->refused = "a recursive WITH";
    else
        query->refused = "this kind of query";
    reader->depth--;
    *ret_query = query;
    return CV_OK;
}
