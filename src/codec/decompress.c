/* SPDX-License-Identifier: Apache-2.0
 *
 * Decompression of blocks from outside: the sizes they claim are checked against the limit of the
 * buffer, and against what is really in them. */
#include "codec/compress.h"

#include <brotli/decode.h>
#include <lz4.h>
#include <snappy-c.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#define STEP_BYTES ((size_t)64 * 1024)
/* One snappy element of 2 bytes copies at most 64: a larger claim is a lie. */
#define SNAPPY_RATIO_MAX 64

static enum cv_code malformed(enum cv_codec codec, struct cv_error *err)
{
    return cv_fail(err, CV_FORMAT, "malformed %s block", cv_codec_name(codec));
}

static enum cv_code check_length(enum cv_codec codec, size_t got, size_t wanted,
                                 struct cv_error *err)
{
    if (wanted == SIZE_MAX || got == wanted)
        return CV_OK;
    return cv_fail(err, CV_FORMAT, "a %s block holds %zu bytes where %zu are announced",
                   cv_codec_name(codec), got, wanted);
}

static enum cv_code reserve(enum cv_codec codec, struct cv_buf *out, size_t length,
                            struct cv_error *err)
{
    if (cv_buf_reserve(out, length))
        return CV_OK;
    return cv_fail(err, CV_LIMIT, "a %s block unpacks to %zu bytes or more, above the limit of %zu",
                   cv_codec_name(codec), length, out->max ? out->max : CV_BUF_BYTES_MAX);
}

static enum cv_code unpack_snappy(const void *bytes, size_t length, size_t plain_length,
                                  struct cv_buf *out, struct cv_error *err)
{
    size_t claimed;

    if (snappy_uncompressed_length(bytes, length, &claimed) != SNAPPY_OK ||
        claimed / SNAPPY_RATIO_MAX > length)
        return malformed(CV_CODEC_SNAPPY, err);
    CV_DO(check_length(CV_CODEC_SNAPPY, claimed, plain_length, err));
    CV_DO(reserve(CV_CODEC_SNAPPY, out, claimed + 1, err));
    if (snappy_uncompress(bytes, length, (char *)out->data + out->length, &claimed) != SNAPPY_OK)
        return malformed(CV_CODEC_SNAPPY, err);
    out->length += claimed;
    return CV_OK;
}

static enum cv_code unpack_lz4(const void *bytes, size_t length, size_t plain_length,
                               struct cv_buf *out, struct cv_error *err)
{
    int got;

    if (plain_length > LZ4_MAX_INPUT_SIZE || length > INT32_MAX)
        return malformed(CV_CODEC_LZ4_RAW, err);
    CV_DO(reserve(CV_CODEC_LZ4_RAW, out, plain_length + 1, err));
    got =
        LZ4_decompress_safe(bytes, (char *)out->data + out->length, (int)length, (int)plain_length);
    if (got < 0)
        return malformed(CV_CODEC_LZ4_RAW, err);
    CV_DO(check_length(CV_CODEC_LZ4_RAW, (size_t)got, plain_length, err));
    out->length += (size_t)got;
    return CV_OK;
}

/* Room for the next step: all of it when the length is known, else a growing piece. */
static size_t step_room(const struct cv_buf *out, size_t start, size_t plain_length)
{
    size_t done = out->length - start;

    if (plain_length != SIZE_MAX)
        return plain_length - done + 1; /* one more, to see a block that holds too much */
    return CV_MAX(STEP_BYTES, done / 2);
}

static enum cv_code inflate_all(z_stream *z, enum cv_codec codec, size_t plain_length,
                                struct cv_buf *out, struct cv_error *err)
{
    size_t start = out->length;
    int result = Z_OK;

