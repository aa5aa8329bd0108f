/* SPDX-License-Identifier: Apache-2.0
 *
 * CAST against the results of Spark 4.0 in ANSI mode (and the JDK for texts of fractions). */
#include "test.h"

#include "schema/cast.h"

static struct cv_type type_of(const char *text)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_type type;

    CV_ASSERT_OK(cv_type_parse_primitive(cv_str_from(text), &type, &err), &err);
    return type;
}

static bool cast(const char *from, const struct cv_value *in, const char *to, char text[256],
                 char reason[CV_CAST_REASON_BYTES])
{
    CV_CLEANUP(cv_buf_release) struct cv_buf scratch = CV_BUF_INIT(0);
    CV_CLEANUP(cv_buf_release) struct cv_buf shown = CV_BUF_INIT(0);
    const struct cv_type from_type = type_of(from);
    const struct cv_type to_type = type_of(to);
    struct cv_value out;

    if (!cv_cast_value(in, &from_type, &to_type, &scratch, &out, reason))
        return false;
    assert_int_equal(out.kind, to_type.kind);
    cv_value_write_text(&out, &to_type, &shown);
    (void)snprintf(text, 256, "%s", cv_buf_text(&shown));
    return true;
}

static void gives(const char *from, struct cv_value in, const char *to, const char *wanted)
{
    char reason[CV_CAST_REASON_BYTES] = "";
    char text[256];

    in.kind = type_of(from).kind;
    if (!cast(from, &in, to, text, reason))
        fail_msg("%s to %s: %s (want %s)", from, to, reason, wanted);
    if (strcmp(text, wanted) != 0)
        fail_msg("%s to %s: got %s, want %s", from, to, text, wanted);
}

static void fails(const char *from, struct cv_value in, const char *to, const char *wanted)
{
    char reason[CV_CAST_REASON_BYTES] = "";
    char text[256];

    in.kind = type_of(from).kind;
    if (cast(from, &in, to, text, reason))
        fail_msg("%s to %s gave %s", from, to, text);
    if (!strstr(reason, wanted))
        fail_msg("reason \"%s\" lacks \"%s\"", reason, wanted);
}

#define TEXT(text)     ((struct cv_value){.bytes = {(text), sizeof(text) - 1}})
#define I32(value)     ((struct cv_value){.i32 = (value)})
#define I64(value)     ((struct cv_value){.i64 = (value)})
#define F32(value)     ((struct cv_value){.f32 = (value)})
#define F64(value)     ((struct cv_value){.f64 = (value)})
#define DECIMAL(value) ((struct cv_value){.decimal = (value)})

static void from_text_to_numbers(void **state)
{
    gives("string", TEXT(" 42 "), "int", "42");
    gives("string", TEXT("-2147483648"), "int", "-2147483648");
    fails("string", TEXT("2147483648"), "int", "\"2147483648\" cannot be cast to int");
    fails("string", TEXT("1.5"), "int", "cannot be cast");
    fails("string", TEXT(""), "int", "cannot be cast");
    gives("string", TEXT("9223372036854775807"), "long", "9223372036854775807");
    fails("string", TEXT("9223372036854775808"), "long", "cannot be cast");
    gives("string", TEXT("1e3"), "double", "1000.0");
    gives("string", TEXT("NaN"), "double", "NaN");
    gives("string", TEXT("1.5"), "float", "1.5");
    /* rounded once: its double is 16777217, whose float is 16777216 */
    gives("string", TEXT("16777217.0000000001"), "float", "1.6777218E7");
    gives("string", TEXT("7.1e-46d"), "float", "1.4E-45");
    gives("string", TEXT("3.5e38"), "float", "Infinity");
    fails("string", TEXT("x"), "double", "cannot be cast");
    gives("string", TEXT("37.5"), "decimal(10, 2)", "37.50");
    gives("string", TEXT("\t1.005\n"), "decimal(10, 2)", "1.01");
    gives("string", TEXT("-1.005"), "decimal(10, 2)", "-1.01");
    gives("string", TEXT("12345678901234567890.12"), "decimal(38, 2)", "12345678901234567890.12");
    fails("string", TEXT("123456789.00"), "decimal(10, 2)", "decimal(10, 2)");
    fails("string", TEXT("1,5"), "decimal(10, 2)", "cannot be cast");
    gives("string",
          TEXT("\x7f"
               "1\x7f"),
          "int", "1");
    fails("string",
          TEXT("\x7f"
               "1"),
          "double", "cannot be cast");
    fails("string",
          TEXT("\x7f"
               "1"),
          "decimal(10, 2)", "cannot be cast");
}

