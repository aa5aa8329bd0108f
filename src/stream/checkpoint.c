/* SPDX-License-Identifier: Apache-2.0
 *
 * Spark's checkpoint files. Logs are UTF-8 with \n between lines and none at the end. In a local
 * folder a lock keeps a second process out. A store has none: there the first of two processes to
 * put offsets/N goes on, and the other one, which finds the name taken, ends. */
#include "stream/checkpoint_files.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_BYTES_MAX   ((size_t)64 << 20)
#define LOG_VERSION_MAX 1
#define STORED_PURGE    16 /* batches whose logs go with one request */

void cv_offset_log_entry_release(struct cv_offset_log_entry *entry)
{
    free(entry->conf_json);
    entry->conf_json = NULL;
    cv_offsets_release(&entry->offsets);
}

static enum cv_code write_new(const struct cv_checkpoint *checkpoint, const char *name,
                              struct cv_buf *text, struct cv_error *err)
{
    CV_DO(cv_buf_check(text, name, err));
    return cv_checkpoint_write_file(checkpoint, name, text->data, text->length, CV_PUT_NEW, err);
}

static enum cv_code take_lock(struct cv_checkpoint *checkpoint, struct cv_error *err)
{
    char path[CV_PATH_BYTES_MAX];
    char owner[64] = "";

    checkpoint->lock = open(cv_checkpoint_path(checkpoint, "calve.lock", path),
                            O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (checkpoint->lock < 0)
        return cv_fail(err, CV_IO, "cannot open %s: %s", path, strerror(errno));
    if (flock(checkpoint->lock, LOCK_EX | LOCK_NB) != 0) {
        if (pread(checkpoint->lock, owner, sizeof owner - 1, 0) < 0)
            owner[0] = '\0';
        (void)cv_fail(err, CV_LOCKED, "checkpoint %s is in use by %s", checkpoint->folder,
                      owner[0] ? owner : "another process");
        cv_hint(err, "one checkpoint belongs to one running job; stop the other one first");
        return CV_LOCKED;
    }
    (void)snprintf(owner, sizeof owner, "process %ld", (long)getpid());
    if (ftruncate(checkpoint->lock, 0) != 0 ||
        pwrite(checkpoint->lock, owner, strlen(owner), 0) < 0)
        return cv_fail(err, CV_IO, "cannot write %s: %s", path, strerror(errno));
    return CV_OK;
}

bool cv_checkpoint_is_used(const char *folder)
{
    const struct cv_checkpoint checkpoint = {.folder = (char *)folder};
    char path[CV_PATH_BYTES_MAX];
    int lock = open(cv_checkpoint_path(&checkpoint, "calve.lock", path), O_RDONLY | O_CLOEXEC);
    bool used = lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;

    if (lock >= 0)
        (void)close(lock);
    return used;
}

enum cv_code cv_checkpoint_check_lock(const struct cv_checkpoint *checkpoint, struct cv_error *err)
{
    char path[CV_PATH_BYTES_MAX];
    struct stat held;
    struct stat named;

