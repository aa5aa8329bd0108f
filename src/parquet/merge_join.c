/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes pages apart and their levels and values into the writer's open page: small pages are joined
 * so, and indices into a dictionary that is not united become PLAIN values. */
#include "parquet/merge_int.h"

#include <stdlib.h>

/* Levels that pass at a time. */
#define STEP 1000

/* Values of a page on their way. */
struct values {
    bool indexed; /* indices, in merger->indices */
    bool decoded; /* which become PLAIN */
    size_t index;
    const uint8_t *at; /* PLAIN */
    const uint8_t *end;
    size_t bit; /* boolean */
};

static enum cv_code malformed(const char *what, struct cv_error *err)
{
    return cv_fail(err, CV_FORMAT, "malformed %s of a page", what);
}

enum cv_code cv_merge_end_page(struct cv_parquet_merger *merger, struct cv_leaf *leaf,
                               struct cv_error *err)
{
    struct cv_page *page;

    if (leaf->page.level_count == 0)
        return CV_OK;
    CV_DO(cv_page_finish(merger->writer, leaf, err));
    page = &leaf->pages[leaf->page_count - 1];
    CV_DO(cv_parquet_out(merger->writer, page->bytes, page->length, err));
    leaf->page_bytes -= page->length;
    free(page->bytes);
    page->bytes = NULL;
    return CV_OK;
}

/* Levels as bytes; CV_FORMAT above the maximum. */
static enum cv_code read_levels(const struct cv_merge_page *page, int32_t encoding,
                                const uint8_t *bytes, size_t length, uint8_t max,
                                struct cv_buf *out, struct cv_error *err)
{
    size_t count = (size_t)page->header.value_count;
    struct cv_rle_reader reader;
    unsigned above = 0;
    bool fine = true;

    cv_buf_clear(out);
    if (count > CV_MERGE_LEVELS_MAX || !cv_buf_reserve(out, count + 8))
        return cv_fail(err, CV_LIMIT, "a page of %zu values is too large", count);
    out->length = count;
    if (page->bit_packed && encoding == CV_PARQUET_BIT_PACKED) {
        cv_bits_read_levels(bytes, 0, count, cv_bit_width(max), out->data);
    } else {
        cv_rle_reader_init(&reader, bytes, length, cv_bit_width(max));
        fine = cv_rle_read_levels(&reader, count, out->data);
    }
    if (!fine)
        return malformed("levels", err);
    for (size_t i = 0; i < count; i++)
        above |= out->data[i] > max;
    return above ? malformed("levels", err) : CV_OK;
}

enum cv_code cv_merge_read_definitions(struct cv_parquet_merger *merger, const struct cv_leaf *leaf,
                                       const struct cv_merge_page *page, size_t *ret_present,
                                       struct cv_error *err)
{
    const struct cv_page_header *header = &page->header;
    struct cv_buf *levels = &merger->definitions;
    size_t present = 0;

    CV_DO(read_levels(page, header->definition_encoding, page->definitions, page->definition_bytes,
                      page->definition_max, levels, err));
    for (size_t i = 0; page->level_map && i < levels->length; i++)
        levels->data[i] = page->level_map[levels->data[i]];
    for (size_t i = 0; i < levels->length; i++)
        present += levels->data[i] == leaf->definition_max;
    *ret_present = present;
    return CV_OK;
}

/* Both kinds of levels, and how many values are present. */
static enum cv_code open_levels(struct cv_parquet_merger *merger, const struct cv_leaf *leaf,
                                const struct cv_merge_page *page, size_t *ret_present,
                                struct cv_error *err)
{
    const struct cv_page_header *header = &page->header;
    size_t present = (size_t)header->value_count;

    if (leaf->repetition_max)
        CV_DO(read_levels(page, header->repetition_encoding, page->repetitions,
                          page->repetition_bytes, leaf->repetition_max, &merger->repetitions, err));
    if (leaf->definition_max)
        CV_DO(cv_merge_read_definitions(merger, leaf, page, &present, err));
    *ret_present = present;
    return CV_OK;
}

/* Indices with their new numbers. */
static enum cv_code open_indices(struct cv_parquet_merger *merger,
                                 const struct cv_merge_source *source,
                                 const struct cv_merge_page *page, size_t present,
                                 struct cv_error *err)
{
    struct cv_buf *buf = &merger->indices;
    struct cv_rle_reader reader;
    uint32_t *indices;
    uint32_t max = 0;

