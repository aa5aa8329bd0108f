/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of one column put together by hand, for what today's writers do not make: BIT_PACKED
 * levels, rows that go on in the next page, Hadoop's LZ4 in several blocks, index pages, codecs
 * and encodings that are refused. */
#include "codec/thrift.h"
#include "memory_store.h"
#include "parquet_schema.h"
#include "test.h"

enum { REQUIRED = 0, OPTIONAL = 1, REPEATED = 2 };
enum { PLAIN = 0, RLE = 3, BIT_PACKED = 4, RLE_DICTIONARY = 8 };

static struct cv_buf bytes;
static size_t pages_start;
static int64_t values;

static int release(void **state)
{
    cv_buf_release(&bytes);
    return 0;
}

static void start(void)
{
    cv_buf_clear(&bytes);
    cv_buf_append_text(&bytes, "PAR1");
    pages_start = bytes.length;
    values = 0;
}

/* A v1 data page (or, with `type`, another one) whose body is given as hex. */
static void add_page(int32_t type, int32_t count, int32_t encoding, int32_t levels,
                     int32_t plain_size, const char *hex)
{
    struct cv_thrift_writer thrift = CV_THRIFT_WRITER(&bytes);
    static uint8_t body[4096];
    size_t length = cv_test_hex(hex, body, sizeof body);

    cv_thrift_begin_struct(&thrift);
    cv_thrift_field_i32(&thrift, 1, type);
    cv_thrift_field_i32(&thrift, 2, plain_size ? plain_size : (int32_t)length);
    cv_thrift_field_i32(&thrift, 3, (int32_t)length);
    if (type == 0 || type == 2) {
        cv_thrift_field_struct(&thrift, type == 0 ? 5 : 7);
        cv_thrift_field_i32(&thrift, 1, count);
        cv_thrift_field_i32(&thrift, 2, encoding);
        cv_thrift_field_i32(&thrift, 3, levels);
        cv_thrift_field_i32(&thrift, 4, levels);
        cv_thrift_end_struct(&thrift);
    }
    cv_thrift_end_struct(&thrift);
    cv_buf_append(&bytes, body, length);
    values += type == 0 ? count : 0;
}

static void write_column(struct cv_thrift_writer *thrift, int32_t codec, size_t length)
{
    cv_thrift_begin_struct(thrift);
    cv_thrift_field_i64(thrift, 2, (int64_t)pages_start);
    cv_thrift_field_struct(thrift, 3);
    cv_thrift_field_i32(thrift, 1, CV_PARQUET_INT32);
    cv_thrift_field_list(thrift, 2, CV_THRIFT_I32, 1);
    cv_thrift_put_i32(thrift, PLAIN);
    cv_thrift_field_list(thrift, 3, CV_THRIFT_BINARY, 1);
    cv_thrift_put_string(thrift, "v");
    cv_thrift_field_i32(thrift, 4, codec);
    cv_thrift_field_i64(thrift, 5, values);
    cv_thrift_field_i64(thrift, 6, (int64_t)length);
    cv_thrift_field_i64(thrift, 7, (int64_t)length);
    cv_thrift_field_i64(thrift, 9, (int64_t)pages_start);
    cv_thrift_end_struct(thrift);
    cv_thrift_end_struct(thrift);
}

static void end(int32_t repetition, int32_t codec, int64_t rows)
{
    struct cv_thrift_writer thrift = CV_THRIFT_WRITER(&bytes);
    size_t footer = bytes.length;
    uint32_t length;

    cv_thrift_begin_struct(&thrift);
    cv_thrift_field_i32(&thrift, 1, 1);
    cv_thrift_field_list(&thrift, 2, CV_THRIFT_STRUCT, 2);
    cv_thrift_begin_struct(&thrift);
    cv_thrift_field_string(&thrift, 4, "root");
    cv_thrift_field_i32(&thrift, 5, 1);
    cv_thrift_end_struct(&thrift);
    cv_thrift_begin_struct(&thrift);
    cv_thrift_field_i32(&thrift, 1, CV_PARQUET_INT32);
    cv_thrift_field_i32(&thrift, 3, repetition);
    cv_thrift_field_string(&thrift, 4, "v");
    cv_thrift_end_struct(&thrift);
    cv_thrift_field_i64(&thrift, 3, rows);
    cv_thrift_field_list(&thrift, 4, CV_THRIFT_STRUCT, 1);
    cv_thrift_begin_struct(&thrift);
    cv_thrift_field_list(&thrift, 1, CV_THRIFT_STRUCT, 1);
    write_column(&thrift, codec, footer - pages_start);
    cv_thrift_field_i64(&thrift, 2, (int64_t)(footer - pages_start));
    cv_thrift_field_i64(&thrift, 3, rows);
    cv_thrift_end_struct(&thrift);
    cv_thrift_end_struct(&thrift);
    length = (uint32_t)(bytes.length - footer);
    cv_buf_append(&bytes, &length, 4);
    cv_buf_append_text(&bytes, "PAR1");
}

