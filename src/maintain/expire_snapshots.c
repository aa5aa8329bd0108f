/* SPDX-License-Identifier: Apache-2.0
 *
 * expire_snapshots: the metadata commit first, then the files that only the expired snapshots
 * reached. A run that ends in between leaves orphans, never a broken table. */
#include "maintain/expire_int.h"

#include "base/time.h"
#include "codec/json.h"
#include "maintain/procedure_int.h"

struct arguments {
    const char *older_than;
    int64_t retain_last; /* 0 = not given */
    int64_t max_concurrent_deletes;
    const char *snapshot_ids;
    bool stream_results; /* nothing depends on it */
    bool clean_expired_metadata;
};

#define ARG(field) offsetof(struct arguments, field)

static const struct cv_option options[] = {
    {"older_than", CV_OPTION_TEXT, ARG(older_than), NULL, NULL,
     "Time before which snapshots go; default now minus the table's "
     "history.expire.max-snapshot-age-ms (5 days).",
     0, 0, 0},
    {"retain_last", CV_OPTION_INTEGER, ARG(retain_last), NULL, NULL,
     "How many of each branch stay whatever their age; default the table's "
     "history.expire.min-snapshots-to-keep (1).",
     1, INT32_MAX, 0},
    {"snapshot_ids", CV_OPTION_TEXT, ARG(snapshot_ids), NULL, NULL,
     "Snapshots that go besides, by comma; the rule of age applies to the others.", 0, 0, 0},
    {"max_concurrent_deletes", CV_OPTION_INTEGER, ARG(max_concurrent_deletes), NULL, NULL,
     "Files that are deleted at a time; default one per thread.", 1, CV_THREADS_MAX, 0},
    {"stream_results", CV_OPTION_BOOL, ARG(stream_results), "false", NULL,
     "Taken for the sake of Spark's calls: memory is bounded anyway.", 0, 0, 0},
    {"clean_expired_metadata", CV_OPTION_BOOL, ARG(clean_expired_metadata), "false", NULL,
     "Drop schemas and partition specs that nothing uses any more.", 0, 0, 0},
};

static const struct cv_option_table table = {"maintenance.expire-snapshots", "expiry of snapshots",
                                             options, CV_ARRAY_LENGTH(options)};

static enum cv_code read_ids(const char *text, struct cv_arena *arena,
                             struct cv_expire_rules *rules, struct cv_error *err)
{
    size_t count;
    char **texts = cv_split(arena, text, ',', &count);
    int64_t *ids = cv_arena_array(arena, int64_t, count);

    for (size_t i = 0; i < count; i++)
        if (!cv_parse_i64(cv_str_from(texts[i]), &ids[i]))
            return cv_fail(err, CV_USAGE, "snapshot_ids: \"%.100s\" is not a snapshot id",
                           texts[i]);
    rules->snapshot_ids = ids;
    rules->snapshot_id_count = count;
    return CV_OK;
}

static enum cv_code read_rules(const struct arguments *arguments, struct cv_arena *arena,
                               struct cv_expire_rules *rules, struct cv_error *err)
{
    *rules =
        (struct cv_expire_rules){.now_ms = cv_now_ms(), .older_than_ms = -1, .retain_last = -1};
    if (arguments->older_than) {
        CV_DO(cv_maintain_parse_time("older_than", arguments->older_than, &rules->older_than_ms,
                                     err));
        rules->older_than_ms = CV_MAX(rules->older_than_ms, 0);
    }
    if (arguments->retain_last)
        rules->retain_last = arguments->retain_last;
    if (arguments->snapshot_ids)
        CV_DO(read_ids(arguments->snapshot_ids, arena, rules, err));
    return CV_OK;
}

static void put_row(const int64_t *files, struct cv_buf *rows)
{
    static const struct {
        const char *column;
        enum cv_reached_kind kind;
    } columns[] = {
        {"deleted_data_files_count", CV_REACHED_DATA},
        {"deleted_position_delete_files_count", CV_REACHED_POSITION_DELETES},
        {"deleted_equality_delete_files_count", CV_REACHED_EQUALITY_DELETES},
        {"deleted_manifest_files_count", CV_REACHED_MANIFEST},
        {"deleted_manifest_lists_count", CV_REACHED_MANIFEST_LIST},
        {"deleted_statistics_files_count", CV_REACHED_STATISTICS},
    };
    struct cv_json_writer w = CV_JSON_WRITER(rows);

    cv_json_begin_array(&w);
    cv_json_begin_object(&w);
    for (size_t i = 0; i < CV_ARRAY_LENGTH(columns); i++)
        cv_maintain_put_count(&w, columns[i].column, files[columns[i].kind]);
    cv_json_end_object(&w);
    cv_json_end_array(&w);
}

