/* SPDX-License-Identifier: Apache-2.0
 *
 * create_branch, replace_branch, drop_branch and the same of tags: what Spark's ALTER TABLE …
 * CREATE | REPLACE | DROP BRANCH | TAG does, with its words as arguments. */
#include "maintain/procedure_int.h"

#include "base/time.h"
#include "codec/json.h"
#include "table/refs.h"

struct arguments {
    const char *name;
    int64_t snapshot_id; /* 0 = not given */
    int64_t as_of_version;
    int64_t retain_us; /* 0 = not given */
    const char *snapshot_retention;
    bool or_replace;
    bool if_not_exists;
    bool if_exists;
};

#define ARG(field) offsetof(struct arguments, field)
#define ROW(name, type, field, preset, help, min, flags)                                           \
    {                                                                                              \
        name, type, ARG(field), preset, NULL, help, min, 0, flags                                  \
    }

/* Rows that several procedures have. */
#define BRANCH                                                                                     \
    ROW("branch", CV_OPTION_TEXT, name, NULL, "Name of the branch.", 0, CV_OPTION_REQUIRED)
#define TAG ROW("tag", CV_OPTION_TEXT, name, NULL, "Name of the tag.", 0, CV_OPTION_REQUIRED)
#define SNAPSHOT_ID                                                                                \
    ROW("snapshot_id", CV_OPTION_INTEGER, snapshot_id, NULL,                                       \
        "The snapshot that it names; default the current one of main.", 1, 0)
#define AS_OF_VERSION                                                                              \
    ROW("as_of_version", CV_OPTION_INTEGER, as_of_version, NULL,                                   \
        "The same as snapshot_id (AS OF VERSION).", 1, 0)
#define RETAIN                                                                                     \
    ROW("retain", CV_OPTION_DURATION, retain_us, NULL,                                             \
        "How old its snapshot may become before expiry drops it (RETAIN), like \"7 days\".", 1000, \
        0)
#define RETENTION                                                                                  \
    ROW("snapshot_retention", CV_OPTION_TEXT, snapshot_retention, NULL,                            \
        "What expiry keeps of the branch (WITH SNAPSHOT RETENTION): \"5 snapshots\", \"3 days\" "  \
        "or \"5 snapshots 3 days\".",                                                              \
        0, 0)
#define OR_REPLACE                                                                                 \
    ROW("or_replace", CV_OPTION_BOOL, or_replace, "false",                                         \
        "Replace it where it exists (CREATE OR REPLACE).", 0, 0)
#define IF_NOT_EXISTS                                                                              \
    ROW("if_not_exists", CV_OPTION_BOOL, if_not_exists, "false",                                   \
        "An existing one is left as it is.", 0, 0)
#define IF_EXISTS                                                                                  \
    ROW("if_exists", CV_OPTION_BOOL, if_exists, "false", "A missing one is fine.", 0, 0)

static const struct cv_option create_branch_options[] = {
    BRANCH, SNAPSHOT_ID, AS_OF_VERSION, RETAIN, RETENTION, OR_REPLACE, IF_NOT_EXISTS};
static const struct cv_option replace_branch_options[] = {BRANCH, SNAPSHOT_ID, AS_OF_VERSION,
                                                          RETAIN, RETENTION};
static const struct cv_option drop_branch_options[] = {BRANCH, IF_EXISTS};
static const struct cv_option create_tag_options[] = {TAG,    SNAPSHOT_ID, AS_OF_VERSION,
                                                      RETAIN, OR_REPLACE,  IF_NOT_EXISTS};
static const struct cv_option replace_tag_options[] = {TAG, SNAPSHOT_ID, AS_OF_VERSION, RETAIN};
static const struct cv_option drop_tag_options[] = {TAG, IF_EXISTS};

/* "5 snapshots", "3 days", or both in this order. */
static enum cv_code read_retention(const char *text, struct cv_snapshot_ref *ref,
                                   struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    size_t count;
    char **words = cv_split(&arena, text, ' ', &count);
    int64_t age_us;

    if (count >= 2 && cv_text_starts_with(words[1], "snapshot")) {
        if (!cv_parse_i64(cv_str_from(words[0]), &ref->min_snapshots_to_keep) ||
            ref->min_snapshots_to_keep < 1)
            return cv_fail(err, CV_USAGE,
                           "snapshot_retention: \"%.100s\" is no number of snapshots", words[0]);
        text = strstr(text, words[1]) + strlen(words[1]);
    }
    if (count == 2 && ref->min_snapshots_to_keep > 0)
        return CV_OK;
    CV_TRY(cv_parse_duration(text, 0, &age_us, err), err, "snapshot_retention");
    ref->max_snapshot_age_ms = age_us / CV_US_PER_MS;
    return CV_OK;
}

