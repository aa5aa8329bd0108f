/* SPDX-License-Identifier: Apache-2.0
 *
 * Growable byte buffer. */
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

bool cv_buf_reserve(struct cv_buf *buf, size_t extra)
{
    size_t max = buf->max ? buf->max : CV_BUF_BYTES_MAX;
    size_t need;
    size_t grown;

    if (buf->failed || extra > max || buf->length > max - extra) {
        buf->failed = true;
        buf->capacity = buf->length; /* no room: what is appended later must not close the gap */
        return false;
    }
    need = buf->length + extra;
    if (need <= buf->capacity)
        return true;
    grown = buf->capacity ? buf->capacity + buf->capacity / 2 : 256;
    grown = CV_MIN(CV_MAX(grown, need), max);
    buf->data = cv_realloc(buf->data, grown);
    buf->capacity = grown;
    return true;
}

/* Room for a terminator after `length` more bytes; it counts neither to the maximum nor to the
 * capacity, so that no later append takes its place. */
static void reserve_terminator(struct cv_buf *buf, size_t length)
{
    if (buf->capacity - buf->length <= length)
        buf->data = cv_realloc(buf->data, buf->length + length + 1);
}

void cv_buf_printf(struct cv_buf *buf, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0 || !cv_buf_reserve(buf, (size_t)length))
        return;
    reserve_terminator(buf, (size_t)length);
    va_start(args, format);
    (void)vsnprintf((char *)buf->data + buf->length, (size_t)length + 1, format, args);
    va_end(args);
    buf->length += (size_t)length;
}

const char *cv_buf_text(struct cv_buf *buf)
{
    reserve_terminator(buf, 0);
    buf->data[buf->length] = '\0';
    return (const char *)buf->data;
}

void cv_buf_clear(struct cv_buf *buf)
{
    buf->length = 0;
    buf->failed = false;
}

void cv_buf_release(struct cv_buf *buf)
{
    free(buf->data);
    buf->data = NULL;
    buf->length = 0;
    buf->capacity = 0;
    buf->failed = false;
}

enum cv_code cv_buf_check(const struct cv_buf *buf, const char *what, struct cv_error *err)
{
    if (!buf->failed)
        return CV_OK;
    return cv_fail(err, CV_LIMIT, "%s is larger than %zu bytes", what,
                   buf->max ? buf->max : CV_BUF_BYTES_MAX);
}
