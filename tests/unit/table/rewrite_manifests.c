/* SPDX-License-Identifier: Apache-2.0
 *
 * Rewriting manifests: the same live entries in fewer manifests, sorted, beside other writers. */
#include "rival.h"

#include "table/rewrite.h"

static struct fixture f;

#define MEMORY ((size_t)64 << 20)

static int set_up_with(const char *partitioning, const char *target)
{
    const char *const properties[] = {"commit.retry.min-wait-ms=1", target};

    fixture_open(&f, "sql");
    (void)fixture_table(&f, partitioning, properties, 2);
    rival_open(&f, 50000);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return set_up_with("day", "a=b");
}

static int set_up_small(void **state)
{
    (void)state;
    return set_up_with("day", "commit.manifest.target-size-bytes=30000");
}

static int tear_down(void **state)
{
    (void)state;
    fixture_close(&rival);
    fixture_close(&f);
    return 0;
}

static int64_t append_of(struct fixture *who, enum cv_file_content content, int32_t day)
{
    struct cv_data_file file = fixture_file(who, 0, day);
    struct cv_append append = {.files = &file, .file_count = 1};
    struct cv_append_result result;

    file.content = content;
    CV_ASSERT_OK(cv_table_append(who->table, &append, &result, &err), &err);
    return result.snapshot_id;
}

/* `count` commits of one file each, over the days in no order. */
static void fill(size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)append_of(&f, CV_CONTENT_DATA, 20000 + (int32_t)(i * 7 % 10));
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Every live entry of the head as a line, sorted; the manifests' number too. */
static const char *live_entries(size_t *ret_manifests, bool *ret_all_existing)
{
    const struct cv_snapshot *head = cv_table_metadata_head(f.table->metadata, "main");
    struct cv_buf text = CV_BUF_INIT(0);
    struct cv_manifest_file *rows;
    const char *lines[2000];
    size_t line_count = 0;
    const char *copy;

    CV_ASSERT_OK(cv_table_manifests(f.table, head, &f.arena, &rows, ret_manifests, &err), &err);
    *ret_all_existing = true;
    for (size_t i = 0; i < *ret_manifests; i++) {
        struct cv_manifest_entry *entries;
        size_t count;

        CV_ASSERT_OK(cv_table_manifest_entries(f.table, &rows[i], &f.arena, &entries, &count, &err),
                     &err);
        for (size_t k = 0; k < count; k++) {
            *ret_all_existing &= entries[k].status == CV_ENTRY_EXISTING;
            if (entries[k].status == CV_ENTRY_DELETED)
                continue;
            lines[line_count++] = cv_arena_printf(
                &f.arena, "%s %d %lld %lld %lld %d\n", entries[k].file.path,
                entries[k].file.content, (long long)entries[k].snapshot_id,
                (long long)entries[k].sequence_number, (long long)entries[k].file_sequence_number,
                entries[k].file.partition[0].i32);
        }
    }
    qsort(lines, line_count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < line_count; i++)
        cv_buf_append_text(&text, lines[i]);
    copy = cv_arena_strdup(&f.arena, cv_buf_text(&text));
    cv_buf_release(&text);
    return copy;
}

static struct cv_manifest_rewrite_result rewritten(size_t memory_bytes, bool dry_run)
{
    const struct cv_manifest_rewrite rewrite = {
        .spec_id = -1, .memory_bytes = memory_bytes, .dry_run = dry_run};
    struct cv_manifest_rewrite_result result;

    CV_ASSERT_OK(cv_table_rewrite_manifests(f.table, &rewrite, &result, &err), &err);
    return result;
}

static void live_entries_stay_what_they_are(void **state)
{
    static const struct {
        const char *key, *value;
    } wanted[] = {
        {"operation", "replace"},     {"manifests-created", "1"},
        {"manifests-kept", "0"},      {"manifests-replaced", "8"},
        {"entries-processed", "7"},   {"changed-partition-count", "0"},
        {"total-records", "70"},      {"total-data-files", "7"},
        {"total-files-size", "7000"}, {"added-data-files", "absent"},
        {"total-delete-files", "0"},
    };
    struct cv_manifest_rewrite_result result;
    struct cv_data_file lost = fixture_file(&f, 0, 20000);
    struct cv_append append = {.files = &lost, .file_count = 1};
    struct cv_append_result appended;
    struct cv_rewrite_result removed;
    struct cv_rewrite removal = {.removed = &lost, .removed_count = 1};
    bool all_existing;
    size_t manifests;
    const char *before;

    (void)state;
    CV_ASSERT_OK(cv_table_append(f.table, &append, &appended, &err), &err);
    removal.start_snapshot_id = appended.snapshot_id;
    fill(7);
    CV_ASSERT_OK(cv_table_rewrite(f.table, &removal, &removed, &err), &err);
    before = live_entries(&manifests, &all_existing);
    assert_int_equal(manifests, 8);
    result = rewritten(MEMORY, true);
    assert_int_equal(result.rewritten, 8);
    assert_int_equal(result.added, 1);
    assert_int_equal(result.snapshot_id, -1);
    result = rewritten(MEMORY, false);
    assert_int_equal(result.rewritten, 8);
    assert_int_equal(result.added, 1);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(wanted); i++)
        assert_string_equal(fixture_summary(&f, result.snapshot_id, wanted[i].key),
                            wanted[i].value);
    assert_string_equal(live_entries(&manifests, &all_existing), before);
    assert_true(all_existing);
    assert_int_equal(manifests, 1);
    result = rewritten(MEMORY, false); /* one to one */
    assert_int_equal(result.rewritten, 0);
    assert_int_equal(result.snapshot_id, -1);
}

