/* SPDX-License-Identifier: Apache-2.0
 *
 * Delete files that one thread's scanners have read: position deletes by the data files that they
 * name, equality keys by the list of files that they come from. */
#include "base/map.h"
#include "data/scan_int.h"

#include <stdlib.h>

/* What one delete file says of one data file. */
struct positions {
    int64_t *items;
    size_t count, capacity;
};

struct position_file {
    struct cv_map by_path; /* → struct positions */
    bool too_large;        /* read again for each data file */
};

struct cv_delete_cache {
    size_t budget, bytes;
    struct cv_map files; /* delete file → struct position_file */
    struct cv_map keys;  /* name → struct cv_key_set */
    int64_t reads;
};

struct cv_delete_cache *cv_delete_cache_new(size_t memory_bytes)
{
    struct cv_delete_cache *cache = cv_alloc(sizeof *cache);

    cache->budget = memory_bytes;
    return cache;
}

static void position_file_clear(struct position_file *file)
{
    const struct cv_map_slot *slot;
    size_t at = 0;

    while ((slot = cv_map_next(&file->by_path, &at))) {
        free(((struct positions *)slot->value)->items);
        free(slot->value);
    }
    cv_map_release(&file->by_path);
}

static void clear(struct cv_delete_cache *cache)
{
    const struct cv_map_slot *slot;
    size_t at = 0;

    while ((slot = cv_map_next(&cache->files, &at))) {
        position_file_clear(slot->value);
        free(slot->value);
    }
    at = 0;
    while ((slot = cv_map_next(&cache->keys, &at))) {
        cv_key_set_release(slot->value);
        free(slot->value);
    }
    cv_map_release(&cache->files);
    cv_map_release(&cache->keys);
    cache->bytes = 0;
}

void cv_delete_cache_free(struct cv_delete_cache *cache)
{
    if (!cache)
        return;
    clear(cache);
    free(cache);
}

int64_t cv_delete_cache_reads(const struct cv_delete_cache *cache)
{
    return cache->reads;
}

void cv_delete_cache_count(struct cv_delete_cache *cache)
{
    cache->reads++;
}

void cv_delete_cache_trim(struct cv_delete_cache *cache)
{
    if (cache->bytes > cache->budget)
        clear(cache);
}

/* --- equality --------------------------------------------------------------------------------- */

struct cv_key_set *cv_delete_cache_keys(struct cv_delete_cache *cache, const struct cv_buf *name)
{
    return cv_map_get(&cache->keys, name->data, name->length);
}

void cv_delete_cache_keep(struct cv_delete_cache *cache, const struct cv_buf *name,
                          struct cv_key_set *keys)
{
    (void)cv_map_set(&cache->keys, name->data, name->length, keys);
    cache->bytes += cv_key_set_bytes(keys) + name->length;
}

/* --- positions -------------------------------------------------------------------------------- */

struct loading {
    struct cv_delete_cache *cache;
    struct position_file *file;
    size_t bytes;
};

static struct positions *positions_of(struct loading *loading, struct cv_str path)
{
    struct positions *found = cv_map_get(&loading->file->by_path, path.ptr, path.length);

    if (!found) {
        found = cv_alloc(sizeof *found);
        (void)cv_map_set(&loading->file->by_path, path.ptr, path.length, found);
        loading->bytes += path.length + sizeof *found + sizeof(struct cv_map_slot);
    }
    return found;
}

/* CV_CANCELLED: larger than the cache. */
static enum cv_code take_rows(void *context, const struct cv_batch *batch, struct cv_error *err)
{
    struct loading *loading = context;
    struct positions *positions = NULL;
    struct cv_str last = {NULL, 0};

    for (size_t i = 0; i < batch->row_count; i++) {
        struct cv_str path = cv_column_bytes(&batch->columns[0], i);

        if (!positions || !cv_str_equal(path, last))
            positions = positions_of(loading, path);
        last = path;
        cv_array_reserve(&positions->items, &positions->capacity, positions->count + 1);
        memcpy(&positions->items[positions->count++], batch->columns[1].data + i * 8, 8);
    }
    loading->bytes += batch->row_count * 2 * sizeof(int64_t); /* with what growing leaves unused */
    if (loading->bytes > loading->cache->budget)
        return cv_fail(err, CV_CANCELLED, "too large for the cache");
    return CV_OK;
}

static enum cv_code load(struct cv_delete_cache *cache, struct cv_store *store,
                         const struct cv_data_file *deletes, struct position_file **ret_file,
                         struct cv_error *err)
{
    struct position_file *file = cv_map_get(&cache->files, deletes->path, strlen(deletes->path));
    struct loading loading = {.cache = cache};
    enum cv_code code;

    *ret_file = file;
    if (file)
        return CV_OK;
    loading.file = file = cv_alloc(sizeof *file);
    cache->reads++;
    code = cv_position_deletes_read(store, deletes, take_rows, &loading, err);
    if (code != CV_OK)
        position_file_clear(file);
    if (code != CV_OK && code != CV_CANCELLED) {
        free(file);
        return code;
    }
    if (code == CV_CANCELLED)
        cv_error_clear(err);
    file->too_large = code == CV_CANCELLED;
    cache->bytes += file->too_large ? sizeof *file : loading.bytes;
    (void)cv_map_set(&cache->files, deletes->path, strlen(deletes->path), file);
    *ret_file = file;
    return CV_OK;
}

enum cv_code cv_delete_cache_positions(struct cv_delete_cache *cache, struct cv_position_set *set,
                                       struct cv_store *store, const struct cv_data_file *deletes,
                                       const char *path, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const struct positions *positions;
    struct position_file *file = NULL;

    if (!cv_delete_file_target(deletes, &arena))
        CV_DO(load(cache, store, deletes, &file, err));
    if (!file || file->too_large) {
        cache->reads++;
        return cv_position_set_read(set, store, deletes, path, err);
    }
    positions = cv_map_get(&file->by_path, path, strlen(path));
    for (size_t i = 0; positions && i < positions->count; i++)
        cv_position_set_add(set, positions->items[i]);
    return CV_OK;
}
