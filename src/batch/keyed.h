/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a stateful query: columns 0 … key_count-1 are the key, by which rows are sorted (NULL
 * first, false before true, NaN last and equal to itself, -0.0 equal to 0.0, bytes unsigned); each
 * other column says how two rows of one key become one. */
#ifndef CALVE_BATCH_KEYED_H
#define CALVE_BATCH_KEYED_H

#include "batch/builder.h"

enum cv_merge {
    CV_MERGE_SUM, /* long, double, decimal(38, s); NULL counts for nothing. Overflow is an error */
    CV_MERGE_MIN, /* any primitive type; NULL counts for nothing */
    CV_MERGE_MAX,
    CV_MERGE_AND, /* boolean; NULL counts for nothing */
    CV_MERGE_OR,
    CV_MERGE_SKETCH, /* binary of one length: the larger of each byte (HyperLogLog registers) */
    CV_MERGE_FIRST,  /* of the first row: by the order columns, where there are any */
};

struct cv_keyed {
    const struct cv_schema *schema;
    size_t key_count;
    /* The columns after the key that say which of two rows with one key is first; they are
     * themselves CV_MERGE_FIRST. */
    size_t order_count;
    const enum cv_merge *merges; /* per column; of keys unused */
    /* A timestamp column (long µs inside) after which a row is closed: a row whose value is <= the
     * watermark is late when it comes in, and leaves the state. SIZE_MAX = none. In the key it
     * stands first, so that closed rows lead the order. */
    size_t expiry_column;
    /* Whether another timestamp column says what is late, and which: of `distinct`, whose rows are
     * late by their event time and leave by when they expire. */
    bool late_by_column;
    size_t late_column;
};

/* Sorts before (< 0), with or after; over the first `columns` columns. */
int cv_keyed_compare(const struct cv_keyed *keyed, size_t columns, const struct cv_batch *a,
                     size_t row_a, const struct cv_batch *b, size_t row_b);
/* Appends the key of a row as bytes that compare as keys do, and are equal where keys are equal.
 * No key's bytes begin another's. */
void cv_keyed_write_key(const struct cv_keyed *keyed, const struct cv_batch *batch, size_t row,
                        struct cv_buf *out);
/* Merges a row into the last row of `into`, which has the same key. CV_RECORD where a sum
 * overflows. */
enum cv_code cv_keyed_merge(const struct cv_keyed *keyed, struct cv_batch_builder *into,
                            const struct cv_batch *batch, size_t row, struct cv_error *err);
/* Gives equal keys the same bits: -0.0 becomes 0.0, and every NaN the same one. */
void cv_keyed_normalize(const struct cv_keyed *keyed, struct cv_batch_builder *rows);

/* A timestamp column of a batch at a row; false when it is null. */
static inline bool cv_keyed_timestamp(const struct cv_batch *batch, size_t column, size_t row,
                                      int64_t *ret_us)
{
    const struct cv_column *values = &batch->columns[column];

    if (cv_column_is_null(values, row))
        return false;
    memcpy(ret_us, values->data + row * 8, 8);
    return true;
}

#endif
