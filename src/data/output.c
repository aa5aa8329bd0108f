/* SPDX-License-Identifier: Apache-2.0
 *
 * A file's output whose close does not wait for the disk: all files of a writer are synced
 * together at the end, which costs a fraction of one after the other. */
#include "data/writer_int.h"

#include <stdlib.h>

struct unsynced_output {
    struct cv_output base;
    struct cv_output *inner;
};

static enum cv_code write_through(struct cv_output *output, const void *bytes, size_t length,
                                  struct cv_error *err)
{
    struct unsynced_output *unsynced = (struct unsynced_output *)output;

    CV_DO(cv_output_write(unsynced->inner, bytes, length, err));
    output->held = unsynced->inner->held;
    return CV_OK;
}

static enum cv_code close_unsynced(struct cv_output *output, struct cv_error *err)
{
    struct unsynced_output *unsynced = (struct unsynced_output *)output;

    CV_DO(cv_output_close_unsynced(unsynced->inner, err));
    free(unsynced);
    return CV_OK;
}

static void abort_inner(struct cv_output *output)
{
    struct unsynced_output *unsynced = (struct unsynced_output *)output;

    cv_output_abort(unsynced->inner);
    free(unsynced);
}

static const struct cv_output_ops ops = {
    .write = write_through, .close = close_unsynced, .abort = abort_inner};

struct cv_output *cv_unsynced_output(struct cv_output *inner)
{
    struct unsynced_output *output = cv_alloc(sizeof *output);

    output->base.ops = &ops;
    output->inner = inner;
    return &output->base;
}
