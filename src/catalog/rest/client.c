/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests to a REST catalog: paths, headers, authorization, repetition. */
#include "catalog/rest/rest_int.h"

#include "base/random.h"
#include "base/stop.h"
#include "base/time.h"
#include "codec/base64.h"
#include "storage/sign.h"

#include <stdlib.h>

/* A shorter one would make a message unreadable and protects nothing. */
#define SECRET_BYTES_MIN 4

const char *cv_rest_url(const struct cv_rest_catalog *catalog, const char *path,
                        struct cv_arena *arena)
{
    const char *prefix = catalog->settings.prefix;

    if (!prefix || !*prefix)
        return cv_arena_printf(arena, "%s/v1/%s", catalog->uri, path);
    return cv_arena_printf(arena, "%s/v1/%s/%s", catalog->uri, prefix, path);
}

const char *cv_rest_namespace_segment(const struct cv_rest_catalog *catalog,
                                      const char *const *levels, size_t count,
                                      struct cv_arena *arena)
{
    const char *segment = cv_uri_encode(levels[0], false, arena);

    for (size_t i = 1; i < count; i++)
        segment = cv_arena_printf(arena, "%s%s%s", segment, catalog->settings.namespace_separator,
                                  cv_uri_encode(levels[i], false, arena));
    return segment;
}

const char *cv_rest_table_path(const struct cv_rest_catalog *catalog,
                               const struct cv_table_name *name, struct cv_arena *arena)
{
    return cv_arena_printf(
        arena, "namespaces/%s/tables/%s",
        cv_rest_namespace_segment(catalog, name->levels, name->level_count, arena),
        cv_uri_encode(name->table, false, arena));
}

struct headers {
    struct cv_http_header items[CV_HTTP_HEADERS_MAX];
    size_t count;
};

static void put_header(struct headers *headers, const char *name, const char *value)
{
    if (headers->count < CV_ARRAY_LENGTH(headers->items) - CV_SIGN_HEADERS_MAX)
        headers->items[headers->count++] = (struct cv_http_header){name, value};
}

static const char *configured_header(const struct cv_rest_catalog *catalog, const char *name)
{
    const struct cv_properties *headers = &catalog->settings.headers;

    for (size_t i = 0; i < headers->count; i++)
        if (cv_text_equal_nocase(headers->items[i].key, name))
            return headers->items[i].value;
    return NULL;
}

#define DELEGATION "X-Iceberg-Access-Delegation"

/* As PyIceberg does: vended credentials are asked for unless the configuration says otherwise. */
static void put_call_headers(const struct cv_rest_catalog *catalog, const struct cv_rest_call *call,
                             const char *key, struct headers *headers)
{
    const struct cv_properties *configured = &catalog->settings.headers;

    if (call->body)
        put_header(headers, "Content-Type",
                   call->content_type ? call->content_type : "application/json");
    put_header(headers, "Accept", "application/json");
    put_header(headers, "User-Agent", "calve/" CALVE_VERSION);
    if (call->etag)
        put_header(headers, "If-None-Match", call->etag);
    if (key)
        put_header(headers, "Idempotency-Key", key);
    if (call->delegation && !configured_header(catalog, DELEGATION))
        put_header(headers, DELEGATION, "vended-credentials");
    for (size_t i = 0; i < configured->count; i++)
        if (*configured->items[i].value &&
            !(call->content_type && cv_text_equal_nocase(configured->items[i].key, "Content-Type")))
            put_header(headers, configured->items[i].key, configured->items[i].value);
}

/* One attempt's authorization. */
struct authorization {
    char *token;
    bool of_table;    /* the table's own */
    uint64_t version; /* of the catalog's, for renewing it */
};

static void authorization_release(struct authorization *authorization)
{
    if (authorization->token)
        explicit_bzero(authorization->token, strlen(authorization->token));
    free(authorization->token);
}

struct cv_rest_table_state *cv_rest_find_state(struct cv_rest_catalog *catalog, const char *table)
{
    for (size_t i = 0; i < catalog->state_count; i++)
        if (strcmp(catalog->states[i].name, table) == 0)
            return &catalog->states[i];
    return NULL;
}

static char *table_token(struct cv_rest_catalog *catalog, const char *table)
{
    const struct cv_rest_table_state *state;
    char *token = NULL;

    if (!table)
        return NULL;
    (void)pthread_mutex_lock(&catalog->lock);
    state = cv_rest_find_state(catalog, table);
    if (state && state->token)
        token = cv_strdup(state->token);
    (void)pthread_mutex_unlock(&catalog->lock);
    return token;
}

static const char *basic_header(const char *user_info, struct cv_arena *arena)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);

    cv_base64_encode(user_info, strlen(user_info), &text);
    return cv_arena_printf(arena, "Basic %s", cv_buf_text(&text));
}