    cv_buf_clear(buf);
    if (present == 0)
        return CV_OK;
    if (page->value_bytes == 0 || page->values[0] > 32 || source->entry_count == 0)
        return malformed("indices", err);
    if (!cv_buf_reserve(buf, (present + 8) * sizeof *indices))
        return cv_fail(err, CV_LIMIT, "a page of %zu values is too large", present);
    indices = (uint32_t *)(void *)buf->data;
    cv_rle_reader_init(&reader, page->values + 1, page->value_bytes - 1, page->values[0]);
    if (!cv_rle_read(&reader, present, indices))
        return malformed("indices", err);
    for (size_t i = 0; i < present; i++)
        max = CV_MAX(max, indices[i]);
    if (max >= source->entry_count)
        return malformed("indices", err);
    if (source->map)
        for (size_t i = 0; i < present; i++)
            indices[i] = source->map[indices[i]];
    return CV_OK;
}

static enum cv_code put_booleans(struct cv_leaf *leaf, struct values *values, size_t count,
                                 struct cv_error *err)
{
    struct cv_open_page *page = &leaf->page;
    size_t end = page->value_count + count;

    if ((size_t)(values->end - values->at) * 8 - values->bit < count)
        return malformed("values", err);
    cv_leaf_reserve_values(leaf, count / 8 + 2);
    while (page->values.length < CV_PARQUET_PAGE_HEADROOM + (end + 7) / 8)
        cv_buf_append_byte(&page->values, 0);
    cv_bits_copy(page->values.data + CV_PARQUET_PAGE_HEADROOM, page->value_count, values->at,
                 values->bit, count);
    values->bit += count;
    return CV_OK;
}

/* Bytes of the next `count` PLAIN values; SIZE_MAX when they pass the end. */
static size_t plain_bytes(const struct values *values, size_t width, size_t count)
{
    const uint8_t *at = values->at;

    if (width)
        return (size_t)(values->end - at) / width < count ? SIZE_MAX : count * width;
    for (size_t i = 0; i < count; i++) {
        uint32_t length;

        if (values->end - at < 4)
            return SIZE_MAX;
        memcpy(&length, at, 4);
        at += 4;
        if ((size_t)(values->end - at) < length)
            return SIZE_MAX;
        at += length;
    }
    return (size_t)(at - values->at);
}

static enum cv_code put_values(struct cv_parquet_merger *merger, struct cv_leaf *leaf,
                               struct values *values, size_t count, struct cv_error *err)
{
    struct cv_open_page *page = &leaf->page;
    const uint32_t *indices;
    size_t bytes;

    if (values->indexed) {
        indices = (const uint32_t *)(const void *)merger->indices.data + values->index;
        values->index += count;
        if (values->decoded) {
            cv_leaf_reserve_values(leaf, count);
            cv_dictionary_decode(&merger->raw, indices, count, &page->values);
            return CV_OK;
        }
        cv_array_reserve(&page->indices, &page->index_capacity, page->value_count + count);
        memcpy(page->indices + page->value_count, indices, count * sizeof *indices);
        return CV_OK;
    }
    if (leaf->physical == CV_PARQUET_BOOLEAN)
        return put_booleans(leaf, values, count, err);
    bytes = plain_bytes(values, leaf->width, count);
    if (bytes == SIZE_MAX)
        return malformed("values", err);
    cv_leaf_reserve_values(leaf, bytes);
    cv_buf_append(&page->values, values->at, bytes);
    values->at += bytes;
    return CV_OK;
}

static bool page_is_full(const struct cv_parquet_merger *merger, const struct cv_leaf *leaf)
{
    const struct cv_parquet_options *options = &merger->writer->options;
    const struct cv_open_page *page = &leaf->page;
    size_t bytes = leaf->dictionary_on
                       ? page->value_count * cv_bit_width(leaf->dictionary.count) / 8
                       : page->values.length;

    return page->row_count >= (size_t)options->page_rows || bytes >= (size_t)options->page_bytes;
}

