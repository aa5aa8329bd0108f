/* SPDX-License-Identifier: Apache-2.0
 *
 * Appends and what they leave in the table: summaries, sequence numbers, logs, files. */
#include "fixture.h"

#include "table/commit.h"

static struct fixture f;

static int set_up(void **state)
{
    (void)state;
    fixture_open(&f, "sql");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fixture_close(&f);
    return 0;
}

static const struct cv_snapshot *head(void)
{
    return cv_table_metadata_head(f.table->metadata, cv_table_branch(f.table));
}

static void assert_summary(const struct cv_snapshot *snapshot, const char *const *wanted)
{
    for (; *wanted; wanted += 2) {
        const char *got = cv_properties_get(&snapshot->summary, wanted[0]);

        if (!wanted[1] ? got != NULL : !got || strcmp(got, wanted[1]) != 0)
            fail_msg("%s is %s, want %s", wanted[0], got ? got : "absent",
                     wanted[1] ? wanted[1] : "absent");
    }
}

/* The totals of a first append start from 0, as in Iceberg's Java library. */
static void the_first_append_counts_from_zero(void **state)
{
    struct cv_table *table = fixture_table(&f, "day", NULL, 0);
    struct cv_append_result result;
    static const char *const wanted[] = {"operation",
                                         "append",
                                         "added-data-files",
                                         "2",
                                         "added-records",
                                         "20",
                                         "added-files-size",
                                         "2000",
                                         "changed-partition-count",
                                         "2",
                                         "total-data-files",
                                         "2",
                                         "total-records",
                                         "20",
                                         "total-files-size",
                                         "2000",
                                         "total-delete-files",
                                         "0",
                                         "total-position-deletes",
                                         "0",
                                         "total-equality-deletes",
                                         "0",
                                         "engine-name",
                                         "calve",
                                         "deleted-data-files",
                                         NULL,
                                         "spark.sql.streaming.queryId",
                                         NULL,
                                         NULL};

    (void)state;
    CV_ASSERT_OK(fixture_append(&f, table, 2, -1, &result), &err);
    assert_int_equal(result.attempts, 1);
    assert_false(result.already_done);
    assert_int_equal(head()->id, result.snapshot_id);
    assert_int_equal(head()->parent_id, -1);
    assert_int_equal(head()->sequence_number, 1);
    assert_int_equal(table->metadata->last_sequence_number, 1);
    assert_int_equal(table->metadata->current_snapshot_id, result.snapshot_id);
    assert_int_equal(table->metadata->snapshot_log_count, 1);
    assert_int_equal(table->metadata->metadata_log_count, 1);
    assert_summary(head(), wanted);
    assert_int_equal(fixture_live_files(table), 2);
}

static void manifests_of_the_parent_stay(void **state)
{
    struct cv_table *table = fixture_table(&f, "day", NULL, 0);
    struct cv_append_result first, second;
    struct cv_manifest_file *rows;
    size_t count;
    static const char *const wanted[] = {"added-data-files",
                                         "1",
                                         "changed-partition-count",
                                         "1",
                                         "total-data-files",
                                         "4",
                                         "total-records",
                                         "40",
                                         NULL};

    (void)state;
    CV_ASSERT_OK(fixture_append(&f, table, 3, -1, &first), &err);
    CV_ASSERT_OK(fixture_append(&f, table, 1, -1, &second), &err);
    assert_int_equal(head()->parent_id, first.snapshot_id);
    assert_summary(head(), wanted);
    CV_ASSERT_OK(cv_table_manifests(table, head(), &f.arena, &rows, &count, &err), &err);
    assert_int_equal(count, 2);
    assert_int_equal(rows[0].added_snapshot_id, second.snapshot_id); /* the new one first */
    assert_int_equal(rows[0].sequence_number, 2);
    assert_int_equal(rows[0].min_sequence_number, 2);
    assert_int_equal(rows[0].added_files, 1);
    assert_int_equal(rows[1].added_snapshot_id, first.snapshot_id);
    assert_int_equal(rows[1].sequence_number, 1);
    assert_int_equal(rows[1].added_files, 3);
    assert_int_equal(fixture_live_files(table), 4);
}

