/* SPDX-License-Identifier: Apache-2.0
 *
 * The S3 store against a scripted server: what it sends, and what it makes of every kind of answer.
 */
#include "test.h"

#include "http_script.h"

#include "storage/s3_int.h"
#include "storage/store_int.h"

static struct cv_error err;
static struct script_server server;

static int start(void **state)
{
    (void)state;
    (void)unsetenv("AWS_REGION");
    (void)unsetenv("AWS_DEFAULT_REGION");
    script_start(&server);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    script_stop(&server);
    return 0;
}

static void rule(const char *match, int status, const char *headers, const char *body)
{
    script_rule(&server, (struct script_rule){match, status, body, headers});
}

static void rule_once(const char *match, int status, const char *headers, const char *body)
{
    script_rule(&server, (struct script_rule){match, status, body, headers, .times = 1});
}

static void rule_how(const char *match, enum script_how how, int times)
{
    script_rule(&server, (struct script_rule){match, 200, "0123456789", NULL, how, times});
}

#define ERROR(code)                                                                                \
    "<Error><Code>" code "</Code><Message>told so</Message><RequestId>R1</RequestId></Error>"

struct setting {
    const char *name, *value;
};

static struct cv_store *open_with(const struct setting *more, size_t count,
                                  const struct cv_store_grants *grants, cv_store_refresh *refresh)
{
    struct cv_properties properties = {0};
    struct cv_store_config config = {&properties, grants, refresh, NULL};
    struct cv_store *store;
    char endpoint[64];

    script_reset(&server);
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d", server.port);
    cv_properties_set(&properties, "s3.endpoint", endpoint);
    cv_properties_set(&properties, "s3.access-key-id", "AKID");
    cv_properties_set(&properties, "s3.secret-access-key", "very-secret");
    cv_properties_set(&properties, "s3.retry.num-retries", "3");
    cv_properties_set(&properties, "s3.retry.min-wait-ms", "1");
    cv_properties_set(&properties, "s3.retry.max-wait-ms", "2");
    for (size_t i = 0; i < count; i++)
        cv_properties_set(&properties, more[i].name, more[i].value);
    CV_ASSERT_OK(cv_store_open("s3://b/t", &config, &store, &err), &err);
    cv_properties_release(&properties);
    return store;
}

static struct cv_store *open_store(void)
{
    return open_with(NULL, 0, NULL, NULL);
}

static void a_whole_read_is_one_request(void **state)
{
    struct cv_store *store = open_store();
    struct cv_buf bytes = CV_BUF_INIT(0);

    (void)state;
    rule("GET /b/k%20%2B%25%3D%C3%BC/a HTTP", 200, NULL, "hello");
    CV_ASSERT_OK(cv_store_read(store, "s3a://b/k +%=\xc3\xbc/a", 5, &bytes, &err), &err);
    assert_int_equal(bytes.length, 5);
    assert_memory_equal(bytes.data, "hello", 5);
    assert_int_equal(script_total(&server), 1);
    assert_non_null(
        strstr(script_get(&server, "GET", 0)->head, "AWS4-HMAC-SHA256 Credential=AKID/"));
    cv_buf_clear(&bytes);
    CV_ASSERT_FAILS(cv_store_read(store, "s3://b/k +%=\xc3\xbc/a", 4, &bytes, &err), CV_LIMIT,
                    "4 allowed", &err);
    assert_int_equal(bytes.length, 0);
    assert_int_equal(store->counts.sent[CV_REQUEST_GET], 2);
    cv_buf_release(&bytes);
    cv_store_free(store);
}

static void a_range_tells_the_true_size(void **state)
{
    struct cv_store *store = open_store();
    struct cv_buf bytes = CV_BUF_INIT(0);

    (void)state;
    rule("*Range: bytes=3-5", 206, "Content-Range: bytes 3-5/10\r\n", "345");
    rule("*Range: bytes=8-11", 206, "Content-Range: bytes 8-9/10\r\n", "89");
    rule("*Range: bytes=4-\r\n", 206, "Content-Range: bytes 4-9/10\r\n", "456789");
    rule("*Range: bytes=12-13", 416, "Content-Range: bytes */10\r\n", ERROR("InvalidRange"));
    rule("*Range: bytes=10-\r\n", 416, "Content-Range: bytes */10\r\n", ERROR("InvalidRange"));
    rule("*Range: bytes=1-2", 206, "Content-Range: bytes 1-2/10\r\n", "1");
    rule("*Range: bytes=0-1", 206, "Content-Range: bytes 5-6/10\r\n", "56");
    rule("*Range: bytes=2-4", 200, NULL, "0123456789");
    CV_ASSERT_FAILS(cv_store_read_range(store, "s3://b/k", 0, 2, &bytes, &err), CV_IO,
                    "from offset 5 of 10, asked was for 0", &err);
    CV_ASSERT_OK(cv_store_read_range(store, "s3://b/k", 3, 3, &bytes, &err), &err);
    assert_memory_equal(bytes.data, "345", 3);
    CV_ASSERT_OK(cv_store_read_range(store, "s3://b/k", 4, SIZE_MAX, &bytes, &err), &err);
    assert_int_equal(bytes.length, 9);
    CV_ASSERT_FAILS(cv_store_read_range(store, "s3://b/k", 8, 4, &bytes, &err), CV_FORMAT,
                    "ends at byte 10", &err);
    CV_ASSERT_FAILS(cv_store_read_range(store, "s3://b/k", 12, 2, &bytes, &err), CV_FORMAT,
                    "has 10 bytes", &err);
    CV_ASSERT_OK(cv_store_read_range(store, "s3://b/k", 10, SIZE_MAX, &bytes, &err), &err);
    CV_ASSERT_FAILS(cv_store_read_range(store, "s3://b/k", 1, 2, &bytes, &err), CV_IO,
                    "1 bytes came", &err);
    cv_buf_clear(&bytes);
    CV_ASSERT_OK(cv_store_read_range(store, "s3://b/k", 2, 3, &bytes, &err), &err);
    assert_int_equal(bytes.length, 3); /* a server without ranges */
    assert_memory_equal(bytes.data, "234", 3);
    cv_buf_release(&bytes);
    cv_store_free(store);
}

