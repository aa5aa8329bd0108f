/* SPDX-License-Identifier: Apache-2.0
 *
 * The checkpoint directory in Spark's bytes (metadata, offsets/N, commits/N, sources/0/0), so that
 * a query moves between Spark and calve, and calve.json beside them, which Spark ignores. Files are
 * synced and appear under their name at once, never over another. It is a local folder, or lies in
 * a store. One thread; one process, which the lock ensures, in a store the names of the logs. */
#ifndef CALVE_STREAM_CHECKPOINT_H
#define CALVE_STREAM_CHECKPOINT_H

#include "base/limits.h"
#include "base/random.h"
#include "kafka/source.h"
#include "storage/store.h"

#define CV_BATCHES_TO_RETAIN 100
#define CV_BATCH_NONE        (-1)

struct cv_checkpoint {
    char *folder;             /* path, or location in the store; no slash at the end */
    struct cv_store *store;   /* NULL = a local folder */
    struct cv_buf *collected; /* takes what is written instead; borrowed, NULL = off */
    int lock;                 /* descriptor of calve.lock, -1 when not held */
    int64_t purged_below;     /* no log of an older batch is left; 0 = not known */
    char query_id[64];        /* "" in a fresh directory */
    int64_t newest_offsets;   /* highest N in offsets/, CV_BATCH_NONE if none */
    int64_t newest_commits;
    int64_t next_watermark_ms; /* nextBatchWatermarkMs of the commits that are written; 0 = none */
};

/* One entry of the offset log. */
struct cv_offset_log_entry {
    int64_t batch_timestamp_ms;
    char *conf_json; /* Spark's conf object, kept from entry to entry; owned */
    struct cv_offsets offsets;
    int64_t watermark_ms; /* batchWatermarkMs: what the batch closes by; 0 = none yet */
};
void cv_offset_log_entry_release(struct cv_offset_log_entry *entry);

/* Opens the directory, makes it when absent, takes the lock (CV_LOCKED names the process) and reads
 * what is there. With read_only nothing is made and no lock is taken (`calve check`). */
enum cv_code cv_checkpoint_open(const char *folder, bool read_only,
                                struct cv_checkpoint *ret_checkpoint, struct cv_error *err);
/* The same in a store, which is taken over, whatever comes of it. There no lock can be held: who
 * writes offsets/N or commits/N second gets CV_EXISTS. */
enum cv_code cv_checkpoint_open_stored(struct cv_store *store, const char *location, bool read_only,
                                       struct cv_checkpoint *ret_checkpoint, struct cv_error *err);
void cv_checkpoint_release(struct cv_checkpoint *checkpoint);
/* True while a process holds the lock of the directory. */
bool cv_checkpoint_is_used(const char *folder);

/* Writes `metadata` with this query id. */
enum cv_code cv_checkpoint_write_metadata(struct cv_checkpoint *checkpoint, const char *query_id,
                                          struct cv_error *err);
enum cv_code cv_checkpoint_write_initial(struct cv_checkpoint *checkpoint,
                                         const struct cv_offsets *offsets, struct cv_error *err);
/* CV_NOT_FOUND when sources/0/0 is absent. */
enum cv_code cv_checkpoint_read_initial(struct cv_checkpoint *checkpoint,
                                        struct cv_offsets *ret_offsets, struct cv_error *err);
/* CV_EXISTS: another process uses the checkpoint. */
enum cv_code cv_checkpoint_write_offsets(struct cv_checkpoint *checkpoint, int64_t batch,
                                         const struct cv_offset_log_entry *entry,
                                         struct cv_error *err);
enum cv_code cv_checkpoint_read_offsets(struct cv_checkpoint *checkpoint, int64_t batch,
                                        struct cv_offset_log_entry *ret_entry,
                                        struct cv_error *err);
enum cv_code cv_checkpoint_write_commit(struct cv_checkpoint *checkpoint, int64_t batch,
                                        struct cv_error *err);