/* Reads the whole as text: "[1, null, 3]" or, repeated, "[[1, 2], []]". */
static enum cv_code read_text(struct cv_buf *text, size_t batch_rows, struct cv_error *err)
{
    CV_CLEANUP(cv_parquet_reader_freep) struct cv_parquet_reader *reader = NULL;
    CV_CLEANUP(cv_parquet_footer_freep) struct cv_parquet_footer *footer = NULL;
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct memory_store memory;
    struct cv_schema schema;
    struct cv_name_mapping mapping;
    struct cv_parquet_read read = {
        .schema = &schema, .mapping = &mapping, .batch_rows = batch_rows};
    struct cv_batch batch;
    int64_t position;

    cv_buf_clear(text);
    memory_store_init(&memory, bytes.data, bytes.length);
    CV_DO(cv_parquet_footer_read(&memory.store, "x", -1, &footer, err));
    CV_DO(parquet_schema(footer, &arena, &schema, &mapping, err));
    CV_DO(cv_parquet_reader_open(&memory.store, "x", -1, cv_steal(footer), &read, &reader, err));
    for (;;) {
        const struct cv_column *column;

        CV_DO(cv_parquet_reader_next(reader, &batch, &position, err));
        if (batch.row_count == 0)
            return CV_OK;
        column = &batch.columns[0];
        for (size_t i = 0; i < batch.row_count; i++) {
            bool list = column->type->kind == CV_TYPE_LIST;
            const struct cv_column *leaf = list ? &column->children[0] : column;
            size_t from = list ? (size_t)column->offsets[i] : i;
            size_t to = list ? (size_t)column->offsets[i + 1] : i + 1;

            cv_buf_append_text(text, list ? "[" : "");
            for (; from < to; from++)
                if (cv_column_is_null(leaf, from))
                    cv_buf_append_text(text, "null ");
                else
                    cv_buf_printf(text, "%d ", cv_column_value(leaf, from).i32);
            cv_buf_append_text(text, list ? "]" : "");
        }
    }
}

static void reads_as(const char *wanted)
{
    static const size_t batches[] = {0, 1, 2, 3};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(batches); i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
        struct cv_error err = CV_ERROR_INIT;

        CV_ASSERT_OK(read_text(&text, batches[i], &err), &err);
        assert_string_equal(cv_buf_text(&text), wanted);
    }
}

static void fails_as(enum cv_code code, const char *message)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_FAILS(read_text(&text, 0, &err), code, message, &err);
}

/* Levels 1 0 1 1 0 1 0 0, 1 1, most significant bit first, and no length before them. */
static void bit_packed_levels(void **state)
{
    start();
    add_page(0, 10, PLAIN, BIT_PACKED, 0,
             "b4 c0 01000000 02000000 03000000 04000000 05000000 06000000");
    end(OPTIONAL, 0, 10);
    reads_as("1 null 2 3 null 4 null null 5 6 ");
    start();
    add_page(0, 10, PLAIN, BIT_PACKED, 0, "b4");
    end(OPTIONAL, 0, 10);
    fails_as(CV_FORMAT, "column v: page at byte 4: a page ends inside its levels");
}

/* Repetition 0 1 1 | 1 0 0 1: the first row goes on in the second page. */
static void rows_go_on_in_the_next_page(void **state)
{
    start();
    add_page(0, 3, PLAIN, RLE, 0, "02000000 03 06  02000000 06 01  01000000 02000000 03000000");
    add_page(0, 4, PLAIN, RLE, 0,
             "02000000 03 09  02000000 08 01  04000000 05000000 06000000 07000000");
    end(REPEATED, 0, 3);
    reads_as("[1 2 3 4 ][5 ][6 7 ]");
}

