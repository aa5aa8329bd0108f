/* SPDX-License-Identifier: Apache-2.0
 *
 * Expiry of a table's metadata: what stays for the streams, attempts, dry runs, definitions. */
#include "fixture.h"

#include "base/time.h"
#include "iceberg/metadata_change.h"
#include "table/commit.h"
#include "table/expire.h"

static struct fixture f;

static const char *const no_properties[] = {NULL};

/* Everything that the rules let go goes. */
static enum cv_code expire_all(bool dry_run, struct cv_expire_result *ret_result)
{
    struct cv_expire expire = {
        .rules = {.now_ms = cv_now_ms() + 10000,
                  .older_than_ms = cv_now_ms() + 10000,
                  .retain_last = 1},
        .dry_run = dry_run,
    };

    return cv_table_expire(f.table, &expire, &f.arena, ret_result, &err);
}

/* A snapshot with these summary keys ("k=v"), as another engine writes it. */
static int64_t foreign(const char *const *keys, size_t count)
{
    struct cv_properties summary = {0};
    struct cv_append append = {.summary = &summary};
    struct cv_append_result result;

    for (size_t i = 0; i < count; i++) {
        const char *equals = strchr(keys[i], '=');

        cv_properties_set(&summary, cv_arena_strndup(&f.arena, keys[i], (size_t)(equals - keys[i])),
                          equals + 1);
    }
    CV_ASSERT_OK(cv_table_append(f.table, &append, &result, &err), &err);
    cv_properties_release(&summary);
    return result.snapshot_id;
}

static int64_t plain(void)
{
    return foreign(NULL, 0);
}

static int64_t streamed(int64_t epoch)
{
    struct cv_append_result result;

    CV_ASSERT_OK(fixture_append(&f, f.table, 1, epoch, &result), &err);
    return result.snapshot_id;
}

static bool has(int64_t id)
{
    return cv_table_metadata_snapshot(f.table->metadata, id) != NULL;
}

static void a_fresh_table(void)
{
    fixture_open(&f, "sql");
    (void)fixture_table(&f, "day", no_properties, 0);
}

static void old_snapshots_go_and_the_table_says_what_it_was(void **state)
{
    struct cv_expire_result result;
    int64_t first;
    int64_t last;

    (void)state;
    a_fresh_table();
    first = plain();
    (void)plain();
    last = plain();
    CV_ASSERT_OK(expire_all(true, &result), &err);
    assert_int_equal(result.plan.snapshot_count, 2);
    assert_int_equal(f.table->metadata->snapshot_count, 3);
    cv_table_metadata_free(result.before);
    CV_ASSERT_OK(expire_all(false, &result), &err);
    assert_int_equal(result.plan.snapshot_count, 2);
    assert_int_equal(result.plan.snapshot_ids[0], first);
    assert_int_equal(result.before->snapshot_count, 3);
    assert_int_equal(f.table->metadata->snapshot_count, 1);
    assert_true(has(last));
    assert_int_equal(f.table->metadata->properties.count, 1); /* no ancestors are linked */
    cv_table_metadata_free(result.before);
    CV_ASSERT_OK(cv_table_refresh(f.table, &err), &err);
    assert_int_equal(f.table->metadata->snapshot_count, 1);
    fixture_close(&f);
}

static void nothing_to_do_is_no_commit(void **state)
{
    struct cv_expire_result result;
    size_t files;

    (void)state;
    a_fresh_table();
    (void)plain();
    files = fixture_count_files(&f, "");
    CV_ASSERT_OK(expire_all(false, &result), &err);
    assert_int_equal(result.plan.snapshot_count, 0);
    assert_int_equal(fixture_count_files(&f, ""), files);
    cv_table_metadata_free(result.before);
    fixture_close(&f);
}

