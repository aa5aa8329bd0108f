/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans without a reader schema: types, unions, containers, paths, what is passed over. */
#include "avro_test.h"

/* supplier, item, price, bid_time, order_id of the orders scenario, each in a union with null. */
#define ORDER                                                                                      \
    "{'type':'record','name':'Gen0','fields':["                                                    \
    "{'name':'supplier','type':['null','string']},"                                                \
    "{'name':'item','type':['null','string']},"                                                    \
    "{'name':'price','type':['null','string']},"                                                   \
    "{'name':'bid_time','type':['null',{'type':'long','logicalType':'timestamp-millis'}]},"        \
    "{'name':'order_id','type':['null','string']}]}"
#define ORDER_TABLE                                                                                \
    "order_id string, item string, price decimal(10,2), supplier string, bid_time timestamp"
#define ORDER_SOURCES "order_id, item, CAST price, supplier, bid_time"
/* Bob, Lamp, 37.5, 2025-10-09T08:53:20Z, u-1 */
#define ORDER_BYTES "02 06426f62 02 084c616d70 02 0833372e35 02 8080e682b966 02 06752d31"
#define ORDER_ROW                                                                                  \
    "{order_id: \"u-1\", item: \"Lamp\", price: 37.50, supplier: \"Bob\", "                        \
    "bid_time: 2025-10-09T08:53:20+00:00}"

static void decodes_an_order(void **state)
{
    struct plan_test t;

    CV_ASSERT_OK(plan_test_compile(&t, ORDER, NULL, ORDER_TABLE, ORDER_SOURCES, true), &t.err);
    check_row(&t, ORDER_BYTES, ORDER_ROW);
    check_row(&t, "00 00 00 00 00",
              "{order_id: null, item: null, price: null, supplier: null, bid_time: null}");
    check_row(&t, ORDER_BYTES, ORDER_ROW);
    check_bad(&t, "00 00 02 06616263 00 00", "price", "\"abc\" cannot be cast to decimal(10, 2)");
    check_bad(&t, ORDER_BYTES "00", "", "1 bytes are left over");
    check_bad(&t, "04 00 00 00 00", "supplier", "no such branch");
    check_bad(&t, "02 02ff 00 00 00 00", "supplier", "not valid UTF-8");
    assert_int_equal(t.builder.columns[0].length, 3);
    plan_test_release(&t);
}

/* The generator's own form: the whole record in a union with null, in either order. */
static void nullable_at_the_top(void **state)
{
    struct plan_test t;

    CV_ASSERT_OK(plan_test_compile(&t, NULLABLE(ORDER), NULL, ORDER_TABLE, ORDER_SOURCES, true),
                 &t.err);
    check_row(&t, "02" ORDER_BYTES, ORDER_ROW);
    assert_false(t.null);
    check_row(&t, "00",
              "{order_id: null, item: null, price: null, supplier: null, bid_time: null}");
    assert_true(t.null);
    plan_test_release(&t);
    CV_ASSERT_OK(
        plan_test_compile(&t, "[" ORDER ",\"null\"]", NULL, ORDER_TABLE, ORDER_SOURCES, true),
        &t.err);
    check_row(&t, "00" ORDER_BYTES, ORDER_ROW);
    check_row(&t, "02",
              "{order_id: null, item: null, price: null, supplier: null, bid_time: null}");
    plan_test_release(&t);
}

static void primitives(void **state)
{
    check_one("{'type':'record','name':'R','fields':[{'name':'a','type':'boolean'},"
              "{'name':'b','type':'int'},{'name':'c','type':'long'},"
              "{'name':'d','type':'float'},{'name':'e','type':'double'},"
              "{'name':'f','type':'bytes'},{'name':'g','type':'string'},"
              "{'name':'h','type':{'type':'fixed','name':'F','size':3}}]}",
              "a boolean, b int, c bigint, d float, e double, f binary, g string, h fixed[3]",
              "01 ffffffff0f feffffffffffffffff01 0000c03f 000000000000f8bf 04dead 04c3a9 010203",
              "{a: true, b: -2147483648, c: 9223372036854775807, d: 1.5, e: -1.5, f: dead, "
              "g: \"\xc3\xa9\", h: 010203}");
}

