/* SPDX-License-Identifier: Apache-2.0
 *
 * Checksums of files. */
#include "state/checked_file.h"

#include "codec/hash.h"

#include <inttypes.h>
#include <stdlib.h>

#define READ_BYTES ((size_t)4 << 20)

struct checked_output {
    struct cv_output base;
    struct cv_output *inner;
    struct cv_state_file *file;
    XXH64_state_t hash;
};

static enum cv_code checked_write(struct cv_output *base, const void *bytes, size_t length,
                                  struct cv_error *err)
{
    struct checked_output *output = (struct checked_output *)base;

    CV_DO(cv_output_write(output->inner, bytes, length, err));
    (void)XXH64_update(&output->hash, bytes, length);
    base->held = output->inner->held;
    return CV_OK;
}

static enum cv_code checked_close(struct cv_output *base, struct cv_error *err)
{
    struct checked_output *output = (struct checked_output *)base;
    const int64_t written = output->inner->written;

    CV_DO(cv_output_close(output->inner, err));
    output->file->bytes = written;
    output->file->checksum = XXH64_digest(&output->hash);
    free(output);
    return CV_OK;
}

static void checked_abort(struct cv_output *base)
{
    struct checked_output *output = (struct checked_output *)base;

    cv_output_abort(output->inner);
    free(output);
}

static const struct cv_output_ops checked_ops = {
    .write = checked_write,
    .close = checked_close,
    .abort = checked_abort,
};

struct cv_output *cv_checked_output(struct cv_output *inner, struct cv_state_file *file)
{
    struct checked_output *output = cv_alloc(sizeof *output);

    output->base.ops = &checked_ops;
    output->inner = inner;
    output->file = file;
    (void)XXH64_reset(&output->hash, 0);
    return &output->base;
}

enum cv_code cv_checked_file_verify(struct cv_store *store, const char *location,
                                    const struct cv_state_file *file, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(READ_BYTES);
    XXH64_state_t hash;
    int64_t size;

    CV_DO(cv_store_size(store, location, &size, err));
    if (size != file->bytes)
        return cv_fail(err, CV_FORMAT, "%s has %" PRId64 " bytes, %" PRId64 " were written",
                       file->name, size, file->bytes);
    (void)XXH64_reset(&hash, 0);
    for (int64_t at = 0; at < size; at += (int64_t)READ_BYTES) {
        const size_t length = (size_t)CV_MIN((int64_t)READ_BYTES, size - at);

        cv_buf_clear(&bytes);
        CV_DO(cv_store_read_range(store, location, at, length, &bytes, err));
        if (bytes.length != length)
            return cv_fail(err, CV_FORMAT, "%s ends early", file->name);
        (void)XXH64_update(&hash, bytes.data, length);
    }
    if (XXH64_digest(&hash) != file->checksum)
        return cv_fail(err, CV_FORMAT, "%s has other bytes than were written", file->name);
    return CV_OK;
}
