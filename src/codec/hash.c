/* SPDX-License-Identifier: Apache-2.0
 *
 * CRC-32 and CRC-32C. */
#include "codec/hash.h"

#include <pthread.h>
#include <string.h>
#include <zlib.h>

#define CASTAGNOLI_REVERSED 0x82f63b78u

uint32_t cv_crc32(const void *bytes, size_t length)
{
    return (uint32_t)crc32_z(0, bytes, length);
}

static uint32_t castagnoli_table[256];
static pthread_once_t castagnoli_once = PTHREAD_ONCE_INIT;

static void fill_castagnoli_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;

        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? CASTAGNOLI_REVERSED : 0);
        castagnoli_table[i] = crc;
    }
}

static uint32_t crc32c_portable(uint32_t crc, const uint8_t *at, size_t length)
{
    (void)pthread_once(&castagnoli_once, fill_castagnoli_table);
    for (size_t i = 0; i < length; i++)
        crc = crc >> 8 ^ castagnoli_table[(crc ^ at[i]) & 0xff];
    return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const uint8_t *at,
                                                               size_t length)
{
    uint64_t wide = crc;
    uint64_t eight;

    for (; length >= 8; at += 8, length -= 8) {
        memcpy(&eight, at, 8);
        wide = __builtin_ia32_crc32di(wide, eight);
    }
    crc = (uint32_t)wide;
    for (; length; at++, length--)
        crc = __builtin_ia32_crc32qi(crc, *at);
    return crc;
}
#endif

uint32_t cv_crc32c(const void *bytes, size_t length)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("sse4.2"))
        return ~crc32c_sse42(~0u, bytes, length);
#endif
    return ~crc32c_portable(~0u, bytes, length);
}
