/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP requests by libcurl's easy interface. A client has a stack of idle handles, each with its
 * connections; the one used last is taken first, since its connections are the warmest. */
#include "storage/http.h"

#include "base/error_part.h"
#include "base/stop.h"
#include "base/time.h"

#include <curl/curl.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define REDIRECTS_MAX      5L
#define TRANSFER_BUFFER    (256L << 10) /* per handle and direction, for large bodies */
#define LARGE_BODY_BYTES   ((size_t)1 << 20)
#define KEEP_ALIVE_SECONDS 30L

/* One easy handle. Owned by the request that took it, else by the client's stack. */
struct handle {
    CURL *curl;
    struct handle *below;
    char reason[CURL_ERROR_SIZE];
};

struct cv_http_client {
    char *user_info;
    char *bearer_token;
    char *ca_file;
    char *ca_option;
    bool no_proxy;
    long connect_timeout_ms;
    long timeout_ms;
    size_t response_bytes_max;
    pthread_mutex_t lock; /* of the two below */
    struct handle *idle;
    size_t idle_count;
};

enum cut { CUT_NOT, CUT_STOP, CUT_SLOW, CUT_BODY_LARGE, CUT_HEADERS_LARGE, CUT_REPEATED };

/* One request under way, on the stack of its thread. */
struct transfer {
    const struct cv_http_client *client;
    const struct cv_http_request *request;
    struct cv_http_response *response;
    CURL *curl;
    size_t given; /* bytes of the body that libcurl took */
    int sendings; /* of a request that changes something */
    size_t response_max;
    bool headers_ended;
    enum cut cut; /* why this side ended the transfer */
    int64_t stop_us;
    int64_t moved_us; /* since when `moved` has not grown by CV_HTTP_SLOW_BYTES */
    curl_off_t moved;
};

