/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a merger: row groups are copied, or wait until they make a full one. What is known of
 * those that wait is kept, not their footers; their bytes are read when the group is written. */
#include "parquet/merge_int.h"

#include "parquet/footer_int.h"

#include <assert.h>
#include <stdlib.h>

enum cv_code cv_parquet_merger_open(struct cv_output *output, const struct cv_schema *schema,
                                    const struct cv_parquet_options *options,
                                    const struct cv_metrics_config *metrics,
                                    struct cv_parquet_merger **ret_merger, struct cv_error *err)
{
    struct cv_parquet_writer *writer;
    struct cv_parquet_merger *merger;

    CV_DO(cv_parquet_writer_open(output, schema, options, metrics, &writer, err));
    merger = cv_alloc(sizeof *merger);
    merger->writer = writer;
    merger->decompressor = cv_decompressor_new();
    merger->file_leaves =
        cv_realloc_array(NULL, writer->leaf_count + 1, sizeof *merger->file_leaves);
    *ret_merger = merger;
    return CV_OK;
}

static void merger_free(struct cv_parquet_merger *merger)
{
    for (size_t i = 0; i < merger->source_count; i++) {
        cv_buf_release(&merger->sources[i].piece);
        free(merger->sources[i].map);
    }
    free(merger->sources);
    free(merger->file_leaves);
    cv_decompressor_free(merger->decompressor);
    cv_arena_release(&merger->pending);
    cv_arena_release(&merger->column);
    cv_buf_release(&merger->spare);
    cv_buf_release(&merger->plain);
    cv_buf_release(&merger->definitions);
    cv_buf_release(&merger->repetitions);
    cv_buf_release(&merger->indices);
    cv_buf_release(&merger->scratch);
    cv_dictionary_release(&merger->raw);
    free(merger);
}

void cv_parquet_merger_abort(struct cv_parquet_merger *merger)
{
    if (!merger)
        return;
    cv_parquet_writer_abort(merger->writer);
    merger_free(merger);
}

int64_t cv_parquet_merger_length(const struct cv_parquet_merger *merger)
{
    return cv_parquet_writer_length(merger->writer);
}

size_t cv_parquet_merger_memory(const struct cv_parquet_merger *merger)
{
    return merger->pending.bytes + merger->column.bytes + merger->kept_bytes + merger->map_bytes +
           merger->spare.capacity + merger->plain.capacity + merger->definitions.capacity +
           merger->repetitions.capacity + merger->indices.capacity +
           merger->writer->column_indexes.capacity + merger->writer->offset_indexes.capacity +
           merger->writer->plan.bytes;
}

/* The row groups that wait, as one. */
static enum cv_code write_pending(struct cv_parquet_merger *merger, struct cv_error *err)
{
    struct cv_parquet_writer *writer = merger->writer;
    struct cv_group_meta *group;

    if (merger->source_count == 0)
        return CV_OK;
    CV_DO(cv_group_begin(writer, merger->pending_rows, &group, err));
    for (size_t i = 0; i < writer->leaf_count; i++)
        CV_DO(cv_merge_column(merger, i, merger->sources, merger->source_count, &group->chunks[i],
                              err));
    CV_DO(cv_group_end(writer, group, err));
    merger->source_count = 0;
    merger->pending_rows = 0;
    merger->pending_bytes = 0;
    cv_arena_reset(&merger->pending);
    return CV_OK;
}

/* Column and offset indexes of the row groups, which lie together at the end of a file. */
struct indexes {
    struct cv_buf bytes;
    int64_t offset;
};

static void widen(int64_t offset, int32_t length, int64_t *start, int64_t *end)
{
    if (offset < 0 || length <= 0)
        return;
    *start = CV_MIN(*start, offset);
    *end = CV_MAX(*end, offset + length);
}

/* Without them, or where they are far apart, the new file has no bounds for the pages. */
static enum cv_code read_indexes(const struct cv_parquet_merger *merger, struct cv_store *store,
                                 const char *location, const struct cv_parquet_group *groups,
                                 size_t group_count, struct indexes *ret, struct cv_error *err)
{
    int64_t start = INT64_MAX;
    int64_t end = 0;

    for (size_t i = 0; i < group_count; i++)
        for (size_t j = 0; j < merger->writer->leaf_count; j++) {
            const struct cv_parquet_chunk *chunk;

            if (merger->file_leaves[j].number == CV_MERGE_MISSING)
                continue;
            chunk = &groups[i].chunks[merger->file_leaves[j].number];
            widen(chunk->column_index_offset, chunk->column_index_length, &start, &end);
            widen(chunk->offset_index_offset, chunk->offset_index_length, &start, &end);
        }
    ret->offset = start;
    if (end <= start || end - start > CV_MERGE_INDEX_BYTES)
        return CV_OK;
    return cv_store_read_range(store, location, start, (size_t)(end - start), &ret->bytes, err);
}

