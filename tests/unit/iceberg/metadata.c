/* SPDX-License-Identifier: Apache-2.0
 *
 * Table metadata: creating, adding snapshots, logs, strictness, what is kept. */
#include "codec/compress.h"
#include "iceberg/metadata.h"
#include "test.h"

#define MINIMAL                                                                                    \
    "\"format-version\":2,\"table-uuid\":\"9c12d441-03fe-4693-9a96-a0705ddf69c1\","                \
    "\"location\":\"file:///w/t/\",\"last-sequence-number\":7,\"last-updated-ms\":1000,"           \
    "\"last-column-id\":1,\"current-schema-id\":0,\"schemas\":[{\"type\":\"struct\","              \
    "\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"x\",\"required\":false,"                     \
    "\"type\":\"long\"}]}],\"default-spec-id\":0,\"partition-specs\":[{\"spec-id\":0,"             \
    "\"fields\":[]}],\"last-partition-id\":999,\"default-sort-order-id\":0"
#define ORDERS ",\"sort-orders\":[{\"order-id\":0,\"fields\":[]}]"
#define SNAPSHOT                                                                                   \
    "{\"snapshot-id\":9007199254740993,\"sequence-number\":7,\"timestamp-ms\":990,"                \
    "\"summary\":{\"operation\":\"append\"},\"manifest-list\":\"file:///w/l.avro\"}"

static enum cv_code parse(const char *json, struct cv_table_metadata **ret_metadata,
                          struct cv_error *err)
{
    return cv_table_metadata_read(json, strlen(json), ret_metadata, err);
}

static struct cv_table_metadata *parsed(const char *json)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_table_metadata *metadata = NULL;

    CV_ASSERT_OK(parse(json, &metadata, &err), &err);
    return metadata;
}

static const char *printed(const struct cv_table_metadata *metadata, struct cv_buf *out)
{
    cv_buf_clear(out);
    cv_table_metadata_write(metadata, out);
    return cv_buf_text(out);
}

