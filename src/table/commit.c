/* SPDX-License-Identifier: Apache-2.0
 *
 * Commit attempts. Safe against an answer that is lost: every attempt carries the same snapshot id
 * and swaps against the metadata location (a catalog that writes the metadata: against the refs)
 * that it was built on, so of two requests on the way only one can land, and whichever did is
 * recognised by its snapshot id. */
#include "table/commit.h"

#include "base/fault.h"
#include "base/stop.h"
#include "base/time.h"
#include "iceberg/metadata_diff.h"
#include "table/produce.h"

#include <stdlib.h>

/* commit.retry.* and commit.status-check.* of the table. */
struct retry_settings {
    int64_t retries;
    int64_t min_wait_ms;
    int64_t max_wait_ms;
    int64_t total_ms;
    int64_t check_retries;
    int64_t check_min_wait_ms;
    int64_t check_max_wait_ms;
    int64_t check_total_ms;
};

#define WAIT_MS_MAX INT64_C(86400000)

static enum cv_code read_settings(const struct cv_properties *properties, struct retry_settings *s,
                                  struct cv_error *err)
{
    *s = (struct retry_settings){4, 100, 60000, 1800000, 3, 1000, 60000, 1800000};
    const struct {
        const char *key;
        int64_t max;
        int64_t *value;
    } keys[] = {
        {"commit.retry.num-retries", INT32_MAX, &s->retries},
        {"commit.retry.min-wait-ms", WAIT_MS_MAX, &s->min_wait_ms},
        {"commit.retry.max-wait-ms", WAIT_MS_MAX, &s->max_wait_ms},
        {"commit.retry.total-timeout-ms", INT64_MAX, &s->total_ms},
        {"commit.status-check.num-retries", INT32_MAX, &s->check_retries},
        {"commit.status-check.min-wait-ms", WAIT_MS_MAX, &s->check_min_wait_ms},
        {"commit.status-check.max-wait-ms", WAIT_MS_MAX, &s->check_max_wait_ms},
        {"commit.status-check.total-timeout-ms", INT64_MAX, &s->check_total_ms},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(keys); i++)
        CV_DO(cv_properties_get_i64(properties, keys[i].key, 0, keys[i].max, keys[i].value, err));
    return CV_OK;
}

/* Doubles with each try and adds up to a tenth, so that rivals part. */
static void back_off(int attempt, int64_t min_ms, int64_t max_ms)
{
    int64_t wait = min_ms;

    for (int i = 1; i < attempt && wait < max_ms; i++)
        wait *= 2;
    wait = CV_MIN(wait, max_ms);
    (void)cv_stop_sleep_ms(wait + cv_random_id() % (wait / 10 + 1));
}

static struct cv_commit_file *note_file(struct cv_commit *commit, const char *location, int attempt)
{
    struct cv_commit_file *file;

    cv_array_reserve(&commit->files, &commit->file_capacity, commit->file_count + 1);
    file = &commit->files[commit->file_count++];
    *file = (struct cv_commit_file){cv_arena_strdup(&commit->arena, location), attempt, false, 0};
    return file;
}

enum cv_code cv_commit_write(struct cv_commit *commit, const char *location,
                             const struct cv_buf *bytes, int attempt, struct cv_error *err)
{
    CV_DO(cv_store_write_unsynced(commit->table->store, location, bytes->data, bytes->length, err));
    (void)note_file(commit, location, attempt);
    return CV_OK;
}

/* Everything that the new metadata will name is durable before the catalog names the metadata. */
static enum cv_code sync_files(struct cv_commit *commit,
                               const struct cv_commit_operation *operation, struct cv_error *err)
{
    size_t most = commit->file_count + operation->unsynced_count;
    const char **locations = cv_arena_array(&commit->arena, const char *, most);
    size_t count = 0;

    for (size_t i = 0; i < operation->unsynced_count && !commit->synced; i++)
        locations[count++] = operation->unsynced[i];
    for (size_t i = 0; i < commit->file_count; i++)
        if (!commit->files[i].synced)
            locations[count++] = commit->files[i].location;
    CV_DO(cv_store_sync(commit->table->store, locations, count, err));
    commit->synced = true;
    for (size_t i = 0; i < commit->file_count; i++)
        commit->files[i].synced = true;
    return CV_OK;
}

