/* SPDX-License-Identifier: Apache-2.0
 *
 * Logs made anew in a store, which can put one object at once but rename no folder. The old files
 * are copied to replaced-…/. Then one object, `rebase`, is put: it holds all new files and the
 * names of the old ones. From then on every start finishes the exchange, whose steps may be
 * repeated: old names that are no new ones go, the new files are put, `rebase` goes last.
 *
 *   -offsets/7\n                   an old name
 *   +offsets/9 85\n<85 bytes>      a new file */
#include "stream/checkpoint_files.h"

#include "base/fault.h"

#include <stdio.h>
#include <stdlib.h>

#define REBASE_NAME      "rebase"
#define REBASE_BYTES_MAX ((size_t)256 << 20)
#define FILE_BYTES_MAX   ((size_t)64 << 20)
#define NAMES_MAX        (1 << 20)

struct exchange {
    struct cv_arena arena;
    const char **old;
    size_t old_count, old_capacity;
};

static void exchange_release(struct exchange *exchange)
{
    free(exchange->old);
    cv_arena_release(&exchange->arena);
}

static void add_old(struct exchange *exchange, const char *name)
{
    cv_array_reserve(&exchange->old, &exchange->old_capacity, exchange->old_count + 1);
    exchange->old[exchange->old_count++] = name;
}

static enum cv_code list_old(const struct cv_checkpoint *checkpoint, struct exchange *exchange,
                             struct cv_error *err)
{
    static const char *const folders[] = {"offsets", "commits", "sources/0"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(folders); i++) {
        char **names;
        size_t count;

        CV_DO(cv_checkpoint_list_folder(checkpoint, folders[i], &exchange->arena, &names, &count,
                                        err));
        for (size_t j = 0; j < count; j++)
            add_old(exchange, cv_arena_printf(&exchange->arena, "%s/%s", folders[i], names[j]));
    }
    add_old(exchange, "metadata");
    add_old(exchange, "calve.json");
    return CV_OK;
}

static enum cv_code keep_old(const struct cv_checkpoint *checkpoint, struct exchange *exchange,
                             struct cv_error *err)
{
    char uuid[CV_UUID_TEXT_BYTES];

    cv_uuid_text(uuid);
    for (size_t i = 0; i < exchange->old_count; i++) {
        CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(FILE_BYTES_MAX);
        char name[CV_PATH_BYTES_MAX];
        enum cv_code code =
            cv_checkpoint_read_file(checkpoint, exchange->old[i], FILE_BYTES_MAX, &bytes, err);

        if (code == CV_NOT_FOUND)
            continue;
        CV_DO(code);
        (void)snprintf(name, sizeof name, "replaced-%.8s/%s", uuid, exchange->old[i]);
        CV_DO(cv_checkpoint_write_file(checkpoint, name, bytes.data, bytes.length, CV_PUT_REPLACE,
                                       err));
    }
    return CV_OK;
}

static enum cv_code fail_used(const struct cv_checkpoint *checkpoint, const char *what,
                              struct cv_error *err)
{
    (void)cv_fail(err, CV_LOCKED, "%s/%s: another process uses this checkpoint", checkpoint->folder,
                  what);
    cv_hint(err, "one checkpoint belongs to one running job; stop the other one first");
    return CV_LOCKED;
}

/* Somebody else may have begun a query here since this process looked. */
static enum cv_code check_unchanged(const struct cv_checkpoint *checkpoint, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(65536);
    char id[sizeof checkpoint->query_id + 16];
    enum cv_code code = cv_checkpoint_read_file(checkpoint, "metadata", 65536, &text, err);

    if (code == CV_NOT_FOUND)
        return checkpoint->query_id[0] ? fail_used(checkpoint, "metadata is gone", err) : CV_OK;
    CV_DO(code);
    (void)snprintf(id, sizeof id, "\"%s\"", checkpoint->query_id);
    if (text.length && !strstr(cv_buf_text(&text), id))
        return fail_used(checkpoint, "metadata has changed", err);
    return CV_OK;
}

static enum cv_code put_marker(const struct cv_checkpoint *checkpoint, struct cv_buf *marker,
                               struct cv_error *err)
{
    enum cv_code code;

    CV_DO(cv_buf_check(marker, REBASE_NAME, err));
    CV_DO(check_unchanged(checkpoint, err));
    CV_DO(cv_fault_pass("rebase-staged", err));
    code = cv_checkpoint_write_file(checkpoint, REBASE_NAME, marker->data, marker->length,
                                    CV_PUT_NEW, err);
    if (code == CV_EXISTS)
        return fail_used(checkpoint, REBASE_NAME, err);
    CV_DO(code);
    /* who made the logs anew between the look and the put is through: the name was free */
    code = check_unchanged(checkpoint, err);
    if (code != CV_OK)
        (void)cv_checkpoint_remove_file(checkpoint, REBASE_NAME, NULL);
    return code;
}

