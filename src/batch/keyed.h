/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a stateful query: columns 0 … key_count-1 are the key, by which rows are sorted (NULL
 * first, false before true, NaN last and equal to itself, -0.0 equal to 0.0, bytes unsigned); each
 * other column says how two rows of one key become one. */
#ifndef CALVE_BATCH_KEYED_H
#define CALVE_BATCH_KEYED_H

#include "batch/column.h"

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
};

/* Sorts before (< 0), with or after; over the first `columns` columns. */
int cv_keyed_compare(const struct cv_keyed *keyed, size_t columns, const struct cv_batch *a,
                     size_t row_a, const struct cv_batch *b, size_t row_b);

#endif
