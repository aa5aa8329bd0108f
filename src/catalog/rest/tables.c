/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of a REST catalog: load by etag, plain create, commits of requirements and updates,
 * registering, renaming, dropping, vended credentials. Where an answer was lost, what is there
 * tells whether it was this. */
#include "catalog/rest/rest_int.h"

#include "base/time.h"
#include "iceberg/metadata_diff.h"
#include "storage/sign.h"

#include <stdlib.h>

#define CREATE_CLOCKS_MS 300000 /* how far the server's clock may be off */

/* Under the lock; made when it is not there. */
static struct cv_rest_table_state *state_of(struct cv_rest_catalog *catalog, const char *name)
{
    struct cv_rest_table_state *state = cv_rest_find_state(catalog, name);

    if (state)
        return state;
    cv_array_reserve(&catalog->states, &catalog->state_capacity, catalog->state_count + 1);
    state = &catalog->states[catalog->state_count++];
    *state = (struct cv_rest_table_state){.name = cv_strdup(name)};
    return state;
}

static void replace(char **slot, const char *text, size_t length)
{
    char *copy = NULL;

    if (text && length) {
        copy = cv_alloc(length + 1);
        memcpy(copy, text, length);
    }
    free(*slot);
    *slot = copy;
}

static void remember(struct cv_rest_catalog *catalog, const char *name,
                     const struct cv_http_response *response, const struct cv_catalog_entry *entry)
{
    struct cv_str etag = cv_http_response_header(response, "etag");
    const char *token = cv_properties_get(&entry->config, "token");
    struct cv_rest_table_state *state;

    (void)pthread_mutex_lock(&catalog->lock);
    state = state_of(catalog, name);
    replace(&state->location, entry->metadata_location, strlen(entry->metadata_location));
    replace(&state->etag, etag.ptr, etag.length);
    if (token)
        replace(&state->token, token, strlen(token));
    (void)pthread_mutex_unlock(&catalog->lock);
}

/* The etag of what the caller has; NULL = none. */
static const char *etag_of(struct cv_rest_catalog *catalog, const char *name, const char *known,
                           struct cv_arena *arena)
{
    const char *etag = NULL;
    const struct cv_rest_table_state *state;

    if (!known)
        return NULL;
    (void)pthread_mutex_lock(&catalog->lock);
    state = state_of(catalog, name);
    if (state->etag && state->location && strcmp(state->location, known) == 0)
        etag = cv_arena_strdup(arena, state->etag);
    (void)pthread_mutex_unlock(&catalog->lock);
    return etag;
}

/* What asks for signatures of the catalog; true = it did. */
static bool take_signing(struct cv_properties *properties)
{
    bool remote = cv_properties_get(properties, "s3.signer") != NULL;

    (void)cv_properties_get_bool(properties, "s3.remote-signing-enabled", &remote, NULL);
    (void)cv_properties_remove(properties, "s3.remote-signing-enabled");
    (void)cv_properties_remove(properties, "s3.signer");
    return remote;
}

/* Only keys make storage work without the catalog; with keys its offer is not taken up. */
static enum cv_code check_signing(const struct cv_rest_catalog *catalog,
                                  struct cv_catalog_entry *entry, struct cv_error *err)
{
    bool remote = take_signing(&entry->config);

    for (size_t i = 0; i < entry->grants.count; i++)
        (void)take_signing(&entry->grants.items[i].properties);
    if (!remote || entry->grants.count ||
        cv_properties_get(&catalog->base.store_properties, "s3.access-key-id"))
        return CV_OK;
    (void)cv_fail(err, CV_UNSUPPORTED,
                  "the catalog wants to sign each request to S3 itself "
                  "(s3.remote-signing-enabled), which is not supported");
    cv_hint(err, "let the catalog vend credentials, or set s3.access-key-id and "
                 "s3.secret-access-key");
    return CV_UNSUPPORTED;
}

