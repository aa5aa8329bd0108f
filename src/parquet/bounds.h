/* SPDX-License-Identifier: Apache-2.0
 *
 * The smallest and the largest value of a page, a column chunk or a file's column, without nulls
 * and NaNs. Zeros of floats are kept apart (-0.0 below +0.0), as Iceberg wants its bounds; writing
 * them for Parquet widens a zero to the outer one, as Parquet wants its statistics. */
#ifndef CALVE_PARQUET_BOUNDS_H
#define CALVE_PARQUET_BOUNDS_H

#include "base/buf.h"
#include "batch/column.h"
#include "schema/metrics.h"

enum cv_bounds_order {
    CV_BOUNDS_INTEGER, /* boolean, and everything in 4 or 8 bytes that is not a float */
    CV_BOUNDS_FLOAT,   /* float and double */
    CV_BOUNDS_WIDE,    /* decimals above 18 digits */
    CV_BOUNDS_BYTES,   /* unsigned bytes: string, binary, fixed */
    /* The same, and in min.wide and max.wide the extremes in the order that the Java library has
     * for UUIDs (two signed halves): Iceberg gets a bound only where the two orders agree. */
    CV_BOUNDS_UUID,
};

struct cv_bounds {
    bool present;
    union {
        int64_t i64;
        double f64;
        cv_wide_int wide;
    } min, max;
    struct cv_buf min_bytes, max_bytes; /* CV_BOUNDS_BYTES and CV_BOUNDS_UUID */
};

/* How values of a primitive type compare. */
enum cv_bounds_order cv_bounds_order_of(const struct cv_type *type);
void cv_bounds_clear(struct cv_bounds *bounds);
void cv_bounds_release(struct cv_bounds *bounds);

/* Take in values; count is at least 1. */
void cv_bounds_i32(struct cv_bounds *bounds, const int32_t *values, size_t count);
void cv_bounds_i64(struct cv_bounds *bounds, const int64_t *values, size_t count);
/* Return the number of NaNs. */
size_t cv_bounds_f32(struct cv_bounds *bounds, const float *values, size_t count);
size_t cv_bounds_f64(struct cv_bounds *bounds, const double *values, size_t count);
void cv_bounds_wide(struct cv_bounds *bounds, const cv_wide_int *values, size_t count);
void cv_bounds_bytes(struct cv_bounds *bounds, const struct cv_str *values, size_t count);
void cv_bounds_uuid(struct cv_bounds *bounds, const struct cv_str *values, size_t count);

/* Take in the smallest and the largest of some values as Parquet's statistics (PLAIN bytes) or
 * Iceberg's metrics (Appendix D) hold them. False, and nothing taken, when the bytes are no bound
 * of the type (a NaN, another length). */
bool cv_bounds_take_parquet(struct cv_bounds *bounds, const struct cv_type *type, struct cv_str min,
                            struct cv_str max);
bool cv_bounds_take_iceberg(struct cv_bounds *bounds, const struct cv_type *type,
                            struct cv_str lower, struct cv_str upper);

/* Widens `bounds` to what `other` holds. */
void cv_bounds_merge(struct cv_bounds *bounds, const struct cv_bounds *other,
                     enum cv_bounds_order order);
/* Sign of the comparison of two minima (or maxima); both bounds are present. */
int cv_bounds_compare_min(const struct cv_bounds *a, const struct cv_bounds *b,
                          enum cv_bounds_order order);
int cv_bounds_compare_max(const struct cv_bounds *a, const struct cv_bounds *b,
                          enum cv_bounds_order order);

/* PLAIN bytes of a bound as Parquet statistics hold them, cut to `limit` bytes where the type
 * allows it; *ret_exact says whether it is the value itself. `out` is cleared first. */
void cv_bounds_write_parquet(const struct cv_bounds *bounds, const struct cv_type *type, bool upper,
                             size_t limit, struct cv_buf *out, bool *ret_exact);
/* Appendix D bytes as Iceberg's metrics hold them, by the mode; false = no bound. */
bool cv_bounds_write_iceberg(const struct cv_bounds *bounds, const struct cv_type *type, bool upper,
                             struct cv_metrics_mode mode, struct cv_buf *out);

#endif
