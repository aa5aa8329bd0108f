/* SPDX-License-Identifier: Apache-2.0
 *
 * See json_record.h. */
#include "codec/json_record.h"

#include "codec/utf8.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hex digits; -1 when they are none. */
static int32_t hex4(const uint8_t *at)
{
    int32_t value = 0;

    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);

        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* Length of the escape at `at` (on the backslash); 0 with a fault. A surrogate must have its pair:
 * alone it is no character and has no UTF-8. */
static size_t check_escape(struct cv_json_scan *s, const uint8_t *at)
{
    int32_t unit;

    if (s->end - at < 2)
        return (void)cv_json_fault(s, "a string has no end"), 0;
    if (at[1] != 'u') {
        if (at[1] && strchr("\"\\/bfnrt", at[1]))
            return 2;
        return (void)cv_json_fault(s, "unknown escape in a string"), 0;
    }
    unit = s->end - at < 6 ? -1 : hex4(at + 2);
    if (unit < 0)
        return (void)cv_json_fault(s, "\\u without four hex digits"), 0;
    if (unit < 0xd800 || unit > 0xdfff)
        return 6;
    if (unit < 0xdc00 && s->end - at >= 12 && at[6] == '\\' && at[7] == 'u') {
        unit = hex4(at + 8);
        if (unit >= 0xdc00 && unit <= 0xdfff)
            return 12;
    }
    return (void)cv_json_fault(s, "a lone surrogate in \\u"), 0;
}

/* Length of the UTF-8 sequence at `at`, of two bytes or more; 0 with a fault. */
static size_t check_sequence(struct cv_json_scan *s, const uint8_t *at)
{
    size_t length = *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;

    if ((size_t)(s->end - at) < length || !cv_utf8_valid_slow_(at, length))
        return (void)cv_json_fault(s, "not valid UTF-8"), 0;
    return length;
}

bool cv_json_string_slow_(struct cv_json_scan *s, const uint8_t *at, bool escaped,
                          struct cv_json_string *ret_string)
{
    while (at < s->end) {
        size_t step = 1;

        if (*at == '"') {
            *ret_string = (struct cv_json_string){s->at + 1, (size_t)(at - s->at - 1), escaped};
            s->at = at + 1;
            return true;
        }
        if (*at == '\\') {
            escaped = true;
            step = check_escape(s, at);
        } else if (*at >= 0x80) {
            step = check_sequence(s, at);
        } else if (*at < 0x20) {
            (void)cv_json_fault(s, "a control character in a string");
            step = 0;
        }
        if (step == 0) {
            s->at = at;
            return false;
        }
        at += step;
    }
    s->at = at;
    return cv_json_fault(s, "a string has no end");
}

/* Writes the escape at *at, already checked, and moves behind it. */
static size_t put_escape(const uint8_t **at, uint8_t *out)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    const uint8_t *in = *at;
    uint32_t code_point;

    if (in[1] != 'u') {
        *out = (uint8_t)to[strchr(from, in[1]) - from];
        *at += 2;
        return 1;
    }
    code_point = (uint32_t)hex4(in + 2);
    *at += 6;
    if (code_point >= 0xd800 && code_point <= 0xdfff) {
        uint32_t low = (uint32_t)hex4(in + 8);

        code_point = 0x10000 + ((code_point - 0xd800) << 10) + (low - 0xdc00);
        *at += 6;
    }
    return cv_utf8_put(code_point, (char *)out);
}

size_t cv_json_unescape(const struct cv_json_string *string, uint8_t *out)
{
    const uint8_t *at = string->ptr;
    const uint8_t *end = at + string->length;
    uint8_t *to = out;

    while (at < end) {
        const uint8_t *escape = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((escape ? escape : end) - at);

        memcpy(to, at, plain);
        to += plain;
        at += plain;
        if (at < end)
            to += put_escape(&at, to);
    }
    return (size_t)(to - out);
}

static bool nonnumeric(struct cv_json_scan *s, const uint8_t *at, struct cv_json_number *n)
{
    size_t left = (size_t)(s->end - at);
    size_t length = 0;

    if (s->nonnumeric && left >= 3 && memcmp(at, "NaN", 3) == 0 && !n->negative)
        length = 3;
    else if (s->nonnumeric && left >= 8 && memcmp(at, "Infinity", 8) == 0)
        length = 8;
    if (length == 0) {
        s->at = at;
        return cv_json_fault(s, "a digit is expected");
    }
    n->nonnumeric = true;
    n->text = (struct cv_str){(const char *)s->at, (size_t)(at - s->at) + length};
    s->at = at + length;
    return true;
}

/* Digits from `at`; adds them to the number. */
static const uint8_t *take_digits(const uint8_t *at, const uint8_t *end, struct cv_json_number *n,
                                  unsigned *count)
{
    for (; at < end && (uint8_t)(*at - '0') < 10; at++) {
        if (*count == 19) {
            n->exact = false;
            continue;
        }
        n->digits = n->digits * 10 + (uint8_t)(*at - '0');
        *count += n->digits != 0;
    }
    return at;
}

