/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the Parquet merger. Row groups of the inputs flow
 *
 *   merge.c → merge_copy.c (large ones, byte by byte)
 *           → they wait until together they make a full one, then column by column
 *             merge_column.c (dictionaries united) → merge_page.c (pages copied, or their indices
 *             renumbered) or merge_join.c (small pages joined in the writer's open page)
 *
 * and what is written is noted in the leaves of a writer, which makes indexes, footer and metrics
 * of it. merge_way.c tells beforehand whether it can be done, merge_metrics.c with what figures. */
#ifndef CALVE_PARQUET_MERGE_INT_H
#define CALVE_PARQUET_MERGE_INT_H

#include "parquet/merge.h"
#include "parquet/rle.h"
#include "parquet/writer_int.h"

#define CV_MERGE_MISSING UINT32_MAX /* instead of a leaf of the file: it lacks the column */
/* A chunk is read by so much at a time (a page of more makes it more). */
#define CV_MERGE_READ_BYTES ((size_t)2 << 20)
/* Of one column: what was read for the dictionaries and is kept for the pages. */
#define CV_MERGE_KEPT_BYTES ((size_t)24 << 20)
/* Of one column: numbers of dictionary entries that are kept for the pages. */
#define CV_MERGE_MAP_BYTES ((size_t)16 << 20)
/* What is known of row groups that wait (places, statistics, column indexes). */
#define CV_MERGE_PENDING_BYTES ((size_t)24 << 20)
/* Column indexes of one file. */
#define CV_MERGE_INDEX_BYTES ((int64_t)8 << 20)
/* A page below this part of the page limits, by rows and by bytes, is joined with others. */
#define CV_MERGE_SMALL_PART 8
/* Levels of a page that must be taken apart. */
#define CV_MERGE_LEVELS_MAX ((size_t)1 << 27)

/* A leaf of the file for one of the writer. */
struct cv_merge_leaf {
    uint32_t number; /* or CV_MERGE_MISSING */
    /* The writer's level for each definition level of the file, where a column
     * that the schema has as optional is required in the file; NULL = they are
     * the same. */
    const uint8_t *level_map;
};

/* A column chunk of a row group that waits. */
struct cv_merge_chunk {
    bool missing;             /* all null */
    uint8_t definition_max;   /* in the file */
    const uint8_t *level_map; /* see cv_merge_leaf */
    bool has_dictionary;
    int64_t offset; /* in its file */
    int64_t length;
    int64_t value_count; /* levels */
    struct cv_parquet_statistics statistics;
    bool ordered;               /* bounds of its pages are in Iceberg's order */
    struct cv_str column_index; /* length 0 = none */
    struct cv_str offset_index; /* the same; only of a row group that is copied */
};

/* A row group that waits. */
struct cv_merge_source {
    struct cv_store *store;
    const char *location;
    int64_t row_count;
    struct cv_merge_chunk *chunks; /* one per leaf of the writer */

    /* While one column is merged: what is in memory of the chunk, and its dictionary's place in the
     * united one. */
    struct cv_buf piece;
    int64_t piece_offset;
    int64_t dictionary_length; /* of its page; 0 = none */
    bool united;
    uint32_t entry_count;
    uint32_t *map; /* by entry; NULL = not united, or not kept */
    bool identity; /* each entry has the number that it had */
};

/* As the writer measures it: packed. */
static inline bool cv_merge_is_large(int64_t bytes, int64_t row_group_bytes)
{
    return bytes >= row_group_bytes / 2;
}

struct cv_parquet_merger {
    struct cv_parquet_writer *writer;
    bool broken;
    struct cv_merge_leaf *file_leaves; /* of the file being added, by leaf of the writer */
    struct cv_arena pending;
    struct cv_merge_source *sources;
    size_t source_count;
    size_t source_capacity;
    int64_t pending_rows;
    int64_t pending_bytes; /* packed */

    struct cv_arena column; /* column indexes of one chunk, bounds of its pages */
    size_t kept_bytes;
    size_t map_bytes;
    struct cv_decompressor *decompressor;
    struct cv_buf spare; /* a piece to be used again */
    struct cv_buf plain; /* a page, unpacked */
    struct cv_buf definitions;
    struct cv_buf repetitions;
    struct cv_buf indices;
    struct cv_dictionary raw; /* a dictionary that is not united: values and starts only */
    struct cv_buf scratch;
};

/* merge_way.c: the leaves of the file that make up the schema; false, with a reason, when another
 * Parquet schema is in the way. `leaf_count` is that of the schema. */
bool cv_merge_match(struct cv_parquet_footer *footer, const struct cv_schema *schema,
                    struct cv_merge_leaf *ret_leaves, const char **ret_reason);
/* Packed bytes of the columns that the schema has. */
int64_t cv_merge_group_bytes(const struct cv_parquet_group *group,
                             const struct cv_merge_leaf *leaves, size_t leaf_count);
/* Whether pages of the file have the writer's levels. */
bool cv_merge_levels_stay(const struct cv_merge_leaf *leaves, size_t leaf_count);

/* merge_metrics.c: what some row groups add to the metrics of a column. */
struct cv_merge_figures {
    int64_t null_count; /* -1 = in the row groups' own counts */
    int64_t nan_count;
    struct cv_bounds bounds;
};
/* False, with a reason, when they are not known exactly. `file_leaf` may be CV_MERGE_MISSING. */
bool cv_merge_figures(struct cv_parquet_footer *footer, uint32_t file_leaf, size_t first_group,
                      size_t group_count, const struct cv_file_metrics *known,
                      const struct cv_field *field, bool repeated, struct cv_metrics_mode mode,
                      struct cv_merge_figures *ret, const char **ret_reason);
/* Adds the statistics of a chunk to the bounds of several; false when it has values and no bounds.
 */
bool cv_merge_take_statistics(const struct cv_parquet_statistics *statistics, int64_t value_count,
                              const struct cv_type *type, struct cv_bounds *bounds, bool *min_exact,
                              bool *max_exact);

/* merge_read.c: bytes of a chunk, with CV_RLE_SLACK behind them, valid until the next call for this
 * source. */
enum cv_code cv_merge_bytes(struct cv_parquet_merger *merger, struct cv_merge_source *source,
                            const struct cv_merge_chunk *chunk, int64_t offset, size_t length,
                            const uint8_t **ret_bytes, struct cv_error *err);
void cv_merge_forget(struct cv_parquet_merger *merger, struct cv_merge_source *source);

/* A page that is in memory. */
struct cv_merge_page {
    struct cv_page_header header;
    uint8_t definition_max; /* of its levels */
    const uint8_t *level_map;
    const uint8_t *bytes; /* header and body */
    size_t length;
    size_t header_length;
    /* Unpacked: parts of merger->plain or of the bytes. */
    bool unpacked;
    const uint8_t *repetitions, *definitions, *values;
    size_t repetition_bytes, definition_bytes, value_bytes;
    bool bit_packed; /* levels in the encoding of old */
};
/* The page at `offset` of the chunk, header and body. */
enum cv_code cv_merge_read_page(struct cv_parquet_merger *merger, struct cv_merge_source *source,
                                const struct cv_merge_chunk *chunk, int64_t offset,
                                struct cv_merge_page *ret_page, struct cv_error *err);
enum cv_code cv_merge_unpack(struct cv_parquet_merger *merger, const struct cv_leaf *leaf,
                             struct cv_merge_page *page, struct cv_error *err);

/* merge_dictionary.c: reads the dictionary page at the start of the chunk, if there is one, and
 * unites it with the leaf's unless that would grow past its limit. */
enum cv_code cv_merge_unite(struct cv_parquet_merger *merger, struct cv_leaf *leaf,
                            struct cv_merge_source *source, const struct cv_merge_chunk *chunk,
                            struct cv_error *err);
/* Makes ready what the pages of the chunk need: its map, or merger->raw where it is not united. */
enum cv_code cv_merge_open_dictionary(struct cv_parquet_merger *merger, struct cv_leaf *leaf,
                                      struct cv_merge_source *source,
                                      const struct cv_merge_chunk *chunk, struct cv_error *err);

void cv_merge_drop_map(struct cv_parquet_merger *merger, struct cv_merge_source *source);

/* merge_page.c: the data pages of a chunk from `offset` on. */
enum cv_code cv_merge_pages(struct cv_parquet_merger *merger, struct cv_leaf *leaf,
                            struct cv_merge_source *source, const struct cv_merge_chunk *chunk,
                            int64_t offset, struct cv_error *err);

/* merge_join.c: takes the levels and values of an unpacked page into the leaf's open page, which is
 * ended when it is full. `bounds` are the page's, or NULL. */
enum cv_code cv_merge_join(struct cv_parquet_merger *merger, struct cv_leaf *leaf,
                           const struct cv_merge_source *source, const struct cv_merge_page *page,
                           const struct cv_bounds *bounds, struct cv_error *err);
/* The writer's definition levels of an unpacked page, in merger->definitions;
 * how many values are present. Only for a leaf with such levels. */
enum cv_code cv_merge_read_definitions(struct cv_parquet_merger *merger, const struct cv_leaf *leaf,
                                       const struct cv_merge_page *page, size_t *ret_present,
                                       struct cv_error *err);
enum cv_code cv_merge_join_nulls(struct cv_parquet_merger *merger, struct cv_leaf *leaf,
                                 int64_t row_count, struct cv_error *err);
/* Ends the open page of the leaf and writes it. */
enum cv_code cv_merge_end_page(struct cv_parquet_merger *merger, struct cv_leaf *leaf,
                               struct cv_error *err);

/* merge_column.c: one leaf of the row group being written. */
enum cv_code cv_merge_column(struct cv_parquet_merger *merger, size_t leaf_number,
                             struct cv_merge_source *sources, size_t source_count,
                             struct cv_chunk_meta *ret_meta, struct cv_error *err);

/* merge_copy.c: a whole row group; `source` tells its places as for a merge. */
enum cv_code cv_merge_copy(struct cv_parquet_merger *merger, struct cv_merge_source *source,
                           const struct cv_parquet_group *group, struct cv_error *err);

#endif
