/* SPDX-License-Identifier: Apache-2.0
 *
 * Text properties: a list, since tables have tens of them. */
#include "base/properties.h"

#include <stdlib.h>

static struct cv_property *find(const struct cv_properties *properties, const char *key)
{
    for (size_t i = 0; properties && i < properties->count; i++)
        if (strcmp(properties->items[i].key, key) == 0)
            return &properties->items[i];
    return NULL;
}

const char *cv_properties_get(const struct cv_properties *properties, const char *key)
{
    const struct cv_property *item = find(properties, key);

    return item ? item->value : NULL;
}

const char *cv_properties_get_or(const struct cv_properties *properties, const char *key,
                                 const char *fallback)
{
    const char *value = cv_properties_get(properties, key);

    return value ? value : fallback;
}

enum cv_code cv_properties_get_i64(const struct cv_properties *properties, const char *key,
                                   int64_t min, int64_t max, int64_t *ret_value,
                                   struct cv_error *err)
{
    const char *text = cv_properties_get(properties, key);
    int64_t value;

    if (!text)
        return CV_OK;
    if (!cv_parse_i64(cv_str_trim(cv_str_from(text)), &value))
        return cv_fail(err, CV_CONFIG, "%s = \"%.100s\" is not an integer", key, text);
    if (value < min || value > max)
        return cv_fail(err, CV_CONFIG, "%s = %lld is outside %lld … %lld", key, (long long)value,
                       (long long)min, (long long)max);
    *ret_value = value;
    return CV_OK;
}

enum cv_code cv_properties_get_bool(const struct cv_properties *properties, const char *key,
                                    bool *ret_value, struct cv_error *err)
{
    const char *text = cv_properties_get(properties, key);

    if (!text)
        return CV_OK;
    if (cv_text_equal_nocase(text, "true"))
        *ret_value = true;
    else if (cv_text_equal_nocase(text, "false"))
        *ret_value = false;
    else
        return cv_fail(err, CV_CONFIG, "%s = \"%.100s\" is neither true nor false", key, text);
    return CV_OK;
}

void cv_properties_set(struct cv_properties *properties, const char *key, const char *value)
{
    struct cv_property *item = find(properties, key);
    char *copy = cv_strdup(value);

    if (item) {
        free(item->value);
        item->value = copy;
        return;
    }
    cv_array_reserve(&properties->items, &properties->capacity, properties->count + 1);
    properties->items[properties->count++] = (struct cv_property){cv_strdup(key), copy};
}

bool cv_properties_remove(struct cv_properties *properties, const char *key)
{
    struct cv_property *item = find(properties, key);

    if (!item)
        return false;
    free(item->key);
    free(item->value);
    properties->count--;
    memmove(item, item + 1, (size_t)(properties->items + properties->count - item) * sizeof *item);
    return true;
}

void cv_properties_copy(struct cv_properties *to, const struct cv_properties *from)
{
    for (size_t i = 0; i < from->count; i++)
        cv_properties_set(to, from->items[i].key, from->items[i].value);
}

void cv_properties_release(struct cv_properties *properties)
{
    for (size_t i = 0; i < properties->count; i++) {
        free(properties->items[i].key);
        free(properties->items[i].value);
    }
    free(properties->items);
    *properties = (struct cv_properties){0};
}