static const uint8_t *take_exponent(const uint8_t *at, const uint8_t *end, struct cv_json_number *n)
{
    bool negative = at < end && *at == '-';
    const uint8_t *first;
    int32_t exponent = 0;

    if (at < end && (*at == '-' || *at == '+'))
        at++;
    first = at;
    for (; at < end && (uint8_t)(*at - '0') < 10; at++)
        exponent = exponent < 100000 ? exponent * 10 + (*at - '0') : exponent;
    if (at == first)
        return NULL;
    n->exact &= exponent < 100000;
    n->exponent += negative ? -exponent : exponent;
    n->integer = false;
    return at;
}

/* Fraction and exponent; NULL when a digit is lacking at *ret_at. */
static const uint8_t *take_rest(struct cv_json_scan *s, const uint8_t *at, struct cv_json_number *n,
                                unsigned *count)
{
    if (at < s->end && *at == '.') {
        const uint8_t *first = ++at;

        at = take_digits(at, s->end, n, count);
        if (at == first)
            return NULL;
        n->exact &= at - first < 100000;
        n->exponent = (int32_t)-CV_MIN(at - first, 100000);
        n->integer = false;
    }
    if (at < s->end && (*at | 0x20) == 'e')
        at = take_exponent(at + 1, s->end, n);
    return at;
}

