/* SPDX-License-Identifier: Apache-2.0
 *
 * What a table's own metadata tells before anything is judged: its rate, what could be expired, and
 * who holds the bytes of its folder. */
#include "doctor/doctor_int.h"

#include "base/map.h"
#include "iceberg/metadata_change.h"
#include "maintain/location_key.h"
#include "maintain/reachable.h"
#include "table/expire.h"

#include <stdlib.h>

#define RECENT_APPENDS     50 /* newest ones that the rate is taken from */
#define OPEN_GAPS          3  /* a partition is open for so many usual pauses after its last file */
#define OPEN_MS_MAX        (30 * 60 * CV_MS_PER_SECOND)
#define SLOW_GAP_MS        (60 * CV_MS_PER_SECOND)
#define AGE_MS_DEFAULT     (5 * CV_MS_PER_DAY)          /* history.expire.max-snapshot-age-ms */
#define SNAPSHOTS_KEPT_MAX 500                          /* that a day's window may leave */
#define SETTLED_MS         (3 * CV_MS_PER_DAY)          /* remove-orphan-files' older_than */
#define YOUNG_MS           (10 * 60 * CV_MS_PER_SECOND) /* may be a write on its way */

static int compare_times(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

static int64_t median_gap(const struct cv_table *table)
{
    struct cv_history history = cv_history_of(table->metadata, cv_table_branch(table));
    int64_t gaps[RECENT_APPENDS];
    const struct cv_snapshot *snapshot;
    int64_t later_ms = -1;
    size_t count = 0;

    while (count < RECENT_APPENDS && (snapshot = cv_history_next(&history))) {
        const char *operation = cv_properties_get_or(&snapshot->summary, "operation", "append");

        if (strcmp(operation, "append") != 0)
            continue;
        if (later_ms >= 0)
            gaps[count++] = later_ms - snapshot->timestamp_ms;
        later_ms = snapshot->timestamp_ms;
    }
    if (!count)
        return 0;
    qsort(gaps, count, sizeof *gaps, compare_times);
    return CV_MAX(gaps[count / 2], 1);
}

/* A partition that gets files less than once a minute is left alone while it does. Where they come
 * faster, they do harm before it closes. With a job it is known whether anybody writes. */
static int64_t open_window(const struct cv_doctor *d)
{
    int64_t gap_ms = d->exam->commit_gap_ms;
    bool written = d->config->job ? d->checkpoint.used : gap_ms >= SLOW_GAP_MS;

    return written ? CV_MIN(CV_MAX(OPEN_GAPS * gap_ms, SLOW_GAP_MS), OPEN_MS_MAX) : 0;
}

static enum cv_code count_expired(const struct cv_doctor *d, int64_t window_ms, int64_t *ret_count,
                                  struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_expire_rules rules = {
        .now_ms = d->now_ms, .older_than_ms = d->now_ms - window_ms, .retain_last = 1};
    struct cv_expire_plan plan;
    int64_t *carriers;

    cv_table_position_carriers(d->metadata, &arena, &carriers, &rules.keep_id_count);
    rules.keep_ids = carriers;
    CV_DO(cv_expire_plan(d->metadata, &rules, &arena, &plan, err));
    *ret_count = (int64_t)plan.snapshot_count;
    return CV_OK;
}

/* The longest window that leaves no more snapshots than anybody looks through: the table's own age
 * limit, a day, an hour. A table that is younger than an hour has no history to keep. */
static enum cv_code advise_expiry(struct cv_doctor *d, struct cv_error *err)
{
    struct cv_expiry_advice *advice = &d->exam->expiry;
    int64_t own_ms = AGE_MS_DEFAULT;
    int64_t snapshots = (int64_t)d->metadata->snapshot_count;
    int64_t windows[4];

    (void)cv_properties_get_i64(&d->metadata->properties, "history.expire.max-snapshot-age-ms", 0,
                                INT64_MAX, &own_ms, NULL);
    windows[0] = own_ms;
    windows[1] = CV_MIN(own_ms, CV_MS_PER_DAY);
    windows[2] = CV_MIN(own_ms, CV_MS_PER_HOUR);
    windows[3] = 0;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(windows); i++) {
        advice->window_ms = windows[i];
        CV_DO(count_expired(d, windows[i], &advice->removed, err));
        if (advice->removed && (i >= 2 || snapshots - advice->removed <= SNAPSHOTS_KEPT_MAX))
            break;
    }
    return CV_OK;
}

/* --- who holds the bytes --------------------------------------------------------------------- */

struct split {
    struct cv_doctor *d;
    struct cv_location_set *live, *data, *metadata;
    struct cv_location_key folder; /* of the table */
    bool overflow;                 /* more live files than `live` has room for */
};

