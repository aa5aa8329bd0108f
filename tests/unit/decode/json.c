/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON values into columns: cases 21, 22, 23, 25 of the reported faults, and the rules of
 * docs/json.md. */
#include "decode_test.h"

static void expect_one(const char *type, const char *json, const char *wanted)
{
    char text[1024];
    const char *got;

    (void)snprintf(text, sizeof text, "{\"v\":%s}", json);
    got = decode_one("json", type, text);
    if (strncmp(got, wanted, strlen(wanted)) != 0 ||
        (strncmp(wanted, "bad", 3) != 0 && strcmp(got, wanted) != 0))
        fail_msg("%s as %s: got %s, want %s", json, type, got, wanted);
}

static void numbers(void **state)
{
    expect_one("bigint", "9007199254740993", "9007199254740993");
    expect_one("bigint", "9223372036854775807", "9223372036854775807");
    expect_one("bigint", "-9223372036854775808", "-9223372036854775808");
    expect_one("bigint", "9223372036854775808", "bad: \"9223372036854775808\" is no long");
    expect_one("bigint", "18446744073709551617", "bad");
    expect_one("bigint", "\"42\"", "bad: \"42\" is no long");
    expect_one("bigint", "1e2", "bad: \"1e2\" is no long");
    expect_one("int", "1.0", "bad");
    expect_one("int", "1.5", "bad");
    expect_one("int", "-2147483648", "-2147483648");
    expect_one("int", "2147483648", "bad");
    expect_one("int", "true", "bad: a boolean for int");
    expect_one("decimal(38,2)", "12345678901234567890.12", "12345678901234567890.12");
    expect_one("decimal(10,2)", "37.5", "37.50");
    expect_one("decimal(10,2)", "-0.01", "-0.01");
    expect_one("decimal(10,2)", "1e2", "100.00");
    expect_one("decimal(10,2)", "\"120.0\"", "120.00");
    expect_one("decimal(10,2)", "99999999.99", "99999999.99");
    expect_one("decimal(10,2)", "100000000", "bad");
    expect_one("decimal(4,2)", "1.005", "1.01");
    expect_one("decimal(4,2)", "123.45", "bad: \"123.45\" is no decimal(4, 2)");
    expect_one("double", "-0", "-0");
    expect_one("double", "0.1", "0.10000000000000001");
    expect_one("double", "123456789012345678901234567890", "1.2345678901234568e+29");
    expect_one("double", "NaN", "bad: malformed JSON at byte 5: a value is expected");
    expect_one("double", "\"1.5\"", "bad");
    expect_one("float", "3.4e38", "3.39999995e+38");
    expect_one("boolean", "true", "true");
    expect_one("boolean", "false", "false");
    expect_one("boolean", "1", "bad: a number for boolean");
    expect_one("boolean", "\"yes\"", "bad");
}

static void nonnumeric_numbers(void **state)
{
    struct decoding d;

    decoding_init(&d, "json", "x double, y float", NULL);
    d.options.json_nonnumeric = true;
    decoding_open(&d);
    (void)decoding_add(&d, "{\"x\":NaN,\"y\":-Infinity}");
    (void)decoding_add(&d, "{\"x\":\"Infinity\",\"y\":\"-INF\"}");
    decoding_expect(&d, "nan|-inf\ninf|-inf\n");
    (void)decoding_add(&d, "{\"x\":\"INF\"}"); /* Spark wants a sign here */
    assert_int_equal(decoding_run(&d), CV_RECORD);
    decoding_clear(&d);
    decoding_release(&d);
}

