/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifests and manifest lists that calve writes: round trips in both format versions, summaries,
 * Avro names, schema texts, broken bytes. */
#include "codec/json.h"
#include "iceberg/manifest.h"
#include "iceberg/manifest_int.h"
#include "test.h"

#include <math.h>

struct fixture {
    struct cv_arena arena;
    struct cv_error err;
    struct cv_schema schema;
    struct cv_partition_spec spec;
    struct cv_value tuples[3][8];
    struct cv_manifest_entry entries[3];
};

#define BYTES(text)                                                                                \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static struct cv_column_metrics columns[] = {
    {1, 100, 10, 0, -1, BYTES("\1\0\0\0\0\0\0\0"), BYTES("\2\0\0\0\0\0\0\0")},
    {2, 50, 10, 4, -1, BYTES(""), BYTES("zz")},
    {5, 60, 10, 0, 3, {NULL, 0}, {NULL, 0}},
};
static int64_t splits[] = {4, 1000000};

static void set_tuple(struct cv_value *tuple, int variant)
{
    static const char *const uuids[] = {"0123456789abcdef", "fedcba9876543210", ""};

    tuple[0] = (struct cv_value){.kind = CV_TYPE_DATE, .i32 = 20454 + variant};
    tuple[1] = (struct cv_value){.kind = CV_TYPE_INT, .i32 = 3 - variant};
    tuple[2] = (struct cv_value){.kind = CV_TYPE_DECIMAL, .decimal = variant ? -129 : 128};
    tuple[3] = (struct cv_value){.kind = CV_TYPE_UUID, .bytes = {uuids[variant], 16}};
    tuple[4] = (struct cv_value){.kind = CV_TYPE_DOUBLE, .f64 = variant ? (double)NAN : 1.0};
    tuple[5] = (struct cv_value){.kind = CV_TYPE_STRING, .bytes = BYTES("a/b")};
    tuple[6] = (struct cv_value){.kind = CV_TYPE_BOOLEAN, .boolean = variant};
    tuple[7] = (struct cv_value){.kind = CV_TYPE_UUID, .is_null = true};
}

static int make(void **state)
{
    struct fixture *f = cv_alloc(sizeof *f);

    if (cv_schema_read_ddl("id bigint, ts timestamp, price decimal(9,2), u uuid, d double, "
                           "`a.b` string, flag boolean, u2 uuid",
                           &f->arena, &f->schema, &f->err) != CV_OK ||
        cv_partition_spec_read_ddl("day(ts), bucket(16, id), price, u, d, `a.b`, flag, u2",
                                   &f->schema, &f->arena, &f->spec, &f->err) != CV_OK)
        fail_msg("%s", f->err.message);
    f->spec.spec_id = 2;
    for (int i = 0; i < 3; i++) {
        struct cv_manifest_entry *entry = &f->entries[i];

        set_tuple(f->tuples[i], i == 2);
        entry->status = CV_ENTRY_ADDED;
        entry->snapshot_id = CV_SEQUENCE_INHERIT;
        entry->sequence_number = CV_SEQUENCE_INHERIT;
        entry->file_sequence_number = CV_SEQUENCE_INHERIT;
        entry->file = (struct cv_data_file){
            .path = "s3://b/t/data/x.parquet",
            .format = "PARQUET",
            .spec_id = 2,
            .partition = f->tuples[i],
            .metrics = {10, 12345, columns, CV_ARRAY_LENGTH(columns), splits, 2},
            .has_sort_order = true,
        };
    }
    *state = f;
    return 0;
}

static int drop(void **state)
{
    struct fixture *f = *state;

    cv_arena_release(&f->arena);
    free(f);
    return 0;
}

static struct cv_manifest_file write_manifest(struct fixture *f, int version, bool deletes,
                                              enum cv_codec codec, struct cv_buf *out)
{
    struct cv_manifest_writer_config config = {version, &f->schema, &f->spec, 77, deletes, codec};
    struct cv_manifest_file row;

    CV_ASSERT_OK(cv_manifest_write(&config, f->entries, 3, out, &f->arena, &row, &f->err), &f->err);
    row.path = "s3://b/t/metadata/m0.avro";
    row.length = (int64_t)out->length;
    return row;
}

