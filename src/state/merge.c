/* SPDX-License-Identifier: Apache-2.0
 *
 * A tournament of inputs. Each row has its key as bytes (batch/keyed.h), so that two keys are
 * compared by their first eight bytes and rarely by more. Rows that follow each other in one input
 * and come before all others are copied together. */
#include "state/merge.h"

#include "batch/gather.h"

#include <stdlib.h>

#define CHECK_ROWS 64 /* after so many more, the size of what is built is looked at */

struct key {
    uint64_t prefix; /* the first eight bytes, big-endian */
    const uint8_t *bytes;
    size_t length;
};

struct cursor {
    struct cv_merge_input input;
    struct cv_batch batch;
    uint32_t *index; /* the rows of the batch that count, when not all do */
    size_t index_capacity;
    bool selected; /* by index */
    size_t count;  /* rows that count */
    size_t at;
    struct cv_buf keys;
    uint32_t *offsets; /* count + 1 */
    size_t offset_capacity;
    struct key key; /* of the row at hand */
    bool ended;
};

struct cv_merge_reader {
    const struct cv_keyed *keyed;
    struct cursor *cursors;
    size_t count, capacity;
    bool lacking;
    bool started;
    bool broken;
    size_t *losers; /* [1 … count-1]; [0] = the winner */
    struct cv_batch_builder out;
    size_t out_rows;
    size_t checked_rows;
    struct cursor *pending; /* rows of it are to be copied: */
    size_t pending_start, pending_count;
    bool has_last; /* the key of the last row that was taken */
    struct key last;
    struct cursor *last_of; /* whose keys it lies in; NULL = in last_bytes */
    struct cv_buf last_bytes;
};

struct cv_merge_reader *cv_merge_reader_new(const struct cv_keyed *keyed)
{
    struct cv_merge_reader *reader = cv_alloc(sizeof *reader);

    reader->keyed = keyed;
    cv_batch_builder_init(&reader->out, keyed->schema);
    return reader;
}

void cv_merge_reader_free(struct cv_merge_reader *reader)
{
    if (!reader)
        return;
    for (size_t i = 0; i < reader->count; i++) {
        struct cursor *cursor = &reader->cursors[i];

        if (cursor->input.free)
            cursor->input.free(cursor->input.context);
        cv_buf_release(&cursor->keys);
        free(cursor->index);
        free(cursor->offsets);
    }
    free(reader->cursors);
    free(reader->losers);
    cv_batch_builder_release(&reader->out);
    cv_buf_release(&reader->last_bytes);
    free(reader);
}

void cv_merge_reader_add(struct cv_merge_reader *reader, const struct cv_merge_input *input)
{
    cv_array_reserve(&reader->cursors, &reader->capacity, reader->count + 1);
    reader->cursors[reader->count++] = (struct cursor){.input = *input};
}

void cv_merge_reader_lacking(struct cv_merge_reader *reader, const struct cv_schema *schema)
{
    reader->lacking = true;
    cv_batch_builder_release(&reader->out);
    cv_batch_builder_init(&reader->out, schema);
}

const struct cv_keyed *cv_merge_reader_keyed(const struct cv_merge_reader *reader)
{
    return reader->keyed;
}

/* --- keys ------------------------------------------------------------------------------------ */

static uint64_t prefix_of(const uint8_t *bytes, size_t length)
{
    uint64_t prefix = 0;

    memcpy(&prefix, bytes, CV_MIN(length, sizeof prefix));
    return __builtin_bswap64(prefix);
}

static int compare_keys(const struct key *a, const struct key *b)
{
    int result;

    if (a->prefix != b->prefix)
        return a->prefix < b->prefix ? -1 : 1;
    result = memcmp(a->bytes, b->bytes, CV_MIN(a->length, b->length));
    return result ? result : (a->length > b->length) - (a->length < b->length);
}