static void timestamps(void **state)
{
    static const char *const zones[] = {"+00:00", "+0000", "+00", "Z"};
    char text[64];

    for (size_t i = 0; i < CV_ARRAY_LENGTH(zones); i++) {
        (void)snprintf(text, sizeof text, "\"2026-03-31T03:17:37.260514%s\"", zones[i]);
        expect_one("timestamp", text, "1774927057260514");
    }
    expect_one("timestamp", "\"2026-03-31 03:17:37\"", "1774927057000000");
    expect_one("timestamp", "\"2026-03-31T05:17:37.26+02:00\"", "1774927057260000");
    expect_one("timestamp", "\"2026-03-31T03:17:37.2605149Z\"", "1774927057260514");
    expect_one("timestamp", "\"2026-03-31T03:17:60Z\"", "bad");
    expect_one("timestamp", "\"2026-02-29T00:00:00Z\"", "bad");
    expect_one("timestamp", "\"1754-08-30T22:43:41.129Z\"", "-6795364578871000");
    expect_one("timestamp", "\"1969-12-31T23:59:59.999999Z\"", "-1");
    expect_one("timestamp", "\"9999-12-31T23:59:59.999999Z\"", "253402300799999999");
    expect_one("timestamp", "\"+294248-01-01T00:00:00Z\"", "bad");
    expect_one("timestamp", "\"infinity\"", "bad: \"infinity\" is no timestamptz");
    expect_one("timestamp", "1774927057", "1774927057000000");
    expect_one("timestamp", "-1", "-1000000");
    expect_one("timestamp", "9223372036855", "bad");
    expect_one("timestamp", "1.5", "bad");
    expect_one("timestamp", "\" 2026-03-31 \"", "1774915200000000");
    expect_one("timestamp", "\"2026-03-31T10:20Z\"", "bad");
    expect_one("timestamp", "\"10:20:30\"", "bad");
    expect_one("timestamp_ntz", "\"2026-03-31T03:17:37.26\"", "1774927057260000");
    expect_one("timestamp_ntz", "\"2026-03-31T03:17:37Z\"",
               "bad: \"2026-03-31T03:17:37Z\" has a "
               "zone and the column has none");
}

static void epoch_units(void **state)
{
    struct decoding d;

    decoding_init(&d, "json", "v timestamp", NULL);
    d.options.json_timestamp_unit = 2;
    decoding_open(&d);
    (void)decoding_add(&d, "{\"v\":-6795364578871000}");
    decoding_expect(&d, "-6795364578871000\n");
    d.options.json_timestamp_unit = 1;
    decoding_open(&d);
    decoding_expect(&d, "-6795364578871000000\n");
    decoding_clear(&d);
    decoding_release(&d);
}

static void other_types(void **state)
{
    expect_one("date", "\"2026-03-31\"", "20543");
    expect_one("date", "-1", "-1");
    expect_one("date", "\"2026-02-30\"", "bad");
    expect_one("date", "\" 2026-03-31\"", "20543");
    expect_one("date", "\"20260331\"", "bad");
    expect_one("time", "\"01:02:03.000004\"", "3723000004");
    expect_one("uuid", "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"",
               "x'f79c3e09677c4bbda4793f349cb785e7'");
    expect_one("binary", "\"aGk=\"", "x'6869'");
    expect_one("binary", "\"\"", "x''");
    expect_one("binary", "\"a\"", "bad: the text is no Base64");
    expect_one("binary", "\"aGk\"", "bad: the text is no Base64");
    expect_one("binary", "\"abc\"", "bad: the text is no Base64");
    expect_one("binary", "\"YQ==YQ==\"", "bad: the text is no Base64");
    expect_one("binary", "\"aGk=\\n\"", "x'6869'");
    expect_one("binary", "\"aGkK\\r\\naGk=\"", "x'68690a6869'");
    expect_one("binary", "\"aG k=\"", "bad: the text is no Base64");
    expect_one("fixed[2]", "\"aGk=\"", "x'6869'");
    expect_one("fixed[3]", "\"aGk=\"", "bad: 2 bytes for fixed[3]");
    expect_one("string", "\"a\\u00e9\\t\"", "\"a\xc3\xa9\t\"");
}

