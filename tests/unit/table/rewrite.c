/* SPDX-License-Identifier: Apache-2.0
 *
 * Replacing files: what the manifests, the summary and the positions look like, and which changes
 * of other writers stand in the way (cases 52 and 53). */
#include "rival.h"

#include "table/expire.h"
#include "table/rewrite.h"

#include "iceberg/metadata_change.h"
#include "table/commit.h"

static struct fixture f; /* whose table is rewritten */

static int set_up_with(const char *extra)
{
    const char *const properties[] = {"commit.retry.min-wait-ms=1", extra ? extra : "a=b"};

    fixture_open(&f, "sql");
    (void)fixture_table(&f, "day", properties, 2);
    rival_open(&f, 10000);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return set_up_with(NULL);
}

static int set_up_v1(void **state)
{
    (void)state;
    return set_up_with("format-version=1");
}

static int tear_down(void **state)
{
    (void)state;
    fixture_close(&rival);
    fixture_close(&f);
    return 0;
}

/* Commits the files with the operation, as another engine does; the snapshot's id. */
static int64_t commit_files(struct fixture *who, const struct cv_data_file *files, size_t count,
                            const char *operation)
{
    struct cv_properties summary = {0};
    struct cv_append append = {.files = files, .file_count = count, .summary = &summary};
    struct cv_append_result result;

    cv_properties_set(&summary, "operation", operation);
    cv_properties_set(&summary, "engine-name", "flink");
    cv_properties_set(&summary, "engine-version", "2.0");
    CV_ASSERT_OK(cv_table_append(who->table, &append, &result, &err), &err);
    cv_properties_release(&summary);
    return result.snapshot_id;
}

static struct cv_data_file deletes_for(struct fixture *who, enum cv_file_content content,
                                       int32_t day, const char *target)
{
    struct cv_data_file file = fixture_file(who, 0, day);
    static const int32_t ids[] = {1};

    file.content = content;
    file.referenced_data_file = target;
    if (content == CV_CONTENT_EQUALITY_DELETES) {
        file.equality_ids = ids;
        file.equality_count = 1;
    }
    return file;
}

/* Two files of day 20000 in a commit each, and one of day 20001 with the first. */
struct planned {
    struct cv_data_file inputs[2];
    struct cv_data_file other;
    struct cv_rewrite_added output;
    int64_t start, first;
};

static struct planned plan(void)
{
    struct planned p = {{fixture_file(&f, 0, 20000), fixture_file(&f, 0, 20000)},
                        fixture_file(&f, 0, 20001),
                        {fixture_file(&f, 0, 20000), CV_SEQUENCE_INHERIT},
                        0,
                        0};
    const struct cv_data_file files[] = {p.inputs[0], p.other};

    p.output.file.metrics.record_count = 20;
    p.output.file.metrics.file_size = 1500;
    p.first = commit_files(&f, files, 2, "append");
    p.start = commit_files(&f, &p.inputs[1], 1, "append");
    return p;
}

static enum cv_code rewrite(const struct planned *p, bool ignore_equality_deletes,
                            struct cv_rewrite_result *ret_result)
{
    struct cv_rewrite_added output = p->output;
    const struct cv_rewrite r = {
        .start_snapshot_id = p->start,
        .removed = p->inputs,
        .removed_count = 2,
        .added = &output,
        .added_count = 1,
        .ignore_equality_deletes = ignore_equality_deletes,
    };

    if (ignore_equality_deletes)
        output.sequence_number =
            cv_table_metadata_snapshot(f.table->metadata, p->start)->sequence_number;
    return cv_table_rewrite(f.table, &r, ret_result, &err);
}

/* The head's entries of this path: status, snapshot and sequence numbers. */
static struct cv_manifest_entry entry_of(const char *path)
{
    struct cv_manifest_entry found = {.status = (enum cv_entry_status) - 1};
    struct cv_manifest_file *rows;
    size_t row_count;

