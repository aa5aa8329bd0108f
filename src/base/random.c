/* SPDX-License-Identifier: Apache-2.0
 *
 * Random ids. */
#include "base/random.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void cv_random_bytes(void *bytes, size_t length)
{
    uint8_t *at = bytes;

    while (length) {
        ssize_t got = getrandom(at, CV_MIN(length, 256), 0);

        if (got < 0)
            continue;
        at += got;
        length -= (size_t)got;
    }
}

void cv_uuid_bytes(uint8_t bytes[16])
{
    cv_random_bytes(bytes, 16);
    bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40);
    bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
}

void cv_uuid_text(char text[CV_UUID_TEXT_BYTES])
{
    uint8_t b[16];

    cv_uuid_bytes(b);
    (void)snprintf(text, CV_UUID_TEXT_BYTES,
                   "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                   b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                   b[14], b[15]);
}

int64_t cv_random_id(void)
{
    uint8_t bytes[16];
    uint64_t halves[2];

    cv_uuid_bytes(bytes);
    memcpy(halves, bytes, sizeof halves);
    return (int64_t)((halves[0] ^ halves[1]) & INT64_MAX);
}
