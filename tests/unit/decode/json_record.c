/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON scanner against JSONTestSuite and exact numbers. */
#include "test.h"

#include "base/file.h"
#include "codec/json_record.h"

#include <math.h>

static bool valid(const char *text)
{
    return cv_json_record_valid(cv_str_from(text), NULL);
}

static void follows_the_test_suite(void **state)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_arena arena = CV_ARENA_INIT;
    char folder[4096];
    size_t count;
    size_t seen[2] = {0, 0};
    char **names;

    (void)snprintf(folder, sizeof folder, "%s", cv_test_data("json/JSONTestSuite/test_parsing"));
    CV_ASSERT_OK(cv_directory_list(folder, &arena, &names, &count, &err), &err);
    for (size_t i = 0; i < count; i++) {
        struct cv_buf text = CV_BUF_INIT(0);
        char path[8192];
        uint8_t *copy;
        bool got;

        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        CV_ASSERT_OK(cv_file_read(path, 1 << 24, &text, &err), &err);
        copy = malloc(text.length ? text.length : 1);
        if (text.length)
            memcpy(copy, text.data, text.length);
        got = cv_json_record_valid((struct cv_str){(const char *)copy, text.length}, NULL);
        if (names[i][0] == 'y' && !got)
            fail_msg("%s must parse", names[i]);
        if (names[i][0] == 'n' && got)
            fail_msg("%s must be refused", names[i]);
        seen[0] += names[i][0] == 'y';
        seen[1] += names[i][0] == 'n';
        free(copy);
        cv_buf_release(&text);
    }
    assert_true(seen[0] > 90 && seen[1] > 180);
    cv_arena_release(&arena);
}

static void long_strings_are_checked_everywhere(void **state)
{
    char text[128];

    for (size_t at = 1; at < 60; at++) {
        static const char *const bad[] = {"\x01", "\xff", "\xc3", "\xed\xa0\x80", "\\x", "\\u1z"};

        memset(text, 'a', sizeof text);
        text[0] = '"';
        text[62] = '"';
        text[63] = '\0';
        assert_true(valid(text));
        for (size_t i = 0; i < CV_ARRAY_LENGTH(bad); i++) {
            char broken[128];

            memcpy(broken, text, sizeof broken);
            memcpy(broken + at, bad[i], strlen(bad[i]));
            if (valid(broken))
                fail_msg("bad sequence %zu at %zu was taken", i, at);
        }
        memcpy(text + at, "\xc3\xa9", 2); /* é */
        assert_true(valid(text));
    }
}

static void unescapes(void **state)
{
    static const char text[] = "\"a\\n\\u00e9\\ud83d\\ude00\\\\\\/\\u0000z\"";
    struct cv_json_scan s = {.at = (const uint8_t *)text,
                             .end = (const uint8_t *)text + sizeof text - 1};
    struct cv_json_string string;
    uint8_t out[64];

    assert_true(cv_json_string(&s, &string));
    assert_true(string.escaped);
    cv_test_assert_hex(out, cv_json_unescape(&string, out), "61 0a c3 a9 f0 9f 98 80 5c 2f 00 7a");
    assert_false(valid("\"\\ud83d\""));
    assert_false(valid("\"\\ude00\\ud83d\""));
    assert_false(valid("\"\\ud83dx\\ude00\""));
}

static struct cv_json_number number(const char *text)
{
    struct cv_json_scan s = {.at = (const uint8_t *)text,
                             .end = (const uint8_t *)text + strlen(text)};
    struct cv_json_number n;

    assert_true(cv_json_number(&s, &n));
    assert_ptr_equal(s.at, s.end);
    return n;
}

static void numbers_are_exact(void **state)
{
    static const char *const doubles[] = {"0",
                                          "-0",
                                          "1",
                                          "0.1",
                                          "1e22",
                                          "1e23",
                                          "123456789012345678",
                                          "9007199254740993",
                                          "1.7976931348623157e308",
                                          "4.9e-324",
                                          "2.2250738585072011e-308",
                                          "1e400",
                                          "1e-400",
                                          "0.000000000000000000000000000000000000000000000001",
                                          "123456.789e-3",
                                          "17976931348623158079372897140530341507993413271003782693"
                                          "6173778980444968292764750946649017977"
                                          "e220",
                                          "7.2057594037927933e16",
                                          "100000000000000016777215",
                                          "3.141592653589793",
                                          "-9.87e-5"};
    struct cv_json_number n = number("9007199254740993");

    assert_true(n.integer && n.exact);
    assert_int_equal(n.digits, 9007199254740993);
    assert_true(number("18446744073709551615").exact == false); /* 20 digits */
    assert_int_equal(number("1234567890123456789").digits, 1234567890123456789);
    assert_int_equal(number("12.50").digits, 1250);
    assert_int_equal(number("12.50").exponent, -2);
    assert_int_equal(number("1.5e3").exponent, 2);
    assert_false(number("1e2").integer);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(doubles); i++) {
        double got;
        double wanted = strtod(doubles[i], NULL);
        float narrow = strtof(doubles[i], NULL);
        float got_narrow;

        n = number(doubles[i]);
        got = cv_json_number_double(&n);
        got_narrow = cv_json_number_float(&n);
        assert_memory_equal(&got, &wanted, sizeof got);
        assert_memory_equal(&got_narrow, &narrow, sizeof narrow);
    }
}

