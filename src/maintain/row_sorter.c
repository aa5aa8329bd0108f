/* SPDX-License-Identifier: Apache-2.0
 *
 * The external merge sort of rows. Runs of a level are neighbours in time, so that merging them in
 * their order keeps the sort stable. */
#include "maintain/row_sorter.h"

#include "base/file.h"
#include "batch/gather.h"
#include "data/fragment.h"
#include "data/spill.h"

#include <stdlib.h>
#include <unistd.h>

#define HEADER_BYTES  8
#define EMIT_BYTES    ((size_t)4 << 20)
#define BLOCK_MIN     ((size_t)8 << 10)
#define BLOCK_MAX     ((size_t)256 << 10)
#define FAN_IN_MIN    4
#define RUNS_MAX      128
#define COLUMN_BYTES  ((size_t)24 << 10) /* of a column of a block at least */
#define PREFIX_BYTES  8
#define ROWS_IN_BLOCK 4096

/* A key in the buffer of keys; rows are numbered as they come. */
struct entry {
    uint64_t prefix; /* first bytes, big-endian: most comparisons end here */
    uint32_t offset;
    uint32_t length;
    uint32_t row;
};

struct run {
    int descriptor;
    int64_t length;
    int level;
};

struct cv_row_sorter {
    const struct cv_schema *schema;
    const struct cv_sort_plan *plan;
    const char *folder;
    size_t memory_bytes;
    size_t block_bytes;
    size_t fan_in;
    struct cv_batch_builder rows; /* not yet sorted */
    size_t row_count;
    struct cv_buf keys;
    struct entry *entries;
    size_t entry_capacity;
    struct cv_arena scratch;
    struct cv_buf fragment;
    struct run runs[RUNS_MAX];
    size_t run_count;
    int64_t spilled;
};

struct cv_row_sorter *cv_row_sorter_new(const struct cv_schema *schema,
                                        const struct cv_sort_plan *plan, size_t memory_bytes,
                                        const char *spill_directory)
{
    struct cv_row_sorter *sorter = cv_alloc(sizeof *sorter);

    sorter->schema = schema;
    sorter->plan = plan;
    sorter->folder = cv_spill_folder(spill_directory);
    sorter->memory_bytes = CV_MAX(memory_bytes, CV_ROW_SORTER_MEMORY_BYTES_MIN);
    sorter->block_bytes = sorter->memory_bytes / 8 / CV_ROW_SORTER_FAN_IN_MAX;
    sorter->block_bytes = CV_MAX(BLOCK_MIN, CV_MIN(sorter->block_bytes, BLOCK_MAX));
    sorter->fan_in =
        sorter->memory_bytes / 4 / (sorter->block_bytes + schema->root.field_count * COLUMN_BYTES);
    sorter->fan_in = CV_MAX(FAN_IN_MIN, CV_MIN(sorter->fan_in, CV_ROW_SORTER_FAN_IN_MAX));
    cv_batch_builder_init(&sorter->rows, schema);
    return sorter;
}

void cv_row_sorter_free(struct cv_row_sorter *sorter)
{
    if (!sorter)
        return;
    for (size_t i = 0; i < sorter->run_count; i++)
        (void)close(sorter->runs[i].descriptor);
    cv_batch_builder_release(&sorter->rows);
    cv_buf_release(&sorter->keys);
    cv_buf_release(&sorter->fragment);
    cv_arena_release(&sorter->scratch);
    free(sorter->entries);
    free(sorter);
}

int64_t cv_row_sorter_spilled(const struct cv_row_sorter *sorter)
{
    return sorter->spilled;
}

/* --- rows in memory -------------------------------------------------------------------------- */

static uint64_t prefix_of(const uint8_t *key, size_t length)
{
    uint64_t prefix = 0;

    for (size_t i = 0; i < PREFIX_BYTES; i++)
        prefix = prefix << 8 | (i < length ? key[i] : 0);
    return prefix;
}

static int compare_keys(const uint8_t *a, size_t a_length, const uint8_t *b, size_t b_length)
{
    int result = memcmp(a, b, CV_MIN(a_length, b_length));

    return result ? result : (a_length > b_length) - (a_length < b_length);
}

