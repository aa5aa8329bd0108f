/* SPDX-License-Identifier: Apache-2.0
 *
 * Write compatibility: what may be assigned to which column, and that every problem is listed. */
#include "schema/compat.h"
#include "test.h"

static struct cv_arena arena;

static int teardown(void **state)
{
    cv_arena_release(&arena);
    return 0;
}

static size_t check(const char *from, const char *to, unsigned flags, const char **ret_problems)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf problems = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;
    struct cv_schema source, target;
    size_t count;

    CV_ASSERT_OK(cv_schema_read_ddl(from, &arena, &source, &err), &err);
    CV_ASSERT_OK(cv_schema_read_ddl(to, &arena, &target, &err), &err);
    count = cv_schema_check_assign_row(&source.root, &target.root, flags, &problems);
    *ret_problems = cv_arena_strdup(&arena, cv_buf_text(&problems));
    return count;
}

static void values_may_widen_and_nothing_else(void **state)
{
    static const char *const types[] = {
        "boolean",  "int",       "bigint",        "float",         "double",       "date",
        "time",     "timestamp", "timestamp_ntz", "string",        "uuid",         "fixed[2]",
        "fixed[3]", "binary",    "decimal(9,2)",  "decimal(10,2)", "decimal(10,3)"};
    static const char *const widened[][2] = {
        {"int", "bigint"}, {"float", "double"}, {"decimal(9,2)", "decimal(10,2)"}};
    const char *problems;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(types); i++)
        for (size_t j = 0; j < CV_ARRAY_LENGTH(types); j++) {
            bool allowed = i == j;

            for (size_t w = 0; w < CV_ARRAY_LENGTH(widened); w++)
                allowed |=
                    strcmp(types[i], widened[w][0]) == 0 && strcmp(types[j], widened[w][1]) == 0;
            if (check(cv_arena_printf(&arena, "c %s", types[i]),
                      cv_arena_printf(&arena, "c %s", types[j]), 0, &problems) != !allowed)
                fail_msg("%s to %s: %s", types[i], types[j], problems);
        }
}

static void every_problem_is_listed(void **state)
{
    const char *problems;

    assert_int_equal(check("a bigint, b string, s struct<x: int, z: int>, extra int, l array<int>",
                           "a int, b string NOT NULL, c int NOT NULL, d int, "
                           "s struct<x: int NOT NULL, y: string>, l array<string>",
                           0, &problems),
                     7);
    assert_string_equal(problems, "a: long cannot be written to a column of type int\n"
                                  "b: the column is required, the value may be NULL\n"
                                  "c: the column is required and there is no value for it\n"
                                  "s.x: the column is required, the value may be NULL\n"
                                  "s.z: the table has no such column\n"
                                  "l.element: int cannot be written to a column of type string\n"
                                  "extra: the table has no such column\n");
}

static void order_and_letter_case_are_free(void **state)
{
    const char *problems;

    assert_int_equal(check("B int, a int NOT NULL", "A int NOT NULL, b int", 0, &problems), 0);
    assert_int_equal(check("A int, a int", "a int", CV_ASSIGN_IGNORE_UNKNOWN, &problems), 0);
    assert_int_equal(check("A int, aA int, Aa int", "aa int", CV_ASSIGN_IGNORE_UNKNOWN, &problems),
                     1);
    assert_string_equal(problems, "aa: several values differ from it only in letter case\n");
}

static void unknown_fields_may_be_ignored(void **state)
{
    const char *problems;

    assert_int_equal(check("a int, b int", "a int", 0, &problems), 1);
    assert_int_equal(check("a int, b int, s struct<x: int, y: int>", "a int, s struct<x: int>",
                           CV_ASSIGN_IGNORE_UNKNOWN, &problems),
                     0);
}

static void nested_and_primitive_do_not_mix(void **state)
{
    const char *problems;

    assert_int_equal(check("a struct<x: int>", "a int", 0, &problems), 1);
    assert_string_equal(problems, "a: struct<x: int> cannot be written to a column of type int\n");
    assert_int_equal(check("a int", "a array<int>", 0, &problems), 1);
    assert_int_equal(check("a map<string, int>", "a array<int>", 0, &problems), 1);
    assert_int_equal(check("m map<int, int>", "m map<bigint, bigint>", 0, &problems), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_may_widen_and_nothing_else),
        cmocka_unit_test(every_problem_is_listed),
        cmocka_unit_test(order_and_letter_case_are_free),
        cmocka_unit_test(unknown_fields_may_be_ignored),
        cmocka_unit_test(nested_and_primitive_do_not_mix),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
