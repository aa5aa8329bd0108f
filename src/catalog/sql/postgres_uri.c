/* SPDX-License-Identifier: Apache-2.0
 *
 * libpq's own parser of URIs is not used: its messages print the uri with the password. */
#include "catalog/sql/postgres_uri.h"

#include "base/str.h"
#include "catalog/sql/database.h"

#include <libpq-fe.h>
#include <stdio.h>

bool cv_postgres_is_uri(const char *uri)
{
    if (cv_text_starts_with(uri, "jdbc:"))
        uri += 5;
    return cv_text_starts_with(uri, "postgresql:") || cv_text_starts_with(uri, "postgresql+") ||
           cv_text_starts_with(uri, "postgres:");
}

/* Parameters of pgjdbc under their name in libpq. */
static const struct {
    const char *java, *libpq;
} java_names[] = {
    {"ApplicationName", "application_name"}, {"channelBinding", "channel_binding"},
    {"connectTimeout", "connect_timeout"},   {"gssEncMode", "gssencmode"},
    {"kerberosServerName", "krbsrvname"},    {"loginTimeout", "connect_timeout"},
    {"tcpKeepAlive", "keepalives"},
};

/* Parameters of pgjdbc that say how Java talks or logs. */
static const char *const java_only[] = {
    "adaptiveFetch",
    "allowEncodingChanges",
    "assumeMinServerVersion",
    "autosave",
    "binaryTransfer",
    "cancelSignalTimeout",
    "cleanupSavepoints",
    "databaseMetadataCacheFields",
    "databaseMetadataCacheFieldsMiB",
    "defaultRowFetchSize",
    "disableColumnSanitiser",
    "escapeSyntaxCallMode",
    "groupStartupParameters",
    "hostRecheckSeconds",
    "loadBalanceHosts",
    "logServerErrorDetail",
    "logUnclosedConnections",
    "loggerFile",
    "loggerLevel",
    "maxResultBuffer",
    "preferQueryMode",
    "prepareThreshold",
    "preparedStatementCacheQueries",
    "preparedStatementCacheSizeMiB",
    "readOnlyMode",
    "receiveBufferSize",
    "reWriteBatchedInserts",
    "sendBufferSize",
    "stringtype",
    "unknownLength",
};

static const struct {
    const char *java, *libpq;
} server_types[] = {
    {"any", "any"},
    {"primary", "primary"},
    {"master", "primary"},
    {"secondary", "standby"},
    {"slave", "standby"},
    {"preferSecondary", "prefer-standby"},
    {"preferSlave", "prefer-standby"},
    {"preferPrimary", "any"},
};

struct parser {
    struct cv_arena *arena;
    struct cv_postgres_target *target;
    bool is_java;
    PQconninfoOption *known;
};

static const char *get(const struct cv_postgres_target *target, const char *keyword)
{
    for (size_t i = 0; i < target->count; i++)
        if (strcmp(target->keywords[i], keyword) == 0)
            return target->values[i];
    return NULL;
}

static enum cv_code set(struct cv_postgres_target *target, const char *keyword, const char *value,
                        struct cv_error *err)
{
    for (size_t i = 0; i < target->count; i++)
        if (strcmp(target->keywords[i], keyword) == 0) {
            target->values[i] = value;
            return CV_OK;
        }
    if (target->count == CV_POSTGRES_KEYWORDS_MAX)
        return cv_fail(err, CV_LIMIT, "uri has more than %d parameters", CV_POSTGRES_KEYWORDS_MAX);
    target->keywords[target->count] = keyword;
    target->values[target->count++] = value;
    return CV_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static enum cv_code decode(struct cv_arena *arena, struct cv_str text, const char *what,
                           const char **ret_text, struct cv_error *err)
{
    char *decoded = cv_arena_alloc(arena, text.length + 1);
    size_t length = 0;

    for (size_t i = 0; i < text.length; i++) {
        int high;
        int low;

        if (text.ptr[i] != '%') {
            decoded[length++] = text.ptr[i];
            continue;
        }
        high = i + 2 < text.length ? hex_digit(text.ptr[i + 1]) : -1;
        low = high >= 0 ? hex_digit(text.ptr[i + 2]) : -1;
        if (low < 0 || high * 16 + low == 0) {
            (void)cv_fail(err, CV_CONFIG, "uri: %% in the %s is not followed by two hex digits",
                          what);
            cv_hint(err, "write a %% itself as %%25");
            return CV_CONFIG;
        }
        decoded[length++] = (char)(high * 16 + low);
        i += 2;
    }
    *ret_text = decoded;
    return CV_OK;
}

static struct cv_str take_until(struct cv_str *text, char end)
{
    const char *stop = text->length ? memchr(text->ptr, end, text->length) : NULL;
    struct cv_str taken = {text->ptr, stop ? (size_t)(stop - text->ptr) : text->length};