static enum cv_code read_change(const struct arguments *arguments, bool is_tag,
                                struct cv_ref_change *change, struct cv_error *err)
{
    struct cv_snapshot_ref *ref = &change->ref;

    *ref = (struct cv_snapshot_ref){arguments->name, -1, is_tag, -1, -1, -1};
    if (arguments->snapshot_id && arguments->as_of_version)
        return cv_fail(err, CV_USAGE, "snapshot_id and as_of_version are the same: give one");
    if (arguments->snapshot_id || arguments->as_of_version)
        ref->snapshot_id = CV_MAX(arguments->snapshot_id, arguments->as_of_version);
    if (arguments->retain_us)
        ref->max_ref_age_ms = arguments->retain_us / CV_US_PER_MS;
    if (arguments->snapshot_retention)
        CV_DO(read_retention(arguments->snapshot_retention, ref, err));
    if (arguments->or_replace && arguments->if_not_exists)
        return cv_fail(err, CV_USAGE, "or_replace and if_not_exists exclude each other");
    if (change->action == CV_REF_CREATE && arguments->or_replace)
        change->action = CV_REF_CREATE_OR_REPLACE;
    change->if_exists = arguments->if_exists || arguments->if_not_exists;
    return CV_OK;
}

static enum cv_code change_ref(struct cv_maintenance *maintenance, enum cv_ref_action action,
                               bool is_tag, const struct arguments *arguments,
                               struct cv_maintain_result *result, struct cv_error *err)
{
    struct cv_ref_change change = {.action = action, .dry_run = maintenance->dry_run};
    struct cv_json_writer w = CV_JSON_WRITER(&result->rows);
    struct cv_ref_move move;

    CV_DO(read_change(arguments, is_tag, &change, err));
    CV_DO(cv_table_change_ref(maintenance->table, &change, &move, err));
    result->changed = move.previous_snapshot_id != move.current_snapshot_id;
    cv_json_begin_array(&w);
    cv_json_begin_object(&w);
    cv_json_key(&w, "ref");
    cv_json_put_string(&w, arguments->name);
    cv_maintain_put_id(&w, "previous_snapshot_id", move.previous_snapshot_id);
    cv_maintain_put_id(&w, "current_snapshot_id", move.current_snapshot_id);
    cv_json_end_object(&w);
    cv_json_end_array(&w);
    if (move.current_snapshot_id < 0)
        cv_maintain_note(result, "%s %s %s", is_tag ? "tag" : "branch", arguments->name,
                         maintenance->dry_run ? "would be gone" : "is gone");
    else
        cv_maintain_note(result, "%s %s %s at snapshot %lld", is_tag ? "tag" : "branch",
                         arguments->name, maintenance->dry_run ? "would be" : "is",
                         (long long)move.current_snapshot_id);
    return CV_OK;
}

/* Each procedure with its function and its table. */
#define PROCEDURE(id, text, spark_text, what, ref_action, is_tag)                                  \
    static enum cv_code run_##id(struct cv_maintenance *maintenance, const void *data,             \
                                 struct cv_maintain_result *result, struct cv_error *err)          \
    {                                                                                              \
        return change_ref(maintenance, ref_action, is_tag, data, result, err);                     \
    }                                                                                              \
    static const struct cv_option_table id##_table = {"maintenance." text, what, id##_options,     \
                                                      CV_ARRAY_LENGTH(id##_options)};              \
    const struct cv_procedure cv_procedure_##id = {                                                \
        .name = text,                                                                              \
        .spark_name = spark_text,                                                                  \
        .about = what,                                                                             \
        .arguments = &id##_table,                                                                  \
        .arguments_size = sizeof(struct arguments),                                                \
        .run = run_##id,                                                                           \
    };

PROCEDURE(create_branch, "create-branch", "create_branch", "make a branch at a snapshot",
          CV_REF_CREATE, false)
PROCEDURE(replace_branch, "replace-branch", "replace_branch",
          "move a branch to any snapshot, or change what it keeps", CV_REF_REPLACE, false)
PROCEDURE(drop_branch, "drop-branch", "drop_branch", "drop a branch", CV_REF_DROP, false)
PROCEDURE(create_tag, "create-tag", "create_tag", "name a snapshot", CV_REF_CREATE, true)
PROCEDURE(replace_tag, "replace-tag", "replace_tag", "let a tag name another snapshot",
          CV_REF_REPLACE, true)
PROCEDURE(drop_tag, "drop-tag", "drop_tag", "drop a tag", CV_REF_DROP, true)
