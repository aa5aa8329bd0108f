/* SPDX-License-Identifier: Apache-2.0
 *
 * Aggregates: the parts that are kept of each group, and Spark's result out of them. */
#include "batch/keyed.h"
#include "sql/arithmetic.h"

struct rule {
    const char *name;
    const char *detail;
    enum cv_code (*bind)(const struct rule *rule, struct cv_call *call,
                         struct cv_aggregate *ret_aggregate, struct cv_error *err);
    int merge;
    const char *signature, *note; /* for the documentation */
};

static void one_part(struct cv_aggregate *aggregate, const char *sql, struct cv_type type,
                     int merge)
{
    aggregate->parts[aggregate->part_count].sql = sql;
    aggregate->parts[aggregate->part_count].type = type;
    aggregate->parts[aggregate->part_count++].merge = merge;
}

static enum cv_code bind_count(const struct rule *rule, struct cv_call *call,
                               struct cv_aggregate *ret_aggregate, struct cv_error *err)
{
    const char *sql = rule->detail;

    if (call->argument_count == 1 && *rule->name == 'c' && rule->name[5] == '_')
        CV_DO(cv_bind_letter(call, 0, 'b', err));
    else if (call->argument_count == 1 && cv_expr_is_interval(call->arguments[0]))
        return cv_bind_refuse(call, 0, "a value", err);
    else if (call->argument_count == 1)
        sql = "count($1)";
    else if (call->argument_count > 1)
        return cv_fail(err, CV_UNSUPPORTED, "count: of one expression or *");
    one_part(ret_aggregate, sql, CV_PLAIN(LONG), CV_MERGE_SUM);
    ret_aggregate->type = CV_PLAIN(LONG);
    ret_aggregate->finish = "coalesce($1, 0)";
    return CV_OK;
}

static struct cv_type sum_type(const struct cv_type *type)
{
    if (type->kind == CV_TYPE_INT || type->kind == CV_TYPE_LONG)
        return CV_PLAIN(LONG);
    if (type->kind == CV_TYPE_DECIMAL)
        return (struct cv_type){.kind = CV_TYPE_DECIMAL,
                                .precision = (uint8_t)CV_MIN(type->precision + 10, 38),
                                .scale = type->scale};
    return CV_PLAIN(DOUBLE);
}

/* DuckDB sums in 128 bits, which are a little more than 38 digits. */
static const char *checked_sum(struct cv_arena *arena, unsigned scale)
{
    static const char nines[] = "99999999999999999999999999999999999999";
    const char *most = cv_arena_printf(arena, "CAST('%.*s.%s' AS DECIMAL(38, %u))",
                                       (int)(38 - scale), nines, nines + 38 - scale, scale);

    return cv_arena_printf(arena,
                           "(CASE WHEN sum($1) BETWEEN -%s AND %s THEN CAST(sum($1) AS "
                           "DECIMAL(38, %u)) WHEN sum($1) IS NOT NULL THEN error("
                           "'ARITHMETIC_OVERFLOW: a sum has more than 38 digits') END)",
                           most, most, scale);
}

/* Within the state decimals are summed with 38 digits. */
static void sum_part(struct cv_call *call, const struct cv_type *type,
                     struct cv_aggregate *ret_aggregate)
{
    struct cv_type wide = *type;
    const char *sql = "sum(CAST($1 AS DOUBLE))";

    if (type->kind == CV_TYPE_LONG)
        sql = "CAST(sum($1) AS BIGINT)";
    if (type->kind == CV_TYPE_DECIMAL) {
        wide.precision = 38;
        sql = type->precision < 38
                  ? cv_arena_printf(call->arena, "CAST(sum($1) AS DECIMAL(38, %u))", type->scale)
                  : checked_sum(call->arena, type->scale);
    }
    one_part(ret_aggregate, sql, wide, CV_MERGE_SUM);
}

static enum cv_code bind_sum(const struct rule *rule, struct cv_call *call,
                             struct cv_aggregate *ret_aggregate, struct cv_error *err)
{
    struct cv_type type;

    (void)rule;
    CV_DO(cv_bind_letter(call, 0, 'n', err));
    type = sum_type(&call->arguments[0]->type);
    sum_part(call, &type, ret_aggregate);
    ret_aggregate->type = type;
    ret_aggregate->finish = "$1";
    if (type.kind == CV_TYPE_DECIMAL)
        ret_aggregate->finish =
            cv_arena_printf(call->arena, "CAST($1 AS DECIMAL(%u, %u))", type.precision, type.scale);
    return CV_OK;
}

