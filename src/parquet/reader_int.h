/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the Parquet reader. A file's bytes flow
 *
 *   read_chunk.c (pieces of the file, pages unpacked) → read_header.c → read_page.c (levels and
 *   values of a page found) → read_leaf.c (rows of one leaf) → read_values.c, read_bytes.c
 *   (encodings) → read_convert.c (to the type of the table) → assemble.c (nested columns)
 *
 * read_plan.c binds the columns wanted to the file's leaves. Values are decoded densely, nulls left
 * out, and then spread over their slots. */
#ifndef CALVE_PARQUET_READER_INT_H
#define CALVE_PARQUET_READER_INT_H

#include "batch/builder.h"
#include "codec/compress.h"
#include "parquet/delta.h"
#include "parquet/page_header.h"
#include "parquet/reader.h"
#include "parquet/rle.h"

/* Row groups whose wanted chunks lie within so many bytes are read at once. */
#define CV_PARQUET_GROUP_READ_BYTES ((int64_t)8 << 20)
/* Otherwise each chunk by pieces, which together hold at most about so much, */
#define CV_PARQUET_READ_BYTES ((size_t)32 << 20)
/* of at least and at most this size each (a larger page makes its piece larger). */
#define CV_PARQUET_PIECE_BYTES_MIN ((size_t)64 << 10)
#define CV_PARQUET_PIECE_BYTES_MAX ((size_t)4 << 20)
/* A batch has fewer rows than asked for where rows are so large on average that it would pass */
#define CV_PARQUET_BATCH_BYTES ((int64_t)32 << 20)
/* A value of fixed length. */
#define CV_PARQUET_FIXED_BYTES_MAX ((size_t)1 << 20)
/* Levels of one leaf in one batch. */
#define CV_PARQUET_BATCH_LEVELS_MAX ((size_t)1 << 27)
#define CV_PARQUET_LEVEL_BLOCK      1024
#define CV_PARQUET_VALUE_BLOCK      1024

/* How a value of the file becomes one of the column. */
enum cv_convert {
    CV_CONVERT_NONE,  /* fixed width, as it is */
    CV_CONVERT_BITS,  /* boolean */
    CV_CONVERT_BYTES, /* byte arrays, as they are */
    CV_CONVERT_INT32_LONG,
    CV_CONVERT_UINT32_LONG,
    CV_CONVERT_UINT64_LONG, /* checked */
    CV_CONVERT_FLOAT_DOUBLE,
    CV_CONVERT_FLOAT16_FLOAT,
    CV_CONVERT_FLOAT16_DOUBLE,
    CV_CONVERT_MILLIS32, /* to µs */
    CV_CONVERT_MILLIS64,
    CV_CONVERT_NANOS64, /* cut to µs */
    CV_CONVERT_INT96,   /* Julian day and ns */
    CV_CONVERT_DECIMAL_INT32,
    CV_CONVERT_DECIMAL_INT64,
    CV_CONVERT_DECIMAL_FIXED, /* big-endian */
    CV_CONVERT_DECIMAL_BYTES, /* big-endian byte arrays */
};

/* Levels of a page, RLE or the BIT_PACKED of old (most significant bit first). */
struct cv_level_reader {
    bool bit_packed;
    struct cv_rle_reader rle;
    const uint8_t *bits;
    size_t bit, bit_count;
};

/* A primitive column of the file that is read. */
struct cv_read_leaf {
    const struct cv_parquet_node *node;
    const char *path;
    const struct cv_type *type; /* what it becomes; NULL = only its levels are wanted */
    enum cv_convert convert;
    size_t width;               /* bytes of a value in the file; 0 = boolean, byte arrays */
    struct cv_builder *builder; /* NULL when only levels are wanted */
    bool flat;                  /* a column of its own: one level a row, 0 or 1 */

    /* The chunk, and the piece of it that is in memory. */
    const struct cv_parquet_chunk *chunk;
    enum cv_codec codec;
    int64_t next_page, end; /* offsets in the file */
    int64_t levels_left;    /* in pages that are not open yet */
    struct cv_buf piece;
    const uint8_t *bytes;
    int64_t bytes_offset;
    size_t bytes_length;

    /* The open page. */
    struct cv_buf page; /* unpacked */
    size_t page_levels; /* that are left */
    int32_t encoding;
    struct cv_level_reader definitions, repetitions;
    const uint8_t *at, *values_end; /* PLAIN: what is left; DELTA byte arrays: the bytes */
    size_t bit;                     /* PLAIN boolean */
    size_t stream_at, stream_count; /* BYTE_STREAM_SPLIT: of the values in the page */
    struct cv_rle_reader indices;
    struct cv_delta_reader delta, suffixes;
    struct cv_buf previous; /* DELTA_BYTE_ARRAY: the last value */

    /* The dictionary, converted. */
    bool has_dictionary;
    struct cv_builder dictionary;
    size_t dictionary_longest; /* byte arrays */

    struct cv_builder scratch; /* byte arrays on their way to decimals */
    struct cv_buf raw;         /* values on their way through a conversion */

    /* Not flat: levels of the batch, and a block of the open page that is ahead of it. */
    uint8_t *batch_definitions, *batch_repetitions;
    size_t level_count, level_capacity;
    uint8_t block_definitions[CV_PARQUET_LEVEL_BLOCK];
    uint8_t block_repetitions[CV_PARQUET_LEVEL_BLOCK];
    size_t block_at, block_count;
};