static enum cv_code read_entry(struct cv_rest_catalog *catalog, const char *name,
                               const struct cv_http_response *response, struct cv_arena *arena,
                               struct cv_catalog_entry *ret_entry, struct cv_error *err)
{
    CV_CLEANUP(cv_catalog_entry_release) struct cv_catalog_entry entry = {0};

    CV_DO(cv_rest_read_table(response->body.data, response->body.length, arena, &entry, err));
    CV_DO(check_signing(catalog, &entry, err));
    remember(catalog, name, response, &entry);
    *ret_entry = entry;
    entry = (struct cv_catalog_entry){0};
    return CV_OK;
}

enum cv_code cv_rest_load(struct cv_catalog *base, const struct cv_table_name *name,
                          const char *known, struct cv_arena *arena,
                          struct cv_catalog_entry *ret_entry, struct cv_error *err)
{
    CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};
    CV_CLEANUP(cv_catalog_entry_release) struct cv_catalog_entry entry = {0};
    struct cv_rest_catalog *catalog = (struct cv_rest_catalog *)base;
    const char *text = cv_table_name_text(name, arena);
    struct cv_rest_call call = {.verb = CV_REST_READ,
                                .kind = CV_REQUEST_CATALOG_READ,
                                .method = "GET",
                                .what = cv_arena_printf(arena, "loading table %s", text),
                                .table = text,
                                .delegation = true};

    CV_DO(cv_rest_configure(catalog, err));
    call.etag = etag_of(catalog, text, known, arena);
    call.url = cv_rest_url(
        catalog,
        cv_arena_printf(arena, "%s?snapshots=all", cv_rest_table_path(catalog, name, arena)),
        arena);
    CV_DO(cv_rest_send(catalog, &call, &response, NULL, err));
    if (response.status != 304)
        CV_TRY(read_entry(catalog, text, &response, arena, &entry, err), err, "%s", call.what);
    if (response.status == 304 || (known && strcmp(entry.metadata_location, known) == 0)) {
        *ret_entry = (struct cv_catalog_entry){.unchanged = true};
        return CV_OK;
    }
    *ret_entry = entry;
    entry = (struct cv_catalog_entry){0};
    return CV_OK;
}

static void put_string(struct cv_json_writer *w, const char *key, const char *value)
{
    cv_json_key(w, key);
    cv_json_put_string(w, value);
}

static void put_levels(struct cv_json_writer *w, const char *const *levels, size_t count)
{
    cv_json_key(w, "namespace");
    cv_json_begin_array(w);
    for (size_t i = 0; i < count; i++)
        cv_json_put_string(w, levels[i]);
    cv_json_end_array(w);
}

static enum cv_code make_namespace(struct cv_rest_catalog *catalog,
                                   const struct cv_table_name *name, size_t level_count,
                                   struct cv_arena *arena, struct cv_error *err)
{
    CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};
    CV_CLEANUP(cv_buf_release) struct cv_buf body = CV_BUF_INIT(0);
    struct cv_json_writer w = CV_JSON_WRITER(&body);
    struct cv_rest_call call = {
        .verb = CV_REST_CREATE,
        .kind = CV_REQUEST_CATALOG_COMMIT,
        .method = "POST",
        .url = cv_rest_url(catalog, "namespaces", arena),
        .what = cv_arena_printf(arena, "making namespace %s", cv_table_name_namespace(name, arena)),
        .body = &body};
    enum cv_code code;

    cv_json_begin_object(&w);
    put_levels(&w, name->levels, level_count);
    cv_json_key(&w, "properties");
    cv_json_begin_object(&w);
    cv_json_end_object(&w);
    cv_json_end_object(&w);
    code = cv_rest_send(catalog, &call, &response, NULL, err);
    return code == CV_EXISTS ? CV_OK : code;
}

