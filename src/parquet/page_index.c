/* SPDX-License-Identifier: Apache-2.0
 *
 * The page index of a chunk (format PageIndex.md): where each page starts, and its bounds. */
#include "parquet/writer_int.h"

enum boundary_order {
    UNORDERED = 0,
    ASCENDING = 1,
    DESCENDING = 2,
};

/* PageLocation: 1 offset, 2 compressed_page_size, 3 first_row_index. */
void cv_page_place_write(struct cv_thrift_writer *thrift, int64_t offset, int32_t packed_size,
                         int64_t first_row)
{
    cv_thrift_begin_struct(thrift);
    cv_thrift_field_i64(thrift, 1, offset);
    cv_thrift_field_i32(thrift, 2, packed_size);
    cv_thrift_field_i64(thrift, 3, first_row);
    cv_thrift_end_struct(thrift);
}

/* OffsetIndex: 1 list of PageLocation. */
static void write_offsets(const struct cv_leaf *leaf, int64_t offset, struct cv_buf *out)
{
    struct cv_thrift_writer thrift = CV_THRIFT_WRITER(out);

    cv_thrift_begin_struct(&thrift);
    cv_thrift_field_list(&thrift, 1, CV_THRIFT_STRUCT, leaf->page_count);
    for (size_t i = 0; i < leaf->page_count; i++) {
        cv_page_place_write(&thrift, offset, (int32_t)leaf->pages[i].length,
                            (int64_t)leaf->pages[i].first_row);
        offset += (int64_t)leaf->pages[i].length;
    }
    cv_thrift_end_struct(&thrift);
}

static enum boundary_order order_of(const struct cv_leaf *leaf)
{
    if (leaf->ascending)
        return ASCENDING;
    return leaf->descending ? DESCENDING : UNORDERED;
}

/* ColumnIndex: 1 null_pages, 2 min_values, 3 max_values, 4 boundary_order, 5 null_counts. */
static void write_bounds(const struct cv_leaf *leaf, struct cv_buf *out)
{
    struct cv_thrift_writer thrift = CV_THRIFT_WRITER(out);
    size_t count = leaf->page_count;
    bool counted = true;

    cv_thrift_begin_struct(&thrift);
    cv_thrift_field_list(&thrift, 1, CV_THRIFT_TRUE, count);
    for (size_t i = 0; i < count; i++)
        cv_thrift_put_bool(&thrift, leaf->pages[i].all_null);
    cv_thrift_field_list(&thrift, 2, CV_THRIFT_BINARY, count);
    for (size_t i = 0; i < count; i++)
        cv_thrift_put_binary(&thrift, leaf->pages[i].min.ptr, leaf->pages[i].min.length);
    cv_thrift_field_list(&thrift, 3, CV_THRIFT_BINARY, count);
    for (size_t i = 0; i < count; i++)
        cv_thrift_put_binary(&thrift, leaf->pages[i].max.ptr, leaf->pages[i].max.length);
    cv_thrift_field_i32(&thrift, 4, (int32_t)order_of(leaf));
    for (size_t i = 0; i < count; i++)
        counted &= leaf->pages[i].null_count >= 0;
    if (counted)
        cv_thrift_field_list(&thrift, 5, CV_THRIFT_I64, count);
    for (size_t i = 0; counted && i < count; i++)
        cv_thrift_put_i64(&thrift, leaf->pages[i].null_count);
    cv_thrift_end_struct(&thrift);
}

void cv_page_index_write(struct cv_parquet_writer *writer, struct cv_leaf *leaf,
                         struct cv_chunk_meta *meta)
{
    if (leaf->places_lost)
        return;
    meta->offset_index_offset = (int64_t)writer->offset_indexes.length;
    write_offsets(leaf, meta->data_offset, &writer->offset_indexes);
    meta->offset_index_length =
        (int32_t)(writer->offset_indexes.length - (size_t)meta->offset_index_offset);
    if (leaf->index_lost)
        return;
    meta->column_index_offset = (int64_t)writer->column_indexes.length;
    write_bounds(leaf, &writer->column_indexes);
    meta->column_index_length =
        (int32_t)(writer->column_indexes.length - (size_t)meta->column_index_offset);
}
