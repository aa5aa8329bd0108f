/* SPDX-License-Identifier: Apache-2.0
 *
 * remove_orphan_files: files below the table's location that nothing names and that are older than
 * every write that may still be under way. What the table names is read before the listing, and
 * what was committed meanwhile after it, so that a file of a new commit is never an orphan. */
#include "base/time.h"
#include "codec/json.h"
#include "maintain/orphan_int.h"
#include "maintain/procedure_int.h"
#include "table/expire.h"

#define SHARES_MAX      64
#define DAY_MS          (CV_US_PER_DAY / CV_US_PER_MS)
#define AGE_DEFAULT_MS  (3 * DAY_MS)
#define AGE_SMALLEST_MS DAY_MS

struct arguments {
    const char *older_than;
    const char *location;
    bool dry_run;
    int64_t max_concurrent_deletes;
    const char *file_list_view;
    const char *equal_schemes;
    const char *equal_authorities;
    int prefix_mismatch_mode;
    bool prefix_listing, stream_results; /* nothing depends on them */
};

#define ARG(field) offsetof(struct arguments, field)

static const struct cv_option options[] = {
    {"older_than", CV_OPTION_TEXT, ARG(older_than), NULL, NULL,
     "Only files last changed before this time; default 3 days ago. Less than 24 hours ago is "
     "refused, unless --table-is-idle says that nobody writes.",
     0, 0, 0},
    {"location", CV_OPTION_TEXT, ARG(location), NULL, NULL,
     "Folder to be searched; default the table's location.", 0, 0, 0},
    {"dry_run", CV_OPTION_BOOL, ARG(dry_run), "false", NULL, "List the files, delete none.", 0, 0,
     0},
    {"max_concurrent_deletes", CV_OPTION_INTEGER, ARG(max_concurrent_deletes), NULL, NULL,
     "Files that are deleted at a time; default one per thread.", 1, CV_THREADS_MAX, 0},
    {"file_list_view", CV_OPTION_TEXT, ARG(file_list_view), NULL, NULL,
     "A local file with the files to be judged instead of a listing: CSV with the columns "
     "file_path,last_modified, or a JSON object with these keys per line. A file without a time "
     "stays.",
     0, 0, 0},
    {"equal_schemes", CV_OPTION_TEXT, ARG(equal_schemes), NULL, NULL,
     "Schemes that are one, as \"a,b=c; d=e\"; s3n and s3a are s3 always.", 0, 0, 0},
    {"equal_authorities", CV_OPTION_TEXT, ARG(equal_authorities), NULL, NULL,
     "Authorities (buckets, name nodes) that are one, as \"a,b=c\".", 0, 0, 0},
    {"prefix_mismatch_mode", CV_OPTION_CHOICE, ARG(prefix_mismatch_mode), "ERROR",
     "ERROR|IGNORE|DELETE",
     "What to do with files that the table names under another scheme or authority: stop, keep "
     "them, delete them.",
     0, 0, 0},
    {"prefix_listing", CV_OPTION_BOOL, ARG(prefix_listing), "false", NULL,
     "Taken for the sake of Spark's calls: the store lists as it can.", 0, 0, 0},
    {"stream_results", CV_OPTION_BOOL, ARG(stream_results), "false", NULL,
     "Taken for the sake of Spark's calls: memory is bounded anyway.", 0, 0, 0},
};

static const struct cv_option_table table = {"maintenance.remove-orphan-files",
                                             "removal of orphan files", options,
                                             CV_ARRAY_LENGTH(options)};

static enum cv_code read_age(const struct cv_maintenance *maintenance, const char *older_than,
                             struct cv_maintain_result *result, int64_t *ret_ms,
                             struct cv_error *err)
{
    int64_t now = cv_now_ms();

    *ret_ms = now - AGE_DEFAULT_MS;
    if (!older_than)
        return CV_OK;
    CV_DO(cv_maintain_parse_time("older_than", older_than, ret_ms, err));
    if (now - AGE_SMALLEST_MS >= *ret_ms)
        return CV_OK;
    if (maintenance->idle) {
        cv_maintain_note(result, "older_than is less than 24 hours ago: the files of a write that "
                                 "is under way now would be taken for orphans; --table-is-idle "
                                 "says that there is none");
        return CV_OK;
    }
    (void)cv_fail(err, CV_USAGE,
                  "Cannot remove orphan files with an interval less than 24 hours. Executing this "
                  "procedure with a short interval may corrupt the table if other operations are "
                  "happening at the same time");
    cv_hint(err, "if nobody writes to the table now, say so by --table-is-idle");
    return CV_USAGE;
}

