/* SPDX-License-Identifier: Apache-2.0
 *
 * Hexadecimal text. */
#include "codec/hex.h"

void cv_hex_encode(const void *bytes, size_t length, struct cv_buf *out)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *at = bytes;

    for (size_t i = 0; i < length; i++) {
        const char two[2] = {digits[at[i] >> 4], digits[at[i] & 15]};

        cv_buf_append(out, two, 2);
    }
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool cv_hex_decode(struct cv_str text, struct cv_buf *out)
{
    size_t start = out->length;

    if (text.length % 2)
        return false;
    for (size_t i = 0; i < text.length; i += 2) {
        int high = digit_of(text.ptr[i]);
        int low = digit_of(text.ptr[i + 1]);

        if (high < 0 || low < 0) {
            out->length = start;
            return false;
        }
        cv_buf_append_byte(out, (uint8_t)(high << 4 | low));
    }
    return true;
}
