/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes Avro object container files:
 *
 *   "Obj" 1 | map of metadata | sync (16) | { count, bytes, data, sync } …
 *
 * A block is closed when it holds BLOCK_BYTES, as Java's writer does it. */
#include "base/random.h"
#include "codec/avro_file.h"

#include <assert.h>

#define BLOCK_BYTES ((size_t)64 * 1000)

static void put_entry(struct cv_buf *out, const char *key, struct cv_str value)
{
    cv_avro_put_string(out, key);
    cv_avro_put_bytes(out, value.ptr, value.length);
}

enum cv_code cv_avro_file_writer_init(struct cv_avro_file_writer *w, struct cv_buf *out,
                                      struct cv_str schema_json, enum cv_codec codec,
                                      const struct cv_avro_metadata *metadata,
                                      size_t metadata_count, struct cv_error *err)
{
    assert(codec == CV_CODEC_NONE || codec == CV_CODEC_DEFLATE);
    *w = (struct cv_avro_file_writer){.out = out, .codec = codec};
    if (codec == CV_CODEC_DEFLATE)
        CV_DO(cv_compressor_new(codec, CV_CODEC_LEVEL_DEFAULT, &w->compressor, err));
    cv_random_bytes(w->sync, sizeof w->sync);
    cv_buf_append(out, "Obj\1", 4);
    cv_avro_put_long(out, (int64_t)metadata_count + 2);
    put_entry(out, "avro.schema", schema_json);
    put_entry(out, "avro.codec", cv_str_from(codec == CV_CODEC_DEFLATE ? "deflate" : "null"));
    for (size_t i = 0; i < metadata_count; i++)
        put_entry(out, metadata[i].key, metadata[i].value);
    cv_avro_put_long(out, 0);
    cv_buf_append(out, w->sync, sizeof w->sync);
    return cv_buf_check(out, "Avro file", err);
}

struct cv_buf *cv_avro_file_object(struct cv_avro_file_writer *w)
{
    return &w->block;
}

static enum cv_code put_compressed(struct cv_avro_file_writer *w, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf packed = CV_BUF_INIT(0);

    CV_DO(cv_compress(w->compressor, w->block.data, w->block.length, &packed, err));
    cv_avro_put_bytes(w->out, packed.data, packed.length);
    return CV_OK;
}

static enum cv_code end_block(struct cv_avro_file_writer *w, struct cv_error *err)
{
    CV_DO(cv_buf_check(&w->block, "Avro block", err));
    if (w->block_count == 0)
        return CV_OK;
    cv_avro_put_long(w->out, w->block_count);
    if (w->compressor)
        CV_DO(put_compressed(w, err));
    else
        cv_avro_put_bytes(w->out, w->block.data, w->block.length);
    cv_buf_append(w->out, w->sync, sizeof w->sync);
    cv_buf_clear(&w->block);
    w->block_count = 0;
    return cv_buf_check(w->out, "Avro file", err);
}

enum cv_code cv_avro_file_end_object(struct cv_avro_file_writer *w, struct cv_error *err)
{
    w->block_count++;
    return w->block.length >= BLOCK_BYTES || w->block.failed ? end_block(w, err) : CV_OK;
}

enum cv_code cv_avro_file_finish(struct cv_avro_file_writer *w, struct cv_error *err)
{
    return end_block(w, err);
}

void cv_avro_file_writer_release(struct cv_avro_file_writer *w)
{
    if (!w)
        return;
    cv_buf_release(&w->block);
    cv_compressor_free(w->compressor);
    *w = (struct cv_avro_file_writer){0};
}