static int compare_entries(const void *a, const void *b, void *keys)
{
    const struct entry *left = a;
    const struct entry *right = b;
    const struct cv_buf *buf = keys;
    int result;

    if (left->prefix != right->prefix)
        return left->prefix < right->prefix ? -1 : 1;
    result = compare_keys(buf->data + left->offset, left->length, buf->data + right->offset,
                          right->length);
    return result ? result : (left->row > right->row) - (left->row < right->row);
}

/* The rows in their order; the caller frees it. */
static uint32_t *sort_rows(struct cv_row_sorter *sorter)
{
    uint32_t *index = cv_alloc(sorter->row_count * sizeof *index);

    if (sorter->row_count)
        qsort_r(sorter->entries, sorter->row_count, sizeof *sorter->entries, compare_entries,
                &sorter->keys);
    for (size_t i = 0; i < sorter->row_count; i++)
        index[i] = sorter->entries[i].row;
    return index;
}

static void clear_rows(struct cv_row_sorter *sorter)
{
    cv_batch_builder_clear(&sorter->rows);
    cv_buf_clear(&sorter->keys);
    sorter->row_count = 0;
}

/* Writes some rows of a batch as one block of a run. */
static enum cv_code write_block(struct cv_row_sorter *sorter, struct run *run,
                                const struct cv_batch *batch, const struct cv_rows *rows,
                                struct cv_error *err)
{
    uint32_t header[2] = {(uint32_t)rows->count, 0};

    cv_buf_clear(&sorter->fragment);
    cv_buf_append(&sorter->fragment, header, HEADER_BYTES);
    cv_fragment_write(batch, rows, &sorter->scratch, &sorter->fragment);
    CV_DO(cv_buf_check(&sorter->fragment, "rows being sorted", err));
    header[1] = (uint32_t)(sorter->fragment.length - HEADER_BYTES);
    memcpy(sorter->fragment.data, header, HEADER_BYTES);
    CV_DO(cv_write_all(run->descriptor, sorter->fragment.data, sorter->fragment.length,
                       sorter->folder, err));
    run->length += (int64_t)sorter->fragment.length;
    sorter->spilled += (int64_t)sorter->fragment.length;
    return CV_OK;
}

/* Rows of a block: as many as fill it by the average. */
static size_t rows_of_block(const struct cv_row_sorter *sorter, size_t bytes, size_t rows)
{
    size_t average = bytes / CV_MAX(rows, 1) + 1;

    return CV_MAX(1, CV_MIN(sorter->block_bytes / average, ROWS_IN_BLOCK));
}

static enum cv_code merge_levels(struct cv_row_sorter *sorter, struct cv_error *err);

static enum cv_code spill_rows(struct cv_row_sorter *sorter, struct cv_error *err)
{
    size_t step = rows_of_block(sorter, cv_batch_builder_bytes(&sorter->rows), sorter->row_count);
    CV_CLEANUP(cv_freep) uint32_t *index = NULL;
    struct cv_batch batch;
    struct run *run;

    if (!sorter->row_count)
        return CV_OK;
    if (sorter->run_count == RUNS_MAX)
        return cv_fail(err, CV_LIMIT, "too many rows to sort in %zu bytes of memory",
                       sorter->memory_bytes);
    index = sort_rows(sorter);
    run = &sorter->runs[sorter->run_count];
    *run = (struct run){0};
    CV_DO(cv_spill_file_open(sorter->folder, &run->descriptor, err));
    sorter->run_count++;
    cv_batch_builder_view(&sorter->rows, &batch);
    for (size_t at = 0; at < sorter->row_count; at += step)
        CV_DO(write_block(
            sorter, run, &batch,
            &(struct cv_rows){.index = index + at, .count = CV_MIN(step, sorter->row_count - at)},
            err));
    clear_rows(sorter);
    return merge_levels(sorter, err);
}

