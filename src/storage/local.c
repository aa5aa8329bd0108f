/* SPDX-License-Identifier: Apache-2.0
 *
 * Local files as a store. A file is created under its final name with O_EXCL: names hold a random
 * part, and nothing refers to a file before it is closed and synced, so a half-written one is only
 * an orphan. Descriptors are few compared with writers, writes are collected in a small buffer. */
#include "storage/store_int.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITE_BUFFER_BYTES ((size_t)64 * 1024)
#define FOLDER_DEPTH_MAX   64

struct local_output {
    struct cv_output base;
    int descriptor;
    char *location;
    uint8_t *buffer; /* allocated by the first small write */
    size_t buffered;
};

static void close_descriptor(int *descriptor)
{
    if (*descriptor >= 0)
        (void)close(*descriptor);
    *descriptor = -1;
}

static enum cv_code fail_errno(struct cv_error *err, const char *action, const char *location)
{
    int saved = errno;
    enum cv_code code = saved == ENOENT ? CV_NOT_FOUND : saved == EEXIST ? CV_EXISTS : CV_IO;

    (void)cv_fail(err, code, "cannot %s %.1500s: %s", action, location, strerror(saved));
    if (saved == EMFILE || saved == ENFILE)
        cv_hint(err, "raise the limit of open files (ulimit -n)");
    else if (saved == ENOSPC || saved == EDQUOT)
        cv_hint(err, "free space on the disk; the next start continues exactly");
    return code;
}

static enum cv_code path_of(const char *location, char path[CV_PATH_BYTES_MAX],
                            struct cv_error *err)
{
    if (cv_location_local_path(location, path))
        return CV_OK;
    return cv_fail(err, CV_CONFIG, "%.1500s is not a local location", location);
}

/* "/a/b" → "/a"; false for the root. */
static bool cut_to_parent(char *path)
{
    char *slash = strrchr(path, '/');

    if (!slash || slash == path)
        return false;
    *slash = '\0';
    return true;
}

/* Makes the folder and its parents; every folder that got a new entry is synced. `path` is cut and
 * restored. */
static enum cv_code make_folder(char *path, struct cv_error *err)
{
    size_t length = strlen(path);

    while (mkdir(path, 0777) != 0 && errno != EEXIST)
        if (errno != ENOENT || !cut_to_parent(path))
            return fail_errno(err, "make folder", path);
    for (size_t end = strlen(path); end < length; end = strlen(path)) {
        path[end] = '/';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return fail_errno(err, "make folder", path);
        path[end] = '\0';
        CV_DO(cv_directory_sync(path, err));
        path[end] = '/';
    }
    return CV_OK;
}

static enum cv_code flush(struct local_output *output, struct cv_error *err)
{
    size_t length = output->buffered;

    output->buffered = 0;
    return length ? cv_write_all(output->descriptor, output->buffer, length, output->location, err)
                  : CV_OK;
}

static enum cv_code local_write(struct cv_output *base, const void *bytes, size_t length,
                                struct cv_error *err)
{
    struct local_output *output = (struct local_output *)base;

    if (length > WRITE_BUFFER_BYTES - output->buffered)
        CV_DO(flush(output, err));
    if (length >= WRITE_BUFFER_BYTES)
        return cv_write_all(output->descriptor, bytes, length, output->location, err);
    if (!output->buffer)
        output->buffer = cv_alloc(WRITE_BUFFER_BYTES);
    if (length)
        memcpy(output->buffer + output->buffered, bytes, length);
    output->buffered += length;
    return CV_OK;
}

static void free_output(struct local_output *output)
{
    close_descriptor(&output->descriptor);
    free(output->location);
    free(output->buffer);
    free(output);
}

static enum cv_code finish(struct local_output *output, bool synced, struct cv_error *err)
{
    int descriptor;

    CV_DO(flush(output, err));
    if (synced && fsync(output->descriptor) != 0)
        return fail_errno(err, "sync", output->location);
    descriptor = output->descriptor;
    output->descriptor = -1;
    if (close(descriptor) != 0 && errno != EINTR)
        return fail_errno(err, "close", output->location);
    return CV_OK;
}

static enum cv_code local_close(struct cv_output *base, struct cv_error *err)
{
    struct local_output *output = (struct local_output *)base;
    char folder[CV_PATH_BYTES_MAX];

    CV_DO(finish(output, true, err));
    CV_DO(path_of(output->location, folder, err));
    if (cut_to_parent(folder))
        CV_DO(cv_directory_sync(folder, err));
    free_output(output);
    return CV_OK;
}

static enum cv_code local_close_unsynced(struct cv_output *base, struct cv_error *err)
{
    struct local_output *output = (struct local_output *)base;

    CV_DO(finish(output, false, err));
    free_output(output);
    return CV_OK;
}