    while (result != Z_STREAM_END) {
        size_t room = step_room(out, start, plain_length);
        uInt before = z->avail_in;

        room = CV_MIN(room, (size_t)1 << 30);
        CV_DO(reserve(codec, out, room, err));
        z->next_out = out->data + out->length;
        z->avail_out = (uInt)room;
        result = inflate(z, Z_NO_FLUSH);
        out->length += room - z->avail_out;
        if ((result != Z_OK && result != Z_STREAM_END) ||
            (result == Z_OK && z->avail_out == room && z->avail_in == before))
            return malformed(codec, err);
        if (plain_length != SIZE_MAX && out->length - start > plain_length)
            return check_length(codec, out->length - start, plain_length, err);
        if (result == Z_STREAM_END && codec == CV_CODEC_GZIP && z->avail_in > 0)
            result = inflateReset(z); /* a further member (RFC 1952, section 2.2) */
    }
    return check_length(codec, out->length - start, plain_length, err);
}

static enum cv_code unpack_zlib(enum cv_codec codec, const void *bytes, size_t length,
                                size_t plain_length, struct cv_buf *out, struct cv_error *err)
{
    z_stream z = {0};
    enum cv_code code;

    if (length > UINT32_MAX || inflateInit2(&z, codec == CV_CODEC_GZIP ? 15 + 16 : -15) != Z_OK)
        return cv_fail(err, CV_LIMIT, "no room to unpack a %s block", cv_codec_name(codec));
    z.next_in = (Bytef *)(uintptr_t)bytes;
    z.avail_in = (uInt)length;
    code = inflate_all(&z, codec, plain_length, out, err);
    (void)inflateEnd(&z);
    return code;
}

static enum cv_code stream_zstd(ZSTD_DCtx *context, ZSTD_inBuffer *in, size_t plain_length,
                                struct cv_buf *out, struct cv_error *err)
{
    size_t start = out->length;
    size_t more = 1;

    while (more != 0 || in->pos < in->size) {
        size_t room = step_room(out, start, plain_length);
        size_t before = in->pos;
        ZSTD_outBuffer to;

        CV_DO(reserve(CV_CODEC_ZSTD, out, room, err));
        to = (ZSTD_outBuffer){out->data + out->length, room, 0};
        more = ZSTD_decompressStream(context, &to, in);
        out->length += to.pos;
        if (ZSTD_isError(more) || (more != 0 && to.pos == 0 && in->pos == before))
            return malformed(CV_CODEC_ZSTD, err);
        if (plain_length != SIZE_MAX && out->length - start > plain_length)
            break;
    }
    return check_length(CV_CODEC_ZSTD, out->length - start, plain_length, err);
}

static enum cv_code unpack_zstd(ZSTD_DCtx *context, const void *bytes, size_t length,
                                size_t plain_length, struct cv_buf *out, struct cv_error *err)
{
    ZSTD_inBuffer in = {bytes, length, 0};
    size_t got;

    (void)ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
    if (plain_length == SIZE_MAX || plain_length == 0)
        return stream_zstd(context, &in, plain_length, out, err);
    CV_DO(reserve(CV_CODEC_ZSTD, out, plain_length, err));
    got = ZSTD_decompressDCtx(context, out->data + out->length, plain_length, bytes, length);
    if (ZSTD_isError(got))
        return malformed(CV_CODEC_ZSTD, err);
    CV_DO(check_length(CV_CODEC_ZSTD, got, plain_length, err));
    out->length += got;
    return CV_OK;
}

static enum cv_code unpack_brotli(const void *bytes, size_t length, size_t plain_length,
                                  struct cv_buf *out, struct cv_error *err)
{
    size_t got = plain_length;

    if (plain_length == SIZE_MAX)
        return malformed(CV_CODEC_BROTLI, err);
    CV_DO(reserve(CV_CODEC_BROTLI, out, plain_length + 1, err));
    if (BrotliDecoderDecompress(length, bytes, &got, out->data + out->length) !=
        BROTLI_DECODER_RESULT_SUCCESS)
        return malformed(CV_CODEC_BROTLI, err);
    CV_DO(check_length(CV_CODEC_BROTLI, got, plain_length, err));
    out->length += got;
    return CV_OK;
}

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Hadoop's BlockCompressorStream: [plain length 4] and, until that is reached, [length 4][block];
 * all lengths big-endian. False = it is none of that. */
