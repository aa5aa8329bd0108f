/* SPDX-License-Identifier: Apache-2.0
 *
 * The same work on many items by a few threads. */
#ifndef CALVE_MAINTAIN_PARALLEL_H
#define CALVE_MAINTAIN_PARALLEL_H

#include "base/error.h"

/* Calls `work` for each index below `count` from up to `threads` threads, in about that order, and
 * returns when all have ended. The first failure ends the rest and is the result. */
enum cv_code cv_parallel(int threads, size_t count,
                         enum cv_code (*work)(void *context, size_t index, struct cv_error *err),
                         void *context, struct cv_error *err);

#endif
