/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8 (RFC 3629: no surrogates, nothing above U+10FFFF, shortest form only). */
#ifndef CALVE_CODEC_UTF8_H
#define CALVE_CODEC_UTF8_H

#include "base/str.h"

#include <stdint.h>

bool cv_utf8_valid_slow_(const uint8_t *at, size_t length);

static inline bool cv_ascii_only(const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    uint64_t all = 0;
    uint64_t last;
    size_t i = 0;

    if (length < 8) {
        for (; i < length; i++)
            all |= at[i];
        return (all & 0x80) == 0;
    }
    for (; i + 8 <= length; i += 8) {
        memcpy(&last, at + i, 8);
        all |= last;
    }
    memcpy(&last, at + length - 8, 8);
    return ((all | last) & 0x8080808080808080u) == 0;
}

static inline bool cv_utf8_valid(const void *bytes, size_t length)
{
    return cv_ascii_only(bytes, length) || cv_utf8_valid_slow_((const uint8_t *)bytes, length);
}

/* Reads one code point of valid text and moves *at behind it. A byte that starts none stands for
 * itself, so that broken text cannot make this read past `end`. */
uint32_t cv_utf8_next(const char **at, const char *end);
/* Writes a code point; returns its length, 1-4. */
size_t cv_utf8_put(uint32_t code_point, char bytes[4]);
/* Bytes of the first `count` code points, or the whole length when there are fewer. */
size_t cv_utf8_prefix(struct cv_str text, size_t count);
size_t cv_utf8_count(struct cv_str text); /* code points of valid text */

#endif
