/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends pages: data page v1, as the format's README draws it,
 *
 *   PageHeader (thrift)
 *   compressed: [length(4) repetition levels] [length(4) definition levels] values
 *
 * with the values either PLAIN (or DELTA), or one byte of bit width and hybrid runs of indices into
 * the chunk's dictionary. The header holds no statistics: the page index does. */
#include "parquet/writer_int.h"

#include "parquet/delta.h"
#include "parquet/rle.h"

#include <assert.h>

/* parquet-mr's rule at the end of the first page: keep the dictionary if it makes the page smaller
 * than PLAIN, the dictionary itself counted. */
static bool dictionary_pays(const struct cv_leaf *leaf, size_t encoded)
{
    if (leaf->dictionary_fixed || cv_chunk_dictionary_pages(&leaf->meta) > 0)
        return true;
    return encoded + leaf->dictionary.values.length < leaf->page.plain_bytes;
}

static void write_level_run(const struct cv_buf *levels, bool bits, size_t count, uint8_t max,
                            struct cv_buf *out)
{
    size_t start = out->length;
    uint32_t length = 0;

    cv_buf_append(out, &length, 4);
    if (levels->length == 0)
        cv_rle_write_run(max, count, cv_bit_width(max), out);
    else if (bits)
        cv_rle_write_bits(levels->data, count, out);
    else
        cv_rle_write_levels(levels->data, levels->length, cv_bit_width(max), out);
    if (out->failed)
        return;
    length = (uint32_t)(out->length - start - 4);
    memcpy(out->data + start, &length, 4);
}

static void write_levels(const struct cv_leaf *leaf, struct cv_buf *out)
{
    const struct cv_open_page *page = &leaf->page;

    assert(page->definitions.length == 0 ||
           page->definitions.length ==
               (leaf->definition_bits ? (page->level_count + 7) / 8 : page->level_count));
    assert(!leaf->repetition_max || page->repetitions.length == page->level_count);
    if (leaf->repetition_max)
        write_level_run(&page->repetitions, false, page->level_count, leaf->repetition_max, out);
    if (leaf->definition_max)
        write_level_run(&page->definitions, leaf->definition_bits, page->level_count,
                        leaf->definition_max, out);
}

static void write_indices(const struct cv_leaf *leaf, struct cv_buf *out)
{
    /* One entry takes a bit all the same: not every reader knows a width of 0. */
    unsigned width = CV_MAX(cv_bit_width(leaf->dictionary.count - 1), 1u);

    cv_buf_append_byte(out, (uint8_t)width);
    cv_rle_write_indices(leaf->page.indices, leaf->page.value_count, width, out);
}

/* Minimum and maximum over the distinct values of a page. */
static void bounds_of_indices(struct cv_parquet_workspace *work, struct cv_leaf *leaf)
{
    struct cv_open_page *page = &leaf->page;
    struct cv_str spans[64];
    size_t waiting = 0;
    uint32_t count = leaf->dictionary.count;

    cv_buf_clear(&work->used);
    if (!cv_buf_reserve(&work->used, count))
        return;
    memset(work->used.data, 0, count);
    for (size_t i = 0; i < page->value_count; i++)
        work->used.data[page->indices[i]] = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (!work->used.data[i])
            continue;
        spans[waiting++] = cv_dictionary_entry(&leaf->dictionary, i);
        if (waiting == CV_ARRAY_LENGTH(spans)) {
            cv_bounds_bytes(&page->bounds, spans, waiting);
            waiting = 0;
        }
    }
    if (waiting)
        cv_bounds_bytes(&page->bounds, spans, waiting);
}

static enum cv_parquet_encoding write_delta(struct cv_parquet_workspace *work,
                                            const struct cv_leaf *leaf, struct cv_buf *out)
{
    const uint8_t *plain = leaf->page.values.data + CV_PARQUET_PAGE_HEADROOM;

    if (leaf->physical == CV_PARQUET_BYTE_ARRAY) {
        cv_delta_write_bytes(plain, leaf->page.value_count, &work->lengths, out);
        return CV_PARQUET_DELTA_LENGTH_BYTE_ARRAY;
    }
    if (leaf->physical == CV_PARQUET_INT32)
        cv_delta_write_32(plain, leaf->page.value_count, out);
    else
        cv_delta_write_64(plain, leaf->page.value_count, out);
    return CV_PARQUET_DELTA_BINARY_PACKED;
}

static bool wants_delta(const struct cv_parquet_writer *writer, const struct cv_leaf *leaf)
{
    return writer->options.delta && leaf->page.value_count > 0 &&
           (leaf->physical == CV_PARQUET_INT32 || leaf->physical == CV_PARQUET_INT64 ||
            leaf->physical == CV_PARQUET_BYTE_ARRAY);
}