static enum cv_code read_key(struct cv_store *store, const char *key)
{
    struct cv_buf bytes = CV_BUF_INIT(0);
    char location[256];
    enum cv_code code;

    err = (struct cv_error)CV_ERROR_INIT;
    (void)snprintf(location, sizeof location, "s3://b/%s", key);
    code = cv_store_read(store, location, 1000, &bytes, &err);
    cv_buf_release(&bytes);
    return code;
}

static void errors_have_codes_and_say_what_to_do(void **state)
{
    struct cv_store *store = open_store();

    (void)state;
    rule("GET /b/nokey", 404, NULL, ERROR("NoSuchKey"));
    rule("GET /b/nobucket", 404, NULL, ERROR("NoSuchBucket"));
    rule("GET /b/denied", 403, NULL, ERROR("AccessDenied"));
    rule("GET /b/signature", 403, NULL, ERROR("SignatureDoesNotMatch"));
    rule("GET /b/html", 403, NULL, "<html>a proxy</html>");
    CV_ASSERT_FAILS(read_key(store, "nokey"), CV_NOT_FOUND,
                    "cannot read s3://b/nokey: 404 NoSuchKey: told so (request R1)", &err);
    CV_ASSERT_FAILS(read_key(store, "nobucket"), CV_CONFIG, "NoSuchBucket", &err);
    assert_non_null(strstr(err.hint, "create the bucket b"));
    CV_ASSERT_FAILS(read_key(store, "denied"), CV_AUTH, "AccessDenied", &err);
    assert_non_null(strstr(err.hint, "may read there"));
    CV_ASSERT_FAILS(read_key(store, "signature"), CV_AUTH, "SignatureDoesNotMatch", &err);
    assert_non_null(strstr(err.hint, "s3.secret-access-key"));
    assert_null(strstr(err.message, "very-secret"));
    CV_ASSERT_FAILS(read_key(store, "html"), CV_AUTH, "403", &err);
    rule("GET /b/user", 404, NULL, ERROR("XAdminUserNotFound"));
    rule("GET /b/proxy", 404, NULL, "<html>no such site</html>");
    CV_ASSERT_FAILS(read_key(store, "user"), CV_AUTH, "XAdminUserNotFound", &err);
    CV_ASSERT_FAILS(read_key(store, "proxy"), CV_IO, "404", &err);
    rule("DELETE /b/proxy", 404, NULL, "<html>no such site</html>");
    CV_ASSERT_FAILS(cv_store_remove(store, "s3://b/proxy", &err), CV_IO, "404", &err);
    assert_int_equal(script_total(&server), 8); /* none was sent again */
    cv_store_free(store);
}

static void what_passes_is_waited_out(void **state)
{
    static const struct {
        int status;
        const char *body;
    } passing[] = {{503, ERROR("SlowDown")},
                   {500, ERROR("InternalError")},
                   {502, "bad"},
                   {504, ""},
                   {429, ""},
                   {400, ERROR("RequestTimeout")},
                   {409, ERROR("OperationAborted")}};
    struct cv_store *store = open_store();

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(passing); i++) {
        script_reset(&server);
        rule_once("GET /b/k", passing[i].status, NULL, passing[i].body);
        rule("GET /b/k", 200, NULL, "x");
        CV_ASSERT_OK(read_key(store, "k"), &err);
        assert_int_equal(script_total(&server), 2);
    }
    for (int i = 0; i < 2; i++) {
        script_reset(&server);
        rule_how("GET /b/k", i ? SCRIPT_CUT : SCRIPT_DROP, 2);
        rule("GET /b/k", 200, NULL, "x");
        CV_ASSERT_OK(read_key(store, "k"), &err);
    }
    cv_store_free(store);
}

static void waiting_has_a_limit(void **state)
{
    struct cv_store *store = open_store();

    (void)state;
    rule("GET /b/k", 503, NULL, ERROR("SlowDown"));
    rule_how("GET /b/drop", SCRIPT_DROP, 0);
    CV_ASSERT_FAILS(read_key(store, "k"), CV_IO, "503 SlowDown", &err);
    assert_true(err.flags & CV_ERROR_RETRIABLE);
    assert_non_null(strstr(err.hint, "4 attempts"));
    assert_int_equal(script_total(&server), 4);
    assert_int_equal(store->counts.sent[CV_REQUEST_RETRY], 3);
    CV_ASSERT_FAILS(read_key(store, "drop"), CV_IO, "cannot read s3://b/drop", &err);
    assert_true(err.flags & CV_ERROR_RETRIABLE);
    cv_store_free(store);
}

