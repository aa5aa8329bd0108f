/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorted rows in memory, one per key: blocks of exact size that are given back one by one while
 * they are read for the last time. */
#ifndef CALVE_STATE_BLOCKS_H
#define CALVE_STATE_BLOCKS_H

#include "batch/keyed.h"

#define CV_BLOCK_ROWS  4096
#define CV_BLOCK_BYTES ((size_t)1 << 20) /* no row is added to a block of so much */

struct cv_blocks {
    const struct cv_schema *schema; /* outlives the rows */
    struct cv_batch_builder *items;
    size_t count, capacity;
    size_t rows;
    size_t bytes; /* held */
};

struct cv_blocks *cv_blocks_new(const struct cv_schema *schema);
void cv_blocks_free(struct cv_blocks *blocks);
CV_DEFINE_CLEANUP(struct cv_blocks *, cv_blocks_free)
/* Takes the rows over as a block; `rows` is ready for new ones. */
void cv_blocks_take(struct cv_blocks *blocks, struct cv_batch_builder *rows);
/* Copies rows that come after those that are there. */
enum cv_code cv_blocks_append(struct cv_blocks *blocks, const struct cv_batch *batch,
                              struct cv_error *err);

#endif
