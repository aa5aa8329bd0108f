/* SPDX-License-Identifier: Apache-2.0
 *
 * Branches, tags, rollback and cherry-picking; the words are those of the Java library. */
#include "fixture.h"

#include "base/time.h"
#include "table/commit.h"
#include "table/refs.h"
#include "table/rewrite.h"

static struct fixture f;
static int64_t ids[5]; /* snapshots of main, in order; [0] is -1 */
static struct cv_ref_move move;

static int set_up(void **state)
{
    (void)state;
    fixture_open(&f, "sql");
    (void)fixture_table(&f, "day", (const char *const[]){"a=b"}, 1);
    ids[0] = -1;
    for (int i = 1; i < 5; i++) {
        struct cv_append_result result;

        CV_ASSERT_OK(fixture_append(&f, f.table, 1, -1, &result), &err);
        ids[i] = result.snapshot_id;
        cv_sleep_ms(2); /* times that differ */
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fixture_close(&f);
    return 0;
}

static int64_t head(const char *ref)
{
    const struct cv_snapshot_ref *found;

    CV_ASSERT_OK(cv_table_refresh(f.table, &err), &err);
    found = cv_table_metadata_ref(f.table->metadata, ref);
    return found ? found->snapshot_id : -1;
}

static enum cv_code change(enum cv_ref_action action, const char *name, bool is_tag,
                           int64_t snapshot_id)
{
    struct cv_ref_change c = {action, {name, snapshot_id, is_tag, -1, -1, -1}, false, false};

    return cv_table_change_ref(f.table, &c, &move, &err);
}

static void rollback_goes_to_ancestors_only(void **state)
{
    (void)state;
    CV_ASSERT_OK(cv_table_rollback_to_snapshot(f.table, ids[2], true, &move, &err), &err);
    assert_int_equal(head("main"), ids[4]);
    CV_ASSERT_OK(cv_table_rollback_to_snapshot(f.table, ids[2], false, &move, &err), &err);
    assert_int_equal(move.previous_snapshot_id, ids[4]);
    assert_int_equal(move.current_snapshot_id, ids[2]);
    assert_int_equal(head("main"), ids[2]);
    assert_int_equal(f.table->metadata->current_snapshot_id, ids[2]);
    CV_ASSERT_FAILS(cv_table_rollback_to_snapshot(f.table, ids[4], false, &move, &err), CV_USAGE,
                    "Cannot roll back to snapshot, not an ancestor of the current state", &err);
    CV_ASSERT_FAILS(cv_table_rollback_to_snapshot(f.table, 77, false, &move, &err), CV_USAGE,
                    "Cannot roll back to unknown snapshot id: 77", &err);
    CV_ASSERT_OK(cv_table_set_current_snapshot(f.table, ids[4], NULL, false, &move, &err), &err);
    assert_int_equal(move.previous_snapshot_id, ids[2]);
    assert_int_equal(head("main"), ids[4]);
    assert_int_equal(fixture_live_files(f.table), 4);
}

static void rollback_to_a_time_is_to_what_is_older(void **state)
{
    int64_t third = cv_table_metadata_snapshot(f.table->metadata, ids[3])->timestamp_ms;
    int64_t first = cv_table_metadata_snapshot(f.table->metadata, ids[1])->timestamp_ms;

    (void)state;
    CV_ASSERT_OK(cv_table_rollback_to_timestamp(f.table, third, false, &move, &err), &err);
    assert_int_equal(move.current_snapshot_id, ids[2]);
    CV_ASSERT_FAILS(cv_table_rollback_to_timestamp(f.table, first, false, &move, &err), CV_USAGE,
                    "Cannot roll back, no valid snapshot older than: ", &err);
    CV_ASSERT_OK(cv_table_rollback_to_timestamp(f.table, first + 1, false, &move, &err), &err);
    assert_int_equal(head("main"), ids[1]);
}

static void refs_are_made_replaced_and_dropped(void **state)
{
    struct cv_ref_change c = {CV_REF_CREATE, {"b", ids[1], false, 3, 60000, -1}, true, false};
    const struct cv_snapshot_ref *ref;

    (void)state;
    CV_ASSERT_OK(cv_table_change_ref(f.table, &c, &move, &err), &err);
    assert_int_equal(move.previous_snapshot_id, -1);
    assert_int_equal(move.current_snapshot_id, ids[1]);
    c.ref.snapshot_id = ids[2];
    CV_ASSERT_OK(cv_table_change_ref(f.table, &c, &move, &err), &err); /* if not exists */
    assert_int_equal(head("b"), ids[1]);
    CV_ASSERT_FAILS(change(CV_REF_CREATE, "b", true, ids[1]), CV_USAGE, "Ref b already exists",
                    &err);
    c.action = CV_REF_REPLACE;
    c.ref.min_snapshots_to_keep = 5;
    c.ref.max_snapshot_age_ms = -1;
    CV_ASSERT_OK(cv_table_change_ref(f.table, &c, &move, &err), &err);
    assert_int_equal(head("b"), ids[2]);
    ref = cv_table_metadata_ref(f.table->metadata, "b");
    assert_int_equal(ref->min_snapshots_to_keep, 5);
    assert_int_equal(ref->max_snapshot_age_ms, 60000);
    CV_ASSERT_FAILS(change(CV_REF_REPLACE, "b", true, ids[1]), CV_USAGE,
                    "Ref b is a branch not a tag", &err);
    CV_ASSERT_FAILS(change(CV_REF_REPLACE, "c", false, ids[1]), CV_USAGE,
                    "Branch does not exist: c", &err);
    CV_ASSERT_OK(change(CV_REF_CREATE_OR_REPLACE, "t", true, -1), &err);
    assert_int_equal(head("t"), ids[4]);
    CV_ASSERT_OK(change(CV_REF_CREATE_OR_REPLACE, "t", true, ids[3]), &err);
    assert_int_equal(head("t"), ids[3]);
    CV_ASSERT_FAILS(change(CV_REF_CREATE_OR_REPLACE, "t", true, 5), CV_USAGE,
                    "Cannot set t to unknown snapshot: 5", &err);
    CV_ASSERT_FAILS(change(CV_REF_DROP, "t", false, -1), CV_USAGE, "Ref t is a tag not a branch",
                    &err);
    CV_ASSERT_OK(change(CV_REF_DROP, "t", true, -1), &err);
    assert_int_equal(move.previous_snapshot_id, ids[3]);
    assert_int_equal(move.current_snapshot_id, -1);
    CV_ASSERT_FAILS(change(CV_REF_DROP, "t", true, -1), CV_USAGE, "Tag does not exist: t", &err);
    c = (struct cv_ref_change){CV_REF_DROP, {"t", -1, true, -1, -1, -1}, true, false};
    CV_ASSERT_OK(cv_table_change_ref(f.table, &c, &move, &err), &err);
    CV_ASSERT_FAILS(change(CV_REF_DROP, "main", false, -1), CV_USAGE, "Cannot remove main branch",
                    &err);
}

static void retention_is_checked(void **state)
{
    static const struct {
        struct cv_snapshot_ref ref;
        const char *message;
    } rows[] = {
        {{"x", -1, true, 1, -1, -1}, "Tags do not support setting minSnapshotsToKeep"},
        {{"x", -1, true, -1, 1, -1}, "Tags do not support setting maxSnapshotAgeMs"},
        {{"x", -1, false, 0, -1, -1}, "Min snapshots to keep must be greater than 0"},
        {{"x", -1, false, -1, 0, -1}, "Max snapshot age must be greater than 0 ms"},
        {{"x", -1, true, -1, -1, 0}, "Max reference age must be greater than 0"},
    };

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(rows); i++) {
        struct cv_ref_change c = {CV_REF_CREATE, rows[i].ref, false, false};

        CV_ASSERT_FAILS(cv_table_change_ref(f.table, &c, &move, &err), CV_USAGE, rows[i].message,
                        &err);
    }
    assert_int_equal(head("x"), -1);
}