bool cv_json_number(struct cv_json_scan *s, struct cv_json_number *ret_number)
{
    struct cv_json_number n = {.integer = true, .exact = true};
    const uint8_t *at = s->at;
    unsigned count = 0;

    n.negative = *at == '-';
    at += n.negative;
    if (at == s->end || (uint8_t)(*at - '0') > 9) {
        if (!nonnumeric(s, at, &n))
            return false;
        *ret_number = n;
        return true;
    }
    if (*at == '0') {
        at++;
        if (at < s->end && (uint8_t)(*at - '0') < 10) {
            s->at = at;
            return cv_json_fault(s, "a number begins with 0");
        }
    } else {
        at = take_digits(at, s->end, &n, &count);
    }
    if (at < s->end && (*at == '.' || (*at | 0x20) == 'e')) {
        at = take_rest(s, at, &n, &count);
        if (!at)
            return cv_json_fault(s, "a number lacks a digit");
    }
    n.text = (struct cv_str){(const char *)s->at, (size_t)(at - s->at)};
    s->at = at;
    *ret_number = n;
    return true;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t c_locale;

static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* The text of a number, terminated: in `small`, or a copy to free. */
static char *terminated(struct cv_str text, char small[64], char **ret_copy)
{
    char *copy = text.length < 64 ? small : cv_alloc(text.length + 1);

    memcpy(copy, text.ptr, text.length);
    copy[text.length] = '\0';
    *ret_copy = copy == small ? NULL : copy;
    return copy;
}

static double slow_double(struct cv_str text)
{
    char small[64];
    char *copy;
    double value;

    (void)pthread_once(&once, make_locale);
    value = strtod_l(terminated(text, small, &copy), NULL, c_locale);
    free(copy);
    return value;
}

static float slow_float(struct cv_str text)
{
    char small[64];
    char *copy;
    float value;

    (void)pthread_once(&once, make_locale);
    value = strtof_l(terminated(text, small, &copy), NULL, c_locale);
    free(copy);
    return value;
}

static double nonnumeric_double(const struct cv_json_number *n)
{
    if (n->text.ptr[n->negative] == 'N')
        return NAN;
    return n->negative ? -INFINITY : INFINITY;
}

#if defined(__x86_64__) && LDBL_MANT_DIG == 64
/* Digits and a power of ten that are both exact in 80 bits: one rounding to 64 bits of mantissa is
 * made here, a second one to 53 must not meet a case that the first one could have moved over the
 * middle between two doubles. False then. */
static bool extended_double(uint64_t digits, int32_t exponent, double *ret_value)
{
    static const long double powers[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                         1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                         1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                         1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
    long double value = (long double)digits;
    uint64_t mantissa;

    if (exponent < -27 || exponent > 27)
        return false;
    value = exponent < 0 ? value / powers[-exponent] : value * powers[exponent];
    memcpy(&mantissa, &value, sizeof mantissa);
    *ret_value = (double)value;
    return (mantissa & 0x7ff) < 0x3ff || (mantissa & 0x7ff) > 0x401;
}
#else
static bool extended_double(uint64_t digits, int32_t exponent, double *ret_value)
{
    return false;
}
#endif

double cv_json_number_double(const struct cv_json_number *number)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    int32_t exponent = number->exponent;
    double value = (double)number->digits;

    if (number->nonnumeric)
        return nonnumeric_double(number);
    /* Clinger: both are exact doubles, so that one rounding remains. */
    if (number->exact && number->digits <= UINT64_C(1) << 53 && exponent >= -22 && exponent <= 22)
        value = exponent < 0 ? value / powers[-exponent] : value * powers[exponent];
    else if (!number->exact || !extended_double(number->digits, exponent, &value))
        return slow_double(number->text);
    return number->negative ? -value : value;
}

/* By way of the double: rounding that once more is right unless the double lies in the very middle
 * between two floats, where it may have been rounded to. */
float cv_json_number_float(const struct cv_json_number *number)
{
    double value = cv_json_number_double(number);
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    if (number->nonnumeric || value == 0 ||
        ((bits & 0x1fffffff) != 0x10000000 && fabs(value) >= (double)FLT_MIN))
        return (float)value;
    return slow_float(number->text);
}

bool cv_json_literal(struct cv_json_scan *s, const char *word, size_t length)
{
    if ((size_t)(s->end - s->at) < length || memcmp(s->at, word, length) != 0)
        return cv_json_fault(s, "a value is expected");
    s->at += length;
    return true;
}

static bool scalar(struct cv_json_scan *s, uint8_t c)
{
    struct cv_json_string string;
    struct cv_json_number number;

    switch (c) {
    case '"':
        return cv_json_string(s, &string);
    case 't':
        return cv_json_literal(s, "true", 4);
    case 'f':
        return cv_json_literal(s, "false", 5);
    case 'n':
        return cv_json_literal(s, "null", 4);
    case '-':
    case '0' ... '9':
        return cv_json_number(s, &number);
    case 'N':
    case 'I':
        if (s->nonnumeric)
            return cv_json_number(s, &number);
        return cv_json_fault(s, "a value is expected");
    case 0:
        return cv_json_fault(s, s->at == s->end ? "the text ends early" : "a value is expected");
    default:
        return cv_json_fault(s, "a value is expected");
    }
}

/* Which of the open containers are objects, one bit each. */
struct nesting {
    uint64_t objects[CV_JSON_RECORD_DEPTH_MAX / 64];
    size_t depth;
};

static bool in_object(const struct nesting *n)
{
    return n->objects[(n->depth - 1) / 64] >> ((n->depth - 1) % 64) & 1;
}

static bool key_and_colon(struct cv_json_scan *s)
{
    struct cv_json_string key;

    if (cv_json_peek(s) != '"')
        return cv_json_fault(s, "a key in quotes is expected");
    if (!cv_json_string(s, &key))
        return false;
    return cv_json_take(s, ':') || cv_json_fault(s, "a colon is expected");
}

/* Opens a container; *ret_empty when it closed at once. */
static bool open_container(struct cv_json_scan *s, struct nesting *n, bool *ret_empty)
{
    bool object = *s->at == '{';
    uint64_t bit;

    if (n->depth == CV_JSON_RECORD_DEPTH_MAX)
        return cv_json_fault(s, "nested too deeply");
    bit = UINT64_C(1) << n->depth % 64;
    n->objects[n->depth / 64] = (n->objects[n->depth / 64] & ~bit) | (object ? bit : 0);
    n->depth++;
    s->at++;
    *ret_empty = cv_json_take(s, object ? '}' : ']');
    if (*ret_empty)
        n->depth--;
    return *ret_empty || !object || key_and_colon(s);
}

/* After a value: closes what closes and stops before the next value (*ret_done: there is none). */
static bool close_containers(struct cv_json_scan *s, struct nesting *n, bool *ret_done)
{
    *ret_done = false;
    while (n->depth > 0) {
        bool object = in_object(n);
        uint8_t c = cv_json_peek(s);

        if (c == ',') {
            s->at++;
            return !object || key_and_colon(s);
        }
        if (c != (object ? '}' : ']'))
            return cv_json_fault(s,
                                 object ? "a comma or } is expected" : "a comma or ] is expected");
        s->at++;
        n->depth--;
    }
    *ret_done = true;
    return true;
}

bool cv_json_skip(struct cv_json_scan *s)
{
    struct nesting n;
    bool done = false;

    n.depth = 0;
    while (!done) {
        uint8_t c = cv_json_peek(s);
        bool closed = true;

        if (c == '{' || c == '[') {
            if (!open_container(s, &n, &closed))
                return false;
        } else if (!scalar(s, c)) {
            return false;
        }
        if (closed && !close_containers(s, &n, &done))
            return false;
    }
    return true;
}

bool cv_json_record_valid(struct cv_str text, struct cv_json_scan *ret_scan)
{
    struct cv_json_scan s = {.at = (const uint8_t *)text.ptr,
                             .end = (const uint8_t *)text.ptr + text.length};
    bool valid = cv_json_skip(&s);

    if (valid && cv_json_peek(&s) != 0)
        valid = cv_json_fault(&s, "text after the value");
    else if (valid && s.at < s.end)
        valid = cv_json_fault(&s, "text after the value");
    if (ret_scan)
        *ret_scan = s;
    return valid;
}
