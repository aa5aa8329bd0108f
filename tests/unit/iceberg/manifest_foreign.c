/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifests and manifest lists of Spark, PyIceberg and others: every entry of a table is read, in
 * v1 and v2 form, and says what its list, its snapshot and the folder of its file say. */
#include "base/file.h"
#include "iceberg/manifest.h"
#include "iceberg/metadata.h"
#include "test.h"

struct table {
    struct cv_arena arena;
    struct cv_error err;
    struct cv_table_metadata *metadata;
    const char *folder; /* with the metadata files */
    struct cv_manifest_file *manifests;
    size_t manifest_count;
    struct cv_manifest_entry *entries; /* of all manifests */
    size_t entry_count, entry_capacity;
};

static struct cv_buf read_file(const char *folder, const char *location)
{
    struct cv_error err = CV_ERROR_INIT;
    const char *slash = strrchr(location, '/');
    char name[1024];
    struct cv_buf bytes = CV_BUF_INIT(0);

    (void)snprintf(name, sizeof name, "iceberg-tables/%s/%s", folder, slash ? slash + 1 : location);
    CV_ASSERT_OK(cv_file_read(cv_test_data(name), CV_MANIFEST_BYTES_MAX, &bytes, &err), &err);
    return bytes;
}

static void read_manifest(struct table *table, const struct cv_manifest_file *row)
{
    struct cv_buf bytes = read_file(table->folder, row->path);
    struct cv_manifest_entry *entries;
    size_t count;

    CV_ASSERT_OK(cv_manifest_read(bytes.data, bytes.length, row,
                                  cv_table_metadata_schema(table->metadata), table->metadata->specs,
                                  table->metadata->spec_count, &table->arena, &entries, &count,
                                  &table->err),
                 &table->err);
    cv_array_reserve(&table->entries, &table->entry_capacity, table->entry_count + count);
    memcpy(table->entries + table->entry_count, entries, count * sizeof *entries);
    table->entry_count += count;
    cv_buf_release(&bytes);
}

/* Rows for the manifests that a snapshot of format version 1 names itself. */
static void list_inline(struct table *table, const struct cv_snapshot *snapshot)
{
    table->manifest_count = snapshot->manifest_count;
    table->manifests =
        cv_arena_array(&table->arena, struct cv_manifest_file, snapshot->manifest_count);
    for (size_t i = 0; i < snapshot->manifest_count; i++)
        table->manifests[i] = (struct cv_manifest_file){.path = snapshot->manifests[i],
                                                        .added_snapshot_id = snapshot->id};
}

static void list_manifests(struct table *table, const char *location)
{
    struct cv_buf bytes = read_file(table->folder, location);

    CV_ASSERT_OK(cv_manifest_list_read(bytes.data, bytes.length, &table->arena, &table->manifests,
                                       &table->manifest_count, NULL, &table->err),
                 &table->err);
    cv_buf_release(&bytes);
}

static struct table *open_table(const char *folder, const char *metadata_name)
{
    struct cv_buf bytes = read_file(folder, metadata_name); /* or skips the test */
    struct table *table = cv_alloc(sizeof *table);
    const struct cv_snapshot *head;

    table->folder = folder;
    CV_ASSERT_OK(cv_table_metadata_read(bytes.data, bytes.length, &table->metadata, &table->err),
                 &table->err);
    cv_buf_release(&bytes);
    head = cv_table_metadata_head(table->metadata, "main");
    if (head->manifest_list)
        list_manifests(table, head->manifest_list);
    else
        list_inline(table, head);
    for (size_t i = 0; i < table->manifest_count; i++)
        read_manifest(table, &table->manifests[i]);
    return table;
}

static void close_table(struct table *table)
{
    cv_table_metadata_free(table->metadata);
    cv_arena_release(&table->arena);
    free(table->entries);
    free(table);
}

