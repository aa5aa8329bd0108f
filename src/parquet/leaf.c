/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes levels and values into the open page of one leaf: statistics first, then either indices of
 * the dictionary or PLAIN bytes. Values come in blocks that fit the cache, and every loop below is
 * over one block of one type. */
#include "parquet/writer_int.h"

#include "parquet/rle.h"

#include <assert.h>
#include <stdlib.h>

/* A block of values: positions[i], or start + i. */
struct block {
    const struct cv_column *column;
    const uint32_t *positions;
    size_t start;
    size_t count;
};

static inline size_t block_at(const struct block *block, size_t i)
{
    return block->positions ? block->positions[i] : block->start + i;
}

static void indices_reserve(struct cv_open_page *page, size_t extra)
{
    size_t need = page->value_count + extra;

    cv_array_reserve(&page->indices, &page->index_capacity, need);
}

void cv_leaf_reserve_values(struct cv_leaf *leaf, size_t extra)
{
    struct cv_open_page *page = &leaf->page;
    static const uint8_t headroom[CV_PARQUET_PAGE_HEADROOM];

    if (page->values.length == 0)
        cv_buf_append(&page->values, headroom, sizeof headroom);
    (void)cv_buf_reserve(&page->values, extra);
}

/* Pointer to the values of a block as words of 4 or 8 bytes, gathered when they are not together.
 */
static const void *words_of(struct cv_parquet_workspace *work, const struct block *block,
                            size_t width)
{
    const uint8_t *data = block->column->data;

    if (!block->positions)
        return data + block->start * width;
    if (width == 4) {
        uint32_t *words = (uint32_t *)(void *)work->words;

        for (size_t i = 0; i < block->count; i++)
            memcpy(&words[i], data + (size_t)block->positions[i] * 4, 4);
    } else {
        uint64_t *words = (uint64_t *)(void *)work->words;

        for (size_t i = 0; i < block->count; i++)
            memcpy(&words[i], data + (size_t)block->positions[i] * 8, 8);
    }
    return work->words;
}

static void put_words(struct cv_leaf *leaf, const void *words, size_t count)
{
    struct cv_open_page *page = &leaf->page;

    page->plain_bytes += count * leaf->width;
    if (!leaf->dictionary_on) {
        cv_leaf_reserve_values(leaf, count * leaf->width);
        cv_buf_append(&page->values, words, count * leaf->width);
        return;
    }
    indices_reserve(page, count);
    if (leaf->width == 4)
        cv_dictionary_add_32(&leaf->dictionary, words, count, page->indices + page->value_count);
    else
        cv_dictionary_add_64(&leaf->dictionary, words, count, page->indices + page->value_count);
}

static void take_words(struct cv_parquet_workspace *work, struct cv_leaf *leaf,
                       const struct block *block)
{
    const void *words = words_of(work, block, leaf->width);
    struct cv_bounds *bounds = &leaf->page.bounds;

    if (leaf->physical == CV_PARQUET_INT32)
        cv_bounds_i32(bounds, words, block->count);
    else if (leaf->physical == CV_PARQUET_INT64)
        cv_bounds_i64(bounds, words, block->count);
    else if (leaf->physical == CV_PARQUET_FLOAT)
        leaf->nan_count += (int64_t)cv_bounds_f32(bounds, words, block->count);
    else
        leaf->nan_count += (int64_t)cv_bounds_f64(bounds, words, block->count);
    put_words(leaf, words, block->count);
}

static void take_booleans(struct cv_parquet_workspace *work, struct cv_leaf *leaf,
                          const struct block *block)
{
    struct cv_open_page *page = &leaf->page;
    size_t end = page->value_count + block->count;
    int64_t bounds[2];
    size_t trues = 0;

    for (size_t i = 0; i < block->count; i++) {
        work->marks[i] = cv_bit_get(block->column->data, block_at(block, i));
        trues += work->marks[i];
    }
    bounds[0] = trues == block->count;
    bounds[1] = trues > 0;
    cv_bounds_i64(&page->bounds, bounds, 2);
    cv_leaf_reserve_values(leaf, block->count / 8 + 2);
    while (page->values.length < CV_PARQUET_PAGE_HEADROOM + (end + 7) / 8)
        cv_buf_append_byte(&page->values, 0);
    for (size_t i = 0; i < block->count; i++)
        if (work->marks[i])
            cv_bit_set(page->values.data + CV_PARQUET_PAGE_HEADROOM, page->value_count + i);
    page->plain_bytes += block->count / 8 + 1;
}

/* Bytes of values that have a fixed width but are not words. */
static void spans_of_fixed(struct cv_parquet_workspace *work, const struct cv_leaf *leaf,
                           const struct block *block)
{
    const char *data = (const char *)block->column->data;

    for (size_t i = 0; i < block->count; i++)
        work->spans[i] = (struct cv_str){data + block_at(block, i) * leaf->width, leaf->width};
}

