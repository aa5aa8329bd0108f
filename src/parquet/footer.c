/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of the file (format parquet.thrift, FileMetaData):
 *
 *   column indexes, offset indexes, FileMetaData (thrift), its length (4), "PAR1" */
#include "parquet/writer_int.h"

#include <assert.h>

#ifndef CALVE_BUILD
#define CALVE_BUILD "release"
#endif

#define CREATED_BY "calve version " CALVE_VERSION " (build " CALVE_BUILD ")"

enum codec_number {
    NUMBER_UNCOMPRESSED = 0,
    NUMBER_SNAPPY = 1,
    NUMBER_GZIP = 2,
    NUMBER_ZSTD = 6,
    NUMBER_LZ4_RAW = 7,
};

int32_t cv_parquet_codec_number(enum cv_codec codec)
{
    switch (codec) {
    case CV_CODEC_SNAPPY:
        return NUMBER_SNAPPY;
    case CV_CODEC_GZIP:
        return NUMBER_GZIP;
    case CV_CODEC_ZSTD:
        return NUMBER_ZSTD;
    case CV_CODEC_LZ4_RAW:
        return NUMBER_LZ4_RAW;
    default:
        return NUMBER_UNCOMPRESSED;
    }
}

/* In the order in which the footer names them. */
static const enum cv_parquet_encoding all_encodings[] = {
    CV_PARQUET_PLAIN_DICTIONARY,
    CV_PARQUET_RLE_DICTIONARY,
    CV_PARQUET_PLAIN,
    CV_PARQUET_DELTA_BINARY_PACKED,
    CV_PARQUET_DELTA_LENGTH_BYTE_ARRAY,
    CV_PARQUET_DELTA_BYTE_ARRAY,
    CV_PARQUET_BYTE_STREAM_SPLIT,
    CV_PARQUET_BIT_PACKED,
    CV_PARQUET_RLE,
};

/* Statistics: 3 null_count, 5 max_value, 6 min_value, 7 is_max_value_exact,
 * 8 is_min_value_exact. */
static void write_statistics(struct cv_thrift_writer *thrift, const struct cv_chunk_meta *meta)
{
    cv_thrift_field_struct(thrift, 12);
    if (meta->null_count >= 0)
        cv_thrift_field_i64(thrift, 3, meta->null_count);
    if (meta->has_bounds) {
        cv_thrift_field_binary(thrift, 5, meta->max.ptr, meta->max.length);
        cv_thrift_field_binary(thrift, 6, meta->min.ptr, meta->min.length);
        cv_thrift_field_bool(thrift, 7, meta->max_exact);
        cv_thrift_field_bool(thrift, 8, meta->min_exact);
    }
    cv_thrift_end_struct(thrift);
}

/* PageEncodingStats: 1 page_type, 2 encoding, 3 count. */
static void write_encoding_count(struct cv_thrift_writer *thrift, int32_t page_type,
                                 enum cv_parquet_encoding encoding, size_t count)
{
    cv_thrift_begin_struct(thrift);
    cv_thrift_field_i32(thrift, 1, page_type);
    cv_thrift_field_i32(thrift, 2, (int32_t)encoding);
    cv_thrift_field_i32(thrift, 3, (int32_t)count);
    cv_thrift_end_struct(thrift);
}

/* Those of the levels too, which are RLE. */
static void write_encodings(struct cv_thrift_writer *thrift, const struct cv_chunk_meta *meta)
{
    uint32_t encodings = meta->encodings | (uint32_t)1 << CV_PARQUET_RLE;

    cv_thrift_field_list(thrift, 2, CV_THRIFT_I32, (size_t)__builtin_popcount(encodings));
    for (size_t i = 0; i < CV_ARRAY_LENGTH(all_encodings); i++)
        if (encodings >> all_encodings[i] & 1)
            cv_thrift_put_i32(thrift, (int32_t)all_encodings[i]);
}

