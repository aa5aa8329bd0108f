/* SPDX-License-Identifier: Apache-2.0
 *
 * Requirements and updates of commits: the member names are those of the REST specification's
 * CommitTableRequest, the pairing is that of the Java library. */
#include "iceberg/metadata_diff.h"

#include "iceberg/metadata_change.h"
#include "test.h"

#define UUID "9c12d441-03fe-4693-9a96-a0705ddf69c1"
#define HEAD_UNTIL_ORDERS                                                                          \
    "{\"format-version\":2,\"table-uuid\":\"" UUID "\",\"location\":\"s3://b/t\","                 \
    "\"last-sequence-number\":2,\"last-updated-ms\":1000,\"last-column-id\":3,"                    \
    "\"current-schema-id\":1,\"schemas\":[{\"type\":\"struct\",\"schema-id\":0,\"fields\":[]},"    \
    "{\"type\":\"struct\",\"schema-id\":1,\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":"      \
    "false,\"type\":\"long\"}]}],\"default-spec-id\":0,\"partition-specs\":[{\"spec-id\":0,"       \
    "\"fields\":[]}],\"last-partition-id\":0,\"default-sort-order-id\":0"
#define PROPERTIES ",\"properties\":{\"k\":\"v\",\"old\":\"1\"}"
#define HEAD       HEAD_UNTIL_ORDERS ",\"sort-orders\":[{\"order-id\":0,\"fields\":[]}]" PROPERTIES
#define SNAPSHOT(id, parent)                                                                       \
    "{\"snapshot-id\":" #id ",\"parent-snapshot-id\":" #parent ",\"sequence-number\":" #id         \
    ",\"timestamp-ms\":" #id "00,\"summary\":{\"operation\":\"append\"},\"schema-id\":1,"          \
    "\"manifest-list\":\"s3://b/t/" #id ".avro\"}"

static const char empty_json[] = HEAD "}";
static const char json[] =
    HEAD ",\"current-snapshot-id\":2,\"refs\":{\"main\":{\"snapshot-id\":2,\"type\":\"branch\","
         "\"min-snapshots-to-keep\":3},\"t\":{\"snapshot-id\":1,\"type\":\"tag\","
         "\"max-ref-age-ms\":9}},\"snapshots\":[" SNAPSHOT(1, 0) "," SNAPSHOT(
             2, 1) "],\"statistics\":[{\"snapshot-id\":1,\"statistics-path\":\"s3://b/t/"
                   "1.puffin\"}]}";

static struct cv_error err;
static struct cv_table_metadata *base, *next;
static struct cv_buf out = CV_BUF_INIT(0);

static void start_from(const char *text)
{
    CV_ASSERT_OK(cv_table_metadata_read(text, strlen(text), &base, &err), &err);
    next = cv_table_metadata_copy(base);
}

static int tear_down(void **state)
{
    (void)state;
    cv_table_metadata_free(base);
    cv_table_metadata_free(next);
    cv_buf_release(&out);
    return 0;
}

#define REQUIRE_UUID "{\"requirements\":[{\"type\":\"assert-table-uuid\",\"uuid\":\"" UUID "\"}"

static void assert_diff(const char *wanted)
{
    cv_buf_clear(&out);
    CV_ASSERT_OK(cv_metadata_diff_write(base, next, false, &out, &err), &err);
    assert_string_equal(cv_buf_text(&out), wanted);
    assert_true(cv_metadata_diff_is_in(base, next, next));
}

static void add_snapshot(struct cv_table_metadata *metadata, int64_t id, const char *branch)
{
    struct cv_snapshot snapshot = {.id = id,
                                   .parent_id = cv_table_metadata_head(metadata, branch)
                                                    ? cv_table_metadata_head(metadata, branch)->id
                                                    : -1,
                                   .sequence_number = metadata->last_sequence_number + 1,
                                   .timestamp_ms = 5000,
                                   .manifest_list = "s3://b/t/new.avro",
                                   .schema_id = 1};

    cv_properties_set(&snapshot.summary, "operation", "append");
    CV_ASSERT_OK(cv_table_metadata_add_snapshot(metadata, &snapshot, branch, &err), &err);
    cv_properties_release(&snapshot.summary);
}

