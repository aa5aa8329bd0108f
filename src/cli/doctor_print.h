/* SPDX-License-Identifier: Apache-2.0
 *
 * An examination as text for people, and as JSON. */
#ifndef CALVE_CLI_DOCTOR_PRINT_H
#define CALVE_CLI_DOCTOR_PRINT_H

#include "doctor/doctor.h"

#include <stdio.h>

struct cv_report {
    FILE *out;
    const char *subject; /* table or job */
    bool colour;
    double price; /* of a GB and month; 0 = not shown */
    int64_t now_ms;
};

/* A headline, each finding (the worst first), a line per bucket of storage, a count. */
void cv_report_print(const struct cv_report *report, const struct cv_examination *exam);
/* What the steps changed: number by number. */
void cv_report_print_change(const struct cv_report *report, const struct cv_examination *before,
                            const struct cv_examination *after);
/* An array of objects. */
void cv_report_write_json(const struct cv_report *report, const struct cv_examination *exam,
                          struct cv_buf *out);

#endif