static void a_held_answer_times_out(void **state)
{
    static const struct setting quick[] = {{"s3.request-timeout", "0.1"},
                                           {"s3.retry.num-retries", "1"}};
    struct cv_store *store = open_with(quick, 2, NULL, NULL);

    (void)state;
    rule_how("GET /b/k", SCRIPT_HOLD, 1);
    rule("GET /b/k", 200, NULL, "x");
    CV_ASSERT_OK(read_key(store, "k"), &err);
    cv_store_free(store);
}

static int refreshed;

static enum cv_code vend_anew(void *context, struct cv_store_grants *ret, struct cv_error *why)
{
    struct cv_store_grant *grant = cv_alloc(sizeof *grant);
    char key[32];

    (void)context;
    (void)why;
    (void)snprintf(key, sizeof key, "FRESH%d", ++refreshed);
    grant->prefix = cv_strdup("s3://b/t");
    cv_properties_set(&grant->properties, "s3.access-key-id", key);
    cv_properties_set(&grant->properties, "s3.secret-access-key", "other-secret");
    cv_properties_set(&grant->properties, "s3.session-token", "token");
    *ret = (struct cv_store_grants){grant, 1};
    return CV_OK;
}

static void ended_credentials_are_renewed_once(void **state)
{
    struct cv_store_grant vended[2] = {{.prefix = (char *)"s3://b"},
                                       {.prefix = (char *)"s3://b/t"}};
    struct cv_store_grants grants = {vended, 2};
    struct cv_store *store;
    int64_t size;

    (void)state;
    refreshed = 0;
    for (int i = 0; i < 2; i++) {
        cv_properties_set(&vended[i].properties, "s3.access-key-id", i ? "INNER" : "OUTER");
        cv_properties_set(&vended[i].properties, "s3.secret-access-key", "s");
    }
    store = open_with(NULL, 0, &grants, vend_anew);
    rule("*Credential=INNER", 400, NULL, ERROR("ExpiredToken"));
    rule("*Credential=FRESH1/", 200, NULL, "x");
    rule("*Credential=OUTER", 200, NULL, "x");
    CV_ASSERT_OK(read_key(store, "other"), &err);
    assert_int_equal(script_count(&server, "*Credential=OUTER"), 1);
    CV_ASSERT_OK(read_key(store, "t/k"), &err);
    assert_int_equal(refreshed, 1);
    assert_non_null(strstr(script_get(&server, "*FRESH1", 0)->head, "token"));
    CV_ASSERT_OK(read_key(store, "t/k"), &err);
    assert_int_equal(script_total(&server), 4);
    script_reset(&server);
    rule("*FRESH1", 403, NULL, ""); /* HEAD is answered without a word */
    rule("*FRESH2", 200, "Content-Length: 7\r\n", NULL);
    CV_ASSERT_OK(cv_store_size(store, "s3://b/t/k", &size, &err), &err);
    assert_int_equal(size, 7);
    for (int i = 0; i < 2; i++)
        cv_properties_release(&vended[i].properties);
    cv_store_free(store);
}

/* Endpoint, region and style come with the keys; a machine without credentials of its own can use
 * them, and a session token of its own is not mixed with them. */
static void a_grant_is_all_that_is_needed(void **state)
{
    struct cv_store_grant vended = {.prefix = (char *)"s3://b/t/"};
    struct cv_store_grants grants = {&vended, 1};
    struct cv_properties own = {0};
    struct cv_store_config config = {.properties = &own, .grants = &grants};
    struct cv_store *store;
    char endpoint[64];

    (void)state;
    (void)setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    (void)setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere", 1);
    (void)setenv("AWS_CONFIG_FILE", "/nowhere", 1);
    script_reset(&server);
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d", server.port);
    cv_properties_set(&vended.properties, "s3.endpoint", endpoint);
    cv_properties_set(&vended.properties, "client.region", "eu-north-1");
    cv_properties_set(&vended.properties, "s3.access-key-id", "VENDED");
    cv_properties_set(&vended.properties, "s3.secret-access-key", "s");
    rule("*Credential=VENDED/", 200, NULL, "x");
    for (int i = 0; i < 2; i++) {
        CV_ASSERT_OK(cv_store_open("s3://b/t", &config, &store, &err), &err);
        CV_ASSERT_OK(read_key(store, "t/k"), &err);
        assert_non_null(strstr(script_get(&server, "GET", i)->head, "/eu-north-1/s3/"));
        assert_null(strstr(script_get(&server, "GET", i)->head, "other's"));
        assert_ptr_equal(s3_source_for((struct s3_store *)store, "s3://b/t"),
                         ((struct s3_store *)store)->sources); /* to list the folder, too */
        cv_store_free(store);
        cv_properties_set(&own, "s3.access-key-id", "OWN");
        cv_properties_set(&own, "s3.secret-access-key", "s");
        cv_properties_set(&own, "s3.session-token", "other's");
    }
    (void)unsetenv("AWS_EC2_METADATA_DISABLED");
    (void)unsetenv("AWS_SHARED_CREDENTIALS_FILE");
    (void)unsetenv("AWS_CONFIG_FILE");
    cv_properties_release(&vended.properties);
    cv_properties_release(&own);
}

static enum cv_code vend_nothing(void *context, struct cv_store_grants *ret, struct cv_error *why)
{
    (void)context;
    (void)ret;
    return cv_fail(why, CV_CATALOG, "the catalog is away");
}

static void why_credentials_could_not_be_renewed(void **state)
{
    struct cv_store *store = open_with(NULL, 0, NULL, vend_nothing);

    (void)state;
    rule("GET", 400, NULL, ERROR("ExpiredToken"));
    CV_ASSERT_FAILS(read_key(store, "k"), CV_AUTH, "ExpiredToken", &err);
    assert_non_null(strstr(err.hint, "the catalog is away"));
    assert_int_equal(script_total(&server), 1);
    cv_store_free(store);
}