static bool is_own_file(const struct cv_commit *commit, const char *location)
{
    for (size_t i = 0; i < commit->file_count; i++)
        if (strcmp(commit->files[i].location, location) == 0)
            return true;
    return false;
}

/* Some catalogs give a landed file another name: it has the bytes of an own one. */
static bool is_at_own_bytes(const struct cv_commit *commit)
{
    for (size_t i = 0; i < commit->file_count; i++)
        if (commit->files[i].hash && commit->files[i].hash == commit->table->metadata_hash)
            return true;
    return false;
}

/* Whether an earlier attempt is part of the table's history as it was just read. */
static bool has_landed(const struct cv_commit *commit)
{
    const struct cv_table_metadata *metadata = commit->table->metadata;

    if (commit->snapshot_id >= 0 && cv_table_metadata_snapshot(metadata, commit->snapshot_id))
        return true;
    if (is_at_own_bytes(commit) || is_own_file(commit, commit->table->metadata_location))
        return true;
    if (commit->sent_next && commit->snapshot_id < 0 &&
        cv_metadata_diff_is_in(commit->sent_base, commit->sent_next, metadata))
        return true;
    for (size_t i = 0; i < metadata->metadata_log_count; i++)
        if (is_own_file(commit, metadata->metadata_log[i].file))
            return true;
    return false;
}

/* After a swap without an answer. CV_OK: it landed. CV_CONFLICT: the table moved on without it, and
 * it cannot land any more; or the catalog checks refs, so that it may be sent again with the same
 * snapshot id: whichever comes first moves the ref, and the other is refused. CV_UNKNOWN: not to be
 * told, or it may still be on its way. */
static enum cv_code resolve_unknown(struct cv_commit *commit, const struct retry_settings *settings,
                                    struct cv_error *err)
{
    CV_CLEANUP(cv_freep) char *base = cv_strdup(commit->table->metadata_location);
    int64_t start = cv_monotonic_us();

    for (int check = 0; check <= settings->check_retries; check++) {
        if (check)
            back_off(check, settings->check_min_wait_ms, settings->check_max_wait_ms);
        if ((cv_monotonic_us() - start) / CV_US_PER_MS > settings->check_total_ms)
            break;
        if (cv_table_refresh(commit->table, NULL) != CV_OK)
            continue;
        if (has_landed(commit))
            return CV_OK;
        if (commit->table->catalog->ops->writes_metadata)
            return cv_fail(err, CV_CONFLICT, "the catalog did not carry the commit out");
        if (strcmp(commit->table->metadata_location, base) != 0)
            return cv_fail(err, CV_CONFLICT, "another commit was first: %s",
                           commit->table->metadata_location);
    }
    cv_hint(err, "no file was removed; a restart looks whether the commit is in and goes on");
    return CV_UNKNOWN;
}

static void remove_dropped_metadata(struct cv_table *table, const char **files, size_t count)
{
    bool wanted = false;

    (void)cv_properties_get_bool(&table->metadata->properties,
                                 "write.metadata.delete-after-commit.enabled", &wanted, NULL);
    for (size_t i = 0; wanted && i < count; i++)
        (void)cv_store_remove(table->store, files[i], NULL);
}

/* A change without a snapshot id leaves no other trace: the states are kept to compare. */
static void note_sent(struct cv_commit *commit, const struct cv_table_metadata *next)
{
    if (commit->snapshot_id >= 0 || !commit->table->catalog->ops->writes_metadata)
        return;
    cv_table_metadata_free(commit->sent_base);
    cv_table_metadata_free(commit->sent_next);
    commit->sent_base = cv_table_metadata_copy(commit->table->metadata);
    commit->sent_next = cv_table_metadata_copy(next);
}

/* The swap itself. The copy, or what the catalog made of it, becomes the table's metadata when it
 * succeeds. */
static enum cv_code swap(struct cv_commit *commit, const struct cv_commit_operation *operation,
                         struct cv_table_metadata **next, const char *file, uint64_t hash,
                         struct cv_error *err)
{
    CV_CLEANUP(cv_catalog_entry_release) struct cv_catalog_entry entry = {0};
    struct cv_table *table = commit->table;
    struct cv_catalog_change change = {table->metadata_location, table->metadata, *next, file,
                                       operation->keeps_definitions};

