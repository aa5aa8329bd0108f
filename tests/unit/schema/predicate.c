/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions: their text, literals of every type, NULL and NaN, bounds. The truth of each row is
 * that of Spark's SQL. */
#include "test.h"

#include "schema/predicate.h"

#include <math.h>

static const char columns[] =
    "i int, l long NOT NULL, f float, d double, dec decimal(9,2), wide decimal(38,10), day date, "
    "tm time, ts timestamp_ntz, tz timestamp, s string, u uuid, fx fixed[2], b binary, "
    "flag boolean, st struct<a:int NOT NULL, `x.y`:string, in:struct<z:int>>, li array<int>, "
    "`odd name` int, Case int, `case` int, `A.B` string";

struct fixture {
    struct cv_arena arena;
    struct cv_schema schema;
    struct cv_error err;
    const struct cv_field *field; /* the one that has a value; the others are NULL */
    struct cv_value value;
    struct cv_predicate_column column;
};

static int set_up(void **state)
{
    struct fixture *fixture = cv_alloc(sizeof *fixture);

    CV_ASSERT_OK(cv_schema_read_ddl(columns, &fixture->arena, &fixture->schema, &fixture->err),
                 &fixture->err);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    cv_arena_release(&fixture->arena);
    free(fixture);
    return 0;
}

static const struct cv_predicate *parse(struct fixture *fixture, const char *text)
{
    const struct cv_predicate *predicate = NULL;

    fixture->err = (struct cv_error)CV_ERROR_INIT;
    if (cv_predicate_parse(text, &fixture->schema, &fixture->arena, &predicate, &fixture->err) !=
        CV_OK)
        fail_msg("%s: %s", text, fixture->err.message);
    return predicate;
}

static struct cv_value value_of(void *context, const struct cv_field *field)
{
    struct fixture *fixture = context;

    if (field == fixture->field)
        return fixture->value;
    return (struct cv_value){.is_null = true, .kind = field->type.kind};
}

static void set(struct fixture *fixture, const char *name, struct cv_value value)
{
    fixture->field = cv_schema_find_name(&fixture->schema, name, true);
    assert_non_null(fixture->field);
    value.kind = fixture->field->type.kind;
    fixture->value = value;
}

static bool matches(struct fixture *fixture, const char *text)
{
    return cv_predicate_matches(parse(fixture, text), value_of, fixture);
}

static void want(struct fixture *fixture, const char *text, bool wanted)
{
    if (matches(fixture, text) != wanted)
        fail_msg("%s: %s", text, wanted ? "should match" : "should not match");
}

static void whole_numbers_compare_by_value(void **state)
{
    struct fixture *fixture = *state;

    set(fixture, "i", (struct cv_value){.i32 = 5});
    want(fixture, "i = 5", true);
    want(fixture, "I == 5L", true);
    want(fixture, "5 = i", true);
    want(fixture, "6 > i", true);
    want(fixture, "6 <= i", false);
    want(fixture, "i <> 5", false);
    want(fixture, "i != 4", true);
    want(fixture, "i < 5.5", true);
    want(fixture, "i <= 4.5", false);
    want(fixture, "i > 4.999", true);
    want(fixture, "i >= 5.001", false);
    want(fixture, "i = 5.000", true);
    want(fixture, "i = 5e0", true);
    want(fixture, "i = 0.5e1", true);
    want(fixture, "i = '5'", true);
    want(fixture, "i = 5.5", false);
    want(fixture, "i != 5.5", true);
    want(fixture, "i < 3000000000", true);
    want(fixture, "i > 3000000000", false);
    want(fixture, "i >= -3000000000", true);
    want(fixture, "i = 3000000000", false);
    want(fixture, "i <> 1e300", true);
    want(fixture, "i > -1e300", true);
    want(fixture, "i < -1e300", false);
    want(fixture, "i > 1e-300", true);
    want(fixture, "i BETWEEN 5 AND 6", true);
    want(fixture, "i NOT BETWEEN 5 AND 6", false);
    want(fixture, "i IN (1, 5, 9)", true);
    want(fixture, "i IN (1, 5.5, 3000000000)", false);
    want(fixture, "i NOT IN (1, 5.5, 3000000000)", true);
    want(fixture, "NOT (i > 5.5)", true);
    set(fixture, "i", (struct cv_value){.i32 = -3});
    want(fixture, "i < -2.5", true);
    want(fixture, "i > -2.5", false);
    want(fixture, "i >= - 3", true);
    set(fixture, "l", (struct cv_value){.i64 = INT64_MAX});
    want(fixture, "l = 9223372036854775807", true);
    want(fixture, "l < 9223372036854775808", true);
    want(fixture, "l >= 9223372036854775807.0", true);
}

