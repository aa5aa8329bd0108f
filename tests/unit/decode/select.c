/* SPDX-License-Identifier: Apache-2.0
 *
 * The grammar of `select`, and what is said about SQL beyond it. */
#include "test.h"

#include "decode/select.h"

static struct cv_arena arena;

static struct cv_select parse(const char *text)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_select select;

    CV_ASSERT_OK(cv_select_parse(text, &arena, &select, &err), &err);
    return select;
}

static void reads_paths_casts_and_names(void **state)
{
    struct cv_select s =
        parse(" value.order_id, value.item ,CAST(value.price AS DECIMAL(10,2)) AS price,\n"
              "value.supplier s, KEY, Value.`a.b`.`c``d` as `e f`, try_cast ( offset as int ) , "
              "timestamptype, cast(value.l as map<string, array<int>>) m");

    assert_int_equal(s.count, 9);
    assert_string_equal(s.items[0].path[0], "order_id");
    assert_int_equal(s.items[0].path_length, 1);
    assert_int_equal(s.items[0].column, CV_KAFKA_VALUE);
    assert_string_equal(s.items[0].name, "order_id");
    assert_string_equal(s.items[1].name, "item");
    assert_int_equal(s.items[2].cast, CV_SELECT_CAST);
    assert_int_equal(s.items[2].cast_type.kind, CV_TYPE_DECIMAL);
    assert_int_equal(s.items[2].cast_type.precision, 10);
    assert_int_equal(s.items[2].cast_type.scale, 2);
    assert_string_equal(s.items[2].name, "price");
    assert_string_equal(s.items[2].text, "CAST(value.price AS DECIMAL(10,2))");
    assert_string_equal(s.items[3].name, "s");
    assert_int_equal(s.items[4].column, CV_KAFKA_KEY);
    assert_string_equal(s.items[4].name, "KEY");
    assert_string_equal(s.items[5].path[0], "a.b");
    assert_string_equal(s.items[5].path[1], "c`d");
    assert_string_equal(s.items[5].name, "e f");
    assert_int_equal(s.items[6].cast, CV_SELECT_TRY_CAST);
    assert_int_equal(s.items[6].column, CV_KAFKA_OFFSET);
    assert_string_equal(s.items[6].name, "offset");
    assert_int_equal(s.items[7].column, CV_KAFKA_TIMESTAMP_TYPE);
    assert_int_equal(s.items[8].cast_type.kind, CV_TYPE_MAP);
    assert_string_equal(s.items[8].name, "m");
    s = parse("value.*, CAST(key AS STRING)");
    assert_true(s.items[0].star);
    assert_null(s.items[0].name);
    assert_string_equal(s.items[1].name, "key");
    assert_int_equal(s.items[1].cast_type.kind, CV_TYPE_STRING);
}

static void the_bare_value_is_a_path(void **state)
{
    struct cv_select s = parse("value, value AS v");

    assert_int_equal(s.items[0].path_length, 0);
    assert_string_equal(s.items[0].name, "value");
    assert_string_equal(s.items[1].name, "v");
}

static void names_what_is_not_supported(void **state)
{
    static const struct {
        const char *text;
        const char *part;
    } cases[] = {
        {"upper(value.a)", "functions such as upper(…) are not supported yet (position 1"},
        {"value.a, coalesce (value.b, 1)", "functions such as coalesce(…) are not supported yet "
                                           "(position 10"},
        {"value.a + 1", "expressions are not supported yet (position 9: \"+ 1\")"},
        {"value.a WHERE value.b > 1", "the word WHERE is not supported yet (position 9"},
        {"value.a from orders", "the word from is"},
        {"SELECT value.a", "a whole query (list the items only) is"},
        {"distinct value.a", "a whole query"},
        {"*", "a bare * (name the columns, or write value.*) is"},
        {"value.a.*", "a * below anything but value is"},
        {"headers.*", "a * below anything but value is"},
        {"1 AS one", "literals are"},
        {"'x' AS x", "literals are"},
        {"(value.a)", "parentheses are"},
        {"case when value.a then 1 end", "CASE is"},
        {"value.a[0]", "elements of lists and maps by [ ] are"},
        {"value.a::int", "the operator : "},
        {"value.a;", "more than one statement is"},
        {"CAST(value.a + 1 AS int)", "expressions are not supported yet (position 14"},
        {"CAST(CAST(value.a AS int) AS string)", "functions such as CAST(…) are"},
        {"value.é, length(value.é)", "functions such as length(…) are not supported yet "
                                     "(position 10"},
    };
    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++) {
        struct cv_error err = CV_ERROR_INIT;
        struct cv_select select;

        CV_ASSERT_FAILS(cv_select_parse(cases[i].text, &arena, &select, &err), CV_UNSUPPORTED,
                        cases[i].part, &err);
        assert_true(err.hint[0] != '\0');
    }
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *text;
        const char *part;
    } cases[] = {
        {"", "an item is expected, but the text ends"},
        {"value.a,", "an item is expected, but the text ends"},
        {"value.a,,value.b", "an item is expected (position 9"},
        {"value.", "a name is expected, but the text ends"},
        {"value.a AS", "a name is expected, but the text ends"},
        {"order_id", "there is no column \"order_id\" (position 1)"},
        {"value.a, orders.id", "there is no column \"orders\" (position 10)"},
        {"CAST(value.a AS decimal(10,2)", "CAST has no closing parenthesis"},
        {"CAST(value.a)", "AS and a type are expected in CAST"},
        {"CAST(value.a AS quux)", "type of CAST (position 17)"},
        {"CAST(value.a AS int, b int)", "one type is expected in CAST"},
        {"CAST(value.a AS int NOT NULL)", "one type is expected in CAST"},
        {"CAST(value.* AS string)", "value.* cannot be cast"},
        {"value.* AS v", "value.* takes no name"},
        {"value.`a", "a backquoted name has no end"},
        {"value.``", "a backquoted name is empty"},
        {"value.a)", "a parenthesis closes nothing"},
    };
    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++) {
        struct cv_error err = CV_ERROR_INIT;
        struct cv_select select;
        enum cv_code code = cv_select_parse(cases[i].text, &arena, &select, &err);

        assert_int_not_equal(code, CV_OK);
        assert_int_not_equal(code, CV_UNSUPPORTED);
        if (!strstr(err.message, cases[i].part))
            fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].text, err.message, cases[i].part);
    }
}

static void defaults_by_format(void **state)
{
    struct cv_select s;

    cv_select_default(true, false, &arena, &s);
    assert_int_equal(s.count, 1);
    assert_true(s.items[0].star);
    cv_select_default(false, false, &arena, &s);
    assert_int_equal(s.count, 7);
    assert_string_equal(s.items[6].name, "timestampType");
    cv_select_default(false, true, &arena, &s);
    assert_int_equal(s.count, 8);
    assert_string_equal(s.items[7].name, "headers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_paths_casts_and_names), cmocka_unit_test(the_bare_value_is_a_path),
        cmocka_unit_test(names_what_is_not_supported), cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(defaults_by_format),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    cv_arena_release(&arena);
    return failed;
}
