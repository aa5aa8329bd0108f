/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 and SHA-512, HMAC and the salted password of SCRAM (RFC 5802), from libcrypto. */
#ifndef CALVE_CODEC_SHA2_H
#define CALVE_CODEC_SHA2_H

#include <stddef.h>
#include <stdint.h>

#define CV_SHA2_BYTES_MAX 64

enum cv_sha2 { CV_SHA256, CV_SHA512 };

static inline size_t cv_sha2_bytes(enum cv_sha2 hash)
{
    return hash == CV_SHA256 ? 32 : 64;
}

void cv_sha2(enum cv_sha2 hash, const void *bytes, size_t length, uint8_t ret[CV_SHA2_BYTES_MAX]);
void cv_hmac(enum cv_sha2 hash, const void *key, size_t key_length, const void *bytes,
             size_t length, uint8_t ret[CV_SHA2_BYTES_MAX]);
/* Hi(password, salt, iterations) of RFC 5802, which is PBKDF2 with one block. */
void cv_scram_hi(enum cv_sha2 hash, const char *password, const void *salt, size_t salt_length,
                 unsigned iterations, uint8_t ret[CV_SHA2_BYTES_MAX]);

#endif
