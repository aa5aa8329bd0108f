/* SPDX-License-Identifier: Apache-2.0
 *
 * Literals → values of a column's type, by the value and not by its digits: `id > 2.5` of an int
 * column is `id > 2`, `id = 2.5` is never true, and what lies beyond the type's range is decided
 * without it. The result under a NULL stays NULL, so that NOT of it is not true either. */
#include "base/time.h"
#include "codec/utf8.h"
#include "schema/cast.h"
#include "schema/predicate_int.h"

#include <math.h>
#include <stdlib.h>

#define DIGITS_MAX   38
#define EXPONENT_MAX 100000 /* beyond any decimal */

/* --- columns --------------------------------------------------------------------------------- */

/* The exact spelling wins over the letter case. */
static const struct cv_field *find_child(const struct cv_type *type, struct cv_str name)
{
    char text[1024];

    if (name.length >= sizeof text)
        return NULL;
    memcpy(text, name.ptr, name.length);
    text[name.length] = '\0';
    for (size_t i = 0; i < type->field_count; i++)
        if (strcmp(type->fields[i].name, text) == 0)
            return &type->fields[i];
    for (size_t i = 0; i < type->field_count; i++)
        if (cv_text_equal_nocase(type->fields[i].name, text))
            return &type->fields[i];
    return NULL;
}

static enum cv_code fail_unknown(const struct cv_predicate_parser *parser, struct cv_str name,
                                 const struct cv_type *type, const char *place,
                                 struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf names = CV_BUF_INIT(400);

    for (size_t i = 0; i < type->field_count && names.length < 300; i++)
        cv_buf_printf(&names, "%s%s", i ? ", " : "", type->fields[i].name);
    (void)cv_predicate_fail(parser, place, err, "there is no column %.*s", CV_STR_ARG(name));
    cv_hint(err, "the columns are: %s; texts go between single quotes", cv_buf_text(&names));
    return CV_USAGE;
}

enum cv_code cv_predicate_resolve(const struct cv_predicate_parser *parser,
                                  const struct cv_str *parts, size_t count, const char *place,
                                  struct cv_operand *ret_column, struct cv_error *err)
{
    const struct cv_type *type = &parser->schema->root;
    const struct cv_field *field = NULL;
    char text[CV_TYPE_TEXT_BYTES];
    bool never_null = true;

    for (size_t i = 0; i < count; i++) {
        if (type->kind != CV_TYPE_STRUCT) {
            cv_type_text(type, text);
            return cv_predicate_fail(parser, place, err,
                                     "%s is a %s: what is inside cannot be asked", field->name,
                                     text);
        }
        field = find_child(type, parts[i]);
        if (!field)
            return fail_unknown(parser, parts[i], type, place, err);
        never_null = never_null && field->required;
        type = &field->type;
    }
    if (cv_type_is_nested(type)) {
        cv_type_text(type, text);
        return cv_predicate_fail(parser, place, err,
                                 "column %s is a %s: only columns of primitive types can be asked",
                                 field->name, text);
    }
    *ret_column = (struct cv_operand){
        .kind = CV_OPERAND_COLUMN, .field = field, .never_null = never_null, .place = place};
    return CV_OK;
}

/* --- leaves ---------------------------------------------------------------------------------- */

static struct cv_predicate *new_leaf(struct cv_predicate_parser *parser,
                                     enum cv_predicate_kind kind, const struct cv_operand *column,
                                     const struct cv_value *values, size_t count)
{
    struct cv_predicate *leaf = cv_arena_new(parser->arena, struct cv_predicate);

    parser->node_count++;
    *leaf = (struct cv_predicate){.kind = kind, .field = column->field, .value_count = count};
    if (count)
        leaf->values = cv_arena_copy(parser->arena, values, count * sizeof *values);
    return leaf;
}