    if (checkpoint->lock < 0)
        return CV_OK;
    if (fstat(checkpoint->lock, &held) == 0 &&
        stat(cv_checkpoint_path(checkpoint, "calve.lock", path), &named) == 0 &&
        held.st_ino == named.st_ino && held.st_dev == named.st_dev)
        return CV_OK;
    return cv_fail(err, CV_LOCKED, "calve.lock was taken away: another process may be using %s",
                   checkpoint->folder);
}

static enum cv_code newest_of(const struct cv_checkpoint *checkpoint, const char *log,
                              int64_t *ret_newest, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    char **names;
    size_t count;
    int64_t batch;

    *ret_newest = CV_BATCH_NONE;
    CV_DO(cv_checkpoint_list_folder(checkpoint, log, &arena, &names, &count, err));
    for (size_t i = 0; i < count; i++)
        if (cv_parse_i64(cv_str_from(names[i]), &batch) && batch >= 0)
            *ret_newest = CV_MAX(*ret_newest, batch);
    return CV_OK;
}

static enum cv_code read_query_id(struct cv_checkpoint *checkpoint, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(65536);
    CV_CLEANUP(cv_json_freep) struct cv_json *json = NULL;
    char path[CV_PATH_BYTES_MAX];
    const char *id;
    enum cv_code code = cv_checkpoint_read_file(checkpoint, "metadata", 65536, &text, err);

    if (code == CV_NOT_FOUND || (code == CV_OK && text.length == 0))
        return CV_OK; /* Spark does not sync it: a power cut leaves it empty */
    CV_DO(code);
    (void)cv_checkpoint_path(checkpoint, "metadata", path);
    CV_TRY(cv_json_parse(text.data, text.length, &json, err), err, "%s", path);
    CV_TRY(cv_json_read_string(json, "id", &id, err), err, "%s", path);
    if (strlen(id) >= sizeof checkpoint->query_id || !*id)
        return cv_fail(err, CV_FORMAT, "%s: the query id is not a uuid", path);
    (void)snprintf(checkpoint->query_id, sizeof checkpoint->query_id, "%s", id);
    return CV_OK;
}

enum cv_code cv_checkpoint_check_identity(const struct cv_checkpoint *checkpoint,
                                          struct cv_error *err)
{
    if (checkpoint->query_id[0] ||
        (checkpoint->newest_offsets < 0 && checkpoint->newest_commits < 0))
        return CV_OK;
    (void)cv_fail(err, CV_CONTRADICTION,
                  "checkpoint %s has logs but no `metadata` file, or an empty one",
                  checkpoint->folder);
    cv_hint(err,
            "put the file back ({\"id\":\"<query id>\"}; the id is in the table's snapshots as "
            "spark.sql.streaming.queryId), or go on from the table with --resume-from=table");
    return CV_CONTRADICTION;
}

static enum cv_code make_folders(const struct cv_checkpoint *checkpoint, struct cv_error *err)
{
    static const char *const folders[] = {"offsets", "commits", "sources/0"};
    char path[CV_PATH_BYTES_MAX];

    for (size_t i = 0; i < CV_ARRAY_LENGTH(folders); i++)
        CV_DO(cv_directory_make(cv_checkpoint_path(checkpoint, folders[i], path), err));
    return CV_OK;
}

static enum cv_code prepare(struct cv_checkpoint *checkpoint, struct cv_error *err)
{
    if (checkpoint->store)
        return cv_checkpoint_finish_rebase(checkpoint, err);
    CV_DO(cv_directory_make(checkpoint->folder, err));
    CV_DO(take_lock(checkpoint, err));
    /* Before the folders of the logs: an exchange may be about to move them here. */
    CV_DO(cv_checkpoint_finish_rebase(checkpoint, err));
    return make_folders(checkpoint, err);
}

enum cv_code cv_checkpoint_open_stored(struct cv_store *store, const char *location, bool read_only,
                                       struct cv_checkpoint *ret_checkpoint, struct cv_error *err)
{
    CV_CLEANUP(cv_checkpoint_release)
    struct cv_checkpoint checkpoint = {.store = store, .lock = -1};

