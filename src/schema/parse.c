/* SPDX-License-Identifier: Apache-2.0
 *
 * Text → numbers, dates, times and uuids; on the record path. The forms are those that Spark's
 * CAST takes. Each function reads the whole text or refuses it. */
#include "base/time.h"
#include "schema/value.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

/* --- numbers --------------------------------------------------------------------------------- */

#define EXPONENT_MAX     100000 /* beyond any decimal or double */
#define DIGITS_MAX       38
#define SMALL_DIGITS_MAX 18 /* so many always fit 64 bits */

/* The number is ±digits × 10^exponent; what stands behind the digits kept is in next and lost. */
struct number {
    bool negative;
    unsigned __int128 digits;
    int64_t exponent;
    unsigned small_room; /* so many further digits fit 64 bits for certain */
    int next;            /* the first digit that was not kept, -1 when all were */
    bool lost;           /* one of those not kept is not zero */
};

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static void keep_digit(struct number *number, int digit, bool fraction)
{
    if (number->digits >= (unsigned __int128)cv_decimal_power_of_ten(DIGITS_MAX - 1)) {
        if (number->next < 0)
            number->next = digit;
        number->lost |= digit != 0;
        number->exponent += !fraction;
        return;
    }
    number->digits = number->digits * 10 + (unsigned)digit;
    number->exponent -= fraction;
}

/* Returns what follows the run of digits. */
static const char *keep_digits(struct number *number, const char *at, const char *end,
                               bool fraction)
{
    if (number->small_room) {
        const char *last = at + CV_MIN((size_t)(end - at), number->small_room);
        uint64_t small = (uint64_t)number->digits;
        const char *first = at;

        for (; at < last && is_digit(*at); at++)
            small = small * 10 + (uint64_t)(*at - '0');
        number->digits = small;
        number->small_room -= (unsigned)(at - first);
        if (fraction)
            number->exponent -= at - first;
    }
    for (; at < end && is_digit(*at); at++)
        keep_digit(number, *at - '0', fraction);
    return at;
}

static bool parse_exponent(const char *at, const char *end, int64_t *ret_exponent)
{
    bool negative = at < end && *at == '-';
    int64_t value = 0;

    at += at < end && (*at == '-' || *at == '+');
    if (at == end)
        return false;
    for (; at < end; at++) {
        if (!is_digit(*at))
            return false;
        value = CV_MIN(value * 10 + (*at - '0'), EXPONENT_MAX);
    }
    *ret_exponent = negative ? -value : value;
    return true;
}

static bool parse_number(struct cv_str text, struct number *number)
{
    const char *at = text.ptr;
    const char *end = text.ptr + text.length;
    const char *first;
    int64_t exponent = 0;
    size_t count;

    *number = (struct number){
        .negative = at < end && *at == '-', .small_room = SMALL_DIGITS_MAX, .next = -1};
    at += at < end && (*at == '-' || *at == '+');
    first = at;
    at = keep_digits(number, at, end, false);
    count = (size_t)(at - first);
    if (at < end && *at == '.') {
        first = at + 1;
        at = keep_digits(number, first, end, true);
        count += (size_t)(at - first);
    }
    if (!count)
        return false;
    if (at < end && (*at | 0x20) == 'e') {
        if (!parse_exponent(at + 1, end, &exponent))
            return false;
        at = end;
    }
    number->exponent += exponent;
    return at == end;
}

/* digits × 10^shift; false when it leaves 38 digits. */
static bool scale_up(unsigned __int128 digits, int64_t shift, unsigned __int128 *ret_value)
{
    if (digits == 0) {
        *ret_value = 0;
        return true;
    }
    if (shift > DIGITS_MAX ||
        digits > (unsigned __int128)cv_decimal_power_of_ten(DIGITS_MAX) /
                     (unsigned __int128)cv_decimal_power_of_ten((unsigned)shift))
        return false;
    *ret_value = digits * (unsigned __int128)cv_decimal_power_of_ten((unsigned)shift);
    return true;
}

