/* SPDX-License-Identifier: Apache-2.0
 *
 * Hybrid runs. A run of eight or more equal values becomes an RLE run, everything between goes in
 * bit-packed groups of eight:
 *
 *   RLE run          varint(count << 1)       value in ceil(width / 8) bytes
 *   bit-packed run   varint(groups << 1 | 1)  groups * width bytes, the last group zero-padded */
#include "parquet/rle.h"

#include "base/memory.h"

#define PACK_SLACK 8

unsigned cv_bit_width(uint32_t max)
{
    return max == 0 ? 0 : 32 - (unsigned)__builtin_clz(max);
}

void cv_varint_write(uint64_t value, struct cv_buf *out)
{
    while (value >= 0x80) {
        cv_buf_append_byte(out, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    cv_buf_append_byte(out, (uint8_t)value);
}

/* One value into the accumulator; `bits` is known when the caller's width is a constant, so that
 * the branch disappears. */
#define PACK_ONE(i)                                                                                \
    do {                                                                                           \
        waiting |= (uint64_t)values[i] << bits;                                                    \
        bits += width;                                                                             \
        if (bits >= 32) {                                                                          \
            uint32_t word_ = (uint32_t)waiting;                                                    \
            memcpy(out, &word_, 4);                                                                \
            out += 4;                                                                              \
            waiting >>= 32;                                                                        \
            bits -= 32;                                                                            \
        }                                                                                          \
    } while (0)

__attribute__((always_inline)) static inline void pack8(const uint32_t values[8], unsigned width,
                                                        uint8_t *out)
{
    uint64_t waiting = 0;
    unsigned bits = 0;

    PACK_ONE(0);
    PACK_ONE(1);
    PACK_ONE(2);
    PACK_ONE(3);
    PACK_ONE(4);
    PACK_ONE(5);
    PACK_ONE(6);
    PACK_ONE(7);
    if (bits) {
        uint32_t word = (uint32_t)waiting;

        memcpy(out, &word, 4);
    }
}

__attribute__((always_inline)) static inline void pack_groups(const uint32_t *values, size_t groups,
                                                              unsigned width, uint8_t *out)
{
    for (size_t i = 0; i < groups; i++)
        pack8(values + i * 8, width, out + i * width);
}

/* clang-format off */
#define WIDTHS(X)                                                                                  \
    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)         \
    X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32)
/* clang-format on */

static void pack_many(const uint32_t *values, size_t groups, unsigned width, uint8_t *out)
{
    switch (width) {
#define PACK_CASE(w)                                                                               \
    case w:                                                                                        \
        pack_groups(values, groups, w, out);                                                       \
        return;
        WIDTHS(PACK_CASE)
#undef PACK_CASE
    default:
        return;
    }
}

void cv_bits_pack_groups(const uint32_t *values, size_t groups, unsigned width, uint8_t *out)
{
    pack_many(values, groups, width, out);
}

void cv_bits_pack8(const uint32_t values[8], unsigned width, uint8_t *out)
{
    pack_many(values, 1, width, out);
}

/* Full groups straight from the values, the rest padded with zeros. */
static void write_packed(const uint32_t *values, size_t count, unsigned width, struct cv_buf *out)
{
    size_t groups = count / 8;
    size_t rest = count % 8;
    uint32_t last[8] = {0};

    if (count == 0)
        return;
    cv_varint_write((groups + (rest != 0)) << 1 | 1, out);
    if (!cv_buf_reserve(out, (groups + 1) * width + PACK_SLACK))
        return;
    pack_many(values, groups, width, out->data + out->length);
    out->length += groups * width;
    if (rest == 0)
        return;
    memcpy(last, values + groups * 8, rest * sizeof *last);
    pack_many(last, 1, width, out->data + out->length);
    out->length += width;
}

static void write_packed_levels(const uint8_t *levels, size_t count, unsigned width,
                                struct cv_buf *out)
{
    size_t groups = (count + 7) / 8;
    uint32_t wide[8];

