/* SPDX-License-Identifier: Apache-2.0
 *
 * A small HTTP client on libcurl, for the schema registry, REST catalogs and S3. A client keeps its
 * connections alive between requests and may be used by many threads: each request takes a
 * connection of its own and gives it back. One request is sent once; trying again is
 * storage/retry.h's. What is secret (user info, tokens, signatures, a URL's own "user:password@"
 * and its query) never reaches an error's text. */
#ifndef CALVE_STORAGE_HTTP_H
#define CALVE_STORAGE_HTTP_H

#include "base/buf.h"
#include "base/str.h"

#define CV_HTTP_CONNECT_TIMEOUT_MS 10000
#define CV_HTTP_TIMEOUT_MS         30000
#define CV_HTTP_STOP_MS            5000  /* what a request under way may still take at a stop */
#define CV_HTTP_SLOW_MS            10000 /* a body that moves less than … */
#define CV_HTTP_SLOW_BYTES         10240 /* … this within that time has failed */
#define CV_HTTP_RESPONSE_BYTES_MAX ((size_t)16 << 20)
#define CV_HTTP_HEADER_BYTES_MAX   ((size_t)64 << 10) /* all headers of an answer */
#define CV_HTTP_HEADERS_MAX        64                 /* of a request */
#define CV_HTTP_CONNECTIONS_MAX    64                 /* kept idle per client */

/* Zero-initialise; every text is copied. 0 stands for the default of a number. */
struct cv_http_config {
    const char *user_info;    /* "user:password" for basic authentication; NULL = none */
    const char *bearer_token; /* NULL = none */
    const char *ca_file;      /* PEM with the authorities to trust; NULL = the system's */
    const char *ca_option;    /* what the user sets that file with, for hints; NULL = nothing */
    bool no_proxy;            /* else that of the environment (https_proxy, no_proxy …) */
    int64_t connect_timeout_ms;
    int64_t timeout_ms; /* of a whole request */
    size_t response_bytes_max;
};

struct cv_http_header {
    const char *name;
    const char *value;
};

struct cv_http_request {
    const char *method; /* "GET", "PUT", … */
    const char *url;
    const struct cv_http_header *headers;
    size_t header_count;
    const void *body; /* NULL = none */
    size_t body_length;
    int64_t timeout_ms;        /* 0 = the client's */
    size_t response_bytes_max; /* 0 = the client's */
    bool follow; /* redirects of GET and HEAD: five at most, never from https to http; credentials
                  * go to the first host only */
};

/* Zero-initialise; may be used for one answer after the other. */
struct cv_http_response {
    int status;
    struct cv_buf body;
    struct cv_buf headers; /* as received; ask cv_http_response_header() */
};
void cv_http_response_release(struct cv_http_response *response);
/* The value of the last header of this name (any case), trimmed; length 0 = absent. */
struct cv_str cv_http_response_header(const struct cv_http_response *response, const char *name);
/* Retry-After in ms (seconds or an HTTP date), at most an hour; -1 = absent. */
int64_t cv_http_retry_after_ms(const struct cv_http_response *response);
/* Date as ms since the epoch: the server's clock; -1 = absent. */
int64_t cv_http_response_date_ms(const struct cv_http_response *response);

struct cv_http_client;

enum cv_code cv_http_client_new(const struct cv_http_config *config,
                                struct cv_http_client **ret_client, struct cv_error *err);
void cv_http_client_free(struct cv_http_client *client);
CV_DEFINE_CLEANUP(struct cv_http_client *, cv_http_client_free)

/* Any status is CV_OK: the caller judges it. No answer (resolve, connect, TLS hand-shake cut,
 * time-out, a body that ends early) is CV_IO with CV_ERROR_RETRIABLE, and CV_ERROR_UNSENT where the
 * server cannot have got the whole request; a certificate that does not verify is CV_AUTH; a bad
 * URL CV_CONFIG; a larger answer CV_LIMIT; CV_CANCELLED when a stop cut it. No request but
 * GET and HEAD reaches a server twice; those may, when a kept connection ends just as it is used.
 * The body of the request must stay until the call returns. */
enum cv_code cv_http_send(struct cv_http_client *client, const struct cv_http_request *request,
                          struct cv_http_response *ret_response, struct cv_error *err);

/* GET with redirects followed; the body is appended to `ret_body`. `headers` may be NULL. */
enum cv_code cv_http_get(struct cv_http_client *client, const char *url,
                         const struct cv_http_header *headers, size_t header_count, int *ret_status,
                         struct cv_buf *ret_body, struct cv_error *err);

/* The URL without user info and query, for messages. */
void cv_http_url_for_message(const char *url, char text[512]);

#endif
