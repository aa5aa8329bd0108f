/* SPDX-License-Identifier: Apache-2.0
 *
 * Temporary files for what memory does not hold. They have no name once they are open, so that
 * nothing is left behind however the process ends. */
#ifndef CALVE_BASE_SPILL_FILE_H
#define CALVE_BASE_SPILL_FILE_H

#include "base/error.h"

#include <stdint.h>

/* The folder for spilled rows: the given one, else the system's for temporary files. */
const char *cv_spill_folder(const char *folder);
/* A new file there without a name. */
enum cv_code cv_spill_file_open(const char *folder, int *ret_descriptor, struct cv_error *err);
enum cv_code cv_spill_file_read(int descriptor, const char *folder, void *bytes, size_t length,
                                int64_t offset, struct cv_error *err);

#endif