/* Texts of every length around the sizes that are copied as one block. */
static void texts_of_all_lengths(void **state)
{
    char text[81];
    struct plan_test t;

    CV_ASSERT_OK(plan_test_compile(&t,
                                   "{'type':'record','name':'R','fields':["
                                   "{'name':'a','type':'string'},{'name':'b','type':'bytes'}]}",
                                   NULL, "a string, b binary", NULL, true),
                 &t.err);
    for (size_t i = 0; i < sizeof text - 1; i++)
        text[i] = (char)('!' + i);
    for (size_t length = 0; length < sizeof text; length++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(0);

        cv_avro_put_bytes(&bytes, text, length);
        cv_avro_put_bytes(&bytes, text, sizeof text - 1);
        assert_true(plan_test_run(&t, bytes.data, bytes.length));
    }
    for (size_t length = 0; length < sizeof text; length++) {
        const struct cv_builder *column = &t.builder.columns[0];

        assert_int_equal(column->offsets[length + 1] - column->offsets[length], length);
        assert_memory_equal(column->data + column->offsets[length], text, length);
    }
    assert_int_equal(t.builder.columns[1].data_length, 81 * 80);
    assert_memory_equal(t.builder.columns[1].data + 80 * 80, text, 80);
    plan_test_release(&t);
}

static void widens(void **state)
{
    check_one("{'type':'record','name':'R','fields':[{'name':'a','type':'int'},"
              "{'name':'b','type':'float'},"
              "{'name':'c','type':{'type':'bytes','logicalType':'decimal','precision':9,"
              "'scale':2}}]}",
              "a bigint, b double, c decimal(38,2)", "01 0000c03f 02ff",
              "{a: -1, b: 1.5, c: -0.01}");
}

static void bad_primitives(void **state)
{
    struct plan_test t;

    CV_ASSERT_OK(
        plan_test_compile(&t,
                          "{'type':'record','name':'R','fields':[{'name':'a','type':'boolean'},"
                          "{'name':'b','type':'int'}]}",
                          NULL, "a boolean, b int", NULL, true),
        &t.err);
    check_bad(&t, "02 00", "a", "malformed");
    check_bad(&t, "01 8080808010", "b", "malformed"); /* 2^31 */
    check_bad(&t, "01 ffffffffffffffffffff01", "b", "malformed");
    plan_test_release(&t);
}

static void logical_types(void **state)
{
    check_one("{'type':'record','name':'R','fields':["
              "{'name':'a','type':{'type':'int','logicalType':'date'}},"
              "{'name':'b','type':{'type':'int','logicalType':'time-millis'}},"
              "{'name':'c','type':{'type':'long','logicalType':'time-micros'}},"
              "{'name':'d','type':{'type':'long','logicalType':'timestamp-millis'}},"
              "{'name':'e','type':{'type':'long','logicalType':'timestamp-micros'}},"
              "{'name':'f','type':{'type':'long','logicalType':'timestamp-nanos'}}]}",
              "a date, b time, c time, d timestamp, e timestamp, f timestamp",
              "01 d00f 02 01 01 01",
              "{a: 1969-12-31, b: 00:00:01, c: 00:00:00.000001, "
              "d: 1969-12-31T23:59:59.999000+00:00, e: 1969-12-31T23:59:59.999999+00:00, "
              "f: 1969-12-31T23:59:59.999999+00:00}");
    check_one("{'type':'record','name':'R','fields':["
              "{'name':'a','type':{'type':'long',"
              "'logicalType':'local-timestamp-millis'}},"
              "{'name':'b','type':{'type':'long',"
              "'logicalType':'local-timestamp-micros'}},"
              "{'name':'c','type':{'type':'long',"
              "'logicalType':'local-timestamp-nanos'}}]}",
              "a timestamp_ntz, b timestamp_ntz, c timestamp_ntz", "02 02 d00f",
              "{a: 1970-01-01T00:00:00.001000, b: 1970-01-01T00:00:00.000001, "
              "c: 1970-01-01T00:00:00.000001}");
    /* an instant may go to a timestamp without zone (lab 08's table) */
    check_one(RECORD("R", FIELD("a", LOGICAL("long", "timestamp-millis"))), "a timestamp_ntz", "02",
              "{a: 1970-01-01T00:00:00.001000}");
    check_one("{'type':'record','name':'R','fields':["
              "{'name':'a','type':{'type':'string','logicalType':'uuid'}},"
              "{'name':'b','type':{'type':'string','logicalType':'uuid'}},"
              "{'name':'c','type':{'type':'fixed','name':'U','size':16,"
              "'logicalType':'uuid'}}]}",
              "a uuid, b string, c uuid",
              "48 66373963336530392d363737632d346262642d613437392d336633343963623738356537"
              "48 66373963336530392d363737632d346262642d613437392d336633343963623738356537"
              "f79c3e09677c4bbda4793f349cb785e7",
              "{a: f79c3e09-677c-4bbd-a479-3f349cb785e7, "
              "b: \"f79c3e09-677c-4bbd-a479-3f349cb785e7\", "
              "c: f79c3e09-677c-4bbd-a479-3f349cb785e7}");
}

