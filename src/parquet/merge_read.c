/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes and pages of the chunks that are merged. */
#include "parquet/merge_int.h"

#include "codec/hash.h"

#define HEADER_BYTES_FIRST ((int64_t)4 << 10)
#define HEADER_BYTES_MAX   ((int64_t)16 << 20) /* statistics of long texts may be in it */

void cv_merge_forget(struct cv_parquet_merger *merger, struct cv_merge_source *source)
{
    merger->kept_bytes -= source->piece.capacity;
    if (source->piece.capacity > merger->spare.capacity &&
        source->piece.capacity <= 2 * CV_MERGE_READ_BYTES) {
        cv_buf_release(&merger->spare);
        merger->spare = source->piece;
        source->piece = (struct cv_buf){0};
    }
    cv_buf_release(&source->piece);
}

static enum cv_code read_piece(struct cv_parquet_merger *merger, struct cv_merge_source *source,
                               int64_t offset, size_t length, struct cv_error *err)
{
    struct cv_buf *piece = &source->piece;
    enum cv_code code;

    if (!piece->data) {
        *piece = merger->spare;
        merger->spare = (struct cv_buf){0};
    } else {
        merger->kept_bytes -= piece->capacity;
    }
    cv_buf_clear(piece);
    code = cv_buf_reserve(piece, length + CV_RLE_SLACK)
               ? cv_store_read_range(source->store, source->location, offset, length, piece, err)
               : cv_buf_check(piece, "a part of a column", err);
    merger->kept_bytes += piece->capacity;
    source->piece_offset = offset;
    return code;
}

enum cv_code cv_merge_bytes(struct cv_parquet_merger *merger, struct cv_merge_source *source,
                            const struct cv_merge_chunk *chunk, int64_t offset, size_t length,
                            const uint8_t **ret_bytes, struct cv_error *err)
{
    const struct cv_buf *piece = &source->piece;
    int64_t left = chunk->offset + chunk->length - offset;
    bool held = piece->length && offset >= source->piece_offset &&
                offset + (int64_t)length <= source->piece_offset + (int64_t)piece->length;

    if (offset < chunk->offset || left < (int64_t)length)
        return cv_fail(err, CV_FORMAT, "the column chunk ends before its pages do");
    if (!held)
        CV_DO(read_piece(merger, source, offset,
                         (size_t)CV_MIN(left, (int64_t)CV_MAX(length, CV_MERGE_READ_BYTES)), err));
    *ret_bytes = piece->data + (offset - source->piece_offset);
    return CV_OK;
}

enum cv_code cv_merge_read_page(struct cv_parquet_merger *merger, struct cv_merge_source *source,
                                const struct cv_merge_chunk *chunk, int64_t offset,
                                struct cv_merge_page *ret_page, struct cv_error *err)
{
    int64_t left = chunk->offset + chunk->length - offset;
    struct cv_merge_page page = {.definition_max = chunk->definition_max,
                                 .level_map = chunk->level_map};
    const uint8_t *bytes;
    bool cut = true;

    for (int64_t take = HEADER_BYTES_FIRST; cut; take *= 8) {
        size_t length = (size_t)CV_MAX(CV_MIN(take, left), 1);
        bool last = take >= left || take > HEADER_BYTES_MAX;
        enum cv_code code;

        CV_DO(cv_merge_bytes(merger, source, chunk, offset, length, &bytes, err));
        code = cv_page_header_parse(bytes, length, &page.header, &page.header_length, &cut, err);
        if (code != CV_OK && (!cut || last))
            return code;
    }
    page.length = page.header_length + (size_t)page.header.packed_size;
    CV_DO(cv_merge_bytes(merger, source, chunk, offset, page.length, &page.bytes, err));
    if (page.bytes != bytes) /* its statistics have moved */
        CV_DO(cv_page_header_parse(page.bytes, page.length, &page.header, &page.header_length, &cut,
                                   err));
    *ret_page = page;
    return CV_OK;
}