static enum cv_code add_keys(struct cv_row_sorter *sorter, const struct cv_batch *batch,
                             struct cv_error *err)
{
    size_t need = sorter->row_count + batch->row_count;

    if (need > UINT32_MAX)
        return cv_fail(err, CV_LIMIT, "%zu rows to sort at once", need);
    cv_array_reserve(&sorter->entries, &sorter->entry_capacity, need);
    for (size_t row = 0; row < batch->row_count; row++) {
        struct entry *entry = &sorter->entries[sorter->row_count + row];
        size_t start = sorter->keys.length;

        CV_DO(cv_sort_key_write(sorter->plan, batch, row, &sorter->keys, err));
        entry->offset = (uint32_t)start;
        entry->length = (uint32_t)(sorter->keys.length - start);
        entry->prefix = prefix_of(sorter->keys.data + start, entry->length);
        entry->row = (uint32_t)(sorter->row_count + row);
    }
    return CV_OK;
}

enum cv_code cv_row_sorter_add(struct cv_row_sorter *sorter, const struct cv_batch *batch,
                               struct cv_error *err)
{
    struct cv_rows all = {.count = batch->row_count};
    size_t used;

    CV_DO(add_keys(sorter, batch, err));
    CV_DO(cv_batch_builder_append_rows(&sorter->rows, batch, &all, err));
    sorter->row_count += batch->row_count;
    /* Builders and buffers grow by doubling: what is in use may stand in twice the memory. */
    used = cv_batch_builder_bytes(&sorter->rows) + sorter->keys.length +
           sorter->row_count * (sizeof *sorter->entries + sizeof(uint32_t));
    return used > sorter->memory_bytes / 3 ? spill_rows(sorter, err) : CV_OK;
}

/* --- merging --------------------------------------------------------------------------------- */

/* Walks a run: the rows of one block with their keys. */
struct cursor {
    const struct run *run;
    int64_t at;
    struct cv_batch_builder rows;
    struct cv_batch batch;
    size_t row; /* the next one */
    struct cv_buf keys;
    uint32_t offsets[ROWS_IN_BLOCK + 1];
    size_t number; /* of the run */
};

struct merge {
    struct cv_row_sorter *sorter;
    struct cursor *cursors;
    size_t count;
    struct cursor **heap; /* least first */
    size_t heap_count;
    struct cv_buf block;
    struct cv_batch_builder out;
    size_t out_rows;
};

static void merge_release(struct merge *merge)
{
    for (size_t i = 0; i < merge->count; i++) {
        cv_batch_builder_release(&merge->cursors[i].rows);
        cv_buf_release(&merge->cursors[i].keys);
    }
    free(merge->cursors);
    free(merge->heap);
    cv_buf_release(&merge->block);
    cv_batch_builder_release(&merge->out);
}

static enum cv_code read_keys(struct merge *merge, struct cursor *cursor, struct cv_error *err)
{
    cv_buf_clear(&cursor->keys);
    for (size_t row = 0; row < cursor->batch.row_count; row++) {
        cursor->offsets[row] = (uint32_t)cursor->keys.length;
        CV_DO(cv_sort_key_write(merge->sorter->plan, &cursor->batch, row, &cursor->keys, err));
    }
    cursor->offsets[cursor->batch.row_count] = (uint32_t)cursor->keys.length;
    return CV_OK;
}

/* The next block; batch.row_count 0 at the end. */
static enum cv_code read_block(struct merge *merge, struct cursor *cursor, struct cv_error *err)
{
    struct cv_row_sorter *sorter = merge->sorter;
    uint32_t header[2];