static struct cv_str index_of(const struct indexes *indexes, int64_t offset, int32_t length,
                              struct cv_arena *arena)
{
    if (offset < 0 || length <= 0 || indexes->bytes.length == 0)
        return (struct cv_str){NULL, 0};
    return (struct cv_str){
        cv_arena_copy(arena, indexes->bytes.data + (offset - indexes->offset), (size_t)length),
        (size_t)length};
}

static struct cv_str copy_bound(struct cv_str bound, struct cv_arena *arena)
{
    if (bound.ptr)
        bound.ptr = cv_arena_copy(arena, bound.ptr, bound.length);
    return bound;
}

/* The offset index is only of use where the chunk is copied. */
static void fill_chunk(const struct cv_parquet_node *node, const struct cv_parquet_chunk *from,
                       const struct indexes *indexes, bool copied, struct cv_arena *arena,
                       struct cv_merge_chunk *ret)
{
    const uint32_t dictionaries =
        (uint32_t)1 << CV_PARQUET_PLAIN_DICTIONARY | (uint32_t)1 << CV_PARQUET_RLE_DICTIONARY;

    *ret = (struct cv_merge_chunk){
        .definition_max = node->definition_max,
        .has_dictionary = from->dictionary_offset >= 0 || (from->encodings & dictionaries),
        .offset = cv_parquet_chunk_start(from),
        .length = from->packed_size,
        .value_count = from->value_count,
        .statistics = from->statistics,
        .ordered = cv_order_is_known(node, false),
    };
    ret->statistics.min = copy_bound(from->statistics.min, arena);
    ret->statistics.max = copy_bound(from->statistics.max, arena);
    if (ret->ordered)
        ret->column_index =
            index_of(indexes, from->column_index_offset, from->column_index_length, arena);
    if (copied)
        ret->offset_index =
            index_of(indexes, from->offset_index_offset, from->offset_index_length, arena);
}

/* What must be known of a row group to read it later. */
static struct cv_merge_source *add_source(struct cv_parquet_merger *merger, struct cv_store *store,
                                          const char *location,
                                          const struct cv_parquet_footer *footer,
                                          const struct cv_parquet_group *group,
                                          const struct indexes *indexes, bool copied)
{
    size_t leaf_count = merger->writer->leaf_count;
    struct cv_merge_source *source;

    cv_array_reserve(&merger->sources, &merger->source_capacity, merger->source_count + 1);
    source = &merger->sources[merger->source_count++];
    *source = (struct cv_merge_source){
        .store = store,
        .location = cv_arena_strdup(&merger->pending, location),
        .row_count = group->row_count,
        .chunks = cv_arena_array(&merger->pending, struct cv_merge_chunk, leaf_count),
    };
    for (size_t i = 0; i < leaf_count; i++) {
        uint32_t leaf = merger->file_leaves[i].number;
        struct cv_merge_chunk *chunk = &source->chunks[i];

        if (leaf == CV_MERGE_MISSING) {
            chunk->missing = true;
            chunk->value_count = group->row_count;
            chunk->statistics.null_count = group->row_count;
            continue;
        }
        fill_chunk(&footer->nodes[footer->leaves[leaf]], &group->chunks[leaf], indexes, copied,
                   &merger->pending, chunk);
        if (merger->file_leaves[i].level_map)
            chunk->level_map = cv_arena_copy(&merger->pending, merger->file_leaves[i].level_map,
                                             (size_t)chunk->definition_max + 1);
    }
    return source;
}

static bool pending_is_full(const struct cv_parquet_merger *merger)
{
    return merger->pending_bytes >= merger->writer->options.row_group_bytes ||
           merger->pending.bytes >= CV_MERGE_PENDING_BYTES;
}

/* A row group goes to the file at once, or waits. */
static enum cv_code add_group(struct cv_parquet_merger *merger, struct cv_store *store,
                              const char *location, const struct cv_parquet_footer *footer,
                              const struct cv_parquet_group *group, const struct indexes *indexes,
                              enum cv_merge_way way, struct cv_error *err)
{
    struct cv_parquet_writer *writer = merger->writer;
    int64_t limit = writer->options.row_group_bytes;
    int64_t bytes = cv_merge_group_bytes(group, merger->file_leaves, writer->leaf_count);
    bool levels_stay = cv_merge_levels_stay(merger->file_leaves, writer->leaf_count);
    bool large = cv_merge_is_large(bytes, limit) && levels_stay;

