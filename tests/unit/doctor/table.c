/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings about a table, each provoked; the advice; the order of --fix. */
#include "doctor_fixture.h"

#include "iceberg/metadata_change.h"

#include <utime.h>

static struct fixture f;
static struct cv_examination exam;

static int set_up(void **state)
{
    (void)state;
    fixture_open(&f, "sql");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cv_examination_release(&exam);
    fixture_close(&f);
    return 0;
}

static struct cv_examine_config config_of(struct cv_table *table, int64_t now_ms)
{
    return (struct cv_examine_config){
        .table = table,
        .table_name = "lake.shop.orders",
        .config = "lake.yaml",
        .now_ms = now_ms,
        .memory_bytes = (size_t)64 << 20,
        .threads = 1,
    };
}

static void examine_at(struct cv_table *table, int64_t now_ms)
{
    struct cv_examine_config config = config_of(table, now_ms);

    cv_examination_release(&exam);
    CV_ASSERT_OK(cv_examine(&config, &exam, &err), &err);
}

static struct cv_table *filled_table(const char *partitioning, const char *const *properties,
                                     size_t property_count, int commits)
{
    struct cv_table *table = fixture_table(&f, partitioning, properties, property_count);
    struct cv_append_result result;

    for (int i = 0; i < commits; i++)
        CV_ASSERT_OK(fixture_append(&f, table, 1, i, &result), &err);
    return table;
}

static bool stop_at_once(void *context)
{
    (void)context;
    return true;
}

static void a_stop_ends_the_look_at_live_files(void **state)
{
    struct cv_table *table = filled_table("", NULL, 0, 1);
    struct cv_examine_config config = config_of(table, cv_now_ms());

    (void)state;
    config.stopping = stop_at_once;
    CV_ASSERT_FAILS(cv_examine(&config, &exam, &err), CV_CANCELLED, "cancelled", &err);
}

/* Snapshots of a table as if they had come in this pace, the newest one now. */
static int64_t pace(struct cv_table *table, int64_t gap_ms)
{
    struct cv_table_metadata *metadata = table->metadata;
    int64_t now_ms = cv_now_ms();

    for (size_t i = 0; i < metadata->snapshot_count; i++)
        metadata->snapshots[i].timestamp_ms =
            now_ms - gap_ms * (int64_t)(metadata->snapshot_count - 1 - i);
    return now_ms;
}

static const char *const cleaned[] = {"write.metadata.delete-after-commit.enabled=true"};

static void a_good_table_has_nothing(void **state)
{
    struct cv_table *table = filled_table("day", cleaned, 1, 4);

    (void)state;
    examine_at(table, pace(table, 2 * HOUR_MS));
    assert_int_equal(cv_examination_count(&exam), 0);
    assert_int_equal(exam.count, 2); /* notes: the open partition and who holds the bytes */
    assert_found(&exam, "storage-split", CV_SEVERITY_NOTE, 4000 + exam.storage.metadata_bytes,
                 "3.9 KiB live, 0 B held");
}

static void avoidable_files(void **state)
{
    struct cv_table *table = filled_table("day", cleaned, 1, 8);
    const struct cv_finding *finding;

    (void)state;
    examine_at(table, pace(table, 5000));
    finding = assert_found(&exam, "avoidable-files", CV_SEVERITY_WARNING, 7,
                           "8 data files where 1 would do: 7 are avoidable");
    assert_string_equal(finding->command, "calve maintain rewrite-data-files lake.shop.orders "
                                          "--config lake.yaml --min-input-files 2");
    assert_ptr_equal(finding->procedure, cv_procedure_find("rewrite-data-files"));
    assert_int_equal(cv_examination_count(&exam), 1);
}

static void a_partition_that_is_written_is_left_alone(void **state)
{
    struct cv_table *table = filled_table("day", cleaned, 1, 15);
    int64_t now_ms = pace(table, 2 * 60000);

    (void)state;
    examine_at(table, now_ms);
    assert_found(&exam, "open-partition-growth", CV_SEVERITY_NOTE, 15, "15 files in 1 partition");
    assert_not_found(&exam, "avoidable-files");
    assert_not_found(&exam, "trigger-too-short");
    examine_at(table, now_ms + 7 * 60000); /* three pauses later it has aged */
    assert_not_found(&exam, "open-partition-growth");
    assert_found(&exam, "avoidable-files", CV_SEVERITY_WARNING, 14, "");
}

