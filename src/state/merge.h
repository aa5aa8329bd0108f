/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorted inputs merged to one row per key: the reader that state/runs.h hands out. */
#ifndef CALVE_STATE_MERGE_H
#define CALVE_STATE_MERGE_H

#include "state/blocks.h"
#include "state/runs.h"

/* Rows in key order, one per key. */
struct cv_merge_input {
    /* As cv_merge_reader_next(). */
    enum cv_code (*next)(void *context, struct cv_batch *ret_batch, struct cv_error *err);
    void (*free)(void *context); /* may be NULL */
    void *context;
    /* Which rows count, by the expiry column; NULL = all. */
    bool has_closed;  /* those <= closed_us do not */
    bool has_closing; /* only those <= closing_us do; a null is none */
    int64_t closed_us;
    int64_t closing_us;
};

/* A reader without inputs yet. Of rows with one key the input added first is the older one, which
 * matters to CV_MERGE_FIRST without order columns. */
struct cv_merge_reader *cv_merge_reader_new(const struct cv_keyed *keyed);
/* Takes the input over; none may be added once rows are read. */
void cv_merge_reader_add(struct cv_merge_reader *reader, const struct cv_merge_input *input);
/* Blocks that stay the caller's. */
struct cv_merge_input cv_merge_input_of_blocks(const struct cv_blocks *blocks);
/* Blocks that are given back as they are read. */
struct cv_merge_input cv_merge_input_taking_blocks(struct cv_blocks *blocks);
/* A reader that stays the caller's. */
struct cv_merge_input cv_merge_input_of_reader(struct cv_merge_reader *reader);
/* Rows of the input added last whose keys no other input has, instead of all. They have this
 * schema, whose key columns are the reader's. */
void cv_merge_reader_lacking(struct cv_merge_reader *reader, const struct cv_schema *schema);
const struct cv_keyed *cv_merge_reader_keyed(const struct cv_merge_reader *reader);
/* The rest of the rows, in memory. */
enum cv_code cv_merge_reader_collect(struct cv_merge_reader *reader, struct cv_blocks *into,
                                     struct cv_error *err);

#endif
