/* SPDX-License-Identifier: Apache-2.0
 *
 * A table on paper (../table/fixture.h) and its examination, for the tests of doctor/. */
#ifndef CALVE_TESTS_UNIT_DOCTOR_DOCTOR_FIXTURE_H
#define CALVE_TESTS_UNIT_DOCTOR_DOCTOR_FIXTURE_H

#include "../table/fixture.h"

#include "base/time.h"
#include "doctor/doctor_int.h"

#define DAY_MS  INT64_C(86400000)
#define HOUR_MS INT64_C(3600000)

static inline const struct cv_finding *found(const struct cv_examination *exam, const char *name)
{
    for (size_t i = 0; i < exam->count; i++)
        if (strcmp(exam->findings[i].name, name) == 0)
            return &exam->findings[i];
    return NULL;
}

/* The finding is there, of this severity and number, and says what it must. */
static inline const struct cv_finding *assert_found(const struct cv_examination *exam,
                                                    const char *name, enum cv_severity severity,
                                                    int64_t number, const char *what)
{
    const struct cv_finding *finding = found(exam, name);

    if (!finding)
        fail_msg("%s was not found", name);
    if (finding->severity != severity || finding->number != number || !strstr(finding->what, what))
        fail_msg("%s: severity %d, number %lld, %s", name, (int)finding->severity,
                 (long long)finding->number, finding->what);
    assert_true(finding->why[0] != '\0');
    assert_true(severity == CV_SEVERITY_NOTE || finding->command || finding->expected[0]);
    return finding;
}

static inline void assert_not_found(const struct cv_examination *exam, const char *name)
{
    const struct cv_finding *finding = found(exam, name);

    if (finding)
        fail_msg("%s: %s", name, finding->what);
}

#endif