/* Its parents first: whether those could be made shows when the last one cannot. */
static enum cv_code make_namespaces(struct cv_rest_catalog *catalog,
                                    const struct cv_table_name *name, struct cv_arena *arena,
                                    struct cv_error *err)
{
    for (size_t i = 1; i < name->level_count; i++)
        (void)make_namespace(catalog, name, i, arena, NULL);
    return make_namespace(catalog, name, name->level_count, arena, err);
}

/* POST …/namespaces/<ns>/<what>; an absent namespace is made. */
static enum cv_code post_into_namespace(struct cv_rest_catalog *catalog,
                                        const struct cv_table_name *name, const char *where,
                                        struct cv_rest_call *call, struct cv_arena *arena,
                                        struct cv_http_response *response, bool *ret_lost,
                                        struct cv_error *err)
{
    const char *segment =
        cv_rest_namespace_segment(catalog, name->levels, name->level_count, arena);
    enum cv_code code;
    bool lost;

    call->verb = CV_REST_CREATE;
    call->kind = CV_REQUEST_CATALOG_COMMIT;
    call->method = "POST";
    call->url =
        cv_rest_url(catalog, cv_arena_printf(arena, "namespaces/%s/%s", segment, where), arena);
    code = cv_rest_send(catalog, call, response, ret_lost, err);
    if (code != CV_NOT_FOUND)
        return code;
    CV_DO(make_namespaces(catalog, name, arena, err));
    cv_error_clear(err);
    code = cv_rest_send(catalog, call, response, &lost, err);
    *ret_lost |= lost;
    return code;
}

static void put_table(const struct cv_table_name *name, const struct cv_table_metadata *next,
                      struct cv_buf *out)
{
    struct cv_json_writer w = CV_JSON_WRITER(out);

    cv_json_begin_object(&w);
    put_string(&w, "name", name->table);
    if (next->location[0])
        put_string(&w, "location", next->location);
    cv_json_key(&w, "schema");
    cv_schema_write_json(cv_table_metadata_schema(next), out);
    w.comma = true;
    cv_json_key(&w, "partition-spec");
    cv_partition_spec_write_json(cv_table_metadata_spec(next), out);
    w.comma = true;
    cv_json_key(&w, "stage-create");
    cv_json_put_bool(&w, false);
    cv_json_key(&w, "properties");
    cv_json_begin_object(&w);
    cv_json_key(&w, "format-version");
    cv_json_put_string(&w, next->format_version == 1 ? "1" : "2");
    for (size_t i = 0; i < next->properties.count; i++)
        put_string(&w, next->properties.items[i].key, next->properties.items[i].value);
    cv_json_end_object(&w);
    cv_json_end_object(&w);
}

/* Whether the table that is there is the one that was just asked for: empty, young, and alike. */
static bool is_own(const struct cv_table_metadata *found, const struct cv_table_metadata *wanted,
                   int64_t started_ms)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf a = CV_BUF_INIT(0);
    CV_CLEANUP(cv_buf_release) struct cv_buf b = CV_BUF_INIT(0);

    cv_schema_write_json(cv_table_metadata_schema(found), &a);
    cv_schema_write_json(cv_table_metadata_schema(wanted), &b);
    return !found->snapshot_count && found->last_updated_ms >= started_ms - CREATE_CLOCKS_MS &&
           (!wanted->location[0] || strcmp(found->location, wanted->location) == 0) &&
           strcmp(cv_buf_text(&a), cv_buf_text(&b)) == 0;
}

