/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole files: bytes of small pages worked out by hand, page index, limits and failures. */
#include "memory_output.h"

/* The bytes of a page header: data page v1 with `plain` bytes, `count` values and an encoding
 * (0 PLAIN, 2 PLAIN_DICTIONARY), not compressed. Thrift compact: i32 fields are zigzag. */
static void assert_page(const struct cv_buf *file, size_t offset, const char *header,
                        const char *body)
{
    uint8_t wanted[512];
    size_t header_length = cv_test_hex(header, wanted, sizeof wanted);
    size_t length =
        header_length + cv_test_hex(body, wanted + header_length, sizeof wanted - header_length);

    assert_true(offset + length <= file->length);
    assert_memory_equal(file->data + offset, wanted, length);
}

static void plain_page_of_a_required_column(void **state)
{
    struct table t;
    struct cv_error err = CV_ERROR_INIT;

    table_open(&t, "a int NOT NULL", "full");
    t.options.dictionary_bytes = 0;
    table_start(&t);
    cv_builder_i32(&t.builder.columns[0], 1);
    cv_builder_i32(&t.builder.columns[0], -1);
    CV_ASSERT_OK(table_append(&t, &err), &err);
    table_close(&t);
    /* type 0, sizes 8 and 8, data page {2 values, PLAIN, RLE, RLE}. */
    assert_page(&t.memory.bytes, 4, "15 00 15 10 15 10 2c 15 04 15 00 15 06 15 06 00 00",
                "01000000 ffffffff");
    assert_int_equal(t.metrics.split_offsets[0], 4);
    table_release(&t);
}

/* Rows [1, 2], NULL, [], [NULL]: repetition 0 1 0 0 0, definition 3 3 0 1 2. */
static void levels_of_a_list(void **state)
{
    struct table t;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_builder *list;

    table_open(&t, "l array<int>", "full");
    t.options.dictionary_bytes = 0;
    table_start(&t);
    list = &t.builder.columns[0];
    cv_builder_i32(&list->children[0], 1);
    cv_builder_i32(&list->children[0], 2);
    cv_builder_end_list(list);
    cv_builder_null(list);
    cv_builder_end_list(list);
    cv_builder_null(&list->children[0]);
    cv_builder_end_list(list);
    CV_ASSERT_OK(table_append(&t, &err), &err);
    table_close(&t);
    assert_page(&t.memory.bytes, 4, "15 00 15 2a 15 2a 2c 15 0a 15 00 15 06 15 06 00 00",
                "02000000 0302  03000000 034f02  01000000 02000000");
    assert_int_equal(t.metrics.record_count, 4);
    assert_int_equal(t.metrics.columns[0].value_count, -1);
    table_release(&t);
}

static void dictionary_page_of_texts(void **state)
{
    struct table t;
    struct cv_error err = CV_ERROR_INIT;
    struct chunk_seen seen[1];

    table_open(&t, "s string", "full");
    table_start(&t);
    for (int i = 0; i < 16; i++)
        cv_builder_bytes(&t.builder.columns[0], i % 2 ? "bb" : "a", i % 2 ? 2 : 1);
    cv_builder_null(&t.builder.columns[0]);
    CV_ASSERT_OK(table_append(&t, &err), &err);
    table_close(&t);
    /* Dictionary page: type 2, 11 bytes, {2 values, PLAIN_DICTIONARY}. */
    assert_page(&t.memory.bytes, 4, "15 04 15 16 15 16 4c 15 04 15 04 00 00",
                "01000000 61 02000000 6262");
    assert_int_equal(read_footer(&t.memory.bytes, seen, 1), 1);
    assert_int_equal(seen[0].dictionary_offset, 4);
    assert_int_equal(seen[0].data_offset, 4 + 13 + 11);
    /* 17 levels: a run of 16, one null in a group; then width 1 and two groups of 0 1 0 1 …. */
    assert_page(&t.memory.bytes, (size_t)seen[0].data_offset,
                "15 00 15 18 15 18 2c 15 22 15 04 15 06 15 06 00 00",
                "04000000 20 01 03 00  01 05 aa aa");
    assert_int_equal(seen[0].values, 17);
    assert_int_equal(seen[0].null_count, 1);
    assert_true(cv_str_is(seen[0].min, "a") && cv_str_is(seen[0].max, "bb"));
    assert_true(seen[0].min_exact && seen[0].max_exact);
    table_release(&t);
}

