/* SPDX-License-Identifier: Apache-2.0
 *
 * Files to be removed. A record is kind, length, size, location and a zero byte. */
#include "maintain/removals.h"

#include "base/fault.h"
#include "base/file.h"
#include "data/spill.h"
#include "maintain/parallel.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define CHUNK_BYTES  ((size_t)2 << 20)
#define WARNINGS_MAX 10  /* failures told one by one */
#define LOT_FILES    250 /* removed by one request where the store can */
#define LOTS_LOST    3   /* in a row that the store did not answer at all */

struct record {
    int64_t size;
    uint32_t length;
    uint32_t kind;
};

void cv_removals_init(struct cv_removals *removals, const char *spill_directory)
{
    memset(removals, 0, sizeof *removals);
    removals->spill_directory = cv_spill_folder(spill_directory);
    removals->descriptor = -1;
}

void cv_removals_clear(struct cv_removals *removals)
{
    const char *spill_directory = removals->spill_directory;

    cv_removals_release(removals);
    cv_removals_init(removals, spill_directory);
}

void cv_removals_release(struct cv_removals *removals)
{
    if (removals->descriptor >= 0)
        (void)close(removals->descriptor);
    removals->descriptor = -1;
    cv_buf_release(&removals->tail);
    free(removals->chunks);
    removals->chunks = NULL;
}

static enum cv_code spill(struct cv_removals *removals, struct cv_error *err)
{
    if (removals->descriptor < 0)
        CV_DO(cv_spill_file_open(removals->spill_directory, &removals->descriptor, err));
    CV_DO(cv_write_all(removals->descriptor, removals->tail.data, removals->tail.length,
                       removals->spill_directory, err));
    cv_array_reserve(&removals->chunks, &removals->chunk_capacity, removals->chunk_count + 1);
    removals->chunks[removals->chunk_count++] = removals->tail.length;
    cv_buf_clear(&removals->tail);
    return CV_OK;
}

enum cv_code cv_removals_add(struct cv_removals *removals, const struct cv_reached *file,
                             struct cv_error *err)
{
    const struct record record = {file->size, (uint32_t)file->location.length,
                                  (uint32_t)file->kind};

    if (file->location.length >= CV_PATH_BYTES_MAX)
        return cv_fail(err, CV_LIMIT, "location of %zu bytes is too long", file->location.length);
    if (removals->tail.length >= CHUNK_BYTES)
        CV_DO(spill(removals, err));
    cv_buf_append(&removals->tail, &record, sizeof record);
    cv_buf_append(&removals->tail, file->location.ptr, file->location.length);
    cv_buf_append_byte(&removals->tail, 0);
    removals->files[file->kind]++;
    removals->bytes[file->kind] += CV_MAX(file->size, 0);
    return cv_buf_check(&removals->tail, "files to be removed", err);
}

static int64_t sum(const int64_t *numbers)
{
    int64_t total = 0;

    for (size_t i = 0; i < CV_REACHED_KINDS; i++)
        total += numbers[i];
    return total;
}

int64_t cv_removals_files(const struct cv_removals *removals)
{
    return sum(removals->files);
}

int64_t cv_removals_bytes(const struct cv_removals *removals)
{
    return sum(removals->bytes);
}

/* The records of one chunk, as an array that points into its bytes. */
struct chunk {
    struct cv_buf bytes;
    struct cv_reached *files;
    size_t count, capacity;
    int64_t at; /* of the next chunk in the file */
};

static void chunk_release(struct chunk *chunk)
{
    cv_buf_release(&chunk->bytes);
    free(chunk->files);
}

static enum cv_code read_chunk(const struct cv_removals *removals, size_t index,
                               struct chunk *chunk, struct cv_error *err)
{
    size_t length = removals->chunks[index];

    if (!cv_buf_reserve(&chunk->bytes, length))
        return cv_buf_check(&chunk->bytes, "files to be removed", err);
    CV_DO(cv_spill_file_read(removals->descriptor, removals->spill_directory, chunk->bytes.data,
                             length, chunk->at, err));
    chunk->bytes.length = length;
    chunk->at += (int64_t)length;
    return CV_OK;
}

static void split_chunk(struct chunk *chunk)
{
    size_t at = 0;

    chunk->count = 0;
    while (at < chunk->bytes.length) {
        struct record record;

        memcpy(&record, chunk->bytes.data + at, sizeof record);
        at += sizeof record;
        cv_array_reserve(&chunk->files, &chunk->capacity, chunk->count + 1);
        chunk->files[chunk->count++] =
            (struct cv_reached){(enum cv_reached_kind)record.kind,
                                {(const char *)chunk->bytes.data + at, record.length},
                                record.size};
        at += record.length + 1;
    }
}

static enum cv_code each_chunk(const struct cv_removals *removals,
                               enum cv_code (*each)(void *context, const struct chunk *chunk,
                                                    struct cv_error *err),
                               void *context, struct cv_error *err)
{
    CV_CLEANUP(chunk_release) struct chunk chunk = {.bytes = CV_BUF_INIT(0)};

    for (size_t i = 0; i <= removals->chunk_count; i++) {
        cv_buf_clear(&chunk.bytes);
        if (i < removals->chunk_count)
            CV_DO(read_chunk(removals, i, &chunk, err));
        else
            cv_buf_append(&chunk.bytes, removals->tail.data, removals->tail.length);
        split_chunk(&chunk);
        CV_DO(each(context, &chunk, err));
    }
    return CV_OK;
}

