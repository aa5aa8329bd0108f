/* SPDX-License-Identifier: Apache-2.0
 *
 * The procedure rewrite-data-files: plans, rewrites groups side by side, commits all at once or,
 * with partial progress, some at a time. Groups that are lost to concurrent changes are planned
 * again, from the table as it is then. */
#include "base/random.h"
#include "base/time.h"
#include "maintain/parallel.h"
#include "maintain/procedure_int.h"
#include "maintain/rewrite_commit.h"

#include <inttypes.h>
#include <stdlib.h>

#define ROUNDS_MAX      4 /* the first one, and three times again what was lost */
#define GROUP_BYTES_MIN ((size_t)48 << 20)

struct job {
    struct cv_maintenance *maintenance;
    const struct cv_rewrite_arguments *arguments;
    struct cv_maintain_result *result;
    struct cv_table *table;
    struct cv_table *branch_table; /* owned: of the argument `branch` */
    char prefix[CV_UUID_TEXT_BYTES];
    atomic_int_fast64_t next_task;
    struct cv_map lost; /* paths of data files to plan again */
    int64_t rewritten_files, added_files, rewritten_bytes, failed_files, removed_deletes;
    int64_t failed_commits;
};

static void job_release(struct job *job)
{
    cv_map_release(&job->lost);
    cv_table_free(job->branch_table);
}

/* Everything of one plan. */
struct round {
    struct job *job;
    struct cv_arena arena;
    struct cv_table_metadata *metadata;
    struct cv_rewrite_settings settings;
    struct cv_sort_plan sort;
    struct cv_rewrite_selection selection;
    struct cv_rewrite_run run;
    struct cv_maintain_meter meter;
    struct cv_rewrite_part *parts;
    struct cv_rewrite_committing committing;
    int workers;
    size_t first; /* part of this batch */
};

static void round_release(struct round *round)
{
    for (size_t i = 0; round->parts && i < round->selection.group_count; i++)
        cv_rewrite_output_release(&round->parts[i].output);
    free(round->parts);
    cv_rewrite_committing_release(&round->committing);
    cv_maintain_meter_release(&round->meter);
    cv_rewrite_selection_release(&round->selection);
    cv_table_metadata_free(round->metadata);
    cv_arena_release(&round->arena);
}

/* --- what is told ---------------------------------------------------------------------------- */

static const char *partition_text(struct round *round, const struct cv_rewrite_bucket *bucket)
{
    if (!bucket->one_partition)
        return cv_arena_printf(&round->arena, "partition spec %d", bucket->spec_id);
    return cv_rewrite_partition_text(round->metadata, bucket->spec_id, bucket->partition,
                                     &round->arena);
}

static void note_group(struct round *round, const struct cv_rewrite_group *group,
                       const struct cv_rewrite_ways *ways, int64_t outputs)
{
    cv_maintain_note(round->job->result,
                     "%s: %zu files of %" PRId64 " bytes into %" PRId64 " (%s); %zu copied by row "
                     "group, %zu by page, %zu decoded%s%s",
                     partition_text(round, &round->selection.buckets[group->bucket]), group->count,
                     group->bytes, outputs, group->reason, ways->copied, ways->merged,
                     ways->decoded, ways->reason ? ": " : "", ways->reason ? ways->reason : "");
}

static void note_left(struct round *round)
{
    const struct cv_rewrite_selection *selection = &round->selection;

    if (selection->busy_files)
        cv_maintain_note(round->job->result,
                         "%" PRId64 " files are in partitions that the stream writes: left alone",
                         selection->busy_files);
    if (selection->left_files)
        cv_maintain_note(round->job->result,
                         "%" PRId64 " files did not fit into the memory for planning: run it again",
                         selection->left_files);
}

static void write_result(struct job *job)
{
    struct cv_json_writer w = CV_JSON_WRITER(&job->result->rows);

    cv_json_begin_array(&w);
    cv_json_begin_object(&w);
    cv_maintain_put_count(&w, "rewritten_data_files_count", job->rewritten_files);
    cv_maintain_put_count(&w, "added_data_files_count", job->added_files);
    cv_maintain_put_count(&w, "rewritten_bytes_count", job->rewritten_bytes);
    cv_maintain_put_count(&w, "failed_data_files_count", job->failed_files);
    cv_maintain_put_count(&w, "removed_delete_files_count", job->removed_deletes);
    cv_json_end_object(&w);
    cv_json_end_array(&w);
}