/* PLAIN values stay where they are; short levels go into the headroom before them. */
static void finish_plain(struct cv_parquet_writer *writer, struct cv_leaf *leaf,
                         struct cv_page_body *ret)
{
    struct cv_buf *body = &writer->workspace->body;
    struct cv_buf *values = &leaf->page.values;
    size_t plain = values->length ? values->length - CV_PARQUET_PAGE_HEADROOM : 0;

    cv_buf_clear(body);
    write_levels(leaf, body);
    ret->encoding = CV_PARQUET_PLAIN;
    if (plain && !wants_delta(writer, leaf) && body->length <= CV_PARQUET_PAGE_HEADROOM) {
        uint8_t *at = values->data + CV_PARQUET_PAGE_HEADROOM - body->length;

        if (body->length)
            memcpy(at, body->data, body->length);
        ret->body = at;
        ret->body_length = body->length + plain;
        return;
    }
    if (wants_delta(writer, leaf))
        ret->encoding = write_delta(writer->workspace, leaf, body);
    else if (plain)
        cv_buf_append(body, values->data + CV_PARQUET_PAGE_HEADROOM, plain);
    ret->body = body->data;
    ret->body_length = body->length;
}

static void finish_body(struct cv_parquet_writer *writer, struct cv_leaf *leaf,
                        struct cv_page_body *ret)
{
    struct cv_buf *body = &writer->workspace->body;
    size_t levels;

    if (!leaf->dictionary_on || leaf->page.value_count == 0) {
        finish_plain(writer, leaf, ret);
        return;
    }
    cv_buf_clear(body);
    write_levels(leaf, body);
    levels = body->length;
    write_indices(leaf, body);
    if (!dictionary_pays(leaf, body->length - levels)) {
        cv_leaf_fall_back(leaf);
        finish_plain(writer, leaf, ret);
        return;
    }
    if (leaf->order == CV_BOUNDS_BYTES)
        bounds_of_indices(writer->workspace, leaf);
    if (!leaf->dictionary_fixed)
        leaf->dictionary_used = leaf->dictionary.count;
    ret->encoding = CV_PARQUET_PLAIN_DICTIONARY;
    ret->body = body->data;
    ret->body_length = body->length;
}

/* PageHeader: 1 type, 2 uncompressed_page_size, 3 compressed_page_size, 5 data_page_header
 * {1 num_values, 2 encoding, 3 definition_level_encoding, 4 repetition_level_encoding},
 * 7 dictionary_page_header {1 num_values, 2 encoding}. */
static void write_header(struct cv_buf *out, enum cv_page_type type, size_t plain, size_t packed,
                         size_t count, enum cv_parquet_encoding encoding)
{
    struct cv_thrift_writer thrift = CV_THRIFT_WRITER(out);

    cv_buf_clear(out);
    cv_thrift_begin_struct(&thrift);
    cv_thrift_field_i32(&thrift, 1, (int32_t)type);
    cv_thrift_field_i32(&thrift, 2, (int32_t)plain);
    cv_thrift_field_i32(&thrift, 3, (int32_t)packed);
    cv_thrift_field_struct(&thrift, type == CV_PAGE_DATA ? 5 : 7);
    cv_thrift_field_i32(&thrift, 1, (int32_t)count);
    cv_thrift_field_i32(&thrift, 2, (int32_t)encoding);
    if (type == CV_PAGE_DATA) {
        cv_thrift_field_i32(&thrift, 3, CV_PARQUET_RLE);
        cv_thrift_field_i32(&thrift, 4, CV_PARQUET_RLE);
    }
    cv_thrift_end_struct(&thrift);
    cv_thrift_end_struct(&thrift);
}

/* Compresses a body into workspace->packed and puts its header into workspace->header. */
enum cv_code cv_page_pack(struct cv_parquet_writer *writer, struct cv_leaf *leaf,
                          enum cv_page_type type, const struct cv_page_body *page, size_t count,
                          struct cv_error *err)
{
    struct cv_parquet_workspace *work = writer->workspace;
    size_t length = page->body_length;

    if (length > INT32_MAX || count > INT32_MAX)
        return cv_fail(err, CV_LIMIT,
                       "column %s: a page of %zu bytes is more than Parquet can hold", leaf->path,
                       length);
    CV_TRY(cv_packing_compress(work, leaf, page->body, length, err), err, "column %s", leaf->path);
    if (work->packed.length > INT32_MAX)
        return cv_fail(err, CV_LIMIT,
                       "column %s: a page of %zu bytes is more than Parquet can hold", leaf->path,
                       work->packed.length);
    write_header(&work->header, type, length, work->packed.length, count, page->encoding);
    return CV_OK;
}