static void spans_of_decimals(struct cv_parquet_workspace *work, const struct cv_leaf *leaf,
                              const struct block *block)
{
    uint8_t *out = work->bytes;

    for (size_t i = 0; i < block->count; i++) {
        cv_uint128 value;

        memcpy(&value, block->column->data + block_at(block, i) * 16, 16);
        work->words[i] = (cv_wide_int)value;
        for (size_t j = 0; j < leaf->width; j++)
            out[j] = (uint8_t)(value >> (8 * (leaf->width - 1 - j)));
        work->spans[i] = (struct cv_str){(const char *)out, leaf->width};
        out += leaf->width;
    }
}

/* A column of empty values may have no data at all. */
static const char *data_of(const struct cv_column *column)
{
    return column->data ? (const char *)column->data : "";
}

static void spans_of_bytes(struct cv_parquet_workspace *work, const struct block *block)
{
    const char *data = data_of(block->column);
    const int32_t *offsets = block->column->offsets;

    for (size_t i = 0; i < block->count; i++) {
        size_t position = block_at(block, i);

        work->spans[i] = (struct cv_str){data + offsets[position],
                                         (size_t)(offsets[position + 1] - offsets[position])};
    }
}

/* Copies in words that may pass the end of both; the caller knows that there is room. */
static inline void copy_over(uint8_t *to, const char *from, size_t length)
{
    size_t i = 0;

    do {
        memcpy(to + i, from + i, 16);
        i += 16;
    } while (i < length);
}

/* PLAIN: each value after its length. Values of which 16 bytes past the end are still in the
 * column's data are copied in whole words. */
static void put_plain_bytes(struct cv_leaf *leaf, const struct cv_str *spans, size_t count,
                            size_t total, const char *data_end)
{
    struct cv_buf *values = &leaf->page.values;
    uint8_t *out;

    cv_leaf_reserve_values(leaf, total + 16);
    if (values->failed)
        return;
    out = values->data + values->length;
    for (size_t i = 0; i < count; i++) {
        uint32_t length = (uint32_t)spans[i].length;

        if (leaf->width == 0) {
            memcpy(out, &length, 4);
            out += 4;
        }
        if (length <= 64 && (size_t)(data_end - spans[i].ptr) >= length + 16)
            copy_over(out, spans[i].ptr, length);
        else if (length)
            memcpy(out, spans[i].ptr, length);
        out += length;
    }
    values->length += total;
}

/* PLAIN bytes of the spans. */
static size_t total_of(const struct cv_leaf *leaf, const struct cv_str *spans, size_t count)
{
    size_t total = 0;

    if (leaf->width)
        return count * leaf->width;
    for (size_t i = 0; i < count; i++)
        total += 4 + spans[i].length;
    return total;
}

static void take_spans(struct cv_parquet_workspace *work, struct cv_leaf *leaf,
                       const struct block *block)
{
    struct cv_open_page *page = &leaf->page;
    const char *data_end = data_of(block->column);
    size_t total;

    if (leaf->order == CV_BOUNDS_WIDE) {
        spans_of_decimals(work, leaf, block);
        cv_bounds_wide(&page->bounds, work->words, block->count);
        data_end = (const char *)work->bytes + sizeof work->bytes;
    } else if (leaf->width) {
        spans_of_fixed(work, leaf, block);
        data_end += block->column->length * leaf->width;
    } else {
        spans_of_bytes(work, block);
        data_end += block->column->offsets[block->column->length];
    }
    total = total_of(leaf, work->spans, block->count);
    page->plain_bytes += total;
    if (leaf->dictionary_on) {
        indices_reserve(page, block->count);
        cv_dictionary_add_bytes(&leaf->dictionary, work->spans, block->count,
                                page->indices + page->value_count);
    } else {
        put_plain_bytes(leaf, work->spans, block->count, total, data_end);
    }
    /* With a dictionary the page looks at its distinct values once, when it ends. */
    if (leaf->order == CV_BOUNDS_UUID)
        cv_bounds_uuid(&page->bounds, work->spans, block->count);
    else if (leaf->order == CV_BOUNDS_BYTES && !leaf->dictionary_on)
        cv_bounds_bytes(&page->bounds, work->spans, block->count);
}

static void take_block(struct cv_parquet_writer *writer, struct cv_leaf *leaf,
                       const struct block *block)
{
    if (leaf->physical == CV_PARQUET_BOOLEAN)
        take_booleans(writer->workspace, leaf, block);
    else if (leaf->physical < CV_PARQUET_BYTE_ARRAY)
        take_words(writer->workspace, leaf, block);
    else
        take_spans(writer->workspace, leaf, block);
    leaf->page.value_count += block->count;
    if (leaf->dictionary_on &&
        (leaf->dictionary.values.length > (size_t)writer->options.dictionary_bytes ||
         leaf->dictionary.count > CV_DICTIONARY_ENTRIES_MAX))
        cv_leaf_fall_back(leaf);
}

