/* SPDX-License-Identifier: Apache-2.0
 *
 * Where credentials come from and when they are asked for anew. Servers are scripted; forms of
 * files and answers are those that Amazon documents. With settings as its argument the program
 * prints what it finds. */
#include "http_server.h"

#include "base/file.h"
#include "base/time.h"
#include "storage/credentials_int.h"

static struct cv_error err;
static char folder[64];

static int clear_environment(void **state)
{
    static const char *const names[] = {"AWS_ACCESS_KEY_ID",
                                        "AWS_SECRET_ACCESS_KEY",
                                        "AWS_SESSION_TOKEN",
                                        "AWS_PROFILE",
                                        "AWS_SHARED_CREDENTIALS_FILE",
                                        "AWS_CONFIG_FILE",
                                        "AWS_WEB_IDENTITY_TOKEN_FILE",
                                        "AWS_ROLE_ARN",
                                        "AWS_ROLE_SESSION_NAME",
                                        "AWS_ENDPOINT_URL_STS",
                                        "AWS_REGION",
                                        "AWS_DEFAULT_REGION",
                                        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                                        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                        "AWS_CONTAINER_AUTHORIZATION_TOKEN",
                                        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                                        "AWS_EC2_METADATA_SERVICE_ENDPOINT"};

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++)
        (void)unsetenv(names[i]);
    (void)setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    (void)snprintf(folder, sizeof folder, "%s", cv_test_folder());
    (void)setenv("HOME", folder, 1);
    cv_error_clear(&err);
    return 0;
}

static const char *write_file(const char *name, const char *text)
{
    static char path[128];
    char parent[96];

    (void)snprintf(parent, sizeof parent, "%s/.aws", folder);
    CV_ASSERT_OK(cv_directory_make(parent, &err), &err);
    (void)snprintf(path, sizeof path, "%s/%s", parent, name);
    CV_ASSERT_OK(cv_file_write_replace(path, text, strlen(text), &err), &err);
    return path;
}

/* "name=value;name=value" */
static enum cv_code open_source(const char *settings, struct cv_credential_source **ret_source)
{
    struct cv_properties properties = {0};
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_credential_config config = {.properties = &properties};
    size_t count;
    char **parts = cv_split(&arena, settings, ';', &count);
    enum cv_code code;

    for (size_t i = 0; i < count; i++) {
        char *equals = strchr(parts[i], '=');

        *equals = '\0';
        cv_properties_set(&properties, parts[i], equals + 1);
    }
    cv_error_clear(&err);
    code = cv_credential_source_new(&config, ret_source, &err);
    cv_properties_release(&properties);
    cv_arena_release(&arena);
    return code;
}

/* What a source with these settings gives: "id secret token"; its name with a blank before. */
static const char *given(const char *settings)
{
    static char text[512];
    CV_CLEANUP(cv_credential_source_freep) struct cv_credential_source *source = NULL;
    CV_CLEANUP(cv_credentials_release) struct cv_credentials got = {0};

    CV_ASSERT_OK(open_source(settings, &source), &err);
    CV_ASSERT_OK(cv_credential_source_get(source, &got, &err), &err);
    (void)snprintf(text, sizeof text, "%s %s %s", got.access_key_id ? got.access_key_id : "-",
                   got.secret_access_key ? got.secret_access_key : "-",
                   got.session_token ? got.session_token : "-");
    return text;
}

/* Opening and asking, wherever it fails. */
static enum cv_code try_given(const char *settings)
{
    CV_CLEANUP(cv_credential_source_freep) struct cv_credential_source *source = NULL;
    CV_CLEANUP(cv_credentials_release) struct cv_credentials got = {0};

    CV_DO(open_source(settings, &source));
    return cv_credential_source_get(source, &got, &err);
}