/* Not every reader knows a width of 0: one entry takes a bit all the same. */
static void one_value_takes_one_bit(void **state)
{
    struct table t;
    struct cv_error err = CV_ERROR_INIT;

    table_open(&t, "s string NOT NULL", "full");
    table_start(&t);
    for (int i = 0; i < 40; i++)
        cv_builder_bytes(&t.builder.columns[0], "abcd", 4);
    CV_ASSERT_OK(table_append(&t, &err), &err);
    table_close(&t);
    assert_page(&t.memory.bytes, 4, "15 04 15 10 15 10 4c 15 02 15 04 00 00", "04000000 61626364");
    assert_page(&t.memory.bytes, 4 + 13 + 8, "15 00 15 06 15 06 2c 15 50 15 04 15 06 15 06 00 00",
                "01 50 00");
    table_release(&t);
}

/* Rows 5 to 15 of a batch in which every third value is null. */
static void levels_of_rows_from_the_middle(void **state)
{
    struct table t;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_batch batch;
    struct cv_rows rows = {.start = 5, .count = 11};

    table_open(&t, "a int", "full");
    t.options.dictionary_bytes = 0;
    table_start(&t);
    for (int i = 0; i < 16; i++) {
        if (i % 3 == 0)
            cv_builder_null(&t.builder.columns[0]);
        else
            cv_builder_i32(&t.builder.columns[0], i);
    }
    cv_batch_builder_view(&t.builder, &batch);
    CV_ASSERT_OK(cv_parquet_writer_append(t.writer, &batch, &rows, &err), &err);
    table_close(&t);
    /* Present 1 0 1 1 0 1 1 0, 1 1 0: bytes 6d and 03. */
    assert_page(&t.memory.bytes, 4, "15 00 15 46 15 46 2c 15 16 15 00 15 06 15 06 00 00",
                "03000000 05 6d 03"
                "05000000 07000000 08000000 0a000000 0b000000 0d000000 0e000000");
    table_release(&t);
}

/* The same rows one by one, picked by an index. */
static void levels_of_picked_rows(void **state)
{
    static const uint32_t picked[4] = {15, 1, 0, 2};
    struct table t;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_batch batch;

    table_open(&t, "a int", "full");
    t.options.dictionary_bytes = 0;
    table_start(&t);
    for (int i = 0; i < 16; i++) {
        if (i % 3 == 0)
            cv_builder_null(&t.builder.columns[0]);
        else
            cv_builder_i32(&t.builder.columns[0], i);
    }
    cv_batch_builder_view(&t.builder, &batch);
    for (size_t i = 0; i < 4; i++) {
        struct cv_rows rows = {.index = picked + i, .count = 1};

        CV_ASSERT_OK(cv_parquet_writer_append(t.writer, &batch, &rows, &err), &err);
    }
    table_close(&t);
    assert_page(&t.memory.bytes, 4, "15 00 15 1c 15 1c 2c 15 08 15 00 15 06 15 06 00 00",
                "02000000 03 0a 01000000 02000000");
    table_release(&t);
}

