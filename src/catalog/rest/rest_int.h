/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to catalog/rest/: the Iceberg REST catalog (reference: REST Open API specification). What
 * goes over the wire is made in tables.c and read in replies.c; client.c sends it with what auth.c
 * knows, errors.c says what an answer means for the caller.
 *
 * Threads: the thread that owns the catalog calls its operations; vend() may come from any thread,
 * and the reporter is one of its own. What they share (token, states of tables) is behind a lock
 * each; after cv_rest_configure() the configuration does not change any more. */
#ifndef CALVE_CATALOG_REST_REST_INT_H
#define CALVE_CATALOG_REST_REST_INT_H

#include "catalog/catalog_int.h"
#include "codec/json.h"
#include "storage/credentials.h"
#include "storage/http.h"
#include "storage/retry.h"

#include <pthread.h>

#define CV_REST_ANSWER_BYTES_MAX ((size_t)256 << 20) /* a table's metadata with its history */
#define CV_REST_TABLES_MAX       1000000             /* of a listing */
#define CV_REST_NAMESPACES_MAX   100000
#define CV_REST_PAGES_MAX        100000
#define CV_REST_DEPTH_MAX        32 /* of namespaces */
#define CV_REST_TOKEN_BYTES_MAX  65536
#define CV_REST_GRANTS_MAX       1000
#define CV_REST_PROPERTIES_MAX   10000 /* of one map in an answer */

enum cv_rest_auth_type { CV_REST_NONE, CV_REST_BASIC, CV_REST_OAUTH2, CV_REST_SIGV4 };

/* Target of the option table. */
struct cv_rest_settings {
    const char *prefix;
    const char *namespace_separator; /* as it stands in a path, encoded */
    const char *auth_type_text;      /* NULL = by what else is set */
    int auth_type;                   /* enum cv_rest_auth_type, made of it */
    const char *credential;
    const char *token;
    const char *scope;
    const char *audience;
    const char *resource;
    const char *oauth2_server_uri;
    bool token_exchange_enabled;
    bool token_refresh_enabled;
    const char *basic_username;
    const char *basic_password;
    bool sigv4_enabled;
    const char *signing_region;
    const char *signing_name;
    const char *access_key_id;
    const char *secret_access_key;
    const char *session_token;
    struct cv_properties headers;
    int64_t connect_timeout_ms;
    int64_t timeout_ms;
    int64_t max_retries;
    int64_t retry_min_wait_ms;
    int64_t page_size; /* 0 = the server's */
    bool metrics_enabled;
    const char *ca_file;
};

/* Routes whose use depends on what the server says. */
enum cv_rest_endpoint {
    CV_REST_CREDENTIALS = 1,
    CV_REST_METRICS = 2,
    CV_REST_RENAME = 4,
    CV_REST_REGISTER = 8,
};

struct cv_rest_token {
    char *text;         /* NULL = none yet */
    int64_t expires_ms; /* wall clock; -1 = not told */
    int64_t renew_ms;   /* from when on it is renewed; -1 = never */
    uint64_t version;   /* counts tokens, so that one refusal renews once */
};

/* What is remembered of a table between calls. */
struct cv_rest_table_state {
    char *name;
    char *location; /* of the metadata that `etag` is of */
    char *etag;     /* NULL = none */
    char *token;    /* for this table alone; NULL = none */
};

struct cv_rest_reporter;

struct cv_rest_catalog {
    struct cv_catalog base;
    struct cv_arena arena;
    const char *name;
    const char *warehouse;           /* as configured; the server knows what it means */
    struct cv_properties properties; /* of the configuration */
    struct cv_http_client *http;
    pthread_mutex_t configure_lock; /* one thread asks, the others wait */
    pthread_mutex_t token_lock;     /* of `token`, also while one is asked for */
    pthread_mutex_t lock;           /* of `states`; held for moments */
    bool configured;
    const char *uri; /* without slash at the end */
    struct cv_rest_settings settings;
    const char *separator; /* of levels in a query, decoded */
    unsigned endpoints;    /* enum cv_rest_endpoint */
    bool idempotency;      /* the server takes Idempotency-Key */
    struct cv_rest_token token;
    struct cv_credential_source *signing;
    struct cv_rest_table_state *states;
    size_t state_count, state_capacity;
    struct cv_rest_reporter *reporter;
};