    CV_ASSERT_OK(cv_table_refresh(f.table, &err), &err);
    CV_ASSERT_OK(cv_table_manifests(
                     f.table, cv_table_metadata_head(f.table->metadata, cv_table_branch(f.table)),
                     &f.arena, &rows, &row_count, &err),
                 &err);
    for (size_t i = 0; i < row_count; i++) {
        struct cv_manifest_entry *entries;
        size_t count;

        CV_ASSERT_OK(cv_table_manifest_entries(f.table, &rows[i], &f.arena, &entries, &count, &err),
                     &err);
        for (size_t k = 0; k < count; k++)
            if (strcmp(entries[k].file.path, path) == 0)
                found = entries[k];
    }
    return found;
}

static void files_are_replaced_and_counted(void **state)
{
    static const struct {
        const char *key, *value;
    } wanted[] = {
        {"operation", "replace"},       {"added-data-files", "1"},
        {"deleted-data-files", "2"},    {"added-records", "20"},
        {"deleted-records", "20"},      {"added-files-size", "1500"},
        {"removed-files-size", "2000"}, {"changed-partition-count", "1"},
        {"total-records", "30"},        {"total-data-files", "2"},
        {"total-files-size", "2500"},   {"total-delete-files", "0"},
        {"manifests-created", "3"},     {"manifests-kept", "0"},
        {"manifests-replaced", "2"},    {"engine-name", "calve"},
        {"calve.positions", "0"},
    };
    struct planned p = plan();
    struct cv_rewrite_result result;
    struct cv_manifest_entry entry;

    (void)state;
    CV_ASSERT_OK(rewrite(&p, false, &result), &err);
    assert_int_equal(result.attempts, 1);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(wanted); i++)
        assert_string_equal(fixture_summary(&f, result.snapshot_id, wanted[i].key),
                            wanted[i].value);
    assert_int_equal(fixture_live_files(f.table), 2);
    entry = entry_of(p.inputs[0].path);
    assert_int_equal(entry.status, CV_ENTRY_DELETED);
    assert_int_equal(entry.snapshot_id, result.snapshot_id);
    assert_int_equal(entry.sequence_number, 1);
    assert_int_equal(entry.file_sequence_number, 1);
    entry = entry_of(p.other.path);
    assert_int_equal(entry.status, CV_ENTRY_EXISTING);
    assert_int_equal(entry.snapshot_id, p.first);
    assert_int_equal(entry.sequence_number, 1);
    entry = entry_of(p.output.file.path);
    assert_int_equal(entry.status, CV_ENTRY_ADDED);
    assert_int_equal(entry.sequence_number, 3);
}

/* Manifests of removed entries only do not last, and deleted entries go at the next change. */
static void deleted_entries_do_not_last(void **state)
{
    struct planned p = plan();
    struct cv_rewrite_result result;

    (void)state;
    CV_ASSERT_OK(rewrite(&p, true, &result), &err);
    assert_int_equal(entry_of(p.output.file.path).sequence_number, 2);
    assert_int_equal(entry_of(p.output.file.path).file_sequence_number, 3);
    p.inputs[0] = p.output.file;
    p.inputs[1] = p.other;
    p.start = result.snapshot_id;
    p.output.file = fixture_file(&f, 0, 20001);
    CV_ASSERT_OK(rewrite(&p, false, &result), &err);
    assert_int_equal(entry_of(p.inputs[1].path).status, CV_ENTRY_DELETED);
    assert_string_equal(fixture_summary(&f, result.snapshot_id, "manifests-replaced"), "2");
    assert_int_equal(fixture_live_files(f.table), 1);
}

static void a_v1_table_is_rewritten(void **state)
{
    struct planned p = plan();
    struct cv_rewrite_result result;

    (void)state;
    CV_ASSERT_OK(rewrite(&p, true, &result), &err);
    assert_int_equal(fixture_live_files(f.table), 2);
    assert_int_equal(entry_of(p.other.path).status, CV_ENTRY_EXISTING);
    assert_int_equal(entry_of(p.other.path).snapshot_id, p.first);
}

static void rival_appends(void)
{
    struct cv_data_file file = fixture_file(&rival, 0, 20000);

    (void)commit_files(&rival, &file, 1, "append");
}

