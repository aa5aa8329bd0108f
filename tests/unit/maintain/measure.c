/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of a table: avoidable files by partition, what is open, what a rewrite would take. */
#include "../table/fixture.h"

#include "maintain/measure.h"
#include "maintain/open_partitions.h"

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

/* One file of these bytes in a day. */
static void add(struct cv_table *table, int32_t day, int64_t bytes)
{
    struct cv_data_file file = fixture_file(&f, table->metadata->default_spec_id, day);
    struct cv_append append = {.files = &file, .file_count = 1};
    struct cv_append_result result;

    file.metrics.file_size = bytes;
    CV_ASSERT_OK(cv_table_append(table, &append, &result, &err), &err);
}

static struct cv_table_measures measure(struct cv_table *table,
                                        const struct cv_measure_config *config)
{
    static const struct cv_measure_config plain;
    struct cv_table_measures measures;

    CV_ASSERT_OK(cv_table_measure(table, config ? config : &plain, &measures, &err), &err);
    return measures;
}

static const char *const target[] = {"write.target-file-size-bytes=1000"};

/* orders-scenario: files - sum over partitions of ceil(bytes / target). */
static void avoidable_files_are_by_partition(void **state)
{
    struct cv_table *table = fixture_table(&f, "day", target, 1);
    struct cv_table_measures m;

    (void)state;
    for (int i = 0; i < 5; i++)
        add(table, 20000, 300); /* 1,500 bytes: 2 of 5 */
    add(table, 20001, 10);      /* alone: nothing to gain, small as it is */
    add(table, 20002, 2500);
    m = measure(table, NULL);
    assert_int_equal(m.data_files, 7);
    assert_int_equal(m.data_bytes, 1500 + 10 + 2500);
    assert_int_equal(m.records, 70);
    assert_int_equal(m.partitions, 3);
    assert_int_equal(m.avoidable_files, 3);
    assert_int_equal(m.possible_files, 4);
    assert_int_equal(m.mergeable_files, 3);
    assert_int_equal(m.largest_partition_files, 5);
    assert_int_equal(m.target_bytes, 1000);
    assert_int_equal(m.snapshots, 7);
    assert_int_equal(m.manifests, 7);
    assert_int_equal(m.avoidable_manifests, 6);
    assert_int_equal(m.open_partitions, 0);
}

/* Files of 80 % of the target each could be one fewer, but no rewrite would take them. */
static void files_that_no_rewrite_takes_are_not_mergeable(void **state)
{
    struct cv_table *table = fixture_table(&f, "day", target, 1);
    struct cv_table_measures m;

    (void)state;
    for (int i = 0; i < 5; i++)
        add(table, 20000, 800);
    m = measure(table, NULL);
    assert_int_equal(m.avoidable_files, 1);
    assert_int_equal(m.mergeable_files, 0);
}

/* A target for "as large as can be": nothing overflows, and one file would do. */
static void a_target_may_be_the_largest_number(void **state)
{
    static const char *const largest[] = {"write.target-file-size-bytes=9223372036854775807",
                                          "commit.manifest.target-size-bytes=9223372036854775807"};
    struct cv_table *table = fixture_table(&f, "day", largest, 2);
    struct cv_table_measures m;

    (void)state;
    add(table, 20000, 100);
    add(table, 20000, CV_FILE_COUNT_MAX);
    m = measure(table, NULL);
    assert_int_equal(m.avoidable_files, 1);
    assert_int_equal(m.mergeable_files, 1);
    assert_int_equal(m.avoidable_manifests, 1);
}

static bool first_day_is_busy(void *context, const struct cv_partition_spec *spec,
                              const struct cv_value *partition)
{
    (void)context;
    assert_int_equal(spec->field_count, 1);
    return partition->i32 == 20000;
}

static void open_partitions_are_not_judged(void **state)
{
    struct cv_table *table = fixture_table(&f, "day", target, 1);
    struct cv_measure_config busy = {.busy = first_day_is_busy};
    struct cv_measure_config young = {.open_ms = 60000};
    struct cv_table_measures m;

    (void)state;
    for (int i = 0; i < 8; i++)
        add(table, 20000 + i % 2, 10);
    m = measure(table, &busy);
    assert_int_equal(m.avoidable_files, 3);
    assert_int_equal(m.open_partitions, 1);
    assert_int_equal(m.open_partition_files, 4);
    young.now_ms = m.newest_snapshot_ms + 59000;
    m = measure(table, &young);
    assert_int_equal(m.avoidable_files, 0);
    assert_int_equal(m.possible_files, 8);
    assert_int_equal(m.open_partition_files, 8);
    young.now_ms += 2000;
    assert_int_equal(measure(table, &young).avoidable_files, 6);
}