    if (strlen(location) > CV_PATH_BYTES_MAX - 256)
        return cv_fail(err, CV_CONFIG, "checkpointLocation is too long");
    checkpoint.folder = cv_strdup(location);
    if (!read_only)
        CV_DO(prepare(&checkpoint, err));
    CV_DO(read_query_id(&checkpoint, err));
    CV_DO(newest_of(&checkpoint, "offsets", &checkpoint.newest_offsets, err));
    CV_DO(newest_of(&checkpoint, "commits", &checkpoint.newest_commits, err));
    if (read_only)
        CV_DO(cv_checkpoint_check_identity(&checkpoint, err));
    *ret_checkpoint = checkpoint;
    checkpoint = (struct cv_checkpoint){.lock = -1};
    return CV_OK;
}

enum cv_code cv_checkpoint_open(const char *folder, bool read_only,
                                struct cv_checkpoint *ret_checkpoint, struct cv_error *err)
{
    return cv_checkpoint_open_stored(NULL, folder, read_only, ret_checkpoint, err);
}

void cv_checkpoint_release(struct cv_checkpoint *checkpoint)
{
    if (checkpoint->folder && checkpoint->lock >= 0)
        (void)close(checkpoint->lock);
    checkpoint->lock = -1;
    free(checkpoint->folder);
    checkpoint->folder = NULL;
    cv_store_free(checkpoint->store);
    checkpoint->store = NULL;
}

enum cv_code cv_checkpoint_write_metadata(struct cv_checkpoint *checkpoint, const char *query_id,
                                          struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(4096);

    cv_buf_printf(&text, "{\"id\":\"%s\"}", query_id);
    CV_DO(cv_buf_check(&text, "metadata", err));
    CV_DO(cv_checkpoint_write_file(checkpoint, "metadata", text.data, text.length, CV_PUT_REPLACE,
                                   err)); /* an empty one is no obstacle */
    (void)snprintf(checkpoint->query_id, sizeof checkpoint->query_id, "%s", query_id);
    return CV_OK;
}

enum cv_code cv_checkpoint_write_initial(struct cv_checkpoint *checkpoint,
                                         const struct cv_offsets *offsets, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(LOG_BYTES_MAX);

    cv_buf_append(&text, "\0v1\n", 4);
    cv_offsets_write_json(offsets, &text);
    return write_new(checkpoint, "sources/0/0", &text, err);
}

enum cv_code cv_checkpoint_read_initial(struct cv_checkpoint *checkpoint,
                                        struct cv_offsets *ret_offsets, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(LOG_BYTES_MAX);
    char path[CV_PATH_BYTES_MAX];
    struct cv_str json;

    CV_DO(cv_checkpoint_read_file(checkpoint, "sources/0/0", LOG_BYTES_MAX, &text, err));
    (void)cv_checkpoint_path(checkpoint, "sources/0/0", path);
    json = (struct cv_str){(const char *)text.data, text.length};
    /* Spark 2.1 wrote bare JSON, later ones a byte 0 and a version line before it. */
    if (json.length > 1 && json.ptr[1] == 'v') {
        const char *line = memchr(json.ptr, '\n', json.length);

        if (!line)
            return cv_fail(err, CV_FORMAT, "%s ends after its version line", path);
        json.length -= (size_t)(line + 1 - json.ptr);
        json.ptr = line + 1;
    }
    CV_TRY(cv_offsets_parse(json, false, ret_offsets, err), err, "%s", path);
    return CV_OK;
}

enum cv_code cv_checkpoint_write_offsets(struct cv_checkpoint *checkpoint, int64_t batch,
                                         const struct cv_offset_log_entry *entry,
                                         struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(LOG_BYTES_MAX);
    char name[64];

    cv_buf_printf(&text, "v1\n{\"batchWatermarkMs\":%lld,\"batchTimestampMs\":%lld,\"conf\":",
                  (long long)entry->watermark_ms, (long long)entry->batch_timestamp_ms);
    cv_buf_append_text(&text, entry->conf_json ? entry->conf_json : "{}");
    cv_buf_append_text(&text, "}\n");
    cv_offsets_write_json(&entry->offsets, &text);
    CV_DO(cv_checkpoint_check_lock(checkpoint, err));
    CV_DO(write_new(checkpoint, cv_checkpoint_log_name("offsets", batch, name), &text, err));
    checkpoint->newest_offsets = CV_MAX(checkpoint->newest_offsets, batch);
    return CV_OK;
}

/* The next line of *text; false at the end. */
static bool next_line(struct cv_str *text, struct cv_str *ret_line)
{
    const char *newline;

    if (!text->ptr)
        return false;
    newline = memchr(text->ptr, '\n', text->length);
    *ret_line = *text;
    if (newline) {
        ret_line->length = (size_t)(newline - text->ptr);
        text->length -= ret_line->length + 1;
        text->ptr = newline + 1;
    } else {
        *text = (struct cv_str){NULL, 0};
    }
    return true;
}

static enum cv_code check_version(struct cv_str line, struct cv_error *err)
{
    int64_t version;

