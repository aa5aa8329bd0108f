/* SPDX-License-Identifier: Apache-2.0
 *
 * Name mappings: the example of the Iceberg spec (Name Mapping Serialization), and mappings made
 * of a schema. */
#include "schema/name_mapping.h"
#include "test.h"

static const char example[] = "[{\"field-id\": 1, \"names\": [\"id\", \"record_id\"]},"
                              " {\"field-id\": 2, \"names\": [\"data\"]},"
                              " {\"field-id\": 3, \"names\": [\"location\"], \"fields\": ["
                              "   {\"field-id\": 4, \"names\": [\"latitude\", \"lat\"]},"
                              "   {\"field-id\": 5, \"names\": [\"longitude\", \"long\"]}]},"
                              " {\"names\": [\"ignored\"]}]";

static void reads_the_example_of_the_spec(void **state)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_name_mapping mapping;
    const struct cv_name_mapping_field *field;

    CV_ASSERT_OK(cv_name_mapping_read(example, &arena, &mapping, &err), &err);
    field = cv_name_mapping_find(mapping.fields, mapping.field_count, "record_id");
    assert_non_null(field);
    assert_int_equal(field->field_id, 1);
    field = cv_name_mapping_find(mapping.fields, mapping.field_count, "location");
    assert_int_equal(field->field_id, 3);
    assert_int_equal(cv_name_mapping_find(field->fields, field->field_count, "long")->field_id, 5);
    assert_null(cv_name_mapping_find(mapping.fields, mapping.field_count, "lat"));
    assert_null(cv_name_mapping_find(mapping.fields, mapping.field_count, "ID"));
    field = cv_name_mapping_find(mapping.fields, mapping.field_count, "ignored");
    assert_int_equal(field->field_id, -1);
}

static void refuses_other_forms(void **state)
{
    static const char *const texts[] = {
        "{}",
        "[1]",
        "[{\"field-id\": 1}]",
        "[{\"names\": [1]}]",
        "[{\"names\": \"a\"}]",
        "[{\"names\": [], \"fields\": {}}]",
    };
    struct cv_error err = CV_ERROR_INIT;
    struct cv_name_mapping mapping;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(texts); i++) {
        CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;

        CV_ASSERT_FAILS(cv_name_mapping_read(texts[i], &arena, &mapping, &err), CV_FORMAT,
                        "name mapping", &err);
    }
}

static void follows_the_names_of_a_schema(void **state)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_schema schema;
    struct cv_name_mapping mapping;
    const struct cv_name_mapping_field *list;
    const struct cv_name_mapping_field *element;

    CV_ASSERT_OK(
        cv_schema_read_ddl("a int, l array<struct<x: int, y: string>>", &arena, &schema, &err),
        &err);
    cv_name_mapping_of_schema(&schema, &arena, &mapping);
    assert_int_equal(mapping.field_count, 2);
    list = cv_name_mapping_find(mapping.fields, 2, "l");
    assert_int_equal(list->field_id, schema.root.fields[1].id);
    element = cv_name_mapping_find(list->fields, list->field_count, "element");
    assert_non_null(element);
    assert_int_equal(cv_name_mapping_find(element->fields, element->field_count, "y")->field_id,
                     schema.root.fields[1].type.fields[0].type.fields[1].id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_example_of_the_spec),
        cmocka_unit_test(refuses_other_forms),
        cmocka_unit_test(follows_the_names_of_a_schema),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
