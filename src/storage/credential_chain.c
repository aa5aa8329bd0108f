/* SPDX-License-Identifier: Apache-2.0
 *
 * Which place credentials come from: what the catalog or the configuration gives, then the
 * environment, a web identity, the shared files, the container, the instance. */
#include "storage/credentials_int.h"

#include "base/error_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names in order of preference: Java's of S3, PyIceberg's for all of AWS. */
static const char *first_of(const struct cv_properties *properties, const char *const names[2])
{
    const char *value = NULL;

    for (size_t i = 0; i < 2 && !value && properties; i++)
        value = cv_properties_get(properties, names[i]);
    return value && *value ? value : NULL;
}

static enum cv_code read_expiry(const struct cv_properties *properties, int64_t *ret_ms,
                                struct cv_error *err)
{
    return cv_properties_get_i64(properties, "s3.session-token-expires-at-ms", 0, INT64_MAX / 2,
                                 ret_ms, err);
}

enum cv_code cv_credentials_from_properties(const struct cv_properties *properties,
                                            struct cv_credentials *ret_credentials,
                                            struct cv_error *err)
{
    static const char *const ids[] = {"s3.access-key-id", "client.access-key-id"};
    static const char *const secrets[] = {"s3.secret-access-key", "client.secret-access-key"};
    static const char *const tokens[] = {"s3.session-token", "client.session-token"};
    const char *id = first_of(properties, ids);
    const char *secret = first_of(properties, secrets);
    int64_t expires_ms = -1;

    if (!id && !secret)
        return cv_fail(err, CV_NOT_FOUND, "no s3.access-key-id is set");
    if (!id || !secret) {
        (void)cv_fail(err, CV_CONFIG, "%s is set without %s", id ? ids[0] : secrets[0],
                      id ? secrets[0] : ids[0]);
        cv_hint(err, "set both, or neither to use the environment, profile or instance");
        return CV_CONFIG;
    }
    CV_DO(read_expiry(properties, &expires_ms, err));
    return cv_credentials_set(ret_credentials, id, secret, first_of(properties, tokens), expires_ms,
                              err);
}

static enum cv_code ask_properties(struct cv_credential_place *place,
                                   struct cv_credentials *ret_credentials, struct cv_error *err)
{
    return cv_credentials_from_properties(&place->properties, ret_credentials, err);
}

void cv_credential_settings_release(struct cv_properties *settings)
{
    for (size_t i = 0; i < settings->count; i++)
        explicit_bzero(settings->items[i].value, strlen(settings->items[i].value));
    cv_properties_release(settings);
}

static enum cv_code ask_refresh(struct cv_credential_place *place,
                                struct cv_credentials *ret_credentials, struct cv_error *err)
{
    CV_CLEANUP(cv_credential_settings_release) struct cv_properties fresh = {0};
    enum cv_code code;

    cv_request_count(place->counts, CV_REQUEST_TOKEN);
    CV_DO(place->refresh(place->refresh_context, &fresh, err));
    code = cv_credentials_from_properties(&fresh, ret_credentials, err);
    return code == CV_NOT_FOUND ? cv_fail(err, CV_AUTH, "no keys came with the answer") : code;
}

static enum cv_code ask_nobody(struct cv_credential_place *place,
                               struct cv_credentials *ret_credentials, struct cv_error *err)
{
    (void)place;
    (void)ret_credentials;
    (void)err;
    return CV_OK;
}

static enum cv_code ask_environment(struct cv_credential_place *place,
                                    struct cv_credentials *ret_credentials, struct cv_error *err)
{
    const char *id = cv_environment("AWS_ACCESS_KEY_ID");
    const char *secret = cv_environment("AWS_SECRET_ACCESS_KEY");

