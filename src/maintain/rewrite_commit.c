/* SPDX-License-Identifier: Apache-2.0
 *
 * Commits of rewritten groups and of the removal of dangling deletes. */
#include "maintain/rewrite_commit.h"

#include "table/rewrite.h"

#include <stdlib.h>

/* --- one commit ------------------------------------------------------------------------------ */

/* Files of the WRITTEN parts; the lists live in the arena. */
struct change {
    struct cv_arena arena;
    struct cv_data_file *removed;
    size_t removed_count, removed_capacity;
    struct cv_rewrite_added *added;
    size_t added_count, added_capacity;
    int64_t deletes;
};

static void change_release(struct change *change)
{
    free(change->removed);
    free(change->added);
    cv_arena_release(&change->arena);
}

static void remove_file(struct change *change, const struct cv_data_file *file)
{
    cv_array_reserve(&change->removed, &change->removed_capacity, change->removed_count + 1);
    change->removed[change->removed_count++] = *file;
}

void cv_rewrite_committing_release(struct cv_rewrite_committing *committing)
{
    cv_map_release(&committing->removed);
}

/* A delete file that names this data file alone goes with it. */
static void remove_own_deletes(struct change *change, const struct cv_scan_task *task)
{
    for (size_t i = 0; i < task->delete_count; i++) {
        const struct cv_data_file *file = &task->deletes[i]->file;
        const char *target = cv_delete_file_target(file, &change->arena);

        if (!target || strcmp(target, task->data.file.path) != 0)
            continue;
        remove_file(change, file);
        change->deletes++;
    }
}

static void add_part(struct change *change, const struct cv_rewrite_part *part, int64_t sequence)
{
    for (size_t i = 0; i < part->group->count; i++) {
        const struct cv_scan_task *task = cv_rewrite_task(part->group->files[i]);

        remove_file(change, &task->data.file);
        remove_own_deletes(change, task);
    }
    for (size_t i = 0; i < part->output.count; i++) {
        cv_array_reserve(&change->added, &change->added_capacity, change->added_count + 1);
        change->added[change->added_count++] =
            (struct cv_rewrite_added){part->output.files[i], sequence};
    }
}

/* The lowest data sequence number that a live file has once the WRITTEN parts are in. */
static int64_t lowest_sequence(const struct cv_rewrite_committing *committing, int64_t added)
{
    int64_t lowest = committing->selection->other_sequence;

    for (size_t i = 0; i < committing->count; i++) {
        const struct cv_rewrite_part *part = &committing->parts[i];

        if (part->state == CV_REWRITE_COMMITTED || part->state == CV_REWRITE_WRITTEN) {
            lowest = CV_MIN(lowest, added);
            continue;
        }
        for (size_t k = 0; k < part->group->count; k++)
            lowest = CV_MIN(lowest, cv_rewrite_task(part->group->files[k])->data.sequence_number);
    }
    return lowest;
}

/* Deletes below every data sequence number apply to nothing any more. What others do meanwhile
 * cannot change that: their files are newer, or made of files that were looked at here. */
static void remove_old_deletes(const struct cv_rewrite_committing *committing, int64_t lowest,
                               struct change *change)
{
    CV_CLEANUP(cv_map_release) struct cv_map taken = {0};
    const struct cv_manifest_entry *const *deletes;
    size_t count;

    if (committing->keep_old_deletes)
        return;
    for (size_t i = 0; i < change->removed_count; i++)
        (void)cv_map_set(&taken, change->removed[i].path, strlen(change->removed[i].path), change);
    cv_scan_plan_deletes(committing->selection->plan, &deletes, &count);
    for (size_t i = 0; i < count; i++) {
        const char *path = deletes[i]->file.path;

        if (deletes[i]->sequence_number < lowest && !cv_map_has(&taken, path, strlen(path)) &&
            !cv_map_has(&committing->removed, path, strlen(path)))
            remove_file(change, &deletes[i]->file);
    }
}

static enum cv_code commit_once(struct cv_rewrite_committing *committing, struct cv_error *err)
{
    CV_CLEANUP(change_release) struct change change = {0};
    const struct cv_rewrite_selection *selection = committing->selection;
    bool keep = committing->keep_sequence_number && selection->metadata->format_version > 1;
    int64_t added = keep ? selection->sequence_number : CV_SEQUENCE_INHERIT;
    struct cv_rewrite_result result;
    struct cv_rewrite rewrite;

