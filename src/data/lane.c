/* SPDX-License-Identifier: Apache-2.0
 *
 * The open files of table partitions: opened with the first row, rolled at the target size, closed
 * durably. */
#include "base/fault.h"
#include "data/fragment.h"
#include "data/writer_int.h"

#include <inttypes.h>
#include <stdio.h>

struct cv_lane *cv_lane_of(struct cv_data_writer *writer, uint32_t group)
{
    return &writer->lanes[group % CV_DATA_LANES];
}

struct cv_partition *cv_lane_partition(struct cv_lane *lane, uint32_t group)
{
    size_t index = group / CV_DATA_LANES;

    if (index >= lane->count) {
        size_t before = lane->capacity;

        cv_array_reserve(&lane->partitions, &lane->capacity, index + 1);
        memset(lane->partitions + before, 0, (lane->capacity - before) * sizeof *lane->partitions);
        lane->count = index + 1;
    }
    return &lane->partitions[index];
}

/* Keeps the lane's sum in step with what the partition holds now. */
static void account(struct cv_lane *lane, struct cv_partition *partition)
{
    size_t memory = 0;

    partition->held = 0;
    if (partition->parquet) {
        partition->held = CV_MAX(partition->output->held, (size_t)CV_DATA_FILE_BYTES);
        memory = cv_parquet_writer_memory(partition->parquet) + partition->held;
    }
    (void)atomic_fetch_add(&lane->memory, memory - partition->memory);
    partition->memory = memory;
}

static const char *location_of(struct cv_data_writer *writer, struct cv_lane *lane, uint32_t group,
                               uint32_t number)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf path = CV_BUF_INIT(0);
    char name[256];

    if (writer->partitioner) {
        (void)pthread_mutex_lock(&writer->route_lock);
        cv_partition_path(writer->spec, writer->partition_types,
                          cv_partitioner_tuple(writer->partitioner, group), &path);
        (void)pthread_mutex_unlock(&writer->route_lock);
    }
    (void)snprintf(name, sizeof name, "%05" PRIu32 "-%.100s-%" PRId64 "-%05" PRIu32 ".parquet",
                   group, writer->config.name_prefix, writer->config.epoch, number);
    return cv_data_location(&writer->settings.locations, cv_buf_text(&path), name, &lane->arena);
}

static enum cv_code open_file(struct cv_data_writer *writer, struct cv_lane *lane, uint32_t group,
                              struct cv_partition *partition, struct cv_error *err)
{
    const char *location = location_of(writer, lane, group, partition->files + 1);
    struct cv_output *output;
    enum cv_code code;

    if (writer->config.files_max && atomic_load(&writer->files_opened) >= writer->config.files_max)
        return cv_fail(err, CV_LIMIT, "the rows need more than %" PRId64 " files",
                       writer->config.files_max);
    CV_DO(cv_store_create(writer->config.store, location, &output, err));
    code = cv_fault_pass("file-open", err);
    if (code != CV_OK) {
        cv_output_abort(output);
        return code;
    }
    output = cv_unsynced_output(output);
    CV_TRY(cv_parquet_writer_open(output, writer->schema, &lane->options, &writer->settings.metrics,
                                  &partition->parquet, err),
           err, "%.1024s", location);
    partition->output = output;
    partition->location = location;
    partition->opened = atomic_fetch_add(&writer->next_opened, 1);
    partition->files++;
    (void)atomic_fetch_add(&writer->open_count, 1);
    (void)atomic_fetch_add(&writer->files_opened, 1);
    account(lane, partition);
    return CV_OK;
}

enum cv_code cv_lane_flush(struct cv_lane *lane, struct cv_partition *partition,
                           struct cv_error *err)
{
    CV_TRY(cv_parquet_writer_flush(partition->parquet, err), err, "%.1024s", partition->location);
    account(lane, partition);
    return CV_OK;
}

/* An output knows what it holds when it is written to, be it nothing. */
enum cv_code cv_lane_count_anew(struct cv_lane *lane, struct cv_error *err)
{
    for (size_t i = 0; i < lane->count; i++) {
        struct cv_partition *partition = &lane->partitions[i];

        if (!partition->parquet || partition->held <= CV_DATA_FILE_BYTES)
            continue;
        CV_TRY(cv_output_write(partition->output, "", 0, err), err, "%.1024s", partition->location);
        account(lane, partition);
    }
    return CV_OK;
}

enum cv_code cv_lane_close(struct cv_data_writer *writer, struct cv_lane *lane,
                           struct cv_partition *partition, struct cv_error *err)
{
    struct cv_closed_file file = {.number = partition->files, .location = partition->location};
    enum cv_code code;

