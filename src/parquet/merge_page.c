/* SPDX-License-Identifier: Apache-2.0
 *
 * The data pages of one chunk on their way into a larger one. A page is copied as it is where its
 * bytes stay right; indices into a dictionary that changed get new numbers, run by run; small pages
 * are joined. */
#include "parquet/merge_int.h"

/* Groups of eight indices that are renumbered at a time. */
#define GROUPS 128

/* The chunk being read. */
struct reading {
    struct cv_parquet_merger *merger;
    struct cv_leaf *leaf;
    struct cv_merge_source *source;
    const struct cv_merge_chunk *chunk;
    struct cv_column_index index;
    size_t page_number;      /* of data pages */
    struct cv_bounds bounds; /* of the page, from the index or its header */
};

/* What the new index says of the page. */
static struct cv_page describe(struct reading *reading, const struct cv_merge_page *page)
{
    const struct cv_page_header *header = &page->header;
    const struct cv_column_index *index = &reading->index;
    const struct cv_type *type = &reading->leaf->field->type;
    size_t number = reading->page_number;
    struct cv_str min = {NULL, 0};
    struct cv_str max = {NULL, 0};
    struct cv_page ret = {.null_count = header->null_count};

    cv_bounds_clear(&reading->bounds);
    if (ret.null_count < 0)
        ret.null_count = header->statistics.null_count;
    if (number < index->page_count) {
        if (index->null_counts)
            ret.null_count = index->null_counts[number];
        ret.all_null = index->null_pages[number];
        min = index->mins[number];
        max = index->maxs[number];
    } else if (reading->chunk->ordered && !header->statistics.deprecated) {
        min = header->statistics.min;
        max = header->statistics.max;
    }
    if (page->definition_max == 0)
        ret.null_count = 0;
    if (ret.null_count < 0 || ret.null_count > header->value_count)
        ret.null_count = -1;
    ret.all_null |= ret.null_count == header->value_count;
    if (!ret.all_null && min.ptr && max.ptr)
        (void)cv_bounds_take_parquet(&reading->bounds, type, min, max);
    return ret;
}

/* Notes a page that goes to the file by itself. */
static void note(struct reading *reading, struct cv_page page, size_t rows)
{
    struct cv_leaf *leaf = reading->leaf;

    if (reading->bounds.present)
        cv_bounds_merge(&leaf->page.bounds, &reading->bounds, leaf->order);
    cv_page_note(reading->merger->writer, leaf, page, rows);
    cv_bounds_clear(&leaf->page.bounds);
}

/* The rows that begin in the page of a nested column. */
static enum cv_code count_rows(struct reading *reading, struct cv_merge_page *page,
                               size_t *ret_rows, struct cv_error *err)
{
    struct cv_parquet_merger *merger = reading->merger;
    struct cv_leaf *leaf = reading->leaf;
    size_t count = (size_t)page->header.value_count;
    uint8_t levels[CV_PARQUET_BLOCK_VALUES];
    struct cv_rle_reader reader;
    size_t rows = 0;

    *ret_rows = count;
    if (!leaf->repetition_max)
        return CV_OK;
    if (page->header.row_count >= 0) {
        *ret_rows = (size_t)page->header.row_count;
        return CV_OK;
    }
    if (!page->unpacked)
        CV_DO(cv_merge_unpack(merger, leaf, page, err));
    if (page->bit_packed)
        return cv_fail(err, CV_UNSUPPORTED, "repetition levels in the encoding BIT_PACKED");
    cv_rle_reader_init(&reader, page->repetitions, page->repetition_bytes,
                       cv_bit_width(leaf->repetition_max));
    for (size_t i = 0; i < count; i += CV_ARRAY_LENGTH(levels)) {
        size_t take = CV_MIN(CV_ARRAY_LENGTH(levels), count - i);

        if (!cv_rle_read_levels(&reader, take, levels))
            return cv_fail(err, CV_FORMAT, "malformed levels of a page");
        if (i == 0 && levels[0])
            leaf->places_lost = leaf->index_lost = true;
        for (size_t j = 0; j < take; j++)
            rows += levels[j] == 0;
    }
    *ret_rows = rows;
    return CV_OK;
}

static enum cv_code copy_page(struct reading *reading, struct cv_merge_page *page,
                              struct cv_page described, struct cv_error *err)
{
    struct cv_parquet_merger *merger = reading->merger;
    const struct cv_page_header *header = &page->header;
    struct cv_leaf *leaf = reading->leaf;
    size_t rows;

    if (header->encoding >= CV_PARQUET_ENCODINGS)
        return cv_fail(err, CV_UNSUPPORTED, "a page in encoding %d", header->encoding);
    CV_DO(count_rows(reading, page, &rows, err));
    CV_DO(cv_merge_end_page(merger, leaf, err));
    CV_DO(cv_parquet_out(merger->writer, page->bytes, page->length, err));
    cv_chunk_count_page(&leaf->meta, header->type == CV_PAGE_DATA_V2,
                        (enum cv_parquet_encoding)header->encoding);
    leaf->meta.plain_size += (int64_t)page->header_length + header->plain_size;
    described.length = page->length;
    note(reading, described, rows);
    return CV_OK;
}

