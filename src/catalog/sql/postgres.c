/* SPDX-License-Identifier: Apache-2.0
 *
 * The SQL catalog in a PostgreSQL database. The connection is kept; every wait is bounded and ends
 * at a stop of the process. A statement goes out once: where its answer is lost after it was sent,
 * what it wrote may be there (CV_UNKNOWN) and only a statement that reads is sent again. The server
 * gives a statement up before calve does, so that it cannot be applied long after. */
#include "base/error_part.h"
#include "base/stop.h"
#include "base/time.h"
#include "catalog/sql/database.h"
#include "catalog/sql/postgres_uri.h"
#include "storage/http.h"
#include "storage/retry.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define WAIT_SLICE_MS 50 /* how soon a wait notices a stop */

struct postgres_database {
    struct cv_sql_database base;
    struct cv_arena arena;
    struct cv_postgres_target target;
    PGconn *connection; /* NULL until needed, and after it broke */
    bool has_tables;    /* iceberg_tables, as the connection found it */
    bool has_all;       /* and iceberg_namespace_properties, which comes a moment later */
    bool was_connected; /* since then an outage is waited out */
};

/* What became of a statement. */
struct outcome {
    PGresult *result;
    bool unsent;  /* the server has not got it */
    bool refused; /* the server answered that nothing was done */
    bool passing; /* may succeed later */
};

static void disconnect(struct postgres_database *database)
{
    PQfinish(database->connection);
    database->connection = NULL;
}

/* libpq's messages have several lines, some of them indented. */
static const char *one_line(const char *text, char line[1024])
{
    size_t length = 0;

    for (; *text && length < 1020; text++) {
        if (*text != '\n') {
            line[length++] = *text;
            continue;
        }
        text += strspn(text + 1, "\n\t ");
        if (text[1])
            line[length++] = ';', line[length++] = ' ';
    }
    line[length] = '\0';
    return line;
}

/* What the server tells besides: "relation exists already, skipping". */
static void ignore_notice(void *context, const PGresult *notice)
{
    (void)context;
    (void)notice;
}

/* Waits for the socket. CV_TIMEOUT; CV_CANCELLED when a stop leaves no more time. */
static enum cv_code wait_for(struct postgres_database *database, short events, int64_t *deadline_us,
                             struct cv_error *err)
{
    bool stopping = false;

    for (;;) {
        struct pollfd entry = {.fd = PQsocket(database->connection), .events = events};
        int64_t now = cv_monotonic_us();
        int64_t left;
        int ready;

        if (!stopping && cv_stop_requested(NULL)) {
            stopping = true;
            *deadline_us = CV_MIN(*deadline_us, now + CV_HTTP_STOP_MS * CV_US_PER_MS);
        }
        left = (*deadline_us - now) / CV_US_PER_MS;
        if (left <= 0)
            return stopping
                       ? cv_fail(err, CV_CANCELLED, "%s: cancelled while waiting for an answer",
                                 database->target.location)
                       : cv_fail(err, CV_TIMEOUT, "%s gives no answer in time",
                                 database->target.location);
        ready = poll(&entry, 1, (int)CV_MIN(left, WAIT_SLICE_MS));
        if (ready > 0)
            return CV_OK;
        if (ready < 0 && errno != EINTR)
            return cv_fail(err, CV_IO, "%s: %s", database->target.location, strerror(errno));
    }
}

/* --- connecting --- */

/* "FATAL:  28P01: password …": verbose messages carry the code of the server's refusal. */
static void take_sqlstate(char *message, char sqlstate[6])
{
    char *at = strstr(message, "FATAL:  ");
    char *location;

    sqlstate[0] = '\0';
    if (!at || strlen(at) < 15 || at[13] != ':')
        return;
    memcpy(sqlstate, at + 8, 5);
    sqlstate[5] = '\0';
    memmove(at + 7, at + 14, strlen(at + 14) + 1);
    location = strstr(message, "; LOCATION:");
    if (location)
        *location = '\0';
}

static bool contains_any(const char *text, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(text, parts[i]))
            return true;
    return false;
}

