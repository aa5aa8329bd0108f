/* SPDX-License-Identifier: Apache-2.0
 *
 * Avro data files as rows of a schema that went on: columns by field id, by the mapping of names,
 * constants; positions; files that are cut off or damaged. */
#include "codec/avro_file.h"
#include "data/scan_int.h"
#include "memory_store.h"
#include "test.h"

#define ROWS 300

/* id, an int that becomes long under another name, a struct and a list whose fields moved. */
static const char with_ids[] =
    "{\"type\":\"record\",\"name\":\"table\",\"fields\":["
    "{\"name\":\"id\",\"type\":\"long\",\"field-id\":1},"
    "{\"name\":\"old\",\"type\":[\"null\",\"int\"],\"default\":null,\"field-id\":2},"
    "{\"name\":\"s\",\"type\":[\"null\",{\"type\":\"record\",\"name\":\"r3\",\"fields\":["
    "{\"name\":\"a\",\"type\":\"int\",\"field-id\":4},"
    "{\"name\":\"b\",\"type\":[\"null\",\"string\"],\"default\":null,\"field-id\":5}]}],"
    "\"default\":null,\"field-id\":3},"
    "{\"name\":\"l\",\"type\":{\"type\":\"array\",\"items\":\"int\",\"element-id\":7},"
    "\"field-id\":6}]}";
/* What the table has by now; `b` comes first in the struct, field 4 was dropped. */
static const char schema_json[] =
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":["
    "{\"id\":6,\"name\":\"l\",\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":7,"
    "\"element\":\"long\",\"element-required\":false}},"
    "{\"id\":2,\"name\":\"renamed\",\"required\":false,\"type\":\"long\"},"
    "{\"id\":3,\"name\":\"s\",\"required\":false,\"type\":{\"type\":\"struct\",\"fields\":["
    "{\"id\":9,\"name\":\"a\",\"required\":false,\"type\":\"int\"},"
    "{\"id\":5,\"name\":\"b\",\"required\":false,\"type\":\"string\"}]}},"
    "{\"id\":10,\"name\":\"old\",\"required\":false,\"type\":\"int\"},"
    "{\"id\":11,\"name\":\"p\",\"required\":true,\"type\":\"string\"},"
    "{\"id\":1,\"name\":\"id\",\"required\":true,\"type\":\"long\"}]}";

struct fixture {
    struct cv_arena arena;
    struct cv_schema schema;
    struct cv_buf file;
    struct memory_store memory;
    struct cv_data_file data_file;
    struct cv_parquet_constant constant;
    struct cv_error err;
};

static void put_row(struct cv_buf *out, int64_t id)
{
    cv_avro_put_long(out, id);
    cv_avro_put_long(out, id % 3 != 0); /* the branch */
    if (id % 3)
        cv_avro_put_long(out, -id);
    cv_avro_put_long(out, id % 5 != 0);
    if (id % 5) {
        cv_avro_put_long(out, id);
        cv_avro_put_long(out, 1);
        cv_avro_put_string(out, "text");
    }
    if (id % 4) {
        cv_avro_put_long(out, id % 4);
        for (int64_t i = 0; i < id % 4; i++)
            cv_avro_put_long(out, i);
    }
    cv_avro_put_long(out, 0);
}

/* Several blocks: the writer's own limit is far off, so that the blocks are written apart. */
static void make_file(struct fixture *f, const char *schema)
{
    struct cv_avro_file_writer writer;
    struct cv_str text = cv_str_from(schema);

    cv_buf_clear(&f->file);
    CV_ASSERT_OK(
        cv_avro_file_writer_init(&writer, &f->file, text, CV_CODEC_DEFLATE, NULL, 0, &f->err),
        &f->err);
    for (int64_t id = 0; id < ROWS; id++) {
        put_row(cv_avro_file_object(&writer), id);
        CV_ASSERT_OK(cv_avro_file_end_object(&writer, &f->err), &f->err);
    }
    CV_ASSERT_OK(cv_avro_file_finish(&writer, &f->err), &f->err);
    cv_avro_file_writer_release(&writer);
    memory_store_init(&f->memory, f->file.data, f->file.length);
}

static int set_up(void **state)
{
    struct fixture *f = cv_alloc(sizeof *f);
    CV_CLEANUP(cv_json_freep) struct cv_json *json = NULL;

    f->file = (struct cv_buf)CV_BUF_INIT(0);
    CV_ASSERT_OK(cv_json_parse(schema_json, strlen(schema_json), &json, &f->err), &f->err);
    CV_ASSERT_OK(cv_schema_read_json(json, &f->arena, &f->schema, &f->err), &f->err);
    f->data_file = (struct cv_data_file){
        .path = "mem:/a.avro", .format = "AVRO", .metrics = {.record_count = ROWS}};
    f->constant = (struct cv_parquet_constant){
        11, {.kind = CV_TYPE_STRING, .bytes = cv_str_from("partition")}};
    make_file(f, with_ids);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cv_buf_release(&f->file);
    cv_arena_release(&f->arena);
    free(f);
    return 0;
}

