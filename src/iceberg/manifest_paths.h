/* SPDX-License-Identifier: Apache-2.0
 *
 * What expiry and orphan removal want of a manifest: the files that it names and nothing else. No
 * schema or spec is needed, metrics are skipped, nothing is kept. */
#ifndef CALVE_ICEBERG_MANIFEST_PATHS_H
#define CALVE_ICEBERG_MANIFEST_PATHS_H

#include "iceberg/manifest.h"

struct cv_manifest_path {
    struct cv_str path; /* in the manifest's bytes: only during the call */
    enum cv_file_content content;
    enum cv_entry_status status;
    int64_t size; /* -1 = not told */
};

/* Calls `each` for every entry, deleted ones too. */
enum cv_code cv_manifest_read_paths(const void *bytes, size_t length,
                                    enum cv_code (*each)(void *context,
                                                         const struct cv_manifest_path *path,
                                                         struct cv_error *err),
                                    void *context, struct cv_error *err);

#endif
