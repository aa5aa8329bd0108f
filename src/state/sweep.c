/* SPDX-License-Identifier: Apache-2.0
 *
 * Removal of versions and files that are no more needed. After the first sweep, which lists the
 * folder, a purge knows by itself what there is. */
#include "base/map.h"
#include "state/state_int.h"

#include <stdio.h>
#include <stdlib.h>

void cv_state_retire(struct cv_state *state, const char *name, int64_t last_batch)
{
    struct cv_retired_file *retired;

    cv_array_reserve(&state->retired, &state->retired_capacity, state->retired_count + 1);
    retired = &state->retired[state->retired_count++];
    (void)snprintf(retired->name, sizeof retired->name, "%s", name);
    retired->last_batch = last_batch;
}

/* --- what is there --------------------------------------------------------------------------- */

struct listing {
    struct cv_arena *arena;
    const char *folder; /* with a slash at its end */
    int64_t *versions;
    size_t version_count, version_capacity;
    char **files;
    size_t file_count, file_capacity;
};

static void listing_release(struct listing *listing)
{
    free(listing->versions);
    free(listing->files);
}

static bool is_file_name(const char *name, int64_t *ret_batch)
{
    return cv_state_file_name(name, ret_batch) || cv_state_unfinished_name(name, ret_batch);
}

static enum cv_code add_listed(void *context, const struct cv_listed_file *file,
                               struct cv_error *err)
{
    struct listing *listing = context;
    const char *name = file->location + strlen(listing->folder);
    int64_t batch;

    (void)err;
    if (!cv_text_starts_with(file->location, listing->folder))
        return CV_OK;
    if (cv_state_version_name(name, &batch)) {
        cv_array_reserve(&listing->versions, &listing->version_capacity,
                         listing->version_count + 1);
        listing->versions[listing->version_count++] = batch;
    } else if (is_file_name(name, &batch)) {
        cv_array_reserve(&listing->files, &listing->file_capacity, listing->file_count + 1);
        listing->files[listing->file_count++] = cv_arena_strdup(listing->arena, name);
    }
    return CV_OK;
}

static enum cv_code list(struct cv_store *store, const char *location, struct listing *listing,
                         struct cv_error *err)
{
    struct cv_error why = CV_ERROR_INIT;
    enum cv_code code;

    listing->folder = cv_location_join(listing->arena, location, "");
    code = cv_store_list(store, listing->folder, add_listed, listing, &why);
    if (code == CV_OK || code == CV_NOT_FOUND)
        return CV_OK;
    if (err)
        *err = why;
    return code;
}

enum cv_code cv_state_exists(struct cv_store *store, const char *location, bool *ret_exists,
                             struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(listing_release) struct listing listing = {.arena = &arena};

    CV_DO(list(store, location, &listing, err));
    *ret_exists = listing.version_count > 0;
    return CV_OK;
}

/* --- removing -------------------------------------------------------------------------------- */

struct removal {
    struct cv_state *state;
    struct cv_arena arena;
    char **locations;
    size_t count, capacity;
};

static void removal_release(struct removal *removal)
{
    cv_arena_release(&removal->arena);
    free(removal->locations);
}

static void add_location(struct removal *removal, const char *location)
{
    cv_array_reserve(&removal->locations, &removal->capacity, removal->count + 1);
    removal->locations[removal->count++] = cv_arena_strdup(&removal->arena, location);
}

static void add_version(struct removal *removal, int64_t batch)
{
    char location[CV_PATH_BYTES_MAX];

    cv_state_version_location(removal->state, batch, location);
    add_location(removal, location);
}

static void add_file(struct removal *removal, const char *name)
{
    char location[CV_PATH_BYTES_MAX];

    cv_state_file_location(removal->state, name, location);
    add_location(removal, location);
}

static void note_failed(void *context, size_t index, const struct cv_error *why)
{
    struct cv_state *state = context;

    (void)index;
    (void)why;
    state->unswept = true;
}

/* Versions go before the files that they name. */
static void remove_all(struct removal *removal)
{
    struct cv_state *state = removal->state;

    if (removal->count &&
        cv_store_remove_many(state->store, (const char *const *)removal->locations, removal->count,
                             note_failed, state, NULL) != CV_OK)
        state->unswept = true;
    removal->count = 0;
}

/* --- sweeping -------------------------------------------------------------------------------- */

struct sweep {
    struct cv_state *state;
    int64_t oldest; /* versions before it go */
    bool others;    /* those of other queries go too, and those that cannot be read */
    int64_t newest; /* files of later batches stay: another process may be writing them */
    bool blocked;   /* a version cannot be read: nobody knows which files it needs */
    struct cv_arena arena;
    struct cv_map named;
};

