/* SPDX-License-Identifier: Apache-2.0
 *
 * Deleting objects: one, or many in batches of DeleteObjects, whose answer tells of each key that
 * stays. Where the service has no such request, they go one by one. */
#include "storage/s3_int.h"

#include <stdio.h>
#include <stdlib.h>

static enum cv_code delete_object(struct s3_store *store, const char *location,
                                  struct cv_error *err)
{
    CV_CLEANUP(s3_answer_release) struct s3_answer answer = {0};
    struct s3_location at;
    struct s3_request request = {
        .action = "delete",
        .location = location,
        .kind = CV_REQUEST_DELETE,
        .method = "DELETE",
        .bucket = at.bucket,
        .key = at.key,
    };
    enum cv_code code;

    CV_DO(s3_location_split(location, &at, err));
    code = s3_send(store, &request, &answer, err);
    return code == CV_NOT_FOUND ? CV_OK : code;
}

enum cv_code s3_remove(struct cv_store *base, const char *location, struct cv_error *err)
{
    struct s3_store *store = (struct s3_store *)base;

    (void)s3_uploads_wait(store, location, true, NULL);
    return store->settings.deletes ? delete_object(store, location, err) : CV_OK;
}

/* One DeleteObjects: locations of one bucket and one source of credentials. */
struct batch {
    struct s3_store *store;
    const char *const *locations;
    size_t *indexes; /* into the locations; what is left to delete */
    size_t count;
    cv_remove_failed *failed;
    void *context;
};

static void tell(const struct batch *batch, size_t index, const struct cv_error *why)
{
    if (batch->failed)
        batch->failed(batch->context, index, why);
}

static const char *key_of(const char *location)
{
    const char *slash = strchr(strstr(location, "://") + 3, '/');

    return slash ? slash + 1 : "";
}

static void write_body(const struct batch *batch, struct cv_buf *out)
{
    cv_buf_append_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
                            "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
                            "<Quiet>true</Quiet>");
    for (size_t i = 0; i < batch->count; i++) {
        cv_buf_append_text(out, "<Object><Key>");
        s3_xml_escape(out, key_of(batch->locations[batch->indexes[i]]));
        cv_buf_append_text(out, "</Key></Object>");
    }
    cv_buf_append_text(out, "</Delete>");
}

static bool may_be_tried_again(const char *code)
{
    return strcmp(code, "InternalError") == 0 || strcmp(code, "SlowDown") == 0 ||
           strcmp(code, "ServiceUnavailable") == 0;
}

/* Keeps the refused keys that are worth another request, tells of the others. */
static enum cv_code sort_refused(struct batch *batch, const struct s3_refused *refused,
                                 size_t count, bool again, struct cv_error *err)
{
    size_t kept = 0;
    size_t known = 0;

    for (size_t i = 0; i < batch->count; i++) {
        const size_t index = batch->indexes[i];
        const struct s3_refused *found = NULL;
        struct cv_error why = CV_ERROR_INIT;

        for (size_t j = 0; j < count && !found; j++)
            if (strcmp(refused[j].key, key_of(batch->locations[index])) == 0)
                found = &refused[j];
        known += found != NULL;
        if (!found || strcmp(found->code, "NoSuchKey") == 0)
            continue;
        if (again && may_be_tried_again(found->code)) {
            batch->indexes[kept++] = index;
            continue;
        }
        (void)cv_fail(&why, strcmp(found->code, "AccessDenied") == 0 ? CV_AUTH : CV_IO,
                      "cannot delete %.1000s: %s%s%s", batch->locations[index], found->code,
                      *found->message ? ": " : "", found->message);
        tell(batch, index, &why);
    }
    batch->count = kept;
    if (known < count)
        return cv_fail(err, CV_FORMAT, "files were refused whose names were not asked for");
    return CV_OK;
}

static enum cv_code send_batch(struct batch *batch, struct s3_answer *answer, struct cv_error *err)
{
    struct cv_buf body CV_CLEANUP(cv_buf_release) = CV_BUF_INIT(S3_LIST_BYTES_MAX);
    struct s3_location at;
    char md5[32];
    struct s3_request request = {
        .action = "delete",
        .location = batch->locations[batch->indexes[0]],
        .kind = CV_REQUEST_DELETE,
        .method = "POST",
        .bucket = at.bucket,
        .query = "delete=",
        .response_bytes_max = S3_LIST_BYTES_MAX,
        .xml = true,
    };

