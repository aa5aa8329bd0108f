/* SPDX-License-Identifier: Apache-2.0
 *
 * The requests of a multipart upload. A completion whose answer was lost is settled by looking at
 * the object: names are unique, so one of the right length is ours. */
#include "storage/s3_upload_int.h"

#include "storage/sign.h"

#include <stdio.h>
#include <stdlib.h>

#define COMPLETION_BYTES_DIVISOR 32 /* large objects take the service time to put together */
#define CLEANUP_ATTEMPTS         2  /* of requests that tidy up after a failure */

int64_t s3_part_bytes(int64_t base, int part)
{
    const int64_t bytes = base << ((part - 1) / S3_PARTS_BEFORE_GROWTH);

    return CV_MIN(bytes, S3_PART_BYTES_MAX);
}

/* A request of this upload; `at` keeps the texts. */
static enum cv_code make_request(const struct s3_upload *upload, const char *method,
                                 const char *query, struct s3_location *at,
                                 struct s3_request *ret_request, struct cv_error *err)
{
    CV_DO(s3_location_split(upload->location, at, err));
    *ret_request = (struct s3_request){
        .action = "write",
        .location = upload->location,
        .kind = CV_REQUEST_MULTIPART,
        .method = method,
        .bucket = at->bucket,
        .key = at->key,
        .query = query,
    };
    return CV_OK;
}

static enum cv_code abort_stray(void *context, const struct cv_open_upload *found,
                                struct cv_error *err)
{
    const struct s3_upload *upload = context;

    if (strcmp(found->location, upload->location) != 0 ||
        (upload->id && strcmp(found->id, upload->id) == 0))
        return CV_OK;
    return s3_abort_upload(&upload->store->base, found, err);
}

static enum cv_code begin(struct s3_upload *upload, bool *ret_unsure, struct cv_error *err)
{
    struct cv_arena arena CV_CLEANUP(cv_arena_release) = CV_ARENA_INIT;
    CV_CLEANUP(s3_answer_release) struct s3_answer answer = {0};
    struct s3_location at;
    struct s3_request request;
    const char *id = NULL;
    enum cv_code code;

    CV_DO(make_request(upload, "POST", "uploads=", &at, &request, err));
    request.xml = true;
    s3_object_headers(upload->store, &request);
    code = s3_send(upload->store, &request, &answer, err);
    *ret_unsure = answer.lost || code == CV_OK;
    CV_DO(code);
    CV_TRY(s3_parse_upload_id(answer.http.body.data, answer.http.body.length, &arena, &id, err),
           err, "cannot begin the upload of %.1000s", upload->location);
    upload->id = cv_strdup(id);
    *ret_unsure = answer.lost;
    return CV_OK;
}

/* A beginning whose answer was lost leaves an upload that nobody knows: it would hold nothing, but
 * stay open. The location is nobody else's. */
enum cv_code s3_multipart_begin(struct s3_upload *upload, struct cv_error *err)
{
    bool unsure = false;
    enum cv_code code = begin(upload, &unsure, err);

    if (unsure && code != CV_CANCELLED)
        (void)s3_list_uploads_of(upload->store, upload->location, CLEANUP_ATTEMPTS, abort_stray,
                                 upload, NULL);
    return code;
}

