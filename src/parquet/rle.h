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

/* The same for `groups` times eight values. */
void cv_bits_pack_groups(const uint32_t *values, size_t groups, unsigned width, uint8_t *out);

void cv_varint_write(uint64_t value, struct cv_buf *out);
/* Reads one of at most `bits` bits, whole groups of seven; false when it is longer or the bytes end
 * inside it. */
static inline bool cv_varint_read(const uint8_t **at, const uint8_t *end, unsigned bits,
                                  uint64_t *ret_value)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < bits && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}
/* The head of a run. */
#define CV_RLE_HEAD_BITS 35

/* Bytes behind the last one that the readers below may touch (never use): whoever owns a page has
 * them allocated. */
#define CV_RLE_SLACK 80

/* Reads hybrid runs. All functions return false when the bytes end too early or are malformed. */
struct cv_rle_reader {
    const uint8_t *at;
    const uint8_t *end;
    unsigned width;
    size_t run_left;     /* values of the open run */
    bool packed;         /* it is bit-packed: */
    const uint8_t *bits; /* its values from number `skip` on */
    unsigned skip;       /* 0-7 */
    uint32_t value;      /* it is not: its value */
};

/* width is 0-32; values of width 0 are zeros without bytes. */
void cv_rle_reader_init(struct cv_rle_reader *reader, const uint8_t *bytes, size_t length,
                        unsigned width);
bool cv_rle_read(struct cv_rle_reader *reader, size_t count, uint32_t *ret_values);
/* The same for widths up to 8. */
bool cv_rle_read_levels(struct cv_rle_reader *reader, size_t count, uint8_t *ret_levels);
/* For width 1: sets and clears bits [offset, offset + count) of a bitmap and counts those set. */
bool cv_rle_read_bits(struct cv_rle_reader *reader, size_t count, uint8_t *bits, size_t offset,
                      size_t *ret_set);
/* Takes `count` values if the open run says that they all are `value`, else takes none. */
bool cv_rle_take_run(struct cv_rle_reader *reader, size_t count, uint32_t value);

/* Levels in the encoding BIT_PACKED of old (the most significant bit first), from a bit on. */
void cv_bits_read_levels(const uint8_t *bits, size_t bit, size_t count, unsigned width,
                         uint8_t *ret_levels);

/* Copies bits between bitmaps at any offsets. */
void cv_bits_copy(uint8_t *to, size_t to_offset, const uint8_t *from, size_t from_offset,
                  size_t count);
void cv_bits_fill(uint8_t *to, size_t offset, size_t count, bool value);
size_t cv_bits_count(const uint8_t *bits, size_t offset, size_t count);
/* Unpacks `groups` of eight values of `width` bits (0-32). */
void cv_bits_unpack8(const uint8_t *bytes, size_t groups, unsigned width, uint32_t *ret_values);

#endif
