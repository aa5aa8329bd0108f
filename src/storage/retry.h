/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts at one request: how often, how long in all, and the waits between (exponential with full
 * jitter, a server's Retry-After where it is longer). Waits end at a stop of the process. */
#ifndef CALVE_STORAGE_RETRY_H
#define CALVE_STORAGE_RETRY_H

#include "base/error.h"

#include <stdint.h>

struct cv_retry_policy {
    int attempts; /* the first one counted */
    int64_t min_wait_ms;
    int64_t max_wait_ms;
    int64_t total_ms; /* from the first attempt to the last wait's end */
};

/* reference/iceberg.md 9.2 and 7.7. */
#define CV_RETRY_STORAGE                                                                           \
    (struct cv_retry_policy)                                                                       \
    {                                                                                              \
        8, 100, 20000, 120000                                                                      \
    }
#define CV_RETRY_CATALOG                                                                           \
    (struct cv_retry_policy)                                                                       \
    {                                                                                              \
        6, 1000, 64000, 120000                                                                     \
    }

struct cv_retry {
    struct cv_retry_policy policy;
    int attempt; /* that is or was under way, from 1 */
    int64_t started_us;
};

/* No request of this process is tried more often from now on, whatever its policy says: for a user
 * who waits. */
void cv_retry_limit_attempts(int most);
void cv_retry_begin(struct cv_retry *retry, const struct cv_retry_policy *policy);
/* After a failed attempt: waits and counts the next one; `retry_after_ms` -1 = the server did not
 * say. False: a limit is reached or the process shall end; the failure stands. */
bool cv_retry_again(struct cv_retry *retry, int64_t retry_after_ms);
/* What ends an operation that another attempt could have saved: its own failure `code`, or
 * CV_CANCELLED (in `err` too, whose text stays) where the process shall end, since then nothing is
 * wrong with what was asked. */
enum cv_code cv_retry_give_up(enum cv_code code, struct cv_error *err);
/* 408, 429, 500, 502, 503, 504: may be sent again when the request does not change anything twice.
 */
bool cv_retry_status(int status);

#endif
