/* SPDX-License-Identifier: Apache-2.0
 *
 * The progress of a procedure on standard error: one line that is written over on a terminal, else
 * a line every ten seconds. */
#ifndef CALVE_CLI_PROGRESS_LINE_H
#define CALVE_CLI_PROGRESS_LINE_H

#include "maintain/procedure.h"

/* All-zero is a valid one, with nothing on the screen. */
struct cv_progress_line {
    int64_t shown_us; /* monotonic; 0 = not yet */
    bool open;        /* the terminal's line holds progress */
};
void cv_progress_line_show(struct cv_progress_line *line,
                           const struct cv_maintain_progress *progress);
/* Wipes the line, so that other output may follow. */
void cv_progress_line_end(struct cv_progress_line *line);

/* Progress and warnings of a run, from any of its threads: the callbacks of a struct cv_maintenance
 * whose context is this. The line is ended by its owner, once the run is over. */
struct cv_speaker {
    pthread_mutex_t lock;
    struct cv_progress_line line;
    bool quiet; /* no progress */
};
void cv_speaker_progress(void *speaker, const struct cv_maintain_progress *progress);
void cv_speaker_warn(void *speaker, const char *message);

#endif
