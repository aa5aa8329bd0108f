/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading what snapshots name. The set is cut into segments that grow one at a time by a quarter,
 * so that growing never needs the memory of the whole set twice. */
#include "maintain/reachable.h"

#include "codec/hash.h"
#include "iceberg/manifest_paths.h"
#include "iceberg/snapshot_files.h"
#include "maintain/parallel.h"

#include <stdlib.h>

/* --- set of locations ------------------------------------------------------------------------ */

#define SEGMENTS       1024 /* a power of two */
#define SEGMENT_MIN    16
#define LOAD_PERCENT   85
#define SET_BYTES_BASE sizeof(struct cv_location_set)

struct hash {
    uint64_t low, high; /* both 0 = empty */
};

struct segment {
    struct hash *slots;
    size_t capacity, count;
};

struct cv_location_set {
    struct segment segments[SEGMENTS];
    size_t count;
    size_t bytes, bytes_max;
    unsigned share, shares;
    bool full;
};

struct cv_location_set *cv_location_set_new(size_t memory_bytes, unsigned share, unsigned shares)
{
    struct cv_location_set *set = cv_alloc(sizeof *set);

    set->bytes = SET_BYTES_BASE;
    set->bytes_max = memory_bytes;
    set->share = share;
    set->shares = CV_MAX(shares, 1U);
    return set;
}

void cv_location_set_free(struct cv_location_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < SEGMENTS; i++)
        free(set->segments[i].slots);
    free(set);
}

static struct hash hash_of(struct cv_str location)
{
    XXH128_hash_t hash = XXH3_128bits(location.ptr, location.length);

    if (!hash.low64 && !hash.high64)
        hash.low64 = 1;
    return (struct hash){hash.low64, hash.high64};
}

/* Where the hash is, or the empty slot where it belongs. The segment has an empty slot. */
static struct hash *find_slot(const struct segment *segment, struct hash hash)
{
    size_t i = (size_t)(((unsigned __int128)hash.low * segment->capacity) >> 64);

    for (;; i = i + 1 == segment->capacity ? 0 : i + 1) {
        struct hash *slot = &segment->slots[i];

        if ((slot->low == hash.low && slot->high == hash.high) || (!slot->low && !slot->high))
            return slot;
    }
}

static enum cv_code grow(struct cv_location_set *set, struct segment *segment, struct cv_error *err)
{
    struct segment grown = {NULL, CV_MAX(segment->capacity + segment->capacity / 4, SEGMENT_MIN),
                            segment->count};
    size_t bytes = grown.capacity * sizeof(struct hash);

    if (bytes > set->bytes_max || set->bytes > set->bytes_max - bytes) {
        set->full = true;
        (void)cv_fail(err, CV_LIMIT, "%zu locations fill the memory of %zu bytes", set->count,
                      set->bytes_max);
        cv_hint(err, "give more by --memory");
        return CV_LIMIT;
    }
    grown.slots = cv_alloc(bytes);
    for (size_t i = 0; i < segment->capacity; i++)
        if (segment->slots[i].low || segment->slots[i].high)
            *find_slot(&grown, segment->slots[i]) = segment->slots[i];
    free(segment->slots);
    set->bytes += bytes - segment->capacity * sizeof(struct hash);
    *segment = grown;
    return CV_OK;
}

static bool covers(const struct cv_location_set *set, struct hash hash)
{
    return (hash.high / SEGMENTS) % set->shares == set->share;
}

bool cv_location_set_covers(const struct cv_location_set *set, struct cv_str location)
{
    return covers(set, hash_of(location));
}

enum cv_code cv_location_set_add(struct cv_location_set *set, struct cv_str location, bool *ret_new,
                                 struct cv_error *err)
{
    struct hash hash = hash_of(location);
    struct segment *segment = &set->segments[hash.high % SEGMENTS];
    struct hash *slot = segment->capacity ? find_slot(segment, hash) : NULL;
    bool is_new = covers(set, hash) && (!slot || (!slot->low && !slot->high));

    if (is_new) {
        if ((segment->count + 1) * 100 > segment->capacity * LOAD_PERCENT) {
            CV_DO(grow(set, segment, err));
            slot = find_slot(segment, hash);
        }
        *slot = hash;
        segment->count++;
        set->count++;
    }
    if (ret_new)
        *ret_new = is_new;
    return CV_OK;
}

bool cv_location_set_has(const struct cv_location_set *set, struct cv_str location)
{
    struct hash hash = hash_of(location);
    const struct segment *segment = &set->segments[hash.high % SEGMENTS];
    const struct hash *slot = segment->capacity ? find_slot(segment, hash) : NULL;

    return slot && (slot->low || slot->high);
}

