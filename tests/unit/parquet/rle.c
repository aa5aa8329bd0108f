/* SPDX-License-Identifier: Apache-2.0
 *
 * The RLE / bit-packed hybrid against bytes worked out by hand from the format's Encodings.md. */
#include "parquet/rle.h"
#include "test.h"

static void bit_width_of_a_maximum(void **state)
{
    assert_int_equal(cv_bit_width(0), 0);
    assert_int_equal(cv_bit_width(1), 1);
    assert_int_equal(cv_bit_width(2), 2);
    assert_int_equal(cv_bit_width(255), 8);
    assert_int_equal(cv_bit_width(256), 9);
    assert_int_equal(cv_bit_width(UINT32_MAX), 32);
}

/* The example of the document: 0 to 7 in three bits each are 88 c6 fa. */
static void packs_the_example_of_the_format(void **state)
{
    const uint32_t values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    uint8_t bytes[16] = {0};

    cv_bits_pack8(values, 3, bytes);
    cv_test_assert_hex(bytes, 3, "88 c6 fa");
}

static uint32_t unpack(const uint8_t *bytes, size_t i, unsigned width)
{
    uint32_t value = 0;

    for (unsigned bit = 0; bit < width; bit++) {
        size_t at = i * width + bit;

        value |= (uint32_t)(bytes[at / 8] >> at % 8 & 1) << bit;
    }
    return value;
}

static void packs_every_width(void **state)
{
    for (unsigned width = 1; width <= 32; width++) {
        uint32_t mask = width == 32 ? UINT32_MAX : (1u << width) - 1;
        uint8_t bytes[48] = {0};
        uint32_t values[8];

        for (uint32_t i = 0; i < 8; i++)
            values[i] = (UINT32_C(2654435761) * (i + 1)) & mask;
        cv_bits_pack8(values, width, bytes);
        for (size_t i = 0; i < 8; i++)
            assert_int_equal(unpack(bytes, i, width), values[i]);
    }
}

static void writes_runs_and_literals(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    const uint32_t run[9] = {5, 5, 5, 5, 5, 5, 5, 5, 5};
    const uint32_t mixed[19] = {0, 1, 2, 3, 4, 5, 6, 7, 2, 2, 2, 2, 2, 2, 2, 2, 1, 0, 3};

    /* Nine fives of three bits: header 9 << 1, one byte of value. */
    cv_rle_write_indices(run, 9, 3, &out);
    cv_test_assert_hex(out.data, out.length, "12 05");
    /* The same in 9 bits: two bytes of value. */
    cv_buf_clear(&out);
    cv_rle_write_indices(run, 9, 9, &out);
    cv_test_assert_hex(out.data, out.length, "12 05 00");
    /* A group of literals, a run of eight, a padded group (1, 0, 3 are 1 | 3 << 6 in 3 bits). */
    cv_buf_clear(&out);
    cv_rle_write_indices(mixed, 19, 3, &out);
    cv_test_assert_hex(out.data, out.length, "03 88 c6 fa 10 02 03 c1 00 00");
    /* A short run alone is a run. */
    cv_buf_clear(&out);
    cv_rle_write_indices(run, 3, 3, &out);
    cv_test_assert_hex(out.data, out.length, "06 05");
    cv_buf_clear(&out);
    cv_rle_write_indices(run, 0, 3, &out);
    assert_int_equal(out.length, 0);
}

static void writes_levels(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    const uint8_t levels[5] = {3, 3, 0, 1, 2};
    const uint8_t run[300] = {0};

    /* 3 | 3 << 2 | 0 << 4 | 1 << 6 = 4f, then 2. */
    cv_rle_write_levels(levels, 5, 2, &out);
    cv_test_assert_hex(out.data, out.length, "03 4f 02");
    /* 300 << 1 = 600 as a varint is d8 04. */
    cv_buf_clear(&out);
    cv_rle_write_levels(run, 300, 1, &out);
    cv_test_assert_hex(out.data, out.length, "d8 04 00");
    cv_buf_clear(&out);
    cv_rle_write_run(7, 300, 3, &out);
    cv_test_assert_hex(out.data, out.length, "d8 04 07");
}

static void writes_bits(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    const uint8_t mixed[3] = {0xa5, 0xff, 0x01};
    const uint8_t ones[9] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03};

    cv_rle_write_bits(mixed, 17, &out);
    cv_test_assert_hex(out.data, out.length, "07 a5 ff 01");
    /* A run of 64 ones, then one group for the last two. */
    cv_buf_clear(&out);
    cv_rle_write_bits(ones, 66, &out);
    cv_test_assert_hex(out.data, out.length, "80 01 01 03 03");
    /* All that there is, however short, is a run: 8 << 1. */
    cv_buf_clear(&out);
    cv_rle_write_bits(ones, 8, &out);
    cv_test_assert_hex(out.data, out.length, "10 01");
}

/* A reader of the hybrid, written from the format, reads any sequence back. */
static size_t decode(const struct cv_buf *bytes, unsigned width, uint32_t *values, size_t count)
{
    size_t at = 0;
    size_t i = 0;

    while (at < bytes->length && i < count) {
        uint64_t header = 0;
        unsigned shift = 0;

        do
            header |= (uint64_t)(bytes->data[at] & 0x7f) << shift, shift += 7;
        while (bytes->data[at++] & 0x80);
        if (header & 1) {
            size_t groups = header >> 1;

            for (size_t j = 0; j < groups * 8 && i < count; j++)
                values[i++] = unpack(bytes->data + at, j, width);
            at += groups * width;
        } else {
            uint32_t value = 0;

            memcpy(&value, bytes->data + at, (width + 7) / 8);
            at += (width + 7) / 8;
            for (size_t j = 0; j < header >> 1 && i < count; j++)
                values[i++] = value;
        }
    }
    assert_int_equal(at, bytes->length);
    return i;
}

static void any_sequence_reads_back(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    static uint32_t values[1000];
    static uint32_t back[1000];
    static uint8_t levels[1000];
    static uint8_t bits[128];
    uint64_t random = 1;

    for (unsigned round = 0; round < 500; round++) {
        size_t count = round * 2 + 1;
        unsigned width = round % 20 + 1;
        unsigned longest = round % 40 + 1;

        memset(bits, 0, sizeof bits);
        for (size_t i = 0; i < count;) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            for (size_t run = random >> 40 & 63; run % longest + 1 > 0 && i < count; run--) {
                values[i] = (uint32_t)(random >> 33) & ((1u << width) - 1);
                levels[i] = values[i] & 3;
                bits[i / 8] |= (uint8_t)((values[i] & 1) << i % 8);
                i++;
                if (run % longest == 0)
                    break;
            }
        }
        cv_buf_clear(&out);
        cv_rle_write_indices(values, count, width, &out);
        assert_int_equal(decode(&out, width, back, count), count);
        assert_memory_equal(values, back, count * sizeof *values);
        cv_buf_clear(&out);
        cv_rle_write_levels(levels, count, 2, &out);
        assert_int_equal(decode(&out, 2, back, count), count);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(back[i], levels[i]);
        cv_buf_clear(&out);
        cv_rle_write_bits(bits, count, &out);
        assert_int_equal(decode(&out, 1, back, count), count);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(back[i], values[i] & 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bit_width_of_a_maximum),
        cmocka_unit_test(packs_the_example_of_the_format),
        cmocka_unit_test(packs_every_width),
        cmocka_unit_test(writes_runs_and_literals),
        cmocka_unit_test(writes_levels),
        cmocka_unit_test(writes_bits),
        cmocka_unit_test(any_sequence_reads_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
