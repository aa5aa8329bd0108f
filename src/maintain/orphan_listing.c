/* SPDX-License-Identifier: Apache-2.0
 *
 * Listing, and what becomes of each file. */
#include "maintain/orphan_int.h"

#include "base/file.h"
#include "codec/json.h"
#include "iceberg/metadata_change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CONFLICTS_SHOWN 20

static struct cv_str path_of(const struct cv_location_key *key)
{
    return (struct cv_str){key->path, key->path_length};
}

/* Prefix and path in one, as a member of `elsewhere`. */
static struct cv_str whole_of(const struct cv_location_key *key, struct cv_buf *text)
{
    cv_buf_clear(text);
    cv_buf_append_text(text, key->prefix);
    cv_buf_append(text, key->path, key->path_length);
    return (struct cv_str){cv_buf_text(text), text->length};
}

static bool at_home(const struct cv_orphan_search *search, const struct cv_location_key *key)
{
    return !key->prefix[0] || !search->home[0] || strcmp(key->prefix, search->home) == 0;
}

enum cv_code cv_orphan_name(struct cv_orphan_search *search, struct cv_location_set *set,
                            struct cv_str location, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    struct cv_location_key key;

    if (!cv_location_key_make(&search->rules, location, &key))
        return cv_fail(err, CV_LIMIT, "location of %zu bytes is too long: %.100s…", location.length,
                       location.ptr);
    if (at_home(search, &key))
        return cv_location_set_add(set, path_of(&key), NULL, err);
    CV_DO(cv_location_set_add(search->elsewhere, path_of(&key), NULL, err));
    return cv_location_set_add(search->elsewhere, whole_of(&key, &text), NULL, err);
}

struct naming {
    struct cv_orphan_search *search;
    struct cv_location_set *set;
};

static enum cv_code name_reached(void *context, const struct cv_reached *file, struct cv_error *err)
{
    struct naming *naming = context;

    return cv_orphan_name(naming->search, naming->set, file->location, err);
}

static enum cv_code name_text(struct naming *naming, const char *location, struct cv_error *err)
{
    return cv_orphan_name(naming->search, naming->set, cv_str_from(location), err);
}

enum cv_code cv_orphan_name_files(struct cv_orphan_search *search, struct cv_location_set *set,
                                  const struct cv_table_metadata *metadata,
                                  const struct cv_snapshot *const *snapshots, size_t count,
                                  const char *metadata_location, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct naming naming = {search, set};
    const struct cv_reach reach = {.maintenance = search->maintenance,
                                   .store = search->maintenance->table->store,
                                   .procedure = "remove-orphan-files",
                                   .each = name_reached,
                                   .context = &naming};
    const char *slash = strrchr(metadata_location, '/');
    struct cv_statistics_file *statistics;
    size_t statistics_count;

    CV_DO(cv_reach_snapshots(&reach, snapshots, count, err));
    CV_DO(name_text(&naming, metadata_location, err));
    if (slash)
        CV_DO(name_text(&naming,
                        cv_arena_printf(&arena, "%.*s/version-hint.text",
                                        (int)(slash - metadata_location), metadata_location),
                        err));
    for (size_t i = 0; i < metadata->metadata_log_count; i++)
        CV_DO(name_text(&naming, metadata->metadata_log[i].file, err));
    CV_DO(cv_table_metadata_statistics(metadata, &arena, &statistics, &statistics_count, err));
    for (size_t i = 0; i < statistics_count; i++)
        CV_DO(name_text(&naming, statistics[i].path, err));
    return CV_OK;
}

/* --- one file -------------------------------------------------------------------------------- */

/* Named, but for its scheme or authority. */
static bool conflicts(struct cv_orphan_search *search, const struct cv_location_key *key)
{
    if (cv_location_set_has(search->elsewhere, path_of(key)))
        return true;
    return !at_home(search, key) && cv_location_set_has(search->named, path_of(key));
}