/* libpq tells what went wrong before the server spoke only in words. */
static enum cv_code classify_words(struct postgres_database *database, const char *message,
                                   struct cv_error *err)
{
    static const char *const tls[] = {"SSL", "certificate"};
    static const char *const names[] = {"could not translate host name"};
    static const char *const passwords[] = {"no password supplied", "password retrieved"};
    static const char *const settings[] = {"invalid ", "private key file"};

    if (contains_any(message, names, 1)) {
        cv_error_set_part(err, CV_PART_DNS);
        cv_hint(err, "the host's name is not known to DNS: see the catalog's `uri`");
        return CV_IO;
    }
    if (contains_any(message, tls, 2)) {
        cv_error_set_part(err, CV_PART_TLS);
        cv_hint(err, "TLS: see sslmode and sslrootcert in the catalog's `uri`");
        return CV_AUTH;
    }
    if (contains_any(message, passwords, 2)) {
        cv_error_set_part(err, CV_PART_AUTHORIZATION);
        cv_hint(err, "give it in the catalog's `uri`, by jdbc.password or PGPASSWORD");
        return CV_AUTH;
    }
    if (contains_any(message, settings, 2))
        return CV_CONFIG;
    cv_error_set_part(err, CV_PART_CONNECTION);
    cv_hint(err, "check that the server runs and can be reached from here");
    return CV_IO;
}

static enum cv_code fail_connect(struct postgres_database *database, struct cv_error *err)
{
    char message[1024];
    char sqlstate[6];
    enum cv_code code = CV_IO;

    (void)one_line(PQerrorMessage(database->connection), message);
    take_sqlstate(message, sqlstate);
    (void)cv_fail(err, CV_IO, "cannot connect to %s: %s", database->target.location,
                  *message ? message : "no answer");
    if (!*sqlstate) {
        code = classify_words(database, message, err);
    } else if (strncmp(sqlstate, "28", 2) == 0) {
        code = CV_AUTH;
        cv_error_set_part(err, CV_PART_AUTHORIZATION);
        cv_hint(err, "see user and password in the catalog's `uri` (or jdbc.user, jdbc.password), "
                     "and the server's pg_hba.conf");
    } else if (strcmp(sqlstate, "3D000") == 0) {
        code = CV_CONFIG;
        cv_hint(err, "make the database, or name another one in the catalog's `uri`");
    } else if (strcmp(sqlstate, "42501") == 0) {
        code = CV_AUTH;
    }
    if (err) {
        err->code = code;
        err->flags |= code == CV_IO ? CV_ERROR_RETRIABLE : 0;
    }
    return code;
}

/* Begins with the host number `turn`; libpq goes on to the next one where one refuses. CV_TIMEOUT.
 */
static enum cv_code connect_from(struct postgres_database *database, size_t turn,
                                 struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    int64_t deadline = cv_monotonic_us() + database->target.connect_ms * CV_US_PER_MS;
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;

    database->connection = PQconnectStartParams(
        database->target.keywords, cv_postgres_target_values(&database->target, turn, &arena), 0);
    if (!database->connection)
        return cv_fail(err, CV_LIMIT, "out of memory");
    (void)PQsetErrorVerbosity(database->connection, PQERRORS_VERBOSE);
    (void)PQsetNoticeReceiver(database->connection, ignore_notice, NULL);
    if (PQstatus(database->connection) == CONNECTION_BAD)
        return fail_connect(database, err);
    while (status != PGRES_POLLING_OK) {
        CV_DO(
            wait_for(database, status == PGRES_POLLING_READING ? POLLIN : POLLOUT, &deadline, err));
        status = PQconnectPoll(database->connection);
        if (status == PGRES_POLLING_FAILED)
            return fail_connect(database, err);
    }
    (void)PQsetErrorVerbosity(database->connection, PQERRORS_DEFAULT);
    (void)PQsetnonblocking(database->connection, 1);
    return CV_OK;
}

