/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorted runs in tiers: TIER_RUNS of one tier are merged into one of the next, in memory as in
 * files. When the runs in memory fill their part of it, one thread merges all of them into a file
 * while the others go on, until the whole memory is full. */
#include "state/runs.h"

#include "base/spill_file.h"
#include "state/row_file.h"
#include "state/sort.h"
#include "state/spill_store.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define TIER_RUNS       8
#define TIER_FILES      12
#define FILES_MAX       (CV_RUNS_MAX / 2) /* more are merged before they are read */
#define ROW_GROUP_MIN   ((size_t)64 << 10)
#define ROW_GROUP_MAX   ((size_t)4 << 20)
#define ROW_GROUP_PARTS 128 /* of the memory */
#define NAME_BYTES      32

struct memory_run {
    struct cv_blocks *blocks;
    int tier;
};

struct file_run {
    int64_t number;
    int64_t rows;
    int tier;
};

struct cv_runs {
    const struct cv_keyed *keyed;
    size_t memory_bytes;
    struct cv_row_format format;
    struct cv_store *store;
    pthread_mutex_t lock;   /* of all that follows */
    pthread_cond_t changed; /* a spill has ended */
    struct memory_run *runs;
    size_t run_count, run_capacity;
    size_t bytes; /* of the runs, those being merged too */
    struct file_run *files;
    size_t file_count, file_capacity;
    int64_t next_number;
    bool spilling;
    struct cv_error failure; /* the first one */
    struct cv_runs_counters counters;
};

struct cv_runs *cv_runs_new(const struct cv_runs_config *config)
{
    struct cv_runs *runs = cv_alloc(sizeof *runs);
    size_t group = config->memory_bytes / ROW_GROUP_PARTS;

    runs->keyed = config->keyed;
    runs->memory_bytes = config->memory_bytes;
    cv_row_format_init(&runs->format, config->keyed,
                       CV_MAX(ROW_GROUP_MIN, CV_MIN(group, ROW_GROUP_MAX)));
    runs->store = cv_spill_store_new(cv_spill_folder(config->spill_directory));
    (void)pthread_mutex_init(&runs->lock, NULL);
    (void)pthread_cond_init(&runs->changed, NULL);
    return runs;
}

void cv_runs_free(struct cv_runs *runs)
{
    if (!runs)
        return;
    for (size_t i = 0; i < runs->run_count; i++)
        cv_blocks_free(runs->runs[i].blocks);
    free(runs->runs);
    free(runs->files);
    cv_store_free(runs->store);
    cv_row_format_release(&runs->format);
    (void)pthread_cond_destroy(&runs->changed);
    (void)pthread_mutex_destroy(&runs->lock);
    free(runs);
}

void cv_runs_counters(const struct cv_runs *runs, struct cv_runs_counters *ret_counters)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&runs->lock;

    (void)pthread_mutex_lock(lock);
    *ret_counters = runs->counters;
    (void)pthread_mutex_unlock(lock);
}

/* --- merging in memory ----------------------------------------------------------------------- */

/* Of the inputs, which it takes over, whatever comes of it. */
static enum cv_code merge_blocks(const struct cv_keyed *keyed, struct cv_blocks **inputs,
                                 size_t count, struct cv_blocks **ret_blocks, struct cv_error *err)
{
    CV_CLEANUP(cv_merge_reader_freep) struct cv_merge_reader *reader = cv_merge_reader_new(keyed);
    CV_CLEANUP(cv_blocks_freep) struct cv_blocks *blocks = cv_blocks_new(keyed->schema);

    for (size_t i = 0; i < count; i++) {
        struct cv_merge_input input = cv_merge_input_taking_blocks(inputs[i]);

        cv_merge_reader_add(reader, &input);
    }
    CV_DO(cv_merge_reader_collect(reader, blocks, err));
    *ret_blocks = cv_steal(blocks);
    return CV_OK;
}

/* Takes the runs of a tier (-1 = of any) out of the list, at most `most` of them. */
static size_t take_runs(struct cv_runs *runs, int tier, struct cv_blocks **ret_taken, size_t most)
{
    size_t taken = 0, kept = 0;

    for (size_t i = 0; i < runs->run_count; i++)
        if (taken < most && (tier < 0 || runs->runs[i].tier == tier))
            ret_taken[taken++] = runs->runs[i].blocks;
        else
            runs->runs[kept++] = runs->runs[i];
    runs->run_count = kept;
    return taken;
}