    CV_DO(s3_location_split(request.location, &at, err));
    write_body(batch, &body);
    CV_DO(cv_buf_check(&body, "request to delete files", err));
    s3_md5_text(body.data, body.length, md5);
    s3_request_header(&request, "Content-Type", "application/xml");
    s3_request_header(&request, "Content-MD5", md5);
    request.body = body.data;
    request.body_length = body.length;
    return s3_send(batch->store, &request, answer, err);
}

static enum cv_code delete_one_by_one(const struct batch *batch, struct cv_error *err)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct cv_error why = CV_ERROR_INIT;
        enum cv_code code = delete_object(batch->store, batch->locations[batch->indexes[i]], &why);

        if (code == CV_CANCELLED) {
            if (err)
                *err = why;
            return code;
        }
        if (code != CV_OK)
            tell(batch, batch->indexes[i], &why);
    }
    return CV_OK;
}

static enum cv_code delete_batch(struct batch *batch, struct cv_error *err)
{
    struct cv_arena arena CV_CLEANUP(cv_arena_release) = CV_ARENA_INIT;
    struct cv_retry retry;

    if (batch->count == 1)
        return delete_one_by_one(batch, err);
    cv_retry_begin(&retry, &batch->store->retry);
    for (bool again = true; batch->count;) {
        CV_CLEANUP(s3_answer_release) struct s3_answer answer = {0};
        struct s3_refused *refused = NULL;
        size_t count = 0;
        enum cv_code code = send_batch(batch, &answer, err);

        if (code == CV_UNSUPPORTED || (code != CV_OK && answer.http.status == 400))
            return delete_one_by_one(batch, err);
        CV_DO(code);
        CV_TRY(s3_parse_deleted(answer.http.body.data, answer.http.body.length, &arena, &refused,
                                &count, err),
               err, "cannot delete %.500s and %zu more", batch->locations[batch->indexes[0]],
               batch->count - 1);
        CV_TRY(sort_refused(batch, refused, count, again, err), err, "cannot delete files of %s",
               batch->store->location);
        if (batch->count)
            again = cv_retry_again(&retry, -1);
    }
    return CV_OK;
}

/* Whether both may go in one request. */
static bool fits(struct s3_store *store, const char *first, const char *location)
{
    const char *bucket = strstr(first, "://") + 3;
    const char *other = strstr(location, "://");
    size_t length = strcspn(bucket, "/");

    return other && strncmp(bucket, other + 3, length) == 0 &&
           (other[3 + length] == '/' || !other[3 + length]) &&
           s3_source_for(store, first) == s3_source_for(store, location) &&
           s3_xml_can_hold(location);
}

/* Takes the next batch from the locations that are not `done`. */
static void gather(struct batch *batch, size_t count, bool *done, size_t first)
{
    const size_t most = (size_t)batch->store->settings.delete_batch;
    const char *location = batch->locations[first];

    batch->count = 0;
    done[first] = true;
    batch->indexes[batch->count++] = first;
    for (size_t i = first + 1; i < count && batch->count < most && s3_xml_can_hold(location); i++)
        if (!done[i] && fits(batch->store, location, batch->locations[i])) {
            done[i] = true;
            batch->indexes[batch->count++] = i;
        }
}

enum cv_code s3_remove_many(struct cv_store *base, const char *const *locations, size_t count,
                            cv_remove_failed *failed, void *context, struct cv_error *err)
{
    struct s3_store *store = (struct s3_store *)base;
    CV_CLEANUP(cv_freep) bool *done = cv_alloc(count * sizeof *done);
    CV_CLEANUP(cv_freep) size_t *indexes = cv_alloc((count + 1) * sizeof *indexes);
    struct batch batch = {store, locations, indexes, 0, failed, context};

    if (!store->settings.deletes)
        return CV_OK;
    for (size_t i = 0; i < count; i++) {
        struct cv_error why = CV_ERROR_INIT;
        struct s3_location at;

        (void)s3_uploads_wait(store, locations[i], true, NULL);
        if (s3_location_split(locations[i], &at, &why) != CV_OK) {
            done[i] = true;
            tell(&batch, i, &why);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (done[i])
            continue;
        gather(&batch, count, done, i);
        CV_DO(delete_batch(&batch, err));
    }
    return CV_OK;
}
