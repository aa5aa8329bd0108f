/* SPDX-License-Identifier: Apache-2.0
 *
 * Table metadata (spec: Table Metadata): the parsed model, and printing that re-uses the text of
 * what did not change. Format versions 1 and 2; above: CV_UNSUPPORTED. Keys that the model does not
 * know are kept and written again. A model is changed only by its owner and never shared. */
#ifndef CALVE_ICEBERG_METADATA_H
#define CALVE_ICEBERG_METADATA_H

#include "base/properties.h"
#include "iceberg/partition.h"

/* What a snapshot's pointers point into: one block, shared by the copies of a model. */
struct cv_snapshot_block;

struct cv_snapshot {
    int64_t id;
    int64_t parent_id; /* -1 = none */
    int64_t sequence_number;
    int64_t timestamp_ms;
    const char *manifest_list; /* NULL for v1 snapshots with inline `manifests` */
    const char **manifests;    /* v1 inline manifest paths */
    size_t manifest_count;
    int32_t schema_id;               /* -1 = absent */
    struct cv_properties summary;    /* with "operation"; read-only once it is part of a model */
    struct cv_str json;              /* its text in the file as it is or will be */
    struct cv_snapshot_block *block; /* NULL while a caller builds it */
};

struct cv_snapshot_ref {
    const char *name;
    int64_t snapshot_id;
    bool is_tag;
    int64_t min_snapshots_to_keep; /* -1 = absent */
    int64_t max_snapshot_age_ms;
    int64_t max_ref_age_ms;
};

struct cv_snapshot_log_entry {
    int64_t timestamp_ms;
    int64_t snapshot_id;
};

struct cv_metadata_log_entry {
    int64_t timestamp_ms;
    const char *file;
};

struct cv_sort_field {
    int32_t source_id;
    struct cv_transform transform;
    bool descending;
    bool nulls_last;
};

struct cv_sort_order {
    int32_t order_id;
    struct cv_sort_field *fields;
    size_t field_count;
};

/* Memory of schemas, specs and sort orders, shared by the copies of a model. */
struct cv_table_definitions;

struct cv_table_metadata {
    struct cv_arena arena; /* texts that are neither of a snapshot nor of a definition */
    int format_version;
    const char *table_uuid; /* "" in v1 tables without one */
    const char *location;   /* without a slash at the end */
    int64_t last_sequence_number;
    int64_t last_updated_ms;
    bool changed; /* since it was copied; see cv_table_metadata_note_change() */
    int32_t last_column_id;
    int32_t last_partition_id;
    struct cv_schema *schemas;
    size_t schema_count;
    int32_t current_schema_id;
    struct cv_partition_spec *specs;
    size_t spec_count;
    int32_t default_spec_id;
    struct cv_sort_order *sort_orders;
    size_t sort_order_count;
    int32_t default_sort_order_id;
    struct cv_properties properties;
    int64_t current_snapshot_id; /* -1 = none */
    struct cv_snapshot *snapshots;
    size_t snapshot_count, snapshot_capacity;
    uint32_t *snapshot_slots; /* by hash of the id: index + 1, 0 = empty */
    size_t snapshot_slot_count;
    struct cv_snapshot_ref *refs;
    size_t ref_count, ref_capacity;
    struct cv_snapshot_log_entry *snapshot_log;
    size_t snapshot_log_count, snapshot_log_capacity;
    struct cv_metadata_log_entry *metadata_log;
    size_t metadata_log_count, metadata_log_capacity;
    struct cv_table_definitions *definitions;
    struct cv_str schemas_json, specs_json, sort_orders_json; /* texts kept for printing */
    struct cv_str statistics_json, partition_statistics_json; /* "" = absent */
    struct cv_str unknown_json; /* other top-level members, ",\"key\":value…" */
};

/* Reads metadata.json, plain or gzip (by its first bytes). */
enum cv_code cv_table_metadata_read(const void *bytes, size_t length,
                                    struct cv_table_metadata **ret_metadata, struct cv_error *err);
/* The same from a node of a parsed document, which may be freed then. */
enum cv_code cv_table_metadata_read_json(const struct cv_json *json,
                                         struct cv_table_metadata **ret_metadata,
                                         struct cv_error *err);