static void init_library(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

static char *copy_or_null(const char *text)
{
    return text ? cv_strdup(text) : NULL;
}

enum cv_code cv_http_client_new(const struct cv_http_config *config,
                                struct cv_http_client **ret_client, struct cv_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct cv_http_client *client;

    (void)err;
    (void)pthread_once(&once, init_library);
    client = cv_alloc(sizeof *client);
    client->user_info = copy_or_null(config->user_info);
    client->bearer_token = copy_or_null(config->bearer_token);
    client->ca_file = copy_or_null(config->ca_file);
    client->ca_option = copy_or_null(config->ca_option);
    client->no_proxy = config->no_proxy;
    client->connect_timeout_ms =
        (long)(config->connect_timeout_ms > 0 ? config->connect_timeout_ms
                                              : CV_HTTP_CONNECT_TIMEOUT_MS);
    client->timeout_ms = (long)(config->timeout_ms > 0 ? config->timeout_ms : CV_HTTP_TIMEOUT_MS);
    client->response_bytes_max =
        config->response_bytes_max ? config->response_bytes_max : CV_HTTP_RESPONSE_BYTES_MAX;
    (void)pthread_mutex_init(&client->lock, NULL);
    *ret_client = client;
    return CV_OK;
}

static void free_handle(struct handle *handle)
{
    curl_easy_cleanup(handle->curl);
    free(handle);
}

void cv_http_client_free(struct cv_http_client *client)
{
    if (!client)
        return;
    while (client->idle) {
        struct handle *handle = client->idle;

        client->idle = handle->below;
        free_handle(handle);
    }
    (void)pthread_mutex_destroy(&client->lock);
    cv_freep(&client->user_info);
    cv_freep(&client->bearer_token);
    cv_freep(&client->ca_file);
    cv_freep(&client->ca_option);
    free(client);
}

static enum cv_code take_handle(struct cv_http_client *client, struct handle **ret_handle,
                                struct cv_error *err)
{
    struct handle *handle;

    (void)pthread_mutex_lock(&client->lock);
    handle = client->idle;
    if (handle) {
        client->idle = handle->below;
        client->idle_count--;
    }
    (void)pthread_mutex_unlock(&client->lock);
    if (!handle) {
        CURL *curl = curl_easy_init();

        if (!curl)
            return cv_fail(err, CV_INTERNAL, "cannot start the HTTP client");
        handle = cv_alloc(sizeof *handle);
        handle->curl = curl;
    }
    *ret_handle = handle;
    return CV_OK;
}

static void give_handle(struct cv_http_client *client, struct handle *handle)
{
    bool kept;

    (void)pthread_mutex_lock(&client->lock);
    kept = client->idle_count < CV_HTTP_CONNECTIONS_MAX;
    if (kept) {
        handle->below = client->idle;
        client->idle = handle;
        client->idle_count++;
    }
    (void)pthread_mutex_unlock(&client->lock);
    if (!kept)
        free_handle(handle);
}

static size_t take_header(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    struct cv_buf *headers = &transfer->response->headers;
    size_t length = size * count;

    if (length >= 5 && memcmp(bytes, "HTTP/", 5) == 0) { /* after a redirect, 100 or a proxy's */
        cv_buf_clear(headers);
        transfer->headers_ended = false;
    }
    if (length > CV_HTTP_HEADER_BYTES_MAX - headers->length) {
        transfer->cut = CUT_HEADERS_LARGE;
        return 0;
    }
    cv_buf_append(headers, bytes, length);
    transfer->headers_ended = transfer->headers_ended || length <= 2;
    return length;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    struct cv_buf *body = &transfer->response->body;
    size_t length = size * count;
    curl_off_t whole = -1;

    if (body->length == 0) {
        (void)curl_easy_getinfo(transfer->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &whole);
        if (whole > 0 && (uint64_t)whole <= transfer->response_max)
            (void)cv_buf_reserve(body, (size_t)whole);
    }
    if (length > transfer->response_max - body->length) {
        transfer->cut = CUT_BODY_LARGE;
        return 0;
    }
    cv_buf_append(body, bytes, length);
    if (body->failed)
        transfer->cut = CUT_BODY_LARGE;
    return body->failed ? 0 : length;
}

/* There is no seek function on purpose: libcurl could send a body again by itself when a kept
 * connection turns out dead, and a commit must not be sent twice unnoticed. */
static size_t give_body(char *buffer, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    size_t length = CV_MIN(size * count, transfer->request->body_length - transfer->given);

    if (length)
        memcpy(buffer, (const char *)transfer->request->body + transfer->given, length);
    transfer->given += length;
    return length;
}

/* Called before each sending. A kept connection that ends just as it is used makes libcurl send a
 * request without a body again by itself: what changes something is not, since the caller has to
 * know that it may have been carried out. */
static int allow_sending(void *context, char *to_address, char *from_address, int to_port,
                         int from_port)
{
    struct transfer *transfer = context;

    (void)to_address;
    (void)from_address;
    (void)to_port;
    (void)from_port;
    if (transfer->sendings++ == 0)
        return CURL_PREREQFUNC_OK;
    transfer->cut = CUT_REPEATED;
    return CURL_PREREQFUNC_ABORT;
}

/* Whether a body whose length is known moves too slowly. One without (S3 sends blanks while it puts
 * an object together) only has the time of the request. */
static bool too_slow(struct transfer *transfer, curl_off_t down_whole, curl_off_t down,
                     curl_off_t up_whole, curl_off_t up)
{
    int64_t now_us = cv_monotonic_us();
    bool under_way = (up > 0 && up < up_whole) || (down > 0 && down < down_whole);

    if (!under_way || down + up - transfer->moved >= CV_HTTP_SLOW_BYTES ||
        transfer->moved_us == 0) {
        transfer->moved = down + up;
        transfer->moved_us = now_us;
        return false;
    }
    return now_us - transfer->moved_us > CV_HTTP_SLOW_MS * CV_US_PER_MS;
}

/* At least once a second. */
static int watch(void *context, curl_off_t down_whole, curl_off_t down, curl_off_t up_whole,
                 curl_off_t up)
{
    struct transfer *transfer = context;

    if (cv_stop_requested(NULL)) {
        if (transfer->stop_us == 0)
            transfer->stop_us = cv_monotonic_us() + CV_HTTP_STOP_MS * CV_US_PER_MS;
        else if (cv_monotonic_us() > transfer->stop_us)
            transfer->cut = CUT_STOP;
    }
    if (transfer->cut == CUT_NOT && too_slow(transfer, down_whole, down, up_whole, up))
        transfer->cut = CUT_SLOW;
    return transfer->cut != CUT_NOT;
}

static void free_headers(struct curl_slist **list)
{
    curl_slist_free_all(*list);
}

static enum cv_code append_line(struct curl_slist **list, const char *line, struct cv_error *err)
{
    struct curl_slist *longer = curl_slist_append(*list, line);

    if (!longer)
        return cv_fail(err, CV_INTERNAL, "out of memory for an HTTP header");
    *list = longer;
    return CV_OK;
}

static enum cv_code add_header(struct curl_slist **list, const struct cv_http_header *header,
                               struct cv_error *err)
{
    CV_CLEANUP(cv_freep) char *line = NULL;
    size_t size = strlen(header->name) + strlen(header->value) + 3;

    if (strpbrk(header->name, "\r\n:;") || strpbrk(header->value, "\r\n"))
        return cv_fail(err, CV_CONFIG, "HTTP header %.100s holds a line break", header->name);
    line = cv_alloc(size);
    /* libcurl's ways to send an empty value, and to not remove the header */
    (void)snprintf(line, size, *header->value ? "%s: %s" : "%s;", header->name, header->value);
    return append_line(list, line, err);
}

static enum cv_code make_headers(const struct cv_http_request *request, struct curl_slist **list,
                                 struct cv_error *err)
{
    bool typed = false;

    if (request->header_count > CV_HTTP_HEADERS_MAX)
        return cv_fail(err, CV_LIMIT, "%zu HTTP headers are too many", request->header_count);
    for (size_t i = 0; i < request->header_count; i++) {
        CV_DO(add_header(list, &request->headers[i], err));
        typed = typed || strcasecmp(request->headers[i].name, "Content-Type") == 0;
    }
    CV_DO(append_line(list, "Expect:", err)); /* no round trip before the body */
    return typed ? CV_OK : append_line(list, "Content-Type:", err);
}

static void set_security(const struct cv_http_client *client, CURL *curl, const char *url)
{
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR,
                           strncasecmp(url, "https:", 6) == 0 ? "https" : "http,https");
    if (client->no_proxy)
        (void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    if (client->ca_file)
        (void)curl_easy_setopt(curl, CURLOPT_CAINFO, client->ca_file);
    if (client->user_info) {
        (void)curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        (void)curl_easy_setopt(curl, CURLOPT_USERPWD, client->user_info);
    }
    if (client->bearer_token) {
        (void)curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        (void)curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, client->bearer_token);
    }
}

