/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-2 by libcrypto. These calls fail only for want of memory or of the algorithm itself, and then
 * there is no answer to go on with. */
#include "codec/sha2.h"

#include "base/memory.h"

#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const EVP_MD *algorithm(enum cv_sha2 hash)
{
    return hash == CV_SHA256 ? EVP_sha256() : EVP_sha512();
}

static void require(int success)
{
    if (success)
        return;
    (void)fprintf(stderr, "calve: libcrypto has no SHA-2\n");
    abort();
}

void cv_sha2(enum cv_sha2 hash, const void *bytes, size_t length, uint8_t ret[CV_SHA2_BYTES_MAX])
{
    require(EVP_Digest(bytes, length, ret, NULL, algorithm(hash), NULL));
}

void cv_hmac(enum cv_sha2 hash, const void *key, size_t key_length, const void *bytes,
             size_t length, uint8_t ret[CV_SHA2_BYTES_MAX])
{
    int key_bytes = (int)CV_MIN(key_length, (size_t)INT_MAX);

    require(HMAC(algorithm(hash), key, key_bytes, bytes, length, ret, NULL) != NULL);
}

void cv_scram_hi(enum cv_sha2 hash, const char *password, const void *salt, size_t salt_length,
                 unsigned iterations, uint8_t ret[CV_SHA2_BYTES_MAX])
{
    require(PKCS5_PBKDF2_HMAC(password, (int)strlen(password), salt, (int)salt_length,
                              (int)iterations, algorithm(hash), (int)cv_sha2_bytes(hash), ret));
}