static void decimals_keep_every_digit(void **state)
{
    struct fixture *fixture = *state;

    set(fixture, "dec", (struct cv_value){.decimal = 110});
    want(fixture, "dec = 1.1", true);
    want(fixture, "dec = 1.1D", true);
    want(fixture, "dec = 1.10BD", true);
    want(fixture, "dec > 1.099", true);
    want(fixture, "dec < 1.101", true);
    want(fixture, "dec = 1.101", false);
    want(fixture, "dec <= 10000000", true);
    want(fixture, "dec = 10000000", false);
    want(fixture, "dec IN (1.1, 2)", true);
    set(fixture, "wide", (struct cv_value){.decimal = -1});
    want(fixture, "wide = -0.0000000001", true);
    want(fixture, "wide < 1234567890123456789012345678", true);
    want(fixture, "wide > -99999999999999999999999999999999999999", true);
}

static void fractions_compare_as_doubles(void **state)
{
    struct fixture *fixture = *state;

    set(fixture, "f", (struct cv_value){.f32 = 1.1f}); /* 1.10000002384 */
    want(fixture, "f = 1.1", false);
    want(fixture, "f > 1.1", true);
    want(fixture, "f >= 1.1", true);
    want(fixture, "f < 1.1", false);
    want(fixture, "f <> 1.1", true);
    want(fixture, "f = 1.1F", true);
    want(fixture, "f = '1.1'", true);
    set(fixture, "f", (struct cv_value){.f32 = -1.1f});
    want(fixture, "f < -1.1", true);
    want(fixture, "f <= -1.1", true);
    set(fixture, "d", (struct cv_value){.f64 = (double)NAN});
    want(fixture, "d = 'NaN'", true);
    want(fixture, "d > 1e308", true);
    want(fixture, "d <= 'Infinity'", false);
    want(fixture, "d <> 1", true);
    set(fixture, "d", (struct cv_value){.f64 = -0.0});
    want(fixture, "d = 0", true);
    want(fixture, "d IN (0, 7)", true);
    want(fixture, "d < 0.0", false);
}

static void times_take_dates_stamps_and_texts(void **state)
{
    struct fixture *fixture = *state;

    set(fixture, "day", (struct cv_value){.i32 = 20454}); /* 2026-01-01 */
    want(fixture, "day = DATE '2026-01-01'", true);
    want(fixture, "day = '2026-01-01'", true);
    want(fixture, "day = CAST('2026-01-01' AS DATE)", true);
    want(fixture, "day = date('2026-01-01')", true);
    want(fixture, "day < TIMESTAMP '2026-01-01 00:00:01'", true);
    want(fixture, "day >= TIMESTAMP '2026-01-01 00:00:01'", false);
    want(fixture, "day >= TIMESTAMP '2026-01-01'", true);
    set(fixture, "tz", (struct cv_value){.i64 = INT64_C(1767225600000000)});
    want(fixture, "tz = TIMESTAMP '2026-01-01 00:00:00'", true);
    want(fixture, "tz = TIMESTAMP '2026-01-01 01:00:00+01:00'", true);
    want(fixture, "tz = '2026-01-01T00:00:00Z'", true);
    want(fixture, "tz >= DATE '2026-01-01' AND tz < DATE '2026-01-02'", true);
    set(fixture, "ts", (struct cv_value){.i64 = -1});
    want(fixture, "ts = TIMESTAMP_NTZ '1969-12-31 23:59:59.999999'", true);
    want(fixture, "ts < '1970-01-01 00:00:00'", true);
    set(fixture, "tm", (struct cv_value){.i64 = INT64_C(3600000000)});
    want(fixture, "tm = TIME '01:00:00' AND tm > '00:59:59.999999'", true);
}