static enum cv_code authorize(struct cv_rest_catalog *catalog, const struct cv_rest_call *call,
                              struct headers *headers, struct authorization *authorization,
                              struct cv_arena *arena, struct cv_error *err)
{
    if (call->bearer)
        put_header(headers, "Authorization", cv_arena_printf(arena, "Bearer %s", call->bearer));
    if (call->plain)
        return CV_OK;
    authorization->token = table_token(catalog, call->table);
    authorization->of_table = authorization->token != NULL;
    if (!authorization->of_table)
        CV_DO(cv_rest_token_get(catalog, &authorization->token, &authorization->version, err));
    if (authorization->token)
        put_header(headers, "Authorization",
                   cv_arena_printf(arena, "Bearer %s", authorization->token));
    else if (cv_rest_auth_type(&catalog->settings) == CV_REST_BASIC)
        put_header(headers, "Authorization",
                   basic_header(cv_arena_printf(arena, "%s:%s", catalog->settings.basic_username,
                                                catalog->settings.basic_password),
                                arena));
    return CV_OK;
}

static enum cv_code sign(struct cv_rest_catalog *catalog, struct cv_http_request *request,
                         struct cv_arena *arena, struct cv_error *err)
{
    CV_CLEANUP(cv_credentials_release) struct cv_credentials credentials = {0};
    const struct cv_http_header *headers;
    struct cv_sign signing = {.credentials = &credentials,
                              .region = catalog->settings.signing_region,
                              .service = catalog->settings.signing_name,
                              .now_ms = cv_now_ms(),
                              .encode_path_twice = true};

    CV_DO(cv_credential_source_get(catalog->signing, &credentials, err));
    CV_DO(cv_sign_request(&signing, request, arena, &headers, &request->header_count, err));
    request->headers = headers;
    return CV_OK;
}

