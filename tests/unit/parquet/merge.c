/* SPDX-License-Identifier: Apache-2.0
 *
 * Files merged page by page and copied: what the indexes of the result say, which pages were
 * joined, what the dictionary became, and what refuses. Rows are compared by other readers in
 * tests/real/test_parquet_merge.py. */
#include "memory_output.h"

#include "memory_store.h"
#include "parquet/merge_int.h"
#include "parquet/page_header.h"

#define FILES 3

struct merge {
    struct table inputs[FILES];
    struct table out;                      /* schema, options and metrics; its writer is not used */
    struct memory_store stores[FILES + 1]; /* the last one is the result */
    struct cv_parquet_footer *footer;      /* of the result */
    struct cv_arena arena;
};

static const char ddl[] = "n int, s string";

/* File k holds the numbers from 1000 * k on, every tenth null, and texts of few kinds that begin
 * with another one in each file. */
static void write_inputs(struct merge *m, int rows, int64_t page_rows)
{
    static const char *const texts[] = {"ash", "birch", "cedar", "elm"};
    struct cv_error err = CV_ERROR_INIT;

    memset(m, 0, sizeof *m);
    for (int k = 0; k < FILES; k++) {
        struct table *t = &m->inputs[k];

        table_open(t, ddl, "full");
        t->options.page_rows = page_rows;
        table_start(t);
        for (int i = 0; i < rows; i++) {
            const char *text = texts[(i + k) % 4];

            if (i % 10 == 9)
                cv_builder_null(&t->builder.columns[0]);
            else
                cv_builder_i32(&t->builder.columns[0], 1000 * k + i);
            cv_builder_bytes(&t->builder.columns[1], text, strlen(text));
        }
        CV_ASSERT_OK(table_append(t, &err), &err);
        table_close(t);
        memory_store_init(&m->stores[k], t->memory.bytes.data, t->memory.bytes.length);
    }
    table_open(&m->out, ddl, "full");
}

static void merge_all(struct merge *m, enum cv_merge_way want)
{
    static const char *const names[] = {"0", "1", "2"};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_parquet_merger *merger;

    CV_ASSERT_OK(cv_parquet_merger_open(&m->out.memory.output, &m->out.schema, &m->out.options,
                                        &m->out.config, &merger, &err),
                 &err);
    for (size_t k = 0; k < FILES; k++) {
        struct cv_parquet_footer *footer;
        const char *reason;

        CV_ASSERT_OK(cv_parquet_footer_read(&m->stores[k].store, names[k], -1, &footer, &err),
                     &err);
        assert_int_equal(cv_parquet_merge_way(footer, &m->inputs[k].metrics, &m->out.schema,
                                              &m->out.options, &m->out.config, &reason),
                         want);
        CV_ASSERT_OK(cv_parquet_merger_add(merger, &m->stores[k].store, names[k], footer,
                                           &m->inputs[k].metrics, want, 0, footer->group_count,
                                           &err),
                     &err);
        cv_parquet_footer_free(footer);
    }
    CV_ASSERT_OK(cv_parquet_merger_close(merger, &m->out.arena, &m->out.metrics, &err), &err);
    assert_true(m->out.memory.closed);
    memory_store_init(&m->stores[FILES], m->out.memory.bytes.data, m->out.memory.bytes.length);
    CV_ASSERT_OK(cv_parquet_footer_read(&m->stores[FILES].store, "out", -1, &m->footer, &err),
                 &err);
}

static void release(struct merge *m)
{
    for (int k = 0; k < FILES; k++)
        table_release(&m->inputs[k]);
    table_release(&m->out);
    cv_parquet_footer_free(m->footer);
    cv_arena_release(&m->arena);
}

static struct cv_str bytes_at(const struct merge *m, int64_t offset, int32_t length)
{
    assert_true(offset >= 4 && length > 0);
    return (struct cv_str){(const char *)m->out.memory.bytes.data + offset, (size_t)length};
}

static struct cv_column_index column_index(struct merge *m, size_t group, size_t leaf)
{
    const struct cv_parquet_chunk *chunk = &m->footer->groups[group].chunks[leaf];
    struct cv_column_index index;