enum cv_code cv_predicate_null_check(struct cv_predicate_parser *parser,
                                     const struct cv_operand *column, bool is_null,
                                     const struct cv_predicate **ret_predicate)
{
    if (column->never_null)
        *ret_predicate = cv_predicate_constant(!is_null);
    else
        *ret_predicate = new_leaf(parser, is_null ? CV_PREDICATE_IS_NULL : CV_PREDICATE_NOT_NULL,
                                  column, NULL, 0);
    return CV_OK;
}

/* True (false) for every value, NULL for NULL: NOT_NULL OR NULL (IS_NULL AND NULL). */
static enum cv_code decided(struct cv_predicate_parser *parser, const struct cv_operand *column,
                            bool value, const struct cv_predicate **ret_predicate)
{
    const struct cv_predicate *parts[2] = {NULL, &cv_predicate_unknown};

    CV_DO(cv_predicate_null_check(parser, column, !value, &parts[0]));
    *ret_predicate =
        cv_predicate_join(parser, value ? CV_PREDICATE_OR : CV_PREDICATE_AND, parts, 2);
    return CV_OK;
}

static enum cv_code fail_type(const struct cv_predicate_parser *parser,
                              const struct cv_operand *column, const struct cv_literal *literal,
                              struct cv_error *err)
{
    static const char *const allowed[] = {
        [CV_TYPE_BOOLEAN] = "TRUE or FALSE",
        [CV_TYPE_INT] = "a number",
        [CV_TYPE_LONG] = "a number",
        [CV_TYPE_FLOAT] = "a number",
        [CV_TYPE_DOUBLE] = "a number",
        [CV_TYPE_DECIMAL] = "a number",
        [CV_TYPE_DATE] = "DATE '2026-01-31'",
        [CV_TYPE_TIME] = "'10:12:55.5'",
        [CV_TYPE_TIMESTAMP] = "TIMESTAMP '2026-01-31 10:12:55'",
        [CV_TYPE_TIMESTAMPTZ] = "TIMESTAMP '2026-01-31 10:12:55'",
        [CV_TYPE_STRING] = "a text in quotes",
        [CV_TYPE_UUID] = "'f79c3e09-677c-4bbd-a479-3f349cb785e7'",
        [CV_TYPE_FIXED] = "X'0aff'",
        [CV_TYPE_BINARY] = "X'0aff'",
    };
    char type[CV_TYPE_TEXT_BYTES];

    cv_type_text(&column->field->type, type);
    (void)cv_predicate_fail(parser, literal->place, err,
                            "column %s is a %s and cannot be compared with \"%.40s\"",
                            column->field->name, type, literal->place);
    cv_hint(err, "compare it with %s", allowed[column->field->type.kind]);
    return CV_USAGE;
}

/* --- whole numbers: int, long, decimal, date, time, timestamps -------------------------------- */

/* A literal in units of the column: it lies at `floor` when exact, else between that and the next.
 */
struct position {
    int beyond; /* -1 below, 1 above all that fits 127 bits (NaN is above) */
    cv_wide_int floor;
    bool exact;
};

/* ±digits × 10^exponent; false when it is no number or has more than 38 digits. */
static bool read_digits(struct cv_str text, cv_wide_int *ret_digits, int64_t *ret_exponent)
{
    const char *at = text.ptr, *end = text.ptr + text.length;
    bool negative = at < end && *at == '-', point = false, any = false;
    cv_wide_int limit = cv_decimal_power_of_ten(DIGITS_MAX - 1);
    int64_t written = 0, zeros = 0;
    cv_wide_int digits = 0;
    int64_t exponent = 0;

    at += at < end && (*at == '-' || *at == '+');
    for (; at < end && (*at == '.' || (unsigned char)(*at - '0') < 10); at++) {
        if (*at == '.') {
            if (point)
                return false;
            point = true;
            continue;
        }
        any = true;
        exponent -= point;
        zeros++; /* digits not yet taken in: zeros at the end never are */
        if (*at == '0')
            continue;
        for (; zeros > 0; zeros--) {
            if (digits >= limit)
                return false;
            digits *= 10;
        }
        digits += *at - '0';
    }
    if (at < end && (*at | 0x20) == 'e') {
        struct cv_str tail = {at + 1, (size_t)(end - at - 1)};

        if (!cv_parse_i64(tail, &written))
            return false;
        at = end;
    }
    *ret_digits = negative ? -digits : digits;
    *ret_exponent = exponent + zeros + CV_MAX(-EXPONENT_MAX, CV_MIN(EXPONENT_MAX, written));
    return any && at == end;
}

