/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading JSON by a plan into column builders. */
#ifndef CALVE_DECODE_JSON_READ_H
#define CALVE_DECODE_JSON_READ_H

#include "decode/json_keys.h"

/* State of one worker. */
struct cv_json_reader {
    struct cv_json_scan scan;
    const uint8_t *start; /* of the value, for positions */
    const struct cv_json_plan *plan;
    struct cv_decode_worker *worker;
    struct cv_json_keys *keys; /* one per object of the plan */
    uint64_t instances;        /* objects entered so far */
    struct cv_buf text;        /* an unescaped text */
    struct cv_buf bytes;       /* decoded Base64, uuid */
    struct cv_buf cast;        /* the result of a cast */
    struct cv_buf map;         /* which entries of a map stay, and the table to find out */
    struct cv_arena arena;
};

void cv_json_reader_init(struct cv_json_reader *reader, const struct cv_json_plan *plan,
                         struct cv_decode_worker *worker);
void cv_json_reader_release(struct cv_json_reader *reader);

/* Reads one record. False: the worker's fault is set and the builders may be half-filled. */
bool cv_json_read_record(struct cv_json_reader *reader, const uint8_t *bytes, size_t length);

/* Appends one value to a builder; blanks may precede it. */
bool cv_json_read_value(struct cv_json_reader *reader, const struct cv_json_value *value,
                        struct cv_builder *builder);
/* json_map.c: the same for a map; the scan is on its first byte. */
bool cv_json_read_map(struct cv_json_reader *reader, const struct cv_json_value *value,
                      struct cv_builder *builder);
/* Refuses a value that is no object or list as wanted. */
bool cv_json_wrong_kind(struct cv_json_reader *reader, const struct cv_json_value *value,
                        const char *wanted);

/* json_scalar.c: a value of a primitive type, not null; the scan is on its first byte. The result
 * may lie in the reader's buffers until the next call. */
bool cv_json_read_scalar(struct cv_json_reader *reader, const struct cv_json_value *value,
                         struct cv_value *ret_value);
/* A text parsed as the type, for map keys. */
bool cv_json_parse_text(struct cv_json_reader *reader, const struct cv_json_value *value,
                        struct cv_str text, struct cv_value *ret_value);
/* The characters of a scanned string. */
struct cv_str cv_json_string_text(struct cv_json_reader *reader,
                                  const struct cv_json_string *string);

/* Sets the worker's fault; returns false. */
bool cv_json_refuse(struct cv_json_reader *reader, const char *path, const char *format, ...)
    CV_PRINTF(3, 4);
/* The same for what the scan found. */
bool cv_json_malformed(struct cv_json_reader *reader, const char *path);

#endif
