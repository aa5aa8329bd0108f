/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the S3 store: settings, buckets, requests with their answers, XML, uploads.
 *
 *   s3_store.c    opening, reads, sizes, whole puts   s3_address.c  location → URL and region
 *   s3_request.c  sign, send, judge, try again        s3_xml.c      answers, by expat
 *   s3_list.c     objects and open uploads            s3_delete.c   one and many
 *   s3_output.c   a file being written                s3_uploads.c  what is sent in the background
 *   s3_options.c  property names                      s3_source.c   credentials by prefix */
#ifndef CALVE_STORAGE_S3_INT_H
#define CALVE_STORAGE_S3_INT_H

#include "base/buf.h"
#include "storage/credentials.h"
#include "storage/http.h"
#include "storage/retry.h"
#include "storage/s3_options.h"
#include "storage/store.h"

#include <pthread.h>

#define S3_BUCKET_BYTES_MAX    256
#define S3_KEY_BYTES_MAX       1024 /* S3's own limit */
#define S3_BUCKETS_MAX         1000
#define S3_PART_BYTES_MIN      ((int64_t)5 << 20)
#define S3_PART_BYTES_MAX      (((int64_t)2 << 30) - 1)
#define S3_PARTS_MAX           10000
#define S3_PARTS_BEFORE_GROWTH 1000               /* then the size of a part doubles, and so on */
#define S3_BACKGROUND_BYTES    ((size_t)64 << 20) /* in memory for uploads that nobody waits for */
#define S3_ERROR_BYTES_MAX     ((size_t)64 << 10) /* an answer that tells an error */
#define S3_LIST_BYTES_MAX      ((size_t)16 << 20)
#define S3_SKEW_MS             INT64_C(300000) /* a clock that differs more is put right */

/* A location, split. */
struct s3_location {
    char bucket[S3_BUCKET_BYTES_MAX];
    char key[CV_PATH_BYTES_MAX]; /* as written; may be empty */
};

/* What was learnt about a bucket. Guarded by the store's lock. */
struct s3_bucket {
    struct s3_bucket *next;
    char name[S3_BUCKET_BYTES_MAX];
    char region[64];
    int conditional; /* put: 0 = not known, 1 = kept, -1 = the store ignores the condition */
};

/* Credentials for the files below a prefix. */
struct s3_source {
    struct s3_store *store;
    char *prefix; /* without its scheme; "" = all */
    struct cv_properties properties;
    struct cv_credential_source *credentials;
    _Atomic int64_t renewed_us; /* when a refusal last made it ask anew */
};

/* The background uploads of a store; see s3_uploads.c. */
struct s3_job;
struct s3_upload;
struct s3_uploads {
    pthread_mutex_t lock; /* of all below and of every upload */
    pthread_cond_t changed;
    struct s3_job *first, *last; /* waiting for a thread */
    struct s3_upload *uploads;   /* closed unsynced: under way or failed */
    pthread_t threads[CV_THREADS_MAX];
    size_t thread_count, idle_count;
    size_t waiting_count; /* jobs */
    size_t bytes;         /* of jobs waiting or under way */
    bool cancelled;       /* a request was cut by a stop: nothing more is sent */
    bool ending;
};

struct s3_store {
    struct cv_store base;
    struct cv_arena arena; /* of the settings' texts */
    struct cv_s3_settings settings;
    struct cv_retry_policy retry;
    struct cv_http_client *http;
    const char *scheme; /* of the endpoint: "http", "https" */
    const char *host;   /* with port; NULL = Amazon's for the region */
    const char *path;   /* of the endpoint, without a slash at the end */
    bool path_style;
    bool amazon; /* no endpoint of its own, or one of Amazon's */
    char region[64];
    int64_t timeout_ms;
    int64_t threshold_bytes; /* files from this size on are sent in parts */
    const char *tagging;     /* NULL = none */
    _Atomic int64_t skew_ms; /* of the server's clock against this machine's */
    char *location;          /* that it was opened for */
    cv_store_refresh *refresh;
    void *refresh_context;
    pthread_mutex_t refresh_lock;
    struct s3_source *sources; /* the longest prefix first */
    size_t source_count;
    pthread_mutex_t lock; /* of buckets */
    struct s3_bucket *buckets;
    struct s3_uploads uploads;
};

/* What an <Error> says; empty texts where it does not. */
struct s3_error {
    char code[64];
    char message[512];
    char request_id[128];
    char region[64];
};

struct s3_request {
    const char *action;   /* for messages: "read", "write" … */
    const char *location; /* the same: the file or folder spoken of */
    enum cv_request_kind kind;
    const char *method;
    const char *bucket;
    const char *key;   /* NULL or "" = the bucket itself */
    const char *query; /* encoded, without "?"; NULL = none */
    struct cv_http_header headers[12];
    size_t header_count;
    const void *body;
    size_t body_length;
    size_t response_bytes_max;
    size_t expected_bytes; /* of the answer, as far as it is known; allows more time */
    int attempts_max;      /* 0 = as the store's policy says */
    bool tagged;           /* a success has an ETag and no body */
    bool xml;              /* a success has an XML body, and an <Error> in it is a failure */
    bool conditional;      /* 412 is an answer and not worth a message */
};

struct s3_answer {
    struct cv_http_response http;
    struct s3_error error;
    bool lost; /* an attempt before this one may have been carried out */
};
void s3_answer_release(struct s3_answer *answer);

/* s3_address.c */
enum cv_code s3_location_split(const char *location, struct s3_location *ret, struct cv_error *err);
enum cv_code s3_address_init(struct s3_store *store, const struct cv_properties *properties,
                             struct cv_error *err);
