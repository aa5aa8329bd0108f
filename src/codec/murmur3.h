/* SPDX-License-Identifier: Apache-2.0
 *
 * 32-bit Murmur3, x86 variant, seed 0: the hash of Iceberg's bucket transform (spec, Appendix B).
 */
#ifndef CALVE_CODEC_MURMUR3_H
#define CALVE_CODEC_MURMUR3_H

#include <stddef.h>
#include <stdint.h>

int32_t cv_murmur3(const void *bytes, size_t length);
int32_t cv_murmur3_i64(int64_t value); /* of its 8 little-endian bytes */

#endif
