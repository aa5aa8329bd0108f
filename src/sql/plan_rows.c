/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries without an aggregation, and what all plans share. */
#include "sql/plan_int.h"

enum cv_code cv_plan_text(struct cv_plan *plan, struct cv_buf *sql, const char **ret_text,
                          struct cv_error *err)
{
    CV_DO(cv_buf_check(sql, "the SQL of the query, with all that its names stand for,", err));
    *ret_text = cv_arena_strdup(plan->binder->arena, cv_buf_text(sql));
    return CV_OK;
}

void cv_plan_use(struct cv_plan *plan, const struct cv_expr *expr)
{
    struct cv_bind_input *input;

    if (!expr)
        return;
    input = cv_bind_input_of(plan->binder, expr);
    if (input)
        input->used = true;
    if (expr->frozen_time)
        plan->binder->query->uses_batch_time = true;
    for (size_t i = 0; i < expr->argument_count; i++)
        cv_plan_use(plan, expr->arguments[i]);
}

static void use_groups(struct cv_plan *plan, const struct cv_bind_relation *relation)
{
    const struct cv_bind_grouping *grouping = relation->grouping;

    for (size_t i = 0; grouping && i < grouping->key_count; i++)
        cv_plan_use(plan, grouping->keys[i]);
    for (size_t i = 0; grouping && i < grouping->aggregate_count; i++)
        for (size_t j = 0; j < grouping->aggregates[i].aggregate.part_count; j++)
            cv_plan_use(plan, grouping->aggregates[i].parts[j]);
    for (size_t i = 0; i < relation->having_count; i++)
        cv_plan_use(plan, relation->havings[i]);
}

void cv_plan_use_rows(struct cv_plan *plan, const struct cv_bind_relation *relation)
{
    for (size_t i = 0; i < relation->condition_count; i++)
        cv_plan_use(plan, relation->conditions[i]);
    for (size_t i = 0; i < relation->join_count; i++) {
        cv_plan_use(plan, relation->joins[i].on);
        if (relation->joins[i].query) {
            const struct cv_bind_relation *query = relation->joins[i].query;

            cv_plan_use_rows(plan, query);
            use_groups(plan, query);
            for (size_t j = 0; j < query->column_count; j++)
                cv_plan_use(plan, query->columns[j].expr);
        }
    }
}

bool cv_plan_is_event_time(const struct cv_plan *plan, const struct cv_expr *expr)
{
    const struct cv_expr *event_time = plan->binder->event_time;

    return expr->event_time || (event_time && cv_expr_equal(expr, event_time));
}

/* DuckDB's type of a NULL or a constant is not always the column's. */
static void write_typed(const struct cv_expr *expr, struct cv_buf *out)
{
    if (expr->kind == CV_EXPR_CONSTANT && expr->untyped) {
        cv_buf_append_text(out, "CAST(NULL AS ");
        cv_sql_type_text(&expr->type, out);
        cv_buf_append_byte(out, ')');
    } else {
        cv_expr_write(expr, out);
    }
}

void cv_plan_add(struct cv_plan *plan, struct cv_plan_columns *columns, const char *name,
                 const struct cv_expr *expr, enum cv_merge merge)
{
    struct cv_plan_column column = {.name = name, .expr = expr, .merge = merge};

    cv_bind_append(plan->binder->arena, columns->list, columns->capacity, columns->count, column);
}

void cv_plan_write_columns(const struct cv_plan_columns *columns, struct cv_buf *out)
{
    for (size_t i = 0; i < columns->count; i++) {
        cv_buf_append_text(out, i ? ", " : "SELECT ");
        write_typed(columns->list[i].expr, out);
        cv_buf_append_text(out, " AS ");
        cv_sql_write_name(out, columns->list[i].name);
    }
}

void cv_plan_keyed(struct cv_plan *plan, const struct cv_plan_columns *columns, size_t key_count,
                   size_t order_count)
{
    struct cv_arena *arena = plan->binder->arena;
    struct cv_query *query = plan->binder->query;
    struct cv_field *fields = cv_arena_array(arena, struct cv_field, columns->count);
    enum cv_merge *merges = cv_arena_array(arena, enum cv_merge, columns->count);

    for (size_t i = 0; i < columns->count; i++) {
        fields[i].name = columns->list[i].name;
        fields[i].type = columns->list[i].expr->type;
        merges[i] = columns->list[i].merge;
    }
    query->rows_schema.root =
        (struct cv_type){.kind = CV_TYPE_STRUCT, .fields = fields, .field_count = columns->count};
    cv_schema_assign_ids(&query->rows_schema, arena);
    query->keyed = (struct cv_keyed){.schema = &query->rows_schema,
                                     .key_count = key_count,
                                     .order_count = order_count,
                                     .merges = merges,
                                     .expiry_column = SIZE_MAX};
}

