/* SPDX-License-Identifier: Apache-2.0
 *
 * A store of temporary files in the spill directory: none of them has a name there, so that none is
 * left behind. A location is any text; a file goes with cv_store_remove() or with the store. */
#ifndef CALVE_STATE_SPILL_STORE_H
#define CALVE_STATE_SPILL_STORE_H

#include "storage/store.h"

/* Free with cv_store_free(). */
struct cv_store *cv_spill_store_new(const char *folder);

#endif