static void texts_and_bytes(void **state)
{
    static const uint8_t uuid[16] = {0xf7, 0x9c, 0x3e, 0x09, 0x67, 0x7c, 0x4b, 0xbd,
                                     0xa4, 0x79, 0x3f, 0x34, 0x9c, 0xb7, 0x85, 0xe7};
    struct fixture *fixture = *state;

    set(fixture, "s", (struct cv_value){.bytes = cv_str_from("it's 5%_é")});
    want(fixture, "s = 'it\\'s 5%_\\u00e9'", true);
    want(fixture, "s = 'it''s 5%_é'", true);
    want(fixture, "s = \"it's 5%_é\"", true);
    want(fixture, "s LIKE 'it%'", true);
    want(fixture, "s LIKE 'it''s 5\\%\\_%'", true);
    want(fixture, "s LIKE 'it''s 5!%!_%' ESCAPE '!'", true);
    want(fixture, "s LIKE 'IT%'", false);
    want(fixture, "s NOT LIKE 'x%'", true);
    want(fixture, "s NOT LIKE 'it%'", false);
    want(fixture, "s LIKE '%'", true);
    want(fixture, "s LIKE 'it'", false);
    want(fixture, "s > 'it' AND s < 'iu'", true);
    want(fixture, "s IN ('x', 'it''s 5%_é')", true);
    set(fixture, "u", (struct cv_value){.bytes = {(const char *)uuid, 16}});
    want(fixture, "u = 'F79C3E09-677c-4bbd-a479-3f349cb785e7'", true);
    want(fixture, "u = X'f79c3e09677c4bbda4793f349cb785e7'", true);
    set(fixture, "fx", (struct cv_value){.bytes = {"\x80\x01", 2}});
    want(fixture, "fx = X'8001' AND fx > X'7fff'", true);
    set(fixture, "b", (struct cv_value){.bytes = {"ab", 2}});
    want(fixture, "b = x'6162'", true);
    want(fixture, "b = 'ab'", true);
    set(fixture, "flag", (struct cv_value){.boolean = false});
    want(fixture, "flag", false);
    want(fixture, "NOT flag", true);
    want(fixture, "! flag = TRUE", true);
    want(fixture, "flag = 'false' AND flag IN (false)", true);
}

static void null_is_neither(void **state)
{
    static const char *const never[] = {
        "i = 5",
        "i <> 5",
        "NOT i = 5",
        "i IN (1)",
        "i NOT IN (1)",
        "i = NULL",
        "NOT (i = NULL)",
        "i < 3000000000",
        "i = 5.5",
        "NOT (i = 5.5)",
        "i <> 5.5",
        "s LIKE 'a%'",
        "s NOT LIKE 'a%'",
        "NOT i BETWEEN 1 AND 2",
        "i IS NOT NULL",
        "i <=> 5",
        "NULL",
        "NOT NULL",
        "NOT (s LIKE NULL)",
        "flag OR NOT flag",
        "1 = 2",
        "NULL = 1",
    };
    static const char *const always[] = {
        "i IS NULL", "i <=> NULL", "NOT (i <=> 5)", "NOT (i IS NOT NULL)",  "i = 5 OR s IS NULL",
        "TRUE",      "1 = 1",      "NOT FALSE",     "NOT (NULL AND FALSE)", "i = 1 OR TRUE",
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(never); i++)
        want(fixture, never[i], false);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(always); i++)
        want(fixture, always[i], true);
    set(fixture, "i", (struct cv_value){.i32 = 5});
    want(fixture, "i NOT IN (1, NULL)", false);
    want(fixture, "i IN (5, NULL)", true);
    want(fixture, "NOT (i IN (1, NULL))", false);
}

