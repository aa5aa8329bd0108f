/* SPDX-License-Identifier: Apache-2.0
 *
 * The REST catalog against a scripted server: what is asked for, and what each answer comes to.
 * Names of members and statuses are those of the REST specification. */
#include "http_server.h"

#include "base/time.h"
#include "catalog/catalog.h"
#include "iceberg/metadata_change.h"

static struct cv_error err;

struct step {
    const char *request; /* "GET /v1/config" */
    int status;
    const char *headers;
    const char *body;
    enum { REPLY, RESET, HANG, GARBAGE } deed;
    const char *sent; /* must stand in the request's head or body; NULL = anything */
};

static struct {
    struct cv_test_server server;
    const struct step *steps;
    size_t count, at;
    const char *config; /* of GET /v1/config */
    char wrong[512];    /* the first request that was not the script's */
    struct cv_arena arena;
    struct cv_catalog *catalog;
    struct cv_table_name name;
} f;

static bool sent(const struct cv_test_request *request, const char *text)
{
    return !text || strstr(request->head, text) ||
           (request->body_length &&
            memmem(request->body, request->body_length, text, strlen(text)) != NULL);
}

static void answer(struct cv_test_server *server, const struct cv_test_request *request,
                   struct cv_test_answer *ret_answer)
{
    const struct step *step = f.at < f.count ? &f.steps[f.at] : NULL;

    (void)server;
    if (cv_test_is(request, "GET /v1/config") && !(step && strstr(step->request, "/v1/config"))) {
        cv_test_reply(ret_answer, 200, NULL, f.config);
        return;
    }
    if (!step || !cv_test_is(request, step->request) || !sent(request, step->sent)) {
        if (!f.wrong[0])
            (void)snprintf(f.wrong, sizeof f.wrong, "step %zu: %.300s", f.at, request->head);
        cv_test_reply(ret_answer, 418, NULL, "");
        return;
    }
    f.at++;
    if (step->deed == RESET)
        ret_answer->reset = true;
    else if (step->deed == HANG)
        ret_answer->hang = true;
    else if (step->deed == GARBAGE)
        cv_buf_append_text(&ret_answer->bytes, step->body);
    else
        cv_test_reply(ret_answer, step->status, step->headers, step->body ? step->body : "");
}

static void open_with(const char *const *properties, size_t count)
{
    struct cv_properties p = {0};

    cv_properties_set(&p, "type", "rest");
    cv_properties_set(&p, "uri", cv_arena_printf(&f.arena, "http://127.0.0.1:%d/", f.server.port));
    cv_properties_set(&p, "rest.client.retry-min-wait-ms", "1");
    cv_properties_set(&p, "rest-metrics-reporting-enabled", "false");
    for (size_t i = 0; i + 1 < count; i += 2)
        cv_properties_set(&p, properties[i], properties[i + 1]);
    CV_ASSERT_OK(cv_catalog_open("lake", &p, &f.catalog, &err), &err);
    cv_properties_release(&p);
}

