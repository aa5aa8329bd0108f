/* SPDX-License-Identifier: Apache-2.0
 *
 * The metadata side of expiry: takes snapshots and refs out in one commit. Files are the caller's
 * business, after this has returned (maintain/). */
#ifndef CALVE_TABLE_EXPIRE_H
#define CALVE_TABLE_EXPIRE_H

#include "iceberg/metadata_change.h"
#include "table/table.h"

struct cv_expire {
    struct cv_expire_rules rules; /* keep_ids come on top of the carriers, which are found here */
    bool clean_expired_metadata;
    bool dry_run;
};

struct cv_expire_result {
    /* As the table was before: what the files are compared by. Freed by the caller. */
    struct cv_table_metadata *before;
    struct cv_expire_plan plan; /* of the attempt that landed; in the arena */
    bool definitions_removed;   /* schemas or specs without a user (clean_expired_metadata) */
};

/* The plan is made anew in every attempt. Nothing to do: an empty plan and no commit. gc.enabled =
 * false is CV_CONFIG. */
enum cv_code cv_table_expire(struct cv_table *table, const struct cv_expire *expire,
                             struct cv_arena *arena, struct cv_expire_result *ret_result,
                             struct cv_error *err);

/* Of each branch the newest snapshot that carries a position of each job or query: the keys of
 * calve's and of Spark's streams, of Flink's sinks and of Kafka Connect's. In the arena. */
void cv_table_position_carriers(const struct cv_table_metadata *metadata, struct cv_arena *arena,
                                int64_t **ret_ids, size_t *ret_count);

/* CV_CONFIG when the table's gc.enabled is false; `what` was to be done ("expire snapshots"). */
enum cv_code cv_table_check_gc(const struct cv_table_metadata *metadata, const char *what,
                               struct cv_error *err);

#endif
