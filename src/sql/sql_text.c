/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of the SQL that DuckDB runs. */
#include "sql/bind_int.h"

void cv_sql_write_name(struct cv_buf *out, const char *name)
{
    cv_buf_append_byte(out, '"');
    for (; *name; name++) {
        if (*name == '"')
            cv_buf_append_byte(out, '"');
        cv_buf_append_byte(out, (uint8_t)*name);
    }
    cv_buf_append_byte(out, '"');
}

void cv_sql_write_text(struct cv_buf *out, const char *text)
{
    cv_buf_append_byte(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            cv_buf_append_byte(out, '\'');
        cv_buf_append_byte(out, (uint8_t)*text);
    }
    cv_buf_append_byte(out, '\'');
}

void cv_sql_write_template_text(struct cv_buf *out, const char *text)
{
    cv_buf_append_byte(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '$')
            cv_buf_append_byte(out, (uint8_t)*text);
        cv_buf_append_byte(out, (uint8_t)*text);
    }
    cv_buf_append_byte(out, '\'');
}

void cv_sql_type_text(const struct cv_type *type, struct cv_buf *out)
{
    static const char *const words[] = {
        [CV_TYPE_BOOLEAN] = "BOOLEAN",
        [CV_TYPE_INT] = "INTEGER",
        [CV_TYPE_LONG] = "BIGINT",
        [CV_TYPE_FLOAT] = "FLOAT",
        [CV_TYPE_DOUBLE] = "DOUBLE",
        [CV_TYPE_DATE] = "DATE",
        [CV_TYPE_TIME] = "TIME",
        [CV_TYPE_TIMESTAMP] = "TIMESTAMP",
        [CV_TYPE_TIMESTAMPTZ] = "TIMESTAMP",
        [CV_TYPE_STRING] = "VARCHAR",
        [CV_TYPE_UUID] = "BLOB",
        [CV_TYPE_FIXED] = "BLOB",
        [CV_TYPE_BINARY] = "BLOB",
    };

    if (type->kind == CV_TYPE_DECIMAL) {
        cv_buf_printf(out, "DECIMAL(%d,%d)", type->precision, type->scale);
    } else if (!cv_type_is_nested(type)) {
        cv_buf_append_text(out, words[type->kind]);
    } else if (type->kind == CV_TYPE_LIST) {
        cv_sql_type_text(&type->fields[0].type, out);
        cv_buf_append_text(out, "[]");
    } else {
        cv_buf_append_text(out, type->kind == CV_TYPE_MAP ? "MAP(" : "STRUCT(");
        for (size_t i = 0; i < type->field_count; i++) {
            if (i > 0)
                cv_buf_append_text(out, ", ");
            if (type->kind == CV_TYPE_STRUCT) {
                cv_sql_write_name(out, type->fields[i].name);
                cv_buf_append_byte(out, ' ');
            }
            cv_sql_type_text(&type->fields[i].type, out);
        }
        cv_buf_append_byte(out, ')');
    }
}

/* Conditions in their order: one that may fail is not taken for rows that those before leave out,
 * whatever order of AND DuckDB finds quicker. */
void cv_sql_write_conditions(const char *word, const struct cv_expr *const *conditions,
                             size_t count, struct cv_buf *out)
{
    size_t open = 0;

    for (size_t i = 0; i < count; i++) {
        if (i > 0 && cv_expr_may_fail(conditions[i])) {
            cv_buf_append_text(out, " THEN ");
            open++;
        } else {
            cv_buf_append_text(out, i == 0 ? word : " AND ");
        }
        for (size_t j = i + 1; j < count && (i == 0 || cv_expr_may_fail(conditions[i])); j++) {
            if (cv_expr_may_fail(conditions[j])) {
                cv_buf_append_text(out, "CASE WHEN ");
                break;
            }
        }
        cv_buf_append_byte(out, '(');
        cv_expr_write(conditions[i], out);
        cv_buf_append_byte(out, ')');
    }
    while (open-- > 0)
        cv_buf_append_text(out, " ELSE FALSE END");
}

void cv_sql_write_groups(const struct cv_bind_relation *relation, struct cv_buf *out)
{
    const struct cv_bind_grouping *grouping = relation->grouping;
    const char *separator = "SELECT ";

    for (size_t i = 0; i < grouping->key_count; i++, separator = ", ") {
        cv_buf_append_text(out, separator);
        cv_expr_write(grouping->keys[i], out);
        cv_buf_printf(out, " AS k%zu", i);
    }
    for (size_t i = 0; i < grouping->aggregate_count; i++) {
        const struct cv_bind_aggregate *aggregate = &grouping->aggregates[i];

        for (size_t j = 0; j < aggregate->aggregate.part_count; j++, separator = ", ") {
            cv_buf_append_text(out, separator);
            cv_expr_write(aggregate->parts[j], out);
            cv_buf_printf(out, " AS p%zu", aggregate->first_part + j);
        }
    }
    cv_sql_write_from(relation, out);
    for (size_t i = 0; i < grouping->key_count; i++)
        cv_buf_printf(out, "%s%zu", i ? ", " : " GROUP BY ", i + 1);
}

/* A query over static tables, its columns as c0, c1 …. */
static void write_query(const struct cv_bind_relation *query, struct cv_buf *out)
{
    cv_buf_append_text(out, "(SELECT ");
    for (size_t i = 0; i < query->column_count; i++) {
        cv_buf_append_text(out, i ? ", " : "");
        cv_expr_write(query->columns[i].expr, out);
        cv_buf_printf(out, " AS c%zu", i);
    }
    if (query->grouping) {
        cv_buf_append_text(out, " FROM (");
        cv_sql_write_groups(query, out);
        cv_buf_append_text(out, ") AS g");
        cv_sql_write_conditions(" WHERE ", query->havings, query->having_count, out);
    } else {
        cv_sql_write_from(query, out);
    }
    cv_buf_append_byte(out, ')');
}

static void write_join(const struct cv_bind_join *join, struct cv_buf *out)
{
    static const char *const words[] = {
        [CV_AST_INNER] = " JOIN ",
        [CV_AST_LEFT] = " LEFT JOIN ",
        [CV_AST_SEMI] = " SEMI JOIN ",
        [CV_AST_ANTI] = " ANTI JOIN ",
    };

    cv_buf_append_text(out, words[join->kind]);
    if (join->table)
        cv_sql_write_name(out, join->table);
    else
        write_query(join->query, out);
    cv_buf_printf(out, " AS %s ON ", join->alias);
    if (join->on)
        cv_expr_write(join->on, out);
    else
        cv_buf_append_text(out, "TRUE");
}

void cv_sql_write_tables(const struct cv_bind_relation *relation, struct cv_buf *out)
{
    if (relation->stream) {
        cv_buf_append_text(out, " FROM input AS i");
    } else if (relation->table) {
        cv_buf_append_text(out, " FROM ");
        cv_sql_write_name(out, relation->table);
        cv_buf_printf(out, " AS %s", relation->alias);
    }
    for (size_t i = 0; i < relation->join_count; i++)
        write_join(&relation->joins[i], out);
    if (relation->window_rows > 1)
        cv_buf_printf(out, " CROSS JOIN range(%lld) AS w(n)", (long long)relation->window_rows);
}

void cv_sql_write_from(const struct cv_bind_relation *relation, struct cv_buf *out)
{
    cv_sql_write_tables(relation, out);
    cv_sql_write_conditions(" WHERE ", relation->conditions, relation->condition_count, out);
}
