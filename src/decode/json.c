/* SPDX-License-Identifier: Apache-2.0
 *
 * Value format `json`. */
#include "decode/framing.h"
#include "decode/json_read.h"

#include <stdlib.h>

static enum cv_code json_compile(struct cv_decoder *d, struct cv_buf *problems,
                                 struct cv_error *err)
{
    struct cv_json_plan *plan = NULL;

    CV_DO(cv_json_plan_compile(d, &d->arena, &plan, problems, err));
    d->compiled = plan;
    return CV_OK;
}

static void json_release(struct cv_decoder *d)
{
    cv_json_plan_free(d->compiled);
}

static void json_worker_init(struct cv_decode_worker *worker)
{
    struct cv_json_reader *reader = cv_alloc(sizeof *reader);

    cv_json_reader_init(reader, worker->decoder->compiled, worker);
    worker->state = reader;
}

static void json_worker_release(struct cv_decode_worker *worker)
{
    cv_json_reader_release(worker->state);
    free(worker->state);
}

static enum cv_decode_result json_decode(struct cv_decode_worker *worker,
                                         const struct cv_record *record, struct cv_error *err)
{
    struct cv_json_reader *reader = worker->state;
    const uint8_t *bytes = record->value;
    size_t length = record->value_length;
    uint32_t id;

    if (reader->plan->confluent) {
        if (!cv_framing_split(bytes, length, &id)) {
            cv_framing_fault(worker, bytes, length);
            return CV_BAD;
        }
        bytes += CV_FRAMING_BYTES;
        length -= CV_FRAMING_BYTES;
    }
    return cv_json_read_record(reader, bytes, length) ? CV_DECODED : CV_BAD;
}

const struct cv_format_ops cv_format_json = {
    .name = "json",
    .has_fields = true,
    .value_fed_by_format = true,
    .key_kind = CV_TYPE_BINARY,
    .value_kind = CV_TYPE_STRING,
    .compile = json_compile,
    .release = json_release,
    .worker_init = json_worker_init,
    .worker_release = json_worker_release,
    .decode = json_decode,
};