static void broken_members_are_named(void **state)
{
    static const struct {
        const char *json;
        const char *message;
    } rows[] = {
        {"[]", "not a JSON object"},
        {"{}", "format-version"},
        {"{\"format-version\":0}", "format version 0"},
        {"{" MINIMAL "}", "sort-orders is missing"},
        {"{" MINIMAL ",\"sort-orders\":[{\"order-id\":0,\"fields\":[{\"transform\":\"identity\","
         "\"source-id\":1,\"direction\":\"asc\",\"null-order\":\"nulls-first\"}]}]}",
         "sort order 0 is the unsorted one"},
        {"{" MINIMAL ORDERS ",\"properties\":{\"a\":1}}", "the value of a is not a string"},
        {"{" MINIMAL ORDERS ",\"current-snapshot-id\":5}", "current-snapshot-id 5"},
        {"{" MINIMAL ORDERS ",\"snapshots\":[" SNAPSHOT "," SNAPSHOT "]}", "is there twice"},
        {"{" MINIMAL ORDERS ",\"snapshots\":[{\"snapshot-id\":1,\"timestamp-ms\":1,"
         "\"sequence-number\":8,\"manifest-list\":\"x\"}]}",
         "above last-sequence-number 7"},
        {"{" MINIMAL ORDERS ",\"snapshots\":[{\"snapshot-id\":1,\"timestamp-ms\":1,"
         "\"summary\":{\"operation\":\"append\",\"added-records\":3},\"manifest-list\":\"x\"}]}",
         "added-records is not a string"},
        {"{" MINIMAL ORDERS ",\"snapshots\":[{\"snapshot-id\":1,\"timestamp-ms\":1}]}",
         "neither manifest-list nor manifests"},
        {"{" MINIMAL ORDERS ",\"snapshots\":[{\"snapshot-id\":1.5,\"timestamp-ms\":1}]}",
         "snapshot-id"},
        {"{" MINIMAL ORDERS ",\"snapshots\":[" SNAPSHOT "],\"refs\":{\"main\":"
         "{\"snapshot-id\":9007199254740993,\"type\":\"branch\"}}}",
         "main is at snapshot 9007199254740993, current-snapshot-id is -1"},
        {"{" MINIMAL ORDERS ",\"refs\":{\"b\":{\"snapshot-id\":3,\"type\":\"branch\"}}}",
         "refs: b: snapshot 3"},
        {"{" MINIMAL ORDERS ",\"snapshots\":[" SNAPSHOT "],\"refs\":{\"b\":"
         "{\"snapshot-id\":9007199254740993,\"type\":\"twig\"}}}",
         "neither branch nor tag"},
        {"{" MINIMAL ORDERS ",\"snapshots\":{}}", "snapshots is not an array"},
        {"{" MINIMAL ORDERS ",\"snapshot-log\":[7]}", "snapshot-log[0]"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        struct cv_error err = CV_ERROR_INIT;
        struct cv_table_metadata *metadata = NULL;

        CV_ASSERT_FAILS(parse(rows[i].json, &metadata, &err), CV_FORMAT, rows[i].message, &err);
    }
}

static void null_and_absent_are_one(void **state)
{
    static const char *const rows[] = {
        "{" MINIMAL ORDERS "}",
        "{" MINIMAL ORDERS ",\"current-snapshot-id\":null,\"refs\":null,\"snapshots\":null,"
        "\"statistics\":null,\"partition-statistics\":null,\"snapshot-log\":null,"
        "\"metadata-log\":null,\"properties\":null}",
        "{" MINIMAL ORDERS ",\"current-snapshot-id\":-1,\"refs\":{},\"snapshots\":[]}",
    };
    struct cv_buf first = CV_BUF_INIT(0);
    struct cv_buf other = CV_BUF_INIT(0);

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        struct cv_table_metadata *metadata = parsed(rows[i]);

        assert_int_equal(metadata->current_snapshot_id, -1);
        assert_string_equal(metadata->location, "file:///w/t");
        assert_string_equal(printed(metadata, &other),
                            i ? cv_buf_text(&first) : printed(metadata, &first));
        cv_table_metadata_free(metadata);
    }
    cv_buf_release(&first);
    cv_buf_release(&other);
}

/* Other readers refuse "parent-snapshot-id": null, so it is not written again. */
static void what_the_model_lacks_is_kept(void **state)
{
    static const char json[] =
        "{" MINIMAL ORDERS ",\"future\":{\"deep\":[1.50,\"é\",9223372036854775807]},"
        "\"current-snapshot-id\":3,\"snapshots\":[{\"snapshot-id\":3,\"parent-snapshot-id\":null,"
        "\"timestamp-ms\":4,\"key-id\":\"k\",\"manifest-list\":\"x\"}],\"statistics\":[{\"a\":1}]}";
    struct cv_table_metadata *metadata = parsed(json);
    struct cv_buf out = CV_BUF_INIT(0);
    const char *text = printed(metadata, &out);

    assert_non_null(strstr(text, ",\"future\":{\"deep\":[1.5,\"é\",9223372036854775807]}}"));
    assert_non_null(strstr(text, "\"statistics\":[{\"a\":1}]"));
    assert_non_null(strstr(text, "\"snapshots\":[{\"snapshot-id\":3,\"timestamp-ms\":4,"
                                 "\"key-id\":\"k\",\"manifest-list\":\"x\"}]"));
    assert_non_null(strstr(text, "\"refs\":{\"main\":{\"snapshot-id\":3,\"type\":\"branch\"}}"));
    assert_null(strstr(text, "null"));
    cv_table_metadata_free(metadata);
    cv_buf_release(&out);
}

