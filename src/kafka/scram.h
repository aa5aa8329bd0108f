/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's side of SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), without I/O. */
#ifndef CALVE_KAFKA_SCRAM_H
#define CALVE_KAFKA_SCRAM_H

#include "base/buf.h"
#include "base/str.h"
#include "codec/sha2.h"

#define CV_SCRAM_SALT_BYTES_MAX 256
#define CV_SCRAM_ITERATIONS_MAX 1000000 /* what a server may ask for */

struct cv_scram {
    enum cv_sha2 hash;
    const char *user;
    const char *password;
    char nonce[64];      /* the client's */
    struct cv_buf first; /* client-first-message-bare */
    struct cv_buf auth;  /* AuthMessage */
    uint8_t server_signature[CV_SHA2_BYTES_MAX];
};

/* CV_UNSUPPORTED for other mechanisms. `nonce` may be NULL: a random one. The texts must outlive
 * the struct. */
enum cv_code cv_scram_init(struct cv_scram *scram, const char *mechanism, const char *user,
                           const char *password, const char *nonce, struct cv_error *err);
void cv_scram_release(struct cv_scram *scram);
void cv_scram_client_first(struct cv_scram *scram, struct cv_buf *out);
enum cv_code cv_scram_client_final(struct cv_scram *scram, struct cv_str server_first,
                                   struct cv_buf *out, struct cv_error *err);
/* The server must know the password, too. */
enum cv_code cv_scram_check_server_final(const struct cv_scram *scram, struct cv_str server_final,
                                         struct cv_error *err);

#endif