/* Case 52 (a). The second attempt writes a list and no manifest. */
static void appends_that_come_between_survive(void **state)
{
    struct planned p = plan();
    struct cv_rewrite_result result;

    (void)state;
    before_swap = rival_appends;
    CV_ASSERT_OK(rewrite(&p, false, &result), &err);
    assert_int_equal(result.attempts, 2);
    assert_int_equal(fixture_live_files(f.table), 3);
    assert_string_equal(fixture_summary(&f, result.snapshot_id, "total-records"), "40");
    assert_string_equal(fixture_summary(&f, result.snapshot_id, "manifests-kept"), "1");
    assert_string_equal(fixture_summary(&f, result.snapshot_id, "deleted-data-files"), "2");
    assert_int_equal(fixture_count_files(&f, "-m"), 2 + 1 + 3);
    assert_int_equal(fixture_count_files(&f, "snap-"), 4);
}

static struct planned planned;

static void rival_deletes_positions(void)
{
    struct cv_data_file file =
        deletes_for(&rival, CV_CONTENT_POSITION_DELETES, 20000, planned.inputs[1].path);

    (void)commit_files(&rival, &file, 1, "overwrite");
}

/* Case 52 (b), before the first attempt and between two. */
static void new_position_deletes_stand_in_the_way(void **state)
{
    size_t manifests;

    (void)state;
    for (int first = 0; first < 2; first++) {
        struct cv_rewrite_result result;

        planned = plan();
        manifests = fixture_count_files(&f, "-m");
        if (first)
            rival_deletes_positions();
        else
            before_swap = rival_deletes_positions;
        CV_ASSERT_FAILS(rewrite(&planned, true, &result), CV_CONFLICT,
                        "(overwrite by flink 2.0 at ", &err);
        assert_non_null(strstr(err.message, "added position deletes that apply to"));
        assert_non_null(strstr(err.message, planned.inputs[1].path));
        assert_int_equal(fixture_count_files(&f, "-m"), manifests + 1);
    }
}

/* A delete file that names one data file applies to it wherever it lies itself, as after a change
 * of the partitioning. */
static void so_do_those_of_another_partition(void **state)
{
    struct cv_rewrite_result result;
    struct cv_data_file file;

    (void)state;
    planned = plan();
    file = deletes_for(&rival, CV_CONTENT_POSITION_DELETES, 20001, planned.inputs[1].path);
    (void)commit_files(&rival, &file, 1, "overwrite");
    CV_ASSERT_FAILS(rewrite(&planned, true, &result), CV_CONFLICT,
                    "added position deletes that apply to", &err);
    assert_non_null(strstr(err.message, planned.inputs[1].path));
}

static void deletes_of_other_files_do_not(void **state)
{
    struct cv_column_metrics bounds = {.field_id = 2147483546,
                                       .column_size = -1,
                                       .value_count = -1,
                                       .null_count = -1,
                                       .nan_count = -1};
    struct cv_rewrite_result result;
    struct cv_data_file files[4];

    (void)state;
    planned = plan();
    files[0] = deletes_for(&rival, CV_CONTENT_POSITION_DELETES, 20000, "file:///elsewhere");
    files[1] = deletes_for(&rival, CV_CONTENT_POSITION_DELETES, 20001, NULL);
    files[2] = deletes_for(&rival, CV_CONTENT_EQUALITY_DELETES, 20001, NULL);
    files[3] = deletes_for(&rival, CV_CONTENT_POSITION_DELETES, 20000, NULL);
    bounds.lower = cv_str_from(planned.other.path);
    bounds.upper = bounds.lower;
    files[3].metrics.columns = &bounds;
    files[3].metrics.column_count = 1;
    (void)commit_files(&rival, files, 4, "overwrite");
    CV_ASSERT_OK(rewrite(&planned, false, &result), &err);
    assert_int_equal(fixture_live_files(f.table), 6);
}