/* Eight times `groups` indices: unpacked, renumbered, packed. The last ones may only pad; they are
 * in range all the same, or the bytes are no indices. */
static bool map_groups(const uint8_t *bytes, size_t groups, unsigned width,
                       const struct cv_merge_source *source, unsigned new_width, struct cv_buf *out)
{
    uint32_t values[GROUPS * 8];
    uint32_t max = 0;
    size_t count = groups * 8;

    cv_bits_unpack8(bytes, groups, width, values);
    for (size_t i = 0; i < count; i++)
        max = CV_MAX(max, values[i]);
    if (max >= source->entry_count)
        return false;
    for (size_t i = 0; i < count; i++)
        values[i] = source->map[values[i]];
    if (!cv_buf_reserve(out, groups * new_width + 8))
        return false;
    cv_bits_pack_groups(values, groups, new_width, out->data + out->length);
    out->length += groups * new_width;
    return true;
}

static bool map_packed_run(const uint8_t *bytes, size_t length, size_t groups, unsigned width,
                           const struct cv_merge_source *source, unsigned new_width,
                           struct cv_buf *out)
{
    size_t whole = CV_MIN(groups, length / width);
    uint8_t rest[32 + CV_RLE_SLACK] = {0};

    cv_varint_write((uint64_t)groups << 1 | 1, out);
    for (size_t i = 0; i < whole; i += GROUPS)
        if (!map_groups(bytes + i * width, CV_MIN((size_t)GROUPS, whole - i), width, source,
                        new_width, out))
            return false;
    if (whole == groups)
        return true;
    /* The last run of a page may be cut short of its last group. */
    if (whole + 1 < groups)
        return false;
    memcpy(rest, bytes + whole * width, length - whole * width);
    return map_groups(rest, 1, width, source, new_width, out);
}

/* Run by run, so that levels need not be looked at. */
static bool map_indices(const struct cv_merge_page *page, const struct cv_merge_source *source,
                        unsigned new_width, struct cv_buf *out)
{
    const uint8_t *at = page->values + 1;
    const uint8_t *end = page->values + page->value_bytes;
    unsigned width = page->values[0];
    size_t value_bytes = (width + 7) / 8;
    uint64_t head;

    if (width == 0) {
        cv_rle_write_run(source->map[0], (size_t)page->header.value_count, new_width, out);
        return true;
    }
    while (at < end) {
        uint32_t value = 0;
        size_t left;

        if (!cv_varint_read(&at, end, CV_RLE_HEAD_BITS, &head))
            return false;
        left = (size_t)(end - at);
        if (head & 1) {
            size_t groups = (size_t)(head >> 1);

            if (!map_packed_run(at, left, groups, width, source, new_width, out))
                return false;
            at += CV_MIN(groups * width, left);
            continue;
        }
        if (left < value_bytes)
            return false;
        memcpy(&value, at, value_bytes);
        at += value_bytes;
        if (value >= source->entry_count)
            return false;
        cv_rle_write_run(source->map[value], (size_t)(head >> 1), new_width, out);
    }
    return true;
}

static void put_levels(const uint8_t *levels, size_t length, struct cv_buf *out)
{
    uint32_t prefix = (uint32_t)length;

    cv_buf_append(out, &prefix, 4);
    cv_buf_append(out, levels, length);
}

/* Definition levels as the writer has them. */
static enum cv_code put_definitions(struct reading *reading, const struct cv_merge_page *page,
                                    struct cv_buf *body, struct cv_error *err)
{
    struct cv_parquet_merger *merger = reading->merger;
    struct cv_buf *levels = &merger->scratch;
    unsigned width = cv_bit_width(reading->leaf->definition_max);
    size_t present;

    if (!page->level_map) {
        put_levels(page->definitions, page->definition_bytes, body);
        return CV_OK;
    }
    cv_buf_clear(levels);
    if (page->definition_max == 0) {
        cv_rle_write_run(page->level_map[0], (size_t)page->header.value_count, width, levels);
    } else {
        CV_DO(cv_merge_read_definitions(merger, reading->leaf, page, &present, err));
        cv_rle_write_levels(merger->definitions.data, merger->definitions.length, width, levels);
    }
    put_levels(levels->data, levels->length, body);
    return CV_OK;
}

/* Indices with their new numbers, other values as they are. */
static enum cv_code put_values(struct reading *reading, const struct cv_merge_page *page,
                               struct cv_buf *body, struct cv_error *err)
{
    const struct cv_leaf *leaf = reading->leaf;
    unsigned width = CV_MAX(cv_bit_width(leaf->dictionary.count - 1), 1u);

    if (!cv_parquet_is_indices(page->header.encoding) || reading->source->identity) {
        cv_buf_append(body, page->values, page->value_bytes);
        return CV_OK;
    }
    cv_buf_append_byte(body, (uint8_t)width);
    if (page->values[0] > 32 || !map_indices(page, reading->source, width, body))
        return cv_fail(err, CV_FORMAT, "malformed indices of a page");
    return CV_OK;
}