    for (size_t i = 0; i < committing->count; i++)
        if (committing->parts[i].state == CV_REWRITE_WRITTEN)
            add_part(&change, &committing->parts[i], added);
    remove_old_deletes(committing, lowest_sequence(committing, keep ? added : INT64_MAX), &change);
    rewrite = (struct cv_rewrite){
        .start_snapshot_id = selection->snapshot_id,
        .removed = change.removed,
        .removed_count = change.removed_count,
        .added = change.added,
        .added_count = change.added_count,
        .ignore_equality_deletes = keep,
        .files_unsynced = true,
    };
    CV_DO(cv_table_rewrite(committing->table, &rewrite, &result, err));
    committing->removed_deletes += change.deletes;
    for (size_t i = 0; i < change.removed_count; i++)
        (void)cv_map_set(&committing->removed, change.removed[i].path,
                         strlen(change.removed[i].path), committing);
    return CV_OK;
}

/* --- conflicts ------------------------------------------------------------------------------- */

struct input {
    struct cv_rewrite_part *part;
    const struct cv_scan_task *task;
};

struct looking {
    struct cv_map inputs; /* by path */
    size_t *found;        /* by part: inputs that are live and have no new deletes */
    const struct cv_rewrite_part *parts;
    bool ignore_equality;
};

static void looking_release(struct looking *looking)
{
    const struct cv_map_slot *slot;
    size_t position = 0;

    while ((slot = cv_map_next(&looking->inputs, &position)))
        free(slot->value);
    cv_map_release(&looking->inputs);
    free(looking->found);
}

static bool was_known(const struct cv_scan_task *task, const struct cv_data_file *file)
{
    for (size_t i = 0; i < task->delete_count; i++)
        if (strcmp(task->deletes[i]->file.path, file->path) == 0)
            return true;
    return false;
}

static enum cv_code look_at(void *context, const struct cv_scan_task *task, struct cv_error *err)
{
    struct looking *looking = context;
    const char *path = task->data.file.path;
    const struct input *input = cv_map_get(&looking->inputs, path, strlen(path));

    (void)err;
    if (!input)
        return CV_OK;
    for (size_t i = 0; i < task->delete_count; i++) {
        const struct cv_data_file *file = &task->deletes[i]->file;

        if (looking->ignore_equality && file->content == CV_CONTENT_EQUALITY_DELETES)
            continue;
        if (!was_known(input->task, file))
            return CV_OK;
    }
    looking->found[input->part - looking->parts]++;
    return CV_OK;
}

static void note_inputs(struct looking *looking, struct cv_rewrite_part *part)
{
    for (size_t i = 0; i < part->group->count; i++) {
        const struct cv_scan_task *task = cv_rewrite_task(part->group->files[i]);
        struct input *input = cv_alloc(sizeof *input);

        *input = (struct input){part, task};
        free(cv_map_set(&looking->inputs, task->data.file.path, strlen(task->data.file.path),
                        input));
    }
}

/* Asks the table as it is now which parts are lost; *ret_lost of them. */
static enum cv_code find_lost(struct cv_rewrite_committing *committing, size_t *ret_lost,
                              struct cv_error *err)
{
    struct cv_rewrite_part *parts = committing->parts;
    size_t count = committing->count;
    CV_CLEANUP(cv_scan_plan_freep) struct cv_scan_plan *plan = NULL;
    CV_CLEANUP(looking_release)
    struct looking looking = {.found = cv_alloc(count * sizeof(size_t)),
                              .parts = parts,
                              .ignore_equality = committing->keep_sequence_number};
    struct cv_table *table = committing->table;
    const struct cv_snapshot *head =
        cv_table_metadata_head(table->metadata, cv_table_branch(table));

    *ret_lost = 0;
    for (size_t i = 0; i < count; i++)
        if (parts[i].state == CV_REWRITE_WRITTEN)
            note_inputs(&looking, &parts[i]);
    if (head) {
        CV_DO(cv_scan_plan_open(table->store, table->metadata, head, NULL, &plan, err));
        CV_DO(cv_scan_plan_each(plan, look_at, &looking, err));
    }
    for (size_t i = 0; i < count; i++) {
        if (parts[i].state != CV_REWRITE_WRITTEN || looking.found[i] == parts[i].group->count)
            continue;
        cv_rewrite_output_remove(table->store, &parts[i].output);
        parts[i].state = CV_REWRITE_LOST;
        ++*ret_lost;
    }
    return CV_OK;
}

