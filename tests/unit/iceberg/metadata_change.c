/* SPDX-License-Identifier: Apache-2.0
 *
 * Refs set and removed, snapshots taken out with what belongs to them, unused definitions. */
#include "iceberg/metadata_change.h"
#include "test.h"

#define SNAPSHOT(id, parent, time, schema)                                                         \
    "{\"snapshot-id\":" #id ",\"parent-snapshot-id\":" #parent                                     \
    ",\"sequence-number\":1,\"timestamp-ms\":" #time                                               \
    ",\"summary\":{\"operation\":\"append\"},\"schema-id\":" #schema                               \
    ",\"manifest-list\":\"file:///w/" #id ".avro\"}"
#define STATISTICS(id)                                                                             \
    "{\"snapshot-id\":" #id ",\"statistics-path\":\"file:///w/" #id                                \
    ".puffin\",\"file-size-in-bytes\":7}"

#define SNAPSHOTS                                                                                  \
    ",\"snapshots\":[" SNAPSHOT(1, 0, 100, 0) "," SNAPSHOT(2, 1, 200, 1) "," SNAPSHOT(             \
        3, 2, 300, 2) "," SNAPSHOT(4, 3, 400, 2) "]"
#define LOG                                                                                        \
    ",\"snapshot-log\":[{\"timestamp-ms\":100,\"snapshot-id\":1},{\"timestamp-ms\":200,"           \
    "\"snapshot-id\":2},{\"timestamp-ms\":300,\"snapshot-id\":3},{\"timestamp-ms\":400,"           \
    "\"snapshot-id\":4}],\"statistics\":[" STATISTICS(1) "," STATISTICS(3) "]"

static const char json[] =
    "{\"format-version\":2,\"table-uuid\":\"9c12d441-03fe-4693-9a96-a0705ddf69c1\","
    "\"location\":\"file:///w/t\",\"last-sequence-number\":7,\"last-updated-ms\":1000,"
    "\"last-column-id\":1,\"current-schema-id\":2,\"schemas\":["
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[]},"
    "{\"type\":\"struct\",\"schema-id\":1,\"fields\":[]},"
    "{\"type\":\"struct\",\"schema-id\":2,\"fields\":[]}],\"default-spec-id\":1,"
    "\"partition-specs\":[{\"spec-id\":0,\"fields\":[]},{\"spec-id\":1,\"fields\":[]},"
    "{\"spec-id\":2,\"fields\":[]}],\"last-partition-id\":999,\"default-sort-order-id\":0,"
    "\"sort-orders\":[{\"order-id\":0,\"fields\":[]}],\"current-snapshot-id\":4,"
    "\"refs\":{\"main\":{\"snapshot-id\":4,\"type\":\"branch\",\"min-snapshots-to-keep\":3},"
    "\"t\":{\"snapshot-id\":2,\"type\":\"tag\"}}" SNAPSHOTS LOG "}";

static struct cv_error err;

static struct cv_table_metadata *fresh(void)
{
    struct cv_table_metadata *metadata = NULL;

    CV_ASSERT_OK(cv_table_metadata_read(json, strlen(json), &metadata, &err), &err);
    return metadata;
}

/* What is printed is read back, so that every change also survives its file. */
static const char *printed(struct cv_table_metadata **metadata, struct cv_buf *out)
{
    struct cv_table_metadata *again = NULL;

    cv_buf_clear(out);
    cv_table_metadata_write(*metadata, out);
    CV_ASSERT_OK(cv_table_metadata_read(out->data, out->length, &again, &err), &err);
    cv_table_metadata_free(*metadata);
    *metadata = again;
    return cv_buf_text(out);
}