static void set_method(CURL *curl, struct transfer *transfer)
{
    const struct cv_http_request *request = transfer->request;
    const char *method = request->method;
    bool plain = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;

    if (strcmp(method, "HEAD") == 0) {
        (void)curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    } else if (request->body_length || strcmp(method, "PUT") == 0 || strcmp(method, "POST") == 0) {
        (void)curl_easy_setopt(curl, CURLOPT_POST, 1L);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
    }
    if (!plain) {
        (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
        (void)curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, allow_sending);
        (void)curl_easy_setopt(curl, CURLOPT_PREREQDATA, transfer);
    }
    if (plain && request->follow) {
        (void)curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
        (void)curl_easy_setopt(curl, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
    }
}

static void set_transfer(CURL *curl, struct transfer *transfer)
{
    (void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    (void)curl_easy_setopt(curl, CURLOPT_READFUNCTION, give_body);
    (void)curl_easy_setopt(curl, CURLOPT_READDATA, transfer);
    (void)curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, watch);
    (void)curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer);
    if (transfer->request->body_length >= LARGE_BODY_BYTES)
        (void)curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, TRANSFER_BUFFER);
    if (transfer->response_max >= LARGE_BODY_BYTES)
        (void)curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, TRANSFER_BUFFER);
}

static void set_request(struct handle *handle, struct transfer *transfer,
                        struct curl_slist *headers)
{
    const struct cv_http_client *client = transfer->client;
    const struct cv_http_request *request = transfer->request;
    CURL *curl = handle->curl;

    curl_easy_reset(curl);
    handle->reason[0] = '\0';
    (void)curl_easy_setopt(curl, CURLOPT_URL, request->url);
    (void)curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L); /* a key may hold "//" or "/../" */
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, handle->reason);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L); /* a name look-up is not waited for */
    (void)curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(curl, CURLOPT_TCP_NODELAY, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, KEEP_ALIVE_SECONDS);
    (void)curl_easy_setopt(curl, CURLOPT_USERAGENT, "calve/" CALVE_VERSION);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, client->connect_timeout_ms);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                           request->timeout_ms > 0 ? (long)request->timeout_ms
                                                   : client->timeout_ms);
    set_method(curl, transfer);
    set_transfer(curl, transfer);
    set_security(client, curl, request->url);
}

