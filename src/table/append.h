/* SPDX-License-Identifier: Apache-2.0
 *
 * Appends data files in one snapshot (fast append: a new manifest before the parent's, which stay
 * as they are), or puts them in the place of all that the table has (Spark's complete mode: one
 * overwrite with the row filter `true`), with commit.retry.* and the rules for an unknown outcome.
 */
#ifndef CALVE_TABLE_APPEND_H
#define CALVE_TABLE_APPEND_H

#include "table/table.h"

struct cv_append {
    const struct cv_data_file *files; /* each of the spec that its spec_id names */
    size_t file_count;                /* 0 is allowed: a snapshot that only carries a position */
    /* All files of the branch, of any writer, leave it: operation `overwrite`, or `delete` without
     * new files. */
    bool replaces;
    const char *query_id; /* NULL = not a streaming append: no epoch check, no position */
    int64_t epoch;
    /* The query's newest that was committed; a table at an older one is a contradiction. */
    int64_t last_epoch;
    const char *job;
    const char *cluster_id;
    const char *offsets_json;
    /* Asked in every attempt, of the metadata that it builds on; its failure is the append's. May
     * be NULL. */
    enum cv_code (*validate)(void *context, const struct cv_table_metadata *metadata,
                             struct cv_error *err);
    void *validate_context;
    /* A catalog that checks changes itself is to refuse this one where schema, partition spec or
     * sort order are no longer those that validate() saw: CV_CONFLICT leads to a further attempt.
     */
    bool keeps_definitions;
    const struct cv_properties *summary; /* further keys; may be NULL */
    bool files_unsynced; /* the files were closed unsynced; they are made durable first */
};

struct cv_append_result {
    int64_t snapshot_id;
    bool already_done; /* the table has this query's epoch: nothing was written */
    int attempts;
};

/* Commits. The check whether the epoch is already in is made within each attempt, on the branch.
 * On CV_OK the table's metadata is the new one. On CV_CONFLICT and other definite failures the own
 * manifests, list and metadata file are removed; data files are left to the caller, who may remove
 * them. On CV_UNKNOWN nothing is removed. CV_CONTRADICTION when the table is at a later epoch of
 * this query than this one (another process went on). */
enum cv_code cv_table_append(struct cv_table *table, const struct cv_append *append,
                             struct cv_append_result *ret_result, struct cv_error *err);

#endif
