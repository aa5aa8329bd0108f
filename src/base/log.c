/* SPDX-License-Identifier: Apache-2.0
 *
 * Log lines. A line is formatted first and written with one call, so that threads do not mix. */
#include "base/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define LINE_BYTES 4096

static atomic_bool quiet;

static void write_line(const char *level, const char *colour, const char *format, va_list args)
{
    char message[LINE_BYTES];
    char line[LINE_BYTES + 64];
    bool terminal = isatty(STDERR_FILENO);
    int length;

    (void)vsnprintf(message, sizeof message, format, args);
    length = snprintf(line, sizeof line, "%s%s%s%s\n", terminal ? colour : "", level,
                      terminal && *colour ? "\033[0m" : "", message);
    if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0)
        return;
}

void cv_log_info(const char *format, ...)
{
    va_list args;

    if (atomic_load(&quiet))
        return;
    va_start(args, format);
    write_line("", "", format, args);
    va_end(args);
}

void cv_log_warning(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_line("warning: ", "\033[33m", format, args);
    va_end(args);
}

static void error_line(const char *format, ...) CV_PRINTF(1, 2);
static void error_line(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_line("error: ", "\033[31m", format, args);
    va_end(args);
}

void cv_log_error(const struct cv_error *err)
{
    error_line("%s", err->message);
    if (err->hint[0])
        (void)fprintf(stderr, "  %s\n", err->hint);
}

void cv_log_quiet(bool value)
{
    atomic_store(&quiet, value);
}
