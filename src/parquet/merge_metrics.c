/* SPDX-License-Identifier: Apache-2.0
 *
 * What row groups of a file add to a column's metrics, without a look at values. Bounds come from
 * the file's statistics where these are exact, else from the table's metrics of the file where
 * nothing contradicts them. A bound cut to a length may be cut again: what is cut from the union of
 * cut bounds is what is cut from the union of the values. */
#include "parquet/merge_int.h"

/* Bytes have bounds that may be cut. */
static bool is_cuttable(const struct cv_type *type)
{
    return type->kind == CV_TYPE_STRING || type->kind == CV_TYPE_BINARY;
}

/* The union of the groups' statistics; false where a group with values lacks them. */
struct file_bounds {
    struct cv_bounds bounds;
    bool complete;
    bool min_exact, max_exact;
};

bool cv_merge_take_statistics(const struct cv_parquet_statistics *statistics, int64_t value_count,
                              const struct cv_type *type, struct cv_bounds *bounds, bool *min_exact,
                              bool *max_exact)
{
    bool cuttable = is_cuttable(type);

    if (statistics->null_count == value_count)
        return true;
    *min_exact &= !cuttable || statistics->min_exact;
    *max_exact &= !cuttable || statistics->max_exact;
    return statistics->min.ptr && statistics->max.ptr &&
           cv_bounds_take_parquet(bounds, type, statistics->min, statistics->max);
}

static void read_statistics(const struct cv_parquet_group *groups, size_t group_count,
                            uint32_t leaf, const struct cv_type *type, struct file_bounds *ret)
{
    ret->complete = true;
    ret->min_exact = true;
    ret->max_exact = true;
    for (size_t i = 0; ret->complete && i < group_count; i++) {
        const struct cv_parquet_chunk *chunk = &groups[i].chunks[leaf];

        ret->complete = cv_merge_take_statistics(&chunk->statistics, chunk->value_count, type,
                                                 &ret->bounds, &ret->min_exact, &ret->max_exact);
    }
}

/* A zero in statistics may stand for the other one. */
static bool holds_zero(const struct cv_bounds *bounds)
{
    return bounds->present && (bounds->min.f64 == 0 || bounds->max.f64 == 0);
}

/* Both halves of its range being there, a UUID column has no bounds at all in Iceberg; else the
 * signed order cannot be told from the unsigned extremes. */
static bool spans_signs(const struct cv_bounds *bounds)
{
    return bounds->present && !(bounds->min_bytes.data[0] & 0x80) &&
           (bounds->max_bytes.data[0] & 0x80);
}

static bool statistics_suffice(const struct cv_type *type, const struct file_bounds *file)
{
    if (!file->complete || !file->min_exact || !file->max_exact)
        return false;
    switch (cv_bounds_order_of(type)) {
    case CV_BOUNDS_FLOAT:
        return !holds_zero(&file->bounds);
    case CV_BOUNDS_UUID:
        return !file->bounds.present || spans_signs(&file->bounds);
    default:
        return true;
    }
}

static size_t length_of(struct cv_str bound, const struct cv_type *type)
{
    size_t count = 0;

    if (type->kind != CV_TYPE_STRING)
        return bound.length;
    for (size_t i = 0; i < bound.length; i++)
        count += ((uint8_t)bound.ptr[i] & 0xc0) != 0x80;
    return count;
}

/* Whether a bound of the table can be one under the mode: it is longer than the cut, so that it is
 * cut once more, or the file's statistics agree. */
static bool fits_mode(struct cv_str bound, const struct cv_type *type, bool upper,
                      struct cv_metrics_mode mode, const struct file_bounds *file)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf cut = CV_BUF_INIT(0);
    size_t length = length_of(bound, type);

    if (mode.kind == CV_METRICS_FULL) {
        const struct cv_buf *whole = upper ? &file->bounds.max_bytes : &file->bounds.min_bytes;

        return file->complete && file->bounds.present && bound.length > whole->length;
    }
    if (length > (size_t)mode.length)
        return true;
    if (!file->complete)
        return true;
    return cv_bounds_write_iceberg(&file->bounds, type, upper, mode, &cut) &&
           cv_str_equal((struct cv_str){(const char *)cut.data, cut.length}, bound);
}

static bool take_bounds(const struct cv_column_metrics *known, const struct cv_type *type,
                        struct cv_metrics_mode mode, struct file_bounds *file,
                        struct cv_bounds *ret)
{
    if (!statistics_suffice(type, file)) {
        if (!known || !known->lower.ptr || !known->upper.ptr)
            return false;
        if (is_cuttable(type) && (!fits_mode(known->lower, type, false, mode, file) ||
                                  !fits_mode(known->upper, type, true, mode, file)))
            return false;
        return cv_bounds_take_iceberg(ret, type, known->lower, known->upper);
    }
    cv_bounds_merge(ret, &file->bounds, cv_bounds_order_of(type));
    return true;
}

static bool counts_are_told(const struct cv_parquet_group *groups, size_t group_count,
                            uint32_t leaf)
{
    for (size_t i = 0; i < group_count; i++)
        if (groups[i].chunks[leaf].statistics.null_count < 0)
            return false;
    return true;
}

bool cv_merge_figures(struct cv_parquet_footer *footer, uint32_t file_leaf, size_t first_group,
                      size_t group_count, const struct cv_file_metrics *known,
                      const struct cv_field *field, bool repeated, struct cv_metrics_mode mode,
                      struct cv_merge_figures *ret, const char **ret_reason)
{
    const struct cv_parquet_group *groups = footer->groups + first_group;
    const struct cv_type *type = &field->type;
    const struct cv_column_metrics *column;
    bool whole = group_count == footer->group_count;
    bool real = cv_bounds_order_of(type) == CV_BOUNDS_FLOAT;
    struct file_bounds file = {.complete = true};
    int64_t values = 0;
    int64_t nulls = 0;
    bool told;

    *ret = (struct cv_merge_figures){.null_count = -1};
    if (file_leaf == CV_MERGE_MISSING || repeated || mode.kind == CV_METRICS_NONE)
        return true;
    column = whole && known && known->record_count == footer->row_count
                 ? cv_file_metrics_column(known, field->id)
                 : NULL;
    for (size_t i = 0; i < group_count; i++) {
        values += groups[i].chunks[file_leaf].value_count;
        nulls += groups[i].chunks[file_leaf].statistics.null_count;
    }
    told = counts_are_told(groups, group_count, file_leaf);
    if (!told && (!column || column->null_count < 0)) {
        *ret_reason = "number of nulls not known";
        return false;
    }
    if (!told)
        nulls = ret->null_count = column->null_count;
    if (nulls == values)
        return true;
    if (real && (!column || column->nan_count < 0)) {
        *ret_reason = "number of NaNs not known";
        return false;
    }
    ret->nan_count = real ? column->nan_count : 0;
    if (mode.kind == CV_METRICS_COUNTS || nulls + ret->nan_count == values)
        return true;
    read_statistics(groups, group_count, file_leaf, type, &file);
    if (!take_bounds(column, type, mode, &file, &ret->bounds)) {
        cv_bounds_release(&ret->bounds);
        *ret_reason = "bounds not known exactly";
    }
    cv_bounds_release(&file.bounds);
    return ret->bounds.present;
}
