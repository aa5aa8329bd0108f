/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings about files, manifests, snapshots and metadata of a table. Limits are relative to what
 * the table could be; where a number must stand alone, it is one that others alarm at. */
#include "doctor/doctor_int.h"

#include "base/map.h"
#include "base/time.h"

#define COMMITS_TO_JUDGE    10 /* fewer appends show no rate */
#define MINUTE_MS           (60 * CV_MS_PER_SECOND)
#define AVOIDABLE_WARN      5 /* a rewrite of 5 files is Iceberg's smallest by default */
#define AVOIDABLE_CRITICAL  10000
#define OPEN_FILES_WARN     500
#define MANIFESTS_WARN      32
#define FILES_PER_MANIFEST  100 /* with more than that in each, their number does not hurt */
#define SNAPSHOTS_WARN      100
#define SNAPSHOTS_CRITICAL  5000
#define METADATA_JSON_WARN  (INT64_C(5) << 20)
#define METADATA_DAY_WARN   (INT64_C(2) << 30) /* written a day by commits */
#define METADATA_JSON_TALKS (INT64_C(256) << 10)
#define METADATA_FILES_WARN 10
#define EXPIRED_TO_JUDGE    10
#define HISTORY_WITHOUT_END 20 /* snapshots since the table's first one */

/* The table's name as a word of a command. */
static const char *table_word(const struct cv_doctor *d)
{
    return cv_doctor_quoted(d->config->table_name, d->arena);
}

static int64_t commits_per_day(const struct cv_doctor *d)
{
    return d->exam->commit_gap_ms ? CV_MS_PER_DAY / d->exam->commit_gap_ms : 0;
}

/* The way to a longer trigger, for the findings that it heals. */
static void advise_trigger(struct cv_doctor *d, struct cv_finding *finding)
{
    if (d->config->job)
        finding->command = cv_doctor_text(d, "calve run %s -o sink.trigger=\"1 minute\"",
                                          cv_doctor_quoted(d->config->job->file.path, d->arena));
    finding->expected =
        d->config->job
            ? "at most 1440 commits a day; write the trigger into the job file to keep it"
            : "give the table's writer a trigger of a minute or more: at most 1440 commits a day";
}

void cv_judge_trigger(struct cv_doctor *d)
{
    const struct cv_job *job = d->config->job;
    const struct cv_table_measures *m = &d->exam->measures;
    bool measured = m->snapshots > COMMITS_TO_JUDGE && d->exam->commit_gap_ms &&
                    d->exam->commit_gap_ms < MINUTE_MS;
    bool set = job && job->trigger.kind == CV_TRIGGER_PROCESSING_TIME &&
               job->trigger.interval_us < 60 * CV_US_PER_SECOND;
    struct cv_finding *finding;

    if (!d->metadata || !(job ? set : measured))
        return;
    if (m->data_files && m->data_bytes / m->data_files >= m->target_bytes / 2)
        return; /* so much data that even such a trigger fills its files */
    if (set && job->trigger.interval_us == 0)
        finding = cv_doctor_add(d, 0,
                                "the trigger is \"at once\": as many commits as the table "
                                "can take");
    else if (set)
        finding = cv_doctor_add(d, CV_US_PER_DAY / job->trigger.interval_us,
                                "a trigger of %s makes up to %lld commits a day",
                                cv_doctor_duration(d, job->trigger.interval_us / CV_US_PER_MS),
                                (long long)(CV_US_PER_DAY / job->trigger.interval_us));
    else
        finding = cv_doctor_add(d, commits_per_day(d),
                                "a commit every %s: %lld a day, each with a file of %s on average",
                                cv_doctor_duration(d, d->exam->commit_gap_ms),
                                (long long)commits_per_day(d),
                                cv_doctor_bytes(d, m->data_bytes / CV_MAX(m->data_files, 1)));
    finding->why = "every commit adds a snapshot, a manifest and a small file per partition; "
                   "Iceberg advises a minute or more";
    advise_trigger(d, finding);
}