/* --- a plan ---------------------------------------------------------------------------------- */

static enum cv_code read_sort(struct round *round, struct cv_error *err)
{
    const struct cv_rewrite_arguments *arguments = round->job->arguments;
    const struct cv_schema *schema = cv_table_metadata_schema(round->metadata);
    const struct cv_sort_order *order = cv_table_metadata_sort_order(round->metadata);

    if (arguments->strategy != CV_REWRITE_SORT)
        return CV_OK;
    round->run.sort = &round->sort;
    if (arguments->sort_order) {
        CV_DO(cv_sort_plan_parse(arguments->sort_order, schema, arguments->var_length_contribution,
                                 arguments->max_output_size, &round->arena, &round->sort, err));
    } else if (order && order->field_count) {
        CV_DO(cv_sort_plan_of_order(order, schema, &round->arena, &round->sort, err));
    } else {
        (void)cv_fail(err, CV_USAGE,
                      "the table has no sort order and no sort_order is given: nothing to sort by");
        cv_hint(err, "write --sort-order \"column DESC NULLS LAST, …\"");
        return CV_USAGE;
    }
    if (order && cv_sort_plan_gives_order(&round->sort, order))
        round->run.sort_order_id = order->order_id;
    return CV_OK;
}

static enum cv_code plan_round(struct round *round, const struct cv_map *only, struct cv_error *err)
{
    struct job *job = round->job;
    const struct cv_predicate *predicate = NULL;

    round->metadata = cv_table_metadata_copy(job->table->metadata);
    CV_DO(cv_rewrite_settings_read(job->arguments, round->metadata, &round->settings, err));
    CV_DO(read_sort(round, err));
    CV_DO(
        cv_data_settings_read(round->metadata, NULL, NULL, &round->arena, &round->run.files, err));
    if (job->arguments->where)
        CV_TRY(cv_predicate_parse(job->arguments->where, cv_table_metadata_schema(round->metadata),
                                  &round->arena, &predicate, err),
               err, "where");

    const struct cv_rewrite_selecting selecting = {
        .maintenance = job->maintenance,
        .store = job->table->store,
        .metadata = round->metadata,
        .branch = cv_table_branch(job->table),
        .settings = &round->settings,
        .predicate = predicate,
        .only = only,
        .memory_bytes = job->maintenance->memory_bytes / 4,
    };

    return cv_rewrite_select(&selecting, &round->selection, err);
}

/* A quarter of the memory is left to what is not counted: buffers of the store, threads. */
static void prepare_run(struct round *round)
{
    struct job *job = round->job;
    const struct cv_rewrite_selection *selection = &round->selection;
    size_t memory = job->maintenance->memory_bytes / 4 * 3;
    size_t planned = CV_MIN(selection->arena.bytes, memory / 2);
    size_t workers = (size_t)CV_MIN(job->maintenance->threads, job->arguments->max_concurrent);

    memory -= planned;
    workers = CV_MIN(workers, selection->group_count);
    workers = CV_MAX(1, CV_MIN(workers, memory / GROUP_BYTES_MIN));
    round->workers = (int)workers;
    round->run.maintenance = job->maintenance;
    round->run.selection = selection;
    round->run.settings = &round->settings;
    round->run.store = job->table->store;
    round->run.name_prefix = job->prefix;
    round->run.next_task = &job->next_task;
    round->run.memory_bytes = memory / workers;
    round->run.meter = &round->meter;
    round->parts = cv_alloc(selection->group_count * sizeof *round->parts);
    for (size_t i = 0; i < selection->group_count; i++)
        round->parts[i].group = &selection->groups[i];
    round->committing = (struct cv_rewrite_committing){
        .table = job->table,
        .selection = selection,
        .maintenance = job->maintenance,
        .keep_sequence_number = job->arguments->use_starting_sequence_number,
        .parts = round->parts,
        .count = selection->group_count,
    };
    cv_maintain_meter_init(&round->meter, job->maintenance, "rewrite-data-files", "rewriting files",
                           "bytes", selection->group_bytes);
}

/* --- running --------------------------------------------------------------------------------- */

