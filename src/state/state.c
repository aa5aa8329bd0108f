/* SPDX-License-Identifier: Apache-2.0
 *
 * Placeholder until the versions are there: to be replaced as a whole. */
#include "state/state.h"

#define NOT_YET cv_fail(err, CV_UNSUPPORTED, "queries with state are not there yet")

void cv_state_open(const struct cv_state_config *config, struct cv_state **ret_state)
{
    *ret_state = NULL;
}

void cv_state_free(struct cv_state *state)
{
}

enum cv_code cv_state_load(struct cv_state *state, int64_t batch, struct cv_error *err)
{
    return NOT_YET;
}

void cv_state_counters(const struct cv_state *state, struct cv_state_counters *ret_counters)
{
    *ret_counters = (struct cv_state_counters){0};
}

enum cv_code cv_state_write(struct cv_state *state, int64_t batch, struct cv_merge_reader *rows,
                            int64_t watermark_us, int64_t next_watermark_us, struct cv_error *err)
{
    return NOT_YET;
}

enum cv_code cv_state_read(struct cv_state *state, struct cv_merge_reader *also,
                           const int64_t *closing_us, struct cv_merge_reader **ret_reader,
                           struct cv_error *err)
{
    return NOT_YET;
}

enum cv_code cv_state_lacking(struct cv_state *state, struct cv_merge_reader *rows,
                              struct cv_merge_reader **ret_reader, struct cv_error *err)
{
    return NOT_YET;
}

void cv_state_purge(struct cv_state *state, int64_t batch)
{
}