static bool parse_decimal(struct cv_str text, uint8_t precision, uint8_t scale, bool exact,
                          cv_wide_int *ret_unscaled)
{
    unsigned __int128 value;
    struct number number;
    int64_t shift;

    if (!parse_number(text, &number))
        return false;
    shift = number.exponent + scale;
    if (shift > 0) {
        /* Digits that were not kept would be needed: more than 38. */
        if (number.next >= 0 || !scale_up(number.digits, shift, &value))
            return false;
    } else if (shift == 0) {
        value = number.digits + (number.next >= 5);
    } else if (shift < -DIGITS_MAX) {
        number.lost |= number.digits != 0;
        value = 0;
    } else {
        unsigned __int128 divisor = (unsigned __int128)cv_decimal_power_of_ten((unsigned)-shift);

        value = number.digits / divisor;
        number.lost |= number.digits % divisor != 0;
        value += number.digits % divisor >= divisor - divisor / 2;
    }
    if ((exact && number.lost) || value >= (unsigned __int128)cv_decimal_power_of_ten(precision))
        return false;
    *ret_unscaled = number.negative ? -(cv_wide_int)value : (cv_wide_int)value;
    return true;
}

bool cv_parse_decimal(struct cv_str text, uint8_t precision, uint8_t scale,
                      cv_wide_int *ret_unscaled)
{
    return parse_decimal(text, precision, scale, false, ret_unscaled);
}

bool cv_parse_decimal_exact(struct cv_str text, uint8_t precision, uint8_t scale,
                            cv_wide_int *ret_unscaled)
{
    return parse_decimal(text, precision, scale, true, ret_unscaled);
}

static bool parse_special_double(struct cv_str text, double *ret_value)
{
    static const char *const infinities[] = {"infinity", "inf"};
    bool negative = text.length && text.ptr[0] == '-';

    if (text.length && (text.ptr[0] == '-' || text.ptr[0] == '+')) {
        text.ptr++;
        text.length--;
    }
    if (text.length == 3 && strncasecmp(text.ptr, "nan", 3) == 0) {
        *ret_value = (double)NAN;
        return true;
    }
    for (size_t i = 0; i < CV_ARRAY_LENGTH(infinities); i++)
        if (text.length == strlen(infinities[i]) &&
            strncasecmp(text.ptr, infinities[i], text.length) == 0) {
            *ret_value = negative ? -(double)INFINITY : (double)INFINITY;
            return true;
        }
    return false;
}

bool cv_parse_double(struct cv_str text, double *ret_value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct cv_str digits = text;
    struct number number;
    char copy[128];
    double value;

    /* Java's suffixes of a literal, as Spark's CAST takes them. */
    if (digits.length > 1 && strchr("dDfF", digits.ptr[digits.length - 1]))
        digits.length--;
    if (!parse_number(digits, &number))
        return parse_special_double(text, ret_value);
    if (number.digits < (unsigned __int128)1 << 53 && number.next < 0 && number.exponent >= -22 &&
        number.exponent <= 22) {
        /* both factors are exact, so that one rounding gives the nearest double */
        value = (double)(uint64_t)number.digits;
        value = number.exponent < 0 ? value / powers[-number.exponent]
                                    : value * powers[number.exponent];
        *ret_value = number.negative ? -value : value;
        return true;
    }
    if (digits.length < sizeof copy) {
        memcpy(copy, digits.ptr, digits.length);
        copy[digits.length] = '\0';
        *ret_value = strtod(copy, NULL);
        return true;
    }
    {
        CV_CLEANUP(cv_freep) char *longer = cv_alloc(digits.length + 1);

        memcpy(longer, digits.ptr, digits.length);
        *ret_value = strtod(longer, NULL);
    }
    return true;
}

/* By way of the double; rounding that once more is right unless the double lies in the very middle
 * between two floats, where it may have been rounded to. */
bool cv_parse_float(struct cv_str text, float *ret_value)
{
    double value;
    uint64_t bits;

    if (!cv_parse_double(text, &value))
        return false;
    memcpy(&bits, &value, sizeof bits);
    if (isfinite(value) && value != 0 &&
        ((bits & 0x1fffffff) == 0x10000000 || fabs(value) < (double)FLT_MIN)) {
        CV_CLEANUP(cv_freep) char *copy = cv_alloc(text.length + 1);

        memcpy(copy, text.ptr, text.length);
        *ret_value = strtof(copy, NULL);
        return true;
    }
    *ret_value = (float)value;
    return true;
}

/* --- dates and times ------------------------------------------------------------------------- */

struct cursor {
    const char *at;
    const char *end;
};

static bool at_byte(const struct cursor *cursor, char byte)
{
    return cursor->at < cursor->end && *cursor->at == byte;
}

static bool take_byte(struct cursor *cursor, char byte)
{
    bool found = at_byte(cursor, byte);

    cursor->at += found;
    return found;
}

