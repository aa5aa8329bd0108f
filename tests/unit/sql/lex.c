/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts before the parser: what is rewritten, and where a position was in the text as written. */

#include "sql/lex.h"

#include "test.h"

static struct cv_arena arena;

static struct cv_sql_text read_text(const char *written)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_sql_text text;

    CV_ASSERT_OK(cv_sql_text_read("sql", written, "", "", 0, &arena, &text, &err), &err);
    return text;
}

static void assert_rewritten(const char *written, const char *wanted)
{
    assert_string_equal(read_text(written).rewritten, wanted);
}

static void names_and_types_of_spark_are_rewritten(void **state)
{
    assert_rewritten("SELECT `a``b` FROM `x\"y`", "SELECT \"a`b\" FROM \"x\"\"y\"");
    assert_rewritten("select window(ts, '1 hour')", "select \"window\"(ts, '1 hour')");
    assert_rewritten("select window.start, x.window", "select \"window\".start, x.window");
    assert_rewritten("select offset, a from t where offset > 3",
                     "select \"offset\", a from t where \"offset\" > 3");
    assert_rewritten("select a from t limit 3 offset 5", "select a from t limit 3 offset 5");
    assert_rewritten("order by a desc offset 5", "order by a desc offset 5");
    assert_rewritten("cast(x as array<map<string, decimal>>)",
                     "cast(x as MAP(string, decimal(10,0))[])");
    assert_rewritten("cast(x AS struct<a: int, b: array<string>>)",
                     "cast(x AS STRUCT(\"a\" int, \"b\" string[]))");
    assert_rewritten("select array(1, b), x.array", "select list_value(1, b), x.array");
    assert_rewritten("cast(x as decimal)", "cast(x as decimal(10,0))");
    assert_rewritten("cast(x as decimal(5,2)), array < b", "cast(x as decimal(5,2)), array < b");
}

static void texts_and_comments_stay(void **state)
{
    static const char *const texts[] = {
        "'it''s `not` a window'", "\"a \"\"window\"\" b\"",
        "-- window `\n1",         "/* /* ` */ window */",
        "$$ window ` $$",         "$t$ ` $$ $t$",
        "E'a\\'window `'",        "a.offset",
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(texts); i++)
        assert_rewritten(texts[i], texts[i]);
}

static void what_has_no_end_is_told_with_its_place(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a,\n 'b", "sql line 2 column 2: a text in quotes has no end"},
        {"`b", "sql line 1 column 1: a name in backquotes has no end"},
        {"a \"b", "sql line 1 column 3: a name in quotes has no end"},
        {"ä /* /* */", "sql line 1 column 3: a comment has no end"},
        {"$x$ $$", "sql line 1 column 1: a text in $$ has no end"},
        {"\xff", "sql: not valid UTF-8"},
    };
    struct cv_error err = CV_ERROR_INIT;
    struct cv_sql_text text;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++)
        CV_ASSERT_FAILS(cv_sql_text_read("sql", cases[i].text, "", "", 0, &arena, &text, &err),
                        CV_CONFIG, cases[i].message, &err);
}

/* Line and column of the written text for a mark in the rewritten one. */
static void assert_place(const char *written, const char *mark, const char *wanted)
{
    struct cv_sql_text text = read_text(written);
    const char *at = strstr(text.rewritten, mark);
    char place[CV_SQL_PLACE_BYTES];

    assert_non_null(at);
    cv_sql_text_place(&text, cv_sql_text_origin(&text, (size_t)(at - text.rewritten)), place);
    assert_string_equal(place, wanted);
}

static void positions_are_those_of_the_written_text(void **state)
{
    assert_place("select a,\n  b", "b", "sql line 2 column 3");
    assert_place("select `ä`, `ö`, x", "x", "sql line 1 column 18");
    assert_place("select window(a), b", "b", "sql line 1 column 19");
    assert_place("select cast(a as array<int>), b", "b", "sql line 1 column 31");
    assert_place("select cast(a as array<int>), b", "int[]", "sql line 1 column 18");
    assert_place("select a\r\n, zz", "zz", "sql line 2 column 3");
}

static void numbers_are_read_as_written(void **state)
{
    struct cv_sql_text text = read_text("1_000.50 - .5e-3 x");

    assert_string_equal(cv_sql_text_number(&text, 0, &arena), "1000.50");
    assert_string_equal(cv_sql_text_number(&text, 9, &arena), ".5e-3");
    assert_true(cv_sql_text_is_minus(&text, 9));
    assert_null(cv_sql_text_number(&text, 17, &arena));
    assert_null(cv_sql_text_number(&text, 99, &arena));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_types_of_spark_are_rewritten),
        cmocka_unit_test(texts_and_comments_stay),
        cmocka_unit_test(what_has_no_end_is_told_with_its_place),
        cmocka_unit_test(positions_are_those_of_the_written_text),
        cmocka_unit_test(numbers_are_read_as_written),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    cv_arena_release(&arena);
    return failed;
}