static void the_newest_position_of_each_stream_stays(void **state)
{
    static const char *const spark_old[] = {"spark.sql.streaming.queryId=s",
                                            "spark.sql.streaming.epochId=6"};
    static const char *const spark[] = {"spark.sql.streaming.queryId=s",
                                        "spark.sql.streaming.epochId=7"};
    static const char *const flink[] = {"flink.job-id=j", "flink.operator-id=o",
                                        "flink.max-committed-checkpoint-id=3"};
    static const char *const flink_other[] = {"flink.job-id=j", "flink.operator-id=o2",
                                              "flink.max-committed-checkpoint-id=3"};
    static const char *const connect[] = {"kafka.connect.offsets.control.group={\"0\":5}",
                                          "kafka.connect.commit-id=c"};
    struct cv_expire_result result;
    struct cv_position position;
    int64_t gone[4];
    int64_t kept[5];

    (void)state;
    a_fresh_table();
    gone[0] = foreign(spark_old, 2);
    kept[0] = foreign(flink, 3);
    gone[1] = streamed(0);
    kept[1] = streamed(1);
    kept[2] = foreign(spark, 2);
    kept[3] = foreign(connect, 2);
    gone[2] = plain();
    kept[4] = foreign(flink_other, 3);
    gone[3] = plain();
    (void)plain();
    CV_ASSERT_OK(expire_all(false, &result), &err);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(gone); i++)
        assert_false(has(gone[i]));
    for (size_t i = 0; i < CV_ARRAY_LENGTH(kept); i++)
        assert_true(has(kept[i]));
    assert_int_equal(f.table->metadata->snapshot_count, 6);
    cv_table_metadata_free(result.before);

    /* found again over the gap, also after the next expiry */
    (void)plain();
    CV_ASSERT_OK(expire_all(false, &result), &err);
    assert_int_equal(result.plan.snapshot_count, 1);
    cv_table_metadata_free(result.before);
    CV_ASSERT_OK(cv_position_find_job(f.table, "orders", &f.arena, &position, &err), &err);
    assert_int_equal(position.snapshot_id, kept[1]);
    assert_int_equal(position.epoch, 1);
    assert_string_equal(position.offsets_json, "{\"orders\":{\"0\":200}}");
    CV_ASSERT_OK(cv_position_find_query(f.table, "s", &f.arena, &position, &err), &err);
    assert_int_equal(position.epoch, 7);
    (void)streamed(1); /* its epoch is known: nothing is committed */
    assert_int_equal(f.table->metadata->snapshot_count, 6);

    /* a newer position lets the older one go, and its link with it */
    (void)streamed(2);
    CV_ASSERT_OK(expire_all(false, &result), &err);
    assert_false(has(kept[1]));
    assert_true(has(kept[0]));
    cv_table_metadata_free(result.before);
    fixture_close(&f);
}

/* Expires the snapshot as an engine does that knows nothing of the links. */
static enum cv_code expire_one(void *context, struct cv_commit *commit,
                               struct cv_table_metadata *next, bool *ret_done, struct cv_error *e)
{
    (void)commit;
    *ret_done = false;
    return cv_table_metadata_remove_snapshots(next, context, 1, e);
}

static const char *link_of(int64_t id)
{
    return cv_properties_get(&f.table->metadata->properties,
                             cv_arena_printf(&f.arena, "calve.ancestor.%lld", (long long)id));
}

static void links_of_snapshots_that_others_expired_go(void **state)
{
    struct cv_expire_result result;
    struct cv_commit_outcome outcome;
    int64_t linked;
    int64_t head;

    (void)state;
    a_fresh_table();
    (void)streamed(0);
    (void)plain();
    linked = plain();
    CV_ASSERT_OK(expire_all(false, &result), &err);
    cv_table_metadata_free(result.before);
    assert_non_null(link_of(linked));
    (void)plain();
    CV_ASSERT_OK(
        cv_commit_run(f.table,
                      &(struct cv_commit_operation){.build = expire_one, .context = &linked},
                      &outcome, &err),
        &err);
    assert_non_null(link_of(linked));
    head = plain();
    CV_ASSERT_OK(expire_all(false, &result), &err);
    cv_table_metadata_free(result.before);
    assert_null(link_of(linked));
    assert_int_equal(f.table->metadata->current_snapshot_id, head);
    fixture_close(&f);
}

static void no_gc_no_expiry(void **state)
{
    static const char *const properties[] = {"gc.enabled=false"};
    struct cv_expire_result result;

    (void)state;
    fixture_open(&f, "sql");
    (void)fixture_table(&f, "day", properties, 1);
    (void)plain();
    (void)plain();
    CV_ASSERT_FAILS(expire_all(false, &result), CV_CONFIG, "GC is disabled", &err);
    CV_ASSERT_FAILS(expire_all(true, &result), CV_CONFIG, "GC is disabled", &err);
    fixture_close(&f);
}

/* Another process commits between: the plan is made anew and its snapshot stays. */
static void the_plan_is_of_the_attempt_that_lands(void **state)
{
    struct cv_expire_result result;
    struct fixture other;
    int64_t id;

    (void)state;
    a_fresh_table();
    (void)plain();
    other = f;
    other.catalog = fixture_catalog(&f, "sql");
    CV_ASSERT_OK(cv_table_open(other.catalog, "lake.shop.orders", &other.table, &err), &err);
    CV_ASSERT_OK(fixture_append(&other, other.table, 1, -1, &(struct cv_append_result){0}), &err);
    id = other.table->metadata->current_snapshot_id;
    CV_ASSERT_OK(expire_all(false, &result), &err);
    assert_true(has(id));
    assert_int_equal(f.table->metadata->snapshot_count, 1);
    assert_int_equal(result.before->snapshot_count, 2);
    cv_table_metadata_free(result.before);
    cv_table_free(other.table);
    cv_catalog_free(other.catalog);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_snapshots_go_and_the_table_says_what_it_was),
        cmocka_unit_test(nothing_to_do_is_no_commit),
        cmocka_unit_test(the_newest_position_of_each_stream_stays),
        cmocka_unit_test(links_of_snapshots_that_others_expired_go),
        cmocka_unit_test(no_gc_no_expiry),
        cmocka_unit_test(the_plan_is_of_the_attempt_that_lands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
