/* SPDX-License-Identifier: Apache-2.0
 *
 * Base64 (RFC 4648, section 4, with padding). */
#ifndef CALVE_CODEC_BASE64_H
#define CALVE_CODEC_BASE64_H

#include "base/buf.h"
#include "base/str.h"

void cv_base64_encode(const void *bytes, size_t length, struct cv_buf *out);
/* Appends the bytes; padding may be left out. False (and `out` as it was) on any other character
 * or a wrong length. */
bool cv_base64_decode(struct cv_str text, struct cv_buf *out);

#endif