static void write_encoding_counts(struct cv_thrift_writer *thrift, const struct cv_chunk_meta *meta)
{
    static const int32_t page_types[] = {0, 3}; /* data page v1, v2 */
    bool dictionary = cv_chunk_dictionary_pages(meta) > 0;
    size_t count = dictionary;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(all_encodings); i++)
        count += (size_t)(meta->page_counts[0][all_encodings[i]] > 0) +
                 (meta->page_counts[1][all_encodings[i]] > 0);
    if (count == 0)
        return;
    cv_thrift_field_list(thrift, 13, CV_THRIFT_STRUCT, count);
    if (dictionary)
        write_encoding_count(thrift, 2, CV_PARQUET_PLAIN_DICTIONARY, 1);
    for (size_t v2 = 0; v2 < 2; v2++)
        for (size_t i = 0; i < CV_ARRAY_LENGTH(all_encodings); i++)
            if (meta->page_counts[v2][all_encodings[i]])
                write_encoding_count(thrift, page_types[v2], all_encodings[i],
                                     meta->page_counts[v2][all_encodings[i]]);
}

/* ColumnMetaData: 1 type, 2 encodings, 3 path_in_schema, 4 codec, 5 num_values,
 * 6 total_uncompressed_size, 7 total_compressed_size, 9 data_page_offset,
 * 11 dictionary_page_offset, 12 statistics, 13 encoding_stats. */
static void write_chunk_meta(const struct cv_parquet_writer *writer,
                             struct cv_thrift_writer *thrift, const struct cv_leaf *leaf,
                             const struct cv_chunk_meta *meta)
{
    cv_thrift_field_struct(thrift, 3);
    cv_thrift_field_i32(thrift, 1, (int32_t)leaf->physical);
    write_encodings(thrift, meta);
    cv_thrift_field_list(thrift, 3, CV_THRIFT_BINARY, leaf->name_count);
    for (size_t i = 0; i < leaf->name_count; i++)
        cv_thrift_put_string(thrift, leaf->names[i]);
    cv_thrift_field_i32(thrift, 4, cv_parquet_codec_number(writer->options.codec));
    cv_thrift_field_i64(thrift, 5, meta->value_count);
    cv_thrift_field_i64(thrift, 6, meta->plain_size);
    cv_thrift_field_i64(thrift, 7, meta->packed_size);
    cv_thrift_field_i64(thrift, 9, meta->data_offset);
    if (meta->dictionary_offset)
        cv_thrift_field_i64(thrift, 11, meta->dictionary_offset);
    write_statistics(thrift, meta);
    write_encoding_counts(thrift, meta);
    cv_thrift_end_struct(thrift);
}

/* ColumnChunk: 2 file_offset, 3 meta_data, 4-7 offset and length of offset and column index. */
static void write_chunk(const struct cv_parquet_writer *writer, struct cv_thrift_writer *thrift,
                        const struct cv_leaf *leaf, const struct cv_chunk_meta *meta,
                        int64_t indexes)
{
    int64_t offset_indexes = indexes + (int64_t)writer->column_indexes.length;

    cv_thrift_begin_struct(thrift);
    cv_thrift_field_i64(thrift, 2, meta->data_offset);
    write_chunk_meta(writer, thrift, leaf, meta);
    if (meta->offset_index_length) {
        cv_thrift_field_i64(thrift, 4, offset_indexes + meta->offset_index_offset);
        cv_thrift_field_i32(thrift, 5, meta->offset_index_length);
    }
    if (meta->column_index_length) {
        cv_thrift_field_i64(thrift, 6, indexes + meta->column_index_offset);
        cv_thrift_field_i32(thrift, 7, meta->column_index_length);
    }
    cv_thrift_end_struct(thrift);
}

/* RowGroup: 1 columns, 2 total_byte_size, 3 num_rows, 5 file_offset, 6 total_compressed_size,
 * 7 ordinal. */
static void write_group(const struct cv_parquet_writer *writer, struct cv_thrift_writer *thrift,
                        size_t number, int64_t indexes)
{
    const struct cv_group_meta *group = &writer->groups[number];

    cv_thrift_begin_struct(thrift);
    cv_thrift_field_list(thrift, 1, CV_THRIFT_STRUCT, writer->leaf_count);
    for (size_t i = 0; i < writer->leaf_count; i++)
        write_chunk(writer, thrift, &writer->leaves[i], &group->chunks[i], indexes);
    cv_thrift_field_i64(thrift, 2, group->plain_size);
    cv_thrift_field_i64(thrift, 3, group->row_count);
    cv_thrift_field_i64(thrift, 5, group->offset);
    cv_thrift_field_i64(thrift, 6, group->packed_size);
    if (number <= INT16_MAX)
        cv_thrift_field_i16(thrift, 7, (int16_t)number);
    cv_thrift_end_struct(thrift);
}

