/* SPDX-License-Identifier: Apache-2.0
 *
 * Offsets: order, replacement, and Spark's JSON, letter for letter. */
#include "kafka/offsets.h"

#include "test.h"

static const char *to_json(const struct cv_offsets *offsets)
{
    static struct cv_buf buf;

    cv_buf_clear(&buf);
    cv_offsets_write_json(offsets, &buf);
    return cv_buf_text(&buf);
}

static void writes_partitions_in_numeric_order(void **state)
{
    struct cv_offsets offsets = {0};

    cv_offsets_set(&offsets, "users", 17, 4);
    cv_offsets_set(&offsets, "orders", 10, 1);
    cv_offsets_set(&offsets, "users", 8, 5);
    cv_offsets_set(&offsets, "orders", 2, 3);
    cv_offsets_set(&offsets, "orders", 10, 7);
    assert_int_equal(offsets.count, 4);
    assert_string_equal(to_json(&offsets),
                        "{\"orders\":{\"2\":3,\"10\":7},\"users\":{\"8\":5,\"17\":4}}");
    cv_offsets_release(&offsets);
}

static void writes_an_empty_object(void **state)
{
    struct cv_offsets offsets = {0};

    assert_string_equal(to_json(&offsets), "{}");
    cv_offsets_release(&offsets);
}

static void reads_keys_in_any_order(void **state)
{
    struct cv_offsets offsets = {0};
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(cv_offsets_parse(cv_str_from("{\"users\":{\"17\":4,\"8\":5},\"a\":{\"0\":1}}"),
                                  false, &offsets, &err),
                 &err);
    assert_string_equal(to_json(&offsets), "{\"a\":{\"0\":1},\"users\":{\"8\":5,\"17\":4}}");
    assert_int_equal(cv_offsets_find(&offsets, "users", 17)->offset, 4);
    assert_null(cv_offsets_find(&offsets, "users", 9));
    assert_null(cv_offsets_find(&offsets, "user", 8));
    cv_offsets_release(&offsets);
}

static void takes_special_offsets_only_where_allowed(void **state)
{
    struct cv_str text = cv_str_from("{\"t\":{\"0\":23,\"1\":-1,\"2\":-2}}");
    struct cv_offsets offsets = {0};
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(cv_offsets_parse(text, true, &offsets, &err), &err);
    assert_int_equal(cv_offsets_find(&offsets, "t", 1)->offset, CV_OFFSET_LATEST);
    assert_int_equal(cv_offsets_find(&offsets, "t", 2)->offset, CV_OFFSET_EARLIEST);
    CV_ASSERT_FAILS(cv_offsets_parse(text, false, &offsets, &err), CV_FORMAT, "-1", &err);
    assert_int_equal(offsets.count, 3); /* the failed call left the result alone */
    cv_offsets_release(&offsets);
}

static void refuses_what_is_no_offset(void **state)
{
    static const char *const texts[] = {
        "[]",
        "{\"t\":5}",
        "{\"t\":{\"x\":5}}",
        "{\"t\":{\"-1\":5}}",
        "{\"t\":{\"2147483648\":5}}",
        "{\"t\":{\"0\":-3}}",
        "{\"t\":{\"0\":1.5}}",
        "{\"t\":{\"0\":\"1\"}}",
        "{\"t\":{\"0\":1}",
        "",
    };
    struct cv_offsets offsets = {0};
    struct cv_error err = CV_ERROR_INIT;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(texts); i++)
        assert_int_not_equal(cv_offsets_parse(cv_str_from(texts[i]), true, &offsets, &err), CV_OK);
    assert_int_equal(offsets.count, 0);
    cv_offsets_release(&offsets);
}

static void copies_and_compares(void **state)
{
    struct cv_offsets a = {0};
    struct cv_offsets b = {0};

    cv_offsets_set(&a, "t", 0, 1);
    cv_offsets_set(&a, "t", 1, 2);
    cv_offsets_set(&b, "z", 9, 9);
    cv_offsets_copy(&b, &a);
    assert_true(cv_offsets_equal(&a, &b));
    cv_offsets_set(&b, "t", 1, 3);
    assert_false(cv_offsets_equal(&a, &b));
    cv_offsets_set(&b, "t", 1, 2);
    cv_offsets_set(&b, "u", 0, 0);
    assert_false(cv_offsets_equal(&a, &b));
    cv_offsets_release(&a);
    cv_offsets_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_partitions_in_numeric_order),
        cmocka_unit_test(writes_an_empty_object),
        cmocka_unit_test(reads_keys_in_any_order),
        cmocka_unit_test(takes_special_offsets_only_where_allowed),
        cmocka_unit_test(refuses_what_is_no_offset),
        cmocka_unit_test(copies_and_compares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
