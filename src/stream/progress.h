/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trigger did, as Spark's StreamingQueryProgress prints it and as one line for people. */
#ifndef CALVE_STREAM_PROGRESS_H
#define CALVE_STREAM_PROGRESS_H

#include "data/writer.h"
#include "decode/decoder.h"
#include "kafka/source.h"
#include "storage/requests.h"
#include "stream/stateful.h"

enum cv_stage {
    CV_STAGE_LATEST_OFFSET,
    CV_STAGE_GET_BATCH,
    CV_STAGE_QUERY_PLANNING,
    CV_STAGE_WAL_COMMIT,
    CV_STAGE_ADD_BATCH,
    CV_STAGE_COMMIT_OFFSETS,
    CV_STAGE_TRIGGER,
    CV_STAGE_COUNT,
};

struct cv_progress {
    const char *query_id;
    const char *run_id;
    const char *name;
    int64_t timestamp_ms;          /* start of the trigger */
    int64_t previous_timestamp_ms; /* of the trigger before, -1 for the first */
    int64_t batch_id;
    bool ran;                         /* false: nothing to do; batch_id is the next one */
    int64_t stage_us[CV_STAGE_COUNT]; /* -1 = did not happen */
    uint64_t input_rows;
    uint64_t output_rows;
    struct cv_decode_counters decoded;
    uint64_t lost_records;
    const struct cv_offsets *start, *end, *latest; /* latest may be NULL */
    const char *source_description;
    const char *sink_description;
    int64_t snapshot_id; /* -1: none was made */
    size_t files;
    int64_t file_bytes;
    struct cv_data_writer_counters written; /* steps under the memory budget */
    bool stateful;
    struct cv_stateful_counters state; /* then */
    int commit_attempts;
    struct cv_request_sums requests; /* of the table's store and catalog, and of the checkpoint's
                                      * store, since the trigger began */
};

/* One line of JSON without a newline. */
void cv_progress_write_json(const struct cv_progress *progress, struct cv_buf *out);
/* "batch 7: 20 rows in 31 ms, 1 file 3.1 KiB, snapshot 123, 0 behind, requests: 3 put, 1
 * catalog-commit" */
void cv_progress_write_line(const struct cv_progress *progress, struct cv_buf *out);

/* Records between the batch's end and the latest offsets: least, most and mean per partition. */
struct cv_lag {
    int64_t min, max, total;
    double mean;
    size_t partitions;
};
struct cv_lag cv_progress_lag(const struct cv_offsets *end, const struct cv_offsets *latest);

/* "3.1 KiB" */
void cv_format_bytes(int64_t bytes, char *text, size_t size);

#endif