static void read_back(struct fixture *f, const struct cv_buf *bytes,
                      const struct cv_manifest_file *row, struct cv_manifest_entry **ret_entries)
{
    size_t count;

    CV_ASSERT_OK(cv_manifest_read(bytes->data, bytes->length, row, &f->schema, &f->spec, 1,
                                  &f->arena, ret_entries, &count, &f->err),
                 &f->err);
    assert_int_equal(count, 3);
}

static void assert_same_file(const struct cv_data_file *a, const struct cv_data_file *b)
{
    assert_int_equal(a->content, b->content);
    assert_string_equal(a->path, b->path);
    assert_string_equal(a->format, b->format);
    assert_int_equal(a->spec_id, b->spec_id);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(a->partition[i].kind, b->partition[i].kind);
        assert_int_equal(cv_value_compare(&a->partition[i], &b->partition[i]), 0);
    }
    assert_int_equal(a->metrics.record_count, b->metrics.record_count);
    assert_int_equal(a->metrics.file_size, b->metrics.file_size);
    assert_int_equal(a->metrics.column_count, b->metrics.column_count);
    for (size_t i = 0; i < a->metrics.column_count; i++) {
        const struct cv_column_metrics *x = &a->metrics.columns[i];
        const struct cv_column_metrics *y = &b->metrics.columns[i];

        assert_int_equal(x->field_id, y->field_id);
        assert_int_equal(x->column_size, y->column_size);
        assert_int_equal(x->value_count, y->value_count);
        assert_int_equal(x->null_count, y->null_count);
        assert_int_equal(x->nan_count, y->nan_count);
        assert_int_equal(x->lower.ptr != NULL, y->lower.ptr != NULL);
        assert_true(cv_str_equal(x->lower, y->lower) && cv_str_equal(x->upper, y->upper));
    }
    assert_int_equal(a->metrics.split_count, b->metrics.split_count);
    assert_int_equal(a->metrics.split_offsets[1], b->metrics.split_offsets[1]);
    assert_int_equal(a->has_sort_order, b->has_sort_order);
    assert_int_equal(a->sort_order_id, b->sort_order_id);
}

static void v2_manifests_survive(void **state)
{
    struct fixture *f = *state;
    const enum cv_codec codecs[] = {CV_CODEC_NONE, CV_CODEC_DEFLATE};

    for (size_t c = 0; c < CV_ARRAY_LENGTH(codecs); c++) {
        struct cv_buf bytes = CV_BUF_INIT(0);
        struct cv_manifest_file row = write_manifest(f, 2, false, codecs[c], &bytes);
        struct cv_manifest_entry *entries;

        assert_int_equal(row.spec_id, 2);
        assert_int_equal(row.added_snapshot_id, 77);
        assert_int_equal(row.sequence_number, CV_SEQUENCE_INHERIT);
        assert_int_equal(row.min_sequence_number, CV_SEQUENCE_INHERIT);
        assert_int_equal(row.added_files, 3);
        assert_int_equal(row.existing_files, 0);
        assert_int_equal(row.added_rows, 30);
        row.sequence_number = 9;
        read_back(f, &bytes, &row, &entries);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(entries[i].status, CV_ENTRY_ADDED);
            assert_int_equal(entries[i].snapshot_id, 77);
            assert_int_equal(entries[i].sequence_number, 9);
            assert_int_equal(entries[i].file_sequence_number, 9);
            assert_same_file(&entries[i].file, &f->entries[i].file);
        }
        cv_buf_release(&bytes);
    }
}

static void v1_manifests_survive(void **state)
{
    struct fixture *f = *state;
    struct cv_buf bytes = CV_BUF_INIT(0);
    struct cv_manifest_file row = write_manifest(f, 1, false, CV_CODEC_DEFLATE, &bytes);
    struct cv_manifest_entry *entries;

    row.sequence_number = 0;
    read_back(f, &bytes, &row, &entries);
    assert_int_equal(entries[1].snapshot_id, 77);
    assert_int_equal(entries[1].sequence_number, 0);
    assert_same_file(&entries[1].file, &f->entries[1].file);
    cv_buf_release(&bytes);
}