/* Levels are not kept while nothing is null; the first null brings those before it back. */
static void a_null_after_rows_without(void **state)
{
    static const char *const ddls[] = {"a int", "s struct<a: int>"};
    static const char *const levels[] = {"02000000 03 17", "03000000 03 6a 02"};

    for (size_t i = 0; i < 2; i++) {
        struct table t;
        struct cv_error err = CV_ERROR_INIT;
        struct cv_builder *leaf;

        table_open(&t, ddls[i], "full");
        t.options.dictionary_bytes = 0;
        table_start(&t);
        leaf = i ? &t.builder.columns[0].children[0] : &t.builder.columns[0];
        for (int row = 0; row < 5; row++) {
            if (row == 3)
                cv_builder_null(leaf);
            else
                cv_builder_i32(leaf, row);
            if (i)
                cv_builder_end_struct(&t.builder.columns[0]);
            CV_ASSERT_OK(table_append(&t, &err), &err);
        }
        table_close(&t);
        /* 1 1 1 0 1 in one bit; 2 2 2 1 2 in two. */
        assert_page(&t.memory.bytes, 4,
                    i ? "15 00 15 2e 15 2e 2c 15 0a 15 00 15 06 15 06 00 00"
                      : "15 00 15 2c 15 2c 2c 15 0a 15 00 15 06 15 06 00 00",
                    levels[i]);
        table_release(&t);
    }
}

static void a_dictionary_above_its_limit_is_dropped(void **state)
{
    struct table t;
    struct cv_error err = CV_ERROR_INIT;
    struct chunk_seen seen[1];

    for (int limit = 0; limit < 2; limit++) {
        table_open(&t, "a bigint NOT NULL", "full");
        t.options.dictionary_bytes = limit ? 64 : 1000;
        table_start(&t);
        for (int i = 0; i < 1000; i++)
            cv_builder_i64(&t.builder.columns[0], i % 50);
        CV_ASSERT_OK(table_append(&t, &err), &err);
        table_close(&t);
        assert_int_equal(read_footer(&t.memory.bytes, seen, 1), 1);
        assert_int_equal(seen[0].dictionary_offset, limit ? 0 : 4);
        table_release(&t);
    }
}

/* A large page goes past the buffer of small ones, and must not overtake them. */
static void pages_keep_their_order(void **state)
{
    struct table t;
    struct cv_error err = CV_ERROR_INIT;
    struct chunk_seen seen[3];
    static char text[200000];

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + i % 23);
    table_open(&t, "a int, s string, b int", "full");
    t.options.dictionary_bytes = 0;
    table_start(&t);
    cv_builder_i32(&t.builder.columns[0], 1);
    cv_builder_bytes(&t.builder.columns[1], text, sizeof text);
    cv_builder_i32(&t.builder.columns[2], 2);
    CV_ASSERT_OK(table_append(&t, &err), &err);
    table_close(&t);
    assert_int_equal(read_footer(&t.memory.bytes, seen, 3), 3);
    for (size_t i = 0; i < 3; i++)
        cv_test_assert_hex(t.memory.bytes.data + seen[i].data_offset, 3, "15 00 15");
    table_release(&t);
}

static void booleans_are_bits(void **state)
{
    struct table t;
    struct cv_error err = CV_ERROR_INIT;

    table_open(&t, "b boolean NOT NULL", "full");
    table_start(&t);
    for (int i = 0; i < 10; i++)
        cv_builder_bool(&t.builder.columns[0], i == 1 || i == 9);
    CV_ASSERT_OK(table_append(&t, &err), &err);
    table_close(&t);
    assert_page(&t.memory.bytes, 4, "15 00 15 04 15 04 2c 15 14 15 00 15 06 15 06 00 00", "02 02");
    table_release(&t);
}