static void fast_forward_follows_ancestry(void **state)
{
    (void)state;
    CV_ASSERT_OK(change(CV_REF_CREATE, "b", false, ids[2]), &err);
    CV_ASSERT_OK(change(CV_REF_CREATE, "t", true, ids[3]), &err);
    CV_ASSERT_OK(cv_table_fast_forward(f.table, "b", "t", false, &move, &err), &err);
    assert_int_equal(move.previous_snapshot_id, ids[2]);
    assert_int_equal(move.current_snapshot_id, ids[3]);
    CV_ASSERT_FAILS(cv_table_fast_forward(f.table, "main", "b", false, &move, &err), CV_USAGE,
                    "Cannot fast-forward: main is not an ancestor of b", &err);
    CV_ASSERT_FAILS(cv_table_fast_forward(f.table, "b", "no", false, &move, &err), CV_USAGE,
                    "Ref does not exist: no", &err);
    CV_ASSERT_FAILS(cv_table_fast_forward(f.table, "t", "main", false, &move, &err), CV_USAGE,
                    "Ref t is a tag not a branch", &err);
    CV_ASSERT_OK(cv_table_fast_forward(f.table, "new", "main", false, &move, &err), &err);
    assert_int_equal(move.previous_snapshot_id, -1);
    assert_int_equal(head("new"), ids[4]);
    CV_ASSERT_OK(cv_table_fast_forward(f.table, "b", "main", true, &move, &err), &err);
    assert_int_equal(head("b"), ids[3]);
}