static void static_credentials_are_not_renewed(void **state)
{
    struct cv_store *store = open_store();

    (void)state;
    rule("GET", 400, NULL, ERROR("ExpiredToken"));
    CV_ASSERT_FAILS(read_key(store, "k"), CV_AUTH, "ExpiredToken", &err);
    assert_int_equal(script_total(&server), 1);
    cv_store_free(store);
}

static void a_wrong_clock_is_put_right(void **state)
{
    struct cv_store *store = open_store();

    (void)state;
    rule_once("GET", 403, "Date: Tue, 15 Nov 2033 12:45:26 GMT\r\n", ERROR("RequestTimeTooSkewed"));
    rule("*x-amz-date: 20331115T1245", 200, NULL, "x");
    CV_ASSERT_OK(read_key(store, "k"), &err);
    CV_ASSERT_OK(read_key(store, "k"), &err);
    assert_int_equal(script_total(&server), 3);
    rule("GET", 403, "Date: Tue, 15 Nov 2033 12:45:26 GMT\r\n", ERROR("RequestTimeTooSkewed"));
    cv_store_free(store);
    store = open_store();
    rule("GET", 403, "Date: Tue, 15 Nov 2033 12:45:26 GMT\r\n", ERROR("RequestTimeTooSkewed"));
    CV_ASSERT_FAILS(read_key(store, "k"), CV_AUTH, "RequestTimeTooSkewed", &err);
    assert_non_null(strstr(err.hint, "clock of this machine"));
    assert_int_equal(script_total(&server), 2);
    cv_store_free(store);
}

static void the_region_of_a_bucket_is_learnt(void **state)
{
    struct cv_store *store = open_store();

    (void)state;
    rule("*/eu-west-3/s3/aws4_request", 200, NULL, "x");
    rule("GET", 301, "x-amz-bucket-region: eu-west-3\r\n", ERROR("PermanentRedirect"));
    CV_ASSERT_OK(read_key(store, "k"), &err);
    CV_ASSERT_OK(read_key(store, "k"), &err);
    assert_int_equal(script_total(&server), 3);
    cv_store_free(store);
    store = open_store();
    rule("*/ap-south-1/s3/aws4_request", 200, NULL, "x");
    rule("GET", 400, NULL,
         "<Error><Code>AuthorizationHeaderMalformed</Code><Region>ap-south-1</Region></Error>");
    CV_ASSERT_OK(read_key(store, "k"), &err);
    cv_store_free(store);
    store = open_store();
    rule("GET", 301, "x-amz-bucket-region: us-east-1\r\n", ERROR("PermanentRedirect"));
    CV_ASSERT_FAILS(read_key(store, "k"), CV_IO, "301 PermanentRedirect", &err);
    assert_int_equal(script_total(&server), 1);
    cv_store_free(store);
}

#define READERS 8

struct reader {
    struct cv_store *store;
    pthread_barrier_t *begin;
    enum cv_code code;
};

static void *read_at_once(void *context)
{
    struct reader *reader = context;
    struct cv_buf bytes = CV_BUF_INIT(0);

    (void)pthread_barrier_wait(reader->begin);
    reader->code = cv_store_read(reader->store, "s3://b/t/k", 10, &bytes, NULL);
    cv_buf_release(&bytes);
    return NULL;
}

/* Many are refused at once, the first one learns why: the others are helped by that, too. */
static void what_one_request_learns_helps_those_on_the_way(void **state)
{
    static const struct {
        const char *well;
        int status;
        const char *headers, *body;
    } refusals[] = {
        {"*/eu-west-3/s3/aws4_request", 301, "x-amz-bucket-region: eu-west-3\r\n",
         ERROR("PermanentRedirect")},
        {"*x-amz-date: 20331115T1245", 403, "Date: Tue, 15 Nov 2033 12:45:26 GMT\r\n",
         ERROR("RequestTimeTooSkewed")},
        {"*Credential=FRESH", 403, NULL, ERROR("AccessDenied")},
    };

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(refusals); i++) {
        struct cv_store *store = open_with(NULL, 0, NULL, vend_anew);
        struct reader readers[READERS];
        pthread_t threads[READERS];
        pthread_barrier_t begin;

        rule(refusals[i].well, 200, NULL, "x");
        rule("GET", refusals[i].status, refusals[i].headers, refusals[i].body);
        assert_int_equal(pthread_barrier_init(&begin, NULL, READERS), 0);
        for (int j = 0; j < READERS; j++) {
            readers[j] = (struct reader){store, &begin, CV_INTERNAL};
            assert_int_equal(pthread_create(&threads[j], NULL, read_at_once, &readers[j]), 0);
        }
        for (int j = 0; j < READERS; j++)
            (void)pthread_join(threads[j], NULL);
        for (int j = 0; j < READERS; j++)
            assert_int_equal(readers[j].code, CV_OK);
        (void)pthread_barrier_destroy(&begin);
        cv_store_free(store);
    }
}

