/* SPDX-License-Identifier: Apache-2.0
 *
 * A small ordered map from text to text: table properties, catalog settings, client settings. */
#ifndef CALVE_BASE_PROPERTIES_H
#define CALVE_BASE_PROPERTIES_H

#include "base/str.h"

struct cv_property {
    char *key;
    char *value;
};

struct cv_properties {
    struct cv_property *items; /* in the order of first setting */
    size_t count;
    size_t capacity;
};

const char *cv_properties_get(const struct cv_properties *properties, const char *key);
/* The value or `fallback` when absent. */
const char *cv_properties_get_or(const struct cv_properties *properties, const char *key,
                                 const char *fallback);
/* Integers and booleans with their checks; `ret` keeps its value when the key is absent. */
enum cv_code cv_properties_get_i64(const struct cv_properties *properties, const char *key,
                                   int64_t min, int64_t max, int64_t *ret_value,
                                   struct cv_error *err);
enum cv_code cv_properties_get_bool(const struct cv_properties *properties, const char *key,
                                    bool *ret_value, struct cv_error *err);
void cv_properties_set(struct cv_properties *properties, const char *key, const char *value);
bool cv_properties_remove(struct cv_properties *properties, const char *key);
void cv_properties_copy(struct cv_properties *to, const struct cv_properties *from);
void cv_properties_release(struct cv_properties *properties);

#endif
