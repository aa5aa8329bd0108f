/* SPDX-License-Identifier: Apache-2.0
 *
 * See registry.h. */
#include "decode/registry.h"

#include "base/map.h"
#include "base/time.h"
#include "storage/http.h"

#include <stdio.h>
#include <stdlib.h>

#define FIRST_WAIT_US         (250 * CV_US_PER_MS)
#define WARN_EACH_US          (60 * CV_US_PER_SECOND)
#define LOOK_EACH_MS          50 /* for cancellation while waiting */
#define CACHED_REFERENCES_MAX 10000

struct cv_registry {
    const struct cv_decoder_config *config;
    struct cv_arena arena;
    char **urls;
    size_t url_count;
    size_t url; /* the one that answered last */
    struct cv_http_client *client;
    struct cv_map versions; /* "subject/version" → struct cv_registry_answer */
    int64_t retry_max_us;
    int64_t warned_us; /* monotonic; 0 = not in this outage */
    int64_t since_us;
};

static enum cv_code check_options(const struct cv_value_options *o, struct cv_error *err)
{
    const char *source = o->basic_auth_source;

    if (!source || cv_text_equal_nocase(source, "URL"))
        return CV_OK;
    if (!cv_text_equal_nocase(source, "USER_INFO"))
        return cv_fail(err, CV_CONFIG,
                       "value.basic.auth.credentials.source: %s is not supported; there are "
                       "USER_INFO and URL",
                       source);
    if (!o->basic_auth_user_info)
        return cv_fail(err, CV_CONFIG,
                       "value.basic.auth.credentials.source is USER_INFO and "
                       "value.basic.auth.user.info is not set");
    return CV_OK;
}

static enum cv_code read_urls(struct cv_registry *r, const char *text, struct cv_error *err)
{
    r->urls = cv_split(&r->arena, text, ',', &r->url_count);
    if (r->url_count == 0)
        return cv_fail(err, CV_CONFIG, "value.schema.registry.url is empty");
    for (size_t i = 0; i < r->url_count; i++) {
        size_t length = strlen(r->urls[i]);

        if (!cv_text_starts_with(r->urls[i], "http://") &&
            !cv_text_starts_with(r->urls[i], "https://"))
            return cv_fail(err, CV_CONFIG,
                           "value.schema.registry.url: a URL begins with http:// or https://");
        while (length > 0 && r->urls[i][length - 1] == '/')
            r->urls[i][--length] = '\0';
    }
    return CV_OK;
}

static enum cv_code start(struct cv_registry *r, struct cv_error *err)
{
    const struct cv_value_options *o = r->config->options;
    bool from_url = o->basic_auth_source && cv_text_equal_nocase(o->basic_auth_source, "URL");
    struct cv_http_config http = {
        .user_info = from_url ? NULL : o->basic_auth_user_info,
        .bearer_token = o->bearer_token,
        .ca_file = o->registry_ca,
        .ca_option = "schema.registry.ssl.ca.location",
    };

    CV_DO(check_options(o, err));
    CV_DO(read_urls(r, o->registry_urls, err));
    r->retry_max_us = CV_MAX(o->registry_retry_us, FIRST_WAIT_US);
    return cv_http_client_new(&http, &r->client, err);
}

enum cv_code cv_registry_open(const struct cv_decoder_config *config,
                              struct cv_registry **ret_registry, struct cv_error *err)
{
    struct cv_registry *r = cv_alloc(sizeof *r);
    enum cv_code code;

    r->config = config;
    code = start(r, err);
    if (code != CV_OK) {
        cv_registry_free(r);
        return code;
    }
    *ret_registry = r;
    return CV_OK;
}

void cv_registry_free(struct cv_registry *registry)
{
    if (!registry)
        return;
    cv_http_client_free(registry->client);
    cv_map_release(&registry->versions);
    cv_arena_release(&registry->arena);
    free(registry);
}

static enum cv_code refuse_access(const char *url, int status, struct cv_error *err)
{
    (void)cv_fail(err, CV_AUTH,
                  "schema registry %s answers %d: it does not let this job read schemas", url,
                  status);
    cv_hint(err, "set value.basic.auth.user.info (user:password) or value.bearer.auth.token to an "
                 "account that may read subjects and schemas");
    return CV_AUTH;
}

