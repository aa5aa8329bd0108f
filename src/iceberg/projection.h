/* SPDX-License-Identifier: Apache-2.0
 *
 * Which manifests and files may hold rows that match a predicate (spec: Scan Planning): the
 * predicate projected through the partition transforms, asked of partition tuples and of the
 * summaries in a manifest list; and the predicate itself, asked of a file's metrics. "May" errs
 * only towards true. */
#ifndef CALVE_ICEBERG_PROJECTION_H
#define CALVE_ICEBERG_PROJECTION_H

#include "iceberg/manifest.h"
#include "schema/predicate.h"

/* A predicate over the partition fields of one spec. Immutable: many threads may ask. */
struct cv_projection {
    const struct cv_predicate *predicate; /* its fields are `fields` */
    const struct cv_field *fields;        /* of the spec's partition fields, in order */
    size_t field_count;
};

/* Every row that matches the predicate lies in a partition that matches the projection. Lives in
 * the arena; refers to the predicate. `schema` is the one that the predicate was bound to. */
void cv_projection_make(const struct cv_predicate *predicate, const struct cv_partition_spec *spec,
                        const struct cv_schema *schema, struct cv_arena *arena,
                        struct cv_projection *ret_projection);
/* A tuple of the spec. */
bool cv_projection_may_match(const struct cv_projection *projection, const struct cv_value *tuple);
bool cv_projection_may_match_manifest(const struct cv_projection *projection,
                                      const struct cv_manifest_file *row);

/* By counts and bounds alone. */
bool cv_file_may_match(const struct cv_predicate *predicate, const struct cv_data_file *file);

/* What a file's metrics say of a field; false when nothing. For cv_predicate_may_match(). */
bool cv_data_file_column(const struct cv_data_file *file, const struct cv_field *field,
                         struct cv_predicate_column *ret_column);

#endif