/* Case 52 (c). */
static void equality_deletes_apply_to_an_older_number(void **state)
{
    struct cv_rewrite_result result;
    struct cv_data_file file;

    (void)state;
    planned = plan();
    file = deletes_for(&rival, CV_CONTENT_EQUALITY_DELETES, 20000, NULL);
    (void)commit_files(&rival, &file, 1, "overwrite");
    CV_ASSERT_FAILS(rewrite(&planned, false, &result), CV_CONFLICT, "added equality deletes", &err);
    CV_ASSERT_OK(rewrite(&planned, true, &result), &err);
    assert_int_equal(entry_of(planned.output.file.path).sequence_number, 2);
    assert_int_equal(entry_of(file.path).sequence_number, 3);
    assert_string_equal(fixture_summary(&f, result.snapshot_id, "total-equality-deletes"), "10");
}

static void rival_compacts(void)
{
    struct cv_rewrite_added output = {fixture_file(&rival, 0, 20000), CV_SEQUENCE_INHERIT};
    struct cv_properties summary = {0};
    const struct cv_rewrite r = {.start_snapshot_id = planned.start,
                                 .removed = &planned.inputs[1],
                                 .removed_count = 1,
                                 .added = &output,
                                 .added_count = 1,
                                 .summary = &summary};
    struct cv_rewrite_result result;

    cv_properties_set(&summary, "engine-name", "spark");
    cv_properties_set(&summary, "engine-version", "4.0.1");
    CV_ASSERT_OK(cv_table_rewrite(rival.table, &r, &result, &err), &err);
    cv_properties_release(&summary);
}

/* Case 52 (d): also where the deleted entry is no longer to be seen. */
static void inputs_that_are_gone_stand_in_the_way(void **state)
{
    struct cv_rewrite_result result;

    (void)state;
    planned = plan();
    before_swap = rival_compacts;
    CV_ASSERT_FAILS(rewrite(&planned, true, &result), CV_CONFLICT,
                    "1 of 2 files are no longer in the table; snapshot ", &err);
    assert_non_null(strstr(err.message, "(replace by spark 4.0.1 at "));
    assert_non_null(strstr(err.message, planned.inputs[1].path));
    rival_appends();
    CV_ASSERT_FAILS(rewrite(&planned, true, &result), CV_CONFLICT, "(replace by spark", &err);
    assert_int_equal(fixture_live_files(f.table), 4);
}

/* Case 52 (e). */
static void a_lost_start_stands_in_the_way(void **state)
{
    struct cv_expire expire = {
        .rules = {.now_ms = INT64_MAX / 2, .older_than_ms = INT64_MAX / 2, .retain_last = 1}};
    struct cv_rewrite_result result;
    struct cv_expire_result expired;

    (void)state;
    planned = plan();
    rival_appends();
    CV_ASSERT_OK(cv_table_expire(rival.table, &expire, &f.arena, &expired, &err), &err);
    cv_table_metadata_free(expired.before);
    CV_ASSERT_FAILS(rewrite(&planned, true, &result), CV_CONFLICT, "it was expired", &err);
}

static enum cv_code tag_start(void *context, struct cv_commit *commit,
                              struct cv_table_metadata *next, bool *ret_done,
                              struct cv_error *error)
{
    struct cv_snapshot_ref ref = {"kept", planned.start, true, -1, -1, -1};

    (void)context;
    (void)commit;
    *ret_done = false;
    return cv_table_metadata_set_ref(next, &ref, error);
}

/* The start is there, but not what came between: nobody can say whether that was deletes. */
static void an_expired_snapshot_between_too(void **state)
{
    const struct cv_commit_operation operation = {.build = tag_start};
    struct cv_expire expire = {
        .rules = {.now_ms = INT64_MAX / 2, .older_than_ms = INT64_MAX / 2, .retain_last = 1}};
    struct cv_commit_outcome outcome;
    struct cv_rewrite_result result;
    struct cv_expire_result expired;

    (void)state;
    planned = plan();
    CV_ASSERT_OK(cv_commit_run(rival.table, &operation, &outcome, &err), &err);
    rival_appends();
    rival_appends();
    CV_ASSERT_OK(cv_table_expire(rival.table, &expire, &f.arena, &expired, &err), &err);
    assert_int_equal(expired.plan.snapshot_count, 2);
    cv_table_metadata_free(expired.before);
    CV_ASSERT_FAILS(rewrite(&planned, true, &result), CV_CONFLICT, "(append by flink 2.0 at ",
                    &err);
    assert_non_null(strstr(err.message, " were expired"));
}