static void main_moves_with_the_log(void **state)
{
    struct cv_table_metadata *metadata = fresh();
    struct cv_snapshot_ref ref = {"main", 2, false, 3, -1, -1};
    struct cv_buf out = CV_BUF_INIT(0);

    (void)state;
    CV_ASSERT_OK(cv_table_metadata_set_ref(metadata, &ref, &err), &err);
    assert_int_equal(metadata->current_snapshot_id, 2);
    assert_true(metadata->last_updated_ms > 1000);
    assert_int_equal(metadata->snapshot_log_count, 5);
    assert_int_equal(metadata->snapshot_log[4].snapshot_id, 2);
    assert_int_equal(metadata->snapshot_log[4].timestamp_ms, metadata->last_updated_ms);
    assert_non_null(strstr(printed(&metadata, &out),
                           "\"main\":{\"snapshot-id\":2,\"type\":\"branch\","
                           "\"min-snapshots-to-keep\":3}"));
    cv_buf_release(&out);
    cv_table_metadata_free(metadata);
}

static void an_equal_ref_changes_nothing(void **state)
{
    struct cv_table_metadata *metadata = fresh();
    struct cv_snapshot_ref ref = {"main", 4, false, 3, -1, -1};

    (void)state;
    CV_ASSERT_OK(cv_table_metadata_set_ref(metadata, &ref, &err), &err);
    assert_int_equal(metadata->snapshot_log_count, 4);
    assert_int_equal(metadata->last_updated_ms, 1000);
    cv_table_metadata_free(metadata);
}

static void refs_come_and_go(void **state)
{
    struct cv_table_metadata *metadata = fresh();
    struct cv_snapshot_ref branch = {"b", 3, false, -1, 60, 70};
    struct cv_snapshot_ref lost = {"c", 9, false, -1, -1, -1};
    struct cv_snapshot_ref main_tag = {"main", 2, true, -1, -1, -1};
    struct cv_buf out = CV_BUF_INIT(0);

    (void)state;
    CV_ASSERT_OK(cv_table_metadata_set_ref(metadata, &branch, &err), &err);
    assert_int_equal(metadata->snapshot_log_count, 4);
    CV_ASSERT_FAILS(cv_table_metadata_set_ref(metadata, &lost, &err), CV_NOT_FOUND,
                    "Cannot set c to unknown snapshot: 9", &err);
    CV_ASSERT_FAILS(cv_table_metadata_set_ref(metadata, &main_tag, &err), CV_USAGE, "no tag", &err);
    CV_ASSERT_OK(cv_table_metadata_remove_ref(metadata, "t", &err), &err);
    CV_ASSERT_FAILS(cv_table_metadata_remove_ref(metadata, "t", &err), CV_NOT_FOUND, "t", &err);
    CV_ASSERT_FAILS(cv_table_metadata_remove_ref(metadata, "main", &err), CV_USAGE,
                    "Cannot remove main branch", &err);
    assert_non_null(strstr(printed(&metadata, &out),
                           "\"b\":{\"snapshot-id\":3,\"type\":\"branch\","
                           "\"max-snapshot-age-ms\":60,\"max-ref-age-ms\":70}}"));
    cv_buf_release(&out);
    cv_table_metadata_free(metadata);
}

static void a_staged_snapshot_moves_nothing(void **state)
{
    struct cv_table_metadata *metadata = fresh();
    struct cv_snapshot snapshot = {
        .id = 5, .parent_id = 4, .sequence_number = 8, .manifest_list = "x", .schema_id = 2};

    (void)state;
    CV_ASSERT_OK(cv_table_metadata_stage_snapshot(metadata, &snapshot, &err), &err);
    assert_int_equal(metadata->current_snapshot_id, 4);
    assert_int_equal(metadata->snapshot_log_count, 4);
    assert_int_equal(metadata->last_sequence_number, 8);
    assert_non_null(cv_table_metadata_snapshot(metadata, 5));
    cv_table_metadata_free(metadata);
}

