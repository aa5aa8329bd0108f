/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading of RLE / bit-packed hybrid runs and of DELTA_BINARY_PACKED: bytes worked out by hand from
 * the format's Encodings.md, and what the writers of this folder wrote, in pieces of any size. */
#include "parquet/delta.h"
#include "parquet/rle.h"
#include "test.h"

static uint64_t state = 7;

static uint32_t next_random(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 32);
}

static size_t piece(size_t most, size_t left)
{
    size_t size = next_random() % most;

    return CV_MIN(size, left);
}

/* Bytes with the slack that the readers may touch. */
static uint8_t *padded(const void *bytes, size_t length)
{
    uint8_t *copy = cv_alloc(length + CV_RLE_SLACK);

    if (length)
        memcpy(copy, bytes, length);
    return copy;
}

static void reads_runs_worked_out_by_hand(void **state_)
{
    uint8_t bytes[16 + CV_RLE_SLACK] = {0};
    struct cv_rle_reader reader;
    uint32_t values[17];

    /* Nine fives of three bits; then the example of the format: 0 to 7, of which 88 c6 fa. */
    size_t length = cv_test_hex("12 05 03 88 c6 fa", bytes, 16);

    cv_rle_reader_init(&reader, bytes, length, 3);
    assert_true(cv_rle_read(&reader, 17, values));
    for (uint32_t i = 0; i < 17; i++)
        assert_int_equal(values[i], i < 9 ? 5 : i - 9);
    assert_false(cv_rle_read(&reader, 1, values));
}

static void refuses_what_is_cut_or_too_large(void **state_)
{
    uint8_t bytes[16 + CV_RLE_SLACK] = {0};
    struct cv_rle_reader reader;
    uint32_t values[8];
    size_t length = cv_test_hex("10 09", bytes, 16); /* eight nines, of three bits */

    cv_rle_reader_init(&reader, bytes, length, 3);
    assert_false(cv_rle_read(&reader, 8, values));
    cv_rle_reader_init(&reader, bytes, 1, 3);
    assert_false(cv_rle_read(&reader, 8, values));
    length = cv_test_hex("ff ff ff ff ff ff", bytes, 16);
    cv_rle_reader_init(&reader, bytes, length, 3);
    assert_false(cv_rle_read(&reader, 8, values));
}

/* parquet-mr leaves out the end of the last group: five values of two bits are two bytes. */
static void takes_a_last_group_that_is_cut(void **state_)
{
    uint8_t bytes[16 + CV_RLE_SLACK] = {0};
    struct cv_rle_reader reader;
    uint32_t values[8] = {0};
    const uint32_t wanted[8] = {1, 2, 3, 0, 1, 2, 3, 0};
    size_t length = cv_test_hex("05 39 39", bytes, 16); /* two groups announced, half a one there */

    cv_rle_reader_init(&reader, bytes, length, 2);
    assert_true(cv_rle_read(&reader, 8, values));
    assert_memory_equal(values, wanted, sizeof wanted);
    assert_false(cv_rle_read(&reader, 1, values));
}

static void values_of_no_width_are_zeros(void **state_)
{
    struct cv_rle_reader reader;
    uint32_t values[3] = {1, 1, 1};
    const uint8_t none[CV_RLE_SLACK] = {0};

    cv_rle_reader_init(&reader, none, 0, 0);
    assert_true(cv_rle_read(&reader, 3, values));
    assert_int_equal(values[0] | values[1] | values[2], 0);
    assert_true(cv_rle_take_run(&reader, 1000, 0));
    assert_false(cv_rle_take_run(&reader, 1, 1));
}

#define COUNT 3000

static void fill(uint32_t *values, unsigned width)
{
    uint32_t mask = width == 32 ? UINT32_MAX : (UINT32_C(1) << width) - 1;

    for (size_t i = 0; i < COUNT;) {
        uint32_t value = next_random() & mask;

        for (size_t run = next_random() % 3 ? 1 : next_random() % 40; run > 0 && i < COUNT; run--)
            values[i++] = value;
    }
}

static void reads_every_width_in_pieces(void **state_)
{
    static uint32_t values[COUNT], got[COUNT];
    static uint8_t levels[COUNT];

    for (unsigned width = 1; width <= 32; width++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
        struct cv_rle_reader reader;
        uint8_t *bytes;

        fill(values, width);
        cv_rle_write_indices(values, COUNT, width, &out);
        bytes = padded(out.data, out.length);
        cv_rle_reader_init(&reader, bytes, out.length, width);
        for (size_t at = 0; at < COUNT;) {
            size_t take = piece(50, COUNT - at);

            assert_true(cv_rle_read(&reader, take, got + at));
            at += take;
        }
        assert_memory_equal(got, values, sizeof values);
        cv_rle_reader_init(&reader, bytes, out.length, width);
        for (size_t at = 0; at < COUNT && width <= 8;) {
            size_t take = piece(50, COUNT - at);

            assert_true(cv_rle_read_levels(&reader, take, levels + at));
            for (size_t i = at; i < at + take; i++)
                assert_int_equal(levels[i], values[i]);
            at += take;
        }
        free(bytes);
    }
}