static void set_current_takes_refs(void **state)
{
    (void)state;
    CV_ASSERT_OK(change(CV_REF_CREATE, "t", true, ids[1]), &err);
    CV_ASSERT_OK(cv_table_set_current_snapshot(f.table, -1, "t", false, &move, &err), &err);
    assert_int_equal(head("main"), ids[1]);
    CV_ASSERT_FAILS(cv_table_set_current_snapshot(f.table, -1, "no", false, &move, &err), CV_USAGE,
                    "Cannot find matching snapshot ID for ref no", &err);
}

/* A snapshot of these files on top of `parent`, of no branch: made on a branch that is dropped. */
static int64_t staged(int64_t parent, const struct cv_data_file *files, size_t count,
                      const char *const *keys, size_t key_count)
{
    struct cv_properties summary = {0};
    struct cv_append append = {.files = files, .file_count = count, .summary = &summary};
    struct cv_append_result result;

    for (size_t i = 0; i + 1 < key_count; i += 2)
        cv_properties_set(&summary, keys[i], keys[i + 1]);
    CV_ASSERT_OK(change(CV_REF_CREATE, "stage", false, parent), &err);
    f.table->name.branch = "stage";
    CV_ASSERT_OK(cv_table_append(f.table, &append, &result, &err), &err);
    f.table->name.branch = NULL;
    CV_ASSERT_OK(change(CV_REF_DROP, "stage", false, -1), &err);
    cv_properties_release(&summary);
    return result.snapshot_id;
}