static struct key key_at(const struct cursor *cursor, size_t at)
{
    const uint8_t *bytes = cursor->keys.data + cursor->offsets[at];
    size_t length = cursor->offsets[at + 1] - cursor->offsets[at];

    return (struct key){prefix_of(bytes, length), bytes, length};
}

static size_t row_at(const struct cursor *cursor, size_t at)
{
    return cursor->selected ? cursor->index[at] : at;
}

static bool counts(const struct cv_merge_input *input, size_t column, const struct cv_batch *batch,
                   size_t row)
{
    int64_t expiry;

    if (!cv_keyed_timestamp(batch, column, row, &expiry))
        return !input->has_closing;
    return (!input->has_closed || expiry > input->closed_us) &&
           (!input->has_closing || expiry <= input->closing_us);
}

/* Which rows of the batch count. */
static void select_rows(struct cursor *cursor, size_t column)
{
    const struct cv_merge_input *input = &cursor->input;
    size_t rows = cursor->batch.row_count;

    cursor->selected = false;
    cursor->count = rows;
    if (column == SIZE_MAX || (!input->has_closed && !input->has_closing))
        return;
    cv_array_reserve(&cursor->index, &cursor->index_capacity, rows);
    cursor->count = 0;
    for (size_t row = 0; row < rows; row++)
        if (counts(input, column, &cursor->batch, row))
            cursor->index[cursor->count++] = (uint32_t)row;
    cursor->selected = cursor->count < rows;
}

/* Whether no later row can count, as the rows are ordered by their expiry first of all. */
static bool is_past_closing(const struct cursor *cursor, size_t column)
{
    size_t rows = cursor->batch.row_count;
    int64_t expiry;

    return column == 0 && cursor->input.has_closing && rows &&
           cv_keyed_timestamp(&cursor->batch, 0, rows - 1, &expiry) &&
           expiry > cursor->input.closing_us && cursor->count == 0;
}

static enum cv_code write_keys(const struct cv_merge_reader *reader, struct cursor *cursor,
                               struct cv_error *err)
{
    cv_buf_clear(&cursor->keys);
    cv_array_reserve(&cursor->offsets, &cursor->offset_capacity, cursor->count + 1);
    for (size_t at = 0; at < cursor->count; at++) {
        cursor->offsets[at] = (uint32_t)cursor->keys.length;
        cv_keyed_write_key(reader->keyed, &cursor->batch, row_at(cursor, at), &cursor->keys);
    }
    cursor->offsets[cursor->count] = (uint32_t)cursor->keys.length;
    /* A key without columns is no byte, and has an address all the same. */
    if (!cv_buf_reserve(&cursor->keys, 8))
        return cv_buf_check(&cursor->keys, "keys", err);
    return cv_buf_check(&cursor->keys, "keys", err);
}

/* The next batch with rows that count. */
static enum cv_code load(const struct cv_merge_reader *reader, struct cursor *cursor,
                         struct cv_error *err)
{
    const size_t column = reader->keyed->expiry_column;

    cursor->at = 0;
    cursor->count = 0;
    while (!cursor->count && !cursor->ended) {
        CV_DO(cursor->input.next(cursor->input.context, &cursor->batch, err));
        select_rows(cursor, column);
        cursor->ended = cursor->batch.row_count == 0 || is_past_closing(cursor, column);
    }
    if (cursor->ended)
        return CV_OK;
    CV_DO(write_keys(reader, cursor, err));
    cursor->key = key_at(cursor, 0);
    return CV_OK;
}

/* --- the tournament -------------------------------------------------------------------------- */

/* Whether input a's row stands before input b's; of equal keys the older input's. */
static bool beats(const struct cv_merge_reader *reader, size_t a, size_t b)
{
    const struct cursor *left = &reader->cursors[a];
    const struct cursor *right = &reader->cursors[b];
    int result;

    if (left->ended || right->ended)
        return !left->ended || (right->ended && a < b);
    result = compare_keys(&left->key, &right->key);
    return result ? result < 0 : a < b;
}