static void local_abort(struct cv_output *base)
{
    struct local_output *output = (struct local_output *)base;
    char path[CV_PATH_BYTES_MAX];

    if (cv_location_local_path(output->location, path))
        (void)unlink(path);
    free_output(output);
}

static const struct cv_output_ops output_ops = {
    .write = local_write,
    .close = local_close,
    .close_unsynced = local_close_unsynced,
    .abort = local_abort,
};

static enum cv_code local_create(struct cv_store *store, const char *location,
                                 struct cv_output **ret_output, struct cv_error *err)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    struct local_output *output;
    char path[CV_PATH_BYTES_MAX];
    int descriptor;

    (void)store;
    CV_DO(path_of(location, path, err));
    descriptor = open(path, flags, 0666);
    if (descriptor < 0 && errno == ENOENT) {
        char folder[CV_PATH_BYTES_MAX];

        memcpy(folder, path, strlen(path) + 1);
        if (cut_to_parent(folder))
            CV_DO(make_folder(folder, err));
        descriptor = open(path, flags, 0666);
    }
    if (descriptor < 0)
        return fail_errno(err, "create", location);
    output = cv_alloc(sizeof *output);
    *output = (struct local_output){{&output_ops, 0}, descriptor, cv_strdup(location), NULL, 0};
    *ret_output = &output->base;
    return CV_OK;
}

static enum cv_code read_some(int descriptor, int64_t offset, size_t length,
                              struct cv_buf *ret_bytes, const char *location, struct cv_error *err)
{
    while (length) {
        const size_t step = CV_MIN(length, (size_t)1 << 20);
        ssize_t got;

        if (!cv_buf_reserve(ret_bytes, step))
            return cv_buf_check(ret_bytes, location, err);
        got = pread(descriptor, ret_bytes->data + ret_bytes->length, step, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(err, "read", location);
        if (got == 0)
            return CV_OK;
        ret_bytes->length += (size_t)got;
        offset += got;
        length -= (size_t)got;
    }
    return CV_OK;
}

static enum cv_code open_for_reading(const char *location, int *ret_descriptor, int64_t *ret_size,
                                     struct cv_error *err)
{
    char path[CV_PATH_BYTES_MAX];
    struct stat status;

    CV_DO(path_of(location, path, err));
    *ret_descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (*ret_descriptor < 0 || fstat(*ret_descriptor, &status) != 0)
        return fail_errno(err, "read", location);
    if (!S_ISREG(status.st_mode))
        return cv_fail(err, CV_IO, "cannot read %.1500s: it is not a file", location);
    *ret_size = status.st_size;
    return CV_OK;
}

static enum cv_code local_read(struct cv_store *store, const char *location, int64_t offset,
                               size_t length, struct cv_buf *ret_bytes, struct cv_error *err)
{
    CV_CLEANUP(close_descriptor) int descriptor = -1;
    int64_t size;

    (void)store;
    CV_DO(open_for_reading(location, &descriptor, &size, err));
    if (offset < 0 || offset > size)
        return cv_fail(err, CV_FORMAT, "%.1500s has %lld bytes, offset %lld is outside", location,
                       (long long)size, (long long)offset);
    if (length == SIZE_MAX) {
        const size_t max = ret_bytes->max ? ret_bytes->max : CV_BUF_BYTES_MAX;
        const size_t room = max - CV_MIN(max, ret_bytes->length);

        if ((uint64_t)(size - offset) > room)
            return cv_fail(err, CV_LIMIT, "%.1500s has %lld bytes, more than the %zu allowed",
                           location, (long long)size, room);
    }
    length = CV_MIN(length, (size_t)(size - offset));
    return read_some(descriptor, offset, length, ret_bytes, location, err);
}

static enum cv_code local_size(struct cv_store *store, const char *location, int64_t *ret_size,
                               struct cv_error *err)
{
    CV_CLEANUP(close_descriptor) int descriptor = -1;
    int64_t size;

    (void)store;
    CV_DO(open_for_reading(location, &descriptor, &size, err));
    *ret_size = size;
    return CV_OK;
}

static enum cv_code local_remove(struct cv_store *store, const char *location, struct cv_error *err)
{
    char path[CV_PATH_BYTES_MAX];

    (void)store;
    CV_DO(path_of(location, path, err));
    if (unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR)
        return CV_OK;
    return fail_errno(err, "remove", location);
}

#define SYNC_GROUP 64

static void close_group(int (*descriptors)[SYNC_GROUP])
{
    for (size_t i = 0; i < SYNC_GROUP; i++)
        close_descriptor(&(*descriptors)[i]);
}

/* Writing out is started for all before the first is waited for: the file system then brings them
 * to disk together. */
static enum cv_code sync_group(const char *const *locations, size_t count, struct cv_error *err)
{
    CV_CLEANUP(close_group) int descriptors[SYNC_GROUP];
    char path[CV_PATH_BYTES_MAX];

