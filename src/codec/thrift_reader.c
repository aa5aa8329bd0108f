/* SPDX-License-Identifier: Apache-2.0
 *
 * Thrift compact protocol, the reading side. Nothing is trusted: every varint, length and count is
 * checked against the bytes that are left before it is used. */
#include "codec/thrift.h"

void cv_thrift_reader_init(struct cv_thrift_reader *r, const void *bytes, size_t length)
{
    *r = (struct cv_thrift_reader){.start = bytes, .at = bytes};
    r->end = r->start + length;
}

void cv_thrift_reader_fail(struct cv_thrift_reader *r, const char *problem)
{
    if (r->problem)
        return;
    r->problem = problem;
    r->problem_offset = cv_thrift_reader_used(r);
    r->at = r->end;
}

enum cv_code cv_thrift_reader_check(const struct cv_thrift_reader *r, const char *what,
                                    struct cv_error *err)
{
    if (!r->problem)
        return CV_OK;
    return cv_fail(err, CV_FORMAT, "%s: %s at byte %zu", what, r->problem, r->problem_offset);
}

static uint8_t get_byte(struct cv_thrift_reader *r)
{
    if (r->at == r->end) {
        cv_thrift_reader_fail(r, "the bytes end too early");
        return 0;
    }
    return *r->at++;
}

static uint64_t get_varint(struct cv_thrift_reader *r)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = get_byte(r);

        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return r->problem ? 0 : value;
    }
    cv_thrift_reader_fail(r, "a varint is longer than 64 bits");
    return 0;
}

