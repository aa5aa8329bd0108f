/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of this folder's writer (which foreign readers judge) read with the schemas that its table
 * has later: columns renamed, widened, added, dropped; defaults and constants; what is read at all.
 */
#include "parquet/reader.h"
#include "memory_output.h"
#include "memory_store.h"

#define ROWS 1000

/* id bigint, i int, f float, d decimal(9,2), s string, st struct<a int, b string>,
 * li array<struct<x int>>; ids as a new table has them. */
#define DDL                                                                                        \
    "id bigint NOT NULL, i int, f float, d decimal(9,2), s string, st struct<a: int, b: string>, " \
    "li array<struct<x: int>>"

static struct table file;
static struct memory_store memory;

static void put_row(struct cv_builder *c, int i)
{
    char text[32];

    cv_builder_i64(&c[0], i);
    if (i % 3)
        cv_builder_i32(&c[1], i * 2);
    else
        cv_builder_null(&c[1]);
    cv_builder_f32(&c[2], (float)i / 2);
    cv_builder_decimal(&c[3], i * 100);
    (void)snprintf(text, sizeof text, "text %d", i % 50);
    cv_builder_bytes(&c[4], text, strlen(text));
    if (i % 5) {
        cv_builder_i32(&c[5].children[0], i);
        cv_builder_bytes(&c[5].children[1], "b", 1);
        cv_builder_end_struct(&c[5]);
    } else {
        cv_builder_null(&c[5]);
    }
    for (int j = 0; j < i % 4; j++) {
        cv_builder_i32(&c[6].children[0].children[0], i + j);
        cv_builder_end_struct(&c[6].children[0]);
    }
    cv_builder_end_list(&c[6]);
}

/* Four row groups of 250 rows, pages of 70. */
static int write_file(void **state)
{
    struct cv_error err = CV_ERROR_INIT;

    table_open(&file, DDL, "full");
    file.options.page_rows = 70;
    table_start(&file);
    for (int i = 0; i < ROWS; i++) {
        put_row(file.builder.columns, i);
        if (i % 250 == 249) {
            CV_ASSERT_OK(table_append(&file, &err), &err);
            CV_ASSERT_OK(cv_parquet_writer_flush(file.writer, &err), &err);
        }
    }
    table_close(&file);
    return 0;
}

static int release_file(void **state)
{
    table_release(&file);
    return 0;
}

static enum cv_code open_as(const struct cv_schema *schema, struct cv_parquet_read *read,
                            struct cv_parquet_reader **ret, struct cv_error *err)
{
    memory_store_init(&memory, file.memory.bytes.data, file.memory.bytes.length);
    read->schema = schema;
    return cv_parquet_reader_open(&memory.store, "file.parquet", -1, NULL, read, ret, err);
}

static void schema_of(const char *fields, struct cv_arena *arena, struct cv_schema *schema)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_json *json;
    char *text = cv_arena_printf(
        arena, "{\"type\": \"struct\", \"schema-id\": 0, \"fields\": [%s]}", fields);

    CV_ASSERT_OK(cv_json_parse(text, strlen(text), &json, &err), &err);
    CV_ASSERT_OK(cv_schema_read_json(json, arena, schema, &err), &err);
    cv_json_free(json);
}

static void check_own_row(const struct cv_batch *batch, size_t row, int i)
{
    const struct cv_column *c = batch->columns;
    char text[32];

    (void)snprintf(text, sizeof text, "text %d", i % 50);
    assert_int_equal(cv_column_value(&c[0], row).i64, i);
    assert_int_equal(cv_column_is_null(&c[1], row), i % 3 == 0);
    assert_int_equal(((const int32_t *)(const void *)c[1].data)[row], i % 3 ? i * 2 : 0);
    assert_true(cv_column_value(&c[2], row).f32 == (float)i / 2);
    assert_true(cv_column_value(&c[3], row).decimal == i * 100);
    assert_true(cv_str_is(cv_column_bytes(&c[4], row), text));
    assert_int_equal(cv_column_is_null(&c[5], row), i % 5 == 0);
    assert_int_equal(cv_column_is_null(&c[5].children[0], row), i % 5 == 0);
    assert_int_equal(c[6].offsets[row + 1] - c[6].offsets[row], i % 4);
    for (int j = 0; j < i % 4; j++)
        assert_int_equal(
            cv_column_value(&c[6].children[0].children[0], (size_t)(c[6].offsets[row] + j)).i32,
            i + j);
}