static void keys_of_the_configuration(void **state)
{
    CV_CLEANUP(cv_credential_source_freep) struct cv_credential_source *source = NULL;
    CV_CLEANUP(cv_credentials_release) struct cv_credentials got = {0};

    (void)state;
    (void)setenv("AWS_ACCESS_KEY_ID", "other", 1);
    assert_string_equal(given("s3.access-key-id=I;s3.secret-access-key=S"), "I S -");
    assert_string_equal(
        given("client.access-key-id=C;client.secret-access-key=D;client.session-token=T"), "C D T");
    assert_string_equal(given("s3.anonymous=true"), "- - -");
    CV_ASSERT_FAILS(try_given("s3.access-key-id=I"), CV_CONFIG, "without s3.secret-access-key",
                    &err);
    CV_ASSERT_FAILS(try_given("s3.access-key-id=I;s3.secret-access-key=hush hush"), CV_CONFIG,
                    "blank", &err);
    assert_null(strstr(err.message, "hush"));
    CV_ASSERT_OK(open_source("s3.access-key-id=I;s3.secret-access-key=S;s3.session-token=T;"
                             "s3.session-token-expires-at-ms=1700000000000",
                             &source),
                 &err);
    CV_ASSERT_OK(cv_credential_source_get(source, &got, &err), &err);
    assert_int_equal(got.expires_ms, 1700000000000);
    CV_ASSERT_FAILS(cv_credential_source_renew(source, got.version, &err), CV_AUTH,
                    "no way to get new ones", &err);
}

static void the_order_of_places(void **state)
{
    (void)state;
    CV_ASSERT_FAILS(try_given(""), CV_CONFIG, "no S3 credentials", &err);
    (void)write_file("credentials", "[default]\naws_access_key_id=F\naws_secret_access_key=G\n"
                                    "[other]\naws_access_key_id=O\naws_secret_access_key=P\n");
    assert_string_equal(given(""), "F G -");
    (void)setenv("AWS_PROFILE", "other", 1);
    assert_string_equal(given(""), "O P -");
    (void)setenv("AWS_ACCESS_KEY_ID", "E", 1);
    CV_ASSERT_FAILS(try_given(""), CV_CONFIG, "without AWS_SECRET_ACCESS_KEY", &err);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "N", 1);
    (void)setenv("AWS_SESSION_TOKEN", "V", 1);
    assert_string_equal(given(""), "E N V");
    assert_string_equal(given("s3.profile-name=default"), "F G -");
    assert_string_equal(given("s3.access-key-id=I;s3.secret-access-key=S"), "I S -");
}

static void profiles_of_both_files(void **state)
{
    (void)state;
    (void)write_file("config", "; mine\n[profile  prod]\nregion = eu-west-1\n"
                               "aws_access_key_id = LATER\n s3 =\n   max_requests = 9\n"
                               "[default]\nregion=us-east-2 # home\n[prod]\nregion=ignored\n");
    (void)write_file("credentials",
                     "# keys\r\n[prod]\r\naws_access_key_id = AKIA/+=  ; first\r\n"
                     "AWS_SECRET_ACCESS_KEY=se#cret\r\n\r\naws_session_token = to=ken\r\n");
    assert_string_equal(given("client.profile-name=prod"), "AKIA/+= se#cret to=ken");
    CV_ASSERT_FAILS(try_given("s3.profile-name=absent"), CV_CONFIG, "no profile absent in ", &err);
    CV_ASSERT_FAILS(try_given(""), CV_CONFIG, "no S3 credentials", &err); /* only a region */
    (void)setenv("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/elsewhere", 1);
    (void)write_file("elsewhere", "[prod]\naws_access_key_id=X\naws_secret_access_key=Y");
    assert_string_equal(given("client.credentials-profile=prod"), "X Y -");
}

static void the_region_of_a_profile(void **state)
{
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_properties properties = {0};
    const char *region = "";

    (void)state;
    CV_ASSERT_OK(cv_credential_profile_region(&properties, &arena, &region, &err), &err);
    assert_null(region);
    (void)write_file("config", "[default]\nregion=us-east-2 # home\n"
                               "[profile \"my own\"]\nregion = eu-west-1\n");
    CV_ASSERT_OK(cv_credential_profile_region(NULL, &arena, &region, &err), &err);
    assert_string_equal(region, "us-east-2");
    cv_properties_set(&properties, "s3.profile-name", "my own");
    CV_ASSERT_OK(cv_credential_profile_region(&properties, &arena, &region, &err), &err);
    assert_string_equal(region, "eu-west-1");
    cv_properties_release(&properties);
    cv_arena_release(&arena);
}