static void any_value_is_the_text_of_a_string_column(void **state)
{
    expect_one("string", "12.50", "\"12.50\"");
    expect_one("string", "-1E+2", "\"-1E+2\"");
    expect_one("string", "true", "\"true\"");
    expect_one("string", "null", "NULL");
    expect_one("string", "{\"a\": [1, null]}", "\"{\"a\": [1, null]}\"");
    expect_one("string", "[ 1 ]", "\"[ 1 ]\"");
    expect_one("string", "{\"a\":]}", "bad: malformed JSON at byte 10");
}

static void nested(void **state)
{
    struct decoding d;

    decoding_init(&d, "json",
                  "a struct<b: array<struct<c: int>>, d: map<string, double>>, t string", NULL);
    decoding_open(&d);
    (void)decoding_add(&d,
                       "{\"a\":{\"b\":[{\"c\":1},null,{\"c\":null},{}],\"d\":{\"x\":1.5,\"y\":-2}},"
                       "\"t\":\"\\u00e9\\ud83d\\ude00\"}");
    (void)decoding_add(&d, "{\"a\":{\"b\":[],\"d\":{}}}");
    (void)decoding_add(&d, " { } ");
    (void)decoding_add(&d, "{\"a\":{\"z\":{\"b\":[9]}}}");
    decoding_expect(&d, "([(1), NULL, (NULL), (NULL)], {\"x\": 1.5, \"y\": -2})|\"é😀\"\n"
                        "([], {})|NULL\nNULL|NULL\n(NULL, NULL)|NULL\n");
    decoding_clear(&d);
    decoding_release(&d);
}

/* Whatever a bad record filled before it turned out to be bad is gone. */
static void bad_records_leave_nothing_behind(void **state)
{
    static const char *const bad[] = {
        "{\"a\":{\"b\":[{\"c\":1},{\"c\":\"x\"}]}}",
        "{\"a\":{\"b\":[{\"c\":1},{\"c\":2}],\"d\":{\"x\":1,\"y\":\"z\"}}}",
        "{\"t\":\"abc\",\"a\":{\"b\":[{\"c\":1,\"e\":[1,2,\"3\"]}]}}",
        "{\"t\":\"abc\",\"a\":{\"d\":{\"x\":1}},\"n\":1.5}",
        "{\"t\":\"abc\",\"a\":{\"d\":{\"x\":1}}",
    };
    struct decoding d;

    decoding_init(&d, "json",
                  "a struct<b: array<struct<c: int, e: array<int>>>, d: map<string, double>>, t "
                  "string, n int",
                  NULL);
    d.options.mode = CV_MODE_DROPMALFORMED;
    decoding_open(&d);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(bad); i++) {
        (void)decoding_add(&d, bad[i]);
        (void)decoding_add(&d, "{\"a\":{\"b\":[{\"c\":7,\"e\":[8]}],\"d\":{\"k\":1}},\"t\":\"u\"}");
    }
    decoding_expect(&d, "([(7, [8])], {\"k\": 1})|\"u\"|NULL\n([(7, [8])], {\"k\": 1})|\"u\"|NULL\n"
                        "([(7, [8])], {\"k\": 1})|\"u\"|NULL\n([(7, [8])], {\"k\": 1})|\"u\"|NULL\n"
                        "([(7, [8])], {\"k\": 1})|\"u\"|NULL\n");
    d.options.mode = CV_MODE_PERMISSIVE;
    decoding_open(&d);
    CV_ASSERT_OK(decoding_run(&d), &d.err);
    assert_int_equal(d.batch.row_count, 10);
    decoding_clear(&d);
    decoding_release(&d);
}