static void bad_logical_values(void **state)
{
    struct plan_test t;

    CV_ASSERT_OK(
        plan_test_compile(&t,
                          "{'type':'record','name':'R','fields':["
                          "{'name':'a','type':{'type':'long','logicalType':'timestamp-millis'}},"
                          "{'name':'b','type':{'type':'int','logicalType':'time-millis'}},"
                          "{'name':'c','type':{'type':'string','logicalType':'uuid'}}]}",
                          NULL, "a timestamp, b time, c uuid", NULL, true),
        &t.err);
    check_bad(&t, "feffffffffffffffff01 00 00", "a", "beyond");
    check_bad(&t, "00 80f0b252 00", "b", "no time of day"); /* 86400000 */
    check_bad(&t, "00 01 00", "b", "no time of day");
    check_bad(&t, "00 00 0661 6262", "c", "no UUID");
    plan_test_release(&t);
}

/* case 13: decimals of any number of bytes; none and too many are bad records. */
static void decimals(void **state)
{
    struct plan_test t;

    CV_ASSERT_OK(plan_test_compile(&t, RECORD("R", FIELD("d", DECIMAL("10", "2"))), NULL,
                                   "d decimal(10,2)", NULL, true),
                 &t.err);
    check_row(&t, "02 ff", "{d: -0.01}");
    check_row(&t, "02 00", "{d: 0.00}");
    check_row(&t, "04 0080", "{d: 1.28}");
    check_row(&t, "02 80", "{d: -1.28}");
    check_row(&t, "0a 02540be3ff", "{d: 99999999.99}");
    check_row(&t, "14 ffffffffffffffffff80", "{d: -1.28}"); /* sign bytes in front */
    check_bad(&t, "00", "d", "0 bytes are no decimal");
    check_bad(&t, "12 7f7f7f7f7f7f7f7f7f", "d", "too many digits");
    check_bad(&t, "0a 02540be400", "d", "too many digits"); /* 10^10 */
    check_bad(&t, "0a fdabf41c00", "d", "too many digits"); /* -10^10 */
    check_bad(&t, "10 8000000000000000", "d", "too many digits");
    check_bad(&t, "24 7f00000000000000000000000000000000", "d", "malformed");
    plan_test_release(&t);
}

static void wide_decimals(void **state)
{
    struct plan_test t;

    CV_ASSERT_OK(
        plan_test_compile(&t,
                          RECORD("R", FIELD("d", "{\"type\":\"fixed\",\"name\":\"D\",\"size\":16,"
                                                 "\"logicalType\":\"decimal\",\"precision\":38}")),
                          NULL, "d decimal(38,0)", NULL, true),
        &t.err);
    check_row(&t, "ffffffffffffffffffffffffffffffff", "{d: -1}");
    check_row(&t, "4b3b4ca85a86c47a098a223fffffffff",
              "{d: 99999999999999999999999999999999999999}");
    check_row(&t, "b4c4b357a5793b85f675ddc000000001",
              "{d: -99999999999999999999999999999999999999}");
    check_bad(&t, "4b3b4ca85a86c47a098a224000000000", "d", "too many digits");
    plan_test_release(&t);
    /* more bytes than 16, of which the first only repeat the sign */
    check_one(RECORD("R", FIELD("d", DECIMAL("38", "0"))), "d decimal(38,0)",
              "26 0000004b3b4ca85a86c47a098a223fffffffff",
              "{d: 99999999999999999999999999999999999999}");
    check_one(RECORD("R", FIELD("d", DECIMAL("38", "0"))), "d decimal(38,0)",
              "22 ffb4c4b357a5793b85f675ddc000000001",
              "{d: -99999999999999999999999999999999999999}");
}

