/* SPDX-License-Identifier: Apache-2.0
 *
 * Ending a run by signal: the first SIGTERM or SIGINT asks for an orderly end (base/stop.h), a
 * second one ends the process at once. */
#ifndef CALVE_CLI_STOP_H
#define CALVE_CLI_STOP_H

#include "base/stop.h"

void cv_stop_install(void);

#endif
