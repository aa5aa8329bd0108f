/* SPDX-License-Identifier: Apache-2.0
 *
 * Logs made anew, all at once: they are written into rebase.tmp/, which becomes rebase/ when it is
 * whole. From then on every start finishes the exchange, whose steps may be repeated. */
#include "stream/checkpoint_files.h"

#include "base/fault.h"
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STAGED_NAME "rebase"
#define BUILD_NAME  "rebase.tmp"

static const char *const log_folders[] = {"offsets", "commits", "sources/0"};
static const char *const names[] = {"metadata", "offsets", "commits", "sources", "calve.json"};

static const char *join(const char *folder, const char *name, char path[CV_PATH_BYTES_MAX])
{
    (void)snprintf(path, CV_PATH_BYTES_MAX, "%s/%s", folder, name);
    return path;
}

static enum cv_code move(const char *from, const char *to, bool may_be_absent, struct cv_error *err)
{
    if (rename(from, to) == 0 || (may_be_absent && errno == ENOENT))
        return CV_OK;
    return cv_fail(err, CV_IO, "cannot move %s: %s", from, strerror(errno));
}

/* What a build that was interrupted left behind. */
static enum cv_code remove_build(const char *folder, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    static const char *const folders[] = {"offsets", "commits", "sources/0", "sources", ""};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(folders); i++) {
        char path[CV_PATH_BYTES_MAX];
        char file[CV_PATH_BYTES_MAX + 256];
        char **found;
        size_t count;
        enum cv_code code =
            cv_directory_list(join(folder, folders[i], path), &arena, &found, &count, err);

        if (code == CV_NOT_FOUND)
            continue;
        CV_DO(code);
        for (size_t j = 0; j < count; j++) {
            (void)snprintf(file, sizeof file, "%s/%s", path, found[j]);
            (void)unlink(file);
        }
        (void)rmdir(path);
    }
    return CV_OK;
}

enum cv_code cv_checkpoint_write_logs(struct cv_checkpoint *target, const struct cv_rebase *rebase,
                                      struct cv_error *err)
{
    target->next_watermark_ms = rebase->entry.watermark_ms;
    CV_DO(cv_checkpoint_write_metadata(target, rebase->query_id, err));
    CV_DO(cv_checkpoint_write_initial(target, &rebase->entry.offsets, err));
    /* Spark wants the entry before the newest one too. */
    for (int64_t batch = CV_MAX(rebase->batch - 1, 0); batch <= rebase->batch; batch++) {
        CV_DO(cv_checkpoint_write_offsets(target, batch, &rebase->entry, err));
        CV_DO(cv_checkpoint_write_commit(target, batch, err));
    }
    return cv_checkpoint_write_memo(target, rebase->memo, err);
}

static enum cv_code build_logs(struct cv_checkpoint *build, const struct cv_rebase *rebase,
                               struct cv_error *err)
{
    char path[CV_PATH_BYTES_MAX];

    for (size_t i = 0; i < CV_ARRAY_LENGTH(log_folders); i++)
        CV_DO(cv_directory_make(join(build->folder, log_folders[i], path), err));
    CV_DO(cv_checkpoint_write_logs(build, rebase, err));
    CV_DO(cv_directory_sync(join(build->folder, "sources", path), err));
    return cv_directory_sync(build->folder, err);
}

/* The old files go to replaced/ within the staged folder, so that a repetition knows where. */
static enum cv_code exchange(const struct cv_checkpoint *checkpoint, const char *staged,
                             const char *replaced, struct cv_error *err)
{
    char from[CV_PATH_BYTES_MAX];
    char to[CV_PATH_BYTES_MAX];
    char aside[CV_PATH_BYTES_MAX + 32];

    for (size_t i = 0; i < CV_ARRAY_LENGTH(names); i++) {
        if (access(join(staged, names[i], from), F_OK) != 0)
            continue;
        (void)snprintf(aside, sizeof aside, "%s/%s", replaced, names[i]);
        CV_DO(move(join(checkpoint->folder, names[i], to), aside, true, err));
        CV_DO(cv_fault_pass("rebase-half", err));
        CV_DO(move(from, to, false, err));
    }
    (void)unlink(join(checkpoint->folder, ".metadata.crc", to)); /* Hadoop's, of the old file */
    CV_DO(cv_directory_sync(replaced, err));
    CV_DO(cv_directory_sync(staged, err));
    return cv_directory_sync(checkpoint->folder, err);
}

enum cv_code cv_checkpoint_finish_rebase(struct cv_checkpoint *checkpoint, struct cv_error *err)
{
    char staged[CV_PATH_BYTES_MAX];
    char replaced[CV_PATH_BYTES_MAX + 32];
    char kept[CV_PATH_BYTES_MAX + 64];
    char uuid[CV_UUID_TEXT_BYTES];

    if (checkpoint->store)
        return cv_checkpoint_finish_stored(checkpoint, err);
    if (access(join(checkpoint->folder, STAGED_NAME, staged), F_OK) != 0)
        return CV_OK;
    (void)snprintf(replaced, sizeof replaced, "%s/replaced", staged);
    CV_DO(cv_directory_make(replaced, err));
    CV_DO(exchange(checkpoint, staged, replaced, err));
    cv_uuid_text(uuid);
    (void)snprintf(kept, sizeof kept, "%s/replaced-%.8s", checkpoint->folder, uuid);
    if (rmdir(replaced) != 0) /* it has something to keep */
        CV_DO(move(replaced, kept, false, err));
    if (rmdir(staged) != 0)
        return cv_fail(err, CV_IO, "cannot remove %s: %s", staged, strerror(errno));
    return cv_directory_sync(checkpoint->folder, err);
}

static enum cv_code rebase_local(struct cv_checkpoint *checkpoint, const struct cv_rebase *rebase,
                                 struct cv_error *err)
{
    struct cv_checkpoint build = {.lock = -1};
    char folder[CV_PATH_BYTES_MAX];
    char staged[CV_PATH_BYTES_MAX];

    build.folder = folder;
    (void)join(checkpoint->folder, BUILD_NAME, folder);
    CV_DO(remove_build(folder, err));
    CV_DO(build_logs(&build, rebase, err));
    CV_DO(cv_fault_pass("rebase-staged", err));
    CV_DO(move(folder, join(checkpoint->folder, STAGED_NAME, staged), false, err));
    CV_DO(cv_directory_sync(checkpoint->folder, err));
    return cv_checkpoint_finish_rebase(checkpoint, err);
}

enum cv_code cv_checkpoint_rebase(struct cv_checkpoint *checkpoint, const struct cv_rebase *rebase,
                                  struct cv_error *err)
{
    CV_DO(checkpoint->store ? cv_checkpoint_rebase_stored(checkpoint, rebase, err)
                            : rebase_local(checkpoint, rebase, err));
    (void)snprintf(checkpoint->query_id, sizeof checkpoint->query_id, "%s", rebase->query_id);
    checkpoint->newest_offsets = rebase->batch;
    checkpoint->newest_commits = rebase->batch;
    return CV_OK;
}