static void what_a_profile_cannot_ask_for(void **state)
{
    static const char *const settings[] = {
        "credential_process = /bin/echo hush", "role_arn = r\ncredential_source = Environment",
        "role_arn = r\nsource_profile = base", "sso_session = mine",
        "aws_access_key_id = hush\naws_secret_access_key = hush\nrole_arn = r"};
    static const char *const named[] = {"credential_process", "credential_source", "source_profile",
                                        "sso_session", "role_arn"};
    char text[256];

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(settings); i++) {
        (void)snprintf(text, sizeof text, "[default]\n%s\n", settings[i]);
        (void)write_file("config", text);
        CV_ASSERT_FAILS(try_given(""), CV_UNSUPPORTED, named[i], &err);
        assert_null(strstr(err.message, "hush"));
    }
    (void)write_file("config", "[default]\naws_access_key_id = A\n");
    CV_ASSERT_FAILS(try_given(""), CV_CONFIG, "only one of", &err);
    (void)write_file("config", "[default]\nhush\n");
    CV_ASSERT_FAILS(try_given(""), CV_FORMAT, "/.aws/config: line 2 is neither", &err);
    assert_null(strstr(err.message, "hush"));
    (void)write_file("config", "[default\n");
    CV_ASSERT_FAILS(try_given(""), CV_FORMAT, "line 1: a section without ]", &err);
}

static void a_changed_file_counts_when_keys_have_ended(void **state)
{
    CV_CLEANUP(cv_credential_source_freep) struct cv_credential_source *source = NULL;
    CV_CLEANUP(cv_credentials_release) struct cv_credentials got = {0};

    (void)state;
    (void)write_file("credentials", "[default]\naws_access_key_id=A\naws_secret_access_key=B\n");
    CV_ASSERT_OK(open_source("", &source), &err);
    assert_non_null(strstr(cv_credential_source_name(source), "profile default of /tmp/"));
    CV_ASSERT_OK(cv_credential_source_get(source, &got, &err), &err);
    (void)write_file("credentials", "[default]\naws_access_key_id=N\naws_secret_access_key=B\n");
    CV_ASSERT_OK(cv_credential_source_renew(source, got.version, &err), &err);
    CV_ASSERT_OK(cv_credential_source_renew(source, got.version, &err), &err); /* done already */
    CV_ASSERT_OK(cv_credential_source_get(source, &got, &err), &err);
    assert_string_equal(got.access_key_id, "N");
    assert_int_equal(got.version, 2);
}

static void times(void **state)
{
    (void)state;
    assert_int_equal(cv_credential_time_ms("1970-01-01T00:00:00Z"), 0);
    assert_int_equal(cv_credential_time_ms("2013-05-24T00:00:00Z"), 1369353600000);
    assert_int_equal(cv_credential_time_ms("2024-02-29T23:59:59.123Z"), 1709251199000);
    assert_int_equal(cv_credential_time_ms("2023-02-29T00:00:00Z"), -1);
    assert_int_equal(cv_credential_time_ms("2024-02-29T24:00:00Z"), -1);
    assert_int_equal(cv_credential_time_ms("2024-02-29T23:59:59+01:00"), -1);
    assert_int_equal(cv_credential_time_ms("2024-02-29"), -1);
    assert_int_equal(cv_credential_time_ms(""), -1);
}

/* The services of a container, an instance and STS behind one server. */
struct services {
    const char *wanted_token;
    int documents;
};

static void reply_document(struct services *services, struct cv_test_answer *answer)
{
    char body[256];

    (void)snprintf(body, sizeof body,
                   "{\"Code\":\"Success\",\"Type\":\"AWS-HMAC\",\"AccessKeyId\":\"ASIA%d\","
                   "\"SecretAccessKey\":\"sec/ret\",\"Token\":\"tok==\","
                   "\"Expiration\":\"2099-01-01T00:00:00Z\"}",
                   ++services->documents);
    cv_test_reply(answer, 200, NULL, body);
}

static void reply_sts(struct services *services, const struct cv_test_request *request,
                      struct cv_test_answer *answer)
{
    char wanted[256];
    char body[256];

    (void)snprintf(wanted, sizeof wanted,
                   "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%%3Aaws%%3Aiam"
                   "%%3A%%3A1%%3Arole%%2Fr&RoleSessionName=calve&WebIdentityToken=%s",
                   services->wanted_token);
    (void)snprintf(body, sizeof body, "%.*s", (int)request->body_length,
                   (const char *)request->body);
    if (strcmp(body, wanted) != 0)
        cv_test_reply(answer, 400, "Content-Type: text/xml\r\n",
                      "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error>"
                      "<Type>Sender</Type><Code>ExpiredTokenException</Code>"
                      "<Message>Token expired</Message></Error></ErrorResponse>");
    else
        cv_test_reply(
            answer, 200, NULL,
            "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/"
            "\"><AssumeRoleWithWebIdentityResult><Credentials><SessionToken>st==</SessionToken>"
            "<SecretAccessKey>ss</SecretAccessKey><Expiration>2099-01-01T00:00:00Z</Expiration>"
            "<AccessKeyId>ASIASTS</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult>"
            "</AssumeRoleWithWebIdentityResponse>");
}

