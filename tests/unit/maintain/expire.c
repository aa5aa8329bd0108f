/* SPDX-License-Identifier: Apache-2.0
 *
 * What snapshots reach, and expiry as a procedure: counts by hand from the history that each test
 * makes (one manifest per append, one list per snapshot, files of 1,000 bytes). */
#include "../table/fixture.h"

#include "maintain/orphan_int.h"
#include "maintain/reachable.h"
#include "table/rewrite.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Snapshots 1 and 2 add a file each, 3 replaces both by one. */
static struct cv_table *make_history(void)
{
    struct cv_table *table = fixture_table(&f, "", NULL, 0);
    struct cv_data_file files[2];
    struct cv_rewrite_added joined;
    struct cv_rewrite rewrite = {
        .removed = files, .removed_count = 2, .added = &joined, .added_count = 1};
    struct cv_append append = {.file_count = 1};
    struct cv_append_result appended;
    struct cv_rewrite_result rewritten;

    for (int i = 0; i < 2; i++) {
        files[i] = fixture_file(&f, 0, 0);
        append.files = &files[i];
        CV_ASSERT_OK(cv_table_append(table, &append, &appended, &err), &err);
    }
    joined = (struct cv_rewrite_added){fixture_file(&f, 0, 0), CV_SEQUENCE_INHERIT};
    joined.file.metrics.record_count = 20;
    rewrite.start_snapshot_id = table->metadata->current_snapshot_id;
    CV_ASSERT_OK(cv_table_rewrite(table, &rewrite, &rewritten, &err), &err);
    return table;
}

struct seen {
    int kinds[CV_REACHED_KINDS];
    int unreadable;
    int last_kind; /* data and delete files, manifests, lists */
    int64_t bytes;
};

static enum cv_code see(void *context, const struct cv_reached *file, struct cv_error *problem)
{
    struct seen *seen = context;

    (void)problem;
    assert_true((int)file->kind >= seen->last_kind);
    seen->last_kind = (int)file->kind;
    seen->kinds[file->kind]++;
    if (file->kind == CV_REACHED_DATA)
        seen->bytes += file->size;
    return CV_OK;
}

static enum cv_code see_unreadable(void *context, const char *location, struct cv_error *problem)
{
    struct seen *seen = context;

    assert_non_null(strstr(problem->message, location));
    cv_error_clear(problem);
    seen->unreadable++;
    return CV_OK;
}

static void snapshots_reach_files(void **state)
{
    struct cv_table *table = make_history();
    const struct cv_snapshot *all[3];
    struct cv_maintenance maintenance = {.threads = 3, .memory_bytes = 1 << 20, .table = table};
    struct seen seen = {.last_kind = 0};
    struct cv_reach reach = {.maintenance = &maintenance,
                             .store = table->store,
                             .procedure = "test",
                             .each = see,
                             .context = &seen};
    CV_CLEANUP(cv_location_set_freep)
    struct cv_location_set *skip = cv_location_set_new(1 << 20, 0, 1);
    struct cv_reached *manifests;
    size_t count;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        all[i] = &table->metadata->snapshots[i];
    CV_ASSERT_OK(cv_reach_snapshots(&reach, all, 3, &err), &err);
    /* alive: 1 and 2 in their own manifests, 3 in its own; the rewritten ones name them deleted */
    assert_int_equal(seen.kinds[CV_REACHED_DATA], 3);
    assert_int_equal(seen.bytes, 3000);
    assert_int_equal(seen.kinds[CV_REACHED_MANIFEST_LIST], 3);
    CV_ASSERT_OK(cv_reach_manifests(&reach, all, 1, &f.arena, &manifests, &count, &err), &err);
    assert_int_equal(count, 1);
    CV_ASSERT_OK(cv_location_set_add(skip, manifests[0].location, NULL, &err), &err);
    reach.skip = skip;
    CV_ASSERT_OK(cv_reach_manifests(&reach, all, 2, &f.arena, &manifests, &count, &err), &err);
    assert_int_equal(count, 1); /* of the second append */
    CV_ASSERT_OK(cv_store_remove(table->store, manifests[0].location.ptr, &err), &err);
    seen.last_kind = 0;
    CV_ASSERT_FAILS(cv_reach_files(&reach, manifests, count, &err), CV_NOT_FOUND,
                    manifests[0].location.ptr, &err);
    reach.unreadable = see_unreadable;
    CV_ASSERT_OK(cv_reach_files(&reach, manifests, count, &err), &err);
    assert_int_equal(seen.unreadable, 1);
}