static size_t play(struct cv_merge_reader *reader, size_t node)
{
    size_t left, right;

    if (node >= reader->count)
        return node - reader->count;
    left = play(reader, 2 * node);
    right = play(reader, 2 * node + 1);
    if (beats(reader, left, right)) {
        reader->losers[node] = right;
        return left;
    }
    reader->losers[node] = left;
    return right;
}

/* The winner's row has changed. */
static void replay(struct cv_merge_reader *reader)
{
    size_t winner = reader->losers[0];

    for (size_t node = (winner + reader->count) / 2; node > 0; node /= 2)
        if (beats(reader, reader->losers[node], winner)) {
            size_t swap = reader->losers[node];

            reader->losers[node] = winner;
            winner = swap;
        }
    reader->losers[0] = winner;
}

/* The best of all but the winner; NULL when there is none. */
static const struct cursor *challenger_of(const struct cv_merge_reader *reader)
{
    size_t best = SIZE_MAX;

    for (size_t node = (reader->losers[0] + reader->count) / 2; node > 0; node /= 2)
        if (best == SIZE_MAX || beats(reader, reader->losers[node], best))
            best = reader->losers[node];
    return best == SIZE_MAX || reader->cursors[best].ended ? NULL : &reader->cursors[best];
}

static enum cv_code start(struct cv_merge_reader *reader, struct cv_error *err)
{
    if (reader->started || !reader->count)
        return CV_OK;
    reader->started = true;
    for (size_t i = 0; i < reader->count; i++)
        CV_DO(load(reader, &reader->cursors[i], err));
    reader->losers = cv_alloc(reader->count * sizeof *reader->losers);
    reader->losers[0] = play(reader, 1);
    return CV_OK;
}

/* --- rows ------------------------------------------------------------------------------------ */

static enum cv_code copy_pending(struct cv_merge_reader *reader, struct cv_error *err)
{
    const struct cursor *cursor = reader->pending;
    struct cv_rows rows = {.start = reader->pending_start, .count = reader->pending_count};

    if (!rows.count)
        return CV_OK;
    if (cursor->selected)
        rows.index = cursor->index + rows.start;
    reader->pending_count = 0;
    return cv_batch_builder_append_rows(&reader->out, &cursor->batch, &rows, err);
}

/* The winner's next `count` rows are rows of the result. */
static enum cv_code take_rows(struct cv_merge_reader *reader, struct cursor *cursor, size_t count,
                              struct cv_error *err)
{
    if (!reader->pending_count || reader->pending != cursor ||
        reader->pending_start + reader->pending_count != cursor->at) {
        CV_DO(copy_pending(reader, err));
        reader->pending = cursor;
        reader->pending_start = cursor->at;
    }
    reader->pending_count += count;
    reader->out_rows += count;
    return CV_OK;
}

static void remember(struct cv_merge_reader *reader, struct cursor *cursor, size_t at)
{
    reader->last = key_at(cursor, at);
    reader->last_of = cursor;
    reader->has_last = true;
}

/* Past some rows of the winner; its memory may change, so what refers to it is copied before. */
static enum cv_code advance(struct cv_merge_reader *reader, struct cursor *cursor, size_t count,
                            struct cv_error *err)
{
    cursor->at += count;
    if (cursor->at < cursor->count) {
        cursor->key = key_at(cursor, cursor->at);
        return CV_OK;
    }
    CV_DO(copy_pending(reader, err));
    if (reader->last_of == cursor) {
        cv_buf_clear(&reader->last_bytes);
        cv_buf_append(&reader->last_bytes, reader->last.bytes, reader->last.length);
        if (!cv_buf_reserve(&reader->last_bytes, 8))
            return cv_buf_check(&reader->last_bytes, "a key", err);
        reader->last.bytes = reader->last_bytes.data;
        reader->last_of = NULL;
    }
    return load(reader, cursor, err);
}