static void serve(struct cv_test_server *server, const struct cv_test_request *request,
                  struct cv_test_answer *answer)
{
    struct services *services = server->context;

    if (cv_test_is(request, "PUT /latest/api/token") &&
        cv_test_has(request, "X-aws-ec2-metadata-token-ttl-seconds: 21600"))
        cv_test_reply(answer, 200, NULL, "imds-token");
    else if (cv_test_is(request, "GET /latest/meta-data/iam/security-credentials/"))
        cv_test_reply(answer,
                      cv_test_has(request, "X-aws-ec2-metadata-token: imds-token") ? 200 : 401,
                      NULL, "a role\nanother");
    else if (cv_test_is(request, "GET /latest/meta-data/iam/security-credentials/a%20role"))
        reply_document(services, answer);
    else if (cv_test_is(request, "GET /container") && services->wanted_token &&
             cv_test_has(request, services->wanted_token))
        reply_document(services, answer);
    else if (cv_test_is(request, "GET /container"))
        cv_test_reply(answer, 403, NULL, "hush");
    else if (cv_test_is(request, "GET /garbage"))
        cv_test_reply(answer, 200, NULL, "<html>");
    else if (cv_test_is(request, "POST /sts"))
        reply_sts(services, request, answer);
}

static void point_to(const struct cv_test_server *server, const char *variable, const char *path)
{
    char url[128];

    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d%s", server->port, path);
    (void)setenv(variable, url, 1);
}

static void credentials_of_a_container(void **state)
{
    struct services services = {.wanted_token = "\r\nAuthorization: Bearer one\r\n"};
    struct cv_test_server server;

    (void)state;
    cv_test_server_start(&server, serve, &services);
    point_to(&server, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "/container");
    (void)setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Bearer one", 1);
    assert_string_equal(given(""), "ASIA1 sec/ret tok==");
    (void)setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", write_file("token", "Bearer two\n"), 1);
    CV_ASSERT_FAILS(try_given(""), CV_AUTH, "/container answers 403", &err);
    assert_null(strstr(err.message, "hush"));
    (void)write_file("token", "Bearer one\n");
    assert_string_equal(given(""), "ASIA2 sec/ret tok==");
    point_to(&server, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "/garbage");
    CV_ASSERT_FAILS(try_given(""), CV_FORMAT, "/garbage", &err);
    (void)setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1.example.com/x", 1);
    CV_ASSERT_FAILS(try_given(""), CV_CONFIG, "on this machine", &err);
    (void)setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "ftp://localhost/x", 1);
    CV_ASSERT_FAILS(try_given(""), CV_CONFIG, "on this machine", &err);
    cv_test_server_stop(&server);
}

static void credentials_of_an_instance(void **state)
{
    struct services services = {0};
    struct cv_test_server server;

    (void)state;
    cv_test_server_start(&server, serve, &services);
    point_to(&server, "AWS_EC2_METADATA_SERVICE_ENDPOINT", "/");
    CV_ASSERT_FAILS(try_given(""), CV_CONFIG, "no S3 credentials", &err); /* it is disabled */
    (void)setenv("AWS_EC2_METADATA_DISABLED", "false", 1);
    assert_string_equal(given(""), "ASIA1 sec/ret tok==");
    point_to(&server, "AWS_EC2_METADATA_SERVICE_ENDPOINT", "/nothing");
    CV_ASSERT_FAILS(try_given(""), CV_AUTH, "S3 credentials (instance metadata): http://127", &err);
    assert_non_null(strstr(err.hint, "s3.access-key-id"));
    cv_test_server_stop(&server);
}

