/* SPDX-License-Identifier: Apache-2.0
 *
 * Table metadata of the Java and Rust libraries' own tests and of tables by Spark, PyIceberg and
 * others: valid ones survive reading, printing and reading; broken ones are refused. */
#include "base/file.h"
#include "iceberg/metadata.h"
#include "test.h"

static enum cv_code read_data(const char *name, struct cv_table_metadata **ret_metadata,
                              struct cv_error *err)
{
    struct cv_buf bytes = CV_BUF_INIT(0);
    enum cv_code code;

    CV_ASSERT_OK(cv_file_read(cv_test_data(name), CV_METADATA_BYTES_MAX, &bytes, err), err);
    code = cv_table_metadata_read(bytes.data, bytes.length, ret_metadata, err);
    cv_buf_release(&bytes);
    return code;
}

static void assert_text_equal(struct cv_str a, struct cv_str b)
{
    assert_true(cv_str_equal(a, b));
}

static void assert_same_snapshots(const struct cv_table_metadata *a,
                                  const struct cv_table_metadata *b)
{
    assert_int_equal(a->current_snapshot_id, b->current_snapshot_id);
    assert_int_equal(a->snapshot_count, b->snapshot_count);
    for (size_t i = 0; i < a->snapshot_count; i++) {
        const struct cv_snapshot *x = &a->snapshots[i];
        const struct cv_snapshot *y = &b->snapshots[i];

        assert_int_equal(x->id, y->id);
        assert_int_equal(x->parent_id, y->parent_id);
        assert_int_equal(x->sequence_number, y->sequence_number);
        assert_int_equal(x->timestamp_ms, y->timestamp_ms);
        assert_int_equal(x->schema_id, y->schema_id);
        assert_int_equal(x->summary.count, y->summary.count);
        assert_text_equal(x->json, y->json);
    }
    assert_int_equal(a->ref_count, b->ref_count);
    for (size_t i = 0; i < a->ref_count; i++) {
        assert_string_equal(a->refs[i].name, b->refs[i].name);
        assert_int_equal(a->refs[i].snapshot_id, b->refs[i].snapshot_id);
        assert_int_equal(a->refs[i].is_tag, b->refs[i].is_tag);
        assert_int_equal(a->refs[i].max_snapshot_age_ms, b->refs[i].max_snapshot_age_ms);
    }
    assert_int_equal(a->snapshot_log_count, b->snapshot_log_count);
    assert_int_equal(a->metadata_log_count, b->metadata_log_count);
    for (size_t i = 0; i < a->metadata_log_count; i++)
        assert_string_equal(a->metadata_log[i].file, b->metadata_log[i].file);
}

static void assert_same(const struct cv_table_metadata *a, const struct cv_table_metadata *b)
{
    assert_int_equal(a->format_version, b->format_version);
    assert_string_equal(a->table_uuid, b->table_uuid);
    assert_string_equal(a->location, b->location);
    assert_int_equal(a->last_sequence_number, b->last_sequence_number);
    assert_int_equal(a->last_updated_ms, b->last_updated_ms);
    assert_int_equal(a->last_column_id, b->last_column_id);
    assert_int_equal(a->last_partition_id, b->last_partition_id);
    assert_int_equal(a->schema_count, b->schema_count);
    for (size_t i = 0; i < a->schema_count; i++)
        assert_true(cv_type_equal(&a->schemas[i].root, &b->schemas[i].root));
    assert_int_equal(a->current_schema_id, b->current_schema_id);
    assert_int_equal(a->spec_count, b->spec_count);
    assert_int_equal(a->default_spec_id, b->default_spec_id);
    assert_int_equal(a->sort_order_count, b->sort_order_count);
    assert_int_equal(a->default_sort_order_id, b->default_sort_order_id);
    assert_text_equal(a->schemas_json, b->schemas_json);
    assert_text_equal(a->specs_json, b->specs_json);
    assert_text_equal(a->sort_orders_json, b->sort_orders_json);
    assert_text_equal(a->statistics_json, b->statistics_json);
    assert_text_equal(a->partition_statistics_json, b->partition_statistics_json);
    assert_text_equal(a->unknown_json, b->unknown_json);
    assert_int_equal(a->properties.count, b->properties.count);
    for (size_t i = 0; i < a->properties.count; i++)
        assert_string_equal(a->properties.items[i].value,
                            cv_properties_get(&b->properties, a->properties.items[i].key));
    assert_same_snapshots(a, b);
}