/* Levels [from, to), whole rows, of which `present` have values. */
static enum cv_code put_slice(struct cv_parquet_merger *merger, struct cv_leaf *leaf,
                              struct values *values, size_t from, size_t to, size_t rows,
                              size_t present, struct cv_error *err)
{
    struct cv_open_page *page = &leaf->page;
    bool indices = values->indexed && !values->decoded;
    struct cv_shred shred = {.level_count = to - from};
    size_t page_rows = (size_t)merger->writer->options.page_rows;

    if ((page->row_count && page->row_count + rows > page_rows) ||
        (page->value_count && present && leaf->dictionary_on != indices))
        CV_DO(cv_merge_end_page(merger, leaf, err));
    if (present)
        leaf->dictionary_on = indices;
    if (page->level_count == 0 && leaf->repetition_max && merger->repetitions.data[from])
        leaf->places_lost = leaf->index_lost = true;
    if (leaf->definition_max && present < to - from)
        shred.definitions = merger->definitions.data + from;
    if (leaf->definition_max)
        cv_leaf_put_definitions(leaf, &shred);
    if (leaf->repetition_max)
        cv_buf_append(&page->repetitions, merger->repetitions.data + from, to - from);
    if (present)
        CV_DO(put_values(merger, leaf, values, present, err));
    page->level_count += to - from;
    page->value_count += present;
    page->row_count += rows;
    return CV_OK;
}

/* The next slice of about STEP levels that ends between rows. */
static size_t slice_end(const struct cv_parquet_merger *merger, const struct cv_leaf *leaf,
                        size_t from, size_t count, size_t step, size_t *ret_rows)
{
    size_t end = CV_MIN(from + step, count);
    const uint8_t *repetitions = merger->repetitions.data;
    size_t rows = 0;

    if (!leaf->repetition_max) {
        *ret_rows = end - from;
        return end;
    }
    while (end < count && repetitions[end])
        end++;
    for (size_t i = from; i < end; i++)
        rows += repetitions[i] == 0;
    *ret_rows = rows;
    return end;
}

/* Levels at a time, so that a page of long texts does not grow far beyond its limit. */
static size_t step_of(const struct cv_parquet_merger *merger, const struct values *values)
{
    size_t average = 1;

    if (values->decoded && merger->raw.count)
        average = merger->raw.values.length / merger->raw.count + 1;
    return CV_MAX(CV_MIN((size_t)merger->writer->options.page_bytes / average, (size_t)STEP),
                  (size_t)1);
}

enum cv_code cv_merge_join(struct cv_parquet_merger *merger, struct cv_leaf *leaf,
                           const struct cv_merge_source *source, const struct cv_merge_page *page,
                           const struct cv_bounds *bounds, struct cv_error *err)
{
    struct values values = {.at = page->values, .end = page->values + page->value_bytes};
    size_t count = (size_t)page->header.value_count;
    size_t present;
    size_t step;
    size_t end;

    values.indexed = cv_parquet_is_indices(page->header.encoding);
    values.decoded = values.indexed && !source->united;
    CV_DO(open_levels(merger, leaf, page, &present, err));
    if (values.indexed)
        CV_DO(open_indices(merger, source, page, present, err));
    step = step_of(merger, &values);
    for (size_t from = 0; from < count; from = end) {
        size_t rows;
        size_t values_here;

        end = slice_end(merger, leaf, from, count, step, &rows);
        values_here = end - from;
        if (leaf->definition_max) {
            values_here = 0;
            for (size_t i = from; i < end; i++)
                values_here += merger->definitions.data[i] == leaf->definition_max;
        }
        CV_DO(put_slice(merger, leaf, &values, from, end, rows, values_here, err));
        if (values_here && bounds)
            cv_bounds_merge(&leaf->page.bounds, bounds, leaf->order);
        else if (values_here)
            leaf->index_lost = true;
        if (page_is_full(merger, leaf))
            CV_DO(cv_merge_end_page(merger, leaf, err));
    }
    return CV_OK;
}

enum cv_code cv_merge_join_nulls(struct cv_parquet_merger *merger, struct cv_leaf *leaf,
                                 int64_t row_count, struct cv_error *err)
{
    struct values none = {0};

    cv_buf_clear(&merger->definitions);
    cv_buf_clear(&merger->repetitions);
    for (size_t i = 0; i < STEP; i++) {
        cv_buf_append_byte(&merger->definitions, 0);
        cv_buf_append_byte(&merger->repetitions, 0);
    }
    while (row_count > 0) {
        size_t rows = (size_t)CV_MIN(row_count, (int64_t)STEP);

        CV_DO(put_slice(merger, leaf, &none, 0, rows, rows, 0, err));
        if (page_is_full(merger, leaf))
            CV_DO(cv_merge_end_page(merger, leaf, err));
        row_count -= (int64_t)rows;
    }
    return CV_OK;
}
