/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading of hybrid runs (layout in rle.c), eight values at a time. */
#include "parquet/rle.h"

#include "base/memory.h"
#include "batch/column.h"

void cv_rle_reader_init(struct cv_rle_reader *reader, const uint8_t *bytes, size_t length,
                        unsigned width)
{
    *reader = (struct cv_rle_reader){.at = bytes, .end = bytes + length, .width = width};
}

/* Value i of a group starts at bit i * width: eight loads of 8 bytes, which reach at most 7 bytes
 * past the group. `width` is a constant of the caller. */
#define UNPACK_ONE(i)                                                                              \
    do {                                                                                           \
        memcpy(&word, bytes + (i)*width / 8, 8);                                                   \
        out[i] = (__typeof__(*out))(word >> ((i)*width & 7) & mask);                               \
    } while (0)

#define UNPACK_GROUPS(name, type)                                                                  \
    __attribute__((always_inline)) static inline void name(const uint8_t *bytes, size_t groups,    \
                                                           unsigned width, type *out)              \
    {                                                                                              \
        const uint64_t mask = (UINT64_C(1) << width) - 1;                                          \
        uint64_t word;                                                                             \
                                                                                                   \
        for (; groups > 0; groups--, bytes += width, out += 8) {                                   \
            UNPACK_ONE(0);                                                                         \
            UNPACK_ONE(1);                                                                         \
            UNPACK_ONE(2);                                                                         \
            UNPACK_ONE(3);                                                                         \
            UNPACK_ONE(4);                                                                         \
            UNPACK_ONE(5);                                                                         \
            UNPACK_ONE(6);                                                                         \
            UNPACK_ONE(7);                                                                         \
        }                                                                                          \
    }

UNPACK_GROUPS(unpack_values, uint32_t)
UNPACK_GROUPS(unpack_levels, uint8_t)

/* clang-format off */
#define LEVEL_WIDTHS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define WIDTHS(X)                                                                                  \
    LEVEL_WIDTHS(X) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21)   \
    X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32)
/* clang-format on */

void cv_bits_unpack8(const uint8_t *bytes, size_t groups, unsigned width, uint32_t *ret_values)
{
    switch (width) {
#define UNPACK_CASE(w)                                                                             \
    case w:                                                                                        \
        unpack_values(bytes, groups, w, ret_values);                                               \
        return;
        WIDTHS(UNPACK_CASE)
#undef UNPACK_CASE
    default:
        memset(ret_values, 0, groups * 8 * sizeof *ret_values);
        return;
    }
}

static void unpack_levels8(const uint8_t *bytes, size_t groups, unsigned width, uint8_t *ret_levels)
{
    switch (width) {
#define UNPACK_CASE(w)                                                                             \
    case w:                                                                                        \
        unpack_levels(bytes, groups, w, ret_levels);                                               \
        return;
        LEVEL_WIDTHS(UNPACK_CASE)
#undef UNPACK_CASE
    default:
        memset(ret_levels, 0, groups * 8);
        return;
    }
}

/* The last run of a page may be cut short of its last group (parquet-mr does so): what bytes there
 * are then bound it. */
static bool start_packed(struct cv_rle_reader *reader, uint64_t groups)
{
    size_t left = (size_t)(reader->end - reader->at);
    uint64_t bytes = groups * reader->width;

    reader->packed = true;
    reader->skip = 0;
    reader->bits = reader->at;
    if (bytes <= left) {
        reader->at += bytes;
        reader->run_left = groups * 8;
    } else {
        reader->at = reader->end;
        reader->run_left = left * 8 / reader->width;
    }
    return true;
}

/* Opens the next run that is not empty. */
static bool next_run(struct cv_rle_reader *reader)
{
    size_t value_bytes = (reader->width + 7) / 8;
    uint64_t head;

    while (reader->run_left == 0) {
        if (!cv_varint_read(&reader->at, reader->end, CV_RLE_HEAD_BITS, &head))
            return false;
        if (head & 1) {
            (void)start_packed(reader, head >> 1);
            continue;
        }
        if ((size_t)(reader->end - reader->at) < value_bytes)
            return false;
        reader->packed = false;
        reader->value = 0;
        memcpy(&reader->value, reader->at, value_bytes);
        reader->at += value_bytes;
        if (reader->width < 32 && reader->value >> reader->width)
            return false;
        reader->run_left = head >> 1;
    }
    return true;
}

/* Takes values of the open packed run; `unpack` writes whole groups. */
#define READ_PACKED(unpack, type)                                                                  \
    do {                                                                                           \
        if (reader->skip || take < 8) {                                                            \
            type group_[8];                                                                        \
                                                                                                   \
            take = CV_MIN(take, (size_t)8 - reader->skip);                                         \
            unpack(reader->bits, 1, reader->width, group_);                                        \
            memcpy(out, group_ + reader->skip, take * sizeof *out);                                \
            reader->skip += (unsigned)take;                                                        \
            reader->bits += reader->skip / 8 * reader->width;                                      \
            reader->skip &= 7;                                                                     \
        } else {                                                                                   \
            take &= ~(size_t)7;                                                                    \
            unpack(reader->bits, take / 8, reader->width, out);                                    \
            reader->bits += take / 8 * reader->width;                                              \
        }                                                                                          \
    } while (0)