/* Case 23. */
static void duplicate_keys_and_letter_case(void **state)
{
    struct decoding d;

    decoding_init(&d, "json", "id bigint, Name string", NULL);
    d.options.mode = CV_MODE_DROPMALFORMED;
    decoding_open(&d);
    (void)decoding_add(&d, "{\"id\":1,\"id\":2}");
    (void)decoding_add(&d, "{\"ID\":3}");
    (void)decoding_add(&d, "{\"Name\":\"a\",\"name\":\"b\"}");
    (void)decoding_add(&d, "{\"id\":100,\"id\":null}");
    (void)decoding_add(&d, "{\"id\":1,\"\\u0069d\":2}");
    decoding_expect(&d, "2|NULL\nNULL|NULL\nNULL|\"a\"\nNULL|NULL\n2|NULL\n");
    d.options.case_sensitive = false;
    decoding_open(&d);
    for (int i = 0; i < 2; i++) { /* the second time with what was learned */
        decoding_expect(&d, "2|NULL\n3|NULL\nNULL|NULL\n2|NULL\n");
        assert_string_equal(cv_decode_worker_bad(d.worker)->entries[0].reason,
                            "keys \"Name\" and \"name\" differ in letter case only");
    }
    decoding_clear(&d);
    decoding_release(&d);
}

static void duplicate_paths_win_whole(void **state)
{
    struct decoding d;

    decoding_init(&d, "json", "b int, c int, s struct<x: int, y: int>",
                  "value.a.b, value.a.c, value.s");
    decoding_open(&d);
    (void)decoding_add(&d, "{\"a\":{\"b\":1},\"s\":{\"x\":1},\"a\":{\"c\":2},\"s\":{\"y\":2}}");
    (void)decoding_add(&d, "{\"a\":{\"b\":1},\"a\":null}");
    (void)decoding_add(&d, "{\"a\":null}");
    decoding_expect(&d, "NULL|2|(NULL, 2)\nNULL|NULL|NULL\nNULL|NULL|NULL\n");
    decoding_clear(&d);
    (void)decoding_add(&d, "{\"a\":[1]}");
    CV_ASSERT_FAILS(decoding_run(&d), CV_RECORD,
                    "topic orders[3]@1042: field a: an object is expected", &d.err);
    decoding_clear(&d);
    decoding_release(&d);
}

static void duplicate_keys_of_a_map(void **state)
{
    char text[4096] = "{\"s\":{";
    struct decoding d;
    size_t at = strlen(text);

    decoding_init(&d, "json", "m map<int, map<string, int>>, s map<string, int>, n int",
                  "value.m, value.s, value.n");
    decoding_open(&d);
    (void)decoding_add(&d, "{\"m\":{\"1\":{\"a\":1,\"b\":2,\"a\":3},\"2\":null,\"01\":{\"c\":4}}}");
    (void)decoding_add(&d, "{\"m\":{\"1\":{\"a\":1,\"b\":2,\"a\":3}},\"n\":5}");
    decoding_expect(&d, "{2: NULL, 1: {\"c\": 4}}|NULL|NULL\n{1: {\"b\": 2, \"a\": 3}}|NULL|5\n");
    decoding_clear(&d);
    for (int i = 0; i < 100; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "\"k%d\":%d,", i % 40, i);
    (void)snprintf(text + at, sizeof text - at, "\"z\":0}}");
    (void)decoding_add(&d, text);
    CV_ASSERT_OK(decoding_run(&d), &d.err);
    assert_int_equal(d.batch.columns[1].offsets[1], 41);
    assert_non_null(strstr(decoding_rows(&d), "\"k39\": 79, \"k0\": 80, "));
    assert_non_null(strstr(decoding_rows(&d), "{\"k20\": 60, "));
    decoding_clear(&d);
    decoding_release(&d);
}