    for (size_t i = 0; i < SYNC_GROUP; i++)
        descriptors[i] = -1;
    for (size_t i = 0; i < count; i++) {
        CV_DO(path_of(locations[i], path, err));
        descriptors[i] = open(path, O_RDONLY | O_CLOEXEC);
        if (descriptors[i] < 0)
            return fail_errno(err, "sync", locations[i]);
        (void)sync_file_range(descriptors[i], 0, 0, SYNC_FILE_RANGE_WRITE);
    }
    for (size_t i = 0; i < count; i++)
        if (fsync(descriptors[i]) != 0)
            return fail_errno(err, "sync", locations[i]);
    return CV_OK;
}

/* Files first, each folder after them: an entry on disk names a file that is there. */
static enum cv_code local_sync(struct cv_store *store, const char *const *locations, size_t count,
                               struct cv_error *err)
{
    char last[CV_PATH_BYTES_MAX] = "";
    char path[CV_PATH_BYTES_MAX];

    (void)store;
    for (size_t i = 0; i < count; i += SYNC_GROUP)
        CV_DO(sync_group(locations + i, CV_MIN(count - i, (size_t)SYNC_GROUP), err));
    for (size_t i = 0; i < count; i++) {
        CV_DO(path_of(locations[i], path, err));
        if (!cut_to_parent(path) || strcmp(path, last) == 0)
            continue;
        CV_DO(cv_directory_sync(path, err));
        memcpy(last, path, strlen(path) + 1);
    }
    return CV_OK;
}

static enum cv_code local_put(struct cv_store *store, const char *location, const void *bytes,
                              size_t length, enum cv_put how, struct cv_error *err)
{
    char path[CV_PATH_BYTES_MAX];
    char folder[CV_PATH_BYTES_MAX];

    (void)store;
    CV_DO(path_of(location, path, err));
    memcpy(folder, path, strlen(path) + 1);
    if (cut_to_parent(folder) && access(folder, F_OK) != 0 && errno == ENOENT)
        CV_DO(make_folder(folder, err));
    return how == CV_PUT_NEW ? cv_file_write_new(path, bytes, length, err)
                             : cv_file_write_replace(path, bytes, length, err);
}

struct walk {
    enum cv_code (*each)(void *context, const struct cv_listed_file *, struct cv_error *);
    void *context;
    struct cv_error *err;
};

static void close_directory(DIR **directory)
{
    if (*directory)
        (void)closedir(*directory);
}

static enum cv_code walk_folder(const struct walk *walk, int parent, const char *name,
                                const char *location, int depth);

static enum cv_code walk_entry(const struct walk *walk, int folder, const char *name,
                               const char *location, int depth)
{
    struct cv_arena arena CV_CLEANUP(cv_arena_release) = CV_ARENA_INIT;
    struct cv_listed_file file = {.location = cv_location_join(&arena, location, name)};
    struct stat status;

    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? CV_OK : fail_errno(walk->err, "look at", file.location);
    if (S_ISDIR(status.st_mode))
        return walk_folder(walk, folder, name, file.location, depth + 1);
    if (!S_ISREG(status.st_mode)) /* a link is neither followed nor a file */
        return CV_OK;
    file.size = status.st_size;
    file.modified_ms = (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000;
    return walk->each(walk->context, &file, walk->err);
}

static enum cv_code walk_folder(const struct walk *walk, int parent, const char *name,
                                const char *location, int depth)
{
    int descriptor = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CV_CLEANUP(close_directory) DIR *directory = descriptor < 0 ? NULL : fdopendir(descriptor);

    if (depth > FOLDER_DEPTH_MAX)
        return cv_fail(walk->err, CV_LIMIT, "folders below %.1500s nest deeper than %d", location,
                       FOLDER_DEPTH_MAX);
    if (!directory)
        return fail_errno(walk->err, "list", location);
    for (struct dirent *entry; (entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            CV_DO(walk_entry(walk, descriptor, entry->d_name, location, depth));
    return CV_OK;
}

static enum cv_code local_list(struct cv_store *store, const char *prefix,
                               enum cv_code (*each)(void *context, const struct cv_listed_file *,
                                                    struct cv_error *),
                               void *context, struct cv_error *err)
{
    const struct walk walk = {each, context, err};
    char path[CV_PATH_BYTES_MAX];

    (void)store;
    CV_DO(path_of(prefix, path, err));
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return CV_OK;
    return walk_folder(&walk, AT_FDCWD, path, prefix, 0);
}

static void local_free(struct cv_store *store)
{
    free(store);
}

static const struct cv_store_ops store_ops = {
    .name = "local",
    .create = local_create,
    .read = local_read,
    .size = local_size,
    .remove = local_remove,
    .list = local_list,
    .put = local_put,
    .sync = local_sync,
    .free = local_free,
};

struct cv_store *cv_local_store_new(void)
{
    struct cv_store *store = cv_alloc(sizeof *store);

    store->ops = &store_ops;
    return store;
}