void cv_judge_avoidable_files(struct cv_doctor *d)
{
    const struct cv_table_measures *m = &d->exam->measures;
    struct cv_finding *finding;

    if (m->mergeable_files < AVOIDABLE_WARN)
        return;
    finding = cv_doctor_add(
        d, m->avoidable_files, "%lld data files where %lld would do: %lld are avoidable",
        (long long)m->data_files, (long long)m->possible_files, (long long)m->avoidable_files);
    if (m->avoidable_files >= AVOIDABLE_CRITICAL)
        finding->severity = CV_SEVERITY_CRITICAL;
    finding->why = "a query opens every file it cannot skip: planning time and requests grow with "
                   "their number, while the data does not";
    cv_doctor_advise(d, finding, "rewrite-data-files", "min-input-files", "2", NULL);
    finding->expected = cv_doctor_text(
        d,
        "about %lld files of up to %s, the same rows; the replaced ones go when snapshots expire",
        (long long)m->possible_files, cv_doctor_bytes(d, m->target_bytes));
}

void cv_judge_open_partitions(struct cv_doctor *d)
{
    const struct cv_table_measures *m = &d->exam->measures;
    struct cv_finding *finding;

    if (!m->open_partitions)
        return;
    finding = cv_doctor_add(d, m->open_partition_files,
                            "%lld files in %lld partition%s that %s still written, at %lld commits "
                            "a day",
                            (long long)m->open_partition_files, (long long)m->open_partitions,
                            m->open_partitions == 1 ? "" : "s",
                            m->open_partitions == 1 ? "is" : "are", (long long)commits_per_day(d));
    if (m->open_partition_files / m->open_partitions >= OPEN_FILES_WARN)
        finding->severity = CV_SEVERITY_WARNING;
    finding->why = "they are not judged as avoidable yet, and compacting them now is work that "
                   "later has to be done again";
    finding->expected = "nothing to do until they close; a longer trigger makes fewer";
}

void cv_judge_manifests(struct cv_doctor *d)
{
    const struct cv_table_measures *m = &d->exam->measures;
    struct cv_finding *finding;

    if (m->avoidable_manifests < MANIFESTS_WARN ||
        m->data_files / m->manifests >= FILES_PER_MANIFEST)
        return;
    finding =
        cv_doctor_add(d, m->avoidable_manifests, "%lld manifests of %s in all: %lld are avoidable",
                      (long long)m->manifests, cv_doctor_bytes(d, m->manifest_bytes),
                      (long long)m->avoidable_manifests);
    finding->why =
        "planning a query reads every manifest, one request each; an append adds one and "
        "merges none";
    cv_doctor_advise(d, finding, "rewrite-manifests", NULL);
    finding->expected = cv_doctor_text(d, "%lld manifests, sorted by partition",
                                       (long long)(m->manifests - m->avoidable_manifests));
}

void cv_judge_snapshots(struct cv_doctor *d)
{
    const struct cv_table_measures *m = &d->exam->measures;
    const struct cv_expiry_advice *expiry = &d->exam->expiry;
    struct cv_finding *finding;

    if (m->snapshots < SNAPSHOTS_WARN || expiry->removed < m->snapshots / 4)
        return;
    finding =
        cv_doctor_add(d, m->snapshots, "%lld snapshots, the oldest %s old", (long long)m->snapshots,
                      cv_doctor_duration(d, d->now_ms - m->oldest_snapshot_ms));
    if (m->snapshots >= SNAPSHOTS_CRITICAL)
        finding->severity = CV_SEVERITY_CRITICAL;
    finding->why = "every commit writes all of them into a new metadata.json, and their old files "
                   "stay in storage";
    cv_doctor_advise_expiry(d, finding);
    finding->expected =
        cv_doctor_text(d, "%lld snapshots less; the newest position of every stream is kept",
                       (long long)expiry->removed);
}

void cv_judge_metadata_size(struct cv_doctor *d)
{
    int64_t bytes = d->exam->storage.metadata_json_bytes;
    int64_t daily = bytes > METADATA_JSON_TALKS ? bytes * commits_per_day(d) : 0;
    struct cv_finding *finding;

    if ((bytes < METADATA_JSON_WARN && daily < METADATA_DAY_WARN) || !d->exam->expiry.removed)
        return;
    finding = cv_doctor_add(d, bytes, "metadata.json has %s, and %lld commits a day write it anew",
                            cv_doctor_bytes(d, bytes), (long long)commits_per_day(d));
    finding->why = "every commit and every query that opens the table moves all of it";
    cv_doctor_advise_expiry(d, finding);
    finding->expected =
        cv_doctor_text(d, "%lld snapshots less in it", (long long)d->exam->expiry.removed);
}

