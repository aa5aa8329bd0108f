/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON documents (table metadata, registry answers, offset logs): a read-only view over jansson,
 * and a writer. Numbers keep 64-bit integers exactly. Not for the record path, which has its own
 * decoder. Duplicate keys are refused; depth and bytes are limited. */
#ifndef CALVE_CODEC_JSON_H
#define CALVE_CODEC_JSON_H

#include "base/buf.h"
#include "base/str.h"

struct cv_json; /* a node; valid as long as its document */

/* Parses a whole document; the error has the byte offset. Free the root with cv_json_free(). */
enum cv_code cv_json_parse(const void *text, size_t length, struct cv_json **ret_root,
                           struct cv_error *err);
void cv_json_free(struct cv_json *root);
CV_DEFINE_CLEANUP(struct cv_json *, cv_json_free)

bool cv_json_is_object(const struct cv_json *node);
bool cv_json_is_array(const struct cv_json *node);
bool cv_json_is_string(const struct cv_json *node);
bool cv_json_is_integer(const struct cv_json *node);
bool cv_json_is_number(const struct cv_json *node); /* integer or real */
bool cv_json_is_bool(const struct cv_json *node);
bool cv_json_is_null(const struct cv_json *node);

/* NULL when absent; a null is returned as a node. `object` may be NULL. */
const struct cv_json *cv_json_get(const struct cv_json *object, const char *key);
size_t cv_json_size(const struct cv_json *node); /* elements or keys; 0 for others */
const struct cv_json *cv_json_at(const struct cv_json *array, size_t index);
/* Keys in document order: *position starts at 0; NULL key at the end. */
const char *cv_json_next(const struct cv_json *object, size_t *position,
                         const struct cv_json **ret_value);
const char *cv_json_text(const struct cv_json *string); /* "" if not a string */
size_t cv_json_text_length(const struct cv_json *string);
int64_t cv_json_integer(const struct cv_json *integer);
double cv_json_real(const struct cv_json *number);
bool cv_json_bool(const struct cv_json *node);

/* Fields with their checks; the message names the key. `ret` keeps its value when an optional
 * field is absent or null. */
enum cv_code cv_json_read_string(const struct cv_json *object, const char *key,
                                 const char **ret_text, struct cv_error *err);
enum cv_code cv_json_read_i64(const struct cv_json *object, const char *key, int64_t *ret_value,
                              struct cv_error *err);
enum cv_code cv_json_read_i32(const struct cv_json *object, const char *key, int32_t *ret_value,
                              struct cv_error *err);
enum cv_code cv_json_read_bool(const struct cv_json *object, const char *key, bool *ret_value,
                               struct cv_error *err);
enum cv_code cv_json_read_array(const struct cv_json *object, const char *key,
                                const struct cv_json **ret_array, struct cv_error *err);
enum cv_code cv_json_optional_string(const struct cv_json *object, const char *key,
                                     const char **ret_text, struct cv_error *err);
enum cv_code cv_json_optional_i64(const struct cv_json *object, const char *key, int64_t *ret_value,
                                  struct cv_error *err);
enum cv_code cv_json_optional_i32(const struct cv_json *object, const char *key, int32_t *ret_value,
                                  struct cv_error *err);

/* The node as compact JSON, keys in document order. */
void cv_json_write_node(const struct cv_json *node, struct cv_buf *out);

/* Writer: compact, commas and colons placed by the nesting. Text is written as UTF-8 with the
 * escapes that JSON demands. */
struct cv_json_writer {
    struct cv_buf *out;
    bool comma; /* the next value needs one */
};

#define CV_JSON_WRITER(buf)                                                                        \
    {                                                                                              \
        (buf), false                                                                               \
    }
void cv_json_begin_object(struct cv_json_writer *w);
void cv_json_end_object(struct cv_json_writer *w);
void cv_json_begin_array(struct cv_json_writer *w);
void cv_json_end_array(struct cv_json_writer *w);
void cv_json_key(struct cv_json_writer *w, const char *key);
void cv_json_put_string(struct cv_json_writer *w, const char *text);
void cv_json_put_text(struct cv_json_writer *w, struct cv_str text);
void cv_json_put_i64(struct cv_json_writer *w, int64_t value);
void cv_json_put_double(struct cv_json_writer *w, double value); /* shortest round trip */
void cv_json_put_bool(struct cv_json_writer *w, bool value);
void cv_json_put_null(struct cv_json_writer *w);
void cv_json_put_raw(struct cv_json_writer *w, const void *json, size_t length);

#endif
