/* SPDX-License-Identifier: Apache-2.0
 *
 * Footers of files by many writers against what PyArrow reads in them, what the writer wrote read
 * back, and footers that lie. */
#include "memory_output.h"

#include "parquet/footer.h"

struct known {
    const char *file;
    int64_t rows;
    size_t groups;
    uint32_t leaves;
    int64_t last_packed_size; /* of the last chunk of all */
    int64_t nulls;            /* sum of the null counts that chunks tell; 0 = PyArrow tells none */
    unsigned definition_max;
    unsigned repetition_max;
};

/* PyArrow 22: FileMetaData.num_rows, num_row_groups, num_columns, total_compressed_size,
 * null_count, max_definition_level, max_repetition_level. */
static const struct known known_files[] = {
    {"alltypes_dictionary.parquet", 2, 1, 11, 63, 0, 1, 0},
    {"alltypes_plain.parquet", 8, 1, 11, 139, 0, 1, 0},
    {"alltypes_plain.snappy.parquet", 2, 1, 11, 63, 0, 1, 0},
    {"alltypes_tiny_pages.parquet", 7300, 1, 13, 8582, 0, 1, 0},
    {"alltypes_tiny_pages_plain.parquet", 7300, 1, 13, 37325, 0, 1, 0},
    {"binary.parquet", 12, 1, 1, 95, 0, 1, 0},
    {"binary_truncated_min_max.parquet", 12, 1, 6, 210, 0, 0, 0},
    {"byte_array_decimal.parquet", 24, 1, 1, 168, 0, 1, 0},
    {"byte_stream_split.zstd.parquet", 300, 1, 2, 2283, 0, 1, 0},
    {"byte_stream_split_extended.gzip.parquet", 200, 1, 14, 643, 0, 1, 0},
    {"column_chunk_key_value_metadata.parquet", 0, 1, 2, 0 /* 14, without values */, 0, 1, 0},
    {"concatenated_gzip_members.parquet", 513, 1, 1, 1467, 0, 1, 0},
    {"data_index_bloom_encoding_stats.parquet", 14, 1, 1, 152, 0, 1, 0},
    {"data_index_bloom_encoding_with_length.parquet", 14, 1, 1, 199, 0, 1, 0},
    {"datapage_v2.snappy.parquet", 5, 1, 5, 78, 3, 2, 1},
    {"datapage_v2_empty_datapage.snappy.parquet", 1, 1, 1, 23, 1, 1, 0},
    {"delta_binary_packed.parquet", 200, 1, 66, 980, 0, 1, 0},
    {"delta_byte_array.parquet", 1000, 1, 9, 3511, 1202, 1, 0},
    {"delta_encoding_optional_column.parquet", 100, 1, 17, 407, 37, 1, 0},
    {"delta_encoding_required_column.parquet", 100, 1, 17, 405, 0, 0, 0},
    {"delta_length_byte_array.parquet", 1000, 1, 1, 2625, 0, 1, 0},
    {"dict-page-offset-zero.parquet", 39, 1, 1, 40, 0, 1, 0},
    {"fixed_length_byte_array.parquet", 1000, 1, 1, 3940, 105, 1, 0},
    {"fixed_length_decimal.parquet", 24, 1, 1, 319, 0, 1, 0},
    {"fixed_length_decimal_legacy.parquet", 24, 1, 1, 189, 0, 1, 0},
    {"float16_nonzeros_and_nans.parquet", 8, 1, 1, 76, 1, 1, 0},
    {"float16_zeros_and_nans.parquet", 3, 1, 1, 64, 1, 1, 0},
    {"floating_orders_nan_count.parquet", 50, 5, 6, 43, 0, 0, 0},
    {"geospatial/geography-lines.parquet", 499, 50, 2, 275, 0, 1, 0},
    {"geospatial/geography-points.parquet", 500, 50, 2, 247, 0, 1, 0},
    {"geospatial/geography-polygons.parquet", 500, 50, 2, 779, 0, 1, 0},
    {"geospatial/geospatial-with-nan.parquet", 3, 1, 3, 236, 0, 1, 0},
    {"geospatial/geospatial.parquet", 196, 31, 3, 1465, 32, 1, 0},
    {"hadoop_lz4_compressed.parquet", 4, 1, 3, 123, 0, 1, 0},
    {"hadoop_lz4_compressed_larger.parquet", 10000, 1, 1, 358351, 0, 0, 0},
    {"int32_decimal.parquet", 24, 1, 1, 137, 0, 1, 0},
    {"int32_with_null_pages.parquet", 1000, 1, 1, 3328, 275, 1, 0},
    {"int64_decimal.parquet", 24, 1, 1, 241, 0, 1, 0},
    {"int96_from_spark.parquet", 6, 1, 1, 113, 0, 1, 0},
    {"large_string_map.brotli.parquet", 2, 1, 2, 81, 0, 3, 1},
    {"list_columns.parquet", 3, 1, 2, 93, 2, 3, 1},
    {"lz4_raw_compressed.parquet", 4, 1, 3, 95, 0, 1, 0},
    {"lz4_raw_compressed_larger.parquet", 10000, 1, 1, 380480, 0, 0, 0},
    {"map_no_value.parquet", 3, 1, 4, 90, 0, 2, 1},
    {"nan_in_stats.parquet", 2, 1, 1, 84, 0, 1, 0},
    {"nation.dict-malformed.parquet", 25, 1, 4, 2002, 0, 1, 0},
    {"nested_lists.snappy.parquet", 3, 1, 2, 56, 0, 7, 3},
    {"nested_maps.snappy.parquet", 6, 1, 5, 68, 4, 4, 2},
    {"nested_structs.rust.parquet", 1, 1, 216, 82, 0, 0, 0},
    {"non_hadoop_lz4_compressed.parquet", 4, 1, 3, 108, 0, 1, 0},
    {"nonnullable.impala.parquet", 1, 1, 13, 35, 8, 2, 2},
    {"null_list.parquet", 1, 1, 1, 29, 0, 3, 1},
    {"nullable.impala.parquet", 7, 1, 13, 104, 67, 8, 2},
    {"nulls.snappy.parquet", 8, 1, 1, 29, 8, 2, 0},
    {"old_list_structure.parquet", 1, 1, 1, 53, 0, 2, 2},
    {"overflow_i16_page_cnt.parquet", 40000, 1, 1, 720000, 0, 0, 0},
    {"page_v2_empty_compressed.parquet", 10, 1, 1, 61, 10, 1, 0},
    {"repeated_no_annotation.parquet", 6 /* 0, 6 in its row group */, 1, 3, 65, 0, 3, 1},
    {"repeated_primitive_no_list.parquet", 4, 1, 4, 154, 2, 1, 1},
    {"rle_boolean_encoding.parquet", 68, 1, 1, 69, 6, 1, 0},
    {"single_nan.parquet", 1, 1, 1, 45, 1, 1, 0},
    {"sort_columns.parquet", 6, 2, 2, 70, 2, 1, 0},
    {"unknown-logical-type.parquet", 3, 1, 2, 78, 0, 1, 0},
};

