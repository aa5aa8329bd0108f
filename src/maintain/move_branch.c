/* SPDX-License-Identifier: Apache-2.0
 *
 * rollback_to_snapshot, rollback_to_timestamp, set_current_snapshot, cherrypick_snapshot,
 * publish_changes and fast_forward: a branch goes to another snapshot. And ancestors_of. */
#include "maintain/procedure_int.h"

#include "base/time.h"
#include "codec/json.h"
#include "table/refs.h"

struct arguments {
    int64_t snapshot_id; /* 0 = not given */
    const char *timestamp;
    const char *ref;
    const char *wap_id;
    const char *branch;
    const char *to;
};

#define ARG(field) offsetof(struct arguments, field)

/* One row of two ids; `branch` comes first unless it is NULL. */
static void put_move(struct cv_buf *rows, const char *branch, const char *column, int64_t id,
                     const char *second_column, int64_t second_id)
{
    struct cv_json_writer w = CV_JSON_WRITER(rows);

    cv_json_begin_array(&w);
    cv_json_begin_object(&w);
    if (branch) {
        cv_json_key(&w, "branch_updated");
        cv_json_put_string(&w, branch);
    }
    cv_maintain_put_id(&w, column, id);
    cv_maintain_put_id(&w, second_column, second_id);
    cv_json_end_object(&w);
    cv_json_end_array(&w);
}

static void note_move(const struct cv_maintenance *maintenance, const char *branch,
                      const struct cv_ref_move *move, struct cv_maintain_result *result)
{
    result->changed = move->previous_snapshot_id != move->current_snapshot_id;
    cv_maintain_note(result, "%s %s at snapshot %lld (before: %lld)", branch,
                     maintenance->dry_run ? "would be" : "is", (long long)move->current_snapshot_id,
                     (long long)move->previous_snapshot_id);
}

static void tell_moved(const struct cv_maintenance *maintenance, const struct cv_ref_move *move,
                       struct cv_maintain_result *result)
{
    put_move(&result->rows, NULL, "previous_snapshot_id", move->previous_snapshot_id,
             "current_snapshot_id", move->current_snapshot_id);
    note_move(maintenance, cv_table_branch(maintenance->table), move, result);
}

static const struct cv_option snapshot_options[] = {
    {"snapshot_id", CV_OPTION_INTEGER, ARG(snapshot_id), NULL, NULL, "The snapshot.", 1, 0,
     CV_OPTION_REQUIRED},
};

static const struct cv_option_table rollback_table = {"maintenance.rollback-to-snapshot",
                                                      "back to an ancestor", snapshot_options, 1};

static enum cv_code run_rollback(struct cv_maintenance *maintenance, const void *data,
                                 struct cv_maintain_result *result, struct cv_error *err)
{
    const struct arguments *arguments = data;
    struct cv_ref_move move;

    CV_DO(cv_table_rollback_to_snapshot(maintenance->table, arguments->snapshot_id,
                                        maintenance->dry_run, &move, err));
    tell_moved(maintenance, &move, result);
    return CV_OK;
}

const struct cv_procedure cv_procedure_rollback_to_snapshot = {
    .name = "rollback-to-snapshot",
    .spark_name = "rollback_to_snapshot",
    .about = "take the table back to an ancestor of its current snapshot",
    .arguments = &rollback_table,
    .arguments_size = sizeof(struct arguments),
    .run = run_rollback,
};

static const struct cv_option timestamp_options[] = {
    {"timestamp", CV_OPTION_TEXT, ARG(timestamp), NULL, NULL,
     "The newest ancestor before this time becomes the current snapshot.", 0, 0,
     CV_OPTION_REQUIRED},
};

static const struct cv_option_table timestamp_table = {"maintenance.rollback-to-timestamp",
                                                       "back to a time", timestamp_options, 1};

static enum cv_code run_rollback_to_time(struct cv_maintenance *maintenance, const void *data,
                                         struct cv_maintain_result *result, struct cv_error *err)
{
    const struct arguments *arguments = data;
    struct cv_ref_move move;
    int64_t time_ms;