/* Case 25. */
static void null_missing_required(void **state)
{
    struct decoding d;

    decoding_init(&d, "json", "id bigint NOT NULL, note string, s struct<k: int NOT NULL>", NULL);
    d.options.mode = CV_MODE_DROPMALFORMED;
    decoding_open(&d);
    (void)decoding_add(&d, "{\"id\":1,\"note\":null}");
    (void)decoding_add(&d, "{\"id\":2}");
    (void)decoding_add(&d, "{\"note\":\"x\"}");
    (void)decoding_add(&d, "{\"id\":3,\"s\":null}");
    (void)decoding_add(&d, "{\"id\":4,\"s\":{}}");
    (void)decoding_add(&d, "{\"id\":5,\"l\":[]}");
    (void)decoding_add(&d, "{\"id\":6,\"s\":{\"k\":7}}");
    (void)decoding_add(&d, "{\"id\":7,\"s\":{\"k\":null}}");
    decoding_expect(&d, "1|NULL|NULL\n2|NULL|NULL\n3|NULL|NULL\n5|NULL|NULL\n6|NULL|(7)\n");
    assert_int_equal(cv_decode_worker_bad(d.worker)->total, 3);
    assert_string_equal(cv_decode_worker_bad(d.worker)->entries[1].field, "s.k");
    assert_string_equal(cv_decode_worker_bad(d.worker)->entries[2].field, "s.k");
    decoding_clear(&d);
    decoding_release(&d);
}

static void casts(void **state)
{
    struct decoding d;

    decoding_init(
        &d, "json",
        "b int, n bigint, f string, price decimal(10,2), again decimal(10,2), whole string",
        "cast(value.a.b AS int) AS b, TRY_CAST(value.n AS INT) AS n, CAST(value.F AS "
        "string) AS f, CAST(value.price AS DECIMAL(10,2)) AS price, value.price AS again, "
        "value AS whole");
    decoding_open(&d);
    (void)decoding_add(&d, "{\"a\":{\"b\":\" 12 \"},\"n\":\"x1\",\"F\":1.9,\"price\":37.5}");
    (void)decoding_add(&d, "{\"a\":{\"b\":1.9},\"n\":7,\"F\":[1],\"price\":\"1.005\"}");
    (void)decoding_add(&d, "{\"a\":{},\"n\":null}");
    CV_ASSERT_FAILS(decoding_run(&d), CV_RECORD, "topic orders[3]@1043: field a.b: ", &d.err);
    d.options.mode = CV_MODE_DROPMALFORMED;
    decoding_open(&d);
    decoding_expect(&d,
                    "12|NULL|\"1.9\"|37.50|37.50|\"{\"a\":{\"b\":\" 12 \"},\"n\":\"x1\",\"F\":1.9,"
                    "\"price\":37.5}\"\nNULL|NULL|NULL|NULL|NULL|\"{\"a\":{},\"n\":null}\"\n");
    decoding_clear(&d);
    decoding_release(&d);
}

static void declared_types_under_a_cast(void **state)
{
    struct decoding d;

    decoding_init(&d, "json", "b int, t string",
                  "CAST(value.a.b AS int) AS b, CAST(value.ts AS string) AS t");
    d.options.schema = "a struct<b: double>, ts timestamp";
    decoding_open(&d);
    (void)decoding_add(&d, "{\"a\":{\"b\":1.9},\"ts\":0}");
    decoding_expect(&d, "1|\"1970-01-01 00:00:00\"\n");
    d.options.schema = "a struct<b: map<string,int>>";
    decoding_close(&d);
    CV_ASSERT_FAILS(cv_decoder_open(&d.config, &d.decoder, &d.err), CV_SCHEMA,
                    "CAST(value.a.b AS int): map<string, int> cannot be cast to int", &d.err);
    decoding_clear(&d);
    d.options.schema = "a strukt";
    CV_ASSERT_FAILS(cv_decoder_open(&d.config, &d.decoder, &d.err), CV_SCHEMA, "value.schema",
                    &d.err);
    decoding_release(&d);
}

