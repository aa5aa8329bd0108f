/* SPDX-License-Identifier: Apache-2.0
 *
 * The dictionary of one column chunk: distinct values in the order of their first appearance, held
 * as the PLAIN bytes of the dictionary page, and a hash table over them. */
#ifndef CALVE_PARQUET_DICTIONARY_H
#define CALVE_PARQUET_DICTIONARY_H

#include "base/buf.h"
#include "base/str.h"

/* An index must fit 24 bits of a slot, a whole block more included. */
#define CV_DICTIONARY_ENTRIES_MAX ((uint32_t)(1 << 24) - 4096)

#define CV_DICTIONARY_UNKNOWN UINT32_MAX

struct cv_dictionary {
    size_t width;         /* bytes of a value: 4, 8 or any; 0 = a 4-byte length before each */
    bool words;           /* the values are numbers of 4 or 8 bytes */
    struct cv_buf values; /* the dictionary page */
    uint32_t *starts;     /* by entry: where its bytes start (after their length); not for words */
    uint32_t *hashes;     /* by entry, for growing; not for words */
    size_t entry_capacity;
    uint32_t count;
    bool frozen;       /* values that are not in it get CV_DICTIONARY_UNKNOWN */
    uint64_t *slots;   /* see dictionary.c; 0 = free */
    size_t slot_count; /* a power of two, at least twice the entries */
};

void cv_dictionary_release(struct cv_dictionary *dictionary);
void cv_dictionary_clear(struct cv_dictionary *dictionary); /* memory kept */
size_t cv_dictionary_memory(const struct cv_dictionary *dictionary);

/* Set ret_indices[i] to the entry of values[i], adding what is new. _32 and _64 are for numbers of
 * that width, _bytes for all else. Before a call there are at most CV_DICTIONARY_ENTRIES_MAX
 * entries, and `count` is at most 4,000. */
void cv_dictionary_add_32(struct cv_dictionary *dictionary, const uint32_t *values, size_t count,
                          uint32_t *ret_indices);
void cv_dictionary_add_64(struct cv_dictionary *dictionary, const uint64_t *values, size_t count,
                          uint32_t *ret_indices);
void cv_dictionary_add_bytes(struct cv_dictionary *dictionary, const struct cv_str *values,
                             size_t count, uint32_t *ret_indices);

static inline struct cv_str cv_dictionary_entry(const struct cv_dictionary *dictionary,
                                                uint32_t index)
{
    const char *values = (const char *)dictionary->values.data;
    uint32_t length;

    if (dictionary->width)
        return (struct cv_str){values + index * dictionary->width, dictionary->width};
    memcpy(&length, values + dictionary->starts[index] - 4, 4);
    return (struct cv_str){values + dictionary->starts[index], length};
}

/* Bytes of the dictionary page that would hold the first `count` entries. */
size_t cv_dictionary_bytes(const struct cv_dictionary *dictionary, uint32_t count);
/* Appends the PLAIN bytes of the entries. */
void cv_dictionary_decode(const struct cv_dictionary *dictionary, const uint32_t *indices,
                          size_t count, struct cv_buf *out);

#endif