static void add_sink_columns(struct cv_plan *plan, struct cv_plan_columns *columns)
{
    const struct cv_type *root = &plan->binder->config->sink->root;

    for (size_t i = 0; i < root->field_count; i++)
        cv_plan_add(plan, columns, root->fields[i].name, plan->columns[i], CV_MERGE_FIRST);
}

static void use_columns(struct cv_plan *plan, const struct cv_plan_columns *columns)
{
    for (size_t i = 0; i < columns->count; i++)
        cv_plan_use(plan, columns->list[i].expr);
    cv_plan_use_rows(plan, plan->select->relation);
}

enum cv_code cv_plan_rows(struct cv_plan *plan, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(CV_SQL_PLAN_BYTES_MAX);
    struct cv_query *query = plan->binder->query;
    struct cv_plan_columns columns = {0};

    query->kind = CV_QUERY_ROWS;
    add_sink_columns(plan, &columns);
    use_columns(plan, &columns);
    cv_plan_write_columns(&columns, &sql);
    cv_sql_write_from(plan->select->relation, &sql);
    query->rows_schema = *plan->binder->config->sink;
    return cv_plan_text(plan, &sql, &query->rows_sql, err);
}

/* --- distinct -------------------------------------------------------------------------------- */

static const struct cv_expr *record_column(struct cv_plan *plan, const char *name,
                                           enum cv_type_kind kind)
{
    struct cv_expr *column = cv_arena_new(plan->binder->arena, struct cv_expr);

    column->kind = CV_EXPR_COLUMN;
    column->type.kind = kind;
    column->position = CV_SQL_NO_POSITION;
    column->sql = cv_arena_printf(plan->binder->arena, "i.\"%s\"", name);
    column->input = SIZE_MAX;
    return column;
}

/* The columns of `distinct:` as the key. */
static size_t add_distinct_keys(struct cv_plan *plan, struct cv_plan_columns *columns)
{
    struct cv_binder *binder = plan->binder;
    const struct cv_type *root = &binder->config->sink->root;
    size_t count;
    char **names = cv_split(binder->arena, binder->config->distinct, ',', &count);

    for (size_t i = 0; i < count; i++) {
        const struct cv_field *field = NULL;
        size_t index = 0;

        for (size_t j = 0; j < root->field_count; j++) {
            if (cv_text_equal_nocase(root->fields[j].name, names[i])) {
                field = &root->fields[j];
                index = j;
            }
        }
        if (!field || !plan->plain[index])
            cv_sql_problem(&binder->problems, CV_CONFIG, CV_SQL_NO_POSITION,
                           "distinct: the query gives no column %s", names[i]);
        else if (cv_type_is_nested(&field->type))
            cv_sql_problem(&binder->problems, CV_UNSUPPORTED, CV_SQL_NO_POSITION,
                           "distinct: column %s is a list, map or struct", names[i]);
        else
            cv_plan_add(plan, columns, cv_arena_printf(binder->arena, "k%zu", columns->count),
                        plan->columns[index], CV_MERGE_FIRST);
    }
    if (count == 0)
        cv_sql_problem(&binder->problems, CV_CONFIG, CV_SQL_NO_POSITION,
                       "distinct: no column is named");
    return columns->count;
}

static void fingerprint_distinct(struct cv_plan *plan, const struct cv_plan_columns *columns,
                                 size_t key_count)
{
    struct cv_binder *binder = plan->binder;
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(CV_SQL_PLAN_BYTES_MAX);

    cv_buf_printf(&text, "1 distinct %lld", (long long)binder->config->watermark_delay_us);
    for (size_t i = 0; i < key_count; i++)
        cv_fingerprint_expr(binder, columns->list[i].expr, &text);
    cv_fingerprint_expr(binder, binder->event_time, &text);
    for (size_t i = 0; i < key_count; i++) { /* not of what else the table takes */
        char type[CV_TYPE_TEXT_BYTES];

        cv_type_text(&columns->list[i].expr->type, type);
        cv_buf_printf(&text, ";%s", type);
    }
    binder->query->fingerprint = cv_fingerprint_text(binder->arena, &text);
}

