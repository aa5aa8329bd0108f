/* SPDX-License-Identifier: Apache-2.0
 *
 * What a REST catalog answers, read from its JSON. Nothing in it is trusted: sizes are limited,
 * types are checked, texts that go into messages are cleaned. */
#include "catalog/rest/rest_int.h"

#include "codec/base64.h"

#include <stdio.h>
#include <stdlib.h>

static enum cv_code parse_object(const void *bytes, size_t length, struct cv_json **ret_root,
                                 struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;

    CV_DO(cv_json_parse(bytes, length, &root, err));
    if (!cv_json_is_object(root))
        return cv_fail(err, CV_FORMAT, "the answer is not a JSON object");
    *ret_root = cv_steal(root);
    return CV_OK;
}

/* {"key":"text",…}; numbers and booleans are taken as their text, null as absent. */
static enum cv_code read_properties(const struct cv_json *object, const char *key,
                                    struct cv_properties *properties, struct cv_error *err)
{
    const struct cv_json *map = cv_json_get(object, key);
    const struct cv_json *value;
    const char *name;
    size_t position = 0;

    if (!map || cv_json_is_null(map))
        return CV_OK;
    if (!cv_json_is_object(map))
        return cv_fail(err, CV_FORMAT, "%s is not an object", key);
    if (cv_json_size(map) > CV_REST_PROPERTIES_MAX)
        return cv_fail(err, CV_FORMAT, "%s has more than %d members", key, CV_REST_PROPERTIES_MAX);
    while ((name = cv_json_next(map, &position, &value))) {
        CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);

        if (cv_json_is_string(value)) {
            cv_properties_set(properties, name, cv_json_text(value));
        } else if (cv_json_is_number(value) || cv_json_is_bool(value)) {
            cv_json_write_node(value, &text);
            cv_properties_set(properties, name, cv_buf_text(&text));
        } else if (!cv_json_is_null(value)) {
            return cv_fail(err, CV_FORMAT, "%s: the value of %.100s is not a text", key, name);
        }
    }
    return CV_OK;
}

void cv_rest_config_reply_release(struct cv_rest_config_reply *reply)
{
    cv_properties_release(&reply->defaults);
    cv_properties_release(&reply->overrides);
}

/* "POST /v1/{prefix}/tables/rename" */
static unsigned endpoint_of(const char *text)
{
    static const struct {
        const char *text;
        enum cv_rest_endpoint endpoint;
    } known[] = {
        {"GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials", CV_REST_CREDENTIALS},
        {"POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/metrics", CV_REST_METRICS},
        {"POST /v1/{prefix}/tables/rename", CV_REST_RENAME},
        {"POST /v1/{prefix}/namespaces/{namespace}/register", CV_REST_REGISTER},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(known); i++)
        if (strcmp(text, known[i].text) == 0)
            return known[i].endpoint;
    return 0;
}

static enum cv_code read_config(const struct cv_json *root, struct cv_rest_config_reply *reply,
                                struct cv_error *err)
{
    const struct cv_json *endpoints = cv_json_get(root, "endpoints");
    const struct cv_json *lifetime = cv_json_get(root, "idempotency-key-lifetime");

    CV_DO(read_properties(root, "defaults", &reply->defaults, err));
    CV_DO(read_properties(root, "overrides", &reply->overrides, err));
    reply->idempotency = lifetime && cv_json_is_string(lifetime);
    if (!endpoints || cv_json_is_null(endpoints))
        return CV_OK;
    if (!cv_json_is_array(endpoints))
        return cv_fail(err, CV_FORMAT, "endpoints is not an array");
    reply->has_endpoints = cv_json_size(endpoints) > 0;
    for (size_t i = 0; i < cv_json_size(endpoints); i++)
        reply->endpoints |= endpoint_of(cv_json_text(cv_json_at(endpoints, i)));
    return CV_OK;
}

enum cv_code cv_rest_read_config(const void *bytes, size_t length,
                                 struct cv_rest_config_reply *ret_reply, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;
    struct cv_rest_config_reply reply = {0};
    enum cv_code code;

    CV_DO(parse_object(bytes, length, &root, err));
    code = read_config(root, &reply, err);
    if (code != CV_OK) {
        cv_rest_config_reply_release(&reply);
        return code;
    }
    *ret_reply = reply;
    return CV_OK;
}

