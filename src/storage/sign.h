/* SPDX-License-Identifier: Apache-2.0
 *
 * AWS Signature Version 4 (reference/iceberg.md 9.1). Signs what cv_http_send() will send; each
 * attempt is signed anew, since a signature ages. Pure; any thread. */
#ifndef CALVE_STORAGE_SIGN_H
#define CALVE_STORAGE_SIGN_H

#include "storage/credentials.h"
#include "storage/http.h"

#define CV_SIGN_HEADERS_MAX 8 /* that signing adds */

struct cv_sign {
    const struct cv_credentials *credentials;
    const char *region;
    const char *service;    /* "s3", "execute-api", "glue", "s3tables" */
    int64_t now_ms;         /* corrected by what is known of the server's clock */
    bool unsigned_payload;  /* UNSIGNED-PAYLOAD; over TLS only */
    bool encode_path_twice; /* every service but s3 */
};

/* Adds host, x-amz-date, x-amz-content-sha256, x-amz-security-token and Authorization to the
 * request's own headers (an Authorization there moves to Original-Authorization). The result lives
 * in the arena. The URL's path and query are encoded already and sent as they are. */
enum cv_code cv_sign_request(const struct cv_sign *sign, const struct cv_http_request *request,
                             struct cv_arena *arena, const struct cv_http_header **ret_headers,
                             size_t *ret_count, struct cv_error *err);

/* RFC 3986: everything but A–Z a–z 0–9 - . _ ~ (and / where `keep_slash`) as %XX. */
const char *cv_uri_encode(const char *text, bool keep_slash, struct cv_arena *arena);
/* In place: each %XX as its byte, and + as a blank where `plus_is_blank`; the new length. What is
 * no such code stays. */
size_t cv_uri_decode(char *text, size_t length, bool plus_is_blank);

#endif
