/* SPDX-License-Identifier: Apache-2.0
 *
 * Views of a table: JSON that parses, Spark's columns in Spark's order, values. */
#include "fixture.h"

#include "codec/json.h"
#include "table/inspect.h"

static struct fixture f;
static struct cv_json *document;

static int set_up(void **state)
{
    (void)state;
    fixture_open(&f, "sql");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cv_json_free(document);
    document = NULL;
    fixture_close(&f);
    return 0;
}

static const struct cv_json *view(const char *name)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);

    cv_json_free(document);
    document = NULL;
    CV_ASSERT_OK(cv_table_inspect(f.table, name, &text, &err), &err);
    CV_ASSERT_OK(cv_json_parse(text.data, text.length, &document, &err), &err);
    return document;
}

/* The keys of a row, joined by blanks. */
static void assert_keys(const struct cv_json *row, const char *wanted)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf keys = CV_BUF_INIT(0);
    const struct cv_json *value;
    size_t position = 0;
    const char *key;

    while ((key = cv_json_next(row, &position, &value)))
        cv_buf_printf(&keys, "%s%s", keys.length ? " " : "", key);
    assert_string_equal(cv_buf_text(&keys), wanted);
}

static void assert_json(const struct cv_json *node, const char *wanted)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);

    assert_non_null(node);
    cv_json_write_node(node, &text);
    assert_string_equal(cv_buf_text(&text), wanted);
}

/* Three snapshots: days 20000 (1 file), 20000 and 20001 (1 each), none. */
static void fill(void)
{
    struct cv_append_result result;

    CV_ASSERT_OK(fixture_append(&f, f.table, 1, 0, &result), &err);
    CV_ASSERT_OK(fixture_append(&f, f.table, 2, 1, &result), &err);
    CV_ASSERT_OK(fixture_append(&f, f.table, 0, 2, &result), &err);
}

static void an_empty_table_has_empty_views(void **state)
{
    static const char *const names[] = {"snapshots", "history", "refs",
                                        "manifests", "files",   "partitions"};

    (void)state;
    (void)fixture_table(&f, "day", NULL, 0);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++) {
        assert_true(cv_json_is_array(view(names[i])));
        assert_int_equal(cv_json_size(document), 0);
    }
    assert_json(cv_json_get(view("show"), "current_snapshot_id"), "null");
    CV_ASSERT_FAILS(cv_table_inspect(f.table, "filez", &(struct cv_buf)CV_BUF_INIT(0), &err),
                    CV_USAGE, "filez", &err);
}

static void snapshots_and_history(void **state)
{
    const struct cv_json *row;
    char id[32];

    (void)state;
    (void)fixture_table(&f, "day", NULL, 0);
    fill();
    assert_int_equal(cv_json_size(view("snapshots")), 3);
    row = cv_json_at(document, 1);
    assert_keys(row, "committed_at snapshot_id parent_id operation manifest_list summary");
    (void)snprintf(id, sizeof id, "%lld", (long long)f.table->metadata->snapshots[0].id);
    assert_json(cv_json_get(row, "parent_id"), id);
    assert_json(cv_json_get(row, "operation"), "\"append\"");
    assert_json(cv_json_get(cv_json_get(row, "summary"), "added-data-files"), "\"2\"");
    assert_null(cv_json_get(cv_json_get(row, "summary"), "operation"));
    assert_json(cv_json_get(cv_json_at(document, 0), "parent_id"), "null");
    assert_int_equal(strlen(cv_json_text(cv_json_get(row, "committed_at"))), 24);
    assert_int_equal(cv_json_size(view("history")), 3);
    row = cv_json_at(document, 2);
    assert_keys(row, "made_current_at snapshot_id parent_id is_current_ancestor");
    assert_json(cv_json_get(row, "is_current_ancestor"), "true");
}

static void refs_of_a_table(void **state)
{
    (void)state;
    (void)fixture_table(&f, "", NULL, 0);
    fill();
    assert_int_equal(cv_json_size(view("refs")), 1);
    assert_keys(cv_json_at(document, 0),
                "name type snapshot_id max_reference_age_in_ms min_snapshots_to_keep "
                "max_snapshot_age_in_ms");
    assert_json(cv_json_get(cv_json_at(document, 0), "name"), "\"main\"");
    assert_json(cv_json_get(cv_json_at(document, 0), "type"), "\"BRANCH\"");
}

