/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration of a REST catalog: what the server sets by default, what the user set over it,
 * and what the server insists on. Asked for once, before the first use. */
#include "catalog/rest/rest_int.h"

#include "base/error_part.h"

#include "storage/sign.h"

#include <stdlib.h>

/* What a server without a list of endpoints offers. */
#define CLASSIC_ENDPOINTS (CV_REST_METRICS | CV_REST_RENAME | CV_REST_REGISTER)

/* "%2E" → "." */
static const char *decode(const char *text, struct cv_arena *arena)
{
    char *decoded = cv_arena_strdup(arena, text);

    decoded[cv_uri_decode(decoded, strlen(decoded), false)] = '\0';
    return decoded;
}

/* Keys of the stores: what is neither every catalog's nor the type's own. */
static void take_store_properties(struct cv_rest_catalog *catalog,
                                  const struct cv_properties *merged)
{
    const struct cv_option_table *const own[] = {&cv_catalog_options, &cv_rest_options};
    struct cv_properties *to = &catalog->base.store_properties;

    for (size_t i = 0; i < merged->count; i++) {
        size_t which;

        if (cv_options_find(own, CV_ARRAY_LENGTH(own), merged->items[i].key, &which, NULL) != CV_OK)
            cv_properties_set(to, merged->items[i].key, merged->items[i].value);
    }
}

const char *cv_rest_trim_slashes(const char *uri, struct cv_arena *arena)
{
    size_t length = strlen(uri);

    while (length && uri[length - 1] == '/')
        length--;
    return cv_arena_strndup(arena, uri, length);
}

/* The server may also send the client to another address. */
static enum cv_code use_config(struct cv_rest_catalog *catalog,
                               const struct cv_rest_config_reply *reply, struct cv_error *err)
{
    CV_CLEANUP(cv_properties_release) struct cv_properties merged = {0};
    struct cv_rest_settings settings;
    const char *uri;

    cv_properties_copy(&merged, &reply->defaults);
    cv_properties_copy(&merged, &catalog->properties);
    cv_properties_copy(&merged, &reply->overrides);
    CV_TRY(cv_rest_settings_read(&merged, &catalog->arena, &settings, err), err,
           "configuration of the server");
    cv_properties_release(&catalog->settings.headers);
    catalog->settings = settings;
    uri = cv_properties_get(&reply->overrides, "uri");
    if (uri && *uri)
        catalog->uri = cv_rest_trim_slashes(uri, &catalog->arena);
    catalog->separator = decode(settings.namespace_separator, &catalog->arena);
    catalog->endpoints = reply->has_endpoints ? reply->endpoints : CLASSIC_ENDPOINTS;
    catalog->idempotency = reply->idempotency;
    take_store_properties(catalog, &merged);
    return cv_rest_auth_init(catalog, err);
}

static void tell_elsewhere(struct cv_error *err)
{
    cv_error_set_part(err, CV_PART_SERVICE);
    cv_hint(err, "see that `uri` is the address of a REST catalog, with its path before /v1");
}

/* Who understood the question and cannot answer it does not know the warehouse. */
static enum cv_code fail_config(const struct cv_rest_catalog *catalog,
                                const struct cv_http_response *response, enum cv_code code,
                                struct cv_error *err)
{
    char text[512];

    if (!err || cv_error_part_name(err) || response->status < 400 || response->status >= 500 ||
        code == CV_AUTH || cv_retry_status(response->status))
        return code;
    cv_rest_read_error(response->body.data, response->body.length, text);
    if (!*text) {
        tell_elsewhere(err);
    } else {
        cv_error_set_part(err, CV_PART_WAREHOUSE);
        if (catalog->warehouse)
            cv_hint(err, "does the catalog have the `warehouse` %.200s?", catalog->warehouse);
        else
            cv_hint(err, "most catalogs want to be told a `warehouse`");
    }
    return code;
}

static enum cv_code ask(struct cv_rest_catalog *catalog, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};
    CV_CLEANUP(cv_rest_config_reply_release) struct cv_rest_config_reply reply = {0};
    enum cv_code code;
    struct cv_rest_call call = {.verb = CV_REST_READ,
                                .kind = CV_REQUEST_CATALOG_READ,
                                .method = "GET",
                                .what = "configuration of the server"};

    call.url = cv_arena_printf(&arena, "%s/v1/config", catalog->uri);
    if (catalog->warehouse)
        call.url = cv_arena_printf(&arena, "%s?warehouse=%s", call.url,
                                   cv_uri_encode(catalog->warehouse, false, &arena));
    code = cv_rest_send(catalog, &call, &response, NULL, err);
    if (code != CV_OK)
        return fail_config(catalog, &response, code, err);
    code = cv_rest_read_config(response.body.data, response.body.length, &reply, err);
    if (code != CV_OK) {
        cv_context(err, "configuration of the server");
        tell_elsewhere(err);
        return code;
    }
    return use_config(catalog, &reply, err);
}

enum cv_code cv_rest_configure(struct cv_rest_catalog *catalog, struct cv_error *err)
{
    enum cv_code code = CV_OK;

    (void)pthread_mutex_lock(&catalog->configure_lock);
    if (!catalog->configured) {
        code = cv_rest_auth_init(catalog, err);
        if (code == CV_OK)
            code = ask(catalog, err);
        catalog->configured = code == CV_OK;
    }
    (void)pthread_mutex_unlock(&catalog->configure_lock);
    return code;
}
