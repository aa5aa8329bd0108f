/* SPDX-License-Identifier: Apache-2.0
 *
 * One request to S3, signed anew and sent until it is answered for good: throttling, broken
 * connections and the server's own faults are waited out; a bucket in another region, ended
 * credentials and a wrong clock are put right once each and cost no wait. */
#include "storage/s3_int.h"

#include "base/error_part.h"
#include "base/time.h"
#include "storage/sign.h"

#include <stdio.h>
#include <stdlib.h>

#define REGIONS_MAX      3 /* that one request is sent to */
#define RENEWED_APART_US (60 * CV_US_PER_SECOND)
#define BYTES_PER_MS     262 /* 256 KiB a second: what the time allowed for a body goes by */

enum verdict {
    DONE,
    FAILED,
    AGAIN, /* after a wait */
    NOW    /* something was put right */
};

struct call {
    struct s3_store *store;
    const struct s3_request *request;
    struct s3_answer *answer;
    struct s3_source *source; /* NULL = not signed */
    uint64_t version;         /* of the credentials that were used */
    char region[64];          /* that was signed for */
    int64_t skew_ms;          /* that was reckoned with */
    bool skew_corrected, renewed;
    int regions;
    struct cv_error renewal; /* why new credentials could not be had */
};

void s3_answer_release(struct s3_answer *answer)
{
    cv_http_response_release(&answer->http);
}

void s3_request_header(struct s3_request *request, const char *name, const char *value)
{
    if (request->header_count < CV_ARRAY_LENGTH(request->headers))
        request->headers[request->header_count++] = (struct cv_http_header){name, value};
}

/* What is signed refers to the credentials. */
static enum cv_code sign(struct call *call, struct cv_http_request *http,
                         struct cv_credentials *credentials, struct cv_arena *arena,
                         struct cv_error *err)
{
    const struct cv_sign sign = {
        .credentials = credentials,
        .region = call->region,
        .service = "s3",
        .now_ms = cv_now_ms() + call->skew_ms,
        .unsigned_payload = strcmp(call->store->scheme, "https") == 0,
    };
    enum cv_code code;

    if (!call->source)
        return CV_OK;
    code = cv_credential_source_get(call->source->credentials, credentials, err);
    if (code != CV_OK) {
        cv_error_set_part(err, CV_PART_AUTHORIZATION); /* whoever failed to give them */
        return code;
    }
    call->version = credentials->version;
    if (!credentials->access_key_id)
        return CV_OK;
    return cv_sign_request(&sign, http, arena, &http->headers, &http->header_count, err);
}

static enum cv_code send_once(struct call *call, struct cv_error *err)
{
    struct cv_credentials credentials CV_CLEANUP(cv_credentials_release) = {0};
    struct cv_arena arena CV_CLEANUP(cv_arena_release) = CV_ARENA_INIT;
    struct cv_request_counts *counts = &call->store->base.counts;
    const struct s3_request *request = call->request;
    struct cv_http_request http = {
        .method = request->method,
        .headers = request->headers,
        .header_count = request->header_count,
        .body = request->body,
        .body_length = request->body_length,
        .timeout_ms = call->store->timeout_ms +
                      (int64_t)((request->body_length + request->expected_bytes) / BYTES_PER_MS),
        .response_bytes_max = CV_MAX(request->response_bytes_max, S3_ERROR_BYTES_MAX),
    };
    enum cv_code code;

    s3_bucket_region(call->store, request->bucket, call->region);
    call->skew_ms = atomic_load(&call->store->skew_ms);
    http.url = s3_url(call->store, request, call->region, &arena);
    CV_DO(sign(call, &http, &credentials, &arena, err));
    cv_request_count(counts, request->kind);
    atomic_fetch_add(&counts->bytes_sent, (int64_t)request->body_length);
    call->answer->error = (struct s3_error){0};
    call->answer->http.status = 0;
    code = cv_http_send(call->store->http, &http, &call->answer->http, err);
    if (code == CV_OK)
        atomic_fetch_add(&counts->bytes_received, (int64_t)call->answer->http.body.length);
    return code;
}

static bool is_one_of(const char *code, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(code, list[i]) == 0)
            return true;
    return false;
}

