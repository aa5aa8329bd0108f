/* SPDX-License-Identifier: Apache-2.0
 *
 * When the next micro-batch starts: Spark's processing-time, once and available-now triggers. */
#ifndef CALVE_STREAM_TRIGGER_H
#define CALVE_STREAM_TRIGGER_H

#include "base/error.h"

#include <stdint.h>

enum cv_trigger_kind {
    CV_TRIGGER_PROCESSING_TIME, /* interval 0: at once, polled while idle */
    CV_TRIGGER_AVAILABLE_NOW,
    CV_TRIGGER_ONCE,
};

struct cv_trigger {
    enum cv_trigger_kind kind;
    int64_t interval_us;
};

/* An interval ("5 seconds", "interval 1 minute"), availableNow or once, any case. NULL = at once.
 * Continuous triggers are refused with the reason. */
enum cv_code cv_trigger_parse(const char *text, struct cv_trigger *ret_trigger,
                              struct cv_error *err);

/* The start of the trigger after the one that started at `start_us` (wall clock) when it is
 * `now_us`: the next multiple of the interval since the epoch, or now when the batch took longer.
 */
int64_t cv_trigger_next(const struct cv_trigger *trigger, int64_t start_us, int64_t now_us);

/* What an interval under one minute costs, for the one warning; "" when it costs nothing. */
void cv_trigger_cost(const struct cv_trigger *trigger, char *text, size_t size);

#endif
