/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a table's files live. One store per table behind a small vtable: local files, S3. Locations
 * are URIs ("file:///…", "s3://bucket/key"); a location is stored and used exactly as given, never
 * decoded or encoded a second time. Threads: a store may be used by many threads; an output belongs
 * to one. */
#ifndef CALVE_STORAGE_STORE_H
#define CALVE_STORAGE_STORE_H

#include "base/buf.h"
#include "base/limits.h"
#include "base/properties.h"
#include "base/str.h"
#include "storage/requests.h"

struct cv_store;
struct cv_output;

struct cv_listed_file {
    const char *location;
    int64_t size;
    int64_t modified_ms; /* negative = not known */
};

struct cv_open_upload {
    const char *location;
    const char *id;
    int64_t begun_ms;
};

enum cv_put { CV_PUT_NEW, CV_PUT_REPLACE };

typedef void cv_remove_failed(void *context, size_t index, const struct cv_error *why);

struct cv_store_ops {
    const char *name;
    /* Opens a new file for writing, whose name nobody else uses; CV_EXISTS if it is taken, where
     * the store can tell (local files; an object is replaced). Makes parent folders. */
    enum cv_code (*create)(struct cv_store *, const char *location, struct cv_output **ret_output,
                           struct cv_error *);
    /* Appends a range of the file to `ret_bytes`; length SIZE_MAX = to the end; CV_LIMIT where that
     * is more than the buffer's max. */
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
    /* The whole file at once, atomically. CV_EXISTS where `how` is CV_PUT_NEW and the name is taken
     * (by other bytes: an own attempt whose answer was lost is no obstacle); CV_UNSUPPORTED where
     * the store does not keep that promise. Another failure with CV_ERROR_LOST: it may be there. */
    enum cv_code (*put)(struct cv_store *, const char *location, const void *bytes, size_t length,
                        enum cv_put how, struct cv_error *);
    /* Removes many; absent ones are fine. `failed` hears of each that stays. NULL: one by one. */
    enum cv_code (*remove_many)(struct cv_store *, const char *const *locations, size_t count,
                                cv_remove_failed *failed, void *context, struct cv_error *);
    /* Calls `each` for every upload that was begun below the prefix and not ended. NULL: there are
     * none. */
    enum cv_code (*uploads)(struct cv_store *, const char *prefix,
                            enum cv_code (*each)(void *context, const struct cv_open_upload *,
                                                 struct cv_error *),
                            void *context, struct cv_error *);
    enum cv_code (*abort_upload)(struct cv_store *, const struct cv_open_upload *,
                                 struct cv_error *);
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
    struct cv_request_counts counts;
};

struct cv_output {
    const struct cv_output_ops *ops;
    int64_t written;
    size_t held; /* bytes in memory that are not sent yet */
};

/* Properties for the files below a prefix, as a catalog vends them (REST: storage-credentials). */
struct cv_store_grant {
    char *prefix; /* "" = all */
    struct cv_properties properties;
};
struct cv_store_grants {
    struct cv_store_grant *items;
    size_t count;
};
void cv_store_grants_release(struct cv_store_grants *grants);
/* Asks for grants anew. From any thread, one call at a time per store. */
typedef enum cv_code cv_store_refresh(void *context, struct cv_store_grants *ret_grants,
                                      struct cv_error *err);

/* Zero-initialise; all is copied but the context, which outlives the store. */
struct cv_store_config {
    const struct cv_properties *properties; /* the catalog's with the table's over them; NULL */
    const struct cv_store_grants *grants;   /* the longest prefix counts; NULL = none */
    cv_store_refresh *refresh;              /* NULL = grants do not end */
    void *refresh_context;
};

/* The store for a location by its scheme: "file:" or a bare absolute path; "s3:", "s3a:", "s3n:".
 * Others: CV_UNSUPPORTED naming the scheme. `config` may be NULL. */
enum cv_code cv_store_open(const char *location, const struct cv_store_config *config,
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
enum cv_code cv_store_put(struct cv_store *store, const char *location, const void *bytes,
                          size_t length, enum cv_put how, struct cv_error *err);
/* Absent is fine. */
enum cv_code cv_store_remove(struct cv_store *store, const char *location, struct cv_error *err);
/* Absent ones are fine; `failed` (may be NULL) hears of each that stays. CV_OK when all were tried,
 * another code when the store cannot be reached at all. */
enum cv_code cv_store_remove_many(struct cv_store *store, const char *const *locations,
                                  size_t count, cv_remove_failed *failed, void *context,
                                  struct cv_error *err);
enum cv_code cv_store_list(struct cv_store *store, const char *prefix,
                           enum cv_code (*each)(void *context, const struct cv_listed_file *,
                                                struct cv_error *),
                           void *context, struct cv_error *err);
/* Uploads that were begun below the prefix and neither completed nor aborted. */
enum cv_code cv_store_uploads(struct cv_store *store, const char *prefix,
                              enum cv_code (*each)(void *context, const struct cv_open_upload *,
                                                   struct cv_error *),
                              void *context, struct cv_error *err);
enum cv_code cv_store_abort_upload(struct cv_store *store, const struct cv_open_upload *upload,
                                   struct cv_error *err);

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
