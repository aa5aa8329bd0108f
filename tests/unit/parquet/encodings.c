/* SPDX-License-Identifier: Apache-2.0
 *
 * DELTA encodings against the examples of the format's Encodings.md (in blocks of 128 values with
 * four miniblocks), and the dictionary. */
#include "parquet/delta.h"
#include "parquet/dictionary.h"
#include "test.h"

static void delta_of_the_format_s_examples(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    const int32_t rising[5] = {1, 2, 3, 4, 5};
    const int64_t turning[8] = {7, 5, 3, 1, 2, 3, 4, 5};

    /* Header 128, 4, 5, zigzag 1; least delta zigzag 1, widths 0. */
    cv_delta_write_32((const uint8_t *)rising, 5, &out);
    cv_test_assert_hex(out.data, out.length, "80 01 04 05 02  02 00 00 00 00");
    /* Deltas -2 -2 -2 1 1 1 1, less -2: 0 0 0 3 3 3 3 in two bits. */
    cv_buf_clear(&out);
    cv_delta_write_64((const uint8_t *)turning, 8, &out);
    cv_test_assert_hex(out.data, out.length,
                       "80 01 04 08 0e  03 02 00 00 00  c0 3f 00 00 00 00 00 00");
}

static void delta_of_extremes_wraps(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    const int64_t wide[2] = {INT64_MAX, INT64_MIN};
    const int32_t narrow[2] = {INT32_MIN, INT32_MAX};

    /* INT64_MIN - INT64_MAX = 1 modulo 2^64. */
    cv_delta_write_64((const uint8_t *)wide, 2, &out);
    cv_test_assert_hex(out.data, out.length,
                       "80 01 04 02 fe ff ff ff ff ff ff ff ff 01  02 00 00 00 00");
    cv_buf_clear(&out);
    cv_delta_write_32((const uint8_t *)narrow, 2, &out);
    cv_test_assert_hex(out.data, out.length, "80 01 04 02 ff ff ff ff 0f  01 00 00 00 00");
    cv_buf_clear(&out);
    cv_delta_write_32((const uint8_t *)narrow, 0, &out);
    cv_test_assert_hex(out.data, out.length, "80 01 04 00 00");
}

static void delta_lengths_of_the_format_s_example(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf lengths = CV_BUF_INIT(0);
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    CV_CLEANUP(cv_buf_release) struct cv_buf plain = CV_BUF_INIT(0);
    static const char *const words[4] = {"Hello", "World", "Foobar", "ABCDEF"};

    for (size_t i = 0; i < 4; i++) {
        uint32_t length = (uint32_t)strlen(words[i]);

        cv_buf_append(&plain, &length, 4);
        cv_buf_append_text(&plain, words[i]);
    }
    cv_delta_write_bytes(plain.data, 4, &lengths, &out);
    cv_test_assert_hex(out.data, 14, "80 01 04 04 0a  00 01 00 00 00  02 00 00 00");
    assert_int_equal(out.length, 14 + 22);
    assert_memory_equal(out.data + 14, "HelloWorldFoobarABCDEF", 22);
}

static void dictionary_of_numbers(void **state)
{
    struct cv_dictionary dictionary = {.width = 8, .words = true};
    static uint64_t values[3000];
    static uint32_t indices[3000];
    CV_CLEANUP(cv_buf_release) struct cv_buf back = CV_BUF_INIT(0);

    for (size_t i = 0; i < 3000; i++)
        values[i] = i % 1000 * UINT64_C(0x100000000);
    cv_dictionary_add_64(&dictionary, values, 3000, indices);
    assert_int_equal(dictionary.count, 1000);
    for (size_t i = 0; i < 3000; i++)
        assert_int_equal(indices[i], i % 1000);
    cv_dictionary_decode(&dictionary, indices, 3000, &back);
    assert_int_equal(back.length, sizeof values);
    assert_memory_equal(back.data, values, sizeof values);
    cv_dictionary_clear(&dictionary);
    cv_dictionary_add_64(&dictionary, values + 999, 1, indices);
    assert_int_equal(indices[0], 0);
    assert_int_equal(dictionary.values.length, 8);
    cv_dictionary_release(&dictionary);
}

/* Every length from 0 to 40, twice; equal starts and equal ends. */
static void dictionary_of_bytes(void **state)
{
    struct cv_dictionary dictionary = {0};
    static char text[64] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    struct cv_str values[90];
    uint32_t indices[90];
    char other[33] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    for (size_t i = 0; i < 82; i++)
        values[i] = (struct cv_str){text, i % 41};
    other[10] = 'b';
    values[82] = (struct cv_str){other, 32};
    values[83] = (struct cv_str){other + 8, 3};
    values[84] = (struct cv_str){other + 8, 4};
    cv_dictionary_add_bytes(&dictionary, values, 85, indices);
    for (size_t i = 0; i < 82; i++)
        assert_int_equal(indices[i], i % 41);
    assert_int_equal(dictionary.count, 44);
    for (size_t i = 0; i < 85; i++)
        assert_true(cv_str_equal(cv_dictionary_entry(&dictionary, indices[i]), values[i]));
    /* The page: a length of four bytes before each. */
    cv_test_assert_hex(dictionary.values.data, 15, "00000000 01000000 61 02000000 61 61");
    assert_int_equal(cv_dictionary_bytes(&dictionary, 3), 15);
    cv_dictionary_release(&dictionary);
}

static void dictionary_of_fixed_bytes(void **state)
{
    struct cv_dictionary dictionary = {.width = 8};
    const struct cv_str values[3] = {{"abcdefgh", 8}, {"abcdefgi", 8}, {"abcdefgh", 8}};
    uint32_t indices[3];

    cv_dictionary_add_bytes(&dictionary, values, 3, indices);
    assert_int_equal(indices[2], 0);
    assert_int_equal(dictionary.count, 2);
    assert_memory_equal(dictionary.values.data, "abcdefghabcdefgi", 16);
    cv_dictionary_release(&dictionary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delta_of_the_format_s_examples),
        cmocka_unit_test(delta_of_extremes_wraps),
        cmocka_unit_test(delta_lengths_of_the_format_s_example),
        cmocka_unit_test(dictionary_of_numbers),
        cmocka_unit_test(dictionary_of_bytes),
        cmocka_unit_test(dictionary_of_fixed_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
