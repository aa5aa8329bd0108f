/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a Parquet file of any writer as rows of an Iceberg schema: columns found by field id (name
 * mapping where the file has none), widened to the type they have now, and filled in where the file
 * lacks them. All encodings, data pages v1 and v2, all codecs, nested columns, legacy lists, INT96.
 * Memory: see README.md. One thread. */
#ifndef CALVE_PARQUET_READER_H
#define CALVE_PARQUET_READER_H

#include "batch/column.h"
#include "parquet/page_header.h"
#include "schema/name_mapping.h"
#include "schema/predicate.h"

#define CV_PARQUET_BATCH_ROWS_DEFAULT 4096

/* A column that the file lacks and that is not null: an identity partition value. */
struct cv_parquet_constant {
    int32_t field_id;
    struct cv_value value;
};

/* Everything that the pointers refer to must outlive the reader. */
struct cv_parquet_read {
    /* The columns wanted, in this order, with the names and types that the rows shall have: a
     * table's schema or a projection of it. Fields that the file lacks come from `constants`, from
     * their initial default, or are null (CV_SCHEMA when such a field is required). */
    const struct cv_schema *schema;
    const struct cv_name_mapping *mapping; /* for files without field ids; NULL = by position no,
                                              such a file has none of the columns */
    const struct cv_parquet_constant *constants;
    size_t constant_count;
    const struct cv_predicate
        *predicate;                  /* row groups that cannot match are skipped; NULL = none */
    size_t batch_rows;               /* 0 = the default */
    size_t first_group, group_count; /* which row groups; count 0 = to the end */
};

struct cv_parquet_reader;
/* Takes over the footer (NULL = it is read here, with a known size or -1). */
enum cv_code cv_parquet_reader_open(struct cv_store *store, const char *location, int64_t file_size,
                                    struct cv_parquet_footer *footer,
                                    const struct cv_parquet_read *read,
                                    struct cv_parquet_reader **ret_reader, struct cv_error *err);
void cv_parquet_reader_free(struct cv_parquet_reader *reader);
CV_DEFINE_CLEANUP(struct cv_parquet_reader *, cv_parquet_reader_free)

const struct cv_parquet_footer *cv_parquet_reader_footer(const struct cv_parquet_reader *reader);
/* The next rows; row_count 0 at the end. They are valid until the next call. *ret_position is the
 * place of the first one in the file (for position deletes); the rows of a batch follow each other
 * in the file. */
enum cv_code cv_parquet_reader_next(struct cv_parquet_reader *reader, struct cv_batch *ret_batch,
                                    int64_t *ret_position, struct cv_error *err);

/* What a row group's statistics say, for cv_predicate_may_match(); context of it. */
struct cv_parquet_group_columns {
    const struct cv_parquet_footer *footer;
    const struct cv_parquet_group *group;
    const struct cv_name_mapping *mapping;
};
bool cv_parquet_group_column(void *group_columns, const struct cv_field *field,
                             struct cv_predicate_column *ret_column);

#endif
