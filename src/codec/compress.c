/* SPDX-License-Identifier: Apache-2.0
 *
 * Compression of blocks, and the names and levels of the codecs. */
#include "codec/compress.h"

#include "base/str.h"

#include <lz4.h>
#include <snappy-c.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#define ZSTD_LEVEL_MIN      (-7)
#define GZIP_WINDOW_BITS    (15 + 16)
#define DEFLATE_WINDOW_BITS (-15)

struct cv_compressor {
    enum cv_codec codec;
    ZSTD_CCtx *zstd;
    z_stream zlib;
    bool zlib_open;
    void *lz4_state;
};

static const struct {
    const char *name;
    enum cv_codec codec;
} codec_names[] = {
    {"none", CV_CODEC_NONE},       {"snappy", CV_CODEC_SNAPPY},     {"gzip", CV_CODEC_GZIP},
    {"deflate", CV_CODEC_DEFLATE}, {"lz4_raw", CV_CODEC_LZ4_RAW},   {"zstd", CV_CODEC_ZSTD},
    {"lz4", CV_CODEC_LZ4_RAW},     {"uncompressed", CV_CODEC_NONE},
};

enum cv_code cv_codec_from_name(const char *name, enum cv_codec *ret_codec, struct cv_error *err)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(codec_names); i++)
        if (cv_text_equal_nocase(name, codec_names[i].name)) {
            *ret_codec = codec_names[i].codec;
            return CV_OK;
        }
    return cv_fail(err, CV_CONFIG,
                   "unknown compression codec \"%s\" (known: zstd, snappy, gzip, lz4_raw, none)",
                   name);
}

const char *cv_codec_name(enum cv_codec codec)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(codec_names); i++)
        if (codec_names[i].codec == codec)
            return codec_names[i].name;
    return codec == CV_CODEC_BROTLI ? "brotli" : "lz4";
}

enum cv_code cv_codec_check_level(enum cv_codec codec, int32_t level, struct cv_error *err)
{
    int32_t min = 0;
    int32_t max = 9;

    if (level == CV_CODEC_LEVEL_DEFAULT)
        return CV_OK;
    switch (codec) {
    case CV_CODEC_ZSTD:
        min = ZSTD_LEVEL_MIN;
        max = ZSTD_maxCLevel();
        break;
    case CV_CODEC_GZIP:
    case CV_CODEC_DEFLATE:
        break;
    default:
        return CV_OK; /* these have no level and ignore one, as Iceberg's writers do */
    }
    if (level < min || level > max)
        return cv_fail(err, CV_CONFIG, "compression level %d of %s is not in %d to %d", level,
                       cv_codec_name(codec), min, max);
    return CV_OK;
}

static enum cv_code open_zstd(struct cv_compressor *c, int32_t level, struct cv_error *err)
{
    c->zstd = ZSTD_createCCtx();
    if (!c->zstd)
        return cv_fail(err, CV_LIMIT, "no memory for a zstd context");
    if (level == CV_CODEC_LEVEL_DEFAULT)
        level = ZSTD_CLEVEL_DEFAULT;
    if (ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel, level)))
        return cv_fail(err, CV_CONFIG, "zstd refuses level %d", level);
    return CV_OK;
}

static enum cv_code open_zlib(struct cv_compressor *c, int32_t level, struct cv_error *err)
{
    int window = c->codec == CV_CODEC_GZIP ? GZIP_WINDOW_BITS : DEFLATE_WINDOW_BITS;

    if (level == CV_CODEC_LEVEL_DEFAULT)
        level = Z_DEFAULT_COMPRESSION;
    if (deflateInit2(&c->zlib, level, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return cv_fail(err, CV_LIMIT, "no memory for a %s context", cv_codec_name(c->codec));
    c->zlib_open = true;
    return CV_OK;
}

enum cv_code cv_compressor_new(enum cv_codec codec, int32_t level, struct cv_compressor **ret,
                               struct cv_error *err)
{
    struct cv_compressor *c;
    enum cv_code code = CV_OK;

    CV_DO(cv_codec_check_level(codec, level, err));
    c = cv_alloc(sizeof *c);
    c->codec = codec;
    if (codec == CV_CODEC_ZSTD)
        code = open_zstd(c, level, err);
    else if (codec == CV_CODEC_GZIP || codec == CV_CODEC_DEFLATE)
        code = open_zlib(c, level, err);
    else if (codec == CV_CODEC_LZ4_RAW)
        c->lz4_state = cv_alloc((size_t)LZ4_sizeofState());
    if (code != CV_OK) {
        cv_compressor_free(c);
        return code;
    }
    *ret = c;
    return CV_OK;
}

static enum cv_code tune_zstd(struct cv_compressor *c, int min_match, int hash_log,
                              struct cv_error *err)
{
    if (ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_minMatch, min_match)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_hashLog, hash_log)))
        return cv_fail(err, CV_CONFIG, "zstd refuses match length %d with hash log %d", min_match,
                       hash_log);
    return CV_OK;
}

