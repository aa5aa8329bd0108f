/* SPDX-License-Identifier: Apache-2.0
 *
 * What is wrong with a query is told with the line and column where it is. */
#include "query_test.h"

struct bad {
    const char *sql, *message;
    enum cv_code code;
};

static const struct bad names[] = {
    {"SELECT value.pric AS a FROM stream",
     "sql line 1 column 8: there is no column value.pric; nearest: value.price", CV_CONFIG},
    {"SELECT\n  item AS b\nFROM stream",
     "sql line 2 column 3: there is no column item; nearest: value.item", CV_CONFIG},
    {"SELECT 'ä' || `x` AS b FROM stream", "sql line 1 column 15: there is no column x", CV_CONFIG},
    {"SELECT s.value.id AS a FROM streem s",
     "sql line 1 column 29: there is no table streem; there are stream, suppliers", CV_CONFIG},
    {"SELECT value.item.x AS b FROM stream",
     "sql line 1 column 8: value.item has no field x: it is string", CV_CONFIG},
    {"SELECT value.id AS a, item AS b FROM stream JOIN suppliers s ON TRUE JOIN suppliers t ON "
     "TRUE",
     "sql line 1 column 23: item is ambiguous: it may be s.item, t.item", CV_CONFIG},
    {"SELECT value.CASE AS b FROM stream",
     "sql line 1 column 8: there is no column value.CASE; nearest: value.Case", CV_CONFIG},
    {"SELECT concat(value.item, \"x\") AS b FROM stream",
     "sql line 1 column 27: there is no column x; a text is written in single quotes", CV_CONFIG},
    {"SELECT t.x AS b FROM (SELECT value.item AS x, value.item AS x FROM stream) t",
     "sql line 1 column 8: x is ambiguous", CV_CONFIG},
    {"SELECT value.id AS a, value.id AS A FROM stream",
     "sql line 1 column 23: column a comes more than once", CV_CONFIG},
    {"SELECT value.id AS zz FROM stream", "sql line 1 column 8: the table has no column zz",
     CV_SCHEMA},
    {"SELECT value.id + 1 FROM stream",
     "sql line 1 column 17: item 1 needs the name of a column: AS", CV_CONFIG},
    {"SELECT value.id AS a FROM stream s JOIN stream t ON s.key = t.key",
     "sql line 1 column 41: the stream stands in FROM twice", CV_UNSUPPORTED},
};

static const struct bad syntax[] = {
    {"SELEC 1", "sql line 1 column 1: syntax error at or near \"SELEC\"", CV_CONFIG},
    {"SELECT 'ä',\n\n value.item b b FROM stream", "sql line 3 column 15: syntax error", CV_CONFIG},
    {"SELECT `a FROM stream", "sql line 1 column 8: a name in backquotes has no end", CV_CONFIG},
    {"SELECT (1 FROM stream", "sql line 1 column 11: syntax error at or near \"FROM\"", CV_CONFIG},
    {"SELECT 1 AS a FROM", "sql line 1 column 19: the text ends too early", CV_CONFIG},
    {"DELETE FROM stream", "sql line 1 column 1: only a SELECT is possible", CV_UNSUPPORTED},
    {"SELECT 1; SELECT 2", "sql line 1 column 1: one SELECT is expected, not 2", CV_UNSUPPORTED},
    {"", "sql line 1 column 1: one SELECT is expected, not 0", CV_UNSUPPORTED},
};

