/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a data writer: what waits is written partition by partition, all files are closed and
 * described. */
#include "base/fault.h"
#include "data/fragment.h"
#include "data/writer_int.h"

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
    if (!partition->parquet || partition->memory <= writer->config.memory_bytes / 2)
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

static struct cv_str copy_bytes(struct cv_str bytes, struct cv_arena *arena)
{
    if (!bytes.ptr)
        return bytes;
    return (struct cv_str){cv_arena_strndup(arena, bytes.ptr, bytes.length), bytes.length};
}

static void copy_metrics(const struct cv_file_metrics *from, struct cv_arena *arena,
                         struct cv_file_metrics *to)
{
    *to = *from;
    to->columns = cv_arena_copy(arena, from->columns, from->column_count * sizeof *from->columns);
    to->split_offsets =
        cv_arena_copy(arena, from->split_offsets, from->split_count * sizeof *from->split_offsets);
    for (size_t i = 0; i < to->column_count; i++) {
        to->columns[i].lower = copy_bytes(from->columns[i].lower, arena);
        to->columns[i].upper = copy_bytes(from->columns[i].upper, arena);
    }
}

static const struct cv_value *copy_tuple(const struct cv_data_writer *writer, uint32_t group,
                                         struct cv_arena *arena)
{
    size_t count = writer->spec->field_count;
    const struct cv_value *from;
    struct cv_value *to;

    if (!writer->partitioner)
        return NULL;
    from = cv_partitioner_tuple(writer->partitioner, group);
    to = cv_arena_copy(arena, from, count * sizeof *to);
    for (size_t i = 0; i < count; i++) {
        enum cv_type_kind kind = writer->partition_types[i].kind;

        if (!to[i].is_null && (kind == CV_TYPE_STRING || kind == CV_TYPE_BINARY ||
                               kind == CV_TYPE_UUID || kind == CV_TYPE_FIXED))
            to[i].bytes = copy_bytes(to[i].bytes, arena);
    }
    return to;
}

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
    *file = (struct cv_data_file){
        .content = CV_CONTENT_DATA,
        .path = cv_arena_strdup(arena, closed->location),
        .format = "PARQUET",
        .spec_id = writer->spec->spec_id,
        .partition = copy_tuple(writer, closed->group, arena),
        .has_sort_order = true,
        .sort_order_id = writer->config.sort_order_id,
    };
    copy_metrics(&closed->metrics, arena, &file->metrics);
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
