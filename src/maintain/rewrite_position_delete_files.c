/* SPDX-License-Identifier: Apache-2.0
 *
 * The procedure rewrite-position-delete-files: delete files are chosen and grouped by size within
 * their partition, like data files; deletes of data files that are gone are dropped. */
#include "base/map.h"
#include "base/random.h"
#include "data/scan.h"
#include "iceberg/snapshot_files.h"
#include "maintain/position_delete_group.h"
#include "maintain/procedure_int.h"
#include "maintain/rewrite_options.h"
#include "table/rewrite.h"

#include <inttypes.h>
#include <stdlib.h>

#define TARGET_BYTES_DEFAULT INT64_C(67108864)
#define ROUNDS_MAX           4 /* the first one, and three times again after a conflict */

struct arguments {
    const char *where;
    int64_t target_bytes, max_bytes;
    const char *min_bytes;
    int64_t min_input_files;
    bool rewrite_all;
    int64_t max_group_bytes, max_files;
    int64_t max_concurrent;
    bool partial_progress;
    int64_t max_commits;
    int job_order;
};

#define OPTION(key, kind, member, initial, text)                                                   \
    {                                                                                              \
        .name = (key), .type = (kind), .offset = offsetof(struct arguments, member),               \
        .default_text = (initial), .help = (text), .min = 1                                        \
    }

static const struct cv_option options[] = {
    OPTION("where", CV_OPTION_TEXT, where, NULL,
           "Only delete files of partitions that may hold rows of this condition."),
    OPTION("target-file-size-bytes", CV_OPTION_BYTES, target_bytes, NULL,
           "Size of the files written; default write.delete.target-file-size-bytes of the table."),
    OPTION("min-file-size-bytes", CV_OPTION_TEXT, min_bytes, NULL,
           "Smaller files are rewritten; default 75 % of the target."),
    OPTION("max-file-size-bytes", CV_OPTION_BYTES, max_bytes, NULL,
           "Larger files are rewritten; default 180 % of the target."),
    OPTION("min-input-files", CV_OPTION_INTEGER, min_input_files, "5",
           "A group of so many files is rewritten whatever their sizes."),
    OPTION("rewrite-all", CV_OPTION_BOOL, rewrite_all, "false", "Rewrite every file."),
    OPTION("max-file-group-size-bytes", CV_OPTION_BYTES, max_group_bytes, "107374182400",
           "Most bytes that are rewritten together."),
    OPTION("max-files-to-rewrite", CV_OPTION_INTEGER, max_files, NULL,
           "Most files of this run; default no limit."),
    OPTION("max-concurrent-file-group-rewrites", CV_OPTION_INTEGER, max_concurrent, "5",
           "Taken for the sake of Spark's calls: groups are rewritten one after the other."),
    OPTION("partial-progress.enabled", CV_OPTION_BOOL, partial_progress, "false",
           "Commit some groups before all are done."),
    OPTION("partial-progress.max-commits", CV_OPTION_INTEGER, max_commits, "10",
           "Commits of a run with partial progress."),
    {.name = "rewrite-job-order",
     .type = CV_OPTION_CHOICE,
     .offset = offsetof(struct arguments, job_order),
     .default_text = "none",
     .choices = "none|bytes-asc|bytes-desc|files-asc|files-desc",
     .help = "Which groups come first."},
};

static const struct cv_option_table table = {
    "maintenance.rewrite-position-delete-files",
    "Arguments of `calve maintain rewrite-position-delete-files`.", options,
    CV_ARRAY_LENGTH(options)};

struct counts {
    int64_t rewritten_files, added_files, rewritten_bytes, added_bytes;
};

/* One plan and what became of it. */
struct round {
    struct cv_maintenance *maintenance;
    const struct arguments *arguments;
    struct cv_maintain_result *result;
    struct cv_arena arena;
    struct cv_table_metadata *metadata;
    int64_t snapshot_id;
    struct cv_data_settings files;
    struct cv_rewrite_rules rules;
    struct cv_scan_plan *plan; /* keeps the delete files */
    struct cv_map buckets;     /* partition key → index + 1 */
    struct cv_rewrite_file *candidates;
    size_t candidate_count;
    struct cv_rewrite_group *groups;
    size_t group_count;
    struct cv_location_set *live; /* data files */
    struct cv_position_delete_run run;
    struct cv_rewrite_output *outputs; /* by group */
    struct cv_maintain_meter meter;
    size_t committed; /* groups */
    struct counts *counts;
};

static void round_release(struct round *round)
{
    for (size_t i = 0; round->outputs && i < round->group_count; i++)
        cv_rewrite_output_release(&round->outputs[i]);
    free(round->outputs);
    cv_location_set_free(round->live);
    cv_map_release(&round->buckets);
    cv_maintain_meter_release(&round->meter);
    cv_scan_plan_freep(&round->plan);
    cv_table_metadata_freep(&round->metadata);
    cv_arena_release(&round->arena);
}