/* A page whose indices or levels change. */
static enum cv_code rebuild_page(struct reading *reading, struct cv_merge_page *page,
                                 struct cv_page described, struct cv_error *err)
{
    struct cv_parquet_merger *merger = reading->merger;
    struct cv_parquet_writer *writer = merger->writer;
    struct cv_leaf *leaf = reading->leaf;
    struct cv_buf *body = &writer->workspace->body;
    struct cv_page_body finished = {
        .encoding = cv_parquet_is_indices(page->header.encoding)
                        ? CV_PARQUET_PLAIN_DICTIONARY
                        : (enum cv_parquet_encoding)page->header.encoding,
    };
    size_t rows;

    if (page->header.encoding >= CV_PARQUET_ENCODINGS || page->bit_packed)
        return cv_fail(err, CV_UNSUPPORTED, "a page in encoding %d", page->header.encoding);
    CV_DO(count_rows(reading, page, &rows, err));
    CV_DO(cv_merge_end_page(merger, leaf, err));
    cv_buf_clear(body);
    if (leaf->repetition_max)
        put_levels(page->repetitions, page->repetition_bytes, body);
    if (leaf->definition_max)
        CV_DO(put_definitions(reading, page, body, err));
    CV_DO(put_values(reading, page, body, err));
    CV_DO(cv_buf_check(body, "a page", err));
    finished.body = body->data;
    finished.body_length = body->length;
    CV_DO(
        cv_page_pack(writer, leaf, CV_PAGE_DATA, &finished, (size_t)page->header.value_count, err));
    CV_DO(cv_parquet_out(writer, writer->workspace->header.data, writer->workspace->header.length,
                         err));
    CV_DO(cv_parquet_out(writer, writer->workspace->packed.data, writer->workspace->packed.length,
                         err));
    cv_chunk_count_page(&leaf->meta, false, finished.encoding);
    leaf->meta.plain_size += (int64_t)(writer->workspace->header.length + body->length);
    described.length = writer->workspace->header.length + writer->workspace->packed.length;
    note(reading, described, rows);
    return CV_OK;
}

static bool is_small(const struct reading *reading, const struct cv_page_header *header)
{
    const struct cv_parquet_options *options = &reading->merger->writer->options;

    return header->value_count < options->page_rows / CV_MERGE_SMALL_PART &&
           header->plain_size < options->page_bytes / CV_MERGE_SMALL_PART;
}

static enum cv_code take_page(struct reading *reading, struct cv_merge_page *page,
                              struct cv_error *err)
{
    struct cv_parquet_merger *merger = reading->merger;
    const struct cv_merge_source *source = reading->source;
    const struct cv_page_header *header = &page->header;
    struct cv_page described = describe(reading, page);
    const struct cv_bounds *bounds = reading->bounds.present ? &reading->bounds : NULL;
    bool indices = cv_parquet_is_indices(header->encoding);
    bool join = indices ? !source->united || is_small(reading, header)
                        : header->encoding == CV_PARQUET_PLAIN && is_small(reading, header);

    if (indices && source->dictionary_length == 0)
        return cv_fail(err, CV_FORMAT, "a page refers to a dictionary that is not there");
    if (!join && !page->level_map && (!indices || source->identity))
        return copy_page(reading, page, described, err);
    CV_DO(cv_merge_unpack(merger, reading->leaf, page, err));
    if (!join && (!indices || (!page->bit_packed && page->value_bytes > 1 && source->entry_count)))
        return rebuild_page(reading, page, described, err);
    return cv_merge_join(merger, reading->leaf, source, page, bounds, err);
}

static enum cv_code take_pages(struct reading *reading, int64_t offset, struct cv_error *err)
{
    const struct cv_merge_chunk *chunk = reading->chunk;
    int64_t left = chunk->value_count;

    while (left > 0) {
        struct cv_merge_page page;
        int32_t type;

        CV_DO(cv_merge_read_page(reading->merger, reading->source, chunk, offset, &page, err));
        offset += (int64_t)page.length;
        type = page.header.type;
        if (type != CV_PAGE_DATA && type != CV_PAGE_DATA_V2)
            continue;
        if (page.header.value_count > left)
            return cv_fail(err, CV_FORMAT, "its pages hold more values than it announces");
        left -= page.header.value_count;
        if (page.header.value_count)
            CV_DO(take_page(reading, &page, err));
        reading->page_number++;
    }
    return CV_OK;
}

enum cv_code cv_merge_pages(struct cv_parquet_merger *merger, struct cv_leaf *leaf,
                            struct cv_merge_source *source, const struct cv_merge_chunk *chunk,
                            int64_t offset, struct cv_error *err)
{
    struct reading reading = {
        .merger = merger,
        .leaf = leaf,
        .source = source,
        .chunk = chunk,
    };
    enum cv_code code;

    cv_arena_reset(&merger->column);
    if (chunk->column_index.length)
        (void)cv_column_index_parse(chunk->column_index, &merger->column, &reading.index);
    code = take_pages(&reading, offset, err);
    cv_bounds_release(&reading.bounds);
    return code;
}