static void an_empty_table_is_left_alone(void **state)
{
    (void)state;
    assert_int_equal(rewritten(MEMORY, false).rewritten, 0);
    assert_int_equal(f.table->metadata->snapshot_count, 0);
}

/* The bounds of each manifest's days, in the order of the list. */
static void assert_sorted(size_t wanted)
{
    const struct cv_snapshot *head = cv_table_metadata_head(f.table->metadata, "main");
    struct cv_manifest_file *rows;
    size_t count;
    int32_t last = 0;

    CV_ASSERT_OK(cv_table_manifests(f.table, head, &f.arena, &rows, &count, &err), &err);
    assert_int_equal(count, wanted);
    for (size_t i = 0; i < count; i++) {
        int32_t lower;
        int32_t upper;

        memcpy(&lower, rows[i].partitions[0].lower.ptr, 4);
        memcpy(&upper, rows[i].partitions[0].upper.ptr, 4);
        assert_true(last <= lower);
        assert_true(lower <= upper);
        last = upper;
    }
    assert_int_equal(last, 20009);
}

/* With much memory and with little: the same. */
static void entries_are_sorted_by_partition(void **state)
{
    const char *before;
    bool all_existing;
    size_t manifests;

    (void)state;
    for (int little = 0; little < 2; little++) {
        struct cv_manifest_rewrite_result result;

        fill(60);
        before = live_entries(&manifests, &all_existing);
        result = rewritten(little ? (size_t)100 << 10 : MEMORY, false);
        assert_int_equal(result.rewritten, manifests);
        assert_true(result.added > 3);
        assert_sorted((size_t)result.added);
        assert_string_equal(live_entries(&manifests, &all_existing), before);
        assert_true(all_existing);
    }
}

static void too_little_memory_is_said(void **state)
{
    const struct cv_manifest_rewrite rewrite = {.spec_id = -1, .memory_bytes = 100};
    struct cv_manifest_rewrite_result result;

    (void)state;
    fill(10);
    CV_ASSERT_FAILS(cv_table_rewrite_manifests(f.table, &rewrite, &result, &err), CV_LIMIT,
                    "manifest entries need more", &err);
}

static void data_and_deletes_stay_apart(void **state)
{
    struct cv_manifest_rewrite_result result;
    bool all_existing;
    size_t manifests;
    const char *before;

    (void)state;
    fill(3);
    (void)append_of(&f, CV_CONTENT_POSITION_DELETES, 20003);
    (void)append_of(&f, CV_CONTENT_EQUALITY_DELETES, 20001);
    before = live_entries(&manifests, &all_existing);
    result = rewritten(MEMORY, false);
    assert_int_equal(result.rewritten, 5);
    assert_int_equal(result.added, 2);
    assert_string_equal(live_entries(&manifests, &all_existing), before);
    assert_int_equal(manifests, 2);
}

static void rival_appends(void)
{
    (void)append_of(&rival, CV_CONTENT_DATA, 20005);
}

static void appends_that_come_between_survive(void **state)
{
    struct cv_manifest_rewrite_result result;
    bool all_existing;
    size_t manifests;

    (void)state;
    fill(4);
    before_swap = rival_appends;
    result = rewritten(MEMORY, false);
    assert_int_equal(result.rewritten, 4);
    assert_string_equal(fixture_summary(&f, result.snapshot_id, "manifests-kept"), "1");
    assert_string_equal(fixture_summary(&f, result.snapshot_id, "total-data-files"), "5");
    (void)live_entries(&manifests, &all_existing);
    assert_int_equal(manifests, 2);
    assert_int_equal(fixture_live_files(f.table), 5);
}

static void rival_rewrites(void)
{
    const struct cv_manifest_rewrite rewrite = {.spec_id = -1, .memory_bytes = MEMORY};
    struct cv_manifest_rewrite_result result;

    CV_ASSERT_OK(cv_table_rewrite_manifests(rival.table, &rewrite, &result, &err), &err);
}