/* Files outside the searched folder are only told about. */
static void note_outside(const struct cv_orphan_search *search,
                         const struct cv_table_metadata *metadata,
                         struct cv_maintain_result *result)
{
    static const char *const keys[] = {"write.data.path", "write.folder-storage.path",
                                       "write.object-storage.path", "write.metadata.path"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(keys); i++) {
        const char *folder = cv_properties_get(&metadata->properties, keys[i]);
        struct cv_location_key key;

        if (!folder || (folder[0] != '/' && !strstr(folder, ":/")))
            continue;
        if (cv_location_key_make(&search->rules, cv_str_from(folder), &key) &&
            !cv_location_key_below(&key, &search->folder))
            cv_maintain_note(result,
                             "%s = %s lies outside and was not searched; --location %s does that",
                             keys[i], folder, folder);
    }
}

static enum cv_code search_init(struct cv_orphan_search *search, const struct arguments *arguments,
                                const struct cv_table *opened, struct cv_error *err)
{
    struct cv_location_key home;
    const char *location = arguments->location ? arguments->location : opened->metadata->location;

    search->location = location;
    search->file_list = arguments->file_list_view;
    search->mismatch = (enum cv_prefix_mismatch)arguments->prefix_mismatch_mode;
    CV_DO(cv_location_rules_read(arguments->equal_schemes, arguments->equal_authorities,
                                 &search->rules, err));
    if (!cv_location_key_make(&search->rules, cv_str_from(opened->metadata->location), &home) ||
        !cv_location_key_make(&search->rules, cv_str_from(location), &search->folder))
        return cv_fail(err, CV_LIMIT, "location %.100s… is too long", location);
    if (!search->folder.path_length)
        return cv_fail(err, CV_USAGE, "location %s names no folder", location);
    memcpy(search->home, home.prefix, sizeof search->home);
    return cv_catalog_open_store(opened->catalog, location, NULL, &opened->vendee, &search->store,
                                 err);
}

static void search_release(struct cv_orphan_search *search)
{
    cv_location_rules_release(&search->rules);
    cv_store_free(search->store);
    cv_location_set_free(search->named);
    cv_location_set_free(search->elsewhere);
    cv_removals_release(&search->found);
    cv_buf_release(&search->conflict_list);
}

static const struct cv_snapshot **all_snapshots(const struct cv_table_metadata *metadata,
                                                struct cv_arena *arena)
{
    const struct cv_snapshot **snapshots =
        cv_arena_array(arena, const struct cv_snapshot *, metadata->snapshot_count);

    for (size_t i = 0; i < metadata->snapshot_count; i++)
        snapshots[i] = &metadata->snapshots[i];
    return snapshots;
}

static enum cv_code search_share(struct cv_orphan_search *search, unsigned share, unsigned shares,
                                 struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const struct cv_table *opened = search->maintenance->table;

    cv_location_set_free(search->named);
    search->named = cv_location_set_new(search->maintenance->memory_bytes / 2, share, shares);
    CV_DO(cv_orphan_name_files(search, search->named, opened->metadata,
                               all_snapshots(opened->metadata, &arena),
                               opened->metadata->snapshot_count, opened->metadata_location, err));
    return cv_orphan_list(search, err);
}

static void forget_counts(struct cv_orphan_search *search)
{
    cv_removals_clear(&search->found);
    cv_buf_clear(&search->conflict_list);
    search->listed = search->kept = search->young = search->ageless = search->hidden = 0;
    search->conflicts = search->blank = 0;
}

static enum cv_code search_all(struct cv_orphan_search *search, struct cv_error *err)
{
    enum cv_code code = CV_OK;

    cv_removals_init(&search->found, search->maintenance->spill_directory);
    search->elsewhere = cv_location_set_new(search->maintenance->memory_bytes / 8, 0, 1);
    for (unsigned shares = 1; shares <= SHARES_MAX; shares *= 2) {
        forget_counts(search);
        code = CV_OK;
        for (unsigned share = 0; code == CV_OK && share < shares; share++)
            code = search_share(search, share, shares, err);
        if (code == CV_OK || !cv_location_set_full(search->named))
            break;
    }
    return code;
}