static void a_staged_append_is_made_anew(void **state)
{
    static const char *const wap[] = {"wap.id", "w-1"};
    struct cv_data_file file = fixture_file(&f, 0, 20007);
    int64_t source = staged(ids[2], &file, 1, wap, 2);
    int64_t unnamed;
    int64_t found;

    (void)state;
    CV_ASSERT_OK(cv_table_find_staged(f.table->metadata, "w-1", &found, &err), &err);
    assert_int_equal(found, source);
    CV_ASSERT_FAILS(cv_table_find_staged(f.table->metadata, "w-2", &found, &err), CV_USAGE,
                    "Cannot apply unknown WAP ID 'w-2'", &err);
    CV_ASSERT_OK(cv_table_cherrypick_snapshot(f.table, source, true, &move, &err), &err);
    assert_int_equal(head("main"), ids[4]);
    CV_ASSERT_OK(cv_table_cherrypick_snapshot(f.table, source, false, &move, &err), &err);
    assert_int_equal(move.previous_snapshot_id, ids[4]);
    assert_int_equal(move.current_snapshot_id, head("main"));
    assert_int_not_equal(move.current_snapshot_id, source);
    assert_int_equal(fixture_live_files(f.table), 5);
    assert_string_equal(fixture_summary(&f, move.current_snapshot_id, "operation"), "append");
    assert_string_equal(fixture_summary(&f, move.current_snapshot_id, "published-wap-id"), "w-1");
    assert_string_equal(fixture_summary(&f, move.current_snapshot_id, "source-snapshot-id"),
                        cv_arena_printf(&f.arena, "%lld", (long long)source));
    assert_string_equal(fixture_summary(&f, move.current_snapshot_id, "added-data-files"), "1");
    assert_string_equal(fixture_summary(&f, move.current_snapshot_id, "total-records"), "50");
    assert_string_equal(fixture_summary(&f, move.current_snapshot_id, "changed-partition-count"),
                        "1");
    CV_ASSERT_FAILS(cv_table_cherrypick_snapshot(f.table, source, false, &move, &err), CV_USAGE,
                    "Duplicate request to cherry pick wap id that was published already: w-1",
                    &err);
    file = fixture_file(&f, 0, 20008);
    unnamed = staged(ids[2], &file, 1, NULL, 0);
    CV_ASSERT_OK(cv_table_cherrypick_snapshot(f.table, unnamed, false, &move, &err), &err);
    CV_ASSERT_FAILS(cv_table_cherrypick_snapshot(f.table, unnamed, false, &move, &err), CV_USAGE,
                    "already picked to create ancestor", &err);
    CV_ASSERT_FAILS(cv_table_cherrypick_snapshot(f.table, ids[2], false, &move, &err), CV_USAGE,
                    "already an ancestor", &err);
    CV_ASSERT_FAILS(cv_table_cherrypick_snapshot(f.table, 9, false, &move, &err), CV_USAGE,
                    "Cannot cherry-pick unknown snapshot ID: 9", &err);
    source = staged(ids[3], &file, 1, wap, 2);
    CV_ASSERT_FAILS(cv_table_cherrypick_snapshot(f.table, source, false, &move, &err), CV_USAGE,
                    "Duplicate request to cherry pick wap id that was published already: w-1",
                    &err);
}

static void the_head_moves_to_its_child(void **state)
{
    static const char *const deleting[] = {"operation", "delete"};
    int64_t child = staged(ids[4], NULL, 0, deleting, 2);
    int64_t other = staged(ids[3], NULL, 0, deleting, 2);

    (void)state;
    CV_ASSERT_FAILS(cv_table_cherrypick_snapshot(f.table, other, false, &move, &err), CV_USAGE,
                    "not append, dynamic overwrite, or fast-forward", &err);
    CV_ASSERT_OK(cv_table_cherrypick_snapshot(f.table, child, false, &move, &err), &err);
    assert_int_equal(head("main"), child);
}

/* A dynamic overwrite of the day of `removed`, staged on `parent`. */
static int64_t staged_overwrite(int64_t parent, const struct cv_data_file *removed,
                                const struct cv_data_file *added)
{
    struct cv_properties summary = {0};
    struct cv_rewrite_added output = {*added, CV_SEQUENCE_INHERIT};
    const struct cv_rewrite r = {.start_snapshot_id = parent,
                                 .removed = removed,
                                 .removed_count = 1,
                                 .added = &output,
                                 .added_count = 1,
                                 .summary = &summary};
    struct cv_rewrite_result result;

    cv_properties_set(&summary, "operation", "overwrite");
    cv_properties_set(&summary, "replace-partitions", "true");
    CV_ASSERT_OK(change(CV_REF_CREATE, "stage", false, parent), &err);
    f.table->name.branch = "stage";
    CV_ASSERT_OK(cv_table_rewrite(f.table, &r, &result, &err), &err);
    f.table->name.branch = NULL;
    CV_ASSERT_OK(change(CV_REF_DROP, "stage", false, -1), &err);
    cv_properties_release(&summary);
    return result.snapshot_id;
}

static int64_t append_day(struct cv_data_file file)
{
    struct cv_append append = {.files = &file, .file_count = 1};
    struct cv_append_result result;

    CV_ASSERT_OK(cv_table_append(f.table, &append, &result, &err), &err);
    return result.snapshot_id;
}

