/* SPDX-License-Identifier: Apache-2.0
 *
 *   header   varint(block size = 128) varint(miniblocks = 4) varint(values) zigzag(first value)
 *   block    zigzag(least delta) 4 bit widths, 4 miniblocks of 32 deltas less the least one
 *
 * Miniblocks that no value reaches have width 0 and no bytes. Deltas wrap in the width
 * of the type, as the format wants. */
#include "parquet/delta.h"

#include "parquet/rle.h"

#define BLOCK_VALUES     128
#define MINIBLOCKS       4
#define MINIBLOCK_VALUES (BLOCK_VALUES / MINIBLOCKS)

static uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

/* Bit-packs 32 values of up to 64 bits, least significant bit first. */
static void pack_miniblock(const uint64_t values[MINIBLOCK_VALUES], unsigned width,
                           struct cv_buf *out)
{
    unsigned bits = 0;
    uint8_t byte = 0;

    for (size_t i = 0; i < MINIBLOCK_VALUES; i++) {
        uint64_t value = values[i];

        for (unsigned left = width; left > 0;) {
            unsigned take = CV_MIN(left, 8 - bits);

            byte |= (uint8_t)((value & ((1u << take) - 1)) << bits);
            value >>= take;
            bits += take;
            left -= take;
            if (bits == 8) {
                cv_buf_append_byte(out, byte);
                byte = 0;
                bits = 0;
            }
        }
    }
}

static void write_block(const int64_t *deltas, size_t count, struct cv_buf *out)
{
    uint64_t packed[BLOCK_VALUES] = {0};
    unsigned widths[MINIBLOCKS];
    int64_t least = deltas[0];

    for (size_t i = 1; i < count; i++)
        least = CV_MIN(least, deltas[i]);
    for (size_t i = 0; i < count; i++)
        packed[i] = (uint64_t)deltas[i] - (uint64_t)least;
    cv_varint_write(zigzag(least), out);
    for (size_t i = 0; i < MINIBLOCKS; i++) {
        uint64_t all = 0;

        for (size_t j = 0; j < MINIBLOCK_VALUES; j++)
            all |= packed[i * MINIBLOCK_VALUES + j];
        widths[i] = all ? 64 - (unsigned)__builtin_clzll(all) : 0;
        cv_buf_append_byte(out, (uint8_t)widths[i]);
    }
    for (size_t i = 0; i < MINIBLOCKS && i * MINIBLOCK_VALUES < count; i++)
        pack_miniblock(packed + i * MINIBLOCK_VALUES, widths[i], out);
}

static int64_t load(const uint8_t *plain, size_t i, unsigned bits)
{
    int32_t narrow;
    int64_t wide;

    if (bits == 32) {
        memcpy(&narrow, plain + i * 4, 4);
        return narrow;
    }
    memcpy(&wide, plain + i * 8, 8);
    return wide;
}

static void write_delta(const uint8_t *plain, size_t count, unsigned bits, struct cv_buf *out)
{
    int64_t deltas[BLOCK_VALUES];
    int64_t previous = count ? load(plain, 0, bits) : 0;
    size_t waiting = 0;

    cv_varint_write(BLOCK_VALUES, out);
    cv_varint_write(MINIBLOCKS, out);
    cv_varint_write(count, out);
    cv_varint_write(zigzag(previous), out);
    for (size_t i = 1; i < count; i++) {
        int64_t value = load(plain, i, bits);
        int64_t delta = (int64_t)((uint64_t)value - (uint64_t)previous);

        deltas[waiting++] = bits == 32 ? (int32_t)delta : delta;
        previous = value;
        if (waiting == BLOCK_VALUES) {
            write_block(deltas, waiting, out);
            waiting = 0;
        }
    }
    if (waiting)
        write_block(deltas, waiting, out);
}

void cv_delta_write_32(const uint8_t *plain, size_t count, struct cv_buf *out)
{
    write_delta(plain, count, 32, out);
}

void cv_delta_write_64(const uint8_t *plain, size_t count, struct cv_buf *out)
{
    write_delta(plain, count, 64, out);
}

void cv_delta_write_bytes(const uint8_t *plain, size_t count, struct cv_buf *lengths,
                          struct cv_buf *out)
{
    const uint8_t *at = plain;
    uint32_t length;

    cv_buf_clear(lengths);
    for (size_t i = 0; i < count; i++) {
        memcpy(&length, at, 4);
        cv_buf_append(lengths, at, 4);
        at += 4 + length;
    }
    cv_delta_write_32(lengths->data, count, out);
    at = plain;
    for (size_t i = 0; i < count; i++) {
        memcpy(&length, at, 4);
        cv_buf_append(out, at + 4, length);
        at += 4 + length;
    }
}