/* What this process remembers equals what another one reads. */
static void a_second_reader_sees_the_same(void **state)
{
    struct cv_table *table = fixture_table(&f, "day", NULL, 0);
    CV_CLEANUP(cv_table_freep) struct cv_table *other = NULL;
    struct cv_append_result result;
    struct cv_manifest_file *mine, *theirs;
    size_t my_count, their_count;

    (void)state;
    for (int i = 0; i < 5; i++)
        CV_ASSERT_OK(fixture_append(&f, table, 2, i, &result), &err);
    CV_ASSERT_OK(cv_table_open(f.catalog, "lake.shop.orders", &other, &err), &err);
    assert_string_equal(other->metadata_location, table->metadata_location);
    assert_int_equal(fixture_live_files(other), 10);
    CV_ASSERT_OK(cv_table_manifests(table, head(), &f.arena, &mine, &my_count, &err), &err);
    CV_ASSERT_OK(cv_table_manifests(other, cv_table_metadata_head(other->metadata, "main"),
                                    &f.arena, &theirs, &their_count, &err),
                 &err);
    assert_int_equal(my_count, their_count);
    for (size_t i = 0; i < my_count; i++) {
        assert_string_equal(mine[i].path, theirs[i].path);
        assert_int_equal(mine[i].length, theirs[i].length);
        assert_int_equal(mine[i].sequence_number, theirs[i].sequence_number);
        assert_int_equal(mine[i].added_rows, theirs[i].added_rows);
        assert_int_equal(mine[i].partition_count, theirs[i].partition_count);
        assert_memory_equal(mine[i].partitions[0].lower.ptr, theirs[i].partitions[0].lower.ptr, 4);
    }
    for (size_t i = 0; i < other->metadata->snapshot_count; i++)
        assert_int_equal(other->metadata->snapshots[i].id, table->metadata->snapshots[i].id);
}

static enum cv_code replace(struct cv_table *table, size_t count, int64_t epoch,
                            struct cv_append_result *ret_result)
{
    struct cv_data_file files[4];
    struct cv_append append = {.files = files,
                               .file_count = count,
                               .replaces = true,
                               .query_id = "q-1",
                               .epoch = epoch,
                               .job = "orders",
                               .cluster_id = "cluster",
                               .offsets_json = "{\"orders\":{\"0\":9}}"};

    for (size_t i = 0; i < count; i++)
        files[i] = fixture_file(&f, table->metadata->default_spec_id, 20100 + (int32_t)i);
    return cv_table_append(table, &append, ret_result, &err);
}

/* The keys and values are those of Spark's complete mode on Iceberg 1.10 for the same files. */
static void a_replacement_takes_the_place_of_all(void **state)
{
    struct cv_table *table = fixture_table(&f, "day", NULL, 0);
    struct cv_append_result result;
    struct cv_manifest_file *rows;
    size_t count;
    static const char *const wanted[] = {"operation",
                                         "overwrite",
                                         "added-data-files",
                                         "1",
                                         "deleted-data-files",
                                         "3",
                                         "added-records",
                                         "10",
                                         "deleted-records",
                                         "30",
                                         "removed-files-size",
                                         "3000",
                                         "changed-partition-count",
                                         "3",
                                         "total-data-files",
                                         "1",
                                         "total-records",
                                         "10",
                                         "spark.sql.streaming.epochId",
                                         "0",
                                         NULL};

    (void)state;
    CV_ASSERT_OK(fixture_append(&f, table, 2, -1, &result), &err);
    CV_ASSERT_OK(fixture_append(&f, table, 1, -1, &result), &err);
    CV_ASSERT_OK(replace(table, 1, 0, &result), &err);
    assert_summary(head(), wanted);
    assert_int_equal(fixture_live_files(table), 1);
    CV_ASSERT_OK(cv_table_manifests(table, head(), &f.arena, &rows, &count, &err), &err);
    assert_int_equal(count, 3);
    assert_int_equal(rows[0].added_files, 1);
    assert_int_equal(rows[1].deleted_files + rows[2].deleted_files, 3);
    CV_ASSERT_OK(replace(table, 1, 0, &result), &err);
    assert_true(result.already_done);
}

