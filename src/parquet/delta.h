/* SPDX-License-Identifier: Apache-2.0
 *
 * The DELTA encodings of Parquet (format Encodings.md, DELTA_BINARY_PACKED = 5 and
 * DELTA_LENGTH_BYTE_ARRAY = 6), from PLAIN bytes. */
#ifndef CALVE_PARQUET_DELTA_H
#define CALVE_PARQUET_DELTA_H

#include "base/buf.h"

/* Append `count` values of PLAIN INT32 or INT64 as DELTA_BINARY_PACKED. */
void cv_delta_write_32(const uint8_t *plain, size_t count, struct cv_buf *out);
void cv_delta_write_64(const uint8_t *plain, size_t count, struct cv_buf *out);
/* PLAIN BYTE_ARRAY as DELTA_LENGTH_BYTE_ARRAY: delta-packed lengths, then the bytes. `lengths` is
 * scratch. */
void cv_delta_write_bytes(const uint8_t *plain, size_t count, struct cv_buf *lengths,
                          struct cv_buf *out);

#endif
