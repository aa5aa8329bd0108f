/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits between attempts. */
#include "storage/retry.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/stop.h"
#include "base/time.h"

#include <limits.h>
#include <stdatomic.h>

static _Atomic int attempts_most = INT_MAX;

void cv_retry_limit_attempts(int most)
{
    atomic_store(&attempts_most, most);
}

void cv_retry_begin(struct cv_retry *retry, const struct cv_retry_policy *policy)
{
    int most = atomic_load(&attempts_most);

    retry->policy = *policy;
    retry->policy.attempts = CV_MIN(retry->policy.attempts, most);
    retry->attempt = 1;
    retry->started_us = cv_monotonic_us();
}

/* Full jitter: evenly between nothing and min·2^(attempt - 1), so that many clients that failed
 * together do not come back together. */
static int64_t jittered_wait_ms(const struct cv_retry *retry)
{
    int64_t ceiling = CV_MAX(retry->policy.min_wait_ms, 1);
    uint32_t random;

    for (int i = 1; i < retry->attempt && ceiling < retry->policy.max_wait_ms; i++)
        ceiling *= 2;
    ceiling = CV_MIN(ceiling, CV_MAX(retry->policy.max_wait_ms, 1));
    cv_random_bytes(&random, sizeof random);
    return (int64_t)((double)random / UINT32_MAX * (double)ceiling);
}

bool cv_retry_again(struct cv_retry *retry, int64_t retry_after_ms)
{
    int64_t wait_ms;
    int64_t past_ms = (cv_monotonic_us() - retry->started_us) / CV_US_PER_MS;

    if (retry->attempt >= retry->policy.attempts)
        return false;
    wait_ms = CV_MAX(jittered_wait_ms(retry), retry_after_ms);
    if (wait_ms > retry->policy.total_ms - past_ms)
        return false;
    if (!cv_stop_sleep_ms(wait_ms))
        return false;
    retry->attempt++;
    return true;
}

enum cv_code cv_retry_give_up(enum cv_code code, struct cv_error *err)
{
    if (code == CV_OK || !cv_stop_requested(NULL))
        return code;
    if (err)
        err->code = CV_CANCELLED;
    return CV_CANCELLED;
}

bool cv_retry_status(int status)
{
    return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
           status == 504;
}