/* Unpacks a part of a page into merger->plain, or finds it where it is. */
static enum cv_code unpack(struct cv_parquet_merger *merger, const uint8_t *bytes, size_t length,
                           size_t plain_length, const uint8_t **ret_plain, struct cv_error *err)
{
    struct cv_buf *plain = &merger->plain;
    enum cv_codec codec = merger->writer->options.codec;

    if (codec == CV_CODEC_NONE || plain_length == 0) {
        if (plain_length > length)
            return cv_fail(err, CV_FORMAT, "a page holds %zu bytes where %zu are announced", length,
                           plain_length);
        *ret_plain = bytes;
        return CV_OK;
    }
    cv_buf_clear(plain);
    if (!cv_buf_reserve(plain, plain_length + CV_RLE_SLACK))
        return cv_fail(err, CV_LIMIT, "a page of %zu bytes is too large", plain_length);
    CV_DO(
        cv_decompressor_run(merger->decompressor, codec, bytes, length, plain_length, plain, err));
    (void)cv_buf_reserve(plain, CV_RLE_SLACK);
    *ret_plain = plain->data;
    return CV_OK;
}

/* One kind of levels at the start of a v1 page. */
static enum cv_code split_levels(struct cv_merge_page *page, int32_t encoding, uint8_t max,
                                 const uint8_t **ret_levels, size_t *ret_length,
                                 struct cv_error *err)
{
    uint32_t length;

    *ret_levels = page->values;
    *ret_length = 0;
    if (max == 0)
        return CV_OK;
    if (encoding == CV_PARQUET_BIT_PACKED) {
        length = (uint32_t)(((uint64_t)page->header.value_count * cv_bit_width(max) + 7) / 8);
        page->bit_packed = true;
    } else {
        if (encoding != CV_PARQUET_RLE || page->value_bytes < 4)
            return cv_fail(err, CV_FORMAT, "malformed levels of a page");
        memcpy(&length, page->values, 4);
        page->values += 4;
        page->value_bytes -= 4;
    }
    if (length > page->value_bytes)
        return cv_fail(err, CV_FORMAT, "malformed levels of a page");
    *ret_levels = page->values;
    *ret_length = length;
    page->values += length;
    page->value_bytes -= length;
    return CV_OK;
}

enum cv_code cv_merge_unpack(struct cv_parquet_merger *merger, const struct cv_leaf *leaf,
                             struct cv_merge_page *page, struct cv_error *err)
{
    const struct cv_page_header *header = &page->header;
    const uint8_t *body = page->bytes + page->header_length;
    size_t levels = (size_t)header->repetition_bytes + (size_t)header->definition_bytes;
    size_t packed = (size_t)header->packed_size;
    size_t plain = (size_t)header->plain_size;

    page->unpacked = true;
    if (header->has_crc && cv_crc32(body, packed) != header->crc)
        return cv_fail(err, CV_FORMAT, "the checksum (CRC) of a page is wrong");
    if (header->type == CV_PAGE_DATA_V2) {
        page->repetitions = body;
        page->repetition_bytes = (size_t)header->repetition_bytes;
        page->definitions = body + page->repetition_bytes;
        page->definition_bytes = (size_t)header->definition_bytes;
        page->value_bytes = plain - levels;
        if (!header->is_compressed && packed < plain)
            return cv_fail(err, CV_FORMAT, "a page is shorter than announced");
        if (!header->is_compressed) {
            page->values = body + levels;
            return CV_OK;
        }
        return unpack(merger, body + levels, packed - levels, plain - levels, &page->values, err);
    }
    CV_DO(unpack(merger, body, packed, plain, &page->values, err));
    page->value_bytes = plain;
    if (header->type == CV_PAGE_DICTIONARY)
        return CV_OK;
    CV_DO(split_levels(page, header->repetition_encoding, leaf->repetition_max, &page->repetitions,
                       &page->repetition_bytes, err));
    return split_levels(page, header->definition_encoding, page->definition_max, &page->definitions,
                        &page->definition_bytes, err);
}