    text->ptr += taken.length + (stop ? 1 : 0);
    text->length -= taken.length + (stop ? 1 : 0);
    return taken;
}

static enum cv_code parse_user(struct parser *p, struct cv_str text, struct cv_error *err)
{
    struct cv_str user = take_until(&text, ':');
    const char *value;

    if (user.length) {
        CV_DO(decode(p->arena, user, "user", &value, err));
        CV_DO(set(p->target, "user", value, err));
    }
    if (!text.length)
        return CV_OK;
    CV_DO(decode(p->arena, text, "password", &value, err));
    return set(p->target, "password", value, err);
}

/* "a:5432,[::1]:5433": libpq takes hosts and ports as lists of the same length. */
static enum cv_code parse_hosts(struct parser *p, struct cv_str text, struct cv_error *err)
{
    const char *hosts = "";
    const char *ports = "";
    const char *comma = "";

    if (!text.length)
        return CV_OK;
    while (text.length) {
        struct cv_str item = take_until(&text, ',');
        struct cv_str host;
        const char *decoded;
        int64_t port = 5432;

        if (item.length && *item.ptr == '[') {
            item.ptr++, item.length--;
            host = take_until(&item, ']');
            (void)take_until(&item, ':');
        } else {
            host = take_until(&item, ':');
        }
        if (item.length && (!cv_parse_i64(item, &port) || port < 1 || port > 65535))
            return cv_fail(err, CV_CONFIG, "uri: the port of host %.*s is not a number up to 65535",
                           CV_STR_ARG(host));
        CV_DO(decode(p->arena, host, "host", &decoded, err));
        hosts = cv_arena_printf(p->arena, "%s%s%s", hosts, comma, decoded);
        ports = cv_arena_printf(p->arena, "%s%s%lld", ports, comma, (long long)port);
        comma = ",";
    }
    CV_DO(set(p->target, "host", hosts, err));
    return set(p->target, "port", ports, err);
}

static enum cv_code parse_seconds(const char *key, const char *value, int64_t *ret_ms,
                                  struct cv_error *err)
{
    int64_t seconds;

    if (!cv_parse_i64(cv_str_from(value), &seconds) || seconds < 0 || seconds > 86400)
        return cv_fail(err, CV_CONFIG, "uri: %s is not a number of seconds up to 86400", key);
    if (seconds) /* 0 would be without limit */
        *ret_ms = seconds * 1000;
    return CV_OK;
}

/* A space and a backslash are escaped in the options of a connection. */
static const char *search_path(struct parser *p, const char *value)
{
    char *escaped = cv_arena_alloc(p->arena, 2 * strlen(value) + 1);
    size_t length = 0;

    for (; *value; value++) {
        if (*value == ' ' || *value == '\\')
            escaped[length++] = '\\';
        escaped[length++] = *value;
    }
    return cv_arena_printf(p->arena, "-c search_path=%s", escaped);
}

static enum cv_code set_server_type(struct parser *p, const char *value, struct cv_error *err)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(server_types); i++)
        if (cv_text_equal_nocase(server_types[i].java, value))
            return set(p->target, "target_session_attrs", server_types[i].libpq, err);
    return cv_fail(err, CV_CONFIG,
                   "uri: targetServerType is none of any, primary, secondary, "
                   "preferSecondary");
}

