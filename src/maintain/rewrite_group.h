/* SPDX-License-Identifier: Apache-2.0
 *
 * Rewrites one group of data files, the cheapest way for each file: whole row groups are copied,
 * small ones joined page by page, and only what deletes, order, partition spec, schema or codec
 * demand is decoded. Any thread; groups do not know each other. */
#ifndef CALVE_MAINTAIN_REWRITE_GROUP_H
#define CALVE_MAINTAIN_REWRITE_GROUP_H

#include "data/settings.h"
#include "maintain/rewrite_select.h"
#include "maintain/sort_key.h"
#include "parquet/merge.h"

#include <stdatomic.h>

/* What all groups of a run share; nothing but the counter changes. */
struct cv_rewrite_run {
    const struct cv_maintenance *maintenance;
    const struct cv_rewrite_selection *selection;
    const struct cv_rewrite_settings *settings;
    struct cv_store *store;
    struct cv_data_settings files;
    const struct cv_sort_plan *sort; /* NULL = rows stay as they are */
    int32_t sort_order_id;
    const char *name_prefix; /* of this run alone */
    atomic_int_fast64_t *next_task;
    size_t memory_bytes;             /* of one group */
    struct cv_maintain_meter *meter; /* bytes */
};

/* How many input files went which way, and what the first decoded one was decoded for. */
struct cv_rewrite_ways {
    size_t copied, merged, decoded;
    const char *reason;
};

struct cv_rewrite_output {
    struct cv_arena arena;
    struct cv_data_file *files;
    size_t count, capacity;
    struct cv_rewrite_ways ways;
    int64_t records;
    bool useless; /* more files than before, and nothing that demanded it: they were removed */
};

/* "day=2026-11-29", "" where the spec has no field; NULL when the current schema lacks a column of
 * the spec. */
const char *cv_rewrite_partition_path(const struct cv_table_metadata *metadata, int32_t spec_id,
                                      const struct cv_value *partition, struct cv_arena *arena);
/* The same for a person. */
const char *cv_rewrite_partition_text(const struct cv_table_metadata *metadata, int32_t spec_id,
                                      const struct cv_value *partition, struct cv_arena *arena);

/* Looks at the files' footers only. */
enum cv_code cv_rewrite_group_ways(const struct cv_rewrite_run *run,
                                   const struct cv_rewrite_group *group, struct cv_arena *arena,
                                   struct cv_rewrite_ways *ret_ways, struct cv_error *err);
/* On failure nothing is left of it. Release the output in every case. */
enum cv_code cv_rewrite_group_run(const struct cv_rewrite_run *run,
                                  const struct cv_rewrite_group *group,
                                  struct cv_rewrite_output *output, struct cv_error *err);
/* Removes the files: certain not to be in the table. */
void cv_rewrite_output_remove(struct cv_store *store, struct cv_rewrite_output *output);
void cv_rewrite_output_release(struct cv_rewrite_output *output);

#endif
