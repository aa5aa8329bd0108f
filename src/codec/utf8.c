/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8 beyond the ASCII fast path. */
#include "codec/utf8.h"

/* Length of the sequence that this byte starts; 0 if none. */
static size_t sequence_length(uint8_t lead)
{
    if (lead < 0x80)
        return 1;
    if (lead < 0xc2)
        return 0;
    if (lead < 0xe0)
        return 2;
    if (lead < 0xf0)
        return 3;
    return lead < 0xf5 ? 4 : 0;
}

static bool second_byte_fits(uint8_t lead, uint8_t second)
{
    switch (lead) {
    case 0xe0:
        return second >= 0xa0; /* shorter forms */
    case 0xed:
        return second < 0xa0; /* surrogates */
    case 0xf0:
        return second >= 0x90;
    case 0xf4:
        return second < 0x90; /* above U+10FFFF */
    default:
        return true;
    }
}

bool cv_utf8_valid_slow_(const uint8_t *at, size_t length)
{
    const uint8_t *end = at + length;

    while (at < end) {
        size_t count = sequence_length(*at);

        if (count == 0 || count > (size_t)(end - at))
            return false;
        for (size_t i = 1; i < count; i++)
            if ((at[i] & 0xc0) != 0x80)
                return false;
        if (count > 2 && !second_byte_fits(at[0], at[1]))
            return false;
        at += count;
    }
    return true;
}

uint32_t cv_utf8_next(const char **at, const char *end)
{
    static const uint8_t lead_mask[5] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const uint8_t *bytes = (const uint8_t *)*at;
    size_t count = sequence_length(bytes[0]);
    uint32_t code_point;

    if (count == 0 || count > (size_t)(end - *at)) {
        (*at)++;
        return bytes[0];
    }
    code_point = bytes[0] & lead_mask[count];
    for (size_t i = 1; i < count; i++)
        code_point = code_point << 6 | (bytes[i] & 0x3f);
    *at += count;
    return code_point;
}

size_t cv_utf8_put(uint32_t code_point, char bytes[4])
{
    if (code_point < 0x80) {
        bytes[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        bytes[0] = (char)(0xc0 | code_point >> 6);
        bytes[1] = (char)(0x80 | (code_point & 0x3f));
        return 2;
    }
    if (code_point < 0x10000) {
        bytes[0] = (char)(0xe0 | code_point >> 12);
        bytes[1] = (char)(0x80 | (code_point >> 6 & 0x3f));
        bytes[2] = (char)(0x80 | (code_point & 0x3f));
        return 3;
    }
    bytes[0] = (char)(0xf0 | code_point >> 18);
    bytes[1] = (char)(0x80 | (code_point >> 12 & 0x3f));
    bytes[2] = (char)(0x80 | (code_point >> 6 & 0x3f));
    bytes[3] = (char)(0x80 | (code_point & 0x3f));
    return 4;
}

size_t cv_utf8_prefix(struct cv_str text, size_t count)
{
    const char *at = text.ptr;
    const char *end = at + text.length;

    if (text.length <= count)
        return text.length;
    for (; count && at < end; count--)
        (void)cv_utf8_next(&at, end);
    return (size_t)(at - text.ptr);
}

size_t cv_utf8_count(struct cv_str text)
{
    const char *at = text.ptr;
    const char *end = at + text.length;
    size_t count = 0;

    for (; at < end; count++)
        (void)cv_utf8_next(&at, end);
    return count;
}
