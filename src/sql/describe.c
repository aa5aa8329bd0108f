/* SPDX-License-Identifier: Apache-2.0
 *
 * What `calve check` tells of a query. Expressions are shown as they are computed, with paths and
 * aggregates by their names. */
#include "sql/plan_int.h"

#define SHOWN_BYTES_MAX 400 /* of one expression */

static void show(const struct cv_plan *plan, const struct cv_expr *expr, struct cv_buf *out);

static void show_template(const struct cv_plan *plan, const struct cv_expr *expr,
                          struct cv_buf *out)
{
    for (const char *at = expr->sql; *at; at++) {
        size_t index = 0;

        if (*at != '$') {
            cv_buf_append_byte(out, (uint8_t)*at);
            continue;
        }
        while (at[1] >= '0' && at[1] <= '9' && index <= expr->argument_count)
            index = index * 10 + (size_t)(*++at - '0');
        if (index > 0 && index <= expr->argument_count)
            show(plan, expr->arguments[index - 1], out);
        else if (index == 0 && at[1] == '$')
            at++;
    }
}

/* A call by its name: a + b, upper(a). */
static void show_named(const struct cv_plan *plan, const struct cv_expr *expr, struct cv_buf *out)
{
    size_t length = strcspn(expr->text, "\t");
    bool infix = expr->argument_count >= 2 && strcspn(expr->text, "abcdefghijklmnopqrstuvwxyz") > 0;

    cv_buf_printf(out, "%.*s(", infix ? 0 : (int)length, expr->text);
    for (size_t i = 0; i < expr->argument_count; i++) {
        if (i > 0 && infix)
            cv_buf_printf(out, " %.*s ", (int)length, expr->text);
        else if (i > 0)
            cv_buf_append_text(out, ", ");
        show(plan, expr->arguments[i], out);
    }
    cv_buf_append_byte(out, ')');
}

static bool show_aggregate(const struct cv_plan *plan, const struct cv_expr *expr,
                           struct cv_buf *out)
{
    const struct cv_bind_grouping *grouping = plan->select->relation->grouping;

    for (size_t i = 0; grouping && i < grouping->aggregate_count; i++) {
        const struct cv_bind_aggregate *aggregate = &grouping->aggregates[i];

        if (!cv_expr_equal(aggregate->result, expr))
            continue;
        cv_buf_printf(out, "%s(%s", aggregate->name, aggregate->argument_count ? "" : "*");
        for (size_t j = 0; j < aggregate->argument_count; j++) {
            cv_buf_append_text(out, j ? ", " : "");
            show(plan, aggregate->arguments[j], out);
        }
        cv_buf_append_byte(out, ')');
        return true;
    }
    return false;
}

static void show(const struct cv_plan *plan, const struct cv_expr *expr, struct cv_buf *out)
{
    const struct cv_bind_grouping *grouping = plan->select->relation->grouping;
    const struct cv_bind_input *input = cv_bind_input_of(plan->binder, expr);
    char type[CV_TYPE_TEXT_BYTES];

    if (out->length > SHOWN_BYTES_MAX)
        return;
    if (expr->kind == CV_EXPR_CALL && expr->sql == cv_bind_late_cast) {
        cv_type_text(&expr->type, type);
        cv_buf_append_text(out, "CAST(");
        show(plan, expr->arguments[1], out);
        cv_buf_printf(out, " AS %s)", type);
        return;
    }
    if (input && input->cast) {
        cv_type_text(&input->type, type);
        cv_buf_printf(out, "%s(%s AS %s)", input->try_cast ? "TRY_CAST" : "CAST", input->text,
                      type);
        return;
    }
    if (input) {
        cv_buf_append_text(out, input->text);
        return;
    }
    for (size_t i = 0; grouping && i < grouping->key_count; i++) {
        if (cv_expr_equal(grouping->key_columns[i], expr)) {
            show(plan, grouping->keys[i], out);
            return;
        }
    }
    if (grouping && grouping->start && cv_expr_equal(grouping->start_column, expr)) {
        show(plan, grouping->start, out);
        return;
    }
    if (show_aggregate(plan, expr, out))
        return;
    if (expr->kind == CV_EXPR_CALL && expr->text)
        show_named(plan, expr, out);
    else if (expr->kind == CV_EXPR_CALL)
        show_template(plan, expr, out);
    else
        cv_buf_append_text(out, expr->sql);
}

