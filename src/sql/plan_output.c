/* SPDX-License-Identifier: Apache-2.0
 *
 * What a query gives against what the table takes: by name, widening only. */
#include "sql/plan_int.h"

#include "schema/compat.h"

static size_t find_column(const struct cv_schema *sink, const char *name, bool *ret_ambiguous)
{
    const struct cv_field *field = cv_struct_find_nocase(&sink->root, name, ret_ambiguous);

    return field ? (size_t)(field - sink->root.fields) : SIZE_MAX;
}

/* NULL for a required column is an error of the row. */
static const struct cv_expr *refuse_null(struct cv_plan *plan, const struct cv_expr *expr,
                                         const struct cv_field *column)
{
    const struct cv_bind_input *input = cv_bind_input_of(plan->binder, expr);
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);

    if (!column->required || (input && input->required) ||
        (expr->kind == CV_EXPR_CONSTANT && !expr->untyped))
        return expr;
    cv_buf_printf(&text, "column %s is required and the value is NULL", column->name);
    cv_buf_append_text(&sql, "(CASE WHEN $1 IS NULL THEN error(");
    cv_sql_write_template_text(&sql, cv_buf_text(&text));
    cv_buf_append_text(&sql, ") ELSE $1 END)");
    return cv_expr_call(plan->binder->arena,
                        cv_arena_strdup(plan->binder->arena, cv_buf_text(&sql)), &column->type,
                        &expr, 1, expr->position);
}

static void refuse_type(struct cv_plan *plan, const struct cv_bind_output *output,
                        const struct cv_field *column)
{
    char from[CV_TYPE_TEXT_BYTES];
    char to[CV_TYPE_TEXT_BYTES];

    if (output->expr->type.kind == CV_TYPE_STRUCT && output->expr->type.field_count == 0) {
        cv_sql_problem(&plan->binder->problems, CV_UNSUPPORTED, output->position,
                       "value as a whole has no type: name its fields, or set value.schema");
        return;
    }
    cv_type_text(&output->expr->type, from);
    cv_type_text(&column->type, to);
    cv_sql_problem(&plan->binder->problems, CV_SCHEMA, output->position,
                   "column %s is %s and gets %s%s", column->name, to, from,
                   cv_type_is_nested(&column->type) ? "" : ": write a CAST");
}

/* A list, map or struct of the stream meets its column member by member in the decoder, by name and
 * widened, as in a compiled select. */
static bool decoder_widens(const struct cv_plan *plan, const struct cv_bind_input *input,
                           const struct cv_field *column)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf problems = CV_BUF_INIT(0);
    struct cv_field from_field = {.name = "c", .required = true, .type = input->type};
    struct cv_field to_field = {.name = "c", .type = column->type};
    struct cv_type from = {.kind = CV_TYPE_STRUCT, .fields = &from_field, .field_count = 1};
    struct cv_type to = {.kind = CV_TYPE_STRUCT, .fields = &to_field, .field_count = 1};
    unsigned flags = plan->binder->config->ignore_unknown ? CV_ASSIGN_IGNORE_UNKNOWN : 0;

    return !input->cast && input->path_length > 0 && cv_type_is_nested(&column->type) &&
           !cv_type_equal(&input->type, &column->type) &&
           cv_schema_check_assign_row(&from, &to, flags, &problems) == 0;
}

/* The value in the column's type; NULL and noted when it cannot be. */
static const struct cv_expr *convert(struct cv_plan *plan, const struct cv_bind_output *output,
                                     const struct cv_field *column)
{
    struct cv_binder *binder = plan->binder;
    struct cv_bind_scope scope = {.binder = binder, .clause = "SELECT"};
    const struct cv_expr *expr = output->expr;
    const struct cv_bind_input *input = cv_bind_input_of(binder, expr);
    bool text_to_uuid =
        expr->type.kind == CV_TYPE_STRING && column->type.kind == CV_TYPE_UUID && !expr->untyped;

    if (expr->untyped)
        return cv_expr_constant_null(binder->arena, &column->type);
    if (input && ((input->open && !input->cast) || decoder_widens(plan, input, column))) {
        struct cv_bind_input typed = *input;

        typed.open = false;
        typed.type = column->type;
        return cv_bind_input(binder, &typed);
    }
    if (!text_to_uuid && !cv_assign_allowed(&expr->type, &column->type)) {
        refuse_type(plan, output, column);
        return NULL;
    }
    if (expr->type.kind == CV_TYPE_TIMESTAMPTZ && column->type.kind == CV_TYPE_TIMESTAMP)
        return cv_expr_call(binder->arena, "$1", &column->type, &expr, 1, output->position);
    return cv_bind_cast(&scope, expr, &column->type, false, output->position);
}

static void place_output(struct cv_plan *plan, size_t number, const struct cv_bind_output *output)
{
    struct cv_binder *binder = plan->binder;
    const struct cv_schema *sink = binder->config->sink;
    const struct cv_field *column;
    bool ambiguous = false;
    size_t index;

    if (!output->name) {
        cv_sql_problem(&binder->problems, CV_CONFIG, output->position,
                       "item %zu needs the name of a column: AS …", number + 1);
        return;
    }
    index = find_column(sink, output->name, &ambiguous);
    if (index == SIZE_MAX) {
        if (ambiguous)
            cv_sql_problem(&binder->problems, CV_CONFIG, output->position,
                           "more than one column of the table is named %s but for letter case",
                           output->name);
        else if (!binder->config->ignore_unknown)
            cv_sql_problem(&binder->problems, CV_SCHEMA, output->position,
                           "the table has no column %s", output->name);
        return;
    }
    column = &sink->root.fields[index];
    if (plan->plain[index]) {
        cv_sql_problem(&binder->problems, CV_CONFIG, output->position,
                       "column %s comes more than once", column->name);
        return;
    }
    plan->plain[index] = output->expr ? output->expr : cv_expr_constant_null(binder->arena, NULL);
    if (output->expr)
        plan->columns[index] = convert(plan, output, column);
}

void cv_plan_outputs(struct cv_plan *plan)
{
    struct cv_binder *binder = plan->binder;
    const struct cv_type *root = &binder->config->sink->root;

    plan->columns = cv_arena_array(binder->arena, const struct cv_expr *, root->field_count);
    plan->plain = cv_arena_array(binder->arena, const struct cv_expr *, root->field_count);
    for (size_t i = 0; i < plan->select->output_count; i++)
        place_output(plan, i, &plan->select->outputs[i]);
    for (size_t i = 0; i < root->field_count; i++) {
        const struct cv_field *column = &root->fields[i];

        if (plan->columns[i]) {
            plan->columns[i] = refuse_null(plan, plan->columns[i], column);
        } else if (!plan->plain[i] && column->required) {
            cv_sql_problem(&binder->problems, CV_SCHEMA, plan->select->ast->position,
                           "column %s is required and nothing feeds it", column->name);
        } else {
            plan->columns[i] = cv_expr_constant_null(binder->arena, &column->type);
        }
    }
}