static void delete_files_survive(void **state)
{
    static const int32_t ids[] = {1, 3};
    struct fixture *f = *state;
    struct cv_buf bytes = CV_BUF_INIT(0);
    struct cv_manifest_file row;
    struct cv_manifest_entry *entries;

    for (int i = 0; i < 3; i++)
        f->entries[i].file.content = CV_CONTENT_EQUALITY_DELETES;
    f->entries[0].file.equality_ids = ids;
    f->entries[0].file.equality_count = 2;
    f->entries[1].file.content = CV_CONTENT_POSITION_DELETES;
    f->entries[1].file.referenced_data_file = "s3://b/t/data/y.parquet";
    f->entries[1].file.has_sort_order = false;
    f->entries[2].file.key_metadata = (struct cv_str)BYTES("\0key");
    row = write_manifest(f, 2, true, CV_CODEC_NONE, &bytes);
    assert_true(row.deletes);
    read_back(f, &bytes, &row, &entries);
    assert_int_equal(entries[0].file.equality_count, 2);
    assert_int_equal(entries[0].file.equality_ids[1], 3);
    assert_null(entries[0].file.referenced_data_file);
    assert_string_equal(entries[1].file.referenced_data_file, "s3://b/t/data/y.parquet");
    assert_false(entries[1].file.has_sort_order);
    assert_int_equal(entries[2].file.key_metadata.length, 4);
    assert_null(entries[1].file.key_metadata.ptr);
    cv_buf_release(&bytes);
}

static void rewritten_entries_keep_their_numbers(void **state)
{
    struct fixture *f = *state;
    struct cv_buf bytes = CV_BUF_INIT(0);
    struct cv_manifest_file row;
    struct cv_manifest_entry *entries;

    f->entries[0].status = CV_ENTRY_EXISTING;
    f->entries[0].snapshot_id = 5;
    f->entries[0].sequence_number = 4;
    f->entries[0].file_sequence_number = 6;
    f->entries[2] = f->entries[0];
    f->entries[2].sequence_number = 3;
    f->entries[1].status = CV_ENTRY_DELETED;
    f->entries[1].snapshot_id = 77;
    f->entries[1].sequence_number = 1;
    f->entries[1].file_sequence_number = 1;
    row = write_manifest(f, 2, false, CV_CODEC_DEFLATE, &bytes);
    assert_int_equal(row.min_sequence_number, 3);
    assert_int_equal(row.existing_files, 2);
    assert_int_equal(row.existing_rows, 20);
    assert_int_equal(row.deleted_files, 1);
    assert_int_equal(row.added_files, 0);
    row.sequence_number = 9;
    read_back(f, &bytes, &row, &entries);
    assert_int_equal(entries[0].status, CV_ENTRY_EXISTING);
    assert_int_equal(entries[0].snapshot_id, 5);
    assert_int_equal(entries[0].sequence_number, 4);
    assert_int_equal(entries[0].file_sequence_number, 6);
    assert_int_equal(entries[1].sequence_number, 1);
    assert_int_equal(entries[2].sequence_number, 3);
    cv_buf_release(&bytes);
}

/* The schema text without its ids, as writers before 2018 and some libraries had it. */
static void strip_ids(const char *schema, struct cv_buf *out)
{
    static const char id[] = ",\"field-id\":";

    for (const char *at = schema; *at;) {
        if (strncmp(at, id, sizeof id - 1) != 0) {
            cv_buf_append_byte(out, (uint8_t)*at++);
            continue;
        }
        at += sizeof id - 1;
        at += strspn(at, "0123456789");
    }
}

/* The one block of the file under another schema. */
static struct cv_buf without_ids(struct fixture *f, const struct cv_buf *bytes)
{
    struct cv_avro_file_reader reader;
    struct cv_avro_file_writer writer;
    struct cv_avro_reader objects;
    struct cv_buf schema = CV_BUF_INIT(0);
    struct cv_buf out = CV_BUF_INIT(0);
    int64_t count;

