/* SPDX-License-Identifier: Apache-2.0
 *
 * Kafka's columns, modes, tombstones, and the fit of a select and a table. */
#include "decode_test.h"

#define KAFKA_COLUMNS                                                                              \
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "  \
    "timestampType int"

static void raw_gives_the_columns_of_sparks_source(void **state)
{
    struct decoding d;
    struct cv_record *r;
    struct cv_header headers[2] = {{{"h1", 2}, (const uint8_t *)"\x01\x02", 2},
                                   {{"h2", 2}, NULL, 0}};

    decoding_init(&d, "raw", KAFKA_COLUMNS ", headers array<struct<key: string, value: binary>>",
                  NULL);
    d.config.include_headers = true;
    decoding_open(&d);
    r = decoding_add_bytes(&d, "k1", "\x00\xff", 2);
    r->headers = headers;
    r->header_count = 2;
    r->timestamp_type = 1;
    r = decoding_add_bytes(&d, "", "", 0);
    r->timestamp_ms = -1;
    r->timestamp_type = -1;
    (void)decoding_add_bytes(&d, NULL, NULL, 0);
    decoding_expect(
        &d, "x'6b31'|x'00ff'|\"orders\"|3|1042|1000000|1|[(\"h1\", x'0102'), (\"h2\", NULL)]\n"
            "x''|x''|\"orders\"|3|1043|-1000|-1|NULL\n"
            "NULL|NULL|\"orders\"|3|1044|1000000|0|NULL\n");
    decoding_clear(&d);
    decoding_release(&d);
}

static void casts_of_key_and_value(void **state)
{
    struct decoding d;

    decoding_init(&d, "raw", "k string, n int, t int, o string, p bigint, ts date",
                  "CAST(key AS STRING) AS k, n, TRY_CAST(topic AS int) t, CAST(offset AS string) "
                  "AS o, partition AS p, CAST(timestamp AS date) AS ts");
    CV_ASSERT_FAILS(cv_decoder_open(&d.config, &d.decoder, &d.err), CV_CONFIG,
                    "there is no column \"n\"", &d.err);
    d.config.select = "CAST(key AS STRING) AS k, TRY_CAST(topic AS int) t, CAST(offset AS string) "
                      "AS o, partition AS p, CAST(timestamp AS date) AS ts";
    decoding_open(&d);
    (void)decoding_add_bytes(&d, "k1", "v", 1);
    (void)decoding_add_bytes(&d, NULL, "v", 1);
    decoding_expect(&d, "\"k1\"|NULL|NULL|\"1042\"|3|0\nNULL|NULL|NULL|\"1043\"|3|0\n");
    decoding_clear(&d);
    (void)decoding_add_bytes(&d, "\xff", "v", 1);
    CV_ASSERT_FAILS(decoding_run(&d), CV_RECORD, "topic orders[3]@1042: field key: ", &d.err);
    d.options.mode = CV_MODE_PERMISSIVE;
    decoding_open(&d);
    decoding_expect(&d, "NULL|NULL|NULL|\"1042\"|3|0\n");
    decoding_clear(&d);
    decoding_release(&d);
}

static void a_timestamp_beyond_microseconds_is_a_bad_record(void **state)
{
    struct decoding d;
    struct cv_record *r;

    decoding_init(&d, "raw", "timestamp timestamp", "timestamp");
    decoding_open(&d);
    r = decoding_add(&d, "v");
    r->timestamp_ms = INT64_MAX / 1000;
    decoding_expect(&d, "9223372036854775000\n");
    r->timestamp_ms = INT64_MAX / 1000 + 1;
    CV_ASSERT_FAILS(decoding_run(&d), CV_RECORD,
                    "topic orders[3]@1042: field timestamp: 9223372036854776 ms do not fit",
                    &d.err);
    d.options.mode = CV_MODE_PERMISSIVE;
    decoding_open(&d);
    decoding_expect(&d, "NULL\n");
    decoding_clear(&d);
    decoding_release(&d);
}

static void reasons_show_text_that_a_terminal_can_take(void **state)
{
    struct decoding d;
    char text[200] = "{\"v\":\"";

    decoding_init(&d, "json", "v int", NULL);
    decoding_open(&d);
    (void)decoding_add(&d, "{\"v\":\"\\u001b[2J\\n\\u00e9\"}");
    CV_ASSERT_FAILS(decoding_run(&d), CV_RECORD, "field v: \"?[2J?\xc3\xa9\" is no int", &d.err);
    decoding_clear(&d);
    /* the quote ends after 80 bytes, here within a character */
    memset(text + 6, 'a', 79);
    (void)snprintf(text + 85, sizeof text - 85, "\xc3\xa9\"}");
    (void)decoding_add(&d, text);
    CV_ASSERT_FAILS(decoding_run(&d), CV_RECORD, "aa?\" is no int", &d.err);
    decoding_clear(&d);
    decoding_release(&d);
}