/* How many rows of the winner come before every other input's, the row at hand being one. */
static size_t leading_rows(const struct cv_merge_reader *reader, const struct cursor *cursor,
                           size_t most)
{
    const struct cursor *other = challenger_of(reader);
    const size_t end = CV_MIN(cursor->count, cursor->at + most);
    size_t at = cursor->at + 1;
    struct key key;

    if (!other)
        return end - cursor->at;
    for (; at < end; at++) {
        key = key_at(cursor, at);
        if (compare_keys(&key, &other->key) >= 0)
            break;
    }
    return at - cursor->at;
}

static bool is_full(struct cv_merge_reader *reader)
{
    if (reader->out_rows >= CV_BLOCK_ROWS)
        return true;
    if (reader->out_rows < reader->checked_rows + CHECK_ROWS)
        return false;
    reader->checked_rows = reader->out_rows;
    return cv_batch_builder_bytes(&reader->out) >= CV_BLOCK_BYTES;
}

/* One step with the winner; *ret_done when the rows of the batch are complete. */
static enum cv_code step(struct cv_merge_reader *reader, bool *streak, bool *ret_done,
                         struct cv_error *err)
{
    const size_t winner = reader->losers[0];
    struct cursor *cursor = &reader->cursors[winner];
    const bool emits = !reader->lacking || winner == reader->count - 1;
    const bool same = reader->has_last && compare_keys(&cursor->key, &reader->last) == 0;
    size_t count = 1;

    if (same && !reader->lacking) {
        CV_DO(copy_pending(reader, err));
        CV_DO(cv_keyed_merge(reader->keyed, &reader->out, &cursor->batch,
                             row_at(cursor, cursor->at), err));
    } else if (!same) {
        *ret_done = reader->out_rows && is_full(reader);
        if (*ret_done)
            return CV_OK;
        if (*streak)
            count = leading_rows(reader, cursor, CV_BLOCK_ROWS - reader->out_rows % CV_BLOCK_ROWS);
        if (emits)
            CV_DO(take_rows(reader, cursor, count, err));
        remember(reader, cursor, cursor->at + count - 1);
    }
    CV_DO(advance(reader, cursor, count, err));
    replay(reader);
    *streak = reader->losers[0] == winner;
    return CV_OK;
}

static enum cv_code build(struct cv_merge_reader *reader, struct cv_error *err)
{
    bool done = false, streak = false;

    cv_batch_builder_clear(&reader->out);
    reader->out_rows = 0;
    reader->checked_rows = 0;
    reader->has_last = reader->has_last && reader->lacking;
    CV_DO(start(reader, err));
    while (!done && reader->count && !reader->cursors[reader->losers[0]].ended)
        CV_DO(step(reader, &streak, &done, err));
    return copy_pending(reader, err);
}

/* One input, of which all rows count, is the result. */
static bool passes_through(const struct cv_merge_reader *reader)
{
    const struct cv_merge_input *input = &reader->cursors[0].input;

    return !reader->lacking && (reader->keyed->expiry_column == SIZE_MAX ||
                                (!input->has_closed && !input->has_closing));
}

enum cv_code cv_merge_reader_next(struct cv_merge_reader *reader, struct cv_batch *ret_batch,
                                  struct cv_error *err)
{
    enum cv_code code;

    if (reader->broken)
        return cv_fail(err, CV_INTERNAL, "rows of a state are read on after a failure");
    if (reader->count == 1 && passes_through(reader)) {
        CV_DO(reader->cursors[0].input.next(reader->cursors[0].input.context, ret_batch, err));
        ret_batch->schema = reader->keyed->schema;
        return CV_OK;
    }
    code = build(reader, err);
    reader->broken = code != CV_OK;
    if (code == CV_OK)
        cv_batch_builder_view(&reader->out, ret_batch);
    return code;
}

enum cv_code cv_merge_reader_collect(struct cv_merge_reader *reader, struct cv_blocks *into,
                                     struct cv_error *err)
{
    struct cv_batch batch;