static int64_t summary_number(const struct table *table, const char *key)
{
    const struct cv_snapshot *head = cv_table_metadata_head(table->metadata, "main");
    int64_t value = -1;

    (void)!cv_properties_get_i64(&head->summary, key, 0, INT64_MAX, &value, NULL);
    return value;
}

/* The folder that the other writer gave the file is the one that calve gives its partition. */
static void assert_folder(const struct table *table, const struct cv_data_file *file)
{
    const struct cv_partition_spec *spec =
        cv_table_metadata_spec_by_id(table->metadata, file->spec_id);
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_error err = CV_ERROR_INIT;
    struct cv_buf wanted = CV_BUF_INIT(0);
    const struct cv_type *types;

    CV_ASSERT_OK(
        cv_partition_types(spec, cv_table_metadata_schema(table->metadata), &arena, &types, &err),
        &err);
    cv_buf_append_text(&wanted, "/data/");
    cv_partition_path(spec, types, file->partition, &wanted);
    cv_buf_append_text(&wanted, spec->field_count ? "/" : "");
    if (!strstr(file->path, cv_buf_text(&wanted)))
        fail_msg("%s lacks %s", file->path, cv_buf_text(&wanted));
    cv_buf_release(&wanted);
    cv_arena_release(&arena);
}

static void assert_consistent(const struct table *table, bool with_folders)
{
    int64_t data_files = 0;
    int64_t rows = 0;
    int64_t listed_rows = 0;

    for (size_t i = 0; i < table->manifest_count; i++) {
        const struct cv_manifest_file *row = &table->manifests[i];

        listed_rows += row->deletes ? 0 : row->added_rows + row->existing_rows;
    }
    for (size_t i = 0; i < table->entry_count; i++) {
        const struct cv_manifest_entry *entry = &table->entries[i];

        assert_true(entry->snapshot_id > 0);
        assert_true(entry->sequence_number >= 0);
        assert_true(entry->sequence_number <= table->metadata->last_sequence_number);
        if (with_folders)
            assert_folder(table, &entry->file);
        if (entry->status == CV_ENTRY_DELETED || entry->file.content != CV_CONTENT_DATA)
            continue;
        data_files++;
        rows += entry->file.metrics.record_count;
    }
    if (cv_table_metadata_head(table->metadata, "main")->manifest_list)
        assert_int_equal(rows, listed_rows);
    if (summary_number(table, "total-records") >= 0) {
        assert_int_equal(rows, summary_number(table, "total-records"));
        assert_int_equal(data_files, summary_number(table, "total-data-files"));
    }
}

static void tables_of_other_writers_are_read_whole(void **state)
{
    static const struct {
        const char *folder, *metadata;
        bool with_folders;
    } rows[] = {
        {"iceberg_v1_deprecated/default/legacy_v1/metadata", "v2.metadata.json", true},
        {"partition_bigint/metadata", "v2.metadata.json", true},
        {"partition_binary/metadata", "v2.metadata.json", true},
        {"partition_bool/metadata", "v2.metadata.json", true},
        {"partition_decimal_bigint/metadata", "v2.metadata.json", true},
        {"partition_decimal_hugeint/metadata", "v2.metadata.json", true},
        {"partition_decimal_integer/metadata", "v2.metadata.json", true},
        {"partition_decimal_smallint/metadata", "v2.metadata.json", true},
        {"partition_time/default.db/partition_time/metadata",
         "00001-44546aa6-1ee5-48c5-9e3b-bc6c0bc0a60c.metadata.json", true},
        {"partition_timestamp/default.db/partition_timestamp/metadata",
         "00001-0c9938a5-103e-4185-b46d-331368ae4db7.metadata.json", true},
        {"partition_timestamptz/default.db/partition_timestamptz/metadata",
         "00001-ffeadb58-2a9e-46ba-8b4f-f363f05de68c.metadata.json", true},
        {"map_stats/default.db/map_stats/metadata",
         "00002-0e059d4b-e5e8-41af-a763-76cbf3a3d0bc.metadata.json", true},
        {"uuid/metadata", "00001-43fda1f4-1c96-4376-ad16-91beb71d0759.metadata.json", true},
        {"hive_partitioned_table/metadata", "v4.metadata.json", false},
        {"equality_deletes/warehouse/mydb/mytable_partitioned/metadata", "v6.metadata.json", true},
        {"name_mapping/warehouse_1/mydb/t1/metadata", "v7.metadata.json", false},
        {"generated_bounds/metadata", "v1.metadata.json", false},
        {"null_stats/default/test_nulls/metadata",
         "00003-9d6a621e-8a72-4190-a880-f6ca02e32b86.metadata.json", true},
        {"add_columns_with_defaults/default.db/add_columns_with_defaults/metadata",
         "00003-3f1801a5-7dfb-4072-b14a-39cd12f9279b.metadata.json", true},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        struct table *table = open_table(rows[i].folder, rows[i].metadata);

        assert_true(table->entry_count > 0);
        assert_consistent(table, rows[i].with_folders);
        close_table(table);
    }
}