static enum cv_code roll_back(void *context, struct cv_commit *commit,
                              struct cv_table_metadata *next, bool *ret_done,
                              struct cv_error *error)
{
    struct cv_snapshot_ref ref = {"main", planned.first, false, -1, -1, -1};

    (void)context;
    (void)commit;
    *ret_done = false;
    return cv_table_metadata_set_ref(next, &ref, error);
}

static void a_rolled_back_start_too(void **state)
{
    const struct cv_commit_operation operation = {.build = roll_back};
    struct cv_rewrite_result result;
    struct cv_commit_outcome outcome;

    (void)state;
    planned = plan();
    CV_ASSERT_OK(cv_commit_run(rival.table, &operation, &outcome, &err), &err);
    CV_ASSERT_FAILS(rewrite(&planned, true, &result), CV_CONFLICT, "it was rolled back", &err);
}

static void delete_files_are_replaced_too(void **state)
{
    struct cv_rewrite_added output;
    struct cv_data_file files[2];
    struct cv_rewrite r = {
        .removed = files, .removed_count = 2, .added = &output, .added_count = 1};
    struct cv_rewrite_result result;

    (void)state;
    planned = plan();
    files[0] = deletes_for(&f, CV_CONTENT_POSITION_DELETES, 20000, NULL);
    files[1] = deletes_for(&f, CV_CONTENT_POSITION_DELETES, 20000, NULL);
    r.start_snapshot_id = commit_files(&f, files, 2, "overwrite");
    output =
        (struct cv_rewrite_added){deletes_for(&f, CV_CONTENT_POSITION_DELETES, 20000, NULL), 3};
    CV_ASSERT_OK(cv_table_rewrite(f.table, &r, &result, &err), &err);
    assert_string_equal(fixture_summary(&f, result.snapshot_id, "removed-delete-files"), "2");
    assert_string_equal(fixture_summary(&f, result.snapshot_id, "added-position-delete-files"),
                        "1");
    assert_string_equal(fixture_summary(&f, result.snapshot_id, "total-delete-files"), "1");
    assert_string_equal(fixture_summary(&f, result.snapshot_id, "manifests-kept"), "2");
    assert_int_equal(entry_of(output.file.path).sequence_number, 3);
    r = (struct cv_rewrite){
        .start_snapshot_id = result.snapshot_id, .removed = &output.file, .removed_count = 1};
    CV_ASSERT_OK(cv_table_rewrite(f.table, &r, &result, &err), &err);
    assert_string_equal(fixture_summary(&f, result.snapshot_id, "total-delete-files"), "0");
    assert_int_equal(fixture_live_files(f.table), 3);
}

static void a_rewrite_never_adds_rows(void **state)
{
    struct cv_rewrite_result result;

    (void)state;
    planned = plan();
    planned.output.file.metrics.record_count = 21;
    CV_ASSERT_FAILS(rewrite(&planned, false, &result), CV_INTERNAL, "20 rows would leave 21", &err);
}

/* Else a delete that came meanwhile would not apply to it. */
static void overlooked_deletes_need_an_old_number(void **state)
{
    struct cv_rewrite r = {.removed_count = 1, .added_count = 1, .ignore_equality_deletes = true};
    struct cv_rewrite_result result;

    (void)state;
    planned = plan();
    r.start_snapshot_id = planned.start;
    r.removed = planned.inputs;
    r.added = &planned.output;
    planned.output.file.metrics.record_count = 10;
    CV_ASSERT_FAILS(cv_table_rewrite(f.table, &r, &result, &err), CV_INTERNAL,
                    "has a newer sequence number", &err);
    planned.output.sequence_number = 3;
    CV_ASSERT_FAILS(cv_table_rewrite(f.table, &r, &result, &err), CV_INTERNAL,
                    "has a newer sequence number", &err);
}

