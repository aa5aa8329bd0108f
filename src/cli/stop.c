/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals. */
#include "cli/stop.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
    if (signals++)
        _exit(128 + number);
    cv_stop_request();
}

void cv_stop_install(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
}
