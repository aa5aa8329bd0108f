/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of bits of validity maps, LSB first: bytes of columns, 64-bit words of vectors (the same
 * order on the machines that calve is for). */
#ifndef CALVE_SQL_DUCK_BITS_H
#define CALVE_SQL_DUCK_BITS_H

#include "batch/column.h"

/* Copies `count` bits; nothing outside of the run is written, and no byte read that has none of
 * it. */
static inline void cv_bits_copy(uint8_t *to, size_t to_at, const uint8_t *from, size_t from_at,
                                size_t count)
{
    size_t shift;

    for (; count && to_at % 8; to_at++, from_at++, count--) {
        if (cv_bit_get(from, from_at))
            cv_bit_set(to, to_at);
        else
            cv_bit_clear(to, to_at);
    }
    to += to_at / 8;
    from += from_at / 8;
    shift = from_at % 8;
    if (shift == 0) {
        memcpy(to, from, count / 8);
        to += count / 8;
        from += count / 8;
    } else {
        for (size_t i = 0; i < count / 8; i++, from++)
            *to++ = (uint8_t)(from[0] >> shift | from[1] << (8 - shift));
    }
    for (size_t i = 0; i < count % 8; i++) {
        if (cv_bit_get(from, shift + i))
            cv_bit_set(to, i);
        else
            cv_bit_clear(to, i);
    }
}

static inline void cv_bits_fill(uint8_t *to, size_t at, size_t count)
{
    for (; count && at % 8; at++, count--)
        cv_bit_set(to, at);
    memset(to + at / 8, 0xff, count / 8);
    at += count / 8 * 8;
    for (size_t i = 0; i < count % 8; i++)
        cv_bit_set(to, at + i);
}

/* How many are clear. */
static inline size_t cv_bits_clear_count(const uint8_t *bits, size_t at, size_t count)
{
    size_t set = 0;
    size_t left = count;
    uint64_t word;

    for (; left && at % 8; at++, left--)
        set += cv_bit_get(bits, at);
    bits += at / 8;
    for (; left >= 64; left -= 64, bits += 8) {
        memcpy(&word, bits, 8);
        set += (size_t)__builtin_popcountll(word);
    }
    for (size_t i = 0; i < left; i++)
        set += cv_bit_get(bits, i);
    return count - set;
}

#endif