bool cv_rle_read(struct cv_rle_reader *reader, size_t count, uint32_t *ret_values)
{
    uint32_t *out = ret_values;

    if (reader->width == 0) {
        memset(out, 0, count * sizeof *out);
        return true;
    }
    while (count > 0) {
        size_t take;

        if (reader->run_left == 0 && !next_run(reader))
            return false;
        take = CV_MIN(count, reader->run_left);
        if (reader->packed)
            READ_PACKED(cv_bits_unpack8, uint32_t);
        else
            for (size_t i = 0; i < take; i++)
                out[i] = reader->value;
        out += take;
        count -= take;
        reader->run_left -= take;
    }
    return true;
}

bool cv_rle_read_levels(struct cv_rle_reader *reader, size_t count, uint8_t *ret_levels)
{
    uint8_t *out = ret_levels;

    if (reader->width == 0) {
        memset(out, 0, count);
        return true;
    }
    while (count > 0) {
        size_t take;

        if (reader->run_left == 0 && !next_run(reader))
            return false;
        take = CV_MIN(count, reader->run_left);
        if (reader->packed)
            READ_PACKED(unpack_levels8, uint8_t);
        else
            memset(out, (int)reader->value, take);
        out += take;
        count -= take;
        reader->run_left -= take;
    }
    return true;
}

bool cv_rle_read_bits(struct cv_rle_reader *reader, size_t count, uint8_t *bits, size_t offset,
                      size_t *ret_set)
{
    size_t set = 0;

    while (count > 0) {
        size_t take;

        if (reader->run_left == 0 && !next_run(reader))
            return false;
        take = CV_MIN(count, reader->run_left);
        if (reader->packed) {
            cv_bits_copy(bits, offset, reader->bits, reader->skip, take);
            set += cv_bits_count(reader->bits, reader->skip, take);
            reader->bits += (reader->skip + take) / 8;
            reader->skip = (unsigned)((reader->skip + take) % 8);
        } else {
            cv_bits_fill(bits, offset, take, reader->value);
            set += reader->value ? take : 0;
        }
        offset += take;
        count -= take;
        reader->run_left -= take;
    }
    *ret_set = set;
    return true;
}

bool cv_rle_take_run(struct cv_rle_reader *reader, size_t count, uint32_t value)
{
    if (reader->width == 0)
        return value == 0;
    if (count == 0)
        return true;
    if ((reader->run_left == 0 && !next_run(reader)) || reader->packed || reader->value != value ||
        reader->run_left < count)
        return false;
    reader->run_left -= count;
    return true;
}

void cv_bits_read_levels(const uint8_t *bits, size_t bit, size_t count, unsigned width,
                         uint8_t *ret_levels)
{
    for (size_t i = 0; i < count; i++) {
        unsigned level = 0;

        for (unsigned j = 0; j < width; j++, bit++)
            level = level << 1 | (bits[bit / 8] >> (7 - bit % 8) & 1u);
        ret_levels[i] = (uint8_t)level;
    }
}

/* Up to 57 bits from any bit on; may touch 8 bytes. */
static uint64_t load_bits(const uint8_t *from, size_t offset, size_t count)
{
    uint64_t word = 0;

    memcpy(&word, from + offset / 8, CV_MIN((size_t)8, (offset % 8 + count + 7) / 8));
    return word >> offset % 8 & ((UINT64_C(1) << count) - 1);
}

void cv_bits_copy(uint8_t *to, size_t to_offset, const uint8_t *from, size_t from_offset,
                  size_t count)
{
    for (; count > 0 && to_offset % 8; count--, to_offset++, from_offset++) {
        if (cv_bit_get(from, from_offset))
            cv_bit_set(to, to_offset);
        else
            cv_bit_clear(to, to_offset);
    }
    if (from_offset % 8 == 0 && count >= 8) {
        memcpy(to + to_offset / 8, from + from_offset / 8, count / 8);
        to_offset += count / 8 * 8;
        from_offset += count / 8 * 8;
        count %= 8;
    }
    for (; count >= 56; count -= 56, to_offset += 56, from_offset += 56) {
        uint64_t word = load_bits(from, from_offset, 56);

        memcpy(to + to_offset / 8, &word, 7);
    }
    for (; count > 0; count--, to_offset++, from_offset++) {
        if (cv_bit_get(from, from_offset))
            cv_bit_set(to, to_offset);
        else
            cv_bit_clear(to, to_offset);
    }
}

void cv_bits_fill(uint8_t *to, size_t offset, size_t count, bool value)
{
    for (; count > 0 && offset % 8; count--, offset++) {
        if (value)
            cv_bit_set(to, offset);
        else
            cv_bit_clear(to, offset);
    }
    memset(to + offset / 8, value ? 0xff : 0, count / 8);
    offset += count / 8 * 8;
    for (count %= 8; count > 0; count--, offset++) {
        if (value)
            cv_bit_set(to, offset);
        else
            cv_bit_clear(to, offset);
    }
}

size_t cv_bits_count(const uint8_t *bits, size_t offset, size_t count)
{
    size_t set = 0;

    for (; count > 0; offset += 56, count -= CV_MIN(count, (size_t)56))
        set += (size_t)__builtin_popcountll(load_bits(bits, offset, CV_MIN(count, (size_t)56)));
    return set;
}
