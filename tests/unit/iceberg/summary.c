/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshot summaries: which keys are written, and how totals go on. */
#include "iceberg/summary.h"
#include "test.h"

static void changes_and_totals_of_a_first_append(void **state)
{
    struct cv_snapshot_changes changes = {.changed_partitions = 2};
    struct cv_data_file file = {.metrics = {.record_count = 10, .file_size = 500}};
    struct cv_properties summary = {0};
    static const char *const wanted[][2] = {
        {"added-data-files", "2"},       {"added-records", "20"},
        {"added-files-size", "1000"},    {"changed-partition-count", "2"},
        {"total-records", "20"},         {"total-files-size", "1000"},
        {"total-data-files", "2"},       {"total-delete-files", "0"},
        {"total-position-deletes", "0"}, {"total-equality-deletes", "0"}};

    cv_snapshot_changes_add(&changes, &file);
    cv_snapshot_changes_add(&changes, &file);
    cv_snapshot_summary_totals(NULL, &changes, &summary);
    assert_int_equal(summary.count, CV_ARRAY_LENGTH(wanted));
    for (size_t i = 0; i < CV_ARRAY_LENGTH(wanted); i++)
        assert_string_equal(cv_properties_get(&summary, wanted[i][0]), wanted[i][1]);
    cv_properties_release(&summary);
}

static void an_empty_commit_tells_its_partitions(void **state)
{
    struct cv_snapshot_changes changes = {0};
    struct cv_properties summary = {0};

    cv_snapshot_summary_totals(NULL, &changes, &summary);
    assert_string_equal(cv_properties_get(&summary, "changed-partition-count"), "0");
    assert_null(cv_properties_get(&summary, "added-data-files"));
    cv_properties_release(&summary);
}

static void deletes_are_counted_by_kind(void **state)
{
    struct cv_snapshot_changes changes = {.changed_partitions = -1};
    struct cv_data_file data = {.metrics = {.record_count = 5, .file_size = 1}};
    struct cv_data_file position = {.content = CV_CONTENT_POSITION_DELETES,
                                    .metrics = {.record_count = 3, .file_size = 10}};
    struct cv_data_file equality = {.content = CV_CONTENT_EQUALITY_DELETES,
                                    .metrics = {.record_count = 4, .file_size = 100}};
    struct cv_properties previous = {0};
    struct cv_properties summary = {0};
    static const char *const before[][2] = {
        {"total-records", "100"},        {"total-files-size", "1000"},
        {"total-data-files", "9"},       {"total-delete-files", "1"},
        {"total-position-deletes", "7"}, {"total-equality-deletes", "0"}};
    static const char *const wanted[][2] = {{"deleted-data-files", "1"},
                                            {"deleted-records", "5"},
                                            {"added-delete-files", "2"},
                                            {"added-position-delete-files", "1"},
                                            {"added-equality-delete-files", "1"},
                                            {"added-position-deletes", "3"},
                                            {"added-equality-deletes", "4"},
                                            {"removed-delete-files", "1"},
                                            {"removed-position-delete-files", "1"},
                                            {"removed-position-deletes", "3"},
                                            {"added-files-size", "110"},
                                            {"removed-files-size", "11"},
                                            {"total-records", "95"},
                                            {"total-files-size", "1099"},
                                            {"total-data-files", "8"},
                                            {"total-delete-files", "2"},
                                            {"total-position-deletes", "7"},
                                            {"total-equality-deletes", "4"}};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(before); i++)
        cv_properties_set(&previous, before[i][0], before[i][1]);
    cv_snapshot_changes_add(&changes, &position);
    cv_snapshot_changes_add(&changes, &equality);
    cv_snapshot_changes_remove(&changes, &position);
    cv_snapshot_changes_remove(&changes, &data);
    cv_snapshot_summary_totals(&previous, &changes, &summary);
    assert_int_equal(summary.count, CV_ARRAY_LENGTH(wanted));
    for (size_t i = 0; i < CV_ARRAY_LENGTH(wanted); i++)
        assert_string_equal(cv_properties_get(&summary, wanted[i][0]), wanted[i][1]);
    cv_properties_release(&previous);
    cv_properties_release(&summary);
}

static void missing_totals_stay_missing(void **state)
{
    struct cv_snapshot_changes changes = {.added_data_files = 1, .deleted_records = 5};
    struct cv_properties previous = {0};
    struct cv_properties summary = {0};

    cv_properties_set(&previous, "total-data-files", "many");
    cv_properties_set(&previous, "total-records", "4");
    cv_properties_set(&previous, "total-files-size", "9223372036854775807");
    changes.added_files_size = 1;
    cv_snapshot_summary_totals(&previous, &changes, &summary);
    assert_null(cv_properties_get(&summary, "total-data-files"));
    assert_null(cv_properties_get(&summary, "total-records"));
    assert_null(cv_properties_get(&summary, "total-files-size"));
    assert_null(cv_properties_get(&summary, "total-delete-files"));
    cv_properties_release(&previous);
    cv_properties_release(&summary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_and_totals_of_a_first_append),
        cmocka_unit_test(an_empty_commit_tells_its_partitions),
        cmocka_unit_test(deletes_are_counted_by_kind),
        cmocka_unit_test(missing_totals_stay_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