    CV_DO(cv_fault_pass("commit-sent", err));
    note_sent(commit, *next);
    CV_DO(table->catalog->ops->commit(table->catalog, &table->name, &change, &commit->arena, &entry,
                                      err));
    if (cv_fault_pass("commit-done", NULL) != CV_OK)
        return cv_fail(err, CV_UNKNOWN, "fault point commit-done"); /* as if no answer came */
    table->queue_count = cv_commit_queue_count(table->queue, true);
    cv_table_install(table, entry.metadata ? cv_steal(entry.metadata) : cv_steal(*next),
                     entry.metadata_location, hash);
    return CV_OK;
}

static bool holds_queue(const struct cv_commit *commit)
{
    return commit->table->commit_class == CV_COMMIT_APPEND ||
           commit->overtaken >= CV_QUEUE_OVERTAKEN_MAX;
}

/* Maintenance takes the queue only now, and gives way when an append went by meanwhile. */
static enum cv_code swap_in_turn(struct cv_commit *commit,
                                 const struct cv_commit_operation *operation,
                                 struct cv_table_metadata **next, const char *file, uint64_t hash,
                                 struct cv_error *err)
{
    CV_CLEANUP(cv_catalog_entry_release) struct cv_catalog_entry newest = {0};
    struct cv_table *table = commit->table;
    enum cv_code code;

    if (!table->queue || holds_queue(commit)) {
        commit->stage = CV_COMMIT_SWAPPING;
        return swap(commit, operation, next, file, hash, err);
    }
    cv_commit_queue_enter(table->queue, CV_COMMIT_MAINTENANCE);
    code = table->catalog->ops->load(table->catalog, &table->name, table->metadata_location,
                                     &commit->arena, &newest, err);
    if (code == CV_OK && !newest.unchanged &&
        strcmp(newest.metadata_location, table->metadata_location) != 0) {
        commit->stage = CV_COMMIT_OVERTAKEN;
        commit->overtaken++;
        code = cv_fail(err, CV_CONFLICT, "an append was first: %s", newest.metadata_location);
    } else if (code == CV_OK) {
        commit->stage = CV_COMMIT_SWAPPING;
        code = swap(commit, operation, next, file, hash, err);
    }
    cv_commit_queue_leave(table->queue);
    return code;
}

/* What fell off the metadata log. */
struct dropped {
    const char **files;
    size_t count;
};

/* Not where the catalog does it. */
static enum cv_code write_metadata(struct cv_commit *commit, struct cv_table_metadata *next,
                                   struct dropped *ret_dropped, const char **ret_file,
                                   uint64_t *ret_hash, struct cv_error *err)
{
    struct cv_table *table = commit->table;

    if (table->catalog->ops->writes_metadata)
        return CV_OK;
    cv_table_metadata_log_base(next, table->metadata_location, table->metadata->last_updated_ms,
                               &ret_dropped->files, &ret_dropped->count);
    CV_DO(cv_table_write_metadata(table->catalog, table->store, next, table->metadata_location,
                                  &commit->arena, ret_file, ret_hash, err));
    note_file(commit, *ret_file, commit->attempt)->hash = *ret_hash;
    return cv_fault_pass("metadata-written", err);
}

static enum cv_code write_and_swap(struct cv_commit *commit,
                                   const struct cv_commit_operation *operation,
                                   struct cv_table_metadata **next, struct cv_error *err)
{
    struct cv_table *table = commit->table;
    struct dropped dropped = {0};
    const char *file = NULL;
    uint64_t hash = 0;

    CV_DO(write_metadata(commit, *next, &dropped, &file, &hash, err));
    CV_DO(sync_files(commit, operation, err));
    CV_DO(swap_in_turn(commit, operation, next, file, hash, err));
    if (commit->rows)
        cv_table_cache_manifests(table, commit->snapshot_id, commit->rows, commit->row_count);
    remove_dropped_metadata(table, dropped.files, dropped.count);
    return CV_OK;
}