#define OPEN(...)                                                                                  \
    open_with((const char *const[]){__VA_ARGS__},                                                  \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
#define SCRIPT(...)                                                                                \
    static const struct step script[] = {__VA_ARGS__};                                             \
    f.steps = script;                                                                              \
    f.count = CV_ARRAY_LENGTH(script)

static int set_up(void **state)
{
    (void)state;
    memset(&f, 0, sizeof f);
    cv_error_clear(&err);
    f.config = "{\"defaults\":{},\"overrides\":{}}";
    CV_ASSERT_OK(cv_table_name_parse("lake.shop.orders", &f.arena, &f.name, &err), &err);
    cv_test_server_start(&f.server, answer, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cv_catalog_free(f.catalog);
    cv_test_server_stop(&f.server);
    cv_arena_release(&f.arena);
    return 0;
}

static void assert_played(void)
{
    assert_string_equal(f.wrong, "");
    assert_int_equal(f.at, f.count);
}

#define TABLE          "/v1/namespaces/shop/tables/orders"
#define UUID           "9c12d441-03fe-4693-9a96-a0705ddf69c1"
#define METADATA(rest) METADATA_AT("0", rest)
#define METADATA_AT(number, rest)                                                                  \
    "{\"format-version\":2,\"table-uuid\":\"" UUID "\",\"location\":\"file:///w/t\","              \
    "\"last-sequence-number\":" number ",\"last-updated-ms\":1000,\"last-column-id\":1,"           \
    "\"current-schema-id\":0,\"schemas\":[{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{"      \
    "\"id\":1,\"name\":\"a\",\"required\":false,\"type\":\"long\"}]}],\"default-spec-id\":0,"      \
    "\"partition-specs\":[{\"spec-id\":0,\"fields\":[]}],\"last-partition-id\":999,"               \
    "\"default-sort-order-id\":0,\"sort-orders\":[{\"order-id\":0,\"fields\":[]}]" rest "}"
#define ANSWER(location, rest)                                                                     \
    "{\"metadata-location\":\"" location "\",\"metadata\":" METADATA("") rest "}"

static enum cv_code load(const char *known, struct cv_catalog_entry *ret_entry)
{
    return f.catalog->ops->load(f.catalog, &f.name, known, &f.arena, ret_entry, &err);
}

static void a_table_is_loaded_once_per_etag(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    SCRIPT({"GET " TABLE, 200, "ETag: \"e1\"\r\n", ANSWER("file:///w/m1", ""), REPLY,
            "?snapshots=all"},
           {"GET " TABLE, 304, NULL, NULL, REPLY, "If-None-Match: \"e1\""},
           {"GET " TABLE, 200, "ETag: \"e2\"\r\n", ANSWER("file:///w/m2", ""), REPLY, NULL},
           {"GET " TABLE, 200, NULL, ANSWER("file:///w/m2", ""), REPLY, "If-None-Match: \"e2\""});
    OPEN(NULL);
    CV_ASSERT_OK(load(NULL, &entry), &err);
    assert_false(entry.unchanged);
    assert_string_equal(entry.metadata_location, "file:///w/m1");
    assert_string_equal(entry.metadata->table_uuid, UUID);
    cv_catalog_entry_release(&entry);
    CV_ASSERT_OK(load("file:///w/m1", &entry), &err);
    assert_true(entry.unchanged);
    CV_ASSERT_OK(load("file:///w/m1", &entry), &err);
    assert_string_equal(entry.metadata_location, "file:///w/m2");
    cv_catalog_entry_release(&entry);
    CV_ASSERT_OK(load("file:///w/m2", &entry), &err); /* a server without conditions */
    assert_true(entry.unchanged);
    assert_played();
    assert_int_equal(f.catalog->counts.sent[CV_REQUEST_CATALOG_READ], 5);
}

static void configuration_is_merged_in_its_order(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    f.config = "{\"defaults\":{\"prefix\":\"default\",\"header.X-A\":\"default\","
               "\"header.X-B\":\"default\"},\"overrides\":{\"prefix\":\"p/q\","
               "\"namespace-separator\":\"%2E\",\"s3.endpoint\":\"http://s3\"}}";
    SCRIPT({"GET /v1/p/q/namespaces/a%20b%2Ec%2Fd/tables/t%2B%C3%A4", 200, NULL,
            ANSWER("file:///w/m", ""), REPLY, "X-A: mine\r\n"});
    OPEN("header.X-A", "mine", "prefix", "own", "warehouse", "w h");
    f.name.levels = (const char *[]){"a b", "c/d"};
    f.name.level_count = 2;
    f.name.table = "t+ä";
    CV_ASSERT_OK(load(NULL, &entry), &err);
    cv_catalog_entry_release(&entry);
    assert_played();
    assert_string_equal(cv_properties_get(&f.catalog->store_properties, "s3.endpoint"),
                        "http://s3");
}

static void delegation_is_asked_for_unless_told_otherwise(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    SCRIPT({"GET " TABLE, 200, NULL, ANSWER("file:///w/m", ""), REPLY,
            "X-Iceberg-Access-Delegation: vended-credentials\r\n"},
           {"GET " TABLE, 200, NULL, ANSWER("file:///w/m", ""), REPLY,
            "X-Iceberg-Access-Delegation: other\r\n"});
    OPEN(NULL);
    CV_ASSERT_OK(load(NULL, &entry), &err);
    cv_catalog_entry_release(&entry);
    cv_catalog_free(f.catalog);
    OPEN("header.X-Iceberg-Access-Delegation", "other");
    CV_ASSERT_OK(load(NULL, &entry), &err);
    cv_catalog_entry_release(&entry);
    assert_played();
}

static void reads_are_repeated(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    SCRIPT({"GET " TABLE, 503, "Retry-After: 0\r\n", "<html>", REPLY, NULL},
           {"GET " TABLE, 0, NULL, NULL, RESET, NULL}, {"GET " TABLE, 429, NULL, "", REPLY, NULL},
           {"GET " TABLE, 500, NULL, "", REPLY, NULL},
           {"GET " TABLE, 200, NULL, ANSWER("file:///w/m", ""), REPLY, NULL});
    OPEN(NULL);
    CV_ASSERT_OK(load(NULL, &entry), &err);
    cv_catalog_entry_release(&entry);
    assert_played();
    assert_true(f.catalog->counts.sent[CV_REQUEST_RETRY] >= 3); /* libcurl may do one itself */
}

static void failures_of_reads_say_why(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    SCRIPT({"GET " TABLE, 404, NULL,
            "{\"error\":{\"message\":\"no\\nsuch\",\"type\":\"NoSuchTableException\","
            "\"code\":404}}",
            REPLY, NULL},
           {"GET " TABLE, 403, NULL, "{\"error\":7}", REPLY, NULL},
           {"GET " TABLE, 200, NULL, "[]", REPLY, NULL},
           {"GET " TABLE, 200, NULL, "{\"metadata-location\":\"file:///w/m\",\"metadata\":{}}",
            REPLY, NULL});
    OPEN(NULL);
    CV_ASSERT_FAILS(load(NULL, &entry), CV_NOT_FOUND, "NoSuchTableException: no such", &err);
    CV_ASSERT_FAILS(load(NULL, &entry), CV_AUTH, "403", &err);
    CV_ASSERT_FAILS(load(NULL, &entry), CV_FORMAT, "not a JSON object", &err);
    CV_ASSERT_FAILS(load(NULL, &entry), CV_FORMAT, "metadata", &err);
    assert_played();
}

static enum cv_code commit(struct cv_catalog_entry *ret_entry)
{
    CV_CLEANUP(cv_table_metadata_freep) struct cv_table_metadata *base = NULL;
    CV_CLEANUP(cv_table_metadata_freep) struct cv_table_metadata *next = NULL;
    struct cv_catalog_change change = {.base_location = "file:///w/m1"};

    CV_ASSERT_OK(cv_table_metadata_read(METADATA(""), strlen(METADATA("")), &base, &err), &err);
    next = cv_table_metadata_copy(base);
    cv_properties_set(&next->properties, "k", "v");
    change.base = base;
    change.next = next;
    cv_error_clear(&err);
    return f.catalog->ops->commit(f.catalog, &f.name, &change, &f.arena, ret_entry, &err);
}

static void a_commit_sends_requirements_and_updates(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    SCRIPT({"POST " TABLE, 200, NULL, ANSWER("file:///w/m2", ""), REPLY,
            "{\"requirements\":[{\"type\":\"assert-table-uuid\",\"uuid\":\"" UUID "\"}],"
            "\"updates\":[{\"action\":\"set-properties\",\"updates\":{\"k\":\"v\"}}]}"});
    OPEN(NULL);
    CV_ASSERT_OK(commit(&entry), &err);
    assert_string_equal(entry.metadata_location, "file:///w/m2");
    assert_non_null(entry.metadata);
    cv_catalog_entry_release(&entry);
    assert_played();
    assert_int_equal(f.catalog->counts.sent[CV_REQUEST_CATALOG_COMMIT], 1);
}

/* One answer to a commit, and what it comes to. */
static void assert_commit(int status, const char *headers, const char *body, enum cv_code wanted)
{
    struct step step = {"POST " TABLE, status, headers, body, status ? REPLY : RESET, NULL};
    struct cv_catalog_entry entry = {0};
    enum cv_code code;

    f.steps = &step;
    f.count = 1;
    f.at = 0;
    code = commit(&entry);
    if (code != wanted)
        fail_msg("status %d: %s and not %s: %s", status, cv_code_name(code), cv_code_name(wanted),
                 err.message);
    cv_catalog_entry_release(&entry);
    assert_played();
    f.count = 0;
}

static void each_answer_to_a_commit_has_its_meaning(void **state)
{
    static const struct {
        int status;
        enum cv_code code;
    } answers[] = {
        {400, CV_CATALOG},  {403, CV_AUTH},    {404, CV_NOT_FOUND}, {406, CV_UNSUPPORTED},
        {409, CV_CONFLICT}, {422, CV_CATALOG}, {401, CV_AUTH},      {419, CV_AUTH},
        {500, CV_UNKNOWN},  {502, CV_UNKNOWN}, {503, CV_UNKNOWN},   {504, CV_UNKNOWN},
        {408, CV_UNKNOWN},  {0, CV_UNKNOWN},   {302, CV_CATALOG},   {507, CV_UNKNOWN}};

    (void)state;
    OPEN(NULL);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(answers); i++)
        assert_commit(answers[i].status, NULL, "", answers[i].code);
    assert_commit(200, NULL, "<html>fine</html>", CV_UNKNOWN);
    assert_commit(200, NULL, "", CV_UNKNOWN);
    assert_commit(503, "Retry-After: 0\r\n", "", CV_UNKNOWN);
    assert_commit(200, NULL, ANSWER("file:///w/m2", ""), CV_OK);
}

#define SNAPSHOT                                                                                   \
    ",\"current-snapshot-id\":7,\"snapshots\":[{\"snapshot-id\":7,\"sequence-number\":1,"          \
    "\"timestamp-ms\":5000,\"summary\":{\"operation\":\"append\"},\"manifest-list\":\"file:///w/"  \
    "l\"}]"

static enum cv_code commit_snapshot(struct cv_catalog_entry *ret_entry)
{
    CV_CLEANUP(cv_table_metadata_freep) struct cv_table_metadata *base = NULL;
    CV_CLEANUP(cv_table_metadata_freep) struct cv_table_metadata *next = NULL;
    struct cv_catalog_change change = {.base_location = "file:///w/m1"};

    CV_ASSERT_OK(cv_table_metadata_read(METADATA(""), strlen(METADATA("")), &base, &err), &err);
    CV_ASSERT_OK(cv_table_metadata_read(METADATA_AT("1", SNAPSHOT),
                                        strlen(METADATA_AT("1", SNAPSHOT)), &next, &err),
                 &err);
    change.base = base;
    change.next = next;
    return f.catalog->ops->commit(f.catalog, &f.name, &change, &f.arena, ret_entry, &err);
}

static void a_sequence_number_that_is_spent_is_a_conflict(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    SCRIPT({"POST " TABLE, 400, NULL, "", REPLY, NULL},
           {"GET " TABLE, 200, NULL,
            "{\"metadata-location\":\"file:///w/m2\",\"metadata\":" METADATA_AT("1", SNAPSHOT) "}",
            REPLY, NULL},
           {"POST " TABLE, 400, NULL, "", REPLY, NULL},
           {"GET " TABLE, 200, NULL, ANSWER("file:///w/m1", ""), REPLY, NULL});
    OPEN(NULL);
    CV_ASSERT_FAILS(commit_snapshot(&entry), CV_CONFLICT, "another branch was first", &err);
    CV_ASSERT_FAILS(commit_snapshot(&entry), CV_CATALOG, "400", &err);
    assert_played();
}

static void the_end_does_not_wait_long_for_a_report(void **state)
{
    struct cv_catalog_entry entry = {0};
    int64_t begun_us;

    (void)state;
    SCRIPT({"POST " TABLE, 200, NULL,
            "{\"metadata-location\":\"file:///w/m2\",\"metadata\":" METADATA_AT("1", SNAPSHOT) "}",
            REPLY, NULL},
           {"POST " TABLE "/metrics", 0, NULL, NULL, HANG, "\"report-type\":\"commit-report\""});
    OPEN("rest-metrics-reporting-enabled", "true");
    CV_ASSERT_OK(commit_snapshot(&entry), &err);
    cv_catalog_entry_release(&entry);
    while (cv_test_server_requests(&f.server) < 3) /* configuration, commit, report */
        cv_sleep_ms(1);
    begun_us = cv_monotonic_us();
    cv_catalog_free(f.catalog);
    f.catalog = NULL;
    assert_true(cv_monotonic_us() - begun_us < 20 * CV_US_PER_SECOND); /* and not a minute */
    assert_played();
}

static void too_many_requests_are_waited_for(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    SCRIPT({"POST " TABLE, 429, "Retry-After: 0\r\n", "", REPLY, NULL},
           {"POST " TABLE, 200, NULL, ANSWER("file:///w/m2", ""), REPLY, NULL});
    OPEN(NULL);
    CV_ASSERT_OK(commit(&entry), &err);
    cv_catalog_entry_release(&entry);
    assert_played();
}

static void an_unsent_commit_is_no_unknown_one(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    OPEN("rest.client.max-retries", "1");
    CV_ASSERT_FAILS(load(NULL, &entry), CV_CATALOG, "418", &err);
    cv_test_server_stop(&f.server);
    CV_ASSERT_FAILS(commit(&entry), CV_IO, "commit to table shop.orders", &err);
    cv_test_server_start(&f.server, answer, NULL);
}

/* With the key, the server recognises what is sent again. */
static void a_commit_with_a_key_is_sent_again(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    f.config = "{\"idempotency-key-lifetime\":\"PT30M\"}";
    SCRIPT({"POST " TABLE, 0, NULL, NULL, RESET, "Idempotency-Key: "},
           {"POST " TABLE, 502, NULL, NULL, REPLY, "Idempotency-Key: "},
           {"POST " TABLE, 200, NULL, ANSWER("file:///w/m2", ""), REPLY, "Idempotency-Key: "});
    OPEN(NULL);
    CV_ASSERT_OK(commit(&entry), &err);
    cv_catalog_entry_release(&entry);
    assert_played();
}

/* The server forgot the key, or something on the way sent twice: the conflict may be with its own
 * first attempt. */
static void a_conflict_after_a_lost_answer_is_unknown(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    f.config = "{\"idempotency-key-lifetime\":\"PT30M\"}";
    SCRIPT({"POST " TABLE, 0, NULL, NULL, RESET, NULL},
           {"POST " TABLE, 409, NULL, "", REPLY, NULL});
    OPEN(NULL);
    CV_ASSERT_FAILS(commit(&entry), CV_UNKNOWN, "409", &err);
    assert_played();
}

static void an_answer_that_is_not_http_leaves_a_commit_unknown(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    SCRIPT(
        {"POST " TABLE, 0, NULL, "HTTP/1.1 100 Continue\r\n\r\nnonsense\r\n\r\n", GARBAGE, NULL});
    OPEN(NULL);
    CV_ASSERT_FAILS(commit(&entry), CV_UNKNOWN, "commit to table shop.orders", &err);
    assert_played();
}

#define TOKENS "POST /v1/oauth/tokens"

static void what_a_server_repeats_is_hidden(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    SCRIPT({"GET " TABLE, 403, NULL,
            "{\"error\":{\"message\":\"no: Bearer very-secret-token\",\"type\":\"E\"}}", REPLY,
            NULL},
           {TOKENS, 400, NULL,
            "{\"error\":\"invalid_client\",\"error_description\":\"not hidden-half of me\"}", REPLY,
            NULL});
    OPEN("token", "very-secret-token");
    CV_ASSERT_FAILS(load(NULL, &entry), CV_AUTH, "no: Bearer *****************", &err);
    cv_catalog_free(f.catalog);
    OPEN("credential", "me:hidden-half");
    CV_ASSERT_FAILS(load(NULL, &entry), CV_CATALOG, "not *********** of me", &err);
    assert_played();
}

static void a_token_is_got_and_renewed_when_refused(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    SCRIPT(
        {TOKENS, 200, NULL,
         "{\"access_token\":\"t1\",\"token_type\":\"bearer\",\"expires_in\":"
         "3600}",
         REPLY, "grant_type=client_credentials&client_id=me&client_secret=s%3Ae%20c&scope=catalog"},
        {"GET " TABLE, 419, NULL, "", REPLY, "Authorization: Bearer t1\r\n"},
        {TOKENS, 200, NULL, "{\"access_token\":\"t2\",\"token_type\":\"bearer\"}", REPLY, NULL},
        {"GET " TABLE, 200, NULL, ANSWER("file:///w/m", ""), REPLY, "Authorization: Bearer t2\r\n"},
        {"POST " TABLE, 401, NULL, "", REPLY, "Authorization: Bearer t2\r\n"},
        {TOKENS, 400, NULL, "{\"error\":\"invalid_client\",\"error_description\":\"gone\"}", REPLY,
         NULL});
    OPEN("credential", "me:s:e c");
    CV_ASSERT_OK(load(NULL, &entry), &err);
    cv_catalog_entry_release(&entry);
    CV_ASSERT_FAILS(commit(&entry), CV_AUTH, "401", &err);
    assert_non_null(strstr(err.hint, "invalid_client: gone"));
    assert_null(strstr(err.message, "s:e"));
    assert_played();
}

/* Nearly at its end when it comes. */
static void a_token_is_renewed_before_it_ends(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    f.config = "{\"overrides\":{\"oauth2-server-uri\":\"auth/t\"}}";
    SCRIPT({TOKENS, 200, NULL, "{\"access_token\":\"t1\",\"expires_in\":0}", REPLY, NULL},
           {"POST /auth/t", 200, NULL, "{\"access_token\":\"t2\",\"expires_in\":1000}", REPLY,
            "scope=a%20b"},
           {"GET " TABLE, 200, NULL, ANSWER("file:///w/m", ""), REPLY,
            "Authorization: Bearer t2\r\n"});
    OPEN("credential", "secret", "scope", "a b");
    CV_ASSERT_OK(load(NULL, &entry), &err);
    cv_catalog_entry_release(&entry);
    assert_played();
}

static void a_static_token_and_a_password_are_sent(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    SCRIPT({"GET " TABLE, 200, NULL, ANSWER("file:///w/m", ",\"config\":{\"token\":\"own\"}"),
            REPLY, "Authorization: Bearer fixed\r\n"},
           {"GET " TABLE, 200, NULL, ANSWER("file:///w/m", ""), REPLY,
            "Authorization: Bearer own\r\n"},
           {"GET " TABLE, 401, NULL, "", REPLY, "Authorization: Bearer own\r\n"},
           {"GET " TABLE, 200, NULL, ANSWER("file:///w/m", ""), REPLY,
            "Authorization: Bearer fixed\r\n"},
           {"GET " TABLE, 200, NULL, ANSWER("file:///w/m", ""), REPLY,
            "Authorization: Bearer fixed\r\n"},
           {"GET " TABLE, 200, NULL, ANSWER("file:///w/m", ""), REPLY,
            "Authorization: Basic dTpw\r\n"});
    OPEN("token", "fixed");
    for (int i = 0; i < 4; i++) { /* then the table's own, until that is refused */
        CV_ASSERT_OK(load(NULL, &entry), &err);
        cv_catalog_entry_release(&entry);
    }
    cv_catalog_free(f.catalog);
    OPEN("rest.auth.type", "basic", "rest.auth.basic.username", "u", "rest.auth.basic.password",
         "p");
    CV_ASSERT_OK(load(NULL, &entry), &err);
    cv_catalog_entry_release(&entry);
    assert_played();
}

static void requests_are_signed(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    SCRIPT({"GET " TABLE, 200, NULL, ANSWER("file:///w/m", ""), REPLY,
            "Authorization: AWS4-HMAC-SHA256 Credential=AK/"});
    OPEN("rest.sigv4-enabled", "true", "rest.signing-name", "glue", "rest.signing-region",
         "eu-west-1", "rest.access-key-id", "AK", "rest.secret-access-key", "SK");
    CV_ASSERT_OK(load(NULL, &entry), &err);
    cv_catalog_entry_release(&entry);
    assert_true(cv_test_server_saw(&f.server, "/eu-west-1/glue/aws4_request"));
    assert_played();
}

static void vended_credentials_come_by_prefix(void **state)
{
    struct cv_catalog_entry entry = {0};
    struct cv_store_grants grants = {0};

    (void)state;
    f.config = "{\"endpoints\":[\"GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/"
               "credentials\"]}";
    SCRIPT({"GET " TABLE, 200, NULL,
            ANSWER("file:///w/m", ",\"config\":{\"s3.region\":\"r\"},\"storage-credentials\":[{"
                                  "\"prefix\":\"s3://b\",\"config\":{\"s3.access-key-id\":\"a\"}},"
                                  "{\"prefix\":\"s3://b/t\",\"config\":{\"s3.access-key-id\":"
                                  "\"b\"}}]"),
            REPLY, NULL},
           {"GET " TABLE "/credentials", 200, NULL,
            "{\"storage-credentials\":[{\"prefix\":\"s3://b\",\"config\":{\"s3.access-key-id\":"
            "\"c\"}}]}",
            REPLY, NULL});
    OPEN(NULL);
    CV_ASSERT_OK(load(NULL, &entry), &err);
    assert_string_equal(cv_properties_get(&entry.config, "s3.region"), "r");
    assert_int_equal(entry.grants.count, 2);
    assert_string_equal(entry.grants.items[1].prefix, "s3://b/t");
    cv_catalog_entry_release(&entry);
    CV_ASSERT_OK(f.catalog->ops->vend(f.catalog, &f.name, &grants, &err), &err);
    assert_int_equal(grants.count, 1);
    assert_string_equal(cv_properties_get(&grants.items[0].properties, "s3.access-key-id"), "c");
    cv_store_grants_release(&grants);
    assert_played();
}

/* What the catalog says of a table's files counts for a store that is opened besides the table's.
 */
static void another_store_of_a_table_has_its_configuration(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(0);
    struct step script[] = {{"GET " TABLE, 200, NULL, NULL, REPLY, NULL},
                            {"GET /b/t/x", 200, NULL, "hello", REPLY, "Credential=vended/"}};
    struct cv_catalog_vendee vendee;
    struct cv_store *store;

    (void)state;
    script[0].body = cv_arena_printf(
        &f.arena,
        ANSWER("s3://b/t/m", ",\"config\":{\"s3.endpoint\":\"http://127.0.0.1:%d\"},"
                             "\"storage-credentials\":[{\"prefix\":\"s3://b/t\",\"config\":{"
                             "\"s3.access-key-id\":\"vended\",\"s3.secret-access-key\":\"k\"}}]"),
        f.server.port);
    f.steps = script;
    f.count = CV_ARRAY_LENGTH(script);
    OPEN(NULL);
    vendee = (struct cv_catalog_vendee){f.catalog, &f.name};
    CV_ASSERT_OK(cv_catalog_open_store(f.catalog, "s3://b/t", NULL, &vendee, &store, &err), &err);
    CV_ASSERT_OK(cv_store_read(store, "s3://b/t/x", 100, &bytes, &err), &err);
    cv_store_free(store);
    assert_played();
}

/* Two tables of one bucket, open at once: files of each are asked for with its own keys, by turns.
 */
static void tables_have_credentials_of_their_own(void **state)
{
    static const char *const files[] = {"s3://b/orders/x", "s3://b/items/x"};
    struct step script[] = {{"GET " TABLE, 200, NULL, NULL, REPLY, NULL},
                            {"GET /v1/namespaces/shop/tables/items", 200, NULL, NULL, REPLY, NULL},
                            {"GET /b/orders/x", 200, NULL, "1", REPLY, "Credential=of-orders/"},
                            {"GET /b/items/x", 200, NULL, "2", REPLY, "Credential=of-items/"},
                            {"GET /b/orders/x", 200, NULL, "3", REPLY, "Credential=of-orders/"}};
    struct cv_table_name names[2] = {f.name};
    struct cv_store *stores[2];

    (void)state;
    CV_ASSERT_OK(cv_table_name_parse("lake.shop.items", &f.arena, &names[1], &err), &err);
    for (int i = 0; i < 2; i++)
        script[i].body = cv_arena_printf(
            &f.arena,
            ANSWER("s3://b/m", ",\"config\":{\"s3.endpoint\":\"http://127.0.0.1:%d\","
                               "\"s3.access-key-id\":\"of-%s\",\"s3.secret-access-key\":\"k\"}"),
            f.server.port, i ? "items" : "orders");
    f.steps = script;
    f.count = CV_ARRAY_LENGTH(script);
    OPEN(NULL);
    for (int i = 0; i < 2; i++) {
        struct cv_catalog_vendee vendee = {f.catalog, &names[i]};

        CV_ASSERT_OK(cv_catalog_open_store(f.catalog, files[i], NULL, &vendee, &stores[i], &err),
                     &err);
    }
    for (int i = 0; i < 3; i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(0);

        CV_ASSERT_OK(cv_store_read(stores[i % 2], files[i % 2], 100, &bytes, &err), &err);
        assert_int_equal(bytes.data[0], '1' + i);
    }
    cv_store_free(stores[0]);
    cv_store_free(stores[1]);
    assert_played();
}

static void signing_by_the_catalog_is_refused(void **state)
{
    struct cv_catalog_entry entry = {0};
    struct cv_store *store;

    (void)state;
    SCRIPT({"GET " TABLE, 200, NULL,
            ANSWER("file:///w/m", ",\"config\":{\"s3.remote-signing-enabled\":\"true\"}"), REPLY,
            NULL},
           {"GET " TABLE, 200, NULL,
            ANSWER("file:///w/m", ",\"config\":{\"s3.remote-signing-enabled\":\"true\","
                                  "\"s3.signer\":\"S3V4RestSigner\",\"s3.access-key-id\":\"a\","
                                  "\"s3.secret-access-key\":\"b\"}"),
            REPLY, NULL});
    OPEN(NULL);
    CV_ASSERT_FAILS(load(NULL, &entry), CV_UNSUPPORTED, "remote-signing", &err);
    CV_ASSERT_OK(load(NULL, &entry), &err); /* keys beside it will do */
    CV_ASSERT_OK(cv_catalog_open_store(f.catalog, "s3://b/t", &entry, NULL, &store, &err), &err);
    cv_store_free(store);
    cv_catalog_entry_release(&entry);
    assert_played();
}

static enum cv_code create(struct cv_catalog_entry *ret_entry)
{
    CV_CLEANUP(cv_table_metadata_freep) struct cv_table_metadata *next = NULL;
    struct cv_catalog_change change = {0};

    CV_ASSERT_OK(cv_table_metadata_read(METADATA(",\"properties\":{\"p\":\"q\"}"),
                                        strlen(METADATA(",\"properties\":{\"p\":\"q\"}")), &next,
                                        &err),
                 &err);
    change.next = next;
    return f.catalog->ops->create(f.catalog, &f.name, &change, &f.arena, ret_entry, &err);
}

#define TABLES "POST /v1/namespaces/shop/tables"

static void a_missing_namespace_is_made(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    SCRIPT({TABLES, 404, NULL, "{\"error\":{\"type\":\"NoSuchNamespaceException\"}}", REPLY, NULL},
           {"POST /v1/namespaces", 409, NULL, "", REPLY, "{\"namespace\":[\"shop\"]"},
           {TABLES, 200, NULL, ANSWER("file:///w/m", ""), REPLY,
            "{\"name\":\"orders\",\"location\":\"file:///w/t\",\"schema\":{"});
    OPEN(NULL);
    CV_ASSERT_OK(create(&entry), &err);
    cv_catalog_entry_release(&entry);
    assert_played();
}

static void an_existing_table_is_not_taken_for_the_own(void **state)
{
    struct cv_catalog_entry entry = {0};

    (void)state;
    SCRIPT({TABLES, 409, NULL, "", REPLY, NULL}, {TABLES, 0, NULL, NULL, RESET, NULL},
           {TABLES, 409, NULL, "", REPLY, NULL},
           {"GET " TABLE, 200, NULL, ANSWER("file:///w/m", ""), REPLY, NULL}); /* an old one */
    OPEN(NULL);
    CV_ASSERT_FAILS(create(&entry), CV_EXISTS, "409", &err);
    CV_ASSERT_FAILS(create(&entry), CV_EXISTS, "409", &err);
    assert_played();
}

static void tables_are_listed_page_by_page(void **state)
{
    char **names;
    size_t count;

    (void)state;
    SCRIPT({"GET /v1/namespaces", 200, NULL,
            "{\"namespaces\":[[\"b\"]],\"next-page-token\":\"x y\"}", REPLY, "pageToken= "},
           {"GET /v1/namespaces", 200, NULL, "{\"namespaces\":[[\"a\"]],\"next-page-token\":null}",
            REPLY, "pageToken=x%20y"},
           {"GET /v1/namespaces/b/tables", 200, NULL,
            "{\"identifiers\":[{\"namespace\":[\"b\"],\"name\":\"t\"}],\"next-page-token\":\"\"}",
            REPLY, NULL},
           {"GET /v1/namespaces", 200, NULL, "{\"namespaces\":[[\"b\",\"c\"],[\"z\"]]}", REPLY,
            "parent=b"},
           {"GET /v1/namespaces/a/tables", 404, NULL, "", REPLY, NULL},
           {"GET /v1/namespaces/b%1Fc/tables", 200, NULL,
            "{\"identifiers\":[{\"namespace\":[\"b\",\"c\"],\"name\":\"s\"}]}", REPLY, NULL},
           {"GET /v1/namespaces", 400, NULL, "", REPLY, "parent=b%1Fc"});
    OPEN(NULL);
    CV_ASSERT_OK(f.catalog->ops->list(f.catalog, &f.arena, &names, &count, &err), &err);
    assert_int_equal(count, 2);
    assert_string_equal(names[0], "b.c.s");
    assert_string_equal(names[1], "b.t");
    assert_played();
}

/* What is not known is not listed as absent. */
static void a_listing_is_whole_or_fails(void **state)
{
    char **names;
    size_t count;

    (void)state;
    SCRIPT({"GET /v1/namespaces", 200, NULL, "{\"namespaces\":[[\"b\"]]}", REPLY, NULL},
           {"GET /v1/namespaces/b/tables", 200, NULL, "{\"identifiers\":[]}", REPLY, NULL},
           {"GET /v1/namespaces", 500, NULL, "", REPLY, "parent=b"});
    OPEN("rest.client.max-retries", "0");
    CV_ASSERT_FAILS(f.catalog->ops->list(f.catalog, &f.arena, &names, &count, &err), CV_CATALOG,
                    "namespaces below b: HTTP status 500", &err);
    assert_played();
}

static void drops_and_renames_survive_a_lost_answer(void **state)
{
    struct cv_table_name to = {
        .catalog = "lake", .levels = (const char *[]){"shop"}, .level_count = 1, .table = "sold"};

    (void)state;
    SCRIPT(
        {"DELETE " TABLE, 502, NULL, NULL, REPLY, "?purgeRequested=false"},
        {"DELETE " TABLE, 404, NULL, "", REPLY, NULL},
        {"DELETE " TABLE, 404, NULL, "", REPLY, NULL},
        {"POST /v1/tables/rename", 0, NULL, NULL, RESET,
         "{\"source\":{\"namespace\":[\"shop\"],\"name\":\"orders\"},\"destination\":{"
         "\"namespace\":[\"shop\"],\"name\":\"sold\"}}"},
        {"POST /v1/tables/rename", 404, NULL, "", REPLY, NULL},
        {"GET " TABLE, 404, NULL, "", REPLY, NULL},
        {"GET /v1/namespaces/shop/tables/sold", 200, NULL, ANSWER("file:///w/m", ""), REPLY, NULL});
    OPEN(NULL);
    CV_ASSERT_OK(f.catalog->ops->drop(f.catalog, &f.name, &err), &err);
    CV_ASSERT_FAILS(f.catalog->ops->drop(f.catalog, &f.name, &err), CV_NOT_FOUND, "orders", &err);
    CV_ASSERT_OK(f.catalog->ops->rename(f.catalog, &f.name, &to, &err), &err);
    assert_played();
}

static void registering_sends_the_location(void **state)
{
    (void)state;
    SCRIPT({"POST /v1/namespaces/shop/register", 200, NULL, ANSWER("file:///w/m", ""), REPLY,
            "{\"name\":\"orders\",\"metadata-location\":\"file:///w/m\"}"},
           {"POST /v1/namespaces/shop/register", 502, NULL, "", REPLY, NULL},
           {"POST /v1/namespaces/shop/register", 409, NULL, "", REPLY, NULL},
           {"GET " TABLE, 200, NULL, ANSWER("file:///w/m", ""), REPLY, NULL},
           {"POST /v1/namespaces/shop/register", 409, NULL, "", REPLY, NULL});
    OPEN(NULL);
    for (int i = 0; i < 2; i++)
        CV_ASSERT_OK(f.catalog->ops->register_table(f.catalog, &f.name, "file:///w/m", &err), &err);
    CV_ASSERT_FAILS(f.catalog->ops->register_table(f.catalog, &f.name, "file:///w/m", &err),
                    CV_EXISTS, "orders", &err);
    assert_played();
}

static enum cv_code open_only(const char *key, const char *value)
{
    struct cv_properties p = {0};
    struct cv_catalog *catalog = NULL;
    enum cv_code code;

    cv_properties_set(&p, "type", "rest");
    cv_properties_set(&p, "uri", "http://h");
    cv_properties_set(&p, key, value);
    code = cv_catalog_open("lake", &p, &catalog, &err);
    cv_catalog_free(catalog);
    cv_properties_release(&p);
    return code;
}

static void settings_are_checked(void **state)
{
    (void)state;
    CV_ASSERT_FAILS(open_only("uri", "sqlite:x"), CV_CONFIG, "https://", &err);
    CV_ASSERT_FAILS(open_only("rest.auth.type", "google"), CV_UNSUPPORTED, "google", &err);
    CV_ASSERT_FAILS(open_only("credentials", "x"), CV_CONFIG, "credentials", &err);
    assert_non_null(strstr(err.hint, "credential?"));
    CV_ASSERT_FAILS(open_only("rest.client.max-retries", "-1"), CV_CONFIG, "max-retries", &err);
    CV_ASSERT_OK(open_only("view-endpoints-supported", "true"), &err);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_table_is_loaded_once_per_etag),
        TEST(configuration_is_merged_in_its_order),
        TEST(delegation_is_asked_for_unless_told_otherwise),
        TEST(reads_are_repeated),
        TEST(failures_of_reads_say_why),
        TEST(a_commit_sends_requirements_and_updates),
        TEST(each_answer_to_a_commit_has_its_meaning),
        TEST(too_many_requests_are_waited_for),
        TEST(an_unsent_commit_is_no_unknown_one),
        TEST(a_commit_with_a_key_is_sent_again),
        TEST(a_conflict_after_a_lost_answer_is_unknown),
        TEST(an_answer_that_is_not_http_leaves_a_commit_unknown),
        TEST(a_sequence_number_that_is_spent_is_a_conflict),
        TEST(the_end_does_not_wait_long_for_a_report),
        TEST(what_a_server_repeats_is_hidden),
        TEST(a_token_is_got_and_renewed_when_refused),
        TEST(a_token_is_renewed_before_it_ends),
        TEST(a_static_token_and_a_password_are_sent),
        TEST(requests_are_signed),
        TEST(vended_credentials_come_by_prefix),
        TEST(another_store_of_a_table_has_its_configuration),
        TEST(tables_have_credentials_of_their_own),
        TEST(signing_by_the_catalog_is_refused),
        TEST(a_missing_namespace_is_made),
        TEST(an_existing_table_is_not_taken_for_the_own),
        TEST(tables_are_listed_page_by_page),
        TEST(a_listing_is_whole_or_fails),
        TEST(drops_and_renames_survive_a_lost_answer),
        TEST(registering_sends_the_location),
        TEST(settings_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
