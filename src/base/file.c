/* SPDX-License-Identifier: Apache-2.0
 *
 * Durable local files. */
#include "base/file.h"

#include "base/random.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES 16384
#define SLICE_MS   50 /* how soon a stop is noticed */

static enum cv_code fail_errno(struct cv_error *err, const char *action, const char *path)
{
    int saved = errno;

    return cv_fail(err, saved == ENOENT ? CV_NOT_FOUND : CV_IO, "cannot %s %s: %s", action, path,
                   strerror(saved));
}

static void close_descriptor(int *descriptor)
{
    if (*descriptor >= 0)
        (void)close(*descriptor);
}

enum cv_code cv_file_read(const char *path, size_t max_bytes, struct cv_buf *ret_bytes,
                          struct cv_error *err)
{
    CV_CLEANUP(close_descriptor) int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;

    if (descriptor < 0 || fstat(descriptor, &status) != 0)
        return fail_errno(err, "read", path);
    if (S_ISDIR(status.st_mode))
        return cv_fail(err, CV_IO, "cannot read %s: it is a folder", path);
    if (status.st_size < 0 || (uint64_t)status.st_size > max_bytes)
        return cv_fail(err, CV_LIMIT, "%s has %lld bytes, more than the %zu allowed", path,
                       (long long)status.st_size, max_bytes);
    for (size_t total = 0;;) {
        uint8_t chunk[READ_BYTES];
        ssize_t got = read(descriptor, chunk, sizeof chunk);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(err, "read", path);
        if (got == 0)
            return cv_buf_check(ret_bytes, path, err);
        total += (size_t)got;
        if (total > max_bytes)
            return cv_fail(err, CV_LIMIT, "%s has more than the %zu bytes allowed", path,
                           max_bytes);
        cv_buf_append(ret_bytes, chunk, (size_t)got);
    }
}

bool cv_wait_readable(int descriptor, bool (*stopping)(void *context), void *context)
{
    struct pollfd waiting = {.fd = descriptor, .events = POLLIN};

    while (!stopping || !stopping(context)) {
        int ready = poll(&waiting, 1, SLICE_MS);

        if (ready > 0 || (ready < 0 && errno != EINTR))
            return true; /* an error or the end, too: read() tells which */
    }
    return false;
}

enum cv_code cv_write_all(int descriptor, const void *bytes, size_t length, const char *path,
                          struct cv_error *err)
{
    const char *at = bytes;

    while (length) {
        ssize_t put = write(descriptor, at, length);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return fail_errno(err, "write", path);
        at += put;
        length -= (size_t)put;
    }
    return CV_OK;
}

static enum cv_code write_synced(const char *path, const void *bytes, size_t length,
                                 struct cv_error *err)
{
    CV_CLEANUP(close_descriptor)
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (descriptor < 0)
        return fail_errno(err, "create", path);
    CV_DO(cv_write_all(descriptor, bytes, length, path, err));
    if (fsync(descriptor) != 0)
        return fail_errno(err, "sync", path);
    return CV_OK;
}

static void temporary_name(const char *path, char *temporary, size_t size)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path + 1) : 0;
    char uuid[CV_UUID_TEXT_BYTES];

    cv_uuid_text(uuid);
    (void)snprintf(temporary, size, "%.*s.%s.%s.tmp", folder, path, path + folder, uuid);
}

static void parent_of(const char *path, char *parent, size_t size)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        (void)snprintf(parent, size, ".");
    else
        (void)snprintf(parent, size, "%.*s", (int)CV_MAX(slash - path, 1), path);
}

static enum cv_code write_file(const char *path, const void *bytes, size_t length, bool replace,
                               struct cv_error *err)
{
    char temporary[4096 + 64];
    char parent[4096];
    enum cv_code code;

    temporary_name(path, temporary, sizeof temporary);
    parent_of(path, parent, sizeof parent);
    code = write_synced(temporary, bytes, length, err);
    if (code == CV_OK && replace && rename(temporary, path) != 0)
        code = fail_errno(err, "replace", path);
    else if (code == CV_OK && !replace && link(temporary, path) != 0)
        code = errno == EEXIST ? cv_fail(err, CV_EXISTS, "%s exists already", path)
                               : fail_errno(err, "create", path);
    if (!replace || code != CV_OK)
        (void)unlink(temporary);
    if (code != CV_OK)
        return code;
    return cv_directory_sync(parent, err);
}

enum cv_code cv_file_write_new(const char *path, const void *bytes, size_t length,
                               struct cv_error *err)
{
    return write_file(path, bytes, length, false, err);
}

enum cv_code cv_file_write_replace(const char *path, const void *bytes, size_t length,
                                   struct cv_error *err)
{
    return write_file(path, bytes, length, true, err);
}

bool cv_file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

enum cv_code cv_file_remove(const char *path, struct cv_error *err)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return CV_OK;
    return fail_errno(err, "remove", path);
}

enum cv_code cv_directory_make(const char *path, struct cv_error *err)
{
    char prefix[4096];
    size_t length = strlen(path);

    if (length >= sizeof prefix)
        return cv_fail(err, CV_LIMIT, "path of %zu bytes is too long: %.100s…", length, path);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(prefix, path, i);
        prefix[i] = '\0';
        if (mkdir(prefix, 0777) != 0 && errno != EEXIST)
            return fail_errno(err, "make folder", prefix);
    }
    return CV_OK;
}

enum cv_code cv_directory_sync(const char *path, struct cv_error *err)
{
    CV_CLEANUP(close_descriptor)
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (descriptor < 0 || fsync(descriptor) != 0)
        return fail_errno(err, "sync folder", path);
    return CV_OK;
}

static void close_directory(DIR **directory)
{
    if (*directory)
        (void)closedir(*directory);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum cv_code cv_directory_list(const char *path, struct cv_arena *arena, char ***ret_names,
                               size_t *ret_count, struct cv_error *err)
{
    CV_CLEANUP(close_directory) DIR *directory = opendir(path);
    CV_CLEANUP(cv_freep) char **names = NULL;
    size_t capacity = 0;
    size_t count = 0;

    if (!directory)
        return fail_errno(err, "list", path);
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        cv_array_reserve(&names, &capacity, count + 1);
        names[count++] = cv_arena_strdup(arena, entry->d_name);
    }
    if (count)
        qsort(names, count, sizeof *names, compare_names);
    *ret_names = cv_arena_copy(arena, names, count * sizeof *names);
    *ret_count = count;
    return CV_OK;
}
