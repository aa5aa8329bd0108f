/* SPDX-License-Identifier: Apache-2.0
 *
 * The waiting rows, their file and the merge of its runs. */
#include "data/spill.h"

#include "base/file.h"

#include <stdlib.h>
#include <unistd.h>

#define HEADER_BYTES   16
#define WRITE_BYTES    ((size_t)256 * 1024)
#define READ_BYTES_MIN ((size_t)4 * 1024)
#define READ_BYTES_MAX ((size_t)256 * 1024)
#define RUNS_MAX       100000

void cv_spill_init(struct cv_spill *spill, const char *folder, size_t memory_max)
{
    *spill = (struct cv_spill){.folder = folder, .memory_max = memory_max, .descriptor = -1};
    (void)pthread_mutex_init(&spill->lock, NULL);
}

void cv_spill_release(struct cv_spill *spill)
{
    if (spill->descriptor >= 0)
        (void)close(spill->descriptor);
    cv_arena_release(&spill->arena);
    free(spill->fragments);
    free(spill->runs);
    (void)pthread_mutex_destroy(&spill->lock);
    *spill = (struct cv_spill){.descriptor = -1};
}

bool cv_spill_is_empty(const struct cv_spill *spill)
{
    return spill->count == 0 && spill->run_count == 0;
}

static size_t memory_of(const struct cv_spill *spill)
{
    return spill->arena.bytes + spill->capacity * sizeof *spill->fragments;
}

size_t cv_spill_memory(struct cv_spill *spill)
{
    size_t bytes;

    (void)pthread_mutex_lock(&spill->lock);
    bytes = memory_of(spill);
    (void)pthread_mutex_unlock(&spill->lock);
    return bytes;
}

/* --- writing --------------------------------------------------------------------------------- */

static enum cv_code open_file(struct cv_spill *spill, struct cv_error *err)
{
    if (spill->descriptor >= 0)
        return CV_OK;
    return cv_spill_file_open(spill->folder, &spill->descriptor, err);
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t left, right;

    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    return (left > right) - (left < right);
}

/* Group and position of each fragment in one number, ascending: ordered by group, and stable. The
 * caller frees it. */
static uint64_t *sorted_keys(const struct cv_spill *spill)
{
    uint64_t *keys = cv_alloc(spill->count * sizeof *keys);

    for (size_t i = 0; i < spill->count; i++)
        keys[i] = (uint64_t)spill->fragments[i].group << 32 | i;
    if (spill->count)
        qsort(keys, spill->count, sizeof *keys, compare_keys);
    return keys;
}

static enum cv_code flush(struct cv_spill *spill, struct cv_buf *buf, struct cv_error *err)
{
    CV_DO(cv_write_all(spill->descriptor, buf->data, buf->length, spill->folder, err));
    spill->file_length += (int64_t)buf->length;
    cv_buf_clear(buf);
    return CV_OK;
}

static enum cv_code write_fragment(struct cv_spill *spill, const struct cv_spill_fragment *fragment,
                                   struct cv_buf *buf, struct cv_error *err)
{
    uint64_t length = fragment->length;

    cv_buf_append(buf, &fragment->group, sizeof fragment->group);
    cv_buf_append(buf, &fragment->rows, sizeof fragment->rows);
    cv_buf_append(buf, &length, sizeof length);
    if (fragment->length > WRITE_BYTES) {
        CV_DO(flush(spill, buf, err));
        CV_DO(
            cv_write_all(spill->descriptor, fragment->bytes, fragment->length, spill->folder, err));
        spill->file_length += (int64_t)fragment->length;
    } else {
        cv_buf_append(buf, fragment->bytes, fragment->length);
    }
    spill->rows_spilled += fragment->rows;
    spill->bytes_spilled += HEADER_BYTES + (int64_t)fragment->length;
    return buf->length >= WRITE_BYTES ? flush(spill, buf, err) : CV_OK;
}

/* What is in memory becomes a run of the file. */
static enum cv_code write_run(struct cv_spill *spill, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf buf = CV_BUF_INIT(4 * WRITE_BYTES);
    CV_CLEANUP(cv_freep) uint64_t *keys = NULL;
    struct cv_spill_run run;

    if (spill->run_count == RUNS_MAX)
        return cv_fail(err, CV_LIMIT, "more than %d runs of spilled rows", RUNS_MAX);
    CV_DO(open_file(spill, err));
    keys = sorted_keys(spill);
    run.start = spill->file_length;
    for (size_t i = 0; i < spill->count; i++)
        CV_DO(write_fragment(spill, &spill->fragments[(uint32_t)keys[i]], &buf, err));
    CV_DO(flush(spill, &buf, err));
    run.end = spill->file_length;
    cv_array_reserve(&spill->runs, &spill->run_capacity, spill->run_count + 1);
    spill->runs[spill->run_count++] = run;
    cv_arena_release(&spill->arena);
    spill->count = 0;
    return CV_OK;
}

static enum cv_code add(struct cv_spill *spill, const struct cv_spill_fragment *fragment,
                        struct cv_error *err)
{
    struct cv_spill_fragment kept = *fragment;

    if (spill->count && memory_of(spill) + fragment->length > spill->memory_max)
        CV_DO(write_run(spill, err));
    if (spill->count == UINT32_MAX)
        return cv_fail(err, CV_LIMIT, "more than %u pieces of waiting rows", UINT32_MAX);
    kept.bytes = cv_arena_copy(&spill->arena, fragment->bytes, fragment->length);
    cv_array_reserve(&spill->fragments, &spill->capacity, spill->count + 1);
    spill->fragments[spill->count++] = kept;
    return CV_OK;
}