static bool is_transient(int status, const char *code)
{
    static const char *const codes[] = {"SlowDown",
                                        "InternalError",
                                        "ServiceUnavailable",
                                        "RequestTimeout",
                                        "Throttling",
                                        "ThrottlingException",
                                        "RequestThrottled",
                                        "BandwidthLimitExceeded",
                                        "BadDigest",
                                        "IncompleteBody",
                                        "OperationAborted",
                                        "ConditionalRequestConflict",
                                        "RequestLimitExceeded"};

    return is_one_of(code, codes, CV_ARRAY_LENGTH(codes)) || cv_retry_status(status);
}

static bool is_refused_credential(const char *code)
{
    static const char *const codes[] = {
        "ExpiredToken",   "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken",
        "InvalidTokenId", "InvalidAccessKeyId",    "RequestExpired",       "XAdminUserNotFound"};

    return is_one_of(code, codes, CV_ARRAY_LENGTH(codes));
}

static bool is_head(const struct call *call)
{
    return strcmp(call->request->method, "HEAD") == 0;
}

/* 301, 307, 400: the bucket is in another region than the one it was asked for in. What counts,
 * here as with the clock, is what this request was signed with: another one may have learnt
 * meanwhile. */
static bool follow_region(struct call *call)
{
    const struct s3_answer *answer = call->answer;
    struct cv_str told = cv_http_response_header(&answer->http, "x-amz-bucket-region");
    char region[64];

    if (call->regions == REGIONS_MAX)
        return false;
    if (told.length && told.length < sizeof region)
        (void)snprintf(region, sizeof region, "%.*s", CV_STR_ARG(told));
    else
        (void)snprintf(region, sizeof region, "%s", answer->error.region);
    if (strcmp(region, call->region) == 0 ||
        !s3_bucket_set_region(call->store, call->request->bucket, region))
        return false;
    call->regions++;
    return true;
}

/* How far the server's clock is ahead; 0 where it does not tell. */
static int64_t server_skew_ms(const struct s3_answer *answer)
{
    const int64_t date_ms = cv_http_response_date_ms(&answer->http);

    return date_ms > 0 ? date_ms - cv_now_ms() : 0;
}

static bool correct_clock(struct call *call)
{
    int64_t skew = server_skew_ms(call->answer);
    int64_t used = call->skew_ms;

    if (call->skew_corrected || (skew > used ? skew - used : used - skew) < S3_SKEW_MS)
        return false;
    call->skew_corrected = true;
    atomic_store(&call->store->skew_ms, skew);
    return true;
}

/* Whether there are other credentials by now than those that were used. */
static bool are_newer(struct call *call)
{
    struct cv_credentials fresh CV_CLEANUP(cv_credentials_release) = {0};

    return cv_credential_source_get(call->source->credentials, &fresh, &call->renewal) == CV_OK &&
           fresh.version != call->version;
}

/* `sure`: the server said that the credentials are at fault. Otherwise new ones are tried where a
 * catalog vends them, and asked for not more than once a minute. */
static bool renew(struct call *call, bool sure)
{
    struct s3_source *source = call->source;
    int64_t now = cv_monotonic_us();
    enum cv_code code;
    int64_t last;

    if (!source || call->renewed || (!sure && !call->store->refresh))
        return false;
    call->renewed = true;
    if (are_newer(call))
        return true;
    last = atomic_load(&source->renewed_us);
    if (!sure && last && now - last < RENEWED_APART_US)
        return false;
    code = cv_credential_source_renew(source->credentials, call->version, &call->renewal);
    /* Only now: who is refused while another request asks waits there for the same answer. */
    if (!sure)
        atomic_store(&source->renewed_us, cv_monotonic_us());
    return code == CV_OK && are_newer(call);
}

static enum verdict judge_refusal(struct call *call)
{
    const int status = call->answer->http.status;
    const char *code = call->answer->error.code;
    const bool silent = !*code; /* the answer to HEAD has no body */

    if (strcmp(code, "RequestTimeTooSkewed") == 0 || (status == 403 && silent))
        if (correct_clock(call))
            return NOW;
    if (status == 301 || status == 307 || status == 400 || status == 403)
        if (follow_region(call))
            return NOW;
    if (is_refused_credential(code) ||
        (silent && (status == 400 || status == 401 || status == 403)))
        return renew(call, true) ? NOW : FAILED;
    if (status == 401 || status == 403)
        return renew(call, false) ? NOW : FAILED;
    if (is_transient(status, code)) {
        /* 503, too: gateways say it when the server ends a connection without an answer */
        call->answer->lost |= status >= 500;
        return AGAIN;
    }
    return FAILED;
}

