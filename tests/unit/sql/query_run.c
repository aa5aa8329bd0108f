/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries give what they should over a few orders. The decoder is played by DuckDB: a view `input`
 * that has each input's path of a table of records; TRY_CAST where the decoder casts. Groups are
 * the rows of one execution. */
#include "query_test.h"

static const char *const records[] = {
    "CREATE TABLE suppliers (name VARCHAR, country VARCHAR, rate DECIMAL(5,2), item VARCHAR)",
    "INSERT INTO suppliers VALUES ('s1', 'DE', 1.50, 'x'), ('s2', 'FR', 2.00, NULL)",
    "CREATE TABLE records AS SELECT NULL::BLOB AS key, v AS value, 'orders' AS topic, "
    "0 AS partition, n::BIGINT AS \"offset\", TIMESTAMP '2026-01-01 00:00:00' AS timestamp, "
    "0 AS timestampType FROM (VALUES "
    "(0, {'id': 1::BIGINT, 'item': 'ink', 'price': '2.50', 'amount': 3, "
    "'total': 7.50::DECIMAL(10,2), 'supplier': 's1', 'ts': TIMESTAMP '2026-01-01 10:01:00', "
    "'tags': ['a', 'b'], 'place': {'city': 'Ulm', 'zip': 89073}, 'marks': MAP {'k': 5}, "
    "'Case': 1, 'case_': 2}), "
    "(1, {'id': 2, 'item': 'pen', 'price': 'cheap', 'amount': NULL, 'total': 1.25, "
    "'supplier': 's9', 'ts': TIMESTAMP '2026-01-01 10:07:30', 'tags': [], 'place': NULL, "
    "'marks': NULL, 'Case': 1, 'case_': 2}), "
    "(2, {'id': 3, 'item': 'ink', 'price': '-1', 'amount': 4, 'total': 0.25, 'supplier': 's2', "
    "'ts': NULL, 'tags': NULL, 'place': {'city': NULL, 'zip': 1}, 'marks': MAP {}, 'Case': 1, "
    "'case_': 2}), "
    "(3, {'id': 4, 'item': NULL, 'price': NULL, 'amount': 5, 'total': NULL, 'supplier': 's1', "
    "'ts': TIMESTAMP '2026-01-01 10:12:00', 'tags': ['c'], 'place': {'city': 'Bonn', 'zip': 2}, "
    "'marks': MAP {'k': 6, 'l': 7}, 'Case': 1, 'case_': 2})) AS t(n, v)",
};

static const char *duck_type(enum cv_type_kind kind)
{
    return kind == CV_TYPE_LONG     ? "BIGINT"
           : kind == CV_TYPE_INT    ? "INTEGER"
           : kind == CV_TYPE_DOUBLE ? "DOUBLE"
           : kind == CV_TYPE_STRING ? "VARCHAR"
                                    : NULL;
}

/* CREATE VIEW input over the records, as the query wants it. */
static void create_input(struct cv_duck_connection *connection, const struct cv_query *query)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;

    cv_buf_append_text(&sql, "CREATE VIEW input AS SELECT ");
    for (size_t i = 0; i < query->input_schema.root.field_count; i++) {
        const struct cv_query_input *input = &query->inputs[i];
        const struct cv_type *type = &input->cast_type;

        cv_buf_printf(&sql, "%s%s", i ? ", " : "", input->cast ? "TRY_CAST(" : "");
        cv_buf_printf(&sql, "records.\"%s\"", input->column);
        for (size_t j = 0; j < input->path_length; j++)
            cv_buf_printf(&sql, ".\"%s\"", input->path[j]);
        if (input->cast && type->kind == CV_TYPE_DECIMAL)
            cv_buf_printf(&sql, " AS DECIMAL(%d,%d))", type->precision, type->scale);
        else if (input->cast)
            cv_buf_printf(&sql, " AS %s)", duck_type(type->kind));
        cv_buf_printf(&sql, " AS \"%s\"", query->input_schema.root.fields[i].name);
    }
    cv_buf_append_text(&sql, " FROM records");
    CV_ASSERT_OK(cv_duck_execute(connection, cv_buf_text(&sql), &err), &err);
}