static void trigger_too_short(void **state)
{
    struct cv_table *table = filled_table("day", cleaned, 1, 12);
    const struct cv_finding *finding;

    (void)state;
    examine_at(table, pace(table, 5000));
    finding = assert_found(&exam, "trigger-too-short", CV_SEVERITY_WARNING, 17280,
                           "a commit every 5 seconds: 17280 a day");
    assert_null(finding->procedure);
    examine_at(table, pace(table, 61000));
    assert_not_found(&exam, "trigger-too-short");
}

static void manifest_fragmentation(void **state)
{
    struct cv_table *table = filled_table("", cleaned, 1, 40);
    const struct cv_finding *finding;

    (void)state;
    examine_at(table, pace(table, HOUR_MS));
    finding =
        assert_found(&exam, "manifest-fragmentation", CV_SEVERITY_WARNING, 39, "40 manifests");
    assert_string_equal(finding->expected, "1 manifests, sorted by partition");
}

/* The window is what leaves few enough: of 120 snapshots in 10 days those of 5 days. */
static void snapshot_bloat(void **state)
{
    struct cv_table *table = filled_table("day", cleaned, 1, 120);
    int64_t now_ms = pace(table, 2 * HOUR_MS);
    const struct cv_finding *finding;
    char time[CV_TIME_TEXT_BYTES];

    (void)state;
    examine_at(table, now_ms);
    finding = assert_found(&exam, "snapshot-bloat", CV_SEVERITY_WARNING, 120,
                           "120 snapshots, the oldest 9 days old");
    assert_int_equal(exam.expiry.window_ms, 5 * DAY_MS);
    assert_in_range(exam.expiry.removed, 58, 60);
    cv_format_ms_plain(now_ms - 5 * DAY_MS, time);
    assert_non_null(strstr(finding->command, "--older-than \""));
    assert_non_null(strstr(finding->command, time));
    assert_non_null(strstr(finding->command, "--retain-last 1"));
    examine_at(table, pace(table, 60000)); /* two hours old: an hour is kept */
    assert_int_equal(exam.expiry.window_ms, HOUR_MS);
    examine_at(table, pace(table, 1000)); /* a new table has no history to keep */
    assert_int_equal(exam.expiry.window_ms, 0);
    assert_int_equal(exam.expiry.removed, 119);
}

static void nobody_expires(void **state)
{
    struct cv_table *table = filled_table("day", cleaned, 1, 20);
    int64_t id = table->metadata->snapshots[0].id;

    (void)state;
    examine_at(table, pace(table, 5000));
    assert_found(&exam, "no-maintenance-for-expire-snapshots", CV_SEVERITY_WARNING, 20,
                 "all 20 since the first");
    CV_ASSERT_OK(cv_table_metadata_remove_snapshots(table->metadata, &id, 1, &err), &err);
    examine_at(table, cv_now_ms());
    assert_not_found(&exam, "no-maintenance-for-expire-snapshots");
}

static void metadata_cleanup_off(void **state)
{
    struct cv_table *table = filled_table("day", NULL, 0, 12);
    const struct cv_finding *finding;

    (void)state;
    examine_at(table, cv_now_ms());
    finding =
        assert_found(&exam, "metadata-cleanup-off", CV_SEVERITY_WARNING, 12, "12 are tracked");
    assert_string_equal(finding->command,
                        "calve table set lake.shop.orders --config lake.yaml --property "
                        "write.metadata.delete-after-commit.enabled=true");
    assert_int_equal(finding->properties.count, 1);
}

static void refs_pin_snapshots(void **state)
{
    struct cv_table *table = filled_table("day", cleaned, 1, 3);
    struct cv_snapshot_ref tag = {"audit", table->metadata->snapshots[0].id, true, -1, -1, -1};
    struct cv_snapshot_ref branch = {"next", table->metadata->snapshots[1].id, false, -1, -1, -1};
    struct cv_snapshot_ref ends = {"week", table->metadata->snapshots[1].id, true, -1, -1, DAY_MS};

    (void)state;
    CV_ASSERT_OK(cv_table_metadata_set_ref(table->metadata, &ends, &err), &err);
    CV_ASSERT_OK(cv_table_metadata_set_ref(table->metadata, &branch, &err), &err);
    examine_at(table, cv_now_ms() + 3 * DAY_MS);
    assert_found(&exam, "ref-pins-snapshots", CV_SEVERITY_NOTE, branch.snapshot_id,
                 "branch next holds snapshot");
    CV_ASSERT_OK(cv_table_metadata_remove_ref(table->metadata, "next", &err), &err);
    CV_ASSERT_OK(cv_table_metadata_set_ref(table->metadata, &tag, &err), &err);
    examine_at(table, cv_now_ms() + 3 * DAY_MS);
    assert_found(&exam, "ref-pins-snapshots", CV_SEVERITY_NOTE, tag.snapshot_id, "3 days old");
}