static void split_release(struct split *split)
{
    cv_location_set_free(split->live);
    cv_location_set_free(split->data);
    cv_location_set_free(split->metadata);
}

static bool make_key(struct cv_str location, struct cv_location_key *key)
{
    static const struct cv_location_rules none;

    return cv_location_key_make(&none, location, key);
}

/* By path alone, as orphan removal compares: file:/a, file:///a and /a are one, s3 and s3a, too. */
static struct cv_str path_of(struct cv_str location, struct cv_location_key *key)
{
    if (!make_key(location, key))
        return location;
    return (struct cv_str){key->path, key->path_length};
}

static enum cv_code add(struct cv_location_set *set, struct cv_str location, struct cv_error *err)
{
    struct cv_location_key key;

    return cv_location_set_add(set, path_of(location, &key), NULL, err);
}

static enum cv_code check_stop(const struct split *split, struct cv_error *err)
{
    const struct cv_examine_config *config = split->d->config;

    if (config->stopping && config->stopping(config->stopping_context))
        return cv_fail(err, CV_CANCELLED, "cancelled");
    return CV_OK;
}

static enum cv_code note_live(void *context, const struct cv_data_file *file, struct cv_error *err)
{
    struct split *split = context;

    CV_DO(check_stop(split, err));
    split->overflow |= add(split->live, cv_str_from(file->path), NULL) != CV_OK;
    return CV_OK;
}

static enum cv_code note_reached(void *context, const struct cv_reached *reached,
                                 struct cv_error *err)
{
    struct split *split = context;
    bool is_data = reached->kind == CV_REACHED_DATA ||
                   reached->kind == CV_REACHED_POSITION_DELETES ||
                   reached->kind == CV_REACHED_EQUALITY_DELETES;

    return add(is_data ? split->data : split->metadata, reached->location, err);
}

/* A list or manifest that is gone: its files count as orphans, which is what they are. */
static enum cv_code pass_over(void *context, const char *location, struct cv_error *err)
{
    (void)context;
    (void)location;
    cv_error_clear(err);
    return CV_OK;
}

static enum cv_code note_table_files(struct split *split, struct cv_error *err)
{
    const struct cv_doctor *d = split->d;
    struct cv_statistics_file *files;
    size_t count;

    CV_DO(add(split->metadata, cv_str_from(d->config->table->metadata_location), err));
    for (size_t i = 0; i < d->metadata->metadata_log_count; i++)
        CV_DO(add(split->metadata, cv_str_from(d->metadata->metadata_log[i].file), err));
    CV_DO(cv_table_metadata_statistics(d->metadata, d->arena, &files, &count, err));
    for (size_t i = 0; i < count; i++)
        CV_DO(add(split->metadata, cv_str_from(files[i].path), err));
    return CV_OK;
}

static void count(int64_t *bytes, int64_t *files, int64_t size)
{
    *bytes += size;
    (*files)++;
}

/* Settled is what orphan removal would take: of a known age, and not hidden. */
static void count_orphan(struct split *split, const struct cv_listed_file *file)
{
    struct cv_storage_split *storage = &split->d->exam->storage;
    int64_t age_ms = split->d->now_ms - file->modified_ms;
    bool has_age = file->modified_ms >= 0;
    struct cv_location_key key;

    if (has_age && age_ms < YOUNG_MS)
        return;
    count(&storage->orphan_bytes, &storage->orphan_files, file->size);
    if (has_age && age_ms >= SETTLED_MS && make_key(cv_str_from(file->location), &key) &&
        !cv_location_key_hidden(&key, &split->folder, split->d->metadata))
        count(&storage->settled_orphan_bytes, &storage->settled_orphan_files, file->size);
}

static enum cv_code count_listed(void *context, const struct cv_listed_file *file,
                                 struct cv_error *err)
{
    struct split *split = context;
    struct cv_storage_split *storage = &split->d->exam->storage;
    struct cv_location_key key;
    struct cv_str location = path_of(cv_str_from(file->location), &key);

    CV_DO(check_stop(split, err));
    if (cv_location_set_has(split->live, location))
        return CV_OK; /* counted by the manifests */
    if (cv_location_set_has(split->data, location))
        count(&storage->old_bytes, &storage->old_files, file->size);
    else if (cv_location_set_has(split->metadata, location) ||
             cv_text_ends_with(file->location, "/version-hint.text"))
        count(&storage->metadata_bytes, &storage->metadata_files, file->size);
    else
        count_orphan(split, file);
    return CV_OK;
}

static bool never(void *context)
{
    (void)context;
    return false;
}