    CV_DO(cv_maintain_parse_time("timestamp", arguments->timestamp, &time_ms, err));
    CV_DO(cv_table_rollback_to_timestamp(maintenance->table, time_ms, maintenance->dry_run, &move,
                                         err));
    tell_moved(maintenance, &move, result);
    return CV_OK;
}

const struct cv_procedure cv_procedure_rollback_to_timestamp = {
    .name = "rollback-to-timestamp",
    .spark_name = "rollback_to_timestamp",
    .about = "take the table back to what it was at a time",
    .arguments = &timestamp_table,
    .arguments_size = sizeof(struct arguments),
    .run = run_rollback_to_time,
};

static const struct cv_option current_options[] = {
    {"snapshot_id", CV_OPTION_INTEGER, ARG(snapshot_id), NULL, NULL,
     "The snapshot; any one, ancestor or not.", 1, 0, 0},
    {"ref", CV_OPTION_TEXT, ARG(ref), NULL, NULL, "A branch or tag instead.", 0, 0, 0},
};

static const struct cv_option_table current_table = {"maintenance.set-current-snapshot",
                                                     "to any snapshot", current_options,
                                                     CV_ARRAY_LENGTH(current_options)};

static enum cv_code run_set_current(struct cv_maintenance *maintenance, const void *data,
                                    struct cv_maintain_result *result, struct cv_error *err)
{
    const struct arguments *arguments = data;
    struct cv_ref_move move;

    if (!arguments->snapshot_id == !arguments->ref)
        return cv_fail(err, CV_USAGE, "Either snapshot_id or ref must be provided, not both");
    CV_DO(cv_table_set_current_snapshot(maintenance->table, arguments->snapshot_id, arguments->ref,
                                        maintenance->dry_run, &move, err));
    tell_moved(maintenance, &move, result);
    return CV_OK;
}

const struct cv_procedure cv_procedure_set_current_snapshot = {
    .name = "set-current-snapshot",
    .spark_name = "set_current_snapshot",
    .about = "make any snapshot the current one",
    .arguments = &current_table,
    .arguments_size = sizeof(struct arguments),
    .run = run_set_current,
};

static enum cv_code pick(struct cv_maintenance *maintenance, int64_t source_id,
                         struct cv_maintain_result *result, struct cv_error *err)
{
    struct cv_ref_move move;

    CV_DO(cv_table_cherrypick_snapshot(maintenance->table, source_id, maintenance->dry_run, &move,
                                       err));
    put_move(&result->rows, NULL, "source_snapshot_id", source_id, "current_snapshot_id",
             move.current_snapshot_id);
    note_move(maintenance, cv_table_branch(maintenance->table), &move, result);
    return CV_OK;
}

static const struct cv_option_table cherrypick_table = {
    "maintenance.cherrypick-snapshot", "a staged snapshot's changes", snapshot_options, 1};

static enum cv_code run_cherrypick(struct cv_maintenance *maintenance, const void *data,
                                   struct cv_maintain_result *result, struct cv_error *err)
{
    return pick(maintenance, ((const struct arguments *)data)->snapshot_id, result, err);
}

const struct cv_procedure cv_procedure_cherrypick_snapshot = {
    .name = "cherrypick-snapshot",
    .spark_name = "cherrypick_snapshot",
    .about = "make the changes of a staged snapshot anew on the current one",
    .arguments = &cherrypick_table,
    .arguments_size = sizeof(struct arguments),
    .run = run_cherrypick,
};

static const struct cv_option publish_options[] = {
    {"wap_id", CV_OPTION_TEXT, ARG(wap_id), NULL, NULL, "The wap.id of the staged snapshot.", 0, 0,
     CV_OPTION_REQUIRED},
};

static const struct cv_option_table publish_table = {"maintenance.publish-changes",
                                                     "write, audit, publish", publish_options, 1};