enum cv_code cv_rest_create(struct cv_catalog *base, const struct cv_table_name *name,
                            const struct cv_catalog_change *change, struct cv_arena *arena,
                            struct cv_catalog_entry *ret_entry, struct cv_error *err)
{
    CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};
    CV_CLEANUP(cv_buf_release) struct cv_buf body = CV_BUF_INIT(CV_METADATA_BYTES_MAX);
    CV_CLEANUP(cv_catalog_entry_release) struct cv_catalog_entry found = {0};
    struct cv_rest_catalog *catalog = (struct cv_rest_catalog *)base;
    const char *text = cv_table_name_text(name, arena);
    struct cv_rest_call call = {.what = cv_arena_printf(arena, "creating table %s", text),
                                .body = &body,
                                .delegation = true};
    int64_t started_ms = cv_now_ms();
    enum cv_code code;
    bool lost;

    CV_DO(cv_rest_configure(catalog, err));
    put_table(name, change->next, &body);
    CV_DO(cv_buf_check(&body, call.what, err));
    code = post_into_namespace(catalog, name, "tables", &call, arena, &response, &lost, err);
    if (code == CV_OK && read_entry(catalog, text, &response, arena, ret_entry, err) == CV_OK)
        return CV_OK;
    if (code != CV_OK && code != CV_UNKNOWN && !(code == CV_EXISTS && lost))
        return code;
    if (code == CV_OK) /* made, but the answer cannot be read */
        code = err ? err->code : CV_FORMAT;
    if (cv_rest_load(base, name, NULL, arena, &found, NULL) != CV_OK ||
        !is_own(found.metadata, change->next, started_ms))
        return code;
    cv_error_clear(err);
    *ret_entry = found;
    found = (struct cv_catalog_entry){0};
    return CV_OK;
}

/* The next snapshot that the change adds, from `*position` on; NULL = no more. */
static const struct cv_snapshot *next_added(const struct cv_catalog_change *change,
                                            size_t *position)
{
    while (*position < change->next->snapshot_count) {
        const struct cv_snapshot *snapshot = &change->next->snapshots[(*position)++];

        if (!cv_table_metadata_snapshot(change->base, snapshot->id))
            return snapshot;
    }
    return NULL;
}

/* A server that answers 200 and leaves a snapshot out would lose rows. */
static bool has_new_snapshots(const struct cv_catalog_change *change,
                              const struct cv_table_metadata *answer)
{
    const struct cv_snapshot *snapshot;
    size_t position = 0;

    while ((snapshot = next_added(change, &position)))
        if (!cv_table_metadata_snapshot(answer, snapshot->id))
            return false;
    return true;
}

/* Another branch moved on, which no requirement speaks of: servers with a Java library before 1.11
 * (iceberg #15001) refuse the sequence number, which is spent by now, as a bad request. */
static bool is_overtaken(struct cv_rest_catalog *catalog, const struct cv_table_name *name,
                         const struct cv_catalog_change *change, struct cv_arena *arena)
{
    CV_CLEANUP(cv_catalog_entry_release) struct cv_catalog_entry now = {0};
    size_t position = 0;
    const struct cv_snapshot *snapshot = next_added(change, &position);

    return snapshot && cv_rest_load(&catalog->base, name, NULL, arena, &now, NULL) == CV_OK &&
           now.metadata->last_sequence_number >= snapshot->sequence_number &&
           snapshot->sequence_number > 0;
}

static enum cv_code read_commit(struct cv_rest_catalog *catalog, const struct cv_rest_call *call,
                                const struct cv_catalog_change *change,
                                const struct cv_http_response *response, struct cv_arena *arena,
                                struct cv_catalog_entry *ret_entry, struct cv_error *err)
{
    CV_CLEANUP(cv_catalog_entry_release) struct cv_catalog_entry entry = {0};

    if (cv_rest_read_table(response->body.data, response->body.length, arena, &entry, err) !=
        CV_OK) {
        cv_context(err, "%s: the answer cannot be read", call->what);
        if (err)
            err->code = CV_UNKNOWN;
        return CV_UNKNOWN;
    }
    if (!has_new_snapshots(change, entry.metadata))
        return cv_fail(err, CV_UNKNOWN, "%s: the answer does not have the new snapshot",
                       call->what);
    remember(catalog, call->table, response, &entry);
    *ret_entry = entry;
    entry = (struct cv_catalog_entry){0};
    return CV_OK;
}

