/* SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing with linear probing. Values are looked up in groups: first all hashes, then the
 * memory that each will need, then the comparisons, so that the cache misses of a group overlap.
 *
 *   slot of a number   hash (32 bits)   index + 1 (32)
 *   slot of bytes      start (32)       tag (8) index + 1 (24)
 *
 * The tag is the hash's upper byte: a probe rarely touches bytes that are not the wanted ones. */
#include "parquet/dictionary.h"

#include <assert.h>
#include <stdlib.h>

#define SLOTS_MIN   64
#define GROUP       64
#define INDEX_MASK  UINT32_C(0x00ffffff)
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

void cv_dictionary_release(struct cv_dictionary *dictionary)
{
    struct cv_dictionary empty = {.width = dictionary->width, .words = dictionary->words};

    cv_buf_release(&dictionary->values);
    free(dictionary->starts);
    free(dictionary->hashes);
    free(dictionary->slots);
    *dictionary = empty;
}

void cv_dictionary_clear(struct cv_dictionary *dictionary)
{
    cv_buf_clear(&dictionary->values);
    if (dictionary->count)
        memset(dictionary->slots, 0, dictionary->slot_count * sizeof *dictionary->slots);
    dictionary->count = 0;
    dictionary->frozen = false;
}

size_t cv_dictionary_memory(const struct cv_dictionary *dictionary)
{
    return dictionary->values.capacity + dictionary->entry_capacity * 8 +
           dictionary->slot_count * sizeof *dictionary->slots;
}

size_t cv_dictionary_bytes(const struct cv_dictionary *dictionary, uint32_t count)
{
    if (dictionary->width)
        return count * dictionary->width;
    if (count >= dictionary->count)
        return dictionary->values.length;
    return dictionary->starts[count] - 4;
}

static uint64_t bytes_slot(uint32_t start, uint32_t hash, uint32_t index)
{
    return (uint64_t)start << 32 | (hash & ~INDEX_MASK) | (index + 1);
}

static void place(uint64_t *slots, size_t mask, uint32_t hash, uint64_t slot)
{
    size_t at = hash & mask;

    while (slots[at])
        at = (at + 1) & mask;
    slots[at] = slot;
}

static void grow(struct cv_dictionary *dictionary)
{
    size_t slot_count = dictionary->slot_count ? dictionary->slot_count * 2 : SLOTS_MIN;
    uint64_t *slots = cv_alloc(slot_count * sizeof *slots);

    if (dictionary->words) {
        for (size_t i = 0; i < dictionary->slot_count; i++)
            if (dictionary->slots[i])
                place(slots, slot_count - 1, (uint32_t)(dictionary->slots[i] >> 32),
                      dictionary->slots[i]);
    } else {
        for (uint32_t i = 0; i < dictionary->count; i++)
            place(slots, slot_count - 1, dictionary->hashes[i],
                  bytes_slot(dictionary->starts[i], dictionary->hashes[i], i));
    }
    free(dictionary->slots);
    dictionary->slots = slots;
    dictionary->slot_count = slot_count;
}

/* Room for `extra` more entries at half load. */
static void reserve(struct cv_dictionary *dictionary, size_t extra)
{
    if (dictionary->frozen)
        extra = 1;
    while ((dictionary->count + extra) * 2 > dictionary->slot_count)
        grow(dictionary);
}

static inline uint32_t hash_word(uint64_t value)
{
    value ^= value >> 32;
    value *= HASH_FACTOR;
    return (uint32_t)(value >> 32);
}