/* After the commit: a failure leaves files that nothing names any more. */
static enum cv_code delete_files(struct cv_maintenance *maintenance,
                                 const struct arguments *arguments,
                                 const struct cv_removals *removals,
                                 struct cv_maintain_result *result, struct cv_error *err)
{
    int concurrent = arguments->max_concurrent_deletes ? (int)arguments->max_concurrent_deletes
                                                       : maintenance->threads;
    struct cv_removed removed = {0};
    enum cv_code code = cv_removals_run(removals, maintenance, maintenance->table->store,
                                        "expire-snapshots", concurrent, &removed, err);

    put_row(removed.files, &result->rows);
    if (removed.failed)
        cv_maintain_note(result,
                         "%lld files could not be deleted; remove-orphan-files finds them later",
                         (long long)removed.failed);
    if (code == CV_OK)
        return CV_OK;
    cv_context(err, "the snapshots are expired, their files are deleted only in part");
    cv_hint(err, "the table reads as it should; calve maintain remove-orphan-files deletes the "
                 "rest");
    return code;
}

static enum cv_code handle_files(struct cv_maintenance *maintenance,
                                 const struct arguments *arguments,
                                 const struct cv_expire_result *expired,
                                 struct cv_removals *removals, struct cv_maintain_result *result,
                                 struct cv_error *err)
{
    enum cv_code code = cv_expired_files(maintenance, expired, removals, err);

    if (code != CV_OK) {
        if (maintenance->dry_run)
            return code;
        cv_context(err, "the snapshots are expired, but no file is deleted, since what the others "
                        "name cannot be read");
        cv_hint(err, "once it can be read, calve maintain remove-orphan-files deletes the files");
        return code;
    }
    if (!maintenance->dry_run)
        return delete_files(maintenance, arguments, removals, result, err);
    put_row(removals->files, &result->rows);
    cv_maintain_note(result, "would delete %lld files of %lld bytes",
                     (long long)cv_removals_files(removals),
                     (long long)cv_removals_bytes(removals));
    return CV_OK;
}

static enum cv_code tell_and_delete(struct cv_maintenance *maintenance,
                                    const struct arguments *arguments,
                                    const struct cv_expire_rules *rules,
                                    const struct cv_expire_result *expired,
                                    struct cv_maintain_result *result, struct cv_error *err)
{
    static const int64_t none[CV_REACHED_KINDS];
    struct cv_removals removals;
    enum cv_code code;

    result->changed =
        expired->plan.snapshot_count || expired->plan.ref_count || expired->definitions_removed;
    cv_expire_note_gone(expired, maintenance->dry_run, result);
    CV_DO(cv_expire_note_kept(expired, rules, maintenance->dry_run, result, err));
    if (!expired->plan.snapshot_count) {
        put_row(none, &result->rows);
        return CV_OK;
    }
    cv_removals_init(&removals, maintenance->spill_directory);
    code = handle_files(maintenance, arguments, expired, &removals, result, err);
    cv_removals_release(&removals);
    return code;
}

static enum cv_code run(struct cv_maintenance *maintenance, const void *data,
                        struct cv_maintain_result *result, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const struct arguments *arguments = data;
    struct cv_expire expire = {.clean_expired_metadata = arguments->clean_expired_metadata,
                               .dry_run = maintenance->dry_run};
    struct cv_expire_result expired;
    enum cv_code code;

    CV_DO(read_rules(arguments, &arena, &expire.rules, err));
    CV_DO(cv_table_expire(maintenance->table, &expire, &arena, &expired, err));
    code = tell_and_delete(maintenance, arguments, &expire.rules, &expired, result, err);
    cv_table_metadata_free(expired.before);
    return code;
}

const struct cv_procedure cv_procedure_expire_snapshots = {
    .name = "expire-snapshots",
    .spark_name = "expire_snapshots",
    .about = "take old snapshots out and delete what only they reach",
    .arguments = &table,
    .arguments_size = sizeof(struct arguments),
    .schedulable = true,
    .run = run,
};