/* Decimals above 18 digits are big-endian in the least number of bytes: 9 for 19 digits. */
static void wide_decimals_are_big_endian(void **state)
{
    struct table t;
    struct cv_error err = CV_ERROR_INIT;

    table_open(&t, "d decimal(19,4) NOT NULL", "full");
    t.options.dictionary_bytes = 0;
    table_start(&t);
    cv_builder_decimal(&t.builder.columns[0], 350);
    cv_builder_decimal(&t.builder.columns[0], -1);
    CV_ASSERT_OK(table_append(&t, &err), &err);
    table_close(&t);
    assert_page(&t.memory.bytes, 4, "15 00 15 24 15 24 2c 15 04 15 00 15 06 15 06 00 00",
                "00000000000000015e ffffffffffffffffff");
    cv_test_assert_hex(t.metrics.columns[0].lower.ptr, t.metrics.columns[0].lower.length, "ff");
    cv_test_assert_hex(t.metrics.columns[0].upper.ptr, t.metrics.columns[0].upper.length, "015e");
    table_release(&t);
}

/* Pages of two rows: 1 2, NULL NULL, 3 NULL, 9 8; the column index ascends over the null page. */
static void page_index_of_four_pages(void **state)
{
    static const int64_t values[8] = {1, 2, -1, -1, 3, -1, 9, 8};
    struct table t;
    struct cv_error err = CV_ERROR_INIT;
    struct chunk_seen seen[1];

    table_open(&t, "a bigint", "full");
    t.options.page_rows = 2;
    t.options.dictionary_bytes = 0;
    table_start(&t);
    for (size_t i = 0; i < 8; i++) {
        if (values[i] < 0)
            cv_builder_null(&t.builder.columns[0]);
        else
            cv_builder_i64(&t.builder.columns[0], values[i]);
    }
    CV_ASSERT_OK(table_append(&t, &err), &err);
    table_close(&t);
    assert_int_equal(read_footer(&t.memory.bytes, seen, 1), 1);
    /* null pages f t f f; minima and maxima; 1 = ascending; null counts 0 2 1 0. */
    cv_test_assert_hex(t.memory.bytes.data + seen[0].column_index,
                       (size_t)seen[0].column_index_length,
                       "19 41 02 01 02 02"
                       "19 48 08 0100000000000000 00 08 0300000000000000 08 0800000000000000"
                       "19 48 08 0200000000000000 00 08 0300000000000000 08 0900000000000000"
                       "15 02 19 46 00 04 02 00 00");
    /* Pages of 39, 23, 33 and 39 bytes from offset 4, first rows 0 2 4 6. */
    assert_int_equal(seen[0].offset_index, seen[0].column_index + seen[0].column_index_length);
    assert_int_equal(t.memory.bytes.data[seen[0].offset_index + 1], 0x4c);
    table_release(&t);
}

static void long_texts_are_cut_in_the_index_and_whole_in_metrics(void **state)
{
    struct table t;
    struct cv_error err = CV_ERROR_INIT;
    struct chunk_seen seen[1];
    char text[601];

    memset(text, 'x', 600);
    text[600] = 0;
    table_open(&t, "s string, t string", "full");
    table_start(&t);
    cv_builder_bytes(&t.builder.columns[0], text, 600);
    cv_builder_bytes(&t.builder.columns[1], text, 100);
    CV_ASSERT_OK(table_append(&t, &err), &err);
    table_close(&t);
    assert_int_equal(t.metrics.columns[0].upper.length, 600);
    {
        struct chunk_seen both[2];

        assert_int_equal(read_footer(&t.memory.bytes, both, 2), 2);
        seen[0] = both[0];
        assert_true(both[1].max_exact && both[1].max.length == 100);
    }
    assert_int_equal(seen[0].min.length, 512);
    assert_int_equal(seen[0].max.length, 512);
    assert_false(seen[0].min_exact || seen[0].max_exact);
    assert_int_equal(seen[0].max.ptr[511], 'y');
    /* One null page flag, then a minimum of 64 bytes: 64 x, and a maximum that ends in y. */
    assert_int_equal(t.memory.bytes.data[seen[0].column_index + 5], 64);
    assert_int_equal(t.memory.bytes.data[seen[0].column_index + 6 + 63], 'x');
    assert_int_equal(t.memory.bytes.data[seen[0].column_index + 6 + 64 + 3 + 63], 'y');
    table_release(&t);
}

