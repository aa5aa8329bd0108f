/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of a SCRAM exchange. Nothing of the password reaches a message or an error. */
#include "kafka/scram.h"

#include "base/random.h"
#include "base/str.h"
#include "codec/base64.h"

#include <stdio.h>

enum cv_code cv_scram_init(struct cv_scram *scram, const char *mechanism, const char *user,
                           const char *password, const char *nonce, struct cv_error *err)
{
    memset(scram, 0, sizeof *scram);
    if (cv_text_equal_nocase(mechanism, "SCRAM-SHA-256"))
        scram->hash = CV_SHA256;
    else if (cv_text_equal_nocase(mechanism, "SCRAM-SHA-512"))
        scram->hash = CV_SHA512;
    else
        return cv_fail(err, CV_UNSUPPORTED, "%.40s is not a SCRAM mechanism", mechanism);
    scram->user = user;
    scram->password = password;
    if (nonce) {
        (void)snprintf(scram->nonce, sizeof scram->nonce, "%s", nonce);
    } else {
        uint8_t bytes[24];

        cv_random_bytes(bytes, sizeof bytes);
        for (size_t i = 0; i < sizeof bytes; i++)
            (void)snprintf(scram->nonce + 2 * i, 3, "%02x", bytes[i]);
    }
    return CV_OK;
}

void cv_scram_release(struct cv_scram *scram)
{
    cv_buf_release(&scram->first);
    cv_buf_release(&scram->auth);
    memset(scram, 0, sizeof *scram);
}

void cv_scram_client_first(struct cv_scram *scram, struct cv_buf *out)
{
    cv_buf_clear(&scram->first);
    cv_buf_append_text(&scram->first, "n=");
    for (const char *c = scram->user; *c; c++) {
        if (*c == '=')
            cv_buf_append_text(&scram->first, "=3D");
        else if (*c == ',')
            cv_buf_append_text(&scram->first, "=2C");
        else
            cv_buf_append_byte(&scram->first, (uint8_t)*c);
    }
    cv_buf_printf(&scram->first, ",r=%s", scram->nonce);
    cv_buf_append_text(out, "n,,");
    cv_buf_append(out, scram->first.data, scram->first.length);
}

/* The value of attribute `name` in "a=…,b=…"; ptr NULL when it is not there. */
static struct cv_str attribute(struct cv_str message, char name)
{
    const char *end = message.ptr + message.length;

    for (const char *c = message.ptr; c < end;) {
        const char *comma = memchr(c, ',', (size_t)(end - c));
        const char *stop = comma ? comma : end;

        if (stop - c >= 2 && c[0] == name && c[1] == '=')
            return (struct cv_str){c + 2, (size_t)(stop - c - 2)};
        c = stop + 1;
    }
    return (struct cv_str){NULL, 0};
}

struct challenge {
    struct cv_str nonce;
    struct cv_buf salt;
    int64_t iterations;
};

static enum cv_code read_challenge(const struct cv_scram *scram, struct cv_str message,
                                   struct challenge *ret, struct cv_error *err)
{
    size_t own = strlen(scram->nonce);
    struct cv_str salt = attribute(message, 's');

    ret->nonce = attribute(message, 'r');
    if (ret->nonce.length <= own || memcmp(ret->nonce.ptr, scram->nonce, own) != 0)
        return cv_fail(err, CV_AUTH, "SCRAM: the broker's nonce does not continue the client's");
    if (!salt.ptr || !cv_base64_decode(salt, &ret->salt) || ret->salt.length == 0 ||
        ret->salt.length > CV_SCRAM_SALT_BYTES_MAX)
        return cv_fail(err, CV_AUTH, "SCRAM: the broker's salt is malformed");
    if (!cv_parse_i64(attribute(message, 'i'), &ret->iterations) || ret->iterations < 1 ||
        ret->iterations > CV_SCRAM_ITERATIONS_MAX)
        return cv_fail(err, CV_AUTH, "SCRAM: the broker's iteration count is malformed");
    return CV_OK;
}

/* Proof of the client and the signature that the server must show. */
static void sign(struct cv_scram *scram, const struct challenge *challenge,
                 uint8_t proof[CV_SHA2_BYTES_MAX])
{
    size_t bytes = cv_sha2_bytes(scram->hash);
    uint8_t salted[CV_SHA2_BYTES_MAX];
    uint8_t key[CV_SHA2_BYTES_MAX];
    uint8_t stored[CV_SHA2_BYTES_MAX];

    cv_scram_hi(scram->hash, scram->password, challenge->salt.data, challenge->salt.length,
                (unsigned)challenge->iterations, salted);
    cv_hmac(scram->hash, salted, bytes, "Server Key", 10, key);
    cv_hmac(scram->hash, key, bytes, scram->auth.data, scram->auth.length, scram->server_signature);
    cv_hmac(scram->hash, salted, bytes, "Client Key", 10, key);
    cv_sha2(scram->hash, key, bytes, stored);
    cv_hmac(scram->hash, stored, bytes, scram->auth.data, scram->auth.length, proof);
    for (size_t i = 0; i < bytes; i++)
        proof[i] ^= key[i];
}

enum cv_code cv_scram_client_final(struct cv_scram *scram, struct cv_str server_first,
                                   struct cv_buf *out, struct cv_error *err)
{
    struct challenge challenge = {.salt = CV_BUF_INIT(4096)};
    enum cv_code code = read_challenge(scram, server_first, &challenge, err);
    uint8_t proof[CV_SHA2_BYTES_MAX];
    size_t begin;

    if (code == CV_OK) {
        /* "biws" is the base64 of "n,,": no channel binding. */
        cv_buf_clear(&scram->auth);
        cv_buf_append(&scram->auth, scram->first.data, scram->first.length);
        cv_buf_printf(&scram->auth, ",%.*s,", CV_STR_ARG(server_first));
        begin = scram->auth.length;
        cv_buf_printf(&scram->auth, "c=biws,r=%.*s", CV_STR_ARG(challenge.nonce));
        sign(scram, &challenge, proof);
        cv_buf_append(out, scram->auth.data + begin, scram->auth.length - begin);
        cv_buf_append_text(out, ",p=");
        cv_base64_encode(proof, cv_sha2_bytes(scram->hash), out);
    }
    cv_buf_release(&challenge.salt);
    return code;
}

enum cv_code cv_scram_check_server_final(const struct cv_scram *scram, struct cv_str server_final,
                                         struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf signature = CV_BUF_INIT(4096);
    struct cv_str value = attribute(server_final, 'v');
    struct cv_str error = attribute(server_final, 'e');

    if (error.ptr)
        return cv_fail(err, CV_AUTH, "SCRAM: the broker says %.*s",
                       (int)CV_MIN(error.length, (size_t)200), error.ptr);
    if (!value.ptr || !cv_base64_decode(value, &signature) ||
        signature.length != cv_sha2_bytes(scram->hash) ||
        memcmp(signature.data, scram->server_signature, signature.length) != 0)
        return cv_fail(err, CV_AUTH, "SCRAM: the broker does not know the password");
    return CV_OK;
}