static enum cv_code run_part(void *context, size_t index, struct cv_error *err)
{
    struct round *round = context;
    struct cv_rewrite_part *part = &round->parts[round->first + index];
    enum cv_code code = cv_maintain_check_stop(round->job->maintenance, err);

    if (code == CV_OK)
        code = cv_rewrite_group_run(&round->run, part->group, &part->output, err);
    if (code == CV_OK) {
        part->state = part->output.useless ? CV_REWRITE_USELESS : CV_REWRITE_WRITTEN;
        return CV_OK;
    }
    part->state = CV_REWRITE_FAILED;
    if (!round->job->arguments->partial_progress || code == CV_CANCELLED)
        return code;
    cv_maintain_warn(round->job->maintenance, "a group of %zu files was not rewritten: %s",
                     part->group->count, err->message);
    cv_error_clear(err);
    return CV_OK;
}

static void drop_written(struct round *round)
{
    for (size_t i = 0; i < round->selection.group_count; i++) {
        struct cv_rewrite_part *part = &round->parts[i];

        if (part->state != CV_REWRITE_WRITTEN)
            continue;
        cv_rewrite_output_remove(round->run.store, &part->output);
        part->state = CV_REWRITE_FAILED;
    }
}

/* A commit that failed: with partial progress it counts, and the run goes on. */
static enum cv_code judge_failure(struct round *round, enum cv_code code, struct cv_error *err)
{
    struct job *job = round->job;

    if (!job->arguments->partial_progress || code == CV_UNKNOWN || code == CV_FAULT)
        return code;
    job->failed_commits++;
    if (job->failed_commits > round->settings.max_failed_commits) {
        cv_context(err,
                   "%" PRId64
                   " commits failed, more than partial-progress.max-failed-commits (%" PRId64
                   "); the last one",
                   job->failed_commits, round->settings.max_failed_commits);
        return code;
    }
    cv_maintain_warn(job->maintenance, "a commit failed, the run goes on: %s", err->message);
    cv_error_clear(err);
    return CV_OK;
}

static enum cv_code run_batch(struct round *round, size_t count, struct cv_error *err)
{
    enum cv_code code = cv_parallel(round->workers, count, run_part, round, err);

    if (code != CV_OK) {
        drop_written(round);
        return code;
    }
    code = cv_rewrite_commit(&round->committing, err);
    return code == CV_OK ? CV_OK : judge_failure(round, code, err);
}

static void count_part(struct round *round, const struct cv_rewrite_part *part)
{
    struct job *job = round->job;
    const struct cv_rewrite_group *group = part->group;

    switch (part->state) {
    case CV_REWRITE_COMMITTED:
        job->rewritten_files += (int64_t)group->count;
        job->rewritten_bytes += group->bytes;
        job->added_files += (int64_t)part->output.count;
        job->result->changed = true;
        note_group(round, group, &part->output.ways, (int64_t)part->output.count);
        break;
    case CV_REWRITE_FAILED:
        job->failed_files += (int64_t)group->count;
        break;
    case CV_REWRITE_LOST:
        for (size_t i = 0; i < group->count; i++) {
            const char *path = cv_rewrite_task(group->files[i])->data.file.path;

            (void)cv_map_set(&job->lost, path, strlen(path), job);
        }
        break;
    case CV_REWRITE_USELESS:
        cv_maintain_note(job->result,
                         "%s: left alone, its rows would need more files than they have",
                         partition_text(round, &round->selection.buckets[group->bucket]));
        break;
    default:
        break;
    }
}

static enum cv_code run_groups(struct round *round, struct cv_error *err)
{
    const struct cv_rewrite_arguments *arguments = round->job->arguments;
    size_t total = round->selection.group_count;
    size_t step = total;
    enum cv_code code = CV_OK;

    if (arguments->partial_progress) {
        size_t commits = (size_t)CV_MIN(arguments->max_commits, (int64_t)total);

        step = (total + commits - 1) / commits;
    }
    for (; round->first < total && code == CV_OK; round->first += step)
        code = run_batch(round, CV_MIN(step, total - round->first), err);
    for (size_t i = 0; i < total; i++)
        count_part(round, &round->parts[i]);
    round->job->removed_deletes += round->committing.removed_deletes;
    return code;
}

static enum cv_code tell_groups(struct round *round, struct cv_error *err)
{
    struct job *job = round->job;

