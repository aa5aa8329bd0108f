/* SPDX-License-Identifier: Apache-2.0
 *
 * Thrift compact protocol, as far as Parquet metadata needs it: structs, lists and primitives.
 * The writer appends to a buffer. The reader checks every bound and remembers its first failure,
 * so that a caller may read a whole struct and ask once, with cv_thrift_reader_check(). */
#ifndef CALVE_CODEC_THRIFT_H
#define CALVE_CODEC_THRIFT_H

#include "base/buf.h"
#include "base/str.h"

#define CV_THRIFT_DEPTH_MAX 32
/* elements of one list, also bounded by the bytes that are left (an element is at least one) */
#define CV_THRIFT_LIST_MAX ((size_t)1 << 26)

enum cv_thrift_type {
    CV_THRIFT_STOP = 0,
    CV_THRIFT_TRUE = 1, /* also the element type of list<bool> */
    CV_THRIFT_FALSE = 2,
    CV_THRIFT_BYTE = 3,
    CV_THRIFT_I16 = 4,
    CV_THRIFT_I32 = 5,
    CV_THRIFT_I64 = 6,
    CV_THRIFT_DOUBLE = 7,
    CV_THRIFT_BINARY = 8, /* and string */
    CV_THRIFT_LIST = 9,
    CV_THRIFT_SET = 10,
    CV_THRIFT_MAP = 11,
    CV_THRIFT_STRUCT = 12,
};

/* Writer. Field ids of one struct are written in ascending order or not, as the caller likes. Write
 * a struct as: begin_struct, fields, end_struct; a field that is a struct or list as:
 * field_struct … end_struct, or field_list(…, count) followed by `count` elements (put_* or
 * begin_struct … end_struct). */
struct cv_thrift_writer {
    struct cv_buf *out;
    int16_t last_id[CV_THRIFT_DEPTH_MAX];
    unsigned depth;
};

#define CV_THRIFT_WRITER(buf)                                                                      \
    {                                                                                              \
        (buf), {0}, 0                                                                              \
    }

void cv_thrift_begin_struct(struct cv_thrift_writer *w); /* the outermost, or a list element */
void cv_thrift_end_struct(struct cv_thrift_writer *w);
void cv_thrift_field_bool(struct cv_thrift_writer *w, int16_t id, bool value);
void cv_thrift_field_i16(struct cv_thrift_writer *w, int16_t id, int16_t value);
void cv_thrift_field_i32(struct cv_thrift_writer *w, int16_t id, int32_t value);
void cv_thrift_field_i64(struct cv_thrift_writer *w, int16_t id, int64_t value);
void cv_thrift_field_double(struct cv_thrift_writer *w, int16_t id, double value);
void cv_thrift_field_binary(struct cv_thrift_writer *w, int16_t id, const void *bytes,
                            size_t length);
static inline void cv_thrift_field_string(struct cv_thrift_writer *w, int16_t id, const char *text)
{
    cv_thrift_field_binary(w, id, text, strlen(text));
}
void cv_thrift_field_struct(struct cv_thrift_writer *w, int16_t id);
void cv_thrift_field_list(struct cv_thrift_writer *w, int16_t id, enum cv_thrift_type element,
                          size_t count);
/* Elements of a list. */
void cv_thrift_put_bool(struct cv_thrift_writer *w, bool value);
void cv_thrift_put_i32(struct cv_thrift_writer *w, int32_t value);
void cv_thrift_put_i64(struct cv_thrift_writer *w, int64_t value);
void cv_thrift_put_binary(struct cv_thrift_writer *w, const void *bytes, size_t length);
static inline void cv_thrift_put_string(struct cv_thrift_writer *w, const char *text)
{
    cv_thrift_put_binary(w, text, strlen(text));
}

/* Reader. A struct is read as
 *
 *   cv_thrift_read_begin_struct(r);
 *   while (cv_thrift_read_field(r, &field))
 *       switch (field.id) {
 *       case 1: version = cv_thrift_read_i32(r, &field); break;
 *       default: cv_thrift_skip(r, field.type);
 *       }
 *
 * where the end of the struct is consumed by the last cv_thrift_read_field(). A field of another
 * type than the function wants is a failure. After a failure everything reads as 0 or empty and
 * cv_thrift_read_field() returns false. */
struct cv_thrift_reader {
    const uint8_t *start;
    const uint8_t *at;
    const uint8_t *end;
    int16_t last_id[CV_THRIFT_DEPTH_MAX];
    unsigned depth;
    const char *problem; /* NULL = fine */
    size_t problem_offset;
};

struct cv_thrift_field {
    int16_t id;
    enum cv_thrift_type type;
};

void cv_thrift_reader_init(struct cv_thrift_reader *r, const void *bytes, size_t length);
/* CV_FORMAT with the byte offset of the first failure. */
enum cv_code cv_thrift_reader_check(const struct cv_thrift_reader *r, const char *what,
                                    struct cv_error *err);
void cv_thrift_reader_fail(struct cv_thrift_reader *r, const char *problem);
/* Bytes consumed so far (a page header is followed by its page). */
static inline size_t cv_thrift_reader_used(const struct cv_thrift_reader *r)
{
    return (size_t)(r->at - r->start);
}

void cv_thrift_read_begin_struct(struct cv_thrift_reader *r);
bool cv_thrift_read_field(struct cv_thrift_reader *r, struct cv_thrift_field *ret_field);
bool cv_thrift_read_bool(struct cv_thrift_reader *r, const struct cv_thrift_field *field);
int8_t cv_thrift_read_byte(struct cv_thrift_reader *r, const struct cv_thrift_field *field);
int16_t cv_thrift_read_i16(struct cv_thrift_reader *r, const struct cv_thrift_field *field);
int32_t cv_thrift_read_i32(struct cv_thrift_reader *r, const struct cv_thrift_field *field);
int64_t cv_thrift_read_i64(struct cv_thrift_reader *r, const struct cv_thrift_field *field);
double cv_thrift_read_double(struct cv_thrift_reader *r, const struct cv_thrift_field *field);
/* Into the reader's bytes. */
struct cv_str cv_thrift_read_binary(struct cv_thrift_reader *r,
                                    const struct cv_thrift_field *field);
/* Checks that the field is a struct; its fields follow. */
void cv_thrift_read_struct(struct cv_thrift_reader *r, const struct cv_thrift_field *field);
/* The number of elements, which follow; 0 after a failure. An empty list fits any element type. */
size_t cv_thrift_read_list(struct cv_thrift_reader *r, const struct cv_thrift_field *field,
                           enum cv_thrift_type element);
/* Elements of a list (structs: cv_thrift_read_begin_struct()). */
bool cv_thrift_get_bool(struct cv_thrift_reader *r);
int32_t cv_thrift_get_i32(struct cv_thrift_reader *r);
int64_t cv_thrift_get_i64(struct cv_thrift_reader *r);
struct cv_str cv_thrift_get_binary(struct cv_thrift_reader *r);
/* Skips the value of a field of this type. */
void cv_thrift_skip(struct cv_thrift_reader *r, enum cv_thrift_type type);

#endif
