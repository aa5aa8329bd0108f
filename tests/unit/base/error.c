/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors: context before the message, cut where it does not fit; codes; fault points. */
#include "test.h"

#include "base/fault.h"
#include "base/properties.h"

static struct cv_error err;

static enum cv_code inner(void)
{
    return cv_fail(&err, CV_FORMAT, "field %s", "ts");
}

static enum cv_code outer(void)
{
    CV_TRY(inner(), &err, "topic %s[%d]", "orders", 3);
    return CV_OK;
}

static void context_comes_before(void **state)
{
    (void)state;
    CV_ASSERT_FAILS(outer(), CV_FORMAT, "topic orders[3]: field ts", &err);
    cv_hint(&err, "look at %s", "it");
    assert_string_equal(err.hint, "look at it");
    (void)inner();
    assert_string_equal(err.hint, ""); /* a new error has no old hint */
    cv_error_clear(&err);
    assert_int_equal(err.code, CV_OK);
    assert_string_equal(err.message, "");
}

static void long_messages_and_contexts_are_cut(void **state)
{
    char text[2 * CV_ERROR_MESSAGE_BYTES];

    (void)state;
    memset(text, 'm', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)cv_fail(&err, CV_IO, "%s", text);
    assert_int_equal(strlen(err.message), CV_ERROR_MESSAGE_BYTES - 1);
    memset(text, 'c', sizeof text - 1);
    for (int i = 0; i < 5; i++) {
        cv_context(&err, "%s", text);
        assert_true(strlen(err.message) < CV_ERROR_MESSAGE_BYTES);
        assert_non_null(strstr(err.message, "c: ")); /* what follows can still be told apart */
    }
    cv_hint(&err, "%s", text);
    assert_int_equal(strlen(err.hint), CV_ERROR_HINT_BYTES - 1);
}

static void an_error_may_be_unwanted(void **state)
{
    (void)state;
    assert_int_equal(cv_fail(NULL, CV_IO, "x"), CV_IO);
    cv_context(NULL, "x");
    cv_hint(NULL, "x");
    cv_error_clear(NULL);
}

static void codes_have_names_and_exit_statuses(void **state)
{
    (void)state;
    assert_string_equal(cv_code_name(CV_CONFLICT), "CONFLICT");
    assert_string_equal(cv_code_text(CV_UNKNOWN), "commit state unknown");
    assert_int_equal(cv_code_exit_status(CV_OK), 0);
    assert_int_equal(cv_code_exit_status(CV_USAGE), 2);
    assert_int_equal(cv_code_exit_status(CV_CONFIG), 2);
    assert_int_equal(cv_code_exit_status(CV_CONFLICT), 3);
    assert_int_equal(cv_code_exit_status((enum cv_code)12345), 3);
    assert_string_equal(cv_code_name((enum cv_code)12345), "UNKNOWN_CODE");
}

static void fault_points_fail_at_the_nth_passage(void **state)
{
    (void)state;
    assert_int_equal(setenv("CALVE_FAULT", "commit-done:2=fail", 1), 0);
    CV_ASSERT_OK(cv_fault_check_environment(&err), &err);
    CV_ASSERT_OK(cv_fault_pass("plan", &err), &err);
    CV_ASSERT_OK(cv_fault_pass("commit-done", &err), &err);
    CV_ASSERT_FAILS(cv_fault_pass("commit-done", &err), CV_FAULT, "commit-done", &err);
    CV_ASSERT_OK(cv_fault_pass("commit-done", &err), &err);
    assert_int_equal(setenv("CALVE_FAULT", "comit-done", 1), 0);
    CV_ASSERT_FAILS(cv_fault_check_environment(&err), CV_USAGE, "comit-done", &err);
    assert_int_equal(setenv("CALVE_FAULT", "plan:0", 1), 0);
    CV_ASSERT_FAILS(cv_fault_check_environment(&err), CV_USAGE, "plan:0", &err);
    assert_int_equal(unsetenv("CALVE_FAULT"), 0);
    CV_ASSERT_OK(cv_fault_check_environment(&err), &err);
}

static void properties_keep_order_and_check_values(void **state)
{
    struct cv_properties p = {0};
    struct cv_properties copy = {0};
    int64_t number = 9;
    bool flag = true;

    (void)state;
    cv_properties_set(&p, "b", " 12 ");
    cv_properties_set(&p, "a", "False");
    cv_properties_set(&p, "b", "13");
    assert_int_equal(p.count, 2);
    assert_string_equal(p.items[0].key, "b");
    CV_ASSERT_OK(cv_properties_get_i64(&p, "b", 0, 13, &number, &err), &err);
    assert_int_equal(number, 13);
    CV_ASSERT_FAILS(cv_properties_get_i64(&p, "b", 0, 12, &number, &err), CV_CONFIG, "0 … 12",
                    &err);
    CV_ASSERT_FAILS(cv_properties_get_i64(&p, "a", 0, 12, &number, &err), CV_CONFIG, "not an int",
                    &err);
    CV_ASSERT_OK(cv_properties_get_i64(&p, "absent", 0, 1, &number, &err), &err);
    assert_int_equal(number, 13);
    CV_ASSERT_OK(cv_properties_get_bool(&p, "a", &flag, &err), &err);
    assert_false(flag);
    CV_ASSERT_FAILS(cv_properties_get_bool(&p, "b", &flag, &err), CV_CONFIG, "neither", &err);
    cv_properties_copy(&copy, &p);
    assert_true(cv_properties_remove(&p, "b"));
    assert_false(cv_properties_remove(&p, "b"));
    assert_null(cv_properties_get(&p, "b"));
    assert_string_equal(cv_properties_get(&p, "a"), "False");
    assert_string_equal(cv_properties_get_or(&copy, "b", "x"), "13");
    assert_string_equal(cv_properties_get_or(NULL, "b", "x"), "x");
    cv_properties_release(&p);
    cv_properties_release(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(context_comes_before),
        cmocka_unit_test(long_messages_and_contexts_are_cut),
        cmocka_unit_test(an_error_may_be_unwanted),
        cmocka_unit_test(codes_have_names_and_exit_statuses),
        cmocka_unit_test(fault_points_fail_at_the_nth_passage),
        cmocka_unit_test(properties_keep_order_and_check_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
