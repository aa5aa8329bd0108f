/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of text and bytes; positions and lengths count code points. Regular expressions stand
 * in pattern.c. */
#include "codec/base64.h"
#include "codec/hash.h"
#include "codec/md5.h"
#include "codec/sha2.h"
#include "codec/utf8.h"
#include "sql/function_int.h"
#include "sql/letter_case.h"

#include <stdlib.h>

#define MADE_BYTES_MAX ((size_t)64 << 20) /* of one text that repeat() or lpad() makes */

static bool give(struct cv_native_row *row)
{
    row->out.bytes = (struct cv_str){(const char *)row->scratch->data, row->scratch->length};
    return true;
}

static void put_point(struct cv_buf *out, uint32_t point)
{
    char bytes[4];

    cv_buf_append(out, bytes, cv_utf8_put(point, bytes));
}

/* --- letters --------------------------------------------------------------------------------- */

static bool native_upper(struct cv_native_row *row)
{
    cv_text_upper(row->in[0].bytes, row->scratch);
    return give(row);
}

bool cv_native_lower(struct cv_native_row *row)
{
    cv_text_lower(row->in[0].bytes, row->scratch);
    return give(row);
}

static bool native_initcap(struct cv_native_row *row)
{
    cv_text_title(row->in[0].bytes, row->scratch);
    return give(row);
}

static bool native_ascii(struct cv_native_row *row)
{
    const char *at = row->in[0].bytes.ptr;

    row->out.i32 =
        row->in[0].bytes.length ? (int32_t)cv_utf8_next(&at, at + row->in[0].bytes.length) : 0;
    return true;
}

static bool native_chr(struct cv_native_row *row)
{
    if (row->in[0].i64 >= 0)
        put_point(row->scratch, (uint32_t)(row->in[0].i64 & 0xff));
    return give(row);
}

/* --- lengths and parts ----------------------------------------------------------------------- */

static bool native_length(struct cv_native_row *row)
{
    size_t length = row->in[0].bytes.length;

    if (row->native->arguments[0].kind == CV_TYPE_STRING && row->native->number)
        length = cv_utf8_count(row->in[0].bytes);
    row->out.i32 = (int32_t)length;
    return true;
}

/* Bytes as they are when binary, anything else as text. */
static enum cv_code bind_text_or_bytes(const struct cv_function *function, struct cv_call *call,
                                       const struct cv_expr **ret_expr, struct cv_error *err)
{
    struct cv_type result = CV_PLAIN(INT);
    const struct cv_type *type = &call->arguments[0]->type;

    if (call->arguments[0]->untyped || type->kind != CV_TYPE_BINARY)
        CV_DO(cv_bind_letter(call, 0, 's', err));
    for (size_t i = 1; i < call->argument_count; i++)
        CV_DO(cv_bind_letter(call, i, 'i', err));
    if (*function->detail == '=')
        result = call->arguments[0]->type;
    else if (*function->detail == 's')
        result = CV_PLAIN(STRING);
    *ret_expr = cv_bind_native(call, &(struct cv_native){.call = function->native,
                                                         .number = function->number,
                                                         .result = result});
    return CV_OK;
}

/* Of a list too. */
static enum cv_code bind_reverse(const struct cv_function *function, struct cv_call *call,
                                 const struct cv_expr **ret_expr, struct cv_error *err)
{
    const struct cv_type *type = &call->arguments[0]->type;

    if (type->kind != CV_TYPE_LIST || call->arguments[0]->untyped)
        return cv_bind_letters(function, call, ret_expr, err);
    *ret_expr = cv_bind_sql(call, "list_reverse($1)", type);
    return CV_OK;
}

/* DuckDB's len() of a list too: Spark's size(). */
static enum cv_code bind_len(const struct cv_function *function, struct cv_call *call,
                             const struct cv_expr **ret_expr, struct cv_error *err)
{
    const struct cv_type type = CV_PLAIN(INT);

    if (call->arguments[0]->type.kind != CV_TYPE_LIST || call->arguments[0]->untyped)
        return bind_text_or_bytes(function, call, ret_expr, err);
    *ret_expr = cv_bind_sql(call, "CAST(len($1) AS INTEGER)", &type);
    return CV_OK;
}

static struct cv_str slice_points(struct cv_str text, bool points, int64_t start, int64_t end)
{
    size_t from = (size_t)CV_MAX(start, 0);
    size_t to = end < (int64_t)from ? from : (size_t)end;