/* UUID version 7: milliseconds, then random bits. */
static const char *idempotency_key(struct cv_arena *arena)
{
    uint64_t now = (uint64_t)cv_now_ms();
    uint8_t b[16];

    cv_random_bytes(b, sizeof b);
    for (int i = 0; i < 6; i++)
        b[i] = (uint8_t)(now >> (40 - 8 * i));
    b[6] = (uint8_t)(0x70 | (b[6] & 0x0f));
    b[8] = (uint8_t)(0x80 | (b[8] & 0x3f));
    return cv_arena_printf(
        arena, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
        b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

struct sending {
    struct cv_retry retry;
    const char *key; /* Idempotency-Key */
    bool sent;       /* the last attempt came to the point of sending */
    bool renewed;    /* the token, for a refusal */
    bool forgotten;  /* the table's token, for the same */
    bool lost;
};

static enum cv_code send_once(struct cv_rest_catalog *catalog, const struct cv_rest_call *call,
                              struct sending *sending, struct cv_http_response *response,
                              struct authorization *authorization, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct headers headers = {.count = 0};
    struct cv_http_request request = {.method = call->method,
                                      .url = call->url,
                                      .headers = headers.items,
                                      .timeout_ms = call->timeout_ms,
                                      .response_bytes_max = CV_REST_ANSWER_BYTES_MAX};

    if (call->body) {
        request.body = call->body->data ? (const void *)call->body->data : "";
        request.body_length = call->body->length;
    }
    sending->sent = false;
    put_call_headers(catalog, call, sending->key, &headers);
    CV_DO(authorize(catalog, call, &headers, authorization, &arena, err));
    request.header_count = headers.count;
    if (!call->plain && catalog->signing)
        CV_DO(sign(catalog, &request, &arena, err));
    cv_request_count(&catalog->base.counts, call->kind);
    sending->sent = true;
    return cv_http_send(catalog->http, &request, response, err);
}

/* What one attempt came to. */
enum verdict {
    DONE,
    FAILED,  /* as the error says */
    REFUSED, /* the token was: another one may help */
    AGAIN,   /* not carried out, or harmless: may be sent again */
    LOST,    /* as AGAIN, but may have been carried out */
};

static bool is_repeatable(const struct cv_rest_call *call)
{
    return call->verb == CV_REST_READ || call->verb == CV_REST_DROP || call->verb == CV_REST_CREATE;
}

static enum verdict judge_answer(const struct cv_rest_call *call,
                                 const struct cv_http_response *response, bool has_key)
{
    int status = response->status;

    if ((status >= 200 && status < 300) || (status == 304 && call->etag))
        return DONE;
    if (status == 401 || status == 419)
        return REFUSED;
    if (status == 429)
        return AGAIN;
    if (cv_retry_status(status) && (is_repeatable(call) || has_key))
        return LOST;
    return FAILED;
}

/* No answer: what cannot have arrived is sent again, the rest where that does no harm. */
static enum verdict judge_silence(const struct cv_rest_call *call, const struct sending *sending,
                                  struct cv_error *err)
{
    bool arrived = sending->sent && !(err->flags & CV_ERROR_UNSENT);

    if (err->flags & CV_ERROR_RETRIABLE) {
        if (!arrived)
            return AGAIN;
        if (is_repeatable(call) || sending->key)
            return LOST;
    }
    if (arrived && call->verb == CV_REST_COMMIT)
        err->code = CV_UNKNOWN;
    return FAILED;
}

static void forget_table_token(struct cv_rest_catalog *catalog, const char *table)
{
    struct cv_rest_table_state *state;

    (void)pthread_mutex_lock(&catalog->lock);
    state = cv_rest_find_state(catalog, table);
    if (state)
        cv_freep(&state->token);
    (void)pthread_mutex_unlock(&catalog->lock);
}

/* After 401 or 419: whether another token may help. A table's own gives way to the catalog's. */
static bool renew(struct cv_rest_catalog *catalog, const struct cv_rest_call *call,
                  struct sending *sending, const struct authorization *used, struct cv_error *err)
{
    if (call->plain)
        return false;
    if (used->of_table && !sending->forgotten) {
        forget_table_token(catalog, call->table);
        sending->forgotten = true;
        return true;
    }
    if (used->of_table || sending->renewed || !cv_rest_token_renew(catalog, used->version, err))
        return false;
    sending->renewed = true;
    return true;
}

/* Some servers repeat what they were sent. */
static void hide(struct cv_buf *body, const char *secret)
{
    const size_t length = secret ? strlen(secret) : 0;
    uint8_t *at = body->data;

    if (length < SECRET_BYTES_MIN || !body->length)
        return;
    while ((at = memmem(at, body->length - (size_t)(at - body->data), secret, length)))
        memset(at, '*', length);
}

static void hide_secrets(const struct cv_rest_catalog *catalog, const struct cv_rest_call *call,
                         const struct authorization *used, struct cv_buf *body)
{
    const char *credential = catalog->settings.credential;
    const char *colon = credential ? strchr(credential, ':') : NULL;

    hide(body, used->token);
    hide(body, call->bearer);
    hide(body, catalog->settings.basic_password);
    hide(body, colon ? colon + 1 : credential);
}

/* One attempt and what is to follow; the error is set but for DONE. */
static enum verdict attempt(struct cv_rest_catalog *catalog, const struct cv_rest_call *call,
                            struct sending *sending, struct cv_http_response *response,
                            int64_t *ret_retry_after_ms, struct cv_error *err)
{
    CV_CLEANUP(authorization_release) struct authorization used = {0};
    enum verdict verdict;

    *ret_retry_after_ms = -1;
    cv_error_clear(err);
    if (send_once(catalog, call, sending, response, &used, err) != CV_OK) {
        cv_context(err, "%s", call->what);
        return judge_silence(call, sending, err);
    }
    verdict = judge_answer(call, response, sending->key != NULL);
    if (verdict == DONE)
        return DONE;
    *ret_retry_after_ms = cv_http_retry_after_ms(response);
    hide_secrets(catalog, call, &used, &response->body);
    (void)cv_rest_fail(call, response, err);
    if (verdict != REFUSED)
        return verdict;
    return renew(catalog, call, sending, &used, err) ? REFUSED : FAILED;
}

/* 503 with a time says that looking at once would be in vain. */
static void wait_before_looking(const struct cv_rest_call *call, int64_t retry_after_ms,
                                const struct cv_error *err)
{
    if (call->verb == CV_REST_COMMIT && err->code == CV_UNKNOWN && retry_after_ms > 0)
        (void)cv_stop_sleep_ms(CV_MIN(retry_after_ms, 60000));
}

enum cv_code cv_rest_send(struct cv_rest_catalog *catalog, const struct cv_rest_call *call,
                          struct cv_http_response *ret_response, bool *ret_lost,
                          struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_retry_policy policy = CV_RETRY_CATALOG;
    struct sending sending = {0};
    struct cv_error own = CV_ERROR_INIT;
    enum verdict verdict;

    if (catalog->idempotency && (call->verb == CV_REST_COMMIT || call->verb == CV_REST_CREATE))
        sending.key = idempotency_key(&arena);
    policy.attempts = (int)catalog->settings.max_retries + 1;
    policy.min_wait_ms = catalog->settings.retry_min_wait_ms;
    policy.max_wait_ms = CV_MAX(policy.max_wait_ms, policy.min_wait_ms);
    cv_retry_begin(&sending.retry, &policy);
    for (;;) {
        int64_t retry_after_ms;

        verdict = attempt(catalog, call, &sending, ret_response, &retry_after_ms, &own);
        sending.lost |= verdict == LOST;
        if (verdict == FAILED)
            wait_before_looking(call, retry_after_ms, &own);
        if (verdict == DONE || verdict == FAILED || call->verb == CV_REST_REPORT)
            break;
        if (verdict != REFUSED && !cv_retry_again(&sending.retry, retry_after_ms))
            break;
        cv_request_count(&catalog->base.counts, CV_REQUEST_RETRY);
    }
    if (ret_lost)
        *ret_lost = sending.lost;
    if (verdict == DONE)
        return CV_OK;
    /* a conflict, too, may be with an attempt of its own */
    if ((sending.lost && call->verb == CV_REST_COMMIT) ||
        (verdict == LOST && call->verb == CV_REST_CREATE))
        own.code = CV_UNKNOWN;
    else if (verdict == AGAIN || verdict == LOST)
        (void)cv_retry_give_up(own.code, &own);
    if (err)
        *err = own;
    return own.code;
}
