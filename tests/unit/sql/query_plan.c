/* SPDX-License-Identifier: Apache-2.0
 *
 * What a plan asks of the decoder and of the state. */
#include "query_test.h"

struct plan {
    struct cv_test_query q;
    struct cv_query *query;
};

static void plan_release(struct plan *plan)
{
    cv_query_free(plan->query);
    cv_test_query_release(&plan->q);
}

/* Compiles the query; `set` may change the config before. */
static void plan_init(struct plan *plan, const char *sink, const char *sql,
                      void (*set)(struct cv_test_query *q))
{
    struct cv_duck_connection *parser = cv_test_duck();
    struct cv_error err = CV_ERROR_INIT;

    cv_test_query_init(&plan->q, sink)->sql = sql;
    if (set)
        set(&plan->q);
    CV_ASSERT_OK(cv_query_compile(&plan->q.config, parser, &plan->query, &err), &err);
}

static void complete(struct cv_test_query *q)
{
    q->config.complete = true;
}

static void watermark(struct cv_test_query *q)
{
    q->config.watermark = "ts"; /* value.ts */
}

static void complete_with_watermark(struct cv_test_query *q)
{
    q->config.complete = true;
    q->config.watermark = "value.ts";
}

static void distinct(struct cv_test_query *q)
{
    q->config.watermark = "value.ts";
    q->config.distinct = "a, b";
}

static void open_watermark(struct cv_test_query *q)
{
    cv_test_query_open(q);
    q->config.watermark = "value.ts";
}

/* "value.price as decimal(10, 2) try, …" without the record's own three. */
static void assert_inputs(const struct cv_query *query, const char *wanted)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    size_t count = query->input_schema.root.field_count;
    char type[CV_TYPE_TEXT_BYTES];

    for (size_t i = 0; i + 3 < count; i++) {
        const struct cv_query_input *input = &query->inputs[i];

        cv_type_text(&query->input_schema.root.fields[i].type, type);
        cv_buf_printf(&text, "%s%s %s%s%s", i ? ", " : "", input->text, type,
                      input->cast ? " cast" : "", input->try_cast ? " try" : "");
    }
    assert_string_equal(cv_buf_text(&text), wanted);
    assert_string_equal(query->inputs[count - 1].column, "offset");
    assert_string_equal(query->input_schema.root.fields[count - 3].name, "topic");
}

static void each_path_is_read_once(void **state)
{
    static const struct {
        const char *sink, *sql, *inputs;
        bool open;
    } cases[] = {
        {"a bigint, b string", "SELECT value.id + value.id AS a, value.place.city AS b FROM stream",
         "value.id long, value.place.city string", false},
        {"d decimal(10,2)", "SELECT CAST(value.price AS DECIMAL(10,2)) AS d FROM stream",
         "value.price decimal(10, 2) cast", false},
        {"d decimal(10,2)",
         "SELECT CAST(value.price AS DECIMAL(10,2)) AS d FROM stream WHERE value.id = 1",
         "value.id long, value.price string, value.price decimal(10, 2) cast try", false},
        {"b string", "SELECT CAST(value.id AS string) AS b FROM stream WHERE value.amount > 1",
         "value.amount int, value.id string cast", false},
        {"b string", "SELECT x.city AS b FROM (SELECT value.place AS x FROM stream) t",
         "value.place.city string", false},
        {"a bigint, n bigint", "SELECT value.n, CAST(value.a AS bigint) AS a FROM stream",
         "value.a long cast, value.n long", true},
        {"b string", "SELECT CAST(value.list AS array<struct<x: string>>)[1].x AS b FROM stream",
         "value.list list<struct<x: string>>", true},
        {"b string", "SELECT 'x' AS b FROM stream", "", false},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++) {
        struct plan plan;

        plan_init(&plan, cases[i].sink, cases[i].sql, cases[i].open ? cv_test_query_open : NULL);
        assert_inputs(plan.query, cases[i].inputs);
        plan_release(&plan);
    }
}

static void assert_keyed(const struct plan *plan, const char *names, size_t keys, size_t expiry)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    const struct cv_type *root = &plan->query->rows_schema.root;

    for (size_t i = 0; i < root->field_count; i++)
        cv_buf_printf(&text, "%s%s", i ? " " : "", root->fields[i].name);
    assert_string_equal(cv_buf_text(&text), names);
    assert_int_equal(plan->query->keyed.key_count, keys);
    assert_int_equal(plan->query->keyed.expiry_column, expiry);
    assert_ptr_equal(plan->query->keyed.schema, &plan->query->rows_schema);
}