static void a_replacement_by_nothing_deletes(void **state)
{
    struct cv_table *table = fixture_table(&f, "day", NULL, 0);
    struct cv_append_result result;
    struct cv_manifest_file *rows;
    size_t count;
    static const char *const wanted[] = {
        "operation", "delete", "deleted-data-files", "2", "total-records", "0", "added-data-files",
        NULL,        NULL};

    (void)state;
    CV_ASSERT_OK(fixture_append(&f, table, 2, -1, &result), &err);
    CV_ASSERT_OK(replace(table, 0, 0, &result), &err);
    assert_summary(head(), wanted);
    assert_int_equal(fixture_live_files(table), 0);
    CV_ASSERT_OK(replace(table, 2, 1, &result), &err); /* manifests of removed files are dropped */
    CV_ASSERT_OK(cv_table_manifests(table, head(), &f.arena, &rows, &count, &err), &err);
    assert_int_equal(count, 1);
    assert_int_equal(fixture_live_files(table), 2);
}

static void an_epoch_is_committed_once(void **state)
{
    struct cv_table *table = fixture_table(&f, "", NULL, 0);
    struct cv_append_result first, again;
    static const char *const wanted[] = {"spark.sql.streaming.queryId", "q-1",
                                         "spark.sql.streaming.epochId", "7", NULL};

    (void)state;
    CV_ASSERT_OK(fixture_append(&f, table, 1, 7, &first), &err);
    assert_summary(head(), wanted);
    CV_ASSERT_OK(fixture_append(&f, table, 1, 7, &again), &err);
    assert_true(again.already_done);
    assert_int_equal(again.snapshot_id, first.snapshot_id);
    assert_int_equal(table->metadata->snapshot_count, 1);
    assert_int_equal(fixture_count_files(&f, "-m0.avro"), 1);
    CV_ASSERT_FAILS(fixture_append(&f, table, 1, 6, &again), CV_CONTRADICTION, "epoch 7", &err);
    assert_non_null(strstr(err.hint, "checkpoint"));
    CV_ASSERT_OK(fixture_append(&f, table, 1, 8, &again), &err);
    assert_false(again.already_done);
}

/* The catalog was set back to where it was before epoch 3. */
static void a_table_in_an_older_state_is_noticed(void **state)
{
    struct cv_table *table = fixture_table(&f, "", NULL, 0);
    struct cv_append append = {.query_id = "q-1",
                               .epoch = 4,
                               .last_epoch = 3,
                               .job = "orders",
                               .cluster_id = "cluster",
                               .offsets_json = "{\"orders\":{\"0\":9}}"};
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_OK(fixture_append(&f, table, 1, 2, &result), &err);
    CV_ASSERT_FAILS(cv_table_append(table, &append, &result, &err), CV_CONTRADICTION,
                    "but epoch 3 was committed", &err);
    append.last_epoch = 2;
    CV_ASSERT_OK(cv_table_append(table, &append, &result, &err), &err);
}

/* The epoch of the query counts even with other writers' snapshots in between. */
static void other_writers_do_not_hide_an_epoch(void **state)
{
    struct cv_table *table = fixture_table(&f, "", NULL, 0);
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_OK(fixture_append(&f, table, 1, 3, &result), &err);
    for (int i = 0; i < 4; i++)
        CV_ASSERT_OK(fixture_append(&f, table, 1, -1, &result), &err);
    CV_ASSERT_OK(fixture_append(&f, table, 1, 3, &result), &err);
    assert_true(result.already_done);
    assert_int_equal(fixture_live_files(table), 5);
}

static void an_append_without_files_carries_a_position(void **state)
{
    struct cv_table *table = fixture_table(&f, "day", NULL, 0);
    struct cv_append_result result;
    struct cv_position position;
    static const char *const wanted[] = {"operation",
                                         "append",
                                         "added-data-files",
                                         NULL,
                                         "changed-partition-count",
                                         "0",
                                         "total-records",
                                         "0",
                                         NULL};

    (void)state;
    CV_ASSERT_OK(fixture_append(&f, table, 0, 0, &result), &err);
    assert_summary(head(), wanted);
    CV_ASSERT_OK(cv_position_find_job(table, "orders", &f.arena, &position, &err), &err);
    assert_int_equal(position.epoch, 0);
    CV_ASSERT_OK(fixture_append(&f, table, 1, 1, &result), &err);
    assert_int_equal(fixture_live_files(table), 1);
}