enum cv_code cv_compressor_new_zstd(int32_t level, int min_match, int hash_log,
                                    struct cv_compressor **ret, struct cv_error *err)
{
    struct cv_compressor *c;
    enum cv_code code;

    CV_DO(cv_compressor_new(CV_CODEC_ZSTD, level, &c, err));
    code = tune_zstd(c, min_match, hash_log, err);
    if (code != CV_OK) {
        cv_compressor_free(c);
        return code;
    }
    *ret = c;
    return CV_OK;
}

void cv_compressor_free(struct cv_compressor *compressor)
{
    if (!compressor)
        return;
    ZSTD_freeCCtx(compressor->zstd);
    if (compressor->zlib_open)
        (void)deflateEnd(&compressor->zlib);
    free(compressor->lz4_state);
    free(compressor);
}

/* The most that the block can take; 0 when it is too large for the codec. */
static size_t compress_bound(struct cv_compressor *c, size_t length)
{
    switch (c->codec) {
    case CV_CODEC_SNAPPY:
        return snappy_max_compressed_length(length);
    case CV_CODEC_GZIP:
    case CV_CODEC_DEFLATE:
        /* A finished stream has forgotten its wrapper, and would say too little. */
        return deflateReset(&c->zlib) == Z_OK ? deflateBound(&c->zlib, (uLong)length) : 0;
    case CV_CODEC_LZ4_RAW:
        return length > LZ4_MAX_INPUT_SIZE ? 0 : (size_t)LZ4_compressBound((int)length);
    case CV_CODEC_ZSTD:
        return ZSTD_compressBound(length);
    default:
        return length;
    }
}

static size_t compress_zlib(struct cv_compressor *c, const void *bytes, size_t length, uint8_t *to,
                            size_t room)
{
    z_stream *z = &c->zlib;

    z->next_in = (Bytef *)(uintptr_t)bytes;
    z->avail_in = (uInt)length;
    z->next_out = to;
    z->avail_out = (uInt)room;
    return deflate(z, Z_FINISH) == Z_STREAM_END ? room - z->avail_out : 0;
}

/* Compresses into `room` bytes; 0 = failed (no codec makes an empty block). */
static size_t compress_block(struct cv_compressor *c, const void *bytes, size_t length, uint8_t *to,
                             size_t room)
{
    size_t written;

    switch (c->codec) {
    case CV_CODEC_SNAPPY:
        written = room;
        return snappy_compress(bytes, length, (char *)to, &written) == SNAPPY_OK ? written : 0;
    case CV_CODEC_GZIP:
    case CV_CODEC_DEFLATE:
        return compress_zlib(c, bytes, length, to, room);
    case CV_CODEC_LZ4_RAW:
        return (size_t)LZ4_compress_fast_extState(c->lz4_state, bytes, (char *)to, (int)length,
                                                  (int)room, 1);
    case CV_CODEC_ZSTD:
        written = ZSTD_compress2(c->zstd, to, room, bytes, length);
        return ZSTD_isError(written) ? 0 : written;
    default:
        return 0;
    }
}

enum cv_code cv_compress(struct cv_compressor *compressor, const void *bytes, size_t length,
                         struct cv_buf *out, struct cv_error *err)
{
    size_t bound;
    size_t written;

    if (compressor->codec == CV_CODEC_NONE) {
        cv_buf_append(out, bytes, length);
        return cv_buf_check(out, "compressed block", err);
    }
    bound = compress_bound(compressor, length);
    if (length > CV_BUF_BYTES_MAX || bound == 0 || !cv_buf_reserve(out, bound))
        return cv_fail(err, CV_LIMIT, "a block of %zu bytes is too large to compress with %s",
                       length, cv_codec_name(compressor->codec));
    written =
        compress_block(compressor, bytes ? bytes : "", length, out->data + out->length, bound);
    if (written == 0)
        return cv_fail(err, CV_INTERNAL, "%s could not compress a block of %zu bytes",
                       cv_codec_name(compressor->codec), length);
    out->length += written;
    return CV_OK;
}
