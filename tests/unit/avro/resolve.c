/* SPDX-License-Identifier: Apache-2.0
 *
 * Avro's schema resolution: promotions, unions on either side, names, aliases, defaults, enums. */
#include "avro_test.h"

#define ONE(type) RECORD("R", FIELD("a", type))

/* case 12: the writer's branch decides, then the value is promoted. */
static void promotes_through_unions(void **state)
{
    check_read(ONE(NULLABLE(INT)), ONE(NULLABLE(DOUBLE)), "a double", "02 0e", "{a: 7.0}");
    check_read(ONE(INT), ONE(NULLABLE(LONG)), "a bigint", "0e", "{a: 7}");
    check_read(ONE("[\"int\",\"null\"]"), ONE(NULLABLE(INT)), "a int", "00 0e", "{a: 7}");
    check_read(ONE("[\"int\",\"null\"]"), ONE(NULLABLE(INT)), "a int", "02", "{a: null}");
    check_read(ONE(ARRAY(INT)), ONE(ARRAY(NULLABLE(LONG))), "a array<bigint>", "04 0e 01 00",
               "{a: [7, -1]}");
    check_refused(ONE(DOUBLE), ONE(INT), "a int", NULL,
                  "the writer's double cannot be read as the reader's int");
}

static void promotes_numbers(void **state)
{
    check_read(ONE(INT), ONE(LONG), "a bigint", "01", "{a: -1}");
    check_read(ONE(INT), ONE(FLOAT), "a float", "03", "{a: -2.0}");
    check_read(ONE(INT), ONE(DOUBLE), "a double", "03", "{a: -2.0}");
    check_read(ONE(LONG), ONE(FLOAT), "a float", "0e", "{a: 7.0}");
    check_read(ONE(LONG), ONE(DOUBLE), "a double", "0e", "{a: 7.0}");
    check_read(ONE(FLOAT), ONE(DOUBLE), "a double", "0000c03f", "{a: 1.5}");
    check_read(ONE(STRING), ONE(BYTES), "a binary", "04 c3a9", "{a: c3a9}");
    check_read(ONE(BYTES), ONE(STRING), "a string", "04 c3a9", "{a: \"\xc3\xa9\"}");
    check_read(ONE(INT), ONE(LOGICAL("long", "timestamp-millis")), "a timestamp", "02",
               "{a: 1970-01-01T00:00:00.001000+00:00}");
    check_refused(ONE(LONG), ONE(INT), "a int", NULL, "cannot be read as");
    check_refused(ONE(STRING), ONE(INT), "a int", NULL, "cannot be read as");
    check_refused(ONE(FIXED("F", "3")), ONE(FIXED("F", "4")), "a binary", NULL,
                  "cannot be read as");
    check_refused(ONE(DECIMAL("9", "2")), ONE(DECIMAL("9", "3")), "a decimal(9,3)", NULL,
                  "cannot be read as");
}

/* case 18: a symbol that the reader lacks is its default, or a bad record without one. */
#define WRITER_COLOR "{\"type\":\"enum\",\"name\":\"Color\",\"symbols\":[\"A\",\"B\",\"C\"]}"
#define READER_COLOR(more)                                                                         \
    "{\"type\":\"enum\",\"name\":\"Color\",\"symbols\":[\"A\",\"B\"]" more "}"
#define RENAMED(color)                                                                             \
    "{\"type\":\"record\",\"name\":\"b.R\",\"aliases\":[\"a.R\"],\"fields\":["                     \
    "{\"name\":\"new\",\"type\":\"string\",\"aliases\":[\"old\"]}," FIELD("color", color) "]}"