static const struct bad types[] = {
    {"SELECT value.item AS a FROM stream",
     "sql line 1 column 8: column a is long and gets string: write a CAST", CV_SCHEMA},
    {"SELECT CAST('x1' AS INT) AS a FROM stream", "\"x1\" cannot be cast to int", CV_CONFIG},
    {"SELECT DATE '2020-02-30' AS a FROM stream", "cannot be cast to date", CV_CONFIG},
    {"SELECT CAST(value.id AS hugeint) AS a FROM stream",
     "sql line 1 column 8: the type HUGEINT is not supported", CV_UNSUPPORTED},
    {"SELECT CAST(value.id AS DECIMAL(39,0)) AS a FROM stream",
     "sql line 1 column 8: the type DECIMAL of more than 38 digits is not supported",
     CV_UNSUPPORTED},
    {"SELECT 1234567890123456789012345678901234567890 AS a FROM stream",
     "sql line 1 column 8: the number has more than 38 digits", CV_CONFIG},
    {"SELECT 1e400 AS d FROM stream", "sql line 1 column 8: the number does not fit a double",
     CV_CONFIG},
    {"SELECT value.id AS a FROM stream WHERE value.item",
     "sql line 1 column 40: a condition is expected in WHERE, not string", CV_SCHEMA},
    {"SELECT value.id AS a FROM stream WHERE value.place = 3", "sql line 1 column 52: ", CV_SCHEMA},
    {"SELECT foo(value.id) AS a FROM stream", "sql line 1 column 8: there is no function foo",
     CV_CONFIG},
    {"SELECT struct_extract() AS a FROM stream", "sql line 1 column 8: ", CV_SCHEMA},
    {"SELECT rand() AS d FROM stream", "sql line 1 column 8: ", CV_UNSUPPORTED},
    {"SELECT window(value.ts, '1 month') AS b FROM stream",
     "sql line 1 column 25: window(): the size: ", CV_CONFIG},
    {"SELECT window(value.ts, '1 minute', '2 minutes') AS b FROM stream",
     "sql line 1 column 8: window(): the slide may not be longer than the size", CV_CONFIG},
};

static const struct bad beyond[] = {
    {"SELECT value.id AS a FROM stream UNION ALL SELECT 1", "UNION, EXCEPT and INTERSECT",
     CV_UNSUPPORTED},
    {"SELECT row_number() OVER () AS a FROM stream", "sql line 1 column 8: OVER", CV_UNSUPPORTED},
    {"SELECT value.id AS a FROM stream QUALIFY TRUE", "QUALIFY", CV_UNSUPPORTED},
    {"SELECT value.id AS a FROM stream TABLESAMPLE 10%", "SAMPLE", CV_UNSUPPORTED},
    {"SELECT count(*) AS a FROM stream GROUP BY ROLLUP (value.id)", "GROUPING SETS",
     CV_UNSUPPORTED},
    {"WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT 2) SELECT 1 AS a FROM t", "a recursive WITH",
     CV_UNSUPPORTED},
    {"SELECT * FROM read_csv('/etc/passwd')", "a function as a table", CV_UNSUPPORTED},
    {"SELECT * FROM '/etc/passwd.csv'", "there is no table /etc/passwd.csv", CV_CONFIG},
    {"SELECT (SELECT max(rate) FROM suppliers) AS a FROM stream", "a subquery as a value",
     CV_UNSUPPORTED},
    {"SELECT list_transform(value.tags, x -> x) AS b FROM stream", "lambda", CV_UNSUPPORTED},
    {"SELECT session_window(value.ts, '1 minute') AS b FROM stream",
     "session_window() is not supported", CV_UNSUPPORTED},
    {"SELECT value.id AS a FROM suppliers s LEFT JOIN stream ON TRUE",
     "the stream has to stand on the left", CV_UNSUPPORTED},
    {"SELECT value.id AS a FROM stream NATURAL JOIN suppliers", "a NATURAL join", CV_UNSUPPORTED},
    {"SELECT value.id AS a FROM stream FULL JOIN suppliers ON TRUE", "a FULL join", CV_UNSUPPORTED},
    {"SELECT $1 AS a FROM stream", "a parameter", CV_UNSUPPORTED},
    {"SELECT name AS b FROM suppliers", "FROM stream is missing", CV_CONFIG},
    {"SELECT value.id AS a FROM stream ORDER BY 1",
     "sql line 1 column 43: ORDER BY is only possible over an aggregation in outputMode complete",
     CV_UNSUPPORTED},
    {"SELECT value.id AS a FROM stream LIMIT 3", "sql line 1 column 40: LIMIT is only possible",
     CV_UNSUPPORTED},
    {"SELECT a FROM (SELECT value.id AS a FROM stream LIMIT 3)",
     "LIMIT is only supported at the end", CV_UNSUPPORTED},
    {"SELECT count(*) AS a FROM stream", "set watermark:", CV_UNSUPPORTED},
};

