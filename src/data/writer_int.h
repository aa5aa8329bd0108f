/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to data/: the state of a data writer.
 *
 * Locks, outer first: a lane's lock, then route_lock or the lock of the spill. No thread holds the
 * locks of two lanes. Counters and the sums of memory are atomic. */
#ifndef CALVE_DATA_WRITER_INT_H
#define CALVE_DATA_WRITER_INT_H

#include "data/settings.h"
#include "data/spill.h"
#include "data/writer.h"

#include <stdatomic.h>

#define CV_DATA_LANES            2     /* appends that may encode side by side */
#define CV_DATA_OPEN_FILES_MAX   1000  /* fewer where descriptors or memory are short */
#define CV_DATA_FILE_BYTES       65536 /* least that an open file takes beside its row group */
#define CV_DATA_MEMORY_BYTES_MIN ((size_t)4 << 20) /* a smaller budget is taken as this one */
#define CV_DATA_GROUP_BYTES_MIN  1048576 /* an open row group below this is not closed early */
#define CV_DATA_STEP_ROWS        16384   /* most rows of one step; fewer for small files */

struct cv_data_workspace {
    struct cv_parquet_workspace *lanes[CV_DATA_LANES];
};

/* A table partition that rows of this epoch fell into; number `group` of the partitioner. */
struct cv_partition {
    struct cv_parquet_writer *parquet; /* of the open file, NULL when none is open */
    struct cv_output *output;          /* the open file's; the Parquet writer's */
    const char *location;
    size_t memory; /* as last counted in the lane's sum */
    size_t held;   /* part of that: bytes on their way to the store */
    uint64_t opened;
    uint32_t files; /* begun so far */
    bool waiting;   /* its further rows go to the spill */
};

struct cv_closed_file {
    uint32_t group;
    uint32_t number;
    const char *location;
    struct cv_file_metrics metrics;
};

/* The partitions whose group modulo CV_DATA_LANES is the lane's number. */
struct cv_lane {
    pthread_mutex_t lock;
    struct cv_parquet_options options;
    struct cv_partition *partitions; /* by group / CV_DATA_LANES */
    size_t count, capacity;
    struct cv_arena arena; /* locations and metrics */
    struct cv_closed_file *closed;
    size_t closed_count, closed_capacity;
    atomic_size_t memory; /* of the open files */
};

/* The rows of a batch that fall into one partition. */
struct cv_group_rows {
    uint32_t group;
    struct cv_rows rows;
};

/* Scratch of one append, kept for the next. */
struct cv_route {
    struct cv_route *next; /* in the writer's list of free ones */
    uint32_t *row_groups;
    uint32_t *index;
    size_t row_capacity;
    uint32_t *counts; /* by group; zero between appends */
    size_t group_capacity;
    struct cv_group_rows *groups;
    size_t count, capacity;
    struct cv_arena arena; /* of a fragment being written */
    struct cv_buf fragment;
};

struct cv_data_writer {
    struct cv_data_writer_config config;
    const struct cv_schema *schema;
    const struct cv_partition_spec *spec;
    struct cv_arena arena; /* locations, metrics modes, types */
    struct cv_data_settings settings;
    int64_t target_bytes;
    size_t step_rows;                   /* after so many rows the target is looked at */
    struct cv_partitioner *partitioner; /* NULL when unpartitioned */
    const struct cv_type *partition_types;
    pthread_mutex_t route_lock; /* of the partitioner and the free routes */
    struct cv_route *free_routes;
    struct cv_lane lanes[CV_DATA_LANES];
    struct cv_data_workspace *own_workspace;
    struct cv_spill spill;
    pthread_mutex_t relief_lock;
    bool draining; /* rows come out of the spill: nothing may go into it */
    atomic_bool half_passed;
    atomic_size_t open_max;
    atomic_size_t open_count;
    atomic_uint_fast64_t next_opened;
    atomic_size_t next_lane;
    atomic_int_fast64_t rows_written;
    atomic_int_fast64_t files_opened;
    atomic_int_fast64_t groups_closed_early;
    atomic_int_fast64_t files_closed_early;
};

/* route.c: fills route->groups with the rows of each partition of the batch. */
enum cv_code cv_route_batch(struct cv_data_writer *writer, const struct cv_batch *batch,
                            struct cv_route *route, struct cv_error *err);
struct cv_route *cv_route_borrow(struct cv_data_writer *writer);
void cv_route_return(struct cv_data_writer *writer, struct cv_route *route);
void cv_route_free(struct cv_route *route);

/* output.c: takes over an output; its close leaves the syncing to cv_store_sync(). */
struct cv_output *cv_unsynced_output(struct cv_output *inner);

/* lane.c: the caller holds the lane's lock. */
struct cv_lane *cv_lane_of(struct cv_data_writer *writer, uint32_t group);
struct cv_partition *cv_lane_partition(struct cv_lane *lane, uint32_t group);
/* To the partition's file, opened and rolled as needed; or to the spill. `route` may be NULL while
 * draining. */
enum cv_code cv_lane_append(struct cv_data_writer *writer, struct cv_lane *lane,
                            const struct cv_batch *batch, const struct cv_group_rows *rows,
                            struct cv_route *route, struct cv_error *err);
enum cv_code cv_lane_flush(struct cv_lane *lane, struct cv_partition *partition,
                           struct cv_error *err);
/* Counts anew what the partitions hold: bytes may have left meanwhile. */
enum cv_code cv_lane_count_anew(struct cv_lane *lane, struct cv_error *err);
enum cv_code cv_lane_close(struct cv_data_writer *writer, struct cv_lane *lane,
                           struct cv_partition *partition, struct cv_error *err);
/* Keeps the rows for later; no lock of a lane is needed. */
enum cv_code cv_spill_rows(struct cv_data_writer *writer, const struct cv_batch *batch,
                           const struct cv_group_rows *rows, struct cv_route *route,
                           struct cv_error *err);

/* relief.c: gives memory back when the budget is exceeded. No lock may be held. */
enum cv_code cv_data_writer_relieve(struct cv_data_writer *writer, struct cv_error *err);

/* writer.c: frees the writer and leaves its files. */
void cv_data_writer_free(struct cv_data_writer *writer);

#endif
