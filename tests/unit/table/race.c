/* SPDX-License-Identifier: Apache-2.0
 *
 * Several processes append to one table at the same time, on both catalogs: every append is there
 * once, in a chain without forks. */
#include "fixture.h"

#include <sys/wait.h>

#define PROCESSES 4
#define APPENDS   5

static struct fixture f;

/* A process of its own: everything is opened anew; files get names that no other one uses. */
static void append_in_child(const char *type, int number)
{
    struct fixture child = {.folder = f.folder, .files = 1000 * (number + 1)};
    struct cv_append_result result;

    child.catalog = fixture_catalog(&child, type);
    if (cv_table_open(child.catalog, "lake.shop.orders", &child.table, &err) != CV_OK)
        _exit(1);
    for (int i = 0; i < APPENDS; i++)
        if (fixture_append(&child, child.table, 1, -1, &result) != CV_OK) {
            (void)fprintf(stderr, "process %d: %s\n", number, err.message);
            _exit(2);
        }
    fixture_close(&child);
    _exit(0);
}

static void race(const char *type)
{
    static const char *const properties[] = {"commit.retry.num-retries=200",
                                             "commit.retry.min-wait-ms=1",
                                             "commit.retry.max-wait-ms=50"};
    const struct cv_table_metadata *metadata;

    fixture_open(&f, type);
    (void)fixture_table(&f, "day", properties, CV_ARRAY_LENGTH(properties));
    cv_catalog_free(f.catalog); /* no connection is carried over a fork */
    f.catalog = NULL;
    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0)
            append_in_child(type, i);
    for (int i = 0; i < PROCESSES; i++) {
        int status;

        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    f.catalog = fixture_catalog(&f, type);
    cv_table_free(f.table);
    CV_ASSERT_OK(cv_table_open(f.catalog, "lake.shop.orders", &f.table, &err), &err);
    metadata = f.table->metadata;
    assert_int_equal(metadata->snapshot_count, PROCESSES * APPENDS);
    assert_int_equal(metadata->last_sequence_number, PROCESSES * APPENDS);
    for (size_t i = 1; i < metadata->snapshot_count; i++)
        assert_int_equal(metadata->snapshots[i].parent_id, metadata->snapshots[i - 1].id);
    assert_int_equal(fixture_live_files(f.table), PROCESSES * APPENDS);
    assert_int_equal(fixture_count_files(&f, "snap-"), PROCESSES * APPENDS);
    assert_int_equal(fixture_count_files(&f, "metadata.json"), PROCESSES * APPENDS + 1);
    fixture_close(&f);
}

static void processes_race_on_sqlite(void **state)
{
    (void)state;
    race("sql");
}

static void processes_race_on_a_hadoop_catalog(void **state)
{
    (void)state;
    race("hadoop");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_race_on_sqlite),
        cmocka_unit_test(processes_race_on_a_hadoop_catalog),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