/* Each host that does not answer has the time to connect for itself, as in libpq. */
static enum cv_code start_connection(struct postgres_database *database, struct cv_error *err)
{
    size_t hosts = cv_postgres_target_hosts(&database->target);
    enum cv_code code = CV_TIMEOUT;

    for (size_t turn = 0; turn < hosts && code == CV_TIMEOUT; turn++) {
        disconnect(database);
        code = connect_from(database, turn, err);
    }
    if (code == CV_TIMEOUT) {
        code = cv_fail(err, CV_IO, "cannot connect to %s within %lld s", database->target.location,
                       (long long)(database->target.connect_ms / 1000));
        if (err)
            err->flags |= CV_ERROR_RETRIABLE;
    }
    if (code != CV_OK && err)
        err->flags |= CV_ERROR_UNSENT;
    return code;
}

/* --- statements --- */

/* Whether the kept connection broke while nobody looked: its end or the server's farewell waits to
 * be read. */
static bool is_broken(PGconn *connection)
{
    struct pollfd entry = {.fd = PQsocket(connection), .events = POLLIN};

    for (int i = 0; i < 8 && poll(&entry, 1, 0) > 0; i++)
        if (!PQconsumeInput(connection))
            return true;
    return PQstatus(connection) == CONNECTION_BAD ||
           PQtransactionStatus(connection) != PQTRANS_IDLE;
}

static enum cv_code flush(struct postgres_database *database, int64_t *deadline_us,
                          struct cv_error *err)
{
    int rest;

    while ((rest = PQflush(database->connection)) > 0) {
        CV_DO(wait_for(database, POLLIN | POLLOUT, deadline_us, err));
        if (!PQconsumeInput(database->connection))
            return CV_IO;
    }
    return rest < 0 ? CV_IO : CV_OK;
}

/* The results up to the server's word that it is ready for the next statement, which is when the
 * transaction is over. The first good one and the first error are kept. */
static enum cv_code read_results(struct postgres_database *database, int64_t *deadline_us,
                                 PGresult **ret_good, PGresult **ret_error, struct cv_error *err)
{
    for (;;) {
        PGresult *result;
        ExecStatusType status;

        while (PQisBusy(database->connection)) {
            CV_DO(wait_for(database, POLLIN, deadline_us, err));
            if (PQconsumeInput(database->connection))
                continue;
            if (PQstatus(database->connection) == CONNECTION_OK)
                return CV_IO;
            break; /* the server may have said why */
        }
        result = PQgetResult(database->connection);
        if (!result)
            return PQstatus(database->connection) == CONNECTION_OK ? CV_OK : CV_IO;
        status = PQresultStatus(result);
        if ((status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) && !*ret_good)
            *ret_good = result;
        else if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && !*ret_error)
            *ret_error = result;
        else
            PQclear(result);
    }
}

static bool is_passing(const char *sqlstate)
{
    static const char *const classes[] = {"08", "40", "53", "57", "55P03"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(classes); i++)
        if (cv_text_starts_with(sqlstate, classes[i]))
            return true;
    return false;
}

