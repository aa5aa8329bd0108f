/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of value formats, and the two that take the value as it is: `raw` (binary) and
 * `string` (key and value are UTF-8 text). Both give Spark's Kafka columns. */
#include "decode/decoder_int.h"

const struct cv_format_ops cv_format_raw = {
    .name = "raw", .key_kind = CV_TYPE_BINARY, .value_kind = CV_TYPE_BINARY};
const struct cv_format_ops cv_format_string = {
    .name = "string", .key_kind = CV_TYPE_STRING, .value_kind = CV_TYPE_STRING};

static const struct cv_format_ops *const formats[] = {
    &cv_format_raw,
    &cv_format_string,
    &cv_format_json,
    &cv_format_avro,
};

const struct cv_format_ops *cv_format_find(const char *name)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(formats); i++)
        if (cv_text_equal_nocase(formats[i]->name, name))
            return formats[i];
    return NULL;
}

const char *cv_format_names(struct cv_arena *arena)
{
    const char *names = formats[0]->name;

    for (size_t i = 1; i < CV_ARRAY_LENGTH(formats); i++)
        names = cv_arena_printf(arena, "%s, %s", names, formats[i]->name);
    return names;
}