/* One expression, cut when it is long. */
static void show_short(const struct cv_plan *plan, const struct cv_expr *expr, struct cv_buf *out)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);

    show(plan, expr, &text);
    if (text.length > SHOWN_BYTES_MAX)
        cv_buf_printf(out, "%.*s…", SHOWN_BYTES_MAX, cv_buf_text(&text));
    else
        cv_buf_append(out, text.data, text.length);
}

static void describe_columns(const struct cv_plan *plan, struct cv_buf *out)
{
    const struct cv_type *root = &plan->binder->config->sink->root;
    char type[CV_TYPE_TEXT_BYTES];

    for (size_t i = 0; i < root->field_count; i++) {
        cv_type_text(&root->fields[i].type, type);
        cv_buf_printf(out, "%s %s ← ", root->fields[i].name, type);
        if (plan->plain[i])
            show_short(plan, plan->plain[i], out);
        else
            cv_buf_append_text(out, "NULL, nothing feeds it");
        cv_buf_append_byte(out, '\n');
    }
}

static void describe_groups(const struct cv_plan *plan, struct cv_buf *out)
{
    const struct cv_bind_grouping *grouping = plan->select->relation->grouping;
    const struct cv_query *query = plan->binder->query;

    cv_buf_append_text(out, "groups by ");
    for (size_t i = 0; i < grouping->key_count; i++) {
        cv_buf_append_text(out, i ? ", " : "");
        show_short(plan, grouping->keys[i], out);
    }
    cv_buf_append_text(out, grouping->key_count ? "\n" : "nothing: all rows are one group\n");
    cv_buf_printf(out, "state: %zu columns a group; %s\n", query->rows_schema.root.field_count,
                  query->keyed.expiry_column == SIZE_MAX
                      ? "groups stay for ever"
                      : "a group leaves when the watermark has passed it");
}

static void describe_inputs(const struct cv_query *query, struct cv_buf *out)
{
    size_t count = query->input_schema.root.field_count - 3;
    const char *separator = " ";

    cv_buf_append_text(out, "reads");
    for (size_t i = 0; i < count; i++) {
        bool again = false;

        for (size_t j = 0; j < i; j++)
            again = again || strcmp(query->inputs[i].text, query->inputs[j].text) == 0;
        if (again)
            continue;
        cv_buf_printf(out, "%s%s", separator, query->inputs[i].text);
        separator = ", ";
    }
    cv_buf_append_text(out, count ? " of each record\n" : " no field of a record\n");
}

void cv_plan_describe(const struct cv_plan *plan, struct cv_buf *out)
{
    const struct cv_query *query = plan->binder->query;
    const struct cv_query_config *config = plan->binder->config;

    describe_columns(plan, out);
    if (query->kind == CV_QUERY_AGGREGATE)
        describe_groups(plan, out);
    if (query->kind == CV_QUERY_DISTINCT)
        cv_buf_printf(out, "rows are distinct by %s; a key is kept until its event time + %lld s\n",
                      config->distinct, (long long)(config->watermark_delay_us / 1000000));
    if (plan->binder->event_time) {
        cv_buf_append_text(out, "watermark: ");
        show_short(plan, plan->binder->event_time, out);
        cv_buf_printf(out, " - %lld s\n", (long long)(config->watermark_delay_us / 1000000));
    }
    for (size_t i = 0; i < config->table_count; i++)
        if (plan->binder->uses_table[i])
            cv_buf_printf(out, "joins table %s\n", config->tables[i].name);
    describe_inputs(query, out);
}

const char *cv_query_describe(const struct cv_query *query, struct cv_arena *arena)
{
    return cv_arena_strdup(arena, query->description);
}
