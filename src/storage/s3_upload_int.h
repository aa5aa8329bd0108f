/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the S3 store: one file under way, and the jobs of the threads that send it.
 *
 *   output ── full part, last part ──> submit ──> queue ──> thread: PUT part │ PUT whole
 *                                                                 the last one completes or aborts
 *
 * An upload belongs to its output until close_unsynced(); then the store's list keeps it until it
 * is done, and on where it failed, so that sync() can tell. */
#ifndef CALVE_STORAGE_S3_UPLOAD_INT_H
#define CALVE_STORAGE_S3_UPLOAD_INT_H

#include "storage/s3_int.h"

/* What is said to be guarded is so by the lock of the store's uploads. */
struct s3_upload {
    struct s3_upload *next; /* in the store's list; guarded */
    struct s3_store *store;
    char *location;
    char *id;       /* of the multipart upload; NULL = the file is put whole */
    char **etags;   /* of the parts; guarded */
    int part_count; /* handed over */
    size_t etag_capacity;
    int64_t length;           /* of the file, as far as it is handed over */
    size_t in_flight;         /* jobs waiting or under way; guarded, as all below */
    size_t bytes;             /* of those */
    bool closed;              /* no part follows */
    bool detached;            /* no output holds it any more */
    bool done;                /* completed, put or failed; nothing happens any more */
    struct cv_error *failure; /* the first; NULL = none */
};

struct s3_upload *s3_upload_new(struct s3_store *store, const char *location);
void s3_upload_free(struct s3_upload *upload);

/* Hands bytes over: `part` counts from 1, 0 = the whole file. Waits for room. `last`: nothing
 * follows, and the thread that ends the last job finishes the upload. Fails with what failed
 * before. Takes the bytes in any case. */
enum cv_code s3_upload_submit(struct s3_upload *upload, int part, struct cv_buf *bytes, bool last,
                              struct cv_error *err);
/* Waits until nothing of it is waiting or under way; its failure, if any. */
enum cv_code s3_upload_wait(struct s3_upload *upload, struct cv_error *err);
/* Parts that wait are not sent any more, and what is there is aborted. */
void s3_upload_abort(struct s3_upload *upload);
/* From now on the store's list has it; frees it where it is done well already. */
void s3_upload_detach(struct s3_upload *upload);
size_t s3_upload_bytes(struct s3_upload *upload); /* waiting or under way */

/* s3_multipart.c */
int64_t s3_part_bytes(int64_t base, int part);
enum cv_code s3_multipart_begin(struct s3_upload *upload, struct cv_error *err);
/* The ETag is the caller's to free. */
enum cv_code s3_multipart_send(const struct s3_upload *upload, int part, const void *bytes,
                               size_t length, char **ret_etag, struct cv_error *err);
enum cv_code s3_multipart_complete(const struct s3_upload *upload, struct cv_error *err);
void s3_multipart_abort(const struct s3_upload *upload);

#endif
