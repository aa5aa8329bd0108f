/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of a REST catalog, by the names of Iceberg's Java and Python clients. */
#include "catalog/rest/rest_int.h"

#define SETTING(field) offsetof(struct cv_rest_settings, field)
#define WAIT_MS_MAX    INT64_C(3600000)

static const struct cv_option options[] = {
    {.name = "prefix",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(prefix),
     .help = "Path below /v1/ that the tables are in; the server mostly tells it itself."},
    {.name = "namespace-separator",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(namespace_separator),
     .default_text = "%1F",
     .help = "What stands between the levels of a namespace in a path, encoded; the server mostly "
             "tells it itself."},
    {.name = "rest.auth.type",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(auth_type_text),
     .help = "none, basic, oauth2 or sigv4; without it oauth2 where a credential or token is set, "
             "sigv4 by rest.sigv4-enabled, else none."},
    {.name = "rest.auth.basic.username",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(basic_username),
     .help = "User for basic authentication."},
    {.name = "rest.auth.basic.password",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(basic_password),
     .flags = CV_OPTION_SECRET,
     .help = "Password for basic authentication."},
    {.name = "credential",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(credential),
     .flags = CV_OPTION_SECRET,
     .help = "client_id:client_secret (or only the secret) that tokens are got with by OAuth2."},
    {.name = "token",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(token),
     .flags = CV_OPTION_SECRET,
     .help = "A bearer token."},
    {.name = "scope",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(scope),
     .default_text = "catalog",
     .help = "Scope that an OAuth2 token is asked for."},
    {.name = "audience",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(audience),
     .help = "Audience that an OAuth2 token is asked for."},
    {.name = "resource",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(resource),
     .help = "Resource that an OAuth2 token is asked for."},
    {.name = "oauth2-server-uri",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(oauth2_server_uri),
     .help = "Where OAuth2 tokens are got; without it <uri>/v1/oauth/tokens."},
    {.name = "token-exchange-enabled",
     .type = CV_OPTION_BOOL,
     .offset = SETTING(token_exchange_enabled),
     .default_text = "true",
     .help = "Exchange a `token` that has no `credential` for a new one before it ends; with a "
             "credential a new token is always got by that."},
    {.name = "token-refresh-enabled",
     .type = CV_OPTION_BOOL,
     .offset = SETTING(token_refresh_enabled),
     .default_text = "true",
     .help = "Get a new token before the old one ends; without it only when the server refuses the "
             "old one."},
    {.name = "rest.sigv4-enabled",
     .type = CV_OPTION_BOOL,
     .offset = SETTING(sigv4_enabled),
     .default_text = "false",
     .help = "Sign requests as AWS services want it."},
    {.name = "rest.signing-region",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(signing_region),
     .help = "Region of the signature; without it client.region, AWS_REGION or "
             "AWS_DEFAULT_REGION."},
    {.name = "rest.signing-name",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(signing_name),
     .default_text = "execute-api",
     .help = "Service of the signature: execute-api, glue or s3tables."},
    {.name = "rest.access-key-id",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(access_key_id),
     .help = "Key that requests are signed with; without it the usual AWS chain."},
    {.name = "rest.secret-access-key",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(secret_access_key),
     .flags = CV_OPTION_SECRET,
     .help = "Secret of rest.access-key-id."},
    {.name = "rest.session-token",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(session_token),
     .flags = CV_OPTION_SECRET,
     .help = "Session token of rest.access-key-id."},
    {.name = "header.",
     .type = CV_OPTION_PREFIX,
     .offset = SETTING(headers),
     .flags = CV_OPTION_SECRET,
     .help = "A header of every request, for example header.X-Iceberg-Access-Delegation, which is "
             "vended-credentials unless it is set (to nothing: no credentials are asked for)."},
    {.name = "rest.client.connection-timeout-ms",
     .type = CV_OPTION_INTEGER,
     .offset = SETTING(connect_timeout_ms),
     .default_text = "10000",
     .min = 1,
     .max = WAIT_MS_MAX,
     .help = "How long a connection may take to come up."},
    {.name = "rest.client.socket-timeout-ms",
     .type = CV_OPTION_INTEGER,
     .offset = SETTING(timeout_ms),
     .default_text = "60000",
     .min = 1,
     .max = WAIT_MS_MAX,
     .help = "How long a request may take in all."},
    {.name = "rest.client.max-retries",
     .type = CV_OPTION_INTEGER,
     .offset = SETTING(max_retries),
     .default_text = "5",
     .min = 0,
     .max = 100,
     .help = "How often a request that changes nothing, or was not carried out, is sent again."},
    {.name = "rest.client.retry-min-wait-ms",
     .type = CV_OPTION_INTEGER,
     .offset = SETTING(retry_min_wait_ms),
     .default_text = "1000",
     .min = 1,
     .max = WAIT_MS_MAX,
     .help = "The wait before a request is sent again, which doubles each time; calve's own."},
    {.name = "rest-page-size",
     .type = CV_OPTION_INTEGER,
     .offset = SETTING(page_size),
     .default_text = "0",
     .max = 1000000,
     .help = "Names per page of a listing; 0 = as many as the server likes."},
    {.name = "rest-metrics-reporting-enabled",
     .type = CV_OPTION_BOOL,
     .offset = SETTING(metrics_enabled),
     .default_text = "true",
     .help = "Tell the catalog about each commit, after it, where it takes such reports."},
    {.name = "ssl.cabundle",
     .type = CV_OPTION_TEXT,
     .offset = SETTING(ca_file),
     .help = "File of the authorities to trust for https; without it the system's."},
    CV_OPTION_REFUSES_ALL("rest.client.proxy.", "set the environment variable https_proxy"),
    CV_OPTION_REFUSES_ALL("rest.client.tls.", "name the authorities to trust with ssl.cabundle"),
    CV_OPTION_REFUSES_ALL("rest.auth.sigv4.",
                          "requests are signed or carry a token, not both: leave it out"),
    CV_OPTION_TAKES("rest.client.max-connections", "connections are made as they are needed"),
    CV_OPTION_TAKES("rest.client.connections-per-route", "connections are made as they are needed"),
    CV_OPTION_TAKES("rest.client.user-agent", "calve tells its own name"),
    CV_OPTION_TAKES("snapshot-loading-mode",
                    "all snapshots are loaded always: positions are in them"),
    CV_OPTION_TAKES("view-endpoints-supported", "there are no views here"),
    CV_OPTION_TAKES("scan-planning-mode", "scans are planned here"),
    CV_OPTION_TAKES("token-expires-in-ms", "what the token and the server say counts"),
    CV_OPTION_TAKES("rest-table-cache.expire-after-write-ms", "a table is asked for by its etag"),
    CV_OPTION_TAKES("rest-table-cache.max-entries", "a table is asked for by its etag"),
    CV_OPTION_TAKES("oauth2.session-timeout-ms", "there is one session"),
};