/* options.c */
/* Reads what of `properties` is the type's own; texts go to the arena. */
enum cv_code cv_rest_settings_read(const struct cv_properties *properties, struct cv_arena *arena,
                                   struct cv_rest_settings *ret_settings, struct cv_error *err);
enum cv_rest_auth_type cv_rest_auth_type(const struct cv_rest_settings *settings);

/* config.c: asks the server once; any thread. */
enum cv_code cv_rest_configure(struct cv_rest_catalog *catalog, struct cv_error *err);
/* "https://host/path//" → "https://host/path" */
const char *cv_rest_trim_slashes(const char *uri, struct cv_arena *arena);

/* How an answer without success is judged. */
enum cv_rest_verb {
    CV_REST_READ,   /* nothing changes: may be repeated */
    CV_REST_CREATE, /* 409: exists already; of a namespace, a rename, a registration too */
    CV_REST_COMMIT, /* 409: conflict; no answer: unknown */
    CV_REST_DROP,   /* repeated; 404 after a lost answer is success */
    CV_REST_REPORT, /* sent once */
};

struct cv_rest_call {
    enum cv_rest_verb verb;
    enum cv_request_kind kind;
    const char *method;
    const char *url;
    const char *what; /* "commit to table shop.orders", for messages */
    const struct cv_buf *body;
    const char *content_type; /* NULL = JSON */
    const char *etag;         /* If-None-Match; NULL = none */
    const char *table;        /* whose own token counts; NULL = none */
    bool delegation;          /* ask for vended credentials */
    bool plain;               /* without authorization of the catalog: how tokens are asked for */
    const char *bearer;       /* with this token instead; NULL = none */
    int64_t timeout_ms;       /* 0 = as configured */
};

/* client.c, with catalog->lock held: what is remembered of the table; NULL = nothing. */
struct cv_rest_table_state *cv_rest_find_state(struct cv_rest_catalog *catalog, const char *table);

/* client.c: sends with authorization and repeats as the verb allows. CV_OK: 2xx or 304; *ret_lost
 * (may be NULL): some earlier attempt got no answer and may have been carried out. */
enum cv_code cv_rest_send(struct cv_rest_catalog *catalog, const struct cv_rest_call *call,
                          struct cv_http_response *ret_response, bool *ret_lost,
                          struct cv_error *err);
/* <uri>/v1/<prefix>/<path> */
const char *cv_rest_url(const struct cv_rest_catalog *catalog, const char *path,
                        struct cv_arena *arena);
/* "a%1Fb": the levels as one segment of a path. */
const char *cv_rest_namespace_segment(const struct cv_rest_catalog *catalog,
                                      const char *const *levels, size_t count,
                                      struct cv_arena *arena);
/* "namespaces/<ns>/tables/<t>" */
const char *cv_rest_table_path(const struct cv_rest_catalog *catalog,
                               const struct cv_table_name *name, struct cv_arena *arena);

/* errors.c */
enum cv_code cv_rest_fail(const struct cv_rest_call *call, const struct cv_http_response *response,
                          struct cv_error *err);

/* auth.c: a copy of the token that is valid now, NULL = none is needed; any thread. */
enum cv_code cv_rest_token_get(struct cv_rest_catalog *catalog, char **ret_token,
                               uint64_t *ret_version, struct cv_error *err);
/* The server refused `version`: another token, unless somebody got one already. False: there is no
 * way to get another one. */
bool cv_rest_token_renew(struct cv_rest_catalog *catalog, uint64_t version, struct cv_error *err);
void cv_rest_token_release(struct cv_rest_token *token);
enum cv_code cv_rest_auth_init(struct cv_rest_catalog *catalog, struct cv_error *err);