    if (points) {
        to = cv_utf8_prefix(text, to);
        from = cv_utf8_prefix(text, from);
    }
    from = CV_MIN(from, text.length);
    to = CV_MIN(to, text.length);
    return (struct cv_str){text.ptr + from, to - from};
}

/* Spark's substring: 1 and 0 are the first, negative ones count from the end. */
static struct cv_str substring(struct cv_str text, bool points, int32_t position, int64_t length)
{
    int64_t count = (int64_t)(points ? cv_utf8_count(text) : text.length);
    int64_t start = position > 0 ? position - 1 : position < 0 ? count + position : 0;

    return slice_points(text, points, start, CV_MIN(start + length, INT32_MAX));
}

static bool native_substring(struct cv_native_row *row)
{
    bool points = row->native->arguments[0].kind == CV_TYPE_STRING;
    int64_t length = row->native->argument_count == 3 ? row->in[2].i32 : INT32_MAX;

    row->out.bytes = substring(row->in[0].bytes, points, row->in[1].i32, length);
    return true;
}

static bool native_left(struct cv_native_row *row)
{
    bool points = row->native->arguments[0].kind == CV_TYPE_STRING;

    row->out.bytes = slice_points(row->in[0].bytes, points, 0, row->in[1].i32);
    return true;
}

static bool native_right(struct cv_native_row *row)
{
    int32_t length = row->in[1].i32;

    row->out.bytes = length <= 0 ? (struct cv_str){"", 0}
                                 : substring(row->in[0].bytes, true,
                                             length == INT32_MIN ? length : -length, INT32_MAX);
    return true;
}

static bool native_reverse(struct cv_native_row *row)
{
    const char *end = row->in[0].bytes.ptr + row->in[0].bytes.length;
    const char *at = end;

    while (at > row->in[0].bytes.ptr) {
        const char *last = at--;

        while (at > row->in[0].bytes.ptr && ((uint8_t)*at & 0xc0) == 0x80)
            at--;
        cv_buf_append(row->scratch, at, (size_t)(last - at));
    }
    return give(row);
}

/* --- trimming and padding -------------------------------------------------------------------- */

enum { TRIM_LEFT = 1, TRIM_RIGHT = 2 };

static bool in_set(struct cv_str set, uint32_t point)
{
    const char *at = set.ptr;
    const char *end = at + set.length;

    while (at < end)
        if (cv_utf8_next(&at, end) == point)
            return true;
    return false;
}

static bool native_trim(struct cv_native_row *row)
{
    struct cv_str text = row->in[0].bytes;
    struct cv_str set =
        row->native->argument_count == 2 ? row->in[1].bytes : (struct cv_str){" ", 1};
    const char *start = text.ptr;
    const char *end = start + text.length;

    while (row->native->number & TRIM_LEFT && start < end) {
        const char *next = start;

        if (!in_set(set, cv_utf8_next(&next, end)))
            break;
        start = next;
    }
    while (row->native->number & TRIM_RIGHT && start < end) {
        const char *last = end - 1;
        const char *at;

        while (last > start && ((uint8_t)*last & 0xc0) == 0x80)
            last--;
        at = last;
        if (!in_set(set, cv_utf8_next(&at, end)))
            break;
        end = last;
    }
    row->out.bytes = (struct cv_str){start, (size_t)(end - start)};
    return true;
}

static bool too_long(struct cv_native_row *row)
{
    return cv_native_fail(row, "the text would be longer than %zu MiB", MADE_BYTES_MAX >> 20);
}

static bool native_pad(struct cv_native_row *row)
{
    struct cv_str text = row->in[0].bytes;
    struct cv_str pad =
        row->native->argument_count == 3 ? row->in[2].bytes : (struct cv_str){" ", 1};
    size_t wanted = row->in[1].i32 < 0 ? 0 : (size_t)row->in[1].i32;
    size_t count = cv_utf8_count(text);
    size_t missing = wanted > count ? wanted - count : 0;
    size_t pad_count = cv_utf8_count(pad);

    if (missing == 0 || pad.length == 0) {
        row->out.bytes = slice_points(text, true, 0, (int64_t)wanted);
        return true;
    }
    if (missing / pad_count >= MADE_BYTES_MAX / pad.length)
        return too_long(row);
    if (row->native->number == TRIM_RIGHT)
        cv_buf_append(row->scratch, text.ptr, text.length);
    for (size_t left = missing; left > 0; left -= CV_MIN(left, pad_count))
        cv_buf_append(row->scratch, pad.ptr, cv_utf8_prefix(pad, CV_MIN(left, pad_count)));
    if (row->native->number == TRIM_LEFT)
        cv_buf_append(row->scratch, text.ptr, text.length);
    return give(row);
}