static void sweep_release(struct sweep *sweep)
{
    cv_map_release(&sweep->named);
    cv_arena_release(&sweep->arena);
}

/* The file stays while versions up to this one do. */
static void keep_name(struct sweep *sweep, const char *name, int64_t batch)
{
    int64_t *last = cv_map_get(&sweep->named, name, strlen(name));

    if (!last) {
        last = cv_arena_new(&sweep->arena, int64_t);
        *last = batch;
        (void)cv_map_set(&sweep->named, name, strlen(name), last);
    }
    *last = CV_MAX(*last, batch);
}

/* Whether the version stays; if so, the files that it names do. */
static bool keep_version(struct sweep *sweep, int64_t batch)
{
    struct cv_state_version version;
    enum cv_code code;

    if (batch < sweep->oldest)
        return false;
    code = cv_state_read_version(sweep->state, batch, &sweep->arena, &version, NULL);
    if (sweep->others && (code == CV_FORMAT || code == CV_UNSUPPORTED || code == CV_LIMIT))
        return false;
    if (sweep->others && code == CV_OK &&
        strcmp(version.fingerprint, sweep->state->fingerprint) != 0)
        return false;
    if (code != CV_OK)
        sweep->blocked = sweep->state->unswept = true;
    for (size_t i = 0; code == CV_OK && i < version.file_count; i++)
        keep_name(sweep, version.files[i].name, batch);
    return true;
}

static void sweep_files(struct sweep *sweep, const struct listing *listing, struct removal *removal)
{
    for (size_t i = 0; i < sweep->state->file_count; i++)
        keep_name(sweep, sweep->state->files[i].facts.name, INT64_MAX);
    for (size_t i = 0; i < listing->file_count; i++) {
        const char *name = listing->files[i];
        int64_t batch = 0;

        if (cv_map_has(&sweep->named, name, strlen(name)))
            continue;
        (void)is_file_name(name, &batch);
        if (sweep->blocked || batch > sweep->newest)
            sweep->state->unswept = true;
        else
            add_file(removal, name);
    }
    remove_all(removal);
}

/* From now on purges go by names: files of the current version come later. */
static void retire_kept(struct sweep *sweep)
{
    struct cv_state *state = sweep->state;
    size_t position = 0;

    state->retired_count = 0;
    for (const struct cv_map_slot *slot; (slot = cv_map_next(&sweep->named, &position));) {
        int64_t last = *(const int64_t *)slot->value;

        if (last < INT64_MAX)
            cv_state_retire(state, slot->key, last);
    }
}

static void run_sweep(struct sweep *sweep)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(listing_release) struct listing listing = {.arena = &arena};
    CV_CLEANUP(removal_release) struct removal removal = {.state = sweep->state};

    if (list(sweep->state->store, sweep->state->location, &listing, NULL) != CV_OK)
        return;
    sweep->state->unswept = false;
    for (size_t i = 0; i < listing.version_count; i++)
        if (!keep_version(sweep, listing.versions[i]))
            add_version(&removal, listing.versions[i]);
    remove_all(&removal);
    sweep_files(sweep, &listing, &removal);
    retire_kept(sweep);
}

void cv_state_sweep_others(struct cv_state *state)
{
    CV_CLEANUP(sweep_release)
    struct sweep sweep = {.state = state, .others = true, .newest = INT64_MAX};

    run_sweep(&sweep);
    state->unswept = true;
}

/* --- purging --------------------------------------------------------------------------------- */

/* Of the retired files those that no version from `batch` on names. */
static void purge_known(struct cv_state *state, int64_t batch, bool remove)
{
    CV_CLEANUP(removal_release) struct removal removal = {.state = state};
    size_t kept = 0;

    for (int64_t i = state->oldest_batch; remove && i < batch; i++)
        add_version(&removal, i);
    remove_all(&removal);
    for (size_t i = 0; i < state->retired_count; i++)
        if (state->retired[i].last_batch >= batch)
            state->retired[kept++] = state->retired[i];
        else if (remove)
            add_file(&removal, state->retired[i].name);
    state->retired_count = kept;
    remove_all(&removal);
}

void cv_state_purge(struct cv_state *state, int64_t batch)
{
    CV_CLEANUP(sweep_release)
    struct sweep sweep = {.state = state, .oldest = batch, .newest = state->batch - 1};
    const bool unswept = state->unswept;

    batch = CV_MIN(batch, state->batch);
    sweep.oldest = batch;
    if (unswept)
        run_sweep(&sweep);
    purge_known(state, batch, !unswept);
    state->oldest_batch = CV_MAX(state->oldest_batch, batch);
}