static void reads_bits_to_any_offset(void **state_)
{
    static uint32_t values[COUNT];
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    uint8_t bits[COUNT / 8 + 16];
    struct cv_rle_reader reader;
    uint8_t *bytes;
    size_t set, wanted;

    fill(values, 1);
    cv_rle_write_indices(values, COUNT, 1, &out);
    bytes = padded(out.data, out.length);
    cv_rle_reader_init(&reader, bytes, out.length, 1);
    memset(bits, 0xa5, sizeof bits);
    for (size_t at = 0; at < COUNT;) {
        size_t take = piece(90, COUNT - at);

        wanted = 0;
        assert_true(cv_rle_read_bits(&reader, take, bits, at + 3, &set));
        for (size_t i = 0; i < take; i++) {
            assert_int_equal(bits[(at + i + 3) / 8] >> (at + i + 3) % 8 & 1, values[at + i]);
            wanted += values[at + i];
        }
        assert_int_equal(set, wanted);
        assert_int_equal(cv_bits_count(bits, at + 3, take), wanted);
        at += take;
    }
    assert_int_equal(bits[0] & 7, 0xa5 & 7); /* what is before stays */
    free(bytes);
}

/* The second example of DELTA_BINARY_PACKED in the format: 7, 5, 3, 1, 2, 3, 4, 5. */
static void reads_the_delta_example_of_the_format(void **state_)
{
    const uint32_t wanted[8] = {7, 5, 3, 1, 2, 3, 4, 5};
    uint8_t bytes[16 + CV_RLE_SLACK] = {0};
    struct cv_delta_reader reader;
    const uint8_t *end;
    uint32_t values[8];
    size_t length = cv_test_hex("08 01 08 0e 03 02 c0 3f", bytes, 16);

    assert_true(cv_delta_reader_init(&reader, bytes, length));
    assert_true(cv_delta_find_end(&reader, &end));
    assert_ptr_equal(end, bytes + length);
    assert_true(cv_delta_read_32(&reader, 8, values));
    assert_memory_equal(values, wanted, sizeof wanted);
    assert_false(cv_delta_read_32(&reader, 1, values));
    assert_true(cv_delta_reader_init(&reader, bytes, length - 1));
    assert_false(cv_delta_read_32(&reader, 8, values));
}

static void reads_deltas_of_any_size_in_pieces(void **state_)
{
    static int64_t values[COUNT], got[COUNT];

    for (unsigned bits = 1; bits <= 64; bits++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
        struct cv_delta_reader reader;
        const uint8_t *end;
        uint8_t *bytes;

        for (size_t i = 0; i < COUNT; i++)
            values[i] = (int64_t)(((uint64_t)next_random() << 32 | next_random()) >> (64 - bits));
        cv_delta_write_64((const uint8_t *)values, COUNT - bits, &out);
        bytes = padded(out.data, out.length);
        assert_true(cv_delta_reader_init(&reader, bytes, out.length));
        assert_true(cv_delta_find_end(&reader, &end));
        assert_ptr_equal(end, bytes + out.length);
        for (size_t at = 0; at < COUNT - bits;) {
            size_t take = piece(70, COUNT - bits - at);

            assert_true(cv_delta_read_64(&reader, take, (uint64_t *)got + at));
            at += take;
        }
        assert_memory_equal(got, values, (COUNT - bits) * sizeof *got);
        free(bytes);
    }
}

static void refuses_delta_blocks_of_odd_sizes(void **state_)
{
    static const char *const heads[] = {
        "00 01 08 0e",             /* no values in a block */
        "08 00 08 0e",             /* no miniblocks */
        "08 03 08 0e",             /* miniblocks of unequal size */
        "08 08 08 0e",             /* of one value each */
        "80 80 80 80 10 01 08 0e", /* too large */
        "80 01 04 08",             /* cut */
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(heads); i++) {
        uint8_t bytes[16 + CV_RLE_SLACK] = {0};
        struct cv_delta_reader reader;

        assert_false(cv_delta_reader_init(&reader, bytes, cv_test_hex(heads[i], bytes, 16)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_runs_worked_out_by_hand),
        cmocka_unit_test(refuses_what_is_cut_or_too_large),
        cmocka_unit_test(takes_a_last_group_that_is_cut),
        cmocka_unit_test(values_of_no_width_are_zeros),
        cmocka_unit_test(reads_every_width_in_pieces),
        cmocka_unit_test(reads_bits_to_any_offset),
        cmocka_unit_test(reads_the_delta_example_of_the_format),
        cmocka_unit_test(reads_deltas_of_any_size_in_pieces),
        cmocka_unit_test(refuses_delta_blocks_of_odd_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
