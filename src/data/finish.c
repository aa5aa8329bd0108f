/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a data writer: what waits is written partition by partition, all files are closed and
 * described. */
#include "base/fault.h"
#include "data/fragment.h"
#include "data/writer_int.h"
#include "iceberg/snapshot_files.h"

#include <stdlib.h>

#define DRAIN_ROWS  8192
#define DRAIN_BYTES ((size_t)4 << 20)

/* --- what waits ------------------------------------------------------------------------------ */

struct drain {
    struct cv_data_writer *writer;
    struct cv_batch_builder builder;
    size_t rows; /* in the builder */
    uint32_t group;
    bool started;
};

static void drain_release(struct drain *drain)
{
    cv_batch_builder_release(&drain->builder);
}

static enum cv_code write_rows(struct drain *drain, struct cv_error *err)
{
    struct cv_data_writer *writer = drain->writer;
    struct cv_lane *lane = cv_lane_of(writer, drain->group);
    struct cv_group_rows rows = {drain->group, {.count = drain->rows}};
    struct cv_partition *partition;
    struct cv_batch batch;

    if (!drain->rows)
        return CV_OK;
    cv_batch_builder_view(&drain->builder, &batch);
    CV_DO(cv_lane_append(writer, lane, &batch, &rows, NULL, err));
    cv_batch_builder_clear(&drain->builder);
    drain->rows = 0;
    partition = cv_lane_partition(lane, drain->group);
    if (!partition->parquet ||
        partition->memory - partition->held <= writer->config.memory_bytes / 2)
        return CV_OK;
    (void)atomic_fetch_add(&writer->groups_closed_early, 1);
    return cv_lane_flush(lane, partition, err);
}

static enum cv_code end_group(struct drain *drain, struct cv_error *err)
{
    struct cv_lane *lane = cv_lane_of(drain->writer, drain->group);
    struct cv_partition *partition;

    CV_DO(write_rows(drain, err));
    partition = cv_lane_partition(lane, drain->group);
    return partition->parquet ? cv_lane_close(drain->writer, lane, partition, err) : CV_OK;
}

static enum cv_code take_fragment(void *context, const struct cv_spill_fragment *fragment,
                                  struct cv_error *err)
{
    struct drain *drain = context;

    if (drain->started && fragment->group != drain->group)
        CV_DO(end_group(drain, err));
    drain->started = true;
    drain->group = fragment->group;
    CV_DO(
        cv_fragment_read(fragment->bytes, fragment->length, fragment->rows, &drain->builder, err));
    drain->rows += fragment->rows;
    if (drain->rows >= DRAIN_ROWS || cv_batch_builder_bytes(&drain->builder) >= DRAIN_BYTES)
        return write_rows(drain, err);
    return CV_OK;
}

static enum cv_code close_files(struct cv_data_writer *writer, bool waiting_too,
                                struct cv_error *err)
{
    for (size_t l = 0; l < CV_DATA_LANES; l++) {
        struct cv_lane *lane = &writer->lanes[l];

        for (size_t i = 0; i < lane->count; i++) {
            struct cv_partition *partition = &lane->partitions[i];

            if (partition->parquet && (waiting_too || !partition->waiting))
                CV_DO(cv_lane_close(writer, lane, partition, err));
        }
    }
    return CV_OK;
}

static enum cv_code drain_and_close(struct cv_data_writer *writer, struct cv_error *err)
{
    CV_CLEANUP(drain_release) struct drain drain = {.writer = writer};

    writer->draining = true;
    CV_DO(close_files(writer, cv_spill_is_empty(&writer->spill), err));
    if (cv_spill_is_empty(&writer->spill))
        return CV_OK;
    cv_batch_builder_init(&drain.builder, writer->schema);
    CV_DO(cv_spill_drain(&writer->spill, take_fragment, &drain, err));
    CV_DO(end_group(&drain, err));
    return close_files(writer, true, err);
}

/* --- the description of the files ------------------------------------------------------------ */

static int compare_files(const void *a, const void *b)
{
    const struct cv_closed_file *left = a;
    const struct cv_closed_file *right = b;

    if (left->group != right->group)
        return left->group < right->group ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

static void describe(const struct cv_data_writer *writer, const struct cv_closed_file *closed,
                     struct cv_arena *arena, struct cv_data_file *file)
{
    const struct cv_data_file seen = {
        .content = CV_CONTENT_DATA,
        .path = closed->location,
        .format = "PARQUET",
        .spec_id = writer->spec->spec_id,
        .partition =
            writer->partitioner ? cv_partitioner_tuple(writer->partitioner, closed->group) : NULL,
        .metrics = closed->metrics,
        .has_sort_order = true,
        .sort_order_id = writer->config.sort_order_id,
    };

    cv_data_file_copy(&seen, seen.partition ? writer->spec->field_count : 0, arena, file);
}

static enum cv_code sync_files(const struct cv_data_writer *writer,
                               const struct cv_data_file *files, size_t count, struct cv_error *err)
{
    CV_CLEANUP(cv_freep) const char **locations = cv_alloc(count * sizeof *locations);

    if (writer->config.unsynced)
        return CV_OK;
    for (size_t i = 0; i < count; i++)
        locations[i] = files[i].path;
    return cv_store_sync(writer->config.store, locations, count, err);
}

static void describe_all(const struct cv_data_writer *writer, struct cv_arena *arena,
                         struct cv_data_file **ret_files, size_t *ret_count)
{
    CV_CLEANUP(cv_freep) struct cv_closed_file *all = NULL;
    struct cv_data_file *files;
    size_t count = 0;

    for (size_t i = 0; i < CV_DATA_LANES; i++)
        count += writer->lanes[i].closed_count;
    all = cv_alloc(count * sizeof *all);
    files = cv_arena_array(arena, struct cv_data_file, count);
    count = 0;
    for (size_t i = 0; i < CV_DATA_LANES; i++)
        for (size_t j = 0; j < writer->lanes[i].closed_count; j++)
            all[count++] = writer->lanes[i].closed[j];
    if (count)
        qsort(all, count, sizeof *all, compare_files);
    for (size_t i = 0; i < count; i++)
        describe(writer, &all[i], arena, &files[i]);
    *ret_files = files;
    *ret_count = count;
}

enum cv_code cv_data_writer_finish(struct cv_data_writer *writer, struct cv_arena *arena,
                                   struct cv_data_file **ret_files, size_t *ret_count,
                                   struct cv_data_writer_counters *ret_counters,
                                   struct cv_error *err)
{
    struct cv_data_file *files = NULL;
    size_t count = 0;
    enum cv_code code = drain_and_close(writer, err);

    if (code == CV_OK) {
        describe_all(writer, arena, &files, &count);
        code = sync_files(writer, files, count, err);
    }
    if (code == CV_OK)
        code = cv_fault_pass("files-done", err);
    if (code != CV_OK) {
        cv_data_writer_abort(writer);
        return code;
    }
    *ret_files = files;
    *ret_count = count;
    *ret_counters = (struct cv_data_writer_counters){
        .files_opened = atomic_load(&writer->files_opened),
        .groups_closed_early = atomic_load(&writer->groups_closed_early),
        .rows_spilled = writer->spill.rows_spilled,
        .bytes_spilled = writer->spill.bytes_spilled,
        .files_closed_early = atomic_load(&writer->files_closed_early),
    };
    cv_data_writer_free(writer);
    return CV_OK;
}