/* case 15: blocks with a negative count and a size in bytes, read and skipped. */
static void blocks_of_arrays_and_maps(void **state)
{
    static const char array[] = "{'type':'record','name':'R','fields':["
                                "{'name':'l','type':{'type':'array','items':'long'}},"
                                "{'name':'z','type':'int'}]}";
    static const char map[] = "{'type':'record','name':'R','fields':["
                              "{'name':'m','type':{'type':'map','values':'long'}},"
                              "{'name':'z','type':'int'}]}";
    static const char *const ddls[] = {"l array<bigint>, z int", "z int"};
    struct plan_test t;

    check_one(array, ddls[0], "03 04 02 04 00 0e", "{l: [1, 2], z: 7}");
    check_one(array, ddls[0], "04 02 04 00 0e", "{l: [1, 2], z: 7}");
    check_one(array, ddls[0], "02 02 03 04 04 06 00 0e", "{l: [1, 2, 3], z: 7}");
    check_one(array, ddls[0], "00 0e", "{l: [], z: 7}");
    check_one(map, "m map<string,bigint>, z int", "01 06 02 61 02 00 0e", "{m: {\"a\": 1}, z: 7}");
    check_one(map, "m map<string,bigint>, z int", "02 02 61 02 00 0e", "{m: {\"a\": 1}, z: 7}");
    check_one(array, "z int", "03 04 02 04 00 0e", "{z: 7}");
    check_one(array, "z int", "02 02 03 04 04 06 00 0e", "{z: 7}");
    check_one(map, "z int", "01 06 02 61 02 00 0e", "{z: 7}");
    for (size_t i = 0; i < 2; i++) {
        const char *field = i == 0 ? "l" : "";

        CV_ASSERT_OK(plan_test_compile(&t, array, NULL, ddls[i], NULL, true), &t.err);
        check_bad(&t, "ffffffffffffffffff01 00 0e", field, "malformed"); /* INT64_MIN */
        check_bad(&t, "80808080808040 020202", field, "malformed");      /* 2^40 in 3 bytes */
        check_bad(&t, "03 64 02 04 00 0e", field, "malformed"); /* a byte size past the end */
        plan_test_release(&t);
    }
}

/* Items that take no bytes cannot be used to fill memory. */
static void arrays_of_nothing(void **state)
{
    static const char writer[] =
        "{'type':'record','name':'R','fields':["
        "{'name':'l','type':{'type':'array','items':{'type':'record','name':'E',"
        "'fields':[]}}},{'name':'z','type':'int'}]}";
    struct plan_test t;

    CV_ASSERT_OK(plan_test_compile(&t, writer, NULL, "l array<struct<a: int>>, z int", NULL, true),
                 &t.err);
    check_row(&t, "04 00 0e", "{l: [{a: null}, {a: null}], z: 7}");
    check_bad(&t, "80808080808040 00 0e", "l", "malformed");
    plan_test_release(&t);
    CV_ASSERT_OK(plan_test_compile(&t, writer, NULL, "z int", NULL, true), &t.err);
    check_bad(&t, "80808080808040 00 0e", "", "malformed");
    plan_test_release(&t);
}

