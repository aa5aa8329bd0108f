/* SPDX-License-Identifier: Apache-2.0
 *
 * What functions of SQL are made of, without a database: the table, type rules, decimals, patterns
 * of dates, letters, sketches. Values are Spark 4.0's; all functions are compared with it by
 * tests/real/test_sql_functions.py. */
#include "sql/function_int.h"
#include "sql/letter_case.h"
#include "sql/moment.h"

#include "test.h"

static struct cv_arena arena;

static void names_are_sorted_and_once(void **state)
{
    size_t count;
    const struct cv_function *all = cv_function_all(&count);

    (void)state;
    assert_true(count > 200);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(cv_function_find(all[i].name), &all[i]);
        assert_true(i == 0 || strcmp(all[i - 1].name, all[i].name) < 0);
        assert_null(cv_function_refusal(all[i].name));
        assert_true(all[i].arguments_min <= all[i].arguments_max);
    }
    assert_null(cv_function_find("read_csv"));
    assert_non_null(cv_function_refusal("read_csv"));
}

static struct cv_type decimal(int precision, int scale)
{
    return (struct cv_type){
        .kind = CV_TYPE_DECIMAL, .precision = (uint8_t)precision, .scale = (uint8_t)scale};
}

static void types_meet_as_in_spark(void **state)
{
    const struct cv_type types[] = {CV_PLAIN(INT),     CV_PLAIN(LONG),     CV_PLAIN(FLOAT),
                                    CV_PLAIN(STRING),  CV_PLAIN(DATE),     CV_PLAIN(TIMESTAMPTZ),
                                    CV_PLAIN(BOOLEAN), decimal(2, 1),      decimal(38, 30),
                                    decimal(38, 2),    CV_PLAIN(TIMESTAMP)};
    static const struct {
        size_t a, b;
        const char *common; /* NULL = none */
    } cases[] = {{0, 1, "long"},
                 {0, 2, "double"},
                 {0, 3, "long"},
                 {2, 3, "double"},
                 {4, 5, "timestamptz"},
                 {4, 3, "date"},
                 {0, 6, NULL},
                 {6, 3, "boolean"},
                 {0, 7, "decimal(11, 1)"},
                 {8, 9, "decimal(38, 2)"},
                 {7, 2, "double"},
                 {5, 10, "timestamptz"},
                 {0, 4, NULL}};
    struct cv_type common;
    char text[CV_TYPE_TEXT_BYTES];

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++) {
        assert_int_equal(cv_type_common(&types[cases[i].a], &types[cases[i].b], &common),
                         cases[i].common != NULL);
        if (!cases[i].common)
            continue;
        cv_type_text(&common, text);
        assert_string_equal(text, cases[i].common);
    }
    common = cv_decimal_adjusted(77, 20);
    assert_int_equal(common.precision * 100 + common.scale, 3806);
}

static cv_wide_int wide(const char *digits)
{
    cv_wide_int value = 0;

    for (; *digits; digits++)
        value = value * 10 + (*digits - '0');
    return value;
}

static void decimals_round_once(void **state)
{
    const struct cv_type six = decimal(38, 6);
    const cv_wide_int nines = wide("99999999999999999999999999999999999999");
    cv_wide_int value;

    (void)state;
    assert_true(cv_decimal_divide(10, 0, 3, 0, &six, &value));
    assert_true(value == 3333333);
    assert_true(cv_decimal_divide(-20, 0, 3, 0, &six, &value));
    assert_true(value == -6666667);
    assert_true(cv_decimal_divide(1, 38, 3, 38, &six, &value));
    assert_true(value == 333333);
    assert_false(cv_decimal_divide(1, 0, 0, 0, &six, &value));
    assert_false(cv_decimal_divide(nines, 0, 1, 38, &six, &value));
    /* 0.99…9 (38 digits) squared, in 512 bits */
    assert_true(cv_decimal_multiply(nines, 38, nines, 38, &six, &value));
    assert_true(value == 1000000);
    assert_false(cv_decimal_multiply(nines, 0, nines, 0, &six, &value));
    assert_true(cv_decimal_add(nines, 38, -nines, 38, &six, &value));
    assert_true(value == 0);
    assert_true(cv_decimal_add(wide("12345678901234567890123456"), 0, 5, 7, &six, &value));
    assert_true(value == wide("12345678901234567890123456000001"));
    assert_true(cv_decimal_quotient(nines, 0, 7, 1, &value) ==
                (value == nines / 7 * 10 + nines % 7 * 10 / 7));
    assert_true(
        cv_decimal_remainder(-75, 1, 2, 0, &(struct cv_type){CV_TYPE_DECIMAL, 10, 1}, &value));
    assert_true(value == -15);
    assert_true(cv_decimal_round(25, 1, 0, 'e', &(struct cv_type){CV_TYPE_DECIMAL, 10, 0}, &value));
    assert_true(value == 2);
}