/* --- planning --------------------------------------------------------------------------------- */

static enum cv_code read_rules(struct round *round, struct cv_error *err)
{
    const struct arguments *arguments = round->arguments;
    struct cv_rewrite_rules *rules = &round->rules;
    int64_t target = TARGET_BYTES_DEFAULT;

    CV_DO(cv_properties_get_i64(&round->metadata->properties, "write.delete.target-file-size-bytes",
                                1, INT64_MAX, &target, err));
    if (arguments->target_bytes)
        target = arguments->target_bytes;
    CV_DO(cv_rewrite_sizes(target, arguments->min_bytes, arguments->max_bytes, rules, err));
    rules->min_input_files = arguments->min_input_files;
    rules->rewrite_all = arguments->rewrite_all;
    rules->max_group_bytes = arguments->max_group_bytes;
    rules->max_group_files = INT64_MAX;
    rules->max_files = arguments->max_files ? arguments->max_files : INT64_MAX;
    rules->delete_file_threshold = INT64_MAX;
    rules->delete_ratio_threshold = 1;
    rules->job_order = (enum cv_rewrite_job_order)arguments->job_order;
    return CV_OK;
}

static enum cv_code read_settings(struct round *round, struct cv_error *err)
{
    const struct cv_properties *properties = &round->metadata->properties;
    const char *granularity = cv_properties_get(properties, "write.delete.granularity");

    CV_DO(read_rules(round, err));
    CV_DO(cv_data_settings_read(
        round->metadata, cv_properties_get(properties, "write.delete.parquet.compression-codec"),
        cv_properties_get(properties, "write.delete.parquet.compression-level"), &round->arena,
        &round->files, err));
    if (granularity && !cv_text_equal_nocase(granularity, "file") &&
        !cv_text_equal_nocase(granularity, "partition"))
        return cv_fail(err, CV_CONFIG,
                       "write.delete.granularity: \"%s\" is neither file nor "
                       "partition",
                       granularity);
    round->run.by_file = !granularity || cv_text_equal_nocase(granularity, "file");
    return CV_OK;
}

/* The files of one partition are a bucket. */
static uint32_t bucket_of(struct round *round, const struct cv_data_file *file)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf key = CV_BUF_INIT(0);
    uintptr_t found;

    cv_data_file_partition_key(file, round->metadata, &key);
    found = (uintptr_t)cv_map_get(&round->buckets, key.data, key.length);
    if (!found) {
        found = round->buckets.count + 1;
        (void)cv_map_set(&round->buckets, key.data, key.length, (void *)found);
    }
    return (uint32_t)(found - 1);
}

static bool is_busy(const struct round *round, const struct cv_data_file *file)
{
    const struct cv_maintenance *maintenance = round->maintenance;
    const struct cv_partition_spec *spec =
        cv_table_metadata_spec_by_id(round->metadata, file->spec_id);

    return maintenance->partition_busy && spec &&
           maintenance->partition_busy(maintenance->context, spec, file->partition);
}

static enum cv_code choose_files(struct round *round, struct cv_error *err)
{
    const struct cv_manifest_entry *const *deletes;
    size_t count;

    cv_scan_plan_deletes(round->plan, &deletes, &count);
    round->candidates = cv_arena_alloc_array(&round->arena, count, sizeof *round->candidates);
    for (size_t i = 0; i < count; i++) {
        const struct cv_data_file *file = &deletes[i]->file;

        if (file->content != CV_CONTENT_POSITION_DELETES || is_busy(round, file))
            continue;
        round->candidates[round->candidate_count++] =
            (struct cv_rewrite_file){.bytes = file->metrics.file_size,
                                     .records = file->metrics.record_count,
                                     .bucket = bucket_of(round, file),
                                     .context = (void *)(uintptr_t)deletes[i]};
    }
    cv_rewrite_plan(&round->rules, round->candidates, round->candidate_count, &round->arena,
                    &round->groups, &round->group_count);
    return cv_maintain_check_stop(round->maintenance, err);
}

/* *ret_found false: the branch has no snapshot. */
static enum cv_code plan_round(struct round *round, bool *ret_found, struct cv_error *err)
{
    struct cv_table *table_now = round->maintenance->table;
    const struct cv_predicate *predicate = NULL;
    const struct cv_snapshot *head;