    for (;;) {
        CV_DO(cv_merge_reader_next(reader, &batch, err));
        if (!batch.row_count)
            return CV_OK;
        if (reader->count == 1 && passes_through(reader))
            CV_DO(cv_blocks_append(into, &batch, err));
        else
            cv_blocks_take(into, &reader->out);
    }
}

/* --- inputs ---------------------------------------------------------------------------------- */

struct block_input {
    const struct cv_blocks *blocks;
    struct cv_blocks *taken; /* the same, when they are given back */
    size_t at;
};

static enum cv_code next_block(void *context, struct cv_batch *ret_batch, struct cv_error *err)
{
    struct block_input *input = context;

    (void)err;
    if (input->taken && input->at)
        cv_batch_builder_release(&input->taken->items[input->at - 1]);
    if (input->at == input->blocks->count) {
        *ret_batch = (struct cv_batch){.schema = input->blocks->schema};
        return CV_OK;
    }
    /* The views of a block belong to it: a block is read in one place at a time. */
    cv_batch_builder_view(&input->blocks->items[input->at++], ret_batch);
    return CV_OK;
}

static void free_block_input(void *context)
{
    struct block_input *input = context;

    cv_blocks_free(input->taken);
    free(input);
}

struct cv_merge_input cv_merge_input_of_blocks(const struct cv_blocks *blocks)
{
    struct block_input *input = cv_alloc(sizeof *input);

    input->blocks = blocks;
    return (struct cv_merge_input){.next = next_block, .free = free_block_input, .context = input};
}

struct cv_merge_input cv_merge_input_taking_blocks(struct cv_blocks *blocks)
{
    struct block_input *input = cv_alloc(sizeof *input);

    input->blocks = blocks;
    input->taken = blocks;
    return (struct cv_merge_input){.next = next_block, .free = free_block_input, .context = input};
}

static enum cv_code next_of_reader(void *context, struct cv_batch *ret_batch, struct cv_error *err)
{
    return cv_merge_reader_next(context, ret_batch, err);
}

struct cv_merge_input cv_merge_input_of_reader(struct cv_merge_reader *reader)
{
    return (struct cv_merge_input){.next = next_of_reader, .context = reader};
}

struct projected_input {
    struct cv_merge_reader *reader;
    const struct cv_keyed *keyed;
    size_t *columns;
    struct cv_column *views;
};

static enum cv_code next_projected(void *context, struct cv_batch *ret_batch, struct cv_error *err)
{
    struct projected_input *input = context;
    const size_t count = input->keyed->schema->root.field_count;
    struct cv_batch batch;

    CV_DO(cv_merge_reader_next(input->reader, &batch, err));
    for (size_t i = 0; i < count && batch.row_count; i++) {
        input->views[i] = batch.columns[input->columns[i]];
        input->views[i].type = &input->keyed->schema->root.fields[i].type;
    }
    *ret_batch = (struct cv_batch){input->keyed->schema, input->views, count, batch.row_count};
    return CV_OK;
}

static void free_projected(void *context)
{
    struct projected_input *input = context;

    free(input->columns);
    free(input->views);
    free(input);
}

enum cv_code cv_merge_reader_project(struct cv_merge_reader *reader, const struct cv_keyed *keyed,
                                     const size_t *columns, struct cv_merge_reader **ret_reader,
                                     struct cv_error *err)
{
    const size_t count = keyed->schema->root.field_count;
    struct projected_input *input = cv_alloc(sizeof *input);
    struct cv_merge_input projected = {
        .next = next_projected, .free = free_projected, .context = input};

    (void)err;
    input->reader = reader;
    input->keyed = keyed;
    input->columns = cv_realloc_array(NULL, count, sizeof *columns);
    memcpy(input->columns, columns, count * sizeof *columns);
    input->views = cv_alloc(count * sizeof *input->views);
    *ret_reader = cv_merge_reader_new(keyed);
    cv_merge_reader_add(*ret_reader, &projected);
    return CV_OK;
}