static void patterns(void **state)
{
    static const struct {
        const char *pattern, *text;
        int64_t us; /* -1 = not of it */
    } cases[] = {
        {"yyyy-MM-dd HH:mm:ss", "2023-11-14 22:13:20", 1700000000000000},
        {"yyyyMMddHHmmss", "20231114221320", 1700000000000000},
        {"dd/MM/yyyy", "01/01/1970", 0},
        {"d/M/yyyy", "1/1/1970", 0},
        {"yyyy-MM-dd'T'HH:mm:ss.SSS", "1970-01-01T00:00:00.5", 500000},
        {"yyyy-MM-dd", "2023-02-29", -1},
        {"yyyy-MM-dd", "2023-2-9", -1},
        {"yyyy-MM-dd", "2023-02-09 ", -1},
        {"yyyy-MM-dd", "", -1},
    };
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;
    int64_t us;

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++) {
        CV_ASSERT_OK(cv_moment_pattern_check("f", cases[i].pattern, true, &err), &err);
        if (!cv_moment_parse(cv_str_from(cases[i].text), cases[i].pattern, &us))
            us = -1;
        assert_int_equal(us, cases[i].us);
    }
    CV_ASSERT_FAILS(cv_moment_pattern_check("f", "yyyy-QQ", true, &err), CV_UNSUPPORTED, "QQ",
                    &err);
    CV_ASSERT_FAILS(cv_moment_pattern_check("f", "HH:mm", true, &err), CV_UNSUPPORTED, "yyyy",
                    &err);
    CV_ASSERT_FAILS(cv_moment_pattern_check("f", "yyyyMd", true, &err), CV_UNSUPPORTED, "between",
                    &err);
    cv_moment_format(1700000000123456, "EEE dd MMM yy h:mm a 'o''clock' SSS D", &out);
    assert_string_equal(cv_buf_text(&out), "Tue 14 Nov 23 10:13 PM oclock 123 318");
}

static void letters(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);

    (void)state;
    cv_text_upper(cv_str_from("straße ŉ ﬁ ÿ"), &out);
    assert_string_equal(cv_buf_text(&out), "STRASSE ʼN FI Ÿ");
    cv_buf_clear(&out);
    cv_text_lower(cv_str_from("ΑΣ ΣΑ İ A.Σ"), &out);
    assert_string_equal(cv_buf_text(&out), "ας σα i̇ a.ς");
    cv_buf_clear(&out);
    cv_text_title(cv_str_from("ǆx o'NEIL ßa"), &out);
    assert_string_equal(cv_buf_text(&out), "ǅx O'neil Ssa");
}

static void sketches_count(void **state)
{
    uint8_t registers[CV_SKETCH_BYTES] = {0};
    struct cv_value one = {.kind = CV_TYPE_LONG, .i64 = 1};
    struct cv_value text = {.kind = CV_TYPE_STRING, .bytes = {"Spark", 5}};

    (void)state;
    assert_int_equal(cv_sketch_estimate(registers), 0);
    registers[3] = 7;
    assert_int_equal(cv_sketch_estimate(registers), 1);
    /* SELECT xxhash64(1L), xxhash64('Spark') */
    assert_true((int64_t)cv_spark_xxhash64(&one, &CV_PLAIN(LONG), 42) == -7001672635703045582);
    assert_true((int64_t)cv_spark_xxhash64(&text, &CV_PLAIN(STRING), 42) != 0);
}

static struct cv_expr *constant(enum cv_type_kind kind, const char *text)
{
    struct cv_expr *expr = cv_arena_new(&arena, struct cv_expr);

    *expr = (struct cv_expr){
        .kind = CV_EXPR_CONSTANT, .type = {.kind = kind}, .sql = text, .text = text};
    return expr;
}

static void wrong_calls_are_told(void **state)
{
    struct cv_natives *natives = cv_natives_new();
    const struct cv_expr *arguments[3] = {constant(CV_TYPE_STRING, "x"), constant(CV_TYPE_INT, "1"),
                                          constant(CV_TYPE_INT, "2")};
    struct cv_call call = {.arena = &arena, .natives = natives, .arguments = arguments};
    struct cv_error err = CV_ERROR_INIT;
    const struct cv_expr *expr;

    (void)state;
    call.name = "uper";
    call.argument_count = 1;
    CV_ASSERT_FAILS(cv_call_bind(&call, &expr, &err), CV_NOT_FOUND, "uper", &err);
    call.name = "rand";
    CV_ASSERT_FAILS(cv_call_bind(&call, &expr, &err), CV_UNSUPPORTED, "done again", &err);
    call.name = "upper";
    call.argument_count = 3;
    CV_ASSERT_FAILS(cv_call_bind(&call, &expr, &err), CV_SCHEMA, "3 arguments", &err);
    call.name = "size";
    call.argument_count = 1;
    CV_ASSERT_FAILS(cv_call_bind(&call, &expr, &err), CV_SCHEMA, "not a list", &err);
    call.name = "+";
    call.argument_count = 2;
    CV_ASSERT_FAILS(cv_call_bind(&call, &expr, &err), CV_SCHEMA, "\"x\" cannot be cast", &err);
    call.name = "regexp_like";
    arguments[0] = arguments[1] = constant(CV_TYPE_STRING, "(");
    CV_ASSERT_FAILS(cv_call_bind(&call, &expr, &err), CV_CONFIG, "at character", &err);
    arguments[1] = constant(CV_TYPE_STRING, "[a[b]]");
    CV_ASSERT_FAILS(cv_call_bind(&call, &expr, &err), CV_UNSUPPORTED, "classes", &err);
    cv_natives_free(natives);
    cv_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_sorted_and_once),
        cmocka_unit_test(types_meet_as_in_spark),
        cmocka_unit_test(decimals_round_once),
        cmocka_unit_test(patterns),
        cmocka_unit_test(letters),
        cmocka_unit_test(sketches_count),
        cmocka_unit_test(wrong_calls_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