static void a_dynamic_overwrite_is_picked_where_nobody_wrote(void **state)
{
    struct cv_data_file old = fixture_file(&f, 0, 20100);
    struct cv_data_file fresh = fixture_file(&f, 0, 20100);
    int64_t base = append_day(old);
    int64_t source = staged_overwrite(base, &old, &fresh);

    (void)state;
    (void)append_day(fixture_file(&f, 0, 20101)); /* two of one other partition */
    (void)append_day(fixture_file(&f, 0, 20101));
    CV_ASSERT_OK(cv_table_cherrypick_snapshot(f.table, source, false, &move, &err), &err);
    assert_int_equal(fixture_live_files(f.table), 4 + 2 + 1);
    assert_string_equal(fixture_summary(&f, move.current_snapshot_id, "operation"), "overwrite");
    assert_string_equal(fixture_summary(&f, move.current_snapshot_id, "deleted-data-files"), "1");
    assert_string_equal(fixture_summary(&f, move.current_snapshot_id, "total-data-files"), "7");

    fresh = fixture_file(&f, 0, 20100);
    source = staged_overwrite(base, &old, &fresh);
    CV_ASSERT_FAILS(cv_table_cherrypick_snapshot(f.table, source, false, &move, &err), CV_USAGE,
                    "replace partitions with changed partition: snapshot", &err);
}

static void an_overwrite_needs_its_base(void **state)
{
    struct cv_data_file old = fixture_file(&f, 0, 20100);
    struct cv_data_file fresh = fixture_file(&f, 0, 20100);
    int64_t source = staged_overwrite(append_day(old), &old, &fresh);

    (void)state;
    CV_ASSERT_OK(cv_table_rollback_to_snapshot(f.table, ids[4], false, &move, &err), &err);
    CV_ASSERT_FAILS(cv_table_cherrypick_snapshot(f.table, source, false, &move, &err), CV_USAGE,
                    "overwrite not based on an ancestor of the current state", &err);
}

static enum cv_code empty_main(void *context, struct cv_commit *commit,
                               struct cv_table_metadata *next, bool *ret_done, struct cv_error *e)
{
    (void)context;
    (void)commit;
    (void)e;
    next->ref_count = 0;
    next->current_snapshot_id = -1;
    next->snapshot_log_count = 0;
    *ret_done = false;
    return CV_OK;
}

/* The snapshots stay, as staged ones do. */
static void unpublish(void)
{
    const struct cv_commit_operation operation = {.build = empty_main};
    struct cv_commit_outcome outcome;

    CV_ASSERT_OK(cv_commit_run(f.table, &operation, &outcome, &err), &err);
}

/* Staged while the branch was empty (Java's null parent): everything since is looked at. */
static void an_overwrite_of_an_empty_table_is_checked_too(void **state)
{
    struct cv_properties summary = {0};
    struct cv_data_file file;
    struct cv_append append = {.files = &file, .file_count = 1, .summary = &summary};
    struct cv_append_result result;
    int64_t sources[2];

    (void)state;
    fixture_close(&f);
    fixture_open(&f, "sql");
    (void)fixture_table(&f, "day", (const char *const[]){"a=b"}, 1);
    cv_properties_set(&summary, "operation", "overwrite");
    cv_properties_set(&summary, "replace-partitions", "true");
    for (size_t i = 0; i < 2; i++) {
        file = fixture_file(&f, 0, 20200 + (int32_t)i);
        CV_ASSERT_OK(cv_table_append(f.table, &append, &result, &err), &err);
        sources[i] = result.snapshot_id;
        unpublish();
    }
    cv_properties_release(&summary);
    (void)append_day(fixture_file(&f, 0, 20200));
    CV_ASSERT_FAILS(cv_table_cherrypick_snapshot(f.table, sources[0], false, &move, &err), CV_USAGE,
                    "replace partitions with changed partition: snapshot", &err);
    CV_ASSERT_OK(cv_table_cherrypick_snapshot(f.table, sources[1], false, &move, &err), &err);
    assert_int_equal(fixture_live_files(f.table), 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(rollback_goes_to_ancestors_only),
        TEST(rollback_to_a_time_is_to_what_is_older),
        TEST(refs_are_made_replaced_and_dropped),
        TEST(retention_is_checked),
        TEST(fast_forward_follows_ancestry),
        TEST(set_current_takes_refs),
        TEST(a_staged_append_is_made_anew),
        TEST(the_head_moves_to_its_child),
        TEST(a_dynamic_overwrite_is_picked_where_nobody_wrote),
        TEST(an_overwrite_needs_its_base),
        TEST(an_overwrite_of_an_empty_table_is_checked_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
