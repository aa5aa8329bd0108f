/* SPDX-License-Identifier: Apache-2.0
 *
 * Avro object container files (specification: Object Container Files), in memory. The writer takes
 * encoded objects; the reader hands out the decoded blocks and checks magic, sync markers, counts
 * and sizes. Codecs: null, deflate, snappy, zstandard. */
#ifndef CALVE_CODEC_AVRO_FILE_H
#define CALVE_CODEC_AVRO_FILE_H

#include "base/buf.h"
#include "base/str.h"
#include "codec/avro_binary.h"
#include "codec/compress.h"

struct cv_avro_metadata {
    const char *key;
    struct cv_str value;
};

struct cv_avro_file_writer {
    struct cv_buf *out;
    struct cv_buf block;
    int64_t block_count;
    uint8_t sync[16];
    struct cv_compressor *compressor; /* NULL for the null codec */
    enum cv_codec codec;
};

/* Writes the header with avro.schema, avro.codec and the given metadata. `codec` is NONE or
 * DEFLATE. */
enum cv_code cv_avro_file_writer_init(struct cv_avro_file_writer *w, struct cv_buf *out,
                                      struct cv_str schema_json, enum cv_codec codec,
                                      const struct cv_avro_metadata *metadata,
                                      size_t metadata_count, struct cv_error *err);
/* Where the next object is to be encoded; then call _end_object. */
struct cv_buf *cv_avro_file_object(struct cv_avro_file_writer *w);
enum cv_code cv_avro_file_end_object(struct cv_avro_file_writer *w, struct cv_error *err);
enum cv_code cv_avro_file_finish(struct cv_avro_file_writer *w, struct cv_error *err);
void cv_avro_file_writer_release(struct cv_avro_file_writer *w);

struct cv_avro_file_reader {
    struct cv_avro_reader input;
    struct cv_arena arena;
    struct cv_avro_metadata *metadata; /* all keys of the header */
    size_t metadata_count;
    size_t metadata_capacity;
    struct cv_str schema_json;
    enum cv_codec codec;
    uint8_t sync[16];
    struct cv_buf block;
    size_t block_bytes_max;
};

/* Reads the header; `bytes` must outlive the reader. */
enum cv_code cv_avro_file_reader_init(struct cv_avro_file_reader *r, const void *bytes,
                                      size_t length, struct cv_error *err);
/* The next block: its objects' bytes (valid until the next call) and their count; count 0 = end. */
enum cv_code cv_avro_file_next_block(struct cv_avro_file_reader *r,
                                     struct cv_avro_reader *ret_objects, int64_t *ret_count,
                                     struct cv_error *err);
const struct cv_str *cv_avro_file_metadata(const struct cv_avro_file_reader *r, const char *key);
void cv_avro_file_reader_release(struct cv_avro_file_reader *r);

#endif