/* Case 53: what the parent does not tell stays untold. */
static void unknown_totals_stay_absent(void **state)
{
    struct cv_properties summary = {0};
    struct cv_append append = {.summary = &summary};
    struct cv_append_result appended;
    struct cv_rewrite_result result;

    (void)state;
    planned = plan();
    cv_properties_set(&summary, "total-records", "many");
    CV_ASSERT_OK(cv_table_append(f.table, &append, &appended, &err), &err);
    cv_properties_release(&summary);
    CV_ASSERT_OK(rewrite(&planned, false, &result), &err);
    assert_string_equal(fixture_summary(&f, result.snapshot_id, "total-records"), "absent");
    assert_string_equal(fixture_summary(&f, result.snapshot_id, "total-data-files"), "2");
}

static void append_of_job_by(struct fixture *who, const char *job, int64_t epoch, size_t partitions)
{
    struct cv_buf offsets = CV_BUF_INIT(0);
    struct cv_append_result result;
    struct cv_append append = {.query_id = cv_arena_printf(&f.arena, "q-%s", job),
                               .epoch = epoch,
                               .job = job,
                               .cluster_id = "c"};

    cv_buf_append_text(&offsets, "{\"t\":{");
    for (size_t i = 0; i < partitions; i++)
        cv_buf_printf(&offsets, "%s\"%zu\":%lld", i ? "," : "", i, (long long)epoch * 1000);
    cv_buf_append_text(&offsets, "}}");
    append.offsets_json = cv_buf_text(&offsets);
    CV_ASSERT_OK(cv_table_append(who->table, &append, &result, &err), &err);
    cv_buf_release(&offsets);
}

static void append_of_job(const char *job, int64_t epoch, size_t partitions)
{
    append_of_job_by(&f, job, epoch, partitions);
}

static void assert_position(const char *job, int64_t snapshot_id, int64_t epoch, const char *end)
{
    struct cv_position position;

    CV_ASSERT_OK(cv_position_find_job(f.table, job, &f.arena, &position, &err), &err);
    assert_int_equal(position.snapshot_id, snapshot_id);
    assert_int_equal(position.epoch, epoch);
    assert_true(cv_text_ends_with(position.offsets_json, end));
}

/* Spark, Flink and Kafka Connect find what they look for in the rewrite too, so nothing before it
 * has to stay for them. */
static void the_keys_of_other_streams_go_along(void **state)
{
    static const char *const keys[] = {"flink.job-id", "flink.operator-id",
                                       "flink.max-committed-checkpoint-id",
                                       "kafka.connect.offsets.control.group"};
    static const char *const values[] = {"f1", "o1", "12", "{\"0\":7}"};
    struct cv_expire expire = {
        .rules = {.now_ms = INT64_MAX / 2, .older_than_ms = INT64_MAX / 2, .retain_last = 1}};
    struct cv_properties summary = {0};
    struct cv_append append = {.summary = &summary};
    struct cv_append_result appended;
    struct cv_rewrite_result result;
    struct cv_expire_result expired;

    (void)state;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(keys); i++)
        cv_properties_set(&summary, keys[i], values[i]);
    CV_ASSERT_OK(cv_table_append(f.table, &append, &appended, &err), &err);
    cv_properties_release(&summary);
    append_of_job("old", 4, 1);
    append_of_job("new", 5, 1);
    planned = plan();
    CV_ASSERT_OK(rewrite(&planned, false, &result), &err);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(keys); i++)
        assert_string_equal(fixture_summary(&f, result.snapshot_id, keys[i]), values[i]);
    assert_string_equal(fixture_summary(&f, result.snapshot_id, "spark.sql.streaming.queryId"),
                        "q-new");
    assert_string_equal(fixture_summary(&f, result.snapshot_id, "spark.sql.streaming.epochId"),
                        "5");
    CV_ASSERT_OK(cv_table_expire(f.table, &expire, &f.arena, &expired, &err), &err);
    cv_table_metadata_free(expired.before);
    assert_int_equal(f.table->metadata->snapshot_count, 1);
}