    CV_ASSERT_OK(cv_avro_file_reader_init(&reader, bytes->data, bytes->length, &f->err), &f->err);
    strip_ids(cv_arena_strndup(&f->arena, reader.schema_json.ptr, reader.schema_json.length),
              &schema);
    assert_null(strstr(cv_buf_text(&schema), "field-id"));
    CV_ASSERT_OK(cv_avro_file_next_block(&reader, &objects, &count, &f->err), &f->err);
    CV_ASSERT_OK(cv_avro_file_writer_init(&writer, &out, cv_str_from(cv_buf_text(&schema)),
                                          CV_CODEC_NONE, NULL, 0, &f->err),
                 &f->err);
    cv_buf_append(cv_avro_file_object(&writer), objects.at, (size_t)(objects.end - objects.at));
    writer.block_count = count;
    CV_ASSERT_OK(cv_avro_file_finish(&writer, &f->err), &f->err);
    cv_avro_file_writer_release(&writer);
    cv_avro_file_reader_release(&reader);
    cv_buf_release(&schema);
    return out;
}

static void names_stand_in_for_missing_ids(void **state)
{
    struct fixture *f = *state;
    struct cv_buf bytes = CV_BUF_INIT(0);
    struct cv_manifest_list_config config = {2, 77, -1, 9, CV_CODEC_NONE, NULL, 0};
    struct cv_manifest_file row = write_manifest(f, 2, false, CV_CODEC_NONE, &bytes);
    struct cv_buf stripped = without_ids(f, &bytes);
    struct cv_manifest_entry *entries;
    struct cv_manifest_file *rows;
    size_t count;

    row.sequence_number = 9;
    read_back(f, &stripped, &row, &entries);
    for (int i = 0; i < 3; i++)
        assert_same_file(&entries[i].file, &f->entries[i].file);
    cv_buf_release(&stripped);
    cv_buf_clear(&bytes);
    CV_ASSERT_OK(cv_manifest_list_write(&config, &row, 1, &bytes, &f->err), &f->err);
    stripped = without_ids(f, &bytes);
    CV_ASSERT_OK(cv_manifest_list_read(stripped.data, stripped.length, &f->arena, &rows, &count,
                                       NULL, &f->err),
                 &f->err);
    assert_int_equal(count, 1);
    assert_string_equal(rows[0].path, row.path);
    assert_int_equal(rows[0].added_files, 3);
    assert_int_equal(rows[0].partition_count, 8);
    assert_true(rows[0].partitions[7].contains_null);
    cv_buf_release(&stripped);
    cv_buf_release(&bytes);
}

/* Case 35: 1.0 and NaN in one manifest give contains_nan and the bounds [1.0, 1.0]. */
static void summaries_cover_all_entries(void **state)
{
    struct fixture *f = *state;
    struct cv_buf bytes = CV_BUF_INIT(0);
    struct cv_manifest_file row = write_manifest(f, 2, false, CV_CODEC_NONE, &bytes);
    static const struct {
        bool contains_null;
        int8_t contains_nan;
        const char *lower, *upper;
    } wanted[] = {
        {false, 0, "e6 4f 00 00", "e7 4f 00 00"},
        {false, 0, "02 00 00 00", "03 00 00 00"},
        {false, 0, "ff 7f", "00 80"},
        {false, 0, "30313233343536373839616263646566", "66656463626139383736353433323130"},
        {false, 1, "00 00 00 00 00 00 f0 3f", "00 00 00 00 00 00 f0 3f"},
        {false, 0, "612f62", "612f62"},
        {false, 0, "00", "01"},
        {true, 0, NULL, NULL},
    };

    assert_int_equal(row.partition_count, 8);
    for (size_t i = 0; i < 8; i++) {
        const struct cv_partition_summary *summary = &row.partitions[i];

        assert_int_equal(summary->contains_null, wanted[i].contains_null);
        assert_int_equal(summary->contains_nan, wanted[i].contains_nan);
        assert_int_equal(summary->lower.ptr != NULL, wanted[i].lower != NULL);
        if (!wanted[i].lower)
            continue;
        cv_test_assert_hex(summary->lower.ptr, summary->lower.length, wanted[i].lower);
        cv_test_assert_hex(summary->upper.ptr, summary->upper.length, wanted[i].upper);
    }
    cv_buf_release(&bytes);
}

