/* SPDX-License-Identifier: Apache-2.0
 *
 * The Hadoop catalog on S3 against a scripted server: what a commit says of itself when puts fail
 * or others go on meanwhile. */
#include "test.h"

#include "http_script.h"

#include "table/table.h"

#define FOLDER "/b/wh/shop/orders/metadata"
#define META   "{\"format-version\":2}"

static struct cv_error err;
static struct script_server server;
static struct cv_arena arena;
static struct cv_catalog *catalog;
static struct cv_table_name name;

static int set_up(void **state)
{
    struct cv_properties properties = {0};
    char endpoint[64];

    (void)state;
    script_start(&server);
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d", server.port);
    cv_properties_set(&properties, "type", "hadoop");
    cv_properties_set(&properties, "warehouse", "s3://b/wh/");
    cv_properties_set(&properties, "s3.endpoint", endpoint);
    cv_properties_set(&properties, "s3.access-key-id", "AKID");
    cv_properties_set(&properties, "s3.secret-access-key", "very-secret");
    cv_properties_set(&properties, "s3.retry.num-retries", "2");
    cv_properties_set(&properties, "s3.retry.min-wait-ms", "1");
    cv_properties_set(&properties, "s3.retry.max-wait-ms", "2");
    CV_ASSERT_OK(cv_catalog_open("lake", &properties, &catalog, &err), &err);
    CV_ASSERT_OK(cv_table_name_parse("lake.shop.orders", &arena, &name, &err), &err);
    cv_properties_release(&properties);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cv_catalog_free(catalog);
    cv_arena_release(&arena);
    script_stop(&server);
    return 0;
}

static void rule(const char *match, int status, const char *body, int times)
{
    script_rule(&server, (struct script_rule){match, status, body, .times = times});
}

/* A service that keeps the promise of conditional puts, and a table at version 5. */
static void serve_a_table(void)
{
    rule("PUT " FOLDER "/.calve-probe-", 200, NULL, 1);
    rule("PUT " FOLDER "/.calve-probe-", 412, NULL, 1);
    rule("DELETE ", 204, NULL, 0);
    rule("HEAD " FOLDER "/v5.metadata.json", 200, NULL, 1);
    rule("GET " FOLDER "/next.metadata.json", 200, META, 0);
    rule("PUT " FOLDER "/version-hint.text", 200, NULL, 0);
}

/* And nobody else: its hint stays. */
static void serve_version_5(void)
{
    serve_a_table();
    rule("GET " FOLDER "/version-hint.text", 200, "5", 0);
}

static enum cv_code commit(struct cv_catalog_entry *ret_entry)
{
    struct cv_catalog_change change = {
        .base_location = "s3://b/wh/shop/orders/metadata/v5.metadata.json",
        .next_location = "s3://b/wh/shop/orders/metadata/next.metadata.json"};

    *ret_entry = (struct cv_catalog_entry){0};
    return catalog->ops->commit(catalog, &name, &change, &arena, ret_entry, &err);
}

static void a_commit_is_a_conditional_put(void **state)
{
    struct cv_catalog_entry entry;
    const struct script_request *put;

    (void)state;
    serve_version_5();
    rule("PUT " FOLDER "/v6.metadata.json", 200, NULL, 0);
    CV_ASSERT_OK(commit(&entry), &err);
    assert_string_equal(entry.metadata_location, "s3://b/wh/shop/orders/metadata/v6.metadata.json");
    put = script_get(&server, "PUT " FOLDER "/v6.metadata.json", 0);
    assert_non_null(strcasestr(put->head, "\r\nIf-None-Match: *\r\n"));
    assert_memory_equal(put->body.data, META, sizeof META - 1);
    put = script_get(&server, "PUT " FOLDER "/version-hint.text", 0);
    assert_memory_equal(put->body.data, "6", 1);
}

static void a_taken_version_is_a_conflict(void **state)
{
    struct cv_catalog_entry entry;

    (void)state;
    serve_version_5();
    rule("PUT " FOLDER "/v6.metadata.json", 412, NULL, 0);
    CV_ASSERT_FAILS(commit(&entry), CV_CONFLICT, "v6.metadata.json exists", &err);
}

static void a_refused_put_is_certain(void **state)
{
    struct cv_catalog_entry entry;

    (void)state;
    serve_version_5();
    rule("PUT " FOLDER "/v6.metadata.json", 403, NULL, 0);
    CV_ASSERT_FAILS(commit(&entry), CV_AUTH, "v6.metadata.json", &err);
}

