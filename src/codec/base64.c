/* SPDX-License-Identifier: Apache-2.0
 *
 * Base64. */
#include "codec/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void cv_base64_encode(const void *bytes, size_t length, struct cv_buf *out)
{
    const uint8_t *at = bytes;

    for (; length >= 3; at += 3, length -= 3) {
        const char four[4] = {alphabet[at[0] >> 2], alphabet[(at[0] & 3) << 4 | at[1] >> 4],
                              alphabet[(at[1] & 15) << 2 | at[2] >> 6], alphabet[at[2] & 63]};

        cv_buf_append(out, four, 4);
    }
    if (length) {
        uint8_t second = length == 2 ? at[1] : 0;
        const char four[4] = {alphabet[at[0] >> 2], alphabet[(at[0] & 3) << 4 | second >> 4],
                              length == 2 ? alphabet[(second & 15) << 2] : '=', '='};

        cv_buf_append(out, four, 4);
    }
}

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool cv_base64_decode(struct cv_str text, struct cv_buf *out)
{
    size_t start = out->length;
    uint32_t group = 0;
    unsigned bits = 0;

    if (text.length % 4 == 0)
        for (int i = 0; i < 2 && text.length && text.ptr[text.length - 1] == '='; i++)
            text.length--;
    for (size_t i = 0; i < text.length; i++) {
        int digit = digit_of(text.ptr[i]);

        if (digit < 0) {
            out->length = start;
            return false;
        }
        group = group << 6 | (uint32_t)digit;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            cv_buf_append_byte(out, (uint8_t)(group >> bits));
        }
    }
    if (text.length % 4 == 1) {
        out->length = start;
        return false;
    }
    return true;
}