/* What Java's driver alone knows. *ret_done: it was one. */
static enum cv_code set_java(struct parser *p, const char *key, const char *value, bool *ret_done,
                             struct cv_error *err)
{
    *ret_done = true;
    if (strcmp(key, "socketTimeout") == 0)
        return parse_seconds(key, value, &p->target->answer_ms, err);
    if (strcmp(key, "targetServerType") == 0)
        return set_server_type(p, value, err);
    if (strcmp(key, "currentSchema") == 0)
        return set(p->target, "options", search_path(p, value), err);
    if (strcmp(key, "tcpKeepAlive") == 0)
        return set(p->target, "keepalives", cv_text_equal_nocase(value, "false") ? "0" : "1", err);
    if (strcmp(key, "ssl") == 0) {
        if (!cv_text_equal_nocase(value, "false") && !get(p->target, "sslmode"))
            return set(p->target, "sslmode", "verify-full", err);
        return CV_OK;
    }
    if (strcmp(key, "sslfactory") == 0 && strstr(value, "NonValidatingFactory"))
        return set(p->target, "sslmode", "require", err);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(java_only); i++)
        if (strcmp(java_only[i], key) == 0)
            return CV_OK;
    *ret_done = false;
    return CV_OK;
}

/* What stands before it may be a piece of a password and is not told. */
static enum cv_code fail_at(struct cv_error *err)
{
    (void)cv_fail(err, CV_CONFIG, "uri: there is an @ after the first / or ?");
    cv_hint(err, "in a user or password write / as %%2F, ? as %%3F, # as %%23 and @ as %%40; in "
                 "the name of a database @ as %%40");
    return CV_CONFIG;
}

static const char *known_at(const void *context, size_t i)
{
    return ((const PQconninfoOption *)context)[i].keyword;
}

static enum cv_code set_parameter(struct parser *p, const char *key, const char *value,
                                  struct cv_error *err)
{
    const char *nearest;
    bool done = false;
    size_t count = 0;

    if (p->is_java)
        CV_DO(set_java(p, key, value, &done, err));
    if (done)
        return CV_OK;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(java_names) && p->is_java; i++)
        if (strcmp(java_names[i].java, key) == 0)
            key = java_names[i].libpq;
    if (strcmp(key, "connect_timeout") == 0)
        return parse_seconds(key, value, &p->target->connect_ms, err);
    for (; p->known[count].keyword; count++)
        if (strcmp(p->known[count].keyword, key) == 0)
            return set(p->target, cv_arena_strdup(p->arena, key), value, err);
    (void)cv_fail(err, CV_CONFIG, "uri: parameter %.60s is not known", key);
    nearest = cv_nearest_name(key, known_at, p->known, count);
    if (nearest)
        cv_hint(err, "did you mean %s?", nearest);
    return CV_CONFIG;
}

static enum cv_code parse_query(struct parser *p, struct cv_str text, struct cv_error *err)
{
    while (text.length) {
        struct cv_str value = take_until(&text, '&');
        struct cv_str key = take_until(&value, '=');
        const char *key_text;
        const char *value_text;

        if (!key.length)
            continue;
        if (memchr(key.ptr, '@', key.length))
            return fail_at(err);
        CV_DO(decode(p->arena, key, "name of a parameter", &key_text, err));
        CV_DO(decode(p->arena, value, "value of a parameter", &value_text, err));
        CV_DO(set_parameter(p, key_text, value_text, err));
    }
    return CV_OK;
}

/* After "scheme:": "//user:password@hosts/db?query", for Java also "db?query". */
static enum cv_code parse_rest(struct parser *p, struct cv_str text, struct cv_error *err)
{
    struct cv_str query = text;
    struct cv_str path = take_until(&query, '?');
    const char *name;

