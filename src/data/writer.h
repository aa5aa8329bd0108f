/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows to data files: routes the rows of batches to their table partitions and keeps one open
 * Parquet writer per partition (fanout), or orders the rows of the epoch by partition first
 * (clustered: stable, spilling to disk beyond the budget). Both give one file per partition until
 * the target size. One writer per epoch; cv_data_writer_append may be called by many threads. */
#ifndef CALVE_DATA_WRITER_H
#define CALVE_DATA_WRITER_H

#include "batch/column.h"
#include "iceberg/manifest.h"
#include "iceberg/metadata.h"
#include "parquet/writer.h"
#include "storage/store.h"

/* What is worth keeping from one writer to the next: compression contexts and what was learnt about
 * the columns. One data writer at a time may use it; it must outlive that writer. */
struct cv_data_workspace;
struct cv_data_workspace *cv_data_workspace_new(void);
void cv_data_workspace_free(struct cv_data_workspace *workspace); /* NULL is fine */
CV_DEFINE_CLEANUP(struct cv_data_workspace *, cv_data_workspace_free)

/* Everything that the pointers refer to must outlive the writer. */
struct cv_data_writer_config {
    const struct cv_table_metadata *metadata; /* current schema and spec, properties */
    struct cv_store *store;
    const char *name_prefix; /* unique per process run: file names are
                                <counter>-<prefix>-<epoch>-<counter>.parquet */
    int64_t epoch;
    bool fanout;
    const struct cv_partition_spec *spec; /* of the files; NULL = the table's default one */
    int32_t sort_order_id;                /* by which the caller appends; 0 = not sorted */
    int64_t target_file_bytes;            /* 0 = write.target-file-size-bytes */
    /* Files end at the target by their real size, not by an estimate that is higher while rows wait
     * to be compressed. */
    bool exact_target;
    /* With exact_target: how many rows will come, all into one partition (0 = unknown). A rest of
     * less than a tenth of the target stays in the last file. */
    int64_t expected_rows;
    int64_t files_max;           /* CV_LIMIT where one more would be opened; 0 = no limit */
    size_t memory_bytes;         /* budget for open row groups, buffers and sorting */
    const char *spill_directory; /* NULL = the system's folder for temporary files */
    const char *codec_override;  /* sink option compression-codec; NULL = table */
    const char *level_override;
    bool delta; /* see struct cv_parquet_options */
    bool
        unsynced; /* files need not be durable after finish: the caller will cv_store_sync() them */
    struct cv_data_workspace *workspace; /* NULL = the writer makes its own */
};

/* What happened under the memory budget; for progress and docs. */
struct cv_data_writer_counters {
    int64_t files_opened;
    int64_t groups_closed_early;
    int64_t rows_spilled;
    int64_t bytes_spilled;
    int64_t files_closed_early;
};

struct cv_data_writer;
enum cv_code cv_data_writer_open(const struct cv_data_writer_config *config,
                                 struct cv_data_writer **ret_writer, struct cv_error *err);
/* Appends all rows of a batch in the table's current schema. Rows of one call keep their order, and
 * so do calls of which one returned before the other began. After a failure only abort may follow.
 */
enum cv_code cv_data_writer_append(struct cv_data_writer *writer, const struct cv_batch *batch,
                                   struct cv_error *err);
size_t cv_data_writer_memory(const struct cv_data_writer *writer);
/* Files opened so far. */
int64_t cv_data_writer_files(const struct cv_data_writer *writer);
/* Closes all files, durably unless `unsynced`. The files live in the arena. Also frees the writer.
 * On failure the files of this writer are removed. */
enum cv_code cv_data_writer_finish(struct cv_data_writer *writer, struct cv_arena *arena,
                                   struct cv_data_file **ret_files, size_t *ret_count,
                                   struct cv_data_writer_counters *ret_counters,
                                   struct cv_error *err);
/* Drops everything written. NULL is fine. */
void cv_data_writer_abort(struct cv_data_writer *writer);
CV_DEFINE_CLEANUP(struct cv_data_writer *, cv_data_writer_abort)

/* Removes files that no metadata names, as well as that is possible: what stays is an orphan. */
void cv_data_files_remove(struct cv_store *store, const struct cv_data_file *files, size_t count);

#endif