/* Two jobs, one with offsets too long for a summary: both go along, also a second time. */
static void the_position_of_each_job_goes_along(void **state)
{
    struct cv_expire expire = {
        .rules = {.now_ms = INT64_MAX / 2, .older_than_ms = INT64_MAX / 2, .retain_last = 1}};
    struct cv_rewrite_result result;
    struct cv_expire_result expired;

    (void)state;
    append_of_job("long", 3, 1000);
    append_of_job("short", 6, 2);
    append_of_job("short", 7, 2);
    planned = plan();
    before_swap = rival_appends;
    CV_ASSERT_OK(rewrite(&planned, false, &result), &err);
    assert_string_equal(fixture_summary(&f, result.snapshot_id, "calve.positions"), "2");
    assert_position("short", result.snapshot_id, 7, "\"1\":7000}}");
    assert_position("long", result.snapshot_id, 3, "\"999\":3000}}");
    append_of_job("short", 8, 2);
    planned.start = result.snapshot_id;
    planned.inputs[0] = planned.output.file;
    planned.inputs[1] = planned.other;
    planned.output.file = fixture_file(&f, 0, 20000);
    CV_ASSERT_OK(rewrite(&planned, false, &result), &err);
    assert_position("short", result.snapshot_id, 8, "\"1\":8000}}");
    assert_position("long", result.snapshot_id, 3, "\"999\":3000}}");
    CV_ASSERT_OK(cv_table_expire(f.table, &expire, &f.arena, &expired, &err), &err);
    cv_table_metadata_free(expired.before);
    assert_position("long", result.snapshot_id, 3, "\"999\":3000}}");
}

static void rival_streams(void)
{
    append_of_job_by(&rival, "long", 4, 1000);
}

/* What was read for the first attempt is old at the second. */
static void a_position_that_comes_between_goes_along(void **state)
{
    struct cv_rewrite_result result;

    (void)state;
    append_of_job("long", 3, 1000);
    planned = plan();
    before_swap = rival_streams;
    CV_ASSERT_OK(rewrite(&planned, false, &result), &err);
    assert_int_equal(result.attempts, 2);
    assert_position("long", result.snapshot_id, 4, "\"999\":4000}}");
}

/* Another compaction of delete files keeps their sequence number: nothing new is deleted. */
static void older_deletes_in_new_files_are_no_conflict(void **state)
{
    struct cv_rewrite_added output;
    struct cv_data_file deletes;
    struct cv_rewrite r = {
        .removed = &deletes, .removed_count = 1, .added = &output, .added_count = 1};
    struct cv_rewrite_result result;

    (void)state;
    planned = plan();
    deletes = deletes_for(&rival, CV_CONTENT_POSITION_DELETES, 20000, planned.inputs[0].path);
    planned.start = commit_files(&rival, &deletes, 1, "overwrite");
    output = (struct cv_rewrite_added){
        deletes_for(&rival, CV_CONTENT_POSITION_DELETES, 20000, planned.inputs[0].path), 3};
    r.start_snapshot_id = planned.start;
    CV_ASSERT_OK(cv_table_rewrite(rival.table, &r, &result, &err), &err);
    CV_ASSERT_OK(cv_table_refresh(f.table, &err), &err);
    CV_ASSERT_OK(rewrite(&planned, true, &result), &err);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(files_are_replaced_and_counted),
        TEST(deleted_entries_do_not_last),
        cmocka_unit_test_setup_teardown(a_v1_table_is_rewritten, set_up_v1, tear_down),
        TEST(appends_that_come_between_survive),
        TEST(new_position_deletes_stand_in_the_way),
        TEST(so_do_those_of_another_partition),
        TEST(deletes_of_other_files_do_not),
        TEST(equality_deletes_apply_to_an_older_number),
        TEST(inputs_that_are_gone_stand_in_the_way),
        TEST(a_lost_start_stands_in_the_way),
        TEST(an_expired_snapshot_between_too),
        TEST(a_rolled_back_start_too),
        TEST(delete_files_are_replaced_too),
        TEST(a_rewrite_never_adds_rows),
        TEST(overlooked_deletes_need_an_old_number),
        TEST(unknown_totals_stay_absent),
        TEST(the_position_of_each_job_goes_along),
        TEST(a_position_that_comes_between_goes_along),
        TEST(older_deletes_in_new_files_are_no_conflict),
        TEST(the_keys_of_other_streams_go_along),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