static void assert_survives(const char *name)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_table_metadata *first = NULL;
    struct cv_table_metadata *copy;
    struct cv_table_metadata *second = NULL;
    struct cv_buf out = CV_BUF_INIT(0);

    if (read_data(name, &first, &err) != CV_OK)
        fail_msg("%s: %s", name, err.message);
    copy = cv_table_metadata_copy(first);
    assert_same(first, copy);
    cv_table_metadata_write(copy, &out);
    CV_ASSERT_OK(cv_table_metadata_read(out.data, out.length, &second, &err), &err);
    assert_same(first, second);
    cv_table_metadata_free(first);
    assert_same(copy, second);
    cv_table_metadata_free(copy);
    cv_table_metadata_free(second);
    cv_buf_release(&out);
}

static void valid_metadata_survives(void **state)
{
    static const char *const names[] = {
        "iceberg-metadata/TableMetadataV1Valid.json",
        "iceberg-metadata/TableMetadataV2Valid.json",
        "iceberg-metadata/TableMetadataV2ValidMinimal.json",
        "iceberg-metadata/TableMetadataStatisticsFiles.json",
        "iceberg-metadata/TableMetadataPartitionStatisticsFiles.json",
        "iceberg-metadata/rust/table_metadata/TableMetadataV1Compat.json",
        "iceberg-metadata/rust/table_metadata/TableMetadataV1PartitionSpecsWithoutDefaultId.json",
        "iceberg-metadata/rust/table_metadata/TableMetadataV1SchemasWithoutCurrentId.json",
        "iceberg-metadata/rust/table_metadata/TableMetadataV1Valid.json",
        "iceberg-metadata/rust/table_metadata/TableMetadataV2Valid.json",
        "iceberg-metadata/rust/table_metadata/TableMetadataV2ValidMinimal.json",
        "iceberg-tables/iceberg_v1_deprecated/default/legacy_v1/metadata/v2.metadata.json",
        "iceberg-tables/name_mapping/warehouse_1/mydb/t1/metadata/v7.metadata.json",
        "iceberg-tables/equality_deletes/warehouse/mydb/mytable_partitioned/metadata/"
        "v6.metadata.json",
        "iceberg-tables/hive_partitioned_table/metadata/v4.metadata.json",
        "iceberg-tables/map_stats/default.db/map_stats/metadata/"
        "00002-0e059d4b-e5e8-41af-a763-76cbf3a3d0bc.metadata.json",
        "iceberg-tables/partition_decimal_hugeint/metadata/v2.metadata.json",
        "iceberg-tables/partition_time/default.db/partition_time/metadata/"
        "00001-44546aa6-1ee5-48c5-9e3b-bc6c0bc0a60c.metadata.json",
        "iceberg-tables/uuid/metadata/00001-43fda1f4-1c96-4376-ad16-91beb71d0759.metadata.json",
        "iceberg-tables/null_stats/default/test_nulls/metadata/"
        "00003-9d6a621e-8a72-4190-a880-f6ca02e32b86.metadata.json",
        "iceberg-tables/add_columns_with_defaults/default.db/add_columns_with_defaults/metadata/"
        "00003-3f1801a5-7dfb-4072-b14a-39cd12f9279b.metadata.json",
        "iceberg-tables/generated_bounds/metadata/v1.metadata.json",
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++)
        assert_survives(names[i]);
}