/* One try at one URL. CV_IO with RETRIABLE: nobody is there to answer, or only to say "later". */
static enum cv_code ask(struct cv_registry *r, size_t index, const char *path, int *ret_status,
                        struct cv_buf *body, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf url = CV_BUF_INIT(1 << 20);
    const struct cv_http_header accept = {
        "Accept", "application/vnd.schemaregistry.v1+json, application/json"};
    char shown[512];
    int status;

    cv_buf_printf(&url, "%s%s", r->urls[index], path);
    CV_DO(cv_buf_check(&url, "URL of the schema registry", err));
    cv_http_url_for_message(r->urls[index], shown);
    cv_buf_clear(body);
    CV_TRY(cv_http_get(r->client, cv_buf_text(&url), &accept, 1, &status, body, err), err,
           "schema registry %s", shown);
    if (status == 401 || status == 403)
        return refuse_access(shown, status, err);
    if (status == 429 || status >= 500) {
        (void)cv_fail(err, CV_IO, "schema registry %s answers %d", shown, status);
        err->flags |= CV_ERROR_RETRIABLE;
        return CV_IO;
    }
    *ret_status = status;
    return CV_OK;
}

static void warn(struct cv_registry *r, const struct cv_error *last)
{
    char message[CV_ERROR_MESSAGE_BYTES];
    int64_t now = cv_monotonic_us();

    if (r->since_us == 0)
        r->since_us = now;
    if (!r->config->warn || (r->warned_us && now - r->warned_us < WARN_EACH_US))
        return;
    r->warned_us = now;
    (void)snprintf(message, sizeof message, "%.1500s; waiting for it since %lld s", last->message,
                   (long long)((now - r->since_us) / CV_US_PER_SECOND));
    r->config->warn(r->config->warn_context, message);
}

static bool cancelled(const struct cv_registry *r)
{
    return r->config->cancelled && r->config->cancelled(r->config->cancel_context);
}

/* Sleeps; CV_CANCELLED, with the last failure in the message, when the job is to end. */
static enum cv_code wait_for_registry(struct cv_registry *r, int64_t wait_us,
                                      const struct cv_error *last, struct cv_error *err)
{
    int64_t deadline = cv_monotonic_us() + wait_us;

    for (;;) {
        int64_t left = deadline - cv_monotonic_us();

        if (cancelled(r))
            return cv_fail(err, CV_CANCELLED, "gave up waiting: %s", last->message);
        if (left <= 0)
            return CV_OK;
        cv_sleep_ms(CV_MIN(LOOK_EACH_MS, left / CV_US_PER_MS + 1));
    }
}

/* GETs a path from the first registry that answers, waiting as long as none does. */
static enum cv_code fetch(struct cv_registry *r, const char *path, int *ret_status,
                          struct cv_buf *body, struct cv_error *err)
{
    int64_t wait_us = FIRST_WAIT_US;

    for (;;) {
        struct cv_error last = CV_ERROR_INIT;

        for (size_t i = 0; i < r->url_count; i++) {
            size_t index = (r->url + i) % r->url_count;
            enum cv_code code = ask(r, index, path, ret_status, body, &last);

            if (code == CV_OK) {
                r->url = index;
                r->warned_us = r->since_us = 0;
                return CV_OK;
            }
            if (!(last.flags & CV_ERROR_RETRIABLE)) {
                *err = last;
                return code;
            }
        }
        warn(r, &last);
        CV_DO(wait_for_registry(r, wait_us, &last, err));
        wait_us = CV_MIN(wait_us * 2, r->retry_max_us);
    }
}

/* GETs a schema answer into the registry's arena. */
static enum cv_code fetch_answer(struct cv_registry *r, const char *path, struct cv_arena *arena,
                                 struct cv_registry_answer *ret_answer, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf body = CV_BUF_INIT(CV_HTTP_RESPONSE_BYTES_MAX);
    char shown[512];
    struct cv_str text;
    int status;

    CV_DO(fetch(r, path, &status, &body, err));
    cv_http_url_for_message(r->urls[r->url], shown);
    text = (struct cv_str){(const char *)body.data, body.length};
    if (status == 404 && cv_registry_parse_error(text) != 0)
        return cv_fail(err, CV_NOT_FOUND, "schema registry %s has no %s", shown, path);
    if (status != 200) {
        (void)cv_fail(err, CV_REGISTRY, "schema registry %s answers %d to GET %s", shown, status,
                      path);
        cv_hint(err, "value.schema.registry.url is where /subjects and /schemas/ids stand; some "
                     "registries want a path such as /apis/ccompat/v7");
        return CV_REGISTRY;
    }
    CV_TRY(cv_registry_parse_answer(text, arena, ret_answer, err), err,
           "schema registry %s: GET %s", shown, path);
    return CV_OK;
}

