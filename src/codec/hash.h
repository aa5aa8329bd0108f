/* SPDX-License-Identifier: Apache-2.0
 *
 * Hashes and checksums: XXH3 for tables in memory, XXH64 and the CRCs for bytes on disk and on the
 * wire. */
#ifndef CALVE_CODEC_HASH_H
#define CALVE_CODEC_HASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stddef.h>
#include <stdint.h>

/* For dictionaries in memory; never stored. */
static inline uint64_t cv_hash64(const void *bytes, size_t length)
{
    return XXH3_64bits(bytes, length);
}

/* For one integer in memory (a bijection: different values never collide in 64 bits). */
static inline uint64_t cv_hash64_of_i64(int64_t value)
{
    uint64_t x = (uint64_t)value;

    x = (x ^ x >> 32) * 0x9fb21c651e98df25u;
    x = (x ^ x >> 29) * 0x9e3779b97f4a7c15u;
    return x ^ x >> 32;
}

/* XXH64 with seed 0, as Parquet's Bloom filters use it. */
static inline uint64_t cv_xxh64(const void *bytes, size_t length)
{
    return XXH64(bytes, length, 0);
}

/* CRC-32 of zlib, gzip, Parquet pages, Avro's snappy codec. */
uint32_t cv_crc32(const void *bytes, size_t length);
/* CRC-32C (Castagnoli) of Kafka record batches; by the processor's instruction where it has one. */
uint32_t cv_crc32c(const void *bytes, size_t length);

#endif