enum cv_code s3_multipart_send(const struct s3_upload *upload, int part, const void *bytes,
                               size_t length, char **ret_etag, struct cv_error *err)
{
    struct cv_arena arena CV_CLEANUP(cv_arena_release) = CV_ARENA_INIT;
    CV_CLEANUP(s3_answer_release) struct s3_answer answer = {0};
    struct s3_location at;
    struct s3_request request;
    struct cv_str etag;
    char md5[32];
    char *copy;

    CV_DO(make_request(upload, "PUT",
                       cv_arena_printf(&arena, "partNumber=%d&uploadId=%s", part,
                                       cv_uri_encode(upload->id, false, &arena)),
                       &at, &request, err));
    request.body = bytes;
    request.body_length = length;
    request.tagged = true;
    if (upload->store->settings.checksum) {
        s3_md5_text(bytes, length, md5);
        s3_request_header(&request, "Content-MD5", md5);
    }
    CV_DO(s3_send(upload->store, &request, &answer, err));
    CV_DO(s3_check_etag(upload->store, &request, &answer, bytes, length, err));
    etag = cv_http_response_header(&answer.http, "ETag");
    if (!etag.length)
        return cv_fail(err, CV_FORMAT, "cannot write %.1000s: the answer to part %d has no ETag",
                       upload->location, part);
    copy = cv_alloc(etag.length + 1);
    memcpy(copy, etag.ptr, etag.length);
    *ret_etag = copy;
    return CV_OK;
}

static bool is_there(const struct s3_upload *upload)
{
    char etag[128];
    char suffix[16];
    int64_t size;

    if (s3_head(upload->store, upload->location, &size, etag, NULL) != CV_OK ||
        size != upload->length)
        return false;
    (void)snprintf(suffix, sizeof suffix, "-%d\"", upload->part_count);
    return !strchr(etag, '-') || cv_text_ends_with(etag, suffix);
}

static void write_body(const struct s3_upload *upload, struct cv_buf *out)
{
    cv_buf_append_text(
        out, "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for (int i = 0; i < upload->part_count; i++) {
        cv_buf_printf(out, "<Part><PartNumber>%d</PartNumber><ETag>", i + 1);
        s3_xml_escape(out, upload->etags[i]);
        cv_buf_append_text(out, "</ETag></Part>");
    }
    cv_buf_append_text(out, "</CompleteMultipartUpload>");
}

enum cv_code s3_multipart_complete(const struct s3_upload *upload, struct cv_error *err)
{
    struct cv_arena arena CV_CLEANUP(cv_arena_release) = CV_ARENA_INIT;
    struct cv_buf body CV_CLEANUP(cv_buf_release) = CV_BUF_INIT(S3_LIST_BYTES_MAX);
    CV_CLEANUP(s3_answer_release) struct s3_answer answer = {0};
    struct s3_location at;
    struct s3_request request;
    enum cv_code code;
    bool unsure;

    CV_DO(make_request(
        upload, "POST",
        cv_arena_printf(&arena, "uploadId=%s", cv_uri_encode(upload->id, false, &arena)), &at,
        &request, err));
    write_body(upload, &body);
    CV_DO(cv_buf_check(&body, "list of parts", err));
    request.body = body.data;
    request.body_length = body.length;
    request.xml = true;
    request.expected_bytes = (size_t)(upload->length / COMPLETION_BYTES_DIVISOR);
    s3_request_header(&request, "Content-Type", "application/xml");
    code = s3_send(upload->store, &request, &answer, err);
    unsure = answer.lost || answer.http.status == 0;
    if (code == CV_OK) {
        code = s3_parse_completed(answer.http.body.data, answer.http.body.length, err);
        if (code != CV_OK)
            cv_context(err, "cannot complete the upload of %.1000s", upload->location);
        unsure = true;
    }
    return code != CV_OK && unsure && is_there(upload) ? CV_OK : code;
}

void s3_multipart_abort(const struct s3_upload *upload)
{
    struct cv_arena arena CV_CLEANUP(cv_arena_release) = CV_ARENA_INIT;
    CV_CLEANUP(s3_answer_release) struct s3_answer answer = {0};
    struct s3_location at;
    struct s3_request request;

    if (!upload->id || make_request(upload, "DELETE",
                                    cv_arena_printf(&arena, "uploadId=%s",
                                                    cv_uri_encode(upload->id, false, &arena)),
                                    &at, &request, NULL) != CV_OK)
        return;
    request.attempts_max = CLEANUP_ATTEMPTS;
    (void)s3_send(upload->store, &request, &answer, NULL);
}
