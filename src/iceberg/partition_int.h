/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files about partitions share: the arithmetic of the transforms, for values and columns.
 */
#ifndef CALVE_ICEBERG_PARTITION_INT_H
#define CALVE_ICEBERG_PARTITION_INT_H

#include "base/time.h"
#include "iceberg/partition.h"

const char *cv_transform_name(enum cv_transform_kind kind);
/* Builds the transform with its text; the width counts for bucket and truncate only. */
enum cv_code cv_transform_make(enum cv_transform_kind kind, int64_t width, struct cv_arena *arena,
                               struct cv_transform *ret_transform, struct cv_error *err);

/* Of a µs timestamp: year, month, day or hour. */
int32_t cv_period_of_us(enum cv_transform_kind kind, int64_t us);
/* cv_transform_apply for a transform that is known to take the source and to give `result`. */
enum cv_code cv_transform_value(const struct cv_transform *transform, const struct cv_type *source,
                                enum cv_type_kind result, const struct cv_value *value,
                                struct cv_value *ret_value, struct cv_error *err);

/* application/x-www-form-urlencoded, appended. */
void cv_form_url_encode(struct cv_str text, struct cv_buf *out);

#define CV_PARTITION_FIELDS_MAX 1000
#define CV_PARTITION_ID_FIRST   1000

/* The rules for a spec that is to be written: sources exist and fit, names are unique and clash
 * with no column. Messages name the partition field. */
enum cv_code cv_partition_spec_check(const struct cv_partition_spec *spec,
                                     const struct cv_schema *schema, struct cv_error *err);
/* The column with this id outside lists and maps: indexes from the root down, at most CV_DEPTH_MAX.
 * NULL when there is none. */
const struct cv_field *cv_partition_source(const struct cv_schema *schema, int32_t source_id,
                                           uint32_t path[CV_DEPTH_MAX], size_t *ret_depth);

#endif
