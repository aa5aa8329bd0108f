/* SPDX-License-Identifier: Apache-2.0
 *
 * A row group copied as it is: neighbouring chunks in one stretch, column indexes byte by byte,
 * offset indexes with their offsets moved. */
#include "parquet/merge_int.h"

/* Chunks that follow each other in both files. */
static size_t stretch(const struct cv_merge_source *source, size_t first, size_t leaf_count,
                      int64_t *ret_length)
{
    const struct cv_merge_chunk *chunks = source->chunks;
    size_t end = first + 1;
    int64_t length = chunks[first].length;

    while (end < leaf_count && !chunks[end].missing &&
           chunks[end].offset == chunks[first].offset + length)
        length += chunks[end++].length;
    *ret_length = length;
    return end;
}

static enum cv_code copy_bytes(struct cv_parquet_merger *merger,
                               const struct cv_merge_source *source, int64_t offset, int64_t length,
                               struct cv_error *err)
{
    struct cv_buf *bytes = &merger->spare;

    while (length > 0) {
        size_t take = (size_t)CV_MIN(length, (int64_t)CV_MERGE_READ_BYTES);

        cv_buf_clear(bytes);
        CV_DO(cv_store_read_range(source->store, source->location, offset, take, bytes, err));
        CV_DO(cv_parquet_out(merger->writer, bytes->data, take, err));
        offset += (int64_t)take;
        length -= (int64_t)take;
    }
    return CV_OK;
}

/* Whether a page lies in the chunk, so that its place can be moved. */
static bool lies_in(const struct cv_merge_chunk *chunk, int64_t row_count,
                    const struct cv_page_place *place)
{
    int64_t end = chunk->offset + chunk->length;

    return place->offset >= chunk->offset && place->offset <= end && place->packed_size >= 0 &&
           place->packed_size <= end - place->offset && place->first_row >= 0 &&
           place->first_row <= row_count;
}

static void put_places(const struct cv_page_place *places, size_t count, int64_t moved,
                       struct cv_buf *out)
{
    struct cv_thrift_writer thrift = CV_THRIFT_WRITER(out);

    cv_thrift_begin_struct(&thrift);
    cv_thrift_field_list(&thrift, 1, CV_THRIFT_STRUCT, count);
    for (size_t i = 0; i < count; i++)
        cv_page_place_write(&thrift, places[i].offset + moved, places[i].packed_size,
                            places[i].first_row);
    cv_thrift_end_struct(&thrift);
}

/* Bytes that are no offset index are left out, and with them the column index. */
static enum cv_code put_indexes(struct cv_parquet_merger *merger,
                                const struct cv_merge_chunk *chunk, int64_t row_count,
                                int64_t moved, struct cv_chunk_meta *meta, struct cv_error *err)
{
    struct cv_buf *columns = &merger->writer->column_indexes;
    struct cv_buf *offsets = &merger->writer->offset_indexes;
    struct cv_page_place *places;
    size_t count;

    cv_arena_reset(&merger->column);
    if (!chunk->offset_index.length ||
        !cv_offset_index_parse(chunk->offset_index, &merger->column, &places, &count))
        return CV_OK;
    for (size_t i = 0; i < count; i++)
        if (!lies_in(chunk, row_count, &places[i]))
            return cv_fail(err, CV_FORMAT, "the offset index has page %zu outside the column chunk",
                           i);
    meta->offset_index_offset = (int64_t)offsets->length;
    put_places(places, count, moved, offsets);
    meta->offset_index_length = (int32_t)((int64_t)offsets->length - meta->offset_index_offset);
    if (!chunk->column_index.length)
        return CV_OK;
    meta->column_index_offset = (int64_t)columns->length;
    meta->column_index_length = (int32_t)chunk->column_index.length;
    cv_buf_append(columns, chunk->column_index.ptr, chunk->column_index.length);
    return CV_OK;
}

static struct cv_str keep(struct cv_parquet_writer *writer, struct cv_str bound)
{
    return (struct cv_str){cv_arena_copy(&writer->plan, bound.ptr, bound.length), bound.length};
}

/* What the footer says of a chunk that was moved, its page indexes apart. */
static void describe(struct cv_parquet_merger *merger, const struct cv_merge_chunk *chunk,
                     const struct cv_parquet_chunk *from, int64_t moved, struct cv_chunk_meta *ret)
{
    const struct cv_parquet_statistics *statistics = &chunk->statistics;

    *ret = (struct cv_chunk_meta){
        .value_count = chunk->value_count,
        .null_count = statistics->null_count,
        .plain_size = from->plain_size,
        .packed_size = chunk->length,
        .data_offset = from->data_offset + moved,
        .encodings = from->encodings & (((uint32_t)1 << CV_PARQUET_ENCODINGS) - 1),
    };
    if (from->dictionary_offset >= 0 && from->dictionary_offset < from->data_offset)
        ret->dictionary_offset = from->dictionary_offset + moved;
    if (statistics->min.ptr && statistics->max.ptr) {
        ret->has_bounds = true;
        ret->min = keep(merger->writer, statistics->min);
        ret->max = keep(merger->writer, statistics->max);
        ret->min_exact = statistics->min_exact;
        ret->max_exact = statistics->max_exact;
    }
}

enum cv_code cv_merge_copy(struct cv_parquet_merger *merger, struct cv_merge_source *source,
                           const struct cv_parquet_group *group, struct cv_error *err)
{
    struct cv_parquet_writer *writer = merger->writer;
    struct cv_group_meta *meta;
    size_t end;

    CV_DO(cv_group_begin(writer, source->row_count, &meta, err));
    for (size_t i = 0; i < writer->leaf_count; i = end) {
        int64_t position = writer->position;
        int64_t length;

        end = i + 1;
        if (source->chunks[i].missing) {
            CV_DO(cv_merge_column(merger, i, source, 1, &meta->chunks[i], err));
            continue;
        }
        end = stretch(source, i, writer->leaf_count, &length);
        CV_DO(copy_bytes(merger, source, source->chunks[i].offset, length, err));
        for (size_t j = i; j < end; j++) {
            const struct cv_merge_chunk *chunk = &source->chunks[j];
            struct cv_leaf *leaf = &writer->leaves[j];
            int64_t moved = position - chunk->offset;

            describe(merger, chunk, &group->chunks[merger->file_leaves[j].number], moved,
                     &meta->chunks[j]);
            CV_TRY(put_indexes(merger, chunk, source->row_count, moved, &meta->chunks[j], err), err,
                   "column %s", leaf->path);
            leaf->file_column_size += chunk->length;
            position += chunk->length;
        }
    }
    CV_DO(cv_buf_check(&writer->offset_indexes, "the page indexes", err));
    CV_DO(cv_buf_check(&writer->column_indexes, "the page indexes", err));
    return cv_group_end(writer, meta, err);
}
