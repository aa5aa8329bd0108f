/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines on standard error, one per event. Only stream/ and cli/ call this. Safe from any thread. */
#ifndef CALVE_BASE_LOG_H
#define CALVE_BASE_LOG_H

#include "base/error.h"

void cv_log_info(const char *format, ...) CV_PRINTF(1, 2);
void cv_log_warning(const char *format, ...) CV_PRINTF(1, 2);
/* The message with its hint on a second line. */
void cv_log_error(const struct cv_error *err);
void cv_log_quiet(bool quiet); /* true: no info lines */

#endif
