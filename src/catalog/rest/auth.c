/* SPDX-License-Identifier: Apache-2.0
 *
 * Authorization: nothing, basic, OAuth2 (a token, or one got by client credentials and renewed
 * before it ends) and AWS signatures. One thread gets a token while others that need it wait. */
#include "catalog/rest/rest_int.h"

#include "base/error_part.h"
#include "base/time.h"
#include "storage/sign.h"

#include <stdlib.h>

#define EARLY_MS_MAX                                                                               \
    300000 /* a token is renewed at a tenth of its life or this long before its end */

void cv_rest_token_release(struct cv_rest_token *token)
{
    if (token->text)
        explicit_bzero(token->text, strlen(token->text));
    free(token->text);
    token->text = NULL;
}

/* Takes the text over. */
static void set_token(struct cv_rest_catalog *catalog, char *text, int64_t expires_in_s)
{
    struct cv_rest_token *token = &catalog->token;
    int64_t now = cv_now_ms();
    uint64_t version = token->version + 1;

    cv_rest_token_release(token);
    *token = (struct cv_rest_token){text, -1, -1, version};
    token->expires_ms =
        expires_in_s >= 0 ? now + expires_in_s * 1000 : cv_rest_token_expiry_ms(text);
    if (token->expires_ms >= 0)
        token->renew_ms =
            token->expires_ms - CV_MIN(CV_MAX(token->expires_ms - now, 0) / 10, EARLY_MS_MAX);
}

static void put_field(struct cv_buf *form, const char *name, const char *value,
                      struct cv_arena *arena)
{
    if (!value || !*value)
        return;
    if (form->length)
        cv_buf_append_byte(form, '&');
    cv_buf_printf(form, "%s=%s", name, cv_uri_encode(value, false, arena));
}

static void put_common(const struct cv_rest_settings *settings, struct cv_buf *form,
                       struct cv_arena *arena)
{
    put_field(form, "scope", settings->scope, arena);
    put_field(form, "audience", settings->audience, arena);
    put_field(form, "resource", settings->resource, arena);
}

/* "id:secret", or a secret alone. */
static void put_credentials(const struct cv_rest_settings *settings, struct cv_buf *form,
                            struct cv_arena *arena)
{
    const char *colon = strchr(settings->credential, ':');

    put_field(form, "grant_type", "client_credentials", arena);
    if (colon)
        put_field(
            form, "client_id",
            cv_arena_strndup(arena, settings->credential, (size_t)(colon - settings->credential)),
            arena);
    put_field(form, "client_secret", colon ? colon + 1 : settings->credential, arena);
}

static void put_exchange(const char *token, struct cv_buf *form, struct cv_arena *arena)
{
    put_field(form, "grant_type", "urn:ietf:params:oauth:grant-type:token-exchange", arena);
    put_field(form, "subject_token", token, arena);
    put_field(form, "subject_token_type", "urn:ietf:params:oauth:token-type:access_token", arena);
}

static void wipe(struct cv_buf *buf)
{
    if (buf->data)
        explicit_bzero(buf->data, buf->length);
    cv_buf_release(buf);
}

static enum cv_code fail_token(const struct cv_rest_settings *settings,
                               const struct cv_http_response *response, enum cv_code code,
                               struct cv_error *err)
{
    if (err && cv_error_part_name(err) && !(err->flags & CV_PART_AUTHORIZATION))
        return code; /* nobody was asked */
    cv_error_set_part(err, CV_PART_AUTHORIZATION);
    if (response->status == 200 || response->status == 404 || response->status == 405)
        cv_hint(err, "no tokens are given there: set oauth2-server-uri");
    else if (response->status == 400 || response->status == 401)
        cv_hint(err, "check `%s`, `scope` and oauth2-server-uri",
                settings->credential ? "credential" : "token");
    return code;
}

/* Posts the form; the lock is held. */
static enum cv_code ask_for_token(struct cv_rest_catalog *catalog, const struct cv_buf *form,
                                  const char *bearer, struct cv_arena *arena, struct cv_error *err)
{
    CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};
    const struct cv_rest_settings *settings = &catalog->settings;
    struct cv_rest_token_reply reply;
    enum cv_code code;
    struct cv_rest_call call = {.verb = CV_REST_READ,
                                .kind = CV_REQUEST_TOKEN,
                                .method = "POST",
                                .what = "getting a token",
                                .body = form,
                                .content_type = "application/x-www-form-urlencoded",
                                .plain = true,
                                .bearer = bearer};

    call.url = settings->oauth2_server_uri;
    if (!call.url)
        call.url = cv_arena_printf(arena, "%s/v1/oauth/tokens", catalog->uri);
    else if (!strstr(call.url, "://")) /* beside the catalog */
        call.url = cv_arena_printf(arena, "%s/%s", catalog->uri, call.url + (*call.url == '/'));
    code = cv_rest_send(catalog, &call, &response, NULL, err);
    if (code != CV_OK)
        return fail_token(settings, &response, code, err);
    code = cv_rest_read_token(response.body.data, response.body.length, &reply, err);
    if (code != CV_OK) {
        cv_context(err, "getting a token");
        return fail_token(settings, &response, code, err);
    }
    if (response.body.data)
        explicit_bzero(response.body.data, response.body.length);
    set_token(catalog, reply.token, reply.expires_in_s);
    return CV_OK;
}

static bool can_exchange(const struct cv_rest_catalog *catalog)
{
    return catalog->settings.token_exchange_enabled && catalog->token.text;
}

