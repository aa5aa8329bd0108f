/* SPDX-License-Identifier: Apache-2.0
 *
 * A small HTTP client on libcurl: for the schema registry now, for REST catalogs and S3 later. One
 * client keeps its connections alive between requests and belongs to one thread at a time. What is
 * secret (user info, tokens, a URL's own "user:password@") never reaches an error's text. */
#ifndef CALVE_STORAGE_HTTP_H
#define CALVE_STORAGE_HTTP_H

#include "base/buf.h"
#include "base/str.h"

#define CV_HTTP_CONNECT_TIMEOUT_MS 10000
#define CV_HTTP_TIMEOUT_MS         30000
#define CV_HTTP_RESPONSE_BYTES_MAX ((size_t)16 << 20)
#define CV_HTTP_HEADERS_MAX        64

/* Zero-initialise; every text is copied. 0 stands for the default of a number. */
struct cv_http_config {
    const char *user_info;    /* "user:password" for basic authentication; NULL = none */
    const char *bearer_token; /* NULL = none */
    const char *ca_file;      /* PEM with the authorities to trust; NULL = the system's */
    int64_t connect_timeout_ms;
    int64_t timeout_ms; /* of a whole request */
    size_t response_bytes_max;
};

struct cv_http_header {
    const char *name;
    const char *value;
};

struct cv_http_client;

enum cv_code cv_http_client_new(const struct cv_http_config *config,
                                struct cv_http_client **ret_client, struct cv_error *err);
void cv_http_client_free(struct cv_http_client *client);
CV_DEFINE_CLEANUP(struct cv_http_client *, cv_http_client_free)

/* GET. Any status is CV_OK: the caller judges *ret_status. The body is appended to `ret_body`.
 * No answer (resolve, connect, TLS hand-shake cut, time-out) is CV_IO with CV_ERROR_RETRIABLE; a
 * certificate that does not verify is CV_AUTH; a bad URL CV_CONFIG; a larger answer CV_LIMIT.
 * Redirects are followed (five at most, never from https to http); credentials go to the first host
 * only. `headers` may be NULL. */
enum cv_code cv_http_get(struct cv_http_client *client, const char *url,
                         const struct cv_http_header *headers, size_t header_count, int *ret_status,
                         struct cv_buf *ret_body, struct cv_error *err);

/* The URL without user info and query, for messages. */
void cv_http_url_for_message(const char *url, char text[512]);

#endif