static void put_new_is_probed_and_kept(void **state)
{
    struct cv_store *store = open_store();

    (void)state;
    rule_once("PUT /b/o/.calve-probe-", 200, NULL, NULL);
    rule("PUT /b/o/.calve-probe-", 412, NULL, ERROR("PreconditionFailed"));
    rule("DELETE /b/o/.calve-probe-", 204, NULL, NULL);
    rule_once("PUT /b/o/1", 200, NULL, NULL);
    rule("PUT /b/o/1", 412, NULL, ERROR("PreconditionFailed"));
    CV_ASSERT_OK(cv_store_put(store, "s3://b/o/1", "one", 3, CV_PUT_NEW, &err), &err);
    assert_int_equal(script_total(&server), 4);
    assert_non_null(strstr(script_get(&server, "PUT /b/o/1", 0)->head, "\r\nIf-None-Match: *\r\n"));
    assert_memory_equal(script_get(&server, "PUT /b/o/1", 0)->body.data, "one", 3);
    CV_ASSERT_FAILS(cv_store_put(store, "s3://b/o/1", "one", 3, CV_PUT_NEW, &err), CV_EXISTS,
                    "s3://b/o/1 exists already", &err);
    assert_int_equal(script_total(&server), 5);
    cv_store_free(store);
}

/* The server did it and the answer was lost; or it did not and somebody else was first. */
static void a_lost_answer_to_put_new_is_settled(void **state)
{
    struct cv_store *store = open_store();

    (void)state;
    s3_bucket_set_conditional((struct s3_store *)store, "b", 1);
    for (int i = 0; i < 4; i++) {
        script_reset(&server);
        if (i >= 2)
            rule_once("PUT /b/o/1", i == 2 ? 500 : 503, NULL, "upstream connect error");
        else
            rule_how("PUT /b/o/1", SCRIPT_DROP, 1);
        rule("PUT /b/o/1", 412, NULL, ERROR("PreconditionFailed"));
        rule("GET /b/o/1", 200, NULL, i == 1 ? "two" : "one");
        if (i == 1)
            CV_ASSERT_FAILS(cv_store_put(store, "s3://b/o/1", "one", 3, CV_PUT_NEW, &err),
                            CV_EXISTS, "exists already", &err);
        else
            CV_ASSERT_OK(cv_store_put(store, "s3://b/o/1", "one", 3, CV_PUT_NEW, &err), &err);
    }
    script_reset(&server);
    rule_once("PUT /b/o/1", 409, NULL, ERROR("ConditionalRequestConflict"));
    rule("PUT /b/o/1", 200, NULL, NULL);
    CV_ASSERT_OK(cv_store_put(store, "s3://b/o/1", "one", 3, CV_PUT_NEW, &err), &err);
    cv_store_free(store);
}

static void a_store_that_ignores_the_condition_is_refused(void **state)
{
    struct cv_store *store = open_store();

    (void)state;
    rule("PUT", 200, NULL, NULL);
    rule("DELETE", 204, NULL, NULL);
    for (int i = 0; i < 2; i++)
        CV_ASSERT_FAILS(cv_store_put(store, "s3://b/o/1", "one", 3, CV_PUT_NEW, &err),
                        CV_UNSUPPORTED, "If-None-Match", &err);
    assert_int_equal(script_count(&server, "PUT /b/o/1"), 0);
    assert_int_equal(script_total(&server), 3);
    CV_ASSERT_OK(cv_store_put(store, "s3://b/o/1", "one", 3, CV_PUT_REPLACE, &err), &err);
    cv_store_free(store);
}

struct listing {
    char text[1000];
};

static enum cv_code take_file(void *context, const struct cv_listed_file *file,
                              struct cv_error *why)
{
    struct listing *listing = context;
    size_t length = strlen(listing->text);

    (void)why;
    (void)snprintf(listing->text + length, sizeof listing->text - length, "%s=%lld ",
                   file->location, (long long)file->size);
    return CV_OK;
}

/* Every page is this one. */
static void assert_no_listing(struct cv_store *store, const char *page, const char *why)
{
    struct listing listing = {0};

    script_reset(&server);
    rule("GET", 200, NULL, page);
    CV_ASSERT_FAILS(cv_store_list(store, "s3://b/t", take_file, &listing, &err), CV_FORMAT, why,
                    &err);
}

static void listing_goes_on_and_decodes(void **state)
{
    struct cv_store *store = open_store();
    struct listing listing = {""};

    (void)state;
    rule(
        "GET /b?continuation-token=a%2Bb%3D&encoding-type=url&list-type=2&max-keys=1000&prefix=t"
        "%20x%2F HTTP",
        200, NULL,
        "<ListBucketResult><Contents><Key>t x/z</Key><Size>2</Size></Contents></ListBucketResult>");
    rule("GET /b?encoding-type=url&list-type=2&max-keys=1000&prefix=t%20x%2F HTTP", 200, NULL,
         "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
         "<NextContinuationToken>a+b=</NextContinuationToken>"
         "<Contents><Key>t+x/</Key><Size>0</Size></Contents>"
         "<Contents><Key>t%20x/%2B%25%3D%C3%BC</Key><Size>1</Size></Contents></ListBucketResult>");
    CV_ASSERT_OK(cv_store_list(store, "s3n://b/t x", take_file, &listing, &err), &err);
    assert_string_equal(listing.text, "s3n://b/t x/+%=\xc3\xbc=1 s3n://b/t x/z=2 ");
    assert_no_listing(store, "not XML", "cannot list s3://b/t/: answer is not XML");
    script_reset(&server);
    rule_once("GET", 200, NULL, ERROR("SlowDown"));
    rule("GET", 200, NULL, ERROR("AccessDenied"));
    CV_ASSERT_FAILS(cv_store_list(store, "s3://b/t", take_file, &listing, &err), CV_IO,
                    "200 AccessDenied", &err);
    assert_int_equal(script_total(&server), 2);
    assert_no_listing(store, "<html><body>Welcome</body></html>", "neither a list"); /* not empty */
    assert_no_listing(store,
                      "<ListBucketResult><Contents><Key>tt/z</Key><Size>2</Size></Contents>"
                      "</ListBucketResult>",
                      "tt/z, which is not below");
    assert_no_listing(store,
                      "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a"
                      "</NextContinuationToken></ListBucketResult>",
                      "names itself");
    assert_int_equal(script_total(&server), 2);
    cv_store_free(store);
}