static void nested_containers(void **state)
{
    check_one("{'type':'record','name':'R','fields':["
              "{'name':'a','type':{'type':'array','items':['null',{'type':'array',"
              "'items':['null','string']}]}},"
              "{'name':'m','type':{'type':'map','values':['null',{'type':'record',"
              "'name':'S','fields':[{'name':'x','type':'int'},"
              "{'name':'y','type':'long'}]}]}}]}",
              "a array<array<string>>, m map<string, struct<y: bigint, q: string>>",
              "04 00 02 04 00 02 0278 00 00  04 026b 02 02 04 026c 00 00",
              "{a: [null, [null, \"x\"]], m: {\"k\": {y: 2, q: null}, \"l\": null}}");
}

/* Iceberg's maps with other keys: an array of key-value records. */
static void map_as_array(void **state)
{
    check_one("{'type':'record','name':'R','fields':["
              "{'name':'m','type':{'type':'array','logicalType':'map',"
              "'items':{'type':'record','name':'k1_v2','fields':["
              "{'name':'key','type':'int'},{'name':'value','type':'long'}]}}}]}",
              "m map<int,bigint>", "04 02 04 06 08 00", "{m: {1: 2, 3: 4}}");
}

/* case 12, without a reader: a branch that does not convert is bad only when met. */
static void unions(void **state)
{
    struct plan_test t;

    check_one("{'type':'record','name':'R','fields':["
              "{'name':'a','type':['int','null','long']},"
              "{'name':'b','type':['float','double']}]}",
              "a bigint, b double", "04 06 00 0000c03f", "{a: 3, b: 1.5}");
    check_one(RECORD("R", FIELD("a", "[\"int\",\"null\"]")), "a int", "00 0e", "{a: 7}");
    check_one(RECORD("R", FIELD("a", "[\"int\",\"null\"]")), "a int", "02", "{a: null}");
    CV_ASSERT_OK(plan_test_compile(&t, RECORD("R", FIELD("a", "[\"null\",\"string\",\"int\"]")),
                                   NULL, "a int", NULL, true),
                 &t.err);
    check_row(&t, "04 0e", "{a: 7}");
    check_row(&t, "00", "{a: null}");
    check_bad(&t, "02 0278", "a", "string cannot be written to a column of type int");
    check_bad(&t, "06", "a", "no such branch");
    check_bad(&t, "01", "a", "no such branch");
    plan_test_release(&t);
    /* a branch index that is longer than it need be */
    check_one(RECORD("R", FIELD("a", NULLABLE(INT))), "a int", "8200 0e", "{a: 7}");
}

static void refusals(void **state)
{
    check_refused(RECORD("R", FIELD("a", DOUBLE)), NULL, "a int", NULL,
                  "a: double cannot be written to a column of type int");
    check_refused(RECORD("R", FIELD("a", LONG)), NULL, "a int", NULL, "long cannot be written");
    check_refused(RECORD("R", FIELD("a", INT)), NULL, "a date", NULL, "int cannot be written");
    check_refused(RECORD("R", FIELD("a", LOGICAL("int", "date"))), NULL, "a int", NULL, "date");
    check_refused(RECORD("R", FIELD("a", STRING)), NULL, "a binary", NULL, "string");
    check_refused(RECORD("R", FIELD("a", DECIMAL("10", "2"))), NULL, "a decimal(10,3)", NULL,
                  "decimal(10, 2) cannot be written to a column of type decimal(10, 3)");
    check_refused(RECORD("R", FIELD("a", DECIMAL("10", "2"))), NULL, "a decimal(9,2)", NULL,
                  "decimal(10, 2)");
    check_refused(RECORD("R", FIELD("a", DECIMAL("76", "10"))), NULL, "a decimal(38,10)", NULL,
                  "more than the 38 digits");
    check_refused(RECORD("R", FIELD("a", "[\"null\",\"string\"]")), NULL, "a int", NULL, "string");
    check_refused(RECORD("R", FIELD("a", ARRAY(INT))), NULL, "a string", NULL, "array");
    check_refused(RECORD("R", FIELD("a", ARRAY(STRING))), NULL, "a array<int>", NULL, "a.element");
    check_refused(RECORD("R", FIELD("a", "{\"type\":\"fixed\",\"name\":\"D\",\"size\":12,"
                                         "\"logicalType\":\"duration\"}")),
                  NULL, "a bigint", NULL, "fixed (duration) cannot be written");
    check_refused(RECORD("R", FIELD("a", LOGICAL("long", "local-timestamp-millis"))), NULL,
                  "a timestamp", NULL, "local-timestamp-millis");
    check_refused(RECORD("R", FIELD("s", RECORD("S", FIELD_MORE("x", INT, "\"aliases\":[\"y\"]")))),
                  NULL, "s struct<x: int, y: int>", NULL, "s: field x would fill both x and y");
    /* all problems at once */
    check_refused("{'type':'record','name':'R','fields':[{'name':'a','type':'double'},"
                  "{'name':'b','type':'string'}]}",
                  NULL, "a int, b int, c int NOT NULL", NULL, "; b: string cannot");
    check_refused(RECORD("R", FIELD("a", INT)), NULL, "c int NOT NULL", NULL,
                  "c: column c is required");
}