static bool unpack_hadoop_frames(const uint8_t *at, size_t length, size_t plain_length, uint8_t *to)
{
    const uint8_t *end = at + length;
    size_t done = 0;

    while (end - at >= 4) {
        size_t frame_end = done + big_endian(at);

        at += 4;
        if (frame_end > plain_length)
            return false;
        while (done < frame_end) {
            size_t packed;
            int got;

            if (end - at < 4)
                return false;
            packed = big_endian(at);
            at += 4;
            if (packed > (size_t)(end - at))
                return false;
            got = LZ4_decompress_safe((const char *)at, (char *)to + done, (int)packed,
                                      (int)(frame_end - done));
            if (got <= 0)
                return false;
            done += (size_t)got;
            at += packed;
        }
    }
    return at == end && done == plain_length;
}

static enum cv_code unpack_lz4_hadoop(const void *bytes, size_t length, size_t plain_length,
                                      struct cv_buf *out, struct cv_error *err)
{
    if (plain_length > LZ4_MAX_INPUT_SIZE || length > INT32_MAX)
        return malformed(CV_CODEC_LZ4_HADOOP, err);
    CV_DO(reserve(CV_CODEC_LZ4_HADOOP, out, plain_length + 1, err));
    if (!unpack_hadoop_frames(bytes, length, plain_length, out->data + out->length))
        return unpack_lz4(bytes, length, plain_length, out, err);
    out->length += plain_length;
    return CV_OK;
}

struct cv_decompressor {
    ZSTD_DCtx *zstd; /* made when it is first wanted */
};

struct cv_decompressor *cv_decompressor_new(void)
{
    return cv_alloc(sizeof(struct cv_decompressor));
}

void cv_decompressor_free(struct cv_decompressor *decompressor)
{
    if (!decompressor)
        return;
    (void)ZSTD_freeDCtx(decompressor->zstd);
    free(decompressor);
}

enum cv_code cv_decompressor_run(struct cv_decompressor *decompressor, enum cv_codec codec,
                                 const void *bytes, size_t length, size_t plain_length,
                                 struct cv_buf *out, struct cv_error *err)
{
    switch (codec) {
    case CV_CODEC_NONE:
        CV_DO(check_length(codec, length, plain_length, err));
        CV_DO(reserve(codec, out, length, err));
        cv_buf_append(out, bytes, length);
        return CV_OK;
    case CV_CODEC_SNAPPY:
        return unpack_snappy(bytes, length, plain_length, out, err);
    case CV_CODEC_LZ4_RAW:
        return unpack_lz4(bytes, length, plain_length, out, err);
    case CV_CODEC_LZ4_HADOOP:
        return unpack_lz4_hadoop(bytes, length, plain_length, out, err);
    case CV_CODEC_GZIP:
    case CV_CODEC_DEFLATE:
        return unpack_zlib(codec, bytes, length, plain_length, out, err);
    case CV_CODEC_BROTLI:
        return unpack_brotli(bytes, length, plain_length, out, err);
    case CV_CODEC_ZSTD:
        if (!decompressor->zstd && !(decompressor->zstd = ZSTD_createDCtx()))
            return cv_fail(err, CV_LIMIT, "no memory for a zstd context");
        return unpack_zstd(decompressor->zstd, bytes, length, plain_length, out, err);
    }
    return cv_fail(err, CV_INTERNAL, "codec %d", (int)codec);
}

enum cv_code cv_decompress(enum cv_codec codec, const void *bytes, size_t length,
                           size_t plain_length, struct cv_buf *out, struct cv_error *err)
{
    struct cv_decompressor once = {0};
    enum cv_code code = cv_decompressor_run(&once, codec, bytes, length, plain_length, out, err);

    (void)ZSTD_freeDCtx(once.zstd);
    return code;
}
