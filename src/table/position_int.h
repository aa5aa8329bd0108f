/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to table/: writing positions. */
#ifndef CALVE_TABLE_POSITION_INT_H
#define CALVE_TABLE_POSITION_INT_H

#include "table/position.h"

/* calve.position.<job> for the summary; *ret_full (NULL ptr when the summary has it all) is the
 * whole text, for the manifest list's metadata. In the arena. */
enum cv_code cv_position_write(const char *query_id, int64_t epoch, const char *cluster_id,
                               const char *offsets_json, struct cv_arena *arena,
                               const char **ret_summary, struct cv_str *ret_full,
                               struct cv_error *err);
/* Epoch of a query in one snapshot, by Spark's keys or any job's position; -1 when it has none. */
enum cv_code cv_position_epoch(const struct cv_snapshot *snapshot, const char *query_id,
                               int64_t *ret_epoch, struct cv_error *err);
/* The newest ancestor of the branch head that knows the query; NULL when none does. */
enum cv_code cv_position_newest(const struct cv_table_metadata *metadata, const char *branch,
                                const char *query_id, const struct cv_snapshot **ret_snapshot,
                                int64_t *ret_epoch, struct cv_error *err);

#endif