static void further_summary_keys_are_kept(void **state)
{
    struct cv_table *table = fixture_table(&f, "", NULL, 0);
    struct cv_properties extra = {0};
    struct cv_data_file file = fixture_file(&f, 0, 0);
    const struct cv_append append = {.files = &file, .file_count = 1, .summary = &extra};
    struct cv_append_result result;
    static const char *const wanted[] = {"team", "shop", "operation", "append", NULL};

    (void)state;
    cv_properties_set(&extra, "team", "shop");
    CV_ASSERT_OK(cv_table_append(table, &append, &result, &err), &err);
    assert_summary(head(), wanted);
    cv_properties_release(&extra);
}

static void a_v1_table_stays_v1(void **state)
{
    static const char *const properties[] = {"format-version=1"};
    struct cv_table *table = fixture_table(&f, "day", properties, 1);
    CV_CLEANUP(cv_table_freep) struct cv_table *other = NULL;
    struct cv_append_result result;

    (void)state;
    assert_int_equal(table->metadata->format_version, 1);
    CV_ASSERT_OK(fixture_append(&f, table, 2, 0, &result), &err);
    CV_ASSERT_OK(fixture_append(&f, table, 2, 1, &result), &err);
    assert_int_equal(head()->sequence_number, 0);
    CV_ASSERT_OK(cv_table_open(f.catalog, "lake.shop.orders", &other, &err), &err);
    assert_int_equal(other->metadata->format_version, 1);
    assert_int_equal(fixture_live_files(other), 4);
}

static void metadata_may_be_packed_and_lie_elsewhere(void **state)
{
    const char *path = cv_arena_printf(&f.arena, "write.metadata.path=file://%s/meta/", f.folder);
    const char *properties[] = {"write.metadata.compression-codec=gzip", path};
    struct cv_table *table = fixture_table(&f, "day", properties, 2);
    CV_CLEANUP(cv_table_freep) struct cv_table *other = NULL;
    struct cv_append_result result;
    struct cv_buf bytes = CV_BUF_INIT(0);

    (void)state;
    CV_ASSERT_OK(fixture_append(&f, table, 2, 0, &result), &err);
    assert_true(cv_text_ends_with(table->metadata_location, ".gz.metadata.json"));
    assert_non_null(strstr(table->metadata_location, "/meta/00001-"));
    assert_non_null(strstr(head()->manifest_list, "/meta/snap-"));
    CV_ASSERT_OK(cv_store_read_range(table->store, table->metadata_location, 0, 2, &bytes, &err),
                 &err);
    assert_memory_equal(bytes.data, "\x1f\x8b", 2);
    CV_ASSERT_OK(cv_table_open(f.catalog, "lake.shop.orders", &other, &err), &err);
    assert_int_equal(fixture_live_files(other), 2);
    cv_buf_release(&bytes);
}

static void an_unknown_metadata_codec_is_refused(void **state)
{
    struct cv_schema schema;
    struct cv_properties p = {0};
    struct cv_partition_spec spec = {0};

    (void)state;
    CV_ASSERT_OK(cv_schema_read_ddl("id bigint", &f.arena, &schema, &err), &err);
    cv_properties_set(&p, "write.metadata.compression-codec", "brotli");
    CV_ASSERT_FAILS(
        cv_table_create(f.catalog, "lake.shop.orders", &schema, &spec, &p, NULL, &f.table, &err),
        CV_CONFIG, "brotli", &err);
    cv_properties_release(&p);
}

static void old_metadata_goes_when_it_is_asked_to(void **state)
{
    static const char *const properties[] = {"write.metadata.delete-after-commit.enabled=true",
                                             "write.metadata.previous-versions-max=2"};
    struct cv_table *table = fixture_table(&f, "", properties, 2);
    struct cv_append_result result;

    (void)state;
    for (int i = 0; i < 6; i++)
        CV_ASSERT_OK(fixture_append(&f, table, 1, i, &result), &err);
    assert_int_equal(table->metadata->metadata_log_count, 2);
    assert_int_equal(fixture_count_files(&f, ".metadata.json"), 3);
    assert_int_equal(fixture_live_files(table), 6);
}