    if (group->row_count == 0)
        return CV_OK;
    if (way == CV_MERGE_COPY && !levels_stay)
        way = CV_MERGE_PAGES;
    if (merger->source_count &&
        (way == CV_MERGE_COPY || (merger->pending_bytes + bytes > limit &&
                                  cv_merge_is_large(merger->pending_bytes, limit))))
        CV_DO(write_pending(merger, err));
    if (way == CV_MERGE_COPY || (large && merger->source_count == 0)) {
        struct cv_merge_source *source =
            add_source(merger, store, location, footer, group, indexes, true);

        merger->source_count = 0;
        CV_DO(cv_merge_copy(merger, source, group, err));
        cv_arena_reset(&merger->pending);
        return CV_OK;
    }
    (void)add_source(merger, store, location, footer, group, indexes, false);
    merger->pending_rows += group->row_count;
    merger->pending_bytes += bytes;
    if (pending_is_full(merger))
        CV_DO(write_pending(merger, err));
    writer->buffered = (size_t)merger->pending_bytes;
    writer->group_rows = merger->pending_rows;
    return CV_OK;
}

/* Adds what the row groups hold to the metrics of the file. */
static enum cv_code add_figures(struct cv_parquet_merger *merger, struct cv_parquet_footer *footer,
                                const struct cv_file_metrics *known, size_t first_group,
                                size_t group_count, struct cv_error *err)
{
    for (size_t i = 0; i < merger->writer->leaf_count; i++) {
        struct cv_leaf *leaf = &merger->writer->leaves[i];
        uint32_t file_leaf = merger->file_leaves[i].number;
        struct cv_merge_figures figures;
        const char *reason;

        if (!cv_merge_figures(footer, file_leaf, first_group, group_count, known, leaf->field,
                              leaf->repeated, leaf->mode, &figures, &reason))
            return cv_fail(err, CV_UNSUPPORTED, "column %s: %s", leaf->path, reason);
        leaf->nan_count += figures.nan_count;
        cv_bounds_merge(&leaf->file_bounds, &figures.bounds, leaf->order);
        cv_bounds_release(&figures.bounds);
        for (size_t j = first_group; j < first_group + group_count; j++) {
            const struct cv_parquet_group *group = &footer->groups[j];
            bool missing = file_leaf == CV_MERGE_MISSING;
            const struct cv_parquet_chunk *chunk = missing ? NULL : &group->chunks[file_leaf];

            leaf->file_value_count += missing ? group->row_count : chunk->value_count;
            if (figures.null_count < 0)
                leaf->file_null_count += missing ? group->row_count : chunk->statistics.null_count;
        }
        if (figures.null_count >= 0)
            leaf->file_null_count += figures.null_count;
    }
    return CV_OK;
}

static enum cv_code add_groups(struct cv_parquet_merger *merger, struct cv_store *store,
                               const char *location, struct cv_parquet_footer *footer,
                               const struct cv_file_metrics *known, enum cv_merge_way way,
                               size_t first_group, size_t group_count, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf index_bytes = CV_BUF_INIT(0);
    struct indexes indexes = {.bytes = index_bytes};
    const struct cv_parquet_group *groups = footer->groups + first_group;
    const char *reason = "";
    enum cv_code code;

    if (!cv_merge_match(footer, merger->writer->schema, merger->file_leaves, &reason))
        return cv_fail(err, CV_UNSUPPORTED, "%s", reason);
    CV_DO(add_figures(merger, footer, known, first_group, group_count, err));
    code = read_indexes(merger, store, location, groups, group_count, &indexes, err);
    index_bytes = indexes.bytes; /* for the cleanup */
    CV_DO(code);
    for (size_t i = 0; i < group_count; i++)
        CV_DO(add_group(merger, store, location, footer, &groups[i], &indexes, way, err));
    return CV_OK;
}

enum cv_code cv_parquet_merger_add(struct cv_parquet_merger *merger, struct cv_store *store,
                                   const char *location, struct cv_parquet_footer *footer,
                                   const struct cv_file_metrics *known, enum cv_merge_way way,
                                   size_t first_group, size_t group_count, struct cv_error *err)
{
    enum cv_code code;

    assert(way != CV_MERGE_DECODE);
    assert(first_group <= footer->group_count && group_count <= footer->group_count - first_group);
    if (merger->broken)
        return cv_fail(err, CV_INTERNAL, "more for a Parquet file that failed before");
    code = add_groups(merger, store, location, footer, known, way, first_group, group_count, err);
    merger->broken = code != CV_OK;
    if (code != CV_OK)
        cv_context(err, "%s", location);
    return code;
}

enum cv_code cv_parquet_merger_close(struct cv_parquet_merger *merger, struct cv_arena *arena,
                                     struct cv_file_metrics *ret_metrics, struct cv_error *err)
{
    enum cv_code code =
        merger->broken ? cv_fail(err, CV_INTERNAL, "close of a Parquet file that failed before")
                       : write_pending(merger, err);
    struct cv_parquet_writer *writer = merger->writer;

    if (code != CV_OK) {
        cv_parquet_merger_abort(merger);
        return code;
    }
    writer->group_rows = 0;
    merger_free(merger);
    return cv_parquet_writer_close(writer, arena, ret_metrics, err);
}
