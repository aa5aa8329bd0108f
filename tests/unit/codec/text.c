/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8, Base64, hex and checksums. */
#include "test.h"

#include "codec/base64.h"
#include "codec/hash.h"
#include "codec/hex.h"
#include "codec/utf8.h"

static bool valid(const char *hex)
{
    uint8_t bytes[64];

    return cv_utf8_valid(bytes, cv_test_hex(hex, bytes, sizeof bytes));
}

/* Table 3-7 of the Unicode standard: the edges of every row. */
static void knows_valid_utf8(void **state)
{
    assert_true(valid(""));
    assert_true(valid("7f"));
    assert_true(valid("c280"));
    assert_true(valid("dfbf"));
    assert_true(valid("e0a080"));
    assert_true(valid("ed9fbf"));
    assert_true(valid("ee8080"));
    assert_true(valid("efbfbf"));
    assert_true(valid("f0908080"));
    assert_true(valid("f48fbfbf"));
    assert_true(valid("6162636465666768 c3a9 6162636465666768"));
}

static void knows_invalid_utf8(void **state)
{
    static const char *const wrong[] = {
        "80",
        "c080",
        "c1bf",
        "c3",
        "e09fbf",
        "eda080",
        "edbfbf",
        "f08fbfbf",
        "f4908080",
        "f5ff",
        "ff",
        "e282",
        "f09f92",
        "c328",
        "6162636465666768 ff",
        "61626364656667 80",
        "6162636465666768 6162636465666768 c3",
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(wrong); i++)
        if (valid(wrong[i]))
            fail_msg("%s passed as UTF-8", wrong[i]);
}

static void walks_code_points(void **state)
{
    const struct cv_str text = cv_str_from("a\xf0\x9f\x92\xb0\xc3\xa9\xe6\xb8\xac");
    static const uint32_t wanted[] = {'a', 0x1f4b0, 0xe9, 0x6e2c};
    const char *at = text.ptr;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(wanted); i++) {
        char bytes[4];
        const char *before = at;
        size_t length;

        assert_int_equal(cv_utf8_next(&at, text.ptr + text.length), wanted[i]);
        length = cv_utf8_put(wanted[i], bytes);
        assert_int_equal(length, at - before);
        assert_memory_equal(bytes, before, length);
    }
    assert_ptr_equal(at, text.ptr + text.length);
    assert_int_equal(cv_utf8_count(text), 4);
    assert_int_equal(cv_utf8_prefix(text, 2), 5);
    assert_int_equal(cv_utf8_prefix(text, 0), 0);
    assert_int_equal(cv_utf8_prefix(text, 99), text.length);
}

/* RFC 4648, section 10. */
static void base64_of_the_rfc(void **state)
{
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(pairs); i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
        CV_CLEANUP(cv_buf_release) struct cv_buf back = CV_BUF_INIT(0);

        cv_base64_encode(pairs[i][0], strlen(pairs[i][0]), &out);
        assert_string_equal(cv_buf_text(&out), pairs[i][1]);
        assert_true(cv_base64_decode(cv_str_from(pairs[i][1]), &back));
        assert_string_equal(cv_buf_text(&back), pairs[i][0]);
    }
}

static void base64_refuses(void **state)
{
    static const char *const wrong[] = {"Z", "Zm9v!", "Zm=v", "=", "Zg===", "Zm 9v"};
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);

    for (size_t i = 0; i < CV_ARRAY_LENGTH(wrong); i++) {
        if (cv_base64_decode(cv_str_from(wrong[i]), &out))
            fail_msg("%s passed as Base64", wrong[i]);
        assert_int_equal(out.length, 0);
    }
}

static void hex_goes_both_ways(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);

    cv_hex_encode("\x00\x01\xfe\xff", 4, &out);
    assert_string_equal(cv_buf_text(&out), "0001feff");
    cv_buf_clear(&out);
    assert_true(cv_hex_decode(cv_str_from("0001FEff"), &out));
    assert_memory_equal(out.data, "\x00\x01\xfe\xff", 4);
    assert_false(cv_hex_decode(cv_str_from("abc"), &out));
    assert_false(cv_hex_decode(cv_str_from("0g"), &out));
    assert_int_equal(out.length, 4);
}

/* The check values of the CRC catalogue, and of RFC 3720 B.4 for CRC-32C. */
static void checksums(void **state)
{
    uint8_t bytes[32];

    assert_int_equal(cv_crc32("123456789", 9), 0xcbf43926u);
    assert_int_equal(cv_crc32c("123456789", 9), 0xe3069283u);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(cv_crc32c(bytes, sizeof bytes), 0x8a9136aau);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(cv_crc32c(bytes, sizeof bytes), 0x62a8ab43u);
    assert_int_equal(cv_xxh64("", 0), 0xef46db3751d8e999u);
    assert_int_equal(cv_xxh64("abc", 3), 0x44bc2cf5ad770999u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_valid_utf8),  cmocka_unit_test(knows_invalid_utf8),
        cmocka_unit_test(walks_code_points), cmocka_unit_test(base64_of_the_rfc),
        cmocka_unit_test(base64_refuses),    cmocka_unit_test(hex_goes_both_ways),
        cmocka_unit_test(checksums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