static struct cv_parquet_footer *read_file(const char *name)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_parquet_footer *footer = NULL;
    struct cv_store *store;
    char path[512];

    (void)snprintf(path, sizeof path, "%s", cv_test_data(name));
    CV_ASSERT_OK(cv_store_open(path, NULL, &store, &err), &err);
    CV_ASSERT_OK(cv_parquet_footer_read(store, path, -1, &footer, &err), &err);
    cv_store_free(store);
    return footer;
}

static void compare(const struct known *want)
{
    char name[256];
    struct cv_parquet_footer *footer;
    unsigned definition_max = 0;
    unsigned repetition_max = 0;
    int64_t nulls = 0;

    (void)snprintf(name, sizeof name, "parquet/parquet-testing/%s", want->file);
    footer = read_file(name);
    assert_int_equal(footer->row_count, want->rows);
    assert_int_equal(footer->group_count, want->groups);
    assert_int_equal(footer->leaf_count, want->leaves);
    for (uint32_t i = 0; i < footer->leaf_count; i++) {
        const struct cv_parquet_node *leaf = &footer->nodes[footer->leaves[i]];

        assert_int_equal(leaf->leaf, i);
        definition_max = CV_MAX(definition_max, leaf->definition_max);
        repetition_max = CV_MAX(repetition_max, leaf->repetition_max);
        for (size_t j = 0; j < footer->group_count; j++)
            nulls += CV_MAX(footer->groups[j].chunks[i].statistics.null_count, 0);
    }
    assert_int_equal(definition_max, want->definition_max);
    assert_int_equal(repetition_max, want->repetition_max);
    if (want->nulls && !strstr(want->file, "impala")) /* PyArrow distrusts some of that version */
        assert_int_equal(nulls, want->nulls);
    assert_int_equal(footer->groups[want->groups - 1].chunks[want->leaves - 1].packed_size,
                     want->last_packed_size);
    cv_parquet_footer_free(footer);
}

