/* SPDX-License-Identifier: Apache-2.0
 *
 * Temporary files. */
#include "base/spill_file.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum cv_code fail_errno(const char *folder, const char *action, struct cv_error *err)
{
    int saved = errno;

    (void)cv_fail(err, CV_IO, "cannot %s spilled rows in %s: %s", action, folder, strerror(saved));
    if (saved == ENOSPC || saved == EDQUOT)
        cv_hint(err, "free space there, or name another folder with spill-directory");
    return CV_IO;
}

const char *cv_spill_folder(const char *folder)
{
    if (!folder || !*folder)
        folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

enum cv_code cv_spill_file_open(const char *folder, int *ret_descriptor, struct cv_error *err)
{
    CV_CLEANUP(cv_freep) char *path = NULL;
    int descriptor;

    CV_TRY(cv_directory_make(folder, err), err, "spill-directory");
    descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor < 0) { /* the file system knows no files without a name */
        if (asprintf(&path, "%s/calve-spill-XXXXXX", folder) < 0)
            return cv_fail(err, CV_INTERNAL, "cannot name a spill file");
        descriptor = mkostemp(path, O_CLOEXEC);
        if (descriptor < 0)
            return fail_errno(folder, "create a file for", err);
        (void)unlink(path);
    }
    *ret_descriptor = descriptor;
    return CV_OK;
}

enum cv_code cv_spill_file_read(int descriptor, const char *folder, void *bytes, size_t length,
                                int64_t offset, struct cv_error *err)
{
    uint8_t *at = bytes;

    while (length) {
        ssize_t got = pread(descriptor, at, length, offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(folder, "read", err);
        if (got == 0)
            return cv_fail(err, CV_IO, "spilled rows in %s are damaged", folder);
        at += got;
        offset += got;
        length -= (size_t)got;
    }
    return CV_OK;
}
