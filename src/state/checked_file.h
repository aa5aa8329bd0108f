/* SPDX-License-Identifier: Apache-2.0
 *
 * Files with a checksum over all of their bytes: taken while they are written, compared by reading
 * them once. */
#ifndef CALVE_STATE_CHECKED_FILE_H
#define CALVE_STATE_CHECKED_FILE_H

#include "state/version.h"
#include "storage/store.h"

/* Passes everything on to `inner`, which it takes over; sets bytes and checksum of `file`, which
 * outlives it, when it is closed. */
struct cv_output *cv_checked_output(struct cv_output *inner, struct cv_state_file *file);
/* CV_FORMAT when the file is not the one that was written, CV_NOT_FOUND when there is none. */
enum cv_code cv_checked_file_verify(struct cv_store *store, const char *location,
                                    const struct cv_state_file *file, struct cv_error *err);

#endif