enum cv_read_kind {
    CV_READ_LEAF,
    CV_READ_STRUCT,
    CV_READ_LIST, /* and map */
    CV_READ_MISSING,
};

/* A field wanted. A level makes a slot of it when its definition is at least `slot_definition` and
 * its repetition at most `repetition`; the slot is no null from `definition` on. */
struct cv_read_node {
    enum cv_read_kind kind;
    const struct cv_field *field;
    uint8_t slot_definition, definition, element_definition, repetition;
    struct cv_read_leaf *leaf; /* itself, or one below it whose levels tell of it */
    struct cv_read_node *children;
    size_t child_count;
    struct cv_value value; /* missing */
};

struct cv_parquet_reader {
    struct cv_store *store;
    char *location;
    struct cv_parquet_footer *footer;
    struct cv_parquet_read read;
    struct cv_arena plan;
    bool by_id; /* the file has field ids */
    struct cv_read_node *columns;
    size_t column_count;
    struct cv_read_leaf **leaves;
    size_t leaf_count, leaf_capacity;
    struct cv_batch_builder builder;
    struct cv_decompressor *decompressor;
    struct cv_buf group_bytes; /* chunks of the row group read together */
    size_t piece_bytes;
    size_t next_group, end_group;
    const struct cv_parquet_group *group; /* NULL = none is open */
    int64_t group_at;                     /* rows of it handed out */
    int64_t group_batch_rows;
};

/* read_plan.c: columns and leaves. */
enum cv_code cv_read_plan(struct cv_parquet_reader *reader, struct cv_error *err);
/* The one child of a list or map, which is repeated; 0 = it has none such. */
uint32_t cv_read_repeated(const struct cv_parquet_footer *footer, uint32_t node);
/* The element of a list in its standard or a legacy form: the repeated node or its child. */
uint32_t cv_read_list_element(const struct cv_parquet_footer *footer, uint32_t node);

/* read_type.c: how the leaf's values become ones of the type; CV_SCHEMA if they do not. */
enum cv_code cv_read_conversion(const struct cv_parquet_node *node, const struct cv_type *type,
                                enum cv_convert *ret_convert, struct cv_error *err);

/* read_default.c */
enum cv_code cv_read_default(const struct cv_field *field, struct cv_arena *arena,
                             struct cv_value *ret_value, struct cv_error *err);
/* Appends `count` slots with the value, null where `validity` (may be NULL) says so. */
void cv_read_fill(struct cv_builder *builder, const struct cv_value *value, size_t count,
                  const uint8_t *validity);

/* read_chunk.c: opens a row group; finds bytes of the file. */
enum cv_code cv_read_group(struct cv_parquet_reader *reader, const struct cv_parquet_group *group,
                           struct cv_error *err);
/* The bytes, with CV_RLE_SLACK behind them; valid until the next call for this leaf. */
enum cv_code cv_read_bytes(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                           int64_t offset, size_t length, const uint8_t **ret_bytes,
                           struct cv_error *err);

/* read_header.c: the header at leaf->next_page. */
enum cv_code cv_read_page_header(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                                 struct cv_page_header *ret_header, size_t *ret_length,
                                 struct cv_error *err);

/* read_page.c: opens the next data page, dictionary pages on the way. */
enum cv_code cv_read_page(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                          struct cv_error *err);
bool cv_read_levels(struct cv_level_reader *levels, size_t count, uint8_t *ret_levels);

/* read_leaf.c: appends rows of the open group to a flat leaf's builder; or its levels and, densely,
 * its values. */
enum cv_code cv_read_leaf_rows(struct cv_parquet_reader *reader, struct cv_read_leaf *leaf,
                               size_t rows, struct cv_error *err);
/* Moves the values at `base` apart so that nulls (by the builder's validity) are zeros between. */
void cv_read_spread(struct cv_builder *builder, size_t base, size_t slots, size_t values);

/* read_values.c: the next `count` values of the open page, to places base, base + 1, … */
enum cv_code cv_read_values(struct cv_read_leaf *leaf, struct cv_builder *builder, size_t base,
                            size_t count, struct cv_error *err);
/* The failure of a page that ends inside its values. */
enum cv_code cv_read_ended(struct cv_error *err);
/* read_bytes.c: the same for byte arrays that are not in a dictionary. */
enum cv_code cv_read_byte_arrays(struct cv_read_leaf *leaf, struct cv_builder *builder, size_t base,
                                 size_t count, struct cv_error *err);
enum cv_code cv_read_byte_array_dictionary(struct cv_read_leaf *leaf, struct cv_builder *builder,
                                           size_t base, size_t count, struct cv_error *err);
/* Room for `extra` more bytes of var data and some that copies may touch. */
enum cv_code cv_read_reserve_bytes(struct cv_read_leaf *leaf, struct cv_builder *builder,
                                   size_t extra, struct cv_error *err);

/* read_convert.c: `count` values of fixed width. */
enum cv_code cv_read_convert(const struct cv_read_leaf *leaf, const uint8_t *values, size_t count,
                             uint8_t *out, struct cv_error *err);
/* Big-endian byte arrays [0, count) of `bytes`. */
enum cv_code cv_read_convert_bytes(const struct cv_read_leaf *leaf, const struct cv_builder *bytes,
                                   size_t count, uint8_t *out, struct cv_error *err);

/* assemble.c: a nested column of the batch from the levels of its leaves. */
enum cv_code cv_read_assemble(const struct cv_read_node *node, struct cv_builder *builder,
                              struct cv_error *err);

#endif