const struct cv_option_table cv_rest_options = {
    .section = "catalogs.<name>",
    .about = "A catalog of type rest takes these besides.",
    .options = options,
    .count = CV_ARRAY_LENGTH(options),
};

static const char *const auth_types[] = {"none", "basic", "oauth2", "sigv4"};

static enum cv_code check_auth_type(struct cv_rest_settings *settings, struct cv_error *err)
{
    const char *given = settings->auth_type_text;

    settings->auth_type = CV_REST_NONE;
    if (!given && settings->sigv4_enabled)
        settings->auth_type = CV_REST_SIGV4;
    else if (!given && (settings->credential || settings->token))
        settings->auth_type = CV_REST_OAUTH2;
    if (!given)
        return CV_OK;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(auth_types); i++)
        if (cv_text_equal_nocase(given, auth_types[i])) {
            settings->auth_type = (int)i;
            return CV_OK;
        }
    (void)cv_fail(err, CV_UNSUPPORTED, "rest.auth.type %.100s is not supported", given);
    cv_hint(err, "the types are none, basic, oauth2 and sigv4");
    return CV_UNSUPPORTED;
}

enum cv_rest_auth_type cv_rest_auth_type(const struct cv_rest_settings *settings)
{
    return (enum cv_rest_auth_type)settings->auth_type;
}

enum cv_code cv_rest_settings_read(const struct cv_properties *properties, struct cv_arena *arena,
                                   struct cv_rest_settings *ret_settings, struct cv_error *err)
{
    const struct cv_option_table *const tables[] = {&cv_rest_options};
    struct cv_rest_settings settings = {0};
    enum cv_code code = cv_options_defaults(&cv_rest_options, &settings, arena, err);

    for (size_t i = 0; code == CV_OK && i < properties->count; i++) {
        const struct cv_property *item = &properties->items[i];
        size_t which;

        if (cv_options_find(tables, 1, item->key, &which, NULL) == CV_OK)
            code = cv_options_set(&cv_rest_options, &settings, arena, item->key, item->value, err);
    }
    if (code == CV_OK)
        code = check_auth_type(&settings, err);
    if (code != CV_OK) {
        cv_properties_release(&settings.headers);
        return code;
    }
    *ret_settings = settings;
    return CV_OK;
}