static void manifests_of_the_head(void **state)
{
    const struct cv_json *row;

    (void)state;
    (void)fixture_table(&f, "day", NULL, 0);
    fill();
    assert_int_equal(cv_json_size(view("manifests")), 2);
    row = cv_json_at(document, 0);
    assert_keys(row, "content path length partition_spec_id added_snapshot_id "
                     "added_data_files_count existing_data_files_count deleted_data_files_count "
                     "added_delete_files_count existing_delete_files_count "
                     "deleted_delete_files_count partition_summaries");
    assert_json(cv_json_get(row, "added_data_files_count"), "2");
    assert_json(cv_json_get(row, "added_delete_files_count"), "0");
    assert_json(cv_json_get(row, "partition_summaries"),
                "[{\"contains_null\":false,\"contains_nan\":false,\"lower_bound\":\"2024-10-04\","
                "\"upper_bound\":\"2024-10-05\"}]");
}

static void files_with_their_metrics(void **state)
{
    struct cv_column_metrics columns[] = {
        {1, 40, 10, 0, -1, {"\x07\0\0\0\0\0\0\0", 8}, {"\x09\0\0\0\0\0\0\0", 8}},
        {2, 90, 10, 3, -1, {"ab", 2}, {"cd", 2}},
    };
    int64_t split = 4;
    struct cv_append_result result;
    struct cv_data_file file;
    const struct cv_append append = {.files = &file, .file_count = 1};
    const struct cv_json *row;

    (void)state;
    (void)fixture_table(&f, "day", NULL, 0);
    file = fixture_file(&f, 0, 20000);
    file.metrics.columns = columns;
    file.metrics.column_count = 2;
    file.metrics.split_offsets = &split;
    file.metrics.split_count = 1;
    CV_ASSERT_OK(cv_table_append(f.table, &append, &result, &err), &err);
    row = cv_json_at(view("files"), 0);
    assert_keys(row, "content file_path file_format spec_id partition record_count "
                     "file_size_in_bytes column_sizes value_counts null_value_counts "
                     "nan_value_counts lower_bounds upper_bounds key_metadata split_offsets "
                     "equality_ids sort_order_id first_row_id referenced_data_file content_offset "
                     "content_size_in_bytes readable_metrics");
    assert_json(cv_json_get(row, "partition"), "{\"day\":\"2024-10-04\"}");
    assert_json(cv_json_get(row, "column_sizes"), "{\"1\":40,\"2\":90}");
    assert_json(cv_json_get(row, "null_value_counts"), "{\"1\":0,\"2\":3}");
    assert_json(cv_json_get(row, "nan_value_counts"), "{}");
    assert_json(cv_json_get(row, "lower_bounds"), "{\"1\":\"BwAAAAAAAAA=\",\"2\":\"YWI=\"}");
    assert_json(cv_json_get(row, "split_offsets"), "[4]");
    assert_json(cv_json_get(row, "equality_ids"), "null");
    assert_json(cv_json_get(cv_json_get(row, "readable_metrics"), "id"),
                "{\"column_size\":40,\"value_count\":10,\"null_value_count\":0,"
                "\"nan_value_count\":null,\"lower_bound\":7,\"upper_bound\":9}");
    assert_json(
        cv_json_get(cv_json_get(cv_json_get(row, "readable_metrics"), "item"), "upper_bound"),
        "\"cd\"");
}

/* As Spark's metadata tables show a table whose spec changed, and a file without metrics. */
static void every_spec_has_its_columns(void **state)
{
    static struct cv_partition_field more[] = {
        {3, 1000, "day", {CV_TRANSFORM_VOID, 0, "void"}},
        {1, 1001, "id_bucket", {CV_TRANSFORM_BUCKET, 4, "bucket[4]"}},
    };
    struct cv_partition_spec specs[2];
    struct cv_partition_spec *before;
    struct cv_append_result result;
    const struct cv_json *row;

    (void)state;
    (void)fixture_table(&f, "day", NULL, 0);
    CV_ASSERT_OK(fixture_append(&f, f.table, 1, 0, &result), &err);
    before = f.table->metadata->specs;
    specs[0] = before[0];
    specs[1] = (struct cv_partition_spec){1, more, 2};
    f.table->metadata->specs = specs;
    f.table->metadata->spec_count = 2;
    row = cv_json_at(view("files"), 0);
    assert_json(cv_json_get(row, "partition"), "{\"day\":\"2024-10-04\",\"id_bucket\":null}");
    assert_json(cv_json_get(row, "value_counts"), "null");
    assert_json(cv_json_get(row, "nan_value_counts"), "null");
    assert_keys(cv_json_get(row, "readable_metrics"), "day id item");
    row = cv_json_at(view("partitions"), 0);
    assert_json(cv_json_get(row, "partition"), "{\"day\":\"2024-10-04\",\"id_bucket\":null}");
    f.table->metadata->specs = before;
    f.table->metadata->spec_count = 1;
}