static bool native_repeat(struct cv_native_row *row)
{
    struct cv_str text = row->in[0].bytes;
    size_t count = row->in[1].i32 < 0 ? 0 : (size_t)row->in[1].i32;

    if (text.length && count > MADE_BYTES_MAX / text.length)
        return too_long(row);
    for (size_t i = 0; text.length && i < count; i++)
        cv_buf_append(row->scratch, text.ptr, text.length);
    return give(row);
}

static bool native_space(struct cv_native_row *row)
{
    size_t count = row->in[0].i32 < 0 ? 0 : (size_t)row->in[0].i32;

    if (count > MADE_BYTES_MAX)
        return too_long(row);
    for (size_t i = 0; i < count; i++)
        cv_buf_append_byte(row->scratch, ' ');
    return give(row);
}

/* --- finding and replacing ------------------------------------------------------------------- */

static const char *find(struct cv_str text, size_t from, struct cv_str part)
{
    return from > text.length ? NULL
                              : memmem(text.ptr + from, text.length - from, part.ptr, part.length);
}

/* Position in code points, from 1; 0 = not there. */
static bool native_position(struct cv_native_row *row)
{
    struct cv_str text = row->in[0].bytes;
    int64_t start = row->native->argument_count == 3 ? row->in[2].i32 : 1;
    const char *found;

    if (start < 1) {
        row->out.i32 = 0;
        return true;
    }
    if (row->in[1].bytes.length == 0) {
        row->out.i32 = 1;
        return true;
    }
    found = (size_t)start - 1 > text.length
                ? NULL
                : find(text, cv_utf8_prefix(text, (size_t)start - 1), row->in[1].bytes);
    row->out.i32 =
        found ? 1 + (int32_t)cv_utf8_count((struct cv_str){text.ptr, (size_t)(found - text.ptr)})
              : 0;
    return true;
}

/* 0 where the start is NULL, whatever the texts are. */
static bool native_locate(struct cv_native_row *row)
{
    row->out.i32 = 0;
    if (row->in[2].is_null)
        return true;
    row->out.is_null = row->in[0].is_null || row->in[1].is_null;
    return row->out.is_null || native_position(row);
}

/* locate(part, text): Spark's order is the other way about. */
static enum cv_code bind_locate(const struct cv_function *function, struct cv_call *call,
                                const struct cv_expr **ret_expr, struct cv_error *err)
{
    const struct cv_expr *part = call->arguments[0];

    call->arguments[0] = call->arguments[1];
    call->arguments[1] = part;
    if (call->argument_count == 2)
        return cv_bind_letters(function, call, ret_expr, err);
    CV_DO(cv_bind_letter(call, 0, 's', err));
    CV_DO(cv_bind_letter(call, 1, 's', err));
    CV_DO(cv_bind_letter(call, 2, 'i', err));
    *ret_expr = cv_bind_native(call, &(struct cv_native){.call = native_locate,
                                                         .flags = CV_NATIVE_NULLS,
                                                         .result = CV_PLAIN(INT)});
    return CV_OK;
}

static bool native_translate(struct cv_native_row *row)
{
    const char *at = row->in[0].bytes.ptr;
    const char *end = at + row->in[0].bytes.length;

    while (at < end) {
        const char *start = at;
        uint32_t point = cv_utf8_next(&at, end);
        const char *from = row->in[1].bytes.ptr;
        const char *from_end = from + row->in[1].bytes.length;
        const char *to = row->in[2].bytes.ptr;
        const char *to_end = to + row->in[2].bytes.length;
        bool found = false;
        uint32_t other = 0;

        while (from < from_end && !found) {
            bool gone = to >= to_end;

            found = cv_utf8_next(&from, from_end) == point;
            other = gone ? 0 : cv_utf8_next(&to, to_end);
            if (found && gone)
                start = at;
        }
        if (found && start != at)
            put_point(row->scratch, other);
        else
            cv_buf_append(row->scratch, start, (size_t)(at - start));
    }
    return give(row);
}