enum cv_code cv_rest_commit(struct cv_catalog *base, const struct cv_table_name *name,
                            const struct cv_catalog_change *change, struct cv_arena *arena,
                            struct cv_catalog_entry *ret_entry, struct cv_error *err)
{
    CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};
    CV_CLEANUP(cv_buf_release) struct cv_buf body = CV_BUF_INIT(CV_METADATA_BYTES_MAX);
    struct cv_rest_catalog *catalog = (struct cv_rest_catalog *)base;
    const char *text = cv_table_name_text(name, arena);
    struct cv_rest_call call = {.verb = CV_REST_COMMIT,
                                .kind = CV_REQUEST_CATALOG_COMMIT,
                                .method = "POST",
                                .what = cv_arena_printf(arena, "commit to table %s", text),
                                .body = &body,
                                .table = text,
                                .delegation = true};
    int64_t started_us = cv_monotonic_us();
    enum cv_code code;

    CV_DO(cv_rest_configure(catalog, err));
    call.url = cv_rest_url(catalog, cv_rest_table_path(catalog, name, arena), arena);
    CV_DO(
        cv_metadata_diff_write(change->base, change->next, change->keeps_definitions, &body, err));
    CV_DO(cv_buf_check(&body, call.what, err));
    code = cv_rest_send(catalog, &call, &response, NULL, err);
    if (code == CV_CATALOG && response.status == 400 && is_overtaken(catalog, name, change, arena))
        return cv_fail(err, CV_CONFLICT, "%s: another branch was first", call.what);
    CV_DO(code);
    CV_DO(read_commit(catalog, &call, change, &response, arena, ret_entry, err));
    cv_rest_report_commit(catalog, name, change, cv_monotonic_us() - started_us);
    return CV_OK;
}

enum cv_code cv_rest_register(struct cv_catalog *base, const struct cv_table_name *name,
                              const char *metadata_location, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};
    CV_CLEANUP(cv_buf_release) struct cv_buf body = CV_BUF_INIT(0);
    struct cv_rest_catalog *catalog = (struct cv_rest_catalog *)base;
    struct cv_json_writer w = CV_JSON_WRITER(&body);
    struct cv_rest_call call = {
        .what = cv_arena_printf(&arena, "registering table %s", cv_table_name_text(name, &arena)),
        .body = &body};
    const char *found;
    enum cv_code code;
    bool lost;

    CV_DO(cv_rest_configure(catalog, err));
    if (!(catalog->endpoints & CV_REST_REGISTER))
        return cv_fail(err, CV_UNSUPPORTED, "the catalog does not register tables");
    cv_json_begin_object(&w);
    put_string(&w, "name", name->table);
    put_string(&w, "metadata-location", metadata_location);
    cv_json_end_object(&w);
    code = post_into_namespace(catalog, name, "register", &call, &arena, &response, &lost, err);
    if ((code == CV_UNKNOWN || (code == CV_EXISTS && lost)) &&
        cv_catalog_find(base, name, &arena, &found, NULL) == CV_OK &&
        strcmp(found, metadata_location) == 0) {
        cv_error_clear(err);
        return CV_OK;
    }
    return code;
}

static void put_identifier(struct cv_json_writer *w, const char *key,
                           const struct cv_table_name *name)
{
    cv_json_key(w, key);
    cv_json_begin_object(w);
    put_levels(w, name->levels, name->level_count);
    put_string(w, "name", name->table);
    cv_json_end_object(w);
}

