/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream positions in snapshot summaries: how a table remembers what it has taken from Kafka.
 *   spark.sql.streaming.queryId, spark.sql.streaming.epochId   Spark's keys
 *   calve.position.<job>   {"queryId":…,"epoch":…,"clusterId":…,"offsets":{…Spark's form…}}
 * Above CV_POSITION_INLINE_MAX bytes the summary's JSON has "offsetsHash" instead of "offsets" and
 * the full text is in the manifest list's Avro metadata under the same key. */
#ifndef CALVE_TABLE_POSITION_H
#define CALVE_TABLE_POSITION_H

#include "table/table.h"

#define CV_POSITION_INLINE_MAX 2048
#define CV_POSITION_KEY        "calve.position."
#define CV_QUERY_ID_KEY        "spark.sql.streaming.queryId"
#define CV_EPOCH_ID_KEY        "spark.sql.streaming.epochId"

struct cv_position {
    int64_t snapshot_id;
    const char *query_id;
    int64_t epoch;
    const char *cluster_id;   /* "" when unknown */
    const char *offsets_json; /* Spark's form; NULL when only Spark's keys were found */
};

/* Walks the ancestors of the branch head. By query id: the newest snapshot with Spark's keys for
 * it (enough to know that an epoch is done; offsets too when calve wrote it). CV_NOT_FOUND if no
 * ancestor knows it. Texts live in the arena. */
enum cv_code cv_position_find_query(struct cv_table *table, const char *query_id,
                                    struct cv_arena *arena, struct cv_position *ret_position,
                                    struct cv_error *err);
/* By job name: the newest snapshot with calve.position.<job>, whatever its query id. */
enum cv_code cv_position_find_job(struct cv_table *table, const char *job, struct cv_arena *arena,
                                  struct cv_position *ret_position, struct cv_error *err);

#endif
