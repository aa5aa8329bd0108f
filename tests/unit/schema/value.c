/* SPDX-License-Identifier: Apache-2.0
 *
 * Single values against the spec's and Java's bytes (vectors V-SINGLE, V-DEC), texts, order. */
#include "schema/value.h"
#include "test.h"

#include <math.h>

#define BYTES(text)                                                                                \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static const struct cv_type types[] = {
    {.kind = CV_TYPE_BOOLEAN},
    {.kind = CV_TYPE_INT},
    {.kind = CV_TYPE_LONG},
    {.kind = CV_TYPE_FLOAT},
    {.kind = CV_TYPE_DOUBLE},
    {.kind = CV_TYPE_DECIMAL, .precision = 38, .scale = 4},
    {.kind = CV_TYPE_DATE},
    {.kind = CV_TYPE_TIME},
    {.kind = CV_TYPE_TIMESTAMP},
    {.kind = CV_TYPE_TIMESTAMPTZ},
    {.kind = CV_TYPE_STRING},
    {.kind = CV_TYPE_UUID},
    {.kind = CV_TYPE_FIXED, .length = 2},
    {.kind = CV_TYPE_BINARY},
};

static struct cv_value read_hex(const struct cv_type *type, const char *hex)
{
    static uint8_t bytes[64];
    struct cv_error err = CV_ERROR_INIT;
    struct cv_value value;
    size_t length = cv_test_hex(hex, bytes, sizeof bytes);

    CV_ASSERT_OK(cv_value_read_binary(type, (struct cv_str){(char *)bytes, length}, &value, &err),
                 &err);
    return value;
}

