/* SPDX-License-Identifier: Apache-2.0
 *
 * Credentials of an S3 store by prefix: those of the configuration for everything, and those that a
 * catalog vends for the files below a prefix, asked for anew through the store's refresh hook. */
#include "storage/s3_int.h"

#include <stdlib.h>

/* Vended prefixes are locations, or just "s3" for all. */
static const char *without_scheme(const char *location)
{
    const char *rest = strstr(location, "://");

    if (rest)
        return rest + 3;
    return strcmp(location, "s3") == 0 || strcmp(location, "s3a") == 0 ||
                   strcmp(location, "s3n") == 0
               ? ""
               : location;
}

/* A folder may be written without the slash that its prefix ends with. */
static bool has_prefix(const char *location, const char *prefix)
{
    const char *path = without_scheme(location);
    const size_t length = strlen(path);

    return cv_text_starts_with(path, prefix) ||
           (length && strncmp(path, prefix, length) == 0 && strcmp(prefix + length, "/") == 0);
}

struct s3_source *s3_source_for(struct s3_store *store, const char *location)
{
    for (size_t i = 0; i < store->source_count; i++)
        if (has_prefix(location, store->sources[i].prefix))
            return &store->sources[i];
    return NULL;
}

const struct cv_store_grant *s3_grant_for(const struct cv_store_grants *grants,
                                          const char *location)
{
    const struct cv_store_grant *best = NULL;

    for (size_t i = 0; i < grants->count; i++) {
        const char *prefix = without_scheme(grants->items[i].prefix);

        if (has_prefix(location, prefix) &&
            (!best || strlen(prefix) > strlen(without_scheme(best->prefix))))
            best = &grants->items[i];
    }
    return best;
}

static enum cv_code refresh_source(void *context, struct cv_properties *ret_properties,
                                   struct cv_error *err)
{
    const struct s3_source *source = context;
    struct s3_store *store = source->store;
    struct cv_store_grants grants CV_CLEANUP(cv_store_grants_release) = {0};
    const struct cv_store_grant *grant;
    enum cv_code code;

    (void)pthread_mutex_lock(&store->refresh_lock);
    code = store->refresh(store->refresh_context, &grants, err);
    (void)pthread_mutex_unlock(&store->refresh_lock);
    if (code != CV_OK)
        return code;
    grant = s3_grant_for(&grants, *source->prefix ? source->prefix : store->location);
    if (!grant)
        return cv_fail(err, CV_AUTH, "the catalog vends no credentials for %s any more",
                       store->location);
    cv_properties_copy(ret_properties, &grant->properties);
    return CV_OK;
}

/* Keys that are granted stand alone: a session token of others would spoil them. */
static void remove_keys(struct cv_properties *properties)
{
    static const char *const names[] = {
        "s3.access-key-id",     "s3.secret-access-key",          "s3.session-token",
        "client.access-key-id", "client.secret-access-key",      "client.session-token",
        "s3.anonymous",         "s3.session-token-expires-at-ms"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++)
        (void)cv_properties_remove(properties, names[i]);
}

static enum cv_code add_source(struct s3_store *store, const char *prefix,
                               const struct cv_properties *base,
                               const struct cv_properties *granted, struct cv_error *err)
{
    struct s3_source *source = &store->sources[store->source_count];
    struct cv_credential_config config = {.properties = &source->properties,
                                          .counts = &store->base.counts};

    *source = (struct s3_source){.store = store, .prefix = cv_strdup(prefix)};
    store->source_count++;
    if (base)
        cv_properties_copy(&source->properties, base);
    if (granted && cv_properties_get(granted, "s3.access-key-id"))
        remove_keys(&source->properties);
    if (granted)
        cv_properties_copy(&source->properties, granted);
    if (store->refresh && cv_properties_get(&source->properties, "s3.access-key-id")) {
        config.refresh = refresh_source;
        config.refresh_context = source;
    }
    return cv_credential_source_new(&config, &source->credentials, err);
}

static void release_source(struct s3_source *source)
{
    cv_credential_source_free(source->credentials);
    cv_properties_release(&source->properties);
    free(source->prefix);
}

static int longest_first(const void *a, const void *b)
{
    const struct cv_store_grant *left = *(const struct cv_store_grant *const *)a;
    const struct cv_store_grant *right = *(const struct cv_store_grant *const *)b;
    size_t left_length = strlen(without_scheme(left->prefix));
    size_t right_length = strlen(without_scheme(right->prefix));

    return (left_length < right_length) - (left_length > right_length);
}

enum cv_code s3_sources_init(struct s3_store *store, const struct cv_store_config *config,
                             struct cv_error *err)
{
    const struct cv_store_grants *grants = config ? config->grants : NULL;
    size_t count = grants ? grants->count : 0;
    CV_CLEANUP(cv_freep) const struct cv_store_grant **sorted = cv_alloc(count * sizeof *sorted);
    bool all = false;
    enum cv_code code;

    if (store->settings.anonymous)
        return CV_OK;
    store->sources = cv_alloc((count + 1) * sizeof *store->sources);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &grants->items[i];
    if (count)
        qsort(sorted, count, sizeof *sorted, longest_first);
    for (size_t i = 0; i < count; i++) {
        const char *prefix = without_scheme(sorted[i]->prefix);

        CV_DO(add_source(store, prefix, config->properties, &sorted[i]->properties, err));
        all = all || !*prefix;
    }
    if (all)
        return CV_OK;
    code = add_source(store, "", config ? config->properties : NULL, NULL, err);
    if (code != CV_OK && count) { /* what is granted does without credentials of this machine */
        release_source(&store->sources[--store->source_count]);
        cv_error_clear(err);
        return CV_OK;
    }
    return code;
}

void s3_sources_release(struct s3_store *store)
{
    for (size_t i = 0; i < store->source_count; i++)
        release_source(&store->sources[i]);
    free(store->sources);
}