static void nothing_changed_is_an_empty_commit(void **state)
{
    (void)state;
    start_from(json);
    assert_diff(REQUIRE_UUID "],\"updates\":[]}");
}

static void a_first_append_says_that_main_must_not_exist(void **state)
{
    (void)state;
    start_from(empty_json);
    add_snapshot(next, 7, "main");
    assert_diff(REQUIRE_UUID
                ",{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"main\",\"snapshot-id\":null}],"
                "\"updates\":[{\"action\":\"add-snapshot\",\"snapshot\":{\"sequence-number\":3,"
                "\"snapshot-id\":7,\"timestamp-ms\":5000,\"summary\":{\"operation\":\"append\"},"
                "\"manifest-list\":\"s3://b/t/new.avro\",\"schema-id\":1}},"
                "{\"action\":\"set-snapshot-ref\",\"ref-name\":\"main\",\"snapshot-id\":7,"
                "\"type\":\"branch\"}]}");
    assert_false(cv_metadata_diff_is_in(base, next, base));
}

static void definitions_are_asserted_where_files_depend_on_them(void **state)
{
    const char *wanted = REQUIRE_UUID
        ",{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"main\",\"snapshot-id\":2},"
        "{\"type\":\"assert-current-schema-id\",\"current-schema-id\":1},"
        "{\"type\":\"assert-default-spec-id\",\"default-spec-id\":0},"
        "{\"type\":\"assert-default-sort-order-id\",\"default-sort-order-id\":0}],\"updates\":";

    (void)state;
    start_from(json);
    add_snapshot(next, 7, "main");
    cv_buf_clear(&out);
    CV_ASSERT_OK(cv_metadata_diff_write(base, next, true, &out, &err), &err);
    assert_memory_equal(cv_buf_text(&out), wanted, strlen(wanted));
}

static void an_append_sends_the_retention_again(void **state)
{
    (void)state;
    start_from(json);
    add_snapshot(next, 7, "main");
    assert_diff(REQUIRE_UUID
                ",{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"main\",\"snapshot-id\":2}],"
                "\"updates\":[{\"action\":\"add-snapshot\",\"snapshot\":{\"sequence-number\":3,"
                "\"snapshot-id\":7,\"parent-snapshot-id\":2,\"timestamp-ms\":5000,\"summary\":"
                "{\"operation\":\"append\"},\"manifest-list\":\"s3://b/t/new.avro\","
                "\"schema-id\":1}},{\"action\":\"set-snapshot-ref\",\"ref-name\":\"main\","
                "\"snapshot-id\":7,\"type\":\"branch\",\"min-snapshots-to-keep\":3}]}");
}

static void properties_are_set_and_removed(void **state)
{
    (void)state;
    start_from(json);
    cv_properties_set(&next->properties, "k", "w\"");
    cv_properties_set(&next->properties, "new", "");
    (void)cv_properties_remove(&next->properties, "old");
    assert_diff(REQUIRE_UUID "],\"updates\":[{\"action\":\"set-properties\",\"updates\":"
                             "{\"k\":\"w\\\"\",\"new\":\"\"}},{\"action\":\"remove-properties\","
                             "\"removals\":[\"old\"]}]}");
    assert_false(cv_metadata_diff_is_in(base, next, base));
}