/* Appends `count` bits from bit `start` of `bits`; NULL = ones. The bits after `length` are 0. */
static void put_bits(uint8_t *to, size_t length, const uint8_t *bits, size_t start, size_t count)
{
    size_t i = 0;

    while (i < count) {
        size_t at = length + i;
        size_t take = CV_MIN(8 - at % 8, count - i);
        unsigned byte = 0xff;

        if (bits) {
            size_t from = start + i;

            take = CV_MIN(take, 8 - from % 8);
            byte = (unsigned)bits[from / 8] >> from % 8;
        }
        to[at / 8] |= (uint8_t)((byte & ((1u << take) - 1)) << at % 8);
        i += take;
    }
}

/* Levels of 0 and 1 are kept as bits. */
static void put_definition_bits(struct cv_leaf *leaf, const struct cv_shred *shred)
{
    struct cv_open_page *page = &leaf->page;
    struct cv_buf *levels = &page->definitions;
    size_t bytes = (page->level_count + shred->level_count + 7) / 8;
    bool first = levels->length == 0;

    if (!cv_buf_reserve(levels, bytes - levels->length))
        return;
    memset(levels->data + levels->length, 0, bytes - levels->length);
    levels->length = bytes;
    if (first)
        put_bits(levels->data, 0, NULL, 0, page->level_count);
    if (!shred->definitions) {
        put_bits(levels->data, page->level_count, shred->validity, shred->start,
                 shred->level_count);
        return;
    }
    for (size_t i = 0; i < shred->level_count; i++)
        if (shred->definitions[i])
            cv_bit_set(levels->data, page->level_count + i);
}

/* Levels at the maximum are not stored until another one comes along. */
void cv_leaf_put_definitions(struct cv_leaf *leaf, const struct cv_shred *shred)
{
    struct cv_open_page *page = &leaf->page;
    struct cv_buf *levels = &page->definitions;

    if (!shred->definitions && !shred->validity && levels->length == 0)
        return;
    if (leaf->definition_bits) {
        put_definition_bits(leaf, shred);
        return;
    }
    if (!cv_buf_reserve(levels, page->level_count + shred->level_count - levels->length))
        return;
    memset(levels->data + levels->length, leaf->definition_max, page->level_count - levels->length);
    levels->length = page->level_count;
    if (shred->definitions)
        memcpy(levels->data + levels->length, shred->definitions, shred->level_count);
    else
        memset(levels->data + levels->length, leaf->definition_max, shred->level_count);
    levels->length += shred->level_count;
}

/* Bytes of the page's values so far, about. */
static size_t page_bytes(const struct cv_leaf *leaf)
{
    const struct cv_open_page *page = &leaf->page;

    if (leaf->dictionary_on)
        return page->value_count * cv_bit_width(leaf->dictionary.count) / 8;
    return page->values.length;
}

enum cv_code cv_leaf_append(struct cv_parquet_writer *writer, struct cv_leaf *leaf,
                            const struct cv_shred *shred, struct cv_error *err)
{
    struct cv_open_page *page = &leaf->page;
    size_t page_rows = (size_t)writer->options.page_rows;

    if (page->row_count && page->row_count + shred->row_count > page_rows)
        CV_DO(cv_page_finish(writer, leaf, err));
    if (leaf->definition_max)
        cv_leaf_put_definitions(leaf, shred);
    if (leaf->repetition_max)
        cv_buf_append(&page->repetitions, shred->repetitions, shred->level_count);
    page->level_count += shred->level_count;
    for (size_t i = 0; i < shred->value_count; i += CV_PARQUET_BLOCK_VALUES) {
        struct block block = {
            .column = shred->column,
            .positions = shred->positions ? shred->positions + i : NULL,
            .start = shred->start + i,
            .count = CV_MIN((size_t)CV_PARQUET_BLOCK_VALUES, shred->value_count - i),
        };

        take_block(writer, leaf, &block);
    }
    page->row_count += shred->row_count;
    assert(page->value_count <= page->level_count);
    if (page->row_count >= page_rows || page_bytes(leaf) >= (size_t)writer->options.page_bytes)
        CV_DO(cv_page_finish(writer, leaf, err));
    return CV_OK;
}

void cv_leaf_fall_back(struct cv_leaf *leaf)
{
    struct cv_open_page *page = &leaf->page;

    assert(leaf->dictionary_on && page->values.length == 0);
    cv_leaf_reserve_values(leaf, page->plain_bytes);
    for (size_t i = 0; leaf->order == CV_BOUNDS_BYTES && i < page->value_count; i++) {
        struct cv_str value = cv_dictionary_entry(&leaf->dictionary, page->indices[i]);

        cv_bounds_bytes(&page->bounds, &value, 1);
    }
    cv_dictionary_decode(&leaf->dictionary, page->indices, page->value_count, &page->values);
    leaf->dictionary_on = false;
    leaf->packing = CV_PACKING_UNDECIDED;
    free(page->indices);
    page->indices = NULL;
    page->index_capacity = 0;
    if (cv_chunk_dictionary_pages(&leaf->meta) == 0)
        cv_dictionary_release(&leaf->dictionary);
}