/* The end of the nth part; parts are told apart by `delimiter`. */
static bool native_split_part(struct cv_native_row *row)
{
    struct cv_str text = row->in[0].bytes;
    struct cv_str delimiter = row->in[1].bytes;
    int64_t wanted = row->in[2].i32;
    int64_t parts = 1;
    size_t start = 0;
    const char *found;

    if (wanted == 0)
        return cv_native_fail(row, "split_part: parts are counted from 1 or, from the end, -1");
    if (delimiter.length == 0) {
        row->out.bytes = wanted == 1 || wanted == -1 ? text : (struct cv_str){"", 0};
        return true;
    }
    for (size_t at = 0; (found = find(text, at, delimiter));
         at = (size_t)(found - text.ptr) + delimiter.length)
        parts++;
    wanted = wanted < 0 ? parts + wanted : wanted - 1;
    row->out.bytes = (struct cv_str){"", 0};
    if (wanted < 0 || wanted >= parts)
        return true;
    for (; wanted > 0; wanted--)
        start = (size_t)(find(text, start, delimiter) - text.ptr) + delimiter.length;
    found = find(text, start, delimiter);
    row->out.bytes = (struct cv_str){text.ptr + start,
                                     (found ? (size_t)(found - text.ptr) : text.length) - start};
    return true;
}

static bool native_substring_index(struct cv_native_row *row)
{
    struct cv_str text = row->in[0].bytes;
    struct cv_str delimiter = row->in[1].bytes;
    int64_t count = row->in[2].i32;
    size_t at;

    row->out.bytes = (struct cv_str){"", 0};
    if (delimiter.length == 0 || count == 0)
        return true;
    row->out.bytes = text;
    if (count > 0) {
        const char *found = NULL;

        for (at = 0; count > 0; count--) {
            found = find(text, at, delimiter);
            if (!found)
                return true;
            at = (size_t)(found - text.ptr) + 1;
        }
        row->out.bytes.length = (size_t)(found - text.ptr);
        return true;
    }
    if (text.length < delimiter.length)
        return true;
    for (at = text.length - delimiter.length + 1; at-- > 0;)
        if (memcmp(text.ptr + at, delimiter.ptr, delimiter.length) == 0 && ++count == 0) {
            at += delimiter.length;
            row->out.bytes = (struct cv_str){text.ptr + at, text.length - at};
            return true;
        }
    return true;
}

static bool native_levenshtein(struct cv_native_row *row)
{
    struct cv_str a = row->in[0].bytes;
    struct cv_str b = row->in[1].bytes;
    size_t columns = cv_utf8_count(b);
    uint32_t *line;
    const char *at = a.ptr;

    if (a.length > 65536 || b.length > 65536)
        return cv_native_fail(row, "levenshtein: a text is longer than 65536 bytes");
    line = cv_alloc((columns + 1) * sizeof *line);
    for (size_t i = 0; i <= columns; i++)
        line[i] = (uint32_t)i;
    while (at < a.ptr + a.length) {
        uint32_t point = cv_utf8_next(&at, a.ptr + a.length);
        uint32_t corner = line[0]++;
        const char *other = b.ptr;

        for (size_t i = 1; i <= columns; i++) {
            uint32_t cost = corner + (cv_utf8_next(&other, b.ptr + b.length) != point);

            corner = line[i];
            line[i] = CV_MIN(cost, CV_MIN(corner, line[i - 1]) + 1);
        }
    }
    row->out.i32 = (int32_t)line[columns];
    free(line);
    return true;
}

static enum cv_code bind_concat_ws(const struct cv_function *function, struct cv_call *call,
                                   const struct cv_expr **ret_expr, struct cv_error *err)
{
    const struct cv_type type = CV_PLAIN(STRING);
    const char *sql = "CASE WHEN $1 IS NULL THEN NULL ELSE '' END";

    (void)function;
    for (size_t i = 0; i < call->argument_count; i++)
        CV_DO(cv_bind_letter(call, i, 's', err));
    if (call->argument_count > 1)
        sql = cv_bind_list_sql(call->arena, "concat_ws(", ", ", ")", call->argument_count);
    *ret_expr = cv_bind_sql(call, sql, &type);
    return CV_OK;
}