static void a_v1_manifest_is_understood(void **state)
{
    struct table *table =
        open_table("iceberg_v1_deprecated/default/legacy_v1/metadata", "v2.metadata.json");
    const struct cv_data_file *file = &table->entries[0].file;

    assert_int_equal(table->manifest_count, 1);
    assert_int_equal(table->entry_count, 2);
    assert_int_equal(table->entries[0].status, CV_ENTRY_ADDED);
    assert_int_equal(table->entries[0].sequence_number, 0);
    assert_int_equal(file->content, CV_CONTENT_DATA);
    assert_string_equal(file->format, "PARQUET");
    assert_true(cv_str_is(file->partition[0].bytes, "alpha"));
    assert_int_equal(file->metrics.record_count, 2);
    assert_int_equal(file->metrics.file_size, 935);
    assert_int_equal(file->metrics.column_count, 3);
    assert_int_equal(file->metrics.columns[2].field_id, 3);
    assert_int_equal(file->metrics.columns[2].column_size, 45);
    assert_int_equal(file->metrics.columns[2].value_count, 2);
    assert_int_equal(file->metrics.columns[2].null_count, 1);
    assert_int_equal(file->metrics.columns[2].nan_count, -1);
    cv_test_assert_hex(file->metrics.columns[2].lower.ptr, file->metrics.columns[2].lower.length,
                       "0a 00 00 00");
    assert_int_equal(file->metrics.split_count, 1);
    assert_int_equal(file->metrics.split_offsets[0], 4);
    assert_true(file->has_sort_order);
    assert_null(file->key_metadata.ptr);
    close_table(table);
}

static void a_v1_list_is_understood(void **state)
{
    struct table table = {.folder = "iceberg_v1_deprecated/default/legacy_v1/metadata"};
    const struct cv_manifest_file *row;

    list_manifests(&table, "snap-2456114553637229296-1-d65f86b0-b799-467f-b1f4-9c697e4c4fc7.avro");
    row = table.manifests;
    assert_int_equal(table.manifest_count, 1);
    assert_int_equal(row->length, 6147);
    assert_int_equal(row->added_snapshot_id, 2456114553637229296);
    assert_int_equal(row->added_files, 2);
    assert_int_equal(row->added_rows, 3);
    assert_int_equal(row->sequence_number, 0);
    assert_false(row->deletes);
    assert_int_equal(row->partition_count, 1);
    assert_false(row->partitions[0].contains_null);
    assert_int_equal(row->partitions[0].contains_nan, 0);
    assert_true(cv_str_is(row->partitions[0].lower, "alpha"));
    assert_true(cv_str_is(row->partitions[0].upper, "beta"));
    cv_arena_release(&table.arena);
}

