/* SPDX-License-Identifier: Apache-2.0
 *
 * Types: DDL, numbering, look-up, widths, texts, and what every schema must obey. */
#include "schema/type.h"
#include "test.h"

static struct cv_arena arena;

static int teardown(void **state)
{
    cv_arena_release(&arena);
    return 0;
}

static struct cv_schema ddl(const char *text)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_schema schema;

    CV_ASSERT_OK(cv_schema_read_ddl(text, &arena, &schema, &err), &err);
    return schema;
}

static void assert_refused(const char *text, enum cv_code code, const char *message)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_schema schema;

    CV_ASSERT_FAILS(cv_schema_read_ddl(text, &arena, &schema, &err), code, message, &err);
}

static void assert_type(const struct cv_type *type, const char *text)
{
    char got[CV_TYPE_TEXT_BYTES];

    cv_type_text(type, got);
    assert_string_equal(got, text);
}

static void spark_words_have_iceberg_types(void **state)
{
    static const char *const rows[][2] = {
        {"boolean", "boolean"},
        {"tinyint", "int"},
        {"BYTE", "int"},
        {"smallint", "int"},
        {"int", "int"},
        {"INTEGER", "int"},
        {"bigint", "long"},
        {"long", "long"},
        {"real", "float"},
        {"float", "float"},
        {"double", "double"},
        {"decimal", "decimal(10, 0)"},
        {"dec(5)", "decimal(5, 0)"},
        {"numeric( 38 , 10 )", "decimal(38, 10)"},
        {"date", "date"},
        {"time", "time"},
        {"timestamp", "timestamptz"},
        {"timestamp_ltz", "timestamptz"},
        {"timestamptz", "timestamptz"},
        {"timestamp_ntz", "timestamp"},
        {"string", "string"},
        {"varchar(10)", "string"},
        {"char(3)", "string"},
        {"uuid", "uuid"},
        {"fixed[16]", "fixed[16]"},
        {"binary", "binary"},
        {"array<string>", "list<string>"},
        {"map<string, array<int>>", "map<string, list<int>>"},
        {"struct<a: int, b: string NOT NULL COMMENT 'x'>", "struct<a: int, b: string>"},
        {"struct<a int, `b c` string>", "struct<a: int, b c: string>"},
        {"struct<>", "struct<>"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        struct cv_schema schema = ddl(cv_arena_printf(&arena, "c %s", rows[i][0]));

        assert_int_equal(schema.root.field_count, 1);
        assert_type(&schema.root.fields[0].type, rows[i][1]);
    }
}

static void columns_keep_names_comments_and_not_null(void **state)
{
    struct cv_schema schema = ddl("id bigint NOT NULL COMMENT 'the \\'key\\'',\n"
                                  " `a``b.c` string comment \"x\"\"y\" not null, m: map<int, int>");

    assert_string_equal(schema.root.fields[0].name, "id");
    assert_true(schema.root.fields[0].required);
    assert_string_equal(schema.root.fields[0].doc, "the 'key'");
    assert_string_equal(schema.root.fields[1].name, "a`b.c");
    assert_string_equal(schema.root.fields[1].doc, "x\"y");
    assert_true(schema.root.fields[1].required);
    assert_false(schema.root.fields[2].required);
    assert_null(schema.root.fields[2].doc);
    assert_true(schema.root.fields[2].type.fields[0].required);
    assert_false(schema.root.fields[2].type.fields[1].required);
}

/* The ids that the Java library gives a new table: a struct's fields, then what is below each. */
static void ids_are_given_level_by_level(void **state)
{
    struct cv_schema schema = ddl("id int, s struct<a: int, t: struct<b: int>>, "
                                  "m map<string, struct<v: int>>, l array<array<int>>");
    static const struct {
        const char *path;
        int32_t id;
    } rows[] = {
        {"id", 1},      {"s", 2},          {"m", 3},          {"l", 4},
        {"s.a", 5},     {"s.t", 6},        {"s.t.b", 7},      {"m.key", 8},
        {"m.value", 9}, {"m.value.v", 10}, {"l.element", 11}, {"l.element.element", 12},
    };

    assert_int_equal(schema.highest_id, 12);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        const struct cv_field *field = cv_schema_find_name(&schema, rows[i].path, true);

        assert_non_null(field);
        assert_int_equal(field->id, rows[i].id);
        assert_ptr_equal(cv_schema_find_id(&schema, rows[i].id), field);
        assert_string_equal(cv_schema_path_of(&schema, rows[i].id, &arena), rows[i].path);
    }
    assert_null(cv_schema_find_id(&schema, 13));
    assert_null(cv_schema_path_of(&schema, 13, &arena));
}

