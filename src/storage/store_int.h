/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to storage/: the constructors behind cv_store_open(). */
#ifndef CALVE_STORAGE_STORE_INT_H
#define CALVE_STORAGE_STORE_INT_H

#include "storage/store.h"

struct cv_store *cv_local_store_new(void);
enum cv_code cv_s3_store_new(const char *location, const struct cv_store_config *config,
                             struct cv_store **ret_store, struct cv_error *err);

#endif