/* A number of least-most digits; false with the cursor anywhere otherwise. */
static bool take_digits(struct cursor *cursor, int least, int most, int32_t *ret_value)
{
    int32_t value = 0;
    int count = 0;

    for (; cursor->at < cursor->end && is_digit(*cursor->at); cursor->at++, count++) {
        if (count == most)
            return false;
        value = value * 10 + (*cursor->at - '0');
    }
    *ret_value = value;
    return count >= least;
}

/* [+-]y…y-m[m]-d[d]; the year has at least 4 digits. Year alone, and year and month, are dates when
 * nothing follows them. */
static bool take_date(struct cursor *cursor, int most_year_digits, int64_t *ret_days)
{
    bool negative = at_byte(cursor, '-');
    int32_t year, month = 1, day = 1;

    cursor->at += negative || at_byte(cursor, '+');
    if (!take_digits(cursor, 4, most_year_digits, &year))
        return false;
    if (cursor->at < cursor->end) {
        if (!take_byte(cursor, '-') || !take_digits(cursor, 1, 2, &month))
            return false;
        if (cursor->at < cursor->end &&
            (!take_byte(cursor, '-') || !take_digits(cursor, 1, 2, &day)))
            return false;
    }
    if (negative)
        year = -year;
    if (month < 1 || month > 12 || day < 1 || day > cv_days_in_month(year, month))
        return false;
    *ret_days = cv_days_from_civil(year, month, day);
    return true;
}

bool cv_parse_date(struct cv_str text, int32_t *ret_days)
{
    struct cursor cursor = {text.ptr, text.ptr + text.length};
    int64_t days;

    /* As in Spark, a time of day behind the date is not looked at. */
    if (!take_date(&cursor, 7, &days) || days < INT32_MIN || days > INT32_MAX ||
        (cursor.at < cursor.end && *cursor.at != ' ' && *cursor.at != 'T'))
        return false;
    *ret_days = (int32_t)days;
    return true;
}

/* Any number of digits, also none, cut to µs. */
static int32_t take_fraction(struct cursor *cursor)
{
    static const int32_t powers[] = {1000000, 100000, 10000, 1000, 100, 10, 1};
    int32_t value = 0;
    int count = 0;

    for (; cursor->at < cursor->end && is_digit(*cursor->at); cursor->at++) {
        if (count == 6)
            continue;
        value = value * 10 + (*cursor->at - '0');
        count++;
    }
    return value * powers[count];
}

/* h[h][:m[m][:s[s][.fraction]]]; only what has seconds may be followed by anything. */
static bool take_time(struct cursor *cursor, int64_t *ret_us)
{
    int32_t hour, minute = 0, second = 0, us = 0;
    bool whole = false;

    if (!take_digits(cursor, 1, 2, &hour))
        return false;
    if (take_byte(cursor, ':')) {
        if (!take_digits(cursor, 1, 2, &minute))
            return false;
        whole = take_byte(cursor, ':');
        if (whole && !take_digits(cursor, 1, 2, &second))
            return false;
        if (whole && take_byte(cursor, '.'))
            us = take_fraction(cursor);
    }
    if (hour > 23 || minute > 59 || second > 59 || (!whole && cursor->at != cursor->end))
        return false;
    *ret_us = ((hour * INT64_C(60) + minute) * 60 + second) * CV_US_PER_SECOND + us;
    return true;
}

bool cv_parse_time(struct cv_str text, int64_t *ret_us)
{
    struct cursor cursor = {text.ptr, text.ptr + text.length};
    int64_t us;

    if (!memchr(text.ptr ? text.ptr : "", ':', text.length) || !take_time(&cursor, &us) ||
        cursor.at != cursor.end)
        return false;
    *ret_us = us;
    return true;
}

/* h[h], hhmm, hhmmss, h[h]:m[m] or h[h]:mm:ss of an offset behind its sign, up to 18 hours. */
static bool take_offset(struct cursor *cursor, int32_t *ret_seconds)
{
    const char *start = cursor->at;
    int32_t hour, minute = 0, second = 0;
    size_t count;

    if (!take_digits(cursor, 1, 6, &hour))
        return false;
    count = (size_t)(cursor->at - start);
    if (count == 6) {
        second = hour % 100;
        hour /= 100;
    }
    if (count == 4 || count == 6) {
        minute = hour % 100;
        hour /= 100;
    } else if (count > 2) {
        return false;
    } else if (take_byte(cursor, ':')) {
        start = cursor->at;
        if (!take_digits(cursor, 1, 2, &minute))
            return false;
        if (cursor->at - start == 2 && take_byte(cursor, ':') &&
            !take_digits(cursor, 2, 2, &second))
            return false;
    }
    *ret_seconds = (hour * 60 + minute) * 60 + second;
    return minute < 60 && second < 60 && *ret_seconds <= 18 * 3600;
}

