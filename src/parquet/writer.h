/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes one Parquet file from column batches (Parquet format 2.x: data page v1, page index). Pages
 * are encoded and compressed as they fill, so an open row group is held compressed. The footer
 * carries Iceberg field ids and the iceberg.schema key. One thread at a time. */
#ifndef CALVE_PARQUET_WRITER_H
#define CALVE_PARQUET_WRITER_H

#include "batch/column.h"
#include "codec/compress.h"
#include "schema/metrics.h"
#include "storage/store.h"

/* What the files written by one thread for one table share: the compression context, scratch
 * buffers and, by column, whether a dictionary paid lately. It keeps the cost of a small file and
 * of a thousand open files low. It must outlive the writers that use it; not shared by threads. */
struct cv_parquet_workspace;
struct cv_parquet_workspace *cv_parquet_workspace_new(void);
void cv_parquet_workspace_free(struct cv_parquet_workspace *workspace);

struct cv_parquet_options {
    enum cv_codec codec; /* zstd, snappy, gzip, lz4_raw, none */
    int32_t level;       /* CV_CODEC_LEVEL_DEFAULT = calve's choice */
    int64_t row_group_bytes;
    int64_t page_bytes;
    int64_t page_rows;
    int64_t dictionary_bytes;
    bool delta; /* DELTA_BINARY_PACKED and DELTA_LENGTH_BYTE_ARRAY instead of PLAIN as the fallback
                 */
    struct cv_parquet_workspace *workspace; /* NULL = the writer makes its own */
};

/* Reads write.parquet.* of the table (compression-codec, compression-level, row-group-size-bytes,
 * page-size-bytes, page-row-limit, dict-size-bytes). */
enum cv_code cv_parquet_options_read(const struct cv_properties *properties,
                                     struct cv_parquet_options *ret_options, struct cv_error *err);

struct cv_parquet_writer;

/* Takes over `output`. The schema and the metrics config must outlive the writer. */
enum cv_code cv_parquet_writer_open(struct cv_output *output, const struct cv_schema *schema,
                                    const struct cv_parquet_options *options,
                                    const struct cv_metrics_config *metrics,
                                    struct cv_parquet_writer **ret_writer, struct cv_error *err);
/* Appends rows of a batch whose schema is the writer's. A null in a required column is CV_SCHEMA.
 */
enum cv_code cv_parquet_writer_append(struct cv_parquet_writer *writer,
                                      const struct cv_batch *batch, const struct cv_rows *rows,
                                      struct cv_error *err);
/* Memory held by the open row group. */
size_t cv_parquet_writer_memory(const struct cv_parquet_writer *writer);
/* What the file would measure if it were closed now: written and an estimate of the open group. */
int64_t cv_parquet_writer_length(const struct cv_parquet_writer *writer);
int64_t cv_parquet_writer_rows(const struct cv_parquet_writer *writer);
/* Closes the open row group early, to give memory back. */
enum cv_code cv_parquet_writer_flush(struct cv_parquet_writer *writer, struct cv_error *err);
/* Writes the footer, closes the output durably and frees the writer (also on failure, when the
 * output is aborted). The metrics live in the arena. */
enum cv_code cv_parquet_writer_close(struct cv_parquet_writer *writer, struct cv_arena *arena,
                                     struct cv_file_metrics *ret_metrics, struct cv_error *err);
/* Drops the file. NULL is fine. */
void cv_parquet_writer_abort(struct cv_parquet_writer *writer);

#endif
