/* SPDX-License-Identifier: Apache-2.0
 *
 * Block compression under the names of the Parquet and Avro codecs. A compressor keeps its context
 * between blocks, so that a page costs no allocation. One thread each. */
#ifndef CALVE_CODEC_COMPRESS_H
#define CALVE_CODEC_COMPRESS_H

#include "base/buf.h"

enum cv_codec {
    CV_CODEC_NONE,
    CV_CODEC_SNAPPY,  /* raw snappy block */
    CV_CODEC_GZIP,    /* gzip member */
    CV_CODEC_DEFLATE, /* raw deflate, Avro's */
    CV_CODEC_LZ4_RAW, /* one LZ4 block */
    CV_CODEC_ZSTD,    /* one frame */
    /* Read only: */
    CV_CODEC_BROTLI,
    CV_CODEC_LZ4_HADOOP, /* Parquet's deprecated LZ4: Hadoop's frames or, by some writers, a block
                          */
};

#define CV_CODEC_LEVEL_DEFAULT INT32_MIN

/* "zstd", "snappy", "gzip", "lz4_raw" (also "lz4"), "none" or "uncompressed", "deflate"; any case.
 */
enum cv_code cv_codec_from_name(const char *name, enum cv_codec *ret_codec, struct cv_error *err);
const char *cv_codec_name(enum cv_codec codec);
/* CV_CONFIG with the allowed range unless the codec takes this level. */
enum cv_code cv_codec_check_level(enum cv_codec codec, int32_t level, struct cv_error *err);

struct cv_compressor;
enum cv_code cv_compressor_new(enum cv_codec codec, int32_t level, struct cv_compressor **ret,
                               struct cv_error *err);
/* zstd with a match length and a hash table of its own; 0 = what the level has. */
enum cv_code cv_compressor_new_zstd(int32_t level, int min_match, int hash_log,
                                    struct cv_compressor **ret, struct cv_error *err);
void cv_compressor_free(struct cv_compressor *compressor);
/* Appends the compressed block to `out`. */
enum cv_code cv_compress(struct cv_compressor *compressor, const void *bytes, size_t length,
                         struct cv_buf *out, struct cv_error *err);

/* Appends exactly `plain_length` bytes when it is known; pass SIZE_MAX when it is not (then `out`'s
 * maximum is the limit; not for LZ4 and brotli). */
enum cv_code cv_decompress(enum cv_codec codec, const void *bytes, size_t length,
                           size_t plain_length, struct cv_buf *out, struct cv_error *err);

/* The same for many blocks, with a context kept between them. */
struct cv_decompressor;
struct cv_decompressor *cv_decompressor_new(void);
void cv_decompressor_free(struct cv_decompressor *decompressor);
enum cv_code cv_decompressor_run(struct cv_decompressor *decompressor, enum cv_codec codec,
                                 const void *bytes, size_t length, size_t plain_length,
                                 struct cv_buf *out, struct cv_error *err);

#endif
