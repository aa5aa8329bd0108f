/* SPDX-License-Identifier: Apache-2.0
 *
 * By what a state is known to belong to a query: the meaning of its keys and parts, in a text that
 * does not depend on positions, aliases, numbers of inputs or the SQL that they are run as. */
#include "sql/plan_int.h"

#include "codec/hash.h"

#include <inttypes.h>

static void write_input(const struct cv_bind_input *input, struct cv_buf *out)
{
    char type[CV_TYPE_TEXT_BYTES];

    cv_buf_append_text(out, "{");
    cv_buf_append_text(out, input->text);
    cv_type_text(&input->type, type);
    if (input->cast)
        cv_buf_printf(out, " as %s%s", type, input->try_cast ? " try" : "");
    cv_buf_append_text(out, "}");
}

/* Names of natives have a number that depends on what else the query uses. */
static void write_template(const char *sql, struct cv_buf *out)
{
    const char *native;

    while ((native = strstr(sql, "calve_"))) {
        native += strlen("calve_");
        cv_buf_append(out, sql, (size_t)(native - sql));
        sql = native + strspn(native, "0123456789");
    }
    cv_buf_append_text(out, sql);
}

void cv_fingerprint_expr(const struct cv_binder *binder, const struct cv_expr *expr,
                         struct cv_buf *out)
{
    const struct cv_bind_input *input = cv_bind_input_of(binder, expr);
    char type[CV_TYPE_TEXT_BYTES];

    if (out->failed)
        return;
    if (input) {
        write_input(input, out);
        return;
    }
    if (expr->kind == CV_EXPR_CALL && expr->text)
        cv_buf_append_text(out, expr->text);
    else
        write_template(expr->sql, out);
    cv_type_text(&expr->type, type);
    cv_buf_printf(out, " %s(", type);
    for (size_t i = 0; i < expr->argument_count; i++)
        cv_fingerprint_expr(binder, expr->arguments[i], out);
    cv_buf_append_byte(out, ')');
}

/* Those of a static table: what the columns g.k0, g.p0 of its query stand for. */
static void write_groups(const struct cv_binder *binder, const struct cv_bind_relation *relation,
                         struct cv_buf *out)
{
    const struct cv_bind_grouping *grouping = relation->grouping;

    for (size_t i = 0; i < grouping->key_count; i++)
        cv_fingerprint_expr(binder, grouping->keys[i], out);
    for (size_t i = 0; i < grouping->aggregate_count; i++)
        for (size_t j = 0; j < grouping->aggregates[i].aggregate.part_count; j++)
            cv_fingerprint_expr(binder, grouping->aggregates[i].parts[j], out);
    for (size_t i = 0; i < relation->having_count; i++)
        cv_fingerprint_expr(binder, relation->havings[i], out);
}

void cv_fingerprint_rows(const struct cv_binder *binder, const struct cv_bind_relation *relation,
                         struct cv_buf *out)
{
    cv_buf_printf(out, ";from %s %lld", relation->stream ? "stream" : relation->table,
                  (long long)relation->window_rows);
    for (size_t i = 0; i < relation->join_count; i++) {
        const struct cv_bind_join *join = &relation->joins[i];

        cv_buf_printf(out, ";join %d %s ", join->kind, join->table ? join->table : "");
        if (join->query)
            cv_fingerprint_rows(binder, join->query, out);
        if (join->query && join->query->grouping)
            write_groups(binder, join->query, out);
        for (size_t j = 0; join->query && j < join->query->column_count; j++)
            cv_fingerprint_expr(binder, join->query->columns[j].expr, out);
        if (join->on)
            cv_fingerprint_expr(binder, join->on, out);
    }
    for (size_t i = 0; i < relation->condition_count; i++) {
        cv_buf_append_text(out, ";where ");
        cv_fingerprint_expr(binder, relation->conditions[i], out);
    }
}

const char *cv_fingerprint_text(struct cv_arena *arena, struct cv_buf *canonical)
{
    return cv_arena_printf(arena, "%016" PRIx64, cv_xxh64(canonical->data, canonical->length));
}