static void broken_metadata_is_refused(void **state)
{
    static const struct {
        const char *name;
        enum cv_code code;
        const char *message;
    } rows[] = {
        {"iceberg-metadata/TableMetadataV1MissingSchemaType.json", CV_FORMAT, "schema"},
        {"iceberg-metadata/TableMetadataV2MissingSchemas.json", CV_FORMAT, "schemas is missing"},
        {"iceberg-metadata/TableMetadataV2MissingPartitionSpecs.json", CV_FORMAT,
         "partition-specs is missing"},
        {"iceberg-metadata/TableMetadataV2MissingSortOrder.json", CV_FORMAT,
         "sort-orders is missing"},
        {"iceberg-metadata/TableMetadataV2MissingLastPartitionId.json", CV_FORMAT,
         "last-partition-id"},
        {"iceberg-metadata/TableMetadataV2CurrentSchemaNotFound.json", CV_FORMAT,
         "current-schema-id"},
        {"iceberg-metadata/TableMetadataUnsupportedVersion.json", CV_UNSUPPORTED, "format version"},
        {"iceberg-metadata/TableMetadataV3ValidMinimal.json", CV_UNSUPPORTED,
         "format version 3; versions 1 and 2 are supported"},
        {"iceberg-metadata/rust/table_metadata/TableMetadataV1NoValidSchema.json", CV_FORMAT,
         "neither schemas"},
        {"iceberg-metadata/rust/table_metadata/TableMetadataV3ValidEncryption.json", CV_UNSUPPORTED,
         "format version 3"},
        {"iceberg-metadata/rust/table_metadata/TableMetadataV2MissingSchemas.json", CV_FORMAT,
         "schemas is missing"},
        {"iceberg-metadata/view/ValidViewMetadata.json", CV_FORMAT, "last-updated-ms"},
        {"iceberg-tables/timestamptz_ns/metadata/v1.metadata.json", CV_UNSUPPORTED,
         "format version 3"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        struct cv_error err = CV_ERROR_INIT;
        struct cv_table_metadata *metadata = NULL;
        enum cv_code code = read_data(rows[i].name, &metadata, &err);

        if (code != rows[i].code || !strstr(err.message, rows[i].message))
            fail_msg("%s: got %s \"%s\", want %s \"%s\"", rows[i].name, cv_code_name(code),
                     err.message, cv_code_name(rows[i].code), rows[i].message);
        assert_null(metadata);
    }
}

static void java_v2_metadata_is_understood(void **state)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_table_metadata *m = NULL;
    const struct cv_sort_order *order;

    CV_ASSERT_OK(read_data("iceberg-metadata/TableMetadataV2Valid.json", &m, &err), &err);
    assert_string_equal(m->table_uuid, "9c12d441-03fe-4693-9a96-a0705ddf69c1");
    assert_string_equal(m->location, "s3://bucket/test/location");
    assert_int_equal(m->last_sequence_number, 34);
    assert_int_equal(m->last_updated_ms, 1602638573590);
    assert_int_equal(m->last_column_id, 3);
    assert_int_equal(cv_table_metadata_schema(m)->root.field_count, 3);
    assert_int_equal(cv_table_metadata_schema(m)->identifier_count, 2);
    assert_int_equal(cv_table_metadata_schema_by_id(m, 0)->root.field_count, 1);
    assert_string_equal(cv_table_metadata_spec(m)->fields[0].name, "x");
    order = cv_table_metadata_sort_order(m);
    assert_int_equal(order->order_id, 3);
    assert_int_equal(order->fields[1].transform.width, 4);
    assert_true(order->fields[1].descending && order->fields[1].nulls_last);
    assert_false(order->fields[0].descending || order->fields[0].nulls_last);
    assert_int_equal(m->snapshot_count, 2);
    assert_int_equal(cv_table_metadata_head(m, "main")->id, 3055729675574597004);
    assert_int_equal(cv_table_metadata_head(m, "main")->parent_id, 3051729675574597004);
    assert_null(cv_table_metadata_head(m, "other"));
    assert_string_equal(cv_table_metadata_snapshot(m, 3051729675574597004)->manifest_list,
                        "s3://a/b/1.avro");
    assert_int_equal(cv_table_metadata_ref(m, "main")->snapshot_id, 3055729675574597004);
    cv_table_metadata_free(m);
}

static void v1_members_that_came_later_have_defaults(void **state)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_table_metadata *m = NULL;

    CV_ASSERT_OK(read_data("iceberg-metadata/TableMetadataV1Valid.json", &m, &err), &err);
    assert_int_equal(m->format_version, 1);
    assert_int_equal(m->current_schema_id, 0);
    assert_int_equal(m->default_spec_id, 0);
    assert_int_equal(m->last_partition_id, 1000);
    assert_int_equal(m->default_sort_order_id, 0);
    assert_int_equal(m->last_sequence_number, 0);
    assert_int_equal(m->current_snapshot_id, -1);
    assert_int_equal(m->ref_count, 0);
    cv_table_metadata_free(m);
    CV_ASSERT_OK(read_data("iceberg-metadata/rust/table_metadata/"
                           "TableMetadataV1PartitionSpecsWithoutDefaultId.json",
                           &m, &err),
                 &err);
    assert_int_equal(m->default_spec_id, 2);
    assert_int_equal(m->last_partition_id, 1001);
    cv_table_metadata_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_metadata_survives),
        cmocka_unit_test(broken_metadata_is_refused),
        cmocka_unit_test(java_v2_metadata_is_understood),
        cmocka_unit_test(v1_members_that_came_later_have_defaults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
