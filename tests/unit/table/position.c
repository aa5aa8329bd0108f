/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream positions: found along the branch's ancestors, long ones in the manifest list. */
#include "fixture.h"

static struct fixture f;

static int set_up(void **state)
{
    (void)state;
    fixture_open(&f, "sql");
    (void)fixture_table(&f, "", NULL, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fixture_close(&f);
    return 0;
}

static void append(const char *query, int64_t epoch, const char *job, const char *offsets)
{
    struct cv_data_file file = fixture_file(&f, 0, 0);
    const struct cv_append batch = {
        .files = &file,
        .file_count = 1,
        .query_id = query,
        .epoch = epoch,
        .job = job,
        .cluster_id = "cluster-1",
        .offsets_json = offsets,
    };
    struct cv_append_result result;

    CV_ASSERT_OK(cv_table_append(f.table, &batch, &result, &err), &err);
    assert_false(result.already_done);
}

static void the_newest_position_is_found(void **state)
{
    struct cv_position p;

    (void)state;
    append("q-1", 0, "orders", "{\"orders\":{\"0\":10}}");
    append("q-1", 1, "orders", "{\"orders\":{\"0\":20}}");
    append("q-2", 9, "items", "{\"items\":{\"0\":5}}");
    append(NULL, 0, NULL, NULL);
    CV_ASSERT_OK(cv_position_find_query(f.table, "q-1", &f.arena, &p, &err), &err);
    assert_int_equal(p.epoch, 1);
    assert_string_equal(p.offsets_json, "{\"orders\":{\"0\":20}}");
    assert_string_equal(p.cluster_id, "cluster-1");
    assert_string_equal(p.query_id, "q-1");
    assert_int_equal(p.snapshot_id, f.table->metadata->snapshots[1].id);
    CV_ASSERT_OK(cv_position_find_job(f.table, "items", &f.arena, &p, &err), &err);
    assert_int_equal(p.epoch, 9);
    assert_string_equal(p.query_id, "q-2");
    CV_ASSERT_FAILS(cv_position_find_query(f.table, "q-3", &f.arena, &p, &err), CV_NOT_FOUND, "q-3",
                    &err);
    CV_ASSERT_FAILS(cv_position_find_job(f.table, "order", &f.arena, &p, &err), CV_NOT_FOUND,
                    "order", &err);
}

/* Spark writes its two keys and no offsets. */
static void sparks_own_keys_tell_the_epoch(void **state)
{
    struct cv_position p;

    (void)state;
    append("q-1", 3, NULL, NULL);
    CV_ASSERT_OK(cv_position_find_query(f.table, "q-1", &f.arena, &p, &err), &err);
    assert_int_equal(p.epoch, 3);
    assert_null(p.offsets_json);
    assert_string_equal(p.cluster_id, "");
}

/* 1,000 partitions: the summary keeps a hash, the manifest list the text. */
static void long_offsets_are_in_the_manifest_list(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf offsets = CV_BUF_INIT(0);
    CV_CLEANUP(cv_table_freep) struct cv_table *reader = NULL;
    const struct cv_snapshot *head;
    const char *summary;
    struct cv_position p;

    (void)state;
    cv_buf_printf(&offsets, "{\"orders\":{");
    for (int i = 0; i < 1000; i++)
        cv_buf_printf(&offsets, "%s\"%d\":%d", i ? "," : "", i, 1000000 + i);
    cv_buf_printf(&offsets, "}}");
    append("q-1", 0, "orders", cv_buf_text(&offsets));
    head = cv_table_metadata_head(f.table->metadata, "main");
    summary = cv_properties_get(&head->summary, "calve.position.orders");
    assert_non_null(strstr(summary, "\"offsetsHash\":\"xxh64:"));
    assert_true(strlen(summary) < 200);
    CV_ASSERT_OK(cv_table_open(f.catalog, "lake.shop.orders", &reader, &err), &err);
    CV_ASSERT_OK(cv_position_find_job(reader, "orders", &f.arena, &p, &err), &err);
    assert_string_equal(p.offsets_json, cv_buf_text(&offsets));
    CV_ASSERT_OK(cv_position_find_query(reader, "q-1", &f.arena, &p, &err), &err);
    assert_string_equal(p.offsets_json, cv_buf_text(&offsets));
    assert_int_equal(p.epoch, 0);
}

static void offsets_are_stored_compact_and_must_be_json(void **state)
{
    struct cv_append_result result;
    const struct cv_append bad = {
        .query_id = "q-1", .job = "orders", .offsets_json = "{\"orders\":"};
    struct cv_position p;

    (void)state;
    CV_ASSERT_FAILS(cv_table_append(f.table, &bad, &result, &err), CV_FORMAT, "end offsets", &err);
    append("q-1", 0, "orders", " { \"orders\" : { \"1\": 7, \"0\" : 5 } }");
    CV_ASSERT_OK(cv_position_find_job(f.table, "orders", &f.arena, &p, &err), &err);
    assert_string_equal(p.offsets_json, "{\"orders\":{\"1\":7,\"0\":5}}");
}

static void damaged_keys_are_errors_and_not_skipped(void **state)
{
    struct cv_properties bad = {0};
    struct cv_data_file file = fixture_file(&f, 0, 0);
    struct cv_append batch = {.files = &file, .file_count = 1, .summary = &bad};
    struct cv_append_result result;
    struct cv_position p;

    (void)state;
    cv_properties_set(&bad, CV_QUERY_ID_KEY, "q-1");
    cv_properties_set(&bad, CV_EPOCH_ID_KEY, "one");
    CV_ASSERT_OK(cv_table_append(f.table, &batch, &result, &err), &err);
    CV_ASSERT_FAILS(cv_position_find_query(f.table, "q-1", &f.arena, &p, &err), CV_FORMAT,
                    "\"one\" is not an epoch", &err);
    cv_properties_set(&bad, CV_QUERY_ID_KEY, "q-2");
    cv_properties_set(&bad, CV_EPOCH_ID_KEY, "1");
    cv_properties_set(&bad, "calve.position.orders", "{\"queryId\":\"q-1\"}");
    CV_ASSERT_OK(cv_table_append(f.table, &batch, &result, &err), &err);
    CV_ASSERT_FAILS(cv_position_find_job(f.table, "orders", &f.arena, &p, &err), CV_FORMAT, "epoch",
                    &err);
    cv_properties_release(&bad);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_newest_position_is_found),
        TEST(sparks_own_keys_tell_the_epoch),
        TEST(long_offsets_are_in_the_manifest_list),
        TEST(offsets_are_stored_compact_and_must_be_json),
        TEST(damaged_keys_are_errors_and_not_skipped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
