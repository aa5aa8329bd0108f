/* SPDX-License-Identifier: Apache-2.0
 *
 * Avro schemas: names, aliases, unions, logical types, references, recursion. */
#include "test.h"

#include "codec/avro_schema.h"

static struct cv_avro_schema *parse(const char *text)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_avro_schema *schema;

    CV_ASSERT_OK(cv_avro_schema_parse(cv_str_from(text), NULL, 0, &schema, &err), &err);
    return schema;
}

static void refuses(const char *text, const char *reason)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_avro_schema *schema;
    enum cv_code code = cv_avro_schema_parse(cv_str_from(text), NULL, 0, &schema, &err);

    if (code == CV_OK)
        fail_msg("accepted %s", text);
    if (!strstr(err.message, reason))
        fail_msg("message \"%s\" lacks \"%s\"", err.message, reason);
}

#define RECORD(fields) "{\"type\":\"record\",\"name\":\"R\",\"fields\":[" fields "]}"

static void reads_a_record(void **state)
{
    CV_CLEANUP(cv_avro_schema_freep)
    struct cv_avro_schema *schema =
        parse(RECORD("{\"name\":\"a\",\"type\":[\"null\",\"string\"],\"default\":null,"
                     "\"aliases\":[\"old\"],\"field-id\":3},"
                     "{\"name\":\"b\",\"type\":{\"type\":\"array\",\"items\":\"long\","
                     "\"element-id\":4}},"
                     "{\"name\":\"c\",\"type\":{\"type\":\"map\",\"values\":{\"type\":\"fixed\","
                     "\"name\":\"F\",\"size\":4}}},"
                     "{\"name\":\"d\",\"type\":\"F\"}"));
    const struct cv_avro_type *root = schema->root;

    assert_int_equal(root->kind, CV_AVRO_RECORD);
    assert_string_equal(root->name, "R");
    assert_int_equal(root->field_count, 4);
    assert_int_equal(root->fields[0].type->kind, CV_AVRO_UNION);
    assert_int_equal(root->fields[0].type->branch_count, 2);
    assert_string_equal(root->fields[0].aliases[0], "old");
    assert_true(cv_json_is_null(root->fields[0].default_value));
    assert_int_equal(root->fields[0].field_id, 3);
    assert_null(root->fields[1].default_value);
    assert_int_equal(root->fields[1].field_id, -1);
    assert_int_equal(root->fields[1].type->element_id, 4);
    assert_int_equal(root->fields[2].type->items->size, 4);
    assert_ptr_equal(root->fields[2].type->items, root->fields[3].type);
}

/* Avro 1.12, "Names": a dot makes a full name, else the enclosing namespace holds. */
static void resolves_names(void **state)
{
    CV_CLEANUP(cv_avro_schema_freep)
    struct cv_avro_schema *schema = parse(
        "{\"type\":\"record\",\"name\":\"a.R\",\"aliases\":[\"Q\",\"z.P\"],\"fields\":["
        "{\"name\":\"x\",\"type\":{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"],"
        "\"default\":\"B\"}},"
        "{\"name\":\"y\",\"type\":{\"type\":\"record\",\"name\":\"E\",\"namespace\":\"b\","
        "\"fields\":[{\"name\":\"i\",\"type\":[\"null\",\"E\"]}]}},"
        "{\"name\":\"z\",\"type\":\"E\"},{\"name\":\"w\",\"type\":\"b.E\"}]}");
    const struct cv_avro_field *fields = schema->root->fields;

    assert_string_equal(schema->root->aliases[0], "a.Q");
    assert_string_equal(schema->root->aliases[1], "z.P");
    assert_string_equal(fields[0].type->name, "a.E");
    assert_string_equal(fields[0].type->enum_default, "B");
    assert_string_equal(fields[1].type->name, "b.E");
    assert_ptr_equal(fields[1].type->fields[0].type->branches[1], fields[1].type);
    assert_ptr_equal(fields[2].type, fields[0].type);
    assert_ptr_equal(fields[3].type, fields[1].type);
}