/* A name that somebody chose is one word of the command, whatever it holds. */
static void names_of_others_are_quoted(void **state)
{
    struct cv_table *table = filled_table("day", cleaned, 1, 3);
    struct cv_snapshot_ref branch = {
        "x;rm $HOME", table->metadata->snapshots[0].id, false, -1, -1, -1};
    struct cv_examine_config config = config_of(table, cv_now_ms() + 3 * DAY_MS);

    (void)state;
    CV_ASSERT_OK(cv_table_metadata_set_ref(table->metadata, &branch, &err), &err);
    config.config = "my \"own\" lake`s.yaml";
    CV_ASSERT_OK(cv_examine(&config, &exam, &err), &err);
    assert_string_equal(found(&exam, "ref-pins-snapshots")->command,
                        "calve maintain drop-branch lake.shop.orders --config "
                        "\"my \\\"own\\\" lake\\`s.yaml\" --branch \"x;rm \\$HOME\"");
    assert_string_equal(cv_doctor_quoted("", &f.arena), "\"\"");
    assert_string_equal(cv_doctor_quoted("a\\b", &f.arena), "\"a\\\\b\"");
    assert_string_equal(cv_doctor_quoted("s3://b/t/v1.json", &f.arena), "s3://b/t/v1.json");
}

static void foreign_writers(void **state)
{
    struct cv_table *table = filled_table("day", cleaned, 1, 2);
    struct cv_data_file file = fixture_file(&f, 0, 20000);
    struct cv_properties summary = {0};
    char replace[] = "replace";
    struct cv_append append = {.files = &file, .file_count = 1, .summary = &summary};
    struct cv_append_result result;

    (void)state;
    examine_at(table, cv_now_ms());
    assert_not_found(&exam, "foreign-writer");
    cv_properties_set(&summary, "engine-name", "spark");
    cv_properties_set(&summary, "spark.app.id", "local-1");
    CV_ASSERT_OK(cv_table_append(table, &append, &result, &err), &err);
    examine_at(table, cv_now_ms());
    assert_found(&exam, "foreign-writer", CV_SEVERITY_NOTE, 1, "local-1 committed 1 of the 3");
    for (size_t i = 0; i < table->metadata->snapshots[2].summary.count; i++)
        if (strcmp(table->metadata->snapshots[2].summary.items[i].key, "operation") == 0)
            table->metadata->snapshots[2].summary.items[i].value = replace;
    examine_at(table, cv_now_ms());
    assert_found(&exam, "foreign-writer", CV_SEVERITY_WARNING, 1, "1 of them no append");
    cv_properties_release(&summary);
}

/* Files that nothing names: the young one may be a write on its way. */
static void orphans(void **state)
{
    struct cv_table *table = filled_table("day", cleaned, 1, 2);
    const char *folder = cv_arena_printf(&f.arena, "%s/wh/shop/orders/data", f.folder);
    const char *old = cv_arena_printf(&f.arena, "%s/old.parquet", folder);
    const char *young = cv_arena_printf(&f.arena, "%s/young.parquet", folder);
    struct utimbuf times = {0, cv_now_ms() / 1000 - 4 * 86400};

    (void)state;
    CV_ASSERT_OK(
        cv_store_write(table->store, cv_arena_printf(&f.arena, "file://%s", old), "12345", 5, &err),
        &err);
    CV_ASSERT_OK(
        cv_store_write(table->store, cv_arena_printf(&f.arena, "file://%s", young), "123", 3, &err),
        &err);
    assert_int_equal(utime(old, &times), 0);
    examine_at(table, cv_now_ms());
    assert_true(exam.storage.known);
    assert_int_equal(exam.storage.orphan_files, 1);
    assert_int_equal(exam.storage.orphan_bytes, 5);
    assert_found(&exam, "orphan-dry-run", CV_SEVERITY_WARNING, 1, "1 files of 5 B");
    examine_at(table, cv_now_ms() + HOUR_MS);
    assert_int_equal(exam.storage.orphan_files, 2);
    assert_int_equal(exam.storage.settled_orphan_files, 1);
}