    if (count == 0)
        return;
    cv_varint_write(groups << 1 | 1, out);
    if (!cv_buf_reserve(out, groups * width + PACK_SLACK))
        return;
    for (size_t i = 0; i < count; i += 8) {
        for (size_t j = 0; j < 8; j++)
            wide[j] = i + j < count ? levels[i + j] : 0;
        pack_many(wide, 1, width, out->data + out->length);
        out->length += width;
    }
}

void cv_rle_write_run(uint32_t value, size_t count, unsigned width, struct cv_buf *out)
{
    if (count == 0)
        return;
    cv_varint_write((uint64_t)count << 1, out);
    cv_buf_append(out, &value, (width + 7) / 8);
}

static size_t run_of_levels(const uint8_t *levels, size_t count)
{
    uint64_t same = levels[0] * UINT64_C(0x0101010101010101);
    uint64_t word;
    size_t i = 0;

    for (; i + 8 <= count; i += 8) {
        memcpy(&word, levels + i, 8);
        if (word != same)
            break;
    }
    while (i < count && levels[i] == levels[0])
        i++;
    return i;
}

static size_t run_of_indices(const uint32_t *values, size_t count)
{
    size_t i = 1;

    while (i < count && values[i] == values[0])
        i++;
    return i;
}

/* A short run is worth an RLE run only when it is all that is left and nothing waits before it. */
static bool worth_a_run(size_t run, size_t left, size_t waiting)
{
    return run >= 8 || (run == left && waiting == 0);
}

void cv_rle_write_levels(const uint8_t *levels, size_t count, unsigned width, struct cv_buf *out)
{
    size_t from = 0;
    size_t i = 0;

    while (i < count) {
        size_t run = run_of_levels(levels + i, count - i);

        if (!worth_a_run(run, count - i, i - from)) {
            i += CV_MIN((size_t)8, count - i);
            continue;
        }
        write_packed_levels(levels + from, i - from, width, out);
        cv_rle_write_run(levels[i], run, width, out);
        i += run;
        from = i;
    }
    write_packed_levels(levels + from, count - from, width, out);
}

void cv_rle_write_indices(const uint32_t *values, size_t count, unsigned width, struct cv_buf *out)
{
    size_t from = 0;
    size_t i = 0;

    while (i < count) {
        size_t run = run_of_indices(values + i, count - i);

        if (!worth_a_run(run, count - i, i - from)) {
            i += CV_MIN((size_t)8, count - i);
            continue;
        }
        write_packed(values + from, i - from, width, out);
        cv_rle_write_run(values[i], run, width, out);
        i += run;
        from = i;
    }
    write_packed(values + from, count - from, width, out);
}

/* Bytes from `from` that are all zeros or all ones like the first of them. */
static size_t run_of_bytes(const uint8_t *bits, size_t from, size_t end)
{
    size_t i = from;

    if (bits[from] != 0 && bits[from] != 0xff)
        return 0;
    while (i < end && bits[i] == bits[from])
        i++;
    return i - from;
}

/* An RLE run takes two or three bytes, and one more for the header of the bits after it. */
#define BITS_RUN_BYTES 4

static void write_bit_groups(const uint8_t *bits, size_t bytes, struct cv_buf *out)
{
    if (bytes == 0)
        return;
    cv_varint_write(bytes << 1 | 1, out);
    cv_buf_append(out, bits, bytes);
}

void cv_rle_write_bits(const uint8_t *bits, size_t count, struct cv_buf *out)
{
    size_t whole = count / 8;
    size_t from = 0;
    size_t i = 0;

    while (i < whole) {
        size_t run = run_of_bytes(bits, i, whole);

        if (run < BITS_RUN_BYTES && run < whole - from) {
            i += CV_MAX(run, (size_t)1);
            continue;
        }
        write_bit_groups(bits + from, i - from, out);
        cv_rle_write_run(bits[i] & 1, run * 8, 1, out);
        i += run;
        from = i;
    }
    write_bit_groups(bits + from, (count + 7) / 8 - from, out);
}
