/* SPDX-License-Identifier: Apache-2.0
 *
 * Avro's zigzag varints and byte strings. */
#include "test.h"

#include "codec/avro_binary.h"

static const struct {
    int64_t value;
    const char *hex;
} longs[] = {
    {0, "00"},
    {1, "02"},
    {-1, "01"},
    {2, "04"},
    {-2, "03"},
    {63, "7e"},
    {64, "80 01"},
    {-64, "7f"},
    {-65, "81 01"},
    {2147483647, "fe ff ff ff 0f"},
    {-2147483648, "ff ff ff ff 0f"},
    {INT64_MAX, "fe ff ff ff ff ff ff ff ff 01"},
    {INT64_MIN, "ff ff ff ff ff ff ff ff ff 01"},
};

static void longs_go_both_ways(void **state)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(longs); i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
        struct cv_avro_reader r;
        int64_t value;

        cv_avro_put_long(&out, longs[i].value);
        cv_test_assert_hex(out.data, out.length, longs[i].hex);
        r = (struct cv_avro_reader){out.data, out.data + out.length};
        assert_true(cv_avro_read_long(&r, &value));
        assert_int_equal(value, longs[i].value);
        assert_ptr_equal(r.at, r.end);
    }
}

static bool reads_long(const char *hex, int64_t *ret_value)
{
    static uint8_t bytes[32];
    struct cv_avro_reader r = {bytes, bytes};

    r.end += cv_test_hex(hex, bytes, sizeof bytes);
    return cv_avro_read_long(&r, ret_value);
}

static void refuses_bad_longs(void **state)
{
    int64_t value;

    assert_false(reads_long("", &value));
    assert_false(reads_long("80", &value));
    assert_false(reads_long("ff ff ff ff ff ff ff ff ff", &value));
    assert_false(reads_long("ff ff ff ff ff ff ff ff ff 02", &value));
    assert_false(reads_long("80 80 80 80 80 80 80 80 80 80 00", &value));
    assert_true(reads_long("80 80 80 80 80 80 80 80 80 00", &value)); /* long, but 0 */
    assert_int_equal(value, 0);
}

static void int_has_its_range(void **state)
{
    uint8_t bytes[8];
    struct cv_avro_reader r = {bytes, bytes};
    int32_t value;

    r.end += cv_test_hex("80 80 80 80 10", bytes, sizeof bytes); /* 2^31 */
    assert_false(cv_avro_read_int(&r, &value));
}

static void byte_strings(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    struct cv_avro_reader r;
    const uint8_t *bytes;
    size_t length;

    cv_avro_put_string(&out, "\xc3\xa9");
    cv_avro_put_bool(&out, true);
    cv_test_assert_hex(out.data, out.length, "04 c3 a9 01");
    r = (struct cv_avro_reader){out.data, out.data + out.length};
    assert_true(cv_avro_read_bytes(&r, &bytes, &length));
    assert_int_equal(length, 2);
    r = (struct cv_avro_reader){out.data, out.data + 2};
    assert_false(cv_avro_read_bytes(&r, &bytes, &length));
    r.at = (const uint8_t *)"\x01\x00";
    r.end = r.at + 2;
    assert_false(cv_avro_read_bytes(&r, &bytes, &length)); /* a length of -1 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longs_go_both_ways),
        cmocka_unit_test(refuses_bad_longs),
        cmocka_unit_test(int_has_its_range),
        cmocka_unit_test(byte_strings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