/* How far a failed request came: what the message begins with, what stood in the way, and what may
 * help. */
struct failure {
    enum cv_code code;
    enum cv_error_part part; /* 0 = none; with one the host alone is at fault */
    const char *what;        /* before the URL */
    const char *hint;
    bool by_ca_option; /* the hint goes on with the name of that option */
};

static struct failure judge_local(CURLcode result, bool answered)
{
    switch (result) {
    case CURLE_URL_MALFORMAT:
        return (struct failure){CV_CONFIG, 0, "no answer from", "check the URL"};
    case CURLE_UNSUPPORTED_PROTOCOL: /* also what libcurl makes of an answer that is not HTTP */
        return answered ? (struct failure){CV_CONFIG, 0, "no answer from", "check the URL"}
                        : (struct failure){CV_IO, 0, "no HTTP answer from", NULL};
    case CURLE_TOO_MANY_REDIRECTS:
        return (struct failure){CV_CONFIG, 0, "no answer from", NULL};
    default:
        return (struct failure){CV_IO, 0, "no answer from", NULL};
    }
}

/* The part of the failures that TLS has; part 0 = another one. */
static struct failure judge_tls(CURLcode result, const char *reason)
{
    switch (result) {
    case CURLE_SSL_CACERT_BADFILE:
        return (struct failure){CV_CONFIG, CV_PART_TLS, "no TLS with",
                                "name a PEM file with the authorities to trust"};
    case CURLE_SSL_CONNECT_ERROR:
        return (struct failure){CV_IO, CV_PART_TLS, "no TLS with",
                                "check that this port speaks TLS, else write http://"};
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
        if (strstr(reason, "subject name") || strstr(reason, "host name"))
            return (struct failure){
                CV_AUTH, CV_PART_TLS, "no TLS with",
                "the server's certificate is for other names: write one of those"};
        if (strstr(reason, "expired") || strstr(reason, "not yet valid"))
            return (struct failure){CV_AUTH, CV_PART_TLS, "no TLS with",
                                    "the server needs a new certificate, or this machine's clock "
                                    "is wrong"};
        return (struct failure){
            CV_AUTH, CV_PART_TLS, "no TLS with",
            "name the file of the authority that signed the server's certificate", true};
    default:
        return (struct failure){CV_OK, 0, NULL, NULL};
    }
}

static struct failure judge(CURLcode result, const char *reason, bool sent, bool answered)
{
    struct failure tls = judge_tls(result, reason);

    if (tls.part)
        return tls;
    switch (result) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return (struct failure){CV_IO, CV_PART_DNS, "no address for",
                                "check the host's name and this machine's DNS"};
    case CURLE_COULDNT_CONNECT:
        return (struct failure){CV_IO, CV_PART_CONNECTION, "no connection to",
                                "check that the server runs and can be reached from here"};
    case CURLE_OPERATION_TIMEDOUT:
        if (!sent)
            return (struct failure){CV_IO, CV_PART_CONNECTION, "no connection to",
                                    "check that the server runs and can be reached from here"};
        return (struct failure){CV_IO, 0, "no answer from", NULL};
    case CURLE_PARTIAL_FILE:
        return (struct failure){CV_IO, 0, "half an answer from", NULL};
    default:
        return judge_local(result, answered || !sent);
    }
}

static enum cv_code fail_cut(const struct transfer *transfer, const char *url, struct cv_error *err)
{
    switch (transfer->cut) {
    case CUT_BODY_LARGE:
        return cv_fail(err, CV_LIMIT, "%s answers with more than %zu bytes", url,
                       transfer->response_max);
    case CUT_HEADERS_LARGE:
        return cv_fail(err, CV_LIMIT, "%s answers with more than %zu bytes of headers", url,
                       CV_HTTP_HEADER_BYTES_MAX);
    case CUT_STOP:
        return cv_fail(err, CV_CANCELLED, "gave up waiting for %s: the process ends", url);
    case CUT_REPEATED:
        return cv_fail(err, CV_IO, "no answer from %s: the server closed the connection", url);
    default:
        return cv_fail(err, CV_IO, "%s moves less than %d bytes in %d s", url, CV_HTTP_SLOW_BYTES,
                       CV_HTTP_SLOW_MS / 1000);
    }
}