static struct cv_str index_bound(struct cv_parquet_writer *writer, const struct cv_leaf *leaf,
                                 bool upper)
{
    struct cv_buf *bound = &writer->workspace->bound;
    bool exact;

    cv_bounds_write_parquet(&leaf->page.bounds, &leaf->field->type, upper, CV_PARQUET_INDEX_BYTES,
                            bound, &exact);
    return (struct cv_str){cv_arena_copy(&writer->group, bound->data, bound->length),
                           bound->length};
}

/* Whether the pages so far ascend or descend, nulls apart (ColumnIndex.boundary_order). */
static void follow_order(struct cv_leaf *leaf)
{
    struct cv_bounds kept;

    if (leaf->previous.present) {
        int min = cv_bounds_compare_min(&leaf->previous, &leaf->page.bounds, leaf->order);
        int max = cv_bounds_compare_max(&leaf->previous, &leaf->page.bounds, leaf->order);

        leaf->ascending &= min <= 0 && max <= 0;
        leaf->descending &= min >= 0 && max >= 0;
    }
    kept = leaf->previous;
    leaf->previous = leaf->page.bounds;
    leaf->page.bounds = kept;
}

void cv_page_note(struct cv_parquet_writer *writer, struct cv_leaf *leaf, struct cv_page page,
                  size_t rows)
{
    cv_array_reserve(&leaf->pages, &leaf->page_capacity, leaf->page_count + 1);
    page.first_row = leaf->chunk_rows;
    page.has_bounds = leaf->page.bounds.present && !page.all_null;
    leaf->chunk_rows += rows;
    if (page.has_bounds) {
        page.min = index_bound(writer, leaf, false);
        page.max = index_bound(writer, leaf, true);
        cv_bounds_merge(&leaf->bounds, &leaf->page.bounds, leaf->order);
        follow_order(leaf);
    } else if (!page.all_null) {
        leaf->index_lost = true;
    }
    leaf->pages[leaf->page_count++] = page;
}

/* Keeps the packed page. */
static void keep_page(struct cv_parquet_writer *writer, struct cv_leaf *leaf)
{
    const struct cv_parquet_workspace *work = writer->workspace;
    const struct cv_open_page *open = &leaf->page;
    struct cv_page page = {
        .length = work->header.length + work->packed.length,
        .null_count = (int64_t)(open->level_count - open->value_count),
        .all_null = open->value_count == 0,
    };

    page.bytes = cv_realloc(NULL, page.length);
    memcpy(page.bytes, work->header.data, work->header.length);
    if (work->packed.length)
        memcpy(page.bytes + work->header.length, work->packed.data, work->packed.length);
    leaf->page_bytes += page.length;
    leaf->meta.value_count += (int64_t)open->level_count;
    leaf->meta.null_count += page.null_count;
    cv_page_note(writer, leaf, page, open->row_count);
}

static void open_next(struct cv_leaf *leaf)
{
    struct cv_open_page *page = &leaf->page;

    cv_buf_clear(&page->values);
    cv_buf_clear(&page->definitions);
    cv_buf_clear(&page->repetitions);
    page->row_count = 0;
    page->level_count = 0;
    page->value_count = 0;
    page->plain_bytes = 0;
    cv_bounds_clear(&page->bounds);
}

enum cv_code cv_page_finish(struct cv_parquet_writer *writer, struct cv_leaf *leaf,
                            struct cv_error *err)
{
    struct cv_page_body finished = {0};

    if (leaf->page.level_count == 0)
        return CV_OK;
    CV_DO(cv_buf_check(&leaf->page.values, "a page", err));
    CV_DO(cv_buf_check(&leaf->dictionary.values, "a dictionary", err));
    CV_DO(cv_buf_check(&leaf->page.definitions, "the levels of a page", err));
    CV_DO(cv_buf_check(&leaf->page.repetitions, "the levels of a page", err));
    finish_body(writer, leaf, &finished);
    CV_DO(cv_buf_check(&writer->workspace->body, "a page", err));
    CV_DO(cv_page_pack(writer, leaf, CV_PAGE_DATA, &finished, leaf->page.level_count, err));
    leaf->meta.plain_size += (int64_t)(writer->workspace->header.length + finished.body_length);
    cv_chunk_count_page(&leaf->meta, false, finished.encoding);
    keep_page(writer, leaf);
    open_next(leaf);
    return CV_OK;
}

enum cv_code cv_page_write_dictionary(struct cv_parquet_writer *writer, struct cv_leaf *leaf,
                                      struct cv_error *err)
{
    struct cv_page_body page = {
        .encoding = CV_PARQUET_PLAIN_DICTIONARY,
        .body = leaf->dictionary.values.data,
        .body_length = cv_dictionary_bytes(&leaf->dictionary, leaf->dictionary_used),
    };

    CV_DO(cv_page_pack(writer, leaf, CV_PAGE_DICTIONARY, &page, leaf->dictionary_used, err));
    leaf->meta.plain_size += (int64_t)(writer->workspace->header.length + page.body_length);
    return CV_OK;
}
