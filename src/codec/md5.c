/* SPDX-License-Identifier: Apache-2.0
 *
 * MD5 by libcrypto, marked as no matter of security: a machine in FIPS mode has it for checksums.
 */
#include "codec/md5.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

void cv_md5(const void *bytes, size_t length, uint8_t ret[CV_MD5_BYTES])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();

    if (context)
        EVP_MD_CTX_set_flags(context, EVP_MD_CTX_FLAG_NON_FIPS_ALLOW);
    if (!context || !EVP_DigestInit_ex(context, EVP_md5(), NULL) ||
        !EVP_DigestUpdate(context, bytes, length) || !EVP_DigestFinal_ex(context, ret, NULL)) {
        (void)fprintf(stderr, "calve: libcrypto has no MD5\n");
        abort();
    }
    EVP_MD_CTX_free(context);
}