/* A body in the place of an ETag is what something on the way says. */
static bool is_foreign(const struct call *call)
{
    const struct cv_http_response *http = &call->answer->http;

    return call->request->tagged && http->body.length &&
           !cv_http_response_header(http, "ETag").length;
}

static enum verdict judge(struct call *call)
{
    struct s3_answer *answer = call->answer;
    const int status = answer->http.status;
    const struct cv_buf *body = &answer->http.body;

    if (status == 412 && call->request->conditional)
        return DONE;
    if (status >= 200 && status < 300 && is_foreign(call)) {
        (void)snprintf(answer->error.message, sizeof answer->error.message,
                       "the answer is not one of an S3 service");
        answer->lost = true;
        return AGAIN;
    }
    if (status >= 200 && status < 300) {
        if (!call->request->xml || !body->length || body->length > S3_ERROR_BYTES_MAX ||
            !memmem(body->data, body->length, "<Error", 6) ||
            !s3_parse_error(body->data, body->length, &answer->error))
            return DONE;
        answer->lost = true;
        return is_transient(status, answer->error.code) ? AGAIN : FAILED;
    }
    if (!is_head(call))
        (void)s3_parse_error(body->data, body->length, &answer->error);
    return judge_refusal(call);
}

/* A 404 that does not say what is absent may come from a proxy, or mean the user. */
static enum cv_code code_of_absence(const struct call *call)
{
    static const char *const codes[] = {"NoSuchKey", "NoSuchUpload", "NoSuchVersion", "NotFound"};
    const char *code = call->answer->error.code;

    if (is_head(call) || is_one_of(code, codes, CV_ARRAY_LENGTH(codes)))
        return CV_NOT_FOUND;
    return CV_IO;
}

static enum cv_code code_of(const struct call *call)
{
    const char *code = call->answer->error.code;

    if (strcmp(code, "NoSuchBucket") == 0)
        return CV_CONFIG;
    if (is_refused_credential(code) || strcmp(code, "RequestTimeTooSkewed") == 0)
        return CV_AUTH;
    switch (call->answer->http.status) {
    case 401:
    case 403:
        return CV_AUTH;
    case 404:
        return code_of_absence(call);
    case 405:
    case 501:
        return CV_UNSUPPORTED;
    case 412:
        return CV_EXISTS;
    case 416:
        return CV_FORMAT;
    default:
        return CV_IO;
    }
}

/* An answer without S3's words, which a proxy's refusal may be too. */
static bool is_elsewhere(const struct call *call)
{
    const int status = call->answer->http.status;
    const char *code = call->answer->error.code;

    return !*code && !is_head(call) && status < 500 && status != 401 && status != 403 &&
           !is_transient(status, code);
}

/* 403 alone says that somebody is known, who may not do this. */
static void tell_part(const struct call *call, struct cv_error *err)
{
    static const char *const unknown[] = {"SignatureDoesNotMatch", "AuthorizationHeaderMalformed",
                                          "InvalidSecurity", "MissingSecurityHeader"};
    const struct s3_answer *answer = call->answer;
    const char *code = answer->error.code;
    const int status = answer->http.status;

    if (strcmp(code, "NoSuchBucket") == 0 || strcmp(code, "InvalidBucketName") == 0 ||
        strcmp(code, "PermanentRedirect") == 0)
        cv_error_set_part(err, CV_PART_BUCKET);
    else if (strcmp(code, "RequestTimeTooSkewed") == 0)
        cv_error_set_part(err, CV_PART_CLOCK);
    else if (status == 401 || is_refused_credential(code) ||
             is_one_of(code, unknown, CV_ARRAY_LENGTH(unknown)))
        cv_error_set_part(err, CV_PART_AUTHORIZATION);
    else if (is_elsewhere(call))
        cv_error_set_part(err, CV_PART_SERVICE);
}