static void expiry_asserts_all_refs(void **state)
{
    static const int64_t ids[] = {1};

    (void)state;
    start_from(json);
    CV_ASSERT_OK(cv_table_metadata_remove_ref(next, "t", &err), &err);
    CV_ASSERT_OK(cv_table_metadata_remove_snapshots(next, ids, 1, &err), &err);
    assert_diff(REQUIRE_UUID
                ",{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"main\",\"snapshot-id\":2},"
                "{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"t\",\"snapshot-id\":1}],"
                "\"updates\":[{\"action\":\"remove-snapshot-ref\",\"ref-name\":\"t\"},"
                "{\"action\":\"remove-statistics\",\"snapshot-id\":1},"
                "{\"action\":\"remove-snapshots\",\"snapshot-ids\":[1]}]}");
    assert_false(cv_metadata_diff_is_in(base, next, base));
}

static void a_new_tag_must_not_exist(void **state)
{
    const struct cv_snapshot_ref ref = {"u", 1, true, -1, -1, 77};

    (void)state;
    start_from(json);
    CV_ASSERT_OK(cv_table_metadata_set_ref(next, &ref, &err), &err);
    assert_diff(REQUIRE_UUID
                ",{\"type\":\"assert-ref-snapshot-id\",\"ref\":\"u\",\"snapshot-id\":null}],"
                "\"updates\":[{\"action\":\"set-snapshot-ref\",\"ref-name\":\"u\","
                "\"snapshot-id\":1,\"type\":\"tag\",\"max-ref-age-ms\":77}]}");
    assert_false(cv_metadata_diff_is_in(base, next, base));
}

/* The pair of the server's own numbers: it keeps a last-partition-id of 0. */
static void definitions_are_numbered_by_the_base(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf changed = CV_BUF_INIT(0);
    const char *wanted;

    (void)state;
    start_from(empty_json);
    cv_table_metadata_free(next);
    cv_buf_append_text(
        &changed,
        "{\"format-version\":2,\"table-uuid\":\"" UUID "\",\"location\":\"s3://b/u\","
        "\"last-sequence-number\":2,\"last-updated-ms\":1000,\"last-column-id\":4,"
        "\"current-schema-id\":2,\"schemas\":[{\"type\":\"struct\",\"schema-id\":1,\"fields\":"
        "[{\"id\":1,\"name\":\"a\",\"required\":false,\"type\":\"long\"}]},"
        "{\"type\":\"struct\",\"schema-id\":2,\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":"
        "false,\"type\":\"long\"},{\"id\":4,\"name\":\"d\",\"required\":false,\"type\":"
        "\"string\"}]}],\"default-spec-id\":1,\"partition-specs\":[{\"spec-id\":0,\"fields\":[]},"
        "{\"spec-id\":1,\"fields\":[{\"name\":\"a\",\"transform\":\"identity\",\"source-id\":1,"
        "\"field-id\":1000}]}],\"last-partition-id\":1000,\"default-sort-order-id\":0,"
        "\"sort-orders\":[{\"order-id\":0,\"fields\":[]}],\"properties\":{\"k\":\"v\","
        "\"old\":\"1\"}}");
    CV_ASSERT_OK(cv_table_metadata_read(changed.data, changed.length, &next, &err), &err);
    CV_ASSERT_OK(cv_metadata_diff_write(base, next, false, &out, &err), &err);
    wanted = cv_buf_text(&out);
    assert_non_null(strstr(wanted, "{\"type\":\"assert-last-assigned-field-id\","
                                   "\"last-assigned-field-id\":3}"));
    assert_non_null(
        strstr(wanted, "{\"type\":\"assert-current-schema-id\",\"current-schema-id\":1}"));
    assert_non_null(strstr(wanted, "{\"type\":\"assert-last-assigned-partition-id\","
                                   "\"last-assigned-partition-id\":0}"));
    assert_non_null(strstr(wanted, "{\"type\":\"assert-default-spec-id\",\"default-spec-id\":0}"));
    assert_non_null(strstr(wanted, "{\"action\":\"add-schema\",\"schema\":{\"type\":\"struct\","));
    assert_non_null(strstr(wanted, ",\"last-column-id\":4},{\"action\":\"set-current-schema\","
                                   "\"schema-id\":2},{\"action\":\"add-spec\",\"spec\":"
                                   "{\"spec-id\":1,"));
    assert_non_null(strstr(wanted, "{\"action\":\"set-default-spec\",\"spec-id\":1},"
                                   "{\"action\":\"set-location\",\"location\":\"s3://b/u\"}"));
    assert_non_null(strstr(wanted, "{\"action\":\"remove-schemas\",\"schema-ids\":[0]}"));
    assert_false(cv_metadata_diff_is_in(base, next, base));
    assert_true(cv_metadata_diff_is_in(base, next, next));
}