/* The head's manifests, which measure() has read: they are the table's, and not opened again. */
static enum cv_code pass_head(struct split *split, struct cv_location_set *passed,
                              struct cv_error *err)
{
    struct cv_doctor *d = split->d;
    struct cv_table *table = d->config->table;
    const struct cv_snapshot *head = cv_table_metadata_head(d->metadata, cv_table_branch(table));
    struct cv_manifest_file *rows = NULL;
    size_t count = 0;

    if (head && head->manifest_list)
        CV_DO(cv_table_manifests(table, head, d->arena, &rows, &count, err));
    for (size_t i = 0; i < count; i++) {
        CV_DO(add(split->metadata, cv_str_from(rows[i].path), err));
        CV_DO(cv_location_set_add(passed, cv_str_from(rows[i].path), NULL, err));
    }
    return CV_OK;
}

static enum cv_code reach_all(struct split *split, struct cv_error *err)
{
    struct cv_doctor *d = split->d;
    CV_CLEANUP(cv_location_set_freep)
    struct cv_location_set *passed = cv_location_set_new(d->config->memory_bytes / 16, 0, 1);
    const struct cv_examine_config *config = d->config;
    struct cv_maintenance maintenance = {
        .table = config->table,
        .memory_bytes = config->memory_bytes,
        .threads = CV_MAX(config->threads, 1),
        .stopping = config->stopping ? config->stopping : never,
        .context = config->stopping_context,
    };
    struct cv_reach reach = {.maintenance = &maintenance,
                             .store = config->table->store,
                             .procedure = "doctor",
                             .skip = passed,
                             .each = note_reached,
                             .unreadable = pass_over,
                             .context = split};
    const struct cv_snapshot **snapshots =
        cv_arena_array(d->arena, const struct cv_snapshot *, d->metadata->snapshot_count + 1);

    for (size_t i = 0; i < d->metadata->snapshot_count; i++)
        snapshots[i] = &d->metadata->snapshots[i];
    CV_DO(pass_head(split, passed, err));
    return cv_reach_snapshots(&reach, snapshots, d->metadata->snapshot_count, err);
}

static enum cv_code measure(struct split *split, struct cv_error *err)
{
    struct cv_doctor *d = split->d;
    struct cv_measure_config config = {
        .now_ms = d->now_ms, .open_ms = open_window(d), .live = note_live, .context = split};
    struct cv_table_measures *m = &d->exam->measures;
    struct cv_storage_split *storage = &d->exam->storage;

    CV_DO(cv_table_measure(d->config->table, &config, m, err));
    storage->live_bytes = m->data_bytes + m->delete_bytes;
    storage->live_files =
        m->data_files + m->position_delete_files + m->equality_delete_files + m->deletion_vectors;
    return CV_OK;
}

static enum cv_code list_folder(struct split *split, struct cv_error *err)
{
    const struct cv_doctor *d = split->d;

    if (split->overflow)
        return cv_fail(err, CV_LIMIT, "too many live files");
    if (!make_key(cv_str_from(d->metadata->location), &split->folder))
        return cv_fail(err, CV_LIMIT, "the table's location is too long");
    CV_DO(reach_all(split, err));
    CV_DO(note_table_files(split, err));
    return cv_store_list(d->config->table->store, d->metadata->location, count_listed, split, err);
}

/* Reading may go where listing does not, and a table may have more files than the memory holds: the
 * rest stands without the split. */
static enum cv_code split_storage(struct split *split, struct cv_error *err)
{
    struct cv_doctor *d = split->d;
    struct cv_storage_split *storage = &d->exam->storage;
    size_t share = d->config->memory_bytes / 4;
    enum cv_code code;

    split->live = cv_location_set_new(share, 0, 1);
    split->data = cv_location_set_new(share, 0, 1);
    split->metadata = cv_location_set_new(share, 0, 1);
    CV_DO(measure(split, err));
    (void)cv_store_size(d->config->table->store, d->config->table->metadata_location,
                        &storage->metadata_json_bytes, NULL);
    code = list_folder(split, err);
    storage->known = code == CV_OK;
    if (code != CV_UNSUPPORTED && code != CV_AUTH && code != CV_IO && code != CV_LIMIT)
        return code;
    *storage = (struct cv_storage_split){.live_bytes = storage->live_bytes,
                                         .live_files = storage->live_files,
                                         .metadata_json_bytes = storage->metadata_json_bytes};
    cv_error_clear(err);
    return CV_OK;
}

enum cv_code cv_doctor_look_at_table(struct cv_doctor *d, struct cv_error *err)
{
    CV_CLEANUP(split_release) struct split split = {.d = d};

    d->exam->commit_gap_ms = median_gap(d->config->table);
    CV_DO(advise_expiry(d, err));
    cv_doctor_look_at_uploads(d);
    return split_storage(&split, err);
}
