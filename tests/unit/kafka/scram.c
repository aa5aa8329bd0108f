/* SPDX-License-Identifier: Apache-2.0
 *
 * SCRAM against the exchange of RFC 7677 section 3, HMAC against RFC 4231, SHA-2 against the
 * examples of FIPS 180-4. */
#include "kafka/scram.h"

#include "base/str.h"
#include "test.h"

static void hashes_the_examples_of_the_standard(void **state)
{
    uint8_t hash[CV_SHA2_BYTES_MAX];

    cv_sha2(CV_SHA256, "abc", 3, hash);
    cv_test_assert_hex(hash, 32,
                       "ba7816bf 8f01cfea 414140de 5dae2223 b00361a3 96177a9c b410ff61 f20015ad");
    cv_sha2(CV_SHA256, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, hash);
    cv_test_assert_hex(hash, 32,
                       "248d6a61 d20638b8 e5c02693 0c3e6039 a33ce459 64ff2167 f6ecedd4 19db06c1");
    cv_sha2(CV_SHA512, "abc", 3, hash);
    cv_test_assert_hex(hash, 64,
                       "ddaf35a193617aba cc417349ae204131 12e6fa4e89a97ea2 0a9eeee64b55d39a "
                       "2192992a274fc1a8 36ba3c23a3feebbd 454d4423643ce80e 2a9ac94fa54ca49f");
    cv_sha2(CV_SHA256, "", 0, hash);
    cv_test_assert_hex(hash, 32,
                       "e3b0c442 98fc1c14 9afbf4c8 996fb924 27ae41e4 649b934c a495991b 7852b855");
}

static void authenticates_the_cases_of_rfc_4231(void **state)
{
    uint8_t key[131];
    uint8_t hash[CV_SHA2_BYTES_MAX];

    cv_hmac(CV_SHA256, "Jefe", 4, "what do ya want for nothing?", 28, hash);
    cv_test_assert_hex(hash, 32,
                       "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    cv_hmac(CV_SHA512, "Jefe", 4, "what do ya want for nothing?", 28, hash);
    cv_test_assert_hex(
        hash, 64,
        "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a99"
        "4a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737");
    memset(key, 0xaa, sizeof key);
    cv_hmac(CV_SHA256, key, sizeof key, "Test Using Larger Than Block-Size Key - Hash Key First",
            54, hash);
    cv_test_assert_hex(hash, 32,
                       "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void follows_the_exchange_of_rfc_7677(void **state)
{
    struct cv_str challenge = cv_str_from(
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
    struct cv_scram scram;
    struct cv_buf out = CV_BUF_INIT(1024);
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_OK(
        cv_scram_init(&scram, "SCRAM-SHA-256", "user", "pencil", "rOprNGfwEbeRWgbNEkqO", &err),
        &err);
    cv_scram_client_first(&scram, &out);
    assert_string_equal(cv_buf_text(&out), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
    cv_buf_clear(&out);
    CV_ASSERT_OK(cv_scram_client_final(&scram, challenge, &out, &err), &err);
    assert_string_equal(cv_buf_text(&out),
                        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
                        "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
    CV_ASSERT_OK(cv_scram_check_server_final(
                     &scram, cv_str_from("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), &err),
                 &err);
    CV_ASSERT_FAILS(
        cv_scram_check_server_final(
            &scram, cv_str_from("v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), &err),
        CV_AUTH, "does not know", &err);
    CV_ASSERT_FAILS(cv_scram_check_server_final(&scram, cv_str_from("e=invalid-proof"), &err),
                    CV_AUTH, "invalid-proof", &err);
    cv_buf_release(&out);
    cv_scram_release(&scram);
}

static void refuses_malformed_challenges(void **state)
{
    static const char *const challenges[] = {
        "",
        "r=abc,s=QUJD,i=4096",      /* not more than the client's nonce */
        "r=xbcd,s=QUJD,i=4096",     /* not the client's nonce */
        "r=abcd,s=****,i=4096",     /* no base64 */
        "r=abcd,i=4096",            /* no salt */
        "r=abcd,s=QUJD",            /* no count */
        "r=abcd,s=QUJD,i=0",        /* no iteration */
        "r=abcd,s=QUJD,i=99999999", /* would burn the processor */
    };
    struct cv_scram scram;
    struct cv_buf out = CV_BUF_INIT(1024);
    struct cv_error err = CV_ERROR_INIT;

    CV_ASSERT_FAILS(cv_scram_init(&scram, "PLAIN", "u", "p", NULL, &err), CV_UNSUPPORTED, "PLAIN",
                    &err);
    CV_ASSERT_OK(cv_scram_init(&scram, "SCRAM-SHA-512", "a=b,c", "p", "abc", &err), &err);
    cv_scram_client_first(&scram, &out);
    assert_string_equal(cv_buf_text(&out), "n,,n=a=3Db=2Cc,r=abc");
    for (size_t i = 0; i < CV_ARRAY_LENGTH(challenges); i++)
        CV_ASSERT_FAILS(cv_scram_client_final(&scram, cv_str_from(challenges[i]), &out, &err),
                        CV_AUTH, "SCRAM", &err);
    cv_buf_release(&out);
    cv_scram_release(&scram);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_the_examples_of_the_standard),
        cmocka_unit_test(authenticates_the_cases_of_rfc_4231),
        cmocka_unit_test(follows_the_exchange_of_rfc_7677),
        cmocka_unit_test(refuses_malformed_challenges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
