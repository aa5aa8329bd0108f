/* SPDX-License-Identifier: Apache-2.0
 *
 * Closes a row group: ends the open pages, puts each chunk's dictionary before its pages and hands
 * all to the file, then keeps of the chunk only what the footer says. */
#include "parquet/writer_int.h"

#include "parquet/rle.h"

#include <assert.h>
#include <stdlib.h>

/* Values that a chunk must have before its lack of a dictionary is remembered. */
#define REMEMBER_VALUES 1000

enum cv_code cv_parquet_out_flush(struct cv_parquet_writer *writer, struct cv_error *err)
{
    struct cv_buf *out = &writer->workspace->out;

    if (out->length == 0)
        return CV_OK;
    CV_DO(cv_output_write(writer->output, out->data, out->length, err));
    cv_buf_clear(out);
    return CV_OK;
}

enum cv_code cv_parquet_out(struct cv_parquet_writer *writer, const void *bytes, size_t length,
                            struct cv_error *err)
{
    struct cv_buf *out = &writer->workspace->out;

    writer->position += (int64_t)length;
    if (length == 0)
        return CV_OK;
    if (length > CV_PARQUET_OUT_BYTES / 4 || out->length + length > CV_PARQUET_OUT_BYTES)
        CV_DO(cv_parquet_out_flush(writer, err));
    if (length > CV_PARQUET_OUT_BYTES / 4)
        return cv_output_write(writer->output, bytes, length, err);
    cv_buf_append(out, bytes, length);
    return CV_OK;
}

void cv_leaf_start_chunk(struct cv_parquet_writer *writer, struct cv_leaf *leaf)
{
    leaf->dictionary_on = leaf->physical != CV_PARQUET_BOOLEAN &&
                          writer->options.dictionary_bytes > 0 && leaf->plain_chunks == 0;
    leaf->started_plain = !leaf->dictionary_on;
    leaf->dictionary_fixed = false;
    leaf->meta = (struct cv_chunk_meta){0};
    leaf->page_count = 0;
    leaf->page_bytes = 0;
    leaf->chunk_rows = 0;
    leaf->dictionary_used = 0;
    leaf->ascending = true;
    leaf->descending = true;
    leaf->index_lost = false;
    leaf->places_lost = false;
    cv_dictionary_clear(&leaf->dictionary);
    cv_bounds_clear(&leaf->bounds);
    cv_bounds_clear(&leaf->previous);
}

size_t cv_leaf_buffered(const struct cv_leaf *leaf)
{
    size_t bytes = leaf->page_bytes;

    if (leaf->dictionary_on)
        bytes += leaf->page.value_count * cv_bit_width(leaf->dictionary.count) / 8;
    else
        bytes += leaf->page.values.length;
    if (leaf->dictionary_on || cv_chunk_dictionary_pages(&leaf->meta))
        bytes += leaf->dictionary.values.length;
    return bytes;
}

static size_t bounds_memory(const struct cv_bounds *bounds)
{
    return bounds->min_bytes.capacity + bounds->max_bytes.capacity;
}

size_t cv_leaf_memory(const struct cv_leaf *leaf)
{
    const struct cv_open_page *page = &leaf->page;

    return page->values.capacity + page->index_capacity * sizeof *page->indices +
           page->definitions.capacity + page->repetitions.capacity +
           cv_dictionary_memory(&leaf->dictionary) + leaf->page_bytes +
           leaf->page_capacity * sizeof *leaf->pages + bounds_memory(&page->bounds) +
           bounds_memory(&leaf->bounds) + bounds_memory(&leaf->previous) +
           bounds_memory(&leaf->file_bounds);
}

static void free_pages(struct cv_leaf *leaf)
{
    for (size_t i = 0; i < leaf->page_count; i++)
        free(leaf->pages[i].bytes);
    leaf->page_count = 0;
    leaf->page_bytes = 0;
}

void cv_leaf_release_buffers(struct cv_leaf *leaf)
{
    struct cv_open_page *page = &leaf->page;

    assert(page->level_count == 0);
    cv_buf_release(&page->values);
    cv_buf_release(&page->definitions);
    cv_buf_release(&page->repetitions);
    free(page->indices);
    page->indices = NULL;
    page->index_capacity = 0;
    cv_dictionary_release(&leaf->dictionary);
}

void cv_leaf_release(struct cv_leaf *leaf)
{
    leaf->page.level_count = 0;
    free_pages(leaf);
    free(leaf->pages);
    leaf->pages = NULL;
    leaf->page_capacity = 0;
    cv_leaf_release_buffers(leaf);
    cv_bounds_release(&leaf->page.bounds);
    cv_bounds_release(&leaf->bounds);
    cv_bounds_release(&leaf->previous);
    cv_bounds_release(&leaf->file_bounds);
}

static struct cv_str statistics_bound(struct cv_parquet_writer *writer, const struct cv_leaf *leaf,
                                      bool upper, bool *ret_exact)
{
    struct cv_buf *bound = &writer->workspace->bound;

    cv_bounds_write_parquet(&leaf->bounds, &leaf->field->type, upper, CV_PARQUET_STATISTICS_BYTES,
                            bound, ret_exact);
    return (struct cv_str){cv_arena_copy(&writer->plan, bound->data, bound->length), bound->length};
}