static void ids_keep_64_bits(void **state)
{
    struct cv_table_metadata *metadata =
        parsed("{" MINIMAL ORDERS
               ",\"current-snapshot-id\":9007199254740993,\"snapshots\":[" SNAPSHOT "]}");
    struct cv_buf out = CV_BUF_INIT(0);

    assert_int_equal(metadata->current_snapshot_id, INT64_C(9007199254740993));
    assert_non_null(strstr(printed(metadata, &out), "\"current-snapshot-id\":9007199254740993,"));
    cv_table_metadata_free(metadata);
    cv_buf_release(&out);
}

static void gzip_is_read(void **state)
{
    static const char json[] = "{" MINIMAL ORDERS "}";
    struct cv_error err = CV_ERROR_INIT;
    struct cv_compressor *gzip = NULL;
    struct cv_table_metadata *metadata = NULL;
    struct cv_buf packed = CV_BUF_INIT(0);

    CV_ASSERT_OK(cv_compressor_new(CV_CODEC_GZIP, CV_CODEC_LEVEL_DEFAULT, &gzip, &err), &err);
    CV_ASSERT_OK(cv_compress(gzip, json, strlen(json), &packed, &err), &err);
    CV_ASSERT_OK(cv_table_metadata_read(packed.data, packed.length, &metadata, &err), &err);
    assert_int_equal(metadata->last_updated_ms, 1000);
    cv_table_metadata_free(metadata);
    CV_ASSERT_FAILS(cv_table_metadata_read(packed.data, packed.length / 2, &metadata, &err),
                    CV_FORMAT, "table metadata", &err);
    cv_compressor_free(gzip);
    cv_buf_release(&packed);
}

static struct cv_table_metadata *created(const char *ddl, const char *partitioning,
                                         const struct cv_properties *properties)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_schema schema;
    struct cv_partition_spec spec;
    struct cv_table_create create = {"s3://b/t//", &schema, &spec, properties};
    struct cv_table_metadata *metadata = NULL;

    CV_ASSERT_OK(cv_schema_read_ddl(ddl, &arena, &schema, &err), &err);
    CV_ASSERT_OK(cv_partition_spec_read_ddl(partitioning, &schema, &arena, &spec, &err), &err);
    CV_ASSERT_OK(cv_table_metadata_create(&create, &metadata, &err), &err);
    cv_arena_release(&arena);
    return metadata;
}

static void a_new_table_has_its_ids(void **state)
{
    struct cv_table_metadata *m = created(
        "s struct<a: int, l: array<int>>, id bigint, m map<string, int>", "bucket(4, id)", NULL);
    const struct cv_schema *schema = cv_table_metadata_schema(m);

    assert_int_equal(m->format_version, 2);
    assert_int_equal(strlen(m->table_uuid), 36);
    assert_string_equal(m->location, "s3://b/t");
    assert_int_equal(m->last_column_id, 8);
    assert_int_equal(schema->schema_id, 0);
    assert_int_equal(schema->root.fields[1].id, 2);
    assert_int_equal(cv_schema_find_name(schema, "s.a", true)->id, 4);
    assert_int_equal(cv_schema_find_name(schema, "s.l.element", true)->id, 6);
    assert_int_equal(cv_schema_find_name(schema, "m.value", true)->id, 8);
    assert_int_equal(m->last_partition_id, 1000);
    assert_int_equal(cv_table_metadata_spec(m)->fields[0].source_id, 2);
    assert_int_equal(m->default_sort_order_id, 0);
    assert_int_equal(cv_table_metadata_sort_order(m)->field_count, 0);
    assert_int_equal(m->current_snapshot_id, -1);
    assert_string_equal(cv_properties_get(&m->properties, "write.parquet.compression-codec"),
                        "zstd");
    cv_table_metadata_free(m);
    m = created("id bigint", NULL, NULL);
    assert_int_equal(m->last_partition_id, 999);
    cv_table_metadata_free(m);
}

