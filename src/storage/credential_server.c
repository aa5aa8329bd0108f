/* SPDX-License-Identifier: Apache-2.0
 *
 * Credentials of the container (ECS, EKS pod identity) and of the instance (EC2's metadata service,
 * version 2): small HTTP services of the machine, asked without a proxy. */
#include "storage/credentials_int.h"

#include "base/file.h"
#include "base/time.h"
#include "codec/json.h"
#include "storage/retry.h"
#include "storage/sign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTAINER_HOST         "http://169.254.170.2"
#define INSTANCE_HOST          "http://169.254.169.254"
#define INSTANCE_ROLES         "/latest/meta-data/iam/security-credentials/"
#define INSTANCE_TOKEN_SECONDS "21600"
#define TOKEN_FILE_BYTES_MAX   ((size_t)64 << 10)

static enum cv_code need_client(struct cv_credential_place *place, int64_t connect_ms,
                                bool through_proxy, struct cv_error *err)
{
    const struct cv_http_config config = {.connect_timeout_ms = connect_ms,
                                          .timeout_ms = CV_CREDENTIAL_TIMEOUT_MS,
                                          .response_bytes_max = CV_CREDENTIAL_ANSWER_BYTES_MAX,
                                          .no_proxy = !through_proxy};

    return place->client ? CV_OK : cv_http_client_new(&config, &place->client, err);
}

enum cv_code cv_credential_send(struct cv_credential_place *place, int64_t connect_ms,
                                bool through_proxy, const struct cv_http_request *request,
                                struct cv_http_response *ret_response, struct cv_error *err)
{
    const struct cv_retry_policy policy = {3, 200, 2000, 15000};
    struct cv_retry retry;
    enum cv_code code;
    bool again;

    CV_DO(need_client(place, connect_ms, through_proxy, err));
    cv_retry_begin(&retry, &policy);
    do {
        struct cv_error why = CV_ERROR_INIT;

        cv_request_count(place->counts, CV_REQUEST_TOKEN);
        if (retry.attempt > 1)
            cv_request_count(place->counts, CV_REQUEST_RETRY);
        code = cv_http_send(place->client, request, ret_response, &why);
        if (code != CV_OK && err)
            *err = why;
        again = code == CV_OK ? cv_retry_status(ret_response->status)
                              : (why.flags & CV_ERROR_RETRIABLE) != 0;
    } while (again &&
             cv_retry_again(&retry, code == CV_OK ? cv_http_retry_after_ms(ret_response) : -1));
    return code;
}

void cv_credential_response_release(struct cv_http_response *response)
{
    if (response->body.data)
        explicit_bzero(response->body.data, response->body.length);
    cv_http_response_release(response);
}

static enum cv_code refuse_status(const char *url, int status, struct cv_error *err)
{
    char shown[512];

    cv_http_url_for_message(url, shown);
    return cv_fail(err, status >= 400 && status < 500 && status != 429 ? CV_AUTH : CV_IO,
                   "%s answers %d", shown, status);
}

static bool digits(const char *text, size_t count, int *ret_value)
{
    int value = 0;

    for (size_t i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + text[i] - '0';
    }
    *ret_value = value;
    return true;
}

int64_t cv_credential_time_ms(const char *text)
{
    static const char form[] = "0000-00-00T00:00:00";
    int part[6];
    const char *rest;
    size_t count = 0;

    for (size_t i = 0; i < sizeof form - 1; i++)
        if ((form[i] == '0') != (text[i] >= '0' && text[i] <= '9') ||
            (form[i] != '0' && text[i] != form[i]))
            return -1;
    for (const char *at = text; count < 6; at += count == 0 ? 5 : 3, count++)
        if (!digits(at, count == 0 ? 4 : 2, &part[count]))
            return -1;
    rest = text + sizeof form - 1;
    if (*rest == '.')
        rest += 1 + strspn(rest + 1, "0123456789");
    if (strcmp(rest, "Z") != 0 && strcmp(rest, "+00:00") != 0)
        return -1;
    if (part[1] < 1 || part[1] > 12 || part[2] < 1 ||
        part[2] > cv_days_in_month(part[0], part[1]) || part[3] > 23 || part[4] > 59 ||
        part[5] > 60)
        return -1;
    return cv_days_from_civil(part[0], part[1], part[2]) * INT64_C(86400000) +
           ((part[3] * 60 + part[4]) * INT64_C(60) + part[5]) * 1000;
}