/* Not by the specification, but written by some: a short name whose type has no namespace. */
static void finds_names_without_namespace(void **state)
{
    CV_CLEANUP(cv_avro_schema_freep)
    struct cv_avro_schema *schema =
        parse(RECORD("{\"name\":\"x\",\"type\":{\"type\":\"fixed\",\"name\":\"F\",\"size\":1}},"
                     "{\"name\":\"y\",\"type\":{\"type\":\"record\",\"name\":\"a.S\","
                     "\"fields\":[{\"name\":\"f\",\"type\":\"F\"}]}}"));

    assert_ptr_equal(schema->root->fields[1].type->fields[0].type, schema->root->fields[0].type);
}

static enum cv_avro_logical logical_of(const char *type)
{
    CV_CLEANUP(cv_avro_schema_freep) struct cv_avro_schema *schema = parse(type);

    return schema->root->logical;
}

#define LOGICAL(type, name) "{\"type\":\"" type "\",\"logicalType\":\"" name "\"}"
#define DECIMAL(more)       "{\"type\":\"bytes\",\"logicalType\":\"decimal\"" more "}"
#define FIXED(size, more)                                                                          \
    "{\"type\":\"fixed\",\"name\":\"F\",\"size\":" size ",\"logicalType\":" more "}"

static void reads_logical_types(void **state)
{
    assert_int_equal(logical_of(LOGICAL("int", "date")), CV_AVRO_LOGICAL_DATE);
    assert_int_equal(logical_of(LOGICAL("int", "time-millis")), CV_AVRO_LOGICAL_TIME_MILLIS);
    assert_int_equal(logical_of(LOGICAL("long", "time-micros")), CV_AVRO_LOGICAL_TIME_MICROS);
    assert_int_equal(logical_of(LOGICAL("long", "timestamp-millis")),
                     CV_AVRO_LOGICAL_TIMESTAMP_MILLIS);
    assert_int_equal(logical_of(LOGICAL("long", "local-timestamp-nanos")),
                     CV_AVRO_LOGICAL_LOCAL_TIMESTAMP_NANOS);
    assert_int_equal(logical_of(LOGICAL("string", "uuid")), CV_AVRO_LOGICAL_UUID);
    assert_int_equal(logical_of(FIXED("16", "\"uuid\"")), CV_AVRO_LOGICAL_UUID);
    assert_int_equal(logical_of(FIXED("12", "\"duration\"")), CV_AVRO_LOGICAL_DURATION);
    assert_int_equal(logical_of(DECIMAL(",\"precision\":10,\"scale\":2")), CV_AVRO_LOGICAL_DECIMAL);
    assert_int_equal(logical_of(FIXED("4", "\"decimal\",\"precision\":9")),
                     CV_AVRO_LOGICAL_DECIMAL);
}

/* "If a logical type is invalid … implementations should ignore the logical type" */
static void ignores_wrong_logical_types(void **state)
{
    static const char *const wrong[] = {
        LOGICAL("long", "date"),
        LOGICAL("string", "timestamp-millis"),
        LOGICAL("int", "no-such-thing"),
        DECIMAL(""),
        DECIMAL(",\"precision\":0"),
        DECIMAL(",\"precision\":4,\"scale\":5"),
        DECIMAL(",\"precision\":4,\"scale\":-1"),
        FIXED("4", "\"decimal\",\"precision\":10"),
        FIXED("15", "\"uuid\""),
        FIXED("11", "\"duration\""),
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(wrong); i++)
        if (logical_of(wrong[i]) != CV_AVRO_LOGICAL_NONE)
            fail_msg("%s kept its logical type", wrong[i]);
}

/* The lab's orders-clnt schema: logicalType beside the type of a field says nothing. */
static void logical_type_beside_the_type(void **state)
{
    CV_CLEANUP(cv_avro_schema_freep)
    struct cv_avro_schema *schema =
        parse(RECORD("{\"name\":\"t\",\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}"));

    assert_int_equal(schema->root->fields[0].type->logical, CV_AVRO_LOGICAL_NONE);
}

