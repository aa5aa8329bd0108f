/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of a batch, sorted by key, rows of one key merged. */
#ifndef CALVE_STATE_SORT_H
#define CALVE_STATE_SORT_H

#include "state/blocks.h"

/* Copies the rows; those that are late (see cv_runs_add()) are left out and counted. */
enum cv_code cv_sort_rows(const struct cv_keyed *keyed, const struct cv_batch *batch,
                          int64_t late_us, struct cv_blocks **ret_blocks, int64_t *ret_late_rows,
                          struct cv_error *err);

#endif
