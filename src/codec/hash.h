/* SPDX-License-Identifier: Apache-2.0
 *
 * Hashes and checksums of bytes on disk and on the wire. */
#ifndef CALVE_CODEC_HASH_H
#define CALVE_CODEC_HASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stddef.h>
#include <stdint.h>

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
