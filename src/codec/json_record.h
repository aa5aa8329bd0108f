/* SPDX-License-Identifier: Apache-2.0
 *
 * Scanner of JSON values (RFC 8259) in the record path. It walks over one span without allocating,
 * copying or building a tree; whoever drives it appends what it wants and skips the rest. Strict:
 * UTF-8, escapes, numbers and nesting are checked in skipped parts too.
 *
 * Functions return false on malformed text; `fault` then says what is wrong and `at` where. */
#ifndef CALVE_CODEC_JSON_RECORD_H
#define CALVE_CODEC_JSON_RECORD_H

#include "base/str.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define CV_JSON_RECORD_DEPTH_MAX 512 /* nesting of one record, skipped parts included */

struct cv_json_scan {
    const uint8_t *at;
    const uint8_t *end;
    const char *fault; /* static text */
    bool nonnumeric;   /* NaN, Infinity, -Infinity are numbers */
};

/* What stands between the quotes. */
struct cv_json_string {
    const uint8_t *ptr;
    size_t length;
    bool escaped; /* holds escapes, all of them valid: cv_json_unescape() */
};

struct cv_json_number {
    struct cv_str text;
    uint64_t digits;  /* of the whole number, when `exact` */
    int32_t exponent; /* value = ± digits × 10^exponent */
    bool negative;
    bool integer; /* neither fraction nor exponent was written */
    bool exact;   /* at most 19 digits and a small exponent */
    bool nonnumeric;
};

static inline bool cv_json_fault(struct cv_json_scan *s, const char *fault)
{
    s->fault = fault;
    return false;
}

static inline bool cv_json_is_blank_(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline void cv_json_blanks(struct cv_json_scan *s)
{
    while (s->at < s->end && cv_json_is_blank_(*s->at))
        s->at++;
}

/* The next byte that is no blank, 0 at the end. */
static inline uint8_t cv_json_peek(struct cv_json_scan *s)
{
    cv_json_blanks(s);
    return s->at < s->end ? *s->at : 0;
}

/* Takes one punctuation byte. */
static inline bool cv_json_take(struct cv_json_scan *s, uint8_t c)
{
    if (cv_json_peek(s) != c)
        return false;
    s->at++;
    return true;
}

bool cv_json_string_slow_(struct cv_json_scan *s, const uint8_t *at, bool escaped,
                          struct cv_json_string *ret_string);

/* A string; `at` is on its opening quote. */
static inline bool cv_json_string(struct cv_json_scan *s, struct cv_json_string *ret_string)
{
    const uint8_t *at = s->at + 1;

#ifdef __SSE2__
    while (s->end - at >= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
        __m128i escape = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
        /* signed: control characters, and all that is not ASCII */
        __m128i low = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
        int mask = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, escape), low));

        if (mask) {
            at += __builtin_ctz((unsigned)mask);
            if (*at != '"')
                break;
            *ret_string = (struct cv_json_string){s->at + 1, (size_t)(at - s->at - 1), false};
            s->at = at + 1;
            return true;
        }
        at += 16;
    }
#endif
    return cv_json_string_slow_(s, at, false, ret_string);
}

/* Writes the characters of a scanned string; `out` has room for its length. Returns theirs. */
size_t cv_json_unescape(const struct cv_json_string *string, uint8_t *out);

/* A number; `at` is on its first byte. */
bool cv_json_number(struct cv_json_scan *s, struct cv_json_number *ret_number);

/* Exactly rounded, as strtod() does. */
double cv_json_number_double(const struct cv_json_number *number);
float cv_json_number_float(const struct cv_json_number *number);

/* One of true, false, null; `at` is on its first byte. */
bool cv_json_literal(struct cv_json_scan *s, const char *word, size_t length);

/* Any value, blanks before it included. */
bool cv_json_skip(struct cv_json_scan *s);

/* A whole text: one value and nothing but blanks around it. */
bool cv_json_record_valid(struct cv_str text, struct cv_json_scan *ret_scan);

#endif