static enum cv_code bind_extreme(const struct rule *rule, struct cv_call *call,
                                 struct cv_aggregate *ret_aggregate, struct cv_error *err)
{
    CV_DO(cv_bind_letter(call, 0, 'x', err));
    one_part(ret_aggregate, rule->detail, call->arguments[0]->type, rule->merge);
    ret_aggregate->type = call->arguments[0]->type;
    ret_aggregate->finish = "$1";
    return CV_OK;
}

static enum cv_code bind_bool(const struct rule *rule, struct cv_call *call,
                              struct cv_aggregate *ret_aggregate, struct cv_error *err)
{
    CV_DO(cv_bind_letter(call, 0, 'b', err));
    one_part(ret_aggregate, rule->detail, CV_PLAIN(BOOLEAN), rule->merge);
    ret_aggregate->type = CV_PLAIN(BOOLEAN);
    ret_aggregate->finish = "$1";
    return CV_OK;
}

/* The quotient of sum and count, as a native with the aggregate's own result type. */
static const char *decimal_average(struct cv_call *call, const struct cv_type *sum,
                                   const struct cv_type *result)
{
    const struct cv_type count = {.kind = CV_TYPE_DECIMAL, .precision = 20};
    struct cv_call inner = *call;
    const struct cv_expr *arguments[2] = {cv_bind_null(call, sum), cv_bind_null(call, &count)};
    const struct cv_expr *quotient;

    inner.arguments = arguments;
    inner.argument_count = 2;
    quotient = cv_bind_decimal(&inner, '/', result);
    return cv_arena_printf(
        call->arena, "%.*s(CAST($1 AS DECIMAL(%u, %u)), CAST(nullif($2, 0) AS DECIMAL(20, 0)))",
        (int)strcspn(quotient->sql, "("), quotient->sql, sum->precision, sum->scale);
}

static enum cv_code bind_average(const struct rule *rule, struct cv_call *call,
                                 struct cv_aggregate *ret_aggregate, struct cv_error *err)
{
    struct cv_type type;
    struct cv_type sum = CV_PLAIN(DOUBLE);

    (void)rule;
    CV_DO(cv_bind_letter(call, 0, 'n', err));
    type = call->arguments[0]->type;
    ret_aggregate->type = CV_PLAIN(DOUBLE);
    ret_aggregate->finish = "($1 / nullif($2, 0))";
    if (type.kind == CV_TYPE_DECIMAL) {
        sum = sum_type(&type);
        ret_aggregate->type = (struct cv_type){.kind = CV_TYPE_DECIMAL,
                                               .precision = (uint8_t)CV_MIN(type.precision + 4, 38),
                                               .scale = (uint8_t)CV_MIN(type.scale + 4, 38)};
        ret_aggregate->finish = decimal_average(call, &sum, &ret_aggregate->type);
    }
    sum_part(call, &sum, ret_aggregate);
    one_part(ret_aggregate, "count($1)", CV_PLAIN(LONG), CV_MERGE_SUM);
    return CV_OK;
}

static enum cv_code bind_sketch(const struct rule *rule, struct cv_call *call,
                                struct cv_aggregate *ret_aggregate, struct cv_error *err)
{
    const char *sketch;

    (void)rule;
    if (call->argument_count != 1)
        return cv_fail(err, CV_UNSUPPORTED,
                       "approx_count_distinct: of one expression, with "
                       "Spark's default deviation of 0.05");
    CV_DO(cv_bind_letter(call, 0, 'x', err));
    if (call->arguments[0]->type.kind == CV_TYPE_TIME)
        return cv_bind_refuse(call, 0, "a type that Spark has", err);
    if (call->arguments[0]->type.kind == CV_TYPE_UUID)
        CV_DO(cv_bind_letter(call, 0, 's', err)); /* as Spark sees it */
    sketch = cv_sketch_use(call->natives, &call->arguments[0]->type);
    if (!sketch)
        return cv_fail(err, CV_LIMIT, "approx_count_distinct: of at most %d types",
                       CV_SKETCHES_MAX);
    one_part(ret_aggregate, cv_arena_printf(call->arena, "%s($1)", sketch), CV_PLAIN(BINARY),
             CV_MERGE_SKETCH);
    ret_aggregate->type = CV_PLAIN(LONG);
    ret_aggregate->finish =
        cv_arena_printf(call->arena, "coalesce(%s($1), 0)", cv_sketch_finish(call->natives));
    return CV_OK;
}

static enum cv_code refuse(const struct rule *rule, struct cv_call *call,
                           struct cv_aggregate *ret_aggregate, struct cv_error *err)
{
    (void)call;
    (void)ret_aggregate;
    return cv_fail(err, CV_UNSUPPORTED, "%s is not available: %s", rule->name, rule->detail);
}