int64_t cv_thrift_get_i64(struct cv_thrift_reader *r)
{
    uint64_t raw = get_varint(r);

    return (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
}

static int64_t get_bounded(struct cv_thrift_reader *r, int64_t min, int64_t max)
{
    int64_t value = cv_thrift_get_i64(r);

    if (value < min || value > max) {
        cv_thrift_reader_fail(r, "an integer is out of its range");
        return 0;
    }
    return value;
}

int32_t cv_thrift_get_i32(struct cv_thrift_reader *r)
{
    return (int32_t)get_bounded(r, INT32_MIN, INT32_MAX);
}

bool cv_thrift_get_bool(struct cv_thrift_reader *r)
{
    return get_byte(r) == CV_THRIFT_TRUE;
}

struct cv_str cv_thrift_get_binary(struct cv_thrift_reader *r)
{
    uint64_t length = get_varint(r);
    struct cv_str bytes = {"", 0};

    if (length > (size_t)(r->end - r->at)) {
        cv_thrift_reader_fail(r, "a length passes the end");
        return bytes;
    }
    if (r->problem)
        return bytes;
    bytes = (struct cv_str){(const char *)r->at, (size_t)length};
    r->at += length;
    return bytes;
}

void cv_thrift_read_begin_struct(struct cv_thrift_reader *r)
{
    if (r->depth == CV_THRIFT_DEPTH_MAX) {
        cv_thrift_reader_fail(r, "nested too deeply");
        return;
    }
    r->last_id[r->depth++] = 0;
}

bool cv_thrift_read_field(struct cv_thrift_reader *r, struct cv_thrift_field *ret_field)
{
    uint8_t head = get_byte(r);
    int64_t id;

    if (r->problem || r->depth == 0)
        return false;
    if (head == CV_THRIFT_STOP) {
        r->depth--;
        return false;
    }
    if ((head & 0x0f) == CV_THRIFT_STOP || (head & 0x0f) > CV_THRIFT_STRUCT) {
        cv_thrift_reader_fail(r, "unknown field type");
        return false;
    }
    id = head >> 4 ? r->last_id[r->depth - 1] + (head >> 4) : get_bounded(r, INT16_MIN, INT16_MAX);
    if (id > INT16_MAX)
        cv_thrift_reader_fail(r, "a field id is out of range");
    if (r->problem)
        return false;
    r->last_id[r->depth - 1] = (int16_t)id;
    *ret_field = (struct cv_thrift_field){(int16_t)id, (enum cv_thrift_type)(head & 0x0f)};
    return true;
}

static bool want(struct cv_thrift_reader *r, const struct cv_thrift_field *field,
                 enum cv_thrift_type type)
{
    if (field->type != type)
        cv_thrift_reader_fail(r, "a field has another type than the format says");
    return r->problem == NULL;
}

bool cv_thrift_read_bool(struct cv_thrift_reader *r, const struct cv_thrift_field *field)
{
    if (field->type == CV_THRIFT_FALSE)
        return false;
    return want(r, field, CV_THRIFT_TRUE);
}

int8_t cv_thrift_read_byte(struct cv_thrift_reader *r, const struct cv_thrift_field *field)
{
    return want(r, field, CV_THRIFT_BYTE) ? (int8_t)get_byte(r) : 0;
}

int16_t cv_thrift_read_i16(struct cv_thrift_reader *r, const struct cv_thrift_field *field)
{
    return want(r, field, CV_THRIFT_I16) ? (int16_t)get_bounded(r, INT16_MIN, INT16_MAX) : 0;
}

int32_t cv_thrift_read_i32(struct cv_thrift_reader *r, const struct cv_thrift_field *field)
{
    return want(r, field, CV_THRIFT_I32) ? cv_thrift_get_i32(r) : 0;
}

int64_t cv_thrift_read_i64(struct cv_thrift_reader *r, const struct cv_thrift_field *field)
{
    return want(r, field, CV_THRIFT_I64) ? cv_thrift_get_i64(r) : 0;
}

double cv_thrift_read_double(struct cv_thrift_reader *r, const struct cv_thrift_field *field)
{
    double value = 0;

    if (!want(r, field, CV_THRIFT_DOUBLE))
        return 0;
    if ((size_t)(r->end - r->at) < sizeof value) {
        cv_thrift_reader_fail(r, "the bytes end too early");
        return 0;
    }
    memcpy(&value, r->at, sizeof value);
    r->at += sizeof value;
    return value;
}

struct cv_str cv_thrift_read_binary(struct cv_thrift_reader *r, const struct cv_thrift_field *field)
{
    return want(r, field, CV_THRIFT_BINARY) ? cv_thrift_get_binary(r) : (struct cv_str){"", 0};
}

void cv_thrift_read_struct(struct cv_thrift_reader *r, const struct cv_thrift_field *field)
{
    if (want(r, field, CV_THRIFT_STRUCT))
        cv_thrift_read_begin_struct(r);
}

/* The head of a list or set. Every element takes at least a byte, which bounds a hostile count. */
static size_t get_list_head(struct cv_thrift_reader *r, enum cv_thrift_type *ret_element)
{
    uint8_t head = get_byte(r);
    uint64_t count = head >> 4;

    if (count == 15)
        count = get_varint(r);
    *ret_element = (enum cv_thrift_type)(head & 0x0f);
    if (count > CV_THRIFT_LIST_MAX || count > (size_t)(r->end - r->at)) {
        cv_thrift_reader_fail(r, "a list is longer than its bytes");
        return 0;
    }
    return r->problem ? 0 : (size_t)count;
}

size_t cv_thrift_read_list(struct cv_thrift_reader *r, const struct cv_thrift_field *field,
                           enum cv_thrift_type element)
{
    enum cv_thrift_type got;
    size_t count;

    if (!want(r, field, CV_THRIFT_LIST))
        return 0;
    count = get_list_head(r, &got);
    if (element == CV_THRIFT_TRUE && got == CV_THRIFT_FALSE)
        got = CV_THRIFT_TRUE;
    if (count && got != element) {
        cv_thrift_reader_fail(r, "a list has another element type than the format says");
        return 0;
    }
    return count;
}

static void skip_value(struct cv_thrift_reader *r, enum cv_thrift_type type, bool element,
                       unsigned depth);

static void skip_bytes(struct cv_thrift_reader *r, size_t count)
{
    if (count > (size_t)(r->end - r->at)) {
        cv_thrift_reader_fail(r, "the bytes end too early");
        return;
    }
    r->at += count;
}

static void skip_list(struct cv_thrift_reader *r, unsigned depth)
{
    enum cv_thrift_type element;
    size_t count = get_list_head(r, &element);

    for (size_t i = 0; i < count && !r->problem; i++)
        skip_value(r, element, true, depth + 1);
}

static void skip_map(struct cv_thrift_reader *r, unsigned depth)
{
    uint64_t count = get_varint(r);
    uint8_t types = count ? get_byte(r) : 0;

    if (count > (size_t)(r->end - r->at)) {
        cv_thrift_reader_fail(r, "a map is longer than its bytes");
        return;
    }
    for (uint64_t i = 0; i < count && !r->problem; i++) {
        skip_value(r, (enum cv_thrift_type)(types >> 4), true, depth + 1);
        skip_value(r, (enum cv_thrift_type)(types & 0x0f), true, depth + 1);
    }
}

static void skip_struct(struct cv_thrift_reader *r, unsigned depth)
{
    struct cv_thrift_field field;

    cv_thrift_read_begin_struct(r);
    while (cv_thrift_read_field(r, &field))
        skip_value(r, field.type, false, depth + 1);
}

/* A bool is in the head of its field but a byte of its own as an element. */
static void skip_value(struct cv_thrift_reader *r, enum cv_thrift_type type, bool element,
                       unsigned depth)
{
    if (depth > CV_THRIFT_DEPTH_MAX) {
        cv_thrift_reader_fail(r, "nested too deeply");
        return;
    }
    switch (type) {
    case CV_THRIFT_TRUE:
    case CV_THRIFT_FALSE:
        skip_bytes(r, element);
        return;
    case CV_THRIFT_BYTE:
        skip_bytes(r, 1);
        return;
    case CV_THRIFT_I16:
    case CV_THRIFT_I32:
    case CV_THRIFT_I64:
        (void)get_varint(r);
        return;
    case CV_THRIFT_DOUBLE:
        skip_bytes(r, 8);
        return;
    case CV_THRIFT_BINARY:
        (void)cv_thrift_get_binary(r);
        return;
    case CV_THRIFT_LIST:
    case CV_THRIFT_SET:
        skip_list(r, depth);
        return;
    case CV_THRIFT_MAP:
        skip_map(r, depth);
        return;
    case CV_THRIFT_STRUCT:
        skip_struct(r, depth);
        return;
    default:
        cv_thrift_reader_fail(r, "unknown type");
    }
}

void cv_thrift_skip(struct cv_thrift_reader *r, enum cv_thrift_type type)
{
    skip_value(r, type, false, 0);
}