static bool has_written(const struct cv_rewrite_committing *committing)
{
    for (size_t i = 0; i < committing->count; i++)
        if (committing->parts[i].state == CV_REWRITE_WRITTEN)
            return true;
    return false;
}

/* CV_OK: it is worth another try, or nothing is left. */
static enum cv_code resolve_conflict(struct cv_rewrite_committing *committing, struct cv_error *err)
{
    struct cv_error reason = *err;
    bool kept_old_deletes = committing->keep_old_deletes;
    size_t lost;

    cv_error_clear(err);
    CV_DO(cv_table_refresh(committing->table, err));
    if (cv_table_metadata_snapshot(committing->table->metadata,
                                   committing->selection->snapshot_id)) {
        CV_DO(find_lost(committing, &lost, err));
        committing->keep_old_deletes = true; /* they may be what is gone */
        if (lost)
            cv_maintain_warn(committing->maintenance,
                             "%zu of the groups met a concurrent change: %s", lost, reason.message);
        if (lost || !kept_old_deletes)
            return CV_OK;
    }
    *err = reason;
    return reason.code;
}

static void set_written(struct cv_rewrite_committing *committing, enum cv_rewrite_state state)
{
    for (size_t i = 0; i < committing->count; i++) {
        struct cv_rewrite_part *part = &committing->parts[i];

        if (part->state != CV_REWRITE_WRITTEN)
            continue;
        if (state == CV_REWRITE_FAILED)
            cv_rewrite_output_remove(committing->table->store, &part->output);
        part->state = state;
    }
}

enum cv_code cv_rewrite_commit(struct cv_rewrite_committing *committing, struct cv_error *err)
{
    while (has_written(committing)) {
        enum cv_code code = commit_once(committing, err);

        if (code == CV_OK) {
            set_written(committing, CV_REWRITE_COMMITTED);
            return CV_OK;
        }
        if (code == CV_CONFLICT)
            code = resolve_conflict(committing, err);
        if (code == CV_UNKNOWN)
            return code;
        if (code != CV_OK) {
            set_written(committing, CV_REWRITE_FAILED);
            return code;
        }
    }
    return CV_OK;
}

/* --- dangling deletes ------------------------------------------------------------------------ */

static enum cv_code note_used(void *context, const struct cv_scan_task *task, struct cv_error *err)
{
    (void)err;
    for (size_t i = 0; i < task->delete_count; i++) {
        const struct cv_manifest_entry *entry = task->deletes[i];

        (void)cv_map_set(context, &entry, sizeof entry, context);
    }
    return CV_OK;
}

enum cv_code cv_rewrite_remove_dangling(struct cv_table *table, bool dry_run, int64_t *ret_count,
                                        struct cv_error *err)
{
    CV_CLEANUP(cv_scan_plan_freep) struct cv_scan_plan *plan = NULL;
    CV_CLEANUP(cv_map_release) struct cv_map used = {0};
    CV_CLEANUP(change_release) struct change change = {0};
    const struct cv_snapshot *head =
        cv_table_metadata_head(table->metadata, cv_table_branch(table));
    const struct cv_manifest_entry *const *deletes;
    struct cv_rewrite_result result;
    struct cv_rewrite rewrite;
    size_t count;

    *ret_count = 0;
    if (!head)
        return CV_OK;
    CV_DO(cv_scan_plan_open(table->store, table->metadata, head, NULL, &plan, err));
    cv_scan_plan_deletes(plan, &deletes, &count);
    if (count)
        CV_DO(cv_scan_plan_each(plan, note_used, &used, err));
    for (size_t i = 0; i < count; i++)
        if (!cv_map_has(&used, &deletes[i], sizeof deletes[i]))
            remove_file(&change, &deletes[i]->file);
    rewrite = (struct cv_rewrite){.start_snapshot_id = head->id,
                                  .removed = change.removed,
                                  .removed_count = change.removed_count};
    if (change.removed_count && !dry_run)
        CV_DO(cv_table_rewrite(table, &rewrite, &result, err));
    *ret_count = (int64_t)change.removed_count;
    return CV_OK;
}
