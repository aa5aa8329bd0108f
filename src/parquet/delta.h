/* SPDX-License-Identifier: Apache-2.0
 *
 * The DELTA encodings of Parquet (format Encodings.md, DELTA_BINARY_PACKED = 5 and
 * DELTA_LENGTH_BYTE_ARRAY = 6), from PLAIN bytes and back. */
#ifndef CALVE_PARQUET_DELTA_H
#define CALVE_PARQUET_DELTA_H

#include "base/buf.h"

/* Append `count` values of PLAIN INT32 or INT64 as DELTA_BINARY_PACKED. */
void cv_delta_write_32(const uint8_t *plain, size_t count, struct cv_buf *out);
void cv_delta_write_64(const uint8_t *plain, size_t count, struct cv_buf *out);
/* PLAIN BYTE_ARRAY as DELTA_LENGTH_BYTE_ARRAY: delta-packed lengths, then the bytes. `lengths` is
 * scratch. */
void cv_delta_write_bytes(const uint8_t *plain, size_t count, struct cv_buf *lengths,
                          struct cv_buf *out);

/* Reads DELTA_BINARY_PACKED piece by piece. */
#define CV_DELTA_STAGE 32
struct cv_delta_reader {
    const uint8_t *at; /* the next block or miniblock */
    const uint8_t *end;
    size_t left; /* values of the whole, the first one included */
    size_t miniblock_values;
    size_t miniblocks;
    size_t miniblock;      /* number of the next one; == miniblocks: a block is next */
    size_t miniblock_left; /* deltas of the open one that are not staged yet */
    const uint8_t *widths;
    unsigned width; /* of the open one */
    const uint8_t *bits;
    uint64_t least;
    uint64_t value; /* the last one handed out */
    bool first;     /* the first value is to be handed out */
    unsigned staged, staged_at;
    uint64_t stage[CV_DELTA_STAGE]; /* deltas */
};

/* These return false when the bytes end too early or are malformed. Bytes up to CV_RLE_SLACK behind
 * the end may be touched. */
bool cv_delta_reader_init(struct cv_delta_reader *reader, const uint8_t *bytes, size_t length);
bool cv_delta_read_32(struct cv_delta_reader *reader, size_t count, uint32_t *ret_values);
bool cv_delta_read_64(struct cv_delta_reader *reader, size_t count, uint64_t *ret_values);
/* Where the bytes of all values end, nothing read. */
bool cv_delta_find_end(const struct cv_delta_reader *reader, const uint8_t **ret_end);

#endif