/* What remove-orphan-files leaves alone as Spark does is no finding: --fix could not heal it. */
static void hidden_files_are_not_to_be_removed(void **state)
{
    struct cv_table *table = filled_table("day", cleaned, 1, 2);
    const char *hidden =
        cv_arena_printf(&f.arena, "%s/wh/shop/orders/data/.old.parquet.crc", f.folder);
    struct utimbuf times = {0, cv_now_ms() / 1000 - 4 * 86400};

    (void)state;
    CV_ASSERT_OK(cv_store_write(table->store, cv_arena_printf(&f.arena, "file://%s", hidden),
                                "12345", 5, &err),
                 &err);
    assert_int_equal(utime(hidden, &times), 0);
    examine_at(table, cv_now_ms());
    assert_int_equal(exam.storage.orphan_files, 1);
    assert_int_equal(exam.storage.settled_orphan_files, 0);
    assert_not_found(&exam, "orphan-dry-run");
}

/* A data file on the disk that only an older snapshot names is old; one of the head is live. */
static void older_snapshots_hold_bytes(void **state)
{
    struct cv_table *table = filled_table("day", cleaned, 1, 1);
    struct cv_data_file file = fixture_file(&f, 0, 20000);
    struct cv_snapshot_ref main = {"main", table->metadata->snapshots[0].id, false, -1, -1, -1};
    struct cv_append append = {.files = &file, .file_count = 1};
    struct cv_append_result result;

    (void)state;
    CV_ASSERT_OK(cv_store_write(table->store, file.path, "1234567", 7, &err), &err);
    CV_ASSERT_OK(cv_table_append(table, &append, &result, &err), &err);
    examine_at(table, cv_now_ms());
    assert_int_equal(exam.storage.old_files, 0);
    CV_ASSERT_OK(cv_table_metadata_set_ref(table->metadata, &main, &err), &err); /* rolled back */
    examine_at(table, cv_now_ms());
    assert_int_equal(exam.storage.old_files, 1);
    assert_int_equal(exam.storage.old_bytes, 7);
    assert_int_equal(exam.storage.live_files, 1);
    assert_int_equal(exam.storage.orphan_files, 0);
    assert_true(exam.storage.metadata_files >= 5);
}

static int64_t uploads_begun_ms[3];
static const char *uploads_below; /* of the table's location */
static int aborted;

static enum cv_code list_uploads(struct cv_store *store, const char *prefix,
                                 enum cv_code (*each)(void *context, const struct cv_open_upload *,
                                                      struct cv_error *),
                                 void *context, struct cv_error *error)
{
    for (size_t i = 0; i < 3 && strcmp(prefix, uploads_below) == 0; i++) {
        const struct cv_open_upload upload = {prefix, "id", uploads_begun_ms[i]};

        CV_DO(each(context, &upload, error));
    }
    return CV_OK;
}

static enum cv_code count_abort(struct cv_store *store, const struct cv_open_upload *upload,
                                struct cv_error *error)
{
    aborted++;
    assert_int_equal(upload->begun_ms, uploads_begun_ms[0]);
    return CV_OK;
}

