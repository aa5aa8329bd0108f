/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the key of an object. Records of one topic mostly have the same keys in the same order,
 * so a worker remembers which key followed which and first compares with that one; only a miss
 * scans the key and looks it up. Keys that lead nowhere are remembered too. One worker. */
#ifndef CALVE_DECODE_JSON_KEYS_H
#define CALVE_DECODE_JSON_KEYS_H

#include "codec/json_record.h"
#include "decode/json_plan.h"

#define CV_JSON_KEYS_LEARNED_MAX  256 /* per object, beyond the plan's own */
#define CV_JSON_KEY_LEARNED_BYTES 128

struct cv_json_known_key {
    uint8_t head[16]; /* the first bytes of: name, quote */
    uint32_t mask;    /* which bytes of head must match; 0: the text is compared as a whole */
    uint32_t length;
    const char *name;
    const struct cv_json_key *key; /* NULL: skip the value */
    size_t canonical;              /* where the marks below are kept for this key */
    size_t next;                   /* the one that followed last time */
    uint64_t seen;                 /* number of the object instance that had it */
    struct cv_str seen_as;
};

struct cv_json_keys {
    const struct cv_json_plan *plan;
    const struct cv_json_object *object;
    struct cv_json_known_key *known;
    size_t count;
    size_t capacity;
    size_t first;           /* the key that came first last time */
    struct cv_map learned;  /* name → index + 1 */
    struct cv_arena *arena; /* of the worker */
};

void cv_json_keys_init(struct cv_json_keys *keys, const struct cv_json_plan *plan,
                       const struct cv_json_object *object, struct cv_arena *arena);
void cv_json_keys_release(struct cv_json_keys *keys);

/* Scans and looks up the key at the opening quote. NULL: the key is not known and not learned
 * (skip its value), or the text is malformed (scan->fault). */
struct cv_json_known_key *cv_json_keys_find(struct cv_json_keys *keys, struct cv_json_scan *scan,
                                            struct cv_buf *scratch);

/* Whether the key at the opening quote is this one; then moves behind the closing quote. */
static inline bool cv_json_keys_match(const struct cv_json_known_key *key,
                                      struct cv_json_scan *scan)
{
    const uint8_t *at = scan->at + 1;
    size_t left = (size_t)(scan->end - at);

#ifdef __SSE2__
    if (key->mask && left >= 16) {
        __m128i text = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i head = _mm_loadu_si128((const __m128i *)(const void *)key->head);
        uint32_t equal = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(text, head));

        if ((equal & key->mask) != key->mask)
            return false;
        scan->at = at + key->length + 1;
        return true;
    }
#endif
    if (left <= key->length || at[key->length] != '"' || memcmp(at, key->name, key->length) != 0)
        return false;
    scan->at = at + key->length + 1;
    return true;
}

#endif
