/* SPDX-License-Identifier: Apache-2.0
 *
 * Container files of other Avro implementations (apache/arrow-testing), decoded by plans; the rows
 * were read with fastavro. */
#include "avro_test.h"

#include "base/file.h"
#include "codec/avro_file.h"

/* The first rows of the file, one text each; NULL ends the list. */
static void check_file(const char *name, const char *ddl, const char *const *rows)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf file = CV_BUF_INIT(0);
    CV_CLEANUP(cv_buf_release) struct cv_buf schema = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;
    struct cv_avro_file_reader r;
    struct cv_avro_reader objects;
    struct plan_test t;
    char path[256];
    int64_t count;
    size_t length = 0;

    (void)snprintf(path, sizeof path, "avro/arrow/avro/%s", name);
    CV_ASSERT_OK(cv_file_read(cv_test_data(path), 1 << 20, &file, &err), &err);
    CV_ASSERT_OK(cv_avro_file_reader_init(&r, file.data, file.length, &err), &err);
    cv_buf_append(&schema, r.schema_json.ptr, r.schema_json.length);
    CV_ASSERT_OK(plan_test_compile(&t, cv_buf_text(&schema), NULL, ddl, NULL, true), &t.err);
    CV_ASSERT_OK(cv_avro_file_next_block(&r, &objects, &count, &err), &err);
    for (; *rows && count > 0; rows++, count--) {
        /* objects have no length of their own: the shortest span that is a record */
        for (length = 0; !plan_test_run(&t, objects.at, length); length++) {
            cv_batch_builder_truncate(&t.builder, 0);
            if (length == (size_t)(objects.end - objects.at))
                fail_msg("%s: %s: %s", name, t.fault.field, t.fault.reason);
        }
        assert_string_equal(plan_test_row(&t), *rows);
        cv_batch_builder_truncate(&t.builder, 0);
        objects.at += length;
    }
    assert_null(*rows);
    plan_test_release(&t);
    cv_avro_file_reader_release(&r);
}

#define ALL_TYPES                                                                                  \
    "id int, bool_col boolean, tinyint_col int, smallint_col int, int_col bigint, "                \
    "bigint_col bigint, float_col float, double_col double, date_string_col binary, "              \
    "string_col binary, timestamp_col timestamp"

static void all_types(void **state)
{
    static const char *const rows[] = {
        "{id: 4, bool_col: true, tinyint_col: 0, smallint_col: 0, int_col: 0, bigint_col: 0, "
        "float_col: 0.0, double_col: 0.0, date_string_col: 30332f30312f3039, string_col: 30, "
        "timestamp_col: 2009-03-01T00:00:00+00:00}",
        "{id: 5, bool_col: false, tinyint_col: 1, smallint_col: 1, int_col: 1, bigint_col: 10, "
        "float_col: 1.1, double_col: 10.1, date_string_col: 30332f30312f3039, string_col: 31, "
        "timestamp_col: 2009-03-01T00:01:00+00:00}",
        NULL,
    };

    check_file("alltypes_plain.avro", ALL_TYPES, rows);
    check_file("alltypes_plain.snappy.avro", ALL_TYPES, rows);
    check_file("alltypes_plain.zstandard.avro", ALL_TYPES, rows);
}

static void nested_records(void **state)
{
    static const char *const rows[] = {
        "{f1: {f1_1: \"aaa\", f1_2: 10, f1_3: {f1_3_1: 3.14}}, "
        "f2: [{f2_1: true, f2_2: 1.2}, {f2_1: true, f2_2: 2.2}], f3: {f3_1: \"xyz\"}, "
        "f4: [{f4_1: 200}, null]}",
        "{f1: {f1_1: \"bbb\", f1_2: 20, f1_3: {f1_3_1: 3.14}}, f2: [{f2_1: false, f2_2: 10.2}], "
        "f3: null, f4: [null, {f4_1: 300}]}",
        NULL,
    };

    check_file("nested_records.avro",
               "f1 struct<f1_1: string, f1_2: int, f1_3: struct<f1_3_1: double>>, "
               "f2 array<struct<f2_1: boolean, f2_2: float>>, f3 struct<f3_1: string>, "
               "f4 array<struct<f4_1: bigint>>",
               rows);
}