static struct position position_of(cv_wide_int digits, int64_t shift)
{
    struct position position = {.exact = true};
    cv_wide_int power;

    if (digits == 0)
        return position;
    if (shift > DIGITS_MAX) {
        position.beyond = digits < 0 ? -1 : 1;
    } else if (shift >= 0) {
        power = cv_decimal_power_of_ten((unsigned)shift);
        if (__builtin_mul_overflow(digits, power, &position.floor))
            position.beyond = digits < 0 ? -1 : 1;
    } else if (shift < -DIGITS_MAX) {
        position.floor = digits < 0 ? -1 : 0;
        position.exact = false;
    } else {
        power = cv_decimal_power_of_ten((unsigned)-shift);
        position.floor = digits / power;
        position.exact = digits % power == 0;
        position.floor -= digits < 0 && !position.exact;
    }
    return position;
}

static bool number_position(const struct cv_type *type, const struct cv_literal *literal,
                            struct position *ret_position)
{
    struct cv_str text = cv_str_trim_control(literal->text, true);
    cv_wide_int digits;
    int64_t exponent;
    double special;

    if (literal->kind != CV_LITERAL_NUMBER && literal->kind != CV_LITERAL_TEXT)
        return false;
    if (read_digits(text, &digits, &exponent)) {
        *ret_position =
            position_of(digits, exponent + (type->kind == CV_TYPE_DECIMAL ? type->scale : 0));
        return true;
    }
    if (!cv_parse_double(text, &special) || isfinite(special))
        return false;
    *ret_position = (struct position){.beyond = special < 0 ? -1 : 1};
    return true;
}

static bool text_position(const struct cv_type *type, const struct cv_literal *literal,
                          struct position *ret_position)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf scratch = CV_BUF_INIT(0);
    struct cv_type string = {.kind = CV_TYPE_STRING};
    struct cv_value text = {.kind = CV_TYPE_STRING, .bytes = literal->text};
    char reason[CV_CAST_REASON_BYTES];
    struct cv_value value;

    if (!cv_cast_value(&text, &string, type, &scratch, &value, reason))
        return false;
    *ret_position = (struct position){.floor = type->kind == CV_TYPE_DATE ? value.i32 : value.i64,
                                      .exact = true};
    return true;
}

static bool time_position(const struct cv_type *type, const struct cv_literal *literal,
                          struct position *ret_position)
{
    bool stamp = type->kind == CV_TYPE_TIMESTAMP || type->kind == CV_TYPE_TIMESTAMPTZ;

    if (literal->kind == CV_LITERAL_TEXT)
        return text_position(type, literal, ret_position);
    *ret_position = (struct position){.floor = literal->number, .exact = true};
    if (type->kind == CV_TYPE_TIME)
        return literal->kind == CV_LITERAL_TIME;
    if (stamp && literal->kind == CV_LITERAL_DATE)
        ret_position->floor *= CV_US_PER_DAY;
    if (!stamp && literal->kind == CV_LITERAL_TIMESTAMP) {
        ret_position->floor = cv_floor_div(literal->number, CV_US_PER_DAY);
        ret_position->exact = cv_floor_mod(literal->number, CV_US_PER_DAY) == 0;
    }
    return literal->kind == CV_LITERAL_DATE || literal->kind == CV_LITERAL_TIMESTAMP;
}

