/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-2 with one table: the constants of SHA-256 are the upper halves of the first 64 of SHA-512's,
 * since both are the same fractional parts of roots of primes. */
#include "kafka/sha2.h"

#include <string.h>

static const uint64_t round_constants[80] = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc,
    0x3956c25bf348b538, 0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118,
    0xd807aa98a3030242, 0x12835b0145706fbe, 0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2,
    0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235, 0xc19bf174cf692694,
    0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5,
    0x983e5152ee66dfab, 0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4,
    0xc6e00bf33da88fc2, 0xd5a79147930aa725, 0x06ca6351e003826f, 0x142929670a0e6e70,
    0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed, 0x53380d139d95b3df,
    0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30,
    0xd192e819d6ef5218, 0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8,
    0x19a4c116b8d2d0c8, 0x1e376c085141ab53, 0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8,
    0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373, 0x682e6ff3d6b2b8a3,
    0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b,
    0xca273eceea26619c, 0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178,
    0x06f067aa72176fba, 0x0a637dc5a2c898a6, 0x113f9804bef90dae, 0x1b710b35131c471b,
    0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc, 0x431d67c49c100d4c,
    0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
};

static const uint64_t initial_state[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

static uint32_t rotate32(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static uint64_t rotate64(uint64_t x, int n)
{
    return x >> n | x << (64 - n);
}

static uint64_t read_big(const uint8_t *bytes, size_t count)
{
    uint64_t value = 0;

    for (size_t i = 0; i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}

static void compress256(uint64_t state[8], const uint8_t *block)
{
    uint32_t w[64];
    uint32_t v[8];

    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)read_big(block + 4 * i, 4);
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15];
        uint32_t b = w[i - 2];

        w[i] = w[i - 16] + (rotate32(a, 7) ^ rotate32(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate32(b, 17) ^ rotate32(b, 19) ^ b >> 10);
    }
    for (int i = 0; i < 8; i++)
        v[i] = (uint32_t)state[i];
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = v[7] + (rotate32(v[4], 6) ^ rotate32(v[4], 11) ^ rotate32(v[4], 25)) +
                      ((v[4] & v[5]) ^ (~v[4] & v[6])) + (uint32_t)(round_constants[i] >> 32) +
                      w[i];
        uint32_t t2 = (rotate32(v[0], 2) ^ rotate32(v[0], 13) ^ rotate32(v[0], 22)) +
                      ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        state[i] = (uint32_t)(state[i] + v[i]);
}

static void compress512(uint64_t state[8], const uint8_t *block)
{
    uint64_t w[80];
    uint64_t v[8];

    for (int i = 0; i < 16; i++)
        w[i] = read_big(block + 8 * i, 8);
    for (int i = 16; i < 80; i++) {
        uint64_t a = w[i - 15];
        uint64_t b = w[i - 2];

        w[i] = w[i - 16] + (rotate64(a, 1) ^ rotate64(a, 8) ^ a >> 7) + w[i - 7] +
               (rotate64(b, 19) ^ rotate64(b, 61) ^ b >> 6);
    }
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 80; i++) {
        uint64_t t1 = v[7] + (rotate64(v[4], 14) ^ rotate64(v[4], 18) ^ rotate64(v[4], 41)) +
                      ((v[4] & v[5]) ^ (~v[4] & v[6])) + round_constants[i] + w[i];
        uint64_t t2 = (rotate64(v[0], 28) ^ rotate64(v[0], 34) ^ rotate64(v[0], 39)) +
                      ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

/* A message in two parts, so that HMAC needs no copy. */
static void digest(enum cv_sha2 hash, const uint8_t *first, size_t first_length,
                   const uint8_t *second, size_t second_length, uint8_t *ret)
{
    size_t block_bytes = hash == CV_SHA256 ? 64 : 128;
    size_t word = hash == CV_SHA256 ? 4 : 8;
    size_t total = first_length + second_length;
    size_t padded = (total + 1 + 2 * word + block_bytes - 1) / block_bytes * block_bytes;
    uint64_t state[8];
    uint8_t block[128];

    for (int i = 0; i < 8; i++)
        state[i] = hash == CV_SHA256 ? initial_state[i] >> 32 : initial_state[i];
    for (size_t at = 0; at < padded; at++) {
        uint8_t byte = 0;

        if (at < first_length)
            byte = first[at];
        else if (at < total)
            byte = second[at - first_length];
        else if (at == total)
            byte = 0x80;
        else if (at >= padded - 8)
            byte = (uint8_t)((uint64_t)total * 8 >> (8 * (padded - 1 - at)));
        block[at % block_bytes] = byte;
        if ((at + 1) % block_bytes == 0)
            (hash == CV_SHA256 ? compress256 : compress512)(state, block);
    }
    for (size_t i = 0; i < 8 * word; i++)
        ret[i] = (uint8_t)(state[i / word] >> (8 * (word - 1 - i % word)));
}

void cv_sha2(enum cv_sha2 hash, const void *bytes, size_t length, uint8_t ret[CV_SHA2_BYTES_MAX])
{
    digest(hash, bytes, length, NULL, 0, ret);
}

void cv_hmac(enum cv_sha2 hash, const void *key, size_t key_length, const void *bytes,
             size_t length, uint8_t ret[CV_SHA2_BYTES_MAX])
{
    size_t block_bytes = hash == CV_SHA256 ? 64 : 128;
    uint8_t pad[128] = {0};
    uint8_t inner[CV_SHA2_BYTES_MAX];

    if (key_length > block_bytes)
        digest(hash, key, key_length, NULL, 0, pad);
    else
        memcpy(pad, key, key_length);
    for (size_t i = 0; i < block_bytes; i++)
        pad[i] ^= 0x36;
    digest(hash, pad, block_bytes, bytes, length, inner);
    for (size_t i = 0; i < block_bytes; i++)
        pad[i] ^= 0x36 ^ 0x5c;
    digest(hash, pad, block_bytes, inner, cv_sha2_bytes(hash), ret);
}

void cv_scram_hi(enum cv_sha2 hash, const char *password, const void *salt, size_t salt_length,
                 unsigned iterations, uint8_t ret[CV_SHA2_BYTES_MAX])
{
    size_t bytes = cv_sha2_bytes(hash);
    uint8_t u[CV_SHA2_BYTES_MAX];
    uint8_t first[256 + 4];

    /* The caller has bounded the salt. */
    memcpy(first, salt, salt_length);
    memcpy(first + salt_length, "\0\0\0\1", 4);
    cv_hmac(hash, password, strlen(password), first, salt_length + 4, u);
    memcpy(ret, u, bytes);
    for (unsigned i = 1; i < iterations; i++) {
        cv_hmac(hash, password, strlen(password), u, bytes, u);
        for (size_t j = 0; j < bytes; j++)
            ret[j] ^= u[j];
    }
}
