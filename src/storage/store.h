/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a table's files live. One store per table and prefix behind a small vtable; local files are
 * the first implementation (S3 follows). Locations are URIs ("file:///…"); a location is stored and
 * used exactly as given, never decoded or encoded a second time. Threads: a store may be used by
 * many threads; an output belongs to one. */
#ifndef CALVE_STORAGE_STORE_H
#define CALVE_STORAGE_STORE_H

#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"

struct cv_store;
struct cv_output;

struct cv_listed_file {
    const char *location;
    int64_t size;
    int64_t modified_ms; /* negative = not known */
};

struct cv_store_ops {
    const char *name;
    /* Opens a new file for writing; CV_EXISTS if the name is taken. Makes parent folders. */
    enum cv_code (*create)(struct cv_store *, const char *location, struct cv_output **ret_output,
                           struct cv_error *);
    /* Appends a range of the file to `ret_bytes`; length SIZE_MAX = to the end (at most max). */
    enum cv_code (*read)(struct cv_store *, const char *location, int64_t offset, size_t length,
                         struct cv_buf *ret_bytes, struct cv_error *);
    enum cv_code (*size)(struct cv_store *, const char *location, int64_t *ret_size,
                         struct cv_error *);
    enum cv_code (*remove)(struct cv_store *, const char *location, struct cv_error *);
    /* Calls `each` for every file below the prefix. */
    enum cv_code (*list)(struct cv_store *, const char *prefix,
                         enum cv_code (*each)(void *context, const struct cv_listed_file *,
                                              struct cv_error *),
                         void *context, struct cv_error *);
    /* Makes files that were closed with cv_output_close_unsynced() durable. NULL: they are. */
    enum cv_code (*sync)(struct cv_store *, const char *const *locations, size_t count,
                         struct cv_error *);
    void (*free)(struct cv_store *);
};

struct cv_output_ops {
    enum cv_code (*write)(struct cv_output *, const void *bytes, size_t length, struct cv_error *);
    /* Makes the file durable and visible (fsync of file and folder, or completed upload). */
    enum cv_code (*close)(struct cv_output *, struct cv_error *);
    /* The same without waiting for the disk; the store's sync() follows. NULL: as close. */
    enum cv_code (*close_unsynced)(struct cv_output *, struct cv_error *);
    /* Removes what was written; never fails visibly. Also right after a failed close. */
    void (*abort)(struct cv_output *);
};

/* First member of every implementation's struct. */
struct cv_store {
    const struct cv_store_ops *ops;
};

struct cv_output {
    const struct cv_output_ops *ops;
    int64_t written;
};

/* The store for a location by its scheme: "file:" or a bare absolute path. Others: CV_UNSUPPORTED
 * naming the scheme. `properties` are the catalog's and may be NULL. */
struct cv_properties;
enum cv_code cv_store_open(const char *location, const struct cv_properties *properties,
                           struct cv_store **ret_store, struct cv_error *err);
void cv_store_free(struct cv_store *store);
CV_DEFINE_CLEANUP(struct cv_store *, cv_store_free)

enum cv_code cv_store_create(struct cv_store *store, const char *location,
                             struct cv_output **ret_output, struct cv_error *err);
enum cv_code cv_store_read(struct cv_store *store, const char *location, size_t max_bytes,
                           struct cv_buf *ret_bytes, struct cv_error *err);
enum cv_code cv_store_read_range(struct cv_store *store, const char *location, int64_t offset,
                                 size_t length, struct cv_buf *ret_bytes, struct cv_error *err);
/* Creates, writes and closes; on failure nothing is left. */
enum cv_code cv_store_write(struct cv_store *store, const char *location, const void *bytes,
                            size_t length, struct cv_error *err);
/* The same, durable only after cv_store_sync(). */
enum cv_code cv_store_write_unsynced(struct cv_store *store, const char *location,
                                     const void *bytes, size_t length, struct cv_error *err);
/* Makes files durable that were written or closed unsynced, their folders too: each file once, each
 * folder once. To be called before anything refers to them. */
enum cv_code cv_store_sync(struct cv_store *store, const char *const *locations, size_t count,
                           struct cv_error *err);
enum cv_code cv_store_size(struct cv_store *store, const char *location, int64_t *ret_size,
                           struct cv_error *err);
/* Absent is fine. */
enum cv_code cv_store_remove(struct cv_store *store, const char *location, struct cv_error *err);
enum cv_code cv_store_list(struct cv_store *store, const char *prefix,
                           enum cv_code (*each)(void *context, const struct cv_listed_file *,
                                                struct cv_error *),
                           void *context, struct cv_error *err);

enum cv_code cv_output_write(struct cv_output *output, const void *bytes, size_t length,
                             struct cv_error *err);
enum cv_code cv_output_close(struct cv_output *output, struct cv_error *err); /* frees on success */
enum cv_code cv_output_close_unsynced(struct cv_output *output, struct cv_error *err); /* so too */
void cv_output_abort(struct cv_output *output); /* frees; NULL is fine */

/* "file:///a/b", "file:/a/b" or "/a/b" → "/a/b"; false for other schemes. */
bool cv_location_local_path(const char *location, char path[CV_PATH_BYTES_MAX]);
/* Joins with exactly one slash. */
char *cv_location_join(struct cv_arena *arena, const char *base, const char *name);

#endif