static const char *reason_of(const struct handle *handle, CURLcode result)
{
    if (result == CURLE_SEND_FAIL_REWIND) /* see give_body() */
        return "the server closed the connection";
    if (handle->reason[0] && result != CURLE_URL_MALFORMAT)
        return handle->reason;
    return curl_easy_strerror(result);
}

/* Whether the server cannot have got the whole request. */
static bool unsent(const struct handle *handle, const struct transfer *transfer)
{
    long sent_bytes = 0;

    if (transfer->request->body_length)
        return transfer->given < transfer->request->body_length;
    (void)curl_easy_getinfo(handle->curl, CURLINFO_REQUEST_SIZE, &sent_bytes);
    return sent_bytes == 0;
}

static void cut_path(char *url)
{
    char *host = strstr(url, "://");

    if (host)
        host[3 + strcspn(host + 3, "/")] = '\0';
}

static enum cv_code fail_transfer(const struct handle *handle, const struct transfer *transfer,
                                  CURLcode result, struct cv_error *err)
{
    bool never_sent = unsent(handle, transfer);
    const char *reason = reason_of(handle, result);
    struct failure failure =
        judge(result, reason, !never_sent, transfer->response->headers.length > 0);
    const char *ca_option = failure.by_ca_option ? transfer->client->ca_option : NULL;
    enum cv_code code;
    char url[512];

    cv_http_url_for_message(transfer->request->url, url);
    if (transfer->cut != CUT_NOT) {
        code = fail_cut(transfer, url, err);
    } else {
        if (failure.part) /* whatever was asked for there */
            cut_path(url);
        code = cv_fail(err, failure.code, "%s %s: %s", failure.what, url, reason);
        if (failure.hint)
            cv_hint(err, "%s%s%s", failure.hint, ca_option ? " with " : "",
                    ca_option ? ca_option : "");
        if (failure.part)
            cv_error_set_part(err, failure.part);
    }
    if (err && code == CV_IO)
        err->flags |= CV_ERROR_RETRIABLE;
    if (err && never_sent)
        err->flags |= CV_ERROR_UNSENT;
    return code;
}

static enum cv_code run_transfer(struct handle *handle, struct transfer *transfer,
                                 struct cv_error *err)
{
    CV_CLEANUP(free_headers) struct curl_slist *headers = NULL;
    CURLcode result;
    long status = 0;

    CV_DO(make_headers(transfer->request, &headers, err));
    set_request(handle, transfer, headers);
    transfer->curl = handle->curl;
    result = curl_easy_perform(handle->curl);
    if (result == CURLE_OK && !transfer->headers_ended) /* libcurl takes that for an answer */
        result = CURLE_PARTIAL_FILE;
    if (result != CURLE_OK)
        return fail_transfer(handle, transfer, result, err);
    (void)curl_easy_getinfo(handle->curl, CURLINFO_RESPONSE_CODE, &status);
    transfer->response->status = (int)status;
    return CV_OK;
}

enum cv_code cv_http_send(struct cv_http_client *client, const struct cv_http_request *request,
                          struct cv_http_response *ret_response, struct cv_error *err)
{
    struct transfer transfer = {
        .client = client,
        .request = request,
        .response = ret_response,
        .response_max =
            request->response_bytes_max ? request->response_bytes_max : client->response_bytes_max,
    };
    struct handle *handle;
    enum cv_code code;

    ret_response->status = 0;
    cv_buf_clear(&ret_response->body);
    cv_buf_clear(&ret_response->headers);
    CV_DO(take_handle(client, &handle, err));
    code = run_transfer(handle, &transfer, err);
    give_handle(client, handle);
    if (code != CV_OK) {
        cv_buf_clear(&ret_response->body);
        cv_buf_clear(&ret_response->headers);
    }
    return code;
}

enum cv_code cv_http_get(struct cv_http_client *client, const char *url,
                         const struct cv_http_header *headers, size_t header_count, int *ret_status,
                         struct cv_buf *ret_body, struct cv_error *err)
{
    CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};
    const struct cv_http_request request = {.method = "GET",
                                            .url = url,
                                            .headers = headers,
                                            .header_count = header_count,
                                            .follow = true};

    CV_DO(cv_http_send(client, &request, &response, err));
    cv_buf_append(ret_body, response.body.data, response.body.length);
    CV_DO(cv_buf_check(ret_body, "answer of a server", err));
    *ret_status = response.status;
    return CV_OK;
}