static void old_metadata_stays_by_default(void **state)
{
    static const char *const properties[] = {"write.metadata.previous-versions-max=2"};
    struct cv_table *table = fixture_table(&f, "", properties, 1);
    struct cv_append_result result;

    (void)state;
    for (int i = 0; i < 6; i++)
        CV_ASSERT_OK(fixture_append(&f, table, 1, i, &result), &err);
    assert_int_equal(table->metadata->metadata_log_count, 2);
    assert_int_equal(fixture_count_files(&f, ".metadata.json"), 7);
}

static void files_of_an_unknown_spec_are_refused(void **state)
{
    struct cv_table *table = fixture_table(&f, "day", NULL, 0);
    struct cv_data_file file = fixture_file(&f, 5, 0);
    const struct cv_append append = {.files = &file, .file_count = 1};
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_FAILS(cv_table_append(table, &append, &result, &err), CV_SCHEMA, "spec 5", &err);
    assert_int_equal(fixture_count_files(&f, ".avro"), 0);
}

/* Makes the branch as other engines do: a reference to the head of main. */
static enum cv_code make_branch(void *context, struct cv_commit *commit,
                                struct cv_table_metadata *next, bool *ret_done,
                                struct cv_error *error)
{
    (void)context;
    (void)commit;
    (void)ret_done;
    (void)error;
    cv_array_reserve(&next->refs, &next->ref_capacity, next->ref_count + 1);
    next->refs[next->ref_count++] = (struct cv_snapshot_ref){
        cv_arena_strdup(&next->arena, "audit"), next->current_snapshot_id, false, -1, -1, -1};
    return CV_OK;
}

static void a_branch_grows_apart_from_main(void **state)
{
    struct cv_table *table = fixture_table(&f, "", NULL, 0);
    const struct cv_commit_operation operation = {.build = make_branch};
    struct cv_commit_outcome outcome;
    CV_CLEANUP(cv_table_freep) struct cv_table *branch = NULL;
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_OK(cv_table_open(f.catalog, "lake.shop.orders.branch_audit", &branch, &err), &err);
    CV_ASSERT_FAILS(fixture_append(&f, branch, 1, 0, &result), CV_NOT_FOUND, "branch audit", &err);
    CV_ASSERT_OK(fixture_append(&f, table, 1, 0, &result), &err);
    CV_ASSERT_OK(cv_commit_run(table, &operation, &outcome, &err), &err);
    CV_ASSERT_OK(fixture_append(&f, branch, 1, 1, &result), &err);
    CV_ASSERT_OK(fixture_append(&f, branch, 1, 1, &result), &err);
    assert_true(result.already_done); /* on the branch it is in … */
    CV_ASSERT_OK(cv_table_refresh(table, &err), &err);
    assert_int_equal(fixture_live_files(branch), 2);
    assert_int_equal(fixture_live_files(table), 1);
    CV_ASSERT_OK(fixture_append(&f, table, 1, 1, &result), &err);
    assert_false(result.already_done); /* … and not on main */
    assert_int_equal(fixture_live_files(table), 2);
}

static void a_table_made_anew_is_noticed(void **state)
{
    struct cv_table *table = fixture_table(&f, "", NULL, 0);
    struct cv_table *old = table;
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_OK(f.catalog->ops->drop(f.catalog, &table->name, &err), &err);
    CV_ASSERT_FAILS(fixture_append(&f, old, 1, 0, &result), CV_NOT_FOUND, "orders", &err);
    table = fixture_table(&f, "", NULL, 0);
    CV_ASSERT_FAILS(fixture_append(&f, old, 1, 0, &result), CV_CONTRADICTION, "made anew", &err);
    assert_int_equal(fixture_count_files(&f, ".avro"), 0);
    cv_table_free(old);
}