static struct cv_file_read read_of(struct fixture *f)
{
    return (struct cv_file_read){.store = &f->memory.store,
                                 .file = &f->data_file,
                                 .schema = &f->schema,
                                 .constants = &f->constant,
                                 .constant_count = 1,
                                 .batch_rows = 64};
}

static void check_row(const struct cv_batch *batch, size_t row, int64_t id)
{
    const struct cv_column *l = &batch->columns[0], *s = &batch->columns[2];
    struct cv_value renamed = cv_column_value(&batch->columns[1], row);

    assert_int_equal(l->offsets[row + 1] - l->offsets[row], id % 4);
    for (int64_t i = 0; i < id % 4; i++)
        assert_int_equal(cv_column_value(&l->children[0], (size_t)(l->offsets[row] + i)).i64, i);
    assert_int_equal(renamed.is_null, id % 3 == 0);
    assert_true(renamed.is_null || renamed.i64 == -id);
    assert_int_equal(cv_column_is_null(s, row), id % 5 == 0);
    assert_true(cv_column_is_null(&s->children[0], row)); /* another `a` than the file's */
    assert_int_equal(cv_column_is_null(&s->children[1], row), id % 5 == 0);
    if (id % 5)
        assert_true(cv_str_is(cv_column_bytes(&s->children[1], row), "text"));
    assert_true(cv_column_is_null(&batch->columns[3], row)); /* another `old` than the file's */
    assert_true(cv_str_is(cv_column_bytes(&batch->columns[4], row), "partition"));
    assert_int_equal(cv_column_value(&batch->columns[5], row).i64, id);
}

static enum cv_code read_all(struct fixture *f, const struct cv_file_read *read, bool check,
                             int64_t *ret_rows)
{
    CV_CLEANUP(cv_avro_rows_freep) struct cv_avro_rows *rows = NULL;
    struct cv_batch batch;
    int64_t position;

    *ret_rows = 0;
    f->err = (struct cv_error)CV_ERROR_INIT;
    CV_DO(cv_avro_rows_open(read, &rows, &f->err));
    for (;;) {
        CV_DO(cv_avro_rows_next(rows, &batch, &position, &f->err));
        if (!batch.row_count)
            return CV_OK;
        assert_int_equal(position, *ret_rows);
        for (size_t i = 0; check && i < batch.row_count; i++)
            check_row(&batch, i, position + (int64_t)i);
        *ret_rows += (int64_t)batch.row_count;
    }
}

static void columns_are_found_by_id(void **state)
{
    struct fixture *f = *state;
    struct cv_file_read read = read_of(f);
    int64_t rows;

    CV_ASSERT_OK(read_all(f, &read, true, &rows), &f->err);
    assert_int_equal(rows, ROWS);
}

/* The same schema without its ids. */
static char *without_ids(struct fixture *f)
{
    char *text = cv_arena_strdup(&f->arena, with_ids);
    char *at;

    while ((at = strstr(text, "field-id")))
        memcpy(at, "unknown", 7);
    return text;
}

static void columns_are_found_by_mapping(void **state)
{
    struct fixture *f = *state;
    struct cv_file_read read = read_of(f);
    struct cv_name_mapping mapping;
    int64_t rows;

    make_file(f, without_ids(f));
    CV_ASSERT_OK(
        cv_name_mapping_read(
            "[{\"field-id\":1,\"names\":[\"id\"]},{\"field-id\":2,\"names\":[\"x\",\"old\"]},"
            "{\"field-id\":3,\"names\":[\"s\"],\"fields\":[{\"field-id\":5,\"names\":[\"b\"]}]},"
            "{\"field-id\":6,\"names\":[\"l\"],\"fields\":[{\"field-id\":7,\"names\":"
            "[\"element\"]}]}]",
            &f->arena, &mapping, &f->err),
        &f->err);
    read.mapping = &mapping;
    CV_ASSERT_OK(read_all(f, &read, true, &rows), &f->err);
    assert_int_equal(rows, ROWS);
    read.mapping = NULL;
    CV_ASSERT_FAILS(read_all(f, &read, false, &rows), CV_SCHEMA, "id", &f->err);
}

static void cut_files_are_errors(void **state)
{
    struct fixture *f = *state;
    struct cv_file_read read = read_of(f);
    size_t length = f->file.length;
    int64_t rows;

    for (size_t cut = 0; cut < length; cut++) {
        f->memory.length = cut;
        if (read_all(f, &read, false, &rows) == CV_OK)
            fail_msg("%zu of %zu bytes are taken for a whole file", cut, length);
        assert_non_null(strstr(f->err.message, "mem:/a.avro"));
    }
}

static void damaged_files_never_crash(void **state)
{
    struct fixture *f = *state;
    struct cv_file_read read = read_of(f);
    int64_t rows;

    for (size_t bit = 0; bit < f->file.length * 8; bit += 7) {
        f->file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        (void)read_all(f, &read, false, &rows);
        f->file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    CV_ASSERT_OK(read_all(f, &read, true, &rows), &f->err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(columns_are_found_by_id, set_up, tear_down),
        cmocka_unit_test_setup_teardown(columns_are_found_by_mapping, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cut_files_are_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_files_never_crash, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