static struct cv_partition_summary summaries[] = {{true, -1, BYTES(""), BYTES("b")},
                                                  {false, 1, {NULL, 0}, {NULL, 0}}};
static const struct cv_manifest_file list_rows[] = {
    {"s3://b/m0",
     100,
     2,
     false,
     CV_SEQUENCE_INHERIT,
     CV_SEQUENCE_INHERIT,
     77,
     1,
     2,
     3,
     10,
     INT64_C(1) << 40,
     30,
     summaries,
     2,
     {NULL, 0}},
    {"s3://b/m1", 200, 0, true, 5, 4, 66, 0, 0, 0, 0, 0, 0, summaries, 0, BYTES("k")},
};

/* Writes and reads the rows; the caller releases the metadata. */
static struct cv_manifest_file *list_back(struct fixture *f,
                                          const struct cv_manifest_list_config *config,
                                          const struct cv_manifest_file *rows, size_t count,
                                          struct cv_properties *metadata)
{
    struct cv_buf bytes = CV_BUF_INIT(0);
    struct cv_manifest_file *read;
    size_t read_count;

    CV_ASSERT_OK(cv_manifest_list_write(config, rows, count, &bytes, &f->err), &f->err);
    CV_ASSERT_OK(cv_manifest_list_read(bytes.data, bytes.length, &f->arena, &read, &read_count,
                                       metadata, &f->err),
                 &f->err);
    assert_int_equal(read_count, count);
    cv_buf_release(&bytes);
    return read;
}

static void v2_lists_survive(void **state)
{
    struct fixture *f = *state;
    struct cv_avro_metadata extra = {"calve.position.orders", cv_str_from("{\"epoch\":3}")};
    struct cv_manifest_list_config config = {2, 77, 66, 9, CV_CODEC_DEFLATE, &extra, 1};
    struct cv_properties metadata = {0};
    struct cv_manifest_file *read = list_back(f, &config, list_rows, 2, &metadata);

    assert_string_equal(read[0].path, "s3://b/m0");
    assert_int_equal(read[0].length, 100);
    assert_int_equal(read[0].sequence_number, 9);
    assert_int_equal(read[0].min_sequence_number, 9);
    assert_int_equal(read[0].existing_rows, INT64_C(1) << 40);
    assert_int_equal(read[0].partition_count, 2);
    assert_int_equal(read[0].partitions[0].contains_nan, -1);
    assert_int_equal(read[0].partitions[0].lower.length, 0);
    assert_non_null(read[0].partitions[0].lower.ptr);
    assert_int_equal(read[0].partitions[1].contains_nan, 1);
    assert_null(read[0].partitions[1].upper.ptr);
    assert_true(read[1].deletes);
    assert_int_equal(read[1].sequence_number, 5);
    assert_int_equal(read[1].min_sequence_number, 4);
    assert_true(cv_str_is(read[1].key_metadata, "k"));
    assert_string_equal(cv_properties_get(&metadata, "calve.position.orders"), "{\"epoch\":3}");
    assert_string_equal(cv_properties_get(&metadata, "snapshot-id"), "77");
    assert_string_equal(cv_properties_get(&metadata, "parent-snapshot-id"), "66");
    assert_string_equal(cv_properties_get(&metadata, "sequence-number"), "9");
    assert_string_equal(cv_properties_get(&metadata, "format-version"), "2");
    cv_properties_release(&metadata);
}

static void v1_lists_survive(void **state)
{
    struct fixture *f = *state;
    struct cv_manifest_list_config config = {1, 77, -1, 0, CV_CODEC_DEFLATE, NULL, 0};
    struct cv_manifest_file row = list_rows[0];
    struct cv_properties metadata = {0};
    struct cv_buf bytes = CV_BUF_INIT(0);
    struct cv_manifest_file *read;

    row.existing_files = -1;
    read = list_back(f, &config, &row, 1, &metadata);
    assert_int_equal(read[0].sequence_number, 0);
    assert_int_equal(read[0].added_files, 1);
    assert_int_equal(read[0].existing_files, -1);
    assert_string_equal(cv_properties_get(&metadata, "parent-snapshot-id"), "null");
    assert_null(cv_properties_get(&metadata, "sequence-number"));
    CV_ASSERT_FAILS(cv_manifest_list_write(&config, list_rows, 2, &bytes, &f->err), CV_INTERNAL,
                    "no delete manifests", &f->err);
    cv_properties_release(&metadata);
    cv_buf_release(&bytes);
}

