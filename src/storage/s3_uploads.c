/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that send parts and small files while writing goes on. They start when there is work,
 * hold a bounded number of bytes, and end with the store, which waits for what is under way. */
#include "storage/s3_upload_int.h"

#include <signal.h>
#include <stdlib.h>

struct s3_job {
    struct s3_job *next;
    struct s3_upload *upload;
    int part; /* 0 = the whole file */
    struct cv_buf bytes;
};

static struct s3_uploads *uploads_of(const struct s3_upload *upload)
{
    return &upload->store->uploads;
}

void s3_uploads_init(struct s3_uploads *uploads)
{
    (void)pthread_mutex_init(&uploads->lock, NULL);
    (void)pthread_cond_init(&uploads->changed, NULL);
}

struct s3_upload *s3_upload_new(struct s3_store *store, const char *location)
{
    struct s3_upload *upload = cv_alloc(sizeof *upload);

    upload->store = store;
    upload->location = cv_strdup(location);
    return upload;
}

void s3_upload_free(struct s3_upload *upload)
{
    if (!upload)
        return;
    for (size_t i = 0; i < upload->etag_capacity; i++)
        free(upload->etags[i]);
    free(upload->etags);
    free(upload->failure);
    free(upload->id);
    free(upload->location);
    free(upload);
}

/* With the lock held. The first failure counts. */
static void note_failure(struct s3_upload *upload, const struct cv_error *why)
{
    if (upload->failure)
        return;
    upload->failure = cv_alloc(sizeof *upload->failure);
    *upload->failure = *why;
}

static enum cv_code give_failure(const struct s3_upload *upload, struct cv_error *err)
{
    if (!upload->failure)
        return CV_OK;
    if (err)
        *err = *upload->failure;
    return upload->failure->code;
}

static void note_etag(struct s3_upload *upload, int part, char *etag)
{
    const size_t before = upload->etag_capacity;

    cv_array_reserve(&upload->etags, &upload->etag_capacity, (size_t)part);
    for (size_t i = before; i < upload->etag_capacity; i++)
        upload->etags[i] = NULL;
    upload->etags[part - 1] = etag;
}

/* Without the lock. */
static enum cv_code send_job(const struct s3_job *job, char **ret_etag, struct cv_error *err)
{
    const struct s3_upload *upload = job->upload;

    if (job->part == 0)
        return s3_put_object(upload->store, upload->location, job->bytes.data, job->bytes.length,
                             false, err);
    return s3_multipart_send(upload, job->part, job->bytes.data, job->bytes.length, ret_etag, err);
}

/* With the lock held. Whoever was told to stop does not wait for a server that hangs again and
 * again. */
static enum cv_code fail_cancelled(const struct s3_upload *upload, struct cv_error *err)
{
    return cv_fail(err, CV_CANCELLED, "the upload of %.1000s was given up: the process ends",
                   upload->location);
}

/* With the lock held, which is given up meanwhile: every part is there, or one is not. */
static void finish_upload(struct s3_upload *upload)
{
    struct s3_uploads *uploads = uploads_of(upload);
    const bool failed = upload->failure != NULL;
    const bool cancelled = uploads->cancelled;
    struct cv_error why = CV_ERROR_INIT;
    enum cv_code code = CV_OK;

    if (!upload->id)
        return;
    (void)pthread_mutex_unlock(&uploads->lock);
    if (!failed)
        code = s3_multipart_complete(upload, &why);
    if ((failed || code != CV_OK) && !cancelled && code != CV_CANCELLED)
        s3_multipart_abort(upload);
    (void)pthread_mutex_lock(&uploads->lock);
    uploads->cancelled |= code == CV_CANCELLED;
    if (code != CV_OK)
        note_failure(upload, &why);
}

static void unlink_upload(struct s3_uploads *uploads, const struct s3_upload *upload)
{
    for (struct s3_upload **at = &uploads->uploads; *at; at = &(*at)->next)
        if (*at == upload) {
            *at = upload->next;
            return;
        }
}