static void random_doubles_round_as_strtod(void **state)
{
    uint64_t seed = 88172645463325252u;
    char text[64];

    for (int i = 0; i < 200000; i++) {
        double value;
        double got;
        float narrow;
        float got_narrow;
        struct cv_json_number n;

        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        memcpy(&value, &seed, sizeof value);
        if (!isfinite(value))
            continue;
        (void)snprintf(text, sizeof text, "%.*e", (int)(seed % 18), value);
        value = strtod(text, NULL);
        n = number(text);
        got = cv_json_number_double(&n);
        assert_memory_equal(&got, &value, sizeof got);
        (void)snprintf(text, sizeof text, "%llu%s", (unsigned long long)(seed >> 4 & 0xffff) + 1,
                       i & 1 ? "0000000000000001e-5" : "8388608500000000e-9");
        n = number(text);
        value = strtod(text, NULL);
        got = cv_json_number_double(&n);
        assert_memory_equal(&got, &value, sizeof got);
        narrow = strtof(text, NULL);
        got_narrow = cv_json_number_float(&n);
        assert_memory_equal(&got_narrow, &narrow, sizeof narrow);
        /* exactly in the middle between two doubles, and next to it */
        (void)snprintf(text, sizeof text, "%llu",
                       (unsigned long long)(((seed | UINT64_C(1) << 63) >> 10) << 10) +
                           (unsigned)(i % 3) - 1);
        n = number(text);
        value = strtod(text, NULL);
        got = cv_json_number_double(&n);
        assert_memory_equal(&got, &value, sizeof got);
        (void)snprintf(text, sizeof text, "%.*e", 3 + (int)(seed % 15),
                       (double)(seed >> 11) / (double)(1 << (i % 30)));
        n = number(text);
        value = strtod(text, NULL);
        got = cv_json_number_double(&n);
        assert_memory_equal(&got, &value, sizeof got);
        narrow = strtof(text, NULL);
        got_narrow = cv_json_number_float(&n);
        assert_memory_equal(&got_narrow, &narrow, sizeof narrow);
    }
}

static void depth_is_limited(void **state)
{
    char text[2 * CV_JSON_RECORD_DEPTH_MAX + 3];

    memset(text, '[', CV_JSON_RECORD_DEPTH_MAX);
    memset(text + CV_JSON_RECORD_DEPTH_MAX, ']', CV_JSON_RECORD_DEPTH_MAX);
    text[2 * CV_JSON_RECORD_DEPTH_MAX] = '\0';
    assert_true(valid(text));
    memset(text, '[', CV_JSON_RECORD_DEPTH_MAX + 1);
    memset(text + CV_JSON_RECORD_DEPTH_MAX + 1, ']', CV_JSON_RECORD_DEPTH_MAX + 1);
    text[2 * CV_JSON_RECORD_DEPTH_MAX + 2] = '\0';
    assert_false(valid(text));
    assert_true(valid("[{\"a\":[{}]},[]]"));
    assert_false(valid("[{\"a\":[{]}},[]]"));
    assert_false(valid("{\"a\":1]"));
}

static void nonnumeric_numbers_only_when_asked(void **state)
{
    struct cv_json_scan s;

    assert_false(valid("NaN"));
    assert_false(valid("[-Infinity]"));
    s = (struct cv_json_scan){.at = (const uint8_t *)"[NaN,-Infinity,Infinity]",
                              .nonnumeric = true};
    s.end = s.at + 24;
    assert_true(cv_json_skip(&s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_the_test_suite),
        cmocka_unit_test(long_strings_are_checked_everywhere),
        cmocka_unit_test(unescapes),
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(random_doubles_round_as_strtod),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(nonnumeric_numbers_only_when_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