    cursor->row = 0;
    cursor->batch.row_count = 0;
    if (cursor->at == cursor->run->length)
        return CV_OK;
    CV_DO(cv_spill_file_read(cursor->run->descriptor, sorter->folder, header, HEADER_BYTES,
                             cursor->at, err));
    if (header[0] == 0 || header[0] > ROWS_IN_BLOCK ||
        (int64_t)header[1] > cursor->run->length - cursor->at - HEADER_BYTES)
        return cv_fail(err, CV_IO, "spilled rows in %s are damaged", sorter->folder);
    cv_buf_clear(&merge->block);
    if (!cv_buf_reserve(&merge->block, header[1]))
        return cv_buf_check(&merge->block, "spilled rows", err);
    CV_DO(cv_spill_file_read(cursor->run->descriptor, sorter->folder, merge->block.data, header[1],
                             cursor->at + HEADER_BYTES, err));
    cursor->at += HEADER_BYTES + (int64_t)header[1];
    cv_batch_builder_clear(&cursor->rows);
    CV_DO(cv_fragment_read(merge->block.data, header[1], header[0], &cursor->rows, err));
    cv_batch_builder_view(&cursor->rows, &cursor->batch);
    return read_keys(merge, cursor, err);
}

static int compare_at(const struct cursor *a, size_t a_row, const struct cursor *b)
{
    int result = compare_keys(
        a->keys.data + a->offsets[a_row], a->offsets[a_row + 1] - a->offsets[a_row],
        b->keys.data + b->offsets[b->row], b->offsets[b->row + 1] - b->offsets[b->row]);

    return result ? result : (a->number > b->number) - (a->number < b->number);
}

static bool is_before(const struct merge *merge, size_t i, size_t k)
{
    return compare_at(merge->heap[i], merge->heap[i]->row, merge->heap[k]) < 0;
}

static void sift_down(struct merge *merge, size_t i)
{
    for (;;) {
        size_t least = i;

        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < merge->heap_count; child++)
            if (is_before(merge, child, least))
                least = child;
        if (least == i)
            return;

        struct cursor *swap = merge->heap[i];

        merge->heap[i] = merge->heap[least];
        merge->heap[least] = swap;
        i = least;
    }
}

static enum cv_code open_merge(struct merge *merge, size_t first, size_t count,
                               struct cv_error *err)
{
    merge->cursors = cv_alloc(count * sizeof *merge->cursors);
    merge->heap = cv_alloc(count * sizeof(struct cursor *));
    cv_batch_builder_init(&merge->out, merge->sorter->schema);
    for (size_t i = 0; i < count; i++) {
        struct cursor *cursor = &merge->cursors[i];

        merge->count++;
        cursor->run = &merge->sorter->runs[first + i];
        cursor->number = i;
        cv_batch_builder_init(&cursor->rows, merge->sorter->schema);
        CV_DO(read_block(merge, cursor, err));
        if (cursor->batch.row_count)
            merge->heap[merge->heap_count++] = cursor;
    }
    for (size_t i = merge->heap_count / 2; i-- > 0;)
        sift_down(merge, i);
    return CV_OK;
}

/* Rows of the first cursor that come before every other one's next row. */
static size_t leading_rows(const struct merge *merge)
{
    const struct cursor *top = merge->heap[0];
    const struct cursor *next = merge->heap_count > 1 ? merge->heap[1] : NULL;
    size_t row = top->row + 1;

    if (merge->heap_count > 2 && is_before(merge, 2, 1))
        next = merge->heap[2];
    if (!next)
        return top->batch.row_count - top->row;
    while (row < top->batch.row_count && compare_at(top, row, next) < 0)
        row++;
    return row - top->row;
}

static enum cv_code emit(struct merge *merge, cv_row_sorter_each *each, void *context,
                         struct cv_error *err)
{
    struct cv_batch batch;

    if (!merge->out_rows)
        return CV_OK;
    cv_batch_builder_view(&merge->out, &batch);
    CV_DO(each(context, &batch, err));
    cv_batch_builder_clear(&merge->out);
    merge->out_rows = 0;
    return CV_OK;
}

static enum cv_code copy_rows(struct merge *merge, const struct cv_batch *batch,
                              const struct cv_rows *rows, struct cv_error *err)
{
    merge->out_rows += rows->count;
    return cv_batch_builder_append_rows(&merge->out, batch, rows, err);
}

/* Merges runs [first, first + count). */
static enum cv_code merge_runs(struct cv_row_sorter *sorter, size_t first, size_t count,
                               size_t emit_bytes, cv_row_sorter_each *each, void *context,
                               struct cv_error *err)
{
    CV_CLEANUP(merge_release) struct merge merge = {.sorter = sorter};

