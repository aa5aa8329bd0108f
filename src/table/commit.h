/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to table/: the way of every change of a table into its catalog (spec: optimistic
 * concurrency). An operation says how it changes a copy of the fresh metadata; this does the rest:
 * attempts, their place in the queue, back-off, the metadata file, the swap, finding out what
 * became of a swap without an answer, and removal of own files where nothing can refer to them. */
#ifndef CALVE_TABLE_COMMIT_H
#define CALVE_TABLE_COMMIT_H

#include "base/random.h"
#include "table/table_int.h"

struct cv_commit_file {
    const char *location;
    int attempt; /* 0: of every attempt */
    bool synced;
    uint64_t hash; /* of a metadata file's bytes, else 0 */
};

/* One run of an operation; lives in cv_commit_run(). */
struct cv_commit {
    struct cv_table *table;
    struct cv_arena arena;
    char uuid[CV_UUID_TEXT_BYTES];
    int64_t snapshot_id; /* the same in every attempt; -1 = the operation makes none */
    bool dry_run;
    int attempt;     /* from 1 */
    bool synced;     /* the operation's unsynced files are durable */
    bool keep_files; /* some attempt had no plain refusal: its files may be in use */
    int overtaken;   /* attempts that were given up before the swap, for an append went by */
    enum {
        CV_COMMIT_BUILDING,  /* a conflict is one of validation: to be planned again, not retried */
        CV_COMMIT_OVERTAKEN, /* base again at once */
        CV_COMMIT_SWAPPING,  /* a conflict is one with another writer: commit.retry.* */
    } stage;                 /* that the attempt came to */

    struct cv_commit_file *files; /* own manifests, lists and metadata files */
    size_t file_count, file_capacity;
    size_t manifest_count; /* written so far; numbers their names */
    bool assumed;          /* the attempt was built on metadata that was not read anew for it */
    /* the last change that was sent without a plain refusal, where no file of it tells; owned */
    struct cv_table_metadata *sent_base, *sent_next;
    /* what build() made, for the table's cache of manifests; NULL = nothing to remember */
    const struct cv_manifest_file *rows;
    size_t row_count;
};

struct cv_commit_operation {
    /* Changes `next`, a copy of the table's fresh metadata, and writes what it needs through
     * cv_commit_write(). *ret_done = the table already has this change. CV_CONFLICT: the table has
     * changed so that the operation is void; it ends the run. */
    enum cv_code (*build)(void *context, struct cv_commit *commit, struct cv_table_metadata *next,
                          bool *ret_done, struct cv_error *err);
    void *context;
    bool makes_snapshot;
    bool keeps_definitions; /* the catalog is to refuse where schema, spec or sort order changed */
    bool dry_run; /* build() is called, shall write nothing, and nothing comes of its copy */
    /* Files of the caller that were closed unsynced. */
    const char *const *unsynced;
    size_t unsynced_count;
};

struct cv_commit_outcome {
    int64_t snapshot_id;
    int attempts;
    bool already_done;
};

/* On CV_OK the table is at the new metadata. CV_UNKNOWN: nothing was removed. Every other failure:
 * no metadata names any of the written files, the own ones are removed. */
enum cv_code cv_commit_run(struct cv_table *table, const struct cv_commit_operation *operation,
                           struct cv_commit_outcome *ret_outcome, struct cv_error *err);

/* Writes a manifest (`attempt` 0) or a list (of this attempt) unsynced and remembers it. */
enum cv_code cv_commit_write(struct cv_commit *commit, const char *location,
                             const struct cv_buf *bytes, int attempt, struct cv_error *err);

#endif