static void tell_conflict(struct cv_orphan_search *search, const struct cv_listed_file *file)
{
    if (search->conflicts++ < CONFLICTS_SHOWN)
        cv_buf_printf(&search->conflict_list, "%s\n", file->location);
}

static bool is_metadata(const char *location)
{
    return cv_text_ends_with(location, ".metadata.json") ||
           cv_text_ends_with(location, ".metadata.json.gz");
}

static enum cv_code take(struct cv_orphan_search *search, const struct cv_listed_file *file,
                         const struct cv_location_key *key, struct cv_error *err)
{
    const struct cv_reached orphan = {CV_REACHED_DATA, cv_str_from(file->location), file->size};
    bool is_new;

    CV_DO(cv_location_set_add(search->named, path_of(key), &is_new, err));
    return is_new ? cv_removals_add(&search->found, &orphan, err) : CV_OK;
}

/* Old enough to be an orphan; counts why not. */
static bool is_old(struct cv_orphan_search *search, const struct cv_listed_file *file)
{
    if (file->modified_ms < 0)
        search->ageless++;
    else if (file->modified_ms >= search->older_than_ms)
        search->young++;
    else
        return true;
    return false;
}

static enum cv_code judge(void *context, const struct cv_listed_file *file, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    struct cv_orphan_search *search = context;
    struct cv_location_key key;
    bool blank = false;

    CV_DO(cv_maintain_check_stop(search->maintenance, err));
    cv_maintain_meter_add(&search->meter, 1);
    if (!cv_location_key_make(&search->rules, cv_str_from(file->location), &key) ||
        !cv_location_key_below(&key, &search->folder) ||
        !cv_location_set_covers(search->named, path_of(&key)))
        return CV_OK;
    search->listed++;
    if ((at_home(search, &key) && cv_location_set_has(search->named, path_of(&key))) ||
        (cv_location_set_count(search->elsewhere) &&
         cv_location_set_has(search->elsewhere, whole_of(&key, &text)))) {
        search->kept++;
        return CV_OK;
    }
    if (cv_location_key_hidden(&key, &search->folder, search->maintenance->table->metadata)) {
        search->hidden++;
        return CV_OK;
    }
    if (conflicts(search, &key)) {
        if (search->mismatch != CV_MISMATCH_DELETE || !is_old(search, file)) {
            tell_conflict(search, file);
            return CV_OK;
        }
        return take(search, file, &key, err);
    }
    if (!at_home(search, &key)) /* another bucket is not this table's */
        return CV_OK;
    if (is_metadata(file->location))
        CV_DO(cv_orphan_check_metadata(search, file->location, &blank, err));
    if (blank) {
        if (!search->blank++)
            (void)snprintf(search->blank_example, sizeof search->blank_example, "%s",
                           file->location);
        return CV_OK;
    }
    return is_old(search, file) ? take(search, file, &key, err) : CV_OK;
}

/* --- a list of files instead of a listing ---------------------------------------------------- */

static enum cv_code age_of(struct cv_str text, int64_t *ret_ms, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;

    *ret_ms = -1;
    text = cv_str_trim(text);
    if (!text.length)
        return CV_OK;
    return cv_maintain_parse_time("last_modified", cv_arena_strndup(&arena, text.ptr, text.length),
                                  ret_ms, err);
}

static enum cv_code judge_json(struct cv_orphan_search *search, struct cv_str line,
                               struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *row = NULL;
    struct cv_listed_file file = {.size = -1, .modified_ms = -1};
    const struct cv_json *modified;

    CV_DO(cv_json_parse(line.ptr, line.length, &row, err));
    CV_DO(cv_json_read_string(row, "file_path", &file.location, err));
    modified = cv_json_get(row, "last_modified");
    if (modified && cv_json_is_integer(modified))
        file.modified_ms = cv_json_integer(modified);
    else if (modified && cv_json_is_string(modified))
        CV_DO(age_of(cv_str_from(cv_json_text(modified)), &file.modified_ms, err));
    return judge(search, &file, err);
}