static void choose_snapshot_id(struct cv_commit *commit)
{
    while (commit->snapshot_id < 0 ||
           cv_table_metadata_snapshot(commit->table->metadata, commit->snapshot_id))
        commit->snapshot_id = cv_random_id();
}

/* A catalog that checks each change itself needs no look beforehand: nobody else commits most of
 * the time, and who does is noticed by the conflict. What this process committed by the way of the
 * queue is known. */
static enum cv_code refresh(struct cv_commit *commit, struct cv_error *err)
{
    struct cv_table *table = commit->table;
    uint64_t count = cv_commit_queue_count(table->queue, false);

    commit->assumed = commit->attempt == 1 && table->catalog->ops->writes_metadata &&
                      table->commit_class == CV_COMMIT_APPEND && count == table->queue_count;
    if (commit->assumed)
        return CV_OK;
    CV_DO(cv_table_refresh(table, err));
    table->queue_count = count;
    return CV_OK;
}

static enum cv_code attempt_once(struct cv_commit *commit,
                                 const struct cv_commit_operation *operation, bool *ret_done,
                                 struct cv_error *err)
{
    CV_CLEANUP(cv_table_metadata_freep) struct cv_table_metadata *next = NULL;

    CV_DO(refresh(commit, err));
    if (commit->attempt > 1 && has_landed(commit)) {
        commit->keep_files = true; /* the conflict was with our own success */
        return CV_OK;
    }
    if (operation->makes_snapshot && commit->attempt == 1)
        choose_snapshot_id(commit);
    next = cv_table_metadata_copy(commit->table->metadata);
    CV_DO(operation->build(operation->context, commit, next, ret_done, err));
    if (*ret_done)
        return CV_OK;
    return write_and_swap(commit, operation, &next, err);
}

static enum cv_code attempt_in_turn(struct cv_commit *commit,
                                    const struct cv_commit_operation *operation, bool *ret_done,
                                    struct cv_error *err)
{
    struct cv_commit_queue *queue = holds_queue(commit) ? commit->table->queue : NULL;
    enum cv_code code;

    commit->stage = CV_COMMIT_BUILDING;
    cv_commit_queue_enter(queue, commit->table->commit_class);
    code = attempt_once(commit, operation, ret_done, err);
    cv_commit_queue_leave(queue);
    return code;
}

static enum cv_code attempt_until_known(struct cv_commit *commit,
                                        const struct cv_commit_operation *operation,
                                        const struct retry_settings *settings, bool *ret_done,
                                        struct cv_error *err)
{
    enum cv_code code = attempt_in_turn(commit, operation, ret_done, err);

    if (code != CV_UNKNOWN)
        return code;
    commit->keep_files = true;
    return resolve_unknown(commit, settings, err);
}

/* Who was first, as far as the table tells: maybe the last attempt itself, where something on the
 * way sent it twice. */
static enum cv_code give_up(struct cv_commit *commit, int refused, struct cv_error *err)
{
    struct cv_table *table = commit->table;
    const struct cv_snapshot *head = NULL;
    const bool known = cv_table_refresh(table, NULL) == CV_OK;
    const bool landed = known && has_landed(commit);

    commit->keep_files |= landed || (!known && table->catalog->ops->writes_metadata);
    if (landed)
        return CV_OK;
    if (known)
        head = cv_table_metadata_head(table->metadata, cv_table_branch(table));
    if (head)
        cv_context(err, "given up after %d attempts; the newest is %s", refused,
                   cv_snapshot_describe(head, &commit->arena));
    else
        cv_context(err, "given up after %d attempts", refused);
    cv_hint(err,
            "other writers were first each time; commit.retry.num-retries allows more attempts");
    return CV_CONFLICT;
}

/* Whether newer metadata than the assumed could make a difference. */
static bool depends_on_base(enum cv_code code, bool done)
{
    return done || code == CV_CONFLICT || code == CV_CONTRADICTION || code == CV_NOT_FOUND ||
           code == CV_SCHEMA || code == CV_CONFIG || code == CV_USAGE;
}

/* Whether a change that was built on assumed metadata was refused for what the table has become: by
 * a conflict, or as one that makes no sense there (of an older format version). It is built again
 * on what the table is now, which is no retry. */
