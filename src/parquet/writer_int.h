/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the Parquet writer. Rows flow
 *
 *   writer.c → shred.c (levels and present values per leaf) → leaf.c (statistics, dictionary or
 *   PLAIN, into the open page) → page.c (encoding, compression) → chunk.c (row group to the file)
 *   → footer.c (indexes, footer) and metrics.c (Iceberg's metrics)
 *
 * A *leaf* is a primitive field at any depth, a *chunk* its part of one row group. */
#ifndef CALVE_PARQUET_WRITER_INT_H
#define CALVE_PARQUET_WRITER_INT_H

#include "codec/thrift.h"
#include "parquet/bounds.h"
#include "parquet/dictionary.h"
#include "parquet/footer.h"
#include "parquet/page_header.h"
#include "parquet/writer.h"

#define CV_PARQUET_STEP_ROWS        1000  /* rows that pass through a column at a time */
#define CV_PARQUET_BLOCK_VALUES     1024  /* values that a leaf takes at a time */
#define CV_PARQUET_SLICE_ROWS       16000 /* rows between two looks at the size of the row group */
#define CV_PARQUET_INDEX_BYTES      64    /* a bound in the page index, as parquet-mr cuts it */
#define CV_PARQUET_STATISTICS_BYTES 512   /* a bound in the statistics of a chunk */
#define CV_PARQUET_PAGE_HEADROOM    64    /* before the values of the open page, for short levels */
#define CV_PARQUET_OUT_BYTES        ((size_t)1 << 18)
#define CV_PARQUET_ENCODINGS        10 /* CV_PARQUET_PLAIN … CV_PARQUET_BYTE_STREAM_SPLIT */
/* Chunks that go without a dictionary after one that did not pay, or keep their way of compression,
 * before the next try. */
#define CV_PARQUET_PLAIN_CHUNKS   15
#define CV_PARQUET_PACKING_CHUNKS 15

/* How a leaf's pages are compressed. With zstd and no level asked for, the first full page of a
 * chunk is tried in every way and the rest of the chunk goes the one that gave the fewest bytes. */
enum cv_packing {
    CV_PACKING_SHORT, /* level 1, small table: texts without repetition (identifiers) */
    CV_PACKING_WORDS, /* level 1, short matches: numbers that share some of their bytes */
    CV_PACKING_LONG,  /* level 3: texts that repeat; the only way for other codecs */
    CV_PACKING_COUNT,
    CV_PACKING_UNDECIDED = CV_PACKING_COUNT,
};

/* A finished page: header and compressed body in one allocation. */
struct cv_page {
    uint8_t *bytes; /* NULL when it is in the file already */
    size_t length;
    size_t first_row;   /* in the row group */
    int64_t null_count; /* -1 = not known */
    bool has_bounds;
    bool all_null;
    struct cv_str min; /* cut to CV_PARQUET_INDEX_BYTES, in the writer's group arena */
    struct cv_str max;
};

/* What the footer says about a chunk that is in the file. */
struct cv_chunk_meta {
    int64_t value_count;
    int64_t null_count; /* -1 = not known */
    int64_t plain_size; /* headers included */
    int64_t packed_size;
    int64_t data_offset;
    int64_t dictionary_offset; /* 0 = none */
    uint32_t encodings; /* of data pages and their values: a bit per enum cv_parquet_encoding */
    /* Data pages v1 and v2 by encoding; all 0 = not counted. */
    uint32_t page_counts[2][CV_PARQUET_ENCODINGS];
    int64_t column_index_offset; /* into the writer's index buffers; length 0 = none */
    int32_t column_index_length;
    int64_t offset_index_offset;
    int32_t offset_index_length;
    bool has_bounds;
    bool min_exact;
    bool max_exact;
    struct cv_str min; /* in the writer's file arena */
    struct cv_str max;
};

static inline void cv_chunk_count_page(struct cv_chunk_meta *meta, bool v2,
                                       enum cv_parquet_encoding encoding)
{
    meta->encodings |= (uint32_t)1 << encoding;
    meta->page_counts[v2][encoding]++;
}

/* Data pages with indices into the dictionary. */
static inline uint32_t cv_chunk_dictionary_pages(const struct cv_chunk_meta *meta)
{
    return meta->page_counts[0][CV_PARQUET_PLAIN_DICTIONARY] +
           meta->page_counts[0][CV_PARQUET_RLE_DICTIONARY] +
           meta->page_counts[1][CV_PARQUET_PLAIN_DICTIONARY] +
           meta->page_counts[1][CV_PARQUET_RLE_DICTIONARY];
}

struct cv_group_meta {
    int64_t row_count;
    int64_t offset;
    int64_t plain_size;
    int64_t packed_size;
    struct cv_chunk_meta *chunks; /* one per leaf, in the file arena */
};

struct cv_open_page {
    struct cv_buf values; /* PLAIN, after the headroom */
    uint32_t *indices;    /* instead, while the dictionary is on */
    size_t index_capacity;
    struct cv_buf definitions; /* empty = all at the maximum; else a byte or a bit per level */
    struct cv_buf repetitions;
    size_t row_count;
    size_t level_count;
    size_t value_count;
    size_t plain_bytes; /* of the values, were they PLAIN */
    struct cv_bounds bounds;
};

struct cv_leaf {
    const struct cv_field *field;
    const char *path;   /* dotted, for messages */
    const char **names; /* path_in_schema, the repeated groups included */
    size_t name_count;
    enum cv_parquet_type physical;
    enum cv_bounds_order order;
    size_t width; /* bytes of a PLAIN value; 0 for boolean and byte arrays */
    uint8_t definition_max;
    uint8_t repetition_max;
    struct cv_metrics_mode mode;
    bool repeated;        /* below a list or map */
    bool definition_bits; /* levels are 0 and 1 only */

    struct cv_open_page page;

    bool dictionary_on;
    bool dictionary_fixed; /* it is in the file already: nothing may be added or given up */
    bool started_plain;    /* the chunk never had a dictionary */
    struct cv_dictionary dictionary;
    uint32_t dictionary_used; /* entries that finished pages refer to */
    struct cv_page *pages;
    size_t page_count;
    size_t page_capacity;
    size_t page_bytes;         /* of the finished pages */
    size_t chunk_rows;         /* in the finished pages */
    struct cv_chunk_meta meta; /* being summed */
    struct cv_bounds bounds;   /* of the chunk */
    struct cv_bounds previous; /* of the last page that had some, for the boundary order */
    bool ascending;
    bool descending;
    bool index_lost;  /* a page has values but no bounds: there can be no column index */
    bool places_lost; /* a page begins inside a row: there can be no offset index either */

    uint8_t plain_chunks; /* chunks to go without a dictionary */
    enum cv_packing packing;
    uint8_t packing_chunks; /* chunks that `packing` is good for */
    int64_t file_column_size;
    int64_t file_value_count;
    int64_t file_null_count;
    int64_t nan_count;
    struct cv_bounds file_bounds;
};

/* A field of the schema with its levels when it is present. */
struct cv_node {
    const struct cv_field *field;
    const char *path;
    uint8_t definition;
    uint8_t repetition;
    struct cv_node *children;
    size_t child_count;
    struct cv_leaf *leaf; /* primitive fields */
};

/* Rows on their way down the schema: one slot per level that the leaves will see. */
struct cv_slots {
    uint8_t *repetitions;
    uint8_t *definitions;
    uint32_t *positions; /* in the node's column; CV_SLOT_ENDED where the value ended above */
    size_t count;
    size_t capacity;
};

#define CV_SLOT_ENDED UINT32_MAX

/* What one leaf gets of some rows. */
struct cv_shred {
    const struct cv_column *column;
    size_t row_count;
    size_t level_count;
    const uint8_t *definitions; /* NULL = all at the maximum, or as in validity */
    const uint8_t *validity;    /* of the column: a bit per level from bit `start` */
    const uint8_t *repetitions; /* NULL when the leaf is not repeated */
    const uint32_t *positions;  /* of the present values; NULL = start, start + 1, … */
    size_t start;
    size_t value_count;
};

struct cv_workspace_column {
    int32_t field_id;
    uint8_t plain_chunks;
    uint8_t packing_chunks;
    enum cv_packing packing;
};

struct cv_parquet_workspace {
    struct cv_compressor *compressors[CV_PACKING_COUNT]; /* made for codec and level below */
    enum cv_codec codec;
    int32_t level;
    struct cv_buf body;   /* a page before compression, where it must be put together */
    struct cv_buf packed; /* after it */
    struct cv_buf trial;
    struct cv_buf header;
    struct cv_buf lengths;
    struct cv_buf bound;
    struct cv_buf out; /* gathers small pieces on their way to the file */
    struct cv_slots slots[CV_DEPTH_MAX + 2];
    uint32_t positions[CV_PARQUET_STEP_ROWS];
    uint8_t definitions[CV_PARQUET_STEP_ROWS];
    uint8_t marks[CV_PARQUET_BLOCK_VALUES];      /* booleans of a block */
    cv_wide_int words[CV_PARQUET_BLOCK_VALUES];  /* gathered values of a block, of any width */
    uint8_t bytes[CV_PARQUET_BLOCK_VALUES * 16]; /* big-endian decimals of a block */
    struct cv_str spans[CV_PARQUET_BLOCK_VALUES];
    struct cv_buf used;                  /* which dictionary entries a page holds */
    struct cv_workspace_column *columns; /* by leaf number of the last file */
    size_t column_count;
};

struct cv_parquet_writer {
    struct cv_output *output;
    const struct cv_schema *schema;
    struct cv_parquet_options options;
    struct cv_parquet_workspace *workspace;
    bool own_workspace;
    bool broken;           /* a call failed; only abort may follow */
    struct cv_arena plan;  /* nodes, leaves, group metadata: until the end */
    struct cv_arena group; /* page bounds: until the row group is closed */
    struct cv_node *columns;
    size_t column_count;
    struct cv_leaf *leaves;
    size_t leaf_count;
    int64_t row_count; /* of the file */
    int64_t group_rows;
    int64_t position; /* in the file; what waits in workspace->out is counted */
    size_t memory;
    size_t buffered; /* bytes that the open row group would take in the file, about */
    struct cv_group_meta *groups;
    size_t group_count;
    size_t group_capacity;
    struct cv_buf column_indexes;
    struct cv_buf offset_indexes;
    struct cv_buf footer;
};

/* footer.c: CompressionCodec of the format. */
int32_t cv_parquet_codec_number(enum cv_codec codec);

/* plan.c: how a primitive type is stored, and in how many bytes (0 = boolean, byte arrays). */
enum cv_parquet_type cv_parquet_physical_type(const struct cv_type *type);
size_t cv_parquet_plain_width(const struct cv_type *type);
/* Nodes and leaves of the schema, in its order. */
void cv_parquet_plan(struct cv_parquet_writer *writer, const struct cv_metrics_config *metrics);
void cv_parquet_write_schema(const struct cv_parquet_writer *writer,
                             struct cv_thrift_writer *thrift);

/* shred.c: passes rows of a column of the batch to the leaves below the node. At most
 * CV_PARQUET_STEP_ROWS rows. */
enum cv_code cv_parquet_shred(struct cv_parquet_writer *writer, const struct cv_node *node,
                              const struct cv_column *column, const uint32_t *index, size_t start,
                              size_t row_count, struct cv_error *err);

/* leaf.c */
enum cv_code cv_leaf_append(struct cv_parquet_writer *writer, struct cv_leaf *leaf,
                            const struct cv_shred *shred, struct cv_error *err);
/* Adds levels to the open page, before its level_count grows. */
void cv_leaf_put_definitions(struct cv_leaf *leaf, const struct cv_shred *shred);
/* Room for `extra` more bytes of PLAIN values in the open page. */
void cv_leaf_reserve_values(struct cv_leaf *leaf, size_t extra);
/* Takes the values of the open page out of the dictionary, which is then off for this chunk. */
void cv_leaf_fall_back(struct cv_leaf *leaf);

/* packing.c */
enum cv_code cv_packing_prepare(struct cv_parquet_workspace *workspace,
                                const struct cv_parquet_options *options, struct cv_error *err);
void cv_packing_release(struct cv_parquet_workspace *workspace);
/* Compresses a page body into workspace->packed (cleared first). */
enum cv_code cv_packing_compress(struct cv_parquet_workspace *workspace, struct cv_leaf *leaf,
                                 const uint8_t *body, size_t length, struct cv_error *err);

/* A page's bytes before compression. */
struct cv_page_body {
    enum cv_parquet_encoding encoding;
    const uint8_t *body;
    size_t body_length;
};

/* page.c: compresses a body into workspace->packed and puts its header into workspace->header. */
enum cv_code cv_page_pack(struct cv_parquet_writer *writer, struct cv_leaf *leaf,
                          enum cv_page_type type, const struct cv_page_body *page, size_t count,
                          struct cv_error *err);
/* Adds a data page of `rows` rows to the chunk's index; its bounds are those of leaf->page. */
void cv_page_note(struct cv_parquet_writer *writer, struct cv_leaf *leaf, struct cv_page page,
                  size_t rows);
/* Ends the open page; without levels nothing happens. */
enum cv_code cv_page_finish(struct cv_parquet_writer *writer, struct cv_leaf *leaf,
                            struct cv_error *err);
/* Puts the dictionary page into workspace->header and workspace->packed. */
enum cv_code cv_page_write_dictionary(struct cv_parquet_writer *writer, struct cv_leaf *leaf,
                                      struct cv_error *err);

/* chunk.c */
void cv_leaf_start_chunk(struct cv_parquet_writer *writer, struct cv_leaf *leaf);
/* About what the leaf's chunk would take in the file now. */
size_t cv_leaf_buffered(const struct cv_leaf *leaf);
size_t cv_leaf_memory(const struct cv_leaf *leaf);
/* Ends a chunk that began at `start` and whose pages are in the file: its statistics (leaf->bounds)
 * and page index. */
enum cv_code cv_chunk_end(struct cv_parquet_writer *writer, struct cv_leaf *leaf, int64_t start,
                          struct cv_chunk_meta *ret_meta, struct cv_error *err);
/* A row group: begin, its chunks in order, end. The group is valid until the next one begins. */
enum cv_code cv_group_begin(struct cv_parquet_writer *writer, int64_t row_count,
                            struct cv_group_meta **ret_group, struct cv_error *err);
enum cv_code cv_group_end(struct cv_parquet_writer *writer, struct cv_group_meta *group,
                          struct cv_error *err);
enum cv_code cv_group_write(struct cv_parquet_writer *writer, struct cv_error *err);
/* Writes through workspace->out. */
enum cv_code cv_parquet_out(struct cv_parquet_writer *writer, const void *bytes, size_t length,
                            struct cv_error *err);
enum cv_code cv_parquet_out_flush(struct cv_parquet_writer *writer, struct cv_error *err);
void cv_leaf_release(struct cv_leaf *leaf);
/* Between row groups: gives back what the next pages would use again. */
void cv_leaf_release_buffers(struct cv_leaf *leaf);

/* page_index.c: an element of the offset index; both indexes of a chunk. */
void cv_page_place_write(struct cv_thrift_writer *thrift, int64_t offset, int32_t packed_size,
                         int64_t first_row);
void cv_page_index_write(struct cv_parquet_writer *writer, struct cv_leaf *leaf,
                         struct cv_chunk_meta *meta);

/* footer.c: the indexes and the footer. */
enum cv_code cv_footer_write(struct cv_parquet_writer *writer, struct cv_error *err);

/* metrics.c */
void cv_parquet_metrics(const struct cv_parquet_writer *writer, struct cv_arena *arena,
                        struct cv_file_metrics *ret_metrics);

#endif