static void credentials_of_a_web_identity(void **state)
{
    struct services services = {.wanted_token = "one%2B%3D"};
    struct cv_test_server server;

    (void)state;
    cv_test_server_start(&server, serve, &services);
    point_to(&server, "AWS_ENDPOINT_URL_STS", "/sts");
    (void)setenv("AWS_WEB_IDENTITY_TOKEN_FILE", write_file("identity", " old \n"), 1);
    CV_ASSERT_FAILS(try_given(""), CV_CONFIG, "without the role", &err);
    (void)setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/r", 1);
    CV_ASSERT_FAILS(try_given(""), CV_AUTH, "/sts: ExpiredTokenException: Token expired", &err);
    (void)write_file("identity", "one+=\n");
    assert_string_equal(given(""), "ASIASTS ss st==");
    (void)unsetenv("AWS_WEB_IDENTITY_TOKEN_FILE");
    {
        char text[256];

        (void)snprintf(text, sizeof text,
                       "[profile k8s]\nrole_arn = arn:aws:iam::1:role/r\n"
                       "web_identity_token_file = %s/.aws/identity\n",
                       folder);
        (void)write_file("config", text);
    }
    assert_string_equal(given("s3.profile-name=k8s"), "ASIASTS ss st==");
    cv_test_server_stop(&server);
}

/* A catalog that vends. */
struct vendor {
    _Atomic int asked;
    int64_t life_ms;
    _Atomic bool refuses;
    int64_t takes_ms;
    _Atomic int64_t asked_ms; /* when it was last asked */
};

static enum cv_code vend(void *context, struct cv_properties *ret_properties,
                         struct cv_error *error)
{
    struct vendor *vendor = context;
    char text[32];
    int number = ++vendor->asked;

    vendor->asked_ms = cv_now_ms();
    cv_sleep_ms(vendor->takes_ms);
    if (vendor->refuses)
        return cv_fail(error, CV_IO, "the catalog is away");
    (void)snprintf(text, sizeof text, "ID%d", number);
    cv_properties_set(ret_properties, "s3.access-key-id", text);
    cv_properties_set(ret_properties, "s3.secret-access-key", "S");
    if (vendor->life_ms) {
        (void)snprintf(text, sizeof text, "%lld", (long long)(cv_now_ms() + vendor->life_ms));
        cv_properties_set(ret_properties, "s3.session-token-expires-at-ms", text);
    }
    return CV_OK;
}

static struct cv_credential_source *vended(struct vendor *vendor,
                                           const struct cv_properties *properties)
{
    const struct cv_credential_config config = {
        .properties = properties, .refresh = vend, .refresh_context = vendor};
    struct cv_credential_source *source = NULL;

    CV_ASSERT_OK(cv_credential_source_new(&config, &source, &err), &err);
    return source;
}

static void vended_ones_are_asked_for_before_they_end(void **state)
{
    struct vendor vendor = {.life_ms = 1500};
    CV_CLEANUP(cv_credential_source_freep)
    struct cv_credential_source *source = vended(&vendor, NULL);
    CV_CLEANUP(cv_credentials_release) struct cv_credentials got = {0};
    int64_t first_end_ms;

    (void)state;
    CV_ASSERT_OK(cv_credential_source_get(source, &got, &err), &err);
    assert_string_equal(got.access_key_id, "ID1");
    first_end_ms = got.expires_ms;
    while (strcmp(got.access_key_id, "ID1") == 0) {
        cv_sleep_ms(5);
        CV_ASSERT_OK(cv_credential_source_get(source, &got, &err), &err);
    }
    assert_string_equal(got.access_key_id, "ID2");
    assert_true(vendor.asked_ms < first_end_ms); /* a quarter of the life before, or more */
    assert_int_equal(vendor.asked, 2);
}

static void the_first_ones_come_with_the_table(void **state)
{
    struct vendor vendor = {0};
    struct cv_properties properties = {0};
    struct cv_credential_source *source;
    CV_CLEANUP(cv_credentials_release) struct cv_credentials got = {0};

    (void)state;
    cv_properties_set(&properties, "s3.access-key-id", "FIRST");
    cv_properties_set(&properties, "s3.secret-access-key", "S");
    source = vended(&vendor, &properties);
    cv_properties_release(&properties);
    CV_ASSERT_OK(cv_credential_source_get(source, &got, &err), &err);
    assert_string_equal(got.access_key_id, "FIRST");
    assert_int_equal(vendor.asked, 0);
    CV_ASSERT_OK(cv_credential_source_renew(source, got.version, &err), &err);
    CV_ASSERT_OK(cv_credential_source_get(source, &got, &err), &err);
    assert_string_equal(got.access_key_id, "ID1");
    cv_credential_source_free(source);
}

