/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading of DELTA_BINARY_PACKED (layout in delta.c), a stage of deltas at a time. */
#include "parquet/delta.h"

#include "parquet/rle.h"

#define GROUP 8 /* values that are unpacked together; a miniblock is a multiple of it */
/* Writers have 128; the format sets no limit. */
#define BLOCK_VALUES_MAX ((uint64_t)1 << 24)

static uint64_t from_zigzag(uint64_t raw)
{
    return raw >> 1 ^ -(raw & 1);
}

bool cv_delta_reader_init(struct cv_delta_reader *reader, const uint8_t *bytes, size_t length)
{
    uint64_t block, miniblocks, count, first;

    *reader = (struct cv_delta_reader){.at = bytes, .end = bytes + length, .first = true};
    if (!cv_varint_read(&reader->at, reader->end, 64, &block) ||
        !cv_varint_read(&reader->at, reader->end, 64, &miniblocks) ||
        !cv_varint_read(&reader->at, reader->end, 64, &count) ||
        !cv_varint_read(&reader->at, reader->end, 64, &first))
        return false;
    if (block == 0 || block > BLOCK_VALUES_MAX || miniblocks == 0 || block % miniblocks ||
        block / miniblocks % GROUP || count > UINT32_MAX)
        return false;
    reader->miniblock_values = block / miniblocks;
    reader->miniblocks = reader->miniblock = miniblocks;
    reader->left = count;
    reader->value = from_zigzag(first);
    return true;
}

static bool start_block(struct cv_delta_reader *reader)
{
    uint64_t least;

    if (!cv_varint_read(&reader->at, reader->end, 64, &least) ||
        (size_t)(reader->end - reader->at) < reader->miniblocks)
        return false;
    reader->least = from_zigzag(least);
    reader->widths = reader->at;
    reader->at += reader->miniblocks;
    reader->miniblock = 0;
    return true;
}

/* The last miniblock need not be padded; `deltas` is how many are still to come. */
static bool start_miniblock(struct cv_delta_reader *reader, size_t deltas)
{
    size_t bytes, used, available;

    if (reader->miniblock == reader->miniblocks && !start_block(reader))
        return false;
    reader->width = reader->widths[reader->miniblock++];
    if (reader->width > 64)
        return false;
    bytes = reader->miniblock_values / GROUP * reader->width;
    used = (CV_MIN(deltas, reader->miniblock_values) * reader->width + 7) / 8;
    available = (size_t)(reader->end - reader->at);
    if (used > available)
        return false;
    reader->bits = reader->at;
    reader->at += CV_MIN(bytes, available);
    reader->miniblock_left = reader->miniblock_values;
    return true;
}

static void unpack_group(const uint8_t *bytes, unsigned width, uint64_t least, uint64_t *out)
{
    const uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;

    for (unsigned i = 0; i < GROUP; i++) {
        unsigned bit = i * width;
        uint64_t word;

        memcpy(&word, bytes + bit / 8, 8);
        word >>= bit & 7;
        if ((bit & 7) + width > 64)
            word |= (uint64_t)bytes[bit / 8 + 8] << (64 - (bit & 7));
        out[i] = (word & mask) + least;
    }
}

/* Fills the stage with the next deltas; there are some left. */
static bool fill_stage(struct cv_delta_reader *reader)
{
    size_t count;

    if (reader->miniblock_left == 0 && !start_miniblock(reader, reader->left))
        return false;
    count = CV_MIN((size_t)CV_DELTA_STAGE, reader->miniblock_left);
    for (size_t i = 0; i < count; i += GROUP) {
        /* Groups that no value is in may lie behind the end of an unpadded miniblock. */
        if (i >= reader->left)
            break;
        unpack_group(reader->bits, reader->width, reader->least, reader->stage + i);
        reader->bits += reader->width;
    }
    reader->miniblock_left -= count;
    reader->staged = (unsigned)count;
    reader->staged_at = 0;
    return true;
}

#define READ_VALUES(out, type)                                                                     \
    do {                                                                                           \
        if (count > reader->left)                                                                  \
            return false;                                                                          \
        if (count && reader->first) {                                                              \
            reader->first = false;                                                                 \
            *(out)++ = (type)reader->value;                                                        \
            reader->left--;                                                                        \
            count--;                                                                               \
        }                                                                                          \
        while (count > 0) {                                                                        \
            uint64_t value_ = reader->value;                                                       \
            size_t take_;                                                                          \
                                                                                                   \
            if (reader->staged_at == reader->staged && !fill_stage(reader))                        \
                return false;                                                                      \
            take_ = CV_MIN(count, (size_t)(reader->staged - reader->staged_at));                   \
            for (size_t i_ = 0; i_ < take_; i_++) {                                                \
                value_ += reader->stage[reader->staged_at + i_];                                   \
                *(out)++ = (type)value_;                                                           \
            }                                                                                      \
            reader->value = value_;                                                                \
            reader->staged_at += (unsigned)take_;                                                  \
            reader->left -= take_;                                                                 \
            count -= take_;                                                                        \
        }                                                                                          \
    } while (0)

bool cv_delta_read_32(struct cv_delta_reader *reader, size_t count, uint32_t *ret_values)
{
    READ_VALUES(ret_values, uint32_t);
    return true;
}

bool cv_delta_read_64(struct cv_delta_reader *reader, size_t count, uint64_t *ret_values)
{
    READ_VALUES(ret_values, uint64_t);
    return true;
}

bool cv_delta_find_end(const struct cv_delta_reader *reader, const uint8_t **ret_end)
{
    struct cv_delta_reader walk = *reader;
    size_t deltas = walk.left - (walk.left > 0);

    while (deltas > 0) {
        if (!start_miniblock(&walk, deltas))
            return false;
        deltas -= CV_MIN(deltas, walk.miniblock_values);
    }
    *ret_end = walk.at;
    return true;
}
