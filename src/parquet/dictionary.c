/* SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing with linear probing. A slot keeps 32 bits of the hash, so that a probe rarely
 * touches a value that is not the wanted one, and growing needs no value at all. */
#include "parquet/dictionary.h"

#include <assert.h>
#include <stdlib.h>

#define SLOTS_MIN   64
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

void cv_dictionary_release(struct cv_dictionary *dictionary)
{
    size_t width = dictionary->width;

    cv_buf_release(&dictionary->values);
    free(dictionary->starts);
    free(dictionary->slots);
    *dictionary = (struct cv_dictionary){.width = width};
}

void cv_dictionary_clear(struct cv_dictionary *dictionary)
{
    cv_buf_clear(&dictionary->values);
    if (dictionary->count)
        memset(dictionary->slots, 0, dictionary->slot_count * sizeof *dictionary->slots);
    dictionary->count = 0;
}

size_t cv_dictionary_memory(const struct cv_dictionary *dictionary)
{
    return dictionary->values.capacity + dictionary->start_capacity * sizeof *dictionary->starts +
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

static void grow(struct cv_dictionary *dictionary)
{
    size_t slot_count = dictionary->slot_count ? dictionary->slot_count * 4 : SLOTS_MIN;
    uint64_t *slots = cv_alloc(slot_count * sizeof *slots);

    for (size_t i = 0; i < dictionary->slot_count; i++) {
        uint64_t slot = dictionary->slots[i];
        size_t at = (size_t)(slot >> 32) & (slot_count - 1);

        if (slot == 0)
            continue;
        while (slots[at])
            at = (at + 1) & (slot_count - 1);
        slots[at] = slot;
    }
    free(dictionary->slots);
    dictionary->slots = slots;
    dictionary->slot_count = slot_count;
}

/* Room for `extra` more entries at half load. */
static void reserve(struct cv_dictionary *dictionary, size_t extra)
{
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
            if ((uint32_t)(slot >> 32) == hash && entry == value)                                  \
                break;                                                                             \
            at = (at + 1) & mask;                                                                  \
        }                                                                                          \
        if (slot == 0) {                                                                           \
            slot = (uint64_t)hash << 32 | ++dictionary->count;                                     \
            dictionary->slots[at] = slot;                                                          \
            cv_buf_append(&dictionary->values, &value, sizeof value);                              \
        }                                                                                          \
        ret_indices[i] = (uint32_t)slot - 1;                                                       \
    }

void cv_dictionary_add_32(struct cv_dictionary *dictionary, const uint32_t *values, size_t count,
                          uint32_t *ret_indices)
{
    assert(dictionary->width == 4);
    reserve(dictionary, count);
    ADD_WORDS(uint32_t)
}

void cv_dictionary_add_64(struct cv_dictionary *dictionary, const uint64_t *values, size_t count,
                          uint32_t *ret_indices)
{
    assert(dictionary->width == 8);
    reserve(dictionary, count);
    ADD_WORDS(uint64_t)
}

static void append_entry(struct cv_dictionary *dictionary, struct cv_str value)
{
    uint32_t length = (uint32_t)value.length;

    if (dictionary->width == 0) {
        cv_buf_append(&dictionary->values, &length, 4);
        cv_array_reserve(&dictionary->starts, &dictionary->start_capacity, dictionary->count + 1);
        dictionary->starts[dictionary->count] = (uint32_t)dictionary->values.length;
    }
    cv_buf_append(&dictionary->values, value.ptr, value.length);
    dictionary->count++;
}

static inline bool bytes_equal(const char *a, const char *b, size_t length)
{
    if (length >= 8 && length <= 16)
        return load64(a) == load64(b) && load64(a + length - 8) == load64(b + length - 8);
    return length == 0 || memcmp(a, b, length) == 0;
}

void cv_dictionary_add_bytes(struct cv_dictionary *dictionary, const struct cv_str *values,
                             size_t count, uint32_t *ret_indices)
{
    reserve(dictionary, count);
    for (size_t i = 0; i < count; i++) {
        struct cv_str value = values[i];
        uint32_t hash = hash_bytes(value.ptr, value.length);
        size_t mask = dictionary->slot_count - 1;
        size_t at = hash & mask;
        uint64_t slot;

        while ((slot = dictionary->slots[at]) != 0) {
            if ((uint32_t)(slot >> 32) == hash) {
                struct cv_str entry = cv_dictionary_entry(dictionary, (uint32_t)slot - 1);

                if (entry.length == value.length && bytes_equal(entry.ptr, value.ptr, value.length))
                    break;
            }
            at = (at + 1) & mask;
        }
        if (slot == 0) {
            append_entry(dictionary, value);
            slot = (uint64_t)hash << 32 | dictionary->count;
            dictionary->slots[at] = slot;
        }
        ret_indices[i] = (uint32_t)slot - 1;
    }
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