static void string_is_text(void **state)
{
    struct decoding d;

    decoding_init(&d, "string", "k string, v string, b binary", "key AS k, value AS v");
    decoding_open(&d);
    (void)decoding_add_bytes(&d, "k\xc3\xa9", "caf\xc3\xa9", 5);
    (void)decoding_add_bytes(&d, NULL, "", 0);
    decoding_expect(&d, "\"k\xc3\xa9\"|\"caf\xc3\xa9\"|NULL\nNULL|\"\"|NULL\n");
    decoding_clear(&d);
    (void)decoding_add(&d, "\xc3");
    CV_ASSERT_FAILS(decoding_run(&d), CV_RECORD,
                    "topic orders[3]@1042: field value: not valid UTF-8", &d.err);
    decoding_clear(&d);
    decoding_release(&d);
    decoding_init(&d, "string", "key binary, value string", "key, value");
    decoding_open(&d);
    (void)decoding_add_bytes(&d, "\xff", "a", 1);
    decoding_expect(&d, "x'ff'|\"a\"\n");
    decoding_clear(&d);
    decoding_release(&d);
}

static void all_problems_of_the_fit_at_once(void **state)
{
    struct decoding d;

    decoding_init(&d, "raw", "key string, v binary, v2 binary NOT NULL, Topic string, o int", NULL);
    d.config.select = "key, value AS v, topic, offset AS o, offset AS nope, value.a AS v2, "
                      "partition AS V, CAST(headers AS string) AS v2";
    assert_int_equal(cv_decoder_open(&d.config, &d.decoder, &d.err), CV_SCHEMA);
    assert_non_null(strstr(d.err.message, "key is binary and column key is string (write a CAST)"));
    assert_non_null(strstr(d.err.message, "offset is long and column o is int"));
    assert_non_null(strstr(d.err.message, "offset: the table has no column nope"));
    assert_non_null(strstr(d.err.message, "value.a: value has no fields in this value.format"));
    assert_non_null(strstr(d.err.message, "column V gets both value and partition"));
    assert_non_null(strstr(d.err.message, "CAST(headers AS string): list<"));
    d.config.select = "value AS v";
    CV_ASSERT_FAILS(cv_decoder_open(&d.config, &d.decoder, &d.err), CV_SCHEMA,
                    "column v2 is required and nothing feeds it", &d.err);
    d.config.select = "value.*";
    CV_ASSERT_FAILS(cv_decoder_open(&d.config, &d.decoder, &d.err), CV_SCHEMA,
                    "value.*: value has no fields in value.format raw", &d.err);
    d.options.format = "protobuf";
    CV_ASSERT_FAILS(cv_decoder_open(&d.config, &d.decoder, &d.err), CV_CONFIG,
                    "there is no format protobuf; there are raw, string, json", &d.err);
    decoding_release(&d);
}

static void unknown_items_are_left_out_when_asked(void **state)
{
    struct decoding d;

    decoding_init(&d, "raw", "value binary, offset bigint", NULL);
    assert_int_equal(cv_decoder_open(&d.config, &d.decoder, &d.err), CV_SCHEMA);
    d.config.ignore_unknown = true;
    decoding_open(&d);
    (void)decoding_add(&d, "a");
    decoding_expect(&d, "x'61'|1042\n");
    decoding_clear(&d);
    decoding_release(&d);
}

static void tombstones_follow_their_setting(void **state)
{
    struct cv_decode_counters counters;
    struct decoding d;

    decoding_init(&d, "json", "key string, v int", "CAST(key AS string), value.v");
    decoding_open(&d);
    (void)decoding_add_bytes(&d, "k1", NULL, 0);
    (void)decoding_add_bytes(&d, "k2", "{\"v\":7}", 7);
    decoding_expect(&d, "\"k1\"|NULL\n\"k2\"|7\n");
    d.options.tombstones = 1;
    decoding_open(&d);
    decoding_expect(&d, "\"k2\"|7\n");
    cv_decode_worker_counters(d.worker, &counters);
    assert_int_equal(counters.tombstones, 1);
    assert_int_equal(counters.rows, 1);
    assert_int_equal(counters.bad, 0);
    decoding_clear(&d);
    decoding_release(&d);
    decoding_init(&d, "json", "key string, v int NOT NULL", "CAST(key AS string), value.v");
    decoding_open(&d);
    (void)decoding_add_bytes(&d, "k1", NULL, 0);
    CV_ASSERT_FAILS(decoding_run(&d), CV_RECORD,
                    "topic orders[3]@1042: field v: a tombstone for a required column", &d.err);
    decoding_clear(&d);
    decoding_release(&d);
}

