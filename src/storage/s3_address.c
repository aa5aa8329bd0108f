/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a request goes: a location's bucket and key, the URL in path or virtual-host style, the
 * region of each bucket as it is learnt (reference/iceberg.md 9.2). */
#include "storage/s3_int.h"

#include "storage/sign.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define REGION_DEFAULT "us-east-1"

static bool is_bucket_name(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("-._", name[i]))
            return false;
    return length > 0 && length < S3_BUCKET_BYTES_MAX;
}

enum cv_code s3_location_split(const char *location, struct s3_location *ret, struct cv_error *err)
{
    static const char *const schemes[] = {"s3://", "s3a://", "s3n://"};
    const char *bucket = NULL;
    size_t length;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(schemes) && !bucket; i++)
        if (cv_text_starts_with(location, schemes[i]))
            bucket = location + strlen(schemes[i]);
    if (!bucket)
        return cv_fail(err, CV_CONFIG, "%.1500s is not an S3 location (s3://bucket/key)", location);
    length = strcspn(bucket, "/");
    if (!is_bucket_name(bucket, length))
        return cv_fail(err, CV_CONFIG, "%.1500s: \"%.100s\" is not the name of a bucket", location,
                       length ? bucket : "");
    memcpy(ret->bucket, bucket, length);
    ret->bucket[length] = '\0';
    bucket += length + (bucket[length] == '/');
    length = strlen(bucket);
    if (length > S3_KEY_BYTES_MAX)
        return cv_fail(err, CV_LIMIT, "%.200s…: the key has %zu bytes, S3 allows %d", location,
                       length, S3_KEY_BYTES_MAX);
    memcpy(ret->key, bucket, length + 1);
    return CV_OK;
}

static enum cv_code parse_endpoint(struct s3_store *store, const char *endpoint,
                                   struct cv_error *err)
{
    struct cv_arena *arena = &store->arena;
    const char *host = strstr(endpoint, "://");
    size_t length;

    store->scheme = host ? cv_arena_strndup(arena, endpoint, (size_t)(host - endpoint)) : "https";
    host = host ? host + 3 : endpoint;
    length = strcspn(host, "/");
    if ((strcmp(store->scheme, "http") != 0 && strcmp(store->scheme, "https") != 0) || !length ||
        strpbrk(host, "?#@ \r\n")) {
        (void)cv_fail(err, CV_CONFIG, "s3.endpoint is not the URL of a service");
        cv_hint(err, "write it as https://host:port");
        return CV_CONFIG;
    }
    store->host = cv_arena_strndup(arena, host, length);
    store->path = host + length;
    length = strlen(store->path);
    while (length && store->path[length - 1] == '/')
        length--;
    store->path = cv_arena_strndup(arena, store->path, length);
    store->amazon = strstr(store->host, ".amazonaws.com") != NULL;
    return CV_OK;
}

static bool is_region(const char *region)
{
    size_t length = strlen(region);

    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)region[i]) && region[i] != '-' && region[i] != '_')
            return false;
    return length > 0 && length < 64;
}

static const char *first_of_environment(const char *a, const char *b)
{
    const char *value = getenv(a);

    if (!value || !*value)
        value = getenv(b);
    return value && *value ? value : NULL;
}

enum cv_code s3_address_init(struct s3_store *store, const struct cv_properties *properties,
                             struct cv_error *err)
{
    const char *endpoint = store->settings.endpoint;
    const char *region = store->settings.region;

    store->scheme = "https";
    store->path = "";
    store->amazon = true;
    if (!endpoint || !*endpoint)
        endpoint = first_of_environment("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL");
    if (endpoint)
        CV_DO(parse_endpoint(store, endpoint, err));
    store->path_style = store->settings.path_style
                            ? cv_text_equal_nocase(store->settings.path_style, "true")
                            : store->host && !store->amazon;
    if (!region || !*region)
        region = first_of_environment("AWS_REGION", "AWS_DEFAULT_REGION");
    if (!region)
        CV_DO(cv_credential_profile_region(properties, &store->arena, &region, err));
    if (!region)
        region = REGION_DEFAULT;
    if (!is_region(region))
        return cv_fail(err, CV_CONFIG, "\"%.100s\" is not the name of a region (client.region)",
                       region);
    (void)snprintf(store->region, sizeof store->region, "%s", region);
    return CV_OK;
}

