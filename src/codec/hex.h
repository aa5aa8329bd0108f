/* SPDX-License-Identifier: Apache-2.0
 *
 * Hexadecimal text, written in lower case, read in either. */
#ifndef CALVE_CODEC_HEX_H
#define CALVE_CODEC_HEX_H

#include "base/buf.h"
#include "base/str.h"

void cv_hex_encode(const void *bytes, size_t length, struct cv_buf *out);
/* Appends the bytes; false (and `out` as it was) on another character or an odd length. */
bool cv_hex_decode(struct cv_str text, struct cv_buf *out);

#endif