#define PAGE(keys, token)                                                                          \
    "<ListBucketResult>" keys "<IsTruncated>true</IsTruncated><NextContinuationToken>" token       \
    "</NextContinuationToken></ListBucketResult>"
/* Credentials for all below a folder serve to list the folder. */
static void a_folder_is_listed_by_what_is_vended_below(void **state)
{
    struct cv_store_grant vended = {.prefix = (char *)"s3://b/t/"};
    struct cv_store_grants grants = {&vended, 1};
    struct listing listing = {""};
    struct cv_store *store;

    (void)state;
    cv_properties_set(&vended.properties, "s3.access-key-id", "VENDED");
    cv_properties_set(&vended.properties, "s3.secret-access-key", "s");
    store = open_with(NULL, 0, &grants, NULL);
    rule("*Credential=VENDED/", 200, NULL, "<ListBucketResult></ListBucketResult>");
    CV_ASSERT_OK(cv_store_list(store, "s3://b/t", take_file, &listing, &err), &err);
    cv_store_free(store);
    cv_properties_release(&vended.properties);
}

#define ITEM(key) "<Contents><Key>" key "</Key><Size>1</Size></Contents>"

/* A service that goes round ends the listing; an empty page that goes on does not. */
static void a_listing_that_goes_round_is_refused(void **state)
{
    struct cv_store *store = open_store();
    struct listing listing = {""};

    (void)state;
    rule("*continuation-token=c&", 200, NULL, PAGE(ITEM("t/b"), "b"));
    rule("*continuation-token=b&", 200, NULL, PAGE("", "c"));
    rule("GET /b?encoding-type", 200, NULL, PAGE(ITEM("t/a"), "b"));
    CV_ASSERT_FAILS(cv_store_list(store, "s3://b/t", take_file, &listing, &err), CV_FORMAT,
                    "cannot list s3://b/t/: the service gives a page again", &err);
    assert_in_range(script_total(&server), 4, 8);
    script_reset(&server);
    rule("*continuation-token=a&", 200, NULL, PAGE("", "b"));
    rule("GET", 200, NULL, PAGE("", "a"));
    CV_ASSERT_FAILS(cv_store_list(store, "s3://b/t", take_file, &listing, &err), CV_LIMIT,
                    "cannot list s3://b/t/: 1001 pages one after the other are empty", &err);
    cv_store_free(store);
}

static enum cv_code take_upload(void *context, const struct cv_open_upload *upload,
                                struct cv_error *why)
{
    return cv_store_abort_upload(context, upload, why);
}

static void open_uploads_are_listed_and_aborted(void **state)
{
    struct cv_store *store = open_store();

    (void)state;
    rule("GET /b?encoding-type=url&key-marker=t%2Fa&max-uploads=1000&prefix=t%2F&upload-id-marker="
         "U1&uploads= HTTP",
         200, NULL,
         "<ListMultipartUploadsResult><Upload><Key>t/b</Key><UploadId>U2</UploadId></Upload></"
         "ListMultipartUploadsResult>");
    rule("GET /b?encoding-type=url&max-uploads=1000&prefix=t%2F&uploads= HTTP", 200, NULL,
         "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>t/a</"
         "NextKeyMarker>"
         "<NextUploadIdMarker>U1</NextUploadIdMarker>"
         "<Upload><Key>t/a</Key><UploadId>U1</UploadId></Upload></ListMultipartUploadsResult>");
    rule("DELETE /b/t/a?uploadId=U1", 204, NULL, NULL);
    rule("DELETE /b/t/b?uploadId=U2", 404, NULL, ERROR("NoSuchUpload"));
    CV_ASSERT_OK(cv_store_uploads(store, "s3://b/t", take_upload, store, &err), &err);
    assert_int_equal(script_total(&server), 4);
    cv_store_free(store);
}

struct refusals {
    size_t count, index;
    char message[300];
};

static void note_refusal(void *context, size_t index, const struct cv_error *why)
{
    struct refusals *refusals = context;

    refusals->count++;
    refusals->index = index;
    (void)snprintf(refusals->message, sizeof refusals->message, "%s", why->message);
}