static void from_text_to_others(void **state)
{
    static const char *const yes[] = {"true", "T", "yes", "Y", "1"};
    static const char *const no[] = {"FALSE", "f", "No", "n", "0"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(yes); i++) {
        gives("string", (struct cv_value){.bytes = cv_str_from(yes[i])}, "boolean", "true");
        gives("string", (struct cv_value){.bytes = cv_str_from(no[i])}, "boolean", "false");
    }
    fails("string", TEXT("on"), "boolean", "cannot be cast to boolean");
    gives("string", TEXT("2026-03-31"), "date", "2026-03-31");
    gives("string", TEXT("2026-03-31 10:00:00"), "date", "2026-03-31");
    fails("string", TEXT("2026-02-30"), "date", "cannot be cast");
    gives("string", TEXT("2026-03-31 03:17:37"), "timestamptz", "2026-03-31T03:17:37+00:00");
    gives("string", TEXT("2026-03-31T03:17:37.5+02:00"), "timestamptz",
          "2026-03-31T01:17:37.500000+00:00");
    /* a zone is passed over for the timestamp that has none */
    gives("string", TEXT("2026-03-31T03:17:37.5+02:00"), "timestamp", "2026-03-31T03:17:37.500000");
    gives("string", TEXT("2026-03-31T03:17:37Z"), "timestamp", "2026-03-31T03:17:37");
    fails("string", TEXT("2026-03-31+01:00"), "timestamp", "cannot be cast");
    fails("string", TEXT("infinity"), "timestamptz", "cannot be cast");
    gives("string", TEXT("22:31:08"), "time", "22:31:08");
    gives("string", TEXT("F79C3E09-677C-4BBD-A479-3F349CB785E7"), "uuid",
          "f79c3e09-677c-4bbd-a479-3f349cb785e7");
    gives("string", TEXT("ab"), "binary", "6162");
    fails("string", TEXT("0123456789012345678901234567890123456789012345678901234567890123456789"),
          "int", "...");
}

static void between_numbers(void **state)
{
    gives("long", I64(2147483647), "int", "2147483647");
    fails("long", I64(2147483648), "int", "2147483648 cannot be cast to int");
    gives("double", F64(1.9), "int", "1");
    gives("double", F64(-1.9), "long", "-1");
    fails("double", F64(1e10), "int", "cannot be cast");
    fails("double", F64(9223372036854775808.0), "long", "cannot be cast");
    fails("double", F64(0.0 / 0.0), "int", "NaN cannot be cast");
    gives("double", F64(1.1), "decimal(10, 2)", "1.10");
    gives("double", F64(2.675), "decimal(10, 2)", "2.68"); /* by its shortest digits */
    gives("float", F32(1.1f), "decimal(10, 2)", "1.10");
    /* by the digits of its double */
    gives("float", F32(2268.131103515625f), "decimal(18, 6)", "2268.131104");
    gives("float", F32(0.005f), "decimal(10, 2)", "0.00");
    gives("float", F32(2147483648.0f), "decimal(38, 0)", "2147483648");
    fails("double", F64(1e9), "decimal(10, 2)", "cannot be cast");
    fails("double", F64(1.0 / 0.0), "decimal(10, 2)", "Infinity");
    gives("double", F64(1.5), "float", "1.5");
    gives("int", I32(7), "decimal(10, 2)", "7.00");
    fails("int", I32(100000000), "decimal(10, 2)", "cannot be cast");
    gives("int", I32(0), "boolean", "false");
    gives("boolean", (struct cv_value){.boolean = true}, "int", "1");
    gives("boolean", (struct cv_value){.boolean = true}, "decimal(3, 1)", "1.0");
    gives("decimal(10, 2)", DECIMAL(-199), "int", "-1");
    gives("decimal(10, 2)", DECIMAL(125), "decimal(10, 1)", "1.3");
    gives("decimal(10, 2)", DECIMAL(-125), "decimal(10, 1)", "-1.3");
    gives("decimal(10, 2)", DECIMAL(124), "decimal(10, 1)", "1.2");
    fails("decimal(10, 2)", DECIMAL(9999999999), "decimal(10, 3)", "cannot be cast");
    gives("decimal(10, 2)", DECIMAL(110), "double", "1.1");
    gives("decimal(10, 2)", DECIMAL(110), "float", "1.1");
    gives("decimal(18, 10)", DECIMAL(167772170000000001), "float", "1.6777218E7");
}

static void times(void **state)
{
    gives("long", I64(1), "timestamptz", "1970-01-01T00:00:01+00:00");
    fails("long", I64(INT64_MAX), "timestamptz", "cannot be cast");
    gives("double", F64(-1.5), "timestamptz", "1969-12-31T23:59:58.500000+00:00");
    gives("decimal(10, 2)", DECIMAL(150), "timestamptz", "1970-01-01T00:00:01.500000+00:00");
    gives("timestamptz", I64(-1), "long", "-1");
    gives("timestamptz", I64(1500000), "double", "1.5");
    gives("timestamptz", I64(1500000), "decimal(10, 2)", "1.50");
    gives("timestamptz", I64(-1), "date", "1969-12-31");
    gives("date", I32(-1), "timestamptz", "1969-12-31T00:00:00+00:00");
    gives("date", I32(-1), "timestamp", "1969-12-31T00:00:00");
    gives("timestamp", I64(1), "timestamptz", "1970-01-01T00:00:00.000001+00:00");
}

