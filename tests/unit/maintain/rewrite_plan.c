/* SPDX-License-Identifier: Apache-2.0
 *
 * Planning of rewrite-data-files by the numbers of Iceberg's planner, and its options. */
#include "test.h"

#include "maintain/rewrite_options.h"

#define MIB (INT64_C(1) << 20)

static struct cv_error err;
static struct cv_arena arena;

static int tear_down(void **state)
{
    (void)state;
    cv_arena_release(&arena);
    return 0;
}

static struct cv_rewrite_rules defaults(void)
{
    return (struct cv_rewrite_rules){
        .target_bytes = 512 * MIB,
        .min_bytes = 384 * MIB,
        .max_bytes = 966367641,
        .min_input_files = 5,
        .max_group_bytes = INT64_C(100) << 30,
        .max_group_files = INT64_MAX,
        .max_files = INT64_MAX,
        .delete_file_threshold = 2147483647,
        .delete_ratio_threshold = 0.3,
    };
}

static struct cv_rewrite_group *plan(const struct cv_rewrite_rules *rules,
                                     const struct cv_rewrite_file *files, size_t count,
                                     size_t *ret_count)
{
    struct cv_rewrite_group *groups;

    cv_rewrite_plan(rules, files, count, &arena, &groups, ret_count);
    return groups;
}

/* `count` files of so many MiB in a bucket, with 1,000 rows each. */
static struct cv_rewrite_file *make_files(size_t count, int64_t mib, uint32_t bucket)
{
    struct cv_rewrite_file *files = cv_arena_array(&arena, struct cv_rewrite_file, count);

    for (size_t i = 0; i < count; i++)
        files[i] = (struct cv_rewrite_file){.bytes = mib * MIB, .records = 1000, .bucket = bucket};
    return files;
}

static void counts_of_outputs(void **state)
{
    static const struct {
        int64_t mib, files;
    } cases[] = {{0, 1},    {1, 1},    {511, 1},  {512, 1},    {600, 2},
                 {1024, 2}, {1100, 2}, {1200, 3}, {10240, 20}, {10342, 20}};
    struct cv_rewrite_rules rules = defaults();

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++)
        assert_int_equal(cv_rewrite_output_count(&rules, cases[i].mib * MIB), cases[i].files);
    assert_int_equal(cv_rewrite_ceiling_bytes(&rules), 751619276);
    assert_int_equal(cv_rewrite_split_bytes(&rules, 600 * MIB), 512 * MIB);
    assert_int_equal(cv_rewrite_split_bytes(&rules, 1100 * MIB), 550 * MIB + 5120);
    /* Case 53: a file just above its target is split or kept, never beyond the ceiling. */
    rules.target_bytes = 10 * MIB;
    rules.min_bytes = 7864320;
    rules.max_bytes = 18 * MIB;
    assert_int_equal(cv_rewrite_output_count(&rules, 11 * MIB), 2);
    rules.max_bytes = INT64_MAX;
    assert_true(cv_rewrite_ceiling_bytes(&rules) > 0);
}

static void only_files_out_of_range_are_candidates(void **state)
{
    struct cv_rewrite_rules rules = defaults();
    struct cv_rewrite_file file = {.bytes = 384 * MIB, .records = 1000};

    (void)state;
    assert_null(cv_rewrite_file_reason(&rules, &file));
    file.bytes = 384 * MIB - 1;
    assert_non_null(cv_rewrite_file_reason(&rules, &file));
    file.bytes = rules.max_bytes;
    assert_null(cv_rewrite_file_reason(&rules, &file));
    file.bytes++;
    assert_non_null(cv_rewrite_file_reason(&rules, &file));
    file.bytes = 512 * MIB;
    file.delete_files = 3;
    assert_null(cv_rewrite_file_reason(&rules, &file)); /* how many rows is not known */
    file.known_deletes = 299;
    assert_null(cv_rewrite_file_reason(&rules, &file));
    file.known_deletes = 300;
    assert_non_null(cv_rewrite_file_reason(&rules, &file));
    file.known_deletes = 0;
    rules.delete_file_threshold = 3;
    assert_non_null(cv_rewrite_file_reason(&rules, &file));
    file.delete_files = 0;
    rules.rewrite_all = true;
    assert_non_null(cv_rewrite_file_reason(&rules, &file));
}

