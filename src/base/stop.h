/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the process shall end. A signal sets it, every wait that may last looks at it: back-off
 * between attempts, answers of servers, reading of a pipe. */
#ifndef CALVE_BASE_STOP_H
#define CALVE_BASE_STOP_H

#include <stdbool.h>
#include <stdint.h>

/* Async-signal-safe. */
void cv_stop_request(void);
/* In the form of a callback; the context is not used. */
bool cv_stop_requested(void *context);
/* cv_sleep_ms() that ends within 50 ms of a stop; false = it was stopped. */
bool cv_stop_sleep_ms(int64_t ms);

#endif