    (void)place;
    if (!id || !secret)
        return cv_fail(err, CV_CONFIG, "environment: %s is set without %s",
                       id ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                       id ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
    return cv_credentials_set(ret_credentials, id, secret, cv_environment("AWS_SESSION_TOKEN"), -1,
                              err);
}

const char *cv_environment(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static void settle(struct cv_credential_place *place,
                   enum cv_code (*ask)(struct cv_credential_place *, struct cv_credentials *,
                                       struct cv_error *),
                   const char *name, bool lasting)
{
    place->ask = ask;
    place->name = cv_strdup(name);
    place->lasting = lasting;
}

/* A profile that has something to say about credentials, or that was asked for by name. */
static enum cv_code try_profile(struct cv_credential_place *place, bool *ret_settled,
                                struct cv_error *err)
{
    CV_CLEANUP(cv_credential_settings_release) struct cv_properties settings = {0};
    char file[CV_PATH_BYTES_MAX];
    char name[CV_PATH_BYTES_MAX + 256];
    bool named = false;
    bool found = false;
    const char *profile = cv_profile_name(&place->properties, &named);
    static const char *const telling[] = {"aws_access_key_id", "role_arn", "credential_process",
                                          "sso_session", "sso_start_url"};

    CV_DO(cv_profile_read(profile, &settings, file, &found, err));
    if (!found && named) {
        (void)cv_fail(err, CV_CONFIG, "there is no profile %.200s in %s nor in the config file",
                      profile, file);
        cv_hint(err, "check AWS_PROFILE, AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE");
        return CV_CONFIG;
    }
    *ret_settled = false;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(telling) && found && !*ret_settled; i++)
        *ret_settled = cv_properties_get(&settings, telling[i]) != NULL;
    if (*ret_settled) {
        (void)snprintf(name, sizeof name, "profile %.200s of %s", profile, file);
        settle(place, cv_credential_ask_profile, name, false);
    }
    return CV_OK;
}

static bool environment_true(const char *name)
{
    const char *value = cv_environment(name);

    return value && cv_text_equal_nocase(value, "true");
}

static enum cv_code choose(struct cv_credential_place *place, struct cv_error *err)
{
    bool anonymous = false;
    bool settled = false;

    CV_DO(cv_properties_get_bool(&place->properties, "s3.anonymous", &anonymous, err));
    if (anonymous) {
        settle(place, ask_nobody, "nobody (s3.anonymous)", true);
        return CV_OK;
    }
    if (!cv_profile_configured(&place->properties)) {
        if (cv_environment("AWS_ACCESS_KEY_ID") || cv_environment("AWS_SECRET_ACCESS_KEY")) {
            settle(place, ask_environment, "environment", true);
            return CV_OK;
        }
        if (cv_environment("AWS_WEB_IDENTITY_TOKEN_FILE")) {
            settle(place, cv_credential_ask_web_identity, "web identity", false);
            return CV_OK;
        }
    }
    CV_DO(try_profile(place, &settled, err));
    if (settled)
        return CV_OK;
    if (cv_environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") ||
        cv_environment("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
        settle(place, cv_credential_ask_container, "container", false);
        return CV_OK;
    }
    if (!environment_true("AWS_EC2_METADATA_DISABLED")) {
        settle(place, cv_credential_ask_instance, "instance metadata", false);
        return CV_OK;
    }
    (void)cv_fail(err, CV_CONFIG, "there are no S3 credentials");
    cv_hint(err, "set s3.access-key-id and s3.secret-access-key of the catalog, the environment "
                 "(AWS_ACCESS_KEY_ID …) or a profile; s3.anonymous=true for a public bucket");
    cv_error_set_part(err, CV_PART_AUTHORIZATION);
    return CV_CONFIG;
}

enum cv_code cv_credential_place_init(struct cv_credential_place *place,
                                      const struct cv_credential_config *config,
                                      struct cv_error *err)
{
    CV_CLEANUP(cv_credentials_release) struct cv_credentials given = {0};
    enum cv_code code;

    place->counts = config->counts;
    place->refresh = config->refresh;
    place->refresh_context = config->refresh_context;
    if (config->properties)
        cv_properties_copy(&place->properties, config->properties);
    if (config->refresh) {
        settle(place, ask_refresh, "catalog", false);
        return CV_OK;
    }
    code = cv_credentials_from_properties(&place->properties, &given, err);
    if (code == CV_OK)
        settle(place, ask_properties, "s3.access-key-id of the catalog", true);
    return code == CV_NOT_FOUND ? choose(place, err) : code;
}

void cv_credential_place_release(struct cv_credential_place *place)
{
    cv_credential_settings_release(&place->properties);
    cv_http_client_free(place->client);
    cv_freep(&place->name);
}
