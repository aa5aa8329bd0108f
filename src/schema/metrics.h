/* SPDX-License-Identifier: Apache-2.0
 *
 * Metrics of a data file as Iceberg keeps them in manifests (spec: Manifests, data_file; Appendix D
 * for the bounds), and the modes that say which are kept (write.metadata.metrics.*). */
#ifndef CALVE_SCHEMA_METRICS_H
#define CALVE_SCHEMA_METRICS_H

#include "base/properties.h"
#include "schema/type.h"

enum cv_metrics_mode_kind {
    CV_METRICS_NONE,
    CV_METRICS_COUNTS,
    CV_METRICS_TRUNCATE,
    CV_METRICS_FULL,
};

struct cv_metrics_mode {
    enum cv_metrics_mode_kind kind;
    int32_t length; /* truncate(length): code points of text, bytes of binary */
};

/* One leaf column (a primitive field at any depth). A count of -1 is not kept. Bounds are Appendix
 * D bytes, already cut by the mode; ptr NULL = not kept. */
struct cv_column_metrics {
    int32_t field_id;
    int64_t column_size; /* compressed bytes of its column chunks */
    int64_t value_count; /* nulls and NaNs included */
    int64_t null_count;
    int64_t nan_count; /* float and double only */
    struct cv_str lower;
    struct cv_str upper;
};

struct cv_file_metrics {
    int64_t record_count;
    int64_t file_size;
    struct cv_column_metrics *columns; /* ascending field id */
    size_t column_count;
    int64_t *split_offsets; /* ascending: the start of each row group */
    size_t split_count;
};
/* Of a column; NULL when the file has none of it. */
const struct cv_column_metrics *cv_file_metrics_column(const struct cv_file_metrics *metrics,
                                                       int32_t field_id);

/* The mode of each leaf field of a schema under the table's properties. Leaves below a list or map
 * have no counts or bounds whatever the mode. */
struct cv_metrics_config {
    struct cv_metrics_mode *modes; /* parallel to ids */
    int32_t *ids;                  /* leaf field ids, ascending */
    size_t count;
};

/* Reads write.metadata.metrics.{default,column.<path>,max-inferred-column-defaults}. `sorted_ids`
 * are columns of the table's sort order: they get at least truncate(16). Lives in the arena. */
enum cv_code cv_metrics_config_read(const struct cv_schema *schema,
                                    const struct cv_properties *properties,
                                    const int32_t *sorted_ids, size_t sorted_count,
                                    struct cv_arena *arena, struct cv_metrics_config *ret_config,
                                    struct cv_error *err);
/* Of a field without an entry: none. */
struct cv_metrics_mode cv_metrics_mode_of(const struct cv_metrics_config *config, int32_t id);

/* Truncated bounds of text (code points) and binary (bytes): lower = prefix; upper = the value when
 * it is not longer, else the prefix with its last unit incremented; false = no upper bound. `out`
 * receives the bytes (cleared first). */
void cv_bound_lower_text(struct cv_str value, int32_t length, struct cv_buf *out);
bool cv_bound_upper_text(struct cv_str value, int32_t length, struct cv_buf *out);
void cv_bound_lower_binary(struct cv_str value, int32_t length, struct cv_buf *out);
bool cv_bound_upper_binary(struct cv_str value, int32_t length, struct cv_buf *out);

#endif