    for (size_t i = 0; i < round->selection.group_count; i++) {
        const struct cv_rewrite_group *group = &round->selection.groups[i];
        struct cv_rewrite_ways ways;

        CV_DO(cv_maintain_check_stop(job->maintenance, err));
        CV_DO(cv_rewrite_group_ways(&round->run, group, &round->arena, &ways, err));
        note_group(round, group, &ways, group->expected_outputs);
        job->rewritten_files += (int64_t)group->count;
        job->rewritten_bytes += group->bytes;
        job->added_files += group->expected_outputs;
        job->result->changed = true;
    }
    return CV_OK;
}

static enum cv_code run_round(struct job *job, const struct cv_map *only, struct cv_error *err)
{
    CV_CLEANUP(round_release) struct round round = {.job = job};

    CV_DO(plan_round(&round, only, err));
    note_left(&round);
    if (!round.selection.group_count)
        return CV_OK;
    prepare_run(&round);
    return job->maintenance->dry_run ? tell_groups(&round, err) : run_groups(&round, err);
}

/* --- the procedure --------------------------------------------------------------------------- */

static enum cv_code open_branch(struct job *job, struct cv_error *err)
{
    struct cv_maintenance *maintenance = job->maintenance;
    const char *branch = job->arguments->branch;
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;

    job->table = maintenance->table;
    if (!branch || strcmp(branch, cv_table_branch(job->table)) == 0)
        return CV_OK;
    if (strcmp(cv_table_branch(job->table), "main") != 0)
        return cv_fail(err, CV_USAGE, "branch %s and %s: give one of them", branch,
                       maintenance->table_name);
    if (!cv_table_metadata_ref(job->table->metadata, branch))
        return cv_fail(err, CV_USAGE, "%s has no branch %s", maintenance->table_name, branch);
    CV_DO(cv_table_open(maintenance->catalog,
                        cv_arena_printf(&arena, "%s.branch_%s", maintenance->table_name, branch),
                        &job->branch_table, err));
    job->branch_table->queue = job->table->queue;
    job->branch_table->commit_class = job->table->commit_class;
    job->table = job->branch_table;
    return CV_OK;
}

/* Plans again what was lost, a few times. */
static enum cv_code run_rounds(struct job *job, struct cv_error *err)
{
    CV_CLEANUP(cv_map_release) struct cv_map again = {0};

    for (int round = 0; round < ROUNDS_MAX; round++) {
        CV_DO(run_round(job, round ? &again : NULL, err));
        if (!job->lost.count)
            return CV_OK;
        cv_map_release(&again);
        again = job->lost;
        job->lost = (struct cv_map){0};
    }
    job->failed_files += (int64_t)again.count;
    cv_maintain_warn(job->maintenance,
                     "%zu files met concurrent changes %d times and were left as they are",
                     again.count, ROUNDS_MAX);
    return CV_OK;
}

static enum cv_code remove_dangling(struct job *job, struct cv_error *err)
{
    int64_t count;

    if (!job->arguments->remove_dangling_deletes)
        return CV_OK;
    CV_TRY(cv_rewrite_remove_dangling(job->table, job->maintenance->dry_run, &count, err), err,
           "remove-dangling-deletes");
    job->removed_deletes += count;
    if (count) {
        job->result->changed = true;
        cv_maintain_note(job->result, "%" PRId64 " delete files apply to no data file", count);
    }
    return CV_OK;
}

static enum cv_code run(struct cv_maintenance *maintenance, const void *arguments,
                        struct cv_maintain_result *result, struct cv_error *err)
{
    CV_CLEANUP(job_release)
    struct job job = {.maintenance = maintenance, .arguments = arguments, .result = result};

    cv_uuid_text(job.prefix);
    CV_DO(open_branch(&job, err));
    CV_DO(run_rounds(&job, err));
    CV_DO(remove_dangling(&job, err));
    if (job.branch_table) /* what the caller holds is as new as the commit */
        CV_DO(cv_table_refresh(maintenance->table, err));
    write_result(&job);
    return CV_OK;
}

const struct cv_procedure cv_procedure_rewrite_data_files = {
    .name = "rewrite-data-files",
    .spark_name = "rewrite_data_files",
    .about = "join small data files, split large ones, apply deletes, sort",
    .arguments = &cv_rewrite_option_table,
    .arguments_size = sizeof(struct cv_rewrite_arguments),
    .schedulable = true,
    .run = run,
};