/* What became of the first attempt nobody knows, whatever the second one meets. */
static void a_refusal_after_a_lost_answer_tells_nothing(void **state)
{
    struct cv_catalog_entry entry;

    (void)state;
    serve_version_5();
    rule("PUT " FOLDER "/v6.metadata.json", 500, NULL, 1);
    rule("PUT " FOLDER "/v6.metadata.json", 403, NULL, 0);
    CV_ASSERT_FAILS(commit(&entry), CV_UNKNOWN, "v6.metadata.json", &err);
}

static void an_own_version_that_cannot_be_read_is_unknown(void **state)
{
    struct cv_catalog_entry entry;

    (void)state;
    serve_version_5();
    script_rule(&server, (struct script_rule){"PUT " FOLDER "/v6.metadata.json", .how = SCRIPT_DROP,
                                              .times = 1});
    rule("PUT " FOLDER "/v6.metadata.json", 412, NULL, 0);
    rule("GET " FOLDER "/v6.metadata.json", 403, NULL, 0);
    CV_ASSERT_FAILS(commit(&entry), CV_UNKNOWN, "v6.metadata.json", &err);
}

static void a_lost_answer_to_an_own_version_is_success(void **state)
{
    struct cv_catalog_entry entry;

    (void)state;
    serve_version_5();
    script_rule(&server, (struct script_rule){"PUT " FOLDER "/v6.metadata.json", .how = SCRIPT_DROP,
                                              .times = 1});
    rule("PUT " FOLDER "/v6.metadata.json", 412, NULL, 0);
    rule("GET " FOLDER "/v6.metadata.json", 200, META, 0);
    CV_ASSERT_OK(commit(&entry), &err);
}

/* While the put was on its way others came to version 20 and cleaned 6 up. */
static void a_version_that_was_cleaned_up_is_no_success(void **state)
{
    struct cv_catalog_entry entry;

    (void)state;
    serve_a_table();
    rule("GET " FOLDER "/version-hint.text", 200, "5", 1);
    rule("GET " FOLDER "/version-hint.text", 200, "20", 0);
    rule("HEAD " FOLDER "/v20.metadata.json", 200, NULL, 0);
    rule("PUT " FOLDER "/v6.metadata.json", 200, NULL, 0);
    CV_ASSERT_FAILS(commit(&entry), CV_UNKNOWN, "v20.metadata.json", &err);
    assert_int_equal(script_count(&server, "PUT " FOLDER "/version-hint.text"), 0);
}

/* The file that is written first has the bytes, so that a landed version is known by them. */
static void metadata_is_plain(void **state)
{
    CV_CLEANUP(cv_properties_release) struct cv_properties properties = {0};
    struct cv_partition_spec spec = {0};
    struct cv_schema schema;
    const struct script_request *put;
    struct cv_table *table;

    (void)state;
    rule("PUT " FOLDER "/.calve-probe-", 200, NULL, 1);
    rule("PUT " FOLDER "/.calve-probe-", 412, NULL, 1);
    rule("DELETE ", 204, NULL, 0);
    rule("PUT ", 200, NULL, 0);
    rule("GET " FOLDER "/version-hint.text", 404, "<Error><Code>NoSuchKey</Code></Error>", 0);
    rule("GET /b?", 200, "<ListBucketResult></ListBucketResult>", 0);
    rule("GET " FOLDER "/", 200, META, 0);
    cv_properties_set(&properties, "write.metadata.compression-codec", "gzip");
    CV_ASSERT_OK(cv_schema_read_ddl("n bigint", &arena, &schema, &err), &err);
    CV_ASSERT_OK(cv_table_create(catalog, "lake.shop.orders", &schema, &spec, &properties, NULL,
                                 &table, &err),
                 &err);
    put = script_get(&server, "PUT ", 0);
    assert_null(strstr(put->head, ".gz."));
    assert_int_equal(put->body.data[0], '{');
    cv_table_free(table);
}

/* Another commit was built on this one before the hint was looked at. */
static void a_version_that_others_built_on_is_success(void **state)
{
    struct cv_catalog_entry entry;

    (void)state;
    serve_a_table();
    rule("GET " FOLDER "/version-hint.text", 200, "5", 1);
    rule("GET " FOLDER "/version-hint.text", 200, "7", 0);
    rule("HEAD " FOLDER "/v5.metadata.json", 200, NULL, 0);
    rule("PUT " FOLDER "/v6.metadata.json", 200, NULL, 0);
    CV_ASSERT_OK(commit(&entry), &err);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_commit_is_a_conditional_put),
        TEST(a_taken_version_is_a_conflict),
        TEST(a_refused_put_is_certain),
        TEST(a_refusal_after_a_lost_answer_tells_nothing),
        TEST(an_own_version_that_cannot_be_read_is_unknown),
        TEST(a_lost_answer_to_an_own_version_is_success),
        TEST(a_version_that_was_cleaned_up_is_no_success),
        TEST(a_version_that_others_built_on_is_success),
        TEST(metadata_is_plain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
