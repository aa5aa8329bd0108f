/* SPDX-License-Identifier: Apache-2.0
 *
 * Column chunks to bytes in memory. Small row groups, or what is wanted of them, come with one
 * request; large chunks by pieces, so that memory stays bounded whatever the row group's size. */
#include "parquet/reader_int.h"

#include <stdlib.h>

/* Old writers (PARQUET-816) do not count the header of the dictionary page in the chunk's size. */
#define CHUNK_SLACK_BYTES 100
/* CompressionCodec of the format. */
#define FORMAT_CODEC_LZO 3

static const enum cv_codec codecs[] = {CV_CODEC_NONE, CV_CODEC_SNAPPY, CV_CODEC_GZIP,
                                       CV_CODEC_NONE, CV_CODEC_BROTLI, CV_CODEC_LZ4_HADOOP,
                                       CV_CODEC_ZSTD, CV_CODEC_LZ4_RAW};

static enum cv_code find_codec(int32_t number, enum cv_codec *ret_codec, struct cv_error *err)
{
    if (number == FORMAT_CODEC_LZO)
        return cv_fail(err, CV_UNSUPPORTED, "compression codec LZO is not supported");
    if (number < 0 || (size_t)number >= CV_ARRAY_LENGTH(codecs))
        return cv_fail(err, CV_UNSUPPORTED, "unknown compression codec %d", number);
    *ret_codec = codecs[number];
    return CV_OK;
}

static enum cv_code start_chunk(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                                const struct cv_parquet_chunk *chunk, struct cv_error *err)
{
    int64_t start = cv_parquet_chunk_start(chunk);
    int64_t file_end = reader->footer->file_size;

    CV_DO(find_codec(chunk->codec, &leaf->codec, err));
    leaf->chunk = chunk;
    leaf->next_page = start;
    leaf->end = CV_MIN(file_end, start + chunk->packed_size + CHUNK_SLACK_BYTES);
    leaf->levels_left = chunk->value_count;
    leaf->bytes = NULL;
    leaf->bytes_length = 0;
    leaf->bytes_offset = 0;
    leaf->page_levels = 0;
    leaf->has_dictionary = false;
    leaf->block_at = leaf->block_count = 0;
    return CV_OK;
}

/* Reads all chunks at once when they lie close together. */
static enum cv_code read_together(struct cv_parquet_reader *reader, struct cv_error *err)
{
    int64_t start = INT64_MAX;
    int64_t end = 0;
    int64_t wanted = 0;

    for (size_t i = 0; i < reader->leaf_count; i++) {
        const struct cv_read_leaf *leaf = reader->leaves[i];

        start = CV_MIN(start, leaf->next_page);
        end = CV_MAX(end, leaf->end);
        wanted += leaf->end - leaf->next_page;
    }
    /* No more than as much again between them. */
    if (reader->leaf_count == 0 || end - start > CV_PARQUET_GROUP_READ_BYTES ||
        end - start > wanted * 2)
        return CV_OK;
    cv_buf_clear(&reader->group_bytes);
    (void)cv_buf_reserve(&reader->group_bytes, (size_t)(end - start) + CV_RLE_SLACK);
    CV_DO(cv_store_read_range(reader->store, reader->location, start, (size_t)(end - start),
                              &reader->group_bytes, err));
    for (size_t i = 0; i < reader->leaf_count; i++) {
        reader->leaves[i]->bytes = reader->group_bytes.data;
        reader->leaves[i]->bytes_offset = start;
        reader->leaves[i]->bytes_length = reader->group_bytes.length;
    }
    return CV_OK;
}

enum cv_code cv_read_group(struct cv_parquet_reader *reader, const struct cv_parquet_group *group,
                           struct cv_error *err)
{
    for (size_t i = 0; i < reader->leaf_count; i++) {
        struct cv_read_leaf *leaf = reader->leaves[i];

        CV_TRY(start_chunk(reader, leaf, &group->chunks[leaf->node->leaf], err), err, "column %s",
               leaf->path);
    }
    return read_together(reader, err);
}

/* Moves what the piece has from `offset` on to its front; returns how much that is. */
static size_t keep_rest(struct cv_read_leaf *leaf, int64_t offset)
{
    int64_t skip = offset - leaf->bytes_offset;
    size_t kept = 0;

    if (leaf->bytes && leaf->bytes == leaf->piece.data && skip >= 0 &&
        (uint64_t)skip < leaf->bytes_length) {
        kept = leaf->bytes_length - (size_t)skip;
        memmove(leaf->piece.data, leaf->piece.data + skip, kept);
    }
    cv_buf_clear(&leaf->piece);
    leaf->piece.length = kept;
    return kept;
}

enum cv_code cv_read_bytes(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                           int64_t offset, size_t length, const uint8_t **ret_bytes,
                           struct cv_error *err)
{
    int64_t left = leaf->end - offset;
    size_t piece, kept;

    if (left < 0 || (uint64_t)left < length)
        return cv_fail(err, CV_FORMAT, "a page passes the end of the column chunk");
    if (leaf->bytes && offset >= leaf->bytes_offset &&
        (uint64_t)(offset - leaf->bytes_offset) + length <= leaf->bytes_length) {
        *ret_bytes = leaf->bytes + (offset - leaf->bytes_offset);
        return CV_OK;
    }
    piece = CV_MAX(length, (size_t)CV_MIN(left, (int64_t)reader->piece_bytes));
    kept = keep_rest(leaf, offset);
    leaf->bytes = NULL;
    (void)cv_buf_reserve(&leaf->piece, piece - kept + CV_RLE_SLACK);
    CV_DO(cv_store_read_range(reader->store, reader->location, offset + (int64_t)kept, piece - kept,
                              &leaf->piece, err));
    if (leaf->piece.length < length)
        return cv_fail(err, CV_FORMAT, "the file ends inside a page");
    leaf->bytes = leaf->piece.data;
    leaf->bytes_offset = offset;
    leaf->bytes_length = leaf->piece.length;
    *ret_bytes = leaf->bytes;
    return CV_OK;
}