static void malformed_text(void **state)
{
    struct decoding d;

    decoding_init(&d, "json", "v int", NULL);
    d.options.mode = CV_MODE_DROPMALFORMED;
    decoding_open(&d);
    (void)decoding_add(&d, "{\"v\":1}");
    (void)decoding_add(&d, "{\"v\":1");
    (void)decoding_add(&d, "[]");
    (void)decoding_add(&d, "{\"v\":1} x");
    (void)decoding_add(&d, "\xff");
    (void)decoding_add(&d, "{\"v\":1,}");
    (void)decoding_add(&d, "{\"v\" 1}");
    (void)decoding_add(&d, "{\"v\":}");
    (void)decoding_add(&d, "{\"v\":01}");
    (void)decoding_add(&d, "{\"w\":\"\xff\"}");
    (void)decoding_add(&d, "null");
    (void)decoding_add(&d, "{\"v\":2}\n");
    decoding_expect(&d, "1\n2\n");
    assert_int_equal(cv_decode_worker_bad(d.worker)->total, 10);
    decoding_clear(&d);
    decoding_release(&d);
}

static void confluent_framing_around_json(void **state)
{
    struct decoding d;

    decoding_init(&d, "json", "v int", NULL);
    d.options.framing = 1;
    decoding_open(&d);
    (void)decoding_add_hex(&d, "00 00000007 7b2276223a377d");
    decoding_expect(&d, "7\n");
    (void)decoding_add(&d, "{\"v\":1}");
    CV_ASSERT_FAILS(
        decoding_run(&d), CV_RECORD,
        "topic orders[3]@1043: not Confluent framing: the value begins with 7b 22 76 22 "
        "3a 31 7d ({\"v\":1}), not with 00",
        &d.err);
    decoding_clear(&d);
    decoding_release(&d);
}

/* Keys in changing order and unknown ones between them: what is remembered of the order never
 * decides what a key is. */
static void key_order_is_only_a_guess(void **state)
{
    static const char *const keys[] = {"a", "ab", "a_key_of_more_than_16_bytes", "x1", "x2", ""};
    struct decoding d;
    unsigned seed = 1;

    decoding_init(&d, "json", "a int, ab int, a_key_of_more_than_16_bytes int, c int", NULL);
    decoding_open(&d);
    for (int round = 0; round < 200; round++) {
        char text[512] = "{";
        char wanted[128];
        int values[6] = {-1, -1, -1, -1, -1, -1};
        size_t at = 1;

        for (int i = 0; i < 8; i++) {
            unsigned k = (seed = seed * 1103515245 + 12345) >> 16 & 7;

            if (k >= 6 || values[k] >= 0)
                continue;
            values[k] = i;
            at += (size_t)snprintf(text + at, sizeof text - at, "%s\"%s\":%d", at > 1 ? "," : "",
                                   keys[k], i);
        }
        (void)snprintf(text + at, sizeof text - at, "}");
        (void)decoding_add(&d, text);
        at = 0;
        for (int k = 0; k < 3; k++)
            at += (size_t)(values[k] < 0
                               ? snprintf(wanted + at, sizeof wanted - at, "NULL|")
                               : snprintf(wanted + at, sizeof wanted - at, "%d|", values[k]));
        (void)snprintf(wanted + at, sizeof wanted - at, "NULL\n");
        decoding_expect(&d, wanted);
        decoding_clear(&d);
    }
    decoding_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(nonnumeric_numbers),
        cmocka_unit_test(timestamps),
        cmocka_unit_test(epoch_units),
        cmocka_unit_test(other_types),
        cmocka_unit_test(any_value_is_the_text_of_a_string_column),
        cmocka_unit_test(nested),
        cmocka_unit_test(bad_records_leave_nothing_behind),
        cmocka_unit_test(duplicate_keys_and_letter_case),
        cmocka_unit_test(duplicate_paths_win_whole),
        cmocka_unit_test(duplicate_keys_of_a_map),
        cmocka_unit_test(null_missing_required),
        cmocka_unit_test(casts),
        cmocka_unit_test(declared_types_under_a_cast),
        cmocka_unit_test(malformed_text),
        cmocka_unit_test(confluent_framing_around_json),
        cmocka_unit_test(key_order_is_only_a_guess),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
