/* SPDX-License-Identifier: Apache-2.0
 *
 * Chosen rows of columns appended to builders of the same type, and values of nested columns. */
#ifndef CALVE_BATCH_GATHER_H
#define CALVE_BATCH_GATHER_H

#include "batch/builder.h"

/* Appends the rows; false when var data or children would pass CV_COLUMN_BYTES_MAX: then the
 * builder is only good to be cleared. */
bool cv_builder_append_rows(struct cv_builder *builder, const struct cv_column *column,
                            const struct cv_rows *rows);
/* The same for all columns of a batch of the builder's schema; CV_LIMIT instead of false. */
enum cv_code cv_batch_builder_append_rows(struct cv_batch_builder *builder,
                                          const struct cv_batch *batch, const struct cv_rows *rows,
                                          struct cv_error *err);
/* Appends one value of the builder's primitive type. */
void cv_builder_append_value(struct cv_builder *builder, const struct cv_value *value);

/* Where a primitive field lies in a batch: a column, then children of structs. */
struct cv_column_path {
    uint32_t indices[CV_DEPTH_MAX];
    size_t depth; /* 0 = nowhere */
};

/* The path of a field id through structs only; depth 0 when there is none. */
struct cv_column_path cv_column_path_find(const struct cv_type *root, int32_t field_id);
/* NULL when one of the structs around it is. */
struct cv_value cv_column_path_value(const struct cv_column_path *path,
                                     const struct cv_batch *batch, size_t row);

#endif