    if (line.length < 2 || line.ptr[0] != 'v' ||
        !cv_parse_i64((struct cv_str){line.ptr + 1, line.length - 1}, &version) || version < 1)
        return cv_fail(err, CV_FORMAT, "the first line is not a version");
    if (version > LOG_VERSION_MAX)
        return cv_fail(err, CV_UNSUPPORTED,
                       "log version %lld is newer than the %d that calve knows", (long long)version,
                       LOG_VERSION_MAX);
    return CV_OK;
}

static enum cv_code parse_log_metadata(struct cv_str line, struct cv_offset_log_entry *entry,
                                       struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *json = NULL;
    CV_CLEANUP(cv_buf_release) struct cv_buf conf = CV_BUF_INIT(LOG_BYTES_MAX);
    const struct cv_json *node;

    if (cv_str_trim(line).length) {
        CV_DO(cv_json_parse(line.ptr, line.length, &json, err));
        CV_DO(cv_json_optional_i64(json, "batchTimestampMs", &entry->batch_timestamp_ms, err));
        CV_DO(cv_json_optional_i64(json, "batchWatermarkMs", &entry->watermark_ms, err));
        node = cv_json_get(json, "conf");
        if (node)
            cv_json_write_node(node, &conf);
    }
    if (!conf.length)
        cv_buf_append_text(&conf, "{}");
    entry->conf_json = cv_strdup(cv_buf_text(&conf));
    return CV_OK;
}

static enum cv_code parse_offset_log(struct cv_str text, struct cv_offset_log_entry *entry,
                                     struct cv_error *err)
{
    struct cv_str line;

    if (!next_line(&text, &line))
        return cv_fail(err, CV_FORMAT, "the file is empty");
    CV_DO(check_version(line, err));
    if (!next_line(&text, &line))
        return cv_fail(err, CV_FORMAT, "the metadata line is missing");
    CV_DO(parse_log_metadata(line, entry, err));
    if (!next_line(&text, &line) || cv_str_is(line, "-"))
        return cv_fail(err, CV_FORMAT, "there is no offset for source 0");
    CV_DO(cv_offsets_parse(line, false, &entry->offsets, err));
    if (next_line(&text, &line))
        return cv_fail(err, CV_UNSUPPORTED, "the query has more than one source");
    return CV_OK;
}

enum cv_code cv_checkpoint_read_offsets(struct cv_checkpoint *checkpoint, int64_t batch,
                                        struct cv_offset_log_entry *ret_entry, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(LOG_BYTES_MAX);
    CV_CLEANUP(cv_offset_log_entry_release) struct cv_offset_log_entry entry = {0};
    char path[CV_PATH_BYTES_MAX];
    char name[64];

    (void)cv_checkpoint_log_name("offsets", batch, name);
    CV_DO(cv_checkpoint_read_file(checkpoint, name, LOG_BYTES_MAX, &text, err));
    CV_TRY(parse_offset_log((struct cv_str){(const char *)text.data, text.length}, &entry, err),
           err, "%s", cv_checkpoint_path(checkpoint, name, path));
    *ret_entry = entry;
    entry = (struct cv_offset_log_entry){0};
    return CV_OK;
}

/* In a store the copy is there before the entry goes. */
static enum cv_code move_file(struct cv_checkpoint *checkpoint, const char *name, const char *to,
                              struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(LOG_BYTES_MAX);
    char path[CV_PATH_BYTES_MAX];
    char aside[CV_PATH_BYTES_MAX];

    if (!checkpoint->store)
        return rename(cv_checkpoint_path(checkpoint, name, path),
                      cv_checkpoint_path(checkpoint, to, aside)) == 0
                   ? CV_OK
                   : cv_fail(err, CV_IO, "cannot move %s: %s", path, strerror(errno));
    CV_DO(cv_checkpoint_read_file(checkpoint, name, LOG_BYTES_MAX, &bytes, err));
    CV_DO(cv_checkpoint_write_file(checkpoint, to, bytes.data, bytes.length, CV_PUT_REPLACE, err));
    return cv_checkpoint_remove_file(checkpoint, name, err);
}

enum cv_code cv_checkpoint_put_offsets_aside(struct cv_checkpoint *checkpoint, int64_t batch,
                                             struct cv_error *err)
{
    char name[64];
    char aside[128];
    char uuid[CV_UUID_TEXT_BYTES];