static void avro_names_are_escaped(void **state)
{
    static const char *const rows[][2] = {
        {"9x", "_9x"},
        {"a.b", "a_x2Eb"},
        {"a#b", "a_x23b"},
        {"☃", "_x2603"},
        {"a-field", "a_x2Dfield"},
        {"-field", "_x2Dfield"},
        {"field@name", "field_x40name"},
        {"field name", "field_x20name"},
        {"1field-with.special@chars", "_1field_x2Dwith_x2Especial_x40chars"},
        {"a²", "a_xB2"},
        {"aⅡ", "a_x2161"},
        {"e\xcc\x81", "e_x301"},
        {"😎", "_xD83D_xDE0E"},
        {"é", "_xE9"},
        {"_ok9", "_ok9"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        struct cv_buf out = CV_BUF_INIT(0);

        cv_avro_name(rows[i][0], &out);
        assert_string_equal(cv_buf_text(&out), rows[i][1]);
        cv_buf_release(&out);
    }
}

static void partition_structs_name_each_type_anew(void **state)
{
    struct fixture *f = *state;
    struct cv_buf out = CV_BUF_INIT(0);
    const struct cv_type *types;
    struct cv_type type;

    CV_ASSERT_OK(cv_partition_types(&f->spec, &f->schema, &f->arena, &types, &f->err), &f->err);
    type = cv_partition_struct(&f->spec, types, &f->arena);
    cv_avro_record_write_json("r102", &type, &out);
    assert_string_equal(
        cv_buf_text(&out),
        "{\"type\":\"record\",\"name\":\"r102\",\"fields\":["
        "{\"name\":\"ts_day\",\"type\":[\"null\",{\"type\":\"int\",\"logicalType\":\"date\"}],"
        "\"default\":null,\"field-id\":1000},"
        "{\"name\":\"id_bucket\",\"type\":[\"null\",\"int\"],\"default\":null,\"field-id\":1001},"
        "{\"name\":\"price\",\"type\":[\"null\",{\"type\":\"fixed\",\"name\":\"decimal_9_2\","
        "\"size\":4,\"logicalType\":\"decimal\",\"precision\":9,\"scale\":2}],\"default\":null,"
        "\"field-id\":1002},"
        "{\"name\":\"u\",\"type\":[\"null\",{\"type\":\"fixed\",\"name\":\"uuid_fixed\",\"size\":"
        "16,"
        "\"logicalType\":\"uuid\"}],\"default\":null,\"field-id\":1003},"
        "{\"name\":\"d\",\"type\":[\"null\",\"double\"],\"default\":null,\"field-id\":1004},"
        "{\"name\":\"a_x2Eb\",\"type\":[\"null\",\"string\"],\"default\":null,\"field-id\":1005,"
        "\"iceberg-field-name\":\"a.b\"},"
        "{\"name\":\"flag\",\"type\":[\"null\",\"boolean\"],\"default\":null,\"field-id\":1006},"
        "{\"name\":\"u2\",\"type\":[\"null\",{\"type\":\"fixed\",\"name\":\"uuid_fixed_1007\","
        "\"size\":16,\"logicalType\":\"uuid\"}],\"default\":null,\"field-id\":1007}]}");
    cv_buf_release(&out);
}

/* int written before the column became long, float before double, a narrower decimal. */
static void old_partition_values_take_the_promoted_type(void **state)
{
    struct fixture *f = *state;
    struct cv_schema before;
    struct cv_schema after;
    struct cv_buf bytes = CV_BUF_INIT(0);
    struct cv_value tuple[] = {{.kind = CV_TYPE_INT, .i32 = -5},
                               {.kind = CV_TYPE_FLOAT, .f32 = 1.5f},
                               {.kind = CV_TYPE_DECIMAL, .decimal = -129}};
    struct cv_manifest_writer_config config = {2, &before, &f->spec, 1, false, CV_CODEC_NONE};
    struct cv_manifest_file row;
    struct cv_manifest_entry *entries;
    size_t count;

    CV_ASSERT_OK(cv_schema_read_ddl("a int, b float, c decimal(4,2)", &f->arena, &before, &f->err),
                 &f->err);
    CV_ASSERT_OK(
        cv_schema_read_ddl("a bigint, b double, c decimal(20,2)", &f->arena, &after, &f->err),
        &f->err);
    CV_ASSERT_OK(cv_partition_spec_read_ddl("a, b, c", &before, &f->arena, &f->spec, &f->err),
                 &f->err);
    f->entries[0].file.partition = tuple;
    f->entries[0].file.spec_id = 0;
    CV_ASSERT_OK(cv_manifest_write(&config, f->entries, 1, &bytes, &f->arena, &row, &f->err),
                 &f->err);
    CV_ASSERT_OK(cv_manifest_read(bytes.data, bytes.length, &row, &after, &f->spec, 1, &f->arena,
                                  &entries, &count, &f->err),
                 &f->err);
    assert_int_equal(entries[0].file.partition[0].kind, CV_TYPE_LONG);
    assert_int_equal(entries[0].file.partition[0].i64, -5);
    assert_int_equal(entries[0].file.partition[1].kind, CV_TYPE_DOUBLE);
    assert_true(entries[0].file.partition[1].f64 == 1.5);
    assert_true(entries[0].file.partition[2].decimal == -129);
    /* A dropped column: the Avro type tells. The spec comes from the manifest itself. */
    CV_ASSERT_OK(cv_schema_read_ddl("z struct<a: int, b: int, c: int>", &f->arena, &after, &f->err),
                 &f->err);
    ((struct cv_field *)(uintptr_t)after.root.fields)[0].id = 99;
    for (int i = 0; i < 3; i++)
        ((struct cv_field *)(uintptr_t)after.root.fields[0].type.fields)[i].id = 100 + i;
    CV_ASSERT_OK(cv_manifest_read(bytes.data, bytes.length, &row, &after, NULL, 0, &f->arena,
                                  &entries, &count, &f->err),
                 &f->err);
    assert_int_equal(entries[0].file.partition[0].kind, CV_TYPE_INT);
    assert_int_equal(entries[0].file.partition[0].i32, -5);
    assert_int_equal(entries[0].file.partition[2].kind, CV_TYPE_DECIMAL);
    cv_buf_release(&bytes);
}

static void wrong_entries_are_refused(void **state)
{
    struct fixture *f = *state;
    struct cv_manifest_writer_config config = {2, &f->schema, &f->spec, 77, false, CV_CODEC_NONE};
    struct cv_buf out = CV_BUF_INIT(0);
    struct cv_manifest_file row;

    f->entries[1].file.spec_id = 3;
    CV_ASSERT_FAILS(cv_manifest_write(&config, f->entries, 3, &out, &f->arena, &row, &f->err),
                    CV_INTERNAL, "its partition spec is 3", &f->err);
    f->entries[1].file.spec_id = 2;
    f->entries[1].file.content = CV_CONTENT_POSITION_DELETES;
    CV_ASSERT_FAILS(cv_manifest_write(&config, f->entries, 3, &out, &f->arena, &row, &f->err),
                    CV_INTERNAL, "do not share", &f->err);
    f->entries[1].file.content = CV_CONTENT_DATA;
    f->tuples[1][2].kind = CV_TYPE_LONG;
    CV_ASSERT_FAILS(cv_manifest_write(&config, f->entries, 3, &out, &f->arena, &row, &f->err),
                    CV_INTERNAL, "partition field price", &f->err);
    cv_buf_release(&out);
}

/* Every prefix and every flipped byte gives an answer, not a crash. */
/* What is summed over the files of a table is bounded in each. */
static void counts_that_could_overflow_are_refused(void **state)
{
    struct fixture *f = *state;
    struct cv_manifest_list_config config = {2, 77, 66, 9, CV_CODEC_NONE, NULL, 0};
    struct cv_manifest_file huge = list_rows[1];
    struct cv_manifest_entry *entries;
    struct cv_manifest_file *rows;
    int64_t *const counts[] = {&f->entries[1].file.metrics.record_count,
                               &f->entries[1].file.metrics.file_size};
    static const char *const names[] = {"record_count", "file_size_in_bytes"};
    size_t count;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(counts); i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf good = CV_BUF_INIT(0);
        CV_CLEANUP(cv_buf_release) struct cv_buf bad = CV_BUF_INIT(0);
        struct cv_manifest_file row;

        *counts[i] = INT64_MAX >> 24;
        row = write_manifest(f, 2, false, CV_CODEC_NONE, &good);
        read_back(f, &good, &row, &entries);
        ++*counts[i];
        row = write_manifest(f, 2, false, CV_CODEC_NONE, &bad);
        CV_ASSERT_FAILS(cv_manifest_read(bad.data, bad.length, &row, &f->schema, &f->spec, 1,
                                         &f->arena, &entries, &count, &f->err),
                        CV_FORMAT, names[i], &f->err);
        *counts[i] = 10;
    }
    for (int over = 0; over < 2; over++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(0);

        huge.length = (INT64_C(1) << 30) + over;
        CV_ASSERT_OK(cv_manifest_list_write(&config, &huge, 1, &bytes, &f->err), &f->err);
        assert_int_equal(cv_manifest_list_read(bytes.data, bytes.length, &f->arena, &rows, &count,
                                               NULL, &f->err),
                         over ? CV_FORMAT : CV_OK);
    }
    assert_non_null(strstr(f->err.message, "manifest_length"));
}