/* With the lock held, which is given up while requests are under way. */
static void run_job(struct s3_uploads *uploads, struct s3_job *job)
{
    struct s3_upload *upload = job->upload;
    struct cv_error why = CV_ERROR_INIT;
    char *etag = NULL;
    enum cv_code code = CV_OK;

    if (!upload->failure && uploads->cancelled) {
        code = fail_cancelled(upload, &why);
    } else if (!upload->failure) {
        (void)pthread_mutex_unlock(&uploads->lock);
        code = send_job(job, &etag, &why);
        (void)pthread_mutex_lock(&uploads->lock);
    }
    if (etag)
        note_etag(upload, job->part, etag);
    if (code != CV_OK)
        note_failure(upload, &why);
    uploads->cancelled |= code == CV_CANCELLED;
    uploads->bytes -= job->bytes.capacity;
    upload->bytes -= job->bytes.capacity;
    cv_buf_release(&job->bytes);
    free(job);
    if (upload->closed && upload->in_flight == 1)
        finish_upload(upload);
    upload->in_flight--;
    upload->done = upload->closed && upload->in_flight == 0;
    if (upload->done && upload->detached && !upload->failure) {
        unlink_upload(uploads, upload);
        s3_upload_free(upload);
    }
    (void)pthread_cond_broadcast(&uploads->changed);
}

static void *send_jobs(void *context)
{
    struct s3_uploads *uploads = context;

    (void)pthread_mutex_lock(&uploads->lock);
    for (;;) {
        struct s3_job *job = uploads->first;

        if (job) {
            uploads->first = job->next;
            uploads->waiting_count--;
            run_job(uploads, job);
        } else if (uploads->ending) {
            break;
        } else {
            uploads->idle_count++;
            (void)pthread_cond_wait(&uploads->changed, &uploads->lock);
            uploads->idle_count--;
        }
    }
    (void)pthread_mutex_unlock(&uploads->lock);
    return NULL;
}

/* Signals are for the main thread. */
static enum cv_code start_thread(struct s3_uploads *uploads, struct cv_error *err)
{
    sigset_t all;
    sigset_t before;
    int failed;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&uploads->threads[uploads->thread_count], NULL, send_jobs, uploads);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        uploads->thread_count++;
    else if (uploads->thread_count == 0)
        return cv_fail(err, CV_IO, "cannot start a thread for uploads");
    return CV_OK;
}

static bool must_wait(const struct s3_uploads *uploads, const struct s3_upload *upload,
                      size_t bytes)
{
    if (upload->failure)
        return false;
    if (upload->in_flight >= (size_t)upload->store->settings.threads)
        return true;
    return uploads->bytes && uploads->bytes + bytes > S3_BACKGROUND_BYTES;
}

/* With the lock held. */
static enum cv_code enqueue(struct s3_upload *upload, int part, struct cv_buf *bytes, bool last,
                            struct cv_error *err)
{
    struct s3_uploads *uploads = uploads_of(upload);
    struct s3_job *job;

    while (must_wait(uploads, upload, bytes->capacity))
        (void)pthread_cond_wait(&uploads->changed, &uploads->lock);
    CV_DO(give_failure(upload, err));
    if (uploads->waiting_count >= uploads->idle_count &&
        uploads->thread_count < (size_t)upload->store->settings.threads)
        CV_DO(start_thread(uploads, err));
    job = cv_alloc(sizeof *job);
    *job = (struct s3_job){.upload = upload, .part = part, .bytes = *bytes};
    *bytes = (struct cv_buf){0};
    if (uploads->first)
        uploads->last->next = job;
    else
        uploads->first = job;
    uploads->last = job;
    uploads->waiting_count++;
    uploads->bytes += job->bytes.capacity;
    upload->bytes += job->bytes.capacity;
    upload->length += (int64_t)job->bytes.length;
    upload->part_count = part;
    upload->in_flight++;
    upload->closed = last;
    (void)pthread_cond_broadcast(&uploads->changed);
    return CV_OK;
}

enum cv_code s3_upload_submit(struct s3_upload *upload, int part, struct cv_buf *bytes, bool last,
                              struct cv_error *err)
{
    struct s3_uploads *uploads = uploads_of(upload);
    enum cv_code code;

    (void)pthread_mutex_lock(&uploads->lock);
    code = enqueue(upload, part, bytes, last, err);
    (void)pthread_mutex_unlock(&uploads->lock);
    cv_buf_release(bytes);
    return code;
}

