/* SPDX-License-Identifier: Apache-2.0
 *
 * What state/<batch>.json says: the files of a version with sizes and checksums, under a checksum
 * of its own (docs/STATE.md). */
#ifndef CALVE_STATE_VERSION_H
#define CALVE_STATE_VERSION_H

#include "base/buf.h"
#include "base/str.h"

#define CV_STATE_FORMAT             1
#define CV_STATE_VERSION_BYTES_MAX  ((size_t)1 << 20)
#define CV_STATE_VERSION_FILES_MAX  1000
#define CV_STATE_FILE_NAME_BYTES    64
#define CV_STATE_VERSION_NAME_BYTES 32

struct cv_state_file {
    char name[CV_STATE_FILE_NAME_BYTES];
    int64_t bytes;
    int64_t rows;
    uint64_t checksum; /* XXH64 of all bytes */
    /* By which watermark all of its rows are closed; INT64_MAX = by none. */
    int64_t closed_by_us;
};

struct cv_state_version {
    int64_t batch;
    const char *fingerprint;
    const char *columns;                     /* the kinds and types of the rows' columns, as text */
    int64_t watermark_us, next_watermark_us; /* INT64_MIN = none */
    struct cv_state_file *files;             /* the oldest first */
    size_t file_count;
};

void cv_state_version_write(const struct cv_state_version *version, struct cv_buf *out);
/* Texts and files live in the arena. CV_FORMAT when any byte is another than was written,
 * CV_UNSUPPORTED when it is whole but of another format. */
enum cv_code cv_state_version_read(const void *text, size_t length, struct cv_arena *arena,
                                   struct cv_state_version *ret_version, struct cv_error *err);

/* "12.json" → 12, "12-<uuid>.parquet" → 12; false for every other name. */
bool cv_state_version_name(const char *name, int64_t *ret_batch);
bool cv_state_file_name(const char *name, int64_t *ret_batch);
/* ".12.json.<uuid>.tmp" → 12: a version that a local store was about to put in place. */
bool cv_state_unfinished_name(const char *name, int64_t *ret_batch);

#endif
