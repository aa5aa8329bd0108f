/* SPDX-License-Identifier: Apache-2.0
 *
 * Text spans and small parsers. */
#include "base/str.h"

#include <ctype.h>

bool cv_text_equal_nocase(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
    return *a == *b;
}

bool cv_text_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool cv_text_ends_with(const char *text, const char *suffix)
{
    size_t text_length = strlen(text);
    size_t suffix_length = strlen(suffix);

    return text_length >= suffix_length && strcmp(text + text_length - suffix_length, suffix) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

struct cv_str cv_str_trim(struct cv_str text)
{
    while (text.length && is_blank(text.ptr[0])) {
        text.ptr++;
        text.length--;
    }
    while (text.length && is_blank(text.ptr[text.length - 1]))
        text.length--;
    return text;
}

static bool is_control(char c, bool delete_too)
{
    return (unsigned char)c <= ' ' || (delete_too && c == 0x7f);
}

struct cv_str cv_str_trim_control(struct cv_str text, bool delete_too)
{
    while (text.length && is_control(text.ptr[0], delete_too)) {
        text.ptr++;
        text.length--;
    }
    while (text.length && is_control(text.ptr[text.length - 1], delete_too))
        text.length--;
    return text;
}

bool cv_parse_i64(struct cv_str text, int64_t *ret_value)
{
    bool negative = false;
    int64_t value = 0;
    size_t i = 0;

    if (text.length && (text.ptr[0] == '-' || text.ptr[0] == '+')) {
        negative = text.ptr[0] == '-';
        i = 1;
    }
    if (i == text.length)
        return false;
    for (; i < text.length; i++) {
        int digit = text.ptr[i] - '0';

        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value))
            return false;
    }
    *ret_value = value;
    return true;
}

char **cv_split(struct cv_arena *arena, const char *text, char separator, size_t *ret_count)
{
    size_t most = 1;
    size_t count = 0;
    char **parts;

    for (const char *c = text; *c; c++)
        most += *c == separator;
    parts = cv_arena_array(arena, char *, most);
    for (const char *start = text;;) {
        const char *end = strchr(start, separator);
        struct cv_str part = {start, end ? (size_t)(end - start) : strlen(start)};

        part = cv_str_trim(part);
        if (part.length)
            parts[count++] = cv_arena_strndup(arena, part.ptr, part.length);
        if (!end)
            break;
        start = end + 1;
    }
    *ret_count = count;
    return parts;
}