enum cv_code cv_credential_parse_json(const void *text, size_t length,
                                      struct cv_credentials *ret_credentials, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;
    const char *id = NULL;
    const char *secret = NULL;
    const char *token = NULL;
    const char *expiration = NULL;
    const char *code = NULL;
    int64_t expires_ms = -1;

    CV_DO(cv_json_parse(text, length, &root, err));
    if (!cv_json_is_object(root))
        return cv_fail(err, CV_FORMAT, "the answer is no JSON object");
    CV_DO(cv_json_optional_string(root, "Code", &code, err));
    if (code && strcmp(code, "Success") != 0)
        return cv_fail(err, CV_AUTH, "the answer's Code is %.100s", code);
    CV_DO(cv_json_read_string(root, "AccessKeyId", &id, err));
    CV_DO(cv_json_read_string(root, "SecretAccessKey", &secret, err));
    CV_DO(cv_json_optional_string(root, "Token", &token, err));
    CV_DO(cv_json_optional_string(root, "Expiration", &expiration, err));
    if (expiration) {
        expires_ms = cv_credential_time_ms(expiration);
        if (expires_ms < 0)
            return cv_fail(err, CV_FORMAT, "Expiration %.40s is no time in UTC", expiration);
    }
    if (!*id || !*secret)
        return cv_fail(err, CV_FORMAT, "the answer's keys are empty");
    return cv_credentials_set(ret_credentials, id, secret, token, expires_ms, err);
}

/* A document of credentials at this URL. */
static enum cv_code ask_document(struct cv_credential_place *place, int64_t connect_ms,
                                 const struct cv_http_request *request,
                                 struct cv_credentials *ret_credentials, struct cv_error *err)
{
    CV_CLEANUP(cv_credential_response_release) struct cv_http_response response = {0};
    char shown[512];

    CV_DO(cv_credential_send(place, connect_ms, false, request, &response, err));
    if (response.status != 200)
        return refuse_status(request->url, response.status, err);
    cv_http_url_for_message(request->url, shown);
    CV_TRY(cv_credential_parse_json(response.body.data, response.body.length, ret_credentials, err),
           err, "%s", shown);
    return CV_OK;
}

/* Plain HTTP only to this machine and to the addresses that Amazon's containers have for it. */
static enum cv_code check_container_url(const char *url, struct cv_error *err)
{
    static const char *const hosts[] = {"localhost",     "127.0.0.1",      "[::1]",
                                        "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
    size_t length;
    const char *host;

    if (cv_text_starts_with(url, "https://"))
        return CV_OK;
    if (cv_text_starts_with(url, "http://")) {
        host = url + 7;
        length =
            *host == '[' ? strcspn(host, "]") + (strchr(host, ']') != NULL) : strcspn(host, ":/?#");
        for (size_t i = 0; i < CV_ARRAY_LENGTH(hosts); i++)
            if (strlen(hosts[i]) == length && memcmp(hosts[i], host, length) == 0 &&
                (!host[length] || strchr(":/?#", host[length])))
                return CV_OK;
    }
    return cv_fail(err, CV_CONFIG,
                   "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https:// nor "
                   "http:// on this machine");
}

enum cv_code cv_credential_read_token(const char *path, struct cv_buf *ret_token,
                                      struct cv_error *err)
{
    struct cv_str token;

    CV_DO(cv_file_read(path, TOKEN_FILE_BYTES_MAX, ret_token, err));
    token = cv_str_trim((struct cv_str){cv_buf_text(ret_token), ret_token->length});
    memmove(ret_token->data, token.ptr, token.length);
    ret_token->length = token.length;
    if (token.length == 0 || memchr(ret_token->data, '\0', token.length) ||
        strpbrk(cv_buf_text(ret_token), "\r\n"))
        return cv_fail(err, CV_CONFIG, "%s holds no token", path);
    return CV_OK;
}

void cv_credential_buf_release(struct cv_buf *buf)
{
    if (buf->data)
        explicit_bzero(buf->data, buf->length);
    cv_buf_release(buf);
}

static enum cv_code container_token(struct cv_buf *ret_token, struct cv_error *err)
{
    const char *file = cv_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *token = cv_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");