static void manifests_that_are_gone_stand_in_the_way(void **state)
{
    const struct cv_manifest_rewrite rewrite = {.spec_id = -1, .memory_bytes = MEMORY};
    struct cv_manifest_rewrite_result result;

    (void)state;
    fill(4);
    before_swap = rival_rewrites;
    CV_ASSERT_FAILS(cv_table_rewrite_manifests(f.table, &rewrite, &result, &err), CV_CONFLICT,
                    "4 of 4 manifests are no longer in the table: snapshot", &err);
    assert_non_null(strstr(err.message, "(replace by calve"));
    assert_int_equal(fixture_live_files(f.table), 4);
    assert_int_equal(fixture_count_files(&f, "-m"), 5);
}

static void fields_and_specs_are_checked(void **state)
{
    const char *const by_day[] = {"day"};
    const char *const unknown[] = {"item"};
    struct cv_manifest_rewrite rewrite = {
        .spec_id = 0, .sort_by = by_day, .sort_count = 1, .memory_bytes = MEMORY};
    struct cv_manifest_rewrite_result result;

    (void)state;
    fill(2);
    CV_ASSERT_OK(cv_table_rewrite_manifests(f.table, &rewrite, &result, &err), &err);
    assert_int_equal(result.added, 1);
    rewrite.sort_by = unknown;
    CV_ASSERT_FAILS(cv_table_rewrite_manifests(f.table, &rewrite, &result, &err), CV_USAGE,
                    "field(s) [item] were not found", &err);
    rewrite.spec_id = 7;
    CV_ASSERT_FAILS(cv_table_rewrite_manifests(f.table, &rewrite, &result, &err), CV_USAGE,
                    "Invalid spec id 7", &err);
}

/* The list may be wrong about a manifest's spec: tuples are not read beyond their end. */
static void a_wrong_spec_in_the_list_is_said(void **state)
{
    const struct cv_manifest_rewrite rewrite = {.spec_id = 1, .memory_bytes = MEMORY};
    struct cv_data_file file = fixture_file(&f, 0, 20000);
    struct cv_append append = {.files = &file, .file_count = 1};
    struct cv_append_result appended;
    struct cv_rewrite removal = {.removed = &file, .removed_count = 1};
    struct cv_rewrite_result removed;
    struct cv_manifest_rewrite_result result;
    struct cv_partition_spec specs[2];

    (void)state;
    fill(1);
    CV_ASSERT_OK(cv_table_append(f.table, &append, &appended, &err), &err);
    removal.start_snapshot_id = appended.snapshot_id;
    specs[0] = f.table->metadata->specs[0];
    CV_ASSERT_OK(cv_partition_spec_read_ddl("day, item, id",
                                            cv_table_metadata_schema(f.table->metadata), &f.arena,
                                            &specs[1], &err),
                 &err);
    specs[1].spec_id = 1;
    f.table->metadata->specs = specs;
    f.table->metadata->spec_count = 2;
    assert_int_equal(f.table->manifest_count, 2);
    for (size_t i = 0; i < 2; i++)
        f.table->manifests[i].spec_id = 1;
    CV_ASSERT_FAILS(cv_table_rewrite_manifests(f.table, &rewrite, &result, &err), CV_FORMAT,
                    "is of partition spec 0, but its manifest list says 1", &err);
    CV_ASSERT_FAILS(cv_table_rewrite(f.table, &removal, &removed, &err), CV_FORMAT,
                    "is of partition spec 0, but its manifest list says 1", &err);
}

static void positions_go_along(void **state)
{
    struct cv_append_result appended;
    struct cv_manifest_rewrite_result result;
    struct cv_position position;

    (void)state;
    CV_ASSERT_OK(fixture_append(&f, f.table, 1, 4, &appended), &err);
    fill(2);
    result = rewritten(MEMORY, false);
    CV_ASSERT_OK(cv_position_find_job(f.table, "orders", &f.arena, &position, &err), &err);
    assert_int_equal(position.snapshot_id, result.snapshot_id);
    assert_int_equal(position.epoch, 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(live_entries_stay_what_they_are),
        TEST(an_empty_table_is_left_alone),
        cmocka_unit_test_setup_teardown(entries_are_sorted_by_partition, set_up_small, tear_down),
        TEST(too_little_memory_is_said),
        TEST(data_and_deletes_stay_apart),
        TEST(appends_that_come_between_survive),
        TEST(manifests_that_are_gone_stand_in_the_way),
        TEST(fields_and_specs_are_checked),
        TEST(a_wrong_spec_in_the_list_is_said),
        TEST(positions_go_along),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
