/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifests and manifest lists (spec: Manifests, Manifest Lists), format versions 1 and 2. Files
 * are made and read in memory; the caller stores them. */
#ifndef CALVE_ICEBERG_MANIFEST_H
#define CALVE_ICEBERG_MANIFEST_H

#include "codec/avro_file.h"
#include "iceberg/partition.h"
#include "schema/metrics.h"

enum cv_file_content {
    CV_CONTENT_DATA,
    CV_CONTENT_POSITION_DELETES,
    CV_CONTENT_EQUALITY_DELETES,
};

enum cv_entry_status {
    CV_ENTRY_EXISTING,
    CV_ENTRY_ADDED,
    CV_ENTRY_DELETED,
};

#define CV_SEQUENCE_INHERIT INT64_MIN /* null in the manifest: inherited from the list */
/* Rows and bytes of one file: sums over the files of a table do not overflow. */
#define CV_FILE_COUNT_MAX (INT64_MAX >> 24)

struct cv_data_file {
    enum cv_file_content content;
    const char *path;   /* absolute URI, as stored */
    const char *format; /* "PARQUET", … as stored */
    int32_t spec_id;
    const struct cv_value *partition; /* one value per field of its spec */
    struct cv_file_metrics metrics;
    bool has_sort_order;
    int32_t sort_order_id;
    const int32_t *equality_ids;
    size_t equality_count;
    const char *referenced_data_file; /* NULL when absent */
    struct cv_str key_metadata;       /* ptr NULL when absent */
};

struct cv_manifest_entry {
    enum cv_entry_status status;
    int64_t snapshot_id; /* CV_SEQUENCE_INHERIT = that of the manifest's writer */
    int64_t sequence_number;
    int64_t file_sequence_number;
    struct cv_data_file file;
};

struct cv_partition_summary {
    bool contains_null;
    int8_t contains_nan; /* -1 absent, 0, 1 */
    struct cv_str lower; /* Appendix D bytes of the result type; ptr NULL = null */
    struct cv_str upper;
};

/* A row of the manifest list. Counts of -1 are absent (v1). */
struct cv_manifest_file {
    const char *path;
    int64_t length;
    int32_t spec_id;
    bool deletes; /* content: 0 data, 1 deletes */
    int64_t sequence_number;
    int64_t min_sequence_number;
    int64_t added_snapshot_id;
    int32_t added_files, existing_files, deleted_files;
    int64_t added_rows, existing_rows, deleted_rows;
    struct cv_partition_summary *partitions; /* NULL = absent */
    size_t partition_count;
    struct cv_str key_metadata;
};

/* A row of which nothing is known yet: every count absent. */
#define CV_MANIFEST_FILE_INIT                                                                      \
    {                                                                                              \
        .added_files = -1, .existing_files = -1, .deleted_files = -1, .added_rows = -1,            \
        .existing_rows = -1, .deleted_rows = -1                                                    \
    }

/* Writes a manifest of one spec. `format_version` 1 or 2; `codec` NONE or DEFLATE (Java's gzip).
 * Fills *ret_row but for path and length, with what the list row needs (memory in `arena`). */
struct cv_manifest_writer_config {
    int format_version;
    const struct cv_schema *schema;
    const struct cv_partition_spec *spec;
    int64_t snapshot_id;
    bool deletes;
    enum cv_codec codec;
};
enum cv_code cv_manifest_write(const struct cv_manifest_writer_config *config,
                               const struct cv_manifest_entry *entries, size_t count,
                               struct cv_buf *out, struct cv_arena *arena,
                               struct cv_manifest_file *ret_row, struct cv_error *err);

/* Reads every entry of a manifest; inheritance from the list row is applied. Specs are looked up by
 * the manifest's spec id among `specs`. Everything lives in the arena. */
enum cv_code cv_manifest_read(const void *bytes, size_t length, const struct cv_manifest_file *row,
                              const struct cv_schema *schema, const struct cv_partition_spec *specs,
                              size_t spec_count, struct cv_arena *arena,
                              struct cv_manifest_entry **ret_entries, size_t *ret_count,
                              struct cv_error *err);

struct cv_manifest_list_config {
    int format_version;
    int64_t snapshot_id;
    int64_t parent_snapshot_id; /* -1 = none */
    int64_t sequence_number;
    enum cv_codec codec;
    const struct cv_avro_metadata *extra; /* further keys of the file's metadata (positions) */
    size_t extra_count;
};
enum cv_code cv_manifest_list_write(const struct cv_manifest_list_config *config,
                                    const struct cv_manifest_file *rows, size_t count,
                                    struct cv_buf *out, struct cv_error *err);
/* `ret_metadata` (may be NULL) receives the file's Avro metadata. */
enum cv_code cv_manifest_list_read(const void *bytes, size_t length, struct cv_arena *arena,
                                   struct cv_manifest_file **ret_rows, size_t *ret_count,
                                   struct cv_properties *ret_metadata, struct cv_error *err);

#endif