static void old_ones_serve_to_their_end_while_asking_fails(void **state)
{
    struct vendor vendor = {.life_ms = 1500};
    CV_CLEANUP(cv_credential_source_freep)
    struct cv_credential_source *source = vended(&vendor, NULL);
    CV_CLEANUP(cv_credentials_release) struct cv_credentials got = {0};
    int64_t end_ms;

    (void)state;
    CV_ASSERT_OK(cv_credential_source_get(source, &got, &err), &err);
    end_ms = got.expires_ms;
    vendor.refuses = true;
    while (cv_credential_source_get(source, &got, &err) == CV_OK) {
        assert_string_equal(got.access_key_id, "ID1");
        cv_sleep_ms(5);
    }
    assert_true(cv_now_ms() >= end_ms);
    assert_in_range(vendor.asked, 2, 6); /* it was tried, and not all the time */
    CV_ASSERT_FAILS(cv_credential_source_get(source, &got, &err), CV_IO,
                    "S3 credentials (catalog): the catalog is away", &err);
    vendor.refuses = false;
    CV_ASSERT_OK(cv_credential_source_get(source, &got, &err), &err);
}

struct renewer {
    struct cv_credential_source *source;
    uint64_t version;
    bool failed;
};

static void *renew_and_get(void *argument)
{
    struct renewer *renewer = argument;
    struct cv_credentials got = {0};
    struct cv_error error = CV_ERROR_INIT;

    renewer->failed =
        cv_credential_source_renew(renewer->source, renewer->version, &error) != CV_OK ||
        cv_credential_source_get(renewer->source, &got, &error) != CV_OK ||
        got.version != renewer->version + 1;
    cv_credentials_release(&got);
    return NULL;
}

static void one_thread_asks_for_all(void **state)
{
    struct vendor vendor = {.takes_ms = 100, .life_ms = 3600000};
    CV_CLEANUP(cv_credential_source_freep)
    struct cv_credential_source *source = vended(&vendor, NULL);
    struct renewer renewers[8];
    pthread_t threads[8];

    (void)state;
    for (int round = 0; round < 2; round++) { /* nothing is held; version 1 was refused */
        for (int i = 0; i < 8; i++) {
            renewers[i] = (struct renewer){source, (uint64_t)round, false};
            assert_int_equal(pthread_create(&threads[i], NULL, renew_and_get, &renewers[i]), 0);
        }
        for (int i = 0; i < 8; i++) {
            (void)pthread_join(threads[i], NULL);
            assert_false(renewers[i].failed);
        }
        assert_int_equal(vendor.asked, round + 1);
    }
}

#define CREDENTIAL_TEST(name) cmocka_unit_test_setup(name, clear_environment)

/* Prints what a source with these settings finds, for tests/real/test_credential_chain.py. */
static int find_as_told(const char *settings)
{
    enum cv_code code = try_given(settings);

    if (code == CV_OK)
        (void)printf("%s\n", given(settings));
    else if (strstr(err.message, "there are no S3 credentials"))
        (void)printf("none\n");
    else
        (void)fprintf(stderr, "%s\n", err.message);
    return code == CV_OK || strstr(err.message, "there are no S3 credentials") ? 0 : 1;
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        CREDENTIAL_TEST(keys_of_the_configuration),
        CREDENTIAL_TEST(the_order_of_places),
        CREDENTIAL_TEST(profiles_of_both_files),
        CREDENTIAL_TEST(the_region_of_a_profile),
        CREDENTIAL_TEST(what_a_profile_cannot_ask_for),
        CREDENTIAL_TEST(a_changed_file_counts_when_keys_have_ended),
        CREDENTIAL_TEST(times),
        CREDENTIAL_TEST(credentials_of_a_container),
        CREDENTIAL_TEST(credentials_of_an_instance),
        CREDENTIAL_TEST(credentials_of_a_web_identity),
        CREDENTIAL_TEST(vended_ones_are_asked_for_before_they_end),
        CREDENTIAL_TEST(the_first_ones_come_with_the_table),
        CREDENTIAL_TEST(old_ones_serve_to_their_end_while_asking_fails),
        CREDENTIAL_TEST(one_thread_asks_for_all),
    };

    if (count > 1)
        return find_as_told(arguments[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