/* The rows of a query as one text, in their order, or sorted. */
static enum cv_code rows_text(struct cv_duck_connection *connection, const char *sql, bool sorted,
                              struct cv_arena *arena, const char **ret_text, struct cv_error *err)
{
    const char *all = cv_arena_printf(arena,
                                      "SELECT coalesce(string_agg(r, ' ' %s), '') FROM (SELECT "
                                      "replace(CAST(x AS VARCHAR), '''', '') AS r FROM "
                                      "(%s) AS x) WHERE CAST($1 AS TIMESTAMP) IS NOT NULL",
                                      sorted ? "ORDER BY r" : "", sql);

    return cv_duck_text(connection, all, "2026-02-03 04:05:06", arena, ret_text, err);
}

/* Runs it in a database of its own, over `more` rows instead of the records where it is given. */
static enum cv_code run_over(const struct cv_query_config *config, const char *more,
                             struct cv_arena *arena, const char **ret_text, struct cv_error *err)
{
    const struct cv_duck_config memory = {.memory_bytes = CV_TEST_DUCK_BYTES};
    CV_CLEANUP(cv_duck_freep) struct cv_duck *duck = NULL;
    CV_CLEANUP(cv_duck_disconnectp) struct cv_duck_connection *connection = NULL;
    CV_CLEANUP(cv_query_freep) struct cv_query *query = NULL;

    (void)cv_test_duck();
    CV_DO(cv_duck_open(&memory, &duck, err));
    CV_DO(cv_duck_connect(duck, &connection, err));
    CV_DO(cv_query_compile(config, connection, &query, err));
    CV_DO(cv_natives_register(query->natives, connection, err));
    for (size_t i = 0; i < CV_ARRAY_LENGTH(records); i++)
        CV_DO(cv_duck_execute(connection, records[i], err));
    if (more)
        CV_DO(cv_duck_execute(connection, more, err));
    create_input(connection, query);
    if (query->kind == CV_QUERY_ROWS || query->kind == CV_QUERY_DISTINCT)
        return rows_text(connection, query->rows_sql, true, arena, ret_text, err);
    CV_DO(cv_duck_execute(
        connection, cv_arena_printf(arena, "CREATE VIEW \"groups\" AS %s", query->rows_sql), err));
    return rows_text(connection, query->final_sql, !query->final_orders, arena, ret_text, err);
}

static enum cv_code run(const struct cv_query_config *config, struct cv_arena *arena,
                        const char **ret_text, struct cv_error *err)
{
    return run_over(config, NULL, arena, ret_text, err);
}

struct good {
    const char *sink, *sql, *rows;
};

static void assert_rows(const struct good *good, bool complete, const char *watermark)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_test_query q;
    const char *text = "";

    (void)cv_test_duck();
    cv_test_query_init(&q, good->sink)->sql = good->sql;
    q.config.complete = complete;
    q.config.watermark = watermark;
    CV_ASSERT_OK(run(&q.config, &q.arena, &text, &err), &err);
    assert_string_equal(text, good->rows);
    cv_test_query_release(&q);
}