/* In outputMode complete. */
static const struct bad groups[] = {
    {"SELECT value.id AS a FROM stream", "outputMode complete needs an aggregation",
     CV_UNSUPPORTED},
    {"SELECT value.item AS b, count(*) AS a FROM stream GROUP BY value.id",
     "sql line 1 column 8: column value.item is neither in GROUP BY nor in an aggregate",
     CV_CONFIG},
    {"SELECT sum(count(*)) AS a FROM stream", "sql line 1 column 12: count() inside of another",
     CV_CONFIG},
    {"SELECT count(*) AS a FROM stream WHERE count(*) > 1",
     "sql line 1 column 40: count() is an aggregate: not possible in WHERE (HAVING", CV_CONFIG},
    {"SELECT value.id AS a FROM stream GROUP BY 3", "sql line 1 column 43: GROUP BY 3: there are 1",
     CV_CONFIG},
    {"SELECT count(*) AS a FROM stream GROUP BY value.place", "GROUP BY a struct", CV_UNSUPPORTED},
    {"SELECT count(*) AS a FROM stream GROUP BY count(*)", "an aggregate", CV_CONFIG},
    {"SELECT count(DISTINCT value.id) AS a FROM stream", "sql line 1 column 8: ", CV_UNSUPPORTED},
    {"SELECT first(value.id) AS a FROM stream", "sql line 1 column 8: ", CV_UNSUPPORTED},
    {"SELECT max(n) AS a FROM (SELECT count(*) AS n FROM stream GROUP BY value.id)",
     "more than one level of aggregation", CV_UNSUPPORTED},
    {"SELECT DISTINCT count(*) AS a FROM stream", "DISTINCT of an aggregation", CV_UNSUPPORTED},
    {"SELECT a FROM (SELECT value.item AS i, count(*) AS a FROM stream GROUP BY 1) t "
     "JOIN suppliers s ON s.item = t.i",
     "a join after an aggregation", CV_UNSUPPORTED},
    {"SELECT count(*) AS a FROM stream ORDER BY a OFFSET 2", "OFFSET is not supported",
     CV_UNSUPPORTED},
    {"SELECT count(*) AS a FROM stream GROUP BY window(value.ts, '1 hour'), "
     "window(value.ts, '1 day')",
     "two different window()", CV_UNSUPPORTED},
};

static void assert_bad(const struct bad *bad, bool complete)
{
    struct cv_duck_connection *parser = cv_test_duck();
    struct cv_error err = CV_ERROR_INIT;
    struct cv_query *query;
    struct cv_test_query q;

    cv_test_query_init(&q, "a bigint, b string, d double")->sql = bad->sql;
    q.config.complete = complete;
    CV_ASSERT_FAILS(cv_query_compile(&q.config, parser, &query, &err), bad->code, bad->message,
                    &err);
    cv_test_query_release(&q);
}

#define ASSERT_ALL_BAD(list, complete)                                                             \
    for (size_t i = 0; i < CV_ARRAY_LENGTH(list); i++)                                             \
    assert_bad(&(list)[i], complete)

static void names_are_looked_up(void **state)
{
    ASSERT_ALL_BAD(names, false);
}

static void syntax_errors_have_a_place(void **state)
{
    ASSERT_ALL_BAD(syntax, false);
}

static void types_are_checked(void **state)
{
    ASSERT_ALL_BAD(types, false);
}

static void what_a_stream_cannot_is_refused_by_name(void **state)
{
    ASSERT_ALL_BAD(beyond, false);
}

static void aggregations_are_checked(void **state)
{
    ASSERT_ALL_BAD(groups, true);
}

/* A table that is missing is one problem, not one for each of its columns. */
static void a_missing_table_is_one_problem(void **state)
{
    struct cv_duck_connection *parser = cv_test_duck();
    struct cv_error err = CV_ERROR_INIT;
    struct cv_query *query;
    struct cv_test_query q;

    cv_test_query_init(&q, "a bigint")->sql = "SELECT value.id AS a FROM stream s JOIN supplier t "
                                              "ON t.name = s.value.supplier WHERE t.rate > 1";
    CV_ASSERT_FAILS(cv_query_compile(&q.config, parser, &query, &err), CV_CONFIG,
                    "sql line 1 column 41: there is no table supplier", &err);
    assert_null(strstr(err.message, "no column"));
    cv_test_query_release(&q);
}

static void all_problems_come_at_once(void **state)
{
    static const struct bad many = {
        "SELECT value.x AS a,\n  foo(1) AS b, value.item AS d\nFROM stream",
        "; sql line 2 column 3: there is no function foo; sql line 2 "
        "column 16: column d is double and gets string",
        CV_CONFIG};

    assert_bad(&many, false);
}