static void a_null_in_a_required_column_is_refused(void **state)
{
    static const char *const ddls[] = {"a int, b string NOT NULL", "s struct<m: double NOT NULL>",
                                       "l array<int NOT NULL> NOT NULL"};
    static const char *const paths[] = {"column b:", "column s.m:", "column l:"};

    for (size_t i = 0; i < 3; i++) {
        struct table t;
        struct cv_error err = CV_ERROR_INIT;

        if (i == 2)
            table_open(&t, "l array<int> NOT NULL", "full");
        else
            table_open(&t, ddls[i], "full");
        table_start(&t);
        if (i == 0)
            cv_builder_i32(&t.builder.columns[0], 1);
        if (i == 1) {
            cv_builder_null(&t.builder.columns[0].children[0]);
            cv_builder_end_struct(&t.builder.columns[0]);
        } else {
            cv_builder_null(&t.builder.columns[i == 0]);
        }
        CV_ASSERT_FAILS(table_append(&t, &err), CV_SCHEMA, paths[i], &err);
        cv_error_clear(&err);
        CV_ASSERT_FAILS(cv_parquet_writer_close(t.writer, &t.arena, &t.metrics, &err), CV_INTERNAL,
                        "failed before", &err);
        assert_true(t.memory.aborted && !t.memory.closed);
        table_release(&t);
    }
}

static void a_file_without_rows(void **state)
{
    struct table t;
    struct chunk_seen seen[1];

    table_open(&t, "a int", "full");
    table_start(&t);
    table_close(&t);
    assert_int_equal(t.metrics.record_count, 0);
    assert_int_equal(t.metrics.split_count, 0);
    assert_int_equal(t.metrics.columns[0].value_count, 0);
    assert_null(t.metrics.columns[0].lower.ptr);
    assert_int_equal(read_footer(&t.memory.bytes, seen, 1), 0);
    table_release(&t);
}

static void fill(struct table *t, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        char text[32];
        int length = snprintf(text, sizeof text, "order-%zu", i * 7919);

        cv_builder_i64(&t->builder.columns[0], (int64_t)(i * UINT64_C(0x9e3779b97f4a7c15)));
        cv_builder_bytes(&t->builder.columns[1], text, (size_t)length);
    }
}

static void memory_is_told_and_given_back(void **state)
{
    struct table t;
    struct cv_error err = CV_ERROR_INIT;
    size_t idle;
    size_t full;

    table_open(&t, "a bigint, s string", "counts");
    t.options.codec = CV_CODEC_ZSTD;
    table_start(&t);
    idle = cv_parquet_writer_memory(t.writer);
    fill(&t, 50000);
    CV_ASSERT_OK(table_append(&t, &err), &err);
    full = cv_parquet_writer_memory(t.writer);
    assert_true(full > idle + 400000);
    assert_int_equal(t.memory.bytes.length, 0);
    assert_int_equal(cv_parquet_writer_rows(t.writer), 50000);
    assert_true(cv_parquet_writer_length(t.writer) > 400000);
    CV_ASSERT_OK(cv_parquet_writer_flush(t.writer, &err), &err);
    assert_true(cv_parquet_writer_memory(t.writer) < idle + 40000);
    assert_true(t.memory.bytes.length > 400000);
    fill(&t, 10);
    CV_ASSERT_OK(table_append(&t, &err), &err);
    table_close(&t);
    assert_int_equal(t.metrics.split_count, 2);
    assert_int_equal(t.metrics.record_count, 50010);
    assert_int_equal(t.metrics.columns[0].value_count, 50010);
    assert_null(t.metrics.columns[0].lower.ptr);
    table_release(&t);
}

