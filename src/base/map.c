/* SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing with linear probing; at most three quarters full. */
#include "base/map.h"

#include <stdlib.h>

uint64_t cv_hash_bytes(const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    uint64_t hash = 0x9e3779b97f4a7c15u ^ length;

    while (length >= 8) {
        uint64_t word;

        memcpy(&word, p, 8);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
        p += 8;
        length -= 8;
    }
    if (length) {
        uint64_t word = 0;

        memcpy(&word, p, length);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    hash *= 0xc4ceb9fe1a85ec53u;
    return hash ^ hash >> 29;
}

static struct cv_map_slot *find(const struct cv_map *map, const void *key, size_t length,
                                uint64_t hash)
{
    size_t mask = map->capacity - 1;
    size_t i = hash & mask;

    for (;; i = (i + 1) & mask) {
        struct cv_map_slot *slot = &map->slots[i];

        if (!slot->key || (slot->hash == hash && slot->key_length == length &&
                           (length == 0 || memcmp(slot->key, key, length) == 0)))
            return slot;
    }
}

static void grow(struct cv_map *map)
{
    struct cv_map wider = {NULL, map->capacity ? map->capacity * 2 : 16, map->count};

    wider.slots = cv_alloc(wider.capacity * sizeof *wider.slots);
    for (size_t i = 0; i < map->capacity; i++) {
        const struct cv_map_slot *slot = &map->slots[i];

        if (slot->key)
            *find(&wider, slot->key, slot->key_length, slot->hash) = *slot;
    }
    free(map->slots);
    *map = wider;
}

void *cv_map_get(const struct cv_map *map, const void *key, size_t key_length)
{
    if (!map->capacity)
        return NULL;
    return find(map, key, key_length, cv_hash_bytes(key, key_length))->value;
}

bool cv_map_has(const struct cv_map *map, const void *key, size_t key_length)
{
    return map->capacity && find(map, key, key_length, cv_hash_bytes(key, key_length))->key;
}

void *cv_map_set(struct cv_map *map, const void *key, size_t key_length, void *value)
{
    uint64_t hash = cv_hash_bytes(key, key_length);
    struct cv_map_slot *slot;
    void *before;

    if (map->count + 1 > map->capacity / 4 * 3)
        grow(map);
    slot = find(map, key, key_length, hash);
    before = slot->value;
    if (!slot->key) {
        slot->key = cv_alloc(key_length + 1);
        if (key_length)
            memcpy(slot->key, key, key_length);
        slot->key_length = key_length;
        slot->hash = hash;
        map->count++;
    }
    slot->value = value;
    return before;
}

const struct cv_map_slot *cv_map_next(const struct cv_map *map, size_t *position)
{
    while (*position < map->capacity) {
        const struct cv_map_slot *slot = &map->slots[(*position)++];

        if (slot->key)
            return slot;
    }
    return NULL;
}

void cv_map_release(struct cv_map *map)
{
    for (size_t i = 0; i < map->capacity; i++)
        free(map->slots[i].key);
    free(map->slots);
    memset(map, 0, sizeof *map);
}
