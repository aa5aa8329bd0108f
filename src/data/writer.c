/* SPDX-License-Identifier: Apache-2.0
 *
 * Data writers: opening with the table's properties, the way of a batch, and giving up. */
#include "data/writer.h"

#include "data/writer_int.h"

#include <stdlib.h>
#include <sys/resource.h>

struct cv_data_workspace *cv_data_workspace_new(void)
{
    struct cv_data_workspace *workspace = cv_alloc(sizeof *workspace);

    for (size_t i = 0; i < CV_DATA_LANES; i++)
        workspace->lanes[i] = cv_parquet_workspace_new();
    return workspace;
}

void cv_data_workspace_free(struct cv_data_workspace *workspace)
{
    if (!workspace)
        return;
    for (size_t i = 0; i < CV_DATA_LANES; i++)
        cv_parquet_workspace_free(workspace->lanes[i]);
    free(workspace);
}

/* --- opening --------------------------------------------------------------------------------- */

/* Half of the descriptors are left to the rest of the process, three quarters of the budget to
 * rows. */
static size_t open_files_max(size_t memory_bytes)
{
    size_t most = CV_DATA_OPEN_FILES_MAX;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        most = CV_MIN(most, (size_t)limit.rlim_cur / 2);
    most = CV_MIN(most, memory_bytes / 4 / CV_DATA_FILE_BYTES);
    return CV_MAX(most, 1);
}

static void open_lanes(struct cv_data_writer *writer)
{
    struct cv_data_workspace *workspace = writer->config.workspace;
    struct cv_parquet_options options = writer->settings.parquet;

    options.delta = writer->config.delta;
    if (!workspace)
        workspace = writer->own_workspace = cv_data_workspace_new();
    for (size_t i = 0; i < CV_DATA_LANES; i++) {
        writer->lanes[i].options = options;
        writer->lanes[i].options.workspace = workspace->lanes[i];
    }
}

static enum cv_code read_target(struct cv_data_writer *writer, struct cv_error *err)
{
    writer->target_bytes = 536870912;
    if (writer->config.target_file_bytes > 0)
        writer->target_bytes = writer->config.target_file_bytes;
    else
        CV_DO(cv_properties_get_i64(&writer->config.metadata->properties,
                                    "write.target-file-size-bytes", 1, INT64_MAX,
                                    &writer->target_bytes, err));
    writer->step_rows = (size_t)CV_MIN(writer->target_bytes / 4096, CV_DATA_STEP_ROWS);
    writer->step_rows = CV_MAX(writer->step_rows, 256);
    return CV_OK;
}

static struct cv_data_writer *writer_new(const struct cv_data_writer_config *config)
{
    struct cv_data_writer *writer = cv_alloc(sizeof *writer);

    writer->config = *config;
    writer->config.memory_bytes = CV_MAX(config->memory_bytes, CV_DATA_MEMORY_BYTES_MIN);
    writer->schema = cv_table_metadata_schema(config->metadata);
    writer->spec = config->spec ? config->spec : cv_table_metadata_spec(config->metadata);
    (void)pthread_mutex_init(&writer->route_lock, NULL);
    (void)pthread_mutex_init(&writer->relief_lock, NULL);
    for (size_t i = 0; i < CV_DATA_LANES; i++)
        (void)pthread_mutex_init(&writer->lanes[i].lock, NULL);
    /* A fanout writer shares the budget between open files and waiting rows. */
    cv_spill_init(&writer->spill, cv_spill_folder(config->spill_directory),
                  writer->config.memory_bytes / 4 * (config->fanout ? 1 : 3));
    atomic_store(&writer->open_max, open_files_max(writer->config.memory_bytes));
    return writer;
}

enum cv_code cv_data_writer_open(const struct cv_data_writer_config *config,
                                 struct cv_data_writer **ret_writer, struct cv_error *err)
{
    CV_CLEANUP(cv_data_writer_abortp) struct cv_data_writer *writer = writer_new(config);

    CV_DO(read_target(writer, err));
    CV_DO(cv_data_settings_read(config->metadata, config->codec_override, config->level_override,
                                &writer->arena, &writer->settings, err));
    open_lanes(writer);
    if (writer->spec->field_count) {
        CV_TRY(cv_partitioner_new(writer->spec, writer->schema, &writer->partitioner, err), err,
               "partition spec %d", writer->spec->spec_id);
        writer->partition_types = cv_partitioner_types(writer->partitioner);
    }
    *ret_writer = cv_steal(writer);
    return CV_OK;
}

/* --- appending ------------------------------------------------------------------------------- */

static enum cv_code append_to_lane(struct cv_data_writer *writer, size_t number,
                                   const struct cv_batch *batch, struct cv_route *route,
                                   struct cv_error *err)
{
    struct cv_lane *lane = &writer->lanes[number];
    enum cv_code code = CV_OK;

