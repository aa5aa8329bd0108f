/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of procedures as texts. Times by `date -u -d … +%s`. */
#include "test.h"

#include "maintain/procedure.h"

static void finds_by_either_name(void **state)
{
    (void)state;
    assert_ptr_equal(cv_procedure_find("register-table"), cv_procedure_find("register_table"));
    assert_non_null(cv_procedure_find("register-table"));
    assert_null(cv_procedure_find("register"));
    assert_null(cv_procedure_find("register-table-"));
}

static void checks_arguments(void **state)
{
    CV_CLEANUP(cv_properties_release) struct cv_properties arguments = {0};
    const struct cv_procedure *procedure = cv_procedure_find("register-table");
    struct cv_error err = CV_ERROR_INIT;

    (void)state;
    CV_ASSERT_FAILS(cv_procedure_check(procedure, &arguments, &err), CV_USAGE,
                    "register-table wants the argument metadata_file", &err);
    cv_properties_set(&arguments, "metadata-fil", "x");
    CV_ASSERT_FAILS(cv_procedure_check(procedure, &arguments, &err), CV_USAGE,
                    "register-table has no argument \"metadata-fil\"", &err);
    assert_non_null(strstr(err.hint, "did you mean metadata_file?"));
    (void)cv_properties_remove(&arguments, "metadata-fil");
    cv_properties_set(&arguments, "metadata-file", "x");
    CV_ASSERT_OK(cv_procedure_check(procedure, &arguments, &err), &err);
    cv_properties_set(&arguments, "options", "metadata_file=y");
    CV_ASSERT_FAILS(cv_procedure_check(procedure, &arguments, &err), CV_USAGE, "given twice", &err);
}

static void reads_times(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {
        {"2026-11-29 10:00:00", 1795946400000},       {"2026-11-29T10:00:00.123456", 1795946400123},
        {"2026-11-29T10:00:00+02:00", 1795939200000}, {"2026-11-29", 1795910400000},
        {" 1795946400000 ", 1795946400000},           {"1969-12-31 23:59:59.9999", -1},
    };
    static const char *const bad[] = {"", "yesterday", "2026-13-01", "2026-11-29 25:00:00",
                                      "10:00"};
    struct cv_error err = CV_ERROR_INIT;
    int64_t ms;

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(good); i++) {
        CV_ASSERT_OK(cv_maintain_parse_time("older_than", good[i].text, &ms, &err), &err);
        assert_int_equal(ms, good[i].ms);
    }
    for (size_t i = 0; i < CV_ARRAY_LENGTH(bad); i++)
        CV_ASSERT_FAILS(cv_maintain_parse_time("older_than", bad[i], &ms, &err), CV_USAGE,
                        "older_than", &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_by_either_name),
        cmocka_unit_test(checks_arguments),
        cmocka_unit_test(reads_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
