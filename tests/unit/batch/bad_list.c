/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of bad records: texts are its own, details end at the maximum, counting does not. */
#include "batch/bad_list.h"
#include "test.h"

static void details_are_copied_and_counts_go_on(void **state)
{
    CV_CLEANUP(cv_bad_list_release) struct cv_bad_list list = {0};
    struct cv_record record = {.offset = 7};
    char field[] = "a.b";

    cv_bad_list_add(&list, &record, field, "value %d of %s", 5, "x");
    field[0] = 'z';
    assert_int_equal(list.count, 1);
    assert_ptr_equal(list.entries[0].record, &record);
    assert_string_equal(list.entries[0].field, "a.b");
    assert_string_equal(list.entries[0].reason, "value 5 of x");
    for (int i = 0; i < 2 * CV_BAD_LIST_MAX; i++)
        cv_bad_list_add(&list, &record, "", "again");
    assert_int_equal(list.count, CV_BAD_LIST_MAX);
    assert_int_equal(list.total, 2 * CV_BAD_LIST_MAX + 1);
    cv_bad_list_clear(&list);
    assert_int_equal(list.count, 0);
    assert_int_equal(list.total, 0);
    cv_bad_list_add(&list, &record, "", "%s", "first after clear");
    assert_string_equal(list.entries[0].reason, "first after clear");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(details_are_copied_and_counts_go_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