static enum cv_code run_publish(struct cv_maintenance *maintenance, const void *data,
                                struct cv_maintain_result *result, struct cv_error *err)
{
    const struct arguments *arguments = data;
    int64_t source_id;

    CV_DO(cv_table_find_staged(maintenance->table->metadata, arguments->wap_id, &source_id, err));
    return pick(maintenance, source_id, result, err);
}

const struct cv_procedure cv_procedure_publish_changes = {
    .name = "publish-changes",
    .spark_name = "publish_changes",
    .about = "publish what was staged under a wap.id",
    .arguments = &publish_table,
    .arguments_size = sizeof(struct arguments),
    .run = run_publish,
};

static const struct cv_option forward_options[] = {
    {"branch", CV_OPTION_TEXT, ARG(branch), NULL, NULL, "The branch that moves.", 0, 0,
     CV_OPTION_REQUIRED},
    {"to", CV_OPTION_TEXT, ARG(to), NULL, NULL, "The branch or tag that it moves to.", 0, 0,
     CV_OPTION_REQUIRED},
};

static const struct cv_option_table forward_table = {"maintenance.fast-forward",
                                                     "a branch to another's head", forward_options,
                                                     CV_ARRAY_LENGTH(forward_options)};

static enum cv_code run_forward(struct cv_maintenance *maintenance, const void *data,
                                struct cv_maintain_result *result, struct cv_error *err)
{
    const struct arguments *arguments = data;
    struct cv_ref_move move;

    CV_DO(cv_table_fast_forward(maintenance->table, arguments->branch, arguments->to,
                                maintenance->dry_run, &move, err));
    put_move(&result->rows, arguments->branch, "previous_ref", move.previous_snapshot_id,
             "updated_ref", move.current_snapshot_id);
    note_move(maintenance, arguments->branch, &move, result);
    return CV_OK;
}

const struct cv_procedure cv_procedure_fast_forward = {
    .name = "fast-forward",
    .spark_name = "fast_forward",
    .about = "move a branch forward to the head of another",
    .arguments = &forward_table,
    .arguments_size = sizeof(struct arguments),
    .run = run_forward,
};

static const struct cv_option ancestors_options[] = {
    {"snapshot_id", CV_OPTION_INTEGER, ARG(snapshot_id), NULL, NULL,
     "Whose ancestors; default the current snapshot.", 1, 0, 0},
};

static const struct cv_option_table ancestors_table = {
    "maintenance.ancestors-of", "the history of a snapshot", ancestors_options, 1};

static enum cv_code run_ancestors(struct cv_maintenance *maintenance, const void *data,
                                  struct cv_maintain_result *result, struct cv_error *err)
{
    const struct arguments *arguments = data;
    const struct cv_table_metadata *metadata = maintenance->table->metadata;
    struct cv_history history = cv_history_of(metadata, cv_table_branch(maintenance->table));
    struct cv_json_writer w = CV_JSON_WRITER(&result->rows);
    const struct cv_snapshot *snapshot;

    if (arguments->snapshot_id)
        history.next = cv_table_metadata_snapshot(metadata, arguments->snapshot_id);
    if (arguments->snapshot_id && !history.next)
        return cv_fail(err, CV_USAGE, "the table has no snapshot %lld",
                       (long long)arguments->snapshot_id);
    cv_json_begin_array(&w);
    while ((snapshot = cv_history_next(&history))) {
        cv_json_begin_object(&w);
        cv_maintain_put_id(&w, "snapshot_id", snapshot->id);
        cv_maintain_put_id(&w, "timestamp", snapshot->timestamp_ms);
        cv_json_end_object(&w);
    }
    cv_json_end_array(&w);
    return CV_OK;
}

const struct cv_procedure cv_procedure_ancestors_of = {
    .name = "ancestors-of",
    .spark_name = "ancestors_of",
    .about = "list a snapshot and its ancestors",
    .arguments = &ancestors_table,
    .arguments_size = sizeof(struct arguments),
    .run = run_ancestors,
};