static void agrees_with_pyarrow(void **state)
{
    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(known_files); i++)
        compare(&known_files[i]);
}

/* The schemas are in the files' descriptions (parquet-testing) and printed by PyArrow. */
static void knows_what_values_mean(void **state)
{
    struct cv_parquet_footer *footer =
        read_file("parquet/parquet-testing/alltypes_tiny_pages.parquet");
    const struct cv_parquet_node *leaf = &footer->nodes[footer->leaves[3]];
    struct cv_arena arena = CV_ARENA_INIT;

    (void)state;
    assert_string_equal(leaf->name, "smallint_col");
    assert_int_equal(leaf->meaning, CV_PARQUET_MEANS_INTEGER);
    assert_int_equal(leaf->bits, 16);
    assert_true(leaf->is_signed);
    assert_int_equal(leaf->type, CV_PARQUET_INT32);
    assert_int_equal(leaf->field_id, -1);
    assert_int_equal(footer->groups[0].chunks[3].data_offset, 52745);
    assert_int_equal(footer->groups[0].chunks[3].dictionary_offset, -1);
    cv_test_assert_hex(footer->groups[0].chunks[3].statistics.max.ptr, 4, "09 00 00 00");
    assert_int_equal(footer->groups[0].chunks[3].encodings, 1 << CV_PARQUET_RLE |
                                                                1 << CV_PARQUET_PLAIN_DICTIONARY |
                                                                1 << CV_PARQUET_BIT_PACKED);
    cv_parquet_footer_free(footer);

    footer = read_file("parquet/parquet-testing/int64_decimal.parquet");
    leaf = &footer->nodes[footer->leaves[0]];
    assert_int_equal(leaf->meaning, CV_PARQUET_MEANS_DECIMAL);
    assert_int_equal(leaf->precision, 10);
    assert_int_equal(leaf->scale, 2);
    cv_parquet_footer_free(footer);

    footer = read_file("parquet/parquet-testing/nested_maps.snappy.parquet");
    assert_string_equal(cv_parquet_node_path(footer, footer->leaves[2], &arena),
                        "a.key_value.value.key_value.value");
    assert_int_equal(footer->nodes[1].meaning, CV_PARQUET_MEANS_MAP);
    cv_parquet_footer_free(footer);
    cv_arena_release(&arena);
}

/* nan_in_stats: the maximum is NaN. fixed_length_decimal: only the deprecated fields. */
static void drops_bounds_without_order(void **state)
{
    struct cv_parquet_footer *footer = read_file("parquet/parquet-testing/nan_in_stats.parquet");

    (void)state;
    assert_null(footer->groups[0].chunks[0].statistics.max.ptr);
    cv_parquet_footer_free(footer);
    footer = read_file("parquet/parquet-testing/fixed_length_decimal.parquet");
    assert_null(footer->groups[0].chunks[0].statistics.min.ptr);
    cv_parquet_footer_free(footer);
}