    if (!atomic_exchange(&writer->half_passed, true)) { /* for tests: bytes without a footer */
        CV_DO(cv_lane_flush(lane, partition, err));
        CV_DO(cv_fault_pass("file-half", err));
    }
    file.group = (uint32_t)((size_t)(partition - lane->partitions) * CV_DATA_LANES +
                            (size_t)(lane - writer->lanes));
    code = cv_parquet_writer_close(cv_steal(partition->parquet), &lane->arena, &file.metrics, err);
    account(lane, partition);
    (void)atomic_fetch_sub(&writer->open_count, 1);
    if (code != CV_OK) {
        cv_context(err, "%.1024s", file.location);
        return code;
    }
    cv_array_reserve(&lane->closed, &lane->closed_capacity, lane->closed_count + 1);
    lane->closed[lane->closed_count++] = file;
    return cv_fault_pass("file-closed", err);
}

enum cv_code cv_spill_rows(struct cv_data_writer *writer, const struct cv_batch *batch,
                           const struct cv_group_rows *rows, struct cv_route *route,
                           struct cv_error *err)
{
    struct cv_rows step = rows->rows;

    while (step.count) {
        size_t count = CV_MIN(step.count, CV_DATA_STEP_ROWS);
        struct cv_rows part = {step.index, step.start, count};

        cv_buf_clear(&route->fragment);
        cv_fragment_write(batch, &part, &route->arena, &route->fragment);
        CV_DO(cv_buf_check(&route->fragment, "rows of one table partition", err));
        CV_DO(cv_spill_add(&writer->spill, rows->group, (uint32_t)count, route->fragment.data,
                           route->fragment.length, err));
        step.index = step.index ? step.index + count : NULL;
        step.start += count;
        step.count -= count;
    }
    return CV_OK;
}

static bool must_wait(struct cv_data_writer *writer, const struct cv_partition *partition)
{
    if (writer->draining || !writer->partitioner)
        return false;
    return partition->waiting || (!partition->parquet && atomic_load(&writer->open_count) >=
                                                             atomic_load(&writer->open_max));
}

/* What is still to come would be next to nothing. */
static bool rest_is_small(struct cv_data_writer *writer, const struct cv_partition *partition)
{
    int64_t rows = cv_parquet_writer_rows(partition->parquet);
    int64_t left = writer->config.expected_rows - atomic_load(&writer->rows_written);
    double row_bytes = (double)cv_parquet_writer_length(partition->parquet) / (double)rows;

    return writer->config.expected_rows && left >= 0 &&
           (double)left * row_bytes < (double)writer->target_bytes / 10;
}

/* Rows that are not yet written count for more than they will take: an exact size is known only
 * once the row group is closed. */
static enum cv_code find_full(struct cv_data_writer *writer, struct cv_lane *lane,
                              struct cv_partition *partition, bool *ret_full, struct cv_error *err)
{
    *ret_full = cv_parquet_writer_length(partition->parquet) >= writer->target_bytes;
    if (!*ret_full || !writer->config.exact_target)
        return CV_OK;
    CV_DO(cv_lane_flush(lane, partition, err));
    *ret_full = cv_parquet_writer_length(partition->parquet) >= writer->target_bytes / 20 * 19 &&
                !rest_is_small(writer, partition);
    return CV_OK;
}

enum cv_code cv_lane_append(struct cv_data_writer *writer, struct cv_lane *lane,
                            const struct cv_batch *batch, const struct cv_group_rows *rows,
                            struct cv_route *route, struct cv_error *err)
{
    struct cv_partition *partition = cv_lane_partition(lane, rows->group);
    struct cv_group_rows rest = *rows;
    bool full;

    while (rest.rows.count) {
        struct cv_rows step = rest.rows;

        if (must_wait(writer, partition)) {
            partition->waiting = true;
            return cv_spill_rows(writer, batch, &rest, route, err);
        }
        if (!partition->parquet)
            CV_DO(open_file(writer, lane, rows->group, partition, err));
        step.count = CV_MIN(step.count, writer->step_rows);
        CV_TRY(cv_parquet_writer_append(partition->parquet, batch, &step, err), err, "%.1024s",
               partition->location);
        account(lane, partition);
        (void)atomic_fetch_add(&writer->rows_written, (int_fast64_t)step.count);
        CV_DO(find_full(writer, lane, partition, &full, err));
        if (full)
            CV_DO(cv_lane_close(writer, lane, partition, err));
        rest.rows.index = rest.rows.index ? rest.rows.index + step.count : NULL;
        rest.rows.start += step.count;
        rest.rows.count -= step.count;
    }
    return CV_OK;
}