    (void)pthread_mutex_lock(&lane->lock);
    for (size_t i = 0; i < route->count && code == CV_OK; i++)
        if (route->groups[i].group % CV_DATA_LANES == number)
            code = cv_lane_append(writer, lane, batch, &route->groups[i], route, err);
    (void)pthread_mutex_unlock(&lane->lock);
    return code;
}

static enum cv_code append_routed(struct cv_data_writer *writer, const struct cv_batch *batch,
                                  struct cv_route *route, struct cv_error *err)
{
    size_t first;

    CV_DO(cv_route_batch(writer, batch, route, err));
    if (!writer->config.fanout) {
        for (size_t i = 0; i < route->count; i++)
            CV_DO(cv_spill_rows(writer, batch, &route->groups[i], route, err));
        return CV_OK;
    }
    first = atomic_fetch_add(&writer->next_lane, 1); /* so that two appends meet seldom */
    for (size_t i = 0; i < CV_DATA_LANES; i++)
        CV_DO(append_to_lane(writer, (first + i) % CV_DATA_LANES, batch, route, err));
    return CV_OK;
}

static enum cv_code append_unpartitioned(struct cv_data_writer *writer,
                                         const struct cv_batch *batch, struct cv_error *err)
{
    const struct cv_group_rows rows = {0, {.count = batch->row_count}};
    struct cv_lane *lane = &writer->lanes[0];
    enum cv_code code;

    (void)pthread_mutex_lock(&lane->lock);
    code = cv_lane_append(writer, lane, batch, &rows, NULL, err);
    (void)pthread_mutex_unlock(&lane->lock);
    return code;
}

enum cv_code cv_data_writer_append(struct cv_data_writer *writer, const struct cv_batch *batch,
                                   struct cv_error *err)
{
    if (!batch->row_count)
        return CV_OK;
    if (writer->partitioner) {
        struct cv_route *route = cv_route_borrow(writer);
        enum cv_code code = append_routed(writer, batch, route, err);

        cv_route_return(writer, route);
        CV_DO(code);
    } else {
        CV_DO(append_unpartitioned(writer, batch, err));
    }
    return cv_data_writer_relieve(writer, err);
}

int64_t cv_data_writer_files(const struct cv_data_writer *writer)
{
    return atomic_load(&((struct cv_data_writer *)(uintptr_t)writer)->files_opened);
}

/* --- giving up ------------------------------------------------------------------------------- */

void cv_data_files_remove(struct cv_store *store, const struct cv_data_file *files, size_t count)
{
    CV_CLEANUP(cv_freep) const char **locations = cv_alloc(count * sizeof *locations);

    for (size_t i = 0; i < count; i++)
        locations[i] = files[i].path;
    (void)cv_store_remove_many(store, locations, count, NULL, NULL, NULL);
}

static void remove_closed(struct cv_data_writer *writer, const struct cv_lane *lane)
{
    CV_CLEANUP(cv_freep) const char **locations = cv_alloc(lane->closed_count * sizeof *locations);

    for (size_t i = 0; i < lane->closed_count; i++)
        locations[i] = lane->closed[i].location;
    (void)cv_store_remove_many(writer->config.store, locations, lane->closed_count, NULL, NULL,
                               NULL);
}

static void lane_release(struct cv_data_writer *writer, struct cv_lane *lane, bool remove)
{
    for (size_t i = 0; i < lane->count; i++)
        cv_parquet_writer_abort(lane->partitions[i].parquet);
    if (remove && lane->closed_count)
        remove_closed(writer, lane);
    free(lane->partitions);
    free(lane->closed);
    cv_arena_release(&lane->arena);
    (void)pthread_mutex_destroy(&lane->lock);
}

static void release(struct cv_data_writer *writer, bool remove)
{
    struct cv_route *route;

    for (size_t i = 0; i < CV_DATA_LANES; i++)
        lane_release(writer, &writer->lanes[i], remove);
    while ((route = writer->free_routes)) {
        writer->free_routes = route->next;
        cv_route_free(route);
    }
    cv_spill_release(&writer->spill);
    cv_partitioner_free(writer->partitioner);
    cv_data_workspace_free(writer->own_workspace);
    (void)pthread_mutex_destroy(&writer->route_lock);
    (void)pthread_mutex_destroy(&writer->relief_lock);
    cv_arena_release(&writer->arena);
    free(writer);
}

void cv_data_writer_abort(struct cv_data_writer *writer)
{
    if (writer)
        release(writer, true);
}

void cv_data_writer_free(struct cv_data_writer *writer)
{
    release(writer, false);
}