static void aliases_and_enum_defaults(void **state)
{
    static const char writer[] =
        "{'type':'record','name':'a.R','fields':[{'name':'old','type':'string'},"
        "{'name':'color','type':{'type':'enum','name':'Color','symbols':['A','B',"
        "'C']}}]}";
    struct plan_test t;

    check_read(writer, RENAMED(READER_COLOR(",\"default\":\"B\"")), "new string, color string",
               "0278 04", "{new: \"x\", color: \"B\"}");
    CV_ASSERT_OK(plan_test_compile(&t, writer, RENAMED(READER_COLOR("")),
                                   "new string, color string", NULL, true),
                 &t.err);
    check_row(&t, "0278 02", "{new: \"x\", color: \"B\"}");
    check_bad(&t, "0278 04", "color", "symbol 2 of the enum is unknown");
    check_bad(&t, "0278 06", "color", "malformed");
    check_bad(&t, "0278 01", "color", "malformed");
    plan_test_release(&t);
}

static void fills_in_defaults(void **state)
{
    static const char reader[] =
        "{'type':'record','name':'R','fields':[{'name':'a','type':'int'},"
        "{'name':'n','type':['null','string'],'default':null},"
        "{'name':'s','type':'string','default':'none'},"
        "{'name':'l','type':{'type':'array','items':'long'},'default':[1,2]},"
        "{'name':'m','type':{'type':'map','values':'double'},'default':{'k':1.5}},"
        "{'name':'b','type':'bytes','default':'\\u00ff\\u0001'},"
        "{'name':'r','type':{'type':'record','name':'S','fields':["
        "{'name':'x','type':'int'},{'name':'y','type':'boolean','default':true}]},"
        "'default':{'x':-1}},{'name':'u','type':['int','string'],'default':5},"
        "{'name':'e','type':{'type':'enum','name':'Color','symbols':['A','B','C']},"
        "'default':'C'},"
        "{'name':'d','type':{'type':'bytes','logicalType':'decimal','precision':4,"
        "'scale':2},'default':'\\u00ff'}]}";

    check_read(ONE(INT), reader,
               "a int, n string, s string, l array<bigint>, m map<string,double>, b binary, "
               "r struct<x: int, y: boolean>, u int, e string, d decimal(4,2)",
               "0e",
               "{a: 7, n: null, s: \"none\", l: [1, 2], m: {\"k\": 1.5}, b: ff01, "
               "r: {x: -1, y: true}, u: 5, e: \"C\", d: -0.01}");
}

static void nested_defaults_and_paths(void **state)
{
    static const char writer[] = RECORD("R", FIELD("r", RECORD("S", FIELD("x", INT))));
    static const char reader[] =
        "{'type':'record','name':'R','fields':["
        "{'name':'r','type':{'type':'record','name':'S','fields':["
        "{'name':'x','type':'long'},{'name':'y','type':'string','default':'d'}]}},"
        "{'name':'q','type':{'type':'record','name':'Q','fields':["
        "{'name':'z','type':'int'}]},'default':{'z':9}}]}";
    struct plan_test t;

    check_read(writer, reader, "r struct<x: bigint, y: string>", "0e", "{r: {x: 7, y: \"d\"}}");
    CV_ASSERT_OK(plan_test_compile(&t, writer, reader, "x bigint, y string, z string",
                                   "r.x, r.y, CAST q.z", true),
                 &t.err);
    check_row(&t, "0e", "{x: 7, y: \"d\", z: \"9\"}");
    plan_test_release(&t);
}

static void refuses_wrong_defaults(void **state)
{
    check_refused(ONE(INT), RECORD("R", FIELD("z", INT)), "z int", NULL,
                  "the writer lacks field z and the reader schema has no default");
    check_refused(ONE(INT), RECORD("R", FIELD_MORE("z", INT, "\"default\":\"x\"")), "z int", NULL,
                  "default does not fit");
    check_refused(ONE(INT), RECORD("R", FIELD_MORE("z", FIXED("F", "2"), "\"default\":\"x\"")),
                  "z binary", NULL, "default does not fit");
    check_refused(ONE(INT), RECORD("R", FIELD_MORE("z", INT, "\"default\":2147483648")), "z int",
                  NULL, "default does not fit");
}