static void names_are_found_with_and_without_case(void **state)
{
    struct cv_schema schema = ddl("`a.b` int, a struct<c: int>, Name string, `a.d` struct<e: int>");

    assert_int_equal(cv_schema_find_name(&schema, "a.b", true)->id, 1);
    assert_int_equal(cv_schema_find_name(&schema, "a.c", true)->id, 5);
    assert_int_equal(cv_schema_find_name(&schema, "a.d.e", true)->id, 6);
    assert_null(cv_schema_find_name(&schema, "name", true));
    assert_int_equal(cv_schema_find_name(&schema, "name", false)->id, 3);
    assert_int_equal(cv_schema_find_name(&schema, "A.C", false)->id, 5);
    assert_null(cv_schema_find_name(&schema, "a.b.x", true));
}

static void wrong_texts_are_refused_with_the_place(void **state)
{
    assert_refused("", CV_SCHEMA, "a column name");
    assert_refused("a", CV_SCHEMA, "a type");
    assert_refused("a int,", CV_SCHEMA, "a column name");
    assert_refused("a int b int", CV_SCHEMA, "position 6");
    assert_refused("a array<int", CV_SCHEMA, "\">\"");
    assert_refused("a map<int>", CV_SCHEMA, "\",\"");
    assert_refused("a int NOT x", CV_SCHEMA, "NULL");
    assert_refused("a int COMMENT x", CV_SCHEMA, "quoted comment");
    assert_refused("a int COMMENT 'x", CV_SCHEMA, "quoted comment");
    assert_refused("`a int", CV_SCHEMA, "a column name");
    assert_refused("`` int", CV_SCHEMA, "a column name");
    assert_refused("a in", CV_SCHEMA, "unknown type \"in\"");
    assert_refused("a decimal(39, 0)", CV_SCHEMA, "precision 39");
    assert_refused("a decimal(0, 0)", CV_SCHEMA, "precision 0");
    assert_refused("a decimal(5, 6)", CV_SCHEMA, "scale 6");
    assert_refused("a decimal(99999999999999999999, 6)", CV_SCHEMA, "a number");
    assert_refused("a fixed[0]", CV_SCHEMA, "fixed length 0");
    assert_refused("a fixed[4294967296]", CV_SCHEMA, "fixed length 4294967296");
    assert_refused("a interval", CV_SCHEMA, "unknown type");
    assert_refused("a int DEFAULT 1", CV_UNSUPPORTED, "version 3");
}

static void types_of_version_3_are_refused_by_name(void **state)
{
    static const char *const words[] = {"timestamp_ns", "timestamptz_ns", "variant",
                                        "unknown",      "geometry",       "geography"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(words); i++)
        assert_refused(cv_arena_printf(&arena, "col %s", words[i]), CV_UNSUPPORTED, words[i]);
}

/* Case 33 of the public reports. */
static void two_fields_may_not_share_a_path(void **state)
{
    assert_refused("`A.B` int, A struct<B: int>", CV_SCHEMA, "the path \"A.B\"");
    assert_refused("A struct<B: int>, `A.B` int", CV_SCHEMA, "the field named \"A.B\"");
    assert_refused("a int, a string", CV_SCHEMA, "two fields named \"a\"");
    assert_refused("s struct<x: int, x: int>", CV_SCHEMA, "two fields named \"x\" in s");
    assert_refused("l array<int>, `l.element` int", CV_SCHEMA, "the path \"l.element\"");
    (void)ddl("`A.B` int, a int, A int");
}

static void depth_and_count_are_limited(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);

    cv_buf_append_text(&text, "c ");
    for (int i = 0; i < 100; i++)
        cv_buf_append_text(&text, "array<");
    assert_refused(cv_buf_text(&text), CV_LIMIT, "deeper than 64");
    cv_buf_clear(&text);
    for (int i = 0; i <= CV_FIELDS_MAX; i++)
        cv_buf_printf(&text, "%sc%d int", i ? "," : "", i);
    assert_refused(cv_buf_text(&text), CV_LIMIT, "more than 10000 fields");
}