/* One version of a subject, asked for once. */
static enum cv_code fetch_version(struct cv_registry *r, const struct cv_registry_reference *ref,
                                  const struct cv_registry_answer **ret_answer,
                                  struct cv_error *err)
{
    char *key =
        cv_arena_printf(&r->arena, "/subjects/%s/versions/%lld",
                        cv_registry_encode(&r->arena, ref->subject), (long long)ref->version);
    struct cv_registry_answer *answer = cv_map_get(&r->versions, key, strlen(key));

    if (!answer) {
        if (r->versions.count == CACHED_REFERENCES_MAX)
            return cv_fail(err, CV_LIMIT, "more than %d referenced schemas", CACHED_REFERENCES_MAX);
        answer = cv_arena_new(&r->arena, struct cv_registry_answer);
        CV_TRY(fetch_answer(r, key, &r->arena, answer, err), err, "reference %s", ref->name);
        (void)cv_map_set(&r->versions, key, strlen(key), answer);
    }
    *ret_answer = answer;
    return CV_OK;
}

/* The referenced schemas of one schema, each behind what it refers to itself. */
struct closure {
    struct cv_avro_reference *list;
    size_t count;
    size_t visits; /* so that a cycle of references ends */
};

static bool has_reference(const struct closure *closure, const char *name)
{
    for (size_t i = 0; i < closure->count; i++)
        if (strcmp(closure->list[i].name, name) == 0)
            return true;
    return false;
}

static enum cv_code add_references(struct cv_registry *r, const struct cv_registry_answer *answer,
                                   struct closure *closure, int depth, struct cv_error *err)
{
    if (depth == CV_DEPTH_MAX)
        return cv_fail(err, CV_SCHEMA, "references more than %d deep, or in a cycle", CV_DEPTH_MAX);
    for (size_t i = 0; i < answer->reference_count; i++) {
        const struct cv_registry_reference *ref = &answer->references[i];
        const struct cv_registry_answer *referent = NULL;

        if (has_reference(closure, ref->name))
            continue;
        if (closure->visits++ == CV_REGISTRY_REFERENCES_MAX)
            return cv_fail(err, CV_SCHEMA, "more than %d references", CV_REGISTRY_REFERENCES_MAX);
        CV_DO(fetch_version(r, ref, &referent, err));
        CV_DO(add_references(r, referent, closure, depth + 1, err));
        if (closure->count < CV_REGISTRY_REFERENCES_MAX)
            closure->list[closure->count++] =
                (struct cv_avro_reference){ref->name, {referent->schema, referent->schema_length}};
    }
    return CV_OK;
}

static enum cv_code build_schema(struct cv_registry *r, const struct cv_registry_answer *answer,
                                 struct cv_arena *arena, struct cv_avro_schema **ret_schema,
                                 struct cv_error *err)
{
    struct closure closure = {0};

    if (!cv_text_equal_nocase(answer->type, "AVRO"))
        return cv_fail(err, CV_SCHEMA, "it is of type %.40s, not AVRO", answer->type);
    if (answer->reference_count > 0) {
        closure.list = cv_arena_array(arena, struct cv_avro_reference, CV_REGISTRY_REFERENCES_MAX);
        CV_DO(add_references(r, answer, &closure, 0, err));
    }
    if (cv_avro_schema_parse((struct cv_str){answer->schema, answer->schema_length}, closure.list,
                             closure.count, ret_schema, err) != CV_OK) {
        err->code = CV_SCHEMA;
        return CV_SCHEMA;
    }
    return CV_OK;
}

static enum cv_code read_schema(struct cv_registry *r, const char *path, struct cv_arena *arena,
                                struct cv_avro_schema **ret_schema, uint32_t *ret_id,
                                struct cv_error *err)
{
    struct cv_registry_answer answer;

    CV_DO(fetch_answer(r, path, arena, &answer, err));
    if (ret_id)
        *ret_id = answer.id < 0 || answer.id > UINT32_MAX ? 0 : (uint32_t)answer.id;
    return build_schema(r, &answer, arena, ret_schema, err);
}

enum cv_code cv_registry_schema_by_id(struct cv_registry *registry, uint32_t id,
                                      struct cv_avro_schema **ret_schema, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const char *path = cv_arena_printf(&arena, "/schemas/ids/%u", id);

    CV_TRY(read_schema(registry, path, &arena, ret_schema, NULL, err), err, "schema id %u", id);
    return CV_OK;
}

enum cv_code cv_registry_latest(struct cv_registry *registry, const char *subject,
                                struct cv_avro_schema **ret_schema, uint32_t *ret_id,
                                struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const char *path = cv_arena_printf(&arena, "/subjects/%s/versions/latest",
                                       cv_registry_encode(&arena, subject));

    CV_TRY(read_schema(registry, path, &arena, ret_schema, ret_id, err), err, "subject %s",
           subject);
    return CV_OK;
}