    CV_DO(open_merge(&merge, first, count, err));
    while (merge.heap_count) {
        struct cursor *top = merge.heap[0];
        struct cv_rows rows = {.start = top->row,
                               .count =
                                   CV_MIN(leading_rows(&merge), ROWS_IN_BLOCK - merge.out_rows)};

        CV_DO(copy_rows(&merge, &top->batch, &rows, err));
        top->row += rows.count;
        if (top->row == top->batch.row_count)
            CV_DO(read_block(&merge, top, err));
        if (!top->batch.row_count)
            merge.heap[0] = merge.heap[--merge.heap_count];
        sift_down(&merge, 0);
        if (merge.out_rows == ROWS_IN_BLOCK || cv_batch_builder_bytes(&merge.out) >= emit_bytes)
            CV_DO(emit(&merge, each, context, err));
    }
    return emit(&merge, each, context, err);
}

struct rewriting {
    struct cv_row_sorter *sorter;
    struct run run;
};

static enum cv_code take_block(void *context, const struct cv_batch *batch, struct cv_error *err)
{
    struct rewriting *rewriting = context;

    return write_block(rewriting->sorter, &rewriting->run, batch,
                       &(struct cv_rows){.count = batch->row_count}, err);
}

/* The last runs become one. */
static enum cv_code merge_last(struct cv_row_sorter *sorter, struct cv_error *err)
{
    size_t first = sorter->run_count - sorter->fan_in;
    struct rewriting rewriting = {sorter, {.level = sorter->runs[first].level + 1}};
    enum cv_code code;

    CV_DO(cv_spill_file_open(sorter->folder, &rewriting.run.descriptor, err));
    code =
        merge_runs(sorter, first, sorter->fan_in, sorter->block_bytes, take_block, &rewriting, err);
    if (code != CV_OK) {
        (void)close(rewriting.run.descriptor);
        return code;
    }
    for (size_t i = first; i < sorter->run_count; i++)
        (void)close(sorter->runs[i].descriptor);
    sorter->runs[first] = rewriting.run;
    sorter->run_count = first + 1;
    return CV_OK;
}

/* As soon as there are fan_in runs of one level, they become one of the next. */
static enum cv_code merge_levels(struct cv_row_sorter *sorter, struct cv_error *err)
{
    while (sorter->run_count >= sorter->fan_in &&
           sorter->runs[sorter->run_count - sorter->fan_in].level ==
               sorter->runs[sorter->run_count - 1].level)
        CV_DO(merge_last(sorter, err));
    return CV_OK;
}

static enum cv_code emit_memory(struct cv_row_sorter *sorter, cv_row_sorter_each *each,
                                void *context, struct cv_error *err)
{
    CV_CLEANUP(cv_freep) uint32_t *index = sort_rows(sorter);
    CV_CLEANUP(merge_release) struct merge merge = {.sorter = sorter};
    struct cv_batch rows;
    size_t step = rows_of_block(sorter, cv_batch_builder_bytes(&sorter->rows), sorter->row_count);

    cv_batch_builder_init(&merge.out, sorter->schema);
    cv_batch_builder_view(&sorter->rows, &rows);
    for (size_t at = 0; at < sorter->row_count; at += step) {
        CV_DO(copy_rows(
            &merge, &rows,
            &(struct cv_rows){.index = index + at, .count = CV_MIN(step, sorter->row_count - at)},
            err));
        CV_DO(emit(&merge, each, context, err));
    }
    return CV_OK;
}

enum cv_code cv_row_sorter_drain(struct cv_row_sorter *sorter, cv_row_sorter_each *each,
                                 void *context, struct cv_error *err)
{
    if (!sorter->run_count)
        return emit_memory(sorter, each, context, err);
    CV_DO(spill_rows(sorter, err));
    while (sorter->run_count > sorter->fan_in)
        CV_DO(merge_last(sorter, err));
    return merge_runs(sorter, 0, sorter->run_count, EMIT_BYTES, each, context, err);
}
