/* SPDX-License-Identifier: Apache-2.0
 *
 * The types that a query sees: those of Spark's from_avro() by its documentation of
 * SchemaConverters (time, which Spark has none of, apart). */
#include "test.h"

#include "avro/natural.h"

static struct cv_error err = CV_ERROR_INIT;

static void assert_type(const char *avro, const char *wanted)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_avro_schema_freep) struct cv_avro_schema *schema = NULL;
    char text[CV_TYPE_TEXT_BYTES];
    struct cv_type type;

    CV_ASSERT_OK(cv_avro_schema_parse(cv_str_from(avro), NULL, 0, &schema, &err), &err);
    if (!cv_avro_natural_type(schema->root, &arena, &type)) {
        assert_null(wanted);
        return;
    }
    cv_type_text(&type, text);
    assert_non_null(wanted);
    assert_string_equal(text, wanted);
}

#define RECORD(fields) "{\"type\":\"record\",\"name\":\"R\",\"fields\":[" fields "]}"

static void primitive_and_logical_types(void **state)
{
    (void)state;
    assert_type("\"int\"", "int");
    assert_type("[\"null\",\"long\"]", "long");
    assert_type("{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\"]}", "string");
    assert_type("{\"type\":\"string\",\"logicalType\":\"uuid\"}", "string");
    assert_type("{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":9,\"scale\":2}",
                "decimal(9, 2)");
    assert_type("{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}", "timestamptz");
    assert_type("{\"type\":\"long\",\"logicalType\":\"local-timestamp-micros\"}", "timestamp");
    assert_type("{\"type\":\"int\",\"logicalType\":\"date\"}", "date");
}

static void nested_types(void **state)
{
    (void)state;
    assert_type(
        RECORD("{\"name\":\"a\",\"type\":{\"type\":\"array\",\"items\":[\"null\",\"int\"]}},"
               "{\"name\":\"m\",\"type\":{\"type\":\"map\",\"values\":\"double\"}}"),
        "struct<a: list<int>, m: map<string, double>>");
}

static void what_has_no_column_is_left_out(void **state)
{
    (void)state;
    assert_type(RECORD("{\"name\":\"a\",\"type\":\"int\"},"
                       "{\"name\":\"b\",\"type\":[\"null\",\"int\",\"string\"]},"
                       "{\"name\":\"next\",\"type\":[\"null\",\"R\"]},"
                       "{\"name\":\"also\",\"type\":[\"null\",\"R\"]}"),
                "struct<a: int>");
    assert_type("\"null\"", NULL);
    assert_type("{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":50}", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(primitive_and_logical_types),
        cmocka_unit_test(nested_types),
        cmocka_unit_test(what_has_no_column_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