static void uploads_that_nobody_ended_are_found(void **state)
{
    struct cv_table *table = filled_table("day", NULL, 0, 24);
    struct cv_examine_config config = config_of(table, cv_now_ms());
    struct cv_store_ops ops = *table->store->ops;
    struct cv_fix_step steps[CV_FIX_STEPS_MAX];
    size_t count;
    int planned = 0;

    (void)state;
    ops.uploads = list_uploads;
    ops.abort_upload = count_abort;
    table->store->ops = &ops;
    uploads_begun_ms[0] = config.now_ms - 49 * CV_MS_PER_HOUR;
    uploads_begun_ms[1] = config.now_ms - CV_MS_PER_HOUR; /* on its way */
    uploads_begun_ms[2] = -1;                             /* may be */
    uploads_below = table->metadata->location;
    CV_ASSERT_OK(cv_examine(&config, &exam, &err), &err);
    assert_found(&exam, "open-uploads", CV_SEVERITY_WARNING, 1, "the oldest 2 days ago");
    count = cv_fix_plan(&config, &exam, steps);
    for (size_t i = 0; i < count; i++)
        planned += steps[i].aborts_uploads;
    assert_int_equal(planned, 1);
    cv_fix_plan_release(steps, count);
    CV_ASSERT_OK(cv_doctor_abort_uploads(table, &err), &err);
    assert_int_equal(aborted, 1);
    uploads_below = "s3://elsewhere/data";
    cv_properties_set(&table->metadata->properties, "write.data.path", uploads_below);
    CV_ASSERT_OK(cv_doctor_abort_uploads(table, &err), &err);
    assert_int_equal(aborted, 2);
}

static void a_missing_metadata_file_is_told(void **state)
{
    struct cv_examine_config config = config_of(NULL, cv_now_ms());
    const struct cv_finding *finding;

    (void)state;
    config.missing = "file:///wh/shop/orders/metadata/00007-x.metadata.json";
    CV_ASSERT_OK(cv_examine(&config, &exam, &err), &err);
    assert_int_equal(exam.count, 1);
    finding = assert_found(&exam, "catalog-points-to-missing-metadata", CV_SEVERITY_CRITICAL, 1,
                           "00007-x.metadata.json, which is not there");
    assert_string_equal(finding->command,
                        "calve table drop lake.shop.orders --config lake.yaml --yes");
}

/* docs/DOCTOR.md has a row for each kind. */
static void every_finding_is_documented(void **state)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(1 << 20);
    const char *root = getenv("CALVE_SOURCE_ROOT");
    size_t count = 0;

    (void)state;
    CV_ASSERT_OK(cv_file_read(cv_arena_printf(&f.arena, "%s/docs/DOCTOR.md", root ? root : "."),
                              1 << 20, &text, &err),
                 &err);
    for (const char *name; (name = cv_finding_name(count)); count++)
        if (!strstr(cv_buf_text(&text), cv_arena_printf(&f.arena, "`%s`", name)))
            fail_msg("docs/DOCTOR.md lacks %s", name);
    assert_int_equal(count, 26);
}

/* Rewrites, then what follows from them, in the order that the advice of each counts on. */
static void fix_runs_in_order(void **state)
{
    struct cv_table *table = filled_table("day", NULL, 0, 24);
    struct cv_examine_config config = config_of(table, pace(table, 5000));
    struct cv_fix_step steps[CV_FIX_STEPS_MAX];
    static const char *const wanted[] = {"rewrite-data-files", "rewrite-manifests",
                                         "expire-snapshots"};
    size_t count, at = 0;

    (void)state;
    CV_ASSERT_OK(cv_examine(&config, &exam, &err), &err);
    count = cv_fix_plan(&config, &exam, steps);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(wanted); i++) {
        if (!cv_procedure_find(wanted[i]))
            continue;
        assert_string_equal(steps[at++].procedure->name, wanted[i]);
    }
    assert_int_equal(count, at + 1);
    assert_true(steps[at - 1].expires);
    assert_non_null(cv_properties_get(&steps[at - 1].arguments, "older_than"));
    assert_null(steps[at].procedure);
    assert_string_equal(
        cv_properties_get(&steps[at].properties, "write.metadata.delete-after-commit.enabled"),
        "true");
    cv_fix_plan_release(steps, count);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_good_table_has_nothing),
        TEST(a_stop_ends_the_look_at_live_files),
        TEST(avoidable_files),
        TEST(a_partition_that_is_written_is_left_alone),
        TEST(trigger_too_short),
        TEST(manifest_fragmentation),
        TEST(snapshot_bloat),
        TEST(nobody_expires),
        TEST(metadata_cleanup_off),
        TEST(refs_pin_snapshots),
        TEST(names_of_others_are_quoted),
        TEST(foreign_writers),
        TEST(orphans),
        TEST(hidden_files_are_not_to_be_removed),
        TEST(older_snapshots_hold_bytes),
        TEST(uploads_that_nobody_ended_are_found),
        TEST(a_missing_metadata_file_is_told),
        TEST(every_finding_is_documented),
        TEST(fix_runs_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
