/* SPDX-License-Identifier: Apache-2.0
 *
 * Avro's variable-length integers and byte strings. */
#include "codec/avro_binary.h"

/* At most 10 bytes; the tenth carries one bit. */
bool cv_avro_read_long_slow_(struct cv_avro_reader *r, int64_t *ret_value)
{
    uint64_t raw = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte;

        if (r->at == r->end)
            return false;
        byte = *r->at++;
        if (shift == 63 && byte > 1)
            return false;
        raw |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
            return true;
        }
    }
    return false;
}

void cv_avro_put_long(struct cv_buf *out, int64_t value)
{
    uint64_t raw = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    uint8_t bytes[10];
    size_t count = 0;

    for (; raw >= 0x80; raw >>= 7)
        bytes[count++] = (uint8_t)(raw | 0x80);
    bytes[count++] = (uint8_t)raw;
    cv_buf_append(out, bytes, count);
}

void cv_avro_put_bytes(struct cv_buf *out, const void *bytes, size_t length)
{
    cv_avro_put_long(out, (int64_t)length);
    cv_buf_append(out, bytes, length);
}