#define ORDER  "which row is the first is not the same when a batch is done again"
#define GROWS  "its state grows with every value of a group"
#define DIGITS "its last digits depend on the order of the rows"

static const struct rule rules[] = {
    {"count", "count(*)", bind_count, 0, "count(*), count(value) → bigint", NULL},
    {"count_star", "count(*)", bind_count, 0, NULL, NULL},
    {"count_if", "count(CASE WHEN $1 THEN 1 END)", bind_count, 0, "count_if(condition) → bigint",
     NULL},
    {"sum", NULL, bind_sum, 0, "sum(number) → bigint, double or decimal(p + 10, s)",
     "overflow is an error of the row"},
    {"min", "min($1)", bind_extreme, CV_MERGE_MIN, "min(value) → its type", NULL},
    {"max", "max($1)", bind_extreme, CV_MERGE_MAX, "max(value) → its type",
     "NaN is the largest number"},
    {"avg", NULL, bind_average, 0, "avg(number) → double or decimal(p + 4, s + 4)", NULL},
    {"mean", NULL, bind_average, 0, "mean(number) → as avg", NULL},
    {"bool_and", "bool_and($1)", bind_bool, CV_MERGE_AND, "bool_and(boolean) → boolean", NULL},
    {"every", "bool_and($1)", bind_bool, CV_MERGE_AND, "every(boolean) → boolean", NULL},
    {"bool_or", "bool_or($1)", bind_bool, CV_MERGE_OR, "bool_or(boolean) → boolean", NULL},
    {"approx_count_distinct", NULL, bind_sketch, 0, "approx_count_distinct(value) → bigint",
     "HyperLogLog++ with Spark's registers: the same number as Spark's"},
    {"first", ORDER, refuse, 0},
    {"first_value", ORDER, refuse, 0},
    {"last", ORDER, refuse, 0},
    {"last_value", ORDER, refuse, 0},
    {"any_value", ORDER, refuse, 0},
    {"arbitrary", ORDER, refuse, 0},
    {"max_by", ORDER, refuse, 0},
    {"min_by", ORDER, refuse, 0},
    {"arg_max", ORDER, refuse, 0},
    {"arg_min", ORDER, refuse, 0},
    {"list", GROWS, refuse, 0},
    {"array_agg", GROWS, refuse, 0},
    {"collect_list", GROWS, refuse, 0},
    {"collect_set", GROWS, refuse, 0},
    {"string_agg", GROWS, refuse, 0},
    {"listagg", GROWS, refuse, 0},
    {"group_concat", GROWS, refuse, 0},
    {"median", GROWS, refuse, 0},
    {"mode", GROWS, refuse, 0},
    {"percentile", GROWS, refuse, 0},
    {"quantile", GROWS, refuse, 0},
    {"quantile_cont", GROWS, refuse, 0},
    {"approx_percentile", GROWS, refuse, 0},
    {"stddev", DIGITS, refuse, 0},
    {"stddev_pop", DIGITS, refuse, 0},
    {"stddev_samp", DIGITS, refuse, 0},
    {"variance", DIGITS, refuse, 0},
    {"var_pop", DIGITS, refuse, 0},
    {"var_samp", DIGITS, refuse, 0},
    {"corr", DIGITS, refuse, 0},
    {"covar_pop", DIGITS, refuse, 0},
    {"covar_samp", DIGITS, refuse, 0},
    {"skewness", DIGITS, refuse, 0},
    {"kurtosis", DIGITS, refuse, 0},
};

enum cv_code cv_aggregate_bind(struct cv_call *call, bool distinct,
                               struct cv_aggregate *ret_aggregate, struct cv_error *err)
{
    struct cv_aggregate aggregate = {0};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rules); i++) {
        const struct rule *rule = &rules[i];
        bool counts = rule->bind == bind_count;

        if (strcmp(rule->name, call->name) != 0)
            continue;
        if (distinct && rule->bind != refuse)
            return cv_fail(err, CV_UNSUPPORTED,
                           "%s(DISTINCT …) is not available in a stream, nor is it in Spark: use "
                           "approx_count_distinct, or two jobs",
                           rule->name);
        if (call->argument_count == 0 && !counts && rule->bind != refuse)
            return cv_fail(err, CV_SCHEMA, "%s: no argument is given", rule->name);
        CV_DO(rule->bind(rule, call, &aggregate, err));
        *ret_aggregate = aggregate;
        return CV_OK;
    }
    return cv_fail(err, CV_NOT_FOUND, "there is no aggregate function %s", call->name);
}

const char *cv_aggregate_signature(size_t index, const char **ret_note)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(rules); i++)
        if (rules[i].signature && index-- == 0) {
            *ret_note = rules[i].note;
            return rules[i].signature;
        }
    return NULL;
}