static inline uint64_t load64(const char *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, 8);
    return word;
}

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Overlapping words cover every length without a tail loop. */
static inline uint32_t hash_bytes(const char *bytes, size_t length)
{
    uint64_t hash = length * HASH_FACTOR;
    uint32_t low;
    uint32_t high;

    if (length >= 8) {
        for (size_t i = 0; i + 16 < length; i += 16)
            hash = mix(load64(bytes + i) ^ hash, load64(bytes + i + 8) ^ HASH_FACTOR);
        hash ^= length > 16 ? load64(bytes + length - 16) : load64(bytes);
        hash = mix(hash ^ HASH_FACTOR, load64(bytes + length - 8) ^ UINT64_C(0xd6e8feb86659fd93));
    } else if (length >= 4) {
        memcpy(&low, bytes, 4);
        memcpy(&high, bytes + length - 4, 4);
        hash = mix(hash ^ low, HASH_FACTOR ^ high);
    } else if (length > 0) {
        hash ^= (uint8_t)bytes[0] | (uint64_t)(uint8_t)bytes[length / 2] << 8 |
                (uint64_t)(uint8_t)bytes[length - 1] << 16;
        hash = mix(hash, HASH_FACTOR);
    }
    return (uint32_t)(hash ^ hash >> 32);
}

/* One body for both word sizes: the compiler sees `values` with its type. */
#define ADD_WORDS(word_type)                                                                       \
    for (size_t i = 0; i < count; i++) {                                                           \
        word_type value = values[i];                                                               \
        uint32_t hash = hash_word(value);                                                          \
        size_t mask = dictionary->slot_count - 1;                                                  \
        size_t at = hash & mask;                                                                   \
        uint64_t slot;                                                                             \
                                                                                                   \
        while ((slot = dictionary->slots[at]) != 0) {                                              \
            word_type entry;                                                                       \
                                                                                                   \
            memcpy(&entry, dictionary->values.data + ((uint32_t)slot - 1) * sizeof(word_type),     \
                   sizeof entry);                                                                  \
            if (entry == value)                                                                    \
                break;                                                                             \
            at = (at + 1) & mask;                                                                  \
        }                                                                                          \
        if (slot == 0 && !dictionary->frozen) {                                                    \
            slot = (uint64_t)hash << 32 | ++dictionary->count;                                     \
            dictionary->slots[at] = slot;                                                          \
            cv_buf_append(&dictionary->values, &value, sizeof value);                              \
        }                                                                                          \
        ret_indices[i] = (uint32_t)slot - 1;                                                       \
    }

#define PREFETCH_SLOTS                                                                             \
    for (size_t i = 0; i < count; i++)                                                             \
        __builtin_prefetch(&dictionary->slots[hash_word(values[i]) & (dictionary->slot_count - 1)]);

static void add_32(struct cv_dictionary *dictionary, const uint32_t *values, size_t count,
                   uint32_t *ret_indices)
{
    PREFETCH_SLOTS
    ADD_WORDS(uint32_t)
}

static void add_64(struct cv_dictionary *dictionary, const uint64_t *values, size_t count,
                   uint32_t *ret_indices)
{
    PREFETCH_SLOTS
    ADD_WORDS(uint64_t)
}

void cv_dictionary_add_32(struct cv_dictionary *dictionary, const uint32_t *values, size_t count,
                          uint32_t *ret_indices)
{
    assert(dictionary->words && dictionary->width == 4);
    reserve(dictionary, count);
    for (size_t i = 0; i < count; i += GROUP)
        add_32(dictionary, values + i, CV_MIN((size_t)GROUP, count - i), ret_indices + i);
}

void cv_dictionary_add_64(struct cv_dictionary *dictionary, const uint64_t *values, size_t count,
                          uint32_t *ret_indices)
{
    assert(dictionary->words && dictionary->width == 8);
    reserve(dictionary, count);
    for (size_t i = 0; i < count; i += GROUP)
        add_64(dictionary, values + i, CV_MIN((size_t)GROUP, count - i), ret_indices + i);
}