enum cv_code cv_checkpoint_rebase_stored(struct cv_checkpoint *checkpoint,
                                         const struct cv_rebase *rebase, struct cv_error *err)
{
    CV_CLEANUP(exchange_release) struct exchange exchange = {.arena = CV_ARENA_INIT};
    CV_CLEANUP(cv_buf_release) struct cv_buf marker = CV_BUF_INIT(REBASE_BYTES_MAX);
    struct cv_checkpoint collector = {
        .folder = checkpoint->folder, .collected = &marker, .lock = -1};

    CV_DO(list_old(checkpoint, &exchange, err));
    CV_DO(keep_old(checkpoint, &exchange, err));
    for (size_t i = 0; i < exchange.old_count; i++)
        cv_buf_printf(&marker, "-%s\n", exchange.old[i]);
    CV_DO(cv_checkpoint_write_logs(&collector, rebase, err));
    CV_DO(put_marker(checkpoint, &marker, err));
    return cv_checkpoint_finish_stored(checkpoint, err);
}

struct new_file {
    char *name;
    struct cv_str bytes;
};

static enum cv_code fail_damaged(const struct cv_checkpoint *checkpoint, struct cv_error *err)
{
    (void)cv_fail(err, CV_FORMAT, "%s/%s is damaged", checkpoint->folder, REBASE_NAME);
    cv_hint(err, "remove it; the files as they were are in replaced-…/ beside it");
    return CV_FORMAT;
}

/* The next line without its first character and its end; false when there is no whole one. */
static bool next_line(struct cv_str *rest, struct cv_str *ret_line)
{
    const char *end = rest->length ? memchr(rest->ptr, '\n', rest->length) : NULL;

    if (!end)
        return false;
    *ret_line = (struct cv_str){rest->ptr + 1, (size_t)(end - rest->ptr) - 1};
    rest->length -= (size_t)(end + 1 - rest->ptr);
    rest->ptr = end + 1;
    return end > ret_line->ptr;
}

static bool read_new(struct cv_str *rest, struct cv_arena *arena, struct new_file *ret_file)
{
    struct cv_str line;
    const char *space;
    int64_t length;

    if (!next_line(rest, &line))
        return false;
    space = memchr(line.ptr, ' ', line.length);
    if (!space ||
        !cv_parse_i64((struct cv_str){space + 1, line.length - (size_t)(space + 1 - line.ptr)},
                      &length) ||
        length < 0 || (uint64_t)length > rest->length)
        return false;
    ret_file->name = cv_arena_strndup(arena, line.ptr, (size_t)(space - line.ptr));
    ret_file->bytes = (struct cv_str){rest->ptr, (size_t)length};
    rest->ptr += length;
    rest->length -= (size_t)length;
    return true;
}

static bool is_new(const struct new_file *files, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(files[i].name, name) == 0)
            return true;
    return false;
}

/* Old names that no new file has. */
static enum cv_code remove_old(const struct cv_checkpoint *checkpoint,
                               const struct exchange *exchange, const struct new_file *files,
                               size_t count, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const char **gone = cv_arena_array(&arena, const char *, exchange->old_count);
    size_t gone_count = 0;

    for (size_t i = 0; i < exchange->old_count; i++)
        if (!is_new(files, count, exchange->old[i]))
            gone[gone_count++] = exchange->old[i];
    return cv_checkpoint_remove_files(checkpoint, gone, gone_count, err);
}

static enum cv_code carry_out(const struct cv_checkpoint *checkpoint, struct cv_str rest,
                              struct cv_error *err)
{
    CV_CLEANUP(exchange_release) struct exchange exchange = {.arena = CV_ARENA_INIT};
    CV_CLEANUP(cv_freep) struct new_file *files = NULL;
    size_t capacity = 0;
    size_t count = 0;

    while (rest.length && rest.ptr[0] == '-' && exchange.old_count < NAMES_MAX) {
        struct cv_str line;

        if (!next_line(&rest, &line))
            return fail_damaged(checkpoint, err);
        add_old(&exchange, cv_arena_strndup(&exchange.arena, line.ptr, line.length));
    }
    for (; rest.length && rest.ptr[0] == '+'; count++) {
        cv_array_reserve(&files, &capacity, count + 1);
        if (!read_new(&rest, &exchange.arena, &files[count]))
            return fail_damaged(checkpoint, err);
    }
    if (rest.length || !count)
        return fail_damaged(checkpoint, err);
    CV_DO(cv_fault_pass("rebase-half", err));
    CV_DO(remove_old(checkpoint, &exchange, files, count, err));
    for (size_t i = 0; i < count; i++) {
        CV_DO(cv_fault_pass("rebase-half", err));
        CV_DO(cv_checkpoint_write_file(checkpoint, files[i].name, files[i].bytes.ptr,
                                       files[i].bytes.length, CV_PUT_REPLACE, err));
    }
    return CV_OK;
}

enum cv_code cv_checkpoint_finish_stored(struct cv_checkpoint *checkpoint, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf marker = CV_BUF_INIT(REBASE_BYTES_MAX);
    enum cv_code code =
        cv_checkpoint_read_file(checkpoint, REBASE_NAME, REBASE_BYTES_MAX, &marker, err);

    if (code == CV_NOT_FOUND)
        return CV_OK;
    CV_DO(code);
    CV_DO(carry_out(checkpoint, (struct cv_str){(const char *)marker.data, marker.length}, err));
    CV_DO(cv_fault_pass("rebase-half", err));
    return cv_checkpoint_remove_file(checkpoint, REBASE_NAME, err);
}