static void row_groups_end_at_their_size(void **state)
{
    struct table t;
    struct cv_error err = CV_ERROR_INIT;

    table_open(&t, "a bigint, s string", "truncate(16)");
    t.options.row_group_bytes = 100000;
    table_start(&t);
    fill(&t, 50000);
    CV_ASSERT_OK(table_append(&t, &err), &err);
    table_close(&t);
    /* 1.3 MB of values: at least 10 groups, and none much larger than asked for. */
    assert_in_range(t.metrics.split_count, 10, 16);
    for (size_t i = 1; i < t.metrics.split_count; i++)
        assert_in_range(t.metrics.split_offsets[i] - t.metrics.split_offsets[i - 1], 50000, 150000);
    table_release(&t);
}

/* Each write fails in turn: the error comes out, the output is aborted, nothing leaks. */
static void every_failing_step_aborts_the_file(void **state)
{
    int steps = 0;
    bool done = false;

    for (; !done; steps++) {
        struct table t;
        struct cv_error err = CV_ERROR_INIT;
        enum cv_code code;

        table_open(&t, "a bigint, s string", "full");
        t.options.row_group_bytes = 200000;
        table_start(&t);
        t.memory.steps_left = steps;
        fill(&t, 30000);
        code = table_append(&t, &err);
        if (code == CV_OK)
            code = cv_parquet_writer_close(t.writer, &t.arena, &t.metrics, &err);
        else
            cv_parquet_writer_abort(t.writer);
        done = code == CV_OK;
        if (!done) {
            assert_int_equal(code, CV_IO);
            assert_non_null(strstr(err.message, "disk is full"));
            assert_true(t.memory.aborted && !t.memory.closed);
        }
        table_release(&t);
    }
    assert_true(steps > 4);
}

static void a_struct_without_fields_is_refused(void **state)
{
    struct table t;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_field field = {.id = 1, .name = "empty", .type = {.kind = CV_TYPE_STRUCT}};

    table_open(&t, "a int", "full");
    t.schema.root.fields = &field;
    CV_ASSERT_FAILS(
        cv_parquet_writer_open(&t.memory.output, &t.schema, &t.options, &t.config, &t.writer, &err),
        CV_SCHEMA, "empty: a struct without fields", &err);
    assert_true(t.memory.aborted);
    table_release(&t);
}

/* Lists as deep as the schema may be: levels up to 120 or so. */
static void lists_sixty_deep(void **state)
{
    struct table t;
    struct cv_error err = CV_ERROR_INIT;
    struct chunk_seen seen[1];
    char ddl[2048] = "l ";
    struct cv_builder *list;

    for (int i = 0; i < 60; i++)
        strcat(ddl, "array<");
    strcat(ddl, "int");
    for (int i = 0; i < 60; i++)
        strcat(ddl, ">");
    table_open(&t, ddl, "full");
    table_start(&t);
    for (int depth = 0; depth <= 60; depth++) {
        struct cv_builder *path[61];

        list = &t.builder.columns[0];
        for (int i = 0; i <= depth; i++) {
            path[i] = list;
            list = list->child_count ? &list->children[0] : NULL;
        }
        cv_builder_null(path[depth]);
        for (int i = depth; i-- > 0;)
            cv_builder_end_list(path[i]);
    }
    CV_ASSERT_OK(table_append(&t, &err), &err);
    table_close(&t);
    assert_int_equal(read_footer(&t.memory.bytes, seen, 1), 1);
    assert_int_equal(seen[0].values, 61);
    assert_int_equal(seen[0].null_count, 61);
    table_release(&t);
}