    assert_true(cv_column_index_parse(
        bytes_at(m, chunk->column_index_offset, chunk->column_index_length), &m->arena, &index));
    return index;
}

/* Every place of the offset index is a data page of so many rows as the next place says. */
static size_t check_places(struct merge *m, size_t group, size_t leaf)
{
    const struct cv_parquet_chunk *chunk = &m->footer->groups[group].chunks[leaf];
    struct cv_page_place *places;
    int64_t rows = 0;
    size_t count;

    assert_true(
        cv_offset_index_parse(bytes_at(m, chunk->offset_index_offset, chunk->offset_index_length),
                              &m->arena, &places, &count));
    assert_int_equal(places[0].offset, chunk->data_offset);
    for (size_t i = 0; i < count; i++) {
        struct cv_str page = bytes_at(m, places[i].offset, places[i].packed_size);
        struct cv_error err = CV_ERROR_INIT;
        struct cv_page_header header;
        size_t length;
        bool cut;

        CV_ASSERT_OK(cv_page_header_parse((const uint8_t *)page.ptr, page.length, &header, &length,
                                          &cut, &err),
                     &err);
        assert_int_equal(header.type, CV_PAGE_DATA);
        assert_int_equal(length + (size_t)header.packed_size, page.length);
        assert_int_equal(places[i].first_row, rows);
        rows += header.value_count;
        if (i + 1 < count)
            assert_int_equal(places[i].offset + places[i].packed_size, places[i + 1].offset);
    }
    assert_int_equal(rows, m->footer->groups[group].row_count);
    return count;
}

static int32_t number(struct cv_str bound)
{
    int32_t value;

    assert_int_equal(bound.length, 4);
    memcpy(&value, bound.ptr, 4);
    return value;
}

static void large_pages_are_copied(void **state)
{
    struct cv_column_index index;
    struct merge m;

    (void)state;
    write_inputs(&m, 250, 100);
    m.out.options.page_rows = 100;
    merge_all(&m, CV_MERGE_PAGES);
    assert_int_equal(m.footer->group_count, 1);
    assert_int_equal(m.footer->row_count, 750);
    assert_int_equal(check_places(&m, 0, 0), 9);
    assert_int_equal(check_places(&m, 0, 1), 9);
    index = column_index(&m, 0, 0);
    assert_int_equal(index.page_count, 9);
    assert_int_equal(number(index.mins[0]), 0);
    assert_int_equal(number(index.maxs[0]), 98);
    assert_int_equal(number(index.mins[5]), 1200);
    assert_int_equal(number(index.maxs[8]), 2248);
    assert_int_equal(index.null_counts[0], 10);
    assert_int_equal(index.null_counts[8], 5);
    assert_int_equal(m.footer->groups[0].chunks[0].statistics.null_count, 75);
    assert_int_equal(number(m.footer->groups[0].chunks[0].statistics.max), 2248);
    release(&m);
}

static void small_pages_are_joined(void **state)
{
    struct cv_column_index index;
    struct merge m;

    (void)state;
    write_inputs(&m, 250, 20);
    m.out.options.page_rows = 300;
    merge_all(&m, CV_MERGE_PAGES);
    assert_int_equal(check_places(&m, 0, 0), 3);
    index = column_index(&m, 0, 0);
    assert_int_equal(number(index.mins[0]), 0);
    assert_int_equal(number(index.mins[2]), 2080);
    assert_int_equal(number(index.maxs[2]), 2248);
    assert_int_equal(index.null_counts[2], 17);
    release(&m);
}

/* The texts of all files are the same four: the dictionary has four entries. */
static void dictionaries_are_united(void **state)
{
    const struct cv_parquet_chunk *chunk;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_page_header header;
    struct cv_str page;
    size_t length;
    struct merge m;
    bool cut;

    (void)state;
    write_inputs(&m, 250, 100);
    m.out.options.page_rows = 100;
    merge_all(&m, CV_MERGE_PAGES);
    chunk = &m.footer->groups[0].chunks[1];
    page = bytes_at(&m, chunk->dictionary_offset, 200);
    CV_ASSERT_OK(
        cv_page_header_parse((const uint8_t *)page.ptr, page.length, &header, &length, &cut, &err),
        &err);
    assert_int_equal(header.type, CV_PAGE_DICTIONARY);
    assert_int_equal(header.value_count, 4);
    assert_memory_equal(page.ptr + length, "\3\0\0\0ash\5\0\0\0birch", 16);
    assert_memory_equal(chunk->statistics.max.ptr, "elm", 3);
    assert_true(chunk->statistics.max_exact);
    release(&m);
}