static void nulls_into_required(void **state)
{
    struct plan_test t;

    CV_ASSERT_OK(plan_test_compile(
                     &t,
                     "{'type':'record','name':'R','fields':[{'name':'a','type':['null','int']},"
                     "{'name':'s','type':['null',{'type':'record','name':'S','fields':["
                     "{'name':'k','type':['null','int']}]}]},"
                     "{'name':'l','type':{'type':'array','items':['null','int']}}]}",
                     NULL, "a int NOT NULL, s struct<k: int NOT NULL>, l array<int>", NULL, true),
                 &t.err);
    check_row(&t, "02 02 00 00", "{a: 1, s: null, l: []}");
    check_row(&t, "02 02 02 02 02 02 00 00", "{a: 1, s: {k: 1}, l: [null]}");
    check_bad(&t, "00 00 00", "a", "a null where the column is required");
    check_bad(&t, "02 02 02 00 00", "s.k", "a null where the column is required");
    plan_test_release(&t);
    CV_ASSERT_OK(plan_test_compile(&t, NULLABLE(RECORD("R", FIELD("a", INT))), NULL,
                                   "a int NOT NULL", NULL, true),
                 &t.err);
    check_bad(&t, "00", "a", "a null where the column is required");
    plan_test_release(&t);
}

static void paths_into_records(void **state)
{
    static const char writer[] =
        "{'type':'record','name':'R','fields':[{'name':'x','type':'string'},"
        "{'name':'a','type':['null',{'type':'record','name':'A','fields':["
        "{'name':'b','type':{'type':'record','name':'B','fields':["
        "{'name':'c','type':'int'},{'name':'d','type':'string'}]}},"
        "{'name':'e','type':'long'}]}]}]}";
    struct plan_test t;

    CV_ASSERT_OK(plan_test_compile(&t, writer, NULL,
                                   "c int, e bigint, e2 string, b struct<d: string>, f int",
                                   "a.b.c, a.e, CAST a.e, a.b, a.f", true),
                 &t.err);
    check_row(&t, "0278 02 0e 0279 06", "{c: 7, e: 3, e2: \"3\", b: {d: \"y\"}, f: null}");
    check_row(&t, "0278 00", "{c: null, e: null, e2: null, b: null, f: null}");
    plan_test_release(&t);
    check_refused(writer, NULL, "c int", "x.y", "x.y: a value of type string has no field y");
}

static void names_in_any_case(void **state)
{
    static const char writer[] = "{'type':'record','name':'R','fields':[{'name':'ID','type':'int'},"
                                 "{'name':'Name','type':'string'}]}";
    struct plan_test t;

    CV_ASSERT_OK(plan_test_compile(&t, writer, NULL, "id int, name string", NULL, false), &t.err);
    check_row(&t, "02 0278", "{id: 1, name: \"x\"}");
    plan_test_release(&t);
    CV_ASSERT_OK(plan_test_compile(&t, writer, NULL, "id int, name string", NULL, true), &t.err);
    check_row(&t, "02 0278", "{id: null, name: null}");
    plan_test_release(&t);
    CV_ASSERT_FAILS(
        plan_test_compile(&t,
                          "{'type':'record','name':'R','fields':[{'name':'AB','type':'int'},"
                          "{'name':'Ab','type':'int'}]}",
                          NULL, "ab int", NULL, false),
        CV_SCHEMA, "differ from it only in letter case", &t.err);
    plan_test_release(&t);
}