const char *s3_url(const struct s3_store *store, const struct s3_request *request,
                   const char *region, struct cv_arena *arena);
void s3_bucket_region(struct s3_store *store, const char *bucket, char region[64]);
/* False where it is not the name of a region. */
bool s3_bucket_set_region(struct s3_store *store, const char *bucket, const char *region);
int s3_bucket_conditional(struct s3_store *store, const char *bucket);
void s3_bucket_set_conditional(struct s3_store *store, const char *bucket, int conditional);

/* s3_source.c */
enum cv_code s3_sources_init(struct s3_store *store, const struct cv_store_config *config,
                             struct cv_error *err);
void s3_sources_release(struct s3_store *store);
/* The grant with the longest prefix of the location; NULL = none has one. */
const struct cv_store_grant *s3_grant_for(const struct cv_store_grants *grants,
                                          const char *location);
/* Whose prefix is the longest that the location begins with; NULL = requests are not signed. */
struct s3_source *s3_source_for(struct s3_store *store, const char *location);

/* s3_request.c: sends until it is answered for good. CV_OK: a 2xx without an error inside (or 412
 * for a conditional request: look at the status). Otherwise `err` tells, with CV_ERROR_LOST where
 * an attempt may have been carried out, and `answer` holds the status and S3's code where there was
 * an answer. */
enum cv_code s3_send(struct s3_store *store, const struct s3_request *request,
                     struct s3_answer *answer, struct cv_error *err);
void s3_note_lost(struct cv_error *err);
void s3_request_header(struct s3_request *request, const char *name, const char *value);

/* s3_xml.c. Texts live in the arena. */
bool s3_parse_error(const void *bytes, size_t length, struct s3_error *ret_error);
struct s3_listed {
    const char *key;
    const char *id; /* of an upload */
    int64_t size;
    int64_t time_ms; /* -1 = not told */
};
struct s3_page {
    struct s3_listed *items;
    size_t count, capacity;
    bool truncated, encoded;
    const char *next, *next_upload; /* where the following page begins */
};
enum cv_code s3_parse_page(const void *bytes, size_t length, struct cv_arena *arena,
                           struct s3_page *ret_page, struct cv_error *err);
struct s3_refused {
    const char *key, *code, *message;
};
enum cv_code s3_parse_deleted(const void *bytes, size_t length, struct cv_arena *arena,
                              struct s3_refused **ret_items, size_t *ret_count,
                              struct cv_error *err);
enum cv_code s3_parse_upload_id(const void *bytes, size_t length, struct cv_arena *arena,
                                const char **ret_id, struct cv_error *err);
/* CV_FORMAT where it is not the answer to the completion of an upload. */
enum cv_code s3_parse_completed(const void *bytes, size_t length, struct cv_error *err);
void s3_xml_escape(struct cv_buf *out, const char *text);
/* Whether XML 1.0 can hold the text at all. */
bool s3_xml_can_hold(const char *text);

/* s3_list.c, s3_delete.c */
enum cv_code s3_list(struct cv_store *, const char *prefix,
                     enum cv_code (*each)(void *context, const struct cv_listed_file *,
                                          struct cv_error *),
                     void *context, struct cv_error *);
enum cv_code s3_list_uploads(struct cv_store *, const char *prefix,
                             enum cv_code (*each)(void *context, const struct cv_open_upload *,
                                                  struct cv_error *),
                             void *context, struct cv_error *);
/* Those of one key and of longer ones. `attempts_max` 0 = as the store's policy says. */
enum cv_code s3_list_uploads_of(struct s3_store *, const char *location, int attempts_max,
                                enum cv_code (*each)(void *context, const struct cv_open_upload *,
                                                     struct cv_error *),
                                void *context, struct cv_error *);
enum cv_code s3_abort_upload(struct cv_store *, const struct cv_open_upload *, struct cv_error *);
enum cv_code s3_remove(struct cv_store *, const char *location, struct cv_error *);
enum cv_code s3_remove_many(struct cv_store *, const char *const *locations, size_t count,
                            cv_remove_failed *failed, void *context, struct cv_error *);

/* s3_store.c */
enum cv_code s3_size(struct cv_store *, const char *location, int64_t *ret_size, struct cv_error *);
enum cv_code s3_head(struct s3_store *store, const char *location, int64_t *ret_size,
                     char etag[128], struct cv_error *err);
/* One PUT of a whole object; `only_new`: CV_EXISTS where the name is taken. */
enum cv_code s3_put_object(struct s3_store *store, const char *location, const void *bytes,
                           size_t length, bool only_new, struct cv_error *err);
/* CV_IO where MD5 is to be compared and differs from the answer's ETag. */
enum cv_code s3_check_etag(const struct s3_store *store, const struct s3_request *request,
                           const struct s3_answer *answer, const void *bytes, size_t length,
                           struct cv_error *err);
void s3_md5_text(const void *bytes, size_t length, char text[32]); /* base64 */
/* Headers that a new object gets: encryption, storage class, acl, tags. */
void s3_object_headers(const struct s3_store *store, struct s3_request *request);

/* s3_output.c, s3_uploads.c */
enum cv_code s3_create(struct cv_store *, const char *location, struct cv_output **ret_output,
                       struct cv_error *);
enum cv_code s3_sync(struct cv_store *, const char *const *locations, size_t count,
                     struct cv_error *);
void s3_uploads_init(struct s3_uploads *uploads);
void s3_uploads_finish(struct s3_store *store); /* waits for all that is under way */
/* Waits until no upload of this location is under way; what came of it is forgotten where `forget`,
 * else it is given. */
enum cv_code s3_uploads_wait(struct s3_store *store, const char *location, bool forget,
                             struct cv_error *err);

#endif