void cv_judge_metadata_cleanup(struct cv_doctor *d)
{
    static const char key[] = "write.metadata.delete-after-commit.enabled";
    struct cv_finding *finding;
    bool enabled = false;

    if (!d->metadata || d->metadata->metadata_log_count < METADATA_FILES_WARN)
        return;
    (void)cv_properties_get_bool(&d->metadata->properties, key, &enabled, NULL);
    if (enabled)
        return;
    finding = cv_doctor_add(d, (int64_t)d->metadata->metadata_log_count,
                            "old metadata.json files are never deleted: %zu are tracked, %s is off",
                            d->metadata->metadata_log_count, key);
    finding->why = "every commit leaves one; beyond the tracked ones only a search for orphans "
                   "finds them";
    cv_properties_set(&finding->properties, key, "true");
    finding->command = cv_doctor_text(d, "calve table set %s%s --property %s=true", table_word(d),
                                      cv_doctor_config_flag(d->config, d->arena), key);
    finding->expected = "from the next commit on files that leave the log are deleted "
                        "(write.metadata.previous-versions-max, 100)";
}

void cv_judge_refs(struct cv_doctor *d)
{
    const struct cv_table_metadata *metadata = d->metadata;

    for (size_t i = 0; metadata && i < metadata->ref_count; i++) {
        const struct cv_snapshot_ref *ref = &metadata->refs[i];
        const struct cv_snapshot *at = cv_table_metadata_snapshot(metadata, ref->snapshot_id);
        const char *kind = ref->is_tag ? "tag" : "branch";
        struct cv_finding *finding;

        if (strcmp(ref->name, "main") == 0 || !at || ref->max_ref_age_ms >= 0 ||
            strcmp(ref->name, cv_table_branch(d->config->table)) == 0)
            continue;
        finding = cv_doctor_add(d, ref->snapshot_id, "%s %s holds snapshot %lld, %s old, for ever",
                                kind, ref->name, (long long)ref->snapshot_id,
                                cv_doctor_duration(d, d->now_ms - at->timestamp_ms));
        finding->why =
            "no expiry touches what a branch or tag needs, and this one has no age limit";
        finding->command = cv_doctor_text(d, "calve maintain drop-%s %s%s --%s %s", kind,
                                          table_word(d), cv_doctor_config_flag(d->config, d->arena),
                                          kind, cv_doctor_quoted(ref->name, d->arena));
        finding->expected = "if nobody needs it: the next expiry frees its snapshots";
    }
}

/* --- who writes ------------------------------------------------------------------------------ */

/* What the summary tells about the program; "" when it does not. */
static const char *writer_of(const struct cv_snapshot *snapshot, struct cv_arena *arena)
{
    static const char *const applications[] = {"spark.app.id", "app-id", "flink.job-id",
                                               "kafka.connect.commit-id", "app-name"};
    const struct cv_properties *summary = &snapshot->summary;
    const char *engine = cv_properties_get(summary, "engine-name");

    if (engine && strcmp(engine, "calve") == 0)
        return engine; /* whatever of other programs it carries along */
    for (size_t i = 0; i < CV_ARRAY_LENGTH(applications); i++) {
        const char *id = cv_properties_get(summary, applications[i]);

        if (!id)
            continue;
        if (strcmp(applications[i], "kafka.connect.commit-id") == 0)
            return "Kafka Connect";
        return cv_arena_printf(arena, "%s%s%s", engine ? engine : "", engine ? " " : "", id);
    }
    return engine ? engine : "";
}

struct writer {
    const char *name;
    int64_t commits, changes; /* other than appends */
    int64_t newest_ms;
};

static struct writer *writer_named(struct cv_map *writers, const char *name, struct cv_arena *arena)
{
    struct writer *writer = cv_map_get(writers, name, strlen(name));

    if (writer)
        return writer;
    writer = cv_arena_new(arena, struct writer);
    writer->name = name;
    (void)cv_map_set(writers, name, strlen(name), writer);
    return writer;
}

static void report_writer(struct cv_doctor *d, const struct writer *writer)
{
    struct cv_finding *finding = cv_doctor_add(
        d, writer->commits,
        "%s committed %lld of the %zu snapshots beside calve, %lld of them no appends; the last "
        "one %s ago",
        writer->name[0] ? writer->name : "a program without a name in its summaries (PyIceberg, …)",
        (long long)writer->commits, d->metadata->snapshot_count, (long long)writer->changes,
        cv_doctor_duration(d, d->now_ms - writer->newest_ms));

    if (writer->changes)
        finding->severity = CV_SEVERITY_WARNING;
    finding->why = "maintenance of two programs fails on each other's changes, and only one of "
                   "them knows the stream's positions";
    finding->expected = "appends are safe; let one program do the maintenance, best the one that "
                        "streams";
}