static void write_key_values(const struct cv_parquet_writer *writer,
                             struct cv_thrift_writer *thrift)
{
    struct cv_buf json = CV_BUF_INIT(CV_METADATA_BYTES_MAX);

    cv_schema_write_json(writer->schema, &json);
    cv_thrift_field_list(thrift, 5, CV_THRIFT_STRUCT, 1);
    cv_thrift_begin_struct(thrift);
    cv_thrift_field_string(thrift, 1, "iceberg.schema");
    cv_thrift_field_binary(thrift, 2, json.data, json.length);
    cv_thrift_end_struct(thrift);
    cv_buf_release(&json);
}

/* FileMetaData: 1 version, 2 schema, 3 num_rows, 4 row_groups, 5 key_value_metadata, 6 created_by,
 * 7 column_orders (all TypeDefinedOrder, field 1 of the union). */
static void write_file_meta(struct cv_parquet_writer *writer, int64_t indexes)
{
    struct cv_thrift_writer thrift = CV_THRIFT_WRITER(&writer->footer);

    cv_thrift_begin_struct(&thrift);
    cv_thrift_field_i32(&thrift, 1, 1);
    cv_parquet_write_schema(writer, &thrift);
    cv_thrift_field_i64(&thrift, 3, writer->row_count);
    cv_thrift_field_list(&thrift, 4, CV_THRIFT_STRUCT, writer->group_count);
    for (size_t i = 0; i < writer->group_count; i++)
        write_group(writer, &thrift, i, indexes);
    write_key_values(writer, &thrift);
    cv_thrift_field_string(&thrift, 6, CREATED_BY);
    cv_thrift_field_list(&thrift, 7, CV_THRIFT_STRUCT, writer->leaf_count);
    for (size_t i = 0; i < writer->leaf_count; i++) {
        cv_thrift_begin_struct(&thrift);
        cv_thrift_field_struct(&thrift, 1);
        cv_thrift_end_struct(&thrift);
        cv_thrift_end_struct(&thrift);
    }
    cv_thrift_end_struct(&thrift);
}

/* Row groups and columns agree with each other before a reader believes the footer. */
static void check_counts(const struct cv_parquet_writer *writer)
{
    int64_t rows = 0;

    for (size_t i = 0; i < writer->group_count; i++) {
        const struct cv_group_meta *group = &writer->groups[i];

        rows += group->row_count;
        for (size_t j = 0; j < writer->leaf_count; j++) {
            const struct cv_chunk_meta *chunk = &group->chunks[j];

            (void)chunk;
            assert(chunk->null_count <= chunk->value_count);
            assert(chunk->value_count >= group->row_count);
            assert(writer->leaves[j].repetition_max || chunk->value_count == group->row_count);
        }
    }
    (void)rows;
    assert(rows == writer->row_count);
}

enum cv_code cv_footer_write(struct cv_parquet_writer *writer, struct cv_error *err)
{
    int64_t indexes;
    uint32_t length;

    check_counts(writer);
    if (writer->position == 0)
        CV_DO(cv_parquet_out(writer, "PAR1", 4, err));
    indexes = writer->position;
    CV_DO(cv_parquet_out(writer, writer->column_indexes.data, writer->column_indexes.length, err));
    CV_DO(cv_parquet_out(writer, writer->offset_indexes.data, writer->offset_indexes.length, err));
    write_file_meta(writer, indexes);
    CV_DO(cv_buf_check(&writer->footer, "the footer of a Parquet file", err));
    length = (uint32_t)writer->footer.length;
    CV_DO(cv_parquet_out(writer, writer->footer.data, writer->footer.length, err));
    CV_DO(cv_parquet_out(writer, &length, 4, err));
    CV_DO(cv_parquet_out(writer, "PAR1", 4, err));
    return cv_parquet_out_flush(writer, err);
}