static void put_run(struct cv_runs *runs, struct cv_blocks *blocks, int tier)
{
    cv_array_reserve(&runs->runs, &runs->run_capacity, runs->run_count + 1);
    runs->runs[runs->run_count++] = (struct memory_run){blocks, tier};
}

/* A tier with enough runs to merge; -1 = none. */
static int full_tier(const struct cv_runs *runs)
{
    for (size_t i = 0; i < runs->run_count; i++) {
        size_t count = 0;

        for (size_t j = i; j < runs->run_count; j++)
            count += runs->runs[j].tier == runs->runs[i].tier;
        if (count >= TIER_RUNS)
            return runs->runs[i].tier;
    }
    return -1;
}

/* Unlocks while it merges. */
static enum cv_code merge_tier(struct cv_runs *runs, int tier, struct cv_error *err)
{
    struct cv_blocks *taken[TIER_RUNS], *merged = NULL;
    size_t count = take_runs(runs, tier, taken, TIER_RUNS);
    size_t bytes = 0;
    enum cv_code code;

    for (size_t i = 0; i < count; i++)
        bytes += taken[i]->bytes;
    (void)pthread_mutex_unlock(&runs->lock);
    code = merge_blocks(runs->keyed, taken, count, &merged, err);
    (void)pthread_mutex_lock(&runs->lock);
    runs->bytes -= bytes;
    CV_DO(code);
    runs->bytes += merged->bytes;
    put_run(runs, merged, tier + 1);
    return CV_OK;
}

/* --- files ----------------------------------------------------------------------------------- */

static const char *name_of(int64_t number, char name[NAME_BYTES])
{
    (void)snprintf(name, NAME_BYTES, "rows %" PRId64, number);
    return name;
}

/* Writes the reader's rows to a new file. Only one thread at a time. */
static enum cv_code write_file(struct cv_runs *runs, struct cv_merge_reader *reader, int tier,
                               struct cv_error *err)
{
    struct file_run file = {.number = runs->next_number++, .tier = tier};
    struct cv_output *output;
    char name[NAME_BYTES];
    int64_t size = 0;

    CV_DO(cv_store_create(runs->store, name_of(file.number, name), &output, err));
    CV_DO(cv_row_file_write(&runs->format, reader, output, &file.rows, err));
    if (!file.rows)
        return CV_OK;
    CV_DO(cv_store_size(runs->store, name, &size, err));
    (void)pthread_mutex_lock(&runs->lock);
    runs->counters.rows_spilled += file.rows;
    runs->counters.bytes_spilled += size;
    (void)pthread_mutex_unlock(&runs->lock);
    cv_array_reserve(&runs->files, &runs->file_capacity, runs->file_count + 1);
    runs->files[runs->file_count++] = file;
    return CV_OK;
}

static void add_file(struct cv_runs *runs, const struct file_run *file,
                     struct cv_merge_reader *reader)
{
    struct cv_merge_input input;
    char name[NAME_BYTES];

    input = cv_row_file_input(&runs->format, runs->store, name_of(file->number, name), -1);
    cv_merge_reader_add(reader, &input);
}

/* Merges files [first, first + count) into one. */
static enum cv_code merge_files(struct cv_runs *runs, size_t first, size_t count, int tier,
                                struct cv_error *err)
{
    CV_CLEANUP(cv_merge_reader_freep) struct cv_merge_reader *reader = NULL;

    reader = cv_merge_reader_new(runs->keyed);
    for (size_t i = first; i < first + count; i++)
        add_file(runs, &runs->files[i], reader);
    CV_DO(write_file(runs, reader, tier, err));
    for (size_t i = first; i < first + count; i++) {
        char name[NAME_BYTES];

        CV_DO(cv_store_remove(runs->store, name_of(runs->files[i].number, name), err));
    }
    memmove(runs->files + first, runs->files + first + count,
            (runs->file_count - first - count) * sizeof *runs->files);
    runs->file_count -= count;
    return CV_OK;
}

/* The files of a tier follow each other, the highest tier first. */
static enum cv_code merge_full_tiers(struct cv_runs *runs, struct cv_error *err)
{
    for (;;) {
        int tier = runs->file_count ? runs->files[runs->file_count - 1].tier : 0;
        size_t count = 0;

        while (count < runs->file_count && runs->files[runs->file_count - 1 - count].tier == tier)
            count++;
        if (count < TIER_FILES)
            return CV_OK;
        CV_DO(merge_files(runs, runs->file_count - count, count, tier + 1, err));
    }
}