enum cv_code cv_rest_rename(struct cv_catalog *base, const struct cv_table_name *from,
                            const struct cv_table_name *to, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};
    CV_CLEANUP(cv_buf_release) struct cv_buf body = CV_BUF_INIT(0);
    struct cv_rest_catalog *catalog = (struct cv_rest_catalog *)base;
    struct cv_json_writer w = CV_JSON_WRITER(&body);
    struct cv_rest_call call = {
        .verb = CV_REST_CREATE,
        .kind = CV_REQUEST_CATALOG_COMMIT,
        .method = "POST",
        .what = cv_arena_printf(&arena, "renaming table %s", cv_table_name_text(from, &arena)),
        .body = &body};
    const char *found;
    enum cv_code code;
    bool lost;

    CV_DO(cv_rest_configure(catalog, err));
    if (!(catalog->endpoints & CV_REST_RENAME))
        return cv_fail(err, CV_UNSUPPORTED, "the catalog does not rename tables");
    call.url = cv_rest_url(catalog, "tables/rename", &arena);
    cv_json_begin_object(&w);
    put_identifier(&w, "source", from);
    put_identifier(&w, "destination", to);
    cv_json_end_object(&w);
    code = cv_rest_send(catalog, &call, &response, &lost, err);
    if ((code == CV_UNKNOWN || (lost && (code == CV_NOT_FOUND || code == CV_EXISTS))) &&
        cv_catalog_find(base, from, &arena, &found, NULL) == CV_NOT_FOUND &&
        cv_catalog_find(base, to, &arena, &found, NULL) == CV_OK) {
        cv_error_clear(err);
        return CV_OK;
    }
    return code;
}

enum cv_code cv_rest_drop(struct cv_catalog *base, const struct cv_table_name *name,
                          struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};
    struct cv_rest_catalog *catalog = (struct cv_rest_catalog *)base;
    const char *text = cv_table_name_text(name, &arena);
    struct cv_rest_call call = {.verb = CV_REST_DROP,
                                .kind = CV_REQUEST_CATALOG_COMMIT,
                                .method = "DELETE",
                                .what = cv_arena_printf(&arena, "dropping table %s", text),
                                .table = text};
    enum cv_code code;
    bool lost;

    CV_DO(cv_rest_configure(catalog, err));
    call.url = cv_rest_url(catalog,
                           cv_arena_printf(&arena, "%s?purgeRequested=false",
                                           cv_rest_table_path(catalog, name, &arena)),
                           &arena);
    code = cv_rest_send(catalog, &call, &response, &lost, err);
    if (code == CV_NOT_FOUND && lost) {
        cv_error_clear(err);
        return CV_OK;
    }
    return code;
}

enum cv_code cv_rest_vend(struct cv_catalog *base, const struct cv_table_name *name,
                          struct cv_store_grants *ret_grants, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_http_response_release) struct cv_http_response response = {0};
    CV_CLEANUP(cv_catalog_entry_release) struct cv_catalog_entry entry = {0};
    struct cv_rest_catalog *catalog = (struct cv_rest_catalog *)base;
    const char *text = cv_table_name_text(name, &arena);
    struct cv_rest_call call = {.verb = CV_REST_READ,
                                .kind = CV_REQUEST_TOKEN,
                                .method = "GET",
                                .what = cv_arena_printf(&arena, "credentials of table %s", text),
                                .table = text,
                                .delegation = true};
    bool apart;

    CV_DO(cv_rest_configure(catalog, err));
    apart = catalog->endpoints & CV_REST_CREDENTIALS;
    call.url =
        cv_rest_url(catalog,
                    cv_arena_printf(&arena, "%s%s", cv_rest_table_path(catalog, name, &arena),
                                    apart ? "/credentials" : "?snapshots=refs"),
                    &arena);
    CV_DO(cv_rest_send(catalog, &call, &response, NULL, err));
    if (apart) {
        CV_TRY(cv_rest_read_credentials(response.body.data, response.body.length, ret_grants, err),
               err, "%s", call.what);
        return CV_OK;
    }
    CV_TRY(cv_rest_read_table(response.body.data, response.body.length, &arena, &entry, err), err,
           "%s", call.what);
    *ret_grants = entry.grants;
    entry.grants = (struct cv_store_grants){0};
    return CV_OK;
}