static void single_values_have_the_bytes_of_the_spec(void **state)
{
    static const struct {
        struct cv_value value;
        const char *hex;
    } rows[] = {
        {{.kind = CV_TYPE_BOOLEAN, .boolean = false}, "00"},
        {{.kind = CV_TYPE_BOOLEAN, .boolean = true}, "01"},
        {{.kind = CV_TYPE_INT, .i32 = 84202}, "ea 48 01 00"},
        {{.kind = CV_TYPE_LONG, .i64 = 200}, "c8 00 00 00 00 00 00 00"},
        {{.kind = CV_TYPE_FLOAT, .f32 = -4.5f}, "00 00 90 c0"},
        {{.kind = CV_TYPE_DOUBLE, .f64 = 6.0}, "00 00 00 00 00 00 18 40"},
        {{.kind = CV_TYPE_DATE, .i32 = 1000}, "e8 03 00 00"},
        {{.kind = CV_TYPE_TIME, .i64 = 10000}, "10 27 00 00 00 00 00 00"},
        {{.kind = CV_TYPE_TIMESTAMP, .i64 = 400000}, "80 1a 06 00 00 00 00 00"},
        {{.kind = CV_TYPE_TIMESTAMPTZ, .i64 = 400000}, "80 1a 06 00 00 00 00 00"},
        {{.kind = CV_TYPE_STRING, .bytes = BYTES("ABC")}, "41 42 43"},
        {{.kind = CV_TYPE_UUID,
          .bytes = BYTES("\xf7\x9c\x3e\x09\x67\x7c\x4b\xbd\xa4\x79\x3f\x34\x9c\xb7\x85\xe7")},
         "f7 9c 3e 09 67 7c 4b bd a4 79 3f 34 9c b7 85 e7"},
        {{.kind = CV_TYPE_FIXED, .bytes = BYTES("ab")}, "61 62"},
        {{.kind = CV_TYPE_BINARY, .bytes = BYTES("Z")}, "5a"},
        {{.kind = CV_TYPE_DECIMAL, .decimal = 345}, "01 59"},
        {{.kind = CV_TYPE_DECIMAL, .decimal = 1234567}, "12 d6 87"},
        {{.kind = CV_TYPE_DECIMAL, .decimal = -1234567}, "ed 29 79"},
        {{.kind = CV_TYPE_DECIMAL, .decimal = 11}, "0b"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
        struct cv_value back = read_hex(&types[rows[i].value.kind], rows[i].hex);

        cv_value_write_binary(&rows[i].value, &out);
        cv_test_assert_hex(out.data, out.length, rows[i].hex);
        assert_int_equal(cv_value_compare(&back, &rows[i].value), 0);
    }
}

static cv_wide_int nines(void)
{
    return cv_decimal_power_of_ten(38) - 1;
}

static void decimals_have_minimal_bytes(void **state)
{
    const struct {
        cv_wide_int unscaled;
        const char *hex;
    } rows[] = {
        {0, "00"},
        {1, "01"},
        {-1, "ff"},
        {127, "7f"},
        {128, "00 80"},
        {-128, "80"},
        {-129, "ff 7f"},
        {255, "00 ff"},
        {256, "01 00"},
        {350, "01 5e"},
        {1420, "05 8c"},
        {-1420, "fa 74"},
        {1000000000, "3b 9a ca 00"},
        {-1000000000, "c4 65 36 00"},
        {nines(), "4b 3b 4c a8 5a 86 c4 7a 09 8a 22 3f ff ff ff ff"},
        {-nines(), "b4 c4 b3 57 a5 79 3b 85 f6 75 dd c0 00 00 00 01"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        uint8_t bytes[16];
        size_t length = cv_decimal_minimal_bytes(rows[i].unscaled, bytes);

        cv_test_assert_hex(bytes, length, rows[i].hex);
        assert_true(read_hex(&types[CV_TYPE_DECIMAL], rows[i].hex).decimal == rows[i].unscaled);
    }
}

static void a_fixed_is_as_wide_as_its_precision_needs(void **state)
{
    static const uint8_t last[] = {2, 4, 6, 9, 11, 14, 16, 18, 21, 23, 26, 28, 31, 33, 35, 38};
    uint8_t bytes[16];
    uint8_t precision = 1;

    for (size_t i = 0; i < sizeof last; i++)
        for (; precision <= last[i]; precision++) {
            assert_int_equal(cv_decimal_fixed_bytes(precision), i + 1);
            assert_true(cv_decimal_minimal_bytes(cv_decimal_power_of_ten(precision) - 1, bytes) <=
                        i + 1);
        }
}

static void decimals_fit_their_precision(void **state)
{
    assert_true(cv_decimal_fits(99, 2));
    assert_true(cv_decimal_fits(-99, 2));
    assert_false(cv_decimal_fits(100, 2));
    assert_false(cv_decimal_fits(-100, 2));
    assert_true(cv_decimal_fits(nines(), 38));
    assert_false(cv_decimal_fits(nines() + 1, 38));
}

static void narrow_bytes_are_read_under_widened_columns(void **state)
{
    static const struct cv_type timestamp = {.kind = CV_TYPE_TIMESTAMP};

    assert_int_equal(read_hex(&types[CV_TYPE_LONG], "ff ff ff ff").i64, -1);
    assert_float_equal(read_hex(&types[CV_TYPE_DOUBLE], "00 00 90 c0").f64, -4.5, 0);
    assert_int_equal(read_hex(&timestamp, "01 00 00 00").i64, INT64_C(86400000000));
    /* the decimal 1 with 20 bytes, and -1 with 18 */
    assert_true(read_hex(&types[CV_TYPE_DECIMAL],
                         "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01")
                    .decimal == 1);
    assert_true(
        read_hex(&types[CV_TYPE_DECIMAL], "ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff")
            .decimal == -1);
}

static void wrong_lengths_are_errors(void **state)
{
    static const char bytes[32] = {1};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_value value;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(types); i++) {
        if (types[i].kind == CV_TYPE_STRING || types[i].kind == CV_TYPE_BINARY)
            continue;
        CV_ASSERT_FAILS(cv_value_read_binary(&types[i], (struct cv_str){bytes, 0}, &value, &err),
                        CV_FORMAT, "bytes", &err);
        CV_ASSERT_FAILS(cv_value_read_binary(&types[i], (struct cv_str){bytes, 32}, &value, &err),
                        CV_FORMAT, "", &err);
    }
    CV_ASSERT_FAILS(cv_value_read_binary(&types[CV_TYPE_TIMESTAMP],
                                         (struct cv_str){"\xff\xff\xff\x7f", 4}, &value, &err),
                    CV_FORMAT, "beyond", &err);
}

/* Beyond 16 bytes only repetitions of the sign may follow, and 38 digits are the most. */
static void decimals_too_wide_are_errors(void **state)
{
    static const char *const rows[] = {
        "01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
        "00 ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff",
        "ff 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01",
        "4b 3b 4c a8 5a 86 c4 7a 09 8a 22 40 00 00 00 00",
        "7f ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff",
        "80 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        struct cv_error err = CV_ERROR_INIT;
        struct cv_value value;
        uint8_t bytes[32];
        size_t length = cv_test_hex(rows[i], bytes, sizeof bytes);

        CV_ASSERT_FAILS(cv_value_read_binary(&types[CV_TYPE_DECIMAL],
                                             (struct cv_str){(char *)bytes, length}, &value, &err),
                        CV_FORMAT, "decimal value", &err);
    }
}

static void texts_are_those_of_the_json_form(void **state)
{
    static const struct cv_type decimal_2 = {.kind = CV_TYPE_DECIMAL, .precision = 9, .scale = 2};
    static const struct cv_type decimal_0 = {.kind = CV_TYPE_DECIMAL, .precision = 38};
    const struct {
        const struct cv_type *type;
        struct cv_value value;
        const char *text;
    } rows[] = {
        {&types[CV_TYPE_BOOLEAN], {.boolean = true}, "true"},
        {&types[CV_TYPE_INT], {.i32 = INT32_MIN}, "-2147483648"},
        {&types[CV_TYPE_LONG], {.i64 = INT64_MIN}, "-9223372036854775808"},
        {&types[CV_TYPE_FLOAT], {.f32 = 0.1f}, "0.1"},
        {&types[CV_TYPE_DOUBLE], {.f64 = 1.0}, "1.0"},
        {&types[CV_TYPE_DOUBLE], {.f64 = 100.25}, "100.25"},
        {&types[CV_TYPE_DOUBLE], {.f64 = -0.0}, "-0.0"},
        {&types[CV_TYPE_DOUBLE], {.f64 = 0.001}, "0.001"},
        {&types[CV_TYPE_DOUBLE], {.f64 = 0.0001}, "1.0E-4"},
        {&types[CV_TYPE_DOUBLE], {.f64 = 1234567.0}, "1234567.0"},
        {&types[CV_TYPE_DOUBLE], {.f64 = 12345678.0}, "1.2345678E7"},
        {&types[CV_TYPE_DOUBLE], {.f64 = 1.7976931348623157e308}, "1.7976931348623157E308"},
        {&types[CV_TYPE_DOUBLE], {.f64 = 1e100}, "1.0E100"},
        {&types[CV_TYPE_DOUBLE], {.f64 = NAN}, "NaN"},
        {&types[CV_TYPE_DOUBLE], {.f64 = -INFINITY}, "-Infinity"},
        {&decimal_2, {.decimal = 1420}, "14.20"},
        {&decimal_2, {.decimal = -5}, "-0.05"},
        {&decimal_2, {.decimal = 0}, "0.00"},
        {&decimal_0, {.decimal = 0}, "0"},
        {&decimal_0, {.decimal = -nines()}, "-99999999999999999999999999999999999999"},
        {&types[CV_TYPE_DATE], {.i32 = 17486}, "2017-11-16"},
        {&types[CV_TYPE_DATE], {.i32 = -719529}, "-0001-12-31"},
        {&types[CV_TYPE_DATE], {.i32 = 2932897}, "+10000-01-01"},
        {&types[CV_TYPE_TIME], {.i64 = 81068123456}, "22:31:08.123456"},
        {&types[CV_TYPE_TIMESTAMP], {.i64 = 1510871468123456}, "2017-11-16T22:31:08.123456"},
        {&types[CV_TYPE_TIMESTAMP], {.i64 = -1}, "1969-12-31T23:59:59.999999"},
        {&types[CV_TYPE_TIMESTAMPTZ],
         {.i64 = 1510871468000001},
         "2017-11-16T22:31:08.000001+00:00"},
        {&types[CV_TYPE_STRING], {.bytes = BYTES("\xc3\xa9")}, "\xc3\xa9"},
        {&types[CV_TYPE_UUID],
         {.bytes = BYTES("\xf7\x9c\x3e\x09\x67\x7c\x4b\xbd\xa4\x79\x3f\x34\x9c\xb7\x85\xe7")},
         "f79c3e09-677c-4bbd-a479-3f349cb785e7"},
        {&types[CV_TYPE_BINARY], {.bytes = BYTES("\x00\x01\x02\xff")}, "000102ff"},
        {&types[CV_TYPE_INT], {.is_null = true}, "null"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
        struct cv_value value = rows[i].value;

        value.kind = rows[i].type->kind;
        cv_value_write_text(&value, rows[i].type, &out);
        assert_string_equal(cv_buf_text(&out), rows[i].text);
    }
}

static void values_have_one_total_order(void **state)
{
    static const struct cv_value doubles[] = {
        {.kind = CV_TYPE_DOUBLE, .is_null = true}, {.kind = CV_TYPE_DOUBLE, .f64 = -INFINITY},
        {.kind = CV_TYPE_DOUBLE, .f64 = -1},       {.kind = CV_TYPE_DOUBLE, .f64 = -0.0},
        {.kind = CV_TYPE_DOUBLE, .f64 = 0.0},      {.kind = CV_TYPE_DOUBLE, .f64 = 1},
        {.kind = CV_TYPE_DOUBLE, .f64 = INFINITY}, {.kind = CV_TYPE_DOUBLE, .f64 = NAN},
    };
    static const struct cv_value texts[] = {
        {.kind = CV_TYPE_STRING, .bytes = BYTES("")},
        {.kind = CV_TYPE_STRING, .bytes = BYTES("a")},
        {.kind = CV_TYPE_STRING, .bytes = BYTES("ab")},
        {.kind = CV_TYPE_STRING, .bytes = BYTES("b")},
        {.kind = CV_TYPE_STRING, .bytes = BYTES("\xf0\x90\x8f\xbf")},
    };

    for (int i = 0; i < (int)CV_ARRAY_LENGTH(doubles); i++)
        for (int j = 0; j < (int)CV_ARRAY_LENGTH(doubles); j++)
            assert_int_equal(cv_value_compare(&doubles[i], &doubles[j]), (i > j) - (i < j));
    for (int i = 0; i < (int)CV_ARRAY_LENGTH(texts); i++)
        for (int j = 0; j < (int)CV_ARRAY_LENGTH(texts); j++)
            assert_int_equal(cv_value_compare(&texts[i], &texts[j]), (i > j) - (i < j));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_values_have_the_bytes_of_the_spec),
        cmocka_unit_test(decimals_have_minimal_bytes),
        cmocka_unit_test(a_fixed_is_as_wide_as_its_precision_needs),
        cmocka_unit_test(decimals_fit_their_precision),
        cmocka_unit_test(narrow_bytes_are_read_under_widened_columns),
        cmocka_unit_test(wrong_lengths_are_errors),
        cmocka_unit_test(decimals_too_wide_are_errors),
        cmocka_unit_test(texts_are_those_of_the_json_form),
        cmocka_unit_test(values_have_one_total_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