static const struct good rows[] = {
    {"a bigint, b string", "SELECT value.id AS a, upper(value.item) AS b FROM stream",
     "{a: 1, b: INK} {a: 2, b: PEN} {a: 3, b: INK} {a: 4, b: NULL}"},
    {"a bigint, o bigint",
     "SELECT id AS a, o FROM (SELECT value.*, offset AS o FROM stream) t "
     "WHERE t.amount > 3",
     "{a: 3, o: 2} {a: 4, o: 3}"},
    {"city string, tag string, mark int",
     "SELECT value.place.city, value.tags[1] AS tag, value.marks['k'] AS mark FROM stream s WHERE "
     "s.value.id <> 2",
     "{city: Bonn, tag: c, mark: 6} {city: NULL, tag: NULL, mark: NULL} "
     "{city: Ulm, tag: a, mark: 5}"},
    {"a bigint, c string",
     "SELECT s.value.id AS a, country AS c FROM stream s JOIN suppliers ON value.supplier = name",
     "{a: 1, c: DE} {a: 3, c: FR} {a: 4, c: DE}"},
    {"a bigint, c string",
     "WITH d AS (SELECT name AS supplier, lower(country) AS c FROM suppliers WHERE rate < 2) "
     "SELECT value.id AS a, d.c FROM stream LEFT JOIN d ON value.supplier = d.supplier",
     "{a: 1, c: de} {a: 2, c: NULL} {a: 3, c: NULL} {a: 4, c: de}"},
    {"a bigint",
     "SELECT value.id AS a FROM stream WHERE value.supplier IN (SELECT name FROM "
     "suppliers WHERE country <> 'FR')",
     "{a: 1} {a: 4}"},
    {"a bigint",
     "SELECT value.id AS a FROM stream s WHERE NOT EXISTS (SELECT 1 FROM suppliers d "
     "WHERE d.name = s.value.supplier AND d.rate > 1.75)",
     "{a: 1} {a: 2} {a: 4}"},
    {"a bigint",
     "SELECT value.id AS a FROM stream ANTI JOIN suppliers s ON s.name = value.supplier", "{a: 2}"},
    {"l array<int>, n boolean",
     "SELECT array(1, value.amount) AS l, value.amount <=> NULL AS n FROM stream WHERE value.id < "
     "3",
     "{l: [1, 3], n: false} {l: [1, NULL], n: true}"},
    {"a bigint, r decimal(5,2)",
     "SELECT value.id AS a, r FROM stream JOIN (SELECT country, max(rate) AS r, min(name) AS n "
     "FROM "
     "suppliers GROUP BY country HAVING count(*) = 1) AS d ON d.n = value.supplier AND d.r < 2",
     "{a: 1, r: 1.50} {a: 4, r: 1.50}"},
    {"a bigint, b bigint", "SELECT value.id + 1 AS a, a * 2 AS b FROM stream WHERE value.id = 3",
     "{a: 4, b: 8}"},
    {"a bigint, p decimal(10,2)",
     "SELECT value.id AS a, CAST(value.price AS DECIMAL(10,2)) AS p FROM stream "
     "WHERE value.price <> 'cheap'",
     "{a: 1, p: 2.50} {a: 3, p: -1.00}"},
    {"a bigint, p double", "SELECT value.id AS a, TRY_CAST(value.price AS DOUBLE) AS p FROM stream",
     "{a: 1, p: 2.5} {a: 2, p: NULL} {a: 3, p: -1.0} {a: 4, p: NULL}"},
    {"t timestamp, d date, n int",
     "SELECT TIMESTAMP '2020-01-02 03:04:05.5' AS t, DATE '2020-02-29' AS d, NULL AS n FROM stream "
     "WHERE value.id = 1",
     "{t: 2020-01-02 03:04:05.5, d: 2020-02-29, n: NULL}"},
    {"t timestamp, a bigint",
     "SELECT current_timestamp AS t, value.id AS a FROM stream WHERE offset = 2",
     "{t: 2026-02-03 04:05:06, a: 3}"},
    {"s timestamp, e timestamp",
     "SELECT w.start AS s, w.end AS e FROM (SELECT window(value.ts, '10 minutes', '5 minutes') AS "
     "w,"
     " value.id FROM stream) WHERE id = 2",
     "{s: 2026-01-01 10:00:00, e: 2026-01-01 10:10:00} "
     "{s: 2026-01-01 10:05:00, e: 2026-01-01 10:15:00}"},
};

