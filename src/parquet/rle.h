/* SPDX-License-Identifier: Apache-2.0
 *
 * The RLE / bit-packed hybrid of Parquet (format Encodings.md, RLE = 3), which holds levels and
 * dictionary indices. */
#ifndef CALVE_PARQUET_RLE_H
#define CALVE_PARQUET_RLE_H

#include "base/buf.h"

/* Bits that hold 0 … max. */
unsigned cv_bit_width(uint32_t max);

/* Append the runs of `count` values of `width` bits (1-32; levels 1-8), without any length before
 * them. */
void cv_rle_write_levels(const uint8_t *levels, size_t count, unsigned width, struct cv_buf *out);
void cv_rle_write_indices(const uint32_t *values, size_t count, unsigned width, struct cv_buf *out);
/* Levels of one bit each, least significant bit first. */
void cv_rle_write_bits(const uint8_t *bits, size_t count, struct cv_buf *out);
/* The same level `count` times. */
void cv_rle_write_run(uint32_t value, size_t count, unsigned width, struct cv_buf *out);

/* Bit-packs eight values of `width` bits (0-32), least significant bit first, into `width` bytes;
 * may write up to 7 bytes past them. */
void cv_bits_pack8(const uint32_t values[8], unsigned width, uint8_t *out);

void cv_varint_write(uint64_t value, struct cv_buf *out);

#endif