enum cv_code cv_rest_read_token(const void *bytes, size_t length,
                                struct cv_rest_token_reply *ret_reply, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;
    struct cv_rest_token_reply reply = {NULL, -1};
    const char *token = NULL;

    CV_DO(parse_object(bytes, length, &root, err));
    CV_DO(cv_json_read_string(root, "access_token", &token, err));
    CV_DO(cv_json_optional_i64(root, "expires_in", &reply.expires_in_s, err));
    if (!*token || strlen(token) != cv_json_text_length(cv_json_get(root, "access_token")) ||
        strlen(token) > CV_REST_TOKEN_BYTES_MAX)
        return cv_fail(err, CV_FORMAT, "access_token is empty, too long or no text");
    for (const char *c = token; *c; c++)
        if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f)
            return cv_fail(err, CV_FORMAT, "access_token has characters that no header takes");
    if (reply.expires_in_s > INT64_C(10000000000) || reply.expires_in_s < 0)
        reply.expires_in_s = -1;
    reply.token = cv_strdup(token);
    *ret_reply = reply;
    return CV_OK;
}

int64_t cv_rest_token_expiry_ms(const char *token)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;
    CV_CLEANUP(cv_buf_release) struct cv_buf payload = CV_BUF_INIT(CV_REST_TOKEN_BYTES_MAX);
    CV_CLEANUP(cv_freep) char *middle = NULL;
    const char *dot = strchr(token, '.');
    const char *end = dot ? strchr(dot + 1, '.') : NULL;
    const struct cv_json *expiry;

    if (!end || strlen(token) > CV_REST_TOKEN_BYTES_MAX)
        return -1;
    middle = cv_strdup(dot + 1);
    middle[end - dot - 1] = '\0';
    for (char *c = middle; *c; c++) /* the alphabet for URLs */
        *c = (char)(*c == '-' ? '+' : *c == '_' ? '/' : *c);
    if (!cv_base64_decode(cv_str_from(middle), &payload) ||
        parse_object(payload.data, payload.length, &root, NULL) != CV_OK)
        return -1;
    expiry = cv_json_get(root, "exp");
    if (!expiry || !cv_json_is_integer(expiry) || cv_json_integer(expiry) < 0 ||
        cv_json_integer(expiry) > INT64_C(100000000000))
        return -1;
    return cv_json_integer(expiry) * 1000;
}

static void add_grant(struct cv_store_grants *grants, const char *prefix,
                      struct cv_properties *properties)
{
    grants->items = cv_realloc_array(grants->items, grants->count + 1, sizeof *grants->items);
    grants->items[grants->count].prefix = cv_strdup(prefix);
    grants->items[grants->count++].properties = *properties;
    *properties = (struct cv_properties){0};
}

static enum cv_code read_grants(const struct cv_json *root, struct cv_store_grants *grants,
                                struct cv_error *err)
{
    const struct cv_json *list = cv_json_get(root, "storage-credentials");

    if (!list || cv_json_is_null(list))
        return CV_OK;
    if (!cv_json_is_array(list) || cv_json_size(list) > CV_REST_GRANTS_MAX)
        return cv_fail(err, CV_FORMAT, "storage-credentials is no array of at most %d",
                       CV_REST_GRANTS_MAX);
    for (size_t i = 0; i < cv_json_size(list); i++) {
        CV_CLEANUP(cv_properties_release) struct cv_properties properties = {0};
        const char *prefix;

        CV_TRY(cv_json_read_string(cv_json_at(list, i), "prefix", &prefix, err), err,
               "storage-credentials");
        CV_TRY(read_properties(cv_json_at(list, i), "config", &properties, err), err,
               "storage-credentials");
        add_grant(grants, prefix, &properties);
    }
    return CV_OK;
}

/* Keys that stand in `config` itself are vended for everything. */
static void grant_config(struct cv_catalog_entry *entry)
{
    CV_CLEANUP(cv_properties_release) struct cv_properties properties = {0};

    if (entry->grants.count || !cv_properties_get(&entry->config, "s3.access-key-id"))
        return;
    cv_properties_copy(&properties, &entry->config);
    add_grant(&entry->grants, "", &properties);
}

static enum cv_code read_table(const struct cv_json *root, struct cv_arena *arena,
                               struct cv_catalog_entry *entry, struct cv_error *err)
{
    const struct cv_json *metadata = cv_json_get(root, "metadata");
    const char *location = NULL;

    CV_DO(cv_json_read_string(root, "metadata-location", &location, err));
    CV_DO(read_properties(root, "config", &entry->config, err));
    CV_DO(read_grants(root, &entry->grants, err));
    if (!metadata)
        return cv_fail(err, CV_FORMAT, "the answer has no metadata");
    CV_TRY(cv_table_metadata_read_json(metadata, &entry->metadata, err), err, "metadata");
    entry->metadata_location = cv_arena_strdup(arena, location);
    grant_config(entry);
    return CV_OK;
}