static void words_bind_as_in_sql(void **state)
{
    struct fixture *fixture = *state;

    set(fixture, "i", (struct cv_value){.i32 = 5});
    want(fixture, "i = 5 OR i = 6 AND i = 7", true);
    want(fixture, "(i = 5 OR i = 6) AND i = 7", false);
    want(fixture, "NOT i = 6 AND i = 5", true);
    want(fixture, "not not i between 1 and 9 and i is not null", true);
    want(fixture, "((i)) = (5)", true);
    assert_int_equal(parse(fixture, "i = 3000000000 OR l IS NULL")->kind, CV_PREDICATE_FALSE);
    assert_int_equal(parse(fixture, "l IS NULL")->kind, CV_PREDICATE_FALSE);
    assert_int_equal(parse(fixture, "l < 1e30")->kind, CV_PREDICATE_TRUE);
    assert_int_equal(parse(fixture, "st.a IS NULL")->kind, CV_PREDICATE_IS_NULL);
}

static void names_are_found(void **state)
{
    struct fixture *fixture = *state;
    const struct cv_type *st = &cv_schema_find_name(&fixture->schema, "st", true)->type;

    assert_ptr_equal(parse(fixture, "ST.A = 1")->field, &st->fields[0]);
    assert_ptr_equal(parse(fixture, "st.`x.y` = 'q'")->field, &st->fields[1]);
    assert_ptr_equal(parse(fixture, "`st`.in.z = 1")->field, &st->fields[2].type.fields[0]);
    assert_string_equal(parse(fixture, "`odd name` = 1")->field->name, "odd name");
    assert_string_equal(parse(fixture, "`A.B` = 'x'")->field->name, "A.B");
    assert_string_equal(parse(fixture, "Case = 1")->field->name, "Case");
    assert_string_equal(parse(fixture, "case = 1")->field->name, "case");
}

static void refuse(struct fixture *fixture, const char *text, const char *message)
{
    const struct cv_predicate *predicate;

    CV_ASSERT_FAILS(
        cv_predicate_parse(text, &fixture->schema, &fixture->arena, &predicate, &fixture->err),
        CV_USAGE, message, &fixture->err);
}

static void errors_name_the_place(void **state)
{
    struct fixture *fixture = *state;

    refuse(fixture, "", "column 1: the condition ends where a column or a literal is expected");
    refuse(fixture, "i = ", "column 5");
    refuse(fixture, "l = 1 AND nope = 2", "column 11: there is no column nope");
    assert_non_null(strstr(fixture->err.hint, "i, l, f, d"));
    refuse(fixture, "i = 'five'", "column 5: column i is a int and cannot be compared");
    assert_non_null(strstr(fixture->err.hint, "a number"));
    refuse(fixture, "s = 5", "column s is a string");
    refuse(fixture, "day = '2026-13-01'", "column day is a date");
    refuse(fixture, "day = DATE '2026-02-30'", "'2026-02-30' is not a date");
    refuse(fixture, "li = 1", "column li is a list<int>");
    refuse(fixture, "li.element = 1", "what is inside cannot be asked");
    refuse(fixture, "st = 1", "only columns of primitive types");
    refuse(fixture, "i = l", "column 5: a literal is expected");
    refuse(fixture, "5 = 6 + i", "column 7");
    refuse(fixture, "system.bucket(4, i) = 1", "functions and transforms are not supported");
    refuse(fixture, "i = 1 i = 2", "AND, OR or the end is expected at \"i = 2\"");
    refuse(fixture, "(i = 1", ") is expected");
    refuse(fixture, "s LIKE '%x'", "LIKE '%x' is not supported");
    refuse(fixture, "s LIKE 'a_b%'", "is not supported");
    refuse(fixture, "s LIKE 'a\\\\\\\\_%'", "is not supported");
    refuse(fixture, "s = 'open", "column 5: the closing ' is missing");
    refuse(fixture, "b = X'0g'", "hexadecimal");
    refuse(fixture, "i", "a condition is expected, not a column alone");
    refuse(fixture, "i = 1 AND 5", "not a literal alone");
    refuse(fixture, "i # 5", "\"#\" is not understood");
    refuse(fixture, "i = 12abc", "is not a number");
    refuse(fixture, "i = 123456789012345678901234567890123456789", "cannot be compared");
    refuse(fixture, "(i = 1) = 5", "a condition cannot be compared");
    refuse(fixture, "i NOT 5", "IN, BETWEEN or LIKE is expected");
}

