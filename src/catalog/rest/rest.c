/* SPDX-License-Identifier: Apache-2.0
 *
 * The REST catalog as a catalog: a server keeps the metadata and applies changes itself. */
#include "catalog/rest/rest_int.h"

#include <stdlib.h>

static void rest_free(struct cv_catalog *base)
{
    struct cv_rest_catalog *catalog = (struct cv_rest_catalog *)base;

    cv_rest_reporter_free(catalog->reporter);
    cv_http_client_free(catalog->http);
    cv_credential_source_free(catalog->signing);
    cv_rest_token_release(&catalog->token);
    for (size_t i = 0; i < catalog->state_count; i++) {
        free(catalog->states[i].name);
        free(catalog->states[i].location);
        free(catalog->states[i].etag);
        free(catalog->states[i].token);
    }
    free(catalog->states);
    cv_properties_release(&catalog->properties);
    cv_properties_release(&catalog->settings.headers);
    (void)pthread_mutex_destroy(&catalog->configure_lock);
    (void)pthread_mutex_destroy(&catalog->token_lock);
    (void)pthread_mutex_destroy(&catalog->lock);
    cv_arena_release(&catalog->arena);
    free(catalog);
}

static enum cv_code check_uri(const char *uri, struct cv_error *err)
{
    if (!uri)
        return cv_fail(err, CV_CONFIG,
                       "a rest catalog needs `uri`, for example "
                       "https://catalog.example.com");
    if (!cv_text_starts_with(uri, "http://") && !cv_text_starts_with(uri, "https://"))
        return cv_fail(err, CV_CONFIG, "`uri` of a rest catalog begins with https:// or http://");
    if (strchr(uri, '?') || strchr(uri, '#'))
        return cv_fail(err, CV_CONFIG, "`uri` of a rest catalog has no parameters");
    return CV_OK;
}

static enum cv_code init(struct cv_rest_catalog *catalog, const struct cv_properties *properties,
                         struct cv_error *err)
{
    struct cv_http_config config = {.response_bytes_max = CV_REST_ANSWER_BYTES_MAX};

    cv_properties_copy(&catalog->properties, properties);
    CV_DO(cv_rest_settings_read(properties, &catalog->arena, &catalog->settings, err));
    config.ca_file = catalog->settings.ca_file;
    config.ca_option = "ssl.cabundle";
    config.connect_timeout_ms = catalog->settings.connect_timeout_ms;
    config.timeout_ms = catalog->settings.timeout_ms;
    return cv_http_client_new(&config, &catalog->http, err);
}

static enum cv_code rest_open(const char *name, const struct cv_catalog_settings *settings,
                              const struct cv_properties *properties,
                              struct cv_catalog **ret_catalog, struct cv_error *err)
{
    struct cv_rest_catalog *catalog;
    enum cv_code code;

    CV_DO(check_uri(settings->uri, err));
    catalog = cv_alloc(sizeof *catalog);
    catalog->base.ops = &cv_rest_catalog_ops;
    (void)pthread_mutex_init(&catalog->configure_lock, NULL);
    (void)pthread_mutex_init(&catalog->token_lock, NULL);
    (void)pthread_mutex_init(&catalog->lock, NULL);
    catalog->name = cv_arena_strdup(&catalog->arena, name);
    catalog->uri = cv_rest_trim_slashes(settings->uri, &catalog->arena);
    if (settings->warehouse)
        catalog->warehouse = cv_arena_strdup(&catalog->arena, settings->warehouse);
    code = init(catalog, properties, err);
    if (code != CV_OK) {
        rest_free(&catalog->base);
        return code;
    }
    *ret_catalog = &catalog->base;
    return CV_OK;
}

/* The server chooses. */
static enum cv_code rest_table_location(struct cv_catalog *base, const struct cv_table_name *name,
                                        struct cv_arena *arena, const char **ret_location,
                                        struct cv_error *err)
{
    (void)base;
    (void)name;
    (void)arena;
    (void)err;
    *ret_location = NULL;
    return CV_OK;
}

static const char *auth_text(const struct cv_rest_catalog *catalog)
{
    switch (cv_rest_auth_type(&catalog->settings)) {
    case CV_REST_NONE:
        break;
    case CV_REST_BASIC:
        return "basic";
    case CV_REST_OAUTH2:
        return catalog->settings.credential ? "OAuth2 by credential" : "OAuth2 by token";
    case CV_REST_SIGV4:
        return "AWS signature";
    }
    return "none";
}

static enum cv_code rest_check(struct cv_catalog *base, cv_catalog_report *report, void *context,
                               struct cv_error *err)
{
    struct cv_rest_catalog *catalog = (struct cv_rest_catalog *)base;
    struct cv_error own = CV_ERROR_INIT;
    const char *prefix;

    if (cv_rest_configure(catalog, &own) != CV_OK) {
        report(context, own.code == CV_AUTH ? "authorization" : "server", NULL, &own);
        if (err)
            *err = own;
        return own.code;
    }
    report(context, "server", catalog->uri, NULL);
    report(context, "authorization", auth_text(catalog), NULL);
    prefix = catalog->settings.prefix;
    if (cv_rest_try_listing(catalog, &own) != CV_OK) {
        if (own.code == CV_NOT_FOUND)
            cv_hint(&own, "the catalog knows no such `prefix`: leave it out, its configuration "
                          "tells the right one");
        report(context, own.code == CV_AUTH ? "authorization" : "prefix", NULL, &own);
        if (err)
            *err = own;
        return own.code;
    }
    report(context, "prefix", prefix && *prefix ? prefix : "none", NULL);
    report(context, "warehouse", catalog->warehouse ? catalog->warehouse : "the server's own",
           NULL);
    return CV_OK;
}

const struct cv_catalog_ops cv_rest_catalog_ops = {
    .type = "rest",
    .writes_metadata = true,
    .options = &cv_rest_options,
    .open = rest_open,
    .load = cv_rest_load,
    .create = cv_rest_create,
    .commit = cv_rest_commit,
    .register_table = cv_rest_register,
    .rename = cv_rest_rename,
    .drop = cv_rest_drop,
    .list = cv_rest_list,
    .table_location = rest_table_location,
    .vend = cv_rest_vend,
    .check = rest_check,
    .free = rest_free,
};