static void creating_twice_and_opening_nothing(void **state)
{
    struct cv_table *table = NULL;
    struct cv_partition_spec spec = {0};
    struct cv_schema schema;

    (void)state;
    CV_ASSERT_FAILS(cv_table_open(f.catalog, "lake.shop.orders", &table, &err), CV_NOT_FOUND,
                    "lake.shop.orders", &err);
    assert_non_null(strstr(err.hint, "calve table create lake.shop.orders"));
    (void)fixture_table(&f, "", NULL, 0);
    CV_ASSERT_OK(cv_schema_read_ddl("id bigint", &f.arena, &schema, &err), &err);
    CV_ASSERT_FAILS(
        cv_table_create(f.catalog, "lake.shop.orders", &schema, &spec, NULL, NULL, &table, &err),
        CV_EXISTS, "shop.orders", &err);
    assert_int_equal(fixture_count_files(&f, ".metadata.json"), 1);
}

static void a_hadoop_table_counts_versions(void **state)
{
    struct cv_catalog *sql = f.catalog;
    static const char *const properties[] = {"write.metadata.path=/elsewhere"};
    struct cv_append_result result;
    struct cv_table *table;

    (void)state;
    f.catalog = fixture_catalog(&f, "hadoop");
    table = fixture_table(&f, "day", properties, 1);
    assert_true(cv_text_ends_with(table->metadata_location, "/metadata/v1.metadata.json"));
    CV_ASSERT_OK(fixture_append(&f, table, 2, 0, &result), &err);
    CV_ASSERT_OK(fixture_append(&f, table, 2, 1, &result), &err);
    assert_true(cv_text_ends_with(table->metadata_location, "/metadata/v3.metadata.json"));
    CV_ASSERT_OK(cv_table_refresh(table, &err), &err);
    assert_int_equal(fixture_live_files(table), 4);
    assert_int_equal(fixture_count_files(&f, ".metadata.json"), 3); /* no temporary one */
    cv_catalog_free(sql);
}

/* Its metadata file has the name that the old table's had. */
static void a_hadoop_table_made_anew_is_noticed(void **state)
{
    struct cv_catalog *sql = f.catalog;
    struct cv_append_result result;
    struct cv_table *table;
    struct cv_table *old;

    (void)state;
    f.catalog = fixture_catalog(&f, "hadoop");
    old = fixture_table(&f, "", NULL, 0);
    CV_ASSERT_OK(fixture_append(&f, old, 1, 0, &result), &err);
    CV_ASSERT_OK(f.catalog->ops->drop(f.catalog, &old->name, &err), &err);
    table = fixture_table(&f, "", NULL, 0);
    CV_ASSERT_OK(fixture_append(&f, table, 1, 0, &result), &err);
    assert_string_equal(table->metadata_location, old->metadata_location);
    CV_ASSERT_FAILS(fixture_append(&f, old, 1, 1, &result), CV_CONTRADICTION, "made anew", &err);
    CV_ASSERT_OK(cv_table_refresh(table, &err), &err);
    assert_int_equal(fixture_live_files(table), 1);
    cv_table_free(old);
    cv_catalog_free(sql);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_append_counts_from_zero),
        TEST(manifests_of_the_parent_stay),
        TEST(a_second_reader_sees_the_same),
        TEST(a_replacement_takes_the_place_of_all),
        TEST(a_replacement_by_nothing_deletes),
        TEST(an_epoch_is_committed_once),
        TEST(a_table_in_an_older_state_is_noticed),
        TEST(other_writers_do_not_hide_an_epoch),
        TEST(an_append_without_files_carries_a_position),
        TEST(further_summary_keys_are_kept),
        TEST(a_v1_table_stays_v1),
        TEST(metadata_may_be_packed_and_lie_elsewhere),
        TEST(an_unknown_metadata_codec_is_refused),
        TEST(old_metadata_goes_when_it_is_asked_to),
        TEST(old_metadata_stays_by_default),
        TEST(files_of_an_unknown_spec_are_refused),
        TEST(a_branch_grows_apart_from_main),
        TEST(a_table_made_anew_is_noticed),
        TEST(creating_twice_and_opening_nothing),
        TEST(a_hadoop_table_counts_versions),
        TEST(a_hadoop_table_made_anew_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