/* --- bytes, digests and codes ---------------------------------------------------------------- */

static void put_hex(struct cv_buf *out, const uint8_t *bytes, size_t length, const char *digits)
{
    for (size_t i = 0; i < length; i++) {
        cv_buf_append_byte(out, (uint8_t)digits[bytes[i] >> 4]);
        cv_buf_append_byte(out, (uint8_t)digits[bytes[i] & 15]);
    }
}

static bool native_hex(struct cv_native_row *row)
{
    if (row->native->arguments[0].kind == CV_TYPE_LONG)
        cv_buf_printf(row->scratch, "%llX", (unsigned long long)row->in[0].i64);
    else
        put_hex(row->scratch, (const uint8_t *)row->in[0].bytes.ptr, row->in[0].bytes.length,
                "0123456789ABCDEF");
    return give(row);
}

static enum cv_code bind_hex(const struct cv_function *function, struct cv_call *call,
                             const struct cv_expr **ret_expr, struct cv_error *err)
{
    enum cv_type_kind kind = call->arguments[0]->type.kind;
    struct cv_type result = CV_PLAIN(STRING);

    if (cv_type_is_number(&call->arguments[0]->type) && !call->arguments[0]->untyped)
        CV_DO(cv_bind_letter(call, 0, 'l', err));
    else if (kind != CV_TYPE_BINARY || call->arguments[0]->untyped)
        CV_DO(cv_bind_letter(call, 0, 's', err));
    *ret_expr =
        cv_bind_native(call, &(struct cv_native){.call = function->native, .result = result});
    return CV_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* NULL for what is not hex; a digit alone in front counts for itself. */
static bool native_unhex(struct cv_native_row *row)
{
    struct cv_str text = row->in[0].bytes;
    int high = 0;

    for (size_t i = 0; i < text.length; i++) {
        int digit = hex_digit(text.ptr[i]);

        if (digit < 0) {
            row->out.is_null = true;
            return true;
        }
        if ((text.length - i) % 2 == 0)
            high = digit;
        else
            cv_buf_append_byte(row->scratch, (uint8_t)(high << 4 | digit));
    }
    return give(row);
}

static bool native_md5(struct cv_native_row *row)
{
    uint8_t digest[CV_MD5_BYTES];

    cv_md5(row->in[0].bytes.ptr, row->in[0].bytes.length, digest);
    put_hex(row->scratch, digest, sizeof digest, "0123456789abcdef");
    return give(row);
}

static bool native_sha2(struct cv_native_row *row)
{
    uint8_t digest[CV_SHA2_BYTES_MAX];
    enum cv_sha2 hash = row->native->number == 512 ? CV_SHA512 : CV_SHA256;

    cv_sha2(hash, row->in[0].bytes.ptr, row->in[0].bytes.length, digest);
    put_hex(row->scratch, digest, cv_sha2_bytes(hash), "0123456789abcdef");
    return give(row);
}

static enum cv_code bind_sha2(const struct cv_function *function, struct cv_call *call,
                              const struct cv_expr **ret_expr, struct cv_error *err)
{
    int64_t bits;

    CV_DO(cv_bind_constant_int(call, 1, "the number of bits", &bits, err));
    if (bits != 0 && bits != 256 && bits != 512)
        return cv_fail(err, CV_UNSUPPORTED, "%s: the number of bits is 256 or 512", function->name);
    CV_DO(cv_bind_letter(call, 0, 'B', err));
    call->argument_count = 1;
    *ret_expr = cv_bind_native(
        call, &(struct cv_native){.call = native_sha2, .number = bits, .result = CV_PLAIN(STRING)});
    return CV_OK;
}

static bool native_crc32(struct cv_native_row *row)
{
    row->out.i64 = cv_crc32(row->in[0].bytes.ptr, row->in[0].bytes.length);
    return true;
}

static bool native_base64(struct cv_native_row *row)
{
    cv_base64_encode(row->in[0].bytes.ptr, row->in[0].bytes.length, row->scratch);
    return give(row);
}

/* encode() and decode() between text and UTF-8, which is what a text is. */
static enum cv_code bind_charset(const struct cv_function *function, struct cv_call *call,
                                 const struct cv_expr **ret_expr, struct cv_error *err)
{
    const char *charset;
    struct cv_type type = {.kind = (enum cv_type_kind)function->number};

    CV_DO(cv_bind_constant_text(call, 1, "the character set", &charset, err));
    if (!cv_text_equal_nocase(charset, "utf-8"))
        return cv_fail(err, CV_UNSUPPORTED, "%s: the character set is 'UTF-8'", function->name);
    CV_DO(cv_bind_letter(call, 0, type.kind == CV_TYPE_STRING ? 'B' : 's', err));
    return cv_expr_cast(call, call->arguments[0], &type, false, ret_expr, err);
}

#define POINTS 1
#define TEXT1(name, native)                                                                        \
    {                                                                                              \
        name, name "(text) → string", 1, 1, cv_bind_letters, "s:s", 0, NULL, native, 0             \
    }
#define LENGTH(name, number, note)                                                                 \
    {                                                                                              \
        name, name "(text or binary) → int", 1, 1, bind_text_or_bytes, "i", 0, note,               \
            native_length, number                                                                  \
    }
#define TRIM(name, number, note)                                                                   \
    {                                                                                              \
        name, name "(text[, characters]) → string", 1, 2, cv_bind_letters, "s:s|ss:s", 0, note,    \
            native_trim, number                                                                    \
    }

const struct cv_function cv_functions_text[] = {
    TEXT1("upper", native_upper),
    TEXT1("ucase", native_upper),
    TEXT1("lower", cv_native_lower),
    TEXT1("lcase", cv_native_lower),
    {"initcap", "initcap(text) → string", 1, 1, cv_bind_letters, "s:s", 0,
     "words are what stands between blanks", native_initcap, 0},
    LENGTH("length", POINTS, "code points of a text, bytes of a binary"),
    {"len", "len(text, binary or list) → int", 1, 1, bind_len, "i", 0, "Spark's size() of a list",
     native_length, POINTS},
    LENGTH("char_length", POINTS, NULL),
    LENGTH("character_length", POINTS, NULL),
    LENGTH("octet_length", 0, "bytes"),
    LENGTH("strlen", 0, "bytes"),
    {"substring", "substring(text or binary, start[, length]) → its type", 2, 3, bind_text_or_bytes,
     "=", 0, "start 0 is 1; a negative start counts from the end", native_substring, 0},
    {"substr", "substr(text or binary, start[, length]) → its type", 2, 3, bind_text_or_bytes, "=",
     0, NULL, native_substring, 0},
    {"left", "left(text, count) → string", 2, 2, cv_bind_letters, "si:s", 0, NULL, native_left, 0},
    {"right", "right(text, count) → string", 2, 2, cv_bind_letters, "si:s", 0, NULL, native_right,
     0},
    TRIM("trim", TRIM_LEFT | TRIM_RIGHT, "blanks only, unless characters are given"),
    TRIM("btrim", TRIM_LEFT | TRIM_RIGHT, NULL),
    TRIM("ltrim", TRIM_LEFT, "Spark's own two arguments stand the other way about"),
    TRIM("rtrim", TRIM_RIGHT, "Spark's own two arguments stand the other way about"),
    {"lpad", "lpad(text, length[, padding]) → string", 2, 3, cv_bind_letters, "si:s|sis:s", 0, NULL,
     native_pad, TRIM_LEFT},
    {"rpad", "rpad(text, length[, padding]) → string", 2, 3, cv_bind_letters, "si:s|sis:s", 0, NULL,
     native_pad, TRIM_RIGHT},
    {"reverse", "reverse(text or list) → its type", 1, 1, bind_reverse, "s:s", 0, "code points",
     native_reverse, 0},
    {"repeat", "repeat(text, count) → string", 2, 2, cv_bind_letters, "si:s", 0, NULL,
     native_repeat, 0},
    {"space", "space(count) → string", 1, 1, cv_bind_letters, "i:s", 0, NULL, native_space, 0},
    {"concat_ws", "concat_ws(separator, text, …) → string", 1, 255, bind_concat_ws, NULL, 0,
     "NULL among the texts is passed over", NULL, 0},
    {"replace", "replace(text, what[, by]) → string", 2, 3, cv_bind_letters,
     "ss:s replace($1, $2, '')|sss:s replace($1, $2, $3)", 0, NULL, NULL, 0},
    {"translate", "translate(text, from, to) → string", 3, 3, cv_bind_letters, "sss:s", 0, NULL,
     native_translate, 0},
    {"instr", "instr(text, part) → int", 2, 2, cv_bind_letters, "ss:i", 0, NULL, native_position,
     0},
    {"strpos", "strpos(text, part) → int", 2, 2, cv_bind_letters, "ss:i", 0, "Spark's instr",
     native_position, 0},
    {"position", "position(part IN text) → int", 2, 2, cv_bind_letters, "ss:i",
     CV_FUNCTION_OPERATOR, NULL, native_position, 0},
    {"locate", "locate(part, text[, start]) → int", 2, 3, bind_locate, "ss:i|ssi:i", 0, NULL,
     native_position, 0},
    {"starts_with", "starts_with(text, part) → boolean", 2, 2, cv_bind_letters,
     "ss:b starts_with($1, $2)", 0, NULL, NULL, 0},
    {"startswith", "startswith(text, part) → boolean", 2, 2, cv_bind_letters,
     "ss:b starts_with($1, $2)", 0, NULL, NULL, 0},
    {"prefix", "prefix(text, part) → boolean", 2, 2, cv_bind_letters, "ss:b starts_with($1, $2)", 0,
     "Spark's startswith", NULL, 0},
    {"ends_with", "ends_with(text, part) → boolean", 2, 2, cv_bind_letters, "ss:b suffix($1, $2)",
     0, NULL, NULL, 0},
    {"endswith", "endswith(text, part) → boolean", 2, 2, cv_bind_letters, "ss:b suffix($1, $2)", 0,
     NULL, NULL, 0},
    {"suffix", "suffix(text, part) → boolean", 2, 2, cv_bind_letters, "ss:b suffix($1, $2)", 0,
     "Spark's endswith", NULL, 0},
    {"contains", "contains(text, part) → boolean", 2, 2, cv_bind_letters, "ss:b contains($1, $2)",
     0, NULL, NULL, 0},
    {"split_part", "split_part(text, delimiter, number) → string", 3, 3, cv_bind_letters, "ssi:s",
     0, "a negative number counts from the end; 0 is an error of the row", native_split_part, 0},
    {"substring_index", "substring_index(text, delimiter, count) → string", 3, 3, cv_bind_letters,
     "ssi:s", 0, NULL, native_substring_index, 0},
    {"ascii", "ascii(text) → int", 1, 1, cv_bind_letters, "s:i", 0, "the first code point",
     native_ascii, 0},
    {"chr", "chr(number) → string", 1, 1, cv_bind_letters, "l:s", 0,
     "the number modulo 256; empty for negative ones", native_chr, 0},
    {"levenshtein", "levenshtein(a, b) → int", 2, 2, cv_bind_letters, "ss:i", 0,
     "texts of at most 65536 bytes", native_levenshtein, 0},
    {"hex", "hex(number, text or binary) → string", 1, 1, bind_hex, NULL, 0, NULL, native_hex, 0},
    {"unhex", "unhex(text) → binary", 1, 1, cv_bind_letters, "s:B", 0, "NULL for other than hex",
     native_unhex, 0},
    {"md5", "md5(binary or text) → string", 1, 1, cv_bind_letters, "B:s", 0, NULL, native_md5, 0},
    {"sha1", "sha1(binary or text) → string", 1, 1, cv_bind_letters, "B:s sha1($1)", 0, NULL, NULL,
     0},
    {"sha", "sha(binary or text) → string", 1, 1, cv_bind_letters, "B:s sha1($1)", 0, NULL, NULL,
     0},
    {"sha2", "sha2(binary or text, bits) → string", 2, 2, bind_sha2, NULL, 0, "256 or 512 bits",
     NULL, 0},
    {"crc32", "crc32(binary or text) → bigint", 1, 1, cv_bind_letters, "B:l", 0, NULL, native_crc32,
     0},
    {"base64", "base64(binary or text) → string", 1, 1, cv_bind_letters, "B:s", 0, NULL,
     native_base64, 0},
    {"encode", "encode(text, 'UTF-8') → binary", 2, 2, bind_charset, NULL, 0, NULL, NULL,
     CV_TYPE_BINARY},
    {"decode", "decode(binary, 'UTF-8') → string", 2, 2, bind_charset, NULL, 0,
     "other bytes than UTF-8 are an error of the row", NULL, CV_TYPE_STRING},
};
const size_t cv_functions_text_count = CV_ARRAY_LENGTH(cv_functions_text);
