/* SPDX-License-Identifier: Apache-2.0
 *
 * Confluent framing of a value:
 *
 *   +------+---------------------+-------------------+
 *   | 0x00 | schema id, 4 bytes, | the encoded value |
 *   |      | big-endian          |                   |
 *   +------+---------------------+-------------------+ */
#ifndef CALVE_DECODE_FRAMING_H
#define CALVE_DECODE_FRAMING_H

#include "decode/decoder_int.h"

#define CV_FRAMING_BYTES 5

/* Splits a value. False, with the worker's fault naming its first bytes, when it is not framed:
 * the zero byte is looked at before anything is made of the id. */
static inline bool cv_framing_split(const uint8_t *bytes, size_t length, uint32_t *ret_id)
{
    if (length < CV_FRAMING_BYTES || bytes[0] != 0)
        return false;
    *ret_id =
        (uint32_t)bytes[1] << 24 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 8 | bytes[4];
    return true;
}

/* The fault of a value that cv_framing_split() refused. */
void cv_framing_fault(struct cv_decode_worker *worker, const uint8_t *bytes, size_t length);

/* Whether values are framed, by value.framing and the presence of a registry. */
bool cv_framing_confluent(const struct cv_value_options *options);

/* The first bytes in hex and, where they are printable, as text: "7b 22 61 ({"a)". */
#define CV_FRAMING_HEX_BYTES 16
void cv_framing_first_bytes(const uint8_t *bytes, size_t length, char text[96]);

#endif
