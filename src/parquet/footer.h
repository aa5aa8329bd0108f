/* SPDX-License-Identifier: Apache-2.0
 *
 * The footer of a Parquet file, parsed (format: parquet.thrift, FileMetaData) and checked: every
 * offset lies in the file, every count fits its list, the schema is one tree. Columns are bound to
 * the fields of an Iceberg schema by field id, or by name mapping where the file has no ids. */
#ifndef CALVE_PARQUET_FOOTER_H
#define CALVE_PARQUET_FOOTER_H

#include "base/limits.h"
#include "base/str.h"
#include "storage/store.h"

#define CV_PARQUET_FOOTER_BYTES_MAX ((size_t)1 << 30)
#define CV_PARQUET_GROUPS_MAX       ((size_t)1 << 20)
#define CV_PARQUET_NODES_MAX        ((size_t)1 << 16)      /* of the schema */
#define CV_PARQUET_DEPTH_MAX        (2 * CV_DEPTH_MAX + 2) /* a list is two nodes deep */

enum cv_parquet_type {
    CV_PARQUET_BOOLEAN = 0,
    CV_PARQUET_INT32 = 1,
    CV_PARQUET_INT64 = 2,
    CV_PARQUET_INT96 = 3,
    CV_PARQUET_FLOAT = 4,
    CV_PARQUET_DOUBLE = 5,
    CV_PARQUET_BYTE_ARRAY = 6,
    CV_PARQUET_FIXED_LEN_BYTE_ARRAY = 7,
};

enum cv_parquet_encoding {
    CV_PARQUET_PLAIN = 0,
    CV_PARQUET_PLAIN_DICTIONARY = 2,
    CV_PARQUET_RLE = 3,
    CV_PARQUET_BIT_PACKED = 4,
    CV_PARQUET_DELTA_BINARY_PACKED = 5,
    CV_PARQUET_DELTA_LENGTH_BYTE_ARRAY = 6,
    CV_PARQUET_DELTA_BYTE_ARRAY = 7,
    CV_PARQUET_RLE_DICTIONARY = 8,
    CV_PARQUET_BYTE_STREAM_SPLIT = 9,
};

/* Whether values are indices into a dictionary. */
static inline bool cv_parquet_is_indices(int32_t encoding)
{
    return encoding == CV_PARQUET_PLAIN_DICTIONARY || encoding == CV_PARQUET_RLE_DICTIONARY;
}

enum cv_parquet_repetition {
    CV_PARQUET_REQUIRED = 0,
    CV_PARQUET_OPTIONAL = 1,
    CV_PARQUET_REPEATED = 2,
};

/* What the values mean: LogicalType, or ConvertedType where that is absent. */
enum cv_parquet_meaning {
    CV_PARQUET_MEANS_NOTHING, /* the physical type says it all */
    CV_PARQUET_MEANS_STRING,  /* also ENUM and JSON */
    CV_PARQUET_MEANS_MAP,
    CV_PARQUET_MEANS_LIST,
    CV_PARQUET_MEANS_DECIMAL,
    CV_PARQUET_MEANS_DATE,
    CV_PARQUET_MEANS_TIME,
    CV_PARQUET_MEANS_TIMESTAMP,
    CV_PARQUET_MEANS_INTEGER,
    CV_PARQUET_MEANS_UUID,
    CV_PARQUET_MEANS_FLOAT16,
    CV_PARQUET_MEANS_OTHER, /* known to exist, not to Iceberg: BSON, INTERVAL, VARIANT, … */
};

enum cv_parquet_unit { CV_PARQUET_MILLIS, CV_PARQUET_MICROS, CV_PARQUET_NANOS };