/* Batches end where asked or with a row group, never where a page does. */
static void rows_come_in_batches_with_their_positions(void **state)
{
    static const size_t sizes[] = {0, 1, 64, 250, 999};

    for (size_t s = 0; s < CV_ARRAY_LENGTH(sizes); s++) {
        CV_CLEANUP(cv_parquet_reader_freep) struct cv_parquet_reader *reader = NULL;
        struct cv_parquet_read read = {.batch_rows = sizes[s]};
        struct cv_error err = CV_ERROR_INIT;
        struct cv_batch batch;
        int64_t position;
        int next = 0;

        CV_ASSERT_OK(open_as(&file.schema, &read, &reader, &err), &err);
        do {
            CV_ASSERT_OK(cv_parquet_reader_next(reader, &batch, &position, &err), &err);
            assert_int_equal(position, next);
            assert_true(batch.row_count <= 250);
            if (sizes[s] == 64 && batch.row_count)
                assert_true(batch.row_count == 64 || next % 250 + batch.row_count == 250);
            for (size_t i = 0; i < batch.row_count; i++)
                check_own_row(&batch, i, next++);
        } while (batch.row_count);
        assert_int_equal(next, ROWS);
    }
}

static void chosen_groups_are_read_alone(void **state)
{
    CV_CLEANUP(cv_parquet_reader_freep) struct cv_parquet_reader *reader = NULL;
    struct cv_parquet_read read = {.first_group = 2, .group_count = 1};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_batch batch;
    int64_t position;

    CV_ASSERT_OK(open_as(&file.schema, &read, &reader, &err), &err);
    CV_ASSERT_OK(cv_parquet_reader_next(reader, &batch, &position, &err), &err);
    assert_int_equal(position, 500);
    assert_int_equal(batch.row_count, 250);
    check_own_row(&batch, 3, 503);
    CV_ASSERT_OK(cv_parquet_reader_next(reader, &batch, &position, &err), &err);
    assert_int_equal(batch.row_count, 0);
}

static void groups_that_cannot_match_are_not_read(void **state)
{
    CV_CLEANUP(cv_parquet_reader_freep) struct cv_parquet_reader *reader = NULL;
    struct cv_parquet_read read = {0};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_batch batch;
    int64_t position;

    CV_ASSERT_OK(cv_predicate_parse("id >= 300 AND d < 499", &file.schema, &file.arena,
                                    &read.predicate, &err),
                 &err);
    CV_ASSERT_OK(open_as(&file.schema, &read, &reader, &err), &err);
    CV_ASSERT_OK(cv_parquet_reader_next(reader, &batch, &position, &err), &err);
    assert_int_equal(position, 250);
    assert_int_equal(batch.row_count, 250);
    CV_ASSERT_OK(cv_parquet_reader_next(reader, &batch, &position, &err), &err);
    assert_int_equal(batch.row_count, 0);
}

/* What the first row group's bytes cost for some columns. */
static void check_cost(const char *fields, size_t reads, size_t most)
{
    CV_CLEANUP(cv_parquet_reader_freep) struct cv_parquet_reader *reader = NULL;
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_parquet_read read = {0};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_schema schema;
    struct cv_batch batch;
    int64_t position;

    schema_of(fields, &arena, &schema);
    CV_ASSERT_OK(open_as(&schema, &read, &reader, &err), &err);
    memory.reads = memory.read_bytes = 0;
    CV_ASSERT_OK(cv_parquet_reader_next(reader, &batch, &position, &err), &err);
    assert_int_equal(memory.reads, reads);
    assert_in_range(memory.read_bytes, 250, most);
}

/* Neighbours come together, columns that are far apart each for itself. */
static void columns_not_wanted_cost_no_bytes(void **state)
{
    static const char f[] =
        "{\"id\": 3, \"name\": \"f\", \"required\": false, \"type\": \"float\"}";
    static const char both[] =
        "{\"id\": 2, \"name\": \"i\", \"required\": false, \"type\": \"int\"},"
        "{\"id\": 3, \"name\": \"f\", \"required\": false, \"type\": \"float\"}";
    static const char apart[] =
        "{\"id\": 2, \"name\": \"i\", \"required\": false, \"type\": \"int\"},"
        "{\"id\": 7, \"name\": \"li\", \"required\": false, \"type\": {\"type\": \"list\","
        " \"element-id\": 10, \"element-required\": false, \"element\": {\"type\": \"struct\","
        " \"fields\": [{\"id\": 11, \"name\": \"x\", \"required\": false, \"type\": \"int\"}]}}}";

    check_cost(f, 1, 1800);
    check_cost(both, 1, 3000);
    check_cost(apart, 2, 5000);
}