static void hint(const struct call *call, int attempts, struct cv_error *err)
{
    const int status = call->answer->http.status;
    const char *code = call->answer->error.code;
    int64_t skew_minutes = server_skew_ms(call->answer) / 60000;

    if (strcmp(code, "NoSuchBucket") == 0)
        cv_hint(err, "create the bucket %s, or correct the location or s3.endpoint",
                call->request->bucket);
    else if (strcmp(code, "RequestTimeTooSkewed") == 0 || skew_minutes > 4 || skew_minutes < -4)
        cv_hint(err, "the clock of this machine differs from the server's by %lld minutes",
                (long long)skew_minutes);
    else if (strcmp(code, "SignatureDoesNotMatch") == 0)
        cv_hint(err, "check s3.secret-access-key and client.region");
    else if (strcmp(code, "InvalidAccessKeyId") == 0)
        cv_hint(err, "check s3.endpoint and the key: %s",
                call->source ? cv_credential_source_name(call->source->credentials) : "none");
    else if (call->renewal.code != CV_OK && *code)
        cv_hint(err, "new credentials could not be had: %.400s", call->renewal.message);
    else if (status == 401 || status == 403 || is_refused_credential(code))
        cv_hint(err, "the credentials are %s; see that they are valid and may %s there",
                call->source ? cv_credential_source_name(call->source->credentials) : "none",
                call->request->action);
    else if (status == 301 || status == 307)
        cv_hint(err, "set client.region to the bucket's region");
    else if (is_elsewhere(call))
        cv_hint(err, "see that s3.endpoint is the address of an S3 service, and not of its console "
                     "or of a web server");
    else if (attempts > 1)
        cv_hint(err, "%d attempts were made (s3.retry.num-retries, s3.retry.total-timeout-ms)",
                attempts);
}

static enum cv_code fail_answer(const struct call *call, int attempts, struct cv_error *err)
{
    const struct s3_answer *answer = call->answer;
    const struct s3_error *error = &answer->error;
    const int status = answer->http.status;
    const enum cv_code code = code_of(call);
    struct cv_str id = cv_http_response_header(&answer->http, "x-amz-request-id");

    if (!id.length)
        id = cv_str_from(error->request_id);
    (void)cv_fail(err, code, "cannot %s %.1000s: %d%s%s%s%.300s%s%.*s%s", call->request->action,
                  call->request->location, status, *error->code ? " " : "", error->code,
                  *error->message ? ": " : "", error->message, id.length ? " (request " : "",
                  (int)CV_MIN(id.length, (size_t)128), id.ptr ? id.ptr : "", id.length ? ")" : "");
    if (err && is_transient(status, error->code))
        err->flags |= CV_ERROR_RETRIABLE;
    tell_part(call, err);
    hint(call, attempts, err);
    return code;
}

/* No answer, or none could be asked for. */
static enum verdict judge_silence(struct call *call, enum cv_code code, const struct cv_error *err)
{
    call->answer->error = (struct s3_error){0};
    call->answer->http.status = 0;
    if (code == CV_CANCELLED || !(err->flags & CV_ERROR_RETRIABLE))
        return FAILED;
    call->answer->lost |= !(err->flags & CV_ERROR_UNSENT);
    return AGAIN;
}

void s3_note_lost(struct cv_error *err)
{
    if (err)
        err->flags = (err->flags & ~(unsigned)CV_ERROR_UNSENT) | CV_ERROR_LOST;
}

static enum cv_code fail_send(const struct call *call, enum cv_code code, int attempts,
                              const struct cv_error *failure, struct cv_error *err)
{
    if (code == CV_OK)
        code = fail_answer(call, attempts, err);
    else if (err)
        *err = *failure;
    if (call->answer->lost)
        s3_note_lost(err);
    return code;
}

enum cv_code s3_send(struct s3_store *store, const struct s3_request *request,
                     struct s3_answer *answer, struct cv_error *err)
{
    struct call call = {store, request, answer, s3_source_for(store, request->location), 0};
    struct cv_retry_policy policy = store->retry;
    struct cv_retry retry;

    answer->lost = false;
    if (request->attempts_max)
        policy.attempts = CV_MIN(policy.attempts, request->attempts_max);
    cv_retry_begin(&retry, &policy);
    for (;;) {
        struct cv_error failure = CV_ERROR_INIT;
        enum cv_code code = send_once(&call, &failure);
        enum verdict verdict = code == CV_OK ? judge(&call) : judge_silence(&call, code, &failure);

        if (verdict == DONE)
            return CV_OK;
        if (verdict == NOW ||
            (verdict == AGAIN &&
             cv_retry_again(&retry, code == CV_OK ? cv_http_retry_after_ms(&answer->http) : -1))) {
            cv_request_count(&store->base.counts, CV_REQUEST_RETRY);
            continue;
        }
        if (code != CV_OK)
            cv_context(&failure, "cannot %s %s", request->action, request->location);
        code = fail_send(&call, code, retry.attempt, &failure, err);
        return verdict == AGAIN ? cv_retry_give_up(code, err) : code;
    }
}
