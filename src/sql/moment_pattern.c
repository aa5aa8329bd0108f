/* SPDX-License-Identifier: Apache-2.0
 *
 * Java's patterns of dates and times (DateTimeFormatter), as far as they are plain: yyyy-MM-dd
 * HH:mm:ss.SSS and the like. */
#include "base/time.h"
#include "sql/moment.h"

#include <ctype.h>
#include <stdio.h>

/* One piece of a pattern: letters of one kind, or text between. */
struct piece {
    char letter; /* 0 = text */
    int count;
    struct cv_str text;
};

/* False at the end. A quote doubled is a quote, in and out of quotes. */
static bool next_piece(const char **at, struct piece *ret)
{
    const char *start = *at;

    *ret = (struct piece){0};
    if (!*start)
        return false;
    if (isalpha((unsigned char)*start)) {
        while (**at == *start)
            (*at)++;
        ret->letter = *start;
        ret->count = (int)(*at - start);
        return true;
    }
    if (*start != '\'') {
        while (**at && **at != '\'' && !isalpha((unsigned char)**at))
            (*at)++;
        ret->text = (struct cv_str){start, (size_t)(*at - start)};
        return true;
    }
    if (start[1] == '\'') {
        *at += 2;
        ret->text = (struct cv_str){start, 1};
        return true;
    }
    for ((*at)++; **at && **at != '\''; (*at)++)
        ;
    ret->text = (struct cv_str){start + 1, (size_t)(*at - start - 1)};
    *at += **at == '\'';
    return true;
}

static bool parses(const struct piece *piece)
{
    switch (piece->letter) {
    case 'y':
    case 'u':
        return piece->count == 4;
    case 'M':
    case 'd':
    case 'H':
    case 'm':
    case 's':
        return piece->count <= 2;
    case 'S':
        return piece->count <= 6;
    default:
        return false;
    }
}

static bool formats(const struct piece *piece)
{
    switch (piece->letter) {
    case 'y':
    case 'u':
        return piece->count == 4 || piece->count == 2;
    case 'M':
    case 'E':
        return piece->count <= 4;
    case 'a':
        return piece->count == 1;
    case 'h':
        return piece->count <= 2;
    case 'D':
        return piece->count == 1 || piece->count == 3;
    default:
        return parses(piece);
    }
}

/* In which order brackets, braces and the number sign mean something to Java: not here. */
static bool text_is_plain(struct cv_str text)
{
    for (size_t i = 0; i < text.length; i++)
        if (strchr("[]{}#", text.ptr[i]))
            return false;
    return true;
}

enum cv_code cv_moment_pattern_check(const char *function, const char *pattern, bool parsing,
                                     struct cv_error *err)
{
    const char *at = pattern;
    struct piece piece;
    struct piece before = {0};
    bool year = false;

    while (next_piece(&at, &piece)) {
        if (piece.letter ? !(parsing ? parses(&piece) : formats(&piece))
                         : !text_is_plain(piece.text))
            return cv_fail(err, CV_UNSUPPORTED,
                           "%s: the pattern '%s' has \"%.*s\", which is not "
                           "available",
                           function, pattern, piece.letter ? piece.count : (int)piece.text.length,
                           piece.letter ? at - piece.count : piece.text.ptr);
        if (parsing && piece.letter && before.letter &&
            (before.count == 1 || before.letter == 'S' || piece.letter == 'S'))
            return cv_fail(err, CV_UNSUPPORTED,
                           "%s: the pattern '%s' has numbers of any length "
                           "without anything between",
                           function, pattern);
        year = year || piece.letter == 'y' || piece.letter == 'u';
        before = piece;
    }
    if (parsing && !year)
        return cv_fail(err, CV_UNSUPPORTED, "%s: the pattern '%s' has no yyyy", function, pattern);
    return CV_OK;
}

/* --- to text --------------------------------------------------------------------------------- */

static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};
static const char *const weekdays[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                       "Friday", "Saturday", "Sunday"};

struct fields {
    int64_t days, year, us;
    int month, day;
};

static void put_year(const struct fields *f, const struct piece *piece, struct cv_buf *out)
{
    if (piece->count == 2)
        cv_buf_printf(out, "%02lld", (long long)cv_floor_mod(f->year, 100));
    else
        cv_buf_printf(out, "%s%04lld",
                      f->year > 9999 ? "+"
                      : f->year < 0  ? "-"
                                     : "",
                      (long long)(f->year < 0 ? -f->year : f->year));
}

static void put_name(const char *name, int count, struct cv_buf *out)
{
    cv_buf_append(out, name, count == 4 ? strlen(name) : 3);
}