/* Only where calve writes, too: a table of one program has no foreign writer. */
void cv_judge_writers(struct cv_doctor *d)
{
    CV_CLEANUP(cv_map_release) struct cv_map writers = {0};
    const struct cv_map_slot *slot;
    size_t position = 0;

    for (size_t i = 0; d->metadata && i < d->metadata->snapshot_count; i++) {
        const struct cv_snapshot *snapshot = &d->metadata->snapshots[i];
        struct writer *writer = writer_named(&writers, writer_of(snapshot, d->arena), d->arena);
        const char *operation = cv_properties_get_or(&snapshot->summary, "operation", "append");

        writer->commits++;
        writer->changes += strcmp(operation, "append") != 0;
        writer->newest_ms = CV_MAX(writer->newest_ms, snapshot->timestamp_ms);
    }
    if (!cv_map_has(&writers, "calve", 5))
        return;
    while ((slot = cv_map_next(&writers, &position)))
        if (strcmp(((struct writer *)slot->value)->name, "calve") != 0)
            report_writer(d, slot->value);
}

/* --- nobody looks after it ------------------------------------------------------------------- */

static bool streams(const struct cv_doctor *d)
{
    const struct cv_job *job = d->config->job;

    return d->metadata && job && job->trigger.kind == CV_TRIGGER_PROCESSING_TIME;
}

static struct cv_finding *add_unscheduled(struct cv_doctor *d, const char *procedure,
                                          const char *example)
{
    struct cv_finding *finding;

    if (!streams(d) || cv_schedule_find(&d->schedule, procedure))
        return NULL;
    finding = cv_doctor_add(d, 0, "the job has no %s in a maintenance: section", procedure);
    finding->expected = cv_doctor_text(d, "write into %s:\n  maintenance:\n    %s: {%s}",
                                       d->config->job->file.path, procedure, example);
    return finding;
}

void cv_judge_no_compaction(struct cv_doctor *d)
{
    struct cv_finding *finding =
        add_unscheduled(d, "rewrite-data-files", "when: avoidable-files > 20, min-input-files: 5");

    if (finding)
        finding->why = "a stream makes small files as long as it runs; compaction in the same "
                       "process never conflicts with it";
}

/* The table's very first snapshot is still there. */
static bool never_expired(const struct cv_doctor *d)
{
    bool has_root = false;

    if (!d->metadata || d->metadata->snapshot_count < HISTORY_WITHOUT_END)
        return false;
    for (size_t i = 0; i < d->metadata->snapshot_count; i++)
        has_root |= d->metadata->snapshots[i].parent_id < 0;
    return has_root;
}

void cv_judge_no_expiry(struct cv_doctor *d)
{
    struct cv_finding *finding = NULL;

    if (streams(d)) {
        finding = add_unscheduled(d, "expire-snapshots", "every: 1h");
    } else if (never_expired(d)) {
        finding = cv_doctor_add(d, (int64_t)d->metadata->snapshot_count,
                                "no snapshot was ever expired: all %zu since the first are there",
                                d->metadata->snapshot_count);
        finding->expected = cv_doctor_text(d,
                                           "%lld snapshots less; run it every day, or let the "
                                           "job do it (maintenance: expire-snapshots)",
                                           (long long)d->exam->expiry.removed);
    }
    if (!finding)
        return;
    finding->why = "snapshots, their metadata and every file they need pile up for ever: expiry "
                   "properties do nothing until something runs it";
    if (never_expired(d) && d->exam->expiry.removed)
        cv_doctor_advise_expiry(d, finding);
}

void cv_judge_no_manifests(struct cv_doctor *d)
{
    struct cv_finding *finding =
        add_unscheduled(d, "rewrite-manifests", "when: avoidable-manifests > 100");

    if (finding)
        finding->why = "every append adds a manifest";
}

void cv_judge_no_orphans(struct cv_doctor *d)
{
    struct cv_finding *finding = add_unscheduled(d, "remove-orphan-files", "every: 1 day");

    if (finding)
        finding->why = "a process that dies leaves files that no metadata names";
}

/* --- storage --------------------------------------------------------------------------------- */

