/* SPDX-License-Identifier: Apache-2.0
 *
 * A JSON record into columns of every type. The first byte sets options. What decodes must be valid
 * JSON by the scanner alone, and after a bad record the next one decodes as if it had not been. */
#include "fuzz.h"

#include "codec/json_record.h"
#include "decode/decoder.h"

#include <stdio.h>
#include <stdlib.h>

#define MODES 4

static const char columns[] =
    "a int, b bigint, c float, d double, e decimal(9,2), f decimal(18,4), g decimal(38,10), h "
    "date, "
    "i time, j timestamp, k timestamp_ntz, l string, m uuid, n fixed[4], o binary, p boolean, "
    "q struct<x: int NOT NULL, y: string, z: struct<w: array<int>>>, r array<string>, "
    "s map<string, bigint>, t map<int, struct<u: array<double>>>, whole string, v int, "
    "deep int, A1 string";
static const char chosen[] =
    "value.*, value AS whole, TRY_CAST(value.v AS int) AS v, CAST(value.q.z.deep AS int) AS deep";

struct fuzzed {
    struct cv_value_options options;
    struct cv_decoder *decoder;
    struct cv_decode_worker *worker;
};

static struct fuzzed *open_mode(unsigned mode)
{
    static struct fuzzed all[MODES];
    static struct cv_arena arena;
    static struct cv_schema schema;
    struct fuzzed *f = &all[mode];
    struct cv_decoder_config config = {.options = &f->options, .select = chosen, .table = &schema};
    struct cv_error err = CV_ERROR_INIT;

    if (f->worker)
        return f;
    f->options = (struct cv_value_options){.format = "json",
                                           .mode = CV_MODE_DROPMALFORMED,
                                           .case_sensitive = !(mode & 1),
                                           .json_nonnumeric = mode & 2,
                                           .json_timestamp_unit = mode & 1};
    if ((!schema.root.field_count && cv_schema_read_ddl(columns, &arena, &schema, &err) != CV_OK) ||
        cv_decoder_open(&config, &f->decoder, &err) != CV_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        abort();
    }
    f->worker = cv_decode_worker_new(f->decoder);
    return f;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cv_topic_partition source = {"t", 0};
    static const char good[] = "{\"a\":7,\"r\":[\"x\"],\"q\":{\"x\":1,\"z\":{\"w\":[1,2]}}}";
    struct cv_error err = CV_ERROR_INIT;
    struct cv_record records[2];
    struct cv_chunk chunk = {.records = records, .count = 2};
    struct cv_json_scan scan;
    struct cv_batch batch;
    struct fuzzed *f;

    if (size < 1)
        return 0;
    f = open_mode(data[0] % MODES);
    records[0] = (struct cv_record){
        .value = data + 1, .value_length = (uint32_t)(size - 1), .source = &source};
    records[1] = (struct cv_record){
        .value = (const uint8_t *)good, .value_length = sizeof good - 1, .source = &source};
    if (cv_decode_worker_run(f->worker, &chunk, &batch, &err) != CV_OK || batch.row_count == 0)
        abort();
    if (batch.row_count == 2 && !f->options.json_nonnumeric &&
        !cv_json_record_valid((struct cv_str){(const char *)data + 1, size - 1}, &scan))
        abort();
    if (batch.columns[17].offsets[batch.row_count] -
            batch.columns[17].offsets[batch.row_count - 1] !=
        1)
        abort();
    return 0;
}