static void refuses_encrypted_files(void **state)
{
    static const char *const files[] = {
        "encrypt_columns_and_footer.parquet.encrypted",
        "encrypt_columns_plaintext_footer.parquet.encrypted",
    };

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(files); i++) {
        struct cv_error err = CV_ERROR_INIT;
        struct cv_parquet_footer *footer;
        struct cv_store *store;
        char path[512];

        (void)snprintf(path, sizeof path, "parquet/parquet-testing/%s", files[i]);
        (void)snprintf(path, sizeof path, "%s", cv_test_data(path));
        CV_ASSERT_OK(cv_store_open(path, NULL, &store, &err), &err);
        CV_ASSERT_FAILS(cv_parquet_footer_read(store, path, -1, &footer, &err), CV_UNSUPPORTED,
                        "encrypted", &err);
        cv_store_free(store);
    }
}

static struct cv_parquet_footer *parse_memory(const struct cv_buf *file)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_parquet_footer *footer = NULL;
    uint32_t length;

    memcpy(&length, file->data + file->length - 8, 4);
    CV_ASSERT_OK(cv_parquet_footer_parse(file->data + file->length - 8 - length, length,
                                         (int64_t)file->length, &footer, &err),
                 &err);
    return footer;
}

static void reads_what_the_writer_wrote(void **state)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_parquet_footer *footer;
    const struct cv_parquet_chunk *chunk;
    struct cv_arena arena = CV_ARENA_INIT;
    struct table t;

    (void)state;
    table_open(&t, "a double, s struct<l: array<decimal(20,3)>, t: timestamp>", "full");
    table_start(&t);
    for (int i = 0; i < 3; i++) {
        struct cv_builder *columns = t.builder.columns;

        cv_builder_f64(&columns[0], i - 1);
        cv_builder_decimal(&columns[1].children[0].children[0], i);
        cv_builder_end_list(&columns[1].children[0]);
        cv_builder_null(&columns[1].children[1]);
        cv_builder_end_struct(&columns[1]);
    }
    CV_ASSERT_OK(table_append(&t, &err), &err);
    table_close(&t);
    footer = parse_memory(&t.memory.bytes);
    assert_int_equal(footer->row_count, 3);
    assert_int_equal(footer->leaf_count, 3);
    assert_string_equal(cv_parquet_node_path(footer, footer->leaves[1], &arena),
                        "s.l.list.element");
    assert_int_equal(footer->nodes[footer->leaves[1]].type, CV_PARQUET_FIXED_LEN_BYTE_ARRAY);
    assert_int_equal(footer->nodes[footer->leaves[1]].type_length, 9);
    assert_int_equal(footer->nodes[footer->leaves[1]].definition_max, 4);
    assert_int_equal(footer->nodes[footer->leaves[1]].repetition_max, 1);
    assert_int_equal(footer->nodes[footer->leaves[2]].meaning, CV_PARQUET_MEANS_TIMESTAMP);
    assert_true(footer->nodes[footer->leaves[2]].utc);
    assert_int_equal(footer->nodes[footer->leaves[2]].unit, CV_PARQUET_MICROS);
    chunk = &footer->groups[0].chunks[0];
    cv_test_assert_hex(chunk->statistics.min.ptr, 8, "00 00 00 00 00 00 f0 bf");
    assert_true(chunk->statistics.min_exact);
    assert_int_equal(footer->groups[0].chunks[2].statistics.null_count, 3);
    assert_int_equal(cv_parquet_chunk_start(chunk), 4);
    assert_true(chunk->column_index_offset > 4);
    assert_non_null(memmem(t.memory.bytes.data, t.memory.bytes.length, "iceberg.schema", 14));
    cv_parquet_footer_free(footer);
    cv_arena_release(&arena);
    table_release(&t);
}

/* A footer of one optional int64 column, with what the tests want wrong in it. */
struct lie {
    int32_t child_count;
    int32_t type;
    int64_t rows;
    int64_t values;
    int64_t offset;
    int64_t size;
    int64_t plain_size;
    int64_t dictionary_offset;
    size_t chunks;
    bool encrypted;
    bool empty_group; /* the column is a group without children */
};

