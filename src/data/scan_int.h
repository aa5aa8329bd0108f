/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the scan: rows of one file whatever its format, and the deletes of one data file. */
#ifndef CALVE_DATA_SCAN_INT_H
#define CALVE_DATA_SCAN_INT_H

#include "batch/gather.h"
#include "data/scan.h"
#include "parquet/reader.h"

/* --- rows of a file --------------------------------------------------------------------------- */

/* Everything that the pointers refer to must outlive the reader. */
struct cv_file_read {
    struct cv_store *store;
    const struct cv_data_file *file;
    const struct cv_schema *schema;
    const struct cv_name_mapping *mapping;
    const struct cv_parquet_constant *constants;
    size_t constant_count;
    const struct cv_predicate *predicate; /* what cannot match may be left out; NULL = none */
    size_t batch_rows;                    /* 0 = the default */
};

struct cv_avro_rows;
struct cv_file_reader {
    struct cv_parquet_reader *parquet;
    struct cv_avro_rows *avro;
};

/* CV_UNSUPPORTED for other formats than Parquet and Avro. */
enum cv_code cv_file_reader_open(const struct cv_file_read *read, struct cv_file_reader *ret_reader,
                                 struct cv_error *err);
void cv_file_reader_release(struct cv_file_reader *reader);
/* row_count 0 at the end; *ret_position is the place of the first row in the file. */
enum cv_code cv_file_reader_next(struct cv_file_reader *reader, struct cv_batch *ret_batch,
                                 int64_t *ret_position, struct cv_error *err);
/* Rows of the whole file, or -1 when only reading tells. */
int64_t cv_file_reader_rows(const struct cv_file_reader *reader);

enum cv_code cv_avro_rows_open(const struct cv_file_read *read, struct cv_avro_rows **ret_rows,
                               struct cv_error *err);
enum cv_code cv_avro_rows_next(struct cv_avro_rows *rows, struct cv_batch *ret_batch,
                               int64_t *ret_position, struct cv_error *err);
void cv_avro_rows_free(struct cv_avro_rows *rows);
CV_DEFINE_CLEANUP(struct cv_avro_rows *, cv_avro_rows_free)

/* --- deletes ---------------------------------------------------------------------------------- */

/* Positions of one data file that are deleted. */
struct cv_position_set {
    uint8_t *bits;
    size_t row_count; /* of the file, as far as is known: what lies beyond is no row */
    bool any;
    bool beyond; /* some lay beyond */
};

/* Reads what the delete file says of `path` into the set. */
enum cv_code cv_position_set_read(struct cv_position_set *set, struct cv_store *store,
                                  const struct cv_data_file *deletes, const char *path,
                                  struct cv_error *err);
void cv_position_set_release(struct cv_position_set *set);
static inline void cv_position_set_add(struct cv_position_set *set, int64_t position)
{
    if ((uint64_t)position >= set->row_count) {
        set->beyond = true;
        return;
    }
    cv_bit_set(set->bits, (size_t)position);
    set->any = true;
}
static inline bool cv_position_set_has(const struct cv_position_set *set, int64_t position)
{
    return (uint64_t)position < set->row_count && cv_bit_get(set->bits, (size_t)position);
}

/* Byte strings, each once. */
struct cv_key_set {
    struct cv_buf bytes;
    struct cv_key_slot {
        uint64_t hash;
        uint64_t start;
        uint32_t length;
        bool used;
    } * slots;
    size_t capacity, count;
};

void cv_key_set_release(struct cv_key_set *set);
void cv_key_set_add(struct cv_key_set *set, const void *key, size_t length);
bool cv_key_set_has(const struct cv_key_set *set, const void *key, size_t length);
size_t cv_key_set_bytes(const struct cv_key_set *set);

/* All equality delete files of a data file that compare the same columns. */
struct cv_equality_set {
    const int32_t *ids; /* as in the first of the files */
    size_t id_count;
    struct cv_schema schema;      /* the columns, as the delete files are read; optional all */
    struct cv_column_path *paths; /* in the rows to be tested, parallel to ids */
    struct cv_column_path *delete_paths; /* in the delete files */
    struct cv_buf name;                  /* of the keys in the cache: ids and delete files */
    struct cv_key_set *keys;             /* the cache's, when there is one */
    bool borrowed;
};

/* The key of a row under the paths: equal exactly for rows that delete each other (null equal to
 * null, NaN to NaN, -0.0 unlike 0.0). `out` is cleared. */
void cv_equality_key(const struct cv_column_path *paths, size_t count, const struct cv_batch *batch,
                     size_t row, struct cv_buf *out);
void cv_equality_set_release(struct cv_equality_set *set);
/* Reads a delete file into the set. CV_LIMIT when the keys need more than memory_max bytes. */
enum cv_code cv_equality_set_read(struct cv_equality_set *set, struct cv_store *store,
                                  const struct cv_data_file *deletes,
                                  const struct cv_name_mapping *mapping, size_t memory_max,
                                  struct cv_error *err);

/* --- what scanners share ---------------------------------------------------------------------- */

/* Before a scanner takes anything: what lies over the budget goes. */
void cv_delete_cache_trim(struct cv_delete_cache *cache);
/* As cv_position_set_read(); a file that may name several data files is kept as a whole. */
enum cv_code cv_delete_cache_positions(struct cv_delete_cache *cache, struct cv_position_set *set,
                                       struct cv_store *store, const struct cv_data_file *deletes,
                                       const char *path, struct cv_error *err);
/* The keys of that name, or NULL. */
struct cv_key_set *cv_delete_cache_keys(struct cv_delete_cache *cache, const struct cv_buf *name);
/* Takes the keys over; they stay until the next trim. */
void cv_delete_cache_keep(struct cv_delete_cache *cache, const struct cv_buf *name,
                          struct cv_key_set *keys);
void cv_delete_cache_count(struct cv_delete_cache *cache); /* one more file was read */

#endif