static void reserved_properties_are_not_stored(void **state)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_properties properties = {0};
    struct cv_table_metadata *m;
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_schema schema;
    struct cv_table_create create = {"s3://b/t", &schema, NULL, &properties};
    struct cv_buf out = CV_BUF_INIT(0);

    cv_properties_set(&properties, "format-version", "1");
    cv_properties_set(&properties, "uuid", "x");
    cv_properties_set(&properties, "write.parquet.compression-codec", "gzip");
    cv_properties_set(&properties, "owner", "me");
    m = created("id bigint", "id", &properties);
    assert_int_equal(m->format_version, 1);
    assert_int_equal(m->properties.count, 2);
    assert_string_equal(cv_properties_get(&m->properties, "write.parquet.compression-codec"),
                        "gzip");
    (void)printed(m, &out);
    assert_non_null(strstr(cv_buf_text(&out), "\"schema\":{\"type\":\"struct\""));
    assert_non_null(strstr(cv_buf_text(&out), "\"partition-spec\":[{\"name\":\"id\""));
    assert_null(strstr(cv_buf_text(&out), "last-sequence-number"));
    cv_table_metadata_free(m);
    cv_properties_set(&properties, "format-version", "3");
    CV_ASSERT_OK(cv_schema_read_ddl("id bigint", &arena, &schema, &err), &err);
    CV_ASSERT_FAILS(cv_table_metadata_create(&create, &m, &err), CV_UNSUPPORTED, "format-version 3",
                    &err);
    assert_non_null(strstr(err.hint, "format-version 1 or 2"));
    cv_arena_release(&arena);
    cv_properties_release(&properties);
    cv_buf_release(&out);
}

static struct cv_snapshot snapshot_of(int64_t id, int64_t parent_id, int64_t sequence_number,
                                      int64_t timestamp_ms)
{
    static struct cv_property items[] = {{(char *)"added-records", (char *)"3"},
                                         {(char *)"operation", (char *)"append"}};

    return (struct cv_snapshot){.id = id,
                                .parent_id = parent_id,
                                .sequence_number = sequence_number,
                                .timestamp_ms = timestamp_ms,
                                .manifest_list = "s3://b/t/metadata/snap.avro",
                                .schema_id = 0,
                                .summary = {items, 2, 0}};
}

static void snapshots_move_main(void **state)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_table_metadata *m = parsed("{" MINIMAL ORDERS "}");
    struct cv_snapshot snapshot = snapshot_of(11, -1, 8, 2000);
    struct cv_buf out = CV_BUF_INIT(0);

    CV_ASSERT_OK(cv_table_metadata_add_snapshot(m, &snapshot, "main", &err), &err);
    snapshot = snapshot_of(12, 11, 9, 1500);
    CV_ASSERT_OK(cv_table_metadata_add_snapshot(m, &snapshot, "main", &err), &err);
    assert_int_equal(m->current_snapshot_id, 12);
    assert_int_equal(m->last_sequence_number, 9);
    assert_int_equal(m->last_updated_ms, 2000);
    assert_int_equal(cv_table_metadata_head(m, "main")->timestamp_ms, 2000);
    assert_non_null(
        strstr(printed(m, &out),
               "\"current-snapshot-id\":12,\"refs\":{\"main\":{\"snapshot-id\":12,\"type\":"
               "\"branch\"}},\"snapshots\":[{\"sequence-number\":8,\"snapshot-id\":11,"
               "\"timestamp-ms\":2000,\"summary\":{\"operation\":\"append\",\"added-records\":"
               "\"3\"},\"manifest-list\":\"s3://b/t/metadata/snap.avro\",\"schema-id\":0},"
               "{\"sequence-number\":9,\"snapshot-id\":12,\"parent-snapshot-id\":11,"));
    assert_non_null(strstr(cv_buf_text(&out),
                           "\"snapshot-log\":[{\"timestamp-ms\":2000,\"snapshot-id\":11},"
                           "{\"timestamp-ms\":2000,\"snapshot-id\":12}]"));
    snapshot = snapshot_of(12, 11, 10, 3000);
    CV_ASSERT_FAILS(cv_table_metadata_add_snapshot(m, &snapshot, "main", &err), CV_EXISTS,
                    "is taken", &err);
    snapshot = snapshot_of(13, 12, 9, 3000);
    CV_ASSERT_FAILS(cv_table_metadata_add_snapshot(m, &snapshot, "main", &err), CV_CONFLICT,
                    "sequence number 9", &err);
    cv_table_metadata_free(m);
    cv_buf_release(&out);
}

