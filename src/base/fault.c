/* SPDX-License-Identifier: Apache-2.0
 *
 * Fault points. */
#include "base/fault.h"

#ifdef CV_FAULTS

#include "base/str.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const points[] = {
#define CV_FAULT_NAME(name) name,
    CV_FAULT_POINTS(CV_FAULT_NAME)
#undef CV_FAULT_NAME
};

enum deed {
    DIE,
    FAIL,
    STOP, /* until SIGCONT */
};

struct wish {
    struct cv_str point;
    int64_t nth;
    enum deed deed;
};

static bool read_wish(struct wish *wish)
{
    const char *text = getenv("CALVE_FAULT");
    const char *end;
    struct cv_str number;

    if (!text || !*text)
        return false;
    wish->nth = 1;
    wish->deed = cv_text_ends_with(text, "=fail")   ? FAIL
                 : cv_text_ends_with(text, "=stop") ? STOP
                                                    : DIE;
    end = text + strlen(text) - (wish->deed == DIE ? 0 : 5);
    wish->point = (struct cv_str){text, strcspn(text, ":=")};
    if (text[wish->point.length] != ':')
        return true;
    number.ptr = text + wish->point.length + 1;
    number.length = (size_t)(end - number.ptr);
    return cv_parse_i64(number, &wish->nth) && wish->nth > 0;
}

enum cv_code cv_fault_check_environment(struct cv_error *err)
{
    const char *text = getenv("CALVE_FAULT");
    struct wish wish;

    if (!text || !*text)
        return CV_OK;
    if (read_wish(&wish))
        for (size_t i = 0; i < CV_ARRAY_LENGTH(points); i++)
            if (cv_str_is(wish.point, points[i]))
                return CV_OK;
    return cv_fail(err, CV_USAGE, "CALVE_FAULT=%s names no fault point", text);
}

enum cv_code cv_fault_pass(const char *point, struct cv_error *err)
{
    static atomic_llong passed;
    struct wish wish;

    if (!read_wish(&wish) || !cv_str_is(wish.point, point))
        return CV_OK;
    if (atomic_fetch_add(&passed, 1) + 1 != wish.nth)
        return CV_OK;
    switch (wish.deed) {
    case DIE:
        (void)kill(getpid(), SIGKILL);
        for (;;)
            (void)pause();
    case STOP:
        (void)kill(getpid(), SIGSTOP);
        return CV_OK;
    case FAIL:
        break;
    }
    return cv_fail(err, CV_FAULT, "fault point %s", point);
}

#endif
