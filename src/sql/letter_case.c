/* SPDX-License-Identifier: Apache-2.0
 *
 * Upper, lower and title case of UTF-8 text. */
#include "sql/letter_case.h"

#include "codec/utf8.h"
#include "sql/letter_case_tables.h"

#define CAPITAL_SIGMA   0x3a3
#define SMALL_SIGMA     0x3c3
#define SMALL_SIGMA_END 0x3c2

struct mapping {
    const struct range *ranges;
    size_t range_count;
    const struct special *specials;
    size_t special_count;
};

#define MAPPING(name)                                                                              \
    {                                                                                              \
        name##_ranges, CV_ARRAY_LENGTH(name##_ranges), name##_specials,                            \
            CV_ARRAY_LENGTH(name##_specials)                                                       \
    }
static const struct mapping upper = MAPPING(upper);
static const struct mapping lower = MAPPING(lower);
static const struct mapping title = MAPPING(title);

/* Ranges of steps may lie within each other, so the few before the place are looked at too. */
static bool find_simple(const struct mapping *mapping, uint32_t point, uint32_t *ret_point)
{
    size_t low = 0;
    size_t high = mapping->range_count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (mapping->ranges[middle].first <= point)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i-- > 0 && low - i <= 4;) {
        const struct range *r = &mapping->ranges[i];

        if (point <= r->last && (point - r->first) % (uint32_t)r->step == 0) {
            *ret_point = (uint32_t)((int64_t)point + r->delta);
            return true;
        }
    }
    return false;
}

static void put_point(struct cv_buf *out, uint32_t point)
{
    char bytes[4];

    cv_buf_append(out, bytes, cv_utf8_put(point, bytes));
}

/* False when the mapping has nothing of its own for it. */
static bool put_mapped(const struct mapping *mapping, uint32_t point, struct cv_buf *out)
{
    uint32_t other;

    for (size_t i = 0; i < mapping->special_count; i++)
        if (mapping->specials[i].point == point) {
            cv_buf_append_text(out, mapping->specials[i].text);
            return true;
        }
    if (!find_simple(mapping, point, &other))
        return false;
    put_point(out, other);
    return true;
}

static bool is_cased(uint32_t point)
{
    uint32_t other;

    return find_simple(&upper, point, &other) || find_simple(&lower, point, &other);
}

/* Marks that stand in a word without being letters. */
static bool is_ignorable(uint32_t point)
{
    static const uint32_t points[] = {0x27, 0x2e, 0x3a, 0x5e,   0x60,   0xa8,   0xad,  0xaf,
                                      0xb4, 0xb7, 0xb8, 0x2018, 0x2019, 0x2024, 0x2027};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(points); i++)
        if (points[i] == point)
            return true;
    return (point >= 0x2b0 && point < 0x370) || (point >= 0x483 && point < 0x48a) ||
           (point >= 0x200b && point < 0x2010);
}

/* A sigma behind a letter and not before one ends the word. */
static bool ends_word(struct cv_str text, const char *sigma, const char *behind)
{
    const char *end = text.ptr + text.length;
    bool letter_before = false;

    for (const char *at = sigma; at > text.ptr;) {
        const char *next;
        uint32_t point;

        do
            at--;
        while (at > text.ptr && ((uint8_t)*at & 0xc0) == 0x80);
        next = at;
        point = cv_utf8_next(&next, sigma);
        if (!is_ignorable(point)) {
            letter_before = is_cased(point);
            break;
        }
    }
    while (letter_before && behind < end) {
        uint32_t point = cv_utf8_next(&behind, end);

        if (!is_ignorable(point))
            return !is_cased(point);
    }
    return letter_before;
}

static void put_lower(struct cv_str text, const char *start, const char *at, uint32_t point,
                      struct cv_buf *out)
{
    if (point == CAPITAL_SIGMA)
        put_point(out, ends_word(text, start, at) ? SMALL_SIGMA_END : SMALL_SIGMA);
    else if (!put_mapped(&lower, point, out))
        cv_buf_append(out, start, (size_t)(at - start));
}

void cv_text_upper(struct cv_str text, struct cv_buf *out)
{
    const char *end = text.ptr + text.length;

    for (const char *at = text.ptr; at < end;) {
        const char *start = at;

        if ((uint8_t)*at < 0x80) {
            cv_buf_append_byte(out, (uint8_t)(*at >= 'a' && *at <= 'z' ? *at - 32 : *at));
            at++;
        } else if (!put_mapped(&upper, cv_utf8_next(&at, end), out)) {
            cv_buf_append(out, start, (size_t)(at - start));
        }
    }
}

void cv_text_lower(struct cv_str text, struct cv_buf *out)
{
    const char *end = text.ptr + text.length;

    for (const char *at = text.ptr; at < end;) {
        const char *start = at;

        if ((uint8_t)*at < 0x80) {
            cv_buf_append_byte(out, (uint8_t)(*at >= 'A' && *at <= 'Z' ? *at + 32 : *at));
            at++;
        } else {
            uint32_t point = cv_utf8_next(&at, end);

            put_lower(text, start, at, point, out);
        }
    }
}

void cv_text_title(struct cv_str text, struct cv_buf *out)
{
    const char *end = text.ptr + text.length;
    bool first = true;

    for (const char *at = text.ptr; at < end;) {
        const char *start = at;
        uint32_t point = cv_utf8_next(&at, end);

        if (!first)
            put_lower(text, start, at, point, out);
        else if (!put_mapped(&title, point, out) && !put_mapped(&upper, point, out))
            cv_buf_append(out, start, (size_t)(at - start));
        first = point == ' ';
    }
}
