/* SPDX-License-Identifier: Apache-2.0
 *
 * See json_keys.h. */
#include "decode/json_keys.h"

#include <stdlib.h>

/* A name that could not stand in a text as it is (quotes, backslashes, control characters) must not
 * be compared with raw bytes. */
static bool is_plain(struct cv_str name)
{
    for (size_t i = 0; i < name.length; i++)
        if ((unsigned char)name.ptr[i] < 0x20 || name.ptr[i] == '"' || name.ptr[i] == '\\')
            return false;
    return true;
}

static size_t add(struct cv_json_keys *keys, struct cv_str name, const struct cv_json_key *key)
{
    struct cv_json_known_key *known;

    cv_array_reserve(&keys->known, &keys->capacity, keys->count + 1);
    known = &keys->known[keys->count];
    *known = (struct cv_json_known_key){
        .name = name.ptr,
        .length = (uint32_t)name.length,
        .key = key,
        .canonical = keys->count,
    };
    if (name.length < 16) {
        memcpy(known->head, name.ptr, name.length);
        known->head[name.length] = '"';
        known->mask = (UINT32_C(2) << name.length) - 1;
    }
    if (!is_plain(name)) {
        known->length = UINT32_MAX; /* matches nothing */
        known->mask = 0;
    }
    return keys->count++;
}

void cv_json_keys_init(struct cv_json_keys *keys, const struct cv_json_plan *plan,
                       const struct cv_json_object *object, struct cv_arena *arena)
{
    *keys = (struct cv_json_keys){.plan = plan, .object = object, .arena = arena};
    for (size_t i = 0; i < object->key_count; i++) {
        const struct cv_json_key *key = &object->keys[i];
        size_t index = add(keys, (struct cv_str){key->name, key->length}, key);

        keys->known[index].next = index + 1 < object->key_count ? index + 1 : 0;
    }
}

void cv_json_keys_release(struct cv_json_keys *keys)
{
    cv_map_release(&keys->learned);
    free(keys->known);
    *keys = (struct cv_json_keys){0};
}

/* Remembers a spelling: a key that leads nowhere, or another letter case of one that does. */
static struct cv_json_known_key *learn(struct cv_json_keys *keys, struct cv_str name,
                                       const struct cv_json_key *key)
{
    char *copy;
    size_t index;

    if (keys->learned.count == CV_JSON_KEYS_LEARNED_MAX || name.length > CV_JSON_KEY_LEARNED_BYTES)
        return NULL;
    copy = cv_arena_strndup(keys->arena, name.ptr, name.length);
    index = add(keys, (struct cv_str){copy, name.length}, key);
    if (key)
        keys->known[index].canonical = (size_t)(key - keys->object->keys);
    (void)cv_map_set(&keys->learned, name.ptr, name.length, (void *)(uintptr_t)(index + 1));
    return &keys->known[index];
}

struct cv_json_known_key *cv_json_keys_find(struct cv_json_keys *keys, struct cv_json_scan *scan,
                                            struct cv_buf *scratch)
{
    struct cv_json_string raw;
    struct cv_str name;
    const struct cv_json_key *key;
    struct cv_json_known_key *learned;
    uintptr_t index;

    if (!cv_json_string(scan, &raw))
        return NULL;
    name = (struct cv_str){(const char *)raw.ptr, raw.length};
    if (raw.escaped) {
        cv_buf_clear(scratch);
        if (!cv_buf_reserve(scratch, raw.length)) {
            scan->fault = "a key is too long";
            return NULL;
        }
        name.length = cv_json_unescape(&raw, scratch->data);
        name.ptr = (const char *)scratch->data;
    }
    key = cv_json_object_find(keys->plan, keys->object, name);
    if (key && name.length == key->length && memcmp(name.ptr, key->name, key->length) == 0)
        return &keys->known[key - keys->object->keys];
    index = (uintptr_t)cv_map_get(&keys->learned, name.ptr, name.length);
    if (index)
        return &keys->known[index - 1];
    learned = learn(keys, name, key);
    /* Too many spellings of a column's key: it is still that key. */
    return learned || !key ? learned : &keys->known[key - keys->object->keys];
}