static void equality_deletes_are_understood(void **state)
{
    struct table *table = open_table("equality_deletes/warehouse/mydb/mytable_partitioned/metadata",
                                     "v6.metadata.json");
    size_t deletes = 0;

    for (size_t i = 0; i < table->entry_count; i++) {
        const struct cv_data_file *file = &table->entries[i].file;

        if (file->content != CV_CONTENT_EQUALITY_DELETES)
            continue;
        deletes++;
        assert_int_equal(file->equality_ids[0], 2);
        if (cv_str_is(file->partition[0].bytes, "c"))
            assert_int_equal(file->equality_ids[1], 1);
        assert_int_equal(file->equality_count, cv_str_is(file->partition[0].bytes, "c") ? 2 : 1);
    }
    assert_int_equal(table->manifest_count, 5);
    assert_int_equal(table->manifests[0].sequence_number, 4);
    assert_int_equal(table->manifests[1].sequence_number, 1);
    assert_int_equal(deletes, 3);
    close_table(table);
}

static void partition_values_have_their_types(void **state)
{
    struct table *table = open_table("partition_decimal_hugeint/metadata", "v2.metadata.json");
    struct cv_buf text = CV_BUF_INIT(0);
    struct cv_type type = {.kind = CV_TYPE_DECIMAL, .precision = 38, .scale = 23};

    cv_value_write_text(&table->entries[1].file.partition[0], &type, &text);
    assert_string_equal(cv_buf_text(&text), "-1000000000000.00000000000000000001000");
    close_table(table);
    table = open_table("map_stats/default.db/map_stats/metadata",
                       "00002-0e059d4b-e5e8-41af-a763-76cbf3a3d0bc.metadata.json");
    assert_int_equal(table->entries[0].file.partition[0].kind, CV_TYPE_DATE);
    close_table(table);
    table = open_table("partition_time/default.db/partition_time/metadata",
                       "00001-44546aa6-1ee5-48c5-9e3b-bc6c0bc0a60c.metadata.json");
    assert_int_equal(table->entries[0].file.partition[0].kind, CV_TYPE_TIME);
    assert_int_equal(table->entries[0].file.partition[0].i64, 45296000000);
    close_table(table);
    cv_buf_release(&text);
}

static struct cv_buf read_data(const char *name)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_buf bytes = CV_BUF_INIT(0);

    CV_ASSERT_OK(cv_file_read(cv_test_data(name), CV_MANIFEST_BYTES_MAX, &bytes, &err), &err);
    return bytes;
}

static void both_generations_of_count_names_are_read(void **state)
{
    static const char *const names[] = {
        "iceberg-metadata/rust/manifests_lists/manifest-list-v2-1.avro",
        "iceberg-metadata/rust/manifests_lists/manifest-list-v2-2.avro"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++) {
        struct cv_error err = CV_ERROR_INIT;
        struct cv_arena arena = CV_ARENA_INIT;
        struct cv_buf bytes = read_data(names[i]);
        struct cv_properties metadata = {0};
        struct cv_manifest_file *rows;
        size_t count;

        CV_ASSERT_OK(
            cv_manifest_list_read(bytes.data, bytes.length, &arena, &rows, &count, &metadata, &err),
            &err);
        assert_int_equal(count, 1);
        assert_int_equal(rows[0].length, i ? 6660 : 6658);
        assert_int_equal(rows[0].added_files, 1);
        assert_int_equal(rows[0].existing_files, 0);
        assert_int_equal(rows[0].deleted_files, 0);
        assert_int_equal(rows[0].added_rows, 1);
        assert_int_equal(rows[0].partition_count, 0);
        assert_non_null(rows[0].partitions);
        assert_string_equal(cv_properties_get(&metadata, "format-version"), "2");
        assert_string_equal(cv_properties_get(&metadata, "snapshot-id"),
                            i ? "3083072880052097243" : "6653143792592159268");
        cv_properties_release(&metadata);
        cv_buf_release(&bytes);
        cv_arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_of_other_writers_are_read_whole),
        cmocka_unit_test(a_v1_manifest_is_understood),
        cmocka_unit_test(a_v1_list_is_understood),
        cmocka_unit_test(equality_deletes_are_understood),
        cmocka_unit_test(partition_values_have_their_types),
        cmocka_unit_test(both_generations_of_count_names_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