static void broken_bytes_give_errors(void **state)
{
    struct fixture *f = *state;
    struct cv_buf bytes = CV_BUF_INIT(0);
    struct cv_manifest_file row = write_manifest(f, 2, false, CV_CODEC_NONE, &bytes);
    struct cv_manifest_entry *entries;
    size_t count;

    for (size_t length = 0; length < bytes.length; length += 7) {
        struct cv_arena arena = CV_ARENA_INIT;
        enum cv_code code = cv_manifest_read(bytes.data, length, &row, &f->schema, &f->spec, 1,
                                             &arena, &entries, &count, &f->err);

        if (code == CV_OK)
            assert_int_equal(count, 0);
        cv_arena_release(&arena);
    }
    for (size_t i = 0; i < bytes.length; i++) {
        struct cv_arena arena = CV_ARENA_INIT;

        bytes.data[i] ^= 0xff;
        (void)!cv_manifest_read(bytes.data, bytes.length, &row, &f->schema, &f->spec, 1, &arena,
                                &entries, &count, &f->err);
        bytes.data[i] ^= 0xff;
        cv_arena_release(&arena);
    }
    cv_buf_release(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(v2_manifests_survive, make, drop),
        cmocka_unit_test_setup_teardown(v1_manifests_survive, make, drop),
        cmocka_unit_test_setup_teardown(delete_files_survive, make, drop),
        cmocka_unit_test_setup_teardown(rewritten_entries_keep_their_numbers, make, drop),
        cmocka_unit_test_setup_teardown(names_stand_in_for_missing_ids, make, drop),
        cmocka_unit_test_setup_teardown(summaries_cover_all_entries, make, drop),
        cmocka_unit_test_setup_teardown(v2_lists_survive, make, drop),
        cmocka_unit_test_setup_teardown(v1_lists_survive, make, drop),
        cmocka_unit_test(avro_names_are_escaped),
        cmocka_unit_test_setup_teardown(partition_structs_name_each_type_anew, make, drop),
        cmocka_unit_test_setup_teardown(old_partition_values_take_the_promoted_type, make, drop),
        cmocka_unit_test_setup_teardown(wrong_entries_are_refused, make, drop),
        cmocka_unit_test_setup_teardown(counts_that_could_overflow_are_refused, make, drop),
        cmocka_unit_test_setup_teardown(broken_bytes_give_errors, make, drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