/* Room for two texts: the other files' values become PLAIN, as in a file of one writer. */
static void a_full_dictionary_takes_no_more(void **state)
{
    struct merge m;

    (void)state;
    write_inputs(&m, 250, 100);
    m.out.options.page_rows = 100;
    m.out.options.dictionary_bytes = 10;
    merge_all(&m, CV_MERGE_PAGES);
    assert_int_equal(m.footer->groups[0].chunks[1].dictionary_offset, -1);
    assert_int_equal(m.footer->groups[0].chunks[1].encodings,
                     1 << CV_PARQUET_PLAIN | 1 << CV_PARQUET_RLE);
    (void)check_places(&m, 0, 1);
    release(&m);
}

static void large_row_groups_are_copied(void **state)
{
    struct merge m;

    (void)state;
    write_inputs(&m, 250, 100);
    m.out.options.row_group_bytes = 200;
    merge_all(&m, CV_MERGE_COPY);
    assert_int_equal(m.footer->group_count, 3);
    for (size_t k = 0; k < FILES; k++) {
        struct cv_column_index index = column_index(&m, k, 0);
        const struct cv_parquet_chunk *chunk = &m.footer->groups[k].chunks[0];

        assert_int_equal(check_places(&m, k, 0), 3);
        assert_int_equal(number(index.mins[0]), 1000 * (int)k);
        assert_int_equal(number(chunk->statistics.min), 1000 * (int)k);
        assert_int_equal(m.out.metrics.split_offsets[k], cv_parquet_chunk_start(chunk));
    }
    release(&m);
}

/* What a writer of all rows would tell. */
static void metrics_are_those_of_the_rows(void **state)
{
    const struct cv_column_metrics *column;
    struct merge m;

    (void)state;
    write_inputs(&m, 250, 100);
    merge_all(&m, CV_MERGE_PAGES);
    column = &m.out.metrics.columns[0];
    assert_int_equal(m.out.metrics.record_count, 750);
    assert_int_equal(m.out.metrics.file_size, m.out.memory.bytes.length);
    assert_int_equal(column->value_count, 750);
    assert_int_equal(column->null_count, 75);
    assert_int_equal(column->nan_count, -1);
    assert_int_equal(number(column->lower), 0);
    assert_int_equal(number(column->upper), 2248);
    assert_int_equal(m.out.metrics.columns[1].lower.length, 3);
    assert_memory_equal(m.out.metrics.columns[1].upper.ptr, "elm", 3);
    release(&m);
}

static void a_damaged_input_fails_by_name(void **state)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_parquet_merger *merger;
    struct cv_parquet_footer *footer;
    struct cv_file_metrics metrics;
    struct merge m;

    (void)state;
    write_inputs(&m, 250, 100);
    CV_ASSERT_OK(cv_parquet_footer_read(&m.stores[0].store, "0", -1, &footer, &err), &err);
    memset(m.inputs[0].memory.bytes.data + footer->groups[0].chunks[1].data_offset, 0xff, 8);
    CV_ASSERT_OK(cv_parquet_merger_open(&m.out.memory.output, &m.out.schema, &m.out.options,
                                        &m.out.config, &merger, &err),
                 &err);
    CV_ASSERT_OK(cv_parquet_merger_add(merger, &m.stores[0].store, "0", footer,
                                       &m.inputs[0].metrics, CV_MERGE_PAGES, 0, 1, &err),
                 &err);
    CV_ASSERT_FAILS(cv_parquet_merger_close(merger, &m.arena, &metrics, &err), CV_FORMAT,
                    "0: column s", &err);
    assert_true(m.out.memory.aborted);
    cv_parquet_footer_free(footer);
    release(&m);
}

