/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorted rows in memory. */
#include "state/blocks.h"

#include "batch/gather.h"

#include <stdlib.h>

#define COLUMN_BYTES ((size_t)256) /* of a column of a block, beside its values */

struct cv_blocks *cv_blocks_new(const struct cv_schema *schema)
{
    struct cv_blocks *blocks = cv_alloc(sizeof *blocks);

    blocks->schema = schema;
    return blocks;
}

void cv_blocks_free(struct cv_blocks *blocks)
{
    if (!blocks)
        return;
    for (size_t i = 0; i < blocks->count; i++)
        cv_batch_builder_release(&blocks->items[i]);
    free(blocks->items);
    free(blocks);
}

void cv_blocks_take(struct cv_blocks *blocks, struct cv_batch_builder *rows)
{
    const struct cv_schema *schema = rows->schema;

    if (!rows->columns[0].length)
        return;
    cv_batch_builder_trim(rows);
    cv_array_reserve(&blocks->items, &blocks->capacity, blocks->count + 1);
    blocks->items[blocks->count++] = *rows;
    blocks->rows += rows->columns[0].length;
    blocks->bytes += cv_batch_builder_bytes(rows) + rows->column_count * COLUMN_BYTES;
    cv_batch_builder_init(rows, schema);
}

enum cv_code cv_blocks_append(struct cv_blocks *blocks, const struct cv_batch *batch,
                              struct cv_error *err)
{
    for (size_t at = 0; at < batch->row_count; at += CV_BLOCK_ROWS) {
        CV_CLEANUP(cv_batch_builder_release) struct cv_batch_builder rows = {0};
        const struct cv_rows some = {.start = at,
                                     .count = CV_MIN(CV_BLOCK_ROWS, batch->row_count - at)};

        cv_batch_builder_init(&rows, blocks->schema);
        CV_DO(cv_batch_builder_append_rows(&rows, batch, &some, err));
        cv_blocks_take(blocks, &rows);
    }
    return CV_OK;
}