static void an_empty_value_is_a_bad_record(void **state)
{
    struct cv_decode_counters counters;
    struct decoding d;

    decoding_init(&d, "json", "v int, offset bigint", "value.v, offset");
    d.options.mode = CV_MODE_PERMISSIVE;
    decoding_open(&d);
    (void)decoding_add_bytes(&d, "k2", "", 0);
    decoding_expect(&d, "NULL|1042\n");
    cv_decode_worker_counters(d.worker, &counters);
    assert_int_equal(counters.bad, 1);
    assert_int_equal(counters.dropped, 0);
    assert_int_equal(counters.rows, 1);
    assert_int_equal(cv_decode_worker_bad(d.worker)->count, 1);
    assert_string_equal(cv_decode_worker_bad(d.worker)->entries[0].reason,
                        "the value is empty (0 bytes), not JSON");
    decoding_clear(&d);
    decoding_release(&d);
}

/* Case 25 with PERMISSIVE: a NULL in a required column never becomes a row. */
static void modes_of_a_bad_record(void **state)
{
    struct cv_decode_counters counters;
    struct decoding d;

    decoding_init(&d, "json", "id bigint NOT NULL, note string", NULL);
    d.options.mode = CV_MODE_PERMISSIVE;
    decoding_open(&d);
    (void)decoding_add(&d, "{\"id\":1,\"note\":null}");
    (void)decoding_add(&d, "{\"note\":\"x\"}");
    (void)decoding_add(&d, "{\"id\":");
    (void)decoding_add(&d, "{\"id\":2,\"note\":\"y\"}");
    decoding_expect(&d, "1|NULL\n2|\"y\"\n");
    cv_decode_worker_counters(d.worker, &counters);
    assert_int_equal(counters.bad, 2);
    assert_int_equal(counters.dropped, 2);
    assert_int_equal(cv_decode_worker_bad(d.worker)->total, 2);
    assert_string_equal(cv_decode_worker_bad(d.worker)->entries[0].field, "id");
    assert_int_equal(cv_decode_worker_bad(d.worker)->entries[1].record->offset, 1044);
    d.options.mode = CV_MODE_FAILFAST;
    decoding_open(&d);
    CV_ASSERT_FAILS(decoding_run(&d), CV_RECORD,
                    "topic orders[3]@1043: field id: NULL for a required column", &d.err);
    assert_int_equal(cv_decode_worker_bad(d.worker)->total, 1);
    decoding_clear(&d);
    decoding_release(&d);
}

static void describes_the_columns(void **state)
{
    struct decoding d;
    const char *text;

    decoding_init(&d, "json", "id bigint NOT NULL, price decimal(10,2), x string",
                  "value.*, CAST(value.p AS decimal(10,2)) AS price, offset AS x");
    d.config.table = &d.schema;
    CV_ASSERT_FAILS(cv_decoder_open(&d.config, &d.decoder, &d.err), CV_SCHEMA,
                    "offset is long and column x is string", &d.err);
    d.config.select = "value.*, CAST(value.p AS decimal(10,2)) AS price";
    decoding_open(&d);
    text = cv_decoder_describe(d.decoder, &d.arena);
    assert_string_equal(text, "value.id → id long (required)\n"
                              "CAST(value.p AS decimal(10,2)) → price decimal(10, 2)\n"
                              "value.x → x string\n");
    decoding_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_gives_the_columns_of_sparks_source),
        cmocka_unit_test(casts_of_key_and_value),
        cmocka_unit_test(a_timestamp_beyond_microseconds_is_a_bad_record),
        cmocka_unit_test(reasons_show_text_that_a_terminal_can_take),
        cmocka_unit_test(string_is_text),
        cmocka_unit_test(all_problems_of_the_fit_at_once),
        cmocka_unit_test(unknown_items_are_left_out_when_asked),
        cmocka_unit_test(tombstones_follow_their_setting),
        cmocka_unit_test(an_empty_value_is_a_bad_record),
        cmocka_unit_test(modes_of_a_bad_record),
        cmocka_unit_test(describes_the_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