static void write_chunk(struct cv_thrift_writer *w, const struct lie *lie)
{
    cv_thrift_begin_struct(w);
    cv_thrift_field_struct(w, 3);
    cv_thrift_field_i32(w, 1, lie->type);
    cv_thrift_field_i64(w, 5, lie->values);
    cv_thrift_field_i64(w, 6, lie->plain_size);
    cv_thrift_field_i64(w, 7, lie->size);
    cv_thrift_field_i64(w, 9, lie->offset);
    cv_thrift_field_i64(w, 11, lie->dictionary_offset);
    cv_thrift_end_struct(w);
    cv_thrift_end_struct(w);
}

static enum cv_code parse_lie(const struct lie *lie, struct cv_error *err)
{
    struct cv_buf out = CV_BUF_INIT(0);
    struct cv_thrift_writer w = CV_THRIFT_WRITER(&out);
    struct cv_parquet_footer *footer = NULL;
    enum cv_code code;

    cv_thrift_begin_struct(&w);
    cv_thrift_field_list(&w, 2, CV_THRIFT_STRUCT, 2);
    cv_thrift_begin_struct(&w);
    cv_thrift_field_string(&w, 4, "root");
    cv_thrift_field_i32(&w, 5, lie->child_count);
    cv_thrift_end_struct(&w);
    cv_thrift_begin_struct(&w);
    if (!lie->empty_group)
        cv_thrift_field_i32(&w, 1, CV_PARQUET_INT64);
    cv_thrift_field_i32(&w, 3, CV_PARQUET_OPTIONAL);
    cv_thrift_field_string(&w, 4, "a");
    if (lie->empty_group)
        cv_thrift_field_i32(&w, 5, 0);
    cv_thrift_end_struct(&w);
    cv_thrift_field_i64(&w, 3, lie->rows);
    cv_thrift_field_list(&w, 4, CV_THRIFT_STRUCT, 1);
    cv_thrift_begin_struct(&w);
    cv_thrift_field_list(&w, 1, CV_THRIFT_STRUCT, lie->chunks);
    for (size_t i = 0; i < lie->chunks; i++)
        write_chunk(&w, lie);
    cv_thrift_field_i64(&w, 3, 10);
    cv_thrift_end_struct(&w);
    if (lie->encrypted) {
        cv_thrift_field_struct(&w, 8);
        cv_thrift_end_struct(&w);
    }
    cv_thrift_end_struct(&w);
    code = cv_parquet_footer_parse(out.data, out.length, 1000, &footer, err);
    cv_parquet_footer_free(footer);
    cv_buf_release(&out);
    return code;
}

static const struct lie truth = {.child_count = 1,
                                 .type = CV_PARQUET_INT64,
                                 .rows = 10,
                                 .values = 10,
                                 .offset = 4,
                                 .size = 500,
                                 .chunks = 1};

static void refuses_lies(void **state)
{
    struct cv_error err = CV_ERROR_INIT;
    struct lie lie = truth;

    (void)state;
    CV_ASSERT_OK(parse_lie(&lie, &err), &err);
    lie.child_count = 2;
    CV_ASSERT_FAILS(parse_lie(&lie, &err), CV_FORMAT, "lacks 1 children", &err);
    lie.child_count = 0;
    CV_ASSERT_FAILS(parse_lie(&lie, &err), CV_FORMAT, "no parent", &err);
    lie = truth;
    lie.empty_group = true;
    CV_ASSERT_FAILS(parse_lie(&lie, &err), CV_FORMAT, "a has neither a type nor children", &err);
    lie = truth;
    lie.type = CV_PARQUET_INT32;
    CV_ASSERT_FAILS(parse_lie(&lie, &err), CV_FORMAT, "row group 0: column a", &err);
    lie = truth;
    lie.rows = 11;
    CV_ASSERT_FAILS(parse_lie(&lie, &err), CV_FORMAT, "counts 11 rows", &err);
    lie = truth;
    lie.values = 9;
    CV_ASSERT_FAILS(parse_lie(&lie, &err), CV_FORMAT, "9 values in 10 rows", &err);
    lie = truth;
    lie.size = 997;
    CV_ASSERT_FAILS(parse_lie(&lie, &err), CV_FORMAT, "do not lie in the file", &err);
    lie.size = -1;
    CV_ASSERT_FAILS(parse_lie(&lie, &err), CV_FORMAT, "do not lie in the file", &err);
    lie = truth;
    lie.offset = INT64_MAX;
    CV_ASSERT_FAILS(parse_lie(&lie, &err), CV_FORMAT, "do not lie in the file", &err);
    lie = truth;
    lie.chunks = 2;
    CV_ASSERT_FAILS(parse_lie(&lie, &err), CV_FORMAT, "2 column chunks", &err);
    lie = truth;
    lie.encrypted = true;
    CV_ASSERT_FAILS(parse_lie(&lie, &err), CV_UNSUPPORTED, "encrypted", &err);
}