static bool is_host_label(const char *bucket)
{
    for (const char *c = bucket; *c; c++)
        if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '-')
            return false; /* with a dot, the certificate's *.s3.… does not match */
    return true;
}

static const char *amazon_host(const char *region, struct cv_arena *arena)
{
    return cv_arena_printf(arena, "s3.%s.amazonaws.com%s", region,
                           strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
}

const char *s3_url(const struct s3_store *store, const struct s3_request *request,
                   const char *region, struct cv_arena *arena)
{
    const char *key = request->key && *request->key ? request->key : "";
    const char *host = store->host ? store->host : amazon_host(region, arena);
    bool path_style = store->path_style || !is_host_label(request->bucket);

    return cv_arena_printf(arena, "%s://%s%s%s%s%s%s%s%s%s%s", store->scheme,
                           path_style ? "" : request->bucket, path_style ? "" : ".", host,
                           store->path, path_style ? "/" : "", path_style ? request->bucket : "",
                           *key || !path_style ? "/" : "", cv_uri_encode(key, true, arena),
                           request->query ? "?" : "", request->query ? request->query : "");
}

/* With the lock held; NULL when absent. */
static struct s3_bucket *find_bucket(struct s3_store *store, const char *name)
{
    for (struct s3_bucket *bucket = store->buckets; bucket; bucket = bucket->next)
        if (strcmp(bucket->name, name) == 0)
            return bucket;
    return NULL;
}

/* The same, made where it is absent; NULL beyond the limit: then what is learnt is forgotten. */
static struct s3_bucket *find_or_add(struct s3_store *store, const char *name)
{
    struct s3_bucket *bucket = find_bucket(store, name);
    size_t count = 0;

    for (const struct s3_bucket *each = store->buckets; each; each = each->next)
        count++;
    if (bucket || count == S3_BUCKETS_MAX)
        return bucket;
    bucket = cv_alloc(sizeof *bucket);
    (void)snprintf(bucket->name, sizeof bucket->name, "%s", name);
    bucket->next = store->buckets;
    store->buckets = bucket;
    return bucket;
}

void s3_bucket_region(struct s3_store *store, const char *bucket, char region[64])
{
    const struct s3_bucket *found;

    (void)pthread_mutex_lock(&store->lock);
    found = find_bucket(store, bucket);
    (void)snprintf(region, 64, "%s", found && found->region[0] ? found->region : store->region);
    (void)pthread_mutex_unlock(&store->lock);
}

bool s3_bucket_set_region(struct s3_store *store, const char *bucket, const char *region)
{
    struct s3_bucket *found;

    if (!is_region(region))
        return false;
    (void)pthread_mutex_lock(&store->lock);
    found = find_or_add(store, bucket);
    if (found)
        (void)snprintf(found->region, sizeof found->region, "%s", region);
    (void)pthread_mutex_unlock(&store->lock);
    return true;
}

int s3_bucket_conditional(struct s3_store *store, const char *bucket)
{
    const struct s3_bucket *found;
    int conditional;

    (void)pthread_mutex_lock(&store->lock);
    found = find_bucket(store, bucket);
    conditional = found ? found->conditional : 0;
    (void)pthread_mutex_unlock(&store->lock);
    return conditional;
}

void s3_bucket_set_conditional(struct s3_store *store, const char *bucket, int conditional)
{
    struct s3_bucket *found;

    (void)pthread_mutex_lock(&store->lock);
    found = find_or_add(store, bucket);
    if (found)
        found->conditional = conditional;
    (void)pthread_mutex_unlock(&store->lock);
}
