/* SPDX-License-Identifier: Apache-2.0
 *
 * One column of a row group: the dictionaries of all its sources first, since the united one comes
 * before the first page, then the pages of one source after the other. */
#include "parquet/merge_int.h"

static enum cv_code unite_all(struct cv_parquet_merger *merger, struct cv_leaf *leaf, size_t number,
                              struct cv_merge_source *sources, size_t source_count,
                              struct cv_error *err)
{
    for (size_t i = 0; i < source_count; i++) {
        struct cv_merge_source *source = &sources[i];
        const struct cv_merge_chunk *chunk = &source->chunks[number];

        source->dictionary_length = 0;
        source->entry_count = 0;
        source->united = false;
        source->identity = false;
        if (chunk->missing || !chunk->has_dictionary || chunk->value_count == 0)
            continue;
        CV_TRY(cv_merge_unite(merger, leaf, source, chunk, err), err, "%s: column %s",
               source->location, leaf->path);
        if (merger->kept_bytes > CV_MERGE_KEPT_BYTES)
            cv_merge_forget(merger, source);
    }
    return CV_OK;
}

static enum cv_code write_dictionary(struct cv_parquet_writer *writer, struct cv_leaf *leaf,
                                     struct cv_error *err)
{
    struct cv_parquet_workspace *work = writer->workspace;

    leaf->dictionary_used = leaf->dictionary.count;
    leaf->dictionary_fixed = true;
    leaf->dictionary_on = false;
    if (leaf->dictionary.count == 0)
        return CV_OK;
    CV_DO(cv_page_write_dictionary(writer, leaf, err));
    leaf->meta.dictionary_offset = writer->position;
    leaf->meta.encodings |= (uint32_t)1 << CV_PARQUET_PLAIN_DICTIONARY;
    CV_DO(cv_parquet_out(writer, work->header.data, work->header.length, err));
    return cv_parquet_out(writer, work->packed.data, work->packed.length, err);
}

static enum cv_code take_source(struct cv_parquet_merger *merger, struct cv_leaf *leaf,
                                struct cv_merge_source *source, const struct cv_merge_chunk *chunk,
                                struct cv_error *err)
{
    size_t before = leaf->chunk_rows + leaf->page.row_count;

    if (chunk->missing)
        return cv_merge_join_nulls(merger, leaf, source->row_count, err);
    CV_DO(cv_merge_open_dictionary(merger, leaf, source, chunk, err));
    CV_DO(cv_merge_pages(merger, leaf, source, chunk, chunk->offset + source->dictionary_length,
                         err));
    cv_merge_drop_map(merger, source);
    cv_merge_forget(merger, source);
    if (leaf->chunk_rows + leaf->page.row_count - before != (size_t)source->row_count)
        return cv_fail(err, CV_FORMAT, "its pages do not hold the %lld rows of the row group",
                       (long long)source->row_count);
    return CV_OK;
}

/* The statistics of the chunk, from those of its sources; without one of them there are none. */
static void sum_statistics(struct cv_leaf *leaf, size_t number,
                           const struct cv_merge_source *sources, size_t source_count,
                           bool *ret_min_exact, bool *ret_max_exact)
{
    bool complete = true;

    cv_bounds_clear(&leaf->bounds);
    leaf->meta.value_count = 0;
    leaf->meta.null_count = 0;
    for (size_t i = 0; i < source_count; i++) {
        const struct cv_merge_chunk *chunk = &sources[i].chunks[number];
        const struct cv_parquet_statistics *statistics = &chunk->statistics;

        leaf->meta.value_count += chunk->value_count;
        if (statistics->null_count < 0 || leaf->meta.null_count < 0)
            leaf->meta.null_count = -1;
        else
            leaf->meta.null_count += statistics->null_count;
        complete =
            complete && cv_merge_take_statistics(statistics, chunk->value_count, &leaf->field->type,
                                                 &leaf->bounds, ret_min_exact, ret_max_exact);
    }
    if (!complete)
        cv_bounds_clear(&leaf->bounds);
}

enum cv_code cv_merge_column(struct cv_parquet_merger *merger, size_t leaf_number,
                             struct cv_merge_source *sources, size_t source_count,
                             struct cv_chunk_meta *ret_meta, struct cv_error *err)
{
    struct cv_parquet_writer *writer = merger->writer;
    struct cv_leaf *leaf = &writer->leaves[leaf_number];
    int64_t start = writer->position;
    bool min_exact = true;
    bool max_exact = true;

    CV_DO(unite_all(merger, leaf, leaf_number, sources, source_count, err));
    CV_DO(write_dictionary(writer, leaf, err));
    leaf->meta.data_offset = writer->position;
    for (size_t i = 0; i < source_count; i++)
        CV_TRY(take_source(merger, leaf, &sources[i], &sources[i].chunks[leaf_number], err), err,
               "%s: column %s", sources[i].location, leaf->path);
    CV_DO(cv_merge_end_page(merger, leaf, err));
    sum_statistics(leaf, leaf_number, sources, source_count, &min_exact, &max_exact);
    CV_DO(cv_chunk_end(writer, leaf, start, ret_meta, err));
    ret_meta->min_exact &= min_exact;
    ret_meta->max_exact &= max_exact;
    return CV_OK;
}