/* A location in another spelling than the table's (a link, a mount) would make every file an
 * orphan: outside the table's own folders something that the table names must be there. */
static enum cv_code check_spelling(const struct cv_orphan_search *search, struct cv_error *err)
{
    const struct cv_table *opened = search->maintenance->table;
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_location_key folder;

    if (search->kept || !cv_removals_files(&search->found) || !opened->metadata->snapshot_count)
        return CV_OK;
    if (cv_location_key_make(&search->rules, cv_str_from(opened->metadata->location), &folder) &&
        cv_location_key_below(&search->folder, &folder))
        return CV_OK;
    if (cv_location_key_make(&search->rules, cv_str_from(cv_table_data_folder(opened, &arena)),
                             &folder) &&
        cv_location_key_below(&search->folder, &folder))
        return CV_OK;
    (void)cv_fail(err, CV_USAGE,
                  "the table names none of the %lld files below %s, which is none of its folders",
                  (long long)search->listed, search->location);
    cv_hint(err, "write the location as the table does: %s", opened->metadata->location);
    return CV_USAGE;
}

static enum cv_code check_conflicts(const struct cv_orphan_search *search,
                                    struct cv_maintain_result *result, struct cv_error *err)
{
    struct cv_buf list = search->conflict_list;

    if (!search->conflicts)
        return CV_OK;
    cv_maintain_note(result, "%lld files are named by the table under another scheme or authority:",
                     (long long)search->conflicts);
    cv_buf_append(&result->notes, list.data, list.length);
    if (search->mismatch != CV_MISMATCH_ERROR)
        return CV_OK;
    (void)cv_fail(err, CV_CONTRADICTION,
                  "%lld files differ from what the table names by scheme or authority alone; "
                  "nothing is deleted",
                  (long long)search->conflicts);
    cv_hint(err, "if they are the same, say so by --equal-schemes or --equal-authorities; "
                 "--prefix-mismatch-mode IGNORE keeps such files");
    return CV_CONTRADICTION;
}

/* What was committed while the files were listed. */
static enum cv_code name_late(struct cv_orphan_search *search, struct cv_location_set *late,
                              struct cv_error *err)
{
    CV_CLEANUP(cv_table_metadata_freep)
    struct cv_table_metadata *before = cv_table_metadata_copy(search->maintenance->table->metadata);
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_table *opened = search->maintenance->table;
    const struct cv_snapshot **snapshots;
    size_t count = 0;

    CV_DO(cv_table_refresh(opened, err));
    snapshots =
        cv_arena_array(&arena, const struct cv_snapshot *, opened->metadata->snapshot_count);
    for (size_t i = 0; i < opened->metadata->snapshot_count; i++)
        if (!cv_table_metadata_snapshot(before, opened->metadata->snapshots[i].id))
            snapshots[count++] = &opened->metadata->snapshots[i];
    return cv_orphan_name_files(search, late, opened->metadata, snapshots, count,
                                opened->metadata_location, err);
}

/* The found files without the late ones: rows of the result and files to be deleted. */
struct sorting_out {
    struct cv_orphan_search *search;
    const struct cv_location_set *late;
    struct cv_removals *orphans;
    struct cv_json_writer rows;
    int64_t untold;
};

static enum cv_code sort_out(void *context, const struct cv_reached *file, struct cv_error *err)
{
    struct sorting_out *sorting = context;
    struct cv_location_key key;

    if (!cv_location_key_make(&sorting->search->rules, file->location, &key) ||
        cv_location_set_has(sorting->late, (struct cv_str){key.path, key.path_length}))
        return CV_OK;
    CV_DO(cv_removals_add(sorting->orphans, file, err));
    if (sorting->rows.out->length > sorting->search->maintenance->memory_bytes / 16) {
        sorting->untold++;
        return CV_OK;
    }
    cv_json_begin_object(&sorting->rows);
    cv_json_key(&sorting->rows, "orphan_file_location");
    cv_json_put_text(&sorting->rows, file->location);
    cv_json_end_object(&sorting->rows);
    return CV_OK;
}

static enum cv_code keep_late(struct cv_orphan_search *search, struct cv_removals *orphans,
                              struct cv_maintain_result *result, struct cv_error *err)
{
    CV_CLEANUP(cv_location_set_freep)
    struct cv_location_set *late = cv_location_set_new(search->maintenance->memory_bytes / 4, 0, 1);
    struct sorting_out sorting = {search, late, orphans, CV_JSON_WRITER(&result->rows), 0};