static bool was_outdated(const struct cv_commit *commit, enum cv_code code)
{
    CV_CLEANUP(cv_freep) char *base = NULL;

    if (!commit->assumed || commit->stage != CV_COMMIT_SWAPPING || commit->keep_files)
        return false;
    if (code != CV_CATALOG)
        return code == CV_CONFLICT;
    base = cv_strdup(commit->table->metadata_location);
    return cv_table_refresh(commit->table, NULL) == CV_OK &&
           strcmp(commit->table->metadata_location, base) != 0;
}

static enum cv_code attempt_all(struct cv_commit *commit,
                                const struct cv_commit_operation *operation, bool *ret_done,
                                struct cv_error *err)
{
    int64_t start = cv_monotonic_us();
    struct retry_settings settings;

    CV_DO(read_settings(&commit->table->metadata->properties, &settings, err));
    for (commit->attempt = 1;; commit->attempt++) {
        enum cv_code code = attempt_until_known(commit, operation, &settings, ret_done, err);
        int refused = commit->attempt - commit->overtaken;

        if (commit->assumed && commit->stage == CV_COMMIT_BUILDING &&
            depends_on_base(code, *ret_done)) {
            *ret_done = false;
            continue;
        }
        if (was_outdated(commit, code)) {
            commit->overtaken++;
            continue;
        }
        if (code != CV_CONFLICT || commit->stage == CV_COMMIT_BUILDING)
            return code;
        if (commit->stage == CV_COMMIT_OVERTAKEN)
            continue;
        if (refused > settings.retries ||
            (cv_monotonic_us() - start) / CV_US_PER_MS > settings.total_ms)
            return give_up(commit, refused, err);
        back_off(refused, settings.min_wait_ms, settings.max_wait_ms);
    }
}

/* All, or only what attempts before the last one needed. */
static void remove_files(struct cv_commit *commit, bool all)
{
    for (size_t i = 0; i < commit->file_count; i++) {
        const struct cv_commit_file *file = &commit->files[i];

        if (all || (file->attempt && file->attempt < commit->attempt))
            (void)cv_store_remove(commit->table->store, file->location, NULL);
    }
}

static void commit_release(struct cv_commit *commit)
{
    cv_table_metadata_free(commit->sent_base);
    cv_table_metadata_free(commit->sent_next);
    free(commit->files);
    cv_arena_release(&commit->arena);
}

static enum cv_code try_out(struct cv_table *table, const struct cv_commit_operation *operation,
                            struct cv_commit_outcome *ret_outcome, struct cv_error *err)
{
    CV_CLEANUP(commit_release)
    struct cv_commit commit = {.table = table, .snapshot_id = -1, .dry_run = true};
    CV_CLEANUP(cv_table_metadata_freep) struct cv_table_metadata *next = NULL;
    bool done;

    CV_DO(cv_table_refresh(table, err));
    next = cv_table_metadata_copy(table->metadata);
    CV_DO(operation->build(operation->context, &commit, next, &done, err));
    *ret_outcome = (struct cv_commit_outcome){.snapshot_id = -1, .already_done = true};
    return CV_OK;
}

enum cv_code cv_commit_run(struct cv_table *table, const struct cv_commit_operation *operation,
                           struct cv_commit_outcome *ret_outcome, struct cv_error *err)
{
    CV_CLEANUP(commit_release) struct cv_commit commit = {.table = table, .snapshot_id = -1};
    bool done = false;
    enum cv_code code;

    if (operation->dry_run)
        return try_out(table, operation, ret_outcome, err);
    cv_uuid_text(commit.uuid);
    code = attempt_all(&commit, operation, &done, err);
    if (!commit.keep_files)
        remove_files(&commit, code != CV_OK || done);
    if (code != CV_OK && commit.keep_files) {
        if (err)
            err->code = CV_UNKNOWN; /* a later refusal does not tell about that attempt */
        return CV_UNKNOWN;
    }
    CV_DO(code);
    cv_error_clear(err); /* of attempts before */
    *ret_outcome = (struct cv_commit_outcome){commit.snapshot_id, commit.attempt, done};
    return CV_OK;
}
