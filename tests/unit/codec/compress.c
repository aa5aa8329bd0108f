/* SPDX-License-Identifier: Apache-2.0
 *
 * Every codec both ways, blocks of other programs, and claims that are not true. */
#include "test.h"

#include "base/str.h"
#include "codec/compress.h"

static const enum cv_codec codecs[] = {CV_CODEC_NONE,    CV_CODEC_SNAPPY,  CV_CODEC_GZIP,
                                       CV_CODEC_DEFLATE, CV_CODEC_LZ4_RAW, CV_CODEC_ZSTD};

static void fill(uint8_t *bytes, size_t length)
{
    uint32_t seed = 1;

    for (size_t i = 0; i < length; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = i % 3 ? 'a' : (uint8_t)(seed >> 24);
    }
}

static void round_trip(enum cv_codec codec, const uint8_t *bytes, size_t length)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf packed = CV_BUF_INIT(0);
    CV_CLEANUP(cv_buf_release) struct cv_buf plain = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;
    struct cv_compressor *c;

    CV_ASSERT_OK(cv_compressor_new(codec, CV_CODEC_LEVEL_DEFAULT, &c, &err), &err);
    CV_ASSERT_OK(cv_compress(c, "first", 5, &packed, &err), &err); /* the context is used again */
    cv_buf_clear(&packed);
    CV_ASSERT_OK(cv_compress(c, bytes, length, &packed, &err), &err);
    cv_buf_append_text(&plain, "x"); /* output is appended */
    CV_ASSERT_OK(cv_decompress(codec, packed.data, packed.length, length, &plain, &err), &err);
    assert_int_equal(plain.length, length + 1);
    if (length)
        assert_memory_equal(plain.data + 1, bytes, length);
    if (codec != CV_CODEC_LZ4_RAW) {
        cv_buf_clear(&plain);
        CV_ASSERT_OK(cv_decompress(codec, packed.data, packed.length, SIZE_MAX, &plain, &err),
                     &err);
        assert_int_equal(plain.length, length);
    }
    if (length) {
        cv_buf_clear(&plain);
        CV_ASSERT_FAILS(cv_decompress(codec, packed.data, packed.length, length - 1, &plain, &err),
                        CV_FORMAT, cv_codec_name(codec), &err);
        CV_ASSERT_FAILS(cv_decompress(codec, packed.data, packed.length, length + 1, &plain, &err),
                        CV_FORMAT, cv_codec_name(codec), &err);
        CV_ASSERT_FAILS(cv_decompress(codec, packed.data, packed.length - 1, length, &plain, &err),
                        CV_FORMAT, cv_codec_name(codec), &err);
    }
    cv_compressor_free(c);
}

static void codecs_go_both_ways(void **state)
{
    static const size_t lengths[] = {0, 1, 100, 70000, 1 << 20};
    uint8_t *bytes = malloc(1 << 20);

    fill(bytes, 1 << 20);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(codecs); i++)
        for (size_t k = 0; k < CV_ARRAY_LENGTH(lengths); k++)
            round_trip(codecs[i], bytes, lengths[k]);
    free(bytes);
}

static void unpacks(enum cv_codec codec, const char *hex, const char *text)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf plain = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;
    uint8_t bytes[256];
    size_t length = cv_test_hex(hex, bytes, sizeof bytes);

    CV_ASSERT_OK(cv_decompress(codec, bytes, length, strlen(text), &plain, &err), &err);
    assert_string_equal(cv_buf_text(&plain), text);
}

/* Blocks made by Python's gzip, zlib and by the specifications' own examples. */
static void unpacks_foreign_blocks(void **state)
{
    unpacks(CV_CODEC_GZIP, "1f8b08000000000002ffcb48cdc9c95728cf2fca4901008511 4a0d 0b000000",
            "hello world");
    /* two members in one block */
    unpacks(CV_CODEC_GZIP,
            "1f8b08000000000002ffcb48cdc9c95728cf2fca4901008511 4a0d 0b000000"
            "1f8b08000000000002ffcb48cdc9c95728cf2fca4901008511 4a0d 0b000000",
            "hello worldhello world");
    unpacks(CV_CODEC_DEFLATE, "cb48cdc9c95728cf2fca490100", "hello world");
    unpacks(CV_CODEC_SNAPPY, "0b 28 68656c6c6f20776f726c64", "hello world");
    unpacks(CV_CODEC_LZ4_RAW, "b0 68656c6c6f20776f726c64", "hello world");
    unpacks(CV_CODEC_ZSTD, "28b52ffd 20 0b 590000 68656c6c6f20776f726c64", "hello world");
}

static void refuses_false_claims(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf plain = CV_BUF_INIT(4096);
    struct cv_error err = CV_ERROR_INIT;
    CV_CLEANUP(cv_buf_release) struct cv_buf packed = CV_BUF_INIT(0);
    uint8_t *zeros = cv_alloc(100000);
    struct cv_compressor *c;

    /* snappy that claims 4 GiB in 6 bytes */
    CV_ASSERT_FAILS(
        cv_decompress(CV_CODEC_SNAPPY, "\xff\xff\xff\xff\x0f\x00", 6, SIZE_MAX, &plain, &err),
        CV_FORMAT, "malformed snappy", &err);
    /* a bomb stops at the buffer's limit */
    for (size_t i = 1; i < CV_ARRAY_LENGTH(codecs); i++) {
        if (codecs[i] == CV_CODEC_LZ4_RAW)
            continue;
        cv_buf_clear(&packed);
        cv_buf_clear(&plain);
        CV_ASSERT_OK(cv_compressor_new(codecs[i], CV_CODEC_LEVEL_DEFAULT, &c, &err), &err);
        CV_ASSERT_OK(cv_compress(c, zeros, 100000, &packed, &err), &err);
        CV_ASSERT_FAILS(
            cv_decompress(codecs[i], packed.data, packed.length, SIZE_MAX, &plain, &err), CV_LIMIT,
            "limit of 4096", &err);
        cv_compressor_free(c);
    }
    free(zeros);
}

static void names_and_levels(void **state)
{
    struct cv_error err = CV_ERROR_INIT;
    enum cv_codec codec;

    CV_ASSERT_OK(cv_codec_from_name("ZSTD", &codec, &err), &err);
    assert_int_equal(codec, CV_CODEC_ZSTD);
    CV_ASSERT_OK(cv_codec_from_name("lz4_raw", &codec, &err), &err);
    assert_string_equal(cv_codec_name(codec), "lz4_raw");
    CV_ASSERT_OK(cv_codec_from_name("uncompressed", &codec, &err), &err);
    assert_string_equal(cv_codec_name(codec), "none");
    CV_ASSERT_FAILS(cv_codec_from_name("brotli", &codec, &err), CV_CONFIG, "brotli", &err);
    CV_ASSERT_OK(cv_codec_check_level(CV_CODEC_ZSTD, 22, &err), &err);
    CV_ASSERT_FAILS(cv_codec_check_level(CV_CODEC_ZSTD, 23, &err), CV_CONFIG, "-7 to 22", &err);
    CV_ASSERT_FAILS(cv_codec_check_level(CV_CODEC_GZIP, 10, &err), CV_CONFIG, "0 to 9", &err);
    CV_ASSERT_OK(cv_codec_check_level(CV_CODEC_SNAPPY, 5, &err), &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codecs_go_both_ways),
        cmocka_unit_test(unpacks_foreign_blocks),
        cmocka_unit_test(refuses_false_claims),
        cmocka_unit_test(names_and_levels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
