/* SPDX-License-Identifier: Apache-2.0
 *
 * Iceberg's metrics of the file, from what the leaves summed up (spec: data_file; the modes in
 * schema/metrics.h). A value that is null because a struct above it is null counts as a null. */
#include "parquet/writer_int.h"

#include <stdlib.h>

static int by_id(const void *a, const void *b)
{
    const struct cv_column_metrics *left = a;
    const struct cv_column_metrics *right = b;

    return (left->field_id > right->field_id) - (left->field_id < right->field_id);
}

static struct cv_str bound_of(const struct cv_leaf *leaf, bool upper, struct cv_buf *scratch,
                              struct cv_arena *arena)
{
    if (!cv_bounds_write_iceberg(&leaf->file_bounds, &leaf->field->type, upper, leaf->mode,
                                 scratch))
        return (struct cv_str){NULL, 0};
    return (struct cv_str){cv_arena_copy(arena, scratch->data, scratch->length), scratch->length};
}

static void fill_column(const struct cv_leaf *leaf, struct cv_buf *scratch, struct cv_arena *arena,
                        struct cv_column_metrics *ret)
{
    *ret = (struct cv_column_metrics){
        .field_id = leaf->field->id,
        .column_size = leaf->file_column_size,
        .value_count = -1,
        .null_count = -1,
        .nan_count = -1,
    };
    if (leaf->repeated || leaf->mode.kind == CV_METRICS_NONE)
        return;
    ret->value_count = leaf->file_value_count;
    ret->null_count = leaf->file_null_count;
    if (leaf->order == CV_BOUNDS_FLOAT)
        ret->nan_count = leaf->nan_count;
    ret->lower = bound_of(leaf, false, scratch, arena);
    ret->upper = bound_of(leaf, true, scratch, arena);
}

void cv_parquet_metrics(const struct cv_parquet_writer *writer, struct cv_arena *arena,
                        struct cv_file_metrics *ret_metrics)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf scratch = CV_BUF_INIT(0);
    struct cv_file_metrics metrics = {
        .record_count = writer->row_count,
        .file_size = writer->position,
        .columns = cv_arena_array(arena, struct cv_column_metrics, writer->leaf_count),
        .column_count = writer->leaf_count,
        .split_offsets = cv_arena_array(arena, int64_t, writer->group_count),
        .split_count = writer->group_count,
    };

    for (size_t i = 0; i < writer->leaf_count; i++)
        fill_column(&writer->leaves[i], &scratch, arena, &metrics.columns[i]);
    qsort(metrics.columns, metrics.column_count, sizeof *metrics.columns, by_id);
    for (size_t i = 0; i < writer->group_count; i++)
        metrics.split_offsets[i] = writer->groups[i].offset;
    *ret_metrics = metrics;
}