void cv_table_metadata_free(struct cv_table_metadata *metadata);
CV_DEFINE_CLEANUP(struct cv_table_metadata *, cv_table_metadata_free)
/* A copy to change and commit. It shares what never changes (each snapshot, the definitions), so
 * that its cost per snapshot is a few bytes; both may be freed in any order and by any thread. */
struct cv_table_metadata *cv_table_metadata_copy(const struct cv_table_metadata *metadata);
/* metadata.json, compact. Ask cv_buf_check() afterwards. */
void cv_table_metadata_write(const struct cv_table_metadata *metadata, struct cv_buf *out);

/* Metadata of a new table: ids assigned from 1, sources of the spec moved to the new ids, uuid
 * made, logs empty, order 0, the reserved properties (format-version, which chooses 1 or 2, and
 * others) taken out of `properties`, write.parquet.compression-codec=zstd added unless set. `spec`
 * and `properties` may be NULL. */
struct cv_table_create {
    const char *location;
    const struct cv_schema *schema;
    const struct cv_partition_spec *spec;
    const struct cv_properties *properties;
};
enum cv_code cv_table_metadata_create(const struct cv_table_create *create,
                                      struct cv_table_metadata **ret_metadata,
                                      struct cv_error *err);

const struct cv_schema *cv_table_metadata_schema(const struct cv_table_metadata *metadata);
const struct cv_schema *cv_table_metadata_schema_by_id(const struct cv_table_metadata *metadata,
                                                       int32_t schema_id);
const struct cv_partition_spec *cv_table_metadata_spec(const struct cv_table_metadata *metadata);
const struct cv_partition_spec *cv_table_metadata_spec_by_id(const struct cv_table_metadata *,
                                                             int32_t spec_id);
const struct cv_sort_order *cv_table_metadata_sort_order(const struct cv_table_metadata *metadata);
const struct cv_snapshot *cv_table_metadata_snapshot(const struct cv_table_metadata *metadata,
                                                     int64_t snapshot_id);
const struct cv_snapshot_ref *cv_table_metadata_ref(const struct cv_table_metadata *metadata,
                                                    const char *name);
/* Head of a branch ("main" falls back to current-snapshot-id); NULL when it has no snapshot. */
const struct cv_snapshot *cv_table_metadata_head(const struct cv_table_metadata *metadata,
                                                 const char *branch);

/* Walks a branch's history from its head towards its root. It ends where snapshots were expired; a
 * ring of parents ends too. With `over_gaps` it goes on where expiry left an older ancestor: a gap
 * may hide changes, so that only look-ups of stream positions go over one. */
struct cv_history {
    const struct cv_table_metadata *metadata;
    const struct cv_snapshot *next;
    size_t left;
    bool over_gaps;
};
/* The table property that names the next ancestor which is left, by the id of the snapshot whose
 * parent was expired. */
#define CV_ANCESTOR_PROPERTY "calve.ancestor."
struct cv_history cv_history_of(const struct cv_table_metadata *metadata, const char *branch);
/* NULL at the end. */
const struct cv_snapshot *cv_history_next(struct cv_history *history);

/* Adds a snapshot and moves the branch to it: logs, sequence number, last-updated, refs with their
 * retention kept. The snapshot's texts are copied; its `json` is ignored and made anew. Its time is
 * raised to the table's newest when clocks differ. `branch` is "main" or a name; a tag is refused.
 */
enum cv_code cv_table_metadata_add_snapshot(struct cv_table_metadata *metadata,
                                            const struct cv_snapshot *snapshot, const char *branch,
                                            struct cv_error *err);
/* {"order-id":…,"fields":[…]} */
enum cv_code cv_sort_order_read_json(const struct cv_json *json, struct cv_arena *arena,
                                     struct cv_sort_order *ret_order, struct cv_error *err);

/* Appends the base file to the metadata log and trims it to write.metadata.previous-versions-max;
 * the files that fell off are returned in the metadata's arena. */
void cv_table_metadata_log_base(struct cv_table_metadata *metadata, const char *base_file,
                                int64_t base_updated_ms, const char ***ret_dropped,
                                size_t *ret_dropped_count);

#endif