static enum cv_code spill(struct cv_runs *runs, struct cv_blocks **taken, size_t count,
                          struct cv_error *err)
{
    CV_CLEANUP(cv_merge_reader_freep) struct cv_merge_reader *reader = NULL;

    reader = cv_merge_reader_new(runs->keyed);
    for (size_t i = 0; i < count; i++) {
        struct cv_merge_input input = cv_merge_input_taking_blocks(taken[i]);

        cv_merge_reader_add(reader, &input);
    }
    CV_TRY(write_file(runs, reader, 0, err), err, "spilling groups");
    CV_TRY(merge_full_tiers(runs, err), err, "merging spilled groups");
    return CV_OK;
}

/* Unlocks while it writes. */
static enum cv_code spill_all(struct cv_runs *runs, struct cv_error *err)
{
    CV_CLEANUP(cv_freep) struct cv_blocks **taken = NULL;
    size_t count, bytes = 0;
    enum cv_code code;

    taken = cv_alloc(runs->run_count * sizeof *taken);
    count = take_runs(runs, -1, taken, runs->run_count);
    for (size_t i = 0; i < count; i++)
        bytes += taken[i]->bytes;
    runs->spilling = true;
    (void)pthread_mutex_unlock(&runs->lock);
    code = spill(runs, taken, count, err);
    (void)pthread_mutex_lock(&runs->lock);
    runs->bytes -= bytes;
    runs->spilling = false;
    (void)pthread_cond_broadcast(&runs->changed);
    return code;
}

/* --- adding ---------------------------------------------------------------------------------- */

static enum cv_code settle(struct cv_runs *runs, struct cv_error *err)
{
    for (;;) {
        int tier = full_tier(runs);

        if (runs->failure.code != CV_OK) {
            if (err)
                *err = runs->failure;
            return runs->failure.code;
        }
        if (tier >= 0)
            CV_DO(merge_tier(runs, tier, err));
        else if (runs->bytes > runs->memory_bytes / 2 && !runs->spilling && runs->run_count)
            CV_DO(spill_all(runs, err));
        else if (runs->bytes > runs->memory_bytes && runs->spilling)
            (void)pthread_cond_wait(&runs->changed, &runs->lock);
        else
            return CV_OK;
    }
}

enum cv_code cv_runs_add(struct cv_runs *runs, const struct cv_batch *batch, int64_t late_us,
                         int64_t *ret_late_rows, struct cv_error *err)
{
    struct cv_error own = CV_ERROR_INIT;
    struct cv_blocks *blocks = NULL;
    enum cv_code code;

    CV_DO(cv_sort_rows(runs->keyed, batch, late_us, &blocks, ret_late_rows, err));
    (void)pthread_mutex_lock(&runs->lock);
    runs->counters.rows_in += (int64_t)batch->row_count - *ret_late_rows;
    runs->bytes += blocks->bytes;
    put_run(runs, blocks, 0);
    code = settle(runs, &own);
    if (code != CV_OK && runs->failure.code == CV_OK)
        runs->failure = own;
    (void)pthread_mutex_unlock(&runs->lock);
    if (code != CV_OK && err)
        *err = own;
    return code;
}

/* --- reading --------------------------------------------------------------------------------- */

enum cv_code cv_runs_read(struct cv_runs *runs, struct cv_merge_reader **ret_reader,
                          struct cv_error *err)
{
    CV_CLEANUP(cv_merge_reader_freep) struct cv_merge_reader *reader = NULL;
    struct cv_blocks *taken[CV_RUNS_MAX];

    if (runs->failure.code != CV_OK) {
        if (err)
            *err = runs->failure;
        return runs->failure.code;
    }
    while (runs->file_count > FILES_MAX)
        CV_DO(merge_files(runs, runs->file_count - TIER_FILES, TIER_FILES,
                          runs->files[runs->file_count - TIER_FILES].tier, err));
    while (runs->run_count > FILES_MAX) {
        struct cv_blocks *merged = NULL;
        size_t count = take_runs(runs, -1, taken, CV_RUNS_MAX);

        CV_DO(merge_blocks(runs->keyed, taken, count, &merged, err));
        put_run(runs, merged, 0);
    }
    reader = cv_merge_reader_new(runs->keyed);
    for (size_t i = 0; i < runs->file_count; i++)
        add_file(runs, &runs->files[i], reader);
    for (size_t i = 0; i < runs->run_count; i++) {
        struct cv_merge_input input = cv_merge_input_of_blocks(runs->runs[i].blocks);

        cv_merge_reader_add(reader, &input);
    }
    *ret_reader = cv_steal(reader);
    return CV_OK;
}
