/* SPDX-License-Identifier: Apache-2.0
 *
 * Partition specs and transforms (spec: Partitioning, Partition Transforms, Appendix B for the
 * hash). Names and folder paths of partitions as the Java library writes them. */
#ifndef CALVE_ICEBERG_PARTITION_H
#define CALVE_ICEBERG_PARTITION_H

#include "batch/column.h"
#include "codec/json.h"
#include "schema/value.h"

enum cv_transform_kind {
    CV_TRANSFORM_IDENTITY,
    CV_TRANSFORM_BUCKET,
    CV_TRANSFORM_TRUNCATE,
    CV_TRANSFORM_YEAR,
    CV_TRANSFORM_MONTH,
    CV_TRANSFORM_DAY,
    CV_TRANSFORM_HOUR,
    CV_TRANSFORM_VOID,
    CV_TRANSFORM_UNKNOWN, /* read and kept, never written */
};

struct cv_transform {
    enum cv_transform_kind kind;
    int32_t width;    /* bucket count or truncate width */
    const char *text; /* as in the JSON */
};

struct cv_partition_field {
    int32_t source_id;
    int32_t field_id;
    const char *name;
    struct cv_transform transform;
};

struct cv_partition_spec {
    int32_t spec_id;
    struct cv_partition_field *fields;
    size_t field_count; /* 0 = unpartitioned */
};

enum cv_code cv_transform_parse(const char *text, struct cv_arena *arena,
                                struct cv_transform *ret_transform, struct cv_error *err);
/* The result type for a source type; CV_SCHEMA if the transform does not take it. */
enum cv_code cv_transform_result_type(const struct cv_transform *transform,
                                      const struct cv_type *source, struct cv_type *ret_type,
                                      struct cv_error *err);
/* One value; null gives null. CV_RECORD when the result leaves its type (truncate near the minimum,
 * hour beyond int). String results point into the source. */
enum cv_code cv_transform_apply(const struct cv_transform *transform, const struct cv_type *source,
                                const struct cv_value *value, struct cv_value *ret_value,
                                struct cv_error *err);

/* The spec bound to a schema, for routing rows; both must outlive it. One thread at a time. */
struct cv_partitioner;
enum cv_code cv_partitioner_new(const struct cv_partition_spec *spec,
                                const struct cv_schema *schema,
                                struct cv_partitioner **ret_partitioner, struct cv_error *err);
void cv_partitioner_free(struct cv_partitioner *partitioner);
CV_DEFINE_CLEANUP(struct cv_partitioner *, cv_partitioner_free)
/* Type of each partition field's value, spec->field_count of them. */
const struct cv_type *cv_partitioner_types(const struct cv_partitioner *partitioner);
/* Gives each row 0 … count-1 of the batch a dense group number by its partition tuple: groups[row]
 * indexes the tuples found so far by this partitioner, the same tuple always the same number (NaN
 * equal to NaN, -0.0 unlike 0.0). No allocation per row. `groups` has room for batch->row_count. */
enum cv_code cv_partitioner_route(struct cv_partitioner *partitioner, const struct cv_batch *batch,
                                  uint32_t *groups, struct cv_error *err);
size_t cv_partitioner_group_count(const struct cv_partitioner *partitioner);
/* The tuple of a group: spec->field_count values, valid until the partitioner is cleared. */
const struct cv_value *cv_partitioner_tuple(const struct cv_partitioner *partitioner,
                                            uint32_t group);
void cv_partitioner_clear(struct cv_partitioner *partitioner); /* forgets the groups */

/* Type of each partition field's value under a schema, in the arena. CV_SCHEMA when a source column
 * is gone or does not fit, CV_UNSUPPORTED for an unknown transform. */
enum cv_code cv_partition_types(const struct cv_partition_spec *spec,
                                const struct cv_schema *schema, struct cv_arena *arena,
                                const struct cv_type **ret_types, struct cv_error *err);

/* "bid_time_day=2026-01-01/id_bucket=3": form-URL encoded; appended to `out`; empty when
 * unpartitioned. */
void cv_partition_path(const struct cv_partition_spec *spec, const struct cv_type *types,
                       const struct cv_value *tuple, struct cv_buf *out);
/* Bytes that are equal for equal partitions only, appended to `out`: spec id and values. A key for
 * maps within the process, never stored. */
void cv_partition_key(int32_t spec_id, const struct cv_value *tuple, size_t count,
                      struct cv_buf *out);

/* JSON: the array of fields (manifests, v1 mirror) and the object {spec-id, fields}. The reader
 * takes both. Missing field ids are given from 1000 on in order. */
void cv_partition_fields_write_json(const struct cv_partition_spec *spec, struct cv_buf *out);
void cv_partition_spec_write_json(const struct cv_partition_spec *spec, struct cv_buf *out);
enum cv_code cv_partition_spec_read_json(const struct cv_json *json, struct cv_arena *arena,
                                         struct cv_partition_spec *ret_spec, struct cv_error *err);

/* Spark DDL: "day(ts), bucket(16, id), truncate(4, name), category" with days/hours/… accepted;
 * names as Iceberg gives them (ts_day, id_bucket, name_trunc, category); ids from 1000. Checks
 * sources and types against the schema. NULL or "" = unpartitioned. */
enum cv_code cv_partition_spec_read_ddl(const char *text, const struct cv_schema *schema,
                                        struct cv_arena *arena, struct cv_partition_spec *ret_spec,
                                        struct cv_error *err);

#endif
