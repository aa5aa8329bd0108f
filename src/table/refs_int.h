/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to table/: what moves of refs share. */
#ifndef CALVE_TABLE_REFS_INT_H
#define CALVE_TABLE_REFS_INT_H

#include "table/refs.h"

/* Whether the snapshot is the head of the branch or an ancestor of it. */
bool cv_is_ancestor(const struct cv_table_metadata *metadata, const char *branch,
                    int64_t snapshot_id);
/* Moves a branch, with its retention kept; created when it is missing. */
enum cv_code cv_move_branch(struct cv_table_metadata *metadata, const char *branch,
                            int64_t snapshot_id, struct cv_error *err);
int64_t cv_head_id(const struct cv_table_metadata *metadata, const char *branch); /* -1 = none */

#endif
