/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to maintain/: the procedures, each in a file of its name. */
#ifndef CALVE_MAINTAIN_PROCEDURE_INT_H
#define CALVE_MAINTAIN_PROCEDURE_INT_H

#include "maintain/procedure.h"

extern const struct cv_procedure cv_procedure_expire_snapshots;
extern const struct cv_procedure cv_procedure_remove_orphan_files;
extern const struct cv_procedure cv_procedure_register_table;
extern const struct cv_procedure cv_procedure_rewrite_data_files;
extern const struct cv_procedure cv_procedure_rewrite_manifests;
extern const struct cv_procedure cv_procedure_rewrite_position_delete_files;
extern const struct cv_procedure cv_procedure_rollback_to_snapshot;
extern const struct cv_procedure cv_procedure_rollback_to_timestamp;
extern const struct cv_procedure cv_procedure_set_current_snapshot;
extern const struct cv_procedure cv_procedure_cherrypick_snapshot;
extern const struct cv_procedure cv_procedure_publish_changes;
extern const struct cv_procedure cv_procedure_fast_forward;
extern const struct cv_procedure cv_procedure_ancestors_of;
extern const struct cv_procedure cv_procedure_create_branch;
extern const struct cv_procedure cv_procedure_replace_branch;
extern const struct cv_procedure cv_procedure_drop_branch;
extern const struct cv_procedure cv_procedure_create_tag;
extern const struct cv_procedure cv_procedure_replace_tag;
extern const struct cv_procedure cv_procedure_drop_tag;

/* "column": id or number; null below zero. */
void cv_maintain_put_id(struct cv_json_writer *w, const char *column, int64_t id);
void cv_maintain_put_count(struct cv_json_writer *w, const char *column, int64_t count);

#endif