bool cv_location_set_full(const struct cv_location_set *set)
{
    return set->full;
}

size_t cv_location_set_count(const struct cv_location_set *set)
{
    return set->count;
}

/* --- snapshots ------------------------------------------------------------------------------- */

struct reading {
    const struct cv_reach *reach;
    const struct cv_snapshot *const *snapshots;
    const struct cv_reached *manifests; /* to be read */
    struct cv_maintain_meter meter;
    pthread_mutex_t lock;
    /* under the lock: the manifests found */
    struct cv_arena *arena;
    struct cv_location_set *seen;
    struct cv_reached *found;
    size_t found_count, found_capacity;
};

static void reading_release(struct reading *reading)
{
    free(reading->found);
    cv_location_set_free(reading->seen);
    cv_maintain_meter_release(&reading->meter);
    (void)pthread_mutex_destroy(&reading->lock);
}

static enum cv_code fail_unreadable(struct reading *reading, const char *location,
                                    enum cv_code code, struct cv_error *err)
{
    const struct cv_reach *reach = reading->reach;

    if (!reach->unreadable || code == CV_CANCELLED || code == CV_LIMIT)
        return code;
    (void)pthread_mutex_lock(&reading->lock);
    code = reach->unreadable(reach->context, location, err);
    (void)pthread_mutex_unlock(&reading->lock);
    return code;
}

/* A manifest of a list: kept unless it is known. */
static enum cv_code keep_manifest(struct reading *reading, const char *path, int64_t size,
                                  struct cv_error *err)
{
    const struct cv_str location = cv_str_from(path);
    bool is_new;

    if (reading->reach->skip && cv_location_set_has(reading->reach->skip, location))
        return CV_OK;
    CV_DO(cv_location_set_add(reading->seen, location, &is_new, err));
    if (!is_new)
        return CV_OK;
    cv_array_reserve(&reading->found, &reading->found_capacity, reading->found_count + 1);
    reading->found[reading->found_count++] = (struct cv_reached){
        CV_REACHED_MANIFEST,
        {cv_arena_strndup(reading->arena, path, location.length), location.length},
        size};
    return CV_OK;
}

static enum cv_code keep_rows(struct reading *reading, const struct cv_manifest_file *rows,
                              size_t count, struct cv_error *err)
{
    enum cv_code code = CV_OK;

    (void)pthread_mutex_lock(&reading->lock);
    for (size_t i = 0; code == CV_OK && i < count; i++)
        code = keep_manifest(reading, rows[i].path, rows[i].length, err);
    (void)pthread_mutex_unlock(&reading->lock);
    return code;
}

static enum cv_code work_on_list(void *context, size_t index, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct reading *reading = context;
    const struct cv_snapshot *snapshot = reading->snapshots[index];
    struct cv_manifest_file *rows;
    size_t count;
    enum cv_code code;

    CV_DO(cv_maintain_check_stop(reading->reach->maintenance, err));
    if (!snapshot->manifest_list) { /* of format version 1 */
        rows = cv_arena_array(&arena, struct cv_manifest_file, snapshot->manifest_count);
        for (size_t i = 0; i < snapshot->manifest_count; i++)
            rows[i] = (struct cv_manifest_file){.path = snapshot->manifests[i], .length = -1};
        return keep_rows(reading, rows, snapshot->manifest_count, err);
    }
    code = cv_snapshot_manifests(reading->reach->store, snapshot, &arena, &rows, &count, err);
    if (code == CV_OK)
        code = keep_rows(reading, rows, count, err);
    cv_maintain_meter_add(&reading->meter, 1);
    return code == CV_OK ? CV_OK : fail_unreadable(reading, snapshot->manifest_list, code, err);
}

static void reading_init(struct reading *reading, const struct cv_reach *reach, const char *step,
                         size_t total)
{
    memset(reading, 0, sizeof *reading);
    reading->reach = reach;
    (void)pthread_mutex_init(&reading->lock, NULL);
    cv_maintain_meter_init(&reading->meter, reach->maintenance, reach->procedure, step, "files",
                           (int64_t)total);
}