    round->metadata = cv_table_metadata_copy(table_now->metadata);
    head = cv_table_metadata_head(round->metadata, cv_table_branch(table_now));
    CV_DO(read_settings(round, err));
    if (round->arguments->where)
        CV_TRY(cv_predicate_parse(round->arguments->where,
                                  cv_table_metadata_schema(round->metadata), &round->arena,
                                  &predicate, err),
               err, "where");
    *ret_found = head != NULL;
    if (!head)
        return CV_OK;
    round->snapshot_id = head->id;
    CV_DO(cv_scan_plan_open(table_now->store, round->metadata, head, predicate, &round->plan, err));
    return choose_files(round, err);
}

/* --- live data files -------------------------------------------------------------------------- */

static enum cv_code note_live(struct round *round, const struct cv_manifest_entry *entries,
                              size_t count, struct cv_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (entries[i].status != CV_ENTRY_DELETED)
            CV_DO(cv_location_set_add(round->live, cv_str_from(entries[i].file.path), NULL, err));
    return CV_OK;
}

static enum cv_code find_live(struct round *round, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena scratch = CV_ARENA_INIT;
    struct cv_store *store = round->maintenance->table->store;
    const struct cv_snapshot *snapshot =
        cv_table_metadata_snapshot(round->metadata, round->snapshot_id);
    struct cv_manifest_file *manifests;
    struct cv_manifest_entry *entries;
    size_t manifest_count, count;

    round->live = cv_location_set_new(round->maintenance->memory_bytes / 4, 0, 1);
    CV_DO(cv_snapshot_manifests(store, snapshot, &round->arena, &manifests, &manifest_count, err));
    for (size_t i = 0; i < manifest_count; i++) {
        if (manifests[i].deletes)
            continue;
        CV_DO(cv_maintain_check_stop(round->maintenance, err));
        cv_arena_reset(&scratch);
        CV_DO(cv_snapshot_entries(store, round->metadata, &manifests[i], &scratch, &entries, &count,
                                  err));
        CV_DO(note_live(round, entries, count, err));
    }
    return CV_OK;
}

/* --- running ---------------------------------------------------------------------------------- */

static void note_group(struct round *round, const struct cv_rewrite_group *group, int64_t outputs)
{
    const struct cv_manifest_entry *entry = group->files[0]->context;

    cv_maintain_note(round->result,
                     "%s: %zu delete files of %" PRId64 " bytes into %" PRId64 " (%s)",
                     cv_rewrite_partition_text(round->metadata, entry->file.spec_id,
                                               entry->file.partition, &round->arena),
                     group->count, group->bytes, outputs, group->reason);
}

static void drop_outputs(struct round *round, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++)
        cv_rewrite_output_remove(round->run.store, &round->outputs[i]);
}

static size_t total_files(const struct round *round, size_t first, size_t count, bool outputs)
{
    size_t files = 0;

    for (size_t i = first; i < first + count; i++)
        files += outputs ? round->outputs[i].count : round->groups[i].count;
    return files;
}

/* New files take the highest sequence number of what they replace: it applies to whatever any of
 * the inputs applied to, and the paths say the rest. */
static enum cv_code commit_groups(struct round *round, size_t first, size_t count,
                                  struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_data_file *removed =
        cv_arena_array(&arena, struct cv_data_file, total_files(round, first, count, false));
    struct cv_rewrite_added *added =
        cv_arena_array(&arena, struct cv_rewrite_added, total_files(round, first, count, true));
    struct cv_rewrite rewrite = {
        .start_snapshot_id = round->snapshot_id, .removed = removed, .added = added};
    struct cv_rewrite_result result;

    for (size_t g = first; g < first + count; g++) {
        int64_t sequence = 0;

        for (size_t i = 0; i < round->groups[g].count; i++) {
            const struct cv_manifest_entry *entry = round->groups[g].files[i]->context;

            removed[rewrite.removed_count++] = entry->file;
            sequence = CV_MAX(sequence, entry->sequence_number);
        }
        for (size_t i = 0; i < round->outputs[g].count; i++)
            added[rewrite.added_count++] =
                (struct cv_rewrite_added){round->outputs[g].files[i], sequence};
    }
    return cv_table_rewrite(round->maintenance->table, &rewrite, &result, err);
}

static void count_groups(struct round *round, size_t first, size_t count)
{
    struct counts *counts = round->counts;

    for (size_t g = first; g < first + count; g++) {
        counts->rewritten_files += (int64_t)round->groups[g].count;
        counts->rewritten_bytes += round->groups[g].bytes;
        counts->added_files += (int64_t)round->outputs[g].count;
        for (size_t i = 0; i < round->outputs[g].count; i++)
            counts->added_bytes += round->outputs[g].files[i].metrics.file_size;
        note_group(round, &round->groups[g], (int64_t)round->outputs[g].count);
    }
    round->result->changed = true;
}

static enum cv_code run_groups(struct round *round, size_t first, size_t count,
                               struct cv_error *err)
{
    enum cv_code code = CV_OK;