static void a_slow_clock_does_not_turn_time_back(void **state)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_table_metadata *m = parsed("{" MINIMAL ORDERS "}");
    struct cv_snapshot snapshot = snapshot_of(11, -1, 8, 500);

    CV_ASSERT_OK(cv_table_metadata_add_snapshot(m, &snapshot, "main", &err), &err);
    assert_int_equal(m->last_updated_ms, 1000);
    assert_int_equal(m->snapshots[0].timestamp_ms, 1000);
    assert_int_equal(m->snapshot_log[0].timestamp_ms, 1000);
    cv_table_metadata_free(m);
}

static void branches_keep_their_retention(void **state)
{
    static const char json[] =
        "{" MINIMAL ORDERS ",\"current-snapshot-id\":9007199254740993,\"snapshots\":[" SNAPSHOT
        "],\"refs\":{\"main\":{\"snapshot-id\":9007199254740993,\"type\":\"branch\"},"
        "\"audit\":{\"snapshot-id\":9007199254740993,\"type\":\"branch\","
        "\"min-snapshots-to-keep\":2,\"max-snapshot-age-ms\":3,\"max-ref-age-ms\":4},"
        "\"v1\":{\"snapshot-id\":9007199254740993,\"type\":\"tag\"}}}";
    struct cv_error err = CV_ERROR_INIT;
    struct cv_table_metadata *m = parsed(json);
    struct cv_snapshot snapshot = snapshot_of(21, 9007199254740993, 8, 2000);
    struct cv_buf out = CV_BUF_INIT(0);

    CV_ASSERT_OK(cv_table_metadata_add_snapshot(m, &snapshot, "audit", &err), &err);
    assert_int_equal(m->current_snapshot_id, 9007199254740993);
    assert_int_equal(m->snapshot_log_count, 0);
    assert_int_equal(cv_table_metadata_head(m, "audit")->id, 21);
    assert_non_null(strstr(printed(m, &out),
                           "\"audit\":{\"snapshot-id\":21,\"type\":\"branch\","
                           "\"min-snapshots-to-keep\":2,\"max-snapshot-age-ms\":3,"
                           "\"max-ref-age-ms\":4}"));
    snapshot = snapshot_of(22, 21, 9, 2000);
    CV_ASSERT_FAILS(cv_table_metadata_add_snapshot(m, &snapshot, "v1", &err), CV_CONFIG, "a tag",
                    &err);
    CV_ASSERT_OK(cv_table_metadata_add_snapshot(m, &snapshot, "new", &err), &err);
    assert_int_equal(cv_table_metadata_head(m, "new")->id, 22);
    cv_table_metadata_free(m);
    cv_buf_release(&out);
}

static void the_metadata_log_is_trimmed(void **state)
{
    struct cv_table_metadata *m = parsed(
        "{" MINIMAL ORDERS ",\"properties\":{\"write.metadata.previous-versions-max\":\"2\"},"
        "\"metadata-log\":[{\"timestamp-ms\":1,\"metadata-file\":\"a\"},"
        "{\"timestamp-ms\":2,\"metadata-file\":\"b\"},{\"timestamp-ms\":3,\"metadata-file\":\"c\"}]"
        "}");
    const char **dropped;
    size_t count;

    cv_table_metadata_log_base(m, "d", 1000, &dropped, &count);
    assert_int_equal(count, 2);
    assert_string_equal(dropped[0], "a");
    assert_string_equal(dropped[1], "b");
    assert_int_equal(m->metadata_log_count, 2);
    assert_string_equal(m->metadata_log[0].file, "c");
    assert_string_equal(m->metadata_log[1].file, "d");
    assert_int_equal(m->metadata_log[1].timestamp_ms, 1000);
    cv_properties_set(&m->properties, "write.metadata.previous-versions-max", "0");
    cv_table_metadata_log_base(m, "e", 1001, &dropped, &count);
    assert_int_equal(m->metadata_log_count, 1);
    assert_string_equal(m->metadata_log[0].file, "e");
    cv_table_metadata_free(m);
}