static void run_procedure(struct cv_table *table, const char *name, const char *key,
                          const char *value, bool dry_run, const char *rows, const char *note)
{
    CV_CLEANUP(cv_maintain_result_release) struct cv_maintain_result result = {0};
    CV_CLEANUP(cv_properties_release) struct cv_properties arguments = {0};
    struct cv_maintenance maintenance = {.catalog = f.catalog,
                                         .table = table,
                                         .threads = 2,
                                         .memory_bytes = 1 << 24,
                                         .spill_directory = f.folder,
                                         .dry_run = dry_run,
                                         .idle = true};

    if (key)
        cv_properties_set(&arguments, key, value);
    CV_ASSERT_OK(cv_procedure_run(cv_procedure_find(name), &maintenance, &arguments, &result, &err),
                 &err);
    assert_string_equal(cv_buf_text(&result.rows), rows);
    if (note && !strstr(cv_buf_text(&result.notes), note))
        fail_msg("\"%s\" lacks \"%s\"", cv_buf_text(&result.notes), note);
}

#define ROW(data, manifests, lists)                                                                \
    "[{\"deleted_data_files_count\":" #data ",\"deleted_position_delete_files_count\":0,"          \
    "\"deleted_equality_delete_files_count\":0,\"deleted_manifest_files_count\":" #manifests       \
    ",\"deleted_manifest_lists_count\":" #lists ",\"deleted_statistics_files_count\":0}]"

static void expires(void **state)
{
    struct cv_table *table = make_history();
    size_t lists = fixture_count_files(&f, "snap-");

    (void)state;
    assert_int_equal(lists, 3);
    run_procedure(table, "expire-snapshots", NULL, NULL, false, ROW(0, 0, 0), "expired 0 of 3");
    run_procedure(table, "expire-snapshots", "older-than", "2100-01-01", true, ROW(2, 2, 2),
                  "would delete 6 files of ");
    assert_int_equal(table->metadata->snapshot_count, 3);
    assert_int_equal(fixture_count_files(&f, "snap-"), 3);
    run_procedure(table, "expire_snapshots", "older_than", "2100-01-01", false, ROW(2, 2, 2),
                  "expired 2 of 3 snapshots");
    assert_int_equal(table->metadata->snapshot_count, 1);
    assert_int_equal(fixture_count_files(&f, "snap-"), 1);
    assert_int_equal(fixture_live_files(table), 1);
}

/* The data files are on paper only; nothing on the disk is an orphan but the stray file. */
static void removes_orphans(void **state)
{
    struct cv_table *table = make_history();
    const char *stray = cv_arena_printf(&f.arena, "%s/wh/shop/orders/data/stray", f.folder);
    const char *row =
        cv_arena_printf(&f.arena, "[{\"orphan_file_location\":\"file://%s\"}]", stray);

    (void)state;
    run_procedure(table, "remove-orphan-files", "older_than", "2100-01-01", false, "[]",
                  "would be taken for orphans");
    CV_ASSERT_OK(
        cv_directory_make(cv_arena_printf(&f.arena, "%s/wh/shop/orders/data", f.folder), &err),
        &err);
    CV_ASSERT_OK(cv_file_write_new(stray, "x", 1, &err), &err);
    run_procedure(table, "remove-orphan-files", NULL, NULL, false, "[]", "1 are not older than");
    run_procedure(table, "remove-orphan-files", "older_than", "2100-01-01", true, row,
                  "would delete 1 orphan files of 1 bytes");
    assert_true(cv_file_exists(stray));
    run_procedure(table, "remove-orphan-files", "older_than", "2100-01-01", false, row,
                  "deleted 1 of 1");
    assert_false(cv_file_exists(stray));
}