enum cv_code cv_plan_distinct(struct cv_plan *plan, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(CV_SQL_PLAN_BYTES_MAX);
    struct cv_binder *binder = plan->binder;
    struct cv_query *query = binder->query;
    const struct cv_expr *event_time = binder->event_time;
    struct cv_plan_columns columns = {0};
    size_t key_count = add_distinct_keys(plan, &columns);

    query->kind = CV_QUERY_DISTINCT;
    CV_DO(cv_sql_problems_check(&binder->problems, err));
    cv_plan_add(plan, &columns, "topic", record_column(plan, "topic", CV_TYPE_STRING),
                CV_MERGE_FIRST);
    cv_plan_add(plan, &columns, "partition", record_column(plan, "partition", CV_TYPE_INT),
                CV_MERGE_FIRST);
    cv_plan_add(plan, &columns, "offset", record_column(plan, "offset", CV_TYPE_LONG),
                CV_MERGE_FIRST);
    cv_plan_add(plan, &columns, "event_time", event_time, CV_MERGE_FIRST);
    cv_plan_add(plan, &columns, "expires",
                cv_expr_call(binder->arena,
                             cv_arena_printf(
                                 binder->arena,
                                 "make_timestamp(coalesce(epoch_us($1), 0) + CAST(%lld AS BIGINT))",
                                 (long long)binder->config->watermark_delay_us),
                             &event_time->type, &event_time, 1, CV_SQL_NO_POSITION),
                CV_MERGE_FIRST);
    query->output_column = columns.count;
    add_sink_columns(plan, &columns);
    for (size_t i = query->output_column; i < columns.count; i++)
        columns.list[i].name = cv_arena_printf(binder->arena, "o%zu", i - query->output_column);
    use_columns(plan, &columns);
    cv_plan_write_columns(&columns, &sql);
    cv_sql_write_from(plan->select->relation, &sql);
    cv_plan_keyed(plan, &columns, key_count, 3);
    query->keyed.expiry_column = query->output_column - 1;
    query->keyed.late_by_column = true;
    query->keyed.late_column = query->output_column - 2;
    fingerprint_distinct(plan, &columns, key_count);
    return cv_plan_text(plan, &sql, &query->rows_sql, err);
}

/* --- the end --------------------------------------------------------------------------------- */

static const struct cv_type *record_type(const struct cv_schema *stream, const char *name)
{
    static const struct cv_type missing = {.kind = CV_TYPE_LONG};

    for (size_t i = 0; i < stream->root.field_count; i++)
        if (cv_text_equal_nocase(stream->root.fields[i].name, name))
            return &stream->root.fields[i].type;
    return &missing;
}

static struct cv_query_input input_of(const struct cv_binder *binder,
                                      const struct cv_bind_input *input)
{
    const char *column = binder->config->stream->root.fields[input->column].name;

    return (struct cv_query_input){
        .column = column,
        .path = input->path,
        .path_length = input->path_length,
        .cast = input->cast,
        .try_cast = input->try_cast,
        .cast_type = input->type,
        .from_value = cv_text_equal_nocase(column, "value"),
        .text = input->text,
    };
}

/* The inputs that something needs, and what every row is known by. */
static void list_inputs(struct cv_plan *plan)
{
    static const char *const record[] = {"topic", "partition", "offset"};
    struct cv_binder *binder = plan->binder;
    struct cv_query *query = binder->query;
    size_t most = binder->input_count + CV_ARRAY_LENGTH(record);
    struct cv_query_input *inputs = cv_arena_array(binder->arena, struct cv_query_input, most);
    struct cv_field *fields = cv_arena_array(binder->arena, struct cv_field, most);
    size_t count = 0;

    for (size_t i = 0; i < binder->input_count; i++) {
        struct cv_bind_input *input = binder->inputs[i];

        if (!input->used)
            continue;
        inputs[count] = input_of(binder, input);
        fields[count] = (struct cv_field){.name = input->sql + 2, .type = input->type};
        count++;
    }
    for (size_t i = 0; i < CV_ARRAY_LENGTH(record); i++) {
        const struct cv_type *type = record_type(binder->config->stream, record[i]);

        inputs[count] =
            (struct cv_query_input){.column = record[i], .cast_type = *type, .text = record[i]};
        fields[count] = (struct cv_field){.name = record[i], .type = *type};
        count++;
    }
    query->inputs = inputs;
    query->input_schema.root =
        (struct cv_type){.kind = CV_TYPE_STRUCT, .fields = fields, .field_count = count};
    cv_schema_assign_ids(&query->input_schema, binder->arena);
}

enum cv_code cv_plan_finish(struct cv_plan *plan, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf description = CV_BUF_INIT(CV_SQL_PLAN_BYTES_MAX);
    struct cv_binder *binder = plan->binder;

    if (binder->event_time)
        CV_DO(cv_plan_watermark(plan, err));
    binder->query->uses_table = binder->uses_table;
    list_inputs(plan);
    cv_plan_describe(plan, &description);
    return cv_plan_text(plan, &description, &binder->query->description, err);
}
