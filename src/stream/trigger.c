/* SPDX-License-Identifier: Apache-2.0
 *
 * Triggers. */
#include "stream/trigger.h"

#include "base/str.h"
#include "base/time.h"

#include <stdio.h>
#include <strings.h>

#define MINUTE_US (60 * CV_US_PER_SECOND)

enum cv_code cv_trigger_parse(const char *text, struct cv_trigger *ret_trigger,
                              struct cv_error *err)
{
    struct cv_trigger trigger = {CV_TRIGGER_PROCESSING_TIME, 0};

    if (!text) {
        trigger.interval_us = 0;
    } else if (cv_text_equal_nocase(text, "availableNow")) {
        trigger.kind = CV_TRIGGER_AVAILABLE_NOW;
    } else if (cv_text_equal_nocase(text, "once")) {
        trigger.kind = CV_TRIGGER_ONCE;
    } else if (strncasecmp(text, "continuous", 10) == 0) {
        (void)cv_fail(err, CV_UNSUPPORTED,
                      "a continuous trigger does not go with an Iceberg table: every record would "
                      "be a commit of its own");
        cv_hint(err, "write an interval, for example \"1 minute\", or availableNow");
        return CV_UNSUPPORTED;
    } else {
        CV_DO(cv_parse_duration(text, 0, &trigger.interval_us, err));
    }
    *ret_trigger = trigger;
    return CV_OK;
}

int64_t cv_trigger_next(const struct cv_trigger *trigger, int64_t start_us, int64_t now_us)
{
    int64_t interval = trigger->interval_us;
    int64_t next;

    if (interval == 0)
        return now_us;
    next = cv_floor_div(start_us, interval) * interval + interval;
    return CV_MAX(next, now_us);
}

void cv_trigger_cost(const struct cv_trigger *trigger, char *text, size_t size)
{
    int64_t interval = CV_MAX(trigger->interval_us, CV_US_PER_SECOND);

    text[0] = '\0';
    if (trigger->kind != CV_TRIGGER_PROCESSING_TIME || trigger->interval_us >= MINUTE_US)
        return;
    (void)snprintf(text, size,
                   "a trigger of %s makes up to %lld snapshots a day, each with at least one file "
                   "per table partition; Iceberg advises 1 minute or more",
                   trigger->interval_us ? "under one minute" : "\"at once\"",
                   (long long)(CV_US_PER_DAY / interval));
}
