/* SPDX-License-Identifier: Apache-2.0
 *
 * Hash map from byte strings to pointers. Keys are copied, values are the caller's.
 * All-zero is an empty map. Not shared by threads. */
#ifndef CALVE_BASE_MAP_H
#define CALVE_BASE_MAP_H

#include "base/str.h"

struct cv_map_slot {
    char *key; /* NULL = empty */
    size_t key_length;
    uint64_t hash;
    void *value;
};

struct cv_map {
    struct cv_map_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

/* NULL when absent. */
void *cv_map_get(const struct cv_map *map, const void *key, size_t key_length);
bool cv_map_has(const struct cv_map *map, const void *key, size_t key_length);
/* Inserts or replaces; returns the value that was there before, or NULL. */
void *cv_map_set(struct cv_map *map, const void *key, size_t key_length, void *value);
/* Iterates in no order: *position starts at 0; NULL at the end. */
const struct cv_map_slot *cv_map_next(const struct cv_map *map, size_t *position);
void cv_map_release(struct cv_map *map);

uint64_t cv_hash_bytes(const void *bytes, size_t length); /* never stored */

#endif