/* What is copied byte by byte keeps its page index: a place outside the chunk is not moved. */
static void places_outside_their_chunk_are_refused(void **state)
{
    static const struct cv_page_place wrong[] = {
        {.offset = INT64_MAX, .packed_size = 1}, {.offset = 3, .packed_size = 1},
        {.offset = 4, .packed_size = INT32_MAX}, {.offset = 4, .packed_size = -1},
        {.offset = 4, .first_row = 251},         {.offset = 4, .first_row = -1},
    };
    struct merge m;

    (void)state;
    write_inputs(&m, 250, 100);
    m.out.options.row_group_bytes = 200;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(wrong); i++) {
        struct memory_output out;
        CV_CLEANUP(cv_parquet_footer_freep) struct cv_parquet_footer *footer = NULL;
        CV_CLEANUP(cv_parquet_merger_abortp) struct cv_parquet_merger *merger = NULL;
        CV_CLEANUP(cv_buf_release) struct cv_buf index = CV_BUF_INIT(0);
        struct cv_thrift_writer thrift = CV_THRIFT_WRITER(&index);
        struct cv_error err = CV_ERROR_INIT;
        struct cv_parquet_chunk *chunk;

        CV_ASSERT_OK(cv_parquet_footer_read(&m.stores[0].store, "0", -1, &footer, &err), &err);
        cv_thrift_begin_struct(&thrift);
        cv_thrift_field_list(&thrift, 1, CV_THRIFT_STRUCT, 1);
        cv_page_place_write(&thrift, wrong[i].offset, wrong[i].packed_size, wrong[i].first_row);
        cv_thrift_end_struct(&thrift);
        chunk = &footer->groups[0].chunks[0];
        assert_int_equal(cv_parquet_chunk_start(chunk), 4);
        assert_in_range(chunk->offset_index_length, index.length, INT32_MAX);
        memcpy(m.inputs[0].memory.bytes.data + chunk->offset_index_offset, index.data,
               index.length);
        memory_output_init(&out);
        CV_ASSERT_OK(cv_parquet_merger_open(&out.output, &m.out.schema, &m.out.options,
                                            &m.out.config, &merger, &err),
                     &err);
        CV_ASSERT_FAILS(cv_parquet_merger_add(merger, &m.stores[0].store, "0", footer,
                                              &m.inputs[0].metrics, CV_MERGE_COPY, 0, 1, &err),
                        CV_FORMAT, "0: column n: the offset index has page 0 outside", &err);
        cv_buf_release(&out.bytes);
    }
    release(&m);
}

/* CRC-32 of "123456789" is the check value of its definition (catalogue of CRC algorithms). A page
 * that is copied keeps its checksum for the reader. */
static void checksums_of_pages_taken_apart_are_checked(void **state)
{
    static const uint8_t body[9 + CV_RLE_SLACK] = "123456789";
    struct cv_parquet_writer writer = {.options.codec = CV_CODEC_NONE};
    struct cv_parquet_merger merger = {.writer = &writer};
    const struct cv_leaf leaf = {0};
    struct cv_error err = CV_ERROR_INIT;
    struct cv_merge_page page = {
        .header = {.packed_size = 9, .plain_size = 9, .has_crc = true, .crc = 0xcbf43926},
        .bytes = body,
    };

    (void)state;
    CV_ASSERT_OK(cv_merge_unpack(&merger, &leaf, &page, &err), &err);
    assert_ptr_equal(page.values, body);
    page.header.crc++;
    CV_ASSERT_FAILS(cv_merge_unpack(&merger, &leaf, &page, &err), CV_FORMAT, "checksum (CRC)",
                    &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_pages_are_copied),
        cmocka_unit_test(small_pages_are_joined),
        cmocka_unit_test(dictionaries_are_united),
        cmocka_unit_test(a_full_dictionary_takes_no_more),
        cmocka_unit_test(large_row_groups_are_copied),
        cmocka_unit_test(metrics_are_those_of_the_rows),
        cmocka_unit_test(a_damaged_input_fails_by_name),
        cmocka_unit_test(places_outside_their_chunk_are_refused),
        cmocka_unit_test(checksums_of_pages_taken_apart_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
