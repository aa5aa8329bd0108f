/* SPDX-License-Identifier: Apache-2.0
 *
 * Schemas as JSON: texts of the spec, round trips of the schemas in other implementations' table
 * metadata, and what is refused. */
#include "base/file.h"
#include "codec/json.h"
#include "schema/type.h"
#include "test.h"

static struct cv_arena arena;

static int teardown(void **state)
{
    cv_arena_release(&arena);
    return 0;
}

static enum cv_code read_text(const char *text, struct cv_schema *schema, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *json = NULL;

    CV_DO(cv_json_parse(text, strlen(text), &json, err));
    return cv_schema_read_json(json, &arena, schema, err);
}

static void assert_round_trip(const char *text)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;
    struct cv_schema schema;

    CV_ASSERT_OK(read_text(text, &schema, &err), &err);
    cv_schema_write_json(&schema, &out);
    assert_string_equal(cv_buf_text(&out), text);
}

static void schemas_are_written_as_java_writes_them(void **state)
{
    assert_round_trip("{\"type\":\"struct\",\"schema-id\":1,\"identifier-field-ids\":[1,2],"
                      "\"fields\":[{\"id\":1,\"name\":\"x\",\"required\":true,\"type\":\"long\"},"
                      "{\"id\":2,\"name\":\"y\",\"required\":true,\"type\":\"long\",\"doc\":"
                      "\"comment\"},{\"id\":3,\"name\":\"z\",\"required\":false,\"type\":"
                      "\"decimal(9, 2)\"}]}");
    assert_round_trip(
        "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"l\","
        "\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":3,\"element\":\"string\","
        "\"element-required\":true}},{\"id\":4,\"name\":\"m\",\"required\":false,\"type\":"
        "{\"type\":\"map\",\"key-id\":5,\"key\":\"string\",\"value-id\":6,\"value\":\"double\","
        "\"value-required\":false}},{\"id\":7,\"name\":\"s\",\"required\":true,\"type\":{\"type\":"
        "\"struct\",\"fields\":[{\"id\":8,\"name\":\"f\",\"required\":true,\"type\":\"fixed[16]\""
        "}]}}]}");
    assert_round_trip("{\"type\":\"struct\",\"schema-id\":0,\"fields\":[]}");
    /* defaults of version 3 are kept as they are */
    assert_round_trip("{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"a\","
                      "\"required\":true,\"type\":\"int\",\"initial-default\":34,\"write-default\":"
                      "35}]}");
}

static void the_highest_id_counts_nested_fields(void **state)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_schema schema;

    CV_ASSERT_OK(read_text("{\"type\":\"struct\",\"fields\":[{\"id\":4,\"name\":\"l\",\"required\":"
                           "false,\"type\":{\"type\":\"list\",\"element-id\":9,\"element\":"
                           "\"string\",\"element-required\":true}}]}",
                           &schema, &err),
                 &err);
    assert_int_equal(schema.highest_id, 9);
    assert_int_equal(schema.schema_id, 0);
    assert_string_equal(schema.root.fields[0].type.fields[0].name, "element");
    assert_true(schema.root.fields[0].type.fields[0].required);
}

#define FIELD(id, name, type)                                                                      \
    "{\"id\":" id ",\"name\":\"" name "\",\"required\":false,\"type\":" type "}"
#define SCHEMA(fields) "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[" fields "]}"

