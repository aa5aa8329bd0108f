/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to table/: taking every file out of a table, as Iceberg's overwrite with the row filter
 * `true` does: data and delete files of all writers, without looking for conflicts. */
#ifndef CALVE_TABLE_CLEARING_H
#define CALVE_TABLE_CLEARING_H

#include "table/produce.h"

/* Manifests of removed entries are kept over the attempts of one commit. */
struct cv_clearing {
    struct cv_arena arena;
    struct cv_map written; /* path of the manifest that it stands for → struct cv_manifest_file */
};
void cv_clearing_release(struct cv_clearing *clearing);

/* Makes the snapshot's rows: the added manifests, then for each of the head's that has live files
 * one with the same files DELETED. Their files are counted as removed. */
enum cv_code cv_clearing_apply(struct cv_clearing *clearing, struct cv_commit *commit,
                               const struct cv_table_metadata *metadata,
                               const struct cv_new_manifests *added,
                               struct cv_change_counter *counter, struct cv_new_snapshot *snapshot,
                               struct cv_error *err);

#endif