static enum cv_code fail_refused(struct postgres_database *database, const PGresult *error,
                                 struct outcome *outcome, struct cv_error *err)
{
    const char *sqlstate = PQresultErrorField(error, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(error, PG_DIAG_MESSAGE_PRIMARY);
    enum cv_code code = CV_CATALOG;

    outcome->refused = true;
    outcome->passing = is_passing(sqlstate);
    if (strcmp(sqlstate, "23505") == 0 || strcmp(sqlstate, "42P07") == 0 ||
        strcmp(sqlstate, "42710") == 0)
        code = CV_EXISTS;
    else if (strcmp(sqlstate, "42501") == 0)
        code = CV_AUTH;
    else if (strcmp(sqlstate, "22001") == 0)
        code = CV_LIMIT;
    else if (strcmp(sqlstate, "42P01") == 0)
        disconnect(database); /* the tables are gone: look again */
    (void)cv_fail(err, code, "%s: %s", database->target.location, message ? message : sqlstate);
    if (code == CV_AUTH)
        cv_hint(err,
                "the role needs SELECT, INSERT, UPDATE and DELETE on iceberg_tables and "
                "iceberg_namespace_properties, and CREATE on the schema while they are absent");
    else if (strcmp(sqlstate, "25006") == 0)
        cv_hint(err, "the server is a standby or read-only: name the primary in the catalog's "
                     "`uri`, or add target_session_attrs=primary");
    if (err && outcome->passing)
        err->flags |= CV_ERROR_RETRIABLE;
    return code;
}

/* Not transaction_resolution_unknown and statement_completion_unknown, which something between
 * calve and the server may say. */
static bool tells_outcome(const char *sqlstate)
{
    return sqlstate && strcmp(sqlstate, "08007") != 0 && strcmp(sqlstate, "40003") != 0;
}

/* Judges an answer. An error before anything else means that the transaction was rolled back; all
 * that comes after a good result, or instead of an answer, leaves open what became of it. */
static enum cv_code judge(struct postgres_database *database, enum cv_code code, PGresult *good,
                          const PGresult *error, struct outcome *outcome, struct cv_error *err)
{
    const char *severity = error ? PQresultErrorField(error, PG_DIAG_SEVERITY_NONLOCALIZED) : NULL;
    char line[1024];

    if (code == CV_OK && good && !error)
        return CV_OK;
    if (error && !good && severity && strcmp(severity, "ERROR") == 0 &&
        tells_outcome(PQresultErrorField(error, PG_DIAG_SQLSTATE)))
        return fail_refused(database, error, outcome, err);
    outcome->passing = code != CV_CANCELLED;
    (void)one_line(PQerrorMessage(database->connection), line);
    if (code != CV_TIMEOUT && code != CV_CANCELLED)
        code = cv_fail(err, CV_IO, "%s: the connection broke: %.*s", database->target.location,
                       (int)strcspn(line, ";"), line);
    if (err && outcome->passing)
        err->flags |= CV_ERROR_RETRIABLE;
    disconnect(database);
    return code;
}

static enum cv_code send_statement(struct postgres_database *database, const char *text,
                                   const char *const *values, size_t count, struct outcome *outcome,
                                   struct cv_error *err)
{
    int64_t deadline = cv_monotonic_us() + database->target.answer_ms * CV_US_PER_MS;
    PGresult *good = NULL;
    PGresult *error = NULL;
    enum cv_code code = CV_IO;

    if (PQsendQueryParams(database->connection, text, (int)count, NULL, values, NULL, NULL, 0)) {
        code = flush(database, &deadline, err);
        if (code == CV_OK ||
            code == CV_IO) /* an error of the server may wait behind a failed write */
            code = read_results(database, &deadline, &good, &error, err);
    }
    code = judge(database, code, good, error, outcome, err);
    PQclear(error);
    if (code != CV_OK)
        PQclear(good);
    else
        outcome->result = good;
    return code;
}

/* One round trip tells whether the tables are there and of which schema. A statement that waits for
 * a lock ends on the server before calve stops waiting, and a commit that was answered is on the
 * server's disk. */
static enum cv_code set_up_session(struct postgres_database *database, struct cv_error *err)
{
    static const char text[] =
        "SELECT to_regclass('iceberg_tables') IS NOT NULL,"
        " EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('iceberg_tables')"
        " AND attname = 'iceberg_type' AND NOT attisdropped),"
        " CASE WHEN (SELECT setting::bigint NOT BETWEEN 1 AND $1::text::bigint FROM pg_settings"
        " WHERE name = 'statement_timeout') THEN set_config('statement_timeout', $1, false) END,"
        " CASE WHEN current_setting('synchronous_commit') = 'off'"
        " THEN set_config('synchronous_commit', 'on', false) END,"
        " to_regclass('iceberg_namespace_properties') IS NOT NULL";
    struct outcome outcome = {0};
    char timeout[32];
    const char *values[] = {timeout};