/* Least and greatest value of the type. */
static void type_range(const struct cv_type *type, cv_wide_int *ret_least, cv_wide_int *ret_most)
{
    switch (type->kind) {
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
        *ret_least = INT32_MIN;
        *ret_most = INT32_MAX;
        break;
    case CV_TYPE_DECIMAL:
        *ret_most = cv_decimal_power_of_ten(type->precision) - 1;
        *ret_least = -*ret_most;
        break;
    default:
        *ret_least = INT64_MIN;
        *ret_most = INT64_MAX;
        break;
    }
}

static struct cv_value whole_value(const struct cv_type *type, cv_wide_int number)
{
    struct cv_value value = {.kind = type->kind};

    if (type->kind == CV_TYPE_DECIMAL)
        value.decimal = number;
    else if (type->kind == CV_TYPE_INT || type->kind == CV_TYPE_DATE)
        value.i32 = (int32_t)number;
    else
        value.i64 = (int64_t)number;
    return value;
}

static enum cv_code bind_whole(struct cv_predicate_parser *parser, enum cv_predicate_kind kind,
                               const struct cv_operand *column, const struct position *position,
                               const struct cv_predicate **ret_predicate)
{
    const struct cv_type *type = &column->field->type;
    bool less = kind == CV_PREDICATE_LESS || kind == CV_PREDICATE_LESS_EQUAL;
    cv_wide_int least, most;
    struct cv_value value;
    int beyond = position->beyond;

    type_range(type, &least, &most);
    if (!beyond)
        beyond = position->floor < least ? -1 : position->floor > most ? 1 : 0;
    if (beyond)
        return decided(parser, column,
                       kind == CV_PREDICATE_NOT_EQUAL ||
                           (kind != CV_PREDICATE_EQUAL && less == (beyond > 0)),
                       ret_predicate);
    if (!position->exact) {
        if (kind == CV_PREDICATE_EQUAL || kind == CV_PREDICATE_NOT_EQUAL)
            return decided(parser, column, kind == CV_PREDICATE_NOT_EQUAL, ret_predicate);
        kind = less ? CV_PREDICATE_LESS_EQUAL : CV_PREDICATE_GREATER;
    }
    value = whole_value(type, position->floor);
    *ret_predicate = new_leaf(parser, kind, column, &value, 1);
    return CV_OK;
}

/* --- float and double ------------------------------------------------------------------------ */

static bool read_double(const struct cv_literal *literal, double *ret_value)
{
    struct cv_str text = cv_str_trim_control(literal->text, false);
    float narrow;

    if (literal->kind != CV_LITERAL_NUMBER && literal->kind != CV_LITERAL_TEXT)
        return false;
    if (!literal->single)
        return cv_parse_double(text, ret_value);
    if (!cv_parse_float(text, &narrow))
        return false;
    *ret_value = narrow;
    return true;
}

/* A float column is compared as a double, as in Spark: 1.1 lies between two floats. A text takes
 * the type of the column. */
static enum cv_code bind_float(struct cv_predicate_parser *parser, enum cv_predicate_kind kind,
                               const struct cv_operand *column, double number, bool rounded,
                               const struct cv_predicate **ret_predicate)
{
    struct cv_value value = {.kind = CV_TYPE_FLOAT, .f32 = (float)number};
    bool less = kind == CV_PREDICATE_LESS || kind == CV_PREDICATE_LESS_EQUAL;
    double wide = value.f32;

    if (!rounded && !isnan(number) && wide != number) {
        if (kind == CV_PREDICATE_EQUAL || kind == CV_PREDICATE_NOT_EQUAL)
            return decided(parser, column, kind == CV_PREDICATE_NOT_EQUAL, ret_predicate);
        if (less)
            kind = wide > number ? CV_PREDICATE_LESS : CV_PREDICATE_LESS_EQUAL;
        else
            kind = wide > number ? CV_PREDICATE_GREATER_EQUAL : CV_PREDICATE_GREATER;
    }
    *ret_predicate = new_leaf(parser, kind, column, &value, 1);
    return CV_OK;
}