static void a_table_without_columns_has_rows(void **state)
{
    CV_CLEANUP(cv_parquet_reader_freep) struct cv_parquet_reader *reader = NULL;
    struct cv_parquet_read read = {0};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_schema schema = {.root = {.kind = CV_TYPE_STRUCT}};
    struct cv_batch batch;
    int64_t position;
    size_t rows = 0;

    CV_ASSERT_OK(open_as(&schema, &read, &reader, &err), &err);
    do {
        CV_ASSERT_OK(cv_parquet_reader_next(reader, &batch, &position, &err), &err);
        rows += batch.row_count;
    } while (batch.row_count);
    assert_int_equal(rows, ROWS);
}

/* Other names, other order, wider types; ids decide. */
static void columns_are_found_by_id_and_widened(void **state)
{
    CV_CLEANUP(cv_parquet_reader_freep) struct cv_parquet_reader *reader = NULL;
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_parquet_read read = {.batch_rows = 10};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_schema schema;
    struct cv_batch batch;
    int64_t position;

    schema_of("{\"id\": 4, \"name\": \"id\", \"required\": false, \"type\": \"decimal(20, 2)\"},"
              "{\"id\": 2, \"name\": \"s\", \"required\": false, \"type\": \"long\"},"
              "{\"id\": 3, \"name\": \"f\", \"required\": false, \"type\": \"double\"},"
              "{\"id\": 99, \"name\": \"i\", \"required\": false, \"type\": \"string\"}",
              &arena, &schema);
    CV_ASSERT_OK(open_as(&schema, &read, &reader, &err), &err);
    CV_ASSERT_OK(cv_parquet_reader_next(reader, &batch, &position, &err), &err);
    for (size_t i = 0; i < 10; i++) {
        assert_true(cv_column_value(&batch.columns[0], i).decimal == (cv_wide_int)i * 100);
        assert_int_equal(cv_column_value(&batch.columns[1], i).i64, i % 3 ? i * 2 : 0);
        assert_true(cv_column_value(&batch.columns[2], i).f64 == (double)i / 2);
        assert_true(cv_column_is_null(&batch.columns[3], i));
        assert_int_equal(batch.columns[3].offsets[i + 1], 0);
    }
}

static void fails_as(const char *field, enum cv_code code, const char *message)
{
    CV_CLEANUP(cv_parquet_reader_freep) struct cv_parquet_reader *reader = NULL;
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_parquet_read read = {0};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_schema schema;

    schema_of(field, &arena, &schema);
    CV_ASSERT_FAILS(open_as(&schema, &read, &reader, &err), code, message, &err);
}

static void types_that_do_not_widen_are_refused(void **state)
{
    fails_as("{\"id\": 1, \"name\": \"n\", \"required\": false, \"type\": \"int\"}", CV_SCHEMA,
             "file.parquet: column n: the file has INT64, which does not become int");
    fails_as("{\"id\": 4, \"name\": \"n\", \"required\": false, \"type\": \"decimal(9, 3)\"}",
             CV_SCHEMA, "decimal(9, 2), which does not become decimal(9, 3)");
    fails_as("{\"id\": 4, \"name\": \"n\", \"required\": false, \"type\": \"decimal(8, 2)\"}",
             CV_SCHEMA, "does not become decimal(8, 2)");
    fails_as("{\"id\": 5, \"name\": \"n\", \"required\": false, \"type\": \"double\"}", CV_SCHEMA,
             "BYTE_ARRAY (string)");
    fails_as("{\"id\": 6, \"name\": \"n\", \"required\": false, \"type\": \"double\"}", CV_SCHEMA,
             "a group of fields");
    fails_as("{\"id\": 5, \"name\": \"n\", \"required\": false, \"type\": {\"type\": \"list\", "
             "\"element-id\": 50, \"element-required\": true, \"element\": \"int\"}}",
             CV_SCHEMA, "the table has a list, the file none");
    fails_as("{\"id\": 99, \"name\": \"n\", \"required\": true, \"type\": \"int\"}", CV_SCHEMA,
             "lacks this required column");
}

