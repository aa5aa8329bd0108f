/* SPDX-License-Identifier: Apache-2.0
 *
 * Murmur3 x86 32, seed 0. */
#include "codec/murmur3.h"

#include <string.h>

static inline uint32_t rotate_left(uint32_t x, unsigned bits)
{
    return x << bits | x >> (32 - bits);
}

static inline uint32_t scramble(uint32_t block)
{
    return rotate_left(block * 0xcc9e2d51u, 15) * 0x1b873593u;
}

static inline uint32_t mix(uint32_t hash, uint32_t block)
{
    return rotate_left(hash ^ scramble(block), 13) * 5 + 0xe6546b64u;
}

static inline int32_t finish(uint32_t hash, size_t length)
{
    hash ^= (uint32_t)length;
    hash ^= hash >> 16;
    hash *= 0x85ebca6bu;
    hash ^= hash >> 13;
    hash *= 0xc2b2ae35u;
    return (int32_t)(hash ^ hash >> 16);
}

int32_t cv_murmur3(const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    uint32_t hash = 0;
    uint32_t tail = 0;
    size_t rest = length & 3;

    for (size_t i = 0; i < length / 4; i++, at += 4) {
        uint32_t block;

        memcpy(&block, at, 4);
        hash = mix(hash, block);
    }
    for (size_t i = 0; i < rest; i++)
        tail |= (uint32_t)at[i] << (8 * i);
    if (rest)
        hash ^= scramble(tail);
    return finish(hash, length);
}

int32_t cv_murmur3_i64(int64_t value)
{
    uint64_t raw = (uint64_t)value;

    return finish(mix(mix(0, (uint32_t)raw), (uint32_t)(raw >> 32)), 8);
}
