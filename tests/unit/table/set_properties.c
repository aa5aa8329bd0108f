/* SPDX-License-Identifier: Apache-2.0
 *
 * Setting and removing properties: one commit without a snapshot, none where nothing changes. */
#include "fixture.h"

#include "table/set_properties.h"

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

static enum cv_code set(struct cv_table *table, const char *key, const char *value,
                        const char *removed, bool *ret_changed)
{
    CV_CLEANUP(cv_properties_release) struct cv_properties properties = {0};

    if (key)
        cv_properties_set(&properties, key, value);
    return cv_table_set_properties(table, &properties, &removed, removed ? 1 : 0, ret_changed,
                                   &err);
}

static void properties_are_set_and_removed(void **state)
{
    struct cv_table *table = fixture_table(&f, "day", NULL, 0);
    CV_CLEANUP(cv_table_freep) struct cv_table *other = NULL;
    struct cv_append_result result;
    int64_t sequence;
    bool changed;

    (void)state;
    CV_ASSERT_OK(fixture_append(&f, table, 1, 0, &result), &err);
    sequence = table->metadata->last_sequence_number;
    CV_ASSERT_OK(set(table, "a.b", "1", NULL, &changed), &err);
    assert_true(changed);
    CV_ASSERT_OK(set(table, "a.b", "1", "absent", &changed), &err);
    assert_false(changed);
    assert_int_equal(table->metadata->metadata_log_count, 2); /* the append, the first setting */
    CV_ASSERT_OK(cv_table_open(f.catalog, "lake.shop.orders", &other, &err), &err);
    assert_string_equal(cv_properties_get(&other->metadata->properties, "a.b"), "1");
    assert_int_equal(other->metadata->snapshot_count, 1);
    assert_int_equal(other->metadata->last_sequence_number, sequence);
    CV_ASSERT_OK(set(table, "c", "2", "a.b", &changed), &err); /* by now elsewhere, too */
    CV_ASSERT_OK(cv_table_refresh(other, &err), &err);
    assert_null(cv_properties_get(&other->metadata->properties, "a.b"));
    assert_string_equal(cv_properties_get(&other->metadata->properties, "c"), "2");
    CV_ASSERT_FAILS(set(table, "format-version", "1", NULL, &changed), CV_USAGE, "format-version",
                    &err);
}

/* What somebody else set meanwhile stays. */
static void a_late_writer_keeps_the_others(void **state)
{
    struct cv_table *table = fixture_table(&f, "day", NULL, 0);
    CV_CLEANUP(cv_table_freep) struct cv_table *other = NULL;
    bool changed;

    (void)state;
    CV_ASSERT_OK(cv_table_open(f.catalog, "lake.shop.orders", &other, &err), &err);
    CV_ASSERT_OK(set(other, "theirs", "1", NULL, &changed), &err);
    CV_ASSERT_OK(set(table, "mine", "2", NULL, &changed), &err);
    assert_string_equal(cv_properties_get(&table->metadata->properties, "theirs"), "1");
    assert_string_equal(cv_properties_get(&table->metadata->properties, "mine"), "2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(properties_are_set_and_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_late_writer_keeps_the_others, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