    if (path.length >= 2 && path.ptr[0] == '/' && path.ptr[1] == '/') {
        struct cv_str authority;
        const char *at;

        path.ptr += 2, path.length -= 2;
        authority = take_until(&path, '/');
        at = authority.length ? memrchr(authority.ptr, '@', authority.length) : NULL;
        if (at) {
            struct cv_str user = {authority.ptr, (size_t)(at - authority.ptr)};

            CV_DO(parse_user(p, user, err));
            authority.length -= user.length + 1;
            authority.ptr = at + 1;
        }
        CV_DO(parse_hosts(p, authority, err));
    } else if (!p->is_java) {
        return cv_fail(err, CV_CONFIG, "uri: // is missing after the scheme");
    } else if (path.length && *path.ptr == '/') {
        path.ptr++, path.length--;
    }
    if (path.length && memchr(path.ptr, '@', path.length))
        return fail_at(err);
    if (path.length) {
        CV_DO(decode(p->arena, path, "name of the database", &name, err));
        CV_DO(set(p->target, "dbname", name, err));
    }
    CV_DO(parse_query(p, query, err));
    if (p->is_java && !get(p->target, "host")) {
        CV_DO(set(p->target, "host", "localhost", err));
        CV_DO(set(p->target, "port", "5432", err));
    }
    return CV_OK;
}

/* Lists of one entry per host. */
static const char *const host_lists[] = {"host", "hostaddr", "port"};

size_t cv_postgres_target_hosts(const struct cv_postgres_target *target)
{
    size_t most = 1;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(host_lists); i++) {
        const char *list = get(target, host_lists[i]);
        size_t count = 1;

        for (; list && *list; list++)
            count += *list == ',';
        most = CV_MAX(most, count);
    }
    return most;
}

/* "a,b,c" → "b,c,a" for 1; a list of one stands for all hosts. */
static const char *rotated(const char *list, size_t turn, struct cv_arena *arena)
{
    const char *at = list;

    for (; turn && *at; at++)
        turn -= *at == ',';
    if (at == list || !*at)
        return list;
    return cv_arena_printf(arena, "%s,%.*s", at, (int)(at - list) - 1, list);
}

const char **cv_postgres_target_values(const struct cv_postgres_target *target, size_t turn,
                                       struct cv_arena *arena)
{
    const char **values =
        cv_arena_copy(arena, target->values, (target->count + 1) * sizeof *values);

    for (size_t i = 0; i < target->count; i++)
        for (size_t j = 0; j < CV_ARRAY_LENGTH(host_lists); j++)
            if (strcmp(target->keywords[i], host_lists[j]) == 0)
                values[i] = rotated(values[i], turn, arena);
    return values;
}

static void describe(struct cv_postgres_target *target, struct cv_arena *arena)
{
    const char *host = get(target, "host");
    const char *port = get(target, "port");
    const char *name = get(target, "dbname");

    target->location =
        cv_arena_printf(arena, "postgresql://%.200s%s%.100s/%.100s", host ? host : "",
                        host && port ? ":" : "", host && port ? port : "", name ? name : "");
}

enum cv_code cv_postgres_target_parse(const char *uri, const char *user, const char *password,
                                      struct cv_arena *arena, struct cv_postgres_target *ret_target,
                                      struct cv_error *err)
{
    struct cv_postgres_target target = {.connect_ms = CV_POSTGRES_CONNECT_MS,
                                        .answer_ms = CV_POSTGRES_ANSWER_MS};
    struct parser p = {.arena = arena, .target = &target};
    struct cv_str text = cv_str_from(uri);
    enum cv_code code;

    p.is_java = cv_text_starts_with(uri, "jdbc:");
    if (p.is_java)
        (void)take_until(&text, ':');
    (void)take_until(&text, ':');
    p.known = PQconndefaults();
    if (!p.known)
        return cv_fail(err, CV_CONFIG, "the service file of PostgreSQL cannot be read");
    code = parse_rest(&p, text, err);
    PQconninfoFree(p.known);
    CV_DO(code);
    if (user)
        CV_DO(set(&target, "user", cv_arena_strdup(arena, user), err));
    if (password)
        CV_DO(set(&target, "password", cv_arena_strdup(arena, password), err));
    if (!get(&target, "application_name"))
        CV_DO(set(&target, "fallback_application_name", "calve", err));
    CV_DO(set(&target, "client_encoding", "UTF8", err));
    describe(&target, arena);
    *ret_target = target;
    return CV_OK;
}