static void groups_are_kept_when_they_are_worth_it(void **state)
{
    struct cv_rewrite_rules rules = defaults();
    struct cv_rewrite_file *files = make_files(5, 1, 0);
    struct cv_rewrite_group *groups;
    size_t count;

    (void)state;
    plan(&rules, files, 4, &count);
    assert_int_equal(count, 0); /* fewer than min-input-files */
    groups = plan(&rules, files, 5, &count);
    assert_int_equal(count, 1);
    assert_int_equal(groups[0].count, 5);
    assert_int_equal(groups[0].records, 5000);
    assert_int_equal(groups[0].expected_outputs, 1);
    files = make_files(2, 300, 0);
    groups = plan(&rules, files, 2, &count);
    assert_int_equal(count, 1); /* more than the target together */
    assert_int_equal(groups[0].expected_outputs, 2);
    plan(&rules, files, 1, &count);
    assert_int_equal(count, 0);
    files = make_files(1, 1000, 0);
    plan(&rules, files, 1, &count);
    assert_int_equal(count, 1); /* too large */
    files = make_files(1, 500, 0);
    files[0].delete_files = 1;
    files[0].known_deletes = 5000;
    plan(&rules, files, 1, &count);
    assert_int_equal(count, 1); /* heavy with deletes */
    rules.min_input_files = 1;
    files = make_files(1, 1, 0);
    plan(&rules, files, 1, &count);
    assert_int_equal(count, 0); /* one file alone never is enough */
    plan(&rules, files, 0, &count);
    assert_int_equal(count, 0);
}

/* One open group: a file that does not fit closes it, and later ones do not go back. */
static void packs_in_order(void **state)
{
    struct cv_rewrite_rules rules = defaults();
    struct cv_rewrite_file *files = make_files(6, 100, 0);
    struct cv_rewrite_group *groups;
    size_t count;

    (void)state;
    rules.rewrite_all = true;
    rules.max_group_bytes = 250 * MIB;
    files[2].bytes = 200 * MIB;
    groups = plan(&rules, files, 6, &count);
    assert_int_equal(count, 4);
    assert_int_equal(groups[0].count, 2);
    assert_int_equal(groups[1].count, 1); /* 200 */
    assert_int_equal(groups[2].count, 2);
    assert_int_equal(groups[3].count, 1);
    assert_ptr_equal(groups[1].files[0], &files[2]);
    rules.max_group_bytes = INT64_MAX;
    rules.max_group_files = 4;
    groups = plan(&rules, files, 6, &count);
    assert_int_equal(count, 2);
    assert_int_equal(groups[0].count, 4);
    rules.max_files = 5;
    groups = plan(&rules, files, 6, &count);
    assert_int_equal(count, 2);
    assert_int_equal(groups[1].count, 1);
    rules.max_files = 4;
    plan(&rules, files, 6, &count);
    assert_int_equal(count, 1);
}

static void buckets_stay_apart_and_jobs_have_an_order(void **state)
{
    struct cv_rewrite_rules rules = defaults();
    struct cv_rewrite_file *files = make_files(18, 1, 0);
    struct cv_rewrite_group *groups;
    size_t count;

    (void)state;
    for (size_t i = 0; i < 18; i++) {
        files[i].bucket = i < 12 ? (uint32_t)(i % 2) : 2;
        files[i].bytes = (i < 12 ? i % 2 ? 3 : 1 : 2) * MIB;
    }
    files[17].bucket = 1; /* 6, 7 and 5 files of 6, 20 and 10 MiB */
    groups = plan(&rules, files, 18, &count);
    assert_int_equal(count, 3);
    assert_int_equal(groups[0].bucket, 0);
    assert_int_equal(groups[1].bucket, 1);
    for (size_t i = 0; i < groups[1].count; i++)
        assert_int_equal(groups[1].files[i]->bucket, 1);
    rules.job_order = CV_REWRITE_BYTES_ASC;
    groups = plan(&rules, files, 18, &count);
    assert_int_equal(groups[0].bucket, 0);
    assert_int_equal(groups[1].bucket, 2);
    rules.job_order = CV_REWRITE_BYTES_DESC;
    groups = plan(&rules, files, 18, &count);
    assert_int_equal(groups[0].bucket, 1);
    assert_int_equal(groups[2].bucket, 0);
    rules.job_order = CV_REWRITE_FILES_ASC;
    groups = plan(&rules, files, 18, &count);
    assert_int_equal(groups[0].bucket, 2);
    rules.job_order = CV_REWRITE_FILES_DESC;
    groups = plan(&rules, files, 18, &count);
    assert_int_equal(groups[0].bucket, 1);
}