static void event_time_leads_the_key(void **state)
{
    static const char by_window[] =
        "SELECT item AS b, w.start AS t, n AS a FROM (SELECT value.item, window(ts, '1 hour') AS "
        "w, "
        "count(*) AS n FROM (SELECT value.ts AS ts, value FROM stream) AS s GROUP BY 1, 2) AS g";
    static const char by_time[] =
        "SELECT value.item AS b, value.ts AS t, max(value.id) AS a FROM stream GROUP BY ALL";
    static const char sink[] = "a bigint, b string, t timestamp";
    struct plan plan;

    plan_init(&plan, sink, by_window, watermark);
    assert_keyed(&plan, "k1 k0 p0", 2, 0);
    assert_non_null(strstr(plan.query->watermark_sql, "SELECT max("));
    plan_release(&plan);
    plan_init(&plan, sink, by_time, watermark);
    assert_keyed(&plan, "k1 k0 p0", 2, 0);
    plan_release(&plan);
    plan_init(&plan, sink, by_window, complete_with_watermark);
    assert_keyed(&plan, "k1 k0 p0", 2, SIZE_MAX);
    plan_release(&plan);
    plan_init(&plan, "a bigint", "SELECT count(*) AS a FROM stream", complete);
    assert_keyed(&plan, "k0 p0", 1, SIZE_MAX);
    assert_null(plan.query->watermark_sql);
    plan_release(&plan);
}

/* In JSON without a schema the watermark's path is a timestamp, and so is the window's. */
static void open_paths_have_event_time(void **state)
{
    struct plan plan;

    plan_init(
        &plan, "a bigint, t timestamp",
        "SELECT count(*) AS a, window.end AS t FROM stream GROUP BY window(value.ts, '1 hour')",
        open_watermark);
    assert_inputs(plan.query, "value.ts timestamptz cast");
    assert_keyed(&plan, "k0 p0", 1, 0);
    plan_release(&plan);
}

/* Records that conditions leave out do not move the watermark, but for conditions on the event time
 * itself, and those that may fail behind one of these. */
static void the_watermark_is_of_what_conditions_let_through(void **state)
{
    static const struct {
        const char *where;
        const char *with, *without;
    } cases[] = {
        {"value.amount > 3 AND value.ts > TIMESTAMP '2026-01-01 00:00:00' AND value.item = 'ink'",
         "'ink'", "'1767225600000000'"},
        {"value.item = 'pen' AND CAST(value.price AS INT) > 7", "'pen'", NULL},
        {"value.item = 'pen' AND CAST(value.price AS INT) > 7", "> 7", NULL},
        {"value.ts IS NOT NULL AND CAST(value.price AS INT) > 7", NULL, "WHERE"},
        {"value.supplier IN (SELECT name FROM suppliers)", NULL, "WHERE"},
        {"timestamp < current_timestamp", NULL, "WHERE"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++) {
        CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
        struct plan plan;
        const char *sql;

        plan_init(&plan, "n bigint",
                  cv_arena_printf(&arena,
                                  "SELECT count(*) AS n FROM stream WHERE %s "
                                  "GROUP BY window(value.ts, '4 minutes', '3 minutes')",
                                  cases[i].where),
                  watermark);
        sql = plan.query->watermark_sql;
        assert_true(!cases[i].with || strstr(sql, cases[i].with));
        assert_true(!cases[i].without || !strstr(sql, cases[i].without));
        plan_release(&plan);
    }
}

static void distinct_rows_expire_and_are_late(void **state)
{
    struct plan plan;

    plan_init(&plan, "a bigint, b string, c string",
              "SELECT value.id AS a, value.item AS b, value.price AS c FROM stream", distinct);
    assert_int_equal(plan.query->kind, CV_QUERY_DISTINCT);
    assert_keyed(&plan, "k0 k1 topic partition offset event_time expires o0 o1 o2", 2, 6);
    assert_int_equal(plan.query->keyed.order_count, 3);
    assert_true(plan.query->keyed.late_by_column);
    assert_int_equal(plan.query->keyed.late_column, 5);
    assert_int_equal(plan.query->output_column, 7);
    /* To Spark a row without event time is of 1970: its key is forgotten with the batch. */
    assert_non_null(strstr(plan.query->rows_sql, "coalesce(epoch_us("));
    plan_release(&plan);
}

/* The fingerprint of a query in the arena of the caller. */
static const char *fingerprint(struct cv_arena *arena, const char *sql)
{
    struct plan plan;
    const char *text;

    plan_init(&plan, "a bigint, b string, d decimal(38,2)", sql, complete);
    text = cv_arena_strdup(arena, plan.query->fingerprint);
    assert_int_equal(strlen(text), 16);
    plan_release(&plan);
    return text;
}

static void the_fingerprint_is_that_of_the_state(void **state)
{
    static const char first[] =
        "SELECT upper(value.item) AS b, sum(value.id) AS a FROM stream WHERE "
        "value.amount > 3 GROUP BY 1";
    static const char *const same[] = {
        "SELECT  sum(value.id) AS a, upper(value.item) AS b FROM stream AS s\n WHERE "
        "s.value.amount "
        "> 3 GROUP BY b",
        "SELECT lower(b) || 'x' AS b, a * 2 AS a FROM (SELECT upper(value.item) AS b, "
        "sum(value.id) "
        "AS a FROM stream WHERE value.amount > 3 GROUP BY 1) AS g WHERE a > 7",
        "SELECT upper(value.item) AS b, sum(value.id) AS a FROM stream WHERE value.amount > 3 "
        "GROUP "
        "BY 1 HAVING reverse(b) <> 'X' ORDER BY a LIMIT 3",
    };
    static const char *const others[] = {
        "SELECT lower(value.item) AS b, sum(value.id) AS a FROM stream WHERE value.amount > 3 "
        "GROUP BY 1",
        "SELECT upper(value.item) AS b, sum(value.id) AS a FROM stream WHERE value.amount > 4 "
        "GROUP BY 1",
        "SELECT upper(value.item) AS b, max(value.id) AS a FROM stream WHERE value.amount > 3 "
        "GROUP BY 1",
        "SELECT upper(value.price) AS b, sum(value.id) AS a FROM stream WHERE value.amount > 3 "
        "GROUP BY 1",
        "SELECT upper(value.item) AS b, sum(value.id) AS a FROM stream GROUP BY 1",
        "SELECT upper(value.item) AS b, sum(value.amount) AS a FROM stream WHERE value.amount > 3 "
        "GROUP BY 1",
    };
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const char *mine;

    (void)cv_test_duck();
    mine = fingerprint(&arena, first);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(same); i++)
        assert_string_equal(fingerprint(&arena, same[i]), mine);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(others); i++)
        assert_string_not_equal(fingerprint(&arena, others[i]), mine);
}