    if (file)
        return cv_credential_read_token(file, ret_token, err);
    if (token && strpbrk(token, "\r\n"))
        return cv_fail(err, CV_CONFIG, "AWS_CONTAINER_AUTHORIZATION_TOKEN holds a line break");
    if (token)
        cv_buf_append_text(ret_token, token);
    return CV_OK;
}

enum cv_code cv_credential_ask_container(struct cv_credential_place *place,
                                         struct cv_credentials *ret_credentials,
                                         struct cv_error *err)
{
    CV_CLEANUP(cv_credential_buf_release) struct cv_buf token = CV_BUF_INIT(TOKEN_FILE_BYTES_MAX);
    const char *relative = cv_environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = cv_environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    struct cv_http_header headers[2] = {{"Accept", "application/json"}};
    struct cv_http_request request = {.method = "GET", .headers = headers, .header_count = 1};
    char url[CV_PATH_BYTES_MAX];

    if (!relative)
        CV_DO(check_container_url(full ? full : "", err));
    (void)snprintf(url, sizeof url, "%s%s", relative ? CONTAINER_HOST : "",
                   relative ? relative : full);
    if (relative && *relative != '/')
        return cv_fail(err, CV_CONFIG, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI begins without /");
    CV_DO(container_token(&token, err));
    if (token.length)
        headers[request.header_count++] =
            (struct cv_http_header){"Authorization", cv_buf_text(&token)};
    request.url = url;
    return ask_document(place, CV_CREDENTIAL_CONNECT_MS, &request, ret_credentials, err);
}

/* The first line of what the metadata service answers. */
static enum cv_code ask_line(struct cv_credential_place *place,
                             const struct cv_http_request *request, struct cv_arena *arena,
                             const char **ret_line, struct cv_error *err)
{
    CV_CLEANUP(cv_credential_response_release) struct cv_http_response response = {0};
    const char *text;

    CV_DO(cv_credential_send(place, CV_CREDENTIAL_INSTANCE_MS, false, request, &response, err));
    if (response.status != 200)
        return refuse_status(request->url, response.status, err);
    text = cv_buf_text(&response.body);
    if (response.body.length > CV_CREDENTIAL_BYTES_MAX || strcspn(text, "\r\n") == 0)
        return cv_fail(err, CV_FORMAT, "the instance's metadata service answers without a text");
    *ret_line = cv_arena_strndup(arena, text, strcspn(text, "\r\n"));
    return CV_OK;
}

static enum cv_code ask_instance(struct cv_credential_place *place, struct cv_arena *arena,
                                 struct cv_credentials *ret_credentials, struct cv_error *err)
{
    const char *host = cv_environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    int host_length;
    const char *token;
    const char *role;
    struct cv_http_header header = {"X-aws-ec2-metadata-token-ttl-seconds", INSTANCE_TOKEN_SECONDS};
    struct cv_http_request request = {.method = "PUT", .headers = &header, .header_count = 1};

    host = host ? host : INSTANCE_HOST;
    host_length = (int)strlen(host) - cv_text_ends_with(host, "/");
    request.url = cv_arena_printf(arena, "%.*s/latest/api/token", host_length, host);
    CV_DO(ask_line(place, &request, arena, &token, err));
    header = (struct cv_http_header){"X-aws-ec2-metadata-token", token};
    request.method = "GET";
    request.url = cv_arena_printf(arena, "%.*s" INSTANCE_ROLES, host_length, host);
    CV_TRY(ask_line(place, &request, arena, &role, err), err, "role of the instance");
    request.url = cv_arena_printf(arena, "%s%s", request.url, cv_uri_encode(role, false, arena));
    return ask_document(place, CV_CREDENTIAL_INSTANCE_MS, &request, ret_credentials, err);
}

enum cv_code cv_credential_ask_instance(struct cv_credential_place *place,
                                        struct cv_credentials *ret_credentials,
                                        struct cv_error *err)
{
    struct cv_arena arena = CV_ARENA_INIT;
    enum cv_code code = ask_instance(place, &arena, ret_credentials, err);

    cv_arena_release(&arena);
    if (code != CV_OK) /* most often this machine is no instance, and nothing else was given */
        cv_hint(err, "set s3.access-key-id and s3.secret-access-key of the catalog, "
                     "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile; "
                     "s3.anonymous=true for a public bucket");
    return code;
}