static void snapshots_go_with_their_statistics_and_log(void **state)
{
    static const int64_t ids[] = {3, 1, 3, 77};
    struct cv_table_metadata *before = fresh();
    struct cv_table_metadata *metadata = cv_table_metadata_copy(before);
    struct cv_buf out = CV_BUF_INIT(0);
    const char *text;

    (void)state;
    CV_ASSERT_OK(cv_table_metadata_remove_snapshots(metadata, ids, 4, &err), &err);
    assert_int_equal(metadata->snapshot_count, 2);
    assert_null(cv_table_metadata_snapshot(metadata, 3));
    assert_int_equal(cv_table_metadata_snapshot(metadata, 4)->parent_id, 3);
    assert_int_equal(cv_table_metadata_snapshot(metadata, 2)->timestamp_ms, 200);
    assert_int_equal(metadata->snapshot_log_count, 1);
    assert_int_equal(metadata->snapshot_log[0].snapshot_id, 4);
    text = printed(&metadata, &out);
    assert_null(strstr(text, "puffin"));
    assert_null(strstr(text, "\"statistics\""));
    assert_int_equal(before->snapshot_count, 4);
    assert_non_null(cv_table_metadata_snapshot(before, 3));
    cv_table_metadata_free(before);
    cv_buf_release(&out);
    cv_table_metadata_free(metadata);
}

static void what_a_ref_names_is_not_removed(void **state)
{
    static const int64_t tagged[] = {2};
    struct cv_table_metadata *metadata = fresh();

    (void)state;
    CV_ASSERT_FAILS(cv_table_metadata_remove_snapshots(metadata, tagged, 1, &err), CV_USAGE,
                    "Cannot expire 2. Still referenced by refs: t", &err);
    assert_int_equal(metadata->snapshot_count, 4);
    cv_table_metadata_free(metadata);
}

static void statistics_are_listed(void **state)
{
    static const int64_t ids[] = {1};
    struct cv_table_metadata *metadata = fresh();
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_statistics_file *files;
    size_t count;

    (void)state;
    CV_ASSERT_OK(cv_table_metadata_statistics(metadata, &arena, &files, &count, &err), &err);
    assert_int_equal(count, 2);
    assert_int_equal(files[1].snapshot_id, 3);
    assert_string_equal(files[1].path, "file:///w/3.puffin");
    assert_int_equal(files[1].size, 7);
    CV_ASSERT_OK(cv_table_metadata_remove_snapshots(metadata, ids, 1, &err), &err);
    CV_ASSERT_OK(cv_table_metadata_statistics(metadata, &arena, &files, &count, &err), &err);
    assert_int_equal(count, 1);
    cv_arena_release(&arena);
    cv_table_metadata_free(metadata);
}

static void definitions_without_a_user_go(void **state)
{
    static const int64_t ids[] = {1};
    static const int32_t specs[] = {2, 2};
    struct cv_table_metadata *before = fresh();
    struct cv_table_metadata *metadata = cv_table_metadata_copy(before);
    bool removed = true;

    (void)state;
    CV_ASSERT_OK(cv_table_metadata_remove_unused(metadata, (int32_t[]){0, 2}, 2, &removed, &err),
                 &err);
    assert_false(removed);
    CV_ASSERT_OK(cv_table_metadata_remove_snapshots(metadata, ids, 1, &err), &err);
    metadata->changed = false;
    CV_ASSERT_OK(cv_table_metadata_remove_unused(metadata, specs, 2, &removed, &err), &err);
    assert_true(removed);
    assert_true(metadata->changed);
    cv_table_metadata_free(before);
    assert_int_equal(metadata->schema_count, 2);
    assert_null(cv_table_metadata_schema_by_id(metadata, 0));
    assert_non_null(cv_table_metadata_schema(metadata));
    assert_int_equal(metadata->spec_count, 2);
    assert_null(cv_table_metadata_spec_by_id(metadata, 0));
    assert_non_null(cv_table_metadata_spec(metadata));
    assert_int_equal(metadata->snapshot_count, 3);
    cv_table_metadata_free(metadata);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(main_moves_with_the_log),
        cmocka_unit_test(an_equal_ref_changes_nothing),
        cmocka_unit_test(refs_come_and_go),
        cmocka_unit_test(a_staged_snapshot_moves_nothing),
        cmocka_unit_test(snapshots_go_with_their_statistics_and_log),
        cmocka_unit_test(what_a_ref_names_is_not_removed),
        cmocka_unit_test(statistics_are_listed),
        cmocka_unit_test(definitions_without_a_user_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