/* By the credential where there is one: exchanging is what many identity providers refuse. */
static enum cv_code renew_locked(struct cv_rest_catalog *catalog, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(wipe) struct cv_buf form = CV_BUF_INIT(4 * CV_REST_TOKEN_BYTES_MAX);
    CV_CLEANUP(cv_freep) char *bearer = NULL;
    enum cv_code code;

    if (catalog->settings.credential) {
        put_credentials(&catalog->settings, &form, &arena);
    } else {
        put_exchange(catalog->token.text, &form, &arena);
        bearer = cv_strdup(catalog->token.text);
    }
    put_common(&catalog->settings, &form, &arena);
    code = cv_buf_check(&form, "the request for a token", err);
    if (code == CV_OK)
        code = ask_for_token(catalog, &form, bearer, &arena, err);
    return code;
}

static bool is_oauth(const struct cv_rest_catalog *catalog)
{
    return cv_rest_auth_type(&catalog->settings) == CV_REST_OAUTH2;
}

static enum cv_code get_locked(struct cv_rest_catalog *catalog, struct cv_error *err)
{
    struct cv_rest_token *token = &catalog->token;
    int64_t now = cv_now_ms();
    enum cv_code code;

    if (!token->text && !catalog->settings.credential)
        return cv_fail(err, CV_CONFIG, "rest.auth.type oauth2 needs `credential` or `token`");
    if (!token->text)
        return renew_locked(catalog, err);
    if (token->renew_ms < 0 || now < token->renew_ms || !catalog->settings.token_refresh_enabled ||
        (!catalog->settings.credential && !can_exchange(catalog)))
        return CV_OK;
    code = renew_locked(catalog, err);
    if (code == CV_OK || now >= token->expires_ms)
        return code;
    token->renew_ms = CV_MIN(now + 10000, token->expires_ms); /* the old one serves until its end */
    cv_error_clear(err);
    return CV_OK;
}

enum cv_code cv_rest_token_get(struct cv_rest_catalog *catalog, char **ret_token,
                               uint64_t *ret_version, struct cv_error *err)
{
    enum cv_code code;

    *ret_token = NULL;
    if (!is_oauth(catalog))
        return CV_OK;
    (void)pthread_mutex_lock(&catalog->token_lock);
    code = get_locked(catalog, err);
    if (code == CV_OK) {
        *ret_token = cv_strdup(catalog->token.text);
        *ret_version = catalog->token.version;
    }
    (void)pthread_mutex_unlock(&catalog->token_lock);
    return code;
}

bool cv_rest_token_renew(struct cv_rest_catalog *catalog, uint64_t version, struct cv_error *err)
{
    struct cv_error own = CV_ERROR_INIT;
    bool renewed;

    if (!is_oauth(catalog))
        return false;
    (void)pthread_mutex_lock(&catalog->token_lock);
    renewed = catalog->token.version != version;
    if (!renewed && (catalog->settings.credential || can_exchange(catalog))) {
        renewed = renew_locked(catalog, &own) == CV_OK;
        if (!renewed)
            cv_hint(err, "check `%s`; another token could not be got either: %.300s",
                    catalog->settings.credential ? "credential" : "token", own.message);
    }
    (void)pthread_mutex_unlock(&catalog->token_lock);
    return renewed;
}

static const char *signing_region(const struct cv_rest_catalog *catalog)
{
    const char *region = catalog->settings.signing_region;

    if (!region)
        region = cv_properties_get(&catalog->properties, "client.region");
    if (!region)
        region = getenv("AWS_REGION");
    return region ? region : getenv("AWS_DEFAULT_REGION");
}

static enum cv_code init_signing(struct cv_rest_catalog *catalog, struct cv_error *err)
{
    CV_CLEANUP(cv_properties_release) struct cv_properties keys = {0};
    struct cv_rest_settings *settings = &catalog->settings;
    struct cv_credential_config config = {.properties = &keys, .counts = &catalog->base.counts};

    settings->signing_region = signing_region(catalog);
    if (!settings->signing_region) {
        (void)cv_fail(err, CV_CONFIG, "requests cannot be signed without a region");
        cv_hint(err, "set rest.signing-region");
        return CV_CONFIG;
    }
    if (settings->access_key_id)
        cv_properties_set(&keys, "s3.access-key-id", settings->access_key_id);
    if (settings->secret_access_key)
        cv_properties_set(&keys, "s3.secret-access-key", settings->secret_access_key);
    if (settings->session_token)
        cv_properties_set(&keys, "s3.session-token", settings->session_token);
    cv_credential_source_free(cv_steal(catalog->signing));
    return cv_credential_source_new(&config, &catalog->signing, err);
}

enum cv_code cv_rest_auth_init(struct cv_rest_catalog *catalog, struct cv_error *err)
{
    const struct cv_rest_settings *settings = &catalog->settings;
    enum cv_rest_auth_type type = cv_rest_auth_type(settings);

    if (type == CV_REST_BASIC && (!settings->basic_username || !settings->basic_password))
        return cv_fail(err, CV_CONFIG,
                       "rest.auth.type basic needs rest.auth.basic.username and "
                       "rest.auth.basic.password");
    if (type == CV_REST_SIGV4)
        return init_signing(catalog, err);
    if (type == CV_REST_OAUTH2 && settings->token &&
        (!catalog->token.text || strcmp(catalog->token.text, settings->token) != 0))
        set_token(catalog, cv_strdup(settings->token), -1);
    return CV_OK;
}
