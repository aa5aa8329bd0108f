/* SPDX-License-Identifier: Apache-2.0
 *
 * A file being written to S3: bytes collect in one buffer; a small file is put whole when it is
 * closed, a large one leaves in parts while writing goes on. Nothing is visible before the end. */
#include "storage/s3_upload_int.h"

#include <stdlib.h>

#define CLEANUP_ATTEMPTS 2

struct s3_output {
    struct cv_output base;
    struct s3_store *store;
    struct s3_upload *upload;
    struct cv_buf part;
    bool put_failed; /* and may have been carried out */
};

/* The buffer is never larger. */
static size_t limit_of(const struct s3_output *output)
{
    const struct s3_upload *upload = output->upload;

    if (!upload->id)
        return (size_t)output->store->threshold_bytes;
    return (size_t)s3_part_bytes(output->store->settings.part_bytes, upload->part_count + 1);
}

/* Hands the next part over; at least a byte follows it. */
static enum cv_code send_part(struct s3_output *output, struct cv_error *err)
{
    struct s3_upload *upload = output->upload;
    const int part = upload->part_count + 1;
    const size_t length = CV_MIN(output->part.length,
                                 (size_t)s3_part_bytes(output->store->settings.part_bytes, part));
    struct cv_buf rest = CV_BUF_INIT(0);
    struct cv_buf bytes;

    if (part >= S3_PARTS_MAX)
        return cv_fail(err, CV_LIMIT,
                       "%.1000s has more than %d parts; raise "
                       "s3.multipart.part-size-bytes",
                       upload->location, S3_PARTS_MAX);
    if (!upload->id)
        CV_DO(s3_multipart_begin(upload, err));
    (void)cv_buf_reserve(&rest,
                         (size_t)s3_part_bytes(output->store->settings.part_bytes, part + 1));
    cv_buf_append(&rest, output->part.data + length, output->part.length - length);
    bytes = output->part;
    bytes.length = length;
    output->part = rest;
    return s3_upload_submit(upload, part, &bytes, false, err);
}

static enum cv_code s3_write(struct cv_output *base, const void *bytes, size_t length,
                             struct cv_error *err)
{
    struct s3_output *output = (struct s3_output *)base;
    const uint8_t *at = bytes;

    while (length) {
        size_t limit = limit_of(output);
        size_t step;

        if (output->part.length >= limit) {
            CV_DO(send_part(output, err));
            limit = limit_of(output);
        }
        step = CV_MIN(length, limit - output->part.length);
        cv_buf_append(&output->part, at, step);
        CV_DO(cv_buf_check(&output->part, output->upload->location, err));
        at += step;
        length -= step;
    }
    base->held = output->part.capacity;
    if (output->upload->id)
        base->held += s3_upload_bytes(output->upload);
    return CV_OK;
}

static void free_output(struct s3_output *output)
{
    cv_buf_release(&output->part);
    s3_upload_free(output->upload);
    free(output);
}

/* The last part, or the whole of a small file. */
static enum cv_code send_last(struct s3_output *output, struct cv_error *err)
{
    struct s3_upload *upload = output->upload;

    return s3_upload_submit(upload, upload->id ? upload->part_count + 1 : 0, &output->part, true,
                            err);
}

static enum cv_code s3_close(struct cv_output *base, struct cv_error *err)
{
    struct s3_output *output = (struct s3_output *)base;
    struct s3_upload *upload = output->upload;

    if (upload->id) {
        CV_DO(send_last(output, err));
        CV_DO(s3_upload_wait(upload, err));
    } else {
        enum cv_code code = s3_put_object(output->store, upload->location, output->part.data,
                                          output->part.length, false, err);

        output->put_failed = code != CV_OK;
        CV_DO(code);
    }
    free_output(output);
    return CV_OK;
}

static enum cv_code s3_close_unsynced(struct cv_output *base, struct cv_error *err)
{
    struct s3_output *output = (struct s3_output *)base;

    CV_DO(send_last(output, err));
    s3_upload_detach(cv_steal(output->upload));
    free_output(output);
    return CV_OK;
}

/* A PUT without an answer may have been carried out. */
static void delete_object(const struct s3_output *output)
{
    CV_CLEANUP(s3_answer_release) struct s3_answer answer = {0};
    struct s3_location at;
    struct s3_request request = {
        .action = "delete",
        .location = output->upload->location,
        .kind = CV_REQUEST_DELETE,
        .method = "DELETE",
        .bucket = at.bucket,
        .key = at.key,
        .attempts_max = CLEANUP_ATTEMPTS,
    };

    if (s3_location_split(output->upload->location, &at, NULL) == CV_OK)
        (void)s3_send(output->store, &request, &answer, NULL);
}

static void s3_abort(struct cv_output *base)
{
    struct s3_output *output = (struct s3_output *)base;

    s3_upload_abort(output->upload);
    if (output->put_failed)
        delete_object(output);
    free_output(output);
}

static const struct cv_output_ops output_ops = {
    .write = s3_write,
    .close = s3_close,
    .close_unsynced = s3_close_unsynced,
    .abort = s3_abort,
};

enum cv_code s3_create(struct cv_store *base, const char *location, struct cv_output **ret_output,
                       struct cv_error *err)
{
    struct s3_store *store = (struct s3_store *)base;
    struct s3_location at;
    struct s3_output *output;

    CV_DO(s3_location_split(location, &at, err));
    if (!*at.key || at.key[strlen(at.key) - 1] == '/')
        return cv_fail(err, CV_CONFIG, "%.1500s is not the name of a file", location);
    (void)s3_uploads_wait(store, location, true, NULL);
    output = cv_alloc(sizeof *output);
    output->base.ops = &output_ops;
    output->store = store;
    output->upload = s3_upload_new(store, location);
    *ret_output = &output->base;
    return CV_OK;
}