/* nextBatchWatermarkMs of a batch; 0 when commits/N is absent or does not tell. */
enum cv_code cv_checkpoint_read_commit(struct cv_checkpoint *checkpoint, int64_t batch,
                                       int64_t *ret_watermark_ms, struct cv_error *err);
/* Deletes ids below batch - CV_BATCHES_TO_RETAIN from both logs, as Spark does after offsets/N. */
enum cv_code cv_checkpoint_purge(struct cv_checkpoint *checkpoint, int64_t batch,
                                 struct cv_error *err);
/* CV_LOCKED once calve.lock is not the file any more that this process holds: every write of a log
 * asks, so that a process that was overtaken while it stood still writes nothing. */
enum cv_code cv_checkpoint_check_lock(const struct cv_checkpoint *checkpoint, struct cv_error *err);
/* Logs without an identity would become another query and read everything again. */
enum cv_code cv_checkpoint_check_identity(const struct cv_checkpoint *checkpoint,
                                          struct cv_error *err);
/* Renames offsets/<batch>, which cannot be read, to damaged-offsets-<batch>-…. */
enum cv_code cv_checkpoint_put_offsets_aside(struct cv_checkpoint *checkpoint, int64_t batch,
                                             struct cv_error *err);

/* Counted since the checkpoint began; a batch whose process died before calve.json is not in. */
struct cv_memo_totals {
    int64_t since_ms; /* 0 = nothing counted yet */
    int64_t batches, records;
    int64_t bad, dropped, lost;
    int64_t last_bad_ms; /* when a record was bad or lost */
    int64_t retried_commits, retries;
};

/* calve.json: what the logs cannot hold. */
struct cv_memo {
    struct cv_arena arena;
    bool present;
    const char *job;
    const char *table;
    const char *table_uuid;
    const char *cluster_id;
    const char
        *starting; /* the starting options of the last run, to say that new ones are ignored */
    const char *replaced_query;          /* query of the job that --resume-from ended; "" = none */
    int64_t batch;                       /* the newest batch that all this takes account of */
    int64_t snapshot_id;                 /* last one made, -1 = none */
    int64_t snapshot_epoch;              /* its batch */
    struct cv_fingerprint *fingerprints; /* by topic, then partition */
    int64_t *ends; /* parallel: the position that each fingerprint was taken at */
    size_t fingerprint_count;
    struct cv_memo_totals totals;
};
/* The starting options of a job as one text; in the arena. */
const char *cv_starting_options(const struct cv_source_options *options, struct cv_arena *arena);
/* Absent or unreadable gives present = false; *ret_damaged tells the second case. */
enum cv_code cv_checkpoint_read_memo(struct cv_checkpoint *checkpoint, struct cv_memo *ret_memo,
                                     bool *ret_damaged, struct cv_error *err);
enum cv_code cv_checkpoint_write_memo(struct cv_checkpoint *checkpoint, const struct cv_memo *memo,
                                      struct cv_error *err);
void cv_memo_release(struct cv_memo *memo);

/* Logs made anew, as --resume-from and a lost checkpoint need them. */
struct cv_rebase {
    const char *query_id;
    int64_t batch;                    /* the newest that is done, CV_BATCH_NONE for a new query */
    struct cv_offset_log_entry entry; /* where it ended; or the initial offsets. Borrowed */
    const struct cv_memo *memo;
};

/* Replaces metadata, logs and calve.json as a whole: after a crash there are the old ones or the
 * new ones. The old ones are kept in replaced-…/. */
enum cv_code cv_checkpoint_rebase(struct cv_checkpoint *checkpoint, const struct cv_rebase *rebase,
                                  struct cv_error *err);
/* The rest of an exchange that was interrupted; part of cv_checkpoint_open. */
enum cv_code cv_checkpoint_finish_rebase(struct cv_checkpoint *checkpoint, struct cv_error *err);

#endif