static void copies_are_independent(void **state)
{
    struct cv_error err = CV_ERROR_INIT;
    struct cv_table_metadata *base = parsed("{" MINIMAL ORDERS "}");
    struct cv_table_metadata *copy;

    for (int64_t i = 1; i <= 2000; i++) {
        struct cv_snapshot snapshot = snapshot_of(i, i - 1 ? i - 1 : -1, 7 + i, 2000 + i);

        copy = cv_table_metadata_copy(base);
        CV_ASSERT_OK(cv_table_metadata_add_snapshot(copy, &snapshot, "main", &err), &err);
        assert_int_equal(base->snapshot_count, i - 1);
        cv_table_metadata_free(base);
        base = copy;
    }
    for (int64_t i = 1; i <= 2000; i++)
        assert_int_equal(cv_table_metadata_snapshot(base, i)->id, i);
    assert_null(cv_table_metadata_snapshot(base, 2001));
    assert_string_equal(cv_properties_get(&base->snapshots[7].summary, "added-records"), "3");
    cv_table_metadata_free(base);
}

static void v1_snapshots_may_list_manifests(void **state)
{
    struct cv_table_metadata *m = parsed(
        "{\"format-version\":1,\"location\":\"/t\",\"last-updated-ms\":5,\"last-column-id\":1,"
        "\"schema\":{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"x\",\"required\":true,"
        "\"type\":\"int\"}]},\"partition-spec\":[],\"current-snapshot-id\":4,\"snapshots\":["
        "{\"snapshot-id\":4,\"timestamp-ms\":5,\"manifests\":[\"/m1\",\"/m2\"]}]}");
    struct cv_error err = CV_ERROR_INIT;
    struct cv_snapshot snapshot = snapshot_of(5, 4, 33, 6);
    struct cv_buf out = CV_BUF_INIT(0);

    assert_null(m->snapshots[0].manifest_list);
    assert_int_equal(m->snapshots[0].manifest_count, 2);
    assert_string_equal(m->snapshots[0].manifests[1], "/m2");
    assert_string_equal(m->table_uuid, "");
    CV_ASSERT_OK(cv_table_metadata_add_snapshot(m, &snapshot, "main", &err), &err);
    assert_int_equal(m->last_sequence_number, 0);
    assert_null(strstr(printed(m, &out), "sequence-number"));
    assert_non_null(strstr(cv_buf_text(&out), "\"manifests\":[\"/m1\",\"/m2\"]"));
    cv_table_metadata_free(m);
    cv_buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_members_are_named),
        cmocka_unit_test(null_and_absent_are_one),
        cmocka_unit_test(what_the_model_lacks_is_kept),
        cmocka_unit_test(ids_keep_64_bits),
        cmocka_unit_test(gzip_is_read),
        cmocka_unit_test(a_new_table_has_its_ids),
        cmocka_unit_test(reserved_properties_are_not_stored),
        cmocka_unit_test(snapshots_move_main),
        cmocka_unit_test(a_slow_clock_does_not_turn_time_back),
        cmocka_unit_test(branches_keep_their_retention),
        cmocka_unit_test(the_metadata_log_is_trimmed),
        cmocka_unit_test(copies_are_independent),
        cmocka_unit_test(v1_snapshots_may_list_manifests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