/* Definitions of which no value is there: empty lists. */
static void lists_may_be_empty(void **state)
{
    start();
    add_page(0, 4, PLAIN, RLE, 0, "02000000 08 00  02000000 03 04  09000000");
    end(REPEATED, 0, 4);
    reads_as("[][][9 ][]");
}

/* Two frames, the first of two blocks: what Hadoop's BlockCompressorStream makes. Each block is a
 * literal run: token (length << 4), bytes. */
static void lz4_of_hadoop_in_blocks(void **state)
{
    start();
    add_page(0, 4, PLAIN, RLE, 16,
             "00000008  00000005 40 01000000  00000005 40 02000000"
             "00000008  00000009 80 03000000 04000000");
    end(REQUIRED, 5, 4);
    reads_as("1 2 3 4 ");
    start(); /* by the writers that have no frames */
    add_page(0, 4, PLAIN, RLE, 16, "f0 01 01000000 02000000 03000000 04000000");
    end(REQUIRED, 5, 4);
    reads_as("1 2 3 4 ");
    start();
    add_page(0, 4, PLAIN, RLE, 16, "00000010 00000005 40 01000000");
    end(REQUIRED, 5, 4);
    fails_as(CV_FORMAT, "malformed lz4");
}

static void pages_of_other_kinds_are_skipped(void **state)
{
    start();
    add_page(1, 0, 0, 0, 0, "aa bb cc");
    add_page(0, 1, PLAIN, RLE, 0, "07000000");
    add_page(9, 0, 0, 0, 0, "aa");
    add_page(0, 0, PLAIN, RLE, 0, ""); /* one without values */
    add_page(0, 1, PLAIN, RLE, 0, "08000000");
    end(REQUIRED, 0, 2);
    reads_as("7 8 ");
}

static void codecs_that_are_refused(void **state)
{
    start();
    add_page(0, 1, PLAIN, RLE, 0, "07000000");
    end(REQUIRED, 3, 1);
    fails_as(CV_UNSUPPORTED, "column v: compression codec LZO is not supported");
    start();
    add_page(0, 1, PLAIN, RLE, 0, "07000000");
    end(REQUIRED, 8, 1);
    fails_as(CV_UNSUPPORTED, "unknown compression codec 8");
}

static void pages_that_are_refused(void **state)
{
    static const struct {
        int32_t encoding;
        const char *body, *message;
    } cases[] = {
        {RLE_DICTIONARY, "01 02 00", "a dictionary that is not there"},
        {6, "07000000", "a page in encoding DELTA_LENGTH_BYTE_ARRAY (6), which its type"},
        {77, "07000000", "a page in encoding unknown (77)"},
        {PLAIN, "070000", "a page ends inside its values"},
        {9, "070000", "streams"},
        {5, "80 01 04 01", "malformed DELTA_BINARY_PACKED"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++) {
        start();
        add_page(0, 1, cases[i].encoding, RLE, 0, cases[i].body);
        end(REQUIRED, 0, 1);
        fails_as(CV_FORMAT, cases[i].message);
    }
    start(); /* entry 1 of a dictionary of one */
    add_page(2, 1, PLAIN, 0, 0, "07000000");
    add_page(0, 1, RLE_DICTIONARY, RLE, 0, "01 02 01");
    end(REQUIRED, 0, 1);
    fails_as(CV_FORMAT, "index 1 into a dictionary of 1 entries");
    start(); /* fewer values in the pages than rows */
    add_page(0, 1, PLAIN, RLE, 0, "07000000");
    values = 2;
    end(REQUIRED, 0, 2);
    fails_as(CV_FORMAT, "column v");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bit_packed_levels),
        cmocka_unit_test(rows_go_on_in_the_next_page),
        cmocka_unit_test(lists_may_be_empty),
        cmocka_unit_test(lz4_of_hadoop_in_blocks),
        cmocka_unit_test(pages_of_other_kinds_are_skipped),
        cmocka_unit_test(codecs_that_are_refused),
        cmocka_unit_test(pages_that_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, release);
}