/* case 25: a default never replaces an explicit null. */
static void null_is_not_the_default(void **state)
{
    static const char writer[] =
        RECORD("R", FIELD_MORE("a", "[\"string\",\"null\"]", "\"default\":\"none\""));

    check_one(writer, "a string", "02", "{a: null}");
    check_read(writer, writer, "a string", "02", "{a: null}");
}

static void reader_without_null(void **state)
{
    struct plan_test t;

    CV_ASSERT_OK(plan_test_compile(&t, ONE(NULLABLE(INT)), ONE(INT), "a int", NULL, true), &t.err);
    check_row(&t, "02 0e", "{a: 7}");
    check_bad(&t, "00", "a", "which the reader schema does not allow");
    plan_test_release(&t);
    CV_ASSERT_OK(plan_test_compile(&t, NULLABLE(ONE(INT)), ONE(INT), "a int", NULL, true), &t.err);
    check_row(&t, "02 0e", "{a: 7}");
    check_bad(&t, "00", "a", "which the reader schema does not allow");
    plan_test_release(&t);
    check_refused(ONE(INT), INT, "a int", NULL, "the writer's record R cannot be read as");
}

static void unions_against_unions(void **state)
{
    static const char writer[] = ONE("[\"string\",\"int\",\"null\"]");
    struct plan_test t;

    /* the first branch of the reader that fits; string has none and is bad only when it comes */
    CV_ASSERT_OK(plan_test_compile(&t, writer, ONE("[\"null\",\"long\",\"double\"]"), "a bigint",
                                   NULL, true),
                 &t.err);
    check_row(&t, "02 0e", "{a: 7}");
    check_row(&t, "04", "{a: null}");
    check_bad(&t, "00 0278", "a", "the writer's string cannot be read as the reader's union");
    plan_test_release(&t);
}

static void branches_of_records(void **state)
{
    static const char writer[] =
        "{'type':'record','name':'R','fields':["
        "{'name':'a','type':['null',{'type':'record','name':'x.A','fields':["
        "{'name':'v','type':'int'}]},{'type':'record','name':'x.B','fields':["
        "{'name':'w','type':'int'}]}]}]}";
    static const char reader[] =
        "{'type':'record','name':'R','fields':["
        "{'name':'a','type':['null',{'type':'record','name':'y.B','fields':["
        "{'name':'v','type':'int','default':1},"
        "{'name':'w','type':'int','default':2}]},"
        "{'type':'record','name':'y.A','fields':["
        "{'name':'v','type':'int','default':3},"
        "{'name':'w','type':'int','default':4}]}]}]}";

    check_read(writer, reader, "a struct<v: int, w: int>", "02 0e", "{a: {v: 7, w: 4}}");
    check_read(writer, reader, "a struct<v: int, w: int>", "04 0e", "{a: {v: 1, w: 7}}");
}

static void columns_by_the_readers_names(void **state)
{
    /* the column is found under the reader's name only */
    check_read(ONE(INT), RECORD("R", FIELD_MORE("b", INT, "\"aliases\":[\"a\"]")), "b int, a int",
               "0e", "{b: 7, a: 7}");
    check_read("{'type':'record','name':'R','fields':[{'name':'x','type':'string'},"
               "{'name':'a','type':'int'}]}",
               ONE(LONG), "a bigint, x string", "0278 0e", "{a: 7, x: null}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promotes_through_unions),      cmocka_unit_test(promotes_numbers),
        cmocka_unit_test(aliases_and_enum_defaults),    cmocka_unit_test(fills_in_defaults),
        cmocka_unit_test(nested_defaults_and_paths),    cmocka_unit_test(refuses_wrong_defaults),
        cmocka_unit_test(null_is_not_the_default),      cmocka_unit_test(reader_without_null),
        cmocka_unit_test(unions_against_unions),        cmocka_unit_test(branches_of_records),
        cmocka_unit_test(columns_by_the_readers_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