static void enums_and_aliases(void **state)
{
    check_one("{'type':'record','name':'R','fields':["
              "{'name':'e','type':{'type':'enum','name':'E','symbols':['A','B']}},"
              "{'name':'new','type':'int','aliases':['old']}]}",
              "e string, old int", "02 0e", "{e: \"B\", old: 7}");
}

/* case 17: a recursive type is refused with its path, a deep value by the depth limit. */
static void recursion(void **state)
{
    static const char writer[] = "{'type':'record','name':'N','fields':[{'name':'v','type':'long'},"
                                 "{'name':'next','type':['null','N']}]}";
    CV_CLEANUP(cv_buf_release) struct cv_buf deep = CV_BUF_INIT(0);
    struct plan_test t;

    check_refused(writer, NULL, "v bigint, next struct<v: bigint, next: struct<v: bigint>>", NULL,
                  "N.next.N");
    CV_ASSERT_OK(plan_test_compile(&t, writer, NULL, "v bigint, second bigint", "v, next.v", true),
                 &t.err);
    check_row(&t, "02 02 04 02 06 00", "{v: 1, second: 2}");
    check_row(&t, "02 00", "{v: 1, second: null}");
    for (int i = 0; i < 5000; i++)
        cv_buf_append(&deep, "\x02\x02", 2);
    cv_buf_append(&deep, "\x02\x00", 2);
    assert_false(plan_test_run(&t, deep.data, deep.length));
    assert_non_null(strstr(t.fault.reason, "malformed"));
    plan_test_release(&t);
}

static void skips_everything(void **state)
{
    check_one("{'type':'record','name':'R','fields':["
              "{'name':'a','type':['null','string']},{'name':'b','type':['int','null']},"
              "{'name':'c','type':['null','double',{'type':'map','values':'bytes'}]},"
              "{'name':'d','type':{'type':'record','name':'S','fields':["
              "{'name':'x','type':'boolean'},"
              "{'name':'y','type':{'type':'fixed','name':'F','size':2}}]}},"
              "{'name':'n','type':'null'},{'name':'f','type':'float'},"
              "{'name':'z','type':'int'}]}",
              "z int", "02 0278 00 02 04 02 026b 0401ff 00 01 aabb 00000000 0e", "{z: 7}");
}

static void the_datum_as_a_whole(void **state)
{
    struct plan_test t;
    struct cv_avro_target whole = {.column = 0};

    CV_ASSERT_OK(
        plan_test_compile(&t, RECORD("R", FIELD("a", INT)), NULL, "v struct<a: int>", NULL, true),
        &t.err);
    cv_avro_plan_free(t.plan);
    CV_ASSERT_OK(
        cv_avro_plan_compile(t.writer->root, NULL, &t.table, &whole, 1, true, &t.plan, &t.err),
        &t.err);
    check_row(&t, "0e", "{v: {a: 7}}");
    plan_test_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_an_order),
        cmocka_unit_test(nullable_at_the_top),
        cmocka_unit_test(primitives),
        cmocka_unit_test(texts_of_all_lengths),
        cmocka_unit_test(widens),
        cmocka_unit_test(bad_primitives),
        cmocka_unit_test(logical_types),
        cmocka_unit_test(bad_logical_values),
        cmocka_unit_test(decimals),
        cmocka_unit_test(wide_decimals),
        cmocka_unit_test(blocks_of_arrays_and_maps),
        cmocka_unit_test(arrays_of_nothing),
        cmocka_unit_test(nested_containers),
        cmocka_unit_test(map_as_array),
        cmocka_unit_test(unions),
        cmocka_unit_test(refusals),
        cmocka_unit_test(nulls_into_required),
        cmocka_unit_test(paths_into_records),
        cmocka_unit_test(names_in_any_case),
        cmocka_unit_test(enums_and_aliases),
        cmocka_unit_test(recursion),
        cmocka_unit_test(skips_everything),
        cmocka_unit_test(the_datum_as_a_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