static const struct good groups[] = {
    {"item string, n bigint, s bigint",
     "SELECT value.item, count(*) AS n, sum(value.amount) AS s FROM stream GROUP BY value.item",
     "{item: NULL, n: 1, s: 5} {item: ink, n: 2, s: 7} {item: pen, n: 1, s: "
     "NULL}"},
    {"item string, n bigint",
     "SELECT value.item AS item, count(*) AS n FROM stream GROUP BY ALL ORDER BY n DESC, item "
     "LIMIT 2",
     "{item: ink, n: 2} {item: NULL, n: 1}"},
    {"a double, n bigint, m bigint",
     "SELECT avg(value.amount) AS a, count(value.amount) AS n, count(*) FILTER (WHERE value.item = "
     "'ink') AS m FROM stream",
     "{a: 4.0, n: 3, m: 2}"},
    {"k string, n bigint",
     "SELECT 'k' || CAST(value.id AS string) AS k, count(*) AS n FROM stream GROUP BY value.id",
     "{k: k1, n: 1} {k: k2, n: 1} {k: k3, n: 1} {k: k4, n: 1}"},
    {"p double, n bigint",
     "SELECT CAST(value.price AS double) AS p, count(*) AS n FROM stream WHERE value.price <> "
     "'cheap' GROUP BY value.price",
     "{p: -1.0, n: 1} {p: 2.5, n: 1}"},
    {"n bigint", "SELECT count(*) AS n FROM stream WHERE value.id > 99", "{n: 0}"},
    {"i string, n bigint",
     "SELECT upper(value.item) AS i, count(*) + 1 AS n FROM stream GROUP BY 1 HAVING n > 2",
     "{i: INK, n: 3}"},
    {"y string",
     "SELECT i || '!' AS y FROM (SELECT value.item AS i, count(*) AS n FROM stream GROUP BY 1) "
     "WHERE n = 1 AND i IS NOT NULL",
     "{y: pen!}"},
    {"e timestamp, n bigint",
     "SELECT window.end AS e, count(*) AS n FROM stream GROUP BY window(value.ts, '10 minutes')",
     "{e: 2026-01-01 10:10:00, n: 2} {e: 2026-01-01 10:20:00, n: 1}"},
    {"w struct<start: timestamp, end: timestamp>, n bigint",
     "SELECT window(value.ts, '4 minutes', '3 minutes', '1 minute') AS w, count(*) AS n FROM "
     "stream "
     "GROUP BY 1 ORDER BY w.start",
     "{w: {start: 2026-01-01 09:58:00, end: 2026-01-01 10:02:00}, n: 1} "
     "{w: {start: 2026-01-01 10:01:00, end: 2026-01-01 10:05:00}, n: 1} "
     "{w: {start: 2026-01-01 10:04:00, end: 2026-01-01 10:08:00}, n: 1} "
     "{w: {start: 2026-01-01 10:07:00, end: 2026-01-01 10:11:00}, n: 1} "
     "{w: {start: 2026-01-01 10:10:00, end: 2026-01-01 10:14:00}, n: 1}"},
    {"item string", "SELECT DISTINCT value.item FROM stream",
     "{item: NULL} {item: ink} {item: pen}"},
    {"c string, n bigint",
     "SELECT country AS c, count(*) AS n FROM stream JOIN suppliers s ON s.name = value.supplier "
     "GROUP BY country",
     "{c: DE, n: 2} {c: FR, n: 1}"},
};

static void rows_are_right(void **state)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++)
        assert_rows(&rows[i], false, NULL);
}

static void groups_are_right(void **state)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(groups); i++)
        assert_rows(&groups[i], true, NULL);
}

static void errors_of_a_row_come_when_the_row_is_taken(void **state)
{
    static const struct {
        const char *sink, *sql, *message;
    } cases[] = {
        {"p decimal(10,2)",
         "SELECT CAST(value.price AS DECIMAL(10,2)) AS p FROM stream WHERE value.id = 2", "cheap"},
        {"b string NOT NULL", "SELECT value.item AS b FROM stream",
         "column b is required and the value is NULL"},
        {"a int", "SELECT value.amount * 2000000000 AS a FROM stream", ""},
        {"a double", "SELECT value.id / 0 AS a FROM stream", ""},
    };
    struct cv_error err = CV_ERROR_INIT;
    struct cv_test_query q;
    const char *text;

    (void)cv_test_duck();
    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++) {
        cv_test_query_init(&q, cases[i].sink)->sql = cases[i].sql;
        CV_ASSERT_FAILS(run(&q.config, &q.arena, &text, &err), CV_RECORD, cases[i].message, &err);
        cv_test_query_release(&q);
    }
}