/* Adds the chunk to the file's figures of the column. */
static void sum_up(struct cv_leaf *leaf)
{
    leaf->file_value_count += leaf->meta.value_count;
    leaf->file_null_count += leaf->meta.null_count;
    cv_bounds_merge(&leaf->file_bounds, &leaf->bounds, leaf->order);
}

/* A dictionary that did not pay will not pay for the next chunk either. */
static void remember(struct cv_leaf *leaf)
{
    bool useless = !leaf->started_plain && !leaf->dictionary_on &&
                   cv_chunk_dictionary_pages(&leaf->meta) * 2 < leaf->page_count;

    if (useless && leaf->meta.value_count - leaf->meta.null_count >= REMEMBER_VALUES)
        leaf->plain_chunks = CV_PARQUET_PLAIN_CHUNKS;
    else if (leaf->started_plain && leaf->plain_chunks)
        leaf->plain_chunks--;
    if (leaf->packing_chunks)
        leaf->packing_chunks--;
    else
        leaf->packing = CV_PACKING_UNDECIDED;
}

enum cv_code cv_chunk_end(struct cv_parquet_writer *writer, struct cv_leaf *leaf, int64_t start,
                          struct cv_chunk_meta *ret_meta, struct cv_error *err)
{
    leaf->meta.packed_size = writer->position - start;
    leaf->file_column_size += leaf->meta.packed_size;
    if (leaf->bounds.present) {
        leaf->meta.has_bounds = true;
        leaf->meta.min = statistics_bound(writer, leaf, false, &leaf->meta.min_exact);
        leaf->meta.max = statistics_bound(writer, leaf, true, &leaf->meta.max_exact);
    }
    cv_page_index_write(writer, leaf, &leaf->meta);
    CV_DO(cv_buf_check(&writer->offset_indexes, "the page indexes", err));
    CV_DO(cv_buf_check(&writer->column_indexes, "the page indexes", err));
    *ret_meta = leaf->meta;
    free_pages(leaf);
    cv_leaf_start_chunk(writer, leaf);
    return CV_OK;
}

static enum cv_code write_chunk(struct cv_parquet_writer *writer, struct cv_leaf *leaf,
                                struct cv_chunk_meta *ret_meta, struct cv_error *err)
{
    struct cv_parquet_workspace *work = writer->workspace;
    int64_t start = writer->position;

    if (cv_chunk_dictionary_pages(&leaf->meta)) {
        CV_DO(cv_page_write_dictionary(writer, leaf, err));
        leaf->meta.dictionary_offset = writer->position;
        CV_DO(cv_parquet_out(writer, work->header.data, work->header.length, err));
        CV_DO(cv_parquet_out(writer, work->packed.data, work->packed.length, err));
    }
    leaf->meta.data_offset = writer->position;
    for (size_t i = 0; i < leaf->page_count; i++)
        CV_DO(cv_parquet_out(writer, leaf->pages[i].bytes, leaf->pages[i].length, err));
    sum_up(leaf);
    remember(leaf);
    return cv_chunk_end(writer, leaf, start, ret_meta, err);
}

enum cv_code cv_group_begin(struct cv_parquet_writer *writer, int64_t row_count,
                            struct cv_group_meta **ret_group, struct cv_error *err)
{
    struct cv_group_meta *group;

    if (writer->position == 0)
        CV_DO(cv_parquet_out(writer, "PAR1", 4, err));
    cv_array_reserve(&writer->groups, &writer->group_capacity, writer->group_count + 1);
    group = &writer->groups[writer->group_count++];
    *group = (struct cv_group_meta){
        .row_count = row_count,
        .offset = writer->position,
        .chunks = cv_arena_array(&writer->plan, struct cv_chunk_meta, writer->leaf_count),
    };
    *ret_group = group;
    return CV_OK;
}

enum cv_code cv_group_end(struct cv_parquet_writer *writer, struct cv_group_meta *group,
                          struct cv_error *err)
{
    for (size_t i = 0; i < writer->leaf_count; i++) {
        group->plain_size += group->chunks[i].plain_size;
        group->packed_size += group->chunks[i].packed_size;
    }
    assert(writer->position - group->offset == group->packed_size);
    CV_DO(cv_parquet_out_flush(writer, err));
    writer->row_count += group->row_count;
    writer->group_rows = 0;
    writer->buffered = 0;
    cv_arena_reset(&writer->group);
    return CV_OK;
}

enum cv_code cv_group_write(struct cv_parquet_writer *writer, struct cv_error *err)
{
    struct cv_group_meta *group;

    if (writer->group_rows == 0)
        return CV_OK;
    for (size_t i = 0; i < writer->leaf_count; i++) {
        CV_DO(cv_page_finish(writer, &writer->leaves[i], err));
        /* Every leaf has told each row of the group, or the file would be corrupt. */
        assert(writer->leaves[i].chunk_rows == (size_t)writer->group_rows);
    }
    CV_DO(cv_group_begin(writer, writer->group_rows, &group, err));
    for (size_t i = 0; i < writer->leaf_count; i++)
        CV_DO(write_chunk(writer, &writer->leaves[i], &group->chunks[i], err));
    return cv_group_end(writer, group, err);
}
