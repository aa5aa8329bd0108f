/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress lines. */
#include "cli/progress_line.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/time.h"
#include "stream/progress.h"

#include <stdio.h>
#include <unistd.h>

#define PIPE_EVERY_US (10 * CV_US_PER_SECOND)

static void put_amount(struct cv_buf *out, int64_t amount, const char *unit)
{
    char text[32];

    if (strcmp(unit, "bytes") == 0)
        cv_format_bytes(amount, text, sizeof text);
    else
        (void)snprintf(text, sizeof text, "%lld", (long long)amount);
    cv_buf_append_text(out, text);
}

static void put_time(struct cv_buf *out, int64_t us)
{
    int64_t seconds = us / CV_US_PER_SECOND;

    if (seconds >= 3600)
        cv_buf_printf(out, "%lld h %lld min", (long long)(seconds / 3600),
                      (long long)(seconds / 60 % 60));
    else if (seconds >= 60)
        cv_buf_printf(out, "%lld min %lld s", (long long)(seconds / 60), (long long)(seconds % 60));
    else
        cv_buf_printf(out, "%lld s", (long long)seconds);
}

static void write_text(const struct cv_maintain_progress *progress, struct cv_buf *out)
{
    bool bytes = strcmp(progress->unit, "bytes") == 0;

    cv_buf_printf(out, "%s: %s, ", progress->procedure, progress->step);
    put_amount(out, progress->done, progress->unit);
    if (progress->total > 0) {
        cv_buf_append_text(out, " of ");
        put_amount(out, progress->total, progress->unit);
    }
    if (!bytes)
        cv_buf_printf(out, " %s", progress->unit);
    if (progress->total > 0)
        cv_buf_printf(out, ", %.0f %%",
                      100.0 * (double)CV_MIN(progress->done, progress->total) /
                          (double)progress->total);
    if (progress->left_us >= 0) {
        cv_buf_append_text(out, ", ");
        put_time(out, progress->left_us);
        cv_buf_append_text(out, " left");
    }
}

void cv_progress_line_show(struct cv_progress_line *line,
                           const struct cv_maintain_progress *progress)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);
    int64_t now = cv_monotonic_us();

    if (!line->shown_us)
        line->shown_us = now;
    write_text(progress, &text);
    if (isatty(STDERR_FILENO)) {
        (void)fprintf(stderr, "\r%s\033[K", cv_buf_text(&text));
        (void)fflush(stderr);
        line->open = true;
    } else if (now - line->shown_us >= PIPE_EVERY_US) {
        line->shown_us = now;
        cv_log_info("%s", cv_buf_text(&text));
    }
}

void cv_progress_line_end(struct cv_progress_line *line)
{
    if (line->open)
        (void)fprintf(stderr, "\r\033[K");
    line->open = false;
}

void cv_speaker_progress(void *context, const struct cv_maintain_progress *progress)
{
    struct cv_speaker *speaker = context;

    if (speaker->quiet)
        return;
    (void)pthread_mutex_lock(&speaker->lock);
    cv_progress_line_show(&speaker->line, progress);
    (void)pthread_mutex_unlock(&speaker->lock);
}

void cv_speaker_warn(void *context, const char *message)
{
    struct cv_speaker *speaker = context;

    (void)pthread_mutex_lock(&speaker->lock);
    cv_progress_line_end(&speaker->line);
    cv_log_warning("%s", message);
    (void)pthread_mutex_unlock(&speaker->lock);
}
