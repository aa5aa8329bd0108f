/* SPDX-License-Identifier: Apache-2.0
 *
 * Aggregations: keys and parts of aggregates for the state, and the query over the merged groups.
 */
#include "sql/plan_int.h"

/* Keys with the event time in front, so that what the watermark closes leads the order. */
static size_t add_keys(struct cv_plan *plan, struct cv_plan_columns *columns,
                       size_t *ret_event_time)
{
    const struct cv_bind_grouping *grouping = plan->select->relation->grouping;
    size_t first = SIZE_MAX;

    for (size_t i = 0; i < grouping->key_count && first == SIZE_MAX; i++)
        if (cv_plan_is_event_time(plan, grouping->keys[i]))
            first = i;
    *ret_event_time = first;
    for (size_t i = 0; i < grouping->key_count; i++) {
        size_t key = first == SIZE_MAX || i > first ? i : i == 0 ? first : i - 1;

        cv_plan_add(plan, columns, grouping->key_columns[key]->sql + 2, grouping->keys[key],
                    CV_MERGE_FIRST);
    }
    return columns->count;
}

/* All rows are one group: a key that says so. */
static void add_only_key(struct cv_plan *plan, struct cv_plan_columns *columns)
{
    struct cv_expr *one = cv_arena_new(plan->binder->arena, struct cv_expr);

    one->kind = CV_EXPR_CONSTANT;
    one->type.kind = CV_TYPE_INT;
    one->sql = "1";
    one->input = SIZE_MAX;
    cv_plan_add(plan, columns, "k0", one, CV_MERGE_FIRST);
}

static void add_parts(struct cv_plan *plan, struct cv_plan_columns *columns)
{
    const struct cv_bind_grouping *grouping = plan->select->relation->grouping;
    struct cv_arena *arena = plan->binder->arena;

    for (size_t i = 0; i < grouping->aggregate_count; i++) {
        const struct cv_bind_aggregate *aggregate = &grouping->aggregates[i];

        for (size_t j = 0; j < aggregate->aggregate.part_count; j++)
            cv_plan_add(plan, columns, cv_arena_printf(arena, "p%zu", aggregate->first_part + j),
                        aggregate->parts[j], (enum cv_merge)aggregate->aggregate.parts[j].merge);
    }
}

static enum cv_code rows_query(struct cv_plan *plan, const struct cv_plan_columns *columns,
                               size_t key_count, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(CV_SQL_PLAN_BYTES_MAX);
    const struct cv_bind_relation *relation = plan->select->relation;

    cv_plan_write_columns(columns, &sql);
    cv_sql_write_from(relation, &sql);
    if (relation->grouping->key_count > 0) {
        cv_buf_append_text(&sql, " GROUP BY ");
        for (size_t i = 0; i < key_count; i++)
            cv_buf_printf(&sql, "%s%zu", i ? ", " : "", i + 1);
    }
    return cv_plan_text(plan, &sql, &plan->binder->query->rows_sql, err);
}

static void write_orders(const struct cv_bind_select *select, struct cv_buf *out)
{
    size_t count = select->ast->order_all ? select->output_count : select->ast->order_count;
    const char *word = " ORDER BY ";

    for (size_t i = 0; i < count; i++) {
        const struct cv_ast_order *order = select->ast->order_all ? NULL : &select->ast->orders[i];
        bool descending = order && order->descending;
        bool nulls_first = order && order->nulls_first >= 0 ? order->nulls_first == 1 : !descending;

        if (!select->orders[i])
            continue;
        cv_buf_append_text(out, word);
        cv_buf_append_byte(out, '(');
        cv_expr_write(select->orders[i], out);
        cv_buf_printf(out, ")%s NULLS %s", descending ? " DESC" : " ASC",
                      nulls_first ? "FIRST" : "LAST");
        word = ", ";
    }
}

static enum cv_code final_query(struct cv_plan *plan, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(CV_SQL_PLAN_BYTES_MAX);
    const struct cv_bind_select *select = plan->select;
    const struct cv_bind_relation *relation = select->relation;
    const struct cv_type *root = &plan->binder->config->sink->root;
    struct cv_query *query = plan->binder->query;
    struct cv_plan_columns columns = {0};

    for (size_t i = 0; i < root->field_count; i++)
        cv_plan_add(plan, &columns, root->fields[i].name, plan->columns[i], CV_MERGE_FIRST);
    cv_plan_write_columns(&columns, &sql);
    cv_buf_append_text(&sql, " FROM \"groups\" AS g");
    cv_sql_write_conditions(" WHERE ", relation->havings, relation->having_count, &sql);
    write_orders(select, &sql);
    if (select->limit >= 0)
        cv_buf_printf(&sql, " LIMIT %lld", (long long)select->limit);
    query->final_orders =
        select->ast->order_count > 0 || select->ast->order_all || select->limit >= 0;
    for (size_t i = 0; i < columns.count; i++)
        cv_plan_use(plan, columns.list[i].expr);
    for (size_t i = 0; i < relation->having_count; i++)
        cv_plan_use(plan, relation->havings[i]);
    return cv_plan_text(plan, &sql, &query->final_sql, err);
}

static void fingerprint(struct cv_plan *plan, const struct cv_plan_columns *columns)
{
    struct cv_binder *binder = plan->binder;
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(CV_SQL_PLAN_BYTES_MAX);

    cv_buf_printf(&text, "1 groups %d %lld", binder->config->complete,
                  (long long)(binder->config->complete ? 0 : binder->config->watermark_delay_us));
    for (size_t i = 0; i < columns->count; i++) {
        char type[CV_TYPE_TEXT_BYTES];

        cv_type_text(&columns->list[i].expr->type, type);
        cv_buf_printf(&text, ";%s %s %d:", columns->list[i].name, type, columns->list[i].merge);
        cv_fingerprint_expr(binder, columns->list[i].expr, &text);
    }
    if (binder->event_time)
        cv_fingerprint_expr(binder, binder->event_time, &text);
    cv_fingerprint_rows(binder, plan->select->relation, &text);
    binder->query->fingerprint = cv_fingerprint_text(binder->arena, &text);
}

enum cv_code cv_plan_groups(struct cv_plan *plan, struct cv_error *err)
{
    struct cv_query *query = plan->binder->query;
    struct cv_plan_columns columns = {0};
    size_t event_time;
    size_t key_count = add_keys(plan, &columns, &event_time);

    query->kind = CV_QUERY_AGGREGATE;
    if (key_count == 0) {
        add_only_key(plan, &columns);
        key_count = 1;
    }
    add_parts(plan, &columns);
    for (size_t i = 0; i < columns.count; i++)
        cv_plan_use(plan, columns.list[i].expr);
    cv_plan_use_rows(plan, plan->select->relation);
    cv_plan_keyed(plan, &columns, key_count, 0);
    if (event_time != SIZE_MAX && !plan->binder->config->complete)
        query->keyed.expiry_column = 0;
    fingerprint(plan, &columns);
    CV_DO(rows_query(plan, &columns, key_count, err));
    return final_query(plan, err);
}