/* A catalog that knows of a table of which it cannot tell where it is. */
static enum cv_code list_two(struct cv_catalog *catalog, struct cv_arena *arena, char ***ret_names,
                             size_t *ret_count, struct cv_error *problem)
{
    (void)catalog;
    (void)problem;
    *ret_names = cv_arena_array(arena, char *, 2);
    (*ret_names)[0] = cv_arena_strdup(arena, "shop.gone");
    (*ret_names)[1] = cv_arena_strdup(arena, "shop.locked");
    *ret_count = 2;
    return CV_OK;
}

static enum cv_code load_none(struct cv_catalog *catalog, const struct cv_table_name *name,
                              const char *known, struct cv_arena *arena,
                              struct cv_catalog_entry *ret_entry, struct cv_error *problem)
{
    (void)catalog;
    (void)known;
    (void)arena;
    (void)ret_entry;
    if (strcmp(name->table, "gone") == 0)
        return cv_fail(problem, CV_NOT_FOUND, "dropped");
    return cv_fail(problem, CV_CATALOG, "database is locked");
}

/* Its files may be below the folder: only a table that is gone has none. */
static void no_orphans_beside_a_table_that_cannot_be_found(void **state)
{
    struct cv_table *table = make_history();
    const struct cv_catalog_ops ops = {.list = list_two, .load = load_none};
    struct cv_catalog catalog = {&ops};
    struct cv_maintenance maintenance = {.catalog = &catalog, .table = table};
    struct cv_orphan_search search = {.maintenance = &maintenance, .location = "file:///wh"};

    (void)state;
    CV_ASSERT_FAILS(cv_orphan_check_catalog(&search, &err), CV_CATALOG, "lake.shop.locked", &err);
}

/* True once calve has read what was in the pipe, or opened it. */
static bool pipe_is_taken(void *context)
{
    const char *path = context;
    int waiting = -1;
    int descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

    if (descriptor < 0)
        return false; /* nobody reads */
    assert_int_equal(ioctl(descriptor, FIONREAD, &waiting), 0);
    (void)close(descriptor);
    return waiting == 0;
}

static void assert_stops_at(struct cv_table *table, const char *pipe)
{
    CV_CLEANUP(cv_maintain_result_release) struct cv_maintain_result result = {0};
    CV_CLEANUP(cv_properties_release) struct cv_properties arguments = {0};
    char path[PATH_MAX];
    struct cv_maintenance maintenance = {.catalog = f.catalog,
                                         .table = table,
                                         .threads = 1,
                                         .memory_bytes = 1 << 24,
                                         .spill_directory = f.folder,
                                         .stopping = pipe_is_taken,
                                         .context = path};

    (void)snprintf(path, sizeof path, "%s", pipe);
    cv_properties_set(&arguments, "file_list_view", path);
    (void)alarm(60);
    CV_ASSERT_FAILS(cv_procedure_run(cv_procedure_find("remove-orphan-files"), &maintenance,
                                     &arguments, &result, &err),
                    CV_CANCELLED, "stopped", &err);
    (void)alarm(0);
}

/* No signal ends the wait here: it may come just before the system call. */
static void a_silent_pipe_does_not_keep_a_stop(void **state)
{
    struct cv_table *table = make_history();
    const char *pipe = cv_arena_printf(&f.arena, "%s/pipe", f.folder);
    int writer;

    (void)state;
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_stops_at(table, pipe); /* nobody writes */
    writer = open(pipe, O_RDWR | O_CLOEXEC);
    assert_int_equal(write(writer, "\n", 1), 1);
    assert_stops_at(table, pipe);
    (void)close(writer);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(snapshots_reach_files),
        TEST(expires),
        TEST(removes_orphans),
        TEST(no_orphans_beside_a_table_that_cannot_be_found),
        TEST(a_silent_pipe_does_not_keep_a_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