/* Sums over chunks and moved offsets stay below 2^63. */
static void refuses_figures_that_overflow(void **state)
{
    struct cv_error err = CV_ERROR_INIT;
    struct lie lie = truth;

    (void)state;
    lie.dictionary_offset = 4;
    lie.offset = 60;
    lie.plain_size = 800;
    CV_ASSERT_OK(parse_lie(&lie, &err), &err);
    lie.offset = INT64_MAX;
    CV_ASSERT_FAILS(parse_lie(&lie, &err), CV_FORMAT, "do not lie in the file", &err);
    lie = truth;
    lie.plain_size = -1;
    CV_ASSERT_FAILS(parse_lie(&lie, &err), CV_FORMAT, "10 values in -1 bytes", &err);
    lie.plain_size = INT64_MAX;
    CV_ASSERT_FAILS(parse_lie(&lie, &err), CV_FORMAT, "10 values in 9223372036854775807 bytes",
                    &err);
    lie = truth;
    lie.values = INT64_C(1) << 43;
    CV_ASSERT_FAILS(parse_lie(&lie, &err), CV_FORMAT, "8796093022208 values in 0 bytes", &err);
}

/* Files that are none, by their last bytes. */
static void refuses_other_files(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        enum cv_code code;
        const char *message;
    } files[] = {
        {"PAR1PAR1", 8, CV_FORMAT, "only 8 bytes"},
        {"PAR1\0\0\0\0PARX", 12, CV_FORMAT, "does not end in PAR1"},
        {"PARE\0\0\0\0PARE", 12, CV_UNSUPPORTED, "encrypted"},
        {"PAR1\1\0\0\0PAR1", 12, CV_FORMAT, "does not fit"},
        {"PAR1\0\0\0\0PAR1", 12, CV_FORMAT, "FileMetaData"},
    };
    char path[512];

    (void)state;
    (void)snprintf(path, sizeof path, "%s/x.parquet", cv_test_folder());
    for (size_t i = 0; i < CV_ARRAY_LENGTH(files); i++) {
        struct cv_error err = CV_ERROR_INIT;
        struct cv_parquet_footer *footer;
        struct cv_store *store;

        CV_ASSERT_OK(cv_store_open(path, NULL, &store, &err), &err);
        CV_ASSERT_OK(cv_store_write(store, path, files[i].bytes, files[i].length, &err), &err);
        CV_ASSERT_FAILS(cv_parquet_footer_read(store, path, -1, &footer, &err), files[i].code,
                        files[i].message, &err);
        CV_ASSERT_OK(cv_store_remove(store, path, &err), &err);
        cv_store_free(store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_pyarrow),           cmocka_unit_test(knows_what_values_mean),
        cmocka_unit_test(drops_bounds_without_order),    cmocka_unit_test(refuses_encrypted_files),
        cmocka_unit_test(reads_what_the_writer_wrote),   cmocka_unit_test(refuses_lies),
        cmocka_unit_test(refuses_figures_that_overflow), cmocka_unit_test(refuses_other_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
