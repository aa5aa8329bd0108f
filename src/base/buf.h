/* SPDX-License-Identifier: Apache-2.0
 *
 * A growable byte buffer with a stated maximum. Appending past the maximum sets `failed` and
 * from then on does nothing; whoever built the content asks once, with cv_buf_check(). */
#ifndef CALVE_BASE_BUF_H
#define CALVE_BASE_BUF_H

#include "base/memory.h"

#include <string.h>

struct cv_buf {
    uint8_t *data;
    size_t length;
    size_t capacity;
    size_t max; /* 0 stands for CV_BUF_BYTES_MAX */
    bool failed;
};

#define CV_BUF_BYTES_MAX ((size_t)1 << 31)
#define CV_BUF_INIT(max_bytes)                                                                     \
    {                                                                                              \
        NULL, 0, 0, (max_bytes), false                                                             \
    }

/* Makes room for `extra` more bytes; false (and failed) past the maximum. */
bool cv_buf_reserve(struct cv_buf *buf, size_t extra);
void cv_buf_printf(struct cv_buf *buf, const char *format, ...) CV_PRINTF(2, 3);
void cv_buf_clear(struct cv_buf *buf); /* length 0, memory kept */
void cv_buf_release(struct cv_buf *buf);

/* CV_LIMIT naming `what` and the maximum if an append did not fit. */
enum cv_code cv_buf_check(const struct cv_buf *buf, const char *what, struct cv_error *err);

static inline void cv_buf_append(struct cv_buf *buf, const void *bytes, size_t length)
{
    if (length > buf->capacity - buf->length && !cv_buf_reserve(buf, length))
        return;
    if (length)
        memcpy(buf->data + buf->length, bytes, length);
    buf->length += length;
}

static inline void cv_buf_append_byte(struct cv_buf *buf, uint8_t byte)
{
    if (buf->length == buf->capacity && !cv_buf_reserve(buf, 1))
        return;
    buf->data[buf->length++] = byte;
}

static inline void cv_buf_append_text(struct cv_buf *buf, const char *text)
{
    cv_buf_append(buf, text, strlen(text));
}

/* The content as a C string; the terminator is not part of the length. */
const char *cv_buf_text(struct cv_buf *buf);

#endif