enum cv_code cv_rest_read_table(const void *bytes, size_t length, struct cv_arena *arena,
                                struct cv_catalog_entry *ret_entry, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;
    CV_CLEANUP(cv_catalog_entry_release) struct cv_catalog_entry entry = {0};

    CV_DO(parse_object(bytes, length, &root, err));
    CV_DO(read_table(root, arena, &entry, err));
    *ret_entry = entry;
    entry = (struct cv_catalog_entry){0};
    return CV_OK;
}

enum cv_code cv_rest_read_credentials(const void *bytes, size_t length,
                                      struct cv_store_grants *ret_grants, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;
    CV_CLEANUP(cv_store_grants_release) struct cv_store_grants grants = {0};

    CV_DO(parse_object(bytes, length, &root, err));
    CV_DO(read_grants(root, &grants, err));
    *ret_grants = grants;
    grants = (struct cv_store_grants){0};
    return CV_OK;
}

/* ["a","b"] → "a\x1f b"; a level that is no plain text is refused. */
static enum cv_code join_levels(const struct cv_json *levels, struct cv_arena *arena,
                                char **ret_joined, struct cv_error *err)
{
    char *joined = NULL;

    if (!cv_json_is_array(levels) || !cv_json_size(levels) ||
        cv_json_size(levels) > CV_REST_DEPTH_MAX)
        return cv_fail(err, CV_FORMAT, "a namespace is no array of 1 to %d levels",
                       CV_REST_DEPTH_MAX);
    for (size_t i = 0; i < cv_json_size(levels); i++) {
        const struct cv_json *level = cv_json_at(levels, i);
        const char *text = cv_json_text(level);

        if (!*text || strlen(text) != cv_json_text_length(level) || strchr(text, 0x1f))
            return cv_fail(err, CV_FORMAT, "a namespace has a level that is empty or no text");
        joined = joined ? cv_arena_printf(arena, "%s\x1f%s", joined, text)
                        : cv_arena_strdup(arena, text);
    }
    *ret_joined = joined;
    return CV_OK;
}

static enum cv_code read_name(const struct cv_json *item, bool tables, struct cv_arena *arena,
                              char **ret_name, struct cv_error *err)
{
    const char *text;

    if (!tables)
        return join_levels(item, arena, ret_name, err);
    CV_DO(cv_json_read_string(item, "name", &text, err));
    *ret_name = cv_arena_strdup(arena, text);
    return CV_OK;
}

enum cv_code cv_rest_read_page(const void *bytes, size_t length, bool tables,
                               struct cv_arena *arena, char ***ret_names, size_t *ret_count,
                               const char **ret_next, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;
    const struct cv_json *list;
    const char *next = NULL;
    char **names;

    CV_DO(parse_object(bytes, length, &root, err));
    CV_DO(cv_json_read_array(root, tables ? "identifiers" : "namespaces", &list, err));
    CV_DO(cv_json_optional_string(root, "next-page-token", &next, err));
    names = cv_arena_array(arena, char *, cv_json_size(list));
    for (size_t i = 0; i < cv_json_size(list); i++)
        CV_DO(read_name(cv_json_at(list, i), tables, arena, &names[i], err));
    *ret_names = names;
    *ret_count = cv_json_size(list);
    *ret_next = next && *next ? cv_arena_strdup(arena, next) : NULL;
    return CV_OK;
}

/* One line without control characters. */
static void put_clean(char *text, size_t size, const char *from)
{
    size_t length = 0;

    for (; *from && length + 1 < size; from++)
        text[length++] = (unsigned char)*from < ' ' || *from == 0x7f ? ' ' : *from;
    text[length] = '\0';
}

void cv_rest_read_error(const void *bytes, size_t length, char text[512])
{
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;
    const struct cv_json *error;
    const char *message;
    const char *type;
    char joined[768];

    text[0] = '\0';
    if (!length || parse_object(bytes, length, &root, NULL) != CV_OK)
        return;
    error = cv_json_get(root, "error");
    if (cv_json_is_string(error)) { /* of a token endpoint */
        type = cv_json_text(error);
        message = cv_json_text(cv_json_get(root, "error_description"));
    } else {
        type = cv_json_text(cv_json_get(error, "type"));
        message = cv_json_text(cv_json_get(error, "message"));
    }
    (void)snprintf(joined, sizeof joined, "%.100s%s%.400s", type, *type && *message ? ": " : "",
                   message);
    put_clean(text, 512, joined);
}