static void limits_hold(void **state)
{
    struct fixture *fixture = *state;
    CV_CLEANUP(cv_freep) char *text = cv_alloc(CV_PREDICATE_BYTES_MAX + 2);
    const struct cv_predicate *predicate;
    size_t length = 0;

    memset(text, '(', 200);
    refuse(fixture, text, "parentheses deeper than");
    memset(text, ' ', CV_PREDICATE_BYTES_MAX + 1);
    CV_ASSERT_FAILS(
        cv_predicate_parse(text, &fixture->schema, &fixture->arena, &predicate, &fixture->err),
        CV_LIMIT, "longer than", &fixture->err);
    text[CV_PREDICATE_BYTES_MAX] = '\0';
    for (; length + 8 < CV_PREDICATE_BYTES_MAX; length += 8)
        memcpy(text + length, length ? "or i<=9 " : "   i<=9 ", 8);
    text[length] = '\0';
    refuse(fixture, text, "more than 10000 parts");
    text[8 * 4000] = '\0';
    set(fixture, "i", (struct cv_value){.i32 = 5});
    want(fixture, text, true);
}

/* --- bounds ---------------------------------------------------------------------------------- */

static bool column_of(void *context, const struct cv_field *field,
                      struct cv_predicate_column *ret_column)
{
    struct fixture *fixture = context;

    if (field != fixture->field)
        return false;
    *ret_column = fixture->column;
    return true;
}

static void know(struct fixture *fixture, const char *name, int64_t values, int64_t nulls,
                 int64_t nans, struct cv_value lower, struct cv_value upper)
{
    fixture->field = cv_schema_find_name(&fixture->schema, name, true);
    lower.kind = upper.kind = fixture->field->type.kind;
    fixture->column = (struct cv_predicate_column){values, nulls, nans, lower, upper};
}

static void may(struct fixture *fixture, const char *text, bool wanted)
{
    if (cv_predicate_may_match(parse(fixture, text), column_of, fixture) != wanted)
        fail_msg("%s: %s", text, wanted ? "may match" : "cannot match");
}

static const struct cv_value absent = {.is_null = true};