/* replies.c: bytes of a server; all fail with CV_FORMAT. */
struct cv_rest_config_reply {
    struct cv_properties defaults;
    struct cv_properties overrides;
    bool has_endpoints;
    unsigned endpoints;
    bool idempotency;
};
void cv_rest_config_reply_release(struct cv_rest_config_reply *reply);
enum cv_code cv_rest_read_config(const void *bytes, size_t length,
                                 struct cv_rest_config_reply *ret_reply, struct cv_error *err);
struct cv_rest_token_reply {
    char *token;          /* free it */
    int64_t expires_in_s; /* -1 = not told */
};
enum cv_code cv_rest_read_token(const void *bytes, size_t length,
                                struct cv_rest_token_reply *ret_reply, struct cv_error *err);
/* The "exp" of a JSON Web Token in ms; -1 when it has none or is none. */
int64_t cv_rest_token_expiry_ms(const char *token);
/* An answer to load, create and commit. The location lives in the arena. */
enum cv_code cv_rest_read_table(const void *bytes, size_t length, struct cv_arena *arena,
                                struct cv_catalog_entry *ret_entry, struct cv_error *err);
/* {"storage-credentials":[…]} */
enum cv_code cv_rest_read_credentials(const void *bytes, size_t length,
                                      struct cv_store_grants *ret_grants, struct cv_error *err);
/* A page: namespaces as levels joined by 0x1f, or names of tables. *ret_next NULL = the last. */
enum cv_code cv_rest_read_page(const void *bytes, size_t length, bool tables,
                               struct cv_arena *arena, char ***ret_names, size_t *ret_count,
                               const char **ret_next, struct cv_error *err);
/* "NoSuchTableException: Table does not exist", one line; "" when there is none. */
void cv_rest_read_error(const void *bytes, size_t length, char text[512]);

/* list.c */
enum cv_code cv_rest_list(struct cv_catalog *base, struct cv_arena *arena, char ***ret_names,
                          size_t *ret_count, struct cv_error *err);
/* One page of namespaces: shows that the prefix is right and the token lets in. */
enum cv_code cv_rest_try_listing(struct cv_rest_catalog *catalog, struct cv_error *err);

/* tables.c */
enum cv_code cv_rest_load(struct cv_catalog *base, const struct cv_table_name *name,
                          const char *known, struct cv_arena *arena,
                          struct cv_catalog_entry *ret_entry, struct cv_error *err);
enum cv_code cv_rest_create(struct cv_catalog *base, const struct cv_table_name *name,
                            const struct cv_catalog_change *change, struct cv_arena *arena,
                            struct cv_catalog_entry *ret_entry, struct cv_error *err);
enum cv_code cv_rest_commit(struct cv_catalog *base, const struct cv_table_name *name,
                            const struct cv_catalog_change *change, struct cv_arena *arena,
                            struct cv_catalog_entry *ret_entry, struct cv_error *err);
enum cv_code cv_rest_register(struct cv_catalog *base, const struct cv_table_name *name,
                              const char *metadata_location, struct cv_error *err);
enum cv_code cv_rest_rename(struct cv_catalog *base, const struct cv_table_name *from,
                            const struct cv_table_name *to, struct cv_error *err);
enum cv_code cv_rest_drop(struct cv_catalog *base, const struct cv_table_name *name,
                          struct cv_error *err);
enum cv_code cv_rest_vend(struct cv_catalog *base, const struct cv_table_name *name,
                          struct cv_store_grants *ret_grants, struct cv_error *err);

/* report.c: tells the catalog about commits from a thread of its own, never waited for. */
struct cv_rest_reporter *cv_rest_reporter_new(struct cv_rest_catalog *catalog);
void cv_rest_reporter_free(struct cv_rest_reporter *reporter); /* drops what was not sent */
void cv_rest_report_commit(struct cv_rest_catalog *catalog, const struct cv_table_name *name,
                           const struct cv_catalog_change *change, int64_t duration_us);

#endif