/* --- the others ------------------------------------------------------------------------------ */

/* Boolean, string, uuid, fixed, binary: false when the literal is of another kind. */
static bool other_value(struct cv_predicate_parser *parser, const struct cv_type *type,
                        const struct cv_literal *literal, struct cv_value *ret_value)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf scratch = CV_BUF_INIT(0);
    struct cv_type string = {.kind = CV_TYPE_STRING};
    struct cv_value text = {.kind = CV_TYPE_STRING, .bytes = literal->text};
    struct cv_value value = {.kind = type->kind, .bytes = literal->text};
    char reason[CV_CAST_REASON_BYTES];
    bool is_text = literal->kind == CV_LITERAL_TEXT;

    switch (type->kind) {
    case CV_TYPE_BOOLEAN:
    case CV_TYPE_UUID:
        if (is_text && !cv_cast_value(&text, &string, type, &scratch, &value, reason))
            return false;
        if (type->kind == CV_TYPE_UUID) {
            if (!is_text && (literal->kind != CV_LITERAL_BYTES || value.bytes.length != 16))
                return false;
            value.bytes.ptr = cv_arena_copy(parser->arena, value.bytes.ptr, value.bytes.length);
        } else if (!is_text) {
            if (literal->kind != CV_LITERAL_BOOLEAN)
                return false;
            value.boolean = literal->boolean;
        }
        break;
    case CV_TYPE_STRING:
        if (!is_text)
            return false;
        break;
    default:
        if (!is_text && literal->kind != CV_LITERAL_BYTES)
            return false;
        break;
    }
    *ret_value = value;
    return true;
}

static enum cv_code bind_double(struct cv_predicate_parser *parser, enum cv_predicate_kind kind,
                                const struct cv_operand *column, const struct cv_literal *literal,
                                const struct cv_predicate **ret_predicate, struct cv_error *err)
{
    struct cv_value value = {.kind = CV_TYPE_DOUBLE};

    if (!read_double(literal, &value.f64))
        return fail_type(parser, column, literal, err);
    if (column->field->type.kind == CV_TYPE_FLOAT)
        return bind_float(parser, kind, column, value.f64, literal->kind == CV_LITERAL_TEXT,
                          ret_predicate);
    *ret_predicate = new_leaf(parser, kind, column, &value, 1);
    return CV_OK;
}

enum cv_code cv_predicate_bind(struct cv_predicate_parser *parser, enum cv_predicate_kind kind,
                               const struct cv_operand *column, const struct cv_literal *literal,
                               const struct cv_predicate **ret_predicate, struct cv_error *err)
{
    const struct cv_type *type = &column->field->type;
    struct position position;
    struct cv_value value;

    if (literal->kind == CV_LITERAL_NULL) {
        *ret_predicate = &cv_predicate_unknown;
        return CV_OK;
    }
    switch (type->kind) {
    case CV_TYPE_INT:
    case CV_TYPE_LONG:
    case CV_TYPE_DECIMAL:
        if (!number_position(type, literal, &position))
            return fail_type(parser, column, literal, err);
        return bind_whole(parser, kind, column, &position, ret_predicate);
    case CV_TYPE_DATE:
    case CV_TYPE_TIME:
    case CV_TYPE_TIMESTAMP:
    case CV_TYPE_TIMESTAMPTZ:
        if (!time_position(type, literal, &position))
            return fail_type(parser, column, literal, err);
        return bind_whole(parser, kind, column, &position, ret_predicate);
    case CV_TYPE_FLOAT:
    case CV_TYPE_DOUBLE:
        return bind_double(parser, kind, column, literal, ret_predicate, err);
    default:
        if (!other_value(parser, type, literal, &value))
            return fail_type(parser, column, literal, err);
        *ret_predicate = new_leaf(parser, kind, column, &value, 1);
        return CV_OK;
    }
}