static void deeply_nullable(void **state)
{
    static const char *const rows[] = {
        "{id: 1, int_array: [1, 2, 3], int_array_Array: [[1, 2], [3, 4]], "
        "int_map: {\"k1\": 1, \"k2\": 100}, int_Map_Array: [{\"k1\": 1}], nested_struct: {A: 1, "
        "b: [1], C: {d: [[{E: 10, F: \"aaa\"}, {E: -10, F: \"bbb\"}], [{E: 11, F: \"c\"}]]}, "
        "g: {\"foo\": {H: {i: [1.1]}}}}}",
        "{id: 2, int_array: [null, 1, 2, null, 3, null], "
        "int_array_Array: [[null, 1, 2, null], [3, null, 4], [], null], "
        "int_map: {\"k1\": 2, \"k2\": null}, int_Map_Array: [{\"k3\": null, \"k1\": 1}, null, {}], "
        "nested_struct: {A: null, b: [null], C: {d: [[{E: null, F: null}, {E: 10, F: \"aaa\"}, "
        "{E: null, F: null}, {E: -10, F: \"bbb\"}, {E: null, F: null}], [{E: 11, F: \"c\"}, null], "
        "[], null]}, g: {\"g1\": {H: {i: [2.2, null]}}, \"g2\": {H: {i: []}}, \"g3\": null, "
        "\"g4\": {H: {i: null}}, \"g5\": {H: null}}}}",
        "{id: 3, int_array: [], int_array_Array: [null], int_map: {}, int_Map_Array: [null, null], "
        "nested_struct: {A: null, b: null, C: {d: []}, g: {}}}",
        NULL,
    };

    check_file("nullable.impala.avro",
               "id bigint, int_array array<int>, int_array_Array array<array<int>>, "
               "int_map map<string,int>, int_Map_Array array<map<string,int>>, "
               "nested_struct struct<A: int, b: array<int>, "
               "C: struct<d: array<array<struct<E: int, F: string>>>>, "
               "g: map<string, struct<H: struct<i: array<double>>>>>",
               rows);
}

static void logical_types(void **state)
{
    static const char *const times[] = {
        "{id: 1, ts_millis: 1970-01-01T00:00:00+00:00, ts_micros: 1970-01-01T00:00:00+00:00, "
        "ts_nanos: 1970-01-01T00:00:00+00:00, local_ts_millis: 1970-01-01T00:00:00, "
        "local_ts_micros: 1970-01-01T00:00:00, local_ts_nanos: 1970-01-01T00:00:00}",
        "{id: 2, ts_millis: 1970-01-01T00:00:01+00:00, ts_micros: 1970-01-01T00:00:01+00:00, "
        "ts_nanos: 1970-01-01T00:00:01+00:00, local_ts_millis: 1970-01-01T00:00:01, "
        "local_ts_micros: 1970-01-01T00:00:01, local_ts_nanos: 1970-01-01T00:00:01}",
        NULL,
    };
    static const char *const uuids[] = {
        "{duration_field: 010000000f000000f4010000, "
        "uuid_field: fe7bc30b-4ce8-4c5e-b67c-2234a2d38e66}",
        "{duration_field: 0000000005000000c4090000, "
        "uuid_field: b33f2ad7-97b4-4de1-8bfe-94941d60156e}",
        NULL,
    };

    check_file("timestamp_logical_types.avro",
               "id int, ts_millis timestamp, ts_micros timestamp, ts_nanos timestamp, "
               "local_ts_millis timestamp_ntz, local_ts_micros timestamp_ntz, "
               "local_ts_nanos timestamp_ntz",
               times);
    check_file("duration_uuid.avro", "duration_field fixed[12], uuid_field uuid", uuids);
}

static void decimals(void **state)
{
    static const char *const rows[] = {"{value: 1.00}", "{value: 2.00}", "{value: 3.00}", NULL};

    check_file("fixed_length_decimal.avro", "value decimal(25,2)", rows);
    check_file("int64_decimal.avro", "value decimal(10,2)", rows);
    check_file("int64_decimal.avro", "value decimal(38,2)", rows);
}

static void enums_and_fixed(void **state)
{
    static const char *const enums[] = {"{f1: \"a\", f2: \"g\", f3: \"j\"}",
                                        "{f1: \"b\", f2: \"h\", f3: \"k\"}",
                                        "{f1: \"c\", f2: \"e\", f3: null}", NULL};
    static const char *const fixed[] = {
        "{f1: 6162636465, f2: 666768696a6b6c6d6e6f, f3: 414243444546}",
        "{f1: 3132333435, f2: 31323334353637383930, f3: null}", NULL};

    check_file("simple_enum.avro", "f1 string, f2 string, f3 string", enums);
    check_file("simple_fixed.avro", "f1 fixed[5], f2 binary, f3 fixed[6]", fixed);
}

static void edges(void **state)
{
    static const char *const bytes[] = {"{data: null}", "{data: }", "{data: 736f6d65206279746573}",
                                        NULL};
    static const char *const lists[] = {"{a: [[[\"a\", \"b\"], [\"c\"]], [null, [\"d\"]]], b: 1}",
                                        NULL};

    check_file("zero_byte.avro", "data binary", bytes);
    check_file("nested_lists.snappy.avro", "a array<array<array<string>>>, b int", lists);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types),       cmocka_unit_test(nested_records),
        cmocka_unit_test(deeply_nullable), cmocka_unit_test(logical_types),
        cmocka_unit_test(decimals),        cmocka_unit_test(enums_and_fixed),
        cmocka_unit_test(edges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