    (void)snprintf(timeout, sizeof timeout, "%lld", (long long)database->target.answer_ms * 2 / 3);
    CV_DO(send_statement(database, text, values, 1, &outcome, err));
    database->has_tables = *PQgetvalue(outcome.result, 0, 0) == 't';
    database->has_all = database->has_tables && *PQgetvalue(outcome.result, 0, 4) == 't';
    if (database->has_tables)
        database->base.schema =
            *PQgetvalue(outcome.result, 0, 1) == 't' ? CV_SQL_SCHEMA_V1 : CV_SQL_SCHEMA_V0;
    PQclear(outcome.result);
    return CV_OK;
}

static enum cv_code connect_once(struct postgres_database *database, struct cv_error *err)
{
    enum cv_code code;

    if (database->connection && !is_broken(database->connection))
        return CV_OK;
    disconnect(database);
    code = start_connection(database, err);
    if (code == CV_OK)
        code = set_up_session(database, err);
    if (code != CV_OK) {
        disconnect(database);
        return code;
    }
    database->was_connected = true;
    return CV_OK;
}

/* Two processes that make the tables at once: one of them is refused, by whichever constraint of
 * the system tables it hits first. */
static enum cv_code make_tables(struct postgres_database *database, struct cv_error *err)
{
    const char *next = cv_sql_tables_text(database->base.schema);

    while (*next) {
        size_t length = strcspn(next, ";") + 1;
        CV_CLEANUP(cv_freep) char *text = cv_strdup(next);
        struct outcome outcome = {0};
        enum cv_code code;

        text[length - 1] = '\0';
        next += length;
        code = send_statement(database, text, NULL, 0, &outcome, err);
        PQclear(outcome.result);
        if (code != CV_EXISTS)
            CV_TRY(code, err, "cannot make the tables");
    }
    if (!database->connection)
        return connect_once(database, err);
    return set_up_session(database, err);
}

static enum cv_code open_once(struct postgres_database *database, bool create, struct cv_error *err)
{
    bool was_kept = database->connection != NULL;

    CV_DO(connect_once(database, err));
    if (create ? database->has_all : database->has_tables)
        return CV_OK;
    if (was_kept) /* somebody may have made them since */
        CV_DO(set_up_session(database, err));
    if (!database->has_all && create)
        CV_DO(make_tables(database, err));
    if (!database->has_tables)
        return cv_fail(err, CV_NOT_FOUND, "%s holds no catalog tables yet",
                       database->target.location);
    return CV_OK;
}

/* An outage of a server that has answered before is waited out; one that never did is a mistake
 * that somebody wants to hear of. A connection that broke is made anew without a wait, once. */
static bool again(struct postgres_database *database, struct cv_retry *retry, bool may,
                  bool at_once)
{
    if (!may || !database->was_connected)
        return false;
    if (at_once && retry->attempt == 1)
        retry->attempt++;
    else if (!cv_retry_again(retry, -1))
        return false;
    cv_request_count(database->base.counts, CV_REQUEST_RETRY);
    return true;
}

static enum cv_code postgres_open(struct cv_sql_database *base, bool create, struct cv_error *err)
{
    struct postgres_database *database = (struct postgres_database *)base;
    const struct cv_retry_policy policy = CV_RETRY_CATALOG;
    struct cv_retry retry;

    cv_retry_begin(&retry, &policy);
    for (;;) {
        struct cv_error failure = CV_ERROR_INIT;
        enum cv_code code = open_once(database, create, &failure);

        if (code == CV_OK)
            return CV_OK;
        if (!again(database, &retry, failure.flags & CV_ERROR_RETRIABLE, false)) {
            if (failure.flags & CV_ERROR_RETRIABLE)
                code = cv_retry_give_up(code, &failure);
            if (err)
                *err = failure;
            return code;
        }
    }
}

static void take_result(const PGresult *from, struct cv_arena *arena, struct cv_sql_result *to)
{
    int count = PQntuples(from);
    int64_t changed = 0;

    to->values = cv_arena_array(arena, const char *, (size_t)count);
    to->count = (size_t)count;
    for (int i = 0; i < count; i++)
        to->values[i] =
            PQgetisnull(from, i, 0) ? NULL : cv_arena_strdup(arena, PQgetvalue(from, i, 0));
    (void)cv_parse_i64(cv_str_from(PQcmdTuples((PGresult *)from)), &changed);
    to->changed = changed;
}

static enum cv_code run_once(struct postgres_database *database, enum cv_sql_statement which,
                             const char *const *texts, struct outcome *outcome,
                             struct cv_error *err)
{
    enum cv_code code = connect_once(database, err);

