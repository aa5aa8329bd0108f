/* SPDX-License-Identifier: Apache-2.0
 *
 * The process's wish to end, as one flag. */
#include "base/stop.h"

#include "base/memory.h"
#include "base/time.h"

#include <stdatomic.h>

#define LOOK_EACH_MS 50

static _Atomic int wanted; /* lock-free, so that a signal handler may set it */

void cv_stop_request(void)
{
    atomic_store(&wanted, 1);
}

bool cv_stop_requested(void *context)
{
    (void)context;
    return atomic_load(&wanted) != 0;
}

bool cv_stop_sleep_ms(int64_t ms)
{
    int64_t end_us = cv_monotonic_us() + CV_MIN(ms, INT64_MAX / 4000) * CV_US_PER_MS;

    for (;;) {
        int64_t left_us = end_us - cv_monotonic_us();

        if (cv_stop_requested(NULL))
            return false;
        if (left_us <= 0)
            return true;
        cv_sleep_ms(CV_MIN(LOOK_EACH_MS, left_us / CV_US_PER_MS + 1));
    }
}