static void many_are_deleted_in_batches(void **state)
{
    static const struct setting batch[] = {{"s3.delete.batch-size", "3"}};
    static const char *const locations[] = {"s3://b/1", "s3://b/a<&>", "s3://b/2",
                                            "s3://b/3", "s3://b/4",    "s3://c/5"};
    struct cv_store *store = open_with(batch, 1, NULL, NULL);
    struct refusals refusals = {0};

    (void)state;
    rule_once("POST /b?delete= HTTP", 200, NULL,
              "<DeleteResult><Error><Key>2</Key><Code>AccessDenied</Code><Message>no</Message>"
              "</Error><Error><Key>a&lt;&amp;&gt;</Key><Code>InternalError</Code></Error>"
              "</DeleteResult>");
    rule("DELETE /b/a%3C%26%3E HTTP", 204, NULL, NULL);
    rule("POST /b?delete= HTTP", 200, NULL, "<DeleteResult/>");
    rule("DELETE /c/5 HTTP", 404, NULL, ERROR("NoSuchKey"));
    CV_ASSERT_OK(cv_store_remove_many(store, locations, 6, note_refusal, &refusals, &err), &err);
    assert_int_equal(refusals.count, 1);
    assert_int_equal(refusals.index, 2);
    assert_string_equal(refusals.message, "cannot delete s3://b/2: AccessDenied: no");
    assert_non_null(memmem(script_get(&server, "POST", 0)->body.data,
                           script_get(&server, "POST", 0)->body.length, "<Key>a&lt;&amp;&gt;</Key>",
                           25));
    assert_non_null(strstr(script_get(&server, "POST", 0)->head, "\r\nContent-MD5: "));
    assert_int_equal(script_count(&server, "POST"), 3);
    script_reset(&server);
    rule_once("POST", 200, NULL, "<html/>");
    rule("POST", 200, NULL,
         "<DeleteResult><Error><Key>else</Key><Code>AccessDenied</Code></Error></DeleteResult>");
    CV_ASSERT_FAILS(cv_store_remove_many(store, locations, 3, NULL, NULL, &err), CV_FORMAT,
                    "no DeleteResult", &err);
    CV_ASSERT_FAILS(cv_store_remove_many(store, locations, 3, NULL, NULL, &err), CV_FORMAT,
                    "not asked for", &err);
    cv_store_free(store);
}

static void a_store_without_bulk_delete(void **state)
{
    static const char *const locations[] = {"s3://b/1", "s3://b/2", "nowhere"};
    struct cv_store *store = open_store();
    struct refusals refusals = {0};

    (void)state;
    rule("POST", 501, NULL, ERROR("NotImplemented"));
    rule("DELETE /b/1", 204, NULL, NULL);
    rule("DELETE /b/2", 403, NULL, ERROR("AccessDenied"));
    CV_ASSERT_OK(cv_store_remove_many(store, locations, 3, note_refusal, &refusals, &err), &err);
    assert_int_equal(refusals.count, 2);
    assert_int_equal(script_count(&server, "DELETE"), 2);
    CV_ASSERT_FAILS(cv_store_remove(store, "s3://b/2", &err), CV_AUTH, "cannot delete s3://b/2",
                    &err);
    cv_store_free(store);
}

static void md5_is_compared_where_asked(void **state)
{
    static const struct setting checked[] = {{"s3.checksum-enabled", "true"}};
    struct cv_store *store = open_with(checked, 1, NULL, NULL);

    (void)state;
    /* md5("hello") */
    rule("GET /b/good", 200, "ETag: \"5d41402abc4b2a76b9719d911017c592\"\r\n", "hello");
    rule("GET /b/bad", 200, "ETag: \"5d41402abc4b2a76b9719d911017c593\"\r\n", "hello");
    rule("GET /b/parts", 200, "ETag: \"5d41402abc4b2a76b9719d911017c593-2\"\r\n", "hello");
    rule("PUT /b/bad", 200, "ETag: \"5d41402abc4b2a76b9719d911017c593\"\r\n", NULL);
    CV_ASSERT_OK(read_key(store, "good"), &err);
    CV_ASSERT_OK(read_key(store, "parts"), &err);
    CV_ASSERT_FAILS(read_key(store, "bad"), CV_IO, "MD5", &err);
    CV_ASSERT_FAILS(cv_store_put(store, "s3://b/bad", "hello", 5, CV_PUT_REPLACE, &err), CV_IO,
                    "MD5", &err);
    assert_non_null(strstr(script_get(&server, "PUT", 0)->head,
                           "\r\nContent-MD5: XUFAKrxLKna5cZ2REBfFkg==\r\n"));
    cv_store_free(store);
}

static void headers_of_new_files(void **state)
{
    static const struct setting more[] = {{"s3.sse.type", "kms"},
                                          {"s3.sse.key", "key-1"},
                                          {"s3.acl", "private"},
                                          {"s3.write.storage-class", "STANDARD_IA"},
                                          {"s3.write.tags.team", "a b"}};
    struct cv_store *store = open_with(more, CV_ARRAY_LENGTH(more), NULL, NULL);
    const char *head;

    (void)state;
    rule("PUT", 200, NULL, NULL);
    CV_ASSERT_OK(cv_store_write(store, "s3://b/k", "x", 1, &err), &err);
    head = script_get(&server, "PUT", 0)->head;
    assert_non_null(strstr(head, "\r\nx-amz-server-side-encryption: aws:kms\r\n"));
    assert_non_null(strstr(head, "\r\nx-amz-server-side-encryption-aws-kms-key-id: key-1\r\n"));
    assert_non_null(strstr(head, "\r\nx-amz-acl: private\r\n"));
    assert_non_null(strstr(head, "\r\nx-amz-storage-class: STANDARD_IA\r\n"));
    assert_non_null(strstr(head, "\r\nx-amz-tagging: team=a%20b\r\n"));
    assert_non_null(strstr(head, "\r\nContent-Length: 1\r\n"));
    cv_store_free(store);
}