static void malformed_options_are_refused(void **state)
{
    static const char *const wrong[][3] = {
        {"write.parquet.compression-codec", "brotli", "brotli"},
        {"write.parquet.compression-codec", "deflate", "deflate"},
        {"write.parquet.compression-level", "99", "99"},
        {"write.parquet.compression-level", "high", "compression-level"},
        {"write.parquet.row-group-size-bytes", "0", "row-group-size-bytes"},
        {"write.parquet.page-size-bytes", "-1", "page-size-bytes"},
        {"write.parquet.page-row-limit", "0", "page-row-limit"},
        {"write.parquet.dict-size-bytes", "99999999999", "dict-size-bytes"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(wrong); i++) {
        struct cv_properties properties = {0};
        struct cv_parquet_options options;
        struct cv_error err = CV_ERROR_INIT;

        cv_properties_set(&properties, wrong[i][0], wrong[i][1]);
        CV_ASSERT_FAILS(cv_parquet_options_read(&properties, &options, &err), CV_CONFIG,
                        wrong[i][2], &err);
        cv_properties_release(&properties);
    }
}

static void options_of_the_table(void **state)
{
    struct cv_properties properties = {0};
    struct cv_parquet_options options;
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(cv_parquet_options_read(&properties, &options, &err), &err);
    assert_int_equal(options.codec, CV_CODEC_GZIP);
    assert_int_equal(options.level, CV_CODEC_LEVEL_DEFAULT);
    assert_int_equal(options.row_group_bytes, 134217728);
    assert_int_equal(options.page_bytes, 1048576);
    assert_int_equal(options.page_rows, 20000);
    assert_int_equal(options.dictionary_bytes, 2097152);
    cv_properties_set(&properties, "write.parquet.compression-codec", "ZSTD");
    cv_properties_set(&properties, "write.parquet.compression-level", "3");
    CV_ASSERT_OK(cv_parquet_options_read(&properties, &options, &err), &err);
    assert_int_equal(options.codec, CV_CODEC_ZSTD);
    assert_int_equal(options.level, 3);
    cv_properties_release(&properties);
}

/* Two files of a column of many values: the second does without a dictionary. */
static void a_useless_dictionary_is_remembered(void **state)
{
    struct cv_parquet_workspace *workspace = cv_parquet_workspace_new();
    size_t memory[2];

    for (int i = 0; i < 2; i++) {
        struct table t;
        struct cv_error err = CV_ERROR_INIT;

        table_open(&t, "a bigint, s string", "full");
        t.options.workspace = workspace;
        table_start(&t);
        fill(&t, 2000);
        CV_ASSERT_OK(table_append(&t, &err), &err);
        memory[i] = cv_parquet_writer_memory(t.writer);
        table_close(&t);
        table_release(&t);
    }
    assert_true(memory[1] * 3 < memory[0] * 2);
    cv_parquet_workspace_free(workspace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_page_of_a_required_column),
        cmocka_unit_test(levels_of_a_list),
        cmocka_unit_test(dictionary_page_of_texts),
        cmocka_unit_test(one_value_takes_one_bit),
        cmocka_unit_test(levels_of_rows_from_the_middle),
        cmocka_unit_test(levels_of_picked_rows),
        cmocka_unit_test(pages_keep_their_order),
        cmocka_unit_test(a_null_after_rows_without),
        cmocka_unit_test(a_dictionary_above_its_limit_is_dropped),
        cmocka_unit_test(booleans_are_bits),
        cmocka_unit_test(wide_decimals_are_big_endian),
        cmocka_unit_test(page_index_of_four_pages),
        cmocka_unit_test(long_texts_are_cut_in_the_index_and_whole_in_metrics),
        cmocka_unit_test(a_null_in_a_required_column_is_refused),
        cmocka_unit_test(a_file_without_rows),
        cmocka_unit_test(memory_is_told_and_given_back),
        cmocka_unit_test(row_groups_end_at_their_size),
        cmocka_unit_test(every_failing_step_aborts_the_file),
        cmocka_unit_test(a_struct_without_fields_is_refused),
        cmocka_unit_test(lists_sixty_deep),
        cmocka_unit_test(malformed_options_are_refused),
        cmocka_unit_test(options_of_the_table),
        cmocka_unit_test(a_useless_dictionary_is_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