struct telling {
    enum cv_code (*each)(void *context, const struct cv_reached *file, struct cv_error *err);
    void *context;
};

static enum cv_code tell_chunk(void *context, const struct chunk *chunk, struct cv_error *err)
{
    const struct telling *telling = context;

    for (size_t i = 0; i < chunk->count; i++)
        CV_DO(telling->each(telling->context, &chunk->files[i], err));
    return CV_OK;
}

enum cv_code cv_removals_each(const struct cv_removals *removals,
                              enum cv_code (*each)(void *context, const struct cv_reached *file,
                                                   struct cv_error *err),
                              void *context, struct cv_error *err)
{
    struct telling telling = {each, context};

    return each_chunk(removals, tell_chunk, &telling, err);
}

/* --- removing -------------------------------------------------------------------------------- */

struct removing {
    const struct cv_maintenance *maintenance;
    struct cv_store *store;
    int concurrent;
    struct cv_maintain_meter meter;
    const struct cv_reached *files; /* of the run of equal stage */
    size_t count;
    size_t lot_files;
    atomic_llong removed[CV_REACHED_KINDS];
    atomic_llong failed;
    atomic_int lost; /* lots in a row */
};

/* The files of one request. */
struct lot {
    struct removing *removing;
    const struct cv_reached *files;
    size_t count;
    const char *locations[LOT_FILES];
    bool stayed[LOT_FILES];
};

static void note_failed(void *context, size_t index, const struct cv_error *why)
{
    struct lot *lot = context;

    lot->stayed[index] = true;
    if (atomic_fetch_add(&lot->removing->failed, 1) < WARNINGS_MAX)
        cv_maintain_warn(lot->removing->maintenance, "%s", why->message);
}

/* Where the store does not answer the rest of the lot stays; when that does not end, the work does.
 */
static enum cv_code lose_lot(struct lot *lot, const struct cv_error *why, struct cv_error *err)
{
    for (size_t i = 0; i < lot->count; i++)
        if (!lot->stayed[i])
            note_failed(lot, i, why);
    if (atomic_fetch_add(&lot->removing->lost, 1) + 1 < LOTS_LOST)
        return CV_OK;
    if (err)
        *err = *why;
    return why->code;
}

static enum cv_code remove_lot(void *context, size_t index, struct cv_error *err)
{
    struct removing *removing = context;
    const size_t first = index * removing->lot_files;
    struct lot lot = {.removing = removing,
                      .files = removing->files + first,
                      .count = CV_MIN(removing->count - first, removing->lot_files)};
    struct cv_error problem = CV_ERROR_INIT;

    CV_DO(cv_maintain_check_stop(removing->maintenance, err));
    for (size_t i = 0; i < lot.count; i++) {
        CV_DO(cv_fault_pass("delete-half", err));
        lot.locations[i] = lot.files[i].location.ptr;
    }
    if (cv_store_remove_many(removing->store, lot.locations, lot.count, note_failed, &lot,
                             &problem) == CV_OK)
        atomic_store(&removing->lost, 0);
    else
        CV_DO(lose_lot(&lot, &problem, err));
    for (size_t i = 0; i < lot.count; i++)
        if (!lot.stayed[i])
            atomic_fetch_add(&removing->removed[lot.files[i].kind], 1);
    cv_maintain_meter_add(&removing->meter, (int64_t)lot.count);
    return CV_OK;
}

/* What is removed at the same time: all before the first manifest, and so on. */
static int stage_of(enum cv_reached_kind kind)
{
    return kind <= CV_REACHED_EQUALITY_DELETES ? 0 : (int)kind;
}

static enum cv_code remove_chunk(void *context, const struct chunk *chunk, struct cv_error *err)
{
    struct removing *removing = context;
    size_t end;

    for (size_t i = 0; i < chunk->count; i = end) {
        for (end = i + 1; end < chunk->count; end++)
            if (stage_of(chunk->files[end].kind) != stage_of(chunk->files[i].kind))
                break;
        removing->files = chunk->files + i;
        removing->count = end - i;
        CV_DO(cv_parallel(removing->concurrent,
                          (removing->count + removing->lot_files - 1) / removing->lot_files,
                          remove_lot, removing, err));
    }
    return CV_OK;
}

enum cv_code cv_removals_run(const struct cv_removals *removals,
                             const struct cv_maintenance *maintenance, struct cv_store *store,
                             const char *procedure, int concurrent, struct cv_removed *ret_removed,
                             struct cv_error *err)
{
    struct removing removing = {
        .maintenance = maintenance,
        .store = store,
        .concurrent = concurrent,
        .lot_files = store->ops->remove_many ? LOT_FILES : 1,
    };
    enum cv_code code;

    cv_maintain_meter_init(&removing.meter, maintenance, procedure, "deleting files", "files",
                           cv_removals_files(removals));
    code = each_chunk(removals, remove_chunk, &removing, err);
    cv_maintain_meter_release(&removing.meter);
    if (removing.failed > WARNINGS_MAX)
        cv_maintain_warn(maintenance, "%lld more files could not be deleted",
                         (long long)removing.failed - WARNINGS_MAX);
    for (size_t i = 0; i < CV_REACHED_KINDS; i++)
        ret_removed->files[i] = removing.removed[i];
    ret_removed->failed = removing.failed;
    return code;
}