static struct cv_str unquote(struct cv_str text)
{
    text = cv_str_trim(text);
    if (text.length >= 2 && text.ptr[0] == '"' && text.ptr[text.length - 1] == '"')
        return (struct cv_str){text.ptr + 1, text.length - 2};
    return text;
}

/* The last comma parts path and time: a path may hold commas, a time holds none. */
static enum cv_code judge_csv(struct cv_orphan_search *search, struct cv_str line,
                              struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const char *comma = memrchr(line.ptr, ',', line.length);
    struct cv_listed_file file = {.size = -1, .modified_ms = -1};
    struct cv_str path;
    struct cv_str time;

    if (!comma)
        return cv_fail(err, CV_FORMAT, "the line has no comma");
    path = unquote((struct cv_str){line.ptr, (size_t)(comma - line.ptr)});
    time = unquote((struct cv_str){comma + 1, line.length - (size_t)(comma - line.ptr) - 1});
    CV_DO(age_of(time, &file.modified_ms, err));
    file.location = cv_arena_strndup(&arena, path.ptr, path.length);
    return judge(search, &file, err);
}

static enum cv_code judge_line(struct cv_orphan_search *search, struct cv_str line, size_t number,
                               struct cv_error *err)
{
    line = cv_str_trim(line);
    if (!line.length || (number == 1 && cv_str_is(line, "file_path,last_modified")))
        return CV_OK;
    if (line.ptr[0] == '{')
        return judge_json(search, line, err);
    return judge_csv(search, line, err);
}

static void close_file(FILE **file)
{
    if (*file)
        (void)fclose(*file);
}

/* The list, maybe a pipe whose writer takes its time. */
struct list_file {
    const struct cv_maintenance *maintenance;
    int descriptor;
};

static ssize_t list_file_read(void *cookie, char *bytes, size_t length)
{
    const struct list_file *list = cookie;
    const struct cv_maintenance *maintenance = list->maintenance;
    ssize_t got;

    do {
        if (!cv_wait_readable(list->descriptor, maintenance->stopping, maintenance->context)) {
            errno = EINTR;
            return -1;
        }
        got = read(list->descriptor, bytes, length);
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    return got;
}

static int list_file_close(void *cookie)
{
    return close(((struct list_file *)cookie)->descriptor);
}

/* NULL with errno. Opening a pipe does not wait for its writer; the first read does. */
static FILE *list_file_open(struct list_file *list, const char *path)
{
    const cookie_io_functions_t functions = {.read = list_file_read, .close = list_file_close};
    FILE *file;

    list->descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (list->descriptor < 0)
        return NULL;
    file = fopencookie(list, "r", functions);
    if (!file)
        (void)close(list->descriptor);
    return file;
}

static enum cv_code read_list(struct cv_orphan_search *search, struct cv_error *err)
{
    struct list_file list = {.maintenance = search->maintenance};
    CV_CLEANUP(close_file) FILE *file = list_file_open(&list, search->file_list);
    CV_CLEANUP(cv_freep) char *line = NULL;
    size_t capacity = 0;
    ssize_t length;

    if (!file)
        return cv_fail(err, CV_IO, "cannot read %s: %s", search->file_list, strerror(errno));
    for (size_t number = 1; (length = getline(&line, &capacity, file)) >= 0; number++)
        CV_TRY(judge_line(search, (struct cv_str){line, (size_t)length}, number, err), err,
               "%s:%zu", search->file_list, number);
    CV_DO(cv_maintain_check_stop(search->maintenance, err));
    if (ferror(file))
        return cv_fail(err, CV_IO, "cannot read %s: %s", search->file_list, strerror(errno));
    return CV_OK;
}

enum cv_code cv_orphan_list(struct cv_orphan_search *search, struct cv_error *err)
{
    enum cv_code code;

    cv_maintain_meter_init(&search->meter, search->maintenance, "remove-orphan-files",
                           "listing files", "files", -1);
    if (search->file_list)
        code = read_list(search, err);
    else
        code = cv_store_list(search->store, search->location, judge, search, err);
    cv_maintain_meter_release(&search->meter);
    return code;
}