/* Z, UTC, GMT, UT and ±offset, also together ("UTC+01:00"); blanks before it are skipped. */
static bool take_zone(struct cursor *cursor, int32_t *ret_seconds)
{
    static const char *const names[] = {"UTC", "GMT", "UT", "Z"};
    bool negative;

    *ret_seconds = 0;
    while (take_byte(cursor, ' '))
        ;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++) {
        size_t length = strlen(names[i]);

        if ((size_t)(cursor->end - cursor->at) >= length &&
            memcmp(cursor->at, names[i], length) == 0) {
            cursor->at += length;
            if (cursor->at == cursor->end)
                return true;
            if (i == 3) /* nothing may follow Z */
                return false;
            break;
        }
    }
    negative = at_byte(cursor, '-');
    if (!negative && !at_byte(cursor, '+'))
        return false;
    cursor->at++;
    if (!take_offset(cursor, ret_seconds))
        return false;
    if (negative)
        *ret_seconds = -*ret_seconds;
    return cursor->at == cursor->end;
}

static inline int two_digits(const char *at)
{
    return (at[0] - '0') * 10 + (at[1] - '0');
}

/* yyyy-mm-ddThh:mm:ss, the form that nearly all texts begin with: true with the cursor behind it.
 */
static bool take_plain(struct cursor *cursor, int64_t *ret_us)
{
    static const char shape[] = "0000-00-00T00:00:00";
    const char *at = cursor->at;
    int month, day, hour, minute, second;
    int64_t year;

    if (cursor->end - at < 19)
        return false;
    for (int i = 0; i < 19; i++)
        if (shape[i] == '0' ? !is_digit(at[i]) : at[i] != shape[i] && (i != 10 || at[i] != ' '))
            return false;
    year = two_digits(at) * 100 + two_digits(at + 2);
    month = two_digits(at + 5);
    day = two_digits(at + 8);
    hour = two_digits(at + 11);
    minute = two_digits(at + 14);
    second = two_digits(at + 17);
    if (month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59 ||
        (day > 28 && day > cv_days_in_month(year, month)))
        return false;
    *ret_us = cv_days_from_civil(year, month, day) * CV_US_PER_DAY +
              ((hour * INT64_C(60) + minute) * 60 + second) * CV_US_PER_SECOND;
    cursor->at += 19;
    return true;
}

/* The same with every other form of date and time; fraction included. */
static bool take_other(struct cursor *cursor, cv_wide_int *ret_us)
{
    int64_t days, time = 0;

    if (!take_date(cursor, 6, &days))
        return false;
    if (take_byte(cursor, 'T') || take_byte(cursor, ' ')) {
        if (!take_time(cursor, &time))
            return false;
    } else if (cursor->at < cursor->end) {
        return false;
    }
    *ret_us = (cv_wide_int)days * CV_US_PER_DAY + time;
    return true;
}

bool cv_parse_timestamp(struct cv_str text, int64_t *ret_us, bool *ret_had_zone)
{
    struct cursor cursor = {text.ptr, text.ptr + text.length};
    cv_wide_int wide; /* the first and last day are whole only here */
    int32_t offset = 0;
    bool had_zone;
    int64_t us;

    if (take_plain(&cursor, &us)) {
        wide = us;
        if (take_byte(&cursor, '.'))
            wide += take_fraction(&cursor);
    } else if (!take_other(&cursor, &wide)) {
        return false;
    }
    had_zone = cursor.at < cursor.end;
    if (had_zone && !take_zone(&cursor, &offset))
        return false;
    wide -= offset * CV_US_PER_SECOND;
    if (wide < INT64_MIN || wide > INT64_MAX)
        return false;
    *ret_us = (int64_t)wide;
    *ret_had_zone = had_zone;
    return true;
}

/* --- uuid ------------------------------------------------------------------------------------ */

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool cv_parse_uuid(struct cv_str text, uint8_t ret_bytes[16])
{
    uint8_t bytes[16];
    size_t count = 0;

    if (text.length != 36)
        return false;
    for (size_t i = 0; i < 36;) {
        int high, low;

        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (text.ptr[i++] != '-')
                return false;
            continue;
        }
        high = hex_digit(text.ptr[i]);
        low = hex_digit(text.ptr[i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[count++] = (uint8_t)(high << 4 | low);
        i += 2;
    }
    memcpy(ret_bytes, bytes, 16);
    return true;
}