static uint64_t append_entry(struct cv_dictionary *dictionary, struct cv_str value, uint32_t hash)
{
    uint32_t length = (uint32_t)value.length;
    uint32_t index = dictionary->count++;

    if (index == dictionary->entry_capacity) {
        dictionary->entry_capacity = CV_MAX((size_t)64, (size_t)index * 2);
        dictionary->starts =
            cv_realloc_array(dictionary->starts, dictionary->entry_capacity, sizeof(uint32_t));
        dictionary->hashes =
            cv_realloc_array(dictionary->hashes, dictionary->entry_capacity, sizeof(uint32_t));
    }
    if (dictionary->width == 0)
        cv_buf_append(&dictionary->values, &length, 4);
    dictionary->starts[index] = (uint32_t)dictionary->values.length;
    dictionary->hashes[index] = hash;
    cv_buf_append(&dictionary->values, value.ptr, value.length);
    return bytes_slot(dictionary->starts[index], hash, index);
}

static inline uint32_t load32(const char *bytes)
{
    uint32_t word;

    memcpy(&word, bytes, 4);
    return word;
}

static inline bool bytes_equal(const char *a, const char *b, size_t length)
{
    if (length >= 8) {
        for (size_t i = 0; i + 8 < length; i += 8)
            if (load64(a + i) != load64(b + i))
                return false;
        return load64(a + length - 8) == load64(b + length - 8);
    }
    if (length >= 4)
        return load32(a) == load32(b) && load32(a + length - 4) == load32(b + length - 4);
    for (size_t i = 0; i < length; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

static inline bool entry_is(const struct cv_dictionary *dictionary, uint32_t start,
                            struct cv_str value)
{
    const char *entry = (const char *)dictionary->values.data + start;

    if (dictionary->width == 0 && load32(entry - 4) != value.length)
        return false;
    return bytes_equal(entry, value.ptr, value.length);
}

static void add_group(struct cv_dictionary *dictionary, const struct cv_str *values, size_t count,
                      uint32_t *ret_indices)
{
    size_t mask = dictionary->slot_count - 1;
    uint32_t hashes[GROUP];

    for (size_t i = 0; i < count; i++) {
        hashes[i] = hash_bytes(values[i].ptr, values[i].length);
        __builtin_prefetch(&dictionary->slots[hashes[i] & mask]);
    }
    for (size_t i = 0; i < count && dictionary->count; i++) {
        uint64_t slot = dictionary->slots[hashes[i] & mask];

        __builtin_prefetch(dictionary->values.data + (slot >> 32));
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = hashes[i] & mask;
        uint64_t slot;

        while ((slot = dictionary->slots[at]) != 0) {
            if ((((uint32_t)slot ^ hashes[i]) & ~INDEX_MASK) == 0 &&
                entry_is(dictionary, (uint32_t)(slot >> 32), values[i]))
                break;
            at = (at + 1) & mask;
        }
        if (slot == 0 && dictionary->frozen) {
            ret_indices[i] = CV_DICTIONARY_UNKNOWN;
            continue;
        }
        if (slot == 0) {
            slot = append_entry(dictionary, values[i], hashes[i]);
            dictionary->slots[at] = slot;
        }
        ret_indices[i] = ((uint32_t)slot & INDEX_MASK) - 1;
    }
}

void cv_dictionary_add_bytes(struct cv_dictionary *dictionary, const struct cv_str *values,
                             size_t count, uint32_t *ret_indices)
{
    assert(!dictionary->words && dictionary->count <= CV_DICTIONARY_ENTRIES_MAX);
    reserve(dictionary, count);
    for (size_t i = 0; i < count; i += GROUP)
        add_group(dictionary, values + i, CV_MIN((size_t)GROUP, count - i), ret_indices + i);
}

void cv_dictionary_decode(const struct cv_dictionary *dictionary, const uint32_t *indices,
                          size_t count, struct cv_buf *out)
{
    size_t prefix = dictionary->width ? 0 : 4;

    for (size_t i = 0; i < count; i++) {
        struct cv_str entry = cv_dictionary_entry(dictionary, indices[i]);

        cv_buf_append(out, entry.ptr - prefix, entry.length + prefix);
    }
}
