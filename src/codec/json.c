/* SPDX-License-Identifier: Apache-2.0
 *
 * The read-only view over jansson: struct cv_json is its json_t under another name. */
#include "codec/json.h"

#include <jansson.h>

/* Nesting of a document; a schema level takes three. */
#define JSON_DEPTH_MAX 512

static json_t *native(const struct cv_json *node)
{
    return (json_t *)(uintptr_t)node;
}

static const struct cv_json *view(const json_t *node)
{
    return (const struct cv_json *)node;
}

/* What jansson does not: it recurses as deep as it is told to, and ends at a NUL byte. */
static enum cv_code check_text(const char *text, size_t length, struct cv_error *err)
{
    size_t depth = 0;
    bool quoted = false;

    for (size_t i = 0; i < length; i++) {
        char c = text[i];

        if (c == '\0')
            return cv_fail(err, CV_FORMAT, "JSON: a NUL byte at byte %zu", i);
        if (quoted) {
            if (c == '\\')
                i++;
            else if (c == '"')
                quoted = false;
            continue;
        }
        if (c == '"')
            quoted = true;
        else if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && depth > 0)
            depth--;
        if (depth > JSON_DEPTH_MAX)
            return cv_fail(err, CV_LIMIT, "JSON nested deeper than %d at byte %zu", JSON_DEPTH_MAX,
                           i);
    }
    return CV_OK;
}

enum cv_code cv_json_parse(const void *text, size_t length, struct cv_json **ret_root,
                           struct cv_error *err)
{
    json_error_t problem;
    json_t *root;

    CV_DO(check_text(text, length, err));
    root = json_loadb(text ? text : "", length,
                      JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &problem);
    if (!root)
        return cv_fail(err, CV_FORMAT, "JSON: %s at byte %d", problem.text, problem.position);
    *ret_root = (struct cv_json *)root;
    return CV_OK;
}

void cv_json_free(struct cv_json *root)
{
    json_decref((json_t *)root);
}

bool cv_json_is_object(const struct cv_json *node)
{
    return json_is_object(native(node));
}

bool cv_json_is_array(const struct cv_json *node)
{
    return json_is_array(native(node));
}

bool cv_json_is_string(const struct cv_json *node)
{
    return json_is_string(native(node));
}

bool cv_json_is_integer(const struct cv_json *node)
{
    return json_is_integer(native(node));
}

bool cv_json_is_number(const struct cv_json *node)
{
    return json_is_number(native(node));
}

bool cv_json_is_bool(const struct cv_json *node)
{
    return json_is_boolean(native(node));
}

bool cv_json_is_null(const struct cv_json *node)
{
    return json_is_null(native(node));
}

const struct cv_json *cv_json_get(const struct cv_json *object, const char *key)
{
    return view(json_object_get(native(object), key));
}

size_t cv_json_size(const struct cv_json *node)
{
    if (json_is_array(native(node)))
        return json_array_size(native(node));
    return json_object_size(native(node));
}

const struct cv_json *cv_json_at(const struct cv_json *array, size_t index)
{
    return view(json_array_get(native(array), index));
}

/* The position is jansson's own iterator, so that a step costs nothing however large the object. */
const char *cv_json_next(const struct cv_json *object, size_t *position,
                         const struct cv_json **ret_value)
{
    void *iterator = *position ? json_object_iter_next(native(object), (void *)*position)
                               : json_object_iter(native(object));

    if (!iterator)
        return NULL;
    *position = (size_t)iterator;
    *ret_value = view(json_object_iter_value(iterator));
    return json_object_iter_key(iterator);
}

const char *cv_json_text(const struct cv_json *string)
{
    const char *text = json_string_value(native(string));

    return text ? text : "";
}

size_t cv_json_text_length(const struct cv_json *string)
{
    return json_string_length(native(string));
}

int64_t cv_json_integer(const struct cv_json *integer)
{
    return json_integer_value(native(integer));
}

double cv_json_real(const struct cv_json *number)
{
    return json_number_value(native(number));
}

bool cv_json_bool(const struct cv_json *node)
{
    return json_is_true(native(node));
}

static const char *kind_text(const struct cv_json *node)
{
    if (!node)
        return "nothing";
    switch (json_typeof(native(node))) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "text";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a fraction";
    case JSON_NULL:
        return "null";
    default:
        return "a boolean";
    }
}

static enum cv_code wrong_kind(const char *key, const char *wanted, const struct cv_json *got,
                               struct cv_error *err)
{
    if (!got)
        return cv_fail(err, CV_FORMAT, "\"%s\" is missing", key);
    return cv_fail(err, CV_FORMAT, "\"%s\" should be %s but is %s", key, wanted, kind_text(got));
}

enum cv_code cv_json_read_string(const struct cv_json *object, const char *key,
                                 const char **ret_text, struct cv_error *err)
{
    const struct cv_json *node = cv_json_get(object, key);

    if (!cv_json_is_string(node))
        return wrong_kind(key, "text", node, err);
    *ret_text = cv_json_text(node);
    return CV_OK;
}

enum cv_code cv_json_read_i64(const struct cv_json *object, const char *key, int64_t *ret_value,
                              struct cv_error *err)
{
    const struct cv_json *node = cv_json_get(object, key);

    if (!cv_json_is_integer(node))
        return wrong_kind(key, "an integer", node, err);
    *ret_value = cv_json_integer(node);
    return CV_OK;
}

enum cv_code cv_json_read_i32(const struct cv_json *object, const char *key, int32_t *ret_value,
                              struct cv_error *err)
{
    int64_t wide;

    CV_DO(cv_json_read_i64(object, key, &wide, err));
    if (wide < INT32_MIN || wide > INT32_MAX)
        return cv_fail(err, CV_FORMAT, "\"%s\" is %lld, outside 32 bits", key, (long long)wide);
    *ret_value = (int32_t)wide;
    return CV_OK;
}

enum cv_code cv_json_read_bool(const struct cv_json *object, const char *key, bool *ret_value,
                               struct cv_error *err)
{
    const struct cv_json *node = cv_json_get(object, key);

    if (!cv_json_is_bool(node))
        return wrong_kind(key, "true or false", node, err);
    *ret_value = cv_json_bool(node);
    return CV_OK;
}

enum cv_code cv_json_read_array(const struct cv_json *object, const char *key,
                                const struct cv_json **ret_array, struct cv_error *err)
{
    const struct cv_json *node = cv_json_get(object, key);

    if (!cv_json_is_array(node))
        return wrong_kind(key, "an array", node, err);
    *ret_array = node;
    return CV_OK;
}

static bool is_absent(const struct cv_json *object, const char *key)
{
    const struct cv_json *node = cv_json_get(object, key);

    return !node || cv_json_is_null(node);
}

enum cv_code cv_json_optional_string(const struct cv_json *object, const char *key,
                                     const char **ret_text, struct cv_error *err)
{
    return is_absent(object, key) ? CV_OK : cv_json_read_string(object, key, ret_text, err);
}

enum cv_code cv_json_optional_i64(const struct cv_json *object, const char *key, int64_t *ret_value,
                                  struct cv_error *err)
{
    return is_absent(object, key) ? CV_OK : cv_json_read_i64(object, key, ret_value, err);
}

enum cv_code cv_json_optional_i32(const struct cv_json *object, const char *key, int32_t *ret_value,
                                  struct cv_error *err)
{
    return is_absent(object, key) ? CV_OK : cv_json_read_i32(object, key, ret_value, err);
}