    CV_DO(name_late(search, late, err));
    cv_json_begin_array(&sorting.rows);
    CV_DO(cv_removals_each(&search->found, sort_out, &sorting, err));
    cv_json_end_array(&sorting.rows);
    if (sorting.untold)
        cv_maintain_note(result, "%lld more orphan files are not listed here",
                         (long long)sorting.untold);
    return CV_OK;
}

static void note_counts(const struct cv_orphan_search *search, const struct cv_removals *orphans,
                        bool dry_run, struct cv_maintain_result *result)
{
    char time[CV_TIME_TEXT_BYTES];

    cv_format_ms_plain(search->older_than_ms, time);
    cv_maintain_note(
        result,
        "%lld files below %s, of which the table names %lld; of the others %lld are not "
        "older than %s UTC, %lld of unknown age, %lld hidden (named _… or .…)",
        (long long)search->listed, search->location, (long long)search->kept,
        (long long)search->young, time, (long long)search->ageless, (long long)search->hidden);
    if (search->blank)
        cv_maintain_note(result,
                         "%lld metadata files of a table that never had a snapshot are left, the "
                         "first is %s: such a file is what a creation leaves that was sent twice; "
                         "delete it where no catalog names it",
                         (long long)search->blank, search->blank_example);
    if (dry_run)
        cv_maintain_note(result, "would delete %lld orphan files of %lld bytes",
                         (long long)cv_removals_files(orphans),
                         (long long)cv_removals_bytes(orphans));
}

static enum cv_code delete_orphans(struct cv_orphan_search *search,
                                   const struct arguments *arguments,
                                   const struct cv_removals *orphans,
                                   struct cv_maintain_result *result, struct cv_error *err)
{
    const struct cv_maintenance *maintenance = search->maintenance;
    int concurrent = arguments->max_concurrent_deletes ? (int)arguments->max_concurrent_deletes
                                                       : maintenance->threads;
    struct cv_removed removed = {0};
    enum cv_code code = cv_removals_run(orphans, maintenance, search->store, "remove-orphan-files",
                                        concurrent, &removed, err);

    cv_maintain_note(result, "deleted %lld of %lld orphan files of %lld bytes",
                     (long long)removed.files[CV_REACHED_DATA],
                     (long long)cv_removals_files(orphans), (long long)cv_removals_bytes(orphans));
    return code;
}

static enum cv_code run_search(struct cv_orphan_search *search, const struct arguments *arguments,
                               struct cv_maintain_result *result, struct cv_error *err)
{
    bool dry_run = search->maintenance->dry_run || arguments->dry_run;
    struct cv_removals orphans;
    enum cv_code code;

    CV_DO(cv_orphan_check_catalog(search, err));
    CV_DO(search_all(search, err));
    CV_DO(check_conflicts(search, result, err));
    CV_DO(check_spelling(search, err));
    if (!arguments->location)
        note_outside(search, search->maintenance->table->metadata, result);
    cv_removals_init(&orphans, search->maintenance->spill_directory);
    code = keep_late(search, &orphans, result, err);
    if (code == CV_OK) {
        note_counts(search, &orphans, dry_run, result);
        result->changed = cv_removals_files(&orphans) > 0;
    }
    if (code == CV_OK && !dry_run && result->changed)
        code = delete_orphans(search, arguments, &orphans, result, err);
    cv_removals_release(&orphans);
    return code;
}

static enum cv_code run(struct cv_maintenance *maintenance, const void *data,
                        struct cv_maintain_result *result, struct cv_error *err)
{
    CV_CLEANUP(search_release) struct cv_orphan_search search = {.maintenance = maintenance};
    const struct arguments *arguments = data;

    search.found.descriptor = -1;
    CV_DO(cv_table_refresh(maintenance->table, err));
    CV_DO(cv_table_check_gc(maintenance->table->metadata, "delete orphan files", err));
    CV_DO(read_age(maintenance, arguments->older_than, result, &search.older_than_ms, err));
    CV_DO(search_init(&search, arguments, maintenance->table, err));
    return run_search(&search, arguments, result, err);
}

const struct cv_procedure cv_procedure_remove_orphan_files = {
    .name = "remove-orphan-files",
    .spark_name = "remove_orphan_files",
    .about = "delete files that nothing in the table names",
    .arguments = &table,
    .arguments_size = sizeof(struct arguments),
    .schedulable = true,
    .run = run,
};
