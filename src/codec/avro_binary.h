/* SPDX-License-Identifier: Apache-2.0
 *
 * Avro binary primitives (specification: Binary Encoding). Readers check every bound: on malformed
 * or short input they return false and leave the position anywhere inside the span. */
#ifndef CALVE_CODEC_AVRO_BINARY_H
#define CALVE_CODEC_AVRO_BINARY_H

#include "base/buf.h"

struct cv_avro_reader {
    const uint8_t *at;
    const uint8_t *end;
};

bool cv_avro_read_long_slow_(struct cv_avro_reader *r, int64_t *ret_value);

static inline bool cv_avro_read_long(struct cv_avro_reader *r, int64_t *ret_value)
{
    if (r->at < r->end && *r->at < 0x80) {
        uint64_t raw = *r->at++;

        *ret_value = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
        return true;
    }
    return cv_avro_read_long_slow_(r, ret_value);
}

static inline bool cv_avro_read_int(struct cv_avro_reader *r, int32_t *ret_value)
{
    int64_t wide;

    if (!cv_avro_read_long(r, &wide) || wide < INT32_MIN || wide > INT32_MAX)
        return false;
    *ret_value = (int32_t)wide;
    return true;
}

/* `length` bytes as they stand; false when fewer are left. */
static inline bool cv_avro_read_raw(struct cv_avro_reader *r, size_t length,
                                    const uint8_t **ret_bytes)
{
    if (length > (size_t)(r->end - r->at))
        return false;
    *ret_bytes = r->at;
    r->at += length;
    return true;
}

/* bytes and string: a length and the bytes. */
static inline bool cv_avro_read_bytes(struct cv_avro_reader *r, const uint8_t **ret_bytes,
                                      size_t *ret_length)
{
    int64_t length;

    if (!cv_avro_read_long(r, &length) || length < 0)
        return false;
    *ret_length = (size_t)length;
    return cv_avro_read_raw(r, (size_t)length, ret_bytes);
}

void cv_avro_put_long(struct cv_buf *out, int64_t value);
void cv_avro_put_bytes(struct cv_buf *out, const void *bytes, size_t length);
static inline void cv_avro_put_string(struct cv_buf *out, const char *text)
{
    cv_avro_put_bytes(out, text, strlen(text));
}
static inline void cv_avro_put_bool(struct cv_buf *out, bool value)
{
    cv_buf_append_byte(out, value);
}

#endif