    cv_uuid_text(uuid);
    (void)snprintf(aside, sizeof aside, "damaged-offsets-%lld-%.8s", (long long)batch, uuid);
    CV_DO(move_file(checkpoint, cv_checkpoint_log_name("offsets", batch, name), aside, err));
    return newest_of(checkpoint, "offsets", &checkpoint->newest_offsets, err);
}

enum cv_code cv_checkpoint_write_commit(struct cv_checkpoint *checkpoint, int64_t batch,
                                        struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(LOG_BYTES_MAX);
    char name[64];

    cv_buf_printf(&text, "v1\n{\"nextBatchWatermarkMs\":%lld}",
                  (long long)checkpoint->next_watermark_ms);
    CV_DO(cv_checkpoint_check_lock(checkpoint, err));
    CV_DO(write_new(checkpoint, cv_checkpoint_log_name("commits", batch, name), &text, err));
    checkpoint->newest_commits = CV_MAX(checkpoint->newest_commits, batch);
    return CV_OK;
}

enum cv_code cv_checkpoint_read_commit(struct cv_checkpoint *checkpoint, int64_t batch,
                                       int64_t *ret_watermark_ms, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(LOG_BYTES_MAX);
    CV_CLEANUP(cv_json_freep) struct cv_json *json = NULL;
    struct cv_str rest, line;
    char name[64];
    enum cv_code code = cv_checkpoint_read_file(
        checkpoint, cv_checkpoint_log_name("commits", batch, name), LOG_BYTES_MAX, &text, err);

    *ret_watermark_ms = 0;
    if (code == CV_NOT_FOUND) {
        cv_error_clear(err);
        return CV_OK;
    }
    CV_DO(code);
    rest = (struct cv_str){(const char *)text.data, text.length};
    if (!next_line(&rest, &line) || !next_line(&rest, &line) || !cv_str_trim(line).length)
        return CV_OK;
    CV_TRY(cv_json_parse(line.ptr, line.length, &json, err), err, "%s", name);
    return cv_json_optional_i64(json, "nextBatchWatermarkMs", ret_watermark_ms, err);
}

/* Everything that is there, by its names; from then on the ids are known. */
static enum cv_code list_below(struct cv_checkpoint *checkpoint, const char *log, int64_t below,
                               struct cv_arena *arena, const char ***names, size_t *count,
                               size_t *capacity, struct cv_error *err)
{
    char **found;
    size_t found_count;
    int64_t batch;

    CV_DO(cv_checkpoint_list_folder(checkpoint, log, arena, &found, &found_count, err));
    for (size_t i = 0; i < found_count; i++) {
        if (!cv_parse_i64(cv_str_from(found[i]), &batch) || batch < 0 || batch >= below)
            continue;
        cv_array_reserve(names, capacity, *count + 1);
        (*names)[(*count)++] = cv_arena_printf(arena, "%s/%s", log, found[i]);
    }
    return CV_OK;
}

enum cv_code cv_checkpoint_purge(struct cv_checkpoint *checkpoint, int64_t batch,
                                 struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_freep) const char **names = NULL;
    static const char *const logs[] = {"offsets", "commits"};
    const int64_t below = batch - CV_BATCHES_TO_RETAIN;
    size_t capacity = 0;
    size_t count = 0;

    if (below <= checkpoint->purged_below ||
        (checkpoint->store && below < checkpoint->purged_below + STORED_PURGE))
        return CV_OK;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(logs); i++) {
        if (!checkpoint->purged_below)
            CV_DO(list_below(checkpoint, logs[i], below, &arena, &names, &count, &capacity, err));
        for (int64_t id = checkpoint->purged_below; id && id < below; id++) {
            cv_array_reserve(&names, &capacity, count + 1);
            names[count++] = cv_arena_printf(&arena, "%s/%lld", logs[i], (long long)id);
        }
    }
    CV_DO(cv_checkpoint_remove_files(checkpoint, names, count, err));
    checkpoint->purged_below = below;
    return CV_OK;
}