static void put_piece(const struct fields *f, const struct piece *piece, struct cv_buf *out)
{
    int64_t seconds = f->us / CV_US_PER_SECOND;
    int hour = (int)(seconds / 3600);
    char fraction[8];

    switch (piece->letter) {
    case 'y':
    case 'u':
        put_year(f, piece, out);
        return;
    case 'M':
        if (piece->count > 2)
            put_name(months[f->month - 1], piece->count, out);
        else
            cv_buf_printf(out, "%0*d", piece->count, f->month);
        return;
    case 'E':
        put_name(weekdays[cv_floor_mod(f->days + 3, 7)], piece->count, out);
        return;
    case 'a':
        cv_buf_append_text(out, hour < 12 ? "AM" : "PM");
        return;
    case 'd':
        cv_buf_printf(out, "%0*d", piece->count, f->day);
        return;
    case 'D':
        cv_buf_printf(out, "%0*d", piece->count,
                      (int)(f->days - cv_days_from_civil(f->year, 1, 1)) + 1);
        return;
    case 'H':
        cv_buf_printf(out, "%0*d", piece->count, hour);
        return;
    case 'h':
        cv_buf_printf(out, "%0*d", piece->count, (hour + 11) % 12 + 1);
        return;
    case 'm':
        cv_buf_printf(out, "%0*d", piece->count, (int)(seconds / 60 % 60));
        return;
    case 's':
        cv_buf_printf(out, "%0*d", piece->count, (int)(seconds % 60));
        return;
    case 'S':
        (void)snprintf(fraction, sizeof fraction, "%06d", (int)(f->us % CV_US_PER_SECOND));
        cv_buf_append(out, fraction, (size_t)piece->count);
        return;
    default:
        cv_buf_append(out, piece->text.ptr, piece->text.length);
        return;
    }
}

void cv_moment_format(int64_t us, const char *pattern, struct cv_buf *out)
{
    struct fields f = {.days = cv_floor_div(us, CV_US_PER_DAY),
                       .us = cv_floor_mod(us, CV_US_PER_DAY)};
    struct piece piece;

    cv_civil_from_days(f.days, &f.year, &f.month, &f.day);
    while (next_piece(&pattern, &piece))
        put_piece(&f, &piece, out);
}

/* --- from text ------------------------------------------------------------------------------- */

/* `least` to `most` digits. */
static bool take_number(struct cv_str *text, int least, int most, int *ret_count, int *ret_value)
{
    int count = 0;
    int value = 0;

    while (count < most && (size_t)count < text->length &&
           isdigit((unsigned char)text->ptr[count])) {
        value = value * 10 + (text->ptr[count] - '0');
        count++;
    }
    text->ptr += count;
    text->length -= (size_t)count;
    *ret_count = count;
    *ret_value = value;
    return count >= least;
}

struct parsed {
    int year, month, day, hour, minute, second, us;
};

static bool take_piece(struct cv_str *text, const struct piece *piece, struct parsed *p)
{
    int *target;
    int most = piece->count == 1 ? 9 : piece->count;
    int count;

    switch (piece->letter) {
    case 0:
        if (text->length < piece->text.length ||
            memcmp(text->ptr, piece->text.ptr, piece->text.length) != 0)
            return false;
        text->ptr += piece->text.length;
        text->length -= piece->text.length;
        return true;
    case 'S':
        if (!take_number(text, 1, piece->count, &count, &p->us))
            return false;
        for (; count < 6; count++)
            p->us *= 10;
        return true;
    case 'M':
        target = &p->month;
        break;
    case 'd':
        target = &p->day;
        break;
    case 'H':
        target = &p->hour;
        break;
    case 'm':
        target = &p->minute;
        break;
    case 's':
        target = &p->second;
        break;
    default:
        target = &p->year;
        break;
    }
    return take_number(text, piece->count, most, &count, target);
}

bool cv_moment_parse(struct cv_str text, const char *pattern, int64_t *ret_us)
{
    struct parsed p = {.month = 1, .day = 1};
    struct piece piece;

    while (next_piece(&pattern, &piece))
        if (!take_piece(&text, &piece, &p))
            return false;
    if (text.length || p.year < 1 || p.month < 1 || p.month > 12 || p.day < 1 ||
        p.day > cv_days_in_month(p.year, p.month) || p.hour > 23 || p.minute > 59 || p.second > 59)
        return false;
    *ret_us = cv_days_from_civil(p.year, p.month, p.day) * CV_US_PER_DAY +
              ((p.hour * 60 + p.minute) * INT64_C(60) + p.second) * CV_US_PER_SECOND + p.us;
    return true;
}