    for (size_t i = first; i < first + count && code == CV_OK; i++) {
        code = cv_maintain_check_stop(round->maintenance, err);
        if (code == CV_OK)
            code = cv_position_delete_group_run(&round->run, &round->groups[i], &round->outputs[i],
                                                err);
    }
    if (code == CV_OK)
        code = commit_groups(round, first, count, err);
    if (code != CV_OK) {
        if (code != CV_UNKNOWN) /* a commit that may have happened needs its files */
            drop_outputs(round, first, count);
        return code;
    }
    count_groups(round, first, count);
    return CV_OK;
}

static enum cv_code write_groups(struct round *round, struct cv_error *err)
{
    char prefix[CV_UUID_TEXT_BYTES];
    size_t step = round->group_count;
    int64_t bytes = 0;

    for (size_t i = 0; i < round->group_count; i++)
        bytes += round->groups[i].bytes;
    cv_uuid_text(prefix);
    round->run.maintenance = round->maintenance;
    round->run.store = round->maintenance->table->store;
    round->run.metadata = round->metadata;
    round->run.files = &round->files;
    round->run.live = round->live;
    round->run.prefix = prefix;
    round->run.meter = &round->meter;
    round->outputs = cv_alloc(round->group_count * sizeof *round->outputs);
    cv_maintain_meter_init(&round->meter, round->maintenance, "rewrite-position-delete-files",
                           "rewriting delete files", "bytes", bytes);
    if (round->arguments->partial_progress)
        step = (round->group_count + (size_t)round->arguments->max_commits - 1) /
               (size_t)round->arguments->max_commits;
    for (size_t first = 0; first < round->group_count; first += step)
        CV_DO(run_groups(round, first, CV_MIN(step, round->group_count - first), err));
    return CV_OK;
}

static void tell_groups(struct round *round)
{
    for (size_t i = 0; i < round->group_count; i++) {
        round->counts->rewritten_files += (int64_t)round->groups[i].count;
        round->counts->rewritten_bytes += round->groups[i].bytes;
        round->counts->added_files += round->groups[i].expected_outputs;
        note_group(round, &round->groups[i], round->groups[i].expected_outputs);
    }
    round->result->changed = round->group_count > 0;
}

static enum cv_code run_round(struct cv_maintenance *maintenance, const struct arguments *arguments,
                              struct cv_maintain_result *result, struct counts *counts,
                              struct cv_error *err)
{
    CV_CLEANUP(round_release)
    struct round round = {
        .maintenance = maintenance, .arguments = arguments, .result = result, .counts = counts};
    bool found;

    CV_DO(plan_round(&round, &found, err));
    if (!found || !round.group_count)
        return CV_OK;
    if (maintenance->dry_run) {
        tell_groups(&round);
        return CV_OK;
    }
    CV_DO(find_live(&round, err));
    return write_groups(&round, err);
}

/* --- the procedure ---------------------------------------------------------------------------- */

static void write_result(const struct counts *counts, struct cv_buf *rows)
{
    struct cv_json_writer w = CV_JSON_WRITER(rows);

    cv_json_begin_array(&w);
    cv_json_begin_object(&w);
    cv_maintain_put_count(&w, "rewritten_delete_files_count", counts->rewritten_files);
    cv_maintain_put_count(&w, "added_delete_files_count", counts->added_files);
    cv_maintain_put_count(&w, "rewritten_bytes_count", counts->rewritten_bytes);
    cv_maintain_put_count(&w, "added_bytes_count", counts->added_bytes);
    cv_json_end_object(&w);
    cv_json_end_array(&w);
}

static enum cv_code run(struct cv_maintenance *maintenance, const void *arguments,
                        struct cv_maintain_result *result, struct cv_error *err)
{
    struct counts counts = {0};

    for (int i = 1;; i++) {
        enum cv_code code = run_round(maintenance, arguments, result, &counts, err);

        if (code == CV_OK)
            break;
        if (code != CV_CONFLICT || i == ROUNDS_MAX)
            return code;
        cv_maintain_warn(maintenance, "planning again after a concurrent change: %s", err->message);
        cv_error_clear(err);
        CV_DO(cv_table_refresh(maintenance->table, err));
    }
    if (!result->changed)
        cv_maintain_note(result, "the position delete files are as they should be");
    write_result(&counts, &result->rows);
    return CV_OK;
}

const struct cv_procedure cv_procedure_rewrite_position_delete_files = {
    .name = "rewrite-position-delete-files",
    .spark_name = "rewrite_position_delete_files",
    .about = "join position delete files, drop deletes of files that are gone",
    .arguments = &table,
    .arguments_size = sizeof(struct arguments),
    .schedulable = true,
    .run = run,
};