    if (code == CV_OK && !database->has_tables)
        code = cv_fail(err, CV_CATALOG, "%s holds no catalog tables any more",
                       database->target.location);
    if (code != CV_OK) {
        outcome->unsent = true;
        outcome->passing = err->flags & CV_ERROR_RETRIABLE;
        return code;
    }
    return send_statement(database, cv_sql_text(which, database->base.schema), texts,
                          cv_sql_text_count(which), outcome, err);
}

static enum cv_code postgres_run(struct cv_sql_database *base, enum cv_sql_statement which,
                                 const char *const *texts, struct cv_arena *arena,
                                 struct cv_sql_result *ret_result, struct cv_error *err)
{
    struct postgres_database *database = (struct postgres_database *)base;
    const struct cv_retry_policy policy = CV_RETRY_CATALOG;
    struct cv_retry retry;

    cv_retry_begin(&retry, &policy);
    for (;;) {
        struct cv_error failure = CV_ERROR_INIT;
        struct outcome outcome = {0};
        enum cv_code code = run_once(database, which, texts, &outcome, &failure);
        bool certain = outcome.unsent || outcome.refused || !cv_sql_writes(which);

        if (code == CV_OK) {
            take_result(outcome.result, arena, ret_result);
            PQclear(outcome.result);
            return CV_OK;
        }
        if (again(database, &retry, certain && outcome.passing,
                  !outcome.unsent && !outcome.refused))
            continue;
        if (!certain)
            code = failure.code = CV_UNKNOWN;
        else if (outcome.passing)
            code = cv_retry_give_up(code, &failure);
        if (err)
            *err = failure;
        return code;
    }
}

static enum cv_code postgres_check(struct cv_sql_database *base, cv_catalog_report *report,
                                   void *context, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct postgres_database *database = (struct postgres_database *)base;
    struct cv_error own = CV_ERROR_INIT;
    enum cv_code code;

    code = connect_once(database, &own);
    if (code != CV_OK) {
        report(context, code == CV_IO ? "connection" : "database", NULL, &own);
        if (err)
            *err = own;
        return code;
    }
    report(context, "server",
           cv_arena_printf(&arena, "%s: PostgreSQL %s", database->target.location,
                           PQparameterStatus(database->connection, "server_version")),
           NULL);
    report(context, "tls",
           PQsslInUse(database->connection) ? PQsslAttribute(database->connection, "protocol")
                                            : "not used: the connection is not encrypted",
           NULL);
    report(context, "authorization",
           cv_arena_printf(&arena, "user %s", PQuser(database->connection)), NULL);
    report(context, "database",
           !database->has_tables ? "it has no catalog tables yet: the first table makes them"
           : base->schema == CV_SQL_SCHEMA_V1 ? "catalog tables of layout V1"
                                              : "catalog tables of layout V0",
           NULL);
    return CV_OK;
}

static void postgres_free(struct cv_sql_database *base)
{
    struct postgres_database *database = (struct postgres_database *)base;

    disconnect(database);
    cv_arena_release(&database->arena);
    free(database);
}

static const struct cv_sql_database_ops postgres_ops = {
    .open = postgres_open,
    .run = postgres_run,
    .check = postgres_check,
    .free = postgres_free,
};

enum cv_code cv_postgres_new(const char *uri, const char *user, const char *password,
                             struct cv_sql_database **ret_database, struct cv_error *err)
{
    struct postgres_database *database = cv_alloc(sizeof *database);
    enum cv_code code;

    database->base.ops = &postgres_ops;
    code = cv_postgres_target_parse(uri, user, password, &database->arena, &database->target, err);
    if (code != CV_OK) {
        postgres_free(&database->base);
        return code;
    }
    *ret_database = &database->base;
    return CV_OK;
}