static void bounds_rule_out(void **state)
{
    struct fixture *fixture = *state;

    know(fixture, "i", 10, 0, -1, (struct cv_value){.i32 = 5}, (struct cv_value){.i32 = 9});
    may(fixture, "i < 5", false);
    may(fixture, "i <= 5", true);
    may(fixture, "i > 9", false);
    may(fixture, "i >= 9", true);
    may(fixture, "i = 4", false);
    may(fixture, "i = 7", true);
    may(fixture, "i IN (1, 4, 10)", false);
    may(fixture, "i IN (1, 9)", true);
    may(fixture, "i <> 7", true);
    may(fixture, "i IS NULL", false);
    may(fixture, "i IS NOT NULL", true);
    may(fixture, "i = 4 OR l = 1", true);
    may(fixture, "i = 4 AND l = 1", false);
    may(fixture, "l = 1", true);
    know(fixture, "i", 10, 0, -1, (struct cv_value){.i32 = 5}, (struct cv_value){.i32 = 5});
    may(fixture, "i <> 5", false);
    may(fixture, "i NOT IN (5, 6)", false);
    may(fixture, "i NOT IN (6)", true);
    know(fixture, "i", 10, 10, -1, absent, absent);
    may(fixture, "i = 4", false);
    may(fixture, "i IS NOT NULL", false);
    may(fixture, "i IS NULL", true);
    know(fixture, "i", -1, -1, -1, absent, (struct cv_value){.i32 = 5});
    may(fixture, "i = 4", true);
    may(fixture, "i > 5", false);
    may(fixture, "i IS NULL", true);
    know(fixture, "i", 1, 0, -1, (struct cv_value){.i32 = 9}, (struct cv_value){.i32 = 5});
    may(fixture, "i = 100", true); /* inverted bounds say nothing */
}

static void nan_lies_beyond_the_bounds(void **state)
{
    struct fixture *fixture = *state;
    const struct cv_value one = {.f64 = 1}, two = {.f64 = 2};
    const struct cv_value zero = {.f64 = 0.0}, minus_zero = {.f64 = -0.0};

    know(fixture, "d", 10, 0, 0, one, two);
    may(fixture, "d > 2", false);
    may(fixture, "d = 'NaN'", false);
    know(fixture, "d", 10, 0, 3, one, two);
    may(fixture, "d > 2", true);
    may(fixture, "d < 1", false);
    may(fixture, "d = 'NaN'", true);
    know(fixture, "d", 10, 0, -1, one, two);
    may(fixture, "d > 2", true);
    know(fixture, "d", 10, 4, 6, absent, absent);
    may(fixture, "d < 1", false);
    may(fixture, "d > 1", true);
    know(fixture, "d", 10, 0, 0, minus_zero, minus_zero);
    may(fixture, "d >= 0.0", true);
    know(fixture, "d", 10, 0, 0, zero, zero);
    may(fixture, "d = -0.0", true);
    know(fixture, "d", 10, 0, 0, (struct cv_value){.f64 = (double)NAN}, two);
    may(fixture, "d < -5", true); /* NaN as a bound says nothing */
}

static void text_bounds_may_be_cut(void **state)
{
    struct fixture *fixture = *state;

    know(fixture, "s", 10, 0, -1, (struct cv_value){.bytes = cv_str_from("abc")},
         (struct cv_value){.bytes = cv_str_from("abf")});
    may(fixture, "s LIKE 'abd%'", true);
    may(fixture, "s LIKE 'abcdefgh%'", true);
    may(fixture, "s LIKE 'abg%'", false);
    may(fixture, "s LIKE 'aa%'", false);
    may(fixture, "s LIKE 'a%'", true);
    may(fixture, "s NOT LIKE 'ab%'", false);
    may(fixture, "s NOT LIKE 'abc%'", true);
    may(fixture, "s = 'abz'", false);
    know(fixture, "u", 10, 0, -1,
         (struct cv_value){.bytes = {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16}},
         (struct cv_value){.bytes = {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\3", 16}});
    may(fixture, "u = 'f79c3e09-677c-4bbd-a479-3f349cb785e7'", true); /* orders differ */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whole_numbers_compare_by_value, set_up, tear_down),
        cmocka_unit_test_setup_teardown(decimals_keep_every_digit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fractions_compare_as_doubles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(times_take_dates_stamps_and_texts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(texts_and_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(null_is_neither, set_up, tear_down),
        cmocka_unit_test_setup_teardown(words_bind_as_in_sql, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_name_the_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(limits_hold, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bounds_rule_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nan_lies_beyond_the_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_bounds_may_be_cut, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