static void where_requests_go(void **state)
{
    static const struct {
        const char *endpoint, *path_style, *region, *location, *url;
    } cases[] = {
        {NULL, NULL, "eu-west-1", "s3://data/a b", "https://data.s3.eu-west-1.amazonaws.com/a%20b"},
        {NULL, NULL, "cn-north-1", "s3://data/k", "https://data.s3.cn-north-1.amazonaws.com.cn/k"},
        {NULL, NULL, "us-east-1", "s3://da.ta/k", "https://s3.us-east-1.amazonaws.com/da.ta/k"},
        {NULL, "true", "us-east-1", "s3://data/k", "https://s3.us-east-1.amazonaws.com/data/k"},
        {"http://h:9000", NULL, NULL, "s3://data//a/./b", "http://h:9000/data//a/./b"},
        {"http://h:9000/", "false", NULL, "s3a://data/k", "http://data.h:9000/k"},
        {"https://h/s3/", NULL, NULL, "s3://data/k", "https://h/s3/data/k"},
        {"https://s3.eu-west-1.amazonaws.com", NULL, NULL, "s3://data/k",
         "https://data.s3.eu-west-1.amazonaws.com/k"},
    };

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++) {
        struct cv_properties properties = {0};
        struct cv_store_config config = {.properties = &properties};
        struct cv_arena arena = CV_ARENA_INIT;
        struct s3_location at;
        struct s3_request request = {.bucket = at.bucket, .key = at.key};
        struct cv_store *store;

        cv_properties_set(&properties, "s3.anonymous", "true");
        if (cases[i].endpoint)
            cv_properties_set(&properties, "s3.endpoint", cases[i].endpoint);
        if (cases[i].path_style)
            cv_properties_set(&properties, "s3.path-style-access", cases[i].path_style);
        if (cases[i].region)
            cv_properties_set(&properties, "client.region", cases[i].region);
        CV_ASSERT_OK(cv_store_open(cases[i].location, &config, &store, &err), &err);
        CV_ASSERT_OK(s3_location_split(cases[i].location, &at, &err), &err);
        assert_string_equal(
            s3_url((struct s3_store *)store, &request, ((struct s3_store *)store)->region, &arena),
            cases[i].url);
        cv_arena_release(&arena);
        cv_properties_release(&properties);
        cv_store_free(store);
    }
}

static void settings_that_are_refused(void **state)
{
    static const struct {
        const char *name, *value, *message;
        enum cv_code code;
    } cases[] = {
        {"s3.remote-signing-enabled", "true", "the catalog signs", CV_UNSUPPORTED},
        {"s3.signer", "S3V4RestSigner", "the catalog signs", CV_UNSUPPORTED},
        {"s3.access-points.b", "arn:x", "access points", CV_CONFIG},
        {"s3.sse.type", "custom", "none of", CV_CONFIG},
        {"s3.multipart.part-size-bytes", "5242879", "outside", CV_CONFIG},
        {"s3.multipart.threshold", "0.5", "factor", CV_CONFIG},
        {"s3.delete.batch-size", "1001", "outside", CV_CONFIG},
        {"s3.endpoint", "ftp://h", "s3.endpoint", CV_CONFIG},
        {"s3.request-timeout", "soon", "s3.request-timeout", CV_CONFIG},
        {"client.region", "../x", "region", CV_CONFIG},
        {"s3.access-key-id", "only", "s3.secret-access-key is missing", CV_CONFIG},
    };
    struct cv_store *store;

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++) {
        struct cv_properties properties = {0};
        struct cv_store_config config = {.properties = &properties};

        cv_properties_set(&properties, "unknown.name", "is others'");
        cv_properties_set(&properties, cases[i].name, cases[i].value);
        CV_ASSERT_FAILS(cv_store_open("s3://b/t", &config, &store, &err), cases[i].code,
                        cases[i].message, &err);
        cv_properties_release(&properties);
    }
    CV_ASSERT_FAILS(cv_store_open("s3://b!/t", NULL, &store, &err), CV_CONFIG, "bucket", &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_read_is_one_request),
        cmocka_unit_test(a_range_tells_the_true_size),
        cmocka_unit_test(errors_have_codes_and_say_what_to_do),
        cmocka_unit_test(what_passes_is_waited_out),
        cmocka_unit_test(waiting_has_a_limit),
        cmocka_unit_test(a_held_answer_times_out),
        cmocka_unit_test(ended_credentials_are_renewed_once),
        cmocka_unit_test(a_grant_is_all_that_is_needed),
        cmocka_unit_test(why_credentials_could_not_be_renewed),
        cmocka_unit_test(static_credentials_are_not_renewed),
        cmocka_unit_test(a_wrong_clock_is_put_right),
        cmocka_unit_test(the_region_of_a_bucket_is_learnt),
        cmocka_unit_test(what_one_request_learns_helps_those_on_the_way),
        cmocka_unit_test(put_new_is_probed_and_kept),
        cmocka_unit_test(a_lost_answer_to_put_new_is_settled),
        cmocka_unit_test(a_store_that_ignores_the_condition_is_refused),
        cmocka_unit_test(listing_goes_on_and_decodes),
        cmocka_unit_test(a_folder_is_listed_by_what_is_vended_below),
        cmocka_unit_test(a_listing_that_goes_round_is_refused),
        cmocka_unit_test(open_uploads_are_listed_and_aborted),
        cmocka_unit_test(many_are_deleted_in_batches),
        cmocka_unit_test(a_store_without_bulk_delete),
        cmocka_unit_test(md5_is_compared_where_asked),
        cmocka_unit_test(headers_of_new_files),
        cmocka_unit_test(where_requests_go),
        cmocka_unit_test(settings_that_are_refused),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