static void refuses_bad_schemas(void **state)
{
    refuses("{", "JSON");
    refuses("12", "neither a name");
    refuses("\"Unknown\"", "unknown Avro type \"Unknown\"");
    refuses("{\"type\":\"record\",\"fields\":[]}", "no name");
    refuses("{\"type\":\"record\",\"name\":\"R\"}", "no fields");
    refuses(RECORD("{\"name\":\"a\"}"), "field \"a\" has no type");
    refuses(RECORD("{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"a\",\"type\":\"int\"}"),
            "two fields \"a\"");
    refuses(RECORD("{\"name\":\"a\",\"type\":{\"type\":\"fixed\",\"name\":\"R\",\"size\":1}}"),
            "defined twice");
    refuses("[\"int\",\"int\"]", "two branches of type int");
    refuses("[\"int\",[\"null\"]]", "directly in a union");
    refuses("{\"type\":\"fixed\",\"name\":\"F\",\"size\":-1}", "size of fixed");
    refuses("{\"type\":\"array\"}", "no \"items\"");
    refuses("{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\"],\"default\":\"B\"}",
            "is no symbol");
}

static void refuses_deep_schemas(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);

    for (int i = 0; i < 100; i++)
        cv_buf_append_text(&text, "{\"type\":\"array\",\"items\":");
    cv_buf_append_text(&text, "\"int\"");
    for (int i = 0; i < 100; i++)
        cv_buf_append_text(&text, "}");
    refuses(cv_buf_text(&text), "nested deeper than 64");
}

/* case 18: a reference whose referent has a reference itself, reached over two ways. */
static void follows_references(void **state)
{
    const struct cv_avro_reference references[] = {
        {"x.Zip", cv_str_from("{\"type\":\"fixed\",\"name\":\"x.Zip\",\"size\":5}")},
        {"x.Addr", cv_str_from("{\"type\":\"record\",\"name\":\"Addr\",\"namespace\":\"x\","
                               "\"fields\":[{\"name\":\"zip\",\"type\":\"Zip\"}]}")},
        {"x.Zip", cv_str_from("{\"type\":\"fixed\",\"name\":\"x.Zip\",\"size\":5}")},
    };
    struct cv_error err = CV_ERROR_INIT;
    CV_CLEANUP(cv_avro_schema_freep) struct cv_avro_schema *schema = NULL;

    CV_ASSERT_OK(cv_avro_schema_parse(cv_str_from(RECORD("{\"name\":\"a\",\"type\":\"x.Addr\"}")),
                                      references, 3, &schema, &err),
                 &err);
    assert_int_equal(schema->root->fields[0].type->fields[0].type->size, 5);
}

static void finds_cycles(void **state)
{
    CV_CLEANUP(cv_avro_schema_freep)
    struct cv_avro_schema *recursive =
        parse("{\"type\":\"record\",\"name\":\"N\",\"fields\":[{\"name\":\"v\",\"type\":\"long\"},"
              "{\"name\":\"next\",\"type\":[\"null\",\"N\"]}]}");
    CV_CLEANUP(cv_avro_schema_freep)
    struct cv_avro_schema *tree =
        parse(RECORD("{\"name\":\"a\",\"type\":{\"type\":\"record\",\"name\":\"S\",\"fields\":[]}},"
                     "{\"name\":\"b\",\"type\":\"S\"}"));
    struct cv_arena arena = CV_ARENA_INIT;

    assert_string_equal(cv_avro_schema_cycle(recursive->root, &arena), "N.next.N");
    assert_null(cv_avro_schema_cycle(tree->root, &arena));
    cv_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_record),
        cmocka_unit_test(resolves_names),
        cmocka_unit_test(finds_names_without_namespace),
        cmocka_unit_test(reads_logical_types),
        cmocka_unit_test(ignores_wrong_logical_types),
        cmocka_unit_test(logical_type_beside_the_type),
        cmocka_unit_test(refuses_bad_schemas),
        cmocka_unit_test(refuses_deep_schemas),
        cmocka_unit_test(follows_references),
        cmocka_unit_test(finds_cycles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