/* DuckDB sums in 128 bits, which take some numbers of 39 digits. */
static void a_sum_has_at_most_38_digits(void **state)
{
    static const char *const sums[] = {
        "SELECT sum(CAST('60000000000000000000000000000000000000' AS DECIMAL(38,0))) AS s FROM "
        "stream WHERE value.id <= ",
        "SELECT sum(CAST('-600000000000000000000000000000000000.00' AS DECIMAL(38,2))) AS s FROM "
        "stream WHERE value.id <= ",
    };
    static const char *const sinks[] = {"s decimal(38,0)", "s decimal(38,2)"};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_test_query q;
    const char *text;

    (void)cv_test_duck();
    for (size_t i = 0; i < CV_ARRAY_LENGTH(sums); i++) {
        cv_test_query_init(&q, sinks[i])->complete = true;
        q.config.sql = cv_arena_printf(&q.arena, "%s1", sums[i]);
        CV_ASSERT_OK(run(&q.config, &q.arena, &text, &err), &err);
        q.config.sql = cv_arena_printf(&q.arena, "%s2", sums[i]);
        CV_ASSERT_FAILS(run(&q.config, &q.arena, &text, &err), CV_RECORD,
                        "a sum has more than 38 digits", &err);
        cv_test_query_release(&q);
    }
}

/* DuckDB tries other orders of AND to find the quickest: not where a later condition may fail for
 * rows that an earlier one leaves out. */
static void conditions_are_taken_in_order(void **state)
{
    static const char many[] =
        "CREATE OR REPLACE TABLE records AS SELECT NULL::BLOB AS key, {'item': CASE n % 2 WHEN 0 "
        "THEN 'n' ELSE 'x' || n END, 'price': CASE n % 2 WHEN 0 THEN n::VARCHAR ELSE 'bad' END, "
        "'amount': CASE n % 2 WHEN 0 THEN 1 ELSE 2147483647 END} AS "
        "value, 'orders' AS topic, 0 AS partition, n::BIGINT AS \"offset\", NULL::TIMESTAMP AS "
        "timestamp, 0 AS timestampType FROM range(500000) AS t(n)";
    static const char *const sources[] = {
        "stream WHERE value.item = 'n' AND CAST(value.price AS INT) >= 0",
        "stream WHERE upper(reverse(value.item)) = 'N' AND CAST(value.price AS INT) >= 0",
        "stream WHERE value.item LIKE 'n%' AND CAST(value.price AS INT) > -1 AND CAST(value.price "
        "AS INT) >= 0",
        "stream WHERE CASE WHEN value.item = 'n' THEN CAST(value.price AS INT) ELSE -1 END >= 0",
        "stream WHERE value.item = 'n' AND value.amount + 1 > 0",
        "stream WHERE NOT (value.item <> 'n' OR CAST(value.price AS INT) < 0)",
        "(SELECT value.price, value.amount FROM stream WHERE value.item = 'n') AS t WHERE amount > "
        "0 "
        "AND CAST(price AS INT) >= 0",
    };
    struct cv_error err = CV_ERROR_INIT;
    struct cv_test_query q;
    const char *text;

    (void)cv_test_duck();
    for (size_t i = 0; i < CV_ARRAY_LENGTH(sources); i++) {
        cv_test_query_init(&q, "n bigint");
        q.config.complete = true;
        q.config.sql = cv_arena_printf(&q.arena, "SELECT count(*) AS n FROM %s", sources[i]);
        CV_ASSERT_OK(run_over(&q.config, many, &q.arena, &text, &err), &err);
        assert_string_equal(text, "{n: 250000}");
        cv_test_query_release(&q);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_right),
        cmocka_unit_test(groups_are_right),
        cmocka_unit_test(errors_of_a_row_come_when_the_row_is_taken),
        cmocka_unit_test(a_sum_has_at_most_38_digits),
        cmocka_unit_test(conditions_are_taken_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, cv_test_duck_close);
}