static void wrong_schemas_are_refused(void **state)
{
    static const struct {
        const char *text;
        enum cv_code code;
        const char *message;
    } rows[] = {
        {"[]", CV_FORMAT, "not an object"},
        {"{\"type\":\"list\",\"fields\":[]}", CV_FORMAT, "not \"struct\""},
        {"{\"type\":\"struct\"}", CV_FORMAT, "fields"},
        {SCHEMA("{\"name\":\"a\",\"required\":true,\"type\":\"int\"}"), CV_FORMAT, "id"},
        {SCHEMA("{\"id\":1,\"required\":true,\"type\":\"int\"}"), CV_FORMAT, "name"},
        {SCHEMA("{\"id\":1,\"name\":\"a\",\"type\":\"int\"}"), CV_FORMAT, "required"},
        {SCHEMA("{\"id\":1,\"name\":\"a\",\"required\":true}"), CV_FORMAT, "type"},
        {SCHEMA(FIELD("1", "a", "5")), CV_FORMAT, "field a"},
        {SCHEMA(FIELD("1", "a", "\"int\"") "," FIELD("1", "b", "\"int\"")), CV_SCHEMA,
         "id 1 is used twice"},
        {SCHEMA(FIELD("1", "a", "\"int\"") "," FIELD("2", "a", "\"int\"")), CV_SCHEMA,
         "two fields named \"a\""},
        {SCHEMA(FIELD("-1", "a", "\"int\"")), CV_SCHEMA, "id -1"},
        {SCHEMA(FIELD("2147483448", "a", "\"int\"")), CV_SCHEMA, "id 2147483448"},
        {SCHEMA(FIELD("9999999999", "a", "\"int\"")), CV_FORMAT, "id"},
        {SCHEMA(FIELD("1", "A.B", "\"int\"") "," FIELD(
             "2", "A", "{\"type\":\"struct\",\"fields\":[" FIELD("3", "B", "\"int\"") "]}")),
         CV_SCHEMA, "the path \"A.B\""},
        {SCHEMA(FIELD("1", "t", "\"timestamp_ns\"")), CV_UNSUPPORTED, "timestamp_ns"},
        {SCHEMA(FIELD("1", "t", "\"timestamptz_ns\"")), CV_UNSUPPORTED, "timestamptz_ns"},
        {SCHEMA(FIELD("1", "g", "\"geometry(srid:4326)\"")), CV_UNSUPPORTED, "geometry"},
        {SCHEMA(FIELD("1", "g", "\"variant\"")), CV_UNSUPPORTED, "field g"},
        {SCHEMA(FIELD("1", "g", "\"unknown\"")), CV_UNSUPPORTED, "unknown"},
        {SCHEMA(FIELD("1", "g", "\"geography\"")), CV_UNSUPPORTED, "geography"},
        {SCHEMA(FIELD("1", "g", "\"float16\"")), CV_SCHEMA, "unknown type"},
        {SCHEMA(FIELD("1", "g", "{\"type\":\"set\"}")), CV_SCHEMA, "unknown type"},
        {SCHEMA(FIELD("1", "g", "{\"type\":\"list\",\"element-id\":2,\"element\":\"int\"}")),
         CV_FORMAT, "element-required"},
        {"{\"type\":\"struct\",\"identifier-field-ids\":[5],\"fields\":[]}", CV_SCHEMA,
         "identifier field 5"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        struct cv_error err = CV_ERROR_INIT;
        struct cv_schema schema;

        CV_ASSERT_FAILS(read_text(rows[i].text, &schema, &err), rows[i].code, rows[i].message,
                        &err);
    }
}

static void depth_is_limited(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;
    struct cv_schema schema;

    cv_buf_append_text(&text, "{\"type\":\"struct\",\"fields\":[{\"id\":0,\"name\":\"a\","
                              "\"required\":true,\"type\":");
    for (int i = 1; i < 70; i++)
        cv_buf_printf(&text,
                      "{\"type\":\"list\",\"element-id\":%d,\"element-required\":true,"
                      "\"element\":",
                      i);
    cv_buf_append_text(&text, "\"int\"");
    for (int i = 1; i < 70; i++)
        cv_buf_append_text(&text, "}");
    cv_buf_append_text(&text, "}]}");
    CV_ASSERT_FAILS(read_text(cv_buf_text(&text), &schema, &err), CV_LIMIT, "", &err);
}

/* Each schema of a metadata file is read, written and read again. */
static size_t round_trip_file(const char *name)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(0);
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;
    struct cv_error err = CV_ERROR_INIT;
    const struct cv_json *schemas;

    CV_ASSERT_OK(cv_file_read(cv_test_data(name), 1 << 20, &bytes, &err), &err);
    CV_ASSERT_OK(cv_json_parse(bytes.data, bytes.length, &root, &err), &err);
    schemas = cv_json_get(root, "schemas");
    for (size_t i = 0; i < cv_json_size(schemas); i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
        struct cv_schema first, second;

        CV_ASSERT_OK(cv_schema_read_json(cv_json_at(schemas, i), &arena, &first, &err), &err);
        cv_schema_write_json(&first, &out);
        CV_ASSERT_OK(read_text(cv_buf_text(&out), &second, &err), &err);
        assert_true(cv_type_equal(&first.root, &second.root));
        assert_int_equal(first.schema_id, second.schema_id);
        assert_int_equal(first.identifier_count, second.identifier_count);
    }
    return cv_json_size(schemas);
}

static void schemas_of_other_implementations_round_trip(void **state)
{
    assert_true(round_trip_file("iceberg-metadata/TableMetadataV2Valid.json") == 2);
    assert_true(round_trip_file("iceberg-metadata/TableMetadataV2ValidMinimal.json") == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemas_are_written_as_java_writes_them),
        cmocka_unit_test(the_highest_id_counts_nested_fields),
        cmocka_unit_test(wrong_schemas_are_refused),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(schemas_of_other_implementations_round_trip),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