void cv_judge_storage(struct cv_doctor *d)
{
    const struct cv_storage_split *s = &d->exam->storage;
    struct cv_finding *finding;

    if (!d->metadata || !s->known)
        return;
    finding =
        cv_doctor_add(d, s->live_bytes + s->old_bytes + s->orphan_bytes + s->metadata_bytes,
                      "%s live, %s held by older snapshots only, %s orphan, %s metadata",
                      cv_doctor_bytes(d, s->live_bytes), cv_doctor_bytes(d, s->old_bytes),
                      cv_doctor_bytes(d, s->orphan_bytes), cv_doctor_bytes(d, s->metadata_bytes));
    finding->why = "only live bytes answer queries of today";
    /* A few snapshots of an hour are nobody's storage bill. */
    if (s->old_bytes <= s->live_bytes / 2 || !d->exam->expiry.removed ||
        (d->exam->expiry.removed < EXPIRED_TO_JUDGE && !d->exam->expiry.window_ms))
        return;
    finding->severity = CV_SEVERITY_WARNING;
    cv_doctor_advise_expiry(d, finding);
    finding->expected = cv_doctor_text(d, "up to %s less", cv_doctor_bytes(d, s->old_bytes));
}

void cv_judge_orphans(struct cv_doctor *d)
{
    const struct cv_storage_split *s = &d->exam->storage;
    struct cv_finding *finding;

    if (!d->metadata || !s->known || !s->settled_orphan_files)
        return;
    finding = cv_doctor_add(
        d, s->settled_orphan_files, "%lld files of %s, older than 3 days, are named by no snapshot",
        (long long)s->settled_orphan_files, cv_doctor_bytes(d, s->settled_orphan_bytes));
    finding->why = "leftovers of failed writes and of metadata files that nobody deletes: paid for "
                   "and never read";
    cv_doctor_advise(d, finding, "remove-orphan-files", NULL);
    finding->expected = cv_doctor_text(d, "%s less; add --dry-run to see the list first",
                                       cv_doctor_bytes(d, s->settled_orphan_bytes));
}

struct newest {
    struct cv_arena *arena;
    const char *location; /* NULL = none yet */
    int64_t modified_ms;
};

static enum cv_code keep_newest(void *context, const struct cv_listed_file *file,
                                struct cv_error *err)
{
    struct newest *newest = context;

    (void)err;
    if (!strstr(file->location, ".metadata.json") ||
        (newest->location && file->modified_ms < newest->modified_ms))
        return CV_OK;
    newest->location = cv_arena_strdup(newest->arena, file->location);
    newest->modified_ms = file->modified_ms;
    return CV_OK;
}

/* The newest metadata file beside the one that is gone; NULL when there is none. */
static const char *find_newest_metadata(struct cv_catalog *catalog, const char *missing,
                                        struct cv_arena *arena)
{
    CV_CLEANUP(cv_store_freep) struct cv_store *store = NULL;
    struct newest newest = {.arena = arena};
    const char *slash = strrchr(missing, '/');

    if (!slash || !catalog ||
        cv_catalog_open_store(catalog, missing, NULL, NULL, &store, NULL) != CV_OK)
        return NULL;
    (void)cv_store_list(store, cv_arena_strndup(arena, missing, (size_t)(slash - missing)),
                        keep_newest, &newest, NULL);
    return newest.location;
}

void cv_judge_missing(struct cv_doctor *d)
{
    const struct cv_examine_config *config = d->config;
    const char *flag = cv_doctor_config_flag(config, d->arena);
    const char *table = table_word(d);
    struct cv_finding *finding;
    const char *newest;

    if (config->table)
        return;
    newest = find_newest_metadata(config->catalog, config->missing, d->arena);
    finding = cv_doctor_add(d, 1, "the catalog names %s, which is not there", config->missing);
    finding->why = "nobody can open the table, whatever of its files is left";
    if (newest) {
        finding->command = cv_doctor_text(
            d,
            "calve table drop %s%s --yes && calve maintain register-table %s%s --metadata-file %s",
            table, flag, table, flag, cv_doctor_quoted(newest, d->arena));
        finding->expected = "the table as of the newest metadata file that is left; compare its "
                            "snapshots with what should be there before you go on";
        return;
    }
    finding->command = cv_doctor_text(d, "calve table drop %s%s --yes", table, flag);
    finding->expected = "takes the entry out: no metadata file is left in its folder, the table is "
                        "to be made anew";
}