static void letter_case_may_not_matter(void **state)
{
    struct cv_duck_connection *parser = cv_test_duck();
    struct cv_error err = CV_ERROR_INIT;
    struct cv_query *query;
    struct cv_test_query q;

    cv_test_query_init(&q, "b string, a int")->select = "VALUE.Item AS b";
    q.config.case_sensitive = false;
    CV_ASSERT_OK(cv_query_compile(&q.config, parser, &query, &err), &err);
    assert_string_equal(query->inputs[0].text, "value.item");
    cv_query_free(query);
    q.config.select = "value.CASE AS a";
    CV_ASSERT_FAILS(cv_query_compile(&q.config, parser, &query, &err), CV_CONFIG,
                    "value.CASE is ambiguous: several fields differ only in letter case", &err);
    cv_test_query_release(&q);
}

/* A part of a query may not bring the rest of one along. */
static void select_and_where_are_only_parts(void **state)
{
    static const struct {
        const char *select, *where, *message;
    } cases[] = {
        {"value.id a FROM stream --", NULL, "select line 1 column 26: the text ends"},
        {"value.id a FROM suppliers UNION ALL SELECT 1 a", NULL, "select line 1 column 1: only"},
        {"value.id a) (", NULL, "select line 1 column 11: syntax error"},
        {"DISTINCT value.id a", NULL, "only columns and expressions may stand here"},
        {"value.id a", "TRUE) GROUP BY (value.id", "where line 1 column 1: only a condition"},
        {"value.id a", "\n value.idd > 1", "where line 2 column 2: there is no column value.idd"},
        {"value.id a", "value.id >", "where line 1 column 11: the text ends too early"},
    };
    struct cv_duck_connection *parser = cv_test_duck();

    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++) {
        struct cv_error err = CV_ERROR_INIT;
        struct cv_query *query;
        struct cv_test_query q;
        enum cv_code code;

        cv_test_query_init(&q, "a bigint")->select = cases[i].select;
        q.config.where = cases[i].where;
        code = cv_query_compile(&q.config, parser, &query, &err);
        assert_int_not_equal(code, CV_OK);
        if (!strstr(err.message, cases[i].message))
            fail_msg("\"%s\" lacks \"%s\"", err.message, cases[i].message);
        cv_test_query_release(&q);
    }
}

/* Towers of derived tables, each of which doubles what is beneath, end in an error. */
static void towers_are_limited(void **state)
{
    struct cv_duck_connection *parser = cv_test_duck();
    CV_CLEANUP(cv_buf_release) struct cv_buf sql = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;
    struct cv_query *query;
    struct cv_test_query q;

    cv_buf_append_text(&sql, "WITH c0 AS (SELECT value.item AS x FROM stream)");
    for (int i = 1; i < 40; i++)
        cv_buf_printf(&sql, ", c%d AS (SELECT x || x || x AS x FROM c%d)", i, i - 1);
    cv_buf_append_text(&sql, " SELECT x AS b FROM c39");
    cv_test_query_init(&q, "b string")->sql = cv_buf_text(&sql);
    CV_ASSERT_FAILS(cv_query_compile(&q.config, parser, &query, &err), CV_LIMIT, "too long", &err);
    cv_buf_clear(&sql);
    cv_buf_append_text(&sql, "WITH c0 AS (SELECT name FROM suppliers)");
    for (int i = 1; i < 40; i++)
        cv_buf_printf(&sql, ", c%d AS (SELECT a.name FROM c%d a JOIN c%d b ON TRUE)", i, i - 1,
                      i - 1);
    cv_buf_append_text(&sql, " SELECT value.item AS b FROM stream JOIN c39 ON TRUE");
    q.config.sql = cv_buf_text(&sql);
    CV_ASSERT_FAILS(cv_query_compile(&q.config, parser, &query, &err), CV_LIMIT,
                    "more than 1000 queries", &err);
    cv_test_query_release(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_looked_up),
        cmocka_unit_test(syntax_errors_have_a_place),
        cmocka_unit_test(types_are_checked),
        cmocka_unit_test(what_a_stream_cannot_is_refused_by_name),
        cmocka_unit_test(aggregations_are_checked),
        cmocka_unit_test(a_missing_table_is_one_problem),
        cmocka_unit_test(all_problems_come_at_once),
        cmocka_unit_test(letter_case_may_not_matter),
        cmocka_unit_test(select_and_where_are_only_parts),
        cmocka_unit_test(towers_are_limited),
    };

    return cmocka_run_group_tests(tests, NULL, cv_test_duck_close);
}