/* --- IN and LIKE ----------------------------------------------------------------------------- */

static int compare_values(const void *a, const void *b)
{
    return cv_value_compare(a, b);
}

enum cv_code cv_predicate_bind_in(struct cv_predicate_parser *parser,
                                  const struct cv_operand *column,
                                  const struct cv_literal *literals, size_t count,
                                  const struct cv_predicate **ret_predicate, struct cv_error *err)
{
    CV_CLEANUP(cv_freep) struct cv_value *values = cv_alloc(count * sizeof *values);
    const struct cv_predicate *parts[2] = {NULL, &cv_predicate_unknown};
    size_t found = 0, kept = 0;
    bool has_null = false;

    for (size_t i = 0; i < count; i++) {
        CV_DO(cv_predicate_bind(parser, CV_PREDICATE_EQUAL, column, &literals[i], &parts[0], err));
        has_null |= parts[0] == &cv_predicate_unknown;
        if (parts[0]->kind == CV_PREDICATE_EQUAL)
            values[found++] = parts[0]->values[0];
    }
    qsort(values, found, sizeof *values, compare_values);
    for (size_t i = 0; i < found; i++)
        if (!kept || cv_value_compare(&values[kept - 1], &values[i]) != 0)
            values[kept++] = values[i];
    if (kept)
        parts[0] = new_leaf(parser, kept == 1 ? CV_PREDICATE_EQUAL : CV_PREDICATE_IN, column,
                            values, kept);
    else
        CV_DO(decided(parser, column, false, &parts[0]));
    *ret_predicate = has_null ? cv_predicate_join(parser, CV_PREDICATE_OR, parts, 2) : parts[0];
    return CV_OK;
}

/* The text before the first wildcard; *ret_open tells whether one % ends the pattern. False when
 * the pattern is not of that form. */
static bool pattern_prefix(struct cv_str pattern, char escape, struct cv_arena *arena,
                           struct cv_str *ret_prefix, bool *ret_open)
{
    char *text = cv_arena_alloc(arena, pattern.length + 1);
    size_t length = 0, i = 0;

    for (; i < pattern.length && pattern.ptr[i] != '%'; i++) {
        bool escaped = pattern.ptr[i] == escape;

        i += escaped;
        if (i == pattern.length || (pattern.ptr[i] == '_' && !escaped))
            return false;
        text[length++] = pattern.ptr[i];
    }
    *ret_open = i < pattern.length;
    while (i < pattern.length && pattern.ptr[i] == '%')
        i++;
    *ret_prefix = (struct cv_str){text, length};
    return i == pattern.length;
}

enum cv_code cv_predicate_bind_like(struct cv_predicate_parser *parser,
                                    const struct cv_operand *column,
                                    const struct cv_literal *pattern, char escape,
                                    const struct cv_predicate **ret_predicate, struct cv_error *err)
{
    struct cv_value value = {.kind = CV_TYPE_STRING};
    bool open;

    if (pattern->kind == CV_LITERAL_NULL) {
        *ret_predicate = &cv_predicate_unknown;
        return CV_OK;
    }
    if (column->field->type.kind != CV_TYPE_STRING || pattern->kind != CV_LITERAL_TEXT)
        return fail_type(parser, column, pattern, err);
    if (!pattern_prefix(pattern->text, escape, parser->arena, &value.bytes, &open)) {
        (void)cv_predicate_fail(parser, pattern->place, err,
                                "LIKE '%.*s' is not supported: only a text with one %% at its end",
                                CV_STR_ARG(pattern->text));
        cv_hint(err, "write LIKE 'beginning%%'; \\_ and \\%% stand for the characters themselves");
        return CV_USAGE;
    }
    *ret_predicate =
        new_leaf(parser, open ? CV_PREDICATE_STARTS_WITH : CV_PREDICATE_EQUAL, column, &value, 1);
    return CV_OK;
}
