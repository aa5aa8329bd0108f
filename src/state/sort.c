/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorting by the bytes of the keys. What all keys of the batch begin with is left out of the
 * comparison, so that eight bytes behind it decide nearly always. */
#include "state/sort.h"

#include "batch/gather.h"

#include <stdlib.h>

#define STRETCH 256 /* rows copied at once; then the size of the block is looked at */

struct entry {
    uint64_t prefix; /* eight bytes of the key behind what all begin with */
    uint32_t offset; /* of the key's bytes */
    uint32_t length;
    uint32_t row;
};

struct sorting {
    const struct cv_keyed *keyed;
    const struct cv_batch *batch;
    struct cv_buf keys;
    struct entry *entries;
    size_t count;
    size_t common; /* bytes with which all keys begin */
    struct cv_batch_builder rows;
    size_t pending; /* rows of `index` that are to be copied */
    uint32_t index[STRETCH];
};

static void release(struct sorting *sorting)
{
    cv_buf_release(&sorting->keys);
    free(sorting->entries);
    cv_batch_builder_release(&sorting->rows);
}

static bool is_late(const struct cv_keyed *keyed, const struct cv_batch *batch, size_t row,
                    int64_t late_us)
{
    const size_t column = keyed->late_by_column ? keyed->late_column : keyed->expiry_column;
    int64_t time;

    return late_us != INT64_MIN && column != SIZE_MAX &&
           cv_keyed_timestamp(batch, column, row, &time) && time <= late_us;
}

static enum cv_code write_keys(struct sorting *sorting, int64_t late_us, struct cv_error *err)
{
    const struct cv_batch *batch = sorting->batch;

    if (batch->row_count > UINT32_MAX)
        return cv_fail(err, CV_LIMIT, "%zu rows of groups at once", batch->row_count);
    sorting->entries = cv_realloc_array(NULL, batch->row_count + 1, sizeof *sorting->entries);
    for (size_t row = 0; row < batch->row_count; row++) {
        size_t start = sorting->keys.length;

        if (is_late(sorting->keyed, batch, row, late_us))
            continue;
        cv_keyed_write_key(sorting->keyed, batch, row, &sorting->keys);
        sorting->entries[sorting->count++] =
            (struct entry){.offset = (uint32_t)start,
                           .length = (uint32_t)(sorting->keys.length - start),
                           .row = (uint32_t)row};
    }
    /* Keys without columns have no bytes, and an address all the same. */
    (void)cv_buf_reserve(&sorting->keys, sizeof(uint64_t));
    return cv_buf_check(&sorting->keys, "keys", err);
}

static size_t common_bytes(const uint8_t *a, const uint8_t *b, size_t length)
{
    size_t at = 0;

    while (at < length && a[at] == b[at])
        at++;
    return at;
}

static void write_prefixes(struct sorting *sorting)
{
    const uint8_t *keys = sorting->keys.data;
    const struct entry *first = sorting->entries;

    sorting->common = sorting->count ? first->length : 0;
    for (size_t i = 1; i < sorting->count && sorting->common; i++)
        sorting->common = common_bytes(keys + first->offset, keys + first[i].offset,
                                       CV_MIN(sorting->common, (size_t)first[i].length));
    for (size_t i = 0; i < sorting->count; i++) {
        struct entry *entry = &sorting->entries[i];
        size_t left = entry->length - sorting->common;

        memcpy(&entry->prefix, keys + entry->offset + sorting->common, CV_MIN(left, (size_t)8));
        entry->prefix = __builtin_bswap64(entry->prefix);
    }
}

static int compare_bytes(const struct sorting *sorting, const struct entry *a,
                         const struct entry *b)
{
    const uint8_t *keys = sorting->keys.data;
    size_t common = sorting->common;
    int result = memcmp(keys + a->offset + common, keys + b->offset + common,
                        CV_MIN(a->length, b->length) - common);

    return result ? result : (a->length > b->length) - (a->length < b->length);
}

static int compare_entries(const void *a, const void *b, void *context)
{
    const struct entry *left = a;
    const struct entry *right = b;
    int result;

    if (left->prefix != right->prefix)
        return left->prefix < right->prefix ? -1 : 1;
    result = compare_bytes(context, left, right);
    return result ? result : (left->row > right->row) - (left->row < right->row);
}

static bool same_key(const struct sorting *sorting, const struct entry *a, const struct entry *b)
{
    return a->prefix == b->prefix && compare_bytes(sorting, a, b) == 0;
}

static enum cv_code copy_pending(struct sorting *sorting, struct cv_error *err)
{
    struct cv_rows rows = {.index = sorting->index, .count = sorting->pending};

    sorting->pending = 0;
    return rows.count ? cv_batch_builder_append_rows(&sorting->rows, sorting->batch, &rows, err)
                      : CV_OK;
}

static void close_block(struct sorting *sorting, struct cv_blocks *blocks)
{
    cv_keyed_normalize(sorting->keyed, &sorting->rows);
    cv_blocks_take(blocks, &sorting->rows);
}

static enum cv_code take_entry(struct sorting *sorting, size_t at, struct cv_blocks *blocks,
                               struct cv_error *err)
{
    const struct entry *entry = &sorting->entries[at];

    if (at && same_key(sorting, entry - 1, entry)) {
        CV_DO(copy_pending(sorting, err));
        return cv_keyed_merge(sorting->keyed, &sorting->rows, sorting->batch, entry->row, err);
    }
    if (sorting->pending == STRETCH) {
        CV_DO(copy_pending(sorting, err));
        if (sorting->rows.columns[0].length >= CV_BLOCK_ROWS ||
            cv_batch_builder_bytes(&sorting->rows) >= CV_BLOCK_BYTES)
            close_block(sorting, blocks);
    }
    sorting->index[sorting->pending++] = entry->row;
    return CV_OK;
}

enum cv_code cv_sort_rows(const struct cv_keyed *keyed, const struct cv_batch *batch,
                          int64_t late_us, struct cv_blocks **ret_blocks, int64_t *ret_late_rows,
                          struct cv_error *err)
{
    CV_CLEANUP(release) struct sorting sorting = {.keyed = keyed, .batch = batch};
    CV_CLEANUP(cv_blocks_freep) struct cv_blocks *blocks = cv_blocks_new(keyed->schema);

    cv_batch_builder_init(&sorting.rows, keyed->schema);
    CV_DO(write_keys(&sorting, late_us, err));
    write_prefixes(&sorting);
    if (sorting.count)
        qsort_r(sorting.entries, sorting.count, sizeof *sorting.entries, compare_entries, &sorting);
    for (size_t i = 0; i < sorting.count; i++)
        CV_DO(take_entry(&sorting, i, blocks, err));
    CV_DO(copy_pending(&sorting, err));
    close_block(&sorting, blocks);
    *ret_late_rows = (int64_t)(batch->row_count - sorting.count);
    *ret_blocks = cv_steal(blocks);
    return CV_OK;
}