/* The state of `distinct` has keys, whatever other columns the table gets. */
static void distinct_goes_on_in_a_table_with_more_columns(void **state)
{
    struct plan two, three, other;

    plan_init(&two, "a bigint, b string", "SELECT value.id AS a, value.item AS b FROM stream",
              distinct);
    plan_init(&three, "a bigint, b string, c string, d int",
              "SELECT value.id AS a, value.item AS b, value.price AS c FROM stream", distinct);
    plan_init(&other, "a bigint, b string", "SELECT value.id AS a, value.price AS b FROM stream",
              distinct);
    assert_string_equal(two.query->fingerprint, three.query->fingerprint);
    assert_string_not_equal(two.query->fingerprint, other.query->fingerprint);
    plan_release(&two);
    plan_release(&three);
    plan_release(&other);
}

static void a_query_tells_what_it_computes(void **state)
{
    struct plan plan;

    plan_init(&plan, "a bigint, b string, t timestamp",
              "SELECT sum(value.amount) + 1 AS a, window.start AS t FROM stream "
              "GROUP BY window(value.ts, '10 minutes'), value.item",
              watermark);
    assert_string_equal(
        cv_query_describe(plan.query, &plan.q.arena),
        "a long ← (sum(value.amount) + CAST(1 AS BIGINT))\n"
        "b string ← NULL, nothing feeds it\n"
        "t timestamptz ← window_start(value.ts)\n"
        "groups by window_end(value.ts), value.item\n"
        "state: 3 columns a group; a group leaves when the watermark has passed it\n"
        "watermark: value.ts - 600 s\n"
        "reads value.ts, value.amount, value.item of each record\n");
    plan_release(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_path_is_read_once),
        cmocka_unit_test(event_time_leads_the_key),
        cmocka_unit_test(open_paths_have_event_time),
        cmocka_unit_test(the_watermark_is_of_what_conditions_let_through),
        cmocka_unit_test(distinct_rows_expire_and_are_late),
        cmocka_unit_test(the_fingerprint_is_that_of_the_state),
        cmocka_unit_test(distinct_goes_on_in_a_table_with_more_columns),
        cmocka_unit_test(a_query_tells_what_it_computes),
    };

    return cmocka_run_group_tests(tests, NULL, cv_test_duck_close);
}