enum cv_code s3_upload_wait(struct s3_upload *upload, struct cv_error *err)
{
    struct s3_uploads *uploads = uploads_of(upload);
    enum cv_code code;

    (void)pthread_mutex_lock(&uploads->lock);
    while (upload->in_flight)
        (void)pthread_cond_wait(&uploads->changed, &uploads->lock);
    code = give_failure(upload, err);
    (void)pthread_mutex_unlock(&uploads->lock);
    return code;
}

void s3_upload_abort(struct s3_upload *upload)
{
    struct s3_uploads *uploads = uploads_of(upload);
    struct cv_error why = CV_ERROR_INIT;
    bool cancelled;

    (void)cv_fail(&why, CV_CANCELLED, "the upload of %.1000s was given up", upload->location);
    (void)pthread_mutex_lock(&uploads->lock);
    note_failure(upload, &why);
    while (upload->in_flight)
        (void)pthread_cond_wait(&uploads->changed, &uploads->lock);
    cancelled = uploads->cancelled;
    (void)pthread_mutex_unlock(&uploads->lock);
    if (!upload->done && !cancelled)
        s3_multipart_abort(upload);
}

void s3_upload_detach(struct s3_upload *upload)
{
    struct s3_uploads *uploads = uploads_of(upload);
    bool is_over;

    (void)pthread_mutex_lock(&uploads->lock);
    is_over = upload->done && !upload->failure;
    if (!is_over) {
        upload->detached = true;
        upload->next = uploads->uploads;
        uploads->uploads = upload;
    }
    (void)pthread_mutex_unlock(&uploads->lock);
    if (is_over)
        s3_upload_free(upload);
}

size_t s3_upload_bytes(struct s3_upload *upload)
{
    struct s3_uploads *uploads = uploads_of(upload);
    size_t bytes;

    (void)pthread_mutex_lock(&uploads->lock);
    bytes = upload->bytes;
    (void)pthread_mutex_unlock(&uploads->lock);
    return bytes;
}

static struct s3_upload *find_upload(const struct s3_uploads *uploads, const char *location)
{
    for (struct s3_upload *upload = uploads->uploads; upload; upload = upload->next)
        if (strcmp(upload->location, location) == 0)
            return upload;
    return NULL;
}

enum cv_code s3_uploads_wait(struct s3_store *store, const char *location, bool forget,
                             struct cv_error *err)
{
    struct s3_uploads *uploads = &store->uploads;
    enum cv_code code = CV_OK;
    struct s3_upload *upload;

    (void)pthread_mutex_lock(&uploads->lock);
    while ((upload = find_upload(uploads, location)) && !upload->done)
        (void)pthread_cond_wait(&uploads->changed, &uploads->lock);
    if (upload && forget) {
        unlink_upload(uploads, upload);
        s3_upload_free(upload);
    } else if (upload) {
        code = give_failure(upload, err);
    }
    (void)pthread_mutex_unlock(&uploads->lock);
    return code;
}

enum cv_code s3_sync(struct cv_store *base, const char *const *locations, size_t count,
                     struct cv_error *err)
{
    enum cv_code first = CV_OK;

    for (size_t i = 0; i < count; i++) {
        struct cv_error why = CV_ERROR_INIT;
        enum cv_code code =
            s3_uploads_wait((struct s3_store *)base, locations[i], false, first ? NULL : &why);

        if (code != CV_OK && first == CV_OK) {
            first = code;
            if (err)
                *err = why;
        }
    }
    return first;
}

void s3_uploads_finish(struct s3_store *store)
{
    struct s3_uploads *uploads = &store->uploads;

    (void)pthread_mutex_lock(&uploads->lock);
    uploads->ending = true;
    (void)pthread_cond_broadcast(&uploads->changed);
    (void)pthread_mutex_unlock(&uploads->lock);
    for (size_t i = 0; i < uploads->thread_count; i++)
        (void)pthread_join(uploads->threads[i], NULL);
    for (struct s3_upload *upload = uploads->uploads, *next; upload; upload = next) {
        next = upload->next;
        s3_upload_free(upload);
    }
    (void)pthread_mutex_destroy(&uploads->lock);
    (void)pthread_cond_destroy(&uploads->changed);
}