static void primitives_are_parsed_as_the_spec_writes_them(void **state)
{
    static const char *const same[] = {"boolean", "int",    "long",      "float",        "double",
                                       "date",    "time",   "timestamp", "timestamptz",  "string",
                                       "uuid",    "binary", "fixed[7]",  "decimal(9, 2)"};
    static const char *const wrong[] = {
        "",        "decimal",  "decimal(9)", "decimal(9,2", "decimal(9,2)x", "fixed",
        "fixed[]", "fixed[x]", "struct",     "list",        "ints"};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_type type;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(same); i++) {
        CV_ASSERT_OK(cv_type_parse_primitive(cv_str_from(same[i]), &type, &err), &err);
        assert_type(&type, same[i]);
    }
    CV_ASSERT_OK(cv_type_parse_primitive(cv_str_from("decimal(9,2)"), &type, &err), &err);
    assert_type(&type, "decimal(9, 2)");
    for (size_t i = 0; i < CV_ARRAY_LENGTH(wrong); i++)
        CV_ASSERT_FAILS(cv_type_parse_primitive(cv_str_from(wrong[i]), &type, &err), CV_SCHEMA,
                        "unknown type", &err);
}

static void widths_are_those_of_the_columns(void **state)
{
    static const struct {
        const char *type;
        size_t width;
    } rows[] = {
        {"boolean", 0},       {"int", 4},          {"date", 4},        {"float", 4},
        {"bigint", 8},        {"double", 8},       {"time", 8},        {"timestamp", 8},
        {"timestamp_ntz", 8}, {"decimal(9,2)", 4}, {"decimal(10)", 8}, {"decimal(18)", 8},
        {"decimal(19)", 16},  {"decimal(38)", 16}, {"uuid", 16},       {"fixed[5]", 5},
        {"string", 0},        {"binary", 0},       {"array<int>", 0},  {"struct<a: int>", 0},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        struct cv_schema schema = ddl(cv_arena_printf(&arena, "c %s", rows[i].type));

        assert_int_equal(cv_type_width(&schema.root.fields[0].type), rows[i].width);
    }
}

static void a_long_text_is_cut(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    struct cv_schema schema;
    char got[CV_TYPE_TEXT_BYTES];

    for (int i = 0; i < 1000; i++)
        cv_buf_printf(&text, "%scolumn%d int", i ? "," : "", i);
    schema = ddl(cv_buf_text(&text));
    cv_type_text(&schema.root, got);
    assert_int_equal(strlen(got), CV_TYPE_TEXT_BYTES - 1);
}

static void equality_knows_ids_names_and_parameters(void **state)
{
    static const char *const texts[] = {"a int",
                                        "b int",
                                        "a long",
                                        "a int NOT NULL",
                                        "a int COMMENT 'c'",
                                        "a decimal(9,2)",
                                        "a decimal(9,3)",
                                        "a fixed[2]",
                                        "a fixed[3]",
                                        "a struct<x: int>",
                                        "a struct<y: int>",
                                        "a array<int>",
                                        "a int, b int"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(texts); i++)
        for (size_t j = 0; j < CV_ARRAY_LENGTH(texts); j++) {
            struct cv_schema a = ddl(texts[i]);
            struct cv_schema b = ddl(texts[j]);

            assert_int_equal(cv_type_equal(&a.root, &b.root), i == j);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spark_words_have_iceberg_types),
        cmocka_unit_test(columns_keep_names_comments_and_not_null),
        cmocka_unit_test(ids_are_given_level_by_level),
        cmocka_unit_test(names_are_found_with_and_without_case),
        cmocka_unit_test(wrong_texts_are_refused_with_the_place),
        cmocka_unit_test(types_of_version_3_are_refused_by_name),
        cmocka_unit_test(two_fields_may_not_share_a_path),
        cmocka_unit_test(depth_and_count_are_limited),
        cmocka_unit_test(primitives_are_parsed_as_the_spec_writes_them),
        cmocka_unit_test(widths_are_those_of_the_columns),
        cmocka_unit_test(a_long_text_is_cut),
        cmocka_unit_test(equality_knows_ids_names_and_parameters),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