/* A node of the schema, in the depth-first order of the file; node 0 is the root. */
struct cv_parquet_node {
    const char *name;
    int32_t field_id; /* -1 = absent */
    enum cv_parquet_repetition repetition;
    bool is_leaf;
    enum cv_parquet_type type;
    int32_t type_length;
    enum cv_parquet_meaning meaning;
    enum cv_parquet_unit unit; /* TIME, TIMESTAMP */
    bool utc;                  /* TIME, TIMESTAMP: isAdjustedToUTC */
    int32_t precision, scale;  /* DECIMAL */
    int32_t bits;              /* INTEGER */
    bool is_signed;
    uint32_t parent;
    uint32_t first_child; /* children are found by first_child and next_sibling; 0 = none */
    uint32_t next_sibling;
    uint32_t child_count;
    uint32_t leaf; /* leaves: the number of its column chunks in each group */
    /* Leaves: min_value and max_value, of the column index too, are in the type's order. */
    bool typed_order;
    uint8_t definition_max;
    uint8_t repetition_max;
};

/* Min and max only when the file's order for this column is the one that Iceberg compares by: not
 * those of unsigned 32 and 64 bits, INT96 and types unknown to Iceberg, nor the deprecated ones of
 * byte arrays, nor NaN. A zero of a float counts for both, -0.0 as min and +0.0 as max. PLAIN bytes
 * of the right length; ptr NULL = absent. */
struct cv_parquet_statistics {
    int64_t null_count; /* -1 = absent */
    struct cv_str min;
    struct cv_str max;
    bool min_exact; /* is_min_value_exact; false when not told */
    bool max_exact;
    bool deprecated; /* they come from the fields `min` and `max` */
};

/* A chunk without values has size 0. */
struct cv_parquet_chunk {
    int32_t codec; /* CompressionCodec of the format, as stored */
    int64_t value_count;
    int64_t plain_size;
    int64_t packed_size;
    int64_t data_offset;
    int64_t dictionary_offset; /* -1 = none */
    uint32_t encodings;        /* bit per enum cv_parquet_encoding */
    struct cv_parquet_statistics statistics;
    int64_t column_index_offset; /* -1 = none */
    int32_t column_index_length;
    int64_t offset_index_offset; /* -1 = none */
    int32_t offset_index_length;
};

/* Where the chunk's first byte is: its dictionary page or its first data page. */
static inline int64_t cv_parquet_chunk_start(const struct cv_parquet_chunk *chunk)
{
    return chunk->dictionary_offset >= 0 && chunk->dictionary_offset < chunk->data_offset
               ? chunk->dictionary_offset
               : chunk->data_offset;
}

struct cv_parquet_group {
    int64_t row_count;
    int64_t first_row;               /* in the file */
    struct cv_parquet_chunk *chunks; /* one per leaf */
};

struct cv_parquet_footer {
    struct cv_arena arena;
    int64_t file_size;
    int64_t row_count;
    struct cv_parquet_node *nodes;
    uint32_t node_count;
    uint32_t *leaves; /* node of each leaf */
    uint32_t leaf_count;
    struct cv_parquet_group *groups;
    size_t group_count;
};

/* Parses the bytes of a FileMetaData, of which nothing is kept. An encrypted file is
 * CV_UNSUPPORTED. */
enum cv_code cv_parquet_footer_parse(const void *bytes, size_t length, int64_t file_size,
                                     struct cv_parquet_footer **ret_footer, struct cv_error *err);
/* Reads it from a file: one request for its end, a second one only when the footer is longer than
 * 64 KiB. `file_size` -1 = ask the store. */
enum cv_code cv_parquet_footer_read(struct cv_store *store, const char *location, int64_t file_size,
                                    struct cv_parquet_footer **ret_footer, struct cv_error *err);
void cv_parquet_footer_free(struct cv_parquet_footer *footer);
CV_DEFINE_CLEANUP(struct cv_parquet_footer *, cv_parquet_footer_free)

/* Whether any column has a field id. */
bool cv_parquet_has_ids(const struct cv_parquet_footer *footer);
/* Bytes of a PLAIN value of a leaf; 0 for booleans and byte arrays. */
size_t cv_parquet_node_width(const struct cv_parquet_node *leaf);
/* "a.list.element.b" of a node, in the arena. */
const char *cv_parquet_node_path(const struct cv_parquet_footer *footer, uint32_t node,
                                 struct cv_arena *arena);

#endif
