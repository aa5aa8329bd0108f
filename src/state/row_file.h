/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorted rows in a Parquet file, of a spill or of a state. */
#ifndef CALVE_STATE_ROW_FILE_H
#define CALVE_STATE_ROW_FILE_H

#include "parquet/reader.h"
#include "parquet/writer.h"
#include "state/merge.h"

/* What the files of one query share. */
struct cv_row_format {
    const struct cv_keyed *keyed;
    struct cv_arena arena;
    struct cv_schema schema; /* the same columns, all optional, with ids from 1 on */
    struct cv_parquet_options options;
};

/* Row groups of at most `row_group_bytes`, which is about what a reader holds. */
void cv_row_format_init(struct cv_row_format *format, const struct cv_keyed *keyed,
                        size_t row_group_bytes);
void cv_row_format_release(struct cv_row_format *format);

/* Takes the output over and writes all rows of the reader to it. *ret_rows 0: there were none, and
 * the output is aborted. */
enum cv_code cv_row_file_write(const struct cv_row_format *format, struct cv_merge_reader *rows,
                               struct cv_output *output, int64_t *ret_rows, struct cv_error *err);
/* An input that reads a file; nothing is read before the first row is wanted. */
struct cv_merge_input cv_row_file_input(const struct cv_row_format *format, struct cv_store *store,
                                        const char *location, int64_t size);

#endif