static void sums_of_absurd_sizes_do_not_wrap(void **state)
{
    struct cv_rewrite_rules rules = defaults();
    struct cv_rewrite_file *files = make_files(5, 1, 0);
    size_t count;

    (void)state;
    for (size_t i = 0; i < 5; i++)
        files[i].bytes = INT64_MAX;
    rules.max_group_bytes = INT64_MAX;
    assert_int_equal(plan(&rules, files, 5, &count)[0].bytes, INT64_MAX);
}

/* --- options --------------------------------------------------------------------------------- */

static enum cv_code read_options(const char *const *pairs, struct cv_rewrite_settings *settings)
{
    struct cv_partition_spec spec = {.spec_id = 3};
    struct cv_table_metadata metadata = {.specs = &spec, .spec_count = 1, .default_spec_id = 3};
    struct cv_rewrite_arguments arguments = {0};

    cv_error_clear(&err);
    CV_ASSERT_OK(cv_options_defaults(&cv_rewrite_option_table, &arguments, &arena, &err), &err);
    for (; *pairs; pairs += 2)
        CV_DO(
            cv_options_set(&cv_rewrite_option_table, &arguments, &arena, pairs[0], pairs[1], &err));
    return cv_rewrite_settings_read(&arguments, &metadata, settings, &err);
}

static void defaults_are_those_of_spark(void **state)
{
    static const char *const none[] = {NULL};
    static const char *const some[] = {"target-file-size-bytes",
                                       "100 MiB",
                                       "min-file-size-bytes",
                                       "0",
                                       "partial-progress.max-failed-commits",
                                       "0",
                                       NULL};
    struct cv_rewrite_settings settings;
    struct cv_rewrite_rules wanted = defaults();

    (void)state;
    CV_ASSERT_OK(read_options(none, &settings), &err);
    assert_int_equal(settings.rules.target_bytes, wanted.target_bytes);
    assert_int_equal(settings.rules.min_bytes, 402653184);
    assert_int_equal(settings.rules.max_bytes, 966367641);
    assert_int_equal(settings.rules.min_input_files, 5);
    assert_int_equal(settings.rules.max_group_bytes, wanted.max_group_bytes);
    assert_int_equal(settings.rules.max_files, INT64_MAX);
    assert_int_equal(settings.rules.delete_file_threshold, 2147483647);
    assert_true(settings.rules.delete_ratio_threshold == 0.3);
    assert_int_equal(settings.max_failed_commits, 10);
    assert_int_equal(settings.spec->spec_id, 3);
    CV_ASSERT_OK(read_options(some, &settings), &err);
    assert_int_equal(settings.rules.target_bytes, 100 * MIB);
    assert_int_equal(settings.rules.min_bytes, 0);
    assert_int_equal(settings.rules.max_bytes, 188743680);
    assert_int_equal(settings.max_failed_commits, 0);
}

static void refuses_what_spark_refuses(void **state)
{
    static const char *const cases[][5] = {
        {"target-file-size-bytes", "0", NULL},
        {"target-file-size-bytes", "100", "min-file-size-bytes", "100", NULL},
        {"target-file-size-bytes", "100", "max-file-size-bytes", "100", NULL},
        {"min-file-size-bytes", "-1", NULL},
        {"min-input-files", "0", NULL},
        {"max-file-group-size-bytes", "0", NULL},
        {"max-files-to-rewrite", "0", NULL},
        {"delete-ratio-threshold", "0", NULL},
        {"delete-ratio-threshold", "1.1", NULL},
        {"delete-ratio-threshold", "x", NULL},
        {"max-concurrent-file-group-rewrites", "0", NULL},
        {"partial-progress.max-commits", "0", NULL},
        {"output-spec-id", "7", NULL},
        {"compression-factor", "0", NULL},
        {"var-length-contribution", "0", NULL},
        {"max-output-size", "0", NULL},
        {"rewrite-job-order", "random", NULL},
        {"sort_order", "id", NULL},
        {"strategy", "zorder", NULL},
    };
    struct cv_rewrite_settings settings;

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++)
        if (read_options(cases[i], &settings) == CV_OK)
            fail_msg("%s = %s is taken", cases[i][0], cases[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_outputs),
        cmocka_unit_test(only_files_out_of_range_are_candidates),
        cmocka_unit_test(groups_are_kept_when_they_are_worth_it),
        cmocka_unit_test(packs_in_order),
        cmocka_unit_test(buckets_stay_apart_and_jobs_have_an_order),
        cmocka_unit_test(sums_of_absurd_sizes_do_not_wrap),
        cmocka_unit_test(defaults_are_those_of_spark),
        cmocka_unit_test(refuses_what_spark_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
