/* SPDX-License-Identifier: Apache-2.0
 *
 * AWS Signature Version 4: the examples that Amazon publishes for S3 ("Authenticating Requests:
 * Using the Authorization Header"). With arguments the program signs what it is told, for
 * tests/real/test_sign.py: SERVICE REGION TIME_MS TOKEN METHOD URL BODY NAME VALUE … */
#include "test.h"

#include "storage/sign.h"

#include <strings.h>

#define MAY_24_2013_MS INT64_C(1369353600000)

static struct cv_error err;
static char key_id[] = "AKIAIOSFODNN7EXAMPLE";
static char secret[] = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
static char token[] = "session/token==";

static const char *header_of(const struct cv_http_header *headers, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(headers[i].name, name) == 0)
            return headers[i].value;
    return NULL;
}

struct example {
    const char *method;
    const char *url;
    struct cv_http_header headers[3];
    size_t header_count;
    const char *body;
    const char *signed_names;
    const char *signature;
};

static void check(const struct example *example, const struct cv_sign *sign)
{
    struct cv_arena arena = CV_ARENA_INIT;
    const struct cv_http_request request = {.method = example->method,
                                            .url = example->url,
                                            .headers = example->headers,
                                            .header_count = example->header_count,
                                            .body = example->body,
                                            .body_length =
                                                example->body ? strlen(example->body) : 0};
    const struct cv_http_header *headers;
    char wanted[1024];
    size_t count;

    CV_ASSERT_OK(cv_sign_request(sign, &request, &arena, &headers, &count, &err), &err);
    (void)snprintf(wanted, sizeof wanted,
                   "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/%s/%s/"
                   "aws4_request, SignedHeaders=%s, Signature=%s",
                   sign->region, sign->service, example->signed_names, example->signature);
    assert_string_equal(header_of(headers, count, "authorization"), wanted);
    assert_string_equal(header_of(headers, count, "x-amz-date"), "20130524T000000Z");
    cv_arena_release(&arena);
}

static void amazon_s_examples(void **state)
{
    static const struct example examples[] = {
        {"GET",
         "https://examplebucket.s3.amazonaws.com/test.txt",
         {{"Range", "bytes=0-9"}},
         1,
         NULL,
         "host;range;x-amz-content-sha256;x-amz-date",
         "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
        {"PUT",
         "https://examplebucket.s3.amazonaws.com:443/test%24file.text",
         {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
         2,
         "Welcome to Amazon S3.",
         "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
         "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
        {"GET",
         "https://examplebucket.s3.amazonaws.com/?lifecycle",
         {{0}},
         0,
         NULL,
         "host;x-amz-content-sha256;x-amz-date",
         "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
        {"GET",
         "https://examplebucket.s3.amazonaws.com?prefix=J&max-keys=2",
         {{0}},
         0,
         NULL,
         "host;x-amz-content-sha256;x-amz-date",
         "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
    };
    const struct cv_credentials credentials = {.access_key_id = key_id,
                                               .secret_access_key = secret};
    const struct cv_sign sign = {.credentials = &credentials,
                                 .region = "us-east-1",
                                 .service = "s3",
                                 .now_ms = MAY_24_2013_MS};

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(examples); i++)
        check(&examples[i], &sign);
}

static void encodes_as_the_rfc_says(void **state)
{
    struct cv_arena arena = CV_ARENA_INIT;

    (void)state;
    assert_string_equal(cv_uri_encode("aZ09-._~", false, &arena), "aZ09-._~");
    assert_string_equal(cv_uri_encode("a b+c%d=e/\xc3\xa9", true, &arena),
                        "a%20b%2Bc%25d%3De/%C3%A9");
    assert_string_equal(cv_uri_encode("a/b\x1f*", false, &arena), "a%2Fb%1F%2A");
    assert_string_equal(cv_uri_encode("", false, &arena), "");
    cv_arena_release(&arena);
}

static void what_is_added_to_a_request(void **state)
{
    struct cv_arena arena = CV_ARENA_INIT;
    const struct cv_credentials credentials = {
        .access_key_id = key_id, .secret_access_key = secret, .session_token = token};
    const struct cv_credentials nobody = {0};
    struct cv_sign sign = {.credentials = &credentials,
                           .region = "eu-west-1",
                           .service = "execute-api",
                           .now_ms = MAY_24_2013_MS,
                           .unsigned_payload = true};
    const struct cv_http_header own[] = {{"authorization", "Bearer hush"}, {"User-Agent", "calve"}};
    const struct cv_http_request request = {
        .method = "POST", .url = "http://me:pw@[::1]:8080/v1/x", .headers = own, .header_count = 2};
    const struct cv_http_header *headers;
    size_t count;

    (void)state;
    CV_ASSERT_OK(cv_sign_request(&sign, &request, &arena, &headers, &count, &err), &err);
    assert_string_equal(header_of(headers, count, "host"), "[::1]:8080");
    assert_string_equal(header_of(headers, count, "original-authorization"), "Bearer hush");
    assert_string_equal(header_of(headers, count, "x-amz-security-token"), token);
    assert_string_equal(header_of(headers, count, "x-amz-content-sha256"), "UNSIGNED-PAYLOAD");
    assert_non_null(strstr(header_of(headers, count, "authorization"),
                           "SignedHeaders=host;original-authorization;x-amz-content-sha256;"
                           "x-amz-date;x-amz-security-token, "));
    sign.credentials = &nobody;
    CV_ASSERT_OK(cv_sign_request(&sign, &request, &arena, &headers, &count, &err), &err);
    assert_int_equal(count, 2);
    assert_string_equal(header_of(headers, count, "authorization"), "Bearer hush");
    cv_arena_release(&arena);
}

/* Prints the headers, one a line. */
static int sign_as_told(int count, char **arguments)
{
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_http_header own[16];
    struct cv_http_request request = {.method = arguments[5],
                                      .url = arguments[6],
                                      .body = arguments[7],
                                      .body_length = strlen(arguments[7]),
                                      .headers = own};
    const struct cv_credentials credentials = {.access_key_id = key_id,
                                               .secret_access_key = secret,
                                               .session_token =
                                                   *arguments[4] ? arguments[4] : NULL};
    const struct cv_sign sign = {.credentials = &credentials,
                                 .region = arguments[2],
                                 .service = arguments[1],
                                 .now_ms = strtoll(arguments[3], NULL, 10),
                                 .encode_path_twice = strcmp(arguments[1], "s3") != 0};
    const struct cv_http_header *headers;
    size_t header_count;

    for (int i = 8; i + 1 < count && request.header_count < CV_ARRAY_LENGTH(own); i += 2)
        own[request.header_count++] = (struct cv_http_header){arguments[i], arguments[i + 1]};
    if (cv_sign_request(&sign, &request, &arena, &headers, &header_count, &err) != CV_OK)
        return 1;
    for (size_t i = 0; i < header_count; i++)
        (void)printf("%s: %s\n", headers[i].name, headers[i].value);
    cv_arena_release(&arena);
    return 0;
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amazon_s_examples),
        cmocka_unit_test(encodes_as_the_rfc_says),
        cmocka_unit_test(what_is_added_to_a_request),
    };

    if (count >= 8)
        return sign_as_told(count, arguments);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