enum cv_code cv_reach_manifests(const struct cv_reach *reach,
                                const struct cv_snapshot *const *snapshots, size_t count,
                                struct cv_arena *arena, struct cv_reached **ret_manifests,
                                size_t *ret_count, struct cv_error *err)
{
    CV_CLEANUP(reading_release) struct reading reading;

    reading_init(&reading, reach, "reading manifest lists", count);
    reading.snapshots = snapshots;
    reading.arena = arena;
    reading.seen = cv_location_set_new(reach->maintenance->memory_bytes / 4, 0, 1);
    CV_DO(cv_parallel(reach->maintenance->threads, count, work_on_list, &reading, err));
    *ret_manifests =
        cv_arena_copy(arena, reading.found, reading.found_count * sizeof *reading.found);
    *ret_count = reading.found_count;
    return CV_OK;
}

/* The paths of one manifest, kept until all of it was readable: a torn one is told in whole or not
 * at all, and is unpacked outside the lock. */
struct paths {
    struct cv_buf text;
    struct cv_reached *items; /* location.ptr is set at the end */
    size_t count, capacity;
};

static void paths_release(struct paths *paths)
{
    cv_buf_release(&paths->text);
    free(paths->items);
}

static enum cv_code keep_path(void *context, const struct cv_manifest_path *path,
                              struct cv_error *err)
{
    static const enum cv_reached_kind kinds[] = {
        [CV_CONTENT_DATA] = CV_REACHED_DATA,
        [CV_CONTENT_POSITION_DELETES] = CV_REACHED_POSITION_DELETES,
        [CV_CONTENT_EQUALITY_DELETES] = CV_REACHED_EQUALITY_DELETES,
    };
    struct paths *paths = context;

    if (path->status == CV_ENTRY_DELETED)
        return CV_OK;
    cv_array_reserve(&paths->items, &paths->capacity, paths->count + 1);
    paths->items[paths->count++] =
        (struct cv_reached){kinds[path->content], {NULL, path->path.length}, path->size};
    cv_buf_append(&paths->text, path->path.ptr, path->path.length);
    return cv_buf_check(&paths->text, "the paths of a manifest", err);
}

static enum cv_code read_paths(struct cv_store *store, const char *location, struct paths *paths,
                               struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(CV_MANIFEST_BYTES_MAX);
    size_t at = 0;

    CV_DO(cv_store_read(store, location, CV_MANIFEST_BYTES_MAX, &bytes, err));
    CV_TRY(cv_manifest_read_paths(bytes.data, bytes.length, keep_path, paths, err), err,
           "manifest %s", location);
    for (size_t i = 0; i < paths->count; i++) {
        paths->items[i].location.ptr = (const char *)paths->text.data + at;
        at += paths->items[i].location.length;
    }
    return CV_OK;
}

static enum cv_code work_on_manifest(void *context, size_t index, struct cv_error *err)
{
    CV_CLEANUP(paths_release) struct paths paths = {.text = CV_BUF_INIT(0)};
    struct reading *reading = context;
    const struct cv_reach *reach = reading->reach;
    const char *location = reading->manifests[index].location.ptr;
    enum cv_code code;

    CV_DO(cv_maintain_check_stop(reach->maintenance, err));
    code = read_paths(reach->store, location, &paths, err);
    if (code != CV_OK)
        return fail_unreadable(reading, location, code, err);
    (void)pthread_mutex_lock(&reading->lock);
    for (size_t i = 0; code == CV_OK && i < paths.count; i++)
        code = reach->each(reach->context, &paths.items[i], err);
    (void)pthread_mutex_unlock(&reading->lock);
    cv_maintain_meter_add(&reading->meter, 1);
    return code;
}

enum cv_code cv_reach_files(const struct cv_reach *reach, const struct cv_reached *manifests,
                            size_t count, struct cv_error *err)
{
    CV_CLEANUP(reading_release) struct reading reading;

    reading_init(&reading, reach, "reading manifests", count);
    reading.manifests = manifests;
    return cv_parallel(reach->maintenance->threads, count, work_on_manifest, &reading, err);
}

enum cv_code cv_reach_snapshots(const struct cv_reach *reach,
                                const struct cv_snapshot *const *snapshots, size_t count,
                                struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_reached *manifests;
    size_t manifest_count;

    CV_DO(cv_reach_manifests(reach, snapshots, count, &arena, &manifests, &manifest_count, err));
    CV_DO(cv_reach_files(reach, manifests, manifest_count, err));
    for (size_t i = 0; i < manifest_count; i++)
        CV_DO(reach->each(reach->context, &manifests[i], err));
    for (size_t i = 0; i < count; i++) {
        struct cv_reached list = {CV_REACHED_MANIFEST_LIST,
                                  cv_str_from(snapshots[i]->manifest_list), -1};

        if (list.location.length)
            CV_DO(reach->each(reach->context, &list, err));
    }
    return CV_OK;
}
