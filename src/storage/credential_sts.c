/* SPDX-License-Identifier: Apache-2.0
 *
 * Web identity: the token of a file (Kubernetes puts it there and renews it) for credentials of a
 * role, by AssumeRoleWithWebIdentity of STS, which is not signed. */
#include "storage/credentials_int.h"
#include "storage/sign.h"
#include "storage/xml.h"

#include <stdio.h>
#include <string.h>

#define BODY_BYTES_MAX ((size_t)512 << 10)

struct sts_answer {
    char key_id[CV_CREDENTIAL_BYTES_MAX + 2];
    char secret[CV_CREDENTIAL_BYTES_MAX + 2];
    char token[CV_CREDENTIAL_BYTES_MAX + 2];
    char expiration[64];
    char code[64]; /* of an error */
    char message[256];
};

/* Cut where it is longer: what matters is refused by its length later. */
static void take_text(void *context, const char *path, struct cv_str text)
{
    struct sts_answer *answer = context;
    const struct {
        const char *end;
        char *to;
        size_t size;
    } places[] = {
        {"Credentials/AccessKeyId", answer->key_id, sizeof answer->key_id},
        {"Credentials/SecretAccessKey", answer->secret, sizeof answer->secret},
        {"Credentials/SessionToken", answer->token, sizeof answer->token},
        {"Credentials/Expiration", answer->expiration, sizeof answer->expiration},
        {"Error/Code", answer->code, sizeof answer->code},
        {"Error/Message", answer->message, sizeof answer->message},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(places); i++)
        if (cv_text_ends_with(path, places[i].end))
            (void)snprintf(places[i].to, places[i].size, "%.*s", CV_STR_ARG(text));
}

static void wipe_answer(struct sts_answer *answer)
{
    explicit_bzero(answer, sizeof *answer);
}

enum cv_code cv_credential_parse_sts(const void *text, size_t length,
                                     struct cv_credentials *ret_credentials, struct cv_error *err)
{
    CV_CLEANUP(wipe_answer) struct sts_answer answer = {0};
    int64_t expires_ms = -1;

    CV_DO(cv_xml_read(text, length, take_text, &answer, err));
    if (answer.code[0])
        return cv_fail(err, CV_AUTH, "%s: %s", answer.code, answer.message);
    if (!answer.key_id[0] || !answer.secret[0])
        return cv_fail(err, CV_FORMAT, "the answer holds no credentials");
    if (answer.expiration[0]) {
        expires_ms = cv_credential_time_ms(answer.expiration);
        if (expires_ms < 0)
            return cv_fail(err, CV_FORMAT, "Expiration %.40s is no time in UTC", answer.expiration);
    }
    return cv_credentials_set(ret_credentials, answer.key_id, answer.secret, answer.token,
                              expires_ms, err);
}

/* Regional where the region is known: the global one may be switched off. */
static const char *endpoint(const struct cv_credential_place *place,
                            const struct cv_properties *settings, struct cv_arena *arena)
{
    const char *given = cv_environment("AWS_ENDPOINT_URL_STS");
    const char *region = cv_properties_get(&place->properties, "s3.region");

    if (given)
        return given;
    if (!region)
        region = cv_properties_get(&place->properties, "client.region");
    if (!region)
        region = cv_environment("AWS_REGION");
    if (!region)
        region = cv_environment("AWS_DEFAULT_REGION");
    if (!region)
        region = cv_properties_get(settings, "region");
    if (!region || !*region)
        return "https://sts.amazonaws.com/";
    return cv_arena_printf(arena, "https://sts.%s.amazonaws.com%s/",
                           cv_uri_encode(region, false, arena),
                           cv_text_starts_with(region, "cn-") ? ".cn" : "");
}

static enum cv_code ask_sts(struct cv_credential_place *place, const char *url,
                            const struct cv_buf *body, struct cv_credentials *ret_credentials,
                            struct cv_error *err)
{
    CV_CLEANUP(cv_credential_response_release) struct cv_http_response response = {0};
    const struct cv_http_header headers[] = {{"Content-Type", "application/x-www-form-urlencoded"},
                                             {"Accept", "application/xml"}};
    const struct cv_http_request request = {.method = "POST",
                                            .url = url,
                                            .headers = headers,
                                            .header_count = CV_ARRAY_LENGTH(headers),
                                            .body = body->data,
                                            .body_length = body->length};
    enum cv_code code;
    char shown[512];

    cv_http_url_for_message(url, shown);
    CV_DO(cv_credential_send(place, CV_CREDENTIAL_CONNECT_MS, true, &request, &response, err));
    code = cv_credential_parse_sts(response.body.data, response.body.length, ret_credentials, err);
    if (code == CV_OK && response.status == 200)
        return CV_OK;
    if (code == CV_OK || (code == CV_FORMAT && response.status != 200))
        code = cv_fail(err, response.status >= 500 ? CV_IO : CV_AUTH, "it answers %d",
                       response.status);
    cv_context(err, "%s", shown);
    return code;
}

static enum cv_code assume(struct cv_credential_place *place, const struct cv_properties *settings,
                           const char *file, struct cv_arena *arena,
                           struct cv_credentials *ret_credentials, struct cv_error *err)
{
    CV_CLEANUP(cv_credential_buf_release) struct cv_buf token = CV_BUF_INIT(BODY_BYTES_MAX);
    CV_CLEANUP(cv_credential_buf_release) struct cv_buf body = CV_BUF_INIT(BODY_BYTES_MAX);
    const char *role = cv_properties_get(settings, "role_arn");
    const char *session = cv_properties_get_or(settings, "role_session_name", "calve");

    if (!role || !*role) {
        (void)cv_fail(err, CV_CONFIG, "a token file is set without the role");
        cv_hint(err, "set AWS_ROLE_ARN beside AWS_WEB_IDENTITY_TOKEN_FILE, or role_arn beside "
                     "web_identity_token_file");
        return CV_CONFIG;
    }
    CV_TRY(cv_credential_read_token(file, &token, err), err, "token of the web identity");
    cv_buf_printf(&body,
                  "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=%s"
                  "&RoleSessionName=%s&WebIdentityToken=",
                  cv_uri_encode(role, false, arena), cv_uri_encode(session, false, arena));
    cv_buf_append_text(&body, cv_uri_encode(cv_buf_text(&token), false, arena));
    CV_DO(cv_buf_check(&body, "request to STS", err));
    return ask_sts(place, endpoint(place, settings, arena), &body, ret_credentials, err);
}

enum cv_code cv_credential_ask_web_identity_of(struct cv_credential_place *place,
                                               const struct cv_properties *settings,
                                               struct cv_credentials *ret_credentials,
                                               struct cv_error *err)
{
    const char *file = cv_properties_get(settings, "web_identity_token_file");
    struct cv_arena arena = CV_ARENA_INIT;
    enum cv_code code = assume(place, settings, file, &arena, ret_credentials, err);

    cv_arena_release(&arena);
    return code;
}

enum cv_code cv_credential_ask_web_identity(struct cv_credential_place *place,
                                            struct cv_credentials *ret_credentials,
                                            struct cv_error *err)
{
    static const char *const names[][2] = {
        {"AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file"},
        {"AWS_ROLE_ARN", "role_arn"},
        {"AWS_ROLE_SESSION_NAME", "role_session_name"},
    };
    CV_CLEANUP(cv_credential_settings_release) struct cv_properties settings = {0};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++)
        if (cv_environment(names[i][0]))
            cv_properties_set(&settings, names[i][1], cv_environment(names[i][0]));
    return cv_credential_ask_web_identity_of(place, &settings, ret_credentials, err);
}
