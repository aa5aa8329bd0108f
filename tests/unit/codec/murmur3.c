/* SPDX-License-Identifier: Apache-2.0
 *
 * Murmur3 against Iceberg's specification (Appendix B) and values of an independent program. */
#include "test.h"

#include "codec/murmur3.h"

static int32_t hash_hex(const char *hex)
{
    uint8_t bytes[64];

    return cv_murmur3(bytes, cv_test_hex(hex, bytes, sizeof bytes));
}

static int32_t hash_text(const char *text)
{
    return cv_murmur3(text, strlen(text));
}

static void hashes_integers(void **state)
{
    assert_int_equal(cv_murmur3_i64(34), 2017239379);
    assert_int_equal(cv_murmur3_i64(0), 1669671676);
    assert_int_equal(cv_murmur3_i64(1), 1392991556);
    assert_int_equal(cv_murmur3_i64(-1), 1651860712);
    assert_int_equal(cv_murmur3_i64(INT32_MAX), 1819228606);
    assert_int_equal(cv_murmur3_i64(INT32_MIN), -2073034792);
    assert_int_equal(cv_murmur3_i64(INT64_MAX), -2106506049);
    assert_int_equal(cv_murmur3_i64(INT64_MIN), 1366273829);
    assert_int_equal(cv_murmur3_i64(17486), -653330422);
    assert_int_equal(cv_murmur3_i64(INT64_C(81068000000)), -662762989);
}

static void hashes_bytes(void **state)
{
    assert_int_equal(hash_hex("058c"), -500754589);
    assert_int_equal(hash_hex("00"), 1364076727);
    assert_int_equal(hash_hex("ff"), -43192051);
    assert_int_equal(hash_hex("0080"), 1544076949);
    assert_int_equal(hash_hex("ff7f"), -435537839);
    assert_int_equal(hash_hex("4b3b4ca85a86c47a098a223fffffffff"), -1079967834);
    assert_int_equal(hash_hex("00010203"), -188683207);
    assert_int_equal(hash_hex("ffffffffff"), 2048059228);
    assert_int_equal(hash_hex("f79c3e09677c4bbda4793f349cb785e7"), 1488055340);
    assert_int_equal(hash_hex("00000000000000000000000000000000"), -2127245832);
    assert_int_equal(hash_hex("ffffffffffffffffffffffffffffffff"), -451333010);
}

static void hashes_text(void **state)
{
    assert_int_equal(hash_text("iceberg"), 1210000089);
    assert_int_equal(hash_text(""), 0);
    assert_int_equal(hash_text("a"), 1009084850);
    assert_int_equal(hash_text("ab"), -1681926305);
    assert_int_equal(hash_text("abc"), -1277324294);
    assert_int_equal(hash_text("abcd"), 1139631978);
    assert_int_equal(hash_text("\xc3\xa9"), 269551495);
    assert_int_equal(hash_text("\xe6\xb8\xac\xe8\xa9\xa6"), -1223093868);
    assert_int_equal(hash_text("\xf0\x9f\x92\xb0"), -1486360756);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_integers),
        cmocka_unit_test(hashes_bytes),
        cmocka_unit_test(hashes_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