static void lacking_columns_have_defaults_and_constants(void **state)
{
    static const struct {
        const char *type, *json, *text;
    } defaults[] = {
        {"boolean", "true", "true"},
        {"int", "-7", "-7"},
        {"long", "9007199254740993", "9007199254740993"},
        {"float", "1.5", "1.5"},
        {"double", "-2.25", "-2.25"},
        {"decimal(9, 2)", "\"14.20\"", "14.20"},
        {"date", "\"2017-11-16\"", "2017-11-16"},
        {"time", "\"22:31:08.123456\"", "22:31:08.123456"},
        {"timestamp", "\"2017-11-16T22:31:08.123456\"", "2017-11-16T22:31:08.123456"},
        {"string", "\"ice\\\"berg\"", "ice\"berg"},
        {"uuid", "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"",
         "f79c3e09-677c-4bbd-a479-3f349cb785e7"},
        {"fixed[4]", "\"000102ff\"", "000102ff"},
        {"binary", "\"000102ff\"", "000102ff"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(defaults); i++) {
        CV_CLEANUP(cv_parquet_reader_freep) struct cv_parquet_reader *reader = NULL;
        CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
        CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
        struct cv_parquet_constant constant = {98, {.kind = CV_TYPE_INT, .i32 = 12}};
        struct cv_parquet_read read = {.constants = &constant, .constant_count = 1};
        struct cv_error err = CV_ERROR_INIT;
        struct cv_schema schema;
        struct cv_batch batch;
        struct cv_value value;
        int64_t position;

        schema_of(cv_arena_printf(&arena,
                                  "{\"id\": 99, \"name\": \"n\", \"required\": true, \"type\": "
                                  "\"%s\", \"initial-default\": %s}, {\"id\": 98, \"name\": \"p\", "
                                  "\"required\": true, \"type\": \"int\"}",
                                  defaults[i].type, defaults[i].json),
                  &arena, &schema);
        CV_ASSERT_OK(open_as(&schema, &read, &reader, &err), &err);
        CV_ASSERT_OK(cv_parquet_reader_next(reader, &batch, &position, &err), &err);
        value = cv_column_value(&batch.columns[0], 249);
        cv_value_write_text(&value, batch.columns[0].type, &text);
        assert_string_equal(cv_buf_text(&text), defaults[i].text);
        assert_int_equal(cv_column_value(&batch.columns[1], 249).i32, 12);
    }
    fails_as("{\"id\": 99, \"name\": \"n\", \"required\": false, \"type\": \"int\", "
             "\"initial-default\": \"x\"}",
             CV_SCHEMA, "the initial default \"x\" is no int");
    fails_as("{\"id\": 99, \"name\": \"n\", \"required\": false, \"type\": \"binary\", "
             "\"initial-default\": \"0001x\"}",
             CV_SCHEMA, "the initial default \"0001x\" is no binary");
}

/* 250 rows at once would pass what a column can hold. */
static void a_long_constant_makes_batches_small(void **state)
{
    CV_CLEANUP(cv_parquet_reader_freep) struct cv_parquet_reader *reader = NULL;
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    size_t length = CV_COLUMN_BYTES_MAX / 200;
    struct cv_str text = {memset(cv_arena_alloc(&arena, length), 'x', length), length};
    struct cv_parquet_constant constant = {98, {.kind = CV_TYPE_STRING, .bytes = text}};
    struct cv_parquet_read read = {.constants = &constant, .constant_count = 1};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_schema schema;
    struct cv_batch batch;
    int64_t position;

    (void)state;
    schema_of("{\"id\": 98, \"name\": \"p\", \"required\": true, \"type\": \"string\"}", &arena,
              &schema);
    CV_ASSERT_OK(open_as(&schema, &read, &reader, &err), &err);
    CV_ASSERT_OK(cv_parquet_reader_next(reader, &batch, &position, &err), &err);
    assert_int_equal(batch.row_count, 6); /* 32 MiB of 5 MiB each */
    assert_int_equal(batch.columns[0].null_count, 0);
    cv_parquet_reader_free(reader);
    constant.value.bytes.length = CV_COLUMN_BYTES_MAX + 1;
    CV_ASSERT_OK(open_as(&schema, &read, &reader, &err), &err);
    CV_ASSERT_FAILS(cv_parquet_reader_next(reader, &batch, &position, &err), CV_LIMIT,
                    "row group 0: values that the file lacks", &err);
}

/* Fields of structs come and go as columns do; a struct of new fields is null where it was. */
static void fields_of_structs_evolve(void **state)
{
    CV_CLEANUP(cv_parquet_reader_freep) struct cv_parquet_reader *reader = NULL;
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_parquet_read read = {0};
    struct cv_error err = CV_ERROR_INIT;
    int32_t st = file.schema.root.fields[5].id;
    int32_t li = file.schema.root.fields[6].id;
    struct cv_schema schema;
    struct cv_batch batch;
    int64_t position;
    const struct cv_column *c;

    schema_of(cv_arena_printf(
                  &arena,
                  "{\"id\": %d, \"name\": \"st\", \"required\": false, \"type\": {\"type\": "
                  "\"struct\", \"fields\": [{\"id\": 90, \"name\": \"n\", \"required\": false, "
                  "\"type\": \"int\", \"initial-default\": 5}]}}, {\"id\": %d, \"name\": \"li\", "
                  "\"required\": false, \"type\": {\"type\": \"list\", \"element-id\": 91, "
                  "\"element-required\": false, \"element\": {\"type\": \"struct\", \"fields\": "
                  "[{\"id\": 92, \"name\": \"new\", \"required\": false, \"type\": \"string\"}]}}}",
                  st, li),
              &arena, &schema);
    CV_ASSERT_OK(open_as(&schema, &read, &reader, &err), &err);
    CV_ASSERT_OK(cv_parquet_reader_next(reader, &batch, &position, &err), &err);
    c = batch.columns;
    for (int i = 0; i < 250; i++) {
        assert_int_equal(cv_column_is_null(&c[0], (size_t)i), i % 5 == 0);
        assert_int_equal(cv_column_value(&c[0].children[0], (size_t)i).i32, i % 5 ? 5 : 0);
        assert_int_equal(c[1].offsets[i + 1] - c[1].offsets[i], i % 4);
    }
    assert_int_equal(c[1].children[0].length, c[1].offsets[250]);
    assert_int_equal(c[1].children[0].null_count, 0);
    assert_int_equal(c[1].children[0].children[0].null_count, c[1].offsets[250]);
}

/* Whatever bit is wrong, the reader ends with rows or an error. */
static void flipped_bits_and_cut_files_never_crash(void **state)
{
    size_t length = file.memory.bytes.length;
    uint8_t *bytes = cv_alloc(length);
    size_t failures = 0;

    for (size_t at = 4; at < length; at += 5) {
        CV_CLEANUP(cv_parquet_reader_freep) struct cv_parquet_reader *reader = NULL;
        struct cv_parquet_read read = {.schema = &file.schema};
        struct cv_batch batch = {.row_count = 1};
        int64_t position;
        enum cv_code code;

        memcpy(bytes, file.memory.bytes.data, length);
        bytes[at] ^= (uint8_t)(1u << at % 8);
        memory_store_init(&memory, bytes, length);
        code = cv_parquet_reader_open(&memory.store, "x", -1, NULL, &read, &reader, NULL);
        while (code == CV_OK && batch.row_count)
            code = cv_parquet_reader_next(reader, &batch, &position, NULL);
        failures += code != CV_OK;
    }
    assert_in_range(failures, length / 200, length);
    for (size_t cut = 0; cut < length; cut += 97) {
        struct cv_parquet_reader *reader = NULL;
        struct cv_parquet_read read = {.schema = &file.schema};

        memory_store_init(&memory, file.memory.bytes.data, cut);
        assert_int_not_equal(
            cv_parquet_reader_open(&memory.store, "x", -1, NULL, &read, &reader, NULL), CV_OK);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_in_batches_with_their_positions),
        cmocka_unit_test(chosen_groups_are_read_alone),
        cmocka_unit_test(groups_that_cannot_match_are_not_read),
        cmocka_unit_test(columns_not_wanted_cost_no_bytes),
        cmocka_unit_test(a_table_without_columns_has_rows),
        cmocka_unit_test(columns_are_found_by_id_and_widened),
        cmocka_unit_test(types_that_do_not_widen_are_refused),
        cmocka_unit_test(lacking_columns_have_defaults_and_constants),
        cmocka_unit_test(a_long_constant_makes_batches_small),
        cmocka_unit_test(fields_of_structs_evolve),
        cmocka_unit_test(flipped_bits_and_cut_files_never_crash),
    };

    return cmocka_run_group_tests(tests, write_file, release_file);
}