static void to_text(void **state)
{
    gives("int", I32(-7), "string", "-7");
    gives("boolean", (struct cv_value){.boolean = false}, "string", "false");
    gives("decimal(10, 2)", DECIMAL(-5), "string", "-0.05");
    gives("date", I32(20543), "string", "2026-03-31");
    gives("timestamptz", I64(1774927057260000), "string", "2026-03-31 03:17:37.26");
    gives("timestamptz", I64(1774927057000000), "string", "2026-03-31 03:17:37");
    gives("timestamp", I64(-1), "string", "1969-12-31 23:59:59.999999");
    gives("binary", TEXT("ab"), "string", "ab");
    fails("binary", TEXT("\xff"), "string", "cannot be cast");
}

/* Double.toString() and Float.toString() of JDK 19 and later. */
static void texts_of_fractions(void **state)
{
    gives("double", F64(0.0), "string", "0.0");
    gives("double", F64(-0.0), "string", "-0.0");
    gives("double", F64(100.0), "string", "100.0");
    gives("double", F64(1234567.0), "string", "1234567.0");
    gives("double", F64(12345678.0), "string", "1.2345678E7");
    gives("double", F64(1e7), "string", "1.0E7");
    gives("double", F64(0.001), "string", "0.001");
    gives("double", F64(0.0001), "string", "1.0E-4");
    gives("double", F64(0.1), "string", "0.1");
    gives("double", F64(2e23), "string", "2.0E23");
    gives("double", F64(4.9e-324), "string", "4.9E-324");
    gives("double", F64(1.7976931348623157e308), "string", "1.7976931348623157E308");
    gives("float", F32(1.1f), "string", "1.1");
    gives("float", F32(3.4028235e38f), "string", "3.4028235E38");
    gives("double", F64(-1.0 / 0.0), "string", "-Infinity");
}

static bool allowed(const char *from, const char *to)
{
    const struct cv_type from_type = type_of(from);
    const struct cv_type to_type = type_of(to);

    return cv_cast_allowed(&from_type, &to_type);
}

static void what_is_not_allowed(void **state)
{
    assert_false(allowed("int", "date"));
    assert_false(allowed("date", "int"));
    assert_false(allowed("boolean", "timestamptz"));
    assert_false(allowed("int", "binary"));
    assert_false(allowed("int", "timestamp"));
    assert_false(allowed("binary", "int"));
    assert_false(allowed("fixed[3]", "fixed[4]"));
    assert_true(allowed("fixed[3]", "fixed[3]"));
    assert_true(allowed("uuid", "string"));
}

static void null_stays_null(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf scratch = CV_BUF_INIT(0);
    const struct cv_type from = type_of("string");
    const struct cv_type to = type_of("int");
    const struct cv_value null = {.is_null = true, .kind = CV_TYPE_STRING};
    char reason[CV_CAST_REASON_BYTES];
    struct cv_value out;

    assert_true(cv_cast_value(&null, &from, &to, &scratch, &out, reason));
    assert_true(out.is_null);
}

/* The short cut may decline, but what it accepts is what the whole cast gives. */
static void the_short_cut_agrees(void **state)
{
    static const char *const texts[] = {
        "0", "-0",    "1",           "-1.5",      "00012.30", "1.", ".5",     "-",
        "",  "1.234", "99999999.99", "100000000", "1e2",      "+1", "12.3.4", "-99999999.99"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(texts); i++) {
        const struct cv_str text = cv_str_from(texts[i]);
        int64_t quick;
        cv_wide_int whole;

        if (!cv_cast_text_to_decimal64(text, 10, 2, &quick))
            continue;
        if (!cv_parse_decimal(text, 10, 2, &whole))
            fail_msg("the short cut takes %s", texts[i]);
        assert_true(whole == quick);
    }
    assert_true(cv_cast_text_to_decimal64(cv_str_from("-99999999.99"), 10, 2, &(int64_t){0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_text_to_numbers),
        cmocka_unit_test(from_text_to_others),
        cmocka_unit_test(between_numbers),
        cmocka_unit_test(times),
        cmocka_unit_test(to_text),
        cmocka_unit_test(texts_of_fractions),
        cmocka_unit_test(what_is_not_allowed),
        cmocka_unit_test(null_stays_null),
        cmocka_unit_test(the_short_cut_agrees),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
