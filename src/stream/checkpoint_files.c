/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of a checkpoint, in a local folder or in a store. */
#include "stream/checkpoint_files.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *cv_checkpoint_path(const struct cv_checkpoint *checkpoint, const char *name,
                               char path[CV_PATH_BYTES_MAX])
{
    (void)snprintf(path, CV_PATH_BYTES_MAX, "%s/%s", checkpoint->folder, name);
    return path;
}

const char *cv_checkpoint_log_name(const char *log, int64_t batch, char name[64])
{
    (void)snprintf(name, 64, "%s/%lld", log, (long long)batch);
    return name;
}

enum cv_code cv_checkpoint_read_file(const struct cv_checkpoint *checkpoint, const char *name,
                                     size_t max_bytes, struct cv_buf *ret_bytes,
                                     struct cv_error *err)
{
    char path[CV_PATH_BYTES_MAX];

    (void)cv_checkpoint_path(checkpoint, name, path);
    if (checkpoint->store)
        return cv_store_read(checkpoint->store, path, max_bytes, ret_bytes, err);
    return cv_file_read(path, max_bytes, ret_bytes, err);
}

static void remove_sidecar(const char *path)
{
    const char *slash = strrchr(path, '/');
    char sidecar[CV_PATH_BYTES_MAX + 8];

    (void)snprintf(sidecar, sizeof sidecar, "%.*s/.%s.crc", (int)(slash - path), path, slash + 1);
    (void)unlink(sidecar);
}

enum cv_code cv_checkpoint_write_file(const struct cv_checkpoint *checkpoint, const char *name,
                                      const void *bytes, size_t length, enum cv_put how,
                                      struct cv_error *err)
{
    char path[CV_PATH_BYTES_MAX];

    if (checkpoint->collected) {
        cv_buf_printf(checkpoint->collected, "+%s %zu\n", name, length);
        cv_buf_append(checkpoint->collected, bytes, length);
        return cv_buf_check(checkpoint->collected, name, err);
    }
    (void)cv_checkpoint_path(checkpoint, name, path);
    if (checkpoint->store)
        return cv_store_put(checkpoint->store, path, bytes, length, how, err);
    remove_sidecar(path);
    return how == CV_PUT_NEW ? cv_file_write_new(path, bytes, length, err)
                             : cv_file_write_replace(path, bytes, length, err);
}

enum cv_code cv_checkpoint_remove_file(const struct cv_checkpoint *checkpoint, const char *name,
                                       struct cv_error *err)
{
    char path[CV_PATH_BYTES_MAX];

    (void)cv_checkpoint_path(checkpoint, name, path);
    if (checkpoint->store)
        return cv_store_remove(checkpoint->store, path, err);
    CV_DO(cv_file_remove(path, err));
    remove_sidecar(path);
    return CV_OK;
}

static void note_failed(void *context, size_t index, const struct cv_error *why)
{
    struct cv_error *first = context;

    (void)index;
    if (first->code == CV_OK)
        *first = *why;
}

enum cv_code cv_checkpoint_remove_files(const struct cv_checkpoint *checkpoint,
                                        const char *const *names, size_t count,
                                        struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_error first = CV_ERROR_INIT;
    const char **locations;

    for (size_t i = 0; i < count && !checkpoint->store; i++)
        CV_DO(cv_checkpoint_remove_file(checkpoint, names[i], err));
    if (!checkpoint->store || !count)
        return CV_OK;
    locations = cv_arena_array(&arena, const char *, count);
    for (size_t i = 0; i < count; i++)
        locations[i] = cv_location_join(&arena, checkpoint->folder, names[i]);
    CV_DO(cv_store_remove_many(checkpoint->store, locations, count, note_failed, &first, err));
    if (first.code != CV_OK && err)
        *err = first;
    return first.code;
}

struct names {
    struct cv_arena *arena;
    const char *folder; /* with a slash at the end */
    char **items;
    size_t count, capacity;
};

static void names_release(struct names *names)
{
    free(names->items);
}

static enum cv_code add_name(void *context, const struct cv_listed_file *file, struct cv_error *err)
{
    struct names *names = context;
    const char *name = file->location + strlen(names->folder);

    if (!cv_text_starts_with(file->location, names->folder))
        return cv_fail(err, CV_FORMAT, "%.1000s was listed below %.1000s", file->location,
                       names->folder);
    if (!*name || strchr(name, '/'))
        return CV_OK;
    cv_array_reserve(&names->items, &names->capacity, names->count + 1);
    names->items[names->count++] = cv_arena_strdup(names->arena, name);
    return CV_OK;
}

enum cv_code cv_checkpoint_list_folder(const struct cv_checkpoint *checkpoint, const char *folder,
                                       struct cv_arena *arena, char ***ret_names, size_t *ret_count,
                                       struct cv_error *err)
{
    CV_CLEANUP(names_release) struct names names = {.arena = arena};
    char path[CV_PATH_BYTES_MAX];

    (void)cv_checkpoint_path(checkpoint, folder, path);
    if (!checkpoint->store) {
        enum cv_code code = cv_directory_list(path, arena, ret_names, ret_count, err);

        if (code == CV_NOT_FOUND)
            *ret_count = 0;
        return code == CV_NOT_FOUND ? CV_OK : code;
    }
    names.folder = cv_arena_printf(arena, "%s/", path);
    CV_DO(cv_store_list(checkpoint->store, names.folder, add_name, &names, err));
    *ret_names = cv_arena_copy(arena, names.items, names.count * sizeof *names.items);
    *ret_count = names.count;
    return CV_OK;
}