static void bounds_of_manifests_are_text(void **state)
{
    struct cv_append_result result;
    struct cv_data_file file;
    const struct cv_append append = {.files = &file, .file_count = 1};
    struct cv_value bucket = {.kind = CV_TYPE_INT, .i32 = 3};

    (void)state;
    (void)fixture_table(&f, "bucket(4, id)", NULL, 0);
    file = fixture_file(&f, 0, 20000);
    file.partition = &bucket;
    CV_ASSERT_OK(cv_table_append(f.table, &append, &result, &err), &err);
    assert_json(cv_json_get(cv_json_at(view("manifests"), 0), "partition_summaries"),
                "[{\"contains_null\":false,\"contains_nan\":false,\"lower_bound\":\"3\","
                "\"upper_bound\":\"3\"}]");
}

static void partitions_add_up(void **state)
{
    const struct cv_json *row;
    char id[32];

    (void)state;
    (void)fixture_table(&f, "day", NULL, 0);
    fill();
    assert_int_equal(cv_json_size(view("partitions")), 2);
    row = cv_json_at(document, 0);
    assert_keys(row, "partition spec_id record_count file_count total_data_file_size_in_bytes "
                     "position_delete_record_count position_delete_file_count "
                     "equality_delete_record_count equality_delete_file_count last_updated_at "
                     "last_updated_snapshot_id");
    assert_json(cv_json_get(row, "partition"), "{\"day\":\"2024-10-04\"}");
    assert_json(cv_json_get(row, "record_count"), "20");
    assert_json(cv_json_get(row, "file_count"), "2");
    assert_json(cv_json_get(row, "total_data_file_size_in_bytes"), "2000");
    (void)snprintf(id, sizeof id, "%lld", (long long)f.table->metadata->snapshots[1].id);
    assert_json(cv_json_get(cv_json_at(document, 1), "last_updated_snapshot_id"), id);
    assert_json(cv_json_get(cv_json_at(document, 1), "file_count"), "1");
}

static void an_unpartitioned_table_is_one_partition(void **state)
{
    (void)state;
    (void)fixture_table(&f, "", NULL, 0);
    fill();
    assert_int_equal(cv_json_size(view("partitions")), 1);
    assert_null(cv_json_get(cv_json_at(document, 0), "partition"));
    assert_json(cv_json_get(cv_json_at(document, 0), "file_count"), "3");
    assert_json(cv_json_get(cv_json_at(view("files"), 0), "partition"), "{}");
}

static void show_tells_what_a_table_is(void **state)
{
    static const char *const properties[] = {"owner=shop"};

    (void)state;
    (void)fixture_table(&f, "bucket(16, id), day", properties, 1);
    (void)view("show");
    assert_json(cv_json_get(document, "name"), "\"lake.shop.orders\"");
    assert_json(cv_json_get(document, "format_version"), "2");
    assert_json(cv_json_at(cv_json_get(document, "columns"), 0),
                "{\"id\":1,\"name\":\"id\",\"type\":\"long\",\"required\":true}");
    assert_json(cv_json_get(document, "partitioning"),
                "[{\"name\":\"id_bucket\",\"transform\":\"bucket[16]\",\"source\":\"id\"},"
                "{\"name\":\"day\",\"transform\":\"identity\",\"source\":\"day\"}]");
    assert_json(cv_json_get(cv_json_get(document, "properties"), "owner"), "\"shop\"");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_empty_table_has_empty_views),
        TEST(snapshots_and_history),
        TEST(refs_of_a_table),
        TEST(manifests_of_the_head),
        TEST(files_with_their_metrics),
        TEST(every_spec_has_its_columns),
        TEST(bounds_of_manifests_are_text),
        TEST(partitions_add_up),
        TEST(an_unpartitioned_table_is_one_partition),
        TEST(show_tells_what_a_table_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
