/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress of a procedure's step, its warnings, and the question whether it shall end. */
#include "maintain/procedure.h"

#include "base/time.h"

#include <stdio.h>

#define TELL_EVERY_US (CV_US_PER_SECOND / 10)
#define WARNING_BYTES 2048

void cv_maintain_meter_init(struct cv_maintain_meter *meter,
                            const struct cv_maintenance *maintenance, const char *procedure,
                            const char *step, const char *unit, int64_t total)
{
    memset(meter, 0, sizeof *meter);
    meter->maintenance = maintenance;
    meter->now = (struct cv_maintain_progress){
        .procedure = procedure, .step = step, .unit = unit, .total = total, .left_us = -1};
    meter->start_us = cv_monotonic_us();
    (void)pthread_mutex_init(&meter->lock, NULL);
}

static void tell(struct cv_maintain_meter *meter, int64_t now_us)
{
    struct cv_maintain_progress *now = &meter->now;

    meter->told_us = now_us;
    now->elapsed_us = now_us - meter->start_us;
    now->left_us = -1;
    if (now->total > 0 && now->done > 0)
        now->left_us = (int64_t)((double)now->elapsed_us * (double)(now->total - now->done) /
                                 (double)now->done);
    meter->maintenance->progress(meter->maintenance->context, now);
}

void cv_maintain_meter_add(struct cv_maintain_meter *meter, int64_t done)
{
    int64_t now_us;

    if (!meter->maintenance || !meter->maintenance->progress)
        return;
    now_us = cv_monotonic_us();
    (void)pthread_mutex_lock(&meter->lock);
    meter->now.done += done;
    if (now_us - meter->told_us >= TELL_EVERY_US)
        tell(meter, now_us);
    (void)pthread_mutex_unlock(&meter->lock);
}

void cv_maintain_meter_release(struct cv_maintain_meter *meter)
{
    if (meter->maintenance)
        (void)pthread_mutex_destroy(&meter->lock);
    meter->maintenance = NULL;
}

enum cv_code cv_maintain_check_stop(const struct cv_maintenance *maintenance, struct cv_error *err)
{
    if (!maintenance->stopping || !maintenance->stopping(maintenance->context))
        return CV_OK;
    return cv_fail(err, CV_CANCELLED, "stopped before the end");
}

void cv_maintain_warn(const struct cv_maintenance *maintenance, const char *format, ...)
{
    char message[WARNING_BYTES];
    va_list args;

    if (!maintenance->warn)
        return;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    maintenance->warn(maintenance->context, message);
}
