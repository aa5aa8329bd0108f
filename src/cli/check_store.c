/* SPDX-License-Identifier: Apache-2.0
 *
 * The probe object of `calve check`. */
#include "cli/check_store.h"

#include "base/error_part.h"
#include "base/random.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBE_TEXT      "written by calve check, and removed by it\n"
#define PROBE_READ_MAX  4096
#define LISTED_BY_PROBE 16 /* more would not be the probe's folder */

struct probe {
    struct cv_store *store;
    const char *folder;
    const char *object;
    bool is_written;
};

/* A check makes no folders that were not there: the deepest one that is. */
static const char *existing_folder(const char *location, struct cv_arena *arena)
{
    char path[CV_PATH_BYTES_MAX];
    struct stat status;

    if (!cv_location_local_path(location, path))
        return location;
    while (stat(path, &status) != 0 && strrchr(path, '/') > path)
        *strrchr(path, '/') = '\0';
    return cv_arena_printf(arena, "file://%s", path);
}

struct found {
    const char *object;
    int count;
    bool has;
};

static enum cv_code note_file(void *context, const struct cv_listed_file *file,
                              struct cv_error *err)
{
    struct found *found = context;

    if (found->count++ > LISTED_BY_PROBE)
        return cv_fail(err, CV_LIMIT, "the listing of a new folder has other files: %.300s",
                       file->location);
    found->has |= cv_text_ends_with(file->location, strrchr(found->object, '/'));
    return CV_OK;
}

static enum cv_code try_list(const struct probe *probe, struct cv_error *err)
{
    struct found found = {.object = probe->object};

    CV_DO(cv_store_list(probe->store, probe->folder, note_file, &found, err));
    if (!found.has && probe->is_written)
        return cv_fail(err, CV_IO, "the listing of %s lacks the object just written",
                       probe->folder);
    return CV_OK;
}

static enum cv_code try_read(const struct probe *probe, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(PROBE_READ_MAX);

    CV_DO(cv_store_read(probe->store, probe->object, PROBE_READ_MAX, &bytes, err));
    if (bytes.length != strlen(PROBE_TEXT) || memcmp(bytes.data, PROBE_TEXT, bytes.length) != 0)
        return cv_fail(err, CV_IO, "%s does not hold what was just written", probe->object);
    return CV_OK;
}

static enum cv_code try_delete(const struct probe *probe, struct cv_error *err)
{
    char path[CV_PATH_BYTES_MAX];
    struct cv_error left = CV_ERROR_INIT;
    int64_t size;

    CV_DO(cv_store_remove(probe->store, probe->object, err));
    if (cv_location_local_path(probe->folder, path))
        (void)rmdir(path);
    if (cv_store_size(probe->store, probe->object, &size, &left) == CV_OK)
        return cv_fail(err, CV_IO, "%s is still there after it was deleted", probe->object);
    return CV_OK;
}

static bool tell(enum cv_code code, const char *what, const char *found, struct cv_error *err,
                 cv_catalog_report *report, void *context)
{
    report(context, what, found, code == CV_OK ? NULL : err);
    cv_error_clear(err);
    return code == CV_OK;
}

/* What stays behind is named with the failure that it is due to. */
static bool tell_delete(const struct probe *probe, cv_catalog_report *report, void *context)
{
    struct cv_error err = CV_ERROR_INIT;
    char hint[CV_ERROR_HINT_BYTES];
    enum cv_code code = try_delete(probe, &err);

    (void)snprintf(hint, sizeof hint, "%s", err.hint);
    if (code != CV_OK)
        cv_hint(&err, "%.300s%sdelete by hand what this left: %.160s", hint, *hint ? "; " : "",
                probe->object);
    return tell(code, "delete", "nothing of it is left", &err, report, context);
}

/* A user who may not write may still lack other rights. */
static void tell_rest(struct probe *probe, cv_catalog_report *report, void *context)
{
    struct cv_error err = CV_ERROR_INIT;

    (void)tell(try_list(probe, &err), "list", probe->is_written ? "the listing has it" : "allowed",
               &err, report, context);
    if (!probe->is_written)
        return;
    (void)tell(try_read(probe, &err), "read", "it reads back as it was written", &err, report,
               context);
    (void)tell_delete(probe, report, context);
}

void cv_check_store(struct cv_store *store, const char *location, cv_catalog_report *report,
                    void *context)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct probe probe = {.store = store};
    struct cv_error err = CV_ERROR_INIT;
    char uuid[CV_UUID_TEXT_BYTES];
    const char *below = existing_folder(location, &arena);
    bool lacks_right;
    enum cv_code code;

    cv_uuid_text(uuid);
    probe.folder = cv_location_join(&arena, below, cv_arena_printf(&arena, "calve-check-%s", uuid));
    probe.object = cv_location_join(&arena, probe.folder, "probe.txt");
    code = cv_store_write(store, probe.object, PROBE_TEXT, strlen(PROBE_TEXT), &err);
    probe.is_written = code == CV_OK;
    lacks_right = code == CV_AUTH && !cv_error_part_name(&err);
    (void)tell(code, "put", cv_arena_printf(&arena, "an object below %s", below), &err, report,
               context);
    if (probe.is_written || lacks_right)
        tell_rest(&probe, report, context);
}