enum cv_code cv_spill_add(struct cv_spill *spill, uint32_t group, uint32_t rows, const void *bytes,
                          size_t length, struct cv_error *err)
{
    const struct cv_spill_fragment fragment = {group, rows, length, bytes};
    enum cv_code code;

    (void)pthread_mutex_lock(&spill->lock);
    code = add(spill, &fragment, err);
    (void)pthread_mutex_unlock(&spill->lock);
    return code;
}

/* --- reading --------------------------------------------------------------------------------- */

/* Walks one run; `head` is its next fragment, whose bytes are still to be read. */
struct cursor {
    int64_t at;
    int64_t end;
    uint8_t *buffer;
    size_t filled;
    size_t used;
    struct cv_spill_fragment head;
    bool done;
};

struct drain {
    struct cv_spill *spill;
    struct cursor *cursors;
    size_t buffer_bytes;
    struct cv_buf payload;
};

static void drain_release(struct drain *drain)
{
    for (size_t i = 0; i < drain->spill->run_count; i++)
        free(drain->cursors[i].buffer);
    free(drain->cursors);
    cv_buf_release(&drain->payload);
}

static enum cv_code cursor_read(struct drain *drain, struct cursor *cursor, uint8_t *bytes,
                                size_t length, struct cv_error *err)
{
    while (length) {
        size_t step = CV_MIN(length, cursor->filled - cursor->used);

        if (step) {
            memcpy(bytes, cursor->buffer + cursor->used, step);
            cursor->used += step;
            bytes += step;
            length -= step;
            continue;
        }
        cursor->filled = CV_MIN(drain->buffer_bytes, (size_t)(cursor->end - cursor->at));
        cursor->used = 0;
        if (!cursor->filled)
            return cv_fail(err, CV_IO, "spilled rows in %s are damaged", drain->spill->folder);
        CV_DO(cv_spill_file_read(drain->spill->descriptor, drain->spill->folder, cursor->buffer,
                                 cursor->filled, cursor->at, err));
        cursor->at += (int64_t)cursor->filled;
    }
    return CV_OK;
}

static enum cv_code cursor_advance(struct drain *drain, struct cursor *cursor, struct cv_error *err)
{
    uint8_t header[HEADER_BYTES];
    uint64_t length;

    cursor->done = cursor->at == cursor->end && cursor->used == cursor->filled;
    if (cursor->done)
        return CV_OK;
    CV_DO(cursor_read(drain, cursor, header, sizeof header, err));
    memcpy(&cursor->head.group, header, 4);
    memcpy(&cursor->head.rows, header + 4, 4);
    memcpy(&length, header + 8, 8);
    if (length > (uint64_t)(cursor->end - cursor->at) + (cursor->filled - cursor->used))
        return cv_fail(err, CV_IO, "spilled rows in %s are damaged", drain->spill->folder);
    cursor->head.length = length;
    return CV_OK;
}

static enum cv_code drain_cursor(struct drain *drain, struct cursor *cursor, uint32_t group,
                                 cv_spill_each *each, void *context, struct cv_error *err)
{
    while (!cursor->done && cursor->head.group == group) {
        cv_buf_clear(&drain->payload);
        if (!cv_buf_reserve(&drain->payload, cursor->head.length))
            return cv_buf_check(&drain->payload, "spilled rows", err);
        CV_DO(cursor_read(drain, cursor, drain->payload.data, cursor->head.length, err));
        cursor->head.bytes = drain->payload.data;
        CV_DO(each(context, &cursor->head, err));
        CV_DO(cursor_advance(drain, cursor, err));
    }
    return CV_OK;
}

static enum cv_code open_cursors(struct drain *drain, struct cv_error *err)
{
    struct cv_spill *spill = drain->spill;

    for (size_t i = 0; i < spill->run_count; i++) {
        struct cursor *cursor = &drain->cursors[i];

        cursor->buffer = cv_alloc(drain->buffer_bytes);
        cursor->at = spill->runs[i].start;
        cursor->end = spill->runs[i].end;
        CV_DO(cursor_advance(drain, cursor, err));
    }
    return CV_OK;
}

/* The lowest group that is left, or UINT32_MAX. */
static uint32_t next_group(const struct drain *drain, const uint64_t *keys, size_t position)
{
    uint32_t group = UINT32_MAX;

    if (position < drain->spill->count)
        group = (uint32_t)(keys[position] >> 32);
    for (size_t i = 0; i < drain->spill->run_count; i++)
        if (!drain->cursors[i].done)
            group = CV_MIN(group, drain->cursors[i].head.group);
    return group;
}

enum cv_code cv_spill_drain(struct cv_spill *spill, cv_spill_each *each, void *context,
                            struct cv_error *err)
{
    CV_CLEANUP(drain_release)
    struct drain drain = {.spill = spill, .payload = CV_BUF_INIT((size_t)1 << 40)};
    CV_CLEANUP(cv_freep) uint64_t *keys = sorted_keys(spill);
    size_t position = 0;
    uint32_t group;

    drain.cursors = cv_alloc(spill->run_count * sizeof *drain.cursors);
    drain.buffer_bytes = READ_BYTES_MAX;
    while (drain.buffer_bytes > READ_BYTES_MIN &&
           drain.buffer_bytes * spill->run_count > spill->memory_max / 2)
        drain.buffer_bytes /= 2;
    CV_DO(open_cursors(&drain, err));
    while ((group = next_group(&drain, keys, position)) != UINT32_MAX) {
        for (size_t i = 0; i < spill->run_count; i++)
            CV_DO(drain_cursor(&drain, &drain.cursors[i], group, each, context, err));
        for (; position < spill->count && (uint32_t)(keys[position] >> 32) == group; position++)
            CV_DO(each(context, &spill->fragments[(uint32_t)keys[position]], err));
    }
    return CV_OK;
}
