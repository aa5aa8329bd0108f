/* SPDX-License-Identifier: Apache-2.0
 *
 * Rewrites one group of position delete files: the rows of live data files, sorted by path and
 * position, into new files (spec: Position Delete Files). */
#ifndef CALVE_MAINTAIN_POSITION_DELETE_GROUP_H
#define CALVE_MAINTAIN_POSITION_DELETE_GROUP_H

#include "maintain/reachable.h"
#include "maintain/rewrite_group.h"

/* What all groups share. */
struct cv_position_delete_run {
    const struct cv_maintenance *maintenance;
    struct cv_store *store;
    const struct cv_table_metadata *metadata;
    const struct cv_data_settings *files;
    const struct cv_location_set *live; /* data files: deletes of others are dropped */
    const char *prefix;                 /* of file names */
    int64_t next_file;
    bool by_file; /* write.delete.granularity: one file for each data file */
    struct cv_maintain_meter *meter;
};

/* Files of the group have a struct cv_manifest_entry * as context, all of one partition. What was
 * written is in the output also on failure. */
enum cv_code cv_position_delete_group_run(struct cv_position_delete_run *run,
                                          const struct cv_rewrite_group *group,
                                          struct cv_rewrite_output *output, struct cv_error *err);

#endif
