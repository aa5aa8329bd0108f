/* SPDX-License-Identifier: Apache-2.0
 *
 * Thrift compact protocol, the writing side. A field header is one byte (delta << 4 | type) when
 * its id is 1-15 above the one before, else the type and the id as a zigzag varint. */
#include "codec/thrift.h"

#include <assert.h>

static void put_varint(struct cv_buf *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t count = 0;

    while (value >= 0x80) {
        bytes[count++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[count++] = (uint8_t)value;
    cv_buf_append(out, bytes, count);
}

static void put_zigzag(struct cv_buf *out, int64_t value)
{
    put_varint(out, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

static void put_field(struct cv_thrift_writer *w, int16_t id, enum cv_thrift_type type)
{
    int16_t *last = &w->last_id[w->depth - 1];
    int delta = id - *last;

    assert(w->depth > 0);
    if (delta >= 1 && delta <= 15) {
        cv_buf_append_byte(w->out, (uint8_t)(delta << 4 | type));
    } else {
        cv_buf_append_byte(w->out, (uint8_t)type);
        put_zigzag(w->out, id);
    }
    *last = id;
}

void cv_thrift_begin_struct(struct cv_thrift_writer *w)
{
    assert(w->depth < CV_THRIFT_DEPTH_MAX);
    w->last_id[w->depth++] = 0;
}

void cv_thrift_end_struct(struct cv_thrift_writer *w)
{
    assert(w->depth > 0);
    cv_buf_append_byte(w->out, CV_THRIFT_STOP);
    w->depth--;
}

void cv_thrift_field_bool(struct cv_thrift_writer *w, int16_t id, bool value)
{
    put_field(w, id, value ? CV_THRIFT_TRUE : CV_THRIFT_FALSE);
}

void cv_thrift_field_i16(struct cv_thrift_writer *w, int16_t id, int16_t value)
{
    put_field(w, id, CV_THRIFT_I16);
    put_zigzag(w->out, value);
}

void cv_thrift_field_i32(struct cv_thrift_writer *w, int16_t id, int32_t value)
{
    put_field(w, id, CV_THRIFT_I32);
    put_zigzag(w->out, value);
}

void cv_thrift_field_i64(struct cv_thrift_writer *w, int16_t id, int64_t value)
{
    put_field(w, id, CV_THRIFT_I64);
    put_zigzag(w->out, value);
}

void cv_thrift_field_double(struct cv_thrift_writer *w, int16_t id, double value)
{
    put_field(w, id, CV_THRIFT_DOUBLE);
    cv_buf_append(w->out, &value, sizeof value); /* little-endian, as calve's machines are */
}

void cv_thrift_field_binary(struct cv_thrift_writer *w, int16_t id, const void *bytes,
                            size_t length)
{
    put_field(w, id, CV_THRIFT_BINARY);
    cv_thrift_put_binary(w, bytes, length);
}

void cv_thrift_field_struct(struct cv_thrift_writer *w, int16_t id)
{
    put_field(w, id, CV_THRIFT_STRUCT);
    cv_thrift_begin_struct(w);
}

void cv_thrift_field_list(struct cv_thrift_writer *w, int16_t id, enum cv_thrift_type element,
                          size_t count)
{
    put_field(w, id, CV_THRIFT_LIST);
    if (count < 15) {
        cv_buf_append_byte(w->out, (uint8_t)(count << 4 | element));
        return;
    }
    cv_buf_append_byte(w->out, (uint8_t)(0xf0 | element));
    put_varint(w->out, count);
}

void cv_thrift_put_bool(struct cv_thrift_writer *w, bool value)
{
    cv_buf_append_byte(w->out, value ? CV_THRIFT_TRUE : CV_THRIFT_FALSE);
}

void cv_thrift_put_i32(struct cv_thrift_writer *w, int32_t value)
{
    put_zigzag(w->out, value);
}

void cv_thrift_put_i64(struct cv_thrift_writer *w, int64_t value)
{
    put_zigzag(w->out, value);
}

void cv_thrift_put_binary(struct cv_thrift_writer *w, const void *bytes, size_t length)
{
    put_varint(w->out, length);
    cv_buf_append(w->out, bytes, length);
}