static void what_cannot_be_said_is_refused(void **state)
{
    static const char order[] = HEAD_UNTIL_ORDERS
        ",\"sort-orders\":[{\"order-id\":0,\"fields\":[]},{\"order-id\":1,\"fields\":[{"
        "\"transform\":\"identity\",\"source-id\":1,\"direction\":\"asc\",\"null-order\":"
        "\"nulls-first\"}]}]" PROPERTIES "}";
    static const struct {
        const char *text, *what;
    } cases[] = {
        {order, "sort-orders"},
        {HEAD ",\"encryption-keys\":[]}", "members that are not known"},
        {HEAD ",\"statistics\":[{\"snapshot-id\":1,\"statistics-path\":\"s3://b/t/1.puffin\"}]}",
         "statistics files"},
    };

    (void)state;
    start_from(empty_json);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++) {
        cv_table_metadata_free(next);
        next = NULL;
        CV_ASSERT_OK(cv_table_metadata_read(cases[i].text, strlen(cases[i].text), &next, &err),
                     &err);
        cv_buf_clear(&out);
        CV_ASSERT_FAILS(cv_metadata_diff_write(base, next, false, &out, &err), CV_UNSUPPORTED,
                        cases[i].what, &err);
    }
}

/* Others committed on top of it meanwhile. */
static void a_landed_change_is_found_below_later_ones(void **state)
{
    struct cv_table_metadata *now;

    (void)state;
    start_from(json);
    add_snapshot(next, 7, "main");
    now = cv_table_metadata_copy(next);
    add_snapshot(now, 8, "main");
    cv_properties_set(&now->properties, "k", "theirs");
    assert_true(cv_metadata_diff_is_in(base, next, now));
    cv_table_metadata_free(now);
    now = cv_table_metadata_copy(base);
    add_snapshot(now, 8, "main");
    assert_false(cv_metadata_diff_is_in(base, next, now));
    cv_table_metadata_free(now);
}

/* A rollback's target is in the history of both: what counts is which head the branch left. */
static void a_rollback_is_in_when_the_branch_left_its_head(void **state)
{
    const struct cv_snapshot_ref back = {"main", 1, false, 3, -1, -1};
    struct cv_table_metadata *now;

    (void)state;
    start_from(json);
    CV_ASSERT_OK(cv_table_metadata_set_ref(next, &back, &err), &err);
    now = cv_table_metadata_copy(next);
    add_snapshot(now, 8, "main");
    assert_true(cv_metadata_diff_is_in(base, next, now));
    cv_table_metadata_free(now);
    now = cv_table_metadata_copy(base);
    add_snapshot(now, 8, "main");
    assert_false(cv_metadata_diff_is_in(base, next, now));
    cv_table_metadata_free(now);
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_changed_is_an_empty_commit),
        TEST(a_first_append_says_that_main_must_not_exist),
        TEST(definitions_are_asserted_where_files_depend_on_them),
        TEST(an_append_sends_the_retention_again),
        TEST(properties_are_set_and_removed),
        TEST(expiry_asserts_all_refs),
        TEST(a_new_tag_must_not_exist),
        TEST(definitions_are_numbered_by_the_base),
        TEST(what_cannot_be_said_is_refused),
        TEST(a_landed_change_is_found_below_later_ones),
        TEST(a_rollback_is_in_when_the_branch_left_its_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