/* Without a partition of time a stream never leaves one: waiting would be for ever. */
static void partitions_that_never_close_count(void **state)
{
    struct cv_table *table = fixture_table(&f, "", target, 1);
    struct cv_measure_config config = {.busy = first_day_is_busy, .open_ms = 60000};

    (void)state;
    for (int i = 0; i < 4; i++)
        add(table, 20000, 10);
    config.now_ms = measure(table, NULL).newest_snapshot_ms;
    assert_int_equal(measure(table, &config).avoidable_files, 3);
}

static void an_empty_table_has_zeros(void **state)
{
    struct cv_table_measures m = measure(fixture_table(&f, "day", NULL, 0), NULL);

    (void)state;
    assert_int_equal(m.data_files + m.avoidable_files + m.manifests + m.snapshots, 0);
    assert_int_equal(m.target_bytes, 536870912); /* Iceberg's default */
}

static void numbers_have_names(void **state)
{
    struct cv_table_measures m = {
        .avoidable_files = 7, .equality_delete_files = 2, .deletion_vectors = 1};
    size_t count;
    char **split = cv_split(&f.arena, cv_table_measure_names(), ',', &count);
    int64_t value;

    (void)state;
    assert_true(cv_table_measure_named(&m, "Avoidable-Files", &value));
    assert_int_equal(value, 7);
    assert_true(cv_table_measure_named(&m, "delete-files", &value));
    assert_int_equal(value, 3);
    assert_false(cv_table_measure_named(&m, "orphans", &value));
    for (size_t i = 0; i < count; i++)
        assert_true(cv_table_measure_named(&m, split[i], &value));
}

/* What the stream wrote is busy until it closes; partitions that never close are not. */
static void the_stream_says_what_is_open(void **state)
{
    struct cv_table *table = fixture_table(&f, "day", target, 1);
    CV_CLEANUP(cv_open_partitions_freep)
    struct cv_open_partitions *open = cv_open_partitions_new(INT64_C(3600) * 1000000);
    CV_CLEANUP(cv_open_partitions_freep)
    struct cv_open_partitions *closed = cv_open_partitions_new(0);
    const struct cv_partition_spec *spec = cv_table_metadata_spec(table->metadata);
    struct cv_data_file first = fixture_file(&f, spec->spec_id, 20000);
    struct cv_data_file second = fixture_file(&f, spec->spec_id, 20001);
    struct cv_partition_field bucket = {.name = "b",
                                        .transform = {.kind = CV_TRANSFORM_BUCKET, .width = 4}};
    struct cv_partition_spec buckets = {
        .spec_id = spec->spec_id, .fields = &bucket, .field_count = 1};

    (void)state;
    cv_open_partitions_note(open, table->metadata, &first, 1);
    cv_open_partitions_note(closed, table->metadata, &first, 1);
    assert_true(cv_open_partitions_busy(open, spec, first.partition));
    assert_false(cv_open_partitions_busy(open, spec, second.partition));
    assert_false(cv_open_partitions_busy(closed, spec, first.partition));
    assert_false(cv_open_partitions_busy(open, &buckets, first.partition));
    for (int32_t day = 0; day < 5000; day++) { /* closed ones are forgotten on the way */
        struct cv_data_file file = fixture_file(&f, spec->spec_id, day);

        cv_open_partitions_note(open, table->metadata, &file, 1);
        cv_open_partitions_note(closed, table->metadata, &file, 1);
    }
    assert_true(cv_open_partitions_busy(open, spec, first.partition));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(avoidable_files_are_by_partition, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_that_no_rewrite_takes_are_not_mergeable, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_target_may_be_the_largest_number, set_up, tear_down),
        cmocka_unit_test_setup_teardown(open_partitions_are_not_judged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(partitions_that_never_close_count, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_table_has_zeros, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_have_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_stream_says_what_is_open, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
